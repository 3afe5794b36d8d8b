/* run: 64 64 5 */
/* expected: 1 59 */
/* With -cl-opt-disable: ballots in branches, which cl_khr_subgroup_ballot allows. */
#pragma OPENCL EXTENSION cl_khr_subgroup_ballot : enable
__kernel void k(__global uint *out, uint n) {
    uint me = get_global_id(0);
    if (me == n) out[0] = popcount(sub_group_ballot(1).x);
    if (me >= n && sub_group_ballot(1).x) atomic_inc(out + 1);
}
