/* The tables and figures of a paper, its values beside ours: what is run for them and what stands
 * in each cell.
 *
 * A paper is data, in a file of its own: thesis.c, ismm.c, maas.c, eichinger.c. paper.c runs what
 * its items ask for; table.c writes tables and plots from the results; words.c evaluates cells.
 *
 * A cell is a text: a value of the paper, as it is printed there. Or it is computed from our runs:
 *
 *     =RUN:METRIC        the median of a metric; METRIC.min, .max
 *     =RUN@COLUMN.max    of the series that the run wrote: .max, .last, .mean, and .at, the first
 *                        column where the maximum is. NAME.json keeps them as `series` of the run:
 *                        only curves need the series itself
 *     #...               the same of what does not depend on the device, such as a number of moves:
 *                        a run on another one will do where there is none
 *     WORD//WORD         a ratio, of which one may be a number of the paper
 *     WORD*NUMBER        a product, as for other units
 *     ...|percent        a share as percent;  ...|gain  what is missing to 1, as percent
 *
 * Where there is no such run the cell says "not run yet". No cell holds a number of ours.
 *
 * Invariant: each run that a cell, a curve or a picture names is in the paper's list.
 *
 * Read first: bench.h. Read next: thesis.c, paper.c.
 */
#ifndef BENCH_PAPER_H
#define BENCH_PAPER_H

#include <cjson/cJSON.h>

#include "bench/harness/bench.h"

#define PAPER_CELLS_MAX 12
#define PAPER_ROWS_MAX 48
#define PAPER_CURVES_MAX 12
#define PAPER_FOLDERS_MAX 8

/* "key=value key=value" for the paper's set-up, and for seconds on a CPU, NULL if it takes longer
 * there, as where a program of its own has to be compiled. "@NAME" in it is a file that is not in
 * the repository, in the folder --data. */
typedef struct paper_run {
    const char *name; /* NULL ends a list */
    const char *benchmark, *full, *small;
} paper_run;

typedef struct paper_row {
    const char *cells[PAPER_CELLS_MAX]; /* the first is the row's name; NULL ends a row */
} paper_row;

/* A column of the series of a run, over its first one. */
typedef struct paper_curve {
    const char *label, *run, *column;
    double x, y;      /* run NULL: a point of the paper */
    int has_dots;     /* drawn dotted */
    const char *over; /* the column to draw it over; NULL: the first one */
} paper_curve;

typedef struct paper_item {
    const char *name;       /* "figure-5.12A"; NULL ends a list */
    const char *title;      /* what it shows */
    const char *place;      /* where the paper has its values */
    const char *difference; /* in which ours differ, or why the item does not apply: sentences */
    const char *y_label; /* of the plot of a table, where heads of drawn columns begin with '+' */
    int is_log;
    const char *x_label, *curves_y;       /* of the plot of curves */
    const char *picture;                  /* a run whose last state is drawn */
    paper_row head, rows[PAPER_ROWS_MAX]; /* no head: no table */
    paper_curve curves[PAPER_CURVES_MAX]; /* ended by one without label */
} paper_item;

typedef struct paper {
    const char *name, *title;
    const paper_run *runs;
    const paper_item *items;
} paper;

extern const paper paper_thesis, paper_ismm, paper_maas, paper_eichinger;

/* ---- Results (words.c) ----------------------------------------------------------------------- */

typedef struct paper_results {
    const paper *of;
    int is_small;
    char data[BENCH_TEXT_BYTES]; /* folder of files that are not in the repository, or empty */
    /* The first one's device is the one that counts. Of another device only that is taken which no
     * device decides. */
    const char *folders[PAPER_FOLDERS_MAX];
    cJSON *roots[PAPER_FOLDERS_MAX][2]; /* NAME.json and suite.json there; NULL: none */
    size_t folder_count;
    bench_values *values; /* of each run */
} paper_results;

/* Values of all runs, and no folder yet. What it made is released in any case. */
int paper_results_create(const paper *of, int is_small, const char *data, paper_results *results,
                         bench_error *error);
void paper_results_release(paper_results *results);

/* Read what is in a folder. One without either file is an error. */
int paper_results_add(paper_results *results, const char *folder, bench_error *error);

/* What is set in a run, with @NAME replaced, into `text` of BENCH_TEXT_BYTES. Returns -1 and a
 * sentence if a file is needed that is not there. */
int paper_run_set(const paper_results *results, const paper_run *run, char *text,
                  bench_error *error);

/* The index of a run, or -1. */
int paper_find_run(const paper *of, const char *name, size_t length);

/* The run in that folder: of that benchmark with these parameters, files and checks aside. NULL:
 * none. */
const cJSON *paper_find_entry(const paper_results *results, size_t folder, int run);

/* The name of the folder's device if it is not that of the first folder, otherwise NULL. */
const char *paper_other_device(const paper_results *results, size_t folder);

/* Where the series of a run is, into `path` of BENCH_TEXT_BYTES. */
void paper_series_path(const paper_results *results, size_t folder, int run, char *path);

/* Put those numbers of the run's series that cells name into its entry. */
int paper_keep_series(const paper *of, int run, const char *path, cJSON *entry, bench_error *error);

/* Whether the item is one of `only`, of which none are all; whether one that is needs the run; and
 * its series. */
int paper_is_asked(const paper_item *item, const char *const *only, size_t only_count);
int paper_needs_run(const paper *of, int run, const char *const *only, size_t only_count);
int paper_uses_series(const paper *of, int run);

/* Whether a cell is computed, and not a value of the paper. */
int paper_is_ours(const char *cell);

/* The text of a cell, and its number, NAN if it has none. */
typedef struct paper_cell {
    char text[160];
    double number;
} paper_cell;
paper_cell paper_evaluate(const paper_results *results, const char *cell);

/* ---- Tables and plots (table.c) -------------------------------------------------------------- */

/* NAME.md, and for each of the items a CSV and plots, into `folder`. `only` NULL: all. */
int paper_write(const paper_results *results, const char *const *only, size_t only_count,
                const char *folder, bench_error *error);

#endif
