/* Pictures of streets with cars. See network.h. */
#include <math.h>
#include <string.h>

#include "network.h"

/* Between the middle of a road and the cells of one direction; of the mean distance of the ends
 * of a street. */
#define LANE_GAP 0.06

typedef struct canvas {
    uint8_t *rgb;
    uint32_t width, height;
    double scale, left, top, gap; /* of the map, in its coordinates */
} canvas;

typedef struct colour {
    uint8_t rgb[3];
} colour;

static void put(canvas *on, double x, double y, int radius, colour c) {
    int column = (int)((x - on->left) * on->scale), row = (int)((y - on->top) * on->scale);
    for (int r = row - radius; r <= row + radius; r++) {
        for (int q = column - radius; q <= column + radius; q++) {
            if (r >= 0 && q >= 0 && r < (int)on->height && q < (int)on->width) {
                memcpy(&on->rgb[3 * ((size_t)r * on->width + (size_t)q)], c.rgb, 3);
            }
        }
    }
}

static colour colour_of(uint32_t code, uint32_t max_velocity) {
    static const colour street = {{222, 222, 226}}, fast = {{188, 188, 200}};
    double share = fmin((code >> 20 & 15) / (TRAFFIC_VELOCITY_MAX / 2.0), 1);
    if (!(code & TRAFFIC_CODE_CAR)) {
        return max_velocity > TRAFFIC_VELOCITY_MAX * 3 / 4 ? fast : street;
    }
    return (colour){{(uint8_t)(220 - 200 * share), (uint8_t)(30 + 120 * share), 40}};
}

/* The cells of a street, to the right of the line between its intersections; turn lanes lie over
 * its end. Streets first, cars in a second round on top. */
static void draw_street(canvas *on, const traffic_map *map, const traffic_network *network,
                        const uint32_t *codes, uint32_t street, int is_car_round) {
    const traffic_street *s = &map->streets[street];
    const traffic_intersection *a = &map->intersections[s->from], *b = &map->intersections[s->to];
    double dx = (double)b->x - (double)a->x, dy = (double)b->y - (double)a->y;
    double length = fmax(hypot(dx, dy), 1e-9);
    double side_x = -dy / length * on->gap, side_y = dx / length * on->gap;
    int radius = on->gap * on->scale > 3; /* so that streets do not touch */
    uint32_t first = network->first_cells[street];
    uint32_t next =
        street + 1 < map->street_count ? network->first_cells[street + 1] : network->cell_count;
    for (uint32_t cell = first; cell < next; cell++) {
        uint32_t behind = cell - first - s->cells; /* of a turn lane */
        double at = cell - first < s->cells ? (cell - first + 0.5) / (s->cells + TRAFFIC_LANE_CELLS)
                                            : (s->cells + behind % TRAFFIC_LANE_CELLS + 0.5) /
                                                  (s->cells + TRAFFIC_LANE_CELLS);
        int is_car = (codes[cell] & TRAFFIC_CODE_CAR) != 0;
        if (is_car == is_car_round) {
            put(on, (double)a->x + dx * at + side_x, (double)a->y + dy * at + side_y, radius,
                colour_of(codes[cell], network->max_velocity[cell] & TRAFFIC_LIMIT));
        }
    }
}

/* All of the canvas but its pixels. */
static canvas fit(const traffic_map *map, uint32_t pixels) {
    canvas on = {.rgb = NULL};
    double left = INFINITY, right = -INFINITY, top = INFINITY, bottom = -INFINITY;
    for (uint32_t i = 0; i < map->intersection_count; i++) {
        left = fmin(left, (double)map->intersections[i].x);
        right = fmax(right, (double)map->intersections[i].x);
        top = fmin(top, (double)map->intersections[i].y);
        bottom = fmax(bottom, (double)map->intersections[i].y);
    }
    double sum = 0;
    for (uint32_t i = 0; i < map->street_count; i++) {
        const traffic_intersection *a = &map->intersections[map->streets[i].from];
        const traffic_intersection *b = &map->intersections[map->streets[i].to];
        sum += hypot((double)b->x - (double)a->x, (double)b->y - (double)a->y);
    }
    on.gap = LANE_GAP * sum / map->street_count;
    double margin = 2 * on.gap + 0.01 * fmax(right - left, bottom - top) + 1e-6;
    double width = right - left + 2 * margin, height = bottom - top + 2 * margin;
    on.left = left - margin;
    on.top = top - margin;
    on.scale = pixels / fmax(width, height);
    on.width = (uint32_t)fmax(width * on.scale, 1);
    on.height = (uint32_t)fmax(height * on.scale, 1);
    return on;
}

void traffic_fit_image(const traffic_map *map, uint32_t pixels, uint32_t *width, uint32_t *height) {
    canvas on = fit(map, pixels);
    *width = on.width;
    *height = on.height;
}

void traffic_paint(const traffic_map *map, const traffic_network *network, const uint32_t *codes,
                   uint32_t pixels, uint8_t *rgb) {
    canvas on = fit(map, pixels);
    on.rgb = rgb;
    memset(rgb, 255, 3 * (size_t)on.width * on.height);
    for (int is_car_round = 0; is_car_round < 2; is_car_round++) {
        for (uint32_t i = 0; i < map->street_count; i++) {
            draw_street(&on, map, network, codes, i, is_car_round);
        }
    }
}
