/* Context: the user's OpenCL objects, the commands enqueued on the queue, the library's own
 * kernels.
 *
 * Invariant: on an out-of-order queue `last` is the event of the last command enqueued, and every
 * command waits for it; on an in-order queue `last` stays NULL.
 *
 * Read first: core.h.
 */
#include "core/core.h"

#include <stdio.h>
#include <string.h>

#include "core/device.h"

static clump_status take_objects(const clump_context_desc *desc, clump_context *c) {
    c->context = desc->context;
    c->device = desc->device;
    c->queue = desc->queue;
    cl_context owner = NULL;
    cl_device_id device = NULL;
    cl_command_queue_properties properties = 0;
    cl_int code = c->cl.GetCommandQueueInfo(c->queue, CL_QUEUE_CONTEXT, sizeof owner, &owner, NULL);
    if (!code)
        code = c->cl.GetCommandQueueInfo(c->queue, CL_QUEUE_DEVICE, sizeof device, &device, NULL);
    if (!code)
        code = c->cl.GetCommandQueueInfo(c->queue, CL_QUEUE_PROPERTIES, sizeof properties,
                                         &properties, NULL);
    if (code) return clumpi_fail_cl(&c->error, "clGetCommandQueueInfo", code, "is it a queue?");
    if (owner != desc->context)
        return clumpi_fail(&c->error, CLUMP_ERR_USAGE,
                           "the queue belongs to another cl_context than the one given");
    if (device != desc->device)
        return clumpi_fail(&c->error, CLUMP_ERR_USAGE,
                           "the queue belongs to another device than the one given");
    c->in_order = !(properties & CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE);
    c->has_profiling = (properties & CL_QUEUE_PROFILING_ENABLE) != 0;
    return CLUMP_OK;
}

static clump_status create(const clump_context_desc *desc, clump_context *c) {
    c->cl = clumpi_cl_resolve(desc->cl);
    clump_status status = take_objects(desc, c);
    if (!status)
        status = clumpi_device_probe(&c->cl, desc->device, desc->disable, desc->personality,
                                     &c->capabilities, &c->error);
    if (status) return status;
    clumpi_device_sizes(&c->capabilities, &c->sizes);
    cl_int code = c->cl.RetainContext(c->context);
    if (code) return clumpi_fail_cl(&c->error, "clRetainContext", code, "not a context");
    code = c->cl.RetainCommandQueue(c->queue);
    if (code) {
        c->cl.ReleaseContext(c->context);
        return clumpi_fail_cl(&c->error, "clRetainCommandQueue", code, "not a queue");
    }
    return CLUMP_OK;
}

clump_status clump_context_create(const clump_context_desc *desc, clump_context **context,
                                  clump_error *error) {
    if (context) *context = NULL;
    if (!desc || !context || !desc->context || !desc->device || !desc->queue)
        return clumpi_fail(error, CLUMP_ERR_USAGE,
                           "clump_context_create needs a desc with context, device and queue, and "
                           "a place for the result");
    const clump_allocator *a = &desc->allocator;
    if (!a->allocate != !a->release || !a->allocate != !a->reallocate)
        return clumpi_fail(error, CLUMP_ERR_USAGE,
                           "clump_allocator: set all of allocate, reallocate, release, or none");
    clump_allocator allocator = clumpi_allocator_resolve(a);
    clump_context *c = clumpi_alloc(&allocator, sizeof *c);
    if (!c) return clumpi_fail(error, CLUMP_ERR_MEMORY, "no host memory for a context");
    c->allocator = allocator;
    clump_status status = create(desc, c);
    if (status) {
        if (error) *error = c->error;
        clumpi_free(&allocator, c);
        return status;
    }
    *context = c;
    return CLUMP_OK;
}

void clump_context_destroy(clump_context *c) {
    if (!c) return;
    for (int i = 0; i < CLUMPI_KERNEL_COUNT; i++)
        if (c->kernels[i]) c->cl.ReleaseKernel(c->kernels[i]);
    if (c->program) c->cl.ReleaseProgram(c->program);
    if (c->last) c->cl.ReleaseEvent(c->last);
    c->cl.ReleaseCommandQueue(c->queue);
    c->cl.ReleaseContext(c->context);
    clumpi_pools_forget(c);
    clump_allocator allocator = c->allocator;
    clumpi_free(&allocator, c);
}

const clump_capabilities *clump_context_get_capabilities(const clump_context *c) {
    return &c->capabilities;
}

const clump_error *clump_context_get_error(const clump_context *c) {
    return &c->error;
}

clump_status clumpi_sync_check(clump_context *c, const clump_sync *sync, const char *call) {
    if (sync && !sync->wait_count != !sync->wait_list)
        return clumpi_fail(&c->error, CLUMP_ERR_USAGE,
                           "%s: wait_count and wait_list must be both zero or both set", call);
    return CLUMP_OK;
}

/* On an out-of-order queue: remember the event as the one to wait for. Takes over `event`. */
static void remember(clump_context *c, cl_event event) {
    if (c->last) c->cl.ReleaseEvent(c->last);
    c->last = event;
}

/* The user's wait list must be joined with `last` where the queue does not keep the order. */
static clump_status wait_for_user(clump_context *c, const clump_sync *sync) {
    if (c->in_order || !sync || !sync->wait_count) return CLUMP_OK;
    cl_event all = NULL;
    cl_int code =
        c->cl.EnqueueMarkerWithWaitList(c->queue, sync->wait_count, sync->wait_list, &all);
    if (code) return clumpi_fail_cl(&c->error, "clEnqueueMarkerWithWaitList", code, "wait list");
    cl_event both[2] = {all, c->last}, joined = NULL;
    code = c->cl.EnqueueMarkerWithWaitList(c->queue, c->last ? 2 : 1, both, &joined);
    c->cl.ReleaseEvent(all);
    if (code) return clumpi_fail_cl(&c->error, "clEnqueueMarkerWithWaitList", code, "wait list");
    remember(c, joined);
    return CLUMP_OK;
}

clump_status clumpi_sync_begin(clump_context *c, const clump_sync *sync) {
    if (!c->in_order) return wait_for_user(c, sync);
    if (!sync || !sync->wait_count) return CLUMP_OK;
    cl_int code =
        c->cl.EnqueueMarkerWithWaitList(c->queue, sync->wait_count, sync->wait_list, NULL);
    if (code) return clumpi_fail_cl(&c->error, "clEnqueueMarkerWithWaitList", code, "wait list");
    return CLUMP_OK;
}

clump_status clumpi_sync_end(clump_context *c, const clump_sync *sync) {
    if (!sync || !sync->event) return CLUMP_OK;
    cl_int code = c->cl.EnqueueMarkerWithWaitList(c->queue, c->last ? 1 : 0,
                                                  c->last ? &c->last : NULL, sync->event);
    if (code) return clumpi_fail_cl(&c->error, "clEnqueueMarkerWithWaitList", code, "event");
    return CLUMP_OK;
}

clump_status clumpi_enqueue(clump_context *c, cl_kernel kernel, const char *name, size_t global,
                            size_t local, const clump_sync *sync) {
    clump_status status = wait_for_user(c, sync);
    if (status) return status;
    cl_event event = NULL;
    int want = (sync && sync->event) || !c->in_order;
    cl_uint waits = c->in_order ? (sync ? sync->wait_count : 0) : (c->last ? 1 : 0);
    const cl_event *list = c->in_order ? (sync ? sync->wait_list : NULL) : &c->last;
    cl_int code = c->cl.EnqueueNDRangeKernel(c->queue, kernel, 1, NULL, &global, &local, waits,
                                             waits ? list : NULL, want ? &event : NULL);
    if (code)
        return clumpi_fail_cl(&c->error, "clEnqueueNDRangeKernel", code,
                              "kernel %s, %zu work-items in groups of %zu", name, global, local);
    if (!c->in_order) {
        code = sync && sync->event ? c->cl.RetainEvent(event) : CL_SUCCESS;
        remember(c, event);
        if (code) return clumpi_fail_cl(&c->error, "clRetainEvent", code, "kernel %s", name);
    }
    if (sync && sync->event) *sync->event = event;
    return CLUMP_OK;
}

clump_status clumpi_read(clump_context *c, cl_mem buffer, uint64_t offset, uint64_t bytes,
                         void *data) {
    if (bytes == 0) return CLUMP_OK;
    cl_int code = c->cl.EnqueueReadBuffer(c->queue, buffer, CL_TRUE, offset, bytes, data,
                                          c->last ? 1 : 0, c->last ? &c->last : NULL, NULL);
    if (code)
        return clumpi_fail_cl(&c->error, "clEnqueueReadBuffer", code, "%llu bytes at %llu",
                              (unsigned long long)bytes, (unsigned long long)offset);
    return CLUMP_OK;
}

clump_status clumpi_write(clump_context *c, cl_mem buffer, uint64_t offset, uint64_t bytes,
                          const void *data) {
    if (bytes == 0) return CLUMP_OK;
    cl_event event = NULL;
    cl_int code =
        c->cl.EnqueueWriteBuffer(c->queue, buffer, CL_TRUE, offset, bytes, data, c->last ? 1 : 0,
                                 c->last ? &c->last : NULL, c->in_order ? NULL : &event);
    if (code)
        return clumpi_fail_cl(&c->error, "clEnqueueWriteBuffer", code, "%llu bytes at %llu",
                              (unsigned long long)bytes, (unsigned long long)offset);
    if (c->in_order) return CLUMP_OK;
    /* A blocking write of less than 512 bytes does not block on out-of-order queues of Intel's CPU
     * runtime 2026.22 (docs/portability.md), so its event is waited for. */
    code = c->cl.WaitForEvents(1, &event);
    c->cl.ReleaseEvent(event);
    if (code) return clumpi_fail_cl(&c->error, "clWaitForEvents", code, "a write");
    return CLUMP_OK;
}

/* NVIDIA's fill has been seen to fail or hang from 2 GiB on (inducer/pyopencl issue 395). */
#define CLEAR_BYTES_MOST (UINT64_C(256) << 20)

static clump_status clear_piece(clump_context *c, cl_mem buffer, uint64_t offset, uint64_t bytes) {
    const uint32_t zero = 0;
    cl_event event = NULL;
    cl_int code = c->cl.EnqueueFillBuffer(c->queue, buffer, &zero, sizeof zero, offset, bytes,
                                          c->last ? 1 : 0, c->last ? &c->last : NULL,
                                          c->in_order ? NULL : &event);
    if (code)
        return clumpi_fail_cl(&c->error, "clEnqueueFillBuffer", code, "%llu bytes at %llu",
                              (unsigned long long)bytes, (unsigned long long)offset);
    if (!c->in_order) remember(c, event);
    return CLUMP_OK;
}

clump_status clumpi_clear(clump_context *c, cl_mem buffer, uint64_t offset, uint64_t bytes) {
    clump_status status = CLUMP_OK;
    while (bytes && !status) {
        uint64_t piece = bytes < CLEAR_BYTES_MOST ? bytes : CLEAR_BYTES_MOST;
        status = clear_piece(c, buffer, offset, piece);
        offset += piece;
        bytes -= piece;
    }
    return status;
}

clump_status clumpi_copy(clump_context *c, cl_mem from, uint64_t from_offset, cl_mem to,
                         uint64_t to_offset, uint64_t bytes) {
    cl_event event = NULL;
    cl_int code =
        c->cl.EnqueueCopyBuffer(c->queue, from, to, from_offset, to_offset, bytes, c->last ? 1 : 0,
                                c->last ? &c->last : NULL, c->in_order ? NULL : &event);
    if (code)
        return clumpi_fail_cl(&c->error, "clEnqueueCopyBuffer", code, "%llu bytes",
                              (unsigned long long)bytes);
    if (!c->in_order) remember(c, event);
    return CLUMP_OK;
}

clump_status clumpi_buffer_create(clump_context *c, uint64_t bytes, const char *what,
                                  cl_mem *buffer) {
    cl_int code = CL_SUCCESS;
    *buffer = c->cl.CreateBuffer(c->context, CL_MEM_READ_WRITE, bytes, NULL, &code);
    if (!code) return CLUMP_OK;
    *buffer = NULL;
    return clumpi_fail_cl(&c->error, "clCreateBuffer", code, "%llu bytes for %s",
                          (unsigned long long)bytes, what);
}

void clumpi_buffer_release(clump_context *c, cl_mem *buffer) {
    if (*buffer) c->cl.ReleaseMemObject(*buffer);
    *buffer = NULL;
}

clump_status clumpi_finish(clump_context *c) {
    cl_int code = c->cl.Finish(c->queue);
    if (code) return clumpi_fail_cl(&c->error, "clFinish", code, "work enqueued before has failed");
    return CLUMP_OK;
}

static const char *const kernel_names[CLUMPI_KERNEL_COUNT] = {
#define KERNEL_NAME(name) "clumpi_" #name,
    CLUMPI_KERNEL_LIST(KERNEL_NAME)
#undef KERNEL_NAME
};

static clump_status build_library(clump_context *c) {
    static const char *const files[] = {"cl/core/layout.h",          "cl/core/prelude.clh",
                                        "cl/core/bitmap.clh",        "cl/core/block.clh",
                                        "cl/core/scan.clh",          "cl/heap/init.cl",
                                        "cl/heap/enumerate.cl",      "cl/heap/new.cl",
                                        "cl/heap/stats.cl",          "cl/heap/fields.cl",
                                        "cl/sort/sort.cl",           "cl/heap/check.cl",
                                        "cl/compact/plan.clh",       "cl/compact/reach.clh",
                                        "cl/compact/plan.cl",        "cl/compact/move.cl",
                                        "cl/compact/merge/merge.cl", "cl/compact/rewrite.cl",
                                        "cl/compact/finish.cl",      "cl/compact/order.cl",
                                        "cl/collect/mark.clh",       "cl/collect/mark.cl",
                                        "cl/collect/sweep.cl"};
    clumpi_text source = {.allocator = &c->allocator}, options = {.allocator = &c->allocator};
    clumpi_source_append(&source, files, sizeof files / sizeof *files);
    clumpi_options_append(&options, c, NULL);
    clump_status status;
    if (source.failed || options.failed)
        status = clumpi_fail(&c->error, CLUMP_ERR_MEMORY, "no host memory for kernel sources");
    else
        status = clumpi_build(c, source.data, options.data, NULL, &c->program, NULL);
    clumpi_free(&c->allocator, source.data);
    clumpi_free(&c->allocator, options.data);
    return status;
}

clump_status clumpi_group_limit(clump_context *c, cl_kernel kernel, const char *name,
                                size_t *limit) {
    cl_int code = c->cl.GetKernelWorkGroupInfo(kernel, c->device, CL_KERNEL_WORK_GROUP_SIZE,
                                               sizeof *limit, limit, NULL);
    if (code) return clumpi_fail_cl(&c->error, "clGetKernelWorkGroupInfo", code, "kernel %s", name);
    size_t least = c->capabilities.personality == CLUMP_PERSONALITY_CPU ? 1 : CLUMP_ROW_SLOTS;
    if (*limit < least)
        return clumpi_fail(&c->error, CLUMP_ERR_UNSUPPORTED,
                           "the device runs kernel %s in groups of at most %zu work-items; %zu are "
                           "needed",
                           name, *limit, least);
    *limit -= *limit % least;
    return CLUMP_OK;
}

void clumpi_group_fit(size_t limit, size_t *global, size_t *local) {
    if (*local <= limit) return;
    *global = *global / *local * limit;
    *local = limit;
}

cl_kernel clumpi_library_kernel(clump_context *c, clumpi_kernel_id id) {
    if (!c->program && build_library(c)) return NULL;
    if (c->kernels[id]) return c->kernels[id];
    cl_int code = CL_SUCCESS;
    cl_kernel kernel = c->cl.CreateKernel(c->program, kernel_names[id], &code);
    if (code) {
        clumpi_fail_cl(&c->error, "clCreateKernel", code, "%s", kernel_names[id]);
        return NULL;
    }
    if (clumpi_group_limit(c, kernel, kernel_names[id], &c->group_limits[id])) {
        c->cl.ReleaseKernel(kernel);
        return NULL;
    }
    c->kernels[id] = kernel;
    return kernel;
}

static clump_status run_with(clump_context *c, cl_kernel kernel, clumpi_kernel_id id, cl_uint first,
                             size_t global, size_t local, const clumpi_arg *args,
                             uint32_t arg_count, const clump_sync *sync) {
    for (cl_uint i = 0; i < arg_count; i++) {
        cl_int code = c->cl.SetKernelArg(kernel, first + i, args[i].bytes, args[i].value);
        if (code)
            return clumpi_fail_cl(&c->error, "clSetKernelArg", code, "kernel %s, parameter %u",
                                  kernel_names[id], first + i);
    }
    clumpi_group_fit(c->group_limits[id], &global, &local);
    return clumpi_enqueue(c, kernel, kernel_names[id], global, local, sync);
}

clump_status clumpi_run_kernel(clump_context *c, clumpi_kernel_id id, size_t global, size_t local,
                               const clumpi_arg *args, uint32_t arg_count, const clump_sync *sync) {
    cl_kernel kernel = clumpi_library_kernel(c, id);
    if (!kernel) return c->error.status;
    return run_with(c, kernel, id, 0, global, local, args, arg_count, sync);
}

clump_status clumpi_run_library(clump_heap *heap, clumpi_kernel_id id, size_t global, size_t local,
                                const clumpi_arg *args, uint32_t arg_count,
                                const clump_sync *sync) {
    clump_context *c = heap->context;
    cl_kernel kernel = clumpi_library_kernel(c, id);
    if (!kernel) return c->error.status;
    cl_int code = c->cl.SetKernelArg(kernel, 0, sizeof heap->buffer, &heap->buffer);
    if (!code)
        code = c->cl.SetKernelArg(kernel, 1, sizeof(clumpi_u32), &heap->geometry.header.self_at);
    if (code)
        return clumpi_fail_cl(&c->error, "clSetKernelArg", code, "kernel %s", kernel_names[id]);
    return run_with(c, kernel, id, 2, global, local, args, arg_count, sync);
}
