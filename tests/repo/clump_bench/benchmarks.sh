#!/usr/bin/env bash
# clump-bench as its users call it: each benchmark that measures one thing, at a small size.
#
# Read first: common.sh, which says how it is called; small.sh.
# shellcheck disable=SC1091,SC2154 # common.sh sets bench, folder and sets
source "$(dirname "$0")/common.sh"
source "$(dirname "$0")/small.sh"

chosen=()
for name in $names; do is_application "$name" || chosen+=("$name"); done
# A short run: of each kind one. All of them are clump-bench-benchmarks@whole.
if [ -n "${CLUMP_SHORT:-}" ]; then
    for name in $names; do small "$name" >/dev/null; done
    chosen=(alloc-scalability alloc-churn enumerate start-up pool-alloc)
fi
run_small "${chosen[@]}"

load=$(cut -d' ' -f1 /proc/loadavg 2>/dev/null || true)
[ -z "$load" ] || sed -n 's/.*"load":\([^,]*\),.*/\1/p' "$folder"/alloc-*.json |
    awk -v now="$load" '{ if ($1 < 0 || $1 > now + 64 || $1 == "null") bad = 1 } END { exit bad || !NR }' ||
    fail "the load in the JSON is not that of this machine, $load"
if grep -q '^cpu MHz' /proc/cpuinfo 2>/dev/null; then
    grep -q '"cpu_mhz_min":null' "$folder/enumerate.json" && fail "no clocks, but /proc/cpuinfo has them"
fi
[ "$(wc -l <"$folder/churn.csv")" -eq 6 ] || fail "alloc-churn's table has not 5 samples"
[ -z "${CLUMP_SHORT:-}" ] || exit 0
# The other layouts of arrays.
for words in "arrays outside soa" "arrays max soa" "arrays packed soa" "arrays inline aos" "graph outside soa" "graph max aos"; do
    read -r name layout class <<<"$words"
    # shellcheck disable=SC2046 # words
    set_pairs $(small "$name")
    "$bench" run "$name" --no-cache "${sets[@]}" --set "layout=$layout" --set "class=$class" --repeat 1 >"$folder/out" 2>&1 ||
        fail "$words: $(tail -3 "$folder/out")"
done
# To memory, which more threads copy than there are cores.
"$bench" run save-load --no-cache --set objects=20000 --set density=0.5 --set array=3 --set threads=12 --repeat 1 >"$folder/out" 2>&1 ||
    fail "save-load with threads: $(tail -3 "$folder/out")"
# Without --no-cache programs are kept.
XDG_CACHE_HOME=$folder/cache "$bench" run host-access --set objects=1000 --repeat 1 >"$folder/out" 2>&1 ||
    fail "host-access with a cache: $(tail -3 "$folder/out")"
[ -n "$(ls "$folder/cache/clump" 2>/dev/null)" ] || fail "no program is kept"
