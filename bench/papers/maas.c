/* M. Maas et al., GPUs as an Opportunity for Offloading Garbage Collection, ISMM 2012: Table 1,
 * Fig. 2 and 3.
 *
 * The paper measured on an AMD E-350 APU with 2 compute units; all times of its Table 1 are in ms
 * and leave launches and copies out (6.2).
 *
 * Read first: paper.h, bench/mark/mark.c.
 */
#include "paper.h"

/* One graph in the variants of Table 1. In the small set-up most have the first and the last of
 * them. */
#define ONE " engine=queue groups=1"
#define CPU " engine=threads threads=1"
#define VARIANTS(name, benchmark, full, small, p, f, d, all, automatic)                            \
    {name, benchmark, full ONE " offsets=histogram wide=-1",                                       \
     small ONE " offsets=histogram wide=-1"},                                                      \
        {name "-p", benchmark, full ONE " offsets=prefix wide=-1", p},                             \
        {name "-f", benchmark, full " groups=1 offsets=histogram wide=-1", f},                     \
        {name "-d", benchmark, full ONE " offsets=histogram", d},                                  \
        {name "-all", benchmark, full " engine=queue offsets=histogram", all},                     \
        {name "-auto", benchmark, full, automatic}, {                                              \
        name "-cpu", benchmark, full CPU, small CPU                                                \
    }
#define GRAPH(name, benchmark, full, small)                                                        \
    VARIANTS(name, benchmark, full, small, NULL, NULL, NULL, NULL, NULL)
#define LIST "length=1000"
/* A real heap, where --data has it (bench/mark/heaps makes three of them). Small: a random
 * graph. */
#define HEAP(name, file)                                                                           \
    {name, "mark-graph", "file=@" file ".hgraph.gz", "engine=threads"}, {                          \
        name "-cpu", "mark-graph", "file=@" file ".hgraph.gz engine=threads threads=1",            \
            "engine=threads threads=1"                                                             \
    }

static const paper_run runs[] = {
    GRAPH("single", "mark-single", "heap_mb=0", "heap_mb=0"),
    VARIANTS("list", "mark-list", "length=10000", LIST, LIST ONE " offsets=prefix wide=-1",
             LIST " groups=1 offsets=histogram wide=-1", LIST ONE " offsets=histogram",
             LIST " engine=queue offsets=histogram", LIST),
    GRAPH("256", "mark-lists", "lists=256 length=10000", "lists=20 length=50"),
    GRAPH("2560", "mark-lists", "lists=2560 length=3000", "lists=20 length=50"),
    GRAPH("wide", "mark-wide", "width=1000 objects=1", "width=50 objects=20"),
    GRAPH("vp-list", "mark-vp-list", "length=8192", "length=50"),
    GRAPH("vp-arrays", "mark-vp-arrays", "arrays=1024", "arrays=70"),
    HEAP("real", "typescript-heap"),
    HEAP("node", "node"),
    HEAP("cpython", "cpython"),
    HEAP("assembly", "assembly"),
    {"power", "mark-random", "objects=1048576 power=2.2 engine=threads threads=1",
     "objects=3000 power=2.2 engine=threads threads=1"},
    {NULL, NULL, NULL, NULL}};

#define OURS(label, name)                                                                          \
    {                                                                                              \
        {                                                                                          \
            label, "=" name "-cpu:time_ms", "=" name ":time_ms", "=" name "-p:time_ms", "",        \
                "=" name "-f:time_ms", "=" name "-d:time_ms", "", "=" name "-all:time_ms",         \
                "=" name "-auto:time_ms"                                                           \
        }                                                                                          \
    }

static const paper_item items[] = {
    {.name = "table-1",
     .title = "marking small graphs, ms: the paper's row, then ours",
     .place = "Table 1",
     .head = {{"graph", "CPU", "GPU", "GPU+P", "GPU+V", "GPU+F", "GPU+D", "GPU+VD", "all units",
               "auto"}},
     .rows = {{{"single item, paper", "0.001", "0.027", "0.027", "0.028", "0.028", "0.027", "0.028",
                "0.028"}},
              OURS("single item, ours", "single"),
              {{"long linked list, paper", "0.151", "94.604", "74.400", "83.451", "0.360", "96.279",
                "85.412", "84.173"}},
              OURS("long linked list, ours", "list"),
              {{"256 lists, paper", "129.723", "140.465", "192.823", "118.982", "140.783",
                "142.556", "120.984", "102.092"}},
              OURS("256 lists, ours", "256"),
              {{"2560 lists, paper", "1074.920", "415.553", "572.153", "350.523", "416.389",
                "421.589", "356.986", "194.317"}},
              OURS("2560 lists, ours", "2560"),
              {{"very wide object, paper", "0.018", "1.862", "1.077", "1.696", "1.861", "0.218",
                "0.221", "0.220"}},
              OURS("very wide object, ours", "wide"),
              {{"VP linked list, paper", "0.150", "77.462", "60.950", "68.123", "0.317", "78.757",
                "69.802", "68.843"}},
              OURS("VP linked list, ours", "vp-list"),
              {{"VP arrays of objects, paper", "1.347", "5.361", "6.308", "3.516", "5.378", "5.843",
                "3.095", "1.693"}},
              OURS("VP arrays of objects, ours", "vp-arrays")},
     .difference = "GPU is one work-group with a histogram and without special treatment of "
                   "wide objects. P is with prefix sums. F hands narrow graphs over to the "
                   "host. Its times include the copies, which the paper leaves out. D reads "
                   "wide objects by all work-items. \"All units\" is D on all compute "
                   "units, and VD on both units of the paper. \"Auto\" is the default of "
                   "the library, which the paper does not have. Vector loads (V) do not "
                   "exist here: objects are a structure of arrays, so that neighbours read "
                   "one column together. On CPUs the queue has kernels of another kind, and "
                   "`offsets` does nothing."},
    {.name = "figure-2",
     .title = "objects at each depth of a breadth-first traversal",
     .place = "3.1, plots of heaps of DaCapo benchmarks: all begin with steps that "
              "widen rapidly from 600 to 1,000 roots, and some then have tails of 30 "
              "to 80 objects a step",
     .is_log = 1,
     .x_label = "depth",
     .curves_y = "objects",
     .head = {{"graph", "depth", "widest level", "levels below 80 objects"}},
#define LEVELS(label, run)                                                                         \
    {                                                                                              \
        { label, "#" run ":depth", "#" run ":widest_level", "#" run ":levels_below_80" }           \
    }
     .rows = {LEVELS("TypeScript compiler", "real-cpu"), LEVELS("npm, Node.js", "node-cpu"),
              LEVELS("Python process", "cpython-cpu"), LEVELS("CAD assembly", "assembly-cpu"),
              LEVELS("random, power law", "power")},
#undef LEVELS
     .curves = {{.label = "TypeScript compiler", .run = "real-cpu", .column = "at_depth"},
                {.label = "npm, Node.js", .run = "node-cpu", .column = "at_depth"},
                {.label = "Python process", .run = "cpython-cpu", .column = "at_depth"},
                {.label = "CAD assembly", .run = "assembly-cpu", .column = "at_depth"},
                {.label = "random, power law", .run = "power", .column = "at_depth"}},
     .difference = "The heaps of DaCapo need the Jikes virtual machine and are not here. "
                   "`--data` provides ours: the heap of a TypeScript compiler, with one "
                   "root, and three that `bench/mark/heaps/make.sh` makes on your machine. "
                   "Any graph can be used: `clump-bench run mark-graph --set file=FILE "
                   "--set depths=PLOT --set degrees=PLOT`."},
    {.name = "figure-3",
     .title = "objects by number of references",
     .place = "3.2: 26% have none, 76% at most 4, 98% at most 12, less than 0.01% hundreds to "
              "thousands",
     .is_log = 1,
     .x_label = "references",
     .curves_y = "objects",
     .head = {{"share of objects", "paper", "TypeScript compiler", "npm, Node.js", "Python process",
               "CAD assembly", "random, power law"}},
#define DEGREES(label, paper, metric)                                                              \
    {                                                                                              \
        {                                                                                          \
            label, paper, "#real-cpu:" metric, "#node-cpu:" metric, "#cpython-cpu:" metric,        \
                "#assembly-cpu:" metric, "#power:" metric                                          \
        }                                                                                          \
    }
     .rows = {DEGREES("no references", "26%", "without_references|percent"),
              DEGREES("at most 4", "76%", "at_most_4|percent"),
              DEGREES("at most 12", "98%", "at_most_12|percent"),
              DEGREES("100 or more", "below 0.01%", "at_least_100|percent"),
              DEGREES("most references", "thousands", "most_references")},
#undef DEGREES
     .curves = {{.label = "TypeScript compiler", .run = "real-cpu", .column = "with_degree"},
                {.label = "npm, Node.js", .run = "node-cpu", .column = "with_degree"},
                {.label = "Python process", .run = "cpython-cpu", .column = "with_degree"},
                {.label = "CAD assembly", .run = "assembly-cpu", .column = "with_degree"},
                {.label = "random, power law", .run = "power", .column = "with_degree"}},
     .difference = "The paper does not count the reference to an object's class, and sums over all "
                   "collections of all its benchmarks."},
    {.name = "table-2",
     .title = "marking real heaps",
     .place = "Table 2: DaCapo on Jikes, cumulative ms, serial CPU and GPU with all "
              "optimisations and both compute units (lusearch 1084.18 and 1490.96, pmd "
              "356.09 and 357.49, sunflow 401.36 and 554.25, xalan 423.31 and 750.12)",
     .head = {{"heap", "C, 1 thread, ms", "auto, ms"}},
     .rows = {{{"TypeScript compiler", "=real-cpu:time_ms", "=real:time_ms"}},
              {{"npm, Node.js", "=node-cpu:time_ms", "=node:time_ms"}},
              {{"Python process", "=cpython-cpu:time_ms", "=cpython:time_ms"}},
              {{"CAD assembly", "=assembly-cpu:time_ms", "=assembly:time_ms"}}},
     .difference = "The paper's rows do not apply, because they are sums over all "
                   "collections of a run of a Java program. Our heaps replace them. The "
                   "last three come from the machine on which they were made "
                   "(`bench/mark/heaps`)."},
    {.name = "figure-6",
     .title = "launch latency over the memory that is mapped",
     .place = "4.4",
     .difference = "It does not apply, because the heap is on the device, and a collection "
                   "maps no memory."},
    {.name = NULL}};

const paper paper_maas = {
    "maas", "Maas et al., GPUs as an Opportunity for Offloading Garbage Collection (ISMM 2012)",
    runs, items};
