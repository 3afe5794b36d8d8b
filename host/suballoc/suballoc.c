/* Suballocators as their users see them: arguments checked, failures in words. See core.c
 * for what happens, check.c for statistics and the check.
 *
 * Read first: suballoc.h.
 */
#include <string.h>

#include "suballoc/nodes.h"

static clump_status check_desc(const clump_suballoc_desc *desc, uint64_t granularity,
                               clump_error *error) {
    const clump_allocator *a = &desc->allocator;
    if (granularity & (granularity - 1))
        return clumpi_fail(error, CLUMP_ERR_USAGE,
                           "the granularity of a suballocator is %llu, but must be a power of two",
                           (unsigned long long)granularity);
    if (desc->bytes < granularity)
        return clumpi_fail(
            error, CLUMP_ERR_USAGE,
            "a suballocator of %llu bytes is too small: at least the granularity, %llu, is needed",
            (unsigned long long)desc->bytes, (unsigned long long)granularity);
    if (desc->bytes / granularity >> CLUMPI_UNITS_BITS)
        return clumpi_fail(
            error, CLUMP_ERR_USAGE,
            "%llu bytes in steps of %llu are too many: fewer than 2^48 steps are possible",
            (unsigned long long)desc->bytes, (unsigned long long)granularity);
    if ((unsigned)desc->fit >= CLUMP_FIT_COUNT)
        return clumpi_fail(error, CLUMP_ERR_USAGE, "unknown fit strategy %d", (int)desc->fit);
    if (!a->allocate != !a->release || !a->allocate != !a->reallocate)
        return clumpi_fail(
            error, CLUMP_ERR_USAGE,
            "clump_allocator: set all three of allocate, reallocate and release, or none");
    return CLUMP_OK;
}

clump_status clump_suballoc_create(const clump_suballoc_desc *given, clump_suballoc **suballoc,
                                   clump_error *error) {
    clump_suballoc_desc desc;
    if (suballoc) *suballoc = NULL;
    if (!given || !suballoc)
        return clumpi_fail(error, CLUMP_ERR_USAGE,
                           "clump_suballoc_create needs a desc and a pointer for the result");
    clump_status status = CLUMPI_TAKE(clump_suballoc_desc, &desc, given, error);
    const uint64_t granularity = desc.granularity ? desc.granularity : 1;
    if (!status) status = check_desc(&desc, granularity, error);
    if (status) return status;
    clump_allocator allocator = clumpi_allocator_resolve(&desc.allocator);
    clump_suballoc *s = clumpi_alloc(&allocator, sizeof *s);
    if (s) {
        s->allocator = allocator;
        s->unit_shift = (uint32_t)__builtin_ctzll(granularity);
        s->units = desc.bytes >> s->unit_shift;
        s->fit = desc.fit;
        s->mark = (uint32_t)(((uintptr_t)s * UINT64_C(0x9E3779B97F4A7C15)) >> 48) << 16;
    }
    if (!s || !clumpi_suballoc_init(s)) {
        clumpi_free(&allocator, s);
        return clumpi_fail(error, CLUMP_ERR_HOST_MEMORY, "no host memory for a suballocator");
    }
    *suballoc = s;
    return CLUMP_OK;
}

void clump_suballoc_destroy(clump_suballoc *s) {
    if (!s) return;
    clumpi_suballoc_clear(s);
    clump_allocator allocator = s->allocator;
    clumpi_free(&allocator, s);
}

const clump_error *clump_suballoc_get_error(const clump_suballoc *s) {
    return s ? &s->error : &clumpi_error_of_null;
}

static clump_range range_of(const clump_suballoc *s, uint32_t node, const clumpi_node *n) {
    return (uint64_t)(s->mark | (uint32_t)n->generation) << 32 | node;
}

/* The node of a range that is in use, or 0. */
static uint32_t node_of(const clump_suballoc *s, clump_range range) {
    uint32_t node = (uint32_t)range;
    if (node >= s->fresh) return 0;
    const clumpi_node *n = clumpi_node_at(s, node);
    return n->state == CLUMPI_NODE_USED && range == range_of(s, node, n) ? node : 0;
}

static __attribute__((noinline, cold)) clump_status fail_range(clump_suballoc *s,
                                                               clump_range range) {
    uint32_t node = (uint32_t)range;
    int known = range >> 48 == s->mark >> 16 && node && node < s->fresh;
    return clumpi_fail(&s->error, CLUMP_ERR_REFERENCE,
                       known ? "range 0x%llx is already freed"
                             : "range 0x%llx does not belong to this suballocator",
                       (unsigned long long)range);
}

/* Words are found elsewhere, so that a call that succeeds keeps no registers for them. */
static __attribute__((noinline, cold)) clump_status fail_request(clump_suballoc *s, uint64_t bytes,
                                                                 uint64_t alignment) {
    return clumpi_fail(&s->error, CLUMP_ERR_USAGE,
                       "%llu bytes at a multiple of %llu are not valid: at least 1 byte, a power "
                       "of two and a pointer for the range are needed",
                       (unsigned long long)bytes, (unsigned long long)alignment);
}

static __attribute__((noinline, cold)) clump_status fail_room(clump_suballoc *s, uint64_t bytes,
                                                              uint64_t alignment) {
    uint64_t unit = UINT64_C(1) << s->unit_shift;
    uint64_t free_bytes = (s->units - s->used_units) << s->unit_shift;
    return clumpi_fail(&s->error, CLUMP_ERR_DEVICE_MEMORY,
                       "%llu bytes at a multiple of %llu do not fit in any of the %llu free ranges "
                       "(%llu bytes in all)",
                       (unsigned long long)bytes,
                       (unsigned long long)(alignment > unit ? alignment : unit),
                       (unsigned long long)s->free_count, (unsigned long long)free_bytes);
}

static __attribute__((noinline, cold)) clump_status fail_memory(clump_suballoc *s) {
    return clumpi_fail(&s->error, CLUMP_ERR_HOST_MEMORY, "no host memory for more ranges");
}

/* All requests except the simple ones. */
static __attribute__((noinline)) clump_status alloc_any(clump_suballoc *s, uint64_t bytes,
                                                        uint64_t alignment, void *user_data,
                                                        clump_range *range, uint64_t *offset) {
    uint64_t units = ((bytes - 1) >> s->unit_shift) + 1, align = alignment >> s->unit_shift;
    align += !align;
    if (align > UINT64_C(1) << CLUMPI_UNITS_BITS) align = UINT64_C(1) << CLUMPI_UNITS_BITS;
    uint32_t node = clumpi_suballoc_find(s, units, align);
    if (!node) return fail_room(s, bytes, alignment);
    uint64_t at = clumpi_node_place(clumpi_node_at(s, node), align);
    uint32_t used = clumpi_suballoc_take(s, node, at, units);
    if (!used) return fail_memory(s);
    clumpi_node_at(s, used)->user_data = user_data;
    *range = range_of(s, used, clumpi_node_at(s, used));
    if (offset) *offset = at << s->unit_shift;
    return CLUMP_OK;
}

clump_status clump_suballoc_alloc(clump_suballoc *s, uint64_t bytes, uint64_t alignment,
                                  void *user_data, clump_range *range, uint64_t *offset) {
    if (range) *range = 0;
    if (!s) return CLUMP_ERR_USAGE;
    if (!range || !bytes || (alignment & (alignment - 1))) return fail_request(s, bytes, alignment);
    uint64_t units = ((bytes - 1) >> s->unit_shift) + 1;
    if (units > s->units) return fail_room(s, bytes, alignment);
    if (s->fit != CLUMP_FIT_GOOD || alignment >> s->unit_shift > 1)
        return alloc_any(s, bytes, alignment, user_data, range, offset);
    /* What most calls need: the beginning of the first node of a bin. */
    uint32_t bin = clumpi_bins_pick(s, units), node = clumpi_bin_node(s->bins[bin]);
    clumpi_node *n = clumpi_node_at(s, node);
    uint64_t back = clumpi_bins_head_size(s, bin) - units, at = n->offset;
    if (!back) {
        *range = range_of(s, node, n);
        if (offset) *offset = at << s->unit_shift;
        clumpi_node_give(s, node, n, units);
        clumpi_bins_pop(s, n, bin);
        n->user_data = user_data;
        return CLUMP_OK;
    }
    uint32_t used = s->unused;
    clumpi_node *u = clumpi_node_at(s, used);
    if (!node || !used) return alloc_any(s, bytes, alignment, user_data, range, offset);
    s->unused = u->next_link;
    *range = range_of(s, used, u);
    if (offset) *offset = at << s->unit_shift;
    u->user_data = user_data;
    clumpi_node_give_front(s, node, n, used, u, units);
    clumpi_bins_cut(s, bin, node, n, units, back);
    return CLUMP_OK;
}

clump_status clump_suballoc_free(clump_suballoc *s, clump_range range) {
    if (!s) return CLUMP_ERR_USAGE;
    if (!range) return CLUMP_OK;
    uint32_t node = node_of(s, range);
    if (!node) return fail_range(s, range);
    if (s->fit == CLUMP_FIT_GOOD)
        clumpi_node_free(s, CLUMP_FIT_GOOD, node);
    else
        clumpi_suballoc_release(s, node);
    return CLUMP_OK;
}

clump_status clump_suballoc_get_info(const clump_suballoc *s, clump_range range,
                                     clump_range_info *info) {
    clump_range_info own = {0};
    if (!s || !info) return CLUMP_ERR_USAGE;
    clump_status status = CLUMPI_PLACE(clump_range_info, info, &((clump_suballoc *)s)->error);
    if (status) return status;
    uint32_t next = clumpi_suballoc_first(s);
    if (range) {
        const uint32_t node = node_of(s, range);
        if (!node) return CLUMP_ERR_REFERENCE;
        const clumpi_node *n = clumpi_node_at(s, node);
        own.offset = (uint64_t)n->offset << s->unit_shift;
        own.bytes = (uint64_t)n->size << s->unit_shift;
        own.user_data = n->user_data;
        next = n->next;
    }
    while (next && clumpi_node_at(s, next)->state != CLUMPI_NODE_USED)
        next = clumpi_node_at(s, next)->next;
    if (next) own.next = range_of(s, next, clumpi_node_at(s, next));
    CLUMPI_GIVE(info, own);
    return CLUMP_OK;
}
