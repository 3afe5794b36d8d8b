/* Making networks. See network.h. */
#include "network.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define R123_USE_PHILOX_64BIT 0
#include <Random123/philox.h>

#define KEY_WORD 0x73707267u
#define NODES_LEAST 9u

/* ---- Random numbers: what for, and for which node, spring or disc ---------------------------- */

enum { DRAW_NODE, DRAW_ENDS, DRAW_SPRING, DRAW_DISC };

typedef struct draw {
    uint32_t v[4];
} draw;

static draw draw_for(const structure_network_desc *desc, uint32_t what, uint32_t index) {
    philox4x32_ctr_t counter = {{index, what, 0, 0}};
    philox4x32_key_t key = {{desc->seed, KEY_WORD}};
    philox4x32_ctr_t random = philox4x32(counter, key);
    draw d;
    memcpy(d.v, random.v, sizeof d.v);
    return d;
}

static double between(uint32_t random, double low, double high) {
    return low + (high - low) * (random * 0x1p-32);
}

/* ---- Springs --------------------------------------------------------------------------------- */

static int has_room(const structure_node *node) {
    return node->springs[STRUCTURE_DEGREE - 1] == 0;
}

/* Returns where it is in the list. */
static uint32_t attach(structure_node *node, uint32_t spring) {
    uint32_t i = 0;
    while (node->springs[i]) {
        i++;
    }
    node->springs[i] = spring + 1;
    return i;
}

static double length_between(const structure_node *a, const structure_node *b) {
    double dx = (double)b->x - (double)a->x, dy = (double)b->y - (double)a->y;
    return sqrt(dx * dx + dy * dy);
}

/* Both nodes have room. */
static void add_spring(structure_network *network, uint32_t p1, uint32_t p2, double length,
                       double stiffness, double max_force) {
    structure_node *a = &network->nodes[p1], *b = &network->nodes[p2];
    uint32_t spring = network->spring_count++;
    uint32_t slot1 = attach(a, spring), slot2 = attach(b, spring);
    network->springs[spring] = (structure_spring){.p1 = p1,
                                                  .p2 = p2,
                                                  .slots = slot1 | slot2 << 4,
                                                  .stiffness = (float)stiffness,
                                                  .length = (float)length,
                                                  .max_force = (float)max_force};
}

/* ---- Springs between any two nodes ----------------------------------------------------------- */

#define RANDOM_MARGIN 0.35
#define RANDOM_MASS 500.0
#define RANDOM_FORCE 0.5
#define RANDOM_STIFFNESS_MIN 3
#define RANDOM_STIFFNESS_MAX 5
#define RANDOM_SPEED 0.05

static void scatter_nodes(structure_network *network, const structure_network_desc *desc) {
    for (uint32_t i = 0; i < network->node_count; i++) {
        draw d = draw_for(desc, DRAW_NODE, i);
        int is_pulled = i >= network->first_pull && i < network->first_anchor;
        double speed = is_pulled ? RANDOM_SPEED * desc->speed : 0;
        network->nodes[i] =
            (structure_node){.x = (float)between(d.v[0], RANDOM_MARGIN, 1 - RANDOM_MARGIN),
                             .y = (float)between(d.v[1], RANDOM_MARGIN, 1 - RANDOM_MARGIN),
                             .vx = (float)between(d.v[2], -speed, speed),
                             .vy = (float)between(d.v[3], -speed, speed),
                             .inverse_mass = (float)(1 / RANDOM_MASS)};
    }
}

/* Connect pairs of the nodes that have room, which `open` lists. */
static void scatter_springs(structure_network *network, const structure_network_desc *desc,
                            uint32_t wanted, uint32_t *open) {
    uint32_t count = network->node_count;
    for (uint32_t i = 0; i < count; i++) {
        open[i] = i;
    }
    for (uint32_t s = 0; s < wanted && count >= 2; s++) {
        draw d = draw_for(desc, DRAW_ENDS, s);
        uint32_t at[2] = {d.v[0] % count, d.v[1] % (count - 1)};
        at[1] += at[1] >= at[0]; /* all but the first */
        double length = length_between(&network->nodes[open[at[0]]], &network->nodes[open[at[1]]]);
        add_spring(network, open[at[0]], open[at[1]], length,
                   between(d.v[2], RANDOM_STIFFNESS_MIN, RANDOM_STIFFNESS_MAX),
                   RANDOM_FORCE * desc->strength);
        int later = at[1] > at[0]; /* the one that lies behind goes first */
        for (int i = 0; i < 2; i++) {
            uint32_t place = at[later ^ i];
            if (!has_room(&network->nodes[open[place]])) {
                open[place] = open[--count];
            }
        }
    }
}

static int make_random(const structure_network_desc *desc, structure_network *network,
                       uint32_t wanted) {
    uint32_t *open = malloc(network->node_count * sizeof *open);
    if (!open) {
        return -1;
    }
    scatter_nodes(network, desc);
    scatter_springs(network, desc, wanted, open);
    free(open);
    return 0;
}

/* ---- A sheet --------------------------------------------------------------------------------- */

/* Rows of nodes; between row 2k and 2k + 1 lie squares, between 2k + 1 and 2k + 2 triangles, so
 * that a node inside has five springs. The matrix gives way early; discs in it are stiff and
 * strong. */
#define SHEET_MASS 2.5
#define SHEET_STRAIN 0.13    /* that the matrix bears, on the average */
#define SHEET_PRESTRAIN 0.06 /* that it has from the beginning */
#define SHEET_STRETCH 0.005  /* of the distance between columns: how far a step pulls the edge */
#define STEP_DT 0.2          /* of Springer's program, for which the speed is meant */
#define DISCS 6u             /* per side of the sheet */
#define NOTCH_X 0.5
#define NOTCH_DEPTH 0.15

typedef struct sheet {
    const structure_network_desc *desc;
    structure_network *network;
    uint32_t columns, rows;
} sheet;

static uint32_t node_at(const sheet *on, uint32_t column, uint32_t row) {
    if (column == 0) {
        return on->network->first_anchor + row;
    }
    if (column == on->columns - 1) {
        return on->network->first_pull + row;
    }
    return row * (on->columns - 2) + column - 1;
}

static void place_nodes(const sheet *on) {
    const structure_network *network = on->network;
    double spacing = 1.0 / (on->columns - 1),
           speed = spacing * SHEET_STRETCH / STEP_DT * on->desc->speed;
    for (uint32_t row = 0; row < on->rows; row++) {
        for (uint32_t column = 0; column < on->columns; column++) {
            uint32_t i = node_at(on, column, row);
            draw d = draw_for(on->desc, DRAW_NODE, i);
            double shift = row / 2 % 2 ? 0.5 : 0;
            double x = (column + shift + between(d.v[0], -0.1, 0.1)) * spacing;
            double y = (row + between(d.v[1], -0.1, 0.1)) * spacing;
            int is_pulled = column == on->columns - 1;
            network->nodes[i] = (structure_node){.x = (float)x,
                                                 .y = (float)y,
                                                 .vx = is_pulled ? (float)speed : 0,
                                                 .inverse_mass = (float)(1 / SHEET_MASS)};
        }
    }
}

/* Whether a place is within one of the discs, of which there is one in each square of a grid. */
static int is_in_disc(const sheet *on, double x, double y) {
    int column = (int)floor(x * DISCS), row = (int)floor(y * DISCS);
    if (column < 0 || row < 0) {
        return 0;
    }
    draw d = draw_for(on->desc, DRAW_DISC, (uint32_t)row << 16 | (uint32_t)column);
    double radius = between(d.v[2], 0.2, 0.42);
    double dx = x * DISCS - column - between(d.v[0], radius, 1 - radius);
    double dy = y * DISCS - row - between(d.v[1], radius, 1 - radius);
    return dx * dx + dy * dy < radius * radius;
}

static void connect(const sheet *on, uint32_t column1, uint32_t row1, uint32_t column2,
                    uint32_t row2) {
    if (column2 >= on->columns || row2 >= on->rows) {
        return;
    }
    uint32_t p1 = node_at(on, column1, row1), p2 = node_at(on, column2, row2);
    const structure_node *a = &on->network->nodes[p1], *b = &on->network->nodes[p2];
    double x = ((double)a->x + (double)b->x) / 2, y = ((double)a->y + (double)b->y) / 2;
    double height = (double)(on->rows - 1) / (on->columns - 1), edge = fmin(y, height - y);
    int is_across = ((double)a->x < NOTCH_X) != ((double)b->x < NOTCH_X);
    if (is_across && edge < NOTCH_DEPTH * height) {
        return; /* a notch is cut here */
    }
    draw d = draw_for(on->desc, DRAW_SPRING, on->network->spring_count);
    int is_strong = is_in_disc(on, x, y);
    double stiffness = between(d.v[0], 3, 5) * (is_strong ? 3 : 1);
    double strain = SHEET_STRAIN * on->desc->strength * between(d.v[1], 0.7, 1.3);
    double length = length_between(a, b) * (1 - SHEET_PRESTRAIN / (is_strong ? 3 : 1));
    add_spring(on->network, p1, p2, length, stiffness,
               stiffness * length * strain * (is_strong ? 2 : 1));
}

static void make_sheet(const sheet *on) {
    place_nodes(on);
    for (uint32_t row = 0; row < on->rows; row++) {
        int is_shifted = row / 2 % 2 != 0;
        for (uint32_t column = 0; column < on->columns; column++) {
            connect(on, column, row, column + 1, row);
            connect(on, column, row, column, row + 1);
            if (row % 2 == 1 && is_shifted) {
                connect(on, column, row, column + 1, row + 1);
            } else if (row % 2 == 1 && column > 0) {
                connect(on, column, row, column - 1, row + 1);
            }
        }
    }
}

/* ---- Lifetime -------------------------------------------------------------------------------- */

structure_network_desc structure_network_default(structure_kind kind) {
    structure_network_desc desc = {.kind = kind,
                                   .nodes = 16000,
                                   .seed = 42,
                                   .speed = 1,
                                   .strength = 1,
                                   .pull_percent = 10,
                                   .anchor_percent = 10,
                                   .spring_percent = 70};
    return desc;
}

static int check(const structure_network_desc *desc, bench_error *error) {
    if (desc->nodes < NODES_LEAST || desc->nodes > STRUCTURE_NODES_MAX) {
        return bench_error_set(error, "a network has %u to %u nodes, not %u", NODES_LEAST,
                               STRUCTURE_NODES_MAX, desc->nodes);
    }
    if (desc->pull_percent + desc->anchor_percent > 100) {
        return bench_error_set(error,
                               "%u%% of the nodes pull and %u%% are anchors: more than all of them",
                               desc->pull_percent, desc->anchor_percent);
    }
    return 0;
}

/* Room for as many springs as the degree allows. */
static int allocate(structure_network *network, bench_error *error) {
    size_t springs = (size_t)network->node_count * STRUCTURE_DEGREE / 2;
    network->nodes = calloc(network->node_count, sizeof *network->nodes);
    network->springs = calloc(springs, sizeof *network->springs);
    if (!network->nodes || !network->springs) {
        return bench_error_set(error, "host memory ran out for a network of %u nodes",
                               network->node_count);
    }
    return 0;
}

static int create_random(const structure_network_desc *desc, structure_network *network,
                         bench_error *error) {
    uint64_t nodes = desc->nodes;
    uint32_t pull = (uint32_t)(nodes * desc->pull_percent / 100);
    uint32_t anchors = (uint32_t)(nodes * desc->anchor_percent / 100);
    network->node_count = desc->nodes;
    network->first_anchor = desc->nodes - anchors;
    network->first_pull = network->first_anchor - pull;
    if (allocate(network, error)) {
        return -1;
    }
    uint64_t springs = nodes * STRUCTURE_DEGREE / 2 * desc->spring_percent / 100;
    return make_random(desc, network, (uint32_t)springs)
               ? bench_error_set(error, "host memory ran out for a network of %u nodes",
                                 desc->nodes)
               : 0;
}

static int create_sheet(const structure_network_desc *desc, structure_network *network,
                        bench_error *error) {
    uint32_t columns = (uint32_t)sqrt((double)desc->nodes), rows = desc->nodes / columns;
    network->node_count = columns * rows;
    network->first_pull = (columns - 2) * rows;
    network->first_anchor = (columns - 1) * rows;
    if (allocate(network, error)) {
        return -1;
    }
    make_sheet(&(sheet){.desc = desc, .network = network, .columns = columns, .rows = rows});
    return 0;
}

int structure_network_create(const structure_network_desc *desc, structure_network *network,
                             bench_error *error) {
    memset(network, 0, sizeof *network);
    if (check(desc, error)) {
        return -1;
    }
    int result = desc->kind == STRUCTURE_SHEET ? create_sheet(desc, network, error)
                                               : create_random(desc, network, error);
    if (result) {
        structure_network_destroy(network);
    }
    return result;
}

void structure_network_destroy(structure_network *network) {
    free(network->nodes);
    free(network->springs);
    memset(network, 0, sizeof *network);
}
