/* The sizes of raw memory, and what a heap makes of them: for schemas of small and large objects
 * and for none, for heaps from small to the largest, and for all wishes of block_rows.
 *
 * Read first: host/heap/raw.c, host/heap/geometry.c.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
/* After the above, which it needs. */
#include <cmocka.h>

#include "heap/heap.h"
#include "schema/schema.h"

/* Of the requests that a size serves, the smallest loses most. */
static void sizes(void **state) {
    for (uint32_t largest = 4; largest <= 1 << 14; largest *= 2) {
        uint32_t count = clumpi_raw_class_count(largest), before = 0;
        assert_int_equal(clumpi_raw_slot_units(count - 1), largest);
        for (uint32_t i = 0; i < count; i++) {
            uint32_t units = clumpi_raw_slot_units(i);
            assert_true(units > before);
            assert_true(units <= 8 ? units == before + 1 : 5 * (units - before - 1) < units);
            before = units;
        }
    }
}

static clump_schema *schema_of(uint32_t bytes) {
    clump_schema *s;
    char text[64];
    snprintf(text, sizeof text, "class A { uchar v[%u] packed; }", bytes);
    clump_status status = bytes ? clump_schema_parse(text, strlen(text), NULL, &s, NULL)
                                : clumpi_schema_create_empty(NULL, &s);
    assert_int_equal(status, CLUMP_OK);
    return s;
}

static void expect_sound(const clumpi_geometry *g, uint32_t classes) {
    const clumpi_header *h = &g->header;
    uint64_t block = (uint64_t)h->granule_bytes * h->block_granules;
    assert_int_equal(h->first_raw, classes + 1);
    assert_int_equal(h->class_count, classes + clumpi_raw_class_count(h->raw_units) + 2);
    assert_true(h->class_count < CLUMPI_RESERVED);
    for (uint32_t id = h->first_raw; id <= h->class_count; id++) {
        const clumpi_class *c = &g->classes[id];
        assert_int_equal(c->last, id);
        assert_true(c->slot_bytes >= 16 && c->slot_bytes % 16 == 0);
        assert_true(c->rows >= 1 && c->rows <= 64 && c->capacity == c->rows * 64);
        assert_true((uint64_t)c->rows * c->row_granules <= h->block_granules);
        assert_true(c->slot_bytes * 64ull <= (uint64_t)c->row_granules * h->granule_bytes);
        assert_int_equal(c->is_runs, id + 2 > h->class_count);
        /* A slot moves as one column, and a run not at all. */
        assert_int_equal(c->owners_end - c->copies, !c->is_runs);
        assert_int_equal(c->refs, c->owners_end);
    }
    const clumpi_class *rows = &g->classes[h->class_count - 1], *blocks = rows + 1;
    /* What is larger than any slot takes five slots or more, what is larger than a row four. */
    assert_int_equal(rows->slot_bytes * 4, h->raw_units * 16);
    assert_true(rows->slot_bytes * 64ull >= blocks->slot_bytes * 4ull);
    /* A block's slots are all of the block, except less than 16 bytes for each. */
    assert_true(blocks->rows == 1 && blocks->row_granules == h->block_granules);
    assert_true(block - blocks->slot_bytes * 64ull < 16 * 64);
    assert_int_equal(h->mark_rows, rows->rows);
    /* Marks lie in the metadata, on whole words, and what follows does not begin before their
     * end. */
    uint64_t end = (uint64_t)h->at_marks * CLUMPI_UNIT + (uint64_t)h->block_end * h->mark_rows * 16;
    assert_true(h->at_marks > h->at_moved && end <= (uint64_t)h->at_scan * CLUMPI_UNIT);
    assert_true((uint64_t)h->first_block * block >= end);
}

static void geometries(void **state) {
    static const uint32_t objects[] = {0, 1, 4, 12, 100, 1000, 5000, 65536},
                          wishes[] = {0, 1, 3, 17, 64};
    uint32_t made = 0;
    for (size_t i = 0; i < sizeof objects / sizeof *objects; i++) {
        clump_schema *s = schema_of(objects[i]);
        for (size_t k = 0; k < sizeof wishes / sizeof *wishes; k++)
            for (uint64_t bytes = 1 << 19; bytes <= CLUMPI_RAW_BYTES_MAX;
                 bytes = bytes * 3 + 12345) {
                static clumpi_geometry g;
                clump_error error = {0};
                clump_status status = clumpi_geometry_compute(
                    s, bytes, wishes[k], 64, 16, (clumpi_extras){.raw = 1}, &g, &error);
                if (status == CLUMP_ERR_DEVICE_MEMORY)
                    continue; /* too small, or objects too small for it */
                assert_int_equal(status, CLUMP_OK);
                expect_sound(&g, objects[i] != 0);
                assert_int_equal(g.header.raw_most, bytes / 4 / 16);
                made++;
            }
        clump_schema_destroy(s);
    }
    assert_true(made > 300);
}

static void refused(void **state) {
    static char text[CLUMP_CLASSES_MAX * 32];
    size_t at = 0;
    clump_schema *s;
    clumpi_geometry g;
    clump_error error = {0};
    for (int i = 0; i < CLUMP_CLASSES_MAX; i++)
        at += (size_t)snprintf(text + at, sizeof text - at, "class K%d { uint v; }\n", i);
    assert_int_equal(clump_schema_parse(text, at, NULL, &s, NULL), CLUMP_OK);
    const clumpi_extras raw = {.raw = 1};
    assert_int_equal(clumpi_geometry_compute(s, 1 << 26, 0, 64, 16, raw, &g, &error),
                     CLUMP_ERR_DEVICE_MEMORY);
    assert_non_null(strstr(error.message, "are more than 254"));
    clump_schema_destroy(s);
    s = schema_of(8);
    assert_int_equal(
        clumpi_geometry_compute(s, CLUMPI_RAW_BYTES_MAX + 1, 0, 64, 16, raw, &g, &error),
        CLUMP_ERR_DEVICE_MEMORY);
    assert_non_null(strstr(error.message, "handles have 32 bits"));
    clump_schema_destroy(s);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(sizes), cmocka_unit_test(geometries),
                                       cmocka_unit_test(refused)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
