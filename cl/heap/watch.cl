/* Handles whose objects are watched: header.at_watch has a bit for each slot of whose object a
 * handle was made, as long as that object lives. device_api.clh clears it when a kernel frees the
 * object.
 *
 * Read first: cl/core/layout.h, host/heap/refs.c.
 */
#include "cl/core/bitmap.clh"
#include "cl/core/scan.clh"

static inline volatile __global uint *watch_word(const clumpi_view *v, uint ref) {
    return clumpi_watch_words(v, ref >> 6) + (ref >> 5 & 1u);
}

/* Null the handles that are not watched any more: their objects were freed. */
__kernel void clumpi_watch_settle(__global uchar *heap, uint header_at, __global uint *refs,
                                  uint count) {
    clumpi_view v = clumpi_view_of(heap, header_at);
    for (uint i = (uint)get_global_id(0); i < count; i += (uint)get_global_size(0))
        if (refs[i] && !(*watch_word(&v, refs[i]) >> (refs[i] & 31u) & 1u)) refs[i] = 0;
}

/* Watch the objects of all handles. The bits are clear before. */
__kernel void clumpi_watch_set(__global uchar *heap, uint header_at, __global const uint *refs,
                               uint count) {
    clumpi_view v = clumpi_view_of(heap, header_at);
    for (uint i = (uint)get_global_id(0); i < count; i += (uint)get_global_size(0))
        if (refs[i]) atomic_or(watch_word(&v, refs[i]), 1u << (refs[i] & 31u));
}
