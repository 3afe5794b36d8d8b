// The program of the page, with a cl::Buffer.
#include "fragments.h"

int main() {
    clump_quick q;
    CLUMP_CHECK(&q, clump_quick_open(&q, nullptr));
    cl::Context context(q.cl, true);
    fragment_1(
        "__kernel void init(CLUMP_HEAP) { CLUMP_FOR_EACH_NEW(Body, self, i) Body_x(self) = i; }\n"
        "__kernel void move(CLUMP_HEAP_NO_ALLOC, float by, __global float *sum) { "
        "CLUMP_FOR_EACH(Body, self) Body_x(self) += by; }\n",
        context, cl::Device(q.device, true), cl::CommandQueue(q.queue, true),
        cl::Buffer(context, CL_MEM_READ_WRITE, 64));
    return 0;
}
