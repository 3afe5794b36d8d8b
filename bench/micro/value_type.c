/* Types of fields. See value_type.h. */
#include "value_type.h"

#include <stdio.h>
#include <string.h>

static const bench_value_type types[] = {{"uchar", "uchar", 1, 1}, {"ushort", "ushort", 2, 1},
                                         {"uint", "uint", 4, 1},   {"ulong", "ulong", 8, 1},
                                         {"uint2", "uint", 8, 2},  {"uint4", "uint", 16, 4}};

const bench_value_type *bench_value_type_of(const bench_values *values) {
    size_t i = 0;
    while (strcmp(types[i].name, bench_text(values, "type")) != 0) i++; /* the enum lists these */
    return &types[i];
}

void bench_value_type_define(const bench_value_type *type, char *text, size_t bytes) {
    snprintf(text, bytes, "-DVALUE=%s -DSCALAR=%s -DLANES=%u", type->name, type->scalar,
             type->lanes);
}
