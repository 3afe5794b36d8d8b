/* The variants behind one set of calls, and their comparison. See world.h. */
#include "world.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench/apps/side_by_side.h"
#include "heap.h"

#define EXACT_BYTES (5 * sizeof(double))

const char *const barnes_hut_phases[BARNES_HUT_PHASES] = {"compute_force", "move", "push", "split",
                                                          "gather"};

uint32_t barnes_hut_count_rounds(uint32_t count) {
    uint32_t rounds = 3;
    for (; count > 1; count /= 4) {
        rounds++;
    }
    return rounds;
}

int barnes_hut_state_create(uint32_t count, int is_precise, barnes_hut_state *state,
                            bench_error *error) {
    state->bodies = calloc(count, sizeof *state->bodies);
    state->levels = calloc(count, 1);
    state->exact = is_precise ? calloc(count, EXACT_BYTES) : NULL;
    return state->bodies && state->levels && (state->exact || !is_precise)
               ? 0
               : bench_error_set(error, "host memory ran out for the bodies");
}

void barnes_hut_state_destroy(barnes_hut_state *state) {
    free(state->bodies);
    free(state->exact);
    free(state->levels);
}

/* ---- The variants ---------------------------------------------------------------------------- */

int barnes_hut_has_doubles(cl_device_id device) {
    cl_device_fp_config config = 0;
    return clGetDeviceInfo(device, CL_DEVICE_DOUBLE_FP_CONFIG, sizeof config, &config, NULL) ==
               CL_SUCCESS &&
           config != 0;
}

int barnes_hut_world_create(const barnes_hut_desc *desc, bench_world *world, bench_error *error) {
    static const barnes_hut_ops *const all[] = {[BENCH_CLUMP] = &barnes_hut_heap_ops,
                                                [BENCH_SOA] = &barnes_hut_plain_ops,
                                                [BENCH_AOS] = &barnes_hut_plain_ops,
                                                [BENCH_SEQUENTIAL] = &barnes_hut_sequential_ops};
    *world = (bench_world){NULL, NULL};
    if (desc->count == 0 || desc->count > COLLISION_BODIES_MAX) {
        return bench_error_set(error, "there must be 1 to %u bodies, not %u", COLLISION_BODIES_MAX,
                               desc->count);
    }
    if (!(desc->rules.opening > 0) &&
        !(desc->rules.theta > 0 && desc->rules.theta <= BARNES_HUT_THETA_MAX)) {
        return bench_error_set(error, "theta must be above 0 and at most %g, not %g",
                               BARNES_HUT_THETA_MAX, desc->rules.theta);
    }
    if (desc->rules.is_precise && desc->world.variant != BENCH_SEQUENTIAL &&
        !barnes_hut_has_doubles(desc->world.device)) {
        return bench_error_set(error, "the device does not compute in double precision");
    }
    barnes_hut_constants constants =
        barnes_hut_find_constants(&desc->rules, desc->bodies, desc->count);
    const barnes_hut_ops *ops = all[desc->world.variant];
    if (ops == &barnes_hut_sequential_ops && desc->rules.is_precise) {
        ops = &barnes_hut_precise_sequential_ops;
    }
    if (ops->create(desc, &constants, &world->self, error)) {
        return -1;
    }
    world->ops = &ops->world;
    return 0;
}

const char *const barnes_hut_sources[] = {"bench/apps/collision/rules.clh",
                                          "bench/apps/barnes-hut/rules.clh", NULL};

void barnes_hut_write_options(const barnes_hut_constants *constants,
                              char text[BARNES_HUT_OPTIONS_BYTES]) {
    snprintf(text, BARNES_HUT_OPTIONS_BYTES, "-DPRECISE=%d -DLAW_DAMPED=%d",
             constants->is_precise != 0, constants->law == COLLISION_DAMPED);
}

bench_arg barnes_hut_real_arg(const barnes_hut_constants *constants, unsigned kernel, cl_uint index,
                              const barnes_hut_real *number) {
    return constants->is_precise
               ? (bench_arg){kernel, index, sizeof number->precise, &number->precise}
               : (bench_arg){kernel, index, sizeof number->single, &number->single};
}

size_t barnes_hut_shown_bytes(const barnes_hut_constants *constants) {
    return constants->is_precise ? EXACT_BYTES : sizeof(collision_body);
}

static int read_exact(bench_buffers *buffers, cl_mem shown, uint32_t count, barnes_hut_state *state,
                      bench_error *error) {
    double *exact = state->exact ? state->exact : malloc(count * EXACT_BYTES);
    int result = exact ? bench_buffer_read(buffers, shown, 0, count * EXACT_BYTES, exact, error)
                       : bench_error_set(error, "host memory ran out for the bodies");
    for (uint32_t i = 0; result == 0 && i < count; i++) {
        const double *body = exact + 5 * (size_t)i;
        state->bodies[i] = (collision_body){.x = (float)body[0],
                                            .y = (float)body[1],
                                            .vx = (float)body[2],
                                            .vy = (float)body[3],
                                            .mass = (float)body[4]};
    }
    if (!state->exact) {
        free(exact);
    }
    return result;
}

int barnes_hut_read_bodies(const barnes_hut_constants *constants, bench_buffers *buffers,
                           cl_mem shown, uint32_t count, barnes_hut_state *state,
                           bench_error *error) {
    return constants->is_precise
               ? read_exact(buffers, shown, count, state, error)
               : bench_buffer_read(buffers, shown, 0, count * sizeof *state->bodies, state->bodies,
                                   error);
}

/* ---- Comparison ------------------------------------------------------------------------------ */

int barnes_hut_compare_bodies(const barnes_hut_state *found, const barnes_hut_state *expected,
                              uint32_t count, uint32_t step, bench_error *error) {
    if (collision_compare(found->bodies, expected->bodies, count, step, error)) {
        return 1;
    }
    for (uint32_t i = 0; found->exact && expected->exact && i < count; i++) {
        const double *f = found->exact + 5 * (size_t)i, *e = expected->exact + 5 * (size_t)i;
        if (memcmp(f, e, EXACT_BYTES) != 0) {
            bench_error_set(error,
                            "after %u steps body %u is at (%a, %a) with velocity (%a, %a); in the "
                            "reference at (%a, %a) with (%a, %a)",
                            step, i + 1, f[0], f[1], f[2], f[3], e[0], e[1], e[2], e[3]);
            return 1;
        }
    }
    return 0;
}

static int create(const void *desc, int is_reference, bench_world *world, bench_error *error) {
    barnes_hut_desc own = *(const barnes_hut_desc *)desc;
    own.world.variant = is_reference ? BENCH_SEQUENTIAL : own.world.variant;
    return barnes_hut_world_create(&own, world, error);
}

static int compare_trees(const bench_pair *pair, uint32_t step, bench_error *error) {
    const barnes_hut_state *found = pair->found_state, *expected = pair->expected_state;
    if (found->nodes != expected->nodes) {
        bench_error_set(error, "after %u steps the tree has %u nodes instead of %u", step,
                        found->nodes, expected->nodes);
        return 1;
    }
    for (uint32_t i = 0; i < ((const barnes_hut_desc *)pair->desc)->count; i++) {
        if (found->levels[i] != expected->levels[i]) {
            bench_error_set(error, "after %u steps body %u hangs at level %u instead of %u", step,
                            i + 1, found->levels[i], expected->levels[i]);
            return 1;
        }
    }
    return 0;
}

static int compare(const bench_pair *pair, uint32_t step, bench_error *error) {
    const barnes_hut_state *found = pair->found_state, *expected = pair->expected_state;
    uint32_t count = ((const barnes_hut_desc *)pair->desc)->count;
    return barnes_hut_compare_bodies(found, expected, count, step, error) ||
           compare_trees(pair, step, error);
}

static int check_tree(const bench_pair *pair, uint32_t step, bench_error *error) {
    uint32_t faults = 0;
    if (barnes_hut_heap_count_faults(pair->found.self, &faults, error)) {
        return -1;
    }
    if (faults) {
        bench_error_set(error, "after %u steps the tree hangs together wrongly in %u places", step,
                        faults);
    }
    return faults != 0;
}

int barnes_hut_compare_run(const barnes_hut_desc *desc, uint32_t steps, uint32_t check_every,
                           bench_error *error) {
    barnes_hut_state found, expected;
    bench_pair pair = {.desc = desc,
                       .world = &desc->world,
                       .found_state = &found,
                       .expected_state = &expected,
                       .create = create,
                       .compare = compare,
                       .check_heap = check_tree};
    int is_precise = desc->rules.is_precise;
    int result = barnes_hut_state_create(desc->count, is_precise, &found, error) |
                 barnes_hut_state_create(desc->count, is_precise, &expected, error);
    if (result == 0) {
        result = bench_pair_run(&pair, steps, check_every, error);
    }
    barnes_hut_state_destroy(&found);
    barnes_hut_state_destroy(&expected);
    return result;
}
