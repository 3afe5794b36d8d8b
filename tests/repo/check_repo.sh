#!/usr/bin/env bash
# Checks of the repository as text, and of the names in the static library; exports.py looks at the shared one.
#
#   check_repo.sh [STATIC_LIBRARY]
#
# Without an argument names are not looked at. Reports all findings, then fails.
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
static_library=${1:-}
cd "$root"

failures=0
# report TITLE FINDINGS: an empty text is no finding.
report() {
    if [ -n "$2" ]; then
        printf 'FAILED: %s\n%s\n\n' "$1" "$2"
        failures=$((failures + 1))
    fi
}

# Names of the project's own files, one a line: what git tracks or would, else all but build trees.
list_files() {
    if git rev-parse --is-inside-work-tree >/dev/null 2>&1; then
        git ls-files -co --exclude-standard
    else
        find . \( -name .git -o -name 'build*' -o -name .deps -o -name out \) -prune \
            -o -type f -print | sed 's|^\./||'
    fi | while IFS= read -r file; do
        if [ -f "$file" ]; then printf '%s\n' "$file"; fi
    done
}
mapfile -t files < <(list_files)

# matching REGEX: those of the files whose name matches.
matching() { printf '%s\n' "${files[@]}" | grep -E "$1" || true; }

# search PATTERN FILE...: lines of text files with an extended expression.
search() {
    local pattern=$1
    shift
    if [ $# -gt 0 ]; then grep -nHIE -- "$pattern" "$@" || true; fi
}

# ---- Names --------------------------------------------------------------------------------------
if [ -n "$static_library" ] && [ -z "${CLUMP_SANITIZE:-}" ]; then
    report "names in the static library start with clump_ or clumpi_" \
        "$(nm -g --defined-only "$static_library" 2>/dev/null |
            awk 'NF == 3 && $3 !~ /^clumpi?_/ {print $3}')"
fi

# ---- Text ---------------------------------------------------------------------------------------
mapfile -t c_files < <(matching '\.(c|h|cl|clh)$')
mapfile -t library_files < <(matching '^(include|host|cl)/.*\.(c|h|cl|clh)$')
mapfile -t device_files < <(matching '\.(cl|clh)$')

# The words are put together so that this file does not contain them.
report "no notes of unfinished work" "$(search '\b(TO''DO|FIX''ME|X''XX)\b' "${files[@]}")"
report "no paths of somebody's machine" \
    "$(search '(^|[^A-Za-z0-9_.$}/-])/(ho''me|ro''ot|wo''rk|Us''ers)/[A-Za-z0-9]' "${files[@]}")"
report "nothing at the top that does not belong there" "$(matching '^[^/]+$' |
    grep -vxE '\..*|CMakeLists\.txt|CMakePresets\.json|README\.md|CHANGELOG\.md|LICENSE' || true)"
version=$(sed -n 's/^#define CLUMP_VERSION_TEXT "\(.*\)"$/\1/p' include/clump/export.h)
report "the port for vcpkg has the version of include/clump/export.h" \
    "$(grep '"version":' scripts/packaging/vcpkg/clump/vcpkg.json | grep -vF "\"$version\"" || true)"
report "the package for Python has the version of include/clump/export.h" \
    "$(grep '^version = ' python/pyproject.toml | grep -vF "\"$version\"" || true)"
report "no tabs in C files" "$(search $'\t' "${c_files[@]}")"
report "no cast to void ** of the address of another pointer (strict aliasing)" \
    "$(search '\(void ?\*\*\) ?&' "${c_files[@]}")"
report "device code does not print" "$(search '\bprintf\b' $(printf '%s\n' "${device_files[@]}" | grep -v '^findings/'))"
# cl/core/prelude.clh says why.
report "functions of device code that take local memory are CLUMPI_LOCAL_INLINED" "$(
    for file in $(matching '^cl/'); do
        tr '\n' ' ' <"$file" | grep -oE 'static inline [^(;{}]*\([^)]*__local[^)]*\) *\{' | sed "s|^|$file: |" || true
    done
)"
report "every file of the library opens with a comment" "$(
    for file in "${library_files[@]}"; do
        case "$(head -c 2 "$file")" in '/*' | '//') ;; *) printf '%s\n' "$file" ;; esac
    done
)"

# Comments have 100 columns, as code has; drawings may be wider.
report "lines of public headers, of the library and of kernels have at most 100 columns" "$(
    matching '^(include|host|cl)/.*\.(h|hpp|c|clh?)$' | tr '\n' '\0' |
        xargs -0 -r awk 'length > 100 && !/[|│─]/ { print FILENAME ":" FNR }'
)"

# Other versions format differently.
if command -v clang-format-14 >/dev/null; then
    report "files are formatted by clang-format 14 (clang-format-14 -i FILE)" "$(
        matching '^(include|host|tests|bench|tools|examples|python)/.*\.[ch](pp)?$' |
            tr '\n' '\0' | xargs -0 -r -n 50 -P 2 clang-format-14 --dry-run -Werror 2>&1 || true
    )"
    report "kernels are, too (clang-format-14 --assume-filename=x.c FILE)" "$(
        matching '^(cl|bench|examples)/.*\.clh?$' | while read -r file; do
            clang-format-14 --assume-filename=x.c "$file" | cmp -s - "$file" || echo "$file"
        done
    )"
else
    echo "without clang-format-14: the format was not checked"
fi

if [ "$failures" -gt 0 ]; then
    printf '%d checks failed\n' "$failures"
    exit 1
fi
printf 'all checks passed, %d files\n' "${#files[@]}"
