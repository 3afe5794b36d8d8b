/* A population: objects of up to four classes of different sizes, subclasses of one, that
 * work-items make and free at random, each responsible for an entry of a table of references.
 *
 * What alloc-mixed, alloc-churn, alloc-exhaust and capacity have in common. Who dies and what is
 * born follows from entry and seed alone; where it lies does not.
 *
 * Read first: rig.h, population.cl.
 */
#ifndef BENCH_POPULATION_H
#define BENCH_POPULATION_H

#include "rig.h"

#define POPULATION_KINDS_MAX 4

/* Lines of a list of parameters. */
/* clang-format off */
#define POPULATION_PARAMS(heap_mb_initial)                                                         \
    {"sizes", BENCH_STRING, "16,32,64,128", "bytes of an object of each class, 1 to 4 classes", 0, \
     0, NULL},                                                                                     \
    {"heap_mb", BENCH_INT, heap_mb_initial, "size of the heap in MiB", 1, 1e6, NULL},              \
    {"block_rows", BENCH_INT, "0", "rows of a block; 0: from the heap", 0, 64, NULL}
/* clang-format on */

enum population_kernel {
    POPULATION_STEP,
    POPULATION_VERIFY,
    POPULATION_CLEAR,
    POPULATION_SUM,
    POPULATION_INIT /* that of class 0; the others follow */
};

typedef struct population {
    bench_rig rig;
    uint32_t kinds;
    uint32_t bytes[POPULATION_KINDS_MAX];    /* of an object */
    uint32_t capacity[POPULATION_KINDS_MAX]; /* objects of a block */
    clump_heap_info layout;
    uint64_t heap_bytes; /* asked for */
    uint32_t entries;
    cl_mem ids, before, tallies;
} population;

/* What was found after some steps. */
typedef struct population_count {
    uint64_t objects[POPULATION_KINDS_MAX];
    uint64_t all;         /* their sum */
    uint64_t made, freed; /* since the last count */
    uint64_t object_bytes;
    double fragmentation; /* F over all classes */
    uint32_t free_blocks;
    uint64_t slots[POPULATION_KINDS_MAX]; /* of the blocks in use */
} population_count;

/* Heap and kernels for the parameters POPULATION_PARAMS and `tuning`; no table yet. */
int population_create(population *p, bench_env *env, const bench_values *values,
                      clump_alloc_tuning tuning, bench_results *results);
void population_release(population *p);

/* Numbers with commas between, of a string parameter. What is wrong is said with what would be
 * right. */
typedef struct population_range {
    uint32_t least, most, step;
} population_range;
int population_parse(const bench_values *values, const char *key, const population_range *range,
                     uint32_t *numbers, uint32_t *count, bench_error *error);

/* Statistics of the heap and of each class; both optional. */
int population_stats(population *p, clump_heap_stats *all, clump_class_stats *kinds);

/* Objects of one class by a do-new, tagged 0, 1, ...; they are not in the table. */
int population_do_new(population *p, uint32_t kind, uint64_t count, uint64_t *made);

/* Objects that fit, if there are equally many of each class. */
uint64_t population_room(const population *p);

/* The table, empty. */
int population_create_table(population *p, uint64_t entries);

/* One launch over the entries first .. end - 1. */
typedef struct population_move {
    uint32_t first, end, seed;
    double die;  /* probability that an object dies, 0 .. 1 */
    int is_born; /* 1: every entry that was empty asks for an object, of any class */
} population_move;

/* `us` is what it took. */
int population_step(population *p, const population_move *move, double *us);

/* Requests that got null since this, or population_verify(), was called last. */
int population_fetch_nulls(population *p, uint64_t *nulls);

#define POPULATION_FETCHED UINT64_MAX

/* Count, and verify that every object is the one that its entry knows, that the heap has as many of
 * each class, its invariants, and that since the last count `requests` objects were asked for, of
 * which all that were not made were reported (POPULATION_FETCHED: their reports were fetched
 * already). What is wrong fails the check. */
int population_verify(population *p, uint64_t requests, population_count *count);

/* Free all objects, and verify that no block stays. */
int population_clear(population *p);

#endif
