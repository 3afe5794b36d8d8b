/* Local memory of users' kernels: too much is refused before a launch, since some implementations
 * end the process there (PoCL) and others tell no reason.
 *
 * OpenCL reports what a kernel has, the arrays that it declares and the parameters that are set.
 * NVIDIA's compiler refuses too large arrays itself, and the device has more for them than it
 * reports (docs/portability.md).
 *
 * Read first: heap.h.
 */
#include <string.h>

#include "heap/heap.h"

static clump_status check_kernel(clump_program *p, const char *name) {
    clump_context *c = p->context;
    const uint64_t has = c->capabilities.local_bytes;
    uint64_t bytes = 0;
    cl_int code = CL_SUCCESS;
    cl_kernel kernel = c->cl.CreateKernel(p->program, name, &code);
    if (code) return clumpi_fail_cl(&c->error, "clCreateKernel", code, "kernel %s", name);
    clump_status status = clumpi_local_of_kernel(c, kernel, name, &bytes);
    c->cl.ReleaseKernel(kernel);
    if (status || bytes <= has) return status;
    return clumpi_fail(&c->error, CLUMP_ERR_BUILD,
                       "kernel %s of %s declares %llu bytes of local memory, but the device has "
                       "%llu",
                       name, p->name, (unsigned long long)bytes, (unsigned long long)has);
}

clump_status clumpi_local_of_kernel(clump_context *c, cl_kernel kernel, const char *name,
                                    uint64_t *bytes) {
    cl_ulong told = 0;
    cl_int code = c->cl.GetKernelWorkGroupInfo(kernel, c->device, CL_KERNEL_LOCAL_MEM_SIZE,
                                               sizeof told, &told, NULL);
    *bytes = told;
    if (!code) return CLUMP_OK;
    return clumpi_fail_cl(&c->error, "clGetKernelWorkGroupInfo", code, "kernel %s", name);
}

clump_status clumpi_local_check(clump_program *p) {
    clump_context *c = p->context;
    if (c->capabilities.features_found & CLUMP_FEATURE_PTX) return CLUMP_OK;
    size_t bytes = 0;
    cl_int code = c->cl.GetProgramInfo(p->program, CL_PROGRAM_KERNEL_NAMES, 0, NULL, &bytes);
    char *names = code ? NULL : clumpi_alloc(&c->allocator, bytes + 1);
    if (!code && !names)
        return clumpi_fail(&c->error, CLUMP_ERR_HOST_MEMORY,
                           "no host memory for the names of kernels");
    if (!code) code = c->cl.GetProgramInfo(p->program, CL_PROGRAM_KERNEL_NAMES, bytes, names, NULL);
    clump_status status = CLUMP_OK;
    if (code) status = clumpi_fail_cl(&c->error, "clGetProgramInfo", code, "names of kernels");
    for (char *name = names, *end; !status && *name; name = end) {
        end = name + strcspn(name, ";");
        if (*end) *end++ = 0;
        status = check_kernel(p, name);
    }
    clumpi_free(&c->allocator, names);
    return status;
}

clump_status clumpi_local_fits(clump_kernel *k, uint32_t index, size_t bytes) {
    clump_context *c = k->program->context;
    const uint64_t has = c->capabilities.local_bytes;
    uint64_t others = k->local_bytes;
    if (others > has) return CLUMP_OK; /* NVIDIA: then there is more also for parameters */
    for (uint32_t i = 0; i < k->arg_count; i++)
        if (i != index && !k->args[i].value) others += k->args[i].bytes;
    if (others <= has && bytes <= has - others) return CLUMP_OK;
    return clumpi_fail(&c->error, CLUMP_ERR_USAGE,
                       "parameter %u of kernel %s: %zu bytes of local memory are too many. The "
                       "kernel has %llu besides, and the device has %llu",
                       index, k->name, bytes, (unsigned long long)others, (unsigned long long)has);
}
