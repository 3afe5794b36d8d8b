/* What a block has in stripes, by its record, is what the list of slots deals out: on devices,
 * where holes and rows that follow each other lie in stripe after stripe. (The heaps of tiny_heap.h
 * deal by rules of their own.)
 *
 * Read first: cl/core/reserve.clh.
 */
#include <stdio.h>
#include <stdlib.h>

#define HOSTED_SPANS_AS_ON_DEVICES
#define CLUMPI_HEADER_AT 1u
#include "tests/protocol/hosted.h"

static inline ulong hosted_op(enum hosted_kind kind, void *cell, ulong value, ulong expected,
                              hosted_site site) {
    (void)kind, (void)cell, (void)value, (void)expected, (void)site;
    abort();
}
static inline uint hosted_thread(void) {
    return 0;
}

#define ROWS 300u
static uchar named[ROWS * 64u]; /* how often the spans name each slot of the reservation */

/* Compare one record. Returns 0 if it is wrong. */
static int check(clumpi_striped b, uint stripes) {
    uint holes = b.counts >> 16, slots = b.counts & 0xffffu, total = 0;
    memset(named, 0, sizeof named);
    for (uint i = 0; i < clumpi_spans(b); i++) {
        clumpi_span s = clumpi_span_of(b, stripes, i);
        for (uint at = s.from; at < s.to; at++, total++) {
            uint number =
                (at / 64u * stripes + s.stripe) * 64u + at % 64u; /* as clumpi_dealt_slot() */
            if (s.stripe >= stripes || number >= sizeof named || named[number]++) return 0;
        }
    }
    for (uint i = 0; i < holes; i++) total -= named[b.first_hole + i] == 1;
    for (uint i = 0; i < slots; i++) total -= named[b.first_row * 64u + i] == 1;
    return total == 0;
}

int main(void) {
    uint records = 0;
    for (uint stripes = 1; stripes <= 64; stripes *= 2)
        for (uint first_hole = 0; first_hole < 200; first_hole += 7)
            for (uint holes = 0; holes < 320; holes += holes < 130 ? 1 : 21)
                for (uint rows = 0; rows <= 64; rows += rows < 3 ? 1 : 61) {
                    uint first_row = (first_hole + holes + 63u) / 64u + first_hole % 5u;
                    clumpi_striped b = {first_hole, first_row, holes << 16 | rows * 64u};
                    records++;
                    if (check(b, stripes)) continue;
                    printf("%u stripes, holes %u from %u, rows %u from %u\n", stripes, holes,
                           first_hole, rows, first_row);
                    return 1;
                }
    printf("%u records\n", records);
    return 0;
}
