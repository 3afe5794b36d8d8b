/* Statistics of a pool, and the check of its invariants. Read first: pool.h. */
#include <string.h>

#include "pool/pool.h"

double clumpi_pool_waste(const clump_pool *p) {
    return p->chunk_bytes_all ? 1 - (double)p->chunk_used / (double)p->chunk_bytes_all : 0;
}

static void widen(uint64_t bytes, uint64_t *min, uint64_t *max) {
    if (!*min || bytes < *min) *min = bytes;
    if (bytes > *max) *max = bytes;
}

static void add_chunk(const clump_pool *p, const clumpi_chunk *c, clump_pool_details *d) {
    clump_suballoc_details of_chunk;
    clumpi_suballoc_walk(&c->ranges, &of_chunk);
    d->free_ranges += c->ranges.free_count;
    d->fragmentation += of_chunk.fragmentation / p->stats.chunks;
    if (!of_chunk.free_max) return;
    widen(of_chunk.free_min, &d->free_min, &d->free_max);
    widen(of_chunk.free_max, &d->free_min, &d->free_max);
}

static void walk(clump_pool *p, clump_pool_details *d) {
    for (int m = 0; m < CLUMP_MEMORY_COUNT; m++)
        for (size_t i = 0; i < p->kinds[m].count; i++) add_chunk(p, p->kinds[m].chunks[i], d);
    for (uint32_t i = 1; i < p->slab_count * CLUMPI_RECORDS_SLAB; i++)
        if (clumpi_record_at(p, i)->is_live)
            widen(clumpi_record_at(p, i)->bytes, &d->allocation_min, &d->allocation_max);
    d->copy_us = 1e-3 * p->device_pace.fixed_ns;
    d->copy_us_per_byte = 1e-3 * p->device_pace.ns_per_byte;
    d->pause_us = 1e-3 * (double)clumpi_pauses_budget(p);
}

clump_status clump_pool_get_stats(clump_pool *pool, clump_pool_stats *stats,
                                  clump_pool_details *details) {
    clump_pool *p = clumpi_pool_enter(pool);
    if (!p) return CLUMP_ERR_USAGE;
    clump_status status = CLUMPI_PLACE(clump_pool_stats, stats, &p->error);
    if (!status) status = CLUMPI_PLACE(clump_pool_details, details, &p->error);
    if (!status && !stats && !details)
        status = clumpi_fail(&p->error, CLUMP_ERR_USAGE,
                             "clump_pool_get_stats needs a pointer for the statistics");
    if (!status && stats) {
        clump_pool_stats own = p->stats;
        own.waste = clumpi_pool_waste(p);
        own.context_bytes = atomic_load(&p->account->bytes);
        CLUMPI_GIVE(stats, own);
    }
    if (!status && details) {
        clump_pool_details own = {0};
        walk(p, &own);
        CLUMPI_GIVE(details, own);
    }
    clumpi_pool_leave(p);
    return status;
}

/* ---- The check ------------------------------------------------------------------------------- */

static clump_status corrupt(clump_pool *p, const char *what, uint64_t found, uint64_t expected) {
    return clumpi_fail(&p->error, CLUMP_ERR_CORRUPT, "%s: %llu instead of %llu", what,
                       (unsigned long long)found, (unsigned long long)expected);
}

typedef struct sums {
    uint64_t bytes, used, chunk_bytes, chunk_used, records, owned, ranges, asked, leaving;
} sums;

static clump_status check_chunk(clump_pool *p, clumpi_chunk *c, sums *s) {
    clumpi_kind *k = &p->kinds[c->memory];
    clump_status status = clump_suballoc_check(&c->ranges);
    if (status)
        return clumpi_fail(&p->error, status, "chunk %u: %.400s", c->serial,
                           c->ranges.error.message);
    if (k->tops[c->index] != clumpi_suballoc_top_bin(&c->ranges))
        return corrupt(p, "the largest bin of a chunk", k->tops[c->index],
                       clumpi_suballoc_top_bin(&c->ranges));
    uint64_t movable = 0, sub_buffers = 0;
    for (uint32_t i = clumpi_suballoc_first(&c->ranges); i;
         i = clumpi_node_at(&c->ranges, i)->next) {
        const clumpi_node *n = clumpi_node_at(&c->ranges, i);
        uint32_t record = n->state == CLUMPI_NODE_USED ? (uint32_t)(uintptr_t)n->user_data : 0;
        if (!record) continue;
        const clumpi_record *r = clumpi_record_at(p, record);
        if (!r->is_live || r->chunk != c || r->node != i)
            return corrupt(p, "a range names an allocation that is elsewhere", r->node, i);
        if (r->bytes + ((uint64_t)p->margin_units << p->unit_shift) > n->size << p->unit_shift)
            return corrupt(p, "bytes of a range", n->size << p->unit_shift, r->bytes);
        movable += r->is_movable;
        sub_buffers += r->holder == CLUMPI_OF_BUFFER;
        sub_buffers += r->extra && r->extra->sub_buffer;
        s->owned++;
    }
    if (movable != c->movable)
        return corrupt(p, "movable allocations of a chunk", c->movable, movable);
    if (sub_buffers != c->sub_buffers)
        return corrupt(p, "sub-buffers of a chunk", c->sub_buffers, sub_buffers);
    s->leaving += c->leaving_units;
    s->ranges += c->ranges.used_count;
    s->bytes += c->bytes;
    s->chunk_bytes += c->bytes;
    s->chunk_used += c->ranges.used_units << p->unit_shift;
    return CLUMP_OK;
}

static clump_status check_kind(clump_pool *p, clumpi_kind *k, sums *s) {
    uint64_t empty = 0;
    for (size_t i = 0; i < k->count; i++) {
        if (k->chunks[i]->index != i) return corrupt(p, "index of a chunk", k->chunks[i]->index, i);
        empty += !k->chunks[i]->ranges.used_count;
        if (i < k->passed && k->tops[i] && !clumpi_chunk_is_closed(p, k->chunks[i]))
            return corrupt(p, "chunks that are passed", k->passed, i);
        clump_status status = check_chunk(p, k->chunks[i], s);
        if (status) return status;
    }
    for (size_t i = 0; i < k->unique_count; i++) {
        const clumpi_chunk *c = k->uniques[i];
        if (c->index != i) return corrupt(p, "index of a unique chunk", c->index, i);
        s->bytes += c->bytes;
        s->used += c->bytes;
        if (!c->cursor) continue; /* waits for its last use */
        s->owned++;
        if (clumpi_record_at(p, c->cursor)->chunk != c)
            return corrupt(p, "a unique chunk's allocation is elsewhere", 1, 0);
    }
    if (empty != k->empty) return corrupt(p, "empty chunks", k->empty, empty);
    if (empty > 1 && !p->has_surplus) return corrupt(p, "empty chunks that are kept", empty, 1);
    return CLUMP_OK;
}

static clump_status check(clump_pool *p) {
    sums s = {0};
    for (int m = 0; m < CLUMP_MEMORY_COUNT; m++) {
        clump_status status = check_kind(p, &p->kinds[m], &s);
        if (status) return status;
    }
    for (uint32_t i = 1; i < p->slab_count * CLUMPI_RECORDS_SLAB; i++) {
        if (!clumpi_record_at(p, i)->is_live) continue;
        s.records++;
        s.asked += clumpi_record_at(p, i)->bytes;
    }
    uint64_t reserved = p->waiting_count + p->op_count, leaving = 0;
    for (size_t i = 0; i < p->op_count; i++) {
        const clumpi_op *op = p->ops[i];
        if (op->record && clumpi_record_at(p, op->record)->op != op)
            return corrupt(p, "a move whose allocation does not know it", op->record, 0);
        if (op->record) leaving += clumpi_node_at(&op->to->ranges, op->to_node)->size;
    }
    if (s.leaving != leaving) return corrupt(p, "units that leave chunks", s.leaving, leaving);
    s.used += s.chunk_used;
    if (s.owned != s.records) return corrupt(p, "allocations with a range", s.owned, s.records);
    if (s.records != p->stats.allocations)
        return corrupt(p, "allocations", p->stats.allocations, s.records);
    if (s.ranges + p->stats.unique != s.owned + reserved)
        return corrupt(p, "used ranges", s.ranges + p->stats.unique, s.owned + reserved);
    if (s.asked != p->stats.requested_bytes)
        return corrupt(p, "bytes asked for", p->stats.requested_bytes, s.asked);
    s.bytes += p->scratch_bytes;
    if (s.bytes != p->stats.bytes) return corrupt(p, "bytes", p->stats.bytes, s.bytes);
    if (s.used != p->stats.used_bytes) return corrupt(p, "used bytes", p->stats.used_bytes, s.used);
    if (s.chunk_used != p->chunk_used)
        return corrupt(p, "used bytes of chunks", p->chunk_used, s.chunk_used);
    if (s.chunk_bytes != p->chunk_bytes_all)
        return corrupt(p, "bytes of chunks", p->chunk_bytes_all, s.chunk_bytes);
    return p->margin_units ? clumpi_margins_check(p) : CLUMP_OK;
}

clump_status clump_pool_check(clump_pool *pool) {
    clump_pool *p = clumpi_pool_enter(pool);
    if (!p) return CLUMP_ERR_USAGE;
    clump_status status = check(p);
    if (!status) status = clumpi_trace_status(p);
    clumpi_pool_leave(p);
    return status;
}
