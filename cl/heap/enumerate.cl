/* Lists of the non-empty rows of all classes, for do-alls, and the reservations for what kernels
 * make: two launches, no readback.
 *
 * The list is ordered by class id, and within a class by address; begin[c] .. begin[c+1]-1 are the
 * rows of class c, so a class with its subclasses is one range. Each entry has the row's granule
 * and its bitmap as it was: a do-all sees the objects that existed when it was launched.
 *
 * If `numbered`, also the number of each row's first object in the order of the list, and for each
 * class full[c], where its first row with a hole stands, or its end: up to there an object's number
 * alone says where it is.
 *
 * Read first: scan.clh, chunk.clh, reserve.clh, cl/heap/layout.h; docs/internals/heap.md.
 */
#include "cl/heap/chunk.clh"
#include "cl/heap/reserve.clh"

/* counts[group][class]. All of it is words that are added up, so loops go by words. */
#define COUNT_WORDS (sizeof(clumpi_list_tally) / 4u)
static inline __global uint *list_counts(const clumpi_view *v, uint group) {
    return clumpi_words_at(v, v->header->at_scan) +
           group * (v->header->class_count + 1) * COUNT_WORDS;
}

static inline uint list_is_free(uint state) {
    return clumpi_credits_of_state(state) == 0;
}

/* Are all slots of a block in use? Then nobody looks at its rows. Credits count reserved slots,
 * too, until the first launch has counted the objects. */
static inline uint list_is_full(uint state, uint rows) {
    return !list_is_free(state) && clumpi_credits_of_state(state) == rows * 64u;
}

/* Rows of a block that work-items look at, of the most rows that a block has. Where a team has one
 * for each row, it looks at CLUMPI_LOOK blocks together: none of these loads waits for another. So
 * a block with fewer rows than others has some that are none. */
static inline uint list_rows(uint rows, uint most) {
    return CLUMPI_LOOK > 1u ? most : rows;
}

/* What the kernels need of the header for each row. */
typedef struct list_heap {
    uint block_granules, rows_max;
    uint tail; /* behind the rows of the list, less where empty rows begin in the list of slots */
    __global uint *rows, *index, *slots;
    __global ulong *masks;
    __global clumpi_striped *striped;
} list_heap;
static inline list_heap list_heap_of(const clumpi_view *v) {
    list_heap h = {v->header->block_granules,
                   v->header->block_rows_max,
                   0u,
                   clumpi_words_at(v, v->header->at_list_rows),
                   clumpi_words_at(v, v->header->at_list_index),
                   clumpi_words_at(v, v->header->at_slots),
                   (__global ulong *)clumpi_words_at(v, v->header->at_list_masks),
                   (__global clumpi_striped *)clumpi_words_at(v, v->header->at_striped)};
    return h;
}
static inline uint list_granule(list_heap h, uint block, uint kind, uint row) {
    return block * h.block_granules + row * (kind >> 8);
}

/* Count the blocks of a tile, whose states are at hand. Those with slots in stripes get their true
 * credits. */
CLUMPI_LOCAL_INLINED void list_count_tile(const clumpi_view *v, list_heap h,
                                          __local const uint *kinds, __local const uint *states,
                                          __local reserve_tile *tile, uint first, uint blocks,
                                          const clumpi_team *team,
                                          __local clumpi_list_tally *counts, __local uint *gave) {
    uint me = (uint)get_local_id(0), items = (uint)get_local_size(0);
    CLUMPI_BARRIER(CLK_LOCAL_MEM_FENCE);
    CLUMPI_ROLLED for (uint b = me; b < blocks; b += items) {
        tile->state[b] = states[b];
        tile->sums[b] = 0;
    }
    CLUMPI_BARRIER(CLK_LOCAL_MEM_FENCE);
    CLUMPI_ROLLED for (uint b = team->index; b < blocks; b += CLUMPI_LOOK * team->count) {
        uint rows = list_rows(chunk_rows(kinds[clumpi_class_of_state(tile->state[b])]), h.rows_max);
        CLUMPI_ROLLED for (uint row = team->member; row < rows; row += team->size) {
            ulong bits[CLUMPI_LOOK];
            for (uint k = 0; k < CLUMPI_LOOK; k++) {
                uint at = b + k * team->count, state = at < blocks ? tile->state[at] : 0u;
                uint kind = kinds[clumpi_class_of_state(state)], has = chunk_rows(kind);
                bits[k] = row < has && !list_is_free(state) && !chunk_is_full(state, has)
                              ? clumpi_row_bits(v, list_granule(h, first + at, kind, row))
                              : 0ul;
            }
            for (uint k = 0; k < CLUMPI_LOOK; k++)
                reserve_add_row(tile, b + k * team->count, bits[k]);
        }
    }
    CLUMPI_BARRIER(CLK_LOCAL_MEM_FENCE);
    CLUMPI_ROLLED for (uint b = me; b < blocks; b += items) {
        uint state = tile->state[b], class_id = clumpi_class_of_state(state),
             credits = reserve_credits(tile, b), all = chunk_rows(kinds[class_id]);
        if (state & CLUMPI_STRIPED) {
            v->states[first + b] = (state & ~CLUMPI_CREDIT_MASK) | credits;
            gave[0] = 1;
        }
        if (credits == 0) {
            atomic_inc(&counts[0].empty);
            continue;
        }
        uint rows = chunk_is_full(state, all) ? all : tile->sums[b] >> 8 & 0xffu;
        atomic_add(&counts[class_id].rows, rows);
        if (tile->sums[b] & 0xffu) atomic_add(&counts[class_id].partial, tile->sums[b] & 0xffu);
        atomic_add(&counts[class_id].objects, credits);
        if (rows < all) atomic_add(&counts[class_id].empty, all - rows);
    }
}

/* Count a tile of blocks that are full. */
CLUMPI_LOCAL_INLINED void list_count_full(uint rows, __local clumpi_list_tally *count) {
    atomic_add(&count->rows, CLUMPI_TILE * rows);
    atomic_add(&count->objects, CLUMPI_TILE * rows * 64u);
}

/* Count. Blocks with slots in stripes get their true credits; the second launch takes
 * CLUMPI_STRIPED from them, and their class if they have no objects, along with the hints. */
/* how: CLUMPI_LIST_..., the same for both launches. */
__kernel void clumpi_list_count(__global uchar *heap, uint header_at, uint how) {
    __local clumpi_list_tally counts[CLUMPI_CLASS_IDS];
    __local uint kinds[CLUMPI_CLASS_IDS], gave[1];
    __local chunk_states states[1];
    __local reserve_tile tile[1];
    __local chunk_scratch scratch[1];
    clumpi_view v = clumpi_view_of(heap, header_at);
    uint me = (uint)get_local_id(0), items = (uint)get_local_size(0);
    uint words = (v.header->class_count + 1) * COUNT_WORDS;
    __local uint *count_words = (__local uint *)counts;
    const list_heap h = list_heap_of(&v);
    reserve_learn(&v, how & CLUMPI_LIST_TURN);
    chunk_kinds(&v, kinds);
    CLUMPI_ROLLED for (uint i = me; i < words; i += items) count_words[i] = 0;
    if (me == 0) gave[0] = 0;
    clumpi_range chunk = list_chunk(&v, scratch, how);
    clumpi_team team = clumpi_team_of(h.rows_max);
    CLUMPI_ROLLED for (uint look = chunk.begin; look < chunk.end; look += CHUNK_LOOK) {
        uint look_end = min(look + CHUNK_LOOK, chunk.end), free_blocks = look_end - look;
        /* bound: CHUNK_LOOK / CLUMPI_TILE */
        CLUMPI_ROLLED for (uint left = chunk_look(&v, look, look_end, kinds, states); left;
                           left &= left - 1u) {
            uint number = clumpi_lowest32(left), first = look + number * CLUMPI_TILE,
                 blocks = min(CLUMPI_TILE, look_end - first), full = chunk_full_of(states, number);
            free_blocks -= blocks;
            /* No barrier is behind a branch (docs/portability.md, "PoCL: branches with
             * barriers"). */
            list_count_tile(&v, h, kinds, &states->state[first - look], tile, first,
                            full ? 0u : blocks, &team, counts, gave);
            if (full && me == 0) list_count_full(chunk_rows(kinds[full]), &counts[full]);
        }
        if (me == 0) atomic_add(&counts[0].empty, free_blocks);
    }
    CLUMPI_BARRIER(CLK_LOCAL_MEM_FENCE);
    CLUMPI_ROLLED for (uint i = me; i < words; i += items)
        list_counts(&v, (uint)get_group_id(0))[i] = count_words[i];
    CLUMPI_ROLLED for (uint c = me; c <= v.header->class_count; c += items) {
        const clumpi_list_tally n = counts[c];
        if (n.rows | n.partial | n.objects | n.empty)
            atomic_or(&v.header->list_present[how & CLUMPI_LIST_TURN][c / 32u], 1u << c % 32u);
    }
    if (me == 0 && gave[0]) clumpi_room_appeared(clumpi_home_of(&v));
    if (get_global_id(0) == 0)
        v.header->list_covers = CLUMPI_NONE; /* the second launch lowers it */
    if (!(how & CLUMPI_LIST_NUMBERED) || get_group_id(0) != 0) return;
    CLUMPI_ROLLED for (uint c = me; c <= v.header->class_count; c += items)
        clumpi_words_at(&v, v.header->at_list_full)[c] = CLUMPI_NONE;
}

/* Of words of header.list_present: the class of bit number `number`, or CLUMPI_NONE. */
static inline uint list_present_class(const uint *present, uint number) {
    uint class_id = CLUMPI_NONE;
    for (uint w = 0; w < CLUMPI_CLASS_IDS / 32u; w++) {
        uint bits = (uint)popcount(present[w]);
        if (number < bits) class_id = w * 32u + clumpi_nth_bit(present[w], number);
        number = number < bits ? CLUMPI_NONE : number - bits;
    }
    return class_id;
}

CLUMPI_LOCAL_INLINED void list_add(__local clumpi_list_tally *to, uint4 n) {
    if (n.x) atomic_add(&to->rows, n.x);
    if (n.y) atomic_add(&to->partial, n.y);
    if (n.z) atomic_add(&to->objects, n.z);
    if (n.w) atomic_add(&to->empty, n.w);
}

/* The counts of the groups before this one in `before`, those of all in `all`. Of more than
 * LIST_FEW classes only those that some group has: a heap with raw memory has dozens of classes,
 * and each group would read the counts of each of them by each group. Several work-items share a
 * class, and each of them loads as many counts as it waits for together. All call together. */
#define LIST_FEW 12u /* with class 0 */
#define LIST_COUNTS 8u
CLUMPI_LOCAL_INLINED void list_sum(const clumpi_view *v, uint turn,
                                   __local clumpi_list_tally *before,
                                   __local clumpi_list_tally *all) {
    uint me = (uint)get_local_id(0), items = (uint)get_local_size(0);
    uint groups = (uint)get_num_groups(0), sets = v->header->class_count + 1u;
    uint few = sets <= LIST_FEW, classes = few ? sets : 0u;
    __global const uint4 *counts = (__global const uint4 *)list_counts(v, 0);
    uint present[CLUMPI_CLASS_IDS / 32u];
    for (uint w = 0; w < CLUMPI_CLASS_IDS / 32u; w++) {
        present[w] = few ? 0u : v->header->list_present[turn][w];
        classes += (uint)popcount(present[w]);
    }
    CLUMPI_ROLLED for (uint i = me; i < sets * COUNT_WORDS; i += items)((__local uint *)before)[i] =
        ((__local uint *)all)[i] = 0;
    CLUMPI_BARRIER(CLK_LOCAL_MEM_FENCE);
    uint parts = max(min(items / max(classes, 1u), groups / LIST_COUNTS), 1u);
    CLUMPI_ROLLED for (uint i = me; i < classes * parts; i += items) {
        uint number = i % classes, part = i / classes;
        uint c = few ? number : list_present_class(present, number);
        uint4 sum = (uint4)(0u), sum_before = (uint4)(0u);
        CLUMPI_ROLLED for (uint g = part; g < groups; g += LIST_COUNTS * parts) {
            uint4 n[LIST_COUNTS]; /* none of these loads waits for another */
            for (uint k = 0; k < LIST_COUNTS; k++)
                n[k] = g + k * parts < groups ? counts[(g + k * parts) * sets + c] : (uint4)(0u);
            for (uint k = 0; k < LIST_COUNTS; k++) {
                sum += n[k];
                if (g + k * parts < (uint)get_group_id(0)) sum_before += n[k];
            }
        }
        list_add(&all[c], sum);
        list_add(&before[c], sum_before);
    }
    CLUMPI_BARRIER(CLK_LOCAL_MEM_FENCE);
}

/* The counts of the groups before this one in `place`, those of all in `totals`, holes before it in
 * `hole_place`. Then rows, partial rows and objects get numbers across classes: where those of each
 * class begin is added, for rows also in begin[]; where its rows end is in `full`. */
CLUMPI_LOCAL_INLINED void list_places(const clumpi_view *v, uint turn,
                                      __local clumpi_list_tally *place,
                                      __local clumpi_list_tally *totals, __local uint *hole_place,
                                      __local uint *full) {
    uint me = (uint)get_local_id(0), items = (uint)get_local_size(0);
    uint classes = v->header->class_count, added = 1;
    clumpi_list_tally sum = {0, 0, 0, 0}; /* of the classes before `added` */
    __global uint *begin = clumpi_words_at(v, v->header->at_list_begin);
    list_sum(v, turn, place, totals);
    CLUMPI_ROLLED for (uint c = 1 + me; c <= classes + 1u; c += items) {
        CLUMPI_ROLLED for (; added < c; added++) {
            sum.rows += totals[added].rows;
            sum.partial += totals[added].partial;
            sum.objects += totals[added].objects;
        }
        if (get_group_id(0) == 0) begin[c] = sum.rows;
        if (c > classes) continue;
        hole_place[c] = place[c].rows * 64u - place[c].objects;
        place[c].rows += sum.rows;
        place[c].partial += sum.partial;
        place[c].objects += sum.objects;
        full[c] = sum.rows + totals[c].rows;
    }
    CLUMPI_BARRIER(CLK_LOCAL_MEM_FENCE);
}

#define LIST_PART 4u /* blocks of a tile that a work-item sums up */
#define LIST_OCTETS (CLUMPI_ROWS_MAX / 8u)
#define LIST_EMPTY 255u /* instead of a number of holes: the row is empty */

/* A block of the tile, in local memory. */
typedef struct list_block {
    uint state;              /* before */
    uint filled[2];          /* mask of its non-empty rows, */
    uint partial[2];         /* and of those of them with a hole */
    uint holes[LIST_OCTETS]; /* of these, in each octet of rows */
    uint kind;               /* the class that it counts for: 0 if it is free */
    clumpi_list_tally adds;  /* what it adds to the counts of that */
    /* numbers of its first row, and so on; of a free block: its own in at.empty */
    clumpi_list_tally at;
    uint hole;  /* number of its first hole, within its class */
    uint owner; /* of a free block: the class that it is reserved for, or 0 */
    /* number of its first empty row, within its class or its owner's reservation */
    uint row;
} list_block;

CLUMPI_LOCAL_INLINED ulong list_mask(__local const uint *words) {
    return (ulong)words[1] << 32 | words[0];
}
CLUMPI_LOCAL_INLINED uint list_count_of(__local const uint *words) {
    return popcount(words[0]) + popcount(words[1]);
}

/* Eight rows of a block of a class with so many rows. */
CLUMPI_LOCAL_INLINED void list_octet(__local list_block *b, uint rows, uint octet,
                                     __local const uchar *holes) {
    uint filled = 0, partial = 0, sum = 0, first = octet * 8u;
    uint is_full = list_is_full(b->state, rows);
    if (list_is_free(b->state)) rows = 0;
    if (is_full && first < rows) filled = (1u << min(8u, rows - first)) - 1u;
    for (uint i = 0; i < 8u && first + i < rows && !is_full; i++) {
        uint here = holes[i];
        if (here == LIST_EMPTY) continue;
        filled |= 1u << i;
        if (here) partial |= 1u << i;
        sum += here;
    }
    b->holes[octet] = sum;
    if (filled) atomic_or(&b->filled[first >> 5], filled << (first & 31u));
    if (partial) atomic_or(&b->partial[first >> 5], partial << (first & 31u));
}

/* Holes of a block before a row. */
CLUMPI_LOCAL_INLINED uint list_holes_before(__local const list_block *b, __local const uchar *holes,
                                            uint row) {
    uint sum = 0;
    for (uint octet = 0; octet < row >> 3; octet++) sum += b->holes[octet];
    CLUMPI_ROLLED for (uint i = row & ~7u; i < row; i++) sum +=
        holes[i] == LIST_EMPTY ? 0u : holes[i];
    return sum;
}

CLUMPI_LOCAL_INLINED uint list_holes(__local const list_block *b) {
    return b->adds.rows * 64u - b->adds.objects;
}

/* What a block adds to the counts, once its rows were looked at; and where its class stands before
 * the tile. skipped: free blocks before the tile that `place` does not have yet. */
CLUMPI_LOCAL_INLINED void list_begin(__local const uint *kinds, __local list_block *b,
                                     __local const clumpi_list_tally *place,
                                     __local const uint *hole_place, uint skipped) {
    clumpi_list_tally n = {0, 0, 0, 1};
    b->kind = list_is_free(b->state) ? 0u : clumpi_class_of_state(b->state);
    if (b->kind) {
        n.rows = list_count_of(b->filled);
        n.partial = list_count_of(b->partial);
        n.objects = clumpi_credits_of_state(b->state);
        n.empty = chunk_rows(kinds[b->kind]) - n.rows;
    }
    b->adds = n;
    b->at = place[b->kind];
    if (b->kind == 0) b->at.empty += skipped;
    b->hole = hole_place[b->kind];
}

/* The blocks before a block in the tile count for its numbers: those of one part of the tile. */
CLUMPI_LOCAL_INLINED void list_before(__local list_block *tile, uint b, uint part) {
    clumpi_list_tally n = {0, 0, 0, 0};
    uint holes = 0, begin = part * LIST_PART, end = min(begin + LIST_PART, b);
    CLUMPI_ROLLED for (uint i = begin; i < end; i++) {
        if (tile[i].kind != tile[b].kind) continue;
        n.rows += tile[i].adds.rows;
        n.partial += tile[i].adds.partial;
        n.objects += tile[i].adds.objects;
        n.empty += tile[i].adds.empty;
        holes += list_holes(&tile[i]);
    }
    if (n.empty) atomic_add(&tile[b].at.empty, n.empty);
    if (n.rows == 0) return;
    atomic_add(&tile[b].at.rows, n.rows);
    atomic_add(&tile[b].at.partial, n.partial);
    atomic_add(&tile[b].at.objects, n.objects);
    atomic_add(&tile[b].hole, holes);
}

/* Of the group's blocks. */
typedef struct list_blocks {
    uint opened; /* free ones that it reserved */
    uint used;   /* after the last one that is in use or reserved; 0: none is */
} list_blocks;

/* How many of `count` things from number `first` on are below `end`. */
static inline uint list_below(uint first, uint count, uint end) {
    return first < end ? min(count, end - first) : 0u;
}

/* Reserve a numbered block, or some of its slots. */
CLUMPI_LOCAL_INLINED void list_reserve(const clumpi_view *v, list_heap h, __local const uint *kinds,
                                       __local list_block *b, uint first, uint block,
                                       __local const reserve_plan *plans,
                                       __local reserve_hints *hints, __local list_blocks *blocks) {
    uint now = b->state, holes = 0, rows = 0, kind = b->kind;
    b->owner = 0;
    if (kind) {
        holes = list_below(b->hole, list_holes(b), plans[kind].hole_rows * 64u);
        rows = list_below(b->at.empty, b->adds.empty, plans[kind].empty_rows);
        b->row = b->at.empty;
        now &= ~CLUMPI_STRIPED;
    } else {
        now = 0;
        b->owner = kind = reserve_class_of(v, plans, b->at.empty);
        if (kind) {
            const reserve_plan p = plans[kind];
            now = kind << CLUMPI_CLASS_SHIFT;
            rows = chunk_rows(kinds[kind]);
            if (b->state == 0) atomic_inc(&blocks->opened);
            b->row = p.empty_rows + reserve_turn(b->at.empty - p.blocks_at, p.blocks) * rows;
        }
    }
    if (holes | rows) {
        const clumpi_striped s = {b->hole, plans[kind].hole_rows + b->row,
                                  holes << 16 | rows * 64u};
        h.striped[block] = s;
        now = (now + holes + rows * 64u) | CLUMPI_STRIPED;
    }
    if (now) atomic_max(&blocks->used, block + 1u);
    reserve_settle(v, hints, first, block, b->state, now);
}

/* The bitmap of a row, once its block's rows were looked at; 0 if it has no objects. */
CLUMPI_LOCAL_INLINED ulong list_bits(const clumpi_view *v, list_heap h, __local const uint *kinds,
                                     __local const list_block *b, uint block, uint row) {
    uint kind = kinds[b->kind];
    if (!(list_mask(b->filled) >> row & 1ul)) return 0ul;
    if (list_is_full(b->state, chunk_rows(kind))) return ~0ul;
    return clumpi_row_bits(v, list_granule(h, block, kind, row));
}

/* A row with objects goes to the list. before: holes in its block before it. */
CLUMPI_LOCAL_INLINED void list_filled(list_heap h, uint numbered, __local const list_block *b,
                                      uint granule, uint row, ulong bits, uint before,
                                      __local const reserve_plan *p, __local uint *full) {
    ulong below = (1ul << row) - 1ul;
    uint rows_before = clumpi_popcount64(list_mask(b->filled) & below),
         at = b->at.rows + rows_before;
    h.rows[at] = granule;
    h.masks[at] = bits;
    if (numbered) h.index[at] = b->at.objects + rows_before * 64u - before;
    if (~bits == 0) return;
    if (numbered) atomic_min(full, at);
    uint partial = b->at.partial + clumpi_popcount64(list_mask(b->partial) & below);
    uint hole = b->hole + before, end = hole + 64u - clumpi_popcount64(bits);
    h.slots[partial] = at;
    end = min((end + CLUMPI_HOLES - 1u) / CLUMPI_HOLES,
              p->hole_rows * (CLUMPI_ROW_SLOTS / CLUMPI_HOLES));
    /* entries that begin here: 4 at most */
    CLUMPI_ROLLED for (uint i = (hole + CLUMPI_HOLES - 1u) / CLUMPI_HOLES; i < end; i++)
        h.slots[p->holes_at + i] = partial << 6 | (i * CLUMPI_HOLES - hole);
}

/* A row of a block goes to its list. */
CLUMPI_LOCAL_INLINED void list_give_row(list_heap h, uint numbered, __local const uint *kinds,
                                        __local const list_block *b, uint block, uint row,
                                        ulong bits, __local const uchar *holes,
                                        __local const reserve_plan *plans, __local uint *full) {
    uint class_id = b->kind ? b->kind : b->owner, rows = chunk_rows(kinds[class_id]);
    if (class_id == 0 || row >= rows) return;
    __local const reserve_plan *p = &plans[class_id];
    uint granule = list_granule(h, block, kinds[class_id], row);
    if (bits) {
        uint before = list_is_full(b->state, rows) ? 0u : list_holes_before(b, holes, row);
        list_filled(h, numbered, b, granule, row, bits, before, p, &full[class_id]);
    } else {
        uint empty = b->owner
                         ? b->row + row
                         : b->row + clumpi_popcount64(~list_mask(b->filled) & ((1ul << row) - 1ul));
        if (!b->owner && empty >= p->empty_rows) return;
        h.slots[p->rows_at + empty] = granule << 6;
        h.rows[h.tail + p->rows_at + empty] = granule;
    }
}

/* The rows of a tile of blocks that are full: nothing is reserved in it, and its states stay.
 * before: what is in the list before it, of its class. */
CLUMPI_LOCAL_INLINED void list_write_full(list_heap h, uint numbered, uint kind, uint first,
                                          const clumpi_team *team, clumpi_list_tally before) {
    uint rows = chunk_rows(kind);
    CLUMPI_ROLLED for (uint b = team->index; b < CLUMPI_TILE; b += team->count) {
        CLUMPI_ROLLED for (uint row = team->member; row < rows; row += team->size) {
            uint number = b * rows + row;
            h.rows[before.rows + number] = list_granule(h, first + b, kind, row);
            h.masks[before.rows + number] = ~0ul;
            if (numbered) h.index[before.rows + number] = before.objects + number * 64u;
        }
    }
}

/* Where the reserved rows of each class begin that have no objects. */
CLUMPI_LOCAL_INLINED void list_reserved(const clumpi_view *v, __local const uint *kinds,
                                        __local const reserve_plan *plans, uint rows) {
    uint me = (uint)get_local_id(0), items = (uint)get_local_size(0), added = 1;
    __global uint *begin = clumpi_words_at(v, v->header->at_list_reserved);
    CLUMPI_ROLLED for (uint c = 1 + me; c <= v->header->class_count + 1u; c += items) {
        CLUMPI_ROLLED for (; added < c; added++) rows +=
            plans[added].empty_rows + plans[added].blocks * chunk_rows(kinds[added]);
        begin[c] = rows;
    }
}

/* work_items: those of the kernel that the list is made for, if that may make objects. neighbours:
 * how many warps or, where work-items are alone, work-groups these are, or more. window: launches
 * that asked since the last list << 8 | the kernel frees nothing << 7 | launches that this one is
 * for (reserve.clh). */
__kernel void clumpi_list_write(__global uchar *heap, uint header_at, uint how, uint work_items,
                                uint neighbours, uint window) {
    __local clumpi_list_tally place[CLUMPI_CLASS_IDS], totals[CLUMPI_CLASS_IDS];
    __local uint hole_place[CLUMPI_CLASS_IDS]; /* by class: holes before this tile */
    /* by class: its first row with a hole in this group, or its end */
    __local uint full[CLUMPI_CLASS_IDS];
    __local reserve_plan plans[CLUMPI_CLASS_IDS];
    __local reserve_classes sums[1];
    __local reserve_hints hints[1];
    __local list_block tile[CLUMPI_TILE];
    __local uchar holes[CLUMPI_TILE * CLUMPI_ROWS_MAX]; /* of a row that is not empty */
    __local chunk_states states[1];
    __local uint kinds[CLUMPI_CLASS_IDS];
    __local list_blocks counted[1];
    clumpi_view v = clumpi_view_of(heap, header_at);
    list_heap h = list_heap_of(&v);
    const uint turn = how & CLUMPI_LIST_TURN, numbered = how & CLUMPI_LIST_NUMBERED;
    uint me = (uint)get_local_id(0), items = (uint)get_local_size(0),
         classes = v.header->class_count;
    if (me == 0) counted->opened = counted->used = 0; /* list_places() has barriers */
    chunk_kinds(&v, kinds);
    clumpi_team team = clumpi_team_of(h.rows_max);
    /* Loaded now, along with the counts: nothing waits for it later. */
    const reserve_known known = reserve_known_of(&v, min(1u + me, classes), turn);
    list_places(&v, turn, place, totals, hole_place, full);
    uint objects = 0, rows = 0;
    CLUMPI_ROLLED for (uint c = 1; c <= classes; c++) {
        objects += totals[c].objects;
        rows += totals[c].rows;
    }
    const reserve_window launches = {window >> 8, window & 0x7fu, window >> 7 & 1u};
    reserve_share(&v, totals, &known, turn, launches, work_items, objects, plans, sums);
    reserve_open(&v, turn, launches, neighbours, totals, plans);
    h.tail = rows - sums->partial;
    if (get_group_id(0) == 0) list_reserved(&v, kinds, plans, rows);
    uint fresh = 0; /* the first free blocks are reserved */
    CLUMPI_ROLLED for (uint c = 1; c <= classes; c++) fresh += plans[c].blocks;
    const clumpi_range chunk = {list_chunks(&v)[get_group_id(0)].begin,
                                list_chunks(&v)[get_group_id(0)].end};
    uint skipped = 0; /* free blocks that are not in place[0] yet */
    CLUMPI_ROLLED for (uint look = chunk.begin; look < chunk.end; look += CHUNK_LOOK) {
        uint look_end = min(look + CHUNK_LOOK, chunk.end), next = look;
        uint tiles = (1u << (look_end - look + CLUMPI_TILE - 1u) / CLUMPI_TILE) - 1u;
        uint busy_tiles = chunk_look(&v, look, look_end, kinds, states);
        uint left = place[0].empty + skipped < fresh ? tiles : busy_tiles;
        CLUMPI_ROLLED for (; left; left &= left - 1u) { /* bound: CHUNK_LOOK / CLUMPI_TILE */
            uint number = clumpi_lowest32(left), first = look + number * CLUMPI_TILE,
                 blocks = min(CLUMPI_TILE, look_end - first),
                 full_of = chunk_full_of(states, number);
            skipped += first - next;
            next = first + blocks;
            const clumpi_list_tally before = place[full_of];
            if (full_of) blocks = 0; /* of those that need a look */
            reserve_hints_clear(&v, hints);
            CLUMPI_ROLLED for (uint b = me; b < blocks; b += items) {
                tile[b].state = states->state[first + b - look];
                tile[b].filled[0] = tile[b].filled[1] = tile[b].partial[0] = tile[b].partial[1] = 0;
            }
            CLUMPI_BARRIER(CLK_LOCAL_MEM_FENCE);
            CLUMPI_ROLLED for (uint b = team.index; b < blocks; b += CLUMPI_LOOK * team.count) {
                uint most =
                    list_rows(chunk_rows(kinds[clumpi_class_of_state(tile[b].state)]), h.rows_max);
                CLUMPI_ROLLED for (uint row = team.member; row < most; row += team.size) {
                    ulong bits[CLUMPI_LOOK];
                    for (uint k = 0; k < CLUMPI_LOOK; k++) {
                        uint at = b + k * team.count, state = at < blocks ? tile[at].state : 0u;
                        uint kind = kinds[clumpi_class_of_state(state)], has = chunk_rows(kind);
                        bits[k] = row < has && !list_is_free(state) && !list_is_full(state, has)
                                      ? clumpi_row_bits(&v, list_granule(h, first + at, kind, row))
                                      : 0ul;
                    }
                    for (uint k = 0; k < CLUMPI_LOOK; k++) {
                        uint at = b + k * team.count;
                        uchar here =
                            bits[k] ? (uchar)(64u - clumpi_popcount64(bits[k])) : LIST_EMPTY;
                        if (at < blocks) holes[at * CLUMPI_ROWS_MAX + row] = here;
                    }
                }
            }
            CLUMPI_BARRIER(CLK_LOCAL_MEM_FENCE);
            CLUMPI_ROLLED for (uint i = me; i < blocks * LIST_OCTETS; i += items)
                list_octet(&tile[i / LIST_OCTETS],
                           chunk_rows(kinds[clumpi_class_of_state(tile[i / LIST_OCTETS].state)]),
                           i % LIST_OCTETS, &holes[i * 8u]);
            CLUMPI_BARRIER(CLK_LOCAL_MEM_FENCE);
            CLUMPI_ROLLED for (uint b = me; b < blocks; b += items)
                list_begin(kinds, &tile[b], place, hole_place, skipped);
            CLUMPI_BARRIER(CLK_LOCAL_MEM_FENCE);
            CLUMPI_ROLLED for (uint i = me; i < blocks * (CLUMPI_TILE / LIST_PART); i += items)
                list_before(tile, i / (CLUMPI_TILE / LIST_PART), i % (CLUMPI_TILE / LIST_PART));
            CLUMPI_BARRIER(CLK_LOCAL_MEM_FENCE);
            CLUMPI_ROLLED for (uint b = me; b < blocks; b += items)
                list_reserve(&v, h, kinds, &tile[b], first, first + b, plans, hints, counted);
            CLUMPI_BARRIER(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE);
            reserve_hints_write(&v, hints, first);
            if (me == 0) atomic_add(&place[0].empty, skipped);
            if (full_of && me == 0) {
                list_count_full(chunk_rows(kinds[full_of]), &place[full_of]);
                atomic_max(&counted->used, first + CLUMPI_TILE);
            }
            CLUMPI_ROLLED for (uint b = me; b < blocks; b += items) {
                uint kind = tile[b].kind;
                const clumpi_list_tally n = tile[b].adds;
                atomic_add(&place[kind].empty, n.empty);
                if (kind == 0) continue;
                atomic_add(&place[kind].rows, n.rows);
                atomic_add(&place[kind].partial, n.partial);
                atomic_add(&place[kind].objects, n.objects);
                atomic_add(&hole_place[kind], list_holes(&tile[b]));
            }
            if (full_of) list_write_full(h, numbered, kinds[full_of], first, &team, before);
            CLUMPI_ROLLED for (uint b = team.index; b < blocks; b += CLUMPI_LOOK * team.count) {
                uint most = list_rows(chunk_rows(kinds[tile[b].kind | tile[b].owner]), h.rows_max);
                CLUMPI_ROLLED for (uint row = team.member; row < most; row += team.size) {
                    ulong bits[CLUMPI_LOOK];
                    for (uint k = 0; k < CLUMPI_LOOK; k++) {
                        uint at = b + k * team.count;
                        bits[k] =
                            at < blocks ? list_bits(&v, h, kinds, &tile[at], first + at, row) : 0ul;
                    }
                    for (uint k = 0; k < CLUMPI_LOOK; k++) {
                        uint at = b + k * team.count;
                        if (at < blocks)
                            list_give_row(h, numbered, kinds, &tile[at], first + at, row, bits[k],
                                          &holes[at * CLUMPI_ROWS_MAX], plans, full);
                    }
                }
            }
            CLUMPI_BARRIER(CLK_LOCAL_MEM_FENCE);
            skipped = 0;
        }
        skipped += look_end - next;
    }
    if (get_global_id(0) == 0) {
        v.header->list_of = v.header->list_beyond = 0;
        list_remember(&v, turn);
        for (uint w = 0; w < CLUMPI_CLASS_IDS / 32u; w++) v.header->list_present[turn ^ 1u][w] = 0;
    }
    if (me == 0 && counted->opened) atomic_add(&v.header->list_opened[turn], counted->opened);
    if (me == 0 && counted->used) atomic_max(&v.header->list_used[turn], counted->used);
    if (!numbered) return;
    __global uint *all_full = clumpi_words_at(&v, v.header->at_list_full);
    CLUMPI_ROLLED for (uint c = 1 + me; c <= classes; c += items) atomic_min(&all_full[c], full[c]);
}

/* ---- Reductions ---- */

/* Before a reduction that comes after other kernels: what these left is no part of it. A kernel
 * with a CLUMP_REDUCE that some of its work-groups did not come to, and which no host waited for
 * the result of, is reported. */
__kernel void clumpi_reduce_begin(__global uchar *heap, uint header_at) {
    const clumpi_view v = clumpi_view_of(heap, header_at);
    const uint done = v.header->reduce_done;
    if (done) clumpi_report(clumpi_home_of(&v), CLUMPI_ERROR_WRONG_LAUNCH, 1, 0, done);
    v.header->reduce_done = v.header->reduced_mark = 0u;
}
