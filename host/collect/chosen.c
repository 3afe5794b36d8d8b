/* Objects that somebody has chosen: what they lead to, and freeing them (collect.h).
 *
 * Invariant: a bit is set of live objects only.
 *
 * Read first: collect.h, cl/collect/layout.h.
 */
#include "collect/collect.h"

static const char key; /* of the buffer that the heap keeps */

static uint64_t bytes_of(const clump_heap *heap) {
    return clumpi_marks_grey_at(clumpi_mark_granules(heap));
}

clump_status clumpi_chosen_create(clump_heap *heap, cl_mem *chosen) {
    uint64_t bytes = bytes_of(heap);
    clump_status status = clumpi_scratch_take(heap, &key, &bytes, "chosen objects", chosen);
    if (!status) status = clumpi_clear(clumpi_heap_context(heap), *chosen, 0, bytes);
    if (status) clumpi_chosen_release(heap, chosen);
    return status;
}

void clumpi_chosen_release(clump_heap *heap, cl_mem *chosen) {
    clumpi_scratch_give(heap, &key, bytes_of(heap), chosen);
}

/* Of a checked heap references are plain meanwhile, as for a collection. */
static clump_status reach(clumpi_collection *r) {
    const clumpi_arg arg = {sizeof r->chosen, &r->chosen};
    int is_plain = 0;
    clump_status status = clumpi_checking_plain_begin(r->heap, &is_plain);
    if (!status) status = clumpi_collect_mark(r);
    if (!status)
        status =
            clumpi_collect_run(r, CLUMP_COLLECT_MARK, CLUMPI_COLLECT_KERNEL(mark_reached), &arg, 1);
    clump_status named = clumpi_checking_plain_end(r->heap, is_plain);
    return status ? status : named;
}

clump_status clumpi_chosen_follow(clump_heap *heap, cl_mem chosen) {
    static const clump_collect_desc desc = {.only_mark = 1};
    clumpi_collection r = {
        .heap = heap, .marks = clumpi_marks_of(heap), .desc = &desc, .chosen = chosen};
    if (!r.marks)
        return clumpi_fail(&clumpi_heap_context(heap)->error, CLUMP_ERR_HOST_MEMORY,
                           "no host memory for marks of a heap");
    clump_status status = clumpi_collect_begin(&r);
    if (!status) status = reach(&r);
    if (status)
        clumpi_buffer_release(clumpi_heap_context(heap),
                              &r.marks->buffer); /* there may be grey ones */
    return status;
}

clump_status clumpi_chosen_free(clump_heap *heap, cl_mem chosen, int *is_freed) {
    static const clump_collect_desc desc = {0};
    clumpi_marks marks = {.buffer = chosen};
    clumpi_collection r = {.heap = heap, .marks = &marks, .desc = &desc};
    /* One launch, so that objects have their arrays or are gone. */
    clump_status status =
        clumpi_collect_has_arrays(heap) ? clumpi_collect_drop(&r, 1) : clumpi_collect_sweep(&r);
    *is_freed = !status;
    return status ? status : clumpi_checking_settle(heap);
}
