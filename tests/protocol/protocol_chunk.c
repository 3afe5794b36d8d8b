/* How the numbering kernels deal out blocks to work-groups: contiguous chunks in order that leave none
 * out, none larger than an equal share rounded up. The other tests see only that all are taken.
 *
 * Read first: cl/scan.clh, hosted.h.
 */
#include <stdio.h>

#define __global
#define __local
#define CLK_LOCAL_MEM_FENCE 0
#define CLUMPI_ROW_PER_ITEM 1

#include "tests/protocol/hosted.h"

static uint this_group, group_count;
static inline ulong get_group_id(uint dimension) {
    return dimension ? 0 : this_group;
}
static inline ulong get_num_groups(uint dimension) {
    return dimension ? 1 : group_count;
}
static inline ulong get_local_id(uint dimension) {
    return (void)dimension, 0;
}
static inline ulong get_local_size(uint dimension) {
    return (void)dimension, 1;
}
static inline uint atomic_min(uint *word, uint value) {
    uint old = *word;
    *word = min(old, value);
    return old;
}

#include "cl/core/scan.clh"

static inline uint hosted_thread(void) {
    return 0;
}

static inline ulong hosted_op(enum hosted_kind kind, void *cell, ulong value, ulong expected,
                              hosted_site site) {
    (void)kind, (void)cell, (void)value, (void)expected, (void)site;
    return 0;
}

static uint check(uint begin, uint end) {
    uint at = begin, share = (end - begin + group_count - 1) / group_count, failures = 0;
    for (this_group = 0; this_group < group_count; this_group++) {
        clumpi_range r = clumpi_chunk(begin, end);
        if (r.begin == at && r.end >= r.begin && r.end - r.begin <= share) {
            at = r.end;
            continue;
        }
        printf("FAILED: of %u .. %u group %u of %u has %u .. %u, expected %u and on, at most %u\n",
               begin, end, this_group, group_count, r.begin, r.end, at, share);
        failures++;
        break;
    }
    if (!failures && at != end) {
        printf("FAILED: of %u .. %u %u groups leave out %u and on\n", begin, end, group_count, at);
        failures++;
    }
    return failures;
}

int main(void) {
    static const uint begins[] = {0, 1, 5, 1000, 4000000000u};
    uint failures = 0;
    for (uint b = 0; b < 5; b++)
        for (uint count = 0; count < 300 && failures < 10; count++)
            for (group_count = 1; group_count <= 40; group_count++)
                failures += check(begins[b], begins[b] + count);
    return failures != 0;
}
