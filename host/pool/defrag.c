/* Steps of a defragmentation: budget, callbacks, the order of things. Read first: pool.h,
 * plan.c. */
#include <math.h>
#include <string.h>

#include "core/timeline.h"
#include "pool/pool.h"

#define PIECE_LEAST (UINT64_C(64) << 10) /* smaller parts of an allocation are not worth a copy */
#define PROBE_BYTES (UINT64_C(4) << 10)  /* of a copy that is made to learn how long copies take */
#define BATCH_SHARE 0.7                  /* of the budget; later no more copies are begun */
#define PLANNING_SHARE 0.2               /* of the budget, for the search */
#define RELEASE_SHARE 0.5 /* of the budget, for empty chunks that earlier steps left */
#define STARVED_STEPS 4u  /* without a copy, until one is made to see if it is still so slow */

typedef struct stepping {
    clump_pool *p;
    const clump_defrag_desc *desc;
    const clump_sync *sync; /* or NULL */
    clump_defrag_report *report;
    double begin, budget_ns; /* 0: no limit */
    int waits;
    const clumpi_pace_model *pace;
    double batch_begin, copies, bytes; /* of copies that were not waited for yet */
} stepping;

static const clumpi_pace_model *choose_pace(const clump_pool *p, int waits) {
    if (waits || !p->has_profiling || !p->device_pace.measured) return &p->wall_pace;
    return &p->device_pace;
}

/* ---- Copies that have completed -------------------------------------------------------------- */

static void learn(clump_pool *p, const clumpi_op *op) {
    clumpi_times t;
    if (!p->has_profiling || !op->event) return;
    if (clumpi_times_read(&p->cl, op->event, op->since, &t, NULL))
        clumpi_pace_learn(&p->device_pace, 1, (double)op->piece, (double)(t.end - t.start));
}

/* Did the copy fail on the device? Then the bytes at the target are worth nothing. */
static int has_failed(clump_pool *p, const clumpi_op *op) {
    cl_int state = CL_COMPLETE;
    return op->event && (p->cl.GetEventInfo(op->event, CL_EVENT_COMMAND_EXECUTION_STATUS,
                                            sizeof state, &state, NULL) ||
                         state < 0);
}

static void call_moved(clump_pool *p, const clump_move *move) {
    if (!p->desc.moved) return;
    clumpi_pool_leave(p);
    p->desc.moved(p->desc.user, move);
    clumpi_pool_enter(p);
}

/* Swap moves that are complete, drop those that are not wanted. */
static void progress(stepping *s) {
    clump_pool *p = s->p;
    for (size_t i = p->op_count; i-- > 0;) {
        clumpi_op *op = p->ops[i];
        int is_complete = !op->event || clumpi_event_is_complete(p, op->event);
        if (op->is_dropped || (is_complete && has_failed(p, op))) {
            clumpi_op_drop(p, i);
            s->report->dropped++;
            continue;
        }
        if (!is_complete || op->copied < op->bytes) continue;
        if (op->state == CLUMPI_OP_COPYING) learn(p, op);
        op->state = CLUMPI_OP_COPIED;
        if (s->desc->manual) continue;
        clump_move move;
        clumpi_op_tell(p, op, &move);
        clumpi_op_swap(p, i);
        s->report->finished++;
        call_moved(p, &move);
        /* Without the lock nothing is appended: only steps do that, and there is one. */
    }
    clumpi_waiting_poll(p);
}

/* ---- Empty chunks ---------------------------------------------------------------------------- */

static int release_one(clump_pool *p) {
    for (int m = 0; m < CLUMP_MEMORY_COUNT; m++)
        if (clumpi_chunks_release_one(p, &p->kinds[m])) return 1;
    return 0;
}

/* Release chunks that became empty in this step and earlier ones, within a share of the budget: a
 * driver can take as long for a few of them as the whole budget. */
static void release_surplus(stepping *s, double share) {
    clump_pool *p = s->p;
    while (p->has_surplus) {
        double now = clumpi_now_ns(), left = s->begin + share * s->budget_ns - now;
        int has_waited = p->unreleased >= STARVED_STEPS;
        if (s->budget_ns > 0 && left < clumpi_pace_predict(&p->release_pace, 1, 0) && !has_waited)
            return;
        p->has_surplus = release_one(p);
        p->unreleased = 0;
        if (p->has_surplus) clumpi_pace_learn(&p->release_pace, 1, 0, clumpi_now_ns() - now);
    }
}

/* ---- Copying --------------------------------------------------------------------------------- */

/* Where a copy as such takes longer than the budget, because the device is busy with other things,
 * the one that is made all the same should not be for a few bytes. */
static uint64_t probe_bytes(const stepping *s) {
    double per_byte = clumpi_pace_predict(s->pace, 0, 1);
    double bytes = per_byte > 0 ? s->budget_ns / per_byte : 0;
    return bytes > PROBE_BYTES ? (uint64_t)(bytes < 1e18 ? bytes : 1e18) : PROBE_BYTES;
}

/* How much of `wanted` bytes may be copied now; 0: stop. */
static uint64_t allowed(const stepping *s, uint64_t wanted) {
    uint64_t bytes = wanted;
    if (s->desc->max_bytes) {
        uint64_t left = s->desc->max_bytes - s->report->copied_bytes;
        if (left < bytes) bytes = left;
    }
    if (s->budget_ns > 0) {
        double spent = s->waits ? clumpi_now_ns() - s->begin : 0;
        double planned = clumpi_pace_predict(s->pace, s->copies, s->bytes);
        if (s->waits) planned += s->batch_begin - s->begin;
        if (planned > spent) spent = planned; /* the prediction holds the enqueuing, too */
        uint64_t fit = clumpi_pace_bytes(s->pace, 1, s->budget_ns - spent);
        uint64_t probe = 0;
        if (!s->pace->measured) probe = PROBE_BYTES;
        if (s->p->starved >= STARVED_STEPS) probe = probe_bytes(s);
        if (!s->report->copied_bytes && fit < probe) fit = probe;
        if (fit < bytes) bytes = fit;
    }
    if (bytes == wanted) return wanted;
    int is_first = !s->report->copied_bytes;
    if (bytes < PIECE_LEAST && !(is_first && bytes >= PROBE_BYTES)) return 0;
    return bytes & ~UINT64_C(63);
}

/* Copy ops until the budget is used up; returns 1 if it is. */
static int copy_ops(stepping *s, clump_status *status) {
    clump_pool *p = s->p;
    for (size_t i = 0; i < p->op_count; i++) {
        clumpi_op *op = p->ops[i];
        if (op->is_dropped || op->copied == op->bytes) continue;
        uint64_t left = op->bytes - op->copied, bytes = allowed(s, left);
        if (!bytes) return 1;
        *status = clumpi_op_copy(p, op, bytes, s->sync);
        if (*status) return 1;
        s->copies++;
        s->bytes += (double)bytes;
        s->report->copied_bytes += bytes;
        if (bytes < left) return 1;
    }
    return 0;
}

/* Ask about the ops from `first` on. Those turned down are dropped; those not needed are freed. */
static void decide(stepping *s, size_t first) {
    clump_pool *p = s->p;
    for (size_t i = first; p->desc.decide && i < p->op_count; i++) {
        clumpi_op *op = p->ops[i];
        if (op->is_dropped) continue;
        clump_move move;
        clumpi_op_tell(p, op, &move);
        clumpi_pool_leave(p);
        clump_move_op what = p->desc.decide(p->desc.user, &move);
        if (what == CLUMP_MOVE_DESTROY) clump_pool_free(p, move.allocation);
        clumpi_pool_enter(p);
        if (what == CLUMP_MOVE_COPY || !op->record) continue;
        op->is_dropped = 1;
        clumpi_record_at(p, op->record)->ignored_at = p->stats.freed + 1;
    }
}

/* Plan and copy, several times if there is time. */
static clump_status make_moves(stepping *s) {
    clump_pool *p = s->p;
    const clump_defrag_desc *d = s->desc;
    clump_status status = CLUMP_OK;
    while (!copy_ops(s, &status)) {
        uint32_t begun = s->report->begun;
        if (d->max_moves && begun >= d->max_moves) break;
        clumpi_plan_limits limits = {
            .bytes = allowed(s, UINT64_MAX / 2),
            .ops = d->max_moves ? d->max_moves - begun : UINT32_MAX,
            .deadline_ns =
                s->budget_ns > 0 ? s->batch_begin + PLANNING_SHARE * s->budget_ns : 1e300,
        };
        size_t first = p->op_count;
        if (!limits.bytes ||
            (s->budget_ns > 0 && s->copies > 0 && clumpi_now_ns() > limits.deadline_ns))
            break;
        status = clumpi_plan(p, d, &limits);
        s->report->begun += (uint32_t)(p->op_count - first);
        decide(s, first);
        if (status || p->op_count == first) break;
    }
    return status;
}

/* ---- Waiting --------------------------------------------------------------------------------- */

static clump_status wait_for_copies(stepping *s) {
    clump_pool *p = s->p;
    clump_status status = CLUMP_OK;
    for (size_t i = p->op_count; i-- > 0;) { /* the last enqueued first: mostly one wait for all */
        cl_event event = p->ops[i]->event;
        if (!event || clumpi_event_is_complete(p, event)) continue;
        cl_int code = p->cl.RetainEvent(event);
        if (code) return clumpi_fail_cl(&p->error, "clRetainEvent", code, "a copy");
        clumpi_pool_leave(p);
        code = p->cl.WaitForEvents(1, &event);
        clumpi_pool_enter(p);
        p->cl.ReleaseEvent(event);
        if (code && !status)
            status =
                clumpi_fail_cl(&p->error, "clWaitForEvents", code, "a copy of a defragmentation");
    }
    return status;
}

/* ---- Steps ----------------------------------------------------------------------------------- */

static clump_status check_desc(clump_pool *p, const clump_defrag_desc *d) {
    if (d->order != CLUMP_DEFRAG_FULLEST && d->order != CLUMP_DEFRAG_OLDEST)
        return clumpi_fail(&p->error, CLUMP_ERR_USAGE, "unknown order %d", (int)d->order);
    if (!(d->budget_us >= 0) || isinf(d->budget_us))
        return clumpi_fail(&p->error, CLUMP_ERR_USAGE,
                           "budget_us is %g, but must be 0 (no limit) or above", d->budget_us);
    const clump_defrag_weights *w = d->weights;
    if (w && (!(w->location >= 0 && w->free >= 0) || isinf(w->location) || isinf(w->free)))
        return clumpi_fail(&p->error, CLUMP_ERR_USAGE,
                           "the weights are %g and %g, but both must be numbers of at least 0",
                           w->location, w->free);
    if (w && (w->free_small != 0 || w->free_limit != 0) &&
        !(w->free_small > 0 && w->free_limit > w->free_small && w->free_limit <= 1))
        return clumpi_fail(
            &p->error, CLUMP_ERR_USAGE,
            "free_small is %g and free_limit %g, but must be 0 < free_small < free_limit <= 1",
            w->free_small, w->free_limit);
    if (d->manual && (d->wait || d->exclusive))
        return clumpi_fail(&p->error, CLUMP_ERR_USAGE,
                           "manual steps do not swap, so wait and exclusive cannot be set");
    return CLUMP_OK;
}

static double choose_budget(clump_pool *p, const clump_defrag_desc *d) {
    double budget = d->budget_us * 1e3;
    if (!d->use_pauses) return budget;
    double pause = (double)clumpi_pauses_budget(p);
    if (pause < 1) pause = 1; /* none: next to nothing */
    return budget > 0 && budget < pause ? budget : pause;
}

static clump_status slide(stepping *s) {
    clump_pool *p = s->p;
    clump_move *moves = NULL;
    size_t count = 0;
    double left = 1e300;
    if (s->budget_ns > 0) left = s->budget_ns - (clumpi_now_ns() - s->begin);
    if (left <= 0) return CLUMP_OK;
    clump_status status = clumpi_slide(p, s->sync, left, &moves, &count);
    for (size_t i = 0; i < count; i++) {
        s->report->begun++;
        s->report->finished++;
        s->report->copied_bytes += moves[i].from.bytes;
        call_moved(p, &moves[i]);
    }
    clumpi_free(&p->allocator, moves);
    return status;
}

/* Wait for the copies enqueued, learn from their times, and swap. */
static clump_status finish_batch(stepping *s) {
    clump_status status = wait_for_copies(s);
    if (s->copies > 0 && !status)
        clumpi_pace_learn(&s->p->wall_pace, s->copies, s->bytes, clumpi_now_ns() - s->batch_begin);
    progress(s);
    return status;
}

static int has_time(const stepping *s) {
    return clumpi_now_ns() - s->begin < BATCH_SHARE * s->budget_ns;
}

static clump_status run(stepping *s) {
    clump_pool *p = s->p;
    uint32_t chunks = p->stats.chunks;
    p->unreleased = p->has_surplus ? p->unreleased + 1 : 0;
    release_surplus(s, RELEASE_SHARE);
    progress(s);
    clump_status status;
    double copies;
    do { /* what was expected is an upper limit, so there may be time for more */
        s->batch_begin = clumpi_now_ns();
        s->copies = s->bytes = 0;
        status = make_moves(s);
        s->report->predicted_us += 1e-3 * clumpi_pace_predict(s->pace, s->copies, s->bytes);
        copies = s->copies;
        if (copies > 0 && !s->waits) p->cl.Flush(p->desc.queue);
        if (s->waits) {
            clump_status waited = finish_batch(s);
            if (!status) status = waited;
        }
    } while (!status && s->waits && s->budget_ns > 0 && copies > 0 && has_time(s));
    if (!status && s->desc->exclusive && !p->op_count) status = slide(s);
    release_surplus(s, 1);
    int is_starved = !s->report->copied_bytes && s->budget_ns > 0 && !clumpi_plan_is_settled(p);
    p->starved = is_starved ? p->starved + 1 : 0;
    s->report->under_way = (uint32_t)p->op_count;
    if (chunks > p->stats.chunks) s->report->chunks_released = chunks - p->stats.chunks;
    s->report->waste =
        p->chunk_bytes_all ? 1 - (double)p->chunk_used / (double)p->chunk_bytes_all : 0;
    s->report->done = !status && !p->op_count && !p->has_surplus && clumpi_plan_is_settled(p);
    return status;
}

/* It may have waited for the lock while another thread's step ran. */
static void show_step(const stepping *s) {
    clump_pool *p = s->p;
    if (!clumpi_timeline_is_on(p->context)) return;
    const clumpi_timeline_entry entry = {.kind = CLUMPI_TIMELINE_STEP,
                                         .pool = p->number,
                                         .from = s->begin > p->step_end ? s->begin : p->step_end,
                                         .to = clumpi_now_ns(),
                                         .args = {{"finished", s->report->finished},
                                                  {"copied_bytes", s->report->copied_bytes},
                                                  {"chunks_released", s->report->chunks_released}},
                                         .name = "step"};
    p->step_end = entry.to;
    clumpi_timeline_pool(p->context, p->name, &entry);
}

/* With the lock, which may be given up meanwhile. */
static clump_status make_step(clump_pool *p, const clump_defrag_desc *desc, double begin,
                              clump_defrag_report *report, const clump_sync *sync) {
    clump_status status = clumpi_pool_sync_check(p, sync, "clump_pool_defragment");
    if (!status) status = check_desc(p, desc);
    if (!status && p->is_stepping)
        status = clumpi_fail(&p->error, CLUMP_ERR_USAGE,
                             "a step of this pool's defragmentation is already running");
    if (status) return status;
    stepping s = {.p = p,
                  .desc = desc,
                  .sync = sync,
                  .report = report,
                  .begin = begin,
                  .budget_ns = choose_budget(p, desc),
                  .waits = desc->wait || desc->exclusive};
    s.pace = choose_pace(p, s.waits);
    report->budget_us = s.budget_ns > 0 ? 1e-3 * s.budget_ns : INFINITY;
    p->is_stepping = 1;
    p->defers_release = s.budget_ns > 0;
    status = run(&s);
    show_step(&s);
    p->is_stepping = p->defers_release = 0;
    return status;
}

static clump_status step_once(clump_pool *pool, const clump_defrag_desc *desc,
                              clump_defrag_report *report, const clump_sync *sync) {
    memset(report, 0, sizeof *report);
    double begin = clumpi_now_ns();
    clump_pool *p = clumpi_pool_enter(pool);
    if (!p) return CLUMP_ERR_USAGE;
    clump_status status = make_step(p, desc, begin, report, sync);
    clumpi_pool_leave(p);
    return status;
}

clump_status clumpi_defrag_for_room(clump_pool *p) {
    const clump_defrag_desc desc = {.wait = 1};
    clump_defrag_report report;
    clump_status status;
    do {
        report = (clump_defrag_report){0};
        status = make_step(p, &desc, clumpi_now_ns(), &report, NULL);
    } while (!status && !report.done && report.finished);
    return status;
}

static void release_scratch(clump_pool *pool) {
    clump_pool *p = clumpi_pool_enter(pool);
    if (!p) return;
    if (!p->is_stepping) clumpi_scratch_release(p);
    clumpi_pool_leave(p);
}

static clump_status step_until_done(clump_pool *pool, clump_defrag_desc d,
                                    clump_defrag_report *report, const clump_sync *sync) {
    clump_defrag_report sum = {0}, step;
    d.budget_us = 0;
    d.max_bytes = d.max_moves = 0;
    d.use_pauses = d.manual = 0;
    d.exclusive = 1;
    clump_status status;
    do {
        status = step_once(pool, &d, &step, sync);
        sum.begun += step.begun;
        sum.finished += step.finished;
        sum.dropped += step.dropped;
        sum.copied_bytes += step.copied_bytes;
        sum.chunks_released += step.chunks_released;
        sum.predicted_us += step.predicted_us;
    } while (!status && !step.done && (step.finished || step.under_way));
    release_scratch(pool);
    sum.budget_us = step.budget_us;
    sum.under_way = step.under_way;
    sum.waste = step.waste;
    sum.done = step.done;
    *report = sum;
    return status;
}

/* The caller's event: after all copies under way, those of this call among them. */
static clump_status give_event(clump_pool *pool, const clump_sync *sync) {
    clump_pool *p = clumpi_pool_enter(pool);
    clumpi_events copies = {0};
    clump_status status = CLUMP_OK;
    for (size_t i = 0; i < p->op_count && !status; i++)
        if (p->ops[i]->event) status = clumpi_events_add(p, &copies, p->ops[i]->event, "a copy");
    if (!status) status = clumpi_pool_mark(p, &copies, sync);
    clumpi_events_clear(p, &copies);
    clumpi_pool_leave(p);
    return status;
}

clump_status clump_pool_defragment(clump_pool *pool, const clump_defrag_desc *desc,
                                   clump_defrag_report *report, const clump_sync *sync) {
    clump_defrag_desc own;
    clump_defrag_report made = {0};
    clump_pool *p = clumpi_pool_enter(pool);
    if (!p) return CLUMP_ERR_USAGE;
    clump_status status = CLUMPI_PLACE(clump_defrag_report, report, &p->error);
    if (!status) status = CLUMPI_TAKE(clump_defrag_desc, &own, desc, &p->error);
    clumpi_pool_leave(p);
    if (status) return status;
    status = own.until_done ? step_until_done(pool, own, &made, sync)
                            : step_once(pool, &own, &made, sync);
    CLUMPI_GIVE(report, made);
    return !status && sync && sync->event ? give_event(pool, sync) : status;
}

/* ---- Swapping by hand ------------------------------------------------------------------------ */

clump_status clump_pool_next_move(clump_pool *pool, clump_move *move) {
    if (move) memset(move, 0, sizeof *move);
    clump_pool *p = clumpi_pool_enter(pool);
    if (!p) return CLUMP_ERR_USAGE;
    clump_status status = CLUMP_OK;
    if (!move)
        status = clumpi_fail(&p->error, CLUMP_ERR_USAGE,
                             "clump_pool_next_move needs a pointer for the move");
    for (size_t i = 0; move && i < p->op_count; i++) {
        const clumpi_op *op = p->ops[i];
        if (op->is_dropped || op->copied < op->bytes || !op->event ||
            !clumpi_event_is_complete(p, op->event) || has_failed(p, op))
            continue;
        clumpi_op_tell(p, op, move);
        break;
    }
    clumpi_pool_leave(p);
    return status;
}

static clump_status finish_move(clump_pool *p, uint32_t record, clump_move_op what) {
    clumpi_record *r = clumpi_record_at(p, record);
    size_t i = 0;
    while (i < p->op_count && p->ops[i] != r->op) i++;
    if (!r->op || p->is_stepping || r->op->is_dropped || r->op->copied < r->op->bytes ||
        !clumpi_event_is_complete(p, r->op->event) || has_failed(p, r->op))
        return clumpi_fail(
            &p->error, CLUMP_ERR_USAGE,
            "clump_pool_finish_move: no move of the allocation is waiting to be finished");
    if (what == CLUMP_MOVE_COPY) {
        learn(p, r->op);
        clumpi_op_swap(p, i);
    } else if (what == CLUMP_MOVE_IGNORE) {
        r->ignored_at = p->stats.freed + 1;
        clumpi_op_drop(p, i);
    } else {
        return clumpi_fail(&p->error, CLUMP_ERR_USAGE,
                           "clump_pool_finish_move: unknown operation %d", (int)what);
    }
    clumpi_waiting_poll(p);
    return CLUMP_OK;
}

clump_status clump_pool_finish_move(clump_pool *pool, clump_allocation allocation,
                                    clump_move_op op) {
    if (op == CLUMP_MOVE_DESTROY) return clump_pool_free(pool, allocation);
    clump_pool *p = clumpi_pool_enter(pool);
    if (!p) return CLUMP_ERR_USAGE;
    uint32_t record = clumpi_record_find(p, allocation, "clump_pool_finish_move");
    clump_status status = record ? finish_move(p, record, op) : CLUMP_ERR_REFERENCE;
    clumpi_pool_leave(p);
    return status;
}
