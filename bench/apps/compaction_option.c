/* When and how an application compacts. See compaction_option.h. */
#include "compaction_option.h"

#include <stdlib.h>
#include <string.h>

/* When to compact. */
static int parse_trigger(const char *text, clump_compactor_desc *desc, bench_error *error) {
    char *end = NULL;
    if (strcmp(text, "auto") == 0) {
        desc->automatic = 1;
        return 0;
    }
    if (strncmp(text, "every:", 6) == 0) {
        double every = strtod(text + 6, &end);
        desc->every = every >= 1 && every <= 1e6 ? (uint32_t)every : 0;
        if (end > text + 6 && !*end && desc->every && every == desc->every) {
            return 0;
        }
    }
    if (strncmp(text, "share:", 6) == 0) {
        desc->share = strtod(text + 6, &end) / 100;
        if (end > text + 6 && !*end && desc->share > 0 && desc->share <= 1) {
            return 0;
        }
    }
    return bench_error_set(error,
                           "'%.64s' is no value for compact; valid: none, auto, every:M (steps, "
                           "1 .. 1000000), share:P (percent of the heap's blocks, up to 100)",
                           text);
}

static bench_merge get_merge(const bench_values *values) {
    bench_merge merge = {.factor = bench_u32(values, "factor"),
                         .retain = bench_u32(values, "retain")};
    if (bench_is(values, "rewrite", "global")) merge.rewrite = BENCH_REWRITE_GLOBAL;
    if (bench_is(values, "rewrite", "shared")) merge.rewrite = BENCH_REWRITE_SHARED;
    if (bench_is(values, "candidates", "bitmap")) merge.candidates = BENCH_CANDIDATES_BITMAP;
    return merge;
}

int bench_compaction_parse(const bench_values *values, const char *cell_field,
                           bench_compaction *compaction, bench_error *error) {
    clump_compact_desc *how = &compaction->how;
    *compaction = (bench_compaction){.desc = {.size = sizeof compaction->desc, .compact = how},
                                     .how = {.size = sizeof *how},
                                     .is_on = !bench_is(values, "compact", "none")};
    if (!compaction->is_on) {
        return 0;
    }
    if (!bench_is(values, "variant", "clump")) {
        return bench_error_set(error, "compact is for variant=clump");
    }
    if (bench_is(values, "strategy", "merge")) {
        compaction->merge = get_merge(values);
        compaction->is_merging = 1;
    } else if (bench_int(values, "retain") || !bench_is(values, "rewrite", "forward") ||
               !bench_is(values, "candidates", "states")) {
        return bench_error_set(error, "retain, rewrite and candidates are for strategy=merge");
    }
    if (bench_is(values, "order", "address")) {
        how->order = CLUMP_ORDER_ADDRESS;
    } else if (bench_is(values, "order", "cell")) { /* cells lie in the order of their index */
        how->order = CLUMP_ORDER_FIELD;
        how->order_field = cell_field;
    }
    if (compaction->is_merging && how->order != CLUMP_ORDER_ANY) {
        return bench_error_set(error, "order=%s needs strategy=planner; merge knows any",
                               bench_text(values, "order"));
    }
    return parse_trigger(bench_text(values, "compact"), &compaction->desc, error);
}

void bench_compaction_report(const bench_compacting *compactions, bench_results *results) {
    bench_sample(results, "compactions", "runs", compactions->count);
    bench_sample(results, "compaction_passes", "passes", compactions->passes);
    bench_sample(results, "compaction_us", "us", compactions->us);
    bench_sample(results, "compaction_plan_us", "us", compactions->phase_us[CLUMP_COMPACT_PLAN]);
    bench_sample(results, "compaction_move_us", "us", compactions->phase_us[CLUMP_COMPACT_MOVE]);
    bench_sample(results, "compaction_rewrite_us", "us",
                 compactions->phase_us[CLUMP_COMPACT_REWRITE]);
    bench_sample(results, "compaction_moves", "objects", (double)compactions->moves);
    bench_sample(results, "compaction_blocks", "blocks", (double)compactions->blocks_freed);
}
