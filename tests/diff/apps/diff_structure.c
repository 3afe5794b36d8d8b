/* Structures that break, on the heap and in arrays, against sequential C: every bit of every node,
 * and every spring, after every step. The rules are those of the benchmark, and so is the code.
 *
 * Read first: bench/apps/structure/world.h.
 */
#include <stdlib.h>
#include <string.h>

#include "app_fixture.h"
#include "bench/apps/structure/world.h"

static cl_fixture fixture;

/* One size of heap for all, so that they run the same programs. */
static structure_desc describe(const structure_network *network) {
    return (structure_desc){.world = app_fixture_world(&fixture, 16 << 20),
                            .rules = structure_rules_default(),
                            .network = network};
}

/* At least `least` springs must have gone. */
static structure_counts run(const structure_desc *desc, uint32_t steps, uint32_t least) {
    bench_error error = {""};
    structure_counts left = {0, 0, 0, 0};
    uint32_t springs = desc->network->spring_count;
    if (structure_compare_run(desc, steps, 5, &left, &error))
        fail_msg("variant %d, %u nodes: %s", (int)desc->world.variant, desc->network->node_count,
                 error.text);
    if (springs - left.springs < least)
        fail_msg("variant %d: only %u of %u springs have gone; the test shows nothing",
                 (int)desc->world.variant, springs - left.springs, springs);
    return left;
}

static structure_counts run_all(structure_desc desc, uint32_t steps, uint32_t least) {
    structure_counts left = {0, 0, 0, 0};
    for (bench_variant variant = BENCH_CLUMP; variant <= app_fixture_last_variant(); variant++) {
        desc.world.variant = variant;
        left = run(&desc, steps, least);
    }
    return left;
}

static structure_network make(structure_network_desc desc) {
    bench_error error = {""};
    structure_network network;
    if (structure_network_create(&desc, &network, &error)) fail_msg("%s", error.text);
    return network;
}

static structure_network make_sheet(uint32_t nodes, uint32_t seed) {
    structure_network_desc desc = structure_network_default(STRUCTURE_SHEET);
    desc.nodes = nodes;
    desc.seed = seed;
    return make(desc);
}

/* Faster than by default, so that much has come off after 20 steps. */
static structure_network_desc random_network(uint32_t nodes, uint32_t seed) {
    structure_network_desc desc = structure_network_default(STRUCTURE_RANDOM);
    desc.nodes = nodes;
    desc.seed = seed;
    desc.speed = 4;
    return desc;
}

/* ---- Networks by hand ------------------------------------------------------------------------ */

/* In a row, one unit apart; the last is the only anchor. No springs yet. */
static structure_network make_row(uint32_t nodes, uint32_t pull) {
    structure_network network = {.first_pull = nodes - 1 - pull,
                                 .first_anchor = nodes - 1,
                                 .node_count = nodes,
                                 .nodes = calloc(nodes, sizeof *network.nodes),
                                 .springs = calloc(3 * (size_t)nodes, sizeof *network.springs)};
    assert_true(network.nodes && network.springs);
    for (uint32_t i = 0; i < nodes; i++)
        network.nodes[i] = (structure_node){.x = (float)i, .y = 1, .inverse_mass = 0.5f};
    return network;
}

static void connect(structure_network *network, uint32_t p1, uint32_t p2, float length,
                    float max_force) {
    uint32_t ends[] = {p1, p2}, at[] = {0, 0}, s = network->spring_count++;
    for (int i = 0; i < 2; i++) {
        uint32_t *springs = network->nodes[ends[i]].springs;
        while (springs[at[i]]) at[i]++;
        springs[at[i]] = s + 1;
    }
    network->springs[s] = (structure_spring){.p1 = p1,
                                             .p2 = p2,
                                             .slots = at[0] | at[1] << 4,
                                             .stiffness = 2,
                                             .length = length,
                                             .max_force = max_force};
}

/* What the reference itself must hold to: Hooke's law, both ways round. */
static void test_force(void **state) {
    (void)state;
    bench_error error = {""};
    for (int turned = 0; turned < 2; turned++) {
        structure_network network = make_row(2, 0);
        connect(&network, turned ? 1 : 0, turned ? 0 : 1, 0.75f, 10);
        structure_desc desc = describe(&network);
        bench_world world;
        structure_state after;
        desc.world.variant = BENCH_SEQUENTIAL;
        desc.rules.iterations = 1;
        desc.rules.keep = 0.5f;
        assert_int_equal(structure_state_create(&network, &after, &error), 0);
        assert_int_equal(structure_world_create(&desc, &world, &error), 0);
        assert_int_equal(bench_world_step(&world, &error), 0);
        assert_int_equal(bench_world_read(&world, &after, &error), 0);
        /* force 2 * 0.25 on mass 2 for 0.2, half of it kept */
        assert_float_equal(after.nodes[0].vx, 0.025, 1e-6);
        assert_float_equal(after.nodes[0].x, 0.005, 1e-6);
        assert_true(after.nodes[0].y == 1 && after.nodes[0].vy == 0);
        assert_true(after.nodes[1].x == 1 && after.nodes[1].is_there && after.springs[0]);
        bench_world_destroy(&world);
        structure_state_destroy(&after);
        structure_network_destroy(&network);
    }
}

/* A spring that is longer than it bears is gone after the step, with all that hung on it; what is
 * shorter than at rest does not push. */
static void test_break(void **state) {
    (void)state;
    structure_network network = make_row(8, 1); /* 0 .. 5, 6 pulls, 7 is the anchor */
    network.nodes[6].vx = 0.5f;
    connect(&network, 7, 0, 9, 1); /* slack */
    connect(&network, 0, 1, 1, 1);
    connect(&network, 1, 2, 0.4f, 1); /* force 1.2: breaks at once */
    connect(&network, 2, 3, 1, 1);
    connect(&network, 3, 2, 1, 1); /* two between the same */
    connect(&network, 6, 3, 4, 1);
    connect(&network, 4, 5, 1, 1); /* never hung on the anchor */
    structure_counts left = run_all(describe(&network), 3, 5);
    assert_int_equal(left.nodes, 2);
    assert_int_equal(left.pull_nodes, 0);
    assert_int_equal(left.anchors, 1);
    assert_int_equal(left.springs, 2);
    structure_network_destroy(&network);
}

/* What pulls holds nothing, and an anchor without springs goes too. */
static void test_nothing_left(void **state) {
    (void)state;
    structure_network network = make_row(4, 1);
    connect(&network, 0, 1, 1, 1);
    connect(&network, 1, 2, 1, 1);
    structure_counts left = run_all(describe(&network), 2, 2);
    assert_int_equal(left.nodes + left.pull_nodes + left.anchors + left.springs, 0);
    structure_network_destroy(&network);
}

/* What holds, what stays without springs, and how devices search, by all rules: a row of which the
 * nodes at its ends pull and hold, one node without springs of each kind, and one whose only spring
 * breaks. */
static void test_held(void **state) {
    (void)state;
    for (unsigned rules = 0; rules < 8; rules++) {
        structure_network network = make_row(12, 4); /* 0 .. 6, 7 .. 10 pull, 11 is the anchor */
        structure_desc desc = describe(&network);
        desc.rules.pulled_hold = rules & 1;
        desc.rules.bare_stay = rules >> 1 & 1;
        desc.rules.by_levels = rules >> 2 & 1;
        connect(&network, 11, 0, 20, 1); /* on the anchor; slack, as all but one */
        connect(&network, 7, 1, 20, 1);  /* on what is pulled */
        connect(&network, 1, 2, 20, 1);
        connect(&network, 3, 4, 20, 1);   /* on nothing */
        connect(&network, 8, 5, 0.5f, 1); /* breaks at once: neither end was ever bare */
        structure_counts left = run_all(desc, 3, 2);
        int held = desc.rules.pulled_hold, bare = desc.rules.bare_stay; /* bare: 6, 9, 10 */
        assert_int_equal(left.nodes, 1 + 2 * held + bare);
        assert_int_equal(left.pull_nodes, held + 2 * bare);
        assert_int_equal(left.anchors, 1);
        assert_int_equal(left.springs, 1 + 2 * held);
        structure_network_destroy(&network);
    }
}

/* One chain through all nodes in any order: the longest way for a search. It breaks once. */
static void test_chain(void **state) {
    (void)state;
    enum { NODES = 5000 };
    static uint32_t order[NODES];
    for (uint32_t seed = 1; seed < 4; seed++) {
        structure_network network = make_row(NODES, 0);
        uint64_t random = seed;
        uint32_t cut = 1000 * seed;
        for (uint32_t i = 0; i < NODES - 1; i++) order[i] = i;
        for (uint32_t i = NODES - 2; i > 0; i--) {
            uint32_t other = test_random(&random, i + 1), kept = order[i];
            order[i] = order[other];
            order[other] = kept;
        }
        uint32_t before = NODES - 1; /* the anchor */
        for (uint32_t i = 0; i < NODES - 1; i++) {
            connect(&network, before, order[i], i == cut ? 0 : 2 * NODES, i == cut ? 0.01f : 1);
            before = order[i];
        }
        structure_desc desc = describe(&network);
        desc.rules.iterations = 2;
        desc.rules.by_levels = seed == 2;
        structure_counts left = run_all(desc, 2, NODES - 1 - cut);
        assert_int_equal(left.nodes, cut);
        assert_int_equal(left.springs, cut);
        structure_network_destroy(&network);
    }
}

/* ---- Networks from seeds --------------------------------------------------------------------- */

static void test_sheets(void **state) {
    (void)state;
    static const uint32_t sizes[] = {9, 12, 63, 64, 300};
    for (uint32_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        structure_network network = make_sheet(sizes[i], i);
        run_all(describe(&network), 25, sizes[i] >= 63 ? 10 : 0);
        structure_network_destroy(&network);
    }
    structure_network network = make_sheet(1500, 7);
    structure_desc desc = describe(&network);
    desc.rules.keep = 0.999f;
    run_all(desc, 40, 100);
    structure_network_destroy(&network);
}

static void test_random_networks(void **state) {
    (void)state;
    static const uint32_t sizes[] = {9, 10, 100, 1000};
    for (uint32_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        structure_network network = make(random_network(sizes[i], i + 1));
        run_all(describe(&network), 20, sizes[i] >= 100 ? sizes[i] / 10 : 0);
        structure_network_destroy(&network);
    }
}

/* preset=dynasoar in small; as fast as by default, since much comes off in the first step. */
static void test_dynasoar(void **state) {
    (void)state;
    structure_network_desc desc = random_network(1500, 42);
    desc.speed = 1;
    desc.pull_percent = 25;
    structure_network network = make(desc);
    structure_desc world = describe(&network);
    world.rules.pulled_hold = world.rules.bare_stay = world.rules.by_levels = 1;
    structure_counts left = run_all(world, 50, 200);
    if (left.nodes + left.pull_nodes + left.anchors == network.node_count)
        fail_msg("no node has gone; the test shows nothing");
    clump_compactor_desc compaction = {
        .size = sizeof compaction,
        .compact = &(clump_compact_desc){.size = sizeof(clump_compact_desc)},
        .every = 2};
    world.world.compaction = &compaction;
    run(&world, 20, 100);
    structure_network_destroy(&network);
}

/* All of one kind, no springs, and as many as the degree allows. */
static void test_shares(void **state) {
    (void)state;
    static const uint32_t shares[][3] = {{0, 0, 70},  {100, 0, 70}, {0, 100, 70},
                                         {10, 10, 0}, {30, 5, 100}, {0, 1, 60}};
    for (size_t i = 0; i < sizeof shares / sizeof *shares; i++) {
        structure_network_desc desc = random_network(200, (uint32_t)i);
        desc.pull_percent = shares[i][0];
        desc.anchor_percent = shares[i][1];
        desc.spring_percent = shares[i][2];
        structure_network network = make(desc);
        structure_counts left = run_all(describe(&network), 8, 0);
        if (shares[i][1] == 0) assert_int_equal(left.springs, 0);
        structure_network_destroy(&network);
    }
}

/* Objects move between steps; the structure must not notice. */
static void test_compacted(void **state) {
    (void)state;
    static const bench_merge merge = {.factor = 3};
    static const clump_compact_desc ways[] = {
        {.size = sizeof(clump_compact_desc)},
        {.size = sizeof(clump_compact_desc)}, /* by merging */
        {.size = sizeof(clump_compact_desc), .order = CLUMP_ORDER_FIELD, .order_field = "id"},
    };
    for (size_t i = 0; i < sizeof ways / sizeof *ways; i++) {
        clump_compactor_desc compaction = {
            .size = sizeof compaction, .compact = &ways[i], .every = 2};
        structure_network networks[] = {make_sheet(900, 11 + (uint32_t)i),
                                        make(random_network(700, 21 + (uint32_t)i))};
        for (int k = 0; k < 2; k++) {
            structure_desc desc = describe(&networks[k]);
            desc.world.compaction = &compaction;
            desc.world.merge = i == 1 ? &merge : NULL;
            run(&desc, 25, 100);
            structure_network_destroy(&networks[k]);
        }
    }
}

/* Every access verified by the library: no reference outlives its object. */
static void test_checked_access(void **state) {
    (void)state;
    structure_network network = make(random_network(300, 31));
    structure_desc desc = describe(&network);
    desc.world.checked = 1;
    run(&desc, 15, 50);
    structure_network_destroy(&network);
}

static void test_wrong_numbers(void **state) {
    (void)state;
    bench_error error = {""};
    structure_network network;
    structure_network_desc desc = random_network(8, 1);
    assert_int_equal(structure_network_create(&desc, &network, &error), -1);
    assert_non_null(strstr(error.text, "9 to 8388608 nodes, not 8"));
    desc = random_network(100, 1);
    desc.pull_percent = 60;
    desc.anchor_percent = 41;
    assert_int_equal(structure_network_create(&desc, &network, &error), -1);
    assert_non_null(strstr(error.text, "more than all"));
    assert_true(!network.nodes && !network.springs && network.node_count == 0);
    network = make_sheet(900, 1);
    structure_desc small = describe(&network);
    bench_world world;
    small.world.heap_bytes = 1 << 16;
    assert_int_equal(structure_world_create(&small, &world, &error), -1);
    structure_network_destroy(&network);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_force),          cmocka_unit_test(test_break),
        cmocka_unit_test(test_nothing_left),   cmocka_unit_test(test_chain),
        cmocka_unit_test(test_sheets),         cmocka_unit_test(test_random_networks),
        cmocka_unit_test(test_shares),         cmocka_unit_test(test_compacted),
        cmocka_unit_test(test_checked_access), cmocka_unit_test(test_wrong_numbers),
        cmocka_unit_test(test_held),           cmocka_unit_test(test_dynasoar),
    };
    return APP_FIXTURE_RUN("structure", &fixture, tests);
}
