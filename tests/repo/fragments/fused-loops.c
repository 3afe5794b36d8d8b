/* Kick, drift and reach of the page as one kernel. */
#include "caller.h"

int main(void) {
    clump_quick q;
    CLUMP_CHECK(&q, clump_quick_open(&q, &(clump_quick_desc){.schema = text_of("page.schema"),
                                                             .source = text_of("page.cl")}));
    make(&q, "Body", 10, "make");
    fragment_1(q.heap, q.program, 0.5f);
    float v[10], x[10];
    CLUMP_CHECK(&q, clump_heap_read_field(q.heap, "Body", "v", 0, sizeof *v, v, 10, NULL));
    CLUMP_CHECK(&q, clump_heap_read_field(q.heap, "Body", "x", 0, sizeof *x, x, 10, NULL));
    for (int i = 0; i < 10; i++) EXPECT(v[i] == 0.5f && (x[i] == 0.25f || x[i] == 1.25f));
    expect_no_error(&q);
    return 0;
}
