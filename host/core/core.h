/* Core: the context, its queue, and what every part needs: commands, building programs, kernels of
 * the library, memory (memory.h), the device (device.h), words of failures.
 *
 * May use: nothing else of host/. cl/core/layout.h is shared with the device; its head has the
 * glossary. "Units" are 64 bytes (CLUMPI_UNIT), in which offsets into a heap's buffer are counted.
 *
 * Invariant of all parts: a public call validates its arguments first, fills the context's error
 * record on failure, and leaves its object as it was.
 *
 * Read next: context.c, commands.c, build.c, cache.c, compiled.c, kernels.c; then the part that is
 * asked for.
 */
#ifndef CLUMPI_CORE_H
#define CLUMPI_CORE_H

#include <stdatomic.h>

#include "cl/core/layout.h"
#include "clump/context.h"
#include "clump/devices.h"
#include "core/lock.h"
#include "core/memory.h"

/* How the library's kernels and do-alls are launched on the device. */
typedef struct clumpi_launch_sizes {
    size_t do_all_global, do_all_local; /* work-items of a do-all */
    size_t changing_local;              /* the same, if it may make or free objects */
    size_t copy_global; /* of kernels that copy all objects, in groups of changing_local */
    size_t pass_groups; /* of do_all_local work-items, for marking, sweeping and compaction */
    size_t scan_groups, scan_local; /* of the numbering kernels (cl/core/scan.clh) */
} clumpi_launch_sizes;

/* What a part keeps with a context or a heap, which can only find and release it. */
typedef struct clumpi_attachment clumpi_attachment;
struct clumpi_attachment {
    clumpi_attachment *next;
    const void *key; /* an address that the part owns */
    void (*release)(clumpi_attachment *attachment, clump_context *context);
};

/* The newest first, one of each key. It only grows until it is released, so that threads may search
 * and attach at the same time. */
typedef _Atomic(clumpi_attachment *) clumpi_attachments;

typedef struct clumpi_timeline clumpi_timeline;

/* A queue that the context uses, or that something was last used on. */
typedef struct clumpi_queue clumpi_queue;
typedef struct clumpi_order clumpi_order;
struct clumpi_queue {
    clumpi_queue *next;
    cl_command_queue queue; /* retained */
    int in_order;           /* 0: every command waits for `last` */
    int has_profiling;
    cl_event last;      /* last command enqueued, only kept for out-of-order queues */
    uint32_t users;     /* the context, and orders */
    uint32_t number;    /* of those that the context has seen */
    clumpi_order *user; /* that used it last; NULL: none that is still there */
};

/* Of what has commands on the device from one call to the next, a heap. */
struct clumpi_order {
    clumpi_queue *queue; /* on which it was last used; NULL: it was not used yet */
    cl_event done;       /* its commands there are; NULL: not asked for yet */
};

struct clump_context {
    _Atomic(uint32_t) users; /* the caller, until it destroys it, and all that was made from it */
    clump_allocator allocator;
    clump_cl_functions cl;
    cl_context context;
    cl_device_id device;
    clump_capabilities capabilities;
    clump_context_info info; /* its queue is that of `current` */
    clumpi_launch_sizes sizes;
    clump_error error;
    /* why clump_program_get_kernel() or clump_kernel_with() gave NULL last */
    clump_error kernel_lacks;
    clumpi_queue *own;         /* the one that it was made with; other threads may look */
    clumpi_queue *current;     /* that commands are enqueued on */
    clumpi_queue *queues;      /* all, the newest first */
    uint32_t queue_count;      /* how many were seen */
    clumpi_timeline *timeline; /* NULL: nothing is recorded. timeline.h */
    clumpi_lock timeline_lock; /* of pools on other threads */
    _Atomic(int) has_timeline;
    clumpi_attachments attachments;
    clump_cache cache; /* `load` is NULL if programs are not kept; `folder` is the context's own */
    clump_compiled compiled;   /* whole entries */
    uint64_t pool_limit_bytes; /* of all pools together; 0: none */
    uint64_t heap_count;       /* how many were made: each has a number */
    void *no_heap;             /* memory that no kernel reads: clumpi_point() */
    cl_mem no_heap_buffer;     /* with that address; NULL: it is SVM */
    int divides; /* 1: it was tried, and rounds quotients of float correctly: reproducible.c */
};

/* ---- context.c ---- */

/* A context of a queue's cl_context and device, for memory alone: the device needs no compiler. No
 * kernel may be enqueued on it. It has one user. */
clump_status clumpi_context_of_queue(cl_command_queue queue, const clump_allocator *allocator,
                                     const clump_cl_functions *cl, clump_context **context,
                                     clump_error *error);

/* Who is made from a context is one more user of it: it ends with the last of them, and with what
 * clump_context_destroy() does. Any thread may be the last. */
void clumpi_context_use(clump_context *c);
void clumpi_context_unuse(clump_context *c);

/* Returns the attachment of the key: that of another thread if it came first, and then the one
 * given is still the caller's. */
clumpi_attachment *clumpi_attach(clumpi_attachments *list, clumpi_attachment *attachment,
                                 const void *key,
                                 void (*release)(clumpi_attachment *, clump_context *));
clumpi_attachment *clumpi_attachment_find(const clumpi_attachments *list, const void *key);
/* The attachment of the key, made of `bytes` zeros, with the attachment first, when it is asked for
 * the first time. Of several threads the first makes it. NULL without host memory. */
void *clumpi_attachment_keep(clumpi_attachments *list, clump_context *c, const void *key,
                             size_t bytes, void (*release)(clumpi_attachment *, clump_context *));
void clumpi_attachments_release(clumpi_attachments *list, clump_context *c);

/* The host's clock, counted from an arbitrary time; it only goes forward. */
double clumpi_now_ns(void);

/* ---- queue.c ---- */

/* The queue that a context begins with, if it is of its cl_context and device. */
clump_status clumpi_queues_open(clump_context *c, cl_command_queue queue);
void clumpi_queues_close(clump_context *c);
/* CONSTRUCTOR, DESTRUCTOR. A queue of the library's own beside that in use, in order, for what is
 * to go on at the same time. Its commands are enqueued while c->current is it; events keep the
 * order between the two. */
clump_status clumpi_queue_create(clump_context *c, clumpi_queue **made);
void clumpi_queue_release(clump_context *c, clumpi_queue *q);

/* What has an order is used by the commands of this call: where it was last used on another queue,
 * this one waits. Every public call that enqueues for a heap begins with it; one that works on two
 * heaps does it again before each change from one to the other. */
clump_status clumpi_order_change(clump_context *c, clumpi_order *order);
static inline clump_status clumpi_order_enter(clump_context *c, clumpi_order *order) {
    return order->queue == c->current && order == c->current->user ? CLUMP_OK
                                                                   : clumpi_order_change(c, order);
}
/* Nothing is enqueued for it any more: wait until all is done. */
clump_status clumpi_order_finish(clump_context *c, clumpi_order *order);

/* ---- times.c ---- */

/* When a command was enqueued, began and ended, in ns of the device's clock. What a device tells
 * may be wrong, so all that want to know how long a command ran ask here. */
typedef struct clumpi_times {
    cl_ulong queued, start, end; /* all 0: not known; queued 0: only that is not known */
    int are_known;               /* 1: start <= end, and no longer than it can be */
} clumpi_times;

/* Of a command that has ended: 1, or 0 if its times are not known. `since`: clumpi_now_ns() before
 * it was enqueued; 0: nobody knows. `*code`, unless that is NULL, is that of the call. */
int clumpi_times_read(const clump_cl_functions *cl, cl_event event, double since,
                      clumpi_times *times, cl_int *code);
/* The same, after it has ended, for which this waits. Times that are not known are no failure.
 * `what` is for the words. */
clump_status clumpi_times_of(clump_context *c, cl_event event, const char *what, double since,
                             clumpi_times *times);

/* ---- commands.c ---- */

/* Work-items of a launch, and of each of its groups. A second dimension has one item: it only tells
 * the kernel something. */
typedef struct clumpi_items {
    cl_uint dimensions;
    size_t global, local;
} clumpi_items;

/* Enqueue a kernel. `sync` may be NULL; its event, if asked for, is that of this command. */
clump_status clumpi_enqueue(clump_context *c, cl_kernel kernel, const char *name,
                            clumpi_items items, const clump_sync *sync);

/* Blocking transfers, after everything that was enqueued. */
clump_status clumpi_read(clump_context *c, cl_mem buffer, uint64_t offset, uint64_t bytes,
                         void *data);
clump_status clumpi_write(clump_context *c, cl_mem buffer, uint64_t offset, uint64_t bytes,
                          const void *data);
/* The same without blocking, and after `after`, a command on another queue, unless that is NULL.
 * *event is the caller's, and NULL after a failure; `data` is in use until it has been waited
 * for. */
clump_status clumpi_read_start(clump_context *c, cl_mem buffer, uint64_t offset, uint64_t bytes,
                               void *data, cl_event after, cl_event *event);
clump_status clumpi_write_start(clump_context *c, cl_mem buffer, uint64_t offset, uint64_t bytes,
                                const void *data, cl_event after, cl_event *event);
/* Wait for it, and release it. *event is NULL then. If it was NULL, nothing. */
clump_status clumpi_transfer_wait(clump_context *c, cl_event *event);
/* Host memory that the device's transfers reach without a copy in between. It stays mapped, and is
 * never an argument of a kernel. Both are NULL after a failure. It is released when no transfer
 * uses it any more. */
clump_status clumpi_transfer_memory(clump_context *c, uint64_t bytes, const char *what,
                                    cl_mem *buffer, void **memory);
void clumpi_transfer_memory_release(clump_context *c, cl_mem *buffer, void *memory);
/* Fill with zeros; does not block, except behind the first 2 GiB of a buffer. offset and bytes are
 * multiples of 4. */
clump_status clumpi_clear(clump_context *c, cl_mem buffer, uint64_t offset, uint64_t bytes);
/* One word, likewise. */
clump_status clumpi_set_word(clump_context *c, cl_mem buffer, uint64_t offset, uint32_t word);
clump_status clumpi_copy(clump_context *c, cl_mem from, uint64_t from_offset, cl_mem to,
                         uint64_t to_offset, uint64_t bytes); /* does not block */
clump_status clumpi_finish(clump_context *c);

/* A buffer of the library's own; `what` is what messages say that it is for. *buffer is NULL on
 * failure, and after release, which takes NULL too. Commands that were enqueued keep it until they
 * are done. */
clump_status clumpi_buffer_create(clump_context *c, uint64_t bytes, const char *what,
                                  cl_mem *buffer);
void clumpi_buffer_release(clump_context *c, cl_mem *buffer);

/* Asks for large pages for a buffer that no command has used, on CPUs (pages.c). Blocks there. */
clump_status clumpi_pages_ask(clump_context *c, cl_mem buffer, uint64_t bytes);

/* A buffer that a user gave: of the context? With its size. what: "buffer of references". Returns
 * CLUMP_OK; CLUMP_ERR_USAGE; CLUMP_ERR_CL. */
clump_status clumpi_buffer_check(clump_context *c, cl_mem buffer, const char *what, size_t *bytes);

/* Check a wait list given by a user. */
clump_status clumpi_sync_check(clump_context *c, const clump_sync *sync, const char *call);

/* After a call has waited for its commands: did all that the user's events stand for succeed?
 * Otherwise what was read is of no use. */
clump_status clumpi_sync_outcome(clump_context *c, const clump_sync *sync);

/* For calls of many commands: commands enqueued from now on wait for the user's events; an event
 * that completes when all enqueued so far has, and the outcome. */
clump_status clumpi_sync_begin(clump_context *c, const clump_sync *sync);
clump_status clumpi_sync_end(clump_context *c, const clump_sync *sync);

/* Where a heap's buffer may come from, besides OpenCL itself: the head of a clump_pool. */
typedef struct clumpi_buffer_source clumpi_buffer_source;
struct clumpi_buffer_source {
    clump_context *context;
    clump_status (*take)(clumpi_buffer_source *source, uint64_t bytes, void *owner,
                         uint64_t *number, cl_mem *buffer, clump_error *error);
    void (*give_back)(clumpi_buffer_source *source, uint64_t number);
    /* From now on it is for that one. Cannot fail. */
    void (*set_owner)(clumpi_buffer_source *source, uint64_t number, void *owner);
};

/* ---- build.c ---- */

/* The language, unless the user's options (or NULL) name one, and options that turn capabilities
 * into macros, appended to `text`. */
void clumpi_options_append(clumpi_text *text, const clump_context *c, const char *user_options);

/* Sources of the library, without #include lines and with #line marks, appended to `text`. */
void clumpi_source_append(clumpi_text *text, const char *const *names, size_t count);

/* Where the user's source begins in a program's text. */
typedef struct clumpi_user_part {
    const char *name;    /* of the source, as messages tell it */
    uint32_t first_line; /* of the text; counted from 1 */
} clumpi_user_part;

/* What is known of a user's program beside the program. */
typedef struct clumpi_user_texts {
    char *log; /* of the build */
    /* for clumpi_parameters_find(); NULL: built from source, so OpenCL can be asked */
    char *parameters;
} clumpi_user_texts;

/* Build, or take what is kept; on failure the error has the first lines of the log. `user` and
 * `texts` are
 * NULL for the library's own programs; the caller clears `texts`, also after a failure. */
clump_status clumpi_build(clump_context *c, const char *source, const char *options,
                          const clumpi_user_part *user, cl_program *program,
                          clumpi_user_texts *texts);
void clumpi_user_texts_clear(clump_context *c, clumpi_user_texts *texts);

/* The first two parameters of a kernel. */
typedef struct clumpi_parameters {
    char first[64], second[64]; /* names; empty if longer, or if there is none */
    int is_const;               /* what the first points to */
} clumpi_parameters;

/* OpenCL promises an answer only for programs that were built from source. So what it says then is
 * kept beside the binary: a line for each kernel, "KERNEL 1 FIRST SECOND", with 0 if it is not
 * const. Returns what clGetKernelArgInfo() returns. count: parameters of the kernel. */
cl_int clumpi_parameters_ask(clump_context *c, cl_kernel kernel, cl_uint count,
                             clumpi_parameters *p);
cl_int clumpi_parameters_find(const char *parameters, const char *kernel, clumpi_parameters *p);

/* A parameter of a kernel, as messages tell it. */
typedef struct clumpi_parameter {
    char type[64], name[64]; /* empty if longer, or not known */
} clumpi_parameter;

/* The same for one parameter, counted from 0 with the heap. Kept is, after the line of its kernel,
 * " KERNEL INDEX NAME TYPE". Returns whether both are known. */
int clumpi_parameter_ask(clump_context *c, cl_kernel kernel, cl_uint index, clumpi_parameter *p);
int clumpi_parameter_find(const char *parameters, const char *kernel, cl_uint index,
                          clumpi_parameter *p);

/* ---- cache.c ---- */

/* Take over what the desc says, to be released with the context. */
clump_status clumpi_cache_open(clump_context *c, const clump_cache *cache);
void clumpi_cache_close(clump_context *c);

/* What tells a program from all others, as a text; without data if it cannot be kept. */
clumpi_text clumpi_cache_key(const clump_context *c, const char *source, const char *options);

/* The program, and its texts if it is a user's (else NULL), if there is a good entry of the key,
 * else 0. A key without data has none. */
int clumpi_cache_load(clump_context *c, const clumpi_text *key, const char *options,
                      cl_program *program, clumpi_user_texts *texts);

/* Keep a program that was built from source, with its log if it is a user's (else NULL). */
void clumpi_cache_store(clump_context *c, const clumpi_text *key, cl_program program,
                        const char *log);

/* ---- compiled.c ---- */

/* Take over what the desc says, which stays the caller's. */
clump_status clumpi_compiled_open(clump_context *c, const clump_compiled *compiled);

/* The program, and its texts if it is a user's (else NULL), if it was compiled ahead of time and
 * the device takes it; else 0. The note says which, in a line; it stays empty if the context has no
 * such programs. */
int clumpi_compiled_load(clump_context *c, const char *source, const char *options,
                         cl_program *program, clumpi_user_texts *texts, clumpi_text *note);

/* ---- kernels.c ---- */

/* The largest work-group that the device runs the kernel in, which can be below the device's own: a
 * multiple of 64 where 64 work-items take a row. */
clump_status clumpi_group_limit(clump_context *c, cl_kernel kernel, const char *name,
                                size_t *limit);
/* As many groups, but of at most `limit` work-items. */
void clumpi_group_fit(size_t limit, size_t *global, size_t *local);

/* The kernels of a part: one program, built when the first of them is asked for. A part lists them
 * as PART_KERNELS(X) in its header, for an enum and for the names. */
typedef struct clumpi_library {
    const char *const *files; /* of cl/ or `own`, in order of inclusion */
    size_t file_count;
    const char *const *kernels; /* names */
    size_t kernel_count;
    const char *options; /* beside those of all parts, or NULL */
    /* The same for heaps with arrays of references of run-time length, or NULL: this program does
     * for them, too. */
    const struct clumpi_library *arrays;
    /* Files that are not of cl/, a table that ends in an element without a name; or NULL. */
    const struct clumpi_cl_file *own;
} clumpi_library;

/* Its files, as by clumpi_source_append(). */
void clumpi_library_append(clumpi_text *text, const clumpi_library *library);

/* Of the arrays kernel_files and kernel_names. */
#define CLUMPI_LIBRARY(options, arrays)                                                            \
    {                                                                                              \
        kernel_files, sizeof kernel_files / sizeof *kernel_files, kernel_names,                    \
            sizeof kernel_names / sizeof *kernel_names, options, arrays, NULL                      \
    }
#define CLUMPI_KERNEL_INDEX(name) CLUMPI_KERNEL_##name,
#define CLUMPI_KERNEL_NAME(name) "clumpi_" #name,

/* Memory that kernels find by pointers which a heap has in its buffer: OpenCL has to be told of it
 * for each kernel. */
typedef struct clumpi_pointed {
    size_t count; /* 0: none */
    void **pointers;
} clumpi_pointed;

typedef struct clumpi_kernel_id {
    const clumpi_library *library;
    uint32_t index;
    /* not NULL: the kernel of the part's program for heaps in segments */
    const clumpi_pointed *pointed;
    /* not 0: the first argument is the buffer of the heap of this number, which a kernel that has
     * it is not given again, nor what `pointed` has */
    uint64_t heap;
} clumpi_kernel_id;

/* Tell OpenCL what a kernel finds by pointers. OpenCL keeps that until it is told otherwise, and
 * has no way to say "nothing": a kernel that served a heap with pointers is told of `no_heap` for
 * one without, so that it never names memory which is gone. */
clump_status clumpi_point(clump_context *c, cl_kernel kernel, const clumpi_pointed *pointed);

/* An argument of a kernel, as clSetKernelArg takes it. */
typedef struct clumpi_arg {
    size_t bytes;
    const void *value;
} clumpi_arg;

/* Build the program of a kernel, unless the context has it: a launch that comes later does not have
 * to. */
clump_status clumpi_build_library(clump_context *c, clumpi_kernel_id id);

/* Launch a kernel of the library. Its program is built at its first launch. */
clump_status clumpi_run_kernel(clump_context *c, clumpi_kernel_id id, size_t global, size_t local,
                               const clumpi_arg *args, uint32_t arg_count, const clump_sync *sync);

#endif
