/* Options for comparisons and measurements: parts that can be left out, weights and
 * thresholds. No program needs them; a NULL pointer to any of these is recommended. Unlike the
 * other headers this one may change in any version.
 *
 * Each structure is for one member of an ordinary one, which says where it goes. None has a size:
 * they are those of the library's own version.
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
    int no_coalescing; /* 1: every work-item allocates and frees for itself */
    int no_rotation;   /* 1: all searches start at the same place */
    uint32_t retries;  /* look-ups by hints before all blocks are looked at (r of Springer's thesis
                          Fig. 5.11, where a block is opened then); 0: the default, 32; at most
                          1024 */
    /* NVIDIA: most registers of a work-item, 24 .. 255; 0: the default, 48. All kernels of the
     * program get it. Kernels that mostly make objects gain from fewer, since more warps wait for
     * memory at a time; large kernels may need more. */
    uint32_t registers;
} clump_alloc_tuning;

/* ---- Marking: clump_collect_desc.tuning ----------------------------------------------------- */

/* How the references of the objects of a work-group are dealt out to its work-items. Not used on
 * CPUs. */
typedef enum clump_mark_offsets {
    CLUMP_OFFSETS_PREFIX_SUM, /* all in one sequence: equal shares whatever the objects are like */
    CLUMP_OFFSETS_HISTOGRAM   /* all first ones, all second ones, ...; wide objects apart */
} clump_mark_offsets;

/* For thresholds: no number is as large. */
#define CLUMP_NEVER UINT32_MAX

/* Where the time of marking goes: what each turn and each launch of it did. A turn is a level of
 * the graph, a sweep over rows, or a refill of the queue. A launch does no turn, one, or, if it is
 * narrow, many. */
typedef enum clump_mark_way {
    CLUMP_WAY_HOST,   /* the device knows nothing of the turn: the host did it */
    CLUMP_WAY_NARROW, /* a level by one work-group alone */
    CLUMP_WAY_QUEUE,  /* a level by all work-groups */
    CLUMP_WAY_ROWS,   /* a sweep over the rows with grey objects */
    CLUMP_WAY_REFILL  /* grey objects go back to the queue */
} clump_mark_way;

/* A turn of marking. */
typedef struct clump_mark_turn {
    clump_mark_way way;
    uint32_t launch;  /* number among the launches that follow the roots */
    uint32_t objects; /* in the queue when it began */
    /* when it began, in cycles of the compute unit of the launch's first work-group; 0: the device
     * has no clock that is known (NVIDIA's and PoCL's on x86-64 have one) */
    uint64_t clock;
} clump_mark_turn;

/* When a launch of marking ran. */
typedef struct clump_mark_launch {
    double queued_us, start_us,
        end_us; /* by profiling events, from when the first was enqueued; 0 without
                                              a report or a queue that does profiling, and if the
                                              device tells them wrong */
    uint64_t clock_begin, clock_end; /* of its first work-item */
} clump_mark_launch;

/* Filled in by clump_heap_collect(). Costs a few writes a turn and a reading at the end. Launches
 * of the roots are not in it. */
typedef struct clump_mark_log {
    uint32_t room;                     /* [in] of both arrays, 1 .. 2^20 */
    clump_mark_turn *turns;            /* [in] the caller's, `room` elements */
    clump_mark_launch *launches;       /* [in] likewise */
    uint32_t turn_count, launch_count; /* [out] that there were. Those beyond `room` are not kept */
} clump_mark_log;

/* All results are the same; the numbers in the report may differ. */
typedef struct clump_mark_tuning {
    clump_mark_offsets offsets;
    uint32_t narrow; /* largest frontier that is left to one work-group alone, which does level
                        after level. 0: 512; at most 1024; CLUMP_NEVER */
    uint32_t wide;   /* references above which an object is for a whole work-group. 0: 16;
                        CLUMP_NEVER: one work-item reads all of them */
    /* most work-items that follow the references of an object side by side, where one work-group
     * alone goes through a narrow frontier. 0: as many as the frontier leaves idle; 1: one, after
     * the other. Not used on CPUs */
    uint32_t team;
    uint32_t groups; /* work-groups of a step; 1 keeps to one compute unit. 0: as many as the device
                        runs at once, which is also the most */
    int stay; /* 1: AUTO does not hand long narrow graphs over to the host. By default it does,
                        on devices that are no CPU, once as much time was spent on them as HOST will
                        take to copy the blocks in use; and takes back what becomes wide */
    /* optional; must live as long as the call, or as a collector that has it */
    clump_mark_log *log;
} clump_mark_tuning;

/* ---- Defragmentation of a pool: clump_defrag_desc.weights ----------------------------------- */

/* Weights of moves; the defaults (NULL) are 1, 0, 0.001, 0.01. Where location and free are both 0,
 * moves are taken in the order in which they are found. */
typedef struct clump_defrag_weights {
    double location;   /* alpha_loc in (4.4) */
    double free;       /* w_small: of a free range of s_small */
    double free_small; /* s_small, share of a chunk. This and free_limit 0: the defaults */
    double free_limit; /* s_limit, share of a chunk: larger ranges weigh nothing */
} clump_defrag_weights;

#ifdef __cplusplus
}
#endif
#endif
