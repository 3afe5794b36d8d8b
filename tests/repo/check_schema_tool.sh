#!/usr/bin/env bash
# clump-schema: exit statuses, words and places; what --emit-c makes compiles as C and as C++, with and without a prefix.
#
#   check_schema_tool.sh PROGRAM
set -uo pipefail
tool=$1
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
failures=0

# expect STATUS WORDS ARGUMENT...: the status, and the words in what it says.
expect() {
    local status=$1 words=$2 said
    shift 2
    said=$("$tool" "$@" 2>&1)
    local found=$?
    if [ "$found" != "$status" ] || ! grep -qF -- "$words" <<<"$said"; then
        printf 'FAILED: clump-schema %s: status %s, expected %s and "%s": %s\n' "$*" "$found" "$status" "$words" "$said"
        failures=$((failures + 1))
    fi
}

printf 'class Body { float x; ref Body next; uint w[3]; float n[*] max 2; }\nclass Bag { uint t[*]; ushort k[*] inline 3; }\nabstract class Nothing { }\n' >"$work/good"
printf 'class Body {\n  flat x;\n}\n' >"$work/bad"
printf 'class A { uint x; }\nclass A_struct { uint x; }\n' >"$work/twins"
expect 0 "Body: 32 bytes an object, layout soa" "$work/good"
expect 0 "    uint w[3]: 12 bytes" "$work/good"
expect 0 "    float n[*] max 2: 8 bytes" "$work/good"
expect 0 "    uint t[*]: 0 bytes" "$work/good"
expect 0 "    ushort k[*] inline 3: 6 bytes" "$work/good"
expect 0 "static const clump_struct_desc Body_struct = " --emit-c "$work/good"
# The example of the text format in the header.
sed -n '/text format, by example/,/schema = { class }/p' "$root/include/clump/schema.h" | grep '^ [*]     ' |
    grep -v 'schema = ' | cut -c4- >"$work/example"
expect 0 "Parcel: 16 bytes an object, layout aos" "$work/example"
expect 1 "$work/bad:2:3: " "$work/bad"
expect 1 "cannot" "$work/none"
expect 1 "the same name as the description of class A" --emit-c "$work/twins"
expect 1 'prefix "7a" is not an identifier' --emit-c --prefix 7a "$work/good"
expect 0 "usage:" --help
expect 2 "usage:"
expect 2 "usage:" --emit-c
expect 2 "usage:" --prefix a "$work/good"
expect 2 "usage:" "$work/good" "$work/good"
expect 2 "usage:" --emit-d "$work/good"

"$tool" --emit-c --prefix one_ "$work/good" >"$work/one.h"
"$tool" --emit-c "$work/good" >"$work/plain.h"
cat >"$work/use.c" <<'EOF_C'
#define CL_TARGET_OPENCL_VERSION 120
#include "one.h"
#include "plain.h"
int main(void) {
    Body a[2] = {{0}};
    one_Body b = {0};
    a[0].w[2] = b.next;
    a[0].n[a[0].n_length] = 1;
    return (int)(a[0].x + (float)(Body_struct.bytes - sizeof a[1]) + (float)(one_Body_struct.field_count - 5) +
                 (float)(Nothing_struct.field_count + one_Nothing_struct.field_count + one_Body_struct.fields[0].offset));
}
EOF_C
for language in "c -std=c11" "c++ -std=c++17"; do
    # The words are to be split.
    # shellcheck disable=SC2086
    if ! "${CC:-cc}" -x $language -Wall -Wextra -Wno-missing-field-initializers -Werror -I"$root/include" -I"$work" -fsyntax-only "$work/use.c"; then
        echo "FAILED: what --emit-c makes is not $language"
        failures=$((failures + 1))
    fi
done
[ "$failures" -eq 0 ] && echo "clump-schema: all as expected"
exit "$failures"
