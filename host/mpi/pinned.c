/* See pinned.h. */
#include "mpi/pinned.h"

static void release(clump_world *world, clumpi_pinned *pinned) {
    if (pinned->memory &&
        !clEnqueueUnmapMemObject(world->queue, pinned->buffer, pinned->memory, 0, NULL, NULL))
        (void)clFlush(world->queue);
    if (pinned->buffer) clReleaseMemObject(pinned->buffer);
    *pinned = (clumpi_pinned){NULL, NULL, 0};
}

clump_status clumpi_pinned_open(clump_world *world, clumpi_pinned *pinned, uint64_t bytes) {
    cl_int code = CL_SUCCESS;
    if (bytes <= pinned->bytes) return CLUMP_OK;
    release(world, pinned);
    pinned->buffer =
        clCreateBuffer(world->cl, CL_MEM_READ_WRITE | CL_MEM_ALLOC_HOST_PTR, bytes, NULL, &code);
    if (code) {
        pinned->buffer = NULL;
        return clumpi_world_fail_cl(world, "clCreateBuffer", code);
    }
    pinned->memory = clEnqueueMapBuffer(world->queue, pinned->buffer, CL_TRUE,
                                        CL_MAP_READ | CL_MAP_WRITE, 0, bytes, 0, NULL, NULL, &code);
    if (code) {
        pinned->memory = NULL;
        release(world, pinned);
        return clumpi_world_fail_cl(world, "clEnqueueMapBuffer", code);
    }
    pinned->bytes = bytes;
    return CLUMP_OK;
}

void clumpi_pinned_close(clump_world *world, clumpi_pinned *pinned) {
    if (!world->is_broken) release(world, pinned);
}
