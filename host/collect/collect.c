/* clump_heap_collect(): marking, weak references, finalisers, the sweep, compaction, and the
 * report.
 *
 * Read first: collect.h, check.c, mark.c. Read next: cl/collect/sweep.cl, collector.c.
 */
#include "collect/collect.h"

#include <string.h>

#include "compact/compact.h"
#include "core/timeline.h"

/* Is there a weak field in the heap? */
static int has_weak_fields(const clump_heap *heap) {
    for (uint32_t id = 1; id <= clumpi_object_classes(heap); id++) {
        const clumpi_class *k = &clumpi_heap_geometry(heap)->classes[id];
        if (k->weak < k->arrays) return 1;
    }
    return 0;
}

static clump_status null_weak(clumpi_collection *r) {
    const clump_collect_phase phase = CLUMP_COLLECT_WEAK;
    clump_status status = CLUMP_OK;
    if (has_weak_fields(r->heap))
        status = clumpi_collect_run_on(r, phase, CLUMPI_COLLECT_KERNEL(sweep_weak),
                                       clumpi_compact_wide_groups(r->heap),
                                       clumpi_compact_block_local(r->heap), NULL, 0);
    for (const clump_refs *s = clumpi_refs_first(r->heap); s && !status; s = s->next)
        if (s->weak)
            status = clumpi_collect_outside(r, phase, CLUMPI_COLLECT_KERNEL(sweep_weak_outside), s);
    return status;
}

/* desc->dead, and the finaliser. */
static clump_status list_dead(clumpi_collection *r) {
    const clump_collect_desc *d = r->desc;
    clump_context *c = clumpi_heap_context(r->heap);
    if (!d->dead) return CLUMP_OK;
    clumpi_arg args[] = {{sizeof d->dead, &d->dead},
                         {sizeof r->dead_room, &r->dead_room},
                         {sizeof r->dead_first, &r->dead_first},
                         {sizeof r->dead_last, &r->dead_last}};
    clump_status status = clumpi_clear(c, d->dead, 0, sizeof(clumpi_u32));
    if (!status)
        status =
            clumpi_collect_run(r, CLUMP_COLLECT_LIST, CLUMPI_COLLECT_KERNEL(sweep_list), args, 4);
    if (status || !d->finaliser) return status;
    status = clump_kernel_set_arg(d->finaliser, 0, sizeof d->dead, &d->dead);
    if (!status) status = clump_heap_do_all(r->heap, d->finaliser, NULL);
    d->finaliser->args[0].bytes = 0; /* the buffer is the caller's */
    return status;
}

clump_status clumpi_collect_sweep(clumpi_collection *r) {
    clump_heap *heap = r->heap;
    const clumpi_launch_sizes *sizes = &clumpi_heap_context(heap)->sizes;
    size_t words = clumpi_heap_geometry(heap)->header.hint_count[0];
    size_t groups = sizes->pass_groups;
    clumpi_u32 change = !r->desc->only_mark;
    clumpi_arg args[] = {{sizeof change, &change}};
    clump_status status = clumpi_unreserve(heap, NULL);
    if (status) return status;
    clumpi_list_forget(heap);
    return clumpi_collect_run_on(r, CLUMP_COLLECT_SWEEP, CLUMPI_COLLECT_KERNEL(sweep),
                                 words < groups ? words : groups, sizes->scan_local, args, 1);
}

static uint64_t wide(const clumpi_u32 *words) {
    return (uint64_t)words[1] << 32 | words[0];
}

_Static_assert((int)CLUMP_COLLECT_PHASE_COUNT <= CLUMP_PHASES_MAX, "clump_collect_report.us");

static void fill_report(clumpi_collection *r) {
    clump_collect_report *p = &r->report;
    const clumpi_mark_control *m = &r->control;
    const clumpi_header *h = &clumpi_heap_geometry(r->heap)->header;
    p->live = m->marked;
    p->dead = m->dead;
    p->roots = m->roots;
    p->roots_dangling = m->roots_dangling;
    p->refs_read = wide(m->read);
    p->refs_followed = wide(m->followed);
    p->weak_nulled = m->nulled;
    p->blocks_freed = m->blocks_freed;
    p->levels = m->levels;
    p->narrow_levels = m->narrow_levels;
    p->sweeps = m->sweeps;
    p->refills = m->refills;
    p->engine_changes = m->changes;
    p->queue_peak = m->peak;
    p->queue_overflows = m->overflows;
    p->launches = r->timed.launches;
    p->memory_bytes = r->marks->bytes;
    for (int i = 0; i < CLUMP_COLLECT_PHASE_COUNT; i++) p->total_us += p->us[i];
    p->floor_bytes = sizeof(clump_ref) * p->refs_read +
                     (uint64_t)m->blocks * (h->block_granules * UINT64_C(32) + 8);
}

static clump_status collect(clumpi_collection *r, clump_collect_report *report) {
    clump_status status = clumpi_handles_settle(r->heap);
    if (!status) status = clumpi_collect_mark(r);
    if (!status) status = list_dead(r); /* can still be refused, so nothing has changed yet */
    if (!status && !r->desc->only_mark && clumpi_collect_has_arrays(r->heap))
        status = clumpi_collect_drop(r, 0);
    if (!status && !r->desc->only_mark) status = null_weak(r);
    if (!status) status = clumpi_collect_sweep(r);
    r->is_swept = !status;
    if (!status) status = clumpi_checking_settle(r->heap);
    if (!status && report) status = clumpi_collect_read(r);
    if (status) return status;
    if (report) fill_report(r);
    if (!r->desc->compact) return CLUMP_OK;
    return clump_heap_compact(r->heap, r->desc->compact, r->desc->compact_report, NULL);
}

/* What is known without waiting for the device. */
static void show(clump_context *c, uint32_t begun, const clump_collect_report *report) {
    if (!report) {
        clumpi_timeline_end(c, begun, "collection", NULL);
        return;
    }
    const clumpi_timeline_arg args[CLUMPI_TIMELINE_ARGS] = {
        {"live", report->live}, {"dead", report->dead}, {"blocks_freed", report->blocks_freed}};
    clumpi_timeline_end(c, begun, "collection", args);
}

clump_status clump_heap_collect(clump_heap *heap, const clump_collect_desc *desc,
                                clump_collect_report *report, const clump_sync *sync) {
    clump_collect_desc own;
    clump_compact_desc compact;
    clump_collect_report made = {0};
    int is_swept;
    clump_error *error = clumpi_heap_error(heap);
    clump_status status = CLUMPI_PLACE(clump_collect_report, report, error);
    if (!heap) return CLUMP_ERR_USAGE;
    if (!status) status = clumpi_collect_take(desc, &own, &compact, error);
    if (status) return status;
    status = clumpi_collect(heap, &own, report ? &made : NULL, sync, &is_swept);
    CLUMPI_GIVE(report, made);
    return status;
}

clump_status clumpi_collect(clump_heap *heap, const clump_collect_desc *desc,
                            clump_collect_report *report, const clump_sync *sync, int *is_swept) {
    *is_swept = 0;
    clump_context *c = clumpi_heap_context(heap);
    clumpi_collection r = {.heap = heap, .marks = clumpi_marks_of(heap), .desc = desc};
    if (!r.marks)
        return clumpi_fail(&c->error, CLUMP_ERR_HOST_MEMORY, "no host memory for a collection");
    clump_status status = clumpi_sync_check(c, sync, "clump_heap_collect");
    if (!status) status = clumpi_heap_refuses(heap, CLUMPI_OP_COLLECT, "clump_heap_collect");
    if (!status) status = clumpi_heap_enter(heap);
    if (!status) status = clumpi_collect_begin(&r);
    if (status) return status;
    r.timed = (clumpi_timed){
        .is_on = report && c->current->has_profiling, .what = "collection", .us = r.report.us};
    const uint32_t begun = clumpi_timeline_begin(c);
    status = clumpi_sync_begin(c, sync);
    int is_plain = 0;
    if (!status) status = clumpi_checking_plain_begin(heap, &is_plain);
    if (!status) status = collect(&r, report);
    clump_status named = clumpi_checking_plain_end(heap, is_plain);
    if (!status) status = named;
    clump_error error = c->error; /* keep the cause, whatever letting go of events runs into */
    clump_status times = clumpi_timed_read(c, &r.timed);
    if (times && status) c->error = error;
    if (!status) status = times;
    *is_swept = r.is_swept;
    if (report && r.is_swept) *report = r.report;
    if (status) {
        /* Objects may still be grey in it. */
        clumpi_buffer_release(c, &r.marks->buffer);
        return status;
    }
    show(c, begun, report);
    return clumpi_sync_end(c, sync);
}
