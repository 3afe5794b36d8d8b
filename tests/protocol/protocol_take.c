/* How much is taken back from the stripes of other classes: of those who run dry together one takes
 * half, and all stripes of a class get the same limit, wherever each of them is. The other tests of
 * the protocol see only that what was taken back is room, and that nobody who needs room goes
 * without.
 *
 * Read first: cl/core/reserve.clh, tiny_heap.h.
 */
#include <stdio.h>

#include "tests/protocol/tiny_heap.h"

static inline uint hosted_thread(void) {
    return 0;
}

static inline ulong hosted_op(enum hosted_kind kind, void *cell, ulong value, ulong expected,
                              hosted_site site) {
    uint *word = cell, old = *word;
    ulong *word64 = cell, old64 = *word64;
    switch (kind) {
    case HOSTED_LOAD: return old;
    case HOSTED_CAS:
        if (old == (uint)expected) *word = (uint)value;
        return old;
    case HOSTED_LOAD64: return old64;
    case HOSTED_CAS64:
        if (old64 == expected) *word64 = value;
        return old64;
    default: printf("FAILED: %s does more than lower limits\n", site.function); return 0;
    }
}

enum { STRIPES = TINY_STRIPES, CLASSES = 3 };
static tiny_heap heap;
static uint failures;

static clumpi_stripe *stripe_of(uint class_id, uint s) {
    return tiny_stripes(&heap, class_id) + s;
}

/* All stripes of classes 1 and 2 end at `limit`; the second one of class 1 is at 100. */
static void begin(uint limit) {
    tiny_spec spec = {.first_block = 1,
                      .blocks = 2,
                      .block_granules = 2,
                      .class_count = CLASSES,
                      .per_row = 2,
                      .classes = {{1, 2}, {1, 2}, {1, 2}},
                      .stripes = STRIPES};
    if (!tiny_make(&heap, &spec)) printf("FAILED: the heap does not fit\n"), failures++;
    for (uint id = 1; id < CLASSES; id++) {
        clumpi_reservation *r = &tiny_view(&heap).classes[id].reserved;
        r->left = 1;
        r->keep = limit;
        for (uint s = 0; s < STRIPES; s++) {
            stripe_of(id, s)->limit = limit;
            stripe_of(id, s)->next = id == 1 ? 100 * s : 0;
        }
    }
}

static void expect(const char *when, uint class_id, uint s, uint limit) {
    if (stripe_of(class_id, s)->limit == limit) return;
    printf("FAILED: %s: stripe %u of class %u ends at %u, expected %u\n", when, s, class_id,
           stripe_of(class_id, s)->limit, limit);
    failures++;
}

static void expect_all(const char *when, uint limit) {
    for (uint id = 1; id < CLASSES; id++)
        for (uint s = 0; s < STRIPES; s++) {
            uint next = stripe_of(id, s)->next;
            expect(when, id, s, limit > next ? limit : next);
        }
}

int main(void) {
    clumpi_home home = tiny_home(&heap);
    begin(1024);
    clumpi_take_back(home, 3, 0, 0);
    expect_all("the first", 512);
    clumpi_take_back(home, 3, 0, 0);
    clumpi_take_back(home, 3, 0, 0);
    expect_all("others whose sweeps were under way", 512);
    clumpi_take_back(home, 3, 1, 0);
    expect_all("one who swept since then", 256);
    stripe_of(1, 1)->limit = 1024; /* whoever took back was stopped before this one */
    clumpi_take_back(home, 3, 1, 0);
    expect_all("others finish what was begun", 256);
    clumpi_take_back(home, 3, 2, 1);
    expect_all("all", 0);

    begin(1024);
    clumpi_take_back(home, 1, 0, 0);
    expect("for the class itself", 1, 0, 1024);
    expect("from the other one", 2, 0, 512);

    begin(1024);
    stripe_of(1, 0)->next = 1000; /* the first stripe is far ahead: what it has left counts */
    clumpi_take_back(home, 3, 0, 0);
    expect("the first stripe is ahead", 1, 1, 960);
    expect("the first stripe is ahead", 1, 0, 1000);
    return failures != 0;
}
