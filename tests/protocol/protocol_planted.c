/* Faults planted in the protocol must be found by the model checker.
 *
 * For each fault: copy the device sources to a folder in the current one, replace a piece of text
 * that must occur exactly once, compile protocol_explore.c against the copy, run it ("quick"), and
 * demand that it reports a fault. Replacing text keeps the production sources free of test switches,
 * and a source that changed under a fault makes this test fail instead of testing nothing.
 *
 * The compiler is $CC, or cc.
 */
#include "tests/protocol/planted.h"

static const fault faults[] = {
    {"re-read dropped in agree",
     {{"core/bitmap.clh", "if (now == truth) return crossed;", "(void)now; return crossed;"}}},
    {"fence dropped in agree",
     {{"core/bitmap.clh", "        CLUMPI_FENCE();\n        uint now", "uint now"}}},
    {"fence dropped before agree", {{"core/bitmap.clh", "CLUMPI_FENCE_RELEASE();", ""}}},
    {"upper hint not told that its word became zero or not",
     {{"core/bitmap.clh", "crossed |= (old & ~bit) == 0;", "crossed = 0;"}}},
    {"active hints counted without looking at the old word",
     {{"core/bitmap.clh", "if (((old & bit) != 0) != (truth != 0)) {", "{"}}},
    {"bit set before the credit is held",
     {{"core/block.clh", "uint old = CLUMPI_ADD(&v->states[block], want);",
       "CLUMPI_GLOBAL clumpi_word *early = v->bits +\n"
       "    (ulong)block * v->header->block_granules * CLUMPI_WORDS_PER_ROW;\n"
       "clumpi_word bit = ~CLUMPI_BITS_LOAD(early);\n"
       "bit &= 0 - bit;\n"
       "if (bit) bit &= ~CLUMPI_BITS_CLAIM(early, bit);\n"
       "uint old = CLUMPI_ADD(&v->states[block], want);\n"
       "if (bit) CLUMPI_BITS_RELEASE(early, bit);\n"}}},
    {"credit granted by what was read before",
     {{"core/block.clh", "uint old = CLUMPI_ADD(&v->states[block], want);",
       "uint old = seen; CLUMPI_ADD(&v->states[block], want);"}}},
    {"surplus credits not returned",
     {{"core/block.clh", "if (kept < want) clumpi_block_return(v, block, want - kept);", ""}}},
    {"retirement without compare and swap",
     {{"core/block.clh", "if (CLUMPI_CAS(&v->states[block], empty, 0) != empty) return 0;",
       "if (CLUMPI_LOAD(&v->states[block]) != empty) return 0;\nCLUMPI_STORE(&v->states[block], "
       "0);"}}},
    {"no retirement",
     {{"core/block.clh", "if (clumpi_block_retire(v, block, class_id)) return;", ""}}},
    {"open without compare and swap",
     {{"core/block.clh", "uint seen = CLUMPI_CAS(&v->states[block], state, opened);",
       "uint seen = CLUMPI_LOAD(&v->states[block]);\n"
       "if (seen == state) CLUMPI_STORE(&v->states[block], opened);"}}},
    {"open forgets credits of late comers",
     {{"core/block.clh", "(class_id << CLUMPI_CLASS_SHIFT) + state + want;",
       "(class_id << CLUMPI_CLASS_SHIFT) + want;"}}},
    {"hint not updated when a block became full",
     {{"core/block.clh",
       "if (had < limit && had + want >= limit) clumpi_hint_agree(v, kind, 0, block);",
       "(void)limit;"}}},
    {"hint not updated when a full block got room",
     {{"core/block.clh",
       "clumpi_hint_agree(v, class_id, 0, block);\n        clumpi_room_appeared(v);",
       "clumpi_room_appeared(v);"}}},
    {"epoch not moved when a full block got room",
     {{"core/block.clh",
       "clumpi_hint_agree(v, class_id, 0, block);\n        clumpi_room_appeared(v);",
       "clumpi_hint_agree(v, class_id, 0, block);"}}},
    {"epoch not moved when a block was freed",
     {{"core/block.clh", "clumpi_room_appeared(v);\n    return 1;", "return 1;"}}},
    {"a claim takes slots that others have",
     {{"core/block.clh", "clumpi_word got = chosen & ~taken;", "clumpi_word got = chosen;"}}},
    {"free clears the bit after returning the credit",
     {{"core/alloc.clh", "clumpi_word old = CLUMPI_BITS_RELEASE(p, part),",
       "clumpi_word old = CLUMPI_BITS_LOAD(p),"},
      {"core/alloc.clh", "if (freed) clumpi_block_return(v, place.block, freed);",
       "if (freed) clumpi_block_return(v, place.block, freed);\n"
       "for (uint sub = 0; sub < CLUMPI_WORDS_PER_ROW; sub++)\n"
       "    CLUMPI_BITS_RELEASE(v->bits + (ulong)granule * CLUMPI_WORDS_PER_ROW + sub,\n"
       "                        (clumpi_word)(bits >> (sub * (CLUMPI_WORD_BITS & 63u))));"}}},
    {"double free not noticed",
     {{"core/alloc.clh", "freed += clumpi_popcount(part & old);",
       "freed += clumpi_popcount(part);"}}},
    {"null without a sweep",
     {{"core/alloc.clh", "return clumpi_sweep(v, shape, want, seed);",
       "clumpi_grant none = {0, 0, 0, 0};\nreturn none;"}}},
    {"sweep gives up at a block that it lost",
     {{"core/alloc.clh", "*unsure = 1;\n    return grant;",
       "*unsure = *unsure || kind == 0;\n    return grant;"}}},
    {"sweep reads the states before the epoch",
     {{"core/alloc.clh", "CLUMPI_FENCE(); /* the states", "/* the states"}}},
};

static const char *const copied[] = {"core/layout.h", "core/prelude.clh", "core/bitmap.clh",
                                     "core/block.clh", "core/alloc.clh"};

/* Returns 1 if the fault was found. */
static int find_fault(const char *folder, const fault *f) {
    char command[2048];
    const char *cc = getenv("CC");
    if (!write_sources(folder, f, copied, sizeof copied / sizeof copied[0])) return 0;
    snprintf(
        command, sizeof command,
        "%s -std=gnu11 -O1 -w -iquote '%s' -iquote '%s' '%s/tests/protocol/protocol_explore.c' "
        "-o '%s/planted'",
        cc && *cc ? cc : "cc", folder, CLUMP_SOURCE_DIR, CLUMP_SOURCE_DIR, folder);
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
    for (size_t i = 0; i < sizeof faults / sizeof faults[0]; i++) {
        if (argc > 1 && !strstr(faults[i].name, argv[1])) continue;
        tried++;
        missed += !find_fault(folder, &faults[i]);
    }
    snprintf(command, sizeof command, "rm -r '%s'", folder);
    if (shell(command) != 0) abort();
    printf("%zu of %zu faults found\n", tried - missed, tried);
    return missed != 0;
}
