/* Types of fields whose width a benchmark varies: for schemas, for kernels (VALUE, SCALAR, LANES),
 * and for the host. Read first: bench.h. */
#ifndef BENCH_VALUE_TYPE_H
#define BENCH_VALUE_TYPE_H

#include "bench/harness/bench.h"

/* A line of a list of parameters. */
#define BENCH_VALUE_TYPE_PARAM(initial)                                                            \
    { "type", BENCH_ENUM, initial, "of a field", 0, 0, "uchar|ushort|uint|ulong|uint2|uint4" }

typedef struct bench_value_type {
    const char *name, *scalar;
    uint32_t bytes, lanes; /* of all lanes together */
} bench_value_type;

/* That of the parameter `type`. */
const bench_value_type *bench_value_type_of(const bench_values *values);

/* "-DVALUE=uint4 -DSCALAR=uint -DLANES=4" into `text`. */
void bench_value_type_define(const bench_value_type *type, char *text, size_t bytes);

#endif
