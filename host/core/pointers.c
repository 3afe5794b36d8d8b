/* Memory with pointers: finding its functions, taking it, seeing it as a buffer. Read first:
 * pointers.h. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* dladdr(). NOLINT(bugprone-reserved-identifier) */
#endif
#include "core/pointers.h"

#include <string.h>

#ifdef _WIN32
#include <windows.h>
#else
#include <dlfcn.h>
#endif

/* ---- Functions ------------------------------------------------------------------------------- */

/* Of the library that OpenCL's other functions were linked from, not of just any that has the name:
 * where Clump was loaded by dlopen() that one is in no list that is searched by default. */
static void *find_in_loader(const char *name) {
    void *found = NULL;
#ifdef _WIN32
    HMODULE loader = GetModuleHandleA("OpenCL.dll");
    FARPROC address = loader ? GetProcAddress(loader, name) : NULL;
    memcpy(&found, &address, sizeof found);
#else
    cl_int(CL_API_CALL * known)(cl_device_id, cl_device_info, size_t, void *, size_t *) =
        clGetDeviceInfo;
    void *address;
    Dl_info place;
    memcpy(&address, &known, sizeof address); /* C has no conversion between the two */
    void *loader = dladdr(address, &place) && place.dli_fname
                       ? dlopen(place.dli_fname, RTLD_LAZY | RTLD_NOLOAD)
                       : NULL;
    if (loader) {
        found = dlsym(loader, name);
        dlclose(loader);
    }
    if (!found) found = dlsym(RTLD_DEFAULT, name); /* linked into the program itself */
#endif
    return found;
}

#define FIND(name, result, parameters)                                                             \
    if (!cl->name) {                                                                               \
        void *address = find_in_loader("cl" #name);                                                \
        memcpy(&cl->name, &address, sizeof address);                                               \
    }                                                                                              \
    all &= cl->name != NULL;
int clumpi_svm_functions_find(clump_cl_functions *cl) {
    int all = 1;
    CLUMP_CL_SVM_LIST(FIND)
    return all;
}

int clumpi_address_functions_find(clump_cl_functions *cl) {
    int all = cl->SetKernelExecInfo != NULL; /* clumpi_svm_functions_find() looked for it */
    CLUMP_CL_ADDRESS_LIST(FIND)
    return all;
}
#undef FIND

int clumpi_usm_functions_find(clump_cl_functions *cl, cl_platform_id platform) {
    int all = 1;
#define FIND(name, result, parameters)                                                             \
    if (!cl->name) {                                                                               \
        void *address = cl->GetExtensionFunctionAddressForPlatform(platform, "cl" #name);          \
        memcpy(&cl->name, &address, sizeof address);                                               \
    }                                                                                              \
    all &= cl->name != NULL;
    CLUMP_CL_USM_LIST(FIND)
#undef FIND
    return all;
}

/* ---- Memory ---------------------------------------------------------------------------------- */

const char *clumpi_pointers_name(clump_pointers kind) {
    switch (kind) {
    case CLUMP_POINTERS_SVM: return "SVM";
    case CLUMP_POINTERS_USM_DEVICE: return "USM of the device";
    case CLUMP_POINTERS_USM_HOST: return "USM of the host";
    case CLUMP_POINTERS_USM_SHARED: return "shared USM";
    case CLUMP_POINTERS_ADDRESS: return "buffers with addresses";
    default: return "no memory with pointers";
    }
}

static clump_status fail(clump_error *error, const char *call, cl_int code, uint64_t bytes) {
    clump_status status =
        clumpi_fail_cl(error, call, code, "%llu bytes with a pointer", (unsigned long long)bytes);
    if (!clumpi_is_no_room(code)) return status;
    if (error) error->status = CLUMP_ERR_DEVICE_MEMORY;
    return CLUMP_ERR_DEVICE_MEMORY;
}

/* The address is one of a list: one for each device of the context. */
#define DEVICES_MOST 64u
static clump_status take_address(clump_context *c, uint64_t bytes, clumpi_pointers *p,
                                 clump_error *error) {
    static const cl_bitfield properties[] = {CLUMPI_MEM_DEVICE_PRIVATE_ADDRESS, CL_TRUE, 0};
    cl_device_id devices[DEVICES_MOST];
    cl_ulong addresses[DEVICES_MOST] = {0};
    size_t found = 0, i = 0;
    cl_int code = CL_SUCCESS;
    const char *call = "clCreateBufferWithProperties";
    p->buffer = c->cl.CreateBufferWithProperties(c->context, properties, CL_MEM_READ_WRITE,
                                                 (size_t)bytes, NULL, &code);
    if (code) {
        p->buffer = NULL;
        return fail(error, call, code, bytes);
    }
    call = "clGetContextInfo";
    code = c->cl.GetContextInfo(c->context, CL_CONTEXT_DEVICES, sizeof devices, devices, &found);
    if (!code) {
        call = "clGetMemObjectInfo";
        code = c->cl.GetMemObjectInfo(p->buffer, CLUMPI_MEM_DEVICE_ADDRESS, sizeof addresses,
                                      addresses, NULL);
    }
    while (!code && i < found / sizeof *devices && devices[i] != c->device) i++;
    const cl_ulong address = !code && i < DEVICES_MOST ? addresses[i] : 0;
    if (!code && address && address % CLUMPI_POINTER_ALIGN == 0) {
        p->pointer = (void *)(uintptr_t)address;
        return CLUMP_OK;
    }
    clump_status status =
        code ? fail(error, call, code, bytes)
             : clumpi_fail(error, CLUMP_ERR_UNSUPPORTED, "a buffer has the address %llx",
                           (unsigned long long)address);
    if (!c->cl.ReleaseMemObject(p->buffer)) p->buffer = NULL;
    return status;
}

static clump_status take(clump_context *c, uint64_t bytes, clumpi_pointers *p, clump_error *error) {
    if (p->kind == CLUMP_POINTERS_ADDRESS) return take_address(c, bytes, p, error);
    const clump_cl_functions *cl = &c->cl;
    const size_t size = (size_t)bytes;
    cl_int code = CL_SUCCESS;
    const char *call;
    switch (p->kind) {
    case CLUMP_POINTERS_SVM:
        p->pointer = cl->SVMAlloc(c->context, CL_MEM_READ_WRITE, size, CLUMPI_POINTER_ALIGN);
        call = "clSVMAlloc"; /* which gives no code */
        break;
    case CLUMP_POINTERS_USM_DEVICE:
        p->pointer =
            cl->DeviceMemAllocINTEL(c->context, c->device, NULL, size, CLUMPI_POINTER_ALIGN, &code);
        call = "clDeviceMemAllocINTEL";
        break;
    case CLUMP_POINTERS_USM_HOST:
        p->pointer = cl->HostMemAllocINTEL(c->context, NULL, size, CLUMPI_POINTER_ALIGN, &code);
        call = "clHostMemAllocINTEL";
        break;
    default:
        p->pointer =
            cl->SharedMemAllocINTEL(c->context, c->device, NULL, size, CLUMPI_POINTER_ALIGN, &code);
        call = "clSharedMemAllocINTEL";
    }
    if (code) {
        p->pointer = NULL;
        return fail(error, call, code, bytes);
    }
    if (p->pointer) return CLUMP_OK;
    clumpi_fail(error, CLUMP_ERR_DEVICE_MEMORY, "%s returned NULL for %llu bytes", call,
                (unsigned long long)bytes);
    if (error) error->call = call;
    return CLUMP_ERR_DEVICE_MEMORY;
}

/* Does the pointer show what was written through the buffer? In its first word and in its last. */
static clump_status try_view(clump_context *c, uint64_t bytes, cl_command_queue queue,
                             clumpi_pointers *p, int *is_same, clump_error *error) {
    const size_t word = sizeof(cl_uint), last = ((size_t)bytes - word) / word * word;
    *is_same = 1;
    for (size_t at = 0, i = 0; i < 2; at = last, i++) {
        cl_uint sent = 0x5eed0000u + (cl_uint)i, blank = ~sent, got = 0;
        const char *call = "clEnqueueMemFillINTEL";
        cl_int code = c->cl.EnqueueMemFillINTEL(queue, (char *)p->pointer + at, &blank, word, word,
                                                0, NULL, NULL);
        if (!code) {
            call = "clFinish";
            code = c->cl.Finish(queue);
        }
        if (!code) {
            /* Not a write: the word would have to stay until it is done, whatever fails. */
            call = "clEnqueueFillBuffer";
            code = c->cl.EnqueueFillBuffer(queue, p->buffer, &sent, word, at, word, 0, NULL, NULL);
        }
        if (!code) {
            call = "clFinish";
            code = c->cl.Finish(queue);
        }
        if (!code) {
            call = "clEnqueueMemcpyINTEL";
            code = c->cl.EnqueueMemcpyINTEL(queue, CL_TRUE, &got, (char *)p->pointer + at, word, 0,
                                            NULL, NULL);
        }
        if (code) return fail(error, call, code, bytes);
        *is_same &= got == sent;
    }
    return CLUMP_OK;
}

static clump_status view(clump_context *c, uint64_t bytes, cl_command_queue queue,
                         clumpi_pointers *p, clump_error *error) {
    cl_int code = CL_SUCCESS;
    int is_same = 1;
    p->buffer = c->cl.CreateBuffer(c->context, CL_MEM_READ_WRITE | CL_MEM_USE_HOST_PTR,
                                   (size_t)bytes, p->pointer, &code);
    if (code) p->buffer = NULL;
    if (p->kind == CLUMP_POINTERS_SVM)
        return code ? fail(error, "clCreateBuffer", code, bytes) : CLUMP_OK;
    if (code == CL_INVALID_HOST_PTR || code == CL_INVALID_VALUE) return CLUMP_OK; /* takes no USM */
    if (code) return fail(error, "clCreateBuffer", code, bytes);
    clump_status status =
        bytes < sizeof(cl_uint) ? CLUMP_OK : try_view(c, bytes, queue, p, &is_same, error);
    if (status || is_same) return status;
    code = c->cl.ReleaseMemObject(p->buffer);
    p->buffer = NULL;
    return code ? fail(error, "clReleaseMemObject", code, bytes) : CLUMP_OK;
}

clump_status clumpi_pointers_create(clump_context *c, clump_pointers kind, uint64_t bytes,
                                    cl_command_queue queue, clumpi_pointers *made,
                                    clump_error *error) {
    clumpi_pointers p = {.kind = kind};
    memset(made, 0, sizeof *made);
    if (!(c->capabilities.pointers & kind))
        return clumpi_fail(error, CLUMP_ERR_UNSUPPORTED, "the device %s has no %s",
                           c->capabilities.device_name, clumpi_pointers_name(kind));
    clump_status status = take(c, bytes, &p, error);
    if (!status && !p.buffer) status = view(c, bytes, queue, &p, error);
    if (status) {
        clumpi_pointers_release(c, queue, &p);
        return status;
    }
    *made = p;
    return CLUMP_OK;
}

/* Memory that commands or a buffer may still use is worse to give back than to keep: if OpenCL
 * fails here, it stays the device's. */
void clumpi_pointers_release(clump_context *c, cl_command_queue queue, clumpi_pointers *p) {
    if (!p->pointer) return;
    cl_int code = c->cl.Finish(queue);
    if (code) code = c->cl.Finish(queue); /* it may be the one call that fails */
    if (p->buffer && c->cl.ReleaseMemObject(p->buffer)) code = CL_INVALID_MEM_OBJECT;
    if (!code && p->kind == CLUMP_POINTERS_SVM) c->cl.SVMFree(c->context, p->pointer);
    const uint32_t buffers = CLUMP_POINTERS_SVM | CLUMP_POINTERS_ADDRESS;
    if (!code && !(p->kind & buffers)) c->cl.MemFreeINTEL(c->context, p->pointer);
    memset(p, 0, sizeof *p);
}
