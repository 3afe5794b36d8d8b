#!/usr/bin/env bash
# Installs what is missing, builds clump-bench, and runs the demonstration. Arguments go to it.
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
build=${CLUMP_BUILD:-$root/build}

"$root/scripts/setup.sh"
"$root/scripts/build.sh" "$build" --target clump-bench
exec "$build/bench/clump-bench" demo "$@"
