/* libclump-layer.so: an OpenCL layer that pools, limits, records and reports the memory objects of
 * programs that nobody changes.
 *
 *   program ─> loader ─> layer.c: table of functions ─┬─> the loader's next functions: layer.target
 *                                                     │
 *       contexts.c  contexts and queues, a pool for each context where that is transparent
 *       buffers.c   memory objects are made, retained and released
 *       addresses.c functions that a program asks for by name; unified shared memory
 *       answers.c   what queries about pooled buffers answer
 *       commands.c  commands that drivers do not carry out on sub-buffers
 *       objects.c   the records of live memory objects; the limit
 *       settings.c, trace.c, report.c, place.c   environment, files, places of calls
 *
 * Invariants. A layer is loaded once into a process, so its state is global: `layer`. A process may
 * have several loaders. Each gets a table of its own, and all records are together. Handles are the
 * driver's, so the functions of the first loader do for those of all: `layer.target`. No call into
 * OpenCL is made with layer.lock held, since callbacks of the driver take it. Without a variable in
 * the environment no function is replaced. A pooled buffer is a sub-buffer of a chunk; a program
 * that asks is told what the driver answers about a buffer of its own. In the child of a fork()
 * nothing is recorded, and everything goes to the driver.
 *
 * Read first: docs/guide/layer.md, include/clump/pool.h. Read next: layer.c, buffers.c.
 */
#ifndef TOOLS_LAYER_H
#define TOOLS_LAYER_H

#include <CL/cl_layer.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

#include "clump/pool.h"

/* Most frames that are kept of the stack of a call. */
#define LAYER_FRAMES 16

/* ---- settings.c ---- */

typedef struct layer_settings {
    uint64_t pool_bytes;  /* the largest buffer that is pooled; 0: none is */
    uint64_t limit_bytes; /* of all memory objects of the process; 0: none */
    int no_images;        /* the program makes no images of buffers */
    int trace, report;    /* file descriptors; -1: none */
} layer_settings;

/* Read the environment and open the files. 0: a value is wrong; what and why was written to
 * stderr. */
int layer_settings_read(layer_settings *settings);
int layer_settings_any(const layer_settings *settings);

/* A line to stderr, with the name of the layer before it. */
void layer_say(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* All of a text to a file; 0: it could not be written. */
int layer_write(int file, const char *text, size_t bytes);

/* ---- contexts.c ---- */

/* What the driver says about a buffer of its own with certain flags, and about a sub-buffer of
 * that. */
typedef struct layer_answers {
    cl_mem_flags asked, asked_sub; /* the flags with which they were made */
    int is_sub;
    cl_int code;        /* why the driver makes no such sub-buffer; CL_SUCCESS: it does */
    cl_mem_flags flags; /* CL_MEM_FLAGS */
    void *host;         /* CL_MEM_HOST_PTR */
    int retains_parent; /* the sub-buffer counts as a reference of the buffer */
    struct layer_answers *next;
} layer_answers;

typedef struct layer_queue {
    cl_command_queue queue;
    cl_uint references; /* of the program; 0: released, and `last` is its last command */
    cl_event last;
} layer_queue;

/* What was found out about a device, in a context of the layer's own. Stays. */
typedef struct layer_device {
    struct layer_device *next;
    cl_device_id device;
    const char *refuses; /* why no buffer is pooled there; NULL: buffers are */
    size_t alignment;    /* of sub-buffers */
    /* References of a context by a buffer, a sub-buffer (with its parent there), a queue. */
    cl_uint per_buffer, per_sub, per_queue;
    int map_retains; /* a map is a reference of a buffer, and none of a sub-buffer */
} layer_device;

/* A context whose buffers are pooled. Lives until its end and that of its buffers. */
typedef struct layer_context {
    struct layer_context *next;
    cl_context context;
    const layer_device *device;
    cl_command_queue queue; /* the layer's own: the pool's, and for CL_MEM_COPY_HOST_PTR */
    clump_context *clump;
    clump_pool *pool;
    cl_uint references;  /* of the program */
    cl_uint users;       /* calls that use the pool just now */
    cl_uint pooled;      /* live buffers */
    int has_ended;       /* the pool is gone, or will be with the last user */
    const char *refuses; /* why no buffer is pooled; NULL: buffers are */
    layer_answers *answers;
    pthread_mutex_t queues_lock; /* of queues; OpenCL is called with it held */
    layer_queue *queues;
    cl_uint queue_count, queue_capacity;
    cl_uint own; /* references of the context by what the layer made with it */
} layer_context;

/* A context of the program that has a pool, to be left again; NULL: there is none. */
layer_context *layer_context_enter(cl_context context);
void layer_context_leave(layer_context *c);

/* Forget a buffer. The context may be gone afterwards. */
void layer_context_forget(layer_context *c);

/* What the driver answers; NULL: it cannot be found out. Stays as long as the context. */
const layer_answers *layer_answers_of(layer_context *c, cl_mem_flags flags);
const layer_answers *layer_answers_of_sub(layer_context *c, cl_mem_flags flags, cl_mem_flags sub);

/* Drop the queues that were released and whose commands have completed. */
void layer_queues_poll(layer_context *c);

/* Of the extension cl_khr_create_command_queue. */
cl_command_queue CL_API_CALL layer_create_queue_khr(cl_context context, cl_device_id device,
                                                    const cl_queue_properties *properties,
                                                    cl_int *code_ret);

void layer_contexts_install(cl_icd_dispatch *table);

/* ---- addresses.c ---- */

/* The function of a device's platform with a name, to a pointer to a function; NULL: there is
 * none. */
void layer_address_of(cl_device_id device, const char *name, void *function);

void layer_addresses_install(cl_icd_dispatch *table);

/* ---- objects.c ---- */

typedef enum layer_kind {
    LAYER_BUFFER,
    LAYER_SUB_BUFFER,
    LAYER_IMAGE,
    LAYER_PIPE,
    LAYER_SVM, /* this and the next have no references that OpenCL counts */
    LAYER_USM
} layer_kind;

/* The part of a record that only pooled buffers and their sub-buffers have. */
typedef struct layer_place {
    layer_context *context;
    const layer_answers *answers;
    cl_mem chunk;         /* the buffer of which it is a sub-buffer */
    size_t offset, bytes; /* there */
    /* of a sub-buffer of a pooled buffer: that, with a reference of the layer's; else NULL */
    cl_mem parent;
    size_t origin; /* there */
} layer_place;

typedef struct layer_object {
    struct layer_object *next; /* of the bucket */
    void *handle;              /* cl_mem, or a pointer to the memory */
    uint64_t bytes;            /* 0: memory of another object */
    uint64_t number;           /* the trace names it */
    uintptr_t serial;          /* among all that have had its handle */
    layer_kind kind;
    /* of the program; 0: the driver still has need of it, or has not told its end yet */
    cl_uint references;
    int has_callback;  /* the driver tells when it is gone */
    layer_place place; /* context NULL: not pooled */
    cl_uint hidden;    /* references by sub-buffers which the driver would not count */
    cl_uint maps;      /* of a pooled one */
    int frames;
    void *stack[LAYER_FRAMES];
} layer_object;

/* Count memory that is about to be taken. 0: the limit does not allow it, which is counted. */
int layer_bytes_reserve(uint64_t bytes);
void layer_bytes_return(uint64_t bytes);

/* What the program has released does not count any more, if it is not pooled: some drivers tell its
 * end late. With the lock held. */
void layer_objects_settle(void);

/* Record an object whose bytes were reserved; it has one reference. `place`: NULL if it is not
 * pooled. 0: no host memory, or the driver does not tell of a pooled object's end; nothing was
 * recorded then. */
int layer_object_add(layer_kind kind, void *handle, uint64_t bytes, const layer_place *place);

/* One reference more or less of an object of which there is a record. */
void layer_object_retain(const void *handle);
void layer_object_release(const void *handle);

/* Forget memory that OpenCL does not count references of. */
void layer_object_remove(const void *handle);

/* A copy of the place of a pooled buffer; 0: it is none. */
int layer_object_place(const void *handle, layer_place *place);

/* References that the driver would not count; the number changes by `more`. */
cl_uint layer_object_hide(const void *handle, int more);

/* Count a map of a pooled buffer, or an unmap: `more` is 1 or -1. Does its references' count
 * change, too? */
int layer_object_map(const void *handle, int more);
cl_uint layer_object_maps(const void *handle);

/* ---- buffers.c, answers.c, commands.c ---- */

void layer_buffers_install(cl_icd_dispatch *table);
void layer_answers_install(cl_icd_dispatch *table);
void layer_commands_install(cl_icd_dispatch *table);

/* A result of clGet...Info. */
cl_int layer_answer(const void *answer, size_t bytes, size_t room, void *value, size_t *needed);

/* ---- trace.c ---- With layer.lock held. */

void layer_trace_begin(void);
void layer_trace_alloc(const layer_object *object);
void layer_trace_free(const layer_object *object);
void layer_trace_frame(void);

/* ---- place.c ---- */

/* The first call of the system's function takes memory; this is it. */
void layer_place_begin(void);
void layer_place_note(layer_object *object);

/* Memory of the system's, NULL if there is none: for the report, since a thread that ends the
 * process by a signal's handler may have been in malloc(), which would wait for that thread. */
void *layer_memory(size_t bytes);

/* A line for each frame that is not the layer's or the loader's. */
typedef struct layer_text {
    char *data;
    size_t bytes, capacity;
} layer_text;
void layer_text_add(layer_text *text, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
void layer_place_tell(const layer_object *object, layer_text *text);

/* ---- report.c ---- */

/* Why a buffer is the driver's own. */
typedef enum layer_reason {
    LAYER_CONTEXT,    /* the context has no pool */
    LAYER_FLAGS,      /* it must be elsewhere, or the host's access is restricted */
    LAYER_LARGE,      /* above CLUMP_LAYER_POOL */
    LAYER_PROPERTIES, /* clCreateBufferWithProperties() */
    LAYER_NO_ROOM,    /* the pool has no memory */
    LAYER_DRIVER,     /* a call on the way failed */
    LAYER_REASONS
} layer_reason;

void layer_count_pooled(uint64_t bytes);
void layer_count_refusal(layer_reason reason);
void layer_count_context(const char *why); /* it has no pool */
void layer_count_image_refused(void);
void layer_report(void);

/* ---- layer.c ---- */

typedef struct layer_loader {
    struct layer_loader *next;
    const void *library;   /* where it begins in memory */
    cl_icd_dispatch table; /* what it calls */
} layer_loader;

typedef struct layer_state {
    layer_settings settings;
    const cl_icd_dispatch *target; /* what is called instead of the layer */
    clump_cl_functions cl;         /* the same, for the pool */
    pthread_mutex_t lock;
    int is_child; /* of a fork() */

    atomic_int in_use; /* loaders that have not ended */

    /* Under the lock. */
    layer_loader *loaders; /* all that there were, the last one first */
    layer_context *contexts;
    layer_device *devices;
    layer_object **buckets;
    size_t bucket_count, object_count;
    uintptr_t serials;
    uint64_t objects, bytes, bytes_peak; /* made so far; live */
    uint64_t limited;                    /* refused by the limit */
    int has_changed;                     /* since the last frame of the trace */
} layer_state;

extern layer_state layer;

static inline void layer_lock(void) {
    pthread_mutex_lock(&layer.lock);
}
static inline void layer_unlock(void) {
    pthread_mutex_unlock(&layer.lock);
}

#endif
