/* The unchanged code of cl/core as C11 atomics for GenMC, a model checker for the memory model
 * RC11: relaxed operations, sequentially consistent and acquire-release fences, as OpenCL 2.0 names
 * them. All executions of a few work-items on a heap of one block.
 *
 *   PROGRAM hints    2 (or WORKERS) change the truth of a block and bring its hints in line
 *   PROGRAM helper   one frees the last object of a block and asks again, a helper retires the
 *                    block, one sweeps for another class
 *   NO_FENCE, NO_RELEASE   without these fences; WEAK_FENCE: full ones are acquire-release
 *
 * Read first: cl/core/bitmap.clh, cl/core/block.clh; run by genmc.sh.
 */
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#define CLUMPI_HOSTED 1
#define CLUMPI_GLOBAL
typedef unsigned int uint;
typedef unsigned long ulong;
typedef unsigned char uchar;
#include "cl/core/layout.h"
#define A(p) ((_Atomic uint *)(uintptr_t)(p))
#define R memory_order_relaxed
#define CLUMPI_LOAD(p) atomic_load_explicit(A(p), R)
#define CLUMPI_LOAD_CACHED(p) CLUMPI_LOAD(p)
#define CLUMPI_STORE(p, v) atomic_store_explicit(A(p), (uint)(v), R)
#define CLUMPI_ADD(p, v) atomic_fetch_add_explicit(A(p), (uint)(v), R)
#define CLUMPI_SUB(p, v) atomic_fetch_sub_explicit(A(p), (uint)(v), R)
#define CLUMPI_OR(p, v) atomic_fetch_or_explicit(A(p), (uint)(v), R)
#define CLUMPI_AND(p, v) atomic_fetch_and_explicit(A(p), (uint)(v), R)
static inline uint cas_(_Atomic uint *p, uint e, uint d) {
    atomic_compare_exchange_strong_explicit(p, &e, d, R, R);
    return e;
}
#define CLUMPI_CAS(p, e, d) cas_(A(p), (e), (d))
#if defined(NO_FENCE)
#define CLUMPI_FENCE() ((void)0)
#elif defined(WEAK_FENCE)
#define CLUMPI_FENCE() atomic_thread_fence(memory_order_acq_rel)
#else
#define CLUMPI_FENCE() atomic_thread_fence(memory_order_seq_cst)
#endif
#ifdef NO_RELEASE
#define CLUMPI_FENCE_ACQ_REL() ((void)0)
#else
#define CLUMPI_FENCE_ACQ_REL() atomic_thread_fence(memory_order_acq_rel)
#endif
#define CLUMPI_HAVE_INT64_ATOMICS 0
typedef uint clumpi_word;
#define CLUMPI_WORD_BITS 32u
#define CLUMPI_BITS_LOAD(p) CLUMPI_LOAD(p)
#define CLUMPI_BITS_CLAIM(p, v) CLUMPI_OR(p, v)
#define CLUMPI_BITS_RELEASE(p, v) CLUMPI_AND(p, ~(v))
#define clumpi_popcount32(x) 0u
#define clumpi_popcount64(x) 0u
static inline uint clumpi_lowest32(uint x) {
    uint i = 0;
    while (!(x >> i & 1u)) i++;
    return i;
}
static inline uint clumpi_lowest64(ulong x) {
    uint i = 0;
    while (!(x >> i & 1u)) i++;
    return i;
}
static inline uint min(uint a, uint b) {
    return a < b ? a : b;
}
static inline uint max(uint a, uint b) {
    return a > b ? a : b;
}
static inline uint clz(uint x) {
    return 0;
}
static inline uint clumpi_work_item(void) {
    return 0;
}
#define CLUMPI_HEADER_AT 1u
#ifndef LEVELS
#define LEVELS 1 /* of hints */
#endif
#define CLUMP_ROTATE 0
#define CLUMP_RETRIES 1u
#include "cl/core/alloc.clh"

#define BLOCK 1u
#ifdef PROGRAM_HINTS
#define CAPACITY 1u
#else
#define CAPACITY                                                                                   \
    2u /* so that the last object does not leave a full block, which would be announced twice */
#endif
#define CLASS_STATE(c, credits) ((c) << CLUMPI_CLASS_SHIFT | (credits))
static struct {
    _Alignas(128) uchar null[64];
    clumpi_header h;
    clumpi_class c[3];
    uint states[16], bits[16], hints[3][16];
    clumpi_striped striped[16];
} heap;
#define UNITS(member) ((uint)(offsetof(__typeof__(heap), member) / CLUMPI_UNIT))

static clumpi_home home(void) {
    return clumpi_home_in((uchar *)&heap, 1);
}

/* One block, of class 1, or free; and its hints. */
static void begin(uint state) {
    heap.h.self_at = 1;
    heap.h.at_states = UNITS(states);
    heap.h.at_bits = UNITS(bits);
    heap.h.at_hints = UNITS(hints);
    heap.h.at_striped = UNITS(striped);
    heap.h.block_granules = 1;
    heap.h.first_block = BLOCK;
    heap.h.block_end = BLOCK + 1;
    heap.h.class_count = 2;
    heap.h.hint_words = 16;
    heap.h.hint_levels = LEVELS;
    heap.h.hint_level[1] = 1;
    heap.h.epoch = 1;
    for (uint c = 1; c <= 2; c++) {
        heap.c[c].capacity = CAPACITY;
        heap.c[c].rows = heap.c[c].row_granules = 1;
    }
    heap.states[BLOCK] = state;
    for (uint set = 0; set <= 2; set++) {
        heap.hints[set][0] = clumpi_hint_of_state(home(), set, state) << BLOCK;
        heap.hints[set][1] = LEVELS > 1 && heap.hints[set][0];
    }
}

static void check_hints(void) {
    for (uint set = 0; set <= 2; set++) {
        uint truth = clumpi_hint_of_state(home(), set, heap.states[BLOCK]);
        assert((heap.hints[set][0] >> BLOCK & 1u) == truth);
        if (LEVELS > 1) assert((heap.hints[set][1] & 1u) == truth);
    }
}

#ifdef PROGRAM_HINTS
#ifndef WORKERS
#define WORKERS 2
#endif
static void *worker(void *unused) {
    atomic_fetch_xor_explicit(A(&heap.states[BLOCK]), CLASS_STATE(1u, 1u), R);
    clumpi_hint_agree(home(), 0, 0, BLOCK);
    return unused;
}

int main(void) {
    begin(CLASS_STATE(1u, 1u));
    pthread_t t[WORKERS];
    for (int i = 0; i < WORKERS; i++) pthread_create(&t[i], 0, worker, 0);
    for (int i = 0; i < WORKERS; i++) pthread_join(t[i], 0);
    check_hints();
    return 0;
}
#else
/* Frees the only object; then room is there, and no sweep of others may hide it. */
static void *owner(void *unused) {
    clumpi_block_return(home(), BLOCK, 1);
    uint exhausted = CLUMPI_LOAD(&heap.c[2].exhausted);
    assert(exhausted != CLUMPI_LOAD(&heap.h.epoch));
    return unused;
}
static void *helper(void *unused) {
    uint state = CLUMPI_LOAD(&heap.states[BLOCK]);
    if (state == CLASS_STATE(1u, 0u)) clumpi_block_retire(home(), BLOCK, 1u);
    return unused;
}
/* What clumpi_sweep() does of a heap of one block that is of another class and has objects. */
static void *sweeper(void *unused) {
    uint epoch = CLUMPI_LOAD(&heap.h.epoch);
    CLUMPI_FENCE();
    if (CLUMPI_LOAD(&heap.states[BLOCK]) == CLASS_STATE(1u, 1u))
        CLUMPI_STORE(&heap.c[2].exhausted, epoch);
    return unused;
}

int main(void) {
    begin(CLASS_STATE(1u, 1u));
    pthread_t t[3];
    pthread_create(&t[0], 0, owner, 0);
    pthread_create(&t[1], 0, helper, 0);
    pthread_create(&t[2], 0, sweeper, 0);
    for (int i = 0; i < 3; i++) pthread_join(t[i], 0);
    check_hints();
    return 0;
}
#endif
