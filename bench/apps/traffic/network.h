/* Streets as a map, drawn at random or read from a file, and as the network of cells that cars
 * drive on.
 *
 *     map       intersections, and one-way streets between them
 *     network   a street of n cells; in front of an intersection with several streets behind it a
 *               turn lane to each:
 *
 *                    street                     turn lanes      streets behind
 *               o -> o -> P -> o -> S -> B ---> o -> o -> r --> o -> ...
 *                                          \--> o -> o -> r --> o -> ...
 *
 *               P producer, S sink, B branch; r: the cells that a signal closes.
 *
 * Cells are numbered street by street, each street from its beginning, its turn lanes behind it.
 * `next` of a plain cell or a producer is the cell behind it. Branches and sinks are special: their
 * `next` is TRAFFIC_SPECIAL and an index of `specials`.
 *
 * Invariant that all of the simulation rests on: of the cells that lead to a cell, at most one is
 * open (has a limit above 0) at any time. Only the first cell of a street has several, each of
 * another signal group of one controller, which opens one group at a time.
 *
 * Read first: model.h. Read next: network.c, map.c, map_file.c.
 */
#ifndef TRAFFIC_NETWORK_H
#define TRAFFIC_NETWORK_H

#include "model.h"

#define TRAFFIC_DEGREE_MAX 6 /* streets that begin, and that end, at an intersection */
#define TRAFFIC_LANE_CELLS 3
#define TRAFFIC_STREET_CELLS_MAX 100000
#define TRAFFIC_CELLS_MAX (1u << 28)
#define TRAFFIC_INTERSECTIONS_MAX 4000000

#define TRAFFIC_NONE UINT32_MAX
#define TRAFFIC_SPECIAL 0x80000000u
#define TRAFFIC_TARGET 0x80u /* in limits, under DynaSOAr's rules: a car that arrives here leaves */
#define TRAFFIC_LIMIT 0x0fu

/* ---- Maps ------------------------------------------------------------------------------------ */

typedef enum traffic_control { TRAFFIC_LIGHT, TRAFFIC_YIELD } traffic_control;

typedef struct traffic_intersection {
    float x, y; /* for pictures */
    traffic_control control;
} traffic_intersection;

typedef struct traffic_street {
    uint32_t from, to; /* intersections */
    uint32_t cells;
    uint32_t limit; /* cells a step */
} traffic_street;

typedef struct traffic_map {
    traffic_intersection *intersections;
    traffic_street *streets;
    uint32_t intersection_count, street_count;
} traffic_map;

typedef struct traffic_map_desc {
    uint32_t seed;
    uint32_t intersections;
    uint32_t street_cells;   /* of a street between two neighbours, about */
    uint32_t yield_permille; /* of the intersections that have yield signs */
    /* 1: no town, but a graph as DynaSOAr's program makes it. Intersections anywhere in a square,
     * in which a side has `street_cells` cells; from each 1 to TRAFFIC_RANDOM_DEGREE_MAX streets,
     * to others to which so many go at most. */
    int is_random;
} traffic_map_desc;
#define TRAFFIC_RANDOM_DEGREE_MAX 4

/* A town: intersections near the points of a square grid, with streets between neighbours; every
 * fifth line of the grid is a main street. Returns 0, or -1 and nothing to release. */
int traffic_map_draw(const traffic_map_desc *desc, traffic_map *map, bench_error *error);

/* From a file; README.md has the format. An error names the line. */
int traffic_map_read(const char *path, traffic_map *map, bench_error *error);

void traffic_map_release(traffic_map *map);

/* ---- Networks -------------------------------------------------------------------------------- */

typedef struct traffic_special {
    uint32_t is_sink;
    uint32_t count; /* a branch: 2 .. TRAFFIC_DEGREE_MAX; a sink: 1, or 0 at the end of the world */
    uint32_t out[TRAFFIC_DEGREE_MAX];
} traffic_special;

/* The cells that one signal opens and closes: the end of a street, or those of its turn lanes. */
typedef struct traffic_group {
    uint32_t has_sensor;
    uint32_t count;
    uint32_t cells[TRAFFIC_DEGREE_MAX];
} traffic_group;

/* One intersection's. Groups in the order of priority: faster streets first. At the start the first
 * one is open; under DynaSOAr's rules they are in the order of the map and all closed. */
typedef struct traffic_controller {
    uint32_t first_group, group_count;
    uint32_t phase_steps; /* 0: yield */
    uint32_t timer;
} traffic_controller;

typedef struct traffic_start {
    uint32_t cell, number; /* where a car is at the start, and what it draws with */
} traffic_start;

typedef struct traffic_network {
    traffic_rules rules;
    uint32_t cell_count;
    uint32_t *next, *previous; /* previous: TRAFFIC_NONE for the first cell of a street */
    uint8_t *max_velocity;     /* the limit of the street, with TRAFFIC_TARGET if it is one */
    uint8_t *limit;            /* at the start: 0 where the signal is red, likewise */
    traffic_special *specials;
    uint32_t *special_cells, *producers; /* cells */
    traffic_group *groups;
    traffic_controller *controllers; /* traffic lights, then yield signs */
    traffic_start *starts;
    uint32_t *first_cells; /* of each street */
    uint32_t special_count, producer_count, group_count, controller_count, light_count;
    uint32_t start_count;
} traffic_network;

/* Returns 0, or -1 and nothing to destroy. */
int traffic_network_create(const traffic_map *map, const traffic_rules *rules,
                           traffic_network *network, bench_error *error);
void traffic_network_destroy(traffic_network *network);

/* ---- Pictures (image.c) ---------------------------------------------------------------------- */

/* The size of a picture whose greater side is `pixels`. */
void traffic_fit_image(const traffic_map *map, uint32_t pixels, uint32_t *width, uint32_t *height);

/* Streets grey, fast ones darker; cars green, the slower the redder. */
void traffic_paint(const traffic_map *map, const traffic_network *network, const uint32_t *codes,
                   uint32_t pixels, uint8_t *rgb);

#endif
