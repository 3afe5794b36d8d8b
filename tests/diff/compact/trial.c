/* The worlds of the tests of compaction, and what holds of every compaction.
 *
 * Read first: trial.h.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "trial.h"

cl_fixture trial_fixture;
static cl_fixture *const f = &trial_fixture;
uint64_t seed = 1;

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

/* Fields of turning widths are a column each: with these more than move.cl keeps in local
 * memory. */
#define TURNS(n) "uchar a" #n "; uint b" #n "; ushort c" #n "; uint d" #n ";"

const char graph[] = GRAPH;
static const char huge[] = GRAPH
    "class Huge { ulong16 lots[6]; ref Huge self; ref Pack p; uchar odd[3] packed; uint tag; }\n"
    "class Motley { uint tag; " TURNS(0) TURNS(1) TURNS(2) TURNS(3) TURNS(4) TURNS(5) TURNS(6)
        TURNS(7) TURNS(8) TURNS(9) "}\n";
static const char only[] = "class Only { uint tag; ref Only next; }";

/* Class ids on both sides of 64, 128 and 192, and references to each of them; filled in by
 * trial_open(). */
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

const world_kind worlds[WORLDS] = {
    [NARROW] = {"narrow", graph, 150, 1},
    [MIDDLE] = {"middle", graph, 60, 4},
    [WIDE] = {"wide", graph, 24, 64},
    [HUGE_OBJECTS] = {"huge", huge, 40, 1},
    [MANY_BLOCKS] = {"many blocks", only, 2500, 1},
    [ONE_BLOCK] = {"one block", graph, 1, 1},
    [MANY_CLASSES] = {"many classes", classes, 900, 1},
};

world *enter(int which) {
    return world_enter(f, worlds, which, seed);
}

const fill fills[FILLS] = {
    {.used = 100, .low = 0, .high = 100, .full = 10, .dangling = 4},
    {.used = 60, .low = 0, .high = 40, .full = 5, .dangling = 4},
    {.used = 90, .low = 30, .high = 70, .dangling = 10},
    {.used = 100, .low = 80, .high = 100, .full = 50},
    {.used = 100, .low = 0, .high = 0, .dangling = 30}, /* one object a block */
    {.used = 100, .low = 100, .high = 100, .dangling = 4},
    {.used = 5, .low = 0, .high = 100, .dangling = 4},
    {.used = 0},
};

const fill half = {.used = 45, .low = 0, .high = 100, .full = 10, .dangling = 4};

int trial_open(const cl_fixture_desc *desc) {
    const char *text = getenv("CLUMP_SEED");
    if (text) seed = strtoull(text, NULL, 0);
    write_classes();
    return cl_fixture_open(f, desc);
}

void trial_close(int failed) {
    close_worlds(failed);
    if (!failed) cl_fixture_close(f);
}

int trial_main(const trial_group *groups, size_t count) {
    uint32_t features = 0;
    int result = 0;
    for (size_t i = 0; i < count; i++) {
        const trial_group *g = &groups[i];
        if (g->how && g->how->disable && (g->how->disable & ~features || !cl_fixture_is_whole()))
            continue;
        int failed = trial_open(g->how);
        if (failed && i == 0) return failed;
        if (failed == CL_FIXTURE_SKIP) continue;
        if (failed) return failed;
        if (i == 0) features = f->capabilities->features;
        failed = _cmocka_run_group_tests(g->name, g->tests, g->count, NULL, NULL);
        if (g->close)
            g->close(failed);
        else
            trial_close(failed);
        result += failed;
    }
    return result;
}

/* ---- What a planner should do ---------------------------------------------------------------- */

static int compare_credits(const void *a, const void *b) {
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    return x < y ? 1 : x > y ? -1 : 0;
}

class_plan plan_of(const snapshot *s, uint32_t id) {
    const world *w = s->w;
    class_plan p = {0};
    p.credits = malloc((w->h->block_end - w->h->first_block + 1) * sizeof *p.credits);
    assert_non_null(p.credits);
    for (uint32_t b = w->h->first_block; b < w->h->block_end; b++) {
        if (block_class(w, s->image, b) != id) continue;
        uint32_t credits = block_credits(w, s->image, b);
        p.credits[p.blocks++] = credits;
        p.open += credits < w->k[id].capacity;
        p.objects += credits;
        p.slots += w->k[id].capacity;
    }
    qsort(p.credits, p.blocks, sizeof *p.credits, compare_credits);
    return p;
}

uint64_t plan_moves(const class_plan *p, uint64_t keep) {
    uint64_t moves = 0;
    for (uint64_t i = keep; i < p->blocks; i++) moves += p->credits[i];
    return moves;
}

uint32_t plan_candidates(const class_plan *p, uint32_t capacity, uint32_t n) {
    uint32_t candidates = 0;
    for (uint32_t i = 0; i < p->blocks; i++)
        candidates += (uint64_t)p->credits[i] * (n + 1) <= (uint64_t)capacity * n;
    return candidates;
}

/* ---- One compaction -------------------------------------------------------------------------- */

const bench_merge merging = {.factor = 1};

static void find_part(trial *t) {
    const world *w = t->w;
    memset(t->part, 0, sizeof t->part);
    for (uint32_t id = 1; id <= w->class_count; id++) {
        t->part[id] = t->desc.class_count == 0;
        for (uint32_t i = 0; i < t->desc.class_count; i++)
            t->part[id] |= is_a(w, id, cl_fixture_class_id(w->heap, t->desc.classes[i]));
    }
}

void near(const trial *t, const char *what, double found, double expected) {
    WORLD_CHECK(t->w, fabs(found - expected) <= 1e-9 * fabs(expected) + 1e-12,
                "%s is %.17g, expected %.17g", what, found, expected);
}

void equal(const trial *t, const char *what, uint64_t found, uint64_t expected) {
    WORLD_CHECK(t->w, found == expected, "%s: %llu, expected %llu", what, (unsigned long long)found,
                (unsigned long long)expected);
}

/* Sums over the classes that take part, here and by the library's own statistics. */
static void check_sums(const trial *t) {
    const world *w = t->w;
    const clump_compact_report *r = &t->report;
    clump_class_stats stats[CLUMP_CLASSES_MAX] = {{.size = sizeof *stats}};
    clump_heap_stats all = {.size = sizeof all};
    uint64_t objects = 0, slots = 0, slots_after = 0;
    uint32_t blocks = 0, blocks_after = 0, free_blocks = w->h->block_end - w->h->first_block;
    CHECK_OK(f, clump_heap_read_stats(w->heap, &all, stats, CLUMP_CLASSES_MAX));
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

void check_references(const trial *t) {
    const clump_compact_report *r = &t->report;
    if (!r->moves && !t->desc.null_dangling) return;
    equal(t, "references examined", r->refs_examined, t->counts.examined);
    equal(t, "references rewritten", r->refs_rewritten, t->counts.rewritten);
    equal(t, "references dangling", r->refs_dangling,
          t->desc.null_dangling ? t->counts.dangling : t->counts.dangling_sources);
}

void trial_run(trial *t, world *w, const clump_compact_desc *desc) {
    trial_merge(t, w, desc, NULL);
}

void trial_merge(trial *t, world *w, const clump_compact_desc *desc, const bench_merge *merge) {
    uint8_t *source = NULL;
    memset(t, 0, sizeof *t);
    t->w = w;
    t->merge = merge;
    if (desc) t->desc = *desc;
    find_part(t);
    t->before = snapshot_take(w);
    memset(&t->report, 0xee, sizeof t->report);
    t->report.size = sizeof t->report;
    CHECK_OK(f, bench_merge_compact(w->heap, desc, merge, &t->report, NULL));
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
                         .passes = merge != NULL};
    same_graph(t->before, t->after, &rules, &t->counts);
    same_enumeration(t->after);
    check_sums(t);
    check_times(t);
    free(source);
}

void trial_done(trial *t) {
    snapshot_drop(t->before);
    snapshot_drop(t->after);
    t->before = t->after = NULL;
}

void trial_again(world *w, const clump_compact_desc *desc, const bench_merge *merge) {
    trial t;
    size_t length = strlen(w->label);
    snprintf(w->label + length, sizeof w->label - length, ", again");
    trial_merge(&t, w, desc, merge);
    equal(&t, "moves", t.report.moves, 0);
    equal(&t, "passes", t.report.passes, 0);
    equal(&t, "blocks freed", t.report.blocks_freed, 0);
    WORLD_CHECK(w, same_slots(t.before, t.after), "objects have moved");
    trial_done(&t);
    w->label[length] = 0;
}
