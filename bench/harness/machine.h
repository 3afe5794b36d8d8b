/* Where a result comes from: the commit that the program was built from, and what the machine was
 * doing when a run began.
 *
 * Invariant: what cannot be found out is said to be unknown, never guessed: NAN here, null in JSON.
 *
 * Read next: machine.c, report.c.
 */
#ifndef BENCH_MACHINE_H
#define BENCH_MACHINE_H

#include <time.h>

/* Written by cmake/commit.cmake at each build. The commit is 40 hexadecimal digits or "unknown";
 * the tree is "clean", "changed" (something differs from the commit, or is new) or "unknown". */
extern const char bench_commit[];
extern const char bench_tree[];

typedef struct bench_machine {
    time_t time;
    double load;                     /* processes that run or could, mean of the last minute */
    double cpu_mhz_min, cpu_mhz_max; /* clocks of the processors, of the slowest and the fastest */
} bench_machine;

/* As it is now; called before a run, so that the run is not part of the load. */
void bench_machine_read(bench_machine *machine);

/* Processors that are online. */
long bench_machine_processors(void);

#endif
