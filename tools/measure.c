/* See measure.h.
 *
 * Times are medians over a few runs, after one that is not counted. Launches, sub-buffers and
 * compilers are measured on the host; fills, transfers and atomics with a clFinish() after them.
 * Nothing here is known to end or hang an implementation: fills stay far below 2 GiB, and more
 * local memory than a CPU reports is not tried (docs/portability.md).
 *
 * Groups are in the order of measure_device(), at the end.
 */
#include "measure.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define LAUNCHES 500u
#define RUNS 5u
#define RUNS_MAX 64u
#define SUB_BUFFERS 4096u
#define FILLED (64u << 20)
#define MOVED_MOST (16u << 20)
#define TOUCHED (256u << 20)
#define SUMMED (16u << 20) /* bytes of the words that atomics change */
#define NUMBERS 65536u

typedef struct bench {
    cl_device_id device;
    cl_context context;
    cl_command_queue queue; /* in order */
    int is_cpu;
    measure_told *told;
    void *user;
} bench;

static double now_us(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e6 + (double)t.tv_nsec * 1e-3;
}

static int by_value(const void *a, const void *b) {
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* The median of `runs` results, without the first of one run more; NAN if one is. */
typedef double once(bench *b, const void *what);
static double median(bench *b, unsigned runs, once *run, const void *what) {
    double values[RUNS_MAX];
    if (isnan(run(b, what))) return NAN;
    for (unsigned i = 0; i < runs; i++) {
        values[i] = run(b, what);
        if (isnan(values[i])) return NAN;
    }
    qsort(values, runs, sizeof *values, by_value);
    return values[runs / 2];
}

static void tell(const bench *b, double value, const char *format, unsigned number) {
    char name[64];
    snprintf(name, sizeof name, format, number);
    b->told(b->user, name, value);
}

static cl_command_queue new_queue(const bench *b, cl_command_queue_properties properties) {
    cl_int code;
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wdeprecated-declarations" /* OpenCL 1.2 has no other */
    cl_command_queue queue = clCreateCommandQueue(b->context, b->device, properties, &code);
#pragma GCC diagnostic pop
    return code ? NULL : queue;
}

static cl_mem new_buffer(const bench *b, cl_mem_flags flags, size_t bytes) {
    cl_int code;
    cl_mem buffer = clCreateBuffer(b->context, flags, bytes, NULL, &code);
    return code ? NULL : buffer;
}

static void release(cl_mem buffer) {
    if (buffer) clReleaseMemObject(buffer);
}

/* The kernel `name` of a program of its own, which the kernel holds. NULL if it does not build. */
static cl_kernel new_kernel(const bench *b, const char *source, const char *options,
                            const char *name) {
    cl_int code;
    cl_kernel kernel = NULL;
    cl_program program = clCreateProgramWithSource(b->context, 1, &source, NULL, &code);
    if (code) return NULL;
    if (!clBuildProgram(program, 1, &b->device, options, NULL, NULL))
        kernel = clCreateKernel(program, name, &code);
    clReleaseProgram(program);
    return kernel && !code ? kernel : NULL;
}

static void release_kernel(cl_kernel kernel) {
    if (kernel) clReleaseKernel(kernel);
}

static cl_int enqueue(cl_command_queue queue, cl_kernel kernel, size_t global, size_t local,
                      cl_event *event) {
    return clEnqueueNDRangeKernel(queue, kernel, 1, NULL, &global, &local, 0, NULL, event);
}

/* ---- Launches -------------------------------------------------------------------------------- */

typedef struct launches {
    cl_command_queue queue;
    cl_kernel kernel;
    int has_event;
} launches;

static double launch_once(bench *b, const void *what) {
    const launches *l = what;
    cl_event event = NULL;
    cl_int code = l->queue && l->kernel ? CL_SUCCESS : CL_INVALID_VALUE;
    (void)b;
    const double begin = now_us();
    for (unsigned i = 0; i < LAUNCHES && !code; i++) {
        code = enqueue(l->queue, l->kernel, 64, 64, l->has_event ? &event : NULL);
        if (!code && event) clReleaseEvent(event);
    }
    const double us = (now_us() - begin) / LAUNCHES;
    return code || clFinish(l->queue) ? NAN : us;
}

static double round_trip_once(bench *b, const void *what) {
    const double begin = now_us();
    if (enqueue(b->queue, *(const cl_kernel *)what, 64, 64, NULL) || clFinish(b->queue)) return NAN;
    return now_us() - begin;
}

static double read_word_once(bench *b, const void *what) {
    cl_uint word;
    const double begin = now_us();
    if (clEnqueueReadBuffer(b->queue, *(const cl_mem *)what, CL_TRUE, 0, sizeof word, &word, 0,
                            NULL, NULL))
        return NAN;
    return now_us() - begin;
}

/* A kernel that stores into one of its `count` parameters. */
static cl_kernel kernel_with(const bench *b, unsigned count, cl_mem buffer) {
    char source[8192];
    size_t at = (size_t)snprintf(source, sizeof source, "__kernel void put(");
    for (unsigned i = 0; i < count; i++)
        at += (size_t)snprintf(source + at, sizeof source - at, "%s__global uint *p%u",
                               i ? ", " : "", i);
    snprintf(source + at, sizeof source - at, ") { if (!get_global_id(0)) *p%u = 1u; }", count - 1);
    cl_kernel kernel = new_kernel(b, source, "", "put");
    for (unsigned i = 0; kernel && i < count; i++)
        clSetKernelArg(kernel, i, sizeof buffer, &buffer);
    return kernel;
}

static void measure_launches(bench *b) {
    static const cl_command_queue_properties profiled = CL_QUEUE_PROFILING_ENABLE;
    cl_command_queue free_order = new_queue(b, CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE);
    cl_command_queue timed = new_queue(b, profiled);
    cl_mem buffer = new_buffer(b, CL_MEM_READ_WRITE, 256);
    cl_kernel kernel = kernel_with(b, 1, buffer);
    const struct {
        const char *name;
        launches l;
    } ways[] = {{"launch_in_order_us", {b->queue, kernel, 0}},
                {"launch_out_of_order_us", {free_order, kernel, 0}},
                {"launch_event_us", {b->queue, kernel, 1}},
                {"launch_profiling_us", {timed, kernel, 0}},
                {"launch_profiling_event_us", {timed, kernel, 1}}};
    for (size_t i = 0; i < sizeof ways / sizeof *ways; i++)
        tell(b, median(b, RUNS, launch_once, &ways[i].l), ways[i].name, 0);
    for (unsigned count = 4; count <= 64; count *= 4) {
        launches l = {b->queue, kernel_with(b, count, buffer), 0};
        tell(b, median(b, RUNS, launch_once, &l), "launch_%u_parameters_us", count);
        release_kernel(l.kernel);
    }
    tell(b, kernel ? median(b, RUNS_MAX, round_trip_once, &kernel) : NAN, "round_trip_us", 0);
    tell(b, buffer ? median(b, RUNS_MAX, read_word_once, &buffer) : NAN, "read_4_bytes_us", 0);
    release_kernel(kernel);
    release(buffer);
    if (free_order) clReleaseCommandQueue(free_order);
    if (timed) clReleaseCommandQueue(timed);
}

/* ---- Fills and transfers --------------------------------------------------------------------- */

typedef struct fill {
    cl_mem buffer;
    size_t pattern, bytes;
} fill;

static double fill_once(bench *b, const void *what) {
    static const char pattern[128] = {1, 2, 3};
    const fill *f = what;
    const double begin = now_us();
    if (!f->buffer ||
        clEnqueueFillBuffer(b->queue, f->buffer, pattern, f->pattern, 0, f->bytes, 0, NULL, NULL) ||
        clFinish(b->queue))
        return NAN;
    return now_us() - begin;
}

static double store_once(bench *b, const void *what) {
    const double begin = now_us();
    if (enqueue(b->queue, *(const cl_kernel *)what, FILLED / 16, 64, NULL) || clFinish(b->queue))
        return NAN;
    return now_us() - begin;
}

static void measure_fills(bench *b) {
    fill f = {new_buffer(b, CL_MEM_READ_WRITE, FILLED), 0, FILLED};
    for (f.pattern = 1; f.pattern <= 128; f.pattern *= 2)
        tell(b, FILLED * 1e-3 / median(b, RUNS, fill_once, &f), "fill_pattern_%u_GBps",
             (unsigned)f.pattern);
    cl_kernel kernel = new_kernel(
        b, "__kernel void store(__global uint4 *to) { to[get_global_id(0)] = (uint4)(7u); }", "",
        "store");
    if (kernel) clSetKernelArg(kernel, 0, sizeof f.buffer, &f.buffer);
    tell(b, kernel ? FILLED * 1e-3 / median(b, RUNS, store_once, &kernel) : NAN,
         "fill_by_kernel_GBps", 0);
    release_kernel(kernel);
    release(f.buffer);
    /* Memory that nothing has used yet. */
    fill touch = {new_buffer(b, CL_MEM_READ_WRITE, TOUCHED), 16, TOUCHED};
    tell(b, fill_once(b, &touch) * 1e-3, "touch_256_MiB_first_ms", 0);
    tell(b, fill_once(b, &touch) * 1e-3, "touch_256_MiB_again_ms", 0);
    release(touch.buffer);
}

typedef struct transfer {
    cl_mem buffer;
    void *memory;
    size_t bytes;
    int is_write;
} transfer;

static double transfer_once(bench *b, const void *what) {
    const transfer *t = what;
    const double begin = now_us();
    const cl_int code = !t->memory || !t->buffer ? CL_INVALID_VALUE
                        : t->is_write ? clEnqueueWriteBuffer(b->queue, t->buffer, CL_TRUE, 0,
                                                             t->bytes, t->memory, 0, NULL, NULL)
                                      : clEnqueueReadBuffer(b->queue, t->buffer, CL_TRUE, 0,
                                                            t->bytes, t->memory, 0, NULL, NULL);
    return code ? NAN : now_us() - begin;
}

static double map_once(bench *b, const void *what) {
    const transfer *t = what;
    cl_int code = CL_INVALID_VALUE;
    const double begin = now_us();
    void *at = t->buffer
                   ? clEnqueueMapBuffer(b->queue, t->buffer, CL_TRUE, CL_MAP_READ | CL_MAP_WRITE, 0,
                                        t->bytes, 0, NULL, NULL, &code)
                   : NULL;
    if (code || clEnqueueUnmapMemObject(b->queue, t->buffer, at, 0, NULL, NULL) ||
        clFinish(b->queue))
        return NAN;
    return now_us() - begin;
}

static void measure_transfers(bench *b) {
    cl_mem buffer = new_buffer(b, CL_MEM_READ_WRITE, MOVED_MOST);
    cl_mem host = new_buffer(b, CL_MEM_READ_WRITE | CL_MEM_ALLOC_HOST_PTR, MOVED_MOST);
    cl_int code = CL_INVALID_VALUE;
    char *plain = malloc(MOVED_MOST);
    void *pinned = host ? clEnqueueMapBuffer(b->queue, host, CL_TRUE, CL_MAP_READ | CL_MAP_WRITE, 0,
                                             MOVED_MOST, 0, NULL, NULL, &code)
                        : NULL;
    if (plain) memset(plain, 1, MOVED_MOST);
    static const char *const names[] = {"read_%u_KiB_GBps", "write_%u_KiB_GBps",
                                        "read_pinned_%u_KiB_GBps", "write_pinned_%u_KiB_GBps"};
    for (int kind = 0; kind < 4; kind++)
        for (size_t bytes = 4096; bytes <= MOVED_MOST; bytes *= 16) {
            const transfer t = {buffer, kind < 2 ? plain : code ? NULL : pinned, bytes, kind & 1};
            tell(b, (double)bytes * 1e-3 / median(b, RUNS, transfer_once, &t), names[kind],
                 (unsigned)(bytes >> 10));
        }
    const transfer all = {buffer, NULL, MOVED_MOST, 0};
    tell(b, median(b, RUNS, map_once, &all), "map_16_MiB_us", 0);
    if (host && !code) clEnqueueUnmapMemObject(b->queue, host, pinned, 0, NULL, NULL);
    clFinish(b->queue);
    free(plain);
    release(host);
    release(buffer);
}

/* ---- Atomics --------------------------------------------------------------------------------- */

#define OPS 16u /* of a work-item */

typedef struct adding {
    cl_kernel kernel;
    size_t items;
} adding;

static double add_once(bench *b, const void *what) {
    const adding *a = what;
    const double begin = now_us();
    if (!a->kernel || enqueue(b->queue, a->kernel, a->items, 64, NULL) || clFinish(b->queue))
        return NAN;
    return now_us() - begin;
}

static const char *const places[] = {"0u", "i / 32u * 16u + k", "(i * 16u + k) * 2654435761u"};

static double rate_of_atomics(bench *b, int is_long, int is_used, const char *operation,
                              const char *place, cl_mem buffer) {
    char source[1024];
    const char *type = is_long ? "ulong" : "uint", *prefix = is_long ? "atom" : "atomic";
    snprintf(source, sizeof source,
             "%s__kernel void change(__global %s *to) {\n"
             "    const uint i = (uint)get_global_id(0);\n"
             "    %s sum = 0;\n"
             "    for (uint k = 0; k < %uu; k++) {\n"
             "        const uint at = (%s) & %uu;\n"
             "        %s%s_%s(&to[at], (%s)(i | 1u));\n"
             "    }\n"
             "    if (sum == 12345u) to[1] = 0;\n}\n",
             is_long ? "#pragma OPENCL EXTENSION cl_khr_int64_base_atomics : enable\n"
                       "#pragma OPENCL EXTENSION cl_khr_int64_extended_atomics : enable\n"
                     : "",
             type, type, OPS, place, SUMMED / (is_long ? 8u : 4u) - 1u, is_used ? "sum += " : "",
             prefix, operation, type);
    adding a = {new_kernel(b, source, "", "change"), b->is_cpu ? 1u << 14 : 1u << 18};
    if (a.kernel) clSetKernelArg(a.kernel, 0, sizeof buffer, &buffer);
    const double us = median(b, 3, add_once, &a);
    release_kernel(a.kernel);
    return (double)a.items * OPS / us * 1e-3;
}

static void measure_atomics(bench *b) {
    static const char *const names[] = {"one_address", "one_a_32_items", "random"};
    cl_mem buffer = new_buffer(b, CL_MEM_READ_WRITE, SUMMED);
    const fill clear = {buffer, 16, SUMMED};
    fill_once(b, &clear);
    for (int place = 0; place < 3; place++)
        for (unsigned is_long = 0; is_long < 2; is_long++)
            for (int is_used = 0; is_used < 2; is_used++) {
                char name[64];
                snprintf(name, sizeof name, "atomic_add_%%u_%s_%s_Gps", names[place],
                         is_used ? "used" : "unused");
                tell(b, rate_of_atomics(b, (int)is_long, is_used, "add", places[place], buffer),
                     name, is_long ? 64 : 32);
            }
    for (int is_used = 0; is_used < 2; is_used++)
        tell(b, rate_of_atomics(b, 0, is_used, "or", places[0], buffer),
             is_used ? "atomic_or_32_one_address_used_Gps" : "atomic_or_32_one_address_unused_Gps",
             0);
    release(buffer);
}

/* ---- Sub-buffers ----------------------------------------------------------------------------- */

static void measure_sub_buffers(bench *b) {
    static cl_mem parts[SUB_BUFFERS];
    const size_t bytes = 4096;
    cl_mem whole = new_buffer(b, CL_MEM_READ_WRITE, bytes * SUB_BUFFERS);
    cl_kernel kernel = kernel_with(b, 1, whole);
    const launches with_kernel = {b->queue, kernel, 0};
    unsigned count = 0;
    for (unsigned most = 64; most <= SUB_BUFFERS; most *= 8) {
        cl_int code = whole && kernel ? CL_SUCCESS : CL_INVALID_VALUE;
        double begin = now_us();
        for (; count < most && !code; count++) {
            if (count == most - 32) begin = now_us();
            const cl_buffer_region part = {count * bytes, bytes};
            parts[count] = clCreateSubBuffer(whole, CL_MEM_READ_WRITE, CL_BUFFER_CREATE_TYPE_REGION,
                                             &part, &code);
        }
        if (code && count) parts[--count] = NULL;
        tell(b, code ? NAN : (now_us() - begin) / 32, "sub_buffer_number_%u_us", most);
        if (!code) clSetKernelArg(kernel, 0, sizeof whole, &whole);
        tell(b, code ? NAN : median(b, RUNS, launch_once, &with_kernel), "launch_parent_of_%u_us",
             most);
        if (!code) clSetKernelArg(kernel, 0, sizeof *parts, &parts[most / 2]);
        tell(b, code ? NAN : median(b, RUNS, launch_once, &with_kernel), "launch_one_of_%u_us",
             most);
    }
    while (count) release(parts[--count]);
    release_kernel(kernel);
    release(whole);
}

/* ---- Compiling ------------------------------------------------------------------------------- */

static double compile_ms(bench *b, unsigned kernels) {
    char *source = malloc(kernels * 256u + 1), *at = source;
    cl_program program = NULL;
    cl_int code = CL_OUT_OF_HOST_MEMORY;
    const double begin = now_us(); /* it makes each text a new one, which no cache has */
    for (unsigned i = 0; at && i < kernels; i++)
        at += sprintf(at,
                      "__kernel void k%u(__global uint *to, uint n) {\n"
                      "    uint x = %uu;\n"
                      "    for (uint i = 0; i < n; i++) x = x * 1664525u + to[i];\n"
                      "    to[get_global_id(0)] = x;\n}\n",
                      i, (unsigned)(begin * 10) + i);
    if (source)
        program = clCreateProgramWithSource(b->context, 1, (const char **)&source, NULL, &code);
    if (!code) code = clBuildProgram(program, 1, &b->device, "", NULL, NULL);
    const double ms = (now_us() - begin) * 1e-3;
    if (program) clReleaseProgram(program);
    free(source);
    return code ? NAN : ms;
}

static void measure_compiler(bench *b) {
    compile_ms(b, 1); /* the compiler itself is loaded now */
    for (unsigned kernels = 1; kernels <= 100; kernels *= 10)
        tell(b, compile_ms(b, kernels), "compile_%u_kernels_ms", kernels);
}

/* ---- Local memory ---------------------------------------------------------------------------- */

static int runs_with(bench *b, size_t bytes, int is_declared, cl_mem out) {
    char source[512], declaration[64] = "";
    const unsigned words = (unsigned)(bytes / 4);
    if (is_declared) snprintf(declaration, sizeof declaration, "    __local uint l[%u];\n", words);
    snprintf(source, sizeof source,
             "__kernel void use(__global uint *to%s) {\n"
             "%s    const uint i = (uint)get_local_id(0);\n"
             "    for (uint k = i; k < %uu; k += 64u) l[k] = i;\n"
             "    barrier(CLK_LOCAL_MEM_FENCE);\n"
             "    to[i] = l[63u - i];\n}\n",
             is_declared ? "" : ", __local uint *l", declaration, words);
    cl_kernel kernel = new_kernel(b, source, "", "use");
    cl_int code = kernel ? clSetKernelArg(kernel, 0, sizeof out, &out) : CL_INVALID_KERNEL;
    if (!code && !is_declared) code = clSetKernelArg(kernel, 1, bytes, NULL);
    if (!code) code = enqueue(b->queue, kernel, 64, 64, NULL);
    if (!code) code = clFinish(b->queue);
    release_kernel(kernel);
    return !code;
}

/* The most that works, in steps of 1 KiB. */
static double most_local(bench *b, size_t reported, int is_declared) {
    cl_mem out = new_buffer(b, CL_MEM_READ_WRITE, 256);
    size_t works = 0, fails = (b->is_cpu ? reported : 8 * reported) / 1024 + 1;
    if (runs_with(b, reported, is_declared, out))
        works = reported / 1024;
    else
        fails = reported / 1024;
    while (fails - works > 1) {
        const size_t middle = (works + fails) / 2;
        if (runs_with(b, middle * 1024, is_declared, out))
            works = middle;
        else
            fails = middle;
    }
    release(out);
    return (double)works * 1024;
}

static void measure_local(bench *b) {
    cl_ulong reported = 0;
    clGetDeviceInfo(b->device, CL_DEVICE_LOCAL_MEM_SIZE, sizeof reported, &reported, NULL);
    tell(b, (double)reported, "local_reported_bytes", 0);
    tell(b, most_local(b, reported, 0), "local_parameter_bytes", 0);
    tell(b, most_local(b, reported, 1), "local_declared_bytes", 0);
}

/* ---- Several queues -------------------------------------------------------------------------- */

typedef struct spinning {
    cl_command_queue one, other; /* other: NULL, or where the second kernel goes */
    cl_kernel kernel;
} spinning;

static double spin_once(bench *b, const void *what) {
    const spinning *s = what;
    (void)b;
    const double begin = now_us();
    if (enqueue(s->one, s->kernel, 1, 1, NULL) || clFlush(s->one)) return NAN;
    if (s->other && (enqueue(s->other, s->kernel, 1, 1, NULL) || clFlush(s->other))) return NAN;
    if (clFinish(s->one) || (s->other && clFinish(s->other))) return NAN;
    return now_us() - begin;
}

/* Two kernels of one work-item each: 1 if they run at the same time, 2 if one after the other. */
static void measure_overlap(bench *b) {
    static const char source[] =
        "__kernel void spin(__global uint *to, uint n) {\n"
        "    uint x = *to;\n"
        "    for (uint i = 0; i < n; i++) x = x * x + i;\n"
        "    if (x == 12345u) *to = x;\n}\n";
    cl_mem buffer = new_buffer(b, CL_MEM_READ_WRITE, 256);
    cl_command_queue other = new_queue(b, 0);
    cl_command_queue free_order = new_queue(b, CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE);
    cl_kernel kernel = new_kernel(b, source, "", "spin");
    double in_two = NAN, in_one = NAN;
    if (buffer && other && kernel) {
        const spinning single = {b->queue, NULL, kernel}, two = {b->queue, other, kernel},
                       one = {free_order, free_order, kernel};
        double us = 0;
        clSetKernelArg(kernel, 0, sizeof buffer, &buffer);
        for (cl_uint n = 1u << 16; n < 1u << 28 && us < 20e3; n *= 2) {
            clSetKernelArg(kernel, 1, sizeof n, &n);
            us = median(b, 3, spin_once, &single);
        }
        in_two = median(b, 3, spin_once, &two) / us;
        if (free_order) in_one = median(b, 3, spin_once, &one) / us;
    }
    tell(b, in_two, "two_queues_ratio", 0);
    tell(b, in_one, "one_queue_out_of_order_ratio", 0);
    release_kernel(kernel);
    if (other) clReleaseCommandQueue(other);
    if (free_order) clReleaseCommandQueue(free_order);
    release(buffer);
}

/* ---- Arithmetic ------------------------------------------------------------------------------ */

static float number(cl_uint i, cl_uint salt) {
    cl_uint x = (i * 2654435761u) ^ (salt * 2246822519u);
    x ^= x >> 15;
    x *= 2246822519u;
    x ^= x >> 13;
    return 0.5f + (float)(x >> 8) / (float)(1u << 24) * 7.5f;
}

typedef float expected(float a, float b, float c);
static float divided(float a, float b, float c) {
    (void)c;
    return (float)((double)a / (double)b);
}
static float inverse(float a, float b, float c) {
    (void)b, (void)c;
    return (float)(1.0 / (double)a);
}
static float root(float a, float b, float c) {
    (void)b, (void)c;
    return (float)sqrt((double)a);
}
static float fused(float a, float b, float c) {
    return fmaf(a, b, -c);
}

/* The share of results that are not the expected one. */
static double share_of_others(bench *b, const char *expression, const char *options,
                              expected *right) {
    static float in[3][NUMBERS], out[NUMBERS];
    char source[512];
    cl_mem buffers[4] = {NULL};
    cl_int code = CL_SUCCESS;
    snprintf(source, sizeof source,
             "__kernel void f(__global const float *x, __global const float *y,\n"
             "                __global const float *z, __global float *to) {\n"
             "    const size_t i = get_global_id(0);\n"
             "    const float a = x[i], b = y[i], c = z[i];\n"
             "    to[i] = %s;\n}\n",
             expression);
    cl_kernel kernel = new_kernel(b, source, options, "f");
    if (!kernel) return NAN;
    for (cl_uint k = 0; k < 4; k++) {
        for (cl_uint i = 0; k < 3 && i < NUMBERS; i++)
            in[k][i] = k == 2 ? in[0][i] * in[1][i] : number(i, k + 1); /* it cancels */
        buffers[k] = new_buffer(b, CL_MEM_READ_WRITE, sizeof out);
        if (k < 3 && !code)
            code = clEnqueueWriteBuffer(b->queue, buffers[k], CL_TRUE, 0, sizeof out, in[k], 0,
                                        NULL, NULL);
        clSetKernelArg(kernel, k, sizeof *buffers, &buffers[k]);
    }
    if (!code) code = enqueue(b->queue, kernel, NUMBERS, 64, NULL);
    if (!code)
        code =
            clEnqueueReadBuffer(b->queue, buffers[3], CL_TRUE, 0, sizeof out, out, 0, NULL, NULL);
    unsigned others = 0;
    for (cl_uint i = 0; i < NUMBERS; i++) {
        const float wanted = right(in[0][i], in[1][i], in[2][i]);
        others += memcmp(&wanted, &out[i], sizeof wanted) != 0;
    }
    for (int k = 0; k < 4; k++) release(buffers[k]);
    release_kernel(kernel);
    return code ? NAN : (double)others / NUMBERS;
}

static void measure_arithmetic(bench *b) {
    static const char exact[] = "-cl-fp32-correctly-rounded-divide-sqrt";
    tell(b, share_of_others(b, "a / b", "", divided), "division_rounded_wrong_share", 0);
    tell(b, share_of_others(b, "1.0f / a", "", inverse), "reciprocal_rounded_wrong_share", 0);
    tell(b, share_of_others(b, "sqrt(a)", "", root), "sqrt_rounded_wrong_share", 0);
    tell(b, share_of_others(b, "a / b", exact, divided), "division_exact_option_wrong_share", 0);
    tell(b, share_of_others(b, "sqrt(a)", exact, root), "sqrt_exact_option_wrong_share", 0);
    tell(b, share_of_others(b, "a * b - c", "", fused), "multiply_add_not_fused_share", 0);
}

/* ---- All ------------------------------------------------------------------------------------- */

const char *measure_device(cl_device_id device, measure_told *told, void *user) {
    bench b = {.device = device, .told = told, .user = user};
    const double begin = now_us();
    cl_int code;
    cl_device_type type = 0;
    b.context = clCreateContext(NULL, 1, &device, NULL, NULL, &code);
    if (code) return "clCreateContext";
    b.queue = new_queue(&b, 0);
    if (b.queue) {
        clGetDeviceInfo(device, CL_DEVICE_TYPE, sizeof type, &type, NULL);
        b.is_cpu = (type & CL_DEVICE_TYPE_CPU) != 0;
        measure_launches(&b);
        measure_fills(&b);
        measure_transfers(&b);
        measure_atomics(&b);
        measure_sub_buffers(&b);
        measure_compiler(&b);
        measure_local(&b);
        measure_overlap(&b);
        measure_arithmetic(&b);
        tell(&b, (now_us() - begin) * 1e-6, "measured_in_s", 0);
        clReleaseCommandQueue(b.queue);
    }
    clReleaseContext(b.context);
    return b.queue ? NULL : "clCreateCommandQueue";
}
