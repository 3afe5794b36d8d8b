#!/usr/bin/env bash
# A sitting for bench/results: builds a clean commit, waits until the machine is idle, runs the whole suite
# and puts suite.json in the place of bench/results/NAME, all of whose files go. The report and the plots stay in
# out/results-NAME, since `clump-bench report FOLDER` makes them from suite.json.
#
#   scripts/results.sh NAME [ARGUMENT...]
#
# ARGUMENTS go to clump-bench suite: --device SUBSTRING, --repeat N. CLUMP_BUILD names the build tree,
# CLUMP_LOAD the load of the last minute that counts as idle (default 0.5). Nothing is replaced if the tree
# has changes, if the machine does not come to rest in 10 minutes, or if a check fails.
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
build=${CLUMP_BUILD:-$root/build}
idle=${CLUMP_LOAD:-0.5}
if [ $# -lt 1 ] || [[ ! "$1" =~ ^[a-z0-9][a-z0-9-]*$ ]]; then
    echo "usage: scripts/results.sh NAME [--device SUBSTRING] [--repeat N]" >&2
    exit 2
fi
name=$1
shift
made=$root/out/results-$name # git ignores it, so the tree stays clean

if [ -n "$(git -C "$root" status --porcelain)" ]; then
    echo "The tree has changes: commit them, so that the results name what they were measured with." >&2
    exit 1
fi
"$root/scripts/build.sh" "$build" --target clump-bench

for ((i = 0; ; i++)); do
    read -r load _ </proc/loadavg
    if awk -v load="$load" -v idle="$idle" 'BEGIN { exit !(load <= idle) }'; then break; fi
    if [ $i -eq 60 ]; then
        echo "The machine is busy: the load is $load, not $idle." >&2
        exit 1
    fi
    echo "waiting for the machine to come to rest: load $load"
    sleep 10
done

rm -rf "$made"
mkdir -p "$made"
# The command is part of the results, so it names no folder of this machine.
build=$(cd "$build" && pwd)
(cd "$root/out" && "$build/bench/clump-bench" suite --out "results-$name" "$@")
grep -qE '^\{"context":.*"commit":"[0-9a-f]{40}","tree":"clean",' "$made/suite.json" || {
    echo "$made/suite.json does not name a clean commit." >&2
    exit 1
}
rm -rf "$root/bench/results/$name"
mkdir "$root/bench/results/$name"
cp "$made/suite.json" "$root/bench/results/$name"
echo "bench/results/$name is new. Figures that were taken from its old files have no file now:"
"$root/tests/repo/check_figures.py" || true
