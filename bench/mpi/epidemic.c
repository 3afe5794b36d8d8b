/* An epidemic in bands of rows: host side of epidemic.cl. A step has a halo of the numbers of
 * infected agents, which is under way while pressures of inner rows are made, one launch over all
 * agents, and a migration.
 *
 * All numbers of agents have 64 bits. Nothing reads an object to the host.
 *
 * Read first: run.h, epidemic.cl. Read next: epidemic_sequential.c, epidemic_plain.c.
 */
#include "epidemic.h"

#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench/harness/source.h"
#include "checkpoint.h"
#include "cl/core/layout.h"
#include "sample.h"

#define TALLIES ((size_t)1024)               /* as in epidemic.cl, */
#define CHANGE_PARTS ((size_t)1024)          /* and this */
#define PIECE (UINT64_C(1) << 30)            /* agents of a do-new */
#define FILL_BYTES (UINT64_C(256) << 20)     /* larger fills hang on NVIDIA (docs/portability.md) */
#define CELLS_MOST (UINT32_MAX - (1u << 20)) /* as the rules say */
#define ROW_MOST (1u << 28)                  /* agents: twice as many may leave in a step */

enum {
    AGENT_INIT,
    AGENT_SETTLE,
    CLOCK_DROP,
    SPREAD,
    AGENT_STEP,
    AGENT_CHANGE,
    ARRIVE,
    TAKE_SAMPLE,
    TAKE_TOTALS,
    KERNEL_COUNT
};
static const char *const kernel_names[KERNEL_COUNT] = {"agent_init", "agent_settle", "clock_drop",
                                                       "spread",     "agent_step",   "agent_change",
                                                       "arrive",     "take_sample",  "take_totals"};

typedef struct clock_object {
    uint32_t step, rules;
    uint64_t births;
} clock_object;
static const clump_struct_field clock_fields[] = {{"step", offsetof(clock_object, step)},
                                                  {"rules", offsetof(clock_object, rules)},
                                                  {"births", offsetof(clock_object, births)}};
static const clump_struct_desc clock_desc = {sizeof clock_desc, "Clock", sizeof(clock_object), 3,
                                             clock_fields};

typedef struct epidemic {
    epidemic_rules rules;
    epidemic_band band;
    uint32_t width, first_row, height, iteration, most;
    uint32_t *parts, part_count, saved_ranks; /* of a file: those that have rows of this band */
    uint64_t part_cells;                      /* all that they have */
    uint64_t births_before, count_before;     /* of the world, when this run began */
    epidemic_totals totals;                   /* of the world, once report() has them */
    clump_heap *heap;
    clump_program *program;
    clump_kernel *kernels[KERNEL_COUNT];
    cl_mem counts, pressure, ghosts, table, tallies, changes, list;
    uint32_t change_room; /* of a part of `changes` */
    clump_halo *halo;
    clump_migration *migration;
    mpi_sample *sample; /* NULL: none */
    mpi_checkpoint *checkpoint;
    uint64_t room;     /* agents that the heap is made for */
    double parts_s[4]; /* of migrations in `times`: reading, waits, making, freeing */
} epidemic;

static mpi_option options[] = {
    {"width", 256, 2, 1 << 20, "cells of a row, a power of two"},
    {"height", 256, 1, 1 << 30, "rows of cells, of all ranks"},
    {"density", 8, 1, 4096, "agents of a cell at the start"},
    {"seed", 42, 0, 4294967295.0, ""},
    {"infected", 655, 0, 65536, "infected agents at the start, in 65536"},
    {"contagion", 200, 0, 65536,
     "probability that an infected agent of a cell nearby infects in a step, in 65536"},
    {"duration", 10, 1, 10000, "steps until an agent recovers, on average"},
    {"birth", 256, 0, 32768, "probability of a child in a step, in 65536"},
    {"death", 256, 0, 32768, "probability of death in a step, in 65536"},
    {"room", 6, 0, 1000, "more objects than there are at the start have room, in percent"},
    {"vtk", 0, 0, 1e9, "steps after which agents are written to file=PREFIX again; 0: never"},
    {"sample", 1000, 1, 1e9, "vtk: of so many agents one is written"},
    {NULL, 0, 0, 0, NULL}};

static int read_rules(mpi_run *run, epidemic_rules *rules) {
    const uint64_t width = mpi_u32(run, "width"), cells = width * mpi_u32(run, "height");
    uint32_t bits = 1;
    while (UINT64_C(1) << bits < width) bits++;
    *rules = (epidemic_rules){.seed = mpi_u32(run, "seed"),
                              .width_bits = bits,
                              .cells = (uint32_t)cells,
                              .density = mpi_u32(run, "density"),
                              .infected = mpi_u32(run, "infected"),
                              .contagion = mpi_u32(run, "contagion"),
                              .duration = mpi_u32(run, "duration"),
                              .birth = mpi_u32(run, "birth"),
                              .death = mpi_u32(run, "death")};
    if (UINT64_C(1) << bits != width)
        return bench_error_set(&run->error, "width=%llu: it must be a power of two",
                               (unsigned long long)width);
    if (cells > CELLS_MOST)
        return bench_error_set(&run->error, "%llu cells are too many: at most %u are possible",
                               (unsigned long long)cells, CELLS_MOST);
    if (width * rules->density > ROW_MOST)
        return bench_error_set(&run->error,
                               "%llu agents of a row are too many: at most %u are possible",
                               (unsigned long long)(width * rules->density), ROW_MOST);
    if (mpi_u32(run, "height") < (uint32_t)run->size)
        return bench_error_set(&run->error, "%u rows for %d ranks", mpi_u32(run, "height"),
                               run->size);
    return 0;
}

/* The same for worlds whose agents do the same. */
static uint32_t hash_rules(const epidemic_rules *rules) {
    uint64_t hash = 0;
    const uint32_t words[] = {rules->seed,     rules->width_bits, rules->cells,
                              rules->density,  rules->infected,   rules->contagion,
                              rules->duration, rules->birth,      rules->death};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        hash = epidemic_mix((hash ^ words[i]) + EPIDEMIC_GAMMA);
    return (uint32_t)hash;
}

/* ---- Making the band ------------------------------------------------------------------------- */

/* Agents of the band at the start; and with `room`, or with all that a file's parts have, more. */
static uint64_t count_first(const epidemic *e) {
    return (uint64_t)e->band.cells * e->rules.density;
}

/* Rows are spread over the parts at random, and a quarter more change than is expected. If that is
 * not enough, the run fails. */
static uint64_t bytes_of_changes(const epidemic *e) {
    return CHANGE_PARTS * (1 + (uint64_t)e->change_room) * sizeof(cl_uint);
}
static void choose_change_room(epidemic *e, uint64_t agents) {
    const double rows = (double)agents / 64 / CHANGE_PARTS * 1.25 + 32,
                 share = (double)(e->rules.birth + e->rules.death) / 65536;
    e->change_room = (uint32_t)(rows * 64 * share * 1.25) + 64;
}

/* Of a copy of the heap. */
static clump_status complete(void *of, clump_heap *copy, const uint32_t *words) {
    clock_object clock;
    (void)of;
    memcpy(&clock, words, sizeof clock);
    return clump_heap_new_structs(copy, &clock_desc, &clock, 1, NULL, NULL);
}

static int create_heap(mpi_run *run, epidemic *e) {
    static const char *const before[] = {"bench/mpi/epidemic.clh", NULL};
    const uint64_t first = count_first(e), loaded = e->part_cells * e->rules.density,
                   most = first > loaded ? first : loaded;
    e->room = most + most / 100 * mpi_u32(run, "room") + 2 * (uint64_t)e->most;
    const uint64_t objects[] = {e->room, 1 + e->part_count};
    choose_change_room(e, e->room);
    clump_schema *schema = NULL;
    clump_error error;
    bench_heap_desc heap = {.clump = run->context, .file = "bench/mpi/epidemic.schema"};
    char *text = bench_load_source(NULL, heap.file, &run->error);
    if (!text) return -1;
    clump_status status = clump_schema_parse(text, strlen(text), NULL, &schema, &error);
    if (!status)
        status = clump_heap_get_bytes_needed(
            &(clump_heap_desc){
                .size = sizeof(clump_heap_desc), .context = run->context, .schema = schema},
            objects, &heap.bytes, &error);
    clump_schema_destroy(schema);
    free(text);
    if (status) return bench_error_set(&run->error, "the heap: %s", error.message);
    if (bench_heap_create(&heap, &e->heap, &run->error)) return -1;
    if (mpi_u32(run, "checkpoint") &&
        mpi_checkpoint_create(run, &heap, complete, NULL, &e->checkpoint))
        return -1;
    const bench_program_desc program = {.clump = run->context,
                                        .heap = e->heap,
                                        .file = "bench/mpi/epidemic.cl",
                                        .before = before,
                                        .names = kernel_names,
                                        .count = KERNEL_COUNT};
    return bench_program_create(&program, &e->program, e->kernels, &run->error);
}

/* Rows of counts are what is sent: no kernel packs them. */
static int create_exchange(mpi_run *run, epidemic *e) {
    const uint64_t row = e->width * sizeof(uint16_t);
    const clump_halo_desc halo = {.size = sizeof halo,
                                  .send = e->counts,
                                  .receive = e->ghosts,
                                  .send_at = {0, (e->height - 1) * row},
                                  .send_bytes = {row, row},
                                  .receive_at = {0, row},
                                  .receive_bytes = {row, row}};
    const clump_migration_desc migration = {
        .size = sizeof migration, .heap = e->heap, .class_name = "Agent", .most = e->most};
    clump_status status = clump_halo_create(run->world, &halo, &e->halo, NULL);
    if (!status) status = clump_migration_create(run->world, &migration, &e->migration, NULL);
    if (status) return mpi_fail_world(run, "the exchange", status);
    e->list = clump_migration_get_info(e->migration)->list;
    return 0;
}

#define SET(kernel, at, ...) MPI_SET(run, e->kernels[kernel], at, __VA_ARGS__)

/* Which agents are in a sample is random: of n that are expected, eight deviations more than n have
 * room. */
static int create_sample(mpi_run *run, epidemic *e) {
    const uint32_t stride = mpi_u32(run, "vtk"), part = mpi_u32(run, "sample");
    if (!stride) return 0;
    const double expected = (double)e->room / part;
    const uint64_t wanted = (uint64_t)(expected + 8 * sqrt(expected)) + 64;
    const uint32_t most = (uint32_t)(wanted < e->room ? wanted : e->room);
    if (mpi_agree(run, mpi_sample_create(run, most, e->rules.width_bits, stride, &e->sample)))
        return -1;
    cl_mem list = mpi_sample_buffer(e->sample);
    return SET(TAKE_SAMPLE, 0, MPI_ARG(part), MPI_ARG(most), MPI_ARG(list));
}

static int set_arguments(mpi_run *run, epidemic *e) {
    const uint32_t word_bits = e->rules.width_bits - 1;
    return SET(AGENT_INIT, 1, MPI_ARG(e->rules)) ||
                   SET(AGENT_SETTLE, 0, MPI_ARG(e->band), MPI_ARG(e->counts)) ||
                   SET(SPREAD, 3, MPI_ARG(word_bits), MPI_ARG(e->height), MPI_ARG(e->counts),
                       MPI_ARG(e->ghosts), MPI_ARG(e->table), MPI_ARG(e->pressure),
                       MPI_ARG(e->tallies)) ||
                   SET(AGENT_STEP, 1, MPI_ARG(e->rules), MPI_ARG(e->band), MPI_ARG(e->pressure),
                       MPI_ARG(e->counts), MPI_ARG(e->list), MPI_ARG(e->most), MPI_ARG(e->changes),
                       MPI_ARG(e->change_room), MPI_ARG(e->tallies)) ||
                   SET(AGENT_CHANGE, 1, MPI_ARG(e->rules), MPI_ARG(e->changes),
                       MPI_ARG(e->change_room), MPI_ARG(e->tallies)) ||
                   SET(ARRIVE, 2, MPI_ARG(e->band), MPI_ARG(e->counts))
               ? -1
               : 0;
}

static int clear(mpi_run *run, cl_mem buffer, uint64_t bytes) {
    const cl_uint none = 0;
    cl_int code = CL_SUCCESS;
    for (uint64_t at = 0; at < bytes && !code; at += FILL_BYTES)
        code =
            clEnqueueFillBuffer(run->queue, buffer, &none, sizeof none, at,
                                bytes - at < FILL_BYTES ? bytes - at : FILL_BYTES, 0, NULL, NULL);
    return code ? mpi_fail_cl(run, "clEnqueueFillBuffer", code) : 0;
}

static uint64_t bytes_of_cells(const epidemic *e) {
    return e->band.cells * sizeof(uint16_t);
}
#define TALLY_BYTES ((2 * TALLIES + 1) * sizeof(cl_uint))

static int create_buffers(mpi_run *run, epidemic *e) {
    uint32_t table[EPIDEMIC_PRESSURES];
    epidemic_make_pressures(e->rules.contagion, table);
    if (mpi_buffer(run, bytes_of_cells(e), &e->counts) ||
        mpi_buffer(run, bytes_of_cells(e), &e->pressure) ||
        mpi_buffer(run, UINT64_C(2) * e->width * sizeof(uint16_t), &e->ghosts) ||
        mpi_buffer(run, sizeof table, &e->table) || mpi_buffer(run, TALLY_BYTES, &e->tallies) ||
        mpi_buffer(run, bytes_of_changes(e), &e->changes) ||
        clear(run, e->changes, CHANGE_PARTS * sizeof(cl_uint)) ||
        clear(run, e->counts, bytes_of_cells(e)) || clear(run, e->tallies, TALLY_BYTES))
        return -1;
    const cl_int code =
        clEnqueueWriteBuffer(run->queue, e->table, CL_TRUE, 0, sizeof table, table, 0, NULL, NULL);
    return code ? mpi_fail_cl(run, "clEnqueueWriteBuffer", code) : 0;
}

/* A do-new has a limit. */
static int make_agents(mpi_run *run, epidemic *e) {
    const uint64_t count = count_first(e), first = (uint64_t)e->band.first * e->rules.density;
    for (uint64_t at = 0, made = 0; at < count; at += made) {
        const uint64_t from = first + at, wanted = count - at < PIECE ? count - at : PIECE;
        if (SET(AGENT_INIT, 0, MPI_ARG(from))) return -1;
        const clump_status status =
            clump_heap_do_new(e->heap, e->kernels[AGENT_INIT], "Agent", wanted, &made, NULL);
        if (status) return mpi_fail(run, "the agents", status);
        if (made != wanted)
            return bench_error_set(&run->error, "the heap has no room for %llu agents",
                                   (unsigned long long)count);
    }
    return 0;
}

/* ---- Going on from a file -------------------------------------------------------------------- */

static uint32_t row_of(const mpi_run *run, uint64_t rank, uint64_t size) {
    return (uint32_t)(mpi_u32(run, "height") * rank / size);
}

static int choose_parts(mpi_run *run, epidemic *e) {
    clump_world_saved saved = {.size = sizeof saved};
    const clump_status status = clump_world_read_saved(run->world, run->file, &saved);
    if (status) return mpi_fail_world(run, "the file", status);
    e->saved_ranks = saved.ranks;
    e->parts = calloc(saved.ranks, sizeof *e->parts);
    if (!e->parts) return bench_error_set(&run->error, "host memory ran out");
    for (uint32_t part = 0; part < saved.ranks; part++) {
        const uint32_t begin = row_of(run, part, saved.ranks),
                       end = row_of(run, part + 1, saved.ranks);
        if (begin >= e->first_row + e->height || end <= e->first_row) continue;
        e->parts[e->part_count++] = part;
        e->part_cells += (uint64_t)(end - begin) * e->width;
    }
    return 0;
}

/* The clocks of all parts show the same. */
static int read_clocks(mpi_run *run, epidemic *e) {
    uint64_t count = 0;
    clock_object *clocks = calloc(e->part_count, sizeof *clocks);
    if (!clocks) return bench_error_set(&run->error, "host memory ran out");
    const clump_status status =
        clump_heap_read_structs(e->heap, &clock_desc, NULL, clocks, e->part_count, &count);
    const clock_object first = clocks[0];
    int is_right = count == e->part_count && first.rules == hash_rules(&e->rules);
    for (uint32_t i = 0; i < e->part_count; i++)
        is_right &= clocks[i].step == first.step && clocks[i].births == first.births;
    free(clocks);
    e->iteration = run->begun = first.step;
    e->births_before = first.births;
    if (status) return mpi_fail(run, "the file", status);
    return is_right ? 0
                    : bench_error_set(&run->error, "file %s is not of a world with these options",
                                      run->file);
}

/* As many ranks as have saved it need no memory for the values of a part. */
static int load_agents(mpi_run *run, epidemic *e) {
    const clump_status status = e->saved_ranks == (uint32_t)run->size
                                    ? clump_world_load(run->world, e->heap, run->file, NULL, NULL)
                                    : clump_world_load_parts(run->world, e->heap, run->file,
                                                             e->parts, e->part_count, NULL, NULL);
    const int failed = status ? mpi_fail_world(run, "the file", status) : read_clocks(run, e);
    return mpi_agree(run, failed) || mpi_do_all(run, e->heap, e->kernels[CLOCK_DROP]) ? -1 : 0;
}

static int save(mpi_run *run, void *self) {
    epidemic *e = self;
    const clock_object clock = {e->iteration, hash_rules(&e->rules), e->totals.births};
    clump_status status = clump_heap_new_structs(e->heap, &clock_desc, &clock, 1, NULL, NULL);
    if (status) return mpi_fail(run, "the clock", status);
    status = clump_world_save(run->world, e->heap, run->file, NULL, NULL);
    return status ? mpi_fail_world(run, "saving", status) : 0;
}

static void destroy(void *self) {
    epidemic *e = self;
    const cl_mem buffers[] = {e->counts, e->pressure, e->ghosts, e->table, e->tallies, e->changes};
    clump_halo_destroy(e->halo);
    clump_migration_destroy(e->migration);
    mpi_sample_destroy(e->sample);
    mpi_checkpoint_destroy(e->checkpoint);
    for (int i = 0; i < KERNEL_COUNT; i++) clump_kernel_destroy(e->kernels[i]);
    clump_program_destroy(e->program);
    clump_heap_destroy(e->heap);
    for (size_t i = 0; i < sizeof buffers / sizeof *buffers; i++)
        if (buffers[i]) clReleaseMemObject(buffers[i]);
    free(e->parts);
    free(e);
}

/* Agents of the world. */
static int count_agents(mpi_run *run, epidemic *e, uint64_t *count) {
    clump_status status = clump_heap_read_count(e->heap, "Agent", count);
    if (status) return mpi_fail(run, "the number of agents", status);
    status = clump_world_reduce(run->world, count, 1, MPI_UINT64_T, MPI_SUM);
    return status ? mpi_fail_world(run, "the number of agents", status) : 0;
}

static int fill(mpi_run *run, epidemic *e) {
    const uint64_t rank = (uint64_t)run->rank, size = (uint64_t)run->size;
    const double before = MPI_Wtime();
    if (mpi_agree(run, read_rules(run, &e->rules))) return -1;
    e->width = mpi_u32(run, "width");
    e->first_row = row_of(run, rank, size);
    e->height = row_of(run, rank + 1, size) - e->first_row;
    e->band = (epidemic_band){e->first_row * e->width, e->height * e->width};
    /* A third of the agents of an edge leaves, in each of two directions. */
    e->most = (uint32_t)(UINT64_C(2) * e->width * e->rules.density + 4096);
    const int loads = mpi_u32(run, "load") != 0;
    if (loads && mpi_agree(run, choose_parts(run, e))) return -1;
    if (create_heap(run, e) || create_buffers(run, e) || create_exchange(run, e) ||
        set_arguments(run, e) || create_sample(run, e) ||
        (loads ? load_agents(run, e) : make_agents(run, e)) ||
        mpi_do_all(run, e->heap, e->kernels[AGENT_SETTLE]) ||
        count_agents(run, e, &e->count_before))
        return -1;
    if (!run->rank) printf("set up in %.2f s\n", MPI_Wtime() - before);
    return 0;
}

static int create(mpi_run *run, void **self) {
    epidemic *e = calloc(1, sizeof *e);
    if (!e) return bench_error_set(&run->error, "host memory ran out");
    if (fill(run, e)) {
        destroy(e);
        return -1;
    }
    *self = e;
    return 0;
}

/* ---- A step ---------------------------------------------------------------------------------- */

static int spread(mpi_run *run, epidemic *e, uint32_t first, uint32_t stride, uint32_t rows) {
    if (!rows) return 0;
    return SET(SPREAD, 0, MPI_ARG(first), MPI_ARG(stride), MPI_ARG(rows)) ||
                   mpi_launch(run, e->heap, e->kernels[SPREAD], (uint64_t)rows * e->width / 2)
               ? -1
               : 0;
}

/* Pressures, of inner rows while the halo is under way. */
static int make_pressures(mpi_run *run, epidemic *e, mpi_times *times) {
    const uint32_t edges = e->height < 2 ? e->height : 2;
    double before = MPI_Wtime();
    clump_status status = clump_halo_begin(e->halo);
    if (status) return mpi_fail_world(run, "the halo", status);
    times->halo += MPI_Wtime() - before;
    if (spread(run, e, 1, 1, e->height - edges)) return -1;
    before = MPI_Wtime();
    status = clump_halo_end(e->halo, NULL);
    if (status) return mpi_fail_world(run, "the halo", status);
    times->halo += MPI_Wtime() - before;
    if (run->size > 1) times->bytes += UINT64_C(2) * e->width * sizeof(uint16_t);
    return spread(run, e, 0, e->height - 1, edges);
}

static int migrate(mpi_run *run, epidemic *e, mpi_times *times) {
    clump_migration_report report = {.size = sizeof report};
    const cl_int code = clFinish(run->queue);
    if (code) return mpi_fail_cl(run, "clFinish", code);
    const double before = MPI_Wtime();
    const clump_status status = clump_migration_run(e->migration, &report);
    if (status) return mpi_fail_world(run, "the migration", status);
    if (times->migration == 0) memset(e->parts_s, 0, sizeof e->parts_s);
    times->migration += MPI_Wtime() - before;
    times->objects += report.left;
    times->bytes += report.bytes;
    e->parts_s[0] += report.take_s;
    e->parts_s[1] += report.wait_s;
    e->parts_s[2] += report.make_s;
    e->parts_s[3] += report.free_s;
    cl_mem arrivals = clump_migration_get_info(e->migration)->arrivals;
    const uint32_t count = (uint32_t)report.arrived;
    if (!count) return 0;
    return SET(ARRIVE, 0, MPI_ARG(arrivals), MPI_ARG(count)) ||
                   mpi_launch(run, e->heap, e->kernels[ARRIVE], count)
               ? -1
               : 0;
}

/* A work-group adds to one of TALLIES numbers: 32 bits are enough for 10^12 births of a rank. */
static int read_tallies(mpi_run *run, const epidemic *e, uint64_t sums[3]) {
    cl_uint tallies[2 * TALLIES + 1];
    const cl_int code = clEnqueueReadBuffer(run->queue, e->tallies, CL_TRUE, 0, sizeof tallies,
                                            tallies, 0, NULL, NULL);
    if (code) return mpi_fail_cl(run, "clEnqueueReadBuffer", code);
    for (size_t i = 0; i < TALLIES; i++) {
        sums[0] += tallies[i];
        sums[1] += tallies[TALLIES + i];
    }
    sums[2] = tallies[2 * TALLIES];
    return 0;
}

/* Births of the world until now. */
static int count_births(mpi_run *run, const epidemic *e, uint64_t *births) {
    uint64_t sums[3] = {0, 0, 0};
    if (read_tallies(run, e, sums)) return -1;
    const clump_status status = clump_world_reduce(run->world, sums, 1, MPI_UINT64_T, MPI_SUM);
    *births = e->births_before + sums[0];
    return status ? mpi_fail_world(run, "the births", status) : 0;
}

static int write_checkpoint(mpi_run *run, epidemic *e, int is_end) {
    uint32_t words[MPI_CHECKPOINT_WORDS] = {0};
    clock_object clock = {e->iteration, hash_rules(&e->rules), 0};
    int is_next;
    if (mpi_checkpoint_is_next(run, e->checkpoint, e->iteration, is_end, &is_next)) return -1;
    if (!is_next) return 0;
    if (count_births(run, e, &clock.births)) return -1;
    memcpy(words, &clock, sizeof clock);
    return mpi_checkpoint_begin(run, e->checkpoint, e->heap, words);
}

static int step(mpi_run *run, void *self, mpi_times *times) {
    epidemic *e = self;
    if (make_pressures(run, e, times) || clear(run, e->counts, bytes_of_cells(e)) ||
        SET(AGENT_STEP, 0, MPI_ARG(e->iteration)) || SET(AGENT_CHANGE, 0, MPI_ARG(e->iteration)) ||
        mpi_do_all(run, e->heap, e->kernels[AGENT_STEP]) ||
        mpi_launch(run, e->heap, e->kernels[AGENT_CHANGE], 64 * CHANGE_PARTS) ||
        migrate(run, e, times))
        return -1;
    e->iteration++;
    if (e->sample && e->iteration % mpi_u32(run, "vtk") == 0 &&
        mpi_sample_begin(run, e->sample, e->heap, e->kernels[TAKE_SAMPLE], e->iteration))
        return -1;
    const cl_int code = clFinish(run->queue);
    return code ? mpi_fail_cl(run, "clFinish", code) : write_checkpoint(run, e, 0);
}

/* ---- What came of it ------------------------------------------------------------------------- */

/* As in epidemic.cl. */
typedef struct device_totals {
    uint64_t kinds[3], hashes;
} device_totals;

static int take_totals(mpi_run *run, epidemic *e) {
    device_totals here;
    epidemic_totals *t = &e->totals;
    uint64_t run_sums[3] = {0, 0, 0};
    clump_status status = clump_heap_take_errors(e->heap, NULL);
    if (!status)
        status = clump_heap_reduce(e->heap, e->kernels[TAKE_TOTALS], sizeof here, &here, NULL);
    if (status) return mpi_fail(run, "the heap", status);
    if (read_tallies(run, e, run_sums)) return -1;
    uint64_t sums[] = {here.kinds[0], here.kinds[1], here.kinds[2], here.hashes,
                       run_sums[0],   run_sums[1],   run_sums[2]};
    status =
        clump_world_reduce(run->world, sums, sizeof sums / sizeof *sums, MPI_UINT64_T, MPI_SUM);
    if (status) return mpi_fail_world(run, "the totals", status);
    const uint64_t count = sums[0] + sums[1] + sums[2], births = e->births_before + sums[4];
    *t = (epidemic_totals){.kinds = {sums[0], sums[1], sums[2]},
                           .hashes = sums[3],
                           .births = births,
                           .deaths = (uint64_t)e->rules.cells * e->rules.density + births - count};
    if (sums[6])
        return bench_error_set(&run->error,
                               "a cell has too many agents for its counter, or the "
                               "list of births and deaths has no room");
    if (e->count_before + sums[4] - sums[5] != count)
        return bench_error_set(&run->error,
                               "of %llu agents, with %llu births and %llu deaths, %llu are left",
                               (unsigned long long)e->count_before, (unsigned long long)sums[4],
                               (unsigned long long)sums[5], (unsigned long long)count);
    return 0;
}

/* Where the bytes of this rank's heap are, by its own header. */
static int print_memory(mpi_run *run, const epidemic *e) {
    clumpi_header h;
    const clump_heap_info *info = clump_heap_get_info(e->heap);
    const uint64_t at = 64 * sizeof(clock_object); /* behind the null row */
    uint64_t count = 0;
    const clump_status status = clump_heap_read_count(e->heap, "Agent", &count);
    if (status) return mpi_fail(run, "the number of agents", status);
    const cl_int code =
        clEnqueueReadBuffer(run->queue, info->buffer, CL_TRUE, at, sizeof h, &h, 0, NULL, NULL);
    if (code) return mpi_fail_cl(run, "clEnqueueReadBuffer", code);
    if (h.magic != CLUMPI_MAGIC || !count) return 0;
    const double n = (double)count, unit = CLUMPI_UNIT / n;
    const double own = (double)(2 * bytes_of_cells(e) + bytes_of_changes(e)) + 8.0 * e->most;
    const double lists = (h.at_stripes - h.at_list_rows) * unit,
                 bits = (h.at_hints - h.at_bits) * unit,
                 reserved = (h.at_columns - h.at_stripes) * unit;
    printf(
        "rank 0: %llu agents, %.2f bytes of device memory for each in %.3f GB: 16 of fields, "
        "%.2f without agents, %.2f lists, %.2f bitmaps, %.2f reservations, %.2f other metadata, "
        "%.2f cells and lists of changes\n",
        (unsigned long long)count, ((double)info->bytes + own) / n,
        ((double)info->bytes + own) / 1e9, (double)(info->bytes - info->metadata_bytes) / n - 16,
        lists, bits, reserved, (double)info->metadata_bytes / n - lists - bits - reserved, own / n);
    return 0;
}

static int report(mpi_run *run, void *self) {
    epidemic *e = self;
    if (take_totals(run, e) || (e->sample && mpi_sample_end(run, e->sample)) ||
        write_checkpoint(run, e, 1) || mpi_checkpoint_end(run, e->checkpoint))
        return -1;
    if (run->rank) return 0;
    const epidemic_totals *t = &e->totals;
    const double agents = (double)(t->kinds[0] + t->kinds[1] + t->kinds[2]),
                 rate = agents * mpi_real(run, "steps") / run->seconds;
    printf("%llu susceptible, %llu infected, %llu recovered, %llu births, %llu deaths\n",
           (unsigned long long)t->kinds[0], (unsigned long long)t->kinds[1],
           (unsigned long long)t->kinds[2], (unsigned long long)t->births,
           (unsigned long long)t->deaths);
    printf("%.4g agents, %.4g updates a second, %.4g of each rank\n", agents, rate,
           rate / run->size);
    const double ms = 1e3 / mpi_real(run, "steps");
    printf(
        "migration of rank 0: %.3f ms to read objects, %.3f waiting, %.3f making, %.3f freeing\n",
        e->parts_s[0] * ms, e->parts_s[1] * ms, e->parts_s[2] * ms, e->parts_s[3] * ms);
    return print_memory(run, e);
}

static int checksum(mpi_run *run, void *self, uint64_t *found) {
    const epidemic *e = self;
    (void)run;
    *found = epidemic_checksum(&e->totals);
    return 0;
}

static int reference(mpi_run *run, uint32_t steps, uint64_t *expected) {
    epidemic_rules rules;
    epidemic_totals totals;
    if (read_rules(run, &rules) || epidemic_run_sequential(&rules, steps, &totals, &run->error))
        return -1;
    *expected = epidemic_checksum(&totals);
    return 0;
}

static int plain(mpi_run *run, uint64_t *expected, double *seconds) {
    epidemic_rules rules;
    epidemic_totals totals;
    if (read_rules(run, &rules) || epidemic_run_plain(run, &rules, &totals, seconds)) return -1;
    *expected = epidemic_checksum(&totals);
    return 0;
}

const mpi_app mpi_epidemic = {.name = "epidemic",
                              .options = options,
                              .periodic = 1,
                              .create = create,
                              .step = step,
                              .checksum = checksum,
                              .reference = reference,
                              .plain = plain,
                              .report = report,
                              .save = save,
                              .destroy = destroy};
