/* Saving a heap and loading it: all objects, with what refers to them, to a file or through
 * functions of the program.
 *
 * A saved heap has the schema, the values of all fields of all objects, the references in
 * registered buffers, the handles (refs.h), and the numbers of clump_heap_reserve(). It has no
 * trace of where objects lay, so it is loaded into a heap of another size, of another block width,
 * on another device. Objects come in the order of clump_heap_read_refs(), and have it again in the
 * loaded heap; equal objects in an equal order make equal bytes. docs/internals/save.md has the
 * format.
 *
 * What is not saved: which errors kernels reported, what was learnt of the demand, statistics, and
 * of a checked heap (checked.h) its findings, events, and where objects were made: a loaded object
 * was made by the load. A reference whose object is not live, or is of a class that the field does
 * not have, is saved as null, and counted.
 *
 * Everything in the file is covered by checksums (XXH64): each piece by its own, which the device
 * computes, and the heads of the pieces by a chain of them, so that a file that is cut off,
 * altered, put together of two, or of another kind is refused with CLUMP_ERR_FORMAT and words that
 * say where. They are no protection from someone who alters a file on purpose and computes them
 * anew. Such a file is read safely: what it says is checked before it is used. But its objects are
 * those that someone wanted.
 *
 * A load that fails leaves the heap without objects, as it was, and registered buffers and handles
 * as they were. The events of a checked heap keep what it made until then; that these objects went
 * is no event.
 *
 * While the host writes or reads a piece, another one is on the bus, by queues that the library
 * makes for that, and others are on the device.
 *
 * Host memory: four pieces (piece_bytes of clump_save_desc), and the handles. The context keeps the
 * memory for the pieces until it ends, if that is no more than 1/256 of what the device has:
 * pinning it takes longer than to save a small heap. Device memory: four pieces; saving 4 bytes for
 * each granule of the heap, loading 4 bytes for each object and for each reference of registered
 * buffers.
 *
 * Threads: as for the heap. The functions of the program are called by the thread that makes the
 * call, and must not use the heap, nor anything else of its context.
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

/* Told after each piece: bytes of the values of objects that are done, and all there are. Returns
 * 0; another number stops the call, which then fails with CLUMP_ERR_IO. */
typedef int (*clump_progress_fn)(void *user, uint64_t done, uint64_t all);

/* ---- Saving ---------------------------------------------------------------------------------- */

/* Where a heap is saved to, and how. */
typedef struct clump_save_desc {
    size_t size; /* sizeof(clump_save_desc) */
    /* Where to: set one of the two.
     * A file is written under the name `path` with ".part" at its end, brought to the disk, and
     * then renamed: a file of that name is replaced by a whole one or not at all, whenever the
     * process or the machine ends. A part that is left by a process that ended is overwritten by
     * the next save. Two saves to one path at the same time: the second is refused. A symbolic link
     * stays, and the file that it leads to is replaced (".part" is next to that). The new file has
     * the owner, the group and the mode of the old one, but not its access control list, nor other
     * extended attributes. Other names of the old file (hard links) keep the old contents, since no
     * file system replaces several names at once. Refused: a pipe, a device and whatever else is no
     * regular file, which `write` can write to; a file that this process must not write, or whose
     * owner it cannot give. */
    const char *path;
    clump_write_fn write; /* gets all bytes, in order, in many parts */
    void *user;           /* for write and progress */
    uint32_t piece_bytes; /* of a piece, 4 KiB .. 64 MiB; 0: 16 MiB */
    int zstd_level;       /* 1 .. 22: values and references are packed by zstd, if the library was
                             built with it (CLUMP_ZSTD). 0: they are not */
    int compact;          /* 1: all classes are compacted first (compact.h), which moves objects */
    clump_progress_fn progress; /* optional */
} clump_save_desc;

/* What was saved. */
typedef struct clump_save_report {
    size_t size; /* sizeof(clump_save_report) */
    uint64_t objects;
    uint64_t bytes;       /* of the saved heap */
    uint64_t value_bytes; /* of these: values of objects */
    uint64_t handles;     /* that are in use */
    uint64_t registered;  /* references in registered buffers */
    uint64_t dangling;    /* references that named no live object of their class, saved as null */
} clump_save_report;

/* METHOD. Save the heap, which stays as it is, except that objects move if they are compacted
 * first, and that handles of freed objects become null in a heap with watch_handles.
 *   desc    [in]
 *   report  [out, optional]
 * Blocks: yes. Returns CLUMP_OK; CLUMP_ERR_USAGE both or neither of path and write, a bad
 * piece_bytes or zstd_level, objects that are evicted, or a heap with arrays of run-time length or
 * with `raw`: only the program knows what raw memory holds; CLUMP_ERR_UNSUPPORTED zstd_level
 * without zstd; CLUMP_ERR_IO a file cannot be written or replaced (the error says which, and why),
 * or a function said so; CLUMP_ERR_DEVICE_MEMORY more than 65,536 registered buffers;
 * CLUMP_ERR_CORRUPT the heap's metadata are damaged; CLUMP_ERR_HOST_MEMORY; CLUMP_ERR_CL. After a
 * failure a file of that name is as it was, and there is no part of the new one; with `compact`
 * objects may have moved. */
CLUMP_API clump_status clump_heap_save(clump_heap *heap, const clump_save_desc *desc,
                                       clump_save_report *report);

/* ---- Loading --------------------------------------------------------------------------------- */

/* Where a saved heap comes from. */
typedef struct clump_load_desc {
    size_t size; /* sizeof(clump_load_desc) */
    /* Where from: set one of the two. A file must end where the saved heap does. */
    const char *path;
    /* Puts the next `bytes` into `data`, and returns how many: fewer are the end, or a failure.
     * Nothing is asked for beyond the end of the saved heap, so that a stream may go on with
     * something else. */
    size_t (*read)(void *user, void *data, size_t bytes);
    void *user;                 /* for read and progress */
    int without_registered;     /* 1: the references of registered buffers are left out */
    clump_progress_fn progress; /* optional */
} clump_load_desc;

/* What was loaded. */
typedef struct clump_load_report {
    size_t size; /* sizeof(clump_load_report) */
    uint64_t objects;
    uint64_t bytes; /* of the saved heap */
    uint64_t value_bytes;
    uint64_t handles, registered; /* as in clump_save_report */
    /* Of classes with objects: fields of the file that the heap's schema lacks; fields of the
     * heap's schema that the file lacks, which are 0, and null, in all objects. A field counts
     * once, however many classes inherit it. */
    uint32_t fields_lost;
    uint32_t fields_gained;
} clump_load_report;

/* METHOD. Load into a heap without objects and without handles. What the caller has to make before,
 * and is compared:
 *
 *   schema      Classes and fields are matched by name. A field that the heap's class (with its
 *               bases) does not have is left out; one that the file does not have is 0, and null. A
 *               field of another type, width or number of elements is refused, and so are objects
 *               of a class that the heap does not have, or has as an abstract one, and a reference
 *               to an object that the heap's field cannot refer to: the error names class and
 *               field. A class may have gained or lost bases, and subclasses.
 *   room        the heap must have enough blocks; else the error says how many it has and how many
 *               are needed.
 *   registered  As many buffers must be registered as when the heap was saved; each gets the
 *               references of the one that was registered as the first, second, ... and must have
 *               room for them. What it has beyond them becomes null, and its word of the count, if
 *               it has one, is set. Or without_registered is 1, and registered buffers stay as they
 *               are.
 *
 * Handles have the numbers that they had, and the numbers of clump_heap_reserve() are those of the
 * saved heap.
 *   desc    [in]
 *   report  [out, optional]
 * Blocks: yes. Returns CLUMP_OK; CLUMP_ERR_USAGE both or neither of path and read, a heap with
 * objects, handles or raw memory in use, a heap with arrays of run-time length, or registered
 * buffers that do not fit; CLUMP_ERR_IO a file cannot be read; CLUMP_ERR_FORMAT it is not a saved
 * heap, or is cut off, altered or of another version of the format; CLUMP_ERR_UNSUPPORTED it is
 * packed, and the library was built without zstd; CLUMP_ERR_SCHEMA the schemas do not fit;
 * CLUMP_ERR_DEVICE_MEMORY too many objects for the heap; CLUMP_ERR_HOST_MEMORY; CLUMP_ERR_CL. After
 * a failure the heap has no objects, as before; if the device gives up while it is emptied,
 * clump_heap_repair() does it. */
CLUMP_API clump_status clump_heap_load(clump_heap *heap, const clump_load_desc *desc,
                                       clump_load_report *report);

/* ---- Looking into a saved heap, without a device --------------------------------------------- */

/* The head of a saved heap. */
typedef struct clump_saved clump_saved;

/* CONSTRUCTOR. Read what stands before the values: enough to make a heap for it.
 *   desc       [in]             path or read
 *   allocator  [in, optional]   default malloc, realloc, free; copied
 *   saved      [out]            NULL on failure
 *   error      [out, optional]
 * Returns CLUMP_OK; CLUMP_ERR_USAGE; CLUMP_ERR_IO; CLUMP_ERR_FORMAT; CLUMP_ERR_UNSUPPORTED;
 * CLUMP_ERR_HOST_MEMORY. */
CLUMP_API clump_status clump_saved_open(const clump_load_desc *desc,
                                        const clump_allocator *allocator, clump_saved **saved,
                                        clump_error *error);

/* DESTRUCTOR. NULL is allowed. */
CLUMP_API void clump_saved_close(clump_saved *saved);

/* What is known of a saved heap. Lives as long as it. */
typedef struct clump_saved_info {
    const clump_schema *schema; /* of the heap that was saved */
    const uint64_t *objects;    /* of exactly the class, by class id of the schema; [0]: of all */
    uint32_t registered;        /* buffers */
    const uint64_t *registered_counts; /* references of each, in the order of registration */
} clump_saved_info;

/* What is known of it. Not NULL; of NULL, no schema and zeros. */
CLUMP_API const clump_saved_info *clump_saved_get_info(const clump_saved *saved);

/* Values of one field of consecutive objects of a class, or references outside of objects. A
 * reference is the number of its object plus 1, and 0 for null. Objects are numbered from 0 on:
 * those of the first class that has some, then those of the next, by id, each in the order of
 * clump_heap_read_refs(). */
typedef struct clump_saved_part {
    const clump_field_info *field; /* NULL: they are references outside of objects */
    uint32_t class_id;             /* of the objects, exactly; 0 without a field */
    uint32_t buffer; /* without a field: the registered buffer, or CLUMP_SAVED_HANDLES */
    uint64_t from;   /* objects of the class, or references, that come before these */
    uint32_t count;  /* of them */
    uint32_t bytes;  /* of each: an array whole, its elements one after the other */
    const void *data;
} clump_saved_part;

/* For `buffer`: the references are those of the handles 1, 2, ...; a number that is not in use has
 * 0. */
#define CLUMP_SAVED_HANDLES UINT32_MAX

/* Takes a part, which is there during the call. Returns 0; another number ends the reading, which
 * fails with CLUMP_ERR_IO. */
typedef int (*clump_saved_fn)(void *user, const clump_saved *saved, const clump_saved_part *part);

/* FUNCTION. Read all of it without a device, and hand over what it holds: for each class with
 * objects, by id, its own fields, then those of its base; then the registered buffers; then the
 * handles. All checksums are compared, and each reference must be of an object that is there, and
 * that its field can refer to. What was handed over before a failure is right.
 *   desc       [in]             path or read; progress is told
 *   allocator  [in, optional]   as clump_saved_open()
 *   take       [in, optional]   gets each part, in the order of the file. NULL: is the file whole
 *                               and right?
 *   user       [in]             for `take`
 *   error      [out, optional]
 * Returns CLUMP_OK; CLUMP_ERR_USAGE; CLUMP_ERR_IO a file cannot be read, or a function said so;
 * CLUMP_ERR_FORMAT; CLUMP_ERR_UNSUPPORTED; CLUMP_ERR_HOST_MEMORY. */
CLUMP_API clump_status clump_saved_read(const clump_load_desc *desc,
                                        const clump_allocator *allocator, clump_saved_fn take,
                                        void *user, clump_error *error);

#ifdef __cplusplus
}
#endif
#endif
