/* The launch that gives all reservations back.
 *
 * Leaves: the credits of a block are those of its objects again, and no stripe has anything.
 * Read first: reserve.clh.
 */
#include "cl/heap/reserve.clh"

/* Give all reserved slots back. */
__kernel void clumpi_unreserve(__global uchar *heap, uint header_at, uint turn) {
    __local reserve_tile tile[1];
    __local reserve_hints hints[1];
    clumpi_view v = clumpi_view_of(heap, header_at);
    reserve_end(&v, turn, tile, hints);
}
