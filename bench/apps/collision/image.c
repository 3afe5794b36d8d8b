/* Pictures of bodies. See model.h. */
#include <math.h>
#include <string.h>

#include "model.h"

typedef struct canvas {
    uint8_t *rgb;
    uint32_t pixels;
} canvas;

/* A disc at pixel (x, y), dark where nothing darker is. */
static void draw_disc(canvas *on, double x, double y, double radius, uint8_t light) {
    int limit = (int)on->pixels - 1, reach = (int)radius;
    for (int row = (int)y - reach; row <= (int)y + reach; row++) {
        for (int column = (int)x - reach; column <= (int)x + reach; column++) {
            int dx = column - (int)x, dy = row - (int)y;
            if (row < 0 || column < 0 || row > limit || column > limit ||
                dx * dx + dy * dy > radius * radius) {
                continue;
            }
            uint8_t *pixel = &on->rgb[3 * ((size_t)row * on->pixels + (size_t)column)];
            for (int i = 0; i < 3; i++) {
                uint8_t value = i == 2 ? (uint8_t)(light / 2 + 100) : light;
                pixel[i] = value < pixel[i] ? value : pixel[i];
            }
        }
    }
}

void collision_paint(const collision_body *bodies, uint32_t count, uint32_t pixels, uint8_t *rgb) {
    canvas on = {.rgb = rgb, .pixels = pixels};
    double mean = 0;
    memset(rgb, 255, 3 * (size_t)pixels * pixels);
    for (uint32_t i = 0; i < count; i++) {
        mean += (double)bodies[i].mass / count;
    }
    for (uint32_t i = 0; i < count; i++) {
        const collision_body *body = &bodies[i];
        double share = (double)body->mass / mean; /* 1: as at the start */
        if (!(body->mass > 0) || !(fabsf(body->x) < 2) || !(fabsf(body->y) < 2)) {
            continue;
        }
        double radius = fmin(sqrt(share), 20);
        draw_disc(&on, ((double)body->x + 1) / 2 * (pixels - 1),
                  (1 - (double)body->y) / 2 * (pixels - 1), radius,
                  (uint8_t)(170 / fmax(1, sqrt(share))));
    }
}
