/* Wa-Tor in bands of rows: host side of wa-tor.cl. A step has for each kind of agent a halo, which
 * is under way while agents of inner rows choose, and a migration. Borders between bands move if
 * balance is set: cells of rows that leave are freed, their agents migrate, and cells of rows that
 * come are made. The other cells stay.
 *
 * Invariant: cells are made and freed by 64 of the world (PIECE), so that each 64 fill a row of the
 * heap (bench/apps/cells.clh), whatever the rows of the band.
 *
 * Read first: run.h, wa-tor.cl, bench/apps/wa-tor/world.h. Read next: checkpoint.h.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "bench/apps/wa-tor/world.h"
#include "checkpoint.h"

#define EDGE_ROWS 3u
#define EVEN_PERCENT 5u /* borders stay while no rank has so much more work than the average */
#define PIECE 64u       /* cells */
#define ALL_PARTS 8u    /* of the way to where a border belongs */

enum {
    CELL_INIT,
    CELL_POPULATE,
    CELL_DROP,
    CLOCK_DROP,
    STRANGER_DROP,
    COUNT_ROWS,
    ROWS_LEAVE,
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
    WRITE_BAND,
    KERNEL_COUNT
};
static const char *const kernel_names[KERNEL_COUNT] = {
    "cell_init",   "cell_populate", "cell_drop",  "clock_drop",  "stranger_drop", "count_rows",
    "rows_leave",  "settle",        "pack_edges", "fish_select", "shark_select",  "select_edges",
    "cell_decide", "decide_edges",  "fish_move",  "shark_move",  "arrive",        "write_band"};

/* Seconds of this rank, outside of halos and migrations. */
typedef struct busy {
    double wall, processor, from_wall, from_processor;
} busy;

/* Borders, in the measured steps. */
typedef struct counted {
    uint64_t calls, changes, up, down, made; /* rows that left to each side; cells that were made */
    double counting, leaving, migrating, making; /* seconds */
} counted;

/* Borders that move. What all ranks agree about: `lost`, `cost`, `parts`. */
typedef struct borders {
    int is_processor;  /* a step's time is the processor's, of ranks that share cores */
    double before;     /* busy time of this rank when the step began */
    double least;      /* of a step since the last call, seconds; 0: none */
    double scale;      /* time of a unit of work of this rank, 1e-12 s, smoothed. 0: not known */
    double lost;       /* time that steps have lost since the last change, seconds */
    double last, cost; /* of the last change; the lesser of the last two: one of them may have
                           compiled kernels. Seconds, 0: not known */
    uint32_t parts;    /* of ALL_PARTS that a border goes: less if borders turn back */
    int64_t ways[2];   /* rows that the border of each side went when it moved last */
    counted count;
} borders;

typedef struct band {
    wa_tor_rules rules;
    uint32_t first_row, height, first, cells, row_count, iteration, most;
    uint32_t most_rows, farthest; /* that it may have; by which a border moves at a time */
    uint64_t part_cells;          /* that a part of a file has at most; 0: there is no file */
    busy busy;
    borders borders;
    clump_heap *heap;
    clump_program *program, *copy_program;           /* of the heap; of a checkpoint's copy */
    clump_kernel *kernels[KERNEL_COUNT], *copy_drop; /* that of CELL_DROP, for the copy */
    cl_mem rows, other_rows; /* the table of cells; the next one, while borders move */
    cl_mem edges, ghosts, codes, list, counts, strangers;
    clump_halo *halo;
    clump_migration *migration, *moving; /* of agents that move, and of those whose border does */
    mpi_checkpoint *checkpoint;
} band;

static mpi_option options[] = {
    {"width", 512, 1, 65536, "cells of a row"},
    {"height", 512, 1, 1 << 30, "rows of cells, of all ranks"},
    {"seed", 42, 0, 4294967295.0, ""},
    {"fish", 300, 0, 1000, "fish at the start, per 1000 cells"},
    {"sharks", 50, 0, 1000, "sharks at the start, per 1000 cells"},
    {"fish_spawn", 4, 0, 4094, "steps after which a moving fish spawns"},
    {"shark_spawn", 5, 0, 4094, "steps after which a moving shark spawns"},
    {"shark_energy", 3, 1, 65535, "steps that a new shark lives unfed"},
    {"shark_gain", 2, 0, 65535, "steps that a fish adds to a shark's life"},
    {"wave", 1000, 1, 1000, "of 1000 rows, the first ones that have fish and sharks at the start"},
    {"balance", 0, 0, 1e9, "steps after which borders of bands move; 0: never"},
    {"agent", 20, 0, 1e6, "for that, the work of an agent, if that of a cell is 1"},
    {"measure", 1, 0, 1,
     "for that, 1: ranks are compared by the time of their steps. 0: by cells and agents only"},
    {"stretch", 300, 100, 10000, "for that, most rows of a band, in percent of an equal share"},
    {"delta", 0, 0, 64,
     "of edges, elements of so many bytes are sent if they changed; 0: edges are sent whole"},
    {"idle", 0, 0, 1, "1: times in which ranks wait for others are measured, which adds waits"},
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
    rules->empty_from =
        (uint32_t)((uint64_t)rules->height * mpi_u32(run, "wave") / 1000) * rules->width;
    if (!rules->empty_from) rules->empty_from = rules->width; /* a row at least */
    const char *fault = wa_tor_rules_check(rules, 1);
    if (fault) return bench_error_set(&run->error, "%s", fault);
    if (rules->height / (uint32_t)run->size < EDGE_ROWS)
        return bench_error_set(&run->error, "%u rows for %d ranks; each needs %u", rules->height,
                               run->size, EDGE_ROWS);
    return 0;
}

/* ---- Making the band ------------------------------------------------------------------------- */

/* What is saved: agents and a clock. Who loads them makes the cells. */
static clump_status leave_agents(clump_heap *heap, clump_kernel *drop, const uint32_t *words) {
    static const clump_struct_field fields[] = {
        {"step", 0}, {"first", 4}, {"rows", 8}, {"height", 12}, {"width", 16}};
    const clump_struct_desc clock = {sizeof clock, "Clock", 20, 5, fields};
    const clump_status status = clump_heap_do_all(heap, drop, NULL);
    return status ? status : clump_heap_new_structs(heap, &clock, words, 1, NULL, NULL);
}

static clump_status complete(void *of, clump_heap *copy, const uint32_t *words) {
    const band *b = of;
    return leave_agents(copy, b->copy_drop, words);
}

static int create_heap(mpi_run *run, band *b) {
    static const char *const before[] = {
        "bench/mpi/band.clh",         "bench/apps/wa-tor/rules.clh", "bench/apps/wa-tor/agents.clh",
        "bench/apps/wa-tor/show.clh", "bench/apps/cells.clh",        NULL};
    const uint64_t cells = (uint64_t)b->most_rows * b->rules.width + b->part_cells;
    const bench_heap_desc heap = {.clump = run->context,
                                  .file = "bench/mpi/wa-tor.schema",
                                  /* As in bench/apps/wa-tor/heap.c; objects are a little larger. */
                                  .bytes = cells * 60 + (8u << 20)};
    if (bench_heap_create(&heap, &b->heap, &run->error)) return -1;
    bench_program_desc program = {.clump = run->context,
                                  .heap = b->heap,
                                  .file = "bench/mpi/wa-tor.cl",
                                  .before = before,
                                  .uses_random123 = 1,
                                  .names = kernel_names,
                                  .count = KERNEL_COUNT};
    if (bench_program_create(&program, &b->program, b->kernels, &run->error)) return -1;
    if (!mpi_u32(run, "checkpoint")) return 0;
    if (mpi_checkpoint_create(run, &heap, complete, b, &b->checkpoint)) return -1;
    program.clump = mpi_checkpoint_context(b->checkpoint);
    program.heap = mpi_checkpoint_heap(b->checkpoint);
    program.names = &kernel_names[CELL_DROP];
    program.count = 1;
    return bench_program_create(&program, &b->copy_program, &b->copy_drop, &run->error);
}

static int create_exchange(mpi_run *run, band *b) {
    const uint32_t bytes = EDGE_ROWS * b->rules.width;
    const clump_halo_desc halo = {.size = sizeof halo,
                                  .send = b->edges,
                                  .receive = b->ghosts,
                                  .send_at = {0, bytes},
                                  .send_bytes = {bytes, bytes},
                                  .receive_at = {0, bytes},
                                  .receive_bytes = {bytes, bytes},
                                  .delta = mpi_u32(run, "delta")};
    const clump_migration_desc migration = {.size = sizeof migration,
                                            .heap = b->heap,
                                            .class_name = "Agent",
                                            .most = 2 * b->rules.width};
    clump_migration_desc moving = migration;
    b->most = migration.most;
    moving.most *= b->farthest;
    clump_status status = clump_halo_create(run->world, &halo, &b->halo, NULL);
    if (!status) status = clump_migration_create(run->world, &migration, &b->migration, NULL);
    if (!status && b->farthest)
        status = clump_migration_create(run->world, &moving, &b->moving, NULL);
    if (status) return mpi_fail_world(run, "the exchange", status);
    b->list = clump_migration_get_info(b->migration)->list;
    b->strangers = clump_migration_get_info(b->moving)->list;
    return 0;
}

#define SET(kernel, at, ...) MPI_SET(run, b->kernels[kernel], at, __VA_ARGS__)

static int set_arguments(mpi_run *run, band *b) {
    const wa_tor_rules *r = &b->rules;
    const uint32_t all = r->width * r->height;
#define BAND                                                                                       \
    MPI_ARG(b->rows), MPI_ARG(b->ghosts), MPI_ARG(r->width), MPI_ARG(b->height),                   \
        MPI_ARG(b->first), MPI_ARG(all)
#define OWN MPI_ARG(b->rows), MPI_ARG(r->width), MPI_ARG(b->height), MPI_ARG(b->first)
    return SET(CELL_INIT, 0, MPI_ARG(b->rows), MPI_ARG(b->row_count), MPI_ARG(b->first)) ||
                   SET(CELL_POPULATE, 0, MPI_ARG(r->width), MPI_ARG(b->height), MPI_ARG(b->first),
                       MPI_ARG(r->empty_from), MPI_ARG(r->seed), MPI_ARG(r->fish_permille),
                       MPI_ARG(r->shark_permille), MPI_ARG(r->fish_spawn), MPI_ARG(r->shark_spawn),
                       MPI_ARG(r->shark_energy)) ||
                   SET(STRANGER_DROP, 0, MPI_ARG(r->width), MPI_ARG(b->height),
                       MPI_ARG(b->first)) ||
                   SET(SETTLE, 0, MPI_ARG(b->rows), MPI_ARG(b->first)) ||
                   SET(PACK_EDGES, 0, MPI_ARG(b->rows), MPI_ARG(b->edges), MPI_ARG(r->width),
                       MPI_ARG(b->height), MPI_ARG(b->first)) ||
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
                   SET(WRITE_BAND, 0, MPI_ARG(b->codes), MPI_ARG(b->rows), MPI_ARG(b->cells),
                       MPI_ARG(b->first))
               ? -1
               : 0;
}

/* The first `above` pieces of the table, and those from `below` on. */
static int make_cells(mpi_run *run, band *b, uint32_t above, uint32_t below) {
    const cl_uint none = 0, from[] = {above * PIECE, below * PIECE};
    const uint64_t count = (uint64_t)(above + b->row_count - below) * PIECE;
    cl_uint misplaced = 1;
    uint64_t made = 0;
    const size_t at = (size_t)b->row_count * sizeof(cl_uint);
    if (!count) return 0;
    if (SET(CELL_INIT, 3, MPI_ARG(from[0]), MPI_ARG(from[1]))) return -1;
    cl_int code =
        clEnqueueWriteBuffer(run->queue, b->rows, CL_TRUE, at, sizeof none, &none, 0, NULL, NULL);
    if (code) return mpi_fail_cl(run, "clEnqueueWriteBuffer", code);
    clump_status status =
        clump_heap_do_new(b->heap, b->kernels[CELL_INIT], "Cell", count, &made, NULL);
    if (status) return mpi_fail(run, "the cells", status);
    code = clEnqueueReadBuffer(run->queue, b->rows, CL_TRUE, at, sizeof misplaced, &misplaced, 0,
                               NULL, NULL);
    if (code) return mpi_fail_cl(run, "clEnqueueReadBuffer", code);
    if (made != count || misplaced)
        return bench_error_set(&run->error, "%llu of %llu cells were made, %u of them out of place",
                               (unsigned long long)made, (unsigned long long)count, misplaced);
    b->borders.count.made += made;
    return 0;
}

static int make_all_cells(mpi_run *run, band *b) {
    return make_cells(run, b, b->row_count, b->row_count);
}

/* ---- Going on from a file -------------------------------------------------------------------- */

static uint32_t row_of(const band *b, uint64_t rank, uint64_t size) {
    return (uint32_t)(b->rules.height * rank / size);
}

/* Rows that a band can have of `size` ones. */
static uint32_t most_rows_of(const mpi_run *run, const band *b, uint64_t size) {
    const uint64_t share = (b->rules.height + size - 1) / size;
    const uint64_t most = share * mpi_u32(run, "stretch") / 100;
    return (uint32_t)(most < b->rules.height ? most : b->rules.height);
}

/* Parts of a file that were loaded, and the rows that they have: no part between them is missing. */
typedef struct loaded {
    uint32_t parts, first_part, end_part, first_row, end_row;
} loaded;

/* Which one to load next; 0: this band has all its rows. */
static int find_next(const band *b, const loaded *l, uint32_t *part) {
    *part = (uint32_t)((uint64_t)b->first_row * l->parts / b->rules.height); /* a guess */
    if (l->first_part == l->end_part) return 1;
    const int is_above = b->first_row < l->first_row;
    *part = is_above ? l->first_part - 1 : l->end_part;
    return is_above || b->first_row + b->height > l->end_row;
}

static int fail_other_world(mpi_run *run, const band *b) {
    return bench_error_set(&run->error, "file %s is not of a world of %u x %u cells", run->file,
                           b->rules.width, b->rules.height);
}

/* The clock of the part that was loaded last. All parts show the same step. */
static int read_clock(mpi_run *run, band *b, loaded *l, uint32_t part) {
    static const char *const fields[] = {"step", "first", "rows", "height", "width"};
    uint32_t shown[5] = {0};
    uint64_t clocks = 0;
    const int is_first = l->first_part == l->end_part;
    clump_status status = CLUMP_OK;
    for (int i = 0; i < 5 && !status; i++)
        status = clump_heap_read_field(b->heap, "Clock", fields[i], 0, sizeof *shown, &shown[i], 1,
                                       &clocks);
    if (status) return mpi_fail(run, "the file", status);
    if (clocks != 1 || shown[3] != b->rules.height || shown[4] != b->rules.width ||
        (!is_first && shown[0] != run->begun))
        return fail_other_world(run, b);
    b->iteration = run->begun = shown[0];
    if (is_first || part < l->first_part) {
        l->first_part = part;
        l->first_row = shown[1];
    }
    if (is_first || part >= l->end_part) {
        l->end_part = part + 1;
        l->end_row = shown[1] + shown[2];
    }
    return 0;
}

/* One part more, if one is missing: agents of this band. */
static int load_part(mpi_run *run, band *b, loaded *l, int *is_missing) {
    uint32_t part;
    *is_missing = find_next(b, l, &part);
    int failed = *is_missing && part >= l->parts ? fail_other_world(run, b) : 0;
    if (mpi_agree(run, failed)) return -1;
    const clump_status status = clump_world_load_parts(run->world, b->heap, run->file, &part,
                                                       *is_missing ? 1 : 0, NULL, NULL);
    failed = status ? mpi_fail_world(run, "the file", status) : 0;
    if (!failed && *is_missing) failed = read_clock(run, b, l, part);
    if (mpi_agree(run, failed)) return -1;
    return *is_missing && (mpi_do_all(run, b->heap, b->kernels[CLOCK_DROP]) ||
                           mpi_do_all(run, b->heap, b->kernels[STRANGER_DROP]))
               ? -1
               : 0;
}

/* Borders of the file may be elsewhere than an equal division has them, so a band finds its parts
 * one after the other. */
static int load_parts(mpi_run *run, band *b) {
    clump_world_saved saved = {.size = sizeof saved};
    clump_status status = clump_world_read_saved(run->world, run->file, &saved);
    if (mpi_agree(run, status ? mpi_fail_world(run, "the file", status) : 0)) return -1;
    loaded l = {.parts = saved.ranks};
    for (int missing = 1; missing;) {
        if (load_part(run, b, &l, &missing)) return -1;
        status = clump_world_reduce(run->world, &missing, 1, MPI_INT, MPI_SUM);
        if (status) return mpi_fail_world(run, "the file", status);
    }
    return 0;
}

/* Room for one part at a time. */
static int look_into_file(mpi_run *run, band *b) {
    clump_world_saved saved = {.size = sizeof saved};
    const clump_status status = clump_world_read_saved(run->world, run->file, &saved);
    if (status) return mpi_fail_world(run, "the file", status);
    b->part_cells = (uint64_t)most_rows_of(run, b, saved.ranks) * b->rules.width;
    return 0;
}

static int populate(mpi_run *run, band *b) {
    if (!mpi_u32(run, "load"))
        return make_all_cells(run, b) || mpi_do_all(run, b->heap, b->kernels[CELL_POPULATE]) ? -1
                                                                                             : 0;
    return load_parts(run, b) || make_all_cells(run, b) ||
                   mpi_do_all(run, b->heap, b->kernels[SETTLE])
               ? -1
               : 0;
}

static void clock_words(const band *b, uint32_t words[MPI_CHECKPOINT_WORDS]) {
    words[0] = b->iteration;
    words[1] = b->first_row;
    words[2] = b->height;
    words[3] = b->rules.height;
    words[4] = b->rules.width;
}

/* The end of the run: the world has no cells then. */
static int save(mpi_run *run, void *self) {
    band *b = self;
    uint32_t words[MPI_CHECKPOINT_WORDS];
    clock_words(b, words);
    clump_status status = leave_agents(b->heap, b->kernels[CELL_DROP], words);
    if (status) return mpi_fail(run, "the clock", status);
    status = clump_world_save(run->world, b->heap, run->file, NULL, NULL);
    return status ? mpi_fail_world(run, "saving", status) : 0;
}

static void destroy(void *self) {
    band *b = self;
    const cl_mem buffers[] = {b->rows, b->other_rows, b->edges, b->ghosts, b->codes, b->counts};
    clump_kernel_destroy(b->copy_drop);
    clump_program_destroy(b->copy_program);
    mpi_checkpoint_destroy(b->checkpoint);
    clump_halo_destroy(b->halo);
    clump_migration_destroy(b->migration);
    clump_migration_destroy(b->moving);
    for (int i = 0; i < KERNEL_COUNT; i++) clump_kernel_destroy(b->kernels[i]);
    clump_program_destroy(b->program);
    clump_heap_destroy(b->heap);
    for (size_t i = 0; i < sizeof buffers / sizeof *buffers; i++)
        if (buffers[i]) clReleaseMemObject(buffers[i]);
    free(b);
}

static void set_rows(band *b, uint32_t first_row, uint32_t height) {
    b->first_row = first_row;
    b->height = height;
    b->first = first_row * b->rules.width;
    b->cells = height * b->rules.width;
    b->row_count = (uint32_t)(((uint64_t)(b->first % PIECE) + b->cells + PIECE - 1) / PIECE);
}

static int fill(mpi_run *run, band *b) {
    const uint64_t rank = (uint64_t)run->rank, size = (uint64_t)run->size;
    if (mpi_agree(run, read_rules(run, &b->rules))) return -1;
    set_rows(b, row_of(b, rank, size), row_of(b, rank + 1, size) - row_of(b, rank, size));
    b->most_rows = b->height;
    if (mpi_u32(run, "balance")) {
        b->most_rows = most_rows_of(run, b, size);
        b->farthest = (b->rules.height / (uint32_t)run->size + 3) / 4;
        b->borders.parts = ALL_PARTS;
        cl_device_type type;
        const cl_int code = clGetDeviceInfo(run->device, CL_DEVICE_TYPE, sizeof type, &type, NULL);
        if (code) return mpi_fail_cl(run, "clGetDeviceInfo", code);
        b->borders.is_processor = (type & CL_DEVICE_TYPE_CPU) != 0;
    }
    const uint64_t edge = (uint64_t)2 * EDGE_ROWS * b->rules.width,
                   cells = (uint64_t)b->most_rows * b->rules.width,
                   table =
                       (cells / PIECE + 3) * sizeof(cl_uint); /* a part at each end, a counter */
    if (mpi_u32(run, "load") && mpi_agree(run, look_into_file(run, b))) return -1;
    return create_heap(run, b) || mpi_buffer(run, table, &b->rows) ||
                   (b->farthest && mpi_buffer(run, table, &b->other_rows)) ||
                   mpi_buffer(run, edge, &b->edges) || mpi_buffer(run, edge, &b->ghosts) ||
                   mpi_buffer(run, cells * sizeof(cl_uint), &b->codes) ||
                   mpi_buffer(run, b->most_rows * sizeof(cl_uint), &b->counts) ||
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

/* ---- Borders --------------------------------------------------------------------------------- */

/* How many agents each row has. */
static int count_rows(mpi_run *run, band *b, uint32_t *counts) {
    const cl_uint zero = 0;
    const size_t bytes = b->height * sizeof *counts;
    cl_int code =
        clEnqueueFillBuffer(run->queue, b->counts, &zero, sizeof zero, 0, bytes, 0, NULL, NULL);
    if (code) return mpi_fail_cl(run, "clEnqueueFillBuffer", code);
    if (SET(COUNT_ROWS, 0, MPI_ARG(b->counts), MPI_ARG(b->rules.width), MPI_ARG(b->first)) ||
        mpi_do_all(run, b->heap, b->kernels[COUNT_ROWS]))
        return -1;
    code = clEnqueueReadBuffer(run->queue, b->counts, CL_TRUE, 0, bytes, counts, 0, NULL, NULL);
    return code ? mpi_fail_cl(run, "clEnqueueReadBuffer", code) : 0;
}

/* That of all threads of this rank, for ranks that share cores. */
static double processor_s(void) {
    struct timespec now;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

static double clock_s(const borders *o) {
    return o->is_processor ? processor_s() : MPI_Wtime();
}

/* Busy time of this rank until now. */
static double busy_s(const band *b) {
    return b->borders.is_processor ? b->busy.processor : b->busy.wall;
}

/* Work of each row, by its cells and agents; if measured, 1e-12 s of this rank's time. Of the ranks
 * together, and of the one that has most. */
static int weigh_rows(mpi_run *run, band *b, const uint32_t *counts, uint64_t *weights,
                      uint64_t *sum, uint64_t *most) {
    const uint64_t agent = mpi_u32(run, "agent");
    borders *o = &b->borders;
    uint64_t own = 0;
    for (uint32_t i = 0; i < b->height; i++) own += weights[i] = b->rules.width + agent * counts[i];
    if (mpi_u32(run, "measure")) {
        const double now = o->least * 1e12 / (double)own;
        o->scale = o->scale > 0 ? (o->scale + now) / 2 : now;
        own = 0;
        o->least = 0;
        for (uint32_t i = 0; i < b->height; i++)
            own += weights[i] = (uint64_t)((double)weights[i] * o->scale) + 1;
    }
    *sum = *most = own;
    clump_status status = clump_world_reduce(run->world, sum, 1, MPI_UINT64_T, MPI_SUM);
    if (!status) status = clump_world_reduce(run->world, most, 1, MPI_UINT64_T, MPI_MAX);
    return status ? mpi_fail_world(run, "the borders", status) : 0;
}

static int choose_rows(mpi_run *run, const band *b, const uint64_t *weights, uint64_t now[2]) {
    const clump_borders_desc desc = {.size = sizeof desc,
                                     .begin = b->first_row,
                                     .count = b->height,
                                     .weights = weights,
                                     .least = EDGE_ROWS,
                                     .most = b->most_rows,
                                     .farthest = b->farthest};
    const clump_status status = clump_world_move_borders(run->world, &desc, &now[0], &now[1]);
    return status ? mpi_fail_world(run, "the borders", status) : 0;
}

/* If a border turns back by more than half of its last way, all of them go a smaller part of their
 * way than before. The same part, so that bands keep as many rows as before, or as chosen, or a
 * number between the two. */
static int dampen(mpi_run *run, band *b, uint64_t now[2], int *moves) {
    borders *o = &b->borders;
    const int64_t old[2] = {b->first_row, (int64_t)b->first_row + b->height};
    int64_t ways[2] = {(int64_t)now[0] - old[0], (int64_t)(now[0] + now[1]) - old[1]};
    uint32_t turned = 0;
    for (int side = 0; side < 2; side++) {
        const int64_t last = o->ways[side];
        turned |= last > 0 ? 2 * ways[side] < -last : last < 0 && 2 * ways[side] > -last;
    }
    clump_status status = clump_world_reduce(run->world, &turned, 1, MPI_UINT32_T, MPI_MAX);
    if (status) return mpi_fail_world(run, "the borders", status);
    if (turned && o->parts > 1)
        o->parts /= 2;
    else if (!turned && o->parts < ALL_PARTS)
        o->parts *= 2;
    for (int side = 0; side < 2; side++) {
        ways[side] = ways[side] * o->parts / ALL_PARTS;
        if (ways[side]) o->ways[side] = ways[side];
    }
    now[0] = (uint64_t)(old[0] + ways[0]);
    now[1] = (uint64_t)(old[1] + ways[1]) - now[0];
    *moves = ways[0] || ways[1];
    status = clump_world_reduce(run->world, moves, 1, MPI_INT, MPI_MAX);
    return status ? mpi_fail_world(run, "the borders", status) : 0;
}

/* Seconds since `*from`, after what was enqueued. */
static int add_time(mpi_run *run, double *from, double *sum) {
    const cl_int code = clFinish(run->queue);
    const double now = MPI_Wtime();
    *sum += now - *from;
    *from = now;
    return code ? mpi_fail_cl(run, "clFinish", code) : 0;
}

/* Pieces of the table before a change, of which kept .. kept_end - 1 stay: at `to` in the next one.
 */
typedef struct pieces {
    uint32_t count, kept, kept_end, to;
} pieces;

/* Pieces that have a cell of the band before and now. */
static pieces pieces_kept(uint32_t first, uint32_t count, const band *now) {
    const uint32_t begin = first / PIECE, now_begin = now->first / PIECE;
    const uint32_t end = begin + count, now_end = now_begin + now->row_count;
    const uint32_t kept = begin > now_begin ? begin : now_begin;
    const uint32_t kept_end = end < now_end ? end : now_end;
    return (pieces){count, kept - begin, kept_end - begin, kept - now_begin};
}

/* `count` cells of the table from number `from` on, to the neighbour of a side. */
static int let_go(mpi_run *run, band *b, const pieces *p, uint32_t from, uint32_t count,
                  uint32_t side) {
    const uint32_t most = b->most * b->farthest;
    if (!count) return 0;
    return SET(ROWS_LEAVE, 0, MPI_ARG(b->strangers), MPI_ARG(most), MPI_ARG(b->rows), MPI_ARG(from),
               MPI_ARG(count), MPI_ARG(side), MPI_ARG(p->kept), MPI_ARG(p->kept_end)) ||
                   mpi_launch(run, b->heap, b->kernels[ROWS_LEAVE], count)
               ? -1
               : 0;
}

/* The band has other rows. Agents of those that leave are listed, and the table has the cells that
 * stay. */
static int leave_rows(mpi_run *run, band *b, const uint64_t now[2], pieces *kept) {
    const band old = *b;
    cl_mem rows = b->rows;
    set_rows(b, (uint32_t)now[0], (uint32_t)now[1]);
    const pieces p = *kept = pieces_kept(old.first, old.row_count, b);
    const uint32_t above = b->first_row > old.first_row ? b->first_row - old.first_row : 0;
    const uint32_t end = b->first_row + b->height, old_end = old.first_row + old.height;
    const uint32_t below = end < old_end ? old_end - end : 0, width = b->rules.width;
    const uint32_t start = old.first % PIECE; /* of the band in its table */
    const uint32_t from = start + (old.height - below) * width;
    b->borders.count.up += above;
    b->borders.count.down += below;
    if (let_go(run, b, &p, 0, above ? start + above * width : 0, 0) ||
        let_go(run, b, &p, from, below ? old.row_count * PIECE - from : 0, 1))
        return -1;
    const cl_int code = clEnqueueCopyBuffer(run->queue, rows, b->other_rows,
                                            p.kept * sizeof(cl_uint), p.to * sizeof(cl_uint),
                                            (p.kept_end - p.kept) * sizeof(cl_uint), 0, NULL, NULL);
    if (code) return mpi_fail_cl(run, "clEnqueueCopyBuffer", code);
    b->rows = b->other_rows;
    b->other_rows = rows;
    return set_arguments(run, b);
}

/* Agents that came take their cells. */
static int arrive(mpi_run *run, band *b, const clump_migration *migration,
                  const clump_migration_report *report) {
    cl_mem arrivals = clump_migration_get_info(migration)->arrivals;
    const uint32_t count = (uint32_t)report->arrived;
    if (!count) return 0;
    return SET(ARRIVE, 0, MPI_ARG(arrivals), MPI_ARG(count)) ||
                   mpi_launch(run, b->heap, b->kernels[ARRIVE], count)
               ? -1
               : 0;
}

/* Agents whose row is of a neighbour now go there. All ranks call this, also those whose rows stay.
 *   cost  time of this rank, without its waits for others */
static int change_rows(mpi_run *run, band *b, const uint64_t now[2], mpi_times *times,
                       double *cost) {
    clump_migration_report report = {.size = sizeof report};
    borders *o = &b->borders;
    const int is_same = now[0] == b->first_row && now[1] == b->height;
    pieces p = {0, 0, 0, 0};
    double from = MPI_Wtime();
    const double begun = clock_s(o);
    if (!is_same && leave_rows(run, b, now, &p)) return -1;
    if (add_time(run, &from, &o->count.leaving)) return -1;
    const double left = clock_s(o);
    const clump_status status = clump_migration_run(b->moving, &report);
    if (status) return mpi_fail_world(run, "the migration to other borders", status);
    if (add_time(run, &from, &o->count.migrating)) return -1;
    const double migrated = clock_s(o);
    times->objects += report.left;
    times->bytes += report.bytes;
    if (!is_same && make_cells(run, b, p.to, p.to + (p.kept_end - p.kept))) return -1;
    if (arrive(run, b, b->moving, &report) || add_time(run, &from, &o->count.making)) return -1;
    /* A rank that waits for a message may use its processor all the time. */
    *cost = report.take_s + report.make_s + report.free_s;
    if (migrated - left < *cost) *cost = migrated - left;
    *cost += left - begun + clock_s(o) - migrated;
    return 0;
}

/* Borders move if what steps lose until the next call, or lost since the last change, is more than
 * that change needed. What they lose is the time that the busiest rank has more than the average:
 * where a crowd has to pass several ranks, the first change often makes no step shorter. */
static int is_worth_it(const mpi_run *run, borders *o, uint64_t sum, uint64_t most) {
    const double even = (double)sum / run->size;
    if ((double)most * 100 <= even * (100 + EVEN_PERCENT)) return 0;
    if (!mpi_u32(run, "measure")) return 1;
    o->lost += ((double)most - even) * 1e-12 * mpi_u32(run, "balance");
    return o->lost > o->cost;
}

static int change_borders(mpi_run *run, band *b, uint64_t now[2], mpi_times *times) {
    borders *o = &b->borders;
    int moves = 1;
    if (mpi_u32(run, "measure") && dampen(run, b, now, &moves)) return -1;
    if (!moves) return 0;
    double cost = 0;
    if (change_rows(run, b, now, times, &cost)) return -1;
    const clump_status status = clump_world_reduce(run->world, &cost, 1, MPI_DOUBLE, MPI_MAX);
    if (status) return mpi_fail_world(run, "the borders", status);
    o->lost = 0;
    o->cost = cost < o->last ? cost : o->last;
    o->last = cost;
    o->count.changes++;
    return 0;
}

static int balance(mpi_run *run, band *b, mpi_times *times) {
    double from = MPI_Wtime();
    uint32_t *counts = malloc(b->height * sizeof *counts);
    uint64_t *weights = malloc(b->height * sizeof *weights), now[2], sum = 0, most = 0;
    int failed = counts && weights ? count_rows(run, b, counts)
                                   : bench_error_set(&run->error, "host memory ran out");
    b->borders.count.calls++;
    if (!failed) failed = add_time(run, &from, &b->borders.count.counting);
    if (!failed) failed = weigh_rows(run, b, counts, weights, &sum, &most);
    const int moves = !failed && is_worth_it(run, &b->borders, sum, most);
    if (moves) failed = choose_rows(run, b, weights, now);
    free(counts);
    free(weights);
    return failed || !moves ? failed : change_borders(run, b, now, times);
}

/* ---- A step ---------------------------------------------------------------------------------- */

/* Time of this rank begins to count, and ends: what it waits for others is between. */
static void busy_begin(band *b) {
    b->busy.from_wall = MPI_Wtime();
    b->busy.from_processor = processor_s();
}

static void busy_end(band *b) {
    b->busy.wall += MPI_Wtime() - b->busy.from_wall;
    b->busy.processor += processor_s() - b->busy.from_processor;
}

/* Whether the time of each part is needed, which adds a wait. */
static int is_timed(const mpi_run *run) {
    return mpi_u32(run, "idle") || (mpi_u32(run, "balance") && mpi_u32(run, "measure"));
}

static int exchange_edges(mpi_run *run, band *b, unsigned select, mpi_times *times) {
    if (mpi_launch(run, b->heap, b->kernels[PACK_EDGES], 6 * (uint64_t)b->rules.width)) return -1;
    cl_int code = clFinish(run->queue); /* so that the halo's time is its own */
    if (code) return mpi_fail_cl(run, "clFinish", code);
    busy_end(b);
    const uint64_t sent = clump_halo_get_info(b->halo)->bytes_sent;
    double before = MPI_Wtime();
    clump_status status = clump_halo_begin(b->halo);
    if (status) return mpi_fail_world(run, "the halo", status);
    times->halo += MPI_Wtime() - before;
    busy_begin(b);
    if (mpi_do_all(run, b->heap, b->kernels[select])) return -1;
    code = is_timed(run) ? clFinish(run->queue) : CL_SUCCESS;
    if (code) return mpi_fail_cl(run, "clFinish", code);
    busy_end(b);
    before = MPI_Wtime();
    status = clump_halo_end(b->halo, NULL);
    if (status) return mpi_fail_world(run, "the halo", status);
    times->halo += MPI_Wtime() - before;
    busy_begin(b);
    if (run->size > 1) times->bytes += clump_halo_get_info(b->halo)->bytes_sent - sent;
    return 0;
}

static int migrate(mpi_run *run, band *b, mpi_times *times) {
    clump_migration_report report = {.size = sizeof report};
    cl_int code = clFinish(run->queue);
    if (code) return mpi_fail_cl(run, "clFinish", code);
    busy_end(b);
    const double before = MPI_Wtime();
    const clump_status status = clump_migration_run(b->migration, &report);
    if (status) return mpi_fail_world(run, "the migration", status);
    times->migration += MPI_Wtime() - before;
    busy_begin(b);
    times->objects += report.left;
    times->bytes += report.bytes;
    return arrive(run, b, b->migration, &report);
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

static int is_due(const mpi_run *run, const band *b, const char *option) {
    const uint32_t every = mpi_u32(run, option);
    return every && b->iteration % every == 0;
}

static int write_checkpoint(mpi_run *run, band *b, int is_end) {
    uint32_t words[MPI_CHECKPOINT_WORDS];
    int is_next;
    if (mpi_checkpoint_is_next(run, b->checkpoint, b->iteration, is_end, &is_next)) return -1;
    clock_words(b, words);
    return is_next ? mpi_checkpoint_begin(run, b->checkpoint, b->heap, words) : 0;
}

static int step(mpi_run *run, void *self, mpi_times *times) {
    band *b = self;
    if (times->step == 0) { /* the first that counts */
        b->busy = (busy){0};
        b->borders.count = (counted){0};
    }
    b->borders.before = busy_s(b);
    busy_begin(b);
    if (phase(run, b, WA_TOR_KIND_FISH, times) || phase(run, b, WA_TOR_KIND_SHARK, times))
        return -1;
    const cl_int code = is_timed(run) ? clFinish(run->queue) : CL_SUCCESS;
    if (code) return mpi_fail_cl(run, "clFinish", code);
    busy_end(b);
    const double now = busy_s(b) - b->borders.before;
    if (!(b->borders.least > 0) || now < b->borders.least) b->borders.least = now;
    b->iteration++;
    if (is_due(run, b, "balance") && balance(run, b, times)) return -1;
    return write_checkpoint(run, b, 0);
}

/* ---- What came of it ------------------------------------------------------------------------- */

/* wa_tor_checksum() from band to band: each goes on with what the one above it came to. */
static int checksum(mpi_run *run, void *self, uint64_t *found) {
    band *b = self;
    uint32_t *codes = malloc(b->cells * sizeof *codes);
    uint64_t hash = 14695981039346656037u;
    if (!codes) return bench_error_set(&run->error, "host memory ran out");
    int result = mpi_launch(run, b->heap, b->kernels[WRITE_BAND], b->cells);
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

/* A rank is idle while the one that has most to do is busy. */
static int report_idle(mpi_run *run, band *b) {
    const double ms = 1e3 / mpi_real(run, "steps");
    double most[2] = {b->busy.wall * ms, b->busy.processor * ms}, sums[2] = {most[0], most[1]};
    clump_status status = clump_world_reduce(run->world, most, 2, MPI_DOUBLE, MPI_MAX);
    if (!status) status = clump_world_reduce(run->world, sums, 2, MPI_DOUBLE, MPI_SUM);
    if (status) return mpi_fail_world(run, "times", status);
    if (!run->rank)
        printf(
            "idle: %.1f%% of the busiest rank's %.3f ms a step (processor time: %.1f%% of %.3f)\n",
            100 * (1 - sums[0] / run->size / most[0]), most[0],
            100 * (1 - sums[1] / run->size / most[1]), most[1]);
    return 0;
}

static int report_borders(mpi_run *run, const band *b) {
    const counted *o = &b->borders.count;
    uint64_t rows[2] = {b->height, UINT64_MAX - b->height}, sums[] = {o->up, o->down, o->made};
    double most[] = {o->counting, o->leaving, o->migrating, o->making};
    clump_status status = clump_world_reduce(run->world, rows, 2, MPI_UINT64_T, MPI_MAX);
    if (!status) status = clump_world_reduce(run->world, sums, 3, MPI_UINT64_T, MPI_SUM);
    if (!status) status = clump_world_reduce(run->world, most, 4, MPI_DOUBLE, MPI_MAX);
    if (status) return mpi_fail_world(run, "the borders", status);
    const double ms = o->changes ? 1e3 / (double)o->changes : 0;
    if (!run->rank)
        printf(
            "borders: bands of %llu to %llu rows, %llu of %llu calls moved %llu rows up and "
            "%llu down; %llu cells made; %.3f ms a call counting; a change: %.3f ms leaving, "
            "%.3f migrating, %.3f making\n",
            (unsigned long long)(UINT64_MAX - rows[1]), (unsigned long long)rows[0],
            (unsigned long long)o->changes, (unsigned long long)o->calls,
            (unsigned long long)sums[0], (unsigned long long)sums[1], (unsigned long long)sums[2],
            o->calls ? most[0] * 1e3 / (double)o->calls : 0, most[1] * ms, most[2] * ms,
            most[3] * ms);
    return 0;
}

/* Of rank 0. */
static void report_edges(const band *b) {
    const clump_halo_info *info = clump_halo_get_info(b->halo);
    const double ms = info->exchanges ? 1e3 / (double)info->exchanges : 0;
    printf(
        "edges: %.0f of %.0f bytes sent in an exchange, %llu of %llu parts as differences; %.4f ms "
        "comparing, %.4f reading, %.4f writing, %.4f waiting\n",
        (double)info->bytes_sent * ms / 1e3, (double)info->bytes_whole * ms / 1e3,
        (unsigned long long)info->deltas, (unsigned long long)info->parts, info->pack_s * ms,
        info->read_s * ms, info->write_s * ms, info->wait_s * ms);
}

static int report(mpi_run *run, void *self) {
    band *b = self;
    if (!run->rank && (mpi_u32(run, "delta") || mpi_u32(run, "idle"))) report_edges(b);
    uint64_t counts[2] = {0, 0};
    if (write_checkpoint(run, b, 1) || mpi_checkpoint_end(run, b->checkpoint)) return -1;
    if (mpi_u32(run, "idle") && report_idle(run, b)) return -1;
    if (mpi_u32(run, "balance") && report_borders(run, b)) return -1;
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
