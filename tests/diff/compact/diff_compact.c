/* What compaction promises, on random heaps and around kernels.
 *
 * CLUMP_SEED (a number) changes the heaps.
 * Read first: compact_core.h, worlds.h.
 */
#include <time.h>

#include "worlds.h"

static cl_fixture fixture;
static cl_fixture *const f = &fixture;
static uint64_t seed = 1;

/* ---- Worlds ---------------------------------------------------------------------------------- */

/* References from every class to every other, arrays of both layouts, aos, objects of one byte. */
#define GRAPH                                                                                      \
    "abstract class Thing { uint tag; ref Thing any; }\n"                                          \
    "class Node : Thing { ref Node next; ref Thing many[3]; ref Node few[2] packed; float3 p; }\n" \
    "class Leaf : Node { ulong w; ref Tiny tiny; bool b; }\n"                                      \
    "abstract class Mid : Thing { ref Leaf leaf; uchar2 u[3]; }\n"                                 \
    "aos class Pack : Mid { char c; long4 f; ref Node n; ref Thing t[2]; short s; }\n"             \
    "class Plain : Mid { ushort z[3] packed; uint key; }\n"                                        \
    "class Tiny { uchar v; }\n"                                                                    \
    "aos class Dot { uint tag; ref Tiny t; ref Dot d; uchar x; }\n"                                \
    "class Alone { uint tag; }\n"

/* Fields of turning widths are a column each: with these more than move.cl keeps in local memory. */
#define TURNS(n) "uchar a" #n "; uint b" #n "; ushort c" #n "; uint d" #n ";"

static const char graph[] = GRAPH;
static const char huge[] = GRAPH
    "class Huge { ulong16 lots[6]; ref Huge self; ref Pack p; uchar odd[3] packed; uint tag; }\n"
    "class Motley { uint tag; " TURNS(0) TURNS(1) TURNS(2) TURNS(3) TURNS(4) TURNS(5) TURNS(6)
        TURNS(7) TURNS(8) TURNS(9) "}\n";
static const char only[] = "class Only { uint tag; ref Only next; }";

/* Class ids on both sides of 64, 128 and 192, and references to each of them; filled in by main(). */
#define CLASSES 220
static char classes[CLASSES * 64];

static void write_classes(void) {
    static const int borders[] = {62, 63, 64, 126, 127, 128, 190, 191, 192};
    size_t at = 0;
    for (int i = 0; i < CLASSES; i++) {
        int ref = i % 8 == 3; /* there are more fields than a world can have otherwise */
        at += (size_t)snprintf(classes + at, sizeof classes - at, "class K%d { uint tag;", i);
        if (ref)
            at += (size_t)snprintf(classes + at, sizeof classes - at, " ref K%d r;",
                                   i / 8 < 9 ? borders[i / 8] : (i * 37 + 5) % CLASSES);
        at += (size_t)snprintf(classes + at, sizeof classes - at, " }\n");
    }
}

enum { NARROW, MIDDLE, WIDE, HUGE_OBJECTS, MANY_BLOCKS, ONE_BLOCK, MANY_CLASSES, WORLDS };

static const world_kind worlds[WORLDS] = {
    [NARROW] = {"narrow", graph, 150, 1},
    [MIDDLE] = {"middle", graph, 60, 4},
    [WIDE] = {"wide", graph, 24, 64},
    [HUGE_OBJECTS] = {"huge", huge, 40, 1},
    [MANY_BLOCKS] = {"many blocks", only, 2500, 1},
    [ONE_BLOCK] = {"one block", graph, 1, 1},
    [MANY_CLASSES] = {"many classes", classes, 900, 1},
};

static world *enter(int which) {
    return world_enter(f, worlds, which, seed);
}

/* ---- One compaction -------------------------------------------------------------------------- */

typedef struct trial {
    world *w;
    clump_compact_desc desc;
    clump_compact_report report;
    graph_counts counts;
    uint8_t part[CLUMP_CLASSES_MAX + 1];
    snapshot *before, *after;
} trial;

static void find_part(trial *t) {
    const world *w = t->w;
    memset(t->part, 0, sizeof t->part);
    for (uint32_t id = 1; id <= w->class_count; id++) {
        t->part[id] = t->desc.class_count == 0;
        for (uint32_t i = 0; i < t->desc.class_count; i++)
            t->part[id] |= is_a(w, id, cl_fixture_class_id(w->heap, t->desc.classes[i]));
    }
}

static void near(const trial *t, const char *what, double found, double expected) {
    WORLD_CHECK(t->w, fabs(found - expected) <= 1e-9 * fabs(expected) + 1e-12,
                "%s is %.17g, expected %.17g", what, found, expected);
}

static void equal(const trial *t, const char *what, uint64_t found, uint64_t expected) {
    WORLD_CHECK(t->w, found == expected, "%s: %llu, expected %llu", what, (unsigned long long)found,
                (unsigned long long)expected);
}

/* Sums over the classes that take part, here and by the library's own statistics. */
static void check_sums(const trial *t) {
    const world *w = t->w;
    const clump_compact_report *r = &t->report;
    clump_class_stats stats[CLUMP_CLASSES_MAX];
    clump_heap_stats all;
    uint64_t objects = 0, slots = 0, slots_after = 0;
    uint32_t blocks = 0, blocks_after = 0, free_blocks = w->h->block_end - w->h->first_block;
    CHECK_OK(f, clump_heap_calc_stats(w->heap, &all, stats, CLUMP_CLASSES_MAX));
    for (uint32_t id = 1; id <= w->class_count; id++) {
        class_plan a = plan_of(t->before, id), b = plan_of(t->after, id);
        const clump_class_stats *c = &stats[id - 1];
        WORLD_CHECK(w,
                    c->objects == b.objects && c->slots == b.slots && c->blocks == b.blocks &&
                        c->active_blocks == b.open,
                    "statistics of class %s are wrong", w->classes[id].name);
        free_blocks -= b.blocks;
        if (t->part[id]) {
            objects += a.objects;
            slots += a.slots;
            slots_after += b.slots;
            blocks += a.blocks;
            blocks_after += b.blocks;
        }
        free(a.credits);
        free(b.credits);
    }
    equal(t, "free blocks", all.free_blocks, free_blocks);
    equal(t, "objects", r->objects, objects);
    equal(t, "blocks before", r->blocks_before, blocks);
    equal(t, "blocks freed", r->blocks_freed, blocks - blocks_after);
    near(t, "F before", r->fragmentation_before, slots ? 1 - (double)objects / (double)slots : 0);
    near(t, "F after", r->fragmentation_after,
         slots_after ? 1 - (double)objects / (double)slots_after : 0);
}

/* Of all reference fields of all objects that can point to a class that takes part. */
static uint64_t reference_bytes(const trial *t) {
    const world *w = t->w;
    uint64_t bytes = 0;
    for (uint32_t id = 1; id <= w->class_count; id++) {
        uint64_t each = 0;
        for (uint32_t level = id; level; level = w->classes[level].base) {
            for (uint32_t i = w->own[level]; i < w->own[level + 1]; i++) {
                const clump_field_info *field = &w->fields[i];
                int can = 0;
                for (uint32_t to = 1; to <= w->class_count && field->type == CLUMP_TYPE_REF; to++)
                    can |= t->part[to] && is_a(w, to, field->ref_class);
                if (can) each += 4 * elements(field);
            }
        }
        bytes += each * (t->before->start[id + 1] - t->before->start[id]);
    }
    return bytes;
}

static void check_times(const trial *t) {
    const clump_compact_report *r = &t->report;
    double sum = 0;
    for (int i = 0; i < CLUMP_COMPACT_PHASE_COUNT; i++) {
        WORLD_CHECK(t->w, r->us[i] >= 0, "phase %d took %g us", i, r->us[i]);
        sum += r->us[i];
    }
    near(t, "the sum of times", r->total_us, sum);
    if (!r->moves) return;
    WORLD_CHECK(t->w,
                r->us[CLUMP_COMPACT_MOVE] > 0 && r->us[CLUMP_COMPACT_FINISH] > 0 && r->launches,
                "moves took no time or no launches");
    /* Objects are read and written, forwards written; references are read, and of those rewritten
     * the forward and the reference as well. */
    equal(t, "floor_bytes", r->floor_bytes,
          2 * r->bytes_moved + 4 * r->moves + 8 * r->refs_rewritten + reference_bytes(t));
}

static int has_unknown(const trial *t) {
    for (uint32_t id = 1; id <= t->w->class_count; id++)
        if (t->w->tag[id] < 0 && t->before->start[id] != t->before->start[id + 1]) return 1;
    return 0;
}

/* Counts of references of a run that looks at each once. */
static void check_references(const trial *t) {
    const clump_compact_report *r = &t->report;
    if (!r->moves && !t->desc.null_dangling) return;
    equal(t, "references examined", r->refs_examined, t->counts.examined);
    equal(t, "references rewritten", r->refs_rewritten, t->counts.rewritten);
    equal(t, "references dangling", r->refs_dangling,
          t->desc.null_dangling ? t->counts.dangling : t->counts.dangling_sources);
}

/* Compact what is in the heap and hold the result against what was there. */
static void run(trial *t, world *w, const clump_compact_desc *desc) {
    uint8_t *source = NULL;
    memset(t, 0, sizeof *t);
    t->w = w;
    if (desc) t->desc = *desc;
    find_part(t);
    t->before = snapshot_take(w);
    memset(&t->report, 0xee, sizeof t->report);
    CHECK_OK(f, clump_compact(w->heap, desc, &t->report, NULL));
    CHECK_HEAP(f, w->heap);
    t->after = snapshot_take(w);
    if (t->desc.order != CLUMP_ORDER_ANY) { /* all blocks of a class give up their objects */
        source = calloc(w->h->block_end, 1);
        assert_non_null(source);
        for (uint32_t b = w->h->first_block; b < w->h->block_end; b++)
            source[b] = t->part[block_class(w, t->before->image, b)];
    }
    graph_rules rules = {.part = t->part,
                         .source = source,
                         .null_dangling = t->desc.null_dangling,
                         .passes = t->desc.merge != NULL};
    same_graph(t->before, t->after, &rules, &t->counts);
    same_enumeration(t->after);
    check_sums(t);
    check_times(t);
    free(source);
}

static void done(trial *t) {
    snapshot_drop(t->before);
    snapshot_drop(t->after);
    t->before = t->after = NULL;
}

static const clump_compact_desc merging = {.merge = &(const clump_merge_desc){.factor = 1}};

/* The second time there is nothing to do. */
static void run_again(world *w, const clump_compact_desc *desc) {
    trial t;
    size_t length = strlen(w->label);
    snprintf(w->label + length, sizeof w->label - length, ", again");
    run(&t, w, desc);
    equal(&t, "moves", t.report.moves, 0);
    equal(&t, "passes", t.report.passes, 0);
    equal(&t, "blocks freed", t.report.blocks_freed, 0);
    WORLD_CHECK(w, same_slots(t.before, t.after), "objects have moved");
    done(&t);
    w->label[length] = 0;
}

/* ---- The planner ----------------------------------------------------------------------------- */

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

static const fill fills[] = {
    {.used = 100, .low = 0, .high = 100, .full = 10, .dangling = 4},
    {.used = 60, .low = 0, .high = 40, .full = 5, .dangling = 4},
    {.used = 90, .low = 30, .high = 70, .dangling = 10},
    {.used = 100, .low = 80, .high = 100, .full = 50},
    {.used = 100, .low = 0, .high = 0, .dangling = 30}, /* one object a block */
    {.used = 100, .low = 100, .high = 100, .dangling = 4},
    {.used = 5, .low = 0, .high = 100, .dangling = 4},
    {.used = 0},
};
#define FILLS (sizeof fills / sizeof *fills)

static void plan_one(int which, size_t fill_number, int null_dangling) {
    trial t;
    world *w = enter(which);
    w->random += fill_number * 7919;
    LABEL(w, "planner, %s, fill %zu, null_dangling %d", worlds[which].name, fill_number,
          null_dangling);
    snapshot_drop(world_fill(w, &fills[fill_number]));
    clump_compact_desc desc = {.null_dangling = null_dangling};
    run(&t, w, null_dangling ? &desc : NULL);
    check_plan(&t);
    done(&t);
    run_again(w, NULL);
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
        run(&t, w, NULL);
        check_plan(&t);
        WORLD_CHECK(w, t.report.moves, "nothing to move");
        done(&t);
        run_again(w, NULL);
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
        clump_compact_desc desc = {.classes = sets[i], .null_dangling = i % 2 != 0};
        while (desc.class_count < 3 && sets[i][desc.class_count]) desc.class_count++;
        w->random += i;
        LABEL(w, "planner, subset %zu", i);
        snapshot_drop(world_fill(w, &fills[0]));
        run(&t, w, &desc);
        check_plan(&t);
        done(&t);
        run_again(w, &desc);
    }
}

/* Sets of classes are words of 64 ids, and K63 has id 64. Of the first ids of words (K63, K127, K191)
 * each set has what the other has not. */
static const char *const few_classes[][7] = {{"K1", "K64", "K65", "K127", "K128", "K192", "K219"},
                                             {"K2", "K62", "K63", "K129", "K190", "K191", "K193"}};

static void planner_many_classes(void **state) {
    trial t;
    world *w = enter(MANY_CLASSES);
    for (int i = 0; i < 3; i++) {
        clump_compact_desc desc = {.classes = few_classes[i & 1], .class_count = i ? 7 : 0};
        LABEL(w, "planner, many classes, %u of them, set %d", desc.class_count, i);
        snapshot_drop(world_fill(w, &fills[0]));
        run(&t, w, &desc);
        check_plan(&t);
        WORLD_CHECK(w, t.report.moves, "nothing to move");
        done(&t);
        run_again(w, &desc);
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
        run(&t, w, &(clump_compact_desc){.slack = slack});
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
        done(&t);
    }
}

/* So many objects that the slack asks for one slot more than blocks have: it takes another block. */
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
    run(&t, w, &(clump_compact_desc){.slack = 0.5});
    class_plan after = plan_of(t.after, id);
    equal(&t, "blocks", after.blocks, objects / 2 * 3 / capacity + 1);
    free(after.credits);
    done(&t);
}

/* ---- Steps ----------------------------------------------------------------------------------- */

/* Steps until nothing is left, from the snapshot `from`; returns what the heap then holds. */
static snapshot *run_steps(world *w, snapshot *from, const clump_compact_desc *desc,
                           uint64_t full_moves, uint32_t *first_freed) {
    trial t;
    uint64_t moves = 0, left = full_moves;
    snapshot_put(w, from);
    for (uint32_t step = 0; left; step++) {
        run(&t, w, desc);
        WORLD_CHECK(w, t.report.blocks_freed, "step %u frees no block", step);
        WORLD_CHECK(
            w, !desc->max_moves || t.report.moves <= desc->max_moves || t.report.blocks_freed == 1,
            "step %u makes %llu moves for %u blocks", step, (unsigned long long)t.report.moves,
            t.report.blocks_freed);
        moves += t.report.moves;
        equal(&t, "moves left", t.report.moves_left, full_moves - moves);
        left = t.report.moves_left;
        check_references(&t);
        if (step == 0) *first_freed = t.report.blocks_freed;
        done(&t);
    }
    run(&t, w, desc);
    equal(&t, "moves of a step when all is done", t.report.moves, 0);
    equal(&t, "moves of all steps", moves, full_moves);
    snapshot *end = t.after;
    t.after = NULL;
    done(&t);
    return end;
}

static void planner_steps(void **state) {
    static const struct {
        int which;
        uint64_t max_moves;
    } cases[] = {{NARROW, 1}, {NARROW, 300}, {WIDE, 700}, {MIDDLE, 100}, {HUGE_OBJECTS, 90}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        trial t;
        uint32_t freed = 0;
        world *w = enter(cases[i].which);
        LABEL(w, "steps of %llu, %s", (unsigned long long)cases[i].max_moves,
              worlds[cases[i].which].name);
        w->random += i;
        snapshot *start = world_fill(w, &fills[i % 3]);
        run(&t, w, NULL);
        WORLD_CHECK(w, t.report.moves, "nothing to move");
        clump_compact_desc desc = {.max_moves = cases[i].max_moves};
        snapshot *end = run_steps(w, start, &desc, t.report.moves, &freed);
        WORLD_CHECK(w, same_slots(end, t.after), "not the same slots as after one full run");
        if (cases[i].max_moves == 1)
            WORLD_CHECK(w, freed == 1, "a step of one move frees %u blocks", freed);
        snapshot_drop(end);
        snapshot_drop(start);
        done(&t);
    }
}

static void planner_time_steps(void **state) {
    trial t;
    uint32_t freed = 0;
    world *w = world_open(f, graph, 60, 4, seed);
    LABEL(w, "steps of 50 us");
    snapshot *start = world_fill(w, &fills[2]);
    snapshot *end[2];
    for (int i = 0; i < 2; i++) {
        /* How many moves there are in all, without running anything: from the blocks. */
        uint64_t moves = 0;
        for (uint32_t id = 1; id <= w->class_count; id++) {
            class_plan p = plan_of(start, id);
            if (p.slots) {
                uint32_t capacity = w->k[id].capacity;
                moves += plan_moves(&p, (p.objects + capacity - 1) / capacity);
            }
            free(p.credits);
        }
        clump_compact_desc desc = {.max_us = i ? 1e9 : 50};
        end[i] = run_steps(w, start, &desc, moves, &freed);
        if (!i) WORLD_CHECK(w, freed == 1, "the first step frees %u blocks", freed);
    }
    run(&t, w, NULL);
    equal(&t, "moves", t.report.moves, 0);
    WORLD_CHECK(w, same_slots(end[0], end[1]), "not the same slots");
    done(&t);
    snapshot_drop(end[0]);
    snapshot_drop(end[1]);
    snapshot_drop(start);
    world_close(w);
}

/* Times are 0 then, and steps are paced by the clock. */
static void queue_without_profiling(void **state) {
    cl_fixture plain = *f;
    cl_int code;
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wdeprecated-declarations" /* OpenCL 1.2 has no other */
    plain.queue = clCreateCommandQueue(f->context, f->device, 0, &code);
#pragma GCC diagnostic pop
    CHECK_CL(code);
    clump_context_desc desc = {.context = plain.context,
                               .device = plain.device,
                               .queue = plain.queue,
                               .personality = f->capabilities->personality};
    clump_error error;
    if (clump_context_create(&desc, &plain.clump, &error)) fail_msg("%s", error.message);
    world *w = world_open(&plain, graph, 60, 4, seed);
    for (int i = 0; i < 3; i++) {
        const clump_compact_desc how[] = {{0}, {.max_us = 200}, merging};
        clump_compact_report report;
        graph_rules rules = {.passes = 1};
        graph_counts counts;
        LABEL(w, "queue without profiling, %d", i);
        snapshot *before = world_fill(w, &fills[1]);
        do {
            CHECK_OK(&plain, clump_compact(w->heap, &how[i], &report, NULL));
            WORLD_CHECK(w, report.moves && report.launches && report.total_us == 0,
                        "%llu moves, %u launches, %g us", (unsigned long long)report.moves,
                        report.launches, report.total_us);
        } while (report.moves_left);
        CHECK_HEAP(&plain, w->heap);
        snapshot *after = snapshot_take(w);
        same_graph(before, after, &rules, &counts);
        WORLD_CHECK(w, counts.moved, "nothing has moved");
        snapshot_drop(before);
        snapshot_drop(after);
    }
    world_close(w);
    clump_context_destroy(plain.clump);
    clReleaseCommandQueue(plain.queue);
}

/* ---- Orders ---------------------------------------------------------------------------------- */

/* The objects of a class now stand in the order of their keys, and with equal keys as before. keys:
 * by number before; NULL: none. */
static void check_order(const trial *t, uint32_t id, const uint32_t *keys) {
    const world *w = t->w;
    uint32_t *number = calloc(t->before->count + 2, sizeof *number), last = 0;
    assert_non_null(number);
    for (uint32_t n = t->before->start[id]; n < t->before->start[id + 1]; n++)
        number[tag_of(t->before, n)] = n;
    for (uint32_t n = t->after->start[id]; n < t->after->start[id + 1]; n++) {
        uint32_t was = number[tag_of(t->after, n)];
        if (n > t->after->start[id]) {
            uint32_t a = keys ? keys[last] : 0, b = keys ? keys[was] : 0;
            WORLD_CHECK(w, a < b || (a == b && last < was),
                        "class %s: object %u with key %08x stands in front of %u with %08x",
                        w->classes[id].name, last, a, was, b);
        }
        last = was;
    }
    free(number);
}

/* Dense, in blocks that were free; all objects moved. `single`: one class took part. */
static void check_dense(const trial *t, int single) {
    const world *w = t->w;
    uint64_t objects = 0;
    for (uint32_t id = 1; id <= w->class_count; id++) {
        if (!t->part[id] || !w->k[id].rows) continue;
        class_plan b = plan_of(t->after, id);
        uint32_t capacity = w->k[id].capacity;
        objects += b.objects;
        WORLD_CHECK(w, b.open <= 1 && b.blocks == (b.objects + capacity - 1) / capacity,
                    "class %s has %u blocks, %u not full", w->classes[id].name, b.blocks, b.open);
        free(b.credits);
        for (uint32_t n = t->after->start[id]; n < t->after->start[id + 1] && single; n++) {
            uint32_t block = block_of(w, t->after->refs[n]);
            WORLD_CHECK(w, !block_class(w, t->before->image, block), "block %u was not free",
                        block);
        }
    }
    equal(t, "moves", t->report.moves, objects);
    if (single) check_references(t);
}

static const fill half = {.used = 45, .low = 0, .high = 100, .full = 10, .dangling = 4};

static void order_address(void **state) {
    static const int in[] = {NARROW, WIDE, HUGE_OBJECTS, MANY_BLOCKS, MANY_CLASSES};
    for (int i = 0; i < 5; i++) {
        trial t;
        world *w = enter(in[i]);
        LABEL(w, "order of addresses, %s", worlds[in[i]].name);
        snapshot_drop(world_fill(w, &half));
        run(&t, w, &(clump_compact_desc){.order = CLUMP_ORDER_ADDRESS});
        check_dense(&t, 0);
        for (uint32_t id = 1; id <= w->class_count; id++)
            if (w->tag[id] >= 0) check_order(&t, id, NULL);
        done(&t);
    }
}

/* One class alone, by one of its fields. */
static void order_by(int which, const char *class_name, const char *field, int null_dangling) {
    trial t;
    world *w = enter(which);
    LABEL(w, "%s, %s in order of %s", worlds[which].name, class_name, field);
    const clump_field_info *info = &w->fields[find_field(w, class_name, field)];
    snapshot *start = world_fill(w, &half);
    uint32_t id = cl_fixture_class_id(w->heap, class_name);
    /* Few keys, so that many are equal. */
    for (uint32_t n = start->start[id]; n < start->start[id + 1]; n++) {
        if (info->type == CLUMP_TYPE_UINT)
            put_word(start, start->refs[n], info, 0, test_hash(n) % 5 * 0x33333333u);
        else if (n % 3 == 0 && start->start[info->ref_class] < start->count)
            put_word(start, start->refs[n], info, 0, start->refs[start->start[info->ref_class]]);
    }
    snapshot_put(w, start);
    snapshot_drop(start);
    clump_compact_desc desc = {.classes = &class_name,
                               .class_count = 1,
                               .order = CLUMP_ORDER_FIELD,
                               .order_field = field,
                               .null_dangling = null_dangling};
    run(&t, w, &desc);
    check_dense(&t, w->classes[id].last == id);
    uint32_t *keys = calloc(t.before->count + 1, sizeof *keys);
    assert_non_null(keys);
    for (uint32_t n = t.before->start[id]; n < t.before->start[id + 1]; n++)
        keys[n] = word_at(t.before, t.before->refs[n], info, 0);
    if (w->classes[id].last == id && (info->type == CLUMP_TYPE_UINT || !null_dangling))
        check_order(&t, id, keys);
    free(keys);
    done(&t);
}

static void order_field(void **state) {
    order_by(NARROW, "Plain", "key", 0);
    order_by(WIDE, "Plain", "key", 1);
    order_by(NARROW, "Plain", "leaf", 0); /* a reference to another class, inherited */
    order_by(MIDDLE, "Dot", "t", 0);      /* in a struct */
    order_by(MIDDLE, "Dot", "d", 0);      /* to its own class, whose objects move as well */
    order_by(HUGE_OBJECTS, "Huge", "p", 0);
    order_by(MANY_BLOCKS, "Only", "next", 0);
    order_by(NARROW, "Node", "next", 1); /* with a subclass, one after the other */
}

/* ---- Merging --------------------------------------------------------------------------------- */

/* Passes that remove all but k1 of d candidates, at most (ISMM 3.6), with a little room for what
 * is left when groups do not come out even. */
static double most_passes(uint32_t d, uint32_t k1, uint32_t n) {
    if (d <= k1 || d < 2) return 0;
    return ceil(log((double)d / (k1 ? k1 : 1)) / log((n + 1.0) / n)) + 2;
}

static int more_passes; /* 1: any number of passes will do */

static void check_merge(const trial *t) {
    const world *w = t->w;
    uint32_t n = t->desc.merge->factor, k1 = t->desc.merge->retain;
    double passes = 0;
    uint64_t bytes_least = UINT64_MAX, bytes_most = 0;
    for (uint32_t id = 1; id <= w->class_count; id++) {
        if (!t->part[id] || !w->k[id].rows) continue;
        class_plan a = plan_of(t->before, id), b = plan_of(t->after, id);
        uint32_t d = plan_candidates(&a, w->k[id].capacity, n);
        uint32_t left = plan_candidates(&b, w->k[id].capacity, n);
        WORLD_CHECK(w, left <= k1 + n, "class %s: %u of %u candidates are left",
                    w->classes[id].name, left, d);
        WORLD_CHECK(w, a.blocks - b.blocks <= (d > k1 ? d - k1 : 0),
                    "class %s had %u candidates and lost %u blocks", w->classes[id].name, d,
                    a.blocks - b.blocks);
        passes += most_passes(d, k1, n);
        if (w->classes[id].object_bytes < bytes_least) bytes_least = w->classes[id].object_bytes;
        if (w->classes[id].object_bytes > bytes_most) bytes_most = w->classes[id].object_bytes;
        free(a.credits);
        free(b.credits);
    }
    for (uint32_t b = w->h->first_block; b < w->h->block_end; b++) {
        uint32_t was = block_class(w, t->before->image, b), is = block_class(w, t->after->image, b);
        WORLD_CHECK(w, is == was || !is, "block %u was opened", b);
    }
    const clump_compact_report *r = &t->report;
    WORLD_CHECK(w, more_passes || r->passes <= passes, "%u passes, at most %g expected", r->passes,
                passes);
    WORLD_CHECK(w,
                r->moves >= t->counts.moved && (r->moves != 0) == (r->passes != 0) &&
                    (r->blocks_freed != 0) == (r->passes != 0),
                "%llu moves, %llu objects moved, "
                "%u passes, %u blocks freed",
                (unsigned long long)r->moves, (unsigned long long)t->counts.moved, r->passes,
                r->blocks_freed);
    WORLD_CHECK(w,
                r->bytes_moved >= r->moves * bytes_least && r->bytes_moved <= r->moves * bytes_most,
                "%llu moves of %llu bytes", (unsigned long long)r->moves,
                (unsigned long long)r->bytes_moved);
    WORLD_CHECK(w,
                r->refs_rewritten >= t->counts.rewritten && r->refs_examined >= r->refs_rewritten,
                "%llu references rewritten, expected at least %llu",
                (unsigned long long)r->refs_rewritten, (unsigned long long)t->counts.rewritten);
    if (t->desc.null_dangling && r->passes)
        equal(t, "references dangling", r->refs_dangling, t->counts.dangling);
}

static void merge_in(int which, uint32_t n, uint32_t retain, size_t fill_number,
                     clump_merge_rewrite rewrite) {
    trial t;
    world *w = enter(which);
    clump_merge_desc merge = {.factor = n, .retain = retain, .rewrite = rewrite};
    clump_compact_desc desc = {.merge = &merge, .null_dangling = fill_number == 2};
    w->random += n + fill_number * 7919;
    LABEL(w, "merge, %s, n = %u, k1 = %u, rewrite %d, fill %zu", worlds[which].name, n, retain,
          (int)rewrite, fill_number);
    snapshot_drop(world_fill(w, &fills[fill_number]));
    run(&t, w, &desc);
    check_merge(&t);
    done(&t);
    run_again(w, &desc);
}

static void merge_all(clump_merge_rewrite rewrite) {
    static const uint32_t factors[] = {1, 2, 5};
    for (int i = 0; i < 3; i++) {
        merge_in(NARROW, factors[i], 0, (size_t)i, rewrite);
        merge_in(NARROW, factors[i], 3, 1, rewrite);
        merge_in(NARROW, factors[i], 8, 0, rewrite);
        merge_in(WIDE, factors[i], 0, (size_t)i, rewrite);
        merge_in(HUGE_OBJECTS, factors[i], 0, 1, rewrite);
        merge_in(MANY_BLOCKS, factors[i], i == 1 ? 16 : 0, (size_t)i, rewrite);
    }
    merge_in(MANY_CLASSES, 1, 0, 1, rewrite);
    merge_in(NARROW, 63, 0, 0, rewrite); /* capacity - 1: every block that is not full */
    merge_in(NARROW, 1, 0, 4, rewrite);
    merge_in(NARROW, 1, 0, 5, rewrite);
    merge_in(NARROW, 1, 0, 7, rewrite);
    merge_in(ONE_BLOCK, 1, 0, 0, rewrite);
}

static void merge_forward(void **state) {
    merge_all(CLUMP_REWRITE_FORWARD);
}

static void merge_recompute_global(void **state) {
    merge_all(CLUMP_REWRITE_RECOMPUTE_GLOBAL);
}

static void merge_recompute_shared(void **state) {
    merge_all(CLUMP_REWRITE_RECOMPUTE_SHARED);
}

/* One pass a call does in the end what one call does. */
static void merge_passes(void **state) {
    for (int i = 0; i < 6; i++) {
        trial t, step;
        world *w = enter(i % 2 ? NARROW : WIDE);
        clump_merge_desc merge = {.factor = i < 2 ? 1 : 3, .rewrite = (clump_merge_rewrite)(i / 2)};
        clump_compact_desc desc = {.merge = &merge};
        LABEL(w, "merge pass by pass, n = %u, rewrite %d", merge.factor, (int)merge.rewrite);
        w->random += (uint64_t)i;
        snapshot *start = world_fill(w, &(fill){.used = 100, .low = 0, .high = 60, .full = 5});
        run(&t, w, &desc);
        check_merge(&t);
        snapshot_put(w, start);
        snapshot_drop(start);
        uint64_t moves = 0;
        uint32_t passes = 0, freed = 0;
        merge.max_passes = 1;
        do {
            run(&step, w, &desc);
            WORLD_CHECK(w, step.report.passes <= 1, "%u passes", step.report.passes);
            check_references(&step);
            moves += step.report.moves;
            passes += step.report.passes;
            freed += step.report.blocks_freed;
            if (step.report.passes) done(&step);
        } while (step.report.passes);
        equal(&t, "moves of all passes", moves, t.report.moves);
        equal(&t, "passes", passes, t.report.passes);
        equal(&t, "blocks freed", freed, t.report.blocks_freed);
        WORLD_CHECK(w, same_slots(step.after, t.after), "not the slots of one call");
        done(&step);
        done(&t);
    }
}

/* Records of few sources fit in local memory: more passes, but the same in the end. */
static void merge_few_records(void **state) {
    trial t;
    world *w = enter(NARROW);
    clump_merge_desc merge = {.factor = 1};
    clump_compact_desc desc = {.merge = &merge};
    LABEL(w, "merge, all records");
    snapshot *start = world_fill(w, &fills[1]);
    run(&t, w, &desc);
    check_merge(&t);
    uint32_t passes = t.report.passes;
    done(&t);
    for (int i = 0; i < 2; i++) {
        LABEL(w, "merge, few records, n = %d", i + 1);
        snapshot_put(w, start);
        merge.factor = (uint32_t)i + 1;
        merge.rewrite = CLUMP_REWRITE_RECOMPUTE_SHARED;
        run(&t, w, &desc);
        more_passes = 1;
        check_merge(&t);
        more_passes = 0;
        WORLD_CHECK(w, t.report.passes > passes, "%u passes, and %u with all records",
                    t.report.passes, passes);
        done(&t);
        run_again(w, &desc);
    }
    merge.factor = 60;
    CHECK_STATUS(f, clump_compact(w->heap, &desc, NULL, NULL), CLUMP_ERR_USAGE);
    assert_non_null(strstr(clump_context_get_error(f->clump)->message, "local memory"));
    snapshot_drop(start);
}

/* Subsets of classes, and n = 1: F is less than a half in all but one block. */
static void merge_subset(void **state) {
    static const char *const names[] = {"Mid", "Tiny"};
    trial t;
    world *w = enter(NARROW);
    clump_compact_desc desc = {
        .classes = names, .class_count = 2, .merge = &(clump_merge_desc){.factor = 1}};
    LABEL(w, "merge, subset");
    snapshot_drop(world_fill(w, &fills[1]));
    run(&t, w, &desc);
    check_merge(&t);
    done(&t);
}

/* ---- References outside ---------------------------------------------------------------------- */

#define OUTSIDE 3000u

/* A buffer of words, some of which are references. */
typedef struct outside {
    uint32_t offset, stride, count; /* in words */
    int null_dangling;
    uint32_t words;
    uint32_t *before, *after;
    cl_mem buffer;
    clump_refs *refs;
} outside;

static void outside_open(outside *o, world *w, const snapshot *s) {
    o->words = o->offset + (o->count - 1) * (o->stride ? o->stride : 1) + 1;
    o->before = malloc(o->words * sizeof *o->before);
    o->after = malloc(o->words * sizeof *o->after);
    assert_true(o->before && o->after);
    for (uint32_t i = 0; i < o->words; i++) { /* also what is between them could be references */
        uint32_t kind = draw(w, 10);
        o->before[i] = kind < 2 ? random_bits(w, s) : kind < 3 ? 0 : s->refs[draw(w, s->count)];
    }
    o->buffer = cl_fixture_buffer(f, o->before, o->words * sizeof *o->before);
    clump_refs_desc desc = {.buffer = o->buffer,
                            .offset = o->offset * 4u,
                            .stride = o->stride * 4u,
                            .count = o->count,
                            .null_dangling = o->null_dangling};
    CHECK_OK(f, clump_refs_register(w->heap, &desc, &o->refs));
}

static void outside_close(outside *o) {
    clump_refs_unregister(o->refs);
    clReleaseMemObject(o->buffer);
    free(o->before);
    free(o->after);
}

/* Untagged objects that nobody refers to have no known place: then any live one will do. */
static int is_new_place(const trial *t, const clump_ref *to, clump_ref old, clump_ref now) {
    clump_ref expected = to[number_of(t->before, old)];
    return expected ? now == expected : live_class(t->after, now) == live_class(t->before, old);
}

/* Adds to the counts of references outside; known: nothing but null_dangling depends on it. */
static void outside_check(const trial *t, outside *o, const clump_ref *to, graph_counts *c) {
    cl_fixture_read(f, o->buffer, o->after, o->words * sizeof *o->after);
    uint32_t stride = o->stride ? o->stride : 1;
    for (uint32_t i = 0; i < o->words; i++) {
        clump_ref old = o->before[i], now = o->after[i];
        if (i < o->offset || (i - o->offset) % stride || !old) {
            WORLD_CHECK(t->w, now == old, "word %u of stride %u, %08x, became %08x", i, stride, old,
                        now);
            continue;
        }
        c->examined++;
        if (live_class(t->before, old)) {
            WORLD_CHECK(t->w, is_new_place(t, to, old, now), "word %u, %08x, became %08x", i, old,
                        now);
            c->rewritten += now != old;
        } else {
            clump_ref expected = o->null_dangling ? 0 : old;
            WORLD_CHECK(t->w, now == expected, "word %u dangled (%08x) and became %08x, not %08x",
                        i, old, now, expected);
            c->dangling++;
        }
        o->before[i] = now;
    }
}

static void check_outside_counts(const trial *t, const graph_counts *c) {
    equal(t, "outside references examined", t->report.outside_examined, c->examined);
    equal(t, "outside references rewritten", t->report.outside_rewritten, c->rewritten);
    equal(t, "outside references dangling", t->report.outside_dangling, c->dangling);
}

static void outside_with(int which, const clump_compact_desc *desc, const fill *how) {
    world *w = enter(which);
    outside all[] = {
        {.offset = 0, .stride = 0, .count = OUTSIDE},
        {.offset = 2, .stride = 3, .count = OUTSIDE, .null_dangling = 1},
        {.offset = 1, .stride = 1, .count = 1},
        {.offset = 7, .stride = 100, .count = 90},
        {.offset = 0, .stride = 1, .count = OUTSIDE, .null_dangling = 1},
    };
    enum { ALL = sizeof all / sizeof *all };
    LABEL(w, "references outside, %s, order %d, %u classes", worlds[which].name, (int)desc->order,
          desc->class_count);
    snapshot *start = world_fill(w, how);
    for (int i = 0; i < ALL; i++) outside_open(&all[i], w, start);
    snapshot_drop(start);
    /* The one that is given up again must be left alone. */
    outside gone = {.count = 100};
    snapshot *now = snapshot_take(w);
    outside_open(&gone, w, now);
    snapshot_drop(now);
    clump_refs_unregister(gone.refs);
    gone.refs = NULL;
    for (int round = 0; round < 2; round++) {
        trial t;
        graph_counts c = {0};
        run(&t, w, desc);
        WORLD_CHECK(w, round || t.report.moves, "nothing has moved");
        clump_ref *to = find_moves(t.before, t.after);
        for (int i = 0; i < ALL; i++) outside_check(&t, &all[i], to, &c);
        if (t.report.passes == 1) check_outside_counts(&t, &c);
        free(to);
        done(&t);
    }
    cl_fixture_read(f, gone.buffer, gone.after, gone.words * sizeof *gone.after);
    assert_memory_equal(gone.before, gone.after, gone.words * sizeof *gone.after);
    outside_close(&gone);
    for (int i = 0; i < ALL; i++) outside_close(&all[i]);
}

static void outside_buffers(void **state) {
    static const char *const some[] = {"Mid", "Dot"};
    outside_with(NARROW, &(clump_compact_desc){0}, &fills[0]);
    outside_with(WIDE, &(clump_compact_desc){0}, &fills[1]);
    outside_with(NARROW, &(clump_compact_desc){.classes = some, .class_count = 2}, &fills[0]);
    outside_with(NARROW, &(clump_compact_desc){.order = CLUMP_ORDER_ADDRESS}, &half);
}

/* Several passes: dangling references may come to name objects, so there are none here. */
static void outside_buffers_merge(void **state) {
    world *w = enter(NARROW);
    for (int rewrite = 0; rewrite < 3; rewrite++) {
        trial t;
        w->random += 1;
        LABEL(w, "references outside, merge, rewrite %d", rewrite);
        snapshot *start = world_fill(w, &fills[1]);
        clump_ref *refs = malloc(2 * start->count * sizeof *refs), *now = refs + start->count;
        memcpy(refs, start->refs, start->count * sizeof *refs);
        cl_mem buffer = cl_fixture_buffer(f, refs, start->count * sizeof *refs);
        clump_refs *registered;
        clump_refs_desc desc = {.buffer = buffer, .count = start->count};
        CHECK_OK(f, clump_refs_register(w->heap, &desc, &registered));
        run(&t, w,
            &(clump_compact_desc){.merge = &(clump_merge_desc){
                                      .factor = 2, .rewrite = (clump_merge_rewrite)rewrite}});
        WORLD_CHECK(w, t.report.passes > 1, "%u passes", t.report.passes);
        clump_ref *to = find_moves(t.before, t.after);
        cl_fixture_read(f, buffer, now, start->count * sizeof *now);
        for (uint32_t n = 0; n < start->count; n++)
            WORLD_CHECK(w, is_new_place(&t, to, refs[n], now[n]), "%08x became %08x", refs[n],
                        now[n]);
        equal(&t, "outside references dangling", t.report.outside_dangling, 0);
        clump_refs_unregister(registered);
        clReleaseMemObject(buffer);
        free(refs);
        free(to);
        snapshot_drop(start);
        done(&t);
    }
}

#define HANDLES 700u

/* Handles follow their objects; those of objects that were freed become null, also if the slot has
 * a new owner by then. */
static void handles(void **state) {
    trial t;
    world *w = enter(NARROW);
    LABEL(w, "handles");
    snapshot *start = world_fill(w, &fills[2]);
    static clump_handle handle[HANDLES];
    static clump_ref was[HANDLES];
    clump_ref ref;
    for (uint32_t i = 0; i < HANDLES; i++) {
        was[i] = start->refs[draw(w, start->count)];
        CHECK_OK(f, clump_handle_create(w->heap, was[i], &handle[i]));
        assert_int_not_equal(handle[i], 0);
        for (uint32_t j = 0; j < i; j++) assert_int_not_equal(handle[i], handle[j]);
    }
    for (uint32_t i = 0; i < HANDLES; i++) {
        CHECK_OK(f, clump_handle_read(w->heap, handle[i], &ref));
        assert_int_equal(ref, was[i]);
    }
    /* A part is given up, and another part loses its objects. */
    for (uint32_t i = 0; i < HANDLES; i += 7) CHECK_OK(f, clump_handle_destroy(w->heap, handle[i]));
    for (uint32_t i = 1; i < HANDLES; i += 7)
        if (live_class(start, was[i])) put_free(w, start->image, was[i]);
    put_hints(w, start->image);
    decode(start);
    for (uint32_t n = 0; n < start->count; n++) /* tags have gaps now */
        if (w->tag[start->class_id[n]] >= 0)
            put_word(start, start->refs[n], &w->fields[w->tag[start->class_id[n]]], 0, n + 1);
    snapshot_put(w, start);
    CHECK_HEAP(f, w->heap);
    run(&t, w, NULL);
    WORLD_CHECK(w, t.report.moves, "nothing has moved");
    clump_ref *to = find_moves(t.before, t.after);
    graph_counts c = {0};
    for (uint32_t i = 0; i < HANDLES; i++) {
        if (i % 7 == 0) continue;
        CHECK_OK(f, clump_handle_read(w->heap, handle[i], &ref));
        c.examined++;
        if (!live_class(t.before, was[i])) {
            WORLD_CHECK(w, !ref, "handle %u of a freed object gives %08x", i, ref);
            c.dangling++;
        } else {
            WORLD_CHECK(w, is_new_place(&t, to, was[i], ref), "handle %u: %08x became %08x", i,
                        was[i], ref);
            c.rewritten += ref != was[i];
        }
    }
    check_outside_counts(&t, &c);
    WORLD_CHECK(w, c.dangling >= 80, "only %llu are dead", (unsigned long long)c.dangling);
    /* Numbers that were given up are refused, and can be given out again. */
    CHECK_STATUS(f, clump_handle_read(w->heap, handle[0], &ref), CLUMP_ERR_USAGE);
    clump_handle fresh;
    CHECK_OK(f, clump_handle_create(w->heap, t.after->refs[0], &fresh));
    CHECK_OK(f, clump_handle_read(w->heap, fresh, &ref));
    assert_int_equal(ref, t.after->refs[0]);
    CHECK_OK(f, clump_handle_destroy(w->heap, fresh));
    for (uint32_t i = 0; i < HANDLES; i++)
        if (i % 7) CHECK_OK(f, clump_handle_destroy(w->heap, handle[i]));
    free(to);
    snapshot_drop(start);
    done(&t);
    /* With none left there is nothing outside. */
    run(&t, w, NULL);
    check_outside_counts(&t, &(graph_counts){0});
    done(&t);
}

/* Registered buffers and handles that a heap takes with it. */
static void destroyed_with_heap(void **state) {
    world *w = world_open(f, graph, 60, 4, seed);
    outside o = {.count = 10};
    clump_handle handle;
    snapshot *start = world_fill(w, &fills[0]);
    outside_open(&o, w, start);
    CHECK_OK(f, clump_handle_create(w->heap, start->refs[0], &handle));
    snapshot_drop(start);
    world_close(w);
    o.refs = NULL;
    outside_close(&o);
}

/* ---- Among kernels --------------------------------------------------------------------------- */

static const char shapes[] =
    "abstract class Shape { uint tag; ref Shape next; }\n"
    "class Dot : Shape { uint x; }\n"
    "class Box : Shape { ulong y; ref Dot dot; uchar small; }\n"
    "class Mote { uchar v; }\n";

static const char source[] =
    "__kernel void make(CLUMP_HEAP, uint base) {\n"
    "    CLUMP_FOR_EACH_NEW(Shape, self, i) {\n"
    "        Shape_tag(self) = base + i;\n"
    "        Shape_next(self) = Shape_null;\n"
    "        Dot d = Shape_as_Dot(self);\n"
    "        Box b = Shape_as_Box(self);\n"
    "        if (d.id) Dot_x(d) = 3u * i;\n"
    "        if (b.id) { Box_y(b) = (ulong)i << 33; Box_dot(b) = Dot_null; Box_small(b) = i; }\n"
    "    }\n"
    "}\n"
    "__kernel void drop(CLUMP_HEAP, uint keep) {\n"
    "    CLUMP_FOR_EACH(Shape, self) if (Shape_tag(self) % keep) Shape_free(self);\n"
    "}\n"
    "__kernel void clear(CLUMP_HEAP) { CLUMP_FOR_EACH(Shape, self) Shape_free(self); }\n"
    "__kernel void place(CLUMP_HEAP_FIXED, __global uint *places) {\n"
    "    CLUMP_FOR_EACH(Shape, self) places[Shape_tag(self)] = self.id;\n"
    "}\n"
    "__kernel void link(CLUMP_HEAP_FIXED, __global const uint *places, uint n, uint keep) {\n"
    "    CLUMP_FOR_EACH(Shape, self) {\n"
    "        Shape next = {places[Shape_tag(self) * 7u % (n / keep) * keep]};\n"
    "        Shape_next(self) = next;\n"
    "        Box b = Shape_as_Box(self);\n"
    "        if (b.id) Box_dot(b) = Shape_as_Dot(next);\n"
    "    }\n"
    "}\n"
    "__kernel void bump(CLUMP_HEAP_FIXED) {\n"
    "    CLUMP_FOR_EACH(Dot, self) Dot_x(self) += 1u;\n"
    "}\n"
    "__kernel void chase(CLUMP_HEAP_FIXED, __global uint *out) {\n"
    "    CLUMP_FOR_EACH(Shape, self) {\n"
    "        Shape next = Shape_next(self);\n"
    "        uint sum = next.id ? 1u + Shape_tag(next) * 5u : 0u;\n"
    "        Dot d = Shape_as_Dot(self);\n"
    "        Box b = Shape_as_Box(self);\n"
    "        if (d.id) sum += Dot_x(d) * 77u;\n"
    "        if (b.id) sum += Box_small(b) + (uint)(Box_y(b) >> 33) * 9u;\n"
    "        if (b.id && Box_dot(b).id) sum += Dot_tag(Box_dot(b)) * 31u;\n"
    "        out[Shape_tag(self)] = sum;\n"
    "    }\n"
    "}\n"
    "__kernel void spawn(CLUMP_HEAP, uint n, uint base) {\n"
    "    if (get_global_id(0) >= n) return;\n"
    "    Dot d = Dot_new();\n"
    "    if (!d.id) return;\n"
    "    Dot_tag(d) = base + (uint)get_global_id(0);\n"
    "    Dot_next(d) = Shape_null;\n"
    "    Dot_x(d) = 0;\n"
    "}\n"
    "__kernel void spawn_box(CLUMP_HEAP, uint n, uint base) {\n"
    "    if (get_global_id(0) >= n) return;\n"
    "    Box b = Box_new();\n"
    "    if (!b.id) return;\n"
    "    Box_tag(b) = base + (uint)get_global_id(0);\n"
    "    Box_next(b) = Shape_null;\n"
    "    Box_dot(b) = Dot_null;\n"
    "}\n"
    "__kernel void total(CLUMP_HEAP_FIXED) {\n"
    "    uint n = 0;\n"
    "    CLUMP_FOR_EACH(Shape, self) n += Shape_tag(self);\n"
    "    CLUMP_REDUCE(uint, n, CLUMP_SUM);\n"
    "}\n"
    "__kernel void misuse(CLUMP_HEAP, __global const uint *places, uint n) {\n"
    "    if (get_global_id(0)) return;\n"
    "    Shape s = {places[n]};\n"
    "    Shape_free(s);\n"
    "    Shape_free(s);\n"
    "}\n"
    "__kernel void keys(CLUMP_HEAP_FIXED, __global uint *keys, uint modulus) {\n"
    "    CLUMP_FOR_EACH_NUMBERED(Shape, self, number)\n"
    "        keys[number] = Shape_tag(self) * 2654435761u % modulus;\n"
    "}\n";

#define KERNELS(X)                                                                                 \
    X(make)                                                                                        \
    X(drop)                                                                                        \
    X(clear) X(place) X(link) X(bump) X(chase) X(spawn) X(spawn_box) X(total) X(misuse) X(keys)
#define DOTS 6000u
#define BOXES 3000u
#define SHAPES (DOTS + BOXES)
#define KEEP 5u /* one of so many survives */

static struct {
    world *w;
    clump_heap *heap; /* its heap */
    clump_program *program;
#define KERNEL_MEMBER(name) clump_kernel *name;
    KERNELS(KERNEL_MEMBER)
#undef KERNEL_MEMBER
    cl_mem places, out;
    uint32_t before[SHAPES], after[SHAPES];
} k;

static void kernels_open(void) {
    if (k.heap) return;
    k.w = world_open(f, shapes, 150, 2, seed);
    k.heap = k.w->heap;
    k.program = cl_fixture_program(f, k.heap, source, NULL, NULL);
#define KERNEL_OPEN(name) k.name = cl_fixture_kernel(f, k.program, #name);
    KERNELS(KERNEL_OPEN)
#undef KERNEL_OPEN
    k.places = cl_fixture_buffer(f, NULL, SHAPES * 4);
    k.out = cl_fixture_buffer(f, NULL, SHAPES * 4);
    uint32_t n = SHAPES, keep = KEEP;
    SET_ARG(f, k.drop, 0, keep);
    SET_ARG(f, k.place, 0, k.places);
    SET_ARG(f, k.link, 0, k.places);
    SET_ARG(f, k.link, 1, n);
    SET_ARG(f, k.link, 2, keep);
    SET_ARG(f, k.chase, 0, k.out);
    SET_ARG(f, k.misuse, 0, k.places);
}

static void kernels_close(void) {
    if (!k.heap) return;
#define KERNEL_CLOSE(name) clump_kernel_destroy(k.name);
    KERNELS(KERNEL_CLOSE)
#undef KERNEL_CLOSE
    clump_program_destroy(k.program);
    clReleaseMemObject(k.places);
    clReleaseMemObject(k.out);
    world_close(k.w);
    memset(&k, 0, sizeof k);
}

/* Objects, most of which are freed again; the rest refer to each other. */
static void populate(void) {
    uint32_t base = 0;
    kernels_open();
    CHECK_OK(f, clump_do_all(k.heap, k.clear, NULL));
    SET_ARG(f, k.make, 0, base);
    CHECK_OK(f, clump_do_new(k.heap, "Dot", DOTS, k.make, NULL, NULL));
    base = DOTS;
    SET_ARG(f, k.make, 0, base);
    CHECK_OK(f, clump_do_new(k.heap, "Box", BOXES, k.make, NULL, NULL));
    CHECK_OK(f, clump_do_all(k.heap, k.drop, NULL));
    CHECK_OK(f, clump_do_all(k.heap, k.place, NULL));
    CHECK_OK(f, clump_do_all(k.heap, k.link, NULL));
    CHECK_HEAP(f, k.heap);
}

/* A checksum of every object, by tag. */
static void look(uint32_t *sums) {
    CHECK_OK(f, clump_do_all(k.heap, k.chase, NULL));
    cl_fixture_read(f, k.out, sums, SHAPES * 4);
}

static void same_sums(uint32_t bumps) {
    look(k.after);
    for (uint32_t i = 0; i < SHAPES; i += KEEP)
        assert_int_equal(k.after[i], k.before[i] + (i < DOTS ? 77 * bumps : 0));
}

/* The list of objects is valid when compaction begins, and made anew by the next do-all. */
static void do_all_after(void **state) {
    for (int i = 0; i < 2; i++) {
        populate();
        look(k.before);
        CHECK_OK(f, clump_compact(k.heap, i ? &merging : NULL, NULL, NULL));
        same_sums(0);
        CHECK_HEAP(f, k.heap);
        uint32_t sum = 0, expected = 0;
        for (uint32_t tag = 0; tag < SHAPES; tag += KEEP) expected += tag;
        CHECK_OK(f, clump_compact(k.heap, i ? &merging : NULL, NULL, NULL));
        CHECK_OK(f, clump_reduce(k.heap, k.total, &sum, sizeof sum, NULL));
        assert_int_equal(sum, expected);
        clump_class_stats stats[4];
        CHECK_OK(f, clump_heap_calc_stats(k.heap, NULL, stats, 4));
        assert_int_equal(stats[cl_fixture_class_id(k.heap, "Dot") - 1].objects, DOTS / KEEP);
        uint32_t capacity = cl_fixture_capacity(k.heap, "Dot");
        if (!i)
            assert_int_equal(stats[cl_fixture_class_id(k.heap, "Dot") - 1].blocks,
                             (DOTS / KEEP + capacity - 1) / capacity);
    }
}

/* Every slot and every block that compaction made free can be had, and not one more. */
static void allocation_after(void **state) {
    for (int i = 0; i < 2; i++) {
        populate();
        look(k.before);
        clump_compact_report report;
        CHECK_OK(f, clump_compact(k.heap, i ? &merging : NULL, &report, NULL));
        assert_true(report.moves > 0 && report.blocks_freed > 0);
        uint32_t base = SHAPES, n;
        uint64_t made, room = cl_fixture_free_slots(f, k.heap, "Dot") / 2;
        SET_ARG(f, k.make, 0, base);
        CHECK_OK(f, clump_do_new(k.heap, "Dot", room, k.make, &made, NULL));
        assert_int_equal(made, room);
        CHECK_HEAP(f, k.heap);
        CHECK_OK(f, clump_compact(k.heap, i ? &merging : NULL, NULL, NULL));
        base += (uint32_t)room;
        n = (uint32_t)cl_fixture_free_slots(f, k.heap, "Dot");
        assert_true(n > 0);
        SET_ARG(f, k.spawn, 0, n);
        SET_ARG(f, k.spawn, 1, base);
        CHECK_OK(f, clump_launch(k.heap, k.spawn, (n + 63) / 64 * 64, 64, NULL));
        CHECK_HEAP(f, k.heap);
        assert_int_equal(cl_fixture_free_slots(f, k.heap, "Dot"), 0);
        CHECK_OK(f, clump_launch(k.heap, k.spawn, 64, 64, NULL));
        clump_device_report errors;
        CHECK_STATUS(f, clump_heap_fetch_errors(k.heap, &errors), CLUMP_ERR_DEVICE);
        assert_int_equal(errors.errors[CLUMP_DEVICE_OUT_OF_MEMORY].count, 64);
        /* Full: nothing to move, nothing lost. */
        CHECK_OK(f, clump_compact(k.heap, NULL, &report, NULL));
        CHECK_HEAP(f, k.heap);
        uint64_t count;
        CHECK_OK(f, clump_heap_calc_count(k.heap, "Shape", &count));
        assert_int_equal(count, SHAPES / KEEP + room + n);
        base = SHAPES; /* away with the new ones, whose tags are too large to look at */
        uint32_t *tags = malloc(count * sizeof *tags);
        CHECK_OK(f, clump_heap_read_field(k.heap, "Shape", "tag", 0, tags, count));
        uint8_t *seen = calloc(base + room + n, 1);
        for (uint64_t j = 0; j < count; j++) {
            assert_true(tags[j] < base + room + n && !seen[tags[j]]);
            seen[tags[j]] = 1;
            if (tags[j] >= base) tags[j] = 1; /* not a multiple */
        }
        CHECK_OK(f, clump_heap_write_field(k.heap, "Shape", "tag", 0, tags, count));
        CHECK_OK(f, clump_do_all(k.heap, k.drop, NULL));
        free(tags);
        free(seen);
        same_sums(0);
        CHECK_HEAP(f, k.heap);
    }
}

/* No block was free, allocations of another class were refused; compaction makes blocks free and
 * they succeed. */
static void room_after_exhaustion(void **state) {
    for (int i = 0; i < 2; i++) {
        kernels_open();
        CHECK_OK(f, clump_do_all(k.heap, k.clear, NULL));
        uint32_t base = 0, n = 200;
        uint64_t room = cl_fixture_free_slots(f, k.heap, "Dot"), made, count;
        SET_ARG(f, k.make, 0, base);
        CHECK_OK(f, clump_do_new(k.heap, "Dot", room, k.make, &made, NULL));
        assert_int_equal(made, room);
        CHECK_OK(f, clump_do_all(k.heap, k.drop, NULL)); /* leaves some in each block */
        CHECK_HEAP(f, k.heap);
        clump_heap_stats stats;
        CHECK_OK(f, clump_heap_calc_stats(k.heap, &stats, NULL, 0));
        assert_int_equal(stats.free_blocks, 0);
        base = (uint32_t)room;
        SET_ARG(f, k.spawn_box, 0, n);
        SET_ARG(f, k.spawn_box, 1, base);
        CHECK_OK(f, clump_launch(k.heap, k.spawn_box, 256, 64, NULL));
        clump_device_report errors;
        CHECK_STATUS(f, clump_heap_fetch_errors(k.heap, &errors), CLUMP_ERR_DEVICE);
        assert_int_equal(errors.errors[CLUMP_DEVICE_OUT_OF_MEMORY].count, n);
        CHECK_OK(f, clump_compact(k.heap, i ? &merging : NULL, NULL, NULL));
        CHECK_OK(f, clump_launch(k.heap, k.spawn_box, 256, 64, NULL));
        CHECK_HEAP(f, k.heap);
        CHECK_OK(f, clump_heap_calc_count(k.heap, "Box", &count));
        assert_int_equal(count, n);
    }
}

/* Without waiting in between: kernels before and after see the right objects. */
static void among_enqueued(void **state) {
    for (int i = 0; i < 2; i++) {
        populate();
        look(k.before);
        for (int j = 0; j < 3; j++) {
            CHECK_OK(f, clump_do_all(k.heap, k.bump, NULL));
            CHECK_OK(f, clump_compact(k.heap, i ? &merging : NULL, NULL, NULL));
            CHECK_OK(f, clump_do_all(k.heap, k.bump, NULL));
        }
        same_sums(6);
        CHECK_HEAP(f, k.heap);
    }
}

/* Frees that are still under way when compaction is asked for. */
static void after_enqueued_frees(void **state) {
    uint32_t base = 0;
    populate();
    look(k.before);
    SET_ARG(f, k.make, 0, base);
    CHECK_OK(f, clump_do_new(k.heap, "Dot", DOTS, k.make, NULL, NULL));
    CHECK_OK(f, clump_do_all(k.heap, k.drop, NULL));
    CHECK_OK(f, clump_compact(k.heap, NULL, NULL, NULL));
    uint64_t count;
    CHECK_OK(f, clump_heap_calc_count(k.heap, "Dot", &count));
    assert_int_equal(count, 2 * DOTS / KEEP);
    CHECK_HEAP(f, k.heap);
}

/* What kernels reported is still there to be fetched. */
static void pending_errors(void **state) {
    for (int i = 0; i < 2; i++) {
        uint32_t victim = KEEP * 3;
        populate();
        CHECK_OK(f, clump_do_all(k.heap, k.place, NULL));
        uint32_t places[SHAPES];
        cl_fixture_read(f, k.places, places, sizeof places);
        SET_ARG(f, k.misuse, 1, victim);
        CHECK_OK(f, clump_launch(k.heap, k.misuse, 1, 1, NULL));
        CHECK_OK(f, clump_compact(k.heap, i ? &merging : NULL, NULL, NULL));
        clump_device_report report;
        CHECK_STATUS(f, clump_heap_fetch_errors(k.heap, &report), CLUMP_ERR_DEVICE);
        assert_int_equal(report.errors[CLUMP_DEVICE_DOUBLE_FREE].count, 1);
        assert_int_equal(report.errors[CLUMP_DEVICE_DOUBLE_FREE].ref, places[victim]);
        assert_int_equal(report.errors[CLUMP_DEVICE_OUT_OF_MEMORY].count, 0);
        CHECK_HEAP(f, k.heap);
    }
}

static int is_complete(cl_event event) {
    cl_int status = CL_QUEUED;
    CHECK_CL(
        clGetEventInfo(event, CL_EVENT_COMMAND_EXECUTION_STATUS, sizeof status, &status, NULL));
    return status == CL_COMPLETE;
}

/* The planner does not block without a report: it waits for its list, and its event for it. */
static void events(void **state) {
    populate();
    look(k.before);
    cl_int code;
    cl_event gate = clCreateUserEvent(f->context, &code), compacted = NULL, bumped = NULL;
    CHECK_CL(code);
    clump_sync sync = {1, &gate, &compacted}, then = {1, &compacted, &bumped};
    CHECK_OK(f, clump_compact(k.heap, NULL, NULL, &sync));
    assert_non_null(compacted);
    CHECK_OK(f, clump_do_all(k.heap, k.bump, &then));
    CHECK_CL(clFlush(f->queue));
    for (int i = 0; i < 20; i++) { /* long enough for what does not wait */
        assert_false(is_complete(compacted) || is_complete(bumped));
        nanosleep(&(struct timespec){.tv_nsec = 10000000}, NULL);
    }
    CHECK_CL(clSetUserEventStatus(gate, CL_COMPLETE));
    CHECK_CL(clWaitForEvents(1, &bumped));
    assert_true(is_complete(compacted));
    cl_ulong end, start;
    CHECK_CL(clGetEventProfilingInfo(compacted, CL_PROFILING_COMMAND_END, 8, &end, NULL));
    CHECK_CL(clGetEventProfilingInfo(bumped, CL_PROFILING_COMMAND_START, 8, &start, NULL));
    assert_true(end <= start);
    CHECK_CL(clReleaseEvent(compacted));
    CHECK_CL(clReleaseEvent(bumped));
    same_sums(1);
    /* With a report, and by merging, it has happened when the call returns; also if there is
     * nothing to do, the event is there. */
    for (int i = 0; i < 4; i++) {
        clump_compact_report report;
        sync.event = &compacted;
        compacted = NULL;
        CHECK_OK(f, clump_compact(k.heap, i % 2 ? &merging : NULL, i < 2 ? &report : NULL, &sync));
        assert_non_null(compacted);
        CHECK_CL(clWaitForEvents(1, &compacted));
        CHECK_CL(clReleaseEvent(compacted));
    }
    same_sums(1);
    CHECK_CL(clReleaseEvent(gate));
    CHECK_HEAP(f, k.heap);
}

/* A registered buffer that kernels read: places by tag stay right. */
static void registered_for_kernels(void **state) {
    populate();
    CHECK_OK(f, clump_do_all(k.heap, k.place, NULL));
    clump_refs *refs;
    clump_refs_desc desc = {.buffer = k.places, .count = SHAPES, .null_dangling = 1};
    CHECK_OK(f, clump_refs_register(k.heap, &desc, &refs));
    CHECK_OK(f, clump_compact(k.heap, NULL, NULL, NULL));
    uint32_t *places = malloc(2 * SHAPES * sizeof *places), *now = places + SHAPES;
    cl_fixture_read(f, k.places, places, SHAPES * 4);
    cl_fixture_write(f, k.out, places, SHAPES * 4);
    clump_refs_unregister(refs);
    CHECK_OK(f, clump_do_all(k.heap, k.place, NULL)); /* writes those that are live */
    cl_fixture_read(f, k.places, now, SHAPES * 4);
    for (uint32_t tag = 0; tag < SHAPES; tag++)
        assert_int_equal(places[tag], tag % KEEP ? 0 : now[tag]);
    free(places);
    CHECK_HEAP(f, k.heap);
}

/* Keys from a kernel: few, so that many are equal; then all different. */
static void order_key(void **state) {
    static const uint32_t moduli[] = {7, 1, 1000003};
    for (int i = 0; i < 3; i++) {
        trial t;
        kernels_open();
        world *w = k.w;
        w->random = seed + (uint64_t)i;
        LABEL(w, "order of keys below %u", moduli[i]);
        snapshot_drop(world_fill(w, &half));
        SET_ARG(f, k.keys, 1, moduli[i]);
        static const char *const names[] = {"Shape"};
        clump_compact_desc desc = {
            .classes = names, .class_count = 1, .order = CLUMP_ORDER_KEY, .key_kernel = k.keys};
        run(&t, w, &desc);
        check_dense(&t, 0);
        uint32_t *keys = calloc(t.before->count + 1, sizeof *keys);
        for (uint32_t n = 0; n < t.before->count; n++)
            if (w->tag[t.before->class_id[n]] >= 0)
                keys[n] = tag_of(t.before, n) * 2654435761u % moduli[i];
        check_order(&t, cl_fixture_class_id(k.heap, "Dot"), keys);
        check_order(&t, cl_fixture_class_id(k.heap, "Box"), keys);
        free(keys);
        done(&t);
    }
}

/* ---- Main ------------------------------------------------------------------------------------ */

static int open_all(uint32_t disable, int out_of_order) {
    return cl_fixture_open(f, &(cl_fixture_desc){.disable = disable, .out_of_order = out_of_order});
}

/* A device that says it has little local memory. */
#define LITTLE_LOCAL 8192u

static cl_int CL_API_CALL get_device_info(cl_device_id device, cl_device_info name, size_t bytes,
                                          void *value, size_t *needed) {
    cl_int code = clGetDeviceInfo(device, name, bytes, value, needed);
    if (!code && value && name == CL_DEVICE_LOCAL_MEM_SIZE) *(cl_ulong *)value = LITTLE_LOCAL;
    return code;
}

static int open_little_local(void) {
#define LINKED(name, result, parameters) .name = cl##name,
    static clump_cl_functions functions = {CLUMP_CL_FUNCTION_LIST(LINKED)};
#undef LINKED
    functions.GetDeviceInfo = get_device_info;
    return cl_fixture_open(f, &(cl_fixture_desc){.cl = &functions});
}

/* A test that failed leaves things behind, which then stay. */
static void close_all(int failed) {
    if (!failed) {
        kernels_close();
        close_worlds();
        cl_fixture_close(f);
    }
    memset(&k, 0, sizeof k);
    memset(opened, 0, sizeof opened);
}

int main(void) {
    const char *text = getenv("CLUMP_SEED");
    write_classes();
    if (text) seed = strtoull(text, NULL, 0);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(planner_narrow),
        cmocka_unit_test(planner_middle),
        cmocka_unit_test(planner_wide),
        cmocka_unit_test(planner_huge),
        cmocka_unit_test(planner_many_blocks),
        cmocka_unit_test(planner_one_block),
        cmocka_unit_test(planner_thin),
        cmocka_unit_test(planner_null_dangling),
        cmocka_unit_test(planner_subsets),
        cmocka_unit_test(planner_many_classes),
        cmocka_unit_test(planner_slack),
        cmocka_unit_test(planner_exact_slack),
        cmocka_unit_test(planner_steps),
        cmocka_unit_test(planner_time_steps),
        cmocka_unit_test(queue_without_profiling),
        cmocka_unit_test(order_address),
        cmocka_unit_test(order_field),
        cmocka_unit_test(order_key),
        cmocka_unit_test(merge_forward),
        cmocka_unit_test(merge_recompute_global),
        cmocka_unit_test(merge_recompute_shared),
        cmocka_unit_test(merge_passes),
        cmocka_unit_test(merge_subset),
        cmocka_unit_test(outside_buffers),
        cmocka_unit_test(outside_buffers_merge),
        cmocka_unit_test(handles),
        cmocka_unit_test(destroyed_with_heap),
        cmocka_unit_test(do_all_after),
        cmocka_unit_test(allocation_after),
        cmocka_unit_test(room_after_exhaustion),
        cmocka_unit_test(among_enqueued),
        cmocka_unit_test(after_enqueued_frees),
        cmocka_unit_test(pending_errors),
        cmocka_unit_test(events),
        cmocka_unit_test(registered_for_kernels),
    };
    const struct CMUnitTest out_of_order[] = {
        cmocka_unit_test(planner_middle), cmocka_unit_test(do_all_after),
        cmocka_unit_test(among_enqueued), cmocka_unit_test(events),
        cmocka_unit_test(order_key),      cmocka_unit_test(registered_for_kernels),
    };
    const struct CMUnitTest narrow_words[] = {
        cmocka_unit_test(planner_middle),
        cmocka_unit_test(merge_subset),
        cmocka_unit_test(outside_buffers),
    };
    const struct CMUnitTest little_local[] = {cmocka_unit_test(merge_few_records)};
    int result = open_all(0, 0), failed;
    if (result) return result;
    uint32_t features = f->capabilities->features;
    result = cmocka_run_group_tests_name("compaction", tests, NULL, NULL);
    close_all(result);
    if (open_all(0, 1) == 0) {
        failed = cmocka_run_group_tests_name("queue out of order", out_of_order, NULL, NULL);
        close_all(failed);
        result += failed;
    }
    if (features & CLUMP_FEATURE_INT64_ATOMICS && !open_all(CLUMP_FEATURE_INT64_ATOMICS, 0)) {
        failed = cmocka_run_group_tests_name("32-bit words", narrow_words, NULL, NULL);
        close_all(failed);
        result += failed;
    }
    if (open_little_local() == 0) {
        failed = cmocka_run_group_tests_name("little local memory", little_local, NULL, NULL);
        close_all(failed);
        result += failed;
    }
    return result;
}
