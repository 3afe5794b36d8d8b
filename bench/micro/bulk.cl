/* Kernels of alloc-bulk: the same objects made in three ways. Object `number` has its number, and
 * WORDS words of payload that follow from it. The class Item comes from bulk.c.
 */
static void fill(CLUMP_HEAP, Item item, uint number) {
    Item_number(item) = number;
#pragma unroll /* before a loop over objects is vectorised */
    for (uint i = 0u; i < WORDS; i++) Item_payload(item, i) = number + i;
}

/* Of a do-new. */
__kernel void bulk_init(CLUMP_HEAP) {
    CLUMP_FOR_EACH_NEW(Item, self, number) {
        fill(clump_heap, self, number);
    }
}

__kernel void bulk_new(CLUMP_HEAP, uint items) {
    uint number = (uint)get_global_id(0);
    if (number >= items) return;
    Item item = Item_new();
    if (!Item_is_null(item)) fill(clump_heap, item, number);
}

__kernel void bulk_group_new(CLUMP_HEAP, uint items) {
    CLUMP_GROUP_SCRATCH;
    uint number = (uint)get_global_id(0);
    Item item = Item_group_new(number < items);
    if (!Item_is_null(item)) fill(clump_heap, item, number);
}

__kernel void bulk_nothing(CLUMP_HEAP_NO_ALLOC) {
    (void)clump_heap;
}

/* seen[number] counts the objects of that number; faults[0] those with a wrong number or payload.
 */
__kernel void bulk_see(CLUMP_HEAP_NO_ALLOC, __global uint *seen, uint items,
                       __global uint *faults) {
    CLUMP_FOR_EACH(Item, self) {
        uint number = Item_number(self), bad = number >= items;
        for (uint i = 0u; i < WORDS; i++) bad |= Item_payload(self, i) != number + i;
        if (bad)
            atomic_inc(&faults[0]);
        else
            atomic_inc(&seen[number]);
    }
}

/* faults[1] counts the numbers that not exactly one object has. */
__kernel void bulk_compare(CLUMP_HEAP_NO_ALLOC, __global const uint *seen, uint items,
                           __global uint *faults) {
    uint number = (uint)get_global_id(0);
    if (number < items && seen[number] != 1u) atomic_inc(&faults[1]);
}

__kernel void bulk_clear(CLUMP_HEAP) {
    CLUMP_FOR_EACH(Item, self) {
        Item_free(self);
    }
}
