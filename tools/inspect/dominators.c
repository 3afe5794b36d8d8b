/* Dominators by the algorithm of T. Lengauer and R. E. Tarjan (A Fast Algorithm for Finding
 * Dominators in a Flowgraph, TOPLAS 1979), the simple one: its time grows as references times the
 * logarithm of objects, whatever the graph. Cooper, Harvey and Kennedy's is shorter, and takes time
 * that grows with the square for long lists, which heaps have.
 *
 * Here nodes are known by their number in a depth-first search from the top, which has 0. Nothing
 * recurses: a list may have as many links as there are objects. Read first: graph.h.
 */
#include <stdlib.h>

#include "graph.h"

typedef struct search {
    const graph *g;
    uint32_t count;   /* nodes that were found */
    uint32_t *number; /* by node; NOWHERE: not found */
    uint32_t *node;   /* by number, like all that follow */
    uint32_t *parent, *semi, *dominator;
    uint32_t *ancestor, *label;     /* the forest: NOWHERE: a tree's root */
    uint32_t *bucket, *bucket_next; /* those that have a node as semidominator */
    uint32_t *path;                 /* scratch */
    uint64_t *edge;                 /* by number: the next edge to follow */
} search;

static void search_depth_first(search *s) {
    const graph *g = s->g;
    uint32_t at = 0;
    s->count = 1;
    s->number[g->top] = 0;
    s->node[0] = g->top;
    s->parent[0] = NOWHERE;
    s->edge[0] = g->out_begin[g->top];
    while (at != NOWHERE) {
        const uint32_t n = s->node[at];
        if (s->edge[at] == g->out_begin[n + 1]) {
            at = s->parent[at];
            continue;
        }
        const uint32_t to = g->out[s->edge[at]++];
        if (s->number[to] != NOWHERE) continue;
        const uint32_t next = s->count++;
        s->number[to] = next;
        s->node[next] = to;
        s->parent[next] = at;
        s->edge[next] = g->out_begin[to];
        at = next;
    }
}

/* The node of least semidominator on the way from v up to below the root of its tree; the way is
 * shortened. */
static uint32_t evaluate(search *s, uint32_t v) {
    uint32_t length = 0;
    if (s->ancestor[v] == NOWHERE) return s->label[v];
    for (uint32_t u = v; s->ancestor[s->ancestor[u]] != NOWHERE; u = s->ancestor[u])
        s->path[length++] = u;
    while (length) {
        const uint32_t u = s->path[--length], above = s->ancestor[u];
        if (s->semi[s->label[above]] < s->semi[s->label[u]]) s->label[u] = s->label[above];
        s->ancestor[u] = s->ancestor[above];
    }
    return s->label[v];
}

static void find_dominators(search *s, const uint64_t *in_begin, const uint32_t *in) {
    for (uint32_t v = 0; v < s->count; v++) {
        s->semi[v] = s->label[v] = v;
        s->ancestor[v] = s->bucket[v] = NOWHERE;
    }
    for (uint32_t w = s->count - 1; w > 0; w--) {
        for (uint64_t e = in_begin[s->node[w]]; e < in_begin[s->node[w] + 1]; e++) {
            const uint32_t v = s->number[in[e]];
            if (v == NOWHERE) continue;
            const uint32_t u = evaluate(s, v);
            if (s->semi[u] < s->semi[w]) s->semi[w] = s->semi[u];
        }
        s->bucket_next[w] = s->bucket[s->semi[w]];
        s->bucket[s->semi[w]] = w;
        const uint32_t above = s->parent[w];
        s->ancestor[w] = above;
        for (uint32_t v = s->bucket[above]; v != NOWHERE; v = s->bucket_next[v]) {
            const uint32_t u = evaluate(s, v);
            s->dominator[v] = s->semi[u] < s->semi[v] ? u : above;
        }
        s->bucket[above] = NOWHERE;
    }
    for (uint32_t w = 1; w < s->count; w++)
        if (s->dominator[w] != s->semi[w]) s->dominator[w] = s->dominator[s->dominator[w]];
}

int graph_dominators(const graph *g, uint32_t *dominator, uint32_t *order, uint32_t *found) {
    enum { ARRAYS = 9 };
    search s = {.g = g};
    uint64_t *in_begin = NULL;
    uint32_t *in = NULL, *words = malloc((size_t)g->nodes * ARRAYS * sizeof *words);
    s.edge = malloc((size_t)g->nodes * sizeof *s.edge);
    int good = words && s.edge && graph_turn(g, &in_begin, &in);
    if (good) {
        uint32_t **arrays[ARRAYS] = {&s.number,    &s.parent,      &s.semi,
                                     &s.dominator, &s.ancestor,    &s.label,
                                     &s.bucket,    &s.bucket_next, &s.path};
        for (uint32_t i = 0; i < ARRAYS; i++) *arrays[i] = words + (size_t)g->nodes * i;
        for (uint32_t n = 0; n < g->nodes; n++) s.number[n] = dominator[n] = NOWHERE;
        s.node = order;
        search_depth_first(&s);
        find_dominators(&s, in_begin, in);
        for (uint32_t w = 1; w < s.count; w++) dominator[s.node[w]] = s.node[s.dominator[w]];
        *found = s.count;
    }
    free(words);
    free(s.edge);
    free(in_begin);
    free(in);
    return good;
}
