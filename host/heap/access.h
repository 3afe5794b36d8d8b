/* How other parts reach a heap: its struct is in heap.h, which only host/heap includes. Beside
 * this header they have program.h, refs.h, checked.h, dense.h, match.h and timed.h.
 *
 * Invariant: between two calls the invariants of cl/core/layout.h hold on the device, as far as
 * the user's kernels keep to the device API; the list in the buffer is that of the objects, or the
 * heap knows that it is not.
 *
 * Read first: core/core.h, schema/schema.h.
 */
#ifndef CLUMPI_ACCESS_H
#define CLUMPI_ACCESS_H

#include "cl/heap/layout.h"
#include "clump/heap.h"
#include "clump/inspect.h"
#include "clump/interop.h"
#include "clump/run.h"
#include "core/core.h"
#include "schema/refusals.h"
#include "schema/schema.h"

/* What the host asks of a heap between launches. */
#define CLUMPI_ASK_KERNELS(X)                                                                      \
    X(unreserve)                                                                                   \
    X(stats)                                                                                       \
    X(rank_count)                                                                                  \
    X(rank_write)                                                                                  \
    X(field_copy)                                                                                  \
    X(watch_settle)                                                                                \
    X(watch_set)
enum { CLUMPI_ASK_KERNELS(CLUMPI_KERNEL_INDEX) };
extern const clumpi_library clumpi_ask_library;
#define CLUMPI_ASK_KERNEL(name)                                                                    \
    ((clumpi_kernel_id){.library = &clumpi_ask_library, .index = CLUMPI_KERNEL_##name})

/* Geometry of a heap: sizes of rows and blocks, places of the metadata. Computed from schema, bytes
 * and desc alone (geometry.c), so that it can be tested without a device. */
typedef struct clumpi_geometry {
    uint64_t bytes;
    clumpi_header header;                   /* as it goes to the device */
    clumpi_class classes[CLUMPI_CLASS_IDS]; /* likewise */
    uint32_t segment_blocks;                /* 0: one buffer has all blocks */
    /* blocks that there is memory for, with the spare one, if some have none; else 0 */
    uint32_t frames;
    clumpi_checks checked; /* likewise, but findings; events is 0 if the heap is not checked */
    int has_generations;   /* if there are bits for them */
} clumpi_geometry;

/* ---- What it is ---- */

/* Its context: the same from creation to the end. */
clump_context *clumpi_heap_context(const clump_heap *heap);

/* Its own copy of the schema, laid out for it: holds until the heap is converted. */
const clump_schema *clumpi_heap_schema(const clump_heap *heap);

/* Where everything is: its own place depends on nothing but the heap's, and what is there
 * changes only by a conversion and by clump_heap_reserve(). */
const clumpi_geometry *clumpi_heap_geometry(const clump_heap *heap) __attribute__((const));

/* The buffer that has the metadata, and all blocks unless the heap is in segments: holds until
 * the heap is converted. */
cl_mem clumpi_heap_buffer(const clump_heap *heap);

/* Has a class arrays of references of run-time length? Holds until the heap is converted. */
int clumpi_heap_has_ref_arrays(const clump_heap *heap);

/* What it is now: CLUMPI_TRAIT_... (schema/refusals.h). */
unsigned clumpi_heap_traits(const clump_heap *heap);

/* CLUMP_OK, or fails in the words of that table if such heaps refuse the operation. `call` is its
 * name in the message. */
clump_status clumpi_heap_refuses(const clump_heap *heap, clumpi_operation operation,
                                 const char *call);

/* How often it was converted: ids of classes, and numbers of fields, hold as long as this is the
 * same. */
uint32_t clumpi_heap_conversions(const clump_heap *heap);

/* Byte offset of the header, or of a member of it, in the heap's buffer. */
static inline uint64_t clumpi_header_offset(const clump_heap *heap, size_t member) {
    return (uint64_t)clumpi_heap_geometry(heap)->header.self_at * CLUMPI_UNIT + member;
}

/* Bytes of a block. */
static inline uint64_t clumpi_block_bytes(const clump_heap *heap) {
    const clumpi_header *h = &clumpi_heap_geometry(heap)->header;
    return (uint64_t)h->granule_bytes * h->block_granules;
}

/* Blocks that objects can be in, evicted ones too. */
static inline uint32_t clumpi_block_count(const clump_heap *heap) {
    const clumpi_header *h = &clumpi_heap_geometry(heap)->header;
    return h->block_end - h->first_block;
}

/* Classes 1 .. this have objects: those of the schema. */
static inline uint32_t clumpi_object_classes(const clump_heap *heap) {
    return clumpi_heap_geometry(heap)->header.first_raw - 1;
}

/* Where a call on it has its words; NULL: there is no heap. */
static inline clump_error *clumpi_heap_error(const clump_heap *heap) {
    return heap ? &clumpi_heap_context(heap)->error : NULL;
}

/* clump_heap_read_stats() for other parts: `classes`, unless it is NULL, has room for all. */
clump_status clumpi_read_stats(clump_heap *heap, clump_heap_stats *heap_stats,
                               clump_class_stats *classes);

/* The class of that name. `call` is named in the message if the heap has none. */
clump_status clumpi_find_class(clump_heap *heap, const char *name, const char *call,
                               clump_class_info *info);
/* The field of that name of a class, its own or inherited. */
clump_status clumpi_find_field(clump_heap *heap, const clump_class_info *c, const char *name,
                               const char *call, clump_field_info *field);

/* ---- Its life ---- */

/* One user more, to whom the heap lasts until its clump_heap_destroy(). */
void clumpi_heap_use(clump_heap *heap);

/* Commands for the heap may be enqueued, after all earlier ones: each public call begins with
 * it. */
clump_status clumpi_heap_enter(clump_heap *heap);
/* The same of calls that wait: they first tell, once, what kernels reported since such a call told
 * it. */
clump_status clumpi_heap_enter_to_wait(clump_heap *heap);

/* A call that found nothing to do: who asked for an event gets one. `sync` was checked. */
clump_status clumpi_heap_pass(clump_heap *heap, const clump_sync *sync);

/* An empty heap like this one, in memory of its own: watched, checked and in the pool as it is.
 * bytes 0: as many. */
clump_status clumpi_heap_create_like(const clump_heap *heap, const clump_schema *schema,
                                     uint64_t bytes, uint32_t block_rows, clump_heap **next);

/* `heap` gets the memory, schema and objects of `next`, which gets its old ones: what callers
 * have refers to `heap`, whose place, users, order, registered buffers and handles stay. */
void clumpi_heap_exchange(clump_heap *heap, clump_heap *next);

/* The end of a heap that was made by create_like(): its objects are copies, so none of them has
 * leaked. NULL: nothing. */
void clumpi_heap_discard(clump_heap *heap);

/* ---- Running kernels on it ---- */

/* The kernel for this heap: its part may have two programs. */
clumpi_kernel_id clumpi_kernel_of(const clump_heap *heap, clumpi_kernel_id id);

/* Launch a kernel that begins with the heap and header_at, of the program for this heap; `args`
 * are the others. */
#define CLUMPI_HEAP_ARGS_MAX 14u
clump_status clumpi_run_on_heap(clump_heap *heap, clumpi_kernel_id id, size_t global, size_t local,
                                const clumpi_arg *args, uint32_t arg_count, const clump_sync *sync);

/* What a part keeps with the heap under a key, an address that the part owns: made of `bytes`
 * zeros, with the attachment first, when it is asked for the first time. NULL without host
 * memory. */
void *clumpi_heap_keep(clump_heap *heap, const void *key, size_t bytes,
                       void (*release)(clumpi_attachment *, clump_context *));

/* The kernel of a program of the library that is compiled like a user's, for this heap: made when
 * it is asked for the first time, and kept under a key as above. */
clump_status clumpi_own_kernel(clump_heap *heap, const void *key, const char *file,
                               const char *name, clump_kernel **kernel);

/* A buffer for the time of a call, of at least *bytes, whose contents are undefined, then *bytes
 * are what it has; and its end. If it takes no more than 1/32 of the heap's memory the heap
 * keeps it for the next call, under a key as above: a driver takes tens of microseconds to make
 * one, and as long again when it is first used. All commands that use it are of this heap. */
clump_status clumpi_scratch_take(clump_heap *heap, const void *key, uint64_t *bytes,
                                 const char *what, cl_mem *buffer);
void clumpi_scratch_give(clump_heap *heap, const void *key, uint64_t bytes, cl_mem *buffer);

/* Make the list of rows current if it is not, if `numbered` with numbers, for a kernel that makes
 * no objects: two launches, or none. */
clump_status clumpi_list_update(clump_heap *heap, int numbered, const clump_sync *sync);

/* Everything that must hold before the first launch of a call, so that a failure changes
 * nothing. */
clump_status clumpi_run_prepare(clump_heap *heap, clump_kernel *k, const clump_sync *sync,
                                const char *call);

/* Give back what is reserved, so that the invariants of cl/core/layout.h hold: one launch, or
 * none. */
clump_status clumpi_unreserve(clump_heap *heap, const clump_sync *sync);

/* The place of the list has something else, or objects are no longer where it says: the next
 * loop makes it anew. Before the command that does so is enqueued. */
void clumpi_list_forget(clump_heap *heap);

/* ---- Its objects and its memory ---- */

/* After a kernel that changed the class of objects: all references lead to their new places, and
 * the old ones are free. Enqueues a few launches, which find out on the device whether there is
 * anything to do. It is of the part compact, which has what rewrites references: the one function
 * that heap calls in a part above it. *unsettled: becomes CLUMPI_UNSETTLED_LEFT when a checked heap
 * knows where the objects went, which a settling that fails after that does not ask again. */
#define CLUMPI_UNSETTLED_LEFT 2
clump_status clumpi_settle(clump_heap *heap, int *unsettled);
/* The same, unless no such kernel was enqueued since. */
clump_status clumpi_heap_settle(clump_heap *heap);

/* Make room for so many objects of a class: new.cl, two launches. The list has the rows of the
 * new objects then. fresh_most: free blocks that are filled before free slots of blocks in use
 * are, at most; UINT32_MAX: as many as are there. */
clump_status clumpi_new_claim(clump_heap *heap, clumpi_u32 class_id, uint64_t count,
                              clumpi_u32 fresh_most, const clump_sync *sync);
/* Then, once: their arrays of run-time length become empty, and a checked heap knows them. */
clump_status clumpi_new_begin(clump_heap *heap, clumpi_u32 class_id, const clump_sync *sync);
/* The same for few objects, of what is reserved: few.cl, two launches, sometimes four. refs[at],
 * ... in a buffer get their references, the list stays, and clumpi_new_begin() is not for them: all
 * their fields are undefined. *is_taken 0: that was not possible, nothing was made. Blocks. The
 * first function says whether it may be worth a try. */
int clumpi_can_take(const clump_heap *heap, clumpi_u32 class_id, uint64_t count);
clump_status clumpi_new_take(clump_heap *heap, clumpi_u32 class_id, uint64_t count, cl_mem refs,
                             uint64_t at, int *is_taken);
/* How many clumpi_new_claim() made room for the last time. Blocks. */
clump_status clumpi_new_made(clump_heap *heap, uint64_t *made);

/* Number the objects of the classes first .. last: index[] of their rows in the list, and how many
 * there are. Blocks. */
clump_status clumpi_rank(clump_heap *heap, clumpi_u32 first, clumpi_u32 last, uint64_t *count);
/* The same with the list as it is; header.ranked says how many there are. chosen: NULL, or only
 * objects with a bit there have numbers: two words for each granule from word `chosen_at` on.
 * Does not block. */
clump_status clumpi_rank_enqueue(clump_heap *heap, clumpi_u32 first, clumpi_u32 last, cl_mem chosen,
                                 clumpi_u64 chosen_at);

/* Memory of blocks, by its offset as if the heap were one buffer. Blocks, after everything that
 * was enqueued. */
clump_status clumpi_blocks_read(const clump_heap *heap, uint64_t offset, uint64_t bytes,
                                void *data);
#endif
