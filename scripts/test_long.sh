#!/usr/bin/env bash
# As test.sh, but runs the slow tests only.
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
build=${CLUMP_BUILD:-$root/build}

"$root/scripts/setup.sh"
"$root/scripts/build.sh" "$build"
exec ctest --test-dir "$build" --output-on-failure -L slow "$@"
