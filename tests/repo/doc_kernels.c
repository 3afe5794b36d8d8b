/* Runs the kernels of a page of the documentation: builds a schema and a source, then does what the
 * arguments say, one after the other, on one heap.
 *
 *   doc_kernels SCHEMA SOURCE [ACTION...]         both are files
 *
 *   buffer:NAME:TYPE:COUNT          a buffer with the values 0 .. COUNT-1; TYPE is float or uint
 *   new:CLASS:COUNT:KERNEL[:ARG...] do-new; all objects must be made
 *   all:KERNEL[:ARG...]             do-all
 *   order:CLASS:KERNEL[:ARG...]     compaction of the class, in the order of the kernel's keys
 *   reduce:KERNEL:TYPE:VALUE        reduction; the result must be VALUE
 *   fused:TYPE:VALUE:KERNEL[:ARG...][:then:KERNEL[:ARG...]]...
 *                                   a reduction by these kernels in one
 *   refused:WORDS:KERNEL:KERNEL     these cannot be fused, and the message has the WORDS
 *   count:CLASS:COUNT               so many objects of the class must be there
 *
 * An ARG is float=VALUE, uint=VALUE or buffer=NAME. After each action kernels must have reported
 * nothing, and the heap check must pass. Exit status 77: no device.
 *
 * Read first: docs.py, which calls this; cl_fixture.h.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cl_fixture.h"

#define HEAP_BYTES (16u << 20)
#define WORDS_MAX 16
#define BUFFERS_MAX 16

typedef struct buffer {
    const char *name;
    cl_mem memory;
} buffer;

static cl_fixture fixture;
static clump_heap *heap;
static clump_program *program;
static buffer buffers[BUFFERS_MAX];
static int buffer_count;

static void give_up(const char *what, const char *which) {
    fprintf(stderr, "%s: %s\n", what, which);
    exit(1);
}

static char *read_file(const char *path) {
    FILE *file = fopen(path, "rb");
    char *text = calloc(1, 1 << 20);
    if (!file || !text) give_up("cannot read", path);
    size_t bytes = fread(text, 1, (1 << 20) - 1, file);
    if (!bytes || !feof(file)) give_up("empty or too long", path);
    fclose(file);
    return text;
}

static void make_buffer(const char *name, const char *type, uint32_t count) {
    uint32_t *words = malloc(count * sizeof *words);
    if (!words || buffer_count == BUFFERS_MAX) give_up("too large or too many", name);
    int is_float = !strcmp(type, "float");
    if (!is_float && strcmp(type, "uint") != 0) give_up("no such type", type);
    for (uint32_t i = 0; i < count; i++) {
        float value = (float)i;
        words[i] = i;
        if (is_float) memcpy(&words[i], &value, sizeof value);
    }
    buffers[buffer_count++] =
        (buffer){name, cl_fixture_buffer(&fixture, words, count * sizeof *words)};
    free(words);
}

/* A kernel of the program with its arguments set, which are its parameters from `first` on. */
static clump_kernel *make_kernel(char *const *words, int count, uint32_t first) {
    clump_kernel *kernel = cl_fixture_kernel(&fixture, program, words[0]);
    for (int i = 1; i < count; i++) {
        char *value = strchr(words[i], '=');
        if (!value) give_up("no argument", words[i]);
        *value++ = 0;
        uint32_t index = first + (uint32_t)(i - 1);
        if (!strcmp(words[i], "float")) {
            float number = strtof(value, NULL);
            SET_ARG(&fixture, kernel, index, number);
        } else if (!strcmp(words[i], "uint")) {
            uint32_t number = (uint32_t)strtoul(value, NULL, 0);
            SET_ARG(&fixture, kernel, index, number);
        } else if (!strcmp(words[i], "buffer")) {
            int b = 0;
            while (b < buffer_count && strcmp(buffers[b].name, value) != 0) b++;
            if (b == buffer_count) give_up("no such buffer", value);
            SET_ARG(&fixture, kernel, index, buffers[b].memory);
        } else {
            give_up("no such type", words[i]);
        }
    }
    return kernel;
}

static void check_reduced(clump_kernel *kernel, const char *name, const char *type,
                          const char *value) {
    float number;
    uint32_t whole;
    char found[64];
    if (!strcmp(type, "float")) {
        CHECK_OK(&fixture, clump_heap_reduce(heap, kernel, sizeof number, &number, NULL));
        snprintf(found, sizeof found, "%g", (double)number);
    } else {
        CHECK_OK(&fixture, clump_heap_reduce(heap, kernel, sizeof whole, &whole, NULL));
        snprintf(found, sizeof found, "%u", whole);
    }
    if (strcmp(found, value) != 0) {
        fprintf(stderr, "%s: %s, expected %s\n", name, found, value);
        exit(1);
    }
    clump_kernel_destroy(kernel);
}

/* KERNEL[:ARG...][:then:KERNEL[:ARG...]]... */
static clump_kernel *make_fused(char *const *words, int count) {
    clump_kernel *kernels[WORDS_MAX], *fused;
    uint32_t made = 0;
    for (int begin = 0, end; begin < count; begin = end + 1) {
        for (end = begin; end < count && strcmp(words[end], "then") != 0;) end++;
        kernels[made++] = make_kernel(words + begin, end - begin, 0);
    }
    CHECK_OK(&fixture, clump_kernel_create_fused(kernels, made, &fused, NULL));
    while (made) clump_kernel_destroy(kernels[--made]);
    return fused;
}

static void check_refused(char *const *words) {
    clump_kernel *kernels[] = {make_kernel(words + 1, 1, 0), make_kernel(words + 2, 1, 0)}, *fused;
    clump_status status = clump_kernel_create_fused(kernels, 2, &fused, NULL);
    if (status != CLUMP_ERR_USAGE ||
        !strstr(clump_context_get_error(fixture.clump)->message, words[0]))
        give_up("not refused with these words", words[0]);
    clump_kernel_destroy(kernels[0]);
    clump_kernel_destroy(kernels[1]);
}

static void act(char *action) {
    char *words[WORDS_MAX];
    int count = 0;
    for (char *word = strtok(action, ":"); word && count < WORDS_MAX; word = strtok(NULL, ":"))
        words[count++] = word;
    const char *verb = count ? words[0] : "";
    if (!strcmp(verb, "buffer") && count == 4) {
        make_buffer(words[1], words[2], (uint32_t)strtoul(words[3], NULL, 10));
    } else if (!strcmp(verb, "new") && count >= 4) {
        uint64_t wanted = strtoull(words[2], NULL, 10), made = 0;
        clump_kernel *kernel = make_kernel(words + 3, count - 3, 0);
        CHECK_OK(&fixture, clump_heap_do_new(heap, kernel, words[1], wanted, &made, NULL));
        if (made != wanted) give_up("not all objects were made", words[1]);
        clump_kernel_destroy(kernel);
    } else if (!strcmp(verb, "all") && count >= 2) {
        clump_kernel *kernel = make_kernel(words + 1, count - 1, 0);
        CHECK_OK(&fixture, clump_heap_do_all(heap, kernel, NULL));
        clump_kernel_destroy(kernel);
    } else if (!strcmp(verb, "order") && count >= 3) {
        const char *const classes[] = {words[1]};
        clump_kernel *kernel = make_kernel(words + 2, count - 2, 1); /* 0: the keys */
        const clump_compact_desc desc = {.size = sizeof desc,
                                         .classes = classes,
                                         .class_count = 1,
                                         .order = CLUMP_ORDER_KEY,
                                         .key_kernel = kernel};
        CHECK_OK(&fixture, clump_heap_compact(heap, &desc, NULL, NULL));
        clump_kernel_destroy(kernel);
    } else if (!strcmp(verb, "reduce") && count == 4) {
        check_reduced(make_kernel(words + 1, 1, 0), words[1], words[2], words[3]);
    } else if (!strcmp(verb, "fused") && count >= 4) {
        check_reduced(make_fused(words + 3, count - 3), "fused", words[1], words[2]);
    } else if (!strcmp(verb, "refused") && count == 4) {
        check_refused(words + 1);
    } else if (!strcmp(verb, "count") && count == 3) {
        uint64_t found = 0;
        CHECK_OK(&fixture, clump_heap_read_count(heap, words[1], &found));
        if (found != strtoull(words[2], NULL, 10)) {
            fprintf(stderr, "%llu of %s, expected %s\n", (unsigned long long)found, words[1],
                    words[2]);
            exit(1);
        }
    } else {
        give_up("no such action, or words are missing", verb);
    }
    CHECK_HEAP(&fixture, heap);
}

int main(int argc, char **argv) {
    if (argc < 3) give_up("usage", "doc_kernels SCHEMA SOURCE [ACTION...]");
    int status = cl_fixture_open(&fixture, NULL);
    if (status) return status;
    char *schema = read_file(argv[1]), *source = read_file(argv[2]);
    heap = cl_fixture_heap(&fixture, schema, HEAP_BYTES, 0);
    program = cl_fixture_program(&fixture, heap, source, NULL, NULL);
    for (int i = 3; i < argc; i++) act(argv[i]);
    for (int i = 0; i < buffer_count; i++) clReleaseMemObject(buffers[i].memory);
    clump_program_destroy(program);
    clump_heap_destroy(heap);
    cl_fixture_close(&fixture);
    free(schema);
    free(source);
    return 0;
}
