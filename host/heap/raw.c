/* Raw memory: which classes of slots a heap has for it, and how large these are; what kernels
 * report of it, in words.
 *
 * The sizes are 16, 32, .. 128 bytes, then four for each doubling. So at most 15 bytes of a slot
 * are lost for requests of up to 128 bytes, and a fifth for larger ones. The largest is a power of
 * two: a row of 64 of these fits a block.
 *
 * Read first: geometry.c, cl/core/layout.h.
 */
#include "heap/heap.h"

#define FINE_CLASSES 8u /* of 1 .. 8 units */
#define LEAST_UNITS 4u  /* of the largest size: blocks have 4 KiB at least */
#define USUAL_UNITS                                                                                \
    64u /* 1 KiB. A row of these is as large as 64 rows of the smallest size, the most of a block */

uint32_t clumpi_raw_class_count(uint32_t largest) {
    uint32_t count = largest < FINE_CLASSES ? largest : FINE_CLASSES;
    for (uint32_t units = FINE_CLASSES; units < largest; units *= 2) count += 4;
    return count;
}

uint32_t clumpi_raw_slot_units(uint32_t index) {
    if (index < FINE_CLASSES) return index + 1;
    uint32_t doublings = (index - FINE_CLASSES) / 4, quarter = (index - FINE_CLASSES) % 4;
    return (5 + quarter) * 2 << doublings;
}

uint32_t clumpi_raw_units_wanted(uint64_t block_bytes, uint32_t smallest) {
    const uint64_t row_bytes =
        UINT64_C(1) * CLUMPI_ROW_SLOTS * CLUMPI_RAW_UNIT; /* of slots of a unit */
    uint64_t most = (uint64_t)smallest * CLUMPI_ROWS_MAX / CLUMPI_RAW_UNIT;
    uint32_t units = LEAST_UNITS;
    while (units < USUAL_UNITS && units <= most / 2 && 2 * row_bytes * units <= block_bytes)
        units *= 2;
    return units;
}

uint32_t clumpi_raw_units_of(uint64_t block_bytes) {
    const uint64_t row_bytes = UINT64_C(1) * CLUMPI_ROW_SLOTS * CLUMPI_RAW_UNIT;
    uint32_t units = LEAST_UNITS;
    while ((units < USUAL_UNITS || 4 * row_bytes * units < block_bytes) &&
           2 * row_bytes * units <= block_bytes)
        units *= 2;
    return units;
}

const char *clumpi_class_name(const clump_heap *heap, uint32_t id) {
    const clumpi_header *h = &heap->geometry.header;
    const clump_class_info *c = clumpi_class_info(heap->schema, id);
    if (id >= h->first_raw && id <= h->class_count)
        return heap->geometry.classes[id].is_away ? "(evicted or vacant)" : "(raw memory)";
    return c ? c->name : "(unknown)";
}

/* ---- Reports --------------------------------------------------------------------------------- */

int clumpi_is_of_raw(const clump_heap *heap, int kind, const clumpi_error *e) {
    if (kind == CLUMP_DEVICE_BAD_POINTER) return 1;
    if (kind == CLUMP_DEVICE_BAD_SIZE) return !e->class_id; /* else of an array */
    if (!heap->has_raw || kind == CLUMP_DEVICE_WRONG_LAUNCH || kind == CLUMP_DEVICE_FINDING)
        return 0;
    return e->class_id ? e->class_id >= heap->geometry.header.first_raw
                       : kind == CLUMP_DEVICE_DOUBLE_FREE;
}

/* What was asked for, as far as its class tells. */
static clump_status report_no_room(clump_heap *heap, const clumpi_error *e) {
    const clumpi_header *h = &heap->geometry.header;
    const uint64_t row =
        (uint64_t)heap->geometry.classes[h->class_count - 1].slot_bytes * CLUMPI_ROW_SLOTS;
    const int has_arrays = heap->schema && clumpi_schema_find_array(heap->schema, 1);
    const int is_slot = e->class_id + 2 > h->class_count ? 0 : 1;
    uint64_t bytes = e->class_id == h->class_count ? row : (uint64_t)h->raw_units * CLUMPI_RAW_UNIT;
    if (is_slot) bytes = heap->geometry.classes[e->class_id].slot_bytes;
    return clumpi_fail(
        &heap->context->error, CLUMP_ERR_DEVICE,
        "there was no room for %s %llu bytes of raw memory, so null was returned (%u times, first "
        "in work-item %u). Free memory%s, or make a larger heap",
        is_slot ? "up to" : "more than", (unsigned long long)bytes, e->count, e->work_item,
        has_arrays ? ", or objects whose arrays of run-time length are stored there" : "");
}

clump_status clumpi_raw_report(clump_heap *heap, int kind, const clumpi_error *e) {
    clump_error *error = &heap->context->error;
    if (kind == CLUMP_DEVICE_OUT_OF_MEMORY) return report_no_room(heap, e);
    const unsigned around = heap->checks ? CLUMPI_PIECE_BEFORE + CLUMPI_PIECE_BEHIND : 0;
    if (kind == CLUMP_DEVICE_BAD_SIZE)
        return clumpi_fail(
            error, CLUMP_ERR_DEVICE,
            "raw memory was requested with size or alignment %u, which is not valid "
            "(%u times, first in work-item %u). A size must be 1 to %llu bytes, and "
            "an alignment must be a power of two up to %u",
            e->ref, e->count, e->work_item,
            (unsigned long long)heap->geometry.header.raw_most * CLUMPI_RAW_UNIT - around,
            CLUMPI_RAW_ALIGN_MAX);
    if (kind == CLUMP_DEVICE_RETRY_BOUND)
        return clumpi_fail(error, CLUMP_ERR_DEVICE,
                           "the metadata of raw memory was overwritten (seen %u times, first in "
                           "work-item %u). Call clump_heap_check() to see where, and "
                           "clump_heap_repair() to make the heap usable again",
                           e->count, e->work_item);
    return clumpi_fail(
        error, CLUMP_ERR_DEVICE,
        "a pointer was freed or inspected %s (%u times, first in work-item %u, %s0x%08x). Nothing "
        "was changed",
        kind == CLUMP_DEVICE_DOUBLE_FREE ? "whose raw memory is no longer in use"
                                         : "that no allocation of raw memory returned",
        e->count, e->work_item, e->ref ? "handle " : "outside of the heap, ", e->ref);
}
