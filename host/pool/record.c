/* Records of a pool's allocations, and the calls that ask or change them. Read first: pool.h. */
#include <string.h>

#include "pool/pool.h"

static int add_slab(clump_pool *p) {
    if (p->slab_count >= UINT32_MAX / CLUMPI_RECORDS_SLAB ||
        !clumpi_grow(&p->allocator, &p->slabs, &p->slab_capacity, p->slab_count + 1,
                     sizeof *p->slabs))
        return 0;
    clumpi_record *slab = clumpi_alloc(&p->allocator, CLUMPI_RECORDS_SLAB * sizeof *slab);
    if (!slab) return 0;
    uint32_t begin = (uint32_t)p->slab_count * CLUMPI_RECORDS_SLAB;
    p->slabs[p->slab_count++] = slab;
    for (uint32_t i = CLUMPI_RECORDS_SLAB; i-- > 0;) {
        if (begin + i == 0) continue; /* 0 is none */
        slab[i].next = p->unused;
        p->unused = begin + i;
    }
    return 1;
}

uint32_t clumpi_record_new(clump_pool *p) {
    if (!p->unused && !add_slab(p)) return 0;
    uint32_t i = p->unused;
    clumpi_record *r = clumpi_record_at(p, i);
    p->unused = r->next;
    *r = (clumpi_record){.generation = r->generation};
    return i;
}

void clumpi_record_retire(clump_pool *p, uint32_t record) {
    clumpi_record *r = clumpi_record_at(p, record);
    if (r->extra) {
        clumpi_record_forget_place(p, r);
        clumpi_events_clear(p, &r->extra->uses);
        for (cl_uint i = 0; i < r->extra->queue_count; i++)
            p->cl.ReleaseCommandQueue(r->extra->queues[i]);
        clumpi_free(&p->allocator, r->extra->queues);
        clumpi_free(&p->allocator, r->extra->name);
        clumpi_free(&p->allocator, r->extra);
    }
    *r = (clumpi_record){.generation = (uint16_t)(r->generation + 1), .next = p->unused};
    p->unused = record;
}

clump_allocation clumpi_record_handle(const clump_pool *p, uint32_t record) {
    return (uint64_t)p->mark << 48 | (uint64_t)clumpi_record_at(p, record)->generation << 32 |
           record;
}

uint32_t clumpi_record_find(clump_pool *p, clump_allocation allocation, const char *call) {
    uint32_t i = (uint32_t)allocation;
    int known = allocation >> 48 == p->mark && i && i / CLUMPI_RECORDS_SLAB < p->slab_count;
    if (known) {
        const clumpi_record *r = clumpi_record_at(p, i);
        if (r->is_live && r->generation == (uint16_t)(allocation >> 32)) return i;
    }
    clumpi_fail(&p->error, CLUMP_ERR_REFERENCE,
                known ? "%s: allocation 0x%llx is already freed"
                      : "%s: allocation 0x%llx does not belong to this pool",
                call, (unsigned long long)allocation);
    return 0;
}

clumpi_extra *clumpi_record_extra(clump_pool *p, clumpi_record *r) {
    if (!r->extra) r->extra = clumpi_alloc(&p->allocator, sizeof *r->extra);
    if (!r->extra)
        clumpi_fail(&p->error, CLUMP_ERR_HOST_MEMORY,
                    "no host memory for the properties of an allocation");
    return r->extra;
}

void clumpi_record_forget_place(clump_pool *p, clumpi_record *r) {
    if (!r->extra || !r->extra->sub_buffer) return;
    p->cl.ReleaseMemObject(r->extra->sub_buffer);
    r->extra->sub_buffer = NULL;
    p->views--;
    clumpi_chunk_reopen(p, r->chunk);
}

clump_region clumpi_record_region(const clump_pool *p, const clumpi_record *r) {
    uint64_t units = r->node ? clumpi_node_at(&r->chunk->ranges, r->node)->offset : 0;
    clump_region region = {r->chunk->buffer, units << p->unit_shift, r->bytes, NULL};
    char *begin = r->chunk->pointers.pointer;
    if (begin) region.pointer = begin + region.offset;
    return region;
}

/* The first live one after it; of 0, the first of all. */
static clump_allocation next_after(const clump_pool *p, uint32_t record) {
    for (uint32_t i = record + 1; i < p->slab_count * CLUMPI_RECORDS_SLAB; i++)
        if (clumpi_record_at(p, i)->is_live) return clumpi_record_handle(p, i);
    return 0;
}

void clumpi_record_info(const clump_pool *p, uint32_t record, clump_allocation_info *info) {
    const clumpi_record *r = clumpi_record_at(p, record);
    *info = (clump_allocation_info){
        .size = sizeof *info,
        .allocation = clumpi_record_handle(p, record),
        .region = clumpi_record_region(p, r),
        .memory = r->chunk->memory,
        .movable = r->is_movable,
        .unique = r->chunk->is_unique,
        .moving = r->op != NULL,
        .pins = r->pins,
        .maps = r->extra ? r->extra->maps : 0,
        .name = r->extra ? r->extra->name : NULL,
        .user_data = r->user_data,
        .next = next_after(p, record),
    };
}

/* ---- Calls ---------------------------------------------------------------------------------- */

/* Most calls: enter, find the record, do something, leave. */
#define ON_RECORD(pool, allocation, call, does)                                                    \
    clump_pool *p = clumpi_pool_enter(pool);                                                       \
    if (!p) return CLUMP_ERR_USAGE;                                                                \
    uint32_t record = clumpi_record_find(p, allocation, call);                                     \
    clumpi_record *r = record ? clumpi_record_at(p, record) : NULL;                                \
    clump_status status = r ? (does) : CLUMP_ERR_REFERENCE;                                        \
    clumpi_pool_leave(p);                                                                          \
    return status

static clump_status tell(clump_pool *p, clump_allocation allocation, clump_allocation_info *info) {
    clump_allocation_info own;
    if (!info)
        return clumpi_fail(&p->error, CLUMP_ERR_USAGE,
                           "clump_pool_get_info needs a pointer for the info");
    clump_status status = CLUMPI_PLACE(clump_allocation_info, info, &p->error);
    if (status) return status;
    if (!allocation) {
        own = (clump_allocation_info){.next = next_after(p, 0)};
        CLUMPI_GIVE(info, own);
        return CLUMP_OK;
    }
    const uint32_t record = clumpi_record_find(p, allocation, "clump_pool_get_info");
    if (!record) return CLUMP_ERR_REFERENCE;
    clumpi_record_info(p, record, &own);
    CLUMPI_GIVE(info, own);
    return CLUMP_OK;
}

clump_status clump_pool_get_info(clump_pool *pool, clump_allocation allocation,
                                 clump_allocation_info *info) {
    clump_pool *p = clumpi_pool_enter(pool);
    if (!p) return CLUMP_ERR_USAGE;
    clump_status status = tell(p, allocation, info);
    clumpi_pool_leave(p);
    return status;
}

/* From now on it stays: a move under way is given up. */
static void stay(clumpi_record *r) {
    if (r->op) r->op->is_dropped = 1;
}

static clump_status check_movable(clump_pool *p, const clumpi_record *r) {
    if (r->holder != CLUMPI_OF_USER)
        return clumpi_fail(&p->error, CLUMP_ERR_USAGE,
                           "clump_pool_change: this allocation belongs to a %s and cannot move",
                           r->holder == CLUMPI_OF_HEAP ? "heap" : "buffer that its caller owns");
    if (clumpi_memory_has_pointers(r->chunk->memory))
        return clumpi_fail(&p->error, CLUMP_ERR_USAGE,
                           "clump_pool_change: an allocation of memory with pointers cannot move, "
                           "because of its pointer");
    return CLUMP_OK;
}

static void set_movable(clump_pool *p, clumpi_record *r, clump_allocation allocation, int movable) {
    int was = r->is_movable;
    r->is_movable = movable != 0;
    p->kinds[r->chunk->memory].changes++;
    if (!r->chunk->is_unique) r->chunk->movable += (uint32_t)r->is_movable - (uint32_t)was;
    if (!movable) stay(r);
    clumpi_trace(p, "m %llx %d\n", clumpi_trace_id(allocation), movable != 0);
}

static clump_status rename_record(clump_pool *p, clumpi_record *r, const char *name) {
    clumpi_extra *extra = clumpi_record_extra(p, r);
    if (!extra) return CLUMP_ERR_HOST_MEMORY;
    char *copy = name ? clumpi_copy_text(&p->allocator, name, strlen(name)) : NULL;
    if (name && !copy)
        return clumpi_fail(&p->error, CLUMP_ERR_HOST_MEMORY, "no host memory for a name");
    clumpi_free(&p->allocator, extra->name);
    extra->name = copy;
    return CLUMP_OK;
}

static clump_status change(clump_pool *p, clumpi_record *r, clump_allocation allocation,
                           uint32_t parts, const clump_allocation_desc *given) {
    clump_allocation_desc own, *to = &own;
    clump_status status = CLUMPI_TAKE(clump_allocation_desc, to, given, &p->error);
    if (status) return status;
    const uint32_t all = CLUMP_PART_MOVABLE | CLUMP_PART_NAME | CLUMP_PART_USER_DATA;
    if (!given || !parts || parts & ~all)
        return clumpi_fail(&p->error, CLUMP_ERR_USAGE,
                           "clump_pool_change: parts are 0x%x, but must be in 0x%x, and their "
                           "values must be passed",
                           parts, all);
    if (parts & CLUMP_PART_MOVABLE && to->movable) status = check_movable(p, r);
    if (!status && parts & CLUMP_PART_NAME) status = rename_record(p, r, to->name);
    if (status) return status;
    if (parts & CLUMP_PART_MOVABLE) set_movable(p, r, allocation, to->movable);
    if (parts & CLUMP_PART_USER_DATA) r->user_data = to->user_data;
    return CLUMP_OK;
}

clump_status clump_pool_change(clump_pool *pool, clump_allocation allocation, uint32_t parts,
                               const clump_allocation_desc *to) {
    ON_RECORD(pool, allocation, "clump_pool_change", change(p, r, allocation, parts, to));
}

static clump_status pin(clump_pool *p, clumpi_record *r, int pins) {
    if (pins < 0 && r->pins < 0u - (uint32_t)pins)
        return clumpi_fail(&p->error, CLUMP_ERR_USAGE,
                           "clump_pool_pin: pins is %d, but the allocation is pinned %u times",
                           pins, r->pins);
    r->pins += (uint32_t)pins;
    p->kinds[r->chunk->memory].changes++;
    stay(r);
    return CLUMP_OK;
}

clump_status clump_pool_pin(clump_pool *pool, clump_allocation allocation, int pins) {
    ON_RECORD(pool, allocation, "clump_pool_pin", pin(p, r, pins));
}

static clump_status use(clump_pool *p, clumpi_record *r, cl_event event) {
    if (!event) return clumpi_fail(&p->error, CLUMP_ERR_USAGE, "clump_pool_use: the event is NULL");
    clumpi_extra *extra = clumpi_record_extra(p, r);
    if (!extra) return CLUMP_ERR_HOST_MEMORY;
    clumpi_events *uses = &extra->uses;
    size_t kept = 0; /* events that have completed make room */
    for (size_t i = 0; i < uses->count; i++) {
        if (clumpi_event_is_complete(p, uses->list[i]))
            p->cl.ReleaseEvent(uses->list[i]);
        else
            uses->list[kept++] = uses->list[i];
    }
    uses->count = kept;
    return clumpi_events_add(p, uses, event, "clump_pool_use");
}

clump_status clump_pool_use(clump_pool *pool, clump_allocation allocation, cl_event event) {
    ON_RECORD(pool, allocation, "clump_pool_use", use(p, r, event));
}

/* ---- cl_mem objects on it -------------------------------------------------------------------- */

static clump_status sub_buffer(clump_pool *p, clumpi_record *r, cl_mem *buffer) {
    if (!buffer)
        return clumpi_fail(&p->error, CLUMP_ERR_USAGE,
                           "clump_pool_get_buffer needs a pointer for the buffer");
    clump_status status = clumpi_backing_need_buffer(p, r, "clump_pool_get_buffer");
    if (status) return status;
    if (r->chunk->is_unique) {
        *buffer = r->chunk->buffer;
        return CLUMP_OK;
    }
    clumpi_extra *extra = clumpi_record_extra(p, r);
    if (!extra) return CLUMP_ERR_HOST_MEMORY;
    if (!extra->sub_buffer) {
        status = clumpi_backing_sub_buffer(p, r, &extra->sub_buffer);
        if (status) return status;
        p->views++;
        r->chunk->sub_buffers++;
    }
    *buffer = extra->sub_buffer;
    return CLUMP_OK;
}

clump_status clump_pool_get_buffer(clump_pool *pool, clump_allocation allocation, cl_mem *buffer) {
    if (buffer) *buffer = NULL;
    ON_RECORD(pool, allocation, "clump_pool_get_buffer", sub_buffer(p, r, buffer));
}

static void count_map(clump_pool *p, clumpi_record *r) {
    r->extra->maps++;
    p->kinds[r->chunk->memory].changes++;
    stay(r);
}

static clump_status map(clump_pool *p, clumpi_record *r, cl_map_flags flags, void **memory) {
    if (!memory || !flags || (flags & ~(cl_map_flags)(CL_MAP_READ | CL_MAP_WRITE)))
        return clumpi_fail(&p->error, CLUMP_ERR_USAGE,
                           "clump_pool_map needs CL_MAP_READ or CL_MAP_WRITE or both, and a "
                           "pointer for the result");
    clumpi_extra *extra = clumpi_record_extra(p, r);
    if (!extra) return CLUMP_ERR_HOST_MEMORY;
    if (clumpi_memory_is_hosts(r->chunk->memory)) {
        clump_status status = clumpi_backing_map_pointer(p, r, &extra->uses, memory);
        if (!status) count_map(p, r);
        return status;
    }
    clump_status status = clumpi_backing_need_buffer(p, r, "clump_pool_map");
    if (status) return status;
    clump_region region = clumpi_record_region(p, r);
    cl_int code = CL_SUCCESS;
    void *mapped = p->cl.EnqueueMapBuffer(p->desc.queue, region.buffer, CL_TRUE, flags,
                                          region.offset, region.bytes, (cl_uint)extra->uses.count,
                                          extra->uses.count ? extra->uses.list : NULL, NULL, &code);
    if (code)
        return clumpi_fail_cl(&p->error, "clEnqueueMapBuffer", code, "%llu bytes at %llu",
                              (unsigned long long)region.bytes, (unsigned long long)region.offset);
    *memory = mapped;
    count_map(p, r);
    return CLUMP_OK;
}

clump_status clump_pool_map(clump_pool *pool, clump_allocation allocation, cl_map_flags flags,
                            void **memory) {
    if (memory) *memory = NULL;
    ON_RECORD(pool, allocation, "clump_pool_map", map(p, r, flags, memory));
}

/* On a queue out of order nothing that comes after it would wait for it, so the host does, unless
 * the caller has its event. */
static cl_int unmap_buffer(clump_pool *p, const clumpi_record *r, void *memory,
                           const clump_sync *sync) {
    cl_event event = NULL, *users = sync ? sync->event : NULL;
    const cl_uint waits = sync ? sync->wait_count : 0;
    cl_int code = p->cl.EnqueueUnmapMemObject(p->desc.queue, r->chunk->buffer, memory, waits,
                                              waits ? sync->wait_list : NULL,
                                              users || p->in_order ? users : &event);
    if (code || !event) return code;
    code = p->cl.WaitForEvents(1, &event);
    p->cl.ReleaseEvent(event);
    return code;
}

static clump_status unmap(clump_pool *p, clumpi_record *r, void *memory, const clump_sync *sync) {
    clump_status status = clumpi_pool_sync_check(p, sync, "clump_pool_unmap");
    if (status) return status;
    if (!memory || !r->extra || !r->extra->maps)
        return clumpi_fail(
            &p->error, CLUMP_ERR_USAGE,
            "clump_pool_unmap: the allocation is not mapped, or the pointer is NULL");
    cl_int code = CL_SUCCESS;
    if (!clumpi_memory_is_hosts(r->chunk->memory))
        code = unmap_buffer(p, r, memory, sync);
    else if (memory != clumpi_record_region(p, r).pointer)
        return clumpi_fail(&p->error, CLUMP_ERR_USAGE,
                           "clump_pool_unmap: the pointer was not returned by clump_pool_map()");
    if (code)
        return clumpi_fail_cl(&p->error, "clEnqueueUnmapMemObject", code,
                              "was the pointer returned by clump_pool_map()?");
    if (clumpi_memory_is_hosts(r->chunk->memory) && sync && sync->event)
        status = clumpi_pool_mark(p, &(clumpi_events){0}, sync);
    if (status) return status;
    r->extra->maps--;
    p->kinds[r->chunk->memory].changes++;
    return CLUMP_OK;
}

clump_status clump_pool_unmap(clump_pool *pool, clump_allocation allocation, void *memory,
                              const clump_sync *sync) {
    ON_RECORD(pool, allocation, "clump_pool_unmap", unmap(p, r, memory, sync));
}
