/* Compaction: what was asked for, checked; the commands that all strategies share; the report.
 *
 * Read first: compact.h.
 */
#include "compact.h"

#include <math.h>
#include <string.h>
#include <time.h>

/* ---- Checking --------------------------------------------------------------------------------- */

/* Mark a class with its subclasses. */
static clump_status select_class(clumpi_compaction *r, const char *name) {
    clump_class_info info;
    if (!name || clump_schema_find_class(r->heap->schema, name, &info))
        return clumpi_fail(&r->heap->context->error, CLUMP_ERR_NOT_FOUND,
                           "clump_compact: the heap has no class \"%s\"", name ? name : "(null)");
    for (uint32_t id = info.id; id <= info.last; id++)
        r->selected[id / 64] |= UINT64_C(1) << id % 64;
    return CLUMP_OK;
}

static clump_status select_classes(clumpi_compaction *r) {
    const clump_compact_desc *d = r->desc;
    uint32_t count = r->heap->geometry.header.class_count;
    if (d->class_count && !d->classes)
        return clumpi_fail(&r->heap->context->error, CLUMP_ERR_USAGE,
                           "clump_compact: class_count is %u, but there are no classes",
                           d->class_count);
    clump_status status = CLUMP_OK;
    for (uint32_t i = 0; i < d->class_count && !status; i++)
        status = select_class(r, d->classes[i]);
    if (!d->class_count)
        for (uint32_t id = 1; id <= count; id++) r->selected[id / 64] |= UINT64_C(1) << id % 64;
    return status;
}

/* Each concrete class that takes part must have the field of CLUMP_ORDER_FIELD. */
static clump_status check_order_field(const clumpi_compaction *r) {
    clump_error *e = &r->heap->context->error;
    const char *name = r->desc->order_field;
    if (!name)
        return clumpi_fail(e, CLUMP_ERR_USAGE, "clump_compact: the order needs an order_field");
    for (uint32_t id = 1; id <= r->heap->geometry.header.class_count; id++) {
        clump_class_info info;
        clump_field_info f;
        clump_schema_get_class(r->heap->schema, id, &info);
        if (info.is_abstract || !clumpi_is_selected(r, id)) continue;
        if (clump_schema_find_field(r->heap->schema, id, name, &f))
            return clumpi_fail(e, CLUMP_ERR_NOT_FOUND,
                               "clump_compact: class %s has no field \"%s\"", info.name, name);
        if ((f.type != CLUMP_TYPE_REF && f.type != CLUMP_TYPE_UINT) || f.width > 1 || f.count)
            return clumpi_fail(e, CLUMP_ERR_USAGE,
                               "clump_compact: objects can be ordered by a reference or a uint, "
                               "field %s of class %s is neither",
                               name, info.name);
    }
    return CLUMP_OK;
}

static clump_status check_order(const clumpi_compaction *r) {
    const clump_compact_desc *d = r->desc;
    clump_error *e = &r->heap->context->error;
    if (d->order < CLUMP_ORDER_ANY || d->order > CLUMP_ORDER_KEY)
        return clumpi_fail(e, CLUMP_ERR_USAGE, "clump_compact: there is no order %d",
                           (int)d->order);
    if (d->order != CLUMP_ORDER_FIELD && d->order_field)
        return clumpi_fail(e, CLUMP_ERR_USAGE,
                           "clump_compact: order_field is for CLUMP_ORDER_FIELD only");
    if (d->order != CLUMP_ORDER_KEY && d->key_kernel)
        return clumpi_fail(e, CLUMP_ERR_USAGE,
                           "clump_compact: key_kernel is for CLUMP_ORDER_KEY only");
    if (d->order != CLUMP_ORDER_ANY && (d->max_moves || d->max_us > 0 || d->slack > 0))
        return clumpi_fail(e, CLUMP_ERR_USAGE,
                           "clump_compact: an order moves all objects into full blocks; it has "
                           "neither steps nor slack");
    if (d->order == CLUMP_ORDER_FIELD) return check_order_field(r);
    if (d->order != CLUMP_ORDER_KEY) return CLUMP_OK;
    if (!d->key_kernel || d->key_kernel->arg_count == 0)
        return clumpi_fail(e, CLUMP_ERR_USAGE,
                           "clump_compact: the order needs a key_kernel with a parameter "
                           "`__global uint *keys` behind the heap");
    if (!d->key_kernel->fixed)
        return clumpi_fail(e, CLUMP_ERR_USAGE,
                           "clump_compact: a key kernel's heap parameter must be CLUMP_HEAP_FIXED");
    return CLUMP_OK;
}

static clump_status check_planner(const clumpi_compaction *r) {
    const clump_compact_desc *d = r->desc;
    clump_error *e = &r->heap->context->error;
    if (!(d->slack >= 0 && d->slack <= 1))
        return clumpi_fail(e, CLUMP_ERR_USAGE, "clump_compact: slack is %g; 0 .. 1 is possible",
                           d->slack);
    if (!(d->max_us >= 0) || isinf(d->max_us))
        return clumpi_fail(e, CLUMP_ERR_USAGE,
                           "clump_compact: max_us is %g; it must be 0 (no limit) or above",
                           d->max_us);
    if (d->max_moves && d->max_us > 0)
        return clumpi_fail(e, CLUMP_ERR_USAGE, "clump_compact: set one of max_moves and max_us");
    if (d->factor || d->retain || d->max_passes || d->rewrite != CLUMP_REWRITE_FORWARD)
        return clumpi_fail(
            e, CLUMP_ERR_USAGE,
            "clump_compact: factor, retain, max_passes and rewrite are for the merge "
            "strategy");
    return check_order(r);
}

static clump_status check_merge(const clumpi_compaction *r) {
    const clump_compact_desc *d = r->desc;
    clump_error *e = &r->heap->context->error;
    if (d->slack != 0 || d->max_moves || d->max_us != 0 || d->order != CLUMP_ORDER_ANY ||
        d->order_field || d->key_kernel)
        return clumpi_fail(e, CLUMP_ERR_USAGE,
                           "clump_compact: slack, steps and orders are for the planner");
    if (d->rewrite < CLUMP_REWRITE_FORWARD || d->rewrite > CLUMP_REWRITE_RECOMPUTE_SHARED)
        return clumpi_fail(e, CLUMP_ERR_USAGE, "clump_compact: there is no way %d to rewrite",
                           (int)d->rewrite);
    for (uint32_t id = 1; id <= r->heap->geometry.header.class_count; id++) {
        uint32_t capacity = r->heap->geometry.classes[id].capacity;
        clump_class_info info;
        clump_schema_get_class(r->heap->schema, id, &info);
        if (capacity && clumpi_is_selected(r, id) && (d->factor < 1 || d->factor >= capacity))
            return clumpi_fail(e, CLUMP_ERR_USAGE,
                               "clump_compact: factor is %u; 1 .. %u is possible for class %s, "
                               "whose blocks hold %u objects",
                               d->factor, capacity - 1, info.name, capacity);
    }
    return clumpi_merge_check(r);
}

/* Fill in what the desc says, or say what is wrong with it. */
static clump_status begin(clumpi_compaction *r) {
    clump_status status = select_classes(r);
    if (status) return status;
    switch (r->desc->strategy) {
    case CLUMP_COMPACT_PLANNER: return check_planner(r);
    case CLUMP_COMPACT_MERGE: return check_merge(r);
    }
    return clumpi_fail(&r->heap->context->error, CLUMP_ERR_USAGE,
                       "clump_compact: there is no strategy %d", (int)r->desc->strategy);
}

clump_status clumpi_compact_check(clump_heap *heap, const clump_compact_desc *desc) {
    clumpi_compaction r = {.heap = heap, .desc = desc};
    return begin(&r);
}

/* ---- Commands --------------------------------------------------------------------------------- */

clump_status clumpi_compact_run(clumpi_compaction *r, clump_compact_phase phase,
                                clumpi_kernel_id id, size_t groups, size_t local,
                                const clumpi_arg *args, uint32_t arg_count) {
    cl_event event = NULL;
    clump_sync sync = {.event = r->is_timed ? &event : NULL};
    clump_status status =
        clumpi_run_library(r->heap, id, groups * local, local, args, arg_count, &sync);
    r->report.launches += !status;
    if (!event) return status;
    if (r->command_count < CLUMPI_COMMANDS_MAX) {
        r->commands[r->command_count].event = event;
        r->commands[r->command_count++].phase = phase;
    } else {
        r->heap->context->cl.ReleaseEvent(event);
    }
    return status;
}

size_t clumpi_compact_plan_groups(const clump_heap *heap) {
    size_t most = heap->context->sizes.scan_groups, tiles = (heap->layout.block_count + 31) / 32;
    return tiles < most ? tiles : most;
}

size_t clumpi_compact_wide_groups(const clump_heap *heap) {
    const clumpi_launch_sizes *sizes = &heap->context->sizes;
    return sizes->do_all_global / sizes->do_all_local * CLUMPI_TALLIES;
}

size_t clumpi_compact_block_local(const clump_heap *heap) {
    size_t local = heap->context->sizes.do_all_local, slots = heap->geometry.header.capacity_max;
    return slots < local ? slots : local;
}

/* Add up the times of the commands so far, and let go of their events. */
static clump_status read_times(clumpi_compaction *r) {
    clump_context *c = r->heap->context;
    clump_status status = r->command_count ? clumpi_finish(c) : CLUMP_OK;
    for (uint32_t i = 0; i < r->command_count; i++) {
        cl_event event = r->commands[i].event;
        cl_ulong start = 0, end = 0;
        cl_int code = c->cl.GetEventProfilingInfo(event, CL_PROFILING_COMMAND_START, sizeof start,
                                                  &start, NULL);
        if (!code)
            code = c->cl.GetEventProfilingInfo(event, CL_PROFILING_COMMAND_END, sizeof end, &end,
                                               NULL);
        c->cl.ReleaseEvent(event);
        if (code && !status)
            status = clumpi_fail_cl(&c->error, "clGetEventProfilingInfo", code, "compaction");
        if (!code) r->report.us[r->commands[i].phase] += (double)(end - start) * 1e-3;
    }
    r->command_count = 0;
    return status;
}

/* What the work-groups of the last rewriting kernel saw, added to three counters. */
static clump_status add_tallies(clumpi_compaction *r, uint64_t *examined, uint64_t *rewritten,
                                uint64_t *dangling) {
    clump_heap *heap = r->heap;
    clump_context *c = heap->context;
    if (!r->wants_report) return CLUMP_OK;
    size_t groups = clumpi_compact_wide_groups(heap);
    uint64_t at = (uint64_t)heap->geometry.header.at_scan * CLUMPI_UNIT +
                  (heap->geometry.header.class_count + 1) * sizeof(clumpi_class_plan);
    clump_status status = clumpi_read(c, heap->buffer, at, groups * sizeof *r->tallies, r->tallies);
    for (size_t i = 0; i < groups && !status; i++) {
        *examined += r->tallies[i].examined;
        *rewritten += r->tallies[i].rewritten;
        *dangling += r->tallies[i].dangling;
    }
    return status;
}

/* All registered buffers: look for dangling references (check 1), or rewrite (check 0). */
static clump_status run_outside(clumpi_compaction *r, clump_compact_phase phase, clumpi_u32 check) {
    clump_heap *heap = r->heap;
    clump_status status = CLUMP_OK;
    for (clump_refs *s = heap->refs; s && !status; s = s->next) {
        uint64_t offset = s->offset / 4, count = s->count;
        clumpi_u32 stride = s->stride / 4, null_dangling = s->null_dangling != 0;
        clumpi_arg args[] = {
            {sizeof s->buffer, &s->buffer}, {sizeof offset, &offset},
            {sizeof stride, &stride},       {sizeof count, &count},
            {sizeof check, &check},         {sizeof null_dangling, &null_dangling}};
        status = clumpi_compact_run(r, phase, CLUMPI_KERNEL_rewrite_outside,
                                    clumpi_compact_wide_groups(heap),
                                    heap->context->sizes.do_all_local, args, 6);
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
        status = clumpi_compact_run(r, CLUMP_PHASE_CHECK, CLUMPI_KERNEL_null_dangling,
                                    clumpi_compact_wide_groups(r->heap),
                                    clumpi_compact_block_local(r->heap), NULL, 0);
        /* Rewriting does not see what becomes null here, so it is counted as examined now. */
        uint64_t nulled = 0;
        if (!status) status = add_tallies(r, &ignored, &ignored, &nulled);
        r->report.refs_examined += nulled;
        r->report.refs_dangling += nulled;
    }
    return status ? status : run_outside(r, CLUMP_PHASE_CHECK, 1);
}

clump_status clumpi_compact_read_plans(clump_heap *heap, clumpi_class_plan *plans) {
    const clumpi_header *h = &heap->geometry.header;
    return clumpi_read(heap->context, heap->buffer, (uint64_t)h->at_scan * CLUMPI_UNIT,
                       (h->class_count + 1) * sizeof *plans, plans);
}

/* Add what the plans say to the report. */
static clump_status add_plans(clumpi_compaction *r, const clumpi_moving *moving, uint64_t *moves) {
    clump_heap *heap = r->heap;
    const clumpi_geometry *g = &heap->geometry;
    clumpi_class_plan plans[CLUMP_CLASSES_MAX + 1];
    clump_status status = clumpi_compact_read_plans(heap, plans);
    if (status) return status;
    clump_compact_report *p = &r->report;
    uint64_t sum = 0;
    p->moves_left = 0;
    for (uint32_t id = 1; id <= g->header.class_count; id++) {
        const clumpi_class_plan *plan = &plans[id];
        clump_class_info info;
        clump_schema_get_class(heap->schema, id, &info);
        sum += plan->moves;
        p->moves_left += plan->moves_left;
        p->bytes_moved += (uint64_t)plan->moves * info.object_bytes;
        p->blocks_freed += plan->freed;
        if (moving->fresh) p->blocks_freed -= plan->targets;
    }
    p->moves += sum;
    p->passes += sum > 0;
    if (moves) *moves = sum;
    return CLUMP_OK;
}

/* References inside the heap. */
static clump_status run_rewrite(clumpi_compaction *r, const clumpi_moving *m) {
    const clump_heap *heap = r->heap;
    size_t wide = clumpi_compact_wide_groups(heap), local = clumpi_compact_block_local(heap);
    if (!m->records)
        return clumpi_compact_run(r, CLUMP_PHASE_REWRITE, CLUMPI_KERNEL_rewrite, wide, local, NULL,
                                  0);
    clumpi_u32 in_local = m->in_local != 0;
    size_t blocks = in_local ? (size_t)m->records * (m->factor + 1) : 1;
    size_t bitmaps = in_local ? blocks * heap->geometry.header.block_rows_max : 1;
    clumpi_arg args[] = {
        {sizeof m->records, &m->records},    {sizeof m->factor, &m->factor},
        {sizeof in_local, &in_local},        {m->records * sizeof(clumpi_u32), NULL},
        {blocks * sizeof(clumpi_u32), NULL}, {bitmaps * 8, NULL}};
    return clumpi_compact_run(r, CLUMP_PHASE_REWRITE, CLUMPI_KERNEL_rewrite_recompute, wide, local,
                              args, 6);
}

static clump_status run_finish(clumpi_compaction *r, const clumpi_arg *fresh) {
    const clump_heap *heap = r->heap;
    const clumpi_launch_sizes *sizes = &heap->context->sizes;
    /* Wide tiles only where there are enough of them for all work-groups. */
    size_t words = heap->geometry.header.hint_count[0], groups = clumpi_compact_wide_groups(heap);
    clumpi_u32 tile = words < 2 * groups ? 1 : words < 8 * groups ? 2 : 8;
    clumpi_arg args[] = {{sizeof tile, &tile}};
    clump_status status =
        clumpi_compact_run(r, CLUMP_PHASE_FINISH, CLUMPI_KERNEL_finish,
                           words < groups ? words : groups, sizes->scan_local, args, 1);
    if (!status)
        status =
            clumpi_compact_run(r, CLUMP_PHASE_FINISH, CLUMPI_KERNEL_finish_counters,
                               heap->geometry.header.class_count + 1, sizes->scan_local, fresh, 1);
    return status;
}

clump_status clumpi_compact_apply(clumpi_compaction *r, const clumpi_moving *moving,
                                  uint64_t *moves) {
    clump_heap *heap = r->heap;
    const clumpi_launch_sizes *sizes = &heap->context->sizes;
    size_t wide = clumpi_compact_wide_groups(heap), local = sizes->do_all_local;
    clumpi_u32 ordered = moving->order != NULL;
    /* Merge moves block by block, the planner as many together as have rows for a work-group. */
    size_t move_local = moving->factor ? clumpi_compact_block_local(heap) : local;
    const cl_mem *order = ordered ? &moving->order : &heap->buffer;
    clumpi_arg move[] = {{sizeof moving->factor, &moving->factor},
                         {sizeof moving->fresh, &moving->fresh},
                         {sizeof ordered, &ordered},
                         {sizeof *order, order}};
    clumpi_arg fill[] = {{sizeof moving->fresh, &moving->fresh}};
    clump_compact_report *p = &r->report;
    uint64_t dangling = 0;
    heap->list_valid = 0; /* the plan stands in the list's place */
    clump_status status = run_check(r);
    if (!status)
        status =
            clumpi_compact_run(r, CLUMP_PHASE_MOVE, CLUMPI_KERNEL_move, wide, move_local, move, 4);
    if (!status)
        status = clumpi_compact_run(r, CLUMP_PHASE_FINISH, CLUMPI_KERNEL_fill, wide,
                                    sizes->scan_local < 64 ? sizes->scan_local : 64, fill, 1);
    if (!status) status = run_rewrite(r, moving);
    if (!status) status = add_tallies(r, &p->refs_examined, &p->refs_rewritten, &dangling);
    if (!status) status = run_outside(r, CLUMP_PHASE_REWRITE, 0);
    if (!status) status = run_finish(r, fill);
    p->refs_dangling += dangling;
    if (!status && (r->wants_report || moves)) status = add_plans(r, moving, moves);
    return status ? status : read_times(r);
}

/* ---- The call --------------------------------------------------------------------------------- */

/* Objects, slots and blocks of the classes that take part. */
typedef struct census {
    uint64_t objects, slots, blocks;
} census;

static clump_status count(clumpi_compaction *r, census *sum) {
    clump_class_stats classes[CLUMP_CLASSES_MAX];
    clump_status status = clump_heap_calc_stats(r->heap, NULL, classes, CLUMP_CLASSES_MAX);
    *sum = (census){0};
    for (uint32_t id = 1; id <= r->heap->geometry.header.class_count && !status; id++)
        if (clumpi_is_selected(r, id)) {
            sum->objects += classes[id - 1].objects;
            sum->slots += classes[id - 1].slots;
            sum->blocks += classes[id - 1].blocks;
        }
    return status;
}

static double fragmentation(const census *s) {
    return s->slots ? 1.0 - (double)s->objects / (double)s->slots : 0.0;
}

/* Bytes of the reference fields that can point to a class that takes part, of all live objects. */
static clump_status count_reference_bytes(clumpi_compaction *r, uint64_t *bytes) {
    clump_heap *heap = r->heap;
    clump_class_stats classes[CLUMP_CLASSES_MAX];
    clump_status status = clump_heap_calc_stats(heap, NULL, classes, CLUMP_CLASSES_MAX);
    *bytes = 0;
    for (uint32_t id = 1; id <= heap->geometry.header.class_count && !status; id++)
        for (uint32_t level = id; level;) { /* the class and its bases */
            clump_class_info info;
            clump_schema_get_class(heap->schema, level, &info);
            for (uint32_t i = 0; i < info.field_count; i++) {
                clump_field_info f;
                clump_schema_get_field(heap->schema, level, i, &f);
                if (f.type != CLUMP_TYPE_REF) continue;
                clump_class_info to;
                clump_schema_get_class(heap->schema, f.ref_class, &to);
                int hit = 0;
                for (uint32_t t = to.id; t <= to.last; t++) hit |= clumpi_is_selected(r, t);
                if (hit) *bytes += classes[id - 1].objects * 4 * (f.count ? f.count : 1);
            }
            level = info.base;
        }
    return status;
}

/* max_us: as many moves as past runs could make in that time; one block's if nothing is known. */
static uint64_t moves_within(const clumpi_pace *pace, double us) {
    if (!(pace->us_per_move > 0)) return 1;
    double moves = (us - pace->fixed_us) / pace->us_per_move;
    return moves < 1 ? 1 : moves > 4e9 ? UINT64_C(4000000000) : (uint64_t)moves;
}

/* Learn from a run; without profiling from the wall clock. */
static void learn(clump_heap *heap, const clumpi_compaction *r, uint64_t moves, double wall_us) {
    clumpi_pace *pace = &heap->pace;
    double move_us = r->is_timed ? r->report.us[CLUMP_PHASE_MOVE] : wall_us, total = 0;
    for (int i = 0; i < CLUMP_COMPACT_PHASE_COUNT; i++) total += r->report.us[i];
    pace->fixed_us = r->is_timed ? total - move_us : 0;
    if (moves) pace->us_per_move = move_us / (double)moves;
}

static double now_us(void) {
    struct timespec t;
    timespec_get(&t, TIME_UTC);
    return (double)t.tv_sec * 1e6 + (double)t.tv_nsec * 1e-3;
}

static clump_status run_within(clumpi_compaction *r) {
    clump_heap *heap = r->heap;
    uint64_t moves = 0;
    clump_status status = clumpi_finish(heap->context);
    double start = now_us();
    if (!status) status = clumpi_planner_run(r, moves_within(&heap->pace, r->desc->max_us), &moves);
    if (!status) status = clumpi_finish(heap->context);
    if (!status) learn(heap, r, moves, now_us() - start);
    return status;
}

static clump_status run_strategy(clumpi_compaction *r) {
    if (r->desc->strategy == CLUMP_COMPACT_MERGE) return clumpi_merge_run(r);
    if (r->desc->order != CLUMP_ORDER_ANY) return clumpi_order_run(r);
    if (r->desc->max_us > 0) return run_within(r);
    return clumpi_planner_run(r, r->desc->max_moves, NULL);
}

static clump_status run_reported(clumpi_compaction *r, clump_compact_report *report) {
    clump_compact_report *p = &r->report;
    census before, after;
    uint64_t reference_bytes = 0;
    clump_status status = count(r, &before);
    if (!status) status = count_reference_bytes(r, &reference_bytes);
    if (!status) status = run_strategy(r);
    if (!status) status = read_times(r); /* of a last pass that had nothing to move */
    if (!status) status = count(r, &after);
    if (status) return status;
    p->objects = before.objects;
    p->blocks_before = (uint32_t)before.blocks;
    p->fragmentation_before = fragmentation(&before);
    p->fragmentation_after = fragmentation(&after);
    for (int i = 0; i < CLUMP_COMPACT_PHASE_COUNT; i++) p->total_us += p->us[i];
    p->floor_bytes =
        2 * p->bytes_moved + 4 * p->moves + 2 * 4 * p->refs_rewritten + reference_bytes;
    *report = *p;
    return CLUMP_OK;
}

clump_status clump_compact(clump_heap *heap, const clump_compact_desc *desc,
                           clump_compact_report *report, const clump_sync *sync) {
    static const clump_compact_desc everything = {0};
    if (report) memset(report, 0, sizeof *report);
    if (!heap) return CLUMP_ERR_USAGE;
    clump_context *c = heap->context;
    clumpi_compaction r = {
        .heap = heap, .desc = desc ? desc : &everything, .wants_report = report != NULL};
    clump_status status = clumpi_sync_check(c, sync, "clump_compact");
    if (!status) status = begin(&r);
    if (status) return status;
    if (report) { /* before anything changes */
        r.tallies =
            clumpi_alloc(&c->allocator, clumpi_compact_wide_groups(heap) * sizeof *r.tallies);
        if (!r.tallies)
            return clumpi_fail(&c->error, CLUMP_ERR_MEMORY, "no host memory for the report");
    }
    r.is_timed = (report || r.desc->max_us > 0) && c->has_profiling;
    status = clumpi_sync_begin(c, sync);
    if (!status) status = report ? run_reported(&r, report) : run_strategy(&r);
    clumpi_free(&c->allocator, r.tallies);
    clump_error error = c->error; /* keep the cause, whatever letting go of events runs into */
    if (read_times(&r) && status) c->error = error;
    return status ? status : clumpi_sync_end(c, sync);
}
