#!/usr/bin/env bash
# Plants faults into cl/ and host/, one at a time, runs the tests that should see each, and prints
# those that no test saw.
#
#   mutate.sh [--seed N] [--count N] [--files GLOB] [--kind all|hand|random|endurance] [--only ID]... [--list]
#             [--jobs N] [--time-left SECONDS] [--resume] [--tests NAME,...] [--matrix] [--folder DIR]
#
# The faults are those of scripts/mutants.txt and others drawn at random from the seed. Tests by
# file: scripts/mutate/tests.txt. The kind endurance is scripts/mutants_endurance.txt alone, on the random
# client. Survivors that are argued to change nothing: scripts/mutants_equivalent.txt. Needs no GPU;
# docs/internals/testing.md, "Mutation score", says how to read what it prints. Exit status: 0 all found, 1 some
# survived, 2 an entry of the list fits no more.
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
for program in python3 git cmake ninja cc; do
    if ! command -v "$program" >/dev/null; then
        echo "mutate.sh needs $program" >&2
        exit 77
    fi
done
PYTHONDONTWRITEBYTECODE=1 exec python3 "$root/scripts/mutate/main.py" "$@"
