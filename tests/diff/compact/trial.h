/* One compaction held against what was there: what the tests diff_compact_*.c share, with the
 * worlds that they compact.
 *
 * trial_run() compacts the heap of a world as it is and checks what must be true of every
 * compaction: the same graph, the heap's own check, enumeration, statistics, sums and times of the
 * report. The snapshots of before and after stay for the test, until trial_done().
 *
 * CLUMP_SEED (a number) changes the heaps.
 * Read first: world.h, graph.h, worlds.h, include/clump/compact.h.
 */
#ifndef TRIAL_H
#define TRIAL_H

#include "bench/papers/merge/merge.h"
#include "graph.h"
#include "worlds.h"

/* ---- Device and worlds ----------------------------------------------------------------------- */

extern cl_fixture trial_fixture;
extern uint64_t seed; /* of random heaps */

/* CONSTRUCTOR of the fixture, as cl_fixture_open(). Worlds are made when they are entered. */
int trial_open(const cl_fixture_desc *desc);

/* DESTRUCTOR. What a test that failed left behind stays. */
void trial_close(int failed);

/* Tests that run one after the other with a device opened for them. */
typedef struct trial_group {
    const char *name;
    const struct CMUnitTest *tests;
    size_t count;
    const cl_fixture_desc *how; /* NULL: as is best */
    void (*close)(int failed);  /* NULL: trial_close() */
} trial_group;
#define TRIAL_GROUP(text, list, ...)                                                               \
    { .name = (text), .tests = (list), .count = sizeof(list) / sizeof *(list), __VA_ARGS__ }
#define TRIAL_AS_IS .how = NULL
#define TRIAL_OUT_OF_ORDER                                                                         \
    .how = &(const cl_fixture_desc) {                                                              \
        .out_of_order = 1                                                                          \
    }
#define TRIAL_NARROW_WORDS                                                                         \
    .how = &(const cl_fixture_desc) {                                                              \
        .disable = CLUMP_FEATURE_INT64_ATOMICS                                                     \
    }

/* What main() is to return. Without a device for the first group none is run; a later one is left
 * out if there is none of its kind, or if the first has none of the features that it disables. */
int trial_main(const trial_group *groups, size_t count);
#define TRIAL_MAIN(groups) trial_main((groups), sizeof(groups) / sizeof *(groups))

enum { NARROW, MIDDLE, WIDE, HUGE_OBJECTS, MANY_BLOCKS, ONE_BLOCK, MANY_CLASSES, WORLDS };
extern const world_kind worlds[WORLDS];
extern const char graph[]; /* schema of most of them */

/* A world of the table; its random numbers start anew. */
world *enter(int which);

/* Ways to fill them. */
enum { FILLS = 8 };
extern const fill fills[FILLS], half;

/* ---- One compaction -------------------------------------------------------------------------- */

typedef struct trial {
    world *w;
    clump_compact_desc desc;
    const bench_merge *merge; /* NULL: the planner */
    clump_compact_report report;
    graph_counts counts;
    uint8_t part[CLUMP_CLASSES_MAX + 1];
    snapshot *before, *after;
} trial;

extern const bench_merge merging; /* the least that asks for it */

/* Compact what is in the heap and hold the result against what was there. desc may be NULL. */
void trial_run(trial *t, world *w, const clump_compact_desc *desc);
void trial_merge(trial *t, world *w, const clump_compact_desc *desc, const bench_merge *merge);

/* DESTRUCTOR. */
void trial_done(trial *t);

/* The second time there is nothing to do. */
void trial_again(world *w, const clump_compact_desc *desc, const bench_merge *merge);

/* Counts of references of a run that looks at each once. */
void check_references(const trial *t);

/* Two numbers of a trial must agree; nearly, for those that are not whole. */
void equal(const trial *t, const char *what, uint64_t found, uint64_t expected);
void near(const trial *t, const char *what, double found, double expected);

/* ---- What a planner should do ---------------------------------------------------------------- */

typedef struct class_plan {
    uint32_t blocks, open; /* allocated; of which not full */
    uint64_t objects, slots;
    uint32_t *credits; /* of the blocks, the fullest first */
} class_plan;

/* Of a class; the caller frees the credits. */
class_plan plan_of(const snapshot *s, uint32_t id);

/* Moves that leave the `keep` fullest blocks. */
uint64_t plan_moves(const class_plan *p, uint64_t keep);

/* Blocks at most n / (n + 1) full. */
uint32_t plan_candidates(const class_plan *p, uint32_t capacity, uint32_t n);

#endif
