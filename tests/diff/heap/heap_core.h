/* Random programs on a heap and on the model, compared after every step.
 *
 * A program is a list of steps. Each draws its random numbers from the seed and its own number
 * alone, so that steps can be left out: a program that fails is run again with fewer and fewer of
 * them, and the shortest list that still fails is printed.
 *
 * Read first: tests/support/cl_fixture.h. Read next: heap_core.c, heap_run.h.
 */
#ifndef HEAP_CORE_H
#define HEAP_CORE_H

#include "cl_fixture.h"

#define HEAP_STEPS_MAX 400u
#define HEAP_ITEMS_MAX 600u /* work-items of a step */

typedef struct heap_config {
    cl_fixture *f;
    const char *schema;
    uint64_t bytes; /* of the heap; 0: blocks */
    uint32_t blocks, block_rows;
    cl_fixture_build build;
    uint64_t seed;
    uint32_t steps;
    uint32_t items; /* work-items of a step, at most */
} heap_config;

/* Run a random program; fails the test with the shortest failing list of steps. */
void heap_random_program(const heap_config *config);

#endif
