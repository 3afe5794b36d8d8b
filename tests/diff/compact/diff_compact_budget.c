/* Budgets: compaction in steps of so many moves or so much time does in the end what one run does.
 *
 * Read first: trial.h.
 */
#include <stdlib.h>
#include <string.h>

#include "trial.h"

static cl_fixture *const f = &trial_fixture;

/* Steps until nothing is left, from the snapshot `from`; returns what the heap then holds. */
static snapshot *run_steps(world *w, snapshot *from, const clump_compact_desc *desc,
                           uint64_t full_moves, uint32_t *first_freed) {
    trial t;
    uint64_t moves = 0, left = full_moves;
    snapshot_put(w, from);
    for (uint32_t step = 0; left; step++) {
        trial_run(&t, w, desc);
        WORLD_CHECK(w, t.report.blocks_freed, "step %u frees no block", step);
        WORLD_CHECK(
            w, !desc->max_moves || t.report.moves <= desc->max_moves || t.report.blocks_freed == 1,
            "step %u makes %llu moves for %u blocks", step, (unsigned long long)t.report.moves,
            t.report.blocks_freed);
        moves += t.report.moves;
        equal(&t, "moves left", t.report.moves_left, full_moves - moves);
        left = t.report.moves_left;
        check_references(&t);
        if (step == 0) *first_freed = t.report.blocks_freed;
        trial_done(&t);
    }
    trial_run(&t, w, desc);
    equal(&t, "moves of a step when all is done", t.report.moves, 0);
    equal(&t, "moves of all steps", moves, full_moves);
    snapshot *end = t.after;
    t.after = NULL;
    trial_done(&t);
    return end;
}

static void planner_steps(void **state) {
    static const struct {
        int which;
        uint64_t max_moves;
    } cases[] = {{NARROW, 1}, {NARROW, 300}, {WIDE, 700}, {MIDDLE, 100}, {HUGE_OBJECTS, 90}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        trial t;
        uint32_t freed = 0;
        world *w = enter(cases[i].which);
        LABEL(w, "steps of %llu, %s", (unsigned long long)cases[i].max_moves,
              worlds[cases[i].which].name);
        w->random += i;
        snapshot *start = world_fill(w, &fills[i % 3]);
        trial_run(&t, w, NULL);
        WORLD_CHECK(w, t.report.moves, "nothing to move");
        clump_compact_desc desc = {.size = sizeof desc, .max_moves = cases[i].max_moves};
        snapshot *end = run_steps(w, start, &desc, t.report.moves, &freed);
        WORLD_CHECK(w, same_slots(end, t.after), "not the same slots as after one full run");
        if (cases[i].max_moves == 1)
            WORLD_CHECK(w, freed == 1, "a step of one move frees %u blocks", freed);
        snapshot_drop(end);
        snapshot_drop(start);
        trial_done(&t);
    }
}

static void planner_time_steps(void **state) {
    trial t;
    uint32_t freed = 0;
    world *w = world_open(f, graph, 60, 4, seed);
    LABEL(w, "steps of 50 us");
    snapshot *start = world_fill(w, &fills[2]);
    snapshot *end[2];
    for (int i = 0; i < 2; i++) {
        /* How many moves there are in all, without running anything: from the blocks. */
        uint64_t moves = 0;
        for (uint32_t id = 1; id <= w->class_count; id++) {
            class_plan p = plan_of(start, id);
            if (p.slots) {
                uint32_t capacity = w->k[id].capacity;
                moves += plan_moves(&p, (p.objects + capacity - 1) / capacity);
            }
            free(p.credits);
        }
        clump_compact_desc desc = {.size = sizeof desc, .max_us = i ? 1e9 : 50};
        end[i] = run_steps(w, start, &desc, moves, &freed);
        if (!i) WORLD_CHECK(w, freed == 1, "the first step frees %u blocks", freed);
    }
    trial_run(&t, w, NULL);
    equal(&t, "moves", t.report.moves, 0);
    WORLD_CHECK(w, same_slots(end[0], end[1]), "not the same slots");
    trial_done(&t);
    snapshot_drop(end[0]);
    snapshot_drop(end[1]);
    snapshot_drop(start);
    world_close(w);
}

/* ---- Devices that tell wrong times ---- */

static enum { END_BEFORE_START, FAR_TOO_LATE, ALL_EQUAL, ALL_ZERO, NOTHING, WAYS } lie;

static cl_int CL_API_CALL lying(cl_event event, cl_profiling_info what, size_t bytes, void *value,
                                size_t *size) {
    cl_ulong start = 0;
    const cl_int code =
        clGetEventProfilingInfo(event, CL_PROFILING_COMMAND_START, sizeof start, &start, NULL);
    const int is_end = what == CL_PROFILING_COMMAND_END;
    if (code || lie == NOTHING) return code;
    if (lie == ALL_ZERO) start = 0;
    if (is_end && lie == FAR_TOO_LATE) start = UINT64_MAX;
    if (is_end && lie == END_BEFORE_START) start--;
    memcpy(value, &start, bytes);
    return CL_SUCCESS;
}

/* Steps are paced by the clock, so a long one does all that is left, and a report has no longer
 * times than the clock. */
static void wrong_times(void **state) {
    cl_fixture lied = *f;
    static const clump_cl_functions functions = {.size = sizeof functions,
                                                 .GetEventProfilingInfo = lying};
    clump_context_desc desc = {.size = sizeof desc,
                               .context = f->context,
                               .device = f->device,
                               .queue = f->queue,
                               .cl = &functions,
                               .personality = f->capabilities->personality};
    clump_error error;
    if (clump_context_create(&desc, &lied.clump, &error)) fail_msg("%s", error.message);
    for (lie = 0; lie < WAYS; lie++) {
        world *w = world_open(&lied, graph, 60, 4, seed); /* which has learnt nothing yet */
        clump_compact_report report = {.size = sizeof report};
        LABEL(w, "wrong times, %d", (int)lie);
        snapshot *before = world_fill(w, &fills[1]);
        CHECK_OK(&lied, clump_heap_compact(
                            w->heap,
                            &(clump_compact_desc){.size = sizeof(clump_compact_desc), .max_us = 50},
                            &report, NULL));
        WORLD_CHECK(w, report.moves && report.moves_left && report.total_us == 0,
                    "%llu moves, %llu left, %g us", (unsigned long long)report.moves,
                    (unsigned long long)report.moves_left, report.total_us);
        CHECK_OK(&lied, clump_heap_compact(w->heap,
                                           &(clump_compact_desc){.size = sizeof(clump_compact_desc),
                                                                 .max_us = 1e9},
                                           &report, NULL));
        WORLD_CHECK(w, report.moves && !report.moves_left && report.total_us == 0,
                    "%llu moves, %llu left, %g us", (unsigned long long)report.moves,
                    (unsigned long long)report.moves_left, report.total_us);
        snapshot_drop(before);
        world_close(w);
    }
    clump_context_destroy(lied.clump);
}

/* Times are 0 then, and steps are paced by the clock. */
static void queue_without_profiling(void **state) {
    cl_fixture plain = *f;
    cl_int code;
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wdeprecated-declarations" /* OpenCL 1.2 has no other */
    plain.queue = clCreateCommandQueue(f->context, f->device, 0, &code);
#pragma GCC diagnostic pop
    CHECK_CL(code);
    clump_context_desc desc = {.size = sizeof desc,
                               .context = plain.context,
                               .device = plain.device,
                               .queue = plain.queue,
                               .personality = f->capabilities->personality};
    clump_error error;
    if (clump_context_create(&desc, &plain.clump, &error)) fail_msg("%s", error.message);
    world *w = world_open(&plain, graph, 60, 4, seed);
    for (int i = 0; i < 3; i++) {
        const clump_compact_desc how[] = {{.size = sizeof(clump_compact_desc)},
                                          {.size = sizeof(clump_compact_desc), .max_us = 200},
                                          {.size = sizeof(clump_compact_desc)}};
        clump_compact_report report = {.size = sizeof report};
        graph_rules rules = {.passes = 1};
        graph_counts counts;
        LABEL(w, "queue without profiling, %d", i);
        snapshot *before = world_fill(w, &fills[1]);
        do {
            CHECK_OK(&plain, bench_merge_compact(w->heap, &how[i], i == 2 ? &merging : NULL,
                                                 &report, NULL));
            WORLD_CHECK(w, report.moves && report.launches && report.total_us == 0,
                        "%llu moves, %u launches, %g us", (unsigned long long)report.moves,
                        report.launches, report.total_us);
        } while (report.moves_left);
        CHECK_HEAP(&plain, w->heap);
        snapshot *after = snapshot_take(w);
        same_graph(before, after, &rules, &counts);
        WORLD_CHECK(w, counts.moved, "nothing has moved");
        snapshot_drop(before);
        snapshot_drop(after);
    }
    world_close(w);
    clump_context_destroy(plain.clump);
    clReleaseCommandQueue(plain.queue);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(planner_steps),
        cmocka_unit_test(planner_time_steps),
        cmocka_unit_test(queue_without_profiling),
        cmocka_unit_test(wrong_times),
    };
    const trial_group groups[] = {
        TRIAL_GROUP("budgets", tests, TRIAL_AS_IS),
    };
    return TRIAL_MAIN(groups);
}
