/* See failing.h. */
#ifndef CL_TARGET_OPENCL_VERSION
#define CL_TARGET_OPENCL_VERSION 200 /* for SVM */
#endif
#define CL_USE_DEPRECATED_OPENCL_1_2_APIS /* clCreateCommandQueue() */
#include "failing.h"

#include <stdlib.h>
#include <string.h>

#include "cl_enqueues.h"
#include "usm.h"

failing_state failing;

static int strike(const char *name) {
    failing.calls++;
    if (!failing.fail_at || failing.calls < failing.fail_at ||
        (failing.calls > failing.fail_at && !failing.persistent))
        return 0;
    if (!failing.struck) failing.struck = name;
    return 1;
}

static cl_int retained(int kind, cl_int code) {
    if (!code) failing.live[kind]++;
    return code;
}

static cl_int unreleased(int kind, void *object) {
    assert_true(failing.left_count < sizeof failing.left / sizeof *failing.left);
    failing.left[failing.left_count++] = (leftover){kind, object};
    return failing.code;
}

/* Programs are compiled once for all runs: a run's clCreateProgramWithSource gets a reference to
 * the program that an earlier run made of the same text, and builds it only if none has
 * yet. */
static struct {
    cl_program program;
    char *source;
    int built;
    cl_int result;
} cached[16];
static unsigned cached_count;

static cl_program cache_program(cl_context context, const char *source, cl_int *code) {
    for (unsigned i = 0; i < cached_count; i++) {
        if (strcmp(cached[i].source, source) != 0) continue;
        *code = clRetainProgram(cached[i].program);
        return cached[i].program;
    }
    cl_program program = clCreateProgramWithSource(context, 1, &source, NULL, code);
    assert_int_equal(*code, CL_SUCCESS);
    assert_true(cached_count < sizeof cached / sizeof *cached);
    clRetainProgram(program);
    cached[cached_count].program = program;
    cached[cached_count].built = 0;
    cached[cached_count++].source = strdup(source);
    return program;
}

void failing_forget_programs(void) {
    for (unsigned i = 0; i < cached_count; i++) {
        clReleaseProgram(cached[i].program);
        free(cached[i].source);
    }
    cached_count = 0;
}

#define PASS(name, parameters, ...)                                                                \
    static cl_int CL_API_CALL fail_##name parameters {                                             \
        return strike("cl" #name) ? failing.code : cl##name(__VA_ARGS__);                          \
    }
#define RETAIN(name, type, kind)                                                                   \
    static cl_int CL_API_CALL fail_##name(type object) {                                           \
        return strike("cl" #name) ? failing.code : retained(kind, cl##name(object));               \
    }
#define RELEASE(name, type, kind)                                                                  \
    static cl_int CL_API_CALL fail_##name(type object) {                                           \
        if (strike("cl" #name)) return unreleased(kind, object);                                   \
        failing.live[kind]--;                                                                      \
        return cl##name(object);                                                                   \
    }
#define CREATE(name, type, kind, parameters, ...)                                                  \
    static type CL_API_CALL fail_##name parameters {                                               \
        if (strike("cl" #name)) {                                                                  \
            *code = failing.code;                                                                  \
            return NULL;                                                                           \
        }                                                                                          \
        type object = cl##name(__VA_ARGS__);                                                       \
        if (object) failing.live[kind]++;                                                          \
        return object;                                                                             \
    }
/* The last parameter is the event to give back, which may be NULL. */
#define ENQUEUE(name, parameters, ...)                                                             \
    static cl_int CL_API_CALL fail_##name parameters {                                             \
        if (strike("cl" #name)) return failing.code;                                               \
        cl_int code = cl##name(__VA_ARGS__);                                                       \
        return event ? retained(FAILING_EVENT, code) : code;                                       \
    }

cl_int(CL_API_CALL *failing_device_info)(cl_device_id, cl_device_info, size_t, void *,
                                         size_t *) = clGetDeviceInfo;

static cl_int CL_API_CALL fail_GetDeviceInfo(cl_device_id a, cl_device_info b, size_t c, void *d,
                                             size_t *e) {
    return strike("clGetDeviceInfo") ? failing.code : failing_device_info(a, b, c, d, e);
}
PASS(GetPlatformInfo, (cl_platform_id a, cl_platform_info b, size_t c, void *d, size_t *e), a, b, c,
     d, e)
PASS(GetContextInfo, (cl_context a, cl_context_info b, size_t c, void *d, size_t *e), a, b, c, d, e)
PASS(GetCommandQueueInfo,
     (cl_command_queue a, cl_command_queue_info b, size_t c, void *d, size_t *e), a, b, c, d, e)
RETAIN(RetainContext, cl_context, FAILING_CONTEXT)
RELEASE(ReleaseContext, cl_context, FAILING_CONTEXT)
CREATE(CreateCommandQueue, cl_command_queue, FAILING_QUEUE,
       (cl_context a, cl_device_id b, cl_command_queue_properties c, cl_int *code), a, b, c, code)
RETAIN(RetainCommandQueue, cl_command_queue, FAILING_QUEUE)
RELEASE(ReleaseCommandQueue, cl_command_queue, FAILING_QUEUE)
CREATE(CreateBuffer, cl_mem, FAILING_BUFFER,
       (cl_context a, cl_mem_flags b, size_t c, void *d, cl_int *code), a, b, c, d, code)
RETAIN(RetainMemObject, cl_mem, FAILING_BUFFER)
RELEASE(ReleaseMemObject, cl_mem, FAILING_BUFFER)
CREATE(CreateSubBuffer, cl_mem, FAILING_BUFFER,
       (cl_mem a, cl_mem_flags b, cl_buffer_create_type c, const void *d, cl_int *code), a, b, c, d,
       code)
PASS(SetMemObjectDestructorCallback, (cl_mem a, void(CL_CALLBACK *b)(cl_mem, void *), void *c), a,
     b, c)
PASS(GetMemObjectInfo, (cl_mem a, cl_mem_info b, size_t c, void *d, size_t *e), a, b, c, d, e)
static cl_program CL_API_CALL fail_CreateProgramWithSource(cl_context a, cl_uint b, const char **c,
                                                           const size_t *d, cl_int *code) {
    if (strike("clCreateProgramWithSource")) {
        *code = failing.code;
        return NULL;
    }
    failing.live[FAILING_PROGRAM]++;
    return cache_program(a, c[0], code);
}

static cl_int CL_API_CALL fail_BuildProgram(cl_program a, cl_uint b, const cl_device_id *c,
                                            const char *d, void(CL_CALLBACK *e)(cl_program, void *),
                                            void *g) {
    if (strike("clBuildProgram")) return failing.code;
    unsigned i = 0;
    while (i < cached_count && cached[i].program != a) i++;
    if (i == cached_count) return clBuildProgram(a, b, c, d, e, g); /* made of a binary */
    if (!cached[i].built) cached[i].result = clBuildProgram(a, b, c, d, e, g);
    cached[i].built = 1;
    return cached[i].result;
}

CREATE(CreateProgramWithBinary, cl_program, FAILING_PROGRAM,
       (cl_context a, cl_uint b, const cl_device_id *c, const size_t *d, const unsigned char **e,
        cl_int *f, cl_int *code),
       a, b, c, d, e, f, code)
PASS(GetProgramInfo, (cl_program a, cl_program_info b, size_t c, void *d, size_t *e), a, b, c, d, e)
PASS(GetProgramBuildInfo,
     (cl_program a, cl_device_id b, cl_program_build_info c, size_t d, void *e, size_t *g), a, b, c,
     d, e, g)
RELEASE(ReleaseProgram, cl_program, FAILING_PROGRAM)
CREATE(CreateKernel, cl_kernel, FAILING_KERNEL, (cl_program a, const char *b, cl_int *code), a, b,
       code)
RELEASE(ReleaseKernel, cl_kernel, FAILING_KERNEL)
PASS(SetKernelArg, (cl_kernel a, cl_uint b, size_t c, const void *d), a, b, c, d)
PASS(GetKernelInfo, (cl_kernel a, cl_kernel_info b, size_t c, void *d, size_t *e), a, b, c, d, e)
PASS(GetKernelArgInfo, (cl_kernel a, cl_uint b, cl_kernel_arg_info c, size_t d, void *e, size_t *g),
     a, b, c, d, e, g)
PASS(GetKernelWorkGroupInfo,
     (cl_kernel a, cl_device_id b, cl_kernel_work_group_info c, size_t d, void *e, size_t *g), a, b,
     c, d, e, g)
CL_ENQUEUES(ENQUEUE)
static void *CL_API_CALL fail_EnqueueMapBuffer(cl_command_queue a, cl_mem b, cl_bool c,
                                               cl_map_flags d, size_t e, size_t g, cl_uint h,
                                               const cl_event *i, cl_event *event, cl_int *code) {
    if (strike("clEnqueueMapBuffer")) {
        *code = failing.code;
        return NULL;
    }
    void *mapped = clEnqueueMapBuffer(a, b, c, d, e, g, h, i, event, code);
    if (event) retained(FAILING_EVENT, *code);
    return mapped;
}
PASS(WaitForEvents, (cl_uint a, const cl_event *b), a, b)
PASS(GetEventInfo, (cl_event a, cl_event_info b, size_t c, void *d, size_t *e), a, b, c, d, e)
RETAIN(RetainEvent, cl_event, FAILING_EVENT)
RELEASE(ReleaseEvent, cl_event, FAILING_EVENT)
PASS(GetEventProfilingInfo, (cl_event a, cl_profiling_info b, size_t c, void *d, size_t *e), a, b,
     c, d, e)
PASS(Flush, (cl_command_queue a), a)
PASS(Finish, (cl_command_queue a), a)
static void *CL_API_CALL fail_GetExtensionFunctionAddressForPlatform(cl_platform_id a,
                                                                     const char *b) {
    if (strike("clGetExtensionFunctionAddressForPlatform")) return NULL;
    return clGetExtensionFunctionAddressForPlatform(a, b);
}

/* ---- Memory with pointers ---- */

static cl_context context_of_pointers; /* of the last one */

static const clump_cl_functions *usm(cl_context context) {
    cl_device_id device = NULL;
    context_of_pointers = context;
    clGetContextInfo(context, CL_CONTEXT_DEVICES, sizeof device, &device, NULL);
    return &usm_of(device)->cl;
}

static const clump_cl_functions *usm_of_queue(cl_command_queue queue) {
    cl_context context = NULL;
    clGetCommandQueueInfo(queue, CL_QUEUE_CONTEXT, sizeof context, &context, NULL);
    return usm(context);
}

static void *taken(void *memory, int is_svm) {
    unsigned i = 0;
    if (!memory) return NULL;
    while (failing.pointers[i])
        assert_true(++i < sizeof failing.pointers / sizeof *failing.pointers);
    failing.pointers[i] = memory;
    failing.is_svm[i] = is_svm;
    failing.live[FAILING_POINTER]++;
    return memory;
}

static void given(void *memory) {
    unsigned i = 0;
    while (failing.pointers[i] != memory)
        assert_true(++i < sizeof failing.pointers / sizeof *failing.pointers);
    failing.pointers[i] = NULL;
    failing.live[FAILING_POINTER]--;
}

/* What was not given back since nothing could be waited for, or since a buffer over it was not
 * released. */
static void give_kept_pointers(void) {
    for (unsigned i = 0; i < sizeof failing.pointers / sizeof *failing.pointers; i++) {
        void *memory = failing.pointers[i];
        if (!memory) continue;
        given(memory);
        if (failing.is_svm[i])
            clSVMFree(context_of_pointers, memory);
        else
            usm(context_of_pointers)->MemFreeINTEL(context_of_pointers, memory);
    }
}

static void *CL_API_CALL fail_SVMAlloc(cl_context a, cl_bitfield b, size_t c, cl_uint d) {
    return strike("clSVMAlloc") ? NULL
                                : taken(clSVMAlloc(a, b, c, d), (context_of_pointers = a) != NULL);
}
static void CL_API_CALL fail_SVMFree(cl_context a, void *b) { /* it cannot fail */
    given(b);
    clSVMFree(a, b);
}
static void *CL_API_CALL fail_HostMemAllocINTEL(cl_context a, const cl_bitfield *b, size_t c,
                                                cl_uint d, cl_int *code) {
    if (!strike("clHostMemAllocINTEL"))
        return taken(usm(a)->HostMemAllocINTEL(a, b, c, d, code), 0);
    *code = failing.code;
    return NULL;
}
static void *CL_API_CALL fail_DeviceMemAllocINTEL(cl_context a, cl_device_id b,
                                                  const cl_bitfield *c, size_t d, cl_uint e,
                                                  cl_int *code) {
    if (!strike("clDeviceMemAllocINTEL"))
        return taken(usm(a)->DeviceMemAllocINTEL(a, b, c, d, e, code), 0);
    *code = failing.code;
    return NULL;
}
static void *CL_API_CALL fail_SharedMemAllocINTEL(cl_context a, cl_device_id b,
                                                  const cl_bitfield *c, size_t d, cl_uint e,
                                                  cl_int *code) {
    if (!strike("clSharedMemAllocINTEL"))
        return taken(usm(a)->SharedMemAllocINTEL(a, b, c, d, e, code), 0);
    *code = failing.code;
    return NULL;
}
static cl_int CL_API_CALL fail_MemFreeINTEL(cl_context a, void *b) {
    if (strike("clMemFreeINTEL")) return unreleased(FAILING_POINTER, b);
    given(b);
    return usm(a)->MemFreeINTEL(a, b);
}
static cl_int CL_API_CALL fail_EnqueueMemcpyINTEL(cl_command_queue a, cl_bool b, void *c,
                                                  const void *d, size_t e, cl_uint g,
                                                  const cl_event *h, cl_event *event) {
    if (strike("clEnqueueMemcpyINTEL")) return failing.code;
    cl_int code = usm_of_queue(a)->EnqueueMemcpyINTEL(a, b, c, d, e, g, h, event);
    return event ? retained(FAILING_EVENT, code) : code;
}
static cl_int CL_API_CALL fail_EnqueueMemFillINTEL(cl_command_queue a, void *b, const void *c,
                                                   size_t d, size_t e, cl_uint g, const cl_event *h,
                                                   cl_event *event) {
    if (strike("clEnqueueMemFillINTEL")) return failing.code;
    cl_int code = usm_of_queue(a)->EnqueueMemFillINTEL(a, b, c, d, e, g, h, event);
    return event ? retained(FAILING_EVENT, code) : code;
}
/* For kernels of users: the library only looks whether it is there. */
static cl_int CL_API_CALL no_SetKernelArgMemPointerINTEL(cl_kernel a, cl_uint b, const void *c) {
    return CL_INVALID_OPERATION;
}

const clump_cl_functions failing_cl = {
    .size = sizeof failing_cl,
#define MEMBER(name, result, parameters) .name = fail_##name,
    CLUMP_CL_FUNCTION_LIST(MEMBER) MEMBER(SVMAlloc, , ) MEMBER(SVMFree, , ) MEMBER(
        HostMemAllocINTEL, , ) MEMBER(DeviceMemAllocINTEL, , ) MEMBER(SharedMemAllocINTEL, , )
        MEMBER(MemFreeINTEL, , ) MEMBER(EnqueueMemcpyINTEL, , ) MEMBER(EnqueueMemFillINTEL, , )
            .SetKernelArgMemPointerINTEL = no_SetKernelArgMemPointerINTEL,
#undef MEMBER
};

static int refuse(void) {
    failing.requests++;
    if (failing.requests != failing.refuse_at) return 0;
    failing.refused = 1;
    return 1;
}

static void *allocate(void *user, size_t bytes) {
    if (refuse()) return NULL;
    void *memory = malloc(bytes);
    if (memory) failing.blocks++;
    return memory;
}

static void *reallocate(void *user, void *memory, size_t bytes) {
    if (refuse()) return NULL;
    if (!memory) failing.blocks++;
    return realloc(memory, bytes);
}

static void release(void *user, void *memory) {
    failing.blocks -= memory != NULL;
    free(memory);
}

const clump_allocator failing_allocator = {allocate, reallocate, release, NULL};

uint64_t failing_strike_all(failing_scenario *run, const cl_fixture *on, cl_int code,
                            int persistent) {
    const uint64_t step = cl_fixture_each(code == CL_OUT_OF_RESOURCES ? 4 : 9);
    uint64_t n = 0;
    do {
        memset(&failing, 0, sizeof failing);
        n += step;
        failing.fail_at = n;
        failing.code = code;
        failing.persistent = persistent;
    } while (run(on));
    print_message("%llu calls, each of %llu made to fail\n", (unsigned long long)(n - step),
                  (unsigned long long)step);
    return n;
}

uint64_t failing_refuse_all(failing_scenario *run, const cl_fixture *on) {
    const uint64_t step = cl_fixture_each(1);
    uint64_t n = 0;
    do {
        memset(&failing, 0, sizeof failing);
        n += step;
        failing.refuse_at = n;
    } while (run(on));
    print_message("%llu requests, each of %llu refused\n", (unsigned long long)(n - step),
                  (unsigned long long)step);
    return n;
}

void failing_check_nothing_left(void) {
    static const char *const names[] = {"context", "queue", "buffer", "program",
                                        "kernel",  "event", "pointer"};
    for (unsigned i = 0; i < failing.left_count; i++) {
        leftover l = failing.left[i];
        if (l.kind == FAILING_POINTER)
            given(l.object);
        else
            failing.live[l.kind]--;
        switch (l.kind) {
        case FAILING_CONTEXT: clReleaseContext(l.object); break;
        case FAILING_QUEUE: clReleaseCommandQueue(l.object); break;
        case FAILING_BUFFER: clReleaseMemObject(l.object); break;
        case FAILING_PROGRAM: clReleaseProgram(l.object); break;
        case FAILING_KERNEL: clReleaseKernel(l.object); break;
        case FAILING_POINTER:
            usm(context_of_pointers)->MemFreeINTEL(context_of_pointers, l.object);
            break;
        default: clReleaseEvent(l.object);
        }
    }
    if (failing.persistent || (failing.struck && strcmp(failing.struck, "clReleaseMemObject") == 0))
        give_kept_pointers();
    for (int kind = 0; kind < FAILING_KINDS; kind++)
        if (failing.live[kind])
            fail_msg("%ld references to a %s left after %s (call %llu) failed", failing.live[kind],
                     names[kind], failing.struck ? failing.struck : "nothing",
                     (unsigned long long)failing.fail_at);
    if (failing.blocks)
        fail_msg("%ld blocks of host memory left after %s (call %llu, request %llu) failed",
                 failing.blocks, failing.struck ? failing.struck : "a request",
                 (unsigned long long)failing.fail_at, (unsigned long long)failing.refuse_at);
}

clump_status failing_context(const cl_fixture *on, clump_context **context, clump_error *error) {
    clump_context_desc desc = {.size = sizeof desc,
                               .context = on->context,
                               .device = on->device,
                               .queue = on->queue,
                               .personality = on->capabilities->personality,
                               .allocator = failing_allocator,
                               .cl = &failing_cl};
    return clump_context_create(&desc, context, error);
}

cl_fixture failing_open(int out_of_order) {
    cl_fixture on;
    const int result = cl_fixture_open(&on, &(cl_fixture_desc){.out_of_order = out_of_order});
    if (result == CL_FIXTURE_SKIP) skip();
    assert_int_equal(result, 0);
    return on;
}

void failing_close(cl_fixture *on) {
    clFinish(on->queue);
    failing_forget_programs();
    cl_fixture_close(on);
}

void failing_strike_device(failing_scenario *run, int out_of_order, cl_int code, int persistent,
                           uint64_t least) {
    cl_fixture on = failing_open(out_of_order);
    assert_true(failing_strike_all(run, &on, code, persistent) >= least);
    failing_close(&on);
}

void failing_refuse_device(failing_scenario *run, uint64_t least) {
    cl_fixture on = failing_open(0);
    assert_true(failing_refuse_all(run, &on) >= least);
    failing_close(&on);
}

enum { PART_CALLS = 200, PART_REQUESTS = 20 };

static failing_scenario *begin(void **state) {
    const failing_part *part = *state;
    if (part->begin) part->begin();
    return part->run;
}

void failing_calls(void **part) {
    failing_strike_device(begin(part), 0, CL_OUT_OF_RESOURCES, 0, PART_CALLS);
}

void failing_calls_out_of_order(void **part) {
    failing_strike_device(begin(part), 1, CL_MEM_OBJECT_ALLOCATION_FAILURE, 0, PART_CALLS);
}

void failing_lost(void **part) {
    failing_strike_device(begin(part), 0, CL_OUT_OF_HOST_MEMORY, 1, PART_CALLS);
}

void failing_requests(void **part) {
    failing_refuse_device(begin(part), PART_REQUESTS);
}

int failing_hit(void) {
    return failing.struck || failing.refused;
}

int failing_may_be_ignored(void) {
    /* Memory that is unmapped is released next. An extension's function that is not found is one
     * that the device has not. */
    return !failing.refused &&
           (strncmp(failing.struck, "clRelease", 9) == 0 ||
            strcmp(failing.struck, "clEnqueueUnmapMemObject") == 0 ||
            strcmp(failing.struck, "clMemFreeINTEL") == 0 ||
            strcmp(failing.struck, "clGetExtensionFunctionAddressForPlatform") == 0);
}

void failing_check_words(const clump_error *error, const char *step, clump_status status) {
    assert_true(status < 0 && error->status == status && strlen(error->message) > 10);
    if (failing.refused) {
        if (status != CLUMP_ERR_HOST_MEMORY)
            fail_msg("%s, request %llu refused: %s", step, (unsigned long long)failing.refuse_at,
                     error->message);
        return;
    }
    if (!failing.struck) fail_msg("%s fails by itself: %s", step, error->message);
    if (failing.persistent) return;
    if (!strstr(error->message, failing.struck))
        fail_msg("%s: %s failed, but the message is: %s", step, failing.struck, error->message);
}
