/* Search, prioritisation and selection of moves (Eichinger's thesis 4.1 to 4.3).
 *
 * Eichinger's thesis looks at every pair of an allocation and a free range below it. That is done
 * here as long as there are few pairs. Beyond, a cursor goes over the allocations from the last
 * chunk to the first, a part in each step, and asks a few chunks below for the range that their
 * strategy would take, in constant time.
 *
 * "Below" is what makes steps converge: a chunk with a greater share in use (or, as in Eichinger's
 * thesis, an older one), or a lower offset of the same chunk. With u bytes used of B in a chunk, a
 * move to a chunk whose u / B is at least as great raises the sum of u * u / B; one within a chunk
 * leaves that sum and lowers an offset. So neither can go on for ever, and no state comes back. A
 * single allocation may: to a chunk that others have filled since. Moves under way count as done.
 *
 * Read first: pool.h, include/clump/defrag.h.
 */
#include <stdlib.h>

#include "pool/pool.h"

#define PAIRS_MAX 4096u
#define TARGETS_MAX 4u
#define VISITS_PER_LOOK 64u

typedef struct plan {
    clump_pool *p;
    const clump_defrag_desc *desc;
    const clumpi_plan_limits *limits;
    clumpi_kind *kind;
    double alpha, small, limit, weight;
    int is_unweighted; /* moves are taken as they are found */
    uint64_t bytes;    /* planned */
    uint32_t ops;
} plan;

/* One possible move. */
typedef struct option {
    uint32_t record, free_node;
    clumpi_chunk *to;
    double weight;
    uint32_t number; /* in the order of finding */
} option;

/* ---- Order of chunks ------------------------------------------------------------------------- */

static double share_of(const clumpi_chunk *c) {
    return (double)(c->ranges.used_units - c->leaving_units) / (double)c->ranges.units;
}

static int is_filled_first(const plan *pl, const clumpi_chunk *a, const clumpi_chunk *b) {
    if (pl->desc->order == CLUMP_DEFRAG_OLDEST) return a->index < b->index;
    double x = share_of(a), y = share_of(b);
    return x != y ? x > y : a->index < b->index;
}

/* Little changes between steps, so insertion takes linear time. */
static void order_chunks(const plan *pl) {
    clumpi_kind *k = pl->kind;
    for (size_t i = 1; i < k->count; i++) {
        clumpi_chunk *c = k->order[i];
        size_t at = i;
        for (; at && is_filled_first(pl, c, k->order[at - 1]); at--)
            k->order[at] = k->order[at - 1];
        k->order[at] = c;
    }
    for (size_t i = 0; i < k->count; i++) k->order[i]->rank = (uint32_t)i;
}

static int is_below(const plan *pl, const clumpi_chunk *to, uint64_t at, const clumpi_record *r) {
    const clumpi_chunk *from = r->chunk;
    if (to == from) return at < clumpi_node_at(&from->ranges, r->node)->offset;
    if (pl->desc->order == CLUMP_DEFRAG_OLDEST) return to->index < from->index;
    return to->rank < from->rank && share_of(to) >= share_of(from);
}

/* ---- Weights --------------------------------------------------------------------------------- */

/* h_free: 0 without a gap, `weight` for one that is just too large to ignore, 0 for a
 * useful one. */
static double gap_weight(const plan *pl, double units, const clumpi_chunk *c) {
    double share = units / (double)c->ranges.units;
    if (share <= 0 || share >= pl->limit) return 0;
    if (share <= pl->small) return pl->weight * share / pl->small;
    return pl->weight * (pl->limit - share) / (pl->limit - pl->small);
}

static double size_if_free(const clumpi_chunk *c, uint32_t node) {
    if (!node) return 0;
    const clumpi_node *n = clumpi_node_at(&c->ranges, node);
    return n->state == CLUMPI_NODE_FREE ? (double)n->size : 0;
}

/* Weight of an allocation between two gaps, whose neighbours are `prev` and `next` (0: none):
 * (4.2). */
static double place_weight(const plan *pl, const clumpi_chunk *c, uint64_t at, double before,
                           double after, uint32_t prev, uint32_t next) {
    double w = pl->alpha * (c->rank + (double)at / (double)c->ranges.units);
    if (pl->weight == 0) return w;
    double b = gap_weight(pl, before, c), n = gap_weight(pl, after, c);
    w += b + n;
    if (prev) w += b + gap_weight(pl, size_if_free(c, clumpi_node_at(&c->ranges, prev)->prev), c);
    if (next) w += n + gap_weight(pl, size_if_free(c, clumpi_node_at(&c->ranges, next)->next), c);
    return w;
}

static double weight_before(const plan *pl, const clumpi_record *r) {
    const clumpi_chunk *c = r->chunk;
    const clumpi_node *n = clumpi_node_at(&c->ranges, r->node);
    double before = size_if_free(c, n->prev), after = size_if_free(c, n->next);
    uint32_t prev = before > 0 ? clumpi_node_at(&c->ranges, n->prev)->prev : n->prev;
    uint32_t next = after > 0 ? clumpi_node_at(&c->ranges, n->next)->next : n->next;
    return place_weight(pl, c, n->offset, before, after, prev, next);
}

static double weight_after(const plan *pl, const clumpi_chunk *c, uint32_t free_node, uint64_t at,
                           uint64_t units) {
    const clumpi_node *n = clumpi_node_at(&c->ranges, free_node);
    double before = (double)(at - n->offset), after = (double)n->size - before - (double)units;
    return place_weight(pl, c, at, before, after, n->prev, n->next);
}

/* ---- Options --------------------------------------------------------------------------------- */

static uint64_t units_of(const clumpi_record *r) {
    return clumpi_node_at(&r->chunk->ranges, r->node)->size;
}

/* Look at a free node as a target; keep it if it is the best so far. */
static void weigh(const plan *pl, clumpi_chunk *to, uint32_t free_node, double before,
                  option *best) {
    const clumpi_record *r = clumpi_record_at(pl->p, best->record);
    const clumpi_node *n = clumpi_node_at(&to->ranges, free_node);
    uint64_t units = units_of(r), align = UINT64_C(1) << r->align_log;
    if (!clumpi_node_fits(n, units, align)) return;
    uint64_t at = clumpi_node_place(n, align);
    if (!is_below(pl, to, at, r)) return;
    if (pl->is_unweighted) {
        if (best->free_node) return; /* the first found */
        best->weight = 0;
    } else {
        double weight = weight_after(pl, to, free_node, at, units) - before; /* (4.1) */
        if (best->free_node && weight >= best->weight) return;
        best->weight = weight;
    }
    best->free_node = free_node;
    best->to = to;
}

static int may_move(const plan *pl, uint32_t record) {
    if (!record) return 0;
    const clumpi_record *r = clumpi_record_at(pl->p, record);
    return !r->op && clumpi_record_is_free_to_move(r) && r->ignored_at != pl->p->stats.freed + 1;
}

static uint32_t record_of(const clumpi_node *n) {
    return n->state == CLUMPI_NODE_USED ? (uint32_t)(uintptr_t)n->user_data : 0;
}

/* Reserve the option's target, if it is still there and still below. */
static clump_status select_option(plan *pl, const option *o) {
    clump_pool *p = pl->p;
    clumpi_record *r = clumpi_record_at(p, o->record);
    const clumpi_node *n = clumpi_node_at(&o->to->ranges, o->free_node);
    uint64_t units = units_of(r), align = UINT64_C(1) << r->align_log;
    if (n->state != CLUMPI_NODE_FREE || !clumpi_node_fits(n, units, align)) return CLUMP_OK;
    uint64_t at = clumpi_node_place(n, align);
    if (!is_below(pl, o->to, at, r)) return CLUMP_OK;
    uint32_t node = clumpi_chunk_take(p, o->to, o->free_node, at, units, 0);
    if (!node || !clumpi_op_new(p, o->record, o->to, node))
        return clumpi_fail(&p->error, CLUMP_ERR_HOST_MEMORY, "no host memory for a move");
    pl->bytes += r->bytes;
    pl->ops++;
    return CLUMP_OK;
}

static int is_enough(const plan *pl) {
    return pl->bytes >= pl->limits->bytes || pl->ops >= pl->limits->ops;
}

/* ---- Few pairs: all of them ------------------------------------------------------------------ */

static int by_weight(const void *a, const void *b) {
    const option *x = a, *y = b;
    if (x->weight != y->weight) return x->weight < y->weight ? -1 : 1;
    return x->number < y->number ? -1 : 1;
}

static void weigh_all(const plan *pl, option *best) {
    const clumpi_record *r = clumpi_record_at(pl->p, best->record);
    double before = pl->is_unweighted ? 0 : weight_before(pl, r);
    for (size_t i = 0; i <= r->chunk->rank; i++) {
        clumpi_chunk *c = pl->kind->order[i];
        for (uint32_t node = clumpi_suballoc_first(&c->ranges); node;
             node = clumpi_node_at(&c->ranges, node)->next)
            if (clumpi_node_at(&c->ranges, node)->state == CLUMPI_NODE_FREE)
                weigh(pl, c, node, before, best);
    }
}

static clump_status plan_all(plan *pl, size_t movable) {
    clump_pool *p = pl->p;
    clumpi_kind *k = pl->kind;
    option *options = clumpi_alloc(&p->allocator, movable * sizeof *options);
    if (!options) return clumpi_fail(&p->error, CLUMP_ERR_HOST_MEMORY, "no host memory for a plan");
    uint32_t count = 0;
    for (size_t i = 0; i < k->count; i++) {
        clumpi_chunk *c = k->order[i];
        for (uint32_t node = clumpi_suballoc_first(&c->ranges); node;
             node = clumpi_node_at(&c->ranges, node)->next) {
            option o = {.record = record_of(clumpi_node_at(&c->ranges, node)), .number = count};
            if (!may_move(pl, o.record)) continue;
            weigh_all(pl, &o);
            if (o.free_node) options[count++] = o;
        }
    }
    if (!pl->is_unweighted) qsort(options, count, sizeof *options, by_weight);
    clump_status status = CLUMP_OK;
    for (uint32_t i = 0; !status && i < count && !is_enough(pl); i++)
        status = select_option(pl, &options[i]);
    clumpi_free(&p->allocator, options);
    if (!status && !count) k->settled = k->changes + 1;
    return status;
}

/* ---- Many: a part in each step --------------------------------------------------------------- */

static void weigh_some(const plan *pl, option *best) {
    const clumpi_kind *k = pl->kind;
    const clumpi_record *r = clumpi_record_at(pl->p, best->record);
    uint64_t units = units_of(r), align = UINT64_C(1) << r->align_log;
    uint32_t sure = clumpi_bin_above(units + align - 1);
    double before = pl->is_unweighted ? 0 : weight_before(pl, r);
    for (size_t i = 0, tried = 0; i <= r->chunk->rank && tried < TARGETS_MAX; i++) {
        clumpi_chunk *c = k->order[i];
        if (k->tops[c->index] < sure) continue;
        uint32_t node = clumpi_suballoc_find(&c->ranges, units, align);
        if (!node) continue;
        tried++;
        weigh(pl, c, node, before, best);
    }
}

/* Go on in one chunk, downwards. Returns 1 when its first node is reached. */
static int scan_chunk(plan *pl, clumpi_chunk *c, clump_status *status) {
    uint32_t node = c->cursor, visits = 0;
    /* The node of the cursor may mean something else by now; then the scan is only less even. */
    if (!node || clumpi_node_at(&c->ranges, node)->state == CLUMPI_NODE_UNUSED)
        node = clumpi_suballoc_last(&c->ranges);
    for (; node; node = clumpi_node_at(&c->ranges, node)->prev) {
        option o = {.record = record_of(clumpi_node_at(&c->ranges, node))};
        if (may_move(pl, o.record)) weigh_some(pl, &o);
        if (o.free_node) *status = select_option(pl, &o);
        if (*status || is_enough(pl)) break;
        if (++visits % VISITS_PER_LOOK == 0 && clumpi_now_ns() > pl->limits->deadline_ns) break;
    }
    c->cursor = node;
    return !node;
}

static clump_status plan_some(plan *pl) {
    clumpi_kind *k = pl->kind;
    clump_status status = CLUMP_OK;
    if (k->scan_at == 0) k->scan_changes = k->changes;
    uint32_t ops = pl->ops;
    while (k->scan_at < k->count) {
        clumpi_chunk *c = k->order[k->count - 1 - k->scan_at];
        if (c->movable && !scan_chunk(pl, c, &status)) break;
        k->scan_at++;
        if (clumpi_now_ns() > pl->limits->deadline_ns) break;
    }
    if (pl->ops != ops) k->changes++; /* what was found makes this pass worth another */
    if (k->scan_at < k->count) return status;
    k->scan_at = 0;
    if (k->scan_changes == k->changes) k->settled = k->changes + 1;
    return status;
}

/* ---- Packing a chunk anew ------------------------------------------------------------------- */

/* Holes that nothing fits into keep chunks from becoming empty. When there is nothing else to do,
 * the chunk with the most in such holes is copied into the empty one, without them; what it then
 * has in one piece, others can fill. This leaves the sum of u * u / B and lowers offsets, like a
 * move within a chunk.
 *
 * Only where it helps: if at least a chunk would become free if all were packed, and the waste is
 * PACKED_WASTE or more. */
#define PACKED_WASTE 0.1

/* Units in all free ranges except the largest, if everything in the chunk may move; else 0. */
static uint64_t scattered_units(const plan *pl, const clumpi_chunk *c) {
    const clump_suballoc *ranges = &c->ranges;
    uint64_t largest = 0;
    if (c->movable != ranges->used_count || ranges->free_count < 2) return 0;
    for (uint32_t i = clumpi_suballoc_first(ranges); i; i = clumpi_node_at(ranges, i)->next) {
        const clumpi_node *n = clumpi_node_at(ranges, i);
        if (n->state == CLUMPI_NODE_FREE) {
            if (n->size > largest) largest = n->size;
            continue;
        }
        uint32_t record = record_of(n);
        if (!may_move(pl, record) || clumpi_record_at(pl->p, record)->align_log) return 0;
    }
    return ranges->units - ranges->used_units - largest;
}

static clumpi_chunk *choose_scattered(const plan *pl, const clumpi_chunk *empty) {
    clumpi_chunk *chosen = NULL;
    uint64_t most = 0;
    for (size_t i = 0; i < pl->kind->count; i++) {
        clumpi_chunk *c = pl->kind->chunks[i];
        if (!c->ranges.used_count || c->ranges.used_units > empty->ranges.units ||
            c->ranges.used_count > pl->limits->ops - pl->ops)
            continue;
        uint64_t units = scattered_units(pl, c);
        if (units <= most) continue;
        most = units;
        chosen = c;
    }
    return chosen;
}

/* The empty chunk to pack into, if it is worth while. */
static clumpi_chunk *choose_empty(const plan *pl) {
    clumpi_chunk *empty = NULL;
    uint64_t used = 0, all = 0, least = UINT64_MAX;
    for (size_t i = 0; i < pl->kind->count; i++) {
        clumpi_chunk *c = pl->kind->chunks[i];
        uint64_t units = c->ranges.units;
        if (!c->ranges.used_count) {
            if (!empty || units > empty->ranges.units) empty = c;
            continue;
        }
        used += c->ranges.used_units;
        all += units;
        if (units < least) least = units;
    }
    int helps = all && used + least <= all && (double)(all - used) >= PACKED_WASTE * (double)all;
    return helps ? empty : NULL;
}

static clump_status plan_repack(plan *pl) {
    clump_pool *p = pl->p;
    clumpi_chunk *to = choose_empty(pl);
    clumpi_chunk *from = to ? choose_scattered(pl, to) : NULL;
    if (!from) return CLUMP_OK;
    pl->kind->changes++;
    for (uint32_t i = clumpi_suballoc_first(&from->ranges); i;
         i = clumpi_node_at(&from->ranges, i)->next) {
        uint32_t record = record_of(clumpi_node_at(&from->ranges, i));
        if (!record) continue;
        uint64_t units = clumpi_node_at(&from->ranges, i)->size;
        uint32_t room = clumpi_suballoc_find(&to->ranges, units, 1); /* one piece: always there */
        uint64_t at = clumpi_node_at(&to->ranges, room)->offset;
        uint32_t node = clumpi_chunk_take(p, to, room, at, units, 0);
        if (!node || !clumpi_op_new(p, record, to, node))
            return clumpi_fail(&p->error, CLUMP_ERR_HOST_MEMORY, "no host memory for a move");
        pl->bytes += clumpi_record_at(p, record)->bytes;
        pl->ops++;
    }
    return CLUMP_OK;
}

/* ---- All kinds ------------------------------------------------------------------------------- */

static clump_status plan_kind(plan *pl) {
    clumpi_kind *k = pl->kind;
    if (k->settled == k->changes + 1) return CLUMP_OK;
    size_t movable = 0, free_ranges = 0;
    for (size_t i = 0; i < k->count; i++) {
        movable += k->chunks[i]->movable;
        free_ranges += k->chunks[i]->ranges.free_count;
    }
    if (!movable || !free_ranges) {
        k->settled = k->changes + 1;
        return CLUMP_OK;
    }
    order_chunks(pl);
    return movable * free_ranges <= PAIRS_MAX ? plan_all(pl, movable) : plan_some(pl);
}

clump_status clumpi_plan(clump_pool *p, const clump_defrag_desc *d,
                         const clumpi_plan_limits *limits) {
    plan pl = {.p = p, .desc = d, .limits = limits, .alpha = 1, .small = 0.001, .limit = 0.01};
    const clump_defrag_weights *w = d->weights;
    if (w) {
        pl.alpha = w->location;
        pl.weight = w->free;
        pl.is_unweighted = w->location == 0 && w->free == 0;
    }
    if (w && w->free_small > 0) {
        pl.small = w->free_small;
        pl.limit = w->free_limit;
    }
    clump_status status = CLUMP_OK;
    for (int m = 0; !status && m < CLUMP_MEMORY_COUNT && !is_enough(&pl); m++) {
        pl.kind = &p->kinds[m];
        status = plan_kind(&pl);
        int is_settled = pl.kind->settled == pl.kind->changes + 1;
        if (!status && is_settled && !p->op_count && d->order == CLUMP_DEFRAG_FULLEST)
            status = plan_repack(&pl);
    }
    return status;
}

int clumpi_plan_is_settled(const clump_pool *p) {
    for (int m = 0; m < CLUMP_MEMORY_COUNT; m++)
        if (p->kinds[m].count && p->kinds[m].settled != p->kinds[m].changes + 1) return 0;
    return 1;
}
