/* Statistics and the heap check. The kernels leave their results in the heap's scratch.
 *
 * Read first: core/core.h, cl/heap/layout.h, cl/heap/stats.cl, cl/heap/check.cl.
 */
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "heap/heap.h"

static uint64_t scan_offset(const clump_heap *heap) {
    return (uint64_t)heap->geometry.header.at_scan * CLUMPI_UNIT;
}

/* Entries 0 .. class_count of *counts. */
static clump_status count_blocks(clump_heap *heap, clumpi_stats_result *counts) {
    clump_context *c = heap->context;
    uint64_t bytes = CLUMPI_STATS_BYTES(heap->geometry.header.class_count);
    const clumpi_launch_sizes *sizes = &c->sizes;
    int was_reserved = heap->reserved;
    clumpi_arg turn = {sizeof heap->list_turn, &heap->list_turn};
    clump_status status = clumpi_unreserve(heap, NULL);
    if (!status) status = clumpi_clear(c, heap->buffer, scan_offset(heap), bytes);
    if (!status)
        status = clumpi_run_on_heap(heap, CLUMPI_HEAP_KERNEL(stats),
                                    sizes->scan_groups * sizes->scan_local, sizes->scan_local,
                                    &turn, 1, NULL);
    if (!status) status = clumpi_read(c, heap->buffer, scan_offset(heap), bytes, counts);
    for (uint32_t id = 1; !was_reserved && id <= heap->geometry.header.class_count; id++)
        counts->classes[id].reserved = 0; /* given back by an earlier call */
    return status;
}

static double fragmentation(uint64_t objects, uint64_t slots) {
    return slots ? 1.0 - (double)objects / (double)slots : 0.0;
}

static clump_class_stats class_stats(const clump_heap *heap, uint32_t id,
                                     const clumpi_class_count *count) {
    const clumpi_geometry *g = &heap->geometry;
    clump_class_stats s = {.objects = count->objects,
                           .blocks = count->blocks,
                           .active_blocks = count->active,
                           .reserved = count->reserved};
    s.slots = (uint64_t)s.blocks * g->classes[id].capacity;
    s.bytes = (uint64_t)s.blocks * g->header.block_granules * g->header.granule_bytes;
    s.fragmentation = fragmentation(s.objects, s.slots);
    return s;
}

clump_status clump_heap_calc_stats(clump_heap *heap, clump_heap_stats *heap_stats,
                                   clump_class_stats *classes, uint32_t capacity) {
    if (!heap) return CLUMP_ERR_USAGE;
    clump_context *c = heap->context;
    uint32_t count = heap->geometry.header.class_count;
    if (classes && capacity < count)
        return clumpi_fail(&c->error, CLUMP_ERR_USAGE,
                           "clump_heap_calc_stats: room for %u classes, the heap has %u", capacity,
                           count);
    clumpi_stats_result counts;
    clump_status status = count_blocks(heap, &counts);
    if (status) return status;
    clump_heap_stats sum = {.blocks = heap->layout.block_count,
                            .free_blocks = counts.classes[0].blocks};
    for (uint32_t id = 1; id <= count; id++) {
        clump_class_stats s = class_stats(heap, id, &counts.classes[id]);
        sum.objects += s.objects;
        sum.slots += s.slots;
        if (classes) classes[id - 1] = s;
    }
    sum.fragmentation = fragmentation(sum.objects, sum.slots);
    if (heap_stats) *heap_stats = sum;
    return CLUMP_OK;
}

clump_status clump_heap_calc_count(clump_heap *heap, const char *class_name, uint64_t *count) {
    if (count) *count = 0;
    if (!heap) return CLUMP_ERR_USAGE;
    if (!count)
        return clumpi_fail(&heap->context->error, CLUMP_ERR_USAGE,
                           "clump_heap_calc_count needs a place for the count");
    clump_class_info info;
    if (!class_name || clump_schema_find_class(heap->schema, class_name, &info))
        return clumpi_fail(&heap->context->error, CLUMP_ERR_NOT_FOUND,
                           "the heap has no class \"%s\"", class_name ? class_name : "(null)");
    clumpi_stats_result counts;
    clump_status status = count_blocks(heap, &counts);
    if (status) return status;
    for (uint32_t id = info.id; id <= info.last; id++) *count += counts.classes[id].objects;
    return CLUMP_OK;
}

/* One launch of both check kernels. */
static clump_status run_check(clump_heap *heap, clumpi_u32 reporting) {
    const clumpi_launch_sizes *sizes = &heap->context->sizes;
    size_t global = sizes->scan_groups * sizes->scan_local;
    clumpi_arg arg = {sizeof reporting, &reporting};
    clump_status status = clumpi_run_on_heap(heap, CLUMPI_HEAP_KERNEL(check_blocks), global,
                                             sizes->scan_local, &arg, 1, NULL);
    /* Violations outside blocks share their key, so one work-item alone looks for the details. */
    size_t local = reporting ? 1 : sizes->scan_local;
    if (!status)
        status = clumpi_run_on_heap(heap, CLUMPI_HEAP_KERNEL(check_rest), reporting ? 1 : global,
                                    local, &arg, 1, NULL);
    return status;
}

static clump_status describe(clump_heap *heap, const clumpi_violation *v) {
    static const char *const texts[] = {
#define VIOLATION_TEXT(name, text) text,
        CLUMPI_VIOLATION_LIST(VIOLATION_TEXT)
#undef VIOLATION_TEXT
    };
    char what[256] = "unknown violation";
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral" /* the texts of the list above */
    if (v->code < CLUMPI_VIOLATION_COUNT)
        snprintf(what, sizeof what, texts[v->code], v->class_id, v->expected, v->found);
#pragma GCC diagnostic pop
    if (v->block >= heap->geometry.header.block_end)
        return clumpi_fail(&heap->context->error, CLUMP_ERR_CORRUPT, "the heap: %s", what);
    return clumpi_fail(&heap->context->error, CLUMP_ERR_CORRUPT, "block %u: %s", v->block, what);
}

/* Is the header still what the host wrote? */
static clump_status check_header(clump_heap *heap) {
    clump_context *c = heap->context;
    clumpi_header now;
    clump_status status =
        clumpi_read(c, heap->buffer, clumpi_header_offset(heap, 0), sizeof now, &now);
    if (status) return status;
    if (memcmp(&now, &heap->geometry.header, offsetof(clumpi_header, epoch)) != 0)
        return clumpi_fail(&c->error, CLUMP_ERR_CORRUPT,
                           "the heap's header was overwritten on the device");
    return CLUMP_OK;
}

clump_status clump_heap_check(clump_heap *heap) {
    if (!heap) return CLUMP_ERR_USAGE;
    clump_context *c = heap->context;
    clump_status status = check_header(heap);
    if (!status) status = clumpi_unreserve(heap, NULL);
    if (status) return status;
    const clumpi_u32 nothing = UINT32_MAX;
    clumpi_violation violation = {.key = 0};
    const uint64_t at = scan_offset(heap);
    status = clumpi_clear(c, heap->buffer, at, sizeof violation);
    if (!status)
        status = clumpi_write(c, heap->buffer, at + offsetof(clumpi_violation, key), sizeof nothing,
                              &nothing);
    if (!status) status = run_check(heap, 0);
    if (!status) status = clumpi_read(c, heap->buffer, at, sizeof violation, &violation);
    if (status || violation.key == nothing) return status;
    status = run_check(heap, 1);
    if (!status) status = clumpi_read(c, heap->buffer, at, sizeof violation, &violation);
    return status ? status : describe(heap, &violation);
}
