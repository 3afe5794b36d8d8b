#!/usr/bin/env bash
# Runs a test with the OpenCL implementations of two vendors in one process: the system's own, and Intel's runtime for CPUs as
# scripts/setup.sh --implementations intel fetched it.
#
#   vendors.sh PROGRAM [ARGUMENT...]
#
# Exit status 77: one of them is not there.
set -euo pipefail
intel=${CLUMP_IMPLEMENTATIONS:-${XDG_CACHE_HOME:-$HOME/.cache}/clump/opencl}/intel
if [ ! -d "$intel/vendors" ] && [ -n "${HOME:-}" ]; then # tests have a cache of their own
    intel=$HOME/.cache/clump/opencl/intel
fi
if [ ! -d "$intel/vendors" ]; then
    echo "skipped: no runtime of Intel's: scripts/setup.sh --implementations intel"
    exit 77
fi
vendors=$(mktemp -d)
trap 'rm -rf "$vendors"' EXIT
cp "${OCL_ICD_VENDORS:-/etc/OpenCL/vendors}"/*.icd "$intel"/vendors/*.icd "$vendors" || {
    echo "skipped: no implementation of the system's"
    exit 77
}
OCL_ICD_VENDORS=$vendors LD_LIBRARY_PATH=$intel/lib${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH} "$@"
