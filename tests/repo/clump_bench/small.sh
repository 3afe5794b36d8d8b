# Every benchmark at a small size, with the check that it makes of itself passed and the JSON as documented in
# bench/harness/report.c; and such a file compared with itself. benchmarks.sh and applications.sh share them.
#
# Read first: common.sh.
# shellcheck shell=bash disable=SC2154

# NAME KEY=VALUE...: small enough for seconds.
small() {
    case $1 in
        alloc-scalability) echo items=4096 launches=3 ;;
        alloc-mixed) echo heap_mb=1 sizes=16,64 warm=3 ;;
        alloc-churn) echo heap_mb=1 sizes=16,64 steps=40 pattern=waves period=20 csv="$folder/churn.csv" ;;
        alloc-exhaust) echo heap_mb=1 sizes=16,64 ;;
        alloc-capacity) echo heap_mb=1 sizes=16,64 counts=3,1 ;;
        alloc-bulk) echo objects=20000 ;;
        field-bandwidth) echo objects=20000 layout=aos type=uint2 ;;
        dispatch) echo objects=20000 work=3 ;;
        fuse) echo objects=20000 ;;
        ensemble) echo worlds=20 animals=1000 ;;
        queues) echo objects=500 work=10 launches=3 ;;
        launch) echo width=16 classes=3 fields=3 ;;
        save-load) echo objects=20000 density=0.5 file="$folder/heap.clump" ;;
        extract) echo objects=20000 density=0.5 share=0.3 array=3 ;;
        evict) echo objects=20000 ;;
        convert) echo objects=20000 density=0.5 to=aos array=3 ;;
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
        pool-buffers) echo live=200 chunk_kb=1024 ;;
        pool-fit) echo sequences=2 chunk_kb=16384 ;;
        pool-trace) echo frames=40 mb=8 chunk_kb=1024 defrag=budget ;;
        pool-defrag) echo tests=2 rounds=10 scale=256 grid=0 ;;
        *) fail "no small size is known for $1: add one here" ;;
    esac
}

names=$("$bench" list | sed -n 's/^\([a-z-]*\): .*/\1/p')
[ -n "$names" ] || fail "clump-bench list lists nothing"

# Applications and heaps to mark; the others measure one thing.
is_application() { case $1 in app-* | mark-* | capacity) true ;; *) false ;; esac; }

# run_small NAME...
run_small() {
    local name key line
    for name in "$@"; do
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
        for line in '"result":"ok",' '"commit":"([0-9a-f]{40}|unknown)",' '"tree":"(clean|changed|unknown)",' \
            '"load":[0-9.]+,' '"cpu_mhz_min":([1-9][0-9.]*|null),' '"cpu_mhz_max":([1-9][0-9.]*|null)}'; do
            grep -qE "$line" "$folder/$name.json" || fail "$name.json has no $line"
        done
    done
    echo "$# benchmarks"
}
