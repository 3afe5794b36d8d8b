/* A saved heap is loaded into one that is made for it. A copy of a heap is saved. */
#include "caller.h"

#define BYTES (16 << 20)

int main(void) {
    clump_quick q;
    CLUMP_CHECK(&q,
                clump_quick_open(
                    &q, &(clump_quick_desc){
                            .schema = "class Body { float x; }",
                            .heap.bytes = BYTES,
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

    clump_context *saver;
    clump_heap *copy;
    uint64_t count = 0;
    const clump_heap_desc desc = {
        .size = sizeof desc, .schema = clump_heap_get_info(q.heap)->schema, .bytes = BYTES};
    fragment_3(&q, &desc, &saver, &copy);
    fragment_4(&q, copy);
    clump_heap_destroy(copy);
    clump_context_destroy(saver);
    q.error.status = CLUMP_ERR_IO;
    fragment_1(q.context, &q.error); /* what was saved can be loaded */
    expect_no_error(&q);
    EXPECT(clump_heap_read_count(q.heap, "Body", &count) == CLUMP_OK && count == 1000);
    remove("bodies.clump");
    return 0;
}
