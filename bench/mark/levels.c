/* The table of levels, launches and gaps. See levels.h. */
#include "levels.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "bench/harness/series.h"

/* What the graph has at each level, with parts as nodes: as the device sees it. */
typedef struct truth {
    uint32_t depth;
    uint32_t *objects, *most;
    uint64_t *references;
} truth;

typedef struct table {
    const mark_levels *of;
    clump_mark_log log;
    truth truth;
    bench_series series;
} table;

enum { LEVEL, WAY, LAUNCH, OBJECTS, REFERENCES, MOST, LEVEL_US, LAUNCH_US, EDGE_US, GAP_US };
static const char *const columns[] = {"level", "way",      "launch",    "objects", "references",
                                      "most",  "level_us", "launch_us", "edge_us", "gap_us"};

/* ---- The graph ------------------------------------------------------------------------------- */

static void see(truth *t, const mark_graph *g, uint32_t node, uint32_t level) {
    uint32_t count = g->offset[node + 1] - g->offset[node];
    t->objects[level]++;
    t->references[level] += count;
    if (count > t->most[level]) t->most[level] = count;
}

static int traverse(truth *t, const mark_graph *g) {
    uint32_t *queue = malloc(((size_t)g->nodes + 1) * sizeof *queue), end = 0, at = 0;
    uint8_t *seen = calloc((size_t)g->nodes + 1, 1);
    t->objects = calloc((size_t)g->nodes + 1, sizeof *t->objects);
    t->most = calloc((size_t)g->nodes + 1, sizeof *t->most);
    t->references = calloc((size_t)g->nodes + 1, sizeof *t->references);
    int is_there = queue && seen && t->objects && t->most && t->references;
    for (uint32_t i = 0; is_there && i < g->roots; i++) {
        if (!seen[g->root[i]]) queue[end++] = g->root[i];
        seen[g->root[i]] = 1;
    }
    for (; is_there && at < end; t->depth++) {
        for (uint32_t level_end = end; at < level_end; at++) {
            see(t, g, queue[at], t->depth);
            for (uint32_t e = g->offset[queue[at]]; e < g->offset[queue[at] + 1]; e++) {
                uint32_t to = g->target[e];
                if (!seen[to]) queue[end++] = to;
                seen[to] = 1;
            }
        }
    }
    free(queue);
    free(seen);
    return is_there ? 0 : -1;
}

/* ---- The table ------------------------------------------------------------------------------- */

static uint32_t turns_of(const clump_mark_log *log) {
    return log->turn_count < log->room ? log->turn_count : log->room;
}

static uint32_t launches_of(const clump_mark_log *log) {
    return log->launch_count < log->room ? log->launch_count : log->room;
}

static double launch_us(const clump_mark_launch *l) {
    return l->end_us - l->start_us;
}

/* Microseconds of a cycle in this launch. The clock is that of one compute unit, whose rate is not
 * known. */
static double cycle_us(const clump_mark_launch *l) {
    return l->clock_end > l->clock_begin ? launch_us(l) / (double)(l->clock_end - l->clock_begin)
                                         : (double)NAN;
}

/* Of turn `i`. A narrow launch has several. */
static double level_us(const clump_mark_log *log, uint32_t i) {
    const clump_mark_turn *turn = &log->turns[i];
    const clump_mark_launch *l = &log->launches[turn->launch];
    if (turn->way != CLUMP_WAY_NARROW) return launch_us(l);
    int is_last = i + 1 >= turns_of(log) || log->turns[i + 1].launch != turn->launch;
    uint64_t end = is_last ? l->clock_end : log->turns[i + 1].clock;
    return (double)(end - turn->clock) * cycle_us(l);
}

static double *add_line(table *t, double launch) {
    double *line = bench_series_add_row(&t->series);
    for (size_t i = 0; line && i < sizeof columns / sizeof *columns; i++) line[i] = (double)NAN;
    if (line) line[LAUNCH] = launch;
    return line;
}

static void fill_launch(const table *t, uint32_t launch, double *line) {
    const clump_mark_launch *l = &t->log.launches[launch];
    line[LAUNCH_US] = launch_us(l);
    if (launch) line[GAP_US] = l->start_us - t->log.launches[launch - 1].end_us;
}

static void fill_turn(const table *t, uint32_t i, double *line) {
    const clump_mark_turn *turn = &t->log.turns[i];
    line[LEVEL] = i;
    line[WAY] = turn->way;
    line[OBJECTS] = turn->objects;
    line[LEVEL_US] = level_us(&t->log, i);
    if (i >= t->truth.depth) return;
    line[REFERENCES] = (double)t->truth.references[i];
    line[MOST] = t->truth.most[i];
}

/* Launches in order, each with its turns. A turn of the host has none. */
static int fill(table *t) {
    const clump_mark_log *log = &t->log;
    uint32_t turn = 0;
    for (size_t i = 0; i < sizeof columns / sizeof *columns; i++)
        bench_series_add_column(&t->series, "%s", columns[i]);
    for (uint32_t l = 0; l < launches_of(log); l++) {
        int is_first = 1;
        for (; turn < turns_of(log) && log->turns[turn].way == CLUMP_WAY_HOST; turn++) {
            double *line = add_line(t, (double)NAN);
            if (!line) return -1;
            line[LEVEL] = turn;
            line[WAY] = CLUMP_WAY_HOST;
        }
        for (; turn < turns_of(log) && log->turns[turn].way != CLUMP_WAY_HOST &&
               log->turns[turn].launch == l;
             turn++, is_first = 0) {
            double *line = add_line(t, l);
            if (!line) return -1;
            fill_turn(t, turn, line);
            if (!is_first) continue;
            fill_launch(t, l, line);
            if (log->turns[turn].way == CLUMP_WAY_NARROW)
                line[EDGE_US] = (double)(log->turns[turn].clock - log->launches[l].clock_begin) *
                                cycle_us(&log->launches[l]);
        }
        double *line = is_first ? add_line(t, l) : NULL;
        if (is_first && !line) return -1;
        if (line) fill_launch(t, l, line);
    }
    return 0;
}

/* ---- Sums ------------------------------------------------------------------------------------ */

static double sum(const table *t, size_t column, int narrow, int wide, int idle) {
    double all = 0;
    for (size_t i = 0; i < t->series.rows; i++) {
        const double *line = &t->series.values[i * t->series.columns];
        int is_narrow = line[WAY] == CLUMP_WAY_NARROW, is_idle = isnan(line[LEVEL]);
        int is_taken = is_idle ? idle : is_narrow ? narrow : wide;
        if (is_taken && !isnan(line[column])) all += line[column];
    }
    return all;
}

/* The host reads once for each batch of launches; what comes after the batches are the longest
 * gaps. */
static double longest_gaps(const table *t, uint32_t count) {
    double all = 0, below = INFINITY;
    for (uint32_t k = 0; k < count; k++) {
        double longest = 0;
        for (uint32_t l = 1; l < launches_of(&t->log); l++) {
            double gap = t->log.launches[l].start_us - t->log.launches[l - 1].end_us;
            if (gap < below && gap > longest) longest = gap;
        }
        all += longest;
        below = longest;
    }
    return all;
}

static void sample(const table *t, uint32_t readbacks) {
    bench_results *results = t->of->results;
    uint32_t launches = launches_of(&t->log);
    if (!launches || t->log.launches[launches - 1].end_us <= 0) {
        bench_note(results, "no times of levels: the device does no profiling");
        return;
    }
    const clump_mark_launch *first = &t->log.launches[0], *last = &t->log.launches[launches - 1];
    bench_sample(results, "levels_narrow", "us", sum(t, LEVEL_US, 1, 0, 0));
    bench_sample(results, "levels_wide", "us", sum(t, LEVEL_US, 0, 1, 0));
    bench_sample(results, "launch_edges", "us", sum(t, EDGE_US, 1, 1, 1));
    bench_sample(results, "launches_idle", "us", sum(t, LAUNCH_US, 0, 0, 1));
    bench_sample(results, "gaps", "us", sum(t, GAP_US, 1, 1, 1));
    bench_sample(results, "readback_gaps", "us",
                 longest_gaps(t, readbacks > 2 ? readbacks - 2 : 0));
    bench_sample(results, "before_start", "us", first->start_us);
    bench_sample(results, "device_span", "us", last->end_us);
}

/* ---- The call -------------------------------------------------------------------------------- */

static void compare(const table *t) {
    int by_level = t->log.turn_count <= t->log.room;
    for (uint32_t i = 0; i < turns_of(&t->log); i++)
        by_level &=
            t->log.turns[i].way == CLUMP_WAY_NARROW || t->log.turns[i].way == CLUMP_WAY_QUEUE;
    if (!by_level) return;
    int is_right = t->log.turn_count == t->truth.depth;
    for (uint32_t i = 0; is_right && i < t->truth.depth; i++)
        is_right = t->log.turns[i].objects == t->truth.objects[i];
    bench_check(t->of->results, is_right,
                "the device went through %u levels, a traversal in C through %u, or they differ in "
                "their objects",
                t->log.turn_count, t->truth.depth);
}

static int report(table *t) {
    const mark_levels *of = t->of;
    clump_mark_tuning tuning = *of->desc.tuning;
    clump_collect_desc desc = of->desc;
    clump_collect_report told = {.size = sizeof told};
    bench_error *error = &of->results->error;
    tuning.log = &t->log;
    desc.tuning = &tuning;
    desc.only_mark = 1;
    /* Once more than is needed, since the first makes the buffer of marks anew. */
    for (int i = 0; i < 2; i++)
        if (clump_heap_collect(of->heap, &desc, &told, NULL))
            return bench_error_set(error, "a collection with a log of levels failed");
    if (fill(t)) return bench_error_set(error, "host memory ran out for the levels");
    compare(t);
    sample(t, told.readbacks);
    return bench_series_write_csv(&t->series, bench_text(of->values, "levels"), error);
}

int mark_levels_report(const mark_levels *levels) {
    /* A round with a log may take a few more launches. */
    uint32_t room = 2 * (levels->launches + levels->turns) + 64;
    table t = {.of = levels};
    if (!*bench_text(levels->values, "levels")) return 0;
    t.log.room = room < 1u << 20 ? room : 1u << 20;
    t.log.turns = calloc(t.log.room, sizeof *t.log.turns);
    t.log.launches = calloc(t.log.room, sizeof *t.log.launches);
    int result =
        t.log.turns && t.log.launches && traverse(&t.truth, levels->graph) == 0
            ? report(&t)
            : bench_error_set(&levels->results->error, "host memory ran out for the levels");
    bench_series_release(&t.series);
    free(t.log.turns);
    free(t.log.launches);
    free(t.truth.objects);
    free(t.truth.most);
    free(t.truth.references);
    return result;
}
