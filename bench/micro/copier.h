/* Copies by several threads, for benchmarks whose place on the host is to be as fast as the bus:
 * one core copies about 10 GB/s.
 *
 * Threads wait for the next copy, and the caller for the last thread, by looking at a number for
 * 200 us before they sleep: with pieces of a few MiB the copy is shorter than the wake-up of a
 * thread. With more threads than cores they give their core away meanwhile.
 *
 * Read first: nothing.
 */
#ifndef BENCH_COPIER_H
#define BENCH_COPIER_H

#include <stddef.h>
#include <stdint.h>

typedef struct copier copier;

/* CONSTRUCTOR. With the caller's so many threads; 1 .. 64. NULL: no memory, or the threads cannot
 * be made. */
copier *copier_create(uint32_t threads);
/* DESTRUCTOR. Takes NULL. */
void copier_destroy(copier *c);

/* memcpy(), by all of them. Returns when all is copied. For bytes that are soon read, such as those
 * that go to the device next. */
void copier_copy(copier *c, void *to, const void *from, size_t bytes);

/* The same, past the caches where the compiler targets SSE2, and else like copier_copy(). For bytes
 * that are not read soon. A plain store reads the line from memory before it changes it, and a
 * device that reads or writes the host's memory at the same time has to share that memory with it;
 * a store past the caches only writes. */
void copier_store(copier *c, void *to, const void *from, size_t bytes);

#endif
