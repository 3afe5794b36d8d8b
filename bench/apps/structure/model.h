/* A structure as numbers: the rules of a step, the state after it, and how two are compared.
 *
 * A state has all nodes and springs that the network began with; what is gone is all zero. Two
 * implementations of the rules must give the same state to the last bit; README.md says how that is
 * possible with floating point.
 *
 * Read first: README.md, network.h. Read next: sequential.c.
 */
#ifndef STRUCTURE_MODEL_H
#define STRUCTURE_MODEL_H

#include "network.h"

typedef struct structure_rules {
    uint32_t iterations; /* of forces and motion in a step */
    float dt;
    float keep;      /* of a velocity in an iteration; 1: no damping */
    int pulled_hold; /* what is pulled holds as anchors do */
    int bare_stay;   /* nodes that never had a spring stay */
    /* devices search breadth-first, in every step; 0: they join, if a spring broke */
    int by_levels;
} structure_rules;

structure_rules structure_rules_default(void);

typedef struct structure_node_state {
    float x, y, vx, vy;
    uint32_t springs; /* bit i: springs[i] holds */
    uint32_t is_there;
} structure_node_state;

#define STRUCTURE_NODE_WORDS (sizeof(structure_node_state) / sizeof(uint32_t))

typedef struct structure_state {
    uint32_t node_count, spring_count; /* of the network */
    uint32_t *words;                   /* all: the nodes, then the springs */
    structure_node_state *nodes;
    uint32_t *springs; /* 1: holds */
} structure_state;

/* All zero. Returns 0, or -1 and nothing to release. */
int structure_state_create(const structure_network *network, structure_state *state,
                           bench_error *error);
void structure_state_destroy(structure_state *state); /* all zero is allowed */
size_t structure_state_bytes(const structure_state *state);

typedef struct structure_counts {
    uint32_t nodes, pull_nodes, anchors, springs;
} structure_counts;
structure_counts structure_count(const structure_network *network, const structure_state *state);

uint64_t structure_checksum(const structure_state *state); /* 64-bit FNV-1a */

/* 0 if the states are equal, bit by bit; else 1 and a sentence about the first difference. */
int structure_compare(const structure_state *found, const structure_state *expected, uint32_t step,
                      bench_error *error);

/* 0 if the state holds together: a spring holds exactly if both its ends know it, and a node that
 * is there is held or, if bare ones stay, never had a spring; else 1 and a sentence. Needs no
 * reference.
 * -1: no memory. */
int structure_check(const structure_rules *rules, const structure_network *network,
                    const structure_state *state, bench_error *error);

/* A picture, `pixels` wide and high: springs by their stress, from grey to red; what is gone, pale,
 * where it was. */
void structure_paint(const structure_network *network, const structure_state *state,
                     uint32_t pixels, uint8_t *rgb);

#endif
