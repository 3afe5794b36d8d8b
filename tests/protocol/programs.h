/* The heaps and programs that the model checker explores. */
#ifndef CLUMP_TESTS_PROGRAMS_H
#define CLUMP_TESTS_PROGRAMS_H

#include "tests/protocol/explore.h"

/* Blocks 31 and 32 have their hints in different words, so hints have two levels there. From
 * RESERVED_SPECS on slots are reserved. */
#define RESERVED_SPECS 11
static const tiny_spec heap_specs[] = {
    {.name = "one free slot",
     .first_block = 1,
     .blocks = 1,
     .block_granules = 1,
     .per_row = 1,
     .class_count = 1,
     .classes = {{1, 1}}},
    {.name = "one slot, taken",
     .first_block = 1,
     .blocks = 1,
     .block_granules = 1,
     .per_row = 1,
     .class_count = 1,
     .classes = {{1, 1}},
     .filled = {{0, 1, 1}},
     .filled_count = 1,
     .spent = 1},
    {.name = "two free slots",
     .first_block = 1,
     .blocks = 1,
     .block_granules = 1,
     .per_row = 2,
     .class_count = 1,
     .classes = {{1, 1}}},
    {.name = "two slots, one taken",
     .first_block = 1,
     .blocks = 1,
     .block_granules = 1,
     .per_row = 2,
     .class_count = 1,
     .classes = {{1, 1}},
     .filled = {{0, 1, 1}},
     .filled_count = 1,
     .spent = 1},
    {.name = "two slots, both taken",
     .first_block = 1,
     .blocks = 1,
     .block_granules = 1,
     .per_row = 2,
     .class_count = 1,
     .classes = {{1, 1}},
     .filled = {{0, 1, 2}},
     .filled_count = 1,
     .spent = 1},
    {.name = "two classes, free block",
     .first_block = 1,
     .blocks = 1,
     .block_granules = 2,
     .per_row = 1,
     .class_count = 2,
     .classes = {{1, 2}, {2, 1}}},
    {.name = "two classes, one object",
     .first_block = 1,
     .blocks = 1,
     .block_granules = 2,
     .per_row = 1,
     .class_count = 2,
     .classes = {{1, 2}, {2, 1}},
     .filled = {{0, 1, 1}},
     .filled_count = 1,
     .spent = 1},
    {.name = "two blocks in two hint words",
     .first_block = 31,
     .blocks = 2,
     .block_granules = 1,
     .per_row = 1,
     .class_count = 1,
     .classes = {{1, 1}},
     .filled = {{0, 1, 1}},
     .filled_count = 1,
     .spent = 1},
    {.name = "two blocks, two classes",
     .first_block = 31,
     .blocks = 2,
     .block_granules = 1,
     .per_row = 2,
     .class_count = 2,
     .classes = {{1, 1}, {1, 1}},
     .filled = {{0, 1, 1}},
     .filled_count = 1,
     .spent = 1},
    {.name = "two blocks, full",
     .first_block = 31,
     .blocks = 2,
     .block_granules = 1,
     .per_row = 1,
     .class_count = 2,
     .classes = {{1, 1}, {1, 1}},
     .filled = {{0, 1, 1}, {1, 2, 1}},
     .filled_count = 2,
     .spent = 1},
    {.name = "three blocks",
     .first_block = 30,
     .blocks = 3,
     .block_granules = 1,
     .per_row = 1,
     .class_count = 2,
     .classes = {{1, 1}, {1, 1}},
     .filled = {{1, 1, 1}},
     .filled_count = 1,
     .spent = 1},
    [RESERVED_SPECS] = {.name = "one slot, reserved",
                        .first_block = 1,
                        .blocks = 1,
                        .block_granules = 1,
                        .per_row = 1,
                        .class_count = 1,
                        .classes = {{1, 1}},
                        .reserved = {{0, 0, 1, 1, 1}},
                        .reserved_count = 1},
    {.name = "two slots, one taken, one reserved",
     .first_block = 1,
     .blocks = 1,
     .block_granules = 1,
     .per_row = 2,
     .class_count = 1,
     .classes = {{1, 1}},
     .filled = {{0, 1, 1}},
     .filled_count = 1,
     .reserved = {{0, 0, 1, 1, 0}},
     .reserved_count = 1},
    {.name = "two slots, one reserved in the second stripe",
     .first_block = 1,
     .blocks = 1,
     .block_granules = 1,
     .per_row = 2,
     .class_count = 1,
     .classes = {{1, 1}},
     .filled = {{0, 1, 1}},
     .filled_count = 1,
     .stripes = 2,
     .reserved = {{1, 0, 1, 1, 0}},
     .reserved_count = 1},
    {.name = "given out, next about to be set back",
     .first_block = 1,
     .blocks = 1,
     .block_granules = 1,
     .per_row = 2,
     .class_count = 1,
     .classes = {{1, 1}},
     .reserved = {{0, 0, 1, 1, 0}},
     .reserved_count = 1,
     .far = 1},
    {.name = "two slots, reserved for another class",
     .first_block = 1,
     .blocks = 1,
     .block_granules = 1,
     .per_row = 2,
     .class_count = 2,
     .classes = {{1, 1}, {1, 1}},
     .reserved = {{0, 0, 2, 2, 1}},
     .reserved_count = 1},
    {.name = "two slots, of another class, one reserved",
     .first_block = 1,
     .blocks = 1,
     .block_granules = 1,
     .per_row = 2,
     .class_count = 2,
     .classes = {{1, 1}, {1, 1}},
     .filled = {{0, 2, 1}},
     .filled_count = 1,
     .reserved = {{0, 0, 2, 1, 0}},
     .reserved_count = 1},
    {.name = "a hole and a free block in one stripe",
     .first_block = 31,
     .blocks = 2,
     .block_granules = 1,
     .per_row = 2,
     .class_count = 2,
     .classes = {{1, 1}, {1, 1}},
     .filled = {{0, 1, 1}},
     .filled_count = 1,
     .reserved = {{0, 0, 1, 1, 0}, {0, 1, 1, 2, 1}},
     .reserved_count = 2},
    {.name = "two classes, a block reserved for each",
     .first_block = 31,
     .blocks = 2,
     .block_granules = 1,
     .per_row = 1,
     .class_count = 2,
     .classes = {{1, 1}, {1, 1}},
     .reserved = {{0, 0, 1, 1, 1}, {0, 1, 2, 1, 1}},
     .reserved_count = 2},
    {.name = "three classes, two slots reserved for the third",
     .first_block = 1,
     .blocks = 1,
     .block_granules = 1,
     .per_row = 2,
     .class_count = 3,
     .classes = {{1, 1}, {1, 1}, {1, 1}},
     .reserved = {{0, 0, 3, 2, 1}},
     .reserved_count = 1},
    {.name = "two stripes of another class",
     .first_block = 1,
     .blocks = 2,
     .block_granules = 1,
     .per_row = 1,
     .class_count = 2,
     .classes = {{1, 1}, {1, 1}},
     .stripes = 2,
     .reserved = {{0, 0, 2, 1, 1}, {1, 1, 2, 1, 1}},
     .reserved_count = 2},
    {.name = "two blocks of another class in a row of holes",
     .first_block = 1,
     .blocks = 2,
     .block_granules = 1,
     .per_row = 1,
     .class_count = 2,
     .classes = {{1, 1}, {1, 1}},
     .reserved = {{0, 0, 2, 1, 0}, {0, 1, 2, 1, 0}},
     .reserved_count = 2},
    {.name = "a hole and an empty row of a block in use",
     .first_block = 1,
     .blocks = 1,
     .block_granules = 2,
     .per_row = 2,
     .class_count = 2,
     .classes = {{1, 2}, {2, 1}},
     .filled = {{0, 1, 1}},
     .filled_count = 1,
     .reserved = {{0, 0, 1, 1, 0}, {0, 0, 1, 2, 1}},
     .reserved_count = 2},
    {.name = "two rows of holes, the second from within a block",
     .first_block = 1,
     .blocks = 3,
     .block_granules = 1,
     .per_row = 33,
     .class_count = 2,
     .classes = {{1, 1}, {1, 1}},
     .filled = {{0, 1, 30}, {2, 1, 3}},
     .filled_count = 2,
     .reserved = {{0, 0, 1, 3, 0}, {0, 1, 1, 33, 0}, {0, 2, 1, 30, 0}},
     .reserved_count = 3},
};
#define HEAP_SPECS (sizeof heap_specs / sizeof heap_specs[0])

/* All programs of up to `length` calls out of: new of each class (one object or two), free of the
 * thread's first object (again: a double free) and of everything it has, free of an old object. */
static uint programs_make(const tiny_spec *spec, uint length, program *list, uint most) {
    program_op calls[8];
    uint call_count = 0, count = 0, old = 0;
    for (uint i = 0; i < spec->filled_count; i++) old += spec->filled[i].live;
    for (uint c = 1; c <= spec->class_count; c++) {
        uint capacity = spec->classes[c - 1].rows * spec->per_row;
        calls[call_count++] = (program_op){PROGRAM_NEW, (uchar)c, 1};
        if (capacity * spec->blocks > 1 && c == 1)
            calls[call_count++] = (program_op){PROGRAM_NEW, (uchar)c, 2};
    }
    calls[call_count++] = (program_op){PROGRAM_FREE, 0, 0};
    calls[call_count++] = (program_op){PROGRAM_FREE_ALL, 0, 0};
    if (old) calls[call_count++] = (program_op){PROGRAM_FREE_OLD, 0, 0};
    uint begin = 0, end = 0;
    for (uint n = 0; n < length; n++) { /* those of n + 1 calls from those of n */
        for (uint i = begin; i < (n ? end : 1); i++) {
            for (uint k = 0; k < call_count; k++) {
                program p = n ? list[i] : (program){0};
                uint kind = calls[k].kind, last = n ? p.ops[n - 1].kind : PROGRAM_FREE_OLD;
                /* Nothing to free yet, or nothing left. */
                if (kind == PROGRAM_FREE || kind == PROGRAM_FREE_ALL) {
                    uint news = 0;
                    for (uint m = 0; m < n; m++) news += p.ops[m].kind == PROGRAM_NEW;
                    if (!news || last == PROGRAM_FREE_ALL) continue;
                }
                if (kind == PROGRAM_FREE_ALL && p.ops[n - 1].n < 2) continue; /* as FREE */
                p.ops[p.count++] = calls[k];
                if (count < most) list[count++] = p;
            }
        }
        begin = end;
        end = count;
    }
    return count;
}

/* Explore all programs, pairs or triples of them, on a heap. Returns 0 if a fault was found. */
static int programs_explore(const tiny_spec *spec, uint threads, uint length) {
    static program list[512];
    uint count = programs_make(spec, length, list, 512);
    for (uint a = 0; a < count; a++) {
        const program *alone[1] = {&list[a]};
        if (threads == 1 && !explore(spec, alone, 1)) return 0;
        for (uint b = a; b < count && threads > 1; b++) {
            const program *chosen[3] = {&list[a], &list[b], NULL};
            if (threads == 2) {
                if (!explore(spec, chosen, 2)) return 0;
                continue;
            }
            for (uint c = b; c < count; c++) {
                chosen[2] = &list[c];
                if (!explore(spec, chosen, 3)) return 0;
            }
        }
    }
    return 1;
}

/* Thread 0 frees the only object, and makes one of another class, which thread 1 frees. So thread 1
 * can see a block of the old class, the object of which it must free as one of the new class. Or
 * thread 1 frees the old object, too, and must leave the new one alone. */
static int programs_explore_given(const tiny_spec *spec) {
    static const program gives = {2, {{PROGRAM_FREE_OLD, 0, 0}, {PROGRAM_NEW, 2, 1}}};
    static const program frees = {1, {{PROGRAM_FREE_GIVEN, 0, 0}}};
    static const program frees_too = {1, {{PROGRAM_FREE_OLD, 0, 0}}};
    const program *const chosen[] = {&gives, &frees}, *const both_free[] = {&gives, &frees_too};
    return explore(spec, chosen, 2) && explore(spec, both_free, 2);
}

/* Explore the heaps `first` .. `last` with and without rotation. Returns 0 if a fault was found. */
static int programs_explore_heaps(uint first, uint last, uint threads, uint length, uint retries,
                                  uint weak) {
    char what[64];
    hosted_retries = retries;
    exec.weak = weak;
    for (uint i = first; i <= last && i < HEAP_SPECS; i++) {
        for (hosted_rotate = 0; hosted_rotate < 2; hosted_rotate++)
            if (!(length ? programs_explore(&heap_specs[i], threads, length)
                         : programs_explore_given(&heap_specs[i])))
                return 0;
        snprintf(what, sizeof what, "%u x %u, retries %u, %s%s", threads, length, retries,
                 weak ? "weak, " : "", heap_specs[i].name);
        explore_summary(what);
    }
    return 1;
}

/* What a test explores: rows of the arguments above, up to one with threads = 0. Length 0: an
 * object is given to another thread. */
typedef struct programs_row {
    uint first, last, threads, length, retries, weak;
} programs_row;

/* The main function of a test. Exit status 1 says that a fault was found, 77 that it cannot run. */
static int programs_main(const programs_row *rows) {
    if (!routine_supported()) {
        printf("not with sanitizers that keep books of the stack\n");
        return 77;
    }
    explore_quiet = 1;
    explore_since = explore_seconds();
    for (; rows->threads; rows++)
        if (!programs_explore_heaps(rows->first, rows->last, rows->threads, rows->length,
                                    rows->retries, rows->weak))
            return 1;
    return 0;
}

#endif
