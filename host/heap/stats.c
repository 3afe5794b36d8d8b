/* Statistics. The kernel leaves its results in the heap's scratch.
 *
 * Read first: core/core.h, cl/heap/layout.h, cl/heap/stats.cl.
 */
#include "heap/heap.h"

static const char *const kernel_files[] = {
    "cl/core/layout.h",    "cl/core/prelude.clh",  "cl/core/bitmap.clh", "cl/core/segments.clh",
    "cl/core/block.clh",   "cl/core/reserve.clh",  "cl/core/scan.clh",   "cl/heap/layout.h",
    "cl/heap/reserve.clh", "cl/heap/unreserve.cl", "cl/heap/stats.cl",   "cl/heap/fields.cl",
    "cl/heap/watch.cl"};
static const char *const kernel_names[] = {CLUMPI_ASK_KERNELS(CLUMPI_KERNEL_NAME)};
const clumpi_library clumpi_ask_library = CLUMPI_LIBRARY(NULL, NULL);

static uint64_t scan_offset(const clump_heap *heap) {
    return (uint64_t)heap->geometry.header.at_scan * CLUMPI_UNIT;
}

/* Entries 0 .. class_count of *counts. */
static clump_status count_blocks(clump_heap *heap, clumpi_stats_result *counts) {
    clump_context *c = heap->context;
    uint64_t bytes = CLUMPI_STATS_BYTES(heap->geometry.header.class_count);
    const clumpi_launch_sizes *sizes = &c->sizes;
    clump_status status = clumpi_heap_enter_to_wait(heap);
    if (!status) status = clumpi_clear(c, heap->info.buffer, scan_offset(heap), bytes);
    if (!status)
        status = clumpi_run_on_heap(heap, CLUMPI_ASK_KERNEL(stats),
                                    sizes->scan_groups * sizes->scan_local, sizes->scan_local, NULL,
                                    0, NULL);
    if (!status) status = clumpi_read(c, heap->info.buffer, scan_offset(heap), bytes, counts);
    return status;
}

static double fragmentation(uint64_t objects, uint64_t slots) {
    return slots ? 1.0 - (double)objects / (double)slots : 0.0;
}

static clump_class_stats class_stats(const clump_heap *heap, uint32_t id,
                                     const clumpi_class_count *count, uint64_t free_blocks) {
    const clumpi_geometry *g = &heap->geometry;
    clump_class_stats s = {.objects = count->objects,
                           .blocks = count->blocks,
                           .active_blocks = count->active,
                           .reserved = count->reserved};
    s.slots = (uint64_t)s.blocks * g->classes[id].capacity;
    s.bytes = (uint64_t)s.blocks * g->header.block_granules * g->header.granule_bytes;
    s.fragmentation = fragmentation(s.objects, s.slots);
    s.room = s.slots - s.objects + free_blocks * g->classes[id].capacity;
    return s;
}

clump_status clumpi_read_stats(clump_heap *heap, clump_heap_stats *heap_stats,
                               clump_class_stats *classes) {
    const uint32_t count = clumpi_object_classes(heap);
    clumpi_stats_result counts;
    clump_status status = count_blocks(heap, &counts);
    if (status) return status;
    clump_heap_stats sum = {.blocks = clumpi_memory_blocks(heap),
                            .free_blocks = counts.classes[0].blocks};
    for (uint32_t id = 1; id <= count; id++) {
        clump_class_stats s = class_stats(heap, id, &counts.classes[id], sum.free_blocks);
        sum.objects += s.objects;
        sum.slots += s.slots;
        if (classes) classes[id - 1] = s;
    }
    sum.fragmentation = fragmentation(sum.objects, sum.slots);
    for (uint32_t id = count + 1; id <= heap->geometry.header.class_count; id++) {
        if (heap->geometry.classes[id].is_away) continue;
        sum.raw_blocks += counts.classes[id].blocks;
        sum.raw_bytes +=
            (uint64_t)counts.classes[id].objects * heap->geometry.classes[id].slot_bytes;
    }
    if (heap_stats) *heap_stats = sum;
    return CLUMP_OK;
}

clump_status clump_heap_read_stats(clump_heap *heap, clump_heap_stats *heap_stats,
                                   clump_class_stats *classes, uint32_t capacity) {
    if (!heap) return CLUMP_ERR_USAGE;
    clump_error *error = &heap->context->error;
    const uint32_t count = clumpi_object_classes(heap);
    if (classes && capacity < count)
        return clumpi_fail(
            error, CLUMP_ERR_TOO_SMALL,
            "clump_heap_read_stats: `classes` has room for %u classes, but the heap has %u",
            capacity, count);
    clump_heap_stats sum = {0};
    clump_class_stats own[CLUMP_CLASSES_MAX];
    clump_status status = CLUMPI_PLACE(clump_heap_stats, heap_stats, error);
    if (!status && classes && count) status = CLUMPI_PLACE(clump_class_stats, classes, error);
    if (!status) status = clumpi_read_stats(heap, &sum, own);
    if (status) return status;
    CLUMPI_GIVE(heap_stats, sum);
    for (uint32_t i = 0; classes && i < count; i++)
        CLUMPI_GIVE(clumpi_sized_element(classes, i), own[i]);
    return CLUMP_OK;
}

clump_status clump_heap_read_count(clump_heap *heap, const char *class_name, uint64_t *count) {
    if (count) *count = 0;
    if (!heap) return CLUMP_ERR_USAGE;
    if (!count)
        return clumpi_fail(&heap->context->error, CLUMP_ERR_USAGE,
                           "clump_heap_read_count needs a pointer for the count");
    clump_class_info info;
    clumpi_stats_result counts;
    clump_status status = clumpi_find_class(heap, class_name, "clump_heap_read_count", &info);
    if (!status) status = count_blocks(heap, &counts);
    if (status) return status;
    for (uint32_t id = info.id; id <= info.last; id++) *count += counts.classes[id].objects;
    return CLUMP_OK;
}
