/* A heap for kernels of another program, and a program with the functions of malloc.h. */
#include "caller.h"

static cl_kernel kernel_of(cl_program program, const char *name) {
    cl_int code = CL_SUCCESS;
    cl_kernel kernel = clCreateKernel(program, name, &code);
    EXPECT(code == CL_SUCCESS);
    return kernel;
}

/* Its first argument is set, or OpenCL would not run it. */
static void run_one(clump_quick *q, cl_kernel kernel) {
    const size_t one = 1;
    EXPECT(clEnqueueNDRangeKernel(q->queue, kernel, 1, NULL, &one, NULL, 0, NULL, NULL) ==
           CL_SUCCESS);
    EXPECT(clFinish(q->queue) == CL_SUCCESS);
}

int main(void) {
    clump_quick q;
    clump_heap *heap;
    clump_heap_stats stats = {.size = sizeof stats};
    CLUMP_CHECK(&q, clump_quick_open(&q, NULL));
    const char *plain = "__kernel void touch(__global uint *heap) { heap[0] = heap[0]; }";
    cl_program program = clCreateProgramWithSource(q.cl, 1, &plain, NULL, NULL);
    EXPECT(clBuildProgram(program, 1, &q.device, "", NULL, NULL) == CL_SUCCESS);
    cl_kernel touch = kernel_of(program, "touch");
    fragment_1(q.cl, q.device, q.queue, touch);
    run_one(&q, touch);

    CLUMP_CHECK(&q, clump_heap_create(&(clump_heap_desc){.size = sizeof(clump_heap_desc),
                                                         .context = q.context,
                                                         .bytes = 1 << 20,
                                                         .raw = 1},
                                      &heap, &q.error));
    program = NULL;
    fragment_2(q.cl, q.device, heap,
               "__kernel void take(__global void *heap) { (void)malloc(1000); }", &program);
    EXPECT(program);
    cl_kernel take = kernel_of(program, "take");
    CLUMP_CHECK(&q, clump_heap_set_kernel(heap, take));
    run_one(&q, take);
    CLUMP_CHECK(&q, clump_heap_read_stats(heap, &stats, NULL, 0));
    EXPECT(stats.raw_bytes >= 1000 && stats.raw_bytes < 2000);
    return 0;
}
