/* What the variants on a device have in common. See device.h. */
#include "device.h"

const char *const collision_kernel_names[COLLISION_KERNEL_COUNT] = {
    "body_init",      "write_bodies", "compute_force", "update",
    "find_candidate", "request",      "merge",         "delete_merged"};

const char *const collision_sources[] = {"bench/apps/collision/arithmetic.clh", NULL};

int collision_states_create(const collision_desc *desc, collision_states *states,
                            bench_error *error) {
    cl_int code = CL_SUCCESS;
    *states = (collision_states){.queue = desc->queue, .bytes = desc->count * sizeof *desc->bodies};
    states->buffer = clCreateBuffer(desc->context, CL_MEM_READ_WRITE, states->bytes, NULL, &code);
    if (code == CL_SUCCESS) {
        code = clEnqueueWriteBuffer(desc->queue, states->buffer, CL_TRUE, 0, states->bytes,
                                    desc->bodies, 0, NULL, NULL);
    }
    return code == CL_SUCCESS ? 0 : bench_error_cl(error, "the buffer of the first states", code);
}

void collision_states_destroy(collision_states *states) {
    if (states->buffer) {
        clReleaseMemObject(states->buffer);
    }
    *states = (collision_states){.bytes = 0};
}

int collision_states_clear(const collision_states *states, bench_error *error) {
    const cl_uint zero = 0;
    cl_int code = clEnqueueFillBuffer(states->queue, states->buffer, &zero, sizeof zero, 0,
                                      states->bytes, 0, NULL, NULL);
    return code == CL_SUCCESS ? 0 : bench_error_cl(error, "clearing the states", code);
}

int collision_states_read(const collision_states *states, collision_body *bodies,
                          bench_error *error) {
    cl_int code = clEnqueueReadBuffer(states->queue, states->buffer, CL_TRUE, 0, states->bytes,
                                      bodies, 0, NULL, NULL);
    return code == CL_SUCCESS ? 0 : bench_error_cl(error, "reading the bodies", code);
}
