/* The planner: the fewest moves into the fewest blocks, on random heaps of all kinds.
 *
 * Read first: trial.h.
 */
#include <stdlib.h>

#include "trial.h"

/* Are there objects without a tag? Their places are not known for sure. */
static int has_unknown(const trial *t) {
    for (uint32_t id = 1; id <= t->w->class_count; id++)
        if (t->w->tag[id] < 0 && t->before->start[id] != t->before->start[id + 1]) return 1;
    return 0;
}

/* The fewest moves into the fewest blocks. */
static void check_plan(const trial *t) {
    const world *w = t->w;
    uint64_t moves = 0, bytes = 0;
    for (uint32_t id = 1; id <= w->class_count; id++) {
        class_plan a = plan_of(t->before, id), b = plan_of(t->after, id);
        if (t->part[id]) {
            uint32_t capacity = w->k[id].capacity ? w->k[id].capacity : 1;
            uint64_t keep = (a.objects + capacity - 1) / capacity, least = plan_moves(&a, keep);
            moves += least;
            bytes += least * w->classes[id].object_bytes;
            WORLD_CHECK(w, b.blocks == keep, "class %s has %u blocks, expected %llu",
                        w->classes[id].name, b.blocks, (unsigned long long)keep);
        }
        free(a.credits);
        free(b.credits);
    }
    equal(t, "moves", t->report.moves, moves);
    equal(t, "bytes moved", t->report.bytes_moved, bytes);
    equal(t, "moves left", t->report.moves_left, 0);
    equal(t, "passes", t->report.passes, moves != 0);
    if (!has_unknown(t)) equal(t, "objects that moved", t->counts.moved, moves);
    WORLD_CHECK(w, t->counts.moved <= moves, "more objects moved than the report says");
    check_references(t);
}

static void plan_one(int which, size_t fill_number, int null_dangling) {
    trial t;
    world *w = enter(which);
    w->random += fill_number * 7919;
    LABEL(w, "planner, %s, fill %zu, null_dangling %d", worlds[which].name, fill_number,
          null_dangling);
    snapshot_drop(world_fill(w, &fills[fill_number]));
    clump_compact_desc desc = {.size = sizeof desc, .null_dangling = null_dangling};
    trial_run(&t, w, null_dangling ? &desc : NULL);
    check_plan(&t);
    trial_done(&t);
    trial_again(w, NULL, NULL);
}

static void planner_narrow(void **state) {
    for (size_t i = 0; i < FILLS; i++) plan_one(NARROW, i, 0);
}

static void planner_middle(void **state) {
    for (size_t i = 0; i < FILLS; i++) plan_one(MIDDLE, i, 0);
}

static void planner_wide(void **state) {
    for (size_t i = 0; i < FILLS; i++) plan_one(WIDE, i, 0);
}

static void planner_huge(void **state) {
    for (size_t i = 0; i < FILLS; i++) plan_one(HUGE_OBJECTS, i, 0);
}

static void planner_many_blocks(void **state) {
    for (size_t i = 0; i < FILLS; i++) plan_one(MANY_BLOCKS, i, 0);
}

static void planner_one_block(void **state) {
    for (size_t i = 0; i < FILLS; i++) plan_one(ONE_BLOCK, i, 0);
}

/* A few sources whose objects go one by one to very many blocks, each with one free slot. */
static void planner_thin(void **state) {
    static const int in[] = {MANY_BLOCKS, WIDE};
    for (int i = 0; i < 2; i++) {
        trial t;
        world *w = enter(in[i]);
        LABEL(w, "planner, thin targets, %s", worlds[in[i]].name);
        uint32_t blocks = w->h->block_end - w->h->first_block, id = 1, room = 0;
        while (!w->k[id].rows) id++;
        uint32_t *ids = calloc(2 * blocks, sizeof *ids), *credits = ids + blocks;
        assert_non_null(ids);
        for (uint32_t b = 0; b < blocks; b++) {
            ids[b] = id;
            if (b % 50 == 7) continue;
            credits[b] = w->k[id].capacity - 1;
            room++;
        }
        for (uint32_t b = 7; b < blocks; b += 50) { /* as many objects as there are free slots */
            credits[b] = room < 60 ? room : 60;
            room -= credits[b];
        }
        snapshot_drop(world_put(w, ids, credits, &(fill){.dangling = 1}));
        free(ids);
        trial_run(&t, w, NULL);
        check_plan(&t);
        WORLD_CHECK(w, t.report.moves, "nothing to move");
        trial_done(&t);
        trial_again(w, NULL, NULL);
    }
}

/* Also those that lead to slots which the compaction fills. */
static void planner_null_dangling(void **state) {
    static const int in[] = {NARROW, WIDE, HUGE_OBJECTS};
    for (int i = 0; i < 3; i++)
        for (size_t j = 0; j < 4; j++) plan_one(in[i], j, 1);
}

/* Abstract bases, overlapping names, classes that nothing refers to. */
static void planner_subsets(void **state) {
    static const char *const sets[][3] = {
        {"Mid"}, {"Leaf", "Node", "Leaf"}, {"Tiny"}, {"Alone", "Dot"}, {"Thing"}, {"Plain"},
    };
    for (size_t i = 0; i < sizeof sets / sizeof *sets; i++) {
        trial t;
        world *w = enter(NARROW);
        clump_compact_desc desc = {
            .size = sizeof desc, .classes = sets[i], .null_dangling = i % 2 != 0};
        while (desc.class_count < 3 && sets[i][desc.class_count]) desc.class_count++;
        w->random += i;
        LABEL(w, "planner, subset %zu", i);
        snapshot_drop(world_fill(w, &fills[0]));
        trial_run(&t, w, &desc);
        check_plan(&t);
        trial_done(&t);
        trial_again(w, &desc, NULL);
    }
}

/* Sets of classes are words of 64 ids, and K63 has id 64. Of the first ids of words (K63, K127,
 * K191) each set has what the other has not. */
static const char *const few_classes[][7] = {{"K1", "K64", "K65", "K127", "K128", "K192", "K219"},
                                             {"K2", "K62", "K63", "K129", "K190", "K191", "K193"}};

static void planner_many_classes(void **state) {
    trial t;
    world *w = enter(MANY_CLASSES);
    for (int i = 0; i < 3; i++) {
        clump_compact_desc desc = {
            .size = sizeof desc, .classes = few_classes[i & 1], .class_count = i ? 7 : 0};
        LABEL(w, "planner, many classes, %u of them, set %d", desc.class_count, i);
        snapshot_drop(world_fill(w, &fills[0]));
        trial_run(&t, w, &desc);
        check_plan(&t);
        WORLD_CHECK(w, t.report.moves, "nothing to move");
        trial_done(&t);
        trial_again(w, &desc, NULL);
    }
}

static void planner_slack(void **state) {
    static const double slacks[] = {0.001, 0.05, 0.3, 1};
    for (size_t i = 0; i < 8; i++) {
        trial t;
        int which = i % 2 ? MIDDLE : NARROW;
        world *w = enter(which);
        double slack = slacks[i / 2];
        LABEL(w, "planner, %s, slack %g", worlds[which].name, slack);
        w->random += i;
        snapshot_drop(world_fill(w, &fills[1]));
        trial_run(&t, w, &(clump_compact_desc){.size = sizeof(clump_compact_desc), .slack = slack});
        uint64_t moves = 0;
        for (uint32_t id = 1; id <= w->class_count; id++) {
            class_plan a = plan_of(t.before, id), b = plan_of(t.after, id);
            double wanted = slack * (double)a.objects, spare = (double)(b.slots - b.objects);
            moves += plan_moves(&a, b.blocks);
            /* Enough, unless there was too little before; and no block more than needed. */
            WORLD_CHECK(w, b.blocks == a.blocks || spare >= wanted - 1,
                        "class %s: %g slots are free, slack is %g", w->classes[id].name, spare,
                        wanted);
            WORLD_CHECK(w, !b.blocks || spare - w->k[id].capacity < wanted + 1 || b.blocks == 1,
                        "class %s: %g slots are free, a block more than the slack of %g",
                        w->classes[id].name, spare, wanted);
            free(a.credits);
            free(b.credits);
        }
        equal(&t, "moves", t.report.moves, moves);
        check_references(&t);
        trial_done(&t);
    }
}

/* So many objects that the slack asks for one slot more than blocks have: it takes another
 * block. */
static void planner_exact_slack(void **state) {
    trial t;
    world *w = enter(MANY_BLOCKS);
    LABEL(w, "planner, slack of one slot more");
    uint32_t blocks = w->h->block_end - w->h->first_block, id = 1, objects = 2;
    while (!w->k[id].rows) id++;
    uint32_t capacity = w->k[id].capacity;
    while (objects / 2 * 3 % capacity != 1 && objects < 2 * blocks) objects += 2;
    WORLD_CHECK(w, objects < 2 * blocks, "no such number");
    uint32_t *ids = calloc(2 * blocks, sizeof *ids), *credits = ids + blocks;
    assert_non_null(ids);
    for (uint32_t b = 0; b < objects / 2; b++) {
        ids[b] = id;
        credits[b] = 2;
    }
    snapshot_drop(world_put(w, ids, credits, &(fill){.dangling = 1}));
    free(ids);
    trial_run(&t, w, &(clump_compact_desc){.size = sizeof(clump_compact_desc), .slack = 0.5});
    class_plan after = plan_of(t.after, id);
    equal(&t, "blocks", after.blocks, objects / 2 * 3 / capacity + 1);
    free(after.credits);
    trial_done(&t);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(planner_narrow),      cmocka_unit_test(planner_middle),
        cmocka_unit_test(planner_wide),        cmocka_unit_test(planner_huge),
        cmocka_unit_test(planner_many_blocks), cmocka_unit_test(planner_one_block),
        cmocka_unit_test(planner_thin),        cmocka_unit_test(planner_null_dangling),
        cmocka_unit_test(planner_subsets),     cmocka_unit_test(planner_many_classes),
        cmocka_unit_test(planner_slack),       cmocka_unit_test(planner_exact_slack),
    };
    const struct CMUnitTest out_of_order[] = {
        cmocka_unit_test(planner_middle),
    };
    const struct CMUnitTest narrow_words[] = {
        cmocka_unit_test(planner_middle),
    };
    const trial_group groups[] = {
        TRIAL_GROUP("planner", tests, TRIAL_AS_IS),
        TRIAL_GROUP("queue out of order", out_of_order, TRIAL_OUT_OF_ORDER),
        TRIAL_GROUP("32-bit words", narrow_words, TRIAL_NARROW_WORDS),
    };
    return TRIAL_MAIN(groups);
}
