#!/usr/bin/env bash
# Runs a test under Oclgrind, which finds accesses out of bounds, divergent barriers and wrong API
# calls.
#
#   oclgrind.sh PROGRAM [ARGUMENT...]
#
# It must have found nothing: the exit status says nothing about that, so its words on stderr are
# searched; with --log Oclgrind 21.10 is silent about indices beyond an array whose size it knows.
# Without --data-races, since that takes a slot that one work-item freed and another got in the
# same kernel for a race: it does not see that the atomics in between order their accesses. Exit
# status 77: there is no Oclgrind.
set -euo pipefail
if ! command -v oclgrind >/dev/null; then
    echo "skipped: no oclgrind"
    exit 77
fi
log=$(mktemp)
trap 'rm -f "$log"' EXIT
status=0
CLUMP_DEVICE=oclgrind oclgrind --check-api "$@" 2> "$log" || status=$?
if [ "$status" -ne 0 ] || grep -qE '^(\s+(Kernel|Function|Entity): |Oclgrind)' "$log"; then
    echo "FAILED: exit status $status, and Oclgrind says:"
    head -n 60 "$log"
    exit 1
fi
