/* A checked heap is made, and nothing is found in it. */
#include "caller.h"

static void tell(const char *text) {
    fprintf(stderr, "%s\n", text);
    exit(1);
}

int main(void) {
    clump_quick q;
    CLUMP_CHECK(&q, clump_quick_open(&q, &(clump_quick_desc){.schema = "class Body { float x; }"}));
    fragment_1(q.context, clump_heap_get_info(q.heap)->schema, q.heap, tell);
    expect_no_error(&q);
    return 0;
}
