#!/usr/bin/env bash
# PoCL 3.0 (PyPI; 3.1 of Debian 12 alike): the time to link a kernel doubles with each function of a row in which each one calls the
# one before it twice, since the linker goes through all chains of calls. Seen: with 17 such functions a program takes 0.6 s,
# as without any, and with 21 it takes 1.3 s.
. "$(dirname "$0")/common.sh"
use_pocl
export POCL_KERNEL_CACHE=0
build run
# kernel N: N functions in a row.
kernel() {
    echo "/* run: 1 1 1 */ /* expected: 0 */"
    echo "__attribute__((noinline)) uint f0(uint x) { return x * x; }"
    for ((i = 1; i <= $1; i++)); do
        echo "__attribute__((noinline)) uint f$i(uint x) { return f$((i - 1))(x) ^ f$((i - 1))(x ^ 1u); }"
    done
    echo "__kernel void k(__global uint *out, uint n) { out[0] = n == 12345u ? f$1(n) : 0u; }"
}
# time_of N: the least of three, in microseconds
time_of() {
    local least=1000000000 begun took
    kernel "$1" >"$1.cl"
    for _ in 1 2 3; do
        begun=${EPOCHREALTIME/./}
        ./run "$1.cl" >answer || { cat answer >&2; exit 1; }
        took=$((${EPOCHREALTIME/./} - begun))
        [ "$took" -ge "$least" ] || least=$took
    done
    echo "$least"
}
some=$(time_of 17) more=$(time_of 21)
echo "17 and 21 functions: $some and $more us"
expect yes "$([ "$more" -gt $((some + some / 2)) ] && echo yes || echo no)"
