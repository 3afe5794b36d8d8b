/* Which word of a block's bitmaps the search for a slot takes: of the few that it looks at the
 * first with room. The other tests of the protocol see only that slots are found; from another word
 * it takes more rounds.
 *
 * Read first: cl/core/block.clh, hosted.h.
 */
#include <stdio.h>

#include "tests/protocol/hosted.h"

static inline uint hosted_thread(void) {
    return 0;
}

static inline ulong hosted_op(enum hosted_kind kind, void *cell, ulong value, ulong expected,
                              hosted_site site) {
    (void)value, (void)expected, (void)site;
    if (kind == HOSTED_BITS_LOAD) return *(const clumpi_word *)cell;
    printf("FAILED: looking is more than loading\n");
    return 0;
}

#define WORDS 9u

static ulong random_state = 1;
static ulong random_word(void) {
    random_state = random_state * 6364136223846793005ul + 1442695040888963407ul;
    return random_state ^ random_state >> 29;
}

/* As the comment of clumpi_look() has it. */
static uint expected_word(const clumpi_word *bits, uint words, uint row_granules, uint from) {
    for (uint k = 0; k < CLUMPI_CLAIM_LOOK; k++)
        if (~bits[(from + k) % words * row_granules]) return (from + k) % words;
    return from;
}

int main(void) {
    uint failures = 0, seen[CLUMPI_CLAIM_LOOK] = {0};
    for (uint i = 0; i < 100000 && failures < 10; i++) {
        clumpi_word bits[WORDS * 3], taken = 0;
        uint words = 1 + (uint)(random_word() >> 33) % WORDS;
        uint row_granules = 1 + (uint)(random_word() >> 33) % 3;
        uint from = (uint)(random_word() >> 33) % words;
        for (uint w = 0; w < WORDS * 3; w++) { /* many are full */
            uint kind = (uint)(random_word() >> 33) % 4;
            bits[w] = kind < 2    ? ~0ul
                      : kind == 2 ? ~(1ul << (random_word() >> 33) % 64)
                                  : random_word();
        }
        uint word = clumpi_look(bits, words, row_granules, from, &taken);
        uint right = expected_word(bits, words, row_granules, from);
        seen[(right + words - from) % words]++;
        ulong there = bits[right * row_granules];
        if (word == right && (taken == there || !~there)) continue;
        printf("FAILED: %u words from %u on: word %u, expected %u\n", words, from, word, right);
        failures++;
    }
    for (uint k = 0; k < CLUMPI_CLAIM_LOOK; k++)
        if (!seen[k]) printf("FAILED: the word at %u was never the right one\n", k), failures++;
    return failures != 0;
}
