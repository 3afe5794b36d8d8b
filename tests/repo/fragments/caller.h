/* What the callers of fragments share. Each is a program: fragment_1() and so on are the C blocks
 * of the page of its name, and page.schema and page.cl in the working directory are the schema and
 * the kernels of the page (docs_run.py).
 *
 * Read first: docs_run.py.
 */
#ifndef FRAGMENTS_CALLER_H
#define FRAGMENTS_CALLER_H

#include <clump/quick.h>

#include "fragments.h"

#define EXPECT(condition)                                                                          \
    do {                                                                                           \
        if (!(condition)) {                                                                        \
            fprintf(stderr, "%s:%d: not so: %s\n", __FILE__, __LINE__, #condition);                \
            exit(1);                                                                               \
        }                                                                                          \
    } while (0)

/* No call of the library failed so far, neither on the host nor in a kernel. */
static inline void expect_no_error(clump_quick *q) {
    const clump_error *e = clump_context_get_error(q->context);
    if (e->status) fprintf(stderr, "%s\n", e->message);
    EXPECT(!e->status);
    if (q->heap) CLUMP_CHECK(q, clump_heap_take_errors(q->heap, NULL));
}

static inline void make(clump_quick *q, const char *class_name, uint64_t count,
                        const char *kernel) {
    uint64_t made;
    CLUMP_CHECK(q, clump_heap_do_new(q->heap, clump_program_get_kernel(q->program, kernel),
                                     class_name, count, &made, NULL));
    EXPECT(made == count);
}

static inline void all(clump_quick *q, const char *kernel) {
    CLUMP_CHECK(q, clump_heap_do_all(q->heap, clump_program_get_kernel(q->program, kernel), NULL));
}

static inline uint64_t count_of(clump_quick *q, const char *class_name) {
    uint64_t count;
    CLUMP_CHECK(q, clump_heap_read_count(q->heap, class_name, &count));
    return count;
}

static inline const char *text_of(const char *path) {
    FILE *file = fopen(path, "rb");
    char *text = calloc(1, 1 << 16);
    EXPECT(file && text && fread(text, 1, (1 << 16) - 1, file));
    fclose(file);
    return text;
}

#endif
