/* Marking: roots, and the steps that follow references until nothing new is reached.
 *
 * A step is one launch. It looks at what the step before left and goes one of four ways, the same
 * for all work-groups, since they decide by numbers that no step changes while it runs:
 *
 *   narrow   a small frontier: the first work-group alone follows it, level after level, in local
 *            memory, until it grows or the levels of a launch are used up. The others leave at once
 *   queue    one level of a wide frontier: tiles of the queue are dealt out by a counter. The
 *            frontier queue of Maas et al. (ISMM 2012), but with marking before enqueuing, so that
 *            each object is in the queue once, and with all compute units
 *   rows     a sweep over the words of grey objects: a row's objects are scanned together
 *   refill   the queue alone, after it overflowed and is nearly empty: grey objects go back to it
 *
 * No work-group waits for another. A step that finds nothing to do leaves at once, so the host
 * enqueues several and reads back once.
 *
 * Read first: mark.clh. Read next: sweep.cl.
 */
#include "cl/collect/mark.clh"

/* ---- Roots ---- */

#define ROOT_STEP 5u /* what it leaves is where step 0 looks */

/* All live objects are white, and no raw memory is; none is grey (which the last collection left
 * so). */
__kernel void clumpi_mark_begin(__global uchar *heap, uint header_at, __global uchar *marks) {
    clumpi_mark m = clumpi_mark_of(heap, header_at, marks, 0);
    const clumpi_part part = clumpi_part_of((ulong)m.r.end * CLUMPI_WORDS_PER_ROW);
    __global const clumpi_word *bits = m.v.bits;
    __global clumpi_word *white = m.white;
    if (m.r.class_count == m.v.header->class_count) {
        for (ulong i = part.begin; i < part.end; i += part.step) white[i] = bits[i];
        return;
    }
    for (ulong i = part.begin; i < part.end; i += part.step) {
        uint block = clumpi_block_of(&m.r, (uint)(i / CLUMPI_WORDS_PER_ROW));
        white[i] = clumpi_class_of_state(m.r.states[block]) > m.r.class_count ? 0 : bits[i];
    }
}

/* At the end of a kernel of roots. References that are roots are no references of objects. */
static inline void tally_roots(clumpi_mark *m, uint roots, uint dangling) {
    m->read = m->followed = 0;
    clumpi_mark_tally(m);
    if (roots) CLUMPI_ADD(&m->control->roots, roots);
    if (dangling) CLUMPI_ADD(&m->control->roots_dangling, dangling);
}

/* All objects of the classes first .. last. */
__kernel void clumpi_mark_classes(__global uchar *heap, uint header_at, __global uchar *marks,
                                  uint first, uint last) {
    clumpi_mark m = clumpi_mark_of(heap, header_at, marks, ROOT_STEP);
    uint roots = 0;
    const clumpi_part part = clumpi_part_of(m.r.end);
    for (ulong at = part.begin; at < part.end; at += part.step) {
        uint g = (uint)at;
        ulong bits = clumpi_row_bits(&m.v, g), white = clumpi_mark_row(&m, m.white, g);
        uint class_id = bits ? clumpi_mark_class(&m, g << 6) : 0u;
        if (!bits || class_id < first || class_id > last) continue;
        roots += clumpi_popcount64(bits);
        if (!white) continue;
        clumpi_mark_row_set(&m, m.white, g, 0);
        clumpi_mark_row_set(&m, m.grey, g, clumpi_mark_row(&m, m.grey, g) | white);
        m.left_grey = 1;
    }
    tally_roots(&m, roots, 0);
}

/* The objects that are white in `chosen`, a buffer with the first part of one of marks. */
__kernel void clumpi_mark_chosen(__global uchar *heap, uint header_at, __global uchar *marks,
                                 __global uchar *chosen) {
    clumpi_mark m = clumpi_mark_of(heap, header_at, marks, ROOT_STEP);
    const clumpi_mark those = clumpi_mark_of(heap, header_at, chosen, 0);
    uint roots = 0;
    const clumpi_part part = clumpi_part_of(m.r.end);
    for (ulong at = part.begin; at < part.end; at += part.step) {
        uint g = (uint)at;
        ulong white = clumpi_mark_row(&m, m.white, g);
        ulong bits = clumpi_mark_row(&those, those.white, g) & white;
        if (!bits) continue;
        roots += clumpi_popcount64(bits);
        clumpi_mark_row_set(&m, m.white, g, white & ~bits);
        clumpi_mark_row_set(&m, m.grey, g, clumpi_mark_row(&m, m.grey, g) | bits);
        m.left_grey = 1;
    }
    tally_roots(&m, roots, 0);
}

/* At the end: the objects that were reached become white in `chosen`. */
__kernel void clumpi_mark_reached(__global uchar *heap, uint header_at, __global uchar *marks,
                                  __global uchar *chosen) {
    const clumpi_mark m = clumpi_mark_of(heap, header_at, marks, 0);
    const clumpi_mark those = clumpi_mark_of(heap, header_at, chosen, 0);
    const clumpi_part part = clumpi_part_of(m.r.end);
    for (ulong at = part.begin; at < part.end; at += part.step) {
        uint g = (uint)at, block = clumpi_block_of(&m.r, g);
        if (clumpi_class_of_state(m.r.states[block]) > m.r.class_count) continue; /* raw memory */
        clumpi_mark_row_set(&those, those.white, g,
                            clumpi_row_bits(&m.v, g) & ~clumpi_mark_row(&m, m.white, g));
    }
}

/* ---- What all ways share ---- */

/* Objects that are in the queue. */
static inline uint queue_length(const clumpi_mark *m) {
    return min(m->control->queued[m->now], m->capacity);
}

/* Levels that a narrow step goes through. */
static inline uint levels_most(const clumpi_mark *m) {
    return min(m->control->levels_most, CLUMPI_NARROW_LEVELS);
}

/* Which way this step goes, and whether what it reaches becomes grey in its word. */
static inline uint choose_path(clumpi_mark *m) {
    __global const clumpi_mark_control *c = m->control;
    uint length = queue_length(m);
    if (length > c->narrow) {
        m->by_rows = length > c->rows_above;
        return CLUMPI_MARK_QUEUE;
    }
    /* Not behind a list that may be long. At least half the queue is free, so that what is there
     * does not go round for ever. */
    if (c->refill && c->grey[m->now] && length <= m->capacity / 2u) return CLUMPI_MARK_REFILL;
    if (length) return CLUMPI_MARK_NARROW;
    if (!c->grey[m->now]) return CLUMPI_MARK_NONE;
    m->by_rows = c->scanned[m->now] > c->rows_below;
    return CLUMPI_MARK_ROWS;
}

/* By one work-item of the launch. */
static inline void note_step(const clumpi_mark *m, uint path) {
    __global clumpi_mark_control *c = m->control;
    uint after = (m->step + 2u) % 3u;
    c->queued[after] = c->grey[after] = c->scanned[after] = c->cursor[after] = 0;
    if (path == CLUMPI_MARK_NONE) return;
    if (path != CLUMPI_MARK_NARROW) /* which logs its own */
        clumpi_log_turn(m, clumpi_mark_turns(m), path, queue_length(m));
    c->peak = max(c->peak, queue_length(m));
    if (path == CLUMPI_MARK_REFILL) {
        c->refills++;
        return;
    }
    c->levels += path == CLUMPI_MARK_QUEUE; /* a narrow way counts its own */
    c->sweeps += path == CLUMPI_MARK_ROWS;
    c->changes += c->path != CLUMPI_MARK_NONE && c->path != path;
    c->path = path;
    /* Objects that were grey before a step of the queue still are after it. */
    if (path != CLUMPI_MARK_ROWS && c->grey[m->now]) CLUMPI_STORE(&c->grey[m->next], 1);
}

/* Reference number `k` of an object of a class, of those that are followed; and the classes that it
 * can name. */
static inline uint nth_reference(const clumpi_mark *m, uint ref, uint class_id, uint k, uint *first,
                                 uint *last) {
    __global const clumpi_column *column = clumpi_columns(&m->v) + m->v.classes[class_id].refs;
    /* bound: columns of the class: k counts their elements */
    for (; k >= column->count; column++) k -= column->count;
    *first = column->first;
    *last = column->last;
    return *(__global const uint *)(clumpi_granule_at(m->r.memory, ref >> 6) + column->base +
                                    (ulong)k * column->step + (ref & 63u) * column->stride);
}

/* Is there no room in the queue any more? Then refilling ends; what is grey stays so. */
static inline uint is_full(clumpi_mark *m) {
    uint full = CLUMPI_LOAD(&m->control->queued[m->next]) >= m->capacity;
    if (full) m->left_grey = 1;
    return full;
}

/* What is in the queue stays in it. */
static inline void carry_over(clumpi_mark *m) {
    uint length = queue_length(m);
    for (uint i = (uint)get_global_id(0); i < length; i += (uint)get_global_size(0))
        clumpi_enqueue(m, CLUMPI_ADD(&m->control->queued[m->next], 1), m->in[i]);
}

/* Put the grey objects of a row back into the queue. */
static inline void refill_row(clumpi_mark *m, uint granule, ulong bits) {
    uint at = CLUMPI_ADD(&m->control->queued[m->next], clumpi_popcount64(bits));
    for (; bits; bits &= bits - 1ul, at++) {
        uint ref = granule << 6 | clumpi_lowest64(bits);
        if (at < m->capacity)
            m->out[at] = ref;
        else
            clumpi_make_grey(m, ref);
    }
}

#if CLUMPI_ROW_PER_ITEM /* ---- A work-item is a work-group ---- */

#define REF_BATCH 256u
#define QUEUE_TILE 128u
#define ROWS_TILE 1024u

/* References that were read, and the classes that they can name: first | last << 16. Looked at many
 * at a time, because look-ups of one kind overlap, and atomic operations between them would stop
 * that. */
typedef struct ref_batch {
    uint count;
    uint refs[REF_BATCH], classes[REF_BATCH];
} ref_batch;

/* The next frontier of a narrow step. */
typedef struct front {
    uint count;
    uint refs[CLUMPI_NARROW_MAX];
} front;

/* Reach what a ref_batch refers to and pass it on, to `next` or (NULL) to all work-groups. */
static inline void drain(clumpi_mark *m, ref_batch *b, front *next) {
    uint white = 0, reached = 0;
    for (uint i = 0; i < b->count; i++) {
        uint ref = b->refs[i], classes = b->classes[i];
        b->refs[white] = ref;
        b->classes[white] = classes;
        m->followed += ref != 0;
        white += clumpi_is_white(m, ref);
    }
    for (uint i = 0; i < white; i++) {
        uint ref = b->refs[i], classes = b->classes[i];
        b->refs[reached] = ref;
        reached += clumpi_reach_object(m, ref, classes & 0xffffu, classes >> 16);
    }
    m->read += b->count;
    b->count = 0;
    uint i = 0;
    if (next)
        for (; i < reached && next->count < CLUMPI_NARROW_MAX; i++)
            next->refs[next->count++] = b->refs[i];
    if (m->by_rows) {
        for (; i < reached; i++) clumpi_make_grey(m, b->refs[i]);
    } else if (i < reached) {
        uint at = CLUMPI_ADD(&m->control->queued[m->next], reached - i);
        for (; i < reached; i++) clumpi_enqueue(m, at++, b->refs[i]);
    }
}

/* Read references that arrays of run-time length of an object have in raw memory. */
static inline void gather_arrays(clumpi_mark *m, uint ref, uint class_id, ref_batch *b,
                                 front *next) {
    for (uint c = m->v.classes[class_id].arrays; c < m->v.classes[class_id].cleared; c++) {
        const clumpi_column array = clumpi_columns(&m->v)[c];
        const clumpi_raw_refs o = clumpi_raw_refs_of(&m->r, &array, ref);
        for (uint e = 0; e < o.count; e++) {
            if (b->count == REF_BATCH) drain(m, b, next); /* a row may have filled it */
            b->refs[b->count] = o.refs[e];
            b->classes[b->count++] = array.first | array.last << 16;
        }
    }
}

/* Read all references of an object. */
static inline void gather(clumpi_mark *m, uint ref, ref_batch *b, front *next) {
    __global const clumpi_class *class = &m->v.classes[clumpi_mark_class(m, ref)];
    __global const uchar *row = clumpi_granule_at(m->r.memory, ref >> 6);
    for (uint c = class->refs; c < class->weak; c++) {
        const clumpi_column column = clumpi_columns(&m->v)[c];
        __global const uchar *at = row + column.base + (ref & 63u) * column.stride;
        /* bound: column.count: each turn reads an element, or empties the batch */
        for (uint left = column.count; left;) {
            uint part = min(left, REF_BATCH - b->count);
            for (uint i = 0; i < part; i++, at += column.step) {
                b->refs[b->count + i] = *(__global const uint *)at;
                b->classes[b->count + i] = column.first | column.last << 16;
            }
            b->count += part;
            left -= part;
            if (b->count == REF_BATCH) drain(m, b, next);
        }
    }
    if (CLUMPI_REF_ARRAYS) gather_arrays(m, ref, clumpi_mark_class(m, ref), b, next);
}

static inline void narrow_step(clumpi_mark *m, ref_batch *b) {
    front fronts[2];
    uint levels = 0, peak = 0, turns = clumpi_mark_turns(m);
    fronts[0].count = queue_length(m);
    for (uint i = 0; i < fronts[0].count; i++) fronts[0].refs[i] = m->in[i];
    for (; levels < levels_most(m); levels++) {
        const front *at = &fronts[levels & 1u];
        front *next = &fronts[~levels & 1u];
        if (!at->count || at->count > m->control->narrow) break;
        clumpi_log_turn(m, turns + levels, CLUMPI_MARK_NARROW, at->count);
        next->count = 0;
        for (uint i = 0; i < at->count; i++) gather(m, at->refs[i], b, next);
        drain(m, b, next);
        peak = max(peak, next->count);
    }
    m->control->peak = max(m->control->peak, peak);
    const front *rest = &fronts[levels & 1u];
    uint at = rest->count ? CLUMPI_ADD(&m->control->queued[m->next], rest->count) : 0u;
    for (uint i = 0; i < rest->count; i++) clumpi_enqueue(m, at + i, rest->refs[i]);
    m->control->levels += levels;
    m->control->narrow_levels += levels;
}

static inline void queue_step(clumpi_mark *m, ref_batch *b) {
    uint length = queue_length(m);
    /* bound: length / tile + 1: the cursor moves on with each turn */
    for (;;) {
        uint begin = CLUMPI_ADD(&m->control->cursor[m->now], QUEUE_TILE);
        if (begin >= length) break;
        uint end = min(begin + QUEUE_TILE, length);
        for (uint i = begin; i < end; i++) gather(m, m->in[i], b, 0);
    }
    drain(m, b, 0);
}

/* One element of a column of the objects of a row. */
static inline void gather_row(clumpi_mark *m, const clumpi_column *column, ulong base, uint granule,
                              ulong bits, ref_batch *b) {
    __global const uchar *at = clumpi_granule_at(m->r.memory, granule) + base;
    if (b->count > REF_BATCH - 64u) drain(m, b, 0);
    uint n = b->count, classes = column->first | column->last << 16;
    if (bits == ~0ul) {
        for (uint slot = 0; slot < 64u; slot++) {
            b->refs[n + slot] = *(__global const uint *)(at + slot * column->stride);
            b->classes[n + slot] = classes;
        }
        n += 64u;
    } else {
        for (ulong rest = bits; rest; rest &= rest - 1ul, n++) {
            b->refs[n] = *(__global const uint *)(at + clumpi_lowest64(rest) * column->stride);
            b->classes[n] = classes;
        }
    }
    b->count = n;
}

static inline void scan_row(clumpi_mark *m, uint granule, ulong bits, ref_batch *b) {
    __global const clumpi_class *class = &m->v.classes[clumpi_mark_class(m, granule << 6)];
    for (uint c = class->refs; c < class->weak; c++) {
        const clumpi_column column = clumpi_columns(&m->v)[c];
        for (uint e = 0; e < column.count; e++)
            gather_row(m, &column, column.base + e * (ulong)column.step, granule, bits, b);
    }
    if (!CLUMPI_REF_ARRAYS || class->arrays == class->cleared) return;
    for (; bits; bits &= bits - 1ul)
        gather_arrays(m, granule << 6 | clumpi_lowest64(bits), clumpi_mark_class(m, granule << 6),
                      b, 0);
}

/* All rows with grey objects: scan them, or put them back into the queue. */
static inline void rows_step(clumpi_mark *m, uint refill, ref_batch *b) {
    uint scanned = 0;
    /* bound: granules / tile + 1: the cursor moves on with each turn */
    for (;;) {
        uint begin = CLUMPI_ADD(&m->control->cursor[m->now], ROWS_TILE);
        if (begin >= m->r.end || (refill && is_full(m))) break;
        uint end = min(begin + ROWS_TILE, m->r.end);
        for (uint g = begin; g < end; g++) {
            ulong bits = clumpi_take_grey(m, g);
            if (!bits) continue;
            scanned += clumpi_popcount64(bits);
            if (refill)
                refill_row(m, g, bits);
            else
                scan_row(m, g, bits, b);
        }
    }
    drain(m, b, 0);
    if (scanned) CLUMPI_ADD(&m->control->scanned[m->next], scanned);
}

__kernel void clumpi_mark_step(__global uchar *heap, uint header_at, __global uchar *marks,
                               uint step) {
    clumpi_mark m = clumpi_mark_of(heap, header_at, marks, step);
    ref_batch b;
    b.count = 0;
    uint path = choose_path(&m);
    if (get_global_id(0) == 0) clumpi_log_launch(&m, 0);
    if (get_global_id(0) == 0) note_step(&m, path);
    if (path == CLUMPI_MARK_NARROW && get_global_id(0) == 0) narrow_step(&m, &b);
    if (path == CLUMPI_MARK_QUEUE) queue_step(&m, &b);
    if (path == CLUMPI_MARK_ROWS) rows_step(&m, 0, &b);
    if (path == CLUMPI_MARK_REFILL) carry_over(&m);
    if (path == CLUMPI_MARK_REFILL) rows_step(&m, 1, &b);
    clumpi_mark_tally(&m);
    if (get_global_id(0) == 0) clumpi_log_launch(&m, 1);
}

/* References at offset + i * stride, in words; how many: clumpi_refs_count(). */
__kernel void clumpi_mark_roots(__global uchar *heap, uint header_at, __global uchar *marks,
                                __global const uint *refs, ulong offset, uint stride, ulong count,
                                __global const uint *counted, ulong counted_at) {
    clumpi_mark m = clumpi_mark_of(heap, header_at, marks, ROOT_STEP);
    ref_batch b;
    b.count = 0;
    uint roots = 0, dangling = 0;
    const clumpi_part part = clumpi_part_of(clumpi_refs_count(count, counted, counted_at));
    for (ulong i = part.begin; i < part.end; i += part.step) {
        uint ref = refs[offset + i * stride];
        if (ref == 0) continue;
        roots++;
        dangling += !clumpi_names_object(&m.v, &m.r, ref, 1, m.r.class_count);
        b.refs[b.count] = ref;
        b.classes[b.count++] = 1u | m.r.class_count << 16;
        if (b.count == REF_BATCH) drain(&m, &b, 0);
    }
    drain(&m, &b, 0);
    tally_roots(&m, roots, dangling);
}

#else /* ---- 64 work-items and more in a work-group ---- */

#define PARTS (2u * CLUMPI_MARK_ITEMS) /* objects that a work-group collects for the queue */

/* What the work-items of a group tell each other. */
typedef struct group_words {
    uint count; /* of parts[], or of the next frontier of a narrow step */
    uint at;    /* place in the queue that was reserved */
    uint tile;  /* that the group took */
    uint wide;  /* of wide[]; more than fit where some were not put there */
    uint rows;  /* of a tile */
    uint most;  /* references that an object of the tile has, those of wide[] left out */
} group_words;

/* A frontier of a narrow step: objects and their classes. */
typedef struct narrow_front {
    uint refs[CLUMPI_NARROW_MAX];
    uchar classes[CLUMPI_NARROW_MAX];
} narrow_front;

/* Of a step that goes this way: two frontiers, or the rows of a tile that have grey objects. */
typedef union step_memory {
    narrow_front fronts[2];
    struct {
        uint granule[CLUMPI_MARK_ITEMS];
        /* halves of the word of grey objects */
        uint low[CLUMPI_MARK_ITEMS], high[CLUMPI_MARK_ITEMS];
    } rows;
} step_memory;

/* Local memory of a step. */
typedef struct group_memory {
    __local group_words *shared;
    __local uint *tile; /* CLUMPI_MARK_ITEMS: objects */
    __local uint *sums; /* CLUMPI_MARK_ITEMS */
    /* CLUMPI_MARK_ITEMS: objects that the whole group takes together; in a narrow step their places
     * in the frontier */
    __local uint *wide;
    __local uint *parts; /* PARTS: reached, not yet in the queue */
    __local step_memory *step;
} group_memory;

/* Follow reference `k` of an object; the object it leads to if this work-item was the first to
 * reach it, else 0. */
static inline uint follow_nth(clumpi_mark *m, uint object, uint k) {
    uint first, last;
    uint ref = nth_reference(m, object, clumpi_mark_class(m, object), k, &first, &last);
    m->read++;
    m->followed += ref != 0;
    return clumpi_is_white(m, ref) && clumpi_reach_object(m, ref, first, last) ? ref : 0u;
}

/* Take the next tile of a step; all work-items of the group together. */
static inline uint next_tile(const clumpi_mark *m, const group_memory *s) {
    CLUMPI_BARRIER(CLK_LOCAL_MEM_FENCE);
    if (get_local_id(0) == 0) s->shared->tile = CLUMPI_ADD(&m->control->cursor[m->now], 1);
    CLUMPI_BARRIER(CLK_LOCAL_MEM_FENCE);
    return s->shared->tile;
}

/* Collect what was reached (0: nothing). */
static inline void collect(clumpi_mark *m, const group_memory *s, uint ref) {
    if (!ref) return;
    if (m->by_rows)
        clumpi_make_grey(m, ref);
    else
        s->parts[atomic_inc(&s->shared->count)] = ref;
}

/* Put what was collected into the queue if it is more than `most`. All together. */
static inline void flush(clumpi_mark *m, const group_memory *s, uint most) {
    if (m->by_rows) return;
    CLUMPI_BARRIER(CLK_LOCAL_MEM_FENCE);
    uint n = s->shared->count;
    if (n <= most) {
        CLUMPI_BARRIER(CLK_LOCAL_MEM_FENCE);
        return;
    }
    if (get_local_id(0) == 0) s->shared->at = CLUMPI_ADD(&m->control->queued[m->next], n);
    CLUMPI_BARRIER(CLK_LOCAL_MEM_FENCE);
    for (uint i = (uint)get_local_id(0); i < n; i += (uint)get_local_size(0))
        clumpi_enqueue(m, s->shared->at + i, s->parts[i]);
    CLUMPI_BARRIER(CLK_LOCAL_MEM_FENCE);
    if (get_local_id(0) == 0) s->shared->count = 0;
    CLUMPI_BARRIER(CLK_LOCAL_MEM_FENCE);
}

/* References that arrays of run-time length of an object have in raw memory: number from, from +
 * step, ... of each. */
static inline void follow_arrays(clumpi_mark *m, uint object, uint class_id, uint from, uint step) {
    for (uint c = m->v.classes[class_id].arrays; c < m->v.classes[class_id].cleared; c++) {
        const clumpi_column array = clumpi_columns(&m->v)[c];
        const clumpi_raw_refs o = clumpi_raw_refs_of(&m->r, &array, object);
        for (uint e = from; e < o.count; e += step) {
            uint ref = o.refs[e];
            m->read++;
            m->followed += ref != 0;
            if (clumpi_is_white(m, ref) && clumpi_reach_object(m, ref, array.first, array.last))
                clumpi_pass_on(m, ref);
        }
    }
}

/* The most references that one array of an object has in raw memory. */
static inline uint longest_array(const clumpi_mark *m, uint object, uint class_id) {
    uint most = 0;
    for (uint c = m->v.classes[class_id].arrays; c < m->v.classes[class_id].cleared; c++) {
        const clumpi_column array = clumpi_columns(&m->v)[c];
        most = max(most, clumpi_raw_refs_of(&m->r, &array, object).count);
    }
    return most;
}

/* An object's arrays by this work-item; if one is long, by the whole group in follow_long().
 * s->shared->wide was 0 before. */
static inline void offer_arrays(clumpi_mark *m, const group_memory *s, uint object, uint class_id) {
    uint is_long = longest_array(m, object, class_id) > m->control->wide;
    uint place = is_long ? atomic_inc(&s->shared->wide) : CLUMPI_MARK_ITEMS;
    if (place < CLUMPI_MARK_ITEMS)
        s->wide[place] = object;
    else
        follow_arrays(m, object, class_id, 0, 1);
}

/* The objects with long arrays that the group was offered; together. */
static inline void follow_long(clumpi_mark *m, const group_memory *s) {
    CLUMPI_BARRIER(CLK_LOCAL_MEM_FENCE);
    uint n = min(s->shared->wide, CLUMPI_MARK_ITEMS);
    for (uint i = 0; i < n; i++)
        follow_arrays(m, s->wide[i], clumpi_mark_class(m, s->wide[i]), (uint)get_local_id(0),
                      (uint)get_local_size(0));
    CLUMPI_BARRIER(CLK_LOCAL_MEM_FENCE);
}

/* References number from, from + 1, ... of one object, by the whole group. */
static inline void follow_wide(clumpi_mark *m, const group_memory *s, uint object, uint from) {
    uint end = m->refs_of[clumpi_mark_class(m, object)], items = (uint)get_local_size(0);
    for (; from < end; from += items) {
        uint k = from + (uint)get_local_id(0);
        collect(m, s, k < end ? follow_nth(m, object, k) : 0u);
        flush(m, s, PARTS - items);
    }
}

/* The references of a tile's objects in one sequence, that of the prefix sums: work-items have
 * equal shares whatever the objects are like. */
static inline void follow_by_sums(clumpi_mark *m, const group_memory *s, uint count) {
    uint me = (uint)get_local_id(0), items = (uint)get_local_size(0);
    (void)clumpi_group_scan(count, s->sums);
    uint all = s->sums[items - 1u];
    for (uint base = 0; base < all; base += items) {
        uint at = base + me, low = 0, high = items - 1u;
        /* bound: 8: a binary search among the work-items */
        while (at < all && low < high) { /* the first object whose sum is larger */
            uint middle = (low + high) / 2u;
            if (s->sums[middle] > at)
                high = middle;
            else
                low = middle + 1u;
        }
        uint before = low ? s->sums[low - 1u] : 0u;
        collect(m, s, at < all ? follow_nth(m, s->tile[low], at - before) : 0u);
        flush(m, s, PARTS - items);
    }
}

/* First the first references of all objects of a tile, then the second ones, ...; the objects with
 * more than `wide` are taken by the whole group, one after the other. */
static inline void follow_by_rank(clumpi_mark *m, const group_memory *s, uint count) {
    uint me = (uint)get_local_id(0), wide = m->control->wide;
    if (me == 0) s->shared->wide = s->shared->most = 0;
    CLUMPI_BARRIER(CLK_LOCAL_MEM_FENCE);
    if (count > wide)
        s->wide[atomic_inc(&s->shared->wide)] = s->tile[me];
    else if (count)
        atomic_max(&s->shared->most, count);
    if (count > wide) count = 0;
    CLUMPI_BARRIER(CLK_LOCAL_MEM_FENCE);
    uint most = s->shared->most, n = s->shared->wide;
    for (uint k = 0; k < most; k++) {
        collect(m, s, k < count ? follow_nth(m, s->tile[me], k) : 0u);
        flush(m, s, PARTS - (uint)get_local_size(0));
    }
    for (uint i = 0; i < n; i++) follow_wide(m, s, s->wide[i], 0);
}

static inline void queue_step(clumpi_mark *m, const group_memory *s) {
    uint me = (uint)get_local_id(0), items = (uint)get_local_size(0), length = queue_length(m);
    if (me == 0) s->shared->count = 0;
    /* bound: length / tile + 1: the cursor moves on with each turn */
    for (;;) {
        uint tile = next_tile(m, s);
        if (tile > length / items || tile * items >= length) break;
        uint at = tile * items + me, object = at < length ? m->in[at] : 0u;
        uint count = object ? m->refs_of[clumpi_mark_class(m, object)] : 0u;
        s->tile[me] = object;
#if CLUMPI_REF_ARRAYS
        if (me == 0) s->shared->wide = 0;
        CLUMPI_BARRIER(CLK_LOCAL_MEM_FENCE);
        if (object) offer_arrays(m, s, object, clumpi_mark_class(m, object));
        follow_long(m, s);
#endif
        if (m->control->histogram)
            follow_by_rank(m, s, count);
        else
            follow_by_sums(m, s, count);
    }
    flush(m, s, 0);
}

/* What a reference leads to goes to the next frontier; where that is full, to the queue. The class
 * of an object is looked up once, together with its mark: in a narrow level nothing counts but how
 * many look-ups wait for each other. */
CLUMPI_LOCAL_INLINED void follow_narrow(clumpi_mark *m, const group_memory *s, uint object,
                                        uint class_id, uint k, __local narrow_front *next) {
    uint first, last, ref = nth_reference(m, object, class_id, k, &first, &last);
    uint its = clumpi_mark_class(m, (ref >> 6) < m->r.end ? ref : object);
    uint is_white = clumpi_is_white(m, ref), fits = (its >= first) & (its <= last);
    m->read++;
    m->followed += ref != 0;
    if (!(is_white & fits) || !clumpi_take_white(m, ref)) return;
    uint place = atomic_inc(&s->shared->count);
    if (place < CLUMPI_NARROW_MAX) {
        next->refs[place] = ref;
        next->classes[place] = (uchar)its;
    } else {
        clumpi_pass_on(m, ref);
    }
}

/* Work-items that follow the references of one object side by side in a narrow level of n objects:
 * as many as there are for each, so that the look-ups of an object's references wait for memory
 * together. A power of two, 1 .. items. */
static inline uint narrow_team(const clumpi_mark *m, uint n, uint items) {
    uint team = 1, most = min(m->control->team, items / n);
    /* bound: 8: it is doubled up to the work-items of a group */
    while (2u * team <= most) team *= 2u;
    return team;
}

/* By the first group alone. An object's references are followed by a team of work-items, unless
 * they are many even for that. */
static inline void narrow_step(clumpi_mark *m, const group_memory *s) {
    uint me = (uint)get_local_id(0), items = (uint)get_local_size(0);
    uint wide = m->control->wide, narrow = m->control->narrow;
    uint n = queue_length(m), levels = 0, peak = n, turns = clumpi_mark_turns(m);
    for (uint i = me; i < n; i += items) {
        s->step->fronts[0].refs[i] = m->in[i];
        s->step->fronts[0].classes[i] = (uchar)clumpi_mark_class(m, m->in[i]);
    }
    uint most = levels_most(m);
    for (; n && n <= narrow && levels < most; levels++) {
        __local const narrow_front *at = &s->step->fronts[levels & 1u];
        __local narrow_front *next = &s->step->fronts[~levels & 1u];
        CLUMPI_BARRIER(CLK_LOCAL_MEM_FENCE); /* s->shared was read */
        if (me == 0) s->shared->count = s->shared->wide = 0;
        if (me == 0) clumpi_log_turn(m, turns + levels, CLUMPI_MARK_NARROW, n);
        CLUMPI_BARRIER(CLK_LOCAL_MEM_FENCE);
        uint team = narrow_team(m, n, items), member = me & (team - 1u);
        for (uint i = me / team; i < n; i += items / team) {
            uint class_id = at->classes[i], count = m->refs_of[class_id];
            uint longest = CLUMPI_REF_ARRAYS ? longest_array(m, at->refs[i], class_id) : 0u;
            uint place = CLUMPI_MARK_ITEMS;
            /* for the whole group, below; no room: team is 1 */
            if (max(count, longest) / team > wide && team < items)
                place = member ? 0u : atomic_inc(&s->shared->wide);
            if (place < CLUMPI_MARK_ITEMS) {
                if (member == 0) s->wide[place] = i;
            } else {
                if (CLUMPI_REF_ARRAYS) follow_arrays(m, at->refs[i], class_id, member, team);
                for (uint k = member; k < count; k += team)
                    follow_narrow(m, s, at->refs[i], class_id, k, next);
            }
        }
        CLUMPI_BARRIER(CLK_LOCAL_MEM_FENCE);
        uint many = min(s->shared->wide, CLUMPI_MARK_ITEMS);
        for (uint i = 0; i < many; i++) {
            uint class_id = at->classes[s->wide[i]], count = m->refs_of[class_id];
            if (CLUMPI_REF_ARRAYS) follow_arrays(m, at->refs[s->wide[i]], class_id, me, items);
            for (uint k = me; k < count; k += items)
                follow_narrow(m, s, at->refs[s->wide[i]], class_id, k, next);
        }
        CLUMPI_BARRIER(CLK_LOCAL_MEM_FENCE);
        n = min(s->shared->count, CLUMPI_NARROW_MAX);
        peak = max(peak, n);
    }
    __local const uint *rest = s->step->fronts[levels & 1u].refs;
    CLUMPI_BARRIER(CLK_LOCAL_MEM_FENCE);
    if (me == 0) {
        s->shared->at = n ? CLUMPI_ADD(&m->control->queued[m->next], n) : 0u;
        m->control->levels += levels;
        m->control->narrow_levels += levels;
        m->control->peak = max(m->control->peak, peak);
    }
    CLUMPI_BARRIER(CLK_LOCAL_MEM_FENCE);
    for (uint i = me; i < n; i += items) clumpi_enqueue(m, s->shared->at + i, rest[i]);
}

/* 64 work-items scan a row: each reference field of it is read in one go. A few objects with many
 * references are better served object by object. Long arrays are left to follow_long(). */
static inline void scan_row(clumpi_mark *m, const group_memory *s, uint granule, ulong bits) {
    uint member = (uint)get_local_id(0) & 63u, row = granule << 6;
    uint class_id = clumpi_mark_class(m, row), refs = m->refs_of[class_id];
    if (refs > m->control->wide && clumpi_popcount64(bits) < 32u) {
        for (; bits; bits &= bits - 1ul) {
            if (CLUMPI_REF_ARRAYS)
                follow_arrays(m, row | clumpi_lowest64(bits), class_id, member, 64u);
            for (uint k = member; k < refs; k += 64u) {
                uint ref = follow_nth(m, row | clumpi_lowest64(bits), k);
                if (ref) clumpi_pass_on(m, ref);
            }
        }
        return;
    }
    if (!(bits >> member & 1ul)) return;
    if (CLUMPI_REF_ARRAYS) offer_arrays(m, s, row | member, class_id);
    for (uint c = m->v.classes[class_id].refs; c < m->v.classes[class_id].weak; c++) {
        const clumpi_column column = clumpi_columns(&m->v)[c];
        __global const uchar *at =
            clumpi_granule_at(m->r.memory, granule) + column.base + member * column.stride;
        for (uint e = 0; e < column.count; e++, at += column.step) {
            uint ref = *(__global const uint *)at;
            m->followed += ref != 0;
            if (clumpi_is_white(m, ref) && clumpi_reach_object(m, ref, column.first, column.last))
                clumpi_pass_on(m, ref);
        }
        m->read += column.count;
    }
}

/* Tiles of granules: find the rows with grey objects, and scan them, or put their objects back
 * into the queue. */
static inline void rows_step(clumpi_mark *m, uint refill, const group_memory *s) {
    uint me = (uint)get_local_id(0), items = (uint)get_local_size(0), scanned = 0;
    /* bound: granules / tile + 1: the cursor moves on with each turn */
    for (;;) {
        uint tile = next_tile(m, s);
        if (tile > m->r.end / items || tile * items >= m->r.end) break;
        uint g = tile * items + me, skip = refill && is_full(m);
        ulong bits = g < m->r.end && !skip ? clumpi_take_grey(m, g) : 0ul;
        if (me == 0) s->shared->rows = s->shared->wide = 0;
        CLUMPI_BARRIER(CLK_LOCAL_MEM_FENCE);
        scanned += clumpi_popcount64(bits);
        if (bits && refill) {
            refill_row(m, g, bits);
        } else if (bits) {
            uint i = atomic_inc(&s->shared->rows);
            s->step->rows.granule[i] = g;
            s->step->rows.low[i] = (uint)bits;
            s->step->rows.high[i] = (uint)(bits >> 32);
        }
        CLUMPI_BARRIER(CLK_LOCAL_MEM_FENCE);
        uint n = s->shared->rows;
        for (uint i = me >> 6; i < n; i += items >> 6)
            scan_row(m, s, s->step->rows.granule[i],
                     (ulong)s->step->rows.high[i] << 32 | s->step->rows.low[i]);
        if (CLUMPI_REF_ARRAYS) follow_long(m, s);
    }
    if (scanned) CLUMPI_ADD(&m->control->scanned[m->next], scanned);
}

__kernel void clumpi_mark_step(__global uchar *heap, uint header_at, __global uchar *marks,
                               uint step) {
    __local group_words shared;
    __local uint tile[CLUMPI_MARK_ITEMS], sums[CLUMPI_MARK_ITEMS], wide[CLUMPI_MARK_ITEMS];
    __local uint parts[PARTS];
    __local step_memory memory;
    const group_memory s = {&shared, tile, sums, wide, parts, &memory};
    clumpi_mark m = clumpi_mark_of(heap, header_at, marks, step);
    uint path = choose_path(&m);
    if (get_global_id(0) == 0) clumpi_log_launch(&m, 0);
    if (get_global_id(0) == 0) note_step(&m, path);
    /* The barriers between are not needed by OpenCL's rules: PoCL goes wrong with branches that
     * contain barriers and do not end with one (docs/portability.md). */
    if (path == CLUMPI_MARK_NARROW && get_group_id(0) == 0) narrow_step(&m, &s);
    CLUMPI_BARRIER(CLK_LOCAL_MEM_FENCE);
    if (path == CLUMPI_MARK_QUEUE) queue_step(&m, &s);
    CLUMPI_BARRIER(CLK_LOCAL_MEM_FENCE);
    if (path == CLUMPI_MARK_REFILL) carry_over(&m);
    if (path == CLUMPI_MARK_ROWS || path == CLUMPI_MARK_REFILL)
        rows_step(&m, path == CLUMPI_MARK_REFILL, &s);
    CLUMPI_BARRIER(CLK_LOCAL_MEM_FENCE);
    clumpi_mark_tally(&m);
    if (get_global_id(0) == 0) clumpi_log_launch(&m, 1);
}

/* References at offset + i * stride, in words; how many: clumpi_refs_count(). */
__kernel void clumpi_mark_roots(__global uchar *heap, uint header_at, __global uchar *marks,
                                __global const uint *refs, ulong offset, uint stride, ulong count,
                                __global const uint *counted, ulong counted_at) {
    __local group_words shared;
    __local uint parts[PARTS];
    const group_memory s = {&shared, 0, 0, 0, parts, 0};
    clumpi_mark m = clumpi_mark_of(heap, header_at, marks, ROOT_STEP);
    uint items = (uint)get_local_size(0), roots = 0, dangling = 0;
    ulong end = clumpi_refs_count(count, counted, counted_at);
    if (get_local_id(0) == 0) shared.count = 0;
    CLUMPI_BARRIER(CLK_LOCAL_MEM_FENCE);
    for (ulong tile = get_group_id(0); tile * items < end; tile += get_num_groups(0)) {
        ulong i = tile * items + get_local_id(0);
        uint ref = i < end ? refs[offset + i * stride] : 0u;
        roots += ref != 0;
        uint names = ref && clumpi_names_object(&m.v, &m.r, ref, 1, m.r.class_count);
        dangling += ref && !names;
        uint is_first =
            names && clumpi_is_white(&m, ref) && clumpi_reach_object(&m, ref, 1, m.r.class_count);
        collect(&m, &s, is_first ? ref : 0u);
        flush(&m, &s, PARTS - items);
    }
    flush(&m, &s, 0);
    tally_roots(&m, roots, dangling);
}

#endif
