/* Large pages for buffers on CPUs.
 *
 * A loop over one field of all objects touches a few lines of each page of 4 KiB, so on a CPU the
 * translation of addresses limits it. With pages of 2 MiB it takes half the time
 * (docs/measurements/allocation.md). Linux gives them to memory that asks for them before it is
 * used ("madvise" in /sys/kernel/mm/transparent_hugepage/enabled), and OpenCL owns the memory of
 * its buffers; so the buffer is mapped for the request.
 *
 * Read first: core.h.
 */
#define _DEFAULT_SOURCE /* madvise(). NOLINT(bugprone-reserved-identifier) */
#include "core/core.h"

#ifdef __linux__
#include <sys/mman.h>
#endif

#define LARGE_PAGE ((uint64_t)2 << 20)

clump_status clumpi_pages_ask(clump_context *c, cl_mem buffer, uint64_t bytes) {
#ifdef MADV_HUGEPAGE
    if (!c->capabilities.is_cpu || bytes < 2 * LARGE_PAGE) return CLUMP_OK;
    cl_int code = CL_SUCCESS;
    char *memory = c->cl.EnqueueMapBuffer(c->current->queue, buffer, CL_TRUE, CL_MAP_READ, 0, bytes,
                                          0, NULL, NULL, &code);
    if (code == CL_MAP_FAILURE) return CLUMP_OK; /* no memory of the host: small pages will do */
    if (code) return clumpi_fail_cl(&c->error, "clEnqueueMapBuffer", code, "a new heap");
    const uint64_t skipped = (LARGE_PAGE - (uintptr_t)memory % LARGE_PAGE) % LARGE_PAGE;
    /* A request that is refused changes nothing. */
    (void)madvise(memory + skipped, (bytes - skipped) / LARGE_PAGE * LARGE_PAGE, MADV_HUGEPAGE);
    code = c->cl.EnqueueUnmapMemObject(c->current->queue, buffer, memory, 0, NULL, NULL);
    if (code) return clumpi_fail_cl(&c->error, "clEnqueueUnmapMemObject", code, "a new heap");
#else
    (void)c, (void)buffer, (void)bytes;
#endif
    return CLUMP_OK;
}
