/* What keeps most memory alive: classes, holders of roots, objects. Read first: graph.h.
 *
 * An object keeps what would be garbage without it: itself, and all that its dominator tree has
 * below it. A class keeps what only ways through its objects lead to. What several objects keep
 * together belongs to none of them, so sums of rows mean nothing.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "queries.h"

typedef struct holding {
    const graph *g;
    uint32_t *order, *dominator, found; /* of nodes that the top leads to */
    uint64_t *bytes;                    /* by node: what it keeps */
    uint32_t *kept;                     /* by node: objects that it keeps, itself included */
    uint32_t *refs;                     /* by object: references to it */
} holding;

/* Nodes with the largest keys, the largest first; of equal keys the first node. */
typedef struct best {
    uint32_t nodes[TOP_MOST], count, most;
    uint64_t keys[TOP_MOST];
} best;

static void consider(best *b, uint32_t node, uint64_t key) {
    if (!key || (b->count == b->most && key <= b->keys[b->count - 1])) return;
    uint32_t at = b->count < b->most ? b->count++ : b->count - 1;
    for (; at && b->keys[at - 1] < key; at--) {
        b->keys[at] = b->keys[at - 1];
        b->nodes[at] = b->nodes[at - 1];
    }
    b->keys[at] = key;
    b->nodes[at] = node;
}

/* ---- Gathering ------------------------------------------------------------------------------- */

static int open_holding(holding *h) {
    const size_t nodes = h->g->nodes;
    h->order = malloc(nodes * sizeof *h->order);
    h->dominator = calloc(nodes, sizeof *h->dominator);
    h->bytes = calloc(nodes, sizeof *h->bytes);
    h->kept = calloc(nodes, sizeof *h->kept);
    h->refs = calloc(nodes, sizeof *h->refs);
    return h->order && h->dominator && h->bytes && h->kept && h->refs &&
           graph_dominators(h->g, h->dominator, h->order, &h->found);
}

static void close_holding(holding *h) {
    free(h->order);
    free(h->dominator);
    free(h->bytes);
    free(h->kept);
    free(h->refs);
}

static void sum_up(holding *h) {
    const graph *g = h->g;
    for (uint32_t i = h->found; i-- > 0;) {
        const uint32_t n = h->order[i];
        h->bytes[n] += graph_bytes_of(g, n);
        h->kept[n] += n < g->objects;
        if (n == g->top) continue;
        h->bytes[h->dominator[n]] += h->bytes[n];
        h->kept[h->dominator[n]] += h->kept[n];
    }
    for (uint32_t n = 0; n < g->top; n++)
        for (uint64_t e = g->out_begin[n]; e < g->out_begin[n + 1]; e++) h->refs[g->out[e]]++;
}

/* ---- Tables ---------------------------------------------------------------------------------- */

static void show_sums(const holding *h) {
    const graph *g = h->g;
    uint64_t bytes = 0;
    for (uint32_t id = 1; id <= clump_schema_get_info(g->schema)->class_count; id++) {
        const clump_class_info *c = clump_schema_get_info(g->schema)->classes[id];
        bytes += clump_saved_get_info(g->saved)->objects[id] * c->object_bytes;
    }
    const clump_saved_info *info = clump_saved_get_info(g->saved);
    for (uint32_t i = 0; i < info->array_count; i++)
        bytes += info->arrays[i].capacity * info->arrays[i].field->element_bytes;
    printf("%s: a saved heap\n  %" PRIu32 " objects of %" PRIu64 " bytes\n", g->path, g->objects,
           bytes);
    printf("  roots keep %" PRIu32 " objects of %" PRIu64 " bytes, and nothing keeps %" PRIu32
           " objects of %" PRIu64 " bytes\n",
           h->kept[g->top], h->bytes[g->top], g->objects - h->kept[g->top],
           bytes - h->bytes[g->top]);
}

/* What the roots do not lead to without objects of a class: all that is found less what is found
 * without them. */
static void show_classes(holding *h) {
    const graph *g = h->g;
    uint32_t *before = h->dominator; /* no longer needed */
    printf("\n%14s %12s %12s  %s\n", "keeps bytes", "objects", "own objects", "class");
    for (uint32_t id = 1; id <= clump_schema_get_info(g->schema)->class_count; id++) {
        clump_class_info c;
        uint64_t bytes = h->bytes[g->top];
        uint32_t objects = h->kept[g->top];
        c = *clump_schema_get_info(g->schema)->classes[id];
        if (g->first[id] == g->first[id + 1]) continue;
        const uint32_t found = graph_reach(g, g->first[id], g->first[id + 1], h->order, before);
        for (uint32_t i = 0; i < found; i++) {
            bytes -= graph_bytes_of(g, h->order[i]);
            objects -= h->order[i] < g->objects;
        }
        printf("%14" PRIu64 " %12" PRIu32 " %12" PRIu32 "  %s\n", bytes, objects,
               g->first[id + 1] - g->first[id], c.name);
    }
}

/* Objects, or holders of roots; each with the one that keeps it. */
static void show_keepers(const holding *h, uint32_t from, uint32_t end, uint32_t most,
                         const char *what) {
    char name[NODE_TEXT], keeper[NODE_TEXT];
    best b = {.most = most};
    for (uint32_t n = from; n < end; n++) consider(&b, n, h->bytes[n]);
    if (!b.count) return;
    printf("\n%14s %12s %12s  %s\n", "keeps bytes", "objects", "own bytes", what);
    for (uint32_t i = 0; i < b.count; i++) {
        const uint32_t n = b.nodes[i];
        printf("%14" PRIu64 " %12" PRIu32 " %12" PRIu64 "  %s", h->bytes[n], h->kept[n],
               graph_bytes_of(h->g, n), graph_name(h->g, n, name));
        if (n < h->g->objects) printf(", kept by %s", graph_name(h->g, h->dominator[n], keeper));
        printf("\n");
    }
}

static void show_referred(const holding *h, uint32_t most) {
    char name[NODE_TEXT];
    best b = {.most = most};
    for (uint32_t n = 0; n < h->g->objects; n++) consider(&b, n, h->refs[n]);
    if (!b.count) return;
    printf("\n%14s  %s\n", "references", "to object");
    for (uint32_t i = 0; i < b.count; i++)
        printf("%14" PRIu64 "  %s\n", b.keys[i], graph_name(h->g, b.nodes[i], name));
}

int show_holders(const char *path, const root_choice *choice, uint32_t most) {
    graph g;
    if (!graph_read(path, choice, &g)) return 0;
    holding h = {.g = &g};
    int good = graph_check_roots(&g);
    if (good && !open_holding(&h)) good = complain(path, "no memory for %u objects", g.objects);
    if (good) {
        sum_up(&h);
        show_sums(&h);
        show_keepers(&h, g.objects, g.top, most, "roots");
        show_keepers(&h, 0, g.objects, most, "object");
        show_referred(&h, most);
        show_classes(&h);
    }
    close_holding(&h);
    graph_free(&g);
    return good;
}
