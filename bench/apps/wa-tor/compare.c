/* Wa-Tor in any variant against Wa-Tor in sequential C, step by step. See wa_tor.h. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "wa_tor.h"

/* Both worlds after the same number of steps. */
typedef struct pair {
    wa_tor_any found;
    wa_tor_world *expected;
    uint32_t *found_codes, *expected_codes;
    uint32_t width, cells;
} pair;

static int compare_codes(const pair *worlds, uint32_t step, bench_error *error) {
    static const char *const kinds[] = {"empty", "a fish", "a shark", "of no kind"};
    for (uint32_t i = 0; i < worlds->cells; i++) {
        uint32_t found = worlds->found_codes[i];
        uint32_t expected = worlds->expected_codes[i];
        if (found != expected) {
            bench_error_set(
                error, "after %u steps cell (%u, %u) is %s (%08x) and in the reference %s (%08x)",
                step, i % worlds->width, i / worlds->width, kinds[wa_tor_kind(found)], found,
                kinds[wa_tor_kind(expected)], expected);
            return 1;
        }
    }
    return 0;
}

static int compare_populations(pair *worlds, uint32_t step, bench_error *error) {
    wa_tor_usage usage;
    if (!worlds->found.heap) {
        return 0;
    }
    if (wa_tor_heap_usage(worlds->found.heap, &usage, error)) {
        return -1;
    }
    wa_tor_population expected = wa_tor_world_population(worlds->expected);
    if (usage.fish.objects != expected.fish || usage.shark.objects != expected.sharks ||
        usage.cell.objects != worlds->cells) {
        bench_error_set(error,
                        "after %u steps the heap holds %" PRIu64 " fish, %" PRIu64
                        " sharks, %" PRIu64 " cells; the reference %" PRIu64 ", %" PRIu64 ", %u",
                        step, usage.fish.objects, usage.shark.objects, usage.cell.objects,
                        expected.fish, expected.sharks, worlds->cells);
        return 1;
    }
    return 0;
}

static int compare(pair *worlds, uint32_t step, bench_error *error) {
    if (wa_tor_any_finish(&worlds->found, error) ||
        wa_tor_any_encode(&worlds->found, worlds->found_codes, error)) {
        return -1;
    }
    wa_tor_world_encode(worlds->expected, worlds->expected_codes);
    int result = compare_codes(worlds, step, error);
    return result ? result : compare_populations(worlds, step, error);
}

static int check_heap(pair *worlds, clump_context *clump, uint32_t step, bench_error *error) {
    char what[64];
    wa_tor_heap *heap = worlds->found.heap;
    clump_status status = heap ? clump_heap_check(wa_tor_heap_get(heap)) : CLUMP_OK;
    if (status == CLUMP_OK) {
        return 0;
    }
    snprintf(what, sizeof what, "the heap after %u steps", step);
    bench_error_clump(error, what, clump, status);
    return status == CLUMP_ERR_CORRUPT ? 1 : -1;
}

static int run_pair(pair *worlds, clump_context *clump, uint32_t steps, uint32_t check_every,
                    bench_error *error) {
    int result = compare(worlds, 0, error);
    for (uint32_t step = 1; result == 0 && step <= steps; step++) {
        if (wa_tor_any_step(&worlds->found, error)) {
            return -1;
        }
        wa_tor_world_step(worlds->expected);
        result = compare(worlds, step, error);
        if (result == 0 && (step == steps || (check_every && step % check_every == 0))) {
            result = check_heap(worlds, clump, step, error);
        }
    }
    return result;
}

int wa_tor_compare_run(const wa_tor_desc *desc, uint32_t steps, uint32_t check_every,
                       uint64_t *moves, bench_error *error) {
    pair worlds = {.width = desc->rules.width, .cells = desc->rules.width * desc->rules.height};
    int result = wa_tor_any_create(desc, &worlds.found, error);
    if (result == 0) {
        worlds.expected = wa_tor_world_create(&desc->rules, 0);
        worlds.found_codes = malloc(worlds.cells * sizeof(uint32_t));
        worlds.expected_codes = malloc(worlds.cells * sizeof(uint32_t));
        if (worlds.expected && worlds.found_codes && worlds.expected_codes) {
            result = run_pair(&worlds, desc->clump, steps, check_every, error);
        } else {
            result = bench_error_set(error, "host memory ran out");
        }
    }
    if (result == 0 && moves) {
        *moves = worlds.found.heap ? wa_tor_heap_compactions(worlds.found.heap)->moves : 0;
    }
    free(worlds.found_codes);
    free(worlds.expected_codes);
    wa_tor_world_destroy(worlds.expected);
    wa_tor_any_destroy(&worlds.found);
    return result;
}
