/* The memory that a collection marks in, shared by host and device: a buffer of its own.
 *
 *   | clumpi_marks_head          | white words   | grey words    | queue 0      | queue 1      | log |
 *   | control | refs_of[class]   | 8 bytes a granule of the heap | `capacity` references each  |     |
 *
 * White: live and not yet reached. Grey: reached and not yet scanned. The functions below say where
 * the parts are that depend on the heap, for both sides.
 *
 * Steps are launches of one kernel. Step n reads queue n % 2 and writes the other; it reads what
 * the arrays of three say at [n % 3], writes [(n + 1) % 3] and clears [(n + 2) % 3], so that no
 * step changes what it decides by.
 *
 * The log is there if somebody measures: a turn is a level, a sweep or a refill; a launch has its
 * step's number.
 *
 * Read first: cl/core/layout.h. Read next: mark.clh.
 */
#ifndef CLUMPI_COLLECT_LAYOUT_H
#define CLUMPI_COLLECT_LAYOUT_H

#include "cl/core/layout.h"

#define CLUMPI_MARK_ITEMS 256u  /* most work-items of a group */
#define CLUMPI_NARROW_MAX 1024u /* largest `narrow` */
#define CLUMPI_NARROW_LEVELS 8192u
#define CLUMPI_LOG_ROOM_MAX (1u << 20)

typedef struct clumpi_mark_control {
    /* Set by the host. */
    clumpi_u32 capacity;
    clumpi_u32 narrow;      /* frontiers of at most so many objects are for one work-group alone */
    clumpi_u32 wide;        /* more references than that are shared by a work-group */
    clumpi_u32 rows_above;  /* what a frontier of more objects leads to is marked by rows next */
    clumpi_u32 rows_below;  /* what a sweep of at most so many objects leads to, by the queue */
    clumpi_u32 refill;      /* 1: by the queue only; grey objects go back to it */
    clumpi_u32 histogram;   /* 1: the i-th references of a tile together; 0: by prefix sums */
    clumpi_u32 levels_most; /* that one work-group does in a launch, at most CLUMPI_NARROW_LEVELS */
    clumpi_u32 log_room;    /* turns and launches that the log has room for; 0: there is none */
    clumpi_u32 team;        /* most work-items for an object of a narrow frontier */
    clumpi_u32 host_pad[22];
    /* Changed by steps. */
    clumpi_u32 queued[3];  /* objects in the queue; more than `capacity`: the others are grey in
                              their words */
    clumpi_u32 grey[3];    /* 1: there are grey objects */
    clumpi_u32 scanned[3]; /* objects of a sweep */
    clumpi_u32 cursor[3];  /* tiles given out */
    clumpi_u32 path;       /* CLUMPI_MARK_... of the last step */
    clumpi_u32 levels, sweeps, refills, narrow_levels, changes, peak;
    clumpi_u32 overflows;            /* objects that found the queue full */
    clumpi_u32 read[2], followed[2]; /* references, low and high words; followed: not null */
    clumpi_u32 roots, roots_dangling;
    clumpi_u32 nulled;                             /* weak references */
    clumpi_u32 marked, dead, blocks, blocks_freed; /* blocks: in use before the sweep */
    clumpi_u32 step_pad[1];
} clumpi_mark_control;

enum {
    CLUMPI_MARK_NONE,
    CLUMPI_MARK_NARROW,
    CLUMPI_MARK_QUEUE,
    CLUMPI_MARK_ROWS,
    CLUMPI_MARK_REFILL
};

typedef struct clumpi_marks_head {
    clumpi_mark_control control;
    /* By class id: references of an object that are followed. */
    clumpi_u32 refs_of[CLUMPI_CLASS_IDS];
} clumpi_marks_head;

typedef struct clumpi_mark_turn {
    clumpi_u32 step, path, objects,
        pad; /* path: CLUMPI_MARK_...; objects: in the queue at its start */
    clumpi_u64 clock;
} clumpi_mark_turn;

typedef struct clumpi_mark_launch {
    clumpi_u64 clock_begin, clock_end;
} clumpi_mark_launch;

/* Byte offsets in the buffer; `granules` counts those of the heap up to its end. */
static inline clumpi_u64 clumpi_marks_white_at(void) {
    return sizeof(clumpi_marks_head);
}

static inline clumpi_u64 clumpi_marks_grey_at(clumpi_u64 granules) {
    return clumpi_marks_white_at() + 8u * granules;
}

/* Of a queue: 0 or 1. Number 2 is the end of the queues. */
static inline clumpi_u64 clumpi_marks_queue_at(clumpi_u64 granules, clumpi_u32 capacity,
                                               clumpi_u32 number) {
    return clumpi_marks_grey_at(granules) + 8u * granules + 4u * (clumpi_u64)capacity * number;
}

/* Turns of the log, behind them its launches, `log_room` of each. */
static inline clumpi_u64 clumpi_marks_turns_at(clumpi_u64 granules, clumpi_u32 capacity) {
    return (clumpi_marks_queue_at(granules, capacity, 2) + 7u) & ~(clumpi_u64)7u;
}

static inline clumpi_u64 clumpi_marks_launches_at(clumpi_u64 granules, clumpi_u32 capacity,
                                                  clumpi_u32 log_room) {
    return clumpi_marks_turns_at(granules, capacity) +
           sizeof(clumpi_mark_turn) * (clumpi_u64)log_room;
}

static inline clumpi_u64 clumpi_marks_end(clumpi_u64 granules, clumpi_u32 capacity,
                                          clumpi_u32 log_room) {
    return clumpi_marks_launches_at(granules, capacity, log_room) +
           sizeof(clumpi_mark_launch) * (clumpi_u64)log_room;
}

#endif
