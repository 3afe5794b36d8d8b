/* The benchmark survey-work: work whose output has a size that each work-item finds by itself, with
 * a request for memory and with a prefix sum; and what writing to the memory costs.
 *
 *     work_ms         each work-item asks and fills its memory, in one launch
 *     prefix_ms       the same output by a prefix sum: sums of sizes by group, their sums, then all
 *                     fill their part of one buffer. The buffer is there before; the survey's
 *                     baseline allocates it
 *     prefix_share    prefix_ms against work_ms: above 1, memory from the heap is faster
 *     write_ms        filling alone, memory of the heap; its floor: one buffer with a place for
 *                     each request (survey_place alone)
 *
 * The check: the output of both is what it should be, byte by byte on the device and the prefix
 * sum's on the host, too.
 *
 * Read first: bench.h, survey.h.
 */
#include <inttypes.h>
#include <stdlib.h>

#include "bench/harness/bench.h"
#include "bench/harness/hash.clh"
#include "bench/harness/registry.h"
#include "survey.h"

#define GROUP 256

typedef struct work {
    survey s;
    cl_uint groups;
    uint64_t units; /* of 16 bytes, of the whole output */
    cl_mem sums, places, output;
} work;

static int create_output(work *w) {
    survey *s = &w->s;
    bench_rig *rig = &s->rig;
    w->groups = (s->items + GROUP - 1) / GROUP;
    for (uint32_t i = 0; i < s->items; i++) w->units += (survey_bytes_of(s, i) + 15u) / 16u;
    if (bench_rig_buffer(rig, w->groups * sizeof(cl_uint), &w->sums) ||
        bench_rig_buffer(rig, s->items * sizeof(cl_uint), &w->places) ||
        bench_rig_buffer(rig, w->units * 16, &w->output) ||
        bench_rig_arg(rig, SURVEY_COUNT, 0, sizeof w->sums, &w->sums) ||
        bench_rig_arg(rig, SURVEY_COUNT, 1, sizeof s->items, &s->items) ||
        survey_set_sizes(s, SURVEY_COUNT, 2) ||
        bench_rig_arg(rig, SURVEY_SUMS, 0, sizeof w->sums, &w->sums) ||
        bench_rig_arg(rig, SURVEY_SUMS, 1, sizeof w->groups, &w->groups) ||
        bench_rig_arg(rig, SURVEY_PLACE, 0, sizeof w->sums, &w->sums) ||
        bench_rig_arg(rig, SURVEY_PLACE, 1, sizeof s->items, &s->items) ||
        survey_set_sizes(s, SURVEY_PLACE, 2) ||
        bench_rig_arg(rig, SURVEY_PLACE, 5, sizeof w->places, &w->places) ||
        bench_rig_arg(rig, SURVEY_PLACE, 6, sizeof w->output, &w->output)) {
        return -1;
    }
    return 0;
}

static int begin(void *self, bench_env *env, const bench_values *values, bench_results *results) {
    work *w = self;
    *w = (work){0};
    return survey_create(&w->s, env, values, results) || create_output(w) ? -1 : 0;
}

/* What item `i` wrote at `p`. */
static int is_right(const survey *s, uint32_t i, const uint8_t *p) {
    uint32_t bytes = survey_bytes_of(s, i), words = bytes / 4;
    for (uint32_t k = 0; k < words; k++)
        if (((const uint32_t *)(const void *)p)[k] != bench_hash(i, k)) return 0;
    for (uint32_t k = words * 4; k < bytes; k++)
        if (p[k] != (uint8_t)i) return 0;
    return 1;
}

static int verify_output(work *w) {
    survey *s = &w->s;
    cl_uint *places = malloc(s->items * sizeof *places);
    uint8_t *output = malloc(w->units * 16);
    int result = places && output ? 0 : bench_error_set(s->rig.error, "no memory to compare with");
    if (result == 0)
        result = bench_rig_read(&s->rig, w->places, s->items * sizeof *places, places) ||
                         bench_rig_read(&s->rig, w->output, w->units * 16, output)
                     ? -1
                     : 0;
    uint64_t at = 0;
    for (uint32_t i = 0; result == 0 && i < s->items; i++) {
        if (places[i] != at || !is_right(s, i, output + at * 16))
            bench_check(s->rig.results, 0, "the output of %u by the prefix sum is wrong", i);
        at += (survey_bytes_of(s, i) + 15u) / 16u;
    }
    free(places);
    free(output);
    return result;
}

static int run_round(void *self, uint32_t number, int is_measured) {
    work *w = self;
    survey *s = &w->s;
    bench_results *results = s->rig.results;
    survey_found found;
    double work_us, write_us, free_us, us[3];
    if (survey_work(s, &work_us) || survey_verify(s, &found) || survey_write(s, &write_us) ||
        survey_free(s, &free_us) || survey_verify_empty(s, 0) ||
        bench_rig_launch(&s->rig, SURVEY_COUNT, s->items, &us[0]) ||
        bench_rig_launch(&s->rig, SURVEY_SUMS, 1, &us[1]) ||
        bench_rig_launch(&s->rig, SURVEY_PLACE, s->items, &us[2])) {
        return -1;
    }
    bench_check(results, !found.nulls, "%" PRIu64 " requests got null", found.nulls);
    if (number == 0 && verify_output(w)) return -1;
    if (!is_measured) return 0;
    double prefix_us = us[0] + us[1] + us[2];
    bench_sample(results, "work_ms", "ms", work_us * 1e-3);
    bench_sample(results, "prefix_ms", "ms", prefix_us * 1e-3);
    bench_sample(results, "prefix_share", "ratio", prefix_us / work_us);
    bench_sample(results, "write_ms", "ms", write_us * 1e-3);
    bench_floor(results, "write_ms", us[2] * 1e-3);
    return 0;
}

static int finish(void *self) {
    work *w = self;
    bench_check(w->s.rig.results, 1, "%u outputs, %" PRIu64 " bytes: as written, both ways",
                w->s.items, survey_bytes_all(&w->s));
    return 0;
}

static void end(void *self) {
    survey_release(&((work *)self)->s);
}

static const bench_param params[] = {SURVEY_PARAMS("1048576", "64", "4"),
                                     {NULL, BENCH_INT, NULL, NULL, 0, 0, NULL}};

const bench_descriptor bench_survey_work = {
    .name = "survey-work",
    .sentence =
        "Output of unknown size: a request for raw memory against a prefix sum; writing to it",
    .params = params,
    .repeat = 10,
    .bytes = sizeof(work),
    .warm_up = 2,
    .begin = begin,
    .round = run_round,
    .finish = finish,
    .end = end};
