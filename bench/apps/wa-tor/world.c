/* The variants behind one set of calls, and their comparison. See world.h. */
#include "world.h"

#include "bench/apps/side_by_side.h"

const char *const wa_tor_heap_files[] = {
    "bench/apps/wa-tor/rules.clh", "bench/apps/wa-tor/agents.clh", "bench/apps/wa-tor/show.clh",
    "bench/apps/cells.clh", NULL};
const char *const wa_tor_dynasoar_files[] = {
    "bench/apps/wa-tor/rules.clh", "bench/apps/wa-tor/show.clh", "bench/apps/cells.clh", NULL};
const char *const wa_tor_rules_files[] = {"bench/apps/wa-tor/rules.clh", NULL};

/* ---- The variants ---------------------------------------------------------------------------- */

int wa_tor_world_create(const wa_tor_desc *desc, bench_world *world, bench_error *error) {
    static const wa_tor_ops *const all[] = {[BENCH_CLUMP] = &wa_tor_heap_ops,
                                            [BENCH_SOA] = &wa_tor_plain_ops,
                                            [BENCH_AOS] = &wa_tor_plain_ops,
                                            [BENCH_SEQUENTIAL] = &wa_tor_sequential_ops};
    const char *fault = wa_tor_rules_check(&desc->rules, 0);
    *world = (bench_world){NULL, NULL};
    if (fault) {
        return bench_error_set(error, "%s", fault);
    }
    if (all[desc->world.variant]->create(desc, &world->self, error)) {
        return -1;
    }
    world->ops = &all[desc->world.variant]->world;
    return 0;
}

int wa_tor_world_save(const bench_world *world, const char *path, bench_error *error) {
    if (world->ops != &wa_tor_heap_ops.world) {
        return bench_error_set(error, "only a world on a heap has checkpoints");
    }
    return bench_world_finish(world, error) ? -1 : wa_tor_heap_save(world->self, path, error);
}

int wa_tor_world_resume(const wa_tor_desc *desc, const char *path, uint32_t steps,
                        bench_world *world, bench_error *error) {
    const char *fault = wa_tor_rules_check(&desc->rules, 0);
    *world = (bench_world){NULL, NULL};
    if (fault || desc->world.variant != BENCH_CLUMP) {
        return bench_error_set(error, "%s",
                               fault ? fault : "only a world on a heap has checkpoints");
    }
    if (wa_tor_heap_resume(desc, path, steps, &world->self, error)) {
        return -1;
    }
    world->ops = &wa_tor_heap_ops.world;
    return 0;
}

/* ---- Comparison ------------------------------------------------------------------------------ */

int wa_tor_check_heap(const bench_world *world, const wa_tor_rules *rules, const uint32_t *codes,
                      bench_error *error) {
    size_t cells = (size_t)rules->width * rules->height;
    wa_tor_population population = wa_tor_count(codes, cells);
    const bench_class_count expected[] = {
        {"Fish", population.fish}, {"Shark", population.sharks}, {"Cell", cells}};
    return bench_world_check_counts(world, expected, 3, error);
}

int wa_tor_compare(const wa_tor_rules *rules, const uint32_t *found, const uint32_t *expected,
                   uint32_t steps, bench_error *error) {
    static const char *const kinds[] = {"empty", "a fish", "a shark", "of no kind"};
    for (uint32_t i = 0; i < rules->width * rules->height; i++) {
        if (found[i] != expected[i]) {
            bench_error_set(
                error, "after %u steps cell (%u, %u) is %s (%08x) and in the reference %s (%08x)",
                steps, i % rules->width, i / rules->width, kinds[wa_tor_kind(found[i])], found[i],
                kinds[wa_tor_kind(expected[i])], expected[i]);
            return 1;
        }
    }
    return 0;
}

static int create(const void *desc, int is_reference, bench_world *world, bench_error *error) {
    wa_tor_desc own = *(const wa_tor_desc *)desc;
    own.shuffle = 0;
    own.world.variant = is_reference ? BENCH_SEQUENTIAL : own.world.variant;
    return wa_tor_world_create(&own, world, error);
}

static int compare(const bench_pair *pair, uint32_t step, bench_error *error) {
    const wa_tor_desc *desc = pair->desc;
    const char *fault = wa_tor_sequential_check(pair->expected.self);
    if (fault) {
        bench_error_set(error, "after %u steps, in the reference: %s", step, fault);
        return 1;
    }
    int result = wa_tor_compare(&desc->rules, pair->found_state, pair->expected_state, step, error);
    return result ? result
                  : wa_tor_check_heap(&pair->found, &desc->rules, pair->expected_state, error);
}

int wa_tor_compare_run(const wa_tor_desc *desc, uint32_t steps, uint32_t check_every,
                       uint64_t *moves, bench_error *error) {
    size_t cells = (size_t)desc->rules.width * desc->rules.height;
    bench_pair pair = {.desc = desc, .world = &desc->world, .create = create, .compare = compare};
    int result = bench_pair_run_plain(&pair, cells, sizeof(uint32_t), steps, check_every, error);
    *moves = pair.moves;
    bench_pair_free(&pair);
    return result;
}
