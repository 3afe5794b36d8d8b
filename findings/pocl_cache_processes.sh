#!/usr/bin/env bash
# PoCL 3.0 (PyPI; 3.1 of Debian 12 alike): several processes that build the same program at the same time, with an empty cache in common,
# should each get it. Some get CL_BUILD_PROGRAM_FAILURE, with a log that names no error. A second attempt succeeds. It depends on
# the moment: here 8 processes build 20 programs, up to 60 times, until it is seen.
. "$(dirname "$0")/common.sh"
use_pocl
build cache_processes
for ((round = 0; round < 60; round++)); do
    rm -rf "$POCL_CACHE_DIR"
    mkdir "$POCL_CACHE_DIR"
    for process in 1 2 3 4 5 6 7 8; do ./cache_processes >"out.$process" & done
    wait
    grep -q 'not built' out.* && break
done
expect "not built (-11): Device" "$(cat out.* | grep -o '^not built (-11): Device' | sort -u)"
