/* Pictures and tables of a Wa-Tor run. See output.h. */
#include "output.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "bench/plot.h"
#include "bench/png.h"

int wa_tor_series_add(wa_tor_series *series, const wa_tor_sample *sample, bench_error *error) {
    if (series->count == series->capacity) {
        size_t capacity = series->capacity ? 2 * series->capacity : 64;
        wa_tor_sample *samples = realloc(series->samples, capacity * sizeof *samples);
        if (!samples) {
            return bench_error_set(error, "host memory ran out for samples");
        }
        series->samples = samples;
        series->capacity = capacity;
    }
    series->samples[series->count++] = *sample;
    return 0;
}

/* Between two colours: 0 gives `from`, `steps` and more give `to`. */
static void shade(uint8_t *rgb, const uint8_t from[3], const uint8_t to[3], uint32_t step,
                  uint32_t steps) {
    step = step < steps ? step : steps;
    for (int i = 0; i < 3; i++) {
        rgb[i] = (uint8_t)((from[i] * (steps - step) + to[i] * step) / steps);
    }
}

static void color(uint8_t *rgb, uint32_t code, const wa_tor_rules *rules) {
    static const uint8_t sea[3] = {232, 242, 250};
    static const uint8_t young_fish[3] = {120, 205, 110}, old_fish[3] = {20, 110, 40};
    static const uint8_t hungry_shark[3] = {110, 0, 20}, fed_shark[3] = {240, 60, 50};
    uint32_t timer = code & 0xfffu;
    uint32_t energy = code >> 12 & 0xffffu;
    switch (wa_tor_kind(code)) {
    case WA_TOR_KIND_FISH: shade(rgb, young_fish, old_fish, timer, rules->fish_spawn + 1); break;
    case WA_TOR_KIND_SHARK:
        shade(rgb, hungry_shark, fed_shark, energy, rules->shark_energy + 2 * rules->shark_gain);
        break;
    default: shade(rgb, sea, sea, 0, 1);
    }
}

int wa_tor_write_image(const char *path, const wa_tor_rules *rules, const uint32_t *codes,
                       bench_error *error) {
    size_t cells = (size_t)rules->width * rules->height;
    uint8_t *rgb = malloc(3 * cells);
    if (!rgb) {
        return bench_error_set(error, "host memory ran out for the picture");
    }
    for (size_t i = 0; i < cells; i++) {
        color(&rgb[3 * i], codes[i], rules);
    }
    int result = bench_png_write(path, rules->width, rules->height, rgb, error);
    free(rgb);
    return result;
}

int wa_tor_write_csv(const char *path, const wa_tor_series *series, bench_error *error) {
    FILE *file = fopen(path, "w");
    if (!file) {
        return bench_error_set(error, "cannot write %s", path);
    }
    fprintf(file,
            "step,fish,sharks,fish_slots,shark_slots,fish_blocks,shark_blocks,cell_blocks,"
            "free_blocks,fragmentation\n");
    for (size_t i = 0; i < series->count; i++) {
        const wa_tor_sample *sample = &series->samples[i];
        const wa_tor_usage *usage = &sample->usage;
        fprintf(file, "%u,%" PRIu64 ",%" PRIu64 ",%" PRIu64 ",%" PRIu64 ",%u,%u,%u,%u,%.6f\n",
                sample->step, sample->fish, sample->sharks, usage->fish.slots, usage->shark.slots,
                usage->fish.blocks, usage->shark.blocks, usage->cell.blocks,
                usage->heap.free_blocks, usage->heap.fragmentation);
    }
    int bad = ferror(file);
    bad |= fclose(file);
    return bad ? bench_error_set(error, "cannot write all of %s", path) : 0;
}

/* Columns of the plot, one after the other. The last two are of the world without compaction, if
 * there is one. */
enum {
    STEP,
    FISH,
    SHARKS,
    FISH_SLOTS,
    SHARK_SLOTS,
    FISH_SLOTS_WITHOUT,
    SHARK_SLOTS_WITHOUT,
    COLUMNS
};

static void fill_columns(const wa_tor_series *series, const wa_tor_series *without,
                         double *columns) {
    size_t n = series->count;
    for (size_t i = 0; i < n; i++) {
        const wa_tor_sample *sample = &series->samples[i];
        columns[STEP * n + i] = sample->step;
        columns[FISH * n + i] = (double)sample->fish;
        columns[SHARKS * n + i] = (double)sample->sharks;
        columns[FISH_SLOTS * n + i] = (double)sample->usage.fish.slots;
        columns[SHARK_SLOTS * n + i] = (double)sample->usage.shark.slots;
    }
    for (size_t i = 0; i < without->count && i < n; i++) {
        const wa_tor_usage *usage = &without->samples[i].usage;
        columns[FISH_SLOTS_WITHOUT * n + i] = (double)usage->fish.slots;
        columns[SHARK_SLOTS_WITHOUT * n + i] = (double)usage->shark.slots;
    }
}

int wa_tor_write_profile(const char *path, const wa_tor_rules *rules, const wa_tor_series *series,
                         const wa_tor_series *without, bench_error *error) {
    char title[96];
    size_t n = series->count;
    if (n == 0) {
        return bench_error_set(error, "no plot %s: there are no samples", path);
    }
    double *columns = calloc(COLUMNS * n, sizeof *columns);
    if (!columns) {
        return bench_error_set(error, "no plot %s: host memory ran out", path);
    }
    fill_columns(series, without, columns);
    snprintf(title, sizeof title, "Wa-Tor, %u x %u cells: memory profile", rules->width,
             rules->height);
    bench_plot plot = {
        .title = title,
        .x_label = "step",
        .y_label = "objects, slots",
        .x = columns,
        .points = n,
        .series_count = without->count                         ? 6
                        : series->samples[0].usage.heap.blocks ? 4
                                                               : 2, /* C has no slots */
        .series = {
            {"Fish", "#2ca02c", BENCH_PLOT_AREA, columns + FISH * n},
            {"Shark", "#d62728", BENCH_PLOT_AREA, columns + SHARKS * n},
            {"slots of Fish", "#145214", BENCH_PLOT_LINE, columns + FISH_SLOTS * n},
            {"slots of Shark", "#7a1212", BENCH_PLOT_LINE, columns + SHARK_SLOTS * n},
            {"Fish, not compacted", "#145214", BENCH_PLOT_DOTS, columns + FISH_SLOTS_WITHOUT * n},
            {"Shark, not compacted", "#7a1212", BENCH_PLOT_DOTS,
             columns + SHARK_SLOTS_WITHOUT * n}}};
    int result = bench_plot_write(&plot, path, error);
    free(columns);
    return result;
}
