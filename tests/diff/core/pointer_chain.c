/* See pointer_chain.h. */
#include "diff/core/pointer_chain.h"

#include "usm.h"

static const char source[] =
    "typedef struct node { __global struct node *next; uint value, sum; } node;\n"
    "__kernel void follow(__global node *first, uint most) {\n"
    "    uint sum = 0;\n"
    "    for (__global node *n = first; n && most; n = n->next, most--) n->sum = sum += n->value;\n"
    "}\n";

chain chain_open(const cl_fixture *on) {
    const char *text = source;
    cl_int code = CL_SUCCESS;
    chain c = {.on = on};
    c.program = clCreateProgramWithSource(on->context, 1, &text, NULL, &code);
    CHECK_CL(code);
    CHECK_CL(clBuildProgram(c.program, 1, &on->device, "", NULL, NULL));
    c.kernel = clCreateKernel(c.program, "follow", &code);
    CHECK_CL(code);
    return c;
}

void chain_close(chain *c) {
    clReleaseKernel(c->kernel);
    clReleaseProgram(c->program);
}

void chain_set(chain *c, clump_pointers kind, void *first, uint32_t nodes, uint32_t region_count,
               void *const *regions) {
    const clump_cl_functions *cl = &c->on->clump->cl;
    if (kind == CLUMP_POINTERS_SVM) {
        CHECK_CL(cl->SetKernelArgSVMPointer(c->kernel, 0, first));
        CHECK_CL(cl->SetKernelExecInfo(c->kernel, CLUMPI_KERNEL_EXEC_INFO_SVM_PTRS,
                                       region_count * sizeof *regions, regions));
    } else {
        CHECK_CL(cl->SetKernelArgMemPointerINTEL(c->kernel, 0, first));
        usm_set_indirect(cl, c->kernel, kind);
    }
    CHECK_CL(clSetKernelArg(c->kernel, 1, sizeof nodes, &nodes));
}

void chain_run(chain *c, clump_pointers kind, void *first, uint32_t nodes, uint32_t region_count,
               void *const *regions) {
    const size_t one = 1;
    chain_set(c, kind, first, nodes, region_count, regions);
    CHECK_CL(clEnqueueNDRangeKernel(c->on->queue, c->kernel, 1, NULL, &one, &one, 0, NULL, NULL));
    CHECK_CL(clFinish(c->on->queue));
}
