/* A context: the user's OpenCL context, device and queue, and what was probed about the device.
 *
 * The library creates no cl_context. It retains the three objects given to it and releases them
 * with the context. It creates queues for one purpose: the transfers of saved heaps, which have two
 * (save.h). A queue with out-of-order execution is used as if it were in order (each command waits
 * for the one before).
 *
 * Queues. All work is enqueued on the queue that the context was created with, until
 * clump_context_set_queue() names another one for the calls after it. Calls on one queue take
 * effect in their order. Of calls on several queues those of one heap do, whichever queues they are
 * on: its first command on another queue than before waits for those that it had there, and what
 * was in that queue before them. Calls of different heaps do not wait for each other, so the device
 * may run two heaps at the same time, each on a queue of its own. A call that works on two heaps is
 * in the order of both; one that blocks has waited for all commands of these. Not ordered by the
 * library are buffers of the caller that two heaps use, and commands of the caller: clump_sync says
 * how. As long as the context has one queue, it does not tell apart what different heaps have
 * there: a heap that leaves it for a second one waits for all that is in it, held back by an event
 * or not. The library flushes a queue where another one waits for it, and where a call blocks.
 * One queue costs two comparisons in each call. A heap that changes its queue costs two markers and
 * a flush each time; heaps that take turns on one queue of several cost a marker each time; calling
 * clump_context_set_queue() costs the look for the queue among those in use. Pools have a queue
 * each (pool.h), which this does not change. One clump_context is for one device; a program has one
 * for each of its devices, and objects move between their heaps with clump_heap_migrate()
 * (extract.h).
 *
 * Threads: a clump_context and what is made from it belong to one thread at a time; pools are the
 * exception, pool.h says how. Several contexts on several threads are independent, also if they
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

/* A context. What is made from it keeps it. */
typedef struct clump_context clump_context;

/* Optional features of a device, as bits. Whatever a device lacks has a slower path that gives the
 * same results; whatever it has can be forced off through clump_context_desc.disable. */
typedef enum clump_feature {
    CLUMP_FEATURE_INT64_ATOMICS = 1 << 0, /* cl_khr_int64_base_atomics and _extended_atomics:
                                             row bitmaps are handled 64 bits at a time, else 32 */
    CLUMP_FEATURE_PTX = 1 << 1,           /* NVIDIA's inline assembly: requests of a warp are
                                             coalesced with activemask, match and shfl */
    CLUMP_FEATURE_SUBGROUPS = 1 << 2,     /* sub-group ballots: the same, portably */
    CLUMP_FEATURE_FP64 = 1 << 3,          /* fields of type double */
    CLUMP_FEATURE_ALL = (1 << 4) - 1
} clump_feature;

/* Memory that is known by a pointer, which is the same for the host and in kernels, and which
 * kernels may keep in memory. As bits: which of it the device has, with the functions for it. A
 * pool gives it out: clump_memory in pool.h, in the same order. */
typedef enum clump_pointers {
    CLUMP_POINTERS_SVM = 1 << 0, /* coarse-grained buffers of shared virtual memory: OpenCL 2.0 */
    CLUMP_POINTERS_USM_DEVICE = 1 << 1, /* cl_intel_unified_shared_memory: the device's memory */
    CLUMP_POINTERS_USM_HOST = 1 << 2,   /* the host's */
    CLUMP_POINTERS_USM_SHARED = 1 << 3  /* that of either, as it is used */
} clump_pointers;

/* Which kernels a device gets. Results are the same with either; speed is not. Meant for tests, and
 * for running the kernels of a GPU on a CPU, under its debuggers and checkers. */
typedef enum clump_personality {
    CLUMP_PERSONALITY_DEVICE, /* those made for its kind of device */
    CLUMP_PERSONALITY_CPU,    /* a work-item takes whole rows; the library's work-groups have one
                                 work-item; marking by rows */
    CLUMP_PERSONALITY_GPU /* 64 work-items take a row together; work-groups with barriers and local
                                 memory; marking by a queue. Needs work-groups of 64 */
} clump_personality;

/* Where built programs are kept, so that the next process does not compile them again: in a folder,
 * or where a program's own functions put them. An entry is bytes under a name of at most 80
 * letters, digits and dots. It is checked when it is loaded: an entry that is damaged, or belongs
 * to another device, driver, option or source, counts as missing. Nothing that goes wrong here
 * fails a call; the program is built from its source then. The build log is kept too.
 *
 * Programs whose source includes files are not kept, since the files may change. Nothing is ever
 * removed; entries may be removed at any time. An entry is code: nobody else may be able to write
 * there. */
typedef struct clump_cache {
    const char *folder; /* copied; made with its parents when first needed. Several processes may
                           use one at the same time. NULL: none */
    /* Instead of a folder, set both. `load` returns the size of an entry, 0 if there is none, and
     * writes it to `data` if it fits into `bytes`; it is called with 0 bytes first. `store` puts an
     * entry in place of one of the same name. Both are called by the thread that uses the
     * context. */
    size_t (*load)(void *user, const char *name, void *data, size_t bytes);
    void (*store)(void *user, const char *name, const void *data, size_t bytes);
    void *user;
} clump_cache;

/* Programs compiled ahead of time: what clump-compile wrote, also several of its files one after
 * the other. On a device that takes SPIR-V (cl_khr_il_program) a program, or a part of the library,
 * of which exactly the text and the options were compiled is made of it; any other is built from
 * its source, and so are all on other devices. clump_program_get_info()->log then begins with a
 * note that says which, and why. A program that clump_cache has is taken from there, without a
 * note; what is made of SPIR-V is not stored there. docs/guide/start-up.md */
typedef struct clump_compiled {
    const void *data; /* not copied: it must live as long as the context. NULL: none */
    size_t bytes;
} clump_compiled;

/* What a context is made of. */
typedef struct clump_context_desc {
    size_t size;                   /* sizeof(clump_context_desc) */
    cl_context context;            /* required; retained */
    cl_device_id device;           /* required; one of the context's devices */
    cl_command_queue queue;        /* required; of that context and device; retained. Create it
                                       with CL_QUEUE_PROFILING_ENABLE to read times of events */
    uint32_t disable;              /* clump_feature bits never to use; default 0 */
    clump_personality personality; /* default: as fits the device */
    clump_allocator allocator;     /* default: malloc, realloc, free */
    const clump_cl_functions *cl;  /* OpenCL entry points to call; default: the linked ones.
                                       Copied. For tracing and for tests that make calls fail */
    clump_cache cache;             /* default: programs are not kept */
    clump_compiled compiled;       /* default: none */
    uint64_t pool_limit_bytes;     /* device memory of all its pools together (pool.h), at most; 0:
                                       no limit, but see limit_bytes of pools */
} clump_context_desc;

/* Facts about the device, probed once by clump_context_create(). */
typedef struct clump_capabilities {
    size_t size; /* sizeof(clump_capabilities) */
    char platform_name[128];
    char device_name[128];
    char device_version[128]; /* CL_DEVICE_VERSION, "OpenCL 3.0 ..." */
    char driver_version[128];
    int is_cpu;                    /* by the device's type */
    clump_personality personality; /* that was chosen: CPU or GPU, never DEVICE */
    uint32_t features;             /* clump_feature bits that are there and not disabled */
    uint32_t features_found;       /* clump_feature bits that are there */
    uint32_t compute_units;
    /* CL_DEVICE_GLOBAL_MEM_SIZE; 0: not known, since the device tells 0 or more than 2^50 */
    uint64_t memory_bytes;
    /* CL_DEVICE_MAX_MEM_ALLOC_SIZE, at most memory_bytes, or these if it tells 0; some devices give
     * more */
    uint64_t allocation_bytes;
    uint64_t local_bytes;      /* CL_DEVICE_LOCAL_MEM_SIZE */
    uint32_t base_align_bytes; /* CL_DEVICE_MEM_BASE_ADDR_ALIGN, converted from bits */
    uint32_t work_group_max;   /* CL_DEVICE_MAX_WORK_GROUP_SIZE */
    uint32_t word_bits;        /* 64 or 32: width of the atomics on row bitmaps */
    uint32_t pointers;         /* clump_pointers bits that are there */
    const char *language; /* "CL1.2", "CL2.0" or "CL3.0": what programs are built as. Above 1.2 the
                                device has fences that reach the whole device */
    const char *coalescing; /* "ptx", "subgroup" or "scalar": how requests are combined */
    const char *mapping;    /* "row per 64 work-items" or "rows per work-item" */
} clump_capabilities;

/* CONSTRUCTOR. Probe the device and take references to the user's objects.
 *   desc     [in]             copied
 *   context  [out]            set to NULL on failure
 *   error    [out, optional]  says why it failed (there is no context to ask yet)
 * Blocks: no.
 * Returns CLUMP_OK; CLUMP_ERR_USAGE an object is missing or they do not belong together, or the
 * cache has a folder and functions, or one function, or `compiled` is no file of clump-compile;
 * CLUMP_ERR_UNSUPPORTED no 32-bit atomics, no compiler, a big-endian or an embedded device;
 * CLUMP_ERR_HOST_MEMORY; CLUMP_ERR_CL. */
CLUMP_API clump_status clump_context_create(const clump_context_desc *desc, clump_context **context,
                                            clump_error *error);

/* DESTRUCTOR. NULL is allowed. The order of destruction is free: a context that still has heaps,
 * programs or pools ends with the last of them, and so do a pool with heaps, a heap with compactors
 * and collectors, a program with kernels, and a kernel of which a compactor or collector has need.
 * Each is destroyed once, and not used by the caller any more. */
CLUMP_API void clump_context_destroy(clump_context *context);

/* METHOD. Calls from now on enqueue on another queue: see "Queues" at the head of this file.
 *   queue  [in, optional]  of the same cl_context and device; retained while the context or
 *                          something made from it uses it. NULL: the queue that the context was
 *                          created with. It may be in order or out of order, with profiling or
 *                          without, where times in reports are 0 and a timeline only counts
 * Not within a callback of a call on the context. Blocks: no. Returns CLUMP_OK; CLUMP_ERR_USAGE a
 * queue of another cl_context or device; CLUMP_ERR_HOST_MEMORY; CLUMP_ERR_CL; then the queue is the
 * one that it was. */
CLUMP_API clump_status clump_context_set_queue(clump_context *context, cl_command_queue queue);

/* What is known of a context. */
typedef struct clump_context_info {
    const clump_capabilities *capabilities; /* the probed ones; NULL for no context */
    cl_command_queue queue; /* on which calls enqueue now. Not retained for the caller */
} clump_context_info;

/* What is known of it. Lives as long as the context. Not NULL; of NULL, no capabilities and no
 * queue. */
CLUMP_API const clump_context_info *clump_context_get_info(const clump_context *context);

/* The error of the last failed call on the context or on anything made from it. Never NULL; its
 * status is CLUMP_OK if nothing failed yet. Overwritten by the next failure. */
CLUMP_API const clump_error *clump_context_get_error(const clump_context *context);

/* Events to wait for, and the event to give back, as in OpenCL. All zero: none. If a command fails
 * that is waited for, those that wait for it do not run: a call that blocks returns CLUMP_ERR_CL
 * then, and of others the event has the error. On a queue in order only the first of many commands
 * waits: those of a compaction or collection run then, too. */
typedef struct clump_sync {
    cl_uint wait_count;
    const cl_event *wait_list; /* NULL if wait_count is 0 */
    cl_event *event; /* optional; completes with the last launch; the caller releases it */
} clump_sync;

#ifdef __cplusplus
}
#endif
#endif
