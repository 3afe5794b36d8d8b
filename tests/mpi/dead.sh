#!/usr/bin/env bash
# Ranks that outlive one: dead.sh MPIEXEC MPI_DEAD. mpi_dead.c says what each prints. Launchers end all ranks when one has ended, which is no hang
# either; here they do not see it, as when a machine is lost: a shell stands between, and stays longer than the others wait.
set -euo pipefail
if [ "$1" = --rank ]; then
    "$2" "$3" "$4" || true
    sleep 4
    exit 0
fi
mpiexec=$1 program=$2
failed=0
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
for call in halo migration agree reduce save load parts; do
    said=$(timeout 60 "$mpiexec" -n 3 "$0" --rank "$program" "$call" "$work/dead.clump" 2>&1 </dev/null || true)
    for rank in 0 2; do
        if ! grep -q "^rank $rank: told and broken:" <<<"$said"; then
            printf 'FAILED: %s: rank %s\n%s\n' "$call" "$rank" "$said"
            failed=1
        fi
    done
done
[ "$failed" = 1 ] || echo "each survivor was told"
exit "$failed"
