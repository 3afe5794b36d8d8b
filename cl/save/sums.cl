/* Sums of the chunks of a piece of a saved heap. Read first: hash.h. */
#include "cl/save/hash.h"

/* sums[i]: of chunk i. */
__kernel void clumpi_save_sums(__global const uchar *content, uint bytes, __global ulong *sums) {
    const uint count = clumpi_chunks(bytes);
    for (uint i = (uint)get_global_id(0); i < count; i += (uint)get_global_size(0))
        sums[i] = clumpi_chunk_sum(content, bytes, i);
}
