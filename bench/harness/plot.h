/* Plots of curves and bars, drawn by gnuplot. Read first: error.h. */
#ifndef BENCH_PLOT_H
#define BENCH_PLOT_H

#include <stddef.h>

#include "error.h"

#define BENCH_PLOT_SERIES_MAX 16

typedef enum bench_plot_style {
    BENCH_PLOT_AREA,
    BENCH_PLOT_LINE,
    BENCH_PLOT_DOTS, /* a dotted line */
    BENCH_PLOT_POINTS,
    BENCH_PLOT_MARKED, /* a line with a point at each value */
    BENCH_PLOT_BAR     /* from 0: a stack is drawn from its highest total to its lowest. Bars of one
                      * series alone have their values on them, and a logarithmic axis if the
                      * longest would hide the shortest */
} bench_plot_style;

typedef struct bench_plot_series {
    const char *label; /* NULL: none in the key */
    const char *color; /* "#rrggbb" */
    bench_plot_style style;
    const double *y; /* `points` values; NAN: none there */
} bench_plot_series;

typedef struct bench_plot {
    const char *title, *x_label, *y_label;
    const double *x;           /* `points` values */
    const char *const *labels; /* instead of x: names, at even distances */
    size_t points;
    int is_log_y, is_log_x; /* of curves */
    bench_plot_series series[BENCH_PLOT_SERIES_MAX];
    size_t series_count;
} bench_plot;

/* Write the plot to `path`: SVG, or PNG if the name ends in .png. Returns -1 with a sentence if it
 * cannot be written or gnuplot is not installed; a plot is no reason to fail a run. */
int bench_plot_write(const bench_plot *plot, const char *path, bench_error *error);

#endif
