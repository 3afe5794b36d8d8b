/* Where the time of marking a graph goes, level by level and launch by launch (clump_mark_log),
 * beside what the graph has at each level of a breadth-first traversal.
 *
 * A line of the table is a turn of marking, or a launch that found nothing to do:
 *
 *     level       the turn's number, from 0 on; nan: a launch without a turn
 *     way         0 none, or the host; 1 narrow, one work-group; 2 queue, all work-groups; 3 rows;
 *                 4 refill
 *     launch      its number among those of marking
 *     objects     in the frontier; references: that these have; most: that one of them has. Parts
 *                 of wide nodes are objects (graph.h)
 *     level_us    of a narrow level: by the device's clock from one level to the next; of others:
 *                 that of the launch
 *     launch_us   on the first line of each launch: from its start to its end
 *     edge_us     of a narrow launch: before its first level, and after its last
 *     gap_us      from the end of the launch before to this one's start
 *
 * What the profiling events do not say is nan. The sums are metrics: see mark_levels_report().
 *
 * Read first: graph.h, bench.h.
 */
#ifndef BENCH_MARK_LEVELS_H
#define BENCH_MARK_LEVELS_H

#include "bench/harness/bench.h"
#include "clump/collect.h"
#include "clump/experimental.h"
#include "graph.h"

/* clang-format off */
#define MARK_LEVELS_PARAMS                                                                         \
    {"levels", BENCH_STRING, "", "file for a table of levels, launches and gaps", 0, 0, NULL}
/* clang-format on */

typedef struct mark_levels {
    const mark_graph *graph;
    clump_heap *heap;         /* with the graph's objects */
    clump_collect_desc desc;  /* as the rounds have it */
    uint32_t launches, turns; /* of a round: how much room the log needs */
    const bench_values *values;
    bench_results *results;
} mark_levels;

/* If the file is asked for: one round more, with a log, and the table. Where each turn is a level,
 * its objects are compared with those of the traversal. Metrics, us: levels_narrow, levels_wide
 * (other ways), launch_edges (of narrow launches), launches_idle (that did nothing), gaps (between
 * launches), readback_gaps (the longest of them, as many as the host read what was left to do),
 * device_span (from the first launch enqueued to the last one's end), before_start (until the first
 * one started). Returns 0, or -1 with an error. */
int mark_levels_report(const mark_levels *levels);

#endif
