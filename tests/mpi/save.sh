#!/usr/bin/env bash
# save.sh MPIEXEC MPI_SAVE FOLDER: a world of 1 and of 4 ranks is saved and loaded; what 4 saved is refused by 2.
set -euo pipefail
mpiexec=$1 program=$2 folder=$3
for ranks in 1 4; do
    rm -rf "$folder"
    mkdir -p "$folder"
    "$mpiexec" -n "$ranks" "$program" "$folder"
done
"$mpiexec" -n 2 "$program" "$folder" load
