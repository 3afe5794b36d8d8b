/* Places of calls: the stack at an allocation, in words. Read first: layer.h. */
#include <dlfcn.h>
#include <execinfo.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

#include "tools/layer/layer.h"

void layer_place_begin(void) {
    void *stack[2];
    backtrace(stack, 2);
}

void layer_place_note(layer_object *o) {
    o->frames = layer.settings.report < 0 ? 0 : backtrace(o->stack, LAYER_FRAMES);
}

void *layer_memory(size_t bytes) {
    void *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    return memory == MAP_FAILED ? NULL : memory;
}

void layer_text_add(layer_text *text, const char *format, ...) {
    char line[1024];
    va_list args;
    va_start(args, format);
    int written = vsnprintf(line, sizeof line, format, args);
    va_end(args);
    size_t bytes = written < 0                     ? 0
                   : (size_t)written < sizeof line ? (size_t)written
                                                   : sizeof line - 1;
    if (text->bytes + bytes > text->capacity) {
        size_t capacity = 2 * text->capacity + 65536;
        char *data = layer_memory(capacity);
        if (!data) return;
        if (text->data) {
            memcpy(data, text->data, text->bytes);
            munmap(text->data, text->capacity);
        }
        text->data = data;
        text->capacity = capacity;
    }
    memcpy(text->data + text->bytes, line, bytes);
    text->bytes += bytes;
}

/* Is the address in the library that has the layer, or in a loader, which calls it? */
static int is_between(const Dl_info *found) {
    Dl_info own;
    if (dladdr((void *)(uintptr_t)layer_place_begin, &own) && found->dli_fbase == own.dli_fbase)
        return 1;
    const layer_loader *l = layer.loaders;
    while (l && l->library != found->dli_fbase) l = l->next;
    return l != NULL;
}

/* An address is that of the instruction after the call. */
void layer_place_tell(const layer_object *o, layer_text *text) {
    int told = 0;
    for (int i = 0; i < o->frames; i++) {
        Dl_info found;
        const char *address = (const char *)o->stack[i] - 1;
        if (!dladdr(address, &found) || !found.dli_fname) {
            layer_text_add(text, "    %s %p\n", told++ ? "of" : "at", (const void *)address);
            continue;
        }
        if (!told && is_between(&found)) continue;
        size_t inside = (size_t)(address - (const char *)found.dli_fbase);
        layer_text_add(text, "    %s %s+0x%zx", told++ ? "of" : "at", found.dli_fname, inside);
        if (found.dli_sname)
            layer_text_add(text, " (%s+0x%zx)", found.dli_sname,
                           (size_t)(address - (const char *)found.dli_saddr));
        layer_text_add(text, "\n");
    }
    if (!told) layer_text_add(text, "    at an unknown place\n");
}
