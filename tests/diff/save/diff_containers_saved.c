/* Containers are saved and loaded, or extracted and inserted, as the objects and arrays that they
 * are: a hash map with plain keys, a vector and a grid. In the other heap they have the same
 * contents, and their calls work on: the map takes and erases keys, the vector appends, the grid is
 * walked and recorded again.
 *
 * Read first: diff_growing.c, docs/guide/containers.md.
 */
#include <string.h>

#include "clump/compact.h"
#include "clump/convert.h"
#include "clump/extract.h"
#include "saved_heap.h"

enum { KEYS = 3000, BODIES = 2000 };

static const char schema[] =
    "class Words { ref Word heads[*]; }\n"
    "class Word { uint key; uint value; ref Word next; uint erased; }\n"
    "class Trail { uint first; uint filling; uint growing; ref Page pages[28]; }\n"
    "class Page { uint items[*]; }\n"
    "class Cells { float origin[3]; float scale; uint count[3]; uint starts[*]; ref Body "
    "sorted[*]; }\n"
    "class Body { float x; float y; uint near; }\n";

static const char source[] =
    "CLUMP_MAP_DEFINE(Words, Word, uint, uint);\n"
    "CLUMP_VECTOR_DEFINE(Trail, Page, uint);\n"
    "float3 place_of(CLUMP_HEAP_NO_ALLOC, Body b) {\n"
    "    return (float3)(Body_x(b), Body_y(b), 0.0f);\n"
    "}\n"
    "CLUMP_GRID_DEFINE(Cells, Body, place_of);\n"
    "__kernel void make_map(CLUMP_HEAP) {\n"
    "    CLUMP_FOR_EACH_NEW(Words, s, i) if (Words_heads_resize(s, 512) != CLUMP_DONE) return;\n"
    "}\n"
    "__kernel void make_trail(CLUMP_HEAP) {\n"
    "    CLUMP_FOR_EACH_NEW(Trail, s, i) if (CLUMP_VECTOR_MAKE(Trail, s, 1000) != CLUMP_DONE) "
    "return;\n"
    "}\n"
    "__kernel void make_grid(CLUMP_HEAP) {\n"
    "    CLUMP_FOR_EACH_NEW(Cells, s, i)\n"
    "        if (CLUMP_GRID_MAKE(Cells, s, (float3)(0.0f), 1.0f, (uint3)(25, 25, 1)) != "
    "CLUMP_DONE)\n"
    "            return;\n"
    "}\n"
    "__kernel void make_bodies(CLUMP_HEAP) {\n"
    "    CLUMP_FOR_EACH_NEW(Body, s, i) {\n"
    "        Body_x(s) = (i * 37u % 100u) * 0.25f;\n"
    "        Body_y(s) = (i * 53u % 97u) * 0.25f;\n"
    "        Body_near(s) = 0;\n"
    "    }\n"
    "}\n"
    "#define EACH(i, from, to)                                                         \\\n"
    "    for (uint i = (from) + (uint)get_global_id(0); i < (to); i += (uint)get_global_size(0))\n"
    "__kernel void insert(CLUMP_HEAP, CLUMP_NUMBERS, uint from, uint to) {\n"
    "    Words map = CLUMP_AT(Words, 0);\n"
    "    Word entry;\n"
    "    EACH(k, from, to) CLUMP_MAP_INSERT(Words, map, k * 2654435761u, k, &entry);\n"
    "}\n"
    "__kernel void erase(CLUMP_HEAP_NO_ALLOC, CLUMP_NUMBERS, uint from, uint to) {\n"
    "    Words map = CLUMP_AT(Words, 0);\n"
    "    EACH(k, from, to) if (k % 3u == 0) CLUMP_MAP_ERASE(Words, map, k * 2654435761u);\n"
    "}\n"
    "__kernel void tidy(CLUMP_HEAP, CLUMP_NUMBERS) {\n"
    "    CLUMP_MAP_TIDY(Words, CLUMP_AT(Words, 0), 512);\n"
    "}\n"
    "__kernel void append(CLUMP_HEAP, CLUMP_NUMBERS, uint from, uint to) {\n"
    "    Trail trail = CLUMP_AT(Trail, 0);\n"
    "    EACH(i, from, to) CLUMP_VECTOR_APPEND(Trail, trail, i);\n"
    "}\n"
    "__kernel void reserve(CLUMP_HEAP, CLUMP_NUMBERS, uint n) {\n"
    "    if (get_global_id(0) == 0) CLUMP_VECTOR_RESERVE(Trail, CLUMP_AT(Trail, 0), n);\n"
    "}\n"
    "__kernel void keys(CLUMP_HEAP_NO_ALLOC, CLUMP_NUMBERS, __global uint *keys) {\n"
    "    Cells grid = CLUMP_AT(Cells, 0);\n"
    "    CLUMP_FOR_EACH_KEYED(Body, s, i) keys[i] = CLUMP_GRID_KEY(Cells, grid, s);\n"
    "}\n"
    "__kernel void room(CLUMP_HEAP, CLUMP_NUMBERS) {\n"
    "    if (get_global_id(0) == 0) Cells_sorted_resize(CLUMP_AT(Cells, 0), 2000);\n"
    "}\n"
    "__kernel void note(CLUMP_HEAP_NO_ALLOC, CLUMP_NUMBERS) {\n"
    "    CLUMP_GRID_NOTE(Cells, CLUMP_AT(Cells, 0));\n"
    "}\n"
    "uint near_of(CLUMP_HEAP_NO_ALLOC, Cells grid, Body s) {\n"
    "    uint near = 0;\n"
    "    CLUMP_FOR_NEAR(Body, other, grid, place_of(clump_heap, s), 1.0f) {\n"
    "        float x = Body_x(other) - Body_x(s), y = Body_y(other) - Body_y(s);\n"
    "        near += x * x + y * y <= 1.0f;\n"
    "    }\n"
    "    return near;\n"
    "}\n"
    "__kernel void near(CLUMP_HEAP_NO_ALLOC, CLUMP_NUMBERS) {\n"
    "    Cells grid = CLUMP_AT(Cells, 0);\n"
    "    CLUMP_FOR_EACH(Body, s) Body_near(s) = near_of(clump_heap, grid, s);\n"
    "}\n"
    /* How many keys are as they are to be, elements, and bodies. */
    "__kernel void right_keys(CLUMP_HEAP_NO_ALLOC, CLUMP_NUMBERS, uint to) {\n"
    "    Words map = CLUMP_AT(Words, 0);\n"
    "    uint right = 0;\n"
    "    EACH(k, 0, to) {\n"
    "        Word w = CLUMP_MAP_FIND(Words, map, k * 2654435761u);\n"
    "        right += k % 3u == 0 ? Word_is_null(w) : !Word_is_null(w) && Word_value(w) == k;\n"
    "    }\n"
    "    CLUMP_REDUCE(uint, right, CLUMP_SUM);\n"
    "}\n"
    "__kernel void right_items(CLUMP_HEAP_NO_ALLOC, CLUMP_NUMBERS, __global uint *seen, uint to) "
    "{\n"
    "    Trail trail = CLUMP_AT(Trail, 0);\n"
    "    uint right = 0, n = CLUMP_VECTOR_LENGTH(Trail, trail);\n"
    "    EACH(i, 0, n) {\n"
    "        uint item = CLUMP_VECTOR_AT(Trail, trail, i);\n"
    "        right += item < to && atomic_inc(&seen[item]) == 0;\n"
    "    }\n"
    "    CLUMP_REDUCE(uint, right, CLUMP_SUM);\n"
    "}\n"
    "__kernel void right_bodies(CLUMP_HEAP_NO_ALLOC, CLUMP_NUMBERS) {\n"
    "    Cells grid = CLUMP_AT(Cells, 0);\n"
    "    uint right = 0;\n"
    "    CLUMP_FOR_EACH(Body, s)\n"
    "        right += Body_near(s) > 1u && Body_near(s) == near_of(clump_heap, grid, s);\n"
    "    CLUMP_REDUCE(uint, right, CLUMP_SUM);\n"
    "}\n";

static cl_fixture on;

static clump_heap *open_heap(uint32_t block_rows) {
    return cl_fixture_heap_as(
        &on, schema,
        &(clump_heap_desc){
            .size = sizeof(clump_heap_desc), .bytes = 8 << 20, .block_rows = block_rows});
}

static void do_all(clump_heap *heap, clump_kernel *k) {
    CHECK_OK(&on, clump_heap_do_all(heap, k, NULL));
    CHECK_OK(&on, clump_heap_take_errors(heap, NULL));
}

static void make(clump_heap *heap, clump_program *p, const char *kernel, const char *class_name,
                 uint64_t count) {
    CHECK_OK(&on, clump_heap_do_new(heap, clump_program_get_kernel(p, kernel), class_name, count,
                                    NULL, NULL));
}

/* Keys and elements from .. to-1 come. */
static void add(clump_heap *heap, clump_program *p, cl_uint from, cl_uint keys, cl_uint items) {
    clump_kernel *insert = clump_program_get_kernel(p, "insert"),
                 *append = clump_program_get_kernel(p, "append"),
                 *reserve = clump_program_get_kernel(p, "reserve"),
                 *erase = clump_program_get_kernel(p, "erase");
    cl_uint key_end = from + keys, item_end = from + items;
    do_all(heap, clump_kernel_with(insert, CLUMP_ARGS(from, key_end)));
    do_all(heap, clump_kernel_with(erase, CLUMP_ARGS(from, key_end)));
    do_all(heap, clump_kernel_with(reserve, CLUMP_ARGS(item_end)));
    do_all(heap, clump_kernel_with(append, CLUMP_ARGS(from, item_end)));
}

static void record(clump_heap *heap, clump_program *p) {
    static const char *const body = "Body";
    CHECK_OK(&on, clump_heap_compact(
                      heap,
                      &(clump_compact_desc){.size = sizeof(clump_compact_desc),
                                            .classes = &body,
                                            .class_count = 1,
                                            .order = CLUMP_ORDER_KEY,
                                            .key_kernel = clump_program_get_kernel(p, "keys")},
                      NULL, NULL));
    do_all(heap, clump_program_get_kernel(p, "room"));
    do_all(heap, clump_program_get_kernel(p, "note"));
}

static cl_uint sum(clump_heap *heap, clump_kernel *k) {
    cl_uint right = 0;
    CHECK_OK(&on, clump_heap_reduce(heap, k, sizeof right, &right, NULL));
    return right;
}

static void expect(clump_heap *heap, clump_program *p, cl_uint count) {
    clump_kernel *keys = clump_program_get_kernel(p, "right_keys"),
                 *items = clump_program_get_kernel(p, "right_items");
    static const cl_uint zeros[2 * KEYS];
    cl_mem seen = cl_fixture_buffer(&on, zeros, sizeof zeros);
    assert_int_equal(sum(heap, clump_kernel_with(keys, CLUMP_ARGS(count))), count);
    assert_int_equal(sum(heap, clump_kernel_with(items, CLUMP_ARGS(seen, count))), count);
    assert_int_equal(sum(heap, clump_program_get_kernel(p, "right_bodies")), BODIES);
    CHECK_HEAP(&on, heap);
    clReleaseMemObject(seen);
}

static clump_heap *filled(void) {
    clump_heap *heap = open_heap(2);
    clump_program *p = cl_fixture_program(&on, heap, source, NULL, NULL);
    make(heap, p, "make_map", "Words", 1);
    make(heap, p, "make_trail", "Trail", 1);
    make(heap, p, "make_grid", "Cells", 1);
    make(heap, p, "make_bodies", "Body", BODIES);
    add(heap, p, 0, KEYS, KEYS);
    record(heap, p);
    do_all(heap, clump_program_get_kernel(p, "near"));
    expect(heap, p, KEYS);
    clump_program_destroy(p);
    return heap;
}

static void expect_to_work(clump_heap *heap) {
    clump_program *p = cl_fixture_program(&on, heap, source, NULL, NULL);
    expect(heap, p, KEYS);
    add(heap, p, KEYS, KEYS, KEYS);
    expect(heap, p, 2 * KEYS);
    do_all(heap, clump_program_get_kernel(p, "tidy"));
    record(heap, p);
    expect(heap, p, 2 * KEYS);
    clump_program_destroy(p);
    clump_heap_destroy(heap);
}

static void are_saved(void **state) {
    (void)state;
    clump_heap *heap = filled(), *loaded = open_heap(5);
    memory_file file = saved_bytes(&on, heap, 4096);
    CHECK_OK(&on, load_bytes(loaded, &file, NULL));
    clump_heap_destroy(heap);
    memory_file again = saved_bytes(&on, loaded, 4096);
    assert_int_equal(again.bytes, file.bytes);
    assert_memory_equal(again.data, file.data, file.bytes);
    memory_release(&again);
    memory_release(&file);
    expect_to_work(loaded);
}

static void migrate(void **state) {
    (void)state;
    static const char *const roots[] = {"Words", "Trail", "Cells"};
    const clump_extract_desc desc = {
        .size = sizeof desc, .classes = roots, .class_count = 3, .follow = 1};
    clump_heap *heap = filled(), *into = open_heap(5);
    clump_heap_stats stats = {.size = sizeof stats};
    CHECK_OK(&on, clump_heap_migrate(heap, &desc, into, NULL, NULL, NULL));
    CHECK_OK(&on, clump_heap_read_stats(heap, &stats, NULL, 0));
    assert_int_equal(stats.objects, 0);
    assert_int_equal(stats.raw_bytes, 0);
    clump_heap_destroy(heap);
    expect_to_work(into);
}

/* Other layouts, fields in another order, two more. */
static void are_converted(void **state) {
    static const char other[] =
        "aos class Body { uint near; float y; float x; }\n"
        "aos class Words { uint more[*]; ref Word heads[*]; }\n"
        "class Page { ulong fresh; uint items[*]; }\n"
        "class Word { uint erased; uint key; ref Word next; uint value; }\n"
        "class Trail { uint first; uint filling; uint growing; ref Page pages[28] packed; }\n"
        "aos class Cells { ref Body sorted[*]; float origin[3]; float scale; uint count[3]; "
        "uint starts[*]; }\n";
    clump_heap *heap = filled();
    clump_schema *to;
    (void)state;
    assert_int_equal(clump_schema_parse(other, strlen(other), NULL, &to, NULL), CLUMP_OK);
    CHECK_OK(&on, clump_heap_convert(
                      heap,
                      &(clump_convert_desc){
                          .size = sizeof(clump_convert_desc), .schema = to, .block_rows = 3},
                      NULL));
    CHECK_HEAP(&on, heap);
    clump_schema_destroy(to);
    expect_to_work(heap);
}

int main(void) {
    const int code = cl_fixture_open(&on, NULL);
    if (code) return code;
    const struct CMUnitTest tests[] = {cmocka_unit_test(are_saved), cmocka_unit_test(migrate),
                                       cmocka_unit_test(are_converted)};
    const int failed = cmocka_run_group_tests(tests, NULL, NULL);
    cl_fixture_close(&on);
    return failed;
}
