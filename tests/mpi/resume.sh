#!/usr/bin/env bash
# A rank is killed, and one command goes on: resume.sh MPIEXEC CLUMP_BENCH_MPI. Wa-Tor writes checkpoints; one of 3 ranks is killed between two of
# them, or while one is written. The others end with an error within their timeout, and the same command with 2 ranks goes on from the last complete
# checkpoint to the checksum of a run without a stop. The launcher does not see the death, as in dead.sh.
set -euo pipefail
if [ "$1" = --rank ]; then
    folder=$2
    shift 2
    "$@" &
    echo $! >"$folder/pid.${PMI_RANK:-${OMPI_COMM_WORLD_RANK:-${PMIX_RANK:-}}}"
    wait $! || true
    sleep 40 # the others end all of them before
    exit 0
fi
mpiexec=$1 program=$2
timeout=4 steps=400
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
options=(wa-tor width=40 height=36 until=$steps wave=400 balance=10 timeout=$timeout)

fail() {
    cat "$work/said" >&2
    echo "FAILED: $*" >&2
    exit 1
}

checksum() { sed -n 's/^checksum //p' "$work/said"; }

"$mpiexec" -n 1 "$program" "${options[@]}" reference=1 checkpoint=$steps file="$work/whole" >"$work/said" 2>&1 </dev/null || fail "the run without a stop"
expected=$(checksum)

# killed RANK CHECKPOINT NAME: the rank is killed when there is such a file.
killed() {
    local rank=$1 begin job
    rm -f "$work"/pid.* "$work"/world*
    "$mpiexec" -n 3 "$0" --rank "$work" "$program" "${options[@]}" checkpoint="$2" file="$work/world" >"$work/said" 2>&1 </dev/null &
    job=$!
    begin=$SECONDS
    while [ ! -e "$work/world" ] || [ ! -e "$work/$3" ]; do
        kill -0 $job 2>/dev/null || fail "it ended before a rank was killed"
        [ $((SECONDS - begin)) -le 100 ] || fail "there is no $3"
        [ -e "$work/world" ] || sleep 0.01 # a part is there for milliseconds only
    done
    [ "$3" = world.part ] || sleep "0.0$((RANDOM % 10))"
    kill -9 "$(cat "$work/pid.$rank")" || fail "rank $rank ended before it was killed"
    begin=$SECONDS
    if wait $job; then fail "no rank told of the one that was killed"; fi
    [ $((SECONDS - begin)) -le $((timeout + 5)) ] || fail "it ended $((SECONDS - begin)) s after rank $rank was killed"
    grep -q 'did not answer\|answered rank' "$work/said" || fail "no error names a rank that did not answer"
    "$mpiexec" -n 2 "$program" "${options[@]}" checkpoint=100 file="$work/world" load=1 >"$work/said" 2>&1 </dev/null || fail "going on"
    [ "$(checksum)" = "$expected" ] || fail "going on after rank $rank was killed comes to $(checksum), not $expected"
}

killed $((RANDOM % 3)) 20 world
killed 0 1 world.part
echo "both runs went on to $expected"
