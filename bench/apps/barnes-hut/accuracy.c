/* How accurate the forces are. See world.h. */
#include <math.h>
#include <stdlib.h>

#include "world.h"

/* By all pairs, in double precision; masses count as shares of all mass. */
static void sum_pairs(const barnes_hut_rules *rules, const collision_body *bodies, uint32_t count,
                      uint32_t i, double force[2]) {
    double total = 0;
    force[0] = force[1] = 0;
    for (uint32_t j = 0; j < count; j++) {
        double dx = (double)bodies[j].x - (double)bodies[i].x;
        double dy = (double)bodies[j].y - (double)bodies[i].y;
        double d2 = dx * dx + dy * dy, damped = d2 + rules->softening * rules->softening;
        double distance = sqrt(rules->law == COLLISION_DAMPED ? d2 : damped);
        double f = distance > 0 ? (double)bodies[j].mass / (damped * distance) : 0;
        total += (double)bodies[j].mass;
        force[0] += f * dx;
        force[1] += f * dy;
    }
    double g = rules->gravity_constant > 0 ? rules->gravity_constant : rules->gravity / total;
    force[0] *= g;
    force[1] *= g;
}

/* Bodies at rest have the velocity acceleration * dt after a step, but for those that hit a
 * wall. */
static void compare_forces(const barnes_hut_rules *rules, const collision_body *before,
                           const collision_body *after, uint32_t count, double *difference) {
    double wrong = 0, all = 0;
    for (uint32_t i = 0; i < count; i++) {
        double force[2];
        if (fabsf(after[i].x) >= 1 || fabsf(after[i].y) >= 1) {
            continue;
        }
        sum_pairs(rules, before, count, i, force);
        wrong += pow((double)after[i].vx / rules->dt - force[0], 2) +
                 pow((double)after[i].vy / rules->dt - force[1], 2);
        all += force[0] * force[0] + force[1] * force[1];
    }
    *difference = all > 0 ? sqrt(wrong / all) : 0;
}

int barnes_hut_measure_error(const barnes_hut_rules *rules, const collision_body *bodies,
                             uint32_t count, double *difference, bench_error *error) {
    collision_body *before = malloc(count * sizeof *before);
    collision_body *after = malloc(count * sizeof *after);
    bench_world world = {NULL, NULL};
    int result = before && after ? 0 : bench_error_set(error, "host memory ran out");
    if (result == 0) {
        for (uint32_t i = 0; i < count; i++) {
            before[i] = bodies[i];
            before[i].vx = before[i].vy = 0;
        }
        barnes_hut_desc desc = {.world = {.variant = BENCH_SEQUENTIAL},
                                .rules = *rules,
                                .bodies = before,
                                .count = count};
        result = barnes_hut_world_create(&desc, &world, error) || bench_world_step(&world, error) ||
                         bench_world_read(&world, &(barnes_hut_state){.bodies = after}, error)
                     ? -1
                     : 0;
    }
    if (result == 0) {
        compare_forces(rules, before, after, count, difference);
    }
    bench_world_destroy(&world);
    free(before);
    free(after);
    return result;
}
