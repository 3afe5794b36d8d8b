/* Objects out of what is reserved, for calls of the host that make few: their work grows with the
 * objects, and the list stays what it was. A do-new looks at all blocks and replaces the list.
 *
 * Invariant: objects that were taken are in rows of the list or in rows that were reserved with it,
 * so do-alls without a list find them (lists.c).
 *
 * Read first: lists.c, cl/heap/few.cl.
 */
#include <stddef.h>

#include "heap/heap.h"

static const char *const kernel_files[] = {
    "cl/core/layout.h",  "cl/core/prelude.clh", "cl/core/bitmap.clh", "cl/core/segments.clh",
    "cl/core/block.clh", "cl/core/reserve.clh", "cl/core/alloc.clh",  "cl/core/scan.clh",
    "cl/heap/layout.h",  "cl/heap/few.cl"};
static const char *const kernel_names[] = {CLUMPI_TAKE_KERNELS(CLUMPI_KERNEL_NAME)};
const clumpi_library clumpi_take_library = CLUMPI_LIBRARY(NULL, NULL);

/* More are made by a do-new, which fills free blocks in the order of their addresses. */
#define TAKE_MOST (UINT32_C(1) << 20)
#define TAKE_SHARE 64u /* of the slots that the heap has */

/* After a list that had too little, so many calls do not try. */
#define TAKE_PAUSE 16u

int clumpi_can_take(const clump_heap *heap, clumpi_u32 class_id, uint64_t count) {
    const clump_capabilities *c = &heap->context->capabilities;
    const uint64_t slots =
        (uint64_t)clumpi_block_count(heap) * heap->geometry.classes[class_id].capacity;
    return c->features & CLUMP_FEATURE_INT64_ATOMICS && !heap->checks && count &&
           count <= TAKE_MOST && count <= slots / TAKE_SHARE && heap->list_valid &&
           heap->reserved && !heap->list_counted;
}

/* *made: as many, 0, or UINT32_MAX: a do-new is the only way. */
static clump_status take(clump_heap *heap, clumpi_u32 class_id, clumpi_u32 count, cl_mem refs,
                         uint64_t at, uint64_t *made) {
    const clumpi_launch_sizes *sizes = &heap->context->sizes;
    const size_t local = sizes->do_all_local, most = sizes->do_all_global,
                 items = (count + local - 1) / local * local;
    const clumpi_arg args[] = {{sizeof class_id, &class_id},
                               {sizeof count, &count},
                               {sizeof refs, &refs},
                               {sizeof at, &at}};
    const clumpi_arg plan[] = {args[0], args[1], {sizeof heap->list_turn, &heap->list_turn}};
    clump_status status = clumpi_run_on_heap(heap, CLUMPI_TAKE_KERNEL(take_plan), sizes->scan_local,
                                             sizes->scan_local, plan, 3, NULL);
    if (!status)
        status = clumpi_run_on_heap(heap, CLUMPI_TAKE_KERNEL(take_claim),
                                    items < most ? items : most, local, args, 4, NULL);
    return status ? status : clumpi_new_made(heap, made);
}

clump_status clumpi_new_take(clump_heap *heap, clumpi_u32 class_id, uint64_t count, cl_mem refs,
                             uint64_t at, int *is_taken) {
    *is_taken = 0;
    if (!clumpi_can_take(heap, class_id, count)) return CLUMP_OK;
    if (heap->take_pause) {
        heap->take_pause--;
        return CLUMP_OK;
    }
    heap->may_have_errors = 1;
    uint64_t made = 0;
    clump_status status = take(heap, class_id, (clumpi_u32)count, refs, at, &made);
    if (!status && !made) { /* the list that the next do-all needs has more */
        heap->window.taken++;
        status = clumpi_list_renew(heap);
        if (!status) status = take(heap, class_id, (clumpi_u32)count, refs, at, &made);
        if (!made) heap->take_pause = TAKE_PAUSE;
    }
    *is_taken = !status && made == count;
    if (*is_taken) clumpi_list_took(heap, class_id);
    return status;
}
