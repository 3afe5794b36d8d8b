/* Levels and out-degrees of a graph. See shape.h. */
#include "shape.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "bench/harness/plot.h"
#include "bench/harness/series.h"

#define NARROW 80u /* objects: 3.1 has tails of 30 to 80 */
#define MANY 100u  /* references: "hundreds to thousands" */

typedef struct shape {
    const mark_graph *graph;
    uint32_t *level;                            /* of each node, UINT32_MAX: not reached */
    uint32_t *queue;                            /* nodes in the order of their levels */
    uint32_t *degree;                           /* of each own node that is live */
    uint32_t live, depth, widest, narrow, most; /* most: references of an object */
    uint32_t *at_depth, *with_degree;           /* depth and most + 1 entries */
} shape;

static void reach(shape *s, uint32_t node, uint32_t level, uint32_t *end) {
    if (s->level[node] != UINT32_MAX) return;
    s->level[node] = level;
    s->queue[(*end)++] = node;
}

/* Parts belong to their owner: what they lead to, never parts again, counts as the owner's. */
static void follow(shape *s, uint32_t node, uint32_t owner, uint32_t *end) {
    const mark_graph *g = s->graph;
    for (uint32_t e = g->offset[node]; e < g->offset[node + 1]; e++) {
        uint32_t to = g->target[e];
        if (to >= g->own) {
            follow(s, to, owner, end);
        } else {
            s->degree[owner]++;
            reach(s, to, s->level[owner] + 1, end);
        }
    }
}

static int traverse(shape *s) {
    const mark_graph *g = s->graph;
    s->level = malloc(((size_t)g->own + 1) * sizeof *s->level);
    s->queue = malloc(((size_t)g->own + 1) * sizeof *s->queue);
    s->degree = calloc((size_t)g->own + 1, sizeof *s->degree);
    if (!s->level || !s->queue || !s->degree) return -1;
    memset(s->level, 0xff, ((size_t)g->own + 1) * sizeof *s->level);
    for (uint32_t i = 0; i < g->roots; i++) reach(s, g->root[i], 0, &s->live);
    for (uint32_t at = 0; at < s->live; at++) {
        uint32_t node = s->queue[at];
        follow(s, node, node, &s->live);
        s->most = s->degree[node] > s->most ? s->degree[node] : s->most;
        s->depth = s->level[node] + 1;
    }
    return 0;
}

static int count(shape *s) {
    s->at_depth = calloc((size_t)s->depth + 1, sizeof *s->at_depth);
    s->with_degree = calloc((size_t)s->most + 1, sizeof *s->with_degree);
    if (!s->at_depth || !s->with_degree) return -1;
    for (uint32_t i = 0; i < s->live; i++) {
        s->at_depth[s->level[s->queue[i]]]++;
        s->with_degree[s->degree[s->queue[i]]]++;
    }
    for (uint32_t i = 0; i < s->depth; i++) {
        s->widest = s->at_depth[i] > s->widest ? s->at_depth[i] : s->widest;
        s->narrow += s->at_depth[i] < NARROW;
    }
    return 0;
}

static double share(const shape *s, uint32_t from, uint32_t to) {
    double sum = 0;
    for (uint32_t i = from; i <= to && i <= s->most; i++) sum += s->with_degree[i];
    return s->live ? sum / s->live : 0;
}

/* A line for each n that some object has. */
static int fill(const shape *s, bench_series *series) {
    uint32_t last = s->most > s->depth ? s->most : s->depth;
    bench_series_add_column(series, "n");
    bench_series_add_column(series, "at_depth");
    bench_series_add_column(series, "with_degree");
    for (uint32_t n = 0; n <= last; n++) {
        uint32_t at = n < s->depth ? s->at_depth[n] : 0;
        uint32_t with = n <= s->most ? s->with_degree[n] : 0;
        double *row = at || with ? bench_series_add_row(series) : NULL;
        if ((at || with) && !row) return -1;
        if (!row) continue;
        row[0] = n;
        row[1] = at ? (double)at : (double)NAN;
        row[2] = with ? (double)with : (double)NAN;
    }
    return 0;
}

static void draw(const bench_series *series, const char *column, const char *title,
                 const char *x_label, const char *path, bench_results *results) {
    double *x = bench_series_copy_column(series, "n", series->rows);
    double *y = bench_series_copy_column(series, column, series->rows);
    bench_plot plot = {.title = title,
                       .x_label = x_label,
                       .y_label = "objects",
                       .x = x,
                       .points = series->rows,
                       .is_log_y = 1,
                       .series = {{NULL, "#1f77b4", BENCH_PLOT_POINTS, y}},
                       .series_count = 1};
    bench_error error;
    if (*path && x && y && bench_plot_write(&plot, path, &error))
        bench_note(results, "%.400s", error.text);
    free(x);
    free(y);
}

static void report(const shape *s, bench_results *results) {
    bench_sample(results, "depth", "levels", s->depth);
    bench_sample(results, "widest_level", "objects", s->widest);
    bench_sample(results, "levels_below_80", "levels", s->narrow);
    bench_sample(results, "without_references", "share", share(s, 0, 0));
    bench_sample(results, "at_most_4", "share", share(s, 0, 4));
    bench_sample(results, "at_most_12", "share", share(s, 0, 12));
    bench_sample(results, "at_least_100", "share", share(s, MANY, s->most));
    bench_sample(results, "most_references", "refs", s->most);
}

int mark_shape_report(const mark_graph *graph, const bench_values *values, bench_results *results) {
    const char *csv = bench_text(values, "csv"), *levels = bench_text(values, "depths");
    const char *degrees = bench_text(values, "degrees");
    shape s = {.graph = graph};
    bench_series series = {.columns = 0};
    int result = 0;
    if (!*csv && !*levels && !*degrees) return 0;
    if (traverse(&s) || count(&s) || fill(&s, &series)) {
        result = bench_error_set(&results->error, "host memory ran out for the shape");
    } else {
        report(&s, results);
        if (*csv) result = bench_series_write_csv(&series, csv, &results->error);
        draw(&series, "at_depth", "Objects at each depth", "depth", levels, results);
        draw(&series, "with_degree", "Objects by number of references", "references", degrees,
             results);
    }
    bench_series_release(&series);
    free(s.level);
    free(s.queue);
    free(s.degree);
    free(s.at_depth);
    free(s.with_degree);
    return result;
}
