/* Choosing and opening an OpenCL device, and reading times from it.
 *
 * A device is named by "platform / device", as clump-bench devices prints it; any part of that
 * picks it. Read first: bench.h.
 */
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "bench.h"

#define DEVICES_MAX 64
#define PLATFORMS_MAX 16
#define COPY_BYTES_MAX (256u << 20)
#define LONGEST_NS UINT64_C(86400000000000) /* of a command: a day */

typedef struct entry {
    cl_platform_id platform;
    cl_device_id device;
    cl_device_type type;
    char name[512];
} entry;

typedef struct entry_list {
    entry entries[DEVICES_MAX];
    unsigned count;
} entry_list;

double bench_now_us(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec * 1e6 + (double)now.tv_nsec * 1e-3;
}

static void add_devices(entry_list *list, cl_platform_id platform) {
    char platform_name[200] = "?";
    cl_device_id devices[DEVICES_MAX];
    cl_uint count = 0;
    clGetPlatformInfo(platform, CL_PLATFORM_NAME, sizeof platform_name, platform_name, NULL);
    if (clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, DEVICES_MAX, devices, &count) != CL_SUCCESS) {
        return; /* a platform without devices is no error */
    }
    for (cl_uint i = 0; i < count && list->count < DEVICES_MAX; i++) {
        char device_name[200] = "?";
        entry *next = &list->entries[list->count++];
        next->platform = platform;
        next->device = devices[i];
        clGetDeviceInfo(devices[i], CL_DEVICE_NAME, sizeof device_name, device_name, NULL);
        clGetDeviceInfo(devices[i], CL_DEVICE_TYPE, sizeof next->type, &next->type, NULL);
        snprintf(next->name, sizeof next->name, "%s / %s", platform_name, device_name);
    }
}

static int find_devices(entry_list *list, bench_error *error) {
    cl_platform_id platforms[PLATFORMS_MAX];
    cl_uint count = 0;
    list->count = 0;
    cl_int code = clGetPlatformIDs(PLATFORMS_MAX, platforms, &count);
    if (code == CL_SUCCESS) {
        for (cl_uint i = 0; i < count && i < PLATFORMS_MAX; i++) {
            add_devices(list, platforms[i]);
        }
    }
    if (list->count == 0) {
        return bench_error_set(
            error, "there is no OpenCL device (%s)",
            code == CL_SUCCESS ? "the platforms have none" : "no platform is installed");
    }
    return 0;
}

static int contains(const char *text, const char *part) {
    size_t length = strlen(part);
    for (; *text; text++) {
        size_t i = 0;
        while (i < length && tolower((unsigned char)text[i]) == tolower((unsigned char)part[i])) {
            i++;
        }
        if (i == length) {
            return 1;
        }
    }
    return length == 0;
}

static int fail_unknown(const entry_list *list, const char *wanted, bench_error *error) {
    char names[1536] = "";
    size_t used = 0;
    for (unsigned i = 0; i < list->count && used < sizeof names; i++) {
        int n = snprintf(names + used, sizeof names - used, "\n  %s", list->entries[i].name);
        used += n > 0 ? (size_t)n : 0;
    }
    return bench_error_set(error, "no device has '%.100s' in its name; there are:%s", wanted,
                           names);
}

static int choose(const entry_list *list, const char *wanted, unsigned *index, bench_error *error) {
    if (!wanted || !*wanted) {
        wanted = getenv("CLUMP_DEVICE");
    }
    *index = 0;
    if (!wanted || !*wanted) {
        for (unsigned i = list->count; i > 0; i--) {
            if (list->entries[i - 1].type & CL_DEVICE_TYPE_GPU) {
                *index = i - 1;
            }
        }
        return 0;
    }
    for (unsigned i = 0; i < list->count; i++) {
        if (contains(list->entries[i].name, wanted)) {
            *index = i;
            return 0;
        }
    }
    return fail_unknown(list, wanted, error);
}

int bench_env_list(const char *wanted, bench_error *error) {
    entry_list list;
    unsigned taken = 0;
    if (find_devices(&list, error) || choose(&list, wanted, &taken, error)) {
        return -1;
    }
    for (unsigned i = 0; i < list.count; i++) {
        char version[128] = "?";
        clGetDeviceInfo(list.entries[i].device, CL_DEVICE_VERSION, sizeof version, version, NULL);
        printf("%c %s (%s)\n", i == taken ? '*' : ' ', list.entries[i].name, version);
    }
    return 0;
}

/* CLUMP_PERSONALITY: cpu or gpu; not set: as fits the device. */
static int choose_personality(clump_personality *personality, bench_error *error) {
    const char *wanted = getenv("CLUMP_PERSONALITY");
    *personality = CLUMP_PERSONALITY_DEVICE;
    if (!wanted || !*wanted) return 0;
    if (strcmp(wanted, "cpu") == 0) {
        *personality = CLUMP_PERSONALITY_CPU;
    } else if (strcmp(wanted, "gpu") == 0) {
        *personality = CLUMP_PERSONALITY_GPU;
    } else {
        return bench_error_set(error, "CLUMP_PERSONALITY is '%.40s'; cpu and gpu are possible",
                               wanted);
    }
    return 0;
}

/* $XDG_CACHE_HOME/clump, or ~/.cache/clump. */
static void choose_cache(bench_env *env) {
    const char *caches = getenv("XDG_CACHE_HOME"), *home = getenv("HOME");
    int n = 0;
    if (caches && *caches) {
        n = snprintf(env->cache, sizeof env->cache, "%s/clump", caches);
    } else if (home && *home) {
        n = snprintf(env->cache, sizeof env->cache, "%s/.cache/clump", home);
    }
    if (env->no_cache || (size_t)n >= sizeof env->cache) {
        env->cache[0] = 0;
    }
}

static int open_entry(bench_env *env, const entry *chosen, bench_error *error) {
    cl_int code = CL_SUCCESS;
    env->platform = chosen->platform;
    env->device = chosen->device;
    cl_context_properties properties[] = {CL_CONTEXT_PLATFORM,
                                          (cl_context_properties)chosen->platform, 0};
    env->context = clCreateContext(properties, 1, &chosen->device, NULL, NULL, &code);
    if (code != CL_SUCCESS) {
        return bench_error_cl(error, "clCreateContext", code);
    }
    env->queue =
        clCreateCommandQueue(env->context, chosen->device, CL_QUEUE_PROFILING_ENABLE, &code);
    if (code != CL_SUCCESS) {
        return bench_error_cl(error, "clCreateCommandQueue", code);
    }
    clump_context_desc desc = {.size = sizeof desc,
                               .context = env->context,
                               .device = chosen->device,
                               .queue = env->queue};
    if (choose_personality(&desc.personality, error)) return -1;
    choose_cache(env);
    desc.cache.folder = *env->cache ? env->cache : NULL;
    clump_error detail = {0};
    if (clump_context_create(&desc, &env->clump, &detail) != CLUMP_OK) {
        return bench_error_set(error, "cannot use %s: %s", chosen->name, detail.message);
    }
    env->capabilities = clump_context_get_info(env->clump)->capabilities;
    return 0;
}

int bench_env_open(bench_env *env, const char *wanted, bench_error *error) {
    entry_list list;
    unsigned taken = 0;
    if (find_devices(&list, error) || choose(&list, wanted, &taken, error)) {
        return -1;
    }
    if (open_entry(env, &list.entries[taken], error)) {
        bench_env_close(env);
        return -1;
    }
    return 0;
}

void bench_env_close(bench_env *env) {
    clump_context_destroy(env->clump);
    if (env->queue) {
        clReleaseCommandQueue(env->queue);
    }
    if (env->context) {
        clReleaseContext(env->context);
    }
    env->clump = NULL;
    env->queue = NULL;
    env->context = NULL;
    env->capabilities = NULL;
}

int bench_event_take(cl_event event, bench_span *span, bench_error *error) {
    cl_ulong start = 0, end = 0;
    cl_int code = clWaitForEvents(1, &event);
    if (code == CL_SUCCESS) {
        code =
            clGetEventProfilingInfo(event, CL_PROFILING_COMMAND_START, sizeof start, &start, NULL);
    }
    if (code == CL_SUCCESS) {
        code = clGetEventProfilingInfo(event, CL_PROFILING_COMMAND_END, sizeof end, &end, NULL);
    }
    clReleaseEvent(event);
    if (code != CL_SUCCESS) {
        return bench_error_cl(error, "the time of a command", code);
    }
    if (!end || end < start || end - start > LONGEST_NS)
        return bench_error_set(error,
                               "a command began at %llu and ended at %llu, as the device tells, "
                               "which cannot be",
                               (unsigned long long)start, (unsigned long long)end);
    span->start_ns = start;
    span->end_ns = end;
    return 0;
}

static int time_copies(const bench_env *env, cl_mem from, cl_mem to, size_t bytes, double *best_us,
                       bench_error *error) {
    const unsigned rounds = 6;
    for (unsigned round = 0; round < rounds; round++) {
        cl_event event = NULL;
        bench_span span;
        cl_int code = clEnqueueCopyBuffer(env->queue, from, to, 0, 0, bytes, 0, NULL, &event);
        if (code != CL_SUCCESS) {
            return bench_error_cl(error, "clEnqueueCopyBuffer", code);
        }
        if (bench_event_take(event, &span, error)) {
            return -1;
        }
        double us = bench_span_us(span);
        /* the first round touches the memory for the first time */
        if (round > 0 && us > 0 && (*best_us == 0 || us < *best_us)) {
            *best_us = us;
        }
    }
    return 0;
}

int bench_copy_bandwidth(const bench_env *env, size_t bytes, double *bytes_per_s,
                         bench_error *error) {
    cl_int code = CL_SUCCESS;
    double best_us = 0;
    *bytes_per_s = 0;
    if (bytes == 0) {
        uint64_t quarter = env->capabilities->allocation_bytes / 4;
        bytes = quarter < COPY_BYTES_MAX ? (size_t)quarter : COPY_BYTES_MAX;
    }
    cl_mem from = clCreateBuffer(env->context, CL_MEM_READ_WRITE, bytes, NULL, &code);
    if (code != CL_SUCCESS) {
        return bench_error_cl(error, "a buffer to copy from", code);
    }
    cl_mem to = clCreateBuffer(env->context, CL_MEM_READ_WRITE, bytes, NULL, &code);
    if (code != CL_SUCCESS) {
        clReleaseMemObject(from);
        return bench_error_cl(error, "a buffer to copy to", code);
    }
    int result = time_copies(env, from, to, bytes, &best_us, error);
    clReleaseMemObject(from);
    clReleaseMemObject(to);
    if (result == 0 && best_us > 0) {
        *bytes_per_s = 2.0 * (double)bytes / (best_us * 1e-6);
    }
    return result;
}
