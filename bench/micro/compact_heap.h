/* The heap of the paper's synthetic benchmark (Springer and Masuhara, ISMM 2019, section 4):
 * objects of two classes that point to each other at random, of one of which a share dies.
 *
 * compact.c compacts it and takes the time; compact_quality.c and compact_passes.c look at what is
 * left; mark/synthetic.c has it marked. All can build it again and again, each time the same, and
 * have every reference and every field verified on the device.
 *
 * Read first: bench.h, compact.schema, compact_draw.clh, compact.cl.
 */
#ifndef BENCH_COMPACT_HEAP_H
#define BENCH_COMPACT_HEAP_H

#include "bench/harness/bench.h"
#include "bench/papers/merge/merge.h"
#include "clump/compact.h"

typedef struct compact_heap_desc {
    const bench_env *env;
    uint32_t objects; /* of each class */
    uint32_t seed;
    uint64_t heap_bytes; /* 0: what the objects need, and as much again for A if has_copy_room */
    uint32_t block_rows; /* as in clump_heap_desc */
    uint32_t buffers;    /* as in bench_heap_desc */
    int has_copy_room;   /* for orders, which move all objects into free blocks */
    int counts_moves;    /* for compact_heap_count_moves() */
} compact_heap_desc;

typedef struct compact_heap compact_heap;

/* An empty heap. Returns 0, or -1 and *heap NULL. */
int compact_heap_create(const compact_heap_desc *desc, compact_heap **heap, bench_error *error);
void compact_heap_destroy(compact_heap *heap); /* NULL is allowed */

clump_heap *compact_heap_get(compact_heap *heap);

/* A share in percent, in units of 2^-32: draws (compact_draw.clh) below it have that share. */
static inline uint64_t compact_heap_below(double percent) {
    return (uint64_t)(percent / 100 * 4294967296.0);
}

/* Free what there is, make all objects and links anew, and let `dead` percent of the A die. */
int compact_heap_build(compact_heap *heap, double dead, bench_error *error);

/* Compact class A. `desc` without classes. `merge` as in bench_merge_compact(). `wall_us` is
 * optional. */
int compact_heap_compact(compact_heap *heap, const clump_compact_desc *desc,
                         const bench_merge *merge, clump_compact_report *report, double *wall_us,
                         bench_error *error);

/* The graph, the contents, the heap's invariants, and that no kernel reported an error. Returns 0
 * if all is right, 1 if it is not, -1 if that could not be found out; `error` has the words.
 * `moved`: A was compacted with these, which decides what dangling references must be; NULL: not
 * yet. */
int compact_heap_verify(compact_heap *heap, const clump_compact_desc *moved, bench_error *error);

/* The same after a collection, which must have left so many; which ones is not looked at. */
int compact_heap_verify_left(compact_heap *heap, uint64_t a_left, uint64_t b_left,
                             bench_error *error);

/* References to all A by number, those that died included, as they were when the heap was built.
 * `places` has room for them all. */
int compact_heap_read_places(compact_heap *heap, clump_ref *places, bench_error *error);

/* How full the blocks of A are. */
typedef struct compact_fill {
    uint32_t capacity; /* of a block; 0 if there is none */
    uint32_t blocks;   /* with objects */
    uint64_t objects;
    uint32_t *blocks_of; /* [n]: blocks with n objects, n = 0 .. capacity; malloc() */
} compact_fill;
int compact_heap_fill(compact_heap *heap, compact_fill *fill, bench_error *error);
void compact_fill_release(compact_fill *fill);

double compact_fill_fragmentation(const compact_fill *fill);

/* Objects that must move so that as few blocks are left as possible, beside free slots for a share
 * `slack` of the objects: all that are not in the fullest blocks. */
uint64_t compact_fill_moves_minimum(const compact_fill *fill, double slack);

/* Blocks that CompactGpu considers: at most n / (n + 1) full. */
uint32_t compact_fill_candidates(const compact_fill *fill, uint32_t n);

/* How often A objects moved since compact_heap_build(), if each call follows one run that moves an
 * object at most once. `counts[k]` is the number of living A that moved k times, the last entry
 * those that moved as often or more often. `counts` NULL: only look where they are now. */
int compact_heap_count_moves(compact_heap *heap, uint64_t *counts, size_t size, bench_error *error);

#endif
