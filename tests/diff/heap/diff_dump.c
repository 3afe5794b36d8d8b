/* clump_heap_dump() against what the host finds out in other ways: statistics, the places of all
 * objects by their references, and the list of live objects. The dump is read by cJSON.
 *
 * An argument is a folder, which gets the dumps and a saved heap that the test of clump-inspect
 * reads.
 * Read first: include/clump/heap.h, docs/guide/seeing-the-heap.md.
 */
#include <cjson/cJSON.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cl_fixture.h"
#include "heap/heap.h"

static const char schema_text[] =
    "class Body { float x; uint id; } class Star : Body { ref Body centre; float4 wide[3]; } class "
    "Rare { uchar b; } "
    "abstract class Nothing { }";
enum { CLASSES = 4, BINS = 10, RAW_ITEMS = 700 };

static const char source[] =
    "uint hash(uint x) { x ^= x >> 16; x *= 0x85ebca6bu; x ^= x >> 13; x *= 0xc2b2ae35u; return x "
    "^ (x >> 16); }\n"
    "__kernel void body(CLUMP_HEAP) { CLUMP_FOR_EACH_NEW(Body, b, i) Body_id(b) = i; }\n"
    "__kernel void star(CLUMP_HEAP) { CLUMP_FOR_EACH_NEW(Star, s, i) Star_id(s) = i; }\n"
    /* The first objects go, those after them are thinned out, the others stay: blocks of every
     * fill. */
    "__kernel void drop(CLUMP_HEAP, uint all) {\n"
    "    CLUMP_FOR_EACH(Body, b) {\n"
    "        uint id = Body_id(b);\n"
    "        if (id < all / 4 || hash(id) % all > id) Body_free(b);\n"
    "    }\n"
    "}\n";
static const char raw_source[] =
    "__kernel void raw(CLUMP_HEAP) {\n"
    "    uint i = (uint)get_global_id(0);\n"
    "    clump_malloc(1u + i * 7u % 300u);\n"
    "}\n";

static struct {
    cl_fixture on;
    clump_heap *heap;
    clump_program *program;
    char *text;
    cJSON *dump;
} t;

/* ---- A heap with something in it ------------------------------------------------------------- */

static void run(const char *kernel, const char *class_name, uint32_t count) {
    clump_kernel *k = cl_fixture_kernel(&t.on, t.program, kernel);
    if (class_name) {
        CHECK_OK(&t.on, clump_heap_do_new(t.heap, k, class_name, count, NULL, NULL));
    } else {
        SET_ARG(&t.on, k, 0, count);
        CHECK_OK(&t.on, clump_heap_do_all(t.heap, k, NULL));
    }
    clump_kernel_destroy(k);
}

static void open_heap(const clump_checked_desc *checked, int raw) {
    clump_schema *s;
    CHECK_OK(&t.on, clump_schema_parse(schema_text, strlen(schema_text), NULL, &s, NULL));
    clump_heap_desc desc = {.size = sizeof desc,
                            .context = t.on.clump,
                            .schema = s,
                            .bytes = 24u << 20,
                            .block_rows = 2,
                            .raw = raw,
                            .checked = checked};
    CHECK_OK(&t.on, clump_heap_create(&desc, &t.heap, NULL));
    clump_schema_destroy(s);
    t.program = cl_fixture_program(&t.on, t.heap, source, NULL, NULL);
}

static void fill(uint32_t count) {
    run("body", "Body", count);
    run("star", "Star", count / 3);
    run("drop", NULL, count);
}

static void fill_raw(void) {
    clump_program *p = cl_fixture_program(&t.on, t.heap, raw_source, NULL, NULL);
    clump_kernel *k = cl_fixture_kernel(&t.on, p, "raw");
    CHECK_OK(&t.on, clump_heap_launch(t.heap, k, RAW_ITEMS, 1, NULL));
    clump_kernel_destroy(k);
    clump_program_destroy(p);
}

static void close_heap(void) {
    CHECK_HEAP(&t.on, t.heap);
    cJSON_Delete(t.dump);
    free(t.text);
    t.dump = NULL;
    t.text = NULL;
    clump_program_destroy(t.program);
    clump_heap_destroy(t.heap);
}

/* ---- The dump -------------------------------------------------------------------------------- */

static int keep(void *user, const void *data, size_t bytes) {
    const char *text = data;
    assert_ptr_equal(user, &t);
    assert_null(t.text); /* one call */
    assert_int_equal(strlen(text), bytes);
    t.text = malloc(bytes + 1);
    assert_non_null(t.text);
    memcpy(t.text, text, bytes + 1);
    return 0;
}

static void take(void) {
    cJSON_Delete(t.dump);
    free(t.text);
    t.text = NULL;
    CHECK_OK(&t.on, clump_heap_dump(t.heap, keep, &t));
    const char *end = NULL;
    t.dump = cJSON_ParseWithOpts(t.text, &end, 1);
    if (!t.dump) fail_msg("a dump is no JSON from here on: %.60s", end);
    assert_string_equal(cJSON_GetStringValue(cJSON_GetObjectItem(t.dump, "format")),
                        "clump heap 1");
}

static double number(const cJSON *of, const char *name) {
    const cJSON *item = cJSON_GetObjectItemCaseSensitive(of, name);
    if (!cJSON_IsNumber(item)) fail_msg("%s is no number", name);
    return item->valuedouble;
}

/* Exact: all are below 2^53. */
static void expect(const cJSON *of, const char *name, uint64_t value) {
    if (number(of, name) != (double)value)
        fail_msg("%s is %.0f, expected %llu", name, number(of, name), (unsigned long long)value);
}

static void expect_share(const cJSON *of, const char *name, double share) {
    assert_true(number(of, name) > share - 1e-6 && number(of, name) < share + 1e-6);
}

/* Live objects of each block, by the references of all objects. To be freed. */
static uint32_t *objects_of_blocks(uint32_t *classes) {
    const clump_heap_info *l = clump_heap_get_info(t.heap);
    uint32_t *used = calloc(l->block_count, sizeof *used);
    assert_non_null(used);
    for (uint32_t id = 1; id <= CLASSES; id++) {
        clump_class_info info;
        uint64_t count = 0;
        info = *clump_schema_get_info(clump_heap_get_info(t.heap)->schema)->classes[id];
        CHECK_OK(&t.on, clump_heap_read_refs(t.heap, info.name, NULL, 0, &count));
        clump_ref *refs = malloc((count + 1) * sizeof *refs);
        assert_non_null(refs);
        CHECK_OK(&t.on, clump_heap_read_refs(t.heap, info.name, refs, count, &count));
        for (uint64_t i = 0; i < count; i++) {
            clump_ref plain = clumpi_ref_plain(t.heap, refs[i]);
            uint32_t b = (plain >> 6) / l->block_granules - l->first_block;
            used[b] += info.base == 0; /* objects of subclasses come again */
            classes[b] = id;           /* the exact class comes last */
        }
        free(refs);
    }
    return used;
}

/* Blocks of objects against references, the histogram of each class against the blocks. */
static void compare_blocks(void) {
    const clump_heap_info *l = clump_heap_get_info(t.heap);
    const cJSON *class_of = cJSON_GetObjectItem(t.dump, "block_class"),
                *used_of = cJSON_GetObjectItem(t.dump, "block_used"), *entry;
    uint32_t *classes = calloc(l->block_count, sizeof *classes);
    assert_non_null(classes);
    uint32_t *used = objects_of_blocks(classes), bins[CLUMPI_CLASS_IDS][BINS] = {{0}};
    assert_int_equal(cJSON_GetArraySize(class_of), l->block_count);
    assert_int_equal(cJSON_GetArraySize(used_of), l->block_count);
    const cJSON *c = class_of->child, *u = used_of->child;
    for (uint32_t b = 0; b < l->block_count; b++, c = c->next, u = u->next) {
        uint32_t id = (uint32_t)c->valueint, n = (uint32_t)u->valueint;
        if (id > CLASSES) continue; /* raw memory: its sums are compared */
        assert_int_equal(id, classes[b]);
        assert_int_equal(n, used[b]);
        uint32_t tenth = 0, capacity = t.heap->geometry.classes[id].capacity;
        while (id && n * 10 > (tenth + 1) * capacity) tenth++;
        bins[id][tenth]++;
    }
    cJSON_ArrayForEach(entry, cJSON_GetObjectItem(t.dump, "classes")) {
        const cJSON *fill = cJSON_GetObjectItem(entry, "fill");
        uint32_t id = (uint32_t)number(entry, "id");
        assert_int_equal(cJSON_GetArraySize(fill), BINS);
        for (int i = 0; id <= CLASSES && i < BINS; i++)
            assert_int_equal(cJSON_GetArrayItem(fill, i)->valueint, bins[id][i]);
    }
    free(classes);
    free(used);
}

static void compare_stats(void) {
    const clump_heap_info *l = clump_heap_get_info(t.heap);
    clump_heap_stats stats = {.size = sizeof stats};
    clump_class_stats classes[CLASSES] = {{.size = sizeof *classes}};
    CHECK_OK(&t.on, clump_heap_read_stats(t.heap, &stats, classes, CLASSES));
    expect(t.dump, "bytes", l->bytes);
    expect(t.dump, "metadata_bytes", l->metadata_bytes);
    expect(t.dump, "granule_bytes", l->granule_bytes);
    expect(t.dump, "block_granules", l->block_granules);
    expect(t.dump, "first_block", l->first_block);
    expect(t.dump, "blocks", stats.blocks);
    expect(t.dump, "free_blocks", stats.free_blocks);
    expect(t.dump, "damaged_blocks", 0);
    expect(t.dump, "raw_blocks", stats.raw_blocks);
    expect(t.dump, "raw_bytes", stats.raw_bytes);
    expect(t.dump, "objects", stats.objects);
    expect(t.dump, "slots", stats.slots);
    expect_share(t.dump, "fragmentation", stats.fragmentation);
    const cJSON *entry = cJSON_GetObjectItem(t.dump, "classes")->child;
    for (uint32_t id = 1; id <= CLASSES; id++, entry = entry->next) {
        const clump_class_stats *s = &classes[id - 1];
        clump_class_info info =
            *clump_schema_get_info(clump_heap_get_info(t.heap)->schema)->classes[id];
        assert_string_equal(cJSON_GetStringValue(cJSON_GetObjectItem(entry, "name")), info.name);
        assert_true(cJSON_IsFalse(cJSON_GetObjectItem(entry, "raw")));
        expect(entry, "id", id);
        expect(entry, "object_bytes", info.object_bytes);
        expect(entry, "objects", s->objects);
        expect(entry, "slots", s->slots);
        expect(entry, "blocks", s->blocks);
        expect(entry, "active_blocks", s->active_blocks);
        expect(entry, "capacity", info.is_abstract ? 0 : cl_fixture_capacity(t.heap, info.name));
        expect_share(entry, "fragmentation", s->fragmentation);
    }
    uint64_t raw_blocks = 0, raw_bytes = 0;
    for (; entry; entry = entry->next) {
        assert_true(cJSON_IsTrue(cJSON_GetObjectItem(entry, "raw")));
        raw_blocks += (uint64_t)number(entry, "blocks");
        raw_bytes += (uint64_t)(number(entry, "objects") * number(entry, "object_bytes"));
    }
    assert_int_equal(raw_blocks, stats.raw_blocks);
    assert_int_equal(raw_bytes, stats.raw_bytes);
    assert_int_equal(raw_blocks != 0, raw_bytes != 0);
}

/* ---- Tests ----------------------------------------------------------------------------------- */

static void test_empty(void **state) {
    (void)state;
    open_heap(NULL, 0);
    take();
    compare_stats();
    compare_blocks();
    assert_null(cJSON_GetObjectItem(t.dump, "live"));
    close_heap();
}

static void test_filled(void **state) {
    (void)state;
    open_heap(NULL, 0);
    fill(20000);
    take();
    compare_stats();
    compare_blocks();
    CHECK_OK(&t.on, clump_heap_compact(t.heap, NULL, NULL, NULL)); /* now there are full blocks */
    take();
    compare_stats();
    compare_blocks();
    fill(30000);
    take();
    compare_stats();
    compare_blocks();
    close_heap();
}

static void test_raw(void **state) {
    (void)state;
    open_heap(NULL, 1);
    fill(9000);
    fill_raw();
    take();
    compare_stats();
    compare_blocks();
    assert_true(number(t.dump, "raw_bytes") > RAW_ITEMS * 100);
    close_heap();
}

static void same_text(const cJSON *entry, const char *name, const char *expected) {
    const cJSON *item = cJSON_GetObjectItem(entry, name);
    if (expected)
        assert_string_equal(cJSON_GetStringValue(item), expected);
    else
        assert_true(cJSON_IsNull(item));
}

/* Objects of a checked heap, by the place where they were made; "other" makes them outside of a
 * do-new. */
static void test_live(void **state) {
    (void)state;
    static const char other[] =
        "__kernel void other(CLUMP_HEAP) {\n"
        "    if (get_global_id(0) < 5) Rare_new();\n"
        "    else Star_new();\n"
        "}\n";
    clump_live live[8];
    uint64_t count = 0;
    open_heap(&(clump_checked_desc){.size = sizeof(clump_checked_desc)}, 0);
    fill(3000);
    clump_program *p = cl_fixture_program(&t.on, t.heap, other, NULL, NULL);
    clump_kernel *k = cl_fixture_kernel(&t.on, p, "other");
    CHECK_OK(&t.on, clump_heap_launch(t.heap, k, 64, 1, NULL));
    take();
    compare_stats();
    compare_blocks();
    CHECK_OK(&t.on, clump_heap_read_live(t.heap, live, 8, &count));
    assert_int_equal(count, 4);
    const cJSON *list = cJSON_GetObjectItem(t.dump, "live"), *entry = list->child;
    assert_int_equal(cJSON_GetArraySize(list), count);
    for (uint32_t i = 0; i < count; i++, entry = entry->next) {
        same_text(entry, "class", live[i].class_name);
        same_text(entry, "kernel", live[i].place.kernel);
        same_text(entry, "program", live[i].place.program);
        expect(entry, "line", live[i].place.line);
        expect(entry, "objects", live[i].objects);
    }
    clump_kernel_destroy(k);
    clump_program_destroy(p);
    close_heap();
}

/* States that cannot be are counted, shown as null, and counted nowhere else. */
static void test_damaged(void **state) {
    (void)state;
    static const clumpi_u32 wrong[3] = {0xfe000000u, 1u << 24 | 0x7ffff, 1};
    clumpi_u32 right[3];
    open_heap(NULL, 0);
    fill(5000);
    take();
    double objects = number(t.dump, "objects");
    const clumpi_header *h = &t.heap->geometry.header;
    uint64_t at = (uint64_t)h->at_states * CLUMPI_UNIT + (h->block_end - 3) * sizeof *wrong;
    CHECK_OK(&t.on, clumpi_read(t.on.clump, t.heap->info.buffer, at, sizeof right, right));
    assert_true(!right[0] && !right[1] && !right[2]); /* free blocks */
    CHECK_OK(&t.on, clumpi_write(t.on.clump, t.heap->info.buffer, at, sizeof wrong, wrong));
    take();
    expect(t.dump, "damaged_blocks", 3);
    assert_true(number(t.dump, "objects") == objects);
    const cJSON *class_of = cJSON_GetObjectItem(t.dump, "block_class"),
                *used_of = cJSON_GetObjectItem(t.dump, "block_used");
    for (int i = cJSON_GetArraySize(class_of) - 3; i < cJSON_GetArraySize(class_of); i++) {
        assert_true(cJSON_IsNull(cJSON_GetArrayItem(class_of, i)));
        assert_int_equal(cJSON_GetArrayItem(used_of, i)->valueint, 0);
    }
    CHECK_OK(&t.on, clumpi_write(t.on.clump, t.heap->info.buffer, at, sizeof right, right));
    close_heap();
}

/* ---- What clump-inspect reads ---------------------------------------------------------------- */

static void write_text(const char *folder, const char *name) {
    char path[1024];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    take();
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    assert_int_equal(fputs(t.text, file) >= 0, 1);
    assert_int_equal(fclose(file), 0);
}

/* A heap that was filled, compacted, and filled again; a checked one; one with raw memory; a saved
 * one. */
static void write_files(const char *folder) {
    char path[1024];
    open_heap(NULL, 0);
    fill(20000);
    write_text(folder, "filled.json");
    CHECK_OK(&t.on, clump_heap_compact(t.heap, NULL, NULL, NULL));
    write_text(folder, "compacted.json");
    fill(40000);
    write_text(folder, "again.json");
    snprintf(path, sizeof path, "%s/saved.clump", folder);
    CHECK_OK(&t.on,
             clump_heap_save(
                 t.heap, &(clump_save_desc){.size = sizeof(clump_save_desc), .path = path}, NULL));
    close_heap();
    open_heap(&(clump_checked_desc){.size = sizeof(clump_checked_desc)}, 0);
    fill(3000);
    write_text(folder, "checked.json");
    close_heap();
    open_heap(NULL, 1);
    fill_raw();
    write_text(folder, "raw.json");
    close_heap();
}

int main(int argc, char **argv) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_empty), cmocka_unit_test(test_filled),  cmocka_unit_test(test_raw),
        cmocka_unit_test(test_live),  cmocka_unit_test(test_damaged),
    };
    int result = cl_fixture_open(&t.on, NULL);
    if (result) return result;
    if (argc > 1)
        write_files(argv[1]);
    else
        result = cmocka_run_group_tests(tests, NULL, NULL);
    cl_fixture_close(&t.on);
    return result;
}
