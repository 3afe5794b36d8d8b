/* Objects taken out of heaps and put into others (clump/extract.h), against a model on the host:
 * the bytes of an extract, what is left in the heap, and what comes into another of other size,
 * block width, layout, checks, kernels, ids of classes. Room that is used to the last slot, and
 * none where there is not enough; altered extracts.
 *
 * Read first: extract_model.h, tests/support/saved_heap.h.
 */
#include <stdlib.h>
#include <string.h>

#include "extract_model.h"
#include "saved_heap.h"

enum { BYTES = 4 << 20, OBJECTS = 1200 };

static cl_fixture on; /* with the kernels that the environment asks for */

/* The classes of saved_schema with other layouts, in another order, and one more. */
static const char other_schema[] =
    "class Lone { uchar one; }\n"
    "class More { uint count; ref Thing thing; }\n"
    "class Box { uchar last; char kind; ref Node owner; ulong sums[3] packed; int4 corner; }\n"
    "aos class Crate : Box { ref Box inside[2]; ushort marks[7]; }\n"
    "aos abstract class Thing { weak ref Node seen; uint tag; ref Thing next; }\n"
    "class Node : Thing { ref Thing edges[5] packed; float3 at; uchar16 wide; bool flags[3]; }\n"
    "class Leaf : Node { long big; short2 pair[3]; }\n"
    "class Never { ref Lone lone; uint nothing; }\n";

static clump_heap *filled(const cl_fixture *f, const clump_heap_desc *like, uint32_t seed,
                          uint32_t objects) {
    clump_heap *heap = cl_fixture_heap_as(f, saved_schema, like);
    saved_fill(f, heap, seed, objects);
    return heap;
}

static uint8_t *draw(const picture *p, uint64_t *random, uint32_t of_256) {
    uint8_t *chosen = calloc(p->count + 1, 1);
    for (uint32_t n = 0; n < p->count; n++) chosen[n] = test_random(random, 256) < of_256;
    return chosen;
}

/* The references of the chosen ones in some order, some of them twice, with nulls between. */
static clump_ref *list(const picture *p, const uint8_t *chosen, uint64_t *random, uint32_t *count) {
    clump_ref *refs = calloc(3 * (size_t)p->count + 1, sizeof *refs);
    *count = 0;
    for (uint32_t n = 0; n < p->count; n++)
        for (uint32_t i = 1 + test_random(random, 8) / 7; chosen[n] && i > 0; i--) {
            refs[(*count)++] = p->refs[n];
            if (!test_random(random, 9)) refs[(*count)++] = 0;
        }
    for (uint32_t i = *count; i > 1; i--) {
        const uint32_t k = test_random(random, i);
        const clump_ref ref = refs[k];
        refs[k] = refs[i - 1];
        refs[i - 1] = ref;
    }
    return refs;
}

/* Insert, compare the heap with what it was and what it must have got. */
static void expect_insertion(const cl_fixture *f, clump_heap *heap, picture *from, const packed *k,
                             const clump_extract *e) {
    const uint64_t at = 12, bytes = k->count * sizeof(clump_ref);
    picture before = picture_of(f, heap);
    clump_ref *refs = calloc(k->count + 1, sizeof *refs), *too = calloc(k->count + 1, sizeof *too);
    cl_mem buffer = cl_fixture_buffer(f, NULL, at + bytes + 4);
    CHECK_OK(f, clump_heap_insert(heap, e,
                                  &(clump_insert_desc){.size = sizeof(clump_insert_desc),
                                                       .refs = refs,
                                                       .ref_buffer = buffer,
                                                       .ref_buffer_at = at}));
    CHECK_HEAP(f, heap);
    picture after = picture_of(f, heap);
    picture_compare(&before, NULL, &after, k->count);
    picture_expect_inserted(from, k, &after, refs);
    uint32_t around[4 + 1];
    cl_fixture_read(f, buffer, around, at);
    assert_int_equal(around[2], 0);
    uint8_t *all = malloc(at + bytes + 4);
    cl_fixture_read(f, buffer, all, at + bytes + 4);
    memcpy(too, all + at, bytes);
    assert_memory_equal(too, refs, bytes);
    for (int i = 0; i < 4; i++) assert_int_equal(all[at + bytes + (size_t)i], 0);
    free(all);
    free(refs);
    free(too);
    clReleaseMemObject(buffer);
    picture_release(&before);
    picture_release(&after);
}

/* Take out what desc says, which is what `chosen` has; compare; put it into the other heaps. */
static void round_trip(clump_heap *heap, const clump_extract_desc *desc, const uint8_t *chosen,
                       clump_heap *const *into, int into_count) {
    picture before = picture_of(&on, heap);
    packed k = picture_pack(&before, chosen);
    clump_extract *e;
    clump_extract_report report = {.size = sizeof report};
    CHECK_OK(&on, clump_heap_extract(heap, desc, &e, &report));
    packed_compare(&on, &k, e, &report);
    CHECK_HEAP(&on, heap);
    picture after = picture_of(&on, heap);
    picture_compare(&before, desc->free_objects ? chosen : NULL, &after, 0);
    if (desc->keep_refs && k.count) {
        clump_ref *refs = malloc(k.count * sizeof *refs);
        cl_fixture_read(&on, clump_extract_get_info(e)->refs, refs, k.count * sizeof *refs);
        for (uint32_t i = 0; i < k.count; i++) assert_int_equal(refs[i], before.refs[k.numbers[i]]);
        free(refs);
    } else {
        assert_null(clump_extract_get_info(e)->refs);
    }
    for (int i = 0; i < into_count; i++) expect_insertion(&on, into[i], &before, &k, e);
    clump_extract_destroy(e);
    packed_release(&k);
    picture_release(&before);
    picture_release(&after);
}

/* ---- Which objects --------------------------------------------------------------------------- */

/* References of the host and of the device, of few and of many objects. */
static void by_references(void **state) {
    clump_heap *heap = filled(
        &on, &(clump_heap_desc){.size = sizeof(clump_heap_desc), .bytes = BYTES, .block_rows = 2},
        1, OBJECTS);
    clump_heap *into[3] = {
        filled(&on,
               &(clump_heap_desc){.size = sizeof(clump_heap_desc), .bytes = BYTES, .block_rows = 7},
               2, OBJECTS / 2),
        cl_fixture_heap_as(
            &on, other_schema,
            &(clump_heap_desc){
                .size = sizeof(clump_heap_desc), .bytes = 2 * BYTES, .block_rows = 1}),
        heap};
    const uint32_t shares[] = {0, 1, 30, 128, 250, 256};
    uint64_t random = 3;
    for (size_t i = 0; i < sizeof shares / sizeof *shares; i++) {
        picture p = picture_of(&on, heap);
        uint8_t *chosen = draw(&p, &random, shares[i]);
        uint32_t count;
        clump_ref *refs = list(&p, chosen, &random, &count);
        const uint32_t host = test_random(&random, count + 1), at = 8;
        cl_mem buffer = cl_fixture_buffer(&on, NULL, at + (count - host) * 4 + 4);
        if (count > host)
            CHECK_CL(clEnqueueWriteBuffer(on.queue, buffer, CL_TRUE, at, (count - host) * 4,
                                          refs + host, 0, NULL, NULL));
        clump_extract_desc desc = {.size = sizeof desc,
                                   .refs = refs,
                                   .ref_count = host,
                                   .ref_buffer = buffer,
                                   .ref_buffer_at = at,
                                   .ref_buffer_count = count - host,
                                   .keep_refs = i % 2};
        round_trip(heap, &desc, chosen, into, 3);
        /* Into a buffer of ours, which had something else. Objects that came meanwhile make no
         * difference. */
        packed k = picture_pack(&p, chosen);
        uint8_t *soil = malloc(k.bytes + 64);
        memset(soil, 0xa5, k.bytes + 64);
        desc.buffer = cl_fixture_buffer(&on, soil, k.bytes + 64 * (i % 2) + !k.bytes);
        clump_extract *again;
        clump_extract_report report = {.size = sizeof report};
        CHECK_OK(&on, clump_heap_extract(heap, &desc, &again, &report));
        packed_compare(&on, &k, again, &report);
        clump_extract_destroy(again);
        clReleaseMemObject(desc.buffer);
        free(soil);
        packed_release(&k);
        clReleaseMemObject(buffer);
        free(refs);
        free(chosen);
        picture_release(&p);
    }
    clump_heap_destroy(heap);
    clump_heap_destroy(into[0]);
    clump_heap_destroy(into[1]);
}

static int is_below(const picture *p, const picture_class *k, const char *class_name) {
    const clump_class_info *c =
        clump_schema_find_class(clump_heap_get_info(p->heap)->schema, class_name);
    return k->info.id >= c->id && k->info.id <= c->last;
}

/* The value of an integer field, if the class has it. */
static int is_set(picture *p, uint32_t n, const char *class_name, const char *field) {
    const picture_class *k = picture_class_of(p, n);
    for (uint32_t i = 0; is_below(p, k, class_name) && i < k->desc.field_count; i++) {
        const uint8_t *value = picture_struct(p, n) + k->fields[i].offset;
        if (strcmp(k->infos[i].name, field) != 0) continue;
        for (uint32_t b = 0; b < k->infos[i].element_bytes; b++)
            if (value[b]) return 1;
    }
    return 0;
}

static int is_ref(clump_heap *heap, const char *class_name, const char *field) {
    const clump_schema *s = clump_heap_get_info(heap)->schema;
    return clump_schema_find_field(s, clump_schema_find_class(s, class_name)->id, field)->type ==
           CLUMP_TYPE_REF;
}

/* Does this field refer to an object that is chosen, if the class has it? */
static int leads(picture *p, uint32_t n, const char *class_name, const char *field,
                 const uint8_t *chosen) {
    const picture_class *k = picture_class_of(p, n);
    const int i = is_below(p, k, class_name) ? picture_field(k, field) : -1;
    if (i < 0 || k->infos[i].type != CLUMP_TYPE_REF) return 0;
    clump_ref ref;
    memcpy(&ref, picture_struct(p, n) + k->fields[i].offset, sizeof ref);
    const uint32_t to = picture_find_in_field(p, &k->infos[i], ref);
    return to != UINT32_MAX && chosen[to];
}

/* The chosen objects, which `refs` names, with the things whose `next` leads to one of them. */
static void look_at_referring(clump_heap *heap, picture *p, const uint8_t *chosen,
                              const clump_ref *refs, uint32_t count) {
    uint8_t *referring = malloc(p->count + 1);
    for (uint32_t n = 0; n < p->count; n++)
        referring[n] = chosen[n] || leads(p, n, "Thing", "next", chosen);
    round_trip(heap,
               &(clump_extract_desc){.size = sizeof(clump_extract_desc),
                                     .refs = refs,
                                     .ref_count = count,
                                     .where_class = "Thing",
                                     .where_field = "next"},
               referring, NULL, 0);
    free(referring);
}

/* Classes with subclasses, abstract ones too; predicates of each width; references to objects that
 * are chosen otherwise, also of the same class; all together, with references. */
static void by_class_and_predicate(void **state) {
    static const struct {
        const char *classes[2], *where_class, *where_field;
    } cases[] = {{{"Leaf", NULL}, NULL, NULL},       {{"Thing", NULL}, NULL, NULL},
                 {{"Box", "Lone"}, NULL, NULL},      {{"Never", NULL}, NULL, NULL},
                 {{NULL, NULL}, "Leaf", "big"},      {{NULL, NULL}, "Box", "kind"},
                 {{NULL, NULL}, "Crate", "last"},    {{NULL, NULL}, "Lone", "one"},
                 {{"Node", "Crate"}, "Lone", "one"}, {{NULL, NULL}, "Thing", "tag"},
                 {{"Leaf", NULL}, "Box", "owner"},   {{NULL, NULL}, "Thing", "next"},
                 {{"Leaf", NULL}, "Thing", "next"},  {{"Lone", NULL}, "Node", "seen"}};
    uint64_t random = 9;
    clump_heap *heap = filled(
        &on, &(clump_heap_desc){.size = sizeof(clump_heap_desc), .bytes = BYTES, .block_rows = 3},
        4, OBJECTS);
    /* Half of the values are 0; in some only the last byte is not. */
    static const char *const fields[][2] = {
        {"Leaf", "big"}, {"Box", "kind"}, {"Box", "last"}, {"Lone", "one"}, {"Thing", "tag"}};
    for (size_t i = 0; i < sizeof fields / sizeof *fields; i++) {
        clump_class_info c;
        clump_field_info f;
        uint64_t count;
        c = *clump_schema_find_class(clump_heap_get_info(heap)->schema, fields[i][0]);
        f = *clump_schema_find_field(clump_heap_get_info(heap)->schema, c.id, fields[i][1]);
        CHECK_OK(&on, clump_heap_read_count(heap, fields[i][0], &count));
        uint8_t *values = calloc(count + 1, f.element_bytes);
        for (uint64_t n = 0; n < count; n++)
            values[(n + 1) * f.element_bytes - 1] = (uint8_t)test_random(&random, 2);
        CHECK_OK(&on, clump_heap_write_field(heap, fields[i][0], fields[i][1], 0, f.element_bytes,
                                             values, count));
        free(values);
    }
    clump_heap *into = cl_fixture_heap_as(
        &on, saved_schema, &(clump_heap_desc){.size = sizeof(clump_heap_desc), .bytes = 4 * BYTES});
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        picture p = picture_of(&on, heap);
        uint8_t *chosen = draw(&p, &random, i % 3 == 2 ? 20 : 0);
        uint32_t count, classes = 0;
        clump_ref *refs = list(&p, chosen, &random, &count);
        while (classes < 2 && cases[i].classes[classes]) classes++;
        for (uint32_t n = 0; n < p.count; n++) {
            for (uint32_t c = 0; c < classes; c++)
                chosen[n] |= (uint8_t)is_below(&p, picture_class_of(&p, n), cases[i].classes[c]);
        }
        uint8_t *named = malloc(p.count + 1);
        memcpy(named, chosen, p.count);
        for (uint32_t n = 0; cases[i].where_class && n < p.count; n++)
            chosen[n] |=
                is_ref(heap, cases[i].where_class, cases[i].where_field)
                    ? (uint8_t)leads(&p, n, cases[i].where_class, cases[i].where_field, named)
                    : (uint8_t)is_set(&p, n, cases[i].where_class, cases[i].where_field);
        free(named);
        const clump_extract_desc desc = {.size = sizeof desc,
                                         .refs = refs,
                                         .ref_count = count,
                                         .classes = cases[i].classes,
                                         .class_count = classes,
                                         .where_class = cases[i].where_class,
                                         .where_field = cases[i].where_field};
        round_trip(heap, &desc, chosen, &into, 1);
        free(refs);
        free(chosen);
        picture_release(&p);
    }
    clump_heap_destroy(heap);
    clump_heap_destroy(into);
}

/* All that some objects lead to. Registered buffers and handles are no roots then. */
static void by_following(void **state) {
    uint64_t random = 5;
    clump_heap *heap = filled(
        &on, &(clump_heap_desc){.size = sizeof(clump_heap_desc), .bytes = BYTES, .block_rows = 2},
        6, OBJECTS);
    clump_heap *into = cl_fixture_heap_as(
        &on, saved_schema, &(clump_heap_desc){.size = sizeof(clump_heap_desc), .bytes = 4 * BYTES});
    picture p = picture_of(&on, heap);
    cl_mem buffer = cl_fixture_buffer(&on, p.refs, 200 * sizeof *p.refs);
    clump_refs *registered;
    CHECK_OK(&on,
             clump_refs_create(heap,
                               &(clump_refs_desc){
                                   .size = sizeof(clump_refs_desc), .buffer = buffer, .count = 200},
                               &registered, NULL));
    const char *const boxes[] = {"Crate"};
    for (int i = 0; i < 3; i++) {
        uint8_t *chosen = draw(&p, &random, i == 2 ? 0 : 2);
        uint32_t count;
        clump_ref *refs = list(&p, chosen, &random, &count);
        clump_extract_desc desc = {
            .size = sizeof desc, .refs = refs, .ref_count = count, .follow = 1};
        if (i) desc.classes = boxes;
        if (i) desc.class_count = 1;
        for (uint32_t n = 0; i && n < p.count; n++)
            chosen[n] |= (uint8_t)is_below(&p, picture_class_of(&p, n), "Crate");
        picture_follow(&p, chosen);
        round_trip(heap, &desc, chosen, &into, 1);
        free(refs);
        free(chosen);
    }
    clump_refs_destroy(registered);
    clReleaseMemObject(buffer);
    picture_release(&p);
    clump_heap_destroy(heap);
    clump_heap_destroy(into);
}

/* A chain of many levels, and of what it has beside. */
static void by_following_far(void **state) {
    static const char text[] = "class A { uint v; ref A next; weak ref A other; }";
    enum { COUNT = 3000 };
    const clump_struct_desc none = {.size = sizeof none, .class_name = "A", .bytes = 4};
    static uint32_t zeros[COUNT];
    static clump_ref refs[COUNT], next[COUNT];
    clump_heap *heap = cl_fixture_heap(&on, text, 1 << 20, 2);
    CHECK_OK(&on, clump_heap_new_structs(heap, &none, zeros, COUNT, refs, NULL));
    for (uint32_t i = 0; i < COUNT; i++) next[i] = i + 2 < COUNT ? refs[i + 2] : 0;
    CHECK_OK(&on, clump_heap_write_field(heap, "A", "next", 0, sizeof *next, next, COUNT));
    for (uint32_t i = 0; i < COUNT; i++) next[i] = refs[COUNT - 1 - i];
    CHECK_OK(&on, clump_heap_write_field(heap, "A", "other", 0, sizeof *next, next, COUNT));
    picture p = picture_of(&on, heap);
    uint8_t *chosen = calloc(COUNT, 1);
    const clump_ref first = p.refs[40];
    const clump_extract_desc desc = {
        .size = sizeof desc, .refs = &first, .ref_count = 1, .follow = 1};
    chosen[40] = 1;
    picture_follow(&p, chosen);
    clump_heap *into = cl_fixture_heap(&on, text, 1 << 20, 1);
    round_trip(heap, &desc, chosen, &into, 1);
    free(chosen);
    picture_release(&p);
    clump_heap_destroy(heap);
    clump_heap_destroy(into);
}

/* References to objects that are gone, and to some of a class that the field does not have, are
 * null and are counted. */
static void dangling(void **state) {
    uint64_t random = 15;
    clump_heap *heap = filled(
        &on, &(clump_heap_desc){.size = sizeof(clump_heap_desc), .bytes = BYTES}, 16, OBJECTS / 2);
    clump_heap *into = cl_fixture_heap_as(
        &on, saved_schema, &(clump_heap_desc){.size = sizeof(clump_heap_desc), .bytes = BYTES});
    clump_extract *gone;
    picture p = picture_of(&on, heap);
    uint8_t *chosen = draw(&p, &random, 60);
    uint32_t count;
    clump_ref *refs = list(&p, chosen, &random, &count), *wrong;
    CHECK_OK(&on, clump_heap_extract(heap,
                                     &(clump_extract_desc){.size = sizeof(clump_extract_desc),
                                                           .refs = refs,
                                                           .ref_count = count,
                                                           .free_objects = 1},
                                     &gone, NULL));
    clump_extract_destroy(gone);
    free(refs);
    free(chosen);
    picture_release(&p);
    p = picture_of(&on, heap);
    const picture_class *boxes = NULL;
    for (uint32_t i = 0; i < p.class_count; i++)
        if (strcmp(p.classes[i].info.name, "Box") == 0) boxes = &p.classes[i];
    uint64_t things;
    CHECK_OK(&on, clump_heap_read_count(heap, "Thing", &things));
    wrong = calloc(things, sizeof *wrong);
    for (uint64_t i = 0; i < things; i++)
        wrong[i] = i % 3 == 0   ? p.refs[i]
                   : i % 3 == 1 ? p.refs[boxes->first]
                                : 0xfffff000u + (uint32_t)i;
    CHECK_OK(&on, clump_heap_write_field(heap, "Thing", "next", 0, sizeof *wrong, wrong, things));
    picture_release(&p);
    p = picture_of(&on, heap);
    chosen = draw(&p, &random, 128);
    chosen[boxes->first] = 1;
    refs = list(&p, chosen, &random, &count);
    packed k = picture_pack(&p, chosen);
    assert_true(k.dangling > things / 6 && k.left_out > 10);
    round_trip(
        heap,
        &(clump_extract_desc){.size = sizeof(clump_extract_desc), .refs = refs, .ref_count = count},
        chosen, &into, 1);
    look_at_referring(heap, &p, chosen, refs, count);
    packed_release(&k);
    free(wrong);
    free(refs);
    free(chosen);
    picture_release(&p);
    clump_heap_destroy(heap);
    clump_heap_destroy(into);
}

/* ---- They go --------------------------------------------------------------------------------- */

/* Objects wander between heaps until all were in each; handles that are watched become null. */
static void migrate(void **state) {
    clump_heap *heaps[2] = {
        filled(&on,
               &(clump_heap_desc){.size = sizeof(clump_heap_desc),
                                  .bytes = BYTES,
                                  .block_rows = 1,
                                  .watch_handles = 1},
               7, OBJECTS),
        filled(&on,
               &(clump_heap_desc){
                   .size = sizeof(clump_heap_desc), .bytes = 2 * BYTES, .block_rows = 5},
               8, OBJECTS / 3)};
    uint64_t random = 11;
    clump_handle handle, stays;
    for (int turn = 0; turn < 8; turn++) {
        clump_heap *heap = heaps[turn % 2], *into = heaps[(turn + 1) % 2];
        picture p = picture_of(&on, heap);
        uint8_t *chosen = draw(&p, &random, turn == 6 ? 256 : 20 + 20 * (uint32_t)turn);
        uint32_t count, one = 0, other = 0;
        clump_ref *refs = list(&p, chosen, &random, &count), now;
        while (!chosen[one]) one++;
        while (other + 1 < p.count && chosen[other]) other++;
        if (turn == 0) CHECK_OK(&on, clump_heap_create_handle(heap, p.refs[one], &handle));
        if (turn == 0) CHECK_OK(&on, clump_heap_create_handle(heap, p.refs[other], &stays));
        const clump_extract_desc desc = {.size = sizeof desc,
                                         .refs = refs,
                                         .ref_count = count,
                                         .free_objects = 1,
                                         .keep_refs = 1};
        round_trip(heap, &desc, chosen, &into, 1);
        if (turn == 0) {
            CHECK_OK(&on, clump_heap_read_handle(heap, handle, &now));
            assert_int_equal(now, 0);
            CHECK_OK(&on, clump_heap_read_handle(heap, stays, &now));
            assert_int_equal(now, p.refs[other]);
        }
        if (turn == 6) { /* nothing is left */
            clump_heap_stats stats = {.size = sizeof stats};
            CHECK_OK(&on, clump_heap_read_stats(heap, &stats, NULL, 0));
            assert_int_equal(stats.objects, 0);
            assert_int_equal(stats.free_blocks, stats.blocks);
        }
        free(refs);
        free(chosen);
        picture_release(&p);
    }
    for (int i = 0; i < 2; i++) clump_heap_destroy(heaps[i]);
}

/* Checked heaps have generations in references, and see references to objects that went. */
static void checked_heaps(void **state) {
    const clump_checked_desc checks = {.size = sizeof checks};
    const clump_heap_desc checked = {
        .size = sizeof checked, .bytes = 2 * BYTES, .block_rows = 4, .checked = &checks};
    clump_heap *heaps[3] = {
        filled(&on, &checked, 9, OBJECTS / 2),
        filled(&on, &(clump_heap_desc){.size = sizeof(clump_heap_desc), .bytes = BYTES}, 10,
               OBJECTS / 3),
        filled(&on, &checked, 11, OBJECTS / 4)};
    uint64_t random = 12;
    for (int turn = 0; turn < 6; turn++) {
        clump_heap *heap = heaps[turn % 3], *into = heaps[(turn + 1 + turn / 3) % 3];
        picture p = picture_of(&on, heap);
        uint8_t *chosen = draw(&p, &random, 70);
        uint32_t count;
        clump_ref *refs = list(&p, chosen, &random, &count), one = 0;
        for (uint32_t i = 0; i < count; i++)
            if (refs[i]) one = refs[i];
        look_at_referring(heap, &p, chosen, refs, count);
        const clump_extract_desc desc = {.size = sizeof desc,
                                         .refs = refs,
                                         .ref_count = count,
                                         .free_objects = 1,
                                         .keep_refs = 1};
        round_trip(heap, &desc, chosen, &into, 1);
        clump_extract *none;
        CHECK_STATUS(&on,
                     clump_heap_extract(
                         heap,
                         &(clump_extract_desc){
                             .size = sizeof(clump_extract_desc), .refs = &one, .ref_count = 1},
                         &none, NULL),
                     CLUMP_ERR_REFERENCE);
        if (clump_heap_get_info(heap)->checks) {
            uint64_t found;
            CHECK_OK(&on, clump_heap_check_memory(heap, NULL));
            CHECK_OK(&on, clump_heap_take_findings(heap, NULL, 0, &found, NULL));
            assert_int_equal(found, 0);
        }
        free(refs);
        free(chosen);
        picture_release(&p);
    }
    for (int i = 0; i < 3; i++) clump_heap_destroy(heaps[i]);
}

/* ---- Room ------------------------------------------------------------------------------------ */

static uint64_t objects_of(clump_heap *heap) {
    clump_heap_stats stats = {.size = sizeof stats};
    CHECK_OK(&on, clump_heap_read_stats(heap, &stats, NULL, 0));
    return stats.objects;
}

/* Could the objects be made? By what is free. */
static int has_room(clump_heap *heap, const packed *k) {
    clump_class_stats classes[16] = {{.size = sizeof *classes}};
    clump_heap_stats stats = {.size = sizeof stats};
    uint64_t blocks = 0;
    CHECK_OK(&on, clump_heap_read_stats(heap, &stats, classes, 16));
    for (uint32_t id = 1;
         id <= clump_schema_get_info(clump_heap_get_info(heap)->schema)->class_count; id++) {
        const clump_class_info *c =
            clump_schema_get_info(clump_heap_get_info(heap)->schema)->classes[id];
        const uint64_t slots = classes[id - 1].slots - classes[id - 1].objects;
        if (k->objects[id - 1] <= slots) continue;
        const uint32_t capacity = cl_fixture_capacity(heap, c->name);
        blocks += (k->objects[id - 1] - slots + capacity - 1) / capacity;
    }
    return blocks <= stats.free_blocks;
}

/* A heap is filled by insertions until one is refused, which changes nothing; each that there is
 * room for succeeds. Then objects go and come back: as many as there is room for, and one more is
 * refused. */
static void to_the_last_slot(void **state) {
    clump_heap *from =
        filled(&on, &(clump_heap_desc){.size = sizeof(clump_heap_desc), .bytes = BYTES}, 13, 500);
    clump_heap *full = cl_fixture_heap_of_blocks(&on, saved_schema, 24, 1);
    uint64_t random = 14;
    uint32_t refused = 0, succeeded = 0;
    picture source = picture_of(&on, from);
    for (int turn = 0; turn < 60; turn++) {
        uint8_t *chosen = draw(&source, &random, turn < 6 ? 256 : 1 + test_random(&random, 250));
        uint32_t count;
        clump_ref *refs = list(&source, chosen, &random, &count);
        packed k = picture_pack(&source, chosen);
        clump_extract *e;
        CHECK_OK(&on, clump_heap_extract(
                          from,
                          &(clump_extract_desc){
                              .size = sizeof(clump_extract_desc), .refs = refs, .ref_count = count},
                          &e, NULL));
        const int fits = has_room(full, &k);
        if (fits) {
            expect_insertion(&on, full, &source, &k, e);
            succeeded++;
        } else {
            const uint64_t objects = objects_of(full);
            cl_fixture_expect_words(clump_context_get_error(on.clump),
                                    clump_heap_insert(full, e, NULL), CLUMP_ERR_DEVICE_MEMORY,
                                    "free blocks", "insert", __LINE__);
            CHECK_HEAP(&on, full); /* no kernel reports that memory was out */
            assert_int_equal(objects_of(full), objects);
            refused++;
        }
        clump_extract_destroy(e);
        packed_release(&k);
        free(refs);
        free(chosen);
        if (turn < 6 || fits) continue;
        /* Some of the heap's own go, and come back. */
        picture p = picture_of(&on, full);
        uint8_t *own = draw(&p, &random, 1 + test_random(&random, 255));
        clump_ref *own_refs = list(&p, own, &random, &count);
        const clump_extract_desc desc = {
            .size = sizeof desc, .refs = own_refs, .ref_count = count, .free_objects = 1};
        const int is_again = turn % 4 != 0;
        round_trip(full, &desc, own, &full, is_again);
        free(own_refs);
        free(own);
        picture_release(&p);
    }
    assert_true(refused > 5 && succeeded > 10);
    picture_release(&source);
    clump_heap_destroy(from);
    clump_heap_destroy(full);
}

/* ---- Elsewhere ------------------------------------------------------------------------------- */

/* Through the host to contexts with other kernels. */
static void other_contexts(void **state) {
    clump_heap *heap = filled(
        &on, &(clump_heap_desc){.size = sizeof(clump_heap_desc), .bytes = BYTES}, 17, OBJECTS);
    uint64_t random = 18;
    picture p = picture_of(&on, heap);
    uint8_t *chosen = draw(&p, &random, 140);
    uint32_t count;
    clump_ref *refs = list(&p, chosen, &random, &count);
    packed k = picture_pack(&p, chosen);
    clump_extract *e, *there;
    CHECK_OK(&on, clump_heap_extract(
                      heap,
                      &(clump_extract_desc){
                          .size = sizeof(clump_extract_desc), .refs = refs, .ref_count = count},
                      &e, NULL));
    uint8_t *data = malloc(k.bytes);
    CHECK_OK(&on, clump_extract_read(e, data, k.bytes));
    static const cl_fixture_desc others[] = {{.personality = CLUMP_PERSONALITY_CPU},
                                             {.personality = CLUMP_PERSONALITY_GPU},
                                             {.disable = CLUMP_FEATURE_ALL, .out_of_order = 1}};
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        cl_fixture f;
        const int code =
            i ? cl_fixture_open_other(&f, &others[i]) : cl_fixture_open(&f, &others[i]);
        if (code == CL_FIXTURE_SKIP) continue; /* or no such queue */
        assert_int_equal(code, 0);
        clump_heap *into = cl_fixture_heap_as(
            &f, other_schema,
            &(clump_heap_desc){.size = sizeof(clump_heap_desc), .bytes = 2 * BYTES});
        CHECK_STATUS(&f, clump_heap_insert(into, e, NULL), CLUMP_ERR_USAGE);
        CHECK_OK(&f, clump_extract_create(f.clump, clump_extract_get_info(e)->schema, k.objects,
                                          data, k.bytes, &there, NULL));
        expect_insertion(&f, into, &p, &k, there);
        expect_insertion(&f, into, &p, &k, there); /* again */
        clump_extract_destroy(there);
        /* The buffer can be filled by others. */
        CHECK_OK(&f, clump_extract_create(f.clump, clump_extract_get_info(e)->schema, k.objects,
                                          NULL, 0, &there, NULL));
        uint8_t *zeros = calloc(k.bytes, 1), *found = malloc(k.bytes);
        CHECK_OK(&f, clump_extract_read(there, found, k.bytes));
        assert_memory_equal(found, zeros, k.bytes);
        cl_fixture_write(&f, clump_extract_get_info(there)->buffer, data, k.bytes);
        expect_insertion(&f, into, &p, &k, there);
        clump_heap_destroy(into);
        cl_fixture_close(&f);
        clump_extract_destroy(there); /* after its context */
        free(zeros);
        free(found);
    }
    free(data);
    free(refs);
    free(chosen);
    packed_release(&k);
    picture_release(&p);
    clump_heap_destroy(heap);
    clump_extract_destroy(e); /* after its heap */
}

/* Between heaps of one context and of two, there and back; where there is no room, both stay as
 * they are. */
static void whole_way(void **state) {
    clump_heap *heap = filled(
        &on, &(clump_heap_desc){.size = sizeof(clump_heap_desc), .bytes = BYTES}, 21, OBJECTS / 2);
    uint64_t random = 22;
    static const cl_fixture_desc others[] = {{.personality = CLUMP_PERSONALITY_CPU},
                                             {.personality = CLUMP_PERSONALITY_GPU}};
    for (size_t i = 0; i < 3; i++) {
        cl_fixture f = on;
        if (i == 2 && !cl_fixture_is_whole()) continue;
        if (i) assert_int_equal(cl_fixture_open(&f, &others[i - 1]), 0);
        clump_heap *into =
            filled(&f, &(clump_heap_desc){.size = sizeof(clump_heap_desc), .bytes = 2 * BYTES}, 23,
                   OBJECTS / 4);
        clump_heap *small = cl_fixture_heap_of_blocks(&f, saved_schema, 2, 1);
        picture before = picture_of(&on, heap), there = picture_of(&f, into);
        uint8_t *chosen = draw(&before, &random, 100);
        uint32_t count;
        clump_ref *refs = list(&before, chosen, &random, &count);
        packed k = picture_pack(&before, chosen);
        clump_ref *now = calloc(k.count, sizeof *now), *old = calloc(k.count, sizeof *old);
        const clump_extract_desc desc = {
            .size = sizeof desc, .refs = refs, .ref_count = count, .keep_refs = 1};
        const clump_insert_desc get = {.size = sizeof get, .refs = now};
        clump_extract *e = NULL;
        clump_extract_report report = {.size = sizeof report};
        cl_fixture_expect_words(clump_context_get_error(on.clump),
                                clump_heap_migrate(heap, &desc, small, &get, &e, &report),
                                CLUMP_ERR_DEVICE_MEMORY, "free blocks", "migrate", __LINE__);
        assert_null(e);
        assert_int_equal(report.objects, k.count);
        CHECK_HEAP(&on, heap);
        CHECK_HEAP(&f, small);
        picture after = picture_of(&on, heap);
        picture_compare(&before, NULL, &after, 0);
        picture_release(&after);
        clump_heap_stats stats = {.size = sizeof stats};
        CHECK_OK(&f, clump_heap_read_stats(small, &stats, NULL, 0));
        assert_int_equal(stats.objects, 0);

        CHECK_OK(&on, clump_heap_migrate(heap, &desc, into, &get, i == 2 ? NULL : &e, &report));
        CHECK_HEAP(&on, heap);
        CHECK_HEAP(&f, into);
        if (e) {
            packed_compare(&on, &k, e, &report);
            cl_fixture_read(&on, clump_extract_get_info(e)->refs, old, k.count * sizeof *old);
            for (uint32_t n = 0; n < k.count; n++)
                assert_int_equal(old[n], before.refs[k.numbers[n]]);
        }
        after = picture_of(&on, heap);
        picture_compare(&before, chosen, &after, 0);
        picture_release(&after);
        after = picture_of(&f, into);
        picture_compare(&there, NULL, &after, k.count);
        picture_expect_inserted(&before, &k, &after, now);
        /* And back. */
        picture here = picture_of(&on, heap);
        uint8_t *came = calloc(after.count, 1);
        for (uint32_t n = 0; n < k.count; n++) came[picture_find(&after, now[n])] = 1;
        const clump_extract_desc back = {.size = sizeof back, .refs = now, .ref_count = k.count};
        CHECK_OK(&f, clump_heap_migrate(into, &back, heap, NULL, NULL, NULL));
        CHECK_HEAP(&on, heap);
        CHECK_HEAP(&f, into);
        picture end = picture_of(&f, into);
        picture_compare(&after, came, &end, 0);
        picture_release(&end);
        end = picture_of(&on, heap);
        picture_compare(&here, NULL, &end, k.count);
        picture_release(&end);
        picture_release(&here);
        picture_release(&after);
        picture_release(&there);
        picture_release(&before);
        clump_extract_destroy(e);
        free(came);
        free(now);
        free(old);
        free(refs);
        free(chosen);
        packed_release(&k);
        clump_heap_destroy(into);
        clump_heap_destroy(small);
        if (i) cl_fixture_close(&f);
    }
    clump_heap_destroy(heap);
}

/* ---- Two devices of one cl_context ----------------------------------------------------------- */

static uint32_t reads_without_wait;

static cl_int CL_API_CALL say_no_cpu(cl_device_id device, cl_device_info what, size_t bytes,
                                     void *value, size_t *needed) {
    const cl_int code = clGetDeviceInfo(device, what, bytes, value, needed);
    if (!code && what == CL_DEVICE_TYPE && value) *(cl_device_type *)value = CL_DEVICE_TYPE_GPU;
    return code;
}

static cl_int CL_API_CALL count_reads(cl_command_queue queue, cl_mem buffer, cl_bool waits,
                                      size_t at, size_t bytes, void *data, cl_uint count,
                                      const cl_event *events, cl_event *event) {
    reads_without_wait += !waits;
    return clEnqueueReadBuffer(queue, buffer, waits, at, bytes, data, count, events, event);
}

static void open_part(cl_fixture *f, cl_context context, cl_device_id part,
                      const clump_cl_functions *cl) {
    cl_int code;
    clump_error error;
    *f = (cl_fixture){.device = part, .context = context};
    f->queue = clCreateCommandQueue(context, part, 0, &code);
    CHECK_CL(code);
    const clump_context_desc desc = {.size = sizeof desc,
                                     .context = context,
                                     .device = part,
                                     .queue = f->queue,
                                     .personality = on.capabilities->personality,
                                     .cl = cl};
    assert_int_equal(clump_context_create(&desc, &f->clump, &error), CLUMP_OK);
    CHECK_CL(clRetainContext(context));
}

/* All values, in more pieces than have places at a time. */
static void migrate_many(const cl_fixture *from, const cl_fixture *to) {
    static const char schema[] = "class Wide { uint id; uint all[15]; }";
    static const clump_struct_field fields[] = {{"id", 0}};
    const clump_struct_desc ids = {sizeof ids, "Wide", sizeof(uint32_t), 1, fields};
    const char *const classes[] = {"Wide"};
    enum { MANY = 290000 };
    clump_heap *a = cl_fixture_heap(from, schema, 24 << 20, 0),
               *b = cl_fixture_heap(to, schema, 24 << 20, 0);
    uint32_t *numbers = calloc(MANY, sizeof *numbers), *found = calloc(MANY, sizeof *found);
    uint64_t count = 0;
    for (uint32_t i = 0; i < MANY; i++) numbers[i] = i * 2654435761u;
    CHECK_OK(from, clump_heap_new_structs(a, &ids, numbers, MANY, NULL, NULL));
    CHECK_OK(from, clump_heap_write_field(a, "Wide", "all", 14, sizeof *numbers, numbers, MANY));
    CHECK_OK(from, clump_heap_migrate(a,
                                      &(clump_extract_desc){.size = sizeof(clump_extract_desc),
                                                            .classes = classes,
                                                            .class_count = 1},
                                      b, NULL, NULL, NULL));
    CHECK_OK(from, clump_heap_read_count(a, "Wide", &count));
    assert_int_equal(count, 0);
    CHECK_OK(to, clump_heap_read_field(b, "Wide", "id", 0, sizeof *found, found, MANY, &count));
    assert_int_equal(count, MANY);
    assert_memory_equal(found, numbers, MANY * sizeof *found);
    CHECK_OK(to, clump_heap_read_field(b, "Wide", "all", 14, sizeof *found, found, MANY, &count));
    assert_memory_equal(found, numbers, MANY * sizeof *found);
    CHECK_HEAP(from, a);
    CHECK_HEAP(to, b);
    clump_heap_destroy(a);
    clump_heap_destroy(b);
    free(numbers);
    free(found);
}

/* Of processors the buffer is shared; of others it goes through the host, in pieces that no call
 * waits for. */
static void two_devices(void **state) {
    const cl_device_partition_property equally[] = {CL_DEVICE_PARTITION_EQUALLY, 1, 0};
    cl_device_id parts[64];
    cl_uint count = 0;
    cl_int code;
    if (clCreateSubDevices(on.device, equally, 64, parts, &count) || count < 2) skip();
    cl_context context = clCreateContext(NULL, 2, parts, NULL, NULL, &code);
    CHECK_CL(code);
    for (int is_cpu = 0; is_cpu < 2; is_cpu++) {
        const clump_cl_functions cl = {.size = sizeof cl,
                                       .GetDeviceInfo = is_cpu ? NULL : say_no_cpu,
                                       .EnqueueReadBuffer = count_reads};
        cl_fixture f[2];
        for (int i = 0; i < 2; i++) open_part(&f[i], context, parts[i], &cl);
        reads_without_wait = 0;
        migrate_many(&f[0], &f[1]);
        assert_int_equal(reads_without_wait, is_cpu ? 0 : 5);
        for (int i = 0; i < 2; i++) cl_fixture_close(&f[i]);
    }
    clReleaseContext(context);
    for (cl_uint i = 0; i < count; i++) clReleaseDevice(parts[i]);
}

/* Numbers that no object of the extract has, or one of another class: nothing is made. */
static void altered(void **state) {
    clump_heap *heap = filled(
        &on, &(clump_heap_desc){.size = sizeof(clump_heap_desc), .bytes = BYTES}, 19, OBJECTS / 4);
    clump_heap *into = filled(
        &on, &(clump_heap_desc){.size = sizeof(clump_heap_desc), .bytes = BYTES}, 20, OBJECTS / 4);
    const char *const all[] = {"Thing", "Box", "Lone"};
    clump_extract *e;
    CHECK_OK(&on, clump_heap_extract(
                      heap,
                      &(clump_extract_desc){
                          .size = sizeof(clump_extract_desc), .classes = all, .class_count = 3},
                      &e, NULL));
    const uint64_t bytes = clump_extract_get_info(e)->bytes;
    uint8_t *data = malloc(bytes);
    CHECK_OK(&on, clump_extract_read(e, data, bytes));
    clump_extract_column next, owner, lone;
    next = *cl_fixture_column(e, "Node", "next");
    owner = *cl_fixture_column(e, "Crate", "owner");
    lone = *cl_fixture_column(e, "Lone", "one");
    const uint32_t count = (uint32_t)clump_extract_get_info(e)->objects[0];
    const struct {
        uint64_t at;
        uint32_t word;
        const char *words;
    } cases[] = {
        {next.at, count + 1, "1 references lead to objects that it does not have, and 0"},
        {owner.at + 4, UINT32_MAX, "1 references lead to objects that it does not have, and 0"},
        {next.at + 8, (uint32_t)lone.first + 1, "and 1 to objects of a class"},
        {owner.at, (uint32_t)owner.first + 1, "and 1 to objects of a class"}};
    picture before = picture_of(&on, into);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        uint32_t word;
        memcpy(&word, data + cases[i].at, sizeof word);
        memcpy(data + cases[i].at, &cases[i].word, sizeof word);
        cl_fixture_write(&on, clump_extract_get_info(e)->buffer, data, bytes);
        cl_fixture_expect_words(clump_context_get_error(on.clump), clump_heap_insert(into, e, NULL),
                                CLUMP_ERR_FORMAT, cases[i].words, "insert", __LINE__);
        CHECK_HEAP(&on, into);
        picture after = picture_of(&on, into);
        picture_compare(&before, NULL, &after, 0);
        picture_release(&after);
        memcpy(data + cases[i].at, &word, sizeof word);
    }
    cl_fixture_write(&on, clump_extract_get_info(e)->buffer, data, bytes);
    CHECK_OK(&on, clump_heap_insert(into, e, NULL));
    picture_release(&before);
    clump_extract_destroy(e);
    free(data);
    clump_heap_destroy(heap);
    clump_heap_destroy(into);
}

/* ---- Other fields and other kinship ---------------------------------------------------------- */

/* Values of all bytes, in as many objects as rows and a rest. */
static void fill_class(clump_heap *heap, const char *class_name, uint32_t count, uint64_t *random) {
    clump_class_info k;
    clump_struct_field fields[16];
    clump_struct_desc desc = {.size = sizeof desc, .class_name = class_name, .fields = fields};
    k = *clump_schema_find_class(clump_heap_get_info(heap)->schema, class_name);
    for (; desc.field_count < k.field_count; desc.field_count++) {
        const clump_field_info *f = clump_schema_get_info(clump_heap_get_info(heap)->schema)
                                        ->classes[k.id]
                                        ->fields[desc.field_count];
        fields[desc.field_count] = (clump_struct_field){f->name, desc.bytes};
        desc.bytes += f->element_bytes * (f->count ? f->count : 1);
    }
    uint8_t *structs = malloc((size_t)count * desc.bytes + 1);
    for (size_t i = 0; i < (size_t)count * desc.bytes; i++)
        structs[i] = (uint8_t)test_random(random, 256);
    CHECK_OK(&on, clump_heap_new_structs(heap, &desc, structs, count, NULL, NULL));
    free(structs);
}

/* Elements wider than 16 bytes, alone and in arrays; neighbours of one width, which are copied
 * together, in three orders; objects for rows that are full, and one more. */
static void other_fields(void **state) {
    static const char *const texts[] = {
        "class W { uint a; uint b; uint c; ulong4 d; long16 e[2]; uchar f; uint g[5]; uchar h; "
        "uchar2 i[3]; float j; double3 k; double3 l; }",
        "class W { double3 l; long16 e[2]; uint c; uchar h; uint g[5]; uint a; ulong4 d; uint b; "
        "uchar f; float j; uchar2 i[3]; double3 k; }",
        "aos class W { uchar h; uchar f; uint b; uint a; uint c; uint g[5]; float j; double3 k; "
        "double3 l; ulong4 d; long16 e[2]; uchar2 i[3]; }"};
    const uint32_t counts[] = {1, 63, 64, 65, 257};
    uint64_t random = 31;
    for (size_t i = 0; i < sizeof counts / sizeof *counts; i++) {
        clump_heap *heaps[3];
        for (int h = 0; h < 3; h++)
            heaps[h] = cl_fixture_heap(&on, texts[h], 4 << 20, 1 + (uint32_t)h);
        for (int h = 0; h < 3; h++) {
            fill_class(heaps[h], "W", counts[i], &random);
            picture p = picture_of(&on, heaps[h]);
            uint8_t *chosen = draw(&p, &random, i % 2 ? 100 : 256);
            uint32_t count;
            clump_ref *refs = list(&p, chosen, &random, &count);
            round_trip(heaps[h],
                       &(clump_extract_desc){
                           .size = sizeof(clump_extract_desc), .refs = refs, .ref_count = count},
                       chosen, heaps, 3);
            free(refs);
            free(chosen);
            picture_release(&p);
        }
        for (int h = 0; h < 3; h++) clump_heap_destroy(heaps[h]);
    }
}

/* Objects go from some slots of each row of a full heap, and come back there, as many to a row as
 * there is room for. */
static void into_gaps(void **state) {
    static const char text[] = "class A { uint v; ref A next; ref A near[2]; }";
    const struct {
        uint32_t from, to, of; /* slots, of rows whose number modulo 3 is below `of` */
    } cases[] = {{0, 10, 3},  {0, 32, 2}, {54, 64, 3}, {0, 64, 1},
                 {20, 21, 3}, {0, 1, 3},  {0, 64, 3}};
    uint64_t random = 35;
    clump_heap *heap = cl_fixture_heap_of_blocks(&on, text, 3, 2);
    const uint32_t objects = 3 * cl_fixture_capacity(heap, "A");
    fill_class(heap, "A", objects, &random);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        picture p = picture_of(&on, heap);
        assert_int_equal(p.count, objects);
        clump_ref *near = calloc(objects, sizeof *near);
        for (int field = 0; field < 3; field++) {
            for (uint32_t n = 0; n < objects; n++) near[n] = p.refs[test_random(&random, objects)];
            CHECK_OK(&on, clump_heap_write_field(heap, "A", field ? "near" : "next", field > 1,
                                                 sizeof *near, near, objects));
        }
        uint8_t *chosen = calloc(objects, 1);
        for (uint32_t n = 0, row = 0; n < objects; n++) {
            const uint32_t slot = p.refs[n] & 63;
            row += n && p.refs[n] >> 6 != p.refs[n - 1] >> 6;
            chosen[n] = slot >= cases[i].from && slot < cases[i].to && row % 3 < cases[i].of;
        }
        uint32_t count;
        clump_ref *refs = list(&p, chosen, &random, &count);
        round_trip(heap,
                   &(clump_extract_desc){.size = sizeof(clump_extract_desc),
                                         .refs = refs,
                                         .ref_count = count,
                                         .free_objects = 1},
                   chosen, &heap, 1);
        free(refs);
        free(chosen);
        free(near);
        picture_release(&p);
    }
    clump_heap_destroy(heap);
}

/* The references that new objects have, by their values of `v`, in place of those that an insertion
 * tells. */
static clump_ref *find_new(picture *from, const packed *k, picture *before, picture *after) {
    clump_ref *refs = calloc(k->count, sizeof *refs);
    for (uint32_t n = 0; n < after->count; n++) {
        if (picture_find(before, after->refs[n]) != UINT32_MAX) continue;
        const picture_class *c = picture_class_of(after, n);
        for (uint32_t i = 0; i < k->count; i++)
            if (picture_class_of(from, k->numbers[i])->info.id == c->info.id &&
                memcmp(picture_struct(from, k->numbers[i]), picture_struct(after, n), 4) == 0)
                refs[i] = after->refs[n];
    }
    return refs;
}

/* Insertions of which nobody wants the references, of many objects: into a heap without objects,
 * and again and again, into what is free in blocks in use. An altered extract leaves nothing. */
static void unnamed(void **state) {
    static const char text[] =
        "class A { uint v; ref A next; ref B near[2]; }\n"
        "class B { uint v; ref A a; uchar w; }";
    static const char *const classes[] = {"A", "B"};
    const clump_checked_desc checks = {.size = sizeof checks};
    const clump_heap_desc descs[2] = {
        {.size = sizeof(clump_heap_desc), .bytes = 1 << 19, .block_rows = 3},
        {.size = sizeof(clump_heap_desc), .bytes = 1 << 20, .block_rows = 2, .checked = &checks}};
    enum { AS = 1500, BS = 500 };
    static uint32_t values[AS];
    static clump_ref as[AS], bs[BS], drawn[AS];
    uint64_t random = 37;
    clump_heap *heap = cl_fixture_heap(&on, text, 1 << 19, 2);
    for (uint32_t i = 0; i < AS; i++) values[i] = 1 + i;
    for (int b = 0; b < 2; b++) {
        const clump_struct_field v = {"v", 0};
        CHECK_OK(&on,
                 clump_heap_new_structs(
                     heap, &(clump_struct_desc){sizeof(clump_struct_desc), classes[b], 4, 1, &v},
                     values, b ? BS : AS, b ? bs : as, NULL));
    }
    for (uint32_t i = 0; i < AS; i++) drawn[i] = as[test_random(&random, AS)];
    CHECK_OK(&on, clump_heap_write_field(heap, "A", "next", 0, sizeof *drawn, drawn, AS));
    CHECK_OK(&on, clump_heap_write_field(heap, "B", "a", 0, sizeof *drawn, drawn, BS));
    for (uint32_t e = 0; e < 2; e++) {
        for (uint32_t i = 0; i < AS; i++) drawn[i] = bs[test_random(&random, BS)];
        CHECK_OK(&on, clump_heap_write_field(heap, "A", "near", e, sizeof *drawn, drawn, AS));
    }
    for (int h = 0; h < 2; h++) {
        clump_heap *into = cl_fixture_heap_as(&on, text, &descs[h]);
        for (int turn = 0; turn < 4; turn++) {
            picture p = picture_of(&on, heap), before = picture_of(&on, into);
            uint8_t *chosen = draw(&p, &random, 250);
            uint32_t count;
            clump_ref *refs = list(&p, chosen, &random, &count);
            packed k = picture_pack(&p, chosen);
            clump_extract *e;
            clump_extract_report report = {.size = sizeof report};
            clump_extract_column near;
            CHECK_OK(&on,
                     clump_heap_extract(
                         heap,
                         &(clump_extract_desc){
                             .size = sizeof(clump_extract_desc), .refs = refs, .ref_count = count},
                         &e, &report));
            packed_compare(&on, &k, e, &report);
            CHECK_OK(&on, clump_heap_insert(into, e, NULL));
            CHECK_HEAP(&on, into);
            picture after = picture_of(&on, into);
            picture_compare(&before, NULL, &after, k.count);
            clump_ref *found = find_new(&p, &k, &before, &after);
            picture_expect_inserted(&p, &k, &after, found);
            /* One number is that of an A. */
            near = *cl_fixture_column(e, "A", "near");
            const uint32_t wrong = 1 + (uint32_t)near.first;
            CHECK_CL(clEnqueueWriteBuffer(on.queue, clump_extract_get_info(e)->buffer, CL_TRUE,
                                          near.at + near.bytes - 4, 4, &wrong, 0, NULL, NULL));
            cl_fixture_expect_words(clump_context_get_error(on.clump),
                                    clump_heap_insert(into, e, NULL), CLUMP_ERR_FORMAT,
                                    "and 1 to objects of a class", "insert", __LINE__);
            CHECK_HEAP(&on, into);
            picture again = picture_of(&on, into);
            picture_compare(&after, NULL, &again, 0);
            picture_release(&again);
            picture_release(&after);
            picture_release(&before);
            clump_extract_destroy(e);
            /* Gaps for the next turn; most of what is left goes. */
            before = picture_of(&on, into);
            uint8_t *gone = draw(&before, &random, turn == 1 ? 250 : 200);
            clump_ref *leave = list(&before, gone, &random, &count);
            CHECK_OK(&on,
                     clump_heap_extract(into,
                                        &(clump_extract_desc){.size = sizeof(clump_extract_desc),
                                                              .refs = leave,
                                                              .ref_count = count,
                                                              .free_objects = 1},
                                        &e, NULL));
            clump_extract_destroy(e);
            picture_release(&before);
            free(leave);
            free(gone);
            free(found);
            free(refs);
            free(chosen);
            packed_release(&k);
            picture_release(&p);
        }
        clump_heap_destroy(into);
    }
    clump_heap_destroy(heap);
}

/* A class comes into a heap where it is derived from another one. So a field can refer to it there,
 * and not to one whose objects have numbers between theirs. */
static void other_kinship(void **state) {
    enum { COUNT = 100 };
    static const char *const texts[] = {
        "class A { uint v; ref A next; } class C { uint v; } class D { uint v; ref A next; }",
        "class C { uint v; } class A { uint v; ref A next; } class D : A { }"};
    uint64_t random = 33;
    const uint64_t objects[] = {COUNT, COUNT, COUNT};
    clump_schema *from;
    clump_extract *e;
    clump_extract_column next, values;
    assert_int_equal(clump_schema_parse(texts[0], strlen(texts[0]), NULL, &from, NULL), CLUMP_OK);
    clump_heap *into = cl_fixture_heap(&on, texts[1], 1 << 20, 2);
    CHECK_OK(&on, clump_extract_create(on.clump, from, objects, NULL, 0, &e, NULL));
    next = *cl_fixture_column(e, "A", "next");
    values = *cl_fixture_column(e, "A", "v");
    const uint64_t bytes = clump_extract_get_info(e)->bytes;
    uint8_t *data = calloc(bytes, 1);
    uint32_t words[COUNT], found[2 * COUNT];
    clump_ref refs[3 * COUNT], got[2 * COUNT];
    for (uint32_t i = 0; i < COUNT; i++) /* those of A and D */
        words[i] = test_random(&random, COUNT) + 1 + (test_random(&random, 2) ? 2 * COUNT : 0);
    memcpy(data + next.at, words, sizeof words);
    for (uint32_t i = 0; i < COUNT; i++) found[i] = i + 7;
    memcpy(data + values.at, found, COUNT * 4);
    for (int turn = 0; turn < 2; turn++) {
        cl_fixture_write(&on, clump_extract_get_info(e)->buffer, data, bytes);
        if (turn) {
            cl_fixture_expect_words(clump_context_get_error(on.clump),
                                    clump_heap_insert(into, e, NULL), CLUMP_ERR_FORMAT,
                                    "and 2 to objects of a class", "insert", __LINE__);
        } else {
            CHECK_OK(&on, clump_heap_insert(into, e,
                                            &(clump_insert_desc){.size = sizeof(clump_insert_desc),
                                                                 .refs = refs}));
            CHECK_OK(&on, clump_heap_read_field(into, "A", "next", 0, sizeof *got, got, 2 * COUNT,
                                                NULL));
            for (uint32_t i = 0; i < COUNT; i++)
                assert_int_equal(got[i], refs[words[i] - 1]); /* A comes before D */
            CHECK_OK(&on, clump_heap_read_field(into, "A", "v", 0, sizeof *found, found, 2 * COUNT,
                                                NULL));
            for (uint32_t i = 0; i < COUNT; i++) assert_int_equal(found[i], i + 7);
        }
        const uint32_t wrong[] = {COUNT + 1, 2 * COUNT}; /* the first and the last of C */
        memcpy(data + next.at + 4 * 63, wrong, sizeof wrong);
    }
    CHECK_HEAP(&on, into);
    clump_extract_destroy(e);
    clump_schema_destroy(from);
    free(data);
    clump_heap_destroy(into);
}

/* A saved heap as an extract is that of all its objects, however it was cut into pieces; and heaps
 * that have objects get them. */
static void of_saved_heaps(void **state) {
    static const uint32_t piece_bytes[] = {0, 4096, 4100};
    clump_heap *heap = filled(
        &on, &(clump_heap_desc){.size = sizeof(clump_heap_desc), .bytes = BYTES}, 23, OBJECTS);
    clump_heap *into = filled(
        &on,
        &(clump_heap_desc){.size = sizeof(clump_heap_desc), .bytes = 4 * BYTES, .block_rows = 2},
        24, OBJECTS / 3);
    picture p = picture_of(&on, heap);
    uint8_t *all = malloc(p.count + 1u);
    memset(all, 1, p.count + 1u);
    packed k = picture_pack(&p, all);
    k.dangling = 0; /* they were saved as null */
    clump_extract *e;
    clump_extract_report report = {.size = sizeof report};
    for (size_t i = 0; i < sizeof piece_bytes / sizeof *piece_bytes; i++) {
        memory_file file = saved_bytes(&on, heap, piece_bytes[i]);
        const clump_load_desc desc = {.size = sizeof desc, .read = memory_read, .user = &file};
        CHECK_OK(&on, clump_extract_load(on.clump, &desc, &e, &report, NULL));
        assert_int_equal(file.at, file.bytes);
        packed_compare(&on, &k, e, &report);
        expect_insertion(&on, into, &p, &k, e);
        clump_extract_destroy(e);
        memory_release(&file);
    }
    clump_heap *empty = cl_fixture_heap_as(
        &on, saved_schema, &(clump_heap_desc){.size = sizeof(clump_heap_desc), .bytes = BYTES});
    memory_file file = saved_bytes(&on, empty, 0);
    const clump_load_desc desc = {.size = sizeof desc, .read = memory_read, .user = &file};
    CHECK_OK(&on, clump_extract_load(on.clump, &desc, &e, &report, NULL));
    assert_int_equal(report.objects + report.bytes, 0);
    assert_null(clump_extract_get_info(e)->buffer);
    CHECK_OK(&on, clump_heap_insert(empty, e, NULL));
    clump_extract_destroy(e);
    memory_release(&file);
    free(all);
    packed_release(&k);
    picture_release(&p);
    clump_heap_destroy(heap);
    clump_heap_destroy(into);
    clump_heap_destroy(empty);
}

int main(void) {
    const int code = cl_fixture_open(&on, NULL);
    if (code) return code;
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(by_references),  cmocka_unit_test(by_class_and_predicate),
        cmocka_unit_test(by_following),   cmocka_unit_test(by_following_far),
        cmocka_unit_test(dangling),       cmocka_unit_test(migrate),
        cmocka_unit_test(checked_heaps),  cmocka_unit_test(to_the_last_slot),
        cmocka_unit_test(other_contexts), cmocka_unit_test(two_devices),
        cmocka_unit_test(altered),        cmocka_unit_test(whole_way),
        cmocka_unit_test(other_fields),   cmocka_unit_test(other_kinship),
        cmocka_unit_test(into_gaps),      cmocka_unit_test(unnamed),
        cmocka_unit_test(of_saved_heaps),
    };
    const int failed = cmocka_run_group_tests(tests, NULL, NULL);
    cl_fixture_close(&on);
    return failed;
}
