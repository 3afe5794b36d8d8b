/* Rules and keys. See model.h. */
#include "model.h"

#include <math.h>

#define MARGIN 1e-6f /* of centres of mass, which are rounded */

barnes_hut_rules barnes_hut_rules_default(void) {
    barnes_hut_rules rules = {.dt = 0.01, .gravity = 1, .softening = 0.01, .theta = 0.5};
    return rules;
}

static barnes_hut_real both(double number) {
    return (barnes_hut_real){.precise = number, .single = (float)number};
}

barnes_hut_constants barnes_hut_find_constants(const barnes_hut_rules *rules,
                                               const collision_body *bodies, uint32_t count) {
    double total = 0;
    for (uint32_t i = 0; i < count; i++) {
        total += (double)bodies[i].mass;
    }
    double g = rules->gravity_constant > 0 ? rules->gravity_constant : rules->gravity / total;
    barnes_hut_constants constants = {.is_precise = rules->is_precise,
                                      .law = rules->law,
                                      .dt = both(rules->dt),
                                      .softening2 = both(rules->softening * rules->softening),
                                      .kick = both(g * rules->dt)};
    if (rules->opening > 0) {
        constants.reach[1] = (float)rules->opening;
        while (sqrt(8) * ldexp(1, -(int)constants.path - 1) >= rules->opening - (double)MARGIN) {
            constants.path++; /* the diagonal of a cell below this level */
        }
    } else {
        constants.reach[0] = (float)(1 / rules->theta);
        constants.reach[1] = MARGIN;
    }
    return constants;
}

uint32_t barnes_hut_find_cell(float x) {
    uint32_t last = (1u << BARNES_HUT_GRID_LEVELS) - 1;
    uint32_t cell = (uint32_t)((x + 1.0f) * (float)(1u << (BARNES_HUT_GRID_LEVELS - 1)));
    return cell < last ? cell : last;
}

uint32_t barnes_hut_find_cell_precise(double x) {
    uint32_t last = (1u << BARNES_HUT_GRID_LEVELS) - 1;
    uint32_t cell = (uint32_t)((x + 1) * (1u << (BARNES_HUT_GRID_LEVELS - 1)));
    return cell < last ? cell : last;
}

/* By the finest column and row. */
static uint32_t find_child(uint32_t column, uint32_t row, uint32_t id, uint32_t level) {
    if (level >= BARNES_HUT_GRID_LEVELS) {
        return id >> (2 * (level - BARNES_HUT_GRID_LEVELS)) & 3;
    }
    uint32_t shift = BARNES_HUT_GRID_LEVELS - 1 - level;
    return (column >> shift & 1) | (row >> shift & 1) << 1;
}

uint32_t barnes_hut_find_child(float x, float y, uint32_t id, uint32_t level) {
    return find_child(barnes_hut_find_cell(x), barnes_hut_find_cell(y), id, level);
}

uint32_t barnes_hut_find_child_precise(double x, double y, uint32_t id, uint32_t level) {
    return find_child(barnes_hut_find_cell_precise(x), barnes_hut_find_cell_precise(y), id, level);
}
