/* Faults planted in the protocol must be found by the model checker.
 *
 * For each fault: copy the device sources to a folder in the current one, replace a piece of text
 * that must occur exactly once, compile protocol_explore.c or protocol_runs.c against the copy, run
 * it ("quick"), and demand that it reports a fault. Replacing text keeps the production sources
 * free of test switches, and a source that changed under a fault makes this test fail instead of
 * testing nothing.
 *
 * The compiler is $CC, or cc.
 */
#include "tests/protocol/planted.h"

static const fault faults[] = {
    {"re-read dropped in agree",
     {{"core/bitmap.clh", "if (now == truth) return crossed;", "(void)now; return crossed;"}}},
    {"fence dropped in agree",
     {{"core/bitmap.clh", "        CLUMPI_FENCE();\n        uint now", "uint now"}}},
    {"fence dropped before agree", {{"core/bitmap.clh", "CLUMPI_FENCE_ACQ_REL();", ""}}},
    {"upper hint not told that its word became zero or not",
     {{"core/bitmap.clh",
       "if (!clumpi_hint_agree_level(h, set, l, index) &&\n"
       "            (l + 1u == clumpi_header_of(h)->hint_levels || clumpi_hint_agrees(h, set, l + "
       "1u, "
       "index >> 5)))",
       "if (clumpi_hint_agree_level(h, set, l, index) || 1)"}}},
    {"bit set before the credit is held",
     {{"core/block.clh", "uint old = CLUMPI_ADD(clumpi_state_of(h, block), 1);",
       "CLUMPI_GLOBAL clumpi_word *early = clumpi_bits_of(h, block * "
       "CLUMPI_BLOCK_GRANULES(clumpi_header_of(h)));\n"
       "clumpi_word bit = ~CLUMPI_BITS_LOAD(early);\n"
       "bit &= 0 - bit;\n"
       "if (bit) bit &= ~CLUMPI_BITS_CLAIM(early, bit);\n"
       "uint old = CLUMPI_ADD(clumpi_state_of(h, block), 1);\n"
       "if (bit) CLUMPI_BITS_RELEASE(early, bit);\n"}}},
    {"credit granted by what was read before",
     {{"core/block.clh", "uint old = CLUMPI_ADD(clumpi_state_of(h, block), 1);",
       "uint old = CLUMPI_LOAD(clumpi_state_of(h, block)); CLUMPI_ADD(clumpi_state_of(h, block), "
       "1);"}}},
    {"a credit too many not returned",
     {{"core/block.clh", "if (!kept) clumpi_block_return(h, block, 1);", ""}}},
    {"retirement without compare and swap",
     {{"core/block.clh", "if (CLUMPI_CAS(clumpi_state_of(h, block), empty, 0) != empty) return 0;",
       "if (CLUMPI_LOAD(clumpi_state_of(h, block)) != empty) return 0;\n"
       "CLUMPI_STORE(clumpi_state_of(h, block), 0);"}}},
    {"no retirement", {{"core/block.clh", "if (clumpi_block_retire(h, block, old)) return;", ""}}},
    {"open without compare and swap",
     {{"core/block.clh",
       "uint seen = CLUMPI_CAS(clumpi_state_of(h, block), state,\n"
       "                               (class_id << CLUMPI_CLASS_SHIFT) + state + 1u);",
       "uint seen = CLUMPI_LOAD(clumpi_state_of(h, block));\n"
       "if (seen == state)\n"
       "    CLUMPI_STORE(clumpi_state_of(h, block), (class_id << CLUMPI_CLASS_SHIFT) + state + "
       "1u);"}}},
    {"open forgets credits of late comers",
     {{"core/block.clh", "(class_id << CLUMPI_CLASS_SHIFT) + state + 1u);",
       "(class_id << CLUMPI_CLASS_SHIFT) + 1u);"}}},
    {"hint not updated when a block became full",
     {{"core/block.clh", "        clumpi_hint_agree(h, kind, 0, block);\n    if (!kept)",
       ";\n    if (!kept)"}}},
    {"hint not updated when a full block got room",
     {{"core/block.clh",
       "clumpi_hint_agree(h, class_id, 0, block);\n        clumpi_room_appeared(h);",
       "clumpi_room_appeared(h);"}}},
    {"epoch not moved when a full block got room",
     {{"core/block.clh",
       "clumpi_hint_agree(h, class_id, 0, block);\n        clumpi_room_appeared(h);",
       "clumpi_hint_agree(h, class_id, 0, block);"}}},
    {"epoch not moved when a block was freed",
     {{"core/block.clh", "clumpi_room_appeared(h);\n    return 1;", "return 1;"}}},
    {"a claim takes a slot that another has",
     {{"core/block.clh",
       "!(CLUMPI_BITS_CLAIM(bits + clumpi_word_at(word, row_granules), chosen) & chosen))",
       "(CLUMPI_BITS_CLAIM(bits + clumpi_word_at(word, row_granules), chosen), 1))"}}},
    {"free clears the bit after returning the credit",
     {{"core/alloc.clh",
       "clumpi_word old = CLUMPI_BITS_RELEASE(clumpi_bits_of(h, granule) + sub, part);",
       "clumpi_word old = CLUMPI_BITS_LOAD(clumpi_bits_of(h, granule) + sub);"},
      {"core/alloc.clh", "    if (kind < first || kind > last)\n",
       "    for (uint sub = 0; sub < CLUMPI_WORDS_PER_ROW; sub++)\n"
       "        CLUMPI_BITS_RELEASE(clumpi_bits_of(h, granule) + sub,\n"
       "                            (clumpi_word)(bits >> (sub * (CLUMPI_WORD_BITS & 63u))));\n"
       "    if (kind < first || kind > last)\n"}}},
    {"double free not noticed",
     {{"core/alloc.clh", "freed |= (ulong)(part & old) <<", "freed |= (ulong)part <<"}}},
    {"a free by an old class is not undone",
     {{"core/alloc.clh", "        clumpi_free_undo(h, granule, freed,",
       "        if (0) clumpi_free_undo(h, granule, freed,"}}},
    {"a free by an old class refused, though the class that the block has is allowed",
     {{"core/alloc.clh", "    if (kind < first || kind > last)\n", "    if (kind != class_id)\n"}}},
    {"a hint drawn from beyond the lowest words",
     {{"core/bitmap.clh", "* words >> 32);", "* (words + 1u) >> 32);"}}},
    {"the bit that a number chooses counted from another word",
     {{"core/bitmap.clh", "if (seen[k]) return at[k] << 5 |", "if (seen[k]) return at[0] << 5 |"}}},
    {"null because a sweep found nothing before room appeared",
     {{"core/alloc.clh", "if (ref || exhausted == epoch) return ref;",
       "if (ref || exhausted <= epoch) return ref;"}}},
    {"a block taken for one of the class without a look at what it became",
     {{"core/block.clh", "uint kept = clumpi_class_of_state(old) == class_id && had < capacity;",
       "uint kept = had < capacity;"}}},
    {"null without a sweep",
     {{"core/alloc.clh", "    return clumpi_sweep(h, class_id, seed);", "    return 0;"}}},
    {"sweep gives up at a block that it lost",
     {{"core/alloc.clh", "sight->unsure = 1;\n    return got;",
       "sight->unsure |= kind == 0;\n    return got;"}}},
    {"a quick sweep says that there is no room",
     {{"core/alloc.clh", "        sight->unsure |= is_left_out;\n", ""}}},
    {"sweep reads the states before the epoch",
     {{"core/alloc.clh", "CLUMPI_FENCE(); /* the states", "/* the states"}}},
    /* Reservations. */
    {"take-back by a store",
     {{"core/reserve.clh",
       "if (CLUMPI_CAS64(s, word, (ulong)next << 32 | max(next, keep)) == word) return;",
       "CLUMPI_CAS64(s, CLUMPI_LOAD64(s), (ulong)next << 32 | max(next, keep)); return;"}}},
    {"a take-back reaches below next",
     {{"core/reserve.clh", "| max(next, keep)) == word) return;",
       "| max(next & ~63u, keep)) == word) return;"}}},
    {"what is taken back is never settled",
     {{"core/alloc.clh", "    if (state & CLUMPI_STRIPED) state =", "    if (0) state ="}}},
    {"a block is settled while slots of it can be had",
     {{"core/reserve.clh", "if (n.left || credits == 0) return state;",
       "if (credits == 0) return state;"}}},
    {"settled without compare and swap",
     {{"core/reserve.clh", "uint seen = CLUMPI_CAS(clumpi_state_of(h, block), state, now);",
       "uint seen = CLUMPI_LOAD(clumpi_state_of(h, block));\n"
       "        if (seen == state) CLUMPI_STORE(clumpi_state_of(h, block), now);"}}},
    {"one credit too few taken off",
     {{"core/reserve.clh", "+ credits - n.revoked;", "+ credits - n.revoked + (n.revoked > 1u);"}}},
    {"a settled block without credits keeps its class",
     {{"core/reserve.clh", "uint now = credits == n.revoked ? 0u :", "uint now ="}}},
    {"active hint not updated when a block was settled",
     {{"core/reserve.clh", "if (n.revoked) clumpi_hint_agree(h, class_id, 0, block);", ""}}},
    {"a block stays in stripes when it is settled",
     {{"core/reserve.clh", "(class_id << CLUMPI_CLASS_SHIFT) + credits - n.revoked;",
       "state - n.revoked;"}}},
    {"a block in stripes is not retired",
     {{"core/block.clh", "uint empty = state & ~CLUMPI_CREDIT_MASK;",
       "uint empty = clumpi_class_of_state(state) << CLUMPI_CLASS_SHIFT;"}}},
    {"null without a look at what is reserved for others",
     {{"core/alloc.clh", "if (sight.reserved) clumpi_take_back(", "if (0) clumpi_take_back("}}},
    {"null although slots of other classes can be taken back",
     {{"core/alloc.clh", "if (!sight.unsure && !sight.reserved) {", "if (!sight.unsure) {"}}},
    {"blocks of others are not looked at for what they have in stripes",
     {{"core/alloc.clh", "(is_ours | is_empty | is_striped) << k;",
       "(is_ours | (is_empty | (is_striped & 0u))) << k;"}}},
    {"null without a look at what is reserved for the class",
     {{"core/alloc.clh", "uint block = clumpi_unreserve_own(h, class_id, seed);",
       "uint block = 0;"},
      {"core/reserve.clh", "    if (CLUMPI_LOAD(&r->left) == 0) return CLUMPI_NONE;",
       "    if (h.heap != 0) return CLUMPI_NONE;"}}},
    {"a reserved slot whose bit was taken is given all the same",
     {{"core/lanes.clh", "return taken >> slot & 1ul ? clumpi_lost(h, class_id, ref) : ref;",
       "return ref;"}}},
    {"the same, from another stripe",
     {{"core/reserve.clh", "    if (taken >> (ref & 63u) & 1ul)", "    if (0)"}}},
    {"the position at the limit is given",
     {{"core/lanes.clh", "if (at >= clumpi_stripe_limit(word)) {",
       "if (at > clumpi_stripe_limit(word)) {"}}},
    {"the position at the limit is given, from another stripe",
     {{"core/reserve.clh", "got.count = got.at < clumpi_stripe_limit(word);",
       "got.count = got.at <= clumpi_stripe_limit(word);"}}},
    {"the slot of a position is in another row",
     {{"core/reserve.clh", "uint row = (position >> 6) * d.stripes + stripe, slot",
       "uint row = (position >> 6) * d.stripes + (stripe ^ (d.stripes - 1u)), slot"}}},
    {"empty rows taken for rows of holes",
     {{"core/reserve.clh", "uint hole = row < d.holes;", "uint hole = row <= d.holes;"}}},
    {"the entry of another empty row",
     {{"core/reserve.clh", "d.empty_from + row]", "d.empty_from + (row ^ 1u)]"}}},
    {"empty rows counted from the first one",
     {{"core/reserve.clh", "d.empty_from + row]", "d.empty_from + row - d.holes]"}}},
    {"all holes of a row counted from its first entry",
     {{"core/reserve.clh", "(CLUMPI_ROW_SLOTS / CLUMPI_HOLES) + slot / CLUMPI_HOLES;",
       "(CLUMPI_ROW_SLOTS / CLUMPI_HOLES);"}}},
    {"a walk over holes goes on too late",
     {{"core/reserve.clh", "is_found = left < count;", "is_found = left <= count;"}}},
    {"a walk over holes stays in its second row",
     {{"core/reserve.clh", "min(partial[at + i + k], last)",
       "min(partial[at + (i + k != 0)], last)"}}},
    {"a walk over holes ends after its first look",
     {{"core/reserve.clh", "i < CLUMPI_ROW_SLOTS + CLUMPI_HOLES;", "i < CLUMPI_LOOK;"}}},
    {"a walk over holes forgets where its row begins",
     {{"core/reserve.clh", "left = (entry & 63u) + number,", "left = number,"}}},
    {"a walk over holes in the bitmaps as they are",
     {{"core/reserve.clh", "seen[k] = ~masks[rows_seen[k]];",
       "seen[k] = ~CLUMPI_BITS_LOAD(clumpi_bits_of(h, rows[rows_seen[k]]));"}}},
    {"next set back to the beginning",
     {{"core/reserve.clh", "(ulong)max(CLUMPI_NEXT_FAR / 2u, limit) << 32 | limit",
       "(ulong)limit"}}},
    {"only the first stripe looked at",
     {{"core/reserve.clh", "for (uint k = 0; k < r->stripes; k++) {",
       "for (uint k = 0; k < 1u; k++) {"}}},
    {"stripes marked as empty that are not",
     {{"core/reserve.clh",
       "        if (clumpi_stripe_next(word) < clumpi_stripe_limit(word)) return at;",
       "        if (clumpi_stripe_next(word) + 1u < clumpi_stripe_limit(word)) return at;"}}},
};

/* Of runs, which protocol_runs.c explores. */
static const fault run_faults[] = {
    {"a run takes slots that others have",
     {{"core/runs.clh", "if (got == bits) return 1;", "if (got) return 1;"}}},
    {"bits stay of a run that is not had",
     {{"core/runs.clh", "    clumpi_row_release(row, got);\n", ""}}},
    {"bits of others are cleared with those of a run that is not had",
     {{"core/runs.clh", "clumpi_row_release(row, got);", "clumpi_row_release(row, bits);"}}},
    {"a block stays closed though bits were given back",
     {{"core/runs.clh",
       "    clumpi_run_returned(h, class_id, granule / "
       "CLUMPI_BLOCK_GRANULES(clumpi_header_of(h)));\n",
       ""}}},
    {"credits of a run by a store",
     {{"core/runs.clh",
       "uint seen = CLUMPI_CAS(clumpi_state_of(h, block), state, (class_id << CLUMPI_CLASS_SHIFT) "
       "+ now);",
       "uint seen = CLUMPI_LOAD(clumpi_state_of(h, block));\n"
       "        if (seen == state) CLUMPI_STORE(clumpi_state_of(h, block), (class_id << "
       "CLUMPI_CLASS_SHIFT) + now);"}}},
    {"a run forgets credits of late comers",
     {{"core/runs.clh", "uint now = credits + got * count;",
       "uint now = (kind ? credits : 0u) + got * count;"}}},
    {"a run in a block of another class",
     {{"core/runs.clh", "kind != class_id || credits + count > capacity",
       "credits + count > capacity"}}},
    {"free hint not updated when a run took a block",
     {{"core/runs.clh", "if (kind == 0) clumpi_hint_agree(h, 0, 0, block);", ""}}},
    {"active hint not updated by a run",
     {{"core/runs.clh",
       "if (kind == 0 || now == capacity) clumpi_hint_agree(h, class_id, 0, block);", ""}}},
    {"slots that are not neighbours",
     {{"core/runs.clh", "i < 6u && begins; i++)", "i < 3u && begins; i++)"}}},
    {"credits kept in a row that had not so many together",
     {{"core/runs.clh", "    clumpi_run_return(h, class_id, block, count);\n    return 0;",
       "    return 0;"}}},
    {"blocks kept that were got in vain",
     {{"core/runs.clh",
       "for (uint k = n + 1u; k < blocks; k++) clumpi_run_return(h, class_id, first + k, "
       "capacity);",
       ""}}},
    {"blocks not asked for",
     {{"core/runs.clh", "if (clumpi_run_credits(h, class_id, first + n, capacity, 1)) continue;",
       "if (clumpi_run_credits(h, class_id, first + n, capacity, 1) || n == 0) continue;"}}},
    {"the last block of a run keeps all credits",
     {{"core/runs.clh",
       "if (last < 63u) clumpi_run_return(h, class_id, first + blocks - 1u, 63u - last);", ""}}},
    {"a run freed by what was read",
     {{"core/runs.clh",
       "if (!(CLUMPI_BITS_RELEASE(begins + (ref & 63u) / CLUMPI_WORD_BITS, bit) & bit)) return 0;",
       "if (!(CLUMPI_BITS_LOAD(begins + (ref & 63u) / CLUMPI_WORD_BITS) & bit)) return 0;\n"
       "    (void)CLUMPI_BITS_RELEASE(begins + (ref & 63u) / CLUMPI_WORD_BITS, bit);"}}},
    {"the end of a run stays",
     {{"core/runs.clh",
       "if (!last) return 1;\n    clumpi_row_release(clumpi_run_ends(h, class_id, last), 1ul << "
       "(last "
       "& 63u));",
       "if (!last) return 1;"}}},
    {"credits of a run before its bits",
     {{"core/runs.clh",
       "clumpi_row_release(clumpi_bits_of(h, granule), clumpi_slots(slot, to));\n"
       "        clumpi_run_return(h, class_id, block, to - slot + 1u);",
       "clumpi_run_return(h, class_id, block, to - slot + 1u);\n"
       "        clumpi_row_release(clumpi_bits_of(h, granule), clumpi_slots(slot, to));"}}},
    {"a trimmed run without an end",
     {{"core/runs.clh", "clumpi_row_set(clumpi_run_ends(h, class_id, now), 1ul << (now & 63u));\n",
       ""}}},
    {"a block closed without another look",
     {{"core/runs.clh",
       "if (!clumpi_run_is_too_short(h, class_id, block, count)) CLUMPI_AND(closed, ~bit);", ""}}},
    {"a block stays closed",
     {{"core/runs.clh", "& bit) CLUMPI_AND(any + count, ~bit);",
       "& bit) CLUMPI_OR(any + count, bit);"}}},
    {"a block is opened before slots are given back",
     {{"core/runs.clh",
       "clumpi_block_return(h, block, credits);\n    clumpi_run_returned(h, class_id, block);",
       "clumpi_run_returned(h, class_id, block);\n    clumpi_block_return(h, block, credits);"}}},
    {"closed blocks that others do not know of",
     {{"core/runs.clh", "    CLUMPI_OR(clumpi_run_closed_any(h, class_id, block / 32u), bit);\n",
       ""}}},
    {"fence dropped before it is seen whether a block is closed",
     {{"core/runs.clh", "    CLUMPI_FENCE_BEHIND_CHANGE();\n", ""}}},
    {"fence dropped before blocks are opened",
     {{"core/runs.clh", "    CLUMPI_FENCE(); /* whoever set it has closed the block before */\n",
       ""}}},
    {"fence dropped before another look",
     {{"core/runs.clh",
       "    CLUMPI_FENCE(); /* who gives back what is not seen below sees both, and opens the "
       "block */\n",
       ""}}},
    {"fence dropped before a sweep for a run",
     {{"core/runs.clh",
       "        CLUMPI_FENCE(); /* who gives back what is not seen below sees that, and moves the "
       "epoch */\n",
       ""}}},
    {"fence dropped before blocks are looked for",
     {{"core/runs.clh", "        CLUMPI_FENCE(); /* the states are read after the epoch */\n",
       ""}}},
    {"room for a run does not move the epoch",
     {{"core/runs.clh",
       "CLUMPI_LOAD(&clumpi_header_of(h)->epoch))\n        clumpi_room_appeared(h);",
       "CLUMPI_LOAD(&clumpi_header_of(h)->epoch))\n        return;"}}},
    {"a sweep for a run does not say that it is under way",
     {{"core/runs.clh", "CLUMPI_STORE(&clumpi_class_entry(h, class_id)->swept, epoch);", ""}}},
    {"the epoch of a sweep for a run is read after it",
     {{"core/runs.clh", "taken, &sight)) continue;\n        CLUMPI_STORE(vain, epoch);",
       "taken, &sight)) continue;\n"
       "        CLUMPI_STORE(vain, CLUMPI_LOAD(&clumpi_header_of(h)->epoch));"}}},
    {"trim gives back a slot too many", {{"core/runs.clh", ": now + 1u;", ": now;"}}},
};

static const char *const copied[] = {"core/layout.h",  "core/prelude.clh", "core/bitmap.clh",
                                     "core/block.clh", "core/reserve.clh", "core/alloc.clh",
                                     "core/lanes.clh", "core/runs.clh"};

/* Returns 1 if the test finds the fault. */
static int find_fault(const char *folder, const fault *f, const char *test) {
    char command[2048];
    const char *cc = getenv("CC");
    if (!write_sources(folder, f, copied, sizeof copied / sizeof copied[0])) return 0;
    snprintf(
        command, sizeof command,
        "%s -std=gnu11 -O1 -w -iquote '%s' -iquote '%s' '%s/tests/protocol/%s.c' -o '%s/planted'",
        cc && *cc ? cc : "cc", folder, CLUMP_SOURCE_DIR, CLUMP_SOURCE_DIR, test, folder);
    if (shell(command) != 0) {
        printf("%s: does not compile\n", f->name);
        return 0;
    }
    snprintf(command, sizeof command, "'%s/planted' quick > '%s/output'", folder, folder);
    int status = shell(command);
    if (status != 1) {
        printf("%s: NOT FOUND (exit status %d)\n", f->name, status);
        return 0;
    }
    snprintf(command, sizeof command,
             "printf '%%s: ' '%s'; grep '^FAULT' '%s/output'; "
             "grep -c '^    ' '%s/output' | sed 's/$/ steps/'; grep -A2 '^heap' '%s/output'",
             f->name, folder, folder, folder);
    fflush(stdout);
    return shell(command) == 0;
}

int main(int argc, char **argv) {
    char folder[] = "planted.XXXXXX", command[256];
    if (!mkdtemp(folder)) abort();
    snprintf(command, sizeof command, "mkdir -p '%s/cl/core'", folder);
    if (shell(command) != 0) abort();
    size_t missed = 0, tried = 0;
    const size_t of_explore = sizeof faults / sizeof *faults;
    for (size_t i = 0; i < of_explore + sizeof run_faults / sizeof *run_faults; i++) {
        const fault *f = i < of_explore ? &faults[i] : &run_faults[i - of_explore];
        if (argc > 1 && !strstr(f->name, argv[1])) continue;
        if (!is_tried(folder, f, i, copied, sizeof copied / sizeof *copied, &missed)) continue;
        tried++;
        missed += !find_fault(folder, f, i < of_explore ? "protocol_explore" : "protocol_runs");
    }
    snprintf(command, sizeof command, "rm -r '%s'", folder);
    if (shell(command) != 0) abort();
    printf("%zu faults planted, %zu not found or not fitting\n", tried, missed);
    return missed != 0;
}
