/* The report at the end of the process: what was made, pooled and refused, and what was not
 * released, by place.
 * Read first: layer.h. */
#include <dlfcn.h>
#include <inttypes.h>
#include <link.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

#include "tools/layer/layer.h"

#define CONTEXT_REASONS 8

static struct {
    uint64_t pooled, pooled_bytes, refusals[LAYER_REASONS], images_refused;
    const char *contexts[CONTEXT_REASONS]; /* why they have no pool */
    uint64_t context_counts[CONTEXT_REASONS];
} counts;

/* ---- Counting -------------------------------------------------------------------------------- */

void layer_count_pooled(uint64_t bytes) {
    layer_lock();
    counts.pooled++;
    counts.pooled_bytes += bytes;
    layer_unlock();
}

void layer_count_refusal(layer_reason reason) {
    if (layer.is_child) return;
    layer_lock();
    counts.refusals[reason]++;
    layer_unlock();
}

void layer_count_context(const char *why) {
    size_t i = 0;
    layer_lock();
    while (i < CONTEXT_REASONS - 1 && counts.contexts[i] && strcmp(counts.contexts[i], why) != 0)
        i++;
    counts.contexts[i] = why;
    counts.context_counts[i]++;
    layer_unlock();
}

void layer_count_image_refused(void) {
    layer_lock();
    counts.images_refused++;
    layer_unlock();
}

/* ---- Objects that were not released ---------------------------------------------------------- */

static const char *name_of(layer_kind kind) {
    static const char *const names[] = {
        "buffer", "sub-buffer", "image", "pipe", "shared virtual memory", "unified shared memory"};
    return names[kind];
}

static int compare_places(const layer_object *a, const layer_object *b) {
    if (a->kind != b->kind) return a->kind < b->kind ? -1 : 1;
    if (a->frames != b->frames) return a->frames < b->frames ? -1 : 1;
    return memcmp(a->stack, b->stack, (size_t)a->frames * sizeof *a->stack);
}

/* By place; those of one place by their age. */
static int is_before(const layer_object *a, const layer_object *b) {
    int order = compare_places(a, b);
    return order ? order < 0 : a->number < b->number;
}

/* Not qsort(), which takes memory from malloc(): layer_memory() says why. */
static void sort(layer_object **list, size_t count) {
    size_t gap = 1;
    while (gap < count / 3) gap = 3 * gap + 1;
    for (; gap; gap /= 3)
        for (size_t i = gap; i < count; i++) {
            layer_object *o = list[i];
            size_t at = i;
            for (; at >= gap && is_before(o, list[at - gap]); at -= gap) list[at] = list[at - gap];
            list[at] = o;
        }
}

static size_t list_leaks(layer_object **list) {
    size_t count = 0;
    for (size_t i = 0; i < layer.bucket_count; i++)
        for (layer_object *o = layer.buckets[i]; o; o = o->next)
            if (o->references) list[count++] = o;
    return count;
}

static void tell_leaks(layer_text *text) {
    const size_t bytes_of_list = (layer.object_count + 1) * sizeof(layer_object *);
    layer_object **list = layer_memory(bytes_of_list);
    if (!list) return;
    size_t count = list_leaks(list), end;
    uint64_t all = 0;
    for (size_t i = 0; i < count; i++) all += list[i]->bytes;
    sort(list, count);
    layer_text_add(text, "not released: %zu objects, %" PRIu64 " bytes\n", count, all);
    for (size_t i = 0; i < count; i = end) {
        uint64_t bytes = 0;
        for (end = i; end < count && compare_places(list[i], list[end]) == 0; end++)
            bytes += list[end]->bytes;
        layer_text_add(text,
                       "  %zu x %s, %" PRIu64 " bytes, the first was object %" PRIx64
                       " of the trace, made\n",
                       end - i, name_of(list[i]->kind), bytes, list[i]->number);
        layer_place_tell(list[i], text);
    }
    munmap(list, bytes_of_list);
}

/* ---- The text -------------------------------------------------------------------------------- */

static void tell_pool(layer_text *text) {
    static const char *const reasons[LAYER_REASONS] = {
        "in a context without a pool", "by their flags",       "above CLUMP_LAYER_POOL",
        "made with properties",        "the pool had no room", "a call of the driver failed"};
    layer_text_add(text, "pooled: %" PRIu64 " buffers, %" PRIu64 " bytes\n", counts.pooled,
                   counts.pooled_bytes);
    for (int i = 0; i < LAYER_REASONS; i++)
        if (counts.refusals[i])
            layer_text_add(text, "  not pooled, %s: %" PRIu64 "\n", reasons[i], counts.refusals[i]);
    for (int i = 0; i < CONTEXT_REASONS && counts.contexts[i]; i++)
        layer_text_add(text, "  %" PRIu64 " contexts without a pool: %s\n",
                       counts.context_counts[i], counts.contexts[i]);
    if (counts.images_refused)
        layer_text_add(text,
                       "  %" PRIu64
                       " images of pooled buffers were refused by the device, in spite of "
                       "CLUMP_LAYER_NO_IMAGES\n",
                       counts.images_refused);
}

/* ---- Loaders --------------------------------------------------------------------------------- */

static const char *base_name(const char *path) {
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

static int is_known(const void *library) {
    const layer_loader *l = layer.loaders;
    while (l && l->library != library) l = l->next;
    return l != NULL;
}

/* For each library of the process: a loader that did not load the layer is told of. Copies of
 * loaders in packages of Python have names such as libOpenCL-5519dec5.so.1. */
static int tell_unseen(struct dl_phdr_info *info, size_t bytes, void *text) {
    static const char start[] = "libOpenCL";
    const size_t length = sizeof start - 1;
    const char *name = base_name(info->dlpi_name);
    Dl_info found;
    int i = 0;
    (void)bytes;
    if (strncmp(name, start, length) != 0 || !strchr(".-", name[length])) return 0;
    while (i < info->dlpi_phnum && info->dlpi_phdr[i].p_type != PT_LOAD) i++;
    if (i == info->dlpi_phnum ||
        !dladdr((const char *)info->dlpi_addr + info->dlpi_phdr[i].p_vaddr, &found) ||
        is_known(found.dli_fbase))
        return 0;
    layer_text_add(text,
                   "unseen: this loader did not load the layer, so objects made through it are "
                   "not counted: %s\n",
                   info->dlpi_name);
    return 0;
}

static void tell_loaders(layer_text *text) {
    Dl_info found;
    if (layer.loaders->next) layer_text_add(text, "loaders, seen together:\n");
    for (const layer_loader *l = layer.loaders; layer.loaders->next && l; l = l->next)
        layer_text_add(text, "  %s\n", dladdr(l->library, &found) ? found.dli_fname : "unknown");
    dl_iterate_phdr(tell_unseen, text);
}

/* A thread that ends the process by a signal's handler may have the lock itself. */
static int take_lock(void) {
    const struct timespec nap = {0, 10000000};
    for (int tries = 0; tries < 30; tries++) {
        if (pthread_mutex_trylock(&layer.lock) == 0) return 1;
        nanosleep(&nap, NULL);
    }
    return 0;
}

void layer_report(void) {
    static const char locked[] = "clump-layer: no report: a thread was inside of the layer\n";
    layer_text text = {0};
    int file = layer.settings.report;
    if (file < 0 && layer.settings.trace < 0) return;
    if (!take_lock()) {
        if (file >= 0) layer_write(file, locked, sizeof locked - 1);
        return;
    }
    layer_objects_settle();
    if (file < 0) {
        layer_unlock();
        return;
    }
    layer_text_add(&text,
                   "clump-layer: report\nmade: %" PRIu64 " objects, at most %" PRIu64
                   " bytes at a time\n",
                   layer.objects, layer.bytes_peak);
    if (layer.settings.limit_bytes)
        layer_text_add(&text, "refused by the limit of %" PRIu64 " bytes: %" PRIu64 "\n",
                       layer.settings.limit_bytes, layer.limited);
    tell_loaders(&text);
    if (layer.settings.pool_bytes) tell_pool(&text);
    tell_leaks(&text);
    layer_unlock();
    layer_write(file, text.data, text.bytes);
    if (text.data) munmap(text.data, text.capacity);
}
