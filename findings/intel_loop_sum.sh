#!/usr/bin/env bash
# Intel's CPU runtime 2026.2.0 (PyPI): the sum of a loop is added up in another order than the kernel's when the compiler vectorises the loop,
# without any option that allows it. C and OpenCL C fix the order: 2^24 + 1 is 2^24 in float, and so on, so the sum is 2^24. Seen: a larger one.
# With `#pragma clang loop vectorize(disable)` in front of the loop it is right, and so it is with -cl-opt-disable, and with
# CL_CONFIG_CPU_VECTORIZER_MODE=1, which asks for no vectors.
. "$(dirname "$0")/common.sh"
use_intel
build run
for name in plain scalar; do
    pragma=
    if [ "$name" = scalar ]; then pragma='#pragma clang loop vectorize(disable)'; fi
    cat >"$name.cl" <<END
/* run: 1 1 200 */
/* expected: 16777216 */
/* 2^24, and 1 for each number after 0. */
__kernel void k(__global uint *out, uint n) {
    __local float table[512];
    float sum = 0.0f;
    for (uint i = get_local_id(0); i < n; i += get_local_size(0)) table[i] = i ? 1.0f : 16777216.0f;
    barrier(CLK_LOCAL_MEM_FENCE);
    $pragma
    for (uint i = 0; i < n; i++) sum += table[i];
    out[0] = (uint)sum;
}
END
done
./run plain.cl || true
expect "16777216 right" "$(./run scalar.cl | sed 's/.*: //')"
expect "16777216 right" "$(./run plain.cl -cl-opt-disable | sed 's/.*: //')"
expect "16777216 right" "$(CL_CONFIG_CPU_VECTORIZER_MODE=1 ./run plain.cl | sed 's/.*: //')"
expect WRONG "$(./run plain.cl | sed 's/.* //')"
