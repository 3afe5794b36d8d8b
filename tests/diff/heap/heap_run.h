/* A random program while it runs: the heap beside the model.
 *
 * heap_step.c does a step to both, heap_compare.c compares them; heap_core.c has the programs.
 * After a failure, `failure` says what it is.
 *
 * Read first: heap_core.h, heap_source.h, tests/support/model.h.
 */
#ifndef HEAP_RUN_H
#define HEAP_RUN_H

#include <stdio.h>

#include "heap_core.h"
#include "heap_source.h"

typedef struct heap_run {
    const heap_config *config;
    cl_fixture *f;
    clump_heap *heap;
    clump_program *program;
    clump_kernel *ops, *visit, *change, *fresh;
    model *m;
    heap_names names;
    uint64_t random;
    char failure[512]; /* "": none */
    uint32_t full;     /* allocations that got null in the step */
} heap_run;

#define HEAP_FAIL(r, ...)                                                                          \
    do {                                                                                           \
        if (!*(r)->failure) snprintf((r)->failure, sizeof(r)->failure, __VA_ARGS__);               \
        return -1;                                                                                 \
    } while (0)
#define HEAP_TRY(r, call)                                                                          \
    do {                                                                                           \
        clump_status s_ = (call);                                                                  \
        if (s_)                                                                                    \
            HEAP_FAIL(r, "%s: %s: %.300s", #call, clump_status_name(s_),                           \
                      clump_context_get_error((r)->f->clump)->message);                            \
    } while (0)
#define HEAP_ARG(r, kernel, index, value)                                                          \
    HEAP_TRY(r, clump_kernel_set_arg(kernel, index, sizeof(value), &(value)))

/* Do a step to the heap and to the model; -1: it failed. */
int heap_step(heap_run *r, uint32_t step);

/* Compare everything that can be seen of the heap with the model; -1: they differ. */
int heap_compare(heap_run *r);

#endif
