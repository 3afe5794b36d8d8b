/* The timeline of a context: events of its commands, and their times as a trace.
 *
 * Invariant: `count` commands have an event of their own, retained. While there is room each command that the context
 * enqueues has an event.
 *
 * Read first: include/clump/timeline.h, core.h. commands.c hands the commands over.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "clump/timeline.h"
#include "core/core.h"

#define COMMANDS_MOST (UINT32_C(1) << 24)
#define NAME_BYTES 64u
#define OF_LIBRARY "clumpi_"

typedef struct command {
    cl_event event;
    uint64_t bytes; /* of a transfer, else 0 */
    char name[NAME_BYTES];
} command;

struct clumpi_timeline {
    uint32_t capacity, count;
    uint64_t dropped;
    cl_ulong origin; /* ns of the first command's start; 0: none was written yet */
    command commands[];
};

static void forget(clump_context *c, clumpi_timeline *t) {
    for (uint32_t i = 0; i < t->count; i++) c->cl.ReleaseEvent(t->commands[i].event);
    t->count = 0;
    t->dropped = 0;
}

void clumpi_timeline_release(clump_context *c) {
    if (c->timeline) forget(c, c->timeline);
    clumpi_free(&c->allocator, c->timeline);
    c->timeline = NULL;
}

clump_status clumpi_timeline_add(clump_context *c, cl_kernel kernel, const char *what,
                                 uint64_t bytes, cl_event event) {
    clumpi_timeline *t = c->timeline;
    if (!t) return CLUMP_OK;
    if (!event || t->count == t->capacity) {
        t->dropped++;
        return CLUMP_OK;
    }
    char name[512]; /* OpenCL C has no longer ones */
    snprintf(name, sizeof name, "%s", what);
    cl_int code =
        kernel ? c->cl.GetKernelInfo(kernel, CL_KERNEL_FUNCTION_NAME, sizeof name, name, NULL)
               : CL_SUCCESS;
    if (code) return clumpi_fail_cl(&c->error, "clGetKernelInfo", code, "kernel %s", what);
    code = c->cl.RetainEvent(event);
    if (code) return clumpi_fail_cl(&c->error, "clRetainEvent", code, "%s, for the timeline", what);
    command *to = &t->commands[t->count++];
    *to = (command){.event = event, .bytes = bytes};
    snprintf(to->name, sizeof to->name, "%.63s", name);
    return CLUMP_OK;
}

int clumpi_timeline_has_room(const clump_context *c) {
    return c->timeline && c->timeline->count < c->timeline->capacity;
}

clump_status clump_timeline_record(clump_context *c, uint32_t capacity) {
    if (!c) return CLUMP_ERR_USAGE;
    if (capacity > COMMANDS_MOST)
        return clumpi_fail(&c->error, CLUMP_ERR_USAGE,
                           "clump_timeline_record: %u commands; at most %u can be recorded",
                           capacity, COMMANDS_MOST);
    if (capacity && !c->has_profiling)
        return clumpi_fail(&c->error, CLUMP_ERR_USAGE,
                           "clump_timeline_record: the context's queue does no profiling; create "
                           "it with CL_QUEUE_PROFILING_ENABLE");
    clumpi_timeline *t = NULL;
    if (capacity) {
        t = clumpi_alloc(&c->allocator, sizeof *t + capacity * sizeof *t->commands);
        if (!t)
            return clumpi_fail(&c->error, CLUMP_ERR_MEMORY,
                               "no host memory for a timeline of %u commands", capacity);
        *t = (clumpi_timeline){.capacity = capacity};
    }
    clumpi_timeline_release(c);
    c->timeline = t;
    return CLUMP_OK;
}

/* ---- The trace ------------------------------------------------------------------------------- */

/* The process has the number of none of its threads: Perfetto would call that one the main thread. */
#define PROCESS "100"
enum { THREAD_PROGRAM = 1, THREAD_LIBRARY, THREAD_TRANSFERS };

static int thread_of(const command *o) {
    if (o->bytes) return THREAD_TRANSFERS;
    return strncmp(o->name, OF_LIBRARY, sizeof OF_LIBRARY - 1) ? THREAD_PROGRAM : THREAD_LIBRARY;
}

static void append_meta(clumpi_text *text, const char *what, int thread, const char *name) {
    clumpi_text_append(
        text,
        "{\"name\":\"%s\",\"ph\":\"M\",\"pid\":" PROCESS ",\"tid\":%d,\"args\":{\"name\":", what,
        thread);
    clumpi_text_append_json(text, name);
    clumpi_text_append(text, "}},\n");
}

static clump_status append_command(clump_context *c, clumpi_timeline *t, const command *o,
                                   clumpi_text *text) {
    clumpi_times times;
    clump_status status = clumpi_times_of(c, o->event, o->name, &times);
    if (status) return status;
    if (!t->origin) t->origin = times.start;
    const uint64_t from = times.start > t->origin ? times.start - t->origin : 0,
                   ns = times.end > times.start ? times.end - times.start : 0;
    clumpi_text_append(text, ",\n{\"name\":");
    clumpi_text_append_json(text, o->name);
    clumpi_text_append(text,
                       ",\"ph\":\"X\",\"pid\":" PROCESS ",\"tid\":%d,\"ts\":%" PRIu64
                       ".%03u,\"dur\":%" PRIu64 ".%03u",
                       thread_of(o), from / 1000, (unsigned)(from % 1000), ns / 1000,
                       (unsigned)(ns % 1000)); /* a point in every locale */
    if (o->bytes) clumpi_text_append(text, ",\"args\":{\"bytes\":%" PRIu64 "}", o->bytes);
    clumpi_text_append(text, "}");
    return CLUMP_OK;
}

clump_status clump_timeline_write(clump_context *c, clump_write_fn write, void *user) {
    if (!c) return CLUMP_ERR_USAGE;
    clumpi_timeline *t = c->timeline;
    if (!write || !t)
        return clumpi_fail(&c->error, CLUMP_ERR_USAGE,
                           write ? "clump_timeline_write: nothing is being recorded; call "
                                   "clump_timeline_record() first"
                                 : "clump_timeline_write needs a function that takes the text");
    clump_status status = clumpi_finish(c);
    if (status) return status;
    clumpi_text text = {.allocator = &c->allocator};
    clumpi_text_append(&text,
                       "{\"displayTimeUnit\":\"ns\",\"otherData\":{\"dropped\":%" PRIu64
                       "},\"traceEvents\":[\n",
                       t->dropped);
    append_meta(&text, "process_name", 0, c->capabilities.device_name);
    append_meta(&text, "thread_name", THREAD_PROGRAM, "kernels of the program");
    append_meta(&text, "thread_name", THREAD_LIBRARY, "kernels of the library");
    append_meta(&text, "thread_name", THREAD_TRANSFERS, "transfers, fills and copies");
    clumpi_text_append(&text, "{\"name\":\"process_sort_index\",\"ph\":\"M\",\"pid\":" PROCESS
                              ",\"args\":{"
                              "\"sort_index\":1}}");
    const cl_ulong origin = t->origin;
    for (uint32_t i = 0; i < t->count && !status; i++)
        status = append_command(c, t, &t->commands[i], &text);
    clumpi_text_append(&text, "\n]}\n");
    if (!status && text.failed)
        status =
            clumpi_fail(&c->error, CLUMP_ERR_MEMORY, "no host memory for the text of a timeline");
    if (status) {
        t->origin = origin;
    } else {
        write(user, text.data, text.bytes);
        forget(c, t);
    }
    clumpi_free(&c->allocator, text.data);
    return status;
}
