/* The orders of the planner: every object of a class to free blocks, sorted by a key.
 *
 * A class at a time. Its objects are numbered as a do-all visits them, in the order of addresses;
 * the planner numbers them alike. Keys are gathered under these numbers, numbers are sorted by
 * keys, and the inverse of the sorted numbers says where each object goes.
 *
 * Read first: compact.h, cl/compact/order.cl.
 */
#include <stddef.h>

#include "compact/compact.h"
#include "sort/sort.h"

/* Buffers of an order; NULL is allowed to be released. */
typedef struct ordering {
    cl_mem all_keys; /* CLUMP_ORDER_KEY: of all objects of the heap */
    cl_mem keys, numbers;
} ordering;

/* Are there enough free blocks, class after class? */
static clump_status check_room(clumpi_compaction *r, const clump_class_stats *classes,
                               uint64_t free_blocks) {
    clump_heap *heap = r->heap;
    for (uint32_t id = 1; id <= clumpi_object_classes(heap); id++) {
        const clump_class_stats *s = &classes[id - 1];
        if (!clumpi_is_selected(r, id) || !s->objects) continue;
        uint32_t capacity = clumpi_heap_geometry(heap)->classes[id].capacity;
        uint64_t needed = (s->objects + capacity - 1) / capacity;
        const clump_class_info *info = clump_schema_get_info(clumpi_heap_schema(heap))->classes[id];
        if (needed > free_blocks)
            return clumpi_fail(
                &clumpi_heap_context(heap)->error, CLUMP_ERR_DEVICE_MEMORY,
                "clump_heap_compact: an order moves the %llu objects of class %s into %llu free "
                "blocks, but only %llu will be free. Compact without an order first",
                (unsigned long long)s->objects, info->name, (unsigned long long)needed,
                (unsigned long long)free_blocks);
        free_blocks += s->blocks - needed;
    }
    return CLUMP_OK;
}

/* The device is told what the list is for, so that the kernel's loop does nothing when it is
 * launched otherwise. */
static clump_status launch_key_kernel(clump_heap *heap, clump_kernel *k) {
    const clumpi_u32 list_of = CLUMPI_LIST_KEYED;
    const uint64_t at = clumpi_header_offset(heap, offsetof(clumpi_header, list_of));
    clump_status status = clumpi_list_update(heap, k->numbered, NULL);
    if (status) return status;
    status = clumpi_write(clumpi_heap_context(heap), clumpi_heap_buffer(heap), at, sizeof list_of,
                          &list_of);
    if (!status) status = clump_heap_do_all(heap, k, NULL);
    clumpi_list_forget(heap); /* it is no list for other kernels */
    return status;
}

/* The user's kernel makes keys of all objects; those that it leaves out keep 0. */
static clump_status run_key_kernel(clumpi_compaction *r, ordering *o) {
    clump_heap *heap = r->heap;
    clump_context *c = clumpi_heap_context(heap);
    clump_kernel *k = r->desc->key_kernel;
    uint64_t count = 0;
    clump_status status = clumpi_rank(heap, 1, clumpi_object_classes(heap), &count);
    if (!status && count)
        status = clumpi_buffer_create(c, count * 4, "keys of objects", &o->all_keys);
    if (status || !count) return status;
    status = clumpi_clear(c, o->all_keys, 0, count * 4);
    if (!status) status = clump_kernel_set_arg(k, 0, sizeof o->all_keys, &o->all_keys);
    if (!status) status = clumpi_run_prepare(heap, k, NULL, "clump_heap_compact");
    if (!status) status = launch_key_kernel(heap, k);
    k->args[0].bytes = 0; /* the buffer goes with this call */
    return status;
}

/* o->keys: the order_field of all objects of the class. */
static clump_status gather_field(clumpi_compaction *r, uint32_t class_id, ordering *o) {
    clump_heap *heap = r->heap;
    const clumpi_launch_sizes *sizes = &clumpi_heap_context(heap)->sizes;
    clump_field_info f;
    uint64_t count = 0;
    clump_status status = clumpi_rank(heap, class_id, class_id, &count);
    if (status) return status;
    f = *clump_schema_find_field(clumpi_heap_schema(heap), class_id, r->desc->order_field);
    clumpi_u32 bytes = f.element_bytes, what = CLUMPI_COPY_READ;
    const clumpi_u64 at = 0;
    clumpi_arg args[] = {{sizeof class_id, &class_id},
                         {sizeof class_id, &class_id},
                         {sizeof f.base_bytes, &f.base_bytes},
                         {sizeof f.stride_bytes, &f.stride_bytes},
                         {sizeof bytes, &bytes},
                         {sizeof what, &what},
                         {sizeof o->keys, &o->keys},
                         {sizeof at, &at},
                         {sizeof count, &count}};
    return clumpi_run_on_heap(heap, CLUMPI_ASK_KERNEL(field_copy), sizes->do_all_global,
                              sizes->do_all_local, args, 9, NULL);
}

/* o->keys: where each object of the class goes. `before`: objects of the classes before it. */
static clump_status sort_class(clumpi_compaction *r, uint32_t class_id, uint64_t before,
                               uint64_t objects, ordering *o) {
    clump_context *c = clumpi_heap_context(r->heap);
    const clumpi_launch_sizes *sizes = &c->sizes;
    clumpi_u32 count = (clumpi_u32)objects;
    clump_status status = clumpi_buffer_create(c, objects * 4, "keys of objects", &o->keys);
    if (!status) status = clumpi_buffer_create(c, objects * 4, "keys of objects", &o->numbers);
    if (!status)
        status = o->all_keys ? clumpi_copy(c, o->all_keys, before * 4, o->keys, 0, objects * 4)
                             : gather_field(r, class_id, o);
    clumpi_arg begin[] = {{sizeof o->numbers, &o->numbers}, {sizeof count, &count}};
    if (!status)
        status = clumpi_run_kernel(c, clumpi_kernel_of(r->heap, CLUMPI_COMPACT_KERNEL(order_begin)),
                                   sizes->do_all_global, sizes->do_all_local, begin, 2, NULL);
    if (!status) status = clumpi_sort_pairs(c, o->keys, o->numbers, count);
    clumpi_arg invert[] = {
        {sizeof o->numbers, &o->numbers}, {sizeof o->keys, &o->keys}, {sizeof count, &count}};
    if (!status)
        status =
            clumpi_run_kernel(c, clumpi_kernel_of(r->heap, CLUMPI_COMPACT_KERNEL(order_invert)),
                              sizes->do_all_global, sizes->do_all_local, invert, 3, NULL);
    return status;
}

static clump_status run_class(clumpi_compaction *r, uint32_t class_id, uint64_t before,
                              uint64_t objects, ordering *o) {
    clump_context *c = clumpi_heap_context(r->heap);
    if (r->desc->order == CLUMP_ORDER_ADDRESS || !objects)
        return clumpi_planner_run_fresh(r, class_id, NULL);
    clump_status status = sort_class(r, class_id, before, objects, o);
    if (!status) status = clumpi_planner_run_fresh(r, class_id, o->keys);
    clumpi_buffer_release(c, &o->keys);
    clumpi_buffer_release(c, &o->numbers);
    return status;
}

clump_status clumpi_order_run(clumpi_compaction *r) {
    clump_heap *heap = r->heap;
    clump_heap_stats stats;
    clump_class_stats classes[CLUMP_CLASSES_MAX];
    ordering o = {0};
    clump_status status = clumpi_read_stats(heap, &stats, classes);
    if (!status) status = check_room(r, classes, stats.free_blocks);
    if (!status && r->desc->order == CLUMP_ORDER_KEY) status = run_key_kernel(r, &o);
    uint64_t before = 0;
    uint32_t empty = 0; /* a class that was left out, as long as none was run */
    int has_run = 0;
    for (uint32_t id = 1; id <= clumpi_object_classes(heap) && !status; id++) {
        uint64_t objects = classes[id - 1].objects;
        /* Without objects too, if dangling references to the class are to be looked at. */
        if (clumpi_is_selected(r, id)) {
            int runs = objects || r->desc->null_dangling;
            if (runs) status = run_class(r, id, before, objects, &o);
            has_run |= runs;
            empty = id;
        }
        before += objects;
    }
    /* Registered references and handles are looked at in any case, once. */
    if (!status && !has_run && empty && clumpi_refs_first(heap))
        status = run_class(r, empty, before, 0, &o);
    clumpi_buffer_release(clumpi_heap_context(heap), &o.all_keys);
    return status;
}
