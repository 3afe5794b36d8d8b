/* See account.h.
 *
 * Invariant: buffers[0 .. count - 1] are those that the library created and still has references
 * to.
 */
#include "account.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cl_enqueues.h"

static _Thread_local account *mine;

void account_open(account *a) {
    memset(a, 0, sizeof *a);
    assert_int_equal(pthread_mutex_init(&a->lock, NULL), 0);
}

void account_close(account *a) {
    pthread_mutex_destroy(&a->lock);
}

void account_use(account *a) {
    mine = a;
}

account_sums account_read(account *a) {
    pthread_mutex_lock(&a->lock);
    account_sums now = a->now;
    pthread_mutex_unlock(&a->lock);
    return now;
}

const char *account_kind_name(account_kind kind) {
    static const char *const names[] = {"contexts", "queues",  "buffers",
                                        "programs", "kernels", "events"};
    return names[kind];
}

static void add(account *a, account_kind kind, int64_t by) {
    pthread_mutex_lock(&a->lock);
    a->now.references[kind] += by;
    pthread_mutex_unlock(&a->lock);
}

void account_released(account *a, account_kind kind) {
    add(a, kind, -1);
}

/* ---- Host memory ----------------------------------------------------------------------------- */

/* In front of each block; as large as what any type must be aligned to. */
typedef union block_head {
    size_t bytes;
    max_align_t aligned;
} block_head;

static void count_host(account *a, int64_t blocks, int64_t bytes) {
    pthread_mutex_lock(&a->lock);
    a->now.host_blocks += (uint64_t)blocks;
    a->now.host_bytes += (uint64_t)bytes;
    pthread_mutex_unlock(&a->lock);
}

static void *reallocate(void *user, void *memory, size_t bytes) {
    block_head *old = memory ? (block_head *)memory - 1 : NULL;
    size_t before = old ? old->bytes : 0;
    block_head *head = realloc(old, sizeof *head + bytes);
    if (!head) return NULL;
    head->bytes = bytes;
    count_host(user, memory == NULL, (int64_t)bytes - (int64_t)before);
    return head + 1;
}

static void *allocate(void *user, size_t bytes) {
    return reallocate(user, NULL, bytes);
}

static void release(void *user, void *memory) {
    if (!memory) return;
    block_head *head = (block_head *)memory - 1;
    count_host(user, -1, -(int64_t)head->bytes);
    free(head);
}

clump_allocator account_allocator(account *a) {
    return (clump_allocator){allocate, reallocate, release, a};
}

/* ---- Buffers --------------------------------------------------------------------------------- */

static void enter_buffer(cl_mem buffer, uint64_t bytes) {
    if (!buffer) return;
    pthread_mutex_lock(&mine->lock);
    assert_true(mine->count < ACCOUNT_BUFFERS_MAX);
    mine->buffers[mine->count].buffer = buffer;
    mine->buffers[mine->count].bytes = bytes;
    mine->buffers[mine->count++].references = 1;
    mine->now.device_bytes += bytes;
    mine->now.references[ACCOUNT_BUFFER]++;
    pthread_mutex_unlock(&mine->lock);
}

/* One reference more or less; to a buffer of the caller's it counts as a reference alone. */
static void change_buffer(cl_mem buffer, int by) {
    pthread_mutex_lock(&mine->lock);
    mine->now.references[ACCOUNT_BUFFER] += by;
    uint32_t i = 0;
    while (i < mine->count && mine->buffers[i].buffer != buffer) i++;
    if (i < mine->count && (mine->buffers[i].references += (uint64_t)by) == 0) {
        mine->now.device_bytes -= mine->buffers[i].bytes;
        mine->buffers[i] = mine->buffers[--mine->count];
    }
    pthread_mutex_unlock(&mine->lock);
}

static cl_mem CL_API_CALL create_buffer(cl_context a, cl_mem_flags b, size_t bytes, void *d,
                                        cl_int *code) {
    cl_mem buffer = clCreateBuffer(a, b, bytes, d, code);
    enter_buffer(buffer, bytes);
    return buffer;
}

/* Their bytes are those of the buffer that they lie in. */
static cl_mem CL_API_CALL create_sub_buffer(cl_mem a, cl_mem_flags b, cl_buffer_create_type c,
                                            const void *d, cl_int *code) {
    cl_mem buffer = clCreateSubBuffer(a, b, c, d, code);
    enter_buffer(buffer, 0);
    return buffer;
}

static cl_int CL_API_CALL retain_buffer(cl_mem buffer) {
    cl_int code = clRetainMemObject(buffer);
    if (!code) change_buffer(buffer, 1);
    return code;
}

/* First out of the list: another thread may get the same address as soon as it is released. */
static cl_int CL_API_CALL release_buffer(cl_mem buffer) {
    change_buffer(buffer, -1);
    return clReleaseMemObject(buffer);
}

/* ---- Other objects --------------------------------------------------------------------------- */

#define RETAIN_AND_RELEASE(name, type, kind)                                                       \
    static cl_int CL_API_CALL retain_##name(type object) {                                         \
        cl_int code = clRetain##name(object);                                                      \
        if (!code) add(mine, kind, 1);                                                             \
        return code;                                                                               \
    }                                                                                              \
    static cl_int CL_API_CALL release_##name(type object) {                                        \
        add(mine, kind, -1);                                                                       \
        return clRelease##name(object);                                                            \
    }
RETAIN_AND_RELEASE(Context, cl_context, ACCOUNT_CONTEXT)
RETAIN_AND_RELEASE(CommandQueue, cl_command_queue, ACCOUNT_QUEUE)
RETAIN_AND_RELEASE(Event, cl_event, ACCOUNT_EVENT)

static cl_command_queue CL_API_CALL create_queue(cl_context a, cl_device_id b,
                                                 cl_command_queue_properties c, cl_int *code) {
    cl_command_queue queue = clCreateCommandQueue(a, b, c, code);
    if (queue) add(mine, ACCOUNT_QUEUE, 1);
    return queue;
}

static cl_program CL_API_CALL create_program(cl_context a, cl_uint b, const char **c,
                                             const size_t *d, cl_int *code) {
    cl_program program = clCreateProgramWithSource(a, b, c, d, code);
    if (program) add(mine, ACCOUNT_PROGRAM, 1);
    return program;
}

static cl_program CL_API_CALL load_program(cl_context a, cl_uint b, const cl_device_id *c,
                                           const size_t *d, const unsigned char **e, cl_int *f,
                                           cl_int *code) {
    cl_program program = clCreateProgramWithBinary(a, b, c, d, e, f, code);
    if (program) add(mine, ACCOUNT_PROGRAM, 1);
    return program;
}

static cl_int CL_API_CALL release_program(cl_program program) {
    add(mine, ACCOUNT_PROGRAM, -1);
    return clReleaseProgram(program);
}

static cl_kernel CL_API_CALL create_kernel(cl_program a, const char *b, cl_int *code) {
    cl_kernel kernel = clCreateKernel(a, b, code);
    if (kernel) add(mine, ACCOUNT_KERNEL, 1);
    return kernel;
}

static cl_int CL_API_CALL release_kernel(cl_kernel kernel) {
    add(mine, ACCOUNT_KERNEL, -1);
    return clReleaseKernel(kernel);
}

/* The last parameter is the event to give back, which may be NULL. */
#define ENQUEUE(name, parameters, ...)                                                             \
    static cl_int CL_API_CALL name parameters {                                                    \
        cl_int code = cl##name(__VA_ARGS__);                                                       \
        if (event && !code) add(mine, ACCOUNT_EVENT, 1);                                           \
        return code;                                                                               \
    }
CL_ENQUEUES(ENQUEUE)

static void *CL_API_CALL EnqueueMapBuffer(cl_command_queue a, cl_mem b, cl_bool c, cl_map_flags d,
                                          size_t e, size_t g, cl_uint h, const cl_event *i,
                                          cl_event *event, cl_int *code) {
    void *memory = clEnqueueMapBuffer(a, b, c, d, e, g, h, i, event, code);
    if (event && memory) add(mine, ACCOUNT_EVENT, 1);
    return memory;
}

/* Members that are left out create and release nothing. */
const clump_cl_functions account_cl = {
    .size = sizeof account_cl,
    .RetainContext = retain_Context,
    .ReleaseContext = release_Context,
    .CreateCommandQueue = create_queue,
    .RetainCommandQueue = retain_CommandQueue,
    .ReleaseCommandQueue = release_CommandQueue,
    .CreateBuffer = create_buffer,
    .RetainMemObject = retain_buffer,
    .ReleaseMemObject = release_buffer,
    .CreateSubBuffer = create_sub_buffer,
    .CreateProgramWithSource = create_program,
    .CreateProgramWithBinary = load_program,
    .ReleaseProgram = release_program,
    .CreateKernel = create_kernel,
    .ReleaseKernel = release_kernel,
    .EnqueueNDRangeKernel = EnqueueNDRangeKernel,
    .EnqueueReadBuffer = EnqueueReadBuffer,
    .EnqueueWriteBuffer = EnqueueWriteBuffer,
    .EnqueueFillBuffer = EnqueueFillBuffer,
    .EnqueueCopyBuffer = EnqueueCopyBuffer,
    .EnqueueMapBuffer = EnqueueMapBuffer,
    .EnqueueUnmapMemObject = EnqueueUnmapMemObject,
    .EnqueueMarkerWithWaitList = EnqueueMarkerWithWaitList,
    .RetainEvent = retain_Event,
    .ReleaseEvent = release_Event,
};

uint64_t account_of_process(void) {
    unsigned long long pages = 0;
    FILE *file = fopen("/proc/self/statm", "r");
    if (!file) return 0;
    if (fscanf(file, "%*u %llu", &pages) != 1) pages = 0;
    fclose(file);
    return pages * (uint64_t)sysconf(_SC_PAGESIZE);
}
