/* The heap's limits, one function for each.
 *
 * Read first: fill_core.h.
 */
#include <stdlib.h>
#include <string.h>

#include "fill_core.h"

#define FILL_LOCAL 32u
#define FILL_SCHEMA                                                                                \
    "class Small { ushort v; uchar w; }\n"                                                         \
    "class Big { ulong words[4]; uint tag; }\n"                                                    \
    "abstract class Base { uint t; }\n"                                                            \
    "class Left : Base { float4 x; }\n"                                                            \
    "class Right : Left { uchar more[7] packed; }\n"

/* PoCL needs seconds to compile a kernel with the collective, so there is one, for one class. */
static const char fill_source[] =
    "__kernel void fill(CLUMP_HEAP, uint kind, uint n, __global uint *out) {\n"
    "    uint i = (uint)get_global_id(0);\n"
    "    if (i >= n) return;\n"
    "    out[i] = kind == Small_CLASS ? Small_new().id : kind == Big_CLASS ? Big_new().id\n"
    "             : kind == Left_CLASS ? Left_new().id : Right_new().id;\n"
    "}\n"
    /* Groups of odd number, or all, make their objects together. */
    "__kernel void group(CLUMP_HEAP, uint all, uint n, __global uint *out) {\n"
    "    CLUMP_GROUP_SCRATCH;\n"
    "    uint i = (uint)get_global_id(0), want = i < n;\n"
    "    uint together = all || get_group_id(0) % 2u;\n"
    "    Small r = Small_null;\n"
    "    if (want && !together) r = Small_new();\n"
    "    Small s = Small_group_new((ulong)(want && together) << 40);\n"
    "    if (want) out[i] = together ? s.id : r.id;\n"
    "}\n"
    "#define FREE(C) { C r = {refs[i]}; C##_free(r); }\n"
    "__kernel void drop(CLUMP_HEAP, uint kind, uint n, __global const uint *refs) {\n"
    "    uint i = (uint)get_global_id(0);\n"
    "    if (i >= n) return;\n"
    "    if (kind == Small_CLASS) FREE(Small)\n"
    "    else if (kind == Big_CLASS) FREE(Big)\n"
    "    else if (kind == Base_CLASS) FREE(Base)\n"
    "    else if (kind == Left_CLASS) FREE(Left)\n"
    "    else FREE(Right)\n"
    "}\n"
    "__kernel void fresh(CLUMP_HEAP, uint kind, __global uint *out) {\n"
    "    if (kind == Small_CLASS) { CLUMP_FOR_EACH_NEW(Small, self, i) out[i] = self.id; }\n"
    "    else if (kind == Big_CLASS) { CLUMP_FOR_EACH_NEW(Big, self, i) out[i] = self.id; }\n"
    "    else CLUMP_FOR_EACH_NEW(Base, self, i) out[i] = self.id;\n"
    "}\n"
    /* Frees a whole block of Big, then wants Right objects, which only that makes room for. */
    "__kernel void swap(CLUMP_HEAP, uint block, uint blocks, __global const uint *refs,\n"
    "                   uint n, __global uint *out) {\n"
    "    uint i = (uint)get_global_id(0);\n"
    "    if (i >= blocks) return;\n"
    "    for (uint k = 0; k < block; k++) { Big r = {refs[i * block + k]}; Big_free(r); }\n"
    "    for (uint k = 0; k < n; k++)\n"
    "        out[i * n + k] = Right_new().id;\n"
    "}\n";

const char *const fill_classes[FILL_CLASSES] = {"Small", "Big", "Left", "Right"};

void fill_open(fill_test *t, cl_fixture *f, uint32_t blocks, uint32_t block_rows,
               const cl_fixture_build *how) {
    *t = (fill_test){.f = f, .random = 7 + block_rows};
    t->heap = cl_fixture_heap_of_blocks(f, FILL_SCHEMA, blocks, block_rows);
    t->program = cl_fixture_program(f, t->heap, fill_source, NULL, how);
    t->fill = cl_fixture_kernel(f, t->program, "fill");
    t->group = cl_fixture_kernel(f, t->program, "group");
    t->drop = cl_fixture_kernel(f, t->program, "drop");
    t->fresh = cl_fixture_kernel(f, t->program, "fresh");
    t->swap = cl_fixture_kernel(f, t->program, "swap");
}

void fill_close(fill_test *t) {
    clump_kernel_destroy(t->fill);
    clump_kernel_destroy(t->group);
    clump_kernel_destroy(t->drop);
    clump_kernel_destroy(t->fresh);
    clump_kernel_destroy(t->swap);
    clump_program_destroy(t->program);
    clump_heap_destroy(t->heap);
}

/* ---- Parts ----------------------------------------------------------------------------------- */

static size_t round_up(uint64_t n) {
    return n ? (size_t)((n + FILL_LOCAL - 1) / FILL_LOCAL * FILL_LOCAL) : FILL_LOCAL;
}

void fill_make(fill_test *t, const char *name, uint32_t how, uint32_t n, uint32_t *refs) {
    int collective = t->collective && how && strcmp(name, "Small") == 0;
    uint32_t argument = collective ? how == 1 : cl_fixture_class_id(t->heap, name);
    clump_kernel *kernel = collective ? t->group : t->fill;
    cl_mem out = cl_fixture_buffer(t->f, NULL, (n + 1) * sizeof *refs);
    SET_ARG(t->f, kernel, 0, argument);
    SET_ARG(t->f, kernel, 1, n);
    SET_ARG(t->f, kernel, 2, out);
    CHECK_OK(t->f, clump_heap_launch(t->heap, kernel, round_up(n), FILL_LOCAL, NULL));
    cl_fixture_read(t->f, out, refs, n * sizeof *refs);
    clReleaseMemObject(out);
}

void fill_free(fill_test *t, const char *name, uint32_t n, const uint32_t *refs) {
    uint32_t id = cl_fixture_class_id(t->heap, name);
    cl_mem in = cl_fixture_buffer(t->f, n ? refs : NULL, (n ? n : 1) * sizeof *refs);
    SET_ARG(t->f, t->drop, 0, id);
    SET_ARG(t->f, t->drop, 1, n);
    SET_ARG(t->f, t->drop, 2, in);
    CHECK_OK(t->f, clump_heap_launch(t->heap, t->drop, round_up(n), FILL_LOCAL, NULL));
    CHECK_CL(clFinish(t->f->queue));
    clReleaseMemObject(in);
}

/* Asked for `want`; `made` came, whose references are refs[0 .. made-1]. */
static uint32_t fill_do_new(fill_test *t, const char *name, uint32_t want, uint32_t *refs) {
    uint64_t made = 0;
    uint32_t id = cl_fixture_class_id(t->heap, name);
    memset(refs, 0, want * sizeof *refs);
    cl_mem out = cl_fixture_buffer(t->f, NULL, (want + 1) * sizeof *refs);
    SET_ARG(t->f, t->fresh, 0, id);
    SET_ARG(t->f, t->fresh, 1, out);
    CHECK_OK(t->f, clump_heap_do_new(t->heap, t->fresh, name, want, &made, NULL));
    cl_fixture_read(t->f, out, refs, want * sizeof *refs);
    clReleaseMemObject(out);
    for (uint32_t i = 0; i < want; i++) {
        if ((refs[i] != 0) != (i < made))
            fail_msg("do_new of %u %s made %u, but index %u %s", want, name, (uint32_t)made, i,
                     refs[i] ? "was visited" : "was not visited");
    }
    return (uint32_t)made;
}

static int compare_refs(const void *a, const void *b) {
    uint32_t x, y;
    memcpy(&x, a, sizeof x);
    memcpy(&y, b, sizeof y);
    return (x > y) - (x < y);
}

void fill_expect(fill_test *t, const char *name, uint32_t n, uint32_t *refs) {
    CHECK_HEAP(t->f, t->heap);
    uint64_t count = 0;
    uint32_t *live = calloc((size_t)n + 1, sizeof *live);
    assert_non_null(live);
    CHECK_OK(t->f, clump_heap_read_refs(t->heap, name, live, n, &count));
    if (count != n) fail_msg("%s: %u live objects, expected %u", name, (uint32_t)count, n);
    qsort(refs, n, sizeof *refs, compare_refs);
    qsort(live, n, sizeof *live, compare_refs);
    for (uint32_t i = 0; i < n; i++) {
        if (i && refs[i] == refs[i - 1])
            fail_msg("%s: reference %08x was given out twice", name, refs[i]);
        if (refs[i] != live[i])
            fail_msg("%s: live are %08x.., expected %08x..", name, live[i], refs[i]);
    }
    free(live);
}

static void fill_expect_empty(fill_test *t) {
    CHECK_HEAP(t->f, t->heap);
    clump_heap_stats stats = {.size = sizeof stats};
    CHECK_OK(t->f, clump_heap_read_stats(t->heap, &stats, NULL, 0));
    assert_int_equal(stats.objects, 0);
    assert_int_equal(stats.slots, 0);
    assert_int_equal(stats.free_blocks, stats.blocks);
    assert_int_equal(stats.blocks, clump_heap_get_info(t->heap)->block_count);
}

/* The last kernel reported this kind and nothing else. class_id, ref: 0 for any. */
static void fill_expect_report(fill_test *t, clump_device_error kind, uint32_t count,
                               const char *class_name, uint32_t ref, const char *what) {
    clump_device_report report = {.size = sizeof report};
    CHECK_STATUS(t->f, clump_heap_take_errors(t->heap, &report), CLUMP_ERR_DEVICE);
    for (uint32_t i = 0; i < CLUMP_DEVICE_ERROR_COUNT; i++) {
        uint32_t expected = i == (uint32_t)kind ? count : 0;
        if (report.errors[i].count != expected)
            fail_msg("%s: %u reports of kind %u, expected %u", what, report.errors[i].count, i,
                     expected);
    }
    if (class_name && report.errors[kind].class_id != cl_fixture_class_id(t->heap, class_name))
        fail_msg("%s: reported for class %u, expected %s", what, report.errors[kind].class_id,
                 class_name);
    if (ref && report.errors[kind].ref != ref)
        fail_msg("%s: reference %08x was reported, expected %08x", what, report.errors[kind].ref,
                 ref);
    CHECK_HEAP(t->f, t->heap); /* and the fetch cleared it */
}

/* Move a random part of the references to the end; returns how many stay in front. */
static uint32_t fill_split(fill_test *t, uint32_t n, uint32_t *refs, uint32_t per_cent) {
    uint32_t keep = n;
    for (uint32_t i = 0; i < keep;) {
        if (test_random(&t->random, 100) < per_cent) {
            uint32_t last = refs[--keep];
            refs[keep] = refs[i];
            refs[i] = last;
        } else {
            i++;
        }
    }
    return keep;
}

static void expect_no_null(uint32_t n, const uint32_t *refs, const char *name, const char *what) {
    for (uint32_t i = 0; i < n; i++)
        if (!refs[i])
            fail_msg("%s: null for work-item %u of %u, one slot of %s for each was free", what, i,
                     n, name);
}

/* ---- Tests ----------------------------------------------------------------------------------- */

/* n free slots, n requests; then one more, and many more. Leaves the heap full; returns n. */
static uint32_t fill_up(fill_test *t, const char *name, uint32_t how, uint32_t *refs) {
    uint32_t n = (uint32_t)cl_fixture_free_slots(t->f, t->heap, name), nulls[1000];
    fill_make(t, name, how, n, refs);
    expect_no_null(n, refs, name, how == 0 ? "new" : how == 1 ? "group_new" : "both");
    CHECK_HEAP(t->f, t->heap);
    assert_int_equal(cl_fixture_free_slots(t->f, t->heap, name), 0);
    static const uint32_t more[] = {1, 1000};
    for (int i = 0; i < 2; i++) {
        fill_make(t, name, how, more[i], nulls);
        for (uint32_t k = 0; k < more[i]; k++) assert_int_equal(nulls[k], 0);
        fill_expect_report(t, CLUMP_DEVICE_OUT_OF_MEMORY, more[i], name, 0, "a full heap");
    }
    return n;
}

void fill_and_empty(fill_test *t, const char *name, uint32_t *refs) {
    const char *base = *name == 'L' || *name == 'R' ? "Base" : name;
    for (uint32_t how = 0; how < 3; how++) {
        uint32_t n = fill_up(t, name, how, refs);
        fill_expect(t, name, n, refs);
        for (uint32_t per_cent = 1; per_cent < 100; per_cent += 45) {
            uint32_t keep = fill_split(t, n, refs, per_cent);
            fill_free(t, name, n - keep, refs + keep);
            CHECK_HEAP(t->f, t->heap);
            assert_int_equal(cl_fixture_free_slots(t->f, t->heap, name), n - keep);
            assert_int_equal(fill_up(t, name, (how + per_cent) % 3, refs + keep), n - keep);
            fill_expect(t, name, n, refs);
        }
        uint32_t keep = fill_split(t, n, refs, 50);
        fill_free(t, base, n - keep, refs + keep);
        fill_expect(t, name, keep, refs);
        fill_free(t, base, keep, refs);
        fill_expect_empty(t);
    }
}

void fill_side_by_side(fill_test *t, const char *first, const char *second, uint32_t *refs,
                       uint32_t *others) {
    uint32_t n = fill_up(t, first, 0, refs);
    uint32_t keep = fill_split(t, n, refs, 97);
    fill_free(t, first, n - keep, refs + keep);
    uint32_t m = fill_up(t, second, 2, others);
    uint32_t made = fill_up(t, first, 1, refs + keep);
    fill_expect(t, first, keep + made, refs);
    fill_free(t, first, keep + made, refs);
    keep = fill_split(t, m, others, 60);
    fill_free(t, second, m - keep, others + keep);
    /* Do-new into what is left: whole blocks, holes, and too little. */
    uint32_t room = (uint32_t)cl_fixture_free_slots(t->f, t->heap, second), part = room / 3;
    assert_int_equal(fill_do_new(t, second, part, others + keep), part);
    CHECK_HEAP(t->f, t->heap);
    assert_int_equal(fill_do_new(t, second, room - part + 5, others + keep + part), room - part);
    fill_expect_report(t, CLUMP_DEVICE_OUT_OF_MEMORY, 5, second, 0, "do_new with too little room");
    fill_expect(t, second, keep + room, others);
    assert_int_equal(fill_do_new(t, second, 3, refs), 0);
    fill_expect_report(t, CLUMP_DEVICE_OUT_OF_MEMORY, 3, second, 0, "do_new in a full heap");
    fill_free(t, second, keep + room, others);
    fill_expect_empty(t);
    assert_int_equal(fill_do_new(t, first, 0, refs), 0);
    fill_expect_empty(t);
}

void fill_by_do_new(fill_test *t, const char *name, uint32_t *refs) {
    uint32_t n = 0, room;
    for (int round = 0; round < 6; round++) {
        room = (uint32_t)cl_fixture_free_slots(t->f, t->heap, name);
        uint32_t want = round % 3 == 2 ? room + 1 : test_random(&t->random, room + 1);
        uint32_t made = fill_do_new(t, name, want, refs + n);
        assert_int_equal(made, want < room ? want : room);
        if (want > room)
            fill_expect_report(t, CLUMP_DEVICE_OUT_OF_MEMORY, want - room, name, 0, "do_new");
        n += made;
        fill_expect(t, name, n, refs);
        uint32_t keep = fill_split(t, n, refs, 20u + 15u * (uint32_t)round);
        fill_free(t, name, n - keep, refs + keep);
        n = keep;
        fill_expect(t, name, n, refs);
    }
    fill_free(t, name, n, refs);
    fill_expect_empty(t);
}

void fill_swap(fill_test *t, uint32_t *refs, uint32_t *others) {
    uint32_t block = cl_fixture_capacity(t->heap, "Big"), per_item = 3;
    uint32_t blocks = clump_heap_get_info(t->heap)->block_count, n = blocks * block;
    assert_int_equal(fill_up(t, "Big", 0, refs), n);
    qsort(refs, n, sizeof *refs, compare_refs); /* now block by block */
    uint32_t items = blocks < 64 ? blocks : 64;
    cl_mem in = cl_fixture_buffer(t->f, refs, n * sizeof *refs);
    cl_mem out = cl_fixture_buffer(t->f, NULL, items * per_item * sizeof *refs);
    SET_ARG(t->f, t->swap, 0, block);
    SET_ARG(t->f, t->swap, 1, items);
    SET_ARG(t->f, t->swap, 2, in);
    SET_ARG(t->f, t->swap, 3, per_item);
    SET_ARG(t->f, t->swap, 4, out);
    CHECK_OK(t->f, clump_heap_launch(t->heap, t->swap, round_up(items), FILL_LOCAL, NULL));
    cl_fixture_read(t->f, out, others, items * per_item * sizeof *refs);
    expect_no_null(items * per_item, others, "another class", "blocks freed in the kernel");
    clReleaseMemObject(in);
    clReleaseMemObject(out);
    fill_expect(t, "Big", n - items * block, refs + items * block);
    fill_expect(t, "Right", items * per_item, others);
    fill_free(t, "Big", n - items * block, refs + items * block);
    fill_free(t, "Base", items * per_item, others);
    fill_expect_empty(t);
}

/* ---- Frees that are wrong -------------------------------------------------------------------- */

void fill_double_free(fill_test *t, const char *name, uint32_t *refs) {
    uint32_t n = (uint32_t)cl_fixture_free_slots(t->f, t->heap, name), twice = n / 2 + 1;
    if (n > 3000) n = 3000, twice = 1001;
    fill_make(t, name, 0, n, refs);
    fill_expect(t, name, n, refs);
    /* All stay in use but the last ones, half of these twice in the list. */
    uint32_t keep = n - twice, *list = malloc(2 * twice * sizeof *list);
    assert_non_null(list);
    memcpy(list, refs + keep, twice * sizeof *list);
    for (uint32_t i = 0; i < twice; i++) list[2 * twice - 1 - i] = refs[keep + i];
    uint32_t dead[] = {0, 0, list[0], list[0], list[0]}; /* null twice, and one that is new */
    fill_free(t, name, 5, dead);
    fill_expect_report(t, CLUMP_DEVICE_DOUBLE_FREE, 2, NULL, list[0], "thrice in one kernel");
    fill_free(t, name, 1, list);
    fill_expect_report(t, CLUMP_DEVICE_DOUBLE_FREE, 1, NULL, list[0], "in two kernels");
    fill_free(t, name, 2 * twice - 2, list + 1);
    fill_expect_report(t, CLUMP_DEVICE_DOUBLE_FREE, twice - 1, NULL, 0, "many in one kernel");
    fill_expect(t, name, keep, refs);
    fill_free(t, name, 2 * twice, list);
    fill_expect_report(t, CLUMP_DEVICE_DOUBLE_FREE, 2 * twice, NULL, 0, "in two kernels");
    fill_expect(t, name, keep, refs);
    fill_free(t, name, keep, refs);
    fill_expect_empty(t);
    if (keep) {
        fill_free(t, name, keep, refs);
        fill_expect_report(t, CLUMP_DEVICE_DOUBLE_FREE, keep, NULL, 0, "in an empty heap");
    }
    fill_expect_empty(t);
    free(list);
}

/* One bad reference: reported as such, and nothing changes. */
static void fill_bad_free(fill_test *t, const char *name, uint32_t ref, const char *what) {
    uint32_t *before[FILL_CLASSES], count[FILL_CLASSES];
    for (int i = 0; i < FILL_CLASSES; i++) {
        uint64_t n = 0;
        CHECK_OK(t->f, clump_heap_read_refs(t->heap, fill_classes[i], NULL, 0, &n));
        count[i] = (uint32_t)n;
        before[i] = malloc((n + 1) * sizeof **before);
        CHECK_OK(t->f, clump_heap_read_refs(t->heap, fill_classes[i], before[i], n, &n));
    }
    fill_free(t, name, 1, &ref);
    fill_expect_report(t, CLUMP_DEVICE_BAD_REFERENCE, 1, NULL, ref, what);
    for (int i = 0; i < FILL_CLASSES; i++) {
        fill_expect(t, fill_classes[i], count[i], before[i]);
        free(before[i]);
    }
}

void fill_garbage(fill_test *t) {
    const clump_heap_info *layout = clump_heap_get_info(t->heap);
    uint32_t small[4], big[4], right[4], g = layout->block_granules;
    fill_make(t, "Small", 0, 4, small);
    fill_make(t, "Big", 0, 4, big);
    fill_make(t, "Right", 0, 4, right);
    CHECK_HEAP(t->f, t->heap);
    fill_bad_free(t, "Small", UINT32_MAX, "the largest number");
    fill_bad_free(t, "Small", ((layout->first_block + layout->block_count) * g) << 6,
                  "right behind the last block");
    fill_bad_free(t, "Small", 1u, "a slot of the null row");
    fill_bad_free(t, "Base", 1u << 6 | 5u, "the metadata's first row");
    fill_bad_free(t, "Big", (layout->first_block * g - 1) << 6, "the metadata's last row");
    fill_bad_free(t, "Small", big[0], "Big as Small");
    fill_bad_free(t, "Big", small[0], "Small as Big");
    fill_bad_free(t, "Base", small[1], "Small as Base");
    fill_bad_free(t, "Big", right[2], "Right as Big");
    uint32_t left[1];
    fill_make(t, "Left", 0, 1, left);
    CHECK_HEAP(t->f, t->heap);
    fill_bad_free(t, "Right", left[0], "Left as its subclass");
    uint32_t rows = cl_fixture_capacity(t->heap, "Big") / 64, start = (big[0] >> 6) / g * g;
    const clump_class_info *info =
        clump_schema_find_class(clump_heap_get_info(t->heap)->schema, "Big");
    uint32_t k = (info->object_bytes * 64 + layout->granule_bytes - 1) / layout->granule_bytes;
    if (k > 1) fill_bad_free(t, "Big", big[0] + (1u << 6), "inside a row of Big");
    if (rows * k < g) fill_bad_free(t, "Big", (start + rows * k) << 6, "behind the last row");
    fill_free(t, "Small", 4, small);
    fill_free(t, "Big", 4, big);
    fill_free(t, "Left", 4, right); /* as its base class */
    fill_free(t, "Base", 1, left);
    fill_expect_empty(t);
}
