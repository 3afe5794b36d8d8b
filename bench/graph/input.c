/* Undirected graphs: made by rule, or read from a file. See input.h. */
#include "input.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "bench/harness/hash.clh"
#include "bench/mark/graph.h"

#define POWER 2.3
#define SHORT 32u
#define LINE_BYTES 1024

typedef struct pairs { /* from and to of each edge, as they come */
    uint32_t *ends;
    uint64_t count, room;
    uint32_t vertices;
} pairs;

void graph_release(graph *g) {
    free(g->offset);
    free(g->target);
    memset(g, 0, sizeof *g);
}

static int compare(const void *a, const void *b) {
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    return (x > y) - (x < y);
}

/* Most lists are short, and qsort() calls for each comparison. */
void graph_sort(uint32_t *numbers, uint32_t count) {
    if (count > SHORT) {
        qsort(numbers, count, sizeof *numbers, compare);
        return;
    }
    for (uint32_t i = 1; i < count; i++) {
        uint32_t number = numbers[i], at = i;
        for (; at > 0 && numbers[at - 1] > number; at--) numbers[at] = numbers[at - 1];
        numbers[at] = number;
    }
}

uint32_t graph_widest(const graph *g) {
    uint32_t most = 0;
    for (uint32_t v = 0; v < g->vertices; v++)
        if (graph_degree(g, v) > most) most = graph_degree(g, v);
    return most;
}

int graph_has(const graph *g, uint32_t from, uint32_t to) {
    return bsearch(&to, g->target + g->offset[from], graph_degree(g, from), sizeof to, compare) !=
           NULL;
}

/* ---- From pairs ------------------------------------------------------------------------------ */

static int add(pairs *p, uint32_t from, uint32_t to) {
    if (from == to) return 0;
    if (p->count == p->room) {
        uint64_t room = p->room ? 2 * p->room : 1u << 16;
        uint32_t *ends = realloc(p->ends, room * 2 * sizeof *ends);
        if (!ends) return -1;
        p->ends = ends;
        p->room = room;
    }
    p->ends[2 * p->count] = from;
    p->ends[2 * p->count++ + 1] = to;
    if (from >= p->vertices) p->vertices = from + 1;
    if (to >= p->vertices) p->vertices = to + 1;
    return 0;
}

/* Sort the neighbours of each vertex, and leave out what is there twice. */
static void tidy(graph *g) {
    uint32_t to = 0;
    for (uint32_t v = 0; v < g->vertices; v++) {
        uint32_t from = g->offset[v], end = g->offset[v + 1];
        graph_sort(g->target + from, end - from);
        g->offset[v] = to;
        for (uint32_t e = from; e < end; e++)
            if (e == from || g->target[e] != g->target[e - 1]) g->target[to++] = g->target[e];
    }
    g->offset[g->vertices] = g->entries = to;
}

static int link_pairs(const pairs *p, graph *g, bench_error *error) {
    if (p->count == 0) return bench_error_set(error, "the graph has no edge");
    if (p->count > UINT32_MAX / 2)
        return bench_error_set(error, "the graph has %" PRIu64 " edges; at most %u are possible",
                               p->count, UINT32_MAX / 2);
    *g = (graph){.vertices = p->vertices};
    g->offset = calloc((size_t)g->vertices + 2, sizeof *g->offset);
    g->target = malloc(2 * p->count * sizeof *g->target);
    if (!g->offset || !g->target) {
        graph_release(g);
        return bench_error_set(error, "host memory ran out for a graph");
    }
    uint32_t *next = g->offset + 1; /* where a vertex's neighbours begin once all are in place */
    for (uint64_t i = 0; i < 2 * p->count; i++) next[p->ends[i] + 1]++;
    for (uint32_t v = 0; v < g->vertices; v++) next[v + 1] += next[v];
    for (uint64_t i = 0; i < 2 * p->count; i++)
        g->target[next[p->ends[i]]++] = p->ends[i % 2 ? i - 1 : i + 1];
    tidy(g);
    return 0;
}

/* ---- By rule --------------------------------------------------------------------------------- */

static int make_road(uint32_t vertices, double degree, uint32_t seed, pairs *p) {
    uint32_t side = (uint32_t)ceil(sqrt(vertices));
    double below = degree < 4 ? degree / 4 * 0x1p32 : 0x1p32;
    for (uint32_t v = 0; v < vertices; v++) {
        if (v % side + 1 < side && v + 1 < vertices && bench_hash(2 * v, seed) < below &&
            add(p, v, v + 1))
            return -1;
        if (v + side < vertices && bench_hash(2 * v + 1, seed) < below && add(p, v, v + side))
            return -1;
    }
    return 0;
}

/* Each edge of `from` once, from its begin; parts of wide nodes belong to the node that has them. */
static int add_all(const mark_graph *from, pairs *p) {
    for (uint32_t v = 0; v < from->own; v++)
        for (uint32_t e = from->offset[v]; e < from->offset[v + 1]; e++) {
            uint32_t to = from->target[e];
            if (to < from->own && add(p, v, to)) return -1;
            for (uint32_t k = to < from->own ? 0 : from->offset[to];
                 to >= from->own && k < from->offset[to + 1]; k++)
                if (add(p, v, from->target[k])) return -1;
        }
    return 0;
}

static int make_random(const bench_values *values, uint32_t seed, pairs *p, bench_error *error) {
    uint32_t vertices = bench_u32(values, "vertices");
    double begin = bench_float(values, "degree") / 2; /* each edge begins at one of its two ends */
    double power = bench_is(values, "shape", "power") ? POWER : 0;
    mark_graph made;
    if (mark_graph_random(vertices, (uint32_t)ceil(begin), power, 0, seed, &made, error)) return -1;
    int failed = add_all(&made, p);
    mark_graph_release(&made);
    return failed ? bench_error_set(error, "host memory ran out for a graph") : 0;
}

/* ---- From a file ----------------------------------------------------------------------------- */

/* Two numbers a line; what else the line has is left out. Lines that begin with # or % are comments. In a
 * Matrix Market file the first line that is none has sizes, and vertices are counted from 1. */
static int read_lines(gzFile file, const char *path, pairs *p, bench_error *error) {
    char line[LINE_BYTES];
    uint32_t number = 0, first = 0;
    int has_sizes = 0;
    while (gzgets(file, line, sizeof line)) {
        uint32_t from, to;
        char *middle, *end;
        if (number++ == 0 && strncmp(line, "%%MatrixMarket", 14) == 0) has_sizes = 1;
        if (strchr("#%\r\n", *line)) continue;
        unsigned long a = strtoul(line, &middle, 10), b = strtoul(middle, &end, 10);
        if (middle == line || end == middle || a >= UINT32_MAX - 1 || b >= UINT32_MAX - 1)
            return bench_error_set(error, "%s, line %u: no two numbers of vertices", path, number);
        if (has_sizes) {
            has_sizes = 0;
            first = 1;
            p->vertices = (uint32_t)a;
            continue;
        }
        if (a < first || b < first)
            return bench_error_set(error, "%s, line %u: vertices are counted from 1", path, number);
        from = (uint32_t)a - first;
        to = (uint32_t)b - first;
        if (add(p, from, to)) return bench_error_set(error, "host memory ran out for %s", path);
    }
    return 0;
}

static int is_hgraph(gzFile file) {
    char magic[8] = "";
    int got = gzread(file, magic, sizeof magic);
    gzrewind(file);
    return got == (int)sizeof magic && memcmp(magic, "HGRAPH1", 8) == 0;
}

static int read_file(const char *path, pairs *p, bench_error *error) {
    mark_graph read;
    gzFile file = gzopen(path, "rb"); /* reads what is not compressed as it is */
    if (!file) return bench_error_set(error, "cannot open %s", path);
    int is_binary = is_hgraph(file);
    int result = is_binary ? 0 : read_lines(file, path, p, error);
    gzclose(file);
    if (!is_binary) return result;
    if (mark_graph_read(path, &read, error)) return -1;
    p->vertices = read.own; /* some may have no edge */
    result = add_all(&read, p);
    mark_graph_release(&read);
    return result ? bench_error_set(error, "host memory ran out for %s", path) : 0;
}

int graph_create(const bench_values *values, uint32_t seed, graph *g, bench_error *error) {
    const char *path = bench_text(values, "file");
    pairs p = {.vertices = *path ? 0 : bench_u32(values, "vertices")};
    int failed = 0;
    if (*path) {
        failed = read_file(path, &p, error);
    } else if (!bench_is(values, "shape", "road")) {
        failed = make_random(values, seed, &p, error);
    } else if (make_road(p.vertices, bench_float(values, "degree"), seed, &p)) {
        failed = bench_error_set(error, "host memory ran out for a graph");
    }
    if (!failed) failed = link_pairs(&p, g, error);
    free(p.ends);
    return failed;
}
