/* Arrays of run-time length from the host: length and elements of one object's array.
 *
 * Read first: heap.h, cl/api/arrays.clh.
 */
#include <string.h>

#include "heap/heap.h"

/* An array of an object, found. */
typedef struct array {
    clump_field_info field, parts[3]; /* length, capacity, memory; BOUNDED: the length only */
    uint64_t row;                     /* of the object, in the buffer */
    uint32_t slot;
} array;

static clump_status find_array(clump_heap *heap, const clump_class_info *info, const char *name,
                               const char *call, array *a) {
    clump_status status = clumpi_find_field(heap, info, name, call, &a->field);
    if (status) return status;
    if (!a->field.array)
        return clumpi_fail(&heap->context->error, CLUMP_ERR_USAGE,
                           "%s: field %s of class %s is not an array of run-time length. Use "
                           "clump_heap_read_object_field()",
                           call, name, info->name);
    for (uint32_t i = 0; i < (a->field.array == CLUMP_ARRAY_BOUNDED ? 1u : 3u); i++)
        a->parts[i] = *clumpi_schema_part(heap->schema, &a->field, (clump_array_part)(i + 1));
    return CLUMP_OK;
}

static clump_status read_word(clump_heap *heap, const array *a, const clump_field_info *f,
                              clumpi_u32 *word) {
    return clumpi_blocks_read(heap, a->row + f->base_bytes + (uint64_t)a->slot * f->stride_bytes,
                              sizeof *word, word);
}

/* The first `count` elements, all of which lie in the object: one transfer, of all that lies
 * between them. */
static clump_status read_inside(clump_heap *heap, const array *a, uint32_t count, uint8_t *values) {
    clump_context *c = heap->context;
    const clump_field_info *f = &a->field;
    if (!count) return CLUMP_OK;
    uint64_t at = a->row + f->base_bytes + (uint64_t)a->slot * f->stride_bytes;
    uint64_t bytes = (uint64_t)(count - 1) * f->step_bytes + f->element_bytes;
    uint8_t *span = clumpi_alloc(&c->allocator, bytes);
    if (!span) return clumpi_fail(&c->error, CLUMP_ERR_HOST_MEMORY, "no host memory for an array");
    clump_status status = clumpi_blocks_read(heap, at, bytes, span);
    for (uint32_t i = 0; i < count && !status; i++)
        memcpy(values + (size_t)i * f->element_bytes, span + (size_t)i * f->step_bytes,
               f->element_bytes);
    clumpi_free(&c->allocator, span);
    return status;
}

clump_status clumpi_check_lengths(clump_heap *heap, const clump_field_info *f, const void *lengths,
                                  uint64_t stride, uint64_t count, const char *call) {
    uint32_t length;
    const clump_field_info *a =
        clumpi_schema_find_too_long(heap->schema, f->class_id, f, lengths, stride, count, &length);
    return a ? clumpi_fail(&heap->context->error, CLUMP_ERR_USAGE,
                           "%s: array %s of class %s cannot have a length of %u: it has room for "
                           "%u elements",
                           call, a->name, clumpi_schema_field_class(heap->schema, a), length,
                           a->count)
             : CLUMP_OK;
}

clump_status clump_heap_read_object_array(clump_heap *heap, const char *class_name,
                                          const char *field, clump_ref ref, size_t bytes,
                                          void *values, uint64_t capacity, uint64_t *length) {
    static const char call[] = "clump_heap_read_object_array";
    if (length) *length = 0;
    if (!heap) return CLUMP_ERR_USAGE;
    clump_context *c = heap->context;
    clump_class_info info;
    array a;
    if (!length || (!values && capacity))
        return clumpi_fail(&c->error, CLUMP_ERR_USAGE, "%s needs a pointer for the %s", call,
                           length ? "elements" : "length");
    clump_status status = clumpi_find_class(heap, class_name, call, &info);
    if (!status) status = find_array(heap, &info, field, call, &a);
    if (!status && values && bytes != a.field.element_bytes)
        status = clumpi_fail_size(heap, call, &a.field, bytes);
    if (!status) status = clumpi_heap_enter_to_wait(heap);
    if (!status) status = clumpi_ref_check(heap, ref, info.id, info.last);
    if (status) return status;
    const clump_ref plain = clumpi_ref_plain(heap, ref);
    a.row = (uint64_t)(plain >> 6) * heap->info.granule_bytes;
    a.slot = plain & 63;
    clumpi_u32 count = 0, outside = 0, handle = 0;
    status = read_word(heap, &a, &a.parts[0], &count);
    if (!status && a.field.array == CLUMP_ARRAY_GROWING)
        status = read_word(heap, &a, &a.parts[1], &outside);
    if (!status && a.field.array == CLUMP_ARRAY_GROWING)
        status = read_word(heap, &a, &a.parts[2], &handle);
    if (status) return status;
    const uint64_t inside = a.field.count, each = a.field.element_bytes;
    const uint64_t limit = heap->info.bytes, at = (uint64_t)handle * CLUMPI_RAW_UNIT;
    if (count > inside + outside || at + outside * each > limit)
        return clumpi_fail(&c->error, CLUMP_ERR_CORRUPT,
                           "array %s of the object 0x%08x was overwritten: its length is %u, but "
                           "it has room for only %llu elements",
                           field, ref, count, (unsigned long long)(inside + outside));
    *length = count;
    if (!values) return CLUMP_OK;
    if (count > capacity) return clumpi_fail_room(heap, call, "elements", capacity, count);
    const uint64_t first = count < inside ? count : inside;
    status = read_inside(heap, &a, (uint32_t)first, values);
    if (!status && count > first)
        status =
            clumpi_blocks_read(heap, at, (count - first) * each, (uint8_t *)values + first * each);
    return status;
}
