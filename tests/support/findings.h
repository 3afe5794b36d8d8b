/* Findings of checked heaps: none, or one, with the texts printed.
 *
 * Read first: include/clump/checked.h. Read next: tests/fault/heap/fault_checked_*.c.
 */
#ifndef TESTS_FINDINGS_H
#define TESTS_FINDINGS_H

#include "cl_fixture.h"
#include "clump/checked.h"

static inline void expect_no_finding(const cl_fixture *on, clump_heap *heap) {
    uint64_t count = 7;
    clump_finding f[4];
    CHECK_OK(on, clump_heap_check_memory(heap, NULL));
    CHECK_OK(on, clump_heap_take_findings(heap, f, 4, &count, NULL));
    for (uint32_t i = 0; i < count && i < 4; i++) print_message("    %s\n", f[i].text);
    assert_int_equal(count, 0);
    CHECK_HEAP(on, heap);
}

/* The only finding after `kernel`, and one use. */
static inline clump_finding expect_one_finding(const cl_fixture *on, clump_heap *heap,
                                               const char *kernel, clump_finding_kind kind,
                                               const char *class_name, clump_ref ref) {
    clump_finding f[4];
    uint64_t count = 0, lost = 7;
    CHECK_OK(on, clump_heap_take_findings(heap, f, 4, &count, &lost));
    for (uint32_t i = 0; i < count && i < 4; i++) print_message("    %s\n", f[i].text);
    if (count != 1 || lost) fail_msg("%s: %d findings", kernel, (int)count);
    assert_int_equal(f->kind, kind);
    assert_int_equal(f->count, 1);
    assert_string_equal(f->class_name, class_name);
    assert_int_equal(f->ref, ref);
    return f[0];
}

#endif
