/* Raw memory: which classes of slots a heap has for it, and how large these are.
 *
 * The sizes are 16, 32, .. 128 bytes, then four for each doubling. So at most 15 bytes of a slot are lost for requests of
 * up to 128 bytes, and a fifth for larger ones. The largest is a power of two: a row of 64 of these fits a block.
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
    clump_class_info info;
    if (id >= h->first_raw && id <= h->class_count)
        return heap->geometry.classes[id].is_away ? "(evicted or vacant)" : "(raw memory)";
    return clump_schema_get_class(heap->schema, id, &info) ? "(unknown)" : info.name;
}
