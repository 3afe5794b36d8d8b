/* The heap at its limits: n free slots serve n work-items, one more gets null; emptied it is as
 * new; do-new takes what there is; frees that are wrong are counted and change nothing.
 *
 * An argument is a pattern of the tests to run: "test_middle".
 * Read first: fill_core.h.
 */
#include "fill_core.h"

static cl_fixture fixture;

/* All of fill_core.h in one heap. */
static void fill_everything(fill_test *t) {
    uint32_t most = 0;
    for (int i = 0; i < FILL_CLASSES; i++) {
        uint32_t n = (uint32_t)cl_fixture_free_slots(t->f, t->heap, fill_classes[i]);
        if (n > most) most = n;
    }
    uint32_t *refs = malloc(2 * (most + 1000) * sizeof *refs), *others = refs + most + 1000;
    assert_non_null(refs);
    for (int i = 0; i < FILL_CLASSES; i++) fill_and_empty(t, fill_classes[i], refs);
    fill_side_by_side(t, "Small", "Big", refs, others);
    fill_side_by_side(t, "Right", "Small", refs, others);
    fill_by_do_new(t, "Left", refs);
    fill_by_do_new(t, "Small", refs);
    fill_swap(t, refs, others);
    fill_double_free(t, "Small", refs);
    fill_double_free(t, "Right", refs);
    if (clump_heap_get_info(t->heap)->block_count >= FILL_CLASSES) fill_garbage(t);
    free(refs);
}

static void run(uint32_t blocks, uint32_t block_rows, int collective) {
    fill_test t;
    fill_open(&t, &fixture, blocks, block_rows, NULL);
    t.collective = collective;
    fill_everything(&t);
    fill_close(&t);
}

/* One row to a block of the smallest class: an object more or less often opens or frees a block. */
static void test_narrow(void **state) {
    (void)state;
    run(150, 1, 0);
}

static void test_middle(void **state) {
    (void)state;
    run(41, 7, 1);
}

static void test_wide(void **state) {
    (void)state;
    run(8, 64, 0);
}

/* A heap of one block. */
static void test_one_block(void **state) {
    (void)state;
    run(1, 7, 1);
}

/* More blocks than a word of hints has bits, squared: three levels. */
static void test_many_blocks(void **state) {
    (void)state;
    fill_test t;
    fill_open(&t, &fixture, 1100, 1, NULL);
    uint32_t most = (uint32_t)cl_fixture_free_slots(&fixture, t.heap, "Small") + 1000;
    uint32_t *refs = malloc(2 * most * sizeof *refs);
    assert_non_null(refs);
    fill_side_by_side(&t, "Small", "Right", refs, refs + most);
    fill_by_do_new(&t, "Small", refs);
    fill_swap(&t, refs, refs + most);
    free(refs);
    fill_close(&t);
}

int main(int argc, char **argv) {
    int result = cl_fixture_open(&fixture, NULL);
    if (result) return result;
    if (argc > 1) cmocka_set_test_filter(argv[1]);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_narrow),      cmocka_unit_test(test_middle),
        cmocka_unit_test(test_wide),        cmocka_unit_test(test_one_block),
        cmocka_unit_test(test_many_blocks),
    };
    result = cmocka_run_group_tests_name("fill", tests, NULL, NULL);
    cl_fixture_close(&fixture);
    return result;
}
