/* The log of marking, for measurements: turns and launches, which the device wrote, and the times
 * of launches.
 *
 * Read first: collect.h, include/clump/experimental.h (clump_mark_log), cl/collect/layout.h.
 */
#include <string.h>

#include "collect/collect.h"

_Static_assert((int)CLUMP_WAY_NARROW == (int)CLUMPI_MARK_NARROW &&
                   (int)CLUMP_WAY_QUEUE == (int)CLUMPI_MARK_QUEUE &&
                   (int)CLUMP_WAY_ROWS == (int)CLUMPI_MARK_ROWS &&
                   (int)CLUMP_WAY_REFILL == (int)CLUMPI_MARK_REFILL,
               "the ways have the same numbers on the device");

static double us_after(cl_ulong begin, cl_ulong at) {
    return at > begin ? 1e-3 * (double)(at - begin) : 0;
}

/* The times of a launch; zeros, if they are not known. */
static void note(void *with, uint32_t phase, const clumpi_times *times) {
    clumpi_collection *r = with;
    const clump_mark_log *log = r->tuning->log;
    if (phase != CLUMP_COLLECT_MARK) return;
    const cl_ulong queued = times->queued ? times->queued : times->start;
    if (!r->log_begin) r->log_begin = queued;
    if (r->log_launches < log->room) {
        clump_mark_launch *at = &log->launches[r->log_launches];
        at->queued_us = us_after(r->log_begin, queued);
        at->start_us = us_after(r->log_begin, times->start);
        at->end_us = us_after(r->log_begin, times->end);
    }
    r->log_launches++;
}

clump_status clumpi_collect_log_begin(clumpi_collection *r) {
    clump_mark_log *log = r->tuning->log;
    const clumpi_marks *marks = r->marks;
    const uint64_t granules = clumpi_mark_granules(r->heap);
    if (!log) return CLUMP_OK;
    log->turn_count = log->launch_count = 0;
    memset(log->turns, 0, log->room * sizeof *log->turns);
    memset(log->launches, 0, log->room * sizeof *log->launches);
    r->timed.note = note;
    r->timed.with = r;
    uint64_t at = clumpi_marks_turns_at(granules, marks->capacity);
    return clumpi_clear(clumpi_heap_context(r->heap), marks->buffer, at,
                        clumpi_marks_end(granules, marks->capacity, log->room) - at);
}

clump_status clumpi_collect_log_end(clumpi_collection *r, clumpi_u32 steps) {
    clump_mark_log *log = r->tuning->log;
    const clumpi_mark_control *m = &r->control;
    const clumpi_marks *marks = r->marks;
    clump_context *c = clumpi_heap_context(r->heap);
    const uint64_t granules = clumpi_mark_granules(r->heap);
    if (!log) return CLUMP_OK;
    log->turn_count = m->levels + m->sweeps + m->refills;
    log->launch_count = steps;
    clumpi_mark_turn *turns = clumpi_alloc(&c->allocator, log->room * sizeof *turns);
    clumpi_mark_launch *launches = clumpi_alloc(&c->allocator, log->room * sizeof *launches);
    clump_status status = CLUMP_OK;
    if (!turns || !launches)
        status =
            clumpi_fail(&c->error, CLUMP_ERR_HOST_MEMORY, "no host memory for a log of marking");
    if (!status)
        status = clumpi_read(c, marks->buffer, clumpi_marks_turns_at(granules, marks->capacity),
                             log->room * sizeof *turns, turns);
    if (!status)
        status = clumpi_read(c, marks->buffer,
                             clumpi_marks_launches_at(granules, marks->capacity, log->room),
                             log->room * sizeof *launches, launches);
    for (uint32_t i = 0; i < log->room && !status; i++) {
        log->turns[i] = (clump_mark_turn){.way = (clump_mark_way)turns[i].path,
                                          .launch = turns[i].step,
                                          .objects = turns[i].objects,
                                          .clock = turns[i].clock};
        log->launches[i].clock_begin = launches[i].clock_begin;
        log->launches[i].clock_end = launches[i].clock_end;
    }
    clumpi_free(&c->allocator, turns);
    clumpi_free(&c->allocator, launches);
    return status;
}
