/* A context: the user's OpenCL context, device and queue, and the facts probed about the device.
 *
 * The library creates no cl_context. It retains the context and the queue that it gets and releases
 * them with the context. It creates queues only for transfers: saved heaps (save.h) and migrations
 * between devices (extract.h) use two, a halo (mpi.h) one. An out-of-order queue is used as if it
 * were in order: each command waits for the previous one.
 *
 * Queues. The library enqueues all work on the queue that the context was created with, until
 * clump_context_set_queue() names another queue for the calls after it. Calls on one queue run in
 * their order. Calls on one heap also run in their order, even on different queues: when a heap
 * changes its queue, its first command there waits for its commands on the previous queue and for
 * everything enqueued before them. Calls on different heaps do not wait for each other. The device
 * may therefore run two heaps at the same time, each on a separate queue. A call that works on two
 * heaps is in the order of both. If it blocks, it waits for all commands of both. The library does
 * not order two things: buffers of the caller that two heaps use, and commands of the caller. Use
 * clump_sync for both.
 *
 * As long as the context has one queue, the library does not distinguish the commands of different
 * heaps in it. A heap that leaves this queue for a second one waits for everything in it, even for
 * commands that an event holds back. The library flushes a queue when another queue waits for it
 * and when a call blocks.
 *
 * Costs: with one queue, two comparisons in each call. A heap that changes its queue costs two
 * markers and a flush each time. Heaps that share one of several queues cost a marker each time
 * they alternate. clump_context_set_queue() searches the queues in use. clump_context_set_queue()
 * does not change the queue of a pool (pool.h).
 *
 * One clump_context is for one device. A program has one context for each device, and
 * clump_heap_migrate() (extract.h) moves objects between their heaps.
 *
 * Threads: a clump_context and everything made from it belong to one thread at a time. Pools are
 * the exception, see pool.h. Several contexts on several threads are independent, also if they
 * share a cl_context.
 *
 * Read first: status.h, allocator.h, cl_functions.h. Read next: schema.h.
 */
#ifndef CLUMP_CONTEXT_H
#define CLUMP_CONTEXT_H

#include <stdint.h>

#include "clump/allocator.h"
#include "clump/cl_functions.h"
#include "clump/export.h"
#include "clump/status.h"

#ifdef __cplusplus
extern "C" {
#endif

/* A context. Objects made from it keep it. */
typedef struct clump_context clump_context;

/* Optional features of a device, as bits. For each feature that a device lacks, except FP64, the
 * library has a slower path with the same results. clump_context_desc.disable switches a feature
 * off. */
typedef enum clump_feature {
    CLUMP_FEATURE_INT64_ATOMICS = 1 << 0, /* cl_khr_int64_base_atomics and _extended_atomics: row
                                             bitmaps are handled 64 bits at a time, else 32 */
    CLUMP_FEATURE_PTX = 1 << 1,           /* NVIDIA's inline assembly: activemask, match and shfl
                                             combine the requests of a warp */
    CLUMP_FEATURE_SUBGROUPS = 1 << 2,     /* sub-group ballots: the same, portably */
    CLUMP_FEATURE_FP64 = 1 << 3,          /* fields of type double. Without it, heaps cannot have
                                             such fields */
    CLUMP_FEATURE_ALL = (1 << 4) - 1
} clump_feature;

/* Kinds of memory with a pointer that kernels may store in memory. Each bit means that the device
 * has the memory and the functions for it. The pointer of the first four kinds is the same on the
 * host and in kernels. A pool allocates them: clump_memory in pool.h has the same order. A heap of
 * several buffers needs SVM or ADDRESS. */
typedef enum clump_pointers {
    CLUMP_POINTERS_SVM = 1 << 0, /* coarse-grained buffers of shared virtual memory: OpenCL 2.0 */
    CLUMP_POINTERS_USM_DEVICE = 1 << 1, /* cl_intel_unified_shared_memory: memory of the device */
    CLUMP_POINTERS_USM_HOST = 1 << 2,   /* the same, memory of the host */
    CLUMP_POINTERS_USM_SHARED = 1 << 3, /* the same, on the side that uses it */
    CLUMP_POINTERS_ADDRESS = 1 << 4     /* cl_ext_buffer_device_address from 1.0 on: buffers with an
                                           address on the device. Only heaps use it */
} clump_pointers;

/* Which kernels a device runs. Results are equal, speed is not. Use this in tests, and to run the
 * kernels of a GPU on a CPU, under its debuggers and checkers. */
typedef enum clump_personality {
    CLUMP_PERSONALITY_DEVICE, /* as fits the device: kernels for a CPU on CPUs and where work-groups
                                 have fewer than 64 work-items, else kernels for a GPU */
    CLUMP_PERSONALITY_CPU,    /* a work-item processes whole rows, the library's work-groups have
                                 one work-item, marking goes by rows */
    CLUMP_PERSONALITY_GPU     /* 64 work-items process a row together, work-groups have barriers and
                                 local memory, marking uses a queue. Needs work-groups of 64 */
} clump_personality;

/* Where built programs are kept, so that the next process need not compile them again: in a folder,
 * or in storage behind the program's own functions. An entry is bytes under a name of at most 80
 * letters, digits and dots. The library checks an entry when it loads it. An entry counts as
 * missing if it is damaged, or was made for another device, driver, option or source. A failure of
 * the cache fails no call: the program is then built from its source. The build log is kept as
 * well.
 *
 * Programs whose source includes files are not kept, since the files may change. The library never
 * removes an entry. The program may remove entries at any time. An entry is code: no other user may
 * be able to write there. */
typedef struct clump_cache {
    const char *folder; /* copied. The library makes the folder, with its parents, when it is first
                           needed. Several processes may use one folder at the same time. NULL: no
                           folder */
    /* Instead of a folder, set both functions. `load` returns the size of an entry, 0 if it is
     * missing, and writes the entry to `data` if it fits into `bytes`. The first call has 0 bytes.
     * `store` puts an entry in place of one of the same name. The thread that uses the context
     * calls both. */
    size_t (*load)(void *user, const char *name, void *data, size_t bytes);
    void (*store)(void *user, const char *name, const void *data, size_t bytes);
    void *user;
} clump_cache;

/* Programs compiled ahead of time: the output of clump-compile, also several of its files
 * concatenated. On a device that accepts SPIR-V (cl_khr_il_program), the library uses an entry if
 * its text and options are exactly the ones to build. It builds any other program from source, and
 * on other devices all programs. clump_program_get_info()->log then begins with a note that names
 * the program and the reason. A program that clump_cache has is loaded from there, without a note.
 * Programs made from SPIR-V are not stored there. See docs/guide/start-up.md. */
typedef struct clump_compiled {
    const void *data; /* not copied: it must live as long as the context. NULL: no programs */
    size_t bytes;
} clump_compiled;

/* Arguments of clump_context_create(). */
typedef struct clump_context_desc {
    size_t size;                   /* sizeof(clump_context_desc) */
    cl_context context;            /* required, retained */
    cl_device_id device;           /* required: one of the context's devices */
    cl_command_queue queue;        /* required: of that context and device. Retained. Create it with
                                      CL_QUEUE_PROFILING_ENABLE to read times of events */
    uint32_t disable;              /* clump_feature bits never to use, default 0 */
    clump_personality personality; /* default: as fits the device */
    clump_allocator allocator;     /* default: malloc, realloc, free */
    const clump_cl_functions *cl;  /* OpenCL entry points to call, default: the linked ones. Copied.
                                      For tracing, and for tests that make calls fail */
    clump_cache cache;             /* default: programs are not kept */
    clump_compiled compiled;       /* default: none */
    uint64_t pool_limit_bytes;     /* upper limit of device memory for all pools of the context
                                      together (pool.h). 0: no limit, but see limit_bytes of
                                      pools */
} clump_context_desc;

/* Facts about the device. clump_context_create() probes them once. */
typedef struct clump_capabilities {
    size_t size; /* sizeof(clump_capabilities) */
    char platform_name[128];
    char device_name[128];
    char device_version[128]; /* CL_DEVICE_VERSION, "OpenCL 3.0 ..." */
    char driver_version[128];
    int is_cpu;                    /* by the device's type */
    clump_personality personality; /* the chosen one: CPU or GPU, never DEVICE */
    uint32_t features;             /* clump_feature bits that the device has and that are not
                                      disabled */
    uint32_t features_found;       /* clump_feature bits that the device has */
    uint32_t compute_units;
    /* CL_DEVICE_GLOBAL_MEM_SIZE. 0: unknown, because the device reports 0 or more than 2^50 */
    uint64_t memory_bytes;
    /* CL_DEVICE_MAX_MEM_ALLOC_SIZE, at most memory_bytes if that is known. Equal to memory_bytes if
     * the device reports 0. Some devices allow larger buffers */
    uint64_t allocation_bytes;
    uint64_t local_bytes;      /* CL_DEVICE_LOCAL_MEM_SIZE */
    uint32_t base_align_bytes; /* CL_DEVICE_MEM_BASE_ADDR_ALIGN in bytes, rounded up to a power of
                                  two. 128 if the device reports less than 8 bits */
    uint32_t work_group_max;   /* CL_DEVICE_MAX_WORK_GROUP_SIZE */
    uint32_t word_bits;        /* 64 or 32: width of the atomics on row bitmaps */
    uint32_t pointers;         /* clump_pointers bits that the device has */
    const char *language; /* "CL1.2", "CL2.0" or "CL3.0": the standard that programs are built with.
                             Above 1.2 the device has fences that reach the whole device */
    const char *coalescing;    /* "ptx", "subgroup" or "scalar": how requests are combined */
    const char *mapping;       /* "row per 64 work-items" or "rows per work-item" */
    uint32_t sub_buffers_most; /* a pool makes more and smaller chunks, rather than more sub-buffers
                                  of one chunk. 0: any number. See docs/guide/pool.md */
    const char *coalescing_reason; /* the reason for `coalescing`: a feature that the device has or
                                      lacks, or "switched off". Never NULL */
} clump_capabilities;

/* CONSTRUCTOR. Probe the device, and retain the context and the queue.
 *   desc     [in]             copied
 *   context  [out]            set to NULL on failure
 *   error    [out, optional]  the reason of a failure
 * Blocks: no.
 * Returns CLUMP_OK, or:
 *   CLUMP_ERR_USAGE        an object is missing, or the objects do not belong together, or the
 *                          cache has a folder and functions or only one function, or the allocator
 *                          lacks a function, or `compiled` is not a file of clump-compile, or the
 *                          personality does not exist
 *   CLUMP_ERR_UNSUPPORTED  the device is not available, is older than OpenCL 1.2, lacks a compiler,
 *                          is big-endian or has the embedded profile, or its work-groups are too
 *                          small for CLUMP_PERSONALITY_GPU
 *   CLUMP_ERR_HOST_MEMORY, CLUMP_ERR_CL */
CLUMP_API clump_status clump_context_create(const clump_context_desc *desc, clump_context **context,
                                            clump_error *error);

/* DESTRUCTOR. NULL is allowed. Objects may be destroyed in any order. A context that still has
 * heaps, programs or pools ends with the last of them. The same holds for a pool with heaps, a heap
 * with compactors and collectors, a program with kernels, the key kernel of a compactor, and the
 * finaliser of a collector. Destroy each object once, and do not use it afterwards. */
CLUMP_API void clump_context_destroy(clump_context *context);

/* METHOD. Enqueue the following calls on another queue: see "Queues" at the head of this file.
 *   queue  [in, optional]  of the same cl_context and device. Retained while the context or an
 *                          object made from it uses it. NULL: the queue that the context was
 *                          created with. The queue may be in order or out of order, with profiling
 *                          or without. Without profiling, times in reports are 0 and a timeline
 *                          only counts
 * Must not be called within a callback of a call on the context. Blocks: no.
 * Returns CLUMP_OK. Fails with CLUMP_ERR_USAGE if the queue belongs to another cl_context or
 * device, CLUMP_ERR_HOST_MEMORY or CLUMP_ERR_CL. The context then keeps its queue. */
CLUMP_API clump_status clump_context_set_queue(clump_context *context, cl_command_queue queue);

/* Facts about a context. */
typedef struct clump_context_info {
    const clump_capabilities *capabilities; /* the probed ones, NULL for no context */
    cl_command_queue queue; /* the queue on which calls enqueue now. Not retained for the caller */
} clump_context_info;

/* Return facts about the context. They live as long as the context. The result is never NULL. For a
 * NULL context, its members are NULL. */
CLUMP_API const clump_context_info *clump_context_get_info(const clump_context *context);

/* Return the error of the last failed call on the context or on anything made from it. The result
 * is never NULL. Its status is CLUMP_OK if nothing failed yet. The next failure overwrites it. */
CLUMP_API const clump_error *clump_context_get_error(const clump_context *context);

/* Events to wait for, and the event that the call returns, as in OpenCL. All zero: none. If a
 * command that others wait for fails, these do not run. A call that blocks then returns
 * CLUMP_ERR_CL. The event of another call has the error. On an in-order queue, only the first of
 * many commands waits: after a failed event, the other commands of a compaction or collection still
 * run. */
typedef struct clump_sync {
    cl_uint wait_count;
    const cl_event *wait_list; /* NULL if wait_count is 0 */
    cl_event *event; /* optional: completes with the last launch. The caller releases it */
} clump_sync;

#ifdef __cplusplus
}
#endif
#endif
