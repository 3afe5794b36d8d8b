/* Files of graphs. See pairs.h.
 *
 * HGRAPH; Matrix Market; lists of edges, a line each: two vertices, and behind them nothing, or as
 * many numbers in each line, or words. Each may be compressed by gzip. Lines that begin with % are
 * comments, in lists those with # too. A list has nothing that says what it is, so it is refused
 * where another format could look like it: METIS and lists of neighbours have lines of several
 * lengths, others begin with a line of counts.
 *
 * Read first: pairs.h.
 */
#include <ctype.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <zlib.h>

#include "pairs.h"

#define VERTICES_MAX (UINT32_MAX - 2)

typedef struct reader {
    gzFile file;
    const char *path;
    bench_error *error;
    char *line; /* without its end */
    size_t room;
    uint64_t number;
} reader;

__attribute__((format(printf, 2, 3))) static int wrong(const reader *r, const char *format, ...) {
    char what[400];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(what, sizeof what, format, arguments);
    va_end(arguments);
    return bench_error_set(r->error, "%s, line %" PRIu64 ": %s", r->path, r->number, what);
}

static int ran_out(const reader *r) {
    return bench_error_set(r->error, "host memory ran out for %s", r->path);
}

/* Returns 1; 0 at the end of the file, -1 with an error. */
static int next_line(reader *r) {
    size_t length = 0;
    int c;
    r->number++;
    do {
        if (length + 1 >= r->room) {
            char *more = realloc(r->line, r->room += r->room + 256);
            if (!more) return ran_out(r);
            r->line = more;
        }
        if ((c = gzgetc(r->file)) == 0) return wrong(r, "a zero byte; this is no text");
        if (c > 0 && c != '\n') r->line[length++] = (char)c;
    } while (c > 0 && c != '\n');
    if (c < 0) {
        int code;
        const char *why = gzerror(r->file, &code);
        if (code != Z_OK && code != Z_STREAM_END)
            return wrong(r, "the file is cut or damaged: %s", why);
        if (!length) return 0;
    }
    while (length && isspace((unsigned char)r->line[length - 1])) length--;
    r->line[length] = 0;
    if (r->number == 1 && strncmp(r->line, "\xef\xbb\xbf", 3) == 0) /* a byte order mark */
        memmove(r->line, r->line + 3, length - 2);
    return 1;
}

static const char *skip_blanks(const char *at) {
    return at + strspn(at, " \t");
}

/* A word of digits; the largest number if it is larger. Returns what is behind it, NULL if there is
 * none. */
static const char *take_number(const char *at, uint64_t *number) {
    at = skip_blanks(at);
    if (!isdigit((unsigned char)*at)) return NULL;
    for (*number = 0; isdigit((unsigned char)*at); at++)
        *number =
            *number > (UINT64_MAX - 9) / 10 ? UINT64_MAX : 10 * *number + (uint64_t)(*at - '0');
    return *at == 0 || *at == ' ' || *at == '\t' ? at : NULL;
}

/* How many words there are; -1 if one is no number. */
static int count_numbers(const char *at) {
    int count = 0;
    for (at = skip_blanks(at); *at; at = skip_blanks(at), count++) {
        char *end;
        strtod(at, &end);
        if (end == at || (*end && *end != ' ' && *end != '\t')) return -1;
        at = end;
    }
    return count;
}

/* ---- Matrix Market --------------------------------------------------------------------------- */

static const char *take_word(const char *at, char *word, size_t room) {
    at = skip_blanks(at);
    size_t bytes = strcspn(at, " \t");
    snprintf(word, room, "%.*s", (int)(bytes < room ? bytes : 0), at);
    return at + bytes;
}

/* The numbers behind the two of an entry; -1 with an error. */
static int take_banner(const reader *r) {
    static const struct {
        const char *name;
        int numbers;
    } fields[] = {{"pattern", 0}, {"real", 1},    {"double", 1},
                  {"integer", 1}, {"complex", 2}, {"unsigned-integer", 1}};
    static const char *const symmetries[] = {"general", "symmetric", "skew-symmetric", "hermitian"};
    char words[5][20];
    const char *at = r->line;
    for (int i = 0; i < 5; i++) at = take_word(at, words[i], sizeof words[i]);
    if (strcasecmp(words[1], "matrix") != 0 || strcasecmp(words[2], "coordinate") != 0)
        return wrong(r, "only a \"matrix coordinate\" is a graph, this is a \"%s %s\"", words[1],
                     words[2]);
    size_t field = 0, symmetry = 0;
    while (field < 6 && strcasecmp(words[3], fields[field].name) != 0) field++;
    while (symmetry < 4 && strcasecmp(words[4], symmetries[symmetry]) != 0) symmetry++;
    if (field == 6 || symmetry == 4 || *skip_blanks(at))
        return wrong(r,
                     "expected real, integer, complex or pattern, and general, symmetric, "
                     "skew-symmetric or hermitian");
    return fields[field].numbers;
}

static int take_sizes(const reader *r, graph_pairs *p, uint64_t *entries) {
    uint64_t rows = 0, columns = 0;
    const char *at = take_number(r->line, &rows);
    if (at) at = take_number(at, &columns);
    if (at) at = take_number(at, entries);
    if (!at || *skip_blanks(at)) return wrong(r, "expected the numbers of rows, columns, entries");
    if (rows != columns)
        return wrong(r, "%" PRIu64 " rows and %" PRIu64 " columns; a graph has a square matrix",
                     rows, columns);
    if (rows > VERTICES_MAX)
        return wrong(r, "%" PRIu64 " vertices; at most %u are possible", rows, VERTICES_MAX);
    p->vertices = (uint32_t)rows;
    return 0;
}

static int read_matrix(reader *r, graph_pairs *p) {
    uint64_t entries = 0, got = 0;
    int has_sizes = 0, more, numbers = take_banner(r);
    if (numbers < 0) return -1;
    while ((more = next_line(r)) > 0) {
        uint64_t ends[2];
        if (*r->line == '%' || !*skip_blanks(r->line)) continue;
        if (!has_sizes) {
            if (take_sizes(r, p, &entries)) return -1;
            has_sizes = 1;
            continue;
        }
        const char *at = take_number(r->line, &ends[0]);
        if (at) at = take_number(at, &ends[1]);
        if (!at || count_numbers(at) != numbers)
            return wrong(r, "expected a row, a column, and %s",
                         numbers == 0   ? "nothing else"
                         : numbers == 1 ? "a number"
                                        : "two numbers");
        for (int i = 0; i < 2; i++)
            if (ends[i] < 1 || ends[i] > p->vertices)
                return wrong(r, "%" PRIu64 " is no vertex; they are counted from 1 to %u", ends[i],
                             p->vertices);
        if (++got > entries) return wrong(r, "there are more than %" PRIu64 " entries", entries);
        if (graph_pairs_add(p, (uint32_t)ends[0] - 1, (uint32_t)ends[1] - 1)) return ran_out(r);
    }
    if (more < 0) return -1;
    if (!has_sizes) return wrong(r, "the file ends before the numbers of rows, columns, entries");
    return got == entries
               ? 0
               : wrong(r, "the file ends after %" PRIu64 " of %" PRIu64 " entries", got, entries);
}

/* ---- Lists ----------------------------------------------------------------------------------- */

typedef struct list {
    uint64_t first[4], lines,
        largest; /* the first line; lines after it, and their largest vertex */
    int columns; /* numbers of a line; -1: there are words behind the two */
} list;

static int take_edge(const reader *r, list *l, graph_pairs *p) {
    uint64_t ends[2];
    const char *at = take_number(r->line, &ends[0]);
    if (at) at = take_number(at, &ends[1]);
    if (!at || ends[0] > VERTICES_MAX || ends[1] > VERTICES_MAX)
        return wrong(r, "expected two numbers of vertices, up to %u, with a blank between them",
                     VERTICES_MAX);
    int columns = count_numbers(r->line);
    if (!l->columns) { /* the first line */
        l->columns = columns;
        at = r->line;
        for (int i = 0; i < columns && i < 4 && at; i++) at = take_number(at, &l->first[i]);
    } else if (columns != l->columns && columns >= 0 && l->columns >= 0) {
        return wrong(
            r,
            "%d numbers, where the lines before have %d. METIS and lists of neighbours are "
            "not read; a line of counts must begin with #",
            columns, l->columns);
    } else {
        l->lines++;
        for (int i = 0; i < 2; i++)
            if (ends[i] > l->largest) l->largest = ends[i];
    }
    return graph_pairs_add(p, (uint32_t)ends[0], (uint32_t)ends[1]) ? ran_out(r) : 0;
}

/* Whether the first line can be the number of vertices, with which all others agree, and the number
 * of lines that follow: of edges, or, as METIS has it, of vertices. */
static int has_counts(const list *l) {
    if (l->columns < 2 || !l->lines || l->largest > l->first[0]) return 0;
    for (int i = 0; i < l->columns && i < 4; i++)
        if (l->first[i] == l->lines) return 1;
    return 0;
}

static int read_list(reader *r, graph_pairs *p) {
    list l = {0};
    int more = 1;
    for (; more > 0; more = next_line(r))
        if (!strchr("#%", *r->line) && *skip_blanks(r->line) && take_edge(r, &l, p)) return -1;
    if (more < 0) return -1;
    if (has_counts(&l))
        return bench_error_set(
            r->error,
            "%s: the first line may be an edge, or counts: %" PRIu64
            " lines follow, with vertices up to %" PRIu64
            ". Let counts begin with #, or an edge stand elsewhere; METIS is not "
            "read",
            r->path, l.lines, l.largest);
    return 0;
}

/* ---- Files ----------------------------------------------------------------------------------- */

static int has_end(const char *path, const char *end) {
    size_t bytes = strlen(path), length = strlen(end);
    return bytes >= length && strcasecmp(path + bytes - length, end) == 0;
}

static int read_lines(reader *r, graph_pairs *p) {
    int more = next_line(r);
    if (more < 0) return -1;
    if (!more) return bench_error_set(r->error, "%s is empty", r->path);
    if (strncasecmp(r->line, "%%MatrixMarket", 14) == 0) return read_matrix(r, p);
    if (has_end(r->path, ".mtx") || has_end(r->path, ".mtx.gz"))
        return wrong(r, "a file of Matrix Market begins with %%%%MatrixMarket");
    return read_list(r, p);
}

static int is_hgraph(gzFile file) {
    char magic[8] = "";
    int got = gzread(file, magic, sizeof magic);
    gzrewind(file);
    return got == (int)sizeof magic && memcmp(magic, "HGRAPH1", 8) == 0;
}

int graph_file_read(const char *path, graph_pairs *p, bench_error *error) {
    mark_graph read;
    reader r = {.file = gzopen(path, "rb"), /* reads what is not compressed as it is */
                .path = path,
                .error = error};
    if (!r.file) return bench_error_set(error, "cannot open %s", path);
    int is_binary = is_hgraph(r.file);
    int result = is_binary ? 0 : read_lines(&r, p);
    gzclose(r.file);
    free(r.line);
    if (!is_binary) return result;
    if (mark_graph_read(path, &read, error)) return -1;
    p->vertices = read.own; /* some may have no edge */
    result = graph_pairs_add_all(p, &read);
    mark_graph_release(&read);
    return result ? bench_error_set(error, "host memory ran out for %s", path) : 0;
}
