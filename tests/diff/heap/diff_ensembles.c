/* Many worlds in one heap (docs/guide/ensembles.md), each compared with the same world in a heap of
 * its own, bit for bit: objects that come and go, sums for each world, worlds of other sizes,
 * parameters and lengths; after compactions and sorts; a world that is saved, taken out and resumed
 * from its file, in this heap and in an empty one; one that ends, and another that begins.
 *
 * Read first: docs/guide/ensembles.md, tests/support/cl_fixture.h.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support/cl_fixture.h"

enum { WORLDS = 9, PATCHES = 8, ANIMALS = 150, STEPS = 30, BYTES = 2 << 20, MOST = 20000 };

static const char schema[] =
    "class World { uint number; uint seed; uint births; uint deaths; uint until; uint step;\n"
    "              uint alive; uint counted; uint eaten; uint eaten_high; int weakest; }\n"
    "abstract class Member { ref World world; }\n"
    "class Patch : Member { uint number; uint grass; uint eaters; uint counted; ref Patch right; "
    "}\n"
    "class Animal : Member { ulong id; uint energy; ref Patch at; }\n";

/* An animal gets its part of the grass, which the step before has counted the eaters of, so that
 * nothing depends on the order of work-items. */
static const char source[] =
    "__kernel void live(CLUMP_HEAP) {\n"
    "    CLUMP_FOR_EACH(Animal, self) {\n"
    "        World w = Animal_world(self);\n"
    "        if (World_step(w) >= World_until(w)) continue;\n"
    "        uint4 drawn = clump_random(World_seed(w), Animal_id(self), World_step(w));\n"
    "        Patch p = Animal_at(self);\n"
    "        uint food = Patch_grass(p) / max(1u, Patch_eaters(p));\n"
    "        uint energy = Animal_energy(self) + food;\n"
    "        if (CLUMP_ATOMIC_ADD(World_eaten(w), food << 24) + (food << 24) < food << 24)\n"
    "            CLUMP_ATOMIC_ADD(World_eaten_high(w), 1u);\n"
    "        CLUMP_ATOMIC_MIN(World_weakest(w), (int)energy - 3);\n"
    "        if (energy < 3u || drawn.x % 1000u < World_deaths(w)) {\n"
    "            Animal_free(self);\n"
    "            continue;\n"
    "        }\n"
    "        energy -= 3u;\n"
    "        if (drawn.y & 1u) p = Patch_right(p);\n"
    "        uint count = 1u;\n"
    "        if (energy > 20u && drawn.z % 1000u < World_births(w)) {\n"
    "            Animal child = Animal_new();\n"
    "            energy /= 2u;\n"
    "            Animal_world(child) = w;\n"
    "            Animal_id(child) = (ulong)drawn.w << 32 | (drawn.z ^ drawn.y);\n"
    "            Animal_energy(child) = energy;\n"
    "            Animal_at(child) = p;\n"
    "            count = 2u;\n"
    "        }\n"
    "        Animal_energy(self) = energy;\n"
    "        Animal_at(self) = p;\n"
    "        CLUMP_ATOMIC_ADD_TOGETHER(Patch_counted(p), count);\n"
    "        CLUMP_ATOMIC_ADD_TOGETHER(World_counted(w), count);\n"
    "    }\n"
    "}\n"
    "__kernel void grow(CLUMP_HEAP_NO_ALLOC) {\n"
    "    CLUMP_FOR_EACH(Patch, self) {\n"
    "        World w = Patch_world(self);\n"
    "        if (World_step(w) >= World_until(w)) continue;\n"
    "        Patch_grass(self) = (Patch_eaters(self) ? 0u : Patch_grass(self)) + 60u +\n"
    "                            World_seed(w) % 7u;\n"
    "        Patch_eaters(self) = Patch_counted(self);\n"
    "        Patch_counted(self) = 0u;\n"
    "    }\n"
    "}\n"
    "__kernel void tick(CLUMP_HEAP_NO_ALLOC) {\n"
    "    CLUMP_FOR_EACH(World, w) {\n"
    "        if (World_step(w) >= World_until(w)) continue;\n"
    "        World_alive(w) = World_counted(w);\n"
    "        World_counted(w) = 0u;\n"
    "        World_step(w)++;\n"
    "    }\n"
    "}\n"
    "__kernel void finish(CLUMP_HEAP, uint number) {\n"
    "    CLUMP_FOR_EACH(Member, self) if (World_number(Member_world(self)) == number)\n"
    "        Member_free(self);\n"
    "}\n"
    "__kernel void finish_world(CLUMP_HEAP, uint number) {\n"
    "    CLUMP_FOR_EACH(World, w) if (World_number(w) == number) World_free(w);\n"
    "}\n";

static cl_fixture on;
static clump_heap *together; /* with all worlds, in most tests */
static clump_program *program;

/* ---- Worlds ---------------------------------------------------------------------------------- */

/* Rows of the plan, and what a world has become: as the fields of the schema. */
typedef struct world_row {
    uint32_t number, seed, births, deaths, until, step, alive, counted, eaten, eaten_high;
    int32_t weakest;
} world_row;
typedef struct patch_row {
    clump_ref world;
    uint32_t number, grass, eaters, counted;
    clump_ref right;
} patch_row;
typedef struct animal_row {
    uint64_t id;
    clump_ref world;
    uint32_t energy;
    clump_ref at;
    uint32_t pad;
} animal_row;

#define FIELD(row, name)                                                                           \
    { #name, offsetof(row, name) }
static const clump_struct_field world_fields[] = {
    FIELD(world_row, number),     FIELD(world_row, seed),    FIELD(world_row, births),
    FIELD(world_row, deaths),     FIELD(world_row, until),   FIELD(world_row, step),
    FIELD(world_row, alive),      FIELD(world_row, counted), FIELD(world_row, eaten),
    FIELD(world_row, eaten_high), FIELD(world_row, weakest)};
static const clump_struct_field patch_fields[] = {
    FIELD(patch_row, world),  FIELD(patch_row, number),  FIELD(patch_row, grass),
    FIELD(patch_row, eaters), FIELD(patch_row, counted), FIELD(patch_row, right)};
static const clump_struct_field animal_fields[] = {FIELD(animal_row, id), FIELD(animal_row, world),
                                                   FIELD(animal_row, energy),
                                                   FIELD(animal_row, at)};
static const clump_struct_desc world_struct = {sizeof world_struct, "World", sizeof(world_row), 11,
                                               world_fields};
static const clump_struct_desc patch_struct = {sizeof patch_struct, "Patch", sizeof(patch_row), 6,
                                               patch_fields};
static const clump_struct_desc animal_struct = {sizeof animal_struct, "Animal", sizeof(animal_row),
                                                4, animal_fields};

static world_row plan_of(uint32_t number) {
    return (world_row){.number = number,
                       .seed = number * 77,
                       .births = 100 + 60 * number,
                       .deaths = 20 + 5 * (number % 4),
                       .until = STEPS - number % 3,
                       .weakest = INT32_MAX};
}

static void begin_world(clump_heap *heap, uint32_t number) {
    static animal_row animals[ANIMALS];
    const world_row row = plan_of(number);
    const uint32_t count = ANIMALS - 11 * (number % 8);
    patch_row patches[PATCHES] = {{0}};
    clump_ref world, refs[PATCHES];
    CHECK_OK(&on, clump_heap_new_structs(heap, &world_struct, &row, 1, &world, NULL));
    for (uint32_t i = 0; i < PATCHES; i++)
        patches[i] = (patch_row){.world = world, .number = i, .grass = 40 + i};
    CHECK_OK(&on, clump_heap_new_structs(heap, &patch_struct, patches, PATCHES, refs, NULL));
    for (uint32_t i = 0; i < PATCHES; i++) patches[i].right = refs[(i + 1) % PATCHES];
    CHECK_OK(&on, clump_heap_write_structs(heap, &patch_struct, refs, patches, PATCHES));
    for (uint32_t i = 0; i < count; i++)
        animals[i] =
            (animal_row){.world = world, .id = i, .energy = 12 + i % 9, .at = refs[i % PATCHES]};
    CHECK_OK(&on, clump_heap_new_structs(heap, &animal_struct, animals, count, NULL, NULL));
}

static clump_heap *heap_of(uint64_t bytes) {
    return cl_fixture_heap_as(
        &on, schema,
        &(clump_heap_desc){.size = sizeof(clump_heap_desc), .bytes = bytes, .block_rows = 2});
}

static void run(clump_heap *heap, uint32_t steps) {
    clump_kernel *live = clump_program_get_kernel(program, "live"),
                 *grow = clump_program_get_kernel(program, "grow"),
                 *tick = clump_program_get_kernel(program, "tick");
    for (uint32_t i = 0; i < steps; i++) {
        CHECK_OK(&on, clump_heap_do_all(heap, live, NULL));
        CHECK_OK(&on, clump_heap_do_all(heap, grow, NULL));
        CHECK_OK(&on, clump_heap_do_all(heap, tick, NULL));
    }
    CHECK_HEAP(&on, heap);
}

/* The world of a number; 0: the heap has none. */
static clump_ref find_world(clump_heap *heap, uint32_t number) {
    clump_ref refs[2 * WORLDS];
    uint32_t numbers[2 * WORLDS];
    uint64_t count;
    CHECK_OK(&on, clump_heap_read_refs(heap, "World", refs, 2 * WORLDS, &count));
    CHECK_OK(&on, clump_heap_read_field(heap, "World", "number", 0, sizeof *numbers, numbers,
                                        2 * WORLDS, &count));
    for (uint64_t i = 0; i < count; i++)
        if (numbers[i] == number) return refs[i];
    return 0;
}

/* ---- Pictures -------------------------------------------------------------------------------- */

/* A world without references: those in `right` and `at` are numbers of patches, and animals are in
 * the order of their ids. */
typedef struct world_picture {
    world_row world;
    patch_row patches[PATCHES];
    uint64_t count;
    animal_row *animals;
} world_picture;

static int by_id(const void *a, const void *b) {
    const animal_row *x = a, *y = b;
    return (x->id > y->id) - (x->id < y->id);
}

static uint32_t patch_number(const clump_ref *refs, const patch_row *patches, uint64_t count,
                             clump_ref ref, clump_ref world) {
    for (uint64_t i = 0; i < count; i++)
        if (refs[i] == ref && patches[i].world == world) return patches[i].number;
    fail_msg("0x%08x is no patch of the world 0x%08x", ref, world);
    return 0;
}

static world_picture picture_of(clump_heap *heap, uint32_t number) {
    static patch_row patches[2 * WORLDS * PATCHES];
    static clump_ref patch_refs[2 * WORLDS * PATCHES];
    static animal_row animals[MOST];
    world_picture p = {.count = 0};
    uint64_t patch_count, animal_count, found = 0;
    const clump_ref world = find_world(heap, number);
    if (!world) fail_msg("world %u is gone", number);
    CHECK_OK(&on, clump_heap_read_structs(heap, &world_struct, &world, &p.world, 1, NULL));
    CHECK_OK(&on,
             clump_heap_read_refs(heap, "Patch", patch_refs, 2 * WORLDS * PATCHES, &patch_count));
    CHECK_OK(&on, clump_heap_read_structs(heap, &patch_struct, NULL, patches, 2 * WORLDS * PATCHES,
                                          &patch_count));
    CHECK_OK(&on,
             clump_heap_read_structs(heap, &animal_struct, NULL, animals, MOST, &animal_count));
    for (uint64_t i = 0; i < patch_count; i++) {
        if (patches[i].world != world) continue;
        patch_row *row = &p.patches[patches[i].number];
        *row = patches[i];
        row->world = 0;
        row->right = patch_number(patch_refs, patches, patch_count, row->right, world);
        found++;
    }
    assert_int_equal(found, PATCHES);
    p.animals = calloc(animal_count + 1, sizeof *p.animals);
    for (uint64_t i = 0; i < animal_count; i++) {
        if (animals[i].world != world) continue;
        animal_row *row = &p.animals[p.count++];
        *row = animals[i];
        row->world = row->pad = 0;
        row->at = patch_number(patch_refs, patches, patch_count, row->at, world);
    }
    qsort(p.animals, p.count, sizeof *p.animals, by_id);
    return p;
}

static void release(world_picture *p) {
    free(p->animals);
}

static void compare(const world_picture *p, const world_picture *with) {
    if (memcmp(&p->world, &with->world, sizeof p->world) != 0)
        fail_msg("world %u has %u animals after %u steps, not %u after %u, or has changed",
                 p->world.number, p->world.alive, p->world.step, with->world.alive,
                 with->world.step);
    assert_memory_equal(p->patches, with->patches, sizeof p->patches);
    assert_int_equal(p->count, with->count);
    assert_memory_equal(p->animals, with->animals, p->count * sizeof *p->animals);
}

/* The world is what it becomes in a heap of its own. */
static void expect_as_alone(clump_heap *heap, uint32_t number, uint32_t steps) {
    clump_heap *alone = heap_of(BYTES / 4);
    begin_world(alone, number);
    run(alone, steps);
    world_picture expected = picture_of(alone, number), found = picture_of(heap, number);
    compare(&found, &expected);
    assert_int_equal(found.world.step, steps < found.world.until ? steps : found.world.until);
    if (found.world.step) assert_int_equal(found.world.alive, found.count);
    release(&expected);
    release(&found);
    clump_heap_destroy(alone);
}

/* ---- Tests ----------------------------------------------------------------------------------- */

static int begin(void **state) {
    (void)state;
    together = heap_of(BYTES);
    for (uint32_t i = 0; i < WORLDS; i++) begin_world(together, i);
    return 0;
}

static int end(void **state) {
    (void)state;
    clump_heap_destroy(together);
    return 0;
}

/* Runs of animals of one world, in the order in which loops visit them. */
static uint64_t runs_of_worlds(clump_heap *heap) {
    static clump_ref worlds[MOST];
    uint64_t count, runs = 0;
    CHECK_OK(&on, clump_heap_read_field(heap, "Animal", "world", 0, sizeof *worlds, worlds, MOST,
                                        &count));
    for (uint64_t i = 0; i < count; i++) runs += !i || worlds[i] != worlds[i - 1];
    return runs;
}

static void sort_by_world(clump_heap *heap) {
    static const char *const members[] = {"Member"};
    CHECK_OK(&on, clump_heap_compact(heap,
                                     &(clump_compact_desc){.size = sizeof(clump_compact_desc),
                                                           .classes = members,
                                                           .class_count = 1,
                                                           .order = CLUMP_ORDER_FIELD,
                                                           .order_field = "world"},
                                     NULL, NULL));
}

/* Births mix the worlds, and a sort by the world parts them again. */
static void as_alone(void **state) {
    (void)state;
    clump_compact_report report = {.size = sizeof report};
    run(together, 9);
    for (uint32_t i = 0; i < WORLDS; i++) expect_as_alone(together, i, 9);
    assert_true(runs_of_worlds(together) > 2 * WORLDS);
    sort_by_world(together);
    assert_int_equal(runs_of_worlds(together), WORLDS);
    for (uint32_t i = 0; i < WORLDS; i++) expect_as_alone(together, i, 9);
    run(together, 11);
    CHECK_OK(&on, clump_heap_compact(together, NULL, &report, NULL));
    assert_true(report.moves > 0);
    run(together, STEPS - 20);
    for (uint32_t i = 0; i < WORLDS; i++) expect_as_alone(together, i, STEPS);
}

/* All objects of a world: the world, and those whose `world` is this. */
static clump_extract_desc world_desc(const clump_ref *world, int free_objects) {
    return (clump_extract_desc){.size = sizeof(clump_extract_desc),
                                .refs = world,
                                .ref_count = 1,
                                .where_class = "Member",
                                .where_field = "world",
                                .free_objects = free_objects};
}

/* A world out of the heap, into a file, by a heap of its own. */
static void save_world(uint32_t number, const char *path) {
    const clump_ref world = find_world(together, number);
    const clump_extract_desc desc = world_desc(&world, 1);
    clump_extract *extract;
    clump_extract_report report = {.size = sizeof report};
    CHECK_OK(&on, clump_heap_extract(together, &desc, &extract, &report));
    assert_int_equal(report.left_out + report.dangling, 0);
    clump_heap_desc like = {.size = sizeof like,
                            .context = on.clump,
                            .schema = clump_extract_get_info(extract)->schema,
                            .block_rows = 2};
    CHECK_OK(&on, clump_heap_get_bytes_needed(&like, clump_extract_get_info(extract)->objects + 1,
                                              &like.bytes, NULL));
    clump_heap *alone;
    CHECK_OK(&on, clump_heap_create(&like, &alone, NULL));
    CHECK_OK(&on, clump_heap_insert(alone, extract, NULL));
    CHECK_OK(&on,
             clump_heap_save(
                 alone, &(clump_save_desc){.size = sizeof(clump_save_desc), .path = path}, NULL));
    clump_heap_destroy(alone);
    clump_extract_destroy(extract);
    CHECK_HEAP(&on, together);
}

/* A file is resumed beside worlds that went on, and by itself. */
static void resumed(void **state) {
    (void)state;
    enum { AT = 3, SAVED = 12, MORE = 6 };
    static const char path[] = "diff_ensembles.clump";
    const clump_load_desc from = {.size = sizeof from, .path = path};
    clump_extract *extract;
    run(together, SAVED);
    save_world(AT, path);
    assert_int_equal(find_world(together, AT), 0);
    run(together, MORE);
    for (uint32_t i = 0; i < WORLDS; i++)
        if (i != AT) expect_as_alone(together, i, SAVED + MORE);
    CHECK_OK(&on, clump_extract_load(on.clump, &from, &extract, NULL, NULL));
    CHECK_OK(&on, clump_heap_insert(together, extract, NULL));
    clump_extract_destroy(extract);
    expect_as_alone(together, AT, SAVED);
    run(together, STEPS);
    for (uint32_t i = 0; i < WORLDS; i++) expect_as_alone(together, i, STEPS);

    clump_heap *alone = heap_of(BYTES / 4);
    CHECK_OK(&on, clump_heap_load(alone, &from, NULL));
    run(alone, STEPS);
    expect_as_alone(alone, AT, STEPS);
    clump_heap_destroy(alone);
    remove(path);
}

/* A world ends, by two kernels, and another one begins while the others go on. */
static void replaced(void **state) {
    (void)state;
    enum { ENDS = 4, BEGINS = WORLDS };
    run(together, 10);
    CHECK_OK(&on, clump_heap_do_all(together,
                                    clump_kernel_with(clump_program_get_kernel(program, "finish"),
                                                      CLUMP_ARGS(ENDS)),
                                    NULL));
    CHECK_OK(&on,
             clump_heap_do_all(together,
                               clump_kernel_with(clump_program_get_kernel(program, "finish_world"),
                                                 CLUMP_ARGS(ENDS)),
                               NULL));
    CHECK_HEAP(&on, together);
    begin_world(together, BEGINS);
    expect_as_alone(together, BEGINS, 0);
    run(together, 10);
    expect_as_alone(together, BEGINS, 10);
    for (uint32_t i = 0; i < WORLDS; i++)
        if (i != ENDS) expect_as_alone(together, i, 20);
    assert_int_equal(find_world(together, ENDS), 0);
}

/* All worlds in one file. */
static void all_saved(void **state) {
    (void)state;
    static const char path[] = "diff_ensembles_all.clump";
    run(together, 10);
    CHECK_OK(&on, clump_heap_save(together,
                                  &(clump_save_desc){.size = sizeof(clump_save_desc), .path = path},
                                  NULL));
    clump_heap *loaded = heap_of(BYTES);
    CHECK_OK(&on,
             clump_heap_load(
                 loaded, &(clump_load_desc){.size = sizeof(clump_load_desc), .path = path}, NULL));
    run(loaded, 12);
    for (uint32_t i = 0; i < WORLDS; i++) expect_as_alone(loaded, i, 22);
    clump_heap_destroy(loaded);
    remove(path);
}

int main(void) {
    int status = cl_fixture_open(&on, NULL);
    if (status) return status;
    clump_heap *first = heap_of(BYTES / 4);
    program = cl_fixture_program(&on, first, source, NULL, NULL);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(as_alone, begin, end),
        cmocka_unit_test_setup_teardown(resumed, begin, end),
        cmocka_unit_test_setup_teardown(replaced, begin, end),
        cmocka_unit_test_setup_teardown(all_saved, begin, end),
    };
    status = cmocka_run_group_tests(tests, NULL, NULL);
    clump_program_destroy(program);
    clump_heap_destroy(first);
    cl_fixture_close(&on);
    return status;
}
