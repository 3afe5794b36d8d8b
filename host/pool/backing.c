/* What chunks are made of: a buffer, or memory with a pointer, which is seen as a buffer where the
 * device can. Taking it, touching it, giving it back; margins in it; which requests each memory can
 * serve.
 *
 * Invariant: a chunk has a buffer, or a pointer, or both. Of memory with a pointer nothing is ever
 * moved, since the pool cannot know who has the pointer.
 *
 * Read first: pool.h, core/pointers.h. */
#include "core/pointers.h"
#include "pool/pool.h"

static const char *const names[CLUMP_MEMORY_COUNT] = {
    "device", "host", "svm", "usm device", "usm host", "usm shared",
};

const char *clumpi_memory_name(clump_memory memory) {
    return names[memory];
}

/* ---- Which requests it serves ---------------------------------------------------------------- */

clump_status clumpi_memory_check(clump_pool *p, const clump_allocation_desc *d) {
    if ((unsigned)d->memory >= CLUMP_MEMORY_COUNT)
        return clumpi_fail(&p->error, CLUMP_ERR_USAGE, "unknown memory %d", (int)d->memory);
    if (!clumpi_memory_has_pointers(d->memory)) return CLUMP_OK;
    const clump_capabilities *c = &p->context->capabilities;
    const clump_pointers kind = clumpi_memory_pointers(d->memory);
    if (!(c->pointers & kind))
        return clumpi_fail(&p->error, CLUMP_ERR_UNSUPPORTED,
                           "the device %s has no %s (clump_capabilities.pointers)", c->device_name,
                           clumpi_pointers_name(kind));
    if (d->movable)
        return clumpi_fail(
            &p->error, CLUMP_ERR_USAGE,
            "an allocation of %s cannot move, because of its pointer: `movable` must be 0",
            clumpi_pointers_name(kind));
    if (d->alignment > CLUMPI_POINTER_ALIGN)
        return clumpi_fail(
            &p->error, CLUMP_ERR_USAGE,
            "an alignment of %llu is not possible: pointers of %s are multiples of %u",
            (unsigned long long)d->alignment, clumpi_pointers_name(kind), CLUMPI_POINTER_ALIGN);
    return CLUMP_OK;
}

/* ---- Taking it ------------------------------------------------------------------------------- */

static clump_status fail_device(clump_pool *p, const char *call, cl_int code, uint64_t bytes) {
    clump_status status = clumpi_fail_cl(
        &p->error, call, code, "%llu bytes for pool %.64s, which has %llu",
        (unsigned long long)bytes, p->name, (unsigned long long)p->stats.bytes - bytes);
    if (clumpi_is_no_room(code)) p->error.status = status = CLUMP_ERR_DEVICE_MEMORY;
    return status;
}

static clump_status wait_for(clump_pool *p, cl_event event, uint64_t bytes) {
    cl_int code = p->cl.WaitForEvents(1, &event);
    p->cl.ReleaseEvent(event);
    return code ? fail_device(p, "clWaitForEvents", code, bytes) : CLUMP_OK;
}

/* Writing to it is what makes a device look for the memory: a GPU for all of it, a CPU page by
 * page, which also keeps page faults out of later copies. */
static clump_status touch(clump_pool *p, const clumpi_chunk *chunk) {
    static const uint32_t zero = 0;
    if (p->desc.flags & CLUMP_POOL_UNTOUCHED) return CLUMP_OK;
    const uint64_t whole = chunk->bytes & ~(uint64_t)(sizeof zero - 1);
    const uint64_t at = p->context->capabilities.is_cpu ? 0 : whole - sizeof zero;
    cl_event event = NULL;
    cl_int code;
    const char *call;
    if (!chunk->buffer) {
        call = "clEnqueueMemFillINTEL";
        code = p->cl.EnqueueMemFillINTEL(p->desc.queue, (char *)chunk->pointers.pointer + at, &zero,
                                         sizeof zero, (size_t)(whole - at), 0, NULL, &event);
    } else if (!at) {
        call = "clEnqueueFillBuffer";
        code = p->cl.EnqueueFillBuffer(p->desc.queue, chunk->buffer, &zero, sizeof zero, 0, whole,
                                       0, NULL, &event);
    } else {
        call = "clEnqueueWriteBuffer";
        code = p->cl.EnqueueWriteBuffer(p->desc.queue, chunk->buffer, CL_FALSE, at, sizeof zero,
                                        &zero, 0, NULL, &event);
    }
    return code ? fail_device(p, call, code, chunk->bytes) : wait_for(p, event, chunk->bytes);
}

static clump_status take(clump_pool *p, clumpi_chunk *chunk) {
    if (clumpi_memory_has_pointers(chunk->memory)) {
        clump_status status =
            clumpi_pointers_create(p->context, clumpi_memory_pointers(chunk->memory), chunk->bytes,
                                   p->desc.queue, &chunk->pointers, &p->error);
        chunk->buffer = chunk->pointers.buffer;
        return status;
    }
    cl_mem_flags flags = CL_MEM_READ_WRITE;
    if (chunk->memory == CLUMP_MEMORY_HOST) flags |= CL_MEM_ALLOC_HOST_PTR;
    cl_int code = CL_SUCCESS;
    chunk->buffer = p->cl.CreateBuffer(p->context->context, flags, chunk->bytes, NULL, &code);
    if (!code) return CLUMP_OK;
    chunk->buffer = NULL;
    return fail_device(p, "clCreateBuffer", code, chunk->bytes);
}

void clumpi_backing_release(clump_pool *p, clumpi_chunk *chunk) {
    if (chunk->pointers.pointer)
        clumpi_pointers_release(p->context, p->desc.queue, &chunk->pointers);
    else if (chunk->buffer)
        p->cl.ReleaseMemObject(chunk->buffer);
    clumpi_bytes_return(p, chunk->bytes);
}

clump_status clumpi_backing_make(clump_pool *p, clumpi_chunk *chunk) {
    clump_status status = clumpi_bytes_reserve(p, chunk->bytes);
    if (status) return status;
    status = take(p, chunk);
    if (!status) status = touch(p, chunk);
    chunk->was_used = !(p->desc.flags & CLUMP_POOL_UNTOUCHED);
    if (status) clumpi_backing_release(p, chunk);
    return status;
}

/* The first command that uses a buffer itself must come before kernels use a sub-buffer of it: it
 * makes NVIDIA's driver (580.159) lose what such a kernel writes at that time
 * (docs/portability.md). A read changes nothing. */
static cl_int use_first(clump_pool *p, clumpi_chunk *chunk) {
    uint32_t word;
    if (chunk->was_used) return CL_SUCCESS;
    cl_int code = p->cl.EnqueueReadBuffer(p->desc.queue, chunk->buffer, CL_TRUE, 0, sizeof word,
                                          &word, 0, NULL, NULL);
    chunk->was_used = !code;
    return code;
}

clump_status clumpi_backing_sub_buffer(clump_pool *p, const clumpi_record *r, cl_mem *made) {
    const clump_region region = clumpi_record_region(p, r);
    const cl_buffer_region place = {region.offset, region.bytes};
    const char *call = "clEnqueueReadBuffer";
    cl_int code = use_first(p, r->chunk);
    if (!code) {
        call = "clCreateSubBuffer";
        *made = p->cl.CreateSubBuffer(region.buffer, CL_MEM_READ_WRITE,
                                      CL_BUFFER_CREATE_TYPE_REGION, &place, &code);
    }
    if (!code) return CLUMP_OK;
    *made = NULL;
    return clumpi_fail_cl(&p->error, call, code, "%llu bytes at %llu",
                          (unsigned long long)region.bytes, (unsigned long long)region.offset);
}

/* ---- Margins --------------------------------------------------------------------------------- */

clump_status clumpi_backing_fill(clump_pool *p, const clumpi_chunk *chunk, uint64_t at,
                                 uint64_t bytes, unsigned char pattern) {
    cl_event event = NULL;
    cl_int code =
        chunk->buffer
            ? p->cl.EnqueueFillBuffer(p->desc.queue, chunk->buffer, &pattern, sizeof pattern, at,
                                      bytes, 0, NULL, &event)
            : p->cl.EnqueueMemFillINTEL(p->desc.queue, (char *)chunk->pointers.pointer + at,
                                        &pattern, sizeof pattern, (size_t)bytes, 0, NULL, &event);
    const char *call = chunk->buffer ? "clEnqueueFillBuffer" : "clEnqueueMemFillINTEL";
    if (code) return clumpi_fail_cl(&p->error, call, code, "the margin of an allocation");
    code = p->cl.WaitForEvents(1, &event);
    p->cl.ReleaseEvent(event);
    if (!code) return CLUMP_OK;
    return clumpi_fail_cl(&p->error, "clWaitForEvents", code, "the margin of an allocation");
}

clump_status clumpi_backing_read(clump_pool *p, const clumpi_chunk *chunk, uint64_t at,
                                 uint64_t bytes, void *data) {
    cl_int code = chunk->buffer
                      ? p->cl.EnqueueReadBuffer(p->desc.queue, chunk->buffer, CL_TRUE, at, bytes,
                                                data, 0, NULL, NULL)
                      : p->cl.EnqueueMemcpyINTEL(p->desc.queue, CL_TRUE, data,
                                                 (const char *)chunk->pointers.pointer + at,
                                                 (size_t)bytes, 0, NULL, NULL);
    if (!code) return CLUMP_OK;
    return clumpi_fail_cl(&p->error, chunk->buffer ? "clEnqueueReadBuffer" : "clEnqueueMemcpyINTEL",
                          code, "the margin of an allocation");
}

/* ---- Views of an allocation ------------------------------------------------------------------ */

clump_status clumpi_backing_need_buffer(clump_pool *p, const clumpi_record *r, const char *call) {
    if (r->chunk->buffer) return CLUMP_OK;
    return clumpi_fail(&p->error, CLUMP_ERR_UNSUPPORTED,
                       "%s: the device %s makes no cl_mem of %s. Use the pointer of the region",
                       call, p->context->capabilities.device_name,
                       clumpi_pointers_name(clumpi_memory_pointers(r->chunk->memory)));
}

/* The host reaches such memory as it is, when no command uses it. */
clump_status clumpi_backing_map_pointer(clump_pool *p, const clumpi_record *r,
                                        const clumpi_events *uses, void **memory) {
    cl_int code = p->cl.Finish(p->desc.queue);
    if (code) return clumpi_fail_cl(&p->error, "clFinish", code, "for clump_pool_map");
    if (uses->count) code = p->cl.WaitForEvents((cl_uint)uses->count, uses->list);
    if (code) return clumpi_fail_cl(&p->error, "clWaitForEvents", code, "for clump_pool_map");
    *memory = clumpi_record_region(p, r).pointer;
    return CLUMP_OK;
}
