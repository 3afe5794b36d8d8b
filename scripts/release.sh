#!/usr/bin/env bash
# Makes and checks what a release consists of, in FOLDER (default build-release/):
#
#   clump-VERSION.tar.gz   the source, which builds without git
#   clump-VERSION-*.whl    the package for Python with the library in it; installing it needs no compiler
#   *.deb                  packages for the Debian or Ubuntu of this machine, where it has dpkg. CLUMP_RELEASE_PACKAGES=0: none
#   SHA256SUMS             checksums of these
#
#   release.sh [--trial] [FOLDER]     make and check. --trial also takes a tree with changes, and a version without a date
#   release.sh --publish FOLDER       publish what was made: a tag, a release on GitHub, PyPI. CLUMP_DRY_RUN=1 prints the commands
#
# Each file is checked as a user meets it: the source is unpacked and installed where there is no git, and the example hello
# is built against it; the wheel is installed into a new environment without a compiler, where the tutorial runs.
# Read first: docs/releasing.md, which has the checklists.
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
cd "$root"
version=$(sed -n 's/.*CLUMP_VERSION_TEXT "\(.*\)".*/\1/p' include/clump/export.h)
name=clump-$version

say() { echo "release: $*"; }
fail() { say "$*"; exit 1; }

# ---- Publish -----------------------------------------------------------------------------------
# do_it COMMAND...
do_it() {
    if [ "${CLUMP_DRY_RUN:-0}" = 1 ]; then printf '%q ' "$@" && echo; else "$@"; fi
}
if [ "${1:-}" = --publish ]; then
    cd "${2:?release.sh --publish FOLDER}"
    sha256sum --check --quiet SHA256SUMS || fail "a file is not as it was made"
    [ ! -e TRIAL ] || [ "${CLUMP_DRY_RUN:-0}" = 1 ] || fail "$2 is of a trial"
    mapfile -t files < <(cut -c 67- SHA256SUMS)
    do_it git -C "$root" tag --sign "v$version" --message "Clump $version"
    do_it git -C "$root" push origin "v$version"
    do_it gh release create "v$version" "${files[@]}" SHA256SUMS --title "Clump $version" --notes-file NOTES.md
    do_it twine upload ./*.whl
    exit 0
fi

# ---- What is released --------------------------------------------------------------------------
trial=0
if [ "${1:-}" = --trial ]; then
    trial=1
    shift
fi
folder=$(realpath -m "${1:-$root/build-release}")
date=$(sed -n "s/^## \[$version\] - //p" CHANGELOG.md)
if [ "$trial" = 0 ]; then
    [ -z "$(git status --porcelain)" ] || fail "the tree has changes"
    [[ "$date" =~ ^[0-9]{4}-[0-9]{2}-[0-9]{2}$ ]] || fail "CHANGELOG.md has no date for $version, but '$date'"
fi
for place in 'python/pyproject.toml:^version = "'"$version"'"' 'scripts/packaging/vcpkg/clump/vcpkg.json:"version": "'"$version"'"' \
    "scripts/packaging/debian/changelog:^clump ($version)"; do
    grep -q "${place#*:}" "${place%%:*}" || fail "${place%%:*} has another version than $version"
done
rm -rf "$folder"
mkdir -p "$folder"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
[ "$trial" = 0 ] || touch "$folder/TRIAL"
sed -n "/^## \[$version\]/,/^## \[/p" CHANGELOG.md | sed '1d; /^## \[/d' >"$folder/NOTES.md"

# quiet COMMAND...: says what it said only if it fails.
quiet() { "$@" >"$work/log" 2>&1 || { cat "$work/log"; fail "failed: $*"; }; }

# ---- The source --------------------------------------------------------------------------------
# Of the files that git knows; in a trial as they are now, and without a repository all but what is built.
files() {
    if [ -z "$(git rev-parse --show-cdup 2>/dev/null || echo none)" ]; then
        git ls-files -co --exclude-standard -z | while IFS= read -rd '' file; do [ ! -e "$file" ] || printf '%s\0' "$file"; done
    else
        find . -path './build*' -prune -o -path ./.git -prune -o -type f -printf '%P\0'
    fi
}
if [ "$trial" = 1 ]; then
    files |
        tar --create --null --files-from=- --transform "s,^,$name/," --owner=0 --group=0 --numeric-owner | gzip -9n >"$folder/$name.tar.gz"
else
    git archive --prefix="$name/" HEAD | gzip -9n >"$folder/$name.tar.gz"
fi
tar -C "$work" -xf "$folder/$name.tar.gz"
tree=$work/$name
export GIT_CEILING_DIRECTORIES=$work # no repository is above
quiet cmake -S "$tree" --preset library -DCMAKE_INSTALL_PREFIX="$work/installed"
quiet cmake --build "$tree/build-library"
quiet cmake --install "$tree/build-library"
quiet cmake -S "$tree/examples/hello" -B "$work/hello" -DCMAKE_PREFIX_PATH="$work/installed"
quiet cmake --build "$work/hello"
has_device=1
"$work/installed/bin/clump-info" >"$work/devices" 2>&1 || has_device=0
if [ "$has_device" = 1 ]; then
    said=$("$work/hello/hello")
    [ "$said" = "1000 made, 1166 now" ] || fail "hello printed: $said"
fi
say "$name.tar.gz: builds without git$([ "$has_device" = 0 ] || echo ", and hello runs")"

# ---- The wheel ---------------------------------------------------------------------------------
# auditwheel puts the loader of OpenCL into it, as PyOpenCL's wheels have theirs, so that nothing else has to be installed but
# a driver.
python=${CLUMP_PYTHON:-$HOME/.cache/clump/python}/bin/python
if [ -x "$python" ] && "$python" -c 'import auditwheel, scikit_build_core' 2>/dev/null; then
    bin=$(dirname "$python")
    quiet env PATH="$bin:$PATH" "$python" -m pip wheel -q --disable-pip-version-check --no-build-isolation --no-deps --no-index \
        -w "$work/wheels" "$tree/python"
    quiet env PATH="$bin:$PATH" "$python" -m auditwheel repair --wheel-dir "$folder" "$work"/wheels/*.whl
    wheel=$(basename "$folder"/*.whl)
    quiet "$python" -m venv "$work/venv"
    printf '%s\n' "$(dirname "$bin")"/lib/python3*/site-packages >"$(echo "$work"/venv/lib/python3*/site-packages)/pypi.pth"
    mkdir "$work/no-compiler"
    ln -s "$(command -v ld)" "$work/no-compiler" # PoCL links kernels by it
    quiet env PATH="$work/no-compiler" "$work/venv/bin/python" -m pip install -q --disable-pip-version-check --no-deps --no-index "$folder/$wheel"
    if [ "$has_device" = 1 ]; then
        quiet env PATH="$work/no-compiler" PYTHONDONTWRITEBYTECODE=1 "$work/venv/bin/python" "$tree/python/tests/test_tutorial.py"
    fi
    say "$wheel: installs without a compiler$([ "$has_device" = 0 ] || echo ", and the tutorial runs")"
else
    [ "$trial" = 1 ] || fail "scripts/setup.sh --python installs the tools that make the wheel"
    say "no wheel: scripts/setup.sh --python installs the tools that make it"
fi

# ---- Packages of the distribution --------------------------------------------------------------
if [ "${CLUMP_RELEASE_PACKAGES:-1}" = 1 ] && command -v dpkg-shlibdeps >/dev/null; then
    quiet cmake -S "$tree" --preset deb
    quiet cmake --build "$tree/build-deb"
    (cd "$tree/build-deb" && quiet cpack -G DEB)
    cp "$tree"/build-deb/*.deb "$folder"
    say "$(find "$folder" -name '*.deb' | wc -l) packages for $(sed -n 's/^PRETTY_NAME="\(.*\)"/\1/p' /etc/os-release)"
fi

(cd "$folder" && sha256sum ./*.tar.gz ./*.whl ./*.deb 2>/dev/null | sed 's, \./, ,' >SHA256SUMS) || true
cat "$folder/SHA256SUMS"
if [ "$trial" = 1 ]; then
    say "a trial. CLUMP_DRY_RUN=1 scripts/release.sh --publish $folder prints the commands that publish it"
else
    say "scripts/release.sh --publish $folder publishes it"
fi
