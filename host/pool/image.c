/* Images on the memory of a pool, where the device offers it. Read first: pool.h. */
#include "core/device.h"
#include "pool/pool.h"

/* 1: yes, 0: no, negative: the question failed (the error is set). */
static int device_says(clump_pool *p, cl_device_info what) {
    cl_bool is_so = CL_FALSE;
    cl_int code = p->cl.GetDeviceInfo(p->context->device, what, sizeof is_so, &is_so, NULL);
    if (!code) return is_so == CL_TRUE;
    clumpi_fail_cl(&p->error, "clGetDeviceInfo", code, "about images");
    return -1;
}

static clump_status check_type(clump_pool *p, const cl_image_desc *desc) {
    int images = device_says(p, CL_DEVICE_IMAGE_SUPPORT);
    if (images < 0) return CLUMP_ERR_CL;
    const char *device = p->context->capabilities.device_name;
    if (!images)
        return clumpi_fail(&p->error, CLUMP_ERR_UNSUPPORTED, "the device %s has no images", device);
    if (desc->image_type == CL_MEM_OBJECT_IMAGE1D_BUFFER) return CLUMP_OK;
    if (desc->image_type != CL_MEM_OBJECT_IMAGE2D)
        return clumpi_fail(&p->error, CLUMP_ERR_UNSUPPORTED,
                           "images on the memory of a pool are CL_MEM_OBJECT_IMAGE1D_BUFFER or "
                           "CL_MEM_OBJECT_IMAGE2D, not 0x%x",
                           (unsigned)desc->image_type);
    if (!clumpi_device_has(&p->cl, p->context->device, &p->allocator, "cl_khr_image2d_from_buffer"))
        return clumpi_fail(
            &p->error, CLUMP_ERR_UNSUPPORTED,
            "the device %s has no cl_khr_image2d_from_buffer, which 2D images on the "
            "memory of a pool need",
            device);
    return CLUMP_OK;
}

clump_status clump_pool_create_image(clump_pool *pool, clump_allocation allocation,
                                     const cl_image_format *format, const cl_image_desc *desc,
                                     cl_mem *image) {
    if (image) *image = NULL;
    clump_pool *p = clumpi_pool_enter(pool);
    if (!p) return CLUMP_ERR_USAGE;
    uint32_t record = clumpi_record_find(p, allocation, "clump_pool_create_image");
    clump_status status = record ? CLUMP_OK : CLUMP_ERR_REFERENCE;
    if (!status && (!format || !desc || !image))
        status =
            clumpi_fail(&p->error, CLUMP_ERR_USAGE,
                        "clump_pool_create_image needs format, desc and a place for the image");
    if (!status) status = check_type(p, desc);
    clumpi_pool_leave(p);
    if (status) return status;
    /* Pinned first: the place must not change before the image is there. */
    cl_mem buffer = NULL;
    status = clump_pool_pin(pool, allocation, 1);
    if (status) return status;
    status = clump_pool_get_buffer(pool, allocation, &buffer);
    p = clumpi_pool_enter(pool);
    if (!status) {
        cl_image_desc on_buffer = *desc;
        cl_int code = CL_SUCCESS;
        on_buffer.buffer = buffer;
        cl_mem made = p->cl.CreateImage(p->context->context, CL_MEM_READ_WRITE, format, &on_buffer,
                                        NULL, &code);
        clumpi_record *r = clumpi_record_at(p, (uint32_t)allocation);
        if (code)
            status = clumpi_fail_cl(&p->error, "clCreateImage", code,
                                    "on %llu bytes of a pool; format and sizes must suit",
                                    (unsigned long long)r->bytes);
        else if (!clumpi_record_extra(p, r)) {
            p->cl.ReleaseMemObject(made);
            status = CLUMP_ERR_HOST_MEMORY;
        } else {
            r->extra->images++;
            *image = made;
        }
    }
    clumpi_pool_leave(p);
    clump_pool_pin(pool, allocation, -1);
    return status;
}

clump_status clump_pool_destroy_image(clump_pool *pool, clump_allocation allocation, cl_mem image) {
    clump_pool *p = clumpi_pool_enter(pool);
    if (!p) return CLUMP_ERR_USAGE;
    uint32_t record = clumpi_record_find(p, allocation, "clump_pool_destroy_image");
    clumpi_record *r = record ? clumpi_record_at(p, record) : NULL;
    clump_status status = r ? CLUMP_OK : CLUMP_ERR_REFERENCE;
    if (r && (!image || !r->extra || !r->extra->images))
        status =
            clumpi_fail(&p->error, CLUMP_ERR_USAGE,
                        "clump_pool_destroy_image: the allocation has no images, or it is NULL");
    if (!status) {
        cl_int code = p->cl.ReleaseMemObject(image);
        if (code) status = clumpi_fail_cl(&p->error, "clReleaseMemObject", code, "is it an image?");
    }
    if (!status) {
        r->extra->images--;
        p->kinds[r->chunk->memory].changes++;
    }
    clumpi_pool_leave(p);
    return status;
}
