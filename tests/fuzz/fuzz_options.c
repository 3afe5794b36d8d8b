/* Fuzzing of clump-bench's command line: options, what a command takes, and "key=value".
 *
 * The input's lines are the arguments. What must hold for all bytes: an error has words; what was
 * accepted is in its range, as its parameter says; texts are those that were given; the joined text
 * ends.
 * Read first: fuzz.h, bench/harness/options.h.
 */
#include <math.h>

#include "bench/harness/options.h"
#include "fuzz.h"

#define ARGUMENTS_MAX 200

static const bench_param params[] = {
    {"n", BENCH_INT, "1e6", "objects", 1, 4294967295.0, NULL},
    {"seed", BENCH_INT, "42", "seed", 0, 4294967295.0, NULL},
    {"share", BENCH_FLOAT, "0.5", "a share", 0, 1, NULL},
    {"kind", BENCH_ENUM, "one", "the kind", 0, 0, "one|two|three"},
    {"text", BENCH_STRING, "", "a file", 0, 0, NULL},
    {NULL, BENCH_INT, NULL, NULL, 0, 0, NULL},
};
static const bench_preset presets[] = {
    {"small", "ours", "n=1000 share=0.25 text=small.txt"},
    {"large", "somebody's", "n=2e6 kind=two"},
    {NULL, NULL, NULL},
};

static void check_values(const bench_values *values) {
    for (int i = 0; params[i].key; i++) {
        const bench_value *value = &values->values[i];
        char range[256];
        REQUIRE(memchr(value->text, 0, sizeof value->text));
        bench_describe_param(&params[i], range, sizeof range);
        fuzz_check_words(range, sizeof range);
        if (params[i].kind == BENCH_INT || params[i].kind == BENCH_FLOAT)
            REQUIRE(value->number >= params[i].min && value->number <= params[i].max);
        if (params[i].kind == BENCH_INT) REQUIRE((double)(int64_t)value->number == value->number);
        if (values->preset) (void)bench_is_overridden(values, i);
    }
    REQUIRE(bench_is(values, "kind", "one") || bench_is(values, "kind", "two") ||
            bench_is(values, "kind", "three"));
    REQUIRE(bench_u32(values, "n") >= 1 && bench_float(values, "share") <= 1);
}

static void check_options(const bench_options *o, int argc) {
    REQUIRE(o->name_count <= BENCH_NAMES_MAX && o->set_count <= BENCH_SETS_MAX);
    REQUIRE(o->only_count <= BENCH_NAMES_MAX && o->from_count <= BENCH_NAMES_MAX);
    REQUIRE(o->name_count + 2 * (o->set_count + o->only_count + o->from_count) <= (size_t)argc);
    REQUIRE(o->repeat <= BENCH_REPEAT_MAX && (o->has_seed || o->seed == 42));
    REQUIRE(!o->scale || strcmp(o->scale, "full") == 0 || strcmp(o->scale, "small") == 0);
    bench_error error;
    for (unsigned takes = 0; takes < 64; takes++)
        if (bench_options_refuse(o, takes, &error)) fuzz_check_words(error.text, sizeof error.text);
    REQUIRE(!bench_options_refuse(o, 63, &error));
    char joined[256];
    bench_options_join(o, joined, sizeof joined);
    fuzz_check_words(joined, sizeof joined);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes) {
    char *text = malloc(bytes + 1), *argv[ARGUMENTS_MAX + 1], program[] = "clump-bench";
    int argc = 1;
    REQUIRE(text);
    if (bytes) memcpy(text, data, bytes);
    text[bytes] = 0;
    argv[0] = program;
    for (char *at = text, *end; argc < ARGUMENTS_MAX; at = end + 1) {
        argv[argc++] = at;
        end = strchr(at, '\n');
        if (!end) break;
        *end = 0;
    }
    argv[argc] = NULL;
    bench_options options;
    bench_values values;
    bench_error error;
    bench_values_init(&values, params, presets);
    if (bench_options_parse(&options, argc, argv, &error)) {
        fuzz_check_words(error.text, sizeof error.text);
    } else {
        check_options(&options, argc);
        if (bench_options_apply(&options, &values, &error))
            fuzz_check_words(error.text, sizeof error.text);
        check_values(&values);
    }
    if (bench_values_set_all(&values, argv[1], &error)) /* as a preset sets them */
        fuzz_check_words(error.text, sizeof error.text);
    check_values(&values);
    free(text);
    return 0;
}
