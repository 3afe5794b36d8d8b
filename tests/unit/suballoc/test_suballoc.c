/* Suballocators: what is refused and in which words, alignment, statistics, corruption found by
 * the check, host memory that runs out, and that costs do not grow.
 *
 * What requests do to the ranges is compared with a model in diff/diff_suballoc.c.
 * Read first: include/clump/suballoc.h.
 */
#include <stdlib.h>
#include <string.h>

#include "cl_fixture.h"
#include "suballoc/suballoc.h"

static clump_suballoc *make(uint64_t bytes, uint64_t granularity, clump_fit fit) {
    clump_suballoc_desc desc = {
        .size = sizeof desc, .bytes = bytes, .granularity = granularity, .fit = fit};
    clump_suballoc *s = NULL;
    assert_int_equal(clump_suballoc_create(&desc, &s, NULL), CLUMP_OK);
    return s;
}

static void refused(clump_suballoc_desc desc, const char *words, int line) {
    clump_suballoc *s = (clump_suballoc *)&desc;
    clump_error error;
    clump_status status = clump_suballoc_create(&desc, &s, &error);
    assert_null(s);
    cl_fixture_expect_words(&error, status, CLUMP_ERR_USAGE, words, "clump_suballoc_create", line);
}

static void bad_descs(void **state) {
    refused((clump_suballoc_desc){.size = sizeof(clump_suballoc_desc), .bytes = 0},
            "at least the granularity", __LINE__);
    refused(
        (clump_suballoc_desc){.size = sizeof(clump_suballoc_desc), .bytes = 64, .granularity = 48},
        "power of two", __LINE__);
    refused(
        (clump_suballoc_desc){.size = sizeof(clump_suballoc_desc), .bytes = 64, .granularity = 128},
        "128, is needed", __LINE__);
    refused((clump_suballoc_desc){.size = sizeof(clump_suballoc_desc), .bytes = UINT64_C(1) << 48},
            "2^48", __LINE__);
    refused(
        (clump_suballoc_desc){
            .size = sizeof(clump_suballoc_desc), .bytes = 64, .fit = CLUMP_FIT_COUNT},
        "strategy 4", __LINE__);
    clump_allocator half = {.allocate = (void *(*)(void *, size_t))abort};
    refused(
        (clump_suballoc_desc){.size = sizeof(clump_suballoc_desc), .bytes = 64, .allocator = half},
        "or none", __LINE__);
    clump_error error;
    assert_int_equal(clump_suballoc_create(NULL, NULL, &error), CLUMP_ERR_USAGE);
    clump_suballoc_destroy(NULL);
}

#define REFUSED(s, call, status, words)                                                            \
    cl_fixture_expect_words(clump_suballoc_get_error(s), (call), (status), (words), #call, __LINE__)

static void bad_calls(void **state) {
    clump_suballoc *s = make(1 << 20, 128, CLUMP_FIT_GOOD), *other = make(1 << 20, 128, 0);
    clump_range range = 1, live, foreign;
    clump_range_info info = {.size = sizeof info};
    assert_int_equal(clump_suballoc_alloc(s, 500, 0, NULL, &live, NULL), CLUMP_OK);
    assert_int_equal(clump_suballoc_alloc(other, 500, 0, NULL, &foreign, NULL), CLUMP_OK);
    REFUSED(s, clump_suballoc_alloc(s, 0, 0, NULL, &range, NULL), CLUMP_ERR_USAGE,
            "at least 1 byte");
    assert_int_equal(range, 0);
    REFUSED(s, clump_suballoc_alloc(s, 8, 24, NULL, &range, NULL), CLUMP_ERR_USAGE, "power of two");
    REFUSED(s, clump_suballoc_alloc(s, 8, 0, NULL, NULL, NULL), CLUMP_ERR_USAGE, "a pointer");
    REFUSED(s, clump_suballoc_alloc(s, UINT64_MAX, 0, NULL, &range, NULL), CLUMP_ERR_DEVICE_MEMORY,
            "1 free ranges (1048064 bytes");
    REFUSED(s, clump_suballoc_alloc(s, 1 << 20, 0, NULL, &range, NULL), CLUMP_ERR_DEVICE_MEMORY,
            "do not fit in any");
    REFUSED(s, clump_suballoc_alloc(s, 8, UINT64_C(1) << 63, NULL, &range, NULL),
            CLUMP_ERR_DEVICE_MEMORY, "do not fit in any");
    if (foreign != live) /* their marks are equal once in 65,536 runs */
        REFUSED(s, clump_suballoc_free(s, foreign), CLUMP_ERR_REFERENCE, "does not belong to this");
    REFUSED(s, clump_suballoc_free(s, live + 1000), CLUMP_ERR_REFERENCE, "does not belong to this");
    assert_int_equal(clump_suballoc_get_info(s, live + 1, &info), CLUMP_ERR_REFERENCE);
    clump_suballoc_stats stats = {.size = sizeof stats};
    clump_suballoc_get_stats(s, &stats, NULL);
    assert_int_equal(stats.ranges, 1);
    assert_int_equal(stats.used_bytes, 512);
    assert_int_equal(clump_suballoc_free(s, live), CLUMP_OK);
    REFUSED(s, clump_suballoc_free(s, live), CLUMP_ERR_REFERENCE, "already freed");
    assert_int_equal(clump_suballoc_free(s, 0), CLUMP_OK);
    assert_int_equal(clump_suballoc_check(s), CLUMP_OK);
    assert_int_equal(clump_suballoc_check(NULL), CLUMP_ERR_USAGE);
    clump_suballoc_destroy(s);
    clump_suballoc_destroy(other);
}

/* A hole of exactly the size that is wanted is taken where larger ones would do, but for the
 * largest. */
static void exact_holes(void **state) {
    for (int i = 0; i < 2 * CLUMP_FIT_COUNT; i++) {
        int fit = i / 2;
        uint64_t align = i % 2 ? 256 : 0; /* the hole is at 0 */
        for (uint64_t units = 1; units < 3000; units += 1 + units / 7) {
            clump_suballoc *s = make(1 << 24, 128, (clump_fit)fit);
            clump_range hole, next;
            clump_range_info info = {.size = sizeof info};
            assert_int_equal(clump_suballoc_alloc(s, units * 128, 0, NULL, &hole, NULL), CLUMP_OK);
            assert_int_equal(clump_suballoc_alloc(s, 128, 0, NULL, &next, NULL), CLUMP_OK);
            assert_int_equal(clump_suballoc_free(s, hole), CLUMP_OK);
            assert_int_equal(clump_suballoc_alloc(s, units * 128, align, NULL, &hole, NULL),
                             CLUMP_OK);
            assert_int_equal(clump_suballoc_get_info(s, hole, &info), CLUMP_OK);
            assert_int_equal(info.offset == 0, fit != CLUMP_FIT_WORST);
            clump_suballoc_destroy(s);
        }
    }
}

/* What tells the ranges of one suballocator from those of another is the upper half of a range; it
 * has 16 bits to do so, none of which is the same in all suballocators. */
static void marks(void **state) {
    enum { COUNT = 128 };
    clump_suballoc *s[COUNT];
    uint32_t clear = 0, set = 0;
    for (int i = 0; i < COUNT; i++) {
        clump_range range;
        s[i] = make(1 << 20, 128, CLUMP_FIT_GOOD);
        assert_int_equal(clump_suballoc_alloc(s[i], 500, 0, NULL, &range, NULL), CLUMP_OK);
        set |= (uint32_t)(range >> 32);
        clear |= ~(uint32_t)(range >> 32);
    }
    for (int i = 0; i < COUNT; i++) clump_suballoc_destroy(s[i]);
    assert_int_equal(set & clear & 0xffff0000u, 0xffff0000u);
}

/* One at offset 0 may have any alignment; sizes up to the limit. */
static void limits(void **state) {
    clump_suballoc *s = make((UINT64_C(1) << 48) - 1, 1, CLUMP_FIT_GOOD);
    clump_range a, b;
    uint64_t offset;
    assert_int_equal(clump_suballoc_alloc(s, 5, UINT64_C(1) << 63, NULL, &a, &offset), CLUMP_OK);
    assert_int_equal(offset, 0);
    assert_int_equal(clump_suballoc_alloc(s, (UINT64_C(1) << 48) - 9, 8, NULL, &b, &offset),
                     CLUMP_OK);
    assert_int_equal(offset, 8);
    assert_int_equal(clump_suballoc_check(s), CLUMP_OK);
    clump_suballoc_details details = {.size = sizeof details};
    clump_suballoc_get_stats(s, NULL, &details);
    assert_int_equal(details.free_max, 3);
    assert_int_equal(details.range_min, 5);
    assert_true(details.fragmentation == 0);
    clump_suballoc_destroy(s);
}

/* Whatever the alignment, a request is served where a multiple of it has room, and only there. */
static void alignments(void **state) {
    for (int fit = 0; fit < CLUMP_FIT_COUNT; fit++) {
        for (unsigned units_log = 4; units_log <= 47; units_log++) {
            clump_suballoc *s = make(UINT64_C(1) << units_log, 1, (clump_fit)fit);
            clump_range first, range;
            uint64_t offset;
            assert_int_equal(clump_suballoc_alloc(s, 1, 0, NULL, &first, &offset), CLUMP_OK);
            assert_int_equal(offset, 0);
            for (unsigned align_log = 0; align_log < 64; align_log++) {
                int fits = align_log < units_log;
                clump_status status =
                    clump_suballoc_alloc(s, 3, UINT64_C(1) << align_log, NULL, &range, &offset);
                assert_int_equal(status, fits ? CLUMP_OK : CLUMP_ERR_DEVICE_MEMORY);
                if (!fits) continue;
                assert_int_equal(offset & ((UINT64_C(1) << align_log) - 1), 0);
                assert_int_equal(clump_suballoc_check(s), CLUMP_OK);
                assert_int_equal(clump_suballoc_free(s, range), CLUMP_OK);
            }
            clump_suballoc_destroy(s);
        }
    }
}

/* Every invariant broken in turn is found. */
static void check_finds(void **state) {
    for (int fit = 0; fit < CLUMP_FIT_COUNT; fit++) {
        clump_suballoc *s = make(1000, 1, (clump_fit)fit);
        clump_range r[5];
        for (int i = 0; i < 5; i++)
            assert_int_equal(clump_suballoc_alloc(s, 100, 0, NULL, &r[i], NULL), CLUMP_OK);
        clump_suballoc_free(s, r[1]);
        clump_suballoc_free(s, r[3]);
        assert_int_equal(clump_suballoc_check(s), CLUMP_OK);
        clumpi_node *n = clumpi_node_at(s, (uint32_t)r[2]);
        clumpi_node *hole = clumpi_node_at(s, n->next);
#define BROKEN(change, undo)                                                                       \
    do {                                                                                           \
        change;                                                                                    \
        assert_int_equal(clump_suballoc_check(s), CLUMP_ERR_CORRUPT);                              \
        assert_true(strlen(clump_suballoc_get_error(s)->message) > 10);                            \
        undo;                                                                                      \
        assert_int_equal(clump_suballoc_check(s), CLUMP_OK);                                       \
    } while (0)
        BROKEN(n->offset++, n->offset--);
        BROKEN(n->size--, n->size++);
        uint64_t size = n->size;
        n->size = 0;
        REFUSED(s, clump_suballoc_check(s), CLUMP_ERR_CORRUPT, "0 instead of 1");
        n->size = size;
        BROKEN(n->prev++, n->prev--);
        BROKEN(n->state = CLUMPI_NODE_FREE, n->state = CLUMPI_NODE_USED);
        BROKEN(hole->state = CLUMPI_NODE_USED, hole->state = CLUMPI_NODE_FREE);
        BROKEN(s->used_units++, s->used_units--);
        BROKEN(s->used_count++, s->used_count--);
        BROKEN(s->free_count++, s->free_count--);
        clumpi_node *none = clumpi_node_at(s, 0);
        BROKEN(none->prev++, none->prev--);
        BROKEN(none->prev_free ^= 1, none->prev_free ^= 1);
        BROKEN(none->next_free ^= 1, none->next_free ^= 1);
        BROKEN(n->prev_free ^= 1, n->prev_free ^= 1);
        BROKEN(n->next_free ^= 1, n->next_free ^= 1);
        if (fit == CLUMP_FIT_GOOD) {
            BROKEN(s->bin_rows ^= 1, s->bin_rows ^= 1);
            BROKEN(s->bin_bits[0] ^= 1, s->bin_bits[0] ^= 1);
            BROKEN(hole->bin_prev ^= 7, hole->bin_prev ^= 7);
            clumpi_bin *head = &s->bins[clumpi_bin_of(hole->size)], *behind = &s->bins[s->bin_end];
            BROKEN(*head ^= UINT64_C(1) << 32, *head ^= UINT64_C(1) << 32);
            BROKEN(*behind = *head, *behind = 0);
            BROKEN(s->bin_bits[s->bin_end / 32] = 0, s->bin_bits[s->bin_end / 32] = 1);
        } else {
            uint32_t root = s->root;
            BROKEN(s->root = clumpi_link_at(s, root)->right, s->root = root);
            BROKEN(clumpi_link_at(s, root)->max++, clumpi_link_at(s, root)->max--);
        }
#undef BROKEN
        clump_suballoc_destroy(s);
    }
}

/* ---- Host memory ---------------------------------------------------------------------------- */

static struct {
    unsigned requests, refuse_at;
    long live;
} memory;

static void *allocate(void *user, size_t bytes) {
    if (++memory.requests == memory.refuse_at) return NULL;
    memory.live++;
    return malloc(bytes);
}

static void *reallocate(void *user, void *old, size_t bytes) {
    return ++memory.requests == memory.refuse_at ? NULL : realloc(old, bytes);
}

static void release(void *user, void *old) {
    memory.live -= old != NULL;
    free(old);
}

#define RANGES 6000

static void memory_runs_out(void **state) {
    for (int fit = 0; fit < CLUMP_FIT_COUNT; fit++) {
        unsigned failures = 0;
        for (unsigned n = 1;; n++) {
            memset(&memory, 0, sizeof memory);
            memory.refuse_at = n;
            clump_suballoc_desc desc = {.size = sizeof desc,
                                        .bytes = UINT64_C(64) * RANGES,
                                        .fit = (clump_fit)fit,
                                        .allocator = {allocate, reallocate, release, NULL}};
            clump_suballoc *s;
            clump_error error;
            clump_status status = clump_suballoc_create(&desc, &s, &error);
            for (int i = 0; !status && i < RANGES; i++) {
                clump_range range;
                status = clump_suballoc_alloc(s, 16, i % 2 ? 64 : 0, NULL, &range, NULL);
                if (!status) continue;
                error = *clump_suballoc_get_error(s);
                assert_int_equal(range, 0);
                assert_int_equal(clump_suballoc_check(s), CLUMP_OK);
                assert_int_equal(clump_suballoc_alloc(s, 16, i % 2 ? 64 : 0, NULL, &range, NULL),
                                 CLUMP_OK);
                assert_int_equal(clump_suballoc_check(s), CLUMP_OK);
            }
            clump_suballoc_destroy(s);
            assert_int_equal(memory.live, 0);
            if (!status) break;
            assert_int_equal(status, CLUMP_ERR_HOST_MEMORY);
            assert_non_null(strstr(error.message, "no host memory"));
            failures++;
        }
        assert_true(failures >= 10);
    }
}

/* The metadata of a churning suballocator do not grow once its ranges are there. */
static void nothing_grows(void **state) {
    for (int fit = 0; fit < CLUMP_FIT_COUNT; fit++) {
        clump_suballoc *s = make(UINT64_C(1) << 32, 256, (clump_fit)fit);
        static clump_range live[20000];
        uint64_t random = 5;
        clump_suballoc_stats before = {.size = sizeof before}, after = {.size = sizeof after};
        memset(live, 0, sizeof live);
        for (unsigned i = 0; i < 400000; i++) {
            unsigned k = test_random(&random, 20000);
            assert_int_equal(clump_suballoc_free(s, live[k]), CLUMP_OK);
            assert_int_equal(
                clump_suballoc_alloc(s, 1 + test_random(&random, 100000), 0, NULL, &live[k], NULL),
                CLUMP_OK);
            if (i == 100000) clump_suballoc_get_stats(s, &before, NULL);
        }
        clump_suballoc_get_stats(s, &after, NULL);
        assert_true(after.metadata_bytes <= before.metadata_bytes * 11 / 10);
        assert_true(after.metadata_bytes < UINT64_C(20000) * 110);
        assert_int_equal(clump_suballoc_check(s), CLUMP_OK);
        clump_suballoc_destroy(s);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bad_descs),       cmocka_unit_test(bad_calls),
        cmocka_unit_test(limits),          cmocka_unit_test(check_finds),
        cmocka_unit_test(alignments),      cmocka_unit_test(nothing_grows),
        cmocka_unit_test(memory_runs_out), cmocka_unit_test(marks),
        cmocka_unit_test(exact_holes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
