/* The protocol files of cl/ as host C: what cl/core/prelude.clh defines for OpenCL, over one
 * function.
 *
 * Every access to memory that others may change goes through hosted_op(), which the including test
 * defines: executor.h makes each one a point where another thread may run, threads_tsan.h makes
 * them C11 atomics on real threads. The order of sites follows the order of the source text.
 *
 * CLUMP_ROTATE and CLUMP_RETRIES are variables here, so that one program can try several settings.
 * HOSTED_WORD_BITS chooses the width of bitmap words.
 */
#ifndef CLUMP_TESTS_HOSTED_H
#define CLUMP_TESTS_HOSTED_H

#include <stdint.h>
#include <string.h>
#include <sys/types.h>

#include "cl/core/layout.h"

#ifndef HOSTED_WORD_BITS
#define HOSTED_WORD_BITS 64
#endif

#define CLUMPI_HOSTED 1
#define CLUMPI_GLOBAL
#define CLUMP_ROTATE hosted_rotate
#define CLUMP_RETRIES hosted_retries

typedef unsigned int uint;
typedef unsigned long ulong;
typedef unsigned char uchar;

static uint hosted_rotate = 1, hosted_retries = 1;

enum hosted_kind {
    HOSTED_LOAD,
    HOSTED_STORE,
    HOSTED_ADD,
    HOSTED_SUB,
    HOSTED_OR,
    HOSTED_AND,
    HOSTED_CAS,
    HOSTED_FENCE,
    HOSTED_FENCE_ACQ_REL,
    HOSTED_LOAD_CACHED,
    HOSTED_ADD64,
    HOSTED_CAS64,
    HOSTED_LOAD64,
    HOSTED_BITS_LOAD,
    HOSTED_BITS_CLAIM,
    HOSTED_BITS_RELEASE
};

/* Where in the source an operation stands. */
typedef struct hosted_site {
    uint order; /* grows with the position in the source text */
    int line;
    const char *function;
} hosted_site;

/* Performs an operation and returns the word as it was. */
static inline ulong hosted_op(enum hosted_kind kind, void *cell, ulong value, ulong expected,
                              hosted_site site);
/* Number of the calling work-item. */
static inline uint hosted_thread(void);

static inline uint hosted_op32(enum hosted_kind kind, void *cell, uint value, uint expected,
                               hosted_site site) {
    return (uint)hosted_op(kind, cell, value, expected, site);
}

#define HOSTED_SITE ((hosted_site){__COUNTER__, __LINE__, __func__})
#define HOSTED_CELL(p) ((void *)(uintptr_t)(p))
#define HOSTED_OP32(kind, p, v, e) hosted_op32(kind, HOSTED_CELL(p), (v), (e), HOSTED_SITE)

#define CLUMPI_LOAD(p) HOSTED_OP32(HOSTED_LOAD, p, 0, 0)
#define CLUMPI_LOAD_CACHED(p) HOSTED_OP32(HOSTED_LOAD_CACHED, p, 0, 0)
#define CLUMPI_STORE(p, v) ((void)HOSTED_OP32(HOSTED_STORE, p, v, 0))
#define CLUMPI_ADD(p, v) HOSTED_OP32(HOSTED_ADD, p, v, 0)
#define CLUMPI_SUB(p, v) HOSTED_OP32(HOSTED_SUB, p, v, 0)
#define CLUMPI_OR(p, v) HOSTED_OP32(HOSTED_OR, p, v, 0)
#define CLUMPI_AND(p, v) HOSTED_OP32(HOSTED_AND, p, v, 0)
#define CLUMPI_CAS(p, expected, desired) HOSTED_OP32(HOSTED_CAS, p, desired, expected)
#define CLUMPI_FENCE() ((void)HOSTED_OP32(HOSTED_FENCE, 0, 0, 0))
#define CLUMPI_FENCE_BEHIND_CHANGE() CLUMPI_FENCE()
#define CLUMPI_FENCE_ACQ_REL() ((void)HOSTED_OP32(HOSTED_FENCE_ACQ_REL, 0, 0, 0))

#if HOSTED_WORD_BITS == 64
#define CLUMPI_HAVE_INT64_ATOMICS 1
#define CLUMPI_ADD64(p, v) hosted_op(HOSTED_ADD64, HOSTED_CELL(p), (v), 0, HOSTED_SITE)
#define CLUMPI_CAS64(p, expected, desired)                                                         \
    hosted_op(HOSTED_CAS64, HOSTED_CELL(p), (desired), (expected), HOSTED_SITE)
#define CLUMPI_LOAD64(p) hosted_op(HOSTED_LOAD64, HOSTED_CELL(p), 0, 0, HOSTED_SITE)
typedef ulong clumpi_word;
#define CLUMPI_WORD_BITS 64u
#else
#define CLUMPI_HAVE_INT64_ATOMICS 0
typedef uint clumpi_word;
#define CLUMPI_WORD_BITS 32u
#endif
/* A function, since its result may go unused. */
static inline clumpi_word hosted_claim(void *cell, ulong value, hosted_site site) {
    return (clumpi_word)hosted_op(HOSTED_BITS_CLAIM, cell, value, 0, site);
}
#define HOSTED_BITS(kind, p, v) ((clumpi_word)hosted_op(kind, HOSTED_CELL(p), (v), 0, HOSTED_SITE))
/* Bits of each row that are set and belong to nobody (tiny_heap.h). Only the search for a slot sees
 * them; others ask whether there are objects. */
static ulong hosted_blocked;
static inline clumpi_word hosted_objects(clumpi_word bits, const char *function) {
    return strcmp(function, "clumpi_look") == 0 ? bits : bits & ~(clumpi_word)hosted_blocked;
}
#define CLUMPI_BITS_LOAD(p) hosted_objects(HOSTED_BITS(HOSTED_BITS_LOAD, p, 0), __func__)
#define CLUMPI_BITS_CLAIM(p, v) hosted_claim(HOSTED_CELL(p), (v), HOSTED_SITE)
#define CLUMPI_BITS_RELEASE(p, v) HOSTED_BITS(HOSTED_BITS_RELEASE, p, v)

#define clumpi_popcount32(x) ((uint)__builtin_popcount((uint)(x)))
#define clumpi_popcount64(x) ((uint)__builtin_popcountl((ulong)(x)))
static inline uint clumpi_lowest32(uint x) {
    return (uint)__builtin_ctz(x);
}
static inline uint clumpi_lowest64(ulong x) {
    return (uint)__builtin_ctzl(x);
}
static inline uint min(uint a, uint b) {
    return a < b ? a : b;
}
static inline uint max(uint a, uint b) {
    return a > b ? a : b;
}
static inline uint clz(uint x) {
    return x ? (uint)__builtin_clz(x) : 32u;
}
static inline uint clumpi_work_item(void) {
    return hosted_thread();
}
static inline uint clumpi_work_items(void) { /* a test may know better: any number is right */
    return 64u;
}
#ifndef HOSTED_GROUP /* of 32 work-items, unless the test knows better */
#define HOSTED_GROUP() (hosted_thread() / 32u)
#define HOSTED_LOCAL() (hosted_thread() % 32u)
#define HOSTED_ITEMS() 32u
#endif
static inline uint clumpi_group_number(void) {
    return HOSTED_GROUP();
}
static inline uint clumpi_local_items(void) {
    return HOSTED_ITEMS();
}
static inline uint clumpi_local_item(void) {
    return HOSTED_LOCAL();
}

/* What a block has in stripes, in the heaps of tiny_heap.h: holes that follow each other in one
 * stripe, and slots of empty rows in one. A clumpi_striped says where both begin. */
#define HOSTED_POSITION(stripe, at) ((stripe) << 24 | (at))
#ifndef HOSTED_SPANS_AS_ON_DEVICES
#define CLUMPI_SPAN_OF
static inline uint clumpi_spans(clumpi_striped b) {
    (void)b;
    return 2;
}
static inline clumpi_span clumpi_span_of(clumpi_striped b, uint stripes, uint number) {
    uint begin = number ? b.first_row : b.first_hole;
    uint count = number ? b.counts & 0xffffu : b.counts >> 16, from = begin & 0xffffffu;
    return (clumpi_span){begin >> 24 & (stripes - 1u), from, from + count};
}
#endif

#include "cl/core/prelude.clh"
#ifdef HOSTED_SWEEPS /* fewer leave fewer states to explore */
#undef CLUMPI_SWEEPS
#define CLUMPI_SWEEPS HOSTED_SWEEPS
#undef CLUMPI_SWEEPS_FAIR
#define CLUMPI_SWEEPS_FAIR 1u
#endif
#include "cl/core/alloc.clh"

#endif
