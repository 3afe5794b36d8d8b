/* The merge strategy of CompactGpu (ISMM 2019, sec. 3; Springer's thesis 6.2): plan of one pass.
 *
 * With defragmentation factor n, blocks at most n / (n + 1) full are candidates. They are listed by
 * address; of d candidates the first B = d / (n + 1) are sources, and source s is merged into the
 * candidates s + B, s + 2B, .. s + nB, which have room for it whatever they hold. There the paper
 * keeps a bitmap of candidates up to date with every allocation; here they are found from the state
 * words (the alternative that it names in 3.2), since only a pass needs them. Or, where
 * `candidates` is a buffer, the first pass puts them into a bitmap, a bit for each block. A call
 * makes no candidates, so later passes look only at blocks whose bit is set, and clear the bits of
 * those that no longer are candidates.
 *
 * For rewriting by recomputation (ISMM 3.8) there are *records* (records.clh). Sources whose entry
 * in their table is taken by another wait for the next pass.
 *
 * Read first: cl/compact/plan.clh, cl/compact/move.cl, records.clh.
 */
#include "bench/papers/merge/records.clh"
#include "cl/compact/rewrite.clh"

static inline uint is_candidate(uint credits, uint capacity, uint factor) {
    return (ulong)credits * (factor + 1u) <= (ulong)factor * capacity;
}

/* The class of the block at `block` if it is a candidate, else 0. */
static inline uint candidate_class(const clumpi_view *v, uint block, ulong4 selected, uint factor) {
    uint state = v->states[block], c = clumpi_class_of_state(state);
    if (c == 0 || c > v->header->class_count || !clumpi_is_in(selected, c)) return 0;
    return is_candidate(clumpi_credits_of_state(state), v->classes[c].capacity, factor) ? c : 0;
}

/* The same with a bitmap, or without (NULL). */
static inline uint marked_class(const clumpi_view *v, uint block, ulong4 selected, uint factor,
                                __global const uint *candidates) {
    if (candidates && !(candidates[block >> 5] >> (block & 31u) & 1u)) return 0;
    return candidate_class(v, block, selected, factor);
}

/* Bring the bit of a block up to date. In the first pass none is set. */
static inline void mark_candidate(__global uint *candidates, uint block, uint is_first,
                                  uint class_id) {
    __global uint *word = &candidates[block >> 5];
    uint bit = 1u << (block & 31u);
    if (is_first && class_id) atomic_or(word, bit);
    if (!is_first && !class_id && (*word & bit)) atomic_and(word, ~bit);
}

/* Candidates: a word for each work-group and class id, in the place of the planner's counts. */
static inline __global uint *merge_counts(const clumpi_view *v) {
    return clumpi_words_at(v, v->header->at_plan_counts);
}

__kernel void clumpi_merge_count(__global uchar *heap, uint header_at, ulong4 selected, uint factor,
                                 __global uint *candidates, uint is_first) {
    __local uint counts[256];
    clumpi_view v = clumpi_view_of(heap, header_at);
    uint me = (uint)get_local_id(0), items = (uint)get_local_size(0);
    uint sets = v.header->class_count + 1;
    for (uint c = me; c < sets; c += items) counts[c] = 0;
    CLUMPI_BARRIER(CLK_LOCAL_MEM_FENCE);
    clumpi_range chunk = clumpi_block_chunk(&v);
    for (uint b = chunk.begin + me; b < chunk.end; b += items) {
        uint c = marked_class(&v, b, selected, factor, is_first ? 0 : candidates);
        if (candidates) mark_candidate(candidates, b, is_first, c);
        atomic_inc(&counts[c]);
    }
    CLUMPI_BARRIER(CLK_LOCAL_MEM_FENCE);
    for (uint c = me; c < sets; c += items)
        merge_counts(&v)[(uint)get_group_id(0) * sets + c] = counts[c];
    if (get_group_id(0) != 0) return;
    for (uint c = 1; c < sets; c++) clumpi_mark_columns(&v, c, selected);
}

/* Sizes of the pass, from the candidates of each class. */
CLUMPI_LOCAL_INLINED void plan_pass(const clumpi_view *v, uint factor, uint retain, uint most,
                                    __local const uint *candidates, __local uint *begins) {
    uint at = 0, sources = 0, batches = 0;
    for (uint c = 1; c <= v->header->class_count; c++) {
        uint d = candidates[c], b = d > retain ? min(d / (factor + 1u), d - retain) : 0;
        b = min(b, most - sources);
        begins[c] = at;
        if (get_group_id(0) == 0) {
            clumpi_class_plan p = {0};
            p.selected = b != 0;
            p.blocks = d;
            p.sources = b;
            p.batches = b * clumpi_batch_parts(v->classes[c].rows);
            p.targets = b * factor;
            p.source_begin = at;
            p.target_begin = at + b;
            p.batch_begin = batches;
            clumpi_plans(v)[c] = p;
        }
        at += d;
        sources += b;
        batches += b * clumpi_batch_parts(v->classes[c].rows);
    }
    if (get_group_id(0) == 0) clumpi_plans(v)[0].batches = batches;
}

/* The list of candidates (`marked`: their bitmap, if there is one), class by class, and the plans:
 * at most
 * `most` sources in all, which is how many entries the table of sources has if there is one. */
__kernel void clumpi_merge_write(__global uchar *heap, uint header_at, ulong4 selected, uint factor,
                                 __global uint *marked, uint retain, uint most) {
    __local uint place[256], candidates[256], begins[256], sums[256], next[1];
    clumpi_view v = clumpi_view_of(heap, header_at);
    uint me = (uint)get_local_id(0), items = (uint)get_local_size(0);
    uint sets = v.header->class_count + 1;
    for (uint i = (uint)get_global_id(0); most != CLUMPI_NONE && i < most;
         i += (uint)get_global_size(0))
        record_table(&v)[i] = CLUMPI_NONE;
    clumpi_groups_sum(merge_counts(&v), sets, place, candidates);
    if (me == 0) candidates[0] = 0;
    if (me == 0) plan_pass(&v, factor, retain, most, candidates, begins);
    CLUMPI_BARRIER(CLK_LOCAL_MEM_FENCE);
    clumpi_range chunk = clumpi_block_chunk(&v);
    for (uint tile = chunk.begin; tile < chunk.end; tile += items) {
        uint block = tile + me;
        uint waits = block < chunk.end ? marked_class(&v, block, selected, factor, marked) : 0;
        /* bound: work-items: those of the smallest class wait no more */
        for (uint c = clumpi_group_next(waits, next); c; c = clumpi_group_next(waits, next)) {
            uint mine = waits == c, upto = clumpi_group_scan(mine, sums);
            if (mine) {
                clumpi_plan_list(&v)[begins[c] + place[c] + upto - 1] = block;
                waits = 0;
            }
            uint all = sums[items - 1];
            CLUMPI_BARRIER(CLK_LOCAL_MEM_FENCE);
            if (me == 0) place[c] += all;
        }
    }
}

/* Sources into the table: the lowest of those with one entry. */
__kernel void clumpi_merge_claim(__global uchar *heap, uint header_at, uint entries) {
    clumpi_view v = clumpi_view_of(heap, header_at);
    for (uint c = 1; c <= v.header->class_count; c++) {
        __global const clumpi_class_plan *p = &clumpi_plans(&v)[c];
        for (uint s = (uint)get_global_id(0); s < p->sources; s += (uint)get_global_size(0)) {
            uint block = clumpi_plan_list(&v)[p->source_begin + s];
            atomic_min(&record_table(&v)[record_entry(block, entries)], block);
        }
    }
}

/* Numbers of the holes of each source's targets; marks of the sources. entries 0: there is no
 * table. */
__kernel void clumpi_merge_pair(__global uchar *heap, uint header_at, uint factor, uint entries) {
    clumpi_view v = clumpi_view_of(heap, header_at);
    __global const uint *list = clumpi_plan_list(&v);
    __global clumpi_block_plan *plans = clumpi_block_plans(&v);
    __global uint *moved = clumpi_moved(&v);
    for (uint c = 1; c <= v.header->class_count; c++) {
        __global clumpi_class_plan *p = &clumpi_plans(&v)[c];
        uint capacity = v.classes[c].capacity;
        for (uint s = (uint)get_global_id(0); s < p->sources; s += (uint)get_global_size(0)) {
            uint source = list[p->source_begin + s], holes = 0;
            uint credits = clumpi_credits_of_state(v.states[source]);
            uint takes_part = !entries || record_table(&v)[record_entry(source, entries)] == source;
            plans[source].source.first_object = 0;
            plans[source].source.target = s;
            for (uint i = 0; i < factor; i++) {
                uint target = list[p->target_begin + s + i * p->sources];
                plans[target].target.first_hole = holes;
                plans[target].target.coming = takes_part ? credits : 0u;
                holes += capacity - clumpi_credits_of_state(v.states[target]);
            }
            if (!takes_part) continue;
            atomic_or(&moved[source >> 5], 1u << (source & 31u));
            atomic_add(&p->moves, credits);
            atomic_inc(&p->freed);
        }
    }
}

/* Keep the bitmaps of the blocks of the pass as they are now. */
__kernel void clumpi_merge_record(__global uchar *heap, uint header_at) {
    clumpi_view v = clumpi_view_of(heap, header_at);
    for (uint c = 1; c <= v.header->class_count; c++) {
        __global const clumpi_class_plan *p = &clumpi_plans(&v)[c];
        uint rows = v.classes[c].rows, count = (p->sources + p->targets) * rows;
        for (uint i = (uint)get_global_id(0); i < count; i += (uint)get_global_size(0)) {
            uint at = p->source_begin + i / rows, row = i % rows;
            record_bits(&v)[at * v.header->block_rows_max + row] =
                clumpi_row_bits(&v, clumpi_row_granule(&v, clumpi_plan_list(&v)[at], c, row));
        }
    }
}

/* References inside the heap. table: `entries` words; blocks and bits, where `in_local` says so:
 * (factor + 1) * entries words, and block_rows_max times as many bitmaps. */
__kernel void clumpi_merge_rewrite(__global uchar *heap, uint header_at, uint chunks, uint entries,
                                   uint factor, uint in_local, __local uint *table,
                                   __local uint *blocks, __local ulong *bits) {
    __local group_memory group;
    const clumpi_view v = clumpi_view_of(heap, header_at);
    uint me = (uint)get_local_id(0), items = (uint)get_local_size(0), all = factor + 1u;
    uint rows = v.header->block_rows_max;
    for (uint i = me; i < entries; i += items) table[i] = record_table(&v)[i];
    CLUMPI_BARRIER(CLK_LOCAL_MEM_FENCE);
    for (uint i = me; in_local && i < entries * all; i += items) {
        uint source = table[i / all];
        if (source == CLUMPI_NONE) continue;
        uint c = clumpi_class_of_state(v.states[source]);
        __global const clumpi_class_plan *p = &clumpi_plans(&v)[c];
        uint at =
            p->source_begin + clumpi_block_plans(&v)[source].source.target + i % all * p->sources;
        blocks[i] = clumpi_plan_list(&v)[at];
        for (uint row = 0; row < rows; row++)
            bits[i * rows + row] = record_bits(&v)[at * rows + row];
    }
    CLUMPI_BARRIER(CLK_LOCAL_MEM_FENCE);
    const rewrite_mode p = {0, {entries, factor, in_local, table, blocks, bits}};
    rewrite_all(&v, &p, chunks, &group);
}
