/* The benchmark fuse: loops one after the other against the same loops in one launch
 * (clump_kernel_create_fused()).
 *
 * Two triples of loops over all objects:
 *
 *     update_us, update_fused_us    n-body's update in three loops: velocities, positions,
 *                                   reflection at the border
 *     map_us, map_fused_us          two loops that change a field each, then a reduction
 *     update_gain, map_gain         the first by the second
 *
 * Times are from the end of what was enqueued before to the end of the last launch, by the device's
 * clock. The check: every field of every object after all rounds, and the reduction against one
 * that was not fused.
 *
 * Read first: bench.h, rig.h, fuse.cl.
 */
#include <inttypes.h>

#include "bench/harness/bench.h"
#include "bench/harness/registry.h"
#include "clump/fuse.h"
#include "rig.h"

enum { MAKE, KICK, DRIFT, BOUNCE, SCALE, FOLD, SUM, WRONG, KERNEL_COUNT };
enum { LOOPS = 3, STEPS_A_ROUND = 2 };

typedef struct fuse {
    bench_rig rig;
    clump_kernel *update, *map;
    uint32_t objects, rounds;
    float dt;
    cl_uint factor;
} fuse;

static int create_rig(fuse *f, bench_env *env, const bench_values *values, bench_results *results) {
    static const char *const names[KERNEL_COUNT] = {"make_bodies", "kick", "drift", "bounce",
                                                    "scale",       "fold", "sum",   "count_wrong"};
    uint64_t heap_bytes = (uint64_t)bench_int(values, "heap_mb") << 20;
    if (heap_bytes == 0) heap_bytes = (uint64_t)f->objects * 48 + (16u << 20);
    bench_rig_desc desc = {
        .env = env,
        .results = results,
        .heap =
            {.text =
                 "class Body { uint number; uint a; uint b; float x; float y; float vx; float vy; "
                 "float force_x; float force_y; }",
             .bytes = heap_bytes,
             .block_rows = (uint32_t)bench_int(values, "block_rows")},
        .files = {"bench/micro/fuse.cl"},
        .kernels = names,
        .kernel_count = KERNEL_COUNT};
    return bench_rig_create(&f->rig, &desc);
}

static int fuse_loops(fuse *f) {
    bench_rig *rig = &f->rig;
    clump_status status = clump_kernel_create_fused(&rig->kernels[KICK], LOOPS, &f->update, NULL);
    if (status == CLUMP_OK)
        status = clump_kernel_create_fused(&rig->kernels[SCALE], LOOPS, &f->map, NULL);
    return status == CLUMP_OK ? 0 : bench_rig_fail(rig, "the fused kernels", status);
}

static int set_arguments(fuse *f) {
    bench_rig *rig = &f->rig;
    return bench_rig_arg(rig, KICK, 0, sizeof f->dt, &f->dt) ||
                   bench_rig_arg(rig, DRIFT, 0, sizeof f->dt, &f->dt) ||
                   bench_rig_arg(rig, SCALE, 0, sizeof f->factor, &f->factor)
               ? -1
               : 0;
}

static int run_round(void *self, uint32_t number, int is_measured) {
    fuse *f = self;
    (void)number;
    bench_rig *rig = &f->rig;
    double update_us, update_fused_us, map_us, map_fused_us;
    if (bench_rig_do_alls(rig, &rig->kernels[KICK], LOOPS, &update_us) ||
        bench_rig_do_alls(rig, &f->update, 1, &update_fused_us) ||
        bench_rig_do_alls(rig, &rig->kernels[SCALE], LOOPS, &map_us) ||
        bench_rig_do_alls(rig, &f->map, 1, &map_fused_us)) {
        return -1;
    }
    f->rounds++;
    if (!is_measured) return 0;
    bench_sample(rig->results, "update_us", "us", update_us);
    bench_sample(rig->results, "update_fused_us", "us", update_fused_us);
    bench_sample(rig->results, "map_us", "us", map_us);
    bench_sample(rig->results, "map_fused_us", "us", map_fused_us);
    bench_sample(rig->results, "update_gain", "ratio", update_us / update_fused_us);
    bench_sample(rig->results, "map_gain", "ratio", map_us / map_fused_us);
    return 0;
}

static int finish(void *self) {
    fuse *f = self;
    bench_rig *rig = &f->rig;
    cl_uint updates = f->rounds * STEPS_A_ROUND,
            maps = updates + 1; /* the reduction below is one more */
    cl_ulong fused = 0, separate = 0, wrong = 0;
    if (bench_rig_arg(rig, WRONG, 0, sizeof updates, &updates) ||
        bench_rig_arg(rig, WRONG, 1, sizeof f->dt, &f->dt) ||
        bench_rig_arg(rig, WRONG, 2, sizeof maps, &maps) ||
        bench_rig_arg(rig, WRONG, 3, sizeof f->factor, &f->factor)) {
        return -1;
    }
    clump_status status = clump_heap_reduce(rig->heap, f->map, sizeof fused, &fused, NULL);
    if (status == CLUMP_OK)
        status = clump_heap_reduce(rig->heap, rig->kernels[SUM], sizeof separate, &separate, NULL);
    if (status == CLUMP_OK)
        status = clump_heap_reduce(rig->heap, rig->kernels[WRONG], sizeof wrong, &wrong, NULL);
    if (status != CLUMP_OK) return bench_rig_fail(rig, "the verification", status);
    bench_check(rig->results, wrong == 0,
                "%" PRIu64 " objects are wrong after %u updates and %u maps", (uint64_t)wrong,
                updates, maps);
    bench_check(rig->results, fused == separate,
                "the sum is %" PRIu64 ", by the fused kernel %" PRIu64, (uint64_t)separate,
                (uint64_t)fused);
    return bench_rig_verify(rig, 0);
}

static int begin(void *self, bench_env *env, const bench_values *values, bench_results *results) {
    fuse *f = self;
    *f = (fuse){.rig.error = &results->error,
                .objects = (uint32_t)bench_int(values, "objects"),
                .dt = 0.01f,
                .factor = 747796405u};
    return create_rig(f, env, values, results) || fuse_loops(f) || set_arguments(f) ||
                   bench_rig_do_new(&f->rig, MAKE, "Body", f->objects)
               ? -1
               : 0;
}

static void end(void *self) {
    fuse *f = self;
    clump_kernel_destroy(f->update);
    clump_kernel_destroy(f->map);
    bench_rig_release(&f->rig);
}

static const bench_param params[] = {
    {"objects", BENCH_INT, "1000000", "objects that the loops visit", 1, 1u << 30, NULL},
    BENCH_RIG_HEAP_PARAMS,
    {NULL, BENCH_INT, NULL, NULL, 0, 0, NULL}};

const bench_descriptor bench_fuse = {
    .name = "fuse",
    .sentence = "Loops over the same objects one after the other, and in one launch",
    .params = params,
    .repeat = 15,
    .bytes = sizeof(fuse),
    .warm_up = 1,
    .begin = begin,
    .round = run_round,
    .finish = finish,
    .end = end};
