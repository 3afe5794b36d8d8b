/* Contexts and queues of the program: a pool for each context where that is transparent, and the
 * queues in which the pool puts markers when a buffer comes back. Read first: layer.h.
 *
 * The pool holds references of the context and of its queues. Neither may keep them alive for
 * longer than without the layer, nor be seen in a count: the pool ends with the program's last
 * reference of the context, and what is asked for is answered without the layer's share, which is
 * measured when the context is made.
 */
#include <CL/cl_ext.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tools/layer/layer.h"

#define NEXT (layer.target)

/* ---- Finding --------------------------------------------------------------------------------- */

static layer_context *find(cl_context context) {
    layer_context *c = layer.contexts;
    while (c && (c->context != context || c->has_ended)) c = c->next;
    return c;
}

layer_context *layer_context_enter(cl_context context) {
    if (layer.is_child) return NULL;
    layer_lock();
    layer_context *c = find(context);
    if (c && c->refuses) c = NULL;
    if (c) c->users++;
    layer_unlock();
    return c;
}

/* With the lock held: is nothing left of it? Then it is in no list any more. */
static int is_gone(layer_context *c) {
    if (!c->has_ended || c->users || c->pooled) return 0;
    layer_context **at = &layer.contexts;
    while (*at != c) at = &(*at)->next;
    *at = c->next;
    return 1;
}

static void release_pool(layer_context *c) {
    clump_pool_destroy(c->pool);
    clump_context_destroy(c->clump);
    for (cl_uint i = 0; i < c->queue_count; i++)
        if (c->queues[i].last) NEXT->clReleaseEvent(c->queues[i].last);
    if (c->queue) NEXT->clReleaseCommandQueue(c->queue);
    c->pool = NULL;
    c->clump = NULL;
    c->queue = NULL;
    c->queue_count = 0;
}

static void destroy(layer_context *c) {
    for (layer_answers *a = c->answers, *after; a; a = after) {
        after = a->next;
        free(a);
    }
    free(c->queues);
    pthread_mutex_destroy(&c->queues_lock);
    free(c);
}

void layer_context_leave(layer_context *c) {
    layer_lock();
    int is_last = --c->users == 0 && c->has_ended && c->pool; /* it ended meanwhile */
    c->users += (cl_uint)is_last;
    layer_unlock();
    if (is_last) release_pool(c);
    layer_lock();
    c->users -= (cl_uint)is_last;
    int frees = is_gone(c);
    layer_unlock();
    if (frees) destroy(c);
}

void layer_context_forget(layer_context *c) {
    layer_lock();
    c->pooled--;
    int frees = is_gone(c);
    layer_unlock();
    if (frees) destroy(c);
}

/* ---- A pool for a context -------------------------------------------------------------------- */

static cl_uint references_of(cl_context context) {
    cl_uint count = 0;
    NEXT->clGetContextInfo(context, CL_CONTEXT_REFERENCE_COUNT, sizeof count, &count, NULL);
    return count;
}

/* Does a device make images of buffers, and not of sub-buffers? PoCL 3.1 keeps a reference of the
 * context when an image of a buffer is released. Nobody else has this context, and no command of it
 * runs: what is there more than before is released. */
static int makes_images(cl_context context, cl_mem buffer, cl_mem sub) {
    const cl_image_format format = {CL_R, CL_UNSIGNED_INT8};
    const cl_uint before = references_of(context);
    cl_image_desc desc = {.image_type = CL_MEM_OBJECT_IMAGE1D_BUFFER, .image_width = 16};
    cl_int code[2];
    for (int i = 0; i < 2; i++) {
        desc.buffer = i ? sub : buffer;
        cl_mem image =
            NEXT->clCreateImage(context, CL_MEM_READ_WRITE, &format, &desc, NULL, &code[i]);
        if (!code[i]) NEXT->clReleaseMemObject(image);
    }
    for (cl_uint kept = references_of(context); kept > before; kept--)
        NEXT->clReleaseContext(context);
    return code[0] || !code[1];
}

/* References that a map adds to a buffer; -1: it cannot be mapped. */
static int references_of_map(cl_command_queue queue, cl_mem buffer) {
    cl_uint before = 0, mapped = 0;
    cl_int code = CL_SUCCESS;
    NEXT->clGetMemObjectInfo(buffer, CL_MEM_REFERENCE_COUNT, sizeof before, &before, NULL);
    void *memory =
        NEXT->clEnqueueMapBuffer(queue, buffer, CL_TRUE, CL_MAP_READ, 0, 16, 0, NULL, NULL, &code);
    if (!memory) return -1;
    NEXT->clGetMemObjectInfo(buffer, CL_MEM_REFERENCE_COUNT, sizeof mapped, &mapped, NULL);
    NEXT->clEnqueueUnmapMemObject(queue, buffer, memory, 0, NULL, NULL);
    NEXT->clFinish(queue);
    return (int)(mapped - before);
}

static const char *try_maps(layer_device *d, cl_context context, cl_mem buffer, cl_mem sub) {
    cl_int code = CL_SUCCESS;
    cl_uint before = references_of(context);
    cl_command_queue queue = NEXT->clCreateCommandQueue(context, d->device, 0, &code);
    if (code) return "no queue for the pool";
    d->per_queue = references_of(context) - before;
    int whole = references_of_map(queue, buffer), part = references_of_map(queue, sub);
    NEXT->clReleaseCommandQueue(queue);
    d->map_retains = whole > part;
    return part >= 0 && (whole == part || whole == part + 1)
               ? NULL
               : "the device maps sub-buffers in a way that the pool does not support";
}

/* With a buffer and a sub-buffer of the driver's. */
static const char *try_buffers(layer_device *d, cl_context context) {
    static const char no_images[] =
        "the device makes images of buffers, but not of sub-buffers, and a program may need one. "
        "Set CLUMP_LAYER_NO_IMAGES=1 if this program does not";
    cl_int code = CL_SUCCESS;
    cl_uint before = references_of(context), with_buffer = 0;
    const cl_buffer_region region = {d->alignment, d->alignment};
    cl_mem sub = NULL,
           buffer = NEXT->clCreateBuffer(context, CL_MEM_READ_WRITE, 2 * d->alignment, NULL, &code);
    const int has_buffer = !code;
    if (has_buffer) {
        with_buffer = references_of(context);
        sub = NEXT->clCreateSubBuffer(buffer, CL_MEM_READ_WRITE, CL_BUFFER_CREATE_TYPE_REGION,
                                      &region, &code);
    }
    const char *refuses = "the device has no sub-buffers";
    if (has_buffer && !code) {
        d->per_buffer = with_buffer - before;
        d->per_sub = references_of(context) - with_buffer;
        int may = layer.settings.no_images || makes_images(context, buffer, sub);
        refuses = may ? try_maps(d, context, buffer, sub) : no_images;
        NEXT->clReleaseMemObject(sub);
    }
    if (has_buffer) NEXT->clReleaseMemObject(buffer);
    return refuses;
}

/* In a context of the layer's own: what a driver leaves behind is none of the program's then. */
static const char *try_device(layer_device *d) {
    cl_uint bits = 0;
    cl_device_type type = 0;
    cl_int code =
        NEXT->clGetDeviceInfo(d->device, CL_DEVICE_MEM_BASE_ADDR_ALIGN, sizeof bits, &bits, NULL);
    d->alignment = bits / 8;
    /* NVIDIA's driver (580, H100) tells late that a buffer is gone, from a thread of its own, and
     * programs on several threads hung. */
    if (!code) code = NEXT->clGetDeviceInfo(d->device, CL_DEVICE_TYPE, sizeof type, &type, NULL);
    if (!code && !(type & CL_DEVICE_TYPE_CPU)) return "buffers are pooled only on CPUs";
    if (code || d->alignment < 16) return "its device is unknown";
    cl_context context = NEXT->clCreateContext(NULL, 1, &d->device, NULL, NULL, &code);
    if (code) return "the device cannot be tested";
    const char *refuses = try_buffers(d, context);
    NEXT->clReleaseContext(context);
    return refuses;
}

/* Found out once for each device. Two threads may do it at a time; both are right then. NULL: no
 * host memory. */
static const layer_device *device_of(cl_device_id device) {
    layer_lock();
    layer_device *d = layer.devices;
    while (d && d->device != device) d = d->next;
    layer_unlock();
    if (d) return d;
    d = calloc(1, sizeof *d);
    if (!d) return NULL;
    d->device = device;
    d->refuses = try_device(d);
    layer_lock();
    d->next = layer.devices;
    layer.devices = d;
    layer_unlock();
    return d;
}

static const char *make_pool(layer_context *c) {
    cl_int code = CL_SUCCESS;
    cl_uint before = references_of(c->context);
    c->queue = NEXT->clCreateCommandQueue(c->context, c->device->device, 0, &code);
    if (code) c->queue = NULL;
    if (!c->queue) return "no queue for the pool";
    clump_context_desc desc = {.size = sizeof desc,
                               .context = c->context,
                               .device = c->device->device,
                               .queue = c->queue,
                               .cl = &layer.cl};
    clump_error error;
    if (clump_context_create(&desc, &c->clump, &error)) return "the library cannot use the device";
    clump_pool_desc pool = {.size = sizeof pool, .context = c->clump, .name = "layer"};
    if (clump_pool_create(&pool, &c->pool, &error)) return "no host memory for a pool";
    c->own = references_of(c->context) - before;
    return NULL;
}

/* Several devices have memories of their own, between which a driver moves whole buffers. The
 * program's own list counts: PoCL lists for each sub-device the device of which it is a part. */
static const char *prepare(layer_context *c, cl_uint count, const cl_device_id *devices) {
    cl_device_id device = count == 1 ? *devices : NULL;
    cl_int code = CL_SUCCESS;
    if (!devices) {
        code =
            NEXT->clGetContextInfo(c->context, CL_CONTEXT_NUM_DEVICES, sizeof count, &count, NULL);
        if (!code && count == 1)
            code = NEXT->clGetContextInfo(c->context, CL_CONTEXT_DEVICES, sizeof device, &device,
                                          NULL);
    }
    if (code || count != 1) return "it has several devices, or no device";
    c->device = device_of(device);
    if (!c->device) return "its device is unknown";
    return c->device->refuses ? c->device->refuses : make_pool(c);
}

/* Nobody else has the context yet. `devices` NULL: its list is not known. */
static void add_context(cl_context context, cl_uint count, const cl_device_id *devices) {
    layer_context *c = calloc(1, sizeof *c);
    if (!c || pthread_mutex_init(&c->queues_lock, NULL)) {
        free(c);
        return;
    }
    c->context = context;
    c->references = 1;
    c->refuses = prepare(c, count, devices);
    if (c->refuses) {
        release_pool(c);
        layer_count_context(c->refuses);
    }
    layer_lock();
    c->next = layer.contexts;
    layer.contexts = c;
    layer_unlock();
}

/* ---- Functions: contexts --------------------------------------------------------------------- */

static cl_context CL_API_CALL create_context(const cl_context_properties *properties, cl_uint count,
                                             const cl_device_id *devices,
                                             void(CL_CALLBACK *notify)(const char *, const void *,
                                                                       size_t, void *),
                                             void *user, cl_int *code_ret) {
    cl_int code = CL_SUCCESS;
    cl_context made = NEXT->clCreateContext(properties, count, devices, notify, user, &code);
    if (code_ret) *code_ret = code;
    if (made && !code && !layer.is_child) add_context(made, count, devices);
    return made;
}

static cl_context CL_API_CALL
create_context_from_type(const cl_context_properties *properties, cl_device_type type,
                         void(CL_CALLBACK *notify)(const char *, const void *, size_t, void *),
                         void *user, cl_int *code_ret) {
    cl_int code = CL_SUCCESS;
    cl_context made = NEXT->clCreateContextFromType(properties, type, notify, user, &code);
    if (code_ret) *code_ret = code;
    if (made && !code && !layer.is_child) add_context(made, 0, NULL);
    return made;
}

static cl_int CL_API_CALL retain_context(cl_context context) {
    cl_int code = NEXT->clRetainContext(context);
    if (code || layer.is_child) return code;
    layer_lock();
    layer_context *c = find(context);
    if (c) c->references++;
    layer_unlock();
    return code;
}

static cl_int CL_API_CALL release_context(cl_context context) {
    if (!layer.is_child) {
        layer_lock();
        layer_context *c = find(context);
        int is_last = c && --c->references == 0;
        if (is_last) {
            c->has_ended = 1;
            c->users++;
        }
        layer_unlock();
        if (is_last) layer_context_leave(c);
    }
    return NEXT->clReleaseContext(context);
}

/* The layer's share of the references. */
static cl_uint hidden_references(layer_context *c) {
    clump_pool_stats stats = {.size = sizeof stats};
    clump_pool_get_stats(c->pool, &stats, NULL);
    cl_uint hidden = c->own + c->device->per_buffer * (cl_uint)(stats.chunks + stats.unique);
    pthread_mutex_lock(&c->queues_lock);
    for (cl_uint i = 0; i < c->queue_count; i++)
        hidden += c->queues[i].references ? 0 : c->device->per_queue;
    pthread_mutex_unlock(&c->queues_lock);
    layer_lock();
    hidden += c->pooled * (c->device->per_sub - c->device->per_buffer);
    layer_unlock();
    return hidden;
}

static cl_int CL_API_CALL get_context_info(cl_context context, cl_context_info name, size_t room,
                                           void *value, size_t *needed) {
    layer_context *c = name == CL_CONTEXT_REFERENCE_COUNT ? layer_context_enter(context) : NULL;
    if (!c) return NEXT->clGetContextInfo(context, name, room, value, needed);
    cl_uint count = references_of(context) - hidden_references(c);
    layer_context_leave(c);
    return layer_answer(&count, sizeof count, room, value, needed);
}

/* ---- Queues ---------------------------------------------------------------------------------- */

/* With queues_lock held: the pool puts markers into those that are there. */
static void tell_pool(layer_context *c) {
    cl_command_queue *list = calloc(c->queue_count + 1, sizeof *list);
    for (cl_uint i = 0; list && i < c->queue_count; i++) list[i] = c->queues[i].queue;
    if (!list || clump_pool_set_queues(c->pool, c->queue_count, list)) {
        /* Without a marker a region could be given out too early: no buffer is pooled any more. */
        layer_lock();
        c->refuses = "no memory for the list of its queues";
        layer_unlock();
    }
    free(list);
}

static layer_queue *find_queue(layer_context *c, cl_command_queue queue) {
    for (cl_uint i = 0; i < c->queue_count; i++)
        if (c->queues[i].queue == queue && c->queues[i].references) return &c->queues[i];
    return NULL;
}

void layer_queues_poll(layer_context *c) {
    cl_uint kept = 0;
    pthread_mutex_lock(&c->queues_lock);
    for (cl_uint i = 0; i < c->queue_count; i++) {
        layer_queue q = c->queues[i];
        cl_int status = CL_QUEUED;
        if (q.last)
            NEXT->clGetEventInfo(q.last, CL_EVENT_COMMAND_EXECUTION_STATUS, sizeof status, &status,
                                 NULL);
        if (status > CL_COMPLETE)
            c->queues[kept++] = q;
        else
            NEXT->clReleaseEvent(q.last);
    }
    int is_less = kept < c->queue_count;
    c->queue_count = kept;
    if (is_less) tell_pool(c);
    pthread_mutex_unlock(&c->queues_lock);
}

/* The context in whose list a queue is; entered. The queue is valid: the program has a
 * reference. */
static layer_context *context_of(cl_command_queue queue) {
    cl_context context = NULL;
    if (layer.is_child ||
        NEXT->clGetCommandQueueInfo(queue, CL_QUEUE_CONTEXT, sizeof context, &context, NULL))
        return NULL;
    return layer_context_enter(context);
}

/* `code`: what the driver said when it made the queue. It is told to the program. */
static void add_queue(cl_context context, cl_command_queue queue, cl_int code, cl_int *code_ret) {
    if (code_ret) *code_ret = code;
    layer_context *c = queue && !code ? layer_context_enter(context) : NULL;
    cl_command_queue_properties properties = 0;
    if (!c) return;
    NEXT->clGetCommandQueueInfo(queue, CL_QUEUE_PROPERTIES, sizeof properties, &properties, NULL);
    if (properties & CL_QUEUE_ON_DEVICE) { /* its commands end with the kernel that enqueued them */
        layer_context_leave(c);
        return;
    }
    layer_queues_poll(c);
    pthread_mutex_lock(&c->queues_lock);
    if (c->queue_count == c->queue_capacity) {
        cl_uint capacity = 2 * c->queue_capacity + 4;
        layer_queue *queues = realloc(c->queues, capacity * sizeof *queues);
        if (queues) {
            c->queues = queues;
            c->queue_capacity = capacity;
        }
    }
    if (c->queue_count < c->queue_capacity) {
        c->queues[c->queue_count++] = (layer_queue){.queue = queue, .references = 1};
        tell_pool(c);
    } else {
        layer_lock();
        c->refuses = "no memory for the list of its queues";
        layer_unlock();
    }
    pthread_mutex_unlock(&c->queues_lock);
    layer_context_leave(c);
}

static cl_command_queue CL_API_CALL create_queue(cl_context context, cl_device_id device,
                                                 cl_command_queue_properties properties,
                                                 cl_int *code_ret) {
    cl_int code = CL_SUCCESS;
    cl_command_queue made = NEXT->clCreateCommandQueue(context, device, properties, &code);
    add_queue(context, made, code, code_ret);
    return made;
}

static cl_command_queue CL_API_CALL
create_queue_with_properties(cl_context context, cl_device_id device,
                             const cl_queue_properties *properties, cl_int *code_ret) {
    cl_int code = CL_SUCCESS;
    cl_command_queue made =
        NEXT->clCreateCommandQueueWithProperties(context, device, properties, &code);
    add_queue(context, made, code, code_ret);
    return made;
}

cl_command_queue CL_API_CALL layer_create_queue_khr(cl_context context, cl_device_id device,
                                                    const cl_queue_properties *properties,
                                                    cl_int *code_ret) {
    clCreateCommandQueueWithPropertiesKHR_fn found = NULL;
    cl_int code = CL_INVALID_DEVICE;
    cl_command_queue made = NULL;
    layer_address_of(device, "clCreateCommandQueueWithPropertiesKHR", &found);
    if (found) made = found(context, device, properties, &code);
    add_queue(context, made, code, code_ret);
    return made;
}

static cl_int CL_API_CALL retain_queue(cl_command_queue queue) {
    cl_int code = NEXT->clRetainCommandQueue(queue);
    layer_context *c = code ? NULL : context_of(queue);
    if (!c) return code;
    pthread_mutex_lock(&c->queues_lock);
    layer_queue *q = find_queue(c, queue);
    if (q) q->references++;
    pthread_mutex_unlock(&c->queues_lock);
    layer_context_leave(c);
    return code;
}

/* Commands of a queue may still run when it is released: it stays in the list until its last one
 * has completed. */
static void release_queue_of(layer_context *c, cl_command_queue queue) {
    pthread_mutex_lock(&c->queues_lock);
    layer_queue *q = find_queue(c, queue);
    if (q && --q->references == 0) {
        if (NEXT->clEnqueueMarkerWithWaitList(queue, 0, NULL, &q->last))
            q->last = NULL; /* it stays in the list */
        else
            NEXT->clFlush(queue);
    }
    pthread_mutex_unlock(&c->queues_lock);
}

static cl_int CL_API_CALL release_queue(cl_command_queue queue) {
    layer_context *c = context_of(queue);
    if (!c) return NEXT->clReleaseCommandQueue(queue);
    release_queue_of(c, queue);
    cl_int code = NEXT->clReleaseCommandQueue(queue); /* the pool has a reference */
    layer_queues_poll(c);
    layer_context_leave(c);
    return code;
}

/* The program's own references: the driver's count has those of the pool and of commands, which
 * come and go. */
static cl_int CL_API_CALL get_queue_info(cl_command_queue queue, cl_command_queue_info name,
                                         size_t room, void *value, size_t *needed) {
    layer_context *c = name == CL_QUEUE_REFERENCE_COUNT ? context_of(queue) : NULL;
    if (!c) return NEXT->clGetCommandQueueInfo(queue, name, room, value, needed);
    pthread_mutex_lock(&c->queues_lock);
    const layer_queue *q = find_queue(c, queue);
    cl_uint count = q ? q->references : 0;
    pthread_mutex_unlock(&c->queues_lock);
    layer_context_leave(c);
    if (!count) return NEXT->clGetCommandQueueInfo(queue, name, room, value, needed);
    return layer_answer(&count, sizeof count, room, value, needed);
}

void layer_contexts_install(cl_icd_dispatch *table) {
    table->clCreateContext = create_context;
    /* Names no object: what it makes is of the loader whose functions are called. */
    if (table->clCreateContextFromType == NEXT->clCreateContextFromType)
        table->clCreateContextFromType = create_context_from_type;
    table->clRetainContext = retain_context;
    table->clReleaseContext = release_context;
    table->clGetContextInfo = get_context_info;
    table->clCreateCommandQueue = create_queue;
    if (table->clCreateCommandQueueWithProperties)
        table->clCreateCommandQueueWithProperties = create_queue_with_properties;
    table->clRetainCommandQueue = retain_queue;
    table->clReleaseCommandQueue = release_queue;
    table->clGetCommandQueueInfo = get_queue_info;
}
