#!/usr/bin/env bash
# Runs that have nothing to be compared with say so; frames, pictures and tables of the applications are there, and are
# those of the baselines.
#
# Read first: common.sh, which says how it is called.
# shellcheck disable=SC1091,SC2154 # common.sh sets bench, folder and sets
source "$(dirname "$0")/common.sh"

# WORDS NAME ARGUMENT...: a run that has nothing to be compared with says so, in the table and in the
# JSON, and which check did run; and it has not failed.
not_checked() {
    local words=$1 name=$2
    shift 2
    "$bench" run "$name" --no-cache "$@" --repeat 1 --json "$folder/out.json" >"$folder/out" 2>&1 ||
        fail "$name $* fails: $(tail -3 "$folder/out")"
    grep -q "check: not checked: .*$words" "$folder/out" || fail "$name $*: $(grep check: "$folder/out")"
    grep -q '"result":"not checked"' "$folder/out.json" || fail "$name $* is something else in the JSON"
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

# NAME KEY=VALUE...: dumps of its final heap, of one compaction in parts: each has the same objects, and no fewer free
# blocks than the one before; the last one has more.
dumps() {
    local name=$1 at="$folder/$1-dumps" objects free
    shift
    rm -rf "$at"
    set_pairs "$@" check=0 "dumps=$at"
    "$bench" run "$name" --no-cache "${sets[@]}" >"$folder/out" 2>&1 || fail "$name with dumps: $(tail -3 "$folder/out")"
    objects=$(sed -n 's/^  "blocks": .*"objects": \([0-9]*\), .*/\1/p' "$at"/*.json | sort -u)
    free=$(sed -n 's/.*"free_blocks": \([0-9]*\), .*/\1/p' "$at"/*.json)
    [ "$(wc -w <<<"$objects")" = 1 ] || fail "$name: dumps of several numbers of objects: $objects"
    sort -nc <<<"$free" || fail "$name: free blocks become fewer: $free"
    [ "$(tail -1 <<<"$free")" -gt "$(head -1 <<<"$free")" ] || fail "$name: compaction frees no block: $free"
}
dumps app-wa-tor width=100 height=100 steps=90 heap_mb=1
dumps app-barnes-hut bodies=2000 steps=10
