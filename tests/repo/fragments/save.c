/* A saved heap is loaded into one that is made for it. */
#include "caller.h"

int main(void) {
    clump_quick q;
    CLUMP_CHECK(&q,
                clump_quick_open(
                    &q, &(clump_quick_desc){
                            .schema = "class Body { float x; }",
                            .source = "__kernel void init(CLUMP_HEAP) { CLUMP_FOR_EACH_NEW(Body, "
                                      "self, i) Body_x(self) = i; }"}));
    make(&q, "Body", 1000, "init");
    CLUMP_CHECK(
        &q, clump_heap_save(
                q.heap, &(clump_save_desc){.size = sizeof(clump_save_desc), .path = "bodies.clump"},
                NULL));
    q.error.status = CLUMP_ERR_IO; /* a call that succeeds leaves it */
    fragment_1(q.context, &q.error);
    expect_no_error(&q);
    remove("bodies.clump");
    fragment_1(q.context, &q.error); /* nothing to load: told in the error, and no heap is made */
    EXPECT(strstr(q.error.message, "bodies.clump"));
    return 0;
}
