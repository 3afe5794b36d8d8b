/* The vector of cl/api/vector.clh against arrays on the host.
 *
 * Work-items append numbers, and references to objects, to a few vectors at once, some of which
 * have room and some of which grow meanwhile, or get it from a reserve in the same launch. Each
 * number must lie at the index that its append returned, and the indices of a launch must be the
 * next ones, each once. Between launches the heap is compacted and collected, and vectors are
 * trimmed and cleared. Raw memory in use must be that of the pages.
 *
 *   diff_vector                what CTest runs
 *   diff_vector ROUNDS [SEED]  longer, and other numbers
 *
 * Read first: cl/api/vector.clh, cl_fixture.h.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench/papers/merge/merge.h"
#include "cl_fixture.h"

static cl_fixture fixture, *const f = &fixture;
static uint32_t rounds = 1, first_seed; /* of the command line */
static const int is_short = 0;          /* all of it on each device */

enum {
    VECTORS = 3,
    LENGTH_MAX = 1 << 17,
    ITEMS = 512, /* work-items of a launch */
    EACH = 4,    /* appends of each */
    NO_ROOM = 0xffffffff,
    TRIES = 64, /* launches in which all appends find room */
    PAGE_0_LEAST = 16
};

static const char schema[] =
    "class Trail { uint first; uint filling; uint growing; ref Page pages[28]; uint tag; }\n"
    "class Page { uint items[*]; }\n"
    "class Names { uint tag; uint first; uint filling; uint growing; ref Sheet pages[28]; }\n"
    "class Sheet { uint tag; ref Item items[*]; }\n"
    "class Item { uint number; }\n";

static const char source[] =
    "CLUMP_VECTOR_DEFINE(Trail, Page, uint);\n"
    "CLUMP_VECTOR_DEFINE(Names, Sheet, Item);\n"
    "__kernel void make_trails(CLUMP_HEAP, __global Trail *trails) {\n"
    "    CLUMP_FOR_EACH_NEW(Trail, self, i) trails[i] = self;\n"
    "}\n"
    "__kernel void make_names(CLUMP_HEAP, __global Names *names) {\n"
    "    CLUMP_FOR_EACH_NEW(Names, self, i) names[i] = self;\n"
    "}\n"
    /* One work-item. what: as MAKE, RESERVE and so on. */
    "__kernel void upkeep(CLUMP_HEAP, __global const Trail *trails, __global const Names *names, "
    "uint "
    "v, "
    "uint what, uint n, __global uint *out) {\n"
    "    if (get_global_id(0)) return;\n"
    "    uint status = CLUMP_DONE;\n"
    "    Trail t = v < VECTORS ? trails[v] : Trail_null;\n"
    "    if (what == 0) status = CLUMP_VECTOR_MAKE(Trail, t, n);\n"
    "    if (what == 1) status = CLUMP_VECTOR_RESERVE(Trail, t, n);\n"
    "    if (what == 2) CLUMP_VECTOR_CLEAR(Trail, t);\n"
    "    if (what == 3) CLUMP_VECTOR_TRIM(Trail, t);\n"
    "    if (what == 4) status = CLUMP_VECTOR_MAKE(Names, names[v], n);\n"
    "    if (what == 5) status = CLUMP_VECTOR_RESERVE(Names, names[v], n);\n"
    "    if (what == 6) CLUMP_VECTOR_CLEAR(Names, names[v]);\n"
    "    if (what == 7) CLUMP_VECTOR_TRIM(Names, names[v]);\n"
    "    out[0] = status;\n"
    "}\n"
    /* Where out is not NO_ROOM, it was appended before. Number `at` is appended to the trail that
     * to[at] says. A work-item reserves room in the trail `reserved` meanwhile. */
    "__kernel void append(CLUMP_HEAP, __global const Trail *trails, __global const uint *to, "
    "__global "
    "uint *out, uint base, uint each, uint reserved, uint room) {\n"
    "    uint me = (uint)get_global_id(0);\n"
    "    if (room && me == 5) CLUMP_VECTOR_RESERVE(Trail, trails[reserved], room);\n"
    "    for (uint j = 0; j < each; j++) {\n"
    "        uint at = me * each + j;\n"
    "        Trail t = to[at] < VECTORS ? trails[to[at]] : Trail_null;\n"
    "        if (out[at] == CLUMP_NO_ROOM) out[at] = CLUMP_VECTOR_APPEND(Trail, t, base + at);\n"
    "    }\n"
    "}\n"
    "__kernel void name_items(CLUMP_HEAP, __global const Names *names, uint base, __global uint "
    "*out) {\n"
    "    CLUMP_FOR_EACH_NEW(Item, self, i) {\n"
    "        Item_number(self) = base + i;\n"
    "        out[i] = CLUMP_VECTOR_APPEND(Names, names[0], self);\n"
    "    }\n"
    "}\n"
    /* out: length, then elements. */
    "__kernel void look(CLUMP_HEAP_NO_ALLOC, __global const Trail *trails, __global const Names "
    "*names, "
    "uint "
    "v, uint is_name, __global uint *out) {\n"
    "    Trail t = v < VECTORS ? trails[v] : Trail_null;\n"
    "    uint me = (uint)get_global_id(0), n = is_name ? CLUMP_VECTOR_LENGTH(Names, names[v])\n"
    "                                                  : CLUMP_VECTOR_LENGTH(Trail, t);\n"
    "    if (!me) out[0] = n;\n"
    "    for (uint i = me; i < n; i += (uint)get_global_size(0))\n"
    "        out[i + 1] = is_name ? Item_number(CLUMP_VECTOR_AT(Names, names[v], i))\n"
    "                             : CLUMP_VECTOR_AT(Trail, trails[v], i);\n"
    "}\n";

enum { MAKE_TRAILS, MAKE_NAMES, UPKEEP, APPEND, NAME_ITEMS, LOOK, KERNELS };
static const char *const kernel_names[KERNELS] = {"make_trails", "make_names", "upkeep",
                                                  "append",      "name_items", "look"};
enum { MAKE, RESERVE, CLEAR, TRIM, OF_NAMES };
enum { DONE, NO_MEMORY = 2, FULL, MISUSED }; /* CLUMP_... */

typedef struct world {
    clump_heap *heap;
    clump_program *program;
    clump_kernel *kernels[KERNELS];
    clump_refs *refs[2];
    cl_mem trails, names, to, out, found;
    uint32_t next;                           /* number to append */
    uint32_t length[VECTORS], page[VECTORS]; /* page: elements of page 0 */
    uint32_t element[VECTORS][LENGTH_MAX];
    uint32_t name_count, name[LENGTH_MAX];
} world;

static void open_world(world *w, uint64_t bytes, int checked) {
    memset(w, 0, sizeof *w);
    w->heap = cl_fixture_heap(f, schema, bytes, 1);
    w->program = cl_fixture_program(f, w->heap, source, "-DVECTORS=3u",
                                    &(cl_fixture_build){.checked = checked});
    w->next = 1;
    for (int k = 0; k < KERNELS; k++)
        w->kernels[k] = cl_fixture_kernel(f, w->program, kernel_names[k]);
    w->trails = cl_fixture_buffer(f, NULL, VECTORS * sizeof(clump_ref));
    w->names = cl_fixture_buffer(f, NULL, sizeof(clump_ref));
    w->to = cl_fixture_buffer(f, NULL, ITEMS * EACH * sizeof(uint32_t));
    w->out = cl_fixture_buffer(f, NULL, LENGTH_MAX * sizeof(uint32_t));
    w->found = cl_fixture_buffer(f, NULL, (LENGTH_MAX + 1) * sizeof(uint32_t));
    const cl_mem held[] = {w->trails, w->names};
    for (uint32_t i = 0; i < 2; i++) {
        const clump_refs_desc refs = {.size = sizeof refs,
                                      .buffer = held[i],
                                      .count = i ? 1 : VECTORS,
                                      .stride = sizeof(clump_ref)};
        CHECK_OK(f, clump_refs_create(w->heap, &refs, &w->refs[i], NULL));
        SET_ARG(f, w->kernels[MAKE_TRAILS + i], 0, held[i]);
        CHECK_OK(f, clump_heap_do_new(w->heap, w->kernels[MAKE_TRAILS + i], i ? "Names" : "Trail",
                                      i ? 1 : VECTORS, NULL, NULL));
    }
}

static void close_world(world *w) {
    const cl_mem buffers[] = {w->trails, w->names, w->to, w->out, w->found};
    for (int i = 0; i < 2; i++) clump_refs_destroy(w->refs[i]);
    for (int k = 0; k < KERNELS; k++) clump_kernel_destroy(w->kernels[k]);
    clump_program_destroy(w->program);
    clump_heap_destroy(w->heap);
    for (size_t i = 0; i < sizeof buffers / sizeof *buffers; i++) clReleaseMemObject(buffers[i]);
}

/* ---- What one work-item does ----------------------------------------------------------------- */

static uint32_t upkeep(world *w, uint32_t v, uint32_t what, uint32_t n) {
    clump_kernel *k = w->kernels[UPKEEP];
    uint32_t out = 7;
    SET_ARG(f, k, 0, w->trails);
    SET_ARG(f, k, 1, w->names);
    SET_ARG(f, k, 2, v);
    SET_ARG(f, k, 3, what);
    SET_ARG(f, k, 4, n);
    SET_ARG(f, k, 5, w->out);
    CHECK_OK(f, clump_heap_launch(w->heap, k, 64, 64, NULL));
    cl_fixture_read(f, w->out, &out, sizeof out);
    return out;
}

static void make(world *w, uint32_t v, uint32_t n) {
    assert_int_equal(upkeep(w, v, MAKE, n), DONE);
    for (w->page[v] = PAGE_0_LEAST; w->page[v] < n;) w->page[v] *= 2;
    w->length[v] = 0;
}

/* ---- What is in them ------------------------------------------------------------------------- */

static void check_elements(world *w, uint32_t v, int is_name, const uint32_t *expected,
                           uint32_t length) {
    static uint32_t found[LENGTH_MAX + 1];
    clump_kernel *k = w->kernels[LOOK];
    const uint32_t kind = is_name != 0;
    SET_ARG(f, k, 0, w->trails);
    SET_ARG(f, k, 1, w->names);
    SET_ARG(f, k, 2, v);
    SET_ARG(f, k, 3, kind);
    SET_ARG(f, k, 4, w->found);
    CHECK_OK(f, clump_heap_launch(w->heap, k, 256, 64, NULL));
    cl_fixture_read(f, w->found, found, (length + 1) * sizeof *found);
    assert_int_equal(found[0], length);
    for (uint32_t i = 0; i < length; i++)
        if (found[i + 1] != expected[i])
            fail_msg("element %u of %s %u is %u, and not %u", i, kind ? "names" : "trail", v,
                     found[i + 1], expected[i]);
}

static void check_all(world *w) {
    CHECK_HEAP(f, w->heap);
    for (uint32_t v = 0; v < VECTORS; v++) check_elements(w, v, 0, w->element[v], w->length[v]);
    check_elements(w, 0, 1, w->name, w->name_count);
}

/* Pages that there are, and no more raw memory than theirs. */
static uint64_t count_pages(world *w) {
    uint64_t pages, sheets, bytes = cl_fixture_raw_bytes(f, w->heap), room = 0;
    static uint32_t capacity[2 * 28 * VECTORS];
    CHECK_OK(f, clump_heap_read_field(w->heap, "Page", "items_capacity", 0, sizeof *capacity,
                                      capacity, sizeof capacity / sizeof *capacity, &pages));
    for (uint64_t i = 0; i < pages; i++) room += 4ull * capacity[i];
    CHECK_OK(f, clump_heap_read_field(w->heap, "Sheet", "items_capacity", 0, sizeof *capacity,
                                      capacity, sizeof capacity / sizeof *capacity, &sheets));
    for (uint64_t i = 0; i < sheets; i++) room += 4ull * capacity[i];
    assert_int_equal(bytes, room);
    return pages;
}

/* ---- Many append ----------------------------------------------------------------------------- */

/* Indices that a launch gave: those from the length on, each once. */
static void take_in(world *w, const uint32_t *to, const uint32_t *before, const uint32_t *out,
                    uint32_t count, uint32_t base) {
    static uint8_t seen[VECTORS][LENGTH_MAX];
    uint32_t given[VECTORS] = {0};
    for (uint32_t i = 0; i < count; i++) given[to[i]] += before[i] == NO_ROOM && out[i] != NO_ROOM;
    for (uint32_t i = 0; i < count; i++) {
        const uint32_t v = to[i], at = out[i];
        if (before[i] != NO_ROOM || at == NO_ROOM) continue;
        if (at < w->length[v] || at - w->length[v] >= given[v])
            fail_msg("index %u of trail %u, which had %u elements and got %u", at, v, w->length[v],
                     given[v]);
        assert_in_range(at, 0, LENGTH_MAX - 1);
        if (seen[v][at]++) fail_msg("index %u of trail %u was given twice", at, v);
        w->element[v][at] = base + i;
    }
    for (uint32_t v = 0; v < VECTORS; v++) {
        memset(seen[v], 0, sizeof seen[v]);
        w->length[v] += given[v];
    }
}

typedef struct appending {
    uint32_t items, each; /* work-items, and appends of each */
    uint32_t reserved, room;
} appending;

/* Returns how many found no room. `out` as for the kernel. */
static uint32_t append(world *w, const appending *a, const uint32_t *to, uint32_t *out) {
    static uint32_t before[ITEMS * EACH];
    clump_kernel *k = w->kernels[APPEND];
    const uint32_t count = a->items * a->each, base = w->next;
    uint32_t refused = 0;
    memcpy(before, out, count * sizeof *out);
    cl_fixture_write(f, w->to, to, count * sizeof *to);
    cl_fixture_write(f, w->out, out, count * sizeof *out);
    SET_ARG(f, k, 0, w->trails);
    SET_ARG(f, k, 1, w->to);
    SET_ARG(f, k, 2, w->out);
    SET_ARG(f, k, 3, base);
    SET_ARG(f, k, 4, a->each);
    SET_ARG(f, k, 5, a->reserved);
    SET_ARG(f, k, 6, a->room);
    CHECK_OK(f, clump_heap_launch(w->heap, k, a->items, a->items < 64 ? a->items : 64, NULL));
    cl_fixture_read(f, w->out, out, count * sizeof *out);
    take_in(w, to, before, out, count, base);
    w->next += count;
    for (uint32_t i = 0; i < count; i++) refused += out[i] == NO_ROOM;
    return refused;
}

/* Again and again, until all are in. */
static void append_all(world *w, const appending *a, uint32_t seed, uint32_t vectors) {
    uint32_t to[ITEMS * EACH], out[ITEMS * EACH], tries = 0;
    for (uint32_t i = 0; i < ITEMS * EACH; i++) {
        to[i] = test_hash(seed + i) % vectors;
        out[i] = NO_ROOM;
    }
    while (append(w, a, to, out)) {
        CHECK_OK(f, clump_heap_take_errors(w->heap, NULL));
        assert_in_range(++tries, 1, TRIES);
    }
}

/* New items, each with its name. */
static void name_items(world *w, uint32_t count) {
    static uint32_t out[LENGTH_MAX];
    static uint8_t seen[LENGTH_MAX];
    uint64_t made;
    assert_int_equal(upkeep(w, 0, OF_NAMES + RESERVE, w->name_count + count), DONE);
    SET_ARG(f, w->kernels[NAME_ITEMS], 0, w->names);
    SET_ARG(f, w->kernels[NAME_ITEMS], 1, w->next);
    SET_ARG(f, w->kernels[NAME_ITEMS], 2, w->out);
    CHECK_OK(f, clump_heap_do_new(w->heap, w->kernels[NAME_ITEMS], "Item", count, &made, NULL));
    assert_int_equal(made, count);
    cl_fixture_read(f, w->out, out, count * sizeof *out);
    memset(seen, 0, sizeof seen);
    for (uint32_t i = 0; i < count; i++) { /* there was room for all */
        assert_in_range(out[i], w->name_count, w->name_count + count - 1);
        assert_int_equal(seen[out[i]]++, 0);
        w->name[out[i]] = w->next + i;
    }
    w->name_count += count;
    w->next += count;
}

static void compact_and_collect(world *w, uint32_t n) {
    const bench_merge merge = {.factor = 1};
    clump_collect_report report = {.size = sizeof report};
    uint64_t items;
    CHECK_OK(f, bench_merge_compact(w->heap, NULL, n % 2 ? &merge : NULL, NULL, NULL));
    check_all(w);
    CHECK_OK(f, clump_heap_collect(w->heap, NULL, &report, NULL));
    CHECK_OK(f, clump_heap_read_count(w->heap, "Item", &items));
    assert_int_equal(items, w->name_count);
    check_all(w);
    count_pages(w);
}

/* ---- Tests ----------------------------------------------------------------------------------- */

static uint32_t least_pages(const world *w, uint32_t v) {
    uint32_t pages = 1;
    while (w->page[v] * ((1u << pages) - 1) < w->length[v]) pages++;
    return pages;
}

static void trim_and_clear(world *w, uint32_t n) {
    uint64_t pages = 0;
    for (uint32_t v = 0; v < VECTORS; v++) {
        assert_int_equal(upkeep(w, v, TRIM, 0), DONE);
        pages += least_pages(w, v);
    }
    assert_int_equal(count_pages(w), pages);
    check_all(w);
    pages -= least_pages(w, n % VECTORS) - 1;
    assert_int_equal(upkeep(w, n % VECTORS, CLEAR, 0), DONE);
    w->length[n % VECTORS] = 0;
    assert_int_equal(count_pages(w), pages);
    if (n % 3 == 1) {
        assert_int_equal(upkeep(w, 0, OF_NAMES + CLEAR, 0), DONE);
        w->name_count = 0;
    }
    check_all(w);
}

static void run_world(int checked) {
    static world w;
    open_world(&w, 32 << 20, checked);
    for (uint32_t v = 0; v < VECTORS; v++) make(&w, v, v * 300);
    assert_int_equal(upkeep(&w, 0, OF_NAMES + MAKE, 5), DONE);
    check_all(&w);
    for (uint32_t n = 0; n < 4 * rounds; n++) {
        const uint32_t seed = test_hash(first_seed + 10 * n);
        append_all(&w, &(appending){ITEMS, EACH, n % VECTORS, n % 2 ? 3000 * (n + 1) : 0}, seed,
                   VECTORS);
        check_all(&w);
        append_all(&w, &(appending){64, EACH, 0, 0}, seed + 1, 1); /* all to one */
        name_items(&w, 700);
        check_all(&w);
        compact_and_collect(&w, n);
        if (n % 2) trim_and_clear(&w, n);
    }
    close_world(&w);
}

static void test_many(void **state) {
    run_world(0);
}
static void test_checked(void **state) {
    run_world(1);
}

/* Work-items append to a trail that has room for all, and nobody makes a page ahead. */
static void fill_reserved(world *w, uint32_t v) {
    uint32_t to[ITEMS * EACH], out[ITEMS * EACH];
    for (uint32_t i = 0; i < ITEMS * EACH; i++) to[i] = v;
    assert_int_equal(upkeep(w, v, RESERVE, 4000), DONE);
    const uint64_t pages = count_pages(w);
    for (uint32_t n = 0; n < 2; n++) { /* 3,840: well into the second half of the last page */
        memset(out, 0xff, sizeof out);
        assert_int_equal(append(w, &(appending){n ? ITEMS - 64 : ITEMS, EACH, 0, 0}, to, out), 0);
    }
    assert_int_equal(count_pages(w), pages);
}

/* One work-item never finds that others have not caught up; and with room for all, nobody does. */
static void test_room(void **state) {
    static world w;
    uint32_t to[ITEMS * EACH] = {0}, out[ITEMS * EACH];
    open_world(&w, 16 << 20, 0);
    for (uint32_t v = 0; v < VECTORS; v++) make(&w, v, 0);
    assert_int_equal(upkeep(&w, 0, OF_NAMES + MAKE, 0), DONE);
    for (uint32_t n = 0; n < 3; n++) {
        memset(out, 0xff, sizeof out);
        assert_int_equal(append(&w, &(appending){1, ITEMS * EACH, 0, 0}, to, out), 0);
    }
    for (uint32_t i = 0; i < ITEMS * EACH; i++) to[i] = 1;
    for (uint32_t n = 0; n < 3; n++) {
        assert_int_equal(upkeep(&w, 1, RESERVE, ITEMS * EACH * (n + 1)), DONE);
        memset(out, 0xff, sizeof out);
        assert_int_equal(append(&w, &(appending){ITEMS, EACH, 0, 0}, to, out), 0);
    }
    fill_reserved(&w, 2);
    check_all(&w);
    assert_int_equal(w.length[0], 3 * ITEMS * EACH);
    close_world(&w);
}

/* No vector has no elements and no room, and a first page that cannot be is refused and
 * reported. */
static void check_refused(world *w) {
    enum { NOBODY = VECTORS };
    uint32_t out[4] = {NO_ROOM, NO_ROOM, NO_ROOM, NO_ROOM};
    assert_int_equal(upkeep(w, NOBODY, MAKE, 10), MISUSED);
    assert_int_equal(upkeep(w, NOBODY, RESERVE, 10), MISUSED);
    assert_int_equal(upkeep(w, NOBODY, CLEAR, 0), DONE);
    assert_int_equal(upkeep(w, NOBODY, TRIM, 0), DONE);
    check_elements(w, NOBODY, 0, NULL, 0);
    const uint32_t nobody[] = {NOBODY, NOBODY, NOBODY, NOBODY}, items = 4, each = 1, none = 0;
    clump_kernel *k = w->kernels[APPEND];
    cl_fixture_write(f, w->to, nobody, sizeof nobody);
    cl_fixture_write(f, w->out, out, sizeof out);
    SET_ARG(f, k, 0, w->trails);
    SET_ARG(f, k, 1, w->to);
    SET_ARG(f, k, 2, w->out);
    SET_ARG(f, k, 3, none);
    SET_ARG(f, k, 4, each);
    SET_ARG(f, k, 5, none);
    SET_ARG(f, k, 6, none);
    CHECK_OK(f, clump_heap_launch(w->heap, k, items, items, NULL));
    cl_fixture_read(f, w->out, out, sizeof out);
    for (uint32_t i = 0; i < items; i++) assert_int_equal(out[i], NO_ROOM);
    CHECK_HEAP(f, w->heap);
    assert_int_equal(upkeep(w, 0, MAKE, 1u << 30), FULL);
    cl_fixture_expect_error(f, w->heap, CLUMP_DEVICE_BAD_SIZE, UINT32_MAX, NULL);
    assert_int_equal(count_pages(w), 0);
}

/* Memory ends: the heap reports it, indices have no gap, and there is more when others gave some
 * back. */
static void test_no_memory(void **state) {
    static world w;
    uint32_t to[ITEMS * EACH], out[ITEMS * EACH], refused = 0, launches = 0, reported = 0;
    clump_device_report report = {.size = sizeof report};
    open_world(&w, cl_fixture_small_heap_bytes(f->clump) + (768 << 10), 0);
    check_refused(&w);
    for (uint32_t v = 0; v < VECTORS; v++) make(&w, v, v == 2 ? 4096 : 0);
    assert_int_equal(upkeep(&w, 0, OF_NAMES + MAKE, 0), DONE);
    for (uint32_t i = 0; i < ITEMS * EACH; i++) to[i] = i % 2;
    /* A page that is made ahead may be refused before an append is. */
    for (; launches < 4 * TRIES && !(refused && reported); launches++) {
        memset(out, 0xff, sizeof out);
        refused = append(&w, &(appending){ITEMS, EACH, 0, 0}, to, out);
        reported += clump_heap_take_errors(w.heap, &report) == CLUMP_ERR_DEVICE;
    }
    assert_true(refused > 0);
    assert_true(reported > 0);
    check_all(&w);
    assert_int_equal(upkeep(&w, 0, RESERVE, 0xffffffff), NO_MEMORY);
    assert_int_equal(clump_heap_take_errors(w.heap, NULL), CLUMP_ERR_DEVICE);
    /* What one gives back another gets. */
    assert_int_equal(upkeep(&w, 1, CLEAR, 0), DONE);
    w.length[1] = 0;
    for (uint32_t i = 0; i < ITEMS * EACH; i++) to[i] = 1;
    memset(out, 0xff, sizeof out);
    refused = append(&w, &(appending){1, 400, 0, 0}, to, out);
    CHECK_OK(f, clump_heap_take_errors(w.heap, NULL));
    assert_int_equal(refused, 0);
    check_all(&w);
    close_world(&w);
}

/* Other types than those of the fields, and too few pages, do not build. */
static void test_types(void **state) {
    (void)state;
    static const char words[] = "uint first; uint filling; uint growing;",
                      pages[] = "ref Page pages[28];";
    static const struct {
        const char *words, *pages, *items, *type, *message;
    } cases[] = {
        {words, pages, "uint", "float", "type_needed_for_Page_items"},
        {words, pages, "float", "uint", "type_needed_for_Page_items"},
        {words, pages, "uint", "int", "type_needed_for_Page_items"},
        {words, pages, "ulong", "uint", "type_needed_for_Page_items"},
        {words, pages, "ref Page", "Trail", "type_needed_for_Page_items"},
        {words, pages, "uint", "unsigned", NULL},
        {words, "ref Page pages[30];", "ref Trail", "Trail", NULL},
        {words, "ref Page pages[16];", "uint", "uint", "Trail_pages_has_too_few_elements"},
        {words, "ref Page pages[*];", "uint", "uint", "Trail_pages_has_too_few_elements"},
        {words, "ref Trail pages[28];", "uint", "uint", "type_needed_for_Trail_pages"},
        {"ulong first; uint filling; uint growing;", pages, "uint", "uint",
         "type_needed_for_Trail_first"},
        {"uint first; ushort filling; uint growing;", pages, "uint", "uint",
         "type_needed_for_Trail_filling"},
        {"uint first; uint filling; uchar growing;", pages, "uint", "uint",
         "type_needed_for_Trail_growing"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char schema_of[200], text[100];
        snprintf(schema_of, sizeof schema_of, "class Trail { %s %s } class Page { %s items[*]; }",
                 cases[i].words, cases[i].pages, cases[i].items);
        snprintf(text, sizeof text, "CLUMP_VECTOR_DEFINE(Trail, Page, %s);\n", cases[i].type);
        cl_fixture_expect_build(f, schema_of, text, NULL, cases[i].message);
    }
}

static int run_with(const char *name, uint32_t disable) {
    int status = cl_fixture_open(f, &(cl_fixture_desc){.disable = disable});
    if (status) return status;
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_many), cmocka_unit_test(test_checked), cmocka_unit_test(test_room),
        cmocka_unit_test(test_no_memory), cmocka_unit_test(test_types)};
    status = cmocka_run_group_tests_name(name, tests, NULL, NULL);
    cl_fixture_close(f);
    return status;
}

int main(int argc, char **argv) {
    return cl_fixture_run_rounds(argc, argv, &rounds, &first_seed, run_with, &is_short);
}
