/* When to compact, as a rule on measured numbers: no device, no clock, no memory of its own.
 *
 * The order of calls: clumpi_rule_init() once; clumpi_rule_ticked() at each tick; if it says so, a
 * look, handed over with clumpi_rule_looked(); if that says so, a run, with clumpi_rule_ran().
 * All times are seconds on one clock, of moments at which the queue was empty, except that of a
 * tick. docs/internals/compact.md, "The automatic rule", explains the rule; compactor.c carries it
 * out.
 *
 * Invariant, whatever the program does: look_spent <= LOOK_SHARE * limit * elapsed when a look
 * begins, with its expected cost, and run_spent <= RUN_SHARE * limit * elapsed when a run begins,
 * likewise; the first look alone is free to come at once.
 *
 * Read first: include/clump/compactor.h.
 */
#ifndef CLUMPI_COMPACTOR_H
#define CLUMPI_COMPACTOR_H

#include <stdint.h>

/* What a look sees. */
typedef struct clumpi_look {
    double begin, end; /* the queue was empty at `begin`; what lies between is the cost */
    uint32_t heap_blocks, free_blocks;
    uint32_t blocks;   /* of the classes that are compacted */
    uint32_t freeable; /* of which a full run could free */
    double run_guess;  /* seconds that a run may take; matters until there was one */
} clumpi_look;

typedef struct clumpi_ran {
    double end;     /* it began when the look ended */
    double cost;    /* its share of the limit; end - begin, but for what happens only once */
    uint32_t freed; /* blocks */
} clumpi_ran;

typedef struct clumpi_rule {
    double limit;
    double start; /* of the first window */
    unsigned looks, runs;
    double look_cost, look_spent; /* expected cost of one, cost of all so far */
    double run_cost, run_spent;

    /* The window: from the end of the last look or run until now. */
    double window_start;
    uint64_t window_ticks;
    double window_share; /* freeable share of the blocks at its start */

    /* The last window that a look ended, and that look. */
    double tick_time, mean_share; /* seconds from tick to tick, mean freeable share */
    uint64_t ticks;
    clumpi_look look;

    /* The last run. */
    double run_end;  /* or start */
    double interval; /* from the run before until it */
    int for_memory;  /* it was made since free blocks ran short */
    int pending;     /* its gain is still to be measured: tick_before, ... are those before it */
    double tick_before, share_before, removed;
    uint64_t ticks_before;

    /* What was learnt. */
    double gain_sd, gain_dd; /* gain = sd / dd: share of time saved per share of blocks freed */
    double yield;            /* blocks freed per block that could be freed */
    int holding;             /* the last run brought nothing: none but for memory until hold_end */
    double hold_end;
} clumpi_rule;

void clumpi_rule_init(clumpi_rule *rule, double limit);

/* A tick at the time `now`: 1 if the queue should be emptied and a look taken. */
int clumpi_rule_ticked(clumpi_rule *rule, double now);

/* 1 if a run should follow at once. */
int clumpi_rule_looked(clumpi_rule *rule, const clumpi_look *look);

void clumpi_rule_ran(clumpi_rule *rule, const clumpi_ran *ran);

#endif
