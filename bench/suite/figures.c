/* The figures of the paper on compaction, measured on this heap: ISMM 2019, Fig. 8, 9, 10 and the
 * synthetic row of Table 1, with the planner beside CompactGpu's merging.
 *
 *     fragmentation.csv, .svg    F after compaction over the share of dead objects (Fig. 9)
 *     passes.csv                 candidates and F after every pass (Fig. 8)
 *     passes-candidates.svg, passes-fragmentation.svg
 *     relocations.csv, .svg      how often objects move (Fig. 10)
 *     times.csv                  times, passes, traffic (Table 1)
 *     context.csv                where and with what all this was measured
 *
 * Blocks have one row, 64 slots, as in the paper. All objects are verified after every compaction.
 *
 * Read first: compact_heap.h, plot.h.
 */
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "bench/harness/bench.h"
#include "bench/harness/plot.h"
#include "bench/micro/compact_heap.h"
#include "clump/experimental.h"

#define BLOCK_ROWS 1u
#define FACTORS 7
#define STRATEGIES (FACTORS + 1) /* merge with each factor, then the planner */
#define PLANNER FACTORS
#define PASSES_MAX 1000u
#define MOVES_MAX 64u   /* of one object; more are counted as so many */
#define LAYERS 7        /* of a bar of relocations: none, first, ... */
#define FIXED_DEAD 60.0 /* percent, in all figures but 9 */
#define TABLE_FACTOR 3u

static const uint32_t factors[FACTORS] = {1, 2, 3, 5, 10, 20, 40};
static const char *const names[STRATEGIES] = {"n = 1",  "n = 2",  "n = 3",  "n = 5",
                                              "n = 10", "n = 20", "n = 40", "planner"};
static const char *const colors[STRATEGIES] = {"#d62728", "#ff7f0e", "#bcbd22", "#2ca02c",
                                               "#17becf", "#1f77b4", "#9467bd", "#000000"};

typedef struct figures_state {
    bench_env *env;
    const char *folder;
    bench_error *error;
    uint32_t objects, table_objects, seed, step;
} figures_state;

/* `merge` is where the description of the merge strategy goes, if it is that. */
static clump_compact_desc desc_of(unsigned strategy, clump_merge_desc *merge) {
    *merge = (clump_merge_desc){.factor = strategy == PLANNER ? 0 : factors[strategy]};
    return (clump_compact_desc){.merge = strategy == PLANNER ? NULL : merge};
}

/* ---- Files ----------------------------------------------------------------------------------- */

static void join_path(const figures_state *s, const char *name, char *path, size_t bytes) {
    snprintf(path, bytes, "%s/%s", s->folder, name);
}

static FILE *open_table(const figures_state *s, const char *name) {
    char path[BENCH_TEXT_BYTES];
    join_path(s, name, path, sizeof path);
    FILE *file = fopen(path, "w");
    if (!file) bench_error_set(s->error, "cannot write %s", path);
    return file;
}

static int close_table(const figures_state *s, FILE *file, const char *name) {
    int bad = ferror(file);
    bad |= fclose(file);
    if (bad) return bench_error_set(s->error, "cannot write all of %s/%s", s->folder, name);
    printf("  wrote %s/%s\n", s->folder, name);
    fflush(stdout);
    return 0;
}

/* A plot that is not there is no reason to give up the numbers. */
static void draw(const figures_state *s, const bench_plot *plot, const char *name) {
    char path[BENCH_TEXT_BYTES];
    bench_error error;
    join_path(s, name, path, sizeof path);
    if (bench_plot_write(plot, path, &error)) {
        printf("  %s\n", error.text);
    } else {
        printf("  wrote %s\n", path);
    }
    fflush(stdout);
}

/* ---- One compaction -------------------------------------------------------------------------- */

static int create_heap(const figures_state *s, uint32_t objects, int counts_moves,
                       compact_heap **heap) {
    compact_heap_desc desc = {.env = s->env,
                              .objects = objects,
                              .seed = s->seed,
                              .block_rows = BLOCK_ROWS,
                              .counts_moves = counts_moves};
    return compact_heap_create(&desc, heap, s->error);
}

/* Compact and verify. What is wrong is an error here. */
static int compact(const figures_state *s, compact_heap *heap, const clump_compact_desc *desc,
                   clump_compact_report *report, double *wall_us) {
    return compact_heap_compact(heap, desc, report, wall_us, s->error) ||
                   compact_heap_verify(heap, desc, s->error)
               ? -1
               : 0;
}

static int find_fragmentation(const figures_state *s, compact_heap *heap, double *fragmentation) {
    compact_fill fill;
    if (compact_heap_fill(heap, &fill, s->error)) return -1;
    *fragmentation = compact_fill_fragmentation(&fill);
    compact_fill_release(&fill);
    return 0;
}

/* ---- Fragmentation afterwards (Fig. 9) ------------------------------------------------------- */

/* Columns of equal length: dead and initial F, F after each strategy, the worst case of each
 * factor; all in percent. */
#define DEAD 0
#define INITIAL 1
#define AFTER 2
#define WORST (AFTER + STRATEGIES)
#define QUALITY_COLUMNS (WORST + FACTORS)

static int measure_quality(const figures_state *s, compact_heap *heap, double *columns, size_t rows,
                           size_t row) {
    double dead = fmin(100, (double)(row * s->step));
    columns[DEAD * rows + row] = dead;
    for (unsigned strategy = 0; strategy < STRATEGIES; strategy++) {
        clump_merge_desc merge;
        clump_compact_desc desc = desc_of(strategy, &merge);
        clump_compact_report report;
        double before, after;
        if (compact_heap_build(heap, dead, s->error) || find_fragmentation(s, heap, &before) ||
            compact(s, heap, &desc, &report, NULL) || find_fragmentation(s, heap, &after)) {
            return -1;
        }
        columns[INITIAL * rows + row] = 100 * before;
        columns[(AFTER + strategy) * rows + row] = 100 * after;
        if (strategy != PLANNER) {
            columns[(WORST + strategy) * rows + row] = 100.0 / (factors[strategy] + 1);
        }
    }
    return 0;
}

static int write_quality(const figures_state *s, const double *columns, size_t rows) {
    static const char name[] = "fragmentation.csv";
    FILE *file = open_table(s, name);
    if (!file) return -1;
    fprintf(file, "dead,initial");
    for (unsigned i = 0; i < FACTORS; i++) fprintf(file, ",n%u", factors[i]);
    fprintf(file, ",planner\n");
    for (size_t row = 0; row < rows; row++) {
        for (unsigned column = 0; column < WORST; column++) {
            fprintf(file, column ? ",%.4f" : "%.0f", columns[column * rows + row]);
        }
        fprintf(file, "\n");
    }
    return close_table(s, file, name);
}

static void draw_quality(const figures_state *s, const double *columns, size_t rows) {
    bench_plot plot = {.title = "Fragmentation after compaction; dotted: worst case 1 / (n + 1)",
                       .x_label = "objects that died, percent",
                       .y_label = "F after compaction, percent",
                       .x = columns,
                       .points = rows,
                       .series_count = STRATEGIES + FACTORS};
    for (unsigned i = 0; i < STRATEGIES; i++) {
        plot.series[i] =
            (bench_plot_series){names[i], colors[i], BENCH_PLOT_LINE, columns + (AFTER + i) * rows};
    }
    for (unsigned i = 0; i < FACTORS; i++) {
        plot.series[STRATEGIES + i] =
            (bench_plot_series){NULL, colors[i], BENCH_PLOT_DOTS, columns + (WORST + i) * rows};
    }
    draw(s, &plot, "fragmentation.svg");
}

static int make_quality(const figures_state *s) {
    size_t rows = (100 + s->step - 1) / s->step + 1;
    double *columns = malloc(QUALITY_COLUMNS * rows * sizeof *columns);
    compact_heap *heap = NULL;
    bench_progress progress;
    if (!columns) return bench_error_set(s->error, "host memory ran out");
    int result = create_heap(s, s->objects, 0, &heap);
    bench_progress_begin(&progress, s->env, "fragmentation", rows);
    for (size_t row = 0; result == 0 && row < rows; row++) {
        result = measure_quality(s, heap, columns, rows, row);
        bench_progress_update(&progress, row + 1);
    }
    bench_progress_end(&progress);
    compact_heap_destroy(heap);
    if (result == 0) result = write_quality(s, columns, rows);
    if (result == 0) draw_quality(s, columns, rows);
    free(columns);
    return result;
}

/* ---- Pass by pass (Fig. 8 and 10) ------------------------------------------------------------ */

/* The course of one strategy. Entry 0 is the heap before. */
typedef struct course {
    uint32_t passes;
    double candidates[PASSES_MAX + 1], fragmentation[PASSES_MAX + 1]; /* NAN behind the last */
    uint64_t moved[MOVES_MAX + 1]; /* objects that moved so often */
    uint64_t objects, moves;
} course;

static int look(const figures_state *s, compact_heap *heap, unsigned strategy, course *c,
                uint32_t pass) {
    compact_fill fill;
    if (compact_heap_fill(heap, &fill, s->error)) return -1;
    c->objects = fill.objects;
    c->fragmentation[pass] = 100 * compact_fill_fragmentation(&fill);
    if (strategy != PLANNER) {
        c->candidates[pass] = compact_fill_candidates(&fill, factors[strategy]);
    }
    compact_fill_release(&fill);
    return 0;
}

/* One pass after the other, until there is nothing left to do. */
static int follow(const figures_state *s, compact_heap *heap, unsigned strategy, course *c) {
    clump_merge_desc merge;
    clump_compact_desc desc = desc_of(strategy, &merge);
    clump_compact_report report;
    merge.max_passes = 1;
    for (uint32_t pass = 0; pass <= PASSES_MAX; pass++) {
        c->candidates[pass] = c->fragmentation[pass] = NAN;
    }
    if (compact_heap_build(heap, FIXED_DEAD, s->error) || look(s, heap, strategy, c, 0)) return -1;
    for (;;) {
        if (compact(s, heap, &desc, &report, NULL)) return -1;
        if (report.passes == 0) break;
        if (++c->passes > PASSES_MAX) {
            return bench_error_set(s->error, "%s is not done after %u passes", names[strategy],
                                   PASSES_MAX);
        }
        c->moves += report.moves;
        if (look(s, heap, strategy, c, c->passes) ||
            compact_heap_count_moves(heap, NULL, 0, s->error)) {
            return -1;
        }
    }
    return compact_heap_count_moves(heap, c->moved, MOVES_MAX + 1, s->error);
}

static double relocations(const course *c) {
    double sum = 0;
    for (unsigned k = 1; k <= MOVES_MAX; k++) sum += (double)k * (double)c->moved[k];
    return sum;
}

/* What was seen pass by pass against the report, and against one run without interruption. */
static int compare_courses(const figures_state *s, compact_heap *heap, unsigned strategy,
                           const course *c) {
    clump_merge_desc merge;
    clump_compact_desc desc = desc_of(strategy, &merge);
    clump_compact_report report;
    double after;
    if (compact_heap_build(heap, FIXED_DEAD, s->error) || compact(s, heap, &desc, &report, NULL) ||
        find_fragmentation(s, heap, &after)) {
        return -1;
    }
    if (report.passes != c->passes || report.moves != c->moves ||
        fabs(100 * after - c->fragmentation[c->passes]) > 1e-9) {
        return bench_error_set(s->error,
                               "%s: %u passes, %" PRIu64
                               " moves and F = %f at one go, but %u, "
                               "%" PRIu64 " and %f pass by pass",
                               names[strategy], report.passes, report.moves, 100 * after, c->passes,
                               c->moves, c->fragmentation[c->passes]);
    }
    if (fabs(relocations(c) - (double)c->moves) > 0.5) {
        return bench_error_set(s->error, "%s: %.0f objects were seen to move, %" PRIu64 " reported",
                               names[strategy], relocations(c), c->moves);
    }
    return 0;
}

static int write_passes(const figures_state *s, const course *courses) {
    static const char name[] = "passes.csv";
    FILE *file = open_table(s, name);
    if (!file) return -1;
    fprintf(file, "n,pass,candidates,fragmentation\n");
    for (unsigned i = 0; i < FACTORS; i++) {
        for (uint32_t pass = 0; pass <= courses[i].passes; pass++) {
            fprintf(file, "%u,%u,%.0f,%.4f\n", factors[i], pass, courses[i].candidates[pass],
                    courses[i].fragmentation[pass]);
        }
    }
    return close_table(s, file, name);
}

static void draw_passes(const figures_state *s, const course *courses) {
    double pass[PASSES_MAX + 1];
    uint32_t last = 0;
    for (unsigned i = 0; i < STRATEGIES; i++) {
        last = courses[i].passes > last ? courses[i].passes : last;
    }
    for (uint32_t i = 0; i <= last; i++) pass[i] = i;
    bench_plot plot = {.title = "Candidates that are left after each pass, 60 percent dead",
                       .x_label = "pass",
                       .y_label = "candidates",
                       .x = pass,
                       .points = last + 1,
                       .series_count = FACTORS,
                       .is_log_y = 1};
    for (unsigned i = 0; i < FACTORS; i++) {
        plot.series[i] =
            (bench_plot_series){names[i], colors[i], BENCH_PLOT_LINE, courses[i].candidates};
    }
    draw(s, &plot, "passes-candidates.svg");
    plot.title = "Fragmentation after each pass, 60 percent dead";
    plot.y_label = "F, percent";
    plot.is_log_y = 0;
    plot.series_count = STRATEGIES;
    for (unsigned i = 0; i < STRATEGIES; i++) {
        plot.series[i] =
            (bench_plot_series){names[i], colors[i], BENCH_PLOT_LINE, courses[i].fragmentation};
    }
    draw(s, &plot, "passes-fragmentation.svg");
}

/* Layers of a bar, per living object: those that never move, and those that move at least k times
 * for k = 1 and so on; the last layer has all later moves. Their sum is 1 and the moves of objects
 * that had moved before. */
static void find_layers(const course *c, double layers[LAYERS]) {
    double objects = c->objects ? (double)c->objects : 1;
    memset(layers, 0, LAYERS * sizeof *layers);
    layers[0] = (double)c->moved[0] / objects;
    for (unsigned moves = 1; moves <= MOVES_MAX; moves++) {
        for (unsigned k = 1; k <= moves; k++) {
            layers[k < LAYERS ? k : LAYERS - 1] += (double)c->moved[moves] / objects;
        }
    }
}

static int write_relocations(const figures_state *s, const course *courses) {
    static const char name[] = "relocations.csv";
    FILE *file = open_table(s, name);
    if (!file) return -1;
    fprintf(file,
            "strategy,passes,moves,per_object,repeated_percent,most,never,first,second,third,"
            "fourth,fifth,later\n");
    for (unsigned i = 0; i < STRATEGIES; i++) {
        const course *c = &courses[i];
        double layers[LAYERS], moves = c->moves ? (double)c->moves : 1;
        double first = (double)(c->objects - c->moved[0]);
        unsigned most = MOVES_MAX;
        while (most > 0 && c->moved[most] == 0) most--;
        find_layers(c, layers);
        fprintf(file, "%s,%u,%" PRIu64 ",%.4f,%.2f,%u", names[i], c->passes, c->moves,
                (double)c->moves / (double)(c->objects ? c->objects : 1),
                100 * ((double)c->moves - first) / moves, most);
        for (unsigned k = 0; k < LAYERS; k++) fprintf(file, ",%.4f", layers[k]);
        fprintf(file, "\n");
    }
    return close_table(s, file, name);
}

static void draw_relocations(const figures_state *s, const course *courses) {
    static const char *const titles[LAYERS] = {"never moved", "first move", "second", "third",
                                               "fourth",      "fifth",      "later"};
    static const char *const shades[LAYERS] = {"#d9d9d9", "#9ecae1", "#fdd0a2", "#fdae6b",
                                               "#f16913", "#d94801", "#7f2704"};
    double totals[LAYERS][STRATEGIES]; /* of a layer and those below it */
    for (unsigned i = 0; i < STRATEGIES; i++) {
        double layers[LAYERS], total = 0;
        find_layers(&courses[i], layers);
        for (unsigned k = 0; k < LAYERS; k++) totals[k][i] = total += layers[k];
    }
    bench_plot plot = {.title = "Moves per living object, 60 percent dead",
                       .x_label = "",
                       .y_label = "objects that stay, and moves, per object",
                       .labels = names,
                       .points = STRATEGIES,
                       .series_count = LAYERS};
    for (unsigned k = 0; k < LAYERS; k++) {
        unsigned from = LAYERS - 1 - k;
        plot.series[k] =
            (bench_plot_series){titles[from], shades[from], BENCH_PLOT_BAR, totals[from]};
    }
    draw(s, &plot, "relocations.svg");
}

static int follow_all(const figures_state *s, compact_heap *heap, course *courses) {
    bench_progress progress;
    int result = 0;
    bench_progress_begin(&progress, s->env, "passes", STRATEGIES);
    for (unsigned i = 0; result == 0 && i < STRATEGIES; i++) {
        result =
            follow(s, heap, i, &courses[i]) || compare_courses(s, heap, i, &courses[i]) ? -1 : 0;
        bench_progress_update(&progress, i + 1);
    }
    bench_progress_end(&progress);
    return result;
}

static int make_passes(const figures_state *s) {
    course *courses = calloc(STRATEGIES, sizeof *courses);
    compact_heap *heap = NULL;
    if (!courses) return bench_error_set(s->error, "host memory ran out");
    int result = create_heap(s, s->objects, 1, &heap) || follow_all(s, heap, courses) ? -1 : 0;
    compact_heap_destroy(heap);
    if (result == 0) result = write_passes(s, courses) || write_relocations(s, courses) ? -1 : 0;
    if (result == 0) {
        draw_passes(s, courses);
        draw_relocations(s, courses);
    }
    free(courses);
    return result;
}

/* ---- Times (Table 1) ------------------------------------------------------------------------- */

static const clump_merge_desc merges[] = {
    {.factor = TABLE_FACTOR},
    {.factor = TABLE_FACTOR, .rewrite = CLUMP_REWRITE_RECOMPUTE_GLOBAL},
    {.factor = TABLE_FACTOR, .rewrite = CLUMP_REWRITE_RECOMPUTE_SHARED},
};
static const struct {
    const char *name;
    clump_compact_desc desc;
} contestants[] = {{"planner", {0}},
                   {"merge forward", {.merge = &merges[0]}},
                   {"merge global", {.merge = &merges[1]}},
                   {"merge shared", {.merge = &merges[2]}}};

typedef struct timed_run {
    clump_compact_report report;
    double wall_us;
} timed_run;

static int compare_runs(const void *a, const void *b) {
    double x = ((const timed_run *)a)->report.total_us;
    double y = ((const timed_run *)b)->report.total_us;
    return (x > y) - (x < y);
}

/* The run whose time is the median. The first of all warms up. */
static int time_runs(const figures_state *s, compact_heap *heap, const clump_compact_desc *desc,
                     timed_run *median) {
    timed_run *runs = malloc((s->env->repeat + (size_t)1) * sizeof *runs);
    int result = runs ? 0 : bench_error_set(s->error, "host memory ran out");
    for (uint32_t round = 0; result == 0 && round <= s->env->repeat; round++) {
        result = compact_heap_build(heap, FIXED_DEAD, s->error) ||
                         compact(s, heap, desc, &runs[round].report, &runs[round].wall_us)
                     ? -1
                     : 0;
    }
    if (result == 0) {
        qsort(runs + 1, s->env->repeat, sizeof *runs, compare_runs);
        *median = runs[1 + s->env->repeat / 2];
    }
    free(runs);
    return result;
}

static void print_times(FILE *file, const char *name, const timed_run *run, double bytes_per_s) {
    const clump_compact_report *report = &run->report;
    double floor_ms = bytes_per_s > 0 ? (double)report->floor_bytes / bytes_per_s * 1e3 : 0;
    fprintf(file, "%s,%u,%u,%.4f,%.4f", name, report->passes, report->launches,
            report->total_us * 1e-3, floor_ms);
    for (int i = 0; i < CLUMP_COMPACT_PHASE_COUNT; i++) {
        fprintf(file, ",%.4f", report->us[i] * 1e-3);
    }
    fprintf(file, ",%.4f,%.4f,%" PRIu64 ",%" PRIu64 ",%" PRIu64 "\n", run->wall_us * 1e-3,
            report->fragmentation_after, report->moves, report->bytes_moved,
            report->refs_rewritten);
}

static int fill_times(const figures_state *s, compact_heap *heap, FILE *file) {
    double bytes_per_s = 0;
    if (bench_copy_bandwidth(s->env, 0, &bytes_per_s, s->error)) return -1;
    fprintf(file, "strategy,passes,launches,total_ms,floor_ms");
#define PHASE_HEADING(name, text) fprintf(file, "," #name "_ms");
    CLUMP_COMPACT_PHASE_LIST(PHASE_HEADING)
#undef PHASE_HEADING
    fprintf(file, ",wall_ms,fragmentation_after,moves,bytes_moved,refs_rewritten\n");
    for (size_t i = 0; i < sizeof contestants / sizeof *contestants; i++) {
        timed_run median;
        if (time_runs(s, heap, &contestants[i].desc, &median)) return -1;
        print_times(file, contestants[i].name, &median, bytes_per_s);
    }
    return 0;
}

static int make_times(const figures_state *s) {
    static const char name[] = "times.csv";
    compact_heap *heap = NULL;
    int result = create_heap(s, s->table_objects, 0, &heap);
    FILE *file = result ? NULL : open_table(s, name);
    if (file) {
        result = fill_times(s, heap, file);
        result |= close_table(s, file, name);
    }
    compact_heap_destroy(heap);
    return file ? result : -1;
}

/* ---- All of it ------------------------------------------------------------------------------- */

static int write_context(const figures_state *s) {
    static const char name[] = "context.csv";
    const clump_capabilities *found = s->env->capabilities;
    FILE *file = open_table(s, name);
    if (!file) return -1;
    fprintf(file, "device,driver,library,objects,table_objects,dead_percent,seed,step,repeat\n");
    fprintf(file, "%s / %s,%s,%s,%u,%u,%.0f,%u,%u,%u\n", found->platform_name, found->device_name,
            found->driver_version, CLUMP_VERSION_TEXT, s->objects, s->table_objects, FIXED_DEAD,
            s->seed, s->step, s->env->repeat);
    return close_table(s, file, name);
}

const bench_param bench_figures_params[] = {
    {"objects", BENCH_INT, "1048576", "objects of each class, figures 8 to 10", 64, 1u << 28, NULL},
    {"table_objects", BENCH_INT, "1048576", "the same for the times; the paper: 32768000", 64,
     1u << 28, NULL},
    {"step", BENCH_INT, "2", "of the share of dead objects in figure 9, percent", 1, 50, NULL},
    {"seed", BENCH_INT, "42", "decides who points to whom and who dies", 0, UINT32_MAX, NULL},
    {NULL, BENCH_INT, NULL, NULL, 0, 0, NULL}};

int bench_figures(bench_env *env, const bench_values *values, const char *folder,
                  bench_error *error) {
    figures_state s = {.env = env,
                       .folder = folder,
                       .error = error,
                       .objects = (uint32_t)bench_int(values, "objects"),
                       .table_objects = (uint32_t)bench_int(values, "table_objects"),
                       .seed = (uint32_t)bench_int(values, "seed"),
                       .step = (uint32_t)bench_int(values, "step")};
    if (mkdir(folder, 0777) != 0 && errno != EEXIST) {
        return bench_error_set(error, "cannot make the folder %s", folder);
    }
    return write_context(&s) || make_quality(&s) || make_passes(&s) || make_times(&s) ? -1 : 0;
}
