/* Arbitrary bit patterns as references, in kernels and in calls of the host.
 *
 *     fault_references [PATTERNS]     10^6 without it, of each kind of program
 *
 * The host knows which objects live, by clump_heap_read_refs(), and tells the kernel in a table of
 * its own. For each pattern the kernel asks is_live, class_of, the class tests and casts, and
 * compares; then it frees the pattern as an object of a class of which it is none. A program that
 * is built with `checked` also reads and writes a field through it. Nothing but the error record
 * may change: after each launch the errors are fetched, which clears them, and the whole buffer is
 * compared. The launch is OpenCL's own, since clump_heap_do_all() writes lists and reservations.
 * The number of errors must be that of the references that had to be refused.
 *
 * A quarter of the patterns are any 32 bits (different ones, up to 2^32 of them), a quarter lie in
 * the heap, a quarter are living references with a bit wrong or right, and a quarter are what
 * uninitialised memory often holds.
 *
 * Read first: cl/api/device_api.clh.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cl_fixture.h"
#include "heap/heap.h"

/* Rows of Large take several granules, so there are granules in blocks where no row starts. */
static const char schema_text[] =
    "abstract class Any { uint a; uint b[31]; } class Small : Any {} abstract class Mid : Any {}"
    "class Twin : Mid {} aos class Large : Mid { uint c[31]; ref Any d; }";

static const char source[] =
    "__kernel void make(CLUMP_HEAP) { CLUMP_FOR_EACH_NEW(Any, self, i) Any_a(self) = self.id; }\n"
    "uint hash(uint x) {\n"
    "    x ^= x >> 16; x *= 0x85ebca6bu; x ^= x >> 13; x *= 0xc2b2ae35u; return x ^ x >> 16;\n"
    "}\n"
    /* Rows with holes, blocks that are free again, slots that are reserved. */
    "__kernel void thin(CLUMP_HEAP, uint row) {\n"
    "    CLUMP_FOR_EACH(Any, self) {\n"
    "        if (self.id >> 6 < row || hash(self.id) % 3u == 0u) { Any_free(self); return; }\n"
    "        if (hash(self.id) % 3u == 1u) {\n"
    "            Small s = Small_new();\n"
    "            if (!Small_is_null(s)) Small_a(s) = s.id;\n"
    "        }\n"
    "    }\n"
    "}\n"
    "__kernel void end(CLUMP_HEAP) { CLUMP_FOR_EACH(Any, self) Any_free(self); }\n"
    /* The n-th pattern. */
    "uint pattern(uint n, uint granules, __global const uint *refs, uint count) {\n"
    "    uint h = hash(n ^ 0x9e3779b9u), k = n >> 2;\n"
    "    switch (n & 3u) {\n"
    "    case 0u: return k * 2654435761u;\n"
    "    case 1u: return h % (granules << 6);\n"
    "    case 2u: return refs[h % count] ^ (k & 32u ? 0u : 1u << (k & 31u));\n"
    "    default: return k & 1u ? h & 1023u : k & 2u ? ~(h & 1023u) : k & 4u ? as_uint((float)h)\n"
    "                           : (granules << 6) - 512u + (h & 1023u);\n"
    "    }\n"
    "}\n"
    /* live: 1 if the reference is that of an object of the class `kind`. Returns what is wrong. */
    "uint judge(CLUMP_HEAP, uint id, uint kind) {\n"
    "    Any any = {id}; Small small = {id}; Mid mid = {id}; Large large = {id};\n"
    "    uint is_mid = kind == Twin_CLASS || kind == Large_CLASS, wrong = 0u;\n"
    "    if (Any_is_live(any) != (kind != 0u)) wrong |= 1u;\n"
    "    if (Small_is_live(small) != (kind == Small_CLASS)) wrong |= 2u;\n"
    "    if (Mid_is_live(mid) != is_mid) wrong |= 4u;\n"
    "    if (Large_is_live(large) != (kind == Large_CLASS)) wrong |= 8u;\n"
    "    uint found = Any_class_of(any), mid_id = Any_as_Mid(any).id, is_small = "
    "Any_is_Small(any);\n"
    "    if (kind) {\n"
    "        if (found != kind) wrong |= 16u;\n"
    "        if (is_small != (kind == Small_CLASS)) wrong |= 32u;\n"
    "        if (mid_id != (is_mid ? id : 0u)) wrong |= 64u;\n"
    "    } else {\n"
    "        if (found && found != Small_CLASS && found != Twin_CLASS && found != Large_CLASS)\n"
    "            wrong |= 16u;\n"
    "        if (is_small != (found == Small_CLASS)) wrong |= 32u;\n"
    "        if (mid_id && mid_id != id) wrong |= 64u;\n"
    "    }\n"
    "    return wrong;\n"
    "}\n"
    "enum { WRONG, WRONG_ID, WRONG_BITS, LIVE, REFUSED, OUTSIDE, STRANGERS, READ, ASKED, TALLIES "
    "};\n"
    "__kernel void try_all(CLUMP_HEAP, __global const uchar *kinds, __global const ulong *live,\n"
    "                      uint granules, __global const uint *refs, uint count, uint first,\n"
    "                      uint patterns, __global uint *tallies) {\n"
    "    uint tally[TALLIES] = {0u};\n"
    "    for (uint i = get_global_id(0); i < patterns; i += get_global_size(0)) {\n"
    "        uint id = pattern(first + i, granules, refs, count), granule = id >> 6;\n"
    "        uint inside = granule < granules;\n"
    "        uint kind = inside && (live[granule] >> (id & 63u) & 1ul) ? kinds[granule] : 0u;\n"
    "        uint wrong = judge(clump_heap, id, kind), between = inside && kinds[granule] == "
    "BETWEEN;\n"
    "        Any any = {id}; Small small = {id}; Mid mid = {id}; Large large = {id};\n"
    "        if (between && Any_class_of(any)) wrong |= 128u;\n"
    "#if READS\n"
    "        if (kind) {\n"
    "            if (Any_a(any) != id) wrong |= 256u;\n"
    "        } else {\n"
    "            tally[READ] += 2u;\n"
    "            Any_b(any, i % 31u) = Any_a(any);\n"
    "        }\n"
    "        if (!kind && id) tally[ASKED] += 3u + between; /* tests and casts of judge() */\n"
    "        if (kind != Small_CLASS) { Small_b(small, i % 31u) = i; tally[READ]++; }\n"
    "        if (kind != Large_CLASS) { Large_c(large, i % 31u) = i; tally[READ]++; }\n"
    "#endif\n"
    "        uint is_mid = kind == Twin_CLASS || kind == Large_CLASS, freed = 0u;\n"
    "        switch (hash(first + i) & 3u) {\n"
    "        case 0u: if (!kind) { Any_free(any); freed = 1u; } break;\n"
    "        case 1u: if (kind != Small_CLASS) { Small_free(small); freed = 1u; } break;\n"
    "        case 2u: if (!is_mid) { Mid_free(mid); freed = 1u; } break;\n"
    "        default: if (kind != Large_CLASS) { Large_free(large); freed = 1u; } break;\n"
    "        }\n"
    "        tally[LIVE] += kind != 0u;\n"
    "        tally[REFUSED] += freed && id;\n"
    "        tally[OUTSIDE] += freed && (!inside || between);\n"
    "        tally[STRANGERS] += freed && kind;\n"
    "        if (wrong) {\n"
    "            tally[WRONG]++;\n"
    "            tallies[WRONG_ID] = id;\n"
    "            tallies[WRONG_BITS] = wrong;\n"
    "        }\n"
    "    }\n"
    "    for (uint i = 0u; i < TALLIES; i++) if (tally[i]) atomic_add(&tallies[i], tally[i]);\n"
    "}\n";

enum { WRONG, WRONG_ID, WRONG_BITS, LIVE, REFUSED, OUTSIDE, STRANGERS, READ, ASKED, TALLIES };

#define BETWEEN 255 /* in place of a class: a granule of a row that begins before it */

#define LAUNCH_PATTERNS                                                                            \
    (1u << 20) /* so that a count fits in 32 bits, and what is wrong shows soon */

static struct {
    cl_fixture on;
    clump_heap *heap;
    clump_program *programs[2]; /* as it is; checked */
    clump_kernel *end, *tries[2];
    uint64_t patterns;
    uint8_t *before, *now;
    uint32_t granules, *refs;
    uint64_t count;
    uint8_t *kinds;
    uint64_t *live;
    cl_mem kinds_buffer, live_buffer, refs_buffer, tallies;
} t;

static void read_heap(uint8_t *bytes) {
    cl_fixture_heap_read(t.heap, bytes);
}

/* All that the heap's metadata and objects say; below it is the null row, where checked accesses
 * end. */
static void check_unchanged(const char *when) {
    uint64_t begin = (uint64_t)t.heap->geometry.header.self_at * CLUMPI_UNIT;
    read_heap(t.now);
    for (uint64_t i = begin; i < t.heap->info.bytes; i++)
        if (t.now[i] != t.before[i])
            fail_msg("%s: byte %llu was %u and is %u (header at %llu)", when, (unsigned long long)i,
                     t.before[i], t.now[i], (unsigned long long)begin);
}

static void launch(int checked, uint32_t first, uint32_t patterns, uint32_t *tallies) {
    clump_kernel *kernel = t.tries[checked];
    cl_mem heap = clump_heap_get_info(t.heap)->buffer;
    uint32_t count = (uint32_t)t.count;
    const size_t global = 4096, local = 64;
    memset(tallies, 0, TALLIES * sizeof *tallies);
    cl_fixture_write(&t.on, t.tallies, tallies, TALLIES * sizeof *tallies);
    CHECK_CL(clSetKernelArg(kernel->kernel, 0, sizeof heap, &heap));
    SET_ARG(&t.on, kernel, 0, t.kinds_buffer);
    SET_ARG(&t.on, kernel, 1, t.live_buffer);
    SET_ARG(&t.on, kernel, 2, t.granules);
    SET_ARG(&t.on, kernel, 3, t.refs_buffer);
    SET_ARG(&t.on, kernel, 4, count);
    SET_ARG(&t.on, kernel, 5, first);
    SET_ARG(&t.on, kernel, 6, patterns);
    SET_ARG(&t.on, kernel, 7, t.tallies);
    CHECK_CL(clEnqueueNDRangeKernel(t.on.queue, kernel->kernel, 1, NULL, &global, &local, 0, NULL,
                                    NULL));
    cl_fixture_read(&t.on, t.tallies, tallies, TALLIES * sizeof *tallies);
}

/* The message describes the first kind, and names each other one with its count. */
static void check_message(const clump_device_report *report) {
    static const char *const names[] = {
#define NAME(name, text) #name,
        CLUMP_DEVICE_ERROR_LIST(NAME)
#undef NAME
    };
    const char *message = clump_context_get_error(t.on.clump)->message;
    int is_first = 1;
    for (int i = 0; i < CLUMP_DEVICE_ERROR_COUNT; i++) {
        char words[64];
        if (!report->errors[i].count) continue;
        snprintf(words, sizeof words, "%s %u times", names[i], report->errors[i].count);
        if ((strstr(message, words) != NULL) == is_first)
            fail_msg("\"%s\" is%s in: %s", words, is_first ? "" : " not", message);
        is_first = 0;
    }
}

static void try_patterns(int checked) {
    uint64_t live = 0, refused = 0, bad = 0, twice = 0;
    read_heap(t.before);
    for (uint64_t done = 0, patterns; done < t.patterns; done += patterns) {
        uint32_t tallies[TALLIES];
        clump_device_report report = {.size = sizeof report};
        patterns = t.patterns - done < LAUNCH_PATTERNS ? t.patterns - done : LAUNCH_PATTERNS;
        launch(checked, (uint32_t)done, (uint32_t)patterns, tallies);
        if (tallies[WRONG])
            fail_msg("%u patterns, from %llu on: wrong, such as 0x%x (%x)", tallies[WRONG],
                     (unsigned long long)done, tallies[WRONG_ID], tallies[WRONG_BITS]);
        CHECK_STATUS(&t.on, clump_heap_take_errors(t.heap, &report), CLUMP_ERR_DEVICE);
        check_message(&report);
        uint32_t none = report.errors[CLUMP_DEVICE_BAD_REFERENCE].count,
                 gone = report.errors[CLUMP_DEVICE_DOUBLE_FREE].count;
        assert_int_equal(none + gone, tallies[REFUSED]);
        assert_true(none >= tallies[OUTSIDE] + tallies[STRANGERS]);
        assert_int_equal(report.errors[CLUMP_DEVICE_BAD_ACCESS].count,
                         tallies[READ] + tallies[ASKED]);
        assert_int_equal(report.errors[CLUMP_DEVICE_OUT_OF_MEMORY].count, 0);
        assert_int_equal(report.errors[CLUMP_DEVICE_RETRY_BOUND].count, 0);
        check_unchanged("after the patterns");
        live += tallies[LIVE];
        refused += tallies[REFUSED];
        bad += none;
        twice += gone;
    }
    print_message(
        "%llu patterns: %llu of living objects, %llu frees refused; %llu bad references, %llu "
        "double "
        "frees reported\n",
        (unsigned long long)t.patterns, (unsigned long long)live, (unsigned long long)refused,
        (unsigned long long)bad, (unsigned long long)twice);
    assert_true(live > t.patterns / 50 && bad && twice);
    CHECK_HEAP(&t.on, t.heap);
}

static void as_built(void **state) {
    try_patterns(0);
}
static void with_checks(void **state) {
    try_patterns(1);
}

/* The host's calls for one object: any of the object's bits, and whatever else. */
static void from_the_host(void **state) {
    uint64_t seed = 3, refused = 0;
    read_heap(t.before); /* anew: the heap check left its scratch */
    for (unsigned i = 0; i < 3000; i++) {
        clump_ref ref = t.refs[test_random(&seed, (uint32_t)t.count)];
        if (i % 3 == 0) ref ^= UINT32_C(1) << test_random(&seed, 32);
        if (i % 3 == 1) ref = test_random(&seed, 1u << 16) << 16 | test_random(&seed, 1u << 16);
        uint32_t granule = ref >> 6, value = 0xdeadbeef;
        int lives = granule < t.granules && (t.live[granule] >> (ref & 63) & 1);
        clump_status expected = lives ? CLUMP_OK : CLUMP_ERR_REFERENCE;
        CHECK_STATUS(
            &t.on, clump_heap_read_object_field(t.heap, "Any", "a", 0, ref, sizeof(value), &value),
            expected);
        assert_int_equal(value, lives ? ref : 0xdeadbeef);
        CHECK_STATUS(
            &t.on, clump_heap_write_object_field(t.heap, "Any", "a", 0, ref, sizeof(value), &value),
            expected);
        refused += !lives;
    }
    assert_true(refused > 1000 && refused < 2500);
    check_unchanged("after the host's calls");
}

/* The objects are all there, and valid references are still taken. */
static void all_can_be_freed(void **state) {
    uint64_t count;
    CHECK_OK(&t.on, clump_heap_read_count(t.heap, "Any", &count));
    assert_int_equal(count, t.count);
    CHECK_OK(&t.on, clump_heap_do_all(t.heap, t.end, NULL));
    CHECK_HEAP(&t.on, t.heap);
    CHECK_OK(&t.on, clump_heap_read_count(t.heap, "Any", &count));
    assert_int_equal(count, 0);
}

/* What lives, class by class, as the host reads it. */
static void make_model(void) {
    static const char *const names[] = {"Small", "Twin", "Large"};
    CHECK_OK(&t.on, clump_heap_read_count(t.heap, "Any", &t.count));
    t.refs = malloc(t.count * sizeof *t.refs);
    t.kinds = calloc(t.granules, 1);
    t.live = calloc(t.granules, sizeof *t.live);
    uint64_t at = 0;
    for (int i = 0; i < 3; i++) {
        uint64_t count;
        CHECK_OK(&t.on, clump_heap_read_refs(t.heap, names[i], t.refs + at, t.count - at, &count));
        assert_true(count > 64 && at + count <= t.count);
        uint32_t id = cl_fixture_class_id(t.heap, names[i]);
        for (uint64_t k = at; k < at + count; k++) {
            t.kinds[t.refs[k] >> 6] = (uint8_t)id;
            t.live[t.refs[k] >> 6] |= UINT64_C(1) << (t.refs[k] & 63);
            for (uint32_t g = 1; g < t.heap->geometry.classes[id].row_granules; g++)
                t.kinds[(t.refs[k] >> 6) + g] = BETWEEN;
        }
        at += count;
    }
    assert_int_equal(at, t.count);
    t.kinds_buffer = cl_fixture_buffer(&t.on, t.kinds, t.granules);
    t.live_buffer = cl_fixture_buffer(&t.on, t.live, t.granules * sizeof *t.live);
    t.refs_buffer = cl_fixture_buffer(&t.on, t.refs, t.count * sizeof *t.refs);
    t.tallies = cl_fixture_buffer(&t.on, NULL, TALLIES * sizeof(uint32_t));
}

static int set_up(void **state) {
    static const char *const names[] = {"Small", "Twin", "Large"};
    const cl_fixture_build checked = {.checked = 1};
    t.heap = cl_fixture_heap_of_blocks(&t.on, schema_text, 24, 2);
    t.programs[0] = cl_fixture_program(&t.on, t.heap, source, "-DREADS=0 -DBETWEEN=255", NULL);
    t.programs[1] = cl_fixture_program(&t.on, t.heap, source, "-DREADS=1 -DBETWEEN=255", &checked);
    for (int i = 0; i < 2; i++) t.tries[i] = cl_fixture_kernel(&t.on, t.programs[i], "try_all");
    t.end = cl_fixture_kernel(&t.on, t.programs[0], "end");
    clump_kernel *make = cl_fixture_kernel(&t.on, t.programs[0], "make"),
                 *thin = cl_fixture_kernel(&t.on, t.programs[0], "thin");
    for (int i = 0; i < 3; i++) {
        uint64_t made;
        CHECK_OK(&t.on, clump_heap_do_new(t.heap, make, names[i],
                                          5 * cl_fixture_capacity(t.heap, names[i]), &made, NULL));
    }
    const clump_heap_info *layout = clump_heap_get_info(t.heap);
    uint32_t row = (layout->first_block + 2) * layout->block_granules;
    SET_ARG(&t.on, thin, 0, row);
    CHECK_OK(&t.on, clump_heap_do_all(t.heap, thin, NULL));
    CHECK_HEAP(&t.on, t.heap);
    clump_kernel_destroy(make);
    clump_kernel_destroy(thin);
    t.granules = (layout->first_block + layout->block_count) * layout->block_granules;
    make_model();
    t.before = malloc(layout->bytes);
    t.now = malloc(layout->bytes);
    return 0;
}

static int tear_down(void **state) {
    cl_mem buffers[] = {t.kinds_buffer, t.live_buffer, t.refs_buffer, t.tallies};
    for (size_t i = 0; i < sizeof buffers / sizeof *buffers; i++) clReleaseMemObject(buffers[i]);
    clump_kernel_destroy(t.end);
    for (int i = 0; i < 2; i++) clump_kernel_destroy(t.tries[i]);
    for (int i = 0; i < 2; i++) clump_program_destroy(t.programs[i]);
    clump_heap_destroy(t.heap);
    free(t.refs);
    free(t.kinds);
    free(t.live);
    free(t.before);
    free(t.now);
    return 0;
}

int main(int argc, char **argv) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(as_built),
        cmocka_unit_test(with_checks),
        cmocka_unit_test(from_the_host),
        cmocka_unit_test(all_can_be_freed),
    };
    t.patterns = argc > 1 ? (uint64_t)strtod(argv[1], NULL) : 1000000;
    int result = cl_fixture_open(&t.on, NULL);
    if (result) return result;
    result = cmocka_run_group_tests(tests, set_up, tear_down);
    cl_fixture_close(&t.on);
    return result;
}
