/* Copies by several threads, for benchmarks whose place on the host is to be as fast as the bus: one core copies about 10 GB/s.
 *
 * Read first: nothing.
 */
#ifndef BENCH_COPIER_H
#define BENCH_COPIER_H

#include <stddef.h>
#include <stdint.h>

typedef struct copier copier;

/* CONSTRUCTOR. With the caller's so many threads; 1 .. 64. NULL: no memory, or the threads cannot be made. */
copier *copier_create(uint32_t threads);
/* DESTRUCTOR. Takes NULL. */
void copier_destroy(copier *c);

/* memcpy(), by all of them. Returns when all is copied. */
void copier_copy(copier *c, void *to, const void *from, size_t bytes);

#endif
