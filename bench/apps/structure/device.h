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
    STRUCTURE_VISIT, /* as often as there are levels, instead of JOIN */
    STRUCTURE_MARK,
    STRUCTURE_REMOVE,
    STRUCTURE_WRITE,         /* not of a step */
    STRUCTURE_KERNELS_SHARED /* those that make the structure follow, other ones in each variant */
} structure_kernel;

#define STRUCTURE_KERNEL_NAMES                                                                     \
    "pull_nodes", "compute_force", "move", "begin_search", "join", "visit", "mark",                \
        "remove_loose", "write_state"

/* What the host has for both: whether a spring broke and the deepest level of a search, one word
 * each, and what states are read through. */
typedef struct structure_buffers {
    cl_mem changed, deepest, state;
} structure_buffers;

/* How a variant enqueues a kernel of a step, with the event that it is to give, or NULL, and how it
 * sets arguments. */
typedef struct structure_runner {
    int (*run)(void *self, structure_kernel kernel, cl_event *event, bench_error *error);
    int (*set)(void *self, const bench_arg *args, size_t count, bench_error *error);
} structure_runner;

/* What a variant has on the host, besides its objects or arrays. */
typedef struct structure_device {
    const structure_runner *runner;
    void *self; /* what `runner` is given */
    bench_buffers *buffers;
    structure_rules rules;
    structure_buffers own;
    cl_uint steps, passes; /* made; of the last search by levels */
} structure_device;

/* Enqueue a step. `events`: NULL, or one to fill in for each phase. */
int structure_run_step(structure_device *device, cl_event *events, bench_error *error);

/* Macros for the kernels. */
#define STRUCTURE_OPTIONS_BYTES 96
void structure_write_options(const structure_rules *rules, char text[STRUCTURE_OPTIONS_BYTES]);
int structure_create_buffers(structure_device *device, const structure_network *network,
                             bench_error *error);

/* Arguments that kernels have in both variants, and that do not change from step to step; what they
 * point to must live until they are set. */
#define STRUCTURE_ARGS 12
void structure_list_args(const structure_rules *rules, const structure_buffers *own,
                         bench_arg args[STRUCTURE_ARGS]);

/* What kernels include: files as bench_load_source() takes them before another. */
extern const char *const structure_sources[];

/* Have the kernel write_state write all that is left, and read it. */
int structure_read_state(structure_device *device, structure_state *state, bench_error *error);

#endif
