/* Triggers of compaction: counting calls, counting blocks, and the rule of compactor.h.
 *
 * Invariant: a compactor that does not compact leaves the heap as it is; one that does
 * returns what that returned. Only `automatic` asks for the time.
 *
 * Read first: compactor.h, compactor_rule.c.
 */
#include "compact/compactor.h"

#include <string.h>

#include "compact/compact.h"
#include "heap/timed.h"

#define COST_LIMIT 0.01
#define GUESS_GPU 1e12 /* bytes of objects that a run gets through in a second, about */
#define GUESS_CPU 5e9
#define SLACK_PARTS 1000000.0 /* slack counts in millionths, as in planner.c */

struct clump_compactor {
    clump_compactor_desc desc; /* `compact` is the next */
    clump_compact_desc compact;
    clumpi_strategy strategy;                /* all zero: the planner */
    uint8_t selected[CLUMP_CLASSES_MAX + 1]; /* by class id */
    /* of the heap, when the classes were selected: their ids hold until the next */
    uint32_t conversions;
    uint32_t calls;   /* since the last run; for `every` */
    clumpi_rule rule; /* for `automatic` */
};

/* ---- Creation -------------------------------------------------------------------------------- */

static clump_status check_desc(const clump_compactor_desc *desc) {
    clump_context *c = clumpi_heap_context(desc->heap);
    int by_blocks = desc->candidates != 0 || desc->share != 0;
    int triggers = (desc->every != 0) + by_blocks + (desc->automatic != 0);
    if (triggers != 1)
        return clumpi_fail(&c->error, CLUMP_ERR_USAGE,
                           "a compactor needs exactly one trigger (every, candidates or share, or "
                           "automatic), but %d are set",
                           triggers);
    if (!(desc->share >= 0 && desc->share <= 1))
        return clumpi_fail(&c->error, CLUMP_ERR_USAGE,
                           "share of a compactor is %g, but must be 0 to 1", desc->share);
    if (!(desc->cost_limit >= 0 && desc->cost_limit <= 1))
        return clumpi_fail(&c->error, CLUMP_ERR_USAGE,
                           "cost_limit of a compactor is %g, but must be 0 to 1", desc->cost_limit);
    return clumpi_compact_check(desc->heap, desc->compact, NULL);
}

static void select_classes(clump_compactor *k) {
    const clump_heap *heap = k->desc.heap;
    const clump_compact_desc *desc = &k->compact;
    memset(k->selected, desc->class_count == 0, sizeof k->selected);
    for (uint32_t i = 0; i < desc->class_count; i++) {
        clump_class_info info;
        if (!clumpi_take_class(clump_schema_find_class(clumpi_heap_schema(heap), desc->classes[i]),
                               &info))
            continue; /* checked */
        memset(k->selected + info.id, 1, info.last - info.id + 1);
    }
    k->conversions = clumpi_heap_conversions(heap);
}

static const clumpi_strategy *strategy_of(const clump_compactor *k) {
    return k->strategy.run ? &k->strategy : NULL;
}

clump_status clumpi_compactor_set_strategy(clump_compactor *k, const clumpi_strategy *strategy) {
    clump_status status = clumpi_compact_check(k->desc.heap, &k->compact, strategy);
    if (!status) status = clumpi_compact_build(k->desc.heap, &k->compact, strategy);
    if (!status) k->strategy = *strategy;
    return status;
}

static clump_status make_compactor(const clump_compactor_desc *desc, clump_compactor **compactor) {
    if (!desc->heap) return CLUMP_ERR_USAGE; /* no context to hold words */
    clump_context *c = clumpi_heap_context(desc->heap);
    if (!compactor)
        return clumpi_fail(&c->error, CLUMP_ERR_USAGE,
                           "clump_compactor_create needs a pointer for the result");
    clump_status status = check_desc(desc);
    if (!status) status = clumpi_compact_build(desc->heap, desc->compact, NULL);
    if (status) return status;
    clump_compactor *k = clumpi_alloc(&c->allocator, sizeof *k);
    if (!k) return clumpi_fail(&c->error, CLUMP_ERR_HOST_MEMORY, "no host memory for a compactor");
    k->desc = *desc;
    k->compact = *desc->compact;
    k->desc.compact = &k->compact;
    select_classes(k);
    clumpi_rule_init(&k->rule, desc->cost_limit > 0 ? desc->cost_limit : COST_LIMIT);
    if (k->compact.key_kernel) k->compact.key_kernel->users++;
    clumpi_heap_use(k->desc.heap);
    *compactor = k;
    return CLUMP_OK;
}

clump_status clump_compactor_create(const clump_compactor_desc *given, clump_compactor **compactor,
                                    clump_error *error) {
    clump_compactor_desc desc;
    clump_compact_desc compact;
    clump_error *kept = given && given->heap ? &clumpi_heap_context(given->heap)->error : NULL;
    if (compactor) *compactor = NULL;
    clump_status status = CLUMPI_TAKE(clump_compactor_desc, &desc, given, kept);
    if (!status) status = CLUMPI_TAKE(clump_compact_desc, &compact, desc.compact, kept);
    desc.compact = &compact;
    if (!status) status = make_compactor(&desc, compactor);
    return clumpi_tell(kept, status, error);
}

void clump_compactor_destroy(clump_compactor *compactor) {
    if (!compactor) return;
    clump_heap *heap = compactor->desc.heap;
    clumpi_kernel_release(compactor->compact.key_kernel); /* it had this compactor for a user */
    clumpi_free(&clumpi_heap_context(heap)->allocator, compactor);
    clump_heap_destroy(heap);
}

/* ---- Looking --------------------------------------------------------------------------------- */

/* Blocks of a class beyond those that its objects and the slack need. */
static uint32_t freeable_of(const clump_class_stats *s, uint32_t capacity, uint64_t slack) {
    if (!capacity) return 0; /* abstract */
    uint64_t room = s->objects + s->objects * slack / (uint64_t)SLACK_PARTS;
    uint64_t keep = room / capacity + (room % capacity != 0);
    return keep < s->blocks ? s->blocks - (uint32_t)keep : 0;
}

/* Everything but the times. */
static clump_status count(clump_compactor *k, clumpi_look *look) {
    clump_heap *heap = k->desc.heap;
    clump_class_stats classes[CLUMP_CLASSES_MAX];
    clump_heap_stats all;
    clump_status status = clumpi_read_stats(heap, &all, classes);
    if (status) return status;
    uint64_t slack = (uint64_t)(k->compact.slack * SLACK_PARTS + 0.5);
    double speed = clumpi_heap_context(heap)->capabilities.is_cpu ? GUESS_CPU : GUESS_GPU;
    look->heap_blocks = all.blocks;
    look->free_blocks = all.free_blocks;
    look->blocks = look->freeable = 0;
    look->run_guess = 0;
    for (uint32_t id = 1; id <= clumpi_object_classes(heap); id++) {
        if (!k->selected[id]) continue;
        const clump_class_stats *s = &classes[id - 1];
        look->blocks += s->blocks;
        look->run_guess += (double)s->bytes / speed;
        look->freeable += freeable_of(s, clumpi_heap_geometry(heap)->classes[id].capacity, slack);
    }
    return CLUMP_OK;
}

/* ---- Triggers -------------------------------------------------------------------------------- */

static clump_status compact(clump_compactor *k, int *ran, clump_compact_report *report,
                            const clump_sync *sync) {
    clump_status status =
        clumpi_compact_by(k->desc.heap, &k->compact, strategy_of(k), report, sync);
    if (!status) *ran = 1;
    return status;
}

static clump_status tick_every(clump_compactor *k, int *ran, clump_compact_report *report,
                               const clump_sync *sync) {
    if (++k->calls < k->desc.every) return clumpi_heap_pass(k->desc.heap, sync);
    k->calls = 0;
    return compact(k, ran, report, sync);
}

static clump_status tick_blocks(clump_compactor *k, int *ran, clump_compact_report *report,
                                const clump_sync *sync) {
    clumpi_look look;
    clump_status status = count(k, &look);
    if (status) return status;
    const clump_compactor_desc *d = &k->desc;
    int enough = (d->candidates && look.freeable >= d->candidates) ||
                 (d->share > 0 && look.freeable >= d->share * look.heap_blocks);
    return enough ? compact(k, ran, report, sync) : clumpi_heap_pass(k->desc.heap, sync);
}

static clump_status tick_automatic(clump_compactor *k, int *ran, clump_compact_report *report,
                                   const clump_sync *sync) {
    clump_context *c = clumpi_heap_context(k->desc.heap);
    clumpi_look look;
    if (!clumpi_rule_ticked(&k->rule, 1e-9 * clumpi_now_ns()))
        return clumpi_heap_pass(k->desc.heap, sync);
    /* The first time, devices load or even compile the kernel; that is not what looking costs. */
    clump_status status = k->rule.looks ? clumpi_finish(c) : count(k, &look);
    if (status) return status;
    look.begin = 1e-9 * clumpi_now_ns();
    status = count(k, &look);
    if (status) return status;
    look.end = 1e-9 * clumpi_now_ns();
    if (!clumpi_rule_looked(&k->rule, &look)) return clumpi_heap_pass(k->desc.heap, sync);
    clump_compact_report own = {0};
    int first = k->rule.runs == 0;
    status = compact(k, ran, &own, sync);
    if (!status) status = clumpi_finish(c);
    clumpi_ran done = {.end = 1e-9 * clumpi_now_ns(), .freed = status ? 0 : own.blocks_freed};
    done.cost = done.end - look.end;
    /* Likewise: of the first run only what the device did counts, if it can tell. */
    if (first && own.total_us > 0 && own.total_us * 1e-6 < done.cost)
        done.cost = own.total_us * 1e-6;
    clumpi_rule_ran(&k->rule, &done);
    if (!status && report) *report = own;
    return status;
}

/* A heap that got another schema (convert.h) has other ids, and may lack a class. */
static clump_status select_again(clump_compactor *k) {
    const clump_heap *heap = k->desc.heap;
    if (k->conversions == clumpi_heap_conversions(heap)) return CLUMP_OK;
    clump_status status = clumpi_compact_check(k->desc.heap, &k->compact, strategy_of(k));
    if (!status) select_classes(k);
    return status;
}

static clump_status tick(clump_compactor *k, int *ran, clump_compact_report *report,
                         const clump_sync *sync) {
    clump_status status = select_again(k);
    if (status) return status;
    if (k->desc.every) return tick_every(k, ran, report, sync);
    return k->desc.automatic ? tick_automatic(k, ran, report, sync)
                             : tick_blocks(k, ran, report, sync);
}

clump_status clump_compactor_tick(clump_compactor *k, int *ran, clump_compact_report *report,
                                  const clump_sync *sync) {
    clump_compact_report own = {0};
    int dummy;
    if (!ran) ran = &dummy;
    *ran = 0;
    if (!k) return CLUMP_ERR_USAGE;
    clump_context *c = clumpi_heap_context(k->desc.heap);
    clump_status status = CLUMPI_PLACE(clump_compact_report, report, &c->error);
    if (!status) status = clumpi_sync_check(c, sync, "clump_compactor_tick");
    if (status) return status;
    status = tick(k, ran, report ? &own : NULL, sync);
    CLUMPI_GIVE(report, own);
    return status;
}
