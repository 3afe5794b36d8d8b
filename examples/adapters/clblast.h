/* CLBlast with temporary memory from a pool. Copy this file, or parts of it.
 *
 * CLBlast's routines for matrices make a buffer at each call and release it at the end. The
 * function below asks for the size of that buffer, allocates it from a pool and releases it at
 * once. The pool reuses its region when the commands of the queue are done. Call any routine of
 * CLBlast that has `...WithTempBuffer` in the same way.
 */
#ifndef CLUMP_ADAPTER_CLBLAST_H
#define CLUMP_ADAPTER_CLBLAST_H

#include <clblast_c.h>
#include <clump/clump.h>
#include <clump/pool.h>

/* As CLBlastSgemm(), on one of the queues of the pool's context. Returns CLBlast's code, or
 * CLBlastTempBufferAllocFailure if the pool has no room. clump_pool_get_error() has the reason. */
static inline CLBlastStatusCode clump_clblast_sgemm(
    clump_pool *pool, CLBlastLayout layout, CLBlastTranspose a_transpose,
    CLBlastTranspose b_transpose, size_t m, size_t n, size_t k, float alpha, cl_mem a,
    size_t a_offset, size_t a_ld, cl_mem b, size_t b_offset, size_t b_ld, float beta, cl_mem c,
    size_t c_offset, size_t c_ld, cl_command_queue *queue, cl_event *event) {
    size_t bytes = 0;
    cl_mem temporary = NULL;
    CLBlastStatusCode code =
        CLBlastSGemmTempBufferSize(layout, a_transpose, b_transpose, m, n, k, a_offset, a_ld,
                                   b_offset, b_ld, c_offset, c_ld, queue, &bytes);
    if (code != CLBlastSuccess) return code;
    if (bytes) {
        clump_allocation_desc desc = {.size = sizeof desc};
        desc.bytes = bytes;
        desc.name = "CLBlast";
        if (clump_pool_create_buffer(pool, &desc, 1, queue, &temporary))
            return CLBlastTempBufferAllocFailure;
    }
    code = CLBlastSgemmWithTempBuffer(layout, a_transpose, b_transpose, m, n, k, alpha, a, a_offset,
                                      a_ld, b, b_offset, b_ld, beta, c, c_offset, c_ld, queue,
                                      event, temporary);
    if (temporary) clReleaseMemObject(temporary);
    return code;
}

#endif
