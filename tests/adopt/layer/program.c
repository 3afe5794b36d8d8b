/* A program that knows nothing of Clump: the test `layer` runs it with and without the layer.
 *
 *   program same        all that a program can find out about its buffers, and what commands do
 *                       with them; the output must be the same with the layer as without
 *   program reuse       buffers, queues and contexts that are released while commands use them
 *   program threads N   N threads that make, use and release buffers at a time
 *   program leak        buffers that are not released, from two functions
 *   program limit       buffers until there are no more
 *   program late        a buffer that has the handle of one whose end the driver tells later
 *   program refused     one buffer, and contexts, buffers, sub-buffers and queues that are refused
 *   program pointers    memory that programs reach through pointers: shared virtual memory, and
 *                       unified shared memory of Intel's extension
 *   program parts       a context of one part of the device, and one of two parts
 *   program fork|exit  ends in an unusual way
 *
 * Exit status 0: all contents were right; 77: there is no OpenCL device. Addresses are never
 * written, since they differ.
 */
#include <CL/cl.h>
#include <CL/cl_ext.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static cl_platform_id platform;
static cl_device_id device;
static int failures;

#define OK(call) ok((call), #call, __LINE__)
static void ok(cl_int code, const char *call, int line) {
    if (!code) return;
    printf("line %d: %s: %d\n", line, call, code);
    failures++;
}
#define CHECK(condition) check((condition), #condition, __LINE__)
static void check(int is_so, const char *words, int line) {
    if (is_so) return;
    printf("line %d: not so: %s\n", line, words);
    failures++;
}

static void open_device(void) {
    if (clGetPlatformIDs(1, &platform, NULL) ||
        clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 1, &device, NULL)) {
        printf("there is no OpenCL device\n");
        exit(77);
    }
}

static cl_context new_context(void) {
    cl_int code;
    cl_context context = clCreateContext(NULL, 1, &device, NULL, NULL, &code);
    OK(code);
    return context;
}
static cl_command_queue new_queue(cl_context context) {
    cl_int code;
    cl_command_queue queue = clCreateCommandQueue(context, device, 0, &code);
    OK(code);
    return queue;
}
static cl_mem new_buffer(cl_context context, cl_mem_flags flags, size_t bytes, void *host) {
    cl_int code = 1;
    cl_mem buffer = clCreateBuffer(context, flags, bytes, host, &code);
    OK(code);
    return buffer;
}
static cl_event new_gate(cl_context context) {
    cl_int code;
    cl_event gate = clCreateUserEvent(context, &code);
    OK(code);
    return gate;
}

/* ---- Questions ------------------------------------------------------------------------------- */

/* A driver may let go of the objects of a command after it told that the command is complete: the
 * program waits until it did, so that the output does not depend on time. */
#define WAIT_MS 2000

static cl_uint context_references(cl_context context) {
    cl_uint count = 0;
    OK(clGetContextInfo(context, CL_CONTEXT_REFERENCE_COUNT, sizeof count, &count, NULL));
    return count;
}
static cl_uint references(cl_mem object) {
    cl_uint count = 0;
    OK(clGetMemObjectInfo(object, CL_MEM_REFERENCE_COUNT, sizeof count, &count, NULL));
    return count;
}
static void wait_for_references(cl_mem object, cl_uint count) {
    for (int i = 0; i < WAIT_MS && references(object) != count; i++) usleep(1000);
}
static void wait_for_context(cl_context context, cl_uint count) {
    for (int i = 0; i < WAIT_MS && context_references(context) != count; i++) usleep(1000);
}

static void ask_context(const char *when, cl_context context) {
    cl_uint count = context_references(context);
    printf("context, %s: %u references\n", when, count);
}

static void ask_queue(const char *when, cl_command_queue queue) {
    cl_uint count = 0;
    OK(clGetCommandQueueInfo(queue, CL_QUEUE_REFERENCE_COUNT, sizeof count, &count, NULL));
    printf("queue, %s: %u references\n", when, count);
}

static void ask_number(cl_mem buffer, const char *name, cl_mem_info info) {
    unsigned char value[64];
    size_t needed = 0, number = 0;
    memset(value, 0, sizeof value);
    cl_int code = clGetMemObjectInfo(buffer, info, sizeof value, value, &needed);
    if (needed <= sizeof number) memcpy(&number, value, needed);
    printf(" %s %d/%zu/%zu", name, code, needed, code ? 0 : number);
    if (needed) printf("/%d", clGetMemObjectInfo(buffer, info, needed - 1, value, NULL));
}

/* Everything, in numbers; of handles and pointers, whether they are those that are known. */
static void ask(const char *when, cl_mem buffer, cl_context context, cl_mem parent,
                const void *host) {
    cl_mem of = NULL;
    void *pointer = NULL;
    cl_context found = NULL;
    printf("%s:", when);
    ask_number(buffer, "type", CL_MEM_TYPE);
    ask_number(buffer, "flags", CL_MEM_FLAGS);
    ask_number(buffer, "size", CL_MEM_SIZE);
    ask_number(buffer, "maps", CL_MEM_MAP_COUNT);
    ask_number(buffer, "references", CL_MEM_REFERENCE_COUNT);
    ask_number(buffer, "offset", CL_MEM_OFFSET);
    ask_number(buffer, "svm", CL_MEM_USES_SVM_POINTER);
    ask_number(buffer, "properties", CL_MEM_PROPERTIES);
    ask_number(buffer, "unknown", 0x10FF);
    OK(clGetMemObjectInfo(buffer, CL_MEM_CONTEXT, sizeof found, &found, NULL));
    OK(clGetMemObjectInfo(buffer, CL_MEM_ASSOCIATED_MEMOBJECT, sizeof of, &of, NULL));
    OK(clGetMemObjectInfo(buffer, CL_MEM_HOST_PTR, sizeof pointer, &pointer, NULL));
    printf(" context %s, of %s, host %s\n", found == context ? "its" : "another",
           !of            ? "none"
           : of == parent ? "its parent"
                          : "another",
           !pointer          ? "none"
           : pointer == host ? "its"
                             : "another");
}

static atomic_int ends_told;
static void CL_CALLBACK note_end(cl_mem object, void *user) {
    (void)object;
    printf("ended: %s\n", (const char *)user);
    atomic_fetch_add(&ends_told, 1); /* after the line is written */
}
static void note(cl_mem object, const char *words) {
    OK(clSetMemObjectDestructorCallback(object, note_end, (void *)(size_t)words));
}
static void wait_for_ends(int count) {
    for (int i = 0; i < WAIT_MS && atomic_load(&ends_told) < count; i++) usleep(1000);
}

/* ---- same ------------------------------------------------------------------------------------ */

#define BYTES 4096u

static void same_flags(cl_context context) {
    static unsigned char host[BYTES] __attribute__((aligned(4096)));
    static const cl_mem_flags flags[] = {0,
                                         CL_MEM_READ_WRITE,
                                         CL_MEM_READ_ONLY,
                                         CL_MEM_WRITE_ONLY,
                                         CL_MEM_COPY_HOST_PTR,
                                         CL_MEM_READ_ONLY | CL_MEM_COPY_HOST_PTR,
                                         CL_MEM_USE_HOST_PTR,
                                         CL_MEM_ALLOC_HOST_PTR,
                                         CL_MEM_ALLOC_HOST_PTR | CL_MEM_COPY_HOST_PTR,
                                         CL_MEM_HOST_READ_ONLY,
                                         CL_MEM_HOST_WRITE_ONLY,
                                         CL_MEM_HOST_NO_ACCESS,
                                         CL_MEM_READ_ONLY | CL_MEM_WRITE_ONLY,
                                         1u << 30};
    static const size_t sizes[] = {0, 1, 3, 100, 4095, BYTES};
    for (size_t f = 0; f < sizeof flags / sizeof *flags; f++)
        for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++)
            for (int with_host = 0; with_host < 2; with_host++) {
                cl_int code = 1;
                cl_mem buffer =
                    clCreateBuffer(context, flags[f], sizes[s], with_host ? host : NULL, &code);
                printf("flags %x, %zu bytes%s: %d\n", (unsigned)flags[f], sizes[s],
                       with_host ? ", host" : "", code);
                if (!buffer) continue;
                ask("  it", buffer, context, NULL, host);
                OK(clRetainMemObject(buffer));
                ask_number(buffer, "  retained", CL_MEM_REFERENCE_COUNT);
                printf("\n");
                OK(clReleaseMemObject(buffer));
                OK(clReleaseMemObject(buffer));
            }
    cl_int code = 1;
    cl_mem buffer = clCreateBuffer(context, CL_MEM_READ_WRITE, (size_t)1 << 50, NULL, &code);
    printf("2^50 bytes: %s, %d\n", buffer ? "made" : "not made", code);
    buffer = clCreateBuffer(NULL, CL_MEM_READ_WRITE, 100, NULL, &code);
    printf("no context: %s, %d\n", buffer ? "made" : "not made", code);
}

static void same_sub_buffers(cl_context context, cl_command_queue queue) {
    static const cl_mem_flags of[] = {0, CL_MEM_READ_WRITE, CL_MEM_READ_ONLY, CL_MEM_WRITE_ONLY};
    static const cl_mem_flags flags[] = {0,
                                         CL_MEM_READ_WRITE,
                                         CL_MEM_READ_ONLY,
                                         CL_MEM_WRITE_ONLY,
                                         CL_MEM_HOST_READ_ONLY,
                                         CL_MEM_USE_HOST_PTR,
                                         1u << 30};
    static const cl_buffer_region regions[] = {{0, BYTES}, {1024, 1024}, {1024, BYTES},
                                               {1, 100},   {0, 0},       {8192, 128}};
    for (size_t p = 0; p < sizeof of / sizeof *of; p++)
        for (size_t f = 0; f < sizeof flags / sizeof *flags; f++)
            for (size_t r = 0; r < sizeof regions / sizeof *regions; r++) {
                cl_mem parent = new_buffer(context, of[p], BYTES, NULL);
                cl_int code = 1;
                cl_mem sub = clCreateSubBuffer(parent, flags[f], CL_BUFFER_CREATE_TYPE_REGION,
                                               &regions[r], &code);
                printf("sub-buffer %x of %x, region %zu: %d\n", (unsigned)flags[f], (unsigned)of[p],
                       r, code);
                if (sub) {
                    ask("  it", sub, context, parent, NULL);
                    ask("  its parent", parent, context, NULL, NULL);
                    OK(clReleaseMemObject(parent)); /* the sub-buffer keeps it */
                    ask("  its released parent", parent, context, NULL, NULL);
                    OK(clReleaseMemObject(sub));
                } else {
                    OK(clReleaseMemObject(parent));
                }
            }
    /* Wrong calls; the order of ends; contents. */
    cl_mem parent = new_buffer(context, CL_MEM_READ_WRITE, BYTES, NULL);
    cl_buffer_region region = {2048, 1024}, inner = {0, 128};
    cl_int code = 1;
    clCreateSubBuffer(parent, 0, 0x4711, &region, &code);
    printf("another type: %d\n", code);
    clCreateSubBuffer(parent, 0, CL_BUFFER_CREATE_TYPE_REGION, NULL, &code);
    printf("no region: %d\n", code);
    cl_mem sub = clCreateSubBuffer(parent, 0, CL_BUFFER_CREATE_TYPE_REGION, &region, &code);
    OK(code);
    cl_mem none = clCreateSubBuffer(sub, 0, CL_BUFFER_CREATE_TYPE_REGION, &inner, &code);
    printf("of a sub-buffer: %s, %d\n", none ? "made" : "not made", code);
    note(parent, "the parent, noted first");
    note(parent, "the parent, noted last");
    note(sub, "the sub-buffer");
    cl_uint words[BYTES / 4], tag = 17;
    for (cl_uint i = 0; i < BYTES / 4; i++) words[i] = i;
    OK(clEnqueueWriteBuffer(queue, parent, CL_TRUE, 0, BYTES, words, 0, NULL, NULL));
    OK(clEnqueueFillBuffer(queue, sub, &tag, 4, 128, 256, 0, NULL, NULL));
    OK(clEnqueueReadBuffer(queue, parent, CL_TRUE, 0, BYTES, words, 0, NULL, NULL));
    for (cl_uint i = 0; i < BYTES / 4; i++) CHECK(words[i] == (i >= 544 && i < 608 ? 17 : i));
    OK(clReleaseMemObject(parent));
    printf("the parent is released\n");
    OK(clReleaseMemObject(sub));
    wait_for_ends(3);
}

/* The contents of a buffer as a number. */
static unsigned sum_of(cl_command_queue queue, cl_mem buffer, size_t bytes) {
    static unsigned char bytes_read[1 << 16];
    unsigned sum = 5381;
    OK(clEnqueueReadBuffer(queue, buffer, CL_TRUE, 0, bytes, bytes_read, 0, NULL, NULL));
    for (size_t i = 0; i < bytes; i++) sum = sum * 33 + bytes_read[i];
    return sum;
}

static void say_event(cl_command_queue queue, const char *what, cl_int code, cl_event event) {
    cl_command_type type = 0;
    OK(clFinish(queue));
    if (!code) OK(clGetEventInfo(event, CL_EVENT_COMMAND_TYPE, sizeof type, &type, NULL));
    if (!code) OK(clReleaseEvent(event));
    printf("%s: %d, command %x\n", what, code, type);
}

static void same_rectangles(cl_command_queue queue, cl_mem a, cl_mem b) {
    static const struct {
        size_t from[3], to[3], region[3], from_row, from_slice, to_row, to_slice;
        int within; /* one buffer */
    } rects[] = {{{0, 0, 0}, {0, 0, 0}, {16, 16, 1}, 64, 0, 64, 0, 0},
                 {{4, 2, 1}, {8, 1, 0}, {12, 3, 2}, 32, 256, 40, 400, 0}, /* other pitches */
                 {{4, 2, 1}, {8, 1, 0}, {12, 3, 2}, 0, 0, 0, 0, 0},
                 {{0, 0, 0}, {32, 20, 0}, {32, 8, 1}, 64, 0, 64, 0, 1},
                 {{0, 0, 0}, {16, 2, 0}, {32, 8, 1}, 64, 0, 64, 0, 1},   /* overlap */
                 {{0, 0, 0}, {32, 20, 0}, {32, 8, 1}, 64, 0, 128, 0, 1}, /* other pitches within */
                 {{0, 0, 0}, {0, 100, 0}, {64, 16, 1}, 64, 0, 64, 0, 0}, /* outside */
                 {{0, 100, 0}, {0, 0, 0}, {64, 16, 1}, 64, 0, 64, 0, 0},
                 {{0, 0, 0}, {0, 0, 0}, {64, 0, 1}, 64, 0, 64, 0, 0},
                 {{0, 0, 0}, {0, 0, 0}, {64, 2, 1}, 8, 0, 64, 0, 0}};
    for (size_t i = 0; i < sizeof rects / sizeof *rects; i++)
        for (int waits = 0; waits < 2; waits++) {
            cl_event event = NULL, before = NULL;
            if (waits) OK(clEnqueueMarkerWithWaitList(queue, 0, NULL, &before));
            cl_int code = clEnqueueCopyBufferRect(
                queue, a, rects[i].within ? a : b, rects[i].from, rects[i].to, rects[i].region,
                rects[i].from_row, rects[i].from_slice, rects[i].to_row, rects[i].to_slice,
                (cl_uint)waits, waits ? &before : NULL, &event);
            say_event(queue, "rectangle", code, event);
            if (waits) OK(clReleaseEvent(before));
            printf("  %zu: %x %x\n", i, sum_of(queue, a, BYTES), sum_of(queue, b, BYTES));
        }
}

static void same_images(cl_context context, cl_command_queue queue, cl_mem buffer, int of_buffers) {
    const cl_image_format format = {CL_RGBA, CL_UNSIGNED_INT8};
    cl_image_desc desc = {
        .image_type = CL_MEM_OBJECT_IMAGE2D, .image_width = 16, .image_height = 8};
    const size_t origin[3] = {0, 0, 0}, region[3] = {16, 8, 1}, large[3] = {16, 9, 1};
    cl_event event = NULL;
    cl_int code = 1;
    cl_mem image = clCreateImage(context, CL_MEM_READ_WRITE, &format, &desc, NULL, &code);
    printf("image: %d\n", code);
    if (image) {
        code =
            clEnqueueCopyBufferToImage(queue, buffer, image, 256, origin, region, 0, NULL, &event);
        say_event(queue, "to the image", code, event);
        code =
            clEnqueueCopyImageToBuffer(queue, image, buffer, origin, region, 1536, 0, NULL, &event);
        say_event(queue, "from the image", code, event);
        printf("  %x\n", sum_of(queue, buffer, BYTES));
        printf("too large: %d %d\n",
               clEnqueueCopyBufferToImage(queue, buffer, image, 0, origin, large, 0, NULL, NULL),
               clEnqueueCopyImageToBuffer(queue, image, buffer, origin, large, 0, 0, NULL, NULL));
        OK(clFinish(queue));
        OK(clReleaseMemObject(image));
    }
    if (!of_buffers) return;
    desc = (cl_image_desc){
        .image_type = CL_MEM_OBJECT_IMAGE1D_BUFFER, .image_width = 64, .buffer = buffer};
    image = clCreateImage(context, CL_MEM_READ_WRITE, &format, &desc, NULL, &code);
    printf("image of a buffer: %d\n", code);
    if (!image) return;
    ask("  it", image, context, buffer, NULL);
    OK(clReleaseMemObject(image));
}

typedef struct native_args {
    unsigned char *a, *b;
    unsigned bytes;
} native_args;
static void CL_CALLBACK native(void *user) {
    const native_args *args = user;
    for (unsigned i = 0; i < args->bytes; i++) args->b[i] = (unsigned char)(args->a[i] + i);
}

static void same_native(cl_command_queue queue, cl_mem a, cl_mem b) {
    native_args args = {NULL, NULL, 1000};
    const cl_mem objects[2] = {a, b};
    const void *places[2] = {&args.a, &args.b};
    cl_event event = NULL;
    cl_int code = clEnqueueNativeKernel(queue, native, &args, sizeof args, 2, objects, places, 0,
                                        NULL, &event);
    say_event(queue, "native kernel", code, event);
    printf("  %x %x\n", sum_of(queue, a, BYTES), sum_of(queue, b, BYTES));
}

static const char source[] =
    "__kernel void add(__global const int *a, __global int *b, __constant int *c) {\n"
    "    size_t i = get_global_id(0);\n"
    "    b[i] = a[i] + c[i % 4] + (int)i;\n"
    "}\n";

static cl_kernel build(cl_context context) {
    const char *text = source;
    cl_int code;
    cl_program program = clCreateProgramWithSource(context, 1, &text, NULL, &code);
    OK(code);
    OK(clBuildProgram(program, 1, &device, "", NULL, NULL));
    cl_kernel kernel = clCreateKernel(program, "add", &code);
    OK(code);
    OK(clReleaseProgram(program));
    return kernel;
}

static void run(cl_command_queue queue, cl_kernel kernel, cl_mem a, cl_mem b, cl_mem c,
                size_t count) {
    OK(clSetKernelArg(kernel, 0, sizeof a, &a));
    OK(clSetKernelArg(kernel, 1, sizeof b, &b));
    OK(clSetKernelArg(kernel, 2, sizeof c, &c));
    OK(clEnqueueNDRangeKernel(queue, kernel, 1, NULL, &count, NULL, 0, NULL, NULL));
}

static void same_commands(cl_context context, cl_command_queue queue, int of_buffers) {
    unsigned char host[BYTES];
    for (unsigned i = 0; i < BYTES; i++) host[i] = (unsigned char)(i * 7 + i / 256);
    cl_mem a = new_buffer(context, CL_MEM_READ_ONLY | CL_MEM_COPY_HOST_PTR, BYTES, host);
    cl_mem b = new_buffer(context, CL_MEM_READ_WRITE, BYTES, NULL);
    cl_int constants[4] = {1, 20, 300, 4000}, code;
    cl_mem c = new_buffer(context, CL_MEM_COPY_HOST_PTR, sizeof constants, constants);
    memset(host, 0, sizeof host); /* its copy was made at once */
    printf("copied from the host: %x\n", sum_of(queue, a, BYTES));
    cl_kernel kernel = build(context);
    run(queue, kernel, a, b, c, BYTES / 4);
    printf("kernel: %x\n", sum_of(queue, b, BYTES));
    OK(clReleaseKernel(kernel));
    OK(clEnqueueCopyBuffer(queue, a, b, 100, 200, 1000, 0, NULL, NULL));
    printf("copied: %x\n", sum_of(queue, b, BYTES));
    printf("overlap: %d\n", clEnqueueCopyBuffer(queue, b, b, 0, 10, 100, 0, NULL, NULL));
    printf("outside: %d %d\n", clEnqueueCopyBuffer(queue, a, b, BYTES - 10, 0, 11, 0, NULL, NULL),
           clEnqueueWriteBuffer(queue, b, CL_TRUE, 1, BYTES, host, 0, NULL, NULL));
    void *mapped = clEnqueueMapBuffer(queue, b, CL_TRUE, CL_MAP_READ | CL_MAP_WRITE, 512, 1024, 0,
                                      NULL, NULL, &code);
    OK(code);
    ask_number(b, "mapped: maps", CL_MEM_MAP_COUNT);
    printf("\n");
    memset(mapped, 77, 1024);
    OK(clEnqueueUnmapMemObject(queue, b, mapped, 0, NULL, NULL));
    OK(clFinish(queue));
    wait_for_references(b, 1);
    ask("unmapped", b, context, NULL, NULL);
    printf("mapped: %x\n", sum_of(queue, b, BYTES));
    same_rectangles(queue, a, b);
    const size_t origin[3] = {3, 2, 0}, zero[3] = {0, 0, 0}, region[3] = {20, 5, 1};
    OK(clEnqueueReadBufferRect(queue, b, CL_TRUE, origin, zero, region, 64, 0, 20, 0, host, 0, NULL,
                               NULL));
    OK(clEnqueueWriteBufferRect(queue, b, CL_TRUE, zero, origin, region, 128, 0, 64, 0, host, 0,
                                NULL, NULL));
    printf("host's rectangles: %x\n", sum_of(queue, b, BYTES));
    same_images(context, queue, b, of_buffers);
    same_native(queue, a, b);
    const cl_mem both[2] = {a, b};
    OK(clEnqueueMigrateMemObjects(queue, 2, both, CL_MIGRATE_MEM_OBJECT_HOST, 0, NULL, NULL));
    OK(clEnqueueMigrateMemObjects(queue, 2, both, 0, 0, NULL, NULL));
    printf("migrated: %x %x\n", sum_of(queue, a, BYTES), sum_of(queue, b, BYTES));
    note(a, "a");
    OK(clReleaseMemObject(a));
    OK(clReleaseMemObject(b));
    OK(clReleaseMemObject(c));
    OK(clFinish(queue));
    wait_for_ends(4);
}

static void same(int of_buffers) {
    cl_context context = new_context();
    ask_context("new", context);
    cl_command_queue queue = new_queue(context);
    ask_queue("new", queue);
    ask_context("with a queue", context);
    same_flags(context);
    ask_context("after buffers", context);
    cl_uint before = context_references(context);
    same_sub_buffers(context, queue);
    same_commands(context, queue, of_buffers);
    wait_for_context(context, before);
    ask_context("after commands", context);
    cl_mem kept[3];
    for (int i = 0; i < 3; i++) kept[i] = new_buffer(context, 0, 100000 + (size_t)i, NULL);
    ask_context("with three buffers", context);
    OK(clRetainContext(context));
    OK(clReleaseContext(context));
    cl_command_queue second =
        new_queue(context); /* of the other one commands are references, too */
    OK(clRetainCommandQueue(second));
    ask_queue("retained", second);
    OK(clReleaseCommandQueue(second));
    ask_queue("as before", second);
    ask_context("with another queue", context);
    OK(clReleaseCommandQueue(second));
    ask_context("without it", context);
    OK(clReleaseContext(context)); /* buffers and the queue keep it alive */
    for (int i = 0; i < 3; i++) {
        cl_uint tag = (cl_uint)i;
        ask("without a context", kept[i], context, NULL, NULL);
        OK(clEnqueueFillBuffer(queue, kept[i], &tag, 4, 0, 100000, 0, NULL, NULL));
        printf("  %x\n", sum_of(queue, kept[i], 1 << 16));
        note(kept[i], "one that outlived its context's last reference");
        OK(clReleaseMemObject(kept[i]));
        wait_for_ends(5 + i);
    }
    OK(clReleaseCommandQueue(queue));
}

/* ---- reuse ----------------------------------------------------------------------------------- */

#define PARTS 64
#define AFTER 256 /* more than fit beside the parts, so that memory which came back is used */
#define PART_BYTES 65536u

/* Commands that a gate holds write to buffers that are released; what is made afterwards must not
 * be written to. */
static void reuse(int releases_queue) {
    static cl_uint words[PART_BYTES / 4];
    cl_context context = new_context();
    cl_command_queue first = new_queue(context);
    cl_mem parts[PARTS], after[AFTER];
    for (int i = 0; i < PARTS; i++)
        parts[i] = new_buffer(context, CL_MEM_READ_WRITE, PART_BYTES, NULL);
    cl_command_queue queue = new_queue(context); /* made after the buffers */
    cl_event gate = new_gate(context), last;
    cl_uint old = 0xDEAD, tag = 0xBEEF;
    OK(clEnqueueMarkerWithWaitList(queue, 1, &gate, NULL));
    for (int i = 0; i < PARTS; i++)
        OK(clEnqueueFillBuffer(queue, parts[i], &old, 4, 0, PART_BYTES, 0, NULL, NULL));
    OK(clEnqueueMarkerWithWaitList(queue, 0, NULL, &last));
    OK(clFlush(queue));
    if (releases_queue) OK(clReleaseCommandQueue(queue));
    for (int i = 0; i < PARTS; i++) OK(clReleaseMemObject(parts[i]));
    for (int i = 0; i < AFTER; i++) {
        after[i] = new_buffer(context, CL_MEM_READ_WRITE, PART_BYTES, NULL);
        OK(clEnqueueFillBuffer(first, after[i], &tag, 4, 0, PART_BYTES, 0, NULL, NULL));
        OK(clFinish(first));
    }
    OK(clSetUserEventStatus(gate, CL_COMPLETE));
    OK(clWaitForEvents(1, &last));
    int whole = 0;
    for (int i = 0; i < AFTER; i++) {
        OK(clEnqueueReadBuffer(first, after[i], CL_TRUE, 0, PART_BYTES, words, 0, NULL, NULL));
        int is_whole = 1;
        for (unsigned k = 0; k < PART_BYTES / 4; k++) is_whole &= words[k] == tag;
        whole += is_whole;
        OK(clReleaseMemObject(after[i]));
    }
    printf("%d of %d buffers are whole\n", whole, AFTER);
    CHECK(whole == AFTER);
    OK(clReleaseEvent(gate));
    OK(clReleaseEvent(last));
    if (!releases_queue) OK(clReleaseCommandQueue(queue));
    OK(clReleaseCommandQueue(first));
    OK(clReleaseContext(context));
}

/* ---- threads --------------------------------------------------------------------------------- */

typedef struct worker {
    cl_context context;
    cl_kernel kernel;
    pthread_t thread;
    unsigned number;
} worker;

static void *work(void *user) {
    const worker *w = user;
    cl_command_queue queue = new_queue(w->context);
    cl_int zeros[4] = {0, 0, 0, 0};
    static const size_t counts[] = {64, 1000, 300, 5000, 17};
    for (unsigned round = 0; round < 100; round++) {
        size_t count = counts[(round + w->number) % 5], bytes = count * sizeof(cl_int);
        cl_int host[5000];
        for (size_t i = 0; i < count; i++) host[i] = (cl_int)(w->number * 1000 + round);
        cl_mem a = new_buffer(w->context, CL_MEM_READ_ONLY | CL_MEM_COPY_HOST_PTR, bytes, host);
        cl_mem b = new_buffer(w->context, CL_MEM_READ_WRITE, bytes, NULL);
        cl_mem c = new_buffer(w->context, CL_MEM_COPY_HOST_PTR, sizeof zeros, zeros);
        run(queue, w->kernel, a, b, c, count);
        OK(clReleaseMemObject(a)); /* the kernel may still run */
        OK(clReleaseMemObject(c));
        OK(clEnqueueReadBuffer(queue, b, CL_TRUE, 0, bytes, host, 0, NULL, NULL));
        int is_right = 1;
        for (size_t i = 0; i < count; i++)
            is_right &= host[i] == (cl_int)(w->number * 1000 + round + i);
        CHECK(is_right);
        OK(clReleaseMemObject(b));
        if (round % 10 != 9) continue;
        OK(clReleaseCommandQueue(queue));
        queue = new_queue(w->context);
    }
    OK(clReleaseCommandQueue(queue));
    return NULL;
}

static void threads(unsigned count) {
    worker workers[64];
    cl_context context = new_context();
    for (unsigned i = 0; i < count; i++)
        workers[i] = (worker){.context = context, .kernel = build(context), .number = i};
    for (unsigned i = 0; i < count; i++)
        CHECK(pthread_create(&workers[i].thread, NULL, work, &workers[i]) == 0);
    for (unsigned i = 0; i < count; i++) CHECK(pthread_join(workers[i].thread, NULL) == 0);
    for (unsigned i = 0; i < count; i++) OK(clReleaseKernel(workers[i].kernel));
    OK(clReleaseContext(context));
    printf("%u threads\n", count);
}

/* ---- leak, limit, ends ----------------------------------------------------------------------- */

/* Not static, so that they have names in the dynamic symbol table. */
void leak_three(cl_context context);
void leak_three(cl_context context) {
    for (int i = 0; i < 3; i++) new_buffer(context, CL_MEM_READ_WRITE, 1000, NULL);
}
void leak_one(cl_context context);
void leak_one(cl_context context) {
    cl_mem buffer = new_buffer(context, CL_MEM_READ_WRITE, 77, NULL);
    OK(clRetainMemObject(buffer));
    OK(clReleaseMemObject(buffer));
}

static void limit(void) {
    cl_context context = new_context();
    cl_mem buffers[100];
    for (int again = 0; again < 2; again++) {
        int count = 0;
        cl_int code = CL_SUCCESS;
        while (count < 100 &&
               (buffers[count] = clCreateBuffer(context, CL_MEM_READ_WRITE, 1 << 20, NULL, &code)))
            count++;
        printf("%d buffers, then %d\n", count, code);
        for (int i = 0; i < count; i++) OK(clReleaseMemObject(buffers[i]));
    }
    const cl_image_format format = {CL_RGBA, CL_UNSIGNED_INT8};
    const cl_image_desc desc = {
        .image_type = CL_MEM_OBJECT_IMAGE2D, .image_width = 2048, .image_height = 2048};
    cl_int code = CL_SUCCESS;
    cl_mem image = clCreateImage(context, CL_MEM_READ_WRITE, &format, &desc, NULL, &code);
    printf("an image of 16 MiB: %s, %d\n", image ? "made" : "not made", code);
    if (image) OK(clReleaseMemObject(image));
    OK(clReleaseContext(context));
}

/* The test runs it above late.c, which tells ends at clFinish(). */
static void late(void) {
    cl_context context = new_context();
    cl_command_queue queue = new_queue(context);
    cl_mem kept = new_buffer(context, CL_MEM_READ_WRITE, 1000, NULL), before = NULL;
    for (int i = 0; i < 1000 && kept != before; i++) {
        before = kept;
        OK(clReleaseMemObject(kept));
        kept = new_buffer(context, CL_MEM_READ_WRITE, 2000, NULL);
    }
    printf("%s\n", kept == before ? "the same handle" : "no handle came back");
    OK(clFinish(queue));
    OK(clRetainMemObject(kept));
    OK(clReleaseMemObject(kept)); /* it is not released for good */
    OK(clReleaseMemObject(new_buffer(context, CL_MEM_READ_WRITE, 3000, NULL))); /* never told */
    OK(clReleaseCommandQueue(queue));
    OK(clReleaseContext(context));
}

/* The test also runs it above late.c, which gives a handle where it refuses, and writes late. */
static void refused(void) {
    cl_context context = new_context();
    cl_command_queue queue = new_queue(context);
    char found[5] = "";
    cl_mem buffer = new_buffer(context, CL_MEM_READ_WRITE | CL_MEM_COPY_HOST_PTR, 5, "here");
    OK(clEnqueueReadBuffer(queue, buffer, CL_TRUE, 0, 5, found, 0, NULL, NULL));
    CHECK(strcmp(found, "here") == 0);
    const cl_context_properties of_platform[] = {CL_CONTEXT_PLATFORM,
                                                 (cl_context_properties)platform, 0};
    const cl_buffer_region beyond = {1 << 20, 16};
    cl_int code = CL_SUCCESS;
    /* A bit that is no type: there is no such device. */
    (void)clCreateContextFromType(of_platform, (cl_device_type)1 << 20, NULL, NULL, &code);
    CHECK(code != CL_SUCCESS);
    (void)clCreateContextFromType(of_platform, (cl_device_type)1 << 20, NULL, NULL, NULL);
    (void)clCreateBuffer(context, CL_MEM_READ_WRITE, 0, NULL, &code);
    CHECK(code == CL_INVALID_BUFFER_SIZE);
    (void)clCreateBuffer(context, CL_MEM_READ_WRITE | CL_MEM_READ_ONLY, 64, NULL, &code);
    CHECK(code != CL_SUCCESS);
    (void)clCreateSubBuffer(buffer, CL_MEM_READ_WRITE, CL_BUFFER_CREATE_TYPE_REGION, &beyond,
                            &code);
    CHECK(code == CL_INVALID_VALUE);
    (void)clCreateCommandQueue(context, device, (cl_command_queue_properties)1 << 40, &code);
    CHECK(code != CL_SUCCESS);
    OK(clFinish(queue));
    OK(clReleaseMemObject(buffer));
    OK(clFinish(queue));
    OK(clReleaseCommandQueue(queue));
    OK(clReleaseContext(context));
    printf("one buffer\n");
}

/* ---- pointers -------------------------------------------------------------------------------- */

static void svm(cl_context context, cl_command_queue queue) {
    cl_device_svm_capabilities has = 0;
    clGetDeviceInfo(device, CL_DEVICE_SVM_CAPABILITIES, sizeof has, &has, NULL);
    if (!(has & CL_DEVICE_SVM_COARSE_GRAIN_BUFFER)) {
        printf("no SVM\n");
        return;
    }
    void *memory[3];
    for (size_t i = 0; i < 3; i++)
        CHECK((memory[i] = clSVMAlloc(context, CL_MEM_READ_WRITE, 1000 << i, 0)) != NULL);
    void *large = clSVMAlloc(context, CL_MEM_READ_WRITE, 1 << 20, 0);
    printf("1 MiB of SVM: %s\n", large ? "made" : "not made");
    clSVMFree(context, large);
    clSVMFree(context, memory[1]);
    OK(clEnqueueSVMFree(queue, 1, &memory[2], NULL, NULL, 0, NULL, NULL));
    OK(clFinish(queue)); /* the first one is left */
}

static void address(const char *name, void *function) {
    void *found = clGetExtensionFunctionAddressForPlatform(platform, name);
    memcpy(function, &found, sizeof found);
}

static void usm(cl_context context) {
    clHostMemAllocINTEL_fn host;
    clDeviceMemAllocINTEL_fn of_device;
    clSharedMemAllocINTEL_fn shared;
    clMemFreeINTEL_fn end, end_blocking;
    cl_int code[3];
    address("clHostMemAllocINTEL", &host);
    address("clDeviceMemAllocINTEL", &of_device);
    address("clSharedMemAllocINTEL", &shared);
    address("clMemFreeINTEL", &end);
    address("clMemBlockingFreeINTEL", &end_blocking);
    if (!host || !of_device || !shared || !end || !end_blocking) {
        printf("no USM\n");
        return;
    }
    void *a = host(context, NULL, 100, 0, &code[0]);
    void *b = of_device(context, device, NULL, 200, 0, &code[1]);
    void *c = shared(context, device, NULL, 400, 0, &code[2]);
    CHECK(a && b && c && !code[0] && !code[1] && !code[2]);
    void *large[3] = {host(context, NULL, 1 << 20, 0, &code[0]),
                      of_device(context, device, NULL, 1 << 20, 0, &code[1]),
                      shared(context, device, NULL, 1 << 20, 0, &code[2])};
    printf("1 MiB of USM: %d %d %d\n", code[0], code[1], code[2]);
    for (int i = 0; i < 3; i++)
        if (large[i]) OK(end(context, large[i]));
    OK(end(context, a));
    OK(end_blocking(context, b));
    OK(end(context, NULL)); /* the last one is left */
}

static void pointers(void) {
    cl_context context = new_context();
    cl_command_queue queue = new_queue(context);
    svm(context, queue);
    usm(context);
    OK(clReleaseCommandQueue(queue));
    OK(clReleaseContext(context));
}

static void parts(void) {
    const cl_device_partition_property equally[] = {CL_DEVICE_PARTITION_EQUALLY, 1, 0};
    cl_device_id sub[64];
    cl_uint count = 0;
    cl_int code = clCreateSubDevices(device, equally, 64, sub, &count);
    if (code || count < 2) {
        printf("no parts\n");
        return;
    }
    for (cl_uint devices = 1; devices <= 2; devices++) {
        cl_context context = clCreateContext(NULL, devices, sub, NULL, NULL, &code);
        OK(code);
        for (int i = 0; i < 3; i++) {
            cl_command_queue queue = clCreateCommandQueue(context, sub[devices - 1], 0, &code);
            OK(code);
            cl_mem buffer = new_buffer(context, CL_MEM_READ_WRITE, 100, NULL);
            const char seven = 7;
            char found = 0;
            OK(clEnqueueFillBuffer(queue, buffer, &seven, 1, 0, 100, 0, NULL, NULL));
            OK(clEnqueueReadBuffer(queue, buffer, CL_TRUE, 99, 1, &found, 0, NULL, NULL));
            CHECK(found == 7);
            OK(clReleaseMemObject(buffer));
            OK(clReleaseCommandQueue(queue));
        }
        OK(clReleaseContext(context));
    }
    for (cl_uint i = 0; i < count; i++) OK(clReleaseDevice(sub[i]));
    printf("two parts\n");
}

static void *ends(void *user) {
    (void)user;
    exit(failures != 0);
}

static void unusual(const char *how) {
    cl_context context = new_context();
    new_buffer(context, CL_MEM_READ_WRITE, 123, NULL);
    fflush(stdout);
    if (strcmp(how, "fork") == 0) {
        pid_t child = fork();
        if (!child) exit(0);
        int status = 1;
        CHECK(child > 0 && waitpid(child, &status, 0) == child && status == 0);
        new_buffer(context, CL_MEM_READ_WRITE, 321, NULL);
        return;
    }
    pthread_t thread;
    CHECK(pthread_create(&thread, NULL, ends, NULL) == 0);
    for (;;) {
        cl_mem buffer = new_buffer(context, CL_MEM_READ_WRITE, 100, NULL);
        clReleaseMemObject(buffer);
    }
}

int main(int count, char **words) {
    const char *what = count > 1 ? words[1] : "";
    open_device();
    if (strcmp(what, "same") == 0) {
        same(count > 2);
    } else if (strcmp(what, "reuse") == 0) {
        reuse(0);
        reuse(1);
    } else if (strcmp(what, "threads") == 0 && count > 2) {
        unsigned long number = strtoul(words[2], NULL, 10);
        threads(number > 64 ? 64 : (unsigned)number);
    } else if (strcmp(what, "leak") == 0) {
        cl_context context = new_context();
        leak_three(context);
        leak_one(context);
        OK(clReleaseMemObject(new_buffer(context, CL_MEM_READ_WRITE, 5000, NULL)));
        OK(clReleaseContext(context));
    } else if (strcmp(what, "limit") == 0) {
        limit();
    } else if (strcmp(what, "late") == 0) {
        late();
    } else if (strcmp(what, "refused") == 0) {
        refused();
    } else if (strcmp(what, "pointers") == 0) {
        pointers();
    } else if (strcmp(what, "parts") == 0) {
        parts();
    } else if (strcmp(what, "fork") == 0 || strcmp(what, "exit") == 0) {
        unusual(what);
    } else {
        printf(
            "usage: program same [images]|reuse|threads "
            "N|leak|limit|late|refused|pointers|parts|fork|exit\n");
        return 2;
    }
    if (failures) printf("%d failures\n", failures);
    return failures != 0;
}
