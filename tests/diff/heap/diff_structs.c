/* Objects as C structs and as tables (clump/structs.h) against an array on the host and against
 * clump_heap_read_field(): made, read, written, all and chosen ones, in a heap with holes; structs
 * with all fields, with some, and without alignment; what is refused; a heap that is full; a
 * checked heap.
 *
 * Read first: include/clump/structs.h, structs.schema, tests/support/cl_fixture.h.
 */
#include <locale.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "structs_schema.h" /* made by clump-schema --emit-c of structs.schema */
#include "support/cl_fixture.h"

#define OBJECTS 1500u

typedef Body body;
#define FIELD(type, name)                                                                          \
    { #name, offsetof(type, name) }
#define DESC(class_name, type, fields)                                                             \
    {                                                                                              \
        sizeof(clump_struct_desc), class_name, sizeof(type), sizeof(fields) / sizeof *(fields),    \
            fields                                                                                 \
    }

/* Some of the fields of a subclass, in another order, at odd places. */
#pragma pack(push, 1)
typedef struct ball {
    uint8_t kind;
    uint64_t sums[3];
    cl_int box[4];
    uint16_t marks[5];
    uint32_t tag;
} ball;
#pragma pack(pop)
static const clump_struct_field ball_fields[] = {
    FIELD(ball, kind), FIELD(ball, sums), FIELD(ball, box), FIELD(ball, marks), FIELD(ball, tag)};
static const clump_struct_desc balls = DESC("Ball", ball, ball_fields);

static const char source[] =
    "__kernel void drop(CLUMP_HEAP, uint of, uint rest) {\n"
    "    CLUMP_FOR_EACH(Base, self) if (Base_tag(self) % of == rest) Base_free(self);\n"
    "}\n";

static cl_fixture fixture, *const f = &fixture;
static clump_heap *heap;
static clump_program *program;
static clump_kernel *drop;
static uint64_t state_of_random = 1;

static uint32_t random_word(void) {
    state_of_random = state_of_random * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(state_of_random >> 32);
}

/* Random values where fields are, zeros elsewhere. References are null: a checked heap judges
 * them. */
static void fill(const clump_struct_desc *desc, void *structs, uint32_t count, uint32_t tag) {
    memset(structs, 0, (size_t)count * desc->bytes);
    for (uint32_t i = 0; i < count; i++)
        for (uint32_t k = 0; k < desc->field_count; k++) {
            clump_field_info info;
            clump_class_info c;
            const clump_schema *s = clump_heap_get_info(heap)->schema;
            c = *clump_schema_find_class(s, desc->class_name);
            info = *clump_schema_find_field(s, c.id, desc->fields[k].name);
            uint8_t *place = (uint8_t *)structs + (size_t)i * desc->bytes + desc->fields[k].offset;
            uint32_t bytes = info.element_bytes * (info.count ? info.count : 1), value = tag + i;
            if (strcmp(info.name, "tag") == 0)
                memcpy(place, &value, sizeof value);
            else if (info.type == CLUMP_TYPE_BOOL)
                *place = random_word() & 1;
            else
                for (uint32_t b = 0; info.type != CLUMP_TYPE_REF && b < bytes; b++)
                    place[b] = (uint8_t)(random_word() >> 24);
        }
}

/* All objects as fields have them, in the order of clump_heap_read_refs(). */
static void expect_fields(const clump_struct_desc *desc, const void *structs, uint32_t count) {
    for (uint32_t k = 0; k < desc->field_count; k++) {
        clump_field_info info;
        clump_class_info c;
        const clump_schema *s = clump_heap_get_info(heap)->schema;
        c = *clump_schema_find_class(s, desc->class_name);
        info = *clump_schema_find_field(s, c.id, desc->fields[k].name);
        uint8_t *values = malloc((size_t)count * info.element_bytes + 1);
        for (uint32_t e = 0; e < (info.count ? info.count : 1); e++) {
            CHECK_OK(f, clump_heap_read_field(heap, desc->class_name, info.name, e,
                                              info.element_bytes, values, count, NULL));
            for (uint32_t i = 0; i < count; i++)
                if (memcmp(values + (size_t)i * info.element_bytes,
                           (const uint8_t *)structs + (size_t)i * desc->bytes +
                               desc->fields[k].offset + (size_t)e * info.element_bytes,
                           info.element_bytes) != 0)
                    fail_msg("class %s, object %u, field %s, element %u differs", desc->class_name,
                             i, info.name, e);
        }
        free(values);
    }
}

/* The structs that clump_heap_read_structs() gives. */
static void *read_all(const clump_struct_desc *desc, uint32_t count) {
    uint64_t found = 0;
    uint8_t *structs = malloc((size_t)(count + 1) * desc->bytes);
    memset(structs, 0x5a, (size_t)(count + 1) * desc->bytes);
    CHECK_OK(f, clump_heap_read_structs(heap, desc, NULL, structs, count + 1, &found));
    assert_int_equal(found, count);
    for (uint32_t b = 0; b < desc->bytes; b++)
        assert_int_equal(structs[count * desc->bytes + b], 0x5a);
    return structs;
}

static int by_tag(const void *a, const void *b) {
    uint32_t x = ((const body *)a)->tag, y = ((const body *)b)->tag;
    return x < y ? -1 : x > y;
}

static int by_word(const void *a, const void *b) {
    clump_ref x = *(const clump_ref *)a, y = *(const clump_ref *)b;
    return x < y ? -1 : x > y;
}

static void drop_some(uint32_t of, uint32_t rest) {
    SET_ARG(f, drop, 0, of);
    SET_ARG(f, drop, 1, rest);
    CHECK_OK(f, clump_heap_do_all(heap, drop, NULL));
}

/* Made in a heap of which the free memory is no zeros: what is not named is 0. */
static void test_new(void **state) {
    (void)state;
    static body made[OBJECTS];
    static clump_ref refs[OBJECTS], all[OBJECTS];
    uint64_t count = 0;
    fill(&Body_struct, made, OBJECTS, 0);
    CHECK_OK(f, clump_heap_new_structs(heap, &Body_struct, made, OBJECTS, NULL, &count));
    assert_int_equal(count, OBJECTS);
    drop_some(1, 0);
    /* With holes: a third of these stays, then come others. */
    CHECK_OK(f, clump_heap_new_structs(heap, &Body_struct, made, OBJECTS, refs, &count));
    body *found = read_all(&Body_struct, OBJECTS);
    qsort(found, OBJECTS, sizeof *found, by_tag);
    assert_memory_equal(found, made, sizeof made);
    free(found);
    drop_some(3, 1);
    drop_some(3, 2);
    static ball some[OBJECTS];
    fill(&balls, some, OBJECTS, 10000);
    CHECK_OK(f, clump_heap_new_structs(heap, &balls, some, OBJECTS, all, &count));
    assert_int_equal(count, OBJECTS);
    ball *found_balls = read_all(&balls, OBJECTS);
    expect_fields(&balls, found_balls, OBJECTS);
    free(found_balls);
    static ball chosen[OBJECTS];
    CHECK_OK(f, clump_heap_read_structs(heap, &balls, all, chosen, OBJECTS, NULL));
    assert_memory_equal(chosen, some, sizeof some); /* refs are in the order of the structs */
    /* They are the references that others get, with their generations in a checked heap. */
    static clump_ref named[OBJECTS], sorted[OBJECTS];
    CHECK_OK(f, clump_heap_read_refs(heap, "Ball", named, OBJECTS, &count));
    memcpy(sorted, all, sizeof sorted);
    qsort(named, OBJECTS, sizeof *named, by_word);
    qsort(sorted, OBJECTS, sizeof *sorted, by_word);
    assert_memory_equal(named, sorted, sizeof named);
    /* The other fields of a Ball. */
    static body rest[OBJECTS];
    CHECK_OK(f, clump_heap_read_structs(heap, &Body_struct, all, rest, OBJECTS, NULL));
    for (uint32_t i = 0; i < OBJECTS; i++) {
        static const cl_float zero[4];
        if (rest[i].tag != some[i].tag || rest[i].next || memcmp(&rest[i].x, zero, sizeof(float)) ||
            memcmp(&rest[i].at, zero, sizeof zero) || rest[i].on ||
            memcmp(rest[i].marks, some[i].marks, sizeof rest[i].marks))
            fail_msg("struct %u: what was not named is not 0, or what was is wrong", i);
    }
    CHECK_HEAP(f, heap);
    drop_some(1, 0);
}

static void test_all(void **state) {
    (void)state;
    static body made[OBJECTS];
    static ball some[OBJECTS / 2];
    fill(&Body_struct, made, OBJECTS, 0);
    fill(&balls, some, OBJECTS / 2, OBJECTS);
    CHECK_OK(f, clump_heap_new_structs(heap, &Body_struct, made, OBJECTS, NULL, NULL));
    CHECK_OK(f, clump_heap_new_structs(heap, &balls, some, OBJECTS / 2, NULL, NULL));
    drop_some(5, 2);
    const uint32_t count = OBJECTS + OBJECTS / 2 - (OBJECTS + OBJECTS / 2) / 5;
    body *now = read_all(&Body_struct, count), *other_values = malloc(count * sizeof *now);
    expect_fields(&Body_struct, now, count);
    fill(&Body_struct, other_values, count, 0);
    CHECK_OK(f, clump_heap_write_structs(heap, &Body_struct, NULL, other_values, count));
    expect_fields(&Body_struct, other_values, count);
    free(now);
    now = read_all(&Body_struct, count);
    assert_memory_equal(now, other_values, count * sizeof *now);
    /* One field alone: the others stay. */
    static const clump_struct_field x[] = {{"x", 4}};
    const clump_struct_desc alone = {sizeof alone, "Body", 12, 1, x};
    uint32_t *words = calloc(count, 12);
    for (uint32_t i = 0; i < 3 * count; i++) words[i] = random_word();
    CHECK_OK(f, clump_heap_write_structs(heap, &alone, NULL, words, count));
    for (uint32_t i = 0; i < count; i++) memcpy(&other_values[i].x, &words[3 * i + 1], 4);
    expect_fields(&Body_struct, other_values, count);
    free(words);
    free(now);
    free(other_values);
    CHECK_HEAP(f, heap);
    drop_some(1, 0);
}

static void test_chosen(void **state) {
    (void)state;
    static body made[OBJECTS], wanted[OBJECTS], found[OBJECTS];
    static clump_ref refs[OBJECTS], chosen[OBJECTS];
    fill(&Body_struct, made, OBJECTS, 0);
    CHECK_OK(f, clump_heap_new_structs(heap, &Body_struct, made, OBJECTS, refs, NULL));
    uint32_t count = 0;
    for (uint32_t i = OBJECTS; i-- > 0;)
        if (random_word() % 3 == 0) {
            wanted[count] = made[i];
            chosen[count++] = refs[i];
        }
    CHECK_OK(f, clump_heap_read_structs(heap, &Body_struct, chosen, found, count, NULL));
    assert_memory_equal(found, wanted, count * sizeof *found);
    fill(&Body_struct, wanted, count, 5000);
    CHECK_OK(f, clump_heap_write_structs(heap, &Body_struct, chosen, wanted, count));
    for (uint32_t i = 0; i < count; i++)
        for (uint32_t k = 0; k < OBJECTS; k++)
            if (refs[k] == chosen[i]) made[k] = wanted[i];
    CHECK_OK(f, clump_heap_read_structs(heap, &Body_struct, refs, found, OBJECTS, NULL));
    assert_memory_equal(found, made, sizeof made);
    /* One that names none: nothing is written. */
    static const clump_ref wrong[] = {0, 0xfffffff0u, 5u << 6};
    fill(&Body_struct, wanted, count, 9000);
    for (size_t w = 0; w < sizeof wrong / sizeof *wrong; w++) {
        clump_ref kept = chosen[count / 2];
        chosen[count / 2] = wrong[w];
        clump_status status = clump_heap_write_structs(heap, &Body_struct, chosen, wanted, count);
        cl_fixture_expect_words(clump_context_get_error(f->clump), status, CLUMP_ERR_REFERENCE,
                                "live object of class Body", "write chosen", __LINE__);
        chosen[count / 2] = kept;
    }
    /* Live, but of no such class; then of the class, but freed. */
    CHECK_STATUS(f, clump_heap_read_structs(heap, &balls, refs, found, 1, NULL),
                 CLUMP_ERR_REFERENCE);
    CHECK_OK(f, clump_heap_read_structs(heap, &Body_struct, refs, found, OBJECTS, NULL));
    assert_memory_equal(found, made, sizeof made);
    drop_some(1, 0);
    CHECK_STATUS(f, clump_heap_read_structs(heap, &Body_struct, refs, found, 1, NULL),
                 CLUMP_ERR_REFERENCE);
    CHECK_HEAP(f, heap);
}

/* The widest element. */
static void test_wide(void **state) {
    (void)state;
    if (!(f->capabilities->features & CLUMP_FEATURE_FP64)) skip();
    static Other made[200];
    fill(&Other_struct, made, 200, 1);
    CHECK_OK(f, clump_heap_new_structs(heap, &Other_struct, made, 200, NULL, NULL));
    Other *found = read_all(&Other_struct, 200);
    expect_fields(&Other_struct, found, 200);
    free(found);
}

static void expect(clump_status found, clump_status expected, const char *words, int line) {
    cl_fixture_expect_words(clump_context_get_error(f->clump), found, expected, words, "structs",
                            line);
}

static void test_refused(void **state) {
    (void)state;
    body one = {0};
    clump_ref ref = 0;
    uint64_t count = 7;
    static const clump_struct_field twice[] = {{"x", 0}, {"x", 4}}, unknown[] = {{"weight", 0}},
                                    far[] = {{"sums", 8}}, none[] = {{NULL, 0}};
    clump_struct_desc d = {sizeof d, "Body", 16, 2, twice};
    expect(clump_heap_read_structs(heap, &d, NULL, &one, 1, &count), CLUMP_ERR_USAGE,
           "field x twice", __LINE__);
    assert_int_equal(count, 0);
    d = (clump_struct_desc){sizeof(clump_struct_desc), "Body", 16, 1, unknown};
    expect(clump_heap_write_structs(heap, &d, NULL, &one, 0), CLUMP_ERR_NOT_FOUND, "\"weight\"",
           __LINE__);
    d.fields = none;
    expect(clump_heap_write_structs(heap, &d, NULL, &one, 0), CLUMP_ERR_NOT_FOUND, "(null)",
           __LINE__);
    d.fields = far;
    expect(clump_heap_new_structs(heap, &d, &one, 1, NULL, NULL), CLUMP_ERR_USAGE,
           "field sums is at bytes 8 to 32 of the struct for class Body, which has 16", __LINE__);
    d = (clump_struct_desc){sizeof(clump_struct_desc), "Body", 0, 0, NULL};
    expect(clump_heap_read_structs(heap, &d, NULL, &one, 1, NULL), CLUMP_ERR_USAGE, "no bytes",
           __LINE__);
    expect(clump_heap_read_structs(heap, NULL, NULL, &one, 1, NULL), CLUMP_ERR_USAGE, "no class",
           __LINE__);
    d = (clump_struct_desc){sizeof(clump_struct_desc), "Body", 16, 1, NULL};
    expect(clump_heap_read_structs(heap, &d, NULL, &one, 1, NULL), CLUMP_ERR_USAGE, "no fields",
           __LINE__);
    d = (clump_struct_desc){sizeof(clump_struct_desc), "Nobody", 16, 0, NULL};
    expect(clump_heap_read_structs(heap, &d, NULL, &one, 1, NULL), CLUMP_ERR_NOT_FOUND, "Nobody",
           __LINE__);
    d.class_name = "Base";
    expect(clump_heap_new_structs(heap, &d, &one, 1, NULL, NULL), CLUMP_ERR_USAGE, "abstract",
           __LINE__);
    d.class_name = "Body";
    expect(clump_heap_new_structs(heap, &d, &one, (UINT64_C(1) << 31) + 1, NULL, NULL),
           CLUMP_ERR_USAGE, "2^31", __LINE__);
    expect(clump_heap_read_structs(heap, &Body_struct, &ref, NULL, 1, NULL), CLUMP_ERR_USAGE,
           "needs a pointer", __LINE__);
    CHECK_OK(f, clump_heap_new_structs(heap, &Body_struct, &one, 1, &ref, NULL));
    expect(clump_heap_read_structs(heap, &Body_struct, NULL, &one, 0, &count), CLUMP_ERR_TOO_SMALL,
           "room for 0 structs, but 1 are needed", __LINE__);
    assert_int_equal(count, 1);
    count = 7;
    CHECK_OK(f, clump_heap_read_structs(heap, &Body_struct, NULL, NULL, 0, &count));
    assert_int_equal(count, 1);
    expect(clump_heap_write_structs(heap, &Body_struct, NULL, &one, 0), CLUMP_ERR_USAGE,
           "0 structs were passed for the 1", __LINE__);
    expect(clump_heap_write_structs(heap, &Body_struct, NULL, NULL, 1), CLUMP_ERR_USAGE,
           "needs a pointer", __LINE__);
    assert_int_equal(clump_heap_read_structs(NULL, &Body_struct, NULL, &one, 1, NULL),
                     CLUMP_ERR_USAGE);
    CHECK_OK(f, clump_heap_read_structs(heap, &Body_struct, &ref, NULL, 0, NULL));
    CHECK_OK(f, clump_heap_new_structs(heap, &Body_struct, NULL, 0, NULL, &count));
    assert_int_equal(count, 0);
    drop_some(1, 0);
    CHECK_HEAP(f, heap);
}

/* More than there is room for: the first of them, the rest is reported. */
static void test_full(void **state) {
    (void)state;
    uint64_t room = cl_fixture_free_slots(f, heap, "Body"), made = 0;
    body *all = malloc((room + 100) * sizeof *all);
    clump_ref *refs = calloc(room + 100, sizeof *refs);
    fill(&Body_struct, all, (uint32_t)room + 100, 0);
    CHECK_OK(f, clump_heap_new_structs(heap, &Body_struct, all, room + 100, refs, &made));
    assert_int_equal(made, room);
    clump_device_report r = {.size = sizeof r};
    CHECK_STATUS(f, clump_heap_take_errors(heap, &r), CLUMP_ERR_DEVICE);
    assert_int_equal(r.errors[CLUMP_DEVICE_OUT_OF_MEMORY].count, 100);
    body *found = malloc(room * sizeof *found);
    CHECK_OK(f, clump_heap_read_structs(heap, &Body_struct, refs, found, room, NULL));
    assert_memory_equal(found, all, room * sizeof *found);
    for (uint64_t i = room; i < room + 100; i++) assert_int_equal(refs[i], 0);
    drop_some(1, 0);
    CHECK_HEAP(f, heap);
    free(found);
    free(refs);
    free(all);
}

/* ---- Tables ---------------------------------------------------------------------------------- */

static char *text;
static size_t text_bytes;

static int keep(void *user, const void *part, size_t bytes) {
    assert_ptr_equal(user, &text);
    assert_null(text);
    text = malloc(bytes + 1);
    memcpy(text, part, bytes);
    text[bytes] = 0;
    text_bytes = bytes;
    return 0;
}

static void forget(void) {
    free(text);
    text = NULL;
}

/* Two objects, whose order is not known. */
static void test_csv(void **state) {
    (void)state;
    static const char names[] =
        "tag,next,x,at.x,at.y,at.z,marks[0],marks[1],marks[2],marks[3],marks[4],sums[0],sums[1],"
        "sums[2],on,kind,"
        "box.x,box.y,box.z,box.w\n";
    static const char first[] =
        "7,0,0.100000001,-1.5,1.00000002e+30,0,1,2,3,4,65535,18446744073709551615,0,5,1,255,-"
        "2147483648,1,2,"
        "3\n";
    static const char second[] = "8,0,nan,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0\n";
    Ball two[2] = {{.tag = 7,
                    .x = 0.1f,
                    .at = {{-1.5f, 1e30f, 0, 0}},
                    .marks = {1, 2, 3, 4, 65535},
                    .sums = {UINT64_MAX, 0, 5},
                    .on = 1,
                    .kind = 255,
                    .box = {{INT32_MIN, 1, 2, 3}}},
                   {.tag = 8}};
    memset(&two[1].x, 0xff, 3);
    ((unsigned char *)&two[1].x)[3] = 0x7f;
    CHECK_OK(f, clump_heap_new_structs(heap, &Ball_struct, two, 2, NULL, NULL));
    CHECK_OK(f, clump_heap_write_table(heap, "Ball", CLUMP_TABLE_CSV, keep, &text));
    char one[1000], other[1000];
    snprintf(one, sizeof one, "%s%s%s", names, first, second);
    snprintf(other, sizeof other, "%s%s%s", names, second, first);
    if (strcmp(text, one) != 0 && strcmp(text, other) != 0) fail_msg("%s, expected %s", text, one);
    forget();
    /* Where the process writes a comma for a point, if such a locale is there. */
    if (setlocale(LC_NUMERIC, "de_DE.UTF-8")) {
        CHECK_OK(f, clump_heap_write_table(heap, "Ball", CLUMP_TABLE_CSV, keep, &text));
        setlocale(LC_NUMERIC, "C");
        if (strcmp(text, one) != 0 && strcmp(text, other) != 0) fail_msg("in a locale: %s", text);
        forget();
    } else {
        print_message("no locale de_DE.UTF-8: a decimal comma was not tried\n");
    }
    expect(clump_heap_write_table(heap, "Ball", CLUMP_TABLE_CSV, NULL, NULL), CLUMP_ERR_USAGE,
           "receives the text", __LINE__);
    expect(clump_heap_write_table(heap, "Bull", CLUMP_TABLE_CSV, keep, &text), CLUMP_ERR_NOT_FOUND,
           "\"Bull\"", __LINE__);
    expect(clump_heap_write_table(heap, NULL, CLUMP_TABLE_NPY, keep, &text), CLUMP_ERR_NOT_FOUND,
           "(null)", __LINE__);
    assert_null(text);
    drop_some(1, 0);
    CHECK_HEAP(f, heap);
}

static void test_npy(void **state) {
    (void)state;
    const int is_little = *(const uint8_t *)&(uint16_t){1};
    char header[400];
    static Body made[300];
    fill(&Body_struct, made, 300, 0);
    CHECK_OK(f, clump_heap_new_structs(heap, &Body_struct, made, 300, NULL, NULL));
    CHECK_OK(f, clump_heap_write_table(heap, "Body", CLUMP_TABLE_NPY, keep, &text));
    snprintf(header, sizeof header,
             "{'descr': [('tag', 'Eu4'), ('next', 'Eu4'), ('x', 'Ef4'), ('at', 'Ef4', (4,)), "
             "('marks', 'Eu2', (5,)), "
             "('sums', 'Eu8', (3,)), ('on', '|b1'), ], 'fortran_order': False, 'shape': (300,), }");
    for (char *e = header; (e = strchr(e, 'E')) != NULL;) *e = is_little ? '<' : '>';
    size_t bytes = (uint8_t)text[8] | (size_t)(uint8_t)text[9] << 8,
           object = 4 + 4 + 4 + 16 + 10 + 24 + 1;
    assert_memory_equal(text, "\x93NUMPY\1\0", 8);
    assert_int_equal((10 + bytes) % 64, 0);
    assert_int_equal(text_bytes, 10 + bytes + 300 * object);
    assert_memory_equal(text + 10, header, strlen(header));
    for (size_t i = strlen(header); i < bytes - 1; i++) assert_int_equal(text[10 + i], ' ');
    assert_int_equal(text[10 + bytes - 1], '\n');
    uint32_t seen = 0;
    for (uint32_t i = 0; i < 300; i++) {
        const char *at = text + 10 + bytes + i * object;
        uint32_t tag;
        memcpy(&tag, at, 4);
        assert_true(tag < 300);
        const Body *b = &made[tag];
        seen += memcmp(at + 8, &b->x, 4) == 0 && memcmp(at + 12, &b->at, 16) == 0 &&
                memcmp(at + 28, b->marks, 10) == 0 && memcmp(at + 38, b->sums, 24) == 0 &&
                (uint8_t)at[62] == b->on;
    }
    assert_int_equal(seen, 300);
    forget();
    drop_some(1, 0);
    CHECK_OK(f, clump_heap_write_table(heap, "Base", CLUMP_TABLE_NPY, keep, &text)); /* of none */
    assert_non_null(strstr(text + 10, "'shape': (0,)"));
    forget();
    CHECK_HEAP(f, heap);
}

static void open_heap(const clump_checked_desc *checked) {
    clump_schema *s = NULL;
    assert_int_equal(clump_schema_parse_file(STRUCTS_SCHEMA, NULL, &s, NULL), CLUMP_OK);
    clump_heap_desc desc = {.size = sizeof desc,
                            .context = f->clump,
                            .schema = s,
                            .bytes = cl_fixture_small_heap_bytes(f->clump) + (3u << 20),
                            .block_rows = 3,
                            .checked = checked};
    CHECK_OK(f, clump_heap_create(&desc, &heap, NULL));
    clump_schema_destroy(s);
    program = cl_fixture_program(f, heap, source, NULL, NULL);
    drop = cl_fixture_kernel(f, program, "drop");
}

static void close_heap(void) {
    clump_kernel_destroy(drop);
    clump_program_destroy(program);
    clump_heap_destroy(heap);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_new),     cmocka_unit_test(test_all),  cmocka_unit_test(test_chosen),
        cmocka_unit_test(test_refused), cmocka_unit_test(test_full), cmocka_unit_test(test_wide),
        cmocka_unit_test(test_csv),     cmocka_unit_test(test_npy)};
    static const clump_checked_desc all_checks = {.size = sizeof all_checks};
    int failed = 0;
    for (int checked = 0; checked <= 1; checked++) {
        int status = cl_fixture_open(f, NULL);
        if (!status && !(f->capabilities->features & CLUMP_FEATURE_FP64)) {
            cl_fixture_close(f);
            status = CL_FIXTURE_SKIP;
        }
        if (status) return status;
        open_heap(checked ? &all_checks : NULL);
        failed +=
            cmocka_run_group_tests_name(checked ? "a checked heap" : "a heap", tests, NULL, NULL);
        close_heap();
        cl_fixture_close(f);
    }
    return failed;
}
