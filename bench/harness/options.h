/* The command line of clump-bench: options and names, what a command takes of them, and the values
 * of parameters that they assign.
 *
 * Nothing here prints, opens a file or needs a device: tests/fuzz/fuzz_options.c feeds it arbitrary
 * bytes.
 *
 * Read first: bench.h. Read next: main.c.
 */
#ifndef BENCH_OPTIONS_H
#define BENCH_OPTIONS_H

#include "bench.h"

#define BENCH_SETS_MAX 64
#define BENCH_NAMES_MAX 32
#define BENCH_REPEAT_MAX 1000000u

typedef struct bench_options {
    const char *names[BENCH_NAMES_MAX];
    size_t name_count;
    const char *sets[BENCH_SETS_MAX]; /* "key=value" */
    size_t set_count;
    const char *only[BENCH_NAMES_MAX], *from[BENCH_NAMES_MAX];
    size_t only_count, from_count;
    const char *device, *json, *timeline, *out, *data, *scale;
    uint32_t repeat, seed; /* repeat 0: the benchmark's own default */
    int has_seed, no_cache;
    int argc;
    char **argv; /* all of it, for reports */
} bench_options;

/* All return 0, or -1 with an error; texts stay those of argv. */

/* argv[0] is the program and argv[1] the command; the arguments after them are read. */
int bench_options_parse(bench_options *options, int argc, char **argv, bench_error *error);

/* Groups of options and arguments that only some commands understand. */
#define BENCH_TAKES_NAMES 1u
#define BENCH_TAKES_VALUES 2u /* --set */
#define BENCH_TAKES_JSON 4u   /* --json, --timeline */
#define BENCH_TAKES_OUT 8u
#define BENCH_TAKES_REPEAT 16u
#define BENCH_TAKES_PAPER 32u /* --only, --scale, --data, --from */

/* Refuse what a command does not take. */
int bench_options_refuse(const bench_options *options, unsigned takes, bench_error *error);

/* Assign the seed, if the benchmark has that parameter, and all of --set. */
int bench_options_apply(const bench_options *options, bench_values *values, bench_error *error);

/* The whole command line as a text, cut at `bytes`. */
void bench_options_join(const bench_options *options, char *text, size_t bytes);

#endif
