/* The benchmark grid: the spatial grid of cl/api/grid.clh, in the plane, each body counting the
 * others within a distance of 1.
 *
 *     keep_us          bodies have moved: ordered compaction, room for the references, the note of
 *                      where they are. On the host's clock, from the first call to the end
 *     near_us          the do-all that counts, cells as large as the distance
 *     plain_keep_us, plain_near_us
 *                      the same with plain arrays on the same device: a counting sort of places and
 *                      numbers, then three rows of cells for each body. An engineer who has no
 *                      objects does it so
 *     c_keep_ms, c_near_ms   the same in one thread of C
 *
 * The check: all three give the same count for each body, after each round. Bodies move up to 0.2
 * in a round.
 *
 * Read first: bench.h, rig.h, grid.cl, cl/api/grid.clh.
 */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "bench/harness/bench.h"
#include "bench/harness/hash.clh"
#include "bench/harness/registry.h"
#include "clump/compact.h"
#include "rig.h"

enum {
    GRID_MAKE,
    MAKE,
    MOVE,
    KEYS,
    ROOM,
    NOTE,
    NEAR,
    PLAIN_PLACE,
    PLAIN_COUNT,
    PLAIN_SUMS,
    PLAIN_SUMS_OF_SUMS,
    PLAIN_SORT,
    PLAIN_NEAR,
    KERNEL_COUNT
};

#define GROUP 256u
#define BODY_BYTES 16u

typedef struct gridding {
    bench_rig rig;
    cl_uint bodies, columns, side, cells, groups; /* side: of the plane, in units of 1/1024 */
    cl_mem grid, faults, near, plain_near;
    cl_mem places, counts, ranks, sums, sorted, numbers; /* plain */
    uint32_t *found, *expected;                          /* counts of all bodies */
    uint32_t *c_starts, *c_numbers;
    float *c_places, *c_sorted; /* x and y of each body */
    uint32_t wrong;             /* bodies with another count than the C program's */
} gridding;

static int set(gridding *g, int kernel, uint32_t index, cl_uint value) {
    return bench_rig_arg(&g->rig, (size_t)kernel, index, sizeof value, &value);
}

static int set_buffer(gridding *g, int kernel, uint32_t index, cl_mem buffer) {
    return bench_rig_arg(&g->rig, (size_t)kernel, index, sizeof buffer, &buffer);
}

/* ---- The grid of the heap -------------------------------------------------------------------- */

static int keep(gridding *g, double *us) {
    static const char *const classes[] = {"Body"};
    const clump_compact_desc desc = {.size = sizeof desc,
                                     .classes = classes,
                                     .class_count = 1,
                                     .order = CLUMP_ORDER_KEY,
                                     .key_kernel = g->rig.kernels[KEYS]};
    clFinish(g->rig.env->queue);
    double begin = bench_now_us();
    clump_status status = clump_heap_compact(g->rig.heap, &desc, NULL, NULL);
    if (!status) status = clump_heap_launch(g->rig.heap, g->rig.kernels[ROOM], 1, 1, NULL);
    if (!status) status = clump_heap_do_all(g->rig.heap, g->rig.kernels[NOTE], NULL);
    clFinish(g->rig.env->queue);
    *us = bench_now_us() - begin;
    return status ? bench_rig_fail(&g->rig, "keeping the grid", status) : 0;
}

static int run_heap(gridding *g, cl_uint round, int is_measured) {
    double us;
    if (set(g, MOVE, 0, round) || bench_rig_do_all(&g->rig, MOVE, &us) || keep(g, &us)) return -1;
    if (is_measured) bench_sample(g->rig.results, "keep_us", "us", us);
    if (bench_rig_do_all(&g->rig, NEAR, &us)) return -1;
    if (is_measured) bench_sample(g->rig.results, "near_us", "us", us);
    return 0;
}

/* ---- Plain arrays ---------------------------------------------------------------------------- */

static int run_plain(gridding *g, cl_uint round, int is_measured) {
    double us, part;
    const uint64_t padded = (uint64_t)g->groups * GROUP;
    if (set(g, PLAIN_PLACE, 2, round) || bench_rig_launch(&g->rig, PLAIN_PLACE, g->bodies, &us) ||
        bench_rig_write(&g->rig, g->counts, padded * sizeof(cl_uint), NULL))
        return -1;
    clFinish(g->rig.env->queue);
    double begin = bench_now_us();
    if (bench_rig_launch(&g->rig, PLAIN_COUNT, g->bodies, &part) ||
        bench_rig_launch(&g->rig, PLAIN_SUMS, padded, &part) ||
        bench_rig_launch(&g->rig, PLAIN_SUMS_OF_SUMS, GROUP, &part) ||
        bench_rig_launch(&g->rig, PLAIN_SORT, g->bodies, &part))
        return -1;
    clFinish(g->rig.env->queue);
    us = bench_now_us() - begin;
    if (is_measured) bench_sample(g->rig.results, "plain_keep_us", "us", us);
    if (bench_rig_launch(&g->rig, PLAIN_NEAR, g->bodies, &us)) return -1;
    if (is_measured) bench_sample(g->rig.results, "plain_near_us", "us", us);
    return 0;
}

/* ---- C --------------------------------------------------------------------------------------- */

static float place_along(uint32_t number, uint32_t along, uint32_t round, uint32_t side) {
    uint32_t speed = bench_hash(number, along + 2u) % 205u;
    return (float)((bench_hash(number, along) % side + round * speed) % side) / 1024.0f;
}

static uint32_t c_cell(const gridding *g, const float *place) {
    return (uint32_t)place[1] * g->columns + (uint32_t)place[0];
}

static void c_sort(gridding *g) {
    memset(g->c_starts, 0, (g->cells + 2ul) * sizeof *g->c_starts);
    uint32_t *next = g->c_starts + 1; /* a body's cell begins there when all are in their places */
    for (uint32_t i = 0; i < g->bodies; i++) next[c_cell(g, g->c_places + 2ul * i) + 1]++;
    for (uint32_t c = 0; c < g->cells; c++) next[c + 1] += next[c];
    for (uint32_t i = 0; i < g->bodies; i++) {
        uint32_t at = next[c_cell(g, g->c_places + 2ul * i)]++;
        memcpy(g->c_sorted + 2ul * at, g->c_places + 2ul * i, 2 * sizeof(float));
        g->c_numbers[at] = i;
    }
}

static void c_near(gridding *g) {
    for (uint32_t me = 0; me < g->bodies; me++) {
        const float *at = g->c_sorted + 2ul * me;
        uint32_t x = (uint32_t)at[0], y = (uint32_t)at[1], count = 0;
        uint32_t from = x > 0 ? x - 1 : 0, to = x + 2 < g->columns ? x + 2 : g->columns;
        for (uint32_t row = y > 0 ? y - 1 : 0; row <= y + 1 && row < g->columns; row++) {
            uint32_t end = g->c_starts[row * g->columns + to];
            for (uint32_t other = g->c_starts[row * g->columns + from]; other < end; other++) {
                float dx = g->c_sorted[2ul * other] - at[0];
                float dy = g->c_sorted[2ul * other + 1] - at[1];
                count += other != me && dx * dx + dy * dy <= 1.0f;
            }
        }
        g->expected[g->c_numbers[me]] = count;
    }
}

static void run_c(gridding *g, uint32_t round, int is_measured) {
    for (uint32_t i = 0; i < g->bodies; i++)
        for (uint32_t along = 0; along < 2; along++)
            g->c_places[2ul * i + along] = place_along(i, along, round, g->side);
    double begin = bench_now_us();
    c_sort(g);
    double sorted = bench_now_us();
    c_near(g);
    double ended = bench_now_us();
    if (!is_measured) return;
    bench_sample(g->rig.results, "c_keep_ms", "ms", (sorted - begin) * 1e-3);
    bench_sample(g->rig.results, "c_near_ms", "ms", (ended - sorted) * 1e-3);
}

/* ---- Begin, rounds, end ---------------------------------------------------------------------- */

static int compare(gridding *g, cl_mem near) {
    if (bench_rig_read(&g->rig, near, g->bodies * sizeof(uint32_t), g->found)) return -1;
    for (uint32_t i = 0; i < g->bodies; i++) g->wrong += g->found[i] != g->expected[i];
    return 0;
}

static int run_round(void *self, uint32_t number, int is_measured) {
    gridding *g = self;
    if (run_heap(g, number, is_measured) || run_plain(g, number, is_measured)) return -1;
    run_c(g, number, is_measured);
    return compare(g, g->near) || compare(g, g->plain_near) ? -1 : 0;
}

static int finish(void *self) {
    gridding *g = self;
    cl_uint faults = 1;
    uint64_t sum = 0;
    if (bench_rig_read(&g->rig, g->faults, sizeof faults, &faults)) return -1;
    for (uint32_t i = 0; i < g->bodies; i++) sum += g->expected[i];
    bench_check(g->rig.results, faults == 0 && g->wrong == 0 && sum > 0,
                "%u times no room or no order, %u counts are wrong, %" PRIu64 " pairs",
                (unsigned)faults, (unsigned)g->wrong, sum / 2);
    bench_check(g->rig.results, 1, "%u bodies, %" PRIu64 " pairs: each body has C's count",
                g->bodies, sum / 2);
    return bench_rig_verify(&g->rig, 0);
}

static int make_arrays(gridding *g) {
    const size_t n = g->bodies;
    g->found = malloc(n * sizeof *g->found);
    g->expected = malloc(n * sizeof *g->expected);
    g->c_starts = malloc((g->cells + 2ul) * sizeof *g->c_starts);
    g->c_numbers = malloc(n * sizeof *g->c_numbers);
    g->c_places = malloc(n * 2 * sizeof *g->c_places);
    g->c_sorted = malloc(n * 2 * sizeof *g->c_sorted);
    return g->found && g->expected && g->c_starts && g->c_numbers && g->c_places && g->c_sorted
               ? 0
               : bench_error_set(g->rig.error, "no memory for %zu bodies", n);
}

static int make_buffers(gridding *g) {
    bench_rig *rig = &g->rig;
    const size_t n = g->bodies, words = (size_t)g->groups * GROUP;
    const struct {
        cl_mem *buffer;
        size_t bytes;
    } buffers[] = {{&g->grid, 4},       {&g->faults, 4},
                   {&g->near, n * 4},   {&g->plain_near, n * 4},
                   {&g->places, n * 8}, {&g->counts, words * 4},
                   {&g->ranks, n * 4},  {&g->sums, g->groups * 4ul},
                   {&g->sorted, n * 8}, {&g->numbers, n * 4}};
    for (size_t i = 0; i < sizeof buffers / sizeof buffers[0]; i++)
        if (bench_rig_buffer(rig, buffers[i].bytes, buffers[i].buffer)) return -1;
    return bench_rig_write(rig, g->faults, 4, NULL);
}

static int set_args(gridding *g) {
    const struct {
        int kernel;
        uint32_t index;
        cl_mem buffer;
    } buffers[] = {{GRID_MAKE, 0, g->grid},
                   {GRID_MAKE, 2, g->faults},
                   {KEYS, 1, g->grid},
                   {ROOM, 0, g->grid},
                   {ROOM, 2, g->faults},
                   {NOTE, 0, g->grid},
                   {NOTE, 1, g->faults},
                   {NEAR, 0, g->grid},
                   {NEAR, 1, g->near},
                   {PLAIN_PLACE, 0, g->places},
                   {PLAIN_COUNT, 0, g->places},
                   {PLAIN_COUNT, 3, g->counts},
                   {PLAIN_COUNT, 4, g->ranks},
                   {PLAIN_SUMS, 0, g->counts},
                   {PLAIN_SUMS, 1, g->sums},
                   {PLAIN_SUMS_OF_SUMS, 0, g->sums},
                   {PLAIN_SORT, 0, g->places},
                   {PLAIN_SORT, 3, g->counts},
                   {PLAIN_SORT, 4, g->ranks},
                   {PLAIN_SORT, 5, g->sums},
                   {PLAIN_SORT, 6, g->sorted},
                   {PLAIN_SORT, 7, g->numbers},
                   {PLAIN_NEAR, 0, g->sorted},
                   {PLAIN_NEAR, 3, g->counts},
                   {PLAIN_NEAR, 4, g->sums},
                   {PLAIN_NEAR, 5, g->numbers},
                   {PLAIN_NEAR, 6, g->plain_near}};
    for (size_t i = 0; i < sizeof buffers / sizeof buffers[0]; i++)
        if (set_buffer(g, buffers[i].kernel, buffers[i].index, buffers[i].buffer)) return -1;
    const struct {
        int kernel;
        uint32_t index;
        cl_uint value;
    } numbers[] = {{GRID_MAKE, 1, g->columns},   {MOVE, 1, g->side},
                   {ROOM, 1, g->bodies},         {PLAIN_PLACE, 1, g->bodies},
                   {PLAIN_PLACE, 3, g->side},    {PLAIN_COUNT, 1, g->bodies},
                   {PLAIN_COUNT, 2, g->columns}, {PLAIN_SUMS_OF_SUMS, 1, g->groups},
                   {PLAIN_SORT, 1, g->bodies},   {PLAIN_SORT, 2, g->columns},
                   {PLAIN_NEAR, 1, g->bodies},   {PLAIN_NEAR, 2, g->columns}};
    for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++)
        if (set(g, numbers[i].kernel, numbers[i].index, numbers[i].value)) return -1;
    return 0;
}

static int begin(void *self, bench_env *env, const bench_values *values, bench_results *results) {
    static const char *const names[KERNEL_COUNT] = {
        "grid_make",          "bodies_make", "bodies_move", "grid_keys",   "grid_room",
        "grid_note",          "grid_near",   "plain_place", "plain_count", "plain_sums",
        "plain_sums_of_sums", "plain_sort",  "plain_near"};
    gridding *g = self;
    *g = (gridding){.rig.error = &results->error, .bodies = (cl_uint)bench_int(values, "bodies")};
    g->columns = (cl_uint)ceil(sqrt(g->bodies / bench_float(values, "per_cell")));
    if (g->columns > 8191)
        return bench_error_set(g->rig.error, "%u columns of cells; at most 8191 are possible",
                               (unsigned)g->columns);
    g->side = g->columns * 1024u;
    g->cells = g->columns * g->columns;
    g->groups = (g->cells + 1 + GROUP - 1) / GROUP; /* and where the last cell ends */
    uint64_t heap_bytes = (uint64_t)bench_int(values, "heap_mb") << 20;
    if (heap_bytes == 0)
        heap_bytes =
            ((uint64_t)g->bodies * (BODY_BYTES + 8) + (uint64_t)g->cells * 4) * 5 / 4 + (16u << 20);
    bench_rig_desc desc = {
        .env = env,
        .results = results,
        .heap = {.text =
                     "class Cells { float origin[3]; float scale; uint count[3]; uint starts[*]; "
                     "ref Body sorted[*]; }"
                     "class Body { float x; float y; uint number; }",
                 .bytes = heap_bytes,
                 .block_rows = (uint32_t)bench_int(values, "block_rows")},
        .files = {"bench/harness/hash.clh", "bench/harness/sums.clh", "bench/micro/grid.cl"},
        .kernels = names,
        .kernel_count = KERNEL_COUNT,
        .local = GROUP};
    return bench_rig_create(&g->rig, &desc) || make_arrays(g) || make_buffers(g) || set_args(g) ||
                   bench_rig_do_new(&g->rig, GRID_MAKE, "Cells", 1) ||
                   bench_rig_do_new(&g->rig, MAKE, "Body", g->bodies)
               ? -1
               : 0;
}

static void end(void *self) {
    gridding *g = self;
    free(g->found);
    free(g->expected);
    free(g->c_starts);
    free(g->c_numbers);
    free(g->c_places);
    free(g->c_sorted);
    bench_rig_release(&g->rig);
}

static const bench_param params[] = {
    {"bodies", BENCH_INT, "1000000", "bodies", 1, 1u << 26, NULL},
    {"per_cell", BENCH_FLOAT, "4", "bodies in a cell, on average", 0.01, 1000, NULL},
    BENCH_RIG_HEAP_PARAMS,
    {NULL, BENCH_INT, NULL, NULL, 0, 0, NULL}};

const bench_descriptor bench_grid = {
    .name = "grid",
    .sentence = "A spatial grid on the heap: keeping it, and visiting the bodies near each one",
    .params = params,
    .repeat = 5,
    .bytes = sizeof(gridding),
    .warm_up = 1,
    .begin = begin,
    .round = run_round,
    .finish = finish,
    .end = end};
