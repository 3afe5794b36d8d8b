#!/usr/bin/env bash
# Wrong names, keys, values and files are refused with words that list what is right; traces and graphs that are
# right are read.
#
# Read first: common.sh, which says how it is called.
# shellcheck disable=SC1091,SC2154 # common.sh sets bench, folder and sets
source "$(dirname "$0")/common.sh"

# A trace that is written can be replayed; one that is wrong is refused, with the line.
trace=$folder/trace
"$bench" run pool-trace --set frames=20 --set mb=4 --set target=virtual --set "write=$trace" \
    --repeat 1 >"$folder/out" 2>&1 || fail "pool-trace does not write: $(tail -3 "$folder/out")"
"$bench" run pool-trace --set "file=$trace" --set target=virtual --repeat 1 >"$folder/out" 2>&1 ||
    fail "pool-trace does not replay: $(tail -3 "$folder/out")"
echo "f 77" >>"$trace"
lines=$(wc -l <"$trace")
status=0
"$bench" run pool-trace --set "file=$trace" --set target=virtual >"$folder/out" 2>&1 || status=$?
[ "$status" -ne 0 ] || fail "a trace that frees what is not there is replayed"
grep -q "line $lines: no live allocation" "$folder/out" || fail "no line: $(cat "$folder/out")"

# A graph of three nodes, two of which refer to each other and one of these is a root: plain, compressed,
# cut short, and with a reference to a node that is none.
word() { printf "\\x$(printf %02x "$1")\\x00\\x00\\x00"; }
graph() { # TARGET
    printf 'HGRAPH1\0'
    for n in 3 2 1 0 0 0 1 2 2 "$1" 0 8 40 60 0; do word "$n"; done
    printf '\0\0\0'
}
graph 1 >"$folder/graph"
gzip -c "$folder/graph" >"$folder/graph.gz"
for file in graph graph.gz; do
    "$bench" run mark-graph --no-cache --set "file=$folder/$file" --repeat 1 >"$folder/out" ||
        fail "mark-graph does not read $file"
    grep -q "check: ok: 2 of 3 nodes live" "$folder/out" || fail "mark-graph: $(cat "$folder/out")"
done
head -c 50 "$folder/graph" >"$folder/short"
graph 3 >"$folder/wrong"
refused 1 "ends too early" run mark-graph --set "file=$folder/short"
refused 1 "a node that it has not" run mark-graph --set "file=$folder/wrong"
refused 1 "is no graph" run mark-graph --set "file=$0"
refused 1 "cannot open" run mark-graph --set "file=$folder/nothing"

# A graph with edges: the same four in lines and as a matrix, whose vertices are counted from 1; and the graph above.
printf '%s\n' '# a comment' '0 1 1' '1 2 7' '3 0 2.5' '2 3 1' '3 2 1' >"$folder/lines"
printf '%s\n' '%%MatrixMarket matrix coordinate pattern symmetric' '% a comment' '5 5 4' '2 1' '3 2' '4 1' '4 3' >"$folder/matrix"
gzip -c "$folder/matrix" >"$folder/matrix.gz"
few=(--no-cache --repeat 1 --set batch=1 --set batches=1)
for expected in "lines 4 vertices, 4 edges, 1 " "matrix 5 vertices, 4 edges, 2 " "matrix.gz 5 vertices, 4 edges, 2 " "graph 3 vertices, 1 edges, 2 "; do
    "$bench" run graph "${few[@]}" --set "file=$folder/${expected%% *}" >"$folder/out" 2>&1 ||
        fail "graph does not read ${expected%% *}: $(tail -3 "$folder/out")"
    grep -q "check: ok: ${expected#* }components" "$folder/out" || fail "graph: $(tail -3 "$folder/out"), not $expected"
done
printf '%s\n' '0 1' '2' >"$folder/wrong-lines"
printf '%s\n' '%%MatrixMarket matrix coordinate pattern general' '3 3 1' '0 1' >"$folder/wrong-matrix"
refused 1 "wrong-lines, line 2: expected two numbers of vertices" run graph --set "file=$folder/wrong-lines"
refused 1 "wrong-matrix, line 3: 0 is no vertex; they are counted from 1 to 3" run graph --set "file=$folder/wrong-matrix"
refused 1 "/dev/null is empty" run graph --set "file=/dev/null"
refused 1 "3 batches of 2 edges are more than the 4 edges" run graph --set "file=$folder/lines" --set batch=2 --set batches=3
refused 1 "requests of several launches are all alike" run survey-alloc --set launches=2 --set low=4
refused 1 "layout=max: an array has 20001 elements.*layout=inline" run arrays --set layout=max --set objects=1 --set longest=20001
refused 1 "shortest=65 is more than longest=64" run arrays --set shortest=65

refused 2 "there are.*enumerate" run nothing
refused 2 "objects" run enumerate --set nothing=1
refused 2 "objects" run enumerate --set objects=-1
refused 2 "objects" run enumerate --set objects=many
refused 2 "planner|merge" run compact-synthetic --set strategy=none
refused 2 "KEY=VALUE" run enumerate --set objects
refused 1 "sizes.*multiple of 4 from 8" run alloc-mixed --set sizes=16,6
refused 1 "one for each class" run alloc-capacity --no-cache --set sizes=16,64 --set counts=1
refused 1 "touch=9" run field-bandwidth --set touch=9
refused 2 "no preset is called 'nothing'; there are: dynasoar" run app-wa-tor --set preset=nothing
refused 2 "there is no preset 'dynasoar'" run enumerate --set preset=dynasoar
refused 2 "nowhere" run enumerate --device nowhere
refused 2 "suite" nothing
refused 2 "--out" suite
refused 2 "folder of a suite" report
refused 1 "no group 'nothing'.*alloc.*pool-fit" suite nothing --out "$folder/part"

printf '%s\n' x,y,vx,vy,mass 0,0,0,0,1 '0,0,zero,0,1' >"$folder/bodies.csv"
refused 1 "bodies.csv, line 3: .*'0,0,zero,0,1'" run app-nbody --set "input=$folder/bodies.csv"
refused 1 "app-nothing.*app-wa-tor" run capacity --set app=app-nothing
refused 1 "how large" run capacity --set app=enumerate
refused 1 "KEY=VALUE" run capacity --set set=nonsense
printf '%s\n' 'intersection 1 0 0' 'street 1 2 10' >"$folder/map.streets"
refused 1 "map.streets, line 2: there must be: street FROM TO" run app-traffic --set "map=$folder/map.streets"
refused 1 "path=outside car_fields=soa needs model=dynasoar" run app-traffic --set path=outside
refused 1 "every is for frames" run app-wa-tor --set every=3
refused 1 "variant=clump" run app-nbody --set variant=soa --set profile=plot.svg
refused 1 "dumps is for variant=clump" run app-nbody --set variant=soa --set dumps=none
refused 1 "cannot make the folder $folder/no/where" run app-wa-tor --set "frames=$folder/no/where"
refused 1 "heap_mb=19 is enough" run app-barnes-hut --no-cache --set bodies=4800 --set steps=3 --set check=0 --set heap_mb=1 \
    --set compact=every:1 --set order=cell
refused 2 "nothing.json" compare "$folder/nothing.json" "$folder/nothing.json"
