/* A chain of ten nodes hangs on a World that a handle holds; five nodes are garbage. */
#include "caller.h"

int main(void) {
    clump_quick q;
    CLUMP_CHECK(
        &q,
        clump_quick_open(
            &q,
            &(clump_quick_desc){
                .schema = "class World { ref Node first; } class Node { ref Node next; }",
                .source = "__kernel void node(CLUMP_HEAP) { CLUMP_FOR_EACH_NEW(Node, self, i) "
                          "Node_next(self) = Node_null; }\n"
                          "__kernel void world(CLUMP_HEAP) { CLUMP_FOR_EACH_NEW(World, self, i) "
                          "World_first(self) = Node_null; }\n"
                          "__kernel void chain(CLUMP_HEAP_NO_ALLOC, CLUMP_NUMBERS) {\n"
                          "    CLUMP_FOR_EACH_NUMBERED(Node, self, i) if (i < 9) Node_next(self) = "
                          "CLUMP_AT(Node, i + 1);\n"
                          "    CLUMP_FOR_EACH(World, self) World_first(self) = CLUMP_AT(Node, 0);\n"
                          "}\n"}));
    make(&q, "Node", 15, "node");
    make(&q, "World", 1, "world");
    all(&q, "chain");
    clump_ref world;
    uint64_t count;
    clump_handle handle;
    CLUMP_CHECK(&q, clump_heap_read_refs(q.heap, "World", &world, 1, &count));
    CLUMP_CHECK(&q, clump_heap_create_handle(q.heap, world, &handle));
    fragment_1(q.heap);
    expect_no_error(&q);
    EXPECT(count_of(&q, "World") == 1 && count_of(&q, "Node") == 10);
    return 0;
}
