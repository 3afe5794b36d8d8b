/* Saving a heap and loading it: all objects, and the references to them from outside, to a file or
 * through functions of the program.
 *
 * A saved heap has the schema, the values of all fields of all objects, the elements and capacities
 * of their arrays, the references in registered buffers, the handles (refs.h), and the numbers of
 * clump_heap_reserve(). It does not have the places of objects. Therefore it can be loaded into a
 * heap of another size or block width, and on another device. Objects are in the order of
 * clump_heap_read_refs(), and the loaded heap has the same order. Equal objects in an equal order
 * produce equal bytes. docs/internals/save.md has the format.
 *
 * These are not saved: errors that kernels reported, data learnt about the demand, and statistics.
 * For a checked heap (checked.h), findings, events and the places where objects were made are not
 * saved either: the load is the place where a loaded object was made. A reference is saved as null,
 * and counted, if its object is not live or has a class that the field cannot refer to.
 *
 * Checksums (XXH64) cover everything in the file. Each piece has one, which the device computes
 * (the host for the head and the handles), and a chain of checksums covers the heads of the pieces.
 * A file that is cut off, altered, put together from two, or of another kind fails with
 * CLUMP_ERR_FORMAT, and the error message has the place. Checksums do not protect from a person who
 * alters a file on purpose and computes them again. The library reads such a file safely: it checks
 * every value before it uses it. But the objects are then the ones that the person chose.
 *
 * A load that fails leaves the heap without objects, as before, and registered buffers and handles
 * unchanged. The events of a checked heap keep the objects that the load made until then. Their
 * removal is not an event.
 *
 * While the host writes or reads a piece, the next piece is on the bus, through queues that the
 * library creates for this purpose, and the device works on further ones.
 *
 * Host memory: four pieces (piece_bytes of clump_save_desc), and the handles. The context keeps the
 * memory for the pieces until it ends if this is at most 1/256 of the device's memory, since
 * pinning it costs more time than to save a small heap. Device memory: four pieces. In addition,
 * saving needs 4 bytes for each granule of the heap, and loading needs 4 bytes for each object and
 * for each reference of registered buffers. With arrays that grow, both need up to 2 MiB of the
 * device, and 4 bytes on the host for each object of a class. If a heap's raw memory is short
 * during a load, the host also keeps the elements of all arrays, and 32 bytes for each array.
 *
 * Threads: as for the heap. The library calls the program's functions on the thread of the call.
 * They must not use the heap, nor anything else of its context.
 *
 * Read first: heap.h, refs.h.
 */
#ifndef CLUMP_SAVE_H
#define CLUMP_SAVE_H

#include "clump/heap.h"
#include "clump/write.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Called after each piece, with the bytes of values of objects that are done, and their total.
 * Return 0 to continue. Another number stops the call, which then fails with CLUMP_ERR_IO. */
typedef int (*clump_progress_fn)(void *user, uint64_t done, uint64_t all);

/* ---- Saving ---------------------------------------------------------------------------------- */

/* Options of clump_heap_save(). */
typedef struct clump_save_desc {
    size_t size; /* sizeof(clump_save_desc) */
    /* The destination: set `path` or `write`. The library writes a file named `path` with ".part"
     * at its end, flushes it to the disk, and then renames it. A file of that name is therefore
     * replaced completely or not at all, even if the process or the machine stops. The next save
     * overwrites a part that an interrupted process left. If two saves to one path run at the same
     * time, the second fails. A symbolic link stays, and its target is replaced (".part" is next to
     * the target). The new file has the owner, the group and the mode of the old one, but not its
     * access control list or other extended attributes. Other names of the old file (hard links)
     * keep the old contents, since file systems cannot replace several names at once. These
     * destinations fail: a pipe, a device or another special file (use `write` for these), a file
     * that this process must not write, and a file whose owner it cannot set. */
    const char *path;
    clump_write_fn write; /* gets all bytes, in order, in many parts */
    void *user;           /* for write and progress */
    uint32_t piece_bytes; /* size of a piece, 4 KiB .. 64 MiB. 0: 16 MiB */
    int zstd_level;       /* 1 .. 22: compress values and references with zstd, if the library was
                             built with it (CLUMP_ZSTD). 0: do not */
    int compact;          /* 1: compact all classes first (compact.h), which moves objects */
    clump_progress_fn progress; /* optional */
    /* 1: write nothing, and only report the numbers of such a save, `bytes` as well. No values are
     * read, only the lengths of arrays that grow, so `dangling` is 0. Without path, write and
     * zstd_level */
    int measure;
} clump_save_desc;

/* Results of a save. */
typedef struct clump_save_report {
    size_t size; /* sizeof(clump_save_report) */
    uint64_t objects;
    uint64_t bytes;       /* of the saved heap */
    uint64_t value_bytes; /* values of objects, before compression */
    uint64_t handles;     /* handles in use */
    uint64_t registered;  /* references in registered buffers */
    uint64_t dangling;    /* references that named no live object of their class, saved as null */
} clump_save_report;

/* METHOD. Save the heap, which does not change, with two exceptions: objects move if they are
 * compacted first, and handles of freed objects become null in a heap with watch_handles.
 *   desc    [in]
 *   report  [out, optional]
 * Blocks: yes.
 * Returns CLUMP_OK, or:
 *   CLUMP_ERR_USAGE        not exactly one of path, write and measure, zstd_level with measure, an
 *                          invalid piece_bytes or zstd_level, objects that are evicted, or a heap
 *                          with `raw`: only the program knows the contents of raw memory
 *   CLUMP_ERR_UNSUPPORTED  zstd_level without zstd, or more than 65,536 registered buffers or
 *                          arrays that grow
 *   CLUMP_ERR_IO           a file cannot be written or replaced (the error has the file and the
 *                          reason), or a function returned an error
 *   CLUMP_ERR_CORRUPT      the heap's metadata or an array is damaged
 *   CLUMP_ERR_HOST_MEMORY, CLUMP_ERR_CL
 * After a failure, a file of that name is as before, and the part of the new one is removed. With
 * `compact`, objects may have moved. */
CLUMP_API clump_status clump_heap_save(clump_heap *heap, const clump_save_desc *desc,
                                       clump_save_report *report);

/* ---- Loading --------------------------------------------------------------------------------- */

/* Options of clump_heap_load(). */
typedef struct clump_load_desc {
    size_t size; /* sizeof(clump_load_desc) */
    /* The source: set `path` or `read`. A file must end where the saved heap ends. */
    const char *path;
    /* Copies the next `bytes` to `data`, and returns their number. Fewer bytes mean the end, or a
     * failure. The library reads nothing beyond the end of the saved heap. A stream may therefore
     * continue with other data. */
    size_t (*read)(void *user, void *data, size_t bytes);
    void *user;                 /* for read and progress */
    int without_registered;     /* 1: leave out the references of registered buffers */
    clump_progress_fn progress; /* optional */
} clump_load_desc;

/* Results of a load. */
typedef struct clump_load_report {
    size_t size; /* sizeof(clump_load_report) */
    uint64_t objects;
    uint64_t bytes; /* of the saved heap */
    uint64_t value_bytes;
    uint64_t handles, registered; /* as in clump_save_report */
    /* For classes with objects. Lost: fields of the file that the heap's schema lacks. Gained:
     * fields of the heap's schema that the file lacks. These are 0 or null in all objects. A field
     * counts once, also if several classes inherit it. */
    uint32_t fields_lost;
    uint32_t fields_gained;
} clump_load_report;

/* METHOD. Load into a heap without objects and without handles. The caller prepares the heap, and
 * the call compares:
 *
 *   schema      Classes and fields are matched by name. A field that the heap's class (with its
 *               bases) lacks is left out. A field that the file lacks is 0 or null. The call
 *               refuses a field of another type, width or number of elements, objects of a class
 *               that the heap lacks or has as an abstract one, and a reference to an object that
 *               the heap's field cannot refer to. The error names class and field. A class may have
 *               gained or lost bases and subclasses.
 *   room        The heap must have enough blocks. Otherwise the error has their number and the
 *               number needed. Raw memory for arrays that grow is allocated during the load, and
 *               if it is short, for the largest arrays first. An equal heap nearly always has room
 *               for what a full heap had. Otherwise the error has the bytes of a heap that is large
 *               enough.
 *   registered  The number of registered buffers must be the same as in the saved heap. Each gets
 *               the references of the buffer registered in the same position, and must have room
 *               for them. Further places of the buffer become null, and its word of the count, if
 *               any, is set. With without_registered = 1, registered buffers do not change.
 *
 * Handles keep their numbers. The numbers of clump_heap_reserve() are the saved ones.
 *   desc    [in]
 *   report  [out, optional]
 * Blocks: yes.
 * Returns CLUMP_OK, or:
 *   CLUMP_ERR_USAGE          both or neither of path and read, a heap with objects, handles or raw
 *                            memory in use, or registered buffers that do not fit
 *   CLUMP_ERR_IO             a file cannot be read, or a function returned an error
 *   CLUMP_ERR_FORMAT         the file is not a saved heap, or is cut off, altered or of another
 *                            version of the format
 *   CLUMP_ERR_UNSUPPORTED    it is compressed, and the library was built without zstd
 *   CLUMP_ERR_SCHEMA         the schemas do not fit
 *   CLUMP_ERR_DEVICE_MEMORY  too many objects for the heap, or no raw memory for an array
 *   CLUMP_ERR_CORRUPT        the heap's metadata is damaged
 *   CLUMP_ERR_HOST_MEMORY, CLUMP_ERR_BUILD, CLUMP_ERR_CL
 * After a failure the heap is empty, as before. If the device stops working while the heap is
 * emptied, call clump_heap_repair(). */
CLUMP_API clump_status clump_heap_load(clump_heap *heap, const clump_load_desc *desc,
                                       clump_load_report *report);

/* ---- Looking into a saved heap, without a device --------------------------------------------- */

/* The head of a saved heap. */
typedef struct clump_saved clump_saved;

/* CONSTRUCTOR. Read the head of a saved heap, everything before the values. It is enough to make a
 * heap for it.
 *   desc       [in]            path or read
 *   allocator  [in, optional]  default malloc, realloc, free. Copied
 *   saved      [out]           NULL on failure
 *   error      [out, optional]
 * Returns CLUMP_OK, CLUMP_ERR_USAGE, CLUMP_ERR_IO, CLUMP_ERR_FORMAT, CLUMP_ERR_UNSUPPORTED or
 * CLUMP_ERR_HOST_MEMORY. */
CLUMP_API clump_status clump_saved_open(const clump_load_desc *desc,
                                        const clump_allocator *allocator, clump_saved **saved,
                                        clump_error *error);

/* DESTRUCTOR. NULL is allowed. */
CLUMP_API void clump_saved_close(clump_saved *saved);

/* An array that grows, of the objects of exactly one class. */
typedef struct clump_saved_array {
    uint32_t class_id;
    const clump_field_info *field;
    uint64_t elements; /* in raw memory, of all objects */
    uint64_t capacity; /* elements for which they have raw memory */
} clump_saved_array;

/* Facts about a saved heap. They live as long as it. */
typedef struct clump_saved_info {
    const clump_schema *schema; /* of the heap that was saved */
    const uint64_t *objects;    /* of exactly the class, by class id of the schema. [0]: total */
    uint32_t registered;        /* buffers */
    const uint64_t *registered_counts; /* references of each, in the order of registration */
    const clump_saved_array *arrays;   /* of classes with objects */
    uint32_t array_count;
} clump_saved_info;

/* Return facts about the saved heap. The result is never NULL. For NULL, the schema is NULL and all
 * numbers are zero. */
CLUMP_API const clump_saved_info *clump_saved_get_info(const clump_saved *saved);

/* Values of one field of consecutive objects of a class, or references outside of objects. A
 * reference is the number of its object plus 1, and 0 for null. Objects are numbered from 0: first
 * the objects of the class with the smallest id, then of the next class, and within a class in the
 * order of clump_heap_read_refs(). */
typedef struct clump_saved_part {
    const clump_field_info *field; /* NULL: references outside of objects */
    uint32_t class_id;             /* of the objects, exactly. 0 without a field */
    uint32_t buffer; /* without a field: the registered buffer, or CLUMP_SAVED_HANDLES */
    uint64_t from;   /* earlier objects of the class, or earlier references */
    uint32_t count;  /* objects or references in this part */
    uint32_t bytes;  /* of each. Arrays are whole, and their elements follow each other */
    const void *data;
    /* Index of the first element in `data`. For elements in raw memory, a part has elements of one
     * object: `count` is 1, and `bytes` is the size of all of them. All other parts begin with
     * element 0. */
    uint32_t element;
} clump_saved_part;

/* Value of `buffer`: the references belong to the handles 1, 2, ... An unused number has 0. */
#define CLUMP_SAVED_HANDLES UINT32_MAX

/* Called with a part, which is valid during the call. Return 0 to continue. Another number stops
 * the reading, which fails with CLUMP_ERR_IO. */
typedef int (*clump_saved_fn)(void *user, const clump_saved *saved, const clump_saved_part *part);

/* FUNCTION. Read a whole saved heap without a device, and pass on its parts: for each class with
 * objects, by id, first its own fields, then the fields of its base. For an array that grows these
 * are its elements in the objects, its lengths and capacities, and in place of a_memory the
 * elements in raw memory. Then the registered buffers follow, then the handles. The call compares
 * all checksums. Each reference must name an existing object that its field can refer to, and each
 * length must fit its capacity. All parts that were passed before a failure are correct.
 *   desc       [in]            path or read. Calls progress
 *   allocator  [in, optional]  as clump_saved_open()
 *   take       [in, optional]  gets each part, in the order of the file. NULL: the call only checks
 *                              the file
 *   user       [in]            for `take`
 *   error      [out, optional]
 * Returns CLUMP_OK, or:
 *   CLUMP_ERR_IO  a file cannot be read, or a function returned an error
 *   CLUMP_ERR_USAGE, CLUMP_ERR_FORMAT, CLUMP_ERR_UNSUPPORTED, CLUMP_ERR_HOST_MEMORY */
CLUMP_API clump_status clump_saved_read(const clump_load_desc *desc,
                                        const clump_allocator *allocator, clump_saved_fn take,
                                        void *user, clump_error *error);

#ifdef __cplusplus
}
#endif
#endif
