/* What a collection must leave: the live set by a marker of the tests' own, on a snapshot of the
 * heap (world.h), and one collection held against it.
 *
 * A *case* is a snapshot with its roots. case_run() puts the snapshot into the heap, collects, and
 * compares everything: where objects are, every field, weak references, buffers outside, the list
 * of the dead, the report.
 *
 * Read first: tests/diff/compact/world.h, include/clump/collect.h.
 */
#ifndef COLLECT_CORE_H
#define COLLECT_CORE_H

#include "diff/compact/world.h"

#define SINGLES 6u
#define STRIDE 3u /* words from one reference of the strided buffer to the next */

typedef struct gc_case {
    world *w;
    snapshot *before;
    /* Roots. Each may be missing. */
    clump_ref singles[SINGLES];
    uint32_t single_count;
    const char *classes[3];
    uint32_t class_count;
    clump_ref *packed, *strided,
        *weak; /* registered; count references each, strided STRIDE words */
    uint32_t count;
    uint32_t counted;  /* of the packed and the weak ones: a word on the device says so */
    clump_ref held[4]; /* handles */
    uint32_t held_count;
    /* What is expected. */
    uint8_t *live; /* by number in `before` */
    uint32_t live_count;
    uint64_t roots, dangling, read, followed, nulled;
    uint32_t blocks_freed;
    snapshot *after; /* `before` without the dead, its weak references right */
} gc_case;

/* ---- What is expected (collect_expect.c) ----------------------------------------------------- */

/* Mark, and fill in what is expected. Call when snapshot and roots are complete. */
void case_expect(gc_case *c);

/* DESTRUCTOR of what a case holds. */
void case_drop(gc_case *c);

/* Does a reference name an object that stays? class_id 0: of any class. */
int names_live(const gc_case *c, clump_ref ref, uint32_t class_id);

/* Objects without a tag excepted: survivors numbered from 1, in both snapshots alike. */
void retag(const gc_case *c, snapshot *s);

/* ---- One collection (collect_core.c) --------------------------------------------------------- */

void same_number(const world *w, const char *what, uint64_t found, uint64_t expected);

/* Collect with these options (roots are filled in) and compare. */
clump_collect_report case_run(gc_case *c, const clump_collect_desc *options);

#endif
