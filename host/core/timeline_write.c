/* A timeline as a trace.
 *
 * All times are ns of the device's clock here. What pools do has times of the host's clock, which
 * are converted: a command's CL_PROFILING_COMMAND_QUEUED is not later than the moment at which the
 * host had enqueued it, so the largest difference of the two is nearest to what the clocks differ
 * by. The clocks drift (PoCL's is CLOCK_MONOTONIC_RAW, Intel's CPU runtime has the host's
 * CLOCK_MONOTONIC), so a difference counts for the less the longer before or after it was seen.
 *
 * Events of a track neither overlap nor touch each other's inside, not even by the nanosecond by
 * which devices round: Perfetto 52 drops those that do. What one queue has comes one after the
 * other, whichever track it is on.
 *
 * Read first: timeline.h.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/timeline.h"

#define OF_LIBRARY "clumpi_"
#define DRIFT 6e-4 /* most, of two clocks: NTP alone slews one by 5e-4 */

/* The process has the number of none of its threads: Perfetto would call that one the main
 * thread. */
#define PROCESS "100"
enum { THREAD_PROGRAM = 1, THREAD_LIBRARY, THREAD_TRANSFERS, THREAD_CALLS };
/* Of another queue than the context's first. */
static uint32_t queue_thread(uint32_t queue, uint32_t thread) {
    return queue ? 1000000 + 10 * queue + thread : thread;
}
/* Threads of pools, two of each, have numbers above that of the process. */
static uint32_t pool_thread(uint32_t pool, clumpi_timeline_kind kind) {
    return 101 + 2 * pool + (kind != CLUMPI_TIMELINE_POOL);
}

/* When an entry begins and ends; in the end from the trace's origin on. to < from: it is left
 * out. */
typedef struct ns_range {
    int64_t from, to;
} ns_range;

/* An entry of a track, by which tracks are put in order. Before that, by entry: what a command
 * tells of the clocks, in `from`, and what is to be added to the times of an entry of the host, in
 * `to`; INT64_MIN: nothing. */
typedef struct placed {
    uint32_t track, entry;
    int64_t from, to;
} placed;

typedef struct trace {
    clump_context *c;
    clumpi_timeline *t;
    uint32_t count; /* entries that are written: later ones wait for the next time */
    uint64_t dropped;
    clumpi_timeline_pool_name *pools; /* copied: other threads may add some meanwhile */
    size_t pool_count;
    uint8_t *queues; /* by number: is there something of it? */
    ns_range *ranges;
    placed *order;
    int64_t origin, to_device;
    double known_at; /* see timeline.h */
    double now;      /* clumpi_now_ns() */
    uint64_t moves;
    clumpi_text text;
} trace;

/* ---- Times ----------------------------------------------------------------------------------- */

static int is_command(const clumpi_timeline_entry *e) {
    return e->kind == CLUMPI_TIMELINE_KERNEL || e->kind == CLUMPI_TIMELINE_TRANSFER;
}

static int is_host_timed(const clumpi_timeline_entry *e) {
    return e->kind == CLUMPI_TIMELINE_POOL || e->kind == CLUMPI_TIMELINE_STEP;
}

static clump_status time_events(trace *w) {
    for (uint32_t i = 0; i < w->count; i++) {
        const clumpi_timeline_entry *e = &w->t->entries[i];
        w->ranges[i] = (ns_range){0, -1};
        w->order[i].from = INT64_MIN; /* no difference is known */
        if (!e->event) continue;
        clumpi_times times;
        const clump_error before = w->c->error;
        clump_status status = clumpi_times_of(w->c, e->event, e->name, w->t->begun, &times);
        if (status && is_command(e)) return status;
        if (status) w->c->error = before; /* the pool has dealt with a copy that failed */
        if (status || !times.are_known) {
            w->dropped++;
            continue;
        }
        w->ranges[i] = (ns_range){(int64_t)times.start, (int64_t)times.end};
        if (is_command(e) && times.queued)
            w->order[i].from = (int64_t)times.queued - (int64_t)e->to;
    }
    return CLUMP_OK;
}

/* What is added to the host's clock at an entry, for all from the first on, or from the last back:
 * of what was known before it, and what it tells itself, the larger. `*known` is INT64_MIN, or
 * known at `*at`; both are carried on. */
static void carry(trace *w, uint32_t i, int64_t *known, double *at) {
    const clumpi_timeline_entry *e = &w->t->entries[i];
    const double away = e->to > *at ? e->to - *at : *at - e->to;
    if (!is_command(e) && !is_host_timed(e)) return;
    if (*known != INT64_MIN) *known -= (int64_t)(DRIFT * away);
    if (w->order[i].from > *known) *known = w->order[i].from;
    *at = e->to;
    if (is_host_timed(e) && *known > w->order[i].to) w->order[i].to = *known;
}

static void time_host_timed(trace *w) {
    int64_t known = INT64_MIN;
    double at = w->now;
    for (uint32_t i = 0; i < w->count; i++) w->order[i].to = INT64_MIN;
    for (uint32_t i = 0; i < w->count; i++) carry(w, i, &w->to_device, &w->known_at);
    for (uint32_t i = w->count; i-- > 0;) carry(w, i, &known, &at);
    for (uint32_t i = 0; i < w->count; i++) {
        const clumpi_timeline_entry *e = &w->t->entries[i];
        const int64_t shift = w->order[i].to == INT64_MIN ? 0 : w->order[i].to;
        if (is_host_timed(e))
            w->ranges[i] = (ns_range){(int64_t)e->from + shift, (int64_t)e->to + shift};
    }
}

static int compare_placed(const void *a, const void *b) {
    const placed *x = a, *y = b;
    if (x->track != y->track) return x->track < y->track ? -1 : 1;
    if (x->from != y->from) return x->from < y->from ? -1 : 1;
    if (x->to != y->to) return x->to < y->to ? -1 : 1;
    return x->entry < y->entry ? -1 : x->entry > y->entry;
}

/* One after the other, those of a queue and those of each track of a pool. */
static void part(trace *w) {
    uint32_t n = 0;
    for (uint32_t i = 0; i < w->count; i++) {
        const clumpi_timeline_entry *e = &w->t->entries[i];
        const ns_range r = w->ranges[i];
        if ((!is_command(e) && !is_host_timed(e)) || r.to < r.from) continue;
        w->order[n++] = (placed){
            is_command(e) ? queue_thread(e->queue, THREAD_CALLS) : pool_thread(e->pool, e->kind), i,
            r.from, r.to};
    }
    qsort(w->order, n, sizeof *w->order, compare_placed);
    for (uint32_t i = 1; i < n; i++) {
        const ns_range *before = &w->ranges[w->order[i - 1].entry];
        ns_range *r = &w->ranges[w->order[i].entry];
        if (w->order[i].track != w->order[i - 1].track) continue;
        if (r->from < before->to) r->from = before->to;
        if (r->to < r->from) r->to = r->from;
    }
}

static void time_others(trace *w) {
    time_host_timed(w);
    part(w);
    for (uint32_t i = 0; i < w->count; i++) {
        const clumpi_timeline_entry *e = &w->t->entries[i];
        ns_range *r = &w->ranges[i];
        for (uint32_t k = e->first; e->kind == CLUMPI_TIMELINE_SPAN && k < i; k++) {
            if (!is_command(&w->t->entries[k]) || w->ranges[k].to < w->ranges[k].from) continue;
            if (r->to < r->from) *r = w->ranges[k];
            if (w->ranges[k].from < r->from) r->from = w->ranges[k].from;
            if (w->ranges[k].to > r->to) r->to = w->ranges[k].to;
        }
    }
    /* Where only the host's clock is known, the trace begins with its first time, and a later one
     * with a command anew. */
    w->origin = (int64_t)w->t->origin;
    for (uint32_t i = 0; i < w->count && !w->t->origin; i++)
        if (w->ranges[i].to >= w->ranges[i].from && (!w->origin || w->ranges[i].from < w->origin))
            w->origin = w->ranges[i].from;
    for (uint32_t i = 0; i < w->count; i++) { /* none is before it, whatever the clocks say */
        ns_range *r = &w->ranges[i];
        const int is_there = r->to >= r->from;
        r->from = is_there && r->from > w->origin ? r->from - w->origin : 0;
        r->to = !is_there ? -1 : r->to > w->origin ? r->to - w->origin : 0;
    }
}

/* ---- Text ------------------------------------------------------------------------------------ */

static void append_meta(clumpi_text *text, const char *what, uint32_t thread, const char *name,
                        const char *more) {
    clumpi_text_append(
        text,
        "{\"name\":\"%s\",\"ph\":\"M\",\"pid\":" PROCESS ",\"tid\":%u,\"args\":{\"name\":", what,
        thread);
    char whole[CLUMPI_TIMELINE_NAME + 64];
    snprintf(whole, sizeof whole, "%s%s", name, more);
    clumpi_text_append_json(text, whole);
    clumpi_text_append(text, "}},\n");
}

static void append_queue(clumpi_text *text, uint32_t queue) {
    static const char *const threads[] = {
        [THREAD_PROGRAM] = "kernels of the program",
        [THREAD_LIBRARY] = "kernels of the library",
        [THREAD_TRANSFERS] = "transfers, fills and copies",
        [THREAD_CALLS] = "compactions and collections",
    };
    char of[32] = "";
    if (queue) snprintf(of, sizeof of, "queue %u: ", queue);
    for (uint32_t i = THREAD_PROGRAM; i <= THREAD_CALLS; i++)
        append_meta(text, "thread_name", queue_thread(queue, i), of, threads[i]);
}

/* Perfetto 52 makes one track of those that have one name. */
static void name_pool(const trace *w, size_t pool, char *name, size_t room) {
    const clumpi_timeline_pool_name *p = &w->pools[pool];
    size_t alike = 0;
    for (size_t i = 0; i < w->pool_count; i++) alike += !strcmp(w->pools[i].name, p->name);
    if (alike < 2)
        snprintf(name, room, "%s", p->name);
    else
        snprintf(name, room, "%s (%u)", p->name, p->number + 1);
}

static void append_head(trace *w) {
    clumpi_text *text = &w->text;
    clumpi_text_append(text,
                       "{\"displayTimeUnit\":\"ns\",\"otherData\":{\"dropped\":%" PRIu64
                       "},\"traceEvents\":[\n",
                       w->dropped);
    append_meta(text, "process_name", 0, w->c->capabilities.device_name, "");
    w->queues[0] = 1;
    for (uint32_t i = 0; i < w->count; i++) w->queues[w->t->entries[i].queue] = 1;
    for (uint32_t q = 0; q < w->c->queue_count; q++)
        if (w->queues[q]) append_queue(text, q);
    for (size_t i = 0; i < w->pool_count; i++) {
        const uint32_t number = w->pools[i].number;
        char name[CLUMPI_TIMELINE_NAME + 16];
        name_pool(w, i, name, sizeof name);
        append_meta(text, "thread_name", pool_thread(number, CLUMPI_TIMELINE_POOL), name,
                    ": allocations and frees");
        append_meta(text, "thread_name", pool_thread(number, CLUMPI_TIMELINE_STEP), name,
                    ": steps of defragmentation");
    }
    clumpi_text_append(text, "{\"name\":\"process_sort_index\",\"ph\":\"M\",\"pid\":" PROCESS
                             ",\"args\":{\"sort_index\":1}}");
}

static uint32_t thread_of(const clumpi_timeline_entry *e) {
    const int is_library = strncmp(e->name, OF_LIBRARY, sizeof OF_LIBRARY - 1) == 0;
    switch (e->kind) {
    case CLUMPI_TIMELINE_KERNEL:
        return queue_thread(e->queue, is_library ? THREAD_LIBRARY : THREAD_PROGRAM);
    case CLUMPI_TIMELINE_TRANSFER: return queue_thread(e->queue, THREAD_TRANSFERS);
    case CLUMPI_TIMELINE_SPAN: return queue_thread(e->queue, THREAD_CALLS);
    default: return pool_thread(e->pool, e->kind);
    }
}

/* In microseconds, with a point in every locale. */
static void append_time(clumpi_text *text, const char *name, int64_t ns) {
    clumpi_text_append(text, ",\"%s\":%" PRId64 ".%03u", name, ns / 1000, (unsigned)(ns % 1000));
}

/* Moves are no thread's, so their names say whose they are. */
static void name_event(const trace *w, const clumpi_timeline_entry *e, char *name, size_t room) {
    for (size_t i = 0; i < w->pool_count && e->kind == CLUMPI_TIMELINE_MOVE; i++) {
        if (w->pools[i].number != e->pool) continue;
        char pool[CLUMPI_TIMELINE_NAME + 16];
        name_pool(w, i, pool, sizeof pool);
        snprintf(name, room, "%s: %s", pool, e->name);
        return;
    }
    snprintf(name, room, "%s", e->name);
}

/* The head of an event; `more` are members that this kind of event has. */
static void append_event(trace *w, const clumpi_timeline_entry *e, const char *phase, int64_t at) {
    char name[2 * CLUMPI_TIMELINE_NAME + 32];
    name_event(w, e, name, sizeof name);
    clumpi_text_append(&w->text, ",\n{\"name\":");
    clumpi_text_append_json(&w->text, name);
    clumpi_text_append(&w->text, ",\"ph\":\"%s\",\"pid\":" PROCESS ",\"tid\":%u", phase,
                       thread_of(e));
    append_time(&w->text, "ts", at);
}

static void append_args(clumpi_text *text, const clumpi_timeline_entry *e) {
    for (uint32_t i = 0; i < CLUMPI_TIMELINE_ARGS && e->args[i].name; i++)
        clumpi_text_append(text, "%s\"%s\":%" PRIu64, i ? "," : ",\"args\":{", e->args[i].name,
                           e->args[i].value);
    clumpi_text_append(text, e->args[0].name ? "}}" : "}");
}

/* Moves may overlap, where the pool's queue is out of order. Events of a thread may not, so moves
 * are those of the process. */
static void append_move(trace *w, const clumpi_timeline_entry *e, const ns_range *r) {
    const uint64_t id = w->moves++;
    append_event(w, e, "b", r->from);
    clumpi_text_append(&w->text, ",\"cat\":\"move\",\"id2\":{\"local\":\"0x%" PRIx64 "\"}", id);
    append_args(&w->text, e);
    append_event(w, e, "e", r->to);
    clumpi_text_append(&w->text, ",\"cat\":\"move\",\"id2\":{\"local\":\"0x%" PRIx64 "\"}}", id);
}

static void append_entry(trace *w, uint32_t i) {
    const clumpi_timeline_entry *e = &w->t->entries[i];
    const ns_range *r = &w->ranges[i];
    if (r->to < r->from) return;
    if (e->kind == CLUMPI_TIMELINE_MOVE) {
        append_move(w, e, r);
        return;
    }
    append_event(w, e, "X", r->from);
    append_time(&w->text, "dur", r->to - r->from);
    append_args(&w->text, e);
}

/* ---- The call -------------------------------------------------------------------------------- */

/* What is there now. */
static clump_status open_trace(clump_context *c, trace *w) {
    clumpi_timeline *t = c->timeline;
    *w = (trace){.c = c,
                 .t = t,
                 .to_device = t->to_device,
                 .known_at = t->known_at,
                 .now = clumpi_now_ns(),
                 .moves = t->moves,
                 .text = {.allocator = &c->allocator}};
    clumpi_lock_take(&c->timeline_lock);
    w->count = atomic_load(&t->count);
    w->dropped = t->dropped;
    w->pool_count = t->pool_count;
    w->pools = clumpi_alloc(&c->allocator, t->pool_count * sizeof *w->pools);
    if (w->pools && t->pool_count) memcpy(w->pools, t->pools, t->pool_count * sizeof *w->pools);
    clumpi_lock_give(&c->timeline_lock);
    w->ranges = clumpi_alloc(&c->allocator, w->count * sizeof *w->ranges);
    w->order = clumpi_alloc(&c->allocator, w->count * sizeof *w->order);
    w->queues = clumpi_alloc(&c->allocator, c->queue_count);
    if (w->pools && w->ranges && w->order && w->queues) return CLUMP_OK;
    return clumpi_fail(&c->error, CLUMP_ERR_HOST_MEMORY,
                       "no host memory for the times of a timeline");
}

static void close_trace(trace *w) {
    clumpi_free(&w->c->allocator, w->queues);
    clumpi_free(&w->c->allocator, w->order);
    clumpi_free(&w->c->allocator, w->ranges);
    clumpi_free(&w->c->allocator, w->pools);
}

static void forget(const trace *w, uint64_t dropped) {
    clump_context *c = w->c;
    clumpi_timeline *t = w->t;
    for (uint32_t i = 0; i < w->count; i++)
        if (t->entries[i].event) c->cl.ReleaseEvent(t->entries[i].event);
    clumpi_lock_take(&c->timeline_lock);
    const uint32_t left = atomic_load(&t->count) - w->count;
    memmove(t->entries, t->entries + w->count, left * sizeof *t->entries);
    atomic_store(&t->count, left);
    t->dropped -= dropped;
    t->moves = w->moves;
    t->to_device = w->to_device;
    t->known_at = w->known_at;
    if (w->to_device != INT64_MIN) t->origin = (cl_ulong)w->origin;
    clumpi_lock_give(&c->timeline_lock);
}

clump_status clump_context_write_timeline(clump_context *c, clump_write_fn write, void *user) {
    if (!c) return CLUMP_ERR_USAGE;
    if (!write || !c->timeline)
        return clumpi_fail(
            &c->error, CLUMP_ERR_USAGE,
            write ? "clump_context_write_timeline: nothing is being recorded. Call "
                    "clump_context_record_timeline() first"
                  : "clump_context_write_timeline needs a function that receives the text");
    clump_status status = clumpi_finish(c);
    if (status) return status;
    trace w;
    status = open_trace(c, &w);
    const uint64_t dropped = w.dropped;
    if (!status) status = time_events(&w);
    if (!status) {
        time_others(&w);
        append_head(&w);
        for (uint32_t i = 0; i < w.count; i++) append_entry(&w, i);
        clumpi_text_append(&w.text, "\n]}\n");
    }
    status =
        clumpi_text_write(&w.text, status, "clump_context_write_timeline", write, user, &c->error);
    if (!status) forget(&w, dropped);
    close_trace(&w);
    return status;
}
