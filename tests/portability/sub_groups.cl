/* run: 64 64 5 */
/* expected: 5 */
/* With -cl-std=CL3.0: a function of cl_khr_subgroup_ballot, which the device lists. */
#pragma OPENCL EXTENSION cl_khr_subgroup_ballot : enable
__kernel void k(__global uint *out, uint n) {
    uint first = sub_group_broadcast_first(get_sub_group_local_id() == 0 ? n : 0u);
    if (get_global_id(0) == 0) out[0] = first;
}
