/* Kernels of alloc-scalability. Every allocation has a number, and object and number know each
 * other: ids[number] is the reference, and number + 1 is in the object's tag. Two allocations
 * that got the same slot have overwritten each other's tag.
 *
 * Numbers are spread so that neighbouring work-items write neighbouring elements of ids. The class
 * Thing comes from alloc.c.
 */

/* Rows first .. end - 1 of `ids`, each with an object of every work-item. */
__kernel void alloc_things(CLUMP_HEAP, __global uint *ids, uint items, uint first, uint end) {
    uint item = (uint)get_global_id(0);
    if (item >= items) return;
    for (uint i = first; i < end; i++) {
        uint number = i * items + item;
        Thing thing = Thing_new();
        if (!Thing_is_null(thing)) Thing_tag(thing) = number + 1u;
        ids[number] = thing.id;
    }
}

/* faults[0] counts nulls, faults[1] foreign tags. */
__kernel void verify_things(CLUMP_HEAP_NO_ALLOC, __global const uint *ids, uint items, uint rows,
                            __global uint *faults) {
    uint item = (uint)get_global_id(0);
    if (item >= items) return;
    for (uint i = 0u; i < rows; i++) {
        uint number = i * items + item;
        Thing thing = {ids[number]};
        if (Thing_is_null(thing)) {
            atomic_inc(&faults[0]);
        } else if (Thing_tag(thing) != number + 1u) {
            atomic_inc(&faults[1]);
        }
    }
}

/* The floor of a free: an operation on a word of 32 objects, then one on a count of each block.
 * Where neighbours free neighbours, one work-item does it for 32. The counts need what the words
 * were, as a free does. */
__kernel void floor_things(CLUMP_HEAP_NO_ALLOC, __global uint *words, uint items, uint rows,
                           __global uint *counts, uint block_objects, uint is_random) {
    uint item = (uint)get_global_id(0);
    if (item >= items || !(is_random || (item & 31u) == 0u)) return;
    for (uint i = 0u; i < rows; i++) {
        uint number = i * items + item;
        uint place = is_random ? bench_hash(number, 1u) % (items * rows) : number;
        uint old = atomic_or(&words[place >> 5], is_random ? 1u << (place & 31u) : ~0u);
        atomic_sub(&counts[place / block_objects], 1u + (old == 0x12345678u));
    }
}

__kernel void free_things(CLUMP_HEAP, __global const uint *ids, uint items, uint first, uint end) {
    uint item = (uint)get_global_id(0);
    if (item >= items) return;
    for (uint i = first; i < end; i++) {
        Thing thing = {ids[i * items + item]};
        Thing_free(thing);
    }
}
