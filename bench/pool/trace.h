/* Traces of what programs ask of a pool: made up, recorded and embedded, read from a file, written
 * to one.
 *
 * A trace is text, a line for each call (docs/guide/pool.md):
 *     a ID BYTES [m]   allocate; m: movable        f ID        free
 *     m ID 0|1         set movable                 e           end of a frame
 * IDs are hexadecimal; one that was freed may come again. Lines that begin with # are comments.
 *
 * Read first: error.h. Read next: replay.c.
 */
#ifndef BENCH_POOL_TRACE_H
#define BENCH_POOL_TRACE_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "bench/harness/error.h"

typedef enum pool_trace_kind {
    POOL_TRACE_ALLOC,
    POOL_TRACE_FREE,
    POOL_TRACE_MOVABLE,
    POOL_TRACE_FRAME
} pool_trace_kind;

typedef struct pool_trace_op {
    pool_trace_kind kind;
    uint32_t id;    /* 0 .. ids - 1; used again after its free */
    uint64_t bytes; /* ALLOC */
    int movable;    /* ALLOC, MOVABLE */
} pool_trace_op;

typedef struct pool_trace {
    pool_trace_op *ops;
    size_t count, capacity;
    uint32_t ids; /* allocations that live at a time, at most */
    uint64_t frames, allocs, live_bytes, peak_bytes;
    uint32_t *unused; /* ids to be used again */
    size_t unused_count, unused_capacity;
} pool_trace;

void pool_trace_release(pool_trace *trace);

/* Shapes: "games", "training", "inference", "particles"; at its peak about `bytes` live. */
int pool_trace_generate(pool_trace *trace, const char *shape, uint32_t seed, uint32_t frames,
                        uint64_t bytes, bench_error *error);

/* Append what a trace can say. The id that alloc returns serves the others. -1: no memory. */
int64_t pool_trace_alloc(pool_trace *trace, uint64_t bytes, int movable);
int pool_trace_free(pool_trace *trace, uint32_t id, uint64_t bytes);
int pool_trace_frame(pool_trace *trace);

int pool_trace_read(pool_trace *trace, const char *path, bench_error *error);

/* The same of a file that is open; closes it. `name`: for the error. */
int pool_trace_read_stream(pool_trace *trace, FILE *file, const char *name, bench_error *error);

/* One of bench/pool/traces, by its name there. */
int pool_trace_recorded(pool_trace *trace, const char *name, bench_error *error);

int pool_trace_write(const pool_trace *trace, const char *path, bench_error *error);

/* Random numbers for the benchmarks of the pool, with Random123: the n-th of a seed. */
uint32_t pool_random(uint32_t seed, uint32_t *n);
double pool_random_share(uint32_t seed, uint32_t *n); /* 0 .. 1 */

/* A size between two, as likely in each power of two. */
uint64_t pool_random_bytes(uint32_t seed, uint32_t *n, uint64_t least, uint64_t most);

#endif
