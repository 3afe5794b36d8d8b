/* The kernels of kernels.cu, ported to OpenCL C line by line. Stored pointers become handles of 32
 * bits, and HELD() converts a handle to a pointer.
 */
#define KEYS 4096
#define BUCKETS 512
#define DEPTH 64
typedef struct Item {
    uint key;
    uint next;
} Item;
typedef struct Leaf {
    uint key;
    uint child[2];
} Leaf;
#define HELD(T, handle) ((volatile __global T *)clump_raw_at(handle))
uint mix(uint x) {
    x = (x ^ x >> 16) * 0x85ebca6bu;
    x = (x ^ x >> 13) * 0xc2b2ae35u;
    return x ^ x >> 16;
}

/* ---- Each work-item has its own list ---- */

__kernel void make_lists(CLUMP_HEAP, __global uint *lists, uint count) {
    uint me = get_global_id(0);
    if (me >= count) return;
    uint first = 0;
    for (uint i = 0; i < me % 16; i++) {
        __global Item *item = (__global Item *)clump_malloc(sizeof(Item));
        if (!item) break;
        item->key = me + i;
        item->next = first;
        first = clump_raw_of(item);
    }
    lists[me] = first;
}

__kernel void free_lists(CLUMP_HEAP, __global uint *lists, uint count, __global uint *sum) {
    uint me = get_global_id(0);
    if (me >= count) return;
    uint at = lists[me];
    for (uint i = 0; i < 16 && at; i++) {
        uint next = HELD(Item, at)->next;
        atomic_add(sum, HELD(Item, at)->key);
        clump_free(clump_raw_at(at));
        at = next;
    }
}

/* ---- All work-items insert into one tree ---- */

__kernel void grow_tree(CLUMP_HEAP, __global uint *root, __global uint *lost) {
    uint me = get_global_id(0);
    if (me >= KEYS) return;
    __global Leaf *leaf = (__global Leaf *)clump_malloc(sizeof(Leaf));
    if (!leaf) {
        atomic_inc(lost);
        return;
    }
    leaf->key = mix(me);
    leaf->child[0] = leaf->child[1] = 0;
    CLUMP_FENCE(); /* the leaf must be visible before its handle */
    volatile __global uint *place = root;
    for (uint i = 0; i < DEPTH; i++) {
        uint found = atomic_cmpxchg(place, 0u, clump_raw_of(leaf));
        if (!found) return;
        CLUMP_FENCE();
        place = &HELD(Leaf, found)->child[mix(me) > HELD(Leaf, found)->key];
    }
    clump_free(leaf);
    atomic_inc(lost);
}

__kernel void look_up(CLUMP_HEAP_NO_ALLOC, __global uint *root, __global uint *found) {
    uint me = get_global_id(0);
    if (me >= KEYS) return;
    uint at = *root;
    for (uint i = 0; i < DEPTH && at; i++) {
        if (HELD(Leaf, at)->key == mix(me)) {
            atomic_inc(found);
            return;
        }
        at = HELD(Leaf, at)->child[mix(me) > HELD(Leaf, at)->key];
    }
}

/* ---- All work-items insert into one hash table ---- */

__kernel void fill_table(CLUMP_HEAP, __global uint *buckets, __global uint *lost) {
    uint me = get_global_id(0);
    if (me >= KEYS) return;
    __global Item *item = (__global Item *)clump_malloc(sizeof(Item));
    if (!item) {
        atomic_inc(lost);
        return;
    }
    item->key = me;
    volatile __global uint *place = &buckets[mix(me) % BUCKETS];
    uint first = *place;
    for (uint i = 0; i < KEYS; i++) {
        item->next = first;
        CLUMP_FENCE();
        uint seen = atomic_cmpxchg(place, first, clump_raw_of(item));
        if (seen == first) return;
        first = seen;
    }
}

__kernel void empty_table(CLUMP_HEAP, __global uint *buckets, __global uint *sum) {
    uint me = get_global_id(0);
    if (me >= BUCKETS) return;
    uint at = buckets[me];
    for (uint i = 0; i < KEYS && at; i++) {
        uint next = HELD(Item, at)->next;
        if (mix(HELD(Item, at)->key) % BUCKETS == me) atomic_inc(sum);
        clump_free(clump_raw_at(at));
        at = next;
    }
    buckets[me] = 0;
}
