/* Plots of curves and bars: a gnuplot script with the data in it, handed to gnuplot through a pipe.
 *
 * Read first: plot.h.
 */
#include "plot.h"

#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LOG_FROM 30.0  /* longest bar by shortest: a bar of 3% can hardly be seen */
#define LOG_MARGIN 2.0 /* of the axis below the shortest bar and above the longest, as a factor */

/* One series of bars, and nothing else, has room for values on it. */
static int is_bars_alone(const bench_plot *plot) {
    return plot->labels && plot->series_count == 1 && plot->series[0].style == BENCH_PLOT_BAR;
}

/* Where the axis begins and ends if it is to be logarithmic. Bars of 0 have no place on such an
 * axis, and stay at its beginning. */
static int find_log_range(const bench_plot *plot, double *low, double *high) {
    *low = *high = NAN;
    for (size_t i = 0; is_bars_alone(plot) && i < plot->points; i++) {
        double y = plot->series[0].y[i];
        if (y < 0) return 0;
        if (y > 0) *low = fmin(*low, y), *high = fmax(*high, y); /* a NAN is passed over */
    }
    if (!(*high > LOG_FROM * *low)) return 0;
    *low /= LOG_MARGIN;
    *high *= LOG_MARGIN;
    return 1;
}

static int has_suffix(const char *text, const char *suffix) {
    size_t length = strlen(text);
    size_t tail = strlen(suffix);
    return length >= tail && strcmp(text + length - tail, suffix) == 0;
}

/* A text in single quotes, as gnuplot wants it: a quote inside is doubled. */
static void print_quoted(FILE *script, const char *text) {
    fputc('\'', script);
    for (; *text; text++) {
        if (*text == '\'') {
            fputc('\'', script);
        }
        fputc(*text, script);
    }
    fputc('\'', script);
}

static void print_setting(FILE *script, const char *setting, const char *text) {
    fprintf(script, "set %s ", setting);
    print_quoted(script, text);
    fputc('\n', script);
}

static void print_header(FILE *script, const bench_plot *plot, const char *path) {
    const char *terminal = has_suffix(path, ".png") ? "pngcairo" : "svg dynamic";
    fprintf(script, "set terminal %s size 900,480 background rgb 'white' noenhanced\n", terminal);
    print_setting(script, "output", path);
    print_setting(script, "title", plot->title);
    print_setting(script, "xlabel", plot->x_label);
    double low, high;
    int is_log_bars = find_log_range(plot, &low, &high);
    char y_label[256];
    snprintf(y_label, sizeof y_label, "%s%s", plot->y_label, is_log_bars ? ", logarithmic" : "");
    print_setting(script, "ylabel", y_label);
    fprintf(script, "set key outside right top\nset grid\n");
    if (is_log_bars) {
        fprintf(script, "set logscale y\nset yrange [%.10g:%.10g]\n", low, high);
    } else {
        /* From 0, but for values below it. */
        fprintf(script, plot->is_log_y ? "set logscale y\n" : "set yrange [*<0:0<*]\n");
    }
    if (plot->is_log_x) fprintf(script, "set logscale x\n");
    if (plot->labels && !is_bars_alone(plot)) fprintf(script, "set xtics rotate by -20\n");
    if (is_bars_alone(plot)) { /* room for long labels, and for the value on the longest bar */
        fprintf(script, "set xtics rotate by -20\n");
        if (!is_log_bars) fprintf(script, "set offsets 0, 0, graph 0.08, 0\n");
    }
    fprintf(script, "set datafile missing 'nan'\nset boxwidth 0.7\n");
}

static void print_data(FILE *script, const bench_plot *plot) {
    fprintf(script, "$data << end_of_data\n");
    for (size_t i = 0; i < plot->points; i++) {
        if (plot->labels) {
            fprintf(script, "\"%s\"", plot->labels[i]);
        } else {
            fprintf(script, "%.10g", plot->x[i]);
        }
        for (size_t s = 0; s < plot->series_count; s++) {
            fprintf(script, " %.10g", plot->series[s].y[i]);
        }
        fputc('\n', script);
    }
    fprintf(script, "end_of_data\n");
}

/* The value of each bar above its end. */
static void print_values(FILE *script, const bench_plot *plot) {
    double low, high;
    int is_log = find_log_range(plot, &low, &high);
    fprintf(script, ", '-' using 1:2:3 with labels offset 0,0.6 notitle\n");
    for (size_t i = 0; i < plot->points; i++) {
        double y = plot->series[0].y[i];
        if (isnan(y)) continue;
        fprintf(script, "%zu %.10g ", i, is_log ? fmax(y, low) : y);
        fprintf(script, fabs(y) >= 1000 && fabs(y) < 1e6 ? "%.0f\n" : "%.3g\n", y);
    }
    fprintf(script, "e");
}

static void print_curves(FILE *script, const bench_plot *plot) {
    static const char *const styles[] = {
        [BENCH_PLOT_AREA] = "filledcurves x1 fillstyle transparent solid 0.35 noborder",
        [BENCH_PLOT_LINE] = "lines linewidth 2",
        [BENCH_PLOT_DOTS] = "lines linewidth 1.5 dashtype 3",
        [BENCH_PLOT_POINTS] = "points pointtype 7 pointsize 0.8",
        [BENCH_PLOT_MARKED] = "linespoints linewidth 1.5 pointtype 6 pointsize 0.8",
        [BENCH_PLOT_BAR] = "boxes fillstyle solid noborder"};
    fprintf(script, "plot ");
    for (size_t s = 0; s < plot->series_count; s++) {
        const bench_plot_series *series = &plot->series[s];
        fprintf(script, "%s$data using ", s ? ", " : "");
        fprintf(script, plot->labels ? "0:%zu:xticlabels(1)" : "1:%zu", s + 2);
        fprintf(script, " with %s linecolor rgb '%s' ", styles[series->style], series->color);
        if (series->label) {
            fprintf(script, "title ");
            print_quoted(script, series->label);
        } else {
            fprintf(script, "notitle");
        }
    }
    if (is_bars_alone(plot)) print_values(script, plot);
    fputc('\n', script);
}

int bench_plot_write(const bench_plot *plot, const char *path, bench_error *error) {
    if (system("command -v gnuplot >/dev/null 2>&1") != 0) {
        return bench_error_set(error, "no plot %s: gnuplot is not installed", path);
    }
    if (strchr(path, '\n')) {
        return bench_error_set(error, "no plot: its file name has a line break");
    }
    FILE *script = popen("gnuplot >/dev/null 2>&1", "w");
    if (!script) {
        return bench_error_set(error, "no plot %s: gnuplot cannot be started", path);
    }
    /* A gnuplot that stops early closes the pipe, which must not end this program. */
    void (*before)(int) = signal(SIGPIPE, SIG_IGN);
    print_header(script, plot, path);
    print_data(script, plot);
    print_curves(script, plot);
    int status = pclose(script);
    signal(SIGPIPE, before);
    if (status != 0) {
        return bench_error_set(error, "no plot %s: gnuplot failed", path);
    }
    return 0;
}
