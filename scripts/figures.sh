#!/usr/bin/env bash
# Builds, and makes the figures of docs/measurements/compaction-paper.md anew: plots and the numbers behind them.
# FIGURES names another folder for them. Arguments go on: --device NAME, --set objects=N,
# --set table_objects=32768000 for the times of the paper's size.
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
build=${CLUMP_BUILD:-$root/build}

"$root/scripts/build.sh" "$build" -DCLUMP_BUILD_BENCH=ON
exec "$build/bench/clump-bench" figures --out "${FIGURES:-$root/docs/figures-compaction}" "$@"
