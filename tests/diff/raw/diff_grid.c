/* The spatial grid of cl/api/grid.clh against a search of all by all on the host.
 *
 * Bodies are made, freed and moved at random, in the plane and in space, some of them outside of
 * all cells. After the grid is noted, kernels say how many bodies are within a radius of each body,
 * and the sum of their tags; so do they after other compactions, after some bodies were freed, and
 * after all moved a little. Coordinates are multiples of 1/4, so distances are exact, and many are
 * the radius exactly.
 *
 *   diff_grid                what CTest runs
 *   diff_grid ROUNDS [SEED]  longer, and other bodies
 *
 * Read first: cl/api/grid.clh, cl_fixture.h.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cl_fixture.h"

static cl_fixture fixture, *const f = &fixture;
static uint32_t rounds = 1, first_seed; /* of the command line */
static int is_short;                    /* the kernels for GPUs, on a CPU */

enum { BODIES = 1500 };

static const char schema[] =
    "class Cells { float origin[3]; float scale; uint count[3]; uint starts[*]; ref Body "
    "sorted[*]; }\n"
    "class Body { float x; uint tag; float y; float z; }\n";

static const char source[] =
    "uint mix32(uint x) {\n"
    "    x ^= x >> 16; x *= 0x85ebca6bu; x ^= x >> 13; x *= 0xc2b2ae35u; return x ^ (x >> 16);\n"
    "}\n"
    "float3 place(CLUMP_HEAP_NO_ALLOC, Body b) { return (float3)(Body_x(b), Body_y(b), Body_z(b)); "
    "}\n"
    "CLUMP_GRID_DEFINE(Cells, Body, place);\n"
    "__kernel void make_grid(CLUMP_HEAP, __global Cells *grid) {\n"
    "    CLUMP_FOR_EACH_NEW(Cells, self, i) grid[i] = self;\n"
    "}\n"
    "__kernel void set_grid(CLUMP_HEAP, __global const Cells *grid, float4 g, uint4 count, "
    "__global "
    "uint *out) {\n"
    "    if (get_global_id(0) == 0) out[0] = CLUMP_GRID_MAKE(Cells, grid[0], g.xyz, g.w, "
    "count.xyz) == CLUMP_DONE;\n"
    "}\n"
    "__kernel void room(CLUMP_HEAP, __global const Cells *grid, uint n, __global uint *out) {\n"
    "    if (get_global_id(0) == 0) out[0] = Cells_sorted_resize(grid[0], n) == CLUMP_DONE;\n"
    "}\n"
    "float coordinate(uint r) { return (float)(r % 200u) * 0.25f - 10.0f; }\n"
    "void put(CLUMP_HEAP_NO_ALLOC, Body b, uint seed, uint flat) {\n"
    "    Body_tag(b) = mix32(seed);\n"
    "    Body_x(b) = coordinate(mix32(seed + 1u));\n"
    "    Body_y(b) = coordinate(mix32(seed + 2u));\n"
    "    Body_z(b) = flat ? 0.0f : coordinate(mix32(seed + 3u) % 64u);\n"
    "}\n"
    "__kernel void make_bodies(CLUMP_HEAP, uint seed, uint flat) {\n"
    "    CLUMP_FOR_EACH_NEW(Body, self, i) put(clump_heap, self, seed + 4u * i, flat);\n"
    "}\n"
    "__kernel void free_bodies(CLUMP_HEAP, uint seed, uint of_four) {\n"
    "    CLUMP_FOR_EACH(Body, self) {\n"
    "        if ((mix32(Body_tag(self) + seed) & 3u) < of_four) Body_free(self);\n"
    "    }\n"
    "}\n"
    /* At most a quarter in each direction. */
    "__kernel void move(CLUMP_HEAP_NO_ALLOC, uint seed, uint flat) {\n"
    "    CLUMP_FOR_EACH(Body, self) {\n"
    "        uint r = mix32(Body_tag(self) + seed);\n"
    "        Body_x(self) += (float)(r % 3u) * 0.25f - 0.25f;\n"
    "        Body_y(self) += (float)((r >> 8) % 3u) * 0.25f - 0.25f;\n"
    "        if (!flat) Body_z(self) += (float)((r >> 16) % 3u) * 0.25f - 0.25f;\n"
    "    }\n"
    "}\n"
    "__kernel void keys(CLUMP_HEAP_NO_ALLOC, __global uint *keys, __global const Cells *grid) {\n"
    "    CLUMP_FOR_EACH_KEYED(Body, self, i) keys[i] = CLUMP_GRID_KEY(Cells, grid[0], self);\n"
    "}\n"
    "__kernel void note(CLUMP_HEAP_NO_ALLOC, CLUMP_NUMBERS, __global const Cells *grid, __global "
    "uint "
    "*bad) {\n"
    "    uint n = CLUMP_GRID_NOTE(Cells, grid[0]);\n"
    "    if (n) atomic_add(bad, n);\n"
    "}\n"
    /* out: for each body how many are near, the sum of their tags, how many were visited; and how
     * many by a loop that is left. */
    "__kernel void look(CLUMP_HEAP_NO_ALLOC, CLUMP_NUMBERS, __global const Cells *grid, float "
    "radius, "
    "float moved, __global uint4 *out) {\n"
    "    CLUMP_FOR_EACH_NUMBERED(Body, self, i) {\n"
    "        float3 at = place(clump_heap, self);\n"
    "        uint4 sum = (uint4)(0);\n"
    "        CLUMP_FOR_NEAR(Body, other, grid[0], at, radius + moved) {\n"
    "            sum.z++;\n"
    "            if (!Body_is_live(other)) continue;\n"
    "            float3 d = place(clump_heap, other) - at;\n"
    "            if (d.x * d.x + d.y * d.y + d.z * d.z > radius * radius) continue;\n"
    "            sum.x++;\n"
    "            sum.y += Body_tag(other);\n"
    "        }\n"
    "        CLUMP_FOR_NEAR(Body, other, grid[0], at, radius) { sum.w++; break; }\n"
    "        out[i] = sum;\n"
    "    }\n"
    "}\n";

enum { MAKE_GRID, SET_GRID, ROOM, MAKE_BODIES, FREE_BODIES, MOVE, KEYS, NOTE, LOOK, KERNELS };
static const char *const names[KERNELS] = {
    "make_grid", "set_grid", "room", "make_bodies", "free_bodies", "move", "keys", "note", "look"};

typedef struct world {
    clump_heap *heap;
    clump_program *program;
    clump_kernel *kernels[KERNELS];
    clump_refs *refs;
    cl_mem grid, out, found;
    uint32_t flat;
    uint64_t count; /* of bodies */
    float x[4 * BODIES], y[4 * BODIES], z[4 * BODIES];
    uint32_t tag[4 * BODIES];
    cl_uint4 results[4 * BODIES];
} world;

static void open_world(world *w, uint32_t flat) {
    memset(w, 0, sizeof *w);
    w->flat = flat;
    w->heap = cl_fixture_heap(f, schema, 16 << 20, 0);
    w->program = cl_fixture_program(f, w->heap, source, NULL, NULL);
    for (int i = 0; i < KERNELS; i++) w->kernels[i] = cl_fixture_kernel(f, w->program, names[i]);
    w->grid = cl_fixture_buffer(f, NULL, sizeof(clump_ref));
    w->out = cl_fixture_buffer(f, NULL, sizeof(uint32_t));
    w->found = cl_fixture_buffer(f, NULL, sizeof w->results);
    const clump_refs_desc refs = {
        .size = sizeof refs, .buffer = w->grid, .count = 1, .stride = sizeof(clump_ref)};
    CHECK_OK(f, clump_refs_create(w->heap, &refs, &w->refs, NULL));
    SET_ARG(f, w->kernels[MAKE_GRID], 0, w->grid);
    CHECK_OK(f, clump_heap_do_new(w->heap, w->kernels[MAKE_GRID], "Cells", 1, NULL, NULL));
}

static void close_world(world *w) {
    clump_refs_destroy(w->refs);
    for (int i = 0; i < KERNELS; i++) clump_kernel_destroy(w->kernels[i]);
    clump_program_destroy(w->program);
    clump_heap_destroy(w->heap);
    clReleaseMemObject(w->grid);
    clReleaseMemObject(w->out);
    clReleaseMemObject(w->found);
}

static uint32_t out_of(world *w) {
    uint32_t out;
    CHECK_HEAP(f, w->heap);
    cl_fixture_read(f, w->out, &out, sizeof out);
    return out;
}

static uint32_t set_grid(world *w, cl_float4 g, cl_uint4 count) {
    clump_kernel *k = w->kernels[SET_GRID];
    SET_ARG(f, k, 0, w->grid);
    SET_ARG(f, k, 1, g);
    SET_ARG(f, k, 2, count);
    SET_ARG(f, k, 3, w->out);
    CHECK_OK(f, clump_heap_launch(w->heap, k, 1, 1, NULL));
    return out_of(w);
}

static void room(world *w, uint32_t n) {
    SET_ARG(f, w->kernels[ROOM], 0, w->grid);
    SET_ARG(f, w->kernels[ROOM], 1, n);
    SET_ARG(f, w->kernels[ROOM], 2, w->out);
    CHECK_OK(f, clump_heap_launch(w->heap, w->kernels[ROOM], 1, 1, NULL));
    assert_int_equal(out_of(w), 1);
}

static void put_in_order(world *w) {
    const char *body = "Body";
    clump_compact_report report = {.size = sizeof report};
    SET_ARG(f, w->kernels[KEYS], 1, w->grid);
    CHECK_OK(f, clump_heap_compact(w->heap,
                                   &(clump_compact_desc){.size = sizeof(clump_compact_desc),
                                                         .classes = &body,
                                                         .class_count = 1,
                                                         .order = CLUMP_ORDER_KEY,
                                                         .key_kernel = w->kernels[KEYS]},
                                   &report, NULL));
}

/* Returns the number of objects for which it failed. */
static uint32_t note(world *w) {
    const uint32_t zero = 0;
    cl_fixture_write(f, w->out, &zero, sizeof zero);
    SET_ARG(f, w->kernels[NOTE], 0, w->grid);
    SET_ARG(f, w->kernels[NOTE], 1, w->out);
    CHECK_OK(f, clump_heap_do_all(w->heap, w->kernels[NOTE], NULL));
    clump_device_report r = {.size = sizeof r};
    clump_status status = clump_heap_take_errors(w->heap, &r);
    const clump_error error = *clump_context_get_error(f->clump);
    const uint32_t failed = out_of(w);
    assert_int_equal(r.errors[CLUMP_DEVICE_WRONG_LAUNCH].count, failed);
    if (failed) {
        char words[64];
        snprintf(words, sizeof words, "could not note %u objects of class Body", failed);
        cl_fixture_expect_words(&error, status, CLUMP_ERR_DEVICE, words, "clump_heap_take_errors",
                                __LINE__);
    }
    return failed;
}

static void fetch(world *w) {
    static const char *const fields[] = {"x", "y", "z"};
    float *const places[] = {w->x, w->y, w->z};
    CHECK_OK(f, clump_heap_read_field(w->heap, "Body", "tag", 0, sizeof *w->tag, w->tag, 4 * BODIES,
                                      &w->count));
    for (int i = 0; i < 3; i++)
        CHECK_OK(f, clump_heap_read_field(w->heap, "Body", fields[i], 0, sizeof *places[i],
                                          places[i], w->count, NULL));
}

static void rebuild(world *w) {
    fetch(w);
    put_in_order(w);
    room(w, (uint32_t)w->count);
    assert_int_equal(note(w), 0);
}

/* The bodies within the radius of each. `moved`: bodies moved by that since the grid was noted.
 * Returns the sum of what the loops went over. */
static uint64_t look(world *w, float radius, float moved) {
    clump_kernel *k = w->kernels[LOOK];
    uint64_t visited = 0;
    fetch(w);
    SET_ARG(f, k, 0, w->grid);
    SET_ARG(f, k, 1, radius);
    SET_ARG(f, k, 2, moved);
    SET_ARG(f, k, 3, w->found);
    CHECK_OK(f, clump_heap_do_all(w->heap, k, NULL));
    CHECK_HEAP(f, w->heap);
    cl_fixture_read(f, w->found, w->results, sizeof w->results);
    for (uint64_t i = 0; i < w->count; i++) {
        assert_in_range(w->results[i].s[3], 0, 1);
        visited += w->results[i].s[2];
    }
    return visited;
}

/* The same, compared with all bodies that there are. */
static uint64_t check(world *w, float radius, float moved) {
    const uint64_t visited = look(w, radius, moved);
    for (uint64_t i = 0; i < w->count; i++) {
        uint32_t near = 0, sum = 0;
        for (uint64_t j = 0; j < w->count; j++) {
            const float dx = w->x[j] - w->x[i], dy = w->y[j] - w->y[i], dz = w->z[j] - w->z[i];
            if (dx * dx + dy * dy + dz * dz > radius * radius) continue;
            near++;
            sum += w->tag[j];
        }
        if (w->results[i].s[0] != near || w->results[i].s[1] != sum)
            fail_msg("%u bodies within %g of body %u at %g %g %g, and not %u", w->results[i].s[0],
                     (double)radius, (unsigned)i, (double)w->x[i], (double)w->y[i], (double)w->z[i],
                     near);
    }
    return visited;
}

static void make_bodies(world *w, uint32_t count, uint32_t seed) {
    uint64_t made;
    SET_ARG(f, w->kernels[MAKE_BODIES], 0, seed);
    SET_ARG(f, w->kernels[MAKE_BODIES], 1, w->flat);
    CHECK_OK(f, clump_heap_do_new(w->heap, w->kernels[MAKE_BODIES], "Body", count, &made, NULL));
    assert_int_equal(made, count);
}

static void change(world *w, int kernel, uint32_t seed, uint32_t value) {
    SET_ARG(f, w->kernels[kernel], 0, seed);
    SET_ARG(f, w->kernels[kernel], 1, value);
    CHECK_OK(f, clump_heap_do_all(w->heap, w->kernels[kernel], NULL));
}

/* Cells of a grid: {lowest corner, side}, counts. Most leave bodies outside. */
static const struct {
    cl_float4 g;
    cl_uint4 count;
} grids[] = {{{{-10, -10, -10, 2}}, {{25, 25, 8}}},
             {{{-3, 0, -2, 1.5f}}, {{7, 11, 3}}},
             {{{-10, -10, -10, 100}}, {{1, 1, 1}}},
             {{{-10.1f, -9.9f, 0, 0.3f}}, {{170, 140, 1}}}};

static void run_world(uint32_t flat) {
    static world w;
    static const float radii[] = {2, 0.75f, 5, 0};
    open_world(&w, flat);
    assert_int_equal(look(&w, 1, 0), 0); /* nothing is there */
    for (uint32_t n = 0; n < 4 * rounds; n++) {
        const uint32_t seed = test_hash(first_seed + 10 * n + flat);
        cl_uint4 count = grids[n % 4].count;
        if (flat) count.s[2] = 1;
        assert_int_equal(set_grid(&w, grids[n % 4].g, count), 1);
        change(&w, FREE_BODIES, seed, 2);
        make_bodies(&w, n == 0 ? BODIES : BODIES / 2, seed);
        assert_int_equal(look(&w, 5, 0), 0); /* the grid has no object yet */
        rebuild(&w);
        assert_int_equal(look(&w, -1, 0), 0);
        const uint64_t visited = check(&w, radii[n % 4], 0);
        assert_true(visited >= w.count);
        if (n % 4 == 0) assert_true(visited < w.count * w.count / 4); /* a few cells only */
        CHECK_OK(f, clump_heap_compact(w.heap, NULL, NULL, NULL));
        assert_int_equal(check(&w, radii[n % 4], 0), visited);
        change(&w, FREE_BODIES, seed + 1, 1);
        CHECK_OK(f, clump_heap_compact(w.heap, NULL, NULL, NULL));
        check(&w, radii[n % 4], 0);
        change(&w, MOVE, seed, flat);
        check(&w, radii[n % 4], 0.25f);
    }
    close_world(&w);
}

static void test_plane(void **state) {
    run_world(1);
}
static void test_space(void **state) {
    if (is_short) skip();
    run_world(0);
}

/* What is refused, what is told, and what the grid keeps alive. */
static void test_limits(void **state) {
    static world w;
    open_world(&w, 1);
    const cl_float4 g = {{-10, -10, 0, 2}}, flat = {{0, 0, 0, 0}}, no_number = {{0, 0, 0, NAN}};
    const cl_uint4 count = {{25, 25, 1}}, none = {{25, 0, 1}}, many = {{65536, 65536, 65536}};
    assert_int_equal(set_grid(&w, flat, count), 0);
    assert_int_equal(set_grid(&w, no_number, count), 0);
    assert_int_equal(set_grid(&w, g, none), 0);
    assert_int_equal(set_grid(&w, g, many), 0);
    assert_int_equal(note(&w), 0); /* no bodies */
    make_bodies(&w, BODIES, 5);
    assert_int_equal(note(&w), BODIES); /* no cells, and no room */
    assert_int_equal(set_grid(&w, g, count), 1);
    room(&w, BODIES);
    assert_true(note(&w) > BODIES / 4); /* in no order */
    put_in_order(&w);
    room(&w, BODIES - 10);
    assert_int_equal(note(&w), 10); /* no room for all */
    rebuild(&w);
    check(&w, 2, 0);
    /* A grid that cannot be changes nothing: the heap reports its size, and not a side that is
     * none. */
    const cl_float4 negative = {{-10, -10, 0, -2}};
    const cl_uint4 large = {{4096, 4096, 1}};
    assert_int_equal(set_grid(&w, negative, count), 0);
    clump_kernel *k = w.kernels[SET_GRID];
    SET_ARG(f, k, 1, g);
    SET_ARG(f, k, 2, large);
    CHECK_OK(f, clump_heap_launch(w.heap, k, 1, 1, NULL));
    cl_fixture_expect_error(f, w.heap, CLUMP_DEVICE_BAD_SIZE, (4096 * 4096 + 1) * 4, NULL);
    assert_int_equal(out_of(&w), 0);
    check(&w, 2, 0);
    clump_collect_report report = {.size = sizeof report};
    CHECK_OK(f, clump_heap_collect(w.heap, NULL, &report, NULL));
    assert_int_equal(report.dead, 0);
    check(&w, 2, 0);
    room(&w, 0);
    CHECK_OK(f, clump_heap_collect(w.heap, NULL, &report, NULL));
    assert_int_equal(report.dead, BODIES);
    assert_int_equal(check(&w, 2, 0), 0);
    close_world(&w);
}

/* Other types than those of the fields do not build, nor does a place that is no float3. */
static void test_types(void **state) {
    (void)state;
    static const char fields[] = "float scale; uint count[3]; uint starts[*];",
                      place[] = "float3 place(CLUMP_HEAP_NO_ALLOC, Body b) { return Body_x(b); }\n";
    static const struct {
        const char *origin, *fields, *place, *message;
    } cases[] = {
        {"float origin[3];", fields, place, NULL},
        {"int origin[3];", fields, place, "type_needed_for_Cells_origin"},
        {"float origin[2];", fields, place, "Cells_origin_has_too_few_elements"},
        {"float origin[3];", "int scale; uint count[3]; uint starts[*];", place,
         "type_needed_for_Cells_scale"},
        {"float origin[3];", "float scale; int count[3]; uint starts[*];", place,
         "type_needed_for_Cells_count"},
        {"float origin[3];", "float scale; uint count[2]; uint starts[*];", place,
         "Cells_count_has_too_few_elements"},
        {"float origin[3];", "float scale; uint count[3]; ushort starts[*];", place,
         "type_needed_for_Cells_starts"},
        {"float origin[3];", fields,
         "float place(CLUMP_HEAP_NO_ALLOC, Body b) { return Body_x(b); }\n", "program.cl:2"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i += cl_fixture_each(3)) {
        char schema_of[200], text[200];
        snprintf(schema_of, sizeof schema_of,
                 "class Cells { %s %s ref Body sorted[*]; } class Body { float x; }",
                 cases[i].origin, cases[i].fields);
        snprintf(text, sizeof text, "%sCLUMP_GRID_DEFINE(Cells, Body, place);\n", cases[i].place);
        cl_fixture_expect_build(f, schema_of, text, NULL, cases[i].message);
    }
}

static int run_with(const char *name, uint32_t disable) {
    int status = cl_fixture_open(f, &(cl_fixture_desc){.disable = disable});
    if (status) return status;
    is_short = f->capabilities->is_cpu && f->capabilities->personality == CLUMP_PERSONALITY_GPU;
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_plane), cmocka_unit_test(test_space),
                                       cmocka_unit_test(test_limits), cmocka_unit_test(test_types)};
    status = cmocka_run_group_tests_name(name, tests, NULL, NULL);
    cl_fixture_close(f);
    return status;
}

int main(int argc, char **argv) {
    return cl_fixture_run_rounds(argc, argv, &rounds, &first_seed, run_with, &is_short);
}
