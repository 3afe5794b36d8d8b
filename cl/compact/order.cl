/* Placing objects in the order of a key: what sorting needs in front and leaves behind.
 *
 * Read first: plan.clh, sort.cl.
 */

/* numbers[i] = i */
__kernel void clumpi_order_begin(__global uint *numbers, uint count) {
    for (uint i = (uint)get_global_id(0); i < count; i += (uint)get_global_size(0)) numbers[i] = i;
}

/* sorted[i] is the object that comes i-th; place[object] is where it goes. */
__kernel void clumpi_order_invert(__global const uint *sorted, __global uint *place, uint count) {
    for (uint i = (uint)get_global_id(0); i < count; i += (uint)get_global_size(0))
        place[sorted[i]] = i;
}
