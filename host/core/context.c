/* Context: the user's OpenCL objects, the device's capabilities, and what parts keep with it.
 *
 * Read first: core.h. Read next: commands.c.
 */
#include "core/core.h"

#include <time.h>

#include "core/device.h"
#include "core/timeline.h"

static clump_status create(const clump_context_desc *desc, clumpi_needs needs, clump_context *c) {
    c->context = desc->context;
    c->device = desc->device;
    clump_status status = clumpi_cl_resolve(desc->cl, &c->cl, &c->error);
    if (!status) status = clumpi_queues_open(c, desc->queue);
    if (status) return status;
    status = clumpi_device_probe(&c->cl, desc->device, needs, &c->allocator, desc->disable,
                                 desc->personality, &c->capabilities, &c->error);
    c->capabilities.size = sizeof c->capabilities;
    if (!status) clumpi_device_sizes(&c->capabilities, &c->sizes);
    cl_int code = status ? CL_SUCCESS : c->cl.RetainContext(c->context);
    if (code) status = clumpi_fail_cl(&c->error, "clRetainContext", code, "not a context");
    if (status) clumpi_queues_close(c);
    return status;
}

static clump_status make(const clump_context_desc *desc, clumpi_needs needs,
                         clump_context **context, clump_error *error) {
    const clump_allocator *a = &desc->allocator;
    if (!a->allocate != !a->release || !a->allocate != !a->reallocate)
        return clumpi_fail(
            error, CLUMP_ERR_USAGE,
            "clump_allocator: set all three of allocate, reallocate and release, or none");
    clump_allocator allocator = clumpi_allocator_resolve(a);
    clump_context *c = clumpi_alloc(&allocator, sizeof *c);
    if (!c) return clumpi_fail(error, CLUMP_ERR_HOST_MEMORY, "no host memory for a context");
    c->allocator = allocator;
    atomic_init(&c->users, 1);
    if (!clumpi_lock_init(&c->timeline_lock, 1)) {
        clumpi_free(&allocator, c);
        return clumpi_fail(error, CLUMP_ERR_HOST_MEMORY, "no lock for a context");
    }
    clump_status status = clumpi_cache_open(c, &desc->cache);
    c->pool_limit_bytes = desc->pool_limit_bytes;
    if (!status) status = clumpi_compiled_open(c, &desc->compiled);
    if (!status) status = create(desc, needs, c);
    if (status) {
        if (error) *error = c->error;
        clumpi_lock_clear(&c->timeline_lock);
        clumpi_cache_close(c);
        clumpi_free(&allocator, c);
        return status;
    }
    *context = c;
    return CLUMP_OK;
}

clump_status clump_context_create(const clump_context_desc *given, clump_context **context,
                                  clump_error *error) {
    clump_context_desc desc;
    if (context) *context = NULL;
    clump_status status = CLUMPI_TAKE(clump_context_desc, &desc, given, error);
    if (status) return status;
    if (!context || !desc.context || !desc.device || !desc.queue)
        return clumpi_fail(error, CLUMP_ERR_USAGE,
                           "clump_context_create needs a desc with context, device and queue, and "
                           "a pointer for the result");
    return make(&desc, CLUMPI_KERNELS, context, error);
}

clump_status clumpi_context_of_queue(cl_command_queue queue, const clump_allocator *allocator,
                                     const clump_cl_functions *cl, clump_context **context,
                                     clump_error *error) {
    clump_cl_functions table;
    clump_status status = clumpi_cl_resolve(cl, &table, error);
    if (status) return status;
    clump_context_desc desc = {.queue = queue, .allocator = *allocator, .cl = cl};
    cl_int code = table.GetCommandQueueInfo(queue, CL_QUEUE_CONTEXT, sizeof desc.context,
                                            &desc.context, NULL);
    if (!code)
        code = table.GetCommandQueueInfo(queue, CL_QUEUE_DEVICE, sizeof desc.device, &desc.device,
                                         NULL);
    if (code) return clumpi_fail_cl(error, "clGetCommandQueueInfo", code, "is it a valid queue?");
    return make(&desc, CLUMPI_MEMORY_ALONE, context, error);
}

void clumpi_context_use(clump_context *c) {
    atomic_fetch_add(&c->users, 1);
}

void clump_context_destroy(clump_context *c) {
    if (c) clumpi_context_unuse(c);
}

void clumpi_context_unuse(clump_context *c) {
    if (atomic_fetch_sub(&c->users, 1) > 1) return;
    clumpi_attachments_release(&c->attachments, c);
    if (c->no_heap_buffer)
        c->cl.ReleaseMemObject(c->no_heap_buffer);
    else if (c->no_heap)
        c->cl.SVMFree(c->context, c->no_heap);
    clumpi_timeline_release(c);
    clumpi_queues_close(c);
    c->cl.ReleaseContext(c->context);
    clumpi_cache_close(c);
    clumpi_lock_clear(&c->timeline_lock);
    clump_allocator allocator = c->allocator;
    clumpi_free(&allocator, c);
}

const clump_context_info *clump_context_get_info(const clump_context *c) {
    static const clump_context_info none;
    return c ? &c->info : &none;
}

const clump_error *clump_context_get_error(const clump_context *c) {
    return c ? &c->error : &clumpi_error_of_null;
}

static clumpi_attachment *find_from(clumpi_attachment *at, const void *key) {
    while (at && at->key != key) at = at->next;
    return at;
}

clumpi_attachment *clumpi_attachment_find(const clumpi_attachments *list, const void *key) {
    return find_from(atomic_load(list), key);
}

clumpi_attachment *clumpi_attach(clumpi_attachments *list, clumpi_attachment *attachment,
                                 const void *key,
                                 void (*release)(clumpi_attachment *, clump_context *)) {
    *attachment = (clumpi_attachment){atomic_load(list), key, release};
    clumpi_attachment *other;
    do {
        other = find_from(attachment->next, key);
    } while (!other && !atomic_compare_exchange_weak(list, &attachment->next, attachment));
    return other ? other : attachment;
}

void *clumpi_attachment_keep(clumpi_attachments *list, clump_context *c, const void *key,
                             size_t bytes, void (*release)(clumpi_attachment *, clump_context *)) {
    clumpi_attachment *kept = clumpi_attachment_find(list, key);
    if (kept) return kept;
    kept = clumpi_alloc(&c->allocator, bytes);
    if (!kept) return NULL;
    clumpi_attachment *first = clumpi_attach(list, kept, key, release);
    if (first != kept) clumpi_free(&c->allocator, kept);
    return first;
}

void clumpi_attachments_release(clumpi_attachments *list, clump_context *c) {
    for (clumpi_attachment *first; (first = atomic_load(list)) != NULL;) {
        atomic_store(list, first->next);
        first->release(first, c);
    }
}

double clumpi_now_ns(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec * 1e9 + (double)now.tv_nsec;
}
