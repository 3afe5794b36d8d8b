/* What a collection promises: for every engine exactly the live set of the tests' own marker, on
 * random heaps and on graphs that are hard for one or the other engine, and the same graph
 * afterwards.
 *
 * CLUMP_SEED (a number) changes the heaps. With the argument `tiny`, a small heap is collected by
 * the kernels for GPUs whatever the device is, for Oclgrind (tests/support/oclgrind.sh).
 * Read first: collect_core.h, worlds.h.
 */
#include <string.h>

#include "cl/collect/layout.h"
#include "collect_core.h"
#include "core/device.h"
#include "diff/compact/worlds.h"

#define CHAIN 1000000u

static cl_fixture fixture;
static cl_fixture *const f = &fixture;
static uint64_t seed = 1;

/* ---- Worlds ---------------------------------------------------------------------------------- */

/* References from every class to every other, strong and weak, arrays of both layouts, aos, objects
 * of one byte, wide objects. */
static const char graph[] =
    "abstract class Thing { uint tag; ref Thing any; weak ref Thing dim; }\n"
    "class Node : Thing { ref Node next; ref Thing many[3]; ref Node few[2] packed; float3 p; }\n"
    "class Leaf : Node { ulong w; ref Tiny tiny; weak ref Leaf pale[2]; bool b; }\n"
    "abstract class Mid : Thing { ref Leaf leaf; uchar2 u[3]; }\n"
    "aos class Pack : Mid { char c; ref Node n; weak ref Dot far; ref Thing t[2]; short s; }\n"
    "class Plain : Mid { ushort z[3] packed; uint key; }\n"
    "class Tiny { uchar v; }\n"
    "aos class Dot { uint tag; ref Tiny t; ref Dot d; uchar x; }\n"
    "class Wide { uint tag; ref Thing lots[40]; ref Dot more[30] packed; }\n"
    "class Alone { uint tag; }\n";

/* For graphs of one's own. */
static const char shapes[] =
    "class Node { uint tag; ref Node next; ref Node other; }\n"
    "class Hub { uint tag; ref Node spokes[500]; ref Hub hub; ref Node tight[300] packed; }\n";

enum { NARROW, MIDDLE, WIDE, SHAPES, LONG, WORLDS };

static const world_kind worlds[WORLDS] = {
    [NARROW] = {"narrow", graph, 50, 1},
    [MIDDLE] = {"middle", graph, 20, 4},
    [WIDE] = {"wide", graph, 8, 16},
    [SHAPES] = {"shapes", shapes, 12, 4},
    [LONG] = {"long", "class Node { uint tag; ref Node next; ref Node other; }", CHAIN / 4096 + 2,
              64},
};

static world *enter(int which) {
    return world_enter(f, worlds, which, seed);
}

/* ---- Ways to collect ------------------------------------------------------------------------- */

static const clump_compact_desc compacting = {.size = sizeof compacting},
                                nulling = {
                                    .size = sizeof nulling, .null_dangling = 0, .slack = 0.2};

/* All engines, as they come and with what they are to do rarely forced on them. */
#define TUNED(...)                                                                                 \
    .tuning = &(const clump_mark_tuning) {                                                         \
        __VA_ARGS__                                                                                \
    }
static const clump_collect_desc ways[] = {
    {.size = sizeof(clump_collect_desc), .engine = CLUMP_MARK_AUTO},
    {.size = sizeof(clump_collect_desc), .engine = CLUMP_MARK_HOST},
    {.size = sizeof(clump_collect_desc), .engine = CLUMP_MARK_QUEUE},
    {.size = sizeof(clump_collect_desc),
     .engine = CLUMP_MARK_QUEUE,
     .queue_room = 64,
     TUNED(.narrow = CLUMP_NEVER)},
    {.size = sizeof(clump_collect_desc),
     .engine = CLUMP_MARK_QUEUE,
     .queue_room = 64,
     TUNED(.narrow = 8, .wide = 2)},
    {.size = sizeof(clump_collect_desc),
     .engine = CLUMP_MARK_QUEUE,
     TUNED(.offsets = CLUMP_OFFSETS_HISTOGRAM, .narrow = CLUMP_NEVER)},
    {.size = sizeof(clump_collect_desc),
     .engine = CLUMP_MARK_QUEUE,
     TUNED(.offsets = CLUMP_OFFSETS_HISTOGRAM, .wide = CLUMP_NEVER, .narrow = 1024)},
    {.size = sizeof(clump_collect_desc),
     .engine = CLUMP_MARK_QUEUE,
     .queue_room = 64,
     TUNED(.offsets = CLUMP_OFFSETS_HISTOGRAM, .narrow = 1)},
    {.size = sizeof(clump_collect_desc), .engine = CLUMP_MARK_ROWS},
    {.size = sizeof(clump_collect_desc), .engine = CLUMP_MARK_ROWS, TUNED(.narrow = CLUMP_NEVER)},
    {.size = sizeof(clump_collect_desc),
     .engine = CLUMP_MARK_ROWS,
     TUNED(.narrow = 4, .wide = CLUMP_NEVER)},
    {.size = sizeof(clump_collect_desc),
     .engine = CLUMP_MARK_AUTO,
     .queue_room = 64,
     TUNED(.narrow = 4)},
    {.size = sizeof(clump_collect_desc), .engine = CLUMP_MARK_AUTO, .only_mark = 1},
    {.size = sizeof(clump_collect_desc), .engine = CLUMP_MARK_HOST, .only_mark = 1},
    {.size = sizeof(clump_collect_desc), .engine = CLUMP_MARK_AUTO, .compact = &compacting},
    {.size = sizeof(clump_collect_desc), .engine = CLUMP_MARK_ROWS, .compact = &nulling},
    {.size = sizeof(clump_collect_desc),
     .engine = CLUMP_MARK_QUEUE,
     TUNED(.groups = 1, .narrow = CLUMP_NEVER)},
    {.size = sizeof(clump_collect_desc),
     .engine = CLUMP_MARK_ROWS,
     TUNED(.groups = 3, .narrow = 4)},
    {.size = sizeof(clump_collect_desc),
     .engine = CLUMP_MARK_QUEUE,
     TUNED(.team = 1, .narrow = 1024, .wide = 1)},
    {.size = sizeof(clump_collect_desc),
     .engine = CLUMP_MARK_AUTO,
     TUNED(.team = 3, .narrow = 1024, .stay = 1)},
};
#undef TUNED
#define WAYS (sizeof ways / sizeof *ways)

/* ---- Random heaps ---------------------------------------------------------------------------- */

/* So many percent of the references are left as they are, the others become null. */
static void thin_out(world *w, snapshot *s, uint32_t percent) {
    for (uint32_t n = 0; n < s->count; n++)
        for (uint32_t id = s->class_id[n]; id; id = w->classes[id].base)
            for (uint32_t i = w->own[id]; i < w->own[id + 1]; i++)
                for (uint32_t e = 0; e < elements(&w->fields[i]); e++)
                    if (w->fields[i].type == CLUMP_TYPE_REF && draw(w, 100) >= percent)
                        put_word(s, s->refs[n], &w->fields[i], e, 0);
}

static clump_ref any_object(world *w, const snapshot *s) {
    return s->count ? s->refs[draw(w, s->count)] : 0;
}

/* Roots of all kinds, or of one: bit by bit of `kinds`. */
static void draw_roots(gc_case *c, uint32_t kinds) {
    world *w = c->w;
    const snapshot *s = c->before;
    if (kinds & 1)
        for (c->single_count = 0; c->single_count < SINGLES; c->single_count++)
            c->singles[c->single_count] = draw(w, 4)   ? any_object(w, s)
                                          : draw(w, 2) ? random_bits(w, s)
                                                       : 0;
    if (kinds & 2 && s->count)
        for (c->held_count = 0; c->held_count < 4; c->held_count++)
            c->held[c->held_count] = any_object(w, s);
    if (kinds & 4) {
        c->count = 1 + draw(w, 40);
        c->counted = draw(w, c->count + 1);
        c->packed = malloc(c->count * 4);
        c->weak = malloc(c->count * 4);
        c->strided = malloc(c->count * STRIDE * 4);
        assert_true(c->packed && c->weak && c->strided);
        for (uint32_t i = 0; i < c->count; i++) {
            c->packed[i] = draw(w, 3) ? any_object(w, s) : random_bits(w, s);
            c->weak[i] = draw(w, 3) ? any_object(w, s) : random_bits(w, s);
        }
        for (uint32_t i = 0; i < c->count * STRIDE; i++)
            c->strided[i] = draw(w, 3) ? any_object(w, s) : random_bits(w, s);
    }
    if (kinds & 8) {
        c->classes[c->class_count++] = "Alone";
        c->classes[c->class_count++] = draw(w, 2) ? "Tiny" : "Mid";
    }
}

static void random_case(int which, const fill *how, uint32_t percent, uint32_t kinds,
                        uint32_t number, gc_case *c) {
    world *w = enter(which);
    w->random += number * 7919;
    memset(c, 0, sizeof *c);
    c->w = w;
    LABEL(w, "%s, making the heap", worlds[which].name);
    c->before = world_fill(w, how);
    thin_out(w, c->before, percent);
    draw_roots(c, kinds);
    case_expect(c);
}

static void try_ways(gc_case *c, const char *name, size_t from, size_t step) {
    for (size_t i = from; i < WAYS; i += step) {
        LABEL(c->w, "%s, way %zu, %u of %u live", name, i, c->live_count, c->before->count);
        clump_collect_report r = case_run(c, &ways[i]);
        if (ways[i].queue_room == 64 && r.queue_peak == 64 && ways[i].engine == CLUMP_MARK_QUEUE)
            WORLD_CHECK(c->w, r.refills > 0, "the queue was not refilled");
    }
}

static const fill fills[] = {
    {.used = 100, .low = 0, .high = 100, .full = 10, .dangling = 4},
    {.used = 60, .low = 0, .high = 40, .full = 5, .dangling = 10},
    {.used = 100, .low = 100, .high = 100},
    {.used = 100, .low = 0, .high = 0, .dangling = 20}, /* one object a block */
    {.used = 0},
};
#define FILLS (sizeof fills / sizeof *fills)

/* Heaps of all fill levels, few references and many, all roots. */
static void random_world(int which) {
    static const uint32_t percents[] = {8, 25, 100};
    uint32_t number = 0;
    for (size_t i = 0; i < FILLS; i++)
        for (size_t p = 0; p < (i ? 2 : 3); p++, number++) {
            gc_case c;
            char name[64];
            snprintf(name, sizeof name, "%s, fill %zu, %u%%", worlds[which].name, i, percents[p]);
            random_case(which, &fills[i], percents[p], 15, number, &c);
            try_ways(&c, name, number % 4, 4);
            case_drop(&c);
        }
}

static void random_narrow(void **state) {
    random_world(NARROW);
}

static void random_middle(void **state) {
    random_world(MIDDLE);
}

static void random_wide(void **state) {
    random_world(WIDE);
}

/* Each kind of root alone, and none: then all objects die. */
static void kinds_of_roots(void **state) {
    for (uint32_t kinds = 0; kinds <= 8; kinds = kinds ? 2 * kinds : 1) {
        gc_case c;
        char name[32];
        snprintf(name, sizeof name, "roots of kind %u", kinds);
        random_case(MIDDLE, &fills[0], 12, kinds, 100 + kinds, &c);
        if (!kinds) assert_int_equal(c.live_count, 0);
        try_ways(&c, name, kinds % 2, 2);
        case_drop(&c);
    }
}

static void listed_classes(void **state) {
    static const char *const names[] = {"Node", "Alone", "Thing"};
    gc_case c;
    random_case(MIDDLE, &fills[0], 8, 15, 200, &c);
    for (int i = 0; i < 3; i++) {
        LABEL(c.w, "the dead of class %s", names[i]);
        case_run(&c,
                 &(clump_collect_desc){.size = sizeof(clump_collect_desc), .dead_class = names[i]});
    }
    case_drop(&c);
}

/* ---- Graphs that are hard -------------------------------------------------------------------- */

/* Blocks full of `hubs` hubs (of which there may be fewer) and of nodes, all references null. */
static void empty_case(int which, uint32_t hubs, gc_case *c) {
    world *w = enter(which);
    uint32_t blocks = w->h->block_end - w->h->first_block;
    uint32_t *ids = calloc(2 * blocks, sizeof *ids), *credits = ids + blocks;
    assert_non_null(ids);
    for (uint32_t b = 0; b < blocks; b++) {
        ids[b] = b % 2 && hubs && w->class_count > 1 ? 2 : 1;
        credits[b] = w->k[ids[b]].capacity;
        if (ids[b] == 1) continue;
        if (credits[b] > hubs) credits[b] = hubs;
        hubs -= credits[b];
    }
    memset(c, 0, sizeof *c);
    c->w = w;
    LABEL(w, "%s, making the heap", worlds[which].name);
    c->before = world_put(w, ids, credits, &fills[2]);
    thin_out(w, c->before, 0);
    free(ids);
}

/* Objects of a class in a random order. */
static clump_ref *shuffled(const gc_case *c, const char *class_name, uint32_t *count) {
    world *w = c->w;
    uint32_t id = cl_fixture_class_id(w->heap, class_name), from = c->before->start[id];
    *count = c->before->start[id + 1] - from;
    clump_ref *refs = malloc((*count + 1) * sizeof *refs);
    assert_non_null(refs);
    memcpy(refs, c->before->refs + from, *count * sizeof *refs);
    for (uint32_t i = *count; i > 1; i--) {
        uint32_t other = draw(w, i);
        clump_ref t = refs[i - 1];
        refs[i - 1] = refs[other];
        refs[other] = t;
    }
    return refs;
}

static void link(const gc_case *c, clump_ref from, const char *class_name, const char *field,
                 uint32_t element, clump_ref to) {
    put_word(c->before, from, &c->w->fields[find_field(c->w, class_name, field)], element, to);
}
#define NEXT(from, to) link(c, from, "Node", "next", 0, to)
#define OTHER(from, to) link(c, from, "Node", "other", 0, to)

static void root(gc_case *c, clump_ref ref) {
    c->singles[c->single_count++] = ref;
}

/* A list through three quarters of the nodes; the others form one that nothing leads to, and end in
 * the first. */
static void make_chain(gc_case *c, clump_ref *n, uint32_t count) {
    uint32_t live = count / 4 * 3;
    for (uint32_t i = 0; i + 1 < count; i++)
        if (i + 1 != live) NEXT(n[i], n[i + 1]);
    NEXT(n[count - 1], n[0]);
    root(c, n[0]);
}

/* Every node refers to itself and to the first; one of them is a root. */
static void make_loops(gc_case *c, clump_ref *n, uint32_t count) {
    for (uint32_t i = 0; i < count; i++) {
        NEXT(n[i], n[i]);
        OTHER(n[i], n[0]);
    }
    root(c, n[count / 2]);
}

/* Right and down. */
static void make_grid(gc_case *c, clump_ref *n, uint32_t count) {
    uint32_t side = 1;
    while ((side + 1) * (side + 1) <= count) side++;
    for (uint32_t i = 0; i < side * side; i++) {
        if (i % side + 1 < side) NEXT(n[i], n[i + 1]);
        if (i + side < side * side) OTHER(n[i], n[i + side]);
    }
    root(c, n[side + 1]); /* not its first row and column */
}

/* Wide objects that refer to nodes, and to the next of them. */
static void make_stars(gc_case *c, clump_ref *n, uint32_t count) {
    uint32_t hubs, at = 0;
    clump_ref *h = shuffled(c, "Hub", &hubs);
    for (uint32_t i = 0; i < hubs; i++) {
        for (uint32_t e = 0; e < 500 && at < count; e++, at++)
            link(c, h[i], "Hub", "spokes", e, n[at]);
        for (uint32_t e = 0; e < 300 && at < count; e++, at++)
            link(c, h[i], "Hub", "tight", e, n[at]);
        if (i + 1 < hubs && i % 3 < 2) link(c, h[i], "Hub", "hub", 0, h[i + 1]);
        if (i % 3 == 0 && i % 2 == 0 && c->single_count < SINGLES) root(c, h[i]);
    }
    free(h);
}

/* A list of 600, then a binary tree. */
static void make_deep_then_wide(gc_case *c, clump_ref *n, uint32_t count) {
    uint32_t deep = 600, tree = count - deep;
    for (uint32_t i = 0; i < deep; i++) NEXT(n[i], n[i + 1]);
    for (uint32_t i = 0; i < tree / 2; i++) {
        if (2 * i + 1 < tree) NEXT(n[deep + i], n[deep + 2 * i + 1]);
        if (2 * i + 2 < tree && i % 7) OTHER(n[deep + i], n[deep + 2 * i + 2]);
    }
    root(c, n[0]);
}

/* Wide, then lists side by side. */
static void make_lists(gc_case *c, clump_ref *n, uint32_t count) {
    uint32_t hubs, length = count / 800;
    clump_ref *h = shuffled(c, "Hub", &hubs);
    for (uint32_t i = 0; i < 800; i++) {
        link(c, h[0], "Hub", i < 500 ? "spokes" : "tight", i < 500 ? i : i - 500, n[i * length]);
        for (uint32_t k = 0; k + 1 < length; k++) NEXT(n[i * length + k], n[i * length + k + 1]);
    }
    root(c, h[0]);
    free(h);
}

static void make_random(gc_case *c, clump_ref *n, uint32_t count) {
    for (uint32_t i = 0; i < count; i++) {
        NEXT(n[i], n[draw(c->w, count)]);
        if (i % 2) OTHER(n[i], n[draw(c->w, count)]);
    }
    root(c, n[0]);
}

static void make_garbage(gc_case *c, clump_ref *n, uint32_t count) {
    make_random(c, n, count);
    c->single_count = 0;
}

static void make_no_garbage(gc_case *c, clump_ref *n, uint32_t count) {
    make_random(c, n, count);
    c->classes[0] = "Node";
    c->classes[1] = "Hub";
    c->class_count = 2;
}

static void shape(const char *name, int which, uint32_t hubs,
                  void (*make)(gc_case *c, clump_ref *n, uint32_t count), size_t from,
                  size_t step) {
    gc_case c;
    uint32_t count;
    empty_case(which, hubs, &c);
    clump_ref *n = shuffled(&c, "Node", &count);
    make(&c, n, count);
    free(n);
    case_expect(&c);
    try_ways(&c, name, from, step);
    case_drop(&c);
}

static void self_loops(void **state) {
    shape("loops", SHAPES, 0, make_loops, 0, 1);
}
static void grid(void **state) {
    shape("grid", SHAPES, 0, make_grid, 0, 1);
}
static void stars(void **state) {
    shape("stars", SHAPES, 40, make_stars, 0, 1);
}
static void deep_then_wide(void **state) {
    shape("deep then wide", SHAPES, 0, make_deep_then_wide, 0, 1);
}
static void lists(void **state) {
    shape("lists", SHAPES, 1, make_lists, 0, 1);
}
static void random_nodes(void **state) {
    shape("random", SHAPES, 0, make_random, 0, 1);
}
static void all_garbage(void **state) {
    shape("all garbage", SHAPES, 20, make_garbage, 0, 2);
}
static void no_garbage(void **state) {
    shape("no garbage", SHAPES, 20, make_no_garbage, 0, 2);
}

/* 200 lists side by side; where one begins, it also refers to the beginning of the next. */
static void make_ribbon(gc_case *c, clump_ref *n, uint32_t count) {
    const uint32_t lists = 200, length = count / lists;
    for (uint32_t i = 0; i < lists; i++) {
        for (uint32_t k = 0; k + 1 < length; k++) NEXT(n[i * length + k], n[i * length + k + 1]);
        if (i + 1 < lists) OTHER(n[i * length], n[(i + 1) * length]);
    }
    root(c, n[0]);
}

/* Of one in `each` of the nodes; the others are garbage. */
static void long_case(void (*make)(gc_case *, clump_ref *, uint32_t), uint32_t each, gc_case *c) {
    uint32_t count;
    empty_case(LONG, 0, c);
    clump_ref *n = shuffled(c, "Node", &count);
    assert_true(count >= CHAIN);
    make(c, n, count / each);
    free(n);
    case_expect(c);
}

/* The narrow way is what makes this end soon; the host is the reference. */
static void chain(void **state) {
    gc_case c;
    long_case(make_chain, cl_fixture_each(1), &c);
    static const clump_mark_tuning staying = {.stay = 1};
    static const clump_collect_desc few[] = {
        {.size = sizeof(clump_collect_desc),
         .engine = CLUMP_MARK_AUTO,
         .tuning = &staying,
         .compact = &compacting},
        {.size = sizeof(clump_collect_desc), .engine = CLUMP_MARK_QUEUE},
        {.size = sizeof(clump_collect_desc), .engine = CLUMP_MARK_ROWS},
        {.size = sizeof(clump_collect_desc), .engine = CLUMP_MARK_HOST},
    };
    for (size_t i = 0; i < sizeof few / sizeof *few; i++) {
        LABEL(c.w, "chain of %u, way %zu", c.live_count, i);
        clump_collect_report r = case_run(&c, &few[i]);
        same_number(c.w, "levels", r.levels, c.live_count);
        if (few[i].engine == CLUMP_MARK_HOST) continue;
        same_number(c.w, "narrow levels", r.narrow_levels, c.live_count);
        WORLD_CHECK(c.w,
                    r.launches < 100 + 2 * c.live_count / CLUMPI_NARROW_LEVELS &&
                        r.readbacks < 10 + r.launches / 4,
                    "%u launches, %u readbacks", r.launches, r.readbacks);
    }
    case_drop(&c);
}

/* As on a device that is no CPU: what the host decides by is all that is changed. */
static clump_collect_report run_off_cpu(gc_case *c, const clump_collect_desc *desc) {
    clump_personality *personality = &f->clump->capabilities.personality, was = *personality;
    *personality = CLUMP_PERSONALITY_GPU;
    clump_collect_report r = case_run(c, desc);
    *personality = was;
    return r;
}

/* A long list is handed over to the host. */
static void handed_over(void **state) {
    gc_case c;
    long_case(make_chain, 1, &c);
    for (int stay = 0; stay < 2; stay++) {
        LABEL(c.w, "chain of %u, stay %d", c.live_count, stay);
        clump_collect_report r =
            run_off_cpu(&c, &(clump_collect_desc){.size = sizeof(clump_collect_desc),
                                                  .tuning = &(clump_mark_tuning){.stay = stay}});
        WORLD_CHECK(c.w, (r.host_us > 0) == !stay, "the host took %g us", r.host_us);
        WORLD_CHECK(c.w,
                    stay || (r.engine_changes && r.narrow_levels && /* how many, the clock says */
                             r.narrow_levels < c.live_count / 2),
                    "%u changes, %u narrow levels", r.engine_changes, r.narrow_levels);
        same_number(c.w, "levels", r.levels, c.live_count);
    }
    case_drop(&c);
}

/* A list, at its end a tree, which is of an odd number of nodes, at whose end is a list. */
static uint32_t hourglass_tree(uint32_t count) {
    return (count / 2 - 1) | 1;
}

static void make_hourglass(gc_case *c, clump_ref *n, uint32_t count) {
    const uint32_t list = count / 4, tree = hourglass_tree(count);
    for (uint32_t i = 0; i < list; i++) NEXT(n[i], n[i + 1]);
    for (uint32_t i = 0; 2 * i + 2 < tree; i++) {
        NEXT(n[list + i], n[list + 2 * i + 1]);
        OTHER(n[list + i], n[list + 2 * i + 2]);
    }
    for (uint32_t i = list + tree - 1; i + 1 < count; i++) NEXT(n[i], n[i + 1]);
    root(c, n[0]);
}

/* ---- The log ---- */

#define LOG_ROOM 4096u

static void check_turns(const gc_case *c, const clump_mark_log *log,
                        const clump_collect_report *r) {
    uint64_t objects = 0;
    uint32_t ways_taken[CLUMP_WAY_REFILL + 1] = {0};
    for (uint32_t i = 0; i < log->turn_count; i++) {
        const clump_mark_turn *at = &log->turns[i], *before = i ? at - 1 : NULL;
        WORLD_CHECK(c->w,
                    at->way > CLUMP_WAY_HOST && at->way <= CLUMP_WAY_REFILL &&
                        at->launch < log->launch_count &&
                        (!before || before->launch + (at->way != CLUMP_WAY_NARROW) <= at->launch),
                    "turn %u goes way %d in launch %u of %u", i, (int)at->way, at->launch,
                    log->launch_count);
        const clump_mark_launch *l = &log->launches[at->launch];
        WORLD_CHECK(c->w,
                    l->clock_begin <= at->clock && at->clock <= l->clock_end &&
                        (!before || before->launch < at->launch || before->clock <= at->clock),
                    "turn %u is at %llu of %llu .. %llu", i, (unsigned long long)at->clock,
                    (unsigned long long)l->clock_begin, (unsigned long long)l->clock_end);
        if (at->way == CLUMP_WAY_NARROW || at->way == CLUMP_WAY_QUEUE) objects += at->objects;
        ways_taken[at->way]++;
    }
    same_number(c->w, "narrow turns", ways_taken[CLUMP_WAY_NARROW], r->narrow_levels);
    same_number(c->w, "sweeps", ways_taken[CLUMP_WAY_ROWS], r->sweeps);
    same_number(c->w, "refills", ways_taken[CLUMP_WAY_REFILL], r->refills);
    if (!r->sweeps && !r->refills)
        same_number(c->w, "objects of all levels", objects, c->live_count);
}

static void check_launches(const gc_case *c, const clump_mark_log *log) {
    for (uint32_t i = 0; i < log->launch_count; i++) {
        const clump_mark_launch *l = &log->launches[i];
        WORLD_CHECK(c->w,
                    l->queued_us <= l->start_us && l->start_us <= l->end_us && l->end_us > 0 &&
                        (!i || l[-1].end_us <= l->start_us),
                    "launch %u is at %g, %g, %g us", i, l->queued_us, l->start_us, l->end_us);
    }
}

/* A log without room for all: nothing is written behind it, by the host or on the device, where
 * launches stand behind turns. */
static void check_full_log(gc_case *c, const clump_collect_desc *desc, clump_mark_log *log) {
    enum { ROOM = 3 };
    const uint64_t before = log->launch_count ? log->launches[log->launch_count - 1].clock_end : 0;
    clump_mark_turn turn;
    clump_mark_launch launch;
    memset(&turn, 0xdd, sizeof turn);
    memset(&launch, 0xdd, sizeof launch);
    log->turns[ROOM] = turn;
    log->launches[ROOM] = launch;
    log->room = ROOM;
    clump_collect_report r = case_run(c, desc);
    assert_memory_equal(&log->turns[ROOM], &turn, sizeof turn);
    assert_memory_equal(&log->launches[ROOM], &launch, sizeof launch);
    same_number(c->w, "turns", log->turn_count, (uint64_t)r.levels + r.sweeps + r.refills);
    for (uint32_t i = 0; i < ROOM && i < log->launch_count && desc->engine != CLUMP_MARK_HOST; i++)
        WORLD_CHECK(c->w, log->launches[i].clock_begin >= before,
                    "launch %u began before those of the run before ended", i);
    log->room = LOG_ROOM;
}

/* What each level and launch did, for every way, some of which have no room for a level in the
 * queue. */
static void logged(void **state) {
    gc_case c;
    uint32_t count;
    uint64_t refills = 0, sweeps = 0;
    empty_case(SHAPES, 0, &c);
    clump_ref *n = shuffled(&c, "Node", &count);
    make_hourglass(&c, n, count < 900 ? count : 900);
    case_expect(&c);
    clump_mark_turn *turns = calloc(LOG_ROOM, sizeof *turns);
    clump_mark_launch *launches = calloc(LOG_ROOM, sizeof *launches);
    assert_true(turns && launches);
    for (size_t i = 0; i < WAYS; i++) {
        clump_mark_tuning tuning = ways[i].tuning ? *ways[i].tuning : (clump_mark_tuning){0};
        clump_mark_log log = {.room = LOG_ROOM, .turns = turns, .launches = launches};
        clump_collect_desc desc = ways[i];
        tuning.log = &log;
        tuning.stay = 1;
        desc.tuning = &tuning;
        LABEL(c.w, "log of way %zu", i);
        clump_collect_report r = case_run(&c, &desc);
        same_number(c.w, "turns", log.turn_count, (uint64_t)r.levels + r.sweeps + r.refills);
        assert_true(log.turn_count <= LOG_ROOM && log.launch_count <= LOG_ROOM);
        if (desc.engine != CLUMP_MARK_HOST) check_turns(&c, &log, &r);
        check_launches(&c, &log);
        check_full_log(&c, &desc, &log);
        refills += r.refills;
        sweeps += r.sweeps;
    }
    assert_true(refills && sweeps);
    free(turns);
    free(launches);
    free(n);
    case_drop(&c);
}

/* The tree is given back by the host, which takes over what is behind it, too. */
static void given_back(void **state) {
    gc_case c;
    long_case(make_hourglass, 1, &c);
    LABEL(c.w, "hourglass of %u", c.live_count);
    clump_collect_report r =
        run_off_cpu(&c, &(clump_collect_desc){.size = sizeof(clump_collect_desc)});
    uint32_t tree = hourglass_tree(c.live_count), depth = 0;
    while (tree >> depth) depth++;
    depth += c.live_count - tree; /* a level that overflows the queue counts more than once */
    WORLD_CHECK(c.w, r.levels >= depth && r.levels <= depth + 20 * r.refills,
                "%u levels, expected %u", r.levels, depth);
    WORLD_CHECK(
        c.w,
        r.host_us > 0 && r.engine_changes >= 4 && r.refills && r.narrow_levels < c.live_count / 4,
        "the host took %g us, %u changes, %u refills, %u narrow levels", r.host_us,
        r.engine_changes, r.refills, r.narrow_levels);
    case_drop(&c);
}

/* So many lists side by side are not: a level of them takes the host longer. */
static void wide_enough_to_stay(void **state) {
    gc_case c;
    long_case(make_ribbon, 1, &c);
    LABEL(c.w, "ribbon of %u", c.live_count);
    clump_collect_report r =
        run_off_cpu(&c, &(clump_collect_desc){.size = sizeof(clump_collect_desc)});
    WORLD_CHECK(c.w, r.host_us == 0 && r.levels > 5000, "the host took %g us, %u levels", r.host_us,
                r.levels);
    case_drop(&c);
}

/* ---- Around kernels -------------------------------------------------------------------------- */

static const char source[] =
    "__kernel void make(CLUMP_HEAP) {\n"
    "    CLUMP_FOR_EACH_NEW(Item, self, i) {\n"
    "        Item_value(self) = i;\n"
    "        Item_next(self).id = i % 64u ? self.id - 1u : 0u;\n"
    "        Item_next(self) = Item_is_null(Item_next(self)) || !Item_is_live(Item_next(self))\n"
    "                              ? Item_null : Item_next(self);\n"
    "    }\n"
    "}\n"
    "__kernel void last_words(CLUMP_HEAP_NO_ALLOC, __global const uint *dead, __global uint *sum,\n"
    "                         uint factor) {\n"
    "    for (uint i = get_global_id(0); i < dead[0]; i += get_global_size(0)) {\n"
    "        Item item;\n"
    "        item.id = dead[1 + i];\n"
    "        if (Item_is_live(item)) atomic_add(sum, factor * (Item_value(item) + 1u));\n"
    "    }\n"
    "}\n"
    "__kernel void fill(CLUMP_HEAP, uint count, __global uint *none) {\n"
    "    for (uint i = get_global_id(0); i < count; i += get_global_size(0)) {\n"
    "        Item item = Item_new();\n"
    "        if (Item_is_null(item)) atomic_inc(none);\n"
    "        else Item_next(item) = Item_null; /* what is not written is what the memory held */\n"
    "    }\n"
    "}\n";
static const char items[] = "class Item { uint value; ref Item next; }";

enum { MAKE, LAST_WORDS, FILL };
static const char *const kernel_names[CL_FIXTURE_KERNELS] = {
    [MAKE] = "make", [LAST_WORDS] = "last_words", [FILL] = "fill"};

static cl_fixture_kit kit_open(uint32_t blocks) {
    return cl_fixture_kit_open(f, items, blocks, source, kernel_names);
}

/* The finaliser sees every dead object while it still is one; the event comes after all of it. */
static void finalisers(void **state) {
    enum { COUNT = 640 };
    cl_fixture_kit k = kit_open(20);
    uint64_t made, count;
    clump_ref refs[COUNT];
    uint32_t values[COUNT], sum = 0, factor = 3, expected = 0, one = 1;
    CHECK_OK(f, clump_heap_do_new(k.heap, k.kernels[MAKE], "Item", COUNT, &made, NULL));
    assert_int_equal(made, COUNT);
    CHECK_OK(f, clump_heap_read_refs(k.heap, "Item", refs, COUNT, &count));
    CHECK_OK(
        f, clump_heap_read_field(k.heap, "Item", "value", 0, sizeof *values, values, COUNT, NULL));
    /* In lists of 64, each object refers to its forerunner: of each list the first half stays. */
    clump_ref roots[COUNT / 64];
    for (uint32_t i = 0; i < COUNT; i++) {
        if (values[i] % 64 == 31) roots[values[i] / 64] = refs[i];
        if (values[i] % 64 > 31) expected += factor * (values[i] + 1);
    }
    cl_mem dead = cl_fixture_buffer(f, NULL, (COUNT + 1) * 4),
           total = cl_fixture_buffer(f, &sum, 4);
    cl_mem none = cl_fixture_buffer(f, NULL, 4);
    SET_ARG(f, k.kernels[LAST_WORDS], 1, total);
    SET_ARG(f, k.kernels[LAST_WORDS], 2, factor);
    SET_ARG(f, k.kernels[FILL], 0, one);
    SET_ARG(f, k.kernels[FILL], 1, none);
    cl_event before, after;
    CHECK_OK(f, clump_heap_launch(k.heap, k.kernels[FILL], 1, 1, &(clump_sync){.event = &before}));
    clump_collect_desc d = {.size = sizeof d,
                            .roots = roots,
                            .root_count = COUNT / 64,
                            .dead = dead,
                            .finaliser = k.kernels[LAST_WORDS]};
    clump_sync sync = {.wait_count = 1, .wait_list = &before, .event = &after};
    CHECK_OK(f, clump_heap_collect(k.heap, &d, NULL, &sync));
    CHECK_CL(clWaitForEvents(1, &after));
    CHECK_CL(clReleaseEvent(before));
    CHECK_CL(clReleaseEvent(after));
    /* The list was the finaliser's for that one launch only. */
    CHECK_STATUS(f, clump_heap_do_all(k.heap, k.kernels[LAST_WORDS], NULL), CLUMP_ERR_USAGE);
    CHECK_OK(f, clump_heap_read_count(k.heap, "Item", &count));
    assert_int_equal(count, COUNT / 2);
    cl_fixture_read(f, total, &sum, 4);
    cl_fixture_read(f, dead, values, 4);
    assert_int_equal(values[0], COUNT / 2 + 1); /* and the one that was just made, of any value */
    clump_ref extra[COUNT + 1];
    cl_fixture_read(f, dead, extra, sizeof extra);
    for (uint32_t i = 0; i < COUNT / 2 + 1; i++) { /* which one: it is none of those known */
        uint32_t known = 0, value;
        for (uint32_t n = 0; n < COUNT; n++) known |= refs[n] == extra[1 + i];
        if (known) continue;
        uint64_t at = (uint64_t)(extra[1 + i] >> 6) * clump_heap_get_info(k.heap)->granule_bytes;
        CHECK_OK(f, clumpi_blocks_read(k.heap, at + (extra[1 + i] & 63) * 4, 4, &value));
        expected += factor * (value + 1);
    }
    assert_int_equal(sum, expected);
    CHECK_HEAP(f, k.heap);
    clReleaseMemObject(dead);
    clReleaseMemObject(total);
    clReleaseMemObject(none);
    cl_fixture_kit_close(&k);
}

/* What was freed can be had again, from a heap that was full. */
static void room_again(void **state) {
    clumpi_launch_sizes before = f->clump->sizes;
    cl_fixture_kit k = kit_open(8);
    uint32_t none = 0, count = (uint32_t)cl_fixture_free_slots(f, k.heap, "Item");
    for (int round = 0; round < 4; round++) {
        cl_mem missed = cl_fixture_buffer(f, NULL, 4);
        uint32_t more = count + 10;
        SET_ARG(f, k.kernels[FILL], 0, more);
        SET_ARG(f, k.kernels[FILL], 1, missed);
        CHECK_OK(f, clump_heap_launch(k.heap, k.kernels[FILL], 256, 64, NULL));
        cl_fixture_read(f, missed, &none, 4);
        clReleaseMemObject(missed);
        assert_int_equal(none, 10);
        CHECK_STATUS(f, clump_heap_take_errors(k.heap, NULL), CLUMP_ERR_DEVICE);
        clump_collect_report r = {.size = sizeof r};
        if (round == 2) f->clump->sizes.pass_groups = 1; /* whichever group it is that tells */
        CHECK_OK(f, clump_heap_collect(k.heap, NULL, round == 1 ? NULL : &r, NULL));
        if (round != 1) assert_int_equal(r.dead, count);
        CHECK_HEAP(f, k.heap);
    }
    f->clump->sizes = before;
    cl_fixture_kit_close(&k);
}

/* The only weak field of the schema, in its first class and in its last. */
static void one_weak_field(void **state) {
    static const char *const schemas[] = {
        "class Item { uint value; weak ref Item last; } class Other { uint a; }",
        "class Other { uint a; } class Item { uint value; weak ref Item last; }"};
    static const char text[] =
        "__kernel void make(CLUMP_HEAP) {\n"
        "    CLUMP_FOR_EACH_NEW(Item, self, i) { Item_value(self) = i; Item_last(self) = self; }\n"
        "}\n"
        "__kernel void link(CLUMP_HEAP_NO_ALLOC, uint to) {\n"
        "    CLUMP_FOR_EACH(Item, self) Item_last(self).id = to;\n"
        "}\n";
    for (int i = 0; i < 2; i++) {
        clump_heap *heap = cl_fixture_heap_of_blocks(f, schemas[i], 8, 1);
        clump_program *program = cl_fixture_program(f, heap, text, NULL, NULL);
        clump_kernel *make = cl_fixture_kernel(f, program, "make"),
                     *link = cl_fixture_kernel(f, program, "link");
        uint64_t made, count;
        clump_ref refs[2], last = 77;
        CHECK_OK(f, clump_heap_do_new(heap, make, "Item", 2, &made, NULL));
        CHECK_OK(f, clump_heap_read_refs(heap, "Item", refs, 2, &count));
        SET_ARG(f, link, 0, refs[1]);
        CHECK_OK(f, clump_heap_do_all(heap, link, NULL));
        clump_collect_desc desc = {.size = sizeof desc, .roots = refs, .root_count = 1};
        CHECK_OK(f, clump_heap_collect(heap, &desc, NULL, NULL));
        CHECK_OK(f, clump_heap_read_field(heap, "Item", "last", 0, sizeof(last), &last, 1, NULL));
        assert_int_equal(last, 0);
        CHECK_OK(f, clump_heap_read_count(heap, "Item", &count));
        assert_int_equal(count, 1);
        clump_kernel_destroy(make);
        clump_kernel_destroy(link);
        clump_program_destroy(program);
        clump_heap_destroy(heap);
    }
}

/* ---- When ------------------------------------------------------------------------------------ */

static int tick(clump_collector *collector) {
    int ran;
    CHECK_OK(f, clump_collector_tick(collector, &ran, NULL, NULL));
    return ran;
}

static void make_items(cl_fixture_kit *k, uint32_t count) {
    cl_mem missed = cl_fixture_buffer(f, NULL, 4);
    SET_ARG(f, k->kernels[FILL], 0, count);
    SET_ARG(f, k->kernels[FILL], 1, missed);
    CHECK_OK(f, clump_heap_launch(k->heap, k->kernels[FILL], 64, 64, NULL));
    CHECK_CL(clFinish(f->queue));
    clReleaseMemObject(missed);
}

static void triggers(void **state) {
    cl_fixture_kit k = kit_open(40);
    uint32_t capacity = cl_fixture_capacity(k.heap, "Item");
    clump_collector *collector;
    clump_collector_desc every = {.size = sizeof every, .heap = k.heap, .every = 3};
    CHECK_OK(f, clump_collector_create(&every, &collector, NULL));
    for (int i = 1; i <= 9; i++) assert_int_equal(tick(collector), i % 3 == 0);
    clump_collector_destroy(collector);

    clump_collector_desc failed = {.size = sizeof failed, .heap = k.heap, .out_of_memory = 1};
    CHECK_OK(f, clump_collector_create(&failed, &collector, NULL));
    assert_int_equal(tick(collector), 0);
    make_items(&k, 41 * capacity);
    assert_int_equal(tick(collector), 1);
    assert_int_equal(tick(collector), 0); /* still counted, but known */
    CHECK_STATUS(f, clump_heap_take_errors(k.heap, NULL), CLUMP_ERR_DEVICE);
    assert_int_equal(tick(collector), 0);
    make_items(&k, 41 * capacity);
    assert_int_equal(tick(collector), 1);
    CHECK_STATUS(f, clump_heap_take_errors(k.heap, NULL), CLUMP_ERR_DEVICE);
    clump_collector_destroy(collector);

    /* With everything a root nothing dies, and the trigger must not fire again and again. */
    static const char *const all[] = {"Item"};
    clump_collector_desc full = {.size = sizeof full, .heap = k.heap, .fill = 0.5, .growth = 0.2};
    CHECK_OK(f, clump_collector_create(&full, &collector, NULL));
    make_items(&k, 10 * capacity);
    assert_int_equal(tick(collector), 0);
    make_items(&k, 12 * capacity);
    assert_int_equal(tick(collector), 1); /* all 22 die */
    clump_collector_destroy(collector);
    full.collect = &(clump_collect_desc){
        .size = sizeof(clump_collect_desc), .root_classes = all, .root_class_count = 1};
    CHECK_OK(f, clump_collector_create(&full, &collector, NULL));
    make_items(&k, 22 * capacity);
    assert_int_equal(tick(collector), 1);
    assert_int_equal(tick(collector), 0);
    make_items(&k, 6 * capacity);
    assert_int_equal(tick(collector), 0);
    make_items(&k, 4 * capacity);
    assert_int_equal(tick(collector), 1);
    clump_collector_destroy(collector);
    CHECK_HEAP(f, k.heap);
    cl_fixture_kit_close(&k);
}

/* A compaction that fails after the dead are gone, and a collection that fails before. */
static void failed_ticks(void **state) {
    static const char *names[] = {"Item"};
    cl_fixture_kit k = kit_open(40);
    const uint32_t capacity = cl_fixture_capacity(k.heap, "Item");
    clump_ref *refs = calloc(30 * capacity, sizeof *refs);
    uint64_t count;
    make_items(&k, 30 * capacity);
    CHECK_OK(f, clump_heap_read_refs(k.heap, "Item", refs, 30 * capacity, &count));
    const clump_compact_desc order = {.size = sizeof order, .order = CLUMP_ORDER_ADDRESS};
    clump_collector_desc desc = {
        .size = sizeof desc,
        .heap = k.heap,
        .every = 2,
        .collect = &(clump_collect_desc){.size = sizeof(clump_collect_desc),
                                         .roots = refs,
                                         .root_count = 25 * (uint64_t)capacity,
                                         .compact = &order}};
    clump_collector *collector;
    clump_collect_report report = {.size = sizeof report};
    int ran = 0;
    CHECK_OK(f, clump_collector_create(&desc, &collector, NULL));
    assert_int_equal(tick(collector), 0);
    CHECK_STATUS(f, clump_collector_tick(collector, &ran, &report, NULL), CLUMP_ERR_DEVICE_MEMORY);
    assert_int_equal(ran, 1);
    assert_int_equal(report.live, 25 * capacity);
    assert_int_equal(report.dead, 5 * capacity);
    CHECK_OK(f, clump_heap_read_count(k.heap, "Item", &count));
    assert_int_equal(count, 25 * capacity);
    assert_int_equal(tick(collector), 0);
    clump_collector_destroy(collector);

    desc = (clump_collector_desc){
        .size = sizeof(clump_collector_desc),
        .heap = k.heap,
        .out_of_memory = 1,
        .collect = &(clump_collect_desc){.size = sizeof(clump_collect_desc),
                                         .root_classes = (const char *const *)names,
                                         .root_class_count = 1}};
    CHECK_OK(f, clump_collector_create(&desc, &collector, NULL));
    make_items(&k, 16 * capacity);
    names[0] = "Nothing";
    for (int i = 0; i < 2; i++) {
        CHECK_STATUS(f, clump_collector_tick(collector, &ran, NULL, NULL), CLUMP_ERR_NOT_FOUND);
        assert_int_equal(ran, 0);
    }
    names[0] = "Item";
    assert_int_equal(tick(collector), 1);
    assert_int_equal(tick(collector), 0);
    clump_collector_destroy(collector);
    CHECK_STATUS(f, clump_heap_take_errors(k.heap, NULL), CLUMP_ERR_DEVICE);
    CHECK_HEAP(f, k.heap);
    cl_fixture_kit_close(&k);
    free(refs);
}

/* ---- Opening devices ------------------------------------------------------------------------- */

static int open_all(uint32_t disable, int out_of_order) {
    cl_fixture_desc desc = {.disable = disable, .out_of_order = out_of_order};
    return cl_fixture_open(f, &desc);
}

static void close_all(int failed) {
    close_worlds(failed);
    if (!failed) cl_fixture_close(f);
}

/* As if the device were no CPU, and had two compute units: kernels are chosen at the first heap. */
static int open_tiny(void) {
    int result = open_all(0, 0);
    if (result) return result;
    clump_capabilities *c = &f->clump->capabilities;
    c->personality = CLUMP_PERSONALITY_GPU;
    clumpi_device_sizes(c, &f->clump->sizes);
    f->clump->sizes.do_all_global = 2 * f->clump->sizes.do_all_local;
    f->clump->sizes.pass_groups = 2;
    f->clump->sizes.scan_groups = 2;
    return 0;
}

static void tiny(void **state) {
    gc_case c;
    opened[MIDDLE] = world_open(f, graph, 4, 1, 0);
    random_case(MIDDLE, &fills[0], 30, 15, 1, &c);
    try_ways(&c, "tiny", 3, 4);
    case_drop(&c);
    close_worlds(0);
}

int main(int argc, char **argv) {
    const char *text = getenv("CLUMP_SEED");
    if (text) seed = strtoull(text, NULL, 0);
    if (argc > 1 && strcmp(argv[1], "tiny") == 0) {
        const struct CMUnitTest alone[] = {cmocka_unit_test(tiny)};
        int opening = open_tiny();
        return opening ? opening : cmocka_run_group_tests_name("tiny", alone, NULL, NULL);
    }
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(random_narrow),
        cmocka_unit_test(random_middle),
        cmocka_unit_test(random_wide),
        cmocka_unit_test(kinds_of_roots),
        cmocka_unit_test(listed_classes),
        cmocka_unit_test(self_loops),
        cmocka_unit_test(grid),
        cmocka_unit_test(stars),
        cmocka_unit_test(deep_then_wide),
        cmocka_unit_test(lists),
        cmocka_unit_test(random_nodes),
        cmocka_unit_test(all_garbage),
        cmocka_unit_test(no_garbage),
        cmocka_unit_test(chain),
        cmocka_unit_test(finalisers),
        cmocka_unit_test(room_again),
        cmocka_unit_test(triggers),
        cmocka_unit_test(failed_ticks),
        cmocka_unit_test(handed_over),
        cmocka_unit_test(given_back),
        cmocka_unit_test(wide_enough_to_stay),
        cmocka_unit_test(one_weak_field),
        cmocka_unit_test(logged),
    };
    const struct CMUnitTest few[] = {
        cmocka_unit_test(random_middle),
        cmocka_unit_test(stars),
        cmocka_unit_test(finalisers),
    };
    int result = open_all(0, 0);
    if (result) return result;
    result = cmocka_run_group_tests_name("collection", tests, NULL, NULL);
    close_all(result);
    if (open_all(0, 1) == 0) {
        int failed = cmocka_run_group_tests_name("queue out of order", few, NULL, NULL);
        close_all(failed);
        result += failed;
    }
    if (cl_fixture_is_whole() && !open_all(CLUMP_FEATURE_INT64_ATOMICS, 0)) {
        int failed = cmocka_run_group_tests_name("32-bit words", few, NULL, NULL);
        close_all(failed);
        result += failed;
    }
    return result;
}
