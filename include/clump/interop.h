/* A heap's memory for others: kernels that the caller builds and launches by OpenCL itself, and
 * buffers that drawing, analysis and other libraries read.
 *
 * Threads: as for the heap. Read first: heap.h, program.h.
 */
#ifndef CLUMP_INTEROP_H
#define CLUMP_INTEROP_H

#include "clump/heap.h"

#ifdef __cplusplus
extern "C" {
#endif

/* METHOD. Set the heap as the first argument of a kernel that the caller builds and launches by
 * OpenCL itself, and tell OpenCL of the heap's other buffers, if it has several. The kernel is made
 * of clump_program_get_info()->source and clump_program_get_info()->options. It has no loops over
 * objects and no CLUMP_NUMBERS, since the list of objects is made by the calls of run.h. After it
 * allocated or freed, call clump_heap_touch().
 * A kernel keeps the buffers until it is made ready again: once the heap is converted or destroyed,
 * do not launch it before that.
 * Blocks: no. Returns CLUMP_OK; CLUMP_ERR_USAGE no kernel; CLUMP_ERR_CL. Threads: as for the heap;
 * the kernel is changed. */
CLUMP_API clump_status clump_heap_set_kernel(clump_heap *heap, cl_kernel kernel);

/* Tell the heap that its objects may have changed: the next do-all enumerates anew. */
CLUMP_API void clump_heap_touch(clump_heap *heap);

/* Which way clump_heap_copy_field() goes. */
typedef enum clump_copy_direction {
    CLUMP_COPY_TO_BUFFER,  /* the objects' values into the buffer */
    CLUMP_COPY_FROM_BUFFER /* values of the buffer into the objects */
} clump_copy_direction;

/* METHOD. Values of one field of all objects, as clump_heap_read_field() has them, between objects
 * and a buffer of the caller's, on the device: for drawing, for other libraries, and for what is
 * read later. Values are packed, in the order of clump_heap_read_refs().
 *   buffer    of the context's cl_context; values from `offset` bytes on, a multiple of the value's
 *             size (of 16, if larger)
 *   capacity  values: objects beyond so many are left out, which is not told.
 *             clump_heap_read_count() knows the number
 *   sync      [in, optional]  of the copy; the list of objects may be made before
 * Blocks: no. Returns CLUMP_OK; CLUMP_ERR_TOO_SMALL the buffer has no room for `capacity` values;
 * CLUMP_ERR_NOT_FOUND; CLUMP_ERR_USAGE another context's buffer, an offset that is not aligned, a
 * field that cannot be written; CLUMP_ERR_CL. */
CLUMP_API clump_status clump_heap_copy_field(clump_heap *heap, const char *class_name,
                                             const char *field, uint32_t index,
                                             clump_copy_direction direction, cl_mem buffer,
                                             uint64_t offset, uint64_t capacity,
                                             const clump_sync *sync);

#ifdef __cplusplus
}
#endif
#endif
