#!/usr/bin/env bash
# The epidemic on 1, 2, 4 ... devices of a host, for docs/measurements/ranks.md: epidemic.sh MPIEXEC CLUMP_BENCH_MPI DEVICES ROWS [OPTION...]. ROWS of cells are the
# world of one device. First beside plain OpenCL; then the same world on more devices, whose checksum must be the same; then as much of it for each. Prints commands and output.
set -euo pipefail
mpiexec=$1 mpi=$2 devices=$3 rows=$4
shift 4
said=$(mktemp)
trap 'rm -f "$said"' EXIT

# run RANKS ROWS OPTION...: leaves the checksum in $sum.
run() {
    local ranks=$1 height=$2
    shift 2
    echo "\$ mpiexec -n $ranks clump-bench-mpi epidemic height=$height $*"
    "$mpiexec" -n "$ranks" "$mpi" epidemic height="$height" "$@" 2>&1 </dev/null | tee "$said"
    sum=$(sed -n 's/^checksum //p' "$said")
}

run 1 "$rows" "$@" plain=1
first=$sum
for ((n = 2; n <= devices; n *= 2)); do
    run "$n" "$rows" "$@"
    if [ "$sum" != "$first" ]; then
        echo "FAILED: $n ranks come to $sum, one to $first" >&2
        exit 1
    fi
done
for ((n = 2; n <= devices; n *= 2)); do run "$n" $((rows * n)) "$@"; done
