/* Private types of the library: start here after include/clump/clump.h.
 *
 * Glossary: granule, row, block, slot, reference as in cl/core/layout.h, which is shared with the
 * device. "Units" are 64 bytes (CLUMPI_UNIT), in which offsets into the heap buffer are counted.
 *
 * Invariant of all files here: a public call validates its arguments first, fills the context's
 * error record on failure, and leaves its object as it was.
 *
 * Read next: context.c, geometry.c, heap.c, program.c, run.c.
 */
#ifndef CLUMPI_INTERNAL_H
#define CLUMPI_INTERNAL_H

#include <stdatomic.h>

#include "cl/core/layout.h"
#include "clump/clump.h"
#include "core/memory.h"
#include "schema/schema.h"

/* Kernels of the library itself, compiled once per context and word width. */
#define CLUMPI_KERNEL_LIST(X)                                                                      \
    X(init)                                                                                        \
    X(list_count)                                                                                  \
    X(list_write)                                                                                  \
    X(new_count)                                                                                   \
    X(new_claim)                                                                                   \
    X(stats)                                                                                       \
    X(rank_count)                                                                                  \
    X(rank_write)                                                                                  \
    X(field_copy)                                                                                  \
    X(sort_count)                                                                                  \
    X(sort_prefix)                                                                                 \
    X(sort_scatter)                                                                                \
    X(sort_deal)                                                                                   \
    X(sort_finish)                                                                                 \
    X(check_blocks)                                                                                \
    X(check_rest)                                                                                  \
    X(plan_clear)                                                                                  \
    X(plan_histogram)                                                                              \
    X(plan_threshold)                                                                              \
    X(plan_count)                                                                                  \
    X(plan_write)                                                                                  \
    X(plan_pair)                                                                                   \
    X(move)                                                                                        \
    X(fill)                                                                                        \
    X(rewrite)                                                                                     \
    X(null_dangling)                                                                               \
    X(rewrite_outside)                                                                             \
    X(finish)                                                                                      \
    X(rewrite_recompute)                                                                           \
    X(merge_count)                                                                                 \
    X(merge_write)                                                                                 \
    X(merge_claim)                                                                                 \
    X(merge_pair)                                                                                  \
    X(merge_record)                                                                                \
    X(mark_begin)                                                                                  \
    X(mark_roots)                                                                                  \
    X(mark_classes)                                                                                \
    X(mark_step)                                                                                   \
    X(sweep_weak)                                                                                  \
    X(sweep_weak_outside)                                                                          \
    X(sweep_list)                                                                                  \
    X(sweep)                                                                                       \
    X(order_begin)                                                                                 \
    X(order_invert)

typedef enum clumpi_kernel_id {
#define CLUMPI_KERNEL_ENUM(name) CLUMPI_KERNEL_##name,
    CLUMPI_KERNEL_LIST(CLUMPI_KERNEL_ENUM)
#undef CLUMPI_KERNEL_ENUM
        CLUMPI_KERNEL_COUNT
} clumpi_kernel_id;

/* How the library's kernels and do-alls are launched on the device. */
typedef struct clumpi_launch_sizes {
    size_t do_all_global, do_all_local; /* work-items of a do-all */
    size_t changing_local;              /* the same, if it may make or free objects */
    size_t pass_groups; /* of do_all_local work-items, for marking, sweeping and compaction */
    size_t scan_groups, scan_local; /* of the numbering kernels (cl/core/scan.clh) */
} clumpi_launch_sizes;

struct clump_context {
    clump_allocator allocator;
    clump_cl_functions cl;
    cl_context context;
    cl_device_id device;
    cl_command_queue queue;
    clump_capabilities capabilities;
    clumpi_launch_sizes sizes;
    clump_error error;
    int in_order;       /* 0: every command waits for `last` */
    int has_profiling;  /* of the queue */
    cl_event last;      /* last command enqueued, only kept for out-of-order queues */
    cl_program program; /* of the library's kernels; NULL until the first heap needs it */
    cl_kernel kernels[CLUMPI_KERNEL_COUNT];
    size_t group_limits[CLUMPI_KERNEL_COUNT]; /* most work-items in a group, of those made so far */
    clump_pool *pools;                        /* all that were made; destroyed ones are shells */
    _Atomic(uint64_t) pool_bytes, pool_limit; /* of all pools; limit 0: none */
};

/* Geometry of a heap: sizes of rows and blocks, places of the metadata. Computed from schema, bytes
 * and desc alone (geometry.c), so that it can be tested without a device. */
typedef struct clumpi_geometry {
    uint64_t bytes;
    clumpi_header header;                        /* as it goes to the device */
    clumpi_class classes[CLUMP_CLASSES_MAX + 1]; /* likewise */
} clumpi_geometry;

/* What past compactions cost, in microseconds; 0: not known. */
typedef struct clumpi_pace {
    double fixed_us; /* of a run, whatever it moves */
    double us_per_move;
} clumpi_pace;

/* What a collection marks in (cl/core/layout.h): NULL until the first, and after one that failed, since an
 * empty buffer is what the next one expects. */
typedef struct clumpi_marks {
    cl_mem buffer;
    uint32_t capacity; /* of the queue */
    uint64_t bytes;
} clumpi_marks;

/* A registered buffer of references (refs.c). */
struct clump_refs {
    clump_heap *heap;
    clump_refs *next;
    cl_mem buffer; /* retained */
    uint64_t offset, count;
    cl_mem counted; /* retained, or NULL */
    uint64_t counted_at;
    uint32_t stride;
    int null_dangling, weak;
};

typedef struct clumpi_handles clumpi_handles;

struct clump_heap {
    clump_context *context;
    clump_schema *schema; /* own copy */
    clumpi_geometry geometry;
    clump_heap_layout layout;
    cl_mem buffer;
    clump_pool *pool; /* that the buffer is from, or NULL */
    clump_allocation allocation;
    int list_valid;          /* the list in the buffer matches the objects */
    clump_refs *refs;        /* registered buffers of references */
    clumpi_handles *handles; /* NULL until the first one is made */
    clumpi_pace pace;        /* of compaction */
    clumpi_marks marks;      /* of collection */
};

struct clump_program {
    clump_context *context;
    clump_schema *schema; /* what the source was generated from */
    uint32_t granule_bytes, block_granules;
    cl_program program; /* NULL if the build failed */
    char *source, *log;
};

struct clump_kernel {
    clump_program *program;
    cl_kernel kernel;
    size_t group_limit; /* most work-items in a group */
    int fixed;          /* neither makes nor frees objects */
    uint32_t arg_count; /* behind the heap parameter */
    uint8_t *arg_set;   /* per argument: was it set */
};

/* Byte offset of the header, or of a member of it, in the heap's buffer. */
static inline uint64_t clumpi_header_offset(const clump_heap *heap, size_t member) {
    return (uint64_t)heap->geometry.header.self_at * CLUMPI_UNIT + member;
}

/* ---- context.c ---- */

/* Enqueue a kernel. `sync` may be NULL; its event, if asked for, is that of this command. */
clump_status clumpi_enqueue(clump_context *c, cl_kernel kernel, const char *name, size_t global,
                            size_t local, const clump_sync *sync);

/* Blocking transfers, ordered behind everything enqueued. */
clump_status clumpi_read(clump_context *c, cl_mem buffer, uint64_t offset, uint64_t bytes,
                         void *data);
clump_status clumpi_write(clump_context *c, cl_mem buffer, uint64_t offset, uint64_t bytes,
                          const void *data);
/* Fill with zeros; does not block. offset and bytes are multiples of 4. */
clump_status clumpi_clear(clump_context *c, cl_mem buffer, uint64_t offset, uint64_t bytes);
clump_status clumpi_copy(clump_context *c, cl_mem from, uint64_t from_offset, cl_mem to,
                         uint64_t to_offset, uint64_t bytes); /* does not block */
clump_status clumpi_finish(clump_context *c);

/* A buffer of the library's own; `what` is what messages say that it is for. *buffer is NULL on failure,
 * and after release, which takes NULL too. Commands that were enqueued keep it until they are done. */
clump_status clumpi_buffer_create(clump_context *c, uint64_t bytes, const char *what,
                                  cl_mem *buffer);
void clumpi_buffer_release(clump_context *c, cl_mem *buffer);

/* Check a wait list given by a user. */
clump_status clumpi_sync_check(clump_context *c, const clump_sync *sync, const char *call);

/* For calls of many commands: what is enqueued from now on waits for the user's events; an event
 * that completes when all enqueued so far has. */
clump_status clumpi_sync_begin(clump_context *c, const clump_sync *sync);
clump_status clumpi_sync_end(clump_context *c, const clump_sync *sync);

/* The largest work-group that the device runs the kernel in, which can be below the device's own: a
 * multiple of 64 where 64 work-items take a row. */
clump_status clumpi_group_limit(clump_context *c, cl_kernel kernel, const char *name,
                                size_t *limit);
/* As many groups, but of at most `limit` work-items. */
void clumpi_group_fit(size_t limit, size_t *global, size_t *local);

/* One of the library's kernels; builds them all at the first call. NULL on failure (error is set).
 * */
cl_kernel clumpi_library_kernel(clump_context *c, clumpi_kernel_id id);

/* An argument of a kernel, as clSetKernelArg takes it. */
typedef struct clumpi_arg {
    size_t bytes;
    const void *value;
} clumpi_arg;

/* Launch a library kernel; the second, one that begins with the heap and header_at. */
clump_status clumpi_run_kernel(clump_context *c, clumpi_kernel_id id, size_t global, size_t local,
                               const clumpi_arg *args, uint32_t arg_count, const clump_sync *sync);
clump_status clumpi_run_library(clump_heap *heap, clumpi_kernel_id id, size_t global, size_t local,
                                const clumpi_arg *args, uint32_t arg_count, const clump_sync *sync);

/* ---- pool.c ---- */

/* Also of a pool that was destroyed. */
clump_context *clumpi_pool_context(const clump_pool *pool);

/* Give back what destroyed pools leave behind. */
void clumpi_pools_forget(clump_context *c);

/* ---- geometry.c ---- */

/* Units of the null row in front of the header: 64 times the largest object. */
uint32_t clumpi_header_at(const clump_schema *schema);

/* What clump_heap_create() decides. Fails with CLUMP_ERR_CAPACITY and words. */
clump_status clumpi_geometry_compute(const clump_schema *schema, uint64_t bytes,
                                     uint32_t block_rows, uint32_t scan_groups,
                                     uint32_t reduce_groups, clumpi_geometry *geometry,
                                     clump_error *error);

/* ---- columns.c ---- */

/* The columns of all classes (cl/core/layout.h): sets copies, refs and columns_end of classes[id], fills
 * columns[] unless it is NULL, and returns how many there are. */
uint32_t clumpi_columns_build(const clump_schema *schema, clumpi_class *classes,
                              clumpi_column *columns);

/* ---- program.c ---- */

/* The language, unless the user's options (or NULL) name one, and options that turn capabilities into
 * macros, appended to `text`. */
void clumpi_options_append(clumpi_text *text, const clump_context *c, const char *user_options);

/* Sources of the library, without #include lines and with #line marks, appended to `text`. */
void clumpi_source_append(clumpi_text *text, const char *const *names, size_t count);

/* Where the user's source begins in a program's text. */
typedef struct clumpi_user_part {
    const char *name;    /* of the source, as messages tell it */
    uint32_t first_line; /* of the text; counted from 1 */
} clumpi_user_part;

/* Build; on failure the error has the first lines of the log and *log (if not NULL) all of it.
 * `user` is NULL for the library's own programs. */
clump_status clumpi_build(clump_context *c, const char *source, const char *options,
                          const clumpi_user_part *user, cl_program *program, char **log);

/* ---- heap/emit.c ---- */

/* The OpenCL C that a schema generates. */
void clumpi_schema_emit(clumpi_text *text, const clump_schema *schema,
                        const clumpi_geometry *geometry);

/* ---- values.c ---- */

/* Number the objects of the classes first .. last: index[] of their rows in the list, and how many
 * there are. Blocks. */
clump_status clumpi_rank(clump_heap *heap, clumpi_u32 first, clumpi_u32 last, uint64_t *count);

/* CLUMP_OK if `ref` is a live object of the classes first .. last, else CLUMP_ERR_REFERENCE. Blocks. */
clump_status clumpi_ref_check(clump_heap *heap, clump_ref ref, clumpi_u32 first, clumpi_u32 last);

/* ---- refs.c ---- */

/* Unregister what is left, and give up all handles. */
void clumpi_refs_clear(clump_heap *heap);

/* ---- compact/check.c ---- */

/* What clump_compact() would say to this desc before it does anything. */
clump_status clumpi_compact_check(clump_heap *heap, const clump_compact_desc *desc);

/* ---- sort.c ---- */

/* Sort `count` pairs by key, stable. Both buffers have `count` uints; the result is in them. Takes
 * two buffers of the same size while it runs. Blocks: no. On failure the order of the pairs is
 * undefined, and some may be lost. */
clump_status clumpi_sort_pairs(clump_context *c, cl_mem keys, cl_mem values, uint32_t count);

/* ---- run.c ---- */

/* Make the list of rows current if it is not: two launches, or none. */
clump_status clumpi_list_update(clump_heap *heap, const clump_sync *sync);

#endif
