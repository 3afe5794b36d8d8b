/* Where the elements of arrays of run-time length lie, as a parameter of a benchmark: the layouts
 * of M. Springer's thesis, figures 4.11 to 4.14.
 *
 *   layout=outside   [*]             without inlining (4.11): all elements in raw memory
 *   layout=inline    [*] inline n    partial inlining (4.13): the first `inside` elements in the
 *                                    object
 *   layout=max       [*] max n       full inlining (4.12): all in the object, in columns
 *   layout=packed    [*] max n packed    array as object (4.14): all in the object, next to each
 *                                        other
 *   class=soa, aos   the right and the left half of these figures
 *
 * Read first: bench.h, docs/guide/arrays.md.
 */
#ifndef BENCH_ARRAY_LAYOUT_H
#define BENCH_ARRAY_LAYOUT_H

#include "bench/harness/bench.h"

/* Lines of a list of parameters. */
/* clang-format off */
#define BENCH_ARRAY_LAYOUT_PARAMS(inside_)                                                         \
    {"layout", BENCH_ENUM, "inline", "where the elements of arrays lie", 0, 0, "outside|inline|max|packed"}, \
    {"inside", BENCH_INT, inside_, "of layout=inline: elements in the object", 1, 4096, NULL},     \
    {"class", BENCH_ENUM, "soa", "layout of the class", 0, 0, "soa|aos"}
/* clang-format on */

typedef struct bench_array_layout {
    uint32_t inside; /* elements in an object */
    uint32_t most;   /* elements that an array can have */
} bench_array_layout;

/* The layout for arrays of at most `longest` elements of 4 bytes, in objects that have other fields
 * of `other_bytes`. Returns 0, or
 * -1 and an error if they are too long for the layout. */
int bench_array_layout_choose(const bench_values *values, uint32_t longest, uint32_t other_bytes,
                              bench_array_layout *layout, bench_error *error);

/* "aos class" or "class", and "[*] inline 4" and the like. */
const char *bench_array_layout_class(const bench_values *values);
void bench_array_layout_declare(const bench_values *values, const bench_array_layout *layout,
                                char *text, size_t bytes);

/* Bytes of the heap for `objects` of these, whose arrays have `elements` together, if arrays
 * outside have room for
 * `spare` times as many as they have. */
uint64_t bench_array_layout_bytes(const bench_array_layout *layout, uint64_t objects,
                                  uint64_t elements, uint32_t other_bytes, uint32_t spare);

#endif
