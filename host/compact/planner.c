/* The planner's launches.
 *
 * Read first: compact.h, cl/compact/plan.cl.
 */
#include "compact/compact.h"

#define SLACK_PARTS 1000000.0 /* slack goes to the device as millionths */

/* The plan of one run; fresh: the class that goes to free blocks, or 0. */
static clump_status plan(clumpi_compaction *r, uint64_t max_moves, clumpi_u32 fresh) {
    clump_heap *heap = r->heap;
    const clumpi_launch_sizes *sizes = &clumpi_heap_context(heap)->sizes;
    size_t groups = clumpi_compact_plan_groups(heap), local = sizes->scan_local;
    clumpi_u32 slack = (clumpi_u32)(r->desc->slack * SLACK_PARTS + 0.5);
    clumpi_u32 limit = max_moves && max_moves < UINT32_MAX ? (clumpi_u32)max_moves : UINT32_MAX;
    clumpi_u32 classes = clumpi_heap_geometry(heap)->header.class_count;
    uint64_t selected[4] = {0};
    for (int i = 0; i < 4; i++)
        selected[i] = fresh ? (uint64_t)(fresh / 64 == (uint32_t)i) << fresh % 64 : r->selected[i];
    clumpi_arg threshold[] = {{sizeof selected, selected},
                              {sizeof slack, &slack},
                              {sizeof limit, &limit},
                              {sizeof fresh, &fresh}};
    clumpi_arg write[] = {{sizeof fresh, &fresh}};
    const clump_compact_phase phase = CLUMP_COMPACT_PLAN;
    clump_status status = clumpi_unreserve(heap, NULL);
    if (!status)
        status =
            clumpi_compact_run(r, phase, CLUMPI_COMPACT_KERNEL(plan_clear), groups, local, NULL, 0);
    if (!status) status = clumpi_owned_hide(r);
    if (!status)
        status = clumpi_compact_run(r, phase, CLUMPI_COMPACT_KERNEL(plan_histogram), groups, local,
                                    NULL, 0);
    /* A budget is shared by the classes in turn, so one group does them all. */
    if (!status)
        status = clumpi_compact_run(r, phase, CLUMPI_COMPACT_KERNEL(plan_threshold),
                                    limit == UINT32_MAX ? classes : 1, local, threshold, 4);
    if (!status)
        status =
            clumpi_compact_run(r, phase, CLUMPI_COMPACT_KERNEL(plan_count), groups, local, NULL, 0);
    if (!status)
        status = clumpi_compact_run(r, phase, CLUMPI_COMPACT_KERNEL(plan_write), groups, local,
                                    write, 1);
    if (!status)
        status =
            clumpi_compact_run(r, phase, CLUMPI_COMPACT_KERNEL(plan_pair), groups, local, NULL, 0);
    return clumpi_owned_show(r, status);
}

clump_status clumpi_planner_run(clumpi_compaction *r, uint64_t max_moves, uint64_t *moves) {
    const clumpi_moving moving = {0};
    clump_status status = plan(r, max_moves, 0);
    return status ? status : clumpi_compact_apply(r, &moving, moves);
}

clump_status clumpi_planner_run_fresh(clumpi_compaction *r, uint32_t class_id, cl_mem order) {
    const clumpi_moving moving = {.fresh = class_id, .order = order};
    clump_status status = plan(r, 0, class_id);
    return status ? status : clumpi_compact_apply(r, &moving, NULL);
}
