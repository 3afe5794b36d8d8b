/* Bad input to compaction, registered references and handles: the right status, words that name
 * what is wrong, the heap unchanged to the last bit. And host memory that runs out: every request
 * of a session is refused once, after which the heap is as before or compact, and the same call
 * works.
 *
 * Calls that only the device can refuse may use the heap's scratch areas; nothing else.
 * Read first: include/clump/compact.h, include/clump/refs.h.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench/papers/merge/merge.h"
#include "cl_fixture.h"
#include "heap/access.h"

static const char schema_text[] =
    "abstract class Agent { uint tag; ref Agent friend; }"
    "class Body : Agent { float x; uint2 pair; ushort small; ref Body both[2]; uint key; }"
    "class Star : Body { ulong mass; }"
    "class Rock { uint tag; int depth; }";

static const char source[] =
    "__kernel void make(CLUMP_HEAP, uint base) {\n"
    "    CLUMP_FOR_EACH_NEW(Agent, self, i) {\n"
    "        Agent_tag(self) = base + i;\n"
    "        Agent_friend(self) = self;\n"
    "        Body b = Agent_as_Body(self);\n"
    "        Body_key(b) = i * 7u % 100u;\n"
    "        Body_both(b, 0) = b;\n"
    "        Body_both(b, 1) = Body_null;\n"
    "    }\n"
    "}\n"
    "__kernel void drop(CLUMP_HEAP, uint keep) {\n"
    "    CLUMP_FOR_EACH(Agent, self) if (Agent_tag(self) % keep) Agent_free(self);\n"
    "}\n"
    "__kernel void good_keys(CLUMP_HEAP_NO_ALLOC, __global uint *keys) {\n"
    "    CLUMP_FOR_EACH_KEYED(Agent, self, number) keys[number] = Agent_tag(self) % 10u;\n"
    "}\n"
    "__kernel void more_keys(CLUMP_HEAP_NO_ALLOC, __global uint *keys, uint modulus) {\n"
    "    CLUMP_FOR_EACH_KEYED(Agent, self, number) keys[number] = Agent_tag(self) % modulus;\n"
    "}\n"
    "__kernel void no_keys(CLUMP_HEAP_NO_ALLOC) {\n"
    "    CLUMP_FOR_EACH(Agent, self) Agent_tag(self) += 1u;\n"
    "}\n"
    "__kernel void rocks(CLUMP_HEAP, uint away) {\n"
    "    if (!away) CLUMP_FOR_EACH_NEW(Rock, self, i) Rock_depth(self) = (int)i;\n"
    "    if (away) CLUMP_FOR_EACH(Rock, self) Rock_free(self);\n"
    "}\n"
    "__kernel void free_keys(CLUMP_HEAP, __global uint *keys) {\n"
    "    CLUMP_FOR_EACH_KEYED(Agent, self, number) { keys[number] = 0; Agent_free(self); }\n"
    "}\n";

#define BODIES 4000u
#define STARS 1000u
#define KEEP 4u
#define OBJECTS (BODIES / KEEP + STARS / KEEP)

/* Host memory that can be refused. */
static struct {
    uint64_t requests, refuse_at; /* so far; the one to refuse, from 1; 0: none */
    long blocks;
} memory;

static struct {
    cl_fixture on;
    clump_heap *heap;
    clump_program *program;
    clump_kernel *make, *drop, *good_keys, *more_keys, *no_keys, *free_keys;
    uint8_t *before, *after; /* the buffer */
    uint64_t bytes, scratch_from, scratch_to;
    clump_ref refs[OBJECTS];
} t;

/* ---- What must hold after a refused call ----------------------------------------------------- */

static void fetch(uint8_t *image) {
    cl_fixture_heap_read(t.heap, image);
}

/* scratch: 1 if the areas in which the library's kernels work may differ. */
static void check_unchanged(int scratch, const char *call, int line) {
    fetch(t.after);
    if (scratch) {
        memcpy(t.after + t.scratch_from, t.before + t.scratch_from, t.scratch_to - t.scratch_from);
    }
    for (uint64_t i = 0; i < t.bytes; i++)
        if (t.before[i] != t.after[i])
            fail_msg("line %d: %s was refused but changed byte %llu of the heap", line, call,
                     (unsigned long long)i);
    CHECK_OK(&t.on, clump_heap_check(t.heap));
}

#define REFUSED(status, words, call)                                                               \
    do {                                                                                           \
        fetch(t.before);                                                                           \
        clump_status found_ = (call);                                                              \
        cl_fixture_expect_words(clump_context_get_error(t.on.clump), found_, (status), (words),    \
                                #call, __LINE__);                                                  \
        check_unchanged((status) == CLUMP_ERR_DEVICE_MEMORY, #call, __LINE__);                     \
    } while (0)

/* There is no object to ask for words. */
#define REFUSED_SILENTLY(call)                                                                     \
    do {                                                                                           \
        fetch(t.before);                                                                           \
        assert_int_equal((call), CLUMP_ERR_USAGE);                                                 \
        check_unchanged(0, #call, __LINE__);                                                       \
    } while (0)

#define USAGE CLUMP_ERR_USAGE
#define NOT_FOUND CLUMP_ERR_NOT_FOUND

/* A report must be untouched or nothing but zeros when the call fails. */
static clump_status compact(clump_compact_desc desc, const bench_merge *merge) {
    static const clump_compact_report nothing = {.size = sizeof nothing};
    clump_compact_report report = {.size = sizeof report}, poison = {.size = sizeof poison};
    memset(&poison, 0xee, sizeof poison);
    poison.size = sizeof poison;
    report = poison;
    clump_status status = bench_merge_compact(t.heap, &desc, merge, &report, NULL);
    if (status && memcmp(&report, &poison, sizeof report) != 0)
        assert_memory_equal(&report, &nothing, sizeof report);
    return status;
}
#define COMPACT(...)                                                                               \
    compact((clump_compact_desc){.size = sizeof(clump_compact_desc), __VA_ARGS__}, NULL)
#define BRACED(...)                                                                                \
    { __VA_ARGS__ }
#define MERGE(merge, ...)                                                                          \
    compact((clump_compact_desc){.size = sizeof(clump_compact_desc), __VA_ARGS__},                 \
            &(const bench_merge)BRACED merge)

static void *request(void *user, size_t bytes) {
    memory.requests++;
    if (memory.requests == memory.refuse_at) return NULL;
    void *p = malloc(bytes);
    memory.blocks += p != NULL;
    return p;
}

static void *request_more(void *user, void *old, size_t bytes) {
    memory.requests++;
    if (memory.requests == memory.refuse_at) return NULL;
    void *p = realloc(old, bytes);
    memory.blocks += p && !old;
    return p;
}

static void give_back(void *user, void *old) {
    memory.blocks -= old != NULL;
    free(old);
}

/* The fixture's context, but with memory of ours. */
static void own_memory(void) {
    clump_error error;
    clump_personality personality = t.on.capabilities->personality;
    clump_context_destroy(t.on.clump);
    clump_context_desc desc = {
        .size = sizeof desc,
        .context = t.on.context,
        .device = t.on.device,
        .queue = t.on.queue,
        .personality = personality,
        .allocator = {request, request_more, give_back, NULL},
    };
    if (clump_context_create(&desc, &t.on.clump, &error)) fail_msg("%s", error.message);
    t.on.capabilities = clump_context_get_info(t.on.clump)->capabilities;
}

static int set_up(void **state) {
    own_memory();
    t.heap = cl_fixture_heap_of_blocks(&t.on, schema_text, 150, 1);
    t.program = cl_fixture_program(&t.on, t.heap, source, NULL, NULL);
    t.make = cl_fixture_kernel(&t.on, t.program, "make");
    t.drop = cl_fixture_kernel(&t.on, t.program, "drop");
    t.good_keys = cl_fixture_kernel(&t.on, t.program, "good_keys");
    t.more_keys = cl_fixture_kernel(&t.on, t.program, "more_keys");
    t.no_keys = cl_fixture_kernel(&t.on, t.program, "no_keys");
    t.free_keys = cl_fixture_kernel(&t.on, t.program, "free_keys");
    uint32_t base = 0, keep = KEEP;
    uint64_t made = 0, count = 0;
    SET_ARG(&t.on, t.drop, 0, keep);
    SET_ARG(&t.on, t.make, 0, base);
    CHECK_OK(&t.on, clump_heap_do_new(t.heap, t.make, "Body", BODIES, &made, NULL));
    assert_int_equal(made, BODIES);
    base = BODIES;
    SET_ARG(&t.on, t.make, 0, base);
    CHECK_OK(&t.on, clump_heap_do_new(t.heap, t.make, "Star", STARS, &made, NULL));
    assert_int_equal(made, STARS);
    CHECK_OK(&t.on, clump_heap_do_all(t.heap, t.drop, NULL));
    CHECK_OK(&t.on, clump_heap_read_refs(t.heap, "Agent", t.refs, OBJECTS, &count));
    assert_int_equal(count, OBJECTS);
    const clumpi_header *h = &clumpi_heap_geometry(t.heap)->header;
    t.bytes = clump_heap_get_info(t.heap)->bytes;
    t.scratch_from = (uint64_t)h->at_hints * CLUMPI_UNIT +
                     (uint64_t)(h->class_count + 1) * h->hint_words * sizeof(uint32_t);
    t.scratch_to = (uint64_t)h->first_block * h->block_granules * h->granule_bytes;
    t.before = malloc(t.bytes);
    t.after = malloc(t.bytes);
    assert_true(t.before && t.after);
    CHECK_HEAP(&t.on, t.heap);
    return 0;
}

static int tear_down(void **state) {
    clump_kernel_destroy(t.make);
    clump_kernel_destroy(t.drop);
    clump_kernel_destroy(t.good_keys);
    clump_kernel_destroy(t.more_keys);
    clump_kernel_destroy(t.no_keys);
    clump_kernel_destroy(t.free_keys);
    clump_program_destroy(t.program);
    clump_heap_destroy(t.heap);
    free(t.before);
    free(t.after);
    return 0;
}

/* ---- Classes and strategies ------------------------------------------------------------------ */

static void classes(void **state) {
    static const char *const unknown[] = {"Body", "Bod"}, *const none[] = {NULL};
    static const char *const empty[] = {""};
    REFUSED(NOT_FOUND, "\"Bod\"", COMPACT(.classes = unknown, .class_count = 2));
    REFUSED(NOT_FOUND, "\"\"", COMPACT(.classes = empty, .class_count = 1));
    REFUSED(NOT_FOUND, "null", COMPACT(.classes = none, .class_count = 1));
    REFUSED(USAGE, "class_count is 3", COMPACT(.class_count = 3));
    REFUSED(NOT_FOUND, "\"Bod\"", MERGE((.factor = 1), .classes = unknown, .class_count = 2));
    REFUSED_SILENTLY(clump_heap_compact(NULL, NULL, NULL, NULL));
}

static void planner_values(void **state) {
    REFUSED(USAGE, "slack is -0.001", COMPACT(.slack = -0.001));
    REFUSED(USAGE, "slack is 1.5", COMPACT(.slack = 1.5));
    REFUSED(USAGE, "slack", COMPACT(.slack = NAN));
    REFUSED(USAGE, "slack", COMPACT(.slack = INFINITY));
    REFUSED(USAGE, "max_us is -1", COMPACT(.max_us = -1));
    REFUSED(USAGE, "max_us", COMPACT(.max_us = NAN));
    REFUSED(USAGE, "max_us", COMPACT(.max_us = INFINITY));
    REFUSED(USAGE, "max_us", COMPACT(.max_us = -INFINITY));
    REFUSED(USAGE, "max_moves", COMPACT(.max_us = 5, .max_moves = 5));
}

static void merge_values(void **state) {
    static const char *const star[] = {"Star"};
    uint32_t capacity = cl_fixture_capacity(t.heap, "Star");
    assert_true(capacity <= cl_fixture_capacity(t.heap, "Body"));
    REFUSED(USAGE, "factor is 0", MERGE((0)));
    REFUSED(USAGE, "factor is 4294967295", MERGE((.factor = UINT32_MAX)));
    REFUSED(USAGE, "Star", MERGE((.factor = capacity), .classes = star, .class_count = 1));
    REFUSED(USAGE, "factor", MERGE((.factor = capacity)));
    REFUSED(USAGE, "slack", MERGE((.factor = 1), .slack = 0.1));
    REFUSED(USAGE, "slack", MERGE((.factor = 1), .slack = NAN));
    REFUSED(USAGE, "steps", MERGE((.factor = 1), .max_moves = 1));
    REFUSED(USAGE, "steps", MERGE((.factor = 1), .max_us = 1));
    REFUSED(USAGE, "order", MERGE((.factor = 1), .order = CLUMP_ORDER_ADDRESS));
    REFUSED(USAGE, "order", MERGE((.factor = 1), .order_field = "key"));
    REFUSED(USAGE, "order", MERGE((.factor = 1), .key_kernel = t.good_keys));
    REFUSED(USAGE, "3", MERGE((.factor = 1, .rewrite = (bench_merge_rewrite)3)));
    REFUSED(USAGE, "-1", MERGE((.factor = 1, .rewrite = (bench_merge_rewrite)-1)));
    REFUSED(USAGE, "candidates", MERGE((.factor = 1, .candidates = (bench_merge_candidates)2)));
}

static void wait_lists(void **state) {
    clump_sync sync = {.wait_count = 1};
    cl_event event = NULL;
    REFUSED(USAGE, "clump_heap_compact", clump_heap_compact(t.heap, NULL, NULL, &sync));
    sync = (clump_sync){.wait_list = &event};
    REFUSED(USAGE, "clump_heap_compact", clump_heap_compact(t.heap, NULL, NULL, &sync));
}

/* ---- Orders ---------------------------------------------------------------------------------- */

#define FIELD .order = CLUMP_ORDER_FIELD
#define KEY .order = CLUMP_ORDER_KEY
#define ONE(name) .classes = (const char *const[]){name}, .class_count = 1

static void order_fields(void **state) {
    REFUSED(USAGE, "order 4", COMPACT(.order = (clump_compact_order)4));
    REFUSED(USAGE, "order -1", COMPACT(.order = (clump_compact_order)-1));
    REFUSED(USAGE, "order_field", COMPACT(FIELD, ONE("Body")));
    REFUSED(NOT_FOUND, "\"nope\"", COMPACT(FIELD, .order_field = "nope", ONE("Body")));
    REFUSED(NOT_FOUND, "Body", COMPACT(FIELD, .order_field = "mass", ONE("Body")));
    REFUSED(NOT_FOUND, "\"\"", COMPACT(FIELD, .order_field = "", ONE("Body")));
    REFUSED(NOT_FOUND, "Rock", COMPACT(FIELD, .order_field = "key")); /* all have tag, not key */
    REFUSED(USAGE, "field x", COMPACT(FIELD, .order_field = "x", ONE("Body")));
    REFUSED(USAGE, "field small", COMPACT(FIELD, .order_field = "small", ONE("Body")));
    REFUSED(USAGE, "field pair", COMPACT(FIELD, .order_field = "pair", ONE("Body")));
    REFUSED(USAGE, "field both", COMPACT(FIELD, .order_field = "both", ONE("Body")));
    REFUSED(USAGE, "field mass", COMPACT(FIELD, .order_field = "mass", ONE("Star")));
    REFUSED(USAGE, "field depth", COMPACT(FIELD, .order_field = "depth", ONE("Rock")));
    REFUSED(USAGE, "order_field", COMPACT(.order_field = "key", ONE("Body")));
    REFUSED(USAGE, "order_field",
            COMPACT(.order = CLUMP_ORDER_ADDRESS, .order_field = "key", ONE("Body")));
    REFUSED(USAGE, "steps", COMPACT(FIELD, .order_field = "key", ONE("Body"), .max_moves = 10));
    REFUSED(USAGE, "steps", COMPACT(.order = CLUMP_ORDER_ADDRESS, .max_us = 10));
    REFUSED(USAGE, "slack", COMPACT(.order = CLUMP_ORDER_ADDRESS, .slack = 0.5));
}

static void key_kernels(void **state) {
    REFUSED(USAGE, "key_kernel", COMPACT(KEY, ONE("Agent")));
    REFUSED(USAGE, "key_kernel", COMPACT(KEY, ONE("Agent"), .key_kernel = t.no_keys));
    REFUSED(USAGE, "key_kernel", COMPACT(.key_kernel = t.good_keys));
    REFUSED(USAGE, "CLUMP_HEAP_NO_ALLOC", COMPACT(KEY, ONE("Agent"), .key_kernel = t.free_keys));
    /* Of a heap with another layout: found before anything moves, but perhaps not at once. */
    clump_heap *other = cl_fixture_heap(
        &t.on, "abstract class Agent { uint tag; } class Body : Agent { ulong4 x; }", 1u << 20, 0);
    clump_program *program = cl_fixture_program(
        &t.on, other,
        "__kernel void keys(CLUMP_HEAP_NO_ALLOC, __global uint *keys) {\n"
        "    CLUMP_FOR_EACH_KEYED(Agent, self, number) keys[number] = Agent_tag(self);\n"
        "}\n",
        NULL, NULL);
    clump_kernel *keys = cl_fixture_kernel(&t.on, program, "keys");
    /* What is reserved is given back before the objects are listed. */
    CHECK_OK(&t.on, clump_heap_read_stats(t.heap, NULL, NULL, 0));
    fetch(t.before);
    cl_fixture_expect_words(clump_context_get_error(t.on.clump),
                            COMPACT(KEY, ONE("Body"), .key_kernel = keys), USAGE, "layout",
                            "other layout", __LINE__);
    check_unchanged(1, "other layout", __LINE__);
    clump_kernel_destroy(keys);
    clump_program_destroy(program);
    clump_heap_destroy(other);
    /* One more parameter, which was never set. */
    fetch(t.before);
    cl_fixture_expect_words(clump_context_get_error(t.on.clump),
                            COMPACT(KEY, ONE("Body"), .key_kernel = t.more_keys), USAGE,
                            "parameter 1", "not set", __LINE__);
    check_unchanged(1, "not set", __LINE__);
}

/* Blocks that an order needs are taken by others: the message says how many are missing. */
static void room_for_orders(void **state) {
    uint64_t made, free_slots, count;
    uint32_t base = BODIES + STARS, keep = KEEP, away = 0;
    /* Classes without objects need no room; of others also the last of the schema is looked at. */
    clump_kernel *rocks = cl_fixture_kernel(&t.on, t.program, "rocks");
    SET_ARG(&t.on, rocks, 0, away);
    CHECK_OK(&t.on, clump_heap_do_new(t.heap, rocks, "Rock", 1, &made, NULL));
    free_slots = cl_fixture_free_slots(&t.on, t.heap, "Star");
    SET_ARG(&t.on, t.make, 0, base);
    CHECK_OK(&t.on, clump_heap_do_new(t.heap, t.make, "Star", free_slots, &made, NULL));
    assert_int_equal(made, free_slots);
    REFUSED(CLUMP_ERR_DEVICE_MEMORY, "class Body",
            COMPACT(.order = CLUMP_ORDER_ADDRESS, ONE("Agent")));
    REFUSED(CLUMP_ERR_DEVICE_MEMORY, "class Star",
            COMPACT(.order = CLUMP_ORDER_ADDRESS, ONE("Star")));
    REFUSED(CLUMP_ERR_DEVICE_MEMORY, "class Star",
            COMPACT(FIELD, .order_field = "key", ONE("Star")));
    REFUSED(CLUMP_ERR_DEVICE_MEMORY, "class Body",
            COMPACT(KEY, ONE("Agent"), .key_kernel = t.good_keys));
    REFUSED(CLUMP_ERR_DEVICE_MEMORY, "class Rock",
            COMPACT(.order = CLUMP_ORDER_ADDRESS, ONE("Rock")));
    away = 1;
    SET_ARG(&t.on, rocks, 0, away);
    CHECK_OK(&t.on, clump_heap_do_all(t.heap, rocks, NULL));
    clump_kernel_destroy(rocks);
    CHECK_OK(&t.on, COMPACT(.order = CLUMP_ORDER_ADDRESS, ONE("Rock")));
    /* Away with the new ones: tags that are no multiple. */
    CHECK_OK(&t.on, clump_heap_read_count(t.heap, "Agent", &count));
    uint32_t *tags = malloc(count * sizeof *tags);
    CHECK_OK(&t.on,
             clump_heap_read_field(t.heap, "Agent", "tag", 0, sizeof *tags, tags, count, NULL));
    for (uint64_t i = 0; i < count; i++)
        if (tags[i] >= base) tags[i] = 1;
    CHECK_OK(&t.on, clump_heap_write_field(t.heap, "Agent", "tag", 0, sizeof *tags, tags, count));
    free(tags);
    SET_ARG(&t.on, t.drop, 0, keep);
    CHECK_OK(&t.on, clump_heap_do_all(t.heap, t.drop, NULL));
    CHECK_OK(&t.on, clump_heap_read_count(t.heap, "Agent", &count));
    assert_int_equal(count, OBJECTS);
    CHECK_HEAP(&t.on, t.heap);
}

/* ---- References outside ---------------------------------------------------------------------- */

static clump_status enlist(cl_mem buffer, uint64_t offset, uint32_t stride, uint64_t count) {
    clump_refs *refs = (clump_refs *)&t;
    clump_refs_desc d = {
        .size = sizeof d, .buffer = buffer, .offset = offset, .stride = stride, .count = count};
    clump_status status = clump_refs_create(t.heap, &d, &refs, NULL);
    assert_int_equal(refs == NULL, status != CLUMP_OK);
    if (!status) clump_refs_destroy(refs);
    return status;
}

/* 100 references of which a word at `at` of a buffer says how many there are. */
static clump_status enlist_counted(cl_mem buffer, cl_mem counted, uint64_t at) {
    clump_refs *refs = (clump_refs *)&t;
    clump_refs_desc d = {
        .size = sizeof d, .buffer = buffer, .count = 100, .counted = counted, .counted_at = at};
    clump_status status = clump_refs_create(t.heap, &d, &refs, NULL);
    assert_int_equal(refs == NULL, status != CLUMP_OK);
    if (!status) clump_refs_destroy(refs);
    return status;
}

static void registering(void **state) {
    cl_mem buffer = cl_fixture_buffer(&t.on, NULL, 400);
    clump_refs *refs = (clump_refs *)&t;
    clump_refs_desc good = {.size = sizeof good, .buffer = buffer, .count = 100};
    REFUSED_SILENTLY(clump_refs_create(NULL, &good, &refs, NULL));
    REFUSED(USAGE, "clump_refs_create", clump_refs_create(t.heap, NULL, &refs, NULL));
    assert_null(refs);
    REFUSED(USAGE, "clump_refs_create", clump_refs_create(t.heap, &good, NULL, NULL));
    REFUSED(USAGE, "buffer", enlist(NULL, 0, 0, 100));
    REFUSED(USAGE, "at least one", enlist(buffer, 0, 0, 0));
    REFUSED(USAGE, "offset 2", enlist(buffer, 2, 0, 1));
    REFUSED(USAGE, "offset 399", enlist(buffer, 399, 4, 1));
    REFUSED(USAGE, "stride 6", enlist(buffer, 0, 6, 1));
    REFUSED(USAGE, "stride 1", enlist(buffer, 0, 1, 1));
    REFUSED(USAGE, "400 bytes", enlist(buffer, 0, 0, 101));
    REFUSED(USAGE, "400 bytes", enlist(buffer, 4, 0, 100));
    REFUSED(USAGE, "400 bytes", enlist(buffer, 400, 0, 1));
    REFUSED(USAGE, "400 bytes", enlist(buffer, UINT64_MAX - 3, 0, 1));
    REFUSED(USAGE, "400 bytes", enlist(buffer, 0, 0, UINT64_MAX));
    REFUSED(USAGE, "400 bytes", enlist(buffer, 0, 0, UINT64_C(1) << 62));
    REFUSED(USAGE, "400 bytes", enlist(buffer, 0, 12, 35));
    REFUSED(USAGE, "400 bytes", enlist(buffer, 0, UINT32_MAX - 3, 2));
    /* What just fits. */
    CHECK_OK(&t.on, enlist(buffer, 0, 0, 100));
    CHECK_OK(&t.on, enlist(buffer, 396, 0, 1));
    CHECK_OK(&t.on, enlist(buffer, 0, 12, 34));
    CHECK_OK(&t.on, enlist(buffer, 4, UINT32_MAX - 3, 1));
    cl_mem word = cl_fixture_buffer(&t.on, NULL, 8);
    REFUSED(USAGE, "byte 2,", enlist_counted(buffer, word, 2));
    REFUSED(USAGE, "byte 8,", enlist_counted(buffer, word, 8));
    REFUSED(USAGE, "buffer of 8", enlist_counted(buffer, word, UINT64_MAX - 3));
    CHECK_OK(&t.on, enlist_counted(buffer, word, 4));
    cl_mem foreign = cl_fixture_foreign_buffer(&t.on, 400);
    REFUSED(USAGE, "the buffer of references belongs to another cl_context",
            enlist(foreign, 0, 0, 1));
    REFUSED(USAGE, "the buffer of a count belongs to another cl_context",
            enlist_counted(buffer, foreign, 4));
    clReleaseMemObject(foreign);
    cl_uint word_held = 0;
    CHECK_CL(clGetMemObjectInfo(word, CL_MEM_REFERENCE_COUNT, sizeof word_held, &word_held, NULL));
    assert_int_equal(word_held, 1);
    clReleaseMemObject(word);
    clump_refs_destroy(NULL);
    cl_uint held = 0;
    CHECK_CL(clGetMemObjectInfo(buffer, CL_MEM_REFERENCE_COUNT, sizeof held, &held, NULL));
    assert_int_equal(held, 1);
    /* Retained as long as it is registered. */
    CHECK_OK(&t.on, clump_refs_create(t.heap, &good, &refs, NULL));
    CHECK_CL(clGetMemObjectInfo(buffer, CL_MEM_REFERENCE_COUNT, sizeof held, &held, NULL));
    assert_int_equal(held, 2);
    clump_refs_destroy(refs);
    clReleaseMemObject(buffer);
}

static void handles(void **state) {
    clump_handle a = 77, b;
    clump_ref ref = 77, dead = t.refs[OBJECTS - 1] ^ 1u;
    for (uint32_t i = 0; i < OBJECTS; i++) assert_int_not_equal(t.refs[i], dead);
    REFUSED_SILENTLY(clump_heap_create_handle(NULL, t.refs[0], &a));
    REFUSED_SILENTLY(clump_heap_read_handle(NULL, 1, &ref));
    REFUSED_SILENTLY(clump_heap_destroy_handle(NULL, 1));
    /* Before there is any. */
    REFUSED(USAGE, "1 is not a handle", clump_heap_read_handle(t.heap, 1, &ref));
    REFUSED(USAGE, "1 is not a handle", clump_heap_destroy_handle(t.heap, 1));
    REFUSED(USAGE, "a pointer", clump_heap_create_handle(t.heap, t.refs[0], NULL));
    REFUSED(CLUMP_ERR_REFERENCE, "", clump_heap_create_handle(t.heap, dead, &a));
    REFUSED(CLUMP_ERR_REFERENCE, "", clump_heap_create_handle(t.heap, 0, &a));
    REFUSED(CLUMP_ERR_REFERENCE, "", clump_heap_create_handle(t.heap, 63, &a));
    REFUSED(CLUMP_ERR_REFERENCE, "", clump_heap_create_handle(t.heap, UINT32_MAX, &a));
    assert_int_equal(a, 0);
    CHECK_OK(&t.on, clump_heap_create_handle(t.heap, t.refs[0], &a));
    CHECK_OK(&t.on, clump_heap_create_handle(t.heap, t.refs[0], &b)); /* twice the same object */
    assert_true(a && b && a != b);
    REFUSED(USAGE, "a pointer", clump_heap_read_handle(t.heap, a, NULL));
    REFUSED(USAGE, "0 is not a handle", clump_heap_read_handle(t.heap, 0, &ref));
    assert_int_equal(ref, 0);
    REFUSED(USAGE, "4294967295", clump_heap_read_handle(t.heap, UINT32_MAX, &ref));
    REFUSED(USAGE, "0 is not a handle", clump_heap_destroy_handle(t.heap, 0));
    REFUSED(USAGE, "4294967295", clump_heap_destroy_handle(t.heap, UINT32_MAX));
    CHECK_OK(&t.on, clump_heap_destroy_handle(t.heap, a));
    REFUSED(USAGE, "not a handle", clump_heap_destroy_handle(t.heap, a));
    REFUSED(USAGE, "not a handle", clump_heap_read_handle(t.heap, a, &ref));
    CHECK_OK(&t.on, clump_heap_read_handle(t.heap, b, &ref));
    assert_int_equal(ref, t.refs[0]);
    CHECK_OK(&t.on, clump_heap_destroy_handle(t.heap, b));
}

/* ---- Memory that runs out -------------------------------------------------------------------- */

/* Objects by tag, as the API tells them; references name who they should. */
static void check_objects(void) {
    static uint32_t tags[OBJECTS], friends[OBJECTS];
    uint64_t count;
    CHECK_HEAP(&t.on, t.heap);
    CHECK_OK(&t.on, clump_heap_read_refs(t.heap, "Agent", t.refs, OBJECTS, &count));
    assert_int_equal(count, OBJECTS);
    CHECK_OK(&t.on,
             clump_heap_read_field(t.heap, "Agent", "tag", 0, sizeof *tags, tags, count, NULL));
    CHECK_OK(&t.on, clump_heap_read_field(t.heap, "Agent", "friend", 0, sizeof *friends, friends,
                                          count, NULL));
    uint64_t sum = 0;
    for (uint64_t i = 0; i < count; i++) {
        assert_int_equal(tags[i] % KEEP, 0);
        assert_int_equal(friends[i], t.refs[i]);
        sum += tags[i];
    }
    assert_int_equal(sum, KEEP * (uint64_t)OBJECTS * (OBJECTS - 1) / 2);
}

static void memory_runs_out(void **state) {
    static const char *const body[] = {"Body"};
    const clump_compact_desc descs[] = {
        {.size = sizeof(clump_compact_desc), .max_moves = 100},
        {.size = sizeof(clump_compact_desc),
         .classes = body,
         .class_count = 1,
         .order = CLUMP_ORDER_ADDRESS},
        {.size = sizeof(clump_compact_desc),
         .classes = body,
         .class_count = 1,
         .order = CLUMP_ORDER_FIELD,
         .order_field = "key"},
        {.size = sizeof(clump_compact_desc),
         .classes = body,
         .class_count = 1,
         .order = CLUMP_ORDER_KEY,
         .key_kernel = t.good_keys},
        {.size = sizeof(clump_compact_desc), .null_dangling = 1},
        {.size = sizeof(clump_compact_desc)},
        {.size = sizeof(clump_compact_desc), .null_dangling = 1},
    };
    static const bench_merge one = {.factor = 1},
                             two = {.factor = 2, .rewrite = BENCH_REWRITE_GLOBAL};
    const bench_merge *const merges[sizeof descs / sizeof *descs] = {[5] = &one, [6] = &two};
    cl_mem buffer = cl_fixture_buffer(&t.on, t.refs, sizeof t.refs);
    uint8_t *start = malloc(t.bytes); /* a heap with much to do for each */
    assert_non_null(start);
    fetch(start);
    for (size_t i = 0; i < sizeof descs / sizeof *descs; i++) {
        for (uint64_t n = 1, failed = 1; failed; n++) {
            clump_refs *refs;
            clump_handle handle = 0;
            clump_ref ref;
            clump_compact_report report = {.size = sizeof report};
            clump_refs_desc desc = {.size = sizeof desc, .buffer = buffer, .count = OBJECTS};
            cl_fixture_heap_write(t.heap, start);
            clump_heap_touch(t.heap);
            check_objects();
            cl_fixture_write(&t.on, buffer, t.refs, sizeof t.refs);
            memory.requests = 0;
            memory.refuse_at = n;
            clump_status status = clump_refs_create(t.heap, &desc, &refs, NULL), created, done;
            if (status) {
                assert_int_equal(status, CLUMP_ERR_HOST_MEMORY);
                CHECK_OK(&t.on, clump_refs_create(t.heap, &desc, &refs, NULL));
            }
            created = clump_heap_create_handle(t.heap, t.refs[n % OBJECTS], &handle);
            if (created) {
                assert_int_equal(created, CLUMP_ERR_HOST_MEMORY);
                CHECK_OK(&t.on, clump_heap_create_handle(t.heap, t.refs[n % OBJECTS], &handle));
            }
            fetch(t.before);
            done = bench_merge_compact(t.heap, &descs[i], merges[i], &report, NULL);
            if (done) {
                cl_fixture_expect_words(clump_context_get_error(t.on.clump), done,
                                        CLUMP_ERR_HOST_MEMORY, "memory", "clump_heap_compact",
                                        __LINE__);
                check_unchanged(1, "clump_heap_compact without memory", __LINE__);
                CHECK_OK(&t.on, bench_merge_compact(t.heap, &descs[i], merges[i], &report, NULL));
            }
            failed = memory.requests >= n;
            memory.refuse_at = 0;
            check_objects();
            CHECK_OK(&t.on, clump_heap_read_handle(t.heap, handle, &ref));
            assert_int_equal(clump_heap_destroy_handle(t.heap, handle), CLUMP_OK);
            clump_refs_destroy(refs);
        }
    }
    clReleaseMemObject(buffer);
    free(start);
}

/* What was refused above works when asked for rightly. */
static void what_is_right(void **state) {
    CHECK_OK(&t.on, COMPACT(.slack = 1));
    CHECK_OK(&t.on, COMPACT(.slack = 0, .max_us = 1e300));
    CHECK_OK(&t.on, COMPACT(FIELD, .order_field = "friend", ONE("Agent")));
    CHECK_OK(&t.on, COMPACT(FIELD, .order_field = "tag", ONE("Agent")));
    CHECK_OK(&t.on, COMPACT(KEY, ONE("Agent"), .key_kernel = t.good_keys));
    uint32_t capacity = cl_fixture_capacity(t.heap, "Star");
    CHECK_OK(&t.on, MERGE((.factor = capacity - 1), ONE("Star")));
    uint32_t modulus = 3;
    SET_ARG(&t.on, t.more_keys, 1, modulus);
    CHECK_OK(&t.on, COMPACT(KEY, ONE("Agent"), .key_kernel = t.more_keys));
    check_objects();
}

/* An order needs the blocks that the classes before give up: fewer are free than the last one
 * needs. */
static void room_of_earlier_classes(void **state) {
    enum { CLASSES = 4 };
    clump_class_stats classes[CLASSES] = {{.size = sizeof *classes}};
    clump_heap_stats stats = {.size = sizeof stats};
    uint32_t base = 0, keep = 4 * KEEP, away = 0;
    uint64_t made;
    SET_ARG(&t.on, t.make, 0, base);
    CHECK_OK(&t.on, clump_heap_do_new(t.heap, t.make, "Body", BODIES, &made, NULL));
    SET_ARG(&t.on, t.drop, 0, keep);
    CHECK_OK(&t.on, clump_heap_do_all(t.heap, t.drop, NULL));
    CHECK_OK(&t.on, clump_heap_read_stats(t.heap, &stats, NULL, 0));
    clump_kernel *rocks = cl_fixture_kernel(&t.on, t.program, "rocks");
    SET_ARG(&t.on, rocks, 0, away);
    uint64_t blocks = stats.free_blocks / 2 + 1;
    uint64_t count = blocks * cl_fixture_capacity(t.heap, "Rock");
    CHECK_OK(&t.on, clump_heap_do_new(t.heap, rocks, "Rock", count, &made, NULL));
    CHECK_OK(&t.on, clump_heap_read_stats(t.heap, &stats, classes, CLASSES));
    assert_int_equal(classes[3].blocks, blocks);
    assert_true(stats.free_blocks < blocks);
    CHECK_OK(&t.on, COMPACT(.order = CLUMP_ORDER_ADDRESS));
    CHECK_HEAP(&t.on, t.heap);
    clump_kernel_destroy(rocks);
}

/* An order of classes that have no objects nulls what dangles, as one without an order does. */
static void order_without_objects(void **state) {
    clump_heap *heap =
        cl_fixture_heap(&t.on, "class A { uint x; } class B { uint y; }", 1u << 20, 0);
    clump_program *p = cl_fixture_program(
        &t.on, heap,
        "__kernel void init(CLUMP_HEAP, __global uint *out) {\n"
        "    CLUMP_FOR_EACH_NEW(A, self, i) { A_x(self) = i; out[i] = self.id; }\n}\n"
        "__kernel void clear(CLUMP_HEAP) { CLUMP_FOR_EACH(A, self) A_free(self); }\n"
        "__kernel void keys(CLUMP_HEAP_NO_ALLOC, __global uint *keys) {\n"
        "    CLUMP_FOR_EACH_KEYED(A, self, i) keys[i] = A_x(self);\n}\n",
        NULL, NULL);
    clump_kernel *init = cl_fixture_kernel(&t.on, p, "init"),
                 *clear = cl_fixture_kernel(&t.on, p, "clear");
    clump_kernel *keys = cl_fixture_kernel(&t.on, p, "keys");
    cl_mem out = cl_fixture_buffer(&t.on, NULL, 8);
    SET_ARG(&t.on, init, 0, out);
    const char *only_a = "A";
    const clump_compact_desc orders[] = {
        {.size = sizeof(clump_compact_desc), .order = CLUMP_ORDER_ANY},
        {.size = sizeof(clump_compact_desc), .order = CLUMP_ORDER_ADDRESS},
        {.size = sizeof(clump_compact_desc),
         .order = CLUMP_ORDER_FIELD,
         .order_field = "x",
         .classes = &only_a,
         .class_count = 1},
        {.size = sizeof(clump_compact_desc), .order = CLUMP_ORDER_KEY, .key_kernel = keys},
    };
    for (size_t i = 0; i < sizeof orders / sizeof *orders; i++) {
        clump_refs *null, *keep;
        clump_handle handle;
        clump_ref values[2], now;
        clump_compact_report report = {.size = sizeof report};
        CHECK_OK(&t.on, clump_heap_do_new(heap, init, "A", 2, NULL, NULL));
        clump_refs_desc first = {
            .size = sizeof first, .buffer = out, .count = 1, .null_dangling = 1};
        clump_refs_desc second = {.size = sizeof second, .buffer = out, .offset = 4, .count = 1};
        CHECK_OK(&t.on, clump_refs_create(heap, &first, &null, NULL));
        CHECK_OK(&t.on, clump_refs_create(heap, &second, &keep, NULL));
        cl_fixture_read(&t.on, out, values, sizeof values);
        clump_ref kept = values[1];
        CHECK_OK(&t.on, clump_heap_create_handle(heap, values[0], &handle));
        CHECK_OK(&t.on, clump_heap_do_all(heap, clear, NULL));
        CHECK_OK(&t.on, clump_heap_compact(heap, &orders[i], &report, NULL));
        cl_fixture_read(&t.on, out, values, sizeof values);
        CHECK_OK(&t.on, clump_heap_read_handle(heap, handle, &now));
        assert_int_equal(values[0], 0);
        assert_int_equal(values[1], kept);
        assert_int_equal(now, 0);
        assert_int_equal(report.outside_dangling, 3);
        CHECK_OK(&t.on, clump_heap_destroy_handle(heap, handle));
        clump_refs_destroy(null);
        clump_refs_destroy(keep);
        CHECK_HEAP(&t.on, heap);
    }
    clReleaseMemObject(out);
    clump_kernel_destroy(init);
    clump_kernel_destroy(clear);
    clump_kernel_destroy(keys);
    clump_program_destroy(p);
    clump_heap_destroy(heap);
}

int main(void) {
    int result = cl_fixture_open(&t.on, NULL);
    if (result) return result;
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(classes),
        cmocka_unit_test(planner_values),
        cmocka_unit_test(merge_values),
        cmocka_unit_test(wait_lists),
        cmocka_unit_test(order_fields),
        cmocka_unit_test(key_kernels),
        cmocka_unit_test(room_for_orders),
        cmocka_unit_test(registering),
        cmocka_unit_test(handles),
        cmocka_unit_test(memory_runs_out),
        cmocka_unit_test(what_is_right),
        cmocka_unit_test(room_of_earlier_classes),
        cmocka_unit_test(order_without_objects),
    };
    result = cmocka_run_group_tests_name("bad input to compaction", tests, set_up, tear_down);
    if (result) return result; /* a test that fails leaves things behind */
    cl_fixture_close(&t.on);
    if (memory.blocks) print_error("%ld blocks of host memory are left\n", memory.blocks);
    return memory.blocks != 0;
}
