/* A time series: rows of numbers under named columns, such as steps, objects and slots.
 *
 * Columns are added before the first row. All zero is an empty series.
 *
 * Read first: error.h.
 */
#ifndef BENCH_SERIES_H
#define BENCH_SERIES_H

#include <stddef.h>

#include "error.h"

#define BENCH_SERIES_COLUMNS_MAX 64

typedef struct bench_series {
    char names[BENCH_SERIES_COLUMNS_MAX][72];
    size_t columns;
    double *values; /* row by row */
    size_t rows, capacity;
} bench_series;

void bench_series_release(bench_series *series);

void bench_series_add_column(bench_series *series, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* The new row, all zero; NULL if host memory ran out. Valid until the next one is added. */
double *bench_series_add_row(bench_series *series);

/* The index of the column, or -1. */
int bench_series_find(const bench_series *series, const char *column);

/* The greatest value of a column; 0 without rows. */
double bench_series_max(const bench_series *series, const char *column);

/* A copy of a column of at least `rows` values, 0 after its last row; NULL if host memory ran out
 * or there is no such column. Released by free(). */
double *bench_series_copy_column(const bench_series *series, const char *column, size_t rows);

/* Compare the rows that both have in the first `columns` columns, whose names agree. Returns 0 if
 * they are equal, else 1 and a sentence about the first difference. */
int bench_series_compare(const bench_series *series, const bench_series *expected, size_t columns,
                         bench_error *difference);

/* A line of names, then a line for each row. */
int bench_series_write_csv(const bench_series *series, const char *path, bench_error *error);

/* What bench_series_write_csv() wrote. `series` has no columns yet; it is released in any case. */
int bench_series_read_csv(bench_series *series, const char *path, bench_error *error);

#endif
