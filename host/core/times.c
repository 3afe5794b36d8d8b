/* Times of commands, as a device tells them by profiling, which may be wrong: an end before the
 * beginning, nothing at all, any number.
 *
 * Read first: core.h.
 */
#include "core/core.h"

/* Since when the host knows of the command: its clock and the device's may differ by a part and by
 * a moment. Else no command lasts so long. */
#define CLOCKS_PART 1.25
#define CLOCKS_MOMENT 1e6
#define LONGEST 8.64e13 /* a day */

int clumpi_times_read(const clump_cl_functions *cl, cl_event event, double since,
                      clumpi_times *times, cl_int *code) {
    cl_ulong queued = 0, start = 0, end = 0; /* some leave them as they are, and say CL_SUCCESS */
    *times = (clumpi_times){0, 0, 0, 0};
    cl_int failed =
        cl->GetEventProfilingInfo(event, CL_PROFILING_COMMAND_QUEUED, sizeof queued, &queued, NULL);
    if (!failed)
        failed = cl->GetEventProfilingInfo(event, CL_PROFILING_COMMAND_START, sizeof start, &start,
                                           NULL);
    if (!failed)
        failed = cl->GetEventProfilingInfo(event, CL_PROFILING_COMMAND_END, sizeof end, &end, NULL);
    if (code) *code = failed;
    const double most =
        since > 0 ? CLOCKS_PART * (clumpi_now_ns() - since) + CLOCKS_MOMENT : LONGEST;
    if (failed || !start || end < start || (double)(end - start) > most) return 0;
    *times = (clumpi_times){.start = start, .end = end, .are_known = 1};
    if (queued && queued <= start && (double)(end - queued) <= most) times->queued = queued;
    return 1;
}

clump_status clumpi_times_of(clump_context *c, cl_event event, const char *what, double since,
                             clumpi_times *times) {
    /* clFinish() is not enough: on an H200 the times of a command were not there yet after it,
     * once, with four threads that shared a cl_context (docs/portability.md). */
    cl_int code = c->cl.WaitForEvents(1, &event);
    if (code) return clumpi_fail_cl(&c->error, "clWaitForEvents", code, "%s", what);
    clumpi_times_read(&c->cl, event, since, times, &code);
    return code ? clumpi_fail_cl(&c->error, "clGetEventProfilingInfo", code, "%s", what) : CLUMP_OK;
}
