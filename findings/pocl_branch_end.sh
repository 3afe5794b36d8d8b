#!/usr/bin/env bash
# PoCL 3.0 (PyPI; 3.1 of Debian 12 and 5.0 of Ubuntu 24.04 alike): what stands between the last barrier of a branch and the
# branch's end is not done, although all work-items take the branch. Two branches in a row, of which the second is taken, should
# count 8 in their second word. Seen: "0 0 8 WRONG". With POCL_WORK_GROUP_METHOD=cbs, which 7.1 has, it is right.
. "$(dirname "$0")/common.sh"
use_pocl
build run
cat >branch_end.cl <<'END'
/* run: 16 16 1 */
/* expected: 0 8 8 */
/* Two branches, the same for all work-items, with a barrier each that is not their end. */
__kernel void k(__global uint *out, uint n) {
    uint me = (uint)get_local_id(0);
    if (n == 2) {
        barrier(CLK_LOCAL_MEM_FENCE);
        if (me < 8) atomic_add(&out[0], 1u);
    }
    if (n == 1) {
        barrier(CLK_LOCAL_MEM_FENCE);
        if (me < 8) atomic_add(&out[1], 1u);
    }
    if (me < 8) atomic_add(&out[2], 1u);
}
END
expect "0 0 8 WRONG" "$(./run branch_end.cl | sed 's/.*: //')"
