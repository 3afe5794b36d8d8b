/* A heap's memory for other code: kernels that the caller builds and launches with OpenCL directly,
 * and buffers that drawing, analysis and other libraries read.
 *
 * Threads: as for the heap.
 * Read first: heap.h, program.h.
 */
#ifndef CLUMP_INTEROP_H
#define CLUMP_INTEROP_H

#include "clump/heap.h"

#ifdef __cplusplus
extern "C" {
#endif

/* METHOD. Set the heap as the first argument of a kernel that the caller builds and launches with
 * OpenCL directly, and pass the heap's other buffers to OpenCL if it has several. Build the kernel
 * from clump_program_get_info()->source and clump_program_get_info()->options. It must not have
 * loops over objects nor CLUMP_NUMBERS, since the calls of run.h make the list of objects. After
 * the kernel allocated or freed objects, call clump_heap_touch(). If such a kernel changed the
 * class of objects, this call settles references. A kernel keeps the buffers until the next call of
 * this function for it. After the heap is converted or destroyed, do not launch the kernel before
 * such a call.
 * Blocks: no.
 * Returns CLUMP_OK. Fails with CLUMP_ERR_USAGE if `kernel` is NULL, or CLUMP_ERR_CL.
 * Threads: as for the heap. The kernel is changed. */
CLUMP_API clump_status clump_heap_set_kernel(clump_heap *heap, cl_kernel kernel);

/* State that the heap's objects may have changed: the next do-all makes the list of objects again.
 * If the schema has `becomes`, the next call on the heap settles references to objects whose class
 * the kernel changed: call clump_heap_set_kernel() before a kernel of yours that follows them. */
CLUMP_API void clump_heap_touch(clump_heap *heap);

/* The direction of clump_heap_copy_field(). */
typedef enum clump_copy_direction {
    CLUMP_COPY_TO_BUFFER,  /* the objects' values into the buffer */
    CLUMP_COPY_FROM_BUFFER /* values of the buffer into the objects */
} clump_copy_direction;

/* METHOD. Copy values of one field of all objects between the objects and a buffer of the caller,
 * on the device: for drawing, for other libraries, and for values that are read later. The values
 * are the same as for clump_heap_read_field(): packed, in the order of clump_heap_read_refs().
 *   buffer    of the context's cl_context. Values begin at `offset` bytes, a multiple of the
 *             value's size (of 16, if larger)
 *   capacity  number of values. The call leaves further objects out, without an error.
 *             clump_heap_read_count() returns the number of objects
 *   sync      [in, optional]  of the copy. The list of objects may be made before
 * Blocks: no.
 * Returns CLUMP_OK, or:
 *   CLUMP_ERR_TOO_SMALL  the buffer is too small for `capacity` values
 *   CLUMP_ERR_NOT_FOUND  no such class or field
 *   CLUMP_ERR_USAGE      a buffer of another context, an offset that is not aligned, a field that
 *                        cannot be written, or the length of an array with `max` from a buffer
 *   CLUMP_ERR_CL */
CLUMP_API clump_status clump_heap_copy_field(clump_heap *heap, const char *class_name,
                                             const char *field, uint32_t index,
                                             clump_copy_direction direction, cl_mem buffer,
                                             uint64_t offset, uint64_t capacity,
                                             const clump_sync *sync);

#ifdef __cplusplus
}
#endif
#endif
