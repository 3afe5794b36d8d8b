/* Sums of the chunks of a piece of a saved heap. Read first: hash.h. */
#include "cl/save/hash.h"

/* Word i from byte `at` of the same buffer on: of chunk i. */
__kernel void clumpi_save_sums(__global uchar *content, uint bytes, ulong at) {
    const uint count = clumpi_chunks(bytes);
    __global ulong *sums = (__global ulong *)(content + at);
    for (uint i = (uint)get_global_id(0); i < count; i += (uint)get_global_size(0))
        sums[i] = clumpi_chunk_sum(content, bytes, i);
}
