/* How large a heap is for so many objects.
 *
 * Read first: heap.h, geometry.c.
 */
#include "heap/heap.h"

/* Blocks that the objects take, each class in blocks of its own. */
static uint64_t blocks_for(const clump_heap *heap, const uint64_t *objects) {
    uint64_t blocks = 0;
    for (uint32_t id = 1; id <= clumpi_object_classes(heap); id++) {
        const uint64_t capacity = heap->geometry.classes[id].capacity, n = objects[id - 1];
        if (n) blocks += (n + capacity - 1) / capacity;
    }
    return blocks;
}

/* Whether a heap of so many bytes has that many blocks. Sizes that no heap can have are too small
 * or too large. */
static int fits(clump_heap *heap, const clump_heap_desc *desc, clumpi_extras extras, uint64_t bytes,
                const uint64_t *objects) {
    return clumpi_heap_lay_out(heap, bytes, desc->block_rows, extras) == CLUMP_OK &&
           clumpi_memory_blocks(heap) >= blocks_for(heap, objects);
}

static clump_status too_many(clump_heap *heap) {
    return clumpi_fail(&heap->context->error, CLUMP_ERR_DEVICE_MEMORY,
                       "a heap cannot have so many objects: references have 32 bits");
}

static clump_status check_numbers(clump_heap *heap, const uint64_t *objects) {
    uint64_t all = 0;
    const clump_schema_info *classes = clump_schema_get_info(heap->schema);
    for (uint32_t id = 1; id <= classes->class_count; id++) {
        const uint64_t n = objects[id - 1];
        if (n && classes->classes[id]->is_abstract)
            return clumpi_fail(&heap->context->error, CLUMP_ERR_USAGE,
                               "class %s is abstract, so it cannot have objects",
                               classes->classes[id]->name);
        if (n > UINT32_MAX || (all += n) > UINT32_MAX) return too_many(heap);
    }
    return CLUMP_OK;
}

/* With a granule for each row of the largest class; twice as many bytes are too many for
 * references. */
static uint64_t largest_bytes(const clump_heap *heap) {
    const clump_schema_info *classes = clump_schema_get_info(heap->schema);
    uint64_t largest = sizeof(clump_ref);
    for (uint32_t id = 1; id <= classes->class_count; id++) {
        const clump_class_info *c = classes->classes[id];
        if (!c->is_abstract && c->object_bytes > largest) largest = c->object_bytes;
    }
    return (largest * CLUMP_ROW_SLOTS) << 26;
}

static clump_status find_bytes(clump_heap *heap, const clump_heap_desc *desc, clumpi_extras extras,
                               const uint64_t *objects, uint64_t *bytes) {
    /* The last step is less than 1%; so many turns of 2% halve it twice. */
    enum { LEAST_SHIFT = 14, MOST_SHIFT = 43, STEPS = 7, TURNS = 70 };
    const uint64_t most = UINT64_C(1) << MOST_SHIFT;
    uint64_t high = UINT64_C(1) << LEAST_SHIFT;
    while (high < most && !fits(heap, desc, extras, high, objects)) high *= 2;
    if (high >= most) {
        high = largest_bytes(heap);
        if (!fits(heap, desc, extras, high, objects)) return too_many(heap);
    }
    uint64_t step = high / 4;
    for (int i = 0; i < STEPS; i++, step /= 2)
        if (fits(heap, desc, extras, high - step, objects)) high -= step;
    /* Another granule or block may make a smaller heap fit though larger ones do not. */
    for (int i = 0; i < TURNS && fits(heap, desc, extras, high - high / 50, objects); i++)
        high -= high / 50;
    *bytes = high;
    return CLUMP_OK;
}

static clump_status calculate(const clump_heap_desc *desc, const uint64_t *objects,
                              uint64_t *bytes) {
    clump_context *c = desc->context;
    if (!desc->schema || !clump_schema_get_info(desc->schema)->class_count || !objects || !bytes)
        return clumpi_fail(&c->error, CLUMP_ERR_USAGE,
                           "clump_heap_get_bytes_needed needs a schema, the numbers of objects and "
                           "a pointer for the result");
    clump_heap heap = {.context = c}; /* of which nothing is on the device */
    clumpi_extras extras;
    clump_status status = clumpi_heap_prepare(desc, &heap, &extras);
    if (!status) status = check_numbers(&heap, objects);
    if (!status) status = find_bytes(&heap, desc, extras, objects, bytes);
    clumpi_checking_close(&heap);
    clump_schema_destroy(heap.schema);
    return status;
}

clump_status clump_heap_get_bytes_needed(const clump_heap_desc *given, const uint64_t *objects,
                                         uint64_t *bytes, clump_error *error) {
    clump_heap_desc desc;
    clump_error *kept = given && given->context ? &given->context->error : NULL;
    if (bytes) *bytes = 0;
    clump_status status = CLUMPI_TAKE(clump_heap_desc, &desc, given, kept);
    if (!status) status = kept ? calculate(&desc, objects, bytes) : CLUMP_ERR_USAGE;
    return clumpi_tell(kept, status, error);
}
