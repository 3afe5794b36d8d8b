#!/usr/bin/env bash
# PoCL 3.0 (PyPI; 3.1 of Debian 12 alike): a static function that is not inlined, and that always gets the same local variable of
# the only kernel that calls it, works in memory that all threads share. LLVM puts the variable in place of the parameter, and
# PoCL gives threads copies only of those variables that a kernel itself names. Seen: of the prefix sums of 4,096 groups some are
# wrong. They are right in one thread (POCL_DEVICES=basic), with -cl-opt-disable, and once a second kernel passes another variable.
. "$(dirname "$0")/common.sh"
use_pocl
cc -o shared_local "$here/shared_local.c" -lOpenCL
# answer [OPTION]: yes if some are wrong in one of ten runs
answer() {
    for _ in {1..10}; do
        if ./shared_local "$@" | grep -q ' wrong'; then echo yes && return; fi
    done
    echo no
}
[ "$(nproc)" -gt 1 ] || { echo "one processor shows nothing" && exit 77; }
expect "some are wrong: yes; without optimising: no" "some are wrong: $(answer ''); without optimising: $(answer -cl-opt-disable)"
