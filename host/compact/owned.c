/* Raw memory that arrays own, in a compaction: slots move like objects, and the arrays get the new
 * handles. Other raw memory is pinned.
 *
 * Invariant: outside of clumpi_owned_hide() .. clumpi_owned_show() each block has its class.
 *
 * Read first: compact.h, cl/compact/owned.cl. Read next: planner.c.
 */
#include "compact/compact.h"

#define KERNELS(X)                                                                                 \
    X(owners)                                                                                      \
    X(owners_aside)
enum { KERNELS(CLUMPI_KERNEL_INDEX) };

static const char *const kernel_files[] = {
    "cl/core/layout.h",     "cl/core/prelude.clh", "cl/core/bitmap.clh",  "cl/core/segments.clh",
    "cl/core/block.clh",    "cl/core/scan.clh",    "cl/compact/layout.h", "cl/compact/plan.clh",
    "cl/compact/reach.clh", "cl/compact/owned.cl"};
static const char *const kernel_names[] = {KERNELS(CLUMPI_KERNEL_NAME)};
static const clumpi_library library = CLUMPI_LIBRARY(NULL, NULL);

static clumpi_kernel_id kernel(uint32_t index) {
    return (clumpi_kernel_id){.library = &library, .index = index};
}

void clumpi_owned_select(clumpi_compaction *r) {
    const clump_schema *schema = clumpi_heap_schema(r->heap);
    const clumpi_geometry *g = clumpi_heap_geometry(r->heap);
    r->moves_raw = !r->desc->class_count && r->desc->order == CLUMP_ORDER_ANY && !r->strategy &&
                   clumpi_schema_find_array(schema, 1) != NULL;
    for (uint32_t id = g->header.first_raw; r->moves_raw && id <= g->header.class_count; id++)
        if (!g->classes[id].is_runs) r->selected[id / 64] |= UINT64_C(1) << id % 64;
}

clump_status clumpi_owned_build(const clumpi_compaction *r) {
    return r->moves_raw ? clumpi_build_library(clumpi_heap_context(r->heap), kernel(0)) : CLUMP_OK;
}

static clump_status run_owners(clumpi_compaction *r, clump_compact_phase phase,
                               clumpi_u32 has_moved) {
    const clumpi_arg args[] = {{sizeof has_moved, &has_moved}};
    return clumpi_compact_run(r, phase, kernel(CLUMPI_KERNEL_owners),
                              clumpi_compact_wide_groups(r->heap),
                              clumpi_compact_block_local(r->heap), args, 1);
}

static clump_status run_aside(clumpi_compaction *r, clumpi_u32 ends) {
    const clumpi_arg args[] = {{sizeof ends, &ends}};
    return clumpi_compact_run(r, CLUMP_COMPACT_PLAN, kernel(CLUMPI_KERNEL_owners_aside),
                              clumpi_compact_plan_groups(r->heap),
                              clumpi_heap_context(r->heap)->sizes.scan_local, args, 1);
}

clump_status clumpi_owned_hide(clumpi_compaction *r) {
    const clumpi_header *h = &clumpi_heap_geometry(r->heap)->header;
    if (!r->moves_raw) return CLUMP_OK;
    clump_status status = clumpi_clear(clumpi_heap_context(r->heap), clumpi_heap_buffer(r->heap),
                                       (uint64_t)h->at_block_plans * CLUMPI_UNIT,
                                       h->block_end * sizeof(clumpi_block_plan));
    if (!status) status = run_owners(r, CLUMP_COMPACT_PLAN, 0);
    return status ? status : run_aside(r, 0);
}

clump_status clumpi_owned_show(clumpi_compaction *r, clump_status status) {
    clump_context *c = clumpi_heap_context(r->heap);
    if (!r->moves_raw) return status;
    const clump_error first = c->error;
    const clump_status shown = run_aside(r, 1);
    const clump_error second = c->error;
    if (shown) (void)run_aside(r, 1); /* a heap must not stay like this unless the device is lost */
    if (status || shown) c->error = status ? first : second;
    return status ? status : shown;
}

clump_status clumpi_owned_rewrite(clumpi_compaction *r) {
    return r->moves_raw ? run_owners(r, CLUMP_COMPACT_REWRITE, 1) : CLUMP_OK;
}

uint64_t clumpi_owned_report(clumpi_compaction *r, const clumpi_class_plan *plans) {
    const clumpi_geometry *g = clumpi_heap_geometry(r->heap);
    clump_compact_report *p = &r->report;
    if (!r->moves_raw) return 0;
    for (uint32_t id = g->header.first_raw; id <= g->header.class_count; id++) {
        p->raw_moves += plans[id].moves;
        p->raw_bytes_moved += (uint64_t)plans[id].moves * g->classes[id].slot_bytes;
        p->raw_blocks_freed += plans[id].freed;
        p->moves_left += plans[id].moves_left;
    }
    p->raw_blocks_pinned = plans[0].pinned_blocks;
    p->raw_bytes_pinned = (uint64_t)plans[0].pinned_units * CLUMPI_RAW_UNIT;
    return p->raw_moves;
}
