/* A heap and the kernels that run on it. See rig.h. */
#include "rig.h"

#include <inttypes.h>

#define LOCAL_SIZE 256

int bench_rig_fail(bench_rig *rig, const char *what, clump_status status) {
    return bench_error_clump(rig->error, what, rig->clump, status);
}

static int create_program(bench_rig *rig, const bench_rig_desc *desc) {
    const char *before[BENCH_RIG_FILES_MAX] = {NULL};
    size_t last = 0;
    for (; last + 1 < BENCH_RIG_FILES_MAX && desc->files[last + 1]; last++) {
        before[last] = desc->files[last];
    }
    bench_program_desc program = {.clump = rig->clump,
                                  .heap = rig->heap,
                                  .file = desc->files[last],
                                  .before = before,
                                  .options = desc->options,
                                  .tuning = &desc->tuning,
                                  .names = desc->kernels,
                                  .count = desc->kernel_count};
    return bench_program_create(&program, &rig->program, rig->kernels, rig->error);
}

int bench_rig_create(bench_rig *rig, const bench_rig_desc *desc) {
    bench_heap_desc heap = desc->heap;
    if (!heap.clump) heap.clump = desc->env->clump;
    *rig = (bench_rig){.env = desc->env,
                       .results = desc->results,
                       .error = &desc->results->error,
                       .clump = heap.clump,
                       .buffers = {.context = desc->env->context, .queue = desc->env->queue},
                       .local = desc->local ? desc->local : LOCAL_SIZE};
    return bench_heap_create(&heap, &rig->heap, rig->error) || create_program(rig, desc) ? -1 : 0;
}

void bench_rig_release(bench_rig *rig) {
    bench_buffers_release(&rig->buffers);
    for (size_t i = 0; i < BENCH_RIG_KERNELS_MAX; i++) clump_kernel_destroy(rig->kernels[i]);
    clump_program_destroy(rig->program);
    clump_heap_destroy(rig->heap);
}

int bench_rig_arg(bench_rig *rig, size_t kernel, uint32_t index, size_t bytes, const void *value) {
    clump_status status = clump_kernel_set_arg(rig->kernels[kernel], index, bytes, value);
    return status == CLUMP_OK ? 0 : bench_rig_fail(rig, "setting an argument", status);
}

int bench_rig_do_new(bench_rig *rig, size_t kernel, const char *class_name, uint64_t count) {
    uint64_t made = 0;
    clump_status status =
        clump_heap_do_new(rig->heap, rig->kernels[kernel], class_name, count, &made, NULL);
    if (status != CLUMP_OK) return bench_rig_fail(rig, "making the objects", status);
    if (made == count) return 0;
    return bench_error_set(rig->error, "the heap has room for %" PRIu64 " of %" PRIu64 " objects",
                           made, count);
}

/* From the end of what was enqueued before to the end of a launch: the launches that make its list
 * and reserve what it asks for count, too. */
static int mark(bench_rig *rig, cl_event *before) {
    cl_int code = clEnqueueMarkerWithWaitList(rig->env->queue, 0, NULL, before);
    return code == CL_SUCCESS ? 0 : bench_error_cl(rig->error, "clEnqueueMarkerWithWaitList", code);
}

static int take(bench_rig *rig, cl_event before, cl_event event, double *us) {
    bench_span from, to;
    int result = bench_event_take(event, &to, rig->error);
    if (bench_event_take(before, &from, rig->error)) result = -1;
    if (!result) *us = bench_span_us_after(from, to);
    return result;
}

static int launch_all(bench_rig *rig, const bench_rig_row *row, cl_event *event) {
    size_t global = (size_t)((row->items + rig->local - 1) / rig->local * rig->local);
    clump_sync last = {.event = event};
    for (uint32_t i = 0; i < row->launches; i++) {
        if (row->prepare && row->prepare(row->self, i)) return -1;
        clump_status status = clump_heap_launch(rig->heap, rig->kernels[row->kernel], global,
                                                rig->local, i + 1 == row->launches ? &last : NULL);
        if (status != CLUMP_OK) return bench_rig_fail(rig, "a launch", status);
    }
    return 0;
}

int bench_rig_launch_row(bench_rig *rig, const bench_rig_row *row, double *us) {
    cl_event before = NULL, event = NULL;
    if (mark(rig, &before)) return -1;
    if (!launch_all(rig, row, &event)) return take(rig, before, event, us);
    clReleaseEvent(before);
    return -1;
}

int bench_rig_launch(bench_rig *rig, size_t kernel, uint64_t items, double *us) {
    bench_rig_row one = {.kernel = kernel, .items = items, .launches = 1};
    return bench_rig_launch_row(rig, &one, us);
}

int bench_rig_do_alls(bench_rig *rig, clump_kernel *const *kernels, size_t count, double *us) {
    cl_event before = NULL, event = NULL;
    clump_sync last = {.event = &event};
    clump_status status = CLUMP_OK;
    if (mark(rig, &before)) return -1;
    for (size_t i = 0; i < count && status == CLUMP_OK; i++) {
        status = clump_heap_do_all(rig->heap, kernels[i], i + 1 == count ? &last : NULL);
    }
    if (status == CLUMP_OK) return take(rig, before, event, us);
    clReleaseEvent(before);
    return bench_rig_fail(rig, "a do-all", status);
}

int bench_rig_do_all(bench_rig *rig, size_t kernel, double *us) {
    return bench_rig_do_alls(rig, &rig->kernels[kernel], 1, us);
}

int bench_rig_verify(bench_rig *rig, uint64_t nulls) {
    clump_device_report report = {.size = sizeof report};
    clump_status status = clump_heap_take_errors(rig->heap, &report);
    if (status != CLUMP_OK && status != CLUMP_ERR_DEVICE) {
        return bench_rig_fail(rig, "the fetch of errors", status);
    }
    for (int i = 0; i < CLUMP_DEVICE_ERROR_COUNT; i++) {
        uint32_t expected = i == CLUMP_DEVICE_OUT_OF_MEMORY ? (uint32_t)nulls : 0;
        if (report.errors[i].count != expected) {
            bench_check(rig->results, 0, "kernels should report %u events of kind %d: %.300s",
                        expected, i,
                        status ? clump_context_get_error(rig->clump)->message : "they report none");
        }
    }
    status = clump_heap_check(rig->heap);
    if (status == CLUMP_ERR_CORRUPT) {
        bench_check(rig->results, 0, "%.400s", clump_context_get_error(rig->clump)->message);
        return 0;
    }
    return status == CLUMP_OK ? 0 : bench_rig_fail(rig, "the heap check", status);
}

int bench_rig_stats(bench_rig *rig, clump_heap_stats *stats) {
    clump_status status = clump_heap_read_stats(rig->heap, stats, NULL, 0);
    return status == CLUMP_OK ? 0 : bench_rig_fail(rig, "the statistics", status);
}

int bench_rig_buffer(bench_rig *rig, size_t bytes, cl_mem *buffer) {
    return bench_buffer_make(&rig->buffers, bytes, buffer, rig->error);
}

int bench_rig_write(bench_rig *rig, cl_mem buffer, size_t bytes, const void *values) {
    return values ? bench_buffer_write(&rig->buffers, buffer, bytes, values, rig->error)
                  : bench_buffer_clear(&rig->buffers, buffer, bytes, rig->error);
}

int bench_rig_read(bench_rig *rig, cl_mem buffer, size_t bytes, void *values) {
    return bench_buffer_read(&rig->buffers, buffer, 0, bytes, values, rig->error);
}
