/* Pools: creation, destruction, sizes of chunks, the account of a context. Read first: pool.h. */
#include "pool/pool.h"

#include <string.h>

#define MARGIN_MAX (1u << 20)
#define FLAGS_ALL                                                                                  \
    (CLUMP_POOL_SINGLE_THREADED | CLUMP_POOL_UNTOUCHED | CLUMP_POOL_KEEP_NONE |                    \
     CLUMP_POOL_COMPACT_WHEN_FULL)
#define SHARE_PRESET 0.5
#define PAUSE_FRAMES_PRESET 8
#define PAUSE_FACTOR_PRESET 0.8
#define CHUNK_PRESET (UINT64_C(64) << 20)
#define CHUNK_LEAST (UINT64_C(1) << 20)

static const char account_key;

static void release_account(clumpi_attachment *base, clump_context *c) {
    clumpi_free(&c->allocator, base);
}

/* Made if there is none yet, by the first of several threads; NULL without host memory. */
static clumpi_pool_account *account_of(clump_context *c) {
    return clumpi_attachment_keep(&c->attachments, c, &account_key, sizeof(clumpi_pool_account),
                                  release_account);
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

uint64_t clumpi_memory_of(const clump_capabilities *device) {
    return device->memory_bytes ? device->memory_bytes : UINT64_MAX;
}

static clump_status check_desc(const clump_pool_desc *d, const clump_capabilities *device,
                               uint32_t base, clump_error *error) {
    if (d->alignment & (d->alignment - 1) || (d->alignment && d->alignment < base))
        return clumpi_fail(error, CLUMP_ERR_USAGE,
                           "the alignment of a pool is %u, but must be a power of two and at least "
                           "%u, the device's base alignment",
                           d->alignment, base);
    uint64_t least = d->alignment ? d->alignment : base;
    uint64_t memory = clumpi_memory_of(device);
    if (d->chunk_bytes > memory)
        return clumpi_fail(error, CLUMP_ERR_USAGE,
                           "chunks of %llu bytes are too large: the device has %llu in all",
                           (unsigned long long)d->chunk_bytes, (unsigned long long)memory);
    if (d->flags & ~(uint32_t)FLAGS_ALL)
        return clumpi_fail(error, CLUMP_ERR_USAGE, "unknown pool flag 0x%x",
                           d->flags & ~(uint32_t)FLAGS_ALL);
    if (d->chunk_bytes && d->chunk_bytes < least)
        return clumpi_fail(error, CLUMP_ERR_USAGE,
                           "chunks of %llu bytes are too small: at least %llu are needed",
                           (unsigned long long)d->chunk_bytes, (unsigned long long)least);
    if (d->limit_bytes && d->limit_bytes < (d->chunk_bytes ? d->chunk_bytes : least))
        return clumpi_fail(error, CLUMP_ERR_USAGE,
                           "the limit of a pool, %llu bytes, is too small for one chunk",
                           (unsigned long long)d->limit_bytes);
    if (d->unique_share != 0 && !(d->unique_share > 0 && d->unique_share <= 1))
        return clumpi_fail(error, CLUMP_ERR_USAGE,
                           "unique_share is %g, but must be above 0 and at most 1",
                           d->unique_share);
    if ((unsigned)d->fit >= CLUMP_FIT_COUNT)
        return clumpi_fail(error, CLUMP_ERR_USAGE, "unknown fit strategy %d", (int)d->fit);
    if (d->margin_bytes > MARGIN_MAX)
        return clumpi_fail(error, CLUMP_ERR_USAGE,
                           "margins of %u bytes are too large: at most %u are possible",
                           d->margin_bytes, MARGIN_MAX);
    if (d->pause_frames > CLUMPI_FRAMES_MAX)
        return clumpi_fail(error, CLUMP_ERR_USAGE, "pause_frames is %u, but must be at most %u",
                           d->pause_frames, CLUMPI_FRAMES_MAX);
    if (d->pause_factor != 0 && !(d->pause_factor > 0 && d->pause_factor <= 1))
        return clumpi_fail(error, CLUMP_ERR_USAGE,
                           "pause_factor is %g, but must be above 0 and at most 1",
                           d->pause_factor);
    if (d->flags & CLUMP_POOL_COMPACT_WHEN_FULL && !d->moved)
        return clumpi_fail(error, CLUMP_ERR_USAGE,
                           "CLUMP_POOL_COMPACT_WHEN_FULL moves other allocations during a request. "
                           "Set the callback `moved`");
    return CLUMP_OK;
}

/* What the pool can have in all. */
static uint64_t choose_most(const clump_pool *p) {
    const uint64_t of_context = clumpi_limit_of_all(p);
    uint64_t most = clumpi_memory_of(&p->context->capabilities);
    if (p->desc.limit_bytes && p->desc.limit_bytes < most) most = p->desc.limit_bytes;
    if (of_context && of_context < most) most = of_context;
    return most;
}

/* A size as near to `bytes` as chunks can have. */
static uint64_t in_units(const clump_pool *p, uint64_t bytes) {
    return bytes > p->desc.alignment ? bytes >> p->unit_shift << p->unit_shift : p->desc.alignment;
}

/* At most a quarter of all, so that there is room for other kinds of memory. */
uint64_t clumpi_chunk_bytes_most(const clump_pool *p) {
    if (p->desc.chunk_bytes) return p->desc.chunk_bytes;
    const clump_capabilities *c = &p->context->capabilities;
    const uint64_t quarter = choose_most(p) / 4;
    uint64_t bytes = CHUNK_PRESET, most = clumpi_memory_of(c) / 32;
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
    if (!desc->pause_frames) p->desc.pause_frames = PAUSE_FRAMES_PRESET;
    if (desc->pause_factor == 0) p->desc.pause_factor = PAUSE_FACTOR_PRESET;
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

/* The context of the desc, with one user more, or one of its queue. */
static clump_status take_context(const clump_pool_desc *desc, clump_context **context,
                                 clump_error *error) {
    const clump_allocator *a = &desc->allocator;
    if (!desc->context) return clumpi_context_of_queue(desc->queue, a, desc->cl, context, error);
    if (a->allocate || a->reallocate || a->release || desc->cl)
        return clumpi_fail(error, CLUMP_ERR_USAGE,
                           "a pool with a context uses the allocator and the OpenCL functions of "
                           "the context, so `allocator` and `cl` must be 0");
    clumpi_context_use(desc->context);
    *context = desc->context;
    return CLUMP_OK;
}

clump_status clump_pool_create(const clump_pool_desc *given, clump_pool **pool,
                               clump_error *error) {
    clump_pool_desc own, *desc = &own;
    if (pool) *pool = NULL;
    clump_status status = CLUMPI_TAKE(clump_pool_desc, desc, given, error);
    if (status) return status;
    if ((!desc->context && !desc->queue) || !pool)
        return clumpi_fail(error, CLUMP_ERR_USAGE,
                           "clump_pool_create needs a desc with a context, or without a context a "
                           "queue, and a pointer for the result");
    clump_context *c = NULL;
    status = take_context(desc, &c, error);
    if (status) return status;
    const clump_allocator *a = &c->allocator;
    clump_pool *p = clumpi_alloc(a, sizeof *p);
    clumpi_pool_account *account = p ? account_of(c) : NULL;
    if (account) {
        p->allocator = *a;
        p->source = clumpi_source_for_heaps(c);
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
    uint64_t bytes = clumpi_chunk_bytes_most(p);
    size_t count = p->kinds[memory].count;
    if (count < 3) bytes >>= 3 - count;
    uint64_t least = choose_most(p) / 16;
    if (least > CHUNK_LEAST) least = CHUNK_LEAST;
    return in_units(p, bytes < least ? least : bytes);
}

clump_status clump_pool_trim(clump_pool *pool) {
    clump_pool *p = clumpi_pool_enter(pool);
    if (!p) return CLUMP_ERR_USAGE;
    clumpi_waiting_poll(p);
    clumpi_chunks_trim(p);
    clumpi_pool_leave(p);
    return CLUMP_OK;
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

void clumpi_pool_end(clump_pool *p) {
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
    if (is_last) clumpi_pool_end(p);
}
