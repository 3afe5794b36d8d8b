/* Networks of nodes and springs, as they are before the first step, made from a seed.
 *
 * Invariant: nodes are numbered from 0: first the ordinary ones, then those that pull, then the
 * anchors. Springs are numbered from 0; spring s is in the lists of exactly two different nodes.
 *
 * Read first: README.md. Read next: model.h.
 */
#ifndef STRUCTURE_NETWORK_H
#define STRUCTURE_NETWORK_H

#include <stdint.h>

#include "bench/harness/error.h"

#define STRUCTURE_DEGREE 5 /* springs of a node, at most */
#define STRUCTURE_NODES_MAX (1u << 23)

typedef struct structure_node {
    float x, y, vx, vy;
    float inverse_mass;                 /* of ordinary nodes */
    uint32_t springs[STRUCTURE_DEGREE]; /* number + 1; 0: none */
} structure_node;

typedef struct structure_spring {
    uint32_t p1, p2;
    uint32_t slots;                     /* where it is in the list of p1, and of p2 times 16 */
    float stiffness, length, max_force; /* all above 0 */
} structure_spring;

typedef struct structure_network {
    uint32_t first_pull, first_anchor, node_count, spring_count;
    structure_node *nodes;
    structure_spring *springs;
} structure_network;

typedef enum structure_kind {
    STRUCTURE_SHEET, /* a sheet of composite material, notched, held left and pulled right */
    STRUCTURE_RANDOM /* springs between any two nodes, as Springer's program makes them */
} structure_kind;

typedef struct structure_network_desc {
    structure_kind kind;
    uint32_t nodes; /* at least 9; a sheet has the largest number of full columns and rows within */
    uint32_t seed;
    double speed;    /* of what is pulled, and */
    double strength; /* how much springs bear: factors, 1 is the kind's own */
    /* Random only, in percent. */
    uint32_t pull_percent, anchor_percent; /* of the nodes */
    uint32_t spring_percent;               /* of the springs that the degree allows */
} structure_network_desc;

structure_network_desc structure_network_default(structure_kind kind);

/* Returns 0, or -1 and an empty network: numbers out of range, or no memory. */
int structure_network_create(const structure_network_desc *desc, structure_network *network,
                             bench_error *error);
void structure_network_destroy(structure_network *network); /* all zero is allowed */

#endif
