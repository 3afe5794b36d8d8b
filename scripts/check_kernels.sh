#!/usr/bin/env bash
# Compiles every device source of cl/ alone, on its defaults, with clang: as portable OpenCL C 1.2 and
# down to code for AMD and NVIDIA GPUs. Needs no device. CLANG names the compiler; arguments are
# passed on to it (-DNAME=VALUE, for instance). Exit status 77: there is no clang.
#
#   check_kernels.sh [--all] [ARGUMENT...]
#
# Each path of the sources is compiled to code for one kind of GPU; with --all, also for kinds that hardly have it.
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
cd "$root"
all=0
if [ "${1:-}" = --all ]; then
    all=1
    shift
fi

clang=""
for candidate in ${CLANG:+"$CLANG"} clang-14 clang clang-15 clang-16 clang-17 clang-18 clang-19; do
    if command -v "$candidate" >/dev/null; then
        clang=$candidate
        break
    fi
done
if [ -z "$clang" ]; then
    echo "skipped: no clang"
    exit 77
fi

# Functions of a .clh are for others to call, hence -Wno-unused-function. __OPENCL_VERSION__ is for
# an OpenCL implementation to define, so clang alone does not.
common=(-x cl -cl-std=CL1.2 -Xclang -finclude-default-header -Wall -Wextra -Werror
    -Wno-unused-function -D__OPENCL_VERSION__=120 -DCLUMP_MALLOC_FUNCTIONS -I . -I cl)
# Built-in functions stay unresolved symbols: that the code generator gets through is the test. Clang
# does not know that NVIDIA's implementation has 64-bit atomics.
check="-target spir64-unknown-unknown -fsyntax-only"
amd="-target amdgcn-amd-amdhsa -mcpu=gfx906 -nogpulib -S -o /dev/null"
nvidia="-target nvptx64-nvidia-nvcl -S -o /dev/null"
nvidia_64="$nvidia -Xclang -cl-ext=+cl_khr_int64_base_atomics,+cl_khr_int64_extended_atomics"
wide="-DCLUMPI_HAVE_INT64_ATOMICS=1"
# Implementations declare ballots where they define this name, for the language of their choice.
ballots="-DCLUMPI_HAVE_SUBGROUPS=1 -Dcl_khr_subgroup_ballot=1"
# A line each: target and capabilities (cl/core/prelude.clh).
variants=(
    "$check"
    "$check $wide"
    "$check $wide -DCLUMPI_ROW_PER_ITEM=1"
    "$check $wide -DCLUMPI_ATOMIC_LOADS=1 -DCLUMPI_REF_ARRAYS=1 -DCLUMPI_CHECKED_BECOMES=1"
    "$check $wide $ballots"
    "$check $wide $ballots -cl-std=CL2.0"
    "$check $wide $ballots -cl-std=CL3.0"
    "$amd $wide -DCLUMPI_REF_ARRAYS=1 -DCLUMPI_CHECKED_BECOMES=1"
    "$amd $wide $ballots"
    "$nvidia"
    "$nvidia_64 $wide -DCLUMPI_HAVE_PTX=1"
)
if [ "$all" = 1 ]; then variants+=("$amd" "$nvidia $ballots"); fi

failures=0
count=0
shopt -s nullglob
for file in cl/*/*.cl cl/*/*.clh cl/*/*/*.cl; do
    count=$((count + 1))
    for variant in "${variants[@]}"; do
        # A .clh has no kernels: there is no code to make of it.
        if [[ $file == *.clh && $variant != *-fsyntax-only* && $variant != *HAVE_PTX* ]]; then continue; fi
        # The words of a variant are to be split.
        # shellcheck disable=SC2086
        if ! "$clang" "${common[@]}" -Wno-macro-redefined $variant "$@" "$file"; then
            echo "FAILED: $file $variant"
            failures=$((failures + 1))
        fi
    done
done
echo "$clang: $count files for ${#variants[@]} variants, $failures failures"
[ "$failures" -eq 0 ]
