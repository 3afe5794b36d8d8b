/* The epidemic: what its programs come to. epidemic.c has it on a heap for each rank,
 * epidemic_sequential.c one agent after the other, epidemic_plain.c in plain OpenCL on one device.
 *
 * Read first: run.h, epidemic.clh.
 */
#ifndef BENCH_MPI_EPIDEMIC_H
#define BENCH_MPI_EPIDEMIC_H

#include <stdint.h>

#include "epidemic.clh"
#include "run.h"

/* Of the whole world; births and deaths since step 0. */
typedef struct epidemic_totals {
    uint64_t kinds[3]; /* agents that are susceptible, infected, recovered */
    uint64_t hashes;   /* the sum over all agents */
    uint64_t births, deaths;
} epidemic_totals;

/* What makes 16 bits of a number of infected agents: the probability, in 65536, that one of them
 * infects. */
void epidemic_make_pressures(uint32_t contagion, uint32_t pressures[EPIDEMIC_PRESSURES]);

/* Two worlds with the same have the same agents, births and deaths. */
uint64_t epidemic_checksum(const epidemic_totals *totals);

/* Return 0, or -1 with words in `error` and in run->error. */
int epidemic_run_sequential(const epidemic_rules *rules, uint32_t steps, epidemic_totals *totals,
                            bench_error *error);
/* `seconds`: of the steps after those for warming up. */
int epidemic_run_plain(mpi_run *run, const epidemic_rules *rules, epidemic_totals *totals,
                       double *seconds);

#endif
