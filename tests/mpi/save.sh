#!/usr/bin/env bash
# save.sh MPIEXEC MPI_SAVE FOLDER: a world of 1 and of 4 ranks is saved and loaded; worlds of 1, 2, 3 and 6 load the parts of what 4 saved.
set -euo pipefail
mpiexec=$1 program=$2 folder=$3
for ranks in 1 4; do
    rm -rf "$folder"
    mkdir -p "$folder"
    "$mpiexec" -n "$ranks" "$program" "$folder"
done
for ranks in 1 2 3 6; do
    "$mpiexec" -n "$ranks" "$program" "$folder" load
done
