/* Chunks of a pool: making and releasing them; finding room in them. Read first: pool.h. Read next:
 * backing.c. */
#include "pool/pool.h"

#include <string.h>

/* ---- Accounts -------------------------------------------------------------------------------- */

uint64_t clumpi_limit_of_all(const clump_pool *p) {
    const clump_capabilities *c = &p->context->capabilities;
    const uint64_t limit = p->context->pool_limit_bytes;
    return limit || p->desc.limit_bytes || !c->is_cpu ? limit : c->memory_bytes / 4 * 3;
}

static clump_status fail_limit_of_all(clump_pool *p, uint64_t bytes, uint64_t before,
                                      uint64_t limit) {
    const int is_set = p->context->pool_limit_bytes != 0;
    return clumpi_fail(
        &p->error, CLUMP_ERR_DEVICE_MEMORY,
        "%llu bytes more are not possible: the pools of the context have %llu and are limited to "
        "%llu%s",
        (unsigned long long)bytes, (unsigned long long)before, (unsigned long long)limit,
        is_set ? "" : ", three quarters of the memory of a CPU (limit_bytes can allow more)");
}

clump_status clumpi_bytes_reserve(clump_pool *p, uint64_t bytes) {
    uint64_t limit = p->desc.limit_bytes;
    if (limit && (p->stats.bytes > limit || bytes > limit - p->stats.bytes))
        return clumpi_fail(
            &p->error, CLUMP_ERR_DEVICE_MEMORY,
            "%llu bytes more are not possible: pool %.64s has %llu and is limited to %llu",
            (unsigned long long)bytes, p->name, (unsigned long long)p->stats.bytes,
            (unsigned long long)limit);
    _Atomic(uint64_t) *all = &p->account->bytes;
    uint64_t before = atomic_fetch_add(all, bytes);
    limit = clumpi_limit_of_all(p);
    if (limit && before + bytes > limit) {
        atomic_fetch_sub(all, bytes);
        return fail_limit_of_all(p, bytes, before, limit);
    }
    p->stats.bytes += bytes;
    if (p->stats.bytes > p->stats.bytes_peak) p->stats.bytes_peak = p->stats.bytes;
    return CLUMP_OK;
}

/* What the limits leave, as long as nobody else takes it. */
static uint64_t room_left(const clump_pool *p) {
    const uint64_t limit = p->desc.limit_bytes, of_context = clumpi_limit_of_all(p);
    const uint64_t taken = p->stats.bytes, by_all = atomic_load(&p->account->bytes);
    uint64_t room = UINT64_MAX;
    if (limit) room = limit > taken ? limit - taken : 0;
    if (of_context) {
        const uint64_t left = of_context > by_all ? of_context - by_all : 0;
        if (left < room) room = left;
    }
    return room >> p->unit_shift << p->unit_shift;
}

void clumpi_bytes_return(clump_pool *p, uint64_t bytes) {
    p->stats.bytes -= bytes;
    atomic_fetch_sub(&p->account->bytes, bytes);
}

static void count_used(clump_pool *p, const clumpi_chunk *chunk, uint64_t bytes) {
    p->stats.used_bytes += bytes;
    if (!chunk->is_unique) p->chunk_used += bytes;
    if (p->stats.used_bytes > p->stats.used_peak) p->stats.used_peak = p->stats.used_bytes;
}

static void count_unused(clump_pool *p, const clumpi_chunk *chunk, uint64_t bytes) {
    p->stats.used_bytes -= bytes;
    if (!chunk->is_unique) p->chunk_used -= bytes;
}

/* ---- Making and releasing -------------------------------------------------------------------- */

/* Room in the lists of the kind, so that what follows cannot fail. */
static int grow_lists(clump_pool *p, clumpi_kind *k, int is_unique) {
    const clump_allocator *a = &p->allocator;
    if (is_unique)
        return clumpi_grow(a, &k->uniques, &k->uniques_capacity, k->unique_count + 1,
                           sizeof *k->uniques);
    return clumpi_grow(a, &k->chunks, &k->chunks_capacity, k->count + 1, sizeof *k->chunks) &&
           clumpi_grow(a, &k->tops, &k->tops_capacity, k->count + 1, sizeof *k->tops) &&
           clumpi_grow(a, &k->order, &k->order_capacity, k->count + 1, sizeof *k->order);
}

static clump_status fail_host(clump_pool *p) {
    return clumpi_fail(&p->error, CLUMP_ERR_HOST_MEMORY, "no host memory for a chunk");
}

static clump_status make_chunk(clump_pool *p, clumpi_chunk *chunk) {
    clumpi_kind *k = &p->kinds[chunk->memory];
    if (!grow_lists(p, k, chunk->is_unique)) return fail_host(p);
    if (!chunk->is_unique) {
        chunk->ranges.allocator = p->allocator;
        chunk->ranges.fit = p->desc.fit;
        chunk->ranges.unit_shift = p->unit_shift;
        chunk->ranges.units = chunk->bytes >> p->unit_shift;
        if (!clumpi_suballoc_init(&chunk->ranges)) return fail_host(p);
    }
    clump_status status = clumpi_backing_make(p, chunk);
    if (status && !chunk->is_unique) clumpi_suballoc_clear(&chunk->ranges);
    return status;
}

/* A chunk with few sub-buffers has no room that they would leave unused. */
static uint64_t room_for_few(const clump_pool *p, uint64_t bytes) {
    const double units = p->usual * p->context->capabilities.sub_buffers_most + 0.5;
    return units < (double)(bytes >> p->unit_shift) ? (uint64_t)units << p->unit_shift : bytes;
}

clump_status clumpi_chunk_new(clump_pool *p, clump_memory memory, uint64_t units,
                              clumpi_manner manner, clumpi_chunk **chunk) {
    const int is_unique = manner == CLUMPI_UNIQUE;
    uint64_t needed = units << p->unit_shift, bytes = needed;
    if (!is_unique) {
        bytes = clumpi_chunk_bytes_wanted(p, memory);
        if (manner == CLUMPI_WITH_FEW) bytes = room_for_few(p, bytes);
        if (manner == CLUMPI_WITH_FEW && bytes < needed) bytes = needed;
        while (bytes < needed) bytes *= 2; /* of an automatic size: a large one early */
        const uint64_t room = room_left(p);
        if (bytes > room) bytes = room > needed ? room : needed;
    }
    clumpi_chunk *c = clumpi_alloc(&p->allocator, sizeof *c);
    if (!c) return fail_host(p);
    c->memory = memory;
    c->is_unique = is_unique;
    c->bytes = bytes;
    clump_status status = make_chunk(p, c);
    /* An automatic size can be smaller where memory is short. */
    while (status == CLUMP_ERR_DEVICE_MEMORY && !p->desc.chunk_bytes && c->bytes / 2 >= needed &&
           !is_unique && c->bytes > bytes / 8) {
        c->bytes = c->bytes / 2 >> p->unit_shift << p->unit_shift;
        status = make_chunk(p, c);
    }
    if (status) {
        clumpi_free(&p->allocator, c);
        return status;
    }
    clumpi_kind *k = &p->kinds[memory];
    c->serial = p->serial++;
    if (is_unique) {
        c->index = (uint32_t)k->unique_count;
        k->uniques[k->unique_count++] = c;
        p->stats.unique++;
        count_used(p, c, c->bytes);
    } else {
        c->index = (uint32_t)k->count;
        k->order[k->count] = c;
        k->tops[k->count] = clumpi_suballoc_top_bin(&c->ranges);
        k->chunks[k->count++] = c;
        k->empty++;
        p->chunk_bytes_all += c->bytes;
        p->stats.empty_chunks++;
        if (++p->stats.chunks > p->stats.chunks_peak) p->stats.chunks_peak = p->stats.chunks;
    }
    *chunk = c;
    return CLUMP_OK;
}

static void leave_lists(clump_pool *p, clumpi_chunk *c) {
    clumpi_kind *k = &p->kinds[c->memory];
    if (c->is_unique) {
        k->uniques[c->index] = k->uniques[--k->unique_count];
        k->uniques[c->index]->index = c->index;
        p->stats.unique--;
        return;
    }
    size_t after = --k->count - c->index, at = 0;
    memmove(k->chunks + c->index, k->chunks + c->index + 1, after * sizeof *k->chunks);
    memmove(k->tops + c->index, k->tops + c->index + 1, after * sizeof *k->tops);
    for (size_t i = c->index; i < k->count; i++) k->chunks[i]->index = (uint32_t)i;
    while (k->order[at] != c) at++;
    memmove(k->order + at, k->order + at + 1, (k->count - at) * sizeof *k->order);
    p->stats.chunks--;
    p->chunk_bytes_all -= c->bytes;
}

void clumpi_chunk_destroy(clump_pool *p, clumpi_chunk *c) {
    if (c->is_unique) {
        count_unused(p, c, c->bytes);
    } else {
        if (!c->ranges.used_count) {
            p->kinds[c->memory].empty--;
            p->stats.empty_chunks--;
        }
        count_unused(p, c, c->ranges.used_units << p->unit_shift);
        clumpi_suballoc_clear(&c->ranges);
    }
    leave_lists(p, c);
    clumpi_backing_release(p, c);
    clumpi_free(&p->allocator, c);
}

void clumpi_chunks_trim(clump_pool *p) {
    for (int m = 0; m < CLUMP_MEMORY_COUNT; m++)
        for (size_t i = p->kinds[m].count; p->kinds[m].empty && i-- > 0;)
            if (!p->kinds[m].chunks[i]->ranges.used_count)
                clumpi_chunk_destroy(p, p->kinds[m].chunks[i]);
}

/* ---- Room ------------------------------------------------------------------------------------ */

int clumpi_chunk_is_closed(const clump_pool *p, const clumpi_chunk *c) {
    const uint32_t most = p->context->capabilities.sub_buffers_most;
    return c->sub_buffers >= most &&
           (2 * c->ranges.used_units >= c->ranges.units || c->sub_buffers >= 8 * most);
}

/* Also of each chunk that becomes empty: so none that is released was passed. */
static void reopen(clump_pool *p, const clumpi_chunk *c) {
    clumpi_kind *k = &p->kinds[c->memory];
    if (!c->is_unique && c->index < k->passed) k->passed = c->index;
}

void clumpi_chunk_reopen(clump_pool *p, clumpi_chunk *c) {
    c->sub_buffers--;
    reopen(p, c);
}

/* Thousands of chunks may be full; they are not looked at each time. */
static size_t first_open(const clump_pool *p, clumpi_kind *k) {
    while (k->passed < k->count &&
           (!k->tops[k->passed] || clumpi_chunk_is_closed(p, k->chunks[k->passed])))
        k->passed++;
    return k->passed;
}

uint32_t clumpi_chunks_find(clump_pool *p, clump_memory memory, uint64_t units, uint64_t align,
                            clumpi_manner manner, clumpi_chunk **chunk) {
    clumpi_kind *k = &p->kinds[memory];
    clump_fit fit = p->desc.fit;
    const int few = manner == CLUMPI_WITH_FEW;
    const size_t begin = few ? first_open(p, k) : 0;
    uint32_t sure = clumpi_bin_above(units + align - 1), maybe = clumpi_bin_of(units), found = 0;
    if (fit == CLUMP_FIT_GOOD) /* the first chunk that has room for certain */
        for (size_t i = begin; i < k->count; i++) {
            if (k->tops[i] < sure || (few && clumpi_chunk_is_closed(p, k->chunks[i]))) continue;
            *chunk = k->chunks[i];
            return clumpi_suballoc_find(&k->chunks[i]->ranges, units, align);
        }
    uint64_t best = 0;
    for (size_t i = begin; i < k->count; i++) {
        if (k->tops[i] < maybe || (few && clumpi_chunk_is_closed(p, k->chunks[i]))) continue;
        const clump_suballoc *ranges = &k->chunks[i]->ranges;
        uint32_t node = clumpi_suballoc_find(ranges, units, align);
        if (!node) continue;
        uint64_t size = clumpi_node_at(ranges, node)->size;
        if (found && !(fit == CLUMP_FIT_BEST ? size < best : size > best)) continue;
        found = node;
        best = size;
        *chunk = k->chunks[i];
        if (fit == CLUMP_FIT_GOOD || fit == CLUMP_FIT_FIRST) break;
    }
    return found;
}

uint32_t clumpi_chunk_take(clump_pool *p, clumpi_chunk *c, uint32_t free_node, uint64_t at,
                           uint64_t units, uint32_t record) {
    int was_empty = !c->ranges.used_count;
    uint32_t node = clumpi_suballoc_take(&c->ranges, free_node, at, units);
    if (!node) return 0;
    clumpi_node_at(&c->ranges, node)->user_data = (void *)(uintptr_t)record;
    count_used(p, c, units << p->unit_shift);
    p->kinds[c->memory].tops[c->index] = clumpi_suballoc_top_bin(&c->ranges);
    if (was_empty) {
        p->kinds[c->memory].empty--;
        p->stats.empty_chunks--;
    }
    return node;
}

void clumpi_chunk_give(clump_pool *p, clumpi_chunk *c, uint32_t node) {
    clumpi_kind *k = &p->kinds[c->memory];
    k->changes++;
    if (c->is_unique) {
        clumpi_chunk_destroy(p, c);
        return;
    }
    count_unused(p, c, (uint64_t)clumpi_node_at(&c->ranges, node)->size << p->unit_shift);
    clumpi_suballoc_release(&c->ranges, node);
    k->tops[c->index] = clumpi_suballoc_top_bin(&c->ranges);
    reopen(p, c);
    if (c->ranges.used_count) return;
    c->cursor = 0;
    k->empty++;
    p->stats.empty_chunks++;
    if (p->defers_release)
        p->has_surplus = 1;
    else
        clumpi_chunks_release_one(p, k);
}

/* Of several the youngest goes, which is the last in the list. */
int clumpi_chunks_release_one(clump_pool *p, clumpi_kind *k) {
    if (k->empty < 2 && !(k->empty && p->desc.flags & CLUMP_POOL_KEEP_NONE)) return 0;
    size_t i = k->count - 1;
    while (k->chunks[i]->ranges.used_count) i--;
    clumpi_chunk_destroy(p, k->chunks[i]);
    return 1;
}
