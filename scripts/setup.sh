#!/usr/bin/env bash
# Installs the packages that building, testing and benchmarking need and that are missing, with
# apt-get (Debian 12, Ubuntu 24.04). Does nothing, and needs no network, where all are there. Set
# CLUMP_SETUP=0 to skip it, for instance where dependencies come through CMAKE_PREFIX_PATH.
set -euo pipefail
[ "${CLUMP_SETUP:-1}" != 0 ] || exit 0

required=(gcc g++ libc6-dev cmake ninja-build pkg-config
    ocl-icd-opencl-dev opencl-headers pocl-opencl-icd
    libcmocka-dev librandom123-dev libpng-dev zlib1g-dev libcjson-dev)
# Without these some checks are skipped, or plots are not drawn.
optional=(clang-14 llvm-14 clang-format-14 clang-tidy-14 oclgrind gnuplot-nox)

if ! command -v dpkg-query >/dev/null || ! command -v apt-get >/dev/null; then
    echo "setup: no apt-get here; needed are: ${required[*]}" >&2
    exit 0
fi

# missing PACKAGE...: those that are not installed, one a line.
missing() {
    local package
    for package in "$@"; do
        case "$(dpkg-query -W -f '${db:Status-Status}\n' "$package" 2>/dev/null || true)" in
        *installed*) ;;
        *) printf '%s\n' "$package" ;;
        esac
    done
}
mapfile -t need < <(missing "${required[@]}")
mapfile -t want < <(missing "${optional[@]}")
[ $((${#need[@]} + ${#want[@]})) -gt 0 ] || exit 0

as_root=()
if [ "$(id -u)" != 0 ]; then as_root=(sudo); fi
apt() { # quiet unless it fails
    local log status=0
    log=$(mktemp)
    "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get -qq -y "$@" >"$log" 2>&1 || status=$?
    if [ "$status" != 0 ]; then tail -n 5 "$log" >&2; fi
    rm -f "$log"
    return "$status"
}

echo "setup: installing ${need[*]} ${want[*]}"
apt update || echo "setup: the package lists could not be updated" >&2
if [ ${#need[@]} -gt 0 ]; then
    apt install --no-install-recommends "${need[@]}"
fi
for package in "${want[@]}"; do
    apt install --no-install-recommends "$package" ||
        echo "setup: going on without $package" >&2
done
