/* See survey.h. */
#include "survey.h"

#include <inttypes.h>

#include "bench/harness/hash.clh"

#define FOUND_WORDS 5

uint32_t survey_bytes_of(const survey *s, uint32_t item) {
    return s->low == s->high ? s->high
                             : s->low + bench_hash(item, s->seed) % (s->high - s->low + 1);
}

uint64_t survey_bytes_all(const survey *s) {
    uint64_t sum = 0;
    for (uint32_t i = 0; i < s->items; i++) sum += survey_bytes_of(s, i);
    return sum;
}

int survey_set_sizes(survey *s, size_t kernel, uint32_t index) {
    return bench_rig_arg(&s->rig, kernel, index, sizeof s->low, &s->low) ||
           bench_rig_arg(&s->rig, kernel, index + 1, sizeof s->high, &s->high) ||
           bench_rig_arg(&s->rig, kernel, index + 2, sizeof s->seed, &s->seed);
}

int survey_set_requests(survey *s) {
    bench_rig *rig = &s->rig;
    int failed = 0;
    for (size_t kernel = SURVEY_MAKE; kernel <= SURVEY_WORK; kernel++) {
        int has_stride = kernel == SURVEY_MAKE || kernel == SURVEY_FREE;
        failed = failed || bench_rig_arg(rig, kernel, 0, sizeof s->handles, &s->handles) ||
                 bench_rig_arg(rig, kernel, 1, sizeof s->items, &s->items) ||
                 bench_rig_arg(rig, kernel, 2, sizeof s->first, &s->first) ||
                 (has_stride && bench_rig_arg(rig, kernel, 3, sizeof s->stride, &s->stride)) ||
                 (kernel != SURVEY_FREE && survey_set_sizes(s, kernel, has_stride ? 4 : 3));
    }
    return failed || bench_rig_arg(rig, SURVEY_VERIFY, 6, sizeof s->found, &s->found) ? -1 : 0;
}

static uint64_t choose_heap(const survey *s, const bench_values *values) {
    uint64_t asked = (uint64_t)bench_int(values, "heap_mb") << 20;
    uint64_t all = (uint64_t)s->items * (s->high + 16u);
    return asked ? asked : 3 * all + (UINT64_C(64) << 20);
}

int survey_create(survey *s, bench_env *env, const bench_values *values, bench_results *results) {
    static const char *const names[SURVEY_KERNELS] = {
        "survey_make", "survey_free",  "survey_write", "survey_verify",
        "survey_work", "survey_count", "survey_sums",  "survey_place"};
    uint32_t low = bench_u32(values, "low"), high = bench_u32(values, "bytes");
    if (low > high)
        return bench_error_set(&results->error, "low is %u, larger than bytes=%u", low, high);
    *s = (survey){.items = bench_u32(values, "items"),
                  .stride = 1,
                  .low = low ? low : high,
                  .high = high,
                  .seed = env->seed};
    s->heap_bytes = choose_heap(s, values);
    bench_rig_desc desc = {
        .env = env,
        .results = results,
        .heap = {.bytes = s->heap_bytes, .raw = 1, .block_rows = bench_u32(values, "block_rows")},
        .files = {"bench/harness/hash.clh", "bench/harness/sums.clh", "bench/survey/survey.cl"},
        .tuning = bench_tuning_of(values),
        .kernels = names,
        .kernel_count = SURVEY_KERNELS};
    return bench_rig_create(&s->rig, &desc) ||
                   bench_rig_buffer(&s->rig, s->items * sizeof(cl_uint), &s->handles) ||
                   bench_rig_buffer(&s->rig, FOUND_WORDS * sizeof(cl_uint), &s->found) ||
                   survey_set_requests(s)
               ? -1
               : 0;
}

void survey_release(survey *s) {
    bench_rig_release(&s->rig);
}

int survey_set_room(survey *s, uint32_t launches) {
    if ((uint64_t)launches * s->items > UINT32_MAX)
        return bench_error_set(s->rig.error, "%u launches have too many requests", launches);
    return bench_rig_buffer(&s->rig, (size_t)launches * s->items * sizeof(cl_uint), &s->handles);
}

int survey_read(survey *s, cl_uint *handles) {
    return bench_buffer_read(&s->rig.buffers, s->handles, s->first * sizeof *handles,
                             s->items * sizeof *handles, handles, s->rig.error);
}

static int set_first(survey *s, size_t kernel, uint32_t number) {
    cl_uint first = number * s->items;
    return bench_rig_arg(&s->rig, kernel, 2, sizeof first, &first);
}

static int prepare_make(void *self, uint32_t number) {
    return set_first(self, SURVEY_MAKE, number);
}

static int prepare_free(void *self, uint32_t number) {
    return set_first(self, SURVEY_FREE, number);
}

static int launch_row(survey *s, bench_rig_row row, double *us) {
    row.items = (uint64_t)s->items * s->stride;
    row.self = s;
    return bench_rig_launch_row(&s->rig, &row, us);
}

int survey_make_row(survey *s, uint32_t launches, double *us) {
    bench_rig_row row = {.kernel = SURVEY_MAKE, .launches = launches, .prepare = prepare_make};
    return launch_row(s, row, us);
}

int survey_free_row(survey *s, uint32_t launches, double *us) {
    bench_rig_row row = {.kernel = SURVEY_FREE, .launches = launches, .prepare = prepare_free};
    return launch_row(s, row, us);
}

int survey_make(survey *s, double *us) {
    return bench_rig_launch(&s->rig, SURVEY_MAKE, (uint64_t)s->items * s->stride, us);
}

int survey_write(survey *s, double *us) {
    return bench_rig_launch(&s->rig, SURVEY_WRITE, s->items, us);
}

int survey_work(survey *s, double *us) {
    return bench_rig_launch(&s->rig, SURVEY_WORK, s->items, us);
}

int survey_free(survey *s, double *us) {
    return bench_rig_launch(&s->rig, SURVEY_FREE, (uint64_t)s->items * s->stride, us);
}

int survey_compare(survey *s, survey_found *found) {
    cl_uint words[FOUND_WORDS] = {0, 0, 0, UINT32_MAX, 0};
    double us;
    if (bench_rig_write(&s->rig, s->found, sizeof words, words) ||
        bench_rig_launch(&s->rig, SURVEY_VERIFY, s->items, &us) ||
        bench_rig_read(&s->rig, s->found, sizeof words, words)) {
        return -1;
    }
    *found = (survey_found){.nulls = words[0]};
    if (words[4]) found->range_bytes = (uint64_t)(words[4] - words[3]) * 16 + s->high;
    if (words[1] || words[2])
        bench_check(s->rig.results, 0,
                    "%u words are not what their request wrote, %u requests have too little",
                    words[1], words[2]);
    return 0;
}

int survey_verify(survey *s, survey_found *found) {
    clump_heap_stats stats = {.size = sizeof stats};
    if (survey_compare(s, found) || bench_rig_verify(&s->rig, found->nulls) ||
        bench_rig_stats(&s->rig, &stats))
        return -1;
    if (!found->nulls && stats.raw_bytes < survey_bytes_all(s))
        bench_check(s->rig.results, 0, "the heap holds %" PRIu64 " bytes of %" PRIu64,
                    stats.raw_bytes, survey_bytes_all(s));
    return 0;
}

int survey_verify_empty(survey *s, uint64_t nulls) {
    clump_heap_stats stats = {.size = sizeof stats};
    if (bench_rig_verify(&s->rig, nulls) || bench_rig_stats(&s->rig, &stats)) return -1;
    if (stats.raw_bytes || stats.raw_blocks)
        bench_check(s->rig.results, 0, "%" PRIu64 " bytes in %" PRIu64 " blocks stay taken",
                    stats.raw_bytes, stats.raw_blocks);
    return 0;
}
