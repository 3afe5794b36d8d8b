/* Options for comparisons and measurements: parts that can be left out, weights and thresholds.
 * Programs do not need them, and a NULL pointer to any of these is recommended. Unlike the other
 * headers, this one may change in any version.
 *
 * Each structure is for one member of an ordinary one. Its heading names that member. The
 * structures are without a size: they belong to one version of the library.
 *
 * Needs no OpenCL header. Read first: program.h, collect.h, defrag.h.
 */
#ifndef CLUMP_EXPERIMENTAL_H
#define CLUMP_EXPERIMENTAL_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- Allocation: clump_program_desc.tuning -------------------------------------------------- */

/* How kernels of a program allocate. */
typedef struct clump_alloc_tuning {
    int no_coalescing; /* 1: every work-item allocates and frees separately */
    int no_rotation;   /* 1: all searches start at the same place */
    /* look-ups by hints before a search through all blocks, at most 1024. 0: the default, 32. This
     * is r of Fig. 5.11 in Springer's thesis, where a block is opened then */
    uint32_t retries;
    /* NVIDIA: maximum of registers for a work-item, 24 .. 255. 0: the default, 48. All kernels of
     * the program have this limit. Kernels that mostly make objects gain from fewer registers,
     * since more warps wait for memory at a time. Large kernels may need more. */
    uint32_t registers;
} clump_alloc_tuning;

/* ---- Marking: clump_collect_desc.tuning ----------------------------------------------------- */

/* How a work-group distributes the references of its objects to its work-items. Not used on
 * CPUs. */
typedef enum clump_mark_offsets {
    CLUMP_OFFSETS_PREFIX_SUM, /* all in one sequence: equal shares, independent of the objects */
    CLUMP_OFFSETS_HISTOGRAM   /* all first ones, all second ones, ... Wide objects are handled
                                 separately */
} clump_mark_offsets;

/* For thresholds: larger than any number. */
#define CLUMP_NEVER UINT32_MAX

/* Where the time of marking is spent: the work of each turn and each launch. A turn is a level of
 * the graph, a sweep over rows, or a refill of the queue. A launch does one turn or none, or many
 * if it is narrow. */
typedef enum clump_mark_way {
    CLUMP_WAY_HOST,   /* the host did the turn, unknown to the device */
    CLUMP_WAY_NARROW, /* a level by one work-group */
    CLUMP_WAY_QUEUE,  /* a level by all work-groups */
    CLUMP_WAY_ROWS,   /* a sweep over the rows with grey objects */
    CLUMP_WAY_REFILL  /* grey objects return to the queue */
} clump_mark_way;

/* A turn of marking. */
typedef struct clump_mark_turn {
    clump_mark_way way;
    uint32_t launch;  /* number among the launches that follow the roots */
    uint32_t objects; /* in the queue when it began */
    /* when it began, in cycles of the compute unit of the launch's first work-item. 0: the clock of
     * the device is unknown (known are NVIDIA's, and PoCL's on x86-64) */
    uint64_t clock;
} clump_mark_turn;

/* When a launch of marking ran. */
typedef struct clump_mark_launch {
    double queued_us, start_us,
        end_us; /* by profiling events, from when the first was enqueued. 0 without a report or a
                   queue that does profiling, and if the device times them wrongly */
    uint64_t clock_begin, clock_end; /* of its first work-item */
} clump_mark_launch;

/* A log of marking. clump_heap_collect() fills it in. It costs a few writes for each turn and a
 * read at the end. It does not include launches of the roots. */
typedef struct clump_mark_log {
    uint32_t room;                     /* [in] of both arrays, 1 .. 2^20 */
    clump_mark_turn *turns;            /* [in] the caller's, `room` elements */
    clump_mark_launch *launches;       /* [in] likewise */
    uint32_t turn_count, launch_count; /* [out] numbers of all. Those beyond `room` are not kept */
} clump_mark_log;

/* How marking works. Results are equal with all values, the counters of the report may differ. */
typedef struct clump_mark_tuning {
    clump_mark_offsets offsets;
    /* largest frontier for one work-group, which does level after level. At most 1024, or
     * CLUMP_NEVER. 0: 512 */
    uint32_t narrow;
    /* objects with more references are for a whole work-group. 0: 16. CLUMP_NEVER: one work-item
     * reads all of them */
    uint32_t wide;
    /* maximum of work-items that follow the references of one object in parallel, where one
     * work-group handles a narrow frontier. 0: as many as the frontier leaves idle. 1: one
     * work-item, in sequence. Not used on CPUs */
    uint32_t team;
    /* work-groups of a step. 1: use one compute unit. 0: as many as the device runs at once, which
     * is also the maximum */
    uint32_t groups;
    /* 1: AUTO does not pass long narrow graphs to the host. It does this by default on devices
     * other than CPUs, after it has spent as much time on them as HOST needs to copy the blocks in
     * use. It moves them back when they become wide */
    int stay;
    /* optional. Must live as long as the call, or as a collector that has it */
    clump_mark_log *log;
} clump_mark_tuning;

/* ---- Defragmentation of a pool: clump_defrag_desc.weights ----------------------------------- */

/* Weights of moves. The defaults (NULL) are 1, 0, 0.001, 0.01. If location and free are both 0,
 * moves are made in the order in which they are found. */
typedef struct clump_defrag_weights {
    double location;   /* alpha_loc in equation (4.4) of Eichinger's thesis */
    double free;       /* w_small: of a free range of s_small */
    double free_small; /* s_small, share of a chunk. If this and free_limit are 0: the defaults */
    double free_limit; /* s_limit, share of a chunk: larger ranges weigh nothing */
} clump_defrag_weights;

#ifdef __cplusplus
}
#endif
#endif
