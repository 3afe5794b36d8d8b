/* Traffic on the heap and in arrays against sequential C: every cell after every step. The rules
 * are those of the benchmark, and so is the code. And what the reference itself must hold to, and
 * maps from files.
 *
 * Read first: bench/apps/traffic/world.h.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "app_fixture.h"
#include "bench/apps/traffic/world.h"

#define MAP_BYTES 4096

static cl_fixture fixture;

/* No cars come or go by chance, and nobody dawdles. */
static const traffic_rules quiet = {.seed = 1, .phase_steps = 5};

/* ---- Worlds ---------------------------------------------------------------------------------- */

static void make_town(uint32_t intersections, uint32_t street_cells, uint32_t yield,
                      const traffic_rules *rules, traffic_network *network) {
    traffic_map_desc desc = {.seed = rules->seed,
                             .intersections = intersections,
                             .street_cells = street_cells,
                             .yield_permille = yield};
    bench_error error = {""};
    traffic_map map;
    assert_int_equal(traffic_map_draw(&desc, &map, &error), 0);
    if (traffic_network_create(&map, rules, network, &error)) fail_msg("%s", error.text);
    traffic_map_release(&map);
}

static int read_text(const char *text, traffic_map *map, bench_error *error) {
    char path[] = "diff_traffic.XXXXXX";
    app_fixture_write_text(path, text);
    int result = traffic_map_read(path, map, error);
    remove(path);
    return result;
}

static void make_from_text(const char *text, const traffic_rules *rules, traffic_network *network) {
    bench_error error = {""};
    traffic_map map;
    if (read_text(text, &map, &error)) fail_msg("%s", error.text);
    if (traffic_network_create(&map, rules, network, &error)) fail_msg("%s", error.text);
    traffic_map_release(&map);
}

/* Cars in these places instead of those that were drawn. */
static void place(traffic_network *network, const traffic_start *starts, uint32_t count) {
    free(network->starts);
    network->starts = malloc(count * sizeof *starts);
    assert_non_null(network->starts);
    memcpy(network->starts, starts, count * sizeof *starts);
    network->start_count = count;
}

static traffic_desc describe(const traffic_network *network) {
    return (traffic_desc){.network = network, .world = app_fixture_world(&fixture, 0)};
}

static void run(const traffic_desc *desc, uint32_t steps, uint64_t *moves) {
    bench_error error = {""};
    if (traffic_compare_run(desc, steps, 10, moves, &error))
        fail_msg("variant %d, %u cells, seed %u: %s", (int)desc->world.variant,
                 desc->network->cell_count, desc->network->rules.seed, error.text);
}

static void run_all(const traffic_network *network, uint32_t steps) {
    traffic_desc desc = describe(network);
    for (bench_variant variant = BENCH_CLUMP; variant <= app_fixture_last_variant(); variant++) {
        desc.world.variant = variant;
        run(&desc, steps, NULL);
    }
}

/* The reference, step by step. */
typedef struct reference {
    bench_world world;
    const traffic_network *network;
    uint32_t *codes;
} reference;

static reference reference_open(const traffic_network *network) {
    bench_error error = {""};
    traffic_desc desc = {.world = {.variant = BENCH_SEQUENTIAL}, .network = network};
    reference r = {.network = network, .codes = calloc(network->cell_count, sizeof(uint32_t))};
    assert_non_null(r.codes);
    assert_int_equal(traffic_world_create(&desc, &r.world, &error), 0);
    assert_int_equal(bench_world_read(&r.world, r.codes, &error), 0);
    return r;
}

static void reference_step(reference *r) {
    bench_error error = {""};
    assert_int_equal(bench_world_step(&r->world, &error), 0);
    assert_int_equal(bench_world_read(&r->world, r->codes, &error), 0);
}

static void reference_close(reference *r) {
    bench_world_destroy(&r->world);
    free(r->codes);
}

/* The cell of the car with this number, TRAFFIC_NONE if it left. */
static uint32_t find(const reference *r, uint32_t number) {
    for (uint32_t i = 0; i < r->network->cell_count; i++)
        if ((r->codes[i] & TRAFFIC_CODE_CAR) && (r->codes[i] & 0xffff) == number) return i;
    return TRAFFIC_NONE;
}

static uint32_t limit_of(const reference *r, uint32_t cell) {
    return r->codes[cell] >> 24 & 15;
}

/* ---- The rules ------------------------------------------------------------------------------- */

/* 1, 3, 6, 10, 15 and then five cells a step, as the street allows no more; and out at the end. */
static void test_one_car(void **state) {
    (void)state;
    static const uint32_t cells[] = {0, 1, 3, 6, 10, 15, 20, 25};
    const traffic_start start = {0, 9}; /* which could drive at 9 */
    traffic_network network;
    make_from_text("intersection 1 0 0\nintersection 2 1 0\nstreet 1 2 100 5\n", &quiet, &network);
    place(&network, &start, 1);
    reference r = reference_open(&network);
    for (uint32_t step = 0; step < 22; step++) {
        if (step < 8) assert_int_equal(find(&r, 9), cells[step]);
        assert_int_not_equal(find(&r, 9), TRAFFIC_NONE);
        reference_step(&r);
    }
    assert_int_equal(find(&r, 9), TRAFFIC_NONE);
    reference_close(&r);
    run_all(&network, 25);
    traffic_network_destroy(&network);
}

/* A faster car comes up behind a slower one, stays behind it, and never takes its cell. */
static void test_two_cars(void **state) {
    (void)state;
    const traffic_start starts[] = {{0, 9}, {30, 10}}; /* at most 9 and 5 cells a step */
    traffic_network network;
    make_from_text("intersection 1 0 0\nintersection 2 1 0\nstreet 1 2 400 9\n", &quiet, &network);
    place(&network, starts, 2);
    reference r = reference_open(&network);
    for (uint32_t step = 0; step < 60; step++) {
        reference_step(&r);
        assert_true(find(&r, 9) < find(&r, 10));
    }
    assert_in_range(find(&r, 10) - find(&r, 9), 1, 9);
    reference_close(&r);
    traffic_network_destroy(&network);
}

/* Two streets, of 40 cells each, into a third, which begins at cell 80. */
static const char merge_text[] =
    "intersection 1 0 0\nintersection 2 0 1\nintersection 3 1 0 %s\n"
    "intersection 4 2 0\nstreet 1 3 40 %d\nstreet 2 3 40 5\n"
    "street 3 4 40 5\n";

static void make_merge(const char *control, int limit, const traffic_rules *rules,
                       traffic_network *network) {
    char text[MAP_BYTES];
    snprintf(text, sizeof text, merge_text, control, limit);
    make_from_text(text, rules, network);
}

/* Steps until the car is on the third street; it must only get there when its signal was open. */
static uint32_t cross(const traffic_network *network, uint32_t number, uint32_t end) {
    reference r = reference_open(network);
    uint32_t step = 0;
    for (; find(&r, number) < 80; step++) {
        uint32_t before = limit_of(&r, end);
        assert_true(step < 300);
        assert_true((limit_of(&r, 39) == 0) != (limit_of(&r, 79) == 0));
        reference_step(&r);
        if (find(&r, number) >= 80) assert_true(before > 0);
    }
    reference_close(&r);
    return step;
}

static void test_lights(void **state) {
    (void)state;
    const traffic_start first = {30, 7}, second = {70, 7}, at_end = {79, 7};
    traffic_rules rules = quiet;
    traffic_network network;
    for (rules.is_smart = 0; rules.is_smart < 2; rules.is_smart++) {
        rules.phase_steps = 100;
        make_merge("light", 5, &rules, &network);
        place(&network, &first, 1);
        uint32_t free_way = cross(&network, 7, 39);
        place(&network, &second, 1);
        uint32_t wait = cross(&network, 7, 79); /* red at first */
        place(&network, &at_end, 1);
        uint32_t longer = cross(&network, 7, 79); /* red too where the signal itself is */
        uint32_t red = 100 - network.controllers[0].timer;
        traffic_network_destroy(&network);
        assert_true(red > 10); /* or the test shows nothing */
        assert_true(free_way < 6);
        if (rules.is_smart)
            assert_true(wait < 8); /* it is seen, and nobody else waits */
        else
            assert_true(wait >= red && wait < red + 8 && longer >= red && longer < red + 8);
    }
}

/* The faster street goes first, whichever is listed first. */
static void test_yield(void **state) {
    (void)state;
    for (int limit = 4; limit <= 6; limit += 2) {
        const traffic_start starts[] = {{33, 5}, {73, 10}};
        traffic_network network;
        make_merge("yield", limit, &quiet, &network);
        place(&network, starts, 2);
        uint32_t first = cross(&network, 5, 39), second = cross(&network, 10, 79);
        traffic_network_destroy(&network);
        if (limit == 6)
            assert_true(first < second);
        else
            assert_true(second < first);
    }
}

/* A producer at work: cars come in at the chance that was asked for, where there is room. */
static void test_producers(void **state) {
    (void)state;
    traffic_rules rules = quiet;
    traffic_network network;
    rules.producer_permille = 20;
    rules.create_permille = 10;
    make_from_text("intersection 1 0 0\nintersection 2 1 0\nstreet 1 2 100000 10\n", &rules,
                   &network);
    reference r = reference_open(&network);
    for (uint32_t step = 0; step < 20; step++) reference_step(&r);
    traffic_census census = traffic_count(r.codes, network.cell_count);
    assert_in_range(network.producer_count, 1800, 2200);
    double expected = network.producer_count * 19 * 0.01; /* one step to close the cell */
    assert_in_range(census.cars, (uint64_t)(expected * 0.8), (uint64_t)(expected * 1.1));
    reference_close(&r);
    traffic_network_destroy(&network);
}

/* Of all cells that lead to a cell at most one is open, in every state; this is why no two cars can
 * want the same cell. */
static void check_open(const traffic_network *n, const uint32_t *codes) {
    uint8_t *open = calloc(n->cell_count, 1);
    assert_non_null(open);
    for (uint32_t i = 0; i < n->cell_count; i++) {
        if ((codes[i] >> 24 & 15) == 0) continue;
        uint32_t next = n->next[i], count = 1;
        const uint32_t *to = &n->next[i];
        if (next & TRAFFIC_SPECIAL) {
            to = n->specials[next & ~TRAFFIC_SPECIAL].out;
            count = n->specials[next & ~TRAFFIC_SPECIAL].count;
        }
        for (uint32_t k = 0; k < count; k++)
            if (open[to[k]]++) fail_msg("two cells that lead to cell %u are open", to[k]);
    }
    free(open);
}

static void test_invariant(void **state) {
    (void)state;
    traffic_rules rules = traffic_rules_default();
    for (rules.seed = 1; rules.seed < 6; rules.seed++) {
        traffic_network network;
        make_town(60, 12, 400, &rules, &network);
        assert_true(network.light_count > 5 && network.controller_count > network.light_count + 5);
        reference r = reference_open(&network);
        for (uint32_t step = 0; step < 100; step++) {
            check_open(&network, r.codes);
            reference_step(&r);
        }
        reference_close(&r);
        traffic_network_destroy(&network);
    }
}

/* ---- The variants ---------------------------------------------------------------------------- */

static void run_town(uint32_t intersections, uint32_t street_cells, uint32_t yield,
                     const traffic_rules *rules, uint32_t steps) {
    traffic_network network;
    make_town(intersections, street_cells, yield, rules, &network);
    run_all(&network, steps);
    traffic_network_destroy(&network);
}

static void test_towns(void **state) {
    (void)state;
    traffic_rules rules = traffic_rules_default();
    for (rules.seed = 1; rules.seed < 4; rules.seed++) run_town(40, 30, 250, &rules, 60);
    rules.is_smart = 0;
    run_town(40, 30, 0, &rules, 60);
    run_town(2, 200, 1000, &rules, 60);
    rules.sink_permille = 100;
    rules.leave_permille = 300;
    rules.create_permille = 300;
    run_town(40, 30, 1000, &rules, 60);
}

static void make_graph(uint32_t intersections, uint32_t street_cells, const traffic_rules *rules,
                       traffic_network *network) {
    traffic_map_desc desc = {.seed = rules->seed,
                             .intersections = intersections,
                             .street_cells = street_cells,
                             .is_random = 1};
    bench_error error = {""};
    traffic_map map;
    assert_int_equal(traffic_map_draw(&desc, &map, &error), 0);
    if (traffic_network_create(&map, rules, network, &error)) fail_msg("%s", error.text);
    traffic_map_release(&map);
}

/* The objects of DynaSOAr's program, with a quarter of the other layouts of a car's path, by the
 * seed. */
static void run_dynasoar(const traffic_desc *lean, uint32_t steps) {
    static const traffic_path paths[] = {
        {TRAFFIC_PATH_FIXED, 0, 0},   {TRAFFIC_PATH_MAX, 0, 0},     {TRAFFIC_PATH_MAX, 0, 1},
        {TRAFFIC_PATH_INLINE, 1, 0},  {TRAFFIC_PATH_INLINE, 6, 0},  {TRAFFIC_PATH_INLINE, 6, 1},
        {TRAFFIC_PATH_OUTSIDE, 0, 0}, {TRAFFIC_PATH_OUTSIDE, 0, 1}, {TRAFFIC_PATH_PACKED, 0, 0}};
    traffic_desc desc = *lean;
    desc.is_dynasoar_model = 1;
    for (size_t i = 0; i < sizeof paths / sizeof *paths; i++) {
        desc.path = paths[i];
        if (i == 0 || i % (4 * cl_fixture_each(1)) == lean->network->rules.seed % 4)
            run(&desc, steps, NULL);
    }
}

/* The rules of DynaSOAr's program on graphs of its kind, with our objects, with its own, and in
 * arrays; streets shorter than a step too. */
static void test_dynasoar(void **state) {
    (void)state;
    traffic_rules rules = traffic_rules_default();
    rules.is_dynasoar = 1;
    rules.is_smart = 0;
    rules.start_permille = 0;
    rules.create_permille = 300;
    for (rules.seed = 1; rules.seed < 5; rules.seed++) {
        traffic_network network;
        rules.producer_permille = rules.sink_permille = 20 * rules.seed;
        make_graph(40 + 10 * rules.seed, rules.seed == 4 ? 3 : 30, &rules, &network);
        run_all(&network, 60);
        traffic_desc desc = describe(&network);
        run_dynasoar(&desc, 60);
        reference r = reference_open(&network);
        for (uint32_t step = 0; step < 60; step++) {
            check_open(&network, r.codes);
            reference_step(&r);
            for (uint32_t i = 0; i < network.cell_count; i++)
                if ((r.codes[i] & TRAFFIC_CODE_CAR) && (network.max_velocity[i] & TRAFFIC_TARGET))
                    assert_int_equal(r.codes[i] >> 20 & 15, 0); /* made there, and stuck */
        }
        if (traffic_count(r.codes, network.cell_count).cars < 20) fail_msg("hardly any cars");
        reference_close(&r);
        traffic_network_destroy(&network);
    }
}

/* A car under DynaSOAr's rules: it waits for its first green light as long as the others' turns
 * take, and is gone when it arrives at a target. */
static void test_dynasoar_car(void **state) {
    (void)state;
    const traffic_start start = {79, 9};
    traffic_rules rules = quiet;
    traffic_network network;
    rules.is_dynasoar = 1;
    make_merge("light", 5, &rules, &network);
    place(&network, &start, 1);
    network.max_velocity[100] = network.limit[100] |= TRAFFIC_TARGET;
    reference r = reference_open(&network);
    for (uint32_t step = 1; step <= 5; step++) {
        assert_int_equal(limit_of(&r, 39) + limit_of(&r, 79), 0);
        assert_int_equal(find(&r, 9), 79);
        reference_step(&r);
    }
    assert_int_equal(limit_of(&r, 79), 5); /* the second street is the first to have green */
    assert_in_range(find(&r, 9), 80, 81);
    uint32_t last = 0;
    for (uint32_t step = 0; find(&r, 9) != TRAFFIC_NONE; step++) {
        last = find(&r, 9);
        assert_true(last < 100 && step < 20);
        reference_step(&r);
    }
    assert_true(last >= 95);
    reference_close(&r);
    run_all(&network, 25);
    traffic_network_destroy(&network);
}

/* Streets shorter than a step, so that cars pass several intersections in one; and jams. */
static void test_crowded(void **state) {
    (void)state;
    traffic_rules rules = traffic_rules_default();
    rules.start_permille = 600;
    run_town(50, 20, 250, &rules, 60);
    for (uint32_t cells = 1; cells < 4; cells++) {
        rules.seed = cells;
        rules.start_permille = cells * 100;
        run_town(150, cells, 500, &rules, 60);
    }
    rules.start_permille = 1000;
    rules.phase_steps = 1;
    rules.slow_permille = 1000;
    run_town(30, 5, 300, &rules, 40);
}

/* Cars move in memory between steps; the traffic must not notice. */
static void test_compacted(void **state) {
    (void)state;
    static const bench_merge merge = {.factor = 3};
    static const clump_compact_desc ways[] = {
        {.size = sizeof(clump_compact_desc)},
        {.size = sizeof(clump_compact_desc)}, /* by merging */
        {.size = sizeof(clump_compact_desc), .order = CLUMP_ORDER_FIELD, .order_field = "position"},
    };
    traffic_rules rules = traffic_rules_default();
    rules.start_permille = 200; /* many, most of which leave soon */
    rules.sink_permille = 50;
    for (size_t i = 0; i < sizeof ways / sizeof *ways; i++) {
        clump_compactor_desc compaction = {
            .size = sizeof compaction, .compact = &ways[i], .every = 3};
        traffic_network network;
        uint64_t moves = 0;
        rules.seed = (uint32_t)i + 10;
        make_town(60, 40, 250, &rules, &network);
        traffic_desc desc = describe(&network);
        desc.world.compaction = &compaction;
        desc.world.merge = i == 1 ? &merge : NULL;
        run(&desc, 60, &moves);
        if (moves < 60) fail_msg("only %llu cars moved", (unsigned long long)moves);
        traffic_network_destroy(&network);
    }
}

/* Every access verified by the device API, and a heap that is too small refused. */
static void test_heap(void **state) {
    (void)state;
    traffic_rules rules = traffic_rules_default();
    bench_error error = {""};
    bench_world world;
    traffic_network network;
    make_town(30, 20, 500, &rules, &network);
    traffic_desc desc = describe(&network);
    desc.world.checked = 1;
    run(&desc, 30, NULL);
    traffic_network_destroy(&network);
    make_town(500, 100, 500, &rules, &network);
    desc.world.heap_bytes = 1 << 20;
    assert_int_equal(traffic_world_create(&desc, &world, &error), -1);
    if (!strstr(error.text, "the heap has room for")) fail_msg("%s", error.text);
    traffic_network_destroy(&network);
}

/* A heap with room for the cells and few cars: that it is full is reported, at the latest when the
 * state is read. */
static void test_full(void **state) {
    (void)state;
    traffic_rules rules = {.seed = 3, .phase_steps = 5, .producer_permille = 500};
    bench_error error = {""};
    bench_world world;
    traffic_network network;
    rules.create_permille = 1000;
    make_town(100, 60, 500, &rules, &network);
    traffic_desc desc = describe(&network);
    desc.world.heap_bytes = 256 << 10;
    while (traffic_world_create(&desc, &world, &error)) {
        /* On a device of many cores the metadata alone may not fit at first. */
        if (!strstr(error.text, "the heap has room for") && !strstr(error.text, "is too small"))
            fail_msg("%s", error.text);
        desc.world.heap_bytes += 32 << 10;
        assert_true(desc.world.heap_bytes < 16 << 20);
    }
    int result = 0;
    for (uint32_t step = 0; step < 20 && result == 0; step++)
        result = bench_world_step(&world, &error) || bench_world_finish(&world, &error);
    bench_world_destroy(&world);
    traffic_network_destroy(&network);
    assert_int_not_equal(result, 0);
    if (!strstr(error.text, "an allocation returned null")) fail_msg("%s", error.text);
}

/* ---- Maps ------------------------------------------------------------------------------------ */

#define TWO "intersection 1 0 0\nintersection 2 1 0\n"

static void test_map(void **state) {
    (void)state;
    traffic_rules rules = traffic_rules_default();
    bench_error error = {""};
    traffic_map map;
    traffic_network network;
    /* Streets first, ids of 64 bits, comments, tabs, line ends of other systems. */
    assert_int_equal(read_text("street 18446744073709551615 7 12 3 # one\r\n\n\t# two\n"
                               "street\t7 18446744073709551615 1 10\n"
                               "intersection 18446744073709551615 -1.5 2e3 yield\n"
                               "intersection 7 0 0 light",
                               &map, &error),
                     0);
    assert_int_equal(map.intersection_count, 2);
    assert_int_equal(map.street_count, 2);
    assert_int_equal(map.streets[0].from, 1); /* by id */
    assert_int_equal(map.streets[0].to, 0);
    assert_int_equal(map.streets[0].cells, 12);
    assert_int_equal(map.streets[1].limit, 10);
    assert_int_equal(map.intersections[1].control, TRAFFIC_YIELD);
    assert_true(map.intersections[1].x == -1.5f && map.intersections[1].y == 2000);
    assert_int_equal(map.intersections[0].control, TRAFFIC_LIGHT);
    traffic_map_release(&map);
    if (traffic_map_read(TRAFFIC_SAMPLE_MAP, &map, &error)) fail_msg("%s", error.text);
    assert_int_equal(traffic_network_create(&map, &rules, &network, &error), 0);
    assert_true(network.light_count > 0 && network.controller_count > network.light_count);
    run_all(&network, 60);
    traffic_network_destroy(&network);
    traffic_map_release(&map);
}

static void test_bad_maps(void **state) {
    (void)state;
    static const struct {
        const char *text, *words;
    } faults[] = {
        {"", "has no streets"},
        {TWO, "has no streets"},
        {"# c\nroad 1 2 3 4\n",
         "line 2: 'road' is no word to begin with; valid: intersection, street"},
        {TWO "street 1 2 10\n", "line 3: there must be: street FROM TO CELLS LIMIT"},
        {TWO "street 1 2 10 5 5\n", "line 3: there must be: street"},
        {TWO "street 1 2 0 5\n", "line 3: '0' is no length"},
        {TWO "street 1 2 100001 5\n", "line 3: '100001' is no length"},
        {TWO "street 1 2 -3 5\n", "line 3: '-3' is no length"},
        {TWO "street 1 2 1.5 5\n", "line 3: '1.5' is no length"},
        {TWO "street 1 2 10 0\n", "line 3: '0' is no speed limit"},
        {TWO "street 1 2 10 11\n", "line 3: '11' is no speed limit"},
        {TWO "street 1 x 10 5\n", "line 3: 'x' is no id"},
        {TWO "street 1 18446744073709551616 10 5\n", "line 3: '18446744073709551616' is no id"},
        {TWO "street 1 1 10 5\n", "line 3: a street must lead to another intersection"},
        {TWO "street 1 2 10 5\nstreet 1 3 10 5\n", "line 4: there is no intersection 3"},
        {TWO "street 0 2 10 5\n", "line 3: there is no intersection 0"},
        {TWO "intersection 1 2 2\nstreet 1 2 9 9\n", "line 3: intersection 1 is in line 1 already"},
        {"intersection 1 0\n", "line 1: there must be: intersection ID X Y"},
        {"intersection 1 0 0 light 3\n", "line 1: there must be: intersection ID X Y"},
        {"intersection 1 0 y\n", "line 1: 'y' is no coordinate"},
        {"intersection 1 nan 0\n", "line 1: 'nan' is no coordinate"},
        {"intersection 1 0 2000000\n", "line 1: '2000000' is no coordinate"},
        {"intersection 1 0 0 stop\n", "line 1: 'stop' is no control; valid: light, yield"},
        {TWO "street 1 2 1 1\nstreet 1 2 1 1\nstreet 1 2 1 1\nstreet 1 2 1 1\nstreet 1 2 1 1\n"
             "street 1 2 1 1\nstreet 1 2 1 1\n",
         "line 9: more than 6 streets begin at intersection 1"},
        {TWO "intersection 3 2 2\nstreet 1 2 1 1\nstreet 1 2 1 1\nstreet 1 2 1 1\nstreet 1 2 1 1\n"
             "street 3 2 1 1\nstreet 3 2 1 1\nstreet 3 2 1 1\n",
         "line 10: more than 6 streets end at intersection 2"},
    };
    bench_error error = {""};
    traffic_map map;
    for (size_t i = 0; i < sizeof faults / sizeof *faults; i++) {
        assert_int_equal(read_text(faults[i].text, &map, &error), -1);
        assert_null(map.streets);
        if (!strstr(error.text, faults[i].words))
            fail_msg("fault %zu is reported as '%s'", i, error.text);
    }
    char line[MAP_BYTES];
    memset(line, 'x', sizeof line - 1);
    line[sizeof line - 1] = '\0';
    assert_int_equal(read_text(line, &map, &error), -1);
    assert_non_null(strstr(error.text, "line 1: longer than"));
    assert_int_equal(traffic_map_read("no/such/file.streets", &map, &error), -1);
    assert_non_null(strstr(error.text, "no/such/file.streets: "));
}

/* More cells than can be numbered. */
static void test_too_large(void **state) {
    (void)state;
    traffic_rules rules = traffic_rules_default();
    bench_error error = {""};
    traffic_map_desc desc = {.seed = 1, .intersections = 20000, .street_cells = 10000};
    traffic_map map;
    traffic_network network;
    assert_int_equal(traffic_map_draw(&desc, &map, &error), 0);
    assert_int_equal(traffic_network_create(&map, &rules, &network, &error), -1);
    assert_non_null(strstr(error.text, "more than 268435456 cells"));
    assert_null(network.next);
    traffic_map_release(&map);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_one_car),   cmocka_unit_test(test_two_cars),
        cmocka_unit_test(test_lights),    cmocka_unit_test(test_yield),
        cmocka_unit_test(test_producers), cmocka_unit_test(test_invariant),
        cmocka_unit_test(test_towns),     cmocka_unit_test(test_crowded),
        cmocka_unit_test(test_dynasoar),  cmocka_unit_test(test_dynasoar_car),
        cmocka_unit_test(test_compacted), cmocka_unit_test(test_heap),
        cmocka_unit_test(test_full),      cmocka_unit_test(test_map),
        cmocka_unit_test(test_bad_maps),  cmocka_unit_test(test_too_large),
    };
    return APP_FIXTURE_RUN("traffic", &fixture, tests);
}
