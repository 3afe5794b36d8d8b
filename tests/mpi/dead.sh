#!/usr/bin/env bash
# Ranks that outlive one: dead.sh MPIEXEC MPI_DEAD. mpi_dead.c says what each prints. MPICH's mpiexec ends all ranks with one of them unless it is told
# otherwise, and so does Open MPI's; what they do by default is no hang either.
set -euo pipefail
mpiexec=$1 program=$2
case $("$mpiexec" --version 2>&1) in
*HYDRA*) keep=(-disable-auto-cleanup) ;;
*OpenRTE* | *"Open MPI"*) keep=(--enable-recovery --oversubscribe --allow-run-as-root) ;;
*)
    echo "skipped: it needs MPICH's or Open MPI's mpiexec"
    exit 77
    ;;
esac
failed=0
for call in halo migration agree reduce save load; do
    said=$(timeout 60 "$mpiexec" "${keep[@]}" -n 3 "$program" "$call" 2>&1 </dev/null || true)
    for rank in 0 2; do
        if ! grep -q "^rank $rank: told and broken:" <<<"$said"; then
            printf 'FAILED: %s: rank %s\n%s\n' "$call" "$rank" "$said"
            failed=1
        fi
    done
done
[ "$failed" = 0 ] && echo "each survivor was told"
exit "$failed"
