/* A saved heap as a graph: which object refers to which, and what the roots lead to.
 *
 * Nodes are numbered: first the objects, in the order of the file; then what holds roots, the
 * *holders*: each registered buffer, the handles as one, each class whose objects the caller made
 * roots; last a node that leads to all of these, the *top*.
 * Invariant: edges are the references that are not weak, one for each; out of node n are
 * out[out_begin[n] .. out_begin[n + 1]).
 *
 * Read first: docs/guide/seeing-the-heap.md, clump/save.h. Read next: graph.c, dominators.c,
 * holders.c, path.c.
 */
#ifndef GRAPH_H
#define GRAPH_H

#include "clump/all.h"

enum { CLASS_ENDS = CLUMP_CLASSES_MAX + 2 };
#define NOWHERE UINT32_MAX

/* What the caller says about roots, and how much is shown. */
typedef struct root_choice {
    const char *classes
        [CLUMP_CLASSES_MAX]; /* their objects are roots, too, and those of their subclasses */
    uint32_t class_count;
    uint32_t weak[CLUMP_CLASSES_MAX]; /* registered buffers that are none: the file does not tell */
    uint32_t weak_count;
} root_choice;

typedef struct graph {
    const char *path;
    clump_saved *saved;
    const clump_schema *schema;
    uint32_t first
        /* by class id: the number of its first object; of the last id + 1: of all objects */
        [CLASS_ENDS];
    uint32_t objects, buffers;                                  /* buffers: registered ones */
    uint32_t root_classes[CLUMP_CLASSES_MAX], root_class_count; /* ids */
    uint32_t nodes, top;
    uint64_t *out_begin;
    uint32_t *out;
    uint64_t *raw; /* by object: bytes of its arrays' raw memory. NULL: no class has such arrays */
} graph;

/* CONSTRUCTOR. Read the saved heap. Returns 1; or 0 with words on stderr, and nothing to free. */
int graph_read(const char *path, const root_choice *choice, graph *g);
void graph_free(graph *g);

/* 0 with words on stderr: the graph has no root at all. */
int graph_check_roots(const graph *g);

uint32_t graph_class_of(const graph *g, uint32_t object);
/* Of an object its own bytes, with the raw memory of its arrays; of other nodes 0. */
uint64_t graph_bytes_of(const graph *g, uint32_t node);
/* "Body:17", "registered buffer 0", ... in `text`, which is returned. */
enum { NODE_TEXT = 128 };
char *graph_name(const graph *g, uint32_t node, char text[NODE_TEXT]);

/* Whether references of a part are edges: not if they are weak. */
int graph_is_edge(const root_choice *choice, const clump_saved_part *part);
/* The node that reference i of a part, or those of its object i, go out from. */
uint32_t graph_source(const graph *g, const clump_saved_part *part, uint32_t i);

/* The edges turned round, in the same form; to be freed. 0: no memory, and nothing is set. */
int graph_turn(const graph *g, uint64_t **in_begin, uint32_t **in);

/* The nodes that the top leads to, in some order, without entering nodes `from` .. `end` - 1.
 * `order` and `before` have room for all nodes. before[n] is the node by which n was found, on a
 * shortest way; the top's own is the top, and NOWHERE stands at those not found. Returns how many
 * were found. */
uint32_t graph_reach(const graph *g, uint32_t from, uint32_t end, uint32_t *order,
                     uint32_t *before);

/* Dominators: dominator[n] is the nearest node that every way from the top to n goes through,
 * NOWHERE for nodes that are not found and for the top. `order` gets the nodes that are found, each
 * after its dominator; *found how many. Returns 0 without memory. */
int graph_dominators(const graph *g, uint32_t *dominator, uint32_t *order, uint32_t *found);

#endif
