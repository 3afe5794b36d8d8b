/* Files of sampled objects. Read first: sample.h. */
#include "sample.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench/harness/vtk.h"
#include "job.h"

#define ROW ((uint64_t)16) /* bytes: of an object, and before the first */
enum { PLACES, IDENTITIES, STATES, ARRAYS };

struct mpi_sample {
    const char *prefix, *name;                                   /* with and without folders */
    uint32_t rank, size, width_bits, stride, first, step, count; /* of samples that were begun */
    uint64_t most, bytes;                                        /* of this rank's files */
    double waits_s;
    cl_command_queue queue; /* of the thread */
    cl_mem buffer, pinned;  /* as large: the driver does not stop the steps to copy into it */
    uint32_t *rows;         /* pinned, mapped: 4 words of the number, and 4 of each object */
    cl_event made;
    mpi_job job;
};

static const bench_vtk_array arrays_of_points[ARRAYS] = {{"Points", BENCH_VTK_FLOAT, 3, NULL},
                                                         {"identity", BENCH_VTK_UINT64, 1, NULL},
                                                         {"state", BENCH_VTK_UINT8, 1, NULL}};

/* ---- What the thread does -------------------------------------------------------------------- */

static int name_path(char path[4096], bench_error *error, const char *prefix, const char *end) {
    return snprintf(path, 4096, "%s%s", prefix, end) < 4096
               ? 0
               : bench_error_set(error, "%s: the path is too long", prefix);
}

/* The files that name the last step. */
static int write_names(const mpi_sample *s, uint32_t step, bench_error *error) {
    char path[4096], stem[4096], end[32];
    snprintf(end, sizeof end, "-%u", step);
    if (name_path(stem, error, s->name, end)) return -1;
    snprintf(end, sizeof end, "-%u.pvtp", step);
    return name_path(path, error, s->prefix, end) ||
                   bench_vtk_write_pieces(path, stem, s->size, arrays_of_points, ARRAYS, error) ||
                   name_path(path, error, s->prefix, ".pvd") ||
                   bench_vtk_write_series(path, s->name, s->first, s->stride, step, error)
               ? -1
               : 0;
}

static int write_rows(mpi_sample *s, const uint32_t *rows, uint64_t count, void *const *values,
                      bench_error *error) {
    float *places = values[PLACES];
    uint64_t *identities = values[IDENTITIES];
    uint8_t *states = values[STATES];
    bench_vtk_array arrays[ARRAYS];
    char path[4096], end[32];
    for (uint64_t i = 0; i < count; i++) {
        const uint32_t *row = rows + 4 * i;
        places[3 * i] = (float)(row[0] & ((UINT32_C(1) << s->width_bits) - 1));
        places[3 * i + 1] = (float)(row[0] >> s->width_bits);
        places[3 * i + 2] = 0;
        identities[i] = row[1] | (uint64_t)row[2] << 32;
        states[i] = (uint8_t)row[3];
    }
    memcpy(arrays, arrays_of_points, sizeof arrays);
    for (int i = 0; i < ARRAYS; i++) arrays[i].values = values[i];
    snprintf(end, sizeof end, "-%u-%u.vtp", s->step, s->rank);
    return name_path(path, error, s->prefix, end) ||
                   bench_vtk_write_points(path, count, arrays, ARRAYS, error)
               ? -1
               : 0;
}

static int read_and_write(mpi_sample *s, uint64_t count, bench_error *error) {
    void *values[ARRAYS] = {malloc(count * 3 * sizeof(float) + 1),
                            malloc(count * sizeof(uint64_t) + 1), malloc(count + 1)};
    int failed = values[PLACES] && values[IDENTITIES] && values[STATES]
                     ? 0
                     : bench_error_set(error, "host memory ran out");
    if (!failed && count) {
        const cl_int code = clEnqueueReadBuffer(s->queue, s->buffer, CL_TRUE, ROW, count * ROW,
                                                s->rows + 4, 0, NULL, NULL);
        if (code) failed = bench_error_cl(error, "clEnqueueReadBuffer", code);
    }
    if (!failed) failed = write_rows(s, s->rows + 4, count, values, error);
    for (int i = 0; i < ARRAYS; i++) free(values[i]);
    return failed;
}

static int write_files(void *of, bench_error *error) {
    mpi_sample *s = of;
    if (!s->rank && s->count > 1 && write_names(s, s->step - s->stride, error)) return -1;
    const cl_int code = clEnqueueReadBuffer(s->queue, s->buffer, CL_TRUE, 0, sizeof(cl_uint),
                                            s->rows, 1, &s->made, NULL);
    if (code) return bench_error_cl(error, "clEnqueueReadBuffer", code);
    const cl_uint count = s->rows[0];
    if (count > s->most)
        return bench_error_set(error,
                               "the sample of step %u has %u agents, and its buffer has room for "
                               "%llu: a larger sample=K takes fewer",
                               s->step, count, (unsigned long long)s->most);
    s->bytes += count * ROW;
    return read_and_write(s, count, error);
}

/* ---- What the rank does ---------------------------------------------------------------------- */

int mpi_sample_create(mpi_run *run, uint64_t most, uint32_t width_bits, uint32_t stride,
                      mpi_sample **sample) {
    mpi_sample *s = *sample = calloc(1, sizeof *s);
    cl_int code;
    if (!s) return bench_error_set(&run->error, "host memory ran out");
    if (!run->file || !*run->file) return bench_error_set(&run->error, "vtk=N needs file=PREFIX");
    const char *slash = strrchr(run->file, '/');
    s->prefix = run->file;
    s->name = slash ? slash + 1 : run->file;
    s->rank = (uint32_t)run->rank;
    s->size = (uint32_t)run->size;
    s->width_bits = width_bits;
    s->stride = stride;
    s->most = most;
    s->job.work = write_files;
    s->job.of = s;
    s->queue = clCreateCommandQueue(run->cl, run->device, 0, &code);
    if (code) return mpi_fail_cl(run, "clCreateCommandQueue", code);
    s->pinned = clCreateBuffer(run->cl, CL_MEM_READ_WRITE | CL_MEM_ALLOC_HOST_PTR, (most + 1) * ROW,
                               NULL, &code);
    if (code) return mpi_fail_cl(run, "clCreateBuffer", code);
    s->rows = clEnqueueMapBuffer(s->queue, s->pinned, CL_TRUE, CL_MAP_READ | CL_MAP_WRITE, 0,
                                 (most + 1) * ROW, 0, NULL, NULL, &code);
    return code ? mpi_fail_cl(run, "clEnqueueMapBuffer", code)
                : mpi_buffer(run, (most + 1) * ROW, &s->buffer);
}

cl_mem mpi_sample_buffer(const mpi_sample *s) {
    return s->buffer;
}

/* Of all ranks. */
static int wait_for_files(mpi_run *run, mpi_sample *s) {
    const double before = MPI_Wtime();
    const int failed = mpi_agree(run, mpi_job_end(run, &s->job));
    s->waits_s += MPI_Wtime() - before;
    if (s->made) clReleaseEvent(s->made);
    s->made = NULL;
    return failed;
}

int mpi_sample_begin(mpi_run *run, mpi_sample *s, clump_heap *heap, clump_kernel *kernel,
                     uint32_t step) {
    const cl_uint none = 0;
    if (wait_for_files(run, s)) return -1;
    cl_int code =
        clEnqueueFillBuffer(run->queue, s->buffer, &none, sizeof none, 0, ROW, 0, NULL, NULL);
    if (code) return mpi_fail_cl(run, "clEnqueueFillBuffer", code);
    if (mpi_do_all(run, heap, kernel)) return -1;
    code = clEnqueueMarkerWithWaitList(run->queue, 0, NULL, &s->made);
    if (!code) code = clFlush(run->queue);
    if (code) return mpi_fail_cl(run, "clEnqueueMarkerWithWaitList", code);
    if (!s->count++) s->first = step;
    s->step = step;
    return mpi_job_begin(run, &s->job);
}

int mpi_sample_end(mpi_run *run, mpi_sample *s) {
    if (wait_for_files(run, s)) return -1;
    const int failed = !s->rank && s->count ? write_names(s, s->step, &run->error) : 0;
    if (mpi_agree(run, failed)) return -1;
    if (!s->rank)
        printf("samples: %u, %.3f MB of rank 0, which waited %.3f ms for each to be written\n",
               s->count, (double)s->bytes / 1e6, s->count ? s->waits_s * 1e3 / s->count : 0.0);
    return 0;
}

void mpi_sample_destroy(mpi_sample *s) {
    if (!s) return;
    if (s->job.is_running) pthread_join(s->job.thread, NULL);
    if (s->made) clReleaseEvent(s->made);
    if (s->rows) {
        clEnqueueUnmapMemObject(s->queue, s->pinned, s->rows, 0, NULL, NULL);
        clFinish(s->queue);
    }
    if (s->pinned) clReleaseMemObject(s->pinned);
    if (s->buffer) clReleaseMemObject(s->buffer);
    if (s->queue) clReleaseCommandQueue(s->queue);
    free(s);
}
