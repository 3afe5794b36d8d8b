/* A pool: many OpenCL buffers in few large ones.
 *
 *   chunk 0  │ A   │ B │   free   │ C     │ free │      a chunk is one clCreateBuffer
 *   chunk 1  │ D         │          free          │
 *   unique   │ E                                            │   too large for a chunk
 *
 * An allocation is a region of a chunk, (cl_mem, offset, bytes), or a sub-buffer of it, or a
 * separate buffer. Defragmentation may move regions of movable allocations together: defrag.h.
 *
 * OpenCL does not report free memory. Therefore the pool counts its memory and has its own limits.
 * It writes to every new chunk, so that a lack of memory shows here and not in a later kernel.
 *
 * Threads: any thread may make any call on a pool at any time, unless CLUMP_POOL_SINGLE_THREADED is
 * set. A lock serialises the calls. Pools may be created and destroyed on any thread, also pools of
 * one context, but only while no other call on that pool runs. Callbacks, except `trace`, are
 * called without the lock. A clump_allocator of the context must be as thread-safe as malloc.
 *
 * Wrong input is refused with an error message and changes nothing: CLUMP_ERR_REFERENCE for an
 * allocation that is not from this pool or was freed, CLUMP_ERR_USAGE for everything else. A
 * destroyed pool must not be used any more.
 *
 * Read first: context.h, suballoc.h. Read next: defrag.h.
 */
#ifndef CLUMP_POOL_H
#define CLUMP_POOL_H

#include "clump/context.h"
#include "clump/suballoc.h"
#include "clump/write.h"

#ifdef __cplusplus
extern "C" {
#endif

/* A pool. */
typedef struct clump_pool clump_pool;

/* An allocation. 0 means no allocation. The value contains a generation: a freed allocation is not
 * mistaken for a later one. */
typedef uint64_t clump_allocation;

/* The place of an allocation. Commands that use the buffer must stay within offset .. offset +
 * bytes. */
typedef struct clump_region {
    /* not retained for the caller. NULL only for USM, if the device makes no cl_mem of it */
    cl_mem buffer;
    uint64_t offset, bytes;
    /* of its first byte, in memory with pointers, else NULL. Kernels may store it in memory */
    void *pointer;
} clump_region;

/* Kinds of memory. Each chunk has one kind.
 *
 * Memory with pointers, from CLUMP_MEMORY_SVM on, exists if clump_capabilities.pointers has its
 * bit. Other devices refuse it with CLUMP_ERR_UNSUPPORTED. Its allocations are never moved:
 * `movable` is refused. Its pointers are multiples of the allocation's alignment. OpenCL promises
 * at most 128 there. Without an alignment, they are multiples of 128 or of the pool's alignment,
 * whichever is smaller.
 *   kernels   Pass the pointer with clSetKernelArgSVMPointer() or clSetKernelArgMemPointerINTEL(),
 *             or pass the buffer and the offset. If a kernel finds pointers in memory, name the
 *             allocations to it with clSetKernelExecInfo().
 *   host      clump_pool_map() returns the same pointer. For CLUMP_MEMORY_USM_DEVICE, this works
 *             only if a buffer exists. Host USM and shared USM may also be used directly while no
 *             command uses them.
 *   lifetime  OpenCL does not count the users of a pointer. Commands of other queues than the
 *             pool's that use an allocation must end before it is freed, or be named by
 *             clump_pool_use(). All commands must end before the pool is destroyed. The pool waits
 *             for its queue when it releases a chunk. clump_pool_create_buffer() refuses this
 *             memory. */
typedef enum clump_memory {
    CLUMP_MEMORY_DEVICE = 0,
    CLUMP_MEMORY_HOST,       /* CL_MEM_ALLOC_HOST_PTR: cheap to map */
    CLUMP_MEMORY_SVM,        /* coarse-grained buffers of shared virtual memory, OpenCL 2.0 */
    CLUMP_MEMORY_USM_DEVICE, /* cl_intel_unified_shared_memory: memory of the device */
    CLUMP_MEMORY_USM_HOST,   /* memory of the host, which the device can reach */
    CLUMP_MEMORY_USM_SHARED, /* moves to the side that uses it */
    CLUMP_MEMORY_COUNT
} clump_memory;

/* Choices for an allocation that defragmentation could move. */
typedef enum clump_move_op {
    CLUMP_MOVE_COPY = 0, /* move it */
    CLUMP_MOVE_IGNORE,   /* leave it there, and do not ask again before another allocation was
                            freed */
    CLUMP_MOVE_DESTROY   /* free it: its contents are not needed */
} clump_move_op;

/* An allocation that moves, with its old and new place. */
typedef struct clump_move {
    clump_allocation allocation;
    clump_region from, to;
    void *user_data; /* of the allocation */
} clump_move;

/* Facts about an allocation. */
typedef struct clump_allocation_info {
    size_t size; /* sizeof(clump_allocation_info) */
    clump_allocation allocation;
    clump_region region;
    clump_memory memory;
    int movable, unique, moving; /* moving: a copy to another place is in progress */
    uint32_t pins, maps;
    const char *name; /* NULL without a name. Valid until the allocation is freed or renamed */
    void *user_data;
    clump_allocation next; /* another allocation, in an unspecified order. 0 after the last */
} clump_allocation_info;

/* Options of a pool. */
typedef enum clump_pool_flag {
    CLUMP_POOL_SINGLE_THREADED = 1 << 0, /* no lock */
    /* Do not write to new chunks. Before the first sub-buffer of a chunk, 4 bytes are read. */
    CLUMP_POOL_UNTOUCHED = 1 << 1,
    CLUMP_POOL_KEEP_NONE = 1 << 2, /* release each chunk when it becomes empty. Without this, one
                                      empty chunk of each kind of memory is kept */
    /* A request that finds no memory defragments and tries again. Needs `moved`. */
    CLUMP_POOL_COMPACT_WHEN_FULL = 1 << 3
} clump_pool_flag;

/* Arguments of clump_pool_create(). All members may be zero except `size`, and either `context` or
 * `queue`. */
typedef struct clump_pool_desc {
    size_t size;            /* sizeof(clump_pool_desc) */
    clump_context *context; /* or NULL, with a queue */
    cl_command_queue queue; /* for copies and touching, of that context. Default: the queue that the
                               context was created with */
    const char *name;       /* copied, default "pool" */
    /* 0: automatic, doubling from 8 MiB to 64, less on small devices and with small limits. A chunk
     * is smaller if a limit leaves less, and for sub-buffers if clump_capabilities.sub_buffers_most
     * is not 0 */
    uint64_t chunk_bytes;
    /* upper limit of device memory. 0: only clump_context_desc.pool_limit_bytes applies. If that is
     * also 0, all pools on a CPU together are limited to 3/4 of memory_bytes */
    uint64_t limit_bytes;
    double unique_share; /* requests above this share of the largest chunk size get a separate
                            buffer. Above 0 and at most 1. 0: 0.5 */
    uint32_t alignment;  /* of offsets and sizes: a power of two, at least 16 and at least the
                            device's base alignment. 0: the larger of the two */
    clump_fit fit;       /* 0: CLUMP_FIT_GOOD */
    /* debug mode: at least this number of bytes with a pattern directly after each allocation,
     * checked by clump_pool_check(). At most 1 MiB. 0: none */
    uint32_t margin_bytes;
    uint32_t flags; /* clump_pool_flag bits */
    /* For clump_defrag_desc.use_pauses: a step may use this share of the shortest pause of so many
     * frames. */
    double pause_factor;   /* above 0 and at most 1. 0: 0.8 */
    uint32_t pause_frames; /* at most 64. 0: 8 */

    /* Callbacks, all optional. They get `user`. They may call the pool, but must not defragment
     * it. */
    void *user;
    clump_move_op (*decide)(void *user, const clump_move *move); /* before a copy */
    void (*moved)(void *user, const clump_move *move); /* the allocation is now at move->to */
    /* At destruction, for each remaining allocation. */
    void (*leaked)(void *user, const clump_allocation_info *info);
    /* A line for each call that allocates, frees, sets movable or ends a frame: docs/guide/pool.md.
     * Called with the lock: it must not call the pool. If it returns an error, the trace ends
     * there: allocations continue, and clump_pool_end_frame() and clump_pool_check() return
     * CLUMP_ERR_IO afterwards. */
    clump_write_fn trace;

    /* Only without a context, since a pool with a context uses the context's. As in
     * clump_context_desc. */
    clump_allocator allocator;
    const clump_cl_functions *cl;
} clump_pool_desc;

/* CONSTRUCTOR. Make a pool, without a chunk yet. Without a context, the pool is for the cl_context
 * and the device of its queue, and that device needs no compiler. Such a pool cannot have heaps,
 * and limits of a context do not apply.
 *   pool   [out]            NULL on failure
 *   error  [out, optional]  the reason of a failure
 * Blocks: no.
 * Returns CLUMP_OK. Fails with CLUMP_ERR_UNSUPPORTED if, without a context, the device is not
 * available or older than OpenCL 1.2, CLUMP_ERR_USAGE, CLUMP_ERR_HOST_MEMORY or CLUMP_ERR_CL. */
CLUMP_API clump_status clump_pool_create(const clump_pool_desc *desc, clump_pool **pool,
                                         clump_error *error);

/* DESTRUCTOR. NULL is allowed. Waits for copies in progress. Releases all chunks, and with them all
 * allocations except the buffers of clump_pool_create_buffer(). A pool that still has heaps ends
 * with the last of them, and then calls `leaked`. */
CLUMP_API void clump_pool_destroy(clump_pool *pool);

/* Return the error of the last failed call on the pool, by any thread. Its status is CLUMP_OK if
 * nothing failed yet. The call copies the error, since another thread may fail meanwhile.
 *   copy  [out]  the result of the call */
CLUMP_API const clump_error *clump_pool_get_error(clump_pool *pool, clump_error *copy);

/* ---- Allocations ---------------------------------------------------------------------------- */

/* A request for an allocation. All members except `size` and `bytes` may be zero. */
typedef struct clump_allocation_desc {
    size_t size;        /* sizeof(clump_allocation_desc) */
    uint64_t bytes;     /* at least 1 */
    uint64_t alignment; /* of the offset, and of the pointer: a power of two. 0: the pool's */
    clump_memory memory;
    /* 1: the allocation may be moved, because no command writes to it any more. These are "static"
     * in Eichinger's thesis, all others "dynamic". See clump_pool_change() */
    int movable;
    int unique;       /* 1: a separate buffer, whatever its size */
    const char *name; /* copied, default: none */
    void *user_data;
} clump_allocation_desc;

/* METHOD. Allocate memory.
 *   allocation  [out]  0 on failure
 *   region      [out, optional]
 * Blocks: only if it makes a chunk, with margins, or with CLUMP_POOL_COMPACT_WHEN_FULL. To touch
 * the new chunk or write the margin, it waits for the pool's queue, with the lock.
 * Returns CLUMP_OK, or:
 *   CLUMP_ERR_DEVICE_MEMORY  the device lacks the memory, or a limit forbids it: the error has the
 *                            reason, and the OpenCL code if the device refused
 *   CLUMP_ERR_UNSUPPORTED    the device lacks memory of that kind
 *   CLUMP_ERR_USAGE, CLUMP_ERR_HOST_MEMORY, CLUMP_ERR_CL */
CLUMP_API clump_status clump_pool_alloc(clump_pool *pool, const clump_allocation_desc *desc,
                                        clump_allocation *allocation, clump_region *region);

/* METHOD. Free an allocation. 0 is allowed and does nothing. The call refuses an allocation that is
 * mapped or pinned, or belongs to a heap or to clump_pool_create_buffer(). The memory is reused
 * after the commands named by clump_pool_use() have completed.
 * Blocks: only if it releases a chunk of memory with pointers: until the pool's queue is done.
 * Returns CLUMP_OK, CLUMP_ERR_REFERENCE or CLUMP_ERR_USAGE, and while defragmentation copies the
 * allocation also CLUMP_ERR_HOST_MEMORY or CLUMP_ERR_CL. */
CLUMP_API clump_status clump_pool_free(clump_pool *pool, clump_allocation allocation);

/* METHOD. Get facts about an allocation, such as its place. With `allocation` 0, the call only
 * returns the first allocation, as `next`. In this way a program can visit all of them. They would
 * leak if the pool were destroyed now.
 * Blocks: no.
 * Returns CLUMP_OK, CLUMP_ERR_REFERENCE or CLUMP_ERR_USAGE. */
CLUMP_API clump_status clump_pool_get_info(clump_pool *pool, clump_allocation allocation,
                                           clump_allocation_info *info);

/* METHOD. Get a cl_mem of the allocation: a sub-buffer, made at the first call, or the buffer of a
 * unique allocation. The pool owns it. It is valid until the allocation is moved or freed. To make
 * an image of it, pin the allocation (clump_pool_pin()) until the image is released.
 * Blocks: no, except for the first sub-buffer of a chunk in a pool with CLUMP_POOL_UNTOUCHED, which
 * waits for the pool's queue.
 * Returns CLUMP_OK. Fails with CLUMP_ERR_UNSUPPORTED if it is USM and the device makes no cl_mem of
 * that, CLUMP_ERR_REFERENCE, CLUMP_ERR_USAGE, CLUMP_ERR_HOST_MEMORY or CLUMP_ERR_CL. */
CLUMP_API clump_status clump_pool_get_buffer(clump_pool *pool, clump_allocation allocation,
                                             cl_mem *buffer);

/* METHOD. Allocate a buffer that the caller owns: a sub-buffer, which is never moved. The last
 * clReleaseMemObject() returns its region to the pool. The pool reuses the region after the
 * commands that were in the named queues at that time. For this purpose, the first call on the pool
 * after the release puts a marker into each of these queues, and later calls check the markers.
 * OpenCL may report the release on any thread, and within the release. Nothing waits there and no
 * lock is acquired.
 *   desc         as for clump_pool_alloc(), not movable, and without memory with pointers.
 *                clump_pool_free() refuses the allocation
 *   queue_count  0: the queues of clump_pool_set_queues()
 *   queues       all queues that use the buffer, retained until the pool regains the region.
 *                Commands of other queues must end before the last release
 *   buffer       [out]  NULL on failure. OpenCL makes no sub-buffers of it
 * A buffer may outlive its pool. Its contents stay, and the memory of its whole chunk stays until
 * the last such buffer of that chunk is released. No pool counts that memory any more. At
 * destruction, `leaked` is called for the existing buffers. The context's clump_allocator must be
 * usable until the last of them is released. The library may be unloaded earlier: after the first
 * such buffer its code stays in the process, since the driver calls it.
 * Blocks: as clump_pool_alloc() and clump_pool_get_buffer().
 * Returns CLUMP_OK. Fails with CLUMP_ERR_DEVICE_MEMORY also while regions still wait for their
 * markers (finish the queues and try again), CLUMP_ERR_USAGE, CLUMP_ERR_HOST_MEMORY or
 * CLUMP_ERR_CL. */
CLUMP_API clump_status clump_pool_create_buffer(clump_pool *pool, const clump_allocation_desc *desc,
                                                cl_uint queue_count, const cl_command_queue *queues,
                                                cl_mem *buffer);

/* METHOD. Set the queues of buffers that were made without queues. Use this if it is unknown
 * beforehand which queue will use a buffer. When the pool regains a buffer, it uses the list that
 * is set at that time.
 *   queue_count  0: the pool's queue, which is also the default
 *   queues       of the pool's cl_context. Copied, and retained until the next such call or the end
 *                of the pool. A queue may be left out after its commands that use such buffers are
 *                done
 * Blocks: no.
 * Returns CLUMP_OK, CLUMP_ERR_USAGE, CLUMP_ERR_HOST_MEMORY or CLUMP_ERR_CL. */
CLUMP_API clump_status clump_pool_set_queues(clump_pool *pool, cl_uint queue_count,
                                             const cl_command_queue *queues);

/* The members that clump_pool_change() changes, as bits. */
typedef enum clump_allocation_part {
    CLUMP_PART_MOVABLE = 1, /* not for allocations of heaps, of clump_pool_create_buffer(), and in
                               memory with pointers, which stay unmovable */
    CLUMP_PART_NAME = 2,
    CLUMP_PART_USER_DATA = 4
} clump_allocation_part;

/* METHOD. Change members of an allocation: all of `parts`, or nothing after a failure.
 *   to  [in]  the new values. The call reads movable, name or user_data if `parts` includes it
 * Blocks: no.
 * Returns CLUMP_OK, CLUMP_ERR_REFERENCE, CLUMP_ERR_USAGE or CLUMP_ERR_HOST_MEMORY. */
CLUMP_API clump_status clump_pool_change(clump_pool *pool, clump_allocation allocation,
                                         uint32_t parts, const clump_allocation_desc *to);

/* METHOD. Pin an allocation: it stays in its place, for example during commands in flight. A copy
 * in progress is dropped.
 *   pins  number of pins to add, or below 0 to remove. Without pins, the allocation may be moved
 *         again
 * Blocks: no.
 * Returns CLUMP_OK, CLUMP_ERR_REFERENCE, or CLUMP_ERR_USAGE if fewer pins exist than are to be
 * removed. */
CLUMP_API clump_status clump_pool_pin(clump_pool *pool, clump_allocation allocation, int pins);

/* METHOD. State that commands up to `event` (retained) use the allocation in its present place. The
 * pool does not reuse that place before the event completes. A copy of the allocation waits for the
 * event.
 * Blocks: no.
 * Returns CLUMP_OK, CLUMP_ERR_REFERENCE, CLUMP_ERR_USAGE, CLUMP_ERR_HOST_MEMORY or CLUMP_ERR_CL. */
CLUMP_API clump_status clump_pool_use(clump_pool *pool, clump_allocation allocation,
                                      cl_event event);

/* METHOD. Map an allocation on the pool's queue. A mapped allocation stays in its place.
 *   flags  CL_MAP_READ, CL_MAP_WRITE
 * For host USM and shared USM, the result is the pointer of the region: the call waits for the
 * commands of the pool's queue, and for the ones that clump_pool_use() named.
 * Blocks: yes, with the lock.
 * Returns CLUMP_OK, CLUMP_ERR_REFERENCE, CLUMP_ERR_USAGE, CLUMP_ERR_UNSUPPORTED as
 * clump_pool_get_buffer(), or CLUMP_ERR_CL. */
CLUMP_API clump_status clump_pool_map(clump_pool *pool, clump_allocation allocation,
                                      cl_map_flags flags, void **memory);

/* METHOD. Unmap an allocation, once for each map.
 *   sync  [in, optional]
 * Blocks: only on a queue out of order, unless `sync` asks for the event.
 * Returns CLUMP_OK, CLUMP_ERR_REFERENCE, CLUMP_ERR_USAGE or CLUMP_ERR_CL. */
CLUMP_API clump_status clump_pool_unmap(clump_pool *pool, clump_allocation allocation, void *memory,
                                        const clump_sync *sync);

/* METHOD. Release the empty chunks, including the one that is kept, and memory whose last use has
 * completed.
 * Blocks: as clump_pool_free().
 * Returns CLUMP_OK, or CLUMP_ERR_USAGE for NULL. */
CLUMP_API clump_status clump_pool_trim(clump_pool *pool);

/* ---- Looking into the pool ------------------------------------------------------------------ */

/* Counters that every call updates. */
typedef struct clump_pool_stats {
    size_t size;                        /* sizeof(clump_pool_stats) */
    uint64_t bytes, bytes_peak;         /* device memory of the pool */
    uint64_t used_bytes, used_peak;     /* allocated bytes, rounded up, including moves in
                                           progress */
    uint64_t requested_bytes;           /* allocated bytes, as requested */
    uint32_t chunks, chunks_peak;       /* without unique ones */
    uint32_t empty_chunks, unique;      /* empty chunks count as chunks as well */
    uint64_t allocations;               /* live */
    uint64_t allocated, freed, refused; /* calls until now */
    uint64_t moves, moved_bytes;        /* of defragmentation until now */
    uint64_t waiting_bytes;             /* freed, but in use until some event */
    double waste;                       /* free share of the chunks */
    uint64_t context_bytes;             /* device memory of all pools of the context together */
} clump_pool_stats;

/* Facts that need a walk over all chunks. */
typedef struct clump_pool_details {
    size_t size;                             /* sizeof(clump_pool_details) */
    uint64_t allocation_min, allocation_max; /* requested bytes, 0 without allocations */
    uint64_t free_ranges, free_min, free_max;
    double fragmentation; /* mean over the chunks of 1 - largest free range / free bytes */
    /* Measured time of copies: us = copy_us * copies + bytes * copy_us_per_byte. Zeros: not known
     * yet. */
    double copy_us, copy_us_per_byte;
    double pause_us; /* the present budget of a step with use_pauses */
} clump_pool_details;

/* METHOD. Get counters and facts. The call runs in constant time without `details`. With `details`
 * it walks all chunks.
 *   stats    [out, optional]
 *   details  [out, optional]
 * Blocks: no.
 * Returns CLUMP_OK. Fails with CLUMP_ERR_USAGE if both are NULL. */
CLUMP_API clump_status clump_pool_get_stats(clump_pool *pool, clump_pool_stats *stats,
                                            clump_pool_details *details);

/* METHOD. Verify all invariants. With margins, read these back and compare.
 * Blocks: only with margins.
 * Returns CLUMP_OK, or:
 *   CLUMP_ERR_CORRUPT  an invariant does not hold: the error has the invariant and the place
 *   CLUMP_ERR_IO       the trace could not be written
 *   CLUMP_ERR_CL, CLUMP_ERR_HOST_MEMORY */
CLUMP_API clump_status clump_pool_check(clump_pool *pool);

/* The format of a written pool. */
typedef enum clump_pool_format {
    CLUMP_POOL_JSON, /* docs/guide/pool.md has the schema */
    /* a picture of all chunks: movable and other used ranges, free ranges, unique allocations */
    CLUMP_POOL_SVG
} clump_pool_format;

/* METHOD. Write the pool. Walks all chunks.
 *   write  [in]  gets the whole text, in one part, with `user`
 * Blocks: no.
 * Returns CLUMP_OK. Fails with CLUMP_ERR_IO if `write` returned an error, CLUMP_ERR_USAGE or
 * CLUMP_ERR_HOST_MEMORY. */
CLUMP_API clump_status clump_pool_dump(clump_pool *pool, clump_pool_format format,
                                       clump_write_fn write, void *user);

#ifdef __cplusplus
}
#endif
#endif
