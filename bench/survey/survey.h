/* What the tests of the survey of GPU allocators (Winter, Parger, Mlakar, Steinberger: Are dynamic
 * memory managers on GPUs slow? PPoPP 2021) have in common, on raw memory of a heap without a
 * schema: requests, each of a size that follows from its number, and what their memory has in it.
 *
 * Each function returns 0, or -1 with the reason in rig.results->error; what is wrong on the device
 * fails the check.
 *
 * Read first: bench/micro/rig.h, survey.cl.
 */
#ifndef BENCH_SURVEY_H
#define BENCH_SURVEY_H

#include "bench/micro/rig.h"

enum {
    SURVEY_MAKE,
    SURVEY_FREE,
    SURVEY_WRITE,
    SURVEY_VERIFY,
    SURVEY_WORK,
    SURVEY_COUNT,
    SURVEY_SUMS,
    SURVEY_PLACE,
    SURVEY_KERNELS
};

typedef struct survey {
    bench_rig rig;
    cl_uint items;     /* requests of a launch */
    cl_uint first;     /* where its handles begin */
    cl_uint stride;    /* one of so many work-items asks */
    cl_uint low, high; /* bytes of a request */
    cl_uint seed;
    uint64_t heap_bytes;
    cl_mem handles, found;
} survey;

typedef struct survey_found {
    uint64_t nulls;
    uint64_t range_bytes; /* from the first byte of all memory to the last one */
} survey_found;

/* Lines of a list of parameters. */
/* clang-format off */
#define SURVEY_PARAMS(items_, bytes_, low_)                                                        \
    {"items", BENCH_INT, items_, "requests", 1, 1u << 26, NULL},                                   \
    {"bytes", BENCH_INT, bytes_, "of a request, at most", 1, 1u << 28, NULL},                      \
    {"low", BENCH_INT, low_, "of the smallest request; 0: all are alike", 0, 1u << 28, NULL},      \
    BENCH_RIG_HEAP_PARAMS,                                                                         \
    BENCH_TUNING_PARAMS
/* clang-format on */

/* A heap with room for all requests several times over, unless heap_mb says otherwise; handles of
 * one launch. */
int survey_create(survey *s, bench_env *env, const bench_values *values, bench_results *results);
void survey_release(survey *s);

/* Handles for so many launches instead, where `first` chooses; and those of one. */
int survey_set_room(survey *s, uint32_t launches);
int survey_read(survey *s, cl_uint *handles);

/* Tell the kernels of a change of handles, items, first, stride or seed. */
int survey_set_requests(survey *s);

/* low, high and seed as arguments `index` on. */
int survey_set_sizes(survey *s, size_t kernel, uint32_t index);

uint32_t survey_bytes_of(const survey *s, uint32_t item);
uint64_t survey_bytes_all(const survey *s);

int survey_make(survey *s, double *us);
/* So many launches in a row, timed together, whose handles follow each other. */
int survey_make_row(survey *s, uint32_t launches, double *us);
int survey_free_row(survey *s, uint32_t launches, double *us);
int survey_write(survey *s, double *us);
int survey_work(survey *s, double *us); /* make and write in one launch */
int survey_free(survey *s, double *us);

/* Compare the contents of all memory, after survey_write() or survey_work(). */
int survey_compare(survey *s, survey_found *found);

/* The same; and kernels reported so many nulls and nothing else, the heap's invariants hold, and it
 * has so much memory. */
int survey_verify(survey *s, survey_found *found);

/* After all was freed: nothing is left. */
int survey_verify_empty(survey *s, uint64_t nulls);

#endif
