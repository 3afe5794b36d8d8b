/* Blocks that leave the device's memory and come back.
 *
 * A heap with evicted blocks is in segments of one block each (cl/core/segments.clh), and has more
 * blocks than memory. The memory of a block is its frame. A block without one is *away*: it is
 * evicted, and the host has its objects, or it is vacant, and has none. An away block is a full
 * block of a class that no program knows, the last one: so nobody makes objects in it, visits it,
 * or moves what is in it, and all invariants hold. What is written to it goes to a frame that is no
 * block's.
 *
 * Each kernel here runs alone. Read first: scan.clh, block.clh, segments.clh. Read next:
 * host/heap/evict.c.
 */
#include "cl/core/block.clh"
#include "cl/core/scan.clh"

/* What the host keeps of a block: its memory, then the words of its bitmaps, then its state. In
 * words of 32 bits. */
static inline uint record_state_at(const clumpi_view *v) {
    return v->header->block_granules * (v->header->granule_bytes / 4u + 2u);
}

static inline void copy_words(__global uint4 *to, __global const uint4 *from, uint count) {
    for (uint w = (uint)get_local_id(0); w < count; w += (uint)get_local_size(0)) to[w] = from[w];
}

/* Records of blocks[0 .. count-1], `stride` words apart. A work-group takes a block. */
__kernel void clumpi_evict_pack(__global uchar *heap, uint header_at, __global const uint *blocks,
                                uint count, uint stride, __global uint *records) {
    const clumpi_view v = clumpi_view_of(heap, header_at);
    const clumpi_memory memory = clumpi_memory_of(heap, v.header);
    uint me = (uint)get_local_id(0), items = (uint)get_local_size(0),
         granules = v.header->block_granules;
    for (uint i = (uint)get_group_id(0); i < count; i += (uint)get_num_groups(0)) {
        uint first = blocks[i] * granules, words = granules * (uint)memory.granule_bytes / 4u;
        __global uint *record = records + (ulong)i * stride;
        copy_words((__global uint4 *)record,
                   (__global const uint4 *)clumpi_granule_at(memory, first), words / 4u);
        for (uint g = me; g < granules; g += items) {
            ulong bits = clumpi_row_bits(&v, first + g);
            record[words + 2u * g] = (uint)bits;
            record[words + 2u * g + 1u] = (uint)(bits >> 32);
        }
        if (me == 0) record[record_state_at(&v)] = v.states[blocks[i]];
    }
}

/* The memory of records into the frames of blocks, which are free. */
__kernel void clumpi_evict_fill(__global uchar *heap, uint header_at, __global const uint *blocks,
                                uint count, uint stride, __global const uint *records) {
    const clumpi_view v = clumpi_view_of(heap, header_at);
    const clumpi_memory memory = clumpi_memory_of(heap, v.header);
    uint words = v.header->block_granules * (uint)memory.granule_bytes / 4u;
    for (uint i = (uint)get_group_id(0); i < count; i += (uint)get_num_groups(0)) {
        __global uchar *to = clumpi_granule_at(memory, blocks[i] * v.header->block_granules);
        copy_words((__global uint4 *)to, (__global const uint4 *)(records + (ulong)i * stride),
                   words / 4u);
    }
}

/* The first becomes away, and the second, which is away, gets its frame. */
typedef struct swap {
    uint gone, come; /* come CLUMPI_NONE: there is none; the first is vacant from the begin */
} swap;

/* `come` becomes a free block, or, with heads, what its record says without its memory. `spare` is
 * the frame that no block has. A work-group takes a pair. */
__kernel void clumpi_evict_swap(__global uchar *heap, uint header_at, __global const swap *swaps,
                                uint count, uint spare, uint has_heads,
                                __global const uint *heads) {
    const clumpi_view v = clumpi_view_of(heap, header_at);
    const clumpi_home h = clumpi_home_of(&v);
    uint me = (uint)get_local_id(0), items = (uint)get_local_size(0),
         granules = v.header->block_granules;
    ulong block_bytes = (ulong)granules * v.header->granule_bytes;
    __global ulong *moves = (__global ulong *)clumpi_words_at(&v, v.header->at_segments);
    for (uint i = (uint)get_group_id(0); i < count; i += (uint)get_num_groups(0)) {
        const swap s = swaps[i];
        __global const uint *head = heads + (ulong)i * (2u * granules + 1u);
        uint was = clumpi_class_of_state(v.states[s.gone]);
        for (uint g = me; g < granules; g += items) {
            ulong bits = 0;
            if (has_heads) bits = (ulong)head[2u * g + 1u] << 32 | head[2u * g];
            clumpi_row_bits_set(&v, s.gone * granules + g, g ? 0ul : ~0ul);
            if (s.come != CLUMPI_NONE) clumpi_row_bits_set(&v, s.come * granules + g, bits);
        }
        CLUMPI_BARRIER(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE); /* all know `was` */
        if (me == 0) {
            if (s.come != CLUMPI_NONE) {
                moves[s.come] = moves[s.gone] + ((ulong)s.gone - (ulong)s.come) * block_bytes;
                CLUMPI_STORE(&v.states[s.come], has_heads ? head[2u * granules] : 0u);
            }
            moves[s.gone] = ((ulong)spare - (ulong)s.gone) * block_bytes;
            CLUMPI_STORE(&v.states[s.gone],
                         v.header->class_count << CLUMPI_CLASS_SHIFT | CLUMPI_ROW_SLOTS);
            clumpi_hint_agree(h, was, 0, s.gone);
            if (s.come != CLUMPI_NONE) {
                clumpi_hint_agree(h, clumpi_class_of_state(v.states[s.come]), 0, s.come);
                clumpi_room_appeared(h);
            }
        }
        CLUMPI_BARRIER(CLK_LOCAL_MEM_FENCE);
    }
}
