/* A compactor that keeps account. See compacting.h. */
#include "compacting.h"

#include <stdio.h>
#include <string.h>

int bench_compacting_create(bench_compacting *c, clump_context *clump, clump_heap *heap,
                            const char *class_name, const clump_compactor_desc *desc,
                            const bench_merge *merge, bench_error *error) {
    *c = (bench_compacting){.clump = clump, .heap = heap, .classes = {class_name}};
    if (!desc) {
        return 0;
    }
    clump_compact_desc how = {.size = sizeof how};
    if (desc->compact) how = *desc->compact;
    how.classes = c->classes;
    how.class_count = class_name ? 1 : 0;
    clump_compactor_desc own = *desc;
    own.heap = heap;
    own.compact = &how;
    clump_status status = clump_compactor_create(&own, &c->compactor, NULL);
    if (status == CLUMP_OK && merge) {
        status = bench_merge_compactor(c->compactor, merge);
    }
    if (status == CLUMP_OK) {
        status = bench_merge_compact(heap, &how, merge, NULL, NULL);
    }
    return status == CLUMP_OK ? 0 : bench_error_clump(error, "the compactor", clump, status);
}

void bench_compacting_destroy(bench_compacting *c) {
    clump_compactor_destroy(c->compactor);
    c->compactor = NULL;
}

int bench_compacting_tick(bench_compacting *c, bench_error *error) {
    clump_compact_report report = {.size = sizeof report};
    int ran = 0;
    if (!c->compactor) {
        return 0;
    }
    clump_status status = clump_compactor_tick(c->compactor, &ran, &report, NULL);
    if (status != CLUMP_OK) {
        bench_error_clump(error, "compacting", c->clump, status);
        if (status == CLUMP_ERR_DEVICE_MEMORY && c->enough) {
            size_t at = strlen(error->text);
            snprintf(error->text + at, sizeof error->text - at, "; heap_mb=%u is enough",
                     (unsigned)((c->enough + (1u << 20) - 1) >> 20));
        }
        return -1;
    }
    if (ran) {
        c->count++;
        c->moves += report.moves;
        c->blocks_freed += report.blocks_freed;
        c->passes += report.passes;
        c->us += report.total_us;
        for (int i = 0; i < CLUMP_COMPACT_PHASE_COUNT; i++) c->phase_us[i] += report.us[i];
    }
    return 0;
}
