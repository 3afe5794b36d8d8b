#!/usr/bin/env bash
# Fuzzes what reads bytes from outside with libFuzzer, and keeps what it finds:
#
#   fuzz.sh [--seconds N | --runs N] [NAME...]     a minute of each target, or of those that are named
#   fuzz.sh --merge [NAME...]                      only takes new coverage into the kept corpora
#   fuzz.sh --no-merge ...                         leaves them as they are
#
# Targets are tests/fuzz/fuzz_NAME.c, built by clang with the address and the undefined-behaviour sanitizer in
# build-fuzz/ (CLUMP_BUILD_FUZZ). Each works on a corpus of its own in build-fuzz/corpus/NAME, which stays for the next
# run, and ends with a merge: an input that reaches an edge that no other does becomes a line of
# tests/fuzz/corpus/NAME.txt, to which lines are only added.
# An input that fails is in build-fuzz/found/NAME-*; once mended, give it a name that says what it found and keep it:
# tests/fuzz/corpus.py add. CLUMP_FUZZ_CC names the compiler (clang-14, else clang). Prints a table, and fails if a target
# did.
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
build=${CLUMP_BUILD_FUZZ:-$root/build-fuzz}
limit=-max_total_time=60
merge=1
while [ $# -gt 0 ]; do
    case $1 in
    --seconds) limit=-max_total_time=$2 && shift 2 ;;
    --runs) limit=-runs=$2 && shift 2 ;;
    --merge) limit= && shift ;;
    --no-merge) merge=0 && shift ;;
    -*)
        echo "fuzz: unknown option $1; there are --seconds, --runs, --merge, --no-merge" >&2
        exit 2
        ;;
    *) break ;;
    esac
done

"$root/scripts/setup.sh"
compiler=${CLUMP_FUZZ_CC:-$(command -v clang-14 || command -v clang || true)}
if [ -z "$compiler" ] ||
    ! echo 'int LLVMFuzzerTestOneInput(const char *d, long n) { return d == 0 && n; }' |
    "$compiler" -fsanitize=fuzzer,address,undefined -x c - -o /dev/null 2>/dev/null; then
    echo "fuzz: skipped: no clang with libFuzzer (Debian: clang-14 libclang-rt-14-dev); the tests fuzz_NAME replay" \
        "the corpora without it" >&2
    exit 77
fi
if [ ! -f "$build/CMakeCache.txt" ]; then
    generator=()
    if command -v ninja >/dev/null; then generator=(-G Ninja); fi
    cmake -S "$root" -B "$build" "${generator[@]}" -DCMAKE_C_COMPILER="$compiler" -DCLUMP_FUZZER=ON \
        -DCLUMP_BUILD_TESTS=ON -DCLUMP_BUILD_BENCH=ON -DCMAKE_BUILD_TYPE=RelWithDebInfo >/dev/null
fi
cmake --build "$build" --target fuzzers --parallel "$(nproc)" >/dev/null

# Long enough for what a format can say, and short enough to be quick.
declare -A length=([cache]=200 [graph]=256 [map]=600 [options]=640 [pattern]=100 [results]=700 [save]=700 [schema]=400 [suballoc]=120 [trace]=300)
names=("$@")
if [ $# -eq 0 ]; then
    for source in "$root"/tests/fuzz/fuzz_*.c; do
        name=${source##*/fuzz_}
        names+=("${name%.c}")
    done
fi

export ASAN_OPTIONS=quarantine_size_mb=16:${ASAN_OPTIONS:-}
status=0
mkdir -p "$build/found"
printf '%-10s | %12s | %6s | %8s | %7s | %s\n' target executions edges features seconds result
for name in "${names[@]}"; do
    corpus=$root/tests/fuzz/corpus/$name own=$build/corpus/$name kept=$build/kept/$name log=$build/fuzz-$name.log
    result=passed
    rm -rf "$kept"
    mkdir -p "$own" "$kept"
    if [ -f "$corpus.txt" ]; then "$root/tests/fuzz/corpus.py" unpack "$corpus.txt" "$kept"; fi
    started=$SECONDS
    if [ -n "$limit" ]; then
        "$build/tests/fuzz_$name" "$limit" -max_len="${length[$name]:-200}" -timeout=20 -print_final_stats=1 \
            -artifact_prefix="$build/found/$name-" -dict="$root/tests/fuzz/corpus/words.dict" "$own" "$kept" >"$log" 2>&1 || result=FAILED
    else
        : >"$log"
    fi
    seconds=$((SECONDS - started))
    # Edges alone, and not how often: the kept corpora stay small.
    if [ $result = passed ] && [ $merge = 1 ]; then
        if "$build/tests/fuzz_$name" -merge=1 -use_counters=0 -max_len=4096 "$kept" "$own" >>"$log.merge" 2>&1; then
            "$root/tests/fuzz/corpus.py" add "$corpus.txt" "$kept"/*
        else
            result=FAILED
        fi
    fi
    # The last line with figures says: #N WHAT cov: EDGES ft: FEATURES ...
    printf '%-10s | %12s | %6s | %8s | %7s | %s\n' "$name" \
        "$(sed -n 's/^stat::number_of_executed_units: *//p' "$log" | tail -n 1)" \
        "$(sed -n 's/.* cov: \([0-9]*\) .*/\1/p' "$log" | tail -n 1)" \
        "$(sed -n 's/.* ft: \([0-9]*\) .*/\1/p' "$log" | tail -n 1)" "$seconds" "$result"
    if [ $result != passed ]; then
        status=1
        grep -E 'does not hold|ERROR|SUMMARY|runtime error|Test unit written' "$log" || tail -n 5 "$log"
    fi
done
exit $status
