/* A kernel that makes objects, built with clBuildProgram and launched with clEnqueueNDRangeKernel,
 * in two dimensions and on any queue. Clump provides the source and the options, and sets the heap
 * as the first argument. */
#include <clump/clump.h>
#include <clump/interop.h>
#include <clump/quick.h>

enum { WIDTH = 64, HEIGHT = 32 };

static const char schema[] = "class Dot { uint x; uint y; }";

/* No loops over objects: they need a list, which Clump makes only for launches of its own, such as
 * clump_heap_do_all(). */
static const char kernels[] =
    "__kernel void paint(CLUMP_HEAP, uint every) {\n"
    "    uint x = get_global_id(0), y = get_global_id(1);\n"
    "    if ((x + y) % every) return;\n"
    "    Dot dot = Dot_new();\n"
    "    if (Dot_is_null(dot)) return;\n"
    "    Dot_x(dot) = x;\n"
    "    Dot_y(dot) = y;\n"
    "}\n";

/* Builds Clump's program of schema and kernels again, as a program of OpenCL. */
static cl_program build(const clump_quick *q) {
    const char *source = clump_program_get_info(q->program)->source;
    cl_int code;
    cl_program program = clCreateProgramWithSource(q->cl, 1, &source, NULL, &code);
    CLUMP_CHECK(q->cl, code);
    CLUMP_CHECK(program, clBuildProgram(program, 1, &q->device,
                                        clump_program_get_info(q->program)->options, NULL, NULL));
    return program;
}

int main(void) {
    clump_quick q;
    CLUMP_CHECK(&q, clump_quick_open(&q, &(clump_quick_desc){.schema = schema, .source = kernels}));
    cl_program program = build(&q);
    cl_int code;
    cl_kernel paint = clCreateKernel(program, "paint", &code);
    CLUMP_CHECK(program, code);

    cl_uint every = 4;
    size_t global[2] = {WIDTH, HEIGHT};
    CLUMP_CHECK(&q, clump_heap_set_kernel(q.heap, paint)); /* the parameter CLUMP_HEAP */
    CLUMP_CHECK(paint, clSetKernelArg(paint, 1, sizeof every, &every));
    CLUMP_CHECK(q.queue,
                clEnqueueNDRangeKernel(q.queue, paint, 2, NULL, global, NULL, 0, NULL, NULL));
    clump_heap_touch(q.heap); /* Clump did not see that objects were made */

    static uint32_t x[WIDTH * HEIGHT], y[WIDTH * HEIGHT];
    static int seen[HEIGHT][WIDTH];
    uint64_t count;
    CLUMP_CHECK(&q, clump_heap_take_errors(q.heap, NULL));
    CLUMP_CHECK(&q,
                clump_heap_read_field(q.heap, "Dot", "x", 0, sizeof *x, x, WIDTH * HEIGHT, &count));
    CLUMP_CHECK(&q, clump_heap_read_field(q.heap, "Dot", "y", 0, sizeof *y, y, count, NULL));
    int wrong = 0;
    for (uint64_t i = 0; i < count; i++)
        if (x[i] >= WIDTH || y[i] >= HEIGHT || (x[i] + y[i]) % every || seen[y[i]][x[i]]++) wrong++;
    printf("%d dots of %d, %d wrong\n", (int)count, WIDTH * HEIGHT / (int)every, wrong);

    clReleaseKernel(paint);
    clReleaseProgram(program);
    clump_quick_close(&q);
    return wrong || count != WIDTH * HEIGHT / every;
}
