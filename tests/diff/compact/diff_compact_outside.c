/* References outside the heap: registered buffers and handles follow their objects.
 *
 * Read first: trial.h.
 */
#include <stdlib.h>
#include <string.h>

#include "trial.h"

static cl_fixture *const f = &trial_fixture;

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
    clump_refs_desc desc = {.size = sizeof desc,
                            .buffer = o->buffer,
                            .offset = o->offset * 4u,
                            .stride = o->stride * 4u,
                            .count = o->count,
                            .null_dangling = o->null_dangling};
    CHECK_OK(f, clump_refs_create(w->heap, &desc, &o->refs, NULL));
}

static void outside_close(outside *o) {
    clump_refs_destroy(o->refs);
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
    clump_refs_destroy(gone.refs);
    gone.refs = NULL;
    for (int round = 0; round < 2; round++) {
        trial t;
        graph_counts c = {0};
        trial_run(&t, w, desc);
        WORLD_CHECK(w, round || t.report.moves, "nothing has moved");
        clump_ref *to = find_moves(t.before, t.after);
        for (int i = 0; i < ALL; i++) outside_check(&t, &all[i], to, &c);
        if (t.report.passes == 1) check_outside_counts(&t, &c);
        free(to);
        trial_done(&t);
    }
    cl_fixture_read(f, gone.buffer, gone.after, gone.words * sizeof *gone.after);
    assert_memory_equal(gone.before, gone.after, gone.words * sizeof *gone.after);
    outside_close(&gone);
    for (int i = 0; i < ALL; i++) outside_close(&all[i]);
}

static void outside_buffers(void **state) {
    static const char *const some[] = {"Mid", "Dot"};
    outside_with(NARROW, &(clump_compact_desc){.size = sizeof(clump_compact_desc)}, &fills[0]);
    outside_with(WIDE, &(clump_compact_desc){.size = sizeof(clump_compact_desc)}, &fills[1]);
    outside_with(NARROW,
                 &(clump_compact_desc){
                     .size = sizeof(clump_compact_desc), .classes = some, .class_count = 2},
                 &fills[0]);
    outside_with(
        NARROW,
        &(clump_compact_desc){.size = sizeof(clump_compact_desc), .order = CLUMP_ORDER_ADDRESS},
        &half);
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
        clump_refs_desc desc = {.size = sizeof desc, .buffer = buffer, .count = start->count};
        CHECK_OK(f, clump_refs_create(w->heap, &desc, &registered, NULL));
        const bench_merge merge = {.factor = 2, .rewrite = (bench_merge_rewrite)rewrite};
        trial_merge(&t, w, NULL, &merge);
        WORLD_CHECK(w, t.report.passes > 1, "%u passes", t.report.passes);
        clump_ref *to = find_moves(t.before, t.after);
        cl_fixture_read(f, buffer, now, start->count * sizeof *now);
        for (uint32_t n = 0; n < start->count; n++)
            WORLD_CHECK(w, is_new_place(&t, to, refs[n], now[n]), "%08x became %08x", refs[n],
                        now[n]);
        equal(&t, "outside references dangling", t.report.outside_dangling, 0);
        clump_refs_destroy(registered);
        clReleaseMemObject(buffer);
        free(refs);
        free(to);
        snapshot_drop(start);
        trial_done(&t);
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
        CHECK_OK(f, clump_heap_create_handle(w->heap, was[i], &handle[i]));
        assert_int_not_equal(handle[i], 0);
        for (uint32_t j = 0; j < i; j++) assert_int_not_equal(handle[i], handle[j]);
    }
    for (uint32_t i = 0; i < HANDLES; i++) {
        CHECK_OK(f, clump_heap_read_handle(w->heap, handle[i], &ref));
        assert_int_equal(ref, was[i]);
    }
    /* A part is given up, and another part loses its objects. */
    for (uint32_t i = 0; i < HANDLES; i += 7)
        CHECK_OK(f, clump_heap_destroy_handle(w->heap, handle[i]));
    for (uint32_t i = 1; i < HANDLES; i += 7)
        if (live_class(start, was[i])) put_free(w, start->image, was[i]);
    put_hints(w, start->image);
    decode(start);
    for (uint32_t n = 0; n < start->count; n++) /* tags have gaps now */
        if (w->tag[start->class_id[n]] >= 0)
            put_word(start, start->refs[n], &w->fields[w->tag[start->class_id[n]]], 0, n + 1);
    snapshot_put(w, start);
    CHECK_HEAP(f, w->heap);
    trial_run(&t, w, NULL);
    WORLD_CHECK(w, t.report.moves, "nothing has moved");
    clump_ref *to = find_moves(t.before, t.after);
    graph_counts c = {0};
    for (uint32_t i = 0; i < HANDLES; i++) {
        if (i % 7 == 0) continue;
        CHECK_OK(f, clump_heap_read_handle(w->heap, handle[i], &ref));
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
    CHECK_STATUS(f, clump_heap_read_handle(w->heap, handle[0], &ref), CLUMP_ERR_USAGE);
    clump_handle fresh;
    CHECK_OK(f, clump_heap_create_handle(w->heap, t.after->refs[0], &fresh));
    CHECK_OK(f, clump_heap_read_handle(w->heap, fresh, &ref));
    assert_int_equal(ref, t.after->refs[0]);
    CHECK_OK(f, clump_heap_destroy_handle(w->heap, fresh));
    for (uint32_t i = 0; i < HANDLES; i++)
        if (i % 7) CHECK_OK(f, clump_heap_destroy_handle(w->heap, handle[i]));
    free(to);
    snapshot_drop(start);
    trial_done(&t);
    /* With none left there is nothing outside. */
    trial_run(&t, w, NULL);
    check_outside_counts(&t, &(graph_counts){0});
    trial_done(&t);
}

/* Registered buffers and handles that a heap takes with it. */
static void destroyed_with_heap(void **state) {
    world *w = world_open(f, graph, 60, 4, seed);
    outside o = {.count = 10};
    clump_handle handle;
    snapshot *start = world_fill(w, &fills[0]);
    outside_open(&o, w, start);
    CHECK_OK(f, clump_heap_create_handle(w->heap, start->refs[0], &handle));
    snapshot_drop(start);
    world_close(w);
    o.refs = NULL;
    outside_close(&o);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(outside_buffers),
        cmocka_unit_test(outside_buffers_merge),
        cmocka_unit_test(handles),
        cmocka_unit_test(destroyed_with_heap),
    };
    const struct CMUnitTest narrow_words[] = {
        cmocka_unit_test(outside_buffers),
    };
    const trial_group groups[] = {
        TRIAL_GROUP("references outside", tests, TRIAL_AS_IS),
        TRIAL_GROUP("32-bit words", narrow_words, TRIAL_NARROW_WORDS),
    };
    return TRIAL_MAIN(groups);
}
