/* The world of an application in one of its variants, behind one set of calls. How one is made, and
 * what its state is, is the application's own: see world.h in its folder.
 *
 * Read first: variant.h, compacting.h. Read next: app.h, side_by_side.h.
 */
#ifndef BENCH_WORLD_H
#define BENCH_WORLD_H

#include "clump/all.h"
#include "clump/experimental.h"
#include "compacting.h"
#include "variant.h"

/* What a world of any application is made on, and how: its own desc begins with it. */
typedef struct bench_world_desc {
    bench_variant variant;
    cl_context context; /* this and the next three: not for sequential */
    cl_device_id device;
    cl_command_queue queue;    /* in order; the one of `clump` */
    clump_context *clump;      /* this and the rest: only for clump */
    uint64_t heap_bytes;       /* 0: enough for any course, and for the order of `compaction` */
    uint32_t block_rows;       /* as in clump_heap_desc */
    uint32_t buffers;          /* as in bench_heap_desc */
    int checked;               /* verify each access to a field */
    clump_alloc_tuning tuning; /* parts of the allocator that are switched off; all zero: none */
    const clump_compactor_desc *compaction; /* heap and classes are filled in. NULL: never */
    const bench_merge *merge;               /* it merges; NULL: by the planner */
} bench_world_desc;

/* Sums over the steps that were made, for each quantity that the application counts: what there was
 * after the step, and what it made. */
#define BENCH_TALLY_MAX 8
typedef struct bench_tally {
    double present[BENCH_TALLY_MAX], made[BENCH_TALLY_MAX];
} bench_tally;

/* What a variant is made of. Calls return 0, or -1 with the reason in `error`. */
typedef struct bench_world_ops {
    void (*destroy)(void *self);
    /* Enqueue a step, or make it. `events`: NULL, or one to fill in for each phase, if the variant
     * has events; the caller releases them. */
    int (*step)(void *self, cl_event *events, bench_error *error);
    /* Wait for all steps, and fail if a kernel reported an error, such as a full heap. NULL: steps
     * are made at once. */
    int (*finish)(void *self, bench_error *error);
    /* Write the state, in the application's own type, when all steps are finished. */
    int (*read)(void *self, void *state, bench_error *error);
    bench_compacting *(*get_compacting)(void *self); /* with its heap; NULL: it has none */
    /* Add the counts of the last step; NULL: not counted. The sequential one counts. */
    void (*count)(void *self, bench_tally *tally);
} bench_world_ops;

/* All zero: there is none. */
typedef struct bench_world {
    const bench_world_ops *ops;
    void *self; /* what `ops` are given */
} bench_world;

void bench_world_destroy(bench_world *world); /* and make it all zero, which is allowed */

/* Enqueue a step and, if it is time, a compaction; does not wait (sequential: makes it). */
int bench_world_step(const bench_world *world, bench_error *error);

int bench_world_finish(const bench_world *world, bench_error *error);

/* Finish, then read. */
int bench_world_read(const bench_world *world, void *state, bench_error *error);

/* 0 if the heap holds so many objects of each class, or there is no heap; 1 and a sentence if not;
 * -1 if it cannot be asked. */
typedef struct bench_class_count {
    const char *name;
    uint64_t objects;
} bench_class_count;
int bench_world_check_counts(const bench_world *world, const bench_class_count *expected,
                             size_t count, bench_error *error);

/* NULL: there is none. */
clump_heap *bench_world_heap(const bench_world *world);
const bench_compacting *bench_world_compactions(const bench_world *world);

#endif
