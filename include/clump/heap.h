/* A heap: objects of the classes of a schema, in one OpenCL buffer, or in several if one cannot be
 * so large.
 *
 * It holds blocks of one class each, their rows of 64 slots, allocation bitmaps and hints;
 * docs/internals/core.md has the picture. Objects are made and freed by kernels (program.h, run.h);
 * the calls here create the heap, look into it and move field values between host and device.
 *
 * A heap of several buffers is used as any other, except that it cannot be converted (convert.h),
 * has no raw memory, nor arrays that grow, and is not in a pool. The buffers after the first are
 * shared virtual memory (OpenCL 2.0; coarse-grained buffers), since these may refer to each other.
 * Each access to an object looks up where its buffer is, at a cost that
 * docs/measurements/buffers.md has; a heap in one buffer does not pay for that.
 * docs/guide/limits.md lists for all kinds of heaps the calls that are refused ("Which heaps refuse
 * what").
 *
 * A reference (clump_ref) is 32 bits: granule index << 6 | slot; 0 is null. It stays valid until
 * its object is freed, or the heap is compacted (compact.h) or gets another schema (convert.h).
 *
 * Calls that say "Blocks: yes" wait for all that was enqueued for the heap so far, and what is in
 * that queue. Values for the caller are there when they return; of changes to the heap's own memory
 * the last command may still run, before those of the next call. A call that may return earlier
 * takes a clump_sync (context.h), as its last parameter.
 *
 * Read first: context.h, schema.h. Read next: program.h.
 */
#ifndef CLUMP_HEAP_H
#define CLUMP_HEAP_H

#include "clump/context.h"
#include "clump/schema.h"

#ifdef __cplusplus
extern "C" {
#endif

/* A reference to an object: see the head of this file. */
typedef uint32_t clump_ref;
/* A heap. */
typedef struct clump_heap clump_heap;

/* What a heap is made of: a context, a schema, and `bytes` or `device_share`. The rest may be
 * zero. */
typedef struct clump_heap_desc {
    size_t size;                /* sizeof(clump_heap_desc) */
    clump_context *context;     /* required */
    const clump_schema *schema; /* copied as far as the heap needs it. NULL: no classes, for a
                                   heap of raw memory only */
    uint64_t bytes;             /* all device memory the heap takes, metadata included */
    double device_share;        /* instead of bytes: share of the device's memory, 0 < s <= 1 */
    /* The largest buffer: a larger heap has several. 0: one buffer, or, where the device gives none
     * of that size, buffers of its allocation_bytes (context.h). The metadata of all are in the
     * first: a large part of a checked heap, of others a small one. */
    uint64_t buffer_bytes;
    /* How much more than `bytes` objects may take, of which as much is evicted (evict.h). 0:
     * nothing can be. Not with raw memory, checked, watch_handles, pool or buffer_bytes. */
    uint64_t evictable_bytes;
    uint32_t block_rows; /* rows of 64 objects of the smallest class in a block, 1 .. 64;
                                   0: chosen from `bytes`. Wide blocks allocate faster, narrow ones
                                   fragment less */
    int raw; /* 1: kernels can ask for raw memory, too (device-api: clump_malloc()). Not in a
                                   checked heap. At most 64 GiB. A schema with arrays that grow
                                   (schema.h) implies it */
    /* 1: what kernels report is told by clump_heap_take_errors() only. 0: also, once, by the next
     * call that waits for values or counts, saves, extracts or reduces: it returns CLUMP_ERR_DEVICE
     * and does nothing; called again, it does its work. For programs that go on when an allocation
     * returned null. */
    int errors_on_request;
    int watch_handles; /* 1: handles (refs.h) see that their object was freed, although its slot
                                   was given out again. Takes 8 bytes a granule; a free looks
                                   whether a handle was made of the object */
    const struct clump_checked_desc
        *checked;            /* checked.h: wrong programs are told. NULL: an ordinary heap */
    struct clump_pool *pool; /* of the same context: the heap's memory comes from it, and goes
                                   back to it. NULL: an own buffer */
} clump_heap_desc;

/* What is known of a heap. Where things lie is fixed until the heap gets another schema; two heaps
 * with equal granule_bytes, block_granules and buffer_blocks and the same schema can run the same
 * programs. */
typedef struct clump_heap_info {
    uint64_t bytes;          /* of all buffers */
    uint64_t metadata_bytes; /* of these: header, states, bitmaps, lists, in whole blocks */
    uint32_t granule_bytes;  /* S: unit in which references count */
    uint32_t block_granules; /* G */
    uint32_t first_block;    /* blocks below hold the metadata */
    uint32_t block_count;    /* usable blocks; with evictable_bytes, also those without memory */
    uint32_t buffer_blocks;  /* blocks of each buffer, if the heap has several; else 0 */
    uint32_t checks;         /* of a checked heap (checked.h): CLUMP_CHECK_...; else 0 */
    /* How many objects a slot has had when a reference to the first of them is taken for one to the
     * last; 0: references have no generation. That is so without CLUMP_CHECK_GENERATIONS, with
     * watch_handles, and in a heap so large that its references need all 32 bits. Elsewhere the
     * upper bits of a clump_ref are the generation, also of those that the host gets; two
     * references to one object are equal as ever. */
    uint32_t generations;
    const clump_schema *schema; /* the heap's copy, for look-ups by name; until convert.h's call */
    /* The buffer, or the first of several, until convert.h's call. Not retained for the caller.
     * interop.h tells how kernels of the caller's own use it. */
    cl_mem buffer;
    /* Evicted now (evict.h); bytes of their blocks. */
    uint64_t evicted_objects, evicted_blocks, evicted_bytes;
} clump_heap_info;

/* CONSTRUCTOR. Reserve the buffer and initialise it on the device.
 *   heap   [out]            NULL on failure
 *   error  [out, optional]  a copy of the context's
 * Blocks: yes, so that lack of memory shows here and not in a later kernel.
 * Returns CLUMP_OK; CLUMP_ERR_USAGE no schema without `raw`, `raw` or arrays of
 * run-time length together with `checked`, two of desc's members that exclude each other, both or
 * neither of bytes and device_share; CLUMP_ERR_DEVICE_MEMORY too small for one block of the largest
 * class, too large for 32-bit references, a buffer_bytes with no room for the metadata (the message
 * says how much is needed), or more than the device gives (the message says what would fit);
 * CLUMP_ERR_UNSUPPORTED a field type the device lacks, or a device_share of a device that does not
 * tell how much memory it has; CLUMP_ERR_CL; CLUMP_ERR_BUILD; CLUMP_ERR_HOST_MEMORY. On failure
 * nothing stays allocated. */
CLUMP_API clump_status clump_heap_create(const clump_heap_desc *desc, clump_heap **heap,
                                         clump_error *error);

/* DESTRUCTOR. NULL is allowed. Waits for the queue. Programs may be destroyed before or after. A
 * heap that still has a compactor or a collector ends with the last of them. */
CLUMP_API void clump_heap_destroy(clump_heap *heap);

/* What is known of it. Lives as long as the heap, and its contents change with it. Not NULL; of
 * NULL, zeros. */
CLUMP_API const clump_heap_info *clump_heap_get_info(const clump_heap *heap);

/* ---- Errors that kernels reported ---------------------------------------------------------- */

/* What a kernel can report. The first event of each kind is kept with its detail, all are
 * counted. */
#define CLUMP_DEVICE_ERROR_LIST(X)                                                                 \
    X(OUT_OF_MEMORY, "an allocation returned null: no slot of the class and no block was free")    \
    X(DOUBLE_FREE, "a reference was freed whose object was not live")                              \
    X(BAD_REFERENCE, "a reference was freed that no allocation of the class returned")             \
    X(RETRY_BOUND, "a bounded loop gave up, which only memory corruption explains")                \
    X(BAD_ACCESS, "a checked program used a reference that names no live object of the class")     \
    X(WRONG_LAUNCH, "a kernel was run by a call that it is not for")                               \
    X(FINDING, "a check of a checked heap found something else (checked.h)")                       \
    X(BAD_CLASS, "C_new_of() was told the number of no concrete class that is C or below it")      \
    X(BAD_POINTER, "a pointer was freed or looked at that no allocation of raw memory returned")   \
    X(BAD_SIZE, "raw memory or an array was asked for with a size or alignment that cannot be")

/* Kinds of reports, places in clump_device_report.errors. */
typedef enum clump_device_error {
#define CLUMP_DEVICE_ERROR_ENUM(name, text) CLUMP_DEVICE_##name,
    CLUMP_DEVICE_ERROR_LIST(CLUMP_DEVICE_ERROR_ENUM)
#undef CLUMP_DEVICE_ERROR_ENUM
        CLUMP_DEVICE_ERROR_COUNT
} clump_device_error;

/* What kernels reported, one entry for each kind: `errors[CLUMP_DEVICE_DOUBLE_FREE]`. */
typedef struct clump_device_report {
    size_t size; /* sizeof(clump_device_report) */
    struct {     /* kinds that later versions add come at the end; an element does not grow */
        uint32_t count; /* events since the last fetch; requests, for OUT_OF_MEMORY */
        /* BAD_SIZE of an array: class_id is the class that declares it, ref the number of elements.
         * Of the first event. class_id: 0 if not known. WRONG_LAUNCH: that of the loop; BAD_CLASS:
         * C. ref: 0 for OUT_OF_MEMORY; no reference for WRONG_LAUNCH; BAD_CLASS: the number. Of raw
         * memory class_id is that of no class of the schema; ref: DOUBLE_FREE, BAD_POINTER: the
         * pointer as clump_raw_of() gives it, or 0 if it is not in the heap; BAD_SIZE: the size, or
         * the alignment if that was wrong; at most 2^32 - 1. */
        uint32_t class_id;
        clump_ref ref;
        uint32_t work_item; /* global linear id of the first event, low 32 bits */
    } errors[CLUMP_DEVICE_ERROR_COUNT];
} clump_device_report;

/* METHOD. Fetch and clear what kernels reported.
 *   report  [out, optional]
 * Blocks: yes. Returns CLUMP_OK nothing was reported; CLUMP_ERR_DEVICE something was (the context's
 * error describes the first kind of the list above that was reported, and names all others with
 * their counts); CLUMP_ERR_CL; CLUMP_ERR_HOST_MEMORY. */
CLUMP_API clump_status clump_heap_take_errors(clump_heap *heap, clump_device_report *report);

/* ---- Looking into the heap ------------------------------------------------------------------ */

/* Counters of one class. Of an array the size of the first element counts for all: it is the
 * distance from one to the next. */
typedef struct clump_class_stats {
    size_t size;            /* sizeof(clump_class_stats) */
    uint64_t objects;       /* live objects of exactly this class */
    uint64_t slots;         /* slots in its allocated blocks */
    uint32_t blocks;        /* allocated blocks */
    uint32_t active_blocks; /* of these: with a free slot */
    uint64_t bytes;         /* of its blocks */
    double fragmentation;   /* F: 1 - objects / slots, 0 without blocks (Springer's thesis 5.6.3) */
    /* slots that are reserved for kernels (docs/internals/core.md): they are free, and none of them
     * counts above */
    uint64_t reserved;
    /* objects that can still be made, if no others are: free slots of its blocks, and free blocks.
     * 0 for an abstract class */
    uint64_t room;
} clump_class_stats;

/* Counters of the whole heap. */
typedef struct clump_heap_stats {
    size_t size; /* sizeof(clump_heap_stats) */
    uint64_t objects, slots;
    uint32_t blocks; /* usable blocks of the heap */
    uint32_t free_blocks;
    double fragmentation; /* F over all classes */
    uint64_t raw_blocks;  /* blocks of raw memory: none of them counts above, except in `blocks` */
    /* Of the slots of these that are taken: what was asked for, rounded up. Without the few bytes
     * at the end of a block that slots do not fill, which memory of whole blocks has, too. */
    uint64_t raw_bytes;
} clump_heap_stats;

/* METHOD. Have slots of a class reserved before each launch that may make objects, as many as there
 * is room for. Needed only where a kernel will ask for more objects than kernels did so far, and
 * than it has work-items: such requests are slow otherwise. Takes no memory: what a kernel does not
 * use stays free for all. For one launch alone, call it with the number before the launch, and with
 * 0 after it.
 *   class_name [in]  a concrete class
 *   objects    [in]  0 .. 2^31; replaces the number of the call before
 *   sync       [in, optional]
 * Blocks: no. Returns CLUMP_OK; CLUMP_ERR_USAGE: the class is abstract, or too many;
 * CLUMP_ERR_NOT_FOUND; CLUMP_ERR_CL. Nothing is changed then. Threads: as for the heap. */
CLUMP_API clump_status clump_heap_reserve(clump_heap *heap, const char *class_name,
                                          uint64_t objects, const clump_sync *sync);

/* METHOD. Count objects and blocks on the device.
 *   classes  [out, optional]  one entry per class id: classes[id - 1], capacity entries
 *   heap_stats [out, optional]
 * Blocks: yes; reads 4 bytes per block on the device. Returns CLUMP_OK; CLUMP_ERR_USAGE;
 * CLUMP_ERR_CL. */
CLUMP_API clump_status clump_heap_read_stats(clump_heap *heap, clump_heap_stats *heap_stats,
                                             clump_class_stats *classes, uint32_t capacity);

/* METHOD. Number of live objects of a class and its subclasses. Blocks: yes. Returns CLUMP_OK;
 * CLUMP_ERR_NOT_FOUND; CLUMP_ERR_USAGE; CLUMP_ERR_CL. */
CLUMP_API clump_status clump_heap_read_count(clump_heap *heap, const char *class_name,
                                             uint64_t *count);

/* The `bytes` of a heap that has room for so many objects of each class, all at the same time. One
 * of 2% less has not.
 *   desc     [in]             of the heap to be made; bytes, device_share and pool do not count.
 *                             Raw memory and arrays that grow come on top
 *   objects  [in]             of class 1, 2, ...: as many as the schema has classes
 *   bytes    [out]            0 on failure
 *   error    [out, optional]
 * Blocks: no. Returns CLUMP_OK; CLUMP_ERR_USAGE no schema, or objects of an abstract class;
 * CLUMP_ERR_DEVICE_MEMORY no heap can have so many; CLUMP_ERR_HOST_MEMORY. */
CLUMP_API clump_status clump_heap_get_bytes_needed(const clump_heap_desc *desc,
                                                   const uint64_t *objects, uint64_t *bytes,
                                                   clump_error *error);

/* METHOD. References of all live objects of a class and its subclasses, in the order in which a
 * do-all visits their rows. The order is the same for all calls until objects are made, freed or
 * moved (compact.h).
 *   refs   [out, optional]  room for `capacity` references. NULL: only the count is asked for
 *   count  [out]            live objects, also where there is no room for them
 * Blocks: yes. Returns CLUMP_OK; CLUMP_ERR_TOO_SMALL more objects than room, nothing is written;
 * CLUMP_ERR_NOT_FOUND; CLUMP_ERR_USAGE; CLUMP_ERR_CL; CLUMP_ERR_HOST_MEMORY. */
CLUMP_API clump_status clump_heap_read_refs(clump_heap *heap, const char *class_name,
                                            clump_ref *refs, uint64_t capacity, uint64_t *count);

/* METHOD. Read one field of all live objects of a class and its subclasses, packed, in the order of
 * clump_heap_read_refs().
 *   field     the name; `index` is the array element, 0 for a plain field. Of an array of run-time
 *             length, a_length and what else belongs to it can be read
 *   bytes     of one of your values, `sizeof *values`. They must be the field's element_bytes (a
 *             3-vector takes 4 elements, as cl_float3 does): a float is not read into a double
 *   values    [out, optional]  room for `capacity` values. NULL: only the count is asked for
 *   count     [out, optional]  live objects, also where there is no room for them
 * Blocks: yes. Returns CLUMP_OK; CLUMP_ERR_TOO_SMALL more objects than room, nothing is written;
 * CLUMP_ERR_NOT_FOUND class or field; CLUMP_ERR_USAGE index out of range, `bytes` wrong;
 * CLUMP_ERR_CL; CLUMP_ERR_HOST_MEMORY. */
CLUMP_API clump_status clump_heap_read_field(clump_heap *heap, const char *class_name,
                                             const char *field, uint32_t index, size_t bytes,
                                             void *values, uint64_t capacity, uint64_t *count);

/* METHOD. Write them. `count` must be the number of live objects. Nothing of an array of run-time
 * length can be written.
 * Blocks: yes. Returns as above; CLUMP_ERR_USAGE also if the count is wrong, and nothing is
 * written. */
CLUMP_API clump_status clump_heap_write_field(clump_heap *heap, const char *class_name,
                                              const char *field, uint32_t index, size_t bytes,
                                              const void *values, uint64_t count);

/* METHOD. The same for the one object `ref`, which must be a live object of the class.
 * Blocks: yes, with two small transfers to verify `ref` and one for the value.
 * Returns as above, and CLUMP_ERR_REFERENCE. */
CLUMP_API clump_status clump_heap_read_object_field(clump_heap *heap, const char *class_name,
                                                    const char *field, uint32_t index,
                                                    clump_ref ref, size_t bytes, void *value);
CLUMP_API clump_status clump_heap_write_object_field(clump_heap *heap, const char *class_name,
                                                     const char *field, uint32_t index,
                                                     clump_ref ref, size_t bytes,
                                                     const void *value);

/* METHOD. Length and elements of an array of run-time length (schema.h) of the object `ref`, a live
 * object of the class.
 *   bytes     of one of your elements, `sizeof *values`: the field's element_bytes
 *   values    [out, optional]  room for `capacity` elements. NULL, with a capacity of 0: only the
 *                              length is asked for
 *   length    [out]            of the array, also where there is no room for it
 * Blocks: yes, with two small transfers to verify `ref`, up to three for the words of the array,
 * and two for elements.
 * Returns CLUMP_OK; CLUMP_ERR_TOO_SMALL more elements than room, nothing is written;
 * CLUMP_ERR_NOT_FOUND class or field; CLUMP_ERR_USAGE a field of another kind, `bytes` wrong;
 * CLUMP_ERR_REFERENCE; CLUMP_ERR_CORRUPT the array was overwritten; CLUMP_ERR_CL;
 * CLUMP_ERR_HOST_MEMORY. Threads: as for the heap. */
CLUMP_API clump_status clump_heap_read_object_array(clump_heap *heap, const char *class_name,
                                                    const char *field, clump_ref ref, size_t bytes,
                                                    void *values, uint64_t capacity,
                                                    uint64_t *length);

#ifdef __cplusplus
}
#endif
#endif
