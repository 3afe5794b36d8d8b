/* What the variants on a device have in common (heap.c, plain.c): the kernels of a step, which have
 * the same names in both, their order, and how states are read. Read first: world.h.
 */
#ifndef STRUCTURE_DEVICE_H
#define STRUCTURE_DEVICE_H

#include "bench/harness/buffers.h"
#include "world.h"

typedef enum structure_kernel {
    STRUCTURE_PULL,
    STRUCTURE_FORCE,
    STRUCTURE_MOVE,
    STRUCTURE_BEGIN_SEARCH,
    STRUCTURE_JOIN,
    STRUCTURE_MARK,
    STRUCTURE_REMOVE,
    STRUCTURE_WRITE,         /* not of a step */
    STRUCTURE_KERNELS_SHARED /* those that make the structure follow, other ones in each variant */
} structure_kernel;

#define STRUCTURE_KERNEL_NAMES                                                                     \
    "pull_nodes", "compute_force", "move", "begin_search", "join", "mark", "remove_loose",         \
        "write_state"

/* Call `run` for each kernel of a step, with the event that it is to give, or NULL. `events`: NULL,
 * or one to fill in for each phase. */
typedef int structure_run_kernel(void *self, structure_kernel kernel, cl_event *event,
                                 bench_error *error);
int structure_run_step(structure_run_kernel *run, void *self, uint32_t iterations, cl_event *events,
                       bench_error *error);

/* What the host has for both: whether a spring broke, one word, and what states are read through. */
typedef struct structure_buffers {
    cl_mem changed, state;
} structure_buffers;
int structure_create_buffers(bench_buffers *buffers, const structure_network *network,
                             structure_buffers *own, bench_error *error);

/* Arguments that kernels have in both variants, and that do not change from step to step; what they
 * point to must live until they are set. */
#define STRUCTURE_ARGS 10
void structure_list_args(const structure_rules *rules, const structure_buffers *own,
                         bench_arg args[STRUCTURE_ARGS]);

/* What kernels include: files as bench_load_source() takes them before another. */
extern const char *const structure_sources[];

/* Zero `buffer`, have the kernel write_state write all that is left into it, and read it. */
int structure_read_state(structure_run_kernel *run, void *self, bench_buffers *buffers,
                         cl_mem buffer, structure_state *state, bench_error *error);

#endif
