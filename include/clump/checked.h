/* Checked heaps: wrong programs are told with kernel, line, class, field, work-item and reference.
 *
 * A heap that is made with clump_heap_desc.checked has room in its layout for what the checks need:
 * a word before each object that says where it was made, gaps between the columns of rows, and a
 * pattern in all memory that no object has. Programs that are made for it are built with the
 * checks; programs of other heaps cannot run on it, nor its own on others. clump_heap_info says
 * which checks a heap has. Everything else about it is as of any heap, only slower, and with room
 * for fewer objects. A class whose objects are larger than 65,536 bytes with the word and the gaps
 * is refused: clump_heap_create() returns CLUMP_ERR_SCHEMA. docs/guide/debugging.md has an example,
 * what each check costs, and what it does not see.
 *
 * Read first: heap.h, program.h.
 */
#ifndef CLUMP_CHECKED_H
#define CLUMP_CHECKED_H

#include "clump/heap.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The checks; a sum of some. */
typedef enum clump_check {
    /* Each access, class test and cast by a reference; frees, with who was first. */
    CLUMP_CHECK_REFERENCES = 1,
    /* Indices of array fields. */
    CLUMP_CHECK_BOUNDS = 2,
    /* Fields of at least 4 bytes that are read before they were written. */
    CLUMP_CHECK_READS = 4,
    /* Objects that were written to after they were freed: when the slot is given out again. */
    CLUMP_CHECK_FREED = 8,
    /* After each kernel: all memory that no object has. */
    CLUMP_CHECK_MEMORY = 16,
    /* The last allocations and frees. */
    CLUMP_CHECK_HISTORY = 32,
    /* clump_heap_destroy() tells which objects there are. */
    CLUMP_CHECK_LEAKS = 64,
    /* References know when their slot was given out again. */
    CLUMP_CHECK_GENERATIONS = 128,
    CLUMP_CHECK_ALL = 255
} clump_check;

/* clump_heap_desc.checked. All zero: every check. */
typedef struct clump_checked_desc {
    size_t size;      /* sizeof(clump_checked_desc) */
    uint32_t without; /* checks that are left out: CLUMP_CHECK_... */
    /* Allocations and frees that are kept, rounded up to a power of two; 0: 4096; at most 2^24. */
    uint32_t events;
    /* Called by clump_heap_destroy(), on its thread, with a line for each class and place of which
     * there are objects. It must not call the library. NULL: nobody is told. */
    void (*on_leak)(void *user, const char *text);
    void *user;
} clump_checked_desc;

/* A place in a source. Texts live as long as the heap. */
typedef struct clump_place {
    /* The one that was launched; NULL: it was launched by other means than this library's calls, or
     * is not known. */
    const char *kernel;
    const char *program; /* name of its source; NULL likewise */
    uint32_t line;       /* of the source, counted from 1; 0: not known, or a do-new */
} clump_place;

/* The one list from which enumeration and texts are made. */
#define CLUMP_FINDING_LIST(X)                                                                      \
    X(ACCESS, "a field of what is no live object of the class was used")                           \
    X(CAST, "what is no live object of the class was tested or cast")                              \
    X(FREE, "what is no live object of the class was freed")                                       \
    X(DOUBLE_FREE, "an object was freed that had been freed before")                               \
    X(BOUNDS, "an element was used that the array does not have")                                  \
    X(READ, "a field was read before it was written")                                              \
    X(FREED, "an object was written to after it was freed")                                        \
    X(GAP, "memory was written to that belongs to no field")

/* What a checked heap finds. */
typedef enum clump_finding_kind {
#define CLUMP_FINDING_ENUM(name, text) CLUMP_FINDING_##name,
    CLUMP_FINDING_LIST(CLUMP_FINDING_ENUM)
#undef CLUMP_FINDING_ENUM
        CLUMP_FINDING_COUNT
} clump_finding_kind;

/* Of clump_finding.text, the terminating zero included. */
#define CLUMP_FINDING_TEXT_BYTES 512

/* What was found at one place in a source, for one class and field. The details are those of the
 * first time. */
typedef struct clump_finding {
    clump_finding_kind kind;
    uint32_t count; /* how often */
    /* FREED and GAP: where it was found. Of the kernel that ran before, or gave out the slot. */
    clump_place place;
    const char *class_name; /* that the access names, or that has the memory; NULL: none has it */
    const char *field;      /* NULL: none. GAP: the field behind which the memory is */
    uint32_t index;         /* BOUNDS: the index, else 0 */
    clump_ref ref;          /* GAP: of the row's slot 0 */
    uint32_t work_item;     /* global linear id, low 32 bits; FREED and GAP: no matter */
    /* READ: where the object was made; BOUNDS, GAP: not known; others: where what was in the slot
     * was freed last. */
    clump_place by;
    uint32_t by_work_item;               /* of the free */
    char text[CLUMP_FINDING_TEXT_BYTES]; /* all of it in words */
} clump_finding;

/* METHOD. Fetch and clear what was found, oldest first. What clump_heap_take_errors() told of is
 * still there.
 *   findings  [out, optional]  room for `capacity`. NULL: only the count is asked for, and all are
 *                              cleared
 *   count     [out]            how many there were, at most 64 since the last call for either
 *                              function
 *   lost      [out, optional]  events at places for which there was no room
 * Blocks: yes. Returns CLUMP_OK, also if there are findings; CLUMP_ERR_TOO_SMALL, and they are
 * still there; CLUMP_ERR_USAGE: the heap is not checked; CLUMP_ERR_CL; CLUMP_ERR_HOST_MEMORY.
 * Threads: as for the heap. */
CLUMP_API clump_status clump_heap_take_findings(clump_heap *heap, clump_finding *findings,
                                                uint64_t capacity, uint64_t *count, uint64_t *lost);

/* METHOD. Look at all memory that no object has, as CLUMP_CHECK_MEMORY does after each kernel. What
 * was changed is told once, and is made as it was. Leaves findings and errors to be fetched.
 *   sync  [in, optional]
 * Blocks: no. Returns CLUMP_OK, whatever is found; CLUMP_ERR_USAGE: the heap is not checked;
 * CLUMP_ERR_CL; CLUMP_ERR_BUILD; CLUMP_ERR_HOST_MEMORY. */
CLUMP_API clump_status clump_heap_check_memory(clump_heap *heap, const clump_sync *sync);

/* An allocation or a free. */
typedef struct clump_event {
    int is_free;
    const char *class_name; /* exact class of the object */
    clump_ref ref;
    clump_place place;
    uint32_t work_item;
} clump_event;

/* METHOD. The last allocations and frees of kernels, oldest first. Those of one kernel are in no
 * order that means something. What collection frees is not among them.
 *   events  [out, optional]  room for `capacity`. NULL: only the count is asked for
 *   count   [out]            how many are kept
 * Blocks: yes. Returns CLUMP_OK; CLUMP_ERR_TOO_SMALL; CLUMP_ERR_USAGE: the heap has no
 * CLUMP_CHECK_HISTORY; CLUMP_ERR_CL; CLUMP_ERR_HOST_MEMORY. */
CLUMP_API clump_status clump_heap_read_events(clump_heap *heap, clump_event *events,
                                              uint64_t capacity, uint64_t *count);

/* Live objects of one class that were made at one place. */
typedef struct clump_live {
    const char *class_name; /* exact */
    clump_place place;
    uint64_t objects;
} clump_live;

/* METHOD. Which objects there are, by class and place; most first within a class.
 *   live   [out, optional]  room for `capacity`. NULL: only the count is asked for
 *   count  [out]            how many entries there are, also where there is no room for them
 * Blocks: yes. Returns CLUMP_OK; CLUMP_ERR_TOO_SMALL; CLUMP_ERR_USAGE: the heap is not checked;
 * CLUMP_ERR_CL; CLUMP_ERR_HOST_MEMORY. */
CLUMP_API clump_status clump_heap_read_live(clump_heap *heap, clump_live *live, uint64_t capacity,
                                            uint64_t *count);

#ifdef __cplusplus
}
#endif
#endif
