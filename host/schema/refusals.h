/* One table: which heaps refuse which calls, and what a heap cannot have together. Refusals get
 * their words from it; tests/fault/heap/fault_refusals.c goes through all of it; and
 * tests/repo/refusals.py --write makes docs/guide/limits.md of it. A combination that becomes
 * possible is a line less here.
 *
 * It is a table of schema, not of heap, since some calls have a schema only. Those that have a heap
 * ask heap/access.h: clumpi_heap_refuses().
 *
 * Read first: schema.h.
 */
#ifndef CLUMPI_REFUSALS_H
#define CLUMPI_REFUSALS_H

#include <stddef.h>

#include "clump/schema.h"
#include "clump/status.h"

/* X(trait, name in messages and documents, words of a refusal). The words follow a name where the
 * trait is that of a field ("field f of class C"), or a number of objects. They are looked at in
 * this order. */
#define CLUMPI_TRAITS(X)                                                                           \
    X(GROWING, "arrays that grow", " is an array of run-time length")                              \
    X(BOUNDED, "arrays with `max`", " is an array of run-time length")                             \
    X(PART, "the length, capacity or memory of an array that grows",                               \
      " belongs to an array of run-time length")                                                   \
    X(LENGTH, "the length of an array with `max`", " is the length of an array")                   \
    X(RAW, "`raw`", "the heap was made with `raw`")                                                \
    X(SEVERAL, "`buffer_bytes`", "the heap has several buffers")                                   \
    X(EVICTABLE, "`evictable_bytes`", "the heap was made with evictable_bytes")                    \
    X(EVICTED, "objects that are evicted", " are evicted")                                         \
    X(RESIDENT, "no `evictable_bytes`", "the heap was made without evictable_bytes")               \
    X(CHECKED, "`checked`", "the heap is checked")                                                 \
    X(UNCHECKED, "no `checked`", "the heap is not checked")                                        \
    X(WATCHED, "`watch_handles`", "the heap watches its handles")                                  \
    X(POOLED, "`pool`", "the heap's memory comes from a pool")                                     \
    X(BECOMING, "classes with `becomes`", "a class of it becomes another")

/* X(operation, its calls in documents). clump_heap_migrate() is an EXTRACT and an INSERT. */
#define CLUMPI_OPERATIONS(X)                                                                       \
    X(SAVE, "`clump_heap_save()`")                                                                 \
    X(LOAD, "`clump_heap_load()`")                                                                 \
    X(EXTRACT, "`clump_heap_extract()`, `clump_heap_migrate()` out of it")                         \
    X(COPY, "`clump_heap_copy()`")                                                                 \
    X(CONVERT, "`clump_heap_convert()`")                                                           \
    X(COMPACT, "`clump_heap_compact()`")                                                           \
    X(COLLECT, "`clump_heap_collect()`")                                                           \
    X(EVICT, "`clump_heap_evict()`, `clump_heap_bring_back()`, `clump_heap_age_blocks()`")         \
    X(FINDINGS,                                                                                    \
      "`clump_heap_take_findings()`, `clump_heap_check_memory()`, `clump_heap_read_live()`")       \
    X(READ_FIELD, "reading it as a field or in a struct")                                          \
    X(WRITE_FIELD, "writing it as a field or in a struct")                                         \
    X(FROM_BUFFER, "`clump_heap_copy_field()` from a buffer")                                      \
    X(FUSE, "`clump_kernel_create_fused()`, `clump_heap_reduce()`")

/* X(operation, trait, status, why, instead). A message is "CALL: WORDS OF THE TRAIT, and WHY:
 * INSTEAD". */
#define CLUMPI_REFUSALS(X)                                                                         \
    X(SAVE, RAW, USAGE, "only the program knows the contents of raw memory",                       \
      "keep saved values in fields, in a heap without `raw`")                                      \
    X(SAVE, EVICTED, USAGE, "they may refer to others", "call clump_heap_bring_back() first")      \
    X(EXTRACT, RAW, USAGE, "only the program knows the contents of raw memory",                    \
      "extract objects from heaps without `raw`")                                                  \
    X(EXTRACT, EVICTED, USAGE, "they may refer to others", "call clump_heap_bring_back() first")   \
    X(COPY, EVICTABLE, UNSUPPORTED, "only the heap itself knows where its blocks are",             \
      "call clump_heap_save()")                                                                    \
    X(COPY, CHECKED, UNSUPPORTED, "it records kernels of programs for one heap",                   \
      "call clump_heap_save()")                                                                    \
    X(CONVERT, RAW, USAGE, "raw memory is not moved",                                              \
      "make another heap, and let kernels fill it")                                                \
    X(CONVERT, SEVERAL, UNSUPPORTED, "conversions work within one buffer",                         \
      "call clump_heap_save(), and clump_heap_load() into another schema")                         \
    X(CONVERT, EVICTABLE, UNSUPPORTED, "conversions work within one buffer",                       \
      "call clump_heap_save(), and clump_heap_load() into another schema")                         \
    X(COMPACT, EVICTED, USAGE, "they may refer to others", "call clump_heap_bring_back() first")   \
    X(COLLECT, EVICTED, USAGE, "they may refer to others", "call clump_heap_bring_back() first")   \
    X(EVICT, RESIDENT, USAGE, "all its objects stay", "set clump_heap_desc.evictable_bytes")       \
    X(FINDINGS, UNCHECKED, USAGE, "it does not record its objects", "set clump_heap_desc.checked") \
    X(READ_FIELD, GROWING, USAGE, "it has another length in each object",                          \
      "call clump_heap_read_arrays()")                                                             \
    X(WRITE_FIELD, GROWING, USAGE, "it has another length in each object",                         \
      "call clump_heap_write_arrays()")                                                            \
    X(WRITE_FIELD, PART, USAGE, "it changes only with the elements",                               \
      "call clump_heap_write_arrays()")                                                            \
    X(FROM_BUFFER, GROWING, USAGE, "it has another length in each object",                         \
      "call clump_heap_write_arrays()")                                                            \
    X(FROM_BUFFER, PART, USAGE, "it changes only with the elements",                               \
      "call clump_heap_write_arrays()")                                                            \
    X(FROM_BUFFER, LENGTH, USAGE, "only the host checks lengths", "call clump_heap_write_arrays()")

/* X(trait, trait, why, instead): clump_heap_create() refuses both together. */
#define CLUMPI_EXCLUSIONS(X)                                                                       \
    X(EVICTABLE, POOLED, "both decide where the heap's blocks are", "leave out one of the two")    \
    X(EVICTABLE, SEVERAL, "only the blocks of one buffer are evicted", "leave out one of the two") \
    X(EVICTABLE, CHECKED, "the checks look at blocks that are evicted",                            \
      "leave out one of the two")                                                                  \
    X(EVICTABLE, WATCHED, "a handle does not notice what happens to evicted objects",              \
      "leave out one of the two")                                                                  \
    X(EVICTABLE, RAW, "other blocks get the places that its handles name",                         \
      "leave out one of the two")                                                                  \
    X(EVICTABLE, GROWING, "arrays that grow are in raw memory", "leave out one of the two")        \
    X(SEVERAL, POOLED, "a heap in a pool is one range of memory", "leave out one of the two")      \
    X(SEVERAL, RAW, "handles of raw memory count from the begin of one buffer",                    \
      "leave out one of the two")                                                                  \
    X(SEVERAL, GROWING, "arrays that grow are in raw memory", "leave out one of the two")          \
    X(BECOMING, WATCHED, "two old places can lead to one slot", "leave out one of the two")        \
    X(BECOMING, EVICTABLE, "references in evicted objects cannot be rewritten",                    \
      "leave out one of the two")

#define CLUMPI_TRAIT_NUMBER(trait, name, words) CLUMPI_NUMBER_##trait,
enum { CLUMPI_TRAITS(CLUMPI_TRAIT_NUMBER) CLUMPI_TRAIT_COUNT };
#define CLUMPI_TRAIT_BIT(trait, name, words) CLUMPI_TRAIT_##trait = 1 << CLUMPI_NUMBER_##trait,
enum { CLUMPI_TRAITS(CLUMPI_TRAIT_BIT) }; /* of a set of traits */
#define CLUMPI_OPERATION_NAME(operation, calls) CLUMPI_OP_##operation,
typedef enum clumpi_operation {
    CLUMPI_OPERATIONS(CLUMPI_OPERATION_NAME) CLUMPI_OP_COUNT
} clumpi_operation;

typedef struct clumpi_trait {
    const char *name, *words;
} clumpi_trait;
extern const clumpi_trait clumpi_traits[CLUMPI_TRAIT_COUNT];

typedef struct clumpi_refusal {
    clumpi_operation operation;
    int trait; /* its number */
    clump_status status;
    const char *why, *instead;
} clumpi_refusal;

typedef struct clumpi_exclusion {
    int traits[2]; /* their numbers */
    const char *why, *instead;
} clumpi_exclusion;

/* ---- refusals.c ------------------------------------------------------------------------------ */

/* The first that holds for a heap, field or schema with these traits; NULL: there is none. */
const clumpi_refusal *clumpi_refusal_find(clumpi_operation operation, unsigned traits);
const clumpi_exclusion *clumpi_exclusion_find(unsigned traits);

/* Those of a field of the schema. */
unsigned clumpi_field_traits(const clump_schema *schema, const clump_field_info *field);

/* ---- refuse.c -------------------------------------------------------------------------------- */

/* Those of the arrays of run-time length that it has, and whether a class of it becomes another.
 * NULL: none. */
unsigned clumpi_schema_traits(const clump_schema *schema);

/* CLUMP_OK, or fails in words. `schema`: that of the field, or of the heap, of which so many
 * objects are evicted. call: the name of the call; NULL: the message does without. */
clump_status clumpi_schema_refuses(const clump_schema *schema, unsigned traits,
                                   clumpi_operation operation, uint64_t evicted, const char *call,
                                   clump_error *error);
clump_status clumpi_field_refuses(const clump_schema *schema, const clump_field_info *field,
                                  clumpi_operation operation, const char *call, clump_error *error);

/* The same for what clump_heap_create() was asked for. */
clump_status clumpi_schema_excludes(const clump_schema *schema, unsigned traits,
                                    clump_error *error);
#endif
