/* Raw memory that is asked for wrongly, given back wrongly, or not there: what cl/api/raw.clh and
 * clump/heap.h promise. What is refused is reported and changes nothing. Then heaps that cannot be
 * made, programs that cannot be built, and marks of runs that were overwritten. All calls are
 * those of cl/api/malloc.h, which call those of raw.clh, also on heaps that they are not for.
 *
 * Read first: cl/api/raw.clh, cl/api/malloc.h, cl/core/runs.clh.
 */
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cl_fixture.h"
#include "clump/checked.h"
#include "core/core.h"
#include "heap/heap.h"

static const char schema_text[] = "class Node { uint a; ulong b; }";

/* One call by one work-item. out[0]: what it returned; a pointer as its handle, or 1 for one that
 * is none of the heap. */
static const char source[] =
    "enum { MALLOC, CALLOC, ALIGNED, REALLOC, FREE, USABLE, AT, OBJECT, "
    "FILL, FREE_LIST, OF, ELSEWHERE = 16 };\n"
    "ulong handle_of(__global void *heap, __global void *p) {\n"
    "    return p ? clump_heap_raw_of(heap, p) : 0ul;\n"
    "}\n"
    "__kernel void call(CLUMP_HEAP, __global ulong *out, uint what, ulong a, ulong b,\n"
    "                   __global uchar *other) {\n"
    "    if (get_global_id(0)) return;\n"
    "    __global uchar *heap = what & ELSEWHERE ? other : clump_heap, *p = heap + a * 16u;\n"
    "    if (a == 0) p = 0;\n"
    "    what &= ELSEWHERE - 1u;\n"
    "    switch (what) {\n" /* each call stands once: PoCL inlines them all */
    "    case MALLOC:\n"
    "    case FILL: {\n" /* as many as there is room for; the handles follow */
    "        uint n = 0, most = what == FILL ? (uint)b : 1u;\n"
    "        for (out[1] = 0; n < most; n++) {\n"
    "            out[1 + n] = handle_of(heap, clump_heap_malloc(heap, a));\n"
    "            if (!out[1 + n]) break;\n"
    "        }\n"
    "        out[0] = what == FILL ? n : out[1];\n"
    "    } break;\n"
    "    case CALLOC: out[0] = handle_of(heap, clump_heap_calloc(heap, a, b)); break;\n"
    "    case ALIGNED: out[0] = handle_of(heap, clump_heap_aligned_alloc(heap, a, b)); break;\n"
    "    case REALLOC: out[0] = handle_of(heap, clump_heap_realloc(heap, p, b)); break;\n"
    "    case FREE:\n"
    "    case FREE_LIST:\n" /* FREE_LIST: those that FILL gave */
    "        for (uint n = 0; n < (what == FREE ? 1u : (uint)out[0]); n++) {\n"
    "            if (what == FREE_LIST) p = clump_heap_raw_at(heap, (uint)out[1 + n]);\n"
    "            clump_heap_free(heap, b == 99u ? (__global uchar *)out : p + b);\n"
    "        }\n"
    "        break;\n"
    "    case USABLE: out[0] = clump_heap_usable_size(heap, p); break;\n"
    "    case AT: out[0] = clump_heap_raw_at(heap, (uint)a) != 0; break;\n"
    "    case OF: out[0] = clump_heap_raw_of(heap, b == 99u ? (__global uchar *)out : p); break;\n"
    "    case OBJECT: { Node n = Node_new(); out[0] = n.id; } break;\n"
    "    }\n"
    "}\n";
enum {
    MALLOC,
    CALLOC,
    ALIGNED,
    REALLOC,
    FREE,
    USABLE,
    AT,
    OBJECT,
    FILL,
    FREE_LIST,
    OF,
    ELSEWHERE = 16
};

enum { ROOM = 200000 };

static struct {
    cl_fixture on;
    clump_heap *heap;
    clump_program *program;
    clump_kernel *kernel;
    cl_mem out, other;
    uint64_t most, block_bytes, small; /* sizes: the largest; of a block; of the largest slot */
    uint64_t results[ROOM];
} t;

static clump_status make_heap(uint64_t bytes, int raw, const char *schema, clump_heap **heap) {
    clump_schema *s = NULL;
    if (schema)
        assert_int_equal(clump_schema_parse(schema, strlen(schema), NULL, &s, NULL), CLUMP_OK);
    clump_heap_desc d = {
        .size = sizeof d, .context = t.on.clump, .schema = s, .bytes = bytes, .raw = raw};
    clump_status status = clump_heap_create(&d, heap, NULL);
    clump_schema_destroy(s);
    return status;
}

static int open_all(void **state) {
    CHECK_OK(&t.on, make_heap(8 << 20, 1, schema_text, &t.heap));
    t.program = cl_fixture_program(&t.on, t.heap, source, "-DCLUMP_MALLOC_FUNCTIONS", NULL);
    t.kernel = cl_fixture_kernel(&t.on, t.program, "call");
    t.out = cl_fixture_buffer(&t.on, NULL, sizeof t.results);
    const clumpi_header *h = &t.heap->geometry.header;
    t.most = (uint64_t)h->raw_most * CLUMPI_RAW_UNIT;
    t.small = (uint64_t)h->raw_units * CLUMPI_RAW_UNIT;
    t.block_bytes = (uint64_t)h->granule_bytes * h->block_granules;
    return 0;
}

static int close_all(void **state) {
    clump_kernel_destroy(t.kernel);
    clump_program_destroy(t.program);
    clump_heap_destroy(t.heap);
    clReleaseMemObject(t.out);
    return 0;
}

static uint64_t call(uint32_t what, uint64_t a, uint64_t b) {
    SET_ARG(&t.on, t.kernel, 0, t.out);
    SET_ARG(&t.on, t.kernel, 1, what);
    SET_ARG(&t.on, t.kernel, 2, a);
    SET_ARG(&t.on, t.kernel, 3, b);
    SET_ARG(&t.on, t.kernel, 4, *(t.other ? &t.other : &t.out));
    CHECK_OK(&t.on, clump_heap_launch(t.heap, t.kernel, 64, 64, NULL));
    cl_fixture_read(&t.on, t.out, t.results, what == FILL ? sizeof t.results : sizeof *t.results);
    CHECK_OK(&t.on, clump_heap_check(t.heap));
    return t.results[0];
}

static void release(uint64_t handle) {
    call(FREE, handle, 0);
    cl_fixture_expect_error(&t.on, t.heap, -1, 0, NULL);
}

/* ---- Sizes and alignments -------------------------------------------------------------------- */

static void sizes(void **state) {
    const uint32_t all = UINT32_MAX;
    static const uint64_t none[] = {0, 3, 24, 8192, UINT64_C(1) << 32, UINT64_MAX};
    assert_int_equal(call(MALLOC, 0, 0), 0);
    cl_fixture_expect_error(&t.on, t.heap, CLUMP_DEVICE_BAD_SIZE, 0, "A size must be 1 to");
    assert_int_equal(call(MALLOC, t.most + 1, 0), 0);
    cl_fixture_expect_error(&t.on, t.heap, CLUMP_DEVICE_BAD_SIZE, (uint32_t)t.most + 1, NULL);
    assert_int_equal(call(MALLOC, UINT64_MAX, 0), 0);
    cl_fixture_expect_error(&t.on, t.heap, CLUMP_DEVICE_BAD_SIZE, all, NULL);
    assert_int_equal(call(CALLOC, UINT64_C(1) << 32, UINT64_C(1) << 32), 0); /* 0 modulo 2^64 */
    cl_fixture_expect_error(&t.on, t.heap, CLUMP_DEVICE_BAD_SIZE, all, NULL);
    assert_int_equal(call(CALLOC, (UINT64_C(1) << 63) + 1, 2), 0); /* 2 */
    cl_fixture_expect_error(&t.on, t.heap, CLUMP_DEVICE_BAD_SIZE, all, NULL);
    assert_int_equal(call(CALLOC, 5, 0), 0);
    cl_fixture_expect_error(&t.on, t.heap, CLUMP_DEVICE_BAD_SIZE, 0, NULL);
    for (size_t i = 0; i < sizeof none / sizeof *none; i++) {
        assert_int_equal(call(ALIGNED, none[i], 64), 0);
        cl_fixture_expect_error(&t.on, t.heap, CLUMP_DEVICE_BAD_SIZE,
                                none[i] > all ? all : (uint32_t)none[i],
                                "an alignment must be a power of two");
    }
    assert_int_equal(call(ALIGNED, 64, t.most), 0); /* no room for the alignment */
    cl_fixture_expect_error(&t.on, t.heap, CLUMP_DEVICE_BAD_SIZE, (uint32_t)t.most + 48, NULL);
    assert_int_equal(call(ALIGNED, 64, UINT64_MAX), 0);
    cl_fixture_expect_error(&t.on, t.heap, CLUMP_DEVICE_BAD_SIZE, all, NULL);
    /* Each kind of memory, at its limits; a realloc to no size changes nothing. */
    const uint64_t right[] = {1,     16, 17, t.small, t.small + 1, t.block_bytes, t.block_bytes + 1,
                              t.most};
    for (size_t i = 0; i < sizeof right / sizeof *right; i++) {
        uint64_t p = call(MALLOC, right[i], 0);
        assert_true(p > 0);
        cl_fixture_expect_error(&t.on, t.heap, -1, 0, NULL);
        uint64_t usable = call(USABLE, p, 0);
        assert_true(usable >= right[i]);
        /* 15 bytes up to eight units, a fifth up to a block; then what is left of a slot of a
         * block. */
        uint64_t waste = right[i] <= 128 ? 15 : right[i] / 4 + 15;
        if (usable - right[i] > waste)
            fail_msg("%u bytes take %u", (unsigned)right[i], (unsigned)usable);
        assert_int_equal(call(REALLOC, p, 0), 0);
        cl_fixture_expect_error(&t.on, t.heap, CLUMP_DEVICE_BAD_SIZE, 0, NULL);
        assert_int_equal(call(REALLOC, p, t.most + 1), 0);
        cl_fixture_expect_error(&t.on, t.heap, CLUMP_DEVICE_BAD_SIZE, (uint32_t)t.most + 1, NULL);
        assert_int_equal(call(USABLE, p, 0), usable);
        release(p);
    }
    assert_int_equal(cl_fixture_raw_bytes(&t.on, t.heap), 0);
}

static void nulls(void **state) {
    call(FREE, 0, 0);
    assert_int_equal(call(USABLE, 0, 0), 0);
    assert_int_equal(call(AT, 0, 0), 0);
    assert_int_equal(call(OF, 0, 0), 0);
    cl_fixture_expect_error(&t.on, t.heap, -1, 0, NULL);
    uint64_t p = call(REALLOC, 0, 100);
    assert_true(p);
    release(p);
    p = call(CALLOC, 3, 32);
    assert_int_equal(call(USABLE, p, 0), 96);
    release(p);
}

/* ---- Pointers -------------------------------------------------------------------------------- */

/* Freed, resized, asked for its size. */
static void refused(uint64_t p, int kind) {
    call(FREE, p, 0);
    cl_fixture_expect_error(&t.on, t.heap, kind, (uint32_t)p, NULL);
    assert_int_equal(call(USABLE, p, 0), 0);
    cl_fixture_expect_error(&t.on, t.heap, kind, (uint32_t)p, NULL);
    assert_int_equal(call(REALLOC, p, 40), 0);
    cl_fixture_expect_error(&t.on, t.heap, kind, (uint32_t)p, NULL);
}

static void pointers(void **state) {
    const clump_heap_info *layout = clump_heap_get_info(t.heap);
    const uint64_t sizes_of[] = {20, t.small, t.small * 6, t.block_bytes * 2 + 5};
    const uint64_t metadata = layout->metadata_bytes / 16, end = layout->bytes / 16;
    for (size_t i = 0; i < sizeof sizes_of / sizeof *sizes_of; i++) {
        uint64_t p = call(MALLOC, sizes_of[i], 0), bytes = cl_fixture_raw_bytes(&t.on, t.heap);
        cl_fixture_expect_error(&t.on, t.heap, -1, 0, NULL);
        refused(p + 1, CLUMP_DEVICE_BAD_POINTER); /* inside */
        if (sizes_of[i] > t.small) refused(p + t.small / 16, CLUMP_DEVICE_BAD_POINTER);
        if (sizes_of[i] > t.block_bytes) refused(p + t.block_bytes / 16, CLUMP_DEVICE_BAD_POINTER);
        call(FREE, p, 4);
        cl_fixture_expect_error(&t.on, t.heap, CLUMP_DEVICE_BAD_POINTER, 0, "outside of the heap");
        assert_int_equal(cl_fixture_raw_bytes(&t.on, t.heap), bytes);
        assert_true(call(USABLE, p, 0) >= sizes_of[i]);
        release(p);
        assert_int_equal(cl_fixture_raw_bytes(&t.on, t.heap), 0);
        refused(p, CLUMP_DEVICE_DOUBLE_FREE);
        assert_int_equal(cl_fixture_raw_bytes(&t.on, t.heap), 0);
    }
    /* An alignment that its slot does not have: the begin of the slot is free's, too, but what lies
     * between is not. */
    uint64_t far = call(ALIGNED, 4096, 3 * t.small);
    assert_int_equal(far * 16 % 64, 0);
    cl_fixture_expect_error(&t.on, t.heap, -1, 0, NULL);
    refused(far + 1, CLUMP_DEVICE_BAD_POINTER);
    release(far);
    refused(far, CLUMP_DEVICE_DOUBLE_FREE);
    assert_int_equal(cl_fixture_raw_bytes(&t.on, t.heap), 0);
    call(FREE, 0, 99);
    cl_fixture_expect_error(&t.on, t.heap, CLUMP_DEVICE_BAD_POINTER, 0, "outside of the heap");
    assert_int_equal(call(OF, 0, 99), 0);
    cl_fixture_expect_error(&t.on, t.heap, CLUMP_DEVICE_BAD_POINTER, 0, "outside of the heap");
    /* The begin of the slot of aligned memory is taken for the pointer. */
    far = call(ALIGNED, 4096, 3 * t.small);
    uint64_t begin = far;
    for (uint64_t n = 1; n < 4096 / 16 && begin == far; n++) {
        if (call(USABLE, far - n, 0)) begin = far - n;
        clump_heap_take_errors(t.heap, NULL);
    }
    release(begin);
    refused(far, CLUMP_DEVICE_DOUBLE_FREE);
    assert_int_equal(cl_fixture_raw_bytes(&t.on, t.heap), 0);
    const uint64_t foreign[] = {1, metadata - 1, end, end + 5};
    for (size_t i = 0; i < sizeof foreign / sizeof *foreign; i++) {
        call(FREE, foreign[i], 0);
        cl_fixture_expect_error(&t.on, t.heap, CLUMP_DEVICE_BAD_POINTER, 0, NULL);
        assert_int_equal(call(AT, foreign[i], 0), 0);
        cl_fixture_expect_error(&t.on, t.heap, CLUMP_DEVICE_BAD_POINTER, (uint32_t)foreign[i],
                                NULL);
    }
    uint64_t ref = call(OBJECT, 0, 0);
    refused((ref >> 6) * layout->granule_bytes / 16, CLUMP_DEVICE_BAD_POINTER);
    uint64_t objects;
    CHECK_OK(&t.on, clump_heap_read_count(t.heap, "Node", &objects));
    assert_int_equal(objects, 1);
    assert_int_equal(cl_fixture_raw_bytes(&t.on, t.heap), 0);
}

static const char probe_source[] =
    "__kernel void probe(CLUMP_HEAP, __global const uchar *is_live, __global uint *wrong, uint "
    "seed, uint end) {\n"
    "    uint x = (uint)get_global_id(0) * 0x9e3779b9u + seed;\n"
    "    for (uint i = 0; i < 256u; i++) {\n"
    "        x ^= x << 13; x ^= x >> 17; x ^= x << 5;\n"
    "        uint at = x % end, live = is_live[at];\n"
    /* the slot of aligned memory may begin there, and is taken for it */
    "        if (live == 2u) continue;\n"
    "        __global uchar *p = clump_heap + at * 16ul;\n"
    "        if ((clump_usable_size(p) != 0) != live) atomic_inc(wrong);\n"
    "        if (!live && at) clump_free(p);\n"
    "    }\n"
    "}\n";

/* Any place of the heap and beyond: memory is told from what is none, and stays as it is. */
static void places(void **state) {
    /* PoCL takes a minute or two to compile another program with the kernels for GPUs. */
    if (t.on.capabilities->is_cpu && t.on.capabilities->personality == CLUMP_PERSONALITY_GPU)
        skip();
    clump_program *p = cl_fixture_program(&t.on, t.heap, probe_source, NULL, NULL);
    clump_kernel *k = cl_fixture_kernel(&t.on, p, "probe");
    const uint32_t end = (uint32_t)(clump_heap_get_info(t.heap)->bytes / 16) + 5000;
    uint8_t *is_live = calloc(end, 1);
    static uint64_t handles[400];
    uint32_t count = 0, wrong = 0, size = 1;
    assert_non_null(is_live);
    for (int i = 0; i < 300; i++, size = size * 5 / 4 + 1) {
        if (size > t.block_bytes * 4) size = 1 + i;
        uint64_t handle =
            i % 3 ? call(MALLOC, size, 0) : call(ALIGNED, UINT64_C(16) << i % 9, size);
        if (handle) is_live[handles[count++] = handle] = 1;
        for (uint64_t n = 1; handle && i % 3 == 0 && n < CLUMPI_RAW_ALIGN_MAX / 16; n++)
            if (!is_live[handle - n]) is_live[handle - n] = 2;
    }
    clump_heap_take_errors(t.heap, NULL);
    assert_true(count > 200);
    for (uint32_t i = 0; i < count; i += 2) { /* holes between them */
        call(FREE, handles[i], 0);
        is_live[handles[i]] = 0;
    }
    const uint64_t bytes = cl_fixture_raw_bytes(&t.on, t.heap);
    cl_mem live = cl_fixture_buffer(&t.on, is_live, end),
           counter = cl_fixture_buffer(&t.on, &wrong, 4);
    for (uint32_t seed = 1; seed <= 4; seed++) {
        SET_ARG(&t.on, k, 0, live);
        SET_ARG(&t.on, k, 1, counter);
        SET_ARG(&t.on, k, 2, seed);
        SET_ARG(&t.on, k, 3, end);
        CHECK_OK(&t.on, clump_heap_launch(t.heap, k, 1024, 64, NULL));
        clump_device_report r = {.size = sizeof r};
        assert_int_equal(clump_heap_take_errors(t.heap, &r), CLUMP_ERR_DEVICE);
        for (int i = 0; i < CLUMP_DEVICE_ERROR_COUNT; i++)
            assert_true((r.errors[i].count != 0) <=
                        (i == CLUMP_DEVICE_BAD_POINTER || i == CLUMP_DEVICE_DOUBLE_FREE));
        cl_fixture_read(&t.on, counter, &wrong, sizeof wrong);
        assert_int_equal(wrong, 0);
        CHECK_OK(&t.on, clump_heap_check(t.heap));
        assert_int_equal(cl_fixture_raw_bytes(&t.on, t.heap), bytes);
    }
    for (uint32_t i = 1; i < count; i += 2) release(handles[i]);
    assert_int_equal(cl_fixture_raw_bytes(&t.on, t.heap), 0);
    free(is_live);
    clReleaseMemObject(live);
    clReleaseMemObject(counter);
    clump_kernel_destroy(k);
    clump_program_destroy(p);
}

/* The last error speaks to users of raw memory, who have neither classes nor objects. */
static void own_words(void) {
    static const char *const foreign[] = {"class",     "slot",   "compact",
                                          "reference", "object", "C_new"};
    const char *message = clump_context_get_error(t.on.clump)->message;
    for (size_t i = 0; i < sizeof foreign / sizeof *foreign; i++)
        if (strstr(message, foreign[i])) fail_msg("\"%s\" speaks of \"%s\"", message, foreign[i]);
}

/* ---- Functions that are not for a heap -------------------------------------------------------- */

/* Each call of cl/api/malloc.h with the memory t.other, which is that of a heap or of none: null,
 * and a report. */
static void calls_elsewhere(clump_heap *heap) {
    static const uint32_t calls[] = {MALLOC, CALLOC, ALIGNED, REALLOC, FREE, USABLE, AT, OF};
    for (size_t i = 0; i < sizeof calls / sizeof *calls; i++) {
        assert_int_equal(call(calls[i] | ELSEWHERE, 64, 64), 0);
        if (heap)
            cl_fixture_expect_error(&t.on, heap, CLUMP_DEVICE_WRONG_LAUNCH, CLUMPI_MALLOC_OTHER,
                                    "that were compiled for another heap");
    }
}

/* The word of the header at `at`, on the device. */
static void write_header(const clump_heap *heap, size_t at, clumpi_u32 word) {
    CHECK_CL(clEnqueueWriteBuffer(t.on.queue, heap->info.buffer, CL_TRUE,
                                  (size_t)heap->geometry.header.self_at * CLUMPI_UNIT + at,
                                  sizeof word, &word, 0, NULL, NULL));
}

/* Heaps that differ from t.heap in what the functions were compiled for. */
static void other_heaps(void **state) {
    static const size_t words[] = {
        offsetof(clumpi_header, granule_bytes), offsetof(clumpi_header, block_granules),
        offsetof(clumpi_header, raw_units), offsetof(clumpi_header, at_checked)};
    clump_heap *heap;
    CHECK_OK(&t.on, make_heap(8 << 20, 1, schema_text, &heap));
    t.other = heap->info.buffer;
    assert_true(call(MALLOC | ELSEWHERE, 64, 0)); /* it is the same so far */
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        clumpi_u32 was;
        memcpy(&was, (const char *)&heap->geometry.header + words[i], sizeof was);
        write_header(heap, words[i], words[i] == offsetof(clumpi_header, raw_units) ? 0 : was + 4);
        calls_elsewhere(heap);
        write_header(heap, words[i], was);
    }
    CHECK_OK(&t.on, clump_heap_check(heap));
    cl_fixture_expect_error(&t.on, t.heap, -1, 0, NULL);
    t.other = NULL;
    clump_heap_destroy(heap);
}

/* A heap whose header is elsewhere, and memory that is no heap: it stays as it is. */
static void no_heaps(void **state) {
    for (int i = 0; i < 2; i++) {
        clump_heap *heap = NULL;
        if (i) CHECK_OK(&t.on, make_heap(8 << 20, 1, "class Wide { double a[40]; }", &heap));
        cl_mem none = cl_fixture_buffer(&t.on, NULL, 1 << 16);
        t.other = heap ? heap->info.buffer : none;
        const size_t bytes = heap ? (size_t)heap->info.bytes : 1 << 16;
        uint8_t *before = malloc(bytes), *after = malloc(bytes);
        assert_true(before && after);
        cl_fixture_read(&t.on, t.other, before, bytes);
        calls_elsewhere(NULL);
        cl_fixture_read(&t.on, t.other, after, bytes);
        assert_memory_equal(before, after, bytes);
        free(before);
        free(after);
        clump_heap_destroy(heap);
        clReleaseMemObject(none);
    }
    cl_fixture_expect_error(&t.on, t.heap, -1, 0, NULL);
    t.other = NULL;
}

/* ---- No room --------------------------------------------------------------------------------- */

/* The most free blocks that are neighbours. */
static uint32_t neighbours(void) {
    const clumpi_header *h = &t.heap->geometry.header;
    uint32_t *states = malloc(h->block_end * sizeof *states), most = 0, run = 0;
    assert_non_null(states);
    CHECK_CL(clEnqueueReadBuffer(t.on.queue, t.heap->info.buffer, CL_TRUE,
                                 (size_t)h->at_states * CLUMPI_UNIT, h->block_end * sizeof *states,
                                 states, 0, NULL, NULL));
    for (uint32_t b = h->first_block; b < h->block_end; b++) {
        run = states[b] ? 0 : run + 1;
        if (run > most) most = run;
    }
    free(states);
    return most;
}

static void exhaustion(void **state) {
    clump_heap_stats empty = {.size = sizeof empty}, full = {.size = sizeof full};
    CHECK_OK(&t.on, clump_heap_read_stats(t.heap, &empty, NULL, 0));
    const uint64_t sizes_of[] = {t.small, t.small * 3, t.block_bytes * 3, t.most};
    static uint64_t kept[ROOM];
    for (size_t i = 0; i < sizeof sizes_of / sizeof *sizes_of; i++) {
        uint64_t count = call(FILL, sizes_of[i], ROOM - 1);
        assert_true(count > 0 && count < ROOM - 1);
        memcpy(kept, t.results, sizeof kept);
        char words[80];
        snprintf(
            words, sizeof words, "there was no room for %s %llu bytes of raw memory",
            i ? "more than" : "up to",
            (unsigned long long)(i < 2 ? t.small
                                       : t.heap->geometry
                                                 .classes[t.heap->geometry.header.class_count - 1]
                                                 .slot_bytes *
                                             UINT64_C(64)));
        cl_fixture_expect_error(&t.on, t.heap, CLUMP_DEVICE_OUT_OF_MEMORY, 0, words);
        own_words();
        CHECK_OK(&t.on, clump_heap_read_stats(t.heap, &full, NULL, 0));
        uint64_t blocks = (sizes_of[i] + t.block_bytes - 1) / t.block_bytes;
        assert_true(neighbours() < blocks || sizes_of[i] < t.block_bytes);
        if (sizes_of[i] < t.block_bytes) assert_int_equal(full.free_blocks, 0);
        /* What becomes free can be had again, and nothing else. */
        uint64_t one = kept[1 + count / 2];
        release(one);
        assert_int_equal(call(MALLOC, sizes_of[i], 0), one);
        cl_fixture_expect_error(&t.on, t.heap, -1, 0, NULL);
        assert_int_equal(call(MALLOC, sizes_of[i], 0), 0);
        cl_fixture_expect_error(&t.on, t.heap, CLUMP_DEVICE_OUT_OF_MEMORY, 0, NULL);
        /* Larger and smaller, where there is no room for another one. */
        assert_int_equal(call(REALLOC, one, t.most), sizes_of[i] == t.most ? one : 0);
        cl_fixture_expect_error(&t.on, t.heap,
                                sizes_of[i] == t.most ? -1 : CLUMP_DEVICE_OUT_OF_MEMORY, 0, NULL);
        uint64_t other = call(REALLOC, one, 40);
        assert_true(other > 0);
        cl_fixture_expect_error(&t.on, t.heap, -1, 0, NULL);
        /* Whatever it was resized to, it is freed once. */
        if (other != one) release(other);
        if (other != one) kept[1 + count / 2] = 0;
        cl_fixture_write(&t.on, t.out, kept, sizeof kept);
        call(FREE_LIST, 0, 0);
        cl_fixture_expect_error(&t.on, t.heap, -1, 0, NULL);
        CHECK_OK(&t.on, clump_heap_read_stats(t.heap, &full, NULL, 0));
        assert_memory_equal(&full, &empty, sizeof full);
    }
}

/* ---- Heaps and programs ---------------------------------------------------------------------- */

#define REFUSED(call, status, words)                                                               \
    cl_fixture_expect_words(clump_context_get_error(t.on.clump), (call), (status), (words), #call, \
                            __LINE__)

static void heaps(void **state) {
    clump_heap *heap;
    REFUSED(make_heap(8 << 20, 0, NULL, &heap), CLUMP_ERR_USAGE, "or `raw`");
    REFUSED(make_heap(1000, 1, NULL, &heap), CLUMP_ERR_DEVICE_MEMORY,
            "(for 64 requests for raw memory, ");
    REFUSED(make_heap(1000, 1, schema_text, &heap), CLUMP_ERR_DEVICE_MEMORY,
            "(for 64 requests for raw memory, ");
    clump_heap *without;
    CHECK_OK(&t.on, make_heap(8 << 20, 0, schema_text, &without));
    clump_program *p = NULL;
    static const char *const texts[] = {
        "__kernel void k(CLUMP_HEAP) { clump_free(clump_malloc(5)); }",
        "__kernel void k(CLUMP_HEAP) { uint x = clump_raw_of(0); Node_a(Node_null) = "
        "x; }"};
    for (int i = 0; i < 2; i++) {
        cl_fixture_log kept = {.source = texts[i]};
        const clump_program_desc d = {.size = sizeof d,
                                      .heap = without,
                                      .source = texts[i],
                                      .failed = cl_fixture_keep_log,
                                      .user = &kept};
        assert_int_equal(clump_program_create(&d, &p, NULL), CLUMP_ERR_BUILD);
        assert_non_null(strstr(kept.log, "heap_was_made_without_raw_memory"));
    }
    /* A kernel that says that it neither makes nor frees. */
    assert_int_equal(clump_program_create(
                         &(clump_program_desc){.size = sizeof(clump_program_desc),
                                               .heap = t.heap,
                                               .source = "__kernel void k(CLUMP_HEAP_NO_ALLOC) { "
                                                         "clump_malloc(5); }"},
                         &p, NULL),
                     CLUMP_ERR_BUILD);
    clump_program_destroy(p);
    clump_kernel *k = t.kernel;
    REFUSED(clump_heap_launch(without, k, 64, 64, NULL), CLUMP_ERR_USAGE, "");
    clump_heap_destroy(without);
}

/* ---- Marks ----------------------------------------------------------------------------------- */

/* Each bit of the marks of a few runs is flipped. Which memory there is stays known: a begin that
 * is lost makes one of two, an end that is lost comes back. */
static void marks(void **state) {
    const clumpi_header *h = &t.heap->geometry.header;
    const uint64_t sizes_of[] = {t.small * 2, t.small + 1, t.block_bytes * 2 + 100,
                                 t.block_bytes / 2};
    uint64_t p[4];
    for (int i = 0; i < 4; i++) p[i] = call(MALLOC, sizes_of[i], 0);
    cl_fixture_expect_error(&t.on, t.heap, -1, 0, NULL);
    uint64_t usable = call(USABLE, p[2], 0);
    uint32_t found = 0;
    for (int i = 0; i < 4; i++) {
        uint64_t block = p[i] * 16 / t.block_bytes;
        uint64_t at = (uint64_t)h->at_marks * CLUMPI_UNIT + block * h->mark_rows * 16,
                 words = h->mark_rows * 2u;
        for (uint64_t bit = 0; bit < words * 64; bit += 3 + bit / 64 % 5) {
            uint64_t word, flipped;
            clump_context *c = t.on.clump;
            CHECK_OK(&t.on, clumpi_read(c, t.heap->info.buffer, at + bit / 64 * 8, 8, &word));
            flipped = word ^ UINT64_C(1) << bit % 64;
            CHECK_OK(&t.on, clumpi_write(c, t.heap->info.buffer, at + bit / 64 * 8, 8, &flipped));
            REFUSED(clump_heap_check(t.heap), CLUMP_ERR_CORRUPT, "runs of raw memory");
            CHECK_OK(&t.on, clump_heap_repair(t.heap, NULL));
            CHECK_OK(&t.on, clump_heap_check(t.heap));
            CHECK_OK(&t.on, clumpi_write(c, t.heap->info.buffer, at + bit / 64 * 8, 8, &word));
            CHECK_OK(&t.on, clump_heap_repair(t.heap, NULL));
            found++;
        }
    }
    print_message("%u bits\n", found);
    assert_int_equal(call(USABLE, p[2], 0), usable);
    for (int i = 0; i < 4; i++) release(p[i]);
    assert_int_equal(cl_fixture_raw_bytes(&t.on, t.heap), 0);
}

/* ---- Words ----------------------------------------------------------------------------------- */

/* What kernels report of raw memory, each kind with the class that it can have. */
static void words(void **state) {
    const clumpi_header *h = &t.heap->geometry.header;
    const struct {
        uint32_t kind, class_id;
        const char *words;
    } cases[] = {
        {CLUMP_DEVICE_OUT_OF_MEMORY, h->first_raw, "up to 16 bytes of raw memory"},
        {CLUMP_DEVICE_DOUBLE_FREE, 0, "whose raw memory is no longer in use (1 times"},
        {CLUMP_DEVICE_DOUBLE_FREE, h->first_raw + 1, "whose raw memory is no longer in use"},
        {CLUMP_DEVICE_BAD_REFERENCE, h->first_raw, "that no allocation of raw memory returned"},
        {CLUMP_DEVICE_BAD_POINTER, 0, "that no allocation of raw memory returned"},
        {CLUMP_DEVICE_BAD_SIZE, 0, "raw memory was requested with size"},
        {CLUMP_DEVICE_RETRY_BOUND, h->class_count, "metadata of raw memory was overwritten"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const clumpi_error e = {1, cases[i].class_id, 0, 7};
        const uint64_t at = clumpi_header_offset(t.heap, offsetof(clumpi_header, errors));
        CHECK_OK(&t.on, clumpi_write(t.on.clump, t.heap->info.buffer, at + cases[i].kind * sizeof e,
                                     sizeof e, &e));
        cl_fixture_expect_error(&t.on, t.heap, (int)cases[i].kind, 0, cases[i].words);
        own_words();
    }
    /* Of an object as before. */
    const clumpi_error e = {1, 1, 0, 7};
    CHECK_OK(&t.on, clumpi_write(t.on.clump, t.heap->info.buffer,
                                 clumpi_header_offset(t.heap, offsetof(clumpi_header, errors)),
                                 sizeof e, &e));
    cl_fixture_expect_error(&t.on, t.heap, CLUMP_DEVICE_OUT_OF_MEMORY, 0, "for class Node");
}

/* ---- Notes ----------------------------------------------------------------------------------- */

/* A note that five slots were looked for in vain is found to be wrong, and the repair takes it
 * away. */
static void notes(void **state) {
    const clumpi_header *h = &t.heap->geometry.header;
    const uint64_t at =
        (uint64_t)h->at_marks * CLUMPI_UNIT + ((uint64_t)h->block_end * h->mark_rows + 1) * 16;
    const uint64_t bytes = t.small + 1;
    uint32_t epoch, none;
    clump_context *c = t.on.clump;
    CHECK_OK(&t.on,
             clumpi_read(c, t.heap->info.buffer,
                         clumpi_header_offset(t.heap, offsetof(clumpi_header, epoch)), 4, &epoch));
    CHECK_OK(&t.on, clumpi_read(c, t.heap->info.buffer, at, 4, &none));
    assert_int_not_equal(none, epoch);
    CHECK_OK(&t.on, clumpi_write(c, t.heap->info.buffer, at, 4, &epoch));
    REFUSED(clump_heap_check(t.heap), CLUMP_ERR_CORRUPT, "counts as out of memory");
    /* Epochs begin again then, and the next launch moves to the second one. */
    none = 2;
    CHECK_OK(&t.on, clumpi_write(c, t.heap->info.buffer, at, 4, &none));
    CHECK_OK(&t.on, clump_heap_repair(t.heap, NULL));
    CHECK_OK(&t.on, clump_heap_check(t.heap));
    uint64_t p = call(MALLOC, bytes, 0);
    assert_true(p != 0);
    release(p);
    cl_fixture_expect_error(&t.on, t.heap, -1, 0, NULL);
}

int main(void) {
    int status = cl_fixture_open(&t.on, NULL);
    if (status) return status;
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sizes),       cmocka_unit_test(nulls),      cmocka_unit_test(pointers),
        cmocka_unit_test(places),      cmocka_unit_test(exhaustion), cmocka_unit_test(heaps),
        cmocka_unit_test(marks),       cmocka_unit_test(words),      cmocka_unit_test(notes),
        cmocka_unit_test(other_heaps), cmocka_unit_test(no_heaps)};
    status = cmocka_run_group_tests(tests, open_all, close_all);
    cl_fixture_close(&t.on);
    return status;
}
