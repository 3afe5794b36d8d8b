/* Heaps: geometry, creation, programs and kernels of users, launches, the list of objects, values of
 * fields, statistics, the check, references outside.
 *
 * May use: core, schema.
 *
 * Invariant: between two calls the invariants of cl/core/layout.h hold on the device, as far as the user's
 * kernels keep to the device API; `list_valid` tells whether the list in the buffer is that of the objects.
 *
 * Read first: core/core.h, schema/schema.h. Read next: geometry.c, heap.c, program.c, run.c.
 */
#ifndef CLUMPI_HEAP_H
#define CLUMPI_HEAP_H

#include <stdatomic.h>

#include "cl/heap/layout.h"
#include "clump/checked.h"
#include "clump/heap.h"
#include "clump/program.h"
#include "clump/refs.h"
#include "clump/run.h"
#include "clump/structs.h"
#include "core/core.h"
#include "core/pointers.h"
#include "schema/schema.h"

/* What each program with a heap launches. It is compiled before the first object is made, so it has nothing else. */
#define CLUMPI_HEAP_KERNELS(X)                                                                     \
    X(init)                                                                                        \
    X(segment_set)                                                                                 \
    X(list_count)                                                                                  \
    X(list_write)                                                                                  \
    X(new_count)                                                                                   \
    X(new_claim)                                                                                   \
    X(new_clear)                                                                                   \
    X(reduce_begin)
enum { CLUMPI_HEAP_KERNELS(CLUMPI_KERNEL_INDEX) };
extern const clumpi_library clumpi_heap_library;
#define CLUMPI_HEAP_KERNEL(name)                                                                   \
    ((clumpi_kernel_id){&clumpi_heap_library, CLUMPI_KERNEL_##name, NULL})

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
    ((clumpi_kernel_id){&clumpi_ask_library, CLUMPI_KERNEL_##name, NULL})

/* A program of their own: most who use a heap never check it. */
#define CLUMPI_CHECK_KERNELS(X)                                                                    \
    X(check_reserved)                                                                              \
    X(check_blocks)                                                                                \
    X(check_rest)                                                                                  \
    X(repair_blocks)                                                                               \
    X(repair_marks)                                                                                \
    X(repair_hints)
enum { CLUMPI_CHECK_KERNELS(CLUMPI_KERNEL_INDEX) };
extern const clumpi_library clumpi_check_library;
#define CLUMPI_CHECK_KERNEL(name)                                                                  \
    ((clumpi_kernel_id){&clumpi_check_library, CLUMPI_KERNEL_##name, NULL})

/* Likewise: only those who read or write objects as structs need it. */
#define CLUMPI_STRUCT_KERNELS(X)                                                                   \
    X(struct_all)                                                                                  \
    X(struct_check)                                                                                \
    X(struct_chosen)
enum { CLUMPI_STRUCT_KERNELS(CLUMPI_KERNEL_INDEX) };
extern const clumpi_library clumpi_struct_library;
#define CLUMPI_STRUCT_KERNEL(name)                                                                 \
    ((clumpi_kernel_id){&clumpi_struct_library, CLUMPI_KERNEL_##name, NULL})

/* Likewise: only heaps whose blocks can be evicted need it. */
#define CLUMPI_EVICT_KERNELS(X)                                                                    \
    X(evict_pack)                                                                                  \
    X(evict_fill)                                                                                  \
    X(evict_swap)
enum { CLUMPI_EVICT_KERNELS(CLUMPI_KERNEL_INDEX) };
extern const clumpi_library clumpi_evict_library;
#define CLUMPI_EVICT_KERNEL(name)                                                                  \
    ((clumpi_kernel_id){&clumpi_evict_library, CLUMPI_KERNEL_##name, NULL})

/* Likewise: only checked heaps need it. */
#define CLUMPI_CHECKED_KERNELS(X)                                                                  \
    X(checked_begin)                                                                               \
    X(checked_new)                                                                                 \
    X(checked_memory)                                                                              \
    X(checked_plain)                                                                               \
    X(checked_refs)                                                                                \
    X(checked_outside)
enum { CLUMPI_CHECKED_KERNELS(CLUMPI_KERNEL_INDEX) };
extern const clumpi_library clumpi_checked_library;
#define CLUMPI_CHECKED_KERNEL(name)                                                                \
    ((clumpi_kernel_id){&clumpi_checked_library, CLUMPI_KERNEL_##name, NULL})

/* Geometry of a heap: sizes of rows and blocks, places of the metadata. Computed from schema, bytes
 * and desc alone (geometry.c), so that it can be tested without a device. */
typedef struct clumpi_geometry {
    uint64_t bytes;
    clumpi_header header;                   /* as it goes to the device */
    clumpi_class classes[CLUMPI_CLASS_IDS]; /* likewise */
    uint32_t segment_blocks;                /* 0: one buffer has all blocks */
    uint32_t
        frames; /* blocks that there is memory for, with the spare one, if some have none; else 0 */
    clumpi_checks checked; /* likewise, but findings; events is 0 if the heap is not checked */
    int has_generations;   /* if there are bits for them */
} clumpi_geometry;

/* A registered buffer of references (refs.c). */
struct clump_refs {
    clump_context *context;
    clump_heap *heap; /* NULL: it was destroyed */
    clump_refs *next; /* of the heap, or of those whose heaps were destroyed */
    cl_mem buffer;    /* retained */
    uint64_t offset, count;
    cl_mem counted; /* retained, or NULL */
    uint64_t counted_at;
    uint32_t stride;
    int null_dangling, weak;
};

typedef struct clumpi_handles clumpi_handles;
typedef struct clumpi_checking clumpi_checking;
typedef struct clumpi_eviction clumpi_eviction;

struct clump_heap {
    clump_context *context;
    uint32_t users;       /* the caller, until it destroys it; compactors; collectors */
    clumpi_order order;   /* of all that is enqueued for it, on one queue or several */
    clump_schema *schema; /* own copy */
    uint64_t wanted;      /* bytes that were asked for; the buffer has whole blocks */
    clumpi_geometry geometry;
    clump_heap_layout layout;
    cl_mem buffer;
    clumpi_eviction *eviction; /* NULL: all blocks have memory */
    uint32_t
        segment_blocks; /* of a heap in segments (segments.c): blocks of each; 0: the buffer has all */
    uint32_t segment_count;
    clumpi_pointers *segments;    /* their memory; that of number 0 is the buffer */
    clumpi_pointed pointed;       /* the pointers to it */
    clumpi_buffer_source *source; /* that the buffer is from, or NULL */
    uint64_t source_number;       /* by which it knows the buffer */
    int list_valid;               /* the list in the buffer matches the objects */
    int list_counted; /* a list was begun, and its second launch failed: blocks still say that they have reserved slots */
    int list_numbered;              /* and its objects are numbered (cl/heap/enumerate.cl) */
    int numbers_wanted;             /* a kernel asked for the numbers of this list */
    int reserved;                   /* slots may be reserved (cl/core/reserve.clh) */
    clumpi_u32 list_turn;           /* number of the next list, modulo 2 */
    clumpi_u32 reduced_mark;        /* header.reduced_mark, */
    int reduced_known;              /* if no kernel ran since the last clump_heap_reduce() */
    clump_refs *refs;               /* registered buffers of references */
    clumpi_handles *handles;        /* NULL until the first one is made */
    uint32_t checks;                /* CLUMP_CHECK_...; 0: the heap is not checked */
    clumpi_checking *checking;      /* NULL then */
    int is_plain;                   /* references have no generations for now */
    int has_raw;                    /* clump_malloc() works */
    int has_ref_arrays;             /* a class has arrays of references of run-time length */
    uint32_t conversions;           /* how often it got another schema: class ids hold until then */
    clumpi_attachments attachments; /* what compaction and collection keep */
};

/* What a program's text takes from the heap that it is made for, beside the schema: another heap can run the program only if
 * it has all of this alike. A member more needs a line in run.c, which compares them, or the library does not build. */
typedef struct clumpi_made_for {
    uint32_t granule_bytes, block_granules;
    uint32_t segment_blocks, at_segments; /* 0: one buffer has all blocks */
    uint32_t has_raw;
    uint32_t checks;
} clumpi_made_for;

struct clump_program {
    clump_context *context;
    uint32_t users;       /* the caller, until it destroys it; kernels */
    clump_schema *schema; /* what the source was generated from */
    clumpi_made_for made_for;
    char *name;         /* of its source */
    cl_program program; /* NULL if the build failed */
    char *source, *options;
    size_t user_at;     /* where the user's source begins in it, */
    uint32_t user_line; /* on this line, counted from 1 */
    clumpi_user_texts texts;
    uint32_t warnings; /* of the compiler */
};

/* A parameter as it was set. */
typedef struct clumpi_kept_arg {
    size_t bytes; /* 0: never set */
    void *value;  /* NULL: local memory. `small`, or memory of its own if it is larger */
    uint64_t small
        [2]; /* buffers, numbers and short vectors: setting these needs no memory, and cannot fail for lack of it */
} clumpi_kept_arg;

struct clump_kernel {
    clump_program *program;
    uint32_t users; /* the caller, until it destroys it; compactors; collectors */
    cl_kernel kernel;
    char *name;
    size_t group_limit; /* most work-items in a group */
    size_t required[3]; /* its reqd_work_group_size, or 0 */
    int fixed;          /* neither makes nor frees objects */
    int numbered;       /* has the parameter CLUMP_NUMBERS */
    uint32_t reduces;   /* bytes of the type of its CLUMP_REDUCE; 0: not known yet */
    uint32_t arg_count; /* after these */
    clumpi_kept_arg *args;
    struct clumpi_fused *fused; /* NULL: it was not made of others */
};

/* Byte offset of the header, or of a member of it, in the heap's buffer. */
static inline uint64_t clumpi_header_offset(const clump_heap *heap, size_t member) {
    return (uint64_t)heap->geometry.header.self_at * CLUMPI_UNIT + member;
}

/* Commands for the heap may be enqueued: each public call begins with it. */
static inline clump_status clumpi_heap_enter(clump_heap *heap) {
    return clumpi_order_enter(heap->context, &heap->order);
}

/* Bytes of a block. */
static inline uint64_t clumpi_block_bytes(const clump_heap *heap) {
    return (uint64_t)heap->layout.granule_bytes * heap->layout.block_granules;
}

/* ---- heap.c ---- */

/* The class of that name, or words that there is none. */
clump_status clumpi_find_class(clump_heap *heap, const char *name, clump_class_info *info);

/* The kernel for this heap: a part may have another program for heaps with arrays of references, and has one more for
 * heaps in segments. */
clumpi_kernel_id clumpi_kernel_of(const clump_heap *heap, clumpi_kernel_id id);

/* Launch a kernel that begins with the heap and header_at, of the program for this heap; `args` are the others. */
#define CLUMPI_HEAP_ARGS_MAX 14u
clump_status clumpi_run_on_heap(clump_heap *heap, clumpi_kernel_id id, size_t global, size_t local,
                                const clumpi_arg *args, uint32_t arg_count, const clump_sync *sync);

/* What a part keeps with the heap under a key, an address that the part owns: made of `bytes` zeros, with the
 * attachment first, when it is asked for the first time. NULL without host memory. */
void *clumpi_heap_keep(clump_heap *heap, const void *key, size_t bytes,
                       void (*release)(clumpi_attachment *, clump_context *));

/* A buffer for the time of a call, of at least *bytes, whose contents are undefined, then *bytes are what it has; and its end. If it takes no more than 1/32 of the
 * heap's memory the heap keeps it for the next call, under a key as above: a driver takes tens of microseconds to make one, and as long
 * again when it is first used. All commands that use it are of this heap. */
clump_status clumpi_scratch_take(clump_heap *heap, const void *key, uint64_t *bytes,
                                 const char *what, cl_mem *buffer);
void clumpi_scratch_give(clump_heap *heap, const void *key, uint64_t bytes, cl_mem *buffer);

/* ---- segments.c ---- */

/* The memory of the segments after the first; and the table that leads to it. The heap says how many blocks a segment has. On
 * failure what is there is released with the heap. */
clump_status clumpi_segments_open(clump_heap *heap);
clump_status clumpi_segments_write(clump_heap *heap); /* after the header */
void clumpi_segments_close(clump_heap *heap);

/* Bytes of a segment; of a heap in one buffer, of that buffer. */
uint64_t clumpi_segment_bytes(const clump_heap *heap);

/* Write to the last bytes of each buffer. */
clump_status clumpi_buffers_touch(clump_heap *heap);

/* Memory of blocks, by its offset as if the heap were one buffer. Blocks, after everything that was enqueued. */
clump_status clumpi_blocks_read(const clump_heap *heap, uint64_t offset, uint64_t bytes,
                                void *data);
clump_status clumpi_blocks_write(const clump_heap *heap, uint64_t offset, uint64_t bytes,
                                 const void *data);

/* ---- evict.c ---- */

/* The last step of making a heap some of whose blocks have no memory. */
clump_status clumpi_eviction_open(clump_heap *heap);
void clumpi_eviction_close(clump_heap *heap);

/* Fails, in words, if objects are evicted: for calls that have to see all of them. */
clump_status clumpi_evicted_refuse(const clump_heap *heap, const char *call);

/* ---- geometry.c ---- */

/* Units of the null row before the header: 64 times the largest object. */
uint32_t clumpi_header_at(const clump_schema *schema);

/* What a heap has besides. All zero: nothing. */
typedef struct clumpi_extras {
    int watched;              /* bits for handles */
    uint32_t events;          /* of a checked heap, a power of two; 0: it is not checked */
    int generations;          /* of its slots, if there are bits for them */
    int raw;                  /* classes of raw memory after those of the schema */
    uint64_t segment_bytes;   /* the largest buffer; 0: one has all */
    uint64_t evictable_bytes; /* of blocks beside those that `bytes` has memory for; 0: none */
} clumpi_extras;

/* What clump_heap_create() decides. `schema` is laid out as the heap will be. Fails with CLUMP_ERR_CAPACITY and
 * words. */
clump_status clumpi_geometry_compute(const clump_schema *schema, uint64_t bytes,
                                     uint32_t block_rows, uint32_t scan_groups,
                                     uint32_t reduce_groups, clumpi_extras extras,
                                     clumpi_geometry *geometry, clump_error *error);

/* Of the notes of requests for runs of raw memory (cl/core/runs.clh). */
static inline uint64_t clumpi_run_notes_bytes(const clumpi_header *h) {
    return CLUMPI_RUN_NOTES_BYTES(/* NOLINT(bugprone-implicit-widening-of-multiplication-result) */
                                  (uint64_t)h->hint_count[0]);
}

/* Classes 1 .. this have objects: those of the schema. */
static inline uint32_t clumpi_object_classes(const clump_heap *heap) {
    return heap->geometry.header.first_raw - 1;
}

/* Blocks that can have memory at a time; of a heap with evictable_bytes fewer than it has. */
static inline uint32_t clumpi_memory_blocks(const clump_heap *heap) {
    const clumpi_geometry *g = &heap->geometry;
    return (g->frames ? g->frames - 1 : g->header.block_end) - g->header.first_block;
}

/* ---- raw.c ---- */

#define CLUMPI_RAW_BYTES_MAX ((UINT64_C(1) << 32) * CLUMPI_RAW_UNIT)

/* How many classes there are for slots up to the largest, a power of two, and the slot of class `index`. In units of
 * CLUMPI_RAW_UNIT. */
uint32_t clumpi_raw_class_count(uint32_t largest);
uint32_t clumpi_raw_slot_units(uint32_t index);

/* The largest slot that blocks are made for, of about `block_bytes`, if the smallest slot of the heap has `smallest`
 * bytes; and the one that blocks of so many bytes have room for. In units. */
uint32_t clumpi_raw_units_wanted(uint64_t block_bytes, uint32_t smallest);
uint32_t clumpi_raw_units_of(uint64_t block_bytes);

/* What kernels reported, of raw memory: is it, and that in words. References are handles (heap.h). Returns CLUMP_ERR_DEVICE. */
int clumpi_is_of_raw(const clump_heap *heap, int kind, const clumpi_error *e);
clump_status clumpi_raw_report(clump_heap *heap, int kind, const clumpi_error *e);

/* For messages: of a class of the schema its name, else what it is. */
const char *clumpi_class_name(const clump_heap *heap, uint32_t id);

/* ---- columns.c ---- */

/* The columns of all classes (cl/core/layout.h): sets copies, refs, weak, arrays, cleared and columns_end of classes[id], fills
 * columns[] unless it is NULL, and returns how many there are. */
uint32_t clumpi_columns_build(const clump_schema *schema, clumpi_class *classes,
                              clumpi_column *columns);

/* Of a checked heap: the bytes of each class's row that are in no column. Sets g->checked.gaps, fills gaps[] unless it
 * is NULL. */
void clumpi_gaps_build(const clump_schema *schema, clumpi_geometry *g, clumpi_gap *gaps);

/* Write them to the device. Blocks. */
clump_status clumpi_columns_write(clump_heap *heap);

/* The fields of a class, then those of its bases, one after the other:
 *     for (clumpi_field_walk w = {.schema = s, .class_id = id}; clumpi_next_field(&w, &f);) */
typedef struct clumpi_field_walk {
    const clump_schema *schema;
    clumpi_u32 class_id; /* the class, then its bases */
    uint32_t next;       /* field of it */
} clumpi_field_walk;
int clumpi_next_field(clumpi_field_walk *walk, clump_field_info *field);
/* Of these the reference fields. */
int clumpi_next_ref(clumpi_field_walk *walk, clump_field_info *field);

/* ---- emit.c ---- */

/* The OpenCL C that a schema generates; checked: for cl/api/checked.clh. */
void clumpi_schema_emit(clumpi_text *text, const clump_schema *schema,
                        const clumpi_geometry *geometry, int checked);

/* ---- read_accessors.c ---- */

/* Names of accessors for what is read, in programs that look for fields that were not written: this, then the name. */
#define CLUMPI_READ_PREFIX "clumpi_read_"

/* Append the user's source, with accessors of fields that are read by these names. */
void clumpi_reads_mark(clumpi_text *text, const clump_schema *schema, const char *source);

/* ---- program.c ---- */

clumpi_made_for clumpi_made_for_heap(const clump_heap *heap);

/* A kernel of a program that is built. */
clump_status clumpi_kernel_make(clump_program *program, const char *name, clump_kernel **kernel);

/* ---- fuse.c ---- */

/* Of a fused kernel: give it the parameters of those that it was made of, if these can run in one launch on the heap. */
clump_status clumpi_fused_prepare(clump_heap *heap, clump_kernel *k, const char *call);
void clumpi_fused_destroy(clump_kernel *k);

/* ---- checked.c: checked heaps. Of others these do nothing ---- */

/* Take over what the desc says (NULL: an ordinary heap), and lay out the heap's schema anew. */
clump_status clumpi_checking_open(clump_heap *heap, const clump_checked_desc *desc,
                                  clumpi_extras *extras);
void clumpi_checking_close(clump_heap *heap);

/* Write what the device has to know; then all memory as nobody wrote it. The metadata are zeros before. */
clump_status clumpi_checking_write(clump_heap *heap);

/* Before and after a kernel of the user is enqueued. */
clump_status clumpi_checking_begin(clump_heap *heap, const clump_kernel *kernel);
clump_status clumpi_checking_end(clump_heap *heap);

/* Objects of a do-new: the list has them, and its kernel has begun. */
clump_status clumpi_checking_new(clump_heap *heap, clumpi_u32 class_id);

/* Around what moves or frees objects: it sees plain references. `begin` within another does nothing, and says so by *is_begun
 * 0, which `end` takes. */
clump_status clumpi_checking_plain_begin(clump_heap *heap, int *is_begun);
clump_status clumpi_checking_plain_end(clump_heap *heap, int is_begun);

/* References that the library made, in a buffer from number `at` on, get their generations. */
clump_status clumpi_checking_name(clump_heap *heap, cl_mem refs, uint64_t at, uint64_t count);

/* References that were given to such a call: without their generations. */
clump_status clumpi_checking_bare(clump_heap *heap, cl_mem refs, uint64_t at, uint64_t count);

/* The plain part of a reference. */
clump_ref clumpi_ref_plain(const clump_heap *heap, clump_ref ref);
/* *is_old: the slot has had other objects since. `ref` is in the heap. Blocks. */
clump_status clumpi_ref_age(clump_heap *heap, clump_ref ref, int *is_old);

/* Compaction, collection or repair moved or freed objects. */
clump_status clumpi_checking_settle(clump_heap *heap);

/* Take over the findings that are on the device, and clear them there. */
clump_status clumpi_checking_collect(clump_heap *heap);
/* `next` is the same heap in other memory: it goes on with what was found in it, and with the names of its kernels. Who made an object that
 * was copied, its copy tells, too. */
void clumpi_checking_hand_over(clump_heap *heap, clump_heap *next);
/* What it was made with; NULL: it is not checked. */
const clump_checked_desc *clumpi_checking_desc(const clump_heap *heap);

/* Kernels reported something: the first finding in words, into `text`; 0: there is none. */
clump_status clumpi_checking_words(clump_heap *heap, char *text, size_t bytes, int *is_told);

/* ---- findings.c: what was found, in words ---- */

typedef struct clumpi_kernel_name {
    char *program, *kernel;
} clumpi_kernel_name;

/* A site of the device, by the table of kernels, whose entry 0 is empty. */
clump_place clumpi_place_of_site(const clumpi_kernel_name *names, uint32_t count, clumpi_u32 site);
/* "kernel move, program.cl:12". Returns `text`. */
#define CLUMPI_PLACE_BYTES 192
const char *clumpi_place_words(clump_place place, char text[CLUMPI_PLACE_BYTES]);
/* All of `finding`. */
void clumpi_finding_describe(const clump_heap *heap, const clumpi_kernel_name *names,
                             uint32_t count, const clumpi_finding *from, clump_finding *finding);

/* ---- values.c ---- */

/* Words for a call that cannot have an array of run-time length, or a part of one that it would write. */
clump_status clumpi_fail_array(clump_heap *heap, const clump_field_info *f, int is_written);

/* Number the objects of the classes first .. last: index[] of their rows in the list, and how many
 * there are. Blocks. */
clump_status clumpi_rank(clump_heap *heap, clumpi_u32 first, clumpi_u32 last, uint64_t *count);
/* The same with the list as it is; header.ranked says how many there are. chosen: NULL, or only objects with a bit there have numbers: two
 * words for each granule from word `chosen_at` on. Does not block. */
clump_status clumpi_rank_enqueue(clump_heap *heap, clumpi_u32 first, clumpi_u32 last, cl_mem chosen,
                                 clumpi_u64 chosen_at);

/* Of a checked heap: where the live objects of exactly this class were made. *sites is the caller's to free, or NULL. */
clump_status clumpi_made_read(clump_heap *heap, clumpi_u32 class_id, clumpi_u32 **sites,
                              uint64_t *count);

/* CLUMP_OK if `ref` is a live object of the classes first .. last, else CLUMP_ERR_REFERENCE. Blocks. */
clump_status clumpi_ref_check(clump_heap *heap, clump_ref ref, clumpi_u32 first, clumpi_u32 last);

/* ---- structs.c ---- */

/* Where a row has a field, of all objects. */
clumpi_struct_field clumpi_struct_field_of(const clump_field_info *f);
/* Copy a field of the objects of the classes first .. last, whose rows are ranked, or if `first` is 0 of those that a
 * do-new just made. One launch. */
clump_status clumpi_struct_copy(clump_heap *heap, clumpi_u32 first, clumpi_u32 last,
                                clumpi_struct_field f, cl_mem structs);

/* ---- check.c ---- */

/* What clump_heap_check() does until it knows whether there is a violation: that with the lowest *key, which is
 * UINT32_MAX if there is none. *told: what the kernels were told. Blocks. */
clump_status clumpi_check_find(clump_heap *heap, clumpi_u32 *told, clumpi_u32 *key);

/* ---- refs.c ---- */

/* Unregister all buffers, and give up all handles, at the end of the heap. What callers have of them stays with
 * the context, for clump_refs_destroy(). */
void clumpi_refs_clear(clump_heap *heap);

/* Handles as a saved heap has them. How many numbers were given out, and how many of them are in use; whether one is; the
 * buffer that has their references, NULL if there is none. */
uint32_t clumpi_handles_used(const clump_heap *heap);
uint32_t clumpi_handles_live(const clump_heap *heap);
int clumpi_handle_is_live(const clump_heap *heap, clump_handle handle);
const clump_refs *clumpi_handles_refs(const clump_heap *heap);

/* Of a heap without handles: `used` numbers, of which `refs` has the references, and `live` which are in use. */
clump_status clumpi_handles_restore(clump_heap *heap, uint32_t used, const clump_ref *refs,
                                    const uint8_t *live);
/* Give all of them up. */
void clumpi_handles_clear(clump_heap *heap);

/* Of a heap that watches its handles, nothing for others: null the handles of freed objects, before objects move or
 * are marked; and watch the objects where they are now, after they moved. */
clump_status clumpi_handles_settle(clump_heap *heap);
clump_status clumpi_handles_watch(clump_heap *heap);

/* ---- run.c ---- */

/* Make the list of rows current if it is not, if `numbered` with numbers, and reserve slots
 * (cl/heap/reserve.clh): two launches, or none. crowd: the work-items of the kernel that it is for, if that may
 * make objects, or NULL. */
typedef struct clumpi_crowd {
    size_t global, local;
} clumpi_crowd;
clump_status clumpi_list_update(clump_heap *heap, int numbered, const clumpi_crowd *crowd,
                                const clump_sync *sync);

/* Can objects of the class be made, so many at once? Its facts, or what is wrong in words. */
clump_status clumpi_new_check(clump_heap *heap, const char *class_name, uint64_t count,
                              clump_class_info *info);
/* Make room for them: new.cl, two launches. The list has the rows of the new objects then. fresh_most: free blocks that are
 * filled before free slots of blocks in use are, at most; UINT32_MAX: as many as are there. */
clump_status clumpi_new_claim(clump_heap *heap, clumpi_u32 class_id, uint64_t count,
                              clumpi_u32 fresh_most, const clump_sync *sync);
/* How many the last one made. Blocks. */
clump_status clumpi_new_made(clump_heap *heap, uint64_t *made);

/* Was each parameter set? */
clump_status clumpi_args_check(const clump_kernel *k, const char *call);

/* Everything that must hold before the first launch of a call, so that a failure changes nothing. */
clump_status clumpi_run_prepare(clump_heap *heap, clump_kernel *k, const clump_sync *sync,
                                const char *call);

/* Give back what is reserved, so that the invariants of cl/core/layout.h hold: one launch, or none. */
clump_status clumpi_unreserve(clump_heap *heap, const clump_sync *sync);

#endif
