/* The library's blocking writes have ended when they return, also where the implementation's have
 * not: Intel's CPU runtime returns from those of few bytes earlier, on queues in order too
 * (docs/portability.md). An entry point that carries a blocking write out when its event is waited
 * for stands for it. */
#include <string.h>

#include "cl_fixture.h"
#include "core/core.h"

static cl_event before; /* the write waits for it; NULL: there is none */

static cl_int CL_API_CALL write_late(cl_command_queue queue, cl_mem buffer, cl_bool blocks,
                                     size_t offset, size_t bytes, const void *data, cl_uint waits,
                                     const cl_event *wait_list, cl_event *event) {
    cl_context context = NULL;
    cl_int code = CL_SUCCESS;
    assert_true(blocks && !waits && !before);
    CHECK_CL(clGetCommandQueueInfo(queue, CL_QUEUE_CONTEXT, sizeof context, &context, NULL));
    before = clCreateUserEvent(context, &code);
    CHECK_CL(code);
    return clEnqueueWriteBuffer(queue, buffer, CL_FALSE, offset, bytes, data, 1, &before, event);
}

static cl_int CL_API_CALL wait_for(cl_uint count, const cl_event *events) {
    if (before) {
        clSetUserEventStatus(before, CL_COMPLETE);
        clReleaseEvent(before);
        before = NULL;
    }
    return clWaitForEvents(count, events);
}

static void writes_end(void **state) {
    static const clump_cl_functions late = {
        .size = sizeof late, .EnqueueWriteBuffer = write_late, .WaitForEvents = wait_for};
    for (int out_of_order = 0; out_of_order < 2; out_of_order++) {
        cl_fixture f;
        cl_fixture_desc desc = {.cl = &late, .out_of_order = out_of_order};
        int result = cl_fixture_open(&f, &desc);
        if (result == CL_FIXTURE_SKIP) skip();
        assert_int_equal(result, 0);
        cl_int code;
        cl_command_queue other = clCreateCommandQueue(f.context, f.device, 0, &code);
        CHECK_CL(code);
        cl_mem buffer;
        CHECK_OK(&f, clumpi_buffer_create(f.clump, 64, "a test", &buffer));
        char found[6] = "";
        CHECK_OK(&f, clumpi_write(f.clump, buffer, 0, sizeof found, "there"));
        CHECK_CL(
            clEnqueueReadBuffer(other, buffer, CL_TRUE, 0, sizeof found, found, 0, NULL, NULL));
        assert_string_equal(found, "there");
        assert_null(before);
        clumpi_buffer_release(f.clump, &buffer);
        clReleaseCommandQueue(other);
        cl_fixture_close(&f);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(writes_end)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
