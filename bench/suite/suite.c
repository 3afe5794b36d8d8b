/* clump-bench suite: all benchmarks at sizes that fit the device; one JSON file, one report in
 * Markdown, and a plot for each group of runs.
 *
 * A new benchmark gets a group or an entry in the tables below; sizes are given for CPUs and for
 * GPUs.
 *
 * What is too large for its sequential reference is checked in two other ways, and stays `not
 * checked`: its first steps are run once more, as many as the group's sequential entry has, and
 * must end like those; and all entries of a group that are the same problem must end alike.
 *
 * Read first: bench.h, suite.h.
 */
#include "suite.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "bench/harness/bench.h"

#define GPU_BYTES_LEAST (UINT64_C(8) << 30) /* of memory: smaller GPUs get the sizes of CPUs */

const suite_group suite_groups[] = {
    {"alloc",
     "objects made, 10^9 a second",
     "alloc-scalability",
     "alloc_rate",
     {{"few x 16 B", "items=65536 bytes=16", "items=1048576 bytes=16"},
      {"many x 16 B", "items=1048576 bytes=16", "items=16777216 bytes=16"},
      {"many x 64 B", "items=1048576 bytes=64", "items=16777216 bytes=64"},
      {"many x 128 B", "items=1048576 bytes=128", "items=16777216 bytes=128"},
      {"many x 512 B", "items=262144 bytes=512", "items=16777216 bytes=512"},
      {"16384 x n", "items=16384 per_item=16 bytes=64", "items=16384 per_item=1024 bytes=64"},
      {"not coalesced", "items=1048576 bytes=16 coalescing=off",
       "items=16777216 bytes=16 coalescing=off"},
      {"many, 32 registers", "items=1048576 bytes=16 registers=32",
       "items=16777216 bytes=16 registers=32"}}},
    {"free",
     "objects freed, 10^9 a second",
     "alloc-scalability",
     "free_rate",
     {{"many x 16 B", "items=1048576 bytes=16", "items=16777216 bytes=16"},
      {"many x 64 B", "items=1048576 bytes=64", "items=16777216 bytes=64"},
      {"at random x 16 B", "items=1048576 bytes=16 order=random",
       "items=16777216 bytes=16 order=random"},
      {"at random x 512 B", "items=262144 bytes=512 order=random",
       "items=16777216 bytes=512 order=random"},
      {"many, 32 registers", "items=1048576 bytes=16 registers=32",
       "items=16777216 bytes=16 registers=32"}}},
    {"alloc-mixed",
     "objects made and freed in one kernel, 10^9 a second",
     "alloc-mixed",
     "rate",
     {{"50% full", "heap_mb=16 sizes=16,64 fill=0.5", "heap_mb=1024 fill=0.5"},
      {"90% full", "heap_mb=16 sizes=16,64", "heap_mb=1024"},
      {"99% full", "heap_mb=16 sizes=16,64 fill=0.99", "heap_mb=1024 fill=0.99"},
      {"90%, one class", "heap_mb=16 sizes=16", "heap_mb=1024 sizes=16"},
      {"99%, one class", "heap_mb=16 sizes=16 fill=0.99", "heap_mb=1024 sizes=16 fill=0.99"},
      {"90%, larger heap", "heap_mb=64 sizes=16,64", "heap_mb=4096"},
      {"90%, 32 registers", "heap_mb=16 sizes=16,64 registers=32", "heap_mb=1024 registers=32"},
      {"90%, not coalesced", "heap_mb=16 sizes=16,64 coalescing=off",
       "heap_mb=1024 coalescing=off"},
      {"90%, not rotated", "heap_mb=16 sizes=16,64 rotation=off", "heap_mb=64 rotation=off"},
      {"90%, neither", "heap_mb=16 sizes=16,64 coalescing=off rotation=off",
       "heap_mb=64 coalescing=off rotation=off"},
      {"90%, rotated, as small", "heap_mb=16 sizes=16,64", "heap_mb=64"},
      {"90%, 1 look-up", "heap_mb=16 sizes=16,64 retries=1", "heap_mb=1024 retries=1"}}},
    {"alloc-churn",
     "F while objects come and go",
     "alloc-churn",
     "fragmentation",
     {{"random", "sizes=16,64", "heap_mb=1024"},
      {"1 look-up", "sizes=16,64 retries=1", "heap_mb=1024 retries=1"},
      {"2 look-ups", "sizes=16,64 retries=2", "heap_mb=1024 retries=2"},
      {"16 look-ups", "sizes=16,64 retries=16", "heap_mb=1024 retries=16"},
      {"1 row a block", "sizes=16,64 block_rows=1", "heap_mb=1024 block_rows=1"},
      {"waves", "sizes=16,64 pattern=waves", "heap_mb=1024 pattern=waves"},
      {"waves, 1 look-up", "sizes=16,64 pattern=waves retries=1",
       "heap_mb=1024 pattern=waves retries=1"},
      {"waves, 1 row", "sizes=16,64 pattern=waves block_rows=1",
       "heap_mb=1024 pattern=waves block_rows=1"}}},
    {"alloc-exhaust",
     "share of the heap's bytes that objects get before null",
     "alloc-exhaust",
     "usable",
     {{"8 B", "sizes=8", "heap_mb=1024 sizes=8"},
      {"16 B", "sizes=16", "heap_mb=1024 sizes=16"},
      {"64 B", "sizes=64", "heap_mb=1024 sizes=64"},
      {"256 B", "sizes=256", "heap_mb=1024 sizes=256"},
      {"16 and 64 B", "sizes=16,64", "heap_mb=1024 sizes=16,64"},
      {"24 and 200 B", "sizes=24,200", "heap_mb=1024 sizes=24,200"},
      {"16 to 128 B", "heap_mb=16", "heap_mb=1024"}}},
    {"alloc-capacity",
     "largest problem, share of the heap's bytes",
     "alloc-capacity",
     "usable",
     {{"16 B", "sizes=16 counts=1", "heap_mb=1024 sizes=16 counts=1"},
      {"64 B", "sizes=64 counts=1", "heap_mb=1024 sizes=64 counts=1"},
      {"16 to 128 B", "heap_mb=64", "heap_mb=1024"},
      {"the same, small heap", "heap_mb=4", "heap_mb=16"},
      {"the same, large heap", "heap_mb=256", "heap_mb=16384"},
      {"24 and 200 B, 4 to 1", "sizes=24,200 counts=4,1", "heap_mb=1024 sizes=24,200 counts=4,1"},
      {"1 row a block", "heap_mb=64 block_rows=1", "heap_mb=1024 block_rows=1"}}},
    {"alloc-bulk",
     "objects made by a do-new, 10^9 a second",
     "alloc-bulk",
     "do_new_rate",
     {{"few x 16 B", "objects=10000", "objects=100000"},
      {"many x 16 B", "objects=1000000", "objects=10000000"},
      {"most x 16 B", "objects=4000000", "objects=100000000"},
      {"many x 64 B", "objects=1000000 bytes=64", "objects=10000000 bytes=64"},
      {"many x 128 B", "objects=1000000 bytes=128", "objects=10000000 bytes=128"}}},
    {"enumerate",
     "bandwidth of a do-all, GB/s",
     "enumerate",
     "bandwidth",
     {{"10^3", "objects=1000", "objects=1000"},
      {"10^4", "objects=10000", "objects=10000"},
      {"10^5", "objects=100000", "objects=100000"},
      {"10^6", "objects=1000000", "objects=1000000"},
      {"10^7", "objects=10000000", "objects=10000000"},
      {"most", "objects=20000000", "objects=100000000"},
      {"most, half freed", "objects=20000000 density=0.5", "objects=100000000 density=0.5"},
      {"most, 1 in 10 left", "objects=20000000 density=0.1", "objects=100000000 density=0.1"},
      {"the same, by rows", "objects=20000000 density=0.1 together=64",
       "objects=100000000 density=0.1 together=64"}}},
    {"enumerate-heaps",
     "the list of objects, us",
     "enumerate",
     "list_us",
     {{"10^5, heap as needed", "objects=100000", "objects=100000"},
      {"10^5, large heap", "objects=100000 heap_mb=64", "objects=100000 heap_mb=1024"},
      {"10^5, larger heap", "objects=100000 heap_mb=256", "objects=100000 heap_mb=16384"},
      {"10^6, heap as needed", "objects=1000000", "objects=1000000"},
      {"10^6, larger heap", "objects=1000000 heap_mb=256", "objects=1000000 heap_mb=16384"},
      {"10^7, heap as needed", "objects=10000000", "objects=10000000"}}},
    {"field-bandwidth",
     "fields in a do-all, share of a copy kernel",
     "field-bandwidth",
     "share_of_copy",
     {{"1 B x 2 of 8", "type=uchar", "objects=100000000 type=uchar"},
      {"2 B x 2 of 8", "type=ushort", "objects=100000000 type=ushort"},
      {"4 B x 2 of 8", "type=uint", "objects=100000000 type=uint"},
      {"8 B x 2 of 8", "type=ulong", "objects=50000000 type=ulong"},
      {"16 B x 2 of 8", "type=uint4", "objects=25000000 type=uint4"},
      {"4 B x 8 of 8", "touch=8", "objects=100000000 touch=8"},
      {"aos, 4 B x 2 of 8", "layout=aos", "objects=100000000 layout=aos"},
      {"aos, 4 B x 8 of 8", "layout=aos touch=8", "objects=100000000 layout=aos touch=8"}}},
    {"dispatch",
     "calls by class, time of the do-all against that of direct calls",
     "dispatch",
     "of_one_launch",
     {{"10^5", "objects=100000", "objects=100000"},
      {"10^6", "", "objects=1000000"},
      {"most", "objects=10000000", "objects=50000000"},
      {"most, more work", "objects=10000000 work=64", "objects=50000000 work=64"}}},
    {"fuse",
     "three loops in one launch, times as fast as one after the other",
     "fuse",
     "update_gain",
     {{"10^3", "objects=1000", "objects=1000"},
      {"10^5", "objects=100000", "objects=100000"},
      {"10^6", "", "objects=1000000"},
      {"most", "objects=10000000", "objects=50000000"}}},
    {"host-access",
     "one field of all objects read by the host, GB/s",
     "host-access",
     "read_rate",
     {{"1 B", "type=uchar", "objects=10000000 type=uchar"},
      {"4 B", "objects=1000000", "objects=10000000"},
      {"16 B", "type=uint4", "objects=10000000 type=uint4"},
      {"4 B, half freed", "density=0.5", "objects=10000000 density=0.5"}}},
    {"save-load",
     "a heap saved to memory of the host, GB/s",
     "save-load",
     "save_rate",
     {{"all", "objects=1000000", "objects=20000000"},
      {"half freed", "density=0.5", "objects=20000000 density=0.5"}}},
    {"survey-alloc",
     "raw memory asked for, 10^9 a second",
     "survey-alloc",
     "alloc_rate",
     {{"16 B", "items=100000 bytes=16", "items=1048576 bytes=16 heap_mb=8192"},
      {"64 B", "items=100000 bytes=64", "items=1048576 bytes=64 heap_mb=8192"},
      {"512 B", "items=20000 bytes=512", "items=1048576 bytes=512 heap_mb=8192"},
      {"4 KiB", "items=5000 bytes=4096", "items=1048576 bytes=4096 heap_mb=16384"},
      {"64 KiB", "items=500 bytes=65536", "items=65536 bytes=65536 heap_mb=16384"},
      {"4 B to 4 KiB", "items=5000 bytes=4096 low=4",
       "items=1048576 bytes=4096 low=4 heap_mb=16384"}}},
    {"survey-oom",
     "raw memory before null, share of the heap",
     "survey-oom",
     "of_ideal",
     {{"16 B", "items=10000 bytes=16 heap_mb=64", "items=100000 bytes=16 heap_mb=1024"},
      {"64 B", "items=10000 bytes=64 heap_mb=64", "items=100000 bytes=64 heap_mb=1024"},
      {"4 KiB", "items=1000 bytes=4096 heap_mb=64", "items=100000 bytes=4096 heap_mb=1024"}}},
    {"survey-work",
     "output of unknown size: a prefix sum against raw memory",
     "survey-work",
     "prefix_share",
     {{"4 to 64 B", "items=100000 low=4 bytes=64", "items=1048576 low=4 bytes=64 heap_mb=8192"},
      {"4 B to 4 KiB", "items=5000 low=4 bytes=4096",
       "items=131072 low=4 bytes=4096 heap_mb=8192"}}},
    {"survey-graph-init",
     "a graph made of lists in raw memory, ms",
     "survey-graph-init",
     "init_ms",
     {{"road", "", "vertices=1088092 heap_mb=8192"},
      {"random", "shape=random degree=8", "shape=random degree=16 vertices=1000000 heap_mb=8192"},
      {"power", "shape=power degree=8", "shape=power degree=16 vertices=1000000 heap_mb=8192"}}},
    {"survey-graph-update",
     "10,000 edges inserted into lists in raw memory, ms",
     "survey-graph-update",
     "insert_ms",
     {{"road", "", "vertices=1088092 batches=3 heap_mb=8192"},
      {"road, range", "range=1000", "vertices=1088092 batches=3 range=10000 heap_mb=8192"},
      {"power", "shape=power degree=8",
       "shape=power degree=16 vertices=1000000 batches=3 heap_mb=8192"}}},
    {"map",
     "keys put into a hash map on the heap, 10^6 a second",
     "map",
     "insert_rate",
     {{"few", "keys=100000", "keys=1048576"},
      {"many", "", "keys=16777216"},
      {"many, 4 a list", "per_list=4", "keys=16777216 per_list=4"}}},
    {"vector",
     "elements appended to a vector on the heap, 10^6 a second",
     "vector",
     "append_rate",
     {{"few", "elements=100000", "elements=1048576"},
      {"many", "", "elements=16777216 first=1048576"}}},
    {"grid",
     "bodies near each of 10^6 or 10^7 in a spatial grid, us",
     "grid",
     "near_us",
     {{"few", "bodies=100000", ""}, {"many", "", "bodies=10000000 heap_mb=4096"}}},
    {"arrays",
     "a do-all over all elements of 262,144 arrays, us",
     "arrays",
     "add_us",
     {{"outside", "layout=outside", "layout=outside"},
      {"inline 32", "", ""},
      {"max", "layout=max", "layout=max"},
      {"packed", "layout=packed", "layout=packed"},
      {"outside, aos", "layout=outside class=aos", "layout=outside class=aos"},
      {"inline 32, aos", "class=aos", "class=aos"},
      {"max, aos", "layout=max class=aos", "layout=max class=aos"}}},
    {"graph-search",
     "breadth-first search by arrays of references, 10^6 edges a second",
     "graph",
     "search_rate",
     {{"road, outside", "layout=outside", "vertices=1088092 batch=100000 batches=1 layout=outside"},
      {"road, inline", "", "vertices=1088092 batch=100000 batches=1"},
      {"road, max", "layout=max", "vertices=1088092 batch=100000 batches=1 layout=max"},
      {"road, packed", "layout=packed", "vertices=1088092 batch=100000 batches=1 layout=packed"},
      {"random, inline", "shape=random degree=8 inside=8",
       "shape=random degree=16 inside=16 vertices=1000000 batch=100000 batches=1"},
      {"power, inline", "shape=power degree=8 inside=8",
       "shape=power degree=16 inside=16 vertices=1000000 batch=100000 batches=1"}}},
    {"compact",
     "compaction of a heap of which 60% died, ms",
     "compact-synthetic",
     "time_ms",
     {{"planner", "objects=1048576", "objects=32768000"},
      {"merge, n=3", "objects=1048576 strategy=merge", "objects=32768000 strategy=merge"},
      {"planner, 64 slots", "objects=1048576 block_rows=1", "objects=32768000 block_rows=1"},
      {"merge, 64 slots", "objects=1048576 block_rows=1 strategy=merge",
       "objects=32768000 block_rows=1 strategy=merge"}}},
    {"mark",
     "marking of a random graph with two references an object, ms",
     "mark-random",
     "time_ms",
     {{"auto", "objects=1000000", "objects=20000000"},
      {"queue", "objects=1000000 engine=queue", "objects=20000000 engine=queue"},
      {"rows", "objects=1000000 engine=rows", "objects=20000000 engine=rows"},
      {"C, threads", "objects=1000000 engine=threads",
       "objects=20000000 engine=threads threads=16"}}},
    {"mark-synthetic",
     "marking of the heap that is compacted above, ms",
     "mark-synthetic",
     "time_ms",
     {{"auto", "objects=1048576", "objects=32768000"},
      {"queue", "objects=1048576 engine=queue", "objects=32768000 engine=queue"},
      {"none had died", "objects=1048576 dead=0", "objects=32768000 dead=0"},
      {"C, threads", "objects=1048576 engine=threads",
       "objects=32768000 engine=threads threads=16"}}},
    {"sweep",
     "the sweep after marking, ms; the floor is a copy of bitmaps and states",
     "mark-random",
     "sweep_ms",
     {{"many", "objects=1000000", "objects=10000000"},
      {"most", "objects=10000000", "objects=100000000"}}},
    {"mark-lists",
     "marking of linked lists, ms",
     "mark-lists",
     "time_ms",
     {{"one, auto", "lists=1 length=10000", "lists=1 length=10000"},
      {"one, host", "lists=1 length=10000 engine=host", "lists=1 length=10000 engine=host"},
      {"256, auto", "lists=256 length=2000", "lists=256 length=10000"},
      {"256, threads", "lists=256 length=2000 engine=threads",
       "lists=256 length=10000 engine=threads threads=16"}}},
    {"mark-hourglass",
     "marking of a list, a tree and a list, ms",
     "mark-hourglass",
     "time_ms",
     {{"auto", "", "objects=10000000"},
      {"never by the host", "stay=1", "objects=10000000 stay=1"},
      {"host", "engine=host", "objects=10000000 engine=host"},
      {"threads", "engine=threads", "objects=10000000 engine=threads threads=16"}}},
    {"wa-tor",
     "Wa-Tor, a step, us",
     "app-wa-tor",
     "time_per_step_us",
     {{"not compacted", "width=512 height=512 steps=100",
       "width=2048 height=2048 steps=200 check=0"},
      {"larger", "width=512 height=640 steps=100", "width=2560 height=2048 steps=100 check=0"},
      {"every 20 steps", "width=512 height=512 steps=100 compact=every:20",
       "width=2048 height=2048 steps=200 check=0 compact=every:20"},
      {"by cell", "width=512 height=512 steps=100 compact=every:20 order=cell",
       "width=2048 height=2048 steps=200 check=0 compact=every:20 order=cell"},
      {"automatic", "width=512 height=512 steps=100 compact=auto",
       "width=2048 height=2048 steps=200 check=0 compact=auto"},
      {"soa", "width=512 height=512 steps=100 variant=soa",
       "width=2048 height=2048 steps=200 check=0 variant=soa"},
      {"aos", "width=512 height=512 steps=100 variant=aos",
       "width=2048 height=2048 steps=200 check=0 variant=aos"},
      {"sequential", "width=512 height=512 steps=100 variant=sequential",
       "width=2048 height=2048 steps=21 variant=sequential"}}},
    {"collision",
     "bodies that merge, a step, us",
     "app-collision",
     "time_per_step_us",
     {{"clump", "bodies=1000 steps=50", "bodies=20000 steps=50 check=0"},
      {"compacted", "bodies=1000 steps=50 compact=every:10",
       "bodies=20000 steps=50 check=0 compact=every:10"},
      {"soa", "bodies=1000 steps=50 variant=soa", "bodies=20000 steps=50 check=0 variant=soa"},
      {"aos", "bodies=1000 steps=50 variant=aos", "bodies=20000 steps=50 check=0 variant=aos"},
      {"sequential", "bodies=1000 steps=50 variant=sequential",
       "bodies=20000 steps=5 variant=sequential"}}},
    {"nbody",
     "bodies, a step, us",
     "app-nbody",
     "time_per_step_us",
     {{"clump", "bodies=1000 steps=50", "bodies=20000 steps=50 check=0"},
      {"soa", "bodies=1000 steps=50 variant=soa", "bodies=20000 steps=50 check=0 variant=soa"},
      {"aos", "bodies=1000 steps=50 variant=aos", "bodies=20000 steps=50 check=0 variant=aos"},
      {"sequential", "bodies=1000 steps=50 variant=sequential",
       "bodies=20000 steps=2 variant=sequential"}}},
    {"structure",
     "springs between any two nodes, a step, us",
     "app-structure",
     "time_per_step_us",
     {{"clump", "network=random nodes=20000 steps=30 speed=4",
       "network=random nodes=500000 steps=50 check=0"},
      {"compacted", "network=random nodes=20000 steps=30 speed=4 compact=every:10",
       "network=random nodes=500000 steps=50 check=0 compact=every:10"},
      {"soa", "network=random nodes=20000 steps=30 speed=4 variant=soa",
       "network=random nodes=500000 steps=50 check=0 variant=soa"},
      {"aos", "network=random nodes=20000 steps=30 speed=4 variant=aos",
       "network=random nodes=500000 steps=50 check=0 variant=aos"},
      {"sequential", "network=random nodes=20000 steps=30 speed=4 variant=sequential",
       "network=random nodes=500000 steps=11 variant=sequential"}}},
    {"structure-sheet",
     "a sheet that tears, a step, us",
     "app-structure",
     "time_per_step_us",
     {{"clump", "nodes=16000 steps=60", "nodes=1000000 steps=200 check=0"},
      {"compacted", "nodes=16000 steps=60 compact=every:20",
       "nodes=1000000 steps=200 check=0 compact=every:20"},
      /* On CPUs too there is one without its reference, so that a test sees what is said of it. */
      {"soa", "nodes=16000 steps=60 check=0 variant=soa",
       "nodes=1000000 steps=200 check=0 variant=soa"},
      {"sequential", "nodes=16000 steps=21 variant=sequential",
       "nodes=1000000 steps=5 variant=sequential"}}},
    {"barnes-hut",
     "bodies in a quadtree, a step, us",
     "app-barnes-hut",
     "time_per_step_us",
     {{"clump", "bodies=20000 steps=50", "bodies=300000 steps=100 check=0"},
      {"compacted", "bodies=20000 steps=50 compact=every:20",
       "bodies=300000 steps=100 check=0 compact=every:20"},
      {"by Morton code", "bodies=20000 steps=50 compact=every:20 order=cell",
       "bodies=300000 steps=100 check=0 compact=every:20 order=cell"},
      {"soa", "bodies=20000 steps=50 variant=soa", "bodies=300000 steps=100 check=0 variant=soa"},
      {"aos", "bodies=20000 steps=50 variant=aos", "bodies=300000 steps=100 check=0 variant=aos"},
      {"sequential", "bodies=20000 steps=50 variant=sequential",
       "bodies=300000 steps=5 variant=sequential"}}},
    {"game-of-life",
     "Game of Life, a step, us",
     "app-game-of-life",
     "time_per_step_us",
     {{"clump", "width=512 height=512 steps=50", "width=4096 height=4096 steps=100 check=0"},
      {"soa", "width=512 height=512 steps=50 variant=soa",
       "width=4096 height=4096 steps=100 check=0 variant=soa"},
      {"sequential", "width=512 height=512 steps=50 variant=sequential",
       "width=4096 height=4096 steps=21 variant=sequential"}}},
    {"generation",
     "generational automaton, a step, us",
     "app-generation",
     "time_per_step_us",
     {{"clump", "width=512 height=512 steps=100", "width=5000 height=5000 steps=100 check=0"},
      {"compacted", "width=512 height=512 steps=100 compact=every:50",
       "width=5000 height=5000 steps=100 check=0 compact=every:50"},
      {"soa", "width=512 height=512 steps=100 variant=soa",
       "width=5000 height=5000 steps=100 check=0 variant=soa"},
      {"sequential", "width=512 height=512 steps=100 variant=sequential",
       "width=5000 height=5000 steps=51 variant=sequential"}}},
    {"capacity",
     "the largest size in a heap: all memory, clump over soa",
     "capacity",
     "memory_over_soa",
     {{"wa-tor", "app=app-wa-tor heap_mb=4 steps=20", "app=app-wa-tor heap_mb=256 steps=20"},
      {"collision", "app=app-collision heap_mb=1 steps=1",
       "app=app-collision heap_mb=16 steps=2 check=0"},
      {"nbody", "app=app-nbody heap_mb=1 steps=1", "app=app-nbody heap_mb=16 steps=2 check=0"},
      {"game-of-life", "app=app-game-of-life heap_mb=4 steps=20",
       "app=app-game-of-life heap_mb=256 steps=20"},
      {"generation", "app=app-generation heap_mb=4 steps=20",
       "app=app-generation heap_mb=256 steps=20"},
      {"barnes-hut", "app=app-barnes-hut heap_mb=4 steps=5",
       "app=app-barnes-hut heap_mb=256 steps=5"},
      {"structure", "app=app-structure heap_mb=4 steps=5 set=iterations=4",
       "app=app-structure heap_mb=256 steps=5 set=iterations=4"},
      {"sugarscape", "app=app-sugarscape heap_mb=16 steps=20",
       "app=app-sugarscape heap_mb=256 steps=20"},
      {"traffic", "app=app-traffic heap_mb=16 steps=20", "app=app-traffic heap_mb=256 steps=20"}}},
    {"sugarscape",
     "Sugarscape, a step, us",
     "app-sugarscape",
     "time_per_step_us",
     {{"clump", "width=256 height=256 steps=50", "width=1700 height=1700 steps=100"},
      {"by cell", "width=256 height=256 steps=50 compact=every:30 order=cell",
       "width=1700 height=1700 steps=100 check=0 compact=every:30 order=cell"},
      {"soa", "width=256 height=256 steps=50 variant=soa",
       "width=1700 height=1700 steps=100 check=0 variant=soa"},
      {"aos", "width=256 height=256 steps=50 variant=aos",
       "width=1700 height=1700 steps=100 check=0 variant=aos"},
      {"sequential", "width=256 height=256 steps=50 variant=sequential",
       "width=1700 height=1700 steps=31 variant=sequential"}}},
    {"traffic",
     "traffic on a network of streets, a step, us",
     "app-traffic",
     "time_per_step_us",
     {{"clump", "intersections=1000 steps=100", "intersections=17500 steps=500"},
      {"by cell", "intersections=1000 steps=100 compact=every:50 order=cell",
       "intersections=17500 steps=500 compact=every:50 order=cell"},
      {"soa", "intersections=1000 steps=100 variant=soa",
       "intersections=17500 steps=500 variant=soa"},
      {"aos", "intersections=1000 steps=100 variant=aos",
       "intersections=17500 steps=500 variant=aos"},
      {"sequential", "intersections=1000 steps=100 variant=sequential",
       "intersections=17500 steps=500 variant=sequential"}}},
    /* The set-ups of docs/measurements/presets.md. */
    {"preset-wa-tor",
     "Wa-Tor as DynaSOAr has it, a step, us",
     "app-wa-tor",
     "time_per_step_us",
     {{"clump", "preset=dynasoar width=256 height=256 steps=50", "preset=dynasoar check=0"},
      {"lean", "preset=dynasoar width=256 height=256 steps=50 model=lean",
       "preset=dynasoar check=0 model=lean"},
      {"soa", "preset=dynasoar width=256 height=256 steps=50 variant=soa",
       "preset=dynasoar check=0 variant=soa"},
      {"aos", "preset=dynasoar width=256 height=256 steps=50 variant=aos",
       "preset=dynasoar check=0 variant=aos"},
      {"sequential", "preset=dynasoar width=256 height=256 steps=50 variant=sequential",
       "preset=dynasoar steps=11 variant=sequential"}}},
    {"preset-generation",
     "generational automaton as DynaSOAr has it, a step, us",
     "app-generation",
     "time_per_step_us",
     {{"clump", "preset=dynasoar width=500 height=500 steps=50", "preset=dynasoar check=0"},
      {"by cell", "preset=dynasoar width=500 height=500 steps=50 compact=every:100 order=cell",
       "preset=dynasoar check=0 compact=every:100 order=cell"},
      {"lean", "preset=dynasoar width=500 height=500 steps=50 model=lean",
       "preset=dynasoar check=0 model=lean"},
      {"soa", "preset=dynasoar width=500 height=500 steps=50 variant=soa",
       "preset=dynasoar check=0 variant=soa"},
      {"sequential", "preset=dynasoar width=500 height=500 steps=50 variant=sequential",
       "preset=dynasoar steps=6 variant=sequential"}}},
    {"preset-traffic",
     "traffic as DynaSOAr has it, a step, us",
     "app-traffic",
     "time_per_step_us",
     {{"clump", "preset=dynasoar intersections=1000 steps=100", "preset=dynasoar check=0"},
      {"soa", "preset=dynasoar intersections=1000 steps=100 variant=soa",
       "preset=dynasoar check=0 variant=soa"},
      {"aos", "preset=dynasoar intersections=1000 steps=100 variant=aos",
       "preset=dynasoar check=0 variant=aos"},
      {"sequential", "preset=dynasoar intersections=1000 steps=100 variant=sequential",
       "preset=dynasoar steps=21 variant=sequential"}}},
    {"preset-sugarscape",
     "Sugarscape as DynaSOAr has it, a step, us",
     "app-sugarscape",
     "time_per_step_us",
     {{"clump", "preset=dynasoar width=256 height=256 steps=50", "preset=dynasoar check=0"},
      {"lean", "preset=dynasoar width=256 height=256 steps=50 model=lean",
       "preset=dynasoar check=0 model=lean"},
      {"soa", "preset=dynasoar width=256 height=256 steps=50 variant=soa",
       "preset=dynasoar check=0 variant=soa"},
      {"aos", "preset=dynasoar width=256 height=256 steps=50 variant=aos",
       "preset=dynasoar check=0 variant=aos"},
      {"sequential", "preset=dynasoar width=256 height=256 steps=50 variant=sequential",
       "preset=dynasoar steps=11 variant=sequential"}}},
    {"preset-structure",
     "fracture as DynaSOAr has it, a step, us",
     "app-structure",
     "time_per_step_us",
     {{"clump", "preset=dynasoar nodes=20000 steps=5", "preset=dynasoar check=0"},
      {"soa", "preset=dynasoar nodes=20000 steps=5 variant=soa",
       "preset=dynasoar check=0 variant=soa"},
      {"aos", "preset=dynasoar nodes=20000 steps=5 variant=aos",
       "preset=dynasoar check=0 variant=aos"},
      {"sequential", "preset=dynasoar nodes=20000 steps=5 variant=sequential",
       "preset=dynasoar steps=2 variant=sequential"}}},
    {"preset-collision",
     "bodies that merge as DynaSOAr has it, a step, us",
     "app-collision",
     "time_per_step_us",
     {{"clump", "preset=dynasoar bodies=1000 steps=20", "preset=dynasoar check=0"},
      {"compacted", "preset=dynasoar bodies=1000 steps=20 compact=every:20",
       "preset=dynasoar check=0 compact=every:20"},
      {"soa", "preset=dynasoar bodies=1000 steps=20 variant=soa",
       "preset=dynasoar check=0 variant=soa"},
      {"aos", "preset=dynasoar bodies=1000 steps=20 variant=aos",
       "preset=dynasoar check=0 variant=aos"},
      {"sequential", "preset=dynasoar bodies=1000 steps=20 variant=sequential",
       "preset=dynasoar steps=2 variant=sequential"}}},
    {"preset-nbody",
     "bodies as DynaSOAr has it, a step, us",
     "app-nbody",
     "time_per_step_us",
     {{"clump", "preset=dynasoar bodies=1000 steps=20", "preset=dynasoar check=0"},
      {"soa", "preset=dynasoar bodies=1000 steps=20 variant=soa",
       "preset=dynasoar check=0 variant=soa"},
      {"aos", "preset=dynasoar bodies=1000 steps=20 variant=aos",
       "preset=dynasoar check=0 variant=aos"},
      {"sequential", "preset=dynasoar bodies=1000 steps=20 variant=sequential",
       "preset=dynasoar steps=2 variant=sequential"}}},
    {"preset-barnes-hut",
     "bodies in a quadtree as DynaSOAr has it, a step, us",
     "app-barnes-hut",
     "time_per_step_us",
     {{"clump", "preset=dynasoar bodies=5000 steps=3", "preset=dynasoar steps=10 check=0"},
      {"soa", "preset=dynasoar bodies=5000 steps=3 variant=soa",
       "preset=dynasoar steps=10 check=0 variant=soa"},
      {"aos", "preset=dynasoar bodies=5000 steps=3 variant=aos",
       "preset=dynasoar steps=10 check=0 variant=aos"},
      {"sequential", "preset=dynasoar bodies=5000 steps=3 variant=sequential",
       "preset=dynasoar steps=1 variant=sequential"}}},
    {"pool-alloc",
     "one allocation of a pool, ns",
     "pool-alloc",
     "chunk_1M_alloc_ns",
     {{"chunk, one at a time", "most_kb=1024 touch=1", "touch=1"},
      {"chunk, 64 at a time", "most_kb=1024 count=64 touch=1", "count=64 touch=1"}}},
    {"pool-unique",
     "one buffer of its own, ns",
     "pool-alloc",
     "unique_1M_alloc_ns",
     {{"one at a time", "most_kb=1024 touch=1", "touch=1"},
      {"64 at a time", "most_kb=1024 count=64 touch=1", "count=64 touch=1"}}},
    {"pool-fit",
     "allocation with first fit, ns (the JSON has all strategies)",
     "pool-fit",
     "first_alloc_ns",
     {{"random sequences", "sequences=200", "sequences=400"}}},
    {"pool-waste",
     "mean waste of a pool over a trace, share",
     "pool-trace",
     "waste_mean",
     {{"games", "chunk_kb=4096", "mb=4096 chunk_kb=65536"},
      {"games, steps of 500 us", "chunk_kb=4096 defrag=budget",
       "mb=4096 chunk_kb=65536 defrag=budget"},
      {"games, all at once", "chunk_kb=4096 defrag=all", "mb=4096 chunk_kb=65536 defrag=all"},
      {"inference", "shape=inference chunk_kb=4096", "shape=inference mb=4096 chunk_kb=65536"},
      {"inference, steps of 500 us", "shape=inference chunk_kb=4096 defrag=budget",
       "shape=inference mb=4096 chunk_kb=65536 defrag=budget"},
      {"particles", "shape=particles chunk_kb=4096", "shape=particles mb=4096 chunk_kb=65536"},
      {"particles, steps of 500 us", "shape=particles chunk_kb=4096 defrag=budget",
       "shape=particles mb=4096 chunk_kb=65536 defrag=budget"}}},
    {"pool-defrag",
     "fragmentation f with location weight 1",
     "pool-defrag",
     "f_a1_w0",
     {{"Eichinger 5.3", "tests=5 grid=0", "tests=25 scale=1"},
      {"without a limit of moves", "tests=5 grid=0 moves=0", "tests=25 scale=1 moves=0"}}},
};
#define GROUPS (sizeof suite_groups / sizeof *suite_groups)
const size_t suite_group_count = GROUPS;

typedef struct suite {
    bench_env *env;
    const char *folder;
    bench_report *report;
    int is_large;                           /* sizes for GPUs */
    uint32_t repeat;                        /* 0: each benchmark's own */
    uint8_t is_run[GROUPS];                 /* asked for */
    bench_values values[SUITE_ENTRIES_MAX]; /* of the group that is running */
} suite;

void suite_key(char *key, const char *group, const char *label, int is_start) {
    size_t length = (size_t)snprintf(key, SUITE_KEY_BYTES, "%s/", group);
    int is_gap = 0;
    for (; *label && length + 2 < SUITE_KEY_BYTES; label++) {
        int is_letter = (*label >= 'a' && *label <= 'z') || (*label >= 'A' && *label <= 'Z') ||
                        (*label >= '0' && *label <= '9') || *label == '.' || *label == '%';
        if (is_letter && is_gap) key[length++] = '-';
        if (is_letter) key[length++] = *label;
        is_gap = !is_letter;
    }
    snprintf(key + length, SUITE_KEY_BYTES - length, "%s", is_start ? "/start" : "");
}

const cJSON *suite_find(const cJSON *entries, const char *key) {
    const cJSON *entry = NULL;
    cJSON_ArrayForEach(entry, entries) {
        const char *found = cJSON_GetStringValue(cJSON_GetObjectItem(entry, "key"));
        if (found && strcmp(found, key) == 0) return entry;
    }
    return NULL;
}

int suite_is(const cJSON *entry, const char *result) {
    const cJSON *check = cJSON_GetObjectItem(entry, "check");
    const char *found = cJSON_GetStringValue(cJSON_GetObjectItem(check, "result"));
    return found && strcmp(found, result) == 0;
}

/* ---- What is run ----------------------------------------------------------------------------- */

/* All groups, or those that are named by the files of their plots. */
static int choose_groups(suite *s, const char *const *names, size_t count, bench_error *error) {
    memset(s->is_run, count == 0, sizeof s->is_run);
    for (size_t i = 0; i < count; i++) {
        char known[2 * BENCH_TEXT_BYTES] = "";
        size_t g = 0, length = 0;
        for (; g < GROUPS && strcmp(suite_groups[g].file, names[i]) != 0; g++) {
            length += (size_t)snprintf(known + length, sizeof known - length, " %s",
                                       suite_groups[g].file);
            length = length < sizeof known ? length : sizeof known - 1;
        }
        if (g == GROUPS) {
            return bench_error_set(error, "the suite has no group '%s'; there are%s", names[i],
                                   known);
        }
        s->is_run[g] = 1;
    }
    return 0;
}

/* Entries of an earlier call whose group is run again go. */
static void drop_groups(suite *s) {
    cJSON *entries = bench_report_entries(s->report);
    for (int i = cJSON_GetArraySize(entries); i-- > 0;) {
        const cJSON *entry = cJSON_GetArrayItem(entries, i);
        const char *key = cJSON_GetStringValue(cJSON_GetObjectItem(entry, "key"));
        size_t length = key ? strcspn(key, "/") : 0, g = 0;
        while (g < GROUPS && (!key || strlen(suite_groups[g].file) != length ||
                              strncmp(suite_groups[g].file, key, length) != 0)) {
            g++;
        }
        if (g == GROUPS || s->is_run[g]) cJSON_DeleteItemFromArray(entries, i);
    }
}

static size_t count_entries(size_t g) {
    size_t count = 0;
    while (count < SUITE_ENTRIES_MAX && suite_groups[g].entries[count].label) count++;
    return count;
}

static int run(suite *s, const bench_descriptor *benchmark, const bench_values *values,
               const bench_request *request, bench_error *error) {
    bench_results *results = malloc(sizeof *results);
    if (!results) {
        return bench_error_set(error, "out of memory");
    }
    bench_run(s->env, request, benchmark, values, s->report, results);
    bench_results_release(results);
    free(results);
    return 0;
}

static int run_entry(suite *s, size_t g, size_t e, bench_error *error) {
    const suite_group *group = &suite_groups[g];
    const suite_entry *entry = &group->entries[e];
    const bench_descriptor *benchmark = bench_registry_find(group->benchmark, error);
    char key[SUITE_KEY_BYTES];
    bench_request request = {.key = key, .set = s->is_large ? entry->gpu : entry->cpu};
    if (!benchmark) {
        return -1;
    }
    suite_key(key, group->file, entry->label, 0);
    bench_values_init(&s->values[e], benchmark->params, benchmark->presets);
    if (bench_values_set_all(&s->values[e], request.set, error)) {
        return -1;
    }
    s->env->repeat = s->repeat ? s->repeat : benchmark->repeat;
    return run(s, benchmark, &s->values[e], &request, error);
}

/* ---- What is checked without a reference ----------------------------------------------------- */

int suite_is_same_problem(const bench_values *a, const bench_values *b, int with_steps) {
    static const char *const others[] = {
        "variant", "model",      "check", "compact", "strategy",   "factor",     "retain",
        "rewrite", "candidates", "order", "heap_mb", "block_rows", "coalescing", "rotation",
        "retries", "registers",  "csv",   "profile", "dumps",      "image",      "frames",
        "every",   "sample",     "path",  "inside",  "car_fields"};
    for (int i = 0; a->params[i].key; i++) {
        const char *key = a->params[i].key;
        int is_other = !with_steps && strcmp(key, "steps") == 0;
        for (size_t k = 0; k < sizeof others / sizeof *others; k++) {
            is_other |= strcmp(key, others[k]) == 0;
        }
        if (!is_other && strcmp(a->values[i].text, b->values[i].text) != 0) return 0;
    }
    return 1;
}

/* The entry of this call in the file, and the checksum that it ended with; NAN: it has none. */
static cJSON *get_entry(suite *s, size_t g, size_t e) {
    char key[SUITE_KEY_BYTES];
    suite_key(key, suite_groups[g].file, suite_groups[g].entries[e].label, 0);
    return (cJSON *)suite_find(bench_report_entries(s->report), key); /* ours to change */
}

static double get_checksum(suite *s, size_t g, size_t e) {
    const cJSON *metrics = cJSON_GetObjectItem(get_entry(s, g, e), "metrics");
    return cJSON_GetNumberValue(
        cJSON_GetObjectItem(cJSON_GetObjectItem(metrics, "checksum"), "median"));
}

static int is_sequential(const bench_values *values) {
    return bench_find_param(values->params, "variant") >= 0 &&
           bench_is(values, "variant", "sequential");
}

/* An entry without a reference once more, with only the steps of the group's sequential entry. */
static int run_start(suite *s, size_t g, size_t e, size_t sequential, bench_error *error) {
    const suite_group *group = &suite_groups[g];
    const bench_descriptor *benchmark = bench_registry_find(group->benchmark, error);
    bench_values *values = malloc(sizeof *values);
    char key[SUITE_KEY_BYTES], set[BENCH_TEXT_BYTES];
    const suite_entry *entry = &group->entries[e];
    bench_request request = {
        .key = key, .set = set, .has_checksum = 1, .checksum = get_checksum(s, g, sequential)};
    int result = -1;
    if (!values) {
        bench_error_set(error, "out of memory");
    } else if (benchmark) {
        *values = s->values[e];
        suite_key(key, group->file, entry->label, 1);
        snprintf(set, sizeof set, "%s steps=%s", s->is_large ? entry->gpu : entry->cpu,
                 bench_text(&s->values[sequential], "steps"));
        s->env->repeat = 1;
        result =
            bench_values_set_all(values, set, error) || run(s, benchmark, values, &request, error)
                ? -1
                : 0;
    }
    free(values);
    return result;
}

static int run_starts(suite *s, size_t g, size_t count, bench_error *error) {
    for (size_t q = 0; q < count; q++) {
        for (size_t e = 0; is_sequential(&s->values[q]) && e < count; e++) {
            if (suite_is(get_entry(s, g, e), "not checked") && !is_sequential(&s->values[e]) &&
                suite_is_same_problem(&s->values[e], &s->values[q], 0) &&
                !suite_is_same_problem(&s->values[e], &s->values[q], 1) &&
                run_start(s, g, e, q, error)) {
                return -1;
            }
        }
    }
    return 0;
}

static void set_text(cJSON *object, const char *key, const char *text) {
    cJSON_ReplaceItemInObjectCaseSensitive(object, key, cJSON_CreateString(text));
}

/* Entries that are the same problem must have the same checksum. One that has no reference says
 * with which others it agrees. */
static void compare_entries(suite *s, size_t g, size_t count) {
    for (size_t e = 0; e < count; e++) {
        cJSON *check = cJSON_GetObjectItem(get_entry(s, g, e), "check");
        const char *before = cJSON_GetStringValue(cJSON_GetObjectItem(check, "message"));
        char message[2 * BENCH_TEXT_BYTES];
        double sum = get_checksum(s, g, e);
        int alike = 0;
        size_t length = (size_t)snprintf(message, sizeof message, "%s", before ? before : "");
        for (size_t o = 0; o < count && !isnan(sum); o++) {
            double other = get_checksum(s, g, o);
            const char *label = suite_groups[g].entries[o].label;
            if (o == e || isnan(other) || !suite_is_same_problem(&s->values[e], &s->values[o], 1)) {
                continue;
            }
            if (fabs(sum - other) > 0.5) {
                snprintf(message, sizeof message, "the checksum %.0f is not that of %s, %.0f", sum,
                         label, other);
                set_text(check, "result", bench_verdict_name(BENCH_FAILED));
                break;
            }
            length += (size_t)snprintf(message + length, sizeof message - length, "%s%s",
                                       alike++ ? ", " : "; the checksum is that of ", label);
        }
        if (!suite_is(get_entry(s, g, e), "ok")) set_text(check, "message", message);
    }
}

static int run_group(suite *s, size_t g, bench_error *error) {
    size_t count = count_entries(g);
    for (size_t e = 0; e < count; e++) {
        if (run_entry(s, g, e, error)) return -1;
    }
    if (run_starts(s, g, count, error)) return -1;
    compare_entries(s, g, count);
    return 0;
}

/* ---- The command ----------------------------------------------------------------------------- */

static int has_failed(const suite *s) {
    const cJSON *entry = NULL;
    cJSON_ArrayForEach(entry, bench_report_entries(s->report)) {
        if (suite_is(entry, "failed")) return 1;
    }
    return 0;
}

static int run_suite(suite *s, const char *const *names, size_t name_count, const char *command,
                     bench_error *error) {
    char path[BENCH_TEXT_BYTES];
    if (choose_groups(s, names, name_count, error)) {
        return -1;
    }
    mkdir(s->folder, 0777); /* it may be there; writing shows what is wrong */
    snprintf(path, sizeof path, "%s/suite.json", s->folder);
    if (name_count && bench_report_resume(s->report, s->env, path, error)) {
        return -1;
    }
    drop_groups(s);
    for (size_t g = 0; g < GROUPS; g++) {
        if (s->is_run[g] && run_group(s, g, error)) return -1;
    }
    return bench_report_write(s->report, s->env, command, path, error) ||
                   bench_summary(s->folder, error)
               ? -1
               : has_failed(s);
}

int bench_suite(bench_env *env, const char *const *names, size_t name_count, uint32_t repeat,
                const char *folder, const char *command, bench_error *error) {
    suite *s = calloc(1, sizeof *s);
    int result = -1;
    if (s) {
        *s = (suite){.env = env,
                     .folder = folder,
                     .report = bench_report_create(),
                     .repeat = repeat,
                     .is_large = !env->capabilities->is_cpu &&
                                 env->capabilities->memory_bytes >= GPU_BYTES_LEAST};
    }
    if (!s || !s->report) {
        bench_error_set(error, "out of memory");
    } else {
        result = run_suite(s, names, name_count, command, error);
    }
    if (s) {
        bench_report_destroy(s->report);
    }
    free(s);
    return result;
}
