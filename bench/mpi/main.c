/* clump-bench-mpi APPLICATION [NAME=NUMBER...]: an application in domains. Started by mpiexec. See
 * run.h.
 *
 * A rank takes a GPU by its number among the ranks of its host, or, where there is none, any
 * device; the environment's CLUMP_DEVICE names another.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "clump/quick.h"
#include "run.h"

static const mpi_app *const apps[] = {&mpi_wa_tor, &mpi_nbody, &mpi_epidemic};

/* ---- Options --------------------------------------------------------------------------------- */

static mpi_option common[] = {
    {"steps", 100, 1, 1e9, "steps that are measured"},
    {"warmup", 2, 0, 1e9, "steps before them"},
    {"reference", 0, 0, 1,
     "1: rank 0 also runs the sequential program, and the checksums are compared"},
    {"plain", 0, 0, 1, "1: one rank also runs a program in plain OpenCL, and compares with it"},
    {"save", 0, 0, 1, "1: the world is saved in file=PATH at the end"},
    {"load", 0, 0, 1, "1: it goes on from file=PATH, which any number of ranks has saved"},
    {"checkpoint", 0, 0, 1e9,
     "steps after which it is saved in file=PATH again, for load=1; 0: never"},
    {"writer", 1, 0, 2,
     "1: a thread writes checkpoints, and one that is due before the file is complete comes later; "
     "2: the step waits for that file; 0: the step writes"},
    {"until", 0, 0, 1e9,
     "steps in all, with those of a loaded world, in place of steps and warmup"},
    {"timeout", 60, 0.1, 1e6, "seconds that a rank waits for another one"},
    {NULL, 0, 0, 0, NULL}};

static mpi_option *find(mpi_option *options, const char *name, size_t length) {
    for (; options->name; options++)
        if (strlen(options->name) == length && !strncmp(options->name, name, length))
            return options;
    return NULL;
}

double mpi_real(const mpi_run *run, const char *name) {
    const mpi_option *option = find(run->options, name, strlen(name));
    if (!option) option = find(common, name, strlen(name));
    return option ? option->value : NAN;
}

uint32_t mpi_u32(const mpi_run *run, const char *name) {
    return (uint32_t)mpi_real(run, name);
}

static int uses_file(const mpi_run *run) {
    return mpi_u32(run, "save") || mpi_u32(run, "load") || mpi_u32(run, "checkpoint");
}

static int parse(mpi_run *run, char *const *arguments) {
    for (; *arguments; arguments++) {
        const char *equals = strchr(*arguments, '=');
        const size_t length = equals ? (size_t)(equals - *arguments) : strlen(*arguments);
        mpi_option *option = find(run->options, *arguments, length);
        char *end = NULL;
        if (!strncmp(*arguments, "file=", 5)) {
            run->file = *arguments + 5;
            continue;
        }
        if (!option) option = find(common, *arguments, length);
        if (!option || !equals)
            return bench_error_set(&run->error, "%s: options are NAME=NUMBER; see --help",
                                   *arguments);
        option->value = strtod(equals + 1, &end);
        if (end == equals + 1 || *end || !(option->value >= option->least) ||
            option->value > option->most)
            return bench_error_set(&run->error, "%s: it must be a number from %g to %g", *arguments,
                                   option->least, option->most);
        if (option->value != floor(option->value) && strcmp(option->name, "timeout") != 0)
            return bench_error_set(&run->error, "%s: it must be a whole number", *arguments);
    }
    if (uses_file(run) && !(run->file && *run->file))
        return bench_error_set(&run->error, "save=1, load=1 and checkpoint need file=PATH");
    return 0;
}

static void print_options(const mpi_option *options) {
    for (; options->name; options++)
        printf("  %-14s %s (%g)\n", options->name, options->words, options->value);
}

static void print_help(void) {
    printf("mpiexec -n RANKS clump-bench-mpi APPLICATION [NAME=NUMBER...]\n");
    for (size_t i = 0; i < sizeof apps / sizeof *apps; i++) {
        printf("%s:\n", apps[i]->name);
        print_options(apps[i]->options);
    }
    printf("all:\n");
    print_options(common);
}

/* ---- Helpers --------------------------------------------------------------------------------- */

int mpi_fail_world(mpi_run *run, const char *what, clump_status status) {
    const clump_error *error = clump_world_get_error(run->world);
    return bench_error_set(&run->error, "%s: %s (%s)", what,
                           error->status == status ? error->message : "no words",
                           clump_status_name(status));
}

int mpi_fail(mpi_run *run, const char *what, clump_status status) {
    return bench_error_clump(&run->error, what, run->context, status);
}

int mpi_fail_cl(mpi_run *run, const char *what, cl_int code) {
    return bench_error_cl(&run->error, what, code);
}

int mpi_set(mpi_run *run, clump_kernel *kernel, uint32_t first, const mpi_arg *args,
            uint32_t count) {
    for (uint32_t i = 0; i < count; i++) {
        const clump_status status =
            clump_kernel_set_arg(kernel, first + i, args[i].bytes, args[i].value);
        if (status) return mpi_fail(run, "a parameter", status);
    }
    return 0;
}

int mpi_launch(mpi_run *run, clump_heap *heap, clump_kernel *kernel, uint64_t items) {
    const clump_status status =
        clump_heap_launch(heap, kernel, (size_t)((items + 63) / 64 * 64), 64, NULL);
    return status ? mpi_fail(run, "a launch", status) : 0;
}

int mpi_do_all(mpi_run *run, clump_heap *heap, clump_kernel *kernel) {
    const clump_status status = clump_heap_do_all(heap, kernel, NULL);
    return status ? mpi_fail(run, "a do-all", status) : 0;
}

int mpi_buffer(mpi_run *run, uint64_t bytes, cl_mem *buffer) {
    cl_int code;
    *buffer = clCreateBuffer(run->cl, CL_MEM_READ_WRITE, bytes, NULL, &code);
    return code ? mpi_fail_cl(run, "clCreateBuffer", code) : 0;
}

/* A reduction, since that tells whether all ranks answered: a broken world fails it at once. */
int mpi_agree(mpi_run *run, int failed) {
    int failures = failed ? 1 : 0;
    const clump_status status = clump_world_reduce(run->world, &failures, 1, MPI_INT, MPI_SUM);
    if (status) return failed ? -1 : mpi_fail_world(run, "agreement", status);
    if (!failures) return 0;
    run->all_failed = 1;
    return failed ? -1 : bench_error_set(&run->error, "ranks that failed: %d", failures);
}

/* ---- This rank's device ---------------------------------------------------------------------- */

static int find_gpu(int number, cl_device_id *device) {
    cl_platform_id platforms[16];
    cl_device_id devices[64];
    cl_uint platform_count = 0, count = 0;
    if (clGetPlatformIDs(16, platforms, &platform_count)) return -1;
    for (cl_uint i = 0; i < platform_count && i < 16; i++) {
        cl_uint here = 0;
        if (count < 64 &&
            !clGetDeviceIDs(platforms[i], CL_DEVICE_TYPE_GPU, 64 - count, devices + count, &here))
            count += here < 64 - count ? here : 64 - count;
    }
    if (!count) return -1;
    *device = devices[(cl_uint)number % count];
    return 0;
}

static int open_device(mpi_run *run) {
    MPI_Comm host;
    int number = 0;
    cl_int code;
    clump_error error;
    MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, run->rank, MPI_INFO_NULL, &host);
    MPI_Comm_rank(host, &number);
    MPI_Comm_free(&host);
    const char *words = getenv("CLUMP_DEVICE");
    if ((words && *words) || find_gpu(number, &run->device))
        if (clump_quick_find_device(NULL, &run->device, NULL, &error))
            return bench_error_set(&run->error, "%s", error.message);
    clGetDeviceInfo(run->device, CL_DEVICE_NAME, sizeof run->device_name, run->device_name, NULL);
    run->cl = clCreateContext(NULL, 1, &run->device, NULL, NULL, &code);
    if (code) return mpi_fail_cl(run, "clCreateContext", code);
    run->queue = clCreateCommandQueue(run->cl, run->device, 0, &code);
    if (code) return mpi_fail_cl(run, "clCreateCommandQueue", code);
    const char *personality = getenv("CLUMP_PERSONALITY"); /* as in the tests */
    const clump_context_desc desc = {.size = sizeof desc,
                                     .context = run->cl,
                                     .device = run->device,
                                     .queue = run->queue,
                                     .personality = personality && !strcmp(personality, "gpu")
                                                        ? CLUMP_PERSONALITY_GPU
                                                        : CLUMP_PERSONALITY_DEVICE};
    if (clump_context_create(&desc, &run->context, &error))
        return bench_error_set(&run->error, "%s", error.message);
    return 0;
}

static int open_world(mpi_run *run, const mpi_app *app) {
    clump_error error;
    const clump_world_desc desc = {.size = sizeof desc,
                                   .comm = MPI_COMM_WORLD,
                                   .context = run->context,
                                   .queue = run->queue,
                                   .periodic = {app->periodic},
                                   .timeout_s = mpi_real(run, "timeout")};
    return clump_world_create(&desc, &run->world, &error)
               ? bench_error_set(&run->error, "%s", error.message)
               : 0;
}

/* ---- A run ----------------------------------------------------------------------------------- */

/* until=N: the steps that are left. */
static int choose_steps(mpi_run *run) {
    const uint32_t until = mpi_u32(run, "until");
    if (!until) return 0;
    if (until <= run->begun)
        return bench_error_set(&run->error, "the world has made %u steps, and until is %u",
                               run->begun, until);
    find(common, "steps", 5)->value = until - run->begun;
    find(common, "warmup", 6)->value = 0;
    return 0;
}

static int measure(mpi_run *run, const mpi_app *app, void *self, mpi_times *times) {
    const uint32_t steps = mpi_u32(run, "steps"), warmup = mpi_u32(run, "warmup");
    for (uint32_t i = 0; i < warmup + steps; i++) {
        if (i == warmup) {
            const clump_status status = clump_world_agree(run->world, CLUMP_OK);
            if (status) return mpi_fail_world(run, "agreement", status);
            *times = (mpi_times){0};
        }
        const double before = MPI_Wtime();
        if (app->step(run, self, times)) return -1;
        times->step += MPI_Wtime() - before;
    }
    return 0;
}

/* The longest of all ranks; numbers together. */
static int print_times(mpi_run *run, const mpi_app *app, const mpi_times *times) {
    const double ms = 1e3 / mpi_real(run, "steps");
    double parts[3] = {times->step * ms, times->halo * ms, times->migration * ms};
    uint64_t sums[2] = {times->objects, times->bytes};
    clump_status status = clump_world_reduce(run->world, parts, 3, MPI_DOUBLE, MPI_MAX);
    if (!status) status = clump_world_reduce(run->world, sums, 2, MPI_UINT64_T, MPI_SUM);
    if (status) return mpi_fail_world(run, "times", status);
    run->seconds = parts[0] / 1e3 * mpi_real(run, "steps");
    if (!run->rank)
        printf(
            "%s: %d ranks, %.3f ms a step (halo %.3f, migration %.3f), %.1f objects migrated and "
            "%.0f bytes sent a step\n",
            app->name, run->size, parts[0], parts[1], parts[2],
            (double)sums[0] / mpi_real(run, "steps"), (double)sums[1] / mpi_real(run, "steps"));
    return 0;
}

static int check(mpi_run *run, const mpi_app *app, void *self, uint64_t *checksum) {
    uint64_t expected = 0;
    if (app->report(run, self) || app->checksum(run, self, checksum)) return -1;
    if (!run->rank) printf("checksum %016llx\n", (unsigned long long)*checksum);
    if (run->rank || !mpi_u32(run, "reference")) return 0;
    const uint32_t steps = run->begun + mpi_u32(run, "warmup") + mpi_u32(run, "steps");
    if (app->reference(run, steps, &expected)) return -1;
    if (*checksum != expected)
        return bench_error_set(&run->error, "the sequential program comes to %016llx",
                               (unsigned long long)expected);
    printf("equal to the sequential program\n");
    return 0;
}

static int check_plain(mpi_run *run, const mpi_app *app, uint64_t checksum) {
    uint64_t expected = 0;
    double seconds = 0;
    if (app->plain(run, &expected, &seconds)) return -1;
    const double steps = mpi_real(run, "steps");
    printf("plain OpenCL: %.3f ms a step, %s needs %.3f times as long\n", seconds / steps * 1e3,
           app->name, run->seconds / seconds);
    if (checksum != expected)
        return bench_error_set(&run->error, "the program in plain OpenCL comes to %016llx",
                               (unsigned long long)expected);
    printf("equal to the program in plain OpenCL\n");
    return 0;
}

/* They are wrong on all ranks. */
static int check_options(mpi_run *run, const mpi_app *app) {
    run->all_failed = 1;
    if (mpi_u32(run, "plain") && (!app->plain || run->size > 1 || mpi_u32(run, "load")))
        return bench_error_set(&run->error,
                               "plain=1 is for the epidemic, one rank, without load=1");
    if (!app->save && uses_file(run))
        return bench_error_set(&run->error, "%s is neither saved nor loaded", app->name);
    if (run->file && !uses_file(run) && !(mpi_real(run, "vtk") > 0))
        return bench_error_set(&run->error, "file=%s: no option needs a file", run->file);
    run->all_failed = 0;
    return 0;
}

static int run_app(mpi_run *run, const mpi_app *app, void **self) {
    mpi_times times = {0};
    uint64_t checksum = 0;
    if (check_options(run, app)) return -1;
    if (open_device(run) || open_world(run, app)) return -1;
    for (int i = 0; i < run->size; i++) { /* in order, as far as mpiexec keeps it */
        if (i == run->rank) {
            printf("rank %d on %s\n", run->rank, run->device_name);
            fflush(stdout);
        }
        if (clump_world_agree(run->world, CLUMP_OK))
            return mpi_fail_world(run, "start", CLUMP_ERR_RANK);
    }
    if (app->create(run, self) || mpi_agree(run, choose_steps(run)) ||
        measure(run, app, *self, &times) || print_times(run, app, &times) ||
        check(run, app, *self, &checksum) || (mpi_u32(run, "save") && app->save(run, *self)))
        return -1;
    if (!mpi_u32(run, "plain")) return 0;
    app->destroy(*self); /* both might not fit the device */
    *self = NULL;
    return check_plain(run, app, checksum);
}

int main(int argc, char **argv) {
    const mpi_app *app = NULL;
    mpi_run run = {.world = NULL};
    void *self = NULL;
    if (argc > 1 && !strcmp(argv[1], "--help")) {
        print_help();
        return 0;
    }
    for (size_t i = 0; argc > 1 && i < sizeof apps / sizeof *apps; i++)
        if (!strcmp(argv[1], apps[i]->name)) app = apps[i];
    if (app) run.options = app->options;
    if (app ? parse(&run, argv + 2)
            : bench_error_set(&run.error,
                              "the applications are wa-tor, nbody and epidemic; see --help")) {
        fprintf(stderr, "clump-bench-mpi: %s\n", run.error.text);
        return 1;
    }
    int level; /* of threads: bench/mpi/checkpoint.c asks MPI; those of others do not call it */
    MPI_Init_thread(&argc, &argv,
                    mpi_u32(&run, "checkpoint") ? MPI_THREAD_MULTIPLE : MPI_THREAD_FUNNELED,
                    &level);
    MPI_Comm_rank(MPI_COMM_WORLD, &run.rank);
    MPI_Comm_size(MPI_COMM_WORLD, &run.size);
    const int result = run_app(&run, app, &self);
    if (result) {
        fflush(stdout);
        fprintf(stderr, "clump-bench-mpi, rank %d: %s\n", run.rank, run.error.text);
        if (!run.all_failed) { /* MPI_Finalize() might wait for a rank that is gone */
            /* Launchers may lose what was printed just before MPI_Abort(). */
            nanosleep(&(struct timespec){.tv_nsec = 200000000}, NULL);
            MPI_Abort(MPI_COMM_WORLD, 1);
        }
    }
    if (self) app->destroy(self);
    clump_world_destroy(run.world);
    clump_context_destroy(run.context);
    if (run.queue) clReleaseCommandQueue(run.queue);
    if (run.cl) clReleaseContext(run.cl);
    MPI_Finalize();
    return result ? 1 : 0;
}
