#!/usr/bin/env bash
# The rule of cl/core/lanes.clh: what involves other lanes stands once in a program, whatever kernels it has.
# Compiles programs of one and of many kernels with the marks taken away by which clang knows that lanes
# meet in an operation, optimises them eagerly, as a compiler does that does not know, and counts.
# tests/diff/heap/diff_lanes.c counts in what NVIDIA's compiler makes. Skips (77) without clang and opt.
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
clang=$(command -v clang-14 || command -v clang || true)
opt=$(command -v opt-14 || ls /usr/lib/llvm-14/bin/opt 2>/dev/null || true)
if [ -z "$clang" ] || [ -z "$opt" ]; then
    echo "skipped: needs clang and opt"
    exit 77
fi
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

cat >"$work/one.cl" <<'EOF_KERNEL'
/* clang's header has these twice for this target. What they do does not matter here. */
ulong atomic_of_64(volatile __global ulong *p, ulong v);
ulong exchange_of_64(volatile __global ulong *p, ulong expected, ulong v);
#define atom_add atomic_of_64
#define atom_or atomic_of_64
#define atom_and atomic_of_64
#define atom_cmpxchg exchange_of_64
#include "cl/api/device_api.clh"
__kernel void churn(CLUMP_HEAP, __global uint *out, uint steps) {
    uint made = 0, tag = (uint)get_global_id(0);
    for (uint s = 0; s < steps; s++, tag = tag * 1664525u + 1013904223u) {
        uint ref = tag >> 9 & 1u ? clumpi_new(clump_heap, 1) : clumpi_new(clump_heap, 2);
        if (tag >> 10 & 1u) clumpi_free(clump_heap, 1, 2, ref);
        made += ref != 0;
        if (tag >> 11 & 1u) clumpi_add_together(out + (tag & 3u), 1u);
    }
    out[get_global_id(0)] = made;
}
EOF_KERNEL
cp "$work/one.cl" "$work/many.cl"
cat >>"$work/many.cl" <<'EOF_KERNEL'
__kernel void two(CLUMP_HEAP, __global uint *out, uint salt) {
    uint me = (uint)get_global_id(0);
    if ((me ^ salt) & 1u) out[2 * me] = clumpi_new(clump_heap, 1);
    if ((me ^ salt) & 6u) out[2 * me + 1] = clumpi_new(clump_heap, 2);
}
__kernel void swap(CLUMP_HEAP, __global uint *out) {
    uint me = (uint)get_global_id(0);
    clumpi_free(clump_heap, 1, 1, out[me]);
    clumpi_free(clump_heap, 2, 3, out[me] + 1);
    out[me] = clumpi_new(clump_heap, 2);
    if (out[me] & 1u) clumpi_add_together(out, out[me]);
    clumpi_add_together(out + 1, me);
}
EOF_KERNEL

# As cl/core/lanes.clh has them.
expected="activemask=4 match.any.sync.b32=1 match.any.sync.b64=2 shfl.sync=5 redux.sync=4 bar.warp.sync=1"
failed=0
for program in one many; do
    "$clang" -x cl -cl-std=CL1.2 -target nvptx64-nvidia-nvcl -Xclang -finclude-default-header \
        -D__OPENCL_VERSION__=120 -DCLUMPI_HAVE_PTX=1 -DCLUMPI_HAVE_INT64_ATOMICS=1 -DCLUMPI_HEADER_AT=2 \
        -I"$root" -O2 -w -Xclang -disable-llvm-passes -emit-llvm -S -o "$work/marked.ll" "$work/$program.cl"
    sed -E 's/\bconvergent\b/nounwind/g' "$work/marked.ll" >"$work/bare.ll"
    "$opt" -O3 -enable-new-pm=0 -loop-unswitch-threshold=1000 -inline-threshold=5000 -S \
        -o "$work/eager.ll" "$work/bare.ll" 2>/dev/null
    found=""
    for pair in $expected; do
        operation=${pair%=*}
        found+="$operation=$(grep -c "\"$operation" "$work/eager.ll" || true) "
    done
    if [ "${found% }" != "$expected" ]; then
        echo "FAILED: a program of $program kernel(s) has ${found% }"
        failed=1
    fi
done
[ "$failed" -eq 0 ] && echo "$expected, whatever kernels a program has"
exit "$failed"
