/* The benchmark survey-alloc: the survey's tests of performance, of mixed sizes (low), of scaling
 * (items), and of fragmentation. All requests at once, then all frees, round by round in the same
 * heap.
 *
 *     alloc_ms, free_ms      all launches, with the launches before it that look for room
 *     alloc_rate, free_rate  requests
 *     range                  from the first byte of all memory to the last one, against the bytes
 *                            asked for: the survey's fragmentation; 1 is the least
 *
 * Read first: bench.h, survey.h.
 */
#include <inttypes.h>

#include "bench/harness/bench.h"
#include "bench/harness/registry.h"
#include "survey.h"

#define WARP 32

typedef struct survey_alloc {
    survey survey; /* with the requests of one launch, or of all */
    uint32_t items, launches;
} survey_alloc;

static int begin(void *self, bench_env *env, const bench_values *values, bench_results *results) {
    survey_alloc *a = self;
    survey *s = &a->survey;
    if (survey_create(s, env, values, results)) return -1;
    s->stride = bench_is(values, "who", "warp") ? WARP : 1;
    a->items = s->items;
    a->launches = bench_u32(values, "launches");
    if (a->launches > 1 && s->low != s->high)
        return bench_error_set(&results->error,
                               "requests of several launches are all alike: low=0");
    size_t bytes = (size_t)a->items * a->launches * sizeof(cl_uint);
    return survey_set_room(s, a->launches) || bench_rig_write(&s->rig, s->handles, bytes, NULL) ? -1
                                                                                                : 0;
}

/* The requests of one launch, or of all. */
static int choose(survey_alloc *a, uint32_t launches) {
    a->survey.items = a->items * launches;
    return survey_set_requests(&a->survey);
}

static int run_round(void *self, uint32_t number, int is_measured) {
    survey_alloc *a = self;
    survey *s = &a->survey;
    bench_results *results = s->rig.results;
    survey_found found;
    double make_us, write_us, free_us;
    (void)number;
    if (choose(a, 1) || survey_make_row(s, a->launches, &make_us) || choose(a, a->launches) ||
        survey_write(s, &write_us) || survey_verify(s, &found) || choose(a, 1) ||
        survey_free_row(s, a->launches, &free_us) || choose(a, a->launches) ||
        survey_verify_empty(s, 0)) {
        return -1;
    }
    bench_check(results, !found.nulls, "%" PRIu64 " requests got null", found.nulls);
    if (!is_measured) return 0;
    bench_sample(results, "alloc_ms", "ms", make_us * 1e-3);
    bench_sample(results, "free_ms", "ms", free_us * 1e-3);
    bench_sample(results, "alloc_rate", "G/s", s->items / make_us * 1e-3);
    bench_sample(results, "free_rate", "G/s", s->items / free_us * 1e-3);
    bench_sample(results, "range", "ratio",
                 (double)found.range_bytes / (double)survey_bytes_all(s));
    return 0;
}

static int finish(void *self) {
    survey *s = &((survey_alloc *)self)->survey;
    bench_check(s->rig.results, 1, "%u requests: no null, no shared byte, all freed again",
                s->items);
    return 0;
}

static void end(void *self) {
    survey_release(&((survey_alloc *)self)->survey);
}

static const bench_param params[] = {
    SURVEY_PARAMS("100000", "64", "0"),
    {"launches", BENCH_INT, "1", "in a row, timed together, each with requests of its own", 1, 1024,
     NULL},
    {"who", BENCH_ENUM, "thread", "asks: each work-item, or one of 32", 0, 0, "thread|warp"},
    {NULL, BENCH_INT, NULL, NULL, 0, 0, NULL}};

const bench_descriptor bench_survey_alloc = {
    .name = "survey-alloc",
    .sentence =
        "Raw memory asked for and freed: sizes, mixed sizes, numbers of work-items, fragmentation",
    .params = params,
    .repeat = 20,
    .bytes = sizeof(survey_alloc),
    .warm_up = 2,
    .begin = begin,
    .round = run_round,
    .finish = finish,
    .end = end};
