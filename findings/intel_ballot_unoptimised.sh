#!/usr/bin/env bash
# Intel's CPU runtime 2026.2.0 (PyPI): with -cl-opt-disable a ballot in a branch counts all work-items of the sub-group, not those that took the
# branch, and the branch is taken by all of them or by none; cl_khr_subgroup_ballot allows such calls, and without the option the
# results are right. Seen: "0 64 WRONG" instead of "1 59 right".
. "$(dirname "$0")/common.sh"
use_intel
build run
expect "1 59 right" "$(./run "$here/sub_groups_plain.cl" -cl-std=CL3.0 | sed 's/.*: //')"
expect "0 64 WRONG" "$(./run "$here/sub_groups_plain.cl" "-cl-std=CL3.0 -cl-opt-disable" | sed 's/.*: //')"
