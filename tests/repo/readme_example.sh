#!/usr/bin/env bash
# Compiles the C program of README.md as it stands against the library, runs it and compares what it
# prints with what the README says that it prints.
#
#   readme_example.sh FOLDER COMPILER [ARGUMENT...]     arguments: for compiling and linking
#
# Exit status 77: no OpenCL device.
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
folder=$1
shift
mkdir -p "$folder"
source=$folder/readme_example.c

fail() {
    echo "FAILED: $*"
    exit 1
}

blocks=$(grep -c '^```c$' "$root/README.md" || true)
[ "$blocks" = 1 ] || fail "README.md has $blocks blocks of C, expected one"
sed -n '/^```c$/,/^```$/p' "$root/README.md" | sed '1d;$d' >"$source"

lines=$(wc -l <"$source")
[ "$lines" -lt 60 ] || fail "the example has $lines lines, it should be short"
expected=$(sed -n 's/^It prints `\([^`]*\)`.*/\1/p' "$root/README.md")
[ -n "$expected" ] || fail "README.md does not say what the example prints"

compiler=$1
shift
"$compiler" -std=c11 -Wall -Wextra -Werror "$source" -o "$folder/readme_example" "$@"
# It ends without destroying anything, to be short.
status=0
found=$(ASAN_OPTIONS=detect_leaks=0 "$folder/readme_example") || status=$?
if [ "$status" = 77 ]; then exit 77; fi
[ "$status" = 0 ] || fail "the example ends with status $status: $found"
[ "$found" = "$expected" ] || fail "it prints \"$found\", README.md says \"$expected\""
echo "$lines lines, $found"
