#!/usr/bin/env bash
# Checks the C files with clang-tidy 14 and the checks of .clang-tidy: tidy.sh [--touched] [FOLDER_OR_FILE...], by
# default host tools bench tests. Needs a built tree (CLUMP_BUILD, default build/), for its
# compile_commands.json and generated headers. Any finding fails, and so does a file that takes longer than
# CLUMP_TIDY_TIMEOUT seconds (300). A file that is compiled several times is checked as it is compiled first.
#
# --touched takes what a change touches (scripts/touched.sh): files that changed, and files that include one of them, themselves or
# by others, as far as the names that they include tell; all, if the checks or the build changed, or if the change is not known.
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
cd "$root"
build=${CLUMP_BUILD:-$root/build}
touched=0
if [ "${1:-}" = --touched ]; then
    touched=1
    shift
fi
[ $# -gt 0 ] || set -- host tools bench tests

tidy=$(command -v clang-tidy-14 || true) # other versions have other checks
if [ -z "$tidy" ] || ! command -v python3 >/dev/null; then
    echo "clang-tidy: not checked, for want of clang-tidy-14 or python3"
    exit 0
fi
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

if [ "$touched" = 1 ] && ! scripts/touched.sh >"$work/touched"; then rm "$work/touched"; fi

python3 - "$root" "$build/compile_commands.json" "$work" "$@" <<'PYTHON'
import json, os, re, subprocess, sys

root, commands, work, *wanted = sys.argv[1:]
first = {}
for entry in json.load(open(commands)):
    first.setdefault(os.path.relpath(entry["file"], root), entry)
chosen = sorted(
    name for name in first if any(name == w or name.startswith(w.rstrip("/") + "/") for w in wanted)
)
if not chosen:
    sys.exit(f"tidy: {commands} has no file of {' '.join(wanted)}")

def included(name):
    with open(name, errors="replace") as file:
        return {os.path.normpath(path).replace("../", "") for path in re.findall(r'^\s*#\s*include\s*[<"]([^>"]+)', file.read(), re.M)}

def ends(names): # of a/b/c.h a/b/c.h, b/c.h and c.h
    return {"/".join(name.split("/")[i:]) for name in names for i in range(name.count("/") + 1)}

if os.path.exists(f"{work}/touched"):
    touched = open(f"{work}/touched").read().splitlines()
    if not any(re.search(r'^"|(^|/)(\.clang-tidy|CMakeLists\.txt)$|^scripts/tidy\.sh$|^cmake/', name) for name in touched):
        files = subprocess.check_output(["git", "ls-files", "-co", "--exclude-standard", "*.c", "*.h", "*.cl", "*.clh"], text=True)
        includes = {name: included(name) for name in files.splitlines() if os.path.exists(name)}
        reached, before = ends(touched), 0
        while len(reached) > before:
            before = len(reached)
            reached |= ends(name for name in includes if includes[name] & reached)
        chosen = [name for name in chosen if name in touched or name not in includes or includes[name] & reached]
json.dump([first[name] for name in chosen], open(f"{work}/compile_commands.json", "w"))
open(f"{work}/files", "w").write("".join(f"{root}/{name}\0" for name in chosen))
PYTHON

# check FILE: silent where there is nothing to say.
check() {
    local status=0 said
    said=$(timeout "${CLUMP_TIDY_TIMEOUT:-300}" "$tidy" -p "$work" --quiet "$1" 2>&1) || status=$?
    [ "$status" != 0 ] || return 0
    if [ "$status" = 124 ]; then said="$1: took too long"; fi
    printf '%s\n' "$said" | grep -v ' warnings\? generated\.$' || true
    return 1
}
export -f check
export tidy work

count=$(tr -cd '\0' <"$work/files" | wc -c)
# shellcheck disable=SC2016 # the inner shell expands it
if xargs -0 -r -n 1 -P "$(nproc)" bash -c 'check "$1"' _ <"$work/files"; then
    echo "clang-tidy: nothing in $count files"
else
    echo "clang-tidy: see above ($count files checked)"
    exit 1
fi
