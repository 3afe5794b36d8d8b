#!/usr/bin/env bash
# scripts/mutate.sh works: of two faults planted into a suballocator, both kept by hand, a test finds
# one, and the other is counted as argued to be equivalent.
#
#   mutate.sh FOLDER    for the copy of the tree, which stays and makes the next run quicker
#
# Exit status 77: something that mutate.sh needs is missing.
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
if ! git -C "$root" rev-parse --is-inside-work-tree >/dev/null 2>&1; then
    echo "skipped: not in a git tree"
    exit 77
fi
status=0
output=$("$root/scripts/mutate.sh" --only gap-uncounted --only node-spare --tests fuzz_suballoc \
    --folder "$1" --jobs 1 2>&1) || status=$?
printf '%s\n' "$output"
[ "$status" -ne 77 ] || exit 77

expect() {
    if ! grep -qE -- "$1" <<<"$output"; then
        echo "FAILED: no line like $1"
        exit 1
    fi
}
expect '^gap-uncounted host/suballoc/core.c:[0-9]+ hand: found by fuzz_suballoc'
expect '^node-spare host/suballoc/core.c:[0-9]+ hand: equivalent'
expect '^host/suballoc/core.c +2 +1 +1 +0$'
expect '^score: 1 of 1 found, 100.0%$'
