/* See cl_order.h. A set has a bit for each command: for those that are done when the command that
 * it belongs to begins, and for itself. */
#include "cl_order.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    COMMANDS = 6144,
    WORDS = COMMANDS / 64,
    QUEUES = 256,
    OBJECTS = 16384,
    ARGS = 24,
    NONE = -1
};

typedef uint64_t set[WORDS];

typedef struct known {
    const void *object;
    int command;    /* of an event: that it is of; of a buffer: that used it last */
    int args[ARGS]; /* of a kernel: numbers of buffers */
    int is_kernel;
} known;

static struct {
    set *before; /* by command */
    set *named;  /* likewise: those that its wait list names, and so on from there */
    const char *names[COMMANDS];
    char kernels[COMMANDS][64];
    int queue_of[COMMANDS];
    set host;            /* commands that the host knows to be done */
    set all[QUEUES];     /* commands of a queue */
    int last[QUEUES];    /* of a queue in order: its last command */
    int barrier[QUEUES]; /* of a queue: its last barrier */
    cl_command_queue queues[QUEUES];
    int queue_count, count;
    known *objects;
    int object_count;
    uint32_t crossings;
    char complaint[256];
} o;

void cl_order_begin(void) {
    if (!o.before) o.before = malloc(COMMANDS * sizeof *o.before);
    if (!o.objects) o.objects = malloc(OBJECTS * sizeof *o.objects);
    if (!o.named) o.named = malloc(COMMANDS * sizeof *o.named);
    if (!o.before || !o.named || !o.objects) abort();
    /* Buffers and kernels live on; nobody uses them. Events that are waited for are of commands
     * that are done. */
    for (int i = 0; i < o.object_count; i++) o.objects[i].command = NONE;
    memset(o.host, 0, sizeof o.host);
    memset(o.all, 0, sizeof o.all);
    o.queue_count = o.count = 0;
    o.crossings = 0;
    o.complaint[0] = 0;
}

const char *cl_order_complaint(void) {
    return o.complaint[0] ? o.complaint : NULL;
}

uint32_t cl_order_crossings(void) {
    return o.crossings;
}

uint32_t cl_order_commands(void) {
    return (uint32_t)o.count;
}

/* ---- Sets and objects ------------------------------------------------------------------------ */

static void join(uint64_t *to, const uint64_t *from) {
    for (int i = 0; i < WORDS; i++) to[i] |= from[i];
}

static int has(const uint64_t *s, int command) {
    return (int)(s[command / 64] >> (command % 64) & 1);
}

static int find(const void *object) {
    for (int i = o.object_count; i-- > 0;)
        if (o.objects[i].object == object) return i;
    return NONE;
}

/* The object is a new one, though another may have been at that address. */
static known *put(const void *object) {
    int i = find(object);
    if (i == NONE && o.object_count == OBJECTS) {
        fprintf(stderr, "cl_order: too many objects\n");
        abort();
    }
    if (i == NONE) i = o.object_count++;
    o.objects[i] = (known){.object = object, .command = NONE};
    return &o.objects[i];
}

static int queue_number(cl_command_queue queue) {
    for (int i = 0; i < o.queue_count; i++)
        if (o.queues[i] == queue) return i;
    if (o.queue_count == QUEUES) abort();
    cl_command_queue_properties properties = 0;
    clGetCommandQueueInfo(queue, CL_QUEUE_PROPERTIES, sizeof properties, &properties, NULL);
    o.queues[o.queue_count] = queue;
    o.barrier[o.queue_count] = NONE;
    o.last[o.queue_count] = properties & CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE ? -2 : NONE;
    return o.queue_count++;
}

/* ---- Commands -------------------------------------------------------------------------------- */

/* A command was enqueued. is_marker: without a wait list it waits for all of its queue. */
static int add(const char *name, cl_command_queue queue, cl_uint waits, const cl_event *list,
               const cl_event *event, int is_marker) {
    const int q = queue_number(queue), me = o.count++;
    if (o.count > COMMANDS) {
        fprintf(stderr, "cl_order: too many commands: call cl_order_begin() more often\n");
        abort();
    }
    uint64_t *before = o.before[me], *named = o.named[me];
    memcpy(before, o.host, sizeof o.host);
    memset(named, 0, sizeof o.host);
    o.names[me] = name;
    o.queue_of[me] = q;
    if (o.last[q] >= 0) join(before, o.before[o.last[q]]);
    if (o.barrier[q] != NONE) join(before, o.before[o.barrier[q]]);
    if (is_marker && !waits) join(before, o.all[q]);
    for (cl_uint i = 0; i < waits; i++) {
        const int known_at = find(list[i]);
        const int command = known_at == NONE ? NONE : o.objects[known_at].command;
        if (command == NONE) continue;
        o.crossings += o.queue_of[command] != q;
        join(before, o.before[command]);
        join(named, o.named[command]);
    }
    named[me / 64] |= UINT64_C(1) << (me % 64);
    before[me / 64] |= UINT64_C(1) << (me % 64);
    o.all[q][me / 64] |= UINT64_C(1) << (me % 64);
    if (o.last[q] != -2) o.last[q] = me;
    if (event) put(*event)->command = me;
    return me;
}

static void use(int command, int buffer) {
    if (buffer == NONE) return;
    known *b = &o.objects[buffer];
    if (b->command != NONE && !has(o.before[command], b->command) && !o.complaint[0])
        snprintf(
            o.complaint, sizeof o.complaint,
            "command %d, %s on queue %d, does not come after command %d, %s on queue %d, which "
            "uses the same buffer",
            command, o.names[command], o.queue_of[command], b->command, o.names[b->command],
            o.queue_of[b->command]);
    b->command = command;
}

static void host_knows(int command) {
    join(o.host, o.before[command]);
}

/* ---- Questions ------------------------------------------------------------------------------- */

static int command_of(cl_event event) {
    const int at = find(event);
    return at == NONE ? NONE : o.objects[at].command;
}

void cl_order_gate(cl_event event) {
    add("a user event", NULL, 0, NULL, &event, 0);
}

const char *cl_order_not_after(cl_event event, uint32_t first) {
    const int command = command_of(event);
    for (int i = (int)first; i < o.count; i++)
        if (command == NONE || !has(o.before[i], command)) return o.names[i];
    return NULL;
}

const char *cl_order_not_before(cl_event event, uint32_t first) {
    const int command = command_of(event);
    if (command == NONE) return "no command has this event";
    for (int i = (int)first; i < o.count; i++)
        if (!has(o.before[command], i) && !has(o.host, i)) return o.names[i];
    return NULL;
}

int cl_order_fails_with(cl_event event, cl_event other) {
    const int command = command_of(event), of = command_of(other);
    return command != NONE && of != NONE && has(o.named[command], of);
}

/* ---- Entry points ---------------------------------------------------------------------------- */

static cl_mem CL_API_CALL create_buffer(cl_context context, cl_mem_flags flags, size_t bytes,
                                        void *data, cl_int *code) {
    cl_mem made = clCreateBuffer(context, flags, bytes, data, code);
    if (made) put(made);
    return made;
}

static cl_mem CL_API_CALL create_sub_buffer(cl_mem whole, cl_mem_flags flags,
                                            cl_buffer_create_type type, const void *info,
                                            cl_int *code) {
    cl_mem made = clCreateSubBuffer(whole, flags, type, info, code);
    if (made) put(made);
    return made;
}

static cl_kernel CL_API_CALL create_kernel(cl_program program, const char *name, cl_int *code) {
    cl_kernel made = clCreateKernel(program, name, code);
    if (!made) return made;
    known *k = put(made);
    k->is_kernel = 1;
    for (int i = 0; i < ARGS; i++) k->args[i] = NONE;
    return made;
}

static cl_int CL_API_CALL set_arg(cl_kernel kernel, cl_uint index, size_t bytes,
                                  const void *value) {
    const int k = find(kernel);
    if (k != NONE && index < ARGS) {
        const void *object = NULL;
        if (bytes == sizeof object && value) memcpy(&object, value, sizeof object);
        o.objects[k].args[index] = object ? find(object) : NONE;
    }
    return clSetKernelArg(kernel, index, bytes, value);
}

static cl_int CL_API_CALL enqueue_kernel(cl_command_queue queue, cl_kernel kernel, cl_uint dims,
                                         const size_t *offset, const size_t *global,
                                         const size_t *local, cl_uint waits, const cl_event *list,
                                         cl_event *event) {
    cl_int code =
        clEnqueueNDRangeKernel(queue, kernel, dims, offset, global, local, waits, list, event);
    if (code) return code;
    const int me = add("a kernel", queue, waits, list, event, 0), k = find(kernel);
    clGetKernelInfo(kernel, CL_KERNEL_FUNCTION_NAME, sizeof o.kernels[me], o.kernels[me], NULL);
    if (o.kernels[me][0]) o.names[me] = o.kernels[me];
    for (int i = 0; k != NONE && i < ARGS; i++) use(me, o.objects[k].args[i]);
    return code;
}

static cl_int CL_API_CALL enqueue_read(cl_command_queue queue, cl_mem buffer, cl_bool blocks,
                                       size_t at, size_t bytes, void *data, cl_uint waits,
                                       const cl_event *list, cl_event *event) {
    cl_int code = clEnqueueReadBuffer(queue, buffer, blocks, at, bytes, data, waits, list, event);
    if (code) return code;
    const int me = add("a read", queue, waits, list, event, 0);
    use(me, find(buffer));
    if (blocks) host_knows(me);
    return code;
}

static cl_int CL_API_CALL enqueue_write(cl_command_queue queue, cl_mem buffer, cl_bool blocks,
                                        size_t at, size_t bytes, const void *data, cl_uint waits,
                                        const cl_event *list, cl_event *event) {
    cl_int code = clEnqueueWriteBuffer(queue, buffer, blocks, at, bytes, data, waits, list, event);
    if (code) return code;
    const int me = add("a write", queue, waits, list, event, 0);
    use(me, find(buffer));
    if (blocks) host_knows(me);
    return code;
}

static cl_int CL_API_CALL enqueue_fill(cl_command_queue queue, cl_mem buffer, const void *pattern,
                                       size_t size, size_t at, size_t bytes, cl_uint waits,
                                       const cl_event *list, cl_event *event) {
    cl_int code = clEnqueueFillBuffer(queue, buffer, pattern, size, at, bytes, waits, list, event);
    if (!code) use(add("a fill", queue, waits, list, event, 0), find(buffer));
    return code;
}

static cl_int CL_API_CALL enqueue_copy(cl_command_queue queue, cl_mem from, cl_mem to,
                                       size_t from_at, size_t to_at, size_t bytes, cl_uint waits,
                                       const cl_event *list, cl_event *event) {
    cl_int code = clEnqueueCopyBuffer(queue, from, to, from_at, to_at, bytes, waits, list, event);
    if (code) return code;
    const int me = add("a copy", queue, waits, list, event, 0);
    use(me, find(from));
    use(me, find(to));
    return code;
}

static cl_int CL_API_CALL enqueue_unmap(cl_command_queue queue, cl_mem buffer, void *memory,
                                        cl_uint waits, const cl_event *list, cl_event *event) {
    cl_int code = clEnqueueUnmapMemObject(queue, buffer, memory, waits, list, event);
    if (!code) use(add("an unmapping", queue, waits, list, event, 0), find(buffer));
    return code;
}

static cl_int CL_API_CALL enqueue_marker(cl_command_queue queue, cl_uint waits,
                                         const cl_event *list, cl_event *event) {
    cl_int code = clEnqueueMarkerWithWaitList(queue, waits, list, event);
    if (!code) add("a marker", queue, waits, list, event, 1);
    return code;
}

cl_int CL_API_CALL cl_order_barrier(cl_command_queue queue, cl_uint waits, const cl_event *list,
                                    cl_event *event) {
    cl_int code = clEnqueueBarrierWithWaitList(queue, waits, list, event);
    if (code) return code;
    const int me = add("a barrier", queue, waits, list, event, 1);
    o.barrier[o.queue_of[me]] = me;
    return code;
}

static cl_int CL_API_CALL wait_for_events(cl_uint count, const cl_event *list) {
    cl_int code = clWaitForEvents(count, list);
    for (cl_uint i = 0; !code && i < count; i++) {
        const int at = find(list[i]);
        if (at != NONE && o.objects[at].command != NONE) host_knows(o.objects[at].command);
    }
    return code;
}

static cl_int CL_API_CALL finish(cl_command_queue queue) {
    cl_int code = clFinish(queue);
    const int q = queue_number(queue);
    for (int i = 0; !code && i < o.count; i++)
        if (o.queue_of[i] == q) host_knows(i);
    return code;
}

/* A new one, though another may have been at that address. */
static cl_command_queue CL_API_CALL create_queue(cl_context context, cl_device_id device,
                                                 cl_command_queue_properties properties,
                                                 cl_int *code) {
    cl_command_queue queue = clCreateCommandQueue(context, device, properties, code);
    for (int i = 0; queue && i < o.queue_count; i++)
        if (o.queues[i] == queue) o.queues[i] = NULL;
    return queue;
}

const clump_cl_functions cl_order_functions = {.size = sizeof cl_order_functions,
                                               .CreateCommandQueue = create_queue,
                                               .CreateBuffer = create_buffer,
                                               .CreateSubBuffer = create_sub_buffer,
                                               .CreateKernel = create_kernel,
                                               .SetKernelArg = set_arg,
                                               .EnqueueNDRangeKernel = enqueue_kernel,
                                               .EnqueueReadBuffer = enqueue_read,
                                               .EnqueueWriteBuffer = enqueue_write,
                                               .EnqueueFillBuffer = enqueue_fill,
                                               .EnqueueCopyBuffer = enqueue_copy,
                                               .EnqueueUnmapMemObject = enqueue_unmap,
                                               .EnqueueMarkerWithWaitList = enqueue_marker,
                                               .WaitForEvents = wait_for_events,
                                               .Finish = finish};
