#!/usr/bin/env bash
# Applications in domains: applications.sh MPIEXEC CLUMP_BENCH_MPI CLUMP_BENCH. Worlds are those of the sequential programs and of the single heap, bit for bit, for any number
# of ranks; also where bands are as low as they may be, where a row is a cell, and where ranks have different numbers of bodies. The epidemic is compared with plain OpenCL instead
# of the single heap.
set -euo pipefail
mpiexec=$1 mpi=$2 bench=$3
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# checksum RANKS APPLICATION OPTION...: that of a run, which was equal to the sequential program.
checksum() {
    local ranks=$1
    shift
    "$mpiexec" -n "$ranks" "$mpi" "$@" reference=1 >"$work/said" 2>&1 </dev/null || {
        cat "$work/said" >&2
        echo "FAILED: $ranks ranks, $*" >&2
        return 1
    }
    grep -q '^equal to the sequential program$' "$work/said"
    sed -n 's/^checksum //p' "$work/said"
}

# same RANKS... -- APPLICATION OPTION...
same() {
    local ranks=() found=() one
    while [ "$1" != -- ]; do
        ranks+=("$1")
        shift
    done
    shift
    for one in "${ranks[@]}"; do found+=("$(checksum "$one" "$@")"); done
    if [ "$(printf '%s\n' "${found[@]}" | sort -u | wc -l)" != 1 ]; then
        echo "FAILED: $*: ${found[*]}" >&2
        return 1
    fi
    echo "$*: ${found[0]}"
}

same 1 2 3 4 -- wa-tor width=70 height=50 steps=40 warmup=0 | tee "$work/wa-tor"
same 1 4 -- wa-tor width=33 height=12 steps=60 fish=500 sharks=200 shark_energy=6
same 1 2 -- wa-tor width=1 height=9 steps=30 fish=400 sharks=100
same 1 3 -- wa-tor width=2 height=9 steps=30 fish=400 sharks=100

# Edges whose differences are sent.
same 1 3 -- wa-tor width=4096 height=12 steps=6 warmup=0 delta=1
grep -q '^edges: .*, [1-9][0-9]* of [0-9]* parts as differences' "$work/said" || {
    cat "$work/said"
    echo "FAILED: no edge was sent as differences"
    exit 1
}

# A world that 4 ranks save goes on with fewer and with more of them, from parts that end elsewhere.
"$mpiexec" -n 4 "$mpi" wa-tor width=70 height=50 steps=17 file="$work/world" save=1 >/dev/null </dev/null
same 1 2 3 4 5 -- wa-tor width=70 height=50 steps=21 warmup=0 file="$work/world" load=1
# Fish and sharks in some rows only: borders move in both directions, and the world is the same. A file has the rows of each band.
moved() { # WIDTH: rows moved in the last run, and cells were made only for these rows; more if 64 cells, which are made together, are of several rows.
    local up down made exact=$(($1 % 64 == 0))
    read -r up down made < <(sed -n 's/^borders: .* moved \([0-9]*\) rows up and \([0-9]*\) down; \([0-9]*\) cells made.*/\1 \2 \3/p' "$work/said")
    if [ "$up" = 0 ] || [ "$down" = 0 ] || { [ $exact = 1 ] && [ "$made" != $(((up + down) * $1)) ]; }; then
        cat "$work/said"
        echo "FAILED: $up rows moved up and $down down, and $made cells were made"
        exit 1
    fi
}
same 1 2 3 4 8 -- wa-tor width=70 height=50 steps=40 warmup=0 wave=300 balance=3 measure=0 idle=1
moved 70
same 1 2 4 -- wa-tor width=128 height=120 steps=80 warmup=0 wave=300 balance=6 measure=0 agent=1000
moved 128
# By measured times, which are others in each run.
same 2 3 -- wa-tor width=70 height=50 steps=40 warmup=0 wave=300 balance=2 agent=1
grep -q 'borders: .*, [1-9][0-9]* of [0-9]* calls moved ' "$work/said" || {
    cat "$work/said"
    echo "FAILED: no border moved"
    exit 1
}
"$mpiexec" -n 4 "$mpi" wa-tor width=70 height=50 until=17 wave=300 balance=3 file="$work/moved" save=1 >/dev/null </dev/null
same 1 3 8 -- wa-tor width=70 height=50 until=40 wave=300 balance=5 file="$work/moved" load=1
if "$mpiexec" -n 2 "$mpi" wa-tor width=70 height=50 until=17 file="$work/moved" load=1 >"$work/said" 2>&1 </dev/null ||
    ! grep -q 'the world has made 17 steps, and until is 17' "$work/said"; then
    cat "$work/said"
    echo "FAILED: no step is left"
    exit 1
fi
if "$mpiexec" -n 2 "$mpi" wa-tor width=70 height=48 file="$work/world" load=1 >"$work/said" 2>&1 </dev/null ||
    ! grep -q 'is not of a world of 70 x 48 cells' "$work/said"; then
    cat "$work/said"
    echo "FAILED: another world is loaded"
    exit 1
fi
if "$mpiexec" -n 1 "$mpi" wa-tor width=70.5 >"$work/said" 2>&1 </dev/null || ! grep -q 'width=70.5: it must be a whole number' "$work/said"; then
    cat "$work/said"
    echo "FAILED: a part of a cell"
    exit 1
fi
# No step waits for a file: with a checkpoint due in each step some are late, and the last one goes on. With writer=2 none is late.
whole=$(sed 's/.*: //' "$work/wa-tor")
for writer in 1 2; do
    "$mpiexec" -n 4 "$mpi" wa-tor width=70 height=50 until=39 checkpoint=1 writer=$writer file="$work/often" >"$work/said" 2>&1 </dev/null
    late='the last of step 39; [1-9][0-9]* late'
    [ $writer = 1 ] || late='^checkpoints: 39, the last of step 39; 0 late, by up to 0 steps'
    if ! grep -q "$late" "$work/said" || [ "$(checksum 3 wa-tor width=70 height=50 until=40 file="$work/often" load=1)" != "$whole" ]; then
        cat "$work/said"
        echo "FAILED: checkpoints in each step, writer=$writer"
        exit 1
    fi
done
for wrong in 'nbody checkpoint=2: nbody is neither saved nor loaded' 'nbody steps=1: no option needs a file'; do
    # shellcheck disable=SC2086
    if "$mpiexec" -n 2 "$mpi" ${wrong%%: *} file="$work/none" >"$work/said" 2>&1 </dev/null || ! grep -q "${wrong#*: }" "$work/said"; then
        cat "$work/said"
        echo "FAILED: $wrong"
        exit 1
    fi
done
same 1 2 3 4 -- nbody bodies=403 steps=8 warmup=0 | tee "$work/nbody"

# Births, deaths and agents that cross, on bands of different heights down to one row; and a row that is one word.
same 1 2 3 8 -- epidemic width=16 height=12 steps=20 | tee "$work/epidemic"
same 1 3 -- epidemic width=2 height=3 density=64 steps=20 birth=3000 death=3000 contagion=2000 room=100
"${0%/*}/../../bench/mpi/epidemic.sh" "$mpiexec" "$mpi" 2 12 width=16 steps=20 >"$work/said"
grep -q '^equal to the program in plain OpenCL$' "$work/said"
[ "$(grep -c "^checksum $(sed 's/.*: //' "$work/epidemic")" "$work/said")" = 2 ]
"$mpiexec" -n 4 "$mpi" epidemic width=16 height=12 steps=7 file="$work/sick" save=1 >/dev/null </dev/null
"$mpiexec" -n 4 "$mpi" epidemic width=16 height=12 until=15 checkpoint=10 writer=2 file="$work/sicker" >/dev/null </dev/null
{
    same 1 4 5 -- epidemic width=16 height=12 steps=13 warmup=0 file="$work/sick" load=1
    same 2 4 -- epidemic width=16 height=12 until=22 file="$work/sicker" load=1
} | sed 's/.*: //' | sort -u >"$work/resumed"
if [ "$(cat "$work/resumed")" != "$(sed 's/.*: //' "$work/epidemic")" ]; then
    cat "$work/epidemic" "$work/resumed"
    echo "FAILED: an epidemic that goes on comes to something else"
    exit 1
fi
for wrong in 'width=24: it must be a power of two' 'density=9: is not of a world with these options' 'plain=1: is for the epidemic, one rank'; do
    if "$mpiexec" -n 2 "$mpi" epidemic width=16 height=12 file="$work/sick" load=1 "${wrong%%: *}" >"$work/said" 2>&1 </dev/null || ! grep -q "${wrong#*: }" "$work/said"; then
        cat "$work/said"
        echo "FAILED: $wrong"
        exit 1
    fi
done

# The single heap. Its results are JSON.
for app in wa-tor nbody; do
    options=()
    for option in $(sed 's/:.*//; s/warmup=[0-9]*//; s/^[a-z-]* //' "$work/$app"); do options+=(--set "$option"); done
    "$bench" run "app-$app" "${options[@]}" >"$work/single" 2>&1 || { cat "$work/single"; exit 1; }
    expected=$(sed 's/.*: //' "$work/$app")
    grep -qi "$expected" "$work/single" || {
        cat "$work/single"
        echo "FAILED: the single heap of $app does not come to $expected"
        exit 1
    }
done
