#!/usr/bin/env bash
# The code of cl/core under the memory model RC11, by GenMC (genmc.c): without a fault nothing may be found, with a fence
# left out something must be. GenMC is no package of Debian's: https://github.com/MPI-SWS/genmc, 0.10 with LLVM 14.
#
#   genmc.sh            exit status 77 without genmc; GENMC names it if it is not in the PATH
set -euo pipefail
genmc=${GENMC:-genmc}
command -v "$genmc" >/dev/null || { echo "no genmc: set GENMC"; exit 77; }
root=$(cd "$(dirname "$0")/../../.." && pwd)
failed=0

# check WORD OPTION...: WORD is `right` or `wrong`.
check() {
    local expected=$1 found=wrong log
    shift
    log=$("$genmc" --rc11 --disable-estimation -- -I"$root" "$@" "$root/tests/protocol/model/genmc.c" 2>&1) || true
    if grep -q 'No errors were detected' <<<"$log"; then
        found=right
    elif ! grep -q 'Safety violation' <<<"$log"; then
        echo "$log" >&2
        failed=1
    fi
    echo "$* $found, $(sed -n 's/Number of complete executions explored: //p' <<<"$log") executions"
    if [ "$found" != "$expected" ]; then
        echo "  it should be $expected" >&2
        failed=1
    fi
}

check right -DPROGRAM_HINTS -DLEVELS=2
check wrong -DPROGRAM_HINTS -DLEVELS=2 -DNO_FENCE
check wrong -DPROGRAM_HINTS -DLEVELS=2 -DNO_RELEASE
check right -DPROGRAM_HINTS -DLEVELS=2 -DWEAK_FENCE
check right -DPROGRAM_HINTS -DWORKERS=3
check right -DPROGRAM_HINTS -DWORKERS=3 -DWEAK_FENCE
check right -DPROGRAM_HELPER
check wrong -DPROGRAM_HELPER -DNO_FENCE
check wrong -DPROGRAM_HELPER -DNO_RELEASE
check right -DPROGRAM_HELPER -DWEAK_FENCE
exit $failed
