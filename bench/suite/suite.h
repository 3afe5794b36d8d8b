/* The suite: its groups of runs, and its runs in suite.json, where a summary finds them.
 *
 * Invariant: a key, "group/label", names one run of a file; "group/label/start" is that of the run
 * of its first steps.
 *
 * Read first: bench.h. Read next: suite.c, summary.c.
 */
#ifndef BENCH_SUITE_H
#define BENCH_SUITE_H

#include <cjson/cJSON.h>
#include <stddef.h>

#include "bench/harness/bench.h"

#define SUITE_ENTRIES_MAX 12
#define SUITE_KEY_BYTES 96

/* A run: its name in tables and plots, and what is set, "key=value key=value". */
typedef struct suite_entry {
    const char *label, *cpu, *gpu;
} suite_entry;

/* Runs of one benchmark that are compared by one metric. */
typedef struct suite_group {
    const char *file; /* of the plot; names the group */
    const char *title, *benchmark, *metric;
    suite_entry entries[SUITE_ENTRIES_MAX]; /* ended by one without label */
} suite_group;

extern const suite_group suite_groups[];
extern const size_t suite_group_count;

/* The same world, whatever runs it; of as many steps if with_steps. */
int suite_is_same_problem(const bench_values *a, const bench_values *b, int with_steps);

/* "group/label": in the label, all but letters, digits, '.' and '%' becomes '-'. */
void suite_key(char *key, const char *group, const char *label, int is_start);

/* The run of that key, or NULL. `entries`: "benchmarks" of suite.json. */
const cJSON *suite_find(const cJSON *entries, const char *key);

/* Whether its check has that result; an entry NULL has none. */
int suite_is(const cJSON *entry, const char *result);

#endif
