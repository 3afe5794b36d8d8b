/* The worlds on the heap, as a grid, and in sequential C side by side. See game_of_life.h. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "game_of_life.h"

/* All worlds after the same number of steps. */
typedef struct worlds {
    const life_desc *desc;
    life_heap *heap;
    life_grid *grid;
    life_world *fast, *plain;
    uint8_t *codes, *expected;
    size_t cells;
    uint32_t step;
    bench_error *error;
} worlds;

static int compare_codes(const worlds *w, const char *name) {
    uint32_t width = w->desc->rules.width;
    for (size_t i = 0; i < w->cells; i++) {
        if (w->codes[i] != w->expected[i]) {
            bench_error_set(w->error,
                            "after %u steps cell (%zu, %zu) is in state %u %s and in state %u by "
                            "the rule",
                            w->step, i % width, i / width, w->codes[i], name, w->expected[i]);
            return 1;
        }
    }
    return 0;
}

/* The agents fit the cells one by one, and there are no others. */
static int compare_agents(const worlds *w, uint32_t misfits) {
    life_usage usage;
    life_population population = life_count(&w->desc->rules, w->expected);
    if (life_heap_usage(w->heap, &usage, w->error)) {
        return -1;
    }
    if (misfits || usage.alive.objects != population.alive + population.dying ||
        usage.candidate.objects != population.candidates || usage.cell.objects != w->cells) {
        bench_error_set(w->error,
                        "after %u steps %u cells have an agent that does not fit; the heap holds "
                        "%" PRIu64 " Alive, %" PRIu64 " Candidate, %" PRIu64
                        " Cell; there should be %" PRIu64 ", %" PRIu64 ", %zu",
                        w->step, misfits, usage.alive.objects, usage.candidate.objects,
                        usage.cell.objects, population.alive + population.dying,
                        population.candidates, w->cells);
        return 1;
    }
    return 0;
}

static int compare(worlds *w) {
    uint32_t misfits = 0;
    life_world_encode(w->plain, w->expected);
    life_world_encode(w->fast, w->codes);
    int result = compare_codes(w, "in sequential C");
    if (result == 0) {
        result = life_grid_encode(w->grid, w->codes, w->error);
    }
    if (result == 0) {
        result = compare_codes(w, "in the grid");
    }
    if (result == 0) {
        result = life_heap_finish(w->heap, w->error) ||
                         life_heap_encode(w->heap, w->codes, &misfits, w->error)
                     ? -1
                     : 0;
    }
    if (result == 0) {
        result = compare_codes(w, "on the heap");
    }
    return result ? result : compare_agents(w, misfits);
}

static int check_heap(const worlds *w) {
    char what[64];
    clump_status status = clump_heap_check(life_heap_get(w->heap));
    if (status == CLUMP_OK) {
        return 0;
    }
    snprintf(what, sizeof what, "the heap after %u steps", w->step);
    bench_error_clump(w->error, what, w->desc->clump, status);
    return status == CLUMP_ERR_CORRUPT ? 1 : -1;
}

static int run(worlds *w, uint32_t steps, uint32_t check_every) {
    int result = compare(w);
    for (w->step = 1; result == 0 && w->step <= steps; w->step++) {
        if (life_heap_step(w->heap, NULL, w->error) || life_heap_compact(w->heap, w->error) ||
            life_grid_step(w->grid, NULL, w->error)) {
            return -1;
        }
        life_world_step(w->fast);
        life_world_step(w->plain);
        result = compare(w);
        if (result == 0 && (w->step == steps || (check_every && w->step % check_every == 0))) {
            result = check_heap(w);
        }
    }
    return result;
}

int life_compare_run(const life_desc *desc, uint32_t steps, uint32_t check_every, uint8_t *last,
                     bench_error *error) {
    worlds w = {
        .desc = desc, .cells = (size_t)desc->rules.width * desc->rules.height, .error = error};
    int result =
        life_heap_create(desc, &w.heap, error) || life_grid_create(desc, &w.grid, error) ? -1 : 0;
    if (result == 0) {
        w.fast = life_world_create(&desc->rules, desc->codes, 0);
        w.plain = life_world_create(&desc->rules, desc->codes, 1);
        w.codes = malloc(w.cells);
        w.expected = malloc(w.cells);
        if (w.fast && w.plain && w.codes && w.expected) {
            result = run(&w, steps, check_every);
        } else {
            result = bench_error_set(error, "host memory ran out");
        }
    }
    if (result == 0 && desc->compaction && life_heap_compactions(w.heap)->moves == 0) {
        bench_error_set(error, "no compaction moved anything: equal worlds show nothing");
        result = 1;
    }
    if (result == 0 && last) {
        life_world_encode(w.plain, last);
    }
    free(w.codes);
    free(w.expected);
    life_world_destroy(w.fast);
    life_world_destroy(w.plain);
    life_grid_destroy(w.grid);
    life_heap_destroy(w.heap);
    return result;
}
