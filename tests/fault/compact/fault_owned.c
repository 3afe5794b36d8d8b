/* Compacting a heap with arrays that own raw memory, and raw memory without an owner, while each
 * OpenCL call fails, one run for each: while the plan is made, blocks that stay as they are have a
 * class of nobody. They must have their class again, whichever call fails. Until something moves, the
 * heap is as before and the call works when it is tried again.
 *
 * Read first: tests/support/failing.h, cl/compact/owned.cl.
 */
#include <string.h>

#include "clump/compact.h"
#include "failing.h"
#include "heap/access.h"

static const char schema_text[] = "class Bag { uint id; uint items[*]; }";
static const char source[] =
    "__kernel void make(CLUMP_HEAP) {\n"
    "    CLUMP_FOR_EACH_NEW(Bag, self, i) {\n"
    "        Bag_id(self) = i;\n"
    "        if (Bag_items_resize(self, 8u) != CLUMP_DONE) return;\n"
    "        for (uint k = 0; k < 8u; k++) Bag_items(self, k) = i * 8u + k;\n"
    "    }\n"
    "}\n"
    "__kernel void thin(CLUMP_HEAP) {\n"
    "    CLUMP_FOR_EACH(Bag, self) {\n"
    "        if (Bag_id(self) % 5u == 0u) continue;\n"
    "        if (Bag_id(self) < 400u) Bag_items_release(self);\n" /* nobody owns it */
    "        Bag_free(self);\n"
    "    }\n"
    "}\n"
    "__kernel void right(CLUMP_HEAP_NO_ALLOC) {\n"
    "    uint right = 0;\n"
    "    CLUMP_FOR_EACH(Bag, self)\n"
    "        for (uint k = 0; k < 8u; k++) right += Bag_items(self, k) == Bag_id(self) * 8u + k;\n"
    "    CLUMP_REDUCE(uint, right, CLUMP_SUM);\n"
    "}\n";
enum { BAGS = 4000 };

static unsigned sound, lost; /* runs whose heap is as before, and others */

static int is_right(clump_heap *heap, clump_program *p) {
    cl_uint right = 0;
    clump_kernel *kernel = clump_program_get_kernel(p, "right");
    return !clump_heap_check(heap) &&
           !clump_heap_reduce(heap, kernel, sizeof right, &right, NULL) && right == BAGS / 5 * 8;
}

/* Returns how many blocks have a class of nobody. */
static uint32_t hidden(clump_heap *heap) {
    const clumpi_header *h = &clumpi_heap_geometry(heap)->header;
    uint32_t count = 0, state;
    for (uint32_t b = h->first_block; b < h->block_end; b++) {
        assert_int_equal(clumpi_read(clumpi_heap_context(heap), clumpi_heap_buffer(heap),
                                     (uint64_t)h->at_states * CLUMPI_UNIT + b * sizeof state,
                                     sizeof state, &state),
                         CLUMP_OK);
        count += state >> CLUMPI_CLASS_SHIFT == CLUMPI_RESERVED;
    }
    return count;
}

/* Only the compaction has calls that fail. */
static int scenario(const cl_fixture *on) {
    const uint64_t fail_at = failing.fail_at;
    clump_compact_report report = {.size = sizeof report};
    clump_context *context;
    clump_schema *schema;
    clump_heap *heap;
    clump_program *p;
    failing.fail_at = 0;
    assert_int_equal(failing_context(on, &context, NULL), CLUMP_OK);
    assert_int_equal(clump_schema_parse(schema_text, strlen(schema_text), NULL, &schema, NULL),
                     CLUMP_OK);
    const clump_heap_desc desc = {.size = sizeof desc,
                                  .context = context,
                                  .schema = schema,
                                  .bytes = 1 << 20,
                                  .block_rows = 1};
    assert_int_equal(clump_heap_create(&desc, &heap, NULL), CLUMP_OK);
    assert_int_equal(clump_program_create(
                         &(clump_program_desc){
                             .size = sizeof(clump_program_desc), .heap = heap, .source = source},
                         &p, NULL),
                     CLUMP_OK);
    assert_int_equal(
        clump_heap_do_new(heap, clump_program_get_kernel(p, "make"), "Bag", BAGS, NULL, NULL),
        CLUMP_OK);
    assert_int_equal(clump_heap_do_all(heap, clump_program_get_kernel(p, "thin"), NULL), CLUMP_OK);
    assert_true(is_right(heap, p));
    failing.calls = 0;
    failing.fail_at = fail_at;
    const clump_status status = clump_heap_compact(heap, NULL, &report, NULL);
    const int came = failing_hit();
    failing.fail_at = 0;
    if (status) {
        failing_check_words(clump_context_get_error(context), "compact", status);
        assert_int_equal(hidden(heap), 0);
        if (is_right(heap, p))
            sound++;
        else
            lost++; /* objects were on their way */
        if (!lost) assert_int_equal(clump_heap_compact(heap, NULL, &report, NULL), CLUMP_OK);
    }
    if (!status || !lost) assert_true(report.raw_moves && report.raw_blocks_pinned);
    if (!status || !lost) assert_true(is_right(heap, p));
    clump_program_destroy(p);
    clump_heap_destroy(heap);
    clump_schema_destroy(schema);
    clump_context_destroy(context);
    return came;
}

static void test_calls(void **state) {
    (void)state;
    failing_strike_device(scenario, 0, CL_OUT_OF_RESOURCES, 0, 50);
    print_message("%u heaps as before, %u not\n", sound, lost);
    assert_true(sound > lost);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_calls)};
    return cmocka_run_group_tests_name("owned", tests, NULL, NULL);
}
