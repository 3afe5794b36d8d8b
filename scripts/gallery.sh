#!/usr/bin/env bash
# Makes the pictures of docs/images anew: those of the applications, of a heap, of the containers, and two films. What it needs and is missing
# is installed (scripts/setup.sh --gallery). Exit status 2: something that it needs is not there.
#
#   gallery.sh [FOLDER]       another folder than docs/images
#
# CLUMP_BUILD names the build tree. Worlds are the same in each run; in a heap of several threads blocks may lie elsewhere.
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
build=${CLUMP_BUILD:-$root/build}
to=${1:-$root/docs/images}
made=$(mktemp -d)
trap 'rm -rf "$made"' EXIT

"$root/scripts/setup.sh" --gallery
# A package of the distribution is not seen by each Python of the PATH.
for python in python3 /usr/bin/python3 ""; do
    if [ -z "$python" ]; then
        echo "gallery: this needs Pillow (scripts/setup.sh --gallery)" >&2
        exit 2
    fi
    if "$python" -c "import PIL" 2>/dev/null; then break; fi
done
for target in clump clump-bench clump-inspect; do "$root/scripts/build.sh" "$build" --target "$target"; done
build=$(cd "$build" && pwd)
mkdir -p "$to"
to=$(cd "$to" && pwd)

# run NAME KEY=VALUE...: an application, whose check must be content.
run() {
    local name=$1 sets=()
    shift
    for pair in "$@"; do sets+=(--set "$pair"); done
    echo "gallery: $name"
    "$build/bench/clump-bench" run "app-$name" "${sets[@]}" >"$made/log" || {
        cat "$made/log" >&2
        exit 1
    }
}
image() { run "$@" "image=$made/$1.png"; }
image wa-tor
image sugarscape width=256 height=256 steps=300 sources=40 growth=255 diffusion=4 max_diffusion=31
image game-of-life width=120 height=100 steps=240 "pattern=$root/bench/apps/game-of-life/patterns/gosper-gun.rle"
image generation width=240 height=240 steps=300
image nbody bodies=8000 steps=70 pixels=480
image collision bodies=6000 steps=60 pixels=480
image barnes-hut bodies=1500 steps=80 pixels=560
image structure steps=22 pixels=640
image traffic intersections=144 steps=600 pixels=720
run wa-tor width=180 height=160 steps=88 heap_mb=1 "frames=$made/frames" every=2 "dumps=$made/heap"
"$python" "$root/scripts/gallery/draw.py" "$made" "$to"

# The first program of the page on heaps, and the picture that clump-inspect makes of its dumps.
awk '/^```/ && is_c { exit } is_c; /^```c$/ { is_c = 1 }' "$root/docs/guide/seeing-the-heap.md" >"$made/program.c"
read -ra flags < <(PKG_CONFIG_PATH=$build/generated pkg-config --define-variable="libdir=$build" --define-variable="includedir=$root/include" \
    --static --cflags --libs clump)
cd "$made"
"${CC:-cc}" -o program program.c "${flags[@]}"
./program
"$build/tools/clump-inspect" --png "$to/heap.png" scattered.json compact.json
ls -l "$to"
