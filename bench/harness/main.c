/* clump-bench: measures the library on synthetic loads and on whole applications.
 *
 * Commands and options are read here; what a run is, is said in bench.h. Exit status: 0 no check
 * failed, 1 one failed or a run could not be finished, 2 the command line is wrong.
 *
 * Read first: bench.h.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench.h"

#define EXIT_USAGE 2
#define SETS_MAX 64
#define NAMES_MAX 32
#define REPEAT_MAX 1000000u

typedef struct options {
    const char *names[NAMES_MAX];
    size_t name_count;
    const char *sets[SETS_MAX]; /* "key=value" */
    size_t set_count;
    const char *only[NAMES_MAX], *from[NAMES_MAX];
    size_t only_count, from_count;
    const char *device, *json, *out, *data, *scale;
    uint32_t repeat, seed; /* repeat 0: the benchmark's own default */
    int has_seed, no_cache;
    int argc;
    char **argv; /* all of it, for reports */
} options;

static void print_usage(FILE *file) {
    fprintf(
        file,
        "usage: clump-bench list\n"
        "       clump-bench devices [--device SUBSTRING]\n"
        "       clump-bench run NAME... [--device SUBSTRING] [--set KEY=VALUE]...\n"
        "                   [--repeat N] [--seed N] [--json FILE]\n"
        "       clump-bench suite [GROUP]... --out FOLDER [--device SUBSTRING] [--repeat N]\n"
        "                   [--seed N]\n"
        "       clump-bench report FOLDER\n"
        "       clump-bench compare A.json B.json\n"
        "       clump-bench demo [--device SUBSTRING] [--seed N]\n"
        "       clump-bench paper NAME --out FOLDER [--only ITEM]... [--scale full|small]\n"
        "                   [--data FOLDER] [--device SUBSTRING] [--repeat N] [--seed N]\n"
        "       clump-bench paper NAME --out FOLDER --from FOLDER... [--only ITEM]...\n"
        "All that take --device also take --no-cache.\n"
        "\n"
        "list      the benchmarks with their parameters and presets, which --set preset=NAME "
        "assigns\n"
        "devices   the OpenCL devices; a star marks the one that would be used\n"
        "run       one or more benchmarks; --json writes the results to a file as well\n"
        "suite     all of them at sizes that fit the device, or the groups of its report that are\n"
        "          named: one JSON, one report with plots; those that are named join the runs of\n"
        "          the same sitting in FOLDER\n"
        "report    report and plots again from FOLDER/suite.json, without a device\n"
        "compare   ratios B / A of the medians of two such files\n"
        "demo      Wa-Tor with pictures, checked against sequential C\n"
        "paper     the tables and figures of a paper, its values beside ours, with plots: all or "
        "those\n"
        "          that --only names; at the paper's set-up or in seconds; from new runs, or from\n"
        "          the runs in other folders; files that are not in the repository are in --data\n"
        "\n"
        "SUBSTRING is any part of \"platform / device\"; CLUMP_DEVICE in the environment is its\n"
        "default. Built programs are kept in $XDG_CACHE_HOME/clump or ~/.cache/clump, unless there "
        "is\n"
        "--no-cache. Exit status 1: a check failed. 2: the command line is wrong.\n");
}

static int fail_usage(const char *format, const char *word) {
    fprintf(stderr, "clump-bench: ");
    fprintf(stderr, format, word);
    fprintf(stderr, "\n");
    return EXIT_USAGE;
}

static int parse_u32(const char *text, uint32_t max, uint32_t *number) {
    char *end = NULL;
    errno = 0;
    unsigned long long value = strtoull(text, &end, 10);
    if (errno || end == text || *end || text[0] == '-' || value > max) {
        return 0;
    }
    *number = (uint32_t)value;
    return 1;
}

static int take_option(options *given, const char *name, const char *value) {
    if (strcmp(name, "--device") == 0) {
        given->device = value;
    } else if (strcmp(name, "--json") == 0) {
        given->json = value;
    } else if (strcmp(name, "--out") == 0) {
        given->out = value;
    } else if (strcmp(name, "--data") == 0) {
        given->data = value;
    } else if (strcmp(name, "--scale") == 0) {
        if (strcmp(value, "full") != 0 && strcmp(value, "small") != 0) {
            return fail_usage("--scale takes full or small, not '%s'", value);
        }
        given->scale = value;
    } else if (strcmp(name, "--only") == 0 || strcmp(name, "--from") == 0) {
        int is_only = strcmp(name, "--only") == 0;
        size_t *count = is_only ? &given->only_count : &given->from_count;
        if (*count == NAMES_MAX) {
            return fail_usage("too many of %s", name);
        }
        (is_only ? given->only : given->from)[(*count)++] = value;
    } else if (strcmp(name, "--repeat") == 0) {
        if (!parse_u32(value, REPEAT_MAX, &given->repeat) || given->repeat == 0) {
            return fail_usage("--repeat takes a number from 1 to 1000000, not '%s'", value);
        }
    } else if (strcmp(name, "--seed") == 0) {
        if (!parse_u32(value, UINT32_MAX, &given->seed)) {
            return fail_usage("--seed takes a number from 0 to 4294967295, not '%s'", value);
        }
        given->has_seed = 1;
    } else if (strcmp(name, "--set") == 0) {
        if (!strchr(value, '=') || given->set_count == SETS_MAX) {
            return fail_usage("--set takes KEY=VALUE (64 times at most), not '%s'", value);
        }
        given->sets[given->set_count++] = value;
    } else {
        return fail_usage(
            "unknown option '%s'; there are --device, --set, --repeat, --seed, --json, --out, "
            "--only, --scale, --data, --from, --no-cache",
            name);
    }
    return 0;
}

/* Arguments behind the command. Returns 0 or an exit status. */
static int parse_options(options *given, int argc, char **argv) {
    memset(given, 0, sizeof *given);
    given->seed = 42;
    given->argc = argc;
    given->argv = argv;
    for (int i = 2; i < argc; i++) {
        if (strncmp(argv[i], "--", 2) != 0) {
            if (given->name_count == NAMES_MAX) {
                return fail_usage("too many names at '%s'", argv[i]);
            }
            given->names[given->name_count++] = argv[i];
            continue;
        }
        if (strcmp(argv[i], "--no-cache") == 0) {
            given->no_cache = 1;
            continue;
        }
        if (i + 1 == argc) {
            return fail_usage("%s needs a value", argv[i]);
        }
        int status = take_option(given, argv[i], argv[i + 1]);
        if (status) {
            return status;
        }
        i++;
    }
    return 0;
}

/* Groups of options and arguments that only some commands understand. */
#define TAKES_NAMES 1u
#define TAKES_VALUES 2u /* --set */
#define TAKES_JSON 4u
#define TAKES_OUT 8u
#define TAKES_REPEAT 16u
#define TAKES_PAPER 32u /* --only, --scale, --data, --from */

/* Which options a command understands is checked by what is left over. */
static int refuse(const options *given, unsigned takes) {
    if (!(takes & TAKES_NAMES) && given->name_count) {
        return fail_usage("unexpected '%s'", given->names[0]);
    }
    if (!(takes & TAKES_VALUES) && given->set_count) {
        return fail_usage("%s belongs to the command run", "--set");
    }
    if (!(takes & TAKES_REPEAT) && given->repeat) {
        return fail_usage("%s belongs to the commands run, suite and paper", "--repeat");
    }
    if (!(takes & TAKES_JSON) && given->json) {
        return fail_usage("%s belongs to the command run", "--json");
    }
    if (!(takes & TAKES_PAPER) &&
        (given->only_count || given->from_count || given->scale || given->data)) {
        return fail_usage("%s belong to the command paper", "--only, --scale, --data and --from");
    }
    if (!(takes & TAKES_OUT) && given->out) {
        return fail_usage("%s belongs to the commands suite and paper", "--out");
    }
    return 0;
}

static void print_params(const char *name, const char *sentence, const bench_param *params,
                         const bench_preset *presets) {
    printf("%s: %s\n", name, sentence);
    for (const bench_param *param = params; param->key; param++) {
        char range[256];
        bench_describe_param(param, range, sizeof range);
        printf("  %-14s default %-12s %s\n  %-14s   %s\n", param->key,
               *param->initial ? param->initial : "(none)", param->meaning, "", range);
    }
    for (; presets && presets->name; presets++) {
        printf("  preset=%s: %s\n    %s\n", presets->name, presets->sentence, presets->set);
    }
    printf("\n");
}

static int command_list(const options *given) {
    (void)given;
    for (size_t i = 0; i < bench_registry_count(); i++) {
        const bench_descriptor *benchmark = bench_registry_get(i);
        print_params(benchmark->name, benchmark->sentence, benchmark->params, benchmark->presets);
    }
    bench_paper_list();
    return 0;
}

static int apply_sets(const options *given, bench_values *values, bench_error *error) {
    if (given->has_seed && bench_find_param(values->params, "seed") >= 0) {
        char seed[16];
        snprintf(seed, sizeof seed, "%u", given->seed);
        if (bench_values_set(values, "seed", seed, error)) {
            return -1;
        }
    }
    for (size_t i = 0; i < given->set_count; i++) {
        char key[64];
        const char *equals = strchr(given->sets[i], '=');
        snprintf(key, sizeof key, "%.*s", (int)(equals - given->sets[i]), given->sets[i]);
        if (bench_values_set(values, key, equals + 1, error)) {
            return -1;
        }
    }
    return 0;
}

static int needs_device(const bench_descriptor *benchmark, const bench_values *values) {
    return !benchmark->needs_device || benchmark->needs_device(values);
}

static void join_command(char *text, size_t bytes, const options *given) {
    size_t used = (size_t)snprintf(text, bytes, "clump-bench");
    for (int i = 1; i < given->argc && used < bytes; i++) {
        int n = snprintf(text + used, bytes - used, " %s", given->argv[i]);
        used += n > 0 ? (size_t)n : 0;
    }
}

/* All names and values are checked before the first run, which may take long. */
static int prepare(const options *given, const bench_descriptor **benchmarks, bench_values *values,
                   int *device_needed, bench_error *error) {
    if (given->name_count == 0) {
        return bench_error_set(error, "run needs the name of a benchmark; try clump-bench list");
    }
    *device_needed = given->device != NULL;
    for (size_t i = 0; i < given->name_count; i++) {
        benchmarks[i] = bench_registry_find(given->names[i], error);
        if (!benchmarks[i]) {
            return -1;
        }
        bench_values_init(&values[i], benchmarks[i]->params, benchmarks[i]->presets);
        if (apply_sets(given, &values[i], error)) {
            return -1;
        }
        *device_needed |= needs_device(benchmarks[i], &values[i]);
    }
    return 0;
}

static int command_run(const options *given) {
    const bench_descriptor *benchmarks[NAMES_MAX];
    bench_values *values = calloc(NAMES_MAX, sizeof *values);
    bench_report *report = bench_report_create();
    bench_env env = {.seed = given->seed, .no_cache = given->no_cache};
    bench_error error;
    int device_needed = 0, status = EXIT_USAGE;
    if (!values || !report) {
        fprintf(stderr, "clump-bench: out of memory\n");
        goto done;
    }
    if (prepare(given, benchmarks, values, &device_needed, &error) ||
        (device_needed && bench_env_open(&env, given->device, &error))) {
        fprintf(stderr, "clump-bench: %s\n", error.text);
        goto done;
    }
    status = 0;
    for (size_t i = 0; i < given->name_count; i++) {
        env.repeat = given->repeat ? given->repeat : benchmarks[i]->repeat;
        bench_results results;
        status |= bench_run(&env, NULL, benchmarks[i], &values[i], report, &results);
        bench_results_release(&results);
    }
    if (given->json) {
        char command[2048];
        join_command(command, sizeof command, given);
        if (bench_report_write(report, &env, command, given->json, &error)) {
            fprintf(stderr, "clump-bench: %s\n", error.text);
            status = 1;
        }
    }
done:
    bench_env_close(&env);
    bench_report_destroy(report);
    free(values);
    return status;
}

static int command_demo(const options *given) {
    bench_env env = {.seed = given->seed,
                     .no_cache = given->no_cache,
                     .repeat = 1,
                     .progress = BENCH_PROGRESS_LINES};
    bench_error error;
    if (bench_env_open(&env, given->device, &error)) {
        fprintf(stderr, "clump-bench: %s\n", error.text);
        return EXIT_USAGE;
    }
    int failed = bench_demo(&env, "out", &error);
    if (failed) {
        fprintf(stderr, "clump-bench: %s\n", error.text);
    }
    bench_env_close(&env);
    return failed ? 1 : 0;
}

static int command_paper(const options *given) {
    bench_env env = {.seed = given->seed, .no_cache = given->no_cache};
    bench_error error;
    char command[2048];
    if (given->name_count != 1 || !given->out) {
        return fail_usage("%s needs the name of a paper and --out FOLDER", "paper");
    }
    join_command(command, sizeof command, given);
    const bench_paper_request request = {
        .name = given->names[0],
        .only = given->only,
        .only_count = given->only_count,
        .from = given->from,
        .from_count = given->from_count,
        .folder = given->out,
        .data = given->data,
        .command = command,
        .is_small = given->scale && strcmp(given->scale, "small") == 0,
        .repeat = given->repeat};
    if (bench_paper_needs_device(&request) && bench_env_open(&env, given->device, &error)) {
        fprintf(stderr, "clump-bench: %s\n", error.text);
        return EXIT_USAGE;
    }
    int failed = bench_paper(&env, &request, &error);
    if (failed < 0) {
        fprintf(stderr, "clump-bench: %s\n", error.text);
    }
    bench_env_close(&env);
    return failed ? 1 : 0;
}

static int command_suite(const options *given) {
    bench_env env = {.seed = given->seed, .no_cache = given->no_cache};
    bench_error error;
    char command[2048];
    if (!given->out) {
        return fail_usage("%s needs --out FOLDER", "suite");
    }
    if (bench_env_open(&env, given->device, &error)) {
        fprintf(stderr, "clump-bench: %s\n", error.text);
        return EXIT_USAGE;
    }
    join_command(command, sizeof command, given);
    int failed = bench_suite(&env, given->names, given->name_count, given->repeat, given->out,
                             command, &error);
    if (failed < 0) {
        fprintf(stderr, "clump-bench: %s\n", error.text);
    }
    bench_env_close(&env);
    return failed ? 1 : 0;
}

static int command_report(const options *given) {
    bench_error error;
    if (given->name_count != 1) {
        return fail_usage("%s needs the folder of a suite", "report");
    }
    if (bench_summary(given->names[0], &error)) {
        fprintf(stderr, "clump-bench: %s\n", error.text);
        return EXIT_USAGE;
    }
    return 0;
}

static int command_compare(const options *given) {
    bench_error error;
    if (given->name_count != 2) {
        return fail_usage("%s needs two files", "compare");
    }
    if (bench_compare(given->names[0], given->names[1], &error)) {
        fprintf(stderr, "clump-bench: %s\n", error.text);
        return EXIT_USAGE;
    }
    return 0;
}

static int command_devices(const options *given) {
    bench_error error;
    if (bench_env_list(given->device, &error)) {
        fprintf(stderr, "clump-bench: %s\n", error.text);
        return EXIT_USAGE;
    }
    return 0;
}

static const struct {
    const char *name;
    unsigned takes;
    int (*run)(const options *given);
} commands[] = {{"list", 0, command_list},
                {"devices", 0, command_devices},
                {"run", TAKES_NAMES | TAKES_VALUES | TAKES_REPEAT | TAKES_JSON, command_run},
                {"suite", TAKES_NAMES | TAKES_OUT | TAKES_REPEAT, command_suite},
                {"report", TAKES_NAMES, command_report},
                {"compare", TAKES_NAMES, command_compare},
                {"demo", 0, command_demo},
                {"paper", TAKES_NAMES | TAKES_REPEAT | TAKES_OUT | TAKES_PAPER, command_paper}};

int main(int argc, char **argv) {
    options given;
    const char *command = argc > 1 ? argv[1] : "";
    if (strcmp(command, "help") == 0 || strcmp(command, "--help") == 0) {
        print_usage(stdout);
        return 0;
    }
    int status = argc > 1 ? parse_options(&given, argc, argv) : EXIT_USAGE;
    if (argc < 2) {
        print_usage(stderr);
    }
    if (status) {
        return status;
    }
    for (size_t i = 0; i < sizeof commands / sizeof *commands; i++) {
        if (strcmp(command, commands[i].name) == 0) {
            return refuse(&given, commands[i].takes) ? EXIT_USAGE : commands[i].run(&given);
        }
    }
    return fail_usage(
        "unknown command '%s'; there are list, devices, run, suite, report, compare, demo, paper",
        command);
}
