/* Allocating and freeing: a request, room for it, its record. Read first: pool.h, record.c,
 * chunk.c. */
#include "pool/pool.h"

#include <stdio.h>
#include <string.h>

typedef struct request {
    const clump_allocation_desc *desc;
    uint64_t units, align; /* margin included */
    clumpi_manner manner;
} request;

/* Can there ever be room? */
static clump_status check_size(clump_pool *p, const clump_allocation_desc *d) {
    uint64_t memory = clumpi_memory_of(&p->context->capabilities), limit = p->desc.limit_bytes;
    uint64_t most = limit && limit < memory ? limit : memory;
    if (d->bytes <= most && d->alignment <= most) return CLUMP_OK;
    char at[64] = "";
    if (d->alignment)
        snprintf(at, sizeof at, " at a multiple of %llu", (unsigned long long)d->alignment);
    p->stats.refused++;
    if (most == limit)
        return clumpi_fail(
            &p->error, CLUMP_ERR_DEVICE_MEMORY,
            "an allocation of %llu bytes%s is too large: limit_bytes of pool %.64s is %llu",
            (unsigned long long)d->bytes, at, p->name, (unsigned long long)limit);
    return clumpi_fail(&p->error, CLUMP_ERR_DEVICE_MEMORY,
                       "an allocation of %llu bytes%s is too large: the device has %llu in all",
                       (unsigned long long)d->bytes, at, (unsigned long long)memory);
}

/* Will it be a sub-buffer, on a device where many of one buffer cost much? Of users' allocations
 * the others tell. */
static int is_with_few(const clump_pool *p, int holder) {
    if (!p->context->capabilities.sub_buffers_most || holder == CLUMPI_OF_HEAP) return 0;
    return holder == CLUMPI_OF_BUFFER ||
           (p->views && 2ull * p->views >= p->stats.allocations - p->lent - p->heaps);
}

/* The average of about as many as a chunk has. */
static void count_usual(clump_pool *p, uint64_t units) {
    const double few = p->context->capabilities.sub_buffers_most;
    p->usual += ((double)units - p->usual) / (p->usual > 0 ? few : 1);
}

static clumpi_manner manner_of(clump_pool *p, const request *r, int holder) {
    const double share = (double)(r->units << p->unit_shift) / (double)clumpi_chunk_bytes_most(p);
    if (r->desc->unique || share > p->desc.unique_share) return CLUMPI_UNIQUE;
    if (!is_with_few(p, holder)) return CLUMPI_IN_CHUNK;
    count_usual(p, r->units);
    return CLUMPI_WITH_FEW;
}

static clump_status check_request(clump_pool *p, const clump_allocation_desc *d, int holder,
                                  request *r) {
    clump_status status;
    if (!d->bytes)
        return clumpi_fail(&p->error, CLUMP_ERR_USAGE,
                           "an allocation must have at least 1 byte, but has 0");
    if (d->alignment & (d->alignment - 1))
        return clumpi_fail(&p->error, CLUMP_ERR_USAGE,
                           "an alignment is %llu, but must be a power of two or 0",
                           (unsigned long long)d->alignment);
    status = clumpi_memory_check(p, d);
    if (!status) status = check_size(p, d);
    if (status) return status;
    uint64_t unit = p->desc.alignment;
    r->desc = d;
    r->units = (d->bytes + unit - 1) / unit + p->margin_units;
    r->align = d->alignment > unit ? d->alignment / unit : 1;
    r->manner = manner_of(p, r, holder);
    return CLUMP_OK;
}

/* Find or make room and take it. */
static clump_status place(clump_pool *p, const request *r, uint32_t record) {
    clump_memory memory = r->desc->memory;
    clumpi_record *rec = clumpi_record_at(p, record);
    clumpi_chunk *chunk = NULL;
    clump_status status;
    if (r->manner == CLUMPI_UNIQUE) {
        status = clumpi_chunk_new(p, memory, r->units, r->manner, &chunk);
        if (status) return status;
        rec->chunk = chunk;
        rec->node = 0;
        chunk->cursor = record;
        return CLUMP_OK;
    }
    uint32_t free_node = clumpi_chunks_find(p, memory, r->units, r->align, r->manner, &chunk);
    if (!free_node && p->waiting_count) { /* before more memory is taken */
        clumpi_waiting_poll(p);
        free_node = clumpi_chunks_find(p, memory, r->units, r->align, r->manner, &chunk);
    }
    if (!free_node) {
        status = clumpi_chunk_new(p, memory, r->units, r->manner, &chunk);
        if (!status)
            free_node = clumpi_suballoc_find(&chunk->ranges, r->units, r->align);
        else if (status == CLUMP_ERR_DEVICE_MEMORY && r->manner == CLUMPI_WITH_FEW)
            free_node = clumpi_chunks_find(p, memory, r->units, r->align, CLUMPI_IN_CHUNK, &chunk);
        if (!free_node) return status;
    }
    uint64_t at = clumpi_node_place(clumpi_node_at(&chunk->ranges, free_node), r->align);
    rec->node = clumpi_chunk_take(p, chunk, free_node, at, r->units, record);
    if (!rec->node)
        return clumpi_fail(&p->error, CLUMP_ERR_HOST_MEMORY, "no host memory for more ranges");
    rec->chunk = chunk;
    return CLUMP_OK;
}

/* The same, trying everything that may help. The lock may be given up meanwhile. */
static clump_status place_somehow(clump_pool *p, const request *r, uint32_t record) {
    clump_status status = place(p, r, record);
    if (status != CLUMP_ERR_DEVICE_MEMORY) return status;
    clumpi_waiting_poll(p);
    clumpi_chunks_trim(p);
    status = place(p, r, record);
    if (status != CLUMP_ERR_DEVICE_MEMORY || !(p->desc.flags & CLUMP_POOL_COMPACT_WHEN_FULL) ||
        p->is_stepping)
        return status;
    status = clumpi_defrag_for_room(p);
    if (status && status != CLUMP_ERR_DEVICE_MEMORY) return status;
    clumpi_waiting_poll(p);
    clumpi_chunks_trim(p);
    return place(p, r, record);
}

/* What the record says beside its place. */
static clump_status describe(clump_pool *p, const request *r, uint32_t record) {
    clumpi_record *rec = clumpi_record_at(p, record);
    rec->bytes = r->desc->bytes;
    rec->user_data = r->desc->user_data;
    rec->is_movable = r->desc->movable != 0;
    rec->align_log = (uint8_t)__builtin_ctzll(r->align);
    if (!r->desc->name) return CLUMP_OK;
    clumpi_extra *extra = clumpi_record_extra(p, rec);
    if (extra) extra->name = clumpi_copy_text(&p->allocator, r->desc->name, strlen(r->desc->name));
    if (extra && extra->name) return CLUMP_OK;
    return clumpi_fail(&p->error, CLUMP_ERR_HOST_MEMORY, "no host memory for a name");
}

static void forget_place(clump_pool *p, clumpi_record *r, clumpi_events *uses) {
    clumpi_record_forget_place(p, r);
    if (r->is_movable && !r->chunk->is_unique) r->chunk->movable--;
    clumpi_range_retire(p, r->chunk, r->node, uses);
}

clump_status clumpi_allocate(clump_pool *p, const clump_allocation_desc *desc, int holder,
                             uint32_t *record) {
    const double began = clumpi_pool_time(p);
    request r;
    clump_status status = check_request(p, desc, holder, &r);
    if (status) return status;
    uint32_t i = clumpi_record_new(p);
    if (!i)
        return clumpi_fail(&p->error, CLUMP_ERR_HOST_MEMORY, "no host memory for 512 allocations");
    status = describe(p, &r, i);
    if (!status) status = place_somehow(p, &r, i);
    clumpi_record *rec = clumpi_record_at(p, i);
    if (!status) {
        if (rec->is_movable && !rec->chunk->is_unique) rec->chunk->movable++;
        if (p->margin_units) status = clumpi_margin_write(p, rec);
        if (status) forget_place(p, rec, &(clumpi_events){0});
    }
    if (status) {
        if (status == CLUMP_ERR_DEVICE_MEMORY) p->stats.refused++;
        clumpi_record_retire(p, i);
        return status;
    }
    rec->is_live = 1;
    rec->holder = (uint8_t)holder;
    if (holder == CLUMPI_OF_HEAP) p->heaps++;
    p->kinds[desc->memory].changes++;
    p->stats.allocations++;
    p->stats.allocated++;
    p->stats.requested_bytes += desc->bytes;
    clumpi_trace(p, "a %llx %llu%s\n", clumpi_trace_id(clumpi_record_handle(p, i)),
                 (unsigned long long)desc->bytes, desc->movable ? " m" : "");
    clumpi_pool_timed(p, began, "allocation", desc->bytes);
    *record = i;
    return CLUMP_OK;
}

clump_status clumpi_allocate_for(clump_pool *pool, const clump_allocation_desc *desc, int holder,
                                 clump_allocation *allocation, clump_region *region) {
    if (allocation) *allocation = 0;
    if (region) memset(region, 0, sizeof *region);
    clump_pool *p = clumpi_pool_enter(pool);
    if (!p) return CLUMP_ERR_USAGE;
    clump_allocation_desc own;
    uint32_t record = 0;
    clump_status status = CLUMPI_TAKE(clump_allocation_desc, &own, desc, &p->error);
    if (!status && !(desc && allocation))
        status = clumpi_fail(&p->error, CLUMP_ERR_USAGE,
                             "clump_pool_alloc needs a desc and a pointer for the allocation");
    if (!status) status = clumpi_allocate(p, &own, holder, &record);
    if (!status) {
        *allocation = clumpi_record_handle(p, record);
        if (region) *region = clumpi_record_region(p, clumpi_record_at(p, record));
    }
    clumpi_pool_leave(p);
    return status;
}

clump_status clump_pool_alloc(clump_pool *pool, const clump_allocation_desc *desc,
                              clump_allocation *allocation, clump_region *region) {
    return clumpi_allocate_for(pool, desc, CLUMPI_OF_USER, allocation, region);
}

static clump_status check_unused(clump_pool *p, const clumpi_record *r) {
    uint32_t maps = r->extra ? r->extra->maps : 0;
    if (!r->pins && !maps) return CLUMP_OK;
    return clumpi_fail(
        &p->error, CLUMP_ERR_USAGE,
        "an allocation of %llu bytes%s%.64s cannot be freed: it has %u pins and %u maps",
        (unsigned long long)r->bytes, r->extra && r->extra->name ? ", " : "",
        r->extra && r->extra->name ? r->extra->name : "", r->pins, maps);
}

/* A move of the allocation that is freed: its copy may still read the source. */
static clump_status leave_op(clump_pool *p, clumpi_record *r, clumpi_events *uses) {
    clumpi_op *op = r->op;
    if (op->event) {
        clump_status status = clumpi_events_add(p, uses, op->event, "of a copy");
        if (status) return status;
    }
    op->from->leaving_units -= clumpi_node_at(&op->from->ranges, r->node)->size;
    op->record = 0;
    op->is_dropped = 1;
    op->from = NULL;
    r->op = NULL;
    return CLUMP_OK;
}

clump_status clumpi_record_free(clump_pool *p, uint32_t record) {
    clumpi_record *r = clumpi_record_at(p, record);
    unsigned long long id = clumpi_trace_id(clumpi_record_handle(p, record));
    const uint64_t bytes = r->bytes;
    const double began = clumpi_pool_time(p);
    if (r->holder == CLUMPI_OF_BUFFER)
        return clumpi_fail(&p->error, CLUMP_ERR_USAGE,
                           "clump_pool_free: this allocation of %llu bytes is a buffer that its "
                           "caller owns. Release it with clReleaseMemObject()",
                           (unsigned long long)r->bytes);
    if (r->holder == CLUMPI_OF_HEAP)
        return clumpi_fail(&p->error, CLUMP_ERR_USAGE,
                           "clump_pool_free: this allocation of %llu bytes belongs to a heap. "
                           "Destroy the heap with clump_heap_destroy()",
                           (unsigned long long)r->bytes);
    clumpi_events uses = {0};
    clump_status status = check_unused(p, r);
    if (status) return status;
    if (r->extra) {
        uses = r->extra->uses;
        r->extra->uses = (clumpi_events){0};
    }
    if (r->op && (status = leave_op(p, r, &uses))) {
        if (r->extra) r->extra->uses = uses;
        if (!r->extra) clumpi_events_clear(p, &uses);
        return status;
    }
    p->kinds[r->chunk->memory].changes++;
    p->stats.allocations--;
    p->stats.freed++;
    p->stats.requested_bytes -= r->bytes;
    forget_place(p, r, &uses);
    clumpi_record_retire(p, record);
    clumpi_trace(p, "f %llx\n", id);
    clumpi_pool_timed(p, began, "free", bytes);
    return CLUMP_OK;
}

clump_status clump_pool_free(clump_pool *pool, clump_allocation allocation) {
    clump_pool *p = clumpi_pool_enter(pool);
    if (!p) return CLUMP_ERR_USAGE;
    uint32_t record = allocation ? clumpi_record_find(p, allocation, "clump_pool_free") : 0;
    clump_status status = record       ? clumpi_record_free(p, record)
                          : allocation ? p->error.status
                                       : CLUMP_OK;
    clumpi_pool_leave(p);
    return status;
}
