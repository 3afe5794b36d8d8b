/* Schemas: layouts, ids, look-ups, copies, memory failures, sizes.
 *
 * Layouts are compared with numbers worked out by hand, and for random schemas with the meaning of
 * the layout formula: a byte map of one row in which no two elements may share a byte.
 * What is refused, with which words and where, is in test_schema_errors.c.
 * Read first: include/clump/schema.h, host/schema/schema.h.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
/* After the above, which it needs. */
#include <cmocka.h>

#include "schema/schema.h"
#include "tests/unit/schema/declare.h"

static clump_schema *parse(const char *text) {
    clump_schema *schema = NULL;
    clump_error error;
    clump_status status = clump_schema_parse(text, strlen(text), NULL, &schema, &error);
    if (status)
        fail_msg("%u:%u %s in %s", (unsigned)error.line, (unsigned)error.column, error.message,
                 text);
    assert_int_equal(error.status, CLUMP_OK);
    return schema;
}

static uint32_t id_of(const clump_schema *schema, const char *name) {
    clump_class_info info = {0};
    info = *clump_schema_find_class(schema, name);
    return info.id;
}

static double seconds(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

/* ---- Numbers worked out by hand -------------------------------------------------------------- */

static void expect_class(const clump_schema *schema, const char *name, uint32_t id, uint32_t base,
                         uint32_t last, uint32_t fields, uint32_t bytes) {
    const clump_class_info *info = clump_schema_find_class(schema, name);
    assert_string_equal(info->name, name);
    assert_int_equal(info->id, id);
    assert_int_equal(info->base, base);
    assert_int_equal(info->last, last);
    assert_int_equal(info->field_count, fields);
    assert_int_equal(info->object_bytes, bytes);
}

static void expect_field(const clump_schema *schema, const char *class_name, const char *name,
                         uint32_t element, uint32_t base, uint32_t stride, uint32_t step) {
    const clump_field_info *info = clump_schema_find_field(schema, id_of(schema, class_name), name);
    assert_string_equal(info->name, name);
    assert_int_equal(info->element_bytes, element);
    assert_int_equal(info->base_bytes, base);
    assert_int_equal(info->stride_bytes, stride);
    assert_int_equal(info->step_bytes, step);
}

/* The example of the header, with a class after Parcel. */
static const char example[] =
    "// comments as in C\n"
    "abstract class Agent { ref Cell position; }\n"
    "class Fish : Agent { uint spawn_timer; }\n"
    "class Cell {\n"
    "    ref Cell neighbors[4]; /* fixed-length array */\n"
    "    ref Agent agent;\n"
    "    bool request[5] packed;\n"
    "    float4 colour;\n"
    "}\n"
    "aos class Parcel { double weight; char tag; }\n"
    "class Crate : Parcel { float3 size; char marks[2]; }\n"
    "class Shark : Agent { uint energy; uchar hungry; }\n";

static void test_example(void **state) {
    (void)state;
    clump_schema *s = parse(example);
    assert_int_equal(clump_schema_get_info(s)->class_count, 6);
    /* Depth-first: Agent (Fish, Shark), Cell, Parcel (Crate). */
    expect_class(s, "Agent", 1, 0, 3, 1, 4);
    expect_class(s, "Fish", 2, 1, 2, 1, 8);
    expect_class(s, "Shark", 3, 1, 3, 2, 9);
    expect_class(s, "Cell", 4, 0, 4, 4, 16 + 4 + 5 + 16);
    expect_class(s, "Parcel", 5, 0, 6, 2, 16);
    expect_class(s, "Crate", 6, 5, 6, 2, 16 + 16 + 2);
    expect_field(s, "Fish", "position", 4, 0, 4, 0);
    expect_field(s, "Fish", "spawn_timer", 4, 64 * 4, 4, 0);
    expect_field(s, "Shark", "hungry", 1, 64 * 8, 1, 0);
    expect_field(s, "Cell", "neighbors", 4, 0, 4, 64 * 4);
    expect_field(s, "Cell", "agent", 4, 64 * 16, 4, 0);
    expect_field(s, "Cell", "request", 1, 64 * 20, 5, 1);
    expect_field(s, "Cell", "colour", 16, 64 * 25, 16, 0);
    expect_field(s, "Parcel", "weight", 8, 0, 16, 0);
    expect_field(s, "Parcel", "tag", 1, 8, 16, 0);
    expect_field(s, "Crate", "tag", 1, 8, 16, 0);
    expect_field(s, "Crate", "size", 16, 64 * 16, 16, 0);
    expect_field(s, "Crate", "marks", 1, 64 * 32, 1, 64);
    clump_field_info field = *clump_schema_get_info(s)->classes[4]->fields[1];
    assert_int_equal(field.type, CLUMP_TYPE_REF);
    assert_int_equal(field.ref_class, 1);
    assert_int_equal(field.class_id, 4);
    field = *clump_schema_get_info(s)->classes[6]->fields[0];
    assert_int_equal(field.width, 3);
    assert_int_equal(field.ref_class, 0);
    clump_class_info info = *clump_schema_get_info(s)->classes[1];
    assert_int_equal(info.is_abstract, 1);
    assert_int_equal(info.layout, CLUMP_LAYOUT_SOA);
    info = *clump_schema_get_info(s)->classes[5];
    assert_int_equal(info.is_abstract, 0);
    assert_int_equal(info.layout, CLUMP_LAYOUT_AOS);
    clump_schema_destroy(s);
}

/* Elements of 128 bytes need pad bytes in the object; nothing else does. */
static void test_pads(void **state) {
    (void)state;
    clump_schema *s = parse(
        "class A { char c; double16 d; char e; long16 f[2]; }"
        "class B { uchar c; }"
        "aos class C : B { ulong16 x; int3 y[2]; char z; }"
        "aos class D : B { int x; double y; char z[3] packed; }"
        "class E : D { double16 v[1] packed; }");
    expect_class(s, "A", 1, 0, 1, 4, 2 + 128 + 2 + 256);
    expect_field(s, "A", "d", 128, 64 * 2, 128, 0);
    expect_field(s, "A", "e", 1, 64 * 130, 1, 0);
    expect_field(s, "A", "f", 128, 64 * 132, 128, 64 * 128);
    /* B's byte, a pad byte, then a struct of 128 + 32 + 1 bytes rounded up to 256. */
    expect_class(s, "C", 3, 2, 3, 3, 2 + 256);
    expect_field(s, "C", "x", 128, 64 * 2, 256, 0);
    expect_field(s, "C", "y", 16, 64 * 2 + 128, 256, 16);
    expect_field(s, "C", "z", 1, 64 * 2 + 160, 256, 0);
    expect_class(s, "D", 4, 2, 5, 3, 1 + 24);
    expect_field(s, "D", "x", 4, 64, 24, 0);
    expect_field(s, "D", "y", 8, 64 + 8, 24, 0);
    expect_field(s, "D", "z", 1, 64 + 16, 24, 1);
    expect_class(s, "E", 5, 4, 5, 1, 26 + 128);
    expect_field(s, "E", "v", 128, 64 * 26, 128, 128);
    assert_int_equal(clumpi_schema_class(s, 5)->own_bytes, 129);
    assert_int_equal(clumpi_schema_class(s, 5)->align, 128);
    assert_int_equal(clumpi_schema_class(s, 4)->align, 8);
    assert_int_equal(clumpi_schema_class(s, 5)->depth, 2);
    assert_string_equal(clumpi_schema_class(s, 5)->base_name, "D");
    assert_null(clumpi_schema_class(s, 1)->base_name);
    clump_schema_destroy(s);
}

static void test_largest_object(void **state) {
    (void)state;
    clump_schema *s = parse(
        "class A { double16 a[511]; } class B : A { double b[16] packed; }"
        "aos class C { char a[65536]; }");
    expect_class(s, "B", 2, 1, 2, 1, CLUMP_OBJECT_BYTES_MAX);
    expect_class(s, "C", 3, 0, 3, 1, CLUMP_OBJECT_BYTES_MAX);
    expect_field(s, "C", "a", 1, 0, CLUMP_OBJECT_BYTES_MAX, 1);
    clump_schema_destroy(s);
}

/* ---- Random schemas against a byte map ------------------------------------------------------- */

typedef struct random_state {
    uint64_t bits;
} random_state;

static uint32_t pick(random_state *r, uint32_t below) {
    r->bits ^= r->bits << 13;
    r->bits ^= r->bits >> 7;
    r->bits ^= r->bits << 17;
    return (uint32_t)((r->bits >> 11) % below);
}

/* Declare up to 12 classes of up to 8 fields, in any order of inheritance. */
static clump_schema *make_random(random_state *r) {
    static const uint32_t widths[] = {0, 1, 2, 3, 4, 8, 16};
    clump_schema *s;
    char name[16], base[16], ref[16];
    assert_int_equal(clumpi_schema_create(NULL, &s, NULL), CLUMP_OK);
    uint32_t classes = 1 + pick(r, 12);
    for (uint32_t i = 0; i < classes; ++i) {
        snprintf(name, sizeof name, "K%u", (unsigned)i);
        /* Bases have larger numbers half of the time; no cycle, since i % 2 differs or grows. */
        uint32_t b = i % 2 ? i - 1 - pick(r, i) : CLUMPI_NONE;
        if (i % 2 == 0 && i + 2 < classes && pick(r, 2)) b = i + 2;
        if (b != CLUMPI_NONE && i % 2) b &= ~1u;
        snprintf(base, sizeof base, "K%u", (unsigned)b);
        clumpi_class_desc desc = {name, b == CLUMPI_NONE ? NULL : base, i && pick(r, 4) == 0,
                                  pick(r, 3) ? CLUMP_LAYOUT_SOA : CLUMP_LAYOUT_AOS};
        assert_int_equal(declare_class(s, &desc), CLUMP_OK);
    }
    for (uint32_t i = 0; i < classes; ++i) { /* every class can be concrete */
        snprintf(name, sizeof name, "K%u", (unsigned)i);
        snprintf(base, sizeof base, "b%u", (unsigned)i);
        clumpi_field_desc desc = {.name = base, .type = CLUMP_TYPE_CHAR};
        assert_int_equal(declare_field(s, name, &desc), CLUMP_OK);
    }
    for (uint32_t i = 0, fields = pick(r, 8 * classes); i < fields; ++i) {
        snprintf(name, sizeof name, "K%u", (unsigned)pick(r, classes));
        snprintf(base, sizeof base, "f%u", (unsigned)i);
        snprintf(ref, sizeof ref, "K%u", (unsigned)pick(r, classes));
        clumpi_field_desc desc = {.name = base, .type = (clump_type)pick(r, CLUMP_TYPE_REF + 1)};
        if (desc.type == CLUMP_TYPE_REF)
            desc.ref_class = ref;
        else if (desc.type != CLUMP_TYPE_BOOL)
            desc.width = widths[pick(r, 7)];
        if (pick(r, 3) == 0) {
            desc.count = 1 + pick(r, 5);
            desc.packed = (int)pick(r, 2);
        }
        assert_int_equal(declare_field(s, name, &desc), CLUMP_OK);
    }
    if (clumpi_schema_seal(s)) fail_msg("%s", s->error.message);
    return s;
}

/* Mark the bytes of all elements of a field in the row. `taken` has 64 * object_bytes bytes. */
static void mark_field(const clump_field_info *field, unsigned char *taken, size_t row_bytes) {
    for (uint32_t slot = 0; slot < CLUMP_ROW_SLOTS; ++slot) {
        for (uint32_t i = 0; i < (field->count ? field->count : 1); ++i) {
            size_t at = field->base_bytes + (size_t)slot * field->stride_bytes +
                        (size_t)i * field->step_bytes;
            assert_int_equal(at % field->element_bytes, 0);
            assert_true(at + field->element_bytes <= row_bytes);
            for (size_t b = at; b < at + field->element_bytes; ++b) {
                if (taken[b]) fail_msg("field %s shares byte %zu of the row", field->name, b);
                taken[b] = 1;
            }
        }
    }
}

/* Everything that the header promises about one class of a sealed schema. Returns unused bytes. */
static size_t check_row(const clump_schema *s, uint32_t id) {
    clump_class_info info, base = {0};
    info = *clump_schema_get_info(s)->classes[id];
    assert_int_equal(info.id, id);
    assert_true(info.base < id && info.last >= id);
    size_t row_bytes = (size_t)CLUMP_ROW_SLOTS * info.object_bytes, unused = 0;
    unsigned char *taken = calloc(row_bytes + 1, 1);
    assert_non_null(taken);
    for (uint32_t owner = id; owner; owner = base.base) {
        base = *clump_schema_get_info(s)->classes[owner];
        assert_true(base.id <= id && base.last >= info.last);
        assert_true(base.object_bytes <= info.object_bytes);
        for (uint32_t i = 0; i < base.field_count; ++i) {
            clump_field_info found;
            clump_field_info field = *clump_schema_get_info(s)->classes[owner]->fields[i];
            assert_int_equal(field.class_id, owner);
            mark_field(&field, taken, row_bytes);
            /* Found from the subclass, it is the same field at the same place. */
            found = *clump_schema_find_field(s, id, field.name);
            assert_memory_equal(&found, &field, sizeof field);
        }
    }
    for (size_t i = 0; i < row_bytes; ++i) unused += !taken[i];
    free(taken);
    return unused;
}

/* Is the range id .. last exactly the set of classes below `id`? */
static void check_subclasses(const clump_schema *s, uint32_t id) {
    clump_class_info other;
    const clump_class_info *info = clump_schema_get_info(s)->classes[id];
    for (uint32_t i = 1; i <= clump_schema_get_info(s)->class_count; ++i) {
        uint32_t at = i;
        while (at && at != id) {
            other = *clump_schema_get_info(s)->classes[at];
            at = other.base;
        }
        assert_int_equal(at == id, i >= id && i <= info->last);
    }
}

static void expect_same(const clump_schema *a, const clump_schema *b) {
    clump_class_info c, d;
    clump_field_info f, g;
    assert_int_equal(clump_schema_get_info(a)->class_count, clump_schema_get_info(b)->class_count);
    for (uint32_t id = 1; id <= clump_schema_get_info(a)->class_count; ++id) {
        c = *clump_schema_get_info(a)->classes[id];
        d = *clump_schema_get_info(b)->classes[id];
        assert_string_equal(c.name, d.name);
        assert_ptr_not_equal(c.name, d.name);
        assert_ptr_not_equal(c.fields, d.fields);
        d.name = c.name;
        d.fields = c.fields;
        assert_memory_equal(&c, &d, sizeof c);
        for (uint32_t i = 0; i < c.field_count; ++i) {
            f = *clump_schema_get_info(a)->classes[id]->fields[i];
            g = *clump_schema_get_info(b)->classes[id]->fields[i];
            assert_string_equal(f.name, g.name);
            assert_ptr_not_equal(f.name, g.name);
            g.name = f.name;
            assert_memory_equal(&f, &g, sizeof f);
        }
    }
}

static void test_random(void **state) {
    (void)state;
    const char *given = getenv("CLUMP_SEED");
    uint64_t seed = given ? strtoull(given, NULL, 0) : 20240517;
    print_message("seed %llu (CLUMP_SEED)\n", (unsigned long long)seed);
    random_state r = {seed * 2 + 1};
    for (int round = 0; round < 400; ++round) {
        clump_schema *s = make_random(&r), *copy;
        for (uint32_t id = 1; id <= clump_schema_get_info(s)->class_count; ++id) {
            check_subclasses(s, id);
            size_t unused = check_row(s, id);
            /* Only 128-byte elements and aos structs may waste bytes. */
            int may_pad = clumpi_schema_class(s, id)->align == 128;
            for (const clumpi_class_entry *c = clumpi_schema_class(s, id); c;
                 c = clumpi_schema_class(s, c->info.base))
                may_pad |= c->info.layout == CLUMP_LAYOUT_AOS;
            if (!may_pad) assert_int_equal(unused, 0);
        }
        assert_int_equal(clumpi_schema_copy(s, NULL, &copy), CLUMP_OK);
        expect_same(s, copy);
        clump_schema_destroy(s); /* the copy stands on its own */
        for (uint32_t id = 1; id <= clump_schema_get_info(copy)->class_count; ++id)
            check_row(copy, id);
        clump_schema_destroy(copy);
    }
}

/* ---- Building and asking --------------------------------------------------------------------- */

static void test_text_and_calls_agree(void **state) {
    (void)state;
    clump_schema *text = parse(
        "class B : A { ref B next; uchar tag[3] packed; }"
        "abstract aos class A { float2 v; }");
    clump_schema *calls;
    assert_int_equal(clumpi_schema_create(NULL, &calls, NULL), CLUMP_OK);
    char name[4] = "B", field[8] = "next"; /* copied: changed below */
    assert_int_equal(declare_class(calls, &(clumpi_class_desc){name, "A", 0, 0}), CLUMP_OK);
    name[0] = 'x';
    assert_int_equal(declare_class(calls, &(clumpi_class_desc){"A", NULL, 7, 1}), CLUMP_OK);
    assert_int_equal(declare_field(calls, "B",
                                   &(clumpi_field_desc){
                                       .name = field, .type = CLUMP_TYPE_REF, .ref_class = "B"}),
                     CLUMP_OK);
    memset(field, 'x', sizeof field - 1);
    assert_int_equal(
        declare_field(calls, "A",
                      &(clumpi_field_desc){.name = "v", .type = CLUMP_TYPE_FLOAT, .width = 2}),
        CLUMP_OK);
    assert_int_equal(
        declare_field(
            calls, "B",
            &(clumpi_field_desc){.name = "tag", .type = CLUMP_TYPE_UCHAR, .count = 3, .packed = 2}),
        CLUMP_OK);
    assert_int_equal(clump_schema_get_info(calls)->class_count, 0);
    assert_int_equal(clumpi_schema_seal(calls), CLUMP_OK);
    expect_same(text, calls);
    clump_schema_destroy(text);
    clump_schema_destroy(calls);
}

static void test_look_ups(void **state) {
    (void)state;
    clump_schema *s = parse("abstract class E {} class A : E { int4 a; } class B : E { int b; }");
    const clump_schema_info *info = clump_schema_get_info(s);
    assert_int_equal(info->class_count, 3);
    assert_string_equal(info->classes[0]->name, "");
    assert_int_equal(info->classes[0]->field_count, 0);
    assert_int_equal(info->classes[1]->field_count, 0);
    assert_ptr_equal(clump_schema_find_class(s, "B"), info->classes[3]);
    assert_null(clump_schema_find_class(s, "C"));
    assert_null(clump_schema_find_class(s, NULL));
    assert_null(clump_schema_find_class(NULL, "A"));
    assert_ptr_equal(clump_schema_find_field(s, 2, "a"), info->classes[2]->fields[0]);
    assert_string_equal(info->classes[2]->fields[0]->type_name, "int4");
    assert_null(clump_schema_find_field(s, 2, "b"));
    assert_null(clump_schema_find_field(s, 1, "a"));
    assert_null(clump_schema_find_field(s, 2, NULL));
    assert_null(clump_schema_find_field(NULL, 2, "a"));
    for (uint32_t id = 4; id; id = id == 4 ? UINT32_MAX : 0)
        assert_null(clump_schema_find_field(s, id, "a"));
    assert_int_equal(clump_schema_get_info(NULL)->class_count, 0);
    assert_string_equal(clump_schema_get_info(NULL)->classes[0]->name, "");
    clump_schema_destroy(s);
    clump_schema_destroy(NULL);
}

static void test_type_names(void **state) {
    (void)state;
    assert_string_equal(clumpi_type_name(CLUMP_TYPE_FLOAT, 4), "float4");
    assert_string_equal(clumpi_type_name(CLUMP_TYPE_DOUBLE, 0), "double");
    assert_string_equal(clumpi_type_name(CLUMP_TYPE_BOOL, 1), "bool");
    assert_string_equal(clumpi_type_name(CLUMP_TYPE_REF, 0), "ref");
    assert_string_equal(clumpi_type_name(CLUMP_TYPE_BOOL, 2), "?");
    assert_string_equal(clumpi_type_name(CLUMP_TYPE_INT, 5), "?");
    assert_string_equal(clumpi_type_name((clump_type)(CLUMP_TYPE_REF + 1), 1), "?");
    assert_string_equal(clumpi_type_name((clump_type)-1, 1), "?");
}

/* ---- Memory failures ------------------------------------------------------------------------- */

typedef struct failing {
    long left; /* requests that still succeed; negative: all do */
    long held;
} failing;

static int refuses(failing *f) {
    if (f->left == 0) return 1;
    if (f->left > 0) --f->left;
    return 0;
}

static void *failing_allocate(void *user, size_t bytes) {
    failing *f = user;
    if (refuses(f)) return NULL;
    ++f->held;
    return malloc(bytes);
}

static void *failing_reallocate(void *user, void *memory, size_t bytes) {
    return refuses(user) ? NULL : realloc(memory, bytes);
}

static void failing_release(void *user, void *memory) {
    --((failing *)user)->held;
    free(memory);
}

static void fail_each_request(const char *text) {
    failing f = {-1, 0};
    clump_allocator a = {failing_allocate, failing_reallocate, failing_release, &f};
    clump_schema *s = NULL, *copy, *whole = parse(text);
    long n = 0, failures = 0;
    for (clump_status status = CLUMP_ERR_HOST_MEMORY; status; ++n) {
        clump_error error;
        f.left = n;
        status = clump_schema_parse(text, strlen(text), &a, &s, &error);
        if (!status) break;
        ++failures;
        assert_int_equal(status, CLUMP_ERR_HOST_MEMORY);
        assert_int_equal(error.status, CLUMP_ERR_HOST_MEMORY);
        assert_true(error.message[0] != 0);
        assert_null(s);
        assert_int_equal(f.held, 0);
    }
    assert_true(failures > 10);
    expect_same(s, whole);
    for (n = 0;; ++n) {
        long held = f.held;
        f.left = n;
        clump_status status = clumpi_schema_copy(s, &a, &copy);
        if (!status) break;
        assert_int_equal(status, CLUMP_ERR_HOST_MEMORY);
        assert_null(copy);
        assert_int_equal(f.held, held);
    }
    assert_true(n >= 3);
    expect_same(s, copy);
    clump_schema_destroy(s);
    clump_schema_destroy(copy);
    assert_int_equal(f.held, 0);
    clump_schema_destroy(whole);
}

static void test_memory_failures(void **state) {
    (void)state;
    fail_each_request(example);
    fail_each_request("class A becomes B { int x; } class B becomes A { } class C : A { }");
}

/* A call that fails for memory can be repeated: the schema is as before. */
static void test_memory_failures_of_calls(void **state) {
    (void)state;
    for (long n = 0; n < 12; ++n) {
        failing f = {-1, 0};
        clump_allocator a = {failing_allocate, failing_reallocate, failing_release, &f};
        clump_schema *s;
        char name[16];
        assert_int_equal(clumpi_schema_create(&a, &s, NULL), CLUMP_OK);
        for (unsigned i = 0; i < 40; ++i) {
            snprintf(name, sizeof name, "K%u", i);
            clumpi_class_desc desc = {.name = name, .base = i ? "K0" : NULL};
            f.left = n % 4;
            clump_status status = declare_class(s, &desc);
            f.left = -1;
            if (status) assert_int_equal(declare_class(s, &desc), CLUMP_OK);
            clumpi_field_desc field = {.name = "x", .type = CLUMP_TYPE_INT};
            if (i) field.name = name;
            f.left = n % 3;
            status = declare_field(s, name, &field);
            f.left = -1;
            if (status) assert_int_equal(declare_field(s, name, &field), CLUMP_OK);
        }
        f.left = n % 6;
        clump_status status = clumpi_schema_seal(s);
        f.left = -1;
        if (status) {
            assert_int_equal(status, CLUMP_ERR_HOST_MEMORY);
            assert_int_equal(clump_schema_get_info(s)->class_count, 0);
            assert_int_equal(clumpi_schema_seal(s), CLUMP_OK);
        }
        expect_class(s, "K39", 40, 1, 40, 1, 8);
        clump_schema_destroy(s);
        assert_int_equal(f.held, 0);
    }
}

/* ---- Sizes ----------------------------------------------------------------------------------- */

/* As many names as there can be: a chain of classes under one with all fields, where all class
 * names begin with another one's so that they have to be compared with each other. */
static void build_worst(const char *prefix, double limit) {
    clump_schema *s;
    char name[80], base[80];
    double start = seconds();
    assert_int_equal(clumpi_schema_create(NULL, &s, NULL), CLUMP_OK);
    for (unsigned i = 0; i < CLUMP_CLASSES_MAX; ++i) {
        snprintf(name, sizeof name, i ? "%s%u" : "A", prefix, i);
        clumpi_class_desc desc = {.name = name, .base = i ? base : NULL};
        assert_int_equal(declare_class(s, &desc), CLUMP_OK);
        memcpy(base, name, sizeof name);
    }
    for (unsigned i = 0; i < CLUMP_FIELDS_MAX; ++i) {
        snprintf(name, sizeof name, "a_field_with_a_name_that_is_long_%u", i);
        clumpi_field_desc desc = {.name = name, .type = CLUMP_TYPE_REF, .ref_class = base};
        assert_int_equal(declare_field(s, "A", &desc), CLUMP_OK);
    }
    if (clumpi_schema_seal(s)) fail_msg("%s", s->error.message);
    double took = seconds() - start;
    print_message("%d classes, %d fields, names %s..: %.3f s\n", CLUMP_CLASSES_MAX,
                  CLUMP_FIELDS_MAX, prefix, took);
    assert_true(took < limit);
    clump_schema_destroy(s);
}

static void test_largest_schema(void **state) {
    (void)state;
    build_worst("B", 10);
    build_worst("A_", 10);
}

static void test_reserved_tables(void **state) {
    (void)state;
    size_t counts[2] = {0, 0};
    for (int table = 0; table < 2; ++table)
        for (const char *name; (name = clumpi_reserved_entry(table, counts[table]));
             ++counts[table])
            assert_non_null(table ? clumpi_reserved_builtin(name) : clumpi_reserved_word(name));
    assert_true(counts[0] > 150 && counts[1] > 250);
    static const char *const words[] = {"float4",    "uchar16", "half3",  "bool8", "float4x16",
                                        "image2d_t", "__x",     "clumpi", "CLUMP", "get_global_id"};
    static const char *const fine[] = {"float5", "float40",   "float4x", "float4x5",
                                       "_x",     "get_local", "Clump",   "class",
                                       "ref",    "packed",    "floats",  "kernels"};
    for (size_t i = 0; i < sizeof words / sizeof *words; ++i)
        assert_non_null(clumpi_reserved_word(words[i]));
    for (size_t i = 0; i < sizeof fine / sizeof *fine; ++i)
        assert_null(clumpi_reserved_word(fine[i]));
    assert_true(clumpi_reserved_builtin_below("native"));
    assert_true(clumpi_reserved_builtin_below("atomic_fetch"));
    assert_false(clumpi_reserved_builtin_below("Fish"));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_example),
        cmocka_unit_test(test_pads),
        cmocka_unit_test(test_largest_object),
        cmocka_unit_test(test_random),
        cmocka_unit_test(test_text_and_calls_agree),
        cmocka_unit_test(test_look_ups),
        cmocka_unit_test(test_type_names),
        cmocka_unit_test(test_memory_failures),
        cmocka_unit_test(test_memory_failures_of_calls),
        cmocka_unit_test(test_largest_schema),
        cmocka_unit_test(test_reserved_tables),
    };
    return cmocka_run_group_tests_name("schema", tests, NULL, NULL);
}
