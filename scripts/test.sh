#!/usr/bin/env bash
# Installs what is missing, builds with warnings as errors and runs all tests except those labelled extended and slow. For these
# it builds no more than they start.
# Arguments go to ctest (-R name, -L label). CLUMP_DEVICE=TEXT chooses the device by a part of "platform / device",
# CLUMP_BUILD the build folder (default build/), CLUMP_TEST_TIMEOUT the seconds that a test may take (300).
#
#   test.sh --part NAME [CTEST_ARGUMENT...]
#
# builds and runs only the tests of one part of host/, such as compact: those in tests/unit/NAME, tests/diff/NAME and tests/fault/NAME.
#
#   test.sh --extended [CTEST_ARGUMENT...]
#
# runs the extended ones: they test the tests, or are a second opinion, and take as long again.
#
#   test.sh --gpu-kernels [CTEST_ARGUMENT...]
#
# runs the tests on devices with the kernels that GPUs get, whatever the device is.
#
#   test.sh --all-devices [CTEST_ARGUMENT...]
#
# runs the tests on devices (labels diff, fault and stress) once for each OpenCL implementation that is found,
# and prints a table. These are the system's own, those that `setup.sh --implementations` fetched, and others that
# have a folder like theirs, NAME/vendors, below CLUMP_IMPLEMENTATIONS. CLUMP_ONLY="NAME..." takes some of
# them. The exit status tells about pocl and intel; others are tried, and may fail.
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
build=${CLUMP_BUILD:-$root/build}
folder=${CLUMP_IMPLEMENTATIONS:-${XDG_CACHE_HOME:-$HOME/.cache}/clump/opencl}

all_devices=0
tests=(-LE 'slow|extended|gpu-kernels')
target=(--target default_programs)
case "${1:-}" in
--part)
    mapfile -t names < <(find "$root"/tests/{unit,diff,fault}/"${2:?}" -name '*.c' 2>/dev/null |
        sed -n 's,.*/\(\(test\|diff\|fault\)_[^/]*\)\.c$,\1,p' | grep -v _tsan)
    if [ ${#names[@]} = 0 ]; then
        echo "test.sh: there is no part $2. Parts: $(cd "$root/host" && echo */)"
        exit 1
    fi
    target=(--target "${names[*]}")
    tests=(-R "^($(IFS='|' && echo "${names[*]}"))$" -LE 'slow|extended|gpu-kernels')
    shift 2
    ;;
--all-devices)
    all_devices=1
    shift
    ;;
--extended)
    target=()
    tests=(-L extended -LE 'slow|gpu-kernels')
    shift
    ;;
--gpu-kernels)
    target=()
    tests=(-L gpu-kernels -LE slow)
    shift
    ;;
esac
"$root/scripts/setup.sh"
"$root/scripts/build.sh" "$build" "${target[@]}" -DCLUMP_TEST_TIMEOUT="${CLUMP_TEST_TIMEOUT:-300}"
log=$build/test.log
status=0

if [ "$all_devices" = 0 ]; then
    ctest --test-dir "$build" --output-on-failure "${tests[@]}" -j2 --no-tests=error "$@" 2>&1 |
        tee "$log" || status=$?

    # The summary once more, for those who read only the end.
    echo
    sed -n '/tests passed/,$p' "$log" | sed -n '/tests passed\|Total Test time\|\*\*\*\|(Failed)\|(Timeout)\|(Skipped)/p'
    exit "$status"
fi

# ---- All implementations -----------------------------------------------------------------------
table=$build/all-devices.txt
printf '%-12s | %-40s | %6s | %6s | %7s\n' implementation version passed failed skipped >"$table"

# configure [ARGUMENT...]: what tests are run with; the programs stay as they are.
configure() { cmake "$@" "$build" >"$build/configure.log" || { cat "$build/configure.log"; exit 1; }; }
# shellcheck disable=SC2317 # the trap calls it
restore() {
    configure -UCLUMP_TEST_CACHE -DCLUMP_TEST_TIMEOUT="${CLUMP_TEST_TIMEOUT:-300}"
}
trap restore EXIT

# version NAME: what clump-info says about the driver of the first device, in a line.
version() {
    if [ "$1" = oclgrind ]; then
        oclgrind --version 2>&1 | sed -n 's/^Oclgrind //p' | head -n 1
        return
    fi
    "$build/tools/clump-info" 2>&1 | sed -n 's/^ *driver *//p' | head -n 1 | cut -c 1-40
}

# run NAME IS_SUPPORTED CTEST_ARGUMENT...: with the environment as it is.
run() {
    local name=$1 supported=$2 result=0 total failed skipped log=$build/test-$1.log
    shift 2
    echo
    echo "---- $name"
    # Compilers differ in what they need: the time limit is there to end what hangs.
    configure -DCLUMP_TEST_CACHE="$build/tests/cache-$name" \
        -DCLUMP_TEST_TIMEOUT="${CLUMP_TEST_TIMEOUT:-1500}"
    ctest --test-dir "$build" --output-on-failure -L '^(diff|fault|stress)$' -LE 'slow|extended|gpu-kernels' -j2 "$@" 2>&1 |
        tee "$log" || result=$?
    total=$(grep -cE '^ *[0-9]+/[0-9]+ Test ' "$log" || true)
    skipped=$(grep -cE '^ *[0-9]+/[0-9]+ Test .*\*\*\*Skipped' "$log" || true)
    failed=$(($(grep -cE '^ *[0-9]+/[0-9]+ Test .*(\*\*\*|Subprocess)' "$log" || true) - skipped))
    printf '%-12s | %-40s | %6d | %6d | %7d\n' "$name" "$(version "$name")" $((total - failed - skipped)) \
        "$failed" "$skipped" >>"$table"
    if [ "$result" != 0 ] && [ "$supported" = 1 ]; then status=1; fi
}
wanted() { [ -z "${CLUMP_ONLY:-}" ] || [[ " $CLUMP_ONLY " == *" $1 "* ]]; }

# Oclgrind is a checker that replaces the implementation; two tests are made for it. ThreadSanitizer
# reports what runtimes do inside, so it stays with the one that is known to be quiet.
if wanted pocl; then run pocl 1 -E oclgrind "$@"; fi
for vendors in "$folder"/*/vendors; do
    [ -d "$vendors" ] || continue
    name=$(basename "$(dirname "$vendors")")
    wanted "$name" || continue
    supported=0
    if [ "$name" = intel ]; then supported=1; fi
    (
        export OCL_ICD_VENDORS=$vendors
        export LD_LIBRARY_PATH=$folder/$name/lib${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
        if [ "$name" = mesa ]; then
            export RUSTICL_ENABLE=llvmpipe LP_CL=1 CLUMP_DEVICE=rusticl
            export GALLIUM_PIPE_SEARCH_DIR=$folder/mesa/lib/gallium-pipe
        fi
        status=0
        run "$name" "$supported" -E 'oclgrind|_tsan' "$@"
        exit "$status"
    ) || status=1
done
if wanted oclgrind && command -v oclgrind >/dev/null; then run oclgrind 0 "$@" -R oclgrind; fi

echo
cat "$table"
[ "$(wc -l <"$table")" -gt 1 ] || echo "none was found: see scripts/setup.sh --implementations"
exit "$status"
