/* Triggers of collection: counting ticks, blocks in use, allocations that failed.
 *
 * Invariant: a collector that does not run clump_heap_collect() leaves the heap as it is; one that
 * does returns what that returned. A collection that was wanted stays wanted until the dead are
 * gone.
 *
 * Read first: include/clump/collector.h.
 */
#include <stddef.h>
#include <string.h>

#include "collect/collect.h"

#define GROWTH_PRESET 0.05

struct clump_collector {
    clump_collector_desc desc; /* its `collect` is the next, and `compact` of that the one after */
    clump_collect_desc collect;
    clump_compact_desc compact;
    uint32_t ticks;  /* since the last run */
    uint32_t failed; /* allocations that the heap had counted when last looked at */
    uint32_t used;   /* blocks in use at the first tick after the last run */
    int is_fresh;    /* that tick is still to come */
    int is_due;      /* what the last run did not come to */
};

static clump_status check_desc(const clump_collector_desc *d) {
    clump_error *e = &clumpi_heap_context(d->heap)->error;
    if (!d->every && d->fill == 0 && !d->out_of_memory)
        return clumpi_fail(e, CLUMP_ERR_USAGE,
                           "a collector needs a trigger: set every, fill or out_of_memory");
    if (!(d->fill >= 0 && d->fill <= 1))
        return clumpi_fail(e, CLUMP_ERR_USAGE, "fill of a collector is %g, but must be 0 to 1",
                           d->fill);
    if (!(d->growth >= 0 && d->growth <= 1))
        return clumpi_fail(e, CLUMP_ERR_USAGE, "growth of a collector is %g, but must be 0 to 1",
                           d->growth);
    return clumpi_collect_check(d->heap, d->collect);
}

static clump_status make_collector(const clump_collector_desc *desc, clump_collector **collector) {
    if (!desc->heap) return CLUMP_ERR_USAGE; /* no context to hold words */
    clump_context *c = clumpi_heap_context(desc->heap);
    if (!collector)
        return clumpi_fail(&c->error, CLUMP_ERR_USAGE,
                           "clump_collector_create needs a pointer for the result");
    clump_status status = check_desc(desc);
    if (status) return status;
    clump_collector *k = clumpi_alloc(&c->allocator, sizeof *k);
    if (!k) return clumpi_fail(&c->error, CLUMP_ERR_HOST_MEMORY, "no host memory for a collector");
    k->desc = *desc;
    k->collect = *desc->collect;
    k->desc.collect = &k->collect;
    if (k->collect.compact) {
        k->compact = *k->collect.compact;
        k->collect.compact = &k->compact;
    }
    if (!(desc->growth > 0)) k->desc.growth = GROWTH_PRESET;
    if (k->collect.finaliser) k->collect.finaliser->users++;
    if (k->compact.key_kernel) k->compact.key_kernel->users++;
    clumpi_heap_use(k->desc.heap);
    *collector = k;
    return CLUMP_OK;
}

clump_status clump_collector_create(const clump_collector_desc *given, clump_collector **collector,
                                    clump_error *error) {
    clump_collector_desc desc;
    clump_collect_desc collect;
    clump_compact_desc compact;
    clump_error *kept = given && given->heap ? &clumpi_heap_context(given->heap)->error : NULL;
    if (collector) *collector = NULL;
    clump_status status = CLUMPI_TAKE(clump_collector_desc, &desc, given, kept);
    if (!status) status = clumpi_collect_take(desc.collect, &collect, &compact, kept);
    desc.collect = &collect;
    if (!status) status = make_collector(&desc, collector);
    return clumpi_tell(kept, status, error);
}

void clump_collector_destroy(clump_collector *collector) {
    if (!collector) return;
    clump_heap *heap = collector->desc.heap;
    clumpi_kernel_release(collector->collect.finaliser); /* it had this collector for a user */
    clumpi_kernel_release(collector->compact.key_kernel);
    clumpi_free(&clumpi_heap_context(heap)->allocator, collector);
    clump_heap_destroy(heap);
}

/* Have allocations failed? The count goes back to 0 when the user fetches the errors of the
 * heap. */
static clump_status look_for_failures(clump_collector *k, int *found) {
    clump_heap *heap = k->desc.heap;
    uint64_t at = clumpi_header_offset(heap, offsetof(clumpi_header, errors)) +
                  CLUMP_DEVICE_OUT_OF_MEMORY * sizeof(clumpi_error);
    clumpi_error error = {0};
    clump_status status = clumpi_heap_enter(heap);
    if (!status)
        status = clumpi_read(clumpi_heap_context(heap), clumpi_heap_buffer(heap), at, sizeof error,
                             &error);
    *found = !status && error.count != 0 && error.count != k->failed;
    if (!status) k->failed = error.count;
    return status;
}

static clump_status count_used(clump_collector *k, uint32_t *used) {
    clump_heap_stats all;
    clump_status status = clumpi_read_stats(k->desc.heap, &all, NULL);
    *used = status ? 0 : all.blocks - all.free_blocks;
    return status;
}

static clump_status look(clump_collector *k, int *wanted) {
    const clump_collector_desc *d = &k->desc;
    clump_status status = CLUMP_OK;
    *wanted = k->is_due || (d->every && ++k->ticks >= d->every);
    if (d->out_of_memory) { /* always, so that what is old is not taken for new */
        int failed;
        status = look_for_failures(k, &failed);
        *wanted |= failed;
    }
    if (status || *wanted || d->fill == 0) return status;
    uint32_t used;
    double blocks = clumpi_block_count(d->heap);
    status = count_used(k, &used);
    if (!status && k->is_fresh) k->used = used;
    if (!status) k->is_fresh = 0;
    *wanted = !status && used >= d->fill * blocks && used >= k->used + d->growth * blocks;
    return status;
}

clump_status clump_collector_tick(clump_collector *collector, int *ran,
                                  clump_collect_report *report, const clump_sync *sync) {
    int wanted = 0;
    if (ran) *ran = 0;
    if (!collector) return CLUMP_ERR_USAGE;
    clump_collector *k = collector;
    clump_context *c = clumpi_heap_context(k->desc.heap);
    clump_collect_report own = {0};
    clump_status status = CLUMPI_PLACE(clump_collect_report, report, &c->error);
    if (!status) status = CLUMPI_PLACE(clump_compact_report, k->collect.compact_report, &c->error);
    if (!status) status = clumpi_sync_check(c, sync, "clump_collector_tick");
    if (!status) status = look(k, &wanted);
    if (status) return status;
    if (!wanted) return clumpi_heap_pass(k->desc.heap, sync);
    int is_swept;
    status = clumpi_collect(k->desc.heap, &k->collect, report ? &own : NULL, sync, &is_swept);
    CLUMPI_GIVE(report, own);
    if (ran) *ran = is_swept;
    k->is_due = !is_swept; /* what is still to be done is wanted at the next tick */
    if (!is_swept) return status;
    k->ticks = 0;
    k->is_fresh = 1;
    return status;
}
