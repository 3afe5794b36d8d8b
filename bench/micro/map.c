/* The benchmark map: the hash map of cl/api/map.clh, each work-item with a key of its own.
 *
 *     insert_rate         keys that are put in, a list of the map for each; objects are made for
 *                         them
 *     find_rate           keys that are there; find_absent_rate: keys that are not
 *     erase_rate          every other key, in no order of memory
 *     again_rate          the erased keys are put in again, in a map that was not tidied
 *     tidy_rate           keys in the map when it is tidied, half of which it frees
 *     plain_insert_rate, plain_find_rate, plain_find_absent_rate
 *                         a table of fixed size on the same device: open addressing, half full, no
 *                         objects, nothing is erased. It is the floor of a map, and not the same
 *                         work
 *     c_insert_rate, c_find_rate, c_erase_rate
 *                         one thread of C: open addressing, half full; what is erased leaves a mark
 *
 * The check: kernels find each key with its value as long as it is in, and no other; there are as
 * many objects as keys, also after keys were put in again; at the end none. The table and the C program find the same.
 *
 * Read first: bench.h, rig.h, map.cl, cl/api/map.clh.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "bench/harness/bench.h"
#include "bench/harness/hash.clh"
#include "bench/harness/registry.h"
#include "rig.h"

enum { MAKE, INSERT, FIND, ERASE, TIDY, PLAIN_INSERT, PLAIN_FIND, KERNEL_COUNT };

#define ENTRY_BYTES 16u

typedef struct mapping {
    bench_rig rig;
    cl_uint keys, lists, mask; /* mask: places of the plain table, less 1 */
    cl_mem map, faults, plain_keys, plain_values;
    uint32_t *c_keys, *c_values; /* of the C program, as many places */
    uint32_t c_faults;
} mapping;

/* ---- On the device --------------------------------------------------------------------------- */

static int arg(mapping *m, int kernel, uint32_t index, cl_uint value) {
    return bench_rig_arg(&m->rig, (size_t)kernel, index, sizeof value, &value);
}

static void sample(mapping *m, int is_measured, const char *metric, uint32_t keys, double us) {
    if (is_measured) bench_sample(m->rig.results, metric, "M/s", keys / us);
}

static int insert(mapping *m, uint32_t count, cl_uint from, cl_uint step, double *us) {
    return arg(m, INSERT, 1, count) || arg(m, INSERT, 2, from) || arg(m, INSERT, 3, step) ||
           bench_rig_launch(&m->rig, INSERT, count, us);
}

/* All numbers from `from` on; those below `until` that `step` divides are there. */
static int find(mapping *m, cl_uint from, cl_uint until, cl_uint step, double *us) {
    return arg(m, FIND, 1, m->keys) || arg(m, FIND, 2, from) || arg(m, FIND, 3, until) ||
           arg(m, FIND, 4, step) || bench_rig_launch(&m->rig, FIND, m->keys, us);
}

static int erase(mapping *m, uint32_t count, cl_uint from, cl_uint step, double *us) {
    return arg(m, ERASE, 1, count) || arg(m, ERASE, 2, from) || arg(m, ERASE, 3, step) ||
           bench_rig_launch(&m->rig, ERASE, count, us);
}

static int expect_entries(mapping *m, uint32_t expected) {
    uint64_t count = 0;
    clump_status status = clump_heap_read_count(m->rig.heap, "Entry", &count);
    if (status) return bench_rig_fail(&m->rig, "the count of entries", status);
    bench_check(m->rig.results, count == expected, "there are %" PRIu64 " entries, not %u", count,
                expected);
    return 0;
}

static int run_map(mapping *m, int is_measured) {
    uint32_t n = m->keys, odd = n / 2, even = n - odd;
    double us;
    if (insert(m, n, 0, 1, &us)) return -1;
    sample(m, is_measured, "insert_rate", n, us);
    if (expect_entries(m, n) || find(m, 0, n, 1, &us)) return -1;
    sample(m, is_measured, "find_rate", n, us);
    if (find(m, n, n, 1, &us)) return -1;
    sample(m, is_measured, "find_absent_rate", n, us);
    if (erase(m, odd, 1, 2, &us)) return -1;
    sample(m, is_measured, "erase_rate", odd, us);
    if (find(m, 0, n, 2, &us) || insert(m, odd, 1, 2, &us)) return -1;
    sample(m, is_measured, "again_rate", odd, us);
    if (expect_entries(m, n) || find(m, 0, n, 1, &us) || erase(m, odd, 1, 2, &us) ||
        bench_rig_launch(&m->rig, TIDY, m->lists, &us))
        return -1;
    sample(m, is_measured, "tidy_rate", n, us);
    return expect_entries(m, even) || find(m, 0, n, 2, &us) || erase(m, even, 0, 2, &us) ||
           bench_rig_launch(&m->rig, TIDY, m->lists, &us) || expect_entries(m, 0);
}

static int run_plain(mapping *m, int is_measured) {
    uint32_t n = m->keys;
    double us;
    if (bench_rig_write(&m->rig, m->plain_keys, (m->mask + 1ul) * sizeof(cl_uint), NULL) ||
        bench_rig_launch(&m->rig, PLAIN_INSERT, n, &us))
        return -1;
    sample(m, is_measured, "plain_insert_rate", n, us);
    if (arg(m, PLAIN_FIND, 4, 0) || bench_rig_launch(&m->rig, PLAIN_FIND, n, &us)) return -1;
    sample(m, is_measured, "plain_find_rate", n, us);
    if (arg(m, PLAIN_FIND, 4, n) || bench_rig_launch(&m->rig, PLAIN_FIND, n, &us)) return -1;
    sample(m, is_measured, "plain_find_absent_rate", n, us);
    return 0;
}

/* ---- In C ------------------------------------------------------------------------------------ */

#define ERASED UINT32_MAX /* as a value */

static uint32_t c_place(const mapping *m, uint32_t number, uint32_t *key) {
    *key = (number + 1u) * 0x9e3779b1u;
    uint32_t place = bench_hash(*key, 0) & m->mask;
    while (m->c_keys[place] && m->c_keys[place] != *key) place = (place + 1u) & m->mask;
    return place;
}

static void run_c(mapping *m, int is_measured) {
    uint32_t key, n = m->keys;
    memset(m->c_keys, 0, (m->mask + 1ul) * sizeof *m->c_keys);
    double begin = bench_now_us();
    for (uint32_t i = 0; i < n; i++) {
        uint32_t place = c_place(m, i, &key);
        m->c_keys[place] = key;
        m->c_values[place] = i;
    }
    sample(m, is_measured, "c_insert_rate", n, bench_now_us() - begin);
    begin = bench_now_us();
    for (uint32_t i = 0; i < n; i++) m->c_faults += m->c_values[c_place(m, i, &key)] != i;
    sample(m, is_measured, "c_find_rate", n, bench_now_us() - begin);
    begin = bench_now_us();
    for (uint32_t i = 1; i < n; i += 2) m->c_values[c_place(m, i, &key)] = ERASED;
    sample(m, is_measured, "c_erase_rate", n / 2, bench_now_us() - begin);
    for (uint32_t i = 0; i < n; i++)
        m->c_faults += m->c_values[c_place(m, i, &key)] != (i % 2 ? ERASED : i);
}

/* ---- Begin, rounds, end ---------------------------------------------------------------------- */

static int run_round(void *self, uint32_t number, int is_measured) {
    mapping *m = self;
    (void)number;
    if (run_map(m, is_measured) || run_plain(m, is_measured)) return -1;
    run_c(m, is_measured);
    return 0;
}

static int finish(void *self) {
    mapping *m = self;
    cl_uint faults = 1;
    if (bench_rig_read(&m->rig, m->faults, sizeof faults, &faults)) return -1;
    bench_check(m->rig.results, faults == 0 && m->c_faults == 0,
                "%u results of kernels and %u of the C program are wrong", (unsigned)faults,
                (unsigned)m->c_faults);
    bench_check(m->rig.results, 1, "%u keys: each found with its value while it was in, no other",
                m->keys);
    return bench_rig_verify(&m->rig, 0);
}

static int set_up(mapping *m) {
    bench_rig *rig = &m->rig;
    const size_t places = (size_t)m->mask + 1;
    m->c_keys = malloc(places * sizeof *m->c_keys);
    m->c_values = malloc(places * sizeof *m->c_values);
    if (!m->c_keys || !m->c_values) return bench_error_set(rig->error, "no memory for a table");
    if (bench_rig_buffer(rig, sizeof(clump_ref), &m->map) ||
        bench_rig_buffer(rig, sizeof(cl_uint), &m->faults) ||
        bench_rig_write(rig, m->faults, sizeof(cl_uint), NULL) ||
        bench_rig_buffer(rig, places * sizeof(cl_uint), &m->plain_keys) ||
        bench_rig_buffer(rig, places * sizeof(cl_uint), &m->plain_values))
        return -1;
    static const struct {
        int kernel;
        uint32_t index;
    } faults[] = {{MAKE, 2}, {INSERT, 4},       {FIND, 5},      {ERASE, 4},
                  {TIDY, 2}, {PLAIN_INSERT, 4}, {PLAIN_FIND, 6}};
    for (size_t i = 0; i < sizeof faults / sizeof faults[0]; i++)
        if (bench_rig_arg(rig, (size_t)faults[i].kernel, faults[i].index, sizeof m->faults,
                          &m->faults))
            return -1;
    for (int k = MAKE; k <= TIDY; k++)
        if (bench_rig_arg(rig, (size_t)k, 0, sizeof m->map, &m->map)) return -1;
    for (int k = PLAIN_INSERT; k <= PLAIN_FIND; k++)
        if (bench_rig_arg(rig, (size_t)k, 0, sizeof m->plain_keys, &m->plain_keys) ||
            bench_rig_arg(rig, (size_t)k, 1, sizeof m->plain_values, &m->plain_values) ||
            arg(m, k, 2, m->mask) || arg(m, k, 3, m->keys))
            return -1;
    if (arg(m, PLAIN_FIND, 5, m->keys) || arg(m, MAKE, 1, m->lists) || arg(m, TIDY, 1, m->lists))
        return -1;
    return bench_rig_do_new(rig, MAKE, "Table", 1);
}

static int begin(void *self, bench_env *env, const bench_values *values, bench_results *results) {
    static const char *const names[KERNEL_COUNT] = {"map_make",  "map_insert", "map_find",
                                                    "map_erase", "map_tidy",   "plain_insert",
                                                    "plain_find"};
    mapping *m = self;
    *m = (mapping){.rig.error = &results->error, .keys = (cl_uint)bench_int(values, "keys")};
    m->lists = (cl_uint)(m->keys / bench_float(values, "per_list"));
    if (m->lists == 0) m->lists = 1;
    for (m->mask = 1; m->mask + 1u < 2 * m->keys; m->mask = 2 * m->mask + 1) continue;
    uint64_t heap_bytes = (uint64_t)bench_int(values, "heap_mb") << 20;
    if (heap_bytes == 0)
        heap_bytes =
            ((uint64_t)m->keys * (ENTRY_BYTES + 2) + (uint64_t)m->lists * 4) * 5 / 4 + (16u << 20);
    bench_rig_desc desc = {.env = env,
                           .results = results,
                           .heap = {.text = "class Table { ref Entry heads[*]; }"
                                            "class Entry { uint key; uint value; ref Entry next; "
                                            "uint erased; }",
                                    .bytes = heap_bytes,
                                    .block_rows = (uint32_t)bench_int(values, "block_rows")},
                           .files = {"bench/harness/hash.clh", "bench/micro/map.cl"},
                           .kernels = names,
                           .kernel_count = KERNEL_COUNT};
    return bench_rig_create(&m->rig, &desc) || set_up(m) ? -1 : 0;
}

static void end(void *self) {
    mapping *m = self;
    free(m->c_keys);
    free(m->c_values);
    bench_rig_release(&m->rig);
}

static const bench_param params[] = {
    {"keys", BENCH_INT, "1048576", "keys that are put in", 2, 1u << 27, NULL},
    {"per_list", BENCH_FLOAT, "1", "keys for each list of the map", 0.01, 64, NULL},
    BENCH_RIG_HEAP_PARAMS,
    {NULL, BENCH_INT, NULL, NULL, 0, 0, NULL}};

const bench_descriptor bench_map = {
    .name = "map",
    .sentence = "A hash map on the heap: inserting, finding and erasing by all work-items at once",
    .params = params,
    .repeat = 5,
    .bytes = sizeof(mapping),
    .warm_up = 1,
    .begin = begin,
    .round = run_round,
    .finish = finish,
    .end = end};
