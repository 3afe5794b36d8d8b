/* A thousand bodies from structs. */
#include "caller.h"

int main(void) {
    clump_quick q;
    CLUMP_CHECK(&q, clump_quick_open(
                        &q, &(clump_quick_desc){
                                .schema = "class Body { float3 at; float mass; ref Body next; }"}));
    fragment_1(q.heap);
    static float masses[1000];
    CLUMP_CHECK(
        &q, clump_heap_read_field(q.heap, "Body", "mass", 0, sizeof *masses, masses, 1000, NULL));
    for (int i = 0; i < 1000; i++) EXPECT(masses[i] == 1.0f);
    EXPECT(count_of(&q, "Body") == 1000);
    expect_no_error(&q);
    return 0;
}
