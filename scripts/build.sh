#!/usr/bin/env bash
# Configures and builds: build.sh [FOLDER [--target "TARGET..."] [CMAKE_ARGUMENT...]]. The folder is build/ by default.
# All scripts build by this one, so that what one of them compiled serves the others.
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
build=${1:-$root/build}
[ $# -eq 0 ] || shift
target=()
if [ "${1:-}" = --target ]; then
    read -ra target <<<"--target $2"
    shift 2
fi

generator=()
if [ ! -f "$build/CMakeCache.txt" ] && command -v ninja >/dev/null; then generator=(-G Ninja); fi
zstd=() # where it is there, its use is tested
if echo '#include <zstd.h>' | "${CC:-cc}" -E -x c - >/dev/null 2>&1; then zstd=(-DCLUMP_ZSTD=ON); fi
cmake -S "$root" -B "$build" "${generator[@]}" "${zstd[@]}" -DCMAKE_BUILD_TYPE=RelWithDebInfo \
    -DCLUMP_WERROR=ON -DCLUMP_BUILD_TESTS=ON -DCLUMP_BUILD_BENCH=ON "$@"
cmake --build "$build" --parallel "$(nproc)" "${target[@]}"
