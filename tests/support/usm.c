/* See usm.h. */
#ifndef CL_TARGET_OPENCL_VERSION
#define CL_TARGET_OPENCL_VERSION 200 /* the stand-ins are made of SVM */
#endif
#include "usm.h"

#include <string.h>

#include "core/device.h"
#include "core/pointers.h"

#define EXTENSION "cl_intel_unified_shared_memory"
/* Of the extension. */
#define EXEC_INFO_INDIRECT_HOST 0x4200u
#define EXEC_INFO_INDIRECT_DEVICE 0x4201u
#define EXEC_INFO_INDIRECT_SHARED 0x4202u

static usm_functions found;
static cl_device_id found_for;

/* ---- Stand-ins ------------------------------------------------------------------------------- */

static cl_int CL_API_CALL say(cl_device_id device, cl_device_info name, size_t capacity, void *to,
                              size_t *needed) {
    static const cl_bitfield access = CLUMPI_USM_ACCESS;
    if (name == CLUMPI_DEVICE_HOST_MEM_CAPABILITIES ||
        name == CLUMPI_DEVICE_DEVICE_MEM_CAPABILITIES ||
        name == CLUMPI_DEVICE_SHARED_MEM_CAPABILITIES) {
        if (needed) *needed = sizeof access;
        if (to && capacity < sizeof access) return CL_INVALID_VALUE;
        if (to) memcpy(to, &access, sizeof access);
        return CL_SUCCESS;
    }
    if (name != CL_DEVICE_EXTENSIONS) return clGetDeviceInfo(device, name, capacity, to, needed);
    static char list[16384];
    cl_int code = clGetDeviceInfo(device, name, sizeof list - sizeof EXTENSION, list, NULL);
    if (code) return code;
    strcat(list, " " EXTENSION);
    if (needed) *needed = strlen(list) + 1;
    if (to && capacity <= strlen(list)) return CL_INVALID_VALUE;
    if (to) strcpy(to, list);
    return CL_SUCCESS;
}

static void *take(cl_context context, size_t bytes, cl_uint alignment, cl_int *code) {
    void *memory = clSVMAlloc(context, CL_MEM_READ_WRITE, bytes, alignment);
    *code = memory ? CL_SUCCESS : CL_OUT_OF_HOST_MEMORY;
    return memory;
}

static void *CL_API_CALL take_host(cl_context context, const cl_bitfield *properties, size_t bytes,
                                   cl_uint alignment, cl_int *code) {
    return take(context, bytes, alignment, code);
}

static void *CL_API_CALL take_device(cl_context context, cl_device_id device,
                                     const cl_bitfield *properties, size_t bytes, cl_uint alignment,
                                     cl_int *code) {
    return take(context, bytes, alignment, code);
}

static cl_int CL_API_CALL give(cl_context context, void *memory) {
    clSVMFree(context, memory);
    return CL_SUCCESS;
}

static cl_int CL_API_CALL set_exec_info(cl_kernel kernel, cl_uint name, size_t bytes,
                                        const void *value) {
    if (name >= EXEC_INFO_INDIRECT_HOST && name <= EXEC_INFO_INDIRECT_SHARED) return CL_SUCCESS;
    return clSetKernelExecInfo(kernel, name, bytes, value);
}

static cl_int CL_API_CALL copy(cl_command_queue queue, cl_bool blocking, void *to, const void *from,
                               size_t bytes, cl_uint count, const cl_event *list, cl_event *event) {
    cl_int code = clEnqueueSVMMemcpy(queue, blocking, to, from, bytes, count, list, event);
    return code || !blocking ? code : clFinish(queue);
}

static void use_stand_ins(void) {
    found.cl.GetDeviceInfo = say;
    found.cl.HostMemAllocINTEL = take_host;
    found.cl.DeviceMemAllocINTEL = take_device;
    found.cl.SharedMemAllocINTEL = take_device;
    found.cl.MemFreeINTEL = give;
    found.cl.SetKernelArgMemPointerINTEL = clSetKernelArgSVMPointer;
    found.cl.SetKernelExecInfo = set_exec_info;
    found.cl.EnqueueMemcpyINTEL = copy;
    found.cl.EnqueueMemFillINTEL = clEnqueueSVMMemFill;
}

/* ---- Which of them --------------------------------------------------------------------------- */

const usm_functions *usm_of(cl_device_id device) {
    if (device == found_for) return &found;
    clump_capabilities capabilities = {.size = sizeof capabilities};
    memset(&found, 0, sizeof found);
    found.cl.size = sizeof found.cl;
    found_for = device;
    if (clump_device_probe(device, 0, &capabilities, NULL)) return &found;
    const uint32_t usm =
        capabilities.pointers & ~(uint32_t)(CLUMP_POINTERS_SVM | CLUMP_POINTERS_ADDRESS);
    cl_platform_id platform = NULL;
    CHECK_CL(clGetDeviceInfo(device, CL_DEVICE_PLATFORM, sizeof platform, &platform, NULL));
    found.is_stand_in = capabilities.is_cpu && capabilities.pointers && !usm;
    found.has_usm = usm || found.is_stand_in;
    if (found.is_stand_in)
        use_stand_ins();
    else if (usm) {
        found.cl.GetExtensionFunctionAddressForPlatform = clGetExtensionFunctionAddressForPlatform;
        clumpi_usm_functions_find(&found.cl, platform);
    }
    return &found;
}

void usm_set_indirect(const clump_cl_functions *cl, cl_kernel kernel, clump_pointers kind) {
    const cl_bool yes = CL_TRUE;
    CHECK_CL(cl->SetKernelExecInfo(kernel,
                                   kind == CLUMP_POINTERS_USM_HOST     ? EXEC_INFO_INDIRECT_HOST
                                   : kind == CLUMP_POINTERS_USM_DEVICE ? EXEC_INFO_INDIRECT_DEVICE
                                                                       : EXEC_INFO_INDIRECT_SHARED,
                                   sizeof yes, &yes));
}
