/* The merge strategy: passes until no more than `retain` candidates of each class are left, or none
 * can be merged. The host reads the plan of each pass, to know whether there is another.
 *
 * Read first: merge.h, compact/compact.h, merge.cl.
 */
#include "merge.h"

#include "compact/compact.h"
#include "merge_files.h"

#define KERNELS(X)                                                                                 \
    X(merge_count)                                                                                 \
    X(merge_write)                                                                                 \
    X(merge_claim)                                                                                 \
    X(merge_pair)                                                                                  \
    X(merge_record)                                                                                \
    X(merge_rewrite)
enum { KERNELS(CLUMPI_KERNEL_INDEX) };
#define KERNEL(name) ((clumpi_kernel_id){.library = &library, .index = CLUMPI_KERNEL_##name})

static const char *const kernel_files[] = {
    "cl/core/layout.h",       "cl/core/prelude.clh",
    "cl/core/bitmap.clh",     "cl/core/segments.clh",
    "cl/core/block.clh",      "cl/core/scan.clh",
    "cl/compact/layout.h",    "cl/compact/plan.clh",
    "cl/compact/reach.clh",   "bench/papers/merge/records.clh",
    "cl/compact/rewrite.clh", "bench/papers/merge/merge.cl"};
static const char *const kernel_names[] = {KERNELS(CLUMPI_KERNEL_NAME)};
#define LIBRARY(options, arrays)                                                                   \
    {                                                                                              \
        kernel_files, sizeof kernel_files / sizeof *kernel_files, kernel_names,                    \
            sizeof kernel_names / sizeof *kernel_names, options, arrays, bench_merge_files         \
    }
static const clumpi_library with_arrays = LIBRARY("-DCLUMPI_REF_ARRAYS=1", NULL);
static const clumpi_library library = LIBRARY(NULL, &with_arrays);

/* How a pass moves. */
typedef struct merging {
    clumpi_moving moving;
    clumpi_u32 records; /* of a rewriting that recomputes: entries of its table, else 0 */
    int in_local;       /* all of its records in local memory */
} merging;

static const bench_merge *merge_of(const clumpi_compaction *r) {
    return r->strategy->options;
}

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
    if (merge_of(r)->rewrite == BENCH_REWRITE_FORWARD) return 0;
    if (merge_of(r)->rewrite == BENCH_REWRITE_GLOBAL) return (uint32_t)most;
    /* A part of local memory is left for the kernel's own. */
    uint64_t fit = clumpi_heap_context(heap)->capabilities.local_bytes * 3 / 4 /
                   record_bytes(heap, merge_of(r)->factor);
    return (uint32_t)(fit < most ? fit : most);
}

static clump_status check_records(const clumpi_compaction *r) {
    if (merge_of(r)->rewrite == BENCH_REWRITE_FORWARD || record_entries(r)) return CLUMP_OK;
    return clumpi_fail(
        &clumpi_heap_context(r->heap)->error, CLUMP_ERR_USAGE,
        "clump_heap_compact: the record of one source takes %llu bytes for factor %u, "
        "and the device has %llu of local memory; rewrite by other means",
        (unsigned long long)record_bytes(r->heap, merge_of(r)->factor), merge_of(r)->factor,
        (unsigned long long)clumpi_heap_context(r->heap)->capabilities.local_bytes);
}

static clump_status check(const clumpi_compaction *r) {
    const clump_compact_desc *d = r->desc;
    const bench_merge *m = merge_of(r);
    clump_error *e = &clumpi_heap_context(r->heap)->error;
    if (d->slack != 0 || d->max_moves || d->max_us != 0 || d->order != CLUMP_ORDER_ANY ||
        d->order_field || d->key_kernel)
        return clumpi_fail(e, CLUMP_ERR_USAGE,
                           "clump_heap_compact: slack, steps and orders are for the planner");
    if (m->rewrite < BENCH_REWRITE_FORWARD || m->rewrite > BENCH_REWRITE_SHARED)
        return clumpi_fail(e, CLUMP_ERR_USAGE, "clump_heap_compact: there is no way %d to rewrite",
                           (int)m->rewrite);
    if (m->candidates < BENCH_CANDIDATES_STATES || m->candidates > BENCH_CANDIDATES_BITMAP)
        return clumpi_fail(e, CLUMP_ERR_USAGE,
                           "clump_heap_compact: there is no way %d to find candidates",
                           (int)m->candidates);
    for (uint32_t id = 1; id <= clumpi_object_classes(r->heap); id++) {
        uint32_t capacity = clumpi_heap_geometry(r->heap)->classes[id].capacity;
        const clump_class_info *info =
            clump_schema_get_info(clumpi_heap_schema(r->heap))->classes[id];
        if (capacity && clumpi_is_selected(r, id) && (m->factor < 1 || m->factor >= capacity))
            return clumpi_fail(
                e, CLUMP_ERR_USAGE,
                "clump_heap_compact: factor is %u; 1 .. %u is possible for class %s, "
                "whose blocks hold %u objects",
                m->factor, capacity - 1, info->name, capacity);
    }
    return check_records(r);
}

/* The plan of a pass; *sources is how many blocks it frees. `candidates`: their bitmap, or NULL. */
static clump_status plan_pass(clumpi_compaction *r, const merging *m, cl_mem candidates,
                              uint32_t pass, uint32_t *sources) {
    clump_heap *heap = r->heap;
    clump_context *c = clumpi_heap_context(heap);
    const clump_compact_phase phase = CLUMP_COMPACT_PLAN;
    size_t groups = clumpi_compact_plan_groups(heap), local = c->sizes.scan_local;
    clumpi_u32 most = m->records ? m->records : UINT32_MAX;
    clumpi_u32 is_first = pass == 0;
    clumpi_arg selected = {sizeof r->selected, r->selected},
               factor = {sizeof m->moving.factor, &m->moving.factor},
               bitmap = {sizeof candidates, &candidates};
    clumpi_arg count[] = {selected, factor, bitmap, {sizeof is_first, &is_first}};
    clumpi_arg write[] = {selected,
                          factor,
                          bitmap,
                          {sizeof merge_of(r)->retain, &merge_of(r)->retain},
                          {sizeof most, &most}};
    clumpi_arg entries = {sizeof m->records, &m->records}, pair[] = {factor, entries};
    clump_status status = clumpi_unreserve(heap, NULL);
    if (!status)
        status =
            clumpi_compact_run(r, phase, CLUMPI_COMPACT_KERNEL(plan_clear), groups, local, NULL, 0);
    if (!status)
        status = clumpi_compact_run(r, phase, KERNEL(merge_count), groups, local, count, 4);
    if (!status)
        status = clumpi_compact_run(r, phase, KERNEL(merge_write), groups, local, write, 5);
    if (!status && m->records)
        status = clumpi_compact_run(r, phase, KERNEL(merge_claim), groups, local, &entries, 1);
    if (!status) status = clumpi_compact_run(r, phase, KERNEL(merge_pair), groups, local, pair, 2);
    if (!status && m->records)
        status = clumpi_compact_run(r, phase, KERNEL(merge_record), groups, local, NULL, 0);
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
    if (merge_of(r)->candidates == BENCH_CANDIDATES_STATES) return CLUMP_OK;
    clump_status status = clumpi_buffer_create(c, bytes, "candidates", candidates);
    return status ? status : clumpi_clear(c, *candidates, 0, bytes);
}

static clump_status rewrite(clumpi_compaction *r, const clumpi_moving *moving) {
    const merging *m = (const merging *)moving;
    clumpi_u32 in_local = m->in_local != 0;
    size_t blocks = in_local ? (size_t)m->records * (moving->factor + 1) : 1;
    size_t bitmaps = in_local ? blocks * clumpi_heap_geometry(r->heap)->header.block_rows_max : 1;
    clumpi_arg args[] = {{0, NULL}, /* clumpi_compact_run_inside() */
                         {sizeof m->records, &m->records},
                         {sizeof moving->factor, &moving->factor},
                         {sizeof in_local, &in_local},
                         {m->records * sizeof(clumpi_u32), NULL},
                         {blocks * sizeof(clumpi_u32), NULL},
                         {bitmaps * 8, NULL}};
    return clumpi_compact_run_inside(r, CLUMP_COMPACT_REWRITE, KERNEL(merge_rewrite), args, 7);
}

static clump_status run(clumpi_compaction *r) {
    const clumpi_u32 records = record_entries(r);
    const merging m = {
        .moving = {.factor = merge_of(r)->factor, .rewrite = records ? rewrite : NULL},
        .records = records,
        .in_local = merge_of(r)->rewrite == BENCH_REWRITE_SHARED};
    uint32_t most = merge_of(r)->max_passes ? merge_of(r)->max_passes : UINT32_MAX, sources = 1;
    cl_mem candidates = NULL;
    clump_status status = make_candidates(r, &candidates);
    clump_heap_touch(r->heap); /* the records stand in the place of the list */
    for (uint32_t pass = 0; pass < most && sources && !status; pass++) {
        status = plan_pass(r, &m, candidates, pass, &sources);
        /* The first also if it frees nothing: dangling references are to be looked at. */
        if (!status && (sources || pass == 0)) status = clumpi_compact_apply(r, &m.moving, NULL);
    }
    clumpi_buffer_release(clumpi_heap_context(r->heap), &candidates);
    return status;
}

static clumpi_strategy strategy_of(const bench_merge *merge) {
    return (clumpi_strategy){.check = check, .run = run, .library = &library, .options = merge};
}

clump_status bench_merge_compact(clump_heap *heap, const clump_compact_desc *desc,
                                 const bench_merge *merge, clump_compact_report *report,
                                 const clump_sync *sync) {
    const clumpi_strategy strategy = strategy_of(merge);
    const clump_compact_desc everything = {.size = sizeof everything};
    clump_compact_report made = {.size = sizeof made};
    if (!desc) desc = &everything;
    clump_status status =
        clumpi_compact_by(heap, desc, merge ? &strategy : NULL, report ? &made : NULL, sync);
    CLUMPI_GIVE(report, made);
    return status;
}

clump_status bench_merge_compactor(clump_compactor *compactor, const bench_merge *merge) {
    const clumpi_strategy strategy = strategy_of(merge);
    return clumpi_compactor_set_strategy(compactor, &strategy);
}
