/* Bytes between a buffer of the device and a place on the host, in pieces that take turns: while
 * one is on the bus, the host writes or reads another. That is what saving and loading a heap do,
 * without the heap.
 *
 * Both wait for the transfers and for the place at the same time, so they show what the memory of
 * the host has room for: each byte goes through it three times.
 *
 * Read first: rig.h.
 */
#ifndef BENCH_PIPE_H
#define BENCH_PIPE_H

#include "rig.h"

/* Takes or gives the next `bytes` at `data`: 0, or anything else if that failed. */
typedef int (*pipe_place)(void *user, void *data, size_t bytes);

/* `bytes` from `there` to the place, or from the place to `there`. us: without the making of the
 * memory for transfers. */
int pipe_out(bench_rig *rig, cl_mem there, uint64_t bytes, pipe_place place, void *user,
             double *us);
int pipe_in(bench_rig *rig, cl_mem there, uint64_t bytes, pipe_place place, void *user, double *us);

#endif
