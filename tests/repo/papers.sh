#!/usr/bin/env bash
# clump-bench paper: each paper at its small scale, with every table and figure, all checks passed and no cell
# of a run that was made left empty; what --only and --from do; wrong words refused; the switches of the
# allocator reach an application's program; and docs/measurements/papers.md is what bench/results gives.
#
#   papers.sh PROGRAM FOLDER
#
# Exit status 77: no OpenCL device.
set -euo pipefail
bench=$1
folder=$2
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
rm -rf "$folder"
mkdir -p "$folder"

fail() {
    echo "FAILED: $*"
    exit 1
}

"$bench" devices >"$folder/devices" 2>&1 || exit 77

# items NAME: its tables and figures.
items() { "$bench" list | sed -n "/^paper $1: /{n;p}"; }

# ---- Each paper ---------------------------------------------------------------------------------
for name in thesis ismm maas eichinger; do
    at=$folder/$name
    "$bench" paper "$name" --scale small --repeat 1 --out "$at" >"$at.txt" 2>&1 || fail "$name: $(tail -3 "$at.txt")"
    [ "$(grep -c '  check: ok: ' "$at.txt")" -ge 5 ] || fail "$name runs next to nothing"
    grep '  check: ' "$at.txt" | grep -v 'check: ok: ' && fail "$name has runs that are not checked"
    [ -n "$(items "$name")" ] || fail "clump-bench list does not list $name"
    for item in $(items "$name"); do
        grep -q "^## $item: " "$at/$name.md" || fail "$name.md has no $item"
    done
    # Small pools have not all sizes of figures 5.1 to 5.4.
    grep 'not in this run' "$at/$name.md" | grep -v '^| [0-9]*[02468] |' && fail "$name.md: a run was made, but its cell is empty"
    grep -q '"key":.*"'"$name"'/' "$at/$name.json" || fail "$name.json has no runs by name"
    if command -v gnuplot >/dev/null; then
        ls "$at/$name"-*.svg >/dev/null || fail "$name has no plot"
    fi
done

# A cell is what the run says, in the unit of the table.
python3 - "$folder" <<'END' || fail "cells are not what the runs say"
import csv, json, sys
folder = sys.argv[1]


def median(paper, run, metric):
    runs = json.load(open(f"{folder}/{paper}/{paper}.json"))["benchmarks"]
    return [r for r in runs if r["key"] == f"{paper}/{run}"][0]["metrics"][metric]["median"]


def cell(paper, item, row, column):
    rows = list(csv.reader(open(f"{folder}/{paper}/{paper}-{item}.csv")))
    return float([r for r in rows if r[0] == row][0][rows[0].index(column)])


def compare(name, found, expected):
    if abs(found - expected) > 1e-6 * abs(expected):
        sys.exit(f"{name} is {found}, not {expected}")


compare("a time", cell("thesis", "figure-5.8", "nbody", "Clump"), median("thesis", "nbody", "time_per_step_us"))
compare("a product", cell("thesis", "figure-5.12A", "16", "both, us by n"), median("thesis", "n16", "time_us") / 16)
compare("a share", cell("thesis", "section-5.6.4", "DynaSOAr, Clump", "ours"), 100 * median("thesis", "full", "usable"))
compare("a value of the paper", cell("ismm", "figure-8", "5", "paper"), 31)
compare("a gain", cell("ismm", "figure-14", "1", "gain, ours, %"),
        100 * (1 - median("ismm", "wa-tor-1", "time_per_step_us") / median("ismm", "wa-tor-none", "time_per_step_us")))
series = list(csv.DictReader(open(f"{folder}/thesis/thesis-steps.series.csv")))
compare("the most of a series", cell("thesis", "figure-5.10D", "most fish", "ours"), max(float(r["fish"]) for r in series))
compare("the last of a series", cell("thesis", "figure-5.10D", "F after 500 steps", "ours"),
        100 * float(series[-1]["fragmentation"]))
if not all(float(r["step_us"]) > 0 for r in series[1:]):
    sys.exit("a step takes no time")
levels = list(csv.DictReader(open(f"{folder}/maas/maas-power.series.csv")))
known = sum(float(r["at_depth"]) for r in levels if r["at_depth"] != "nan")
compare("objects over all depths", known, median("maas", "power", "live"))
compare("objects of all degrees", sum(float(r["with_degree"]) for r in levels if r["with_degree"] != "nan"), known)
END

# ---- --only and --from --------------------------------------------------------------------------
at=$folder/only
"$bench" paper eichinger --scale small --only table-5.2 --out "$at" >/dev/null
"$bench" paper eichinger --scale small --only figure-5.1 --out "$at" >/dev/null
[ "$(grep -c '"key":' "$at/eichinger.json")" = 2 ] || fail "--only does not add to the runs of the same sitting"
"$bench" paper eichinger --scale small --from "$at" --only table-5.2 --out "$folder/from" >/dev/null 2>&1
grep -q '^| first-fit | 0.284 | [0-9.]* |' "$folder/from/eichinger.md" || fail "--from does not find the run"
"$bench" paper eichinger --from "$at" --only table-5.2 --out "$folder/from" >/dev/null 2>&1
grep -q '^| first-fit | 0.284 | not run yet |' "$folder/from/eichinger.md" || fail "a small run stands for the paper's set-up"

refuse() {
    local words=$1
    shift
    if "$bench" "$@" >"$folder/refused" 2>&1; then fail "clump-bench $* does something"; fi
    grep -q -- "$words" "$folder/refused" || fail "clump-bench $*: $(cat "$folder/refused")"
}
refuse "there are: thesis, ismm, maas, eichinger" paper nobody --from "$at" --out "$folder/no"
refuse "there are table-5.2" paper eichinger --only table-9 --from "$at" --out "$folder/no"
refuse "full or small" paper eichinger --scale tiny --out "$folder/no"
refuse "neither eichinger.json nor suite.json" paper eichinger --from "$folder" --out "$folder/no"
refuse "belong to the command paper" run pool-fit --only table-5.2
refuse "strategy=merge" run app-collision --set compact=every:2 --set rewrite=global
refuse "strategy=merge" run app-collision --set compact=every:2 --set retain=3

# ---- Switches of the allocator reach the program of an application ------------------------------
cache=$folder/cache
for set in retries=0 retries=3 rotation=off coalescing=off; do
    CLUMP_CACHE=$cache XDG_CACHE_HOME=$cache "$bench" run app-nbody --set bodies=64 --set steps=1 --set "$set" >"$folder/switch" 2>&1 ||
        fail "app-nbody with $set: $(tail -3 "$folder/switch")"
    grep -q 'check: ok: ' "$folder/switch" || fail "app-nbody with $set checks nothing"
    find "$cache" -name '*.clump' | wc -l
done >"$folder/programs"
[ "$(sort -nu "$folder/programs" | wc -l)" = 4 ] || fail "switches do not make programs of their own: $(cat "$folder/programs")"

# ---- The page -----------------------------------------------------------------------------------
build=$(cd "$(dirname "$bench")/.." && pwd)
CLUMP_BUILD=$build "$root/scripts/papers.sh" "$folder/docs" >/dev/null 2>&1
diff "$root/docs/measurements/papers.md" "$folder/docs/measurements/papers.md" ||
    fail "docs/measurements/papers.md is not what bench/results gives: run scripts/papers.sh"
