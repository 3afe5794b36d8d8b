/* Saved heaps that are cut off, altered in any bit, put together of two, foreign, newer, or made up
 * with right checksums: each is refused with words, and the heap has no objects afterwards, as
 * before, and its registered buffers and handles are as they were. Disks that are full, reads that
 * are short, processes that are killed between two pieces: the old checkpoint survives. Paths that
 * are links are followed; what is no regular file is refused, and stays.
 *
 *     fault_save                      the tests
 *     fault_save child PATH PIECES    save to PATH, and be killed after so many pieces; after all
 *                                     of them, if 0: be not
 *     fault_save child PATH PIECES B  the same, with files limited to B bytes, which kills, too
 *
 * Read first: tests/support/saved_heap.h, tests/support/reseal.h, docs/internals/save.md.
 */
#define _GNU_SOURCE /* ptsname(). NOLINT(bugprone-reserved-identifier) */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "reseal.h"
#include "saved_heap.h"

static cl_fixture on;
static memory_file good; /* of a small heap with all kinds of pieces */
static clump_heap *target;
static cl_mem registered;
static clump_refs *refs;

static const char text[] =
    "class A { uint id; ref A next; ref B b; } class B { ushort v[2]; ref A a; } abstract class Z "
    "{ uint z; }";
enum { COUNT = 70, REGISTERED = 5 };

static clump_heap *small_heap(void) {
    return cl_fixture_heap(&on, text, 1 << 20, 1);
}

static clump_heap *filled_heap(cl_mem *buffer) {
    const clump_struct_desc a = {sizeof a, "A", 4, 0, NULL}, b = {sizeof b, "B", 4, 0, NULL};
    uint32_t zeros[COUNT] = {0}, ids[COUNT];
    clump_ref as[COUNT], bs[COUNT];
    clump_heap *h = small_heap();
    clump_handle handle;
    clump_refs *made; /* ends with the context */
    CHECK_OK(&on, clump_heap_new_structs(h, &a, zeros, COUNT, as, NULL));
    CHECK_OK(&on, clump_heap_new_structs(h, &b, zeros, COUNT, bs, NULL));
    for (uint32_t i = 0; i < COUNT; i++) ids[i] = 3 * i;
    CHECK_OK(&on, clump_heap_write_field(h, "A", "id", 0, sizeof *ids, ids, COUNT));
    CHECK_OK(&on, clump_heap_write_field(h, "A", "next", 0, sizeof *as, as, COUNT));
    CHECK_OK(&on, clump_heap_write_field(h, "A", "b", 0, sizeof *bs, bs, COUNT));
    CHECK_OK(&on, clump_heap_write_field(h, "B", "a", 0, sizeof *as, as, COUNT));
    for (int i = 0; i < 3; i++) CHECK_OK(&on, clump_heap_create_handle(h, as[i], &handle));
    CHECK_OK(&on, clump_heap_reserve(h, "B", 12, NULL));
    *buffer = cl_fixture_buffer(&on, as, REGISTERED * sizeof *as);
    CHECK_OK(&on, clump_refs_create(
                      h,
                      &(clump_refs_desc){
                          .size = sizeof(clump_refs_desc), .buffer = *buffer, .count = REGISTERED},
                      &made, NULL));
    return h;
}

static void set_registered(void) {
    const clump_ref words[REGISTERED] = {1, 2, 3, 4, 5};
    cl_fixture_write(&on, registered, words, sizeof words);
}

static int open_all(void **state) {
    cl_mem buffer;
    clump_heap *h = filled_heap(&buffer);
    good = saved_bytes(&on, h, 4096);
    clump_heap_destroy(h);
    clReleaseMemObject(buffer);
    target = small_heap();
    registered = cl_fixture_buffer(&on, NULL, REGISTERED * sizeof(clump_ref));
    CHECK_OK(&on, clump_refs_create(target,
                                    &(clump_refs_desc){.size = sizeof(clump_refs_desc),
                                                       .buffer = registered,
                                                       .count = REGISTERED},
                                    &refs, NULL));
    set_registered();
    return 0;
}

static int close_all(void **state) {
    clump_refs_destroy(refs);
    clReleaseMemObject(registered);
    clump_heap_destroy(target);
    memory_release(&good);
    return 0;
}

static memory_file copy_of(const memory_file *m) {
    memory_file copy = {.bytes = m->bytes, .room = m->bytes + 64};
    copy.data = malloc(copy.room);
    memcpy(copy.data, m->data, m->bytes);
    return copy;
}

/* The target heap has nothing, as before any load. */
static void expect_nothing(void) {
    clump_heap_stats stats = {.size = sizeof stats};
    clump_ref ref, words[REGISTERED];
    CHECK_OK(&on, clump_heap_read_stats(target, &stats, NULL, 0));
    assert_int_equal(stats.objects, 0);
    assert_int_equal(stats.free_blocks, stats.blocks);
    CHECK_HEAP(&on, target);
    for (clump_handle i = 0; i < 5; i++)
        assert_int_equal(clump_heap_read_handle(target, i, &ref), CLUMP_ERR_USAGE);
    cl_fixture_read(&on, registered, words, sizeof words);
    for (uint32_t i = 0; i < REGISTERED; i++) assert_int_equal(words[i], i + 1);
}

/* Without a device; and what it says. */
static clump_status check_bytes(memory_file *m, clump_error *error) {
    memset(error, 0, sizeof *error);
    m->at = 0;
    return clump_saved_read(
        &(clump_load_desc){.size = sizeof(clump_load_desc), .read = memory_read, .user = m}, NULL,
        NULL, NULL, error);
}

/* Loading fails as checking does, and changes nothing. */
static void expect_refused(memory_file *m, clump_status status, const char *words) {
    cl_fixture_expect_words(clump_context_get_error(on.clump), load_bytes(target, m, NULL), status,
                            words, words, __LINE__);
    expect_nothing();
}

/* ---- Altered files --------------------------------------------------------------------------- */

static void every_bit(void **state) {
    clump_error error;
    memory_file m = copy_of(&good);
    assert_int_equal(check_bytes(&m, &error), CLUMP_OK);
    for (size_t bit = 0; bit < 8 * m.bytes; bit++) {
        m.data[bit / 8] ^= (uint8_t)(1 << bit % 8);
        if (check_bytes(&m, &error) != CLUMP_ERR_FORMAT || !error.message[0])
            fail_msg("bit %zu of byte %zu: %s", bit % 8, bit / 8, error.message);
        if (bit % 211 == 0) expect_refused(&m, CLUMP_ERR_FORMAT, "saved heap");
        m.data[bit / 8] ^= (uint8_t)(1 << bit % 8);
    }
    memory_release(&m);
}

/* Loading reads a piece while it compares the one before: of two wrong ones it tells of the first,
 * with the words of the check, which has one piece at a time. */
static void first_of_two(void **state) {
    clump_error error;
    memory_file m = copy_of(&good);
    uint32_t pieces = 0;
    while (piece_at(good.data, good.bytes, pieces) < good.bytes) pieces++;
    for (uint32_t piece = 0; piece + 1 < pieces; piece++)
        for (int is_cut = 0; is_cut < 2; is_cut++) {
            const size_t first = piece_at(good.data, good.bytes, piece),
                         second = piece_at(good.data, good.bytes, piece + 1);
            m.data[second - 1] ^= 4;
            if (is_cut)
                m.bytes = second + sizeof(clumpi_piece) + 1;
            else
                m.data[second + sizeof(clumpi_piece)] ^= 4;
            assert_int_equal(check_bytes(&m, &error), CLUMP_ERR_FORMAT);
            char words[64];
            snprintf(words, sizeof words, "piece %u, which begins at byte %zu,", piece, first);
            assert_non_null(strstr(error.message, words));
            expect_refused(&m, CLUMP_ERR_FORMAT, error.message);
            memcpy(m.data, good.data, good.bytes);
            m.bytes = good.bytes;
        }
    memory_release(&m);
}

static void every_length(void **state) {
    clump_error error;
    memory_file m = copy_of(&good);
    for (m.bytes = 0; m.bytes < good.bytes; m.bytes++) {
        if (check_bytes(&m, &error) != CLUMP_ERR_FORMAT || !strstr(error.message, "is cut off"))
            fail_msg("%zu bytes: %s", m.bytes, error.message);
        if (m.bytes % 29 == 0) expect_refused(&m, CLUMP_ERR_FORMAT, "is cut off");
    }
    memory_release(&m);
}

/* Pieces that are all right by themselves, at another place, twice or left out. */
static void pieces_of_place(void **state) {
    clump_error error;
    const size_t a = piece_at(good.data, good.bytes, 2), b = piece_at(good.data, good.bytes, 3),
                 c = piece_at(good.data, good.bytes, 4);
    assert_int_equal(b - a, c - b); /* two fields of class A: equal sizes, equal kinds */
    memory_file m = copy_of(&good);
    memcpy(m.data + a, good.data + b, c - b);
    memcpy(m.data + b, good.data + a, b - a);
    assert_int_equal(check_bytes(&m, &error), CLUMP_ERR_FORMAT); /* swapped */
    memcpy(m.data + b, good.data + b, c - b);
    assert_int_equal(check_bytes(&m, &error), CLUMP_ERR_FORMAT); /* twice */
    memcpy(m.data, good.data, good.bytes);
    memmove(m.data + a, m.data + b, m.bytes - b);
    m.bytes -= b - a;
    assert_int_equal(check_bytes(&m, &error), CLUMP_ERR_FORMAT); /* left out */
    assert_non_null(strstr(error.message, "piece 2"));
    expect_refused(&m, CLUMP_ERR_FORMAT, "piece 2");
    memory_release(&m);
    /* The end of another file: equal in all but one value. */
    memory_file other = copy_of(&good);
    other.data[piece_at(other.data, other.bytes, 1) + sizeof(clumpi_piece)] ^= 1;
    reseal(other.data, other.bytes);
    assert_int_equal(check_bytes(&other, &error), CLUMP_OK);
    memcpy(other.data + c, good.data + c, good.bytes - c);
    assert_int_equal(check_bytes(&other, &error), CLUMP_ERR_FORMAT);
    memory_release(&other);
}

static void foreign_and_other_versions(void **state) {
    clump_error error;
    memory_file m = copy_of(&good);
    static const uint32_t others[][2] = {{1, ~1u}, {4, ~4u}};
    static const char *const words[] = {"version 1 ", "version 4 "};
    for (int i = 0; i < 2; i++) {
        memcpy(m.data + 8, others[i], sizeof others[i]);
        assert_int_equal(check_bytes(&m, &error), CLUMP_ERR_FORMAT);
        assert_non_null(strstr(error.message, words[i]));
        expect_refused(&m, CLUMP_ERR_FORMAT, words[i]);
    }
    memcpy(m.data, "class A { uint id; } /* a schema, not a saved heap */", 50);
    expect_refused(&m, CLUMP_ERR_FORMAT, "not a saved heap");
    memory_release(&m);
}

/* With right checksums: what the words say is compared. */
static void made_up(void **state) {
    const size_t head = piece_at(good.data, good.bytes, 0) + sizeof(clumpi_piece);
    uint32_t schema_bytes;
    memcpy(&schema_bytes, good.data + head, sizeof schema_bytes);
    const size_t counts = head + 24 + schema_bytes; /* of A, B, Z: objects, reserved */
    const size_t next = piece_at(good.data, good.bytes, 2) + sizeof(clumpi_piece),
                 b = piece_at(good.data, good.bytes, 3) + sizeof(clumpi_piece);
    const size_t outside = piece_at(good.data, good.bytes, 6) + sizeof(clumpi_piece),
                 handles = piece_at(good.data, good.bytes, 7) + sizeof(clumpi_piece);
    const struct {
        size_t at;
        uint32_t word;
        clump_status status;
        const char *words;
    } cases[] = {
        {head, 1, CLUMP_ERR_FORMAT, "size that the head states"},
        {head, UINT32_MAX, CLUMP_ERR_FORMAT, "size that the head states"},
        {head + 4, 2, CLUMP_ERR_FORMAT, "size that the head states"},
        {head + 4, 251, CLUMP_ERR_FORMAT, "size that the head states"},
        {head + 8, 4095, CLUMP_ERR_FORMAT, "size of its pieces"},
        {head + 8, (64u << 20) + 1, CLUMP_ERR_FORMAT, "size of its pieces"},
        {head + 12, 2, CLUMP_ERR_FORMAT, "size that the head states"},
        {head + 16, 4, CLUMP_ERR_FORMAT, "piece 7"},
        {head + 16, UINT32_MAX, CLUMP_ERR_FORMAT, "piece 7"},
        {head + 20, 1, CLUMP_ERR_FORMAT, "size that the head states"},
        {head + 24, 0x41414141, CLUMP_ERR_FORMAT, "schema"},
        {counts, COUNT + 1, CLUMP_ERR_FORMAT, "piece 1"},
        {counts, 1000000, CLUMP_ERR_DEVICE_MEMORY, "blocks"},
        {counts + 4, 1, CLUMP_ERR_FORMAT, "more objects than a heap"},
        {counts, 0xffffffbf, CLUMP_ERR_FORMAT, "more objects than a heap"}, /* with those of B */
        {counts + 12, 1, CLUMP_ERR_FORMAT, "reserved slots"},
        {counts + 32, 1, CLUMP_ERR_FORMAT, "abstract class"},
        {counts + 40, 1, CLUMP_ERR_FORMAT, "abstract class"},
        {counts + 48, REGISTERED + 1, CLUMP_ERR_USAGE, "registered buffer 0"},
        {counts + 52, 1u << 9, CLUMP_ERR_FORMAT, "2^40"},
        {next, 2 * COUNT + 1, CLUMP_ERR_FORMAT,
         "field next of class A has 1 references to objects that do not exist"},
        {next, UINT32_MAX, CLUMP_ERR_FORMAT, "do not exist"},
        {next + 4, COUNT + 1, CLUMP_ERR_SCHEMA, "field next of class A has 1 references"},
        {b, COUNT, CLUMP_ERR_SCHEMA, "field b of class A"},
        {outside, 2 * COUNT + 1, CLUMP_ERR_FORMAT, "1 registered references and handles"},
        {handles + 8, 0xfffffffe, CLUMP_ERR_FORMAT, "1 registered references and handles"},
        {good.bytes - 8, 7, CLUMP_ERR_FORMAT, "its end states that 7 bytes come before it"},
        {good.bytes - 40, CLUMPI_KIND_HANDLES, CLUMP_ERR_FORMAT, "piece 8"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        memory_file m = copy_of(&good);
        memcpy(m.data + cases[i].at, &cases[i].word, sizeof cases[i].word);
        assert_true(reseal(m.data, m.bytes) == 9);
        expect_refused(&m, cases[i].status, cases[i].words);
        memory_release(&m);
    }
    /* The numbers at the limits are right. */
    memory_file m = copy_of(&good);
    const uint32_t last[2] = {COUNT, 2 * COUNT};
    memcpy(m.data + next, &last[0], 4);
    memcpy(m.data + b, &last[1], 4);
    reseal(m.data, m.bytes);
    clump_heap *h = small_heap();
    m.at = 0;
    CHECK_OK(&on, clump_heap_load(h,
                                  &(clump_load_desc){.size = sizeof(clump_load_desc),
                                                     .read = memory_read,
                                                     .user = &m,
                                                     .without_registered = 1},
                                  NULL));
    CHECK_HEAP(&on, h);
    clump_heap_destroy(h);
    memory_release(&m);
}

/* A piece that says that it is packed: without zstd that is said; with it, these are no packed
 * bytes. */
static void made_up_as_packed(void **state) {
    memory_file m = copy_of(&good);
    const size_t at = piece_at(m.data, m.bytes, 2);
    clumpi_piece p;
    memcpy(&p, m.data + at, sizeof p);
    p.stored -= 4;
    memcpy(m.data + at, &p, sizeof p);
    memmove(m.data + at + sizeof p + p.stored, m.data + at + sizeof p + p.bytes,
            m.bytes - at - sizeof p - p.bytes);
    m.bytes -= 4;
    assert_true(reseal(m.data, m.bytes) == 9);
    if (clumpi_zstd_level_most())
        expect_refused(&m, CLUMP_ERR_FORMAT, "zstd");
    else
        expect_refused(&m, CLUMP_ERR_UNSUPPORTED, "CLUMP_ZSTD");
    p.stored = p.bytes + 4; /* more than it is */
    memcpy(m.data + at, &p, sizeof p);
    reseal(m.data, m.bytes);
    expect_refused(&m, CLUMP_ERR_FORMAT, "piece 2");
    memory_release(&m);
}

/* ---- Calls ----------------------------------------------------------------------------------- */

static size_t too_many(void *user, void *data, size_t bytes) {
    return bytes + 1;
}

static void wrong_calls(void **state) {
    memory_file m = {0};
    clump_heap *h = small_heap();
    clump_error error;
    clump_saved *saved = (clump_saved *)&m;
    CHECK_STATUS(&on, clump_heap_save(h, NULL, NULL), CLUMP_ERR_USAGE);
    CHECK_STATUS(
        &on,
        clump_heap_save(h, &(clump_save_desc){.size = sizeof(clump_save_desc), .user = &m}, NULL),
        CLUMP_ERR_USAGE);
    CHECK_STATUS(
        &on,
        clump_heap_save(
            h,
            &(clump_save_desc){.size = sizeof(clump_save_desc), .path = "x", .write = memory_write},
            NULL),
        CLUMP_ERR_USAGE);
    CHECK_STATUS(&on,
                 clump_heap_save(h,
                                 &(clump_save_desc){.size = sizeof(clump_save_desc),
                                                    .write = memory_write,
                                                    .user = &m,
                                                    .piece_bytes = 4095},
                                 NULL),
                 CLUMP_ERR_USAGE);
    CHECK_STATUS(&on,
                 clump_heap_save(h,
                                 &(clump_save_desc){.size = sizeof(clump_save_desc),
                                                    .write = memory_write,
                                                    .user = &m,
                                                    .piece_bytes = (64 << 20) + 1},
                                 NULL),
                 CLUMP_ERR_USAGE);
    CHECK_STATUS(
        &on,
        clump_heap_save(
            h, &(clump_save_desc){.size = sizeof(clump_save_desc), .path = "x", .measure = 1},
            NULL),
        CLUMP_ERR_USAGE);
    CHECK_STATUS(
        &on,
        clump_heap_save(
            h, &(clump_save_desc){.size = sizeof(clump_save_desc), .zstd_level = 1, .measure = 1},
            NULL),
        CLUMP_ERR_USAGE);
    CHECK_STATUS(&on, clump_heap_load(h, NULL, NULL), CLUMP_ERR_USAGE);
    CHECK_STATUS(
        &on,
        clump_heap_load(h, &(clump_load_desc){.size = sizeof(clump_load_desc), .user = &m}, NULL),
        CLUMP_ERR_USAGE);
    CHECK_STATUS(
        &on,
        clump_heap_load(
            h,
            &(clump_load_desc){.size = sizeof(clump_load_desc), .path = "x", .read = memory_read},
            NULL),
        CLUMP_ERR_USAGE);
    CHECK_STATUS(
        &on,
        clump_heap_load(
            h, &(clump_load_desc){.size = sizeof(clump_load_desc), .path = "no/such/file"}, NULL),
        CLUMP_ERR_IO);
    CHECK_STATUS(
        &on,
        clump_heap_load(h, &(clump_load_desc){.size = sizeof(clump_load_desc), .path = "/"}, NULL),
        CLUMP_ERR_IO);
    CHECK_STATUS(
        &on,
        clump_heap_load(h, &(clump_load_desc){.size = sizeof(clump_load_desc), .read = too_many},
                        NULL),
        CLUMP_ERR_IO);
    CHECK_STATUS(
        &on,
        clump_heap_save(
            h, &(clump_save_desc){.size = sizeof(clump_save_desc), .path = "no/such/folder/x"},
            NULL),
        CLUMP_ERR_IO);
    assert_int_equal(clump_heap_save(NULL, NULL, NULL), CLUMP_ERR_USAGE);
    assert_int_equal(clump_heap_load(NULL, NULL, NULL), CLUMP_ERR_USAGE);
    assert_int_equal(clump_saved_open(NULL, NULL, &saved, &error), CLUMP_ERR_USAGE);
    assert_null(saved);
    assert_int_equal(clump_saved_open(&(clump_load_desc){.size = sizeof(clump_load_desc),
                                                         .path = "no/such/file"},
                                      NULL, NULL, &error),
                     CLUMP_ERR_USAGE);
    assert_int_equal(clump_saved_open(&(clump_load_desc){.size = sizeof(clump_load_desc),
                                                         .path = "no/such/file"},
                                      NULL, &saved, &error),
                     CLUMP_ERR_IO);
    assert_int_equal(clump_saved_read(NULL, NULL, NULL, NULL, NULL), CLUMP_ERR_USAGE);
    clump_saved_close(NULL);
    assert_int_equal(m.bytes, 0);
    clump_heap_destroy(h);
}

/* Registered buffers that are too few or too small, handles, too little room. */
static void heaps_that_do_not_fit(void **state) {
    clump_heap *h = small_heap();
    const clump_error *error = clump_context_get_error(on.clump);
    clump_refs *made;
    cl_fixture_expect_words(error, load_bytes(h, &good, NULL), CLUMP_ERR_USAGE,
                            "references of 1 registered buffers, but the heap has 0", "none",
                            __LINE__);
    CHECK_OK(&on, clump_refs_create(h,
                                    &(clump_refs_desc){.size = sizeof(clump_refs_desc),
                                                       .buffer = registered,
                                                       .count = REGISTERED - 1},
                                    &made, NULL));
    cl_fixture_expect_words(error, load_bytes(h, &good, NULL), CLUMP_ERR_USAGE, "room for only 4",
                            "small", __LINE__);
    clump_heap_destroy(h);
    clump_refs_destroy(made);
    h = cl_fixture_heap_of_blocks(&on, text, 1, 1);
    CHECK_OK(&on, clump_refs_create(h,
                                    &(clump_refs_desc){.size = sizeof(clump_refs_desc),
                                                       .buffer = registered,
                                                       .count = REGISTERED},
                                    &made, NULL));
    cl_fixture_expect_words(error, load_bytes(h, &good, NULL), CLUMP_ERR_DEVICE_MEMORY,
                            "the heap has 1.", "room", __LINE__);
    CHECK_HEAP(&on, h);
    clump_heap_destroy(h);
    clump_refs_destroy(made);
    expect_nothing();
}

/* ---- Disks and processes --------------------------------------------------------------------- */

/* Each write fails in turn. */
static void writes_that_fail(void **state) {
    cl_mem buffer;
    clump_heap *h = filled_heap(&buffer);
    for (size_t most = 1; most < good.bytes; most += 37) {
        memory_file m = {.most = most};
        const clump_save_desc save = {
            .size = sizeof save, .write = memory_write, .user = &m, .piece_bytes = 4096};
        cl_fixture_expect_words(clump_context_get_error(on.clump), clump_heap_save(h, &save, NULL),
                                CLUMP_ERR_IO, "returned 28", "a full disk", __LINE__);
        memory_release(&m);
    }
    CHECK_HEAP(&on, h);
    memory_file m = saved_bytes(&on, h, 4096);
    assert_int_equal(m.bytes, good.bytes);
    assert_memory_equal(m.data, good.data, m.bytes);
    memory_release(&m);
    clump_heap_destroy(h);
    clReleaseMemObject(buffer);
}

static struct { char folder[40], path[64], part[72]; } names;

static void make_names(void) {
    snprintf(names.folder, sizeof names.folder, "/tmp/clump-fault-save-XXXXXX");
    assert_non_null(mkdtemp(names.folder));
    snprintf(names.path, sizeof names.path, "%s/heap", names.folder);
    snprintf(names.part, sizeof names.part, "%s.part", names.path);
}

static void remove_names(void) {
    unlink(names.path);
    unlink(names.part);
    assert_int_equal(rmdir(names.folder), 0);
}

static int exists(const char *path) {
    struct stat found;
    return stat(path, &found) == 0;
}

static void write_old(void) {
    FILE *file = fopen(names.path, "wb");
    assert_non_null(file);
    assert_int_equal(fwrite(good.data, 1, good.bytes, file), good.bytes);
    assert_int_equal(fclose(file), 0);
}

/* The checkpoint from before is there, byte by byte. */
static void expect_old(void) {
    uint8_t *data = malloc(good.bytes + 1);
    FILE *file = fopen(names.path, "rb");
    assert_non_null(file);
    assert_int_equal(fread(data, 1, good.bytes + 1, file), good.bytes);
    assert_memory_equal(data, good.data, good.bytes);
    fclose(file);
    free(data);
}

/* While a kernel's raw memory is in use, a load is refused: one that fails would take it along.
 * Then it is freed. */
static void load_beside_raw(clump_heap *h) {
    static const char *const source =
        "__kernel void keep(CLUMP_HEAP, __global uint *handle, uint frees) {\n"
        "    if (get_global_id(0) != 0) return;\n"
        "    if (frees) clump_free(clump_raw_at(handle[0]));\n"
        "    else handle[0] = clump_raw_of(clump_malloc(100));\n"
        "}\n";
    clump_program *program = cl_fixture_program(&on, h, source, NULL, NULL);
    clump_kernel *keep = cl_fixture_kernel(&on, program, "keep");
    cl_mem handle = cl_fixture_buffer(&on, NULL, sizeof(cl_uint));
    SET_ARG(&on, keep, 0, handle);
    for (cl_uint frees = 0; frees < 2; frees++) {
        SET_ARG(&on, keep, 1, frees);
        CHECK_OK(&on, clump_heap_launch(h, keep, 64, 64, NULL));
        if (!frees)
            cl_fixture_expect_words(clump_context_get_error(on.clump), load_bytes(h, &good, NULL),
                                    CLUMP_ERR_USAGE, "bytes of raw memory", "raw memory in use",
                                    __LINE__);
    }
    CHECK_OK(&on, clump_heap_take_errors(h, NULL));
    clReleaseMemObject(handle);
    clump_kernel_destroy(keep);
    clump_program_destroy(program);
}

static void raw_memory(void **state) {
    (void)state;
    clump_heap *h;
    clump_schema *schema;
    CHECK_OK(&on, clump_schema_parse(text, strlen(text), NULL, &schema, NULL));
    CHECK_OK(&on, clump_heap_create(&(clump_heap_desc){.size = sizeof(clump_heap_desc),
                                                       .context = on.clump,
                                                       .schema = schema,
                                                       .bytes = 4 << 20,
                                                       .raw = 1},
                                    &h, NULL));
    clump_refs *made;
    cl_mem buffer = cl_fixture_buffer(&on, NULL, REGISTERED * sizeof(clump_ref));
    CHECK_OK(&on, clump_refs_create(
                      h,
                      &(clump_refs_desc){
                          .size = sizeof(clump_refs_desc), .buffer = buffer, .count = REGISTERED},
                      &made, NULL));
    load_beside_raw(h);
    CHECK_OK(&on, load_bytes(h, &good, NULL));
    CHECK_HEAP(&on, h);
    clump_refs_destroy(made);
    clReleaseMemObject(buffer);
    clump_heap_destroy(h);
    clump_schema_destroy(schema);
}

/* A disk that is full after so many bytes. */
static void full_disk(void **state) {
    cl_mem buffer;
    clump_heap *h = filled_heap(&buffer);
    const clump_save_desc save = {.size = sizeof save, .path = names.path, .piece_bytes = 4096};
    struct rlimit before, limit;
    make_names();
    write_old();
    signal(SIGXFSZ, SIG_IGN);
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
    for (rlim_t most = 0; most < good.bytes; most += 101) {
        limit = before;
        limit.rlim_cur = most;
        assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
        const clump_status status = clump_heap_save(h, &save, NULL);
        assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
        cl_fixture_expect_words(clump_context_get_error(on.clump), status, CLUMP_ERR_IO,
                                "cannot write", "a full disk", __LINE__);
        expect_old();
        assert_false(exists(names.part));
    }
    signal(SIGXFSZ, SIG_DFL);
    CHECK_OK(&on, clump_heap_save(h, &save, NULL));
    expect_old(); /* equal heap, equal bytes */
    remove_names();
    clump_heap_destroy(h);
    clReleaseMemObject(buffer);
}

/* Runs this program as a child; returns what it ended with. */
static const char *program_name;
static int run_child(const char *pieces, const char *bytes) {
    const pid_t child = fork();
    assert_true(child >= 0);
    if (!child) {
        execl(program_name, program_name, "child", names.path, pieces, bytes, (char *)NULL);
        _exit(99);
    }
    int status = 0;
    assert_int_equal(waitpid(child, &status, 0), child);
    return status;
}

static void killed(void **state) {
    char words[24];
    make_names();
    write_old();
    for (int pieces = 1; pieces <= 5; pieces++) { /* all pieces of values */
        snprintf(words, sizeof words, "%d", pieces);
        const int status = run_child(words, NULL);
        assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
        expect_old();
        assert_true(exists(names.part));
    }
    for (size_t bytes = 5; bytes < good.bytes; bytes += good.bytes / 4) {
        snprintf(words, sizeof words, "%zu", bytes);
        const int status = run_child("0", words);
        assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGXFSZ);
        expect_old();
        assert_true(exists(names.part));
    }
    unlink(names.path); /* the next save does with the part that is left what it has to */
    const int status = run_child("0", NULL);
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    assert_false(exists(names.part));
    expect_old();
    remove_names();
}

/* A second save to the path while one is under way, here by a lock on its part. */
static void two_saves(void **state) {
    cl_mem buffer;
    clump_heap *h = filled_heap(&buffer);
    const clump_save_desc save = {.size = sizeof save, .path = names.path, .piece_bytes = 4096};
    make_names();
    write_old();
    const int other = open(names.part, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
    assert_int_equal(write(other, "half of it", 10), 10);
    assert_int_equal(flock(other, LOCK_EX), 0);
    cl_fixture_expect_words(clump_context_get_error(on.clump), clump_heap_save(h, &save, NULL),
                            CLUMP_ERR_IO, "another save", "two saves", __LINE__);
    expect_old();
    struct stat found;
    assert_int_equal(fstat(other, &found), 0);
    assert_int_equal(found.st_size, 10); /* it was not touched */
    assert_true(exists(names.part));
    close(other);
    CHECK_OK(&on, clump_heap_save(h, &save, NULL));
    expect_old();
    remove_names();
    clump_heap_destroy(h);
    clReleaseMemObject(buffer);
}

/* ---- What the path names --------------------------------------------------------------------- */

static mode_t mode_of(const char *path) {
    struct stat is;
    assert_int_equal(lstat(path, &is), 0);
    return is.st_mode;
}

static void in_folder(char *path, size_t room, const char *name) {
    assert_in_range(snprintf(path, room, "%s/%s", names.folder, name), 1, room - 1);
}

/* Symbolic links stay; what they lead to is replaced, or made, and keeps its mode. */
static void save_through_links(void **state) {
    char link_a[64], link_b[64], folder[64], far[72], far_part[80];
    cl_mem buffer;
    clump_heap *h = filled_heap(&buffer);
    make_names();
    in_folder(link_a, sizeof link_a, "a");
    in_folder(link_b, sizeof link_b, "b");
    in_folder(folder, sizeof folder, "sub");
    in_folder(far, sizeof far, "sub/heap");
    in_folder(far_part, sizeof far_part, "sub/heap.part");
    assert_int_equal(mkdir(folder, 0700), 0);
    assert_int_equal(symlink("b", link_a), 0);
    const mode_t mask = umask(022);
    assert_int_equal(symlink("sub/../sub/heap", link_b), 0);
    for (int is_there = 0; is_there < 2; is_there++) {
        CHECK_OK(&on, clump_heap_save(
                          h,
                          &(clump_save_desc){
                              .size = sizeof(clump_save_desc), .path = link_a, .piece_bytes = 4096},
                          NULL));
        assert_true(S_ISLNK(mode_of(link_a)) && S_ISLNK(mode_of(link_b)));
        assert_int_equal(mode_of(far) & 07777, is_there ? 0640 : 0644);
        assert_false(exists(far_part));
        assert_int_equal(rename(far, names.path), 0);
        expect_old();
        FILE *file = fopen(far, "wb");
        assert_non_null(file);
        assert_int_equal(fclose(file), 0);
        assert_int_equal(chmod(far, 0640), 0);
    }
    umask(mask);
    unlink(link_b);
    assert_int_equal(symlink("a", link_b), 0); /* round and round */
    cl_fixture_expect_words(
        clump_context_get_error(on.clump),
        clump_heap_save(h, &(clump_save_desc){.size = sizeof(clump_save_desc), .path = link_a},
                        NULL),
        CLUMP_ERR_IO, strerror(ELOOP), "a ring of links", __LINE__);
    unlink(link_a);
    unlink(link_b);
    unlink(far);
    rmdir(folder);
    remove_names();
    clump_heap_destroy(h);
    clReleaseMemObject(buffer);
}

/* The new file has the mode of the old one; another name of the old one keeps what it had, as
 * save.h says. */
static void save_keeps_mode(void **state) {
    static const mode_t modes[] = {0600, 0640, 0666, 0700};
    char other[64], old[2] = "";
    cl_mem buffer;
    clump_heap *h = filled_heap(&buffer);
    const clump_save_desc save = {.size = sizeof save, .path = names.path, .piece_bytes = 4096};
    make_names();
    in_folder(other, sizeof other, "other");
    for (size_t i = 0; i < sizeof modes / sizeof *modes; i++) {
        FILE *file = fopen(names.path, "wb");
        assert_true(file && fputs("x", file) >= 0 && !fclose(file));
        assert_int_equal(chmod(names.path, modes[i]), 0);
        assert_int_equal(link(names.path, other), 0);
        CHECK_OK(&on, clump_heap_save(h, &save, NULL));
        expect_old();
        assert_int_equal(mode_of(names.path) & 07777, modes[i]);
        file = fopen(other, "rb");
        assert_true(file && fread(old, 1, 2, file) == 1 && old[0] == 'x' && !fclose(file));
        unlink(other);
    }
    if (geteuid()) { /* root may write all */
        assert_int_equal(chmod(names.path, 0444), 0);
        cl_fixture_expect_words(clump_context_get_error(on.clump), clump_heap_save(h, &save, NULL),
                                CLUMP_ERR_IO, strerror(EACCES), "read-only", __LINE__);
        expect_old();
    }
    remove_names();
    clump_heap_destroy(h);
    clReleaseMemObject(buffer);
}

static void expect_kept(clump_heap *h, const char *path, clump_status status, const char *words) {
    struct stat before, after;
    assert_int_equal(lstat(path, &before), 0);
    cl_fixture_expect_words(
        clump_context_get_error(on.clump),
        clump_heap_save(h, &(clump_save_desc){.size = sizeof(clump_save_desc), .path = names.path},
                        NULL),
        status, words, words, __LINE__);
    assert_int_equal(lstat(path, &after), 0);
    assert_true(before.st_ino == after.st_ino && before.st_mode == after.st_mode &&
                before.st_size == after.st_size);
}

/* What is no regular file is refused before anything is written, and stays; so does a part that is
 * not what a save leaves. */
static void save_to_no_file(void **state) {
    char other[64];
    cl_mem buffer;
    clump_heap *h = filled_heap(&buffer);
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    make_names();
    in_folder(other, sizeof other, "other");
    assert_int_equal(mkfifo(names.path, 0600), 0);
    expect_kept(h, names.path, CLUMP_ERR_IO, "it is a pipe");
    unlink(names.path);
    assert_int_equal(mkdir(names.path, 0700), 0);
    expect_kept(h, names.path, CLUMP_ERR_IO, "it is a folder");
    rmdir(names.path);
    snprintf(address.sun_path, sizeof address.sun_path, "%s", names.path);
    const int server = socket(AF_UNIX, SOCK_STREAM, 0);
    assert_int_equal(bind(server, (struct sockaddr *)&address, sizeof address), 0);
    expect_kept(h, names.path, CLUMP_ERR_IO, "it is neither a regular file");
    close(server);
    unlink(names.path);
    const int terminal = posix_openpt(O_RDWR | O_NOCTTY); /* a device that is the test's own */
    if (terminal >= 0 && !grantpt(terminal) && !unlockpt(terminal)) {
        assert_int_equal(symlink(ptsname(terminal), names.path), 0);
        expect_kept(h, names.path, CLUMP_ERR_IO, "it is a device");
        unlink(names.path);
    }
    close(terminal);
    write_old();
    assert_int_equal(mkfifo(names.part, 0600), 0);
    expect_kept(h, names.part, CLUMP_ERR_IO, "cannot create");
    unlink(names.part);
    assert_int_equal(link(names.path, names.part), 0); /* emptying the one would empty the other */
    expect_kept(h, names.part, CLUMP_ERR_IO, "not a regular file with only one name");
    unlink(names.part);
    assert_int_equal(symlink("other", names.part), 0);
    expect_kept(h, names.part, CLUMP_ERR_IO, "cannot create");
    assert_false(exists(other));
    expect_old();
    remove_names();
    clump_heap_destroy(h);
    clReleaseMemObject(buffer);
}

/* A file with something after its end. */
static void longer_file(void **state) {
    clump_error error;
    make_names();
    write_old();
    assert_int_equal(
        clump_saved_read(&(clump_load_desc){.size = sizeof(clump_load_desc), .path = names.path},
                         NULL, NULL, NULL, &error),
        CLUMP_OK);
    FILE *file = fopen(names.path, "ab");
    fputc(0, file);
    fclose(file);
    assert_int_equal(
        clump_saved_read(&(clump_load_desc){.size = sizeof(clump_load_desc), .path = names.path},
                         NULL, NULL, NULL, &error),
        CLUMP_ERR_FORMAT);
    assert_non_null(strstr(error.message, "continues after"));
    assert_int_equal(
        clump_heap_load(
            target, &(clump_load_desc){.size = sizeof(clump_load_desc), .path = names.path}, NULL),
        CLUMP_ERR_FORMAT);
    expect_nothing();
    remove_names();
}

/* ---- The child ------------------------------------------------------------------------------- */

static int pieces_left;

static int die(void *user, uint64_t done, uint64_t all) {
    if (pieces_left && !--pieces_left) kill(getpid(), SIGKILL);
    return 0;
}

static int child(const char *path, const char *pieces, const char *bytes) {
    cl_mem buffer;
    clump_heap *h = filled_heap(&buffer);
    memory_file warm =
        saved_bytes(&on, h, 4096); /* so that kernels are compiled before the limit */
    memory_release(&warm);
    pieces_left = atoi(pieces);
    if (bytes) {
        struct rlimit limit;
        assert_int_equal(getrlimit(RLIMIT_FSIZE, &limit), 0);
        limit.rlim_cur = (rlim_t)atol(bytes);
        signal(SIGXFSZ, SIG_DFL); /* it may have been ignored by who started this */
        assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
    }
    const clump_save_desc save = {
        .size = sizeof save, .path = path, .piece_bytes = 4096, .progress = die};
    const clump_status status = clump_heap_save(h, &save, NULL);
    clump_heap_destroy(h);
    clReleaseMemObject(buffer);
    cl_fixture_close(&on);
    return status ? 1 : 0;
}

int main(int count, char **words) {
    const int code = cl_fixture_open(&on, NULL);
    if (code) return code;
    program_name = words[0];
    if (count >= 4 && strcmp(words[1], "child") == 0)
        return child(words[2], words[3], count == 5 ? words[4] : NULL);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_bit),
        cmocka_unit_test(first_of_two),
        cmocka_unit_test(every_length),
        cmocka_unit_test(pieces_of_place),
        cmocka_unit_test(foreign_and_other_versions),
        cmocka_unit_test(made_up),
        cmocka_unit_test(made_up_as_packed),
        cmocka_unit_test(wrong_calls),
        cmocka_unit_test(heaps_that_do_not_fit),
        cmocka_unit_test(writes_that_fail),
        cmocka_unit_test(full_disk),
        cmocka_unit_test(killed),
        cmocka_unit_test(two_saves),
        cmocka_unit_test(save_through_links),
        cmocka_unit_test(save_keeps_mode),
        cmocka_unit_test(save_to_no_file),
        cmocka_unit_test(raw_memory),
        cmocka_unit_test(longer_file),
    };
    const int failed = cmocka_run_group_tests(tests, open_all, close_all);
    cl_fixture_close(&on);
    return failed;
}
