/* Commands of a call in several phases. See timed.h. */
#include "heap/timed.h"

clump_status clumpi_timed_run(clump_heap *heap, clumpi_timed *t, uint32_t phase,
                              clumpi_kernel_id id, size_t groups, size_t local,
                              const clumpi_arg *args, uint32_t arg_count) {
    cl_event event = NULL;
    clump_sync sync = {.event = t->is_on ? &event : NULL};
    clump_status status =
        clumpi_run_on_heap(heap, id, groups * local, local, args, arg_count, &sync);
    t->launches += !status;
    if (!event) return status;
    if (t->count < CLUMPI_COMMANDS_MAX) {
        t->commands[t->count].event = event;
        t->commands[t->count++].phase = phase;
    } else {
        heap->context->cl.ReleaseEvent(event);
    }
    return status;
}

clump_status clumpi_timed_read(clump_context *c, clumpi_timed *t) {
    clump_status status = t->count ? clumpi_finish(c) : CLUMP_OK;
    for (uint32_t i = 0; i < t->count; i++) {
        cl_event event = t->commands[i].event;
        cl_ulong queued = 0, start = 0, end = 0;
        cl_int code = c->cl.GetEventProfilingInfo(event, CL_PROFILING_COMMAND_START, sizeof start,
                                                  &start, NULL);
        if (!code)
            code = c->cl.GetEventProfilingInfo(event, CL_PROFILING_COMMAND_END, sizeof end, &end,
                                               NULL);
        if (!code && t->note)
            code = c->cl.GetEventProfilingInfo(event, CL_PROFILING_COMMAND_QUEUED, sizeof queued,
                                               &queued, NULL);
        c->cl.ReleaseEvent(event);
        if (code && !status)
            status = clumpi_fail_cl(&c->error, "clGetEventProfilingInfo", code, "%s", t->what);
        if (!code) t->us[t->commands[i].phase] += (double)(end - start) * 1e-3;
        if (!code && t->note) t->note(t->with, t->commands[i].phase, queued, start, end);
    }
    t->count = 0;
    return status;
}
