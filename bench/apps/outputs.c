/* Pictures, tables and memory profiles of applications. See outputs.h. */
#include "outputs.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "bench/harness/heap.h"
#include "bench/harness/plot.h"
#include "bench/harness/png.h"
#include "clump/compact.h"
#include "clump/inspect.h"

#define SAMPLES 250 /* if only a file is asked for */
#define FRAMES 100
#define COMPACTIONS 40

/* ---- Parameters ------------------------------------------------------------------------------ */

static const char *get_path(const bench_values *values, const char *key) {
    const char *path = bench_text(values, key);
    return path[0] ? path : NULL;
}

/* NULL: none is wanted. */
static int make_folder(const char *path, bench_error *error) {
    return !path || mkdir(path, 0777) == 0 || errno == EEXIST
               ? 0
               : bench_error_set(error, "cannot make the folder %s: %s", path, strerror(errno));
}

int bench_outputs_create(const bench_outputs_desc *desc, const bench_values *values,
                         bench_outputs *outputs, bench_error *error) {
    uint32_t steps = (uint32_t)bench_int(values, "steps");
    *outputs = (bench_outputs){.desc = *desc,
                               .image = get_path(values, "image"),
                               .frames = get_path(values, "frames"),
                               .csv = get_path(values, "csv"),
                               .profile = get_path(values, "profile"),
                               .dumps = get_path(values, "dumps"),
                               .sample = (uint32_t)bench_int(values, "sample"),
                               .every = (uint32_t)bench_int(values, "every")};
    if ((outputs->profile || outputs->dumps) && !bench_is(values, "variant", "clump")) {
        return bench_error_set(error, "%s is for variant=clump; nothing else has a heap",
                               outputs->profile ? "profile" : "dumps");
    }
    if (outputs->every && !outputs->frames) {
        return bench_error_set(error, "every is for frames: give their folder too");
    }
    if (!outputs->sample && (outputs->csv || outputs->profile)) {
        outputs->sample = steps / SAMPLES + 1;
    }
    if (!outputs->every && outputs->frames) {
        outputs->every = steps / FRAMES + 1;
    }
    return make_folder(outputs->frames, error) || make_folder(outputs->dumps, error) ? -1 : 0;
}

void bench_outputs_release(bench_outputs *outputs) {
    bench_series_release(&outputs->series);
    bench_series_release(&outputs->without);
}

/* ---- Samples --------------------------------------------------------------------------------- */

size_t bench_outputs_own_columns(const bench_outputs *outputs) {
    size_t count = 1;
    for (const char *const *name = outputs->desc.columns; name && *name; name++) {
        count++;
    }
    return count;
}

int bench_outputs_is_sampled(const bench_outputs *outputs, uint32_t done, uint32_t steps) {
    return outputs->sample && (done % outputs->sample == 0 || done == steps);
}

/* Names in the order in which fill_heap() writes. */
static void add_heap_columns(const bench_outputs *outputs, bench_series *series) {
    static const char *const names[] = {"objects", "slots", "blocks", "free_blocks",
                                        "fragmentation"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        bench_series_add_column(series, "%s", names[i]);
    }
    for (const bench_outputs_class *class = outputs->desc.classes; class->name; class ++) {
        bench_series_add_column(series, "%s_objects", class->name);
        bench_series_add_column(series, "%s_slots", class->name);
        bench_series_add_column(series, "%s_blocks", class->name);
    }
}

static int fill_heap(const bench_outputs *outputs, clump_context *clump, clump_heap *heap,
                     double *to, bench_error *error) {
    const char *names[BENCH_OUTPUTS_CLASSES_MAX];
    clump_class_stats classes[BENCH_OUTPUTS_CLASSES_MAX] = {{.size = sizeof *classes}};
    clump_heap_stats stats = {.size = sizeof stats};
    uint32_t count = 0;
    for (; count < BENCH_OUTPUTS_CLASSES_MAX && outputs->desc.classes[count].name; count++) {
        names[count] = outputs->desc.classes[count].name;
    }
    if (bench_heap_stats(clump, heap, names, count, &stats, classes, error)) {
        return -1;
    }
    *to++ = (double)stats.objects;
    *to++ = (double)stats.slots;
    *to++ = stats.blocks - stats.free_blocks;
    *to++ = stats.free_blocks;
    *to++ = stats.fragmentation;
    for (uint32_t i = 0; i < count; i++) {
        *to++ = (double)classes[i].objects;
        *to++ = (double)classes[i].slots;
        *to++ = classes[i].blocks;
    }
    return 0;
}

void bench_outputs_begin(const bench_outputs *outputs, bench_series *series, int has_heap) {
    bench_series_release(series);
    bench_series_add_column(series, "step");
    for (const char *const *name = outputs->desc.columns; name && *name; name++) {
        bench_series_add_column(series, "%s", *name);
    }
    bench_series_add_column(series, "step_us");
    if (has_heap) {
        add_heap_columns(outputs, series);
    }
}

double *bench_outputs_sample(const bench_outputs *outputs, bench_series *series,
                             clump_context *clump, clump_heap *heap, uint32_t step, double step_us,
                             bench_error *error) {
    double *row = bench_series_add_row(series);
    if (!row) {
        bench_error_set(error, "host memory ran out for samples");
        return NULL;
    }
    double *rest = row + bench_outputs_own_columns(outputs);
    row[0] = step;
    *rest++ = step_us;
    if (heap && fill_heap(outputs, clump, heap, rest, error)) {
        return NULL;
    }
    return row + 1;
}

/* ---- Pictures -------------------------------------------------------------------------------- */

static int is_frame(const bench_outputs *outputs, uint32_t done, uint32_t steps) {
    return outputs->every && (done % outputs->every == 0 || done == steps);
}

int bench_outputs_is_drawn(const bench_outputs *outputs, uint32_t done, uint32_t steps) {
    return is_frame(outputs, done, steps) || (outputs->image && done == steps);
}

int bench_outputs_write_pixels(const bench_outputs *outputs, const uint8_t *rgb, uint32_t done,
                               uint32_t steps, bench_error *error) {
    char path[BENCH_TEXT_BYTES + 32];
    uint32_t width = outputs->desc.width, height = outputs->desc.height;
    snprintf(path, sizeof path, "%s/frame-%06u.png", outputs->frames ? outputs->frames : "", done);
    if (is_frame(outputs, done, steps) && bench_png_write(path, width, height, rgb, error)) {
        return -1;
    }
    return outputs->image && done == steps
               ? bench_png_write(outputs->image, width, height, rgb, error)
               : 0;
}

/* ---- The memory profile ---------------------------------------------------------------------- */

typedef struct profile {
    bench_plot plot;
    double *columns[BENCH_PLOT_SERIES_MAX];
    char labels[BENCH_PLOT_SERIES_MAX][96];
    char colors[BENCH_PLOT_SERIES_MAX][8];
} profile;

/* A curve from a column; a darker colour for slots than for objects. */
static int add_curve(profile *p, const bench_series *series, const char *class_name,
                     const char *what, const char *color, bench_plot_style style) {
    char column[96];
    unsigned rgb[3] = {0, 0, 0};
    size_t at = p->plot.series_count;
    if (at == BENCH_PLOT_SERIES_MAX) {
        return -1;
    }
    snprintf(column, sizeof column, "%s_%s", class_name, what);
    p->columns[at] = bench_series_copy_column(series, column, p->plot.points);
    if (!p->columns[at]) {
        return -1;
    }
    sscanf(color, "#%2x%2x%2x", &rgb[0], &rgb[1], &rgb[2]);
    unsigned part = style == BENCH_PLOT_AREA ? 2 : 1;
    snprintf(p->colors[at], sizeof p->colors[at], "#%02x%02x%02x", rgb[0] * part / 2 & 0xff,
             rgb[1] * part / 2 & 0xff, rgb[2] * part / 2 & 0xff);
    snprintf(p->labels[at], sizeof p->labels[at], "%s%s%s",
             style == BENCH_PLOT_LINE ? "slots of " : "", class_name,
             style == BENCH_PLOT_DOTS ? ", not compacted" : "");
    p->plot.series[p->plot.series_count++] = (bench_plot_series){
        .label = p->labels[at], .color = p->colors[at], .style = style, .y = p->columns[at]};
    return 0;
}

static int add_curves(profile *p, const bench_outputs *outputs, const bench_series *series,
                      const char *what, bench_plot_style style) {
    for (const bench_outputs_class *class = outputs->desc.classes; class->name; class ++) {
        if (class->color && add_curve(p, series, class->name, what, class->color, style)) {
            return -1;
        }
    }
    return 0;
}

static int write_profile(const bench_outputs *outputs, bench_error *error) {
    char title[160];
    profile p = {.plot = {.title = title,
                          .x_label = "step",
                          .y_label = "objects, slots",
                          .points = outputs->series.rows}};
    double *steps = bench_series_copy_column(&outputs->series, "step", p.plot.points);
    p.plot.x = steps;
    snprintf(title, sizeof title, "%s: memory profile", outputs->desc.title);
    int result =
        !steps || add_curves(&p, outputs, &outputs->series, "objects", BENCH_PLOT_AREA) ||
                add_curves(&p, outputs, &outputs->series, "slots", BENCH_PLOT_LINE) ||
                (outputs->without.rows &&
                 add_curves(&p, outputs, &outputs->without, "slots", BENCH_PLOT_DOTS))
            ? bench_error_set(error, "no plot %s: too many classes, or host memory ran out",
                              outputs->profile)
            : bench_plot_write(&p.plot, outputs->profile, error);
    free(steps);
    for (size_t i = 0; i < p.plot.series_count; i++) {
        free(p.columns[i]);
    }
    return result;
}

int bench_outputs_write(const bench_outputs *outputs, bench_results *results, bench_error *error) {
    bench_error plot_error;
    if (outputs->csv && bench_series_write_csv(&outputs->series, outputs->csv, error)) {
        return -1;
    }
    if (outputs->profile && write_profile(outputs, &plot_error)) {
        bench_note(results, "%.400s", plot_error.text);
    }
    return 0;
}

/* ---- Dumps ----------------------------------------------------------------------------------- */

int bench_outputs_write_dumps(const bench_outputs *outputs, clump_context *clump, clump_heap *heap,
                              bench_error *error) {
    clump_compact_report report = {.size = sizeof report};
    clump_compact_desc desc = {.size = sizeof desc, .max_moves = 1};
    clump_status status = CLUMP_OK;
    for (int i = 0; status == CLUMP_OK && (i == 0 || report.moves); i++) {
        char path[BENCH_TEXT_BYTES + 32];
        snprintf(path, sizeof path, "%s/heap-%03d.json", outputs->dumps, i);
        status = clump_heap_dump(heap, CLUMP_TO_PATH(path));
        if (status == CLUMP_OK) status = clump_heap_compact(heap, &desc, &report, NULL);
        if (i == 0) desc.max_moves = report.moves_left / COMPACTIONS + 1;
    }
    return status == CLUMP_OK ? 0 : bench_error_clump(error, "dumping the heap", clump, status);
}
