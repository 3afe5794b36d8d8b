/* The merge strategy: passes until no more than `retain` candidates of each class are left, or none
 * can be merged. The host reads the plan of each pass, to know whether there is another.
 *
 * Read first: compact.h, cl/compact/merge/merge.cl.
 */
#include "compact/merge/merge.h"

static const char *const kernel_files[] = {
    "cl/core/layout.h",     "cl/core/prelude.clh", "cl/core/bitmap.clh",
    "cl/core/segments.clh", "cl/core/block.clh",   "cl/core/scan.clh",
    "cl/compact/layout.h",  "cl/compact/plan.clh", "cl/compact/merge/merge.cl"};
static const char *const kernel_names[] = {CLUMPI_MERGE_KERNELS(CLUMPI_KERNEL_NAME)};
const clumpi_library clumpi_merge_library = CLUMPI_LIBRARY(NULL, NULL);

#define RECORDS_MAX 4096u /* entries of the table of sources: 16 KB of local memory */

/* Local memory that the records of one source take. */
static uint64_t record_bytes(const clump_heap *heap, uint32_t factor) {
    return 4 + (uint64_t)(factor + 1) *
                   (4 + 8 * (uint64_t)clumpi_heap_geometry(heap)->header.block_rows_max);
}

/* Entries of the table of sources; 0 for forwarding references. */
static uint32_t record_entries(const clumpi_compaction *r) {
    const clump_heap *heap = r->heap;
    uint64_t most = clumpi_block_count(heap) < RECORDS_MAX ? clumpi_block_count(heap) : RECORDS_MAX;
    if (r->desc->merge->rewrite == CLUMP_REWRITE_FORWARD) return 0;
    if (r->desc->merge->rewrite == CLUMP_REWRITE_RECOMPUTE_GLOBAL) return (uint32_t)most;
    /* A part of local memory is left for the kernel's own. */
    uint64_t fit = clumpi_heap_context(heap)->capabilities.local_bytes * 3 / 4 /
                   record_bytes(heap, r->desc->merge->factor);
    return (uint32_t)(fit < most ? fit : most);
}

clump_status clumpi_merge_check(const clumpi_compaction *r) {
    if (r->desc->merge->rewrite == CLUMP_REWRITE_FORWARD || record_entries(r)) return CLUMP_OK;
    return clumpi_fail(
        &clumpi_heap_context(r->heap)->error, CLUMP_ERR_USAGE,
        "clump_heap_compact: the record of one source takes %llu bytes for factor %u, "
        "and the device has %llu of local memory; rewrite by other means",
        (unsigned long long)record_bytes(r->heap, r->desc->merge->factor), r->desc->merge->factor,
        (unsigned long long)clumpi_heap_context(r->heap)->capabilities.local_bytes);
}

/* The plan of a pass; *sources is how many blocks it frees. `candidates`: their bitmap, or NULL. */
static clump_status plan_pass(clumpi_compaction *r, const clumpi_moving *m, cl_mem candidates,
                              uint32_t pass, uint32_t *sources) {
    clump_heap *heap = r->heap;
    clump_context *c = clumpi_heap_context(heap);
    const clump_compact_phase phase = CLUMP_COMPACT_PLAN;
    size_t groups = clumpi_compact_plan_groups(heap), local = c->sizes.scan_local;
    clumpi_u32 most = m->records ? m->records : UINT32_MAX;
    clumpi_u32 is_first = pass == 0;
    clumpi_arg selected = {sizeof r->selected, r->selected},
               factor = {sizeof m->factor, &m->factor}, bitmap = {sizeof candidates, &candidates};
    clumpi_arg count[] = {selected, factor, bitmap, {sizeof is_first, &is_first}};
    clumpi_arg write[] = {selected,
                          factor,
                          bitmap,
                          {sizeof r->desc->merge->retain, &r->desc->merge->retain},
                          {sizeof most, &most}};
    clumpi_arg entries = {sizeof m->records, &m->records}, pair[] = {factor, entries};
    clump_status status = clumpi_unreserve(heap, NULL);
    if (!status)
        status =
            clumpi_compact_run(r, phase, CLUMPI_COMPACT_KERNEL(plan_clear), groups, local, NULL, 0);
    if (!status)
        status =
            clumpi_compact_run(r, phase, CLUMPI_MERGE_KERNEL(merge_count), groups, local, count, 4);
    if (!status)
        status =
            clumpi_compact_run(r, phase, CLUMPI_MERGE_KERNEL(merge_write), groups, local, write, 5);
    if (!status && m->records)
        status = clumpi_compact_run(r, phase, CLUMPI_MERGE_KERNEL(merge_claim), groups, local,
                                    &entries, 1);
    if (!status)
        status =
            clumpi_compact_run(r, phase, CLUMPI_MERGE_KERNEL(merge_pair), groups, local, pair, 2);
    if (!status && m->records)
        status =
            clumpi_compact_run(r, phase, CLUMPI_MERGE_KERNEL(merge_record), groups, local, NULL, 0);
    clumpi_class_plan plans[CLUMPI_CLASS_IDS];
    if (!status) status = clumpi_compact_read_plans(heap, plans);
    *sources = 0;
    for (uint32_t id = 1; id <= clumpi_object_classes(heap) && !status; id++)
        *sources += plans[id].freed;
    return status;
}

/* An empty bitmap, if it is asked for. */
static clump_status make_candidates(const clumpi_compaction *r, cl_mem *candidates) {
    clump_context *c = clumpi_heap_context(r->heap);
    uint64_t bytes = ((uint64_t)clumpi_heap_geometry(r->heap)->header.block_end + 31) / 32 * 4;
    if (r->desc->merge->candidates == CLUMP_CANDIDATES_STATES) return CLUMP_OK;
    clump_status status = clumpi_buffer_create(c, bytes, "candidates", candidates);
    return status ? status : clumpi_clear(c, *candidates, 0, bytes);
}

clump_status clumpi_merge_run(clumpi_compaction *r) {
    const clumpi_moving moving = {
        .factor = r->desc->merge->factor,
        .records = record_entries(r),
        .in_local = r->desc->merge->rewrite == CLUMP_REWRITE_RECOMPUTE_SHARED};
    uint32_t most = r->desc->merge->max_passes ? r->desc->merge->max_passes : UINT32_MAX,
             sources = 1;
    cl_mem candidates = NULL;
    clump_status status = make_candidates(r, &candidates);
    clumpi_list_forget(r->heap); /* the records stand in the list's place */
    for (uint32_t pass = 0; pass < most && sources && !status; pass++) {
        status = plan_pass(r, &moving, candidates, pass, &sources);
        /* The first also if it frees nothing: dangling references are to be looked at. */
        if (!status && (sources || pass == 0)) status = clumpi_compact_apply(r, &moving, NULL);
    }
    clumpi_buffer_release(clumpi_heap_context(r->heap), &candidates);
    return status;
}
