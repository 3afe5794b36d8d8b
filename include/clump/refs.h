/* References outside the heap: buffers of references that kernels use, and handles that the host
 * holds. Registered references are rewritten when objects move (compact.h), and keep their objects
 * alive (collect.h).
 *
 * Read first: heap.h. Read next: compact.h, collect.h.
 */
#ifndef CLUMP_REFS_H
#define CLUMP_REFS_H

#include "clump/heap.h"

#ifdef __cplusplus
extern "C" {
#endif

/* A registered buffer. */
typedef struct clump_refs clump_refs;

/* `count` references at buffer + offset + i * stride. Each is null, garbage or a reference; bytes
 * between them are not touched. */
typedef struct clump_refs_desc {
    size_t size;     /* sizeof(clump_refs_desc) */
    cl_mem buffer;   /* required; retained until unregistered */
    uint64_t offset; /* bytes, a multiple of 4 */
    uint32_t stride; /* bytes, a multiple of 4; 0: 4, packed */
    uint64_t count;  /* at least 1 */
    cl_mem counted;  /* optional: a uint at byte `counted_at` of this buffer says how many of them
                          there are at the time, if it is less than `count`. Later ones are not
                          looked at. Retained until unregistered */
    uint64_t counted_at; /* bytes, a multiple of 4 */
    int null_dangling;   /* 1: a reference whose object is not live becomes null at the next
                           compaction; 0: it is left as it is. Counted either way */
    int weak; /* 1: a collection (collect.h) does not start from them, and makes null those
                           whose object is not live afterwards; 0: they are roots */
} clump_refs_desc;

/* CONSTRUCTOR. Register a buffer of references with the heap.
 * Blocks: no. Returns CLUMP_OK; CLUMP_ERR_USAGE no buffer or one of another cl_context, an offset
 * or stride no multiple of 4, no references, or a buffer is too small (the message says which size
 * is needed); CLUMP_ERR_CL the buffer is not valid (any more); CLUMP_ERR_HOST_MEMORY. */
CLUMP_API clump_status clump_refs_create(clump_heap *heap, const clump_refs_desc *desc,
                                         clump_refs **refs, clump_error *error);

/* DESTRUCTOR. NULL is allowed. A heap that is destroyed unregisters its buffers, and lets go of
 * them; this call does nothing then, and is allowed until the context ends. */
CLUMP_API void clump_refs_destroy(clump_refs *refs);

/* A reference that the host holds: its number stays the same when its object moves. 0 is none. */
typedef uint32_t clump_handle;

/* METHOD. Make a handle of a reference to a live object.
 * Blocks: yes. Returns CLUMP_OK; CLUMP_ERR_REFERENCE no live object; CLUMP_ERR_CL;
 * CLUMP_ERR_HOST_MEMORY. */
CLUMP_API clump_status clump_heap_create_handle(clump_heap *heap, clump_ref ref,
                                                clump_handle *handle);

/* METHOD. Where the object is now; null (0) if it was found dead by a compaction, and in a heap
 * with watch_handles (heap.h) if it was freed. In others a handle of a freed object names the next
 * object that gets the slot.
 * Blocks: yes. Returns CLUMP_OK; CLUMP_ERR_USAGE no such handle; CLUMP_ERR_CL. */
CLUMP_API clump_status clump_heap_read_handle(clump_heap *heap, clump_handle handle,
                                              clump_ref *ref);

/* METHOD. Give a handle up. The object lives on. Blocks: yes. Returns CLUMP_OK; CLUMP_ERR_USAGE no
 * such handle. */
CLUMP_API clump_status clump_heap_destroy_handle(clump_heap *heap, clump_handle handle);

#ifdef __cplusplus
}
#endif
#endif
