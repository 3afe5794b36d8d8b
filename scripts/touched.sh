#!/usr/bin/env bash
# What a change touches, measured from the last commit that passed everything, which .ci/passed names.
#
#   touched.sh            the files, one a line, what is not committed among them; status 1, with the reason, if that cannot be told
#   touched.sh --parts    reads such files, and names the parts of .ci/run that can fail through them: gpu, intel, extended; or mpi and python,
#                         which are the extended tests whose names begin so. The default tests and clang-tidy run anyway.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

# The first row that matches holds. Files that no row knows touch everything, as those of cl, host, include, cmake and scripts do.
parts() {
    case "$1" in
    docs/site/*) echo extended ;;
    *.md | LICENSE | docs/* | findings/* | bench/results/* | tests/portability/*) ;;
    .ci/passed | .ci/times | .github/* | .gitignore | .editorconfig | .clang-format | .clang-tidy | */.clang-tidy) ;;
    host/mpi/* | tests/mpi/* | bench/mpi/* | examples/mpi/*) echo mpi ;;
    python/CMakeLists.txt | python/pyproject.toml) echo extended ;; # packages have them, too
    python/*) echo python ;;
    examples/adapters/* | tests/adopt/adopt_*) echo intel extended ;;
    CMakePresets.json | examples/* | tools/* | tests/adopt/* | tests/package/* | tests/repo/* | tests/protocol/* | tests/fuzz/* | tests/unit/bench/*) echo extended ;; # sanitised ones are extended
    tests/unit/*) ;;
    bench/*) echo gpu extended ;; # the applications are tests, too
    *) echo gpu intel extended ;;
    esac
}

if [ "${1:-}" = --parts ]; then
    while IFS= read -r file; do
        if [ -n "$file" ]; then parts "$file"; fi
    done | tr ' ' '\n' | sort -u
    exit
fi

unknown() {
    echo "what the change touches is not known: $1" >&2
    exit 1
}
[ -z "$(git rev-parse --show-cdup 2>/dev/null || echo none)" ] || unknown "there is no repository here"
commit=$(cat .ci/passed)
[[ $commit =~ ^[0-9a-f]{40}$ ]] || unknown ".ci/passed names no commit"
git cat-file -e "$commit^{commit}" 2>/dev/null || unknown "the repository does not have $commit, which .ci/passed names"
{
    git diff --no-ext-diff --no-renames --name-only "$commit" && git ls-files --others --exclude-standard
} | sort
