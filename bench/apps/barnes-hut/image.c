/* Pictures of bodies and of the cells that the tree divides them into. See model.h. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "model.h"

typedef struct canvas {
    const collision_body *bodies;
    uint8_t *rgb;
    uint32_t pixels;
} canvas;

static void set_pixel(const canvas *on, uint32_t column, uint32_t row, const uint8_t color[3]) {
    if (column < on->pixels && row < on->pixels) {
        memcpy(&on->rgb[3 * ((size_t)row * on->pixels + column)], color, 3);
    }
}

/* Of x from -1 to 1. */
static uint32_t find_pixel(const canvas *on, double x) {
    return (uint32_t)((x + 1) / 2 * (on->pixels - 1));
}

/* The cross that divides the cell with its corner at (x, y), and is `size` wide, into four. */
static void draw_cross(const canvas *on, double x, double y, double size, uint32_t level) {
    uint8_t light = (uint8_t)(level < 8 ? 225 - 16 * level : 105);
    uint8_t color[3] = {light, (uint8_t)(light + (255 - light) / 3), 235};
    uint32_t left = find_pixel(on, x), right = find_pixel(on, x + size);
    uint32_t top = find_pixel(on, -y - size), bottom = find_pixel(on, -y);
    uint32_t column = find_pixel(on, x + size / 2), row = find_pixel(on, -y - size / 2);
    for (uint32_t i = left; i <= right; i++) set_pixel(on, i, row, color);
    for (uint32_t i = top; i <= bottom; i++) set_pixel(on, column, i, color);
}

/* Bring the bodies of children 0 .. child of a cell to the front; returns how many these are. */
static uint32_t part(const canvas *on, uint32_t *ids, uint32_t count, uint32_t level,
                     uint32_t child) {
    uint32_t front = 0;
    for (uint32_t i = 0; i < count; i++) {
        const collision_body *body = &on->bodies[ids[i]];
        if (barnes_hut_find_child(body->x, body->y, ids[i], level) <= child) {
            uint32_t id = ids[i];
            ids[i] = ids[front];
            ids[front++] = id;
        }
    }
    return front;
}

/* The cell and those below it, as long as they can be seen. Cells of two bodies and more are
 * nodes. */
static void draw_cell(const canvas *on, uint32_t *ids, uint32_t count, double x, double y,
                      uint32_t level) {
    double size = ldexp(2, -(int)level);
    if (count < 2 || size * on->pixels < 6) {
        return;
    }
    for (uint32_t child = 0; child < 4; child++) {
        uint32_t front = part(on, ids, count, level, child);
        draw_cell(on, ids, front, x + size / 2 * (child & 1), y + size / 2 * (child >> 1),
                  level + 1);
        ids += front;
        count -= front;
    }
    draw_cross(on, x, y, size, level);
}

static void draw_body(const canvas *on, const collision_body *body, double mean) {
    uint32_t column = find_pixel(on, (double)body->x), row = find_pixel(on, (double)-body->y);
    uint8_t light = (uint8_t)(110 * exp(-(double)body->mass / mean));
    const uint8_t color[3] = {(uint8_t)(light + 110), light, 0};
    for (uint32_t i = 0; i < 4; i++) set_pixel(on, column + (i & 1), row + (i >> 1), color);
}

int barnes_hut_paint(const collision_body *bodies, uint32_t count, uint32_t pixels, uint8_t *rgb,
                     bench_error *error) {
    canvas on = {.bodies = bodies, .rgb = rgb, .pixels = pixels};
    double total = 0;
    uint32_t *ids = malloc(count * sizeof *ids);
    if (!ids) {
        return bench_error_set(error, "host memory ran out for the picture");
    }
    memset(rgb, 255, 3 * (size_t)pixels * pixels);
    for (uint32_t i = 0; i < count; i++) {
        ids[i] = i;
        total += (double)bodies[i].mass;
    }
    draw_cell(&on, ids, count, -1, -1, 0);
    for (uint32_t i = 0; i < count; i++) {
        draw_body(&on, &bodies[i], total / count);
    }
    free(ids);
    return 0;
}
