/* A heap becomes a copy of another heap, on the device: a snapshot that is saved or looked at while
 * the program goes on.
 *
 * The copy is a heap of the same schema and size that the program makes once, usually in another
 * clump_context with a separate queue, in the same cl_context. Then each clump_heap_copy() brings
 * it up to date. A second thread of the program, which has that context, can save it by
 * clump_heap_save() or clump_world_save() while kernels change the original: the file has the bytes
 * that a save of the original would have had at the moment of the copy. The library starts no
 * thread. docs/guide/save.md has a program.
 *
 * Threads: as for both heaps. While clump_heap_copy() runs, no other thread may use either context.
 * Read first: heap.h, refs.h, save.h.
 */
#ifndef CLUMP_COPY_H
#define CLUMP_COPY_H

#include "clump/heap.h"

#ifdef __cplusplus
extern "C" {
#endif

/* METHOD. Make `copy` equal to `heap`: objects, arrays, raw memory, handles, the numbers of
 * clump_heap_reserve(), and the references in registered buffers. Everything that `copy` had before
 * is replaced. These stay as they are in both heaps: the errors that kernels reported, and the
 * programs, which fit both heaps only if they are made for each.
 *   heap  [in]             does not change
 *   copy  [in, out]        another heap in the same cl_context, of an equal schema, made with equal
 *                          bytes, block_rows, buffer_bytes, watch_handles and raw. It may belong to
 *                          another clump_context and to a pool
 *   sync  [in, optional]   of the copy, on the queue of `heap`
 * Registered buffers (refs.h) are matched by their order. `copy` needs as many as `heap`, with the
 * same count and stride, and with a word of the count where `heap` has one. The bytes between
 * references are copied with them. To leave all of them out, register none with either heap.
 *
 * The call enqueues copies of the whole buffers on the queue of `heap`, after the commands there
 * and on the queue of `copy`. Later commands on the queue of `copy` wait for them. Each copies as
 * many bytes as the heap has (clump_heap_info.bytes), read once and written once, also for free
 * blocks: only the device knows which blocks are free. Device memory: none beside both heaps.
 * Blocks: no. But if `heap` has handles, and more than any copy before, the call waits for the
 * queue of `copy`.
 * Returns CLUMP_OK, or:
 *   CLUMP_ERR_USAGE        the same heap twice, another cl_context, another size, or registered
 *                          buffers that do not match
 *   CLUMP_ERR_SCHEMA       another schema
 *   CLUMP_ERR_UNSUPPORTED  a checked heap, or one with evictable_bytes
 *   CLUMP_ERR_HOST_MEMORY, CLUMP_ERR_CL
 * The error is in the context of `heap`. After a failure with CLUMP_ERR_CL the contents of `copy`
 * are undefined until a copy succeeds. After other failures both heaps are as before. */
CLUMP_API clump_status clump_heap_copy(clump_heap *heap, clump_heap *copy, const clump_sync *sync);

#ifdef __cplusplus
}
#endif
#endif
