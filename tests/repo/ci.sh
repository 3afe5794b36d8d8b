#!/usr/bin/env bash
# What .ci/run takes of its parts: which files touch which of them (scripts/touched.sh), since which commit, what clang-tidy
# is run on, and what is said about the rest. In a small repository with scripts that only say what they are called with.
#
#   ci.sh FOLDER
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
command -v git >/dev/null && command -v python3 >/dev/null || exit 77
mkdir -p "$1"
folder=$(cd "$1" && pwd)
unset GIT_DIR GIT_WORK_TREE CLUMP_CI_SECONDS CLUMP_BUILD

fail() {
    echo "FAILED: $*"
    exit 1
}
# is WHAT SEEN EXPECTED: the same lines.
is() { [ "$2" = "$3" ] || fail "$1: $(printf '%q is not %q' "$2" "$3")"; }

# ---- Files and parts ----------------------------------------------------------------------------
# expect PARTS FILE...: what these files touch together.
expect() { is "parts of ${*:2}" "$(printf '%s\n' "${@:2}" | "$root/scripts/touched.sh" --parts | xargs)" "$1"; }
all="extended gpu intel"
expect "" docs/design.md examples/hello/README.md findings/run.c bench/results/pocl/suite.json CHANGELOG.md .ci/passed
expect "" "" # nothing differs
expect "$all" cl/core/atomics.clh
expect "$all" docs/design.md host/core/error.c README.md
expect "$all" new/file
expect "$all" '"docs/caf\303\251.md"' # as git writes it
expect mpi host/mpi/world.c tests/mpi/mpi_world.c docs/design.md
expect "mpi python" bench/mpi/main.c python/clump/core.py
expect extended tools/clump_info.c tests/fuzz/fuzz.h
expect "extended gpu" bench/apps/app.c

if [ -e "$root/.git" ]; then
    eval "$(sed -n '/^parts() {/,/^}/p' "$root/scripts/touched.sh")"
    while IFS= read -r file; do
        is "$file" "$(parts "$file")" "gpu intel extended"
    done < <(git -C "$root" ls-files .ci/run cl cmake host include scripts tests/diff tests/fault tests/stress tests/support '*/CMakeLists.txt' CMakeLists.txt \
        ':!host/mpi' ':!tests/package' ':!*.md' ':!bench' ':!examples' ':!python' ':!tools')
    # No row is there for nothing.
    mapfile -t tracked < <(git -C "$root" ls-files)
    while IFS= read -r pattern; do
        for file in "${tracked[@]}"; do
            # shellcheck disable=SC2053 # it is a pattern
            if [[ $file == $pattern ]]; then continue 2; fi
        done
        fail "no file is like $pattern in scripts/touched.sh"
    done < <(sed -n '/case/,/esac/s/^    \([^()]*\)) .*;;.*/\1/p' "$root/scripts/touched.sh" | sed 's/ | /\n/g')
fi

# ---- What differs from a commit -----------------------------------------------------------------
tree=$folder/tree
rm -rf "$tree"
mkdir -p "$tree"/{.ci,scripts,host,cmake,docs,build,bin}
cp "$root/.ci/run" "$root/.ci/times" "$tree/.ci"
cp "$root/scripts/touched.sh" "$root/scripts/tidy.sh" "$tree/scripts"
# shellcheck disable=SC2016 # for the scripts that are written
{
    printf '#!/bin/sh\necho "called: test $*"\n[ "$1" != "${FAILING:-none}" ]\n' >"$tree/scripts/test.sh"
    printf '#!/bin/sh\necho "called: setup $*"\n' >"$tree/scripts/setup.sh"
    printf '#!/bin/sh\nfor file; do :; done\ntest -f "$file" && basename "$file" >>"%s/checked"\n' "$folder" >"$tree/bin/clang-tidy-14"
}
chmod +x "$tree"/{scripts,bin}/*
printf '/build/\n' >"$tree/.gitignore"
echo '#include "../host/./b.h"' >"$tree/host/a.c"
echo '#include <c.h>' >"$tree/host/b.h"
touch "$tree"/host/{c.h,d.c} "$tree/docs/one.md"
for name in a d; do echo "{\"file\": \"$tree/host/$name.c\"}"; done | paste -sd, | sed 's/.*/[&]/' >"$tree/build/compile_commands.json"

touched() { { "$tree/scripts/touched.sh" 2>&1 || true; } | xargs; }
repository() { git -C "$tree" -c user.name=test -c user.email=test@localhost "$@"; }
echo 0123456789abcdef0123456789abcdef01234567 >"$tree/.ci/passed"
touched | grep -q "no repository" || fail "a tree without a repository has one"
repository init -q
repository add .
repository commit -qm "A tree"
touched | grep -q "does not have 0123456789abcdef" || fail "a commit that is not there is"
echo main >"$tree/.ci/passed"
touched | grep -q "names no commit" || fail "a name is taken for a commit"
repository rev-parse HEAD >"$tree/.ci/passed"
is "nothing" "$(touched)" .ci/passed
repository mv docs/one.md docs/two.md
repository commit -qm "A name"
echo new >"$tree/docs/three.md"
is "a committed name and a new file" "$(touched)" ".ci/passed docs/one.md docs/three.md docs/two.md"

# ---- clang-tidy ---------------------------------------------------------------------------------
# tidy FILES FILE: those that it takes if the file has changed.
tidy() {
    rm -f "$folder/checked"
    echo >>"$tree/$2"
    PATH=$tree/bin:$PATH "$tree/scripts/tidy.sh" --touched host >"$folder/log" || fail "tidy: $(cat "$folder/log")"
    is "clang-tidy after $2" "$(sort "$folder/checked" 2>/dev/null | xargs)" "$1"
    repository checkout -q HEAD -- "$2" 2>/dev/null || rm "$tree/$2"
}
tidy "" docs/two.md
tidy d.c host/d.c
tidy a.c host/c.h
tidy "a.c d.c" CMakeLists.txt
tidy "a.c d.c" cmake/flags.cmake
tidy "a.c d.c" host/.clang-tidy

# ---- The run ------------------------------------------------------------------------------------
# run STATUS [ARGUMENT...]: what it calls, and what it did not run, to $folder/log.
run() {
    local status=0
    PATH=$tree/bin:$PATH "$tree/.ci/run" "${@:2}" >"$folder/log" 2>&1 || status=$?
    is "the status" "$status" "$1"
}
said() { grep -E "^($1)" "$folder/log" | xargs -d '\n' | sed 's/ -R ^(adopt_[^ ]*//' || true; }
run 0
is "after a change of documents" "$(said 'called|clang')" "called: test  clang-tidy: nothing in 0 files"
is "then left out" "$(said 'NOT RUN')" "NOT RUN: clang-tidy of the other files: not touched NOT RUN: kernels for GPUs: not touched \
NOT RUN: intel: not touched NOT RUN: extended tests: not touched"
echo >"$tree/host/e.h" # everything
run 0
all_parts="called: test  called: test --gpu-kernels called: setup --implementations intel called: test --all-devices \
called: test --all-devices -R ^diff_(api|fill)\$"
[[ $(said called) == "$all_parts"*"called: setup --mpi called: setup --vtk called: test --extended" ]] || fail "after a change of all: $(said called)"
rm "$tree/host/e.h"
mkdir -p "$tree/tests/mpi" "$tree/python"
touch "$tree/tests/mpi/new" "$tree/python/new"
run 0
is "after a change of MPI and Python" "$(said called)" \
    "called: test  called: setup --mpi called: setup --python called: test --extended -R ^(mpi|python) --no-tests=ignore"
[[ $(said NOT) == *"NOT RUN: extended tests but mpi python: not touched" ]] || fail "then left out: $(said NOT)"
CLUMP_CI_SECONDS=-1 run 0
[[ $(said 'called|NOT') == *"NOT RUN: tests: the machine is slow"*"NOT RUN: kernels for GPUs: not touched"* ]] || fail "a slow machine: $(cat "$folder/log")"
CLUMP_CI_SECONDS=-1 run 0 --everything
[[ $(said 'called|NOT') == "$all_parts"*"called: test --extended" ]] || fail "--everything: $(cat "$folder/log")"
if grep -E '^----' "$folder/log" | grep -vE ': [0-9]+ s \(known good: [0-9]+ s\)$'; then fail "a part whose time .ci/times does not have"; fi
FAILING=--gpu-kernels run 1 --everything
is "what failed" "$(said FAILED)" "FAILED: kernels for GPUs"
echo 0123456789abcdef0123456789abcdef01234567 >"$tree/.ci/passed"
tidy "a.c d.c" docs/new.md
run 0
[[ $(said 'called|clang') == "${all_parts/  /  clang-tidy: nothing in 2 files }"* ]] || fail "without the commit: $(cat "$folder/log")"
echo "parts are chosen by what a change touches"
