/* Arrays of run-time length against a model on the host, with every layout.
 *
 * A table has references to objects with three arrays each: of 4, 1 and 16 bytes an element, one of
 * them inherited. Each work-item changes one object: makes it, frees it, changes the length of an
 * array, its room, or gives room back. Elements have a pattern of their object, array and
 * generation, which kernels compare before they change anything. The host knows what must come out:
 * after each launch it reads all lengths and elements. Between launches objects are thinned out and
 * compacted, and in the end collected, once as many as no root leads to, then all: no raw memory
 * may stay.
 *
 *   diff_arrays                what CTest runs
 *   diff_arrays ROUNDS [SEED]  longer, and other changes
 *
 * Read first: cl/api/arrays.clh, cl_fixture.h.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench/papers/merge/merge.h"
#include "cl_fixture.h"
#include "heap/access.h"

static cl_fixture fixture, *const f = &fixture;
static uint32_t rounds = 1, first_seed; /* of the command line */
static int is_short;                    /* the kernels for GPUs, on a CPU */
static int has_narrow_words;

enum { OBJECTS = 640, ARRAYS = 3, LENGTH_MAX = 700 };

/* What is known of an object, on the device as on the host. */
typedef struct record {
    uint32_t ref, is_full; /* is_full: it is a Full, with three arrays, else a Base with one */
    uint32_t made;         /* the seed of the change that made it */
    uint32_t generation, length[ARRAYS];
} record;

enum { BAD_CONTENTS, BAD_LENGTH, REFUSED, EVENTS };

static const char schema_format[] =
    "class Base { uint k; uint a%s; }\n"
    "%sclass Full : Base { uchar b%s; ushort t; %s c%s; }\n";

/* SHORT: PoCL takes long to compile the kernels for GPUs, and inlines each call that takes
 * memory. */
static const char source[] =
    "typedef struct record { uint ref, is_full, made, generation, length[3]; } record;\n"
    "enum { BAD_CONTENTS, BAD_LENGTH, REFUSED };\n"
    "uint mix(uint x) {\n"
    "    x ^= x >> 16; x *= 0x85ebca6bu; x ^= x >> 13; x *= 0xc2b2ae35u; return x ^ (x >> 16);\n"
    "}\n"
    "uint word_of(uint k, uint generation, uint which, uint i) {\n"
    "    return mix(k * 31u + generation * 3u + which) + i * 0x9e3779b1u;\n"
    "}\n"
    "float4 four_of(uint w) { return (float4)((float)(w >> 24), (float)(w >> 16 & 255u), "
    "(float)(w >> 8 & 255u), (float)(w & 255u)); }\n"
    "#if WIDE == 1\n"
    "float4 vector_of(uint w) { return four_of(w); }\n"
    "#else\n"
    "float8 vector_of(uint w) { return (float8)(four_of(w), four_of(w)); }\n"
    "#endif\n"
    /* Elements below the lengths of the record. */
    "void contents(CLUMP_HEAP, uint k, record at, __global uint *events) {\n"
    "    Base o = {at.ref};\n"
    "    uint bad = 0;\n"
    "    for (uint i = 0; i < at.length[0]; i++) bad |= Base_a(o, i) != word_of(k, at.generation, "
    "0, i);\n"
    "    if (at.is_full) {\n"
    "        Full d = Base_as_Full(o);\n"
    "        for (uint i = 0; i < at.length[1]; i++) bad |= Full_b(d, i) != (uchar)word_of(k, "
    "at.generation, 1, i);\n"
    "        for (uint i = 0; i < at.length[2]; i++) bad |= any(Full_c(d, i) != "
    "vector_of(word_of(k, at.generation, 2, i)));\n"
    "        for (uint i = 0; i < at.length[2]; i++) bad |= ((ulong)&Full_c(d, i) & (16u * WIDE - "
    "1u)) != 0;\n"
    "    }\n"
    "    if (bad) atomic_inc(&events[BAD_CONTENTS]);\n"
    "}\n"
    "void look(CLUMP_HEAP, uint k, record at, __global uint *events) {\n"
    "    Base o = {at.ref};\n"
    "    Full d = Base_as_Full(o);\n"
    "    uint bad = Base_a_length(o) != at.length[0] || Base_a_capacity(o) < at.length[0];\n"
    "    if (at.is_full) bad |= Full_b_length(d) != at.length[1] || Full_c_length(d) != "
    "at.length[2] || Full_a_length(d) != at.length[0];\n"
    "    if (bad) atomic_inc(&events[BAD_LENGTH]);\n"
    "    if (Base_k(o) != k || (at.is_full && Full_t(d) != (ushort)k)) "
    "atomic_inc(&events[BAD_CONTENTS]);\n"
    "    if (!bad) contents(clump_heap, k, at, events);\n"
    "}\n"
    "void fill(CLUMP_HEAP, uint k, record at) {\n"
    "    Base o = {at.ref};\n"
    "    for (uint i = 0; i < at.length[0]; i++) Base_a(o, i) = word_of(k, at.generation, 0, i);\n"
    "    if (!at.is_full) return;\n"
    "    Full d = Base_as_Full(o);\n"
    "    for (uint i = 0; i < at.length[1]; i++) Full_b(d, i) = (uchar)word_of(k, at.generation, "
    "1, "
    "i);\n"
    "    for (uint i = 0; i < at.length[2]; i++) Full_c(d, i) = vector_of(word_of(k, "
    "at.generation, "
    "2, i));\n"
    "}\n"
    "uint resize(CLUMP_HEAP, record at, uint which, uint n) {\n"
    "    Base o = {at.ref};\n"
    "    return which == 0u   ? Base_a_resize(o, n)\n"
    "           : which == 1u ? Full_b_resize(Base_as_Full(o), n)\n"
    "                         : Full_c_resize(Base_as_Full(o), n);\n"
    "}\n"
    "uint reserve(CLUMP_HEAP, record at, uint which, uint n) {\n"
    "    Base o = {at.ref};\n"
    "    return which == 0u   ? Base_a_reserve(o, n)\n"
    "           : which == 1u ? Full_b_reserve(Base_as_Full(o), n)\n"
    "                         : Full_c_reserve(Base_as_Full(o), n);\n"
    "}\n"
    "uint append(CLUMP_HEAP, uint k, record at, uint which) {\n"
    "    Base o = {at.ref};\n"
    "    uint w = word_of(k, at.generation, which, at.length[which]);\n"
    "    return which == 0u   ? Base_a_append(o, w)\n"
    "           : which == 1u ? Full_b_append(Base_as_Full(o), (uchar)w)\n"
    "                         : Full_c_append(Base_as_Full(o), vector_of(w));\n"
    "}\n"
    "#define OPEN \\\n"
    "    uint k = (uint)get_global_id(0), r = mix(seed + k * 977u); \\\n"
    "    record at = table[k]; \\\n"
    "    Base o = {at.ref}; \\\n"
    "    uint which = at.is_full ? r % 3u : 0u, what = mix(r + 1u) % 16u, n = mix(r + 2u) % (most "
    "+ 1u); \\\n"
    "    if (at.ref == 0 || at.made == seed) return;\n"
    "__kernel void make(CLUMP_HEAP, __global record *table, __global uint *events, uint seed, uint "
    "most) {\n"
    "    uint k = (uint)get_global_id(0), r = mix(seed + k * 977u);\n"
    "    record at = table[k];\n"
    "    if (at.ref || r % 4u == 0u) return;\n"
    "    at.is_full = r >> 8 & 1u;\n"
    "#if SHORT\n"
    "    Base o = Base_new_of(at.is_full ? Full_CLASS : Base_CLASS);\n"
    "#else\n"
    "    Base o = r >> 9 & 1u ? Base_new_of(at.is_full ? Full_CLASS : Base_CLASS)\n"
    "            : at.is_full ? Full_as_Base(Full_new()) : Base_new();\n"
    "#endif\n"
    "    at.ref = o.id; at.generation++; at.made = seed;\n"
    "    at.length[0] = at.length[1] = at.length[2] = 0;\n"
    "    table[k] = at;\n"
    "    if (at.ref == 0) { atomic_inc(&events[REFUSED]); return; }\n"
    "    Base_k(o) = k;\n"
    "    if (at.is_full) Full_t(Base_as_Full(o)) = (ushort)k;\n"
    "}\n"
    "__kernel void free_some(CLUMP_HEAP, __global record *table, __global uint *events, uint seed, "
    "uint most) {\n"
    "    OPEN\n"
    "    if (what >= 2u) return;\n"
    "#if SHORT\n"
    "    Base_free(o);\n"
    "#else\n"
    "    if (r >> 10 & 1u || !at.is_full) Base_free(o); else Full_free(Base_as_Full(o));\n"
    "#endif\n"
    "    table[k].ref = 0;\n"
    "}\n"
    "__kernel void size_some(CLUMP_HEAP, __global record *table, __global uint *events, uint seed, "
    "uint most) {\n"
    "    OPEN\n"
    "    if (what < 2u || what >= 9u) return;\n"
    "    if (resize(clump_heap, at, which, n) != CLUMP_DONE) { atomic_inc(&events[REFUSED]); "
    "return; }\n"
    "    at.length[which] = min(n, at.length[which]);\n"
    "    contents(clump_heap, k, at, events);\n"
    "    at.length[which] = n;\n"
    "    at.generation++;\n"
    "    fill(clump_heap, k, at);\n"
    "    table[k] = at;\n"
    "}\n"
    "__kernel void trim_some(CLUMP_HEAP, __global record *table, __global uint *events, uint seed, "
    "uint most) {\n"
    "    OPEN\n"
    "    if (what < 9u || what >= 11u) return;\n"
    "    Base_a_trim(o);\n"
    "    if (at.is_full) Full_b_trim(Base_as_Full(o));\n"
    "    if (at.is_full) Full_c_trim(Base_as_Full(o));\n"
    "}\n"
    /* Room alone, or elements, too. */
    "__kernel void room_some(CLUMP_HEAP, __global record *table, __global uint *events, uint seed, "
    "uint most) {\n"
    "    OPEN\n"
    "    if (what < 11u || what >= 15u) return;\n"
    "    if (what >= 13u) n = min(most, at.length[which] + r % 7u);\n"
    "    uint is_room = reserve(clump_heap, at, which, n) == CLUMP_DONE;\n"
    "    if (!is_room) atomic_inc(&events[REFUSED]);\n"
    "    for (; what >= 13u && is_room && at.length[which] < n; at.length[which]++)\n"
    "        if (append(clump_heap, k, at, which) != at.length[which]) "
    "atomic_inc(&events[BAD_LENGTH]);\n"
    "    table[k] = at;\n"
    "}\n"
    "__kernel void look_all(CLUMP_HEAP, __global record *table, __global uint *events) {\n"
    "    uint k = (uint)get_global_id(0);\n"
    "    record at = table[k];\n"
    "    if (at.ref) look(clump_heap, k, at, events);\n"
    "}\n"
    "__kernel void begin(CLUMP_HEAP, __global record *table, __global uint *events) {\n"
    "    CLUMP_FOR_EACH_NEW(Full, self, k) {\n"
    "        record at = {self.id, 1, 0, 7, {0, 0, 0}};\n"
    "        Full_k(self) = k; Full_t(self) = (ushort)k;\n"
    "        table[k] = at;\n"
    "    }\n"
    "}\n"
    /* All work-items append to the array of one object; got: the index of each. */
    "__kernel void together(CLUMP_HEAP_NO_ALLOC, uint ref, __global uint *got) {\n"
    "    Base o = {ref};\n"
    "    for (uint n = 0; n < 4u; n++) {\n"
    "        uint x = (uint)get_global_id(0) * 4u + n;\n"
    "        got[x] = Base_a_append(o, x);\n"
    "    }\n"
    "}\n"
    "__kernel void room(CLUMP_HEAP, uint ref, uint n, __global uint *got) {\n"
    "    Base o = {ref};\n"
    "    if (get_global_id(0)) return;\n"
    "#if SHORT\n"
    "    got[0] = CLUMP_DONE;\n"
    "    for (uint t = 0; t < 2u; t++) got[0] |= Base_a_resize(o, t ? 0u : n);\n"
    "    got[1] = Base_a_capacity(o);\n"
    "#else\n"
    "    got[0] = Base_a_reserve(o, n);\n"
    "    got[1] = Base_a_capacity(o);\n"
    "    Base_a_resize(o, 0);\n"
    "#endif\n"
    "}\n"
    "__kernel void end(CLUMP_HEAP, __global record *table, __global uint *events) {\n"
    "    uint k = (uint)get_global_id(0);\n"
    "    record at = table[k];\n"
    "    if (at.ref == 0) return;\n"
    "    Base o = {at.ref};\n"
    "    Base_free(o);\n"
    "    table[k].ref = 0;\n"
    "}\n";

/* One after the other, in each change. */
enum { TRIM = 3, ROOM, CHANGES };
static const char *const changes[CHANGES] = {"make", "free_some", "size_some", "trim_some",
                                             "room_some"};

typedef struct world {
    clump_heap *heap;
    clump_program *program;
    clump_kernel *changes[CHANGES], *look, *begin, *together, *room, *end;
    clump_refs *refs;
    cl_mem table, events, got;
    uint32_t most, wide; /* wide: an element of c has so many times 16 bytes */
    record is[OBJECTS], was[OBJECTS];
    uint32_t seen[EVENTS];
} world;

static void open_world(world *w, const char *a, const char *aos, const char *b, const char *c,
                       uint32_t wide, uint32_t most, uint64_t bytes) {
    char schema[400], options[40];
    memset(w, 0, sizeof *w);
    w->wide = wide;
    snprintf(schema, sizeof schema, schema_format, a, aos, b, wide == 2 ? "float8" : "float4", c);
    print_message("%s", schema);
    w->most = most;
    w->heap = cl_fixture_heap(f, schema, bytes, 0);
    snprintf(options, sizeof options, "-DSHORT=%d -DWIDE=%u", is_short, w->wide);
    w->program = cl_fixture_program(f, w->heap, source, options, NULL);
    for (int i = 0; i < CHANGES; i++) w->changes[i] = cl_fixture_kernel(f, w->program, changes[i]);
    w->look = cl_fixture_kernel(f, w->program, "look_all");
    w->begin = cl_fixture_kernel(f, w->program, "begin");
    w->together = cl_fixture_kernel(f, w->program, "together");
    w->room = cl_fixture_kernel(f, w->program, "room");
    w->end = cl_fixture_kernel(f, w->program, "end");
    w->table = cl_fixture_buffer(f, w->is, sizeof w->is);
    w->events = cl_fixture_buffer(f, NULL, sizeof w->seen);
    w->got = cl_fixture_buffer(f, NULL, 4 * OBJECTS * sizeof(uint32_t));
    CHECK_OK(f, clump_refs_create(w->heap,
                                  &(clump_refs_desc){.size = sizeof(clump_refs_desc),
                                                     .buffer = w->table,
                                                     .count = OBJECTS,
                                                     .stride = sizeof(record)},
                                  &w->refs, NULL));
}

static void close_world(world *w) {
    clump_refs_destroy(w->refs);
    for (int i = 0; i < CHANGES; i++) clump_kernel_destroy(w->changes[i]);
    clump_kernel_destroy(w->look);
    clump_kernel_destroy(w->begin);
    clump_kernel_destroy(w->together);
    clump_kernel_destroy(w->room);
    clump_kernel_destroy(w->end);
    clump_program_destroy(w->program);
    clump_heap_destroy(w->heap);
    clReleaseMemObject(w->table);
    clReleaseMemObject(w->events);
    clReleaseMemObject(w->got);
}

static uint32_t word_of(uint32_t k, uint32_t generation, uint32_t which, uint32_t i) {
    return test_hash(k * 31u + generation * 3u + which) + i * 0x9e3779b1u;
}

/* What an element is, as bytes. */
static size_t element(const world *w, uint32_t k, uint32_t which, uint32_t i, void *out) {
    const uint32_t word = word_of(k, w->is[k].generation, which, i);
    const float low = (float)(word & 255),
                v[8] = {
                    (float)(word >> 24), (float)(word >> 16 & 255), (float)(word >> 8 & 255), low,
                    (float)(word >> 24), (float)(word >> 16 & 255), (float)(word >> 8 & 255), low};
    const uint8_t byte = (uint8_t)word;
    const size_t bytes = which == 0 ? sizeof word : which == 1 ? sizeof byte : 16 * w->wide;
    memcpy(out, which == 0 ? (const void *)&word : which == 1 ? (const void *)&byte : v, bytes);
    return bytes;
}

static uint64_t raw_bytes(const world *w) {
    clump_heap_stats stats = {.size = sizeof stats};
    CHECK_OK(f, clump_heap_read_stats(w->heap, &stats, NULL, 0));
    return stats.raw_bytes;
}

/* Everything that the host can see. */
static void check_world(world *w, int may_refuse) {
    clump_device_report report = {.size = sizeof report};
    SET_ARG(f, w->look, 0, w->table);
    SET_ARG(f, w->look, 1, w->events);
    CHECK_OK(f, clump_heap_launch(w->heap, w->look, OBJECTS, 64, NULL));
    clump_status status = clump_heap_take_errors(w->heap, &report);
    cl_fixture_read(f, w->events, w->seen, sizeof w->seen);
    for (int i = 0; i < CLUMP_DEVICE_ERROR_COUNT; i++)
        if (report.errors[i].count && !(may_refuse && i == CLUMP_DEVICE_OUT_OF_MEMORY))
            fail_msg("error %d: %u times, first for 0x%x", i, report.errors[i].count,
                     report.errors[i].ref);
    if (!may_refuse) assert_int_equal(status, CLUMP_OK);
    if (!may_refuse) assert_int_equal(w->seen[REFUSED], 0);
    assert_int_equal(w->seen[BAD_CONTENTS], 0);
    assert_int_equal(w->seen[BAD_LENGTH], 0);
    CHECK_OK(f, clump_heap_check(w->heap));
    cl_fixture_read(f, w->table, w->is, sizeof w->is);
}

/* All elements of some objects, as the host reads them. */
static void read_all(world *w, uint32_t every) {
    static const char *const names[] = {"a", "b", "c"};
    static uint8_t values[LENGTH_MAX * 32], wanted[32];
    for (uint32_t k = 0; k < OBJECTS; k += every) {
        const record *at = &w->is[k];
        for (uint32_t which = 0; at->ref && which < (at->is_full ? ARRAYS : 1); which++) {
            uint64_t length;
            CHECK_OK(f, clump_heap_read_object_array(
                            w->heap, at->is_full ? "Full" : "Base", names[which], at->ref,
                            element(w, k, which, 0, wanted), values, LENGTH_MAX, &length));
            assert_int_equal(length, at->length[which]);
            for (uint32_t i = 0; i < length; i++) {
                size_t bytes = element(w, k, which, i, wanted);
                if (memcmp(values + i * bytes, wanted, bytes) != 0)
                    fail_msg("object %u, array %s, element %u of %u", k, names[which], i,
                             (uint32_t)length);
            }
        }
    }
}

/* What a change makes of a record, if there is room for all. */
static void expect(uint32_t k, record *at, uint32_t seed, uint32_t most) {
    const uint32_t r = test_hash(seed + k * 977);
    if (!at->ref) {
        if (r % 4 == 0) return;
        *at = (record){
            .ref = 1, .is_full = r >> 8 & 1, .made = seed, .generation = at->generation + 1};
        return;
    }
    const uint32_t which = at->is_full ? r % 3 : 0, what = test_hash(r + 1) % 16;
    uint32_t n = test_hash(r + 2) % (most + 1);
    if (what < 2) {
        at->ref = 0;
    } else if (what < 9) {
        at->length[which] = n;
        at->generation++;
    } else if (what >= 13 && what < 15 && !is_short) {
        n = at->length[which] + r % 7;
        if (n > most) n = most;
        if (n > at->length[which]) at->length[which] = n;
    }
}

static void change(world *w, uint32_t number, int may_refuse) {
    const uint32_t zero[EVENTS] = {0}, seed = test_hash(number + 1);
    memcpy(w->was, w->is, sizeof w->was);
    cl_fixture_write(f, w->events, zero, sizeof zero);
    for (int i = 0; i < CHANGES; i++) {
        if (is_short && (i == TRIM || i == ROOM)) continue;
        SET_ARG(f, w->changes[i], 0, w->table);
        SET_ARG(f, w->changes[i], 1, w->events);
        SET_ARG(f, w->changes[i], 2, seed);
        SET_ARG(f, w->changes[i], 3, w->most);
        CHECK_OK(f, clump_heap_launch(w->heap, w->changes[i], OBJECTS, 64, NULL));
    }
    check_world(w, may_refuse);
    for (uint32_t k = 0; k < OBJECTS && !may_refuse; k++) {
        record *was = &w->was[k], *is = &w->is[k];
        expect(k, was, seed, w->most);
        assert_int_equal(!was->ref, !is->ref);
        if (is->ref && (was->is_full != is->is_full || was->generation != is->generation ||
                        memcmp(was->length, is->length, sizeof was->length) != 0))
            fail_msg("object %u: generation %u, lengths %u %u %u; %u, %u %u %u were expected", k,
                     is->generation, is->length[0], is->length[1], is->length[2], was->generation,
                     was->length[0], was->length[1], was->length[2]);
    }
    read_all(w, 7);
}

static void compact(world *w, uint32_t number) {
    const bench_merge merge = {.factor = 1};
    clump_compact_report report = {.size = sizeof report};
    CHECK_OK(f, bench_merge_compact(w->heap, NULL, number % 4 == 3 ? &merge : NULL, &report, NULL));
    check_world(w, 0);
    read_all(w, 3);
}

static void end(world *w) {
    const uint32_t zero[EVENTS] = {0};
    cl_fixture_write(f, w->events, zero, sizeof zero);
    SET_ARG(f, w->end, 0, w->table);
    SET_ARG(f, w->end, 1, w->events);
    CHECK_OK(f, clump_heap_launch(w->heap, w->end, OBJECTS, 64, NULL));
    check_world(w, 0);
    assert_int_equal(raw_bytes(w), 0);
}

/* Objects of a do-new have empty arrays, whatever their memory had before. */
static void do_new(world *w) {
    const uint32_t zero[EVENTS] = {0};
    uint64_t made;
    cl_fixture_write(f, w->events, zero, sizeof zero);
    SET_ARG(f, w->begin, 0, w->table);
    SET_ARG(f, w->begin, 1, w->events);
    CHECK_OK(f, clump_heap_do_new(w->heap, w->begin, "Full", OBJECTS, &made, NULL));
    assert_int_equal(made, OBJECTS);
    check_world(w, 0);
    read_all(w, 1);
}

/* Roots that are let go of: these objects end, with their arrays, and no others. */
static void collect(world *w, uint32_t keep) {
    uint32_t dead = 0, live = 0;
    for (uint32_t k = 0; k < OBJECTS; k++) {
        if (!w->is[k].ref) continue;
        if (test_hash(k) % 8 < keep) {
            live++;
            continue;
        }
        w->is[k].ref = 0;
        dead++;
    }
    cl_fixture_write(f, w->table, w->is, sizeof w->is);
    const uint64_t before = raw_bytes(w);
    clump_collect_report report = {.size = sizeof report};
    CHECK_OK(f,
             clump_heap_collect(
                 w->heap, &(clump_collect_desc){.size = sizeof(clump_collect_desc), .only_mark = 1},
                 &report, NULL));
    assert_int_equal(report.dead, dead);
    assert_int_equal(raw_bytes(w), before);
    CHECK_OK(f, clump_heap_collect(w->heap, NULL, &report, NULL));
    assert_int_equal(report.dead, dead);
    assert_int_equal(report.live, live);
    check_world(w, 0);
    read_all(w, 1);
    assert_true(keep || raw_bytes(w) == 0);
    assert_true(!dead || !before || raw_bytes(w) < before);
}

/* Any number of work-items append to one array: each index is given once, without gaps, up to the
 * capacity. */
static void append(world *w) {
    static uint32_t got[4 * OBJECTS], values[4 * OBJECTS];
    static uint8_t taken[4 * OBJECTS];
    uint32_t k = 0;
    while (!w->is[k].ref) k++;
    const uint32_t ref = w->is[k].ref, wishes[] = {w->most, w->most < 100 ? w->most : 4 * OBJECTS};
    for (int i = 0; i < 2; i++) {
        SET_ARG(f, w->room, 0, ref);
        SET_ARG(f, w->room, 1, wishes[i]);
        SET_ARG(f, w->room, 2, w->got);
        CHECK_OK(f, clump_heap_launch(w->heap, w->room, 64, 64, NULL));
        cl_fixture_read(f, w->got, got, 2 * sizeof *got);
        assert_int_equal(got[0], 0);
        uint32_t capacity = got[1], given = 0;
        assert_true(capacity >= wishes[i]);
        SET_ARG(f, w->together, 0, ref);
        SET_ARG(f, w->together, 1, w->got);
        CHECK_OK(f, clump_heap_launch(w->heap, w->together, OBJECTS, 64, NULL));
        cl_fixture_read(f, w->got, got, sizeof got);
        uint64_t length;
        CHECK_OK(f, clump_heap_read_object_array(w->heap, "Base", "a", ref, sizeof *values, values,
                                                 4 * OBJECTS, &length));
        memset(taken, 0, sizeof taken);
        for (uint32_t x = 0; x < 4 * OBJECTS; x++) {
            if (got[x] == UINT32_MAX) continue;
            given++;
            assert_true(got[x] < capacity && got[x] < 4 * OBJECTS);
            assert_false(taken[got[x]]);
            taken[got[x]] = 1;
            assert_int_equal(values[got[x]], x);
        }
        assert_int_equal(given, capacity < 4 * OBJECTS ? capacity : 4 * OBJECTS);
        assert_int_equal(length, given);
        CHECK_OK(f, clump_heap_take_errors(w->heap, NULL));
    }
    const uint32_t none = 0; /* the record is as the object is again */
    SET_ARG(f, w->room, 1, none);
    CHECK_OK(f, clump_heap_launch(w->heap, w->room, 64, 64, NULL));
    w->is[k].length[0] = 0;
    cl_fixture_write(f, w->table, w->is, sizeof w->is);
}

static void test_layouts(void **state) {
    static world w;
    static const struct {
        const char *a, *aos, *b, *c;
        uint32_t wide, most;
    } layouts[] = {{"[*]", "", "[*]", "[*]", 1, LENGTH_MAX},
                   {"[*] max 24", "", "[*] max 24", "[*] max 24 packed", 2, 24},
                   {"[*] inline 3", "", "[*] inline 5 packed", "[*] inline 2", 2, 300},
                   {"[*] inline 4", "aos ", "[*] max 40", "[*]", 1, 40},
                   {"[*] inline 2", "", "[*] max 40", "[*] max 40 packed", 1, 40}};
    /* PoCL takes long to compile the kernels for GPUs: one array alone grows then. */
    const size_t count = sizeof layouts / sizeof *layouts;
    const size_t step = !cl_fixture_is_whole() ? count : has_narrow_words ? 2 : 1;
    for (size_t i = is_short ? count - 1 : 0; i < count; i += step) {
        open_world(&w, layouts[i].a, layouts[i].aos, layouts[i].b, layouts[i].c, layouts[i].wide,
                   layouts[i].most, 48 << 20);
        for (uint32_t n = 0; n < 6 * rounds; n++) {
            change(&w, n + 1000 * (uint32_t)i + first_seed, 0);
            change(&w, n + 1000 * (uint32_t)i + first_seed + 500, 0);
            compact(&w, n);
        }
        if (!is_short) append(&w); /* diff_array_refs does it there */
        collect(&w, 4);
        change(&w, 77 + first_seed, 0);
        collect(&w, 2);
        collect(&w, 0);
        do_new(&w);
        change(&w, 78 + first_seed, 0);
        change(&w, 79 + first_seed, 0);
        end(&w);
        close_world(&w);
    }
}

/* Without room nothing changes, and everything comes back. */
static void test_no_room(void **state) {
    static world w;
    if (is_short) skip();
    open_world(&w, "[*]", "", "[*]", cl_fixture_is_whole() ? "[*] inline 1" : "[*]", 1, LENGTH_MAX,
               3 << 19);
    uint32_t refused = 0;
    for (uint32_t n = 0; n < 8 * rounds; n++) {
        change(&w, n + first_seed, 1);
        refused += w.seen[REFUSED];
    }
    assert_true(refused > 0);
    end(&w);
    close_world(&w);
}

static int run_with(const char *name, uint32_t disable) {
    int status = cl_fixture_open(f, &(cl_fixture_desc){.disable = disable});
    if (status) return status;
    has_narrow_words = disable != 0;
    is_short = f->capabilities->is_cpu && f->capabilities->personality == CLUMP_PERSONALITY_GPU;
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_layouts),
                                       cmocka_unit_test(test_no_room)};
    status = cmocka_run_group_tests_name(name, tests, NULL, NULL);
    cl_fixture_close(f);
    return status;
}

int main(int argc, char **argv) {
    return cl_fixture_run_rounds(argc, argv, &rounds, &first_seed, run_with, &is_short);
}
