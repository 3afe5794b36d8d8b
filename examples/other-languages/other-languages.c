/* malloc() in kernels that others compile: the numbers below 8192 that are the sum of their proper
 * divisors.
 *
 *   other-languages                            lists.cl, built by OpenCL
 *   other-languages KERNELS.spv FUNCTIONS.spv  kernels in SPIR-V, linked with the output of
 *                                              clump-compile --malloc
 *
 * Device, context, queue, programs and launches are OpenCL's. The heap needs three calls: a context
 * of Clump, the heap, and the heap as the first argument of each kernel. */
#define CL_TARGET_OPENCL_VERSION 210
#include <clump/clump.h>
#include <clump/interop.h>
#include <clump/quick.h>

enum { NUMBERS = 8192 };

static char *read_file(const char *path, size_t *bytes) {
    static char rooms[2][1 << 20], *room = rooms[0];
    FILE *file = fopen(path, "rb");
    if (!file) {
        perror(path);
        exit(1);
    }
    char *text = room;
    *bytes = fread(text, 1, sizeof rooms[0] - 1, file);
    text[*bytes] = 0;
    room = rooms[1];
    fclose(file);
    return text;
}

/* Clump's functions and lists.cl as one text, with the options that it needs. */
static cl_program from_source(clump_heap *heap, cl_context cl, cl_device_id device) {
    size_t bytes;
    cl_int code;
    clump_error error;
    clump_program *texts;
    clump_program_desc desc = {
        .size = sizeof desc, .heap = heap, .source = read_file(FOLDER "/lists.cl", &bytes)};
    desc.options = "-DCLUMP_MALLOC_FUNCTIONS -DCLUMP_MALLOC_HEAP=heap";
    if (clump_program_create(&desc, &texts, &error)) {
        fprintf(stderr, "%s\n", error.message);
        exit(1);
    }
    const clump_program_info *info = clump_program_get_info(texts);
    const char *source = info->source;
    cl_program program = clCreateProgramWithSource(cl, 1, &source, NULL, &code);
    CLUMP_CHECK(cl, code);
    CLUMP_CHECK(program, clBuildProgram(program, 1, &device, info->options, NULL, NULL));
    clump_program_destroy(texts);
    return program;
}

/* Two modules of SPIR-V as one program. */
static cl_program from_spirv(char **paths, cl_context cl, cl_device_id device) {
    cl_program parts[2], program;
    cl_int code;
    for (int i = 0; i < 2; i++) {
        size_t bytes;
        const void *module = read_file(paths[i], &bytes);
        parts[i] = clCreateProgramWithIL(cl, module, bytes, &code);
        CLUMP_CHECK(cl, code);
        CLUMP_CHECK(cl, clCompileProgram(parts[i], 1, &device, "", 0, NULL, NULL, NULL, NULL));
    }
    program = clLinkProgram(cl, 1, &device, "", 2, parts, NULL, NULL, &code);
    CLUMP_CHECK(cl, code);
    for (int i = 0; i < 2; i++) clReleaseProgram(parts[i]);
    return program;
}

int main(int argc, char **argv) {
    cl_device_id device;
    cl_int code;
    clump_error error;
    if (clump_quick_find_device(NULL, &device, NULL, &error)) {
        fprintf(stderr, "%s\n", error.message);
        return 1;
    }
    cl_context cl = clCreateContext(NULL, 1, &device, NULL, NULL, &code);
    CLUMP_CHECK(device, code);
    cl_command_queue queue = clCreateCommandQueueWithProperties(cl, device, NULL, &code);
    CLUMP_CHECK(cl, code);

    clump_context *clump;
    clump_heap *heap;
    clump_context_desc of_context = {
        .size = sizeof of_context, .context = cl, .device = device, .queue = queue};
    CLUMP_CHECK(cl, clump_context_create(&of_context, &clump, &error));
    clump_heap_desc of_heap = {
        .size = sizeof of_heap, .context = clump, .bytes = 64 << 20, .raw = 1};
    CLUMP_CHECK(clump, clump_heap_create(&of_heap, &heap, NULL));

    cl_program program =
        argc == 3 ? from_spirv(argv + 1, cl, device) : from_source(heap, cl, device);
    cl_kernel divisors = clCreateKernel(program, "divisors", &code);
    CLUMP_CHECK(program, code);
    cl_kernel sums = clCreateKernel(program, "sums", &code);
    CLUMP_CHECK(program, code);
    CLUMP_CHECK(clump, clump_heap_set_kernel(heap, divisors));
    CLUMP_CHECK(clump, clump_heap_set_kernel(heap, sums));

    static cl_uint results[NUMBERS];
    cl_mem buffers[3]; /* handles of lists, their lengths, sums */
    size_t items = NUMBERS;
    for (cl_uint i = 0; i < 3; i++) {
        buffers[i] = clCreateBuffer(cl, CL_MEM_READ_WRITE, sizeof results, NULL, &code);
        CLUMP_CHECK(cl, code);
        if (i < 2)
            CLUMP_CHECK(divisors, clSetKernelArg(divisors, i + 1, sizeof *buffers, &buffers[i]));
        CLUMP_CHECK(sums, clSetKernelArg(sums, i + 1, sizeof *buffers, &buffers[i]));
    }
    clump_heap_stats used = {.size = sizeof used}, left = {.size = sizeof left};
    CLUMP_CHECK(queue,
                clEnqueueNDRangeKernel(queue, divisors, 1, NULL, &items, NULL, 0, NULL, NULL));
    CLUMP_CHECK(clump, clump_heap_read_stats(heap, &used, NULL, 0));
    CLUMP_CHECK(queue, clEnqueueNDRangeKernel(queue, sums, 1, NULL, &items, NULL, 0, NULL, NULL));
    CLUMP_CHECK(queue, clEnqueueReadBuffer(queue, buffers[2], CL_TRUE, 0, sizeof results, results,
                                           0, NULL, NULL));
    CLUMP_CHECK(clump, clump_heap_take_errors(heap, NULL)); /* a null, a wrong free */
    CLUMP_CHECK(clump, clump_heap_read_stats(heap, &left, NULL, 0));

    printf("perfect:");
    for (cl_uint n = 1; n <= NUMBERS; n++)
        if (results[n - 1] == n) printf(" %u", n);
    printf("\n%llu bytes in use, then %llu\n", (unsigned long long)used.raw_bytes,
           (unsigned long long)left.raw_bytes);

    for (int i = 0; i < 3; i++) clReleaseMemObject(buffers[i]);
    clReleaseKernel(divisors);
    clReleaseKernel(sums);
    clReleaseProgram(program);
    clump_heap_destroy(heap);
    clump_context_destroy(clump);
    clReleaseCommandQueue(queue);
    clReleaseContext(cl);
    return left.raw_bytes != 0;
}
