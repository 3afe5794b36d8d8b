/* Worlds whose animals were made in turns; afterwards those of each world are side by side. */
#include "caller.h"

enum { WORLDS = 60, ANIMALS = WORLDS * 10 + WORLDS * (WORLDS - 1) / 2 };

static unsigned runs_of_worlds(clump_quick *q) {
    static clump_ref worlds[ANIMALS];
    uint64_t count;
    unsigned runs = 0;
    CLUMP_CHECK(q, clump_heap_read_field(q->heap, "Animal", "world", 0, sizeof *worlds, worlds,
                                         ANIMALS, &count));
    EXPECT(count == ANIMALS);
    for (unsigned i = 0; i < ANIMALS; i++) runs += !i || worlds[i] != worlds[i - 1];
    return runs;
}

int main(void) {
    clump_quick q;
    CLUMP_CHECK(&q, clump_quick_open(&q, &(clump_quick_desc){.schema = text_of("page.schema"),
                                                             .source = text_of("page.cl")}));
    make(&q, "World", WORLDS, "make_worlds");
    all(&q, "make_animals");
    fragment_1(q.heap);
    expect_no_error(&q);
    EXPECT(runs_of_worlds(&q) == WORLDS);
    return 0;
}
