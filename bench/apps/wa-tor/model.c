/* What holds for all variants. See model.h. */
#include "model.h"

wa_tor_rules wa_tor_rules_default(void) {
    wa_tor_rules rules = {.width = 512,
                          .height = 512,
                          .seed = 42,
                          .fish_permille = 300,
                          .shark_permille = 50,
                          .fish_spawn = 4,
                          .shark_spawn = 5,
                          .shark_energy = 3,
                          .shark_gain = 2,
                          .has_drawn_timers = 0};
    return rules;
}

const char *wa_tor_rules_check(const wa_tor_rules *rules, int has_bands) {
    uint64_t cells = (uint64_t)rules->width * rules->height;
    if (cells == 0 || cells > (has_bands ? UINT32_MAX : WA_TOR_CELLS_MAX)) {
        return has_bands ? "width * height must be 1 to 2^32 - 1 cells"
                         : "width * height must be 1 to 2^28 cells";
    }
    if ((uint64_t)rules->fish_permille + rules->shark_permille > 1000) {
        return "fish_permille and shark_permille must not exceed 1000 together";
    }
    if (rules->shark_energy == 0) {
        return "shark_energy must be at least 1: a shark without energy is dead";
    }
    return NULL;
}

uint64_t wa_tor_checksum(const uint32_t *world, size_t cells) {
    uint64_t hash = 14695981039346656037u;
    for (size_t i = 0; i < cells; i++) {
        for (unsigned shift = 0; shift < 32; shift += 8) {
            hash = (hash ^ (world[i] >> shift & 0xffu)) * 1099511628211u;
        }
    }
    return hash;
}

wa_tor_population wa_tor_count(const uint32_t *world, size_t cells) {
    wa_tor_population population = {0, 0};
    for (size_t i = 0; i < cells; i++) {
        population.fish += wa_tor_kind(world[i]) == WA_TOR_KIND_FISH;
        population.sharks += wa_tor_kind(world[i]) == WA_TOR_KIND_SHARK;
    }
    return population;
}
