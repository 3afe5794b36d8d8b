/* clump-bench: measures the library on synthetic loads and on whole applications.
 *
 * Commands are carried out here; what a run is, is said in bench.h. Exit status: 0 no check
 * failed, 1 one failed or a run could not be finished, 2 the command line is wrong.
 *
 * Read first: bench.h, options.h.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench.h"
#include "options.h"
#include "timeline.h"

#define EXIT_USAGE 2
static void print_usage(FILE *file) {
    fprintf(
        file,
        "usage: clump-bench list\n"
        "       clump-bench devices [--device SUBSTRING]\n"
        "       clump-bench run NAME... [--device SUBSTRING] [--set KEY=VALUE]...\n"
        "                   [--repeat N] [--seed N] [--json FILE] [--timeline FILE]\n"
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
        "run       one or more benchmarks; --json writes the results to a file as well;\n"
        "          --timeline, for one benchmark, makes one more round, which is in no figure, "
        "since\n"
        "          recording costs time, and writes its commands as a trace for Perfetto\n"
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

static int fail_usage(const char *words) {
    fprintf(stderr, "clump-bench: %s\n", words);
    return EXIT_USAGE;
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

static int command_list(const bench_options *given) {
    (void)given;
    for (size_t i = 0; i < bench_registry_count(); i++) {
        const bench_descriptor *benchmark = bench_registry_get(i);
        print_params(benchmark->name, benchmark->sentence, benchmark->params, benchmark->presets);
    }
    bench_paper_list();
    return 0;
}

static int needs_device(const bench_descriptor *benchmark, const bench_values *values) {
    return !benchmark->needs_device || benchmark->needs_device(values);
}

/* All names and values are checked before the first run, which may take long. */
static int prepare(const bench_options *given, const bench_descriptor **benchmarks,
                   bench_values *values, int *device_needed, bench_error *error) {
    if (given->name_count == 0) {
        return bench_error_set(error, "run needs the name of a benchmark; try clump-bench list");
    }
    if (given->timeline && given->name_count > 1) {
        return bench_error_set(error, "--timeline takes one benchmark, not %zu", given->name_count);
    }
    *device_needed = given->device != NULL;
    for (size_t i = 0; i < given->name_count; i++) {
        benchmarks[i] = bench_registry_find(given->names[i], error);
        if (!benchmarks[i]) {
            return -1;
        }
        bench_values_init(&values[i], benchmarks[i]->params, benchmarks[i]->presets);
        if (bench_options_apply(given, &values[i], error)) {
            return -1;
        }
        int needs = needs_device(benchmarks[i], &values[i]);
        if (given->timeline && bench_timeline_refuse(benchmarks[i], needs, error)) {
            return -1;
        }
        *device_needed |= needs;
    }
    return 0;
}

static int command_run(const bench_options *given) {
    const bench_descriptor *benchmarks[BENCH_NAMES_MAX];
    bench_values *values = calloc(BENCH_NAMES_MAX, sizeof *values);
    bench_report *report = bench_report_create();
    bench_env env = {.seed = given->seed, .no_cache = given->no_cache};
    const bench_request request = {.timeline = given->timeline};
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
        status |= bench_run(&env, &request, benchmarks[i], &values[i], report, &results);
        bench_results_release(&results);
    }
    if (given->json) {
        char command[2048];
        bench_options_join(given, command, sizeof command);
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

static int command_demo(const bench_options *given) {
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

static int command_paper(const bench_options *given) {
    bench_env env = {.seed = given->seed, .no_cache = given->no_cache};
    bench_error error;
    char command[2048];
    if (given->name_count != 1 || !given->out) {
        return fail_usage("paper needs the name of a paper and --out FOLDER");
    }
    bench_options_join(given, command, sizeof command);
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

static int command_suite(const bench_options *given) {
    bench_env env = {.seed = given->seed, .no_cache = given->no_cache};
    bench_error error;
    char command[2048];
    if (!given->out) {
        return fail_usage("suite needs --out FOLDER");
    }
    if (bench_env_open(&env, given->device, &error)) {
        fprintf(stderr, "clump-bench: %s\n", error.text);
        return EXIT_USAGE;
    }
    bench_options_join(given, command, sizeof command);
    int failed = bench_suite(&env, given->names, given->name_count, given->repeat, given->out,
                             command, &error);
    if (failed < 0) {
        fprintf(stderr, "clump-bench: %s\n", error.text);
    }
    bench_env_close(&env);
    return failed ? 1 : 0;
}

static int command_report(const bench_options *given) {
    bench_error error;
    if (given->name_count != 1) {
        return fail_usage("report needs the folder of a suite");
    }
    if (bench_summary(given->names[0], &error)) {
        fprintf(stderr, "clump-bench: %s\n", error.text);
        return EXIT_USAGE;
    }
    return 0;
}

static int command_compare(const bench_options *given) {
    bench_error error;
    if (given->name_count != 2) {
        return fail_usage("compare needs two files");
    }
    if (bench_compare(given->names[0], given->names[1], &error)) {
        fprintf(stderr, "clump-bench: %s\n", error.text);
        return EXIT_USAGE;
    }
    return 0;
}

static int command_devices(const bench_options *given) {
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
    int (*run)(const bench_options *given);
} commands[] = {
    {"list", 0, command_list},
    {"devices", 0, command_devices},
    {"run", BENCH_TAKES_NAMES | BENCH_TAKES_VALUES | BENCH_TAKES_REPEAT | BENCH_TAKES_JSON,
     command_run},
    {"suite", BENCH_TAKES_NAMES | BENCH_TAKES_OUT | BENCH_TAKES_REPEAT, command_suite},
    {"report", BENCH_TAKES_NAMES, command_report},
    {"compare", BENCH_TAKES_NAMES, command_compare},
    {"demo", 0, command_demo},
    {"paper", BENCH_TAKES_NAMES | BENCH_TAKES_REPEAT | BENCH_TAKES_OUT | BENCH_TAKES_PAPER,
     command_paper}};

int main(int argc, char **argv) {
    bench_options given;
    bench_error error;
    const char *command = argc > 1 ? argv[1] : "";
    if (strcmp(command, "help") == 0 || strcmp(command, "--help") == 0) {
        print_usage(stdout);
        return 0;
    }
    if (argc < 2) {
        print_usage(stderr);
        return EXIT_USAGE;
    }
    if (bench_options_parse(&given, argc, argv, &error)) {
        return fail_usage(error.text);
    }
    for (size_t i = 0; i < sizeof commands / sizeof *commands; i++) {
        if (strcmp(command, commands[i].name) == 0) {
            return bench_options_refuse(&given, commands[i].takes, &error)
                       ? fail_usage(error.text)
                       : commands[i].run(&given);
        }
    }
    bench_error_set(&error,
                    "unknown command '%s'; there are list, devices, run, suite, report, compare, "
                    "demo, paper",
                    command);
    return fail_usage(error.text);
}
