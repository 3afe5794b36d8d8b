/* clump-bench-mpi: applications in domains, a heap for each rank. What they share: options, this
 * rank's device and world, times, and the end of the program.
 *
 * Read first: include/clump/mpi.h, bench/harness/error.h. Read next: main.c.
 */
#ifndef BENCH_MPI_RUN_H
#define BENCH_MPI_RUN_H

#include "bench/harness/error.h"
#include "bench/harness/heap.h"
#include "clump/all.h"
#include "clump/mpi.h"

/* An option "name=number" and its default. */
typedef struct mpi_option {
    const char *name;
    double value, least, most;
    const char *words;
} mpi_option;

/* What this rank runs on. */
typedef struct mpi_run {
    mpi_option *options;
    const char *file; /* of a world, which save=1 writes and load=1 goes on from; NULL: none */
    uint32_t begun;   /* steps that a loaded world has made before */
    double seconds;   /* of the measured steps, of the slowest rank; set before `report` */
    int rank, size;
    int all_failed; /* all ranks know it, and each ends by itself */
    char device_name[512];
    cl_device_id device;
    cl_context cl;
    cl_command_queue queue;
    clump_context *context;
    clump_world *world;
    bench_error error;
} mpi_run;

uint32_t mpi_u32(const mpi_run *run, const char *name);
double mpi_real(const mpi_run *run, const char *name);

/* Wall time of the parts of a step, seconds. */
typedef struct mpi_times {
    double step, halo, migration;
    uint64_t objects, bytes; /* that migrated; sent in migrations and halos */
} mpi_times;

/* An application. Calls return 0, or -1 with words in run->error. */
typedef struct mpi_app {
    const char *name;
    mpi_option *options; /* ends with a name that is NULL */
    int periodic;
    int (*create)(mpi_run *run, void **self);
    int (*step)(mpi_run *run, void *self, mpi_times *times);
    /* The whole world's checksum, on all ranks; and what the sequential program comes to, on rank
     * 0. */
    int (*checksum)(mpi_run *run, void *self, uint64_t *found);
    int (*reference)(mpi_run *run, uint32_t steps, uint64_t *expected);
    /* Of one rank: the same steps from the beginning in plain OpenCL, and how long those that are
     * measured took. Called when `self` is gone. NULL: there is none. */
    int (*plain)(mpi_run *run, uint64_t *expected, double *seconds);
    int (*report)(mpi_run *run, void *self); /* on all ranks; rank 0 prints */
    /* To run->file; `create` goes on from that if load=1. NULL: it is neither saved nor loaded. */
    int (*save)(mpi_run *run, void *self);
    void (*destroy)(void *self);
} mpi_app;
extern const mpi_app mpi_wa_tor, mpi_nbody, mpi_epidemic;

/* Words of the world's error, of the context's, or of an OpenCL call. Each returns -1. */
int mpi_fail_world(mpi_run *run, const char *what, clump_status status);
int mpi_fail(mpi_run *run, const char *what, clump_status status);
int mpi_fail_cl(mpi_run *run, const char *what, cl_int code);

/* All ranks come here, each with what its last step returned. Returns 0 if that was 0 on all of
 * them. */
int mpi_agree(mpi_run *run, int failed);

/* Set the parameters of a kernel from `first` on. */
typedef struct mpi_arg {
    size_t bytes;
    const void *value;
} mpi_arg;
int mpi_set(mpi_run *run, clump_kernel *kernel, uint32_t first, const mpi_arg *args,
            uint32_t count);
#define MPI_ARG(v)                                                                                 \
    { sizeof(v), &(v) }
/* Parameters from number `first` on: MPI_ARG(v), ... */
#define MPI_SET(run, kernel, first, ...)                                                           \
    mpi_set(run, kernel, first, (const mpi_arg[]){__VA_ARGS__},                                    \
            (uint32_t)(sizeof((const mpi_arg[]){__VA_ARGS__}) / sizeof(mpi_arg)))

int mpi_launch(mpi_run *run, clump_heap *heap, clump_kernel *kernel, uint64_t items);
int mpi_do_all(mpi_run *run, clump_heap *heap, clump_kernel *kernel);
int mpi_buffer(mpi_run *run, uint64_t bytes, cl_mem *buffer);

#endif
