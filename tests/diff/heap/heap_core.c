/* Programs of random steps, and the shortest that fails.
 *
 * Read first: heap_core.h, heap_run.h.
 */
#include <stdlib.h>
#include <string.h>

#include "heap_run.h"

static void heap_run_open(heap_run *r, const heap_config *config) {
    memset(r, 0, sizeof *r);
    r->config = config;
    r->f = config->f;
    r->heap =
        config->bytes
            ? cl_fixture_heap(r->f, config->schema, config->bytes, config->block_rows)
            : cl_fixture_heap_of_blocks(r->f, config->schema, config->blocks, config->block_rows);
    const clump_heap_info *layout = clump_heap_get_info(r->heap);
    uint32_t limit = (layout->first_block + layout->block_count) * layout->block_granules * 64;
    r->m = model_create(clump_heap_get_info(r->heap)->schema, limit);
    assert_non_null(r->m);
    char *source = heap_source(r->m, &r->names);
    r->program = cl_fixture_program(r->f, r->heap, source, NULL, &config->build);
    free(source);
    r->ops = cl_fixture_kernel(r->f, r->program, "ops");
    r->visit = cl_fixture_kernel(r->f, r->program, "visit");
    r->change = cl_fixture_kernel(r->f, r->program, "change");
    r->fresh = cl_fixture_kernel(r->f, r->program, "fresh");
}

static void heap_run_close(heap_run *r) {
    clump_kernel_destroy(r->ops);
    clump_kernel_destroy(r->visit);
    clump_kernel_destroy(r->change);
    clump_kernel_destroy(r->fresh);
    clump_program_destroy(r->program);
    clump_heap_destroy(r->heap);
    model_destroy(r->m);
}

/* Run the steps in a fresh heap; returns how many passed, and all did if it is count. */
static uint32_t run_steps(const heap_config *config, const uint32_t *steps, uint32_t count,
                          char *failure, size_t bytes) {
    heap_run r;
    uint32_t i = 0;
    heap_run_open(&r, config);
    while (i < count && heap_step(&r, steps[i]) == 0 && heap_compare(&r) == 0) i++;
    snprintf(failure, bytes, "%s", r.failure);
    heap_run_close(&r);
    return i;
}

/* Leave out halves, quarters, ... of the steps as long as the program fails. */
static uint32_t shrink(const heap_config *config, uint32_t *steps, uint32_t count, char *failure,
                       size_t bytes) {
    for (uint32_t chunk = count / 2; chunk; chunk /= 2) {
        for (uint32_t at = 0; at + chunk <= count;) {
            uint32_t fewer[HEAP_STEPS_MAX], n = count - chunk;
            char words[512];
            memcpy(fewer, steps, at * sizeof *fewer);
            memcpy(fewer + at, steps + at + chunk, (n - at) * sizeof *fewer);
            uint32_t passed = run_steps(config, fewer, n, words, sizeof words);
            if (passed == n) {
                at += chunk;
                continue;
            }
            count = passed + 1;
            memcpy(steps, fewer, count * sizeof *steps);
            snprintf(failure, bytes, "%s", words);
        }
    }
    return count;
}

void heap_random_program(const heap_config *config) {
    uint32_t steps[HEAP_STEPS_MAX] = {0};
    char failure[512];
    assert_true(config->steps <= HEAP_STEPS_MAX && config->items <= HEAP_ITEMS_MAX);
    for (uint32_t i = 0; i < config->steps; i++) steps[i] = i;
    uint32_t passed = run_steps(config, steps, config->steps, failure, sizeof failure);
    if (passed == config->steps) return;
    print_error("seed %llu, block_rows %u: step %u of %u: %s\n", (unsigned long long)config->seed,
                config->block_rows, passed, config->steps, failure);
    uint32_t count = shrink(config, steps, passed + 1, failure, sizeof failure);
    print_error("shortest failing list of steps:");
    for (uint32_t i = 0; i < count; i++) print_error(" %u", steps[i]);
    print_error("\n");
    fail_msg("seed %llu: %s", (unsigned long long)config->seed, failure);
}
