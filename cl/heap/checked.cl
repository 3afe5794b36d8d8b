/* Checked heaps: which kernel of the user runs, objects of a do-new, and all memory that no object
 * has.
 *
 * Read first: cl/core/poison.clh.
 */
#include "cl/core/pieces.clh"
#include "cl/core/poison.clh"
#include "cl/core/scan.clh"

/* A launch of kernel number `number` begins; 0: it has ended. One work-item. */
__kernel void clumpi_checked_begin(__global uchar *heap, uint header_at, uint number) {
    clumpi_checks_of(clumpi_home_in(heap, header_at))->runs = number;
}

/* The objects that a do-new made: the list has their rows, and the kernel that runs is theirs. */
__kernel void clumpi_checked_new(__global uchar *heap, uint header_at, uint class_id, uint checks) {
    clumpi_view v = clumpi_view_of(heap, header_at);
    clumpi_home h = clumpi_home_of(&v);
    __global const uint *rows = clumpi_words_at(&v, v.header->at_list_rows);
    __global const ulong *masks =
        (__global const ulong *)clumpi_words_at(&v, v.header->at_list_masks);
    uint site = clumpi_site(h, 0);
    for (uint i = (uint)get_global_id(0); i < v.header->new_rows * 64u;
         i += (uint)get_global_size(0)) {
        uint ref = rows[i >> 6] << 6 | (i & 63u);
        if (!(masks[i >> 6] >> (i & 63u) & 1ul)) continue;
        if (checks & CLUMPI_CHECKS_FREED) clumpi_slot_verify(h, class_id, ref, 0);
        clumpi_slot_make(h, class_id, ref, site);
        if (checks & CLUMPI_CHECKS_HISTORY)
            clumpi_event_keep(h, class_id, 0, clumpi_named(h, ref), site);
    }
}

/* Bytes from .. to-1 behind `memory`, of a block of the class, must be as nobody wrote them. They
 * are made so if not, if `is_told` with a finding. `ref`: where that is. */
static inline void settle_bytes(clumpi_home h, __global uchar *memory, uint from, uint to,
                                uint is_told, uint class_id, uint ref) {
    for (uint at = from + (uint)get_local_id(0) * 4u; at < to; at += (uint)get_local_size(0) * 4u) {
        __global uint *word = (__global uint *)(memory + at);
        if (*word == CLUMPI_FREED_WORD) continue;
        if (is_told) {
            clumpi_finding f = clumpi_finding_of(h, CLUMPI_FINDING_GAP, class_id, 0, at, ref);
            f.detail = *word;
            if (class_id == 0 && clumpi_checks_of(h)->at_pieces)
                f.by_site = clumpi_piece_last_free(h, (__global uchar *)word)[0];
            clumpi_find(h, f);
            clumpi_report(h, CLUMPI_ERROR_FINDING, 1, class_id, ref);
        }
        *word = CLUMPI_FREED_WORD;
    }
}

/* Nobody freed an object that was there, by C_free(). */
static inline void settle_gone(clumpi_home h, uint ref) {
    clumpi_generation_raise(h, ref);
    clumpi_last_free(h, ref)[0] = clumpi_last_free(h, ref)[1] = 0;
}

static inline void settle_slot(clumpi_home h, uint class_id, uint ref) {
    if (((__global const uint *)clumpi_row_at(h, ref >> 6))[ref & 63u] != CLUMPI_FREED_WORD)
        settle_gone(h, ref);
    clumpi_slot_free(h, class_id, ref);
}

static inline void settle_row(clumpi_home h, uint is_told, uint class_id, uint granule,
                              ulong live) {
    __global const clumpi_checks *checked = clumpi_checks_of(h);
    __global const clumpi_gap *gaps =
        (__global const clumpi_gap *)(h.heap + (ulong)checked->at_gaps * CLUMPI_UNIT);
    for (uint g = checked->gaps[class_id]; g < checked->gaps[class_id + 1u]; g++)
        settle_bytes(h, clumpi_row_at(h, granule), gaps[g].from, gaps[g].to, is_told, class_id,
                     granule << 6);
    for (uint slot = (uint)get_local_id(0); slot < 64u; slot += (uint)get_local_size(0)) {
        if (live >> slot & 1ul) continue;
        uint ref = granule << 6 | slot;
        if (is_told)
            clumpi_slot_verify(h, class_id, ref, 0);
        else
            settle_slot(h, class_id, ref);
    }
}

/* The same for a row of raw memory. */
static inline void settle_pieces(clumpi_home h, uint is_told, uint class_id, uint granule,
                                 ulong live) {
    __global const clumpi_class *c = clumpi_class_entry(h, class_id);
    __global uchar *row = clumpi_row_at(h, granule);
    ulong begins =
        c->is_runs ? clumpi_row_load(clumpi_run_begins(h, class_id, granule << 6)) : live;
    for (uint slot = (uint)get_local_id(0); slot < 64u; slot += (uint)get_local_size(0)) {
        uint is_live = live >> slot & 1ul ? 1u : 0u, is_last = slot == 63u;
        __global uchar *at = row + (slot + is_live) * c->slot_bytes,
                       *end = row + (slot + 1u) * c->slot_bytes;
        /* The end of the row, which a run of blocks has. */
        if (is_last && !(is_live && class_id == clumpi_header_of(h)->class_count))
            end = row + c->row_granules * clumpi_header_of(h)->granule_bytes;
        if (is_told)
            clumpi_piece_verify_free(h, at, end, 0);
        else
            clumpi_bytes_fill(at, end, CLUMPI_FREED_WORD);
        if (is_told && begins >> slot & 1ul)
            clumpi_piece_verify(h, clumpi_piece_of(h, class_id, granule << 6 | slot), 0);
    }
}

/* All memory of all blocks; no other kernel runs. A work-group takes a block. is_told 0: what is
 * there was written by the library, or never. */
__kernel void clumpi_checked_memory(__global uchar *heap, uint header_at, uint is_told) {
    clumpi_view v = clumpi_view_of(heap, header_at);
    clumpi_home h = clumpi_home_of(&v);
    uint granules = v.header->block_granules, bytes = granules * v.header->granule_bytes;
    for (uint b = v.header->first_block + (uint)get_group_id(0); b < v.header->block_end;
         b += (uint)get_num_groups(0)) {
        uint class_id = clumpi_class_of_state(v.states[b]), used = 0;
        if (class_id) {
            __global const clumpi_class *c = &v.classes[class_id];
            for (uint row = 0; row < c->rows; row++) {
                uint granule = b * granules + row * c->row_granules;
                if (c->slot_bytes)
                    settle_pieces(h, is_told, class_id, granule, clumpi_row_bits(&v, granule));
                else
                    settle_row(h, is_told, class_id, granule, clumpi_row_bits(&v, granule));
            }
            used = c->rows * c->row_granules * v.header->granule_bytes;
        } else if (!is_told) { /* which of its slots had an object, nothing tells any more */
            for (uint slot = (uint)get_local_id(0); slot < granules * 64u;
                 slot += (uint)get_local_size(0))
                settle_gone(h, b * granules * 64u + slot);
        }
        settle_bytes(h, clumpi_row_at(h, b * granules), used, bytes, is_told, 0, b * granules << 6);
    }
}

/* ---- Generations ----
 * Compaction, collection and what looks at handles know plain references only. Before, all
 * references that they look at are made plain; those whose objects are gone name a slot of the null
 * row from then on. Afterwards they get the generations of the slots that they name. */

/* A launch that begins or ends that. One work-item. */
__kernel void clumpi_checked_plain(__global uchar *heap, uint header_at, uint is_plain) {
    clumpi_checks_of(clumpi_home_in(heap, header_at))->is_plain = is_plain;
}

static inline void change_ref(clumpi_home h, __global uint *place, uint is_plain) {
    uint ref = *place, plain = clumpi_plain(h, ref);
    if (!clumpi_ref_in_heap(h, plain)) return;
    *place = is_plain ? clumpi_bare(h, ref) : clumpi_named(h, plain);
}

/* Those that an array of the object has in raw memory. Words that were overwritten lead nowhere
 * outside of the heap. */
static inline void change_array(clumpi_home h, __global const uchar *row, uint slot,
                                clumpi_column array, uint is_plain) {
    __global const clumpi_header *header = clumpi_header_of(h);
    ulong block_bytes = (ulong)header->granule_bytes * header->block_granules;
    __global const uchar *words = row + array.base + slot * array.stride;
    uint length = *(__global const uint *)words,
         room = *(__global const uint *)(words + array.step);
    uint count = length > array.count ? min(length - array.count, room) : 0u;
    ulong at = (ulong) * (__global const uint *)(words + 2u * array.step) * CLUMPI_RAW_UNIT;
    if (at < header->first_block * block_bytes ||
        at + count * 4ul > header->block_end * block_bytes)
        return;
    for (uint i = 0; i < count; i++) change_ref(h, (__global uint *)(h.heap + at) + i, is_plain);
}

/* The fields of all objects. A work-group takes a block. */
__kernel void clumpi_checked_refs(__global uchar *heap, uint header_at, uint is_plain) {
    clumpi_view v = clumpi_view_of(heap, header_at);
    clumpi_home h = clumpi_home_of(&v);
    uint granules = v.header->block_granules;
    for (uint b = v.header->first_block + (uint)get_group_id(0); b < v.header->block_end;
         b += (uint)get_num_groups(0)) {
        uint class_id = clumpi_class_of_state(v.states[b]);
        __global const clumpi_class *class = &v.classes[class_id];
        for (uint i = (uint)get_local_id(0); class_id && i < class->capacity;
             i += (uint)get_local_size(0)) {
            uint granule = b * granules + (i >> 6) * class->row_granules;
            if (!(clumpi_row_bits(&v, granule) >> (i & 63u) & 1ul)) continue;
            for (uint c = class->refs; c < class->arrays; c++) {
                const clumpi_column column = *clumpi_column_at(h, c);
                __global uchar *at =
                    clumpi_row_at(h, granule) + column.base + (i & 63u) * column.stride;
                for (uint e = 0; e < column.count; e++)
                    change_ref(h, (__global uint *)(at + e * column.step), is_plain);
            }
            for (uint c = class->arrays; c < class->cleared; c++)
                change_array(h, clumpi_row_at(h, granule), i & 63u, *clumpi_column_at(h, c),
                             is_plain);
        }
    }
}

/* References `stride` words apart: `count`, or as many as a word of the device says. */
__kernel void clumpi_checked_outside(__global uchar *heap, uint header_at, uint is_plain,
                                     __global uint *refs, ulong offset, uint stride, ulong count,
                                     __global const uint *counted, ulong counted_at) {
    clumpi_home h = clumpi_home_in(heap, header_at);
    if (counted) count = min(count, (ulong)counted[counted_at]);
    for (ulong i = get_global_id(0); i < count; i += get_global_size(0))
        change_ref(h, refs + offset + i * stride, is_plain);
}
