/* The original kernels in CUDA. They build lists, a tree and a hash table with malloc().
 * kernels.cl is the same program in OpenCL C, line by line.
 */
#define KEYS 4096
#define BUCKETS 512
#define DEPTH 64
struct Item { unsigned key; Item *next; };
struct Leaf { unsigned key; Leaf *child[2]; };

__device__ unsigned mix(unsigned x) {
    x = (x ^ x >> 16) * 0x85ebca6bu;
    x = (x ^ x >> 13) * 0xc2b2ae35u;
    return x ^ x >> 16;
}

/* ---- Each thread has its own list ---- */

__global__ void make_lists(Item **lists, unsigned count) {
    unsigned me = blockIdx.x * blockDim.x + threadIdx.x;
    if (me >= count) return;
    Item *first = 0;
    for (unsigned i = 0; i < me % 16; i++) {
        Item *item = (Item *)malloc(sizeof(Item));
        if (!item) break;
        item->key = me + i;
        item->next = first;
        first = item;
    }
    lists[me] = first;
}

__global__ void free_lists(Item **lists, unsigned count, unsigned *sum) {
    unsigned me = blockIdx.x * blockDim.x + threadIdx.x;
    if (me >= count) return;
    Item *at = lists[me];
    for (unsigned i = 0; i < 16 && at; i++) {
        Item *next = at->next;
        atomicAdd(sum, at->key);
        free(at);
        at = next;
    }
}

/* ---- All threads insert into one tree ---- */

__global__ void grow_tree(Leaf **root, unsigned *lost) {
    unsigned me = blockIdx.x * blockDim.x + threadIdx.x;
    if (me >= KEYS) return;
    Leaf *leaf = (Leaf *)malloc(sizeof(Leaf));
    if (!leaf) { atomicAdd(lost, 1); return; }
    leaf->key = mix(me);
    leaf->child[0] = leaf->child[1] = 0;
    __threadfence(); /* the leaf must be visible before its pointer */
    Leaf **place = root;
    for (unsigned i = 0; i < DEPTH; i++) {
        Leaf *found = (Leaf *)atomicCAS((unsigned long long *)place, 0ull, (unsigned long long)leaf);
        if (!found) return;
        __threadfence();
        place = &found->child[mix(me) > found->key];
    }
    free(leaf);
    atomicAdd(lost, 1);
}

__global__ void look_up(Leaf **root, unsigned *found) {
    unsigned me = blockIdx.x * blockDim.x + threadIdx.x;
    if (me >= KEYS) return;
    Leaf *at = *root;
    for (unsigned i = 0; i < DEPTH && at; i++) {
        if (at->key == mix(me)) { atomicAdd(found, 1); return; }
        at = at->child[mix(me) > at->key];
    }
}

/* ---- All threads insert into one hash table ---- */

__global__ void fill_table(Item **buckets, unsigned *lost) {
    unsigned me = blockIdx.x * blockDim.x + threadIdx.x;
    if (me >= KEYS) return;
    Item *item = (Item *)malloc(sizeof(Item));
    if (!item) { atomicAdd(lost, 1); return; }
    item->key = me;
    Item **place = &buckets[mix(me) % BUCKETS];
    Item *first = *(Item *volatile *)place;
    for (unsigned i = 0; i < KEYS; i++) {
        item->next = first;
        __threadfence();
        Item *seen = (Item *)atomicCAS((unsigned long long *)place, (unsigned long long)first, (unsigned long long)item);
        if (seen == first) return;
        first = seen;
    }
}

__global__ void empty_table(Item **buckets, unsigned *sum) {
    unsigned me = blockIdx.x * blockDim.x + threadIdx.x;
    if (me >= BUCKETS) return;
    Item *at = buckets[me];
    for (unsigned i = 0; i < KEYS && at; i++) {
        Item *next = at->next;
        if (mix(at->key) % BUCKETS == me) atomicAdd(sum, 1);
        free(at);
        at = next;
    }
    buckets[me] = 0;
}
