/* A heap: objects of the classes of a schema, in one OpenCL buffer, or in several if one cannot be
 * so large.
 *
 * A heap consists of blocks. Each block belongs to one class and has rows of 64 slots. Allocation
 * bitmaps mark the slots in use, and hints mark the blocks with free slots. docs/internals/core.md
 * has the picture. Kernels make and free objects (program.h, run.h). The calls here create the
 * heap, look into it, and copy field values between host and device.
 *
 * A heap of several buffers works as any other, except that it cannot be converted (convert.h),
 * cannot have raw memory, arrays that grow or `evictable_bytes`, and cannot be in a pool. Its other
 * buffers are shared virtual memory (OpenCL 2.0, coarse-grained buffers) or buffers of
 * cl_ext_buffer_device_address, since a kernel can follow pointers to these. Each access to an
 * object finds the buffer of the object first. docs/measurements/buffers.md has the cost. Heaps in
 * one buffer do not have this cost. docs/guide/limits.md lists the calls that each kind of heap
 * refuses ("Which heaps refuse what").
 *
 * A reference (clump_ref) has 32 bits: granule index << 6 | slot. 0 is null. A reference stays
 * valid until its object is freed, the heap is compacted (compact.h), or the heap gets another
 * schema (convert.h).
 *
 * Calls that say "Blocks: yes" wait for all commands enqueued for the heap before, and if that
 * queue is in order, for everything in it. Values for the caller are complete when the call
 * returns. The last command that changes the heap's memory may still run then. It ends before the
 * commands of the next call begin. A call that may return earlier has a clump_sync (context.h) as
 * its last parameter.
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

/* Arguments of clump_heap_create(): a context, a schema, and `bytes` or `device_share`. The other
 * members may be zero. */
typedef struct clump_heap_desc {
    size_t size;                /* sizeof(clump_heap_desc) */
    clump_context *context;     /* required */
    const clump_schema *schema; /* copied as far as the heap needs it. NULL: no classes, for a heap
                                   of raw memory only */
    uint64_t bytes;             /* all device memory of the heap, metadata included */
    double device_share;        /* instead of bytes: share of the device's memory, 0 < s <= 1 */
    /* The largest buffer: a larger heap has several. 0: one buffer. If the device cannot allocate
     * one of that size, and has CLUMP_POINTERS_SVM or CLUMP_POINTERS_ADDRESS: buffers of its
     * allocation_bytes (context.h), or smaller ones if it cannot allocate these either. The first
     * buffer has the metadata of all. They are a large part of a checked heap and a small part of
     * other heaps. */
    uint64_t buffer_bytes;
    /* How many bytes of blocks the heap can have beyond `bytes`, while as many are evicted
     * (evict.h). 0: nothing can be evicted. Not with raw memory, arrays that grow, checked,
     * watch_handles, pool or buffer_bytes. */
    uint64_t evictable_bytes;
    uint32_t block_rows; /* rows of 64 objects of the smallest class in a block, 1 .. 64. 0: chosen
                            from `bytes`. Wide blocks allocate faster, narrow blocks fragment
                            less */
    /* 1: kernels can also use raw memory (clump_malloc() of cl/api/raw.clh, and in other languages
     * the functions of cl/api/malloc.h). At most 64 GiB. A schema with arrays that grow (schema.h)
     * implies it */
    int raw;
    /* 1: only clump_heap_take_errors() returns the errors that kernels report. 0: the calls that
     * status.h lists (CLUMP_ERR_DEVICE) also return them. The next of these calls returns
     * CLUMP_ERR_DEVICE, once, and does nothing. The same call works when it is repeated. Set 1 in
     * programs that continue after an allocation returned null. */
    int errors_on_request;
    int watch_handles; /* 1: a handle (refs.h) notices that its object was freed, even if a new
                          object has the slot. Costs 8 bytes a granule, and each free checks for a
                          handle of the object */
    const struct clump_checked_desc
        *checked;            /* checked.h: kernels report wrong accesses. NULL: an ordinary heap */
    struct clump_pool *pool; /* of the same context: the heap's memory comes from this pool and
                                returns to it. NULL: a separate buffer */
} clump_heap_desc;

/* Facts about a heap. The geometry is fixed until the heap gets another schema. Two heaps can run
 * the same programs if they have the same context, schema and checks, equal granule_bytes,
 * block_granules and buffer_blocks, both or neither have raw memory, and both or neither were made
 * with evictable_bytes. */
typedef struct clump_heap_info {
    uint64_t bytes;          /* of all buffers */
    uint64_t metadata_bytes; /* part of bytes: header, states, bitmaps, lists, in whole blocks */
    uint32_t granule_bytes;  /* S: the unit that references count in */
    uint32_t block_granules; /* G */
    uint32_t first_block;    /* blocks below hold the metadata */
    uint32_t block_count;    /* usable blocks. With evictable_bytes, blocks without memory count as
                                well */
    uint32_t buffer_blocks;  /* blocks of each buffer if the heap has several, else 0 */
    uint32_t checks;         /* CLUMP_CHECK_... of a checked heap (checked.h), else 0 */
    /* Number of generations: after a slot has had this many objects, an old reference is valid
     * again. 0: references are without generation. This is the case without
     * CLUMP_CHECK_GENERATIONS, with watch_handles, and in a heap so large that its references need
     * more than 30 bits. In other heaps the upper bits of a clump_ref are the generation, also in
     * references on the host. Two references to one object are always equal. */
    uint32_t generations;
    const clump_schema *schema; /* the heap's copy, for look-ups by name. Valid until
                                   clump_heap_convert() */
    /* The buffer, or the first of several, until clump_heap_convert(). Not retained for the caller.
     * interop.h describes how the caller's own kernels use it. */
    cl_mem buffer;
    /* Objects and blocks evicted now (evict.h), and bytes of these blocks. */
    uint64_t evicted_objects, evicted_blocks, evicted_bytes;
} clump_heap_info;

/* CONSTRUCTOR. Allocate the buffer and initialise it on the device.
 *   heap   [out]            NULL on failure
 *   error  [out, optional]  a copy of the context's error
 * Blocks: yes, so that a lack of memory shows here and not in a later kernel.
 * Returns CLUMP_OK, or:
 *   CLUMP_ERR_USAGE          no schema without `raw`, members that exclude each other
 *                            (docs/guide/limits.md), both or neither of bytes and device_share, a
 *                            value out of its range, a pool of another context
 *   CLUMP_ERR_DEVICE_MEMORY  too small for one block of the largest class, too large for 32-bit
 *                            references, a buffer_bytes too small for the metadata (the message has
 *                            the size needed), or more than the device can allocate (the message
 *                            has the sizes that the device reports)
 *   CLUMP_ERR_UNSUPPORTED    a field type that the device lacks, or device_share if the device does
 *                            not report its memory
 *   CLUMP_ERR_SCHEMA         an object that is too large for a checked heap (checked.h)
 *   CLUMP_ERR_CL, CLUMP_ERR_BUILD, CLUMP_ERR_HOST_MEMORY
 * On failure nothing stays allocated. */
CLUMP_API clump_status clump_heap_create(const clump_heap_desc *desc, clump_heap **heap,
                                         clump_error *error);

/* DESTRUCTOR. NULL is allowed. Waits for the queue. Programs may be destroyed before or after the
 * heap. A heap that still has a compactor or a collector ends with the last of them. */
CLUMP_API void clump_heap_destroy(clump_heap *heap);

/* Return facts about the heap. They live as long as the heap, and change with it. The result is
 * never NULL. For a NULL heap, all values are zero. */
CLUMP_API const clump_heap_info *clump_heap_get_info(const clump_heap *heap);

/* ---- Errors that kernels reported ---------------------------------------------------------- */

/* The errors that a kernel can report. The heap keeps the details of the first error of each kind,
 * and counts all. */
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

/* Kinds of errors, and indices of clump_device_report.errors. */
typedef enum clump_device_error {
#define CLUMP_DEVICE_ERROR_ENUM(name, text) CLUMP_DEVICE_##name,
    CLUMP_DEVICE_ERROR_LIST(CLUMP_DEVICE_ERROR_ENUM)
#undef CLUMP_DEVICE_ERROR_ENUM
        CLUMP_DEVICE_ERROR_COUNT
} clump_device_error;

/* The errors that kernels reported, one entry for each kind: `errors[CLUMP_DEVICE_DOUBLE_FREE]`. */
typedef struct clump_device_report {
    size_t size;        /* sizeof(clump_device_report) */
    struct {            /* later versions add kinds at the end. An element does not grow */
        uint32_t count; /* errors since the last clump_heap_take_errors(). For OUT_OF_MEMORY:
                           requests */
        /* Class and reference of the first error. In general, class_id is the class, or 0 if
         * unknown.
         *   OUT_OF_MEMORY:  ref is 0.
         *   WRONG_LAUNCH:   class_id is the class of the loop. It is 0 for a reduction, and for
         *                   functions that were compiled for another heap (cl/api/malloc.h). ref is
         *                   not a reference. A grid counts the objects that it could not note.
         *   BAD_CLASS:      class_id is C. ref is the wrong number.
         *   BAD_SIZE:       of an array: class_id is the class that declares it, ref the number of
         *                   elements. Of raw memory: ref is the size, or the alignment if that was
         *                   wrong, at most 2^32 - 1.
         * For raw memory, class_id is not a class of the schema. With DOUBLE_FREE and BAD_POINTER
         * of raw memory, ref is the pointer as clump_raw_of() returns it, or 0 if it is not in the
         * heap. */
        uint32_t class_id;
        clump_ref ref;
        uint32_t work_item; /* global linear id of the first error, low 32 bits */
    } errors[CLUMP_DEVICE_ERROR_COUNT];
} clump_device_report;

/* METHOD. Return and clear the errors that kernels reported.
 *   report  [out, optional]
 * Blocks: yes.
 * Returns CLUMP_OK if no kernel reported an error. Fails with CLUMP_ERR_DEVICE if a kernel did: the
 * context's error describes the first reported kind of the list above, and names the others with
 * their counts. Other failures are CLUMP_ERR_CL and CLUMP_ERR_HOST_MEMORY. */
CLUMP_API clump_status clump_heap_take_errors(clump_heap *heap, clump_device_report *report);

/* ---- Looking into the heap ------------------------------------------------------------------ */

/* Counters of one class. In an array, the size of the first element is valid for all: it is the
 * distance from one element to the next. */
typedef struct clump_class_stats {
    size_t size;            /* sizeof(clump_class_stats) */
    uint64_t objects;       /* live objects of exactly this class */
    uint64_t slots;         /* slots in its allocated blocks */
    uint32_t blocks;        /* allocated blocks */
    uint32_t active_blocks; /* blocks with a free slot */
    uint64_t bytes;         /* of its blocks */
    double fragmentation;   /* F: 1 - objects / slots, 0 without blocks (Springer's thesis,
                               5.6.3) */
    /* slots that are reserved for kernels (docs/internals/core.md). They are free, and are not
     * counted above */
    uint64_t reserved;
    /* objects that can still be made if no others are: in free slots of its blocks, and in free
     * blocks. 0 for an abstract class */
    uint64_t room;
} clump_class_stats;

/* Counters of the whole heap. */
typedef struct clump_heap_stats {
    size_t size; /* sizeof(clump_heap_stats) */
    uint64_t objects, slots;
    uint32_t blocks; /* usable blocks of the heap */
    uint32_t free_blocks;
    double fragmentation; /* F over all classes */
    uint64_t raw_blocks;  /* blocks of raw memory. The other counters, except `blocks`, leave them
                             out */
    /* Bytes of allocated raw memory: each request, rounded up. A few bytes at the end of a block
     * that no slot uses do not count, also in memory of whole blocks. */
    uint64_t raw_bytes;
} clump_heap_stats;

/* METHOD. Reserve slots of a class before each launch that may make objects, as many as fit. This
 * is useful if a kernel will make more objects than kernels made before, and more than it has
 * work-items. Such requests are slow otherwise. The call allocates no memory: slots that a kernel
 * does not use stay free for all classes. To reserve for one launch only, call this with the number
 * before the launch, and with 0 after it.
 *   class_name  [in]  a concrete class
 *   objects     [in]  0 .. 2^31, replaces the number of the previous call
 *   sync        [in, optional]
 * Blocks: no.
 * Returns CLUMP_OK. Fails with CLUMP_ERR_USAGE if the class is abstract or `objects` is too large,
 * CLUMP_ERR_NOT_FOUND or CLUMP_ERR_CL, and then changes nothing.
 * Threads: as for the heap. */
CLUMP_API clump_status clump_heap_reserve(clump_heap *heap, const char *class_name,
                                          uint64_t objects, const clump_sync *sync);

/* METHOD. Count objects and blocks on the device.
 *   classes     [out, optional]  room for `capacity` entries, one for each class: `classes[id - 1]`
 *   heap_stats  [out, optional]
 * Blocks: yes. The device reads 4 bytes for each block.
 * Returns CLUMP_OK. Fails with CLUMP_ERR_TOO_SMALL if `capacity` is below the number of classes,
 * CLUMP_ERR_USAGE or CLUMP_ERR_CL. */
CLUMP_API clump_status clump_heap_read_stats(clump_heap *heap, clump_heap_stats *heap_stats,
                                             clump_class_stats *classes, uint32_t capacity);

/* METHOD. Count the live objects of a class and its subclasses.
 * Blocks: yes.
 * Returns CLUMP_OK, CLUMP_ERR_NOT_FOUND, CLUMP_ERR_USAGE or CLUMP_ERR_CL. */
CLUMP_API clump_status clump_heap_read_count(clump_heap *heap, const char *class_name,
                                             uint64_t *count);

/* Compute the `bytes` of a heap for so many objects of each class, all at the same time. A heap
 * with 2% less is too small.
 *   desc     [in]   of the future heap. bytes, device_share and pool are ignored. Raw memory and
 *                   arrays that grow need additional bytes
 *   objects  [in]   for class 1, 2, ...: one number for each class of the schema
 *   bytes    [out]  0 on failure
 *   error    [out, optional]
 * Blocks: no.
 * Returns CLUMP_OK. Fails with CLUMP_ERR_USAGE without a schema or for objects of an abstract
 * class, CLUMP_ERR_DEVICE_MEMORY if no heap can have so many objects, CLUMP_ERR_SCHEMA as
 * clump_heap_create(), or CLUMP_ERR_HOST_MEMORY. */
CLUMP_API clump_status clump_heap_get_bytes_needed(const clump_heap_desc *desc,
                                                   const uint64_t *objects, uint64_t *bytes,
                                                   clump_error *error);

/* METHOD. Read references to all live objects of a class and its subclasses, in the order in which
 * a do-all visits their rows. The order is the same for all calls until objects are made, freed or
 * moved (compact.h).
 *   refs   [out, optional]  room for `capacity` references. NULL: the call only counts
 *   count  [out]            live objects, even if they do not fit
 * Blocks: yes.
 * Returns CLUMP_OK, or:
 *   CLUMP_ERR_TOO_SMALL  the objects do not fit. The call writes nothing to `refs`
 *   CLUMP_ERR_NOT_FOUND, CLUMP_ERR_USAGE, CLUMP_ERR_CL, CLUMP_ERR_HOST_MEMORY */
CLUMP_API clump_status clump_heap_read_refs(clump_heap *heap, const char *class_name,
                                            clump_ref *refs, uint64_t capacity, uint64_t *count);

/* METHOD. Read one field of all live objects of a class and its subclasses, packed, in the order of
 * clump_heap_read_refs().
 *   field   its name. `index` is the array element, 0 for a plain field. An array with `max` has
 *           that many elements in each object. Elements at and beyond its length, a_length, are
 *           undefined, but references there are null. For an array that grows, use
 *           clump_heap_read_arrays() (structs.h), or a_length and its other plain fields
 *   bytes   of one value, `sizeof *values`. This must be the field's element_bytes: a float cannot
 *           be read into a double. A vector of 3 has 4 elements, as cl_float3 has
 *   values  [out, optional]  room for `capacity` values. NULL: the call only counts
 *   count   [out, optional]  live objects, even if they do not fit
 * Blocks: yes.
 * Returns CLUMP_OK, or:
 *   CLUMP_ERR_TOO_SMALL  the objects do not fit. The call writes nothing to `values`
 *   CLUMP_ERR_NOT_FOUND  no such class or field
 *   CLUMP_ERR_USAGE      index out of range, `bytes` wrong
 *   CLUMP_ERR_CL, CLUMP_ERR_HOST_MEMORY */
CLUMP_API clump_status clump_heap_read_field(clump_heap *heap, const char *class_name,
                                             const char *field, uint32_t index, size_t bytes,
                                             void *values, uint64_t capacity, uint64_t *count);

/* METHOD. Write one field of all live objects: see clump_heap_read_field(). `count` must be the
 * number of live objects. Arrays that grow, and the fields that belong to them, are written
 * by clump_heap_write_arrays() only (structs.h).
 * The elements and a_length of an array with `max` are written separately. New elements of a larger
 * length are what they were. A reference at or beyond the length keeps its object alive: write
 * null there.
 * Blocks: yes.
 * Returns the same statuses, except CLUMP_ERR_TOO_SMALL. If the count is wrong, or a length is more
 * than `max`, it fails with CLUMP_ERR_USAGE and writes nothing. */
CLUMP_API clump_status clump_heap_write_field(clump_heap *heap, const char *class_name,
                                              const char *field, uint32_t index, size_t bytes,
                                              const void *values, uint64_t count);

/* METHOD. Read or write one field of one object. `ref` must be a live object of the class. The
 * other parameters are the same as for all objects.
 * Blocks: yes, with two small transfers to verify `ref` (three in a checked heap with generations),
 * and one for the value. If kernels ran since the last call that returned errors, one more reads
 * their errors (unless errors_on_request is set).
 * Returns the same statuses. Fails with CLUMP_ERR_REFERENCE if `ref` is wrong or its object is
 * evicted. */
CLUMP_API clump_status clump_heap_read_object_field(clump_heap *heap, const char *class_name,
                                                    const char *field, uint32_t index,
                                                    clump_ref ref, size_t bytes, void *value);
CLUMP_API clump_status clump_heap_write_object_field(clump_heap *heap, const char *class_name,
                                                     const char *field, uint32_t index,
                                                     clump_ref ref, size_t bytes,
                                                     const void *value);

/* METHOD. Read the length and elements of an array of run-time length (schema.h) of one object.
 * `ref` must be a live object of the class.
 *   bytes   of one element, `sizeof *values`: the field's element_bytes
 *   values  [out, optional]  room for `capacity` elements. NULL, with a capacity of 0: the call
 *                            only reads the length
 *   length  [out]            of the array, even if the elements do not fit
 * Blocks: yes, with two small transfers to verify `ref`, up to three for the array's own fields,
 * two for elements, and one for errors as clump_heap_read_object_field().
 * Returns CLUMP_OK, or:
 *   CLUMP_ERR_TOO_SMALL  the elements do not fit. The call writes nothing to `values`
 *   CLUMP_ERR_NOT_FOUND  no such class or field
 *   CLUMP_ERR_USAGE      a field of another kind, `bytes` wrong
 *   CLUMP_ERR_REFERENCE  `ref` is wrong or its object is evicted
 *   CLUMP_ERR_CORRUPT    the array was overwritten
 *   CLUMP_ERR_CL, CLUMP_ERR_HOST_MEMORY
 * Threads: as for the heap. */
CLUMP_API clump_status clump_heap_read_object_array(clump_heap *heap, const char *class_name,
                                                    const char *field, clump_ref ref, size_t bytes,
                                                    void *values, uint64_t capacity,
                                                    uint64_t *length);

#ifdef __cplusplus
}
#endif
#endif
