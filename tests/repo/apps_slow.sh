#!/usr/bin/env bash
# Every application in every variant at the size of its benchmark: each run agrees with its sequential
# reference, or is that reference, and all variants end with the same checksum.
#
#   apps_slow.sh PROGRAM FOLDER [KEY=VALUE...]
#
# KEY=VALUE, such as steps=20, is set in all runs. Exit status 77: no OpenCL device.
set -euo pipefail
bench=$1
folder=$2
shift 2
mkdir -p "$folder"

fail() {
    echo "FAILED: $*"
    exit 1
}

"$bench" devices >"$folder/devices" 2>&1 || exit 77
"$bench" list >"$folder/list"

sets=()
for pair in "$@"; do sets+=(--set "$pair"); done
names=$(sed -n 's/^\(app-[a-z-]*\): .*/\1/p' "$folder/list")
[ "$(echo "$names" | wc -w)" -eq 9 ] || fail "there are not nine applications: $names"
for name in $names; do
    # The line behind that of `variant` has its values.
    variants=$(sed -n "/^$name: /,/^\$/p" "$folder/list" | sed -n '/^  variant /{n;p;}' | tr -d ' ' | tr '|' ' ')
    [[ " $variants " == *" clump "*" sequential "* ]] || fail "$name has the variants '$variants'"
    checksum=
    for variant in $variants; do
        at=$folder/$name-$variant
        "$bench" run "$name" --set "variant=$variant" "${sets[@]}" --repeat 1 >"$at" 2>&1 ||
            fail "$name, $variant: $(tail -3 "$at")"
        grep -qE "check: (ok|not checked: this is the reference)" "$at" || fail "$name, $variant, checks nothing"
        found=$(sed -n 's/^  checksum  *number  *\([0-9]*\) .*/\1/p' "$at")
        [ -n "$found" ] || fail "$name, $variant, has no checksum"
        [ "${checksum:=$found}" = "$found" ] || fail "$name: $variant ends with $found, clump with $checksum"
        echo "$name $variant: $(sed -n 's/^  time_per_step_us  *us  *\([0-9.]*\) .*/\1/p' "$at") us a step"
    done
done
