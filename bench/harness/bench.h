/* The frame of clump-bench: what a benchmark is, what it is given and what it gives back.
 *
 * A benchmark is a bench_descriptor in a file of its own, listed in registry.c. Its calls get the
 * device (bench_env) and the values of its parameters, and fill in a bench_results: metrics with
 * samples, one verdict, notes. run.c makes the rounds; main.c does the rest: options, table, JSON,
 * exit status.
 *
 * Read first: error.h. Read next: registry.c, then any benchmark, such as micro/alloc.c.
 */
#ifndef BENCH_BENCH_H
#define BENCH_BENCH_H

#include <stddef.h>
#include <stdint.h>

#include "clump/all.h"
#include "error.h"
#include "machine.h"

#define BENCH_METRICS_MAX 160
#define BENCH_NOTES_MAX 32
#define BENCH_PARAMS_MAX 48
#define BENCH_TEXT_BYTES 512

/* ---- Parameters (params.c) ------------------------------------------------------------------- */

typedef enum bench_kind { BENCH_INT, BENCH_FLOAT, BENCH_ENUM, BENCH_STRING } bench_kind;

typedef struct bench_param {
    const char *key; /* NULL ends a list of parameters */
    bench_kind kind;
    const char *initial; /* the default, as one would write it after `--set key=` */
    const char *meaning;
    double min, max;     /* int and float: the range, both ends included */
    const char *choices; /* enum: "one|two|three" */
} bench_param;

typedef struct bench_value {
    char text[BENCH_TEXT_BYTES]; /* as it was given */
    double number;               /* int and float; integers are exact up to 2^53 */
} bench_value;

/* A set-up of somebody's, under a name. It should name each parameter that decides the work, so
 * that the run is that set-up whatever our own defaults become. */
typedef struct bench_preset {
    const char *name;     /* NULL ends a list of presets */
    const char *sentence; /* whose set-up it is */
    const char *set;      /* "key=value key=value" */
} bench_preset;

typedef struct bench_values {
    const bench_param *params;
    const bench_preset *presets; /* those that the benchmark has; NULL: none */
    const bench_preset *preset;  /* the one that was assigned last; NULL: none was */
    bench_value values[BENCH_PARAMS_MAX];
} bench_values;

/* All defaults. `presets` NULL: there are none. */
void bench_values_init(bench_values *values, const bench_param *params,
                       const bench_preset *presets);

/* Assign one. The key "preset" assigns all that the preset of that name sets; what is assigned
 * later overrides it. An unknown key or preset and a value out of range are errors that name what
 * is valid. */
int bench_values_set(bench_values *values, const char *key, const char *text, bench_error *error);

/* Assign several: "key=value key=value". */
int bench_values_set_all(bench_values *values, const char *text, bench_error *error);

/* Look up. The key must be one of the benchmark's own and of the right kind. */
int64_t bench_int(const bench_values *values, const char *key);
uint32_t bench_u32(const bench_values *values, const char *key);
double bench_float(const bench_values *values, const char *key);
const char *bench_text(const bench_values *values, const char *key); /* enum and string */
int bench_is(const bench_values *values, const char *key, const char *text);

/* Whether the preset that was assigned sets this parameter, by its index, to another value than it
 * has now. Such a run is not that set-up any more. A file is the same in whatever folder. */
int bench_is_overridden(const bench_values *values, int index);

/* The index of `key`, or -1. */
int bench_find_param(const bench_param *params, const char *key);

/* "1 .. 64" or "one, two, three" or "any text" into `text`. */
void bench_describe_param(const bench_param *param, char *text, size_t bytes);

/* ---- The device (device.c) ------------------------------------------------------------------- */

/* How a long run shows that it lives: a bar if standard error is a terminal, otherwise nothing or
 * a line for every tenth. */
typedef enum bench_progress_mode { BENCH_PROGRESS_BAR, BENCH_PROGRESS_LINES } bench_progress_mode;

typedef struct bench_env {
    cl_platform_id platform;
    cl_device_id device;
    cl_context context;
    cl_command_queue queue; /* in order, with profiling */
    clump_context *clump;   /* NULL: the run needs no device and none was opened */
    const clump_capabilities *capabilities;
    int no_cache;     /* set it before opening: programs are not kept */
    char cache[1024]; /* the folder where they are kept, or empty */
    uint32_t repeat;  /* measured rounds that a benchmark makes, at least 1 */
    uint32_t seed;
    bench_progress_mode progress;
} bench_env;

/* Open the device whose "platform / device" contains `wanted`, ignoring case; NULL or "": the one
 * that the environment variable CLUMP_DEVICE names in the same way, else the first GPU, else the
 * first device. An unknown device is an error that lists those there are. */
int bench_env_open(bench_env *env, const char *wanted, bench_error *error);
void bench_env_close(bench_env *env);

/* Print all devices, and which one would be taken. */
int bench_env_list(const char *wanted, bench_error *error);

double bench_now_us(void); /* a monotonic wall clock */

/* Times of a completed command from its profiling information, and release of the event. */
typedef struct bench_span {
    uint64_t start_ns, end_ns;
} bench_span;
int bench_event_take(cl_event event, bench_span *span, bench_error *error);
static inline double bench_span_us(bench_span span) {
    return (double)(span.end_ns - span.start_ns) * 1e-3;
}
/* From the end of one to the end of another. */
static inline double bench_span_us_after(bench_span before, bench_span span) {
    return span.end_ns > before.end_ns ? (double)(span.end_ns - before.end_ns) * 1e-3 : 0;
}

/* Measured bandwidth of the device, read plus written, with clEnqueueCopyBuffer on two buffers of
 * `bytes`, 0: as much as is large and still fits: the floor for traffic. Takes the best of some
 * rounds. */
int bench_copy_bandwidth(const bench_env *env, size_t bytes, double *bytes_per_s,
                         bench_error *error);

/* ---- Progress (progress.c) ------------------------------------------------------------------- */

typedef struct bench_progress {
    bench_progress_mode mode;
    const char *label;
    uint64_t total;
    double started_us, drawn_us;
    unsigned tenth;
    int is_terminal, is_drawn;
} bench_progress;

void bench_progress_begin(bench_progress *progress, const bench_env *env, const char *label,
                          uint64_t total);
void bench_progress_update(bench_progress *progress, uint64_t done);
void bench_progress_end(bench_progress *progress);

/* ---- Results (results.c) --------------------------------------------------------------------- */

typedef struct bench_metric {
    char name[64];
    const char *unit;
    double *samples;
    size_t count, capacity;
    double floor; /* the value that traffic or launches do not allow to beat */
    int has_floor;
} bench_metric;

/* From the least to the most weighty: what a run says with more weight stays. */
typedef enum bench_verdict {
    BENCH_NO_VERDICT,
    BENCH_OK,          /* compared with what must come out */
    BENCH_NOT_CHECKED, /* there was nothing to compare with; the message says what was looked at */
    BENCH_FAILED
} bench_verdict;

/* "ok", "not checked" or "failed". */
const char *bench_verdict_name(bench_verdict verdict);

typedef struct bench_results {
    bench_metric metrics[BENCH_METRICS_MAX];
    size_t metric_count;
    char notes[BENCH_NOTES_MAX][BENCH_TEXT_BYTES];
    size_t note_count;
    bench_verdict verdict;
    bench_machine machine; /* before the run */
    char check_message[BENCH_TEXT_BYTES];
    bench_error error; /* what stopped the run, if it returned -1 */
} bench_results;

void bench_results_init(bench_results *results);
void bench_results_release(bench_results *results);

/* Add a sample to a metric, which the first sample makes. `unit` is a static string. */
void bench_sample(bench_results *results, const char *metric, const char *unit, double value);

/* The floor of a metric that has samples already. */
void bench_floor(bench_results *results, const char *metric, double floor);

/* Record the outcome of the check. Once failed, it stays failed with the first message. */
void bench_check(bench_results *results, int ok, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Record that the run has no reference, with words for what was checked all the same. */
void bench_not_checked(bench_results *results, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

void bench_note(bench_results *results, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* NULL if there is none of that name. */
bench_metric *bench_find_metric(bench_results *results, const char *name);

double bench_metric_median(const bench_metric *metric);
double bench_metric_min(const bench_metric *metric);
double bench_metric_max(const bench_metric *metric);

/* A number as people read it: integers in full, others with six digits. */
typedef struct bench_number {
    char text[32];
} bench_number;
bench_number bench_number_of(double value);

/* ---- Benchmarks (registry.c) ----------------------------------------------------------------- */

/* What a benchmark is; harness/run.c runs it. It makes the benchmark's own struct, all zero, and
 * calls
 * begin(), round() for each round, finish(), and end() in any case. Calls return 0, or -1 with the
 * reason in results->error. */
typedef struct bench_descriptor {
    const char *name;
    const char *sentence;
    const bench_param *params;   /* ended by an entry without key */
    const bench_preset *presets; /* ended by an entry without name; or NULL */
    uint32_t repeat;             /* rounds if --repeat is not given */
    const char *size; /* the parameter that says how large the problem is, for capacity; or NULL */
    int (*needs_device)(const bench_values *values); /* NULL: always */
    size_t bytes;            /* of the benchmark's own struct, which its calls get */
    uint32_t warm_up;        /* rounds before the measured ones */
    const char *warm_up_key; /* the parameter that has them instead; NULL: none */
    const char
        *rounds_key;  /* the parameter that has the measured rounds instead of --repeat, ... */
    int is_single;    /* ... or there is one, whatever --repeat is */
    int has_progress; /* rounds show their own */
    /* rounds run in a clump_context that the benchmark makes, not in env->clump */
    int has_own_context;
    int (*begin)(void *self, bench_env *env, const bench_values *values, bench_results *results);
    int (*round)(void *self, uint32_t number, int is_measured); /* from 0, the first warm up */
    int (*finish)(void *self); /* the last results and the check; NULL: nothing */
    void (*end)(void *self);   /* release what there is */
} bench_descriptor;

size_t bench_registry_count(void);
const bench_descriptor *bench_registry_get(size_t index);

/* NULL and an error that lists the names if there is none. */
const bench_descriptor *bench_registry_find(const char *name, bench_error *error);

/* ---- Reports (report.c, run.c, compare.c) ---------------------------------------------------- */

typedef struct bench_report bench_report; /* what --json writes */

bench_report *bench_report_create(void);
void bench_report_destroy(bench_report *report);

/* How a run is asked for beyond its benchmark and values. */
typedef struct bench_request {
    const char *key;      /* its name in the file, or NULL */
    const char *set;      /* what was set, "key=value key=value"; or NULL */
    int has_checksum;     /* the run must end with `checksum`, which is that */
    double checksum;      /* of the sequential reference; a check of its own */
    const char *timeline; /* the file for the timeline of one more round (timeline.h); or NULL */
} bench_request;

/* `request` NULL: nothing. */
void bench_report_add(bench_report *report, const bench_request *request,
                      const bench_descriptor *benchmark, const bench_values *values,
                      const bench_results *results);

/* All runs so far, in the form that they have in the file. The report owns them. */
struct cJSON *bench_report_entries(bench_report *report);

/* Go on with the file of an earlier call, if there is one, which must be of the same sitting: of
 * this device, driver, commit and seed. */
int bench_report_resume(bench_report *report, const bench_env *env, const char *path,
                        bench_error *error);

/* A file that bench_report_write() wrote; NULL and a sentence if it is none. The caller deletes
 * it. */
struct cJSON *bench_report_read(const char *path, bench_error *error);

/* `env` after the runs, so that it is known whether a device was opened. */
int bench_report_write(bench_report *report, const bench_env *env, const char *command,
                       const char *path, bench_error *error);

/* The same for people, on standard output. */
void bench_report_print(const bench_env *env, const bench_descriptor *benchmark,
                        const bench_values *values, const bench_results *results);

/* Run a benchmark into `results`, and nothing more. Returns 0, or -1 with the reason in
 * results->error. */
int bench_measure(bench_env *env, const bench_descriptor *benchmark, const bench_values *values,
                  bench_results *results);

/* Run a benchmark, print its results and add them to the report; a run that stops, or that neither
 * checks nor says that it does not, has failed. Returns 1 if it failed, else 0. `request` may be
 * NULL. The caller releases `results`. */
int bench_run(bench_env *env, const bench_request *request, const bench_descriptor *benchmark,
              const bench_values *values, bench_report *report, bench_results *results);

/* Print the ratios B / A of two files that bench_report_write() wrote. */
int bench_compare(const char *path_a, const char *path_b, bench_error *error);

/* ---- The demonstration (demo.c) -------------------------------------------------------------- */

/* Wa-Tor, 512 x 512, checked, with pictures in `folder`. Returns 0 if all went well and agreed. */
int bench_demo(bench_env *env, const char *folder, bench_error *error);

/* ---- Everything at once (suite.c) ------------------------------------------------------------ */

/* All benchmarks at sizes that fit the device, or the groups of them that are named; suite.json,
 * report.md and plots into `folder`. Groups that are named are added to a suite.json of the same
 * sitting that is there. repeat 0: each benchmark's own. Returns 0, 1 if a check failed, -1 if it
 * could not be finished. */
int bench_suite(bench_env *env, const char *const *names, size_t name_count, uint32_t repeat,
                const char *folder, const char *command, bench_error *error);

/* report.md and plots once more, from the suite.json of `folder` alone. */
int bench_summary(const char *folder, bench_error *error);

/* ---- Papers (papers/paper.c) ----------------------------------------------------------------- */

typedef struct bench_paper_request {
    const char *name;        /* of the paper */
    const char *const *only; /* tables and figures by name; only_count 0: all */
    size_t only_count;
    const char *const
        *from; /* folders with results: nothing is run. The first is that of the device in
                                question; others stand in for numbers that no device decides */
    size_t from_count;
    const char *folder; /* where everything goes */
    const char *data;   /* folder of files that are not in the repository, or NULL */
    const char *command;
    int is_small;    /* seconds on a CPU instead of the paper's set-up */
    uint32_t repeat; /* 0: each benchmark's own */
} bench_paper_request;

/* The tables and figures of a paper, its values beside ours. `env` unopened if no device is needed.
 * Returns 0, 1 if a check failed, -1 if it could not be finished. */
int bench_paper(bench_env *env, const bench_paper_request *request, bench_error *error);
int bench_paper_needs_device(const bench_paper_request *request);

/* Print the papers with their tables and figures. */
void bench_paper_list(void);

#endif
