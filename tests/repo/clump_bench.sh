#!/usr/bin/env bash
# clump-bench as its users call it: every benchmark at a small size, with the check that it makes of itself
# passed and the JSON as documented in bench/harness/report.c; two such files compared; and wrong names, keys and
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
        alloc-mixed) echo heap_mb=1 sizes=16,64 warm=3 ;;
        alloc-churn) echo heap_mb=1 sizes=16,64 steps=40 pattern=waves period=20 csv="$folder/churn.csv" ;;
        alloc-exhaust) echo heap_mb=1 sizes=16,64 ;;
        alloc-capacity) echo heap_mb=1 sizes=16,64 counts=3,1 ;;
        alloc-bulk) echo objects=20000 ;;
        field-bandwidth) echo objects=20000 layout=aos type=uint2 ;;
        host-access) echo objects=20000 density=0.5 type=ushort ;;
        start-up) echo cache="$folder/start-up" ;;
        enumerate) echo objects=20000 density=0.5 together=64 ;;
        compact-synthetic) echo objects=20000 ;;
        capacity) echo app=app-generation heap_mb=1 steps=3 ;;
        app-wa-tor) echo width=64 height=48 steps=20 compact=every:7 ;;
        app-collision) echo bodies=100 steps=10 ;;
        app-nbody) echo bodies=100 steps=10 ;;
        app-structure) echo nodes=400 steps=60 compact=every:7 ;;
        app-barnes-hut) echo bodies=500 steps=10 compact=every:4 ;;
        app-sugarscape) echo width=64 height=48 steps=20 compact=every:7 order=cell ;;
        app-traffic) echo intersections=20 street_cells=20 steps=20 compact=every:7 ;;
        app-game-of-life | app-generation) echo width=64 height=48 steps=20 ;;
        mark-random) echo objects=3000 ;;
        mark-list) echo length=1000 ;;
        mark-lists) echo lists=20 length=50 ;;
        mark-hourglass) echo length=50 objects=3000 ;;
        mark-vp-list) echo length=50 ;;
        mark-vp-arrays) echo arrays=70 ;;
        mark-wide) echo width=50 objects=20 ;;
        mark-synthetic) echo objects=3000 ;;
        mark-*) echo engine=auto ;;
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
    "$bench" run "$name" --no-cache "${sets[@]}" --repeat 1 --json "$folder/$name.json" >"$folder/$name.txt" 2>&1 ||
        fail "$name: $(tail -3 "$folder/$name.txt")"
    grep -q "check: ok: " "$folder/$name.txt" || fail "$name checks nothing"
    for key in '"context"' '"device"' '"device_mhz"' '"driver"' '"processors"' '"date"' '"seed"' '"benchmarks"' "\"$name\"" \
        '"params"' '"check"' '"machine"' '"metrics"' '"unit"' '"median"' '"min"' '"max"'; do
        grep -q "$key" "$folder/$name.json" || fail "$name.json has no $key"
    done
    "$bench" compare "$folder/$name.json" "$folder/$name.json" >/dev/null || fail "compare $name.json"
    # Where it was measured; null is what this machine does not tell.
    for line in '"result":.*"ok",' '"commit":.*"([0-9a-f]{40}|unknown)",' '"tree":.*"(clean|changed|unknown)",' \
        '"load":.*[0-9],' '"cpu_mhz_min":.*([1-9][0-9]*|null),' '"cpu_mhz_max":.*([1-9][0-9]*|null)$'; do
        grep -qE "$line" "$folder/$name.json" || fail "$name.json has no line $line"
    done
done
load=$(cut -d' ' -f1 /proc/loadavg 2>/dev/null || true)
[ -z "$load" ] || awk -v now="$load" -F'[:,]' '/"load"/ { if ($2 < 0 || $2 > now + 64 || $2 == "\tnull") bad = 1 }
    END { exit bad }' "$folder"/alloc-*.json || fail "the load in the JSON is not that of this machine, $load"
if grep -q '^cpu MHz' /proc/cpuinfo 2>/dev/null; then
    grep -q '"cpu_mhz_min":.*null' "$folder/enumerate.json" && fail "no clocks, but /proc/cpuinfo has them"
fi

patterns=$(dirname "$0")/../../bench/apps/game-of-life/patterns
# Each preset in small: equal to the reference, named in the JSON, and what is overridden beside it.
small_preset() {
    case $1 in
        app-wa-tor) echo width=48 height=64 steps=30 ;;
        app-collision) echo bodies=300 steps=10 merge_distance=0.05 ;;
        app-nbody) echo bodies=300 steps=10 ;;
        app-structure) echo nodes=600 steps=10 iterations=10 ;;
        app-barnes-hut) echo bodies=500 steps=10 ;;
        app-game-of-life) echo "width=70 height=60 steps=30 pattern=$patterns/gosper-gun.rle" ;;
        app-traffic) echo intersections=60 street_cells=30 steps=40 ;;
        app-sugarscape) echo width=70 height=50 steps=60 ;;
        app-generation) echo width=331 height=326 steps=20 ;;
        *) fail "no small size is known for the presets of $1: add one here" ;;
    esac
}
"$bench" list | awk '/^[a-z-]*: / { name = $1 } /^  preset=/ { print name $1 }' | sed 's/preset=\|:$//g' >"$folder/presets"
[ -s "$folder/presets" ] || fail "clump-bench list lists no presets"
while IFS=: read -r name preset; do
    sets=(--set "preset=$preset")
    for pair in $(small_preset "$name"); do sets+=(--set "$pair"); done
    at=$folder/$name-$preset
    "$bench" run "$name" --no-cache "${sets[@]}" --repeat 1 --json "$at.json" >"$at.txt" 2>&1 ||
        fail "$name, preset $preset: $(tail -3 "$at.txt")"
    grep -q "check: ok: .* sequential reference" "$at.txt" || fail "$name, preset $preset, checks nothing"
    grep -q "\"preset\":.*\"$preset\"" "$at.json" || fail "$at.json does not name its preset"
    grep -A9 '"preset_overridden"' "$at.json" | grep -q '"steps"' || fail "$at.json: steps are not overridden"
    grep -q '_mean' "$at.json" || fail "$at.json does not say how many objects there were"
done <"$folder/presets"
if grep -q '"preset' "$folder/app-wa-tor.json"; then fail "a run without preset has one"; fi

# WORDS NAME ARGUMENT...: a run that has nothing to be compared with says so, in the table and in the
# JSON, and which check did run; and it has not failed.
not_checked() {
    local words=$1 name=$2
    shift 2
    "$bench" run "$name" --no-cache "$@" --repeat 1 --json "$folder/out.json" >"$folder/out" 2>&1 ||
        fail "$name $* fails: $(tail -3 "$folder/out")"
    grep -q "check: not checked: .*$words" "$folder/out" || fail "$name $*: $(grep check: "$folder/out")"
    grep -q '"result":.*"not checked"' "$folder/out.json" || fail "$name $* is something else in the JSON"
    if grep -qw ok "$folder/out" "$folder/out.json"; then fail "$name $*: ok, and nothing was checked"; fi
}
not_checked "all invariants of the heap hold" app-wa-tor --set width=64 --set height=48 --set steps=5 --set check=0
not_checked "no mass was lost" app-collision --set bodies=100 --set steps=5 --set check=0 --set variant=soa
not_checked "this is the reference" app-nbody --set bodies=100 --set steps=5 --set variant=sequential
not_checked "no reference was run" capacity --set app=app-generation --set heap_mb=1 --set steps=3 --set check=0
not_checked "all invariants hold" pool-trace --set frames=20 --set mb=4 --set chunk_kb=1024 --set check=0

# NAME VARIANT KEY=VALUE...: a run with a few frames, a picture and a table. Its stops for the
# progress bar, every 3 steps, are not those for outputs.
outputs() {
    local name=$1 variant=$2 sets=() at="$folder/$1-$2"
    shift 2
    rm -rf "$at"
    mkdir -p "$at"
    for pair in "$@" "variant=$variant" steps=101 every=40 sample=25 "frames=$at/frames" \
        "csv=$at/course.csv" "image=$at/last.png"; do sets+=(--set "$pair"); done
    "$bench" run "$name" --no-cache "${sets[@]}" >"$at/out" 2>&1 || fail "$name with outputs: $(tail -3 "$at/out")"
    [ "$(ls "$at/frames" | tr -dc '0-9\n' | tr '\n' ' ')" = "000000 000040 000080 000101 " ] ||
        fail "$name: the frames are $(ls "$at/frames")"
    cmp "$at/last.png" "$at/frames/frame-000101.png" || fail "$name: the last frame is not the image"
    [ "$(cut -d, -f1 "$at/course.csv" | tr '\n' ' ')" = "step 0 25 50 75 100 101 " ] ||
        fail "$name: the steps of the table are $(cut -d, -f1 "$at/course.csv")"
}

# NAME COLUMNS VARIANT KEY=VALUE...: its outputs are those of variant=clump: the frames, and the first
# columns of the table, those that are not of the heap.
same_outputs() {
    local name=$1 columns=$2 variant=$3 a="$folder/$1-clump" b="$folder/$1-$3"
    shift 3
    outputs "$name" clump "$@"
    outputs "$name" "$variant" "$@"
    diff -r "$a/frames" "$b/frames" || fail "$name: frames of clump and $variant differ"
    cmp "$a/frames/frame-000000.png" "$a/last.png" >/dev/null && fail "$name: the pictures do not change"
    diff <(cut -d, -f"1-$columns" "$a/course.csv") <(cut -d, -f"1-$columns" "$b/course.csv") ||
        fail "$name: tables of clump and $variant differ"
}
same_outputs app-wa-tor 3 sequential width=40 height=30
same_outputs app-wa-tor 3 soa width=40 height=30
same_outputs app-sugarscape 5 soa width=40 height=30
same_outputs app-collision 2 soa bodies=100 pixels=64 merge_distance=0.1
same_outputs app-nbody 2 sequential bodies=50 pixels=64
same_outputs app-structure 5 soa nodes=400 pixels=64
same_outputs app-generation 4 soa width=40 height=30
same_outputs app-traffic 3 aos intersections=20 street_cells=20 pixels=64
[ "$(sed -n 1p "$folder/app-generation-clump/course.csv" | tr ',' '\n' | tail -1)" = Cell_blocks ] ||
    fail "the table of app-generation ends in another column"

[ "$(wc -l <"$folder/churn.csv")" -eq 6 ] || fail "alloc-churn's table has not 5 samples"
# 28 bytes of fields and 20 of states for each of 100 bodies, in each of the rounds.
"$bench" run app-nbody --no-cache --set variant=soa --set bodies=100 --set steps=2 --repeat 3 >"$folder/memory" 2>&1
grep -q "buffer_bytes  *B  *4800  *4800  *4800" "$folder/memory" ||
    [ -z "$(grep buffer_bytes "$folder/capacity.txt")" ] || # a shared libclump
    fail "100 bodies in arrays take other bytes than 4800: $(grep buffer_bytes "$folder/memory")"

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
refused 1 "sizes.*multiple of 4 from 8" run alloc-mixed --set sizes=16,6
refused 1 "one for each class" run alloc-capacity --set sizes=16,64 --set counts=1
refused 1 "touch=9" run field-bandwidth --set touch=9
refused 2 "no preset is called 'nothing'; there are: dynasoar" run app-wa-tor --set preset=nothing
refused 2 "there is no preset 'dynasoar'" run enumerate --set preset=dynasoar
refused 2 "nowhere" run enumerate --device nowhere
refused 2 "suite" nothing
refused 2 "--out" suite
refused 2 "folder of a suite" report
refused 1 "no group 'nothing'.*alloc.*pool-fit" suite nothing --out "$folder/part"

# Two calls of the suite are one sitting: one JSON, one report, with all that was said about checks. The
# plots are what gnuplot is told.
part=$folder/part
rm -rf "$part" "$folder/path"
mkdir -p "$folder/path"
printf '#!/bin/sh\ncat >"%s/$(ls "%s/path" | wc -l).plot"\n' "$folder/path" "$folder" >"$folder/path/gnuplot"
chmod +x "$folder/path/gnuplot"
for group in game-of-life structure-sheet; do
    PATH="$folder/path:$PATH" "$bench" suite "$group" --no-cache --repeat 1 --out "$part" >"$folder/out" 2>&1 ||
        fail "suite $group: $(tail -3 "$folder/out")"
done
for key in game-of-life/clump game-of-life/sequential structure-sheet/soa structure-sheet/soa/start; do
    grep -q "\"key\":.*\"$key\"" "$part/suite.json" || fail "suite.json has no $key"
done
grep -q "^8 runs: 6 ok .*, 2 not checked .*, 0 failed" "$part/report.md" || fail "$(sed -n 9p "$part/report.md")"
grep -q "^| soa | .* | not checked |" "$part/report.md" || fail "a run without reference is checked in the report"
grep -q "^- soa: .*not checked: .*; the checksum is that of clump, compacted$" "$part/report.md" ||
    fail "the report does not say with what soa agrees: $(grep '^- soa' "$part/report.md")"
grep -q "^  - its start: .* variant=soa steps=21.; ok: .*sequential reference" "$part/report.md" ||
    fail "the report does not say that the first steps are checked"
grep -q "^Commit [0-9a-z]*, tree [a-z]*\.$" "$part/report.md" || fail "the report names no commit"
cp "$part/report.md" "$folder/report.md"
PATH="$folder/path:$PATH" "$bench" report "$part" || fail "no report from suite.json"
cmp "$part/report.md" "$folder/report.md" || fail "the report of suite.json alone is another"
refused 1 "another sitting, its seed differs" suite game-of-life --seed 7 --repeat 1 --out "$part"
# Bars of 10,000 us beside some of 100 have a logarithmic axis, those that differ little have not; both have
# their values on them.
life=$(grep -l "Game of Life" "$folder"/path/*.plot | tail -1)
sheet=$(grep -l "sheet" "$folder"/path/*.plot | tail -1)
grep -q "^set logscale y" "$life" || fail "the axis of the Game of Life is not logarithmic"
grep -q "^set logscale y" "$sheet" && fail "the axis of the sheet is logarithmic"
for plot in "$life" "$sheet"; do
    [ "$(sed -n '/ with labels /,/^e$/p' "$plot" | grep -cE '^[0-9]+ [0-9.e+]+ [0-9.e+]+$')" -ge 3 ] ||
        fail "$plot has no values on its bars"
done
printf '%s\n' x,y,vx,vy,mass 0,0,0,0,1 '0,0,zero,0,1' >"$folder/bodies.csv"
refused 1 "bodies.csv, line 3: .*'0,0,zero,0,1'" run app-nbody --set "input=$folder/bodies.csv"
refused 1 "app-nothing.*app-wa-tor" run capacity --set app=app-nothing
refused 1 "how large" run capacity --set app=enumerate
refused 1 "KEY=VALUE" run capacity --set set=nonsense
printf '%s\n' 'intersection 1 0 0' 'street 1 2 10' >"$folder/map.streets"
refused 1 "map.streets, line 2: there must be: street FROM TO" run app-traffic --set "map=$folder/map.streets"
refused 1 "every is for frames" run app-wa-tor --set every=3
refused 1 "variant=clump" run app-nbody --set variant=soa --set profile=plot.svg
refused 1 "cannot make the folder $folder/no/where" run app-wa-tor --set "frames=$folder/no/where"
refused 1 "heap_mb=19 is enough" run app-barnes-hut --set bodies=4800 --set steps=3 --set check=0 --set heap_mb=1 \
    --set compact=every:1 --set order=cell
refused 2 "nothing.json" compare "$folder/nothing.json" "$folder/enumerate.json"
echo "$(echo "$names" | wc -w) benchmarks"
