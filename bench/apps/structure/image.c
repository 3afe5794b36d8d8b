/* Pictures of structures. See model.h. */
#include <math.h>
#include <string.h>

#include "model.h"

#define MARGIN 0.04 /* of its side, around the structure */

typedef struct canvas {
    uint8_t *rgb;
    uint32_t pixels;            /* width and height */
    double left, bottom, scale; /* of what is shown, in the structure's measure; pixels per unit */
} canvas;

typedef struct color {
    uint8_t rgb[3];
} color;

static void put(canvas *on, double x, double y, color c) {
    if (x >= 0 && y >= 0 && x < on->pixels && y < on->pixels) {
        memcpy(&on->rgb[3 * ((size_t)y * on->pixels + (size_t)x)], c.rgb, 3);
    }
}

static double to_column(const canvas *on, float x) {
    return ((double)x - on->left) * on->scale;
}

static double to_row(const canvas *on, float y) {
    return on->pixels - ((double)y - on->bottom) * on->scale;
}

/* A line, as many dots as it is long; a piece that is longer than the picture is left out. */
static void draw_line(canvas *on, const float a[2], const float b[2], color c) {
    double x = to_column(on, a[0]), y = to_row(on, a[1]);
    double dx = to_column(on, b[0]) - x, dy = to_row(on, b[1]) - y;
    double dots = ceil(fmax(fabs(dx), fabs(dy)));
    if (!(dots <= on->pixels)) {
        return;
    }
    for (int i = 0; i <= (int)dots; i++) {
        double share = dots > 0 ? i / dots : 0;
        put(on, x + share * dx, y + share * dy, c);
    }
}

static void draw_square(canvas *on, float x, float y, int reach, color c) {
    for (int dy = -reach; dy <= reach; dy++) {
        for (int dx = -reach; dx <= reach; dx++) {
            put(on, to_column(on, x) + dx, to_row(on, y) + dy, c);
        }
    }
}

/* Grey at rest, red where it will break. */
static color color_of_stress(double share) {
    static const double rest[3] = {150, 160, 170}, most[3] = {215, 20, 30};
    color c;
    share = fmin(fmax(share, 0), 1);
    for (int i = 0; i < 3; i++) {
        c.rgb[i] = (uint8_t)(rest[i] + share * (most[i] - rest[i]));
    }
    return c;
}

/* What the network began with, and has lost. */
static void draw_lost(canvas *on, const structure_network *network, const structure_state *state) {
    for (uint32_t s = 0; s < network->spring_count; s++) {
        const structure_node *a = &network->nodes[network->springs[s].p1];
        const structure_node *b = &network->nodes[network->springs[s].p2];
        if (!state->springs[s]) {
            draw_line(on, (float[]){a->x, a->y}, (float[]){b->x, b->y}, (color){{214, 222, 240}});
        }
    }
}

static void draw_springs(canvas *on, const structure_network *network,
                         const structure_state *state) {
    for (uint32_t s = 0; s < network->spring_count; s++) {
        const structure_spring *spring = &network->springs[s];
        const structure_node_state *a = &state->nodes[spring->p1], *b = &state->nodes[spring->p2];
        if (state->springs[s]) {
            double length = hypot((double)b->x - (double)a->x, (double)b->y - (double)a->y);
            double force = (double)spring->stiffness * (length - (double)spring->length);
            draw_line(on, (float[]){a->x, a->y}, (float[]){b->x, b->y},
                      color_of_stress(force / (double)spring->max_force));
        }
    }
}

/* Black: anchors; blue: what pulls. */
static void draw_ends(canvas *on, const structure_network *network, const structure_state *state) {
    for (uint32_t i = network->first_pull; i < network->node_count; i++) {
        const structure_node_state *node = &state->nodes[i];
        if (node->is_there) {
            draw_square(on, node->x, node->y, on->pixels > 600,
                        i < network->first_anchor ? (color){{30, 70, 200}} : (color){{0, 0, 0}});
        }
    }
}

/* A square around all nodes as they were at the beginning, so that it stays the same. */
static void find_frame(canvas *on, const structure_network *network) {
    double low[2] = {INFINITY, INFINITY}, high[2] = {-INFINITY, -INFINITY};
    for (uint32_t i = 0; i < network->node_count; i++) {
        double at[2] = {(double)network->nodes[i].x, (double)network->nodes[i].y};
        for (int k = 0; k < 2; k++) {
            low[k] = fmin(low[k], at[k]);
            high[k] = fmax(high[k], at[k]);
        }
    }
    double side = fmax(fmax(high[0] - low[0], high[1] - low[1]), 1e-6) * (1 + 2 * MARGIN);
    on->scale = on->pixels / side;
    on->left = (low[0] + high[0] - side) / 2;
    on->bottom = (low[1] + high[1] - side) / 2;
}

void structure_paint(const structure_network *network, const structure_state *state,
                     uint32_t pixels, uint8_t *rgb) {
    canvas on = {.rgb = rgb, .pixels = pixels};
    find_frame(&on, network);
    memset(rgb, 255, 3 * (size_t)pixels * pixels);
    draw_lost(&on, network, state);
    draw_springs(&on, network, state);
    draw_ends(&on, network, state);
}
