/* The rules of barnes-hut as numbers, the keys by which its tree divides space, and its pictures.
 *
 * A cell of the tree halves in both directions from level to level, from the square -1..1 at level
 * 0 down to BARNES_HUT_GRID_LEVELS. Below that, bodies in the same finest cell are told apart by
 * the digits of their ids, so that a tree of any bodies has at most BARNES_HUT_LEVELS levels and is
 * unique. Bodies are collision's (model.h there), and so are their first states, files and
 * comparison.
 *
 * Read first: README.md. Read next: sequential.c.
 */
#ifndef BARNES_HUT_MODEL_H
#define BARNES_HUT_MODEL_H

#include "bench/apps/collision/model.h"

#define BARNES_HUT_GRID_LEVELS 20
#define BARNES_HUT_ID_LEVELS 11 /* two bits each: COLLISION_BODIES_MAX ids */
#define BARNES_HUT_LEVELS (BARNES_HUT_GRID_LEVELS + BARNES_HUT_ID_LEVELS)

#define BARNES_HUT_THETA_MAX 0.7 /* below 1 / sqrt(2) a body never takes its own cell for a point */

typedef struct barnes_hut_rules {
    double dt;
    double gravity, gravity_constant; /* as in collision_rules, and the next two */
    double softening;
    collision_law law;
    double theta;   /* a cell of size s is taken for a point from distance s / theta on */
    double opening; /* above 0: any cell is, from this distance on, unless the body is in it */
    int is_precise; /* computed in double precision */
} barnes_hut_rules;

barnes_hut_rules barnes_hut_rules_default(void);

/* A number in both precisions: kernels are given one of them. */
typedef struct barnes_hut_real {
    double precise;
    float single;
} barnes_hut_real;

/* What the rules mean for given bodies: the numbers that the phases work with. */
typedef struct barnes_hut_constants {
    int is_precise;
    collision_law law;
    barnes_hut_real dt, softening2;
    barnes_hut_real kick; /* velocity from a force */
    /* A cell is opened for bodies nearer than reach[0] times its size and reach[1]; and for those
     * in it, which for cells above this level does not follow from that. */
    float reach[2];
    uint32_t path;
} barnes_hut_constants;
barnes_hut_constants barnes_hut_find_constants(const barnes_hut_rules *rules,
                                               const collision_body *bodies, uint32_t count);

/* The number of the finest column or row that x or y is in. */
uint32_t barnes_hut_find_cell(float x);
uint32_t barnes_hut_find_cell_precise(double x);

/* Which child, 0 to 3, of a node at `level` body `id` (from 0) at (x, y) belongs to. */
uint32_t barnes_hut_find_child(float x, float y, uint32_t id, uint32_t level);
uint32_t barnes_hut_find_child_precise(double x, double y, uint32_t id, uint32_t level);

/* pixels x pixels of them, row by row: the cells of the tree as frames, the smaller the darker, and
 * bodies as dots. */
int barnes_hut_paint(const collision_body *bodies, uint32_t count, uint32_t pixels, uint8_t *rgb,
                     bench_error *error);

#endif
