/* Pools: creation, destruction, allocating and freeing. Read first: pool.h. */
#include "pool/pool.h"

#include "core/timeline.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#define MARGIN_MAX (1u << 20)
#define FLAGS_ALL                                                                                  \
    (CLUMP_POOL_SINGLE_THREADED | CLUMP_POOL_UNTOUCHED | CLUMP_POOL_KEEP_NONE |                    \
     CLUMP_POOL_COMPACT_WHEN_FULL)
#define SHARE_PRESET 0.5
#define CHUNK_PRESET (UINT64_C(64) << 20)
#define CHUNK_LEAST (UINT64_C(1) << 20)

static const clump_error no_pool = {
    .status = CLUMP_ERR_USAGE,
    .message = "the call was given NULL for a pool",
};

clump_pool *clumpi_pool_enter(clump_pool *pool) {
    if (!pool) return NULL;
    clumpi_lock_take(&pool->lock);
    clumpi_buffers_take_back(pool);
    return pool;
}

void clumpi_pool_leave(clump_pool *p) {
    clumpi_lock_give(&p->lock);
}

void clumpi_trace(clump_pool *p, const char *format, ...) {
    if (!p->desc.trace) return;
    char line[96];
    va_list args;
    va_start(args, format);
    int bytes = vsnprintf(line, sizeof line, format, args);
    va_end(args);
    if (bytes > 0) p->desc.trace(p->desc.user, line, (size_t)bytes);
}

double clumpi_pool_time(const clump_pool *p) {
    return clumpi_timeline_is_on(p->context) ? clumpi_now_ns() : 0;
}

void clumpi_pool_timed(clump_pool *p, double began, const char *what, uint64_t bytes) {
    if (!(began > 0)) return;
    clumpi_timeline_entry entry = {.kind = CLUMPI_TIMELINE_POOL,
                                   .pool = p->number,
                                   .from = began > p->call_end ? began : p->call_end,
                                   .to = clumpi_now_ns(),
                                   .args = {{"bytes", bytes}}};
    snprintf(entry.name, sizeof entry.name, "%s", what);
    p->call_end = entry.to;
    clumpi_timeline_pool(p->context, p->name, &entry);
}

void clump_pool_get_error(clump_pool *pool, clump_error *error) {
    if (!error) return;
    clump_pool *p = clumpi_pool_enter(pool);
    *error = p ? p->error : no_pool;
    if (p) clumpi_pool_leave(p);
}

static const char account_key;

static void release_account(clumpi_attachment *base, clump_context *c) {
    clumpi_free(&c->allocator, base);
}

static clumpi_pool_account *find_account(const clump_context *c) {
    return (clumpi_pool_account *)clumpi_attachment_find(&c->attachments, &account_key);
}

/* Made if there is none yet, by the first of several threads; NULL without host memory. */
static clumpi_pool_account *account_of(clump_context *c) {
    return clumpi_attachment_keep(&c->attachments, c, &account_key, sizeof(clumpi_pool_account),
                                  release_account);
}

clump_status clump_context_set_pool_limit(clump_context *context, uint64_t bytes) {
    if (!context) return CLUMP_ERR_USAGE;
    clumpi_pool_account *account = account_of(context);
    if (!account)
        return clumpi_fail(&context->error, CLUMP_ERR_HOST_MEMORY, "no host memory for a limit");
    atomic_store(&account->limit, bytes);
    return CLUMP_OK;
}

uint64_t clump_context_get_pool_bytes(const clump_context *context) {
    clumpi_pool_account *account = context ? find_account(context) : NULL;
    return account ? atomic_load(&account->bytes) : 0;
}

/* ---- Creation and destruction ---------------------------------------------------------------- */

static clump_status check_queue(cl_command_queue queue, clump_pool *p, clump_error *error) {
    cl_context owner = NULL;
    cl_command_queue_properties properties = 0;
    cl_int code = p->cl.GetCommandQueueInfo(queue, CL_QUEUE_CONTEXT, sizeof owner, &owner, NULL);
    if (!code)
        code = p->cl.GetCommandQueueInfo(queue, CL_QUEUE_PROPERTIES, sizeof properties, &properties,
                                         NULL);
    if (code) return clumpi_fail_cl(error, "clGetCommandQueueInfo", code, "the queue of a pool");
    if (owner != p->context->context)
        return clumpi_fail(error, CLUMP_ERR_USAGE,
                           "the pool's queue belongs to another cl_context than its clump_context");
    p->in_order = !(properties & CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE);
    p->has_profiling = (properties & CL_QUEUE_PROFILING_ENABLE) != 0;
    return CLUMP_OK;
}

/* What a device has in all; without end if it does not say. */
static uint64_t memory_of(const clump_capabilities *device) {
    return device->memory_bytes ? device->memory_bytes : UINT64_MAX;
}

static clump_status check_desc(const clump_pool_desc *d, const clump_capabilities *device,
                               uint32_t base, clump_error *error) {
    if (d->alignment & (d->alignment - 1) || (d->alignment && d->alignment < base))
        return clumpi_fail(
            error, CLUMP_ERR_USAGE,
            "the alignment of a pool is %u; it must be a power of two and at least %u, "
            "the device's base alignment",
            d->alignment, base);
    uint64_t least = d->alignment ? d->alignment : base;
    uint64_t memory = memory_of(device);
    if (d->chunk_bytes > memory)
        return clumpi_fail(error, CLUMP_ERR_USAGE,
                           "chunks of %llu bytes; the device has %llu in all",
                           (unsigned long long)d->chunk_bytes, (unsigned long long)memory);
    if (d->flags & ~(uint32_t)FLAGS_ALL)
        return clumpi_fail(error, CLUMP_ERR_USAGE, "there is no pool flag 0x%x",
                           d->flags & ~(uint32_t)FLAGS_ALL);
    if (d->chunk_bytes && d->chunk_bytes < least)
        return clumpi_fail(error, CLUMP_ERR_USAGE, "chunks of %llu bytes; at least %llu are needed",
                           (unsigned long long)d->chunk_bytes, (unsigned long long)least);
    if (d->limit_bytes && d->limit_bytes < (d->chunk_bytes ? d->chunk_bytes : least))
        return clumpi_fail(error, CLUMP_ERR_USAGE,
                           "the limit of a pool, %llu bytes, does not allow one chunk",
                           (unsigned long long)d->limit_bytes);
    if (d->unique_share != 0 && !(d->unique_share > 0 && d->unique_share <= 1))
        return clumpi_fail(error, CLUMP_ERR_USAGE,
                           "unique_share is %g; it must be above 0 and at most 1", d->unique_share);
    if ((unsigned)d->fit >= CLUMP_FIT_COUNT)
        return clumpi_fail(error, CLUMP_ERR_USAGE, "there is no fit strategy %d", (int)d->fit);
    if (d->margin_bytes > MARGIN_MAX)
        return clumpi_fail(error, CLUMP_ERR_USAGE, "margins of %u bytes; at most %u are possible",
                           d->margin_bytes, MARGIN_MAX);
    if (d->flags & CLUMP_POOL_COMPACT_WHEN_FULL && !d->moved)
        return clumpi_fail(
            error, CLUMP_ERR_USAGE,
            "CLUMP_POOL_COMPACT_WHEN_FULL moves allocations inside of others' requests: "
            "it needs the callback `moved`");
    return CLUMP_OK;
}

/* What the pool can have in all. */
static uint64_t choose_most(const clump_pool *p) {
    const uint64_t of_context = clumpi_limit_of_all(p);
    uint64_t most = memory_of(&p->context->capabilities);
    if (p->desc.limit_bytes && p->desc.limit_bytes < most) most = p->desc.limit_bytes;
    if (of_context && of_context < most) most = of_context;
    return most;
}

/* A size as near to `bytes` as chunks can have. */
static uint64_t in_units(const clump_pool *p, uint64_t bytes) {
    return bytes > p->desc.alignment ? bytes >> p->unit_shift << p->unit_shift : p->desc.alignment;
}

/* The size that chunks grow to: at most a quarter of all, so that there is room for other kinds of memory. */
static uint64_t choose_chunk_bytes(const clump_pool *p) {
    const clump_capabilities *c = &p->context->capabilities;
    const uint64_t quarter = choose_most(p) / 4;
    uint64_t bytes = CHUNK_PRESET, most = memory_of(c) / 32;
    if (c->allocation_bytes < most) most = c->allocation_bytes;
    if (quarter < most) most = quarter;
    while (bytes > most && bytes > CHUNK_LEAST) bytes /= 2;
    return bytes > quarter ? in_units(p, quarter) : bytes;
}

static clump_status create(const clump_pool_desc *desc, clump_context *c, clump_pool *p,
                           clump_error *error) {
    uint32_t base = c->capabilities.base_align_bytes;
    if (base < 16) base = 16; /* margins and touches write whole words */
    clump_status status = check_desc(desc, &c->capabilities, base, error);
    p->context = c;
    p->cl = c->cl;
    p->desc = *desc;
    if (!desc->queue) p->desc.queue = c->own->queue;
    if (!status) status = check_queue(p->desc.queue, p, error);
    if (status) return status;
    if (!desc->alignment) p->desc.alignment = base;
    if (desc->unique_share == 0) p->desc.unique_share = SHARE_PRESET;
    p->unit_shift = (uint32_t)__builtin_ctz(p->desc.alignment);
    p->margin_units = (desc->margin_bytes + p->desc.alignment - 1) >> p->unit_shift;
    p->mark = (uint16_t)(((uintptr_t)p * UINT64_C(0x9E3779B97F4A7C15)) >> 48);
    p->frames_wanted = 8;
    p->pause_factor = 0.8;
    if (desc->chunk_bytes)
        p->desc.chunk_bytes = desc->chunk_bytes >> p->unit_shift << p->unit_shift;
    const char *name = desc->name ? desc->name : "pool";
    p->name = clumpi_copy_text(&p->allocator, name, strlen(name));
    if (!p->name) return clumpi_fail(error, CLUMP_ERR_HOST_MEMORY, "no host memory for a pool");
    p->desc.name = p->name;
    cl_int code = p->cl.RetainCommandQueue(p->desc.queue);
    if (code) return clumpi_fail_cl(error, "clRetainCommandQueue", code, "the queue of a pool");
    return CLUMP_OK;
}

static clumpi_buffer_source source_for_heaps(clump_context *c);

/* The context of the desc, with one user more, or one of its queue. */
static clump_status take_context(const clump_pool_desc *desc, clump_context **context,
                                 clump_error *error) {
    const clump_allocator *a = &desc->allocator;
    if (!desc->context) return clumpi_context_of_queue(desc->queue, a, desc->cl, context, error);
    if (a->allocate || a->reallocate || a->release || desc->cl)
        return clumpi_fail(error, CLUMP_ERR_USAGE,
                           "the allocator and the OpenCL functions of a pool with a context are "
                           "that context's; `allocator` and `cl` must be 0");
    clumpi_context_use(desc->context);
    *context = desc->context;
    return CLUMP_OK;
}

clump_status clump_pool_create(const clump_pool_desc *desc, clump_pool **pool, clump_error *error) {
    if (pool) *pool = NULL;
    if (!desc || (!desc->context && !desc->queue) || !pool)
        return clumpi_fail(error, CLUMP_ERR_USAGE,
                           "clump_pool_create needs a desc with a context, or without one with a "
                           "queue, and a place for the result");
    clump_context *c = NULL;
    clump_status status = take_context(desc, &c, error);
    if (status) return status;
    const clump_allocator *a = &c->allocator;
    clump_pool *p = clumpi_alloc(a, sizeof *p);
    clumpi_pool_account *account = p ? account_of(c) : NULL;
    if (account) {
        p->allocator = *a;
        p->source = source_for_heaps(c);
        p->account = account;
        p->number = atomic_fetch_add(&account->pools, 1);
        status = create(desc, c, p, error);
    } else {
        status = clumpi_fail(error, CLUMP_ERR_HOST_MEMORY, "no host memory for a pool");
    }
    if (!status && !clumpi_lock_init(&p->lock, !(desc->flags & CLUMP_POOL_SINGLE_THREADED))) {
        p->cl.ReleaseCommandQueue(p->desc.queue);
        status = clumpi_fail(error, CLUMP_ERR_HOST_MEMORY, "no lock for a pool");
    }
    if (status) {
        if (p) clumpi_free(a, p->name);
        clumpi_free(a, p);
        clumpi_context_unuse(c);
        return status;
    }
    *pool = p;
    return CLUMP_OK;
}

uint64_t clumpi_chunk_bytes_wanted(const clump_pool *p, clump_memory memory) {
    if (p->desc.chunk_bytes) return p->desc.chunk_bytes;
    uint64_t bytes = choose_chunk_bytes(p);
    size_t count = p->kinds[memory].count;
    if (count < 3) bytes >>= 3 - count;
    uint64_t least = choose_most(p) / 16;
    if (least > CHUNK_LEAST) least = CHUNK_LEAST;
    return in_units(p, bytes < least ? least : bytes);
}

static void report_leaks(clump_pool *p) {
    if (!p->desc.leaked) return;
    for (uint32_t i = 1; i < p->slab_count * CLUMPI_RECORDS_SLAB; i++) {
        if (!clumpi_record_at(p, i)->is_live) continue;
        clump_allocation_info info;
        clumpi_record_info(p, i, &info);
        p->desc.leaked(p->desc.user, &info);
    }
}

static void release_kind(clump_pool *p, clumpi_kind *k) {
    while (k->count) clumpi_chunk_destroy(p, k->chunks[k->count - 1]);
    while (k->unique_count) clumpi_chunk_destroy(p, k->uniques[k->unique_count - 1]);
    clumpi_free(&p->allocator, k->chunks);
    clumpi_free(&p->allocator, k->uniques);
    clumpi_free(&p->allocator, k->order);
    clumpi_free(&p->allocator, k->tops);
}

/* Nobody uses the pool any more, nor will. */
static void end(clump_pool *p) {
    clump_context *c = p->context;
    report_leaks(p);
    for (size_t i = 0; i < p->op_count; i++) {
        clumpi_op *op = p->ops[i];
        if (op->event) {
            p->cl.WaitForEvents(1, &op->event);
            p->cl.ReleaseEvent(op->event);
        }
        clumpi_free(&p->allocator, op);
    }
    for (size_t i = 0; i < p->waiting_count; i++) clumpi_events_clear(p, &p->waiting[i].uses);
    for (uint32_t i = 1; i < p->slab_count * CLUMPI_RECORDS_SLAB; i++)
        if (clumpi_record_at(p, i)->is_live) clumpi_record_retire(p, i);
    for (int i = 0; i < CLUMP_MEMORY_COUNT; i++) release_kind(p, &p->kinds[i]);
    clumpi_buffers_end(p);
    clumpi_scratch_release(p);
    clumpi_frames_clear(p);
    p->cl.ReleaseCommandQueue(p->desc.queue);
    for (size_t i = 0; i < p->slab_count; i++) clumpi_free(&p->allocator, p->slabs[i]);
    clumpi_free(&p->allocator, p->slabs);
    clumpi_free(&p->allocator, p->ops);
    clumpi_free(&p->allocator, p->waiting);
    clumpi_free(&p->allocator, p->name);
    clumpi_lock_clear(&p->lock);
    clump_allocator allocator = p->allocator;
    clumpi_free(&allocator, p);
    clumpi_context_unuse(c);
}

void clump_pool_destroy(clump_pool *pool) {
    clump_pool *p = clumpi_pool_enter(pool);
    if (!p) return;
    p->is_destroyed = 1;
    int is_last = !p->heaps;
    clumpi_pool_leave(p);
    if (is_last) end(p);
}

/* ---- Allocating and freeing ----------------------------------------------------------------- */

typedef struct request {
    const clump_allocation_desc *desc;
    uint64_t units, align; /* margin included */
} request;

/* Can there ever be room? */
static clump_status check_size(clump_pool *p, const clump_allocation_desc *d) {
    uint64_t memory = memory_of(&p->context->capabilities), limit = p->desc.limit_bytes;
    uint64_t most = limit && limit < memory ? limit : memory;
    if (d->bytes <= most && d->alignment <= most) return CLUMP_OK;
    char at[64] = "";
    if (d->alignment)
        snprintf(at, sizeof at, " at a multiple of %llu", (unsigned long long)d->alignment);
    p->stats.refused++;
    if (most == limit)
        return clumpi_fail(
            &p->error, CLUMP_ERR_CAPACITY,
            "an allocation of %llu bytes%s: pool %.64s is limited to %llu in all, by limit_bytes",
            (unsigned long long)d->bytes, at, p->name, (unsigned long long)limit);
    return clumpi_fail(&p->error, CLUMP_ERR_CAPACITY,
                       "an allocation of %llu bytes%s: the device has %llu in all",
                       (unsigned long long)d->bytes, at, (unsigned long long)memory);
}

static clump_status check_request(clump_pool *p, const clump_allocation_desc *d, request *r) {
    clump_status status;
    if (!d->bytes)
        return clumpi_fail(&p->error, CLUMP_ERR_USAGE, "an allocation of 0 bytes; at least 1");
    if (d->alignment & (d->alignment - 1))
        return clumpi_fail(&p->error, CLUMP_ERR_USAGE,
                           "an alignment of %llu; it must be a power of two or 0",
                           (unsigned long long)d->alignment);
    status = clumpi_memory_check(p, d);
    if (!status) status = check_size(p, d);
    if (status) return status;
    uint64_t unit = p->desc.alignment;
    r->desc = d;
    r->units = (d->bytes + unit - 1) / unit + p->margin_units;
    r->align = d->alignment > unit ? d->alignment / unit : 1;
    return CLUMP_OK;
}

/* Find or make room and take it. */
static clump_status place(clump_pool *p, const request *r, uint32_t record) {
    clump_memory memory = r->desc->memory;
    clumpi_record *rec = clumpi_record_at(p, record);
    uint64_t chunk_bytes = p->desc.chunk_bytes ? p->desc.chunk_bytes : choose_chunk_bytes(p);
    double share = (double)(r->units << p->unit_shift) / (double)chunk_bytes;
    clumpi_chunk *chunk = NULL;
    clump_status status;
    if (r->desc->unique || share > p->desc.unique_share) {
        status = clumpi_chunk_new(p, memory, r->units, 1, &chunk);
        if (status) return status;
        rec->chunk = chunk;
        rec->node = 0;
        chunk->cursor = record;
        return CLUMP_OK;
    }
    uint32_t free_node = clumpi_chunks_find(p, memory, r->units, r->align, &chunk);
    if (!free_node && p->waiting_count) { /* before more memory is taken */
        clumpi_waiting_poll(p);
        free_node = clumpi_chunks_find(p, memory, r->units, r->align, &chunk);
    }
    if (!free_node) {
        status = clumpi_chunk_new(p, memory, r->units, 0, &chunk);
        if (status) return status;
        free_node = clumpi_suballoc_find(&chunk->ranges, r->units, r->align);
    }
    uint64_t at = clumpi_node_place(clumpi_node_at(&chunk->ranges, free_node), r->align);
    rec->node = clumpi_chunk_take(p, chunk, free_node, at, r->units, record);
    if (!rec->node)
        return clumpi_fail(&p->error, CLUMP_ERR_HOST_MEMORY, "no host memory for more ranges");
    rec->chunk = chunk;
    return CLUMP_OK;
}

/* The same, trying everything that may help. The lock is given up while the pool is
 * defragmented. */
static clump_status place_somehow(clump_pool *p, const request *r, uint32_t record) {
    clump_status status = place(p, r, record);
    if (status != CLUMP_ERR_CAPACITY) return status;
    clumpi_waiting_poll(p);
    clumpi_chunks_trim(p);
    status = place(p, r, record);
    if (status != CLUMP_ERR_CAPACITY || !(p->desc.flags & CLUMP_POOL_COMPACT_WHEN_FULL) ||
        p->is_stepping)
        return status;
    clump_error cause = p->error;
    clumpi_pool_leave(p);
    clump_defrag_report report = {0};
    do {
        status = clump_pool_defrag_step(p, &(clump_defrag_desc){.wait = 1}, &report);
    } while (!status && !report.done && report.finished);
    clumpi_pool_enter(p);
    if (status == CLUMP_ERR_USAGE) { /* another thread was first */
        p->error = cause;
        status = CLUMP_ERR_CAPACITY;
    }
    if (status && status != CLUMP_ERR_CAPACITY) return status;
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
    clump_status status = check_request(p, desc, &r);
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
        if (status == CLUMP_ERR_CAPACITY) p->stats.refused++;
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

static clump_status allocate_for(clump_pool *pool, const clump_allocation_desc *desc, int holder,
                                 clump_allocation *allocation, clump_region *region) {
    if (allocation) *allocation = 0;
    if (region) memset(region, 0, sizeof *region);
    clump_pool *p = clumpi_pool_enter(pool);
    if (!p) return CLUMP_ERR_USAGE;
    uint32_t record = 0;
    clump_status status =
        desc && allocation
            ? clumpi_allocate(p, desc, holder, &record)
            : clumpi_fail(&p->error, CLUMP_ERR_USAGE,
                          "clump_pool_alloc needs a desc and a place for the allocation");
    if (!status) {
        *allocation = clumpi_record_handle(p, record);
        if (region) *region = clumpi_record_region(p, clumpi_record_at(p, record));
    }
    clumpi_pool_leave(p);
    return status;
}

clump_status clump_pool_alloc(clump_pool *pool, const clump_allocation_desc *desc,
                              clump_allocation *allocation, clump_region *region) {
    return allocate_for(pool, desc, CLUMPI_OF_USER, allocation, region);
}

static clump_status check_unused(clump_pool *p, const clumpi_record *r) {
    uint32_t maps = r->extra ? r->extra->maps : 0, images = r->extra ? r->extra->images : 0;
    if (!r->pins && !maps && !images) return CLUMP_OK;
    return clumpi_fail(
        &p->error, CLUMP_ERR_USAGE,
        "an allocation of %llu bytes%s%.64s cannot be freed: it has %u pins, %u maps and "
        "%u images",
        (unsigned long long)r->bytes, r->extra && r->extra->name ? ", " : "",
        r->extra && r->extra->name ? r->extra->name : "", r->pins, maps, images);
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
                           "clump_pool_free: an allocation of %llu bytes is that of a buffer which "
                           "its caller owns; clReleaseMemObject() gives it back",
                           (unsigned long long)r->bytes);
    if (r->holder == CLUMPI_OF_HEAP)
        return clumpi_fail(&p->error, CLUMP_ERR_USAGE,
                           "clump_pool_free: an allocation of %llu bytes is that of a heap; "
                           "clump_heap_destroy() gives it back",
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

/* ---- What a heap sees ------------------------------------------------------------------------- */

/* References are places in the buffer, so the buffer could move. It does not, since the user's kernels may
 * have it as an argument. */
static clump_status take_for_heap(clumpi_buffer_source *source, uint64_t bytes, void *owner,
                                  uint64_t *number, cl_mem *buffer, clump_error *error) {
    clump_pool *pool = (clump_pool *)source;
    clump_allocation_desc desc = {.bytes = bytes, .name = "heap", .user_data = owner};
    clump_allocation allocation = 0;
    clump_status status = allocate_for(pool, &desc, CLUMPI_OF_HEAP, &allocation, NULL);
    if (!status) status = clump_pool_get_buffer(pool, allocation, buffer);
    if (status) {
        clump_pool_get_error(pool, error);
        if (allocation) source->give_back(source, allocation);
    }
    *number = allocation;
    return status;
}

/* A region that is still mapped or has images is the user's to free then. */
static void give_back_for_heap(clumpi_buffer_source *source, uint64_t number) {
    clump_pool *p = clumpi_pool_enter((clump_pool *)source);
    clumpi_record *r = clumpi_record_at(p, (uint32_t)number);
    r->holder = CLUMPI_OF_USER;
    r->pins = 0;
    p->heaps--;
    int is_last = p->is_destroyed && !p->heaps;
    clumpi_record_free(p, (uint32_t)number);
    clumpi_pool_leave(p);
    if (is_last) end(p);
}

static void set_owner_for_heap(clumpi_buffer_source *source, uint64_t number, void *owner) {
    clump_pool *p = clumpi_pool_enter((clump_pool *)source);
    clumpi_record_at(p, (uint32_t)number)->user_data = owner;
    clumpi_pool_leave(p);
}

static clumpi_buffer_source source_for_heaps(clump_context *c) {
    return (clumpi_buffer_source){c, take_for_heap, give_back_for_heap, set_owner_for_heap};
}

clump_status clump_pool_trim(clump_pool *pool) {
    clump_pool *p = clumpi_pool_enter(pool);
    if (!p) return CLUMP_ERR_USAGE;
    clumpi_waiting_poll(p);
    clumpi_chunks_trim(p);
    clumpi_pool_leave(p);
    return CLUMP_OK;
}
