/* Stable radix sort of pairs of a 32-bit key and a 32-bit value, lowest digit first.
 *
 * A pass sorts by one digit, from one pair of buffers into the other, in three launches: count (how
 * often each digit occurs in the chunk of each work-group), prefix (where each group's pairs of
 * each digit begin), scatter. A pass that would change nothing, because all keys have the same
 * digit, leaves the pairs where they are; so which buffers hold them is known on the device only:
 * `turn` is 0 for the caller's, 1 for the others. The last launch copies them back if need be.
 *
 * Work-groups of many items sort by digits of 4 bits: a column of 16 counters per work-item lies in
 * local memory, so that counting needs no atomics. Groups of one item take digits of 8 bits and
 * deal the pairs out one after the other (clumpi_sort_deal). Nothing waits for another group.
 *
 * Invariant: pairs with equal digits keep their order in every pass. Groups have chunks in order,
 * work-items of a group have runs of CLUMPI_SORT_ITEMS pairs in order, and what is counted is added
 * up in that order.
 *
 * `tables`: what cl/sort/layout.h says.
 *
 * Read first: scan.clh, cl/sort/layout.h. The launches: host/sort/sort.c.
 */
#include "cl/core/scan.clh"
#include "cl/sort/layout.h"

#define SORT_RADIX (1u << CLUMPI_SORT_BITS)         /* digits, for groups of many items */
#define SORT_RADIX_ONE (1u << CLUMPI_SORT_BITS_ONE) /* digits, for groups of one */
#define SORT_CELLS 4096u                            /* 256 items by 16 digits */
/* Place of a counter: a gap after 32 of them lets a warp walk along rows of 16 without all its
 * work-items meeting in one bank. */
#define SORT_CELL(i) ((i) + ((i) >> 5))

/* Local memory of a tile: counters while pairs are numbered, then the pairs in order. */
typedef union sort_tile {
    uint counters[SORT_CELL(SORT_CELLS)];
    struct {
        uint keys[256u * CLUMPI_SORT_ITEMS], values[256u * CLUMPI_SORT_ITEMS];
    } pairs;
} sort_tile;

static inline __global clumpi_sort_head *sort_head(__global uchar *tables) {
    return (__global clumpi_sort_head *)tables;
}

/* Of all work-groups that count: how often each digit occurs, and where its pairs begin. */
static inline __global uint *sort_counts(__global uchar *tables, uint bits, uint groups) {
    return (__global uint *)(tables + clumpi_sort_table_at(bits, groups, 0));
}

static inline __global uint *sort_places(__global uchar *tables, uint bits, uint groups) {
    return (__global uint *)(tables + clumpi_sort_table_at(bits, groups, 1));
}

/* The group's chunk of the pairs, in whole tiles. */
static inline clumpi_range sort_chunk(uint count) {
    uint groups = (uint)get_num_groups(0), tile = (uint)get_local_size(0) * CLUMPI_SORT_ITEMS;
    uint tiles = count / tile + (count % tile != 0);
    ulong size = (ulong)(tiles / groups + (tiles % groups != 0)) * tile;
    clumpi_range r;
    r.begin = (uint)min((ulong)count, size * get_group_id(0));
    r.end = (uint)min((ulong)count, r.begin + size);
    return r;
}

/* counts[digit][group] of the digit of `bits` bits with number `pass`. */
__kernel void clumpi_sort_count(__global const uint *keys_a, __global const uint *keys_b,
                                __global uchar *tables, uint count, uint pass, uint bits) {
    __local uint cells[SORT_CELL(SORT_CELLS)], totals[SORT_RADIX_ONE];
    uint me = (uint)get_local_id(0), items = (uint)get_local_size(0);
    uint radix = 1u << bits, shift = pass * bits;
    __global const uint *keys = sort_head(tables)->turn[pass] ? keys_b : keys_a;
    for (uint d = 0; d < radix; d++) cells[SORT_CELL(d * items + me)] = 0;
    for (uint d = me; d < radix; d += items) totals[d] = 0;
    clumpi_range chunk = sort_chunk(count);
    keys += chunk.begin;
    for (uint i = me; i < chunk.end - chunk.begin; i += items)
        cells[SORT_CELL((keys[i] >> shift & (radix - 1u)) * items + me)]++;
    CLUMPI_BARRIER(CLK_LOCAL_MEM_FENCE);
    /* Each work-item adds up as many cells as there are digits, side by side: of few digits. */
    uint digit = me * radix / items, sum = 0;
    for (uint i = me * radix; i < (me + 1) * radix; i++) {
        if (i == (digit + 1) * items) {
            atomic_add(&totals[digit], sum);
            digit++;
            sum = 0;
        }
        sum += cells[SORT_CELL(i)];
    }
    atomic_add(&totals[digit], sum);
    CLUMPI_BARRIER(CLK_LOCAL_MEM_FENCE);
    uint groups = (uint)get_num_groups(0);
    for (uint d = me; d < radix; d += items)
        sort_counts(tables, bits, groups)[d * groups + get_group_id(0)] = totals[d];
}

/* places[digit][group]: counts of lower digits, and of this digit in groups before. `groups` are
 * those of the other kernels; here a work-group takes a digit. */
__kernel void clumpi_sort_prefix(__global uchar *tables, uint groups, uint bits) {
    __local uint sums[256]; /* the host launches at most 256 work-items a group */
    uint me = (uint)get_local_id(0), items = (uint)get_local_size(0), radix = 1u << bits;
    __global const uint *counts = sort_counts(tables, bits, groups);
    __global uint *places = sort_places(tables, bits, groups);
    for (uint d = (uint)get_group_id(0); d < radix; d += (uint)get_num_groups(0)) {
        uint row = d * groups, lower = 0;
        for (uint i = me; i < row; i += items) lower += counts[i];
        clumpi_group_scan(lower, sums);
        uint at = sums[items - 1];
        for (uint tile = 0; tile < groups; tile += items) {
            CLUMPI_BARRIER(CLK_LOCAL_MEM_FENCE);
            uint g = tile + me, here = g < groups ? counts[row + g] : 0;
            uint upto = clumpi_group_scan(here, sums);
            if (g < groups) places[row + g] = at + upto - here;
            at += sums[items - 1];
        }
        CLUMPI_BARRIER(CLK_LOCAL_MEM_FENCE);
    }
}

/* A pass of one work-group: its chunk, and where pairs come from and go to. */
typedef struct sort_pass {
    __global const uint *places; /* by digit and group */
    __global const uint *keys, *values;
    __global uint *keys_to, *values_to;
    clumpi_range chunk;
    bool settled; /* all keys have the same digit: the pass is over, and the pairs stay */
} sort_pass;

/* Leaves the next turn in the tables. */
static inline sort_pass sort_pass_of(__global uint *keys_a, __global uint *values_a,
                                     __global uint *keys_b, __global uint *values_b,
                                     __global uchar *tables, uint count, uint pass, uint bits) {
    __global clumpi_sort_head *head = sort_head(tables);
    uint groups = (uint)get_num_groups(0), turn = head->turn[pass];
    sort_pass p;
    p.places = sort_places(tables, bits, groups);
    p.keys = turn ? keys_b : keys_a;
    p.values = turn ? values_b : values_a;
    p.keys_to = turn ? keys_a : keys_b;
    p.values_to = turn ? values_a : values_b;
    p.chunk = sort_chunk(count);
    uint end = 0; /* of the first digit that occurs: all keys have it, or no digit is that of all */
    for (uint d = 1; d < 1u << bits && !end; d++) end = p.places[d * groups];
    p.settled = end == 0 || end == count; /* 0: only the last digit occurs */
    if (get_global_id(0) == 0) head->turn[pass + 1u] = turn ^ (p.settled ? 0u : 1u);
    return p;
}

#if !CLUMPI_ROW_PER_ITEM
/* Move the pairs to their places; groups of many items, digits of 4 bits. Each tile is brought into
 * order in local memory first, so that neighbours are written side by side. */
__kernel void clumpi_sort_scatter(__global uint *keys_a, __global uint *values_a,
                                  __global uint *keys_b, __global uint *values_b,
                                  __global uchar *tables, uint count, uint pass) {
    __local sort_tile local_tile;
    __local uint sums[256];
    __local uint place[SORT_RADIX], first[SORT_RADIX]; /* of a digit: in the buffers, in the tile */
    uint me = (uint)get_local_id(0), items = (uint)get_local_size(0);
    uint groups = (uint)get_num_groups(0), tile = items * CLUMPI_SORT_ITEMS,
         shift = pass * CLUMPI_SORT_BITS;
    const sort_pass p =
        sort_pass_of(keys_a, values_a, keys_b, values_b, tables, count, pass, CLUMPI_SORT_BITS);
    if (p.settled) return;
    for (uint d = me; d < SORT_RADIX; d += items) place[d] = p.places[d * groups + get_group_id(0)];
    for (uint n, begin = p.chunk.begin; begin < p.chunk.end; begin += n) {
        n = min(tile, p.chunk.end - begin);
        uint key[CLUMPI_SORT_ITEMS], value[CLUMPI_SORT_ITEMS], at[CLUMPI_SORT_ITEMS];
        for (uint i = 0; i < CLUMPI_SORT_ITEMS; i++) {
            uint from = me * CLUMPI_SORT_ITEMS + i;
            key[i] = from < n ? p.keys[begin + from] : 0;
            value[i] = from < n ? p.values[begin + from] : 0;
        }
        for (uint d = 0; d < SORT_RADIX; d++) local_tile.counters[SORT_CELL(d * items + me)] = 0;
        for (uint i = 0; i < CLUMPI_SORT_ITEMS; i++) {
            uint cell = SORT_CELL((key[i] >> shift & (SORT_RADIX - 1u)) * items + me);
            at[i] = local_tile.counters[cell];
            if (me * CLUMPI_SORT_ITEMS + i < n) local_tile.counters[cell] = at[i] + 1u;
        }
        CLUMPI_BARRIER(CLK_LOCAL_MEM_FENCE);
        uint sum = 0;
        for (uint i = 0; i < SORT_RADIX; i++)
            sum += local_tile.counters[SORT_CELL(me * SORT_RADIX + i)];
        sum = clumpi_group_scan(sum, sums) - sum;
        for (uint i = 0; i < SORT_RADIX; i++) {
            uint cell = SORT_CELL(me * SORT_RADIX + i), here = local_tile.counters[cell];
            local_tile.counters[cell] = sum;
            sum += here;
        }
        CLUMPI_BARRIER(CLK_LOCAL_MEM_FENCE);
        for (uint i = 0; i < CLUMPI_SORT_ITEMS; i++)
            at[i] +=
                local_tile.counters[SORT_CELL((key[i] >> shift & (SORT_RADIX - 1u)) * items + me)];
        for (uint d = me; d < SORT_RADIX; d += items)
            first[d] = local_tile.counters[SORT_CELL(d * items)];
        CLUMPI_BARRIER(CLK_LOCAL_MEM_FENCE); /* from here on the tile has its pairs */
        for (uint i = 0; i < CLUMPI_SORT_ITEMS; i++) {
            if (me * CLUMPI_SORT_ITEMS + i >= n) break;
            local_tile.pairs.keys[at[i]] = key[i];
            local_tile.pairs.values[at[i]] = value[i];
        }
        CLUMPI_BARRIER(CLK_LOCAL_MEM_FENCE);
        for (uint i = me; i < n; i += items) {
            uint sorted = local_tile.pairs.keys[i], d = sorted >> shift & (SORT_RADIX - 1u);
            uint to = place[d] + (i - first[d]);
            p.keys_to[to] = sorted;
            p.values_to[to] = local_tile.pairs.values[i];
        }
        CLUMPI_BARRIER(CLK_LOCAL_MEM_FENCE);
        for (uint d = me; d < SORT_RADIX; d += items)
            place[d] += (d + 1u < SORT_RADIX ? first[d + 1u] : n) - first[d];
    }
}
#else
/* The same for groups of one item, digits of 8 bits. */
__kernel void clumpi_sort_deal(__global uint *keys_a, __global uint *values_a,
                               __global uint *keys_b, __global uint *values_b,
                               __global uchar *tables, uint count, uint pass) {
    __local uint place[SORT_RADIX_ONE];
    uint groups = (uint)get_num_groups(0), shift = pass * CLUMPI_SORT_BITS_ONE;
    const sort_pass p =
        sort_pass_of(keys_a, values_a, keys_b, values_b, tables, count, pass, CLUMPI_SORT_BITS_ONE);
    if (p.settled) return;
    for (uint d = 0; d < SORT_RADIX_ONE; d++) place[d] = p.places[d * groups + get_group_id(0)];
    for (uint i = p.chunk.begin; i < p.chunk.end; i++) {
        uint key = p.keys[i], to = place[key >> shift & (SORT_RADIX_ONE - 1u)]++;
        p.keys_to[to] = key;
        p.values_to[to] = p.values[i];
    }
}
#endif

/* Bring the pairs back into the caller's buffers if an odd number of passes moved them. */
__kernel void clumpi_sort_finish(__global uint *keys_a, __global uint *values_a,
                                 __global const uint *keys_b, __global const uint *values_b,
                                 __global uchar *tables, uint count, uint passes) {
    if (!sort_head(tables)->turn[passes]) return;
    for (ulong i = get_global_id(0); i < count; i += get_global_size(0)) {
        keys_a[i] = keys_b[i];
        values_a[i] = values_b[i];
    }
}
