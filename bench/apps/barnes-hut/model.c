/* Rules and keys. See model.h. */
#include "model.h"

barnes_hut_rules barnes_hut_rules_default(void) {
    barnes_hut_rules rules = {.dt = 0.01, .gravity = 1, .softening = 0.01, .theta = 0.5};
    return rules;
}

barnes_hut_constants barnes_hut_find_constants(const barnes_hut_rules *rules,
                                               const collision_body *bodies, uint32_t count) {
    double total = 0;
    for (uint32_t i = 0; i < count; i++) {
        total += (double)bodies[i].mass;
    }
    barnes_hut_constants constants = {.dt = (float)rules->dt,
                                      .softening2 = (float)(rules->softening * rules->softening),
                                      .inverse_theta = (float)(1 / rules->theta),
                                      .kick = (float)(rules->gravity * rules->dt / total)};
    return constants;
}

uint32_t barnes_hut_find_cell(float x) {
    uint32_t last = (1u << BARNES_HUT_GRID_LEVELS) - 1;
    uint32_t cell = (uint32_t)((x + 1.0f) * (float)(1u << (BARNES_HUT_GRID_LEVELS - 1)));
    return cell < last ? cell : last;
}

uint32_t barnes_hut_find_child(float x, float y, uint32_t id, uint32_t level) {
    if (level >= BARNES_HUT_GRID_LEVELS) {
        return id >> (2 * (level - BARNES_HUT_GRID_LEVELS)) & 3;
    }
    uint32_t shift = BARNES_HUT_GRID_LEVELS - 1 - level;
    return (barnes_hut_find_cell(x) >> shift & 1) | (barnes_hut_find_cell(y) >> shift & 1) << 1;
}
