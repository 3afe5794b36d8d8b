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
        pool-alloc) echo most_kb=512 chunk_kb=1024 count=4 ;;
        pool-fit) echo sequences=2 chunk_kb=16384 ;;
        pool-trace) echo frames=40 mb=8 chunk_kb=1024 defrag=budget ;;
        pool-defrag) echo tests=2 rounds=10 scale=256 grid=0 ;;
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
# A trace that is written can be replayed; one that is wrong is refused, with the line.
trace=$folder/trace
"$bench" run pool-trace --set frames=20 --set mb=4 --set target=virtual --set "write=$trace" \
    --repeat 1 >"$folder/out" 2>&1 || fail "pool-trace does not write: $(tail -3 "$folder/out")"
"$bench" run pool-trace --set "file=$trace" --set target=virtual --repeat 1 >"$folder/out" 2>&1 ||
    fail "pool-trace does not replay: $(tail -3 "$folder/out")"
echo "f 77" >>"$trace"
lines=$(wc -l <"$trace")
status=0
"$bench" run pool-trace --set "file=$trace" --set target=virtual >"$folder/out" 2>&1 || status=$?
[ "$status" -ne 0 ] || fail "a trace that frees what is not there is replayed"
grep -q "line $lines: no live allocation" "$folder/out" || fail "no line: $(cat "$folder/out")"

refused 2 "there are.*enumerate" run nothing
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
