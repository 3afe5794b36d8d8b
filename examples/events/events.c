/* Clump beside other OpenCL commands. A second queue uploads data and downloads results. The first
 * queue, on which Clump works, runs out of order. Events order the commands, and the host waits
 * once, at the end. */
#include <clump/clump.h>
#include <clump/quick.h>

enum { ROUNDS = 5, SAMPLES = 2000 };

static const char schema[] = "class Sample { float value; uint number; }";

static const char kernels[] =
    "__kernel void take(CLUMP_HEAP, __global const float *in) {\n"
    "    CLUMP_FOR_EACH_NEW(Sample, self, i) {\n"
    "        Sample_value(self) = in[i];\n"
    "        Sample_number(self) = i;\n"
    "    }\n"
    "}\n"
    "__kernel void square(CLUMP_HEAP_NO_ALLOC) {\n"
    "    CLUMP_FOR_EACH(Sample, self) Sample_value(self) *= Sample_value(self);\n"
    "}\n"
    "__kernel void give(CLUMP_HEAP, __global float *out) {\n"
    "    CLUMP_FOR_EACH(Sample, self) {\n"
    "        out[Sample_number(self)] = Sample_value(self);\n"
    "        Sample_free(self);\n"
    "    }\n"
    "}\n";

static cl_mem make_buffer(const clump_quick *q, size_t bytes) {
    cl_int code;
    cl_mem buffer = clCreateBuffer(q->cl, CL_MEM_READ_WRITE, bytes, NULL, &code);
    CLUMP_CHECK(q->cl, code);
    return buffer;
}

int main(void) {
    static float in[ROUNDS][SAMPLES], out[ROUNDS][SAMPLES];
    for (int r = 0; r < ROUNDS; r++)
        for (int i = 0; i < SAMPLES; i++) in[r][i] = (float)(r * 100 + i % 100);

    clump_quick q;
    clump_quick_desc desc = {.schema = schema, .source = kernels, .out_of_order = 1};
    CLUMP_CHECK(&q, clump_quick_open(&q, &desc));
    clump_kernel *take = clump_program_get_kernel(q.program, "take");
    clump_kernel *square = clump_program_get_kernel(q.program, "square");
    clump_kernel *give = clump_program_get_kernel(q.program, "give");

    cl_int code;
    cl_command_queue transfers = clCreateCommandQueue(q.cl, q.device, 0, &code);
    CLUMP_CHECK(q.cl, code);
    cl_mem from[ROUNDS], to[ROUNDS];
    for (int r = 0; r < ROUNDS; r++) {
        cl_event written, given;
        from[r] = make_buffer(&q, sizeof in[r]);
        to[r] = make_buffer(&q, sizeof out[r]);
        CLUMP_CHECK(transfers, clEnqueueWriteBuffer(transfers, from[r], CL_FALSE, 0, sizeof in[r],
                                                    in[r], 0, NULL, &written));
        CLUMP_CHECK(transfers, clFlush(transfers)); /* another queue waits for this write */

        clump_sync after_write = {.wait_count = 1, .wait_list = &written};
        CLUMP_CHECK(&q, clump_heap_do_new(q.heap, clump_kernel_with(take, CLUMP_ARGS(from[r])),
                                          "Sample", SAMPLES, NULL, &after_write));
        /* needs no event: calls on one heap run in their order */
        CLUMP_CHECK(&q, clump_heap_do_all(q.heap, square, NULL));
        CLUMP_CHECK(&q, clump_heap_do_all(q.heap, clump_kernel_with(give, CLUMP_ARGS(to[r])),
                                          &(clump_sync){.event = &given}));
        CLUMP_CHECK(q.queue, clFlush(q.queue));

        CLUMP_CHECK(transfers, clEnqueueReadBuffer(transfers, to[r], CL_FALSE, 0, sizeof out[r],
                                                   out[r], 1, &given, NULL));
        clReleaseEvent(written);
        clReleaseEvent(given);
    }
    CLUMP_CHECK(transfers, clFinish(transfers)); /* the reads have waited for all other commands */

    int wrong = 0;
    for (int r = 0; r < ROUNDS; r++)
        for (int i = 0; i < SAMPLES; i++) wrong += out[r][i] != in[r][i] * in[r][i];
    CLUMP_CHECK(&q, clump_heap_take_errors(q.heap, NULL));
    printf("%d rounds of %d samples, %d wrong\n", ROUNDS, SAMPLES, wrong);
    for (int r = 0; r < ROUNDS; r++) {
        clReleaseMemObject(from[r]);
        clReleaseMemObject(to[r]);
    }
    clReleaseCommandQueue(transfers);
    clump_quick_close(&q);
    return wrong != 0;
}
