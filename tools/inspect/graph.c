/* Reads a saved heap into a graph, in two passes over the file: the first counts the references of
 * each object, the second puts them down. So nothing is held but the graph. Read first: graph.h. */
#include "graph.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "inspect.h"

/* Nodes beside the objects are few. */
#define OBJECTS_MOST (UINT32_MAX - 0x20000u)

/* ---- Nodes ----------------------------------------------------------------------------------- */

uint32_t graph_class_of(const graph *g, uint32_t object) {
    uint32_t least = 1, most = clump_schema_get_info(g->schema)->class_count;
    while (least < most) {
        const uint32_t middle = (least + most + 1) / 2;
        if (g->first[middle] <= object)
            least = middle;
        else
            most = middle - 1;
    }
    return least; /* the last of those that begin there: the others have no objects */
}

uint64_t graph_bytes_of(const graph *g, uint32_t node) {
    if (node >= g->objects) return 0;
    return clump_schema_get_info(g->schema)->classes[graph_class_of(g, node)]->object_bytes +
           (g->raw ? g->raw[node] : 0);
}

char *graph_name(const graph *g, uint32_t node, char text[NODE_TEXT]) {
    clump_class_info c;
    const uint32_t holder = node - g->objects;
    if (node < g->objects) {
        const uint32_t id = graph_class_of(g, node);
        c = *clump_schema_get_info(g->schema)->classes[id];
        snprintf(text, NODE_TEXT, "%s:%u", c.name, node - g->first[id]);
    } else if (node == g->top) {
        snprintf(text, NODE_TEXT, "several roots");
    } else if (holder < g->buffers) {
        snprintf(text, NODE_TEXT, "registered buffer %u", holder);
    } else if (holder == g->buffers) {
        snprintf(text, NODE_TEXT, "the handles");
    } else {
        c = *clump_schema_get_info(g->schema)->classes[g->root_classes[holder - g->buffers - 1]];
        snprintf(text, NODE_TEXT, "root class %s", c.name);
    }
    return text;
}

/* ---- Edges ----------------------------------------------------------------------------------- */

typedef struct filling {
    graph *g;
    const root_choice *choice;
    /* by node: where its next edge goes; NULL: they are counted, in out_begin[n + 1] */
    uint64_t *at;
} filling;

static void add_edge(filling *f, uint32_t from, uint32_t to) {
    if (f->at)
        f->g->out[f->at[from]++] = to;
    else
        f->g->out_begin[from + 1]++;
}

int graph_is_edge(const root_choice *choice, const clump_saved_part *part) {
    if (part->field) return !part->field->weak;
    for (uint32_t i = 0; i < choice->weak_count; i++)
        if (choice->weak[i] == part->buffer) return 0;
    return 1;
}

uint32_t graph_source(const graph *g, const clump_saved_part *part, uint32_t i) {
    if (part->field) return g->first[part->class_id] + (uint32_t)part->from + i;
    return g->objects + (part->buffer == CLUMP_SAVED_HANDLES ? g->buffers : part->buffer);
}

/* The capacities of an array that grows. */
static void add_raw(const graph *g, const clump_saved_part *part) {
    char name[CLUMP_NAME_BYTES_MAX + 1];
    snprintf(name, sizeof name, "%.*s", (int)(strlen(part->field->name) - strlen("_capacity")),
             part->field->name);
    const clump_field_info *array = clump_schema_find_field(g->schema, part->class_id, name);
    const uint32_t *capacities = part->data;
    for (uint32_t i = 0; i < part->count; i++)
        g->raw[graph_source(g, part, i)] += (uint64_t)capacities[i] * array->element_bytes;
}

static int take_part(void *user, const clump_saved *saved, const clump_saved_part *part) {
    filling *f = user;
    const clump_ref *refs = part->data;
    const uint32_t each = part->bytes / (uint32_t)sizeof *refs;
    (void)saved;
    if (!f->at && part->field && part->field->part == CLUMP_PART_CAPACITY) add_raw(f->g, part);
    if ((part->field && part->field->type != CLUMP_TYPE_REF) || !graph_is_edge(f->choice, part))
        return 0;
    for (uint32_t i = 0; i < part->count * each; i++)
        if (refs[i]) add_edge(f, graph_source(f->g, part, i / each), refs[i] - 1);
    return 0;
}

static int read_edges(filling *f) {
    graph *g = f->g;
    clump_error error;
    const uint32_t holders = g->top - g->objects;
    if (clump_saved_read(&(clump_load_desc){.size = sizeof(clump_load_desc), .path = g->path}, NULL,
                         take_part, f, &error))
        return complain(g->path, "%s", error.message);
    for (uint32_t h = 0; h < g->root_class_count; h++) {
        const clump_class_info *c = clump_schema_get_info(g->schema)->classes[g->root_classes[h]];
        for (uint32_t n = g->first[c->id]; n < g->first[c->last + 1]; n++)
            add_edge(f, g->objects + g->buffers + 1 + h, n);
    }
    for (uint32_t h = 0; h < holders; h++) add_edge(f, g->top, g->objects + h);
    return 1;
}

static int make_edges(graph *g, const root_choice *choice) {
    filling f = {.g = g, .choice = choice};
    g->out_begin = calloc((size_t)g->nodes + 1, sizeof *g->out_begin);
    if (clump_saved_get_info(g->saved)->array_count)
        g->raw = calloc((size_t)g->objects + 1, sizeof *g->raw);
    if (!g->out_begin || (clump_saved_get_info(g->saved)->array_count && !g->raw))
        return complain(g->path, "no memory for a graph of %u objects", g->objects);
    if (!read_edges(&f)) return 0;
    for (uint32_t n = 0; n < g->nodes; n++) g->out_begin[n + 1] += g->out_begin[n];
    const uint64_t edges = g->out_begin[g->nodes];
    g->out = malloc((edges + 1) * sizeof *g->out);
    f.at = malloc(((size_t)g->nodes + 1) * sizeof *f.at);
    int good = g->out && f.at;
    if (!good) complain(g->path, "no memory for %llu references", (unsigned long long)edges);
    if (good) {
        memcpy(f.at, g->out_begin, ((size_t)g->nodes + 1) * sizeof *f.at);
        good = read_edges(&f);
    }
    free(f.at);
    return good;
}

/* ---- The whole ------------------------------------------------------------------------------- */

static int take_choice(graph *g, const root_choice *choice) {
    for (uint32_t i = 0; i < choice->weak_count; i++)
        if (choice->weak[i] >= g->buffers)
            return complain(g->path, "registered buffer %u does not exist: the heap has %u",
                            choice->weak[i], g->buffers);
    for (uint32_t i = 0; i < choice->class_count; i++) {
        const clump_class_info *c = clump_schema_find_class(g->schema, choice->classes[i]);
        if (!c) return complain(g->path, "class \"%s\" does not exist", choice->classes[i]);
        g->root_classes[g->root_class_count++] = c->id;
    }
    return 1;
}

int graph_read(const char *path, const root_choice *choice, graph *g) {
    clump_error error;
    memset(g, 0, sizeof *g);
    g->path = path;
    if (clump_saved_open(&(clump_load_desc){.size = sizeof(clump_load_desc), .path = path}, NULL,
                         &g->saved, &error))
        return complain(path, "not a saved heap: %s", error.message);
    const uint64_t objects = clump_saved_get_info(g->saved)->objects[0];
    const uint32_t classes =
        clump_schema_get_info(clump_saved_get_info(g->saved)->schema)->class_count;
    int good = objects <= OBJECTS_MOST;
    if (!good) complain(path, "more objects than a graph can have");
    g->schema = clump_saved_get_info(g->saved)->schema;
    g->objects = (uint32_t)objects;
    g->buffers = clump_saved_get_info(g->saved)->registered;
    for (uint32_t id = 1; id <= classes; id++)
        g->first[id + 1] = g->first[id] + (uint32_t)clump_saved_get_info(g->saved)->objects[id];
    good = good && take_choice(g, choice);
    g->top = g->objects + g->buffers + 1 + g->root_class_count;
    g->nodes = g->top + 1;
    good = good && make_edges(g, choice);
    if (!good) graph_free(g);
    return good;
}

void graph_free(graph *g) {
    clump_saved_close(g->saved);
    free(g->out_begin);
    free(g->out);
    free(g->raw);
    memset(g, 0, sizeof *g);
}

int graph_check_roots(const graph *g) {
    if (g->out_begin[g->objects] < g->out_begin[g->top]) return 1;
    return complain(g->path,
                    "there are no roots: the heap has no handles, and its registered buffers have "
                    "only null references. Name classes whose objects are roots: --root CLASS");
}

int graph_turn(const graph *g, uint64_t **in_begin, uint32_t **in) {
    uint64_t *begin = calloc((size_t)g->nodes + 2, sizeof *begin);
    uint32_t *nodes = malloc((g->out_begin[g->nodes] + 1) * sizeof *nodes);
    if (!begin || !nodes) {
        free(begin);
        free(nodes);
        return 0;
    }
    *in_begin = begin;
    *in = nodes;
    for (uint64_t e = 0; e < g->out_begin[g->nodes]; e++) begin[g->out[e] + 2]++;
    for (uint32_t n = 0; n < g->nodes; n++) begin[n + 2] += begin[n + 1];
    /* begin[n + 1] moves from the begin of n's to their end, which is where those of n + 1
     * begin. */
    for (uint32_t n = 0; n < g->nodes; n++)
        for (uint64_t e = g->out_begin[n]; e < g->out_begin[n + 1]; e++)
            nodes[begin[g->out[e] + 1]++] = n;
    return 1;
}

uint32_t graph_reach(const graph *g, uint32_t from, uint32_t end, uint32_t *order,
                     uint32_t *before) {
    uint32_t found = 1;
    for (uint32_t n = 0; n < g->nodes; n++) before[n] = NOWHERE;
    order[0] = before[g->top] = g->top;
    for (uint32_t i = 0; i < found; i++) {
        const uint32_t n = order[i];
        for (uint64_t e = g->out_begin[n]; e < g->out_begin[n + 1]; e++) {
            const uint32_t to = g->out[e];
            if (before[to] != NOWHERE || (to >= from && to < end)) continue;
            before[to] = n;
            order[found++] = to;
        }
    }
    return found;
}
