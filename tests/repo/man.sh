#!/usr/bin/env bash
# The pages of docs/man: each tool has one, mandoc finds nothing wrong, and a page names the options that --help names, no
# more and no fewer.
#
#   man.sh PROGRAM...      the tools that are built; a page of one that is not built is only looked at by mandoc
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
cd "$root"
failures=0
fail() {
    printf 'FAILED: %s\n' "$1"
    failures=$((failures + 1))
}

for program in "$@"; do
    name=${program##*/}
    page=docs/man/$name.1
    if [ ! -f "$page" ]; then
        fail "$name has no page $page"
        continue
    fi
    "$program" --help >/dev/null || fail "$name --help: status $?"
    differences=$(diff <("$program" --help | grep -oE -- '--[a-z][a-z-]*' | grep -vx -- --help | sort -u) \
        <(grep -oE -- 'Fl -[a-z][a-z-]*' "$page" | sed 's/^Fl -/--/' | grep -vx -- --help | sort -u) || true)
    if [ -n "$differences" ]; then
        fail "$name: options of --help (<) and of $page (>): $(grep '^[<>]' <<<"$differences" | tr '\n' ' ')"
    fi
done

if command -v mandoc >/dev/null; then
    for page in docs/man/*.1; do
        # Pages refer to each other, and are not installed here.
        said=$(mandoc -Tlint -Wstyle "$page" | grep -v 'referenced manual not found' || true)
        if [ -n "$said" ]; then fail "$said"; fi
    done
else
    echo "without mandoc: the pages were not checked by it"
fi
[ "$failures" = 0 ] || exit 1
echo "the pages of $# tools name their options"
