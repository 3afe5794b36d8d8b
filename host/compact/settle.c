/* The end of a launch that changed the class of objects (cl/compact/settle.cl): called by heap, for
 * schemas with "becomes".
 *
 * Invariant: the host waits for nothing, and does not know whether anything changed.
 *
 * Read first: compact.h, cl/api/become.clh.
 */
#include <stddef.h>

#include "compact/compact.h"

#define KERNELS(X)                                                                                 \
    X(settle_mark)                                                                                 \
    X(settle_rewrite)                                                                              \
    X(settle_registered)                                                                           \
    X(settle_free)
enum { KERNELS(CLUMPI_KERNEL_INDEX) };
enum { CLUMPI_KERNEL_settle_left = CLUMPI_KERNEL_settle_free + 1 };

#define BEFORE                                                                                     \
    "cl/core/layout.h", "cl/core/prelude.clh", "cl/core/bitmap.clh", "cl/core/segments.clh",       \
        "cl/core/block.clh", "cl/core/reserve.clh", "cl/core/alloc.clh"
#define BEHIND                                                                                     \
    "cl/core/scan.clh", "cl/compact/layout.h", "cl/compact/plan.clh", "cl/compact/reach.clh",      \
        "cl/compact/became.clh", "cl/compact/rewrite.clh", "cl/compact/settle.cl"
#define ARRAYS "-DCLUMPI_REF_ARRAYS=1"
static const char *const kernel_files[] = {BEFORE, BEHIND};
static const char *const kernel_names[] = {KERNELS(CLUMPI_KERNEL_NAME)};
static const clumpi_library with_arrays = CLUMPI_LIBRARY(ARRAYS, NULL);
static const clumpi_library library = CLUMPI_LIBRARY(NULL, &with_arrays);

/* Of checked heaps. */
#define CHECKED "-DCLUMPI_CHECKED_BECOMES=1"
static const char *const checked_files[] = {BEFORE, "cl/core/poison.clh", BEHIND};
static const char *const checked_names[] = {KERNELS(CLUMPI_KERNEL_NAME) "clumpi_settle_left"};
#define CHECKED_LIBRARY(options, arrays)                                                           \
    {                                                                                              \
        checked_files, sizeof checked_files / sizeof *checked_files, checked_names,                \
            sizeof checked_names / sizeof *checked_names, options, arrays, NULL                    \
    }
static const clumpi_library checked_with_arrays = CHECKED_LIBRARY(CHECKED " " ARRAYS, NULL);
static const clumpi_library checked_library = CHECKED_LIBRARY(CHECKED, &checked_with_arrays);

#define KERNEL(name)                                                                               \
    ((clumpi_kernel_id){.library = is_checked ? &checked_library : &library,                       \
                        .index = CLUMPI_KERNEL_##name})

clump_status clumpi_settle(clump_heap *heap, int *unsettled) {
    static const clump_compact_desc desc = {.size = sizeof desc};
    const clump_schema *schema = clumpi_heap_schema(heap);
    const clumpi_header *h = &clumpi_heap_geometry(heap)->header;
    const int is_checked = clump_heap_get_info(heap)->checks != 0;
    clumpi_compaction r = {.heap = heap, .desc = &desc};
    const size_t wide = clumpi_compact_wide_groups(heap), local = clumpi_compact_block_local(heap);
    for (uint32_t id = 1; id <= clumpi_object_classes(heap); id++)
        if (clumpi_schema_can_become(schema, id)) r.selected[id / 64] |= UINT64_C(1) << (id % 64);
    clumpi_arg mark[] = {{sizeof r.selected, &r.selected}}, inside[1] = {{0, NULL}};
    clump_status status = CLUMP_OK;
    if (clumpi_heap_has_ref_arrays(heap)) { /* chunks of long arrays stand where the list is */
        clumpi_list_forget(heap);
        status = clumpi_unreserve(heap, NULL);
    }
    if (!status)
        status = clumpi_clear(clumpi_heap_context(heap), clumpi_heap_buffer(heap),
                              (uint64_t)h->at_moved * CLUMPI_UNIT,
                              ((uint64_t)h->block_end + 31) / 32 * 4);
    if (!status)
        status = clumpi_compact_run(&r, CLUMP_COMPACT_REWRITE, KERNEL(settle_mark), wide, local,
                                    mark, 1);
    if (!status && is_checked && *unsettled != CLUMPI_UNSETTLED_LEFT) {
        status = clumpi_compact_run(&r, CLUMP_COMPACT_REWRITE, KERNEL(settle_left), wide, local,
                                    NULL, 0);
        if (!status) *unsettled = CLUMPI_UNSETTLED_LEFT;
    }
    if (!status)
        status =
            clumpi_compact_run_inside(&r, CLUMP_COMPACT_REWRITE, KERNEL(settle_rewrite), inside, 1);
    if (!status)
        status =
            clumpi_compact_run_outside(&r, CLUMP_COMPACT_REWRITE, KERNEL(settle_registered), 0);
    if (!status)
        status =
            clumpi_compact_run(&r, CLUMP_COMPACT_FINISH, KERNEL(settle_free), wide, local, NULL, 0);
    return status;
}
