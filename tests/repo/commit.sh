#!/usr/bin/env bash
# cmake/commit.cmake: the commit and the state of a tree, as results name them, in a repository, with
# changes, with new files, without git, in a folder of another repository, and as it is told.
#
#   commit.sh FOLDER
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
mkdir -p "$1"
folder=$(cd "$1" && pwd)
command -v git >/dev/null || exit 77
rm -rf "$folder/tree" "$folder/out.c"
mkdir -p "$folder/tree"
export GIT_CEILING_DIRECTORIES=$folder # the project's own repository is above
unset GIT_DIR GIT_WORK_TREE

fail() {
    echo "FAILED: $*"
    exit 1
}

# expect COMMIT TREE WHAT [ARGUMENT...]: of the folder $at.
at=$folder/tree
expect() {
    local commit=$1 tree=$2 what=$3
    shift 3
    cmake "-DROOT=$at" "-DOUTPUT=$folder/out.c" "$@" -P "$root/cmake/commit.cmake" || fail "$what: cmake fails"
    grep -qx "const char bench_commit\[\] = \"$commit\";" "$folder/out.c" &&
        grep -qx "const char bench_tree\[\] = \"$tree\";" "$folder/out.c" ||
        fail "$what is not $commit, $tree: $(cat "$folder/out.c")"
}
expect unknown unknown "a tree without git"

repository() { git -C "$at" -c user.name=test -c user.email=test@localhost "$@"; }
repository init -q
expect unknown unknown "a repository without a commit"
echo one >"$at/file"
repository add file
repository commit -qm "One file"
hash=$(repository rev-parse HEAD)
expect "$hash" clean "a clean tree"
touch -d '2001-01-01' "$folder/out.c"
expect "$hash" clean "the same again"
[ -z "$(find "$folder/out.c" -newermt '2002-01-01')" ] || fail "written again, though nothing changed"
echo two >"$at/file"
expect "$hash" changed "a changed file"
repository checkout -q file
echo new >"$at/new"
expect "$hash" changed "a new file"
rm "$at/new"
mkdir "$at/inner"
at=$folder/tree/inner
expect unknown unknown "a folder of another repository"
told=0123456789abcdef0123456789abcdef01234567
expect $told clean "a copy that is told" "-DCOMMIT=$told clean"
cmake "-DROOT=$at" "-DOUTPUT=$folder/out.c" -DCOMMIT=main -P "$root/cmake/commit.cmake" 2>/dev/null &&
    fail "a name is taken for a commit"
echo "commits, trees and copies are told apart"
