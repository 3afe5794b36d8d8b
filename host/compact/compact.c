/* clump_heap_compact(): the strategy that was asked for, steps within a time, and the report.
 *
 * Read first: compact.h, arguments.c, run.c.
 */
#include <string.h>

#include "compact/compact.h"
#include "core/timeline.h"
#include "sort/sort.h"

/* Objects, slots and blocks of the classes that take part, and the bytes of all reference fields
 * that can point to one of them. */
typedef struct census {
    uint64_t objects, slots, blocks, reference_bytes;
    uint64_t raw_blocks, raw_bytes; /* of the heap */
} census;

/* Bytes of such fields in one object of exactly the class. */
static uint64_t reference_bytes_of(const clumpi_compaction *r, uint32_t class_id) {
    const clump_schema *schema = clumpi_heap_schema(r->heap);
    uint64_t bytes = 0;
    clump_field_info f;
    for (clumpi_field_walk w = {.schema = schema, .class_id = class_id}; clumpi_next_ref(&w, &f);) {
        const clump_class_info *to = clump_schema_get_info(schema)->classes[f.ref_class];
        int hit = 0;
        for (uint32_t t = to->id; t <= to->last; t++) hit |= clumpi_is_selected(r, t);
        if (hit) bytes += sizeof(clump_ref) * (clumpi_elements(&f));
    }
    return bytes;
}

static clump_status count(clumpi_compaction *r, census *sum) {
    clump_class_stats classes[CLUMP_CLASSES_MAX];
    clump_heap_stats all = {0};
    clump_status status = clumpi_read_stats(r->heap, &all, classes);
    *sum = (census){.raw_blocks = all.raw_blocks, .raw_bytes = all.raw_bytes};
    for (uint32_t id = 1; id <= clumpi_object_classes(r->heap) && !status; id++) {
        const clump_class_stats *s = &classes[id - 1];
        sum->reference_bytes += s->objects * reference_bytes_of(r, id);
        if (!clumpi_is_selected(r, id)) continue;
        sum->objects += s->objects;
        sum->slots += s->slots;
        sum->blocks += s->blocks;
    }
    return status;
}

static double fragmentation(const census *s) {
    return s->slots ? 1.0 - (double)s->objects / (double)s->slots : 0.0;
}

clump_status clumpi_compact_build(clump_heap *heap, const clump_compact_desc *desc,
                                  const clumpi_strategy *strategy) {
    clump_context *c = clumpi_heap_context(heap);
    const clumpi_kernel_id any = clumpi_kernel_of(heap, CLUMPI_COMPACT_KERNEL(move));
    clump_status status = clumpi_build_library(c, any);
    if (!status)
        status = clumpi_build_library(c, clumpi_kernel_of(heap, CLUMPI_ASK_KERNEL(unreserve)));
    if (!status && strategy)
        status = clumpi_build_library(
            c,
            clumpi_kernel_of(heap, (clumpi_kernel_id){.library = strategy->library, .index = 0}));
    if (!status && desc->order >= CLUMP_ORDER_FIELD)
        status = clumpi_build_library(c, CLUMPI_SORT_KERNEL(sort_count));
    clumpi_compaction r = {.heap = heap, .desc = desc, .strategy = strategy};
    clumpi_owned_select(&r);
    return status ? status : clumpi_owned_build(&r);
}

/* What past compactions of a heap cost, in microseconds; 0: not known. */
typedef struct pace {
    clumpi_attachment base; /* of the heap */
    double fixed_us;        /* of a run, whatever it moves */
    double us_per_move;
} pace;

static void release_pace(clumpi_attachment *base, clump_context *c) {
    clumpi_free(&c->allocator, base);
}

/* NULL without host memory. */
static pace *pace_of(clump_heap *heap) {
    static const char key;
    return clumpi_heap_keep(heap, &key, sizeof(pace), release_pace);
}

/* max_us: as many moves as past runs could make in that time; one block's if nothing is known. */
static uint64_t moves_within(const pace *p, double us) {
    if (!p || !(p->us_per_move > 0)) return 1;
    double moves = (us - p->fixed_us) / p->us_per_move;
    return moves < 1 ? 1 : moves > 4e9 ? UINT64_C(4000000000) : (uint64_t)moves;
}

/* Learn from a run; from the wall clock without profiling, or where the device does not know how
 * long it took. */
static void learn(clump_heap *heap, const clumpi_compaction *r, uint64_t moves, double wall_us) {
    pace *p = pace_of(heap);
    if (!p) return; /* the next run is guessed again */
    double move_us = r->report.us[CLUMP_COMPACT_MOVE], total = 0;
    for (int i = 0; i < CLUMP_COMPACT_PHASE_COUNT; i++) total += r->report.us[i];
    if (!r->timed.is_on || r->timed.unknown || !(move_us > 0) || total > wall_us)
        total = move_us = wall_us;
    p->fixed_us = total - move_us;
    if (moves) p->us_per_move = move_us / (double)moves;
}

static clump_status run_within(clumpi_compaction *r) {
    clump_heap *heap = r->heap;
    uint64_t moves = 0;
    clump_status status = clumpi_compact_build(heap, r->desc, NULL); /* no move takes that long */
    if (!status) status = clumpi_finish(clumpi_heap_context(heap));
    double start = clumpi_now_ns();
    if (!status)
        status = clumpi_planner_run(r, moves_within(pace_of(r->heap), r->desc->max_us), &moves);
    if (!status) status = clumpi_finish(clumpi_heap_context(heap));
    if (!status) learn(heap, r, moves, 1e-3 * (clumpi_now_ns() - start));
    return status;
}

static clump_status run_strategy(clumpi_compaction *r) {
    if (r->strategy) return r->strategy->run(r);
    if (r->desc->order != CLUMP_ORDER_ANY) return clumpi_order_run(r);
    if (r->desc->max_us > 0) return run_within(r);
    return clumpi_planner_run(r, r->desc->max_moves, NULL);
}

_Static_assert((int)CLUMP_COMPACT_PHASE_COUNT <= CLUMP_PHASES_MAX, "clump_compact_report.us");

static clump_status run_reported(clumpi_compaction *r, clump_compact_report *report) {
    clump_compact_report *p = &r->report;
    census before, after;
    clump_status status = count(r, &before);
    if (!status) status = run_strategy(r);
    if (!status) /* Of a last pass that had nothing to move. */
        status = clumpi_timed_read(clumpi_heap_context(r->heap), &r->timed);
    if (!status) status = count(r, &after);
    if (status) return status;
    p->objects = before.objects;
    p->blocks_before = (uint32_t)before.blocks;
    p->fragmentation_before = fragmentation(&before);
    p->fragmentation_after = fragmentation(&after);
    if (!r->moves_raw) {
        p->raw_blocks_pinned = (uint32_t)after.raw_blocks;
        p->raw_bytes_pinned = after.raw_bytes;
    }
    for (int i = 0; i < CLUMP_COMPACT_PHASE_COUNT; i++) p->total_us += p->us[i];
    p->launches = r->timed.launches;
    p->floor_bytes =
        2 * p->bytes_moved + 4 * p->moves + 8 * p->refs_rewritten + before.reference_bytes;
    *report = *p;
    return CLUMP_OK;
}

/* What is known without waiting for the device. */
static void show(clump_context *c, uint32_t begun, const clump_compact_report *report) {
    if (!report) {
        clumpi_timeline_end(c, begun, "compaction", NULL);
        return;
    }
    const clumpi_timeline_arg args[CLUMPI_TIMELINE_ARGS] = {{"moves", report->moves},
                                                            {"bytes_moved", report->bytes_moved},
                                                            {"blocks_freed", report->blocks_freed}};
    clumpi_timeline_end(c, begun, "compaction", args);
}

clump_status clump_heap_compact(clump_heap *heap, const clump_compact_desc *desc,
                                clump_compact_report *report, const clump_sync *sync) {
    clump_compact_desc own;
    clump_compact_report made = {0};
    clump_error *error = clumpi_heap_error(heap);
    clump_status status = CLUMPI_PLACE(clump_compact_report, report, error);
    if (!heap) return CLUMP_ERR_USAGE;
    if (!status) status = CLUMPI_TAKE(clump_compact_desc, &own, desc, error);
    if (status) return status;
    status = clumpi_compact_by(heap, &own, NULL, report ? &made : NULL, sync);
    CLUMPI_GIVE(report, made);
    return status;
}

clump_status clumpi_compact_by(clump_heap *heap, const clump_compact_desc *desc,
                               const clumpi_strategy *strategy, clump_compact_report *report,
                               const clump_sync *sync) {
    clump_context *c = clumpi_heap_context(heap);
    clumpi_compaction r = {
        .heap = heap, .desc = desc, .strategy = strategy, .wants_report = report != NULL};
    clump_status status = clumpi_sync_check(c, sync, "clump_heap_compact");
    if (!status) status = clumpi_heap_refuses(heap, CLUMPI_OP_COMPACT, "clump_heap_compact");
    if (!status) status = clumpi_heap_enter(heap);
    if (!status) status = clumpi_compact_begin(&r);
    if (status) return status;
    if (report) { /* before anything changes */
        r.tallies =
            clumpi_alloc(&c->allocator, clumpi_compact_wide_groups(heap) * sizeof *r.tallies);
        if (!r.tallies)
            return clumpi_fail(&c->error, CLUMP_ERR_HOST_MEMORY, "no host memory for the report");
    }
    r.timed = (clumpi_timed){.is_on = (report || r.desc->max_us > 0) && c->current->has_profiling,
                             .what = "compaction",
                             .us = r.report.us};
    const uint32_t begun = clumpi_timeline_begin(c);
    status = clumpi_sync_begin(c, sync);
    int is_plain = 0;
    if (!status) status = clumpi_checking_plain_begin(heap, &is_plain);
    if (!status) status = clumpi_handles_settle(heap);
    int is_settled = !status;
    if (!status) status = report ? run_reported(&r, report) : run_strategy(&r);
    clumpi_free(&c->allocator, r.tallies);
    clump_error error = c->error; /* keep the cause, whatever the rest runs into */
    clump_status watched = is_settled ? clumpi_handles_watch(heap) : CLUMP_OK;
    if (!watched && is_settled) watched = clumpi_checking_settle(heap);
    clump_status named = clumpi_checking_plain_end(heap, is_plain);
    if (!watched) watched = named;
    if (!status) {
        status = watched;
        error = c->error;
    }
    if (clumpi_timed_read(c, &r.timed) && status) c->error = error;
    if (!status) show(c, begun, report);
    return status ? status : clumpi_sync_end(c, sync);
}
