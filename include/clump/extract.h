/* Objects that leave a heap and come into another: chosen ones are packed into a buffer on the
 * device, with the references among them as numbers, and are made of it in a heap of the same
 * classes.
 *
 * An *extract* is that buffer with what tells what is in it: the schema, and how many objects of
 * each class. Objects have numbers 0, 1, ...: class by class, by class id, and within a class in
 * the order of clump_heap_read_refs(). The buffer has a *column* for each field, structure of
 * arrays:
 *
 *   class 1: | its own fields, in the order of declaration | those of its base | those of the base of that, ... | class 2: ...
 *   column:  the values of all objects of exactly the class, by number, arrays whole. It begins at
 *            a multiple of 128 bytes, and what it leaves of the last 128 is 0
 *
 * A class without objects has no columns. An element takes element_bytes (schema.h): a 3-vector
 * takes 4 elements. A reference is the number of its object plus 1, and null is 0. So schema and
 * numbers of objects tell where everything lies, equal objects in an equal order make equal bytes,
 * and nothing tells where objects lay. The bytes can go to another context, device or machine of
 * the same byte order: clump_extract_read() here, clump_extract_create() there.
 *
 * Both calls work on the device. The number of launches depends on the classes that are inserted;
 * with `follow` also on how long the chains are, as for a collection.
 *
 * Threads: a heap's calls as for the heap; an extract as for its context.
 *
 * Read first: heap.h, save.h (all objects, in a file).
 */
#ifndef CLUMP_EXTRACT_H
#define CLUMP_EXTRACT_H

#include "clump/heap.h"
#include "clump/save.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Objects that were taken out of a heap, packed in a buffer of the device. */
typedef struct clump_extract clump_extract;

/* ---- Out of a heap --------------------------------------------------------------------------- */

/* Which objects an extract takes, and what becomes of them. */
typedef struct clump_extract_desc {
    size_t size; /* sizeof(clump_extract_desc) */
    /* Which objects: all that any of these names, each of them once. References that are null are
     * disregarded. */
    const clump_ref *refs; /* on the host, */
    uint64_t ref_count;
    cl_mem ref_buffer;          /* and on the device: clump_ref, one after the other */
    uint64_t ref_buffer_at;     /* of the first, in bytes; a multiple of 4 */
    uint64_t ref_buffer_count;  /* how many */
    const char *const *classes; /* names: all objects of these and of their subclasses */
    uint32_t class_count;
    const char *where_class; /* of this class and its subclasses those that have in */
    /* this field, a scalar of an integer type or bool, another value than 0. Kernels set it: the
     * predicate is the program's */
    const char *where_field;
    int follow; /* 1: also all objects that these lead to, by fields that are not weak */

    int free_objects; /* 1: they are freed in the heap, when all is packed: they have moved out */
    /* Of the caller, for the columns, with room for them at least; retained as long as the extract
     * is there. NULL: the library makes one, which may take longer than to fill it. */
    cl_mem buffer;
    /* 1: the extract keeps the references that the objects had: clump_extract_info.refs */
    int keep_refs;
} clump_extract_desc;

/* What an extract has. */
typedef struct clump_extract_report {
    size_t size; /* sizeof(clump_extract_report) */
    uint64_t objects;
    uint64_t bytes; /* of the buffer */
    /* references in their fields to live objects that are not in the extract: null there */
    uint64_t left_out;
    uint64_t dangling; /* references that named no live object of the field's class: null, too */
} clump_extract_report;

/* METHOD. Pack chosen objects. Fields that were never written have what the memory has.
 *   desc     [in]
 *   extract  [out]            NULL on failure; the caller's, to be destroyed
 *   report   [out, optional]  if desc->buffer is too small, `objects` and `bytes` say for what
 *                             there must be room
 * The heap stays as it is, or (free_objects) its chosen objects are freed, as C_free() does:
 * references to them that are elsewhere dangle, in fields, registered buffers and handles; only
 * handles of a heap with watch_handles become null. In a checked heap (checked.h) that they went is
 * no event; their generations tell it. Device memory: the buffer; for the time of the call 24 bytes
 * for each granule of the heap, and 4 for each reference given; with
 * `follow` what a collection takes (collect.h), which the heap keeps.
 * Blocks: yes. Returns CLUMP_OK, also if there are no such objects; CLUMP_ERR_USAGE something that
 * is missing or out of range, nothing that chooses, objects that are evicted (evict.h), a heap with
 * arrays of run-time length or with `raw`: what raw memory holds is known to the program alone;
 * CLUMP_ERR_NOT_FOUND a class or field; CLUMP_ERR_REFERENCE a reference names no live object: the
 * error says how many and the first of them; CLUMP_ERR_DEVICE_MEMORY desc->buffer is too small;
 * CLUMP_ERR_CORRUPT; CLUMP_ERR_HOST_MEMORY; CLUMP_ERR_BUILD; CLUMP_ERR_CL. After a failure no
 * object was freed, but if the device of a checked heap gives up at the very end. */
CLUMP_API clump_status clump_heap_extract(clump_heap *heap, const clump_extract_desc *desc,
                                          clump_extract **extract, clump_extract_report *report);

/* ---- Into a heap ----------------------------------------------------------------------------- */

/* Where the references of the new objects go. All zero: nowhere. */
typedef struct clump_insert_desc {
    size_t size; /* sizeof(clump_insert_desc) */
    /* What gets the references of the new objects, by number: any of these, or none. */
    clump_ref *refs;        /* on the host: room for all objects */
    cl_mem ref_buffer;      /* on the device */
    uint64_t ref_buffer_at; /* where the first goes, in bytes; a multiple of 4 */
} clump_insert_desc;

/* METHOD. Make the objects of an extract in a heap of its context: the one that they are of, or
 * another one of any size, block width, layout and checks. Its schema has to have each class that
 * the extract has objects of, not abstract, with the same fields: names, types, widths, elements,
 * and the class of a reference. It may have other classes, and other ids.
 *   desc     [in, optional]
 *   extract  [in]  stays as it is; it can be inserted again
 * All or nothing: if there is no room, nothing was made, and no kernel reports that memory was out.
 * Objects go to free blocks as far as there are enough, else to free slots of blocks in use; 2^31
 * of a class at most. Device memory: for the time of the call 4 bytes for each 64 objects of a
 * class, and 4 for each object, or 8 for each granule of the heap if that is less and
 * `desc` asks for no references.
 * Blocks: yes. Returns CLUMP_OK; CLUMP_ERR_USAGE an extract of another context, a buffer without
 * room, a heap with arrays of run-time length; CLUMP_ERR_SCHEMA the schemas differ: the error names
 * class and field; CLUMP_ERR_DEVICE_MEMORY no room: the error says how many blocks are needed and
 * how many are free; CLUMP_ERR_CORRUPT the heap's metadata are damaged; CLUMP_ERR_FORMAT the buffer
 * was altered: references to objects that are not in the extract, or of a class that the field does
 * not have; CLUMP_ERR_HOST_MEMORY; CLUMP_ERR_BUILD; CLUMP_ERR_CL. After a failure the heap has the
 * objects that it had; if the device gives up meanwhile, it may have some of the new ones, too,
 * with undefined contents. */
CLUMP_API clump_status clump_heap_insert(clump_heap *heap, const clump_extract *extract,
                                         const clump_insert_desc *desc);

/* ---- From one heap into another ------------------------------------------------------------- */

/* METHOD. Both of the above: objects are taken out of `heap`, made in `into`, and then freed in
 * `heap`. So none is ever lost: what does not get there stays. The heaps may be of different
 * contexts and devices. If these contexts have one cl_context, the device of `into` reads what the
 * other one wrote, which OpenCL brings there; else the objects go through host memory, also from
 * one vendor's device to another's.
 *   desc     [in]            as for clump_heap_extract(); free_objects is taken for 1
 *   insert   [in, optional]  as for clump_heap_insert(); ref_buffer is of the context of `into`
 *   extract  [out, optional] what moved, in the context of `heap`, with keep_refs also the
 *            references that the objects had there; the
 *                            caller's, NULL on failure
 *   report   [out, optional] also of a failure for lack of room: what there must be room for
 * Threads: as for both heaps. Blocks: yes. Returns what the two return, and CLUMP_ERR_USAGE if both
 * heaps are the same one. The error is that of the context of `heap`. After a failure both heaps
 * have the objects that they had; if a device gives up meanwhile, some may be in both. */
CLUMP_API clump_status clump_heap_migrate(clump_heap *heap, const clump_extract_desc *desc,
                                          clump_heap *into, const clump_insert_desc *insert,
                                          clump_extract **extract, clump_extract_report *report);

/* ---- An extract ------------------------------------------------------------------------------ */

/* CONSTRUCTOR. An extract of bytes that came from elsewhere, or to be filled by the caller.
 *   context  [in]            the extract may live longer than the caller's use of it
 *   schema   [in]            copied. Equal to that of the heap that the objects are from:
 *                            clump_schema_parse() of the same text
 *   objects  [in]            of each class, by id: objects[id - 1], as clump_extract_info.objects
 *                            says there, from [1] on
 *   data     [in, optional]  clump_extract_info.bytes of them; NULL: the buffer has zeros
 *   bytes    [in]            of data, which is compared; 0 without data
 *   extract  [out]           NULL on failure
 * Blocks: yes. Returns CLUMP_OK; CLUMP_ERR_USAGE no schema, or one with arrays of
 * run-time length, objects of an abstract class, more than a heap can have, or another number of
 * bytes than they take; CLUMP_ERR_HOST_MEMORY; CLUMP_ERR_CL. */
CLUMP_API clump_status clump_extract_create(clump_context *context, const clump_schema *schema,
                                            const uint64_t *objects, const void *data,
                                            uint64_t bytes, clump_extract **extract,
                                            clump_error *error);

/* CONSTRUCTOR. The objects of a saved heap (save.h) as an extract, which clump_heap_insert() makes
 * in a heap that has objects: of several saved heaps, one after the other, too. Their numbers are
 * those of the file. References of registered buffers and handles are read and compared, and left
 * out.
 *   context  [in]
 *   desc     [in]            path or read; progress is told. without_registered has no meaning
 *   extract  [out]           NULL on failure
 *   report   [out, optional] objects and bytes
 * Reads once, and the host compares the checksums. Host memory: a piece of the file. Device memory:
 * the extract.
 * Blocks: yes. Returns CLUMP_OK; CLUMP_ERR_USAGE; CLUMP_ERR_IO; CLUMP_ERR_FORMAT it is not a saved
 * heap, or is cut off, altered or of a newer version; CLUMP_ERR_UNSUPPORTED it is packed, and the
 * library was built without zstd; CLUMP_ERR_HOST_MEMORY; CLUMP_ERR_CL. */
CLUMP_API clump_status clump_extract_load(clump_context *context, const clump_load_desc *desc,
                                          clump_extract **extract, clump_extract_report *report,
                                          clump_error *error);

/* DESTRUCTOR. NULL is allowed. Before or after its heap and its context. */
CLUMP_API void clump_extract_destroy(clump_extract *extract);

/* METHOD. Read all columns.
 *   data  [out]  `bytes` of it, which must be clump_extract_info.bytes
 * Blocks: yes. Returns CLUMP_OK; CLUMP_ERR_USAGE; CLUMP_ERR_CL. */
CLUMP_API clump_status clump_extract_read(clump_extract *extract, void *data, uint64_t bytes);

/* Where the values of one field lie in the buffer of an extract. */
typedef struct clump_extract_column {
    uint64_t at;                   /* of the first value in the buffer, bytes */
    uint64_t bytes;                /* of all values */
    uint64_t first;                /* number of the object that has the first value */
    uint64_t count;                /* objects */
    uint32_t object_bytes;         /* from one object to the next */
    const clump_class_info *of;    /* the class that these are of, exactly */
    const clump_field_info *field; /* of that class, or of one of its bases */
} clump_extract_column;

/* What is known of an extract. Lives as long as it. */
typedef struct clump_extract_info {
    const clump_schema *schema;
    const uint64_t *objects; /* of exactly the class, by class id of the schema; [0]: of all */
    uint64_t bytes;          /* of all columns, to the end of the last */
    /* For kernels and transfers of the caller on any queue of the cl_context: nothing of the
     * library uses it between two calls; who changes a reference there keeps to the numbers. NULL
     * if there are no objects. Not retained for the caller. */
    cl_mem buffer;
    /* The references that the objects had in the heap that they are from, by number, 4 bytes each;
     * NULL without keep_refs, or if there are no objects. With the references that
     * clump_heap_insert() gives they are the map from old to new. Not retained for the caller. */
    cl_mem refs;
    /* In the order of the buffer. Classes and fields are those of the schema above, as its look-ups
     * give them. */
    uint64_t column_count;
    const clump_extract_column *const *columns;
} clump_extract_info;

/* What is known of it. Not NULL; of NULL, no schema and zeros. */
CLUMP_API const clump_extract_info *clump_extract_get_info(const clump_extract *extract);

#ifdef __cplusplus
}
#endif
#endif
