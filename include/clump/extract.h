/* Objects that move from one heap to another. Chosen objects are packed into a buffer on the
 * device, with the references among them as numbers. A heap with the same classes makes objects
 * from this buffer.
 *
 * An *extract* is that buffer with its description: the schema, and the number of objects of each
 * class. Objects have numbers 0, 1, ...: class by class, by class id, and within a class in the
 * order of clump_heap_read_refs(). The buffer has a *column* for each field, structure of arrays:
 *
 *   class 1: | own fields, in the order of declaration | fields of the base | of its base, ... |
 *   class 2: | ...
 *   column:  the values of all objects of exactly the class, by number, arrays whole. It begins at
 *            a multiple of 128 bytes, and unused bytes of the last 128 are 0
 *
 * A class without objects is left out. An element uses element_bytes (schema.h): a vector of 3 has
 * 4 elements. A reference is the number of its object plus 1, and null is 0. In place of a_memory
 * of an array `a` that grows, the buffer has its elements in raw memory, of all objects one after
 * the other: an object has as many as a_length is larger than the array's elements in the object.
 * Therefore the schema, the numbers of objects and the lengths determine every place. Equal objects
 * in an equal order produce equal bytes, which do not depend on the objects' places in the heap.
 * The bytes can go to another context, device or machine of the same byte order: use
 * clump_extract_read() here and clump_extract_create() there.
 *
 * Both calls work on the device. The number of launches depends on the inserted classes. With
 * `follow` it also depends on the length of the chains, as for a collection.
 *
 * Threads: calls of a heap as for the heap, calls of an extract as for its context.
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

/* Objects extracted from a heap, packed in a buffer of the device. */
typedef struct clump_extract clump_extract;

/* ---- Out of a heap --------------------------------------------------------------------------- */

/* Options of clump_heap_extract(): which objects, and their later treatment. */
typedef struct clump_extract_desc {
    size_t size; /* sizeof(clump_extract_desc) */
    /* Which objects: all that any of these members names, each once. Null references are
     * ignored. */
    const clump_ref *refs; /* on the host */
    uint64_t ref_count;
    cl_mem ref_buffer;          /* and on the device: clump_ref, packed */
    uint64_t ref_buffer_at;     /* byte offset of the first, a multiple of 4 */
    uint64_t ref_buffer_count;  /* number of references */
    const char *const *classes; /* names: all objects of these and of their subclasses */
    uint32_t class_count;
    const char *where_class; /* objects of this class and its subclasses with */
    /* another value than 0 in this field, a scalar of an integer type or bool. Kernels set it as
     * the program's predicate. Or a field that is a reference: objects in which it leads to an
     * object that refs, ref_buffer or classes name */
    const char *where_field;
    int follow; /* 1: also all objects that these lead to, by fields that are not weak */

    int free_objects; /* 1: free the objects in the heap after all is packed */
    /* The caller's buffer for the columns, large enough for them. Retained as long as the extract
     * exists. NULL: the library creates one, which may need more time than to fill it. */
    cl_mem buffer;
    /* 1: the extract keeps the objects' references in the heap: clump_extract_info.refs */
    int keep_refs;
} clump_extract_desc;

/* Contents of an extract. */
typedef struct clump_extract_report {
    size_t size; /* sizeof(clump_extract_report) */
    uint64_t objects;
    uint64_t bytes; /* of the buffer */
    /* references in their fields to live objects outside the extract. The extract has null for
     * these */
    uint64_t left_out;
    uint64_t dangling; /* references to no live object of the field's class. The extract has null
                          for these as well */
} clump_extract_report;

/* METHOD. Pack chosen objects. Fields that were never written have undefined values.
 *   desc     [in]
 *   extract  [out]            NULL on failure. The caller destroys it
 *   report   [out, optional]  if desc->buffer is too small, `objects` and `bytes` have the size
 *                             needed
 * The heap does not change, or with free_objects its chosen objects are freed as by C_free(). Other
 * references to them dangle, in fields, registered buffers and handles. Only handles of a heap with
 * watch_handles become null. In a checked heap (checked.h), this is not an event, but generations
 * detect old references. Device memory: the buffer. During the call, 28 bytes for each granule of
 * the heap, and 4 for each reference in the desc. The 28 bytes are in two buffers, 8 and 20, and
 * the heap keeps each that is at most 1/32 of its size. With a reference in where_field, 8 more for
 * each granule. For arrays that grow, also 12 bytes for each array of an object, and up to 2 MiB,
 * and on the host 4 for each. With `follow`, the memory of a collection (collect.h), which the heap
 * keeps.
 * Blocks: yes.
 * Returns CLUMP_OK, also if no objects match, or:
 *   CLUMP_ERR_USAGE      a value that is missing or out of range, a desc that chooses nothing,
 *                        objects that are evicted (evict.h), or a heap with `raw`: only the program
 *                        knows the contents of raw memory
 *   CLUMP_ERR_NOT_FOUND  no such class or field
 *   CLUMP_ERR_REFERENCE  references name no live objects: the error has their number and the first
 *                        one
 *   CLUMP_ERR_TOO_SMALL  desc->buffer is too small
 *   CLUMP_ERR_CORRUPT    the heap's metadata or an array is damaged
 *   CLUMP_ERR_HOST_MEMORY, CLUMP_ERR_BUILD, CLUMP_ERR_CL
 * After a failure no object was freed, except if the device of a checked heap stops working at the
 * very end. */
CLUMP_API clump_status clump_heap_extract(clump_heap *heap, const clump_extract_desc *desc,
                                          clump_extract **extract, clump_extract_report *report);

/* ---- Into a heap ----------------------------------------------------------------------------- */

/* Options of clump_heap_insert(): where to write the references of the new objects. All zero:
 * nowhere. */
typedef struct clump_insert_desc {
    size_t size; /* sizeof(clump_insert_desc) */
    /* Destinations for the references of the new objects, by number: any of these, or none. */
    clump_ref *refs;        /* on the host: room for all objects */
    cl_mem ref_buffer;      /* on the device */
    uint64_t ref_buffer_at; /* byte offset of the first, a multiple of 4 */
} clump_insert_desc;

/* METHOD. Make the objects of an extract in a heap of its context. This may be the heap that they
 * are from, or another one of any size, block width, layout and checks. Its schema must have each
 * class that the extract has objects of, not abstract, with the same fields: names, types, widths,
 * elements, and the class of a reference. It may have other classes, and other ids.
 *   desc     [in, optional]
 *   extract  [in]  does not change, and can be inserted again
 * The call makes all objects or none: if they do not fit, it makes none, and no kernel reports a
 * lack of memory. It uses free blocks while enough exist, else free slots of blocks in use. With
 * arrays that grow it uses free blocks only for what the free slots do not hold, and allocates raw
 * memory for the capacities in the extract: if it is short, for the largest arrays first. At most
 * 2^31 objects of a class are possible. Device memory during the call: 4 bytes for each 64 objects
 * of a class, and 4 for each object. If `desc` asks for no references, the latter are at most 8
 * bytes for each granule of the heap. For arrays that grow, as for clump_heap_extract(), and 6 MiB.
 * Blocks: yes.
 * Returns CLUMP_OK, or:
 *   CLUMP_ERR_USAGE          an extract of another context, a buffer that is too small
 *   CLUMP_ERR_SCHEMA         the schemas differ: the error names class and field
 *   CLUMP_ERR_DEVICE_MEMORY  the objects do not fit: the error has the numbers of blocks needed and
 *                            free. Or there is no raw memory for an array: the error has the bytes
 *                            of a heap that is large enough
 *   CLUMP_ERR_CORRUPT        the heap's metadata is damaged
 *   CLUMP_ERR_FORMAT         the buffer was altered: references to objects that are not in the
 *                            extract, or of a class that the field cannot refer to, or a length
 *                            that does not fit the capacity or the number of elements
 *   CLUMP_ERR_HOST_MEMORY, CLUMP_ERR_BUILD, CLUMP_ERR_CL
 * After a failure the heap has the same objects as before. If the device stops working during the
 * call, it may also have some of the new ones, with undefined contents. */
CLUMP_API clump_status clump_heap_insert(clump_heap *heap, const clump_extract *extract,
                                         const clump_insert_desc *desc);

/* ---- From one heap into another ------------------------------------------------------------- */

/* METHOD. Extract objects from `heap`, make them in `into`, and then free them in `heap`. No object
 * is lost: objects that do not arrive stay. The heaps may have different contexts and devices. If
 * these contexts share one cl_context, and also the device or both devices are CPUs, the device of
 * `into` reads the buffer that the other one wrote. Else the objects go through host memory, also
 * between devices of two vendors: in pieces of 256 KiB to 4 MiB, four at a time, which are pinned
 * and which the context of `heap` keeps as save.h says. The device of `into` then also
 * needs the memory of the extract.
 *   desc     [in]             as for clump_heap_extract(). free_objects counts as 1
 *   insert   [in, optional]   as for clump_heap_insert(). ref_buffer belongs to the context of
 *                             `into`
 *   extract  [out, optional]  the moved objects, in the context of `heap`, with keep_refs also
 *                             their old references. The caller destroys it. NULL on failure
 *   report   [out, optional]  also filled in if memory is too small: the size needed
 * Blocks: yes.
 * Returns the statuses of both calls. Fails with CLUMP_ERR_USAGE if both heaps are the same. The
 * error is in the context of `heap`. After a failure both heaps have the same objects as before. If
 * a device stops working during the call, some objects may be in both.
 * Threads: as for both heaps. */
CLUMP_API clump_status clump_heap_migrate(clump_heap *heap, const clump_extract_desc *desc,
                                          clump_heap *into, const clump_insert_desc *insert,
                                          clump_extract **extract, clump_extract_report *report);

/* ---- An extract ------------------------------------------------------------------------------ */

/* CONSTRUCTOR. Make an extract from bytes of another place, or one that the caller fills.
 *   context  [in]            lives as long as the extract, even if the caller destroys it before
 *   schema   [in]            copied. Equal to the schema of the heap that the objects are from:
 *                            clump_schema_parse() of the same text
 *   objects  [in]            of each class, by id: `objects[id - 1]`, equal to
 *                            clump_extract_info.objects from [1] on
 *   data     [in, optional]  bytes of the columns, clump_extract_info.bytes in all. NULL: the
 *                            buffer has zeros
 *   bytes    [in]            of data, must be right: the lengths in the data say how many elements
 *                            arrays that grow have. 0 without data
 *   extract  [out]           NULL on failure
 *   error    [out, optional]
 * Blocks: yes.
 * Returns CLUMP_OK, or:
 *   CLUMP_ERR_USAGE  no schema, objects of an abstract class, more objects or elements than a heap
 *                    can have, a wrong number of bytes, or a length in the data that is more than
 *                    its array has room for
 *   CLUMP_ERR_HOST_MEMORY, CLUMP_ERR_CL */
CLUMP_API clump_status clump_extract_create(clump_context *context, const clump_schema *schema,
                                            const uint64_t *objects, const void *data,
                                            uint64_t bytes, clump_extract **extract,
                                            clump_error *error);

/* CONSTRUCTOR. Load the objects of a saved heap (save.h) as an extract. clump_heap_insert() can
 * then add them to a heap that has objects, also from several saved heaps in turn. The objects have
 * the numbers of the file. References of registered buffers and handles are read, checked and left
 * out.
 *   context  [in]
 *   desc     [in]             path or read. Calls progress, ignores without_registered
 *   extract  [out]            NULL on failure
 *   report   [out, optional]  objects and bytes
 *   error    [out, optional]
 * The call reads once, and the host compares the checksums. Host memory: a piece of the file.
 * Device memory: the extract.
 * Blocks: yes.
 * Returns CLUMP_OK, or:
 *   CLUMP_ERR_FORMAT       the file is not a saved heap, or is cut off, altered or of a newer
 *                          version
 *   CLUMP_ERR_UNSUPPORTED  it is compressed, and the library was built without zstd
 *   CLUMP_ERR_USAGE        both or neither of path and read
 *   CLUMP_ERR_IO, CLUMP_ERR_HOST_MEMORY, CLUMP_ERR_CL */
CLUMP_API clump_status clump_extract_load(clump_context *context, const clump_load_desc *desc,
                                          clump_extract **extract, clump_extract_report *report,
                                          clump_error *error);

/* DESTRUCTOR. NULL is allowed. An extract may be destroyed before or after its heap and its
 * context. */
CLUMP_API void clump_extract_destroy(clump_extract *extract);

/* METHOD. Read all columns.
 *   data  [out]  `bytes` of data, which must equal clump_extract_info.bytes
 * Blocks: yes.
 * Returns CLUMP_OK, CLUMP_ERR_USAGE or CLUMP_ERR_CL. */
CLUMP_API clump_status clump_extract_read(clump_extract *extract, void *data, uint64_t bytes);

/* The place of the values of one field in the buffer of an extract. */
typedef struct clump_extract_column {
    uint64_t at;                /* byte offset of the first value in the buffer */
    uint64_t bytes;             /* of all values */
    uint64_t first;             /* number of the object that has the first value */
    uint64_t count;             /* objects */
    uint32_t object_bytes;      /* from one object to the next. 0: see `field` */
    const clump_class_info *of; /* the class of these objects, exactly */
    /* of that class, or of one of its bases. a_memory of an array that grows: the elements of `a`
     * in raw memory */
    const clump_field_info *field;
} clump_extract_column;

/* Facts about an extract. They live as long as it. */
typedef struct clump_extract_info {
    const clump_schema *schema;
    const uint64_t *objects; /* of exactly the class, by class id of the schema. [0]: total */
    uint64_t bytes;          /* of all columns, to the end of the last */
    /* For kernels and transfers of the caller on any queue of the cl_context. The library does not
     * use it between calls. References that the caller changes must stay valid object numbers. NULL
     * if the extract is empty. Not retained for the caller. */
    cl_mem buffer;
    /* The objects' references in their old heap, by number, 4 bytes each. NULL without keep_refs,
     * or if the extract is empty. Together with the references from clump_heap_insert(), they map
     * old to new. Not retained for the caller. */
    cl_mem refs;
    /* In the order of the buffer. Classes and fields belong to the schema above. */
    uint64_t column_count;
    const clump_extract_column *const *columns;
} clump_extract_info;

/* Return facts about the extract. The result is never NULL. For NULL, the schema and the buffers
 * are NULL and all numbers are zero. */
CLUMP_API const clump_extract_info *clump_extract_get_info(const clump_extract *extract);

#ifdef __cplusplus
}
#endif
#endif
