/* A program that is reproducible, and one that is refused. */
#include "caller.h"

int main(void) {
    clump_quick q;
    CLUMP_CHECK(&q, clump_quick_open(&q, &(clump_quick_desc){.schema = "class A { float x; }"}));
    fragment_1(q.heap,
               "__kernel void f(CLUMP_HEAP_NO_ALLOC) { CLUMP_FOR_EACH(A, a) A_x(a) = A_x(a) * 3.0f "
               "+ 1.0f; }\n",
               NULL);
    expect_no_error(&q);
    fragment_1(q.heap,
               "__kernel void f(CLUMP_HEAP_NO_ALLOC) {\n"
               "    CLUMP_FOR_EACH(A, a) A_x(a) = mad(A_x(a), 3.0f, 1.0f);\n"
               "}\n",
               NULL);
    const clump_error *error = clump_context_get_error(q.context);
    EXPECT(error->status == CLUMP_ERR_USAGE && error->line == 2 && strstr(error->message, "mad"));
    return 0;
}
