/* Objects by number (CLUMP_NUMBERS) against the host's list of references: loops over a class with
 * and without subclasses, several in one kernel, rows with holes, the way back from numbers to
 * objects; that numbers are the same until objects change; what they cost in launches; and what is
 * refused. Each with the loops of CPUs and with those of GPUs, whatever the device is.
 *
 * Read first: cl/api/device_api.clh, tests/support/cl_fixture.h.
 */
#include <string.h>

#include "support/cl_fixture.h"

#define ROOM 10000u /* objects of a class with its subclasses, at most */
#define CLASSES 5u  /* that are looked at, each in its own part of the output */

static const char schema[] =
    "abstract class Base { uint tag; }\n"
    "class Plain : Base { uint a; }\n"
    "class Special : Plain { ulong b; }\n"
    "class Other : Base { float4 c; }\n"
    "class Alone { uint tag; ushort d; }\n"
    "class Nobody { uint nothing; }\n";
static const char *const names[CLASSES] = {"Base", "Plain", "Special", "Other", "Alone"};

static const char source[] =
    "#define ROOM 10000u\n"
    "__kernel void make(CLUMP_HEAP) { CLUMP_FOR_EACH_NEW(Base, self, i) Base_tag(self) = i; }\n"
    "__kernel void make_alone(CLUMP_HEAP) {\n"
    "    CLUMP_FOR_EACH_NEW(Alone, self, i) Alone_tag(self) = i;\n"
    "}\n"
    "__kernel void drop(CLUMP_HEAP, uint salt, uint share) {\n"
    "    CLUMP_FOR_EACH(Base, self) {\n"
    "        uint x = (self.id ^ salt) * 2654435761u;\n"
    "        if ((x >> 16) % 100u < share) Base_free(self);\n"
    "    }\n"
    "}\n"
    /* visits[] counts, refs[] has what was seen under each number. */
    "#define SEE(at, C)                                                                    \\\n"
    "    CLUMP_FOR_EACH_NUMBERED(C, self, i) {                                             \\\n"
    "        if (i >= ROOM) { atomic_inc(&visits[5u * ROOM]); continue; }                  \\\n"
    "        atomic_inc(&visits[(at) * ROOM + i]);                                         \\\n"
    "        refs[(at) * ROOM + i] = self.id;                                              \\\n"
    "    }\n"
    "__kernel void see(CLUMP_HEAP_NO_ALLOC, CLUMP_NUMBERS, __global uint *visits,\n"
    "                  __global uint *refs) {\n"
    "    SEE(0u, Base) SEE(1u, Plain) SEE(2u, Special) SEE(3u, Other) SEE(4u, Alone)\n"
    "    CLUMP_FOR_EACH_NUMBERED(Nobody, self, i) atomic_inc(&visits[5u * ROOM]);\n"
    "}\n"
    "static uint find(CLUMP_HEAP_NO_ALLOC, CLUMP_NUMBERS, uint at, uint i) {\n"
    "    if (at == 0u) return CLUMP_AT(Base, i).id;\n"
    "    if (at == 1u) return CLUMP_AT(Plain, i).id;\n"
    "    if (at == 2u) return CLUMP_AT(Special, i).id;\n"
    "    if (at == 3u) return CLUMP_AT(Other, i).id;\n"
    "    if (at == 4u) return CLUMP_AT(Alone, i).id;\n"
    "    return CLUMP_AT(Nobody, i).id;\n"
    "}\n"
    "__kernel void look_up(CLUMP_HEAP_NO_ALLOC, CLUMP_NUMBERS, __global uint *refs) {\n"
    "    for (uint k = (uint)get_global_id(0); k < 5u * ROOM; k += (uint)get_global_size(0))\n"
    "        refs[k] = find(clump_heap, clump_numbers, k / ROOM, k % ROOM);\n"
    "    if (get_global_id(0) == 0)\n"
    "        refs[5u * ROOM] = find(clump_heap, clump_numbers, 5u, 0u) |\n"
    "                          find(clump_heap, clump_numbers, 0u, ~0u) |\n"
    "                          CLUMP_AT(Base, 1ul << 32).id;\n"
    "}\n"
    /* What it sees stays as it was when the kernel was enqueued, though it changes the heap. */
    "__kernel void replace(CLUMP_HEAP, CLUMP_NUMBERS, uint tag) {\n"
    "    CLUMP_FOR_EACH_NUMBERED(Plain, self, i) {\n"
    "        if (i % 3u) continue;\n"
    "        Plain_free(self);\n"
    "        Other other = Other_new();\n"
    "        if (!Other_is_null(other)) Other_tag(other) = tag + i;\n"
    "    }\n"
    "}\n"
    "__kernel void leave(CLUMP_HEAP_NO_ALLOC, CLUMP_NUMBERS, __global uint *visits) {\n"
    "    CLUMP_FOR_EACH_NUMBERED(Base, self, i) { atomic_inc(&visits[i]); break; }\n"
    "    CLUMP_FOR_EACH_NUMBERED(Base, self, i) { atomic_inc(&visits[ROOM]); return; }\n"
    "}\n"
    "__kernel void plain(CLUMP_HEAP_NO_ALLOC, __global uint *out) {\n"
    "    CLUMP_FOR_EACH(Base, self) { /* the inner loop needs a list on every device */\n"
    "        atomic_inc(out);\n"
    "        CLUMP_FOR_WHOLE_CLASS(Base, other) break;\n"
    "    }\n"
    "}\n"
    "__kernel void plain_alone(CLUMP_HEAP_NO_ALLOC, __global uint *out) {\n"
    "    CLUMP_FOR_EACH(Alone, self) atomic_inc(out);\n"
    "}\n"
    "__kernel void sum(CLUMP_HEAP_NO_ALLOC, CLUMP_NUMBERS) {\n"
    "    uint all = 0;\n"
    "    CLUMP_FOR_EACH_NUMBERED(Base, self, i) all += i;\n"
    "    CLUMP_REDUCE(uint, all, CLUMP_SUM)\n"
    "}\n"
    "__kernel void new_numbered(CLUMP_HEAP, CLUMP_NUMBERS) {\n"
    "    CLUMP_FOR_EACH_NEW(Alone, self, i) Alone_tag(self) = i;\n"
    "}\n";

/* ---- A heap and its kernels ------------------------------------------------------------------ */

static cl_fixture fixture, *const f = &fixture;
static const char *options; /* whose loops */

enum {
    MAKE,
    MAKE_ALONE,
    DROP,
    SEE,
    LOOK_UP,
    REPLACE,
    LEAVE,
    PLAIN,
    PLAIN_ALONE,
    SUM,
    NEW_NUMBERED,
    KERNELS
};
static const char *const kernel_names[KERNELS] = {
    "make",  "make_alone", "drop",        "see", "look_up",     "replace",
    "leave", "plain",      "plain_alone", "sum", "new_numbered"};

typedef struct world {
    clump_heap *heap;
    clump_program *program;
    clump_kernel *kernels[KERNELS];
    cl_mem visits, refs;
} world;

static world open_world(void) {
    world w = {.heap = cl_fixture_heap(f, schema, 4u << 20, 2)};
    w.program = cl_fixture_program(f, w.heap, source, options, NULL);
    for (int i = 0; i < KERNELS; i++)
        w.kernels[i] = cl_fixture_kernel(f, w.program, kernel_names[i]);
    w.visits = cl_fixture_buffer(f, NULL, (CLASSES * ROOM + 1) * 4);
    w.refs = cl_fixture_buffer(f, NULL, (CLASSES * ROOM + 1) * 4);
    SET_ARG(f, w.kernels[SEE], 0, w.visits);
    SET_ARG(f, w.kernels[SEE], 1, w.refs);
    SET_ARG(f, w.kernels[LOOK_UP], 0, w.refs);
    SET_ARG(f, w.kernels[LEAVE], 0, w.visits);
    SET_ARG(f, w.kernels[PLAIN], 0, w.visits);
    SET_ARG(f, w.kernels[PLAIN_ALONE], 0, w.visits);
    return w;
}

static void close_world(world *w) {
    CHECK_HEAP(f, w->heap);
    clReleaseMemObject(w->visits);
    clReleaseMemObject(w->refs);
    for (int i = 0; i < KERNELS; i++) clump_kernel_destroy(w->kernels[i]);
    clump_program_destroy(w->program);
    clump_heap_destroy(w->heap);
}

/* The loops of GPUs need whole teams of 64, which a do-all of a CPU need not have. */
static void run(world *w, int kernel) {
    CHECK_OK(f, options ? clump_heap_launch(w->heap, w->kernels[kernel], 192, 64, NULL)
                        : clump_heap_do_all(w->heap, w->kernels[kernel], NULL));
}

static void drop(world *w, uint32_t salt, uint32_t share) {
    SET_ARG(f, w->kernels[DROP], 0, salt);
    SET_ARG(f, w->kernels[DROP], 1, share);
    run(w, DROP);
}

static uint32_t zeros[CLASSES * ROOM + 1], visits[CLASSES * ROOM + 1], seen[CLASSES * ROOM + 1],
    found[CLASSES * ROOM + 1];

static void see(world *w) {
    cl_fixture_write(f, w->visits, zeros, sizeof zeros);
    cl_fixture_write(f, w->refs, zeros, sizeof zeros);
    run(w, SEE);
    cl_fixture_read(f, w->visits, visits, sizeof visits);
    cl_fixture_read(f, w->refs, seen, sizeof seen);
}

static void look_up(world *w) {
    memset(found, 0xee, sizeof found);
    cl_fixture_write(f, w->refs, found, sizeof found);
    run(w, LOOK_UP);
    cl_fixture_read(f, w->refs, found, sizeof found);
}

/* Every object is visited once, under the number at which the host has it, and found by that. */
static uint32_t expect_numbers(world *w) {
    static uint32_t refs[ROOM];
    uint32_t all = 0;
    see(w);
    look_up(w);
    for (uint32_t c = 0; c < CLASSES; c++) {
        uint64_t count = 0;
        CHECK_OK(f, clump_heap_read_refs(w->heap, names[c], refs, ROOM, &count));
        assert_true(count <= ROOM);
        all += (uint32_t)count;
        for (uint32_t i = 0; i < ROOM; i++) {
            uint32_t at = c * ROOM + i, is_there = i < count, ref = is_there ? refs[i] : 0;
            if (visits[at] != is_there || seen[at] != ref || found[at] != ref)
                fail_msg("class %s, number %u of %u: %u visits, saw %#x, looked up %#x; it is %#x",
                         names[c], i, (uint32_t)count, visits[at], seen[at], found[at], ref);
        }
    }
    assert_int_equal(visits[CLASSES * ROOM], 0);
    assert_int_equal(found[CLASSES * ROOM], 0);
    return all;
}

/* ---- Tests ----------------------------------------------------------------------------------- */

static void test_numbers(void **state) {
    (void)state;
    /* In blocks of two rows: tiles of 32 blocks that are full, between others. */
    const uint32_t alone = 70 * 128 + 9;
    world w = open_world();
    assert_int_equal(expect_numbers(&w), 0); /* nobody is there */
    CHECK_OK(f, clump_heap_do_new(w.heap, w.kernels[MAKE], "Special", 1000, NULL, NULL));
    CHECK_OK(f, clump_heap_do_new(w.heap, w.kernels[MAKE_ALONE], "Alone", alone, NULL, NULL));
    CHECK_OK(f, clump_heap_do_new(w.heap, w.kernels[MAKE], "Plain", 2000, NULL, NULL));
    CHECK_OK(f, clump_heap_do_new(w.heap, w.kernels[MAKE], "Other", 300, NULL, NULL));
    assert_int_equal(expect_numbers(&w), 1000 * 3 + alone + 2000 * 2 + 300 * 2);
    static const uint32_t shares[] = {1, 10, 50, 90};
    for (uint32_t round = 0; round < 4; round++) { /* holes, empty rows, empty blocks */
        drop(&w, round * 977, shares[round]);
        assert_true(expect_numbers(&w) > alone);
        CHECK_OK(f, clump_heap_do_new(w.heap, w.kernels[MAKE], round % 2 ? "Plain" : "Special",
                                      150 * round, NULL, NULL));
        expect_numbers(&w);
    }
    drop(&w, 0, 100);
    assert_int_equal(expect_numbers(&w), alone);
    close_world(&w);
}

/* Object i of a do-new has the number i, whatever happens to other classes. */
static void test_do_new(void **state) {
    (void)state;
    world w = open_world();
    CHECK_OK(f, clump_heap_do_new(w.heap, w.kernels[MAKE], "Other", 100, NULL, NULL));
    CHECK_OK(f, clump_heap_do_new(w.heap, w.kernels[MAKE_ALONE], "Alone", 1500, NULL, NULL));
    for (uint32_t round = 0; round < 3; round++) {
        static uint32_t refs[ROOM], before[ROOM], tags[ROOM];
        look_up(&w);
        memcpy(refs, &found[4 * ROOM], sizeof refs);
        if (round) assert_memory_equal(refs, before, sizeof refs);
        memcpy(before, refs, sizeof before);
        CHECK_OK(f,
                 clump_heap_read_field(w.heap, "Alone", "tag", 0, sizeof *tags, tags, 1500, NULL));
        for (uint32_t i = 0; i < 1500; i++) {
            uint32_t tag = 0;
            assert_int_equal(tags[i], i);
            if (i % 100) continue;
            CHECK_OK(f, clump_heap_read_object_field(w.heap, "Alone", "tag", 0, refs[i],
                                                     sizeof(tag), &tag));
            assert_int_equal(tag, i);
        }
        drop(&w, round, 40);
        CHECK_OK(f, clump_heap_do_new(w.heap, w.kernels[MAKE], "Plain", 500, NULL, NULL));
    }
    close_world(&w);
}

/* A launch that makes and frees objects has the numbers of before, and spoils them for the next. */
static void test_changing(void **state) {
    (void)state;
    world w = open_world();
    CHECK_OK(f, clump_heap_do_new(w.heap, w.kernels[MAKE], "Plain", 1000, NULL, NULL));
    CHECK_OK(f, clump_heap_do_new(w.heap, w.kernels[MAKE], "Special", 500, NULL, NULL));
    expect_numbers(&w);
    uint32_t tag = 100000;
    SET_ARG(f, w.kernels[REPLACE], 0, tag);
    run(&w, REPLACE);
    static uint32_t tags[500];
    CHECK_OK(f, clump_heap_read_field(w.heap, "Other", "tag", 0, sizeof *tags, tags, 500, NULL));
    uint64_t sum = 0, count;
    for (uint32_t i = 0; i < 500; i++) sum += tags[i] - tag;
    assert_int_equal(sum, 3 * (499 * 500 / 2)); /* 0, 3, ... 1497, each once */
    CHECK_OK(f, clump_heap_read_count(w.heap, "Plain", &count));
    assert_int_equal(count, 1000);
    expect_numbers(&w);
    close_world(&w);
}

static void test_leaving(void **state) {
    (void)state;
    world w = open_world();
    CHECK_OK(f, clump_heap_do_new(w.heap, w.kernels[MAKE], "Plain", 1000, NULL, NULL));
    cl_fixture_write(f, w.visits, zeros, sizeof zeros);
    CHECK_OK(f, clump_heap_launch(w.heap, w.kernels[LEAVE], 64, 64, NULL));
    cl_fixture_read(f, w.visits, visits, sizeof visits);
    uint32_t left = 0;
    for (uint32_t i = 0; i < ROOM; i++) {
        assert_true(visits[i] <= 1);
        left += visits[i];
    }
    assert_true(visits[0] == 1 && left < 1000); /* each work-item saw one object, and only one */
    assert_int_equal(visits[ROOM], left);
    uint32_t all = 0;
    if (!options) {
        CHECK_OK(f, clump_heap_reduce(w.heap, w.kernels[SUM], sizeof all, &all, NULL));
        assert_int_equal(all, 999 * 1000 / 2);
    }
    close_world(&w);
}

static uint32_t launches_of(world *w, int kernel) {
    cl_fixture_launches = 0;
    run(w, kernel);
    return cl_fixture_launches;
}

/* Numbers come with the list: no launch of their own, except where the list was made without,
 * because nobody asked for those of the list before. */
static void test_launches(void **state) {
    (void)state;
    world w = open_world();
    CHECK_OK(f, clump_heap_do_new(w.heap, w.kernels[MAKE_ALONE], "Alone", 1000, NULL, NULL));
    assert_int_equal(launches_of(&w, PLAIN), 3);
    assert_int_equal(launches_of(&w, PLAIN), 1);
    assert_int_equal(launches_of(&w, SEE), 3); /* the first that wants numbers */
    assert_int_equal(launches_of(&w, SEE), 1);
    assert_int_equal(launches_of(&w, LOOK_UP), 1);
    drop(&w, 0, 10);
    assert_int_equal(launches_of(&w, PLAIN_ALONE), 1); /* nobody changed that class */
    assert_int_equal(launches_of(&w, PLAIN), 3);
    assert_int_equal(launches_of(&w, SEE), 1);
    uint64_t count;
    CHECK_OK(f,
             clump_heap_read_refs(w.heap, "Alone", NULL, 0, &count)); /* numbers in its own way */
    assert_int_equal(launches_of(&w, PLAIN), 1);
    assert_int_equal(launches_of(&w, SEE), 3);
    for (uint32_t round = 0; round < 2; round++) {
        drop(&w, round, 10);
        assert_int_equal(launches_of(&w, PLAIN), 3);
    }
    assert_int_equal(launches_of(&w, SEE), 3);
    expect_numbers(&w);
    close_world(&w);
}

static void expect_unbuilt(world *w, const char *text) {
    cl_fixture_log kept = {.source = text};
    clump_program_desc desc = {.size = sizeof desc,
                               .heap = w->heap,
                               .source = text,
                               .options = options,
                               .failed = cl_fixture_keep_log,
                               .user = &kept};
    clump_program *program;
    CHECK_STATUS(f, clump_program_create(&desc, &program, NULL), CLUMP_ERR_BUILD);
    assert_non_null(strstr(kept.log, "CLUMP_NUMBERS"));
}

static void test_refused(void **state) {
    (void)state;
    world w = open_world();
    cl_fixture_expect_words(
        clump_context_get_error(f->clump),
        clump_heap_do_new(w.heap, w.kernels[NEW_NUMBERED], "Alone", 10, NULL, NULL),
        CLUMP_ERR_USAGE, "CLUMP_NUMBERS", "do-new", __LINE__);
    cl_fixture_expect_words(clump_context_get_error(f->clump),
                            clump_kernel_set_arg(w.kernels[SEE], 2, 4, &cl_fixture_launches),
                            CLUMP_ERR_USAGE, "kernel see has 2", "set an argument", __LINE__);
    expect_unbuilt(&w,
                   "__kernel void f(CLUMP_HEAP_NO_ALLOC) {\n"
                   "    CLUMP_FOR_EACH_NUMBERED(Alone, self, i) Alone_tag(self) = i;\n}\n");
    expect_unbuilt(&w,
                   "__kernel void f(CLUMP_HEAP_NO_ALLOC, uint i) {\n"
                   "    Alone_tag(CLUMP_AT(Alone, i)) = 1u;\n}\n");
    close_world(&w);
}

int main(void) {
    clump_cl_functions cl = {.size = sizeof cl,
#define MEMBER(name, result, parameters) .name = cl##name,
                             CLUMP_CL_FUNCTION_LIST(MEMBER)
#undef MEMBER
    };
    cl.EnqueueNDRangeKernel = cl_fixture_count_launch;
    int result = cl_fixture_open(f, &(cl_fixture_desc){.cl = &cl});
    if (result) return result;
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_numbers),  cmocka_unit_test(test_do_new),
        cmocka_unit_test(test_changing), cmocka_unit_test(test_leaving),
        cmocka_unit_test(test_launches), cmocka_unit_test(test_refused)};
    result = cmocka_run_group_tests_name("as the device does", tests, NULL, NULL);
    options = "-DCLUMPI_ROW_PER_ITEM=0";
    result |= cmocka_run_group_tests_name("as GPUs do", tests, NULL, NULL);
    cl_fixture_close(f);
    return result;
}
