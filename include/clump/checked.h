/* Checked heaps: they report wrong programs with kernel, line, class, field, work-item and
 * reference.
 *
 * A heap with clump_heap_desc.checked has additional memory for the checks: a word for each object
 * that names the place where it was made, gaps between the columns of rows, and a pattern in all
 * memory outside objects. Programs for this heap are built with the checks. They run only on heaps
 * with the same checks, and other programs do not run on such heaps. clump_heap_info lists the
 * checks of a heap. In everything else it is as any heap, only slower, and with fewer objects in
 * the same memory. If a class has objects larger than 65,536 bytes with the word and the gaps,
 * clump_heap_create() fails with CLUMP_ERR_SCHEMA. docs/guide/debugging.md has an example, the cost
 * of each check, and its limits.
 *
 * Read first: heap.h, program.h.
 */
#ifndef CLUMP_CHECKED_H
#define CLUMP_CHECKED_H

#include "clump/heap.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The checks, as bits. */
typedef enum clump_check {
    /* Each access, class test and cast by a reference. Frees, with the work-item of the first
     * free. Pointers and handles of raw memory that is not in use. */
    CLUMP_CHECK_REFERENCES = 1,
    /* Indices of array fields, and of arrays of run-time length. */
    CLUMP_CHECK_BOUNDS = 2,
    /* Fields of at least 4 bytes that are read before they were written. */
    CLUMP_CHECK_READS = 4,
    /* Writes to objects and raw memory after they were freed. Found when the slot is used again.
     * Writes to an object in the place that it left by changing its class. Found when the launch
     * ends.
     * Writes before and behind raw memory. Found when it is freed. */
    CLUMP_CHECK_FREED = 8,
    /* After each kernel: all memory outside objects and raw memory. */
    CLUMP_CHECK_MEMORY = 16,
    /* The last allocations and frees. */
    CLUMP_CHECK_HISTORY = 32,
    /* clump_heap_destroy() reports the remaining objects. */
    CLUMP_CHECK_LEAKS = 64,
    /* A reference becomes invalid when its slot is used again. */
    CLUMP_CHECK_GENERATIONS = 128,
    CLUMP_CHECK_ALL = 255
} clump_check;

/* Options of a checked heap, for clump_heap_desc.checked. All zero: every check. */
typedef struct clump_checked_desc {
    size_t size;      /* sizeof(clump_checked_desc) */
    uint32_t without; /* checks to leave out: CLUMP_CHECK_... */
    /* Number of allocations and frees that are kept, rounded up to a power of two, at most 2^24. 0:
     * 4096. */
    uint32_t events;
    /* clump_heap_destroy() calls this, on its thread, with a line for each class and place of the
     * remaining objects. It must not call the library. NULL: no report. */
    void (*on_leak)(void *user, const char *text);
    void *user;
} clump_checked_desc;

/* A place in a source. Texts live as long as the heap. */
typedef struct clump_place {
    /* The launched kernel. NULL: unknown, or launched otherwise than by the calls of this
     * library. */
    const char *kernel;
    const char *program; /* name of its source, NULL likewise */
    uint32_t line;       /* of the source, counted from 1. 0: unknown, or a do-new */
} clump_place;

/* Both the enumeration and the texts are made from this list. */
#define CLUMP_FINDING_LIST(X)                                                                      \
    X(ACCESS, "a field of what is no live object of the class was used")                           \
    X(CAST, "what is no live object of the class was tested or cast")                              \
    X(FREE, "what is no live object of the class was freed, or no raw memory")                     \
    X(DOUBLE_FREE, "an object or raw memory was freed that had been freed before")                 \
    X(BOUNDS, "an element was used that the array does not have")                                  \
    X(READ, "a field was read before it was written")                                              \
    X(FREED, "an object or raw memory was written to after it was freed")                          \
    X(GAP, "memory was written to that belongs to no field")

/* Kinds of findings of a checked heap. */
typedef enum clump_finding_kind {
#define CLUMP_FINDING_ENUM(name, text) CLUMP_FINDING_##name,
    CLUMP_FINDING_LIST(CLUMP_FINDING_ENUM)
#undef CLUMP_FINDING_ENUM
        CLUMP_FINDING_COUNT
} clump_finding_kind;

/* Size of clump_finding.text in bytes, including the terminating zero. */
#define CLUMP_FINDING_TEXT_BYTES 512

/* A finding at one place in a source, for one class and field. The details describe the first
 * time. For raw memory, the class is "(raw memory)" and `ref` is a handle. */
typedef struct clump_finding {
    clump_finding_kind kind;
    uint32_t count; /* how often */
    /* FREED and GAP: the place where it was found. It belongs to the kernel that ran before, or
     * that used the slot again. */
    clump_place place;
    const char *class_name; /* the class that the access names, or that has the memory. NULL: no
                               class has it */
    const char *field;      /* NULL: none. GAP: the field before the memory */
    uint32_t index;         /* BOUNDS: the index, else 0 */
    clump_ref ref;          /* GAP: of the row's slot 0 */
    uint32_t work_item;     /* global linear id, low 32 bits. FREED and GAP: undefined */
    /* READ: the place where the object was made. BOUNDS, GAP: unknown. GAP of raw memory: the place
     * of its allocation. GAP without a class: the place of the last free of raw memory there.
     * Others: the place of the last free of this slot, or of raw memory there, or the place where
     * the object changed its class. */
    clump_place by;
    uint32_t by_work_item;               /* of the free, or 0 */
    char text[CLUMP_FINDING_TEXT_BYTES]; /* the whole finding as a text */
} clump_finding;

/* METHOD. Return and clear the findings, oldest first, including findings that
 * clump_heap_take_errors() has reported.
 *   findings  [out, optional]  room for `capacity`. NULL: the call only counts and clears
 *   count     [out]            number of findings, at most 64 since the last call of either
 *                              function
 *   lost      [out, optional]  events at further places, which were not recorded
 * Blocks: yes.
 * Returns CLUMP_OK, also if there are findings, or:
 *   CLUMP_ERR_TOO_SMALL  the findings do not fit. They are kept
 *   CLUMP_ERR_USAGE      the heap is not checked
 *   CLUMP_ERR_CL, CLUMP_ERR_HOST_MEMORY
 * Threads: as for the heap. */
CLUMP_API clump_status clump_heap_take_findings(clump_heap *heap, clump_finding *findings,
                                                uint64_t capacity, uint64_t *count, uint64_t *lost);

/* METHOD. Check all memory outside objects and raw memory, as CLUMP_CHECK_MEMORY does after each
 * kernel. A change is reported once, and the pattern is restored. To see findings and errors, call
 * the functions that return them.
 *   sync  [in, optional]
 * Blocks: no.
 * Returns CLUMP_OK, also if it finds changes. Fails with CLUMP_ERR_USAGE if the heap is not
 * checked, CLUMP_ERR_CL, CLUMP_ERR_BUILD or CLUMP_ERR_HOST_MEMORY. */
CLUMP_API clump_status clump_heap_check_memory(clump_heap *heap, const clump_sync *sync);

/* An allocation or a free. */
typedef struct clump_event {
    int is_free;
    const char *class_name; /* exact class of the object */
    clump_ref ref;
    clump_place place;
    uint32_t work_item;
} clump_event;

/* METHOD. Read the last allocations and frees of kernels, oldest first. The order within one kernel
 * is unspecified. Frees by a collection are not included.
 *   events  [out, optional]  room for `capacity`. NULL: the call only counts
 *   count   [out]            number of events kept
 * Blocks: yes.
 * Returns CLUMP_OK, or:
 *   CLUMP_ERR_TOO_SMALL  the events do not fit
 *   CLUMP_ERR_USAGE      the heap lacks CLUMP_CHECK_HISTORY
 *   CLUMP_ERR_CL, CLUMP_ERR_HOST_MEMORY */
CLUMP_API clump_status clump_heap_read_events(clump_heap *heap, clump_event *events,
                                              uint64_t capacity, uint64_t *count);

/* Live objects of one class that were made at one place. */
typedef struct clump_live {
    const char *class_name; /* exact */
    clump_place place;
    uint64_t objects;
} clump_live;

/* METHOD. Count the live objects by class and place, within a class the largest number first.
 *   live   [out, optional]  room for `capacity`. NULL: the call only counts entries
 *   count  [out]            number of entries, even if they do not fit
 * Blocks: yes.
 * Returns CLUMP_OK, or:
 *   CLUMP_ERR_TOO_SMALL  the entries do not fit
 *   CLUMP_ERR_USAGE      the heap is not checked
 *   CLUMP_ERR_CL, CLUMP_ERR_HOST_MEMORY */
CLUMP_API clump_status clump_heap_read_live(clump_heap *heap, clump_live *live, uint64_t capacity,
                                            uint64_t *count);

#ifdef __cplusplus
}
#endif
#endif
