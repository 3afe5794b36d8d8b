#!/usr/bin/env bash
# scripts/release.sh makes its files in FOLDER and checks them; publishing is refused for a trial and for a file that changed.
#
#   release.sh FOLDER
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
folder=$1

fail() { echo "FAILED: $*"; exit 1; }

# The test deb makes the packages.
CLUMP_RELEASE_PACKAGES=0 "$root/scripts/release.sh" --trial "$folder"
commands=$(CLUMP_DRY_RUN=1 "$root/scripts/release.sh" --publish "$folder")
for word in 'tag --sign' push 'gh release create' '.tar.gz' SHA256SUMS twine; do
    grep -q -- "$word" <<<"$commands" || fail "publishing has no '$word': $commands"
done
# Were it not refused, these would come to nothing.
mkdir -p "$folder/nothing"
for program in git gh twine; do printf '#!/bin/sh\nexit 9\n' >"$folder/nothing/$program" && chmod +x "$folder/nothing/$program"; done
said=$(PATH="$folder/nothing:$PATH" "$root/scripts/release.sh" --publish "$folder" 2>&1) && fail "a trial is published"
grep -q "is of a trial" <<<"$said" || fail "a trial is refused by: $said"
echo >>"$folder"/clump-*.tar.gz
said=$(CLUMP_DRY_RUN=1 "$root/scripts/release.sh" --publish "$folder" 2>&1) && fail "a changed file is published"
grep -q "not as it was made" <<<"$said" || fail "a changed file is refused by: $said"
if git -C "$root" rev-parse --git-dir >/dev/null 2>&1; then
    said=$("$root/scripts/release.sh" "$folder" 2>&1) && fail "a version without a date is released"
    grep -q "the tree has changes\|has no date" <<<"$said" || fail "it is refused by: $said"
fi
echo "made, checked, and refused where it has to be"
