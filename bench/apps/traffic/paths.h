/* How the array `path` of the cars of model=dynasoar lies in memory: the layouts of Springer's
 * thesis, Fig. 4.11 to 4.14.
 *
 *   layout     | schema                           | thesis, with cars as columns; as structs (is_aos)
 *   fixed      | ref Cell path[10]                | DynaSOAr's program: as many elements in each car. As max, without a length
 *   max        | ref Cell path[*] max 10          | 4.12, full inlining, SOA; AOS
 *   inline     | ref Cell path[*] inline n        | 4.13, partial inlining, SOA; AOS
 *   outside    | ref Cell path[*]                 | 4.11, no inlining, SOA; AOS
 *   packed     | ref Cell path[*] max 10 packed   | 4.14, array as object; -
 *
 * Except for `fixed` the array of a car gets its length when the car is made: as many cells as it
 * can ever go over in a step. Kernels are the same for all.
 *
 * Read first: docs/guide/arrays.md, dynasoar.schema. Read next: dynasoar.c.
 */
#ifndef TRAFFIC_PATHS_H
#define TRAFFIC_PATHS_H

#include <stdint.h>

#include "bench/harness/error.h"

typedef enum traffic_layout {
    TRAFFIC_PATH_FIXED,
    TRAFFIC_PATH_MAX,
    TRAFFIC_PATH_INLINE,
    TRAFFIC_PATH_OUTSIDE,
    TRAFFIC_PATH_PACKED
} traffic_layout;

typedef struct traffic_path {
    traffic_layout layout;
    uint32_t inside; /* TRAFFIC_PATH_INLINE: elements in the object, 1 .. 10 */
    int is_aos;      /* the fields of a car lie together */
} traffic_path;

/* dynasoar.schema with this path, released by free(). NULL and an error: host memory ran out, or
 * the file is not as it should be. */
char *traffic_path_schema(const traffic_path *path, bench_error *error);

#endif
