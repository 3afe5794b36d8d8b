/* The hash map of cl/api/map.clh against a model on the host, with keys of 32 and 64 bits.
 *
 * Work-items put keys in, take them out and look for them, several times each in one launch. Some
 * keys are of one work-item alone: then its calls give exactly what they would give alone. The
 * others are shared. Each value is put in once, so it is there for one stretch of time, and these
 * follow from the results, whatever the order was: a value is taken out by one work-item at most,
 * at the end a key has at most one value that was not taken out, only values that were put in are
 * seen, and a work-item that has seen the key without a value does not see that value again. A key
 * that is not found must have been absent at some moment.
 *
 * Values are references to objects that only the map keeps. Between launches erased keys are freed,
 * there are more lists, objects are compacted, and those that the map does not lead to are
 * collected. A map that is never tidied takes erased Words again: it has as many as one launch
 * needs, and is never full.
 *
 *   diff_map                what CTest runs
 *   diff_map ROUNDS [SEED]  longer, and other operations
 *
 * Read first: cl/api/map.clh, cl_fixture.h.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench/papers/merge/merge.h"
#include "cl_fixture.h"

static cl_fixture fixture, *const f = &fixture;
static uint32_t rounds = 1, first_seed; /* of the command line */
static int is_short;                    /* the kernels for GPUs, on a CPU */

/* Keys have numbers: the shared ones first, then those of each work-item. */
enum {
    ITEMS = 2048,
    OPERATIONS = 8,
    SHARED = 24,
    OWN = 2,
    KEYS = SHARED + ITEMS * OWN,
    VALUES = ITEMS * OPERATIONS, /* of a launch */
    LISTS = 32,
    LISTS_MAX = 600,
    WORDS_MAX = 1 << 16,
    LIST = 1024 /* CLUMP_MAP_LIST */
};
enum { DONE, THERE, NO_MEMORY, FULL }; /* CLUMP_... */
enum { FIND, ERASE, INSERT };

static const char schema_format[] =
    "class Words { ref Word heads[*]; }\n"
    "class Word { %s key; ref Item value; ref Word next; uint erased; }\n"
    "class Item { uint number; }\n";

static const char source[] =
    "CLUMP_MAP_DEFINE(Words, Word, key_type, Item);\n"
    "uint mix32(uint x) {\n"
    "    x ^= x >> 16; x *= 0x85ebca6bu; x ^= x >> 13; x *= 0xc2b2ae35u; return x ^ (x >> 16);\n"
    "}\n"
    /* Four keys of 64 bits have the same lower half. */
    "key_type key_of(uint number) {\n"
    "#if WIDE\n"
    "    return (ulong)mix32(number + 1u) << 32 | number / 4u;\n"
    "#else\n"
    "    return mix32(number + 1u);\n"
    "#endif\n"
    "}\n"
    "uint number_in(CLUMP_HEAP_NO_ALLOC, Word w) {\n"
    "    return Word_is_null(w) ? 0u : Item_number(Word_value(w));\n"
    "}\n"
    "__kernel void make_map(CLUMP_HEAP, __global Words *map) {\n"
    "    CLUMP_FOR_EACH_NEW(Words, self, i) map[i] = self;\n"
    "}\n"
    "__kernel void resize(CLUMP_HEAP, __global const Words *map, uint lists, __global uint *out) "
    "{\n"
    "    if (get_global_id(0) == 0) out[0] = Words_heads_resize(map[0], lists) == CLUMP_DONE;\n"
    "}\n"
    "__kernel void tidy(CLUMP_HEAP, __global const Words *map, uint before, __global uint *out) {\n"
    "    if (CLUMP_MAP_TIDY(Words, map[0], before) != CLUMP_DONE) out[0] = 0;\n"
    "}\n"
    "#if MANY\n"
    "__kernel void make_items(CLUMP_HEAP, __global Item *items, uint first) {\n"
    "    CLUMP_FOR_EACH_NEW(Item, self, i) { Item_number(self) = first + i; items[i] = self; }\n"
    "}\n"
    /* log: result and value of each operation. */
    "__kernel void work(CLUMP_HEAP, __global const Words *map, __global const Item *items, "
    "__global "
    "uint2 *log, uint seed, uint hot) {\n"
    "    uint me = (uint)get_global_id(0);\n"
    "    for (uint j = 0; j < OPERATIONS; j++) {\n"
    "        uint at = me * OPERATIONS + j, r = mix32(seed + at), what = r % 8u;\n"
    "        uint number = r >> 8 & 1u ? (r >> 9) % SHARED : SHARED + me * OWN + (r >> 9) % OWN;\n"
    "        if (hot) number = (r >> 9) % hot;\n"
    "        key_type key = key_of(number);\n"
    "        Word w = Word_null;\n"
    "        uint result = 0;\n"
    "        if (what < 3u) result = CLUMP_MAP_INSERT(Words, map[0], key, items[at], &w);\n"
    "        else if (what < 6u) w = CLUMP_MAP_ERASE(Words, map[0], key);\n"
    "        else w = CLUMP_MAP_FIND(Words, map[0], key);\n"
    "        log[at] = (uint2)(result, number_in(clump_heap, w));\n"
    "    }\n"
    "}\n"
    "__kernel void look(CLUMP_HEAP_NO_ALLOC, __global const Words *map, __global uint *values) {\n"
    "    for (uint n = (uint)get_global_id(0); n < KEYS; n += (uint)get_global_size(0))\n"
    "        values[n] = number_in(clump_heap, CLUMP_MAP_FIND(Words, map[0], key_of(n)));\n"
    "}\n"
    "#else\n"
    /* Each work-item puts in a key of its own, from `first` on. */
    "__kernel void put(CLUMP_HEAP, __global const Words *map, __global uint2 *log, uint first) {\n"
    "    uint me = (uint)get_global_id(0);\n"
    "    Word w;\n"
    "    uint result = CLUMP_MAP_INSERT(Words, map[0], key_of(first + me), Item_null, &w);\n"
    "    log[me] = (uint2)(result, !Word_is_null(w));\n"
    "}\n"
    "__kernel void take(CLUMP_HEAP_NO_ALLOC, __global const Words *map, __global uint2 *log, uint "
    "first) {\n"
    "    uint me = (uint)get_global_id(0);\n"
    "    key_type key = key_of(first + me);\n"
    "    uint is_there = !Word_is_null(CLUMP_MAP_FIND(Words, map[0], key));\n"
    "    log[me] = (uint2)(is_there, !Word_is_null(CLUMP_MAP_ERASE(Words, map[0], key)));\n"
    "}\n"
    "#endif\n";

typedef struct world {
    clump_heap *heap;
    clump_program *program;
    clump_kernel *make_map, *resize, *make_items, *work, *look, *tidy, *put, *take;
    clump_refs *refs;
    cl_mem map, items, log, values, out;
    uint32_t lists, launches;
    uint32_t hot;         /* all use this many keys; 0: some keys are of one work-item */
    uint32_t value[KEYS]; /* the model: the number of the key's value, or 0 */
    uint64_t words;       /* objects at most, of erased keys, too */
} world;

/* many: for work(), else for launch_simple(). */
static void open_world(world *w, int wide, int many, uint64_t bytes, int checked) {
    char schema[300], options[200];
    memset(w, 0, sizeof *w);
    snprintf(schema, sizeof schema, schema_format, wide ? "ulong" : "uint");
    snprintf(options, sizeof options,
             "-DWIDE=%d -DMANY=%d -Dkey_type=%s -DSHARED=%uu -DOWN=%uu -DKEYS=%uu -DOPERATIONS=%uu",
             wide, many, wide ? "ulong" : "uint", SHARED, OWN, KEYS, OPERATIONS);
    w->heap = cl_fixture_heap(f, schema, bytes, 0);
    w->program =
        cl_fixture_program(f, w->heap, source, options, &(cl_fixture_build){.checked = checked});
    w->make_map = cl_fixture_kernel(f, w->program, "make_map");
    w->resize = cl_fixture_kernel(f, w->program, "resize");
    w->tidy = cl_fixture_kernel(f, w->program, "tidy");
    if (many) {
        w->make_items = cl_fixture_kernel(f, w->program, "make_items");
        w->work = cl_fixture_kernel(f, w->program, "work");
        w->look = cl_fixture_kernel(f, w->program, "look");
    } else {
        w->put = cl_fixture_kernel(f, w->program, "put");
        w->take = cl_fixture_kernel(f, w->program, "take");
    }
    w->map = cl_fixture_buffer(f, NULL, sizeof(clump_ref));
    w->items = cl_fixture_buffer(f, NULL, VALUES * sizeof(clump_ref));
    w->log = cl_fixture_buffer(f, NULL, WORDS_MAX * sizeof(cl_uint2));
    w->values = cl_fixture_buffer(f, NULL, sizeof w->value);
    w->out = cl_fixture_buffer(f, NULL, sizeof(uint32_t));
    const clump_refs_desc refs = {
        .size = sizeof refs, .buffer = w->map, .count = 1, .stride = sizeof(clump_ref)};
    CHECK_OK(f, clump_refs_create(w->heap, &refs, &w->refs, NULL));
    SET_ARG(f, w->make_map, 0, w->map);
    CHECK_OK(f, clump_heap_do_new(w->heap, w->make_map, "Words", 1, NULL, NULL));
}

static void close_world(world *w) {
    clump_kernel *const kernels[] = {w->make_map, w->resize, w->make_items, w->work,
                                     w->look,     w->tidy,   w->put,        w->take};
    const cl_mem buffers[] = {w->map, w->items, w->log, w->values, w->out};
    clump_refs_destroy(w->refs);
    for (size_t i = 0; i < sizeof kernels / sizeof *kernels; i++) clump_kernel_destroy(kernels[i]);
    clump_program_destroy(w->program);
    clump_heap_destroy(w->heap);
    for (size_t i = 0; i < sizeof buffers / sizeof *buffers; i++) clReleaseMemObject(buffers[i]);
}

/* A launch of resize or tidy. Returns what it says. */
static uint32_t maintain(world *w, clump_kernel *kernel, uint32_t number) {
    uint32_t out = 1;
    cl_fixture_write(f, w->out, &out, sizeof out);
    SET_ARG(f, kernel, 0, w->map);
    SET_ARG(f, kernel, 1, number);
    SET_ARG(f, kernel, 2, w->out);
    CHECK_OK(f, clump_heap_launch(w->heap, kernel, kernel == w->resize ? 64 : 256, 64, NULL));
    CHECK_HEAP(f, w->heap);
    cl_fixture_read(f, w->out, &out, sizeof out);
    return out;
}

static uint64_t key_of(int wide, uint32_t number) {
    const uint32_t mixed = test_hash(number + 1);
    return wide ? (uint64_t)mixed << 32 | number / 4 : mixed;
}

/* The Words that are there: those that are not erased are the keys of the model, each once. */
static void check_words(world *w, int wide) {
    static uint64_t keys[WORDS_MAX], of_number[KEYS];
    static uint32_t narrow[WORDS_MAX], erased[WORDS_MAX];
    uint64_t count, live = 0, expected = 0;
    CHECK_OK(f, clump_heap_read_field(w->heap, "Word", "erased", 0, sizeof *erased, erased,
                                      WORDS_MAX, &count));
    assert_in_range(count, 0, w->words);
    w->words = count;
    CHECK_OK(f,
             clump_heap_read_field(w->heap, "Word", "key", 0, wide ? sizeof *keys : sizeof *narrow,
                                   wide ? (void *)keys : (void *)narrow, count, NULL));
    memset(of_number, 0, sizeof of_number);
    for (uint32_t n = 0; n < KEYS; n++) expected += w->value[n] != 0;
    for (uint64_t i = 0; i < count; i++) {
        if (erased[i]) continue;
        live++;
        uint32_t n = 0;
        while (n < KEYS && key_of(wide, n) != (wide ? keys[i] : narrow[i])) n++;
        assert_in_range(n, 0, KEYS - 1);
        assert_int_equal(of_number[n]++, 0);
        assert_true(w->value[n]);
    }
    assert_int_equal(live, expected);
}

/* All keys, as kernels find them. */
static void check_keys(world *w) {
    static uint32_t values[KEYS];
    SET_ARG(f, w->look, 0, w->map);
    SET_ARG(f, w->look, 1, w->values);
    CHECK_OK(f, clump_heap_launch(w->heap, w->look, 512, 64, NULL));
    CHECK_HEAP(f, w->heap);
    cl_fixture_read(f, w->values, values, sizeof values);
    for (uint32_t n = 0; n < KEYS; n++)
        if (values[n] != w->value[n])
            fail_msg("key %u has the value %u, and not %u", n, values[n], w->value[n]);
}

typedef struct operation {
    uint32_t number; /* of the key */
    int what;
} operation;

static operation operation_of(const world *w, uint32_t seed, uint32_t at) {
    const uint32_t r = test_hash(seed + at), what = r % 8, own = at / OPERATIONS * OWN;
    return (operation){.number = w->hot       ? (r >> 9) % w->hot
                                 : r >> 8 & 1 ? (r >> 9) % SHARED
                                              : SHARED + own + (r >> 9) % OWN,
                       .what = what < 3   ? INSERT
                               : what < 6 ? ERASE
                                          : FIND};
}

/* A key of one work-item: it finds what the model has, and changes it. */
static void check_own(world *w, operation o, uint32_t result, uint32_t seen, uint32_t value) {
    uint32_t *has = &w->value[o.number], before = *has;
    if (o.what == INSERT && !before) *has = value;
    if (o.what == ERASE) *has = 0;
    assert_int_equal(result, o.what == INSERT && before ? THERE : DONE);
    assert_int_equal(seen, o.what == INSERT && !before ? value : before);
}

/* What is known of the values of a launch and of those that shared keys had before it. */
typedef struct history {
    uint8_t erased[VALUES];                 /* how often the value of an operation was taken out */
    uint32_t old_erased[SHARED];            /* likewise the value before the launch */
    uint32_t inserted[SHARED], out[SHARED]; /* successes of each kind */
    uint32_t missed[SHARED];                /* calls that did not find the key */
} history;

/* Is it the value that the key had before, or one that this launch put in under that key? */
static int may_be_seen(const world *w, const cl_uint2 *log, uint32_t seed, uint32_t first,
                       uint32_t number, uint32_t seen) {
    if (seen == w->value[number]) return 1;
    if (seen - first >= VALUES) return 0;
    const operation o = operation_of(w, seed, seen - first);
    return o.number == number && o.what == INSERT && log[seen - first].s[0] == DONE;
}

static void take_in(const world *w, history *h, const cl_uint2 *log, uint32_t seed, uint32_t first,
                    uint32_t at) {
    const operation o = operation_of(w, seed, at);
    const uint32_t n = o.number, seen = log[at].s[1];
    assert_true(log[at].s[0] == DONE || (o.what == INSERT && log[at].s[0] == THERE));
    if (o.what == INSERT && log[at].s[0] == DONE) {
        h->inserted[n]++;
        assert_int_equal(seen, first + at);
        return;
    }
    if (!seen) {
        assert_true(o.what != INSERT);
        h->missed[n]++;
        return;
    }
    if (!may_be_seen(w, log, seed, first, n, seen))
        fail_msg("key %u: the value %u, which was not put in", n, seen);
    if (o.what != ERASE) return;
    h->out[n]++;
    if (seen == w->value[n])
        h->old_erased[n]++;
    else
        h->erased[seen - first]++;
}

/* One work-item saw the value of `at`, then the key without it, then the value again. */
static void check_order(const world *w, const cl_uint2 *log, uint32_t seed, uint32_t at) {
    const operation o = operation_of(w, seed, at);
    const uint32_t end = (at / OPERATIONS + 1) * OPERATIONS, value = log[at].s[1];
    int is_gone = o.what == ERASE;
    for (uint32_t i = at + 1; i < end && value; i++) {
        if (operation_of(w, seed, i).number != o.number) continue;
        if (log[i].s[1] != value)
            is_gone = 1;
        else if (is_gone)
            fail_msg("key %u: the value %u came back", o.number, value);
        else if (operation_of(w, seed, i).what == ERASE)
            is_gone = 1;
    }
}

static void check_shared(world *w, const history *h, const cl_uint2 *log, uint32_t seed,
                         uint32_t first, uint32_t calls) {
    for (uint32_t n = 0; n < SHARED; n++) {
        const uint32_t before = w->value[n];
        assert_in_range(h->old_erased[n], 0, 1);
        assert_in_range((before != 0) + h->inserted[n] - h->out[n], 0, 1);
        assert_true(!h->missed[n] || !before || h->out[n]);
        if (h->old_erased[n]) w->value[n] = 0;
    }
    for (uint32_t at = 0; at < calls; at++) {
        const operation o = operation_of(w, seed, at);
        if (o.number >= SHARED || o.what != INSERT || log[at].s[0] != DONE) continue;
        assert_in_range(h->erased[at], 0, 1);
        if (h->erased[at]) continue;
        if (w->value[o.number]) fail_msg("key %u has two values", o.number);
        w->value[o.number] = first + at;
    }
}

/* A launch in which so many work. Returns how many keys were put in. */
static uint32_t work(world *w, uint32_t seed, uint32_t items) {
    static cl_uint2 log[VALUES];
    static history h;
    const uint32_t first = 1 + VALUES * w->launches++, calls = items * OPERATIONS;
    uint32_t inserted = 0;
    uint64_t made;
    SET_ARG(f, w->make_items, 0, w->items);
    SET_ARG(f, w->make_items, 1, first);
    CHECK_OK(f, clump_heap_do_new(w->heap, w->make_items, "Item", VALUES, &made, NULL));
    assert_int_equal(made, VALUES);
    SET_ARG(f, w->work, 0, w->map);
    SET_ARG(f, w->work, 1, w->items);
    SET_ARG(f, w->work, 2, w->log);
    SET_ARG(f, w->work, 3, seed);
    SET_ARG(f, w->work, 4, w->hot);
    CHECK_OK(f, clump_heap_launch(w->heap, w->work, items, 64, NULL));
    CHECK_HEAP(f, w->heap);
    cl_fixture_read(f, w->log, log, calls * sizeof *log);
    memset(&h, 0, sizeof h);
    for (uint32_t at = 0; at < calls; at++) {
        const operation o = operation_of(w, seed, at);
        inserted += o.what == INSERT && log[at].s[0] == DONE;
        if (o.number >= SHARED) {
            check_own(w, o, log[at].s[0], log[at].s[1], first + at);
            continue;
        }
        take_in(w, &h, log, seed, first, at);
        check_order(w, log, seed, at);
    }
    check_shared(w, &h, log, seed, first, calls);
    w->words += inserted;
    return inserted;
}

static int compare(const void *a, const void *b) {
    const uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    return (x > y) - (x < y);
}

/* What the map does not lead to ends: items that no Word names. An insert that gave up a Word has
 * left its item there, too. */
static void collect(world *w) {
    static uint32_t items[WORDS_MAX];
    uint64_t words, before, after, named = 0;
    clump_collect_report report = {.size = sizeof report};
    CHECK_OK(f, clump_heap_read_count(w->heap, "Item", &before));
    CHECK_OK(f, clump_heap_read_field(w->heap, "Word", "value", 0, sizeof *items, items, WORDS_MAX,
                                      &words));
    CHECK_OK(f, clump_heap_collect(w->heap, NULL, &report, NULL));
    qsort(items, words, sizeof *items, compare);
    for (uint64_t i = 0; i < words; i++) named += i == 0 || items[i] != items[i - 1];
    assert_int_equal(report.live, 1 + words + named); /* the map, Words and their values */
    assert_int_equal(report.dead, before - named);
    CHECK_OK(f, clump_heap_read_count(w->heap, "Item", &after));
    assert_int_equal(after, named);
}

static void compact(world *w, uint32_t number) {
    const bench_merge merge = {.factor = 1};
    clump_compact_report report = {.size = sizeof report};
    CHECK_OK(f, bench_merge_compact(w->heap, NULL, number % 2 ? &merge : NULL, &report, NULL));
}

static void tidy(world *w, uint32_t lists) {
    const uint32_t before = w->lists;
    if (lists != before) assert_int_equal(maintain(w, w->resize, lists), 1);
    w->lists = lists;
    assert_int_equal(maintain(w, w->tidy, before), 1);
    w->words = 0;
    for (uint32_t n = 0; n < KEYS; n++) w->words += w->value[n] != 0;
}

static void run_world(int wide, int checked) {
    static world w;
    open_world(&w, wide, 1, 24 << 20, checked);
    check_keys(&w); /* without a list */
    w.lists = LISTS;
    assert_int_equal(maintain(&w, w.resize, LISTS), 1);
    for (uint32_t n = 0; n < 6 * rounds; n++) {
        work(&w, test_hash(first_seed + 100 * n + (uint32_t)wide), ITEMS);
        check_words(&w, wide);
        check_keys(&w);
        if (n % 3 == 0) collect(&w);
        if (n % 3 != 1)
            tidy(&w, w.lists * (n % 3 ? 3 : 2) < LISTS_MAX ? w.lists * (n % 3 ? 3 : 2) : w.lists);
        compact(&w, n);
        if (n % 3 == 2) collect(&w);
        check_words(&w, wide);
        check_keys(&w);
    }
    assert_int_equal(maintain(&w, w.tidy, w.lists + 1),
                     0); /* does not divide it: nothing is done */
    assert_int_equal(maintain(&w, w.tidy, 0), 0);
    check_keys(&w);
    close_world(&w);
}

/* A map that is never tidied. First all work-items put in, take out and look for the same four keys,
 * in as many lists, so that they meet at the same Words: without taking Words again a list is full
 * after some launches. Then there are 0.9 keys for each list, and more Words than keys and erased
 * ones of a launch are not needed. */
static void test_again(void **state) {
    enum { HOT = 4, HOT_ITEMS = 256, HOT_LAUNCHES = 12, LAUNCHES = 8, LOADED = 2300 };
    static world w;
    uint32_t inserted = 0, keys = 0;
    open_world(&w, 1, 1, 24 << 20, 0);
    w.lists = w.hot = HOT;
    assert_int_equal(maintain(&w, w.resize, HOT), 1);
    for (uint32_t n = 0; n < HOT_LAUNCHES * rounds; n++) {
        inserted += work(&w, test_hash(first_seed + n), HOT_ITEMS);
        check_words(&w, 1);
        check_keys(&w);
        if (n % 4 == 3) collect(&w);
    }
    assert_in_range(inserted, 3 * w.words, UINT32_MAX);
    tidy(&w, LOADED);
    w.hot = 0;
    for (uint32_t n = 0; n < LAUNCHES * rounds; n++) {
        const uint64_t had = w.words;
        inserted = work(&w, test_hash(first_seed + 100 + n), ITEMS);
        check_words(&w, 1);
        check_keys(&w);
        compact(&w, n);
        if (n >= LAUNCHES / 2) assert_in_range(w.words - had, 0, inserted / 4);
    }
    for (uint32_t n = 0; n < KEYS; n++) keys += w.value[n] != 0;
    assert_in_range(keys, 8 * LOADED / 10, LOADED);
    close_world(&w);
}

/* Other types than those of the fields do not build: C would convert, and other keys would be
 * found. Names of the same type do. */
static void test_types(void **state) {
    (void)state;
#define KEYS_ARE "integers"
#define KEY "type_needed_for_E_key"
#define VALUE "type_needed_for_E_value"
#define FIELD "does not have the type"
    static const struct {
        const char *field_key, *field_value, *others, *key, *value, *words;
    } cases[] = {
        {"uint", "uint", "", "int", "uint", KEY},
        {"uint", "uint", "", "int", "uint", FIELD},
        {"int", "uint", "", "uint", "uint", KEY},
        {"uint", "uint", "", "ulong", "uint", KEY},
        {"ulong", "uint", "", "uint", "uint", KEY},
        {"ulong", "uint", "", "long", "uint", KEY},
        {"uint", "uint", "", "ushort", "uint", KEY},
        {"float", "uint", "", "uint", "uint", KEY},
        {"uint", "uint", "", "float", "uint", KEY},
        {"float", "uint", "", "float", "uint", KEYS_ARE},
        {"ref E", "uint", "", "E", "uint", KEYS_ARE},
        {"uint", "uint", "", "uint", "float", VALUE},
        {"uint", "float", "", "uint", "uint", VALUE},
        {"uint", "float", "", "uint", "int", VALUE},
        {"uint", "ulong", "", "uint", "uint", VALUE},
        {"uint", "uint", "", "uint", "E", VALUE},
        {"uint", "ref E", "", "uint", "Map", VALUE},
        {"uint", "uint", "", "unsigned int", "number", NULL},
        {"long", "float", "", "long", "float", NULL},
        {"ulong", "ref Map", "", "const ulong", "Map", NULL},
        {"uint", "bool", "", "uint", "uchar", NULL},
        {"uint", "uint", "ref E next; ushort erased;", "uint", "uint", "type_needed_for_E_erased"},
        {"uint", "uint", "ref E next; ulong erased;", "uint", "uint", "type_needed_for_E_erased"},
        {"uint", "uint", "ref Map next; uint erased;", "uint", "uint", "type_needed_for_E_next"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i += cl_fixture_each(4)) {
        char schema[300], text[200];
        const char *others = cases[i].others[0] ? cases[i].others : "ref E next; uint erased;";
        snprintf(schema, sizeof schema,
                 "class Map { ref E heads[*]; } class E { %s key; %s value; %s }",
                 cases[i].field_key, cases[i].field_value, others);
        snprintf(text, sizeof text, "typedef uint number;\nCLUMP_MAP_DEFINE(Map, E, %s, %s);\n",
                 cases[i].key, cases[i].value);
        cl_fixture_expect_build(f, schema, text, NULL, cases[i].words);
    }
    cl_fixture_expect_build(f,
                            "class Map { ref Map heads[*]; } class E { uint key; uint value; ref E "
                            "next; uint erased; }",
                            "CLUMP_MAP_DEFINE(Map, E, uint, uint);\n", NULL,
                            "type_needed_for_Map_heads");
}

/* PoCL takes long to compile the kernels for GPUs. */
static void test_narrow_keys(void **state) {
    if (is_short || !cl_fixture_is_whole()) skip();
    run_world(0, 0);
}
static void test_wide_keys(void **state) {
    run_world(1, !is_short);
}

/* put or take, by so many work-items. */
static void launch_simple(world *w, clump_kernel *kernel, uint32_t items, uint32_t first,
                          cl_uint2 *log) {
    SET_ARG(f, kernel, 0, w->map);
    SET_ARG(f, kernel, 1, w->log);
    SET_ARG(f, kernel, 2, first);
    CHECK_OK(f, clump_heap_launch(w->heap, kernel, items, 64, NULL));
    cl_fixture_read(f, w->log, log, items * sizeof *log);
}

static uint32_t count_results(const cl_uint2 *log, uint32_t items, uint32_t result) {
    uint32_t count = 0;
    for (uint32_t i = 0; i < items; i++) count += log[i].s[0] == result;
    return count;
}

/* No lists, and one list with as many keys as it may have, all of them erased in the end. */
static void test_full(void **state) {
    static world w;
    static cl_uint2 log[ITEMS], put[ITEMS];
    if (is_short) skip();
    open_world(&w, 0, 0, 16 << 20, 0);
    launch_simple(&w, w.put, 64, 0, log);
    assert_int_equal(count_results(log, 64, FULL), 64);
    w.lists = 1;
    assert_int_equal(maintain(&w, w.resize, 1), 1);
    launch_simple(&w, w.put, ITEMS, 0, put);
    CHECK_HEAP(f, w.heap);
    assert_int_equal(count_results(put, ITEMS, DONE), LIST);
    assert_int_equal(count_results(put, ITEMS, FULL), ITEMS - LIST);
    for (int turn = 0; turn < 2; turn++) { /* the second time they are erased */
        launch_simple(&w, w.take, ITEMS, 0, log);
        for (uint32_t i = 0; i < ITEMS; i++) {
            const uint32_t is_there = !turn && put[i].s[0] == DONE;
            assert_int_equal(put[i].s[1], put[i].s[0] == DONE);
            assert_int_equal(log[i].s[0], is_there);
            assert_int_equal(log[i].s[1], is_there);
        }
    }
    /* All are taken again, and no more. */
    launch_simple(&w, w.put, ITEMS, ITEMS, put);
    assert_int_equal(count_results(put, ITEMS, DONE), LIST);
    assert_int_equal(count_results(put, ITEMS, FULL), ITEMS - LIST);
    uint64_t words;
    CHECK_OK(f, clump_heap_read_count(w.heap, "Word", &words));
    assert_int_equal(words, LIST);
    launch_simple(&w, w.take, ITEMS, ITEMS, log);
    for (uint32_t i = 0; i < ITEMS; i++) assert_int_equal(log[i].s[1], put[i].s[0] == DONE);
    tidy(&w, 1);
    CHECK_OK(f, clump_heap_read_count(w.heap, "Word", &words));
    assert_int_equal(words, 0);
    launch_simple(&w, w.put, 64, ITEMS, log);
    assert_int_equal(count_results(log, 64, DONE), 64);
    launch_simple(&w, w.put, 64, UINT32_MAX, log); /* the first of them is 0, a key like others */
    assert_int_equal(count_results(log, 64, DONE), 64);
    launch_simple(&w, w.take, 64, UINT32_MAX, log);
    for (uint32_t i = 0; i < 64; i++) assert_true(log[i].s[0] && log[i].s[1]);
    CHECK_HEAP(f, w.heap);
    /* No map has no keys. */
    const clump_ref none = 0;
    clump_ref map;
    cl_fixture_read(f, w.map, &map, sizeof map);
    cl_fixture_write(f, w.map, &none, sizeof none);
    launch_simple(&w, w.put, 64, 0, put);
    launch_simple(&w, w.take, 64, 0, log);
    for (uint32_t i = 0; i < 64; i++) {
        assert_int_equal(put[i].s[0], FULL);
        assert_true(!put[i].s[1] && !log[i].s[0] && !log[i].s[1]);
    }
    assert_int_equal(maintain(&w, w.tidy, 1), 0);
    assert_int_equal(maintain(&w, w.resize, 5), 0);
    cl_fixture_write(f, w.map, &map, sizeof map);
    launch_simple(&w, w.take, 64, ITEMS, log);
    for (uint32_t i = 0; i < 64; i++) assert_true(log[i].s[0] && log[i].s[1]);
    CHECK_HEAP(f, w.heap);
    close_world(&w);
}

/* A heap that is full: what went in stays, and the heap reports it. */
static void test_no_memory(void **state) {
    static world w;
    static cl_uint2 log[WORDS_MAX], found[WORDS_MAX];
    clump_device_report report = {.size = sizeof report};
    if (is_short) skip();
    open_world(&w, 1, 0, cl_fixture_small_heap_bytes(f->clump), 0);
    assert_int_equal(maintain(&w, w.resize, LISTS_MAX), 1);
    launch_simple(&w, w.put, WORDS_MAX, 0, log);
    CHECK_STATUS(f, clump_heap_take_errors(w.heap, &report), CLUMP_ERR_DEVICE);
    const uint32_t refused = count_results(log, WORDS_MAX, NO_MEMORY);
    assert_true(refused > 0);
    assert_int_equal(report.errors[CLUMP_DEVICE_OUT_OF_MEMORY].count, refused);
    assert_int_equal(count_results(log, WORDS_MAX, DONE), WORDS_MAX - refused);
    for (uint32_t i = 0; i < WORDS_MAX; i++)
        assert_int_equal(log[i].s[1], log[i].s[0] == DONE); /* an entry, or null */
    launch_simple(&w, w.take, WORDS_MAX, 0, found);
    for (uint32_t i = 0; i < WORDS_MAX; i++) assert_int_equal(found[i].s[0], log[i].s[0] == DONE);
    CHECK_HEAP(f, w.heap);
    close_world(&w);
}

static int run_with(const char *name, uint32_t disable) {
    int status = cl_fixture_open(f, &(cl_fixture_desc){.disable = disable});
    if (status) return status;
    is_short = f->capabilities->is_cpu && f->capabilities->personality == CLUMP_PERSONALITY_GPU;
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_narrow_keys), cmocka_unit_test(test_wide_keys),
        cmocka_unit_test(test_again),       cmocka_unit_test(test_full),
        cmocka_unit_test(test_no_memory),   cmocka_unit_test(test_types)};
    status = cmocka_run_group_tests_name(name, tests, NULL, NULL);
    cl_fixture_close(f);
    return status;
}

int main(int argc, char **argv) {
    return cl_fixture_run_rounds(argc, argv, &rounds, &first_seed, run_with, &is_short);
}
