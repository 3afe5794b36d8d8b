/* Runs of neighbouring slots and of blocks (cl/core/runs.clh): all interleavings of two and three
 * threads that take them, give them back, make them smaller, and free the same one; beside objects
 * of another class.
 *
 * Beside what the executor checks of blocks, credits and bits: a run's slots have no other owner,
 * each run is freed once, and marks say where each begins and ends. Of requests for which there is
 * room for one, one is served: not more is promised while others collect blocks (runs.clh). What
 * requests leave for others is true: where a note says that there is no room, there is none. The
 * short ones of these with weak memory, too.
 *
 *   protocol_runs        what CTest runs
 *   protocol_runs quick  less: protocol_planted.c runs this over faults
 */
#include "tests/protocol/explore.h"

#define RUNS_SPEC(words, first, count, ...)                                                        \
    {                                                                                              \
        .name = words, .first_block = first, .blocks = count, .block_granules = 1, .per_row = 64,  \
        .class_count = 2, .classes = {{1, 1}, {1, 1}}, .runs = 1, __VA_ARGS__                      \
    }

typedef struct runs_case {
    tiny_spec spec;
    uint threads;
    program programs[3];
    uint least; /* requests for runs that are served, at least */
    uint is_quick;
} runs_case;

#define RUN(n)                                                                                     \
    { PROGRAM_RUN, 0, n }
#define FREE                                                                                       \
    { PROGRAM_RUN_FREE, 0, 0 }
#define TRIM(n)                                                                                    \
    { PROGRAM_RUN_TRIM, 0, n }
#define FREE_OLD                                                                                   \
    { PROGRAM_RUN_FREE_OLD, 0, 0 }
#define OBJECT                                                                                     \
    { PROGRAM_NEW, 1, 1 }
#define NO_OLD .old_run = 0

static const runs_case cases[] = {
    {RUNS_SPEC("two blocks", 1, 2, NO_OLD), 2, {{1, {RUN(128)}}, {1, {RUN(128)}}}, 1, 1},
    {RUNS_SPEC("two blocks, in two hint words", 31, 2, NO_OLD),
     2,
     {{1, {RUN(65)}}, {1, {RUN(128)}}},
     1,
     1},
    {RUNS_SPEC("three blocks", 1, 3, NO_OLD), 2, {{1, {RUN(70)}}, {1, {RUN(128)}}}, 1, 0},
    {RUNS_SPEC("two blocks, row runs", 1, 2, NO_OLD), 2, {{1, {RUN(40)}}, {1, {RUN(30)}}}, 2, 1},
    {RUNS_SPEC("a block, row runs", 1, 1, NO_OLD), 2, {{1, {RUN(40)}}, {1, {RUN(30)}}}, 1, 1},
    {RUNS_SPEC("a block, small runs", 1, 1, NO_OLD), 2, {{1, {RUN(30)}}, {1, {RUN(30)}}}, 2, 1},
    {RUNS_SPEC("two blocks, an object", 1, 2, NO_OLD), 2, {{1, {RUN(128)}}, {1, {OBJECT}}}, 0, 1},
    {RUNS_SPEC("two blocks, run and tail", 1, 2, NO_OLD),
     2,
     {{1, {RUN(70)}}, {1, {RUN(20)}}},
     1,
     0},
    {RUNS_SPEC("an old run, freed twice", 1, 2, .old_run = 70),
     2,
     {{1, {FREE_OLD}}, {1, {FREE_OLD}}},
     0,
     1},
    {RUNS_SPEC("an old row run, freed twice", 1, 1, .old_run = 20),
     2,
     {{1, {FREE_OLD}}, {1, {FREE_OLD}}},
     0,
     1},
    {RUNS_SPEC("an old run, its room asked for", 1, 2, .old_run = 128),
     2,
     {{1, {FREE_OLD}}, {1, {RUN(66)}}},
     0,
     1},
    {RUNS_SPEC("an old run, its room for an object", 1, 2, .old_run = 70),
     2,
     {{1, {FREE_OLD}}, {1, {OBJECT}}},
     0,
     1},
    {RUNS_SPEC("take and give back", 1, 2, NO_OLD),
     2,
     {{2, {RUN(100), FREE}}, {1, {RUN(20)}}},
     1,
     0},
    {RUNS_SPEC("trim, the rest asked for", 1, 2, NO_OLD),
     2,
     {{2, {RUN(100), TRIM(40)}}, {1, {RUN(64)}}},
     1,
     1},
    {RUNS_SPEC("trim in a row", 1, 1, NO_OLD), 2, {{2, {RUN(50), TRIM(5)}}, {1, {RUN(20)}}}, 1, 1},
    {RUNS_SPEC("trim and free, an old one freed", 1, 3, .old_run = 64),
     2,
     {{3, {RUN(100), TRIM(64), FREE}}, {1, {FREE_OLD}}},
     0,
     0},
    {RUNS_SPEC("three requests, a block", 1, 1, NO_OLD),
     3,
     {{1, {RUN(60)}}, {1, {RUN(60)}}, {1, {OBJECT}}},
     0,
     0},
    {RUNS_SPEC("three requests, three blocks", 1, 3, NO_OLD),
     3,
     {{1, {RUN(128)}}, {1, {RUN(100)}}, {1, {RUN(40)}}},
     1,
     0},
    {RUNS_SPEC("a block, runs of two lengths", 1, 1, NO_OLD),
     2,
     {{1, {RUN(20)}}, {1, {RUN(30)}}},
     2,
     1},
    {RUNS_SPEC("a block, a run or objects", 1, 1, NO_OLD),
     2,
     {{1, {RUN(30)}}, {1, {OBJECT}}},
     0,
     1},
    {RUNS_SPEC("an object that goes", 1, 1, .filled = {{0, 1, 1}}, .filled_count = 1),
     2,
     {{2, {{PROGRAM_FREE_OLD, 0, 0}, RUN(64)}}, {1, {OBJECT}}},
     0,
     1},
    {RUNS_SPEC("a gap that is too short", 1, 1, .old_run = 20),
     2,
     {{1, {RUN(10)}}, {2, {FREE_OLD, RUN(30)}}},
     2,
     1},
    {RUNS_SPEC("gaps that are too short", 1, 1, .old_run = 20),
     2,
     {{1, {RUN(10)}}, {2, {FREE_OLD, RUN(40)}}},
     1,
     1},
    {RUNS_SPEC("a gap where a run is not had", 1, 1, .old_run = 20),
     2,
     {{1, {RUN(20)}}, {3, {RUN(10), FREE_OLD, RUN(30)}}},
     2,
     1},
};

/* Is it served as it should be? At the end of a schedule. */
static uint least_served;
static int served_enough(void) {
    return world->runs_got >= least_served;
}

int main(int argc, char **argv) {
    int quick = (argc > 1 && strcmp(argv[1], "quick") == 0) || getenv("CLUMP_SHORT");
    if (!routine_supported()) {
        printf("not with sanitizers that keep books of the stack\n");
        return 77;
    }
    explore_quiet = 1;
    explore_since = explore_seconds();
    exec_at_end = served_enough;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        if (quick && !cases[i].is_quick) continue;
        const program *chosen[3] = {&cases[i].programs[0], &cases[i].programs[1],
                                    &cases[i].programs[2]};
        least_served = cases[i].least;
        for (exec.weak = 0; exec.weak <= cases[i].is_quick; exec.weak++) {
            /* Three only from the same place: there they are in each other's way, and have five
             * million states. */
            for (hosted_rotate = 0; hosted_rotate < (cases[i].threads > 2 ? 1u : 2u);
                 hosted_rotate++)
                if (!explore(&cases[i].spec, chosen, cases[i].threads)) return 1;
            explore_summary(exec.weak ? "the same, weak" : cases[i].spec.name);
        }
    }
    return 0;
}
