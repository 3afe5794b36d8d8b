/* The epidemic in plain OpenCL on one device: host side of epidemic-plain.cl.
 *
 * Read first: epidemic.h, epidemic-plain.cl, bench/apps/plain.h.
 */
#include <stdlib.h>

#include "bench/apps/plain.h"
#include "epidemic.h"

enum { INIT, SPREAD, STEP, PLACE, TAKE_TOTALS, KERNEL_COUNT };
static const char *const kernel_names[KERNEL_COUNT] = {"init", "spread", "advance", "place",
                                                       "take_totals"};

#define STRIPES_MOST 1024u
#define STRIPE_LEAST 4096u               /* agents */
#define GROUP 128u                       /* work-items */
#define GROUPS_OF_STRIPE 8u              /* work-groups */
#define FILL_BYTES (UINT64_C(256) << 20) /* larger fills hang on NVIDIA (docs/portability.md) */

/* As in epidemic-plain.cl. */
typedef struct plain_shape {
    uint32_t stripes, slots, free_room, born_room, height, share;
} plain_shape;
typedef struct plain_range {
    uint32_t used, free, born, births, deaths, wrong, pad[26];
} plain_range;
typedef struct plain_newborn {
    uint64_t identity;
    uint32_t cell, pad;
} plain_newborn;

typedef struct world {
    bench_plain plain;
    plain_shape shape;
    uint64_t agents, cell_bytes;
    cl_mem cells, identities, states, ranges, counts; /* of all kernels */
    cl_mem table, pressure, free_list, born_list, totals;
} world;

static plain_shape shape_of(const mpi_run *run, const epidemic_rules *rules, uint64_t agents) {
    plain_shape s = {.stripes = 1, .height = rules->cells >> rules->width_bits};
    while (s.stripes < STRIPES_MOST && agents / s.stripes > STRIPE_LEAST) s.stripes *= 2;
    s.share = (uint32_t)((agents + s.stripes - 1) / s.stripes);
    s.slots = s.share + (uint32_t)((uint64_t)s.share * mpi_u32(run, "room") / 100) + 256;
    s.free_room = s.slots / 8 + 64;
    s.born_room = s.slots / 16 + 64;
    return s;
}

static int make_buffers(world *w, const epidemic_rules *rules, bench_error *error) {
    bench_buffers *b = &w->plain.buffers;
    const plain_shape *s = &w->shape;
    const uint64_t slots = (uint64_t)s->stripes * s->slots;
    const struct {
        uint64_t bytes;
        cl_mem *buffer;
    } made[] = {
        {slots * sizeof(uint32_t), &w->cells},
        {slots * sizeof(uint64_t), &w->identities},
        {slots * sizeof(uint32_t), &w->states},
        {s->stripes * sizeof(plain_range), &w->ranges},
        {w->cell_bytes, &w->counts},
        {w->cell_bytes, &w->pressure},
        {(uint64_t)s->stripes * s->free_room * sizeof(uint32_t), &w->free_list},
        {(uint64_t)s->stripes * s->born_room * sizeof(plain_newborn), &w->born_list},
        {(uint64_t)s->stripes * GROUP * 4 * sizeof(uint64_t), &w->totals},
    };
    uint32_t table[EPIDEMIC_PRESSURES];
    epidemic_make_pressures(rules->contagion, table);
    for (size_t i = 0; i < sizeof made / sizeof *made; i++)
        if (bench_buffer_make(b, made[i].bytes, made[i].buffer, error)) return -1;
    return bench_buffer_create(b, EPIDEMIC_PRESSURES, sizeof *table, table, &w->table, error);
}

#define ARG(kernel, at, value)                                                                     \
    { kernel, at, sizeof(value), &(value) }

static int set_arguments(world *w, const epidemic_rules *rules, bench_error *error) {
    bench_plain *p = &w->plain;
    const cl_mem all[] = {w->cells, w->identities, w->states, w->ranges, w->counts};
    int result = bench_plain_set_common(p, sizeof *rules, rules, error) ||
                 bench_plain_set_common(p, sizeof w->shape, &w->shape, error);
    for (size_t i = 0; i < sizeof all / sizeof *all && !result; i++)
        result = bench_plain_set_common(p, sizeof all[i], &all[i], error);
    const bench_arg args[] = {
        ARG(INIT, 0, w->agents),     ARG(SPREAD, 0, w->table),    ARG(SPREAD, 1, w->pressure),
        ARG(STEP, 1, w->pressure),   ARG(STEP, 2, w->free_list),  ARG(STEP, 3, w->born_list),
        ARG(PLACE, 0, w->free_list), ARG(PLACE, 1, w->born_list), ARG(TAKE_TOTALS, 0, w->totals)};
    return result || bench_plain_set(p, args, sizeof args / sizeof *args, error) ? -1 : 0;
}

static int clear_counts(world *w, bench_error *error) {
    const cl_uint none = 0;
    cl_int code = CL_SUCCESS;
    for (uint64_t at = 0; at < w->cell_bytes && !code; at += FILL_BYTES)
        code = clEnqueueFillBuffer(
            w->plain.buffers.queue, w->counts, &none, sizeof none, at,
            w->cell_bytes - at < FILL_BYTES ? w->cell_bytes - at : FILL_BYTES, 0, NULL, NULL);
    return code ? bench_error_cl(error, "clEnqueueFillBuffer", code) : 0;
}

static int step(world *w, uint32_t number, bench_error *error) {
    const bench_arg arg = ARG(STEP, 0, number);
    const size_t groups = (size_t)w->shape.stripes * GROUPS_OF_STRIPE;
    return bench_plain_launch(&w->plain, SPREAD, 0, w->cell_bytes / 4, NULL, error) ||
                   clear_counts(w, error) || bench_plain_set(&w->plain, &arg, 1, error) ||
                   bench_plain_launch_groups(&w->plain, STEP, groups, GROUP, NULL, error) ||
                   bench_plain_launch_groups(&w->plain, PLACE, w->shape.stripes, GROUP, NULL, error)
               ? -1
               : 0;
}

static int finish(world *w, bench_error *error) {
    const cl_int code = clFinish(w->plain.buffers.queue);
    return code ? bench_error_cl(error, "clFinish", code) : 0;
}

static int read_totals(world *w, epidemic_totals *totals, bench_error *error) {
    const size_t stripes = w->shape.stripes, items = stripes * GROUP;
    uint64_t *parts = malloc(items * 4 * sizeof *parts);
    plain_range *ranges = malloc(stripes * sizeof *ranges);
    int result = parts && ranges ? 0 : bench_error_set(error, "host memory ran out for totals");
    if (!result)
        result = bench_plain_launch_groups(&w->plain, TAKE_TOTALS, stripes, GROUP, NULL, error) ||
                 bench_buffer_read(&w->plain.buffers, w->totals, 0, items * 4 * sizeof *parts,
                                   parts, error) ||
                 bench_buffer_read(&w->plain.buffers, w->ranges, 0, stripes * sizeof *ranges,
                                   ranges, error);
    *totals = (epidemic_totals){.births = 0};
    for (size_t i = 0; i < items && !result; i++) {
        for (size_t k = 0; k < 3; k++) totals->kinds[k] += parts[4 * i + k];
        totals->hashes += parts[4 * i + 3];
    }
    for (size_t i = 0; i < stripes && !result; i++) {
        totals->births += ranges[i].births;
        totals->deaths += ranges[i].deaths;
        if (ranges[i].wrong)
            result = bench_error_set(error,
                                     "an array of the program in plain OpenCL is full, or a "
                                     "cell: more room=PERCENT may help");
    }
    free(parts);
    free(ranges);
    return result;
}

static int run_all(world *w, mpi_run *run, epidemic_totals *totals, double *seconds) {
    const uint32_t warmup = mpi_u32(run, "warmup"), all = warmup + mpi_u32(run, "steps");
    const size_t groups = (size_t)w->shape.stripes * GROUPS_OF_STRIPE;
    double before = 0;
    int result = clear_counts(w, &run->error) ||
                 bench_plain_launch_groups(&w->plain, INIT, groups, GROUP, NULL, &run->error) ||
                 finish(w, &run->error);
    for (uint32_t i = 0; i < all && !result; i++) {
        if (i == warmup) {
            result = finish(w, &run->error);
            before = MPI_Wtime();
        }
        if (!result) result = step(w, i, &run->error);
    }
    if (!result) result = finish(w, &run->error);
    *seconds = MPI_Wtime() - before;
    return result || read_totals(w, totals, &run->error) ? -1 : 0;
}

int epidemic_run_plain(mpi_run *run, const epidemic_rules *rules, epidemic_totals *totals,
                       double *seconds) {
    static const char *const before[] = {"bench/mpi/epidemic.clh", NULL};
    const bench_world_desc on = {.context = run->cl, .device = run->device, .queue = run->queue};
    const bench_plain_desc desc = {.world = &on,
                                   .file = "bench/mpi/epidemic-plain.cl",
                                   .before = before,
                                   .names = kernel_names,
                                   .count = KERNEL_COUNT};
    world w = {.agents = (uint64_t)rules->cells * rules->density,
               .cell_bytes = rules->cells * sizeof(uint16_t)};
    w.shape = shape_of(run, rules, w.agents);
    if ((uint64_t)w.shape.stripes * w.shape.slots > UINT32_MAX)
        return bench_error_set(&run->error, "too many agents for the program in plain OpenCL");
    const int result = bench_plain_create(&desc, &w.plain, &run->error) ||
                       make_buffers(&w, rules, &run->error) ||
                       set_arguments(&w, rules, &run->error) || run_all(&w, run, totals, seconds);
    bench_plain_release(&w.plain);
    return result ? -1 : 0;
}
