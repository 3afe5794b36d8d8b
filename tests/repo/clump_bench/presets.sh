#!/usr/bin/env bash
# Each preset of each application in small: the objects on the heap equal the sequential reference, the JSON names
# the preset and what is overridden. The constants of presets are compared by the test `presets`.
#
# Read first: common.sh, which says how it is called.
# shellcheck disable=SC1091,SC2154 # common.sh sets bench, folder and sets
source "$(dirname "$0")/common.sh"

patterns=$(dirname "$0")/../../../bench/apps/game-of-life/patterns
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
    # shellcheck disable=SC2046 # words
    set_pairs "preset=$preset" $(small_preset "$name")
    at=$folder/$name-$preset
    "$bench" run "$name" --no-cache "${sets[@]}" --repeat 1 --json "$at.json" >"$at.txt" 2>&1 ||
        fail "$name, preset $preset: $(tail -3 "$at.txt")"
    grep -q "check: ok: .* sequential reference" "$at.txt" || fail "$name, preset $preset, checks nothing"
    grep -q "\"preset\":\"$preset\"" "$at.json" || fail "$at.json does not name its preset"
    grep -q '"preset_overridden":\[[^]]*"steps"' "$at.json" || fail "$at.json: steps are not overridden"
    grep -q '_mean' "$at.json" || fail "$at.json does not say how many objects there were"
done <"$folder/presets"

# Layouts of the array in traffic's cars end with the checksum of the preset as it is.
path_sum() {
    # shellcheck disable=SC2046 # words
    set_pairs preset=dynasoar $(small_preset app-traffic) "$@"
    "$bench" run app-traffic --no-cache "${sets[@]}" --repeat 1 >"$folder/path.txt" 2>&1 || fail "traffic, $*: $(tail -3 "$folder/path.txt")"
    grep -q "check: ok: .* sequential reference" "$folder/path.txt" || fail "traffic, $*, checks nothing"
    awk '$1 == "checksum" { print $3 }' "$folder/path.txt"
}
expected=$(path_sum path=fixed)
[ -n "$expected" ] || fail "traffic has no checksum"
layouts="path=inline,inside=6 path=outside,car_fields=aos,compact=every:7"
for layout in $layouts; do
    # shellcheck disable=SC2046 # words
    sum=$(path_sum $(tr ',' ' ' <<<"$layout"))
    [ "$sum" = "$expected" ] || fail "traffic, $layout, ends with the checksum $sum, and path=fixed with $expected"
    case $layout in
        *path=outside* | *inline*) grep -Eq "car_outside_bytes +bytes +[1-9]" "$folder/path.txt" || fail "traffic, $layout, has nothing outside of cars" ;;
        *) grep -Eq "car_outside_bytes +bytes +0 " "$folder/path.txt" || fail "traffic, $layout, has something outside of cars" ;;
    esac
done
echo "$(wc -l <"$folder/presets") presets, $(wc -w <<<"$layouts") layouts of paths"
