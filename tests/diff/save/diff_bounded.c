/* Arrays with `max` leave a heap and come back: they are saved and loaded, extracted and inserted,
 * extracted from a file, converted to other layouts, read and written by the host, and written as
 * tables. They move, and their references keep objects. A kernel recomputes all of their elements
 * and lengths from the number of the object. Lengths from outside that are not valid are refused.
 * Most of that is done once more with checked heaps, which find nothing.
 *
 * Read first: tests/support/saved_heap.h, include/clump/save.h, extract.h, convert.h, structs.h.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "clump/checked.h"
#include "clump/collect.h"
#include "clump/compact.h"
#include "reseal.h"
#include "saved_heap.h"

enum { BYTES = 4 << 20, ITEMS = 333, BAGS = 700, SACKS = 500, LEFT = BAGS + SACKS - 400 };

static const char schema[] =
    "class Item { uint id; }\n"
    "class Bag { uint id; ref Item items[*] max 5; float3 at[*] max 3 packed; }\n"
    "aos class Sack : Bag { uchar marks[*] max 7; ulong last; }\n";
/* Another order, other layouts, a base more, a field and an array less and more. */
static const char other_schema[] =
    "class Item { ulong fresh; uint id; }\n"
    "aos abstract class Thing { uint id; uint more[*] max 9; }\n"
    "aos class Bag : Thing { float3 at[*] max 3; ref Item items[*] max 5 packed; }\n"
    "class Sack : Bag { ulong last; uchar marks[*] max 7 packed; }\n";

/* Item number i has id i. Bag number i, before some were freed, has i % 6 items, of which the last
 * one was taken out again for odd i. */
static const char source[] =
    "__kernel void items(CLUMP_HEAP) { CLUMP_FOR_EACH_NEW(Item, s, i) Item_id(s) = i; }\n"
    "__kernel void fresh(CLUMP_HEAP) { CLUMP_FOR_EACH_NEW(Bag, s, i) Bag_id(s) = i; }\n"
    "uint item_of(uint id, uint i) { return (id * 7u + i * 13u) % 333u; }\n"
    "uint length_of(uint id) { uint n = id % 6u; return n && (id & 1u) ? n - 1u : n; }\n"
    "__kernel void bags(CLUMP_HEAP, CLUMP_NUMBERS) {\n"
    "    CLUMP_FOR_EACH_NUMBERED(Bag, s, id) {\n"
    "        Bag_id(s) = id;\n"
    "        Bag_items_resize(s, id % 6u);\n"
    "        for (uint i = 0; i < id % 6u; i++) Bag_items(s, i) = CLUMP_AT(Item, item_of(id, i));\n"
    "        if (length_of(id) < id % 6u) Bag_items_resize(s, length_of(id));\n"
    "        Bag_at_resize(s, id % 4u);\n"
    "        for (uint i = 0; i < id % 4u; i++) Bag_at(s, i) = (float3)(id, i, 0.5f);\n"
    "    }\n"
    "}\n"
    "__kernel void marks(CLUMP_HEAP) {\n"
    "    CLUMP_FOR_EACH(Sack, s) {\n"
    "        uint id = Sack_id(s);\n"
    "        Sack_marks_resize(s, id % 8u);\n"
    "        for (uint i = 0; i < id % 8u; i++) Sack_marks(s, i) = (uchar)(id + i);\n"
    "        Sack_last(s) = (ulong)id << 40;\n"
    "    }\n"
    "}\n"
    "__kernel void thin(CLUMP_HEAP) {\n"
    "    CLUMP_FOR_EACH(Bag, s) if (Bag_id(s) % 3u == 1u) Bag_free(s);\n"
    "}\n"
    /* Objects that are as they were. */
    "__kernel void right(CLUMP_HEAP_NO_ALLOC) {\n"
    "    uint right = 0;\n"
    "    CLUMP_FOR_EACH(Bag, s) {\n"
    "        uint id = Bag_id(s), n = length_of(id);\n"
    "        uint ok = Bag_items_length(s) == n && Bag_at_length(s) == id % 4u;\n"
    "        for (uint i = 0; ok && i < n; i++)\n"
    "            ok = !Item_is_null(Bag_items(s, i)) && Item_id(Bag_items(s, i)) == item_of(id, "
    "i);\n"
    "        for (uint i = 0; ok && i < id % 4u; i++)\n"
    "            ok = all(Bag_at(s, i) == (float3)(id, i, 0.5f));\n"
    "        if (ok && Bag_is_Sack(s)) {\n"
    "            Sack t = Bag_as_Sack(s);\n"
    "            ok = Sack_marks_length(t) == id % 8u && Sack_last(t) == (ulong)id << 40;\n"
    "            for (uint i = 0; ok && i < id % 8u; i++)\n"
    "                ok = Sack_marks(t, i) == (uchar)(id + i);\n"
    "        }\n"
    "        right += ok;\n"
    "    }\n"
    "    CLUMP_REDUCE(uint, right, CLUMP_SUM);\n"
    "}\n";

static cl_fixture on;
static int is_checked;

static clump_heap *open_heap(const char *text, uint32_t block_rows) {
    static const clump_checked_desc checked = {.size = sizeof checked};
    return cl_fixture_heap_as(&on, text,
                              &(clump_heap_desc){.size = sizeof(clump_heap_desc),
                                                 .bytes = BYTES,
                                                 .block_rows = block_rows,
                                                 .checked = is_checked ? &checked : NULL});
}

static clump_heap *filled(void) {
    clump_heap *heap = open_heap(schema, 2);
    clump_program *p = cl_fixture_program(&on, heap, source, NULL, NULL);
    clump_kernel *fresh = clump_program_get_kernel(p, "fresh");
    CHECK_OK(&on, clump_heap_do_new(heap, clump_program_get_kernel(p, "items"), "Item", ITEMS, NULL,
                                    NULL));
    CHECK_OK(&on, clump_heap_do_new(heap, fresh, "Bag", BAGS, NULL, NULL));
    CHECK_OK(&on, clump_heap_do_new(heap, fresh, "Sack", SACKS, NULL, NULL));
    CHECK_OK(&on, clump_heap_do_all(heap, clump_program_get_kernel(p, "bags"), NULL));
    CHECK_OK(&on, clump_heap_do_all(heap, clump_program_get_kernel(p, "marks"), NULL));
    CHECK_OK(&on, clump_heap_do_all(heap, clump_program_get_kernel(p, "thin"), NULL));
    CHECK_HEAP(&on, heap);
    clump_program_destroy(p);
    return heap;
}

/* So many bags and sacks are there, and all are as they were. */
static void expect(clump_heap *heap, cl_uint count) {
    clump_program *p = cl_fixture_program(&on, heap, source, NULL, NULL);
    cl_uint right = 0;
    uint64_t there;
    CHECK_OK(&on, clump_heap_reduce(heap, clump_program_get_kernel(p, "right"), sizeof right,
                                    &right, NULL));
    CHECK_OK(&on, clump_heap_read_count(heap, "Bag", &there));
    assert_int_equal(there, count);
    assert_int_equal(right, count);
    CHECK_HEAP(&on, heap);
    clump_program_destroy(p);
}

static void saved(void **state) {
    (void)state;
    clump_heap *heap = filled();
    expect(heap, LEFT);
    memory_file file = saved_bytes(&on, heap, 4096);
    static const struct {
        const char *schema;
        uint32_t block_rows, lost, gained;
    } into[] = {{schema, 2, 0, 0}, {other_schema, 7, 0, 3}};
    for (size_t i = 0; i < sizeof into / sizeof *into; i++) {
        clump_heap *loaded = open_heap(into[i].schema, into[i].block_rows);
        clump_load_report report = {.size = sizeof report};
        CHECK_OK(&on, load_bytes(loaded, &file, &report));
        assert_int_equal(report.fields_lost, into[i].lost);
        assert_int_equal(report.fields_gained, into[i].gained); /* an array has a length, too */
        expect(loaded, LEFT);
        if (i == 0) {
            memory_file again = saved_bytes(&on, loaded, 4096);
            assert_int_equal(again.bytes, file.bytes);
            assert_memory_equal(again.data, file.data, file.bytes);
            memory_release(&again);
        }
        clump_heap_destroy(loaded);
    }
    memory_release(&file);
    clump_heap_destroy(heap);
}

/* An array does not become a plain one, nor one of another size. */
static void refused(void **state) {
    (void)state;
    static const struct {
        const char *bag, *words[2];
    } cases[] = {
        {"ref Item items[5]; float3 at[*] max 3;", {"ref[*] max 5", "ref[5]"}},
        {"ref Item items[*] max 5; float3 at[*] max 4;", {"float3[*] max 3", "float3[*] max 4"}}};
    clump_heap *heap = filled();
    memory_file file = saved_bytes(&on, heap, 0);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char text[512];
        snprintf(text, sizeof text,
                 "class Item { uint id; } class Bag { uint id; %s } "
                 "class Sack : Bag { uchar marks[*] max 7; ulong last; }",
                 cases[i].bag);
        clump_heap *other = open_heap(text, 2);
        load_bytes_refused(&on, other, &file, cases[i].words);
        clump_heap_destroy(other);
    }
    memory_release(&file);
    clump_heap_destroy(heap);
}

static size_t read_all(void *user, void *data, size_t bytes) {
    return memory_read(user, data, bytes);
}

/* The piece that holds the lengths of `items`: of Bag, the second and so on of its columns. */
static uint8_t *lengths_of(memory_file *file) {
    for (uint32_t i = 0; piece_at(file->data, file->bytes, i) < file->bytes; i++) {
        uint8_t *piece = file->data + piece_at(file->data, file->bytes, i);
        clumpi_piece p;
        memcpy(&p, piece, sizeof p);
        const uint32_t *words = (const uint32_t *)(piece + sizeof p);
        uint32_t n = p.stored / 4, is_it = n > 100;
        /* bags are those of the numbers 0, 2, 3, 5, 6 .. */
        for (uint32_t k = 0; k < n && is_it; k++) {
            const uint32_t id = k / 2 * 3 + (k % 2) * 2, all = id % 6;
            is_it = words[k] == (all && id % 2 ? all - 1 : all);
        }
        if (is_it) return piece + sizeof p;
    }
    fail_msg("no piece has the lengths");
    return NULL;
}

/* A length beyond the array would let kernels leave it. */
static void wrong_lengths(void **state) {
    (void)state;
    clump_heap *heap = filled();
    memory_file file = saved_bytes(&on, heap, 0);
    const uint32_t length = 6;
    memcpy(lengths_of(&file) + 40, &length, sizeof length);
    assert_true(reseal(file.data, file.bytes) > 0);
    clump_heap *loaded = open_heap(schema, 2);
    cl_fixture_expect_words(clump_context_get_error(on.clump), load_bytes(loaded, &file, NULL),
                            CLUMP_ERR_FORMAT, "array items of class Bag has a length of 6", "load",
                            __LINE__);
    clump_extract *extract;
    file.at = 0;
    const clump_load_desc desc = {.size = sizeof desc, .read = read_all, .user = &file};
    const clump_status status = clump_extract_load(on.clump, &desc, &extract, NULL, NULL);
    cl_fixture_expect_words(clump_context_get_error(on.clump), status, CLUMP_ERR_FORMAT,
                            "array items of class Bag has a length of 6", "extract", __LINE__);
    clump_heap_destroy(loaded);
    memory_release(&file);
    clump_heap_destroy(heap);
}

static void extracted(void **state) {
    (void)state;
    clump_heap *heap = filled(), *into = open_heap(schema, 5);
    static const char *const classes[] = {"Bag"};
    clump_extract *extract;
    CHECK_OK(&on, clump_heap_extract(heap,
                                     &(clump_extract_desc){.size = sizeof(clump_extract_desc),
                                                           .classes = classes,
                                                           .class_count = 1,
                                                           .follow = 1},
                                     &extract, NULL));
    CHECK_OK(&on, clump_heap_insert(into, extract, NULL));
    expect(into, LEFT);
    const clump_extract_info *info = clump_extract_get_info(extract);
    uint8_t *data = malloc(info->bytes);
    CHECK_OK(&on, clump_extract_read(extract, data, info->bytes));
    const uint32_t length = 4;
    memcpy(data + cl_fixture_column(extract, "Sack", "at_length")->at + 8, &length, sizeof length);
    clump_extract *wrong;
    const clump_status status = clump_extract_create(on.clump, info->schema, info->objects + 1,
                                                     data, info->bytes, &wrong, NULL);
    cl_fixture_expect_words(clump_context_get_error(on.clump), status, CLUMP_ERR_USAGE,
                            "array at of class Sack has a length of 4", "create", __LINE__);
    free(data);
    clump_extract_destroy(extract);
    memory_file file = saved_bytes(&on, heap, 0);
    const clump_load_desc desc = {.size = sizeof desc, .read = read_all, .user = &file};
    CHECK_OK(&on, clump_extract_load(on.clump, &desc, &extract, NULL, NULL));
    CHECK_OK(&on, clump_heap_insert(into, extract, NULL));
    expect(into, 2 * LEFT);
    clump_extract_destroy(extract);
    memory_release(&file);
    clump_heap_destroy(into);
    clump_heap_destroy(heap);
}

static void converted(void **state) {
    (void)state;
    clump_heap *heap = filled();
    clump_schema *other;
    assert_int_equal(clump_schema_parse(other_schema, strlen(other_schema), NULL, &other, NULL),
                     CLUMP_OK);
    clump_convert_report report = {.size = sizeof report};
    CHECK_OK(&on, clump_heap_convert(
                      heap,
                      &(clump_convert_desc){
                          .size = sizeof(clump_convert_desc), .schema = other, .block_rows = 3},
                      &report));
    assert_int_equal(report.fields_lost, 0);
    assert_int_equal(report.fields_gained, 3);
    expect(heap, LEFT);
    clump_schema_destroy(other);
    clump_heap_destroy(heap);
}

/* ---- The host -------------------------------------------------------------------------------- */

typedef struct sack {
    uint32_t id, items_length, at_length, marks_length;
    clump_ref items[5];
    uint8_t marks[7];
    cl_float3 at[3];
    uint64_t last;
} sack;
/* A bag has the first five. */
static const clump_struct_field sack_fields[] = {{"at", offsetof(sack, at)},
                                                 {"at_length", offsetof(sack, at_length)},
                                                 {"items_length", offsetof(sack, items_length)},
                                                 {"items", offsetof(sack, items)},
                                                 {"id", offsetof(sack, id)},
                                                 {"marks", offsetof(sack, marks)},
                                                 {"marks_length", offsetof(sack, marks_length)},
                                                 {"last", offsetof(sack, last)}};
static const clump_struct_desc bag_desc = {sizeof bag_desc, "Bag", sizeof(sack), 5, sack_fields},
                               sack_desc = {sizeof sack_desc, "Sack", sizeof(sack), 8, sack_fields};

static uint32_t length_of(uint32_t id) {
    const uint32_t n = id % 6;
    return n && id & 1 ? n - 1 : n;
}

/* Item number i has items[i]. */
static void find_items(clump_heap *heap, clump_ref items[ITEMS]) {
    clump_ref refs[ITEMS];
    uint32_t ids[ITEMS];
    uint64_t count;
    CHECK_OK(&on, clump_heap_read_refs(heap, "Item", refs, ITEMS, &count));
    CHECK_OK(&on, clump_heap_read_field(heap, "Item", "id", 0, sizeof *ids, ids, ITEMS, &count));
    for (uint32_t i = 0; i < ITEMS; i++) items[ids[i]] = refs[i];
}

/* All bags and sacks, of which the latter lack what only sacks have. */
static sack *read_bags(clump_heap *heap) {
    sack *bags = malloc(LEFT * sizeof *bags);
    uint64_t count;
    CHECK_OK(&on, clump_heap_read_structs(heap, &bag_desc, NULL, bags, LEFT, &count));
    assert_int_equal(count, LEFT);
    return bags;
}

static void read_by_host(void **state) {
    (void)state;
    clump_heap *heap = filled();
    clump_ref items[ITEMS], *second = malloc(LEFT * sizeof *second);
    uint32_t *lengths = malloc(LEFT * sizeof *lengths);
    uint64_t count;
    find_items(heap, items);
    sack *bags = read_bags(heap);
    CHECK_OK(&on, clump_heap_read_field(heap, "Bag", "items_length", 0, sizeof *lengths, lengths,
                                        LEFT, &count));
    CHECK_OK(&on,
             clump_heap_read_field(heap, "Bag", "items", 2, sizeof *second, second, LEFT, &count));
    for (uint32_t i = 0; i < LEFT; i++) {
        const uint32_t id = bags[i].id, n = length_of(id);
        assert_int_equal(bags[i].items_length, n);
        assert_int_equal(lengths[i], n);
        assert_int_equal(second[i], bags[i].items[2]);
        assert_int_equal(bags[i].at_length, id % 4);
        for (uint32_t k = 0; k < 5; k++)
            assert_int_equal(bags[i].items[k], k < n ? items[(id * 7 + k * 13) % ITEMS] : 0);
        for (uint32_t k = 0; k < id % 4; k++)
            assert_true(bags[i].at[k].s[0] == (float)id && bags[i].at[k].s[1] == (float)k);
    }
    free(bags);
    free(second);
    free(lengths);
    clump_heap_destroy(heap);
}

/* What a heap has is emptied and written again, in each way. */
static void written_by_host(void **state) {
    (void)state;
    clump_heap *heap = filled();
    const uint32_t count = LEFT, some = LEFT / 3;
    uint32_t *zeros = calloc(count, sizeof *zeros), *values = malloc(count * sizeof *values);
    clump_ref *refs = malloc(count * sizeof *refs);
    uint64_t length;
    sack *bags = read_bags(heap);
    CHECK_OK(&on, clump_heap_read_refs(heap, "Bag", refs, count, &length));
    for (int way = 0; way < 4; way++) {
        CHECK_OK(&on, clump_heap_write_field(heap, "Bag", "items_length", 0, sizeof *zeros, zeros,
                                             count));
        for (uint32_t k = 0; k < 5; k++)
            CHECK_OK(&on,
                     clump_heap_write_field(heap, "Bag", "items", k, sizeof *zeros, zeros, count));
        CHECK_OK(&on, clump_heap_read_object_array(heap, "Bag", "items", refs[count - 1],
                                                   sizeof *refs, NULL, 0, &length));
        assert_int_equal(length, 0);
        if (way == 0) {
            CHECK_OK(&on, clump_heap_write_structs(heap, &bag_desc, NULL, bags, count));
        } else if (way == 1) {
            CHECK_OK(&on, clump_heap_write_structs(heap, &bag_desc, refs + some, bags + some,
                                                   count - some));
            CHECK_OK(&on, clump_heap_write_structs(heap, &bag_desc, refs, bags, some));
        } else if (way == 2) {
            for (uint32_t k = 0; k < 6; k++) {
                for (uint32_t i = 0; i < count; i++)
                    values[i] = k < 5 ? bags[i].items[k] : bags[i].items_length;
                CHECK_OK(&on, clump_heap_write_field(heap, "Bag", k < 5 ? "items" : "items_length",
                                                     k % 5, sizeof *values, values, count));
            }
        } else {
            for (uint32_t i = 0; i < count; i++)
                for (uint32_t k = 0; k < 6; k++)
                    CHECK_OK(&on, clump_heap_write_object_field(
                                      heap, "Bag", k < 5 ? "items" : "items_length", k % 5, refs[i],
                                      sizeof *values,
                                      k < 5 ? &bags[i].items[k] : &bags[i].items_length));
        }
        expect(heap, count);
    }
    free(zeros);
    free(values);
    free(refs);
    free(bags);
    clump_heap_destroy(heap);
}

/* Objects are made with their arrays. */
static void made_by_host(void **state) {
    (void)state;
    clump_heap *heap = filled(), *other = open_heap(other_schema, 3);
    clump_ref items[ITEMS];
    uint32_t ids[ITEMS];
    uint64_t made;
    const clump_struct_field id = {"id", 0};
    const clump_struct_desc item_desc = {sizeof item_desc, "Item", sizeof *ids, 1, &id};
    for (uint32_t i = 0; i < ITEMS; i++) ids[i] = i;
    CHECK_OK(&on, clump_heap_new_structs(other, &item_desc, ids, ITEMS, items, &made));
    sack *bags = read_bags(heap);
    for (uint32_t i = 0; i < LEFT; i++) {
        const uint32_t n = bags[i].id;
        for (uint32_t k = 0; k < length_of(n); k++)
            bags[i].items[k] = items[(n * 7 + k * 13) % ITEMS];
        bags[i].marks_length = n % 8;
        for (uint32_t k = 0; k < 7; k++) bags[i].marks[k] = (uint8_t)(n + k);
        bags[i].last = (uint64_t)n << 40;
    }
    CHECK_OK(&on, clump_heap_new_structs(other, &sack_desc, bags, LEFT, NULL, &made));
    assert_int_equal(made, LEFT);
    expect(other, LEFT);
    free(bags);
    clump_heap_destroy(other);
    clump_heap_destroy(heap);
}

/* Nothing is written then. */
static void wrong_lengths_of_host(void **state) {
    (void)state;
    clump_heap *heap = filled();
    const clump_error *e = clump_context_get_error(on.clump);
    static const char words[] = "array items of class Bag cannot have a length of 6";
    clump_ref *refs = malloc(LEFT * sizeof *refs);
    uint32_t *lengths = calloc(LEFT, sizeof *lengths);
    uint64_t count;
    sack *bags = read_bags(heap);
    CHECK_OK(&on, clump_heap_read_refs(heap, "Bag", refs, LEFT, &count));
    memset(bags, 0, (LEFT - 1) * sizeof *bags);
    bags[LEFT - 1].items_length = lengths[LEFT - 1] = 6;
    cl_fixture_expect_words(
        e, clump_heap_write_field(heap, "Bag", "items_length", 0, sizeof *lengths, lengths, LEFT),
        CLUMP_ERR_USAGE, words, "clump_heap_write_field", __LINE__);
    cl_fixture_expect_words(e,
                            clump_heap_write_object_field(heap, "Bag", "items_length", 0, *refs,
                                                          sizeof *lengths, &lengths[LEFT - 1]),
                            CLUMP_ERR_USAGE, words, "clump_heap_write_object_field", __LINE__);
    cl_fixture_expect_words(e, clump_heap_write_structs(heap, &bag_desc, NULL, bags, LEFT),
                            CLUMP_ERR_USAGE, words, "clump_heap_write_structs", __LINE__);
    cl_fixture_expect_words(e, clump_heap_write_structs(heap, &bag_desc, refs, bags, LEFT),
                            CLUMP_ERR_USAGE, words, "clump_heap_write_structs", __LINE__);
    cl_fixture_expect_words(e, clump_heap_new_structs(heap, &bag_desc, bags, LEFT, NULL, NULL),
                            CLUMP_ERR_USAGE, words, "clump_heap_new_structs", __LINE__);
    expect(heap, LEFT);
    free(refs);
    free(lengths);
    free(bags);
    clump_heap_destroy(heap);
}

/* ---- As offsets and values ------------------------------------------------------------------- */

/* Elements of all arrays of LEFT objects, at most 7 each. */
static uint64_t offsets[LEFT + 1];
static uint8_t elements[LEFT * 7 * sizeof(cl_float4)];

static void arrays_read(void **state) {
    (void)state;
    clump_heap *heap = filled();
    const uint64_t room = LEFT * 7;
    clump_ref items[ITEMS], *refs = malloc(LEFT * sizeof *refs);
    uint32_t *ids = malloc(LEFT * sizeof *ids);
    uint64_t count;
    find_items(heap, items);
    CHECK_OK(&on, clump_heap_read_refs(heap, "Bag", refs, LEFT, &count));
    CHECK_OK(&on, clump_heap_read_field(heap, "Bag", "id", 0, sizeof *ids, ids, LEFT, NULL));
    /* All of them, and then the last third, the last one first. */
    for (int is_chosen = 0; is_chosen < 2; is_chosen++) {
        const uint32_t n = is_chosen ? LEFT / 3 : LEFT;
        for (uint32_t i = 0; is_chosen && i < n; i++) {
            refs[i] = refs[LEFT - 1 - i];
            ids[i] = ids[LEFT - 1 - i];
        }
        const clump_ref *chosen = is_chosen ? refs : NULL, *is = (const clump_ref *)elements;
        CHECK_OK(&on, clump_heap_read_arrays(heap, "Bag", "items", chosen, n, offsets, sizeof *is,
                                             elements, room));
        assert_int_equal(offsets[0], 0);
        for (uint32_t i = 0; i < n; i++) {
            assert_int_equal(offsets[i + 1] - offsets[i], length_of(ids[i]));
            for (uint32_t k = 0; k < length_of(ids[i]); k++)
                assert_int_equal(is[offsets[i] + k], items[(ids[i] * 7 + k * 13) % ITEMS]);
        }
        const cl_float3 *at = (const cl_float3 *)elements;
        CHECK_OK(&on, clump_heap_read_arrays(heap, "Bag", "at", chosen, n, offsets, sizeof *at,
                                             elements, room));
        for (uint32_t i = 0; i < n; i++)
            for (uint32_t k = 0; k < ids[i] % 4; k++)
                assert_true(at[offsets[i] + k].s[0] == (float)ids[i] &&
                            at[offsets[i] + k].s[1] == (float)k);
        assert_int_equal(offsets[1], ids[0] % 4);
    }
    free(refs);
    free(ids);
    clump_heap_destroy(heap);
}

/* Emptied and written again: all at once, or in two parts of the same elements. */
static void arrays_written(void **state) {
    (void)state;
    clump_heap *heap = filled();
    static const struct {
        const char *class_name, *field;
        size_t bytes;
    } arrays[] = {{"Bag", "items", sizeof(clump_ref)},
                  {"Bag", "at", sizeof(cl_float3)},
                  {"Sack", "marks", sizeof(uint8_t)}};
    const uint32_t half = 211;
    static const uint64_t none[LEFT + 1];
    for (size_t i = 0; i < sizeof arrays / sizeof *arrays; i++) {
        const char *name = arrays[i].class_name, *field = arrays[i].field;
        const size_t bytes = arrays[i].bytes;
        clump_ref refs[LEFT];
        uint64_t n;
        CHECK_OK(&on, clump_heap_read_refs(heap, name, refs, LEFT, &n));
        CHECK_OK(&on, clump_heap_read_arrays(heap, name, field, NULL, n, offsets, bytes, elements,
                                             LEFT * 7));
        const uint64_t all = offsets[n];
        for (int is_chosen = 0; is_chosen < 2; is_chosen++) {
            uint64_t empty[LEFT + 1];
            uint32_t word;
            CHECK_OK(&on, clump_heap_write_arrays(heap, name, field, NULL, n, none, 0, NULL, 0));
            CHECK_OK(&on, clump_heap_read_arrays(heap, name, field, NULL, n, empty, 0, NULL, 0));
            assert_int_equal(empty[n], 0);
            for (uint32_t k = 0; i == 0 && k < n; k++) { /* they keep nothing alive */
                CHECK_OK(&on, clump_heap_read_object_field(heap, name, field, 0, refs[k],
                                                           sizeof word, &word));
                assert_int_equal(word, 0);
            }
            if (is_chosen) {
                CHECK_OK(&on, clump_heap_write_arrays(heap, name, field, refs, half, offsets, bytes,
                                                      elements, all));
                CHECK_OK(&on, clump_heap_write_arrays(heap, name, field, refs + half, n - half,
                                                      offsets + half, bytes, elements, all));
            } else {
                CHECK_OK(&on, clump_heap_write_arrays(heap, name, field, NULL, n, offsets, bytes,
                                                      elements, all));
            }
            expect(heap, LEFT);
        }
    }
    clump_heap_destroy(heap);
}

/* Nothing is read or written then. */
static void arrays_refused(void **state) {
    (void)state;
    clump_heap *heap = filled();
    const clump_error *e = clump_context_get_error(on.clump);
    clump_ref refs[LEFT];
    uint32_t words[8] = {4711};
    uint64_t n;
    CHECK_OK(&on, clump_heap_read_refs(heap, "Bag", refs, LEFT, &n));
#define READ_REFUSED(status, words, ...)                                                           \
    cl_fixture_expect_words(e, clump_heap_read_arrays(heap, __VA_ARGS__), status, words,           \
                            "clump_heap_read_arrays", __LINE__)
#define WRITE_REFUSED(status, words, ...)                                                          \
    cl_fixture_expect_words(e, clump_heap_write_arrays(heap, __VA_ARGS__), status, words,          \
                            "clump_heap_write_arrays", __LINE__)
    const clump_status usage = CLUMP_ERR_USAGE, unknown = CLUMP_ERR_NOT_FOUND;
    READ_REFUSED(CLUMP_ERR_TOO_SMALL, "room for 8 elements, but", "Bag", "items", NULL, n, offsets,
                 4, words, 8);
    assert_true(offsets[n] > 8 && words[0] == 4711);
    READ_REFUSED(usage, "the arrays of 799 objects, but class Bag has 800", "Bag", "items", NULL,
                 n - 1, offsets, 0, NULL, 0);
    READ_REFUSED(usage, "but 8 bytes were passed", "Bag", "items", NULL, n, offsets, 8, words, 8);
    READ_REFUSED(usage, "a pointer for the offsets", "Bag", "items", NULL, n, NULL, 4, words, 8);
    READ_REFUSED(usage, "a pointer for the elements", "Bag", "items", NULL, n, offsets, 4, NULL, 8);
    READ_REFUSED(usage, "2147483649 objects are too many", "Bag", "items", refs,
                 (UINT64_C(1) << 31) + 1, offsets, 0, NULL, 0);
    READ_REFUSED(usage, "not an array of run-time length", "Bag", "id", NULL, n, offsets, 4, words,
                 8);
    READ_REFUSED(unknown, "no field \"none\"", "Bag", "none", NULL, n, offsets, 4, words, 8);
    READ_REFUSED(unknown, "no class \"None\"", "None", "items", NULL, n, offsets, 4, words, 8);
    memset(offsets, 0, sizeof offsets);
    offsets[n] = 6;
    WRITE_REFUSED(usage, "cannot have a length of 6: it has room for 5", "Bag", "items", NULL, n,
                  offsets, 4, words, 6);
    WRITE_REFUSED(usage, "array number 799 has the offsets 0 and 6", "Bag", "items", refs, n,
                  offsets, 4, words, 5);
    offsets[0] = 1;
    WRITE_REFUSED(usage, "array number 0 has the offsets 1 and 0", "Bag", "items", NULL, n, offsets,
                  4, words, 8);
    offsets[0] = offsets[n] = 0;
    WRITE_REFUSED(usage, "the arrays of 799 objects, but class Bag has 800", "Bag", "items", NULL,
                  n - 1, offsets, 4, words, 8);
    /* A length that somebody overwrote. */
    const clump_heap_info *info = clump_heap_get_info(heap);
    const clump_field_info *f = clump_schema_find_field(
        info->schema, clump_schema_find_class(info->schema, "Bag")->id, "items_length");
    const size_t at = (size_t)(refs[17] >> 6) * info->granule_bytes + f->base_bytes +
                      (refs[17] & 63) * f->stride_bytes;
    const cl_uint beyond = 6;
    cl_uint kept;
    CHECK_CL(clEnqueueReadBuffer(on.queue, info->buffer, CL_TRUE, at, 4, &kept, 0, NULL, NULL));
    CHECK_CL(clEnqueueWriteBuffer(on.queue, info->buffer, CL_TRUE, at, 4, &beyond, 0, NULL, NULL));
    READ_REFUSED(CLUMP_ERR_CORRUPT, "object number 17 was overwritten: its length is 6", "Bag",
                 "items", NULL, n, offsets, 4, words, 8);
    CHECK_CL(clEnqueueWriteBuffer(on.queue, info->buffer, CL_TRUE, at, 4, &kept, 0, NULL, NULL));
    refs[17] = 64;
    WRITE_REFUSED(CLUMP_ERR_REFERENCE, "1 of 800 references", "Bag", "items", refs, n, offsets, 4,
                  words, 8);
    CHECK_OK(&on, clump_heap_read_arrays(heap, "Bag", "items", refs, 0, offsets, 4, words, 8));
    expect(heap, LEFT);
    clump_heap_destroy(heap);
}

/* ---- As a table ------------------------------------------------------------------------------ */

/* Elements that are no longer in use have values, and are not in the table. */
static void tables(void **state) {
    (void)state;
    clump_heap *heap = open_heap("class Bag { ushort n[*] max 3; float2 at[*] max 2; }", 2);
    static const uint32_t lengths[2][2] = {{2, 0}, {1, 2}}; /* of n, of at */
    static const uint64_t full[2][3] = {{0, 3, 6}, {0, 2, 4}};
    static const uint16_t n[] = {1, 2, 3, 4, 5, 6};
    static const cl_float2 at[] = {{{1, 2}}, {{3, 4}}, {{5, 6}}, {{7, 0.5f}}};
    const clump_struct_desc none = {sizeof none, "Bag", 1, 0, NULL};
    CHECK_OK(&on, clump_heap_new_structs(heap, &none, "  ", 2, NULL, NULL));
    CHECK_OK(&on, clump_heap_write_arrays(heap, "Bag", "n", NULL, 2, full[0], 2, n, 6));
    CHECK_OK(&on, clump_heap_write_arrays(heap, "Bag", "at", NULL, 2, full[1], 8, at, 4));
    CHECK_OK(&on, clump_heap_write_field(heap, "Bag", "n_length", 0, 4, lengths[0], 2));
    CHECK_OK(&on, clump_heap_write_field(heap, "Bag", "at_length", 0, 4, lengths[1], 2));
    memory_file file = {0};
    CHECK_OK(&on, clump_heap_write_table(heap, "Bag", CLUMP_TABLE_CSV, memory_write, &file));
    static const char text[] =
        "n[0],n[1],n[2],n_length,at[0].x,at[0].y,at[1].x,at[1].y,at_length\n"
        "1,2,,2,1,2,,,1\n,,,0,5,6,7,0.5,2\n";
    assert_int_equal(file.bytes, sizeof text - 1);
    assert_memory_equal(file.data, text, sizeof text - 1);
    memory_release(&file);
    file = (memory_file){0};
    CHECK_OK(&on, clump_heap_write_table(heap, "Bag", CLUMP_TABLE_NPY, memory_write, &file));
#pragma pack(push, 1)
    static const struct {
        uint16_t n[3];
        uint32_t n_length;
        float at[2][2];
        uint32_t at_length;
    } rows[2] = {{{1, 2}, 2, {{1, 2}}, 1}, {{0}, 0, {{5, 6}, {7, 0.5f}}, 2}};
#pragma pack(pop)
    static const char type[] =
        "[('n', '<u2', (3,)), ('n_length', '<u4'), ('at', '<f4', (2, 2)), "
        "('at_length', '<u4'), ]";
    assert_true(file.bytes > sizeof rows + 64);
    file.data[file.bytes - sizeof rows - 1] = 0; /* after the header, which is text */
    assert_non_null(strstr((const char *)file.data + 10, type));
    assert_memory_equal(file.data + file.bytes - sizeof rows, rows, sizeof rows);
    memory_release(&file);
    clump_heap_destroy(heap);
}

/* Bag 5 has 4 items: these stay. */
static void moved(void **state) {
    (void)state;
    static clump_ref bags[LEFT];
    clump_heap *heap = filled();
    clump_handle held;
    uint64_t count;
    const clump_compact_desc order = {.size = sizeof order, .order = CLUMP_ORDER_ADDRESS};
    CHECK_OK(&on, clump_heap_compact(heap, &order, NULL, NULL));
    expect(heap, LEFT);
    CHECK_OK(&on, clump_heap_read_refs(heap, "Bag", bags, LEFT, &count));
    for (uint32_t i = 0; i < LEFT; i++) {
        uint32_t id;
        CHECK_OK(&on, clump_heap_read_object_field(heap, "Bag", "id", 0, bags[i], sizeof id, &id));
        if (id == 5) CHECK_OK(&on, clump_heap_create_handle(heap, bags[i], &held));
    }
    CHECK_OK(&on, clump_heap_collect(heap, NULL, NULL, NULL));
    expect(heap, 1);
    CHECK_OK(&on, clump_heap_read_count(heap, "Item", &count));
    assert_int_equal(count, 4);
    clump_heap_destroy(heap);
}

static int open_checked(void **state) {
    (void)state;
    is_checked = 1;
    return 0;
}

int main(void) {
    const int code = cl_fixture_open(&on, NULL);
    if (code) return code;
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(saved),          cmocka_unit_test(refused),
        cmocka_unit_test(wrong_lengths),  cmocka_unit_test(extracted),
        cmocka_unit_test(converted),      cmocka_unit_test(moved),
        cmocka_unit_test(read_by_host),   cmocka_unit_test(written_by_host),
        cmocka_unit_test(made_by_host),   cmocka_unit_test(wrong_lengths_of_host),
        cmocka_unit_test(arrays_read),    cmocka_unit_test(arrays_written),
        cmocka_unit_test(arrays_refused), cmocka_unit_test(tables),
    };
    const struct CMUnitTest of_checked[] = {
        cmocka_unit_test(saved),         cmocka_unit_test(extracted),
        cmocka_unit_test(converted),     cmocka_unit_test(moved),
        cmocka_unit_test(read_by_host),  cmocka_unit_test(written_by_host),
        cmocka_unit_test(made_by_host),  cmocka_unit_test(arrays_read),
        cmocka_unit_test(arrays_written)};
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    failed += cmocka_run_group_tests_name("checked heaps", of_checked, open_checked, NULL);
    cl_fixture_close(&on);
    return failed;
}
