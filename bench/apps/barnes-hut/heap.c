/* The quadtree on the heap: host side of heap.cl. See world.h. */
#include "heap.h"

#include <stdlib.h>

#include "bench/apps/objects.h"

#define LONGEST 8 /* chains that one work-item takes apart while the first tree is built */

/* The phases of a step come first, as in barnes_hut_phases. */
enum { FORCE, MOVE, PUSH, SPLIT, GATHER, INIT, ROOT, CODES, WRITE, FAULTS, KERNEL_COUNT };
static const char *const kernel_names[KERNEL_COUNT] = {
    "compute_force", "move",      "push",       "split",        "gather",
    "body_init",     "root_init", "find_codes", "write_bodies", "count_faults"};

struct world {
    bench_objects objects;
    uint32_t count;
    cl_uint pass; /* the number of the next run of `gather` */
    barnes_hut_constants constants;
    cl_mem states; /* collision_body of each, the first ones */
    cl_mem shown;  /* those to read */
    cl_mem levels;
    cl_mem root; /* a reference to it, registered with the heap */
    clump_refs *refs;
};

/* ---- Making the world ------------------------------------------------------------------------ */

int barnes_hut_heap_count_faults(void *self, uint32_t *faults, bench_error *error) {
    bench_objects *objects = self;
    return bench_objects_check(
        objects,
        clump_heap_reduce(objects->heap, objects->kernels[FAULTS], sizeof *faults, faults, NULL),
        kernel_names[FAULTS], error);
}

static int create_objects(struct world *world, const barnes_hut_desc *desc, bench_error *error) {
    /* A body has 48 bytes and a node 112, of which there are about 0.76 for a body; in double
     * precision 80 and 192. Bodies that come close to each other need more nodes. */
    char options[BARNES_HUT_OPTIONS_BYTES];
    int is_precise = desc->rules.is_precise;
    bench_world_desc world_desc = desc->world;
    barnes_hut_write_options(&world->constants, options);
    /* In double precision `compute_force` spills with the library's 48: 215 ms a step instead of 66
     * on an H200. */
    if (is_precise && !world_desc.tuning.registers) world_desc.tuning.registers = 168;
    bench_objects_desc objects = {
        .world = &world_desc,
        .schema = is_precise ? "bench/apps/barnes-hut/precise.schema"
                             : "bench/apps/barnes-hut/objects.schema",
        .enough = (uint64_t)desc->count * (is_precise ? 448 : 256) + (8u << 20),
        .file = "bench/apps/barnes-hut/heap.cl",
        .before = barnes_hut_sources,
        .options = options,
        .names = kernel_names,
        .count = KERNEL_COUNT,
        .compacted = "NodeBase",
        .key_kernel = CODES};
    return bench_objects_create(&objects, &world->objects, error);
}

static int create_buffers(struct world *world, const barnes_hut_desc *desc, bench_error *error) {
    bench_objects *objects = &world->objects;
    bench_buffers *buffers = &objects->buffers;
    if (bench_buffer_create(buffers, desc->count, sizeof *desc->bodies, desc->bodies,
                            &world->states, error) ||
        bench_buffer_create(buffers, desc->count, barnes_hut_shown_bytes(&world->constants), NULL,
                            &world->shown, error) ||
        bench_buffer_create(buffers, desc->count, 1, NULL, &world->levels, error) ||
        bench_buffer_create(buffers, 1, sizeof(clump_ref), NULL, &world->root, error)) {
        return -1;
    }
    clump_refs_desc refs = {.size = sizeof refs, .buffer = world->root, .count = 1};
    return bench_objects_check(objects, clump_refs_create(objects->heap, &refs, &world->refs, NULL),
                               "registering the root", error);
}

/* All that stays the same; what changes from step to step is set again there. */
static int set_arguments(struct world *world, bench_error *error) {
    const barnes_hut_constants *constants = &world->constants;
    const cl_uint longest = LONGEST;
    const bench_arg all[] = {{INIT, 0, sizeof(cl_mem), &world->states},
                             {ROOT, 0, sizeof(cl_mem), &world->root},
                             {ROOT, 1, sizeof constants->reach, constants->reach},
                             {FORCE, 0, sizeof(cl_mem), &world->root},
                             barnes_hut_real_arg(constants, FORCE, 1, &constants->softening2),
                             {FORCE, 2, sizeof constants->path, &constants->path},
                             barnes_hut_real_arg(constants, MOVE, 0, &constants->kick),
                             barnes_hut_real_arg(constants, MOVE, 1, &constants->dt),
                             {PUSH, 0, sizeof(cl_mem), &world->root},
                             {SPLIT, 0, sizeof longest, &longest},
                             {SPLIT, 1, sizeof constants->reach, constants->reach},
                             {SPLIT, 2, sizeof world->pass, &world->pass},
                             {WRITE, 0, sizeof(cl_mem), &world->shown},
                             {WRITE, 1, sizeof(cl_mem), &world->levels},
                             {FAULTS, 0, sizeof(cl_mem), &world->root}};
    return bench_objects_set(&world->objects, all, sizeof all / sizeof *all, error);
}

/* Sum up, and count the passes. */
static int gather(struct world *world, cl_event *event, bench_error *error) {
    bench_objects *objects = &world->objects;
    const bench_arg now = {GATHER, 0, sizeof world->pass, &world->pass},
                    next = {SPLIT, 2, sizeof world->pass, &world->pass};
    if (bench_objects_set(objects, &now, 1, error) ||
        bench_objects_do_all(objects, GATHER, event, error)) {
        return -1;
    }
    world->pass++;
    return bench_objects_set(objects, &next, 1, error);
}

/* All bodies into the empty tree, level by level. In the last round, and in all steps, chains of
 * any length are taken apart. */
static int build(struct world *world, bench_error *error) {
    bench_objects *objects = &world->objects;
    const cl_uint any = UINT32_MAX;
    const bench_arg longest = {SPLIT, 0, sizeof any, &any};
    uint32_t rounds = barnes_hut_count_rounds(world->count);
    for (uint32_t i = 0; i < rounds; i++) {
        if ((i + 1 == rounds && bench_objects_set(objects, &longest, 1, error)) ||
            bench_objects_do_all(objects, PUSH, NULL, error) ||
            bench_objects_do_all(objects, SPLIT, NULL, error)) {
            return -1;
        }
    }
    return gather(world, NULL, error);
}

static void destroy(void *self) {
    struct world *world = self;
    if (world) {
        clump_refs_destroy(world->refs);
    }
    bench_objects_destroy(world);
}

static int create(const barnes_hut_desc *desc, const barnes_hut_constants *constants, void **self,
                  bench_error *error) {
    struct world *world = calloc(1, sizeof *world);
    if (!world) {
        return bench_error_set(error, "host memory ran out");
    }
    world->count = desc->count;
    world->pass = 1;
    world->constants = *constants;
    if (create_objects(world, desc, error) || create_buffers(world, desc, error) ||
        set_arguments(world, error) ||
        bench_objects_do_new(&world->objects, "TreeNode", 1, ROOT, error) ||
        bench_objects_do_new(&world->objects, "Body", world->count, INIT, error) ||
        build(world, error) || bench_objects_finish(world, error)) {
        destroy(world);
        return -1;
    }
    *self = world;
    return 0;
}

/* ---- Steps and states ------------------------------------------------------------------------ */

static int step(void *self, cl_event *events, bench_error *error) {
    for (unsigned kernel = FORCE; kernel < GATHER; kernel++) {
        if (bench_objects_do_all(self, kernel, events ? &events[kernel] : NULL, error)) {
            return -1;
        }
    }
    return gather(self, events ? &events[GATHER] : NULL, error);
}

static int read_state(void *self, void *out, bench_error *error) {
    barnes_hut_state *state = out;
    struct world *world = self;
    bench_objects *objects = &world->objects;
    uint64_t nodes = 0;
    if (bench_objects_do_all(objects, WRITE, NULL, error) ||
        bench_objects_check(objects, clump_heap_read_count(objects->heap, "TreeNode", &nodes),
                            "counting nodes", error) ||
        barnes_hut_read_bodies(&world->constants, &objects->buffers, world->shown, world->count,
                               state, error) ||
        (state->levels && bench_buffer_read(&objects->buffers, world->levels, 0, world->count,
                                            state->levels, error))) {
        return -1;
    }
    state->nodes = (uint32_t)nodes;
    return 0;
}

const barnes_hut_ops barnes_hut_heap_ops = {
    .create = create,
    .world = {.destroy = destroy,
              .step = step,
              .finish = bench_objects_finish,
              .read = read_state,
              .get_compacting = bench_objects_get_compacting}};
