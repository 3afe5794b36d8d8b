/* The benchmark survey-oom: how much of a heap can be used before a request for raw memory gets
 * null.
 *
 * Launches of `items` requests until one of them gets null; then, with the memory that there is,
 * until no request of a launch gets anything:
 *
 *     first_null  bytes asked for and given before the launch with the first null, and in it,
 *                 against heap_mb
 *     of_ideal    the same when no request gets anything more
 *     requests    that were served
 *
 * The check: the memory of every request has what the request wrote, all is freed, and nothing is
 * left.
 *
 * Read first: bench.h, survey.h.
 */
#include <inttypes.h>
#include <stdlib.h>

#include "bench/harness/bench.h"
#include "bench/harness/registry.h"
#include "survey.h"

typedef struct oom {
    survey s;
    cl_uint *handles; /* of one launch */
    uint32_t launches, room;
    uint64_t served, bytes, nulls;
} oom;

/* A launch with handles of its own. *served: how many requests got memory. */
static int ask(oom *o, uint64_t *served) {
    survey *s = &o->s;
    double us;
    *served = 0;
    s->first = o->launches++ * s->items;
    s->seed++;
    if (survey_set_requests(s) || survey_work(s, &us) || survey_read(s, o->handles)) return -1;
    for (uint32_t i = 0; i < s->items; i++) {
        if (o->handles[i]) {
            ++*served;
            o->bytes += survey_bytes_of(s, i);
        } else {
            o->nulls++;
        }
    }
    o->served += *served;
    return 0;
}

/* Compare and free what each launch got. */
static int empty(oom *o, uint32_t first_seed) {
    survey *s = &o->s;
    survey_found found;
    double us;
    if (bench_rig_verify(&s->rig, o->nulls)) return -1;
    for (uint32_t i = 0; i < o->launches; i++) {
        s->first = i * s->items;
        s->seed = first_seed + i + 1;
        if (survey_set_requests(s) || survey_compare(s, &found) || survey_free(s, &us)) return -1;
    }
    return survey_verify_empty(s, 0);
}

static int run_round(void *self, uint32_t number, int is_measured) {
    oom *o = self;
    bench_results *results = o->s.rig.results;
    uint32_t first_seed = o->s.seed;
    double first_null = 0;
    uint64_t served = 1;
    (void)number;
    o->served = o->bytes = o->nulls = 0;
    for (o->launches = 0; served && o->launches < o->room;) {
        if (ask(o, &served)) return -1;
        if (o->nulls && first_null == 0) first_null = (double)o->bytes;
    }
    bench_check(results, !served, "the heap does not become full in %u launches", o->launches);
    if (empty(o, first_seed)) return -1;
    if (!is_measured) return 0;
    bench_sample(results, "first_null", "share", first_null / (double)o->s.heap_bytes);
    bench_sample(results, "of_ideal", "share", (double)o->bytes / (double)o->s.heap_bytes);
    bench_sample(results, "requests", "number", (double)o->served);
    return 0;
}

static int begin(void *self, bench_env *env, const bench_values *values, bench_results *results) {
    oom *o = self;
    *o = (oom){0};
    if (survey_create(&o->s, env, values, results)) return -1;
    uint64_t most = o->s.heap_bytes / ((uint64_t)o->s.items * o->s.low);
    o->room = (uint32_t)(2 * most + 64);
    o->handles = malloc(o->s.items * sizeof *o->handles);
    if (!o->handles) return bench_error_set(&results->error, "no memory for handles");
    return survey_set_room(&o->s, o->room);
}

static int finish(void *self) {
    oom *o = self;
    bench_check(o->s.rig.results, 1,
                "%" PRIu64 " requests served, then null; no shared byte, all freed again",
                o->served);
    return 0;
}

static void end(void *self) {
    oom *o = self;
    survey_release(&o->s);
    free(o->handles);
}

static const bench_param params[] = {SURVEY_PARAMS("10000", "64", "0"),
                                     {NULL, BENCH_INT, NULL, NULL, 0, 0, NULL}};

const bench_descriptor bench_survey_oom = {
    .name = "survey-oom",
    .sentence = "How much of a heap can be used before a request for raw memory gets null",
    .params = params,
    .repeat = 3,
    .bytes = sizeof(oom),
    .begin = begin,
    .round = run_round,
    .finish = finish,
    .end = end};
