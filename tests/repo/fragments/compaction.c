/* Three of four fish go; what stays is moved together. */
#include "caller.h"

int main(void) {
    clump_quick q;
    CLUMP_CHECK(&q,
                clump_quick_open(
                    &q, &(clump_quick_desc){
                            .schema = "class Fish { uint age; }",
                            .source = "__kernel void hatch(CLUMP_HEAP) { CLUMP_FOR_EACH_NEW(Fish, "
                                      "self, i) Fish_age(self) = i; }\n"
                                      "__kernel void thin(CLUMP_HEAP) { CLUMP_FOR_EACH(Fish, self) "
                                      "if (Fish_age(self) % 4) Fish_free(self); }\n"}));
    clump_heap_stats before = {.size = sizeof before}, after = {.size = sizeof after};
    make(&q, "Fish", 200000, "hatch");
    all(&q, "thin");
    CLUMP_CHECK(&q, clump_heap_read_stats(q.heap, &before, NULL, 0));
    fragment_1(q.heap);
    CLUMP_CHECK(&q, clump_heap_read_stats(q.heap, &after, NULL, 0));
    expect_no_error(&q);
    EXPECT(after.objects == 50000 && before.fragmentation > 0.5 && after.fragmentation < 0.1);
    return 0;
}
