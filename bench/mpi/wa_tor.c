/* Wa-Tor in bands of rows: host side of wa-tor.cl. A step has for each kind of agent a halo, which
 * is under way while agents of inner rows choose, and a migration.
 *
 * Read first: run.h, wa-tor.cl, bench/apps/wa-tor/world.h.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench/apps/wa-tor/world.h"
#include "run.h"

#define EDGE_ROWS 3u

enum {
    CELL_INIT,
    CELL_POPULATE,
    CELL_DROP,
    CLOCK_DROP,
    SETTLE,
    PACK_EDGES,
    FISH_SELECT,
    SHARK_SELECT,
    SELECT_EDGES,
    CELL_DECIDE,
    DECIDE_EDGES,
    FISH_MOVE,
    SHARK_MOVE,
    ARRIVE,
    WRITE_WORLD,
    KERNEL_COUNT
};
static const char *const kernel_names[KERNEL_COUNT] = {
    "cell_init",    "cell_populate", "cell_drop",    "clock_drop",   "settle",
    "pack_edges",   "fish_select",   "shark_select", "select_edges", "cell_decide",
    "decide_edges", "fish_move",     "shark_move",   "arrive",       "write_world"};

typedef struct band {
    wa_tor_rules rules;
    uint32_t first_row, height, first, cells, row_count, iteration, most;
    uint32_t *parts, part_count; /* of a file: those that have rows of this band */
    uint64_t part_cells;         /* all that they have */
    clump_heap *heap;
    clump_program *program;
    clump_kernel *kernels[KERNEL_COUNT];
    cl_mem rows, edges, ghosts, codes, list;
    clump_halo *halo;
    clump_migration *migration;
} band;

static mpi_option options[] = {
    {"width", 512, 1, 65536, "cells of a row"},
    {"height", 512, 1, 1 << 28, "rows of cells, of all ranks"},
    {"seed", 42, 0, 4294967295.0, ""},
    {"fish", 300, 0, 1000, "fish at the start, per 1000 cells"},
    {"sharks", 50, 0, 1000, "sharks at the start, per 1000 cells"},
    {"fish_spawn", 4, 0, 4094, "steps after which a moving fish spawns"},
    {"shark_spawn", 5, 0, 4094, "steps after which a moving shark spawns"},
    {"shark_energy", 3, 1, 65535, "steps that a new shark lives unfed"},
    {"shark_gain", 2, 0, 65535, "steps that a fish adds to a shark's life"},
    {NULL, 0, 0, 0, NULL}};

static int read_rules(mpi_run *run, wa_tor_rules *rules) {
    *rules = (wa_tor_rules){.width = mpi_u32(run, "width"),
                            .height = mpi_u32(run, "height"),
                            .seed = mpi_u32(run, "seed"),
                            .fish_permille = mpi_u32(run, "fish"),
                            .shark_permille = mpi_u32(run, "sharks"),
                            .fish_spawn = mpi_u32(run, "fish_spawn"),
                            .shark_spawn = mpi_u32(run, "shark_spawn"),
                            .shark_energy = mpi_u32(run, "shark_energy"),
                            .shark_gain = mpi_u32(run, "shark_gain")};
    const char *fault = wa_tor_rules_check(rules);
    if (fault) return bench_error_set(&run->error, "%s", fault);
    if (rules->height / (uint32_t)run->size < EDGE_ROWS)
        return bench_error_set(&run->error, "%u rows for %d ranks; each needs %u", rules->height,
                               run->size, EDGE_ROWS);
    return 0;
}

/* ---- Making the band ------------------------------------------------------------------------- */

static int create_heap(mpi_run *run, band *b) {
    static const char *const before[] = {
        "bench/apps/wa-tor/rules.clh", "bench/apps/wa-tor/agents.clh", "bench/apps/wa-tor/show.clh",
        "bench/apps/cells.clh", NULL};
    const bench_heap_desc heap = {.clump = run->context,
                                  .file = "bench/mpi/wa-tor.schema",
                                  /* As in bench/apps/wa-tor/heap.c; objects are a little larger. */
                                  .bytes = (b->cells + b->part_cells) * 60 + (8u << 20)};
    if (bench_heap_create(&heap, &b->heap, &run->error)) return -1;
    const bench_program_desc program = {.clump = run->context,
                                        .heap = b->heap,
                                        .file = "bench/mpi/wa-tor.cl",
                                        .before = before,
                                        .uses_random123 = 1,
                                        .names = kernel_names,
                                        .count = KERNEL_COUNT};
    return bench_program_create(&program, &b->program, b->kernels, &run->error);
}

static int create_exchange(mpi_run *run, band *b) {
    const uint32_t bytes = EDGE_ROWS * b->rules.width;
    const clump_halo_desc halo = {.size = sizeof halo,
                                  .send = b->edges,
                                  .receive = b->ghosts,
                                  .send_at = {0, bytes},
                                  .send_bytes = {bytes, bytes},
                                  .receive_at = {0, bytes},
                                  .receive_bytes = {bytes, bytes}};
    const clump_migration_desc migration = {.size = sizeof migration,
                                            .heap = b->heap,
                                            .class_name = "Agent",
                                            .most = 2 * b->rules.width};
    b->most = migration.most;
    clump_status status = clump_halo_create(run->world, &halo, &b->halo, NULL);
    if (!status) status = clump_migration_create(run->world, &migration, &b->migration, NULL);
    if (status) return mpi_fail_world(run, "the exchange", status);
    b->list = clump_migration_get_info(b->migration)->list;
    return 0;
}

#define SET(kernel, at, ...)                                                                       \
    mpi_set(run, b->kernels[kernel], at, (const mpi_arg[]){__VA_ARGS__},                           \
            (uint32_t)(sizeof((const mpi_arg[]){__VA_ARGS__}) / sizeof(mpi_arg)))

static int set_arguments(mpi_run *run, band *b) {
    const wa_tor_rules *r = &b->rules;
    const uint32_t all = r->width * r->height;
#define BAND                                                                                       \
    MPI_ARG(b->rows), MPI_ARG(b->ghosts), MPI_ARG(r->width), MPI_ARG(b->height),                   \
        MPI_ARG(b->first), MPI_ARG(all)
#define OWN MPI_ARG(b->rows), MPI_ARG(r->width), MPI_ARG(b->height), MPI_ARG(b->first)
    return SET(CELL_INIT, 0, MPI_ARG(b->rows), MPI_ARG(b->row_count)) ||
                   SET(CELL_POPULATE, 0, MPI_ARG(b->first), MPI_ARG(r->seed),
                       MPI_ARG(r->fish_permille), MPI_ARG(r->shark_permille),
                       MPI_ARG(r->fish_spawn), MPI_ARG(r->shark_spawn), MPI_ARG(r->shark_energy)) ||
                   SET(SETTLE, 0, OWN) ||
                   SET(PACK_EDGES, 0, MPI_ARG(b->rows), MPI_ARG(b->edges), MPI_ARG(r->width),
                       MPI_ARG(b->height)) ||
                   SET(FISH_SELECT, 1, MPI_ARG(r->seed), BAND) ||
                   SET(SHARK_SELECT, 1, MPI_ARG(r->seed), BAND) ||
                   SET(SELECT_EDGES, 1, MPI_ARG(r->seed)) || SET(SELECT_EDGES, 3, BAND) ||
                   SET(CELL_DECIDE, 1, MPI_ARG(r->seed)) || SET(CELL_DECIDE, 3, OWN) ||
                   SET(DECIDE_EDGES, 1, MPI_ARG(r->seed)) || SET(DECIDE_EDGES, 3, BAND) ||
                   SET(FISH_MOVE, 1, MPI_ARG(r->seed), MPI_ARG(b->list), MPI_ARG(b->most), OWN,
                       MPI_ARG(r->fish_spawn)) ||
                   SET(SHARK_MOVE, 1, MPI_ARG(r->seed), MPI_ARG(b->list), MPI_ARG(b->most), OWN,
                       MPI_ARG(r->shark_spawn), MPI_ARG(r->shark_energy), MPI_ARG(r->shark_gain)) ||
                   SET(ARRIVE, 2, MPI_ARG(b->rows), MPI_ARG(b->first), MPI_ARG(r->shark_gain)) ||
                   SET(WRITE_WORLD, 0, MPI_ARG(b->codes))
               ? -1
               : 0;
}

static int make_cells(mpi_run *run, band *b) {
    const cl_uint none = 0;
    cl_uint misplaced = 1;
    uint64_t made = 0;
    const size_t at = (size_t)b->row_count * sizeof(cl_uint);
    cl_int code =
        clEnqueueWriteBuffer(run->queue, b->rows, CL_TRUE, at, sizeof none, &none, 0, NULL, NULL);
    if (code) return mpi_fail_cl(run, "clEnqueueWriteBuffer", code);
    clump_status status =
        clump_heap_do_new(b->heap, b->kernels[CELL_INIT], "Cell", b->cells, &made, NULL);
    if (status) return mpi_fail(run, "the cells", status);
    code = clEnqueueReadBuffer(run->queue, b->rows, CL_TRUE, at, sizeof misplaced, &misplaced, 0,
                               NULL, NULL);
    if (code) return mpi_fail_cl(run, "clEnqueueReadBuffer", code);
    if (made != b->cells || misplaced)
        return bench_error_set(&run->error, "%llu of %u cells were made, %u of them out of place",
                               (unsigned long long)made, b->cells, misplaced);
    return 0;
}

/* ---- Going on from a file -------------------------------------------------------------------- */

static uint32_t row_of(const band *b, uint64_t rank, uint64_t size) {
    return (uint32_t)(b->rules.height * rank / size);
}

static int choose_parts(mpi_run *run, band *b) {
    clump_world_saved saved = {.size = sizeof saved};
    const clump_status status = clump_world_read_saved(run->world, run->file, &saved);
    if (status) return mpi_fail_world(run, "the file", status);
    b->parts = calloc(saved.ranks, sizeof *b->parts);
    if (!b->parts) return bench_error_set(&run->error, "host memory ran out");
    for (uint32_t part = 0; part < saved.ranks; part++) {
        const uint32_t begin = row_of(b, part, saved.ranks), end = row_of(b, part + 1, saved.ranks);
        if (begin >= b->first_row + b->height || end <= b->first_row) continue;
        b->parts[b->part_count++] = part;
        b->part_cells += (uint64_t)(end - begin) * b->rules.width;
    }
    return 0;
}

/* The clocks of all parts show the same. */
static int read_clocks(mpi_run *run, band *b) {
    uint64_t cells = 0, clocks = 0;
    uint32_t *shown = calloc(b->part_count, sizeof *shown);
    if (!shown) return bench_error_set(&run->error, "host memory ran out");
    clump_status status = clump_heap_read_count(b->heap, "Cell", &cells);
    if (!status)
        status = clump_heap_read_field(b->heap, "Clock", "step", 0, sizeof *shown, shown,
                                       b->part_count, &clocks);
    b->iteration = run->begun = shown[0];
    int is_right = cells == b->part_cells && clocks == b->part_count;
    for (uint32_t i = 0; i < b->part_count; i++) is_right &= shown[i] == shown[0];
    free(shown);
    if (status) return mpi_fail(run, "the file", status);
    return is_right ? 0
                    : bench_error_set(&run->error, "file %s is not of a world of %u x %u cells",
                                      run->file, b->rules.width, b->rules.height);
}

/* Agents of the parts, without cells. A file may be another world's for some ranks only. */
static int load_parts(mpi_run *run, band *b) {
    const clump_status status =
        clump_world_load_parts(run->world, b->heap, run->file, b->parts, b->part_count, NULL, NULL);
    const int failed = status ? mpi_fail_world(run, "the file", status) : read_clocks(run, b);
    return mpi_agree(run, failed) || mpi_do_all(run, b->heap, b->kernels[CELL_DROP]) ||
                   mpi_do_all(run, b->heap, b->kernels[CLOCK_DROP])
               ? -1
               : 0;
}

static int populate(mpi_run *run, band *b) {
    if (!mpi_u32(run, "load"))
        return make_cells(run, b) || mpi_do_all(run, b->heap, b->kernels[CELL_POPULATE]) ? -1 : 0;
    return load_parts(run, b) || make_cells(run, b) || mpi_do_all(run, b->heap, b->kernels[SETTLE])
               ? -1
               : 0;
}

static int save(mpi_run *run, void *self) {
    band *b = self;
    const clump_struct_field step = {"step", 0};
    clump_status status = clump_heap_new_structs(
        b->heap,
        &(clump_struct_desc){sizeof(clump_struct_desc), "Clock", sizeof b->iteration, 1, &step},
        &b->iteration, 1, NULL, NULL);
    if (status) return mpi_fail(run, "the clock", status);
    status = clump_world_save(run->world, b->heap, run->file, NULL, NULL);
    return status ? mpi_fail_world(run, "saving", status) : 0;
}

static void destroy(void *self) {
    band *b = self;
    const cl_mem buffers[] = {b->rows, b->edges, b->ghosts, b->codes};
    clump_halo_destroy(b->halo);
    clump_migration_destroy(b->migration);
    for (int i = 0; i < KERNEL_COUNT; i++) clump_kernel_destroy(b->kernels[i]);
    clump_program_destroy(b->program);
    clump_heap_destroy(b->heap);
    for (size_t i = 0; i < sizeof buffers / sizeof *buffers; i++)
        if (buffers[i]) clReleaseMemObject(buffers[i]);
    free(b->parts);
    free(b);
}

static int fill(mpi_run *run, band *b) {
    const uint64_t rank = (uint64_t)run->rank, size = (uint64_t)run->size;
    if (read_rules(run, &b->rules)) return -1;
    b->first_row = row_of(b, rank, size);
    b->height = row_of(b, rank + 1, size) - b->first_row;
    b->first = b->first_row * b->rules.width;
    b->cells = b->height * b->rules.width;
    b->row_count = (b->cells + 63) / 64;
    const uint64_t edge = (uint64_t)2 * EDGE_ROWS * b->rules.width;
    if (mpi_u32(run, "load") && mpi_agree(run, choose_parts(run, b))) return -1;
    return create_heap(run, b) || mpi_buffer(run, (b->row_count + 1) * sizeof(cl_uint), &b->rows) ||
                   mpi_buffer(run, edge, &b->edges) || mpi_buffer(run, edge, &b->ghosts) ||
                   mpi_buffer(run, b->cells * sizeof(cl_uint), &b->codes) ||
                   create_exchange(run, b) || set_arguments(run, b) || populate(run, b)
               ? -1
               : 0;
}

static int create(mpi_run *run, void **self) {
    band *b = calloc(1, sizeof *b);
    if (!b) return bench_error_set(&run->error, "host memory ran out");
    if (fill(run, b)) {
        destroy(b);
        return -1;
    }
    *self = b;
    return 0;
}

/* ---- A step ---------------------------------------------------------------------------------- */

static int exchange_edges(mpi_run *run, band *b, unsigned select, mpi_times *times) {
    if (mpi_launch(run, b->heap, b->kernels[PACK_EDGES], 6 * (uint64_t)b->rules.width)) return -1;
    cl_int code = clFinish(run->queue); /* so that the halo's time is its own */
    if (code) return mpi_fail_cl(run, "clFinish", code);
    double before = MPI_Wtime();
    clump_status status = clump_halo_begin(b->halo);
    if (status) return mpi_fail_world(run, "the halo", status);
    times->halo += MPI_Wtime() - before;
    if (mpi_do_all(run, b->heap, b->kernels[select])) return -1;
    before = MPI_Wtime();
    status = clump_halo_end(b->halo, NULL);
    if (status) return mpi_fail_world(run, "the halo", status);
    times->halo += MPI_Wtime() - before;
    if (run->size > 1) times->bytes += (uint64_t)2 * EDGE_ROWS * b->rules.width;
    return 0;
}

static int migrate(mpi_run *run, band *b, mpi_times *times) {
    clump_migration_report report = {.size = sizeof report};
    cl_int code = clFinish(run->queue);
    if (code) return mpi_fail_cl(run, "clFinish", code);
    const double before = MPI_Wtime();
    const clump_status status = clump_migration_run(b->migration, &report);
    if (status) return mpi_fail_world(run, "the migration", status);
    times->migration += MPI_Wtime() - before;
    times->objects += report.left;
    times->bytes += report.bytes;
    cl_mem arrivals = clump_migration_get_info(b->migration)->arrivals;
    const uint32_t count = (uint32_t)report.arrived;
    if (!count) return 0;
    return SET(ARRIVE, 0, MPI_ARG(arrivals), MPI_ARG(count)) ||
                   mpi_launch(run, b->heap, b->kernels[ARRIVE], count)
               ? -1
               : 0;
}

static int phase(mpi_run *run, band *b, uint32_t who, mpi_times *times) {
    const unsigned select = who == WA_TOR_KIND_FISH ? FISH_SELECT : SHARK_SELECT,
                   move = who == WA_TOR_KIND_FISH ? FISH_MOVE : SHARK_MOVE;
    const uint64_t edges = 2 * (uint64_t)b->rules.width;
    const unsigned now[] = {select, SELECT_EDGES, CELL_DECIDE, DECIDE_EDGES, move};
    for (size_t i = 0; i < sizeof now / sizeof *now; i++)
        if (SET(now[i], 0, MPI_ARG(b->iteration))) return -1;
    if (SET(SELECT_EDGES, 2, MPI_ARG(who)) || SET(CELL_DECIDE, 2, MPI_ARG(who)) ||
        SET(DECIDE_EDGES, 2, MPI_ARG(who)))
        return -1;
    return exchange_edges(run, b, select, times) ||
                   mpi_launch(run, b->heap, b->kernels[SELECT_EDGES], edges) ||
                   mpi_do_all(run, b->heap, b->kernels[CELL_DECIDE]) ||
                   mpi_launch(run, b->heap, b->kernels[DECIDE_EDGES], edges) ||
                   mpi_do_all(run, b->heap, b->kernels[move]) || migrate(run, b, times)
               ? -1
               : 0;
}

static int step(mpi_run *run, void *self, mpi_times *times) {
    band *b = self;
    if (phase(run, b, WA_TOR_KIND_FISH, times) || phase(run, b, WA_TOR_KIND_SHARK, times))
        return -1;
    b->iteration++;
    return 0;
}

/* ---- What came of it ------------------------------------------------------------------------- */

/* wa_tor_checksum() from band to band: each goes on with what the one above it came to. */
static int checksum(mpi_run *run, void *self, uint64_t *found) {
    band *b = self;
    uint32_t *codes = malloc(b->cells * sizeof *codes);
    uint64_t hash = 14695981039346656037u;
    if (!codes) return bench_error_set(&run->error, "host memory ran out");
    int result = mpi_do_all(run, b->heap, b->kernels[WRITE_WORLD]);
    const cl_int code = result
                            ? CL_SUCCESS
                            : clEnqueueReadBuffer(run->queue, b->codes, CL_TRUE, 0,
                                                  b->cells * sizeof *codes, codes, 0, NULL, NULL);
    if (code) result = mpi_fail_cl(run, "clEnqueueReadBuffer", code);
    if (!result) {
        if (run->rank)
            MPI_Recv(&hash, 1, MPI_UINT64_T, run->rank - 1, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        for (uint32_t i = 0; i < b->cells; i++)
            for (unsigned shift = 0; shift < 32; shift += 8)
                hash = (hash ^ (codes[i] >> shift & 255)) * 1099511628211u;
        if (run->rank + 1 < run->size)
            MPI_Send(&hash, 1, MPI_UINT64_T, run->rank + 1, 0, MPI_COMM_WORLD);
        MPI_Bcast(&hash, 1, MPI_UINT64_T, run->size - 1, MPI_COMM_WORLD);
    }
    free(codes);
    *found = hash;
    return result;
}

static int reference(mpi_run *run, uint32_t steps, uint64_t *expected) {
    wa_tor_desc desc = {.world.variant = BENCH_SEQUENTIAL};
    const bench_world_ops *ops = &wa_tor_sequential_ops.world;
    void *world = NULL;
    if (read_rules(run, &desc.rules) || wa_tor_sequential_ops.create(&desc, &world, &run->error))
        return -1;
    const size_t cells = (size_t)desc.rules.width * desc.rules.height;
    uint32_t *codes = malloc(cells * sizeof *codes);
    int result = codes ? 0 : bench_error_set(&run->error, "host memory ran out");
    for (uint32_t i = 0; i < steps && !result; i++) result = ops->step(world, NULL, &run->error);
    if (!result) result = ops->read(world, codes, &run->error);
    if (!result) *expected = wa_tor_checksum(codes, cells);
    free(codes);
    ops->destroy(world);
    return result;
}

static int report(mpi_run *run, void *self) {
    band *b = self;
    uint64_t counts[2] = {0, 0};
    clump_status status = clump_heap_take_errors(b->heap, NULL);
    if (!status) status = clump_heap_read_count(b->heap, "Fish", &counts[0]);
    if (!status) status = clump_heap_read_count(b->heap, "Shark", &counts[1]);
    if (status) return mpi_fail(run, "the heap", status);
    status = clump_world_reduce(run->world, counts, 2, MPI_UINT64_T, MPI_SUM);
    if (status) return mpi_fail_world(run, "numbers", status);
    if (!run->rank)
        printf("%llu fish, %llu sharks\n", (unsigned long long)counts[0],
               (unsigned long long)counts[1]);
    return 0;
}

const mpi_app mpi_wa_tor = {.name = "wa-tor",
                            .options = options,
                            .periodic = 1,
                            .create = create,
                            .step = step,
                            .checksum = checksum,
                            .reference = reference,
                            .report = report,
                            .save = save,
                            .destroy = destroy};
