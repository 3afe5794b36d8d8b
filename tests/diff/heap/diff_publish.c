/* What docs/guide/memory-model.md promises of one launch, by the calls of cl/api/together.clh:
 * work-items that publish new objects in reference fields by compare-and-swap, others that follow
 * these at the same time, and two that free one object. Reference fields are tried where they may
 * lie: in a column, in a struct of layout aos, in arrays, packed or not. Atomic operations of many
 * work-items on the fields of a few objects, and random numbers, against C.
 *
 *   diff_publish [ROUNDS [OPTIONS]]     of the kernels: -DPLANTED=1, 2 is a fault, which must be
 *                                       found
 *
 * Each place gets one winner, whose object stays; losers free theirs. A reader that finds an object
 * finds all of its fields as the publisher wrote them. Of two frees one is done and the other is
 * reported.
 *
 * Faults: 1, the store is no compare-and-swap; 2, the reference is published before the fields.
 *
 * Read first: docs/guide/memory-model.md, cl/api/together.clh, tests/support/cl_fixture.h.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support/cl_fixture.h"

enum { PLACES = 2048, RIVALS = 8, KINDS = 4, TALLIES = 5, TURNS = 320 };

static const char schema[] =
    "class Record { uint word; uint values[8]; uint again; }\n"
    "class Column { uint pad; ref Record place; }\n"
    "aos class Struct { char c; ref Record place; uchar tail[3]; }\n"
    "class Spread { ref Record place[3]; }\n"
    "class Packed { uchar c; ref Record place[3] packed; }\n"
    "class Tally { uint sum; uint left; int low; int high; uint peak; uint set; uint kept; uint "
    "last; uint first; uint winner; float total; "
    "float turn; }\n";

#define KIND(C, place)                                                                             \
    "__kernel void make_" #C                                                                       \
    "(CLUMP_HEAP, __global uint *places) {\n"                                                      \
    "    CLUMP_FOR_EACH_NEW(" #C ", self, i) { places[i] = self.id; " #C "_" place                 \
    " = Record_null; }\n"                                                                          \
    "}\n"

/* Work-groups go over all places in the same order, so that those that run at the same time are
 * rivals. */
static const char source[] =
    "#ifndef PLANTED\n"
    "#define PLANTED 0\n"
    "#endif\n"
    "__global Record *place_of(CLUMP_HEAP_NO_ALLOC, uint kind, uint id) {\n"
    "    Column c = {id}; Struct s = {id}; Spread a = {id}; Packed p = {id};\n"
    "    if (kind == 0) return &Column_place(c);\n"
    "    if (kind == 1) return &Struct_place(s);\n"
    "    if (kind == 2) return &Spread_place(a, 1);\n"
    "    return &Packed_place(p, 1);\n"
    "}\n"
    "void fill(CLUMP_HEAP_NO_ALLOC, Record r, uint word) {\n"
    "    Record_word(r) = word;\n"
    "    for (uint k = 0; k < 8; k++) Record_values(r, k) = word * 2654435761u + k;\n"
    "    Record_again(r) = word;\n"
    "}\n"
    "void follow(CLUMP_HEAP_NO_ALLOC, __global Record *place, __global uint *seen) {\n"
    "    Record there = CLUMP_OBSERVE(Record, *place);\n"
    "    if (Record_is_null(there)) return;\n"
    "    uint word = CLUMP_OBSERVED(uint, Record_word(there));\n"
    "    uint wrong = word == 0 || CLUMP_OBSERVED(uint, Record_again(there)) != word;\n"
    "    for (uint k = 0; k < 8; k++)\n"
    "        wrong += CLUMP_OBSERVED(uint, Record_values(there, k)) != word * 2654435761u + k;\n"
    "    atomic_inc(seen + 1);\n"
    "    if (wrong) atomic_inc(seen + 2);\n"
    "}\n"
    "__kernel void race(CLUMP_HEAP, __global const uint *places, uint count, __global uint *seen, "
    "uint kind) {\n"
    "    for (uint n = get_local_id(0); n < count; n += get_local_size(0)) {\n"
    "        __global Record *place = place_of(clump_heap, kind, places[n]);\n"
    "        follow(clump_heap, place, seen);\n"
    "        Record fresh = Record_new();\n"
    "        if (Record_is_null(fresh)) return;\n"
    "        fill(clump_heap, fresh, PLANTED == 2 ? 0u : n + 1);\n"
    "        uint lost = PLANTED == 1 ? (*place = fresh, 0u) : CLUMP_PUBLISH(*place, Record_null, "
    "fresh);\n"
    "        for (uint wait = 0; PLANTED == 2 && wait < 1000; wait++) CLUMP_OBSERVE(Record, "
    "*place);\n"
    "        if (PLANTED == 2 && !lost) fill(clump_heap, fresh, n + 1);\n"
    "        if (lost) Record_free(fresh);\n"
    "        else atomic_inc(seen);\n"
    "        follow(clump_heap, place, seen);\n"
    "    }\n"
    "}\n"
    /* Each record is freed by two neighbours. */
    "__kernel void free_twice(CLUMP_HEAP, __global const uint *records) {\n"
    "    Record r = {records[get_global_id(0) / 2]};\n"
    "    Record_free(r);\n"
    "}\n"
    "__kernel void clear(CLUMP_HEAP, __global Tally *tallies) {\n"
    "    CLUMP_FOR_EACH_NEW(Tally, t, i) {\n"
    "        Tally_sum(t) = 0; Tally_left(t) = 0; Tally_low(t) = 7; Tally_high(t) = -999; "
    "Tally_peak(t) = 1;\n"
    "        Tally_set(t) = 0; Tally_kept(t) = ~0u; Tally_last(t) = 0; Tally_first(t) = 0;\n"
    "        Tally_total(t) = -0.5f; Tally_turn(t) = 0; tallies[i] = t;\n"
    "    }\n"
    "}\n"
    /* Each work-item has a turn of its own in one tally. out: how often each turn was had, words
     * that were in `last`. */
    "__kernel void count(CLUMP_HEAP_NO_ALLOC, __global const Tally *tallies, uint tally_count, "
    "__global uint *out) {\n"
    "    uint n = (uint)get_global_id(0), k = n % tally_count, each = (uint)get_global_size(0) / "
    "tally_count;\n"
    "    Tally t = tallies[k];\n"
    "    CLUMP_ATOMIC_ADD(Tally_sum(t), n);\n"
    "    CLUMP_ATOMIC_SUB(Tally_left(t), n);\n"
    "    CLUMP_ATOMIC_MIN(Tally_low(t), 100 - (int)n);\n"
    "    CLUMP_ATOMIC_MAX(Tally_high(t), (int)n - 2000);\n"
    "    CLUMP_ATOMIC_MAX(Tally_peak(t), 0x80000000u + n);\n"
    "    CLUMP_ATOMIC_OR(Tally_set(t), 1u << n % 31);\n"
    "    CLUMP_ATOMIC_AND(Tally_kept(t), ~(1u << n % 29));\n"
    "    CLUMP_ATOMIC_ADD(out[k], CLUMP_ATOMIC_XCHG(Tally_last(t), n));\n"
    "    if (CLUMP_ATOMIC_CMPXCHG(Tally_first(t), 0u, n + 1) == 0u) Tally_winner(t) = n + 1;\n"
    "    for (uint i = 0; i < 8000; i++) CLUMP_ATOMIC_ADD_FLOAT(Tally_total(t), 0.25f * (i % 4));\n"
    "    uint turn = (uint)CLUMP_ATOMIC_ADD_FLOAT(Tally_turn(t), 1.0f);\n"
    "    if (turn < each) CLUMP_ATOMIC_ADD(out[tally_count + k * each + turn], 1u);\n"
    "}\n"
    "__kernel void draw(CLUMP_HEAP_NO_ALLOC, __global const ulong *asked, __global uint4 *words, "
    "__global float *floats) {\n"
    "    size_t i = get_global_id(0);\n"
    "    words[i] = clump_random(asked[3 * i], asked[3 * i + 1], asked[3 * i + 2]);\n"
    "    floats[i] = clump_random_float(words[i].w);\n"
    "}\n" KIND(Column, "place(self)") KIND(Struct, "place(self)") KIND(Spread, "place(self, 1)")
        KIND(Packed, "place(self, 1)");

static cl_fixture fixture;

static const char *const classes[KINDS] = {"Column", "Struct", "Spread", "Packed"};

/* A race of RIVALS work-groups for PLACES of one kind. */
static void race(clump_heap *heap, clump_program *program, cl_uint kind, cl_mem places) {
    uint32_t zeros[3] = {0}, seen[3];
    cl_uint count = PLACES;
    uint64_t made, records;
    char name[32];
    snprintf(name, sizeof name, "make_%s", classes[kind]);
    cl_mem counters = cl_fixture_buffer(&fixture, zeros, sizeof zeros);
    clump_kernel *make = cl_fixture_kernel(&fixture, program, name),
                 *rush = cl_fixture_kernel(&fixture, program, "race");
    SET_ARG(&fixture, make, 0, places);
    CHECK_OK(&fixture, clump_heap_do_new(heap, make, classes[kind], PLACES, &made, NULL));
    assert_int_equal(made, PLACES);
    SET_ARG(&fixture, rush, 0, places);
    SET_ARG(&fixture, rush, 1, count);
    SET_ARG(&fixture, rush, 2, counters);
    SET_ARG(&fixture, rush, 3, kind);
    CHECK_OK(&fixture, clump_heap_launch(heap, rush, (size_t)RIVALS * 64, 64, NULL));
    CHECK_OK(&fixture, clump_heap_take_errors(heap, NULL));
    cl_fixture_read(&fixture, counters, seen, sizeof seen);
    CHECK_OK(&fixture, clump_heap_read_count(heap, "Record", &records));
    CHECK_HEAP(&fixture, heap);
    if (seen[0] != PLACES || records != PLACES || seen[1] < (uint32_t)PLACES * RIVALS || seen[2])
        fail_msg(
            "%s: %u winners and %llu records for %d places; of %u that were followed %u are not as "
            "they were written",
            classes[kind], seen[0], (unsigned long long)records, PLACES, seen[1], seen[2]);
    clReleaseMemObject(counters);
    clump_kernel_destroy(make);
    clump_kernel_destroy(rush);
}

/* All records go, each of them freed by two work-items. */
static void free_twice(clump_heap *heap, clump_program *program) {
    static clump_ref refs[PLACES];
    uint64_t count;
    clump_device_report report = {.size = sizeof report};
    CHECK_OK(&fixture, clump_heap_read_refs(heap, "Record", refs, PLACES, &count));
    assert_int_equal(count, PLACES);
    cl_mem records = cl_fixture_buffer(&fixture, refs, sizeof refs);
    clump_kernel *kernel = cl_fixture_kernel(&fixture, program, "free_twice");
    SET_ARG(&fixture, kernel, 0, records);
    CHECK_OK(&fixture, clump_heap_launch(heap, kernel, (size_t)PLACES * 2, 1, NULL));
    CHECK_STATUS(&fixture, clump_heap_take_errors(heap, &report), CLUMP_ERR_DEVICE);
    CHECK_OK(&fixture, clump_heap_read_count(heap, "Record", &count));
    uint32_t told = report.errors[CLUMP_DEVICE_DOUBLE_FREE].count +
                    report.errors[CLUMP_DEVICE_BAD_REFERENCE].count;
    if (count || told != PLACES)
        fail_msg("%u of %d second frees were reported, %llu records are left", told, PLACES,
                 (unsigned long long)count);
    CHECK_HEAP(&fixture, heap);
    clReleaseMemObject(records);
    clump_kernel_destroy(kernel);
}

/* TURNS work-items for each of a few objects. */
static void count(clump_heap *heap, clump_program *program) {
    static uint32_t out[TALLIES * (TURNS + 1)];
    struct {
        uint32_t sum, left;
        int32_t low, high;
        uint32_t peak, set, kept, last, first, winner;
        float total, turn;
    } t, want;
    const cl_uint tallies = TALLIES;
    clump_ref refs[TALLIES];
    cl_mem found = cl_fixture_buffer(&fixture, NULL, sizeof refs),
           counters = cl_fixture_buffer(&fixture, out, sizeof out);
    clump_kernel *clear = cl_fixture_kernel(&fixture, program, "clear"),
                 *kernel = cl_fixture_kernel(&fixture, program, "count");
    SET_ARG(&fixture, clear, 0, found);
    CHECK_OK(&fixture, clump_heap_do_new(heap, clear, "Tally", TALLIES, NULL, NULL));
    SET_ARG(&fixture, kernel, 0, found);
    SET_ARG(&fixture, kernel, 1, tallies);
    SET_ARG(&fixture, kernel, 2, counters);
    CHECK_OK(&fixture, clump_heap_launch(heap, kernel, TALLIES * TURNS, 64, NULL));
    cl_fixture_read(&fixture, found, refs, sizeof refs);
    cl_fixture_read(&fixture, counters, out, sizeof out);
    for (uint32_t k = 0; k < TALLIES; k++) {
        static const char *const names[] = {"sum",  "left", "low",   "high",   "peak",  "set",
                                            "kept", "last", "first", "winner", "total", "turn"};
        for (size_t i = 0; i < sizeof names / sizeof *names; i++)
            CHECK_OK(&fixture, clump_heap_read_object_field(heap, "Tally", names[i], 0, refs[k],
                                                            sizeof *((uint32_t *)&t + i),
                                                            (uint32_t *)&t + i));
        memset(&want, 0, sizeof want);
        want.low = 7, want.high = -999, want.peak = 1, want.kept = ~0u, want.total = -0.5f;
        for (uint32_t n = k; n < TALLIES * TURNS; n += TALLIES) {
            want.sum += n, want.left -= n;
            if (want.low > 100 - (int32_t)n) want.low = 100 - (int32_t)n;
            if (want.high < (int32_t)n - 2000) want.high = (int32_t)n - 2000;
            want.peak = 0x80000000u + n;
            want.set |= 1u << n % 31, want.kept &= ~(1u << n % 29);
            want.total += 3000.0f, want.turn += 1.0f;
        }
        /* All that was in `last` and is no more. */
        if (out[k] != want.sum - t.last || t.last % TALLIES != k || (t.first - 1) % TALLIES != k)
            fail_msg("tally %u: exchanges do not add up", k);
        want.last = t.last, want.first = want.winner = t.first;
        if (memcmp(&t, &want, sizeof t) != 0)
            for (size_t i = 0; i < sizeof names / sizeof *names; i++)
                if (memcmp((uint32_t *)&t + i, (uint32_t *)&want + i, 4) != 0)
                    fail_msg("tally %u: %s is %x, not %x", k, names[i], ((uint32_t *)&t)[i],
                             ((uint32_t *)&want)[i]);
        for (uint32_t turn = 0; turn < TURNS; turn++)
            if (out[TALLIES + k * TURNS + turn] != 1)
                fail_msg("tally %u: turn %u was had %u times", k, turn,
                         out[TALLIES + k * TURNS + turn]);
    }
    clReleaseMemObject(counters);
    clReleaseMemObject(found);
    clump_kernel_destroy(clear);
    clump_kernel_destroy(kernel);
}

/* ---- Random numbers ---- */

static void philox(uint64_t seed, uint64_t object, uint64_t step, uint32_t x[4]) {
    uint32_t key[2] = {(uint32_t)seed, (uint32_t)(seed >> 32)};
    x[0] = (uint32_t)object, x[1] = (uint32_t)(object >> 32);
    x[2] = (uint32_t)step, x[3] = (uint32_t)(step >> 32);
    for (int round = 0; round < 10; round++) {
        const uint64_t a = UINT64_C(0xD2511F53) * x[0], b = UINT64_C(0xCD9E8D57) * x[2];
        x[0] = (uint32_t)(b >> 32) ^ x[1] ^ key[0];
        x[2] = (uint32_t)(a >> 32) ^ x[3] ^ key[1];
        x[1] = (uint32_t)b, x[3] = (uint32_t)a;
        key[0] += 0x9E3779B9, key[1] += 0xBB67AE85;
    }
}

/* The first three are the known answers that Random123 is published with. */
static void draw(clump_heap *heap, clump_program *program) {
    enum { KNOWN = 3, DRAWN = 640 };
    static uint64_t asked[DRAWN][3] = {
        {0, 0, 0},
        {~UINT64_C(0), ~UINT64_C(0), ~UINT64_C(0)},
        {UINT64_C(0x299f31d0a4093822), UINT64_C(0x85a308d3243f6a88), UINT64_C(0x0370734413198a2e)}};
    static const uint32_t known[KNOWN][4] = {{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8},
                                             {0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd},
                                             {0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}};
    static uint32_t words[DRAWN][4];
    static float floats[DRAWN];
    for (uint64_t i = KNOWN; i < DRAWN; i++)
        for (uint64_t k = 0; k < 3; k++)
            asked[i][k] = i % 2 ? i * (k + 1) : (i + k) * UINT64_C(0x9E3779B97F4A7C15);
    cl_mem in = cl_fixture_buffer(&fixture, asked, sizeof asked),
           out = cl_fixture_buffer(&fixture, NULL, sizeof words),
           fractions = cl_fixture_buffer(&fixture, NULL, sizeof floats);
    clump_kernel *kernel = cl_fixture_kernel(&fixture, program, "draw");
    SET_ARG(&fixture, kernel, 0, in);
    SET_ARG(&fixture, kernel, 1, out);
    SET_ARG(&fixture, kernel, 2, fractions);
    CHECK_OK(&fixture, clump_heap_launch(heap, kernel, DRAWN, 64, NULL));
    cl_fixture_read(&fixture, out, words, sizeof words);
    cl_fixture_read(&fixture, fractions, floats, sizeof floats);
    assert_memory_equal(words, known, sizeof known);
    for (uint32_t i = 0; i < DRAWN; i++) {
        uint32_t x[4];
        philox(asked[i][0], asked[i][1], asked[i][2], x);
        assert_memory_equal(words[i], x, sizeof x);
        assert_true(floats[i] == (float)(x[3] >> 8) / 16777216.0f && floats[i] < 1.0f);
    }
    clReleaseMemObject(in);
    clReleaseMemObject(out);
    clReleaseMemObject(fractions);
    clump_kernel_destroy(kernel);
}

/* Nothing is converted. */
static void other_types(void) {
    static const struct {
        const char *statement, *words;
    } cases[] = {{"CLUMP_ATOMIC_ADD_FLOAT(Tally_total(t), 1); CLUMP_PUBLISH(Column_place(c), "
                  "Record_null, r);"
                  "CLUMP_OBSERVED(float, Tally_total(t)) = Record_word(CLUMP_OBSERVE(Record, "
                  "Column_place(c)));",
                  NULL},
                 {"CLUMP_ATOMIC_ADD_FLOAT(Tally_sum(t), 1.0f);", "float"},
                 {"CLUMP_OBSERVE(Column, Column_place(c));", "Column"},
                 {"CLUMP_OBSERVED(int, Tally_sum(t));", "int"},
                 {"CLUMP_PUBLISH(Column_place(c), Record_null, c);", "Column"},
                 {"CLUMP_PUBLISH(Column_place(c), t, r);", "Tally"}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char text[400];
        snprintf(text, sizeof text,
                 "__kernel void k(CLUMP_HEAP_NO_ALLOC, Tally t, Column c, Record r) { %s }\n",
                 cases[i].statement);
        cl_fixture_expect_build(&fixture, schema, text, NULL, cases[i].words);
    }
}

int main(int argc, char **argv) {
    const int rounds = argc > 1 ? atoi(argv[1]) : 3;
    int status = cl_fixture_open(&fixture, NULL);
    if (status) return status;
    clump_heap *heap = cl_fixture_heap(&fixture, schema, 8u << 20, 0);
    clump_program *program =
        cl_fixture_program(&fixture, heap, source, argc > 2 ? argv[2] : NULL, NULL);
    cl_mem places = cl_fixture_buffer(&fixture, NULL, PLACES * sizeof(clump_ref));
    for (int i = 0; i < rounds * KINDS; i++) {
        race(heap, program, (cl_uint)i % KINDS, places);
        free_twice(heap, program);
    }
    count(heap, program);
    draw(heap, program);
    other_types();
    clReleaseMemObject(places);
    clump_program_destroy(program);
    clump_heap_destroy(heap);
    cl_fixture_close(&fixture);
    printf("%d races\n", rounds * KINDS);
    return 0;
}
