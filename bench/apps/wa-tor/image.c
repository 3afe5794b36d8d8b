/* Pictures of Wa-Tor. See model.h. */
#include "model.h"

/* Between two colours: 0 gives `from`, `steps` and more give `to`. */
static void shade(uint8_t *rgb, const uint8_t from[3], const uint8_t to[3], uint32_t step,
                  uint32_t steps) {
    step = step < steps ? step : steps;
    for (int i = 0; i < 3; i++) {
        rgb[i] = (uint8_t)((from[i] * (steps - step) + to[i] * step) / steps);
    }
}

static void color(uint8_t *rgb, uint32_t code, const wa_tor_rules *rules) {
    static const uint8_t sea[3] = {232, 242, 250};
    static const uint8_t young_fish[3] = {120, 205, 110}, old_fish[3] = {20, 110, 40};
    static const uint8_t hungry_shark[3] = {110, 0, 20}, fed_shark[3] = {240, 60, 50};
    uint32_t timer = code & 0xfffu;
    uint32_t energy = code >> 12 & 0xffffu;
    switch (wa_tor_kind(code)) {
    case WA_TOR_KIND_FISH: shade(rgb, young_fish, old_fish, timer, rules->fish_spawn + 1); break;
    case WA_TOR_KIND_SHARK:
        shade(rgb, hungry_shark, fed_shark, energy, rules->shark_energy + 2 * rules->shark_gain);
        break;
    default: shade(rgb, sea, sea, 0, 1);
    }
}

void wa_tor_paint(const wa_tor_rules *rules, const uint32_t *codes, uint8_t *rgb) {
    size_t cells = (size_t)rules->width * rules->height;
    for (size_t i = 0; i < cells; i++) {
        color(&rgb[3 * i], codes[i], rules);
    }
}
