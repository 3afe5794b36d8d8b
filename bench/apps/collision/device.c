/* What the variants on a device have in common. See device.h. */
#include "device.h"

#include <stdio.h>
#include <stdlib.h>

#include "bench/bench_files.h"

const char *const collision_kernel_names[COLLISION_KERNEL_COUNT] = {
    "body_init",      "write_bodies", "compute_force", "update",
    "find_candidate", "request",      "merge",         "delete_merged"};

char *collision_load_source(const char *name, bench_error *error) {
    const clumpi_cl_file *arithmetic = bench_file_find("bench/apps/collision/arithmetic.clh");
    const clumpi_cl_file *kernels = bench_file_find(name);
    if (!arithmetic || !kernels) {
        bench_error_set(error, "%s or its arithmetic.clh is not embedded in this program", name);
        return NULL;
    }
    size_t bytes = arithmetic->bytes + kernels->bytes + 64;
    char *source = malloc(bytes);
    if (!source) {
        bench_error_set(error, "host memory ran out for %s", name);
        return NULL;
    }
    snprintf(source, bytes, "%s\n#line 1\n%s", arithmetic->data, kernels->data);
    return source;
}

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
