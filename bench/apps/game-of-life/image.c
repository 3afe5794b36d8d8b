/* Pictures of a world, a pixel for each cell. See model.h. */
#include <string.h>

#include "model.h"

/* Living cells black, dying ones gray and paler with time, candidates red (Springer's thesis Fig.
 * 7.22). */
static void color(const life_rules *rules, const life_code *codes, uint32_t x, uint32_t y,
                  uint8_t *rgb) {
    uint32_t state = codes[(size_t)y * rules->width + x];
    if (state > 0 && state != LIFE_STAYS) {
        uint32_t gray = state == 1 ? 0 : 90 + 140 * (state - 2) / rules->states;
        memset(rgb, (int)gray, 3);
        return;
    }
    memset(rgb, 255, 3);
    if (state == LIFE_STAYS || life_is_beside_life(rules, codes, x, y)) {
        rgb[1] = rgb[2] = 130;
    }
}

void life_paint(const life_rules *rules, const life_code *codes, uint8_t *rgb) {
    for (uint32_t y = 0; y < rules->height; y++) {
        for (uint32_t x = 0; x < rules->width; x++) {
            color(rules, codes, x, y, &rgb[3 * ((size_t)y * rules->width + x)]);
        }
    }
}
