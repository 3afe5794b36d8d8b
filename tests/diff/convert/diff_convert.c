/* Heaps that get other schemas (clump/convert.h), against a model on the host: the objects as they
 * were, found by class and number; fields by name; references by the numbers of their objects, in
 * fields, registered buffers and handles. Schemas are drawn at random: fields come, go and change
 * places, classes are laid out otherwise, blocks have other widths. Checked heaps, watched handles,
 * pools, triggers.
 *
 * diff_convert [ROUNDS [SEED]]
 *
 * Read first: include/clump/convert.h, diff/extract/extract_model.h, tests/support/saved_heap.h.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "diff/extract/extract_model.h"
#include "heap/heap.h"
#include "saved_heap.h"

enum { BYTES = 4 << 20, OBJECTS = 900, OUTSIDE = 40, HANDLES = 30 };

static cl_fixture on;
static uint32_t rounds = 6, seed = 1;

/* ---- Random schemas -------------------------------------------------------------------------- */

/* The classes of saved_schema. A base has its fields, or those below it have them: `up` fields can
 * stand in either. */
typedef struct model_field {
    const char *type, *name, *array;
    int up;
} model_field;
typedef struct model_class {
    const char *name, *base;
    int is_abstract;
    model_field fields[6];
} model_class;
static const model_class model[] = {
    {"Thing",
     "",
     1,
     {{"uint", "tag", "", 0}, {"ref Thing", "next", "", 0}, {"ref Node", "seen", "", 0}}},
    {"Node",
     "Thing",
     0,
     {{"float3", "at", "", 1},
      {"uchar16", "wide", "", 1},
      {"ref Thing", "edges", "[5]", 0},
      {"bool", "flags", "[3]", 1}}},
    {"Leaf", "Node", 0, {{"short2", "pair", "[3]", 1}, {"long", "big", "", 1}}},
    {"Box",
     "",
     0,
     {{"char", "kind", "", 0},
      {"ulong", "sums", "[3]", 0},
      {"ref Node", "owner", "", 0},
      {"int4", "corner", "", 0},
      {"uchar", "last", "", 0}}},
    {"Crate", "Box", 0, {{"ushort", "marks", "[7]", 1}, {"ref Box", "inside", "[2]", 0}}},
    {"Lone", "", 0, {{"uchar", "one", "", 0}}},
    {"Never", "", 0, {{"uint", "nothing", "", 0}, {"ref Lone", "lone", "", 0}}},
};
enum { CLASSES = sizeof model / sizeof *model };

static void shuffle(uint32_t *order, uint32_t count, uint64_t *random) {
    for (uint32_t i = 0; i < count; i++) order[i] = i;
    for (uint32_t i = count; i > 1; i--) {
        const uint32_t k = test_random(random, i), was = order[k];
        order[k] = order[i - 1];
        order[i - 1] = was;
    }
}

typedef struct text {
    char data[8192];
    size_t bytes;
} text;

static void append_field(text *t, const model_field *f, uint64_t *random) {
    const int is_ref = strncmp(f->type, "ref", 3) == 0;
    t->bytes += (size_t)snprintf(t->data + t->bytes, sizeof t->data - t->bytes, "%s%s %s%s%s; ",
                                 is_ref && !test_random(random, 3) ? "weak " : "", f->type, f->name,
                                 f->array, f->array[0] && test_random(random, 2) ? " packed" : "");
}

/* A field of a new name: it comes, and goes with the next schema. */
static void append_new(text *t, uint64_t *random) {
    static const char *const types[] = {"uchar",  "ushort", "uint",      "ulong", "uint4",
                                        "ulong8", "uchar3", "ref Thing", "float", "ref Lone"};
    static uint32_t number;
    char name[32];
    model_field f = {types[test_random(random, sizeof types / sizeof *types)], name,
                     test_random(random, 3) ? "" : "[3]", 0};
    snprintf(name, sizeof name, "new_%u", number++);
    append_field(t, &f, random);
}

/* `dropped` of 256: how likely a field is not there. moved: which classes have the fields of those
 * below them. */
static void append_class(text *t, uint32_t at, const uint8_t *moved, uint32_t dropped,
                         uint64_t *random) {
    const model_class *k = &model[at];
    const model_field *fields[24];
    uint32_t count = 0, order[24];
    for (uint32_t c = 0; c < CLASSES; c++) {
        const int is_mine = c == at, is_below = strcmp(model[c].base, k->name) == 0;
        for (const model_field *f = model[c].fields; f->name; f++)
            if ((is_mine && !(f->up && moved[c])) || (is_below && f->up && moved[c]))
                fields[count++] = f;
    }
    shuffle(order, count, random);
    t->bytes +=
        (size_t)snprintf(t->data + t->bytes, sizeof t->data - t->bytes, "%s%sclass %s%s%s { ",
                         test_random(random, 2) ? "aos " : "", k->is_abstract ? "abstract " : "",
                         k->name, k->base[0] ? " : " : "", k->base);
    for (uint32_t i = 0; i < count; i++) {
        if (!test_random(random, 5)) append_new(t, random);
        if (test_random(random, 256) >= dropped) append_field(t, fields[order[i]], random);
    }
    if (!test_random(random, 3)) append_new(t, random);
    t->bytes += (size_t)snprintf(t->data + t->bytes, sizeof t->data - t->bytes, "uint own_%s; }\n",
                                 k->name);
}

static clump_schema *draw_schema(text *t, uint64_t *random) {
    uint32_t order[CLASSES];
    uint8_t moved[CLASSES];
    const uint32_t dropped = test_random(random, 2) * test_random(random, 120);
    t->bytes = 0;
    shuffle(order, CLASSES, random);
    for (uint32_t c = 0; c < CLASSES; c++)
        moved[c] = (uint8_t)(model[c].base[0] && test_random(random, 2));
    for (uint32_t c = 0; c < CLASSES; c++) append_class(t, order[c], moved, dropped, random);
    clump_schema *schema;
    clump_error error;
    if (clump_schema_parse(t->data, t->bytes, NULL, &schema, &error))
        fail_msg("%s: %s", error.message, t->data);
    return schema;
}

/* ---- What refers to objects from outside ----------------------------------------------------- */

/* Buffers: one packed, one with gaps, one that has a count, of which the last references are not
 * looked at. */
enum { GAP = 3, COUNTED = OUTSIDE - 9 };
typedef struct outside {
    cl_mem packed, gaps, counted, count;
    clump_refs *refs[3];
    clump_handle handles[HANDLES];
    clump_ref were[3][OUTSIDE], handle_refs[HANDLES];
} outside;

static clump_ref any_of(const picture *p, uint64_t *random) {
    return test_random(random, 6) && p->count ? p->refs[test_random(random, p->count)] : 0;
}

static outside open_outside(clump_heap *heap, uint64_t *random) {
    outside o;
    picture p = picture_of(&on, heap);
    clump_ref gaps[GAP * OUTSIDE];
    const uint32_t counted = COUNTED;
    for (int b = 0; b < 3; b++)
        for (uint32_t i = 0; i < OUTSIDE; i++) o.were[b][i] = any_of(&p, random);
    for (uint32_t i = 0; i < GAP * OUTSIDE; i++)
        gaps[i] = i % GAP == 1 ? o.were[1][i / GAP] : 0x5a5a5a5au;
    o.packed = cl_fixture_buffer(&on, o.were[0], sizeof o.were[0]);
    o.gaps = cl_fixture_buffer(&on, gaps, sizeof gaps);
    o.counted = cl_fixture_buffer(&on, o.were[2], sizeof o.were[2]);
    o.count = cl_fixture_buffer(&on, &counted, sizeof counted);
    const clump_refs_desc descs[3] = {
        {.size = sizeof(clump_refs_desc), .buffer = o.packed, .count = OUTSIDE, .null_dangling = 1},
        {.size = sizeof(clump_refs_desc),
         .buffer = o.gaps,
         .offset = 4,
         .stride = 4 * GAP,
         .count = OUTSIDE,
         .weak = 1},
        {.size = sizeof(clump_refs_desc),
         .buffer = o.counted,
         .count = OUTSIDE,
         .counted = o.count}};
    for (int b = 0; b < 3; b++) CHECK_OK(&on, clump_refs_create(heap, &descs[b], &o.refs[b], NULL));
    for (uint32_t i = 0; i < HANDLES; i++) {
        o.handle_refs[i] = p.refs[test_random(random, p.count)];
        CHECK_OK(&on, clump_heap_create_handle(heap, o.handle_refs[i], &o.handles[i]));
    }
    CHECK_OK(&on, clump_heap_destroy_handle(heap, o.handles[HANDLES - 1])); /* its place has null */
    picture_release(&p);
    return o;
}

static void close_outside(outside *o) {
    for (int b = 0; b < 3; b++) clump_refs_destroy(o->refs[b]);
    clReleaseMemObject(o->packed);
    clReleaseMemObject(o->gaps);
    clReleaseMemObject(o->counted);
    clReleaseMemObject(o->count);
}

/* The reference that an object has now, by that which it had. Those that name none are null now. */
static clump_ref now_of(const picture *before, const picture *after, const uint32_t *number_of,
                        clump_ref was, uint64_t *dangling) {
    const uint32_t n = picture_find(before, was);
    *dangling += was && n == UINT32_MAX;
    return n == UINT32_MAX ? 0 : after->refs[number_of[n]];
}

static uint64_t expect_outside(outside *o, clump_heap *heap, const picture *before,
                               const picture *after, const uint32_t *number_of) {
    clump_ref now[3][OUTSIDE], gaps[GAP * OUTSIDE], ref;
    uint64_t dangling = 0, counted = 0;
    cl_fixture_read(&on, o->packed, now[0], sizeof now[0]);
    cl_fixture_read(&on, o->gaps, gaps, sizeof gaps);
    cl_fixture_read(&on, o->counted, now[2], sizeof now[2]);
    for (uint32_t i = 0; i < GAP * OUTSIDE; i++) {
        if (i % GAP == 1)
            now[1][i / GAP] = gaps[i];
        else
            assert_int_equal(gaps[i], 0x5a5a5a5au);
    }
    for (int b = 0; b < 3; b++)
        for (uint32_t i = 0; i < OUTSIDE; i++) {
            const int is_seen = b != 2 || i < COUNTED;
            assert_int_equal(now[b][i],
                             is_seen ? now_of(before, after, number_of, o->were[b][i], &dangling)
                                     : o->were[b][i]);
        }
    for (uint32_t i = 0; i + 1 < HANDLES; i++) {
        CHECK_OK(&on, clump_heap_read_handle(heap, o->handles[i], &ref));
        assert_int_equal(ref, now_of(before, after, number_of, o->handle_refs[i], &counted));
        o->handle_refs[i] = ref;
    }
    memcpy(o->were, now, sizeof now);
    return dangling + counted;
}

/* ---- The model ------------------------------------------------------------------------------- */

static picture_class *class_of_name(picture *p, const char *name) {
    for (uint32_t i = 0; i < p->class_count; i++)
        if (strcmp(p->classes[i].info.name, name) == 0) return &p->classes[i];
    return NULL;
}

static clump_ref ref_at(const uint8_t *at) {
    clump_ref ref;
    memcpy(&ref, at, sizeof ref);
    return ref;
}

/* number_of[number before]: number after. The i-th object of a class is its i-th again. */
static uint32_t *renumber(picture *before, picture *after) {
    uint32_t *number_of = calloc(before->count + 1, sizeof *number_of);
    assert_int_equal(before->count, after->count);
    for (uint32_t i = 0; i < before->class_count; i++) {
        const picture_class *a = &before->classes[i], *b = class_of_name(after, a->info.name);
        assert_true(!a->count || (b && b->count == a->count));
        for (uint32_t n = 0; n < a->count; n++) number_of[a->first + n] = b->first + n;
    }
    return number_of;
}

/* A field of an object that both have. */
static uint64_t expect_field(picture *before, const picture *after, const uint32_t *number_of,
                             const clump_field_info *f, const uint8_t *a, const uint8_t *b) {
    const uint32_t elements = f->count ? f->count : 1;
    uint64_t dangling = 0;
    if (f->type != CLUMP_TYPE_REF) {
        if (memcmp(a, b, (size_t)elements * f->element_bytes) != 0) fail_msg("field %s", f->name);
        return 0;
    }
    for (uint32_t e = 0; e < elements; e++) {
        const clump_ref was = ref_at(a + 4 * e);
        const uint32_t n = picture_find_in_field(before, f, was);
        dangling += was && n == UINT32_MAX;
        if (ref_at(b + 4 * e) != (n == UINT32_MAX ? 0 : after->refs[number_of[n]]))
            fail_msg("field %s[%u]: 0x%08x was 0x%08x", f->name, e, ref_at(b + 4 * e), was);
    }
    return dangling;
}

/* Fields that were counted, each as the class that declares it. */
typedef struct counted {
    const picture *of[512];
    uint32_t class_id[512];
    const char *name[512];
    uint32_t count;
} counted;

/* 1, and counted then, if the field is not yet. It may be of a base. */
static uint32_t count_once(counted *c, const picture *p, uint32_t class_id, const char *name) {
    clump_class_info k;
    for (;; class_id = k.base) {
        k = *clump_schema_get_info(p->schema)->classes[class_id];
        if (!k.base || !clump_schema_find_field(p->schema, k.base, name)) break;
    }
    for (uint32_t i = 0; i < c->count; i++)
        if (c->of[i] == p && c->class_id[i] == class_id && strcmp(c->name[i], name) == 0) return 0;
    assert_in_range(c->count, 0, 511);
    c->of[c->count] = p;
    c->class_id[c->count] = class_id;
    c->name[c->count++] = name;
    return 1;
}

/* All fields of the objects of a class. */
static uint64_t expect_class(picture *before, const picture_class *a, picture *after,
                             const picture_class *b, const uint32_t *number_of,
                             clump_convert_report *counts, counted *seen) {
    uint64_t dangling = 0;
    for (uint32_t i = 0; i < a->desc.field_count; i++) /* also of those that are lost */
        if (picture_field(b, a->infos[i].name) < 0)
            counts->fields_lost += count_once(seen, before, a->info.id, a->infos[i].name);
    for (uint32_t i = 0; i < b->desc.field_count; i++) {
        const clump_field_info *f = &b->infos[i];
        const int there = picture_field(a, f->name);
        if (there < 0) counts->fields_gained += count_once(seen, after, b->info.id, f->name);
        for (uint32_t n = 0; n < a->count; n++) {
            const uint8_t *now = b->structs + (size_t)n * b->desc.bytes + b->fields[i].offset;
            const uint8_t *was =
                there < 0 ? NULL : a->structs + (size_t)n * a->desc.bytes + a->fields[there].offset;
            if (was) {
                dangling += expect_field(before, after, number_of, &a->infos[there], was, now);
                continue;
            }
            for (uint32_t byte = 0; byte < f->element_bytes * (f->count ? f->count : 1); byte++)
                if (now[byte]) fail_msg("new field %s of class %s is not 0", f->name, b->info.name);
        }
    }
    return dangling;
}

/* Convert, and compare everything. o: NULL, if nothing refers to the heap. */
static void convert(clump_heap *heap, const clump_convert_desc *desc, outside *o) {
    picture before = picture_of(&on, heap);
    clump_convert_report report = {.size = sizeof report}, counts = {.size = sizeof counts};
    counted seen = {.count = 0};
    uint64_t dangling = 0;
    CHECK_OK(&on, clump_heap_convert(heap, desc, &report));
    CHECK_HEAP(&on, heap);
    picture after = picture_of(&on, heap);
    uint32_t *number_of = renumber(&before, &after);
    for (uint32_t i = 0; i < before.class_count; i++) {
        const picture_class *a = &before.classes[i];
        if (a->count)
            dangling += expect_class(&before, a, &after, class_of_name(&after, a->info.name),
                                     number_of, &counts, &seen);
    }
    if (o) dangling += expect_outside(o, heap, &before, &after, number_of);
    assert_int_equal(report.objects, before.count);
    assert_int_equal(report.dangling, dangling);
    assert_int_equal(report.fields_lost, counts.fields_lost);
    assert_int_equal(report.fields_gained, counts.fields_gained);
    free(number_of);
    picture_release(&before);
    picture_release(&after);
}

/* ---- Tests ----------------------------------------------------------------------------------- */

static clump_heap *filled(const clump_heap_desc *like, uint32_t with_seed) {
    clump_heap *heap = cl_fixture_heap_as(&on, saved_schema, like);
    saved_fill(&on, heap, with_seed, OBJECTS);
    return heap;
}

/* Some objects go by their references, so that others and buffers dangle. */
static void free_some(clump_heap *heap, uint64_t *random) {
    picture p = picture_of(&on, heap);
    clump_ref refs[16];
    clump_extract *e;
    uint32_t count = 0;
    for (int i = 0; i < 16; i++) refs[count++] = p.refs[test_random(random, p.count)];
    CHECK_OK(&on, clump_heap_extract(heap,
                                     &(clump_extract_desc){.size = sizeof(clump_extract_desc),
                                                           .refs = refs,
                                                           .ref_count = count,
                                                           .free_objects = 1},
                                     &e, NULL));
    clump_extract_destroy(e);
    picture_release(&p);
}

/* Seven schemas one after the other, with holes in between. */
static void random_changes(void **state) {
    for (uint32_t r = 0; r < rounds; r++) {
        uint64_t random = seed + r;
        clump_heap *heap = filled(
            &(clump_heap_desc){.size = sizeof(clump_heap_desc), .bytes = BYTES, .block_rows = 2},
            seed + r);
        outside o = open_outside(heap, &random);
        for (int step = 0; step < 4; step++) {
            static text t;
            clump_schema *schema = draw_schema(&t, &random);
            const clump_convert_desc desc = {
                .size = sizeof desc,
                .schema = schema,
                .bytes = test_random(&random, 3) ? 0 : BYTES + test_random(&random, BYTES),
                .block_rows = test_random(&random, 9)};
            if (step != 1) free_some(heap, &random);
            convert(heap, &desc, &o);
            clump_schema_destroy(schema);
        }
        clump_heap_destroy(heap);
        close_outside(&o);
    }
}

/* The same schema: narrower blocks, then half the memory. */
static void same_schema(void **state) {
    clump_heap *heap = filled(
        &(clump_heap_desc){.size = sizeof(clump_heap_desc), .bytes = BYTES, .block_rows = 2}, 3);
    convert(heap,
            &(clump_convert_desc){.size = sizeof(clump_convert_desc),
                                  .schema = clump_heap_get_info(heap)->schema,
                                  .block_rows = 1},
            NULL);
    convert(heap,
            &(clump_convert_desc){.size = sizeof(clump_convert_desc),
                                  .schema = clump_heap_get_info(heap)->schema,
                                  .bytes = BYTES / 2},
            NULL);
    const uint64_t halved = clump_heap_get_info(heap)->bytes;
    assert_true(halved <= BYTES / 2 && halved > BYTES / 4);
    convert(heap,
            &(clump_convert_desc){.size = sizeof(clump_convert_desc),
                                  .schema = clump_heap_get_info(heap)->schema},
            NULL);
    assert_int_equal(clump_heap_get_info(heap)->bytes,
                     halved); /* that were asked for, though blocks do not fill them */
    clump_heap_destroy(heap);
}

static void no_objects(void **state) {
    static text t;
    uint64_t random = 11;
    clump_heap *heap = cl_fixture_heap(&on, saved_schema, BYTES, 2);
    clump_schema *schema = draw_schema(&t, &random);
    convert(heap, &(clump_convert_desc){.size = sizeof(clump_convert_desc), .schema = schema},
            NULL);
    clump_schema_destroy(schema);
    clump_heap_destroy(heap);
}

static const char before_text[] = "class A { uint id; ref A next; float x; } class B { uint id; }";
static const char after_text[] =
    "class B { uint id; uchar more; } aos class A { float y; ref A next; uint id; }";

static clump_schema *parse(const char *words) {
    clump_schema *schema;
    assert_int_equal(clump_schema_parse(words, strlen(words), NULL, &schema, NULL), CLUMP_OK);
    return schema;
}

static void make_a(clump_heap *heap, uint32_t count, clump_ref *refs) {
    uint32_t *ids = calloc(count, sizeof *ids);
    const clump_struct_field id = {"id", 0};
    for (uint32_t i = 0; i < count; i++) ids[i] = i;
    CHECK_OK(&on, clump_heap_new_structs(
                      heap, &(clump_struct_desc){sizeof(clump_struct_desc), "A", 4, 1, &id}, ids,
                      count, refs, NULL));
    free(ids);
}

static const char source[] =
    "__kernel void halve(CLUMP_HEAP) {\n"
    "    CLUMP_FOR_EACH(A, s) {\n"
    "        if (A_id(s) % 2) A_free(s);\n"
    "        else { A n = A_new(); if (!A_is_null(n)) { A_id(n) = 2000000; A_next(n) = s; } }\n"
    "    }\n"
    "}\n"
    "__kernel void sum(CLUMP_HEAP_NO_ALLOC) {\n"
    "    ulong mine = 0;\n"
    "    CLUMP_FOR_EACH(A, s) mine += A_id(s);\n"
    "    CLUMP_REDUCE(ulong, mine, CLUMP_SUM);\n"
    "}\n";

/* Of 16 objects one stays, and that one. */
static void thin_out(clump_heap *heap, clump_ref that, clump_ref *refs, uint32_t room) {
    uint64_t count;
    clump_extract *e;
    CHECK_OK(&on, clump_heap_read_refs(heap, "A", refs, room, &count));
    assert_true(count <= room);
    for (uint32_t i = 0; i < count; i++)
        if (i % 16 == 0 || refs[i] == that) refs[i] = 0;
    const clump_extract_desc others = {
        .size = sizeof others, .refs = refs, .ref_count = count, .free_objects = 1};
    CHECK_OK(&on, clump_heap_extract(heap, &others, &e, NULL));
    clump_extract_destroy(e);
}

/* Programs of the old schema are refused; those of the new one make, free and count objects.
 * Triggers and reserved slots follow. */
static void programs_and_triggers(void **state) {
    enum { COUNT = 3000 };
    static const char *const only_a[] = {"A"};
    clump_heap *heap = cl_fixture_heap(&on, before_text, BYTES, 1);
    clump_schema *schema = parse(after_text), *without = parse("class B { uint id; }");
    clump_ref *refs = calloc(COUNT + 2, sizeof *refs), ref;
    clump_compactor *compactor;
    clump_collector *collector;
    clump_handle first;
    clump_compact_report compacted = {.size = sizeof compacted};
    clump_collect_report collected = {.size = sizeof collected};
    int ran;
    make_a(heap, COUNT, refs);
    CHECK_OK(&on, clump_heap_reserve(heap, "A", 640, NULL));
    CHECK_OK(&on, clump_heap_create_handle(heap, refs[0], &first));
    CHECK_OK(&on, clump_compactor_create(
                      &(clump_compactor_desc){
                          .size = sizeof(clump_compactor_desc),
                          .heap = heap,
                          .candidates = 1,
                          .compact = &(clump_compact_desc){.size = sizeof(clump_compact_desc),
                                                           .classes = only_a,
                                                           .class_count = 1}},
                      &compactor, NULL));
    CHECK_OK(&on, clump_collector_create(
                      &(clump_collector_desc){
                          .size = sizeof(clump_collector_desc), .heap = heap, .every = 1},
                      &collector, NULL));
    CHECK_OK(&on, clump_compactor_tick(compactor, &ran, &compacted, NULL));
    CHECK_OK(&on, clump_collector_tick(collector, &ran, &collected, NULL)); /* all but one go */
    assert_int_equal(collected.dead, COUNT - 1);
    make_a(heap, COUNT, refs);
    clump_program *old = cl_fixture_program(&on, heap, source, NULL, NULL);
    clump_kernel *old_halve = cl_fixture_kernel(&on, old, "halve");
    convert(heap,
            &(clump_convert_desc){
                .size = sizeof(clump_convert_desc), .schema = schema, .block_rows = 3},
            NULL);
    cl_fixture_expect_words(clump_context_get_error(on.clump),
                            clump_heap_do_all(heap, old_halve, NULL), CLUMP_ERR_USAGE,
                            "another layout", "an old kernel", __LINE__);
    clump_program *program = cl_fixture_program(&on, heap, source, NULL, NULL);
    clump_kernel *halve = cl_fixture_kernel(&on, program, "halve"),
                 *sum = cl_fixture_kernel(&on, program, "sum");
    uint64_t total = 0, expected = 0;
    CHECK_OK(&on, clump_heap_do_all(heap, halve, NULL));
    CHECK_OK(&on, clump_heap_reduce(heap, sum, sizeof total, &total, NULL));
    for (uint32_t i = 0; i < COUNT; i += 2) expected += i + 2000000;
    assert_int_equal(total, expected + 2000000); /* the one that the handle kept has id 0, too */
    assert_int_equal(heap->geometry.classes[cl_fixture_class_id(heap, "A")].reserved.least, 640);
    CHECK_HEAP(&on, heap);
    CHECK_OK(&on, clump_heap_read_handle(heap, first, &ref));
    thin_out(heap, ref, refs, COUNT + 2);
    CHECK_OK(&on, clump_compactor_tick(compactor, &ran, &compacted, NULL));
    assert_int_equal(ran, 1);
    CHECK_OK(&on, clump_collector_tick(collector, &ran, &collected, NULL));
    assert_int_equal(ran, 1);
    CHECK_OK(&on, clump_heap_read_handle(heap, first, &ref)); /* it alone is left */
    uint32_t id = 1;
    uint64_t count;
    CHECK_OK(&on, clump_heap_read_object_field(heap, "A", "id", 0, ref, sizeof(id), &id));
    assert_int_equal(id, 0);
    CHECK_OK(&on, clump_heap_read_count(heap, "A", &count));
    assert_int_equal(count, 1);
    /* A compactor of a class that is gone says so. */
    CHECK_OK(&on, clump_heap_destroy_handle(heap, first));
    CHECK_OK(&on, clump_collector_tick(collector, &ran, &collected, NULL));
    convert(heap, &(clump_convert_desc){.size = sizeof(clump_convert_desc), .schema = without},
            NULL);
    cl_fixture_expect_words(clump_context_get_error(on.clump),
                            clump_compactor_tick(compactor, &ran, NULL, NULL), CLUMP_ERR_NOT_FOUND,
                            "no class \"A\"", "a compactor", __LINE__);
    clump_kernel_destroy(old_halve);
    clump_kernel_destroy(halve);
    clump_kernel_destroy(sum);
    clump_program_destroy(old);
    clump_program_destroy(program);
    clump_compactor_destroy(compactor);
    clump_collector_destroy(collector);
    clump_heap_destroy(heap);
    clump_schema_destroy(schema);
    clump_schema_destroy(without);
    free(refs);
}

/* Watched handles see what was freed before and after, and no slot that another object has. */
static void watched(void **state) {
    clump_heap *heap = cl_fixture_heap_as(
        &on, before_text,
        &(clump_heap_desc){
            .size = sizeof(clump_heap_desc), .bytes = BYTES, .block_rows = 1, .watch_handles = 1});
    clump_schema *schema = parse(after_text);
    clump_ref refs[100], ref;
    clump_handle handles[100];
    clump_extract *e;
    make_a(heap, 100, refs);
    for (int i = 0; i < 100; i++)
        CHECK_OK(&on, clump_heap_create_handle(heap, refs[i], &handles[i]));
    const clump_extract_desc some = {
        .size = sizeof some, .refs = refs, .ref_count = 10, .free_objects = 1};
    CHECK_OK(&on, clump_heap_extract(heap, &some, &e, NULL));
    clump_extract_destroy(e);
    convert(heap, &(clump_convert_desc){.size = sizeof(clump_convert_desc), .schema = schema},
            NULL);
    for (int i = 0; i < 100; i++) {
        uint32_t id = 1000;
        CHECK_OK(&on, clump_heap_read_handle(heap, handles[i], &ref));
        assert_int_equal(ref != 0, i >= 10);
        if (i < 10) continue;
        CHECK_OK(&on, clump_heap_read_object_field(heap, "A", "id", 0, ref, sizeof(id), &id));
        assert_int_equal(id, i);
    }
    CHECK_OK(&on, clump_heap_read_handle(heap, handles[50], &ref));
    const clump_extract_desc one = {
        .size = sizeof one, .refs = &ref, .ref_count = 1, .free_objects = 1};
    CHECK_OK(&on, clump_heap_extract(heap, &one, &e, NULL));
    clump_extract_destroy(e);
    make_a(heap, 100, refs); /* one of them has its slot */
    CHECK_OK(&on, clump_heap_read_handle(heap, handles[50], &ref));
    assert_int_equal(ref, 0);
    CHECK_HEAP(&on, heap);
    clump_schema_destroy(schema);
    clump_heap_destroy(heap);
}

static int leaks;
static void on_leak(void *user, const char *words) {
    (void)user;
    (void)words;
    leaks++;
}

/* A checked heap finds nothing, knows who made its objects, and leaks them once. References to
 * freed objects become null. */
static void checked(void **state) {
    const clump_checked_desc how = {.size = sizeof how, .on_leak = on_leak};
    clump_heap *heap = cl_fixture_heap_as(
        &on, before_text,
        &(clump_heap_desc){
            .size = sizeof(clump_heap_desc), .bytes = 2 * BYTES, .block_rows = 1, .checked = &how});
    clump_schema *schema = parse(after_text);
    clump_program *program = cl_fixture_program(&on, heap, source, NULL, NULL);
    clump_kernel *halve = cl_fixture_kernel(&on, program, "halve");
    clump_ref refs[500], more[40], was[540], is[540];
    clump_live before[8], after[8];
    clump_finding findings[8];
    uint64_t before_count, after_count, found, lost;
    make_a(heap, 500, refs);
    CHECK_OK(&on, clump_heap_write_field(heap, "A", "next", 0, sizeof *refs, refs, 500));
    CHECK_OK(&on, clump_heap_do_all(heap, halve, NULL));
    CHECK_OK(&on, clump_heap_write_object_field(heap, "A", "next", 0, refs[0], sizeof(refs[1]),
                                                &refs[1]));
    const clump_ref nowhere = 5; /* a slot of the null row */
    CHECK_OK(&on, clump_heap_write_object_field(heap, "A", "next", 0, refs[2], sizeof nowhere,
                                                &nowhere));
    make_a(heap, 40,
           more); /* in slots of freed ones, which have references of an older generation */
    cl_mem stale = cl_fixture_buffer(&on, refs, sizeof refs);
    clump_refs *registered;
    CHECK_OK(&on,
             clump_refs_create(
                 heap,
                 &(clump_refs_desc){.size = sizeof(clump_refs_desc), .buffer = stale, .count = 500},
                 &registered, NULL));
    CHECK_OK(&on, clump_heap_read_live(heap, before, 8, &before_count));
    clump_convert_report report = {.size = sizeof report};
    CHECK_OK(&on,
             clump_heap_convert(
                 heap, &(clump_convert_desc){.size = sizeof(clump_convert_desc), .schema = schema},
                 &report));
    CHECK_HEAP(&on, heap);
    /* No reference from before a conversion names an object after it. */
    CHECK_OK(&on, clump_heap_read_refs(heap, "A", was, 540, &found));
    CHECK_OK(&on,
             clump_heap_convert(
                 heap, &(clump_convert_desc){.size = sizeof(clump_convert_desc), .schema = schema},
                 NULL));
    CHECK_OK(&on, clump_heap_read_refs(heap, "A", is, 540, &found));
    for (int i = 0; i < 540 * 540; i++) assert_int_not_equal(was[i / 540], is[i % 540]);
    CHECK_OK(&on, clump_heap_check_memory(heap, NULL));
    CHECK_HEAP(&on, heap);
    assert_int_equal(report.objects, 540);
    assert_int_equal(report.dangling, 250 + 2);
    CHECK_OK(&on, clump_heap_read_live(heap, after, 8, &after_count));
    assert_int_equal(after_count, before_count);
    for (uint32_t i = 0; i < after_count; i++) {
        assert_int_equal(after[i].objects, before[i].objects);
        assert_int_equal(after[i].place.line, before[i].place.line);
        assert_string_equal(after[i].place.kernel ? after[i].place.kernel : "",
                            before[i].place.kernel ? before[i].place.kernel : "");
    }
    cl_fixture_read(&on, stale, refs, sizeof refs);
    for (int i = 0; i < 500; i++) {
        uint32_t id = 1000;
        assert_int_equal(refs[i] != 0, i % 2 == 0);
        if (!refs[i]) continue;
        CHECK_OK(&on, clump_heap_read_object_field(heap, "A", "id", 0, refs[i], sizeof(id), &id));
        assert_int_equal(id, i);
    }
    clump_program *fresh = cl_fixture_program(&on, heap, source, NULL, NULL);
    clump_kernel *again = cl_fixture_kernel(&on, fresh, "halve");
    CHECK_OK(&on, clump_heap_do_all(heap, again, NULL));
    CHECK_HEAP(&on, heap);
    CHECK_OK(&on, clump_heap_take_findings(heap, findings, 8, &found, &lost));
    assert_int_equal(found + lost, 0);
    assert_int_equal(leaks, 0);
    clump_kernel_destroy(halve);
    clump_kernel_destroy(again);
    clump_program_destroy(program);
    clump_program_destroy(fresh);
    clump_heap_destroy(heap);
    assert_true(leaks > 0);
    clump_refs_destroy(registered);
    clReleaseMemObject(stale);
    clump_schema_destroy(schema);
}

/* The new memory comes from the pool of the old one, which gets that back. */
static void in_a_pool(void **state) {
    clump_pool *pool;
    clump_pool_stats stats = {.size = sizeof stats};
    clump_allocation_info info = {.size = sizeof info};
    CHECK_OK(&on, clump_pool_create(
                      &(clump_pool_desc){.size = sizeof(clump_pool_desc), .context = on.clump},
                      &pool, NULL));
    clump_heap *heap = filled(
        &(clump_heap_desc){
            .size = sizeof(clump_heap_desc), .bytes = BYTES, .block_rows = 2, .pool = pool},
        5);
    static text t;
    uint64_t random = 12;
    clump_schema *schema = draw_schema(&t, &random);
    convert(heap, &(clump_convert_desc){.size = sizeof(clump_convert_desc), .schema = schema},
            NULL);
    CHECK_OK(&on, clump_pool_get_stats(pool, &stats, NULL));
    assert_int_equal(stats.allocations, 1);
    CHECK_OK(&on, clump_pool_get_info(pool, heap->source_number, &info));
    assert_ptr_equal(info.user_data, heap);
    clump_schema_destroy(schema);
    clump_heap_destroy(heap);
    clump_pool_destroy(pool);
}

static int run_with(const char *name, uint32_t disable) {
    const int code = cl_fixture_open(&on, &(cl_fixture_desc){.disable = disable});
    if (code) return code;
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(random_changes),
        cmocka_unit_test(no_objects),
        cmocka_unit_test(same_schema),
        cmocka_unit_test(watched),
        cmocka_unit_test(programs_and_triggers),
        cmocka_unit_test(checked),
        cmocka_unit_test(in_a_pool),
    };
    leaks = 0;
    /* Words of 32 bits are the business of what reads bitmaps: the first has that. */
    const size_t count = disable ? 1 : sizeof tests / sizeof *tests;
    const int failed = _cmocka_run_group_tests(name, tests, count, NULL, NULL);
    cl_fixture_close(&on);
    return failed;
}

int main(int argc, char **argv) {
    const int is_short = 0;
    return cl_fixture_run_rounds(argc, argv, &rounds, &seed, run_with, &is_short);
}
