/* The benchmark compact-passes: candidates and fragmentation after every pass, and how often
 * objects move, for merging with each factor and for the planner (ISMM 2019, Fig. 8 and 10).
 *
 * `csv` has a line for each pass, 0 being before: candidates and F in percent of each strategy, nan
 * after its last pass. Metrics of each strategy, such as n5_...:
 *
 *     passes, moves, per_object   per_object: moves by living objects
 *     repeated                    moves of objects that had moved before, percent
 *     most                        how often an object moved at most
 *     never, first ... later      shares of the living objects: those that never moved, and the
 *                                 k-th moves
 *
 * The check: every object after every pass, that one call without limit does the same, and that the
 * moves that were seen are those that were reported.
 *
 * Read first: compact_strategies.h.
 */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench/harness/bench.h"
#include "bench/harness/registry.h"
#include "bench/harness/series.h"
#include "compact_strategies.h"

#define PASSES_MAX 1000u
#define MOVES_MAX 64u /* of one object; more are counted as so many */
#define LAYERS 7      /* never, first, ... */

/* The course of one strategy. Entry 0 is the heap before. */
typedef struct course {
    uint32_t passes;
    double candidates[PASSES_MAX + 1], fragmentation[PASSES_MAX + 1]; /* NAN after the last */
    uint64_t moved[MOVES_MAX + 1]; /* objects that moved so often */
    uint64_t objects, moves;
} course;

typedef struct passes {
    bench_env *env;
    const bench_values *values;
    bench_results *results;
    bench_error *error;
    compact_heap *heap;
    double dead;
    course *courses;
} passes;

static int look(passes *p, unsigned strategy, course *c, uint32_t pass) {
    compact_fill fill;
    if (compact_heap_fill(p->heap, &fill, p->error)) return -1;
    c->objects = fill.objects;
    c->fragmentation[pass] = 100 * compact_fill_fragmentation(&fill);
    if (strategy != COMPACT_PLANNER)
        c->candidates[pass] = compact_fill_candidates(&fill, compact_factors[strategy]);
    compact_fill_release(&fill);
    return 0;
}

/* One pass after the other, until there is nothing left to do. */
static int follow(passes *p, unsigned strategy, course *c) {
    bench_merge merge;
    const bench_merge *how = compact_strategy(strategy, &merge);
    clump_compact_report report = {.size = sizeof report};
    merge.max_passes = 1;
    for (uint32_t pass = 0; pass <= PASSES_MAX; pass++)
        c->candidates[pass] = c->fragmentation[pass] = NAN;
    if (compact_heap_build(p->heap, p->dead, p->error) || look(p, strategy, c, 0)) return -1;
    for (;;) {
        if (compact_and_verify(p->heap, how, &report, p->error)) return -1;
        if (report.passes == 0) break;
        if (++c->passes > PASSES_MAX)
            return bench_error_set(p->error, "%s is not done after %u passes",
                                   compact_strategy_names[strategy], PASSES_MAX);
        c->moves += report.moves;
        if (look(p, strategy, c, c->passes) ||
            compact_heap_count_moves(p->heap, NULL, 0, p->error)) {
            return -1;
        }
    }
    return compact_heap_count_moves(p->heap, c->moved, MOVES_MAX + 1, p->error);
}

static double relocations(const course *c) {
    double sum = 0;
    for (unsigned k = 1; k <= MOVES_MAX; k++) sum += (double)k * (double)c->moved[k];
    return sum;
}

/* What was seen pass by pass against the report, and against one run without interruption. */
static int compare(passes *p, unsigned strategy, const course *c) {
    bench_merge merge;
    const bench_merge *how = compact_strategy(strategy, &merge);
    clump_compact_report report = {.size = sizeof report};
    double after;
    if (compact_heap_build(p->heap, p->dead, p->error) ||
        compact_and_verify(p->heap, how, &report, p->error) ||
        compact_find_fragmentation(p->heap, &after, p->error)) {
        return -1;
    }
    bench_check(p->results,
                report.passes == c->passes && report.moves == c->moves &&
                    fabs(100 * after - c->fragmentation[c->passes]) <= 1e-9,
                "%s: %u passes, %" PRIu64 " moves and F = %f at one go, %u, %" PRIu64
                " and %f pass by pass",
                compact_strategy_names[strategy], report.passes, report.moves, 100 * after,
                c->passes, c->moves, c->fragmentation[c->passes]);
    bench_check(p->results, fabs(relocations(c) - (double)c->moves) < 0.5,
                "%s: %.0f objects were seen to move, %" PRIu64 " reported",
                compact_strategy_names[strategy], relocations(c), c->moves);
    return 0;
}

/* ---- Results --------------------------------------------------------------------------------- */

/* Layers of a bar, per living object: those that never move, and those that move at least k times
 * for k = 1 and so on; the last layer has all later moves. Their sum is 1 and the moves of objects
 * that had moved before. */
static void find_layers(const course *c, double layers[LAYERS]) {
    double objects = c->objects ? (double)c->objects : 1;
    memset(layers, 0, LAYERS * sizeof *layers);
    layers[0] = (double)c->moved[0] / objects;
    for (unsigned moves = 1; moves <= MOVES_MAX; moves++) {
        for (unsigned k = 1; k <= moves; k++)
            layers[k < LAYERS ? k : LAYERS - 1] += (double)c->moved[moves] / objects;
    }
}

static void sample(passes *p, unsigned strategy, const char *what, const char *unit, double value) {
    char name[64];
    snprintf(name, sizeof name, "%s_%s", compact_strategy_names[strategy], what);
    bench_sample(p->results, name, unit, value);
}

static void report(passes *p, unsigned strategy, const course *c) {
    static const char *const names[LAYERS] = {"never",  "first", "second", "third",
                                              "fourth", "fifth", "later"};
    double layers[LAYERS], moves = c->moves ? (double)c->moves : 1;
    double first = (double)(c->objects - c->moved[0]);
    unsigned most = MOVES_MAX;
    while (most > 0 && c->moved[most] == 0) most--;
    sample(p, strategy, "passes", "passes", c->passes);
    sample(p, strategy, "moves", "objects", (double)c->moves);
    sample(p, strategy, "per_object", "moves",
           (double)c->moves / (double)(c->objects ? c->objects : 1));
    sample(p, strategy, "repeated", "%", 100 * ((double)c->moves - first) / moves);
    sample(p, strategy, "most", "moves", most);
    sample(p, strategy, "fragmentation", "%", c->fragmentation[c->passes]);
    find_layers(c, layers);
    for (int k = 0; k < LAYERS; k++) sample(p, strategy, names[k], "share", layers[k]);
}

static int write_csv(const passes *p, const char *path) {
    bench_series series = {.columns = 0};
    uint32_t last = 0;
    int result = 0;
    bench_series_add_column(&series, "pass");
    for (unsigned i = 0; i < COMPACT_STRATEGIES; i++) {
        bench_series_add_column(&series, "%s_candidates", compact_strategy_names[i]);
        bench_series_add_column(&series, "%s_fragmentation", compact_strategy_names[i]);
        last = p->courses[i].passes > last ? p->courses[i].passes : last;
    }
    for (uint32_t pass = 0; result == 0 && pass <= last; pass++) {
        double *row = bench_series_add_row(&series);
        if (!row) {
            result = bench_error_set(p->error, "host memory ran out");
            break;
        }
        row[0] = pass;
        for (unsigned i = 0; i < COMPACT_STRATEGIES; i++) {
            row[1 + 2 * i] = p->courses[i].candidates[pass];
            row[2 + 2 * i] = p->courses[i].fragmentation[pass];
        }
    }
    if (result == 0) result = bench_series_write_csv(&series, path, p->error);
    bench_series_release(&series);
    return result;
}

/* ---- The benchmark --------------------------------------------------------------------------- */

static int begin(void *self, bench_env *env, const bench_values *values, bench_results *results) {
    passes *p = self;
    *p = (passes){.env = env,
                  .values = values,
                  .results = results,
                  .error = &results->error,
                  .dead = bench_float(values, "dead"),
                  .courses = calloc(COMPACT_STRATEGIES, sizeof *p->courses)};
    compact_heap_desc desc = {.env = env,
                              .objects = bench_u32(values, "objects"),
                              .seed = bench_u32(values, "seed"),
                              .block_rows = COMPACT_BLOCK_ROWS,
                              .counts_moves = 1};
    return p->courses ? compact_heap_create(&desc, &p->heap, p->error)
                      : bench_error_set(p->error, "host memory ran out");
}

static int run_round(void *self, uint32_t number, int is_measured) {
    passes *p = self;
    bench_progress progress;
    int result = 0;
    (void)number;
    (void)is_measured;
    bench_progress_begin(&progress, p->env, "passes", COMPACT_STRATEGIES);
    for (unsigned i = 0; result == 0 && i < COMPACT_STRATEGIES; i++) {
        result = follow(p, i, &p->courses[i]) || compare(p, i, &p->courses[i]) ? -1 : 0;
        if (result == 0) report(p, i, &p->courses[i]);
        bench_progress_update(&progress, i + 1);
    }
    bench_progress_end(&progress);
    return result;
}

static int finish(void *self) {
    passes *p = self;
    const char *path = bench_text(p->values, "csv");
    bench_check(p->results, 1,
                "every object after every pass; passes, moves and F are those of one call");
    return *path ? write_csv(p, path) : 0;
}

static void end(void *self) {
    passes *p = self;
    compact_heap_destroy(p->heap);
    free(p->courses);
}

static const bench_param params[] = {
    {"objects", BENCH_INT, "1048576", "objects of each of the two classes", 64, 1u << 28, NULL},
    {"dead", BENCH_FLOAT, "60", "percent of one class that die at random", 0, 100, NULL},
    {"seed", BENCH_INT, "42", "decides who points to whom and who dies", 0, UINT32_MAX, NULL},
    {"csv", BENCH_STRING, "", "file for candidates and F over the passes", 0, 0, NULL},
    {NULL, BENCH_INT, NULL, NULL, 0, 0, NULL}};

const bench_descriptor bench_compact_passes = {
    .name = "compact-passes",
    .sentence = "Compaction pass by pass, and how often objects move (ISMM 2019, Fig. 8 and 10)",
    .params = params,
    .repeat = 1,
    .bytes = sizeof(passes),
    .is_single = 1,
    .has_progress = 1,
    .begin = begin,
    .round = run_round,
    .finish = finish,
    .end = end};
