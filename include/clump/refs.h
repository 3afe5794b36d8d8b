/* References outside the heap: buffers of references that kernels use, and handles of the host.
 * Compaction rewrites registered references when objects move (compact.h). They also keep their
 * objects alive (collect.h).
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

/* `count` references at buffer + offset + i * stride. Each is null, garbage or a reference. Bytes
 * between them are not used. */
typedef struct clump_refs_desc {
    size_t size;     /* sizeof(clump_refs_desc) */
    cl_mem buffer;   /* required, retained until unregistered */
    uint64_t offset; /* bytes, a multiple of 4 */
    uint32_t stride; /* bytes, a multiple of 4. 0: 4, packed */
    uint64_t count;  /* at least 1 */
    /* optional: a uint at byte `counted_at` of this buffer has the current number of references, if
     * it is less than `count`. Later references are ignored. Retained until unregistered */
    cl_mem counted;
    uint64_t counted_at; /* bytes, a multiple of 4 */
    /* 1: a compaction nulls references whose objects are not live. 0: it leaves them. It counts
     * them in both cases */
    int null_dangling;
    /* 1: a collection (collect.h) does not start from these references, and afterwards nulls those
     * whose objects are not live. 0: they are roots */
    int weak;
} clump_refs_desc;

/* CONSTRUCTOR. Register a buffer of references with the heap.
 * Blocks: no.
 * Returns CLUMP_OK, or:
 *   CLUMP_ERR_USAGE  no buffer, a buffer of another cl_context, an offset or stride that is not a
 *                    multiple of 4, no references, or a buffer that is too small (the message has
 *                    the size needed)
 *   CLUMP_ERR_CL     the buffer is invalid
 *   CLUMP_ERR_HOST_MEMORY */
CLUMP_API clump_status clump_refs_create(clump_heap *heap, const clump_refs_desc *desc,
                                         clump_refs **refs, clump_error *error);

/* DESTRUCTOR. NULL is allowed. When a heap is destroyed, it unregisters and releases its buffers.
 * Afterwards this call does nothing, and is allowed until the context ends. If a kernel of the
 * program changed the class of objects before (clump_heap_touch()), the call settles references. */
CLUMP_API void clump_refs_destroy(clump_refs *refs);

/* A handle: a number of the host that stays the same when its object moves. 0 means no object. */
typedef uint32_t clump_handle;

/* METHOD. Make a handle of a reference to a live object.
 * Blocks: yes.
 * Returns CLUMP_OK. Fails with CLUMP_ERR_REFERENCE if the object is not live, CLUMP_ERR_CL or
 * CLUMP_ERR_HOST_MEMORY. */
CLUMP_API clump_status clump_heap_create_handle(clump_heap *heap, clump_ref ref,
                                                clump_handle *handle);

/* METHOD. Read the current reference of a handle. It is null (0) if a compaction found the object
 * dead. In a heap with watch_handles (heap.h), it is also null if the object was freed. In other
 * heaps, a handle of a freed object names the next object in that slot.
 * Blocks: yes.
 * Returns CLUMP_OK. Fails with CLUMP_ERR_USAGE if the handle does not exist, or CLUMP_ERR_CL. */
CLUMP_API clump_status clump_heap_read_handle(clump_heap *heap, clump_handle handle,
                                              clump_ref *ref);

/* METHOD. Release a handle. The object stays alive.
 * Blocks: yes.
 * Returns CLUMP_OK. Fails with CLUMP_ERR_USAGE if the handle does not exist, or CLUMP_ERR_CL. */
CLUMP_API clump_status clump_heap_destroy_handle(clump_heap *heap, clump_handle handle);

#ifdef __cplusplus
}
#endif
#endif
