/* Reading the command line. See options.h. */
#include "options.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int parse_u32(const char *text, uint32_t max, uint32_t *number) {
    char *end = NULL;
    errno = 0;
    unsigned long long value = strtoull(text, &end, 10);
    if (errno || !isdigit((unsigned char)text[0]) || *end || value > max) {
        return 0;
    }
    *number = (uint32_t)value;
    return 1;
}

static int take_option(bench_options *given, const char *name, const char *value,
                       bench_error *error) {
    if (strcmp(name, "--device") == 0) {
        given->device = value;
    } else if (strcmp(name, "--json") == 0) {
        given->json = value;
    } else if (strcmp(name, "--timeline") == 0) {
        given->timeline = value;
    } else if (strcmp(name, "--out") == 0) {
        given->out = value;
    } else if (strcmp(name, "--data") == 0) {
        given->data = value;
    } else if (strcmp(name, "--scale") == 0) {
        if (strcmp(value, "full") != 0 && strcmp(value, "small") != 0) {
            return bench_error_set(error, "--scale takes full or small, not '%s'", value);
        }
        given->scale = value;
    } else if (strcmp(name, "--only") == 0 || strcmp(name, "--from") == 0) {
        int is_only = strcmp(name, "--only") == 0;
        size_t *count = is_only ? &given->only_count : &given->from_count;
        if (*count == BENCH_NAMES_MAX) {
            return bench_error_set(error, "too many of %s", name);
        }
        (is_only ? given->only : given->from)[(*count)++] = value;
    } else if (strcmp(name, "--repeat") == 0) {
        if (!parse_u32(value, BENCH_REPEAT_MAX, &given->repeat) || given->repeat == 0) {
            return bench_error_set(error, "--repeat takes a number from 1 to 1000000, not '%s'",
                                   value);
        }
    } else if (strcmp(name, "--seed") == 0) {
        if (!parse_u32(value, UINT32_MAX, &given->seed)) {
            return bench_error_set(error, "--seed takes a number from 0 to 4294967295, not '%s'",
                                   value);
        }
        given->has_seed = 1;
    } else if (strcmp(name, "--set") == 0) {
        if (!strchr(value, '=') || given->set_count == BENCH_SETS_MAX) {
            return bench_error_set(error, "--set takes KEY=VALUE (64 times at most), not '%s'",
                                   value);
        }
        given->sets[given->set_count++] = value;
    } else {
        return bench_error_set(
            error,
            "unknown option '%s'; there are --device, --set, --repeat, --seed, --json, --timeline, "
            "--out, --only, --scale, --data, --from, --no-cache",
            name);
    }
    return 0;
}

int bench_options_parse(bench_options *given, int argc, char **argv, bench_error *error) {
    memset(given, 0, sizeof *given);
    given->seed = 42;
    given->argc = argc;
    given->argv = argv;
    for (int i = 2; i < argc; i++) {
        if (strncmp(argv[i], "--", 2) != 0) {
            if (given->name_count == BENCH_NAMES_MAX) {
                return bench_error_set(error, "too many names at '%s'", argv[i]);
            }
            given->names[given->name_count++] = argv[i];
            continue;
        }
        if (strcmp(argv[i], "--no-cache") == 0) {
            given->no_cache = 1;
            continue;
        }
        if (i + 1 == argc) {
            return bench_error_set(error, "%s needs a value", argv[i]);
        }
        if (take_option(given, argv[i], argv[i + 1], error)) {
            return -1;
        }
        i++;
    }
    return 0;
}

int bench_options_refuse(const bench_options *given, unsigned takes, bench_error *error) {
    if (!(takes & BENCH_TAKES_NAMES) && given->name_count) {
        return bench_error_set(error, "unexpected '%s'", given->names[0]);
    }
    if (!(takes & BENCH_TAKES_VALUES) && given->set_count) {
        return bench_error_set(error, "--set belongs to the command run");
    }
    if (!(takes & BENCH_TAKES_REPEAT) && given->repeat) {
        return bench_error_set(error, "--repeat belongs to the commands run, suite and paper");
    }
    if (!(takes & BENCH_TAKES_JSON) && given->json) {
        return bench_error_set(error, "--json belongs to the command run");
    }
    if (!(takes & BENCH_TAKES_JSON) && given->timeline) {
        return bench_error_set(error, "--timeline belongs to the command run");
    }
    if (!(takes & BENCH_TAKES_PAPER) &&
        (given->only_count || given->from_count || given->scale || given->data)) {
        return bench_error_set(error,
                               "--only, --scale, --data and --from belong to the command paper");
    }
    if (!(takes & BENCH_TAKES_OUT) && given->out) {
        return bench_error_set(error, "--out belongs to the commands suite and paper");
    }
    return 0;
}

int bench_options_apply(const bench_options *given, bench_values *values, bench_error *error) {
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

void bench_options_join(const bench_options *given, char *text, size_t bytes) {
    size_t used = (size_t)snprintf(text, bytes, "clump-bench");
    for (int i = 1; i < given->argc && used < bytes; i++) {
        int n = snprintf(text + used, bytes - used, " %s", given->argv[i]);
        used += n > 0 ? (size_t)n : 0;
    }
}
