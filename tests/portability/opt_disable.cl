/* run: 1 1 0 */
/* expected: 1 */
/* With -cl-opt-disable: a function that asks for its work-item. */
void f(__global uint *out) {
    out[1] = (uint)get_global_id(0);
}

__kernel void k(__global uint *out, uint n) {
    f(out);
    out[0] = 1;
}
