/* Raw memory against a model on the host.
 *
 * Work-items allocate, clear, resize and free memory of random sizes, each in places of a table
 * that another work-item had in the launch before. All memory has a pattern, made from its place
 * and its generation. Kernels compare it before they resize or free. After each launch the host
 * reads the table and the whole heap: memory lies in the heap, is aligned as asked for, has the
 * pattern, and overlaps with none other; statistics know how much there is; the heap check is
 * content.
 *
 *   diff_raw                what CTest runs
 *   diff_raw ROUNDS [SEED]  longer, and other requests
 *
 * Read first: cl/api/raw.clh, cl_fixture.h.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench/papers/merge/merge.h"
#include "cl_fixture.h"
#include "core/core.h"
#include "heap/access.h"

static cl_fixture fixture, *const f = &fixture;
static uint32_t rounds = 1, first_seed; /* of the command line */
static int is_short;                    /* the kernels for GPUs, on a CPU */

enum { ITEMS = 256, PER_ITEM = 24, PLACES = ITEMS * PER_ITEM };

/* What a work-item keeps of memory. */
typedef struct place {
    uint32_t handle, size, generation, align;
} place;

/* Events of a launch. */
enum { NULLS, BAD_CONTENTS, BAD_ALIGNMENT, BAD_USABLE, BAD_ZERO, MADE, FREED, RESIZED, EVENTS };

static const char source[] =
    "typedef struct place { uint handle, size, generation, align; } place;\n"
    "enum { NULLS, BAD_CONTENTS, BAD_ALIGNMENT, BAD_USABLE, BAD_ZERO, MADE, FREED, RESIZED };\n"
    "uint mix(uint x) {\n"
    "    x ^= x >> 16; x *= 0x85ebca6bu; x ^= x >> 13; x *= 0xc2b2ae35u; return x ^ (x >> 16);\n"
    "}\n"
    "uint word_of(uint k, uint generation, uint i) { return mix(k * 31u + generation) + i * "
    "0x9e3779b1u; }\n"
    "void fill(__global uint *p, uint k, place at) {\n"
    "    for (uint i = 0; i < (at.size + 3u) / 4u; i++) p[i] = word_of(k, at.generation, i);\n"
    "}\n"
    "uint has(__global const uint *p, uint k, uint generation, uint size) {\n"
    "    uint same = 1;\n"
    "    for (uint i = 0; i < size / 4u; i++) same &= p[i] == word_of(k, generation, i);\n"
    "    return same;\n"
    "}\n"
    "uint is_zero(__global const uint *p, uint size) {\n"
    "    uint any = 0;\n"
    "    for (uint i = 0; i < (size + 3u) / 4u; i++) any |= p[i];\n"
    "    return any == 0;\n"
    "}\n"
    "uint size_of(uint r, uint most) {\n" /* as many of each doubling */
    "    uint limit = 1u << (1u + r % (32u - clz(most)));\n"
    "    return 1u + mix(r) % min(limit, most);\n"
    "}\n"
    "void look(CLUMP_HEAP, __global uint *p, uint k, place at, __global uint *events) {\n"
    "    if (!has(p, k, at.generation, at.size)) atomic_inc(&events[BAD_CONTENTS]);\n"
    "    if (clump_usable_size(p) < at.size) atomic_inc(&events[BAD_USABLE]);\n"
    "}\n"
    "__kernel void step_all(CLUMP_HEAP, __global place *places, __global uint *events, uint count, "
    "uint shift,\n"
    "                       uint seed, uint ops, uint most, uint grow) {\n"
    "    uint each = count / (uint)get_global_size(0), me = (uint)get_global_id(0);\n"
    "    for (uint op = 0; op < ops; op++) {\n"
    "        uint r = mix(seed + me * 977u + op * 31337u), k = (me * each + r % each + shift) % "
    "count;\n"
    "        place at = places[k];\n"
    "        __global uint *p = clump_raw_at(at.handle);\n"
    "        uint size = size_of(mix(r + 1u), most), kind = mix(r + 2u) % 16u;\n"
    "        if (!p) {\n"
    "            if (mix(r + 3u) % 4u >= grow) continue;\n"
    "            at.size = size; at.generation++; at.align = 16u;\n"
    "            at.align = kind < 4u ? 1u << mix(r + 5u) % 13u : 16u;\n"
    "            if (at.size > most / 2u || at.size + at.align > most) at.align = 16u;\n"
    "            p = clump_aligned_alloc(at.align, at.size);\n"
    "            if (!p) { atomic_inc(&events[NULLS]); continue; }\n"
    "            if ((ulong)p % max(at.align, 16u)) atomic_inc(&events[BAD_ALIGNMENT]);\n"
    "            ulong lost = clump_usable_size(p) - at.size;\n"
    "            if (at.align <= 16u && lost > 15u + (at.size > 128u ? at.size / 4u : 0u)) "
    "atomic_inc(&events[BAD_USABLE]);\n"
    "            at.handle = clump_raw_of(p);\n"
    "            fill(p, k, at);\n"
    "            places[k] = at;\n"
    "            atomic_inc(&events[MADE]);\n"
    "        } else if (kind < 6u) {\n"
    "            look(clump_heap, p, k, at, events);\n"
    "            __global uint *q = clump_realloc(p, size);\n"
    "            if (!q) { atomic_inc(&events[NULLS]); look(clump_heap, p, k, at, events); "
    "continue; }\n"
    "            if (!has(q, k, at.generation, min(size, at.size))) "
    "atomic_inc(&events[BAD_CONTENTS]);\n"
    "            if ((ulong)q % 16u) atomic_inc(&events[BAD_ALIGNMENT]);\n"
    "            if (q != p) at.align = 16u;\n"
    "            at.handle = clump_raw_of(q); at.size = size; at.generation++;\n"
    "            fill(q, k, at);\n"
    "            places[k] = at;\n"
    "            atomic_inc(&events[RESIZED]);\n"
    "        } else {\n"
    "            look(clump_heap, p, k, at, events);\n"
    "            clump_free(p);\n"
    "            places[k].handle = 0;\n"
    "            atomic_inc(&events[FREED]);\n"
    "        }\n"
    "    }\n"
    "}\n"
    "__kernel void make_zero(CLUMP_HEAP, __global place *places, __global uint *events, uint "
    "count, uint most) {\n"
    "    for (uint k = (uint)get_global_id(0); k < count; k += 3u * (uint)get_global_size(0)) {\n"
    "        place at = places[k];\n"
    "        uint r = mix(k + at.generation), n = 1u + r % 4u;\n"
    "        if (at.handle) continue;\n"
    "        at.size = (size_of(r + 1u, most) + n - 1u) / n; at.generation++; at.align = 16u;\n"
    "        __global uint *p = clump_calloc(n, at.size);\n"
    "        at.size *= n;\n"
    "        if (!p) { atomic_inc(&events[NULLS]); continue; }\n"
    "        if (!is_zero(p, at.size)) atomic_inc(&events[BAD_ZERO]);\n"
    "        at.handle = clump_raw_of(p);\n"
    "        fill(p, k, at);\n"
    "        places[k] = at;\n"
    "    }\n"
    "}\n"
    "__kernel void free_all(CLUMP_HEAP, __global place *places, __global uint *events, uint count) "
    "{\n"
    "    for (uint k = (uint)get_global_id(0); k < count; k += (uint)get_global_size(0)) {\n"
    "        place at = places[k];\n"
    "        if (!at.handle) continue;\n"
    "        look(clump_heap, clump_raw_at(at.handle), k, at, events);\n"
    "        clump_free(clump_raw_at(at.handle));\n"
    "        places[k].handle = 0;\n"
    "    }\n"
    "}\n"
    "__kernel void pass(CLUMP_HEAP, __global uint *events, uint bytes) {\n"
    "    void __global *p = clump_malloc(bytes);\n"
    "    if (!p) atomic_inc(&events[NULLS]);\n"
    "    clump_free(p);\n"
    "}\n";

/* Classes beside raw memory: links that objects follow, and objects that come and go. */
static const char schema_text[] =
    "class Node { ref Node next; uint tag; uint data; } class Leaf : Node { ulong more; }";
static const char objects_source[] =
    "__kernel void churn(CLUMP_HEAP, __global uint *events, uint seed) {\n"
    "    uint me = (uint)get_global_id(0), r = (me + seed) * 2654435761u;\n"
    "    Node n = r >> 31 ? Leaf_as_Node(Leaf_new()) : Node_new();\n"
    "    if (Node_is_null(n)) return;\n"
    "    Node_tag(n) = r; Node_next(n) = n;\n"
    "    __global uint *p = clump_malloc(1u + (r >> 8) % 200u);\n"
    "    if (p) p[0] = r;\n"
    "    Node_data(n) = clump_raw_of(p);\n"
    "}\n"
    "__kernel void thin(CLUMP_HEAP, __global uint *events, uint keep) {\n"
    "    CLUMP_FOR_EACH(Node, self) {\n"
    "        __global uint *p = clump_raw_at(Node_data(self));\n"
    "        if (p && p[0] != Node_tag(self)) atomic_inc(&events[1]);\n"
    "        if (Node_tag(self) % 8u >= keep) { clump_free(p); Node_free(self); }\n"
    "    }\n"
    "}\n";

typedef struct world {
    clump_heap *heap;
    clump_program *program;
    clump_kernel *step, *make_zero, *free_all, *pass, *churn, *thin;
    cl_mem places, events;
    uint32_t most;  /* largest size that is asked for */
    uint64_t extra; /* bytes that objects of the schema hold */
    place table[PLACES];
    uint32_t seen[EVENTS];
} world;

static void open_world(world *w, const char *schema, uint64_t bytes, uint32_t block_rows,
                       uint32_t most) {
    memset(w, 0, sizeof *w);
    clump_heap_desc desc = {.size = sizeof desc,
                            .context = f->clump,
                            .bytes = bytes,
                            .block_rows = block_rows,
                            .raw = 1};
    clump_schema *s = NULL;
    if (schema)
        assert_int_equal(clump_schema_parse(schema, strlen(schema), NULL, &s, NULL), CLUMP_OK);
    desc.schema = s;
    CHECK_OK(f, clump_heap_create(&desc, &w->heap, NULL));
    clump_schema_destroy(s);
    char text[sizeof source + sizeof objects_source];
    snprintf(text, sizeof text, "%s%s", source, schema ? objects_source : "");
    w->program = cl_fixture_program(f, w->heap, text, NULL, NULL);
    w->step = cl_fixture_kernel(f, w->program, "step_all");
    w->make_zero = cl_fixture_kernel(f, w->program, "make_zero");
    w->free_all = cl_fixture_kernel(f, w->program, "free_all");
    w->pass = cl_fixture_kernel(f, w->program, "pass");
    if (schema) w->churn = cl_fixture_kernel(f, w->program, "churn");
    if (schema) w->thin = cl_fixture_kernel(f, w->program, "thin");
    w->places = cl_fixture_buffer(f, NULL, sizeof w->table);
    w->events = cl_fixture_buffer(f, NULL, sizeof w->seen);
    uint64_t limit = (uint64_t)clumpi_heap_geometry(w->heap)->header.raw_most * CLUMPI_RAW_UNIT;
    w->most = most && most < limit ? most : (uint32_t)limit;
}

static void close_world(world *w) {
    clump_kernel_destroy(w->step);
    clump_kernel_destroy(w->make_zero);
    clump_kernel_destroy(w->free_all);
    clump_kernel_destroy(w->pass);
    clump_kernel_destroy(w->churn);
    clump_kernel_destroy(w->thin);
    clump_program_destroy(w->program);
    clump_heap_destroy(w->heap);
    clReleaseMemObject(w->places);
    clReleaseMemObject(w->events);
}

static void run(world *w, clump_kernel *k) {
    CHECK_OK(f, clump_heap_launch(w->heap, k, ITEMS, 64, NULL));
}

static int by_handle(const void *a, const void *b) {
    const place *p = a, *q = b;
    return p->handle < q->handle ? -1 : p->handle > q->handle;
}

static uint32_t word_of(uint32_t k, uint32_t generation, uint32_t i) {
    return test_hash(k * 31u + generation) + i * 0x9e3779b1u;
}

/* Everything that the host can see. nulls: requests that got null were reported. */
static void check_world(world *w) {
    clump_device_report report = {.size = sizeof report};
    clump_status status = clump_heap_take_errors(w->heap, &report);
    cl_fixture_read(f, w->events, w->seen, sizeof w->seen);
    for (int i = 0; i < CLUMP_DEVICE_ERROR_COUNT; i++)
        if (i != CLUMP_DEVICE_OUT_OF_MEMORY && report.errors[i].count)
            fail_msg("error %d: %u times, first for 0x%x; events %u %u %u %u", i,
                     report.errors[i].count, report.errors[i].ref, w->seen[1], w->seen[2],
                     w->seen[3], w->seen[4]);
    assert_int_equal(status,
                     report.errors[CLUMP_DEVICE_OUT_OF_MEMORY].count ? CLUMP_ERR_DEVICE : CLUMP_OK);
    if (!w->churn)
        assert_int_equal(report.errors[CLUMP_DEVICE_OUT_OF_MEMORY].count, w->seen[NULLS]);
    for (int i = BAD_CONTENTS; i <= BAD_ZERO; i++) assert_int_equal(w->seen[i], 0);
    CHECK_OK(f, clump_heap_check(w->heap));

    const clump_heap_info *layout = clump_heap_get_info(w->heap);
    cl_fixture_read(f, w->places, w->table, sizeof w->table);
    uint8_t *image = malloc(layout->bytes);
    assert_non_null(image);
    cl_fixture_heap_read(w->heap, image);
    static place sorted[PLACES];
    uint32_t live = 0;
    for (uint32_t k = 0; k < PLACES; k++) {
        const place *at = &w->table[k];
        if (!at->handle) continue;
        uint64_t begin = (uint64_t)at->handle * CLUMPI_RAW_UNIT;
        assert_true(begin >= layout->metadata_bytes && begin + at->size <= layout->bytes);
        for (uint32_t i = 0; i < at->size / 4; i++) {
            uint32_t word;
            memcpy(&word, image + begin + 4 * i, sizeof word);
            if (word != word_of(k, at->generation, i))
                fail_msg("place %u, word %u of %u bytes", k, i, at->size);
        }
        sorted[live++] = *at;
    }
    free(image);
    qsort(sorted, live, sizeof *sorted, by_handle);
    uint64_t bytes = 0;
    for (uint32_t i = 0; i < live; i++) {
        uint64_t end = (uint64_t)sorted[i].handle * CLUMPI_RAW_UNIT + sorted[i].size;
        if (i + 1 < live && end > (uint64_t)sorted[i + 1].handle * CLUMPI_RAW_UNIT)
            fail_msg("memory of %u bytes at 0x%x reaches into that at 0x%x", sorted[i].size,
                     sorted[i].handle, sorted[i + 1].handle);
        bytes += sorted[i].size;
    }
    clump_heap_stats stats = {.size = sizeof stats};
    clump_class_stats classes[4] = {{.size = sizeof *classes}};
    CHECK_OK(f, clump_heap_read_stats(w->heap, &stats, classes, 4));
    if (stats.raw_bytes < bytes)
        fail_msg("%llu bytes in use, %llu asked for", (unsigned long long)stats.raw_bytes,
                 (unsigned long long)bytes);
    if (!w->churn) assert_int_equal(stats.objects, 0);
    print_message("%6u live, %9llu bytes asked for, %9llu in slots, %llu blocks of %u, %u nulls\n",
                  live, (unsigned long long)bytes, (unsigned long long)stats.raw_bytes,
                  (unsigned long long)stats.raw_blocks, stats.blocks, w->seen[NULLS]);
}

/* grow: 1 .. 4, of four empty places that are looked at so many get memory. */
static void step(world *w, uint32_t number, uint32_t ops, uint32_t grow) {
    const uint32_t zero[EVENTS] = {0}, count = PLACES, shift = number * 7919 % PLACES,
                   seed = test_hash(number + 1);
    cl_fixture_write(f, w->events, zero, sizeof zero);
    SET_ARG(f, w->step, 0, w->places);
    SET_ARG(f, w->step, 1, w->events);
    SET_ARG(f, w->step, 2, count);
    SET_ARG(f, w->step, 3, shift);
    SET_ARG(f, w->step, 4, seed);
    SET_ARG(f, w->step, 5, ops);
    SET_ARG(f, w->step, 6, w->most);
    SET_ARG(f, w->step, 7, grow);
    run(w, w->step);
    check_world(w);
}

static void zeroed(world *w) {
    const uint32_t zero[EVENTS] = {0}, count = PLACES, most = w->most - 4;
    cl_fixture_write(f, w->events, zero, sizeof zero);
    SET_ARG(f, w->make_zero, 0, w->places);
    SET_ARG(f, w->make_zero, 1, w->events);
    SET_ARG(f, w->make_zero, 2, count);
    SET_ARG(f, w->make_zero, 3, most);
    run(w, w->make_zero);
    check_world(w);
}

static void end(world *w) {
    const uint32_t zero[EVENTS] = {0}, count = PLACES;
    cl_fixture_write(f, w->events, zero, sizeof zero);
    SET_ARG(f, w->free_all, 0, w->places);
    SET_ARG(f, w->free_all, 1, w->events);
    SET_ARG(f, w->free_all, 2, count);
    run(w, w->free_all);
    check_world(w);
}

static void expect_empty(world *w) {
    clump_heap_stats stats = {.size = sizeof stats};
    CHECK_OK(f, clump_heap_read_stats(w->heap, &stats, NULL, 0));
    assert_int_equal(stats.raw_bytes, 0);
    assert_int_equal(stats.raw_blocks, 0);
    assert_int_equal(stats.free_blocks, stats.blocks);
}

/* Blocks that 64 slots of whole units do not fill: a request for all of a block has the rest,
 * too. */
static void test_odd_blocks(void **state) {
    enum { BLOCK = 50688 };
    static world w;
    char schema[256];
    snprintf(schema, sizeof schema, "%s class Odd { uchar bytes[396]; }", schema_text);
    if (is_short) return; /* the other geometries do */
    open_world(&w, schema, 12 << 20, 1, BLOCK + 2000);
    const clump_heap_info *l = clump_heap_get_info(w.heap);
    assert_int_equal(l->granule_bytes * l->block_granules, BLOCK);
    for (uint32_t n = 0; n < 8 * rounds; n++) step(&w, n + 900000 + first_seed, 60, 3);
    end(&w);
    close_world(&w);
}

/* Launches that take only runs, for which nothing is reserved: no list is made for each of them. */
static void few_lists(world *w) {
    enum { LAUNCHES = 80 };
    const uint32_t bytes = clumpi_heap_geometry(w->heap)->header.raw_units * CLUMPI_RAW_UNIT + 1;
    clump_cl_functions *cl = &f->clump->cl;
    SET_ARG(f, w->pass, 0, w->events);
    SET_ARG(f, w->pass, 1, bytes);
    cl_fixture_launches = 0;
    cl->EnqueueNDRangeKernel = cl_fixture_count_launch;
    for (uint32_t i = 0; i < LAUNCHES; i++) {
        CHECK_OK(f, clump_heap_launch(w->heap, w->pass, 4, 1, NULL));
        CHECK_CL(clFinish(f->queue)); /* so that the host is told how many launches a list covers */
    }
    cl->EnqueueNDRangeKernel = clEnqueueNDRangeKernel;
    const uint32_t lists = (cl_fixture_launches - LAUNCHES) / 2;
    if (lists > LAUNCHES / 8)
        fail_msg("%u lists for %d launches that take runs only", lists, LAUNCHES);
}

/* Without a schema, with room and without. */
static void test_raw_only(void **state) {
    static world w;
    static const struct {
        uint64_t bytes;
        uint32_t block_rows, most;
    } heaps[] = {{32 << 20, 0, 300}, {32 << 20, 0, 5000}, {32 << 20, 0, 0},
                 {3 << 20, 0, 0},    {6 << 20, 64, 4096}, {4 << 20, 3, 0}};
    /* PoCL takes long to compile the kernels for GPUs, and each geometry has programs of its
     * own. */
    is_short = f->capabilities->is_cpu && f->capabilities->personality == CLUMP_PERSONALITY_GPU;
    const size_t count = cl_fixture_is_whole() ? sizeof heaps / sizeof *heaps : 4;
    for (size_t i = is_short ? 2 : 0; i < (is_short ? 3 : count); i++) {
        open_world(&w, NULL, heaps[i].bytes, heaps[i].block_rows, heaps[i].most);
        if (i == 2) few_lists(&w);
        for (uint32_t n = 0; n < 8 * rounds; n++)
            step(&w, n + 100000 * (uint32_t)i + first_seed, 60, n % 8 < 4 ? 4 : 2);
        zeroed(&w);
        end(&w);
        expect_empty(&w);
        close_world(&w);
    }
}

/* Beside objects, which are compacted and collected: raw memory stays where it is. */
static void test_beside_objects(void **state) {
    static world w;
    open_world(&w, schema_text, 24 << 20, 0, 0);
    for (uint32_t n = 0; n < 6 * rounds; n++) {
        step(&w, n + first_seed, 40, 3);
        SET_ARG(f, w.churn, 0, w.events);
        SET_ARG(f, w.churn, 1, n);
        CHECK_OK(f, clump_heap_launch(w.heap, w.churn, 20032, 64, NULL));
        uint32_t keep = n % 2 ? 2 : 7;
        SET_ARG(f, w.thin, 0, w.events);
        SET_ARG(f, w.thin, 1, keep);
        CHECK_OK(f, clump_heap_do_all(w.heap, w.thin, NULL));
        check_world(&w);
        clump_compact_report report = {.size = sizeof report};
        const bench_merge merge = {.factor = 1};
        CHECK_OK(f, bench_merge_compact(w.heap, NULL, n % 6 == 4 ? &merge : NULL, &report, NULL));
        check_world(&w);
        keep = 8; /* the pointers that objects have are right */
        SET_ARG(f, w.thin, 1, keep);
        CHECK_OK(f, clump_heap_do_all(w.heap, w.thin, NULL));
        check_world(&w);
    }
    /* No root: all objects go; the memory stays, that of the objects, too. */
    clump_heap_stats before = {.size = sizeof before}, after = {.size = sizeof after};
    CHECK_OK(f, clump_heap_read_stats(w.heap, &before, NULL, 0));
    assert_true(before.objects > 0);
    clump_collect_report collected = {.size = sizeof collected};
    CHECK_OK(f,
             clump_heap_collect(
                 w.heap, &(clump_collect_desc){.size = sizeof(clump_collect_desc), .root_count = 0},
                 &collected, NULL));
    assert_int_equal(collected.dead, before.objects);
    CHECK_OK(f, clump_heap_read_stats(w.heap, &after, NULL, 0));
    assert_int_equal(after.objects, 0);
    assert_int_equal(after.raw_bytes, before.raw_bytes);
    check_world(&w);
    end(&w);
    close_world(&w);
}

static int run_with(const char *name, uint32_t disable) {
    int status = cl_fixture_open(f, &(cl_fixture_desc){.disable = disable});
    if (status) return status;
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_raw_only),
                                       cmocka_unit_test(test_odd_blocks),
                                       cmocka_unit_test(test_beside_objects)};
    status = cmocka_run_group_tests_name(name, tests, NULL, NULL);
    cl_fixture_close(f);
    return status;
}

int main(int argc, char **argv) {
    return cl_fixture_run_rounds(argc, argv, &rounds, &first_seed, run_with, &is_short);
}
