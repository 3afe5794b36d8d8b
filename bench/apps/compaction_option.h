/* The parameters that say when and how an application compacts its heap between two steps, the same
 * for all applications: compact, strategy, factor, retain, rewrite, candidates, order.
 *
 * Read first: bench.h, clump/compactor.h.
 */
#ifndef BENCH_COMPACTION_OPTION_H
#define BENCH_COMPACTION_OPTION_H

#include "bench/harness/bench.h"
#include "bench/papers/merge/merge.h"
#include "compacting.h"

/* Lines of a list of parameters. The application has a parameter `variant` too. */
/* clang-format off */
#define BENCH_COMPACTION_PARAMS                                                                    \
    {"compact", BENCH_STRING, "none", "none, auto, every:M (steps), share:P (percent of blocks)",  \
     0, 0, NULL},                                                                                  \
    {"strategy", BENCH_ENUM, "planner", "compact: all blocks at once, or passes", 0, 0,            \
     "planner|merge"},                                                                             \
    {"factor", BENCH_INT, "10", "merge: n, targets of a source block", 1, 4095, NULL},             \
    {"retain", BENCH_INT, "0", "merge: k1, candidates to leave", 0, 1u << 26, NULL},               \
    {"rewrite", BENCH_ENUM, "forward", "merge: where new places are found", 0, 0,                  \
     "forward|global|shared"},                                                                     \
    {"candidates", BENCH_ENUM, "states", "merge: where they are found", 0, 0, "states|bitmap"},    \
    {"order", BENCH_ENUM, "any", "planner: fewest moves, or all agents in this order", 0, 0,       \
     "any|address|cell"}
/* clang-format on */

typedef struct bench_compaction {
    clump_compactor_desc desc; /* without heap and classes; valid if is_on, as long as this stays */
    clump_compact_desc how;    /* of desc */
    bench_merge merge;         /* valid if is_merging */
    int is_on, is_merging;
} bench_compaction;

/* Read them. `cell_field`: the field of the compacted classes that order=cell sorts by. Compaction
 * without variant=clump is an error. */
int bench_compaction_parse(const bench_values *values, const char *cell_field,
                           bench_compaction *compaction, bench_error *error);

/* The metrics compactions, compaction_passes, compaction_us and that of its parts,
 * compaction_moves, compaction_blocks. */
void bench_compaction_report(const bench_compacting *compactions, bench_results *results);

#endif
