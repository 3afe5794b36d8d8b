#!/usr/bin/env bash
# Installs what is missing, builds with warnings as errors and runs all tests but the slow ones.
# Arguments go to ctest (-R name, -L label). CLUMP_DEVICE=TEXT chooses the device by a part of "platform / device",
# CLUMP_BUILD the build folder (default build/).
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
build=${CLUMP_BUILD:-$root/build}

"$root/scripts/setup.sh"
"$root/scripts/build.sh" "$build" -DCLUMP_WERROR=ON -DCLUMP_BUILD_TESTS=ON -DCLUMP_BUILD_BENCH=ON
log=$build/test.log
status=0
ctest --test-dir "$build" --output-on-failure -LE slow -j2 --no-tests=error "$@" 2>&1 |
    tee "$log" || status=$?

# The summary once more, for those who read only the end.
echo
sed -n '/tests passed/,$p' "$log" | sed -n '/tests passed\|Total Test time\|\*\*\*\|(Failed)\|(Timeout)\|(Skipped)/p'
exit "$status"
