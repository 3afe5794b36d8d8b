#!/usr/bin/env bash
# The public headers: each compiles alone, as strict C11 and as C++17, with no extension of a compiler,
# and reaches no header of a layer above its own.
#
#   check_headers.sh [OPENCL_INCLUDE_DIR]
#
# Reports all findings, then fails. Uses CC and CXX, and clang if it is there.
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
opencl_include=${1:-}
cd "$root"
cc=${CC:-cc}
cxx=${CXX:-c++}

# ---- Layers -------------------------------------------------------------------------------------
# Programs without OpenCL can include these.
plain="allocator experimental export schema schema_c status suballoc write"
# A heap can take memory from a pool without knowing what a pool is.
heap="heap program run refs compact compactor collect collector"
pool="suballoc pool defrag"
# What clump.h has, and nothing else: a first program reads it. At most so many functions.
core="allocator cl_functions context export heap program run schema status"
core_functions=45
# In all headers, mpi.h too.
all_functions=146

# Structs that have no size (docs/design.md#names): those that never change, and those that the library shows as const.
unsized="clump_allocator clump_arg clump_cache clump_class_info clump_compiled clump_context_info clump_error
clump_event clump_extract_column clump_extract_info clump_field_info clump_finding clump_halo_info clump_heap_info clump_live
clump_migration_info clump_move clump_place clump_program_info clump_region clump_saved_array clump_saved_info clump_saved_part
clump_schema_info clump_struct_field clump_sync clump_world_place"

# ---- Warnings of clang that are argued away -----------------------------------------------------
clang_exceptions=(
    # C++98 has no comma after the last enumerator, which the lists of names leave there; C++17 has.
    -Wno-c++98-compat-pedantic
    # What a structure leaves unused is no mistake. Members stand in the order in which they are read.
    -Wno-padded
)

# What a header of functions has besides: they are C, and end the process where the caller asks for it.
clang_exceptions_of_quick=(-Wno-declaration-after-statement -Wno-missing-noreturn
    -Wno-zero-as-null-pointer-constant)

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
failures=0
checks=0
# report TITLE FINDINGS: an empty text is no finding.
report() {
    checks=$((checks + 1))
    if [ -n "$2" ]; then
        printf 'FAILED: %s\n%s\n\n' "$1" "$2"
        failures=$((failures + 1))
    fi
}

include_flags=(-Iinclude)
if [ -n "$opencl_include" ] && [ "$opencl_include" != /usr/include ]; then
    include_flags+=(-isystem "$opencl_include")
fi
# The place of this one comes before the system's.
mkdir -p "$work/CL"
echo '#error "an OpenCL header is included"' | tee "$work/CL/cl.h" "$work/CL/opencl.h" >/dev/null

# What the compiler says to a program that is the header and one declaration.
compile() { # HEADER COMPILER FLAG...
    local header=$1
    shift
    printf '#include "clump/%s.h"\nextern int clump_is_not_empty;\n' "$header" |
        "$@" -Werror -fsyntax-only "${include_flags[@]}" - 2>&1 || echo "(exit status not 0)"
}

compile_cpp() { # COMPILER FLAG...
    printf '#include "clump/clump.hpp"\nextern int clump_is_not_empty;\n' |
        "$@" -x c++ -std=c++17 -Werror -fsyntax-only "${include_flags[@]}" - 2>&1 || echo "(exit status not 0)"
}

headers=()
for path in include/clump/*.h; do
    name=${path##*/}
    [ "$name" != mpi.h ] || continue # includes MPI's header, and is of a library of its own: below
    headers+=("${name%.h}")
done
strict=(-Wall -Wextra -Wundef -pedantic)
clang=$(command -v clang || command -v clang-14 || true)
clangxx=$(command -v clang++ || command -v clang++-14 || true)
for header in "${headers[@]}"; do
    exceptions=("${clang_exceptions[@]}")
    if [ "$header" = quick ]; then exceptions+=("${clang_exceptions_of_quick[@]}"); fi
    report "$header.h alone as C11" "$(compile "$header" "$cc" -x c -std=c11 "${strict[@]}")"
    if command -v "$cxx" >/dev/null; then
        report "$header.h alone as C++17" "$(compile "$header" "$cxx" -x c++ -std=c++17 "${strict[@]}")"
    fi
    if [ -n "$clang" ]; then
        report "$header.h alone as C11, all warnings of clang" \
            "$(compile "$header" "$clang" -x c -std=c11 -Weverything "${exceptions[@]}")"
    fi
    if [ -n "$clangxx" ]; then
        report "$header.h alone as C++17, all warnings of clang" \
            "$(compile "$header" "$clangxx" -x c++ -std=c++17 -Weverything "${exceptions[@]}")"
    fi
    # Compilers let extensions pass whose names begin with two underscores.
    report "$header.h has no names of a compiler's own" "$(
        awk 'BEGIN { RS = "/[*]|[*]/" } NR % 2' "include/clump/$header.h" | sed -E 's/\b__(FILE|LINE|VA_ARGS)__\b//g' |
            grep -E '\b__[A-Za-z]' |
            grep -vE '^#(ifn?def __cplusplus|(el)?if defined\(__GNUC__\)( |$))' |
            grep -vE '^#define CLUMP_API __(attribute__|declspec)' || true
    )"
done
if command -v mpicc >/dev/null; then
    report "mpi.h alone as C11" "$(compile mpi mpicc -x c -std=c11 -Wall -Wextra -Wundef)"
else
    echo "without mpicc: mpi.h was not looked at"
fi
report "clump.hpp alone as C++17" "$(compile_cpp "$cxx" "${strict[@]}" -Wconversion -Wshadow -Wold-style-cast)"
if [ -n "$clangxx" ]; then
    # An exception with its members in line, as a header alone has it.
    report "clump.hpp alone as C++17, all warnings of clang" \
        "$(compile_cpp "$clangxx" -Weverything "${clang_exceptions[@]}" "${clang_exceptions_of_quick[@]}" \
            -Wno-c++98-compat -Wno-weak-vtables)"
fi
for header in $plain; do
    report "$header.h needs no OpenCL header" \
        "$(compile "$header" "$cc" -x c -std=c11 "-I$work")"
done

# The example in the first comment of a header: its lines are indented by three spaces.
compile_example() { # HEADER PARAMETERS: declare what it uses
    local text
    text=$(awk '/\*\//{exit} /^ \*   /' "include/clump/$1.h" | cut -c6-)
    if [ -z "$text" ]; then
        echo "it has none"
        return
    fi
    printf '#include <stddef.h>\n#include "clump/all.h"\n#include "clump/quick.h"\nvoid example(%s);\nvoid example(%s) {\n%s\n}\n' \
        "$2" "$2" "$text" |
        "$cc" -x c -std=c11 "${strict[@]}" -Werror -Wno-unused -fsyntax-only "${include_flags[@]}" - 2>&1 ||
        echo "(exit status not 0)"
}
report "the example of quick.h compiles" "$(compile_example quick 'const char *schema, const char *kernels')"
report "the example of structs.h compiles" "$(compile_example structs void)"
# A name that is built into OpenCL C compiles, and is refused when the program runs.
report "no kernel in a comment has a name that clump_program_get_kernel() refuses" "$(
    grep -oE 'clump_(kernel_create|program_get_kernel)\([^"]*"[A-Za-z0-9_]+"' include/clump/*.h* | grep -oE '"[A-Za-z0-9_]+"$' |
        grep -xFf <(grep -oE '"[A-Za-z0-9_]+"' host/schema/reserved_names.c) || true
)"

# reached HEADER: the library's headers that it includes, and they in turn, without itself.
reached() {
    printf '#include "clump/%s.h"\n' "$1" | "$cc" -x c -M "${include_flags[@]}" - | tr ' \\' '\n\n' |
        sed -n 's|^include/clump/\(.*\)\.h$|\1|p' | grep -vx "$1"
}
for header in "${headers[@]}"; do
    beyond=experimental
    for name in $heap; do [ "$name" != "$header" ] || beyond="$beyond $pool"; done
    for name in $pool; do [ "$name" != "$header" ] || beyond="$beyond $heap"; done
    report "$header.h reaches none of: $beyond" \
        "$(reached "$header" | grep -xF "${beyond// /$'\n'}" || true)"
done

for header in "${headers[@]}"; do
    case $header in all | experimental | quick) continue ;; esac
    report "all.h reaches $header.h" "$(reached all | grep -qx "$header" || echo "it does not")"
done
report "clump.h reaches no other headers than: $core" "$(diff <(reached clump | sort) <(tr ' ' '\n' <<<"$core") || true)"
functions=$(for header in $core; do cat "include/clump/$header.h"; done | grep -c '^CLUMP_API')
# The structs of which the first member is `size`, or is not: quick.h is compiled with the program, experimental.h is not stable.
structs_with() { # PATTERN
    find include/clump -name '*.h' ! -name quick.h ! -name experimental.h -exec cat {} + |
        awk -v "pattern=$1" '/^(typedef )?struct clump_[a-z_]+ \{$/ { name = $(NF - 1); getline; if ($0 ~ pattern) print name }' | sort
}
report "structs begin with their size, but those that never change" "$(
    diff <(comm -23 <(structs_with .) <(structs_with '^    size_t size; +/[*] sizeof')) <(tr ' ' '\n' <<<"$unsized" | sort) || true
)"
report "each struct with a size says sizeof what" "$(
    grep -rhA1 -E '^(typedef )?struct clump_[a-z_]+ \{$' include/clump |
        awk '/\{$/ { name = $(NF - 1) } /size_t size;/ && index($0, "sizeof(" name ")") == 0 { print name }'
)"
report "each struct with a size is in fault_sized.c or a test of mpi.h" "$(
    comm -23 <(structs_with 'size_t size;') \
        <(grep -ohE 'SIZED_[A-Z_]+\(clump_[a-z_]+|STRIDE = sizeof\(clump_[a-z_]+' tests/fault/core/fault_sized.c tests/mpi/mpi_*.c |
            sed 's/.*(//' | sort -u)
)"
report "at most $core_functions functions behind clump.h" "$([ "$functions" -le $core_functions ] || echo "$functions")"
functions=$(cat include/clump/*.h | grep -c '^CLUMP_API')
report "at most $all_functions functions in all headers" "$([ "$functions" -le $all_functions ] || echo "$functions")"

if [ "$failures" -gt 0 ]; then
    printf '%d of %d checks failed\n' "$failures" "$checks"
    exit 1
fi
[ -n "$clang" ] || echo "without clang: its warnings were not looked at"
printf 'all %d checks passed, %d headers\n' "$checks" "${#headers[@]}"
