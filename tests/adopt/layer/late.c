/* A layer below libclump-layer.so, in the place of a driver that tells the end of memory objects
 * late: at the next clFinish(), when other objects may have their handles; and that gives the last
 * handle again when it refuses, as PoCL 3.1 gives one of a context that it did not make; and that
 * carries out a blocking write of few bytes when its event is waited for, as Intel's runtime does
 * some time later; and that has unified shared memory. The test `layer` loads it. */
#include <CL/cl_ext.h>
#include <CL/cl_layer.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

typedef void(CL_CALLBACK *teller)(cl_mem, void *);

typedef struct end {
    struct end *next;
    cl_mem object;
    teller tell;
    void *user;
} end;

static cl_icd_dispatch table, below;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static end *ends; /* that came, the last one first */

static void CL_CALLBACK keep(cl_mem object, void *user) {
    end *e = user;
    (void)object;
    pthread_mutex_lock(&lock);
    e->next = ends;
    ends = e;
    pthread_mutex_unlock(&lock);
}

static cl_int CL_API_CALL set_callback(cl_mem object, teller tell, void *user) {
    end *e = calloc(1, sizeof *e);
    if (!e) return CL_OUT_OF_HOST_MEMORY;
    *e = (end){.object = object, .tell = tell, .user = user};
    cl_int code = below.clSetMemObjectDestructorCallback(object, keep, e);
    if (code) free(e);
    return code;
}

static cl_int CL_API_CALL finish(cl_command_queue queue) {
    cl_int code = below.clFinish(queue);
    pthread_mutex_lock(&lock);
    end *all = ends;
    ends = NULL;
    pthread_mutex_unlock(&lock);
    for (end *e = all, *next; e; e = next) {
        next = e->next;
        e->tell(e->object, e->user);
        free(e);
    }
    return code;
}

/* ---- Refusing with a handle ------------------------------------------------------------------ */

#define GIVES_A_HANDLE(name, type, parameters, arguments)                                          \
    static type CL_API_CALL refusing_##name parameters {                                           \
        static type last;                                                                          \
        cl_int code = CL_SUCCESS;                                                                  \
        type made = below.name arguments;                                                          \
        if (code_ret) *code_ret = code;                                                            \
        if (!code) last = made;                                                                    \
        return last;                                                                               \
    }
typedef void(CL_CALLBACK *notifier)(const char *, const void *, size_t, void *);
static cl_context last_context;
static cl_context CL_API_CALL of_devices(const cl_context_properties *properties, cl_uint count,
                                         const cl_device_id *devices, notifier notify, void *user,
                                         cl_int *code) {
    return last_context = below.clCreateContext(properties, count, devices, notify, user, code);
}
static cl_context CL_API_CALL of_type(const cl_context_properties *properties, cl_device_type type,
                                      notifier notify, void *user, cl_int *code_ret) {
    cl_int code = CL_SUCCESS;
    cl_context made = below.clCreateContextFromType(properties, type, notify, user, &code);
    if (code_ret) *code_ret = code;
    return code ? last_context : made;
}
GIVES_A_HANDLE(clCreateBuffer, cl_mem,
               (cl_context context, cl_mem_flags flags, size_t bytes, void *host, cl_int *code_ret),
               (context, flags, bytes, host, &code))
GIVES_A_HANDLE(clCreateSubBuffer, cl_mem,
               (cl_mem parent, cl_mem_flags flags, cl_buffer_create_type type, const void *info,
                cl_int *code_ret),
               (parent, flags, type, info, &code))
GIVES_A_HANDLE(clCreateCommandQueue, cl_command_queue,
               (cl_context context, cl_device_id device, cl_command_queue_properties properties,
                cl_int *code_ret),
               (context, device, properties, &code))

/* ---- Writing late ---------------------------------------------------------------------------- */

static struct {
    cl_event before; /* the write waits for it; NULL: there is none */
    char data[512];
} held;

static cl_int CL_API_CALL write_late(cl_command_queue queue, cl_mem buffer, cl_bool blocks,
                                     size_t offset, size_t bytes, const void *data, cl_uint waits,
                                     const cl_event *wait_list, cl_event *event) {
    if (!blocks || bytes >= sizeof held.data || waits || held.before)
        return below.clEnqueueWriteBuffer(queue, buffer, blocks, offset, bytes, data, waits,
                                          wait_list, event);
    cl_context context = NULL;
    cl_int code =
        below.clGetCommandQueueInfo(queue, CL_QUEUE_CONTEXT, sizeof context, &context, NULL);
    if (!code) held.before = below.clCreateUserEvent(context, &code);
    if (code) return code;
    memcpy(held.data, data, bytes);
    return below.clEnqueueWriteBuffer(queue, buffer, CL_FALSE, offset, bytes, held.data, 1,
                                      &held.before, event);
}

static cl_int CL_API_CALL wait_for(cl_uint count, const cl_event *events) {
    if (held.before) {
        below.clSetUserEventStatus(held.before, CL_COMPLETE);
        below.clReleaseEvent(held.before);
        held.before = NULL;
    }
    return below.clWaitForEvents(count, events);
}

/* ---- Unified shared memory ------------------------------------------------------------------- */

static void *CL_API_CALL host_alloc(cl_context context, const cl_mem_properties_intel *properties,
                                    size_t bytes, cl_uint alignment, cl_int *code_ret) {
    (void)context, (void)properties, (void)alignment;
    if (code_ret) *code_ret = CL_SUCCESS;
    return malloc(bytes);
}

static void *CL_API_CALL device_alloc(cl_context context, cl_device_id device,
                                      const cl_mem_properties_intel *properties, size_t bytes,
                                      cl_uint alignment, cl_int *code_ret) {
    (void)device;
    return host_alloc(context, properties, bytes, alignment, code_ret);
}

static cl_int CL_API_CALL mem_free(cl_context context, void *memory) {
    (void)context;
    free(memory);
    return CL_SUCCESS;
}

static void *CL_API_CALL address(cl_platform_id platform, const char *name) {
    typedef void (*function)(void);
    static const struct {
        const char *name;
        function ours;
    } list[] = {{"clHostMemAllocINTEL", (function)host_alloc},
                {"clDeviceMemAllocINTEL", (function)device_alloc},
                {"clSharedMemAllocINTEL", (function)device_alloc},
                {"clMemFreeINTEL", (function)mem_free},
                {"clMemBlockingFreeINTEL", (function)mem_free}};
    void *found = below.clGetExtensionFunctionAddressForPlatform(platform, name);
    for (size_t i = 0; i < sizeof list / sizeof *list; i++)
        if (strcmp(name, list[i].name) == 0) memcpy(&found, &list[i].ours, sizeof found);
    return found;
}

CL_API_ENTRY cl_int CL_API_CALL clGetLayerInfo(cl_layer_info name, size_t room, void *value,
                                               size_t *needed) {
    static const cl_layer_api_version version = CL_LAYER_API_VERSION_100;
    static const char text[] = "late";
    const int is_name = name == CL_LAYER_NAME;
    const void *answer = is_name ? (const void *)text : (const void *)&version;
    const size_t bytes = is_name ? sizeof text : sizeof version;
    if (value && room < bytes) return CL_INVALID_VALUE;
    if (value) memcpy(value, answer, bytes);
    if (needed) *needed = bytes;
    return CL_SUCCESS;
}

CL_API_ENTRY cl_int CL_API_CALL clInitLayer(cl_uint count, const cl_icd_dispatch *target,
                                            cl_uint *count_ret, const cl_icd_dispatch **layer_ret) {
    const cl_uint known = sizeof table / sizeof(void *);
    *count_ret = count < known ? count : known;
    memcpy(&below, target, *count_ret * sizeof(void *));
    table = below;
    table.clSetMemObjectDestructorCallback = set_callback;
    table.clFinish = finish;
    table.clEnqueueWriteBuffer = write_late;
    table.clWaitForEvents = wait_for;
    table.clCreateContext = of_devices;
    table.clCreateContextFromType = of_type;
    table.clCreateBuffer = refusing_clCreateBuffer;
    table.clCreateSubBuffer = refusing_clCreateSubBuffer;
    table.clCreateCommandQueue = refusing_clCreateCommandQueue;
    table.clGetExtensionFunctionAddressForPlatform = address;
    *layer_ret = &table;
    return CL_SUCCESS;
}

#ifndef CL_LAYER_PROPERTIES_LIST_END /* of OpenCL's headers since 2025 */
typedef cl_properties cl_layer_properties;
cl_int CL_API_CALL clInitLayerWithProperties(cl_uint count, const cl_icd_dispatch *target,
                                             cl_uint *count_ret, const cl_icd_dispatch **layer_ret,
                                             const cl_layer_properties *properties);
#endif
CL_API_ENTRY cl_int CL_API_CALL clInitLayerWithProperties(cl_uint count,
                                                          const cl_icd_dispatch *target,
                                                          cl_uint *count_ret,
                                                          const cl_icd_dispatch **layer_ret,
                                                          const cl_layer_properties *properties) {
    (void)properties;
    return clInitLayer(count, target, count_ret, layer_ret);
}
