/* The variants behind one set of calls, and their comparison. See world.h. */
#include "world.h"

#include <string.h>

#include "bench/apps/side_by_side.h"

/* ---- The variants ---------------------------------------------------------------------------- */

int life_world_create(const life_desc *desc, bench_world *world, bench_error *error) {
    const life_ops *ops = desc->world.variant == BENCH_CLUMP ? &life_heap_ops
                          : desc->world.variant == BENCH_SOA ? &life_plain_ops
                                                             : &life_sequential_ops;
    *world = (bench_world){NULL, NULL};
    if (life_rules_check(&desc->rules, error) || ops->create(desc, &world->self, error)) {
        return -1;
    }
    world->ops = &ops->world;
    return 0;
}

/* ---- Comparison ------------------------------------------------------------------------------ */

int life_compare(const life_rules *rules, const life_code *found, const life_code *expected,
                 uint32_t steps, bench_error *error) {
    size_t cells = (size_t)rules->width * rules->height;
    for (size_t i = 0; i < cells; i++) {
        if (found[i] != expected[i]) {
            bench_error_set(
                error, "after %u steps cell (%zu, %zu) is in state %u and in the reference in %u",
                steps, i % rules->width, i / rules->width, found[i], expected[i]);
            return 1;
        }
    }
    return 0;
}

int life_check_heap(const bench_world *world, const life_rules *rules, const life_code *codes,
                    bench_error *error) {
    life_population population = life_count(rules, codes);
    const bench_class_count expected[] = {{"Alive", population.alive + population.dying},
                                          {"Candidate", population.candidates},
                                          {"Cell", (uint64_t)rules->width * rules->height}};
    return bench_world_check_counts(world, expected, 3, error);
}

static int create(const void *desc, int is_reference, bench_world *world, bench_error *error) {
    life_desc own = *(const life_desc *)desc;
    own.is_plain = is_reference;
    own.world.variant = is_reference ? BENCH_SEQUENTIAL : own.world.variant;
    return life_world_create(&own, world, error);
}

static int compare(const bench_pair *pair, uint32_t step, bench_error *error) {
    const life_desc *desc = pair->desc;
    int result = life_compare(&desc->rules, pair->found_state, pair->expected_state, step, error);
    return result ? result
                  : life_check_heap(&pair->found, &desc->rules, pair->expected_state, error);
}

int life_compare_run(const life_desc *desc, uint32_t steps, uint32_t check_every, life_code *last,
                     bench_error *error) {
    size_t cells = (size_t)desc->rules.width * desc->rules.height;
    bench_pair pair = {.desc = desc, .world = &desc->world, .create = create, .compare = compare};
    int result = bench_pair_run_plain(&pair, cells, sizeof(life_code), steps, check_every, error);
    if (result == 0 && desc->world.compaction && desc->world.variant == BENCH_CLUMP &&
        pair.moves == 0) {
        bench_error_set(error, "no compaction moved anything: equal worlds show nothing");
        result = 1;
    }
    if (result == 0 && last) {
        memcpy(last, pair.expected_state, cells * sizeof *last);
    }
    bench_pair_free(&pair);
    return result;
}
