/* Private: commands of a call in several phases, timed by profiling events.
 *
 * Invariant: each timed command has an event until clumpi_timed_read() lets go of it.
 *
 * Read first: access.h. compact.h and collect.h build on this.
 */
#ifndef CLUMPI_TIMED_H
#define CLUMPI_TIMED_H

#include "heap/access.h"

#define CLUMPI_COMMANDS_MAX 64u /* timed commands between two readings of their events */

typedef struct clumpi_timed {
    int is_on;         /* keep events and read their times */
    const char *what;  /* the call, for messages */
    double *us;        /* by phase: what clumpi_timed_read() adds to */
    uint32_t launches; /* all, timed or not */
    uint32_t unknown;  /* timed ones whose times are not known: `us` lacks them */
    struct {
        cl_event event;
        uint32_t phase;
        double since; /* clumpi_now_ns() */
    } commands[CLUMPI_COMMANDS_MAX];
    uint32_t count;
    /* Optional: called by clumpi_timed_read() with the times of each command. */
    void (*note)(void *with, uint32_t phase, const clumpi_times *times);
    void *with;
} clumpi_timed;

/* Enqueue a kernel of the library as a part of a phase. */
clump_status clumpi_timed_run(clump_heap *heap, clumpi_timed *t, uint32_t phase,
                              clumpi_kernel_id id, size_t groups, size_t local,
                              const clumpi_arg *args, uint32_t arg_count);

/* Add up the times of the commands so far, and let go of their events. Blocks if there are any. */
clump_status clumpi_timed_read(clump_context *c, clumpi_timed *t);

#endif
