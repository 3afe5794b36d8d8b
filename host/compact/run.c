/* The commands of a compaction that all strategies share: launching and timing them, and with a
 * plan on the device everything from dangling references to the freed blocks.
 *
 * Read first: compact.h, cl/compact/plan.clh. Read next: planner.c.
 */
#include "compact/compact.h"

static const char *const kernel_files[] = {
    "cl/core/layout.h",       "cl/core/prelude.clh",  "cl/core/bitmap.clh",
    "cl/core/segments.clh",   "cl/core/block.clh",    "cl/core/scan.clh",
    "cl/compact/layout.h",    "cl/compact/plan.clh",  "cl/compact/reach.clh",
    "cl/compact/rewrite.clh", "cl/compact/plan.cl",   "cl/compact/move.cl",
    "cl/compact/rewrite.cl",  "cl/compact/finish.cl", "cl/compact/order.cl"};
static const char *const kernel_names[] = {CLUMPI_COMPACT_KERNELS(CLUMPI_KERNEL_NAME)};
static const clumpi_library with_arrays = CLUMPI_LIBRARY("-DCLUMPI_REF_ARRAYS=1", NULL);
const clumpi_library clumpi_compact_library = CLUMPI_LIBRARY(NULL, &with_arrays);

clump_status clumpi_compact_run(clumpi_compaction *r, clump_compact_phase phase,
                                clumpi_kernel_id id, size_t groups, size_t local,
                                const clumpi_arg *args, uint32_t arg_count) {
    return clumpi_timed_run(r->heap, &r->timed, phase, id, groups, local, args, arg_count);
}

size_t clumpi_compact_plan_groups(const clump_heap *heap) {
    size_t most = clumpi_heap_context(heap)->sizes.scan_groups,
           tiles = (clumpi_block_count(heap) + 31) / 32;
    return tiles < most ? tiles : most;
}

size_t clumpi_compact_wide_groups(const clump_heap *heap) {
    return clumpi_heap_context(heap)->sizes.pass_groups * CLUMPI_TALLIES;
}

size_t clumpi_compact_block_local(const clump_heap *heap) {
    size_t local = clumpi_heap_context(heap)->sizes.do_all_local,
           slots = clumpi_heap_geometry(heap)->header.capacity_max;
    return slots < local ? slots : local;
}

/* What the work-groups of the last rewriting kernel saw, added to three counters. */
static clump_status add_tallies(clumpi_compaction *r, uint64_t *examined, uint64_t *rewritten,
                                uint64_t *dangling) {
    clump_heap *heap = r->heap;
    clump_context *c = clumpi_heap_context(heap);
    if (!r->wants_report) return CLUMP_OK;
    size_t groups = clumpi_compact_wide_groups(heap);
    uint64_t at = (uint64_t)clumpi_heap_geometry(heap)->header.at_tallies * CLUMPI_UNIT;
    clump_status status =
        clumpi_read(c, clumpi_heap_buffer(heap), at, groups * sizeof *r->tallies, r->tallies);
    for (size_t i = 0; i < groups && !status; i++) {
        *examined += r->tallies[i].examined;
        *rewritten += r->tallies[i].rewritten;
        *dangling += r->tallies[i].dangling;
    }
    return status;
}

/* Where arrays of references have raw memory, the kernel leaves long ones to a second launch. */
clump_status clumpi_compact_run_inside(clumpi_compaction *r, clump_compact_phase phase,
                                       clumpi_kernel_id id, clumpi_arg *args, uint32_t arg_count) {
    clump_heap *heap = r->heap;
    const clumpi_header *h = &clumpi_heap_geometry(heap)->header;
    size_t wide = clumpi_compact_wide_groups(heap), local = clumpi_compact_block_local(heap);
    clumpi_u32 chunks = 0, launches = clumpi_heap_has_ref_arrays(heap) && h->raw_units ? 2 : 1;
    clump_status status = CLUMP_OK;
    args[0] = (clumpi_arg){sizeof chunks, &chunks};
    if (launches > 1)
        status = clumpi_clear(clumpi_heap_context(heap), clumpi_heap_buffer(heap),
                              (uint64_t)h->at_chunks * CLUMPI_UNIT, sizeof(clumpi_array_chunk));
    for (; chunks < launches && !status; chunks++)
        status = clumpi_compact_run(r, phase, id, wide, local, args, arg_count);
    args[0] = (clumpi_arg){0, NULL}; /* `chunks` ends here */
    return status;
}

clump_status clumpi_compact_run_outside(clumpi_compaction *r, clump_compact_phase phase,
                                        clumpi_kernel_id id, clumpi_u32 check) {
    clump_heap *heap = r->heap;
    clump_status status = CLUMP_OK;
    for (clump_refs *s = clumpi_refs_first(heap); s && !status; s = s->next) {
        uint64_t offset = s->offset / 4, count = s->count, counted_at = s->counted_at / 4;
        clumpi_u32 stride = s->stride / 4, null_dangling = s->null_dangling != 0;
        clumpi_arg args[] = {
            {sizeof s->buffer, &s->buffer},   {sizeof offset, &offset},
            {sizeof stride, &stride},         {sizeof count, &count},
            {sizeof s->counted, &s->counted}, {sizeof counted_at, &counted_at},
            {sizeof check, &check},           {sizeof null_dangling, &null_dangling}};
        status = clumpi_compact_run(r, phase, id, clumpi_compact_wide_groups(heap),
                                    clumpi_heap_context(heap)->sizes.do_all_local, args, 8);
        uint64_t ignored = 0;
        clump_compact_report *p = &r->report;
        if (!status)
            status = check ? add_tallies(r, &p->outside_examined, &ignored, &p->outside_dangling)
                           : add_tallies(r, &ignored, &p->outside_rewritten, &ignored);
    }
    return status;
}

/* References that name no object, before anything moves. */
static clump_status run_check(clumpi_compaction *r) {
    uint64_t ignored = 0;
    clump_status status = CLUMP_OK;
    if (r->desc->null_dangling) {
        clumpi_arg args[1] = {{0, NULL}};
        status = clumpi_compact_run_inside(r, CLUMP_COMPACT_CHECK,
                                           CLUMPI_COMPACT_KERNEL(null_dangling), args, 1);
        /* Rewriting does not see what becomes null here, so it is counted as examined now. */
        uint64_t nulled = 0;
        if (!status) status = add_tallies(r, &ignored, &ignored, &nulled);
        r->report.refs_examined += nulled;
        r->report.refs_dangling += nulled;
    }
    return status ? status
                  : clumpi_compact_run_outside(r, CLUMP_COMPACT_CHECK,
                                               CLUMPI_COMPACT_KERNEL(rewrite_registered), 1);
}

clump_status clumpi_compact_read_plans(clump_heap *heap, clumpi_class_plan *plans) {
    const clumpi_header *h = &clumpi_heap_geometry(heap)->header;
    return clumpi_read(clumpi_heap_context(heap), clumpi_heap_buffer(heap),
                       (uint64_t)h->at_plans * CLUMPI_UNIT, (h->class_count + 1) * sizeof *plans,
                       plans);
}

/* Add what the plans say to the report. */
static clump_status add_plans(clumpi_compaction *r, const clumpi_moving *moving, uint64_t *moves) {
    clump_heap *heap = r->heap;
    clumpi_class_plan plans[CLUMPI_CLASS_IDS];
    clump_status status = clumpi_compact_read_plans(heap, plans);
    if (status) return status;
    clump_compact_report *p = &r->report;
    uint64_t sum = 0;
    p->moves_left = 0;
    for (uint32_t id = 1; id <= clumpi_object_classes(heap); id++) {
        const clumpi_class_plan *plan = &plans[id];
        const clump_class_info *info = clump_schema_get_info(clumpi_heap_schema(heap))->classes[id];
        sum += plan->moves;
        p->moves_left += plan->moves_left;
        p->bytes_moved += (uint64_t)plan->moves * info->object_bytes;
        p->blocks_freed += plan->freed;
        if (moving->fresh) p->blocks_freed -= plan->targets;
    }
    const uint64_t raw = clumpi_owned_report(r, plans);
    p->moves += sum;
    p->passes += sum + raw > 0;
    if (moves) *moves = sum + raw;
    return CLUMP_OK;
}

/* More groups for moving than for other passes, if there can be work for them: of few, the last
 * would leave much of the device idle. */
static size_t move_groups(const clump_heap *heap) {
    size_t rows = clumpi_heap_geometry(heap)->header.block_rows_max,
           wide = clumpi_compact_wide_groups(heap);
    size_t batches = clumpi_block_count(heap) * ((rows + CLUMPI_MOVE_ROWS - 1) / CLUMPI_MOVE_ROWS);
    return batches < 4 * wide ? batches : 4 * wide;
}

/* References inside the heap. */
static clump_status run_rewrite(clumpi_compaction *r, const clumpi_moving *m) {
    clumpi_arg args[1] = {{0, NULL}};
    if (m->rewrite) return m->rewrite(r, m);
    return clumpi_compact_run_inside(r, CLUMP_COMPACT_REWRITE, CLUMPI_COMPACT_KERNEL(rewrite), args,
                                     1);
}

static clump_status finish(clumpi_compaction *r) {
    clump_heap *heap = r->heap;
    /* Wide tiles only where there are enough of them for all work-groups. */
    size_t words = clumpi_heap_geometry(heap)->header.hint_count[0],
           groups = clumpi_compact_wide_groups(heap);
    clumpi_u32 tile = words < 2 * groups ? 1 : words < 8 * groups ? 2 : 8;
    clumpi_arg args[] = {{sizeof tile, &tile}};
    return clumpi_compact_run(r, CLUMP_COMPACT_FINISH, CLUMPI_COMPACT_KERNEL(finish),
                              words < groups ? words : groups,
                              clumpi_heap_context(heap)->sizes.scan_local, args, 1);
}

clump_status clumpi_compact_apply(clumpi_compaction *r, const clumpi_moving *moving,
                                  uint64_t *moves) {
    clump_heap *heap = r->heap;
    const clumpi_launch_sizes *sizes = &clumpi_heap_context(heap)->sizes;
    size_t wide = clumpi_compact_wide_groups(heap), local = sizes->do_all_local;
    clumpi_u32 ordered = moving->order != NULL;
    /* Block by block with `factor`, else as many together as have rows for a work-group. */
    size_t move_local = moving->factor ? clumpi_compact_block_local(heap) : local;
    cl_mem buffer = clumpi_heap_buffer(heap);
    const cl_mem *order = ordered ? &moving->order : &buffer;
    clumpi_arg move[] = {{sizeof moving->factor, &moving->factor},
                         {sizeof moving->fresh, &moving->fresh},
                         {sizeof ordered, &ordered},
                         {sizeof *order, order}};
    clumpi_arg fill[] = {{sizeof moving->fresh, &moving->fresh}};
    clump_compact_report *p = &r->report;
    uint64_t dangling = 0;
    clumpi_list_forget(heap); /* objects change their rows */
    clump_status status = run_check(r);
    if (!status)
        status = clumpi_compact_run(r, CLUMP_COMPACT_MOVE, CLUMPI_COMPACT_KERNEL(move),
                                    move_groups(heap), move_local, move, 4);
    if (!status)
        status = clumpi_compact_run(r, CLUMP_COMPACT_FINISH, CLUMPI_COMPACT_KERNEL(fill), wide,
                                    sizes->scan_local < 64 ? sizes->scan_local : 64, fill, 1);
    if (!status) status = clumpi_owned_rewrite(r);
    if (!status) status = run_rewrite(r, moving);
    if (!status) status = add_tallies(r, &p->refs_examined, &p->refs_rewritten, &dangling);
    if (!status)
        status = clumpi_compact_run_outside(r, CLUMP_COMPACT_REWRITE,
                                            CLUMPI_COMPACT_KERNEL(rewrite_registered), 0);
    if (!status) status = finish(r);
    p->refs_dangling += dangling;
    if (!status && (r->wants_report || moves)) status = add_plans(r, moving, moves);
    return status ? status : clumpi_timed_read(clumpi_heap_context(heap), &r->timed);
}
