/* The tables and plots of a paper, from results and nothing else. See paper.h.
 *
 * Read first: paper.h, plot.h.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench/harness/plot.h"
#include "bench/harness/series.h"
#include "bench/suite/suite.h"
#include "paper.h"

static const char *const colors[] = {"#d62728", "#1f77b4", "#2ca02c", "#ff7f0e",
                                     "#9467bd", "#8c564b", "#17becf", "#7f7f7f",
                                     "#bcbd22", "#e377c2", "#000000", "#aec7e8"};
#define COLORS (sizeof colors / sizeof *colors)

static void join(char *path, size_t bytes, const char *folder, const paper_results *results,
                 const paper_item *item, const char *end) {
    snprintf(path, bytes, "%s%s%s-%s%s", folder, *folder ? "/" : "", results->of->name, item->name,
             end);
}

static const char *head_of(const paper_item *item, int column) {
    const char *head = item->head.cells[column];
    return *head == '+' ? head + 1 : head;
}

/* ---- Tables ---------------------------------------------------------------------------------- */

static int count_rows(const paper_item *item) {
    int rows = 0;
    while (rows < PAPER_ROWS_MAX && item->rows[rows].cells[0]) rows++;
    return rows;
}

static int count_columns(const paper_item *item) {
    int columns = 0;
    while (columns < PAPER_CELLS_MAX && item->head.cells[columns]) columns++;
    return columns;
}

static paper_cell cell_at(const paper_results *results, const paper_item *item, int row,
                          int column) {
    const char *cell = item->rows[row].cells[column];
    return cell ? paper_evaluate(results, cell) : (paper_cell){"", NAN};
}

static void print_table(FILE *file, const paper_results *results, const paper_item *item) {
    int columns = count_columns(item), rows = count_rows(item);
    for (int c = 0; c < columns; c++) fprintf(file, "| %s ", head_of(item, c));
    fprintf(file, "|\n");
    for (int c = 0; c < columns; c++) fprintf(file, "|---");
    fprintf(file, "|\n");
    for (int r = 0; r < rows; r++) {
        for (int c = 0; c < columns; c++) fprintf(file, "| %s ", cell_at(results, item, r, c).text);
        fprintf(file, "|\n");
    }
    fprintf(file, "\n");
}

static void print_quoted(FILE *file, const char *text) {
    fputc('"', file);
    for (; *text; text++) {
        if (*text == '"') fputc('"', file);
        fputc(*text, file);
    }
    fputc('"', file);
}

/* Numbers in full, everything else as it stands in the table. */
static int write_csv(const paper_results *results, const paper_item *item, const char *folder,
                     bench_error *error) {
    char path[2 * BENCH_TEXT_BYTES];
    join(path, sizeof path, folder, results, item, ".csv");
    FILE *file = fopen(path, "w");
    if (!file) return bench_error_set(error, "cannot write %s", path);
    int columns = count_columns(item), rows = count_rows(item);
    for (int c = 0; c < columns; c++) {
        if (c) fputc(',', file);
        print_quoted(file, head_of(item, c));
    }
    for (int r = 0; r < rows; r++) {
        for (int c = 0; c < columns; c++) {
            paper_cell cell = cell_at(results, item, r, c);
            fputs(c ? "," : "\n", file);
            if (c && !isnan(cell.number)) {
                fprintf(file, "%.10g", cell.number);
            } else {
                print_quoted(file, cell.text);
            }
        }
    }
    fprintf(file, "\n");
    int bad = ferror(file);
    bad |= fclose(file) != 0;
    return bad ? bench_error_set(error, "cannot write all of %s", path) : 0;
}

/* ---- The plot of a table --------------------------------------------------------------------- */

static int draw(const bench_plot *plot, const char *path) {
    bench_error error;
    if (bench_plot_write(plot, path, &error) == 0) return 1;
    fprintf(stderr, "clump-bench: %s\n", error.text);
    return 0;
}

/* Whether the plot would have a value of ours: a column of words with a number. */
static int has_ours(const paper_results *results, const paper_item *item) {
    for (int r = 0; r < count_rows(item); r++) {
        for (int c = 1; c < count_columns(item); c++) {
            const char *cell = item->rows[r].cells[c];
            if (paper_is_ours(cell) && *item->head.cells[c] == '+' &&
                !isnan(paper_evaluate(results, cell).number))
                return 1;
        }
    }
    return 0;
}

static int draw_table(const paper_results *results, const paper_item *item, const char *path) {
    double x[PAPER_ROWS_MAX], y[PAPER_CELLS_MAX][PAPER_ROWS_MAX];
    const char *labels[PAPER_ROWS_MAX];
    int rows = count_rows(item), is_number = 1;
    if (!item->y_label || !has_ours(results, item)) return 0;
    for (int r = 0; r < rows; r++) {
        char *end = NULL;
        labels[r] = item->rows[r].cells[0];
        x[r] = strtod(labels[r], &end);
        is_number &= end > labels[r] && *end == '\0';
    }
    bench_plot plot = {.title = item->title,
                       .x_label = head_of(item, 0),
                       .y_label = item->y_label,
                       .x = is_number ? x : NULL,
                       .labels = is_number ? NULL : labels,
                       .points = (size_t)rows,
                       .is_log_x = is_number && rows > 1 && x[0] > 0 && x[rows - 1] > 100 * x[0],
                       .is_log_y = item->is_log};
    for (int c = 1; c < count_columns(item); c++) {
        if (*item->head.cells[c] != '+') continue;
        for (int r = 0; r < rows; r++) y[c][r] = cell_at(results, item, r, c).number;
        plot.series[plot.series_count++] =
            (bench_plot_series){head_of(item, c), colors[(size_t)c % COLORS],
                                is_number ? BENCH_PLOT_MARKED : BENCH_PLOT_POINTS, y[c]};
    }
    return draw(&plot, path);
}

/* ---- The plot of curves ---------------------------------------------------------------------- */

/* Points of all curves over all places of any, in their order. */
typedef struct curves {
    double *x, *y; /* y: of each place, all curves */
    size_t places, capacity;
    int count;
} curves;

static double *place_of(curves *all, double x) {
    size_t at = all->places;
    while (at > 0 && all->x[at - 1] >= x) at--;
    if (at < all->places && all->x[at] <= x) return all->y + at * PAPER_CURVES_MAX;
    if (all->places == all->capacity) {
        size_t capacity = all->capacity ? 2 * all->capacity : 256;
        double *xs = realloc(all->x, capacity * sizeof *xs);
        if (xs) all->x = xs;
        double *ys = xs ? realloc(all->y, capacity * PAPER_CURVES_MAX * sizeof *ys) : NULL;
        if (!ys) return NULL;
        all->y = ys;
        all->capacity = capacity;
    }
    size_t behind = all->places++ - at;
    double *values = all->y + at * PAPER_CURVES_MAX;
    memmove(all->x + at + 1, all->x + at, behind * sizeof *all->x);
    memmove(values + PAPER_CURVES_MAX, values, behind * PAPER_CURVES_MAX * sizeof *values);
    all->x[at] = x;
    for (int i = 0; i < PAPER_CURVES_MAX; i++) values[i] = NAN;
    return values;
}

/* Returns 1 if the curve is there. */
static int add_series(const paper_results *results, const paper_curve *curve, int index,
                      curves *all) {
    char path[BENCH_TEXT_BYTES];
    bench_series series = {.columns = 0};
    bench_error error;
    int run = paper_find_run(results->of, curve->run, strlen(curve->run)), is_there = 0;
    for (size_t folder = 0; run >= 0 && !is_there && folder < results->folder_count; folder++) {
        if (!paper_find_entry(results, folder, run)) continue;
        paper_series_path(results, folder, run, path);
        int is_read = bench_series_read_csv(&series, path, &error) == 0;
        int y = is_read ? bench_series_find(&series, curve->column) : -1;
        int x = is_read && curve->over ? bench_series_find(&series, curve->over) : 0;
        for (size_t row = 0; y >= 0 && x >= 0 && row < series.rows; row++) {
            const double *values = series.values + row * series.columns;
            double *place = place_of(all, values[x]);
            if (place) place[index] = values[y];
            is_there = 1;
        }
        bench_series_release(&series);
    }
    return is_there;
}

static int draw_curves(const paper_results *results, const paper_item *item, const char *path) {
    curves all = {.count = 0};
    int is_there = 0, result = 0;
    for (; all.count < PAPER_CURVES_MAX && item->curves[all.count].label; all.count++) {
        const paper_curve *curve = &item->curves[all.count];
        if (curve->run) {
            is_there |= add_series(results, curve, all.count, &all);
        } else {
            double *place = place_of(&all, curve->x);
            if (place) place[all.count] = curve->y;
        }
    }
    double *column = malloc((all.places + 1) * PAPER_CURVES_MAX * sizeof *column);
    if (is_there && column) {
        bench_plot plot = {.title = item->title,
                           .x_label = item->x_label,
                           .y_label = item->curves_y,
                           .x = all.x,
                           .points = all.places,
                           .is_log_y = item->is_log,
                           .series_count = (size_t)all.count};
        for (int i = 0; i < all.count; i++) {
            const paper_curve *curve = &item->curves[i];
            double *y = column + (size_t)i * all.places;
            for (size_t p = 0; p < all.places; p++) y[p] = all.y[p * PAPER_CURVES_MAX + (size_t)i];
            plot.series[i] = (bench_plot_series){curve->label, colors[(size_t)i % COLORS],
                                                 !curve->run       ? BENCH_PLOT_POINTS
                                                 : curve->has_dots ? BENCH_PLOT_DOTS
                                                                   : BENCH_PLOT_LINE,
                                                 y};
        }
        result = draw(&plot, path);
    }
    free(column);
    free(all.x);
    free(all.y);
    return result;
}

/* ---- The page -------------------------------------------------------------------------------- */

static void print_picture(FILE *file, const paper_item *item, const char *path) {
    const char *name = strrchr(path, '/');
    fprintf(file, "![%s](%s)\n\n", item->title, name ? name + 1 : path);
}

static int is_file(const char *path) {
    FILE *file = fopen(path, "rb");
    return file && fclose(file) == 0;
}

static int print_item(FILE *file, const paper_results *results, const paper_item *item,
                      const char *folder, bench_error *error) {
    char path[2 * BENCH_TEXT_BYTES];
    fprintf(file, "## %s: %s\n\nTheirs: %s.", item->name, item->title, item->place);
    int is_run = item->head.cells[0] || item->curves[0].label || item->picture;
    if (is_run)
        fprintf(file, " Ours: `clump-bench paper %s --only %s`.", results->of->name, item->name);
    fprintf(file, "\n\n");
    if (item->head.cells[0]) {
        print_table(file, results, item);
        if (write_csv(results, item, folder, error)) return -1;
        join(path, sizeof path, folder, results, item, ".svg");
        if (draw_table(results, item, path)) print_picture(file, item, path);
    }
    if (item->curves[0].label) {
        join(path, sizeof path, folder, results, item, "-curves.svg");
        if (draw_curves(results, item, path)) print_picture(file, item, path);
    }
    join(path, sizeof path, folder, results, item, ".png");
    if (item->picture && is_file(path)) print_picture(file, item, path);
    fprintf(file, "%s\n\n", item->difference);
    return 0;
}

static void print_runs(FILE *file, const paper_results *results, const char *const *only,
                       size_t only_count) {
    fprintf(file, "## Runs of %s\n\n| run | benchmark | parameters | check |\n|---|---|---|---|\n",
            results->of->name);
    for (int i = 0; results->of->runs[i].name; i++) {
        const paper_run *run = &results->of->runs[i];
        if (!paper_needs_run(results->of, i, only, only_count)) continue;
        const cJSON *entry = NULL;
        size_t folder = 0;
        for (; folder < results->folder_count; folder++)
            if ((entry = paper_find_entry(results, folder, i))) break;
        const char *result = cJSON_GetStringValue(
            cJSON_GetObjectItem(cJSON_GetObjectItem(entry, "check"), "result"));
        const char *other = entry ? paper_other_device(results, folder) : NULL;
        const char *set = results->is_small ? run->small : run->full;
        if (!set) continue;
        fprintf(file, "| %s | `%s` | %s%s%s | %s%s%s%s |\n", run->name, run->benchmark,
                *set ? "`" : "", set, *set ? "`" : "", result ? result : "not run yet",
                other ? " (" : "", other ? other : "", other ? ")" : "");
    }
}

int paper_write(const paper_results *results, const char *const *only, size_t only_count,
                const char *folder, bench_error *error) {
    char path[2 * BENCH_TEXT_BYTES];
    snprintf(path, sizeof path, "%s/%s.md", folder, results->of->name);
    FILE *file = fopen(path, "w");
    int result = 0;
    if (!file) return bench_error_set(error, "cannot write %s", path);
    fprintf(file, "# %s\n\n", results->of->title);
    if (results->is_small)
        fprintf(file,
                "Small set-ups, which only show that everything runs. Do not compare these "
                "numbers with the paper's.\n\n");
    for (const paper_item *item = results->of->items; result == 0 && item->name; item++) {
        if (paper_is_asked(item, only, only_count))
            result = print_item(file, results, item, folder, error);
    }
    print_runs(file, results, only, only_count);
    int bad = ferror(file);
    bad |= fclose(file) != 0;
    if (result == 0 && bad) result = bench_error_set(error, "cannot write all of %s", path);
    return result;
}
