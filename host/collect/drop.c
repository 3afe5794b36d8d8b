/* What dead or chosen objects have in raw memory: their arrays of run-time length, freed by a
 * program of the heap (cl/api/drop.cl), which is made when it is first needed, and kept.
 *
 * Invariant: a call that fails before its kernel runs has changed nothing.
 *
 * Read first: collect.h.
 */
#include "collect/collect.h"

int clumpi_collect_has_arrays(const clump_heap *heap) {
    return clumpi_schema_find_array(clumpi_heap_schema(heap), 1) != NULL;
}

clump_status clumpi_collect_drop(clumpi_collection *r, int with_objects) {
    static const char key;
    clump_heap *heap = r->heap;
    clump_kernel *kernel;
    const clumpi_u32 all = with_objects ? 1 : 0;
    const uint64_t at = clumpi_marks_white_at() / sizeof(uint64_t);
    const clumpi_u32 end = (clumpi_u32)clumpi_mark_granules(heap);
    clump_status status = clumpi_own_kernel(heap, &key, "cl/api/drop.cl", "drop_arrays", &kernel);
    if (!status)
        status = clump_kernel_set_arg(kernel, 0, sizeof r->marks->buffer, &r->marks->buffer);
    if (!status) status = clump_kernel_set_arg(kernel, 1, sizeof at, &at);
    if (!status) status = clump_kernel_set_arg(kernel, 2, sizeof end, &end);
    if (!status) status = clump_kernel_set_arg(kernel, 3, sizeof all, &all);
    return status ? status : clump_heap_do_all(heap, kernel, NULL);
}
