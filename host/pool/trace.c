/* What a call on a pool leaves behind: its error, a line of the trace, its time.
 *
 * Read first: pool.h.
 */
#include "pool/pool.h"

#include "core/timeline.h"

#include <stdarg.h>
#include <stdio.h>

static const clump_error no_pool = {
    .status = CLUMP_ERR_USAGE,
    .message = "the pool is NULL, but the call needs it",
};

void clumpi_trace(clump_pool *p, const char *format, ...) {
    if (!p->desc.trace || p->trace_failed) return;
    char line[96];
    va_list args;
    va_start(args, format);
    int bytes = vsnprintf(line, sizeof line, format, args);
    va_end(args);
    if (bytes > 0) p->trace_failed = p->desc.trace(p->desc.user, line, (size_t)bytes);
}

clump_status clumpi_trace_status(clump_pool *p) {
    return p->trace_failed
               ? clumpi_fail(&p->error, CLUMP_ERR_IO,
                             "the trace is incomplete: the function that receives it returned %d",
                             p->trace_failed)
               : CLUMP_OK;
}

double clumpi_pool_time(const clump_pool *p) {
    return clumpi_timeline_is_on(p->context) ? clumpi_now_ns() : 0;
}

void clumpi_pool_timed(clump_pool *p, double began, const char *what, uint64_t bytes) {
    if (!(began > 0)) return;
    clumpi_timeline_entry entry = {.kind = CLUMPI_TIMELINE_POOL,
                                   .pool = p->number,
                                   .from = began > p->call_end ? began : p->call_end,
                                   .to = clumpi_now_ns(),
                                   .args = {{"bytes", bytes}}};
    snprintf(entry.name, sizeof entry.name, "%s", what);
    p->call_end = entry.to;
    clumpi_timeline_pool(p->context, p->name, &entry);
}

const clump_error *clump_pool_get_error(clump_pool *pool, clump_error *copy) {
    if (!copy) return NULL;
    clump_pool *p = clumpi_pool_enter(pool);
    *copy = p ? p->error : no_pool;
    if (p) clumpi_pool_leave(p);
    return copy;
}
