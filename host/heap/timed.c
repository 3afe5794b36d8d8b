/* Commands of a call in several phases. See timed.h. */
#include "heap/timed.h"
#include "heap/heap.h"

clump_status clumpi_timed_run(clump_heap *heap, clumpi_timed *t, uint32_t phase,
                              clumpi_kernel_id id, size_t groups, size_t local,
                              const clumpi_arg *args, uint32_t arg_count) {
    cl_event event = NULL;
    const double since = t->is_on ? clumpi_now_ns() : 0;
    clump_sync sync = {.event = t->is_on ? &event : NULL};
    clump_status status =
        clumpi_run_on_heap(heap, id, groups * local, local, args, arg_count, &sync);
    t->launches += !status;
    if (!event) return status;
    if (t->count < CLUMPI_COMMANDS_MAX) {
        t->commands[t->count].event = event;
        t->commands[t->count].since = since;
        t->commands[t->count++].phase = phase;
    } else {
        heap->context->cl.ReleaseEvent(event);
    }
    return status;
}

clump_status clumpi_timed_read(clump_context *c, clumpi_timed *t) {
    clump_status status = t->count ? clumpi_finish(c) : CLUMP_OK;
    for (uint32_t i = 0; i < t->count; i++) {
        clumpi_times times = {0, 0, 0, 0};
        if (!status)
            status =
                clumpi_times_of(c, t->commands[i].event, t->what, t->commands[i].since, &times);
        c->cl.ReleaseEvent(t->commands[i].event);
        if (status) continue;
        t->us[t->commands[i].phase] += (double)(times.end - times.start) * 1e-3;
        t->unknown += !times.are_known;
        if (t->note) t->note(t->with, t->commands[i].phase, &times);
    }
    t->count = 0;
    return status;
}
