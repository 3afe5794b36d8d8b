/* Field values and references between host and device: of all objects of a class, or of one.
 *
 * Read first: core/core.h, cl/heap/fields.cl.
 */
#include <stddef.h>

#include "heap/heap.h"

/* What a caller asked for, resolved: classes first .. last, and where the field lies in a row. */
typedef struct target {
    clumpi_u32 first, last;
    clumpi_u32 base, stride, bytes;
    clump_field_info field;
} target;

/* `bytes` of one value of the caller's; NULL where the caller has none. */
static clump_status find_field(clump_heap *heap, const char *class_name, const char *name,
                               uint32_t index, const size_t *bytes, const char *call,
                               clumpi_operation operation, target *t) {
    clump_context *c = heap->context;
    clump_class_info info;
    clump_field_info f;
    clump_status status = clumpi_find_class(heap, class_name, call, &info);
    if (!status) status = clumpi_find_field(heap, &info, name, call, &f);
    if (!status) status = clumpi_field_refuses(heap->schema, &f, operation, call, &c->error);
    if (status) return status;
    if (index >= clumpi_elements(&f))
        return clumpi_fail(&c->error, CLUMP_ERR_USAGE,
                           "%s: field %s of class %s has %u elements, so element %u does not exist",
                           call, name, class_name, clumpi_elements(&f), index);
    if (bytes && *bytes != f.element_bytes) return clumpi_fail_size(heap, call, &f, *bytes);
    t->first = info.id;
    t->last = info.last;
    t->base = f.base_bytes + index * f.step_bytes;
    t->stride = f.stride_bytes;
    t->bytes = f.element_bytes;
    t->field = f;
    return CLUMP_OK;
}

clump_status clumpi_fail_size(clump_heap *heap, const char *call, const clump_field_info *f,
                              size_t bytes) {
    return clumpi_fail(
        &heap->context->error, CLUMP_ERR_USAGE,
        "%s: a value of field %s of class %s is a %s of %u bytes, but %zu bytes were passed", call,
        f->name, clumpi_schema_field_class(heap->schema, f), f->type_name, f->element_bytes, bytes);
}

clump_status clumpi_fail_room(clump_heap *heap, const char *call, const char *what,
                              uint64_t capacity, uint64_t count) {
    return clumpi_fail(&heap->context->error, CLUMP_ERR_TOO_SMALL,
                       "%s: there is room for %llu %s, but %llu are needed", call,
                       (unsigned long long)capacity, what, (unsigned long long)count);
}

clump_status clumpi_rank(clump_heap *heap, clumpi_u32 first, clumpi_u32 last, uint64_t *count) {
    clumpi_u32 objects = 0;
    clump_status status = clumpi_list_update(heap, 0, NULL);
    if (!status) status = clumpi_rank_enqueue(heap, first, last, NULL, 0);
    if (!status)
        status = clumpi_read(heap->context, heap->info.buffer,
                             clumpi_header_offset(heap, offsetof(clumpi_header, ranked)),
                             sizeof objects, &objects);
    *count = objects;
    return status;
}

clump_status clumpi_rank_enqueue(clump_heap *heap, clumpi_u32 first, clumpi_u32 last, cl_mem chosen,
                                 clumpi_u64 chosen_at) {
    const clumpi_launch_sizes *sizes = &heap->context->sizes;
    size_t global = sizes->scan_groups * sizes->scan_local;
    clumpi_arg args[] = {{sizeof first, &first},
                         {sizeof last, &last},
                         {sizeof chosen, &chosen},
                         {sizeof chosen_at, &chosen_at}};
    heap->list_numbered = 0; /* its numbers give way to those of these classes */
    clump_status status = clumpi_run_on_heap(heap, CLUMPI_ASK_KERNEL(rank_count), global,
                                             sizes->scan_local, args, 4, NULL);
    return status ? status
                  : clumpi_run_on_heap(heap, CLUMPI_ASK_KERNEL(rank_write), global,
                                       sizes->scan_local, args, 4, NULL);
}

/* Enqueue the copy of the values of the first `count` objects, which are numbered, from or to a
 * buffer at `at`. */
static clump_status enqueue_copy(clump_heap *heap, const target *t, clumpi_u32 direction,
                                 cl_mem values, clumpi_u64 at, clumpi_u64 count,
                                 const clump_sync *sync) {
    const clumpi_launch_sizes *sizes = &heap->context->sizes;
    clumpi_arg args[] = {{sizeof t->first, &t->first}, {sizeof t->last, &t->last},
                         {sizeof t->base, &t->base},   {sizeof t->stride, &t->stride},
                         {sizeof t->bytes, &t->bytes}, {sizeof direction, &direction},
                         {sizeof values, &values},     {sizeof at, &at},
                         {sizeof count, &count}};
    return clumpi_run_on_heap(heap, CLUMPI_ASK_KERNEL(field_copy), sizes->do_all_global,
                              sizes->do_all_local, args, 9, sync);
}

/* Copy the values of `count` objects through a buffer of the device; exactly one of in and out. */
static clump_status copy(clump_heap *heap, const target *t, clumpi_u32 direction, uint64_t count,
                         uint64_t host_bytes, void *out, const void *in) {
    clump_context *c = heap->context;
    uint64_t bytes = count * t->bytes;
    if (bytes == 0) return CLUMP_OK;
    cl_mem values;
    clump_status status = clumpi_buffer_create(c, bytes, "field values", &values);
    if (status) return status;
    status = in ? clumpi_write(c, values, 0, bytes, in) : CLUMP_OK;
    if (!status) status = enqueue_copy(heap, t, direction, values, 0, count, NULL);
    if (!status && direction == CLUMPI_COPY_REFS)
        status = clumpi_checking_name(heap, values, 0, count);
    if (!status) status = out ? clumpi_read(c, values, 0, host_bytes, out) : clumpi_finish(c);
    clumpi_buffer_release(c, &values);
    return status;
}

clump_status clump_heap_copy_field(clump_heap *heap, const char *class_name, const char *field,
                                   uint32_t index, clump_copy_direction direction, cl_mem buffer,
                                   uint64_t offset, uint64_t capacity, const clump_sync *sync) {
    static const char call[] = "clump_heap_copy_field";
    if (!heap) return CLUMP_ERR_USAGE;
    clump_context *c = heap->context;
    target t;
    size_t bytes = 0;
    const int is_read = direction == CLUMP_COPY_TO_BUFFER;
    if (!is_read && direction != CLUMP_COPY_FROM_BUFFER)
        return clumpi_fail(&c->error, CLUMP_ERR_USAGE, "%s: unknown direction %d", call,
                           (int)direction);
    clump_status status = clumpi_sync_check(c, sync, call);
    if (!status)
        status = find_field(heap, class_name, field, index, NULL, call,
                            is_read ? CLUMPI_OP_READ_FIELD : CLUMPI_OP_FROM_BUFFER, &t);
    if (!status) status = clumpi_buffer_check(c, buffer, "buffer of field values", &bytes);
    if (!status && offset % (t.bytes < 16 ? t.bytes : 16))
        status = clumpi_fail(&c->error, CLUMP_ERR_USAGE,
                             "%s: the offset %llu is not a multiple of a value's %u bytes", call,
                             (unsigned long long)offset, t.bytes < 16 ? t.bytes : 16);
    if (!status && (offset > bytes || capacity > (bytes - offset) / t.bytes))
        status = clumpi_fail(
            &c->error, CLUMP_ERR_TOO_SMALL,
            "%s: %llu values of %u bytes from byte %llu on do not fit in a buffer of %zu bytes",
            call, (unsigned long long)capacity, t.bytes, (unsigned long long)offset, bytes);
    if (!status) status = clumpi_heap_enter(heap);
    if (!status) status = clumpi_list_update(heap, 0, NULL);
    if (!status) status = clumpi_rank_enqueue(heap, t.first, t.last, NULL, 0);
    return status ? status
                  : enqueue_copy(heap, &t, is_read ? CLUMPI_COPY_READ : CLUMPI_COPY_WRITE, buffer,
                                 offset, capacity, sync);
}

clump_status clump_heap_read_refs(clump_heap *heap, const char *class_name, clump_ref *refs,
                                  uint64_t capacity, uint64_t *count) {
    static const char call[] = "clump_heap_read_refs";
    if (count) *count = 0;
    if (!heap) return CLUMP_ERR_USAGE;
    if (!count)
        return clumpi_fail(&heap->context->error, CLUMP_ERR_USAGE,
                           "%s needs a pointer for the count", call);
    clump_class_info info;
    clump_status status = clumpi_find_class(heap, class_name, call, &info);
    if (!status) status = clumpi_heap_enter_to_wait(heap);
    if (!status) status = clumpi_rank(heap, info.id, info.last, count);
    if (status || !refs) return status;
    if (*count > capacity) return clumpi_fail_room(heap, call, "references", capacity, *count);
    const target t = {.first = info.id, .last = info.last, .bytes = sizeof(clump_ref)};
    return copy(heap, &t, CLUMPI_COPY_REFS, *count, *count * sizeof *refs, refs, NULL);
}

/* The beginning of reading and writing a field of all objects. */
static clump_status find_values(clump_heap *heap, const char *class_name, const char *field,
                                uint32_t index, size_t bytes, const void *values, uint64_t count,
                                const char *call, clumpi_operation operation, target *t,
                                uint64_t *objects) {
    if (!heap) return CLUMP_ERR_USAGE;
    if (!values && count)
        return clumpi_fail(&heap->context->error, CLUMP_ERR_USAGE,
                           "%s needs a pointer to the values", call);
    clump_status status = find_field(heap, class_name, field, index,
                                     values || bytes ? &bytes : NULL, call, operation, t);
    if (!status) status = clumpi_heap_enter_to_wait(heap);
    return status ? status : clumpi_rank(heap, t->first, t->last, objects);
}

clump_status clump_heap_read_field(clump_heap *heap, const char *class_name, const char *field,
                                   uint32_t index, size_t bytes, void *values, uint64_t capacity,
                                   uint64_t *count) {
    static const char call[] = "clump_heap_read_field";
    target t;
    uint64_t objects = 0;
    if (count) *count = 0;
    clump_status status = find_values(heap, class_name, field, index, bytes, values, capacity, call,
                                      CLUMPI_OP_READ_FIELD, &t, &objects);
    if (status) return status;
    if (count) *count = objects;
    if (!values && count) return CLUMP_OK;
    if (objects > capacity) return clumpi_fail_room(heap, call, "values", capacity, objects);
    return copy(heap, &t, CLUMPI_COPY_READ, objects, objects * t.bytes, values, NULL);
}

clump_status clump_heap_write_field(clump_heap *heap, const char *class_name, const char *field,
                                    uint32_t index, size_t bytes, const void *values,
                                    uint64_t count) {
    static const char call[] = "clump_heap_write_field";
    target t;
    uint64_t objects = 0;
    clump_status status = find_values(heap, class_name, field, index, bytes, values, count, call,
                                      CLUMPI_OP_WRITE_FIELD, &t, &objects);
    if (status) return status;
    if (objects != count)
        return clumpi_fail(&heap->context->error, CLUMP_ERR_USAGE,
                           "%s: %llu values were passed for the %llu objects of class %s", call,
                           (unsigned long long)count, (unsigned long long)objects, class_name);
    status = clumpi_check_lengths(heap, &t.field, values, t.bytes, count, call);
    return status ? status : copy(heap, &t, CLUMPI_COPY_WRITE, objects, 0, NULL, values);
}

clump_status clumpi_made_read(clump_heap *heap, clumpi_u32 class_id, clumpi_u32 **sites,
                              uint64_t *count) {
    clump_context *c = heap->context;
    const target t = {
        .first = class_id, .last = class_id, .stride = sizeof **sites, .bytes = sizeof **sites};
    *sites = NULL;
    clump_status status = clumpi_rank(heap, class_id, class_id, count);
    if (status || !*count) return status;
    *sites = clumpi_alloc(&c->allocator, *count * sizeof **sites);
    if (!*sites)
        return clumpi_fail(&c->error, CLUMP_ERR_HOST_MEMORY,
                           "no host memory for the places of %llu objects",
                           (unsigned long long)*count);
    return copy(heap, &t, CLUMPI_COPY_READ, *count, *count * sizeof **sites, *sites, NULL);
}

/* Two small reads: the block's state, the row's bits. */
clump_status clumpi_ref_check(clump_heap *heap, clump_ref ref, clumpi_u32 first, clumpi_u32 last) {
    clump_context *c = heap->context;
    const clumpi_header *h = &heap->geometry.header;
    const clump_ref plain = clumpi_ref_plain(heap, ref);
    uint32_t granule = plain >> 6, block = granule / h->block_granules;
    uint32_t offset = granule % h->block_granules;
    clumpi_u32 state = 0;
    uint64_t bits = 0;
    int live = 0;
    if (block >= h->first_block && block < h->block_end) {
        clump_status status = clumpi_read(
            c, heap->info.buffer, (uint64_t)h->at_states * CLUMPI_UNIT + (uint64_t)block * 4,
            sizeof state, &state);
        if (!status)
            status = clumpi_read(c, heap->info.buffer,
                                 (uint64_t)h->at_bits * CLUMPI_UNIT + (uint64_t)granule * 8,
                                 sizeof bits, &bits);
        if (status) return status;
        uint32_t id = state >> CLUMPI_CLASS_SHIFT;
        live = id >= first && id <= last && offset % heap->geometry.classes[id].row_granules == 0 &&
               bits >> (plain & 63) & 1;
        int is_old = 0;
        if (live) status = clumpi_ref_age(heap, ref, &is_old);
        if (status) return status;
        live &= !is_old;
    }
    if (live) return CLUMP_OK;
    if (state && heap->geometry.classes[state >> CLUMPI_CLASS_SHIFT].is_away)
        return clumpi_fail(&c->error, CLUMP_ERR_REFERENCE,
                           "reference 0x%08x names an evicted object, or no object. Evicted "
                           "objects come back with clump_heap_bring_back()",
                           ref);
    const clump_class_info *info = clump_schema_get_info(heap->schema)->classes[first];
    int any = first == 1 && last == clumpi_object_classes(heap);
    return clumpi_fail(&c->error, CLUMP_ERR_REFERENCE, "reference 0x%08x names no live object%s%s",
                       ref, any ? "" : " of class ", any ? "" : info->name);
}

/* Resolve and check everything about one field of one object. *offset: its place in the buffer. */
static clump_status locate(clump_heap *heap, const char *class_name, const char *field,
                           uint32_t index, clump_ref ref, size_t bytes, const void *value,
                           const char *call, clumpi_operation operation, target *t,
                           uint64_t *offset) {
    if (!heap) return CLUMP_ERR_USAGE;
    if (!value)
        return clumpi_fail(&heap->context->error, CLUMP_ERR_USAGE,
                           "%s needs a pointer to the value", call);
    clump_status status = find_field(heap, class_name, field, index, &bytes, call, operation, t);
    if (!status) status = clumpi_heap_enter_to_wait(heap);
    if (!status) status = clumpi_ref_check(heap, ref, t->first, t->last);
    ref = clumpi_ref_plain(heap, ref);
    *offset = (uint64_t)(ref >> 6) * heap->info.granule_bytes + t->base +
              (uint64_t)(ref & 63) * t->stride;
    return status;
}

clump_status clump_heap_read_object_field(clump_heap *heap, const char *class_name,
                                          const char *field, uint32_t index, clump_ref ref,
                                          size_t bytes, void *value) {
    target t = {0};
    uint64_t offset = 0;
    clump_status status = locate(heap, class_name, field, index, ref, bytes, value,
                                 "clump_heap_read_object_field", CLUMPI_OP_READ_FIELD, &t, &offset);
    return status ? status : clumpi_blocks_read(heap, offset, t.bytes, value);
}

clump_status clump_heap_write_object_field(clump_heap *heap, const char *class_name,
                                           const char *field, uint32_t index, clump_ref ref,
                                           size_t bytes, const void *value) {
    static const char call[] = "clump_heap_write_object_field";
    target t = {0};
    uint64_t offset = 0;
    clump_status status = locate(heap, class_name, field, index, ref, bytes, value, call,
                                 CLUMPI_OP_WRITE_FIELD, &t, &offset);
    if (!status) status = clumpi_check_lengths(heap, &t.field, value, t.bytes, 1, call);
    return status ? status : clumpi_blocks_write(heap, offset, t.bytes, value);
}
