/* The benchmark compact-synthetic: a heap whose objects died at random is compacted (ISMM 2019,
 * section 4).
 *
 * Two classes of `objects` objects each point to each other at random; `dead` percent of one of
 * them is freed, and that class is compacted. Each round builds the same heap. Then
 *
 *     time_ms             of the device, all launches together; its floor is what must at least be
 *                         read and written (clump_compact_report), at the bandwidth of a copy
 *     wall_ms             of the host, from the call to its return
 *     moves_minimum       objects that cannot stay if as few blocks as possible are to be left,
 *                         computed from how full the blocks were
 *
 * The check: every reference of every object, every field, the heap's invariants, and that the
 * report tells the truth about moves and fragmentation.
 *
 * Read first: bench.h, compact_heap.h.
 */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "bench/harness/bench.h"
#include "bench/harness/registry.h"
#include "bench/papers/merge/merge.h"
#include "compact_heap.h"

#define F_TOLERANCE 1e-9

typedef struct compact_state {
    bench_env *env;
    bench_results *results;
    bench_error *error;
    double dead;
    bench_merge merge; /* valid if is_merging */
    int is_merging;
    clump_compact_desc desc;
    uint32_t objects; /* of each class */
    compact_heap *heap;
    uint64_t floor_bytes; /* of the last round; all rounds are alike */
} compact_state;

/* What one round found. */
typedef struct compact_round {
    compact_fill before, after;
    clump_compact_report report;
    double wall_us;
} compact_round;

/* What strategies do not have in common. */
static int refuse_options(const bench_values *values, int is_merging,
                          const clump_compact_desc *desc, bench_error *error) {
    if (!is_merging && (bench_int(values, "retain") || !bench_is(values, "rewrite", "forward") ||
                        !bench_is(values, "candidates", "states"))) {
        return bench_error_set(error,
                               "retain, rewrite and candidates are options of strategy=merge");
    }
    if (is_merging && (desc->slack > 0 || desc->max_moves || desc->order != CLUMP_ORDER_ANY)) {
        return bench_error_set(error, "slack, max_moves and order are options of strategy=planner");
    }
    return 0;
}

static bench_merge get_merge(const bench_values *values) {
    bench_merge merge = {.factor = (uint32_t)bench_int(values, "factor"),
                         .retain = (uint32_t)bench_int(values, "retain")};
    if (bench_is(values, "rewrite", "global")) merge.rewrite = BENCH_REWRITE_GLOBAL;
    if (bench_is(values, "rewrite", "shared")) merge.rewrite = BENCH_REWRITE_SHARED;
    if (bench_is(values, "candidates", "bitmap")) merge.candidates = BENCH_CANDIDATES_BITMAP;
    return merge;
}

static clump_compact_desc get_desc(const bench_values *values) {
    clump_compact_desc desc = {.size = sizeof desc,
                               .null_dangling = bench_int(values, "null_dangling") != 0,
                               .slack = bench_float(values, "slack"),
                               .max_moves = (uint64_t)bench_int(values, "max_moves")};
    if (bench_is(values, "order", "address")) desc.order = CLUMP_ORDER_ADDRESS;
    if (bench_is(values, "order", "field")) {
        desc.order = CLUMP_ORDER_FIELD;
        desc.order_field = "other";
    }
    return desc;
}

static void report_round(compact_state *s, const compact_round *round) {
    static const char *const phases[] = {
#define PHASE_NAME(name, text) #name,
        CLUMP_COMPACT_PHASE_LIST(PHASE_NAME)
#undef PHASE_NAME
    };
    bench_results *results = s->results;
    const clump_compact_report *report = &round->report;
    bench_sample(results, "time_ms", "ms", report->total_us * 1e-3);
    bench_sample(results, "wall_ms", "ms", round->wall_us * 1e-3);
    for (int i = 0; i < CLUMP_COMPACT_PHASE_COUNT; i++) {
        char name[32];
        size_t length = strlen(phases[i]);
        for (size_t c = 0; c < length; c++) name[c] = (char)(phases[i][c] | 0x20);
        memcpy(name + length, "_ms", sizeof "_ms");
        bench_sample(results, name, "ms", report->us[i] * 1e-3);
    }
    bench_sample(results, "fragmentation_before", "share",
                 compact_fill_fragmentation(&round->before));
    bench_sample(results, "fragmentation_after", "share",
                 compact_fill_fragmentation(&round->after));
    bench_sample(results, "moves", "objects", (double)report->moves);
    bench_sample(results, "moves_minimum", "objects",
                 (double)compact_fill_moves_minimum(&round->before, s->desc.slack));
    bench_sample(results, "blocks_before", "blocks", round->before.blocks);
    bench_sample(results, "blocks_freed", "blocks", report->blocks_freed);
    bench_sample(results, "passes", "passes", report->passes);
    bench_sample(results, "launches", "launches", report->launches);
    bench_sample(results, "refs_rewritten", "refs", (double)report->refs_rewritten);
    bench_sample(results, "refs_dangling", "refs", (double)report->refs_dangling);
    bench_sample(results, "bytes_moved", "bytes", (double)report->bytes_moved);
    bench_sample(results, "floor_bytes", "bytes", (double)report->floor_bytes);
}

/* That the library says what the blocks say. */
static void check_report(compact_state *s, const compact_round *round) {
    const clump_compact_report *report = &round->report;
    double before = compact_fill_fragmentation(&round->before);
    double after = compact_fill_fragmentation(&round->after);
    uint64_t minimum = compact_fill_moves_minimum(&round->before, s->desc.slack);
    uint32_t freed = round->before.blocks - round->after.blocks;
    if (fabs(report->fragmentation_before - before) > F_TOLERANCE ||
        fabs(report->fragmentation_after - after) > F_TOLERANCE) {
        bench_check(s->results, 0, "F went from %.6f to %.6f, but the report has %.6f and %.6f",
                    before, after, report->fragmentation_before, report->fragmentation_after);
    }
    if (report->objects != round->before.objects || report->blocks_before != round->before.blocks ||
        report->blocks_freed != freed) {
        bench_check(s->results, 0,
                    "%" PRIu64
                    " objects in %u blocks, of which %u were freed, but the report has "
                    "%" PRIu64 ", %u and %u",
                    round->before.objects, round->before.blocks, freed, report->objects,
                    report->blocks_before, report->blocks_freed);
    }
    int is_least = !s->is_merging && s->desc.order == CLUMP_ORDER_ANY;
    if (is_least && report->moves + report->moves_left != minimum) {
        bench_check(s->results, 0,
                    "the planner made %" PRIu64 " moves and left %" PRIu64
                    ", but the least number is %" PRIu64,
                    report->moves, report->moves_left, minimum);
    }
}

/* That an order was kept: the field by which A is in order does not decrease with the place.
 * Numbers did so when the heap was built. */
static int check_order(compact_state *s) {
    if (s->desc.order == CLUMP_ORDER_ANY) return 0;
    const char *field = s->desc.order_field ? s->desc.order_field : "number";
    clump_heap *heap = compact_heap_get(s->heap);
    uint64_t count = 0, i = 1;
    clump_status status = clump_heap_read_count(heap, "A", &count);
    uint32_t *values = malloc((count + 1) * sizeof *values);
    if (!values) return bench_error_set(s->error, "host memory ran out for the order");
    if (status == CLUMP_OK && count > 0) {
        status = clump_heap_read_field(heap, "A", field, 0, sizeof *values, values, count, NULL);
    }
    if (status == CLUMP_OK) {
        while (i < count && values[i - 1] <= values[i]) i++;
        if (i < count) {
            bench_check(s->results, 0,
                        "object %" PRIu64 " of A has a smaller %s than its forerunner", i, field);
        }
    }
    free(values);
    return status == CLUMP_OK ? 0 : bench_error_clump(s->error, "the order", s->env->clump, status);
}

static int verify(compact_state *s) {
    int result = compact_heap_verify(s->heap, &s->desc, s->error);
    if (result > 0) {
        bench_check(s->results, 0, "%.500s", s->error->text);
        return 0;
    }
    return result ? result : check_order(s);
}

static int run_round(void *self, uint32_t number, int is_measured) {
    compact_state *s = self;
    (void)number;
    compact_round round = {.report = {.size = sizeof round.report}};
    int result = compact_heap_build(s->heap, s->dead, s->error) ||
                         compact_heap_fill(s->heap, &round.before, s->error) ||
                         compact_heap_compact(s->heap, &s->desc, s->is_merging ? &s->merge : NULL,
                                              &round.report, &round.wall_us, s->error) ||
                         verify(s) || compact_heap_fill(s->heap, &round.after, s->error)
                     ? -1
                     : 0;
    if (result == 0) {
        s->floor_bytes = round.report.floor_bytes;
        check_report(s, &round);
        if (is_measured) report_round(s, &round);
    }
    compact_fill_release(&round.before);
    compact_fill_release(&round.after);
    return result;
}

static int report_floor(compact_state *s) {
    double bytes_per_s = 0;
    if (bench_copy_bandwidth(s->env, 0, &bytes_per_s, s->error)) return -1;
    if (bytes_per_s > 0) {
        bench_sample(s->results, "copy_bandwidth", "GB/s", bytes_per_s * 1e-9);
        bench_floor(s->results, "time_ms", (double)s->floor_bytes / bytes_per_s * 1e3);
    }
    return 0;
}

static int begin(void *self, bench_env *env, const bench_values *values, bench_results *results) {
    compact_state *s = self;
    *s = (compact_state){.env = env,
                         .results = results,
                         .error = &results->error,
                         .dead = bench_float(values, "dead"),
                         .merge = get_merge(values),
                         .is_merging = bench_is(values, "strategy", "merge"),
                         .objects = (uint32_t)bench_int(values, "objects")};
    s->desc = get_desc(values);
    compact_heap_desc desc = {.env = env,
                              .objects = s->objects,
                              .seed = (uint32_t)bench_int(values, "seed"),
                              .heap_bytes = (uint64_t)bench_int(values, "heap_mb") << 20,
                              .block_rows = (uint32_t)bench_int(values, "block_rows"),
                              .buffers = (uint32_t)bench_int(values, "buffers"),
                              .has_copy_room = s->desc.order != CLUMP_ORDER_ANY};
    return refuse_options(values, s->is_merging, &s->desc, s->error) ||
                   compact_heap_create(&desc, &s->heap, s->error)
               ? -1
               : 0;
}

static int finish(void *self) {
    compact_state *s = self;
    if (report_floor(s)) return -1;
    bench_check(s->results, 1,
                "2 x %u objects: each refers to the same object as before and has its contents",
                s->objects);
    return 0;
}

static void end(void *self) {
    compact_heap_destroy(((compact_state *)self)->heap);
}

static const bench_param params[] = {
    {"objects", BENCH_INT, "1048576", "objects of each of the two classes", 1, 1u << 30, NULL},
    {"dead", BENCH_FLOAT, "60", "percent of one class that die at random", 0, 100, NULL},
    {"strategy", BENCH_ENUM, "planner", "all blocks at once, or passes", 0, 0, "planner|merge"},
    {"factor", BENCH_INT, "3", "merge: n, targets of a source block", 1, 4095, NULL},
    {"rewrite", BENCH_ENUM, "forward", "merge: where new places are found", 0, 0,
     "forward|global|shared"},
    {"candidates", BENCH_ENUM, "states", "merge: where they are found", 0, 0, "states|bitmap"},
    {"retain", BENCH_INT, "0", "merge: k1, candidates to leave", 0, 1u << 26, NULL},
    {"slack", BENCH_FLOAT, "0", "planner: free slots to keep, per object", 0, 1, NULL},
    {"order", BENCH_ENUM, "any", "planner: fewest moves, or all objects in this order", 0, 0,
     "any|address|field"},
    {"max_moves", BENCH_INT, "0", "planner: moves of a step; 0: all", 0, 1u << 30, NULL},
    {"null_dangling", BENCH_INT, "0", "1: references to the dead become null", 0, 1, NULL},
    {"heap_mb", BENCH_INT, "0", "size of the heap in MiB; 0: from the objects", 0, 1e6, NULL},
    {"block_rows", BENCH_INT, "0", "rows of a block; 0: from the heap", 0, 64, NULL},
    {"buffers", BENCH_INT, "1", "OpenCL buffers that the heap is in", 1, 16, NULL},
    {"seed", BENCH_INT, "42", "decides who points to whom and who dies", 0, UINT32_MAX, NULL},
    {NULL, BENCH_INT, NULL, NULL, 0, 0, NULL}};

const bench_descriptor bench_compact_synthetic = {
    .name = "compact-synthetic",
    .sentence = "Compaction after objects died at random (ISMM 2019, section 4)",
    .params = params,
    .repeat = 5,
    .bytes = sizeof(compact_state),
    .warm_up = 1,
    .begin = begin,
    .round = run_round,
    .finish = finish,
    .end = end};
