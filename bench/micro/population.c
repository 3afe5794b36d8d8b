/* Objects of several classes that come and go. See population.h. */
#include "population.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define TALLIES 8
#define VERIFIERS 16384

static const population_range size_range = {8, 4096, 4}; /* the tag and a word, at least */

static const char *const kernel_names[] = {
    "population_step",  "population_verify", "population_clear", "population_sum",
    "population_init0", "population_init1",  "population_init2", "population_init3"};

int population_parse(const bench_values *values, const char *key, const population_range *range,
                     uint32_t *numbers, uint32_t *count, bench_error *error) {
    const char *text = bench_text(values, key), *at = text;
    for (*count = 0; *count < POPULATION_KINDS_MAX; at++) {
        char *end;
        errno = 0;
        unsigned long number = strtoul(at, &end, 10);
        if (end == at || errno || number < range->least || number > range->most ||
            number % range->step) {
            break;
        }
        numbers[(*count)++] = (uint32_t)number;
        at = end;
        if (!*at) return 0;
        if (*at != ',') break;
    }
    return bench_error_set(error,
                           "%s: '%.100s' is wrong at '%.20s': 1 to %d numbers with commas between, "
                           "each a multiple of %u from %u to %u, are right",
                           key, text, at, POPULATION_KINDS_MAX, range->step, range->least,
                           range->most);
}

static int create_rig(population *p, bench_env *env, const bench_values *values,
                      clump_alloc_tuning tuning, bench_results *results) {
    char schema[512], options[256];
    size_t schema_bytes =
        (size_t)snprintf(schema, sizeof schema, "abstract class Thing { uint tag; }\n");
    size_t option_bytes = (size_t)snprintf(options, sizeof options,
                                           "-DKINDS=KINDS_%u -DKIND_COUNT=%uu", p->kinds, p->kinds);
    for (uint32_t k = 0; k < p->kinds; k++) {
        uint32_t words = p->bytes[k] / 4 - 1;
        schema_bytes += (size_t)snprintf(schema + schema_bytes, sizeof schema - schema_bytes,
                                         "class Thing%u : Thing { uint payload[%u]; }\n", k, words);
        option_bytes += (size_t)snprintf(options + option_bytes, sizeof options - option_bytes,
                                         " -DWORDS_%u=%u", k, words);
    }
    p->heap_bytes = (uint64_t)bench_int(values, "heap_mb") << 20;
    bench_rig_desc desc = {.env = env,
                           .results = results,
                           .heap = {.text = schema,
                                    .bytes = p->heap_bytes,
                                    .block_rows = (uint32_t)bench_int(values, "block_rows")},
                           .files = {"bench/harness/hash.clh", "bench/micro/population.cl"},
                           .options = options,
                           .tuning = tuning,
                           .kernels = kernel_names,
                           .kernel_count = POPULATION_INIT + p->kinds};
    return bench_rig_create(&p->rig, &desc);
}

int population_stats(population *p, clump_heap_stats *all, clump_class_stats *kinds) {
    clump_class_stats classes[POPULATION_KINDS_MAX + 1] = {
        {.size = sizeof *classes}}; /* the first is Thing's */
    clump_status status = clump_heap_read_stats(p->rig.heap, all, classes, p->kinds + 1);
    if (kinds) memcpy(kinds, classes + 1, p->kinds * sizeof *kinds);
    return status == CLUMP_OK ? 0 : bench_rig_fail(&p->rig, "the statistics", status);
}

int population_do_new(population *p, uint32_t kind, uint64_t count, uint64_t *made) {
    char name[16];
    snprintf(name, sizeof name, "Thing%u", kind);
    clump_status status = clump_heap_do_new(p->rig.heap, p->rig.kernels[POPULATION_INIT + kind],
                                            name, count, made, NULL);
    return status == CLUMP_OK ? 0 : bench_rig_fail(&p->rig, "a do-new", status);
}

/* A block of each class tells. */
static int find_capacities(population *p) {
    clump_class_stats kinds[POPULATION_KINDS_MAX] = {{.size = sizeof(clump_class_stats)}};
    for (uint32_t k = 0; k < p->kinds; k++) {
        uint64_t made = 0;
        if (population_do_new(p, k, 1, &made)) return -1;
        if (!made) {
            return bench_error_set(p->rig.error, "the heap has not one block for each class");
        }
    }
    if (population_stats(p, NULL, kinds)) return -1;
    for (uint32_t k = 0; k < p->kinds; k++) p->capacity[k] = (uint32_t)kinds[k].slots;
    return population_clear(p);
}

int population_create(population *p, bench_env *env, const bench_values *values,
                      clump_alloc_tuning tuning, bench_results *results) {
    *p = (population){.rig = {.env = env, .results = results, .error = &results->error}};
    if (population_parse(values, "sizes", &size_range, p->bytes, &p->kinds, p->rig.error) ||
        create_rig(p, env, values, tuning, results)) {
        return -1;
    }
    p->layout = *clump_heap_get_info(p->rig.heap);
    return find_capacities(p);
}

void population_release(population *p) {
    bench_rig_release(&p->rig);
}

uint64_t population_room(const population *p) {
    double blocks_per_round = 0; /* of one object of each class */
    for (uint32_t k = 0; k < p->kinds; k++) blocks_per_round += 1.0 / p->capacity[k];
    return (uint64_t)(p->layout.block_count / blocks_per_round) * p->kinds;
}

int population_create_table(population *p, uint64_t entries) {
    bench_rig *rig = &p->rig;
    if (entries == 0 || entries >= UINT32_MAX) {
        return bench_error_set(rig->error,
                               "%" PRIu64
                               " objects: 1 to 2^32 - 2 are possible; choose a heap_mb "
                               "that suits",
                               entries);
    }
    p->entries = (uint32_t)entries;
    size_t bytes = (size_t)entries * sizeof(cl_uint);
    return bench_rig_buffer(rig, bytes, &p->ids) || bench_rig_buffer(rig, bytes, &p->before) ||
                   bench_rig_buffer(rig, TALLIES * sizeof(cl_uint), &p->tallies) ||
                   bench_rig_write(rig, p->ids, bytes, NULL) ||
                   bench_rig_write(rig, p->before, bytes, NULL) ||
                   bench_rig_arg(rig, POPULATION_STEP, 0, sizeof p->ids, &p->ids) ||
                   bench_rig_arg(rig, POPULATION_VERIFY, 0, sizeof p->ids, &p->ids) ||
                   bench_rig_arg(rig, POPULATION_VERIFY, 1, sizeof p->before, &p->before) ||
                   bench_rig_arg(rig, POPULATION_VERIFY, 2, sizeof p->entries, &p->entries) ||
                   bench_rig_arg(rig, POPULATION_VERIFY, 3, sizeof p->tallies, &p->tallies)
               ? -1
               : 0;
}

int population_step(population *p, const population_move *move, double *us) {
    cl_uint values[] = {move->first, move->end, move->seed,
                        (cl_uint)(move->die * (double)UINT32_MAX), move->is_born != 0};
    for (uint32_t i = 0; i < sizeof values / sizeof *values; i++) {
        if (bench_rig_arg(&p->rig, POPULATION_STEP, i + 1, sizeof *values, &values[i])) return -1;
    }
    return bench_rig_launch(&p->rig, POPULATION_STEP, move->end - move->first, us);
}

int population_fetch_nulls(population *p, uint64_t *nulls) {
    clump_device_report report = {.size = sizeof report};
    clump_status status = clump_heap_take_errors(p->rig.heap, &report);
    *nulls = report.errors[CLUMP_DEVICE_OUT_OF_MEMORY].count;
    return status == CLUMP_OK || status == CLUMP_ERR_DEVICE
               ? 0
               : bench_rig_fail(&p->rig, "the fetch of errors", status);
}

/* What the objects say, from the device. */
static int tally(population *p, cl_uint *tallies) {
    bench_rig *rig = &p->rig;
    size_t bytes = TALLIES * sizeof *tallies;
    double us;
    uint64_t items = p->entries < VERIFIERS ? p->entries : VERIFIERS;
    if (bench_rig_write(rig, p->tallies, bytes, NULL) ||
        bench_rig_launch(rig, POPULATION_VERIFY, items, &us) ||
        bench_rig_read(rig, p->tallies, bytes, tallies)) {
        return -1;
    }
    cl_int code = clEnqueueCopyBuffer(rig->env->queue, p->ids, p->before, 0, 0,
                                      (size_t)p->entries * sizeof(cl_uint), 0, NULL, NULL);
    return code == CL_SUCCESS ? 0 : bench_error_cl(rig->error, "keeping the references", code);
}

int population_verify(population *p, uint64_t requests, population_count *count) {
    cl_uint tallies[TALLIES];
    clump_heap_stats all = {.size = sizeof all};
    clump_class_stats kinds[POPULATION_KINDS_MAX] = {{.size = sizeof *kinds}};
    if (tally(p, tallies) || population_stats(p, &all, kinds)) return -1;
    *count = (population_count){.freed = tallies[0],
                                .made = tallies[1],
                                .fragmentation = all.fragmentation,
                                .free_blocks = all.free_blocks};
    for (uint32_t k = 0; k < p->kinds; k++) {
        count->objects[k] = tallies[4 + k];
        count->all += tallies[4 + k];
        count->object_bytes += (uint64_t)tallies[4 + k] * p->bytes[k];
        count->slots[k] = kinds[k].slots;
        if (kinds[k].objects != tallies[4 + k]) {
            bench_check(p->rig.results, 0,
                        "the table has %u objects of %u bytes, the heap %" PRIu64, tallies[4 + k],
                        p->bytes[k], kinds[k].objects);
        }
    }
    if (tallies[2]) {
        bench_check(p->rig.results, 0, "%u objects are not those that their entries know",
                    tallies[2]);
    }
    return bench_rig_verify(&p->rig, requests == POPULATION_FETCHED ? 0 : requests - count->made);
}

int population_clear(population *p) {
    double us;
    clump_heap_stats all = {.size = sizeof all};
    clump_class_stats kinds[POPULATION_KINDS_MAX] = {{.size = sizeof *kinds}};
    if (bench_rig_do_all(&p->rig, POPULATION_CLEAR, &us) || bench_rig_verify(&p->rig, 0) ||
        population_stats(p, &all, kinds)) {
        return -1;
    }
    if (all.objects || all.free_blocks != p->layout.block_count) {
        bench_check(p->rig.results, 0,
                    "all objects were freed, but %" PRIu64 " objects stay and %u of %u blocks",
                    all.objects, p->layout.block_count - all.free_blocks, p->layout.block_count);
    }
    if (!p->ids) return 0;
    size_t bytes = (size_t)p->entries * sizeof(cl_uint);
    return bench_rig_write(&p->rig, p->ids, bytes, NULL) ||
                   bench_rig_write(&p->rig, p->before, bytes, NULL)
               ? -1
               : 0;
}
