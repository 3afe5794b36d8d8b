#!/usr/bin/env bash
# The shuffles of clumpi_new() (cl/lanes.clh) stay one set, even where a compiler does not know that a
# warp meets in them: NVIDIA's splits a loop whose branch it takes for the same in all rounds, and then the
# leader and the rest shuffle apart. Optimises the kernel with the `convergent` marks taken away and loop
# unswitching at its most eager, and counts. Skips (77) without clang and LLVM's opt.
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

cat >"$work/churn.cl" <<'EOF'
#include "cl/device_api.clh"
__kernel void churn(CLUMP_HEAP, __global uint *out, uint steps) {
    clumpi_view v = CLUMPI_VIEW;
    clumpi_shape a = {1, 1, 64, 4096}, b = {2, 2, 32, 2048};
    uint made = 0, tag = (uint)get_global_id(0);
    for (uint s = 0; s < steps; s++, tag = tag * 1664525u + 1013904223u)
        made += (tag >> 9 & 1u ? clumpi_new(&v, a) : clumpi_new(&v, b)) != 0;
    out[get_global_id(0)] = made;
}
EOF
"$clang" -x cl -cl-std=CL1.2 -target nvptx64-nvidia-nvcl -Xclang -finclude-default-header \
    -D__OPENCL_VERSION__=120 -DCLUMPI_HAVE_PTX=1 -I"$root" -O2 -w -Xclang -disable-llvm-passes \
    -emit-llvm -S -o "$work/marked.ll" "$work/churn.cl"
sed -E 's/\bconvergent\b/nounwind/g' "$work/marked.ll" >"$work/bare.ll"
"$opt" -O3 -enable-new-pm=0 -loop-unswitch-threshold=1000 -inline-threshold=50 -S \
    -o "$work/eager.ll" "$work/bare.ll" 2>/dev/null
copies=$(grep -c 'define .*clumpi_new' "$work/eager.ll" || true)
shuffles=$(grep -c 'shfl.sync' "$work/eager.ll")
if [ "$copies" -ne 1 ] || [ "$shuffles" -ne 3 ]; then
    echo "clumpi_new() stands $copies times with $shuffles shuffles in all; one with 3 was expected"
    exit 1
fi
echo "3 shuffles, as written"
