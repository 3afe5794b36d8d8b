/* malloc() and its relatives on a heap of Clump, for device code of any language: C functions that
 * are linked, with the heap as their first parameter. The heap must have raw memory, and the
 * pointer is its buffer (clump_heap_info.buffer). cl/api/raw.clh describes the calls:
 * clump_heap_X(heap, ...) does what clump_X(...) does there.
 *
 * The functions are compiled for a size of blocks. Called with a heap that has other blocks, they
 * return null or 0, change nothing, and the heap reports WRONG_LAUNCH (clump_heap_take_errors).
 * With memory that is not a heap, they return null or 0.
 *
 * In a file of device code that has the heap as a parameter or a variable of some name:
 *
 *   #define CLUMP_MALLOC_HEAP name
 *   #include "cl/api/malloc.h"
 *
 * malloc(), calloc(), aligned_alloc(), realloc() and free() are then macros, which pass that heap.
 * Their pointers may also be generic ones, which point to the heap.
 *
 * Languages: OpenCL C, C++ for OpenCL, SYCL. docs/guide/malloc.md shows how to link each.
 * Read first: cl/api/raw.clh. Read next: malloc.clh.
 */
#ifndef CLUMP_DEVICE_MALLOC_H
#define CLUMP_DEVICE_MALLOC_H

#if defined(__OPENCL_VERSION__) || defined(__OPENCL_C_VERSION__) || defined(__OPENCL_CPP_VERSION__)
#define CLUMPI_IN_HEAP __global
#else
#include <stddef.h>
#ifdef __SYCL_DEVICE_ONLY__
#define CLUMPI_IN_HEAP __attribute__((opencl_global))
#else
#define CLUMPI_IN_HEAP
#endif
#endif
#ifdef SYCL_EXTERNAL
#define CLUMPI_LINKED SYCL_EXTERNAL
#else
#define CLUMPI_LINKED
#endif

#ifdef __cplusplus
extern "C" {
#endif

CLUMPI_LINKED CLUMPI_IN_HEAP void *clump_heap_malloc(CLUMPI_IN_HEAP void *heap, size_t bytes);
CLUMPI_LINKED CLUMPI_IN_HEAP void *clump_heap_calloc(CLUMPI_IN_HEAP void *heap, size_t count,
                                                     size_t bytes);
CLUMPI_LINKED CLUMPI_IN_HEAP void *clump_heap_aligned_alloc(CLUMPI_IN_HEAP void *heap, size_t align,
                                                            size_t bytes);
CLUMPI_LINKED CLUMPI_IN_HEAP void *clump_heap_realloc(CLUMPI_IN_HEAP void *heap,
                                                      CLUMPI_IN_HEAP void *p, size_t bytes);
CLUMPI_LINKED void clump_heap_free(CLUMPI_IN_HEAP void *heap, CLUMPI_IN_HEAP void *p);
CLUMPI_LINKED size_t clump_heap_usable_size(CLUMPI_IN_HEAP void *heap, CLUMPI_IN_HEAP void *p);
CLUMPI_LINKED unsigned int clump_heap_raw_of(CLUMPI_IN_HEAP void *heap, CLUMPI_IN_HEAP void *p);
CLUMPI_LINKED CLUMPI_IN_HEAP void *clump_heap_raw_at(CLUMPI_IN_HEAP void *heap,
                                                     unsigned int handle);

#ifdef __cplusplus
}
#endif

#ifdef CLUMP_MALLOC_HEAP
#define CLUMPI_TO_HEAP(p) ((CLUMPI_IN_HEAP void *)(p))
#define malloc(bytes) clump_heap_malloc(CLUMPI_TO_HEAP(CLUMP_MALLOC_HEAP), (bytes))
#define calloc(count, bytes) clump_heap_calloc(CLUMPI_TO_HEAP(CLUMP_MALLOC_HEAP), (count), (bytes))
#define aligned_alloc(align, bytes)                                                                \
    clump_heap_aligned_alloc(CLUMPI_TO_HEAP(CLUMP_MALLOC_HEAP), (align), (bytes))
#define realloc(p, bytes)                                                                          \
    clump_heap_realloc(CLUMPI_TO_HEAP(CLUMP_MALLOC_HEAP), CLUMPI_TO_HEAP(p), (bytes))
#define free(p) clump_heap_free(CLUMPI_TO_HEAP(CLUMP_MALLOC_HEAP), CLUMPI_TO_HEAP(p))
#endif

#endif
