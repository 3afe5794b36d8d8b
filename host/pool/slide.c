/* Sliding: moves by less than an allocation's size, with the lock held and the device waited for.
 *
 * OpenCL forbids copies that overlap. A move down by a gap is cut into pieces as large as the gap,
 * which do not; where the gap is small, pieces go through a scratch buffer. Either way piece i
 * overwrites nothing of the source but what pieces up to i hold. The source is gone when the copy
 * has begun, hence `exclusive`.
 *
 * Read first: pool.h.
 */
#include "pool/pool.h"

#define PIECES_MAX 16u
#define SCRATCH_BYTES (UINT64_C(4) << 20)
#define SCRATCH_LEAST (UINT64_C(64) << 10)
#define TRIES 3

typedef struct slide {
    clump_pool *p;
    const clump_sync *sync;
    double budget_ns;
    cl_event last;
    clump_move *moves;
    size_t count, capacity;
    double copies, bytes;
} slide;

/* A scratch buffer of up to `wanted` bytes, as large as limits and device allow. Returns its size,
 * 0: none. */
static uint64_t make_scratch(clump_pool *p, uint64_t wanted) {
    if (wanted > SCRATCH_BYTES) wanted = SCRATCH_BYTES;
    if (p->scratch_bytes >= wanted) return p->scratch_bytes;
    uint64_t bytes = SCRATCH_LEAST;
    while (bytes < wanted) bytes *= 2;
    for (; bytes > p->scratch_bytes && bytes >= SCRATCH_LEAST; bytes /= 2) {
        cl_int code = CL_SUCCESS;
        if (clumpi_bytes_reserve(p, bytes)) continue;
        cl_mem made =
            p->cl.CreateBuffer(p->context->context, CL_MEM_READ_WRITE, bytes, NULL, &code);
        if (code) {
            clumpi_bytes_return(p, bytes);
            continue;
        }
        clumpi_scratch_release(p);
        p->scratch = made;
        p->scratch_bytes = bytes;
        break;
    }
    return p->scratch_bytes;
}

void clumpi_scratch_release(clump_pool *p) {
    if (!p->scratch) return;
    p->cl.ReleaseMemObject(p->scratch);
    clumpi_bytes_return(p, p->scratch_bytes);
    p->scratch = NULL;
    p->scratch_bytes = 0;
}

/* One copy, after the last. A slide that has begun must be finished, so a failure is tried
 * again. */
static clump_status copy(slide *s, cl_mem from, uint64_t from_at, cl_mem to, uint64_t to_at,
                         uint64_t bytes, const clumpi_events *uses) {
    cl_event event = NULL;
    clump_status status = CLUMP_OK;
    for (int i = 0; i < TRIES; i++) {
        status = clumpi_copy_range(s->p, from, from_at, to, to_at, bytes, uses, s->sync, s->last,
                                   &event);
        if (!status) break;
    }
    if (status) return status;
    if (s->last) s->p->cl.ReleaseEvent(s->last);
    s->last = event;
    s->copies++;
    s->bytes += (double)bytes;
    return CLUMP_OK;
}

static clump_status copy_down(slide *s, const clumpi_record *r, uint64_t from, uint64_t to,
                              uint64_t bytes) {
    const clumpi_events *uses = r->extra ? &r->extra->uses : NULL;
    cl_mem buffer = r->chunk->buffer;
    uint64_t piece = from - to, scratch = 0;
    if (piece * PIECES_MAX < bytes && piece < SCRATCH_BYTES) scratch = make_scratch(s->p, bytes);
    int direct = piece * 2 >= scratch; /* without a scratch buffer, many small pieces */
    if (!direct) piece = scratch;
    for (uint64_t at = 0; at < bytes; at += piece) {
        uint64_t n = bytes - at < piece ? bytes - at : piece;
        clump_status status;
        if (direct) {
            status = copy(s, buffer, from + at, buffer, to + at, n, uses);
        } else {
            status = copy(s, buffer, from + at, s->p->scratch, 0, n, uses);
            if (!status) status = copy(s, s->p->scratch, 0, buffer, to + at, n, NULL);
        }
        if (status) return status;
    }
    return CLUMP_OK;
}

static int fits_budget(const slide *s, uint64_t gap, uint64_t bytes) {
    uint64_t piece =
        gap * PIECES_MAX >= bytes ? gap : SCRATCH_BYTES / 2; /* halves: two copies each */
    uint64_t copies = (bytes + piece - 1) / piece;
    return clumpi_pace_predict(&s->p->wall_pace, s->copies + (double)copies,
                               s->bytes + (double)bytes) <= s->budget_ns;
}

/* The allocation of `node` slides over the free node before it. *moved says if it did. */
static clump_status slide_one(slide *s, clumpi_chunk *c, uint32_t node, uint32_t gap, int *moved) {
    clump_pool *p = s->p;
    clump_suballoc *ranges = &c->ranges;
    uint32_t record = (uint32_t)(uintptr_t)clumpi_node_at(ranges, node)->user_data;
    clumpi_record *r = clumpi_record_at(p, record);
    uint64_t at = clumpi_node_at(ranges, gap)->offset, units = clumpi_node_at(ranges, node)->size;
    uint64_t from = clumpi_record_region(p, r).offset, to = at << p->unit_shift;
    uint64_t bytes = p->margin_units ? units << p->unit_shift : r->bytes;
    if (at & ((UINT64_C(1) << r->align_log) - 1)) return CLUMP_OK; /* not aligned there */
    if (!fits_budget(s, from - to, bytes)) return CLUMP_OK;
    if (!clumpi_grow(&p->allocator, &s->moves, &s->capacity, s->count + 1, sizeof *s->moves))
        return clumpi_fail(&p->error, CLUMP_ERR_HOST_MEMORY, "no host memory for a move");
    double begun = s->copies;
    clump_status status = copy_down(s, r, from, to, bytes);
    if (status && s->copies != begun)
        return clumpi_fail_cl(&p->error, "clEnqueueCopyBuffer", p->error.cl_code,
                              "%d times. The contents of allocation 0x%llx are lost", TRIES,
                              (unsigned long long)clumpi_record_handle(p, record));
    if (status) return status;
    /* The source merges into the gap, whose node then has room for it: one node is left over, one
     * needed. */
    clumpi_suballoc_release(ranges, node);
    uint32_t now = clumpi_suballoc_take(ranges, gap, at, units);
    clumpi_node_at(ranges, now)->user_data = (void *)(uintptr_t)record;
    clumpi_record_forget_place(p, r);
    r->node = now;
    p->kinds[c->memory].tops[c->index] = clumpi_suballoc_top_bin(ranges);
    p->stats.moves++;
    p->stats.moved_bytes += r->bytes;
    s->moves[s->count++] = (clump_move){clumpi_record_handle(p, record),
                                        {c->buffer, from, r->bytes, NULL},
                                        {c->buffer, to, r->bytes, NULL},
                                        r->user_data};
    *moved = 1;
    return CLUMP_OK;
}

static clump_status slide_chunk(slide *s, clumpi_chunk *c) {
    clump_suballoc *ranges = &c->ranges;
    uint32_t node = clumpi_suballoc_first(ranges), prev = 0;
    while (node) {
        const clumpi_node *n = clumpi_node_at(ranges, node);
        uint32_t record = n->state == CLUMPI_NODE_USED ? (uint32_t)(uintptr_t)n->user_data : 0;
        int behind_gap = prev && clumpi_node_at(ranges, prev)->state == CLUMPI_NODE_FREE;
        int moved = 0;
        if (record && behind_gap) {
            const clumpi_record *r = clumpi_record_at(s->p, record);
            if (clumpi_record_is_free_to_move(r) && !r->op) {
                clump_status status = slide_one(s, c, node, prev, &moved);
                if (status) return status;
            }
            if (moved) node = r->node;
        }
        prev = node;
        node = clumpi_node_at(ranges, node)->next;
    }
    return CLUMP_OK;
}

clump_status clumpi_slide(clump_pool *p, const clump_sync *sync, double budget_ns,
                          clump_move **moves, size_t *count) {
    slide s = {.p = p, .sync = sync, .budget_ns = budget_ns};
    clump_status status = CLUMP_OK;
    double begin = clumpi_now_ns();
    for (int m = 0; m < CLUMP_MEMORY_COUNT; m++)
        for (size_t i = 0; !status && i < p->kinds[m].count; i++)
            if (p->kinds[m].chunks[i]->movable) status = slide_chunk(&s, p->kinds[m].chunks[i]);
    if (s.last) {
        cl_int code = p->cl.WaitForEvents(1, &s.last);
        if (code)
            p->cl.Finish(
                p->desc.queue); /* nothing may still be copying when the lock is given up */
        if (code && !status)
            status =
                clumpi_fail_cl(&p->error, "clWaitForEvents", code, "copies of a defragmentation");
        p->cl.ReleaseEvent(s.last);
        clumpi_pace_learn(&p->wall_pace, s.copies, s.bytes, clumpi_now_ns() - begin);
    }
    if (s.count)
        for (int m = 0; m < CLUMP_MEMORY_COUNT; m++) p->kinds[m].changes++;
    *moves = s.moves;
    *count = s.count;
    return status;
}
