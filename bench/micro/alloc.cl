/* Kernels of alloc-scalability. Every allocation has a number, and object and number know each
 * other: ids[number] is the reference, and number + 1 is in the object's tag. Two allocations
 * that got the same slot have overwritten each other's tag.
 *
 * Numbers are spread so that neighbouring work-items write neighbouring elements of ids. The class
 * Thing comes from alloc.c.
 */

__kernel void alloc_things(CLUMP_HEAP, __global uint *ids, uint items, uint per_item) {
    uint item = (uint)get_global_id(0);
    if (item >= items) return;
    for (uint i = 0u; i < per_item; i++) {
        uint number = i * items + item;
        Thing thing = Thing_new();
        if (!Thing_is_null(thing)) Thing_tag(thing) = number + 1u;
        ids[number] = thing.id;
    }
}

/* faults[0] counts nulls, faults[1] foreign tags. */
__kernel void verify_things(CLUMP_HEAP_FIXED, __global const uint *ids, uint items, uint per_item,
                            __global uint *faults) {
    uint item = (uint)get_global_id(0);
    if (item >= items) return;
    for (uint i = 0u; i < per_item; i++) {
        uint number = i * items + item;
        Thing thing = {ids[number]};
        if (Thing_is_null(thing)) {
            atomic_inc(&faults[0]);
        } else if (Thing_tag(thing) != number + 1u) {
            atomic_inc(&faults[1]);
        }
    }
}

__kernel void free_things(CLUMP_HEAP, __global const uint *ids, uint items, uint per_item) {
    uint item = (uint)get_global_id(0);
    if (item >= items) return;
    for (uint i = 0u; i < per_item; i++) {
        Thing thing = {ids[i * items + item]};
        Thing_free(thing);
    }
}
