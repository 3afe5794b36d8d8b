#!/usr/bin/env bash
# Makes docs/measurements/papers.md anew from bench/results: the values of the papers beside ours. Plots are left
# out, because git does not keep them: `clump-bench paper NAME --from FOLDER --out FOLDER` draws them.
#
#   scripts/papers.sh [FOLDER]
#
# FOLDER instead of docs/. CLUMP_BUILD names the build tree, which must have clump-bench. The first folder of
# results is for the device in question. Others provide numbers that do not depend on the device.
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
bench=${CLUMP_BUILD:-$root/build}/bench/clump-bench
to=${1:-$root/docs}
page=$to/measurements/papers.md
made=$(mktemp -d)
trap 'rm -rf "$made"' EXIT

mkdir -p "$to/measurements"
cat >"$page" <<'END'
# Papers: their values beside ours

`scripts/papers.sh` makes this page from `bench/results`. One command makes all tables and figures of a
paper:

```sh
clump-bench paper thesis --out out/thesis                        # at the paper's set-up: minutes to hours on a GPU
clump-bench paper ismm --out out/ismm --only figure-15           # one of them
clump-bench paper maas --out out/maas --data FOLDER              # with files that are not in this repository
clump-bench paper eichinger --out out/eichinger --scale small    # in seconds on a CPU, to see that it runs
clump-bench paper ismm --out out/ismm --from bench/results/h200  # from existing runs
```

If gnuplot is installed, plots are written beside the tables in that folder. Curves over steps need
the series of the runs. The series of our runs are in the history
([results](../../bench/results/README.md)).

Values of a paper are copied as printed, with the section, table or figure. Where the text of a
paper does not have numbers, its curves are not here, because figures were not copied. Our values
are medians of runs at the same set-up on an H200 in `bench/results`. If no such run exists, the
cell says "not run yet". Values that do not depend on the device, such as numbers of moves, may come
from another device, which the cell names. Each run checks its results as usual. Runs of the same
problem must end with the same checksum. The last table of each paper lists its runs and the results
of their checks. In it, "not checked" means that no sequential reference was run at that size.

END
for name in thesis ismm maas eichinger; do
    from=(--from "$root/bench/results/h200")
    for folder in "$root"/bench/results/papers-* "$root/bench/results/pocl"; do
        if [ -f "$folder/$name.json" ] || [ -f "$folder/suite.json" ]; then from+=(--from "$folder"); fi
    done
    "$bench" paper "$name" "${from[@]}" --out "$made" >"$made/log"
    sed -e '/^!\[/,+1d' -e 's/^#/##/' "$made/$name.md" >>"$page"
    if [ "$name" != eichinger ]; then echo >>"$page"; fi
done
echo "$page"
