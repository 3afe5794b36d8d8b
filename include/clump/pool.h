/* A pool: many OpenCL buffers in few large ones.
 *
 *   chunk 0  │ A   │ B │   free   │ C     │ free │      a chunk is one clCreateBuffer
 *   chunk 1  │ D         │          free          │
 *   unique   │ E                                            │   too large for a chunk
 *
 * An allocation is a region of a chunk, (cl_mem, offset, bytes), or a sub-buffer of it, or a
 * buffer of its own. Regions of allocations that are movable may be moved together by
 * defragmentation: defrag.h.
 *
 * OpenCL cannot be asked how much memory is free, so the pool keeps its own account and its own
 * limits, and touches every new chunk, so that memory that is missing is missing here and not in a
 * later kernel.
 *
 * Threads: all calls on one pool may come from any thread at any time, unless
 * CLUMP_POOL_SINGLE_THREADED is set; a lock makes them one after the other. Pools, of one context
 * too, may be created and destroyed on any thread too, each while no other call on that pool runs.
 * Callbacks are called without the lock. A clump_allocator of the context must be as thread-safe as
 * malloc.
 *
 * Wrong input is refused, with words, and changes nothing: CLUMP_ERR_REFERENCE for an allocation
 * that is not of this pool or was freed, CLUMP_ERR_USAGE for everything else. After destruction
 * nothing is left of a pool: the caller must not use it any more.
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

/* An allocation; 0 stands for no allocation. Carries a generation: one that was freed is not
 * taken for a later one. */
typedef uint64_t clump_allocation;

/* Where an allocation lies. Commands that use the buffer must stay within offset .. offset +
 * bytes. */
typedef struct clump_region {
    /* not retained for the caller; NULL only of USM, where the device makes no cl_mem of it */
    cl_mem buffer;
    uint64_t offset, bytes;
    /* of its first byte, in memory with pointers; else NULL. Kernels may keep it in memory */
    void *pointer;
} clump_region;

/* Chunks of each kind are apart.
 *
 * Memory with pointers, from CLUMP_MEMORY_SVM on, is there where clump_capabilities.pointers says
 * so; elsewhere a request for it is refused, CLUMP_ERR_UNSUPPORTED. Its allocations are never
 * moved: `movable` is refused. Its pointers are multiples of the allocation's alignment, which is
 * at most 128 then, the most that OpenCL promises; without one, of the smaller of 128 and the
 * pool's.
 *   kernels  take the pointer by clSetKernelArgSVMPointer() or clSetKernelArgMemPointerINTEL(), or
 *            the buffer, with the offset. A kernel that finds pointers in memory is told of the
 *            allocations, by clSetKernelExecInfo()
 *   host     clump_pool_map(), which gives the same pointer; of CLUMP_MEMORY_USM_DEVICE only where
 *            there is a buffer.
 *            USM of the host and shared USM may also be used directly while no command uses them
 *   its end  OpenCL does not count who uses a pointer. The commands of other queues than the pool's
 *            that use an allocation must be done when it is freed, or be named by clump_pool_use(),
 *            and all when the pool is destroyed. The pool waits for its queue when it gives a chunk
 *            back. clump_pool_create_buffer() refuses it */
typedef enum clump_memory {
    CLUMP_MEMORY_DEVICE = 0,
    CLUMP_MEMORY_HOST,       /* CL_MEM_ALLOC_HOST_PTR: cheap to map */
    CLUMP_MEMORY_SVM,        /* coarse-grained buffers of shared virtual memory, OpenCL 2.0 */
    CLUMP_MEMORY_USM_DEVICE, /* cl_intel_unified_shared_memory: the device's own */
    CLUMP_MEMORY_USM_HOST,   /* the host's, which the device reaches */
    CLUMP_MEMORY_USM_SHARED, /* goes to where it is used */
    CLUMP_MEMORY_COUNT
} clump_memory;

/* What defragmentation does with an allocation that it could move. */
typedef enum clump_move_op {
    CLUMP_MOVE_COPY = 0, /* move it */
    CLUMP_MOVE_IGNORE,   /* leave it where it is, and do not ask again before something was freed */
    CLUMP_MOVE_DESTROY   /* free it: its contents are not needed */
} clump_move_op;

/* An allocation, and from where to where it moves. */
typedef struct clump_move {
    clump_allocation allocation;
    clump_region from, to;
    void *user_data; /* of the allocation */
} clump_move;

/* What is known of an allocation. */
typedef struct clump_allocation_info {
    size_t size; /* sizeof(clump_allocation_info) */
    clump_allocation allocation;
    clump_region region;
    clump_memory memory;
    int movable, unique, moving; /* moving: a copy to another place is under way */
    uint32_t pins, maps;
    const char *name; /* NULL without; valid until it is freed or renamed */
    void *user_data;
    clump_allocation next; /* another one, in no order that means something; 0 after the last */
} clump_allocation_info;

/* Options of a pool. */
typedef enum clump_pool_flag {
    CLUMP_POOL_SINGLE_THREADED = 1 << 0, /* no lock */
    CLUMP_POOL_UNTOUCHED = 1 << 1,       /* do not write to new chunks */
    CLUMP_POOL_KEEP_NONE = 1 << 2, /* release each chunk when it becomes empty; else one is kept */
    /* A request that finds no memory defragments and tries again; needs `moved`. */
    CLUMP_POOL_COMPACT_WHEN_FULL = 1 << 3
} clump_pool_flag;

/* What a pool is made of. All zero, except `context`, is an ordinary one. */
typedef struct clump_pool_desc {
    size_t size;            /* sizeof(clump_pool_desc) */
    clump_context *context; /* or NULL, with a queue */
    cl_command_queue queue; /* for copies and touching; of that context. Default: the context's */
    const char *name;       /* copied; default "pool" */
    uint64_t chunk_bytes;   /* 0: automatic, doubling from 8 MiB to 64; less on small devices and
                                 in small limits. Any chunk is smaller where a limit leaves less */
    uint64_t limit_bytes;   /* of device memory in all; 0: only that of all pools, see below; where
                                 there is none, on a CPU 3/4 of memory_bytes, for all pools */
    double unique_share;    /* requests above this share of a chunk get a buffer of their own;
                                 above 0 and at most 1; 0: 0.5 */
    uint32_t alignment;     /* of offsets and sizes: a power of two, at least the device's base
                                 alignment, which is also the default */
    clump_fit fit;          /* 0: CLUMP_FIT_GOOD */
    uint32_t margin_bytes; /* debug mode: at least so many bytes with a pattern right after the last
                                 of each allocation, checked by clump_pool_check(); 0: none */
    uint32_t flags;        /* clump_pool_flag bits */
    /* Of clump_defrag_desc.use_pauses: a step may take this share of the least pause of so many
     * frames. */
    double pause_factor;   /* above 0 and at most 1; 0: 0.8 */
    uint32_t pause_frames; /* at most 64; 0: 8 */

    /* Callbacks, all optional; `user` is handed back. They may call the pool, but not defragment
     * it. */
    void *user;
    clump_move_op (*decide)(void *user, const clump_move *move); /* before a copy */
    void (*moved)(void *user, const clump_move *move); /* the allocation now lies at move->to */
    /* At destruction, for each allocation that is still there. */
    void (*leaked)(void *user, const clump_allocation_info *info);
    /* A line for each call that allocates, frees, sets movable or ends a frame: docs/guide/pool.md.
     * Called with the lock: it must not call the pool. When it says that it could not write, the
     * trace ends there: allocations go on, and clump_pool_end_frame() and clump_pool_check() return
     * CLUMP_ERR_IO from then on. */
    clump_write_fn trace;

    /* Only without a context, whose own they are otherwise. As in clump_context_desc. */
    clump_allocator allocator;
    const clump_cl_functions *cl;
} clump_pool_desc;

/* CONSTRUCTOR. Makes no chunk yet. Without a context the pool is for the cl_context and the device
 * of its queue, and that device needs no compiler. No heap can be in such a pool, and no
 * limit of a context is for it.
 *   pool   [out]            NULL on failure
 *   error  [out, optional]  says why it failed
 * Blocks: no. Returns CLUMP_OK; CLUMP_ERR_USAGE; CLUMP_ERR_UNSUPPORTED without a context: the
 * device is not there or has less than OpenCL 1.2; CLUMP_ERR_HOST_MEMORY; CLUMP_ERR_CL. */
CLUMP_API clump_status clump_pool_create(const clump_pool_desc *desc, clump_pool **pool,
                                         clump_error *error);

/* DESTRUCTOR. NULL is allowed. Waits for copies under way; releases all chunks, and with them all
 * allocations except the buffers of clump_pool_create_buffer(). A pool that still has heaps ends
 * with the last of them, and calls `leaked` then. */
CLUMP_API void clump_pool_destroy(clump_pool *pool);

/* The error of the last failed call on the pool, by any thread; its status is CLUMP_OK if nothing
 * failed yet. Another thread may fail meanwhile, so it is copied.
 *   copy  [out]  what is returned */
CLUMP_API const clump_error *clump_pool_get_error(clump_pool *pool, clump_error *copy);

/* ---- Allocations ---------------------------------------------------------------------------- */

/* What is wanted of an allocation. All zero, except `bytes`, is a plain one. */
typedef struct clump_allocation_desc {
    size_t size;        /* sizeof(clump_allocation_desc) */
    uint64_t bytes;     /* at least 1 */
    uint64_t alignment; /* of the offset, and of the pointer: a power of two; 0: the pool's */
    clump_memory memory;
    /* it may be moved: no command writes to it any more ("static" in Eichinger's thesis; all others
     * are "dynamic"). See clump_pool_change() */
    int movable;
    int unique;       /* give it a buffer of its own whatever its size */
    const char *name; /* copied; default: none */
    void *user_data;
} clump_allocation_desc;

/* METHOD. Allocate.
 *   allocation  [out]            0 on failure
 *   region      [out, optional]
 * Blocks: only if a chunk must be made (it is touched: that waits for the pool's queue, with the
 * lock), with margins (which are written then, likewise), or with CLUMP_POOL_COMPACT_WHEN_FULL.
 * Returns CLUMP_OK; CLUMP_ERR_USAGE; CLUMP_ERR_UNSUPPORTED the device has no memory of that kind;
 * CLUMP_ERR_DEVICE_MEMORY the memory is not there, or a limit does not allow it: the error tells
 * which, with the OpenCL code if the device refused; CLUMP_ERR_HOST_MEMORY; CLUMP_ERR_CL. */
CLUMP_API clump_status clump_pool_alloc(clump_pool *pool, const clump_allocation_desc *desc,
                                        clump_allocation *allocation, clump_region *region);

/* METHOD. Free; 0 is allowed and does nothing. Refused while the allocation is mapped or
 * pinned, and if it is that of a heap or of clump_pool_create_buffer(). Its memory is given out
 * again when the commands named by clump_pool_use() have completed.
 * Blocks: only if a chunk of memory with pointers is given back: until the pool's queue is done.
 * Returns CLUMP_OK; CLUMP_ERR_REFERENCE; CLUMP_ERR_USAGE. */
CLUMP_API clump_status clump_pool_free(clump_pool *pool, clump_allocation allocation);

/* METHOD. Facts about an allocation, such as where it lies now. With `allocation` 0 only the first
 * one, as `next`: so all can be visited. These would leak if the pool were destroyed now.
 * Blocks: no. */
CLUMP_API clump_status clump_pool_get_info(clump_pool *pool, clump_allocation allocation,
                                           clump_allocation_info *info);

/* METHOD. A cl_mem of its own: a sub-buffer, made at the first call; of a unique allocation, its
 * buffer. The pool's; valid until the allocation is moved or freed. The caller can make an image of
 * it: pin the allocation (clump_pool_pin()) until the image is released. Blocks: no.
 * Returns CLUMP_OK; CLUMP_ERR_UNSUPPORTED it is USM, and the device makes no cl_mem of that;
 * CLUMP_ERR_REFERENCE; CLUMP_ERR_USAGE; CLUMP_ERR_HOST_MEMORY; CLUMP_ERR_CL. */
CLUMP_API clump_status clump_pool_get_buffer(clump_pool *pool, clump_allocation allocation,
                                             cl_mem *buffer);

/* METHOD. Allocate a buffer that the caller owns: a sub-buffer, which is never moved. With the last
 * clReleaseMemObject() its region goes back to the pool. The region is given out again when the
 * commands are done that were in the named queues when the pool took it back: the first call on the
 * pool after that release puts a marker into each of them, and later calls look whether the markers
 * have completed. OpenCL may tell of the release on any thread, and within the release; nothing
 * waits there, and no lock is taken.
 *   desc         as for clump_pool_alloc(); not movable, and no memory with pointers.
 *                clump_pool_free() refuses the allocation
 *   queue_count  0: those of clump_pool_set_queues()
 *   queues       all that use the buffer; retained until the region is free. Commands of other
 *                queues must be done before the last release
 *   buffer       [out]  NULL on failure. OpenCL makes no sub-buffers of it
 * A buffer may outlive its pool. It stays as it is then, and the memory of its whole chunk stays
 * until the last such buffer of that chunk is released; no pool counts that memory any more.
 * `leaked` is called for the buffers that are there at destruction. The context's clump_allocator
 * must be usable until the last of them is released. The library may be unloaded before: from the
 * first such buffer on its code stays in the process, where the driver calls it.
 * Blocks: as clump_pool_alloc(). Returns CLUMP_OK; CLUMP_ERR_USAGE; CLUMP_ERR_DEVICE_MEMORY, also
 * while regions still wait for their markers: finish the queues and try again;
 * CLUMP_ERR_HOST_MEMORY; CLUMP_ERR_CL. */
CLUMP_API clump_status clump_pool_create_buffer(clump_pool *pool, const clump_allocation_desc *desc,
                                                cl_uint queue_count, const cl_command_queue *queues,
                                                cl_mem *buffer);

/* METHOD. The queues of buffers that were made without queues of their own, as where it is not
 * known beforehand which queue will use a buffer. The list that is set when the pool takes a buffer
 * back is the one that counts.
 *   queue_count  0: the pool's queue, which is also the default
 *   queues       of the pool's cl_context; copied, and retained until the next such call or the end
 *                of the pool. A queue may be left out when its commands that use such buffers are
 *                done
 * Blocks: no. Returns CLUMP_OK; CLUMP_ERR_USAGE; CLUMP_ERR_HOST_MEMORY; CLUMP_ERR_CL. */
CLUMP_API clump_status clump_pool_set_queues(clump_pool *pool, cl_uint queue_count,
                                             const cl_command_queue *queues);

/* What clump_pool_change() changes; a sum of some. */
typedef enum clump_allocation_part {
    CLUMP_PART_MOVABLE = 1, /* that of a heap or of clump_pool_create_buffer() stays unmovable */
    CLUMP_PART_NAME = 2,
    CLUMP_PART_USER_DATA = 4
} clump_allocation_part;

/* METHOD. Change what an allocation was made with: all of `parts`, or nothing after a failure.
 *   to  [in]  movable, name and user_data are read, those that are named
 * Blocks: no. Returns CLUMP_OK; CLUMP_ERR_REFERENCE; CLUMP_ERR_USAGE; CLUMP_ERR_HOST_MEMORY. */
CLUMP_API clump_status clump_pool_change(clump_pool *pool, clump_allocation allocation,
                                         uint32_t parts, const clump_allocation_desc *to);

/* METHOD. Keep it where it is for a while, as for commands in flight. A copy under way is dropped.
 *   pins  so many more; below 0, so many fewer: it may be moved again when none is left
 * Blocks: no. */
CLUMP_API clump_status clump_pool_pin(clump_pool *pool, clump_allocation allocation, int pins);

/* METHOD. Commands up to `event` (retained) use the allocation where it lies: that place is not
 * given to another allocation before the event completed, and a copy from it waits for the
 * event. Blocks: no. */
CLUMP_API clump_status clump_pool_use(clump_pool *pool, clump_allocation allocation,
                                      cl_event event);

/* METHOD. Map an allocation on the pool's queue. A mapped one stays where it is.
 *   flags  CL_MAP_READ, CL_MAP_WRITE
 * Of USM of the host and shared USM the pointer is that of the region: mapping waits for the
 * commands of the pool's queue and those that clump_pool_use() named.
 * Blocks: yes, with the lock. Returns CLUMP_OK; CLUMP_ERR_REFERENCE; CLUMP_ERR_USAGE;
 * CLUMP_ERR_UNSUPPORTED as clump_pool_get_buffer(); CLUMP_ERR_CL. */
CLUMP_API clump_status clump_pool_map(clump_pool *pool, clump_allocation allocation,
                                      cl_map_flags flags, void **memory);

/* METHOD. Unmap it, once for each map.
 *   sync  [in, optional]
 * Blocks: only on a queue out of order, unless `sync` asks for the event. Returns CLUMP_OK;
 * CLUMP_ERR_REFERENCE; CLUMP_ERR_USAGE; CLUMP_ERR_CL. */
CLUMP_API clump_status clump_pool_unmap(clump_pool *pool, clump_allocation allocation, void *memory,
                                        const clump_sync *sync);

/* METHOD. Release the empty chunks, also the one that is kept, and memory whose last use has
 * completed. Blocks: as clump_pool_free(). */
CLUMP_API clump_status clump_pool_trim(clump_pool *pool);

/* ---- Looking into the pool ------------------------------------------------------------------ */

/* Counters that every call brings up to date. */
typedef struct clump_pool_stats {
    size_t size;                        /* sizeof(clump_pool_stats) */
    uint64_t bytes, bytes_peak;         /* device memory taken */
    uint64_t used_bytes, used_peak;     /* given out, as rounded up; also to moves under way */
    uint64_t requested_bytes;           /* as asked for */
    uint32_t chunks, chunks_peak;       /* without unique ones */
    uint32_t empty_chunks, unique;      /* empty ones are chunks too */
    uint64_t allocations;               /* live */
    uint64_t allocated, freed, refused; /* calls so far */
    uint64_t moves, moved_bytes;        /* of defragmentation so far */
    uint64_t waiting_bytes;             /* freed, but in use until some event */
    double waste;                       /* share of the chunks that is not given out */
    uint64_t context_bytes; /* device memory taken by all pools of the context together */
} clump_pool_stats;

/* Facts that take a walk over all chunks. */
typedef struct clump_pool_details {
    size_t size;                             /* sizeof(clump_pool_details) */
    uint64_t allocation_min, allocation_max; /* bytes as asked for; 0 without any */
    uint64_t free_ranges, free_min, free_max;
    double fragmentation; /* mean over the chunks of 1 - largest free range / free bytes */
    /* The time that copies take, as measured: us = copy_us * copies + bytes * copy_us_per_byte;
     * zeros: not known yet. */
    double copy_us, copy_us_per_byte;
    double pause_us; /* the budget of a step with use_pauses now */
} clump_pool_details;

/* METHOD. Constant time without `details`; with them it walks all chunks.
 *   stats    [out, optional]
 *   details  [out, optional]
 * Blocks: no. Returns CLUMP_OK; CLUMP_ERR_USAGE a place for neither. */
CLUMP_API clump_status clump_pool_get_stats(clump_pool *pool, clump_pool_stats *stats,
                                            clump_pool_details *details);

/* METHOD. Verify all invariants; with margins, read these back and compare.
 * Blocks: only with margins. Returns CLUMP_OK; CLUMP_ERR_CORRUPT, the error says what and where;
 * CLUMP_ERR_IO the trace could not be written; CLUMP_ERR_CL; CLUMP_ERR_HOST_MEMORY. */
CLUMP_API clump_status clump_pool_check(clump_pool *pool);

/* How a pool is written. */
typedef enum clump_pool_format {
    CLUMP_POOL_JSON, /* docs/guide/pool.md has the schema */
    /* a picture of all chunks: used ranges movable and not, free ones, unique allocations */
    CLUMP_POOL_SVG
} clump_pool_format;

/* METHOD. Write the pool. Walks all chunks.
 *   write  [in]  gets the whole text, in one part, with `user`
 * Blocks: no. Returns CLUMP_OK; CLUMP_ERR_IO `write` said so; CLUMP_ERR_USAGE;
 * CLUMP_ERR_HOST_MEMORY. */
CLUMP_API clump_status clump_pool_dump(clump_pool *pool, clump_pool_format format,
                                       clump_write_fn write, void *user);

#ifdef __cplusplus
}
#endif
#endif
