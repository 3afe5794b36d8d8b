/* The shortest host program: one call makes device, context, queue, heap and program, for examples,
 * tests and first steps. This header is optional and works without support in the library: clump.h
 * does not include it.
 *
 *   clump_quick q;
 *   CLUMP_CHECK(&q, clump_quick_open(&q, &(clump_quick_desc){.schema = schema, .source =
 *   kernels}));
 *   clump_kernel *kernel = clump_program_get_kernel(q.program, "advance");
 *   CLUMP_CHECK(&q, clump_heap_do_all(q.heap, clump_kernel_with(kernel, CLUMP_ARGS(0.01f)), NULL));
 *   clump_quick_close(&q);
 *
 * The functions here make the objects of context.h, heap.h and program.h. Use these with the calls
 * of those headers, which are the reference. Call those constructors directly if the program
 * already has a context and a queue, or must continue after a failure.
 *
 * CLUMP_CHECK prints to stderr and ends the process, which the library never does. The functions
 * here do neither.
 *
 * Threads: each clump_quick belongs to one thread at a time. Several are independent.
 * Read first: program.h. Read next: run.h.
 */
#ifndef CLUMP_QUICK_H
#define CLUMP_QUICK_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "clump/devices.h"
#include "clump/pool.h"
#include "clump/program.h"

/* Size of the heap of clump_quick_open(), by default. */
#define CLUMP_QUICK_HEAP_BYTES (UINT64_C(64) << 20)
/* Size of the name of a device in bytes. */
#define CLUMP_QUICK_NAME_BYTES 384

/* Arguments of clump_quick_open(). All zero: a device, a context and a queue. This struct and the
 * structs in it need no `size`, since this header is compiled with the program. */
typedef struct clump_quick_desc {
    /* Which device: terms, separated by spaces or commas, such as "gpu", "nvidia" or "cpu
     * portable". A term is gpu, cpu or accelerator, or a part of "platform / device", in any case
     * of letters. All terms must match. The first matching device that the library can use is
     * chosen, GPUs before others. NULL or "": the value of the environment variable CLUMP_DEVICE.
     * Without that variable any device matches. */
    const char *device;
    const char *schema; /* text (schema.h). NULL: no heap. With heap.raw: a heap without classes */
    const char *source; /* OpenCL C. NULL: no program */
    /* 1: the queue is out of order if the device supports it. Profiling is always on */
    int out_of_order;
    /* All other options, as the headers describe them. These members are ignored, since they are
     * made from the members above: context, device and queue, the heap's context and schema, the
     * program's heap and source. */
    clump_context_desc context;
    clump_heap_desc heap; /* neither bytes nor device_share: CLUMP_QUICK_HEAP_BYTES */
    clump_program_desc program;
} clump_quick_desc;

/* The objects made. Use all of them, and destroy them with clump_quick_close() only. */
typedef struct clump_quick {
    cl_device_id device;
    char name[CLUMP_QUICK_NAME_BYTES]; /* "platform / device" */
    cl_context cl;
    cl_command_queue queue;
    clump_context *context;
    clump_heap *heap;       /* NULL without a schema, except with heap.raw */
    clump_program *program; /* NULL without a source */
    clump_error error;      /* of clump_quick_open(), and for calls with an error parameter */
} clump_quick;

/* FUNCTION. Find a device by terms (clump_quick_desc.device), for a separate context.
 *   words   [in, optional]   the terms
 *   device  [out]            NULL on failure
 *   name    [out, optional]  CLUMP_QUICK_NAME_BYTES: "platform / device"
 *   error   [out, optional]  lists the existing devices if none matches
 * Returns CLUMP_OK, or:
 *   CLUMP_ERR_USAGE        `device` is NULL
 *   CLUMP_ERR_NOT_FOUND    no device matches, or the system is without devices
 *   CLUMP_ERR_UNSUPPORTED  the library can use none of the matching devices
 *   CLUMP_ERR_CL */
static inline clump_status clump_quick_find_device(const char *words, cl_device_id *device,
                                                   char *name, clump_error *error);

/* CONSTRUCTOR. Make a device, a context, a queue, and if asked for a heap and a program.
 *   q     [out]           all zero on failure, except `error`
 *   desc  [in, optional]  NULL: all zero, which makes a device, a context and a queue
 * Blocks: yes, while the device's compiler runs.
 * Returns CLUMP_OK, or the statuses of clump_quick_find_device(), clump_schema_parse(),
 * clump_context_create(), clump_heap_create() and clump_program_create(). Fails with
 * CLUMP_ERR_USAGE for a source without a heap, or CLUMP_ERR_CL. */
static inline clump_status clump_quick_open(clump_quick *q, const clump_quick_desc *desc);

/* DESTRUCTOR. A clump_quick that is all zero, or that could not be opened, is allowed. Kernels may
 * be destroyed before or afterwards. */
static inline void clump_quick_close(clump_quick *q);

/* Return the error of the last failed call on the context, or the error of clump_quick_open(). The
 * result is never NULL. */
static inline const clump_error *clump_quick_get_error(const clump_quick *q);

/* Make a call that must succeed. If it fails, print file, line, call and error message to stderr,
 * and exit with status 1.
 *   on    the object of the call, which has the error: a clump_quick *, a clump_context * or a
 *         clump_pool *. For a call of OpenCL, one of its objects: then the code is printed
 *   call  an expression, evaluated once */
#define CLUMP_CHECK(on, call)                                                                      \
    do {                                                                                           \
        int clumpi_quick_code = (call);                                                            \
        if (clumpi_quick_code)                                                                     \
            CLUMPI_QUICK_FAIL(on)((on), clumpi_quick_code, #call, __FILE__, __LINE__);             \
    } while (0)

/* Set all parameters of a kernel after the heap, from 1 to 8 variables, in their order:
 *   CLUMP_CHECK(&q, CLUMP_SET_ARGS(kernel, buffer, count, rate));
 * Use clump_kernel_set_arg() for local memory and for values that are not variables. The macro is
 * an expression of type clump_status: the status of the first call that failed. For C only. */
#define CLUMP_SET_ARGS(kernel, ...)                                                                \
    CLUMPI_QUICK_PICK(__VA_ARGS__, CLUMPI_QUICK_SET8, CLUMPI_QUICK_SET7, CLUMPI_QUICK_SET6,        \
                      CLUMPI_QUICK_SET5, CLUMPI_QUICK_SET4, CLUMPI_QUICK_SET3, CLUMPI_QUICK_SET2,  \
                      CLUMPI_QUICK_SET1, unused)                                                   \
    (kernel, __VA_ARGS__)

/* ---- How it is done -------------------------------------------------------------------------- */

typedef struct clumpi_quick_arg {
    size_t bytes;
    const void *value;
} clumpi_quick_arg;

static inline clump_status clumpi_quick_set_args(clump_kernel *kernel, uint32_t count,
                                                 const clumpi_quick_arg *args) {
    clump_status status = CLUMP_OK;
    for (uint32_t i = 0; i < count && !status; i++)
        status = clump_kernel_set_arg(kernel, i, args[i].bytes, args[i].value);
    return status;
}

#define CLUMPI_QUICK_PICK(a, b, c, d, e, f, g, h, chosen, ...) chosen
#define CLUMPI_QUICK_ARG(v)                                                                        \
    { sizeof(v), &(v) }
#define CLUMPI_QUICK_SET(kernel, count, ...)                                                       \
    clumpi_quick_set_args(kernel, count, (const clumpi_quick_arg[]){__VA_ARGS__})
#define CLUMPI_QUICK_SET1(k, a) CLUMPI_QUICK_SET(k, 1, CLUMPI_QUICK_ARG(a))
#define CLUMPI_QUICK_SET2(k, a, b) CLUMPI_QUICK_SET(k, 2, CLUMPI_QUICK_ARG(a), CLUMPI_QUICK_ARG(b))
#define CLUMPI_QUICK_SET3(k, a, b, c)                                                              \
    CLUMPI_QUICK_SET(k, 3, CLUMPI_QUICK_ARG(a), CLUMPI_QUICK_ARG(b), CLUMPI_QUICK_ARG(c))
#define CLUMPI_QUICK_SET4(k, a, b, c, d)                                                           \
    CLUMPI_QUICK_SET(k, 4, CLUMPI_QUICK_ARG(a), CLUMPI_QUICK_ARG(b), CLUMPI_QUICK_ARG(c),          \
                     CLUMPI_QUICK_ARG(d))
#define CLUMPI_QUICK_SET5(k, a, b, c, d, e)                                                        \
    CLUMPI_QUICK_SET(k, 5, CLUMPI_QUICK_ARG(a), CLUMPI_QUICK_ARG(b), CLUMPI_QUICK_ARG(c),          \
                     CLUMPI_QUICK_ARG(d), CLUMPI_QUICK_ARG(e))
#define CLUMPI_QUICK_SET6(k, a, b, c, d, e, f)                                                     \
    CLUMPI_QUICK_SET(k, 6, CLUMPI_QUICK_ARG(a), CLUMPI_QUICK_ARG(b), CLUMPI_QUICK_ARG(c),          \
                     CLUMPI_QUICK_ARG(d), CLUMPI_QUICK_ARG(e), CLUMPI_QUICK_ARG(f))
#define CLUMPI_QUICK_SET7(k, a, b, c, d, e, f, g)                                                  \
    CLUMPI_QUICK_SET(k, 7, CLUMPI_QUICK_ARG(a), CLUMPI_QUICK_ARG(b), CLUMPI_QUICK_ARG(c),          \
                     CLUMPI_QUICK_ARG(d), CLUMPI_QUICK_ARG(e), CLUMPI_QUICK_ARG(f),                \
                     CLUMPI_QUICK_ARG(g))
#define CLUMPI_QUICK_SET8(k, a, b, c, d, e, f, g, h)                                               \
    CLUMPI_QUICK_SET(k, 8, CLUMPI_QUICK_ARG(a), CLUMPI_QUICK_ARG(b), CLUMPI_QUICK_ARG(c),          \
                     CLUMPI_QUICK_ARG(d), CLUMPI_QUICK_ARG(e), CLUMPI_QUICK_ARG(f),                \
                     CLUMPI_QUICK_ARG(g), CLUMPI_QUICK_ARG(h))

#ifdef __cplusplus
#define CLUMPI_QUICK_STATUS(number) static_cast<clump_status>(number)
#else
#define CLUMPI_QUICK_STATUS(number) ((clump_status)(number))
#endif

static inline void clumpi_quick_fail(const clump_error *e, int status, const char *call,
                                     const char *file, int line) {
    char place[48] = "";
    if (e->line && status == CLUMP_ERR_SCHEMA)
        snprintf(place, sizeof place, " in line %u, column %u", e->line, e->column);
    fflush(stdout);
    const int has_words = e->status == CLUMPI_QUICK_STATUS(status) && e->message[0];
    fprintf(stderr, "%s:%d: %s\n%s%s%s%s\n", file, line, call,
            clump_status_name(CLUMPI_QUICK_STATUS(status)), place, has_words ? ": " : "",
            has_words ? e->message : "");
    exit(1);
}

static inline void clumpi_quick_fail_quick(const clump_quick *q, int status, const char *call,
                                           const char *file, int line) {
    const clump_error *e = clump_quick_get_error(q);
    if (e->status != CLUMPI_QUICK_STATUS(status)) e = &q->error;
    clumpi_quick_fail(e, status, call, file, line);
}

static inline void clumpi_quick_fail_context(const clump_context *c, int status, const char *call,
                                             const char *file, int line) {
    clumpi_quick_fail(clump_context_get_error(c), status, call, file, line);
}

static inline void clumpi_quick_fail_pool(clump_pool *pool, int status, const char *call,
                                          const char *file, int line) {
    clump_error e;
    clumpi_quick_fail(clump_pool_get_error(pool, &e), status, call, file, line);
}

static inline void clumpi_quick_fail_cl(const void *object, int code, const char *call,
                                        const char *file, int line) {
    (void)object;
    fflush(stdout);
    fprintf(stderr, "%s:%d: %s\nOpenCL returned %d %s\n", file, line, call, code,
            clump_cl_code_name(code));
    exit(1);
}

#ifndef __cplusplus
/* clang-format off */
#define CLUMPI_QUICK_FAIL(on)                                                                      \
    _Generic((on),                                                                                 \
        clump_quick *: clumpi_quick_fail_quick,                                                    \
        clump_context *: clumpi_quick_fail_context,                                                \
        clump_pool *: clumpi_quick_fail_pool,                                                      \
        cl_platform_id: clumpi_quick_fail_cl,                                                      \
        cl_device_id: clumpi_quick_fail_cl,                                                        \
        cl_context: clumpi_quick_fail_cl,                                                          \
        cl_command_queue: clumpi_quick_fail_cl,                                                    \
        cl_program: clumpi_quick_fail_cl,                                                          \
        cl_kernel: clumpi_quick_fail_cl,                                                           \
        cl_mem: clumpi_quick_fail_cl,                                                              \
        cl_event: clumpi_quick_fail_cl)
/* clang-format on */
#else
#define CLUMPI_QUICK_FAIL(on) clumpi_quick_fail_of
static inline void clumpi_quick_fail_of(const clump_quick *q, int status, const char *call,
                                        const char *file, int line) {
    clumpi_quick_fail_quick(q, status, call, file, line);
}
static inline void clumpi_quick_fail_of(const clump_context *c, int status, const char *call,
                                        const char *file, int line) {
    clumpi_quick_fail_context(c, status, call, file, line);
}
static inline void clumpi_quick_fail_of(clump_pool *pool, int status, const char *call,
                                        const char *file, int line) {
    clumpi_quick_fail_pool(pool, status, call, file, line);
}
static inline void clumpi_quick_fail_of(const void *object, int code, const char *call,
                                        const char *file, int line) {
    clumpi_quick_fail_cl(object, code, call, file, line);
}
#endif

/* Append text to the message, as far as it fits. */
static inline void clumpi_quick_say(clump_error *e, const char *words) {
    size_t length = strlen(e->message);
    snprintf(e->message + length, sizeof e->message - length, "%s", words);
}

static inline clump_status clumpi_quick_refuse(clump_error *e, clump_status status, cl_int code,
                                               const char *call, const char *words) {
    memset(e, 0, sizeof *e);
    e->status = status;
    e->cl_code = code;
    e->call = call;
    if (code)
        snprintf(e->message, sizeof e->message, "%s returned %s (%d): %s", call,
                 clump_cl_code_name(code), code, words);
    else
        clumpi_quick_say(e, words);
    return status;
}

#define CLUMPI_QUICK_DEVICES_MAX 64

typedef struct clumpi_quick_device {
    cl_device_id id;
    cl_device_type type;
    char name[CLUMP_QUICK_NAME_BYTES];
} clumpi_quick_device;

static inline const char *clumpi_quick_type(cl_device_type type) {
    if (type & CL_DEVICE_TYPE_GPU) return "gpu";
    return type & CL_DEVICE_TYPE_CPU ? "cpu" : "accelerator";
}

/* List all devices of all platforms, GPUs first, else in the order of OpenCL. Returns their
 * number. */
static inline cl_uint clumpi_quick_list(clumpi_quick_device *to) {
    cl_platform_id platforms[CLUMPI_QUICK_DEVICES_MAX];
    cl_device_id devices[CLUMPI_QUICK_DEVICES_MAX];
    cl_uint platform_count = 0, all = 0;
    if (clGetPlatformIDs(CLUMPI_QUICK_DEVICES_MAX, platforms, &platform_count)) return 0;
    for (int gpus = 1; gpus >= 0; gpus--) {
        for (cl_uint p = 0; p < platform_count && p < CLUMPI_QUICK_DEVICES_MAX; p++) {
            cl_uint count = 0;
            if (clGetDeviceIDs(platforms[p], CL_DEVICE_TYPE_ALL, CLUMPI_QUICK_DEVICES_MAX, devices,
                               &count))
                continue;
            for (cl_uint d = 0; d < count && d < CLUMPI_QUICK_DEVICES_MAX; d++) {
                char platform[CLUMP_QUICK_NAME_BYTES / 2] = "?",
                                                       device[CLUMP_QUICK_NAME_BYTES / 2 - 4] = "?";
                cl_device_type type = 0;
                clGetDeviceInfo(devices[d], CL_DEVICE_TYPE, sizeof type, &type, NULL);
                if ((type & CL_DEVICE_TYPE_GPU ? 1 : 0) != gpus || all == CLUMPI_QUICK_DEVICES_MAX)
                    continue;
                clGetPlatformInfo(platforms[p], CL_PLATFORM_NAME, sizeof platform, platform, NULL);
                clGetDeviceInfo(devices[d], CL_DEVICE_NAME, sizeof device, device, NULL);
                to[all].id = devices[d];
                to[all].type = type;
                snprintf(to[all].name, sizeof to[all].name, "%s / %s", platform, device);
                all++;
            }
        }
    }
    return all;
}

static inline int clumpi_quick_lower(char c) {
    return c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : c;
}

/* Return 1 if `text` begins with the first `length` letters of `part`, in any case. */
static inline int clumpi_quick_begins(const char *text, const char *part, size_t length) {
    for (size_t i = 0; i < length; i++)
        if (!text[i] || clumpi_quick_lower(text[i]) != clumpi_quick_lower(part[i])) return 0;
    return 1;
}

static inline int clumpi_quick_word_fits(const clumpi_quick_device *d, const char *word,
                                         size_t length) {
    static const char *const types[] = {"gpu", "cpu", "accelerator"};
    for (int t = 0; t < 3; t++)
        if (strlen(types[t]) == length && clumpi_quick_begins(types[t], word, length))
            return types[t][0] == clumpi_quick_type(d->type)[0];
    for (const char *at = d->name; *at; at++)
        if (clumpi_quick_begins(at, word, length)) return 1;
    return 0;
}

static inline int clumpi_quick_fits(const clumpi_quick_device *d, const char *words) {
    while (*words) {
        size_t length = strcspn(words, " \t,");
        if (length && !clumpi_quick_word_fits(d, words, length)) return 0;
        words += length;
        words += strspn(words, " \t,");
    }
    return 1;
}

static inline clump_status clumpi_quick_no_device(clump_error *e, const char *words,
                                                  int environment,
                                                  const clumpi_quick_device *devices,
                                                  cl_uint count) {
    clumpi_quick_refuse(e, CLUMP_ERR_NOT_FOUND, 0, NULL, "");
    if (!count) {
        clumpi_quick_say(
            e, "there is no OpenCL device: no implementation is installed, or none has a device");
        return CLUMP_ERR_NOT_FOUND;
    }
    clumpi_quick_say(e, "no OpenCL device fits \"");
    clumpi_quick_say(e, words);
    clumpi_quick_say(e, environment ? "\" (from CLUMP_DEVICE); there are:" : "\"; there are:");
    for (cl_uint i = 0; i < count; i++) {
        clumpi_quick_say(e, i ? "; " : " ");
        clumpi_quick_say(e, devices[i].name);
        clumpi_quick_say(e, " (");
        clumpi_quick_say(e, clumpi_quick_type(devices[i].type));
        clumpi_quick_say(e, ")");
    }
    return CLUMP_ERR_NOT_FOUND;
}

static inline clump_status clump_quick_find_device(const char *words, cl_device_id *device,
                                                   char *name, clump_error *error) {
    clumpi_quick_device devices[CLUMPI_QUICK_DEVICES_MAX];
    clump_capabilities capabilities;
    clump_error probed, own;
    clump_status status = CLUMP_ERR_NOT_FOUND;
    int environment = !words || !*words;
    capabilities.size = sizeof capabilities;
    if (!error) error = &own;
    if (!device)
        return clumpi_quick_refuse(error, CLUMP_ERR_USAGE, 0, NULL,
                                   "there is no place for the device");
    *device = NULL;
    if (name) name[0] = 0;
    if (environment) words = getenv("CLUMP_DEVICE");
    if (!words) words = "";
    cl_uint count = clumpi_quick_list(devices);
    for (cl_uint i = 0; i < count; i++) {
        if (!clumpi_quick_fits(&devices[i], words)) continue;
        clump_status usable = clump_device_probe(devices[i].id, 0, &capabilities, &probed);
        if (!usable) {
            *device = devices[i].id;
            if (name) snprintf(name, CLUMP_QUICK_NAME_BYTES, "%s", devices[i].name);
            return CLUMP_OK;
        }
        if (status != CLUMP_ERR_NOT_FOUND) continue; /* keep the message of the first one */
        status = clumpi_quick_refuse(error, usable, 0, NULL, devices[i].name);
        clumpi_quick_say(error, ": ");
        clumpi_quick_say(error, probed.message);
    }
    if (status == CLUMP_ERR_NOT_FOUND)
        return clumpi_quick_no_device(error, words, environment, devices, count);
    return status;
}

static inline clump_status clumpi_quick_open_queue(clump_quick *q, int out_of_order) {
    cl_int code = CL_SUCCESS;
    cl_command_queue_properties properties = CL_QUEUE_PROFILING_ENABLE, can = 0;
    q->cl = clCreateContext(NULL, 1, &q->device, NULL, NULL, &code);
    if (code) return clumpi_quick_refuse(&q->error, CLUMP_ERR_CL, code, "clCreateContext", q->name);
    clGetDeviceInfo(q->device, CL_DEVICE_QUEUE_PROPERTIES, sizeof can, &can, NULL);
    if (out_of_order) properties |= can & CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE;
#if defined(__GNUC__) /* the only function of OpenCL 1.2 */
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"
#endif
    q->queue = clCreateCommandQueue(q->cl, q->device, properties, &code);
#if defined(__GNUC__)
#pragma GCC diagnostic pop
#endif
    if (!code) return CLUMP_OK;
    return clumpi_quick_refuse(&q->error, CLUMP_ERR_CL, code, "clCreateCommandQueue", q->name);
}

static inline clump_status clumpi_quick_open_heap(clump_quick *q, const clump_quick_desc *desc) {
    clump_heap_desc heap = desc->heap;
    clump_schema *schema = NULL;
    clump_status status;
    if (!desc->schema && !heap.raw) return CLUMP_OK;
    if (desc->schema && (status = clump_schema_parse(desc->schema, strlen(desc->schema),
                                                     &desc->context.allocator, &schema, &q->error)))
        return status;
    heap.size = sizeof heap;
    heap.context = q->context;
    heap.schema = schema;
    /* Zero, and not NaN, which clump_heap_create() refuses with an error message. Some compilers
     * warn of `==`. */
    if (!heap.bytes && heap.device_share <= 0 && heap.device_share >= 0)
        heap.bytes = CLUMP_QUICK_HEAP_BYTES;
    status = clump_heap_create(&heap, &q->heap, NULL);
    if (status) q->error = *clump_context_get_error(q->context);
    clump_schema_destroy(schema);
    return status;
}

static inline clump_status clumpi_quick_open_program(clump_quick *q, const clump_quick_desc *desc) {
    clump_program_desc program = desc->program;
    clump_status status;
    if (!desc->source) return CLUMP_OK;
    if (!q->heap)
        return clumpi_quick_refuse(&q->error, CLUMP_ERR_USAGE, 0, NULL,
                                   "there is a source, and no heap to build it for: give a schema");
    program.size = sizeof program;
    program.heap = q->heap;
    program.source = desc->source;
    status = clump_program_create(&program, &q->program, NULL);
    if (status) q->error = *clump_context_get_error(q->context);
    return status;
}

static inline clump_status clump_quick_open(clump_quick *q, const clump_quick_desc *desc) {
    clump_quick_desc nothing;
    memset(&nothing, 0, sizeof nothing);
    memset(q, 0, sizeof *q);
    if (!desc) desc = &nothing;
    clump_context_desc context = desc->context;
    clump_status status = clump_quick_find_device(desc->device, &q->device, q->name, &q->error);
    if (!status) status = clumpi_quick_open_queue(q, desc->out_of_order);
    if (!status) {
        context.size = sizeof context;
        context.context = q->cl;
        context.device = q->device;
        context.queue = q->queue;
        status = clump_context_create(&context, &q->context, &q->error);
    }
    if (!status) status = clumpi_quick_open_heap(q, desc);
    if (!status) status = clumpi_quick_open_program(q, desc);
    if (status) {
        clump_error error = q->error;
        clump_quick_close(q);
        q->error = error;
    }
    return status;
}

static inline void clump_quick_close(clump_quick *q) {
    clump_program_destroy(q->program);
    clump_heap_destroy(q->heap);
    clump_context_destroy(q->context);
    if (q->queue) clReleaseCommandQueue(q->queue);
    if (q->cl) clReleaseContext(q->cl);
    memset(q, 0, sizeof *q);
}

static inline const clump_error *clump_quick_get_error(const clump_quick *q) {
    return q->context ? clump_context_get_error(q->context) : &q->error;
}

#endif
