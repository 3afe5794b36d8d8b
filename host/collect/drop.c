/* What dead objects have in raw memory: their arrays of run-time length, freed before the sweep by
 * a program of the heap (cl/api/drop.cl), which is made at the first collection and kept.
 *
 * Invariant: a call that fails before its kernel runs has changed nothing.
 *
 * Read first: collect.h.
 */
#include "collect/collect.h"

typedef struct dropping {
    clumpi_attachment base;
    clump_program *program;
    clump_kernel *kernel; /* NULL until it was made */
} dropping;

static void release(clumpi_attachment *base, clump_context *c) {
    dropping *d = (dropping *)base;
    clumpi_kernel_release(d->kernel);
    clump_program_destroy(d->program);
    clumpi_free(&c->allocator, d);
}

static clump_status make(clump_heap *heap, dropping *d) {
    static const char *const files[] = {"cl/api/drop.cl"};
    clump_context *c = clumpi_heap_context(heap);
    clumpi_text source = {.allocator = &c->allocator};
    if (d->kernel) return CLUMP_OK;
    clumpi_source_append(&source, files, 1);
    clump_status status = source.failed ? clumpi_fail(&c->error, CLUMP_ERR_HOST_MEMORY,
                                                      "no host memory for a program")
                                        : CLUMP_OK;
    clump_program_destroy(d->program); /* of a call that failed */
    d->program = NULL;
    if (!status)
        status = clump_program_create(&(clump_program_desc){.size = sizeof(clump_program_desc),
                                                            .heap = heap,
                                                            .source = source.data,
                                                            .name = files[0]},
                                      &d->program, NULL);
    if (!status) status = clump_kernel_create(d->program, "drop_arrays", &d->kernel, NULL);
    clumpi_free(&c->allocator, source.data);
    return status;
}

clump_status clumpi_collect_drop(clumpi_collection *r) {
    static const char key;
    clump_heap *heap = r->heap;
    if (!clumpi_schema_find_array(clumpi_heap_schema(heap), 1)) return CLUMP_OK;
    dropping *d = clumpi_heap_keep(heap, &key, sizeof *d, release);
    if (!d)
        return clumpi_fail(&clumpi_heap_context(heap)->error, CLUMP_ERR_HOST_MEMORY,
                           "no host memory for a collection");
    const uint64_t at = clumpi_marks_white_at() / sizeof(uint64_t);
    const clumpi_u32 end = (clumpi_u32)clumpi_mark_granules(heap);
    clump_status status = make(heap, d);
    if (!status)
        status = clump_kernel_set_arg(d->kernel, 0, sizeof r->marks->buffer, &r->marks->buffer);
    if (!status) status = clump_kernel_set_arg(d->kernel, 1, sizeof at, &at);
    if (!status) status = clump_kernel_set_arg(d->kernel, 2, sizeof end, &end);
    return status ? status : clump_heap_do_all(heap, d->kernel, NULL);
}
