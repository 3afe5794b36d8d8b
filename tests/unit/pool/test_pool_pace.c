/* What a pool learns: how long copies take, on a simulated device; how long its pauses are, from
 * events whose times are made up; how long the driver takes to release a chunk, which is slow here.
 *
 * Read first: host/pool/pace.h, include/clump/defrag.h.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "cl_fixture.h"
#include "core/core.h"
#include "pool/pace.h"

/* ---- Pace ------------------------------------------------------------------------------------ */

typedef struct device {
    double fixed, per_byte, noise,
        hiccups; /* hiccups: share of copies that take ten times as long */
    uint64_t random;
} device;

static double uniform(device *d) {
    return test_random(&d->random, 1000001) / 1e6;
}

static double run_copies(device *d, double n, double bytes) {
    double t = (d->fixed * n + d->per_byte * bytes) * (1 + d->noise * (2 * uniform(d) - 1));
    return uniform(d) < d->hiccups ? 10 * t : t;
}

static void learns(void **state) {
    static const device devices[] = {{20000, 0.05, 0.1, 0, 1}, {3000, 0.0005, 0.05, 0, 2},
                                     {100000, 1, 0.2, 0, 3},   {5000, 0.02, 0.1, 0.01, 4},
                                     {0, 0.3, 0.1, 0, 5},      {8000, 0, 0.1, 0, 6}};
    for (size_t k = 0; k < sizeof devices / sizeof *devices; k++) {
        device d = devices[k];
        clumpi_pace_model m = {0};
        for (int i = 0; i < 200; i++) {
            double n = 1 + test_random(&d.random, 8), bytes = pow(2, 12 + 12 * uniform(&d));
            clumpi_pace_learn(&m, n, bytes, run_copies(&d, n, bytes));
        }
        double quiet = d.fixed * 4 + d.per_byte * 4e6, told = m.fixed_ns * 4 + m.ns_per_byte * 4e6;
        if (fabs(told / quiet - 1) > 0.25)
            fail_msg("device %zu: 4 copies of 1 MB take %.0f ns, expected %.0f", k, quiet, told);
    }
}

/* Copies cut to a budget keep it, but for hiccups; when the device becomes slower, soon again. */
static void keeps_budgets(void **state) {
    device d = {20000, 0.05, 0.1, 0, 7};
    clumpi_pace_model m = {0};
    unsigned steps = 0, over = 0, late = 0;
    double used = 0;
    for (int i = 0; i < 6000; i++) {
        if (i == 3000) d.per_byte *= 3;
        double budget = 100000 + 200000 * uniform(&d);
        uint64_t bytes = clumpi_pace_bytes(&m, 1, budget);
        double t = run_copies(&d, 1, (double)bytes);
        clumpi_pace_learn(&m, 1, (double)bytes, t);
        if (i < 20) continue;
        int is_late = i >= 3000 && i < 3050;
        steps += !is_late;
        over += !is_late && t > 1.2 * budget;
        late += is_late && t > 1.2 * budget;
        used += t / budget;
    }
    print_message("%u of %u over the budget by 20%%, %u of 50 after the change; %.2f of it used\n",
                  over, steps, late, used / 5980);
    assert_true(over <= steps / 100);
    assert_true(late < 15);
    assert_true(used / 5980 > 0.7);
}

/* A device that becomes much faster is known to be so after a few copies. */
static void learns_anew(void **state) {
    device d = {20000, 0.5, 0.02, 0, 8};
    clumpi_pace_model m = {0};
    for (int i = 0; i < 500; i++) {
        if (i == 490) d.per_byte /= 10;
        if (i == 490) d.fixed /= 10;
        double bytes = pow(2, 12 + 12 * uniform(&d));
        clumpi_pace_learn(&m, 1, bytes, run_copies(&d, 1, bytes));
    }
    double quiet = d.fixed + d.per_byte * 1e7, told = m.fixed_ns + m.ns_per_byte * 1e7;
    print_message("10 MB take %.0f ns, expected %.0f\n", quiet, told);
    assert_true(told < 2 * quiet);
}

static void nonsense(void **state) {
    clumpi_pace_model m = {0};
    clumpi_pace_learn(&m, 0, 100, 5);
    clumpi_pace_learn(&m, 1, 100, 0);
    clumpi_pace_learn(&m, 1, 100, NAN);
    assert_int_equal(m.measured, 0);
    assert_int_equal(clumpi_pace_bytes(&m, 1, 1), 0);
    for (int i = 0; i < 10; i++) clumpi_pace_learn(&m, 1, 4096, 1e4); /* all alike */
    assert_true(fabs(clumpi_pace_predict(&m, 1, 4096) - 1e4) < 1);
    assert_true(m.fixed_ns >= 0 && m.ns_per_byte >= 0);
}

/* A fixture with some calls replaced. */
static void open_with(cl_fixture *f, const clump_cl_functions *functions) {
    int result = cl_fixture_open(f, &(cl_fixture_desc){.cl = functions});
    if (result == CL_FIXTURE_SKIP) skip();
    assert_int_equal(result, 0);
}

/* ---- Pauses ---------------------------------------------------------------------------------- */

#define EVENTS 64u
static struct {
    cl_event event;
    cl_ulong start, end;
    cl_int status;
    int is_silent; /* says CL_SUCCESS, and nothing else */
} events[EVENTS];
static unsigned event_count;

static unsigned number_of(cl_event event) {
    for (unsigned i = 0; i < event_count; i++)
        if (events[i].event == event) return i;
    fail_msg("the library asks for an event that is none of the test's");
    return 0;
}

static cl_int CL_API_CALL profiling_info(cl_event event, cl_profiling_info what, size_t bytes,
                                         void *value, size_t *size) {
    unsigned i = number_of(event);
    if (events[i].status != CL_COMPLETE) return CL_PROFILING_INFO_NOT_AVAILABLE;
    if (events[i].is_silent) return CL_SUCCESS;
    memcpy(value, what == CL_PROFILING_COMMAND_END ? &events[i].end : &events[i].start, bytes);
    return CL_SUCCESS;
}

static cl_int CL_API_CALL event_info(cl_event event, cl_event_info what, size_t bytes, void *value,
                                     size_t *size) {
    memcpy(value, &events[number_of(event)].status, bytes);
    return CL_SUCCESS;
}

static cl_event command(const cl_fixture *f, cl_ulong start, cl_ulong end) {
    cl_int code;
    assert_true(event_count < EVENTS);
    events[event_count].event = clCreateUserEvent(f->context, &code);
    CHECK_CL(code);
    /* Only what is told of it is made up: an implementation may wait for events that stay open. */
    CHECK_CL(clSetUserEventStatus(events[event_count].event, CL_COMPLETE));
    events[event_count].start = start;
    events[event_count].end = end;
    events[event_count].status = CL_COMPLETE;
    events[event_count].is_silent = 0;
    return events[event_count++].event;
}

/* In nanoseconds, which the events of these tests have. */
static uint64_t pause_of(clump_pool *pool) {
    clump_pool_details details = {.size = sizeof details};
    assert_int_equal(clump_pool_get_stats(pool, NULL, &details), CLUMP_OK);
    return (uint64_t)llround(details.pause_us * 1e3);
}

static void pauses(void **state) {
    clump_cl_functions functions = {.size = sizeof functions,
                                    .GetEventProfilingInfo = profiling_info,
                                    .GetEventInfo = event_info};
    cl_fixture f;
    open_with(&f, &functions);
    clump_pool *pool;
    clump_error error;
    const clump_pool_desc desc = {
        .size = sizeof desc, .context = f.clump, .pause_frames = 3, .pause_factor = 0.5};
    assert_int_equal(clump_pool_create(&desc, &pool, &error), CLUMP_OK);
    /* Frames of 1000: busy 0 - 200 and 300 - 600, so the longest pause is 400, to the
     * next frame. */
    cl_event frame[2];
    for (cl_ulong i = 0; i < 3; i++) {
        assert_int_equal(pause_of(pool), 0);
        frame[0] = command(&f, 10000 + 1000 * i, 10200 + 1000 * i);
        frame[1] = command(&f, 10300 + 1000 * i, 10600 + 1000 * i);
        assert_int_equal(clump_pool_end_frame(pool, 2, frame), CLUMP_OK);
    }
    assert_int_equal(pause_of(pool), 0); /* of the first one only the end was of use */
    frame[0] = command(&f, 13000, 13900);
    assert_int_equal(clump_pool_end_frame(pool, 1, frame), CLUMP_OK);
    assert_int_equal(pause_of(pool), 200); /* half of 400 */
    /* A frame that leaves little counts as long as it is among the last three. */
    frame[0] = command(&f, 14000, 14900);
    assert_int_equal(clump_pool_end_frame(pool, 1, frame), CLUMP_OK);
    assert_int_equal(pause_of(pool), 50);
    for (cl_ulong i = 0; i < 3; i++) {
        assert_int_equal(pause_of(pool), 50);
        frame[0] = command(&f, 20000 + 5000 * i, 20900 + 5000 * i);
        assert_int_equal(clump_pool_end_frame(pool, 1, frame), CLUMP_OK);
    }
    assert_int_equal(pause_of(pool), 2050);
    /* A frame that is still running is not looked at, nor are those behind it. */
    frame[0] = command(&f, 30950, 31000);
    events[event_count - 1].status = CL_RUNNING;
    assert_int_equal(clump_pool_end_frame(pool, 1, frame), CLUMP_OK);
    frame[0] = command(&f, 31001, 31002);
    assert_int_equal(clump_pool_end_frame(pool, 1, frame), CLUMP_OK);
    assert_int_equal(pause_of(pool), 2050);
    events[event_count - 2].status = CL_COMPLETE;
    assert_int_equal(pause_of(pool), 0); /* 0.5 ns */
    /* Half a pause of nothing lets a step do next to nothing. */
    clump_defrag_report report = {.size = sizeof report};
    assert_int_equal(
        clump_pool_defragment(
            pool, &(clump_defrag_desc){.size = sizeof(clump_defrag_desc), .use_pauses = 1}, &report,
            NULL),
        CLUMP_OK);
    assert_true(fabs(report.budget_us - 1e-3) < 1e-9);
    for (unsigned i = 0; i < event_count; i++) clReleaseEvent(events[i].event);
    clump_pool_destroy(pool);
    cl_fixture_close(&f);
}

/* One frame of 1000: two commands, with pauses of 100 between them and of 400 to the next. */
static void end_frame(const cl_fixture *f, clump_pool *pool, cl_ulong at, cl_ulong first_end) {
    cl_event frame[2];
    frame[0] = command(f, at, at + first_end);
    frame[1] = command(f, at + 300, at + 600);
    assert_int_equal(clump_pool_end_frame(pool, 2, frame), CLUMP_OK);
}

/* A device that tells an end before the beginning, nothing, or any number: what lies next to it is
 * not known, and the rest goes on. */
static void pauses_of_wrong_times(void **state) {
    clump_cl_functions functions = {.size = sizeof functions,
                                    .GetEventProfilingInfo = profiling_info,
                                    .GetEventInfo = event_info};
    static const cl_ulong ends[] = {(cl_ulong)-1, 0, UINT64_MAX, UINT64_C(1) << 40};
    cl_fixture f;
    open_with(&f, &functions);
    for (size_t i = 0; i < sizeof ends / sizeof *ends; i++)
        for (int is_silent = 0; is_silent < 2; is_silent++) {
            clump_pool *pool;
            clump_error error;
            cl_ulong at = 10000;
            event_count = 0;
            const clump_pool_desc desc = {
                .size = sizeof desc, .context = f.clump, .pause_frames = 2, .pause_factor = 1};
            assert_int_equal(clump_pool_create(&desc, &pool, &error), CLUMP_OK);
            for (int k = 0; k < 3; k++, at += 1000) end_frame(&f, pool, at, 200);
            assert_int_equal(pause_of(pool), 400);
            end_frame(&f, pool, at,
                      ends[i] ? ends[i] : 0 - at); /* the first one; 0: it ends at 0 */
            events[event_count - 2].is_silent = is_silent;
            /* The pauses before and after it are not known, but what one end hides is seen at the
             * next frame. */
            (void)pause_of(pool);
            for (int k = 0; k < 4; k++) end_frame(&f, pool, at += 1000, 200);
            assert_int_equal(pause_of(pool), 400);
            end_frame(&f, pool, at += 1000, 200); /* the last one of a frame */
            events[event_count - 1].end = ends[i] ? at + 300 + ends[i] : 0;
            events[event_count - 1].is_silent = is_silent;
            for (int k = 0; k < 4; k++) end_frame(&f, pool, at += 1000, 200);
            assert_int_equal(pause_of(pool), 400);
            clump_pool_destroy(pool);
            for (unsigned k = 0; k < event_count; k++) clReleaseEvent(events[k].event);
        }
    cl_fixture_close(&f);
}

/* What all parts ask. */
static void times(void **state) {
    const clump_cl_functions functions = {.size = sizeof functions,
                                          .GetEventProfilingInfo = profiling_info};
    const double hour = 3.6e12;
    const struct {
        cl_ulong start, end;
        double since; /* so long ago the host enqueued it; 0: nobody knows */
        int are_known;
    } cases[] = {
        {5000, 5000, 0, 1},
        {5000, 6000, 0, 1},
        {5000, 6000, 1, 1}, /* clocks may differ by a moment */
        {5000, 4999, 0, 0},
        {5000, 0, 0, 0},
        {0, 5000, 0, 0},
        {0, 0, 0, 0},
        {5000, UINT64_MAX, 0, 0},
        {5000, UINT64_MAX / 2, 0, 0},
        {5000, 5000 + (cl_ulong)hour, 0, 1},
        {5000, 5000 + (cl_ulong)hour, 1e9, 0}, /* longer than the host has waited */
        {5000, 5000 + (cl_ulong)hour, hour, 1},
    };
    cl_fixture f;
    open_with(&f, NULL);
    event_count = 0;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        clumpi_times told;
        cl_int code;
        const cl_event event = command(&f, cases[i].start, cases[i].end);
        const double since = cases[i].since > 0 ? clumpi_now_ns() - cases[i].since : 0;
        /* A machine that has not run for so long has no such moment. */
        if (since < 0) continue;
        if (clumpi_times_read(&functions, event, since, &told, &code) != cases[i].are_known)
            fail_msg("case %zu: from %llu to %llu", i, (unsigned long long)cases[i].start,
                     (unsigned long long)cases[i].end);
        assert_int_equal(code, CL_SUCCESS);
        assert_int_equal(told.are_known, cases[i].are_known);
        assert_true(told.start == (told.are_known ? cases[i].start : 0));
        assert_true(told.end == (told.are_known ? cases[i].end : 0));
        assert_true(told.queued == told.start); /* as this device tells */
        events[event_count - 1].is_silent = 1;
        assert_false(clumpi_times_read(&functions, event, since, &told, NULL));
        events[event_count - 1].status = CL_RUNNING;
        assert_false(clumpi_times_read(&functions, event, since, &told, &code));
        assert_int_equal(code, CL_PROFILING_INFO_NOT_AVAILABLE);
    }
    for (unsigned k = 0; k < event_count; k++) clReleaseEvent(events[k].event);
    cl_fixture_close(&f);
}

/* ---- Empty chunks ---------------------------------------------------------------------------- */

#define SLOW_NS 40000000 /* for a chunk: more than the half of a budget that is meant for it */

static unsigned released;

static cl_int CL_API_CALL release_slowly(cl_mem buffer) {
    nanosleep(&(struct timespec){.tv_nsec = SLOW_NS}, NULL);
    released++;
    return clReleaseMemObject(buffer);
}

#define HALF_BYTES 30000u

/* A pool of 16 chunks, each with room for two allocations, of which one was freed. */
static clump_pool *half_used(const cl_fixture *f) {
    clump_pool *pool;
    clump_error error;
    clump_allocation all[32];
    assert_int_equal(clump_pool_create(&(clump_pool_desc){.size = sizeof(clump_pool_desc),
                                                          .context = f->clump,
                                                          .chunk_bytes = 65536},
                                       &pool, &error),
                     CLUMP_OK);
    clump_allocation_desc a = {.size = sizeof a, .bytes = HALF_BYTES, .movable = 1};
    for (int i = 0; i < 32; i++)
        assert_int_equal(clump_pool_alloc(pool, &a, &all[i], NULL), CLUMP_OK);
    for (int i = 0; i < 32; i += 2) assert_int_equal(clump_pool_free(pool, all[i]), CLUMP_OK);
    return pool;
}

/* A driver takes long to release chunks: steps leave that to later steps, one to each, and come to
 * their end. */
static void releases(void **state) {
    clump_cl_functions functions = {.size = sizeof functions, .ReleaseMemObject = release_slowly};
    cl_fixture f;
    open_with(&f, &functions);
    clump_pool *pool = half_used(&f);
    released = 0;
    clump_defrag_desc step = {.size = sizeof step, .budget_us = SLOW_NS * 1.25e-3, .wait = 1};
    clump_defrag_report report = {.size = sizeof report};
    clump_pool_stats stats = {.size = sizeof stats};
    unsigned steps = 0;
    do {
        unsigned before = released;
        assert_int_equal(clump_pool_defragment(pool, &step, &report, NULL), CLUMP_OK);
        assert_true(released - before <= 1);
        assert_int_equal(clump_pool_check(pool), CLUMP_OK);
        assert_true(++steps < 200);
    } while (!report.done);
    clump_pool_details details = {.size = sizeof details};
    assert_int_equal(clump_pool_get_stats(pool, &stats, &details), CLUMP_OK);
    assert_true(details.copy_us_per_byte >
                0); /* copies of one size: what they take is told by the byte */
    print_message("%u chunks released in %u steps\n", released, steps);
    assert_int_equal(stats.chunks, 9);
    assert_int_equal(stats.empty_chunks, 1);
    assert_int_equal(released, 7);
    clump_pool_destroy(pool);
    cl_fixture_close(&f);
}

/* ---- Queues out of order ---- */

static cl_event unmapped;

static cl_int CL_API_CALL unmap(cl_command_queue queue, cl_mem buffer, void *memory, cl_uint waits,
                                const cl_event *list, cl_event *event) {
    cl_int code = clEnqueueUnmapMemObject(queue, buffer, memory, waits, list, event);
    if (!code && event) code = clRetainEvent(unmapped = *event);
    return code;
}

/* What comes after it on such a queue would not wait for it, so it is done when the call is
 * over. */
static void unmaps_out_of_order(void **state) {
    const clump_cl_functions functions = {.size = sizeof functions, .EnqueueUnmapMemObject = unmap};
    cl_fixture f;
    int result = cl_fixture_open(&f, &(cl_fixture_desc){.cl = &functions, .out_of_order = 1});
    if (result == CL_FIXTURE_SKIP) skip();
    assert_int_equal(result, 0);
    clump_pool *pool;
    clump_error error;
    clump_allocation a;
    void *memory;
    cl_int is = CL_QUEUED;
    assert_int_equal(
        clump_pool_create(&(clump_pool_desc){.size = sizeof(clump_pool_desc), .context = f.clump},
                          &pool, &error),
        CLUMP_OK);
    assert_int_equal(
        clump_pool_alloc(
            pool, &(clump_allocation_desc){.size = sizeof(clump_allocation_desc), .bytes = 1000},
            &a, NULL),
        CLUMP_OK);
    assert_int_equal(clump_pool_map(pool, a, CL_MAP_WRITE, &memory), CLUMP_OK);
    memset(memory, 7, 1000);
    assert_int_equal(clump_pool_unmap(pool, a, memory, NULL), CLUMP_OK);
    assert_non_null(unmapped);
    CHECK_CL(clGetEventInfo(unmapped, CL_EVENT_COMMAND_EXECUTION_STATUS, sizeof is, &is, NULL));
    assert_int_equal(is, CL_COMPLETE);
    CHECK_CL(clReleaseEvent(unmapped));
    assert_int_equal(clump_pool_free(pool, a), CLUMP_OK);
    clump_pool_destroy(pool);
    cl_fixture_close(&f);
}

/* What a whole defragmentation reports is the sum of its steps. */
static void sums(void **state) {
    cl_fixture f;
    open_with(&f, NULL);
    clump_pool *pool = half_used(&f);
    clump_pool_stats stats = {.size = sizeof stats};
    clump_defrag_report report = {.size = sizeof report};
    assert_int_equal(
        clump_pool_defragment(
            pool, &(clump_defrag_desc){.size = sizeof(clump_defrag_desc), .until_done = 1}, &report,
            NULL),
        CLUMP_OK);
    clump_pool_get_stats(pool, &stats, NULL);
    assert_true(report.done && report.begun > 0 && !report.under_way);
    assert_int_equal(report.finished + report.dropped, report.begun);
    assert_int_equal(report.finished, stats.moves);
    assert_int_equal(report.copied_bytes, report.finished * HALF_BYTES);
    assert_true(report.chunks_released > 0);
    assert_true(report.predicted_us > 0 && report.predicted_us < 1e9);
    clump_pool_destroy(pool);
    cl_fixture_close(&f);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(learns),
                                       cmocka_unit_test(keeps_budgets),
                                       cmocka_unit_test(nonsense),
                                       cmocka_unit_test(pauses),
                                       cmocka_unit_test(releases),
                                       cmocka_unit_test(sums),
                                       cmocka_unit_test(learns_anew),
                                       cmocka_unit_test(times),
                                       cmocka_unit_test(pauses_of_wrong_times),
                                       cmocka_unit_test(unmaps_out_of_order)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
