/* Functions that a program asks for by name: unified shared memory of Intel's extension, and queues.
 * The program calls the driver then, without a loader between. Read first: layer.h. */
#include <CL/cl_ext.h>
#include <stdlib.h>
#include <string.h>

#include "tools/layer/layer.h"

#define NEXT (layer.target)

void layer_address_of(cl_device_id device, const char *name, void *function) {
    cl_platform_id platform = NULL;
    void *found = NULL;
    if (!NEXT->clGetDeviceInfo(device, CL_DEVICE_PLATFORM, sizeof platform, &platform, NULL))
        found = NEXT->clGetExtensionFunctionAddressForPlatform(platform, name);
    memcpy(function, &found, sizeof found);
}

/* The function of the platform that a context is of; NULL: there is none. */
static void address_in(cl_context context, const char *name, void *function) {
    size_t bytes = 0;
    memset(function, 0, sizeof(void *));
    if (NEXT->clGetContextInfo(context, CL_CONTEXT_DEVICES, 0, NULL, &bytes) || !bytes) return;
    cl_device_id *devices = malloc(bytes);
    if (devices && !NEXT->clGetContextInfo(context, CL_CONTEXT_DEVICES, bytes, devices, NULL))
        layer_address_of(devices[0], name, function);
    free(devices);
}

/* ---- Unified shared memory ------------------------------------------------------------------- */

/* Finds the driver's function and reserves the bytes. 0: it is not there, or the limit does not
 * allow it: the extension has no error of its own for that. */
static int may_allocate(cl_context context, const char *name, void *function, size_t bytes,
                        cl_int *code_ret) {
    void *found = NULL;
    address_in(context, name, &found);
    memcpy(function, &found, sizeof found);
    if (found && layer_bytes_reserve(bytes)) return 1;
    if (code_ret) *code_ret = found ? CL_OUT_OF_RESOURCES : CL_INVALID_CONTEXT;
    return 0;
}

static void *add(void *made, size_t bytes, cl_int code, cl_int *code_ret) {
    if (code_ret) *code_ret = code;
    if (!made || code || !layer_object_add(LAYER_USM, made, bytes, NULL)) layer_bytes_return(bytes);
    return made;
}

static void *CL_API_CALL host_alloc(cl_context context, const cl_mem_properties_intel *properties,
                                    size_t bytes, cl_uint alignment, cl_int *code_ret) {
    clHostMemAllocINTEL_fn found;
    cl_int code = CL_SUCCESS;
    if (!may_allocate(context, "clHostMemAllocINTEL", &found, bytes, code_ret)) return NULL;
    void *made = found(context, properties, bytes, alignment, &code);
    return add(made, bytes, code, code_ret);
}

static void *CL_API_CALL device_alloc(cl_context context, cl_device_id device,
                                      const cl_mem_properties_intel *properties, size_t bytes,
                                      cl_uint alignment, cl_int *code_ret) {
    clDeviceMemAllocINTEL_fn found;
    cl_int code = CL_SUCCESS;
    if (!may_allocate(context, "clDeviceMemAllocINTEL", &found, bytes, code_ret)) return NULL;
    void *made = found(context, device, properties, bytes, alignment, &code);
    return add(made, bytes, code, code_ret);
}

static void *CL_API_CALL shared_alloc(cl_context context, cl_device_id device,
                                      const cl_mem_properties_intel *properties, size_t bytes,
                                      cl_uint alignment, cl_int *code_ret) {
    clSharedMemAllocINTEL_fn found;
    cl_int code = CL_SUCCESS;
    if (!may_allocate(context, "clSharedMemAllocINTEL", &found, bytes, code_ret)) return NULL;
    void *made = found(context, device, properties, bytes, alignment, &code);
    return add(made, bytes, code, code_ret);
}

static cl_int free_by(const char *name, cl_context context, void *memory) {
    clMemFreeINTEL_fn found;
    address_in(context, name, &found);
    if (!found) return CL_INVALID_CONTEXT;
    if (memory) layer_object_remove(memory); /* another thread may get its address at once */
    return found(context, memory);
}

static cl_int CL_API_CALL mem_free(cl_context context, void *memory) {
    return free_by("clMemFreeINTEL", context, memory);
}

static cl_int CL_API_CALL blocking_free(cl_context context, void *memory) {
    return free_by("clMemBlockingFreeINTEL", context, memory);
}

/* ---- Addresses ------------------------------------------------------------------------------- */

static void *replace(const char *name, void *found) {
    typedef void (*function)(void);
    static const struct {
        const char *name;
        function ours;
        int is_for_pool;
    } list[] = {{"clHostMemAllocINTEL", (function)host_alloc, 0},
                {"clDeviceMemAllocINTEL", (function)device_alloc, 0},
                {"clSharedMemAllocINTEL", (function)shared_alloc, 0},
                {"clMemFreeINTEL", (function)mem_free, 0},
                {"clMemBlockingFreeINTEL", (function)blocking_free, 0},
                {"clCreateCommandQueueWithPropertiesKHR", (function)layer_create_queue_khr, 1}};
    for (size_t i = 0; found && name && i < sizeof list / sizeof *list; i++)
        if (strcmp(name, list[i].name) == 0 && (!list[i].is_for_pool || layer.settings.pool_bytes))
            memcpy(&found, &list[i].ours, sizeof found);
    return found;
}

static void *CL_API_CALL get_address(const char *name) {
    return replace(name, NEXT->clGetExtensionFunctionAddress(name));
}

static void *CL_API_CALL get_address_for_platform(cl_platform_id platform, const char *name) {
    return replace(name, NEXT->clGetExtensionFunctionAddressForPlatform(platform, name));
}

void layer_addresses_install(cl_icd_dispatch *table) {
    /* Names no platform: what it finds is of the loader whose functions are called. */
    if (table->clGetExtensionFunctionAddress == NEXT->clGetExtensionFunctionAddress)
        table->clGetExtensionFunctionAddress = get_address;
    table->clGetExtensionFunctionAddressForPlatform = get_address_for_platform;
}
