#!/usr/bin/env bash
# clump-bench as its users call it: every benchmark at a small size, with the check that it makes of itself
# passed and the JSON as documented in bench/report.c; two such files compared; and wrong names, keys and
# values refused with words that list what is right.
#
#   clump_bench.sh PROGRAM FOLDER
#
# Exit status 77: no OpenCL device.
set -euo pipefail
bench=$1
folder=$2
mkdir -p "$folder"

fail() {
    echo "FAILED: $*"
    exit 1
}

"$bench" devices >"$folder/devices" 2>&1 || exit 77

# NAME KEY=VALUE...: small enough for seconds.
small() {
    case $1 in
        alloc-scalability) echo items=4096 ;;
        enumerate) echo objects=20000 ;;
        compact-synthetic) echo objects=20000 ;;
        app-wa-tor) echo width=64 height=48 steps=20 compact=every:7 ;;
        app-collision) echo bodies=100 steps=10 ;;
        app-nbody) echo bodies=100 steps=10 ;;
        app-game-of-life | app-generation) echo width=64 height=48 steps=20 ;;
        mark-random) echo objects=3000 ;;
        mark-list) echo length=1000 ;;
        mark-lists) echo lists=20 length=50 ;;
        mark-vp-list) echo length=50 ;;
        mark-vp-arrays) echo arrays=70 ;;
        mark-*) echo engine=auto ;;
        *) fail "no small size is known for $1: add one here" ;;
    esac
}

names=$("$bench" list | sed -n 's/^\([a-z-]*\): .*/\1/p' | grep -v '^figures$')
[ -n "$names" ] || fail "clump-bench list lists nothing"
for name in $names; do
    sets=()
    for pair in $(small "$name"); do sets+=(--set "$pair"); done
    "$bench" run "$name" "${sets[@]}" --repeat 1 --json "$folder/$name.json" >"$folder/$name.txt" 2>&1 ||
        fail "$name: $(tail -3 "$folder/$name.txt")"
    grep -q "check: ok: " "$folder/$name.txt" || fail "$name checks nothing"
    for key in '"context"' '"device"' '"driver"' '"date"' '"seed"' '"benchmarks"' "\"$name\"" \
        '"params"' '"check"' '"metrics"' '"unit"' '"median"' '"min"' '"max"'; do
        grep -q "$key" "$folder/$name.json" || fail "$name.json has no $key"
    done
    "$bench" compare "$folder/$name.json" "$folder/$name.json" >/dev/null || fail "compare $name.json"
done

# STATUS WORDS ARGUMENT...
refused() {
    local status=0 expected=$1 words=$2
    shift 2
    "$bench" "$@" >"$folder/out" 2>"$folder/err" || status=$?
    [ "$status" -eq "$expected" ] || fail "'$*' exits with $status, not $expected"
    grep -q -- "$words" "$folder/err" || fail "'$*' does not say '$words': $(cat "$folder/err")"
}
refused 2 "there are.*enumerate" run nothing
# A graph of three nodes, two of which refer to each other and one of these is a root: plain, compressed,
# cut short, and with a reference to a node that is none.
word() { printf "\\x$(printf %02x "$1")\\x00\\x00\\x00"; }
graph() { # TARGET
    printf 'HGRAPH1\0'
    for n in 3 2 1 0 0 0 1 2 2 "$1" 0 8 40 600 0; do word "$n"; done
    printf '\0\0\0'
}
graph 1 >"$folder/graph"
gzip -c "$folder/graph" >"$folder/graph.gz"
for file in graph graph.gz; do
    "$bench" run mark-graph --set "file=$folder/$file" --repeat 1 >"$folder/out" ||
        fail "mark-graph does not read $file"
    grep -q "check: ok: 2 of 3 nodes live" "$folder/out" || fail "mark-graph: $(cat "$folder/out")"
done
head -c 50 "$folder/graph" >"$folder/short"
graph 3 >"$folder/wrong"
refused 1 "ends too early" run mark-graph --set "file=$folder/short"
refused 1 "a node that it has not" run mark-graph --set "file=$folder/wrong"
refused 1 "is no graph" run mark-graph --set "file=$0"
refused 1 "cannot open" run mark-graph --set "file=$folder/nothing"
refused 2 "objects" run enumerate --set nothing=1
refused 2 "objects" run enumerate --set objects=-1
refused 2 "objects" run enumerate --set objects=many
refused 2 "planner|merge" run compact-synthetic --set strategy=none
refused 2 "KEY=VALUE" run enumerate --set objects
refused 2 "nowhere" run enumerate --device nowhere
refused 2 "suite" nothing
refused 2 "--out" suite
refused 2 "nothing.json" compare "$folder/nothing.json" "$folder/enumerate.json"
echo "$(echo "$names" | wc -w) benchmarks"
