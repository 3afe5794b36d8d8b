/* The planner: which blocks of a class stay, which give their objects, and the numbers of objects
 * and holes. Six small launches for all classes together, no sort, no readback.
 *
 * With L objects of a class and C slots a block, K = ceil(L / C) blocks suffice, and the fewest
 * moves are those that leave the K fullest blocks where they are. The state words say how full
 * blocks are, so a histogram of them gives the threshold; ties go by address. Under a budget of
 * moves the emptiest of the others give first. Because the blocks that stay only get fuller, and
 * those that give are gone, the next step finds the same K blocks, and steps add up to one full
 * run.
 *
 * In `fresh` mode (orders of clump_compact_order) all blocks of one class give, and free blocks
 * take.
 *
 * Read first: plan.clh. Read next: move.cl.
 */
#include "cl/compact/plan.clh"

/* No plan, an empty histogram, no block marked as moved. */
__kernel void clumpi_plan_clear(__global uchar *heap, uint header_at) {
    clumpi_view v = clumpi_view_of(heap, header_at);
    uint me = (uint)get_global_id(0), items = (uint)get_global_size(0);
    uint classes = v.header->class_count, bins = (classes + 1) * (v.header->capacity_max + 1);
    __global uint *plans = (__global uint *)clumpi_plans(&v);
    __global uint *histogram = clumpi_plan_histogram_of(&v, 0);
    __global uint *moved = clumpi_moved(&v);
    for (uint i = me; i < (classes + 1) * sizeof(clumpi_class_plan) / 4u; i += items) plans[i] = 0;
    for (uint i = me; i < bins; i += items) histogram[i] = 0;
    for (uint i = me; i < (v.header->block_end + 31u) / 32u; i += items) moved[i] = 0;
}

/* histogram[class][credits] of all blocks. */
__kernel void clumpi_plan_histogram(__global uchar *heap, uint header_at) {
    clumpi_view v = clumpi_view_of(heap, header_at);
    uint classes = v.header->class_count;
    for (uint b = v.header->first_block + (uint)get_global_id(0); b < v.header->block_end;
         b += (uint)get_global_size(0)) {
        uint class_id = clumpi_class_of_state(v.states[b]);
        uint credits = clumpi_credits_of_state(v.states[b]);
        if (class_id == 0 || class_id > classes || credits > v.classes[class_id].capacity) continue;
        atomic_inc(&clumpi_plan_histogram_of(&v, class_id)[credits]);
    }
}

/* Blocks that can give at this fill level: all, or those that are left at the threshold. */
CLUMPI_LOCAL_INLINED uint givers(__local const uint *histogram, uint credits, uint threshold,
                                 uint ties) {
    if (credits > threshold) return 0;
    return histogram[credits] - (credits == threshold ? ties : 0);
}

/* A work-item's share of the bins 0 .. capacity, counted from the top. */
typedef struct bins {
    uint top, end; /* top, top - 1, .. end + 1, all offset by 1 so that 0 is reached */
} bins;

static inline bins bins_of(uint capacity) {
    uint items = (uint)get_local_size(0), share = (capacity + items) / items;
    uint skip = min((uint)get_local_id(0) * share, capacity + 1);
    bins b = {capacity + 1 - skip, capacity + 1 - min(skip + share, capacity + 1)};
    return b;
}

/* What the work-items of a group find together about a class. */
typedef struct limits {
    uint threshold, ties;   /* where the `keep` fullest blocks end */
    uint below, below_ties; /* the emptiest givers within a budget */
    uint objects;           /* theirs */
    uint emptiest;          /* fill level of the emptiest giver; CLUMPI_NONE: there is none */
} limits;

/* found->threshold and ties. */
CLUMPI_LOCAL_INLINED void find_threshold(__local const uint *histogram, bins mine, uint keep,
                                         uint before, uint count, __local limits *found) {
    if (before < keep && keep <= before + count)
        for (uint bin = mine.top; bin > mine.end; bin--) {
            uint n = histogram[bin - 1];
            if (before + n >= keep) {
                found->threshold = bin - 1;
                found->ties = keep - before;
                break;
            }
            before += n;
        }
    CLUMPI_BARRIER(CLK_LOCAL_MEM_FENCE);
}

/* found->below, below_ties, objects: the emptiest givers that together have at most `max_moves`
 * objects, and at least one block. */
CLUMPI_LOCAL_INLINED void find_budget(__local const uint *histogram, bins mine, uint threshold,
                                      uint ties, uint max_moves, __local limits *found,
                                      __local uint *sums) {
    uint me = (uint)get_local_id(0), items = (uint)get_local_size(0), objects = 0;
    for (uint bin = mine.top; bin > mine.end; bin--)
        objects += (bin - 1) * givers(histogram, bin - 1, threshold, ties);
    uint upto = clumpi_group_scan(objects, sums), below = sums[items - 1] - upto;
    if (me == 0) {
        found->below = found->below_ties = found->objects = 0;
        found->emptiest = CLUMPI_NONE;
    }
    CLUMPI_BARRIER(CLK_LOCAL_MEM_FENCE);
    uint emptiest = CLUMPI_NONE;
    for (uint bin = mine.end; bin < mine.top; bin++)
        if (givers(histogram, bin, threshold, ties)) emptiest = min(emptiest, bin);
    if (emptiest != CLUMPI_NONE) atomic_min(&found->emptiest, emptiest);
    if (below <= max_moves && below + objects > max_moves)
        for (uint bin = mine.end; bin < mine.top; bin++) {
            uint n = givers(histogram, bin, threshold, ties);
            if (below + bin * n > max_moves) {
                found->below = bin;
                found->below_ties = bin ? (max_moves - below) / bin : 0;
                found->objects = below + bin * found->below_ties;
                break;
            }
            below += bin * n;
        }
    CLUMPI_BARRIER(CLK_LOCAL_MEM_FENCE);
    if (me == 0 && found->objects == 0 && found->emptiest != CLUMPI_NONE) {
        found->below = found->objects = found->emptiest;
        found->below_ties = 1;
    }
    CLUMPI_BARRIER(CLK_LOCAL_MEM_FENCE);
}

/* The plan of each class that takes part: a work-group per class, or one group for all in turn if a
 * budget has to be shared (max_moves != CLUMPI_NONE). */
__kernel void clumpi_plan_threshold(__global uchar *heap, uint header_at, ulong4 selected,
                                    uint slack_ppm, uint max_moves, uint fresh) {
    __local uint sums[256], histogram[CLUMPI_ROWS_MAX * 64u + 1u];
    __local limits found;
    clumpi_view v = clumpi_view_of(heap, header_at);
    uint me = (uint)get_local_id(0), items = (uint)get_local_size(0), left = max_moves;
    for (uint c = 1 + (uint)get_group_id(0); c <= v.header->class_count;
         c += (uint)get_num_groups(0)) {
        __global clumpi_class *class = &v.classes[c];
        clumpi_mark_columns(&v, c, selected);
        if (!clumpi_is_in(selected, c) || class->capacity == 0) continue;
        uint capacity = class->capacity, count = 0, objects = 0;
        CLUMPI_BARRIER(CLK_LOCAL_MEM_FENCE);
        for (uint bin = me; bin <= capacity; bin += items)
            histogram[bin] = clumpi_plan_histogram_of(&v, c)[bin];
        CLUMPI_BARRIER(CLK_LOCAL_MEM_FENCE);
        bins mine = bins_of(capacity);
        for (uint bin = mine.top; bin > mine.end; bin--) {
            count += histogram[bin - 1];
            objects += (bin - 1) * histogram[bin - 1];
        }
        clumpi_group_scan(objects, sums);
        clumpi_class_plan p = {0};
        p.selected = 1;
        p.objects = sums[items - 1];
        CLUMPI_BARRIER(CLK_LOCAL_MEM_FENCE);
        uint upto = clumpi_group_scan(count, sums);
        p.blocks = sums[items - 1];
        p.full = histogram[capacity];
        CLUMPI_BARRIER(CLK_LOCAL_MEM_FENCE);
        if (p.blocks == 0) continue;
        ulong room = p.objects + (ulong)p.objects * slack_ppm / 1000000ul;
        uint keep = (uint)min((room + capacity - 1) / capacity, (ulong)p.blocks);
        uint all = 0; /* objects in blocks that should give */
        if (fresh) {
            keep = (p.objects + capacity - 1) / capacity;
            p.threshold = p.below = capacity + 1;
            p.moves = all = p.objects;
            p.sources = p.blocks;
            p.targets = keep;
        } else {
            find_threshold(histogram, mine, keep, upto - count, count, &found);
            p.threshold = found.threshold;
            p.ties = found.ties;
            uint gone = 0;
            for (uint bin = mine.top; bin > mine.end; bin--)
                gone += (bin - 1) * givers(histogram, bin - 1, p.threshold, p.ties);
            clumpi_group_scan(gone, sums);
            all = sums[items - 1];
            CLUMPI_BARRIER(CLK_LOCAL_MEM_FENCE);
            p.below = p.threshold;
            p.below_ties = histogram[p.threshold] - p.ties;
            p.moves = all;
            p.sources = p.blocks - keep;
            p.targets = keep - p.full;
            if (all > left) {
                find_budget(histogram, mine, p.threshold, p.ties, left, &found, sums);
                /* The least step, one block, is for the first class that has one to give. */
                uint none = left < max_moves && found.objects > left;
                p.below = none ? 0 : found.below;
                p.below_ties = none ? 0 : found.below_ties;
                p.moves = none ? 0 : found.objects;
                p.sources = p.below_ties;
                uint fewer = 0;
                for (uint bin = mine.top; bin > mine.end; bin--)
                    if (bin - 1 < p.below) fewer += givers(histogram, bin - 1, p.threshold, p.ties);
                clumpi_group_scan(fewer, sums);
                p.sources += sums[items - 1];
            }
            if (max_moves != CLUMPI_NONE) left -= min(left, p.moves);
        }
        p.moves_left = all - p.moves;
        p.freed = p.sources;
        uint batch = clumpi_batch_blocks(class->rows);
        p.batches = (p.sources + batch - 1) / batch * clumpi_batch_parts(class->rows);
        if (me == 0) clumpi_plans(&v)[c] = p;
        CLUMPI_BARRIER(CLK_LOCAL_MEM_FENCE);
    }
}

/* counts are cleared, stored and summed by word */
#define COUNT_WORDS (sizeof(clumpi_block_counts) / 4u)

#define ROLE_NONE 0u
#define ROLE_SOURCE 1u
#define ROLE_TARGET 2u

/* Does a block at the threshold or below give? `rank`: among those with as many credits that
 * give. */
static inline uint role_of(__global const clumpi_class_plan *p, uint credits,
                           const clumpi_block_counts *t) {
    if (credits > p->threshold) return ROLE_TARGET;
    if (credits == p->threshold) {
        if (t->ties < p->ties) return ROLE_TARGET;
        return p->below == p->threshold && t->ties - p->ties < p->below_ties ? ROLE_SOURCE
                                                                             : ROLE_NONE;
    }
    if (credits < p->below) return ROLE_SOURCE;
    return credits == p->below && t->below_ties < p->below_ties ? ROLE_SOURCE : ROLE_NONE;
}

/* counts[group][class][..] of what needs no rank. Class 0: free blocks, in TARGETS. */
__kernel void clumpi_plan_count(__global uchar *heap, uint header_at) {
    __local clumpi_block_counts counts[CLUMPI_CLASS_IDS];
    __local uint *words = (__local uint *)counts;
    clumpi_view v = clumpi_view_of(heap, header_at);
    uint me = (uint)get_local_id(0), items = (uint)get_local_size(0);
    uint sets = v.header->class_count + 1, width = sets * COUNT_WORDS;
    for (uint i = me; i < width; i += items) words[i] = 0;
    CLUMPI_BARRIER(CLK_LOCAL_MEM_FENCE);
    clumpi_range chunk = clumpi_block_chunk(&v);
    for (uint b = chunk.begin + me; b < chunk.end; b += items) {
        uint class_id = clumpi_class_of_state(v.states[b]);
        uint credits = clumpi_credits_of_state(v.states[b]);
        if (class_id > v.header->class_count) continue;
        __local clumpi_block_counts *mine = &counts[class_id];
        __global const clumpi_class_plan *p = &clumpi_plans(&v)[class_id];
        if (class_id == 0) {
            atomic_inc(&mine->targets);
        } else if (!p->selected) {
            continue;
        } else if (credits > p->threshold) {
            if (credits == v.classes[class_id].capacity) continue;
            atomic_inc(&mine->targets);
            atomic_add(&mine->holes, v.classes[class_id].capacity - credits);
        } else if (credits == p->threshold) {
            atomic_inc(&mine->ties);
        } else if (credits < p->below) {
            atomic_inc(&mine->sources);
            atomic_add(&mine->objects, credits);
        } else if (credits == p->below) {
            atomic_inc(&mine->below_ties);
        }
    }
    CLUMPI_BARRIER(CLK_LOCAL_MEM_FENCE);
    __global uint *to = (__global uint *)&clumpi_plan_counts(&v)[(uint)get_group_id(0) * sets];
    for (uint i = me; i < width; i += items) to[i] = words[i];
}

/* Turn sums of what clumpi_plan_count() counted into what counting block by block would have
 * given. */
static inline clumpi_block_counts count_by_rank(__global const clumpi_class_plan *p, uint capacity,
                                                clumpi_block_counts t) {
    uint stay = min(t.ties, p->ties), same = p->below == p->threshold;
    if (p->threshold < capacity) {
        t.targets += stay;
        t.holes += stay * (capacity - p->threshold);
    }
    uint give = min(same ? t.ties - stay : t.below_ties, p->below_ties);
    t.sources += give;
    t.objects += give * p->below;
    return t;
}

/* Where the classes begin in the list of blocks and among the batches; plans[0] has the sums. */
CLUMPI_LOCAL_INLINED void place_classes(const clumpi_view *v, __local uint *begins) {
    uint classes = v->header->class_count;
    __global clumpi_class_plan *plans = clumpi_plans(v);
    if (get_local_id(0) == 0) {
        uint at = 0, batches = 0;
        for (uint c = 1; c <= classes; c++) {
            begins[c] = at;
            if (get_group_id(0) == 0) {
                plans[c].source_begin = at;
                plans[c].target_begin = at + plans[c].sources;
                plans[c].batch_begin = batches;
            }
            at += plans[c].sources + plans[c].targets;
            batches += plans[c].batches;
        }
        if (get_group_id(0) == 0) plans[0].batches = batches;
    }
    CLUMPI_BARRIER(CLK_LOCAL_MEM_FENCE);
}

/* The blocks of class `kind` in a tile, of which this work-item may have one; class 0 are the free
 * blocks, which are targets of class c. `so_far` has the counts in front of the tile, then behind
 * it. All work-items of the group call together. */
CLUMPI_LOCAL_INLINED void write_tile(const clumpi_view *v, __global const clumpi_class_plan *p,
                                     uint kind, uint c, uint begin, uint block, uint state,
                                     uint mine, __local clumpi_block_counts *so_far,
                                     __local uint *sums) {
    uint me = (uint)get_local_id(0), last = (uint)get_local_size(0) - 1;
    uint credits = clumpi_credits_of_state(state), capacity = v->classes[c].capacity;
    clumpi_block_counts t = *so_far;
    /* Two counts of at most 256 in one word. */
    uint tie = mine && kind && credits == p->threshold;
    uint below_tie = mine && kind && !tie && credits == p->below;
    uint ties = clumpi_group_scan(tie | below_tie << 16, sums), all_ties = sums[last];
    t.ties += (ties & 0xffffu) - tie;
    t.below_ties += (ties >> 16) - below_tie;
    uint role = !mine ? ROLE_NONE : kind ? role_of(p, credits, &t) : ROLE_TARGET;
    uint source = role == ROLE_SOURCE, target = role == ROLE_TARGET && credits < capacity;
    CLUMPI_BARRIER(CLK_LOCAL_MEM_FENCE);
    uint roles = clumpi_group_scan(source | target << 16, sums), all_roles = sums[last];
    CLUMPI_BARRIER(CLK_LOCAL_MEM_FENCE);
    uint objects = clumpi_group_scan(source ? credits : 0u, sums), all_objects = sums[last];
    CLUMPI_BARRIER(CLK_LOCAL_MEM_FENCE);
    uint holes = clumpi_group_scan(target ? capacity - credits : 0u, sums), all_holes = sums[last];
    t.sources += (roles & 0xffffu) - source;
    t.targets += (roles >> 16) - target;
    if (source) {
        clumpi_plan_list(v)[begin + t.sources] = block;
        clumpi_block_plans(v)[block].source.first_object = t.objects + objects - credits;
        __global uint *moved = clumpi_moved(v);
        atomic_or(&moved[block >> 5], 1u << (block & 31u));
    } else if (target && t.targets < p->targets) {
        uint hole = kind ? t.holes + holes - (capacity - credits) : t.targets * capacity;
        clumpi_plan_list(v)[begin + p->sources + t.targets] = block;
        clumpi_block_plans(v)[block].target.first_hole = hole;
        clumpi_block_plans(v)[block].target.coming = p->moves;
    }
    CLUMPI_BARRIER(CLK_LOCAL_MEM_FENCE);
    if (me != 0) return;
    so_far->ties += all_ties & 0xffffu;
    so_far->below_ties += all_ties >> 16;
    so_far->sources += all_roles & 0xffffu;
    so_far->targets += all_roles >> 16;
    so_far->objects += all_objects;
    so_far->holes += all_holes;
}

/* The list, the plans of blocks and the marks of moved blocks. fresh: the class whose targets are
 * free blocks. */
__kernel void clumpi_plan_write(__global uchar *heap, uint header_at, uint fresh) {
    __local clumpi_block_counts so_far[CLUMPI_CLASS_IDS];
    __local uint *words = (__local uint *)so_far;
    __local uint begins[CLUMPI_CLASS_IDS], sums[256], next[1];
    clumpi_view v = clumpi_view_of(heap, header_at);
    uint me = (uint)get_local_id(0), items = (uint)get_local_size(0);
    uint classes = v.header->class_count, width = (classes + 1) * COUNT_WORDS;
    __global const clumpi_class_plan *plans = clumpi_plans(&v);
    __global const uint *counts = (__global const uint *)clumpi_plan_counts(&v);
    for (uint i = me; i < width; i += items) words[i] = 0;
    place_classes(&v, begins);
    for (uint i = me; i < (uint)get_group_id(0) * width; i += items) {
        uint n = counts[i];
        if (n) atomic_add(&words[i % width], n);
    }
    CLUMPI_BARRIER(CLK_LOCAL_MEM_FENCE);
    for (uint c = 1 + me; c <= classes; c += items)
        if (plans[c].selected)
            so_far[c] = count_by_rank(&plans[c], v.classes[c].capacity, so_far[c]);
    clumpi_range chunk = clumpi_block_chunk(&v);
    for (uint tile = chunk.begin; tile < chunk.end; tile += items) {
        uint block = tile + me, state = block < chunk.end ? v.states[block] : 0;
        uint kind = clumpi_class_of_state(state), c = kind ? kind : fresh;
        uint waits = block < chunk.end && c && c <= classes && plans[c].selected ? kind + 1u : 0u;
        /* bound: work-items: each turn ends the wait of the smallest class */
        for (uint n = clumpi_group_next(waits, next); n; n = clumpi_group_next(waits, next)) {
            uint now = n - 1u, of = now ? now : fresh, mine = waits == n;
            write_tile(&v, &plans[of], now, of, begins[of], block, state, mine, &so_far[now], sums);
            if (mine) waits = 0;
        }
    }
}

/* For each source, where in the list of targets the hole of its first object is. */
__kernel void clumpi_plan_pair(__global uchar *heap, uint header_at) {
    clumpi_view v = clumpi_view_of(heap, header_at);
    __global const uint *list = clumpi_plan_list(&v);
    __global clumpi_block_plan *block_plans = clumpi_block_plans(&v);
    for (uint c = 1; c <= v.header->class_count; c++) {
        __global const clumpi_class_plan *p = &clumpi_plans(&v)[c];
        for (uint s = (uint)get_global_id(0); s < p->sources; s += (uint)get_global_size(0)) {
            uint source = list[p->source_begin + s];
            uint number = block_plans[source].source.first_object;
            uint low = 0, high = p->targets; /* the last target whose first hole is <= number */
            /* bound: 32: a binary search */
            while (high - low > 1) {
                uint middle = (low + high) / 2;
                uint first = block_plans[list[p->target_begin + middle]].target.first_hole;
                if (first <= number)
                    low = middle;
                else
                    high = middle;
            }
            block_plans[source].source.target = low;
        }
    }
}
