/* Time series. See series.h. */
#include "series.h"

#include <assert.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void bench_series_release(bench_series *series) {
    free(series->values);
    *series = (bench_series){.columns = 0};
}

void bench_series_add_column(bench_series *series, const char *format, ...) {
    va_list arguments;
    assert(series->columns < BENCH_SERIES_COLUMNS_MAX && !series->values);
    va_start(arguments, format);
    vsnprintf(series->names[series->columns++], sizeof *series->names, format, arguments);
    va_end(arguments);
}

double *bench_series_add_row(bench_series *series) {
    if (series->rows == series->capacity) {
        size_t capacity = series->capacity ? 2 * series->capacity : 64;
        double *values = realloc(series->values, capacity * series->columns * sizeof *values);
        if (!values) {
            return NULL;
        }
        series->values = values;
        series->capacity = capacity;
    }
    double *row = series->values + series->rows++ * series->columns;
    memset(row, 0, series->columns * sizeof *row);
    return row;
}

int bench_series_find(const bench_series *series, const char *column) {
    for (size_t i = 0; i < series->columns; i++) {
        if (strcmp(series->names[i], column) == 0) {
            return (int)i;
        }
    }
    return -1;
}

double bench_series_max(const bench_series *series, const char *column) {
    int at = bench_series_find(series, column);
    double max = 0;
    for (size_t i = 0; at >= 0 && i < series->rows; i++) {
        double value = series->values[i * series->columns + (size_t)at];
        max = i == 0 || value > max ? value : max;
    }
    return max;
}

double *bench_series_copy_column(const bench_series *series, const char *column, size_t rows) {
    int at = bench_series_find(series, column);
    double *copy = at < 0 ? NULL : calloc(rows, sizeof *copy);
    for (size_t i = 0; copy && i < rows && i < series->rows; i++) {
        copy[i] = series->values[i * series->columns + (size_t)at];
    }
    return copy;
}

int bench_series_compare(const bench_series *series, const bench_series *expected, size_t columns,
                         bench_error *difference) {
    size_t rows = series->rows < expected->rows ? series->rows : expected->rows;
    for (size_t row = 0; row < rows; row++) {
        const double *found = series->values + row * series->columns;
        const double *wanted = expected->values + row * expected->columns;
        for (size_t i = 0; i < columns; i++) {
            if (found[i] != wanted[i]) {
                bench_error_set(difference, "in sample %zu, %s %.10g, the %s are %.10g, not %.10g",
                                row, series->names[0], found[0], series->names[i], found[i],
                                wanted[i]);
                return 1;
            }
        }
    }
    return 0;
}

int bench_series_write_csv(const bench_series *series, const char *path, bench_error *error) {
    FILE *file = fopen(path, "w");
    if (!file) {
        return bench_error_set(error, "cannot write %s", path);
    }
    for (size_t i = 0; i < series->columns; i++) {
        fprintf(file, "%s%s", i ? "," : "", series->names[i]);
    }
    for (size_t i = 0; i < series->rows * series->columns; i++) {
        fprintf(file, "%s%.10g", i % series->columns ? "," : "\n", series->values[i]);
    }
    fprintf(file, "\n");
    int bad = ferror(file);
    bad |= fclose(file);
    return bad ? bench_error_set(error, "cannot write all of %s", path) : 0;
}

/* The names, up to the end of the first line. */
static int read_names(bench_series *series, FILE *file) {
    char name[sizeof *series->names] = "";
    size_t length = 0;
    for (int c = getc(file); c != EOF && series->columns < BENCH_SERIES_COLUMNS_MAX;
         c = getc(file)) {
        if (c != ',' && c != '\n') {
            if (length + 1 == sizeof name) return -1;
            name[length++] = (char)c;
            continue;
        }
        name[length] = '\0';
        length = 0;
        bench_series_add_column(series, "%s", name);
        if (c == '\n') return 0;
    }
    return -1;
}

int bench_series_read_csv(bench_series *series, const char *path, bench_error *error) {
    FILE *file = fopen(path, "r");
    if (!file) {
        return bench_error_set(error, "cannot read %s", path);
    }
    int bad = read_names(series, file);
    double value;
    char end;
    size_t column = 0;
    int got = 0;
    for (size_t i = 0; !bad && (got = fscanf(file, "%lf%c", &value, &end)) == 2; i++) {
        column = i % series->columns;
        double *row = column ? series->values + (series->rows - 1) * series->columns
                             : bench_series_add_row(series);
        bad = !row || end != (column + 1 < series->columns ? ',' : '\n');
        if (row) row[column] = value;
    }
    bad |= got != EOF || !feof(file) || (series->rows && column + 1 < series->columns); /* cut */
    fclose(file);
    return bad ? bench_error_set(error, "%s is no table of numbers under names", path) : 0;
}
