/* Memory objects: made, out of the pool where that is transparent; retained and released; limited.
 * Read first: layer.h. */
#include <string.h>

#include "tools/layer/layer.h"

#define NEXT (layer.target)

/* What a pooled buffer may be made with. All other flags say where it is to be, or restrict what
 * the host may do. */
#define POOLED_FLAGS                                                                               \
    (CL_MEM_READ_WRITE | CL_MEM_READ_ONLY | CL_MEM_WRITE_ONLY | CL_MEM_COPY_HOST_PTR)

static void tell(cl_int *code_ret, cl_int code) {
    if (code_ret) *code_ret = code;
}

static void *limited(cl_int *code_ret) {
    tell(code_ret, CL_MEM_OBJECT_ALLOCATION_FAILURE);
    return NULL;
}

/* ---- Out of the pool ------------------------------------------------------------------------- */

static int is_poolable(cl_mem_flags flags, size_t bytes, const void *host) {
    const int has_place = (flags & ~(cl_mem_flags)POOLED_FLAGS) != 0;
    const int is_copied = (flags & CL_MEM_COPY_HOST_PTR) != 0;
    if (!bytes || (!has_place && is_copied != (host != NULL))) return 0; /* an error */
    if (!has_place && bytes <= layer.settings.pool_bytes) return 1;
    layer_count_refusal(has_place ? LAYER_FLAGS : LAYER_LARGE);
    return 0;
}

/* Its event is waited for: Intel's runtime returns from a blocking write of few bytes before they
 * are there, and the program uses other queues. */
static cl_int write(layer_context *c, cl_mem buffer, const void *host, size_t bytes) {
    cl_event written = NULL;
    cl_int code =
        NEXT->clEnqueueWriteBuffer(c->queue, buffer, CL_TRUE, 0, bytes, host, 0, NULL, &written);
    if (code) return code;
    code = NEXT->clWaitForEvents(1, &written);
    NEXT->clReleaseEvent(written);
    return code;
}

/* The first contents, and where it is. */
static cl_int complete(layer_context *c, cl_mem buffer, const void *host, layer_place *place) {
    cl_int code = host ? write(c, buffer, host, place->bytes) : CL_SUCCESS;
    if (!code)
        code = NEXT->clGetMemObjectInfo(buffer, CL_MEM_ASSOCIATED_MEMOBJECT, sizeof(cl_mem),
                                        &place->chunk, NULL);
    if (!code)
        code = NEXT->clGetMemObjectInfo(buffer, CL_MEM_OFFSET, sizeof place->offset, &place->offset,
                                        NULL);
    return code;
}

static void count_pooled(layer_context *c, int more) {
    layer_lock();
    c->pooled += (cl_uint)more;
    layer_unlock();
}

static cl_mem take_from(layer_context *c, cl_mem_flags flags, size_t bytes, const void *host) {
    cl_mem made = NULL;
    layer_place place = {.context = c, .bytes = bytes};
    layer_reason reason = LAYER_DRIVER;
    layer_queues_poll(c);
    place.answers = layer_answers_of(c, flags);
    if (place.answers) {
        clump_allocation_desc desc = {.size = sizeof desc, .bytes = bytes};
        clump_status status = clump_pool_create_buffer(c->pool, &desc, 0, NULL, &made);
        if (status == CLUMP_ERR_DEVICE_MEMORY) reason = LAYER_NO_ROOM;
    }
    if (made) {
        count_pooled(c, 1);
        if (!complete(c, made, host, &place) &&
            layer_object_add(LAYER_BUFFER, made, bytes, &place)) {
            layer_count_pooled(bytes);
            return made;
        }
        count_pooled(c, -1);
        NEXT->clReleaseMemObject(made);
    }
    layer_count_refusal(reason);
    return NULL;
}

/* NULL: the driver is to make it. */
static cl_mem take_pooled(cl_context context, cl_mem_flags flags, size_t bytes, const void *host) {
    if (!layer.settings.pool_bytes || layer.is_child || !is_poolable(flags, bytes, host))
        return NULL;
    layer_context *c = layer_context_enter(context);
    if (!c) {
        layer_count_refusal(LAYER_CONTEXT);
        return NULL;
    }
    cl_mem made = take_from(c, flags, bytes, host);
    layer_context_leave(c);
    return made;
}

/* ---- Making ------------------------------------------------------------------------------------
 *
 * Whether something was made is what the code says: a driver may refuse and return a handle
 * nevertheless. */

/* Record a buffer whose bytes were reserved, if it was made. */
static cl_mem add_buffer(cl_mem made, size_t bytes, cl_int code, cl_int *code_ret) {
    tell(code_ret, code);
    if (!made || code || !layer_object_add(LAYER_BUFFER, made, bytes, NULL))
        layer_bytes_return(bytes);
    return made;
}

static cl_mem CL_API_CALL create_buffer(cl_context context, cl_mem_flags flags, size_t bytes,
                                        void *host, cl_int *code_ret) {
    if (!layer_bytes_reserve(bytes)) return limited(code_ret);
    cl_mem made = take_pooled(context, flags, bytes, host);
    if (made) {
        tell(code_ret, CL_SUCCESS);
        return made;
    }
    cl_int code = CL_SUCCESS;
    made = NEXT->clCreateBuffer(context, flags, bytes, host, &code);
    return add_buffer(made, bytes, code, code_ret);
}

static cl_mem CL_API_CALL create_buffer_with_properties(cl_context context,
                                                        const cl_mem_properties *properties,
                                                        cl_mem_flags flags, size_t bytes,
                                                        void *host, cl_int *code_ret) {
    if (!layer_bytes_reserve(bytes)) return limited(code_ret);
    if (layer.settings.pool_bytes) layer_count_refusal(LAYER_PROPERTIES);
    cl_int code = CL_SUCCESS;
    cl_mem made =
        NEXT->clCreateBufferWithProperties(context, properties, flags, bytes, host, &code);
    return add_buffer(made, bytes, code, code_ret);
}

/* The size of an image is known when it is there. `buffer`: of which it is an image, or NULL. */
static cl_mem add_image(cl_mem made, layer_kind kind, cl_mem buffer, cl_int code,
                        cl_int *code_ret) {
    size_t bytes = 0;
    tell(code_ret, code);
    if (!made || code) return made;
    if (!buffer) NEXT->clGetMemObjectInfo(made, CL_MEM_SIZE, sizeof bytes, &bytes, NULL);
    if (!layer_bytes_reserve(bytes)) {
        NEXT->clReleaseMemObject(made);
        return limited(code_ret);
    }
    if (!layer_object_add(kind, made, bytes, NULL)) layer_bytes_return(bytes);
    return made;
}

static cl_mem buffer_of(const cl_image_desc *desc) {
    return desc ? desc->buffer : NULL;
}

static void count_refused(cl_int code, cl_mem buffer) {
    layer_place place;
    if (code && buffer && layer_object_place(buffer, &place)) layer_count_image_refused();
}

static cl_mem CL_API_CALL create_image(cl_context context, cl_mem_flags flags,
                                       const cl_image_format *format, const cl_image_desc *desc,
                                       void *host, cl_int *code_ret) {
    cl_int code = CL_SUCCESS;
    cl_mem made = NEXT->clCreateImage(context, flags, format, desc, host, &code);
    count_refused(code, buffer_of(desc));
    return add_image(made, LAYER_IMAGE, buffer_of(desc), code, code_ret);
}

static cl_mem CL_API_CALL create_image_with_properties(
    cl_context context, const cl_mem_properties *properties, cl_mem_flags flags,
    const cl_image_format *format, const cl_image_desc *desc, void *host, cl_int *code_ret) {
    cl_int code = CL_SUCCESS;
    cl_mem made =
        NEXT->clCreateImageWithProperties(context, properties, flags, format, desc, host, &code);
    count_refused(code, buffer_of(desc));
    return add_image(made, LAYER_IMAGE, buffer_of(desc), code, code_ret);
}

static cl_mem CL_API_CALL create_image_2d(cl_context context, cl_mem_flags flags,
                                          const cl_image_format *format, size_t width,
                                          size_t height, size_t pitch, void *host,
                                          cl_int *code_ret) {
    cl_int code = CL_SUCCESS;
    cl_mem made = NEXT->clCreateImage2D(context, flags, format, width, height, pitch, host, &code);
    return add_image(made, LAYER_IMAGE, NULL, code, code_ret);
}

static cl_mem CL_API_CALL create_image_3d(cl_context context, cl_mem_flags flags,
                                          const cl_image_format *format, size_t width,
                                          size_t height, size_t depth, size_t pitch, size_t slice,
                                          void *host, cl_int *code_ret) {
    cl_int code = CL_SUCCESS;
    cl_mem made = NEXT->clCreateImage3D(context, flags, format, width, height, depth, pitch, slice,
                                        host, &code);
    return add_image(made, LAYER_IMAGE, NULL, code, code_ret);
}

static cl_mem CL_API_CALL create_pipe(cl_context context, cl_mem_flags flags, cl_uint packet,
                                      cl_uint packets, const cl_pipe_properties *properties,
                                      cl_int *code_ret) {
    cl_int code = CL_SUCCESS;
    cl_mem made = NEXT->clCreatePipe(context, flags, packet, packets, properties, &code);
    return add_image(made, LAYER_PIPE, NULL, code, code_ret);
}

/* ---- Sub-buffers ----------------------------------------------------------------------------- */

static int is_region(const layer_place *parent, const cl_buffer_region *region) {
    return region && region->size && region->origin <= parent->bytes &&
           region->size <= parent->bytes - region->origin &&
           region->origin % parent->context->device->alignment == 0;
}

/* What the driver says where a buffer of its own is in the place of the pooled one. */
static cl_int code_of_driver(const layer_place *parent, cl_mem_flags flags,
                             cl_buffer_create_type type, const void *info) {
    cl_context context = NULL;
    cl_int code =
        NEXT->clGetMemObjectInfo(parent->chunk, CL_MEM_CONTEXT, sizeof context, &context, NULL);
    if (code) return code;
    cl_mem_flags own = parent->answers->asked & ~(cl_mem_flags)CL_MEM_COPY_HOST_PTR;
    cl_mem buffer = NEXT->clCreateBuffer(context, own, parent->bytes, NULL, &code);
    if (code) return code;
    cl_mem sub = NEXT->clCreateSubBuffer(buffer, flags, type, info, &code);
    if (!code) NEXT->clReleaseMemObject(sub);
    NEXT->clReleaseMemObject(buffer);
    return code ? code : CL_INVALID_VALUE;
}

/* It lies in the chunk, beside the pooled buffer, which it keeps alive. */
static cl_mem sub_of_pooled(cl_mem parent, const layer_place *of, cl_mem_flags flags,
                            const cl_buffer_region *region, cl_int *code_ret) {
    cl_int code = CL_SUCCESS;
    const layer_answers *answers = layer_answers_of_sub(of->context, of->answers->asked, flags);
    if (!answers || answers->code) {
        tell(code_ret, answers ? answers->code : CL_OUT_OF_HOST_MEMORY);
        return NULL;
    }
    cl_buffer_region there = {of->offset + region->origin, region->size};
    cl_mem made =
        NEXT->clCreateSubBuffer(of->chunk, flags, CL_BUFFER_CREATE_TYPE_REGION, &there, &code);
    if (made && !code) {
        layer_place place = {.context = of->context,
                             .answers = answers,
                             .chunk = of->chunk,
                             .offset = there.origin,
                             .bytes = there.size,
                             .parent = parent,
                             .origin = region->origin};
        NEXT->clRetainMemObject(parent);
        layer_object_hide(parent, !answers->retains_parent);
        count_pooled(of->context, 1);
        if (!layer_object_add(LAYER_SUB_BUFFER, made, 0, &place)) {
            count_pooled(of->context, -1);
            layer_object_hide(parent, -!answers->retains_parent);
            NEXT->clReleaseMemObject(parent);
            NEXT->clReleaseMemObject(made);
            made = NULL;
            code = CL_OUT_OF_HOST_MEMORY;
        }
    }
    tell(code_ret, code);
    return made;
}

static cl_mem CL_API_CALL create_sub_buffer(cl_mem parent, cl_mem_flags flags,
                                            cl_buffer_create_type type, const void *info,
                                            cl_int *code_ret) {
    layer_place of;
    if (parent && layer_object_place(parent, &of) && !of.parent) {
        if (type == CL_BUFFER_CREATE_TYPE_REGION && is_region(&of, info))
            return sub_of_pooled(parent, &of, flags, info, code_ret);
        tell(code_ret, code_of_driver(&of, flags, type, info));
        return NULL;
    }
    cl_int code = CL_SUCCESS;
    cl_mem made = NEXT->clCreateSubBuffer(parent, flags, type, info, &code);
    tell(code_ret, code);
    if (made && !code) layer_object_add(LAYER_SUB_BUFFER, made, 0, NULL);
    return made;
}

/* ---- References ------------------------------------------------------------------------------ */

static cl_int CL_API_CALL retain_mem_object(cl_mem object) {
    cl_int code = NEXT->clRetainMemObject(object);
    if (!code) layer_object_retain(object);
    return code;
}

static cl_int CL_API_CALL release_mem_object(cl_mem object) {
    layer_object_release(object);
    return NEXT->clReleaseMemObject(object);
}

/* ---- Shared virtual memory ------------------------------------------------------------------- */

static void *CL_API_CALL svm_alloc(cl_context context, cl_svm_mem_flags flags, size_t bytes,
                                   cl_uint alignment) {
    if (!layer_bytes_reserve(bytes)) return NULL;
    void *made = NEXT->clSVMAlloc(context, flags, bytes, alignment);
    if (!made || !layer_object_add(LAYER_SVM, made, bytes, NULL)) layer_bytes_return(bytes);
    return made;
}

static void CL_API_CALL svm_free(cl_context context, void *memory) {
    if (memory) layer_object_remove(memory);
    NEXT->clSVMFree(context, memory);
}

static cl_int CL_API_CALL enqueue_svm_free(cl_command_queue queue, cl_uint count, void *memory[],
                                           void(CL_CALLBACK *does)(cl_command_queue, cl_uint,
                                                                   void *[], void *),
                                           void *user, cl_uint waits, const cl_event *wait_list,
                                           cl_event *event) {
    for (cl_uint i = 0; memory && i < count; i++)
        layer_object_remove(memory[i]); /* it may be gone at once */
    return NEXT->clEnqueueSVMFree(queue, count, memory, does, user, waits, wait_list, event);
}

void layer_buffers_install(cl_icd_dispatch *table) {
    table->clCreateBuffer = create_buffer;
    table->clCreateSubBuffer = create_sub_buffer;
    table->clCreateImage = create_image;
    table->clCreateImage2D = create_image_2d;
    table->clCreateImage3D = create_image_3d;
    table->clRetainMemObject = retain_mem_object;
    table->clReleaseMemObject = release_mem_object;
    /* Newer than OpenCL 1.2: a loader may not have them. */
    if (table->clCreateBufferWithProperties)
        table->clCreateBufferWithProperties = create_buffer_with_properties;
    if (table->clCreateImageWithProperties)
        table->clCreateImageWithProperties = create_image_with_properties;
    if (table->clCreatePipe) table->clCreatePipe = create_pipe;
    if (table->clSVMAlloc && table->clSVMFree && table->clEnqueueSVMFree) {
        table->clSVMAlloc = svm_alloc;
        table->clSVMFree = svm_free;
        table->clEnqueueSVMFree = enqueue_svm_free;
    }
}
