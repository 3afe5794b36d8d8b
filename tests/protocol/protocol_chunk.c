/* How the numbering kernels deal out blocks to work-groups: contiguous chunks in order that leave
 * none out, none larger than an equal share rounded up; and for the list of objects chunks with
 * equal work. The other tests see only that all are taken.
 *
 * Read first: cl/core/scan.clh, cl/heap/chunk.clh, alone.h.
 */
#include <stdio.h>
#include <string.h>

#define __global
#define __local
#define CLK_LOCAL_MEM_FENCE 0
#define CLUMPI_ROW_PER_ITEM 1

#include "tests/protocol/alone.h"

static uint this_group, group_count;
static inline ulong get_group_id(uint dimension) {
    return dimension ? 0 : this_group;
}
static inline ulong get_num_groups(uint dimension) {
    return dimension ? 1 : group_count;
}
static inline ulong get_global_id(uint dimension) {
    return dimension ? 0 : this_group;
}

static inline uint popcount(uint word) {
    return (uint)__builtin_popcount(word);
}

#include "cl/heap/chunk.clh"

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

/* ---- Chunks with equal work ------------------------------------------------------------------ */

enum { WORDS = 200, HINTS_AT = 4096, SCAN_AT = 8192 };
static _Alignas(128) uchar image[32768];
static uint the_first_block;

/* Tiles of the blocks begin .. end - 1 with these free hints. Where none of a tile's blocks is in
 * use, nor among the `opened` first free ones, it is little work. */
static uint work_of(const uint *hints, uint begin, uint end, uint opened) {
    uint work = 0, before = 0, first = begin / 32, last = (end + 31) / 32;
    for (uint w = 0; w < last; w++) {
        if (w >= first && begin < end)
            work += hints[w] == ~0u && before >= opened ? 1u : CHUNK_FULL;
        before += w * 32 + 32 > the_first_block ? popcount(hints[w]) : 0;
    }
    return work;
}

/* is_known: the list before tells how far blocks are in use; otherwise it tells anything. */
static uint check_work(uint words, uint first_block, uint block_end, uint opened, uint is_known) {
    clumpi_view v = clumpi_view_of(image, 0);
    uint *hints = (uint *)(image + HINTS_AT), at = first_block, failures = 0, used = 0;
    for (uint w = 0; w < words; w++)
        if (hints[w] != ~0u) used = w * 32 + 1; /* one of the tile at least */
    v.header->at_hints = HINTS_AT / CLUMPI_UNIT;
    v.header->at_scan = SCAN_AT / CLUMPI_UNIT;
    v.header->hint_count[0] = words;
    v.header->first_block = first_block;
    v.header->block_end = block_end;
    v.header->scan_groups = group_count;
    v.header->list_opened[0] = 7;
    v.header->list_opened[1] = opened & 1u ? opened : opened / 2;
    for (uint i = 2; i < CLUMPI_LISTS_KEPT; i++) v.header->list_opened[i] = 0;
    if (!(opened & 1u)) v.header->list_opened[2 + opened / 2 % (CLUMPI_LISTS_KEPT - 2)] = opened;
    v.header->list_used[0] = 7;
    v.header->list_used[1] = is_known ? used : 1;
    the_first_block = first_block;
    /* Boundaries are between words, so a group has at most a word more than its share. */
    uint most = work_of(hints, first_block, words * 32, opened) / group_count + 1 + CHUNK_FULL;
    int is_by_work = words - first_block / 32 > group_count;
    for (this_group = 0; this_group < group_count && !failures; this_group++) {
        chunk_scratch scratch;
        clumpi_range r = list_chunk(&v, &scratch, is_known ? 0 : CLUMPI_LIST_ANEW);
        const clumpi_list_chunk *kept = &list_chunks(&v)[this_group];
        uint work = work_of(hints, r.begin, r.end, opened);
        if (r.begin != at || r.end < r.begin || (is_by_work && work > most) ||
            kept->begin != r.begin || kept->end != r.end) {
            printf(
                "FAILED: of %u words, blocks %u .. %u, group %u of %u has %u .. %u with %u "
                "work, expected %u and on, at most %u\n",
                words, first_block, block_end, this_group, group_count, r.begin, r.end, work, at,
                most);
            failures++;
        }
        at = r.end;
    }
    if (v.header->list_opened[0] != 0 || v.header->list_used[0] != 0) {
        printf("FAILED: what the second launch counts does not begin with 0\n");
        failures++;
    }
    if (!failures && at != block_end) {
        printf("FAILED: %u groups end at block %u of %u\n", group_count, at, block_end);
        failures++;
    }
    return failures;
}

/* All free, all in use, in use at the beginning, at random. */
static uint check_patterns(void) {
    uint *hints = (uint *)(image + HINTS_AT), failures = 0, random = 1;
    for (uint pattern = 0; pattern < 4; pattern++)
        for (uint words = 1; words <= WORDS && !failures; words += words < 20 ? 1 : 37)
            for (group_count = 1; group_count <= 40 && !failures; group_count += 3) {
                for (uint w = 0; w < words; w++) {
                    random = random * 1664525u + 1013904223u;
                    hints[w] = pattern == 0       ? ~0u
                               : pattern == 1     ? 0u
                               : pattern == 2     ? (w < words / 8 ? 0u : ~0u)
                               : random >> 9 & 1u ? ~0u
                                                  : random ^ random >> 13;
                }
                uint spare = random % 24u;
                uint opened = random >> 4 & 1u ? random % (words * 32) : 0u;
                uint first =
                    random >> 8 & 7u; /* or in a later word: the heap's tables are before it */
                if (random >> 12 & 1u && words > 2) first += (random >> 13) % (words / 2) * 32;
                failures += check_work(words, first, words * 32 - spare, opened, random >> 9 & 1u);
            }
    return failures;
}

/* A program whose lists reserve as many free blocks again and again, after up to CLUMPI_LISTS_KEPT
 * - 1 lists: never more than expected, once all of them were seen; and what was long ago is
 * forgotten. */
static uint check_memory(void) {
    clumpi_view v = clumpi_view_of(image, 0);
    uint failures = 0;
    for (uint period = 1; period < CLUMPI_LISTS_KEPT; period++) {
        for (uint i = 0; i < CLUMPI_LISTS_KEPT; i++) v.header->list_opened[i] = 0;
        for (uint list = 0; list < 6 * period + CLUMPI_LISTS_KEPT; list++) {
            uint turn = list & 1u, opened = list % period ? 0u : list < 4 * period ? 5000u : 100u;
            uint expected = list_expected(&v, turn);
            uint is_wrong = list >= period && expected < opened;
            is_wrong |= list >= 4 * period + CLUMPI_LISTS_KEPT && expected > 100;
            if (is_wrong) {
                printf("FAILED: of every %u lists, number %u reserves %u blocks, expected %u\n",
                       period, list, opened, expected);
                failures++;
            }
            v.header->list_opened[turn] = opened;
            list_remember(&v, turn);
        }
    }
    return failures;
}

int main(void) {
    static const uint begins[] = {0, 1, 5, 1000, 4000000000u};
    uint failures = check_patterns() + check_memory();
    for (uint b = 0; b < 5; b++)
        for (uint count = 0; count < 300 && failures < 10; count++)
            for (group_count = 1; group_count <= 40; group_count++)
                failures += check(begins[b], begins[b] + count);
    return failures != 0;
}
