#!/usr/bin/env bash
# clump-bench as its users call it: every benchmark at a small size, with the check that it makes of itself
# passed and the JSON as documented in bench/harness/report.c; and such a file compared with itself.
#
# Read first: common.sh, which says how it is called.
# shellcheck disable=SC1091,SC2154 # common.sh sets bench, folder and sets
source "$(dirname "$0")/common.sh"

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
        dispatch) echo objects=20000 work=3 ;;
        fuse) echo objects=20000 ;;
        save-load) echo objects=20000 density=0.5 file="$folder/heap.clump" ;;
        extract) echo objects=20000 density=0.5 share=0.3 ;;
        map) echo keys=5000 ;;
        vector) echo elements=20000 first=64 ;;
        grid) echo bodies=3000 ;;
        arrays) echo objects=3000 ;;
        graph) echo vertices=2000 batch=100 ;;
        survey-alloc) echo items=2000 bytes=3000 low=4 who=warp ;;
        survey-oom) echo heap_mb=4 bytes=200 items=2000 ;;
        survey-work) echo items=3000 bytes=300 ;;
        survey-graph-init) echo vertices=2000 ;;
        survey-graph-update) echo vertices=2000 batch=100 range=50 ;;
        host-access) echo objects=20000 density=0.5 type=ushort ;;
        start-up) echo cache="$folder/start-up" ;;
        enumerate) echo objects=20000 density=0.5 together=64 ;;
        compact-synthetic) echo objects=20000 ;;
        compact-quality) echo objects=2000 step=50 csv="$folder/quality.csv" ;;
        compact-passes) echo objects=2000 csv="$folder/passes.csv" ;;
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

names=$("$bench" list | sed -n 's/^\([a-z-]*\): .*/\1/p')
[ -n "$names" ] || fail "clump-bench list lists nothing"
for name in $names; do
    # shellcheck disable=SC2046 # words
    set_pairs $(small "$name")
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
if grep -q '"preset' "$folder/app-wa-tor.json"; then fail "a run without preset has one"; fi
[ "$(wc -l <"$folder/churn.csv")" -eq 6 ] || fail "alloc-churn's table has not 5 samples"
# The other layouts of arrays.
for words in "arrays outside soa" "arrays max soa" "arrays packed soa" "arrays inline aos" "graph outside soa" "graph max aos"; do
    read -r name layout class <<<"$words"
    # shellcheck disable=SC2046 # words
    set_pairs $(small "$name")
    "$bench" run "$name" --no-cache "${sets[@]}" --set "layout=$layout" --set "class=$class" --repeat 1 >"$folder/out" 2>&1 ||
        fail "$words: $(tail -3 "$folder/out")"
done
# 28 bytes of fields and 20 of states for each of 100 bodies, in each of the rounds.
"$bench" run app-nbody --no-cache --set variant=soa --set bodies=100 --set steps=2 --repeat 3 >"$folder/memory" 2>&1
grep -q "buffer_bytes  *B  *4800  *4800  *4800" "$folder/memory" ||
    [ -z "$(grep buffer_bytes "$folder/capacity.txt")" ] || # a shared libclump
    fail "100 bodies in arrays take other bytes than 4800: $(grep buffer_bytes "$folder/memory")"
# Without --no-cache programs are kept.
XDG_CACHE_HOME=$folder/cache "$bench" run host-access --set objects=1000 --repeat 1 >"$folder/out" 2>&1 ||
    fail "host-access with a cache: $(tail -3 "$folder/out")"
[ -n "$(ls "$folder/cache/clump" 2>/dev/null)" ] || fail "no program is kept"
echo "$(echo "$names" | wc -w) benchmarks"
