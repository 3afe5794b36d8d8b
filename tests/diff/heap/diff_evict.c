/* Objects that leave the device's memory and come back, against a model: random runs of evicting,
 * fetching, making, freeing and stepping in a heap that has memory for about half of them. Then
 * what is refused, what kernels see of an evicted object, and what happens when something fails.
 *
 * Read first: include/clump/evict.h, host/heap/evict.c.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cl_fixture.h"
#include "clump/convert.h"
#include "clump/evict.h"
#include "heap/heap.h"
#include "saved_heap.h"

static const char schema_text[] =
    "abstract class Thing { uint id; ref Thing friend; }\n"
    "class Stone : Thing { uint weight; uint marks[3]; }\n"
    "class Plant : Thing { ulong height; uchar kind; }\n";

static const char source[] =
    "__kernel void make_stones(CLUMP_HEAP, uint first, uint count, __global Stone *refs) {\n"
    "    uint i = (uint)get_global_id(0);\n"
    "    if (i >= count) return;\n"
    "    Stone s = Stone_new();\n"
    "    refs[first + i] = s;\n"
    "    if (Stone_is_null(s)) return;\n"
    "    Stone_id(s) = first + i;\n"
    "    Stone_friend(s) = Thing_null;\n"
    "    Stone_weight(s) = 7u * (first + i);\n"
    "    for (uint k = 0; k < 3; k++) Stone_marks(s, k) = (first + i) ^ k;\n"
    "}\n"
    "__kernel void make_plants(CLUMP_HEAP, uint first, uint count, __global Plant *refs) {\n"
    "    uint i = (uint)get_global_id(0);\n"
    "    if (i >= count) return;\n"
    "    Plant p = Plant_new();\n"
    "    refs[first + i] = p;\n"
    "    if (Plant_is_null(p)) return;\n"
    "    Plant_id(p) = first + i;\n"
    "    Plant_friend(p) = Thing_null;\n"
    "    Plant_height(p) = 11ul * (first + i);\n"
    "    Plant_kind(p) = (uchar)(first + i);\n"
    "}\n"
    "__kernel void befriend(CLUMP_HEAP_NO_ALLOC, __global const Thing *refs, uint count) {\n"
    "    CLUMP_FOR_EACH(Thing, t) Thing_friend(t) = refs[(Thing_id(t) * 31u + 1u) % count];\n"
    "}\n"
    "__kernel void grow(CLUMP_HEAP_NO_ALLOC) {\n"
    "    CLUMP_FOR_EACH(Plant, p) Plant_height(p) += 1ul;\n"
    "}\n"
    "__kernel void drop(CLUMP_HEAP, __global const Thing *refs, uint count) {\n"
    "    uint i = (uint)get_global_id(0);\n"
    "    if (i < count) Thing_free(refs[i]);\n"
    "}\n"
    "__kernel void spoil(CLUMP_HEAP_NO_ALLOC, __global const Stone *refs, uint count) {\n"
    "    uint i = (uint)get_global_id(0);\n"
    "    if (i >= count) return;\n"
    "    Stone_id(refs[i]) = Stone_weight(refs[i]) = 0xbadu;\n"
    "    for (uint k = 0; k < 3; k++) Stone_marks(refs[i], k) = 0xbadu;\n"
    "}\n"
    /* seen[id]: how often it was visited, or 100 more for each thing that is wrong with it. */
    "__kernel void look(CLUMP_HEAP_NO_ALLOC, __global uint *seen, __global ulong *heights, "
    "__global "
    "const Thing *refs,\n"
    "                   __global const uint *friends) {\n"
    "    CLUMP_FOR_EACH(Thing, t) {\n"
    "        uint id = Thing_id(t), wrong = 0;\n"
    "        wrong += t.id != refs[id].id || Thing_friend(t).id != friends[id];\n"
    "        if (Thing_is_Stone(t)) {\n"
    "            Stone s = Thing_as_Stone(t);\n"
    "            wrong += Stone_weight(s) != 7u * id;\n"
    "            for (uint k = 0; k < 3; k++) wrong += Stone_marks(s, k) != (id ^ k);\n"
    "        } else {\n"
    "            Plant p = Thing_as_Plant(t);\n"
    "            wrong += Plant_kind(p) != (uchar)id;\n"
    "            heights[id] = Plant_height(p);\n"
    "        }\n"
    "        atomic_add(&seen[id], 1u + 100u * wrong);\n"
    "    }\n"
    "}\n"
    "__kernel void ask(CLUMP_HEAP, __global const Thing *refs, uint count, __global uint *answers) "
    "{\n"
    "    uint i = (uint)get_global_id(0);\n"
    "    if (i >= count) return;\n"
    "    answers[i] = Thing_is_live(refs[i]) | Thing_is_Stone(refs[i]) << 1 | "
    "Thing_is_Plant(refs[i]) << 2;\n"
    "}\n";

enum { MAKE_STONES, MAKE_PLANTS, BEFRIEND, GROW, DROP, LOOK, ASK, SPOIL, KERNELS };
static const char *const names[KERNELS] = {"make_stones", "make_plants", "befriend", "grow",
                                           "drop",        "look",        "ask",      "spoil"};
enum { MOST = 120000 };

static cl_fixture on;

typedef struct thing {
    clump_ref ref; /* 0: freed */
    uint32_t friend, is_plant;
    uint64_t height;
} thing;

typedef struct world {
    clump_heap *heap;
    clump_program *program;
    clump_kernel *kernels[KERNELS];
    cl_mem refs, seen, heights, friends, dying;
    thing *things;
    uint8_t *is_away; /* by block */
    uint32_t count, seed;
} world;

static uint32_t draw(world *w, uint32_t below) {
    w->seed = w->seed * 1664525u + 1013904223u;
    return test_hash(w->seed) % below;
}

static uint32_t block_of(const world *w, clump_ref ref) {
    return (ref >> 6) / clump_heap_get_info(w->heap)->block_granules;
}

static int is_evicted(const world *w, uint32_t id) {
    return w->is_away[block_of(w, w->things[id].ref)];
}

static uint64_t heap_bytes(void) {
    return cl_fixture_small_heap_bytes(on.clump) + (UINT64_C(2) << 20);
}

static clump_heap *open_heap(clump_context *context, const char *text, uint64_t more) {
    clump_schema *schema;
    clump_heap *heap = NULL;
    assert_int_equal(clump_schema_parse(text, strlen(text), NULL, &schema, NULL), CLUMP_OK);
    clump_heap_desc desc = {.size = sizeof desc,
                            .context = context,
                            .schema = schema,
                            .bytes = heap_bytes(),
                            .evictable_bytes = more,
                            .block_rows = 4};
    CHECK_OK(&on, clump_heap_create(&desc, &heap, NULL));
    clump_schema_destroy(schema);
    return heap;
}

static void open_world(world *w, uint32_t seed) {
    memset(w, 0, sizeof *w);
    w->seed = seed;
    w->heap = open_heap(on.clump, schema_text, heap_bytes());
    w->program = cl_fixture_program(&on, w->heap, source, NULL, NULL);
    for (int i = 0; i < KERNELS; i++) w->kernels[i] = cl_fixture_kernel(&on, w->program, names[i]);
    w->refs = cl_fixture_buffer(&on, NULL, MOST * 4);
    w->seen = cl_fixture_buffer(&on, NULL, MOST * 4);
    w->friends = cl_fixture_buffer(&on, NULL, MOST * 4);
    w->dying = cl_fixture_buffer(&on, NULL, MOST * 4);
    w->heights = cl_fixture_buffer(&on, NULL, MOST * 8);
    w->things = calloc(MOST, sizeof *w->things);
    w->is_away = calloc(w->heap->geometry.header.block_end, 1);
    assert_true(w->things && w->is_away);
}

static void close_world(world *w) {
    for (int i = 0; i < KERNELS; i++) clump_kernel_destroy(w->kernels[i]);
    clump_program_destroy(w->program);
    clump_heap_destroy(w->heap);
    clReleaseMemObject(w->refs);
    clReleaseMemObject(w->seen);
    clReleaseMemObject(w->friends);
    clReleaseMemObject(w->dying);
    clReleaseMemObject(w->heights);
    free(w->things);
    free(w->is_away);
}

/* All references, as kernels get them. */
static void write_refs(world *w) {
    uint32_t *refs = calloc(MOST, 4), *friends = calloc(MOST, 4);
    assert_true(refs && friends);
    for (uint32_t i = 0; i < w->count; i++) {
        refs[i] = w->things[i].ref;
        friends[i] = w->things[i].friend;
    }
    cl_fixture_write(&on, w->refs, refs, MOST * 4);
    cl_fixture_write(&on, w->friends, friends, MOST * 4);
    free(refs);
    free(friends);
}

/* Objects that are in memory are as the model has them, and no others are visited. */
static void check_world(world *w, const char *when) {
    static uint32_t seen[MOST];
    static uint64_t heights[MOST];
    uint64_t evicted = 0;
    uint8_t *has_evicted = calloc(w->heap->geometry.header.block_end, 1);
    assert_non_null(has_evicted);
    memset(seen, 0, sizeof seen);
    memset(heights, 0, sizeof heights);
    write_refs(w);
    cl_fixture_write(&on, w->seen, seen, sizeof seen);
    cl_fixture_write(&on, w->heights, heights, sizeof heights);
    SET_ARG(&on, w->kernels[LOOK], 0, w->seen);
    SET_ARG(&on, w->kernels[LOOK], 1, w->heights);
    SET_ARG(&on, w->kernels[LOOK], 2, w->refs);
    SET_ARG(&on, w->kernels[LOOK], 3, w->friends);
    CHECK_OK(&on, clump_heap_do_all(w->heap, w->kernels[LOOK], NULL));
    cl_fixture_read(&on, w->seen, seen, sizeof seen);
    cl_fixture_read(&on, w->heights, heights, sizeof heights);
    for (uint32_t i = 0; i < w->count; i++) {
        const thing *t = &w->things[i];
        uint32_t is_there = t->ref && !is_evicted(w, i);
        if (t->ref && is_evicted(w, i)) evicted++, has_evicted[block_of(w, t->ref)] = 1;
        if (seen[i] != is_there)
            fail_msg("%s: object %u, reference 0x%08x: %u, expected %u", when, i, t->ref, seen[i],
                     is_there);
        if (is_there && t->is_plant && heights[i] != t->height)
            fail_msg("%s: object %u has %llu, expected %llu", when, i,
                     (unsigned long long)heights[i], (unsigned long long)t->height);
    }
    const clump_heap_info *info = clump_heap_get_info(w->heap);
    assert_int_equal(info->evicted_objects, evicted);
    uint64_t blocks = 0;
    for (uint32_t b = 0; b < w->heap->geometry.header.block_end; b++) blocks += has_evicted[b];
    assert_int_equal(info->evicted_blocks, blocks);
    free(has_evicted);
    CHECK_HEAP(&on, w->heap);
}

static void make(world *w, int is_plant, uint32_t count) {
    uint32_t *refs = calloc(MOST, 4), first = w->count;
    assert_non_null(refs);
    if (first + count > MOST) count = MOST - first;
    clump_kernel *k = w->kernels[is_plant ? MAKE_PLANTS : MAKE_STONES];
    SET_ARG(&on, k, 0, first);
    SET_ARG(&on, k, 1, count);
    SET_ARG(&on, k, 2, w->refs);
    if (count) CHECK_OK(&on, clump_heap_launch(w->heap, k, (count + 63) / 64 * 64, 64, NULL));
    (void)clump_heap_take_errors(w->heap, NULL); /* of memory that ran out */
    cl_fixture_read(&on, w->refs, refs, MOST * 4);
    for (uint32_t i = first; i < first + count; i++) {
        w->things[i] = (thing){refs[i], 0, (uint32_t)is_plant, UINT64_C(11) * i};
        if (refs[i] && w->is_away[block_of(w, refs[i])]) fail_msg("made in an evicted block");
    }
    w->count = first + count;
    free(refs);
}

static void befriend(world *w) {
    write_refs(w);
    SET_ARG(&on, w->kernels[BEFRIEND], 0, w->refs);
    SET_ARG(&on, w->kernels[BEFRIEND], 1, w->count);
    CHECK_OK(&on, clump_heap_do_all(w->heap, w->kernels[BEFRIEND], NULL));
    for (uint32_t i = 0; i < w->count; i++)
        if (w->things[i].ref && !is_evicted(w, i))
            w->things[i].friend = w->things[(i * 31 + 1) % w->count].ref;
}

static void grow(world *w) {
    CHECK_OK(&on, clump_heap_do_all(w->heap, w->kernels[GROW], NULL));
    for (uint32_t i = 0; i < w->count; i++)
        if (w->things[i].ref && w->things[i].is_plant && !is_evicted(w, i)) w->things[i].height++;
}

/* One of `of` objects that are in memory. */
static void drop(world *w, uint32_t of) {
    uint32_t *dying = calloc(MOST, 4), count = 0;
    assert_non_null(dying);
    for (uint32_t i = 0; i < w->count; i++) {
        if (!w->things[i].ref || is_evicted(w, i) || draw(w, of)) continue;
        dying[count++] = w->things[i].ref;
        w->things[i].ref = 0;
    }
    cl_fixture_write(&on, w->dying, dying, MOST * 4);
    SET_ARG(&on, w->kernels[DROP], 0, w->dying);
    SET_ARG(&on, w->kernels[DROP], 1, count);
    if (count)
        CHECK_OK(&on,
                 clump_heap_launch(w->heap, w->kernels[DROP], (count + 63) / 64 * 64, 64, NULL));
    free(dying);
}

/* What a call did, told by the records that the heap has. Returns the number of blocks that
 * changed. */
static uint64_t note_away(world *w) {
    uint64_t changed = 0;
    const clumpi_header *h = &w->heap->geometry.header;
    clumpi_u32 *states = calloc(h->block_end, sizeof *states);
    assert_non_null(states);
    CHECK_OK(&on, clumpi_read(on.clump, w->heap->info.buffer, (uint64_t)h->at_states * CLUMPI_UNIT,
                              h->block_end * sizeof *states, states));
    for (uint32_t b = h->first_block; b < h->block_end; b++) {
        uint8_t is_away = states[b] >> CLUMPI_CLASS_SHIFT == h->class_count;
        changed += w->is_away[b] != is_away;
        w->is_away[b] = is_away;
    }
    free(states);
    return changed;
}

static void evict(world *w, clump_evict_desc desc) {
    clump_evict_report report = {.size = sizeof report};
    clump_status status = clump_heap_evict(w->heap, &desc, &report);
    if (status == CLUMP_ERR_DEVICE_MEMORY) {
        assert_int_equal(note_away(w), 0);
        return;
    }
    CHECK_OK(&on, status);
    assert_int_equal(note_away(w), 2 * report.blocks); /* as many got their frames */
    if (desc.blocks) assert_true(report.blocks <= desc.blocks);
}

static void fetch(world *w, clump_evict_desc desc) {
    clump_evict_report report = {.size = sizeof report};
    clump_status status = clump_heap_bring_back(w->heap, &desc, &report);
    if (status == CLUMP_ERR_DEVICE_MEMORY) {
        assert_int_equal(note_away(w), 0);
        return;
    }
    CHECK_OK(&on, status);
    assert_int_equal(note_away(w), 2 * report.blocks);
    for (uint64_t i = 0; i < desc.ref_count; i++)
        if (desc.refs[i]) assert_false(w->is_away[block_of(w, desc.refs[i])]);
}

static void fetch_some_refs(world *w) {
    clump_ref refs[8] = {0};
    for (int i = 0; i < 8 && w->count; i++) refs[i] = w->things[draw(w, w->count)].ref;
    fetch(w, (clump_evict_desc){.size = sizeof(clump_evict_desc), .refs = refs, .ref_count = 8});
}

static void step(world *w) {
    static const char *const classes[] = {"Stone", "Plant", "Thing", NULL};
    switch (draw(w, 9)) {
    case 0:
    case 1: make(w, (int)draw(w, 2), 1 + draw(w, 6000)); break;
    case 2: befriend(w); break;
    case 3: grow(w); break;
    case 4: drop(w, 2 + draw(w, 4)); break;
    case 5:
        evict(w, (clump_evict_desc){.size = sizeof(clump_evict_desc),
                                    .class_name = classes[draw(w, 4)],
                                    .blocks = draw(w, 2) ? 0 : 1 + draw(w, 40)});
        break;
    case 6:
        fetch(w, (clump_evict_desc){.size = sizeof(clump_evict_desc),
                                    .class_name = classes[draw(w, 4)],
                                    .blocks = draw(w, 2) ? 0 : 1 + draw(w, 40)});
        break;
    case 7: fetch_some_refs(w); break;
    default:
        CHECK_OK(&on, clump_heap_age_blocks(w->heap));
        evict(w,
              (clump_evict_desc){
                  .size = sizeof(clump_evict_desc), .age = draw(w, 3), .blocks = 1 + draw(w, 20)});
    }
}

static void random_steps(void **state) {
    (void)state;
    for (uint32_t seed = 1; seed <= 4; seed++) {
        world w;
        open_world(&w, seed);
        note_away(&w);
        for (uint32_t i = 0; i < 40; i++) {
            char when[64];
            snprintf(when, sizeof when, "seed %u, step %u", seed, i);
            step(&w);
            check_world(&w, when);
        }
        /* As long as there is room, all come back. */
        while (w.heap->context &&
               clump_heap_bring_back(w.heap, NULL, NULL) == CLUMP_ERR_DEVICE_MEMORY) {
            note_away(&w);
            drop(&w, 2);
        }
        note_away(&w);
        check_world(&w, "all fetched");
        assert_int_equal(clump_heap_get_info(w.heap)->evicted_blocks, 0);
        CHECK_OK(&on, clump_heap_compact(w.heap, NULL, NULL, NULL));
        CHECK_HEAP(&on, w.heap);
        close_world(&w);
    }
}

/* More objects than there is memory for, one class after the other. */
static void beyond_memory(void **state) {
    (void)state;
    world w;
    open_world(&w, 9);
    note_away(&w);
    const uint64_t stones = cl_fixture_free_slots(&on, w.heap, "Stone");
    make(&w, 0, stones < MOST / 2 ? (uint32_t)stones : MOST / 2);
    const uint32_t first = w.count;
    assert_true(w.things[first - 1].ref != 0);
    evict(&w, (clump_evict_desc){.size = sizeof(clump_evict_desc), .class_name = "Stone"});
    check_world(&w, "stones evicted");
    assert_int_equal(cl_fixture_free_slots(&on, w.heap, "Stone"), stones);
    make(&w, 1, first / 2);
    assert_true(w.things[w.count - 1].ref != 0);
    check_world(&w, "plants where stones were");
    grow(&w);
    evict(&w, (clump_evict_desc){.size = sizeof(clump_evict_desc), .class_name = "Plant"});
    fetch(&w, (clump_evict_desc){.size = sizeof(clump_evict_desc), .class_name = "Stone"});
    check_world(&w, "stones back, plants evicted");
    close_world(&w);
}

/* Blocks are cold if their counts do not change, and the coldest leave first. */
static void ages(void **state) {
    (void)state;
    world w;
    clump_evict_report report = {.size = sizeof report};
    open_world(&w, 7);
    note_away(&w);
    make(&w, 0, 1000);
    for (int i = 0; i < 3; i++) CHECK_OK(&on, clump_heap_age_blocks(w.heap));
    make(&w, 1, 1000); /* in other blocks */
    CHECK_OK(&on, clump_heap_age_blocks(w.heap));
    CHECK_OK(&on,
             clump_heap_evict(
                 w.heap, &(clump_evict_desc){.size = sizeof(clump_evict_desc), .age = 4}, &report));
    assert_int_equal(report.objects,
                     0); /* the stones are 3 turns old: at the first they were new */
    CHECK_OK(&on, clump_heap_evict(
                      w.heap, &(clump_evict_desc){.size = sizeof(clump_evict_desc), .blocks = 2},
                      &report));
    assert_int_equal(report.blocks, 2);
    note_away(&w);
    for (uint32_t i = 0; i < w.count; i++)
        if (w.things[i].is_plant) assert_false(is_evicted(&w, i));
    check_world(&w, "two of the coldest");
    CHECK_OK(&on,
             clump_heap_evict(
                 w.heap, &(clump_evict_desc){.size = sizeof(clump_evict_desc), .age = 3}, &report));
    note_away(&w);
    for (uint32_t i = 0; i < w.count; i++)
        assert_int_equal(is_evicted(&w, i), !w.things[i].is_plant);
    check_world(&w, "all cold ones");
    close_world(&w);
}

/* Who had no room has some when others leave; and what is written to an evicted object harms
 * nobody. */
static void room(void **state) {
    (void)state;
    world w;
    open_world(&w, 8);
    note_away(&w);
    while (w.count < MOST && (!w.count || w.things[w.count - 1].ref)) make(&w, 0, 4000);
    assert_int_equal(w.things[w.count - 1].ref, 0);
    evict(&w, (clump_evict_desc){
                  .size = sizeof(clump_evict_desc), .class_name = "Stone", .blocks = 40});
    const uint32_t before = w.count;
    make(&w, 0, 500);
    make(&w, 1, 500);
    for (uint32_t i = before; i < w.count; i++) assert_true(w.things[i].ref != 0);
    check_world(&w, "made where others left");
    uint32_t count = 0;
    clump_ref *evicted = calloc(MOST, sizeof *evicted);
    assert_non_null(evicted);
    for (uint32_t i = 0; i < before; i++)
        if (w.things[i].ref && is_evicted(&w, i)) evicted[count++] = w.things[i].ref;
    cl_fixture_write(&on, w.dying, evicted, MOST * 4);
    SET_ARG(&on, w.kernels[SPOIL], 0, w.dying);
    SET_ARG(&on, w.kernels[SPOIL], 1, count);
    CHECK_OK(&on, clump_heap_launch(w.heap, w.kernels[SPOIL], (count + 63) / 64 * 64, 64, NULL));
    free(evicted);
    check_world(&w, "written to, where nobody is");
    drop(&w, 2);
    while (clump_heap_bring_back(w.heap, NULL, NULL)) drop(&w, 2);
    note_away(&w);
    check_world(&w, "fetched");
    close_world(&w);
}

/* What kernels and the host see of evicted objects. */
static void seen(void **state) {
    (void)state;
    world w;
    uint32_t answers[128] = {0}, count = 128;
    clump_device_report report = {.size = sizeof report};
    open_world(&w, 5);
    note_away(&w);
    make(&w, 0, 64);
    make(&w, 1, 64);
    evict(&w, (clump_evict_desc){.size = sizeof(clump_evict_desc), .class_name = "Stone"});
    write_refs(&w);
    SET_ARG(&on, w.kernels[ASK], 0, w.refs);
    SET_ARG(&on, w.kernels[ASK], 1, count);
    SET_ARG(&on, w.kernels[ASK], 2, w.seen);
    CHECK_OK(&on, clump_heap_launch(w.heap, w.kernels[ASK], 128, 64, NULL));
    cl_fixture_read(&on, w.seen, answers, sizeof answers);
    for (uint32_t i = 0; i < 128; i++) assert_int_equal(answers[i], i < 64 ? 0 : 1 | 1 << 2);
    /* A free is reported and does nothing. */
    SET_ARG(&on, w.kernels[DROP], 0, w.refs);
    uint32_t one = 1;
    SET_ARG(&on, w.kernels[DROP], 1, one);
    CHECK_OK(&on, clump_heap_launch(w.heap, w.kernels[DROP], 64, 64, NULL));
    CHECK_STATUS(&on, clump_heap_take_errors(w.heap, &report), CLUMP_ERR_DEVICE);
    assert_int_equal(report.errors[CLUMP_DEVICE_BAD_REFERENCE].count +
                         report.errors[CLUMP_DEVICE_DOUBLE_FREE].count,
                     1);
    clump_program *checked =
        cl_fixture_program(&on, w.heap, source, NULL, &(cl_fixture_build){.checked = 1});
    clump_kernel *spoil = cl_fixture_kernel(&on, checked, "spoil");
    SET_ARG(&on, spoil, 0, w.refs);
    SET_ARG(&on, spoil, 1, one);
    CHECK_OK(&on, clump_heap_launch(w.heap, spoil, 64, 64, NULL));
    CHECK_STATUS(&on, clump_heap_take_errors(w.heap, &report), CLUMP_ERR_DEVICE);
    assert_int_equal(report.errors[CLUMP_DEVICE_BAD_ACCESS].count, 5); /* one for each store */
    clump_kernel_destroy(spoil);
    clump_program_destroy(checked);
    uint32_t value = 0;
    cl_fixture_expect_words(clump_context_get_error(on.clump),
                            clump_heap_read_object_field(w.heap, "Stone", "weight", 0,
                                                         w.things[0].ref, sizeof(value), &value),
                            CLUMP_ERR_REFERENCE, "names an evicted object", "read", __LINE__);
    fetch(&w, (clump_evict_desc){.size = sizeof(clump_evict_desc)});
    check_world(&w, "fetched");
    CHECK_OK(&on,
             clump_heap_collect(
                 w.heap, &(clump_collect_desc){.size = sizeof(clump_collect_desc), .only_mark = 1},
                 NULL, NULL));
    close_world(&w);
}

static void refused(void **state) {
    (void)state;
    world w;
    const clump_error *error = clump_context_get_error(on.clump);
    clump_ref ref = 64;
    assert_int_equal(clump_heap_evict(NULL, NULL, NULL), CLUMP_ERR_USAGE);
    open_world(&w, 1);
    cl_fixture_expect_words(
        error,
        clump_heap_evict(
            w.heap, &(clump_evict_desc){.size = sizeof(clump_evict_desc), .class_name = "Tree"},
            NULL),
        CLUMP_ERR_NOT_FOUND, "no class \"Tree\"", "evict", __LINE__);
    cl_fixture_expect_words(
        error,
        clump_heap_evict(
            w.heap,
            &(clump_evict_desc){.size = sizeof(clump_evict_desc), .refs = &ref, .ref_count = 1},
            NULL),
        CLUMP_ERR_USAGE, "`refs` can only be set for", "evict", __LINE__);
    cl_fixture_expect_words(
        error,
        clump_heap_bring_back(w.heap,
                              &(clump_evict_desc){.size = sizeof(clump_evict_desc),
                                                  .refs = &ref,
                                                  .ref_count = 1,
                                                  .class_name = "Stone"},
                              NULL),
        CLUMP_ERR_USAGE, "one of class_name and refs", "fetch", __LINE__);
    cl_fixture_expect_words(
        error,
        clump_heap_bring_back(
            w.heap, &(clump_evict_desc){.size = sizeof(clump_evict_desc), .ref_count = 1}, NULL),
        CLUMP_ERR_USAGE, "`refs` is NULL", "fetch", __LINE__);
    close_world(&w);
}

/* Host memory and buffers that are refused, at each place: the heap is as before. */
static struct { uint64_t calls, fail_at; } memory;

static void *fail_alloc(void *user, size_t bytes) {
    (void)user;
    return ++memory.calls == memory.fail_at ? NULL : calloc(1, bytes);
}
static void *fail_realloc(void *user, void *old, size_t bytes) {
    (void)user;
    return ++memory.calls == memory.fail_at ? NULL : realloc(old, bytes);
}
static void fail_free(void *user, void *old) {
    (void)user;
    free(old);
}

static void failures(void **state) {
    (void)state;
    cl_fixture was = on;
    clump_error error;
    clump_context_desc desc = {
        .size = sizeof desc,
        .context = on.context,
        .device = on.device,
        .queue = on.queue,
        .personality = on.capabilities->personality,
        .allocator = {.allocate = fail_alloc, .reallocate = fail_realloc, .release = fail_free}};
    memory.fail_at = 0;
    if (clump_context_create(&desc, &on.clump, &error)) fail_msg("%s", error.message);
    world w;
    open_world(&w, 3);
    note_away(&w);
    make(&w, 0, 3000);
    make(&w, 1, 3000);
    check_world(&w, "before"); /* all programs are built */
    evict(&w, (clump_evict_desc){.size = sizeof(clump_evict_desc), .blocks = 3});
    fetch(&w, (clump_evict_desc){.size = sizeof(clump_evict_desc)});
    for (int is_fetching = 0; is_fetching < 2; is_fetching++) {
        uint64_t failed = 0;
        for (;; failed++) {
            memory.calls = 0;
            memory.fail_at = failed + 1;
            clump_status status =
                is_fetching
                    ? clump_heap_bring_back(
                          w.heap, &(clump_evict_desc){.size = sizeof(clump_evict_desc)}, NULL)
                    : clump_heap_evict(
                          w.heap,
                          &(clump_evict_desc){.size = sizeof(clump_evict_desc), .blocks = 8}, NULL);
            memory.fail_at = 0;
            if (!status) break;
            assert_int_equal(status, CLUMP_ERR_HOST_MEMORY);
            assert_int_equal(note_away(&w), 0);
            if (failed % 3 == 0) check_world(&w, "refused");
        }
        assert_true(failed >= (is_fetching ? 6 : 7));
        assert_int_equal(note_away(&w), 16);
        check_world(&w, "done");
    }
    close_world(&w);
    clump_context_destroy(on.clump);
    on = was;
}

/* Blocks without memory are there from the begin. A load makes objects in the others alone, and
 * gives references to these alone; one that fails leaves the heap as a new one. */
static void loaded(void **state) {
    (void)state;
    clump_heap *from = open_heap(on.clump, saved_schema, heap_bytes()), *into;
    saved_fill(&on, from, 3, 5000);
    memory_file file = saved_bytes(&on, from, 0);
    const size_t bytes = file.bytes;
    clump_heap_stats fresh = {.size = sizeof fresh}, stats = {.size = sizeof stats};
    into = open_heap(on.clump, saved_schema, heap_bytes());
    CHECK_OK(&on, clump_heap_read_stats(into, &fresh, NULL, 0));
    file.bytes = bytes - 40;
    CHECK_STATUS(&on, load_bytes(into, &file, NULL), CLUMP_ERR_FORMAT);
    CHECK_HEAP(&on, into);
    CHECK_OK(&on, clump_heap_read_stats(into, &stats, NULL, 0));
    assert_int_equal(stats.objects, 0);
    assert_int_equal(stats.free_blocks, fresh.free_blocks);
    assert_int_equal(stats.blocks, fresh.blocks);
    file.bytes = bytes;
    CHECK_OK(&on, load_bytes(into, &file, NULL));
    saved_compare(&on, from, &on, into);
    CHECK_HEAP(&on, into);
    clump_heap_destroy(into);
    clump_heap_destroy(from);
    memory_release(&file);
}

/* More objects than the memory has room for, and fewer than all blocks could have. */
static void loaded_too_many(void **state) {
    (void)state;
    clump_heap *from = open_heap(on.clump, schema_text, heap_bytes());
    clump_program *program = cl_fixture_program(&on, from, source, NULL, NULL);
    clump_kernel *make_stones = cl_fixture_kernel(&on, program, "make_stones");
    cl_mem refs = cl_fixture_buffer(&on, NULL, MOST * 4);
    const uint64_t slots = cl_fixture_free_slots(&on, from, "Stone");
    const uint32_t count = slots < MOST ? (uint32_t)slots : MOST, none = 0;
    SET_ARG(&on, make_stones, 0, none);
    SET_ARG(&on, make_stones, 1, count);
    SET_ARG(&on, make_stones, 2, refs);
    CHECK_OK(&on, clump_heap_launch(from, make_stones, (count + 63) / 64 * 64, 64, NULL));
    memory_file file = saved_bytes(&on, from, 0);
    const clump_heap_info *l = clump_heap_get_info(from);
    clump_schema *schema;
    clump_heap *into;
    assert_int_equal(clump_schema_parse(schema_text, sizeof schema_text - 1, NULL, &schema, NULL),
                     CLUMP_OK);
    const clump_heap_desc desc = {
        .size = sizeof desc,
        .context = on.clump,
        .schema = schema,
        .bytes = l->bytes - UINT64_C(8) * l->block_granules * l->granule_bytes,
        .evictable_bytes = heap_bytes(),
        .block_rows = 4};
    CHECK_OK(&on, clump_heap_create(&desc, &into, NULL));
    if (count == slots) CHECK_STATUS(&on, load_bytes(into, &file, NULL), CLUMP_ERR_DEVICE_MEMORY);
    CHECK_HEAP(&on, into);
    clump_heap_destroy(into);
    clump_schema_destroy(schema);
    clReleaseMemObject(refs);
    clump_kernel_destroy(make_stones);
    clump_program_destroy(program);
    clump_heap_destroy(from);
    memory_release(&file);
}

/* What has no memory is told by the table of frames, and not by bits, states and hints. */
static void repaired(void **state) {
    (void)state;
    world w;
    clump_repair_report report = {.size = sizeof report};
    open_world(&w, 11);
    note_away(&w);
    make(&w, 0, 3000);
    make(&w, 1, 2000);
    evict(&w, (clump_evict_desc){.size = sizeof(clump_evict_desc), .class_name = "Stone"});
    CHECK_OK(&on, clump_heap_repair(w.heap, &report));
    assert_int_equal(report.objects, 2000);
    assert_int_equal(report.blocks, 0);
    check_world(&w, "repaired");
    const clumpi_header *h = &w.heap->geometry.header;
    clump_heap_stats before = {.size = sizeof before}, after = {.size = sizeof after};
    CHECK_OK(&on, clump_heap_read_stats(w.heap, &before, NULL, 0));
    for (uint32_t b = h->first_block; b < h->block_end; b++) {
        if (!w.is_away[b]) continue;
        CHECK_OK(&on, clumpi_clear(on.clump, w.heap->info.buffer,
                                   (uint64_t)h->at_bits * CLUMPI_UNIT +
                                       (uint64_t)b * h->block_granules * sizeof(clumpi_u64),
                                   h->block_granules * sizeof(clumpi_u64)));
        CHECK_OK(&on, clumpi_clear(on.clump, w.heap->info.buffer,
                                   (uint64_t)h->at_states * CLUMPI_UNIT + b * sizeof(clumpi_u32),
                                   sizeof(clumpi_u32)));
    }
    CHECK_OK(&on, clump_heap_repair(w.heap, &report));
    assert_true(report.blocks > 0);
    assert_int_equal(report.objects, 2000);
    CHECK_OK(&on, clump_heap_read_stats(w.heap, &after, NULL, 0));
    assert_int_equal(after.free_blocks, before.free_blocks);
    fetch(&w, (clump_evict_desc){.size = sizeof(clump_evict_desc), .class_name = "Stone"});
    check_world(&w, "fetched after a repair");
    close_world(&w);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(random_steps),
        cmocka_unit_test(beyond_memory),
        cmocka_unit_test(ages),
        cmocka_unit_test(room),
        cmocka_unit_test(seen),
        cmocka_unit_test(refused),
        cmocka_unit_test(failures),
        cmocka_unit_test(loaded),
        cmocka_unit_test(loaded_too_many),
        cmocka_unit_test(repaired),
    };
    int result = cl_fixture_open(&on, NULL);
    if (result) return result;
    result = cmocka_run_group_tests(tests, NULL, NULL);
    cl_fixture_close(&on);
    return result;
}
