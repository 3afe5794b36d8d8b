/* Heaps: geometry, creation, programs and kernels of users, launches, the list of objects, values
 * of fields, statistics, the check, references outside.
 *
 * May use: core, schema. This header is private to host/heap: it has the struct. Other parts use
 * access.h, program.h, refs.h, checked.h, dense.h, match.h and timed.h.
 *
 * Invariant: between two calls the invariants of cl/core/layout.h hold on the device, as far as the
 * user's kernels keep to the device API; `list_valid` tells whether the list in the buffer is that
 * of the objects.
 *
 * Read first: access.h. Read next: geometry.c, create.c, access.c, program.c, run.c.
 */
#ifndef CLUMPI_HEAP_H
#define CLUMPI_HEAP_H

#include <stdatomic.h>

#include "clump/structs.h"
#include "core/pointers.h"
#include "heap/access.h"
#include "heap/checked.h"
#include "heap/program.h"
#include "heap/refs.h"

/* What each program with a heap launches. It is compiled before the first object is made, so it has
 * nothing else. */
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
    ((clumpi_kernel_id){.library = &clumpi_heap_library, .index = CLUMPI_KERNEL_##name})

/* A program of their own: only for those who make few objects by calls of the host. */
#define CLUMPI_TAKE_KERNELS(X)                                                                     \
    X(take_plan)                                                                                   \
    X(take_claim)
enum { CLUMPI_TAKE_KERNELS(CLUMPI_KERNEL_INDEX) };
extern const clumpi_library clumpi_take_library;
#define CLUMPI_TAKE_KERNEL(name)                                                                   \
    ((clumpi_kernel_id){.library = &clumpi_take_library, .index = CLUMPI_KERNEL_##name})

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
    ((clumpi_kernel_id){.library = &clumpi_check_library, .index = CLUMPI_KERNEL_##name})

/* Likewise: only those who read or write objects as structs need it. */
#define CLUMPI_STRUCT_KERNELS(X)                                                                   \
    X(struct_all)                                                                                  \
    X(struct_arrays)                                                                               \
    X(struct_check)                                                                                \
    X(struct_chosen)                                                                               \
    X(struct_chosen_arrays)
enum { CLUMPI_STRUCT_KERNELS(CLUMPI_KERNEL_INDEX) };
extern const clumpi_library clumpi_struct_library;
#define CLUMPI_STRUCT_KERNEL(name)                                                                 \
    ((clumpi_kernel_id){.library = &clumpi_struct_library, .index = CLUMPI_KERNEL_##name})

/* Likewise: only heaps whose blocks can be evicted need it. */
#define CLUMPI_EVICT_KERNELS(X)                                                                    \
    X(evict_pack)                                                                                  \
    X(evict_fill)                                                                                  \
    X(evict_swap)
enum { CLUMPI_EVICT_KERNELS(CLUMPI_KERNEL_INDEX) };
extern const clumpi_library clumpi_evict_library;
#define CLUMPI_EVICT_KERNEL(name)                                                                  \
    ((clumpi_kernel_id){.library = &clumpi_evict_library, .index = CLUMPI_KERNEL_##name})

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
    ((clumpi_kernel_id){.library = &clumpi_checked_library, .index = CLUMPI_KERNEL_##name})

typedef struct clumpi_handles clumpi_handles;
typedef struct clumpi_checking clumpi_checking;
typedef struct clumpi_eviction clumpi_eviction;

/* How many launches that ask for slots one list is for. */
typedef struct clumpi_window {
    uint64_t lists;  /* how many were made */
    uint32_t asked;  /* launches that asked since the last one */
    uint32_t taken;  /* calls of the host that did (few.c) */
    uint32_t left;   /* that may still go without another one */
    uint32_t covers; /* how many such a list was enough for, when that was told last */
    uint64_t opened; /* the last list that was for several */
    int knows;       /* it was made for a kernel that had run before */
    cl_event told;   /* of the read of `word`, which is to tell it; NULL: none is under way */
    uint32_t word;   /* of list number `told_list` */
    uint64_t told_list;
    uint64_t ask_at;   /* the list from which on such a read is worth it, if nothing else tells */
    uint32_t patience; /* lists from one to the next */
} clumpi_window;

struct clump_heap {
    clump_context *context;
    uint32_t users; /* the caller, until it destroys it; compactors; collectors */
    /* of its memory and layout, which stay as they are as long as this does: no other memory of the
     * context ever had it */
    uint64_t number;
    clumpi_order order;   /* of all that is enqueued for it, on one queue or several */
    clump_schema *schema; /* own copy */
    uint64_t wanted;      /* bytes that were asked for; the buffer has whole blocks */
    clumpi_geometry geometry;
    clump_heap_info info;      /* its schema is the one above; the buffer is in no other place */
    clumpi_eviction *eviction; /* NULL: all blocks have memory */
    /* of a heap in segments (segments.c): blocks of each; 0: the buffer has all */
    uint32_t segment_blocks;
    uint32_t segment_count;
    clumpi_pointers *segments;    /* their memory; that of number 0 is the buffer */
    clumpi_pointed pointed;       /* the pointers to it */
    clumpi_buffer_source *source; /* that the buffer is from, or NULL */
    uint64_t source_number;       /* by which it knows the buffer */
    int may_have_errors;          /* a kernel of the user's ran since they were looked for */
    int errors_on_request;        /* nobody but clump_heap_take_errors() tells them */
    uint64_t errors_told;         /* how many were counted when a call that waits told them last */
    int list_valid;               /* the list in the buffer matches the objects, */
    clumpi_classes list_stale;    /* but for those of these classes */
    /* a list was begun, and its second launch failed: blocks still say that they have reserved
     * slots */
    int list_counted;
    int list_numbered;  /* and its objects are numbered (cl/heap/enumerate.cl) */
    int numbers_wanted; /* a kernel asked for the numbers of this list */
    int reserved;       /* slots may be reserved (cl/core/reserve.clh) */
    /* launches without a list: since something changed, and since the last list; then which change
     * that was, counted from 1, and the last one after which a list was made all the same */
    uint32_t live_run, live_all;
    uint64_t live_change, vain_change;
    clumpi_window window;    /* of the last list (lists.c) */
    uint32_t take_pause;     /* calls that do not try to take what is reserved (few.c) */
    clumpi_u32 list_turn;    /* number of the next list, modulo 2 */
    clumpi_u32 reduced_mark; /* header.reduced_mark, */
    int reduced_known;       /* if no kernel ran since the last clump_heap_reduce() */
    int unsettled;    /* objects may have changed their class since references were settled: 1, or
                       * CLUMPI_UNSETTLED_LEFT */
    clump_refs *refs; /* registered buffers of references */
    clumpi_handles *handles;        /* NULL until the first one is made */
    uint32_t checks;                /* CLUMP_CHECK_...; 0: the heap is not checked */
    clumpi_checking *checking;      /* NULL then */
    int is_plain;                   /* references have no generations for now */
    int is_raw;                     /* made with `raw`, so clump_malloc() works, */
    int has_raw;                    /* as it does where arrays grow */
    int has_ref_arrays;             /* a class has arrays of references of run-time length */
    uint32_t conversions;           /* how often it got another schema: class ids hold until then */
    clumpi_attachments attachments; /* what compaction and collection keep */
};

/* ---- segments.c ---- */

/* The memory of the segments after the first; and the table that leads to it. The heap says how
 * many blocks a segment has. On failure what is there is released with the heap. */
clump_status clumpi_segments_open(clump_heap *heap);
clump_status clumpi_segments_write(clump_heap *heap); /* after the header */
void clumpi_segments_close(clump_heap *heap);

/* Bytes of a segment; of a heap in one buffer, of that buffer. */
uint64_t clumpi_segment_bytes(const clump_heap *heap);

/* Write to the last bytes of each buffer. */
clump_status clumpi_buffers_touch(clump_heap *heap);

/* As clumpi_blocks_read(), the other way. */
clump_status clumpi_blocks_write(const clump_heap *heap, uint64_t offset, uint64_t bytes,
                                 const void *data);

/* ---- evict.c ---- */

/* The last step of making a heap some of whose blocks have no memory. */
clump_status clumpi_eviction_open(clump_heap *heap);
void clumpi_eviction_close(clump_heap *heap);

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

/* What clump_heap_create() decides. `schema` is laid out as the heap will be. Fails with
 * CLUMP_ERR_DEVICE_MEMORY and words. */
clump_status clumpi_geometry_compute(const clump_schema *schema, uint64_t bytes,
                                     uint32_t block_rows, uint32_t scan_groups,
                                     uint32_t reduce_groups, clumpi_extras extras,
                                     clumpi_geometry *geometry, clump_error *error);

/* What a heap of that desc has beside objects, and its schema; nothing on the device. */
clump_status clumpi_heap_prepare(const clump_heap_desc *desc, clump_heap *heap,
                                 clumpi_extras *extras);
/* Its geometry and layout. */
clump_status clumpi_heap_lay_out(clump_heap *heap, uint64_t bytes, uint32_t block_rows,
                                 clumpi_extras extras);

/* Of the notes of requests for runs of raw memory (cl/core/runs.clh). */
static inline uint64_t clumpi_run_notes_bytes(const clumpi_header *h) {
    return CLUMPI_RUN_NOTES_BYTES(/* NOLINT(bugprone-implicit-widening-of-multiplication-result) */
                                  (uint64_t)h->hint_count[0]);
}

/* Blocks that can have memory at a time; of a heap with evictable_bytes fewer than it has. */
static inline uint32_t clumpi_memory_blocks(const clump_heap *heap) {
    const clumpi_geometry *g = &heap->geometry;
    return (g->frames ? g->frames - 1 : g->header.block_end) - g->header.first_block;
}

/* ---- raw.c ---- */

#define CLUMPI_RAW_BYTES_MAX ((UINT64_C(1) << 32) * CLUMPI_RAW_UNIT)

/* How many classes there are for slots up to the largest, a power of two, and the slot of class
 * `index`. In units of CLUMPI_RAW_UNIT. */
uint32_t clumpi_raw_class_count(uint32_t largest);
uint32_t clumpi_raw_slot_units(uint32_t index);

/* The largest slot that blocks are made for, of about `block_bytes`, if the smallest slot of the
 * heap has `smallest` bytes; and the one that blocks of so many bytes have room for. In units. */
uint32_t clumpi_raw_units_wanted(uint64_t block_bytes, uint32_t smallest);
uint32_t clumpi_raw_units_of(uint64_t block_bytes);

/* What kernels reported, of raw memory: is it, and that in words. References are handles (heap.h).
 * Returns CLUMP_ERR_DEVICE. */
int clumpi_is_of_raw(const clump_heap *heap, int kind, const clumpi_error *e);
clump_status clumpi_raw_report(clump_heap *heap, int kind, const clumpi_error *e);

/* For messages: of a class of the schema its name, else what it is. */
const char *clumpi_class_name(const clump_heap *heap, uint32_t id);

/* ---- columns.c ---- */

/* The columns of all classes (cl/core/layout.h): sets copies, refs, weak, arrays, cleared,
 * columns_end and owners_end of each class, fills columns[] unless it is NULL, and returns how many
 * there are. */
uint32_t clumpi_columns_build(const clump_schema *schema, clumpi_geometry *g,
                              clumpi_column *columns);

/* Of a checked heap: the bytes of each class's row that are in no column. Sets g->checked.gaps,
 * fills gaps[] unless it is NULL. */
void clumpi_gaps_build(const clump_schema *schema, clumpi_geometry *g, clumpi_gap *gaps);

/* Write them to the device. Blocks. */
clump_status clumpi_columns_write(clump_heap *heap);

/* ---- heap/emit.c ---- */

/* The OpenCL C that a schema generates; checked: for cl/api/checked.clh. */
void clumpi_schema_emit(clumpi_text *text, const clump_schema *schema,
                        const clumpi_geometry *geometry, int checked);

/* ---- read_accessors.c ---- */

/* Append the user's source, with accessors of fields that are read by these names. */
void clumpi_reads_mark(clumpi_text *text, const clump_schema *schema, const char *source);

/* ---- checked.c: checked heaps. Of others these do nothing ---- */

/* Take over what the desc says (NULL: an ordinary heap), and lay out the heap's schema anew. */
clump_status clumpi_checking_open(clump_heap *heap, const clump_checked_desc *desc,
                                  clumpi_extras *extras);
void clumpi_checking_close(clump_heap *heap);

/* Write what the device has to know; then all memory as nobody wrote it. The metadata are zeros
 * before. */
clump_status clumpi_checking_write(clump_heap *heap);

/* Before and after a kernel of the user is enqueued. */
clump_status clumpi_checking_begin(clump_heap *heap, const clump_kernel *kernel);
clump_status clumpi_checking_end(clump_heap *heap);

/* The plain part of a reference. */
clump_ref clumpi_ref_plain(const clump_heap *heap, clump_ref ref);
/* *is_old: the slot has had other objects since. `ref` is in the heap. Blocks. */
clump_status clumpi_ref_age(clump_heap *heap, clump_ref ref, int *is_old);

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

/* Tells, once, what kernels reported since it was told; of a heap with errors_on_request
 * nothing. */
clump_status clumpi_errors_tell(clump_heap *heap);
/* CLUMP_ERR_USAGE: the caller's values have another size than those of the field. */
clump_status clumpi_fail_size(clump_heap *heap, const char *call, const clump_field_info *f,
                              size_t bytes);
/* CLUMP_OK unless the field is the length of an array with `max` and one of the caller's values is
 * more than its room: CLUMP_ERR_USAGE. From one value to the next are `stride` bytes. */
clump_status clumpi_check_lengths(clump_heap *heap, const clump_field_info *f, const void *lengths,
                                  uint64_t stride, uint64_t count, const char *call);
/* CLUMP_ERR_TOO_SMALL, with both numbers. `what`: references, values, ... */
clump_status clumpi_fail_room(clump_heap *heap, const char *call, const char *what,
                              uint64_t capacity, uint64_t count);

/* Of a checked heap: where the live objects of exactly this class were made. *sites is the caller's
 * to free, or NULL. */
clump_status clumpi_made_read(clump_heap *heap, clumpi_u32 class_id, clumpi_u32 **sites,
                              uint64_t *count);

/* CLUMP_OK if `ref` is a live object of the classes first .. last, else CLUMP_ERR_REFERENCE.
 * Blocks. */
clump_status clumpi_ref_check(clump_heap *heap, clump_ref ref, clumpi_u32 first, clumpi_u32 last);

/* ---- structs.c ---- */

/* Where a row has a field, of all objects. */
clumpi_struct_field clumpi_struct_field_of(const clump_field_info *f);
/* Copy a field of the objects of the classes first .. last, whose rows are ranked, or if `first` is
 * 0 of those that a do-new just made. One launch. */
clump_status clumpi_struct_copy(clump_heap *heap, clumpi_u32 first, clumpi_u32 last,
                                clumpi_struct_field f, cl_mem structs);

/* ---- lists.c ---- */

/* The work-items of a kernel. */
typedef struct clumpi_crowd {
    size_t global, local;
    int only_makes; /* 1: it frees nothing */
} clumpi_crowd;
/* What a launch of the kernel needs: the list that it goes over, slots that are reserved. Two
 * launches, or none. live: it shall go over rows as they are now instead (device_api.clh). */
clump_status clumpi_list_prepare(clump_heap *heap, clump_kernel *k, clumpi_crowd crowd,
                                 const clump_sync *sync, int *live);
/* Is the list that of all objects? */
int clumpi_list_is_current(const clump_heap *heap);
/* Make it anew for all objects, with more reserved for calls that take some (few.c); and one of
 * these made objects of the class. */
clump_status clumpi_list_renew(clump_heap *heap);
void clumpi_list_took(clump_heap *heap, clumpi_u32 class_id);
/* What the device told by now; and what a call read that waited, header.list_covers. */
void clumpi_window_hear(clump_heap *heap);
void clumpi_window_heard(clump_heap *heap, uint32_t covers);
/* With the heap, once its commands have run. */
void clumpi_window_forget(clump_heap *heap);

/* The wait list alone, for the launches before the last of a call, which gives the event. */
clump_sync clumpi_waits_of(const clump_sync *sync);
/* Of later commands of the same call: if what the user's events stand for fails, OpenCL ends those
 * that wait for it, and others of an in-order queue run. They would take what is left of an earlier
 * call for the work of those that did not run. */
const clump_sync *clumpi_still(const clump_heap *heap, const clump_sync *waits);

/* ---- run.c: the parts of a do-new ---- */

/* Can objects of the class be made, so many at once? Its facts, or what is wrong in words. */
clump_status clumpi_new_check(clump_heap *heap, const char *class_name, uint64_t count,
                              const char *call, clump_class_info *info);
/* ---- check.c ---- */

/* What clump_heap_check() does until it knows whether there is a violation: that with the lowest
 * *key, which is UINT32_MAX if there is none. *told: what the kernels were told. Blocks. */
clump_status clumpi_check_find(clump_heap *heap, clumpi_u32 *told, clumpi_u32 *key);

/* ---- refs.c ---- */

/* Unregister all buffers, and give up all handles, at the end of the heap. What callers have of
 * them stays with the context, for clump_refs_destroy(). */
void clumpi_refs_clear(clump_heap *heap);

#endif
