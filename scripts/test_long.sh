#!/usr/bin/env bash
# Everything: all parts of .ci/run, and the slow tests. With arguments for ctest: of the slow tests those, and nothing else.
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
build=${CLUMP_BUILD:-$root/build}

status=0
if [ $# -eq 0 ]; then "$root/.ci/run" --everything || status=1; fi
"$root/scripts/setup.sh"
"$root/scripts/build.sh" "$build"
ctest --test-dir "$build" --output-on-failure -L slow "$@" || status=1
exit "$status"
