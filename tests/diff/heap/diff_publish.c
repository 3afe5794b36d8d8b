/* What docs/guide/memory-model.md promises of one launch: work-items that publish new objects in reference fields by compare-and-swap,
 * others that follow these at the same time, and two that free one object. Reference fields are tried where they may lie: in a
 * column, in a struct of layout aos, in arrays, packed or not.
 *
 *   diff_publish [ROUNDS [OPTIONS]]     of the kernels: -DPLANTED=1, 2 is a fault, which must be found
 *
 * Each place gets one winner, whose object stays; losers free theirs. A reader that finds an object finds all of its
 * fields as the publisher wrote them. Of two frees one is done and the other is reported.
 *
 * Faults: 1, the store is no compare-and-swap; 2, the reference is published before the fields.
 *
 * Read first: docs/guide/memory-model.md, tests/support/cl_fixture.h.
 */
#include <stdio.h>
#include <stdlib.h>

#include "support/cl_fixture.h"

enum { PLACES = 2048, RIVALS = 8, KINDS = 4 };

static const char schema[] =
    "class Record { uint word; uint values[8]; uint again; }\n"
    "class Column { uint pad; ref Record place; }\n"
    "aos class Struct { char c; ref Record place; uchar tail[3]; }\n"
    "class Spread { ref Record place[3]; }\n"
    "class Packed { uchar c; ref Record place[3] packed; }\n";

#define KIND(C, place)                                                                             \
    "__kernel void make_" #C                                                                       \
    "(CLUMP_HEAP, __global uint *places) {\n"                                                      \
    "    CLUMP_FOR_EACH_NEW(" #C ", self, i) { places[i] = self.id; " #C "_" place                 \
    " = Record_null; }\n"                                                                          \
    "}\n"

/* Work-groups go over all places in the same order, so that those that run at the same time are rivals. */
static const char source[] =
    "#ifndef PLANTED\n"
    "#define PLANTED 0\n"
    "#endif\n"
    "volatile __global uint *place_of(CLUMP_HEAP_NO_ALLOC, uint kind, uint id) {\n"
    "    Column c = {id}; Struct s = {id}; Spread a = {id}; Packed p = {id};\n"
    "    if (kind == 0) return (volatile __global uint *)&Column_place(c);\n"
    "    if (kind == 1) return (volatile __global uint *)&Struct_place(s);\n"
    "    if (kind == 2) return (volatile __global uint *)&Spread_place(a, 1);\n"
    "    return (volatile __global uint *)&Packed_place(p, 1);\n"
    "}\n"
    "void fill(CLUMP_HEAP_NO_ALLOC, Record r, uint word) {\n"
    "    Record_word(r) = word;\n"
    "    for (uint k = 0; k < 8; k++) Record_values(r, k) = word * 2654435761u + k;\n"
    "    Record_again(r) = word;\n"
    "}\n"
    "void follow(CLUMP_HEAP_NO_ALLOC, volatile __global uint *place, __global uint *seen) {\n"
    "    Record there = {atomic_or(place, 0u)};\n"
    "    CLUMP_FENCE();\n"
    "    if (Record_is_null(there)) return;\n"
    "    uint word = *(volatile __global uint *)&Record_word(there);\n"
    "    uint wrong = word == 0 || *(volatile __global uint *)&Record_again(there) != word;\n"
    "    for (uint k = 0; k < 8; k++)\n"
    "        wrong += *(volatile __global uint *)&Record_values(there, k) != word * 2654435761u + "
    "k;\n"
    "    atomic_inc(seen + 1);\n"
    "    if (wrong) atomic_inc(seen + 2);\n"
    "}\n"
    "__kernel void race(CLUMP_HEAP, __global const uint *places, uint count, __global uint *seen, "
    "uint kind) {\n"
    "    for (uint n = get_local_id(0); n < count; n += get_local_size(0)) {\n"
    "        volatile __global uint *place = place_of(clump_heap, kind, places[n]);\n"
    "        follow(clump_heap, place, seen);\n"
    "        Record fresh = Record_new();\n"
    "        if (Record_is_null(fresh)) return;\n"
    "        fill(clump_heap, fresh, PLANTED == 2 ? 0u : n + 1);\n"
    "        CLUMP_FENCE();\n"
    "        uint found = PLANTED == 1 ? (*place = fresh.id, 0u) : atomic_cmpxchg(place, 0u, "
    "fresh.id);\n"
    "        for (uint wait = 0; PLANTED == 2 && wait < 1000; wait++) atomic_or(place, 0u);\n"
    "        if (PLANTED == 2 && !found) fill(clump_heap, fresh, n + 1);\n"
    "        if (found) Record_free(fresh);\n"
    "        else atomic_inc(seen);\n"
    "        follow(clump_heap, place, seen);\n"
    "    }\n"
    "}\n"
    /* Each record is freed by two neighbours. */
    "__kernel void free_twice(CLUMP_HEAP, __global const uint *records) {\n"
    "    Record r = {records[get_global_id(0) / 2]};\n"
    "    Record_free(r);\n"
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
    clump_device_report report;
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
    clReleaseMemObject(places);
    clump_program_destroy(program);
    clump_heap_destroy(heap);
    cl_fixture_close(&fixture);
    printf("%d races\n", rounds * KINDS);
    return 0;
}
