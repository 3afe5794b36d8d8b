/* The kernel of the page, by name and with its parameters. */
#include "caller.h"

#include "clump/structs.h"

int main(void) {
    clump_quick q;
    static const char kernels[] =
        "__kernel void move(CLUMP_HEAP_NO_ALLOC, float by, __global const float *more) {\n"
        "    CLUMP_FOR_EACH(Body, self) Body_x(self) = by + more[0];\n"
        "}\n";
    const clump_quick_desc desc = {.schema = "class Body { float x; }", .source = kernels};
    CLUMP_CHECK(&q, clump_quick_open(&q, &desc));
    const clump_struct_field fields[] = {{"x", 0}};
    const clump_struct_desc body = {sizeof body, "Body", sizeof(float), 1, fields};
    float x = 0, more = 0.25f;
    CLUMP_CHECK(&q, clump_heap_new_structs(q.heap, &body, &x, 1, NULL, NULL));
    cl_mem buffer = clCreateBuffer(q.cl, CL_MEM_COPY_HOST_PTR, sizeof more, &more, NULL);
    fragment_1(q.heap, q.program, buffer);
    CLUMP_CHECK(&q, clump_heap_read_field(q.heap, "Body", "x", 0, sizeof x, &x, 1, NULL));
    EXPECT(x == 0.75f);
    expect_no_error(&q);
    return 0;
}
