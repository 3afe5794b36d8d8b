#!/usr/bin/env bash
# two_ranks.sh MPIEXEC PROGRAM FOLDER: the program of FOLDER prints what expected.txt says, with two ranks.
set -euo pipefail
diff "$3/expected.txt" <("$1" -n 2 "$2")
