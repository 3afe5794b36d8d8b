# What the tests of clump-bench begin with; each is a file of this folder. They run side by side and find the kernels
# that another one compiled in PoCL's cache. The library's own cache is left out: it makes PoCL compile
# all kernels again (docs/measurements/start-up.md).
#
#   NAME.sh PROGRAM FOLDER      FOLDER is made
#
# Exit status 77: no OpenCL device.
# shellcheck shell=bash disable=SC2034
set -euo pipefail
bench=$1
folder=$2
mkdir -p "$folder"

fail() {
    echo "FAILED: $*"
    exit 1
}

# WORDS...: their pairs KEY=VALUE as options, in `sets`.
set_pairs() {
    sets=()
    for pair in "$@"; do sets+=(--set "$pair"); done
}

# STATUS WORDS ARGUMENT...: a call that fails, and says why.
refused() {
    local status=0 expected=$1 words=$2
    shift 2
    "$bench" "$@" >"$folder/out" 2>"$folder/err" || status=$?
    [ "$status" -eq "$expected" ] || fail "'$*' exits with $status, not $expected"
    grep -q -- "$words" "$folder/err" || fail "'$*' does not say '$words': $(cat "$folder/err")"
}

"$bench" devices >"$folder/devices" 2>&1 || exit 77
