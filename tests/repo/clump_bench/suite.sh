#!/usr/bin/env bash
# Two calls of the suite are one sitting: one JSON, one report, with all that was said about checks. The
# plots are what gnuplot is told.
#
# Read first: common.sh, which says how it is called.
# shellcheck disable=SC1091,SC2154 # common.sh sets bench, folder and sets
source "$(dirname "$0")/common.sh"

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
    grep -q "^{\"key\":\"$key\"," "$part/suite.json" || fail "suite.json has no $key"
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
