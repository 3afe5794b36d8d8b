/* The OpenCL functions of a device that is none.
 *
 * Read first: device.h.
 */
#include "tools/compile/device.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/compiled_key.h"

/* Stands for each OpenCL object of which nothing is asked. */
static struct {
    const compile_target *target;
    compile_file *file;
} the;
#define OBJECT(type) ((type)(void *)&the)

typedef struct text_program {
    char *source;
    compile_result result;
} text_program;

static cl_int give(const void *value, size_t bytes, size_t room, void *to, size_t *size) {
    if (size) *size = bytes;
    if (to && room < bytes) return CL_INVALID_VALUE;
    if (to) memcpy(to, value, bytes);
    return CL_SUCCESS;
}

static cl_int give_text(const char *text, size_t room, void *to, size_t *size) {
    return give(text, strlen(text) + 1, room, to, size);
}

static cl_int give_extensions(size_t room, void *to, size_t *size) {
    uint32_t f = the.target->features;
    char text[256];
    snprintf(text, sizeof text, "cl_khr_il_program%s%s%s",
             f & CLUMP_FEATURE_INT64_ATOMICS
                 ? " cl_khr_int64_base_atomics cl_khr_int64_extended_atomics"
                 : "",
             f & CLUMP_FEATURE_FP64 ? " cl_khr_fp64" : "",
             f & CLUMP_FEATURE_SUBGROUPS ? " cl_khr_subgroups cl_khr_subgroup_ballot" : "");
    return give_text(text, room, to, size);
}

typedef struct name_version { /* cl_name_version of OpenCL 3.0 */
    cl_uint version;
    char name[64];
} name_version;

static cl_int give_features(size_t room, void *to, size_t *size) {
    static const name_version features[] = {{3u << 22, "__opencl_c_atomic_scope_device"},
                                            {3u << 22, "__opencl_c_atomic_order_seq_cst"}};
    return give(features, sizeof features, room, to, size);
}

static cl_int give_versions(size_t room, void *to, size_t *size) {
    const name_version version = {(cl_uint)(the.target->language[2] - '0') << 22, "OpenCL C"};
    return give(&version, sizeof version, room, to, size);
}

static cl_int give_number(uint64_t number, size_t bytes, size_t room, void *to, size_t *size) {
    return give(&number, bytes, room, to, size); /* little-endian, as all that the library takes */
}

static cl_int CL_API_CALL GetDeviceInfo(cl_device_id device, cl_device_info name, size_t room,
                                        void *to, size_t *size) {
    cl_platform_id platform = OBJECT(cl_platform_id);
    char text[64];
    (void)device;
    switch (name) {
    case CL_DEVICE_PLATFORM: return give(&platform, sizeof platform, room, to, size);
    case CL_DEVICE_TYPE:
        return give_number(the.target->personality == CLUMP_PERSONALITY_CPU ? CL_DEVICE_TYPE_CPU
                                                                            : CL_DEVICE_TYPE_GPU,
                           sizeof(cl_device_type), room, to, size);
    case CL_DEVICE_AVAILABLE:
    case CL_DEVICE_COMPILER_AVAILABLE:
    case CL_DEVICE_ENDIAN_LITTLE: return give_number(CL_TRUE, sizeof(cl_bool), room, to, size);
    case CL_DEVICE_MAX_COMPUTE_UNITS: return give_number(1, sizeof(cl_uint), room, to, size);
    case CL_DEVICE_MEM_BASE_ADDR_ALIGN: return give_number(1024, sizeof(cl_uint), room, to, size);
    case CL_DEVICE_GLOBAL_MEM_SIZE:
    case CL_DEVICE_MAX_MEM_ALLOC_SIZE:
        return give_number(UINT64_C(1) << 62, sizeof(cl_ulong), room, to, size);
    case CL_DEVICE_LOCAL_MEM_SIZE: return give_number(32768, sizeof(cl_ulong), room, to, size);
    case CL_DEVICE_MAX_WORK_GROUP_SIZE: return give_number(256, sizeof(size_t), room, to, size);
    case 0x105C: /* CL_DEVICE_MAX_NUM_SUB_GROUPS */
        return give_number(8, sizeof(cl_uint), room, to, size);
    case 0x1066: return give_versions(room, to, size); /* CL_DEVICE_OPENCL_C_ALL_VERSIONS */
    case 0x106F: return give_features(room, to, size); /* CL_DEVICE_OPENCL_C_FEATURES */
    case CL_DEVICE_EXTENSIONS: return give_extensions(room, to, size);
    case CL_DEVICE_PROFILE: return give_text("FULL_PROFILE", room, to, size);
    case CL_DEVICE_OPENCL_C_VERSION:
        snprintf(text, sizeof text, "OpenCL C %.3s ", the.target->language + 2);
        return give_text(text, room, to, size);
    case CL_DEVICE_VERSION: return give_text("OpenCL 3.0", room, to, size);
    case CL_DEVICE_NAME: return give_text("clump-compile", room, to, size);
    case CL_DRIVER_VERSION: return give_text("1", room, to, size);
    default: return CL_INVALID_VALUE;
    }
}

static cl_int CL_API_CALL GetPlatformInfo(cl_platform_id platform, cl_platform_info name,
                                          size_t room, void *to, size_t *size) {
    (void)platform;
    (void)name;
    return give_text("clump-compile", room, to, size);
}

static cl_int CL_API_CALL GetCommandQueueInfo(cl_command_queue queue, cl_command_queue_info name,
                                              size_t room, void *to, size_t *size) {
    const void *object = &the;
    (void)queue;
    if (name == CL_QUEUE_PROPERTIES)
        return give_number(0, sizeof(cl_command_queue_properties), room, to, size);
    return give(&object, sizeof object, room, to, size);
}

/* Retaining, releasing, and commands: there is nothing to do. */
#define NOTHING(name, parameters, ...)                                                             \
    static cl_int CL_API_CALL name parameters {                                                    \
        const void *unused[] = {__VA_ARGS__};                                                      \
        (void)unused;                                                                              \
        return CL_SUCCESS;                                                                         \
    }
NOTHING(RetainContext, (cl_context a), a)
NOTHING(ReleaseContext, (cl_context a), a)
NOTHING(RetainCommandQueue, (cl_command_queue a), a)
NOTHING(ReleaseCommandQueue, (cl_command_queue a), a)
NOTHING(RetainMemObject, (cl_mem a), a)
NOTHING(ReleaseMemObject, (cl_mem a), a)
NOTHING(ReleaseKernel, (cl_kernel a), a)
NOTHING(ReleaseEvent, (cl_event a), a)
NOTHING(WaitForEvents, (cl_uint a, const cl_event *b), &a, b)
NOTHING(Flush, (cl_command_queue a), a)
NOTHING(Finish, (cl_command_queue a), a)
NOTHING(SetKernelArg, (cl_kernel a, cl_uint b, size_t c, const void *d), a, &b, &c, d)
NOTHING(EnqueueNDRangeKernel,
        (cl_command_queue a, cl_kernel b, cl_uint c, const size_t *d, const size_t *e,
         const size_t *f, cl_uint g, const cl_event *h, cl_event *i),
        a, b, &c, d, e, f, &g, h, i)
NOTHING(EnqueueWriteBuffer,
        (cl_command_queue a, cl_mem b, cl_bool c, size_t d, size_t e, const void *f, cl_uint g,
         const cl_event *h, cl_event *i),
        a, b, &c, &d, &e, f, &g, h, i)
NOTHING(EnqueueFillBuffer,
        (cl_command_queue a, cl_mem b, const void *c, size_t d, size_t e, size_t f, cl_uint g,
         const cl_event *h, cl_event *i),
        a, b, c, &d, &e, &f, &g, h, i)
NOTHING(EnqueueCopyBuffer,
        (cl_command_queue a, cl_mem b, cl_mem c, size_t d, size_t e, size_t f, cl_uint g,
         const cl_event *h, cl_event *i),
        a, b, c, &d, &e, &f, &g, h, i)

static cl_mem CL_API_CALL CreateBuffer(cl_context context, cl_mem_flags flags, size_t bytes,
                                       void *data, cl_int *code) {
    (void)context;
    (void)flags;
    (void)bytes;
    (void)data;
    *code = CL_SUCCESS;
    return OBJECT(cl_mem);
}

/* There is no memory. */
static void *CL_API_CALL EnqueueMapBuffer(cl_command_queue a, cl_mem b, cl_bool c, cl_map_flags d,
                                          size_t e, size_t f, cl_uint g, const cl_event *h,
                                          cl_event *i, cl_int *code) {
    const void *unused[] = {a, b, &c, &d, &e, &f, &g, h, i};
    (void)unused;
    *code = CL_MAP_FAILURE;
    return NULL;
}

static cl_kernel CL_API_CALL CreateKernel(cl_program program, const char *name, cl_int *code) {
    (void)program;
    (void)name;
    *code = CL_SUCCESS;
    return OBJECT(cl_kernel);
}

/* Nobody looks at the kernels of a program that is not built. */
static cl_int CL_API_CALL GetProgramInfo(cl_program program, cl_program_info name, size_t room,
                                         void *to, size_t *size) {
    (void)program;
    return name == CL_PROGRAM_KERNEL_NAMES ? give_text("", room, to, size) : CL_INVALID_VALUE;
}

static cl_int CL_API_CALL GetKernelWorkGroupInfo(cl_kernel kernel, cl_device_id device,
                                                 cl_kernel_work_group_info name, size_t room,
                                                 void *to, size_t *size) {
    (void)kernel;
    (void)device;
    if (name == CL_KERNEL_LOCAL_MEM_SIZE) return give_number(0, sizeof(cl_ulong), room, to, size);
    return name == CL_KERNEL_WORK_GROUP_SIZE ? give_number(256, sizeof(size_t), room, to, size)
                                             : CL_INVALID_VALUE;
}

/* ---- Programs ---- */

static cl_program CL_API_CALL CreateProgramWithSource(cl_context context, cl_uint count,
                                                      const char **texts, const size_t *lengths,
                                                      cl_int *code) {
    (void)context;
    (void)count; /* the library hands over one text, with its zero */
    (void)lengths;
    text_program *p = calloc(1, sizeof *p);
    if (p) p->source = malloc(strlen(texts[0]) + 1);
    *code = p && p->source ? CL_SUCCESS : CL_OUT_OF_HOST_MEMORY;
    if (*code) {
        free(p);
        return NULL;
    }
    memcpy(p->source, texts[0], strlen(texts[0]) + 1);
    return (cl_program)(void *)p;
}

static cl_int CL_API_CALL ReleaseProgram(cl_program object) {
    text_program *p = (text_program *)(void *)object;
    compile_result_clear(&p->result);
    free(p->source);
    free(p);
    return CL_SUCCESS;
}

static char *put(char *at, const char *data, size_t bytes) {
    memcpy(at, data, bytes);
    return at + bytes;
}

/* Appends the entry of a program. Returns 0 without memory. */
static int add_entry(compile_file *file, const text_program *p, const char *options) {
    const compile_result *r = &p->result;
    clumpi_compiled_header h = {CLUMPI_COMPILED_MAGIC, 0,           strlen(r->log),
                                strlen(r->parameters), r->il_bytes, {0}};
    char *key = malloc(clumpi_compiled_key_room(options));
    if (!key) return 0;
    h.key_bytes = clumpi_compiled_key(p->source, options, key);
    size_t bytes = sizeof h + h.key_bytes + h.log_bytes + h.parameter_bytes + h.il_bytes;
    char *data = realloc(file->data, file->bytes + bytes), *at = data ? data + file->bytes : NULL;
    if (data) {
        char *begin = at;
        file->data = data;
        file->bytes += bytes;
        at = put(at, (const char *)&h, sizeof h);
        at = put(at, key, h.key_bytes);
        at = put(at, r->log, h.log_bytes);
        at = put(at, r->parameters, h.parameter_bytes);
        put(at, r->il, h.il_bytes);
        clumpi_sha256(begin, bytes, h.digest);
        memcpy(begin, &h, sizeof h);
    }
    free(key);
    return data != NULL;
}

/* The library adds this to the options of users' programs and, if need be, builds once more without
 * it. A key has the options without it. */
static const char kept[] = " -DCLUMPI_CONST_IS_KEPT";

static char *key_options(const char *options) {
    size_t length = strlen(options), tail = sizeof kept - 1;
    char *copy = malloc(length + 1);
    if (!copy) return NULL;
    memcpy(copy, options, length + 1);
    if (length >= tail && strcmp(copy + length - tail, kept) == 0) copy[length - tail] = 0;
    return copy;
}

static cl_int CL_API_CALL BuildProgram(cl_program object, cl_uint count,
                                       const cl_device_id *devices, const char *options,
                                       void(CL_CALLBACK *notify)(cl_program, void *), void *user) {
    text_program *p = (text_program *)(void *)object;
    (void)count;
    (void)devices;
    (void)notify;
    (void)user;
    if (the.target->only_source) return CL_SUCCESS;
    char *in_key = key_options(options);
    if (!in_key || compile_run(the.target, p->source, options, &p->result) || !p->result.log ||
        (p->result.il && !add_entry(the.file, p, in_key)))
        the.file->failed = 1;
    free(in_key);
    return the.file->failed ? CL_OUT_OF_RESOURCES
           : !p->result.il  ? CL_BUILD_PROGRAM_FAILURE
                            : CL_SUCCESS;
}

static cl_int CL_API_CALL GetProgramBuildInfo(cl_program object, cl_device_id device,
                                              cl_program_build_info name, size_t room, void *to,
                                              size_t *size) {
    const text_program *p = (const text_program *)(void *)object;
    (void)device;
    if (name != CL_PROGRAM_BUILD_LOG) return CL_INVALID_VALUE;
    return give_text(p->result.log ? p->result.log : "", room, to, size);
}

clump_status compile_device_open(const compile_target *target, compile_file *file,
                                 clump_context **context, clump_error *error) {
    static const clump_cl_functions functions = {
        .size = sizeof functions,
        .GetDeviceInfo = GetDeviceInfo,
        .GetPlatformInfo = GetPlatformInfo,
        .GetCommandQueueInfo = GetCommandQueueInfo,
        .RetainContext = RetainContext,
        .ReleaseContext = ReleaseContext,
        .RetainCommandQueue = RetainCommandQueue,
        .ReleaseCommandQueue = ReleaseCommandQueue,
        .CreateBuffer = CreateBuffer,
        .RetainMemObject = RetainMemObject,
        .ReleaseMemObject = ReleaseMemObject,
        .CreateProgramWithSource = CreateProgramWithSource,
        .BuildProgram = BuildProgram,
        .GetProgramInfo = GetProgramInfo,
        .GetProgramBuildInfo = GetProgramBuildInfo,
        .ReleaseProgram = ReleaseProgram,
        .CreateKernel = CreateKernel,
        .ReleaseKernel = ReleaseKernel,
        .ReleaseEvent = ReleaseEvent,
        .WaitForEvents = WaitForEvents,
        .SetKernelArg = SetKernelArg,
        .GetKernelWorkGroupInfo = GetKernelWorkGroupInfo,
        .EnqueueNDRangeKernel = EnqueueNDRangeKernel,
        .EnqueueWriteBuffer = EnqueueWriteBuffer,
        .EnqueueFillBuffer = EnqueueFillBuffer,
        .EnqueueCopyBuffer = EnqueueCopyBuffer,
        .EnqueueMapBuffer = EnqueueMapBuffer,
        .Flush = Flush,
        .Finish = Finish,
    };
    the.target = target;
    the.file = file;
    return clump_context_create(&(clump_context_desc){.size = sizeof(clump_context_desc),
                                                      .context = OBJECT(cl_context),
                                                      .device = OBJECT(cl_device_id),
                                                      .queue = OBJECT(cl_command_queue),
                                                      .personality = target->personality,
                                                      .cl = &functions},
                                context, error);
}
