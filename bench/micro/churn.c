/* The benchmark alloc-churn: how fragmentation develops while objects come and go (Springer's
 * thesis Fig. 5.10D and 5.11).
 *
 * pattern=random: each step a share `turnover` of the objects dies and every empty entry gets a new
 * one, of a class drawn at random. pattern=waves: over half a `period` objects die until a share
 * `low` is left, over the other half their entries are filled again, slice by slice, as fish and
 * sharks come in waves. Blocks of dead objects are free only when all of them are dead: that is
 * what F shows.
 *
 *     step_us                one step
 *     fragmentation          F, at each sample; `fragmentation_last` at the end
 *     memory_share           bytes of blocks in use, of all blocks, against the share of the room
 *                            that
 *     objects_share          the objects would need in full blocks
 *     nulls                  requests that got null, in all
 *
 * csv=FILE writes the course, plot=FILE draws it. The check, at each sample: population_verify().
 *
 * Read first: bench.h, population.h, series.h.
 */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

#include "bench/harness/bench.h"
#include "bench/harness/plot.h"
#include "bench/harness/registry.h"
#include "bench/harness/series.h"
#include "population.h"

typedef struct churn {
    population p;
    bench_series series;
    const bench_values *values;
    double turnover, low;
    uint32_t steps, every, period;
    int is_waves;
    uint32_t seed;
    uint64_t room, nulls;
    population_count now;
} churn;

/* What happens in a step; both halves of a wave take period / 2 steps. */
static population_move get_move(const churn *c, uint32_t step) {
    population_move move = {.end = c->p.entries, .seed = c->seed + step};
    if (!c->is_waves) {
        move.die = c->turnover;
        move.is_born = 1;
        return move;
    }
    uint32_t half = c->period / 2, phase = step % (2 * half);
    if (phase < half) {
        move.die = 1 - pow(c->low, 1.0 / half);
    } else {
        uint64_t slice = phase - half;
        move.first = (uint32_t)(c->p.entries * slice / half);
        move.end = (uint32_t)(c->p.entries * (slice + 1) / half);
        move.is_born = 1;
    }
    return move;
}

static int sample(churn *c, uint32_t step, double us) {
    bench_results *results = c->p.rig.results;
    uint64_t nulls = 0;
    if (population_fetch_nulls(&c->p, &nulls) ||
        population_verify(&c->p, POPULATION_FETCHED, &c->now)) {
        return -1;
    }
    c->nulls += nulls;
    uint32_t blocks = c->p.layout.block_count - c->now.free_blocks;
    double *row = bench_series_add_row(&c->series);
    if (!row) return bench_error_set(c->p.rig.error, "out of memory");
    row[0] = step;
    row[1] = (double)c->now.all;
    row[2] = blocks;
    row[3] = (double)c->now.all / (double)c->room;
    row[4] = (double)blocks / c->p.layout.block_count;
    row[5] = c->now.fragmentation;
    row[6] = (double)c->nulls;
    row[7] = us;
    bench_sample(results, "fragmentation", "share", row[5]);
    bench_sample(results, "objects_share", "share", row[3]);
    bench_sample(results, "memory_share", "share", row[4]);
    return 0;
}

static int fill_heap(churn *c, double fill) {
    static const char *const names[] = {"step",         "objects",       "blocks", "objects_share",
                                        "memory_share", "fragmentation", "nulls",  "step_us"};
    c->room = population_room(&c->p);
    uint64_t wanted = (uint64_t)((double)c->room * fill);
    double spare = c->is_waves ? 0 : c->turnover; /* entries that are empty at any time */
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        bench_series_add_column(&c->series, "%s", names[i]);
    }
    if (population_create_table(&c->p, (uint64_t)((double)wanted * (1 + spare)))) return -1;
    population_move move = {.end = (uint32_t)wanted, .seed = c->seed, .is_born = 1};
    double us;
    return population_step(&c->p, &move, &us) || sample(c, 0, us) ? -1 : 0;
}

/* A plot that cannot be drawn is a note. */
static void draw(const churn *c, const char *path) {
    static const struct {
        const char *column, *label, *color;
        bench_plot_style style;
    } curves[] = {{"memory_share", "blocks in use", "#a6cee3", BENCH_PLOT_AREA},
                  {"objects_share", "objects in full blocks", "#1f78b4", BENCH_PLOT_AREA},
                  {"fragmentation", "F", "#e31a1c", BENCH_PLOT_LINE}};
    double *x = bench_series_copy_column(&c->series, "step", c->series.rows);
    double *y[3] = {NULL, NULL, NULL};
    bench_plot plot = {.title = "alloc-churn: share of the heap",
                       .x_label = "step",
                       .y_label = "share",
                       .x = x,
                       .points = c->series.rows,
                       .series_count = 3};
    bench_error error;
    int is_complete = x != NULL;
    for (size_t i = 0; i < 3; i++) {
        y[i] = bench_series_copy_column(&c->series, curves[i].column, c->series.rows);
        is_complete = is_complete && y[i];
        plot.series[i] =
            (bench_plot_series){curves[i].label, curves[i].color, curves[i].style, y[i]};
    }
    bench_error_set(&error, "out of memory");
    if (!is_complete || bench_plot_write(&plot, path, &error)) {
        bench_note(c->p.rig.results, "no plot: %.400s", error.text);
    }
    free(x);
    for (size_t i = 0; i < 3; i++) free(y[i]);
}

static int finish(void *self) {
    churn *c = self;
    const bench_values *values = c->values;
    bench_results *results = c->p.rig.results;
    const char *csv = bench_text(values, "csv"), *plot = bench_text(values, "plot");
    bench_sample(results, "fragmentation_last", "share", c->now.fragmentation);
    bench_sample(results, "nulls", "requests", (double)c->nulls);
    if (*csv && bench_series_write_csv(&c->series, csv, c->p.rig.error)) return -1;
    if (*plot) draw(c, plot);
    uint64_t objects = c->now.all;
    if (population_clear(&c->p)) return -1;
    bench_check(results, 1, "%" PRIu64 " objects after %u steps: each is its entry's own", objects,
                c->steps);
    return 0;
}

static int begin(void *self, bench_env *env, const bench_values *values, bench_results *results) {
    churn *c = self;
    *c = (churn){.values = values,
                 .turnover = bench_float(values, "turnover"),
                 .low = bench_float(values, "low"),
                 .steps = (uint32_t)bench_int(values, "steps"),
                 .every = (uint32_t)bench_int(values, "every"),
                 .period = (uint32_t)bench_int(values, "period"),
                 .is_waves = bench_is(values, "pattern", "waves"),
                 .seed = env->seed};
    return population_create(&c->p, env, values, bench_tuning_of(values), results) ||
                   fill_heap(c, bench_float(values, "fill"))
               ? -1
               : 0;
}

static int run_round(void *self, uint32_t number, int is_measured) {
    churn *c = self;
    uint32_t step = number + 1;
    population_move move = get_move(c, step);
    double us;
    (void)is_measured;
    if (population_step(&c->p, &move, &us)) return -1;
    bench_sample(c->p.rig.results, "step_us", "us", us);
    return step % c->every == 0 || step == c->steps ? sample(c, step, us) : 0;
}

static void end(void *self) {
    churn *c = self;
    population_release(&c->p);
    bench_series_release(&c->series);
}

static const bench_param params[] = {
    POPULATION_PARAMS("16"),
    {"fill", BENCH_FLOAT, "0.8", "share of what the heap has room for, at most", 0.001, 1, NULL},
    {"pattern", BENCH_ENUM, "random", "who dies when", 0, 0, "random|waves"},
    {"turnover", BENCH_FLOAT, "0.1", "random: share of the objects that dies in a step", 0.001, 1,
     NULL},
    {"period", BENCH_INT, "50", "waves: steps from one peak to the next", 2, 1e6, NULL},
    {"low", BENCH_FLOAT, "0.2", "waves: share of the objects that is left at low tide", 0.001, 1,
     NULL},
    {"steps", BENCH_INT, "200", "steps", 1, 1e6, NULL},
    {"every", BENCH_INT, "10", "steps between two samples", 1, 1e6, NULL},
    {"csv", BENCH_STRING, "", "file for the course, a line for each sample", 0, 0, NULL},
    {"plot", BENCH_STRING, "", "SVG or PNG file for the course", 0, 0, NULL},
    BENCH_TUNING_PARAMS,
    {NULL, BENCH_INT, NULL, NULL, 0, 0, NULL}};

const bench_descriptor bench_alloc_churn = {
    .name = "alloc-churn",
    .sentence = "Fragmentation over time while objects of several sizes come and go",
    .params = params,
    .repeat = 1,
    .bytes = sizeof(churn),
    .rounds_key = "steps",
    .begin = begin,
    .round = run_round,
    .finish = finish,
    .end = end};
