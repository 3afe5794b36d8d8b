#!/usr/bin/env bash
# PoCL 3.0 (PyPI; 3.1 of Debian 12 and 5.0 of Ubuntu 24.04 alike): what stands between the last barrier of a branch and the
# branch's end is not done, although all work-items take the branch. Two branches in a row, of which the second is taken, should
# count 8 in their second word. Seen: "0 0 8 WRONG". With POCL_WORK_GROUP_METHOD=cbs, which 7.1 has, it is right.
. "$(dirname "$0")/common.sh"
use_pocl
build run
expect "0 0 8 WRONG" "$(./run "$here/branch_end.cl" | sed 's/.*: //')"
