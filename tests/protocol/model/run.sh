#!/usr/bin/env bash
# Checks the models of this folder with Spin, all interleavings of each: without a fault nothing may be found, with each fault
# that the head of a model names (FAULTS:) something must be. What it lists as SUPERFLUOUS
# must not matter.
#
#   run.sh FOLDER [MODEL...]     work in FOLDER; exit status 77 without spin
set -euo pipefail
command -v spin >/dev/null || { echo "no spin: scripts/setup.sh installs it"; exit 77; }
here=$(cd "$(dirname "$0")" && pwd)
work=$1
shift
models=("$@")
[ ${#models[@]} -gt 0 ] || models=(hints null helper blocks stripes)
mkdir -p "$work"
cd "$work"
failed=0

# names WORD MODEL: what the model's head lists after the word.
names() { sed -n "s|^ \* $1: ||p" "$here/$2.pml"; }

# errors MODEL OPTION...: how many errors the search of all states finds, and the number of states.
errors() {
    local model=$1 folder
    shift
    folder=$(mktemp -d "$model.XXXX")
    (
        cd "$folder"
        cp "$here"/*.pml .
        spin -a "$@" "$model.pml" >spin.log
        "${CC:-cc}" -O1 -w -DSAFETY -DMEMLIM=4000 -o pan pan.c
        ./pan -m1000000 -w22 >pan.log
        grep -q 'max search depth too small\|out of memory' pan.log && { cat pan.log >&2; exit 1; }
        sed -n 's/.*errors: \([0-9]*\).*/\1/p; s/^ *\([0-9.e+]*\) states, stored.*/\1/p' pan.log | tr '\n' ' '
    )
    rm -rf "$folder"
}

for model in "${models[@]}"; do
    read -r states found < <(errors "$model" | awk '{ print $2 " " $1 }')
    echo "$model: $states states, $found errors"
    if [ "$found" != 0 ]; then failed=1; fi
    for fault in $(names FAULTS "$model"); do
        read -r _ found < <(errors "$model" "-D$fault" | awk '{ print $2 " " $1 }')
        if [ "$found" = 0 ]; then
            echo "$model: the fault $fault is not found"
            failed=1
        else
            echo "$model: the fault $fault is found"
        fi
    done
    for fault in $(names SUPERFLUOUS "$model"); do
        read -r _ found < <(errors "$model" "-D$fault" | awk '{ print $2 " " $1 }')
        echo "$model: with $fault $found errors"
        if [ "$found" != 0 ]; then failed=1; fi
    done
done
exit $failed
