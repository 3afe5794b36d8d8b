#!/usr/bin/env bash
# clump-bench as its users call it: each application, and each heap that is marked, at a small size.
#
# Read first: common.sh, which says how it is called; small.sh.
# shellcheck disable=SC1091,SC2154 # common.sh sets bench, folder and sets
source "$(dirname "$0")/common.sh"
source "$(dirname "$0")/small.sh"

chosen=()
for name in $names; do ! is_application "$name" || chosen+=("$name"); done
run_small "${chosen[@]}"

if grep -q '"preset' "$folder/app-wa-tor.json"; then fail "a run without preset has one"; fi
# 28 bytes of fields and 20 of states for each of 100 bodies, in each of the rounds.
"$bench" run app-nbody --no-cache --set variant=soa --set bodies=100 --set steps=2 --repeat 3 >"$folder/memory" 2>&1
grep -q "buffer_bytes  *B  *4800  *4800  *4800" "$folder/memory" ||
    [ -z "$(grep buffer_bytes "$folder/capacity.txt")" ] || # a shared libclump
    fail "100 bodies in arrays take other bytes than 4800: $(grep buffer_bytes "$folder/memory")"
