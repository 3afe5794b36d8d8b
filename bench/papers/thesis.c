/* M. Springer, Memory-Efficient Object-Oriented Programming on GPUs, doctoral thesis: chapters 4, 5
 * and 7.
 *
 * The thesis measured on a Titan Xp with CUDA 9.1 (5.6), inner arrays on a GTX 980 with CUDA 9.1
 * (4.3.2). Its figures are plots; the numbers here are those of its text. Beside them stands
 * DynaSOAr's program (prg-titech/dynasoar, commit a4f956c) where it was built and run on an H200
 * with the set-ups of preset=dynasoar.
 *
 * Read first: paper.h, docs/measurements/presets.md.
 */
#include "paper.h"
#include "thesis_paths.h"

/* One application in the variants of Fig. 5.8. `small`: the set-ups of the first two for a CPU. */
#define APP(name, benchmark, small, small_soa)                                                     \
    {name, benchmark, "preset=dynasoar check=0", small},                                           \
        {name "-soa", benchmark, "preset=dynasoar check=0 variant=soa", small_soa}, {              \
        name "-aos", benchmark, "preset=dynasoar check=0 variant=aos", NULL                        \
    }

#define WA_TOR "preset=dynasoar check=0 steps=500"
/* Small set-ups are those of the tests clump-bench-..., since each size of a heap is compiled anew
 * on a CPU. */
#define WA_TOR_SMALL "width=64 height=48 steps=20"
#define NBODY_SMALL "bodies=100 steps=10"

/* Inner arrays, in one layout as SOA and as AOS. The lattice has the size of the Pennsylvania road
 * network.
 */
#define ARRAYS(name, layout, small)                                                                \
    {"arrays-soa-" name, "arrays", "objects=262144 shortest=32 longest=64 class=soa " layout,      \
     small},                                                                                       \
    {                                                                                              \
        "arrays-aos-" name, "arrays", "objects=262144 shortest=32 longest=64 class=aos " layout,   \
            NULL                                                                                   \
    }
#define SEARCH_ON(name, graph, class, layout, small)                                               \
    { "search-" name, "graph", graph " batches=0 class=" class " " layout, small }
#define LATTICE "shape=road vertices=1088092 degree=2.83"
#define PENNSYLVANIA "file=@roadNet-PA.txt.gz"
#define SEARCH(name, layout, small)                                                                \
    SEARCH_ON("soa-" name, LATTICE, "soa", layout, small),                                         \
        SEARCH_ON("aos-" name, LATTICE, "aos", layout, NULL),                                      \
        SEARCH_ON("pa-soa-" name, PENNSYLVANIA, "soa", layout, NULL),                              \
        SEARCH_ON("pa-aos-" name, PENNSYLVANIA, "aos", layout, NULL)

static const paper_run runs[] = {
    ARRAYS("0", "layout=outside", NULL),
    ARRAYS("8", "layout=inline inside=8", NULL),
    ARRAYS("16", "layout=inline inside=16", NULL),
    ARRAYS("24", "layout=inline inside=24", NULL),
    ARRAYS("32", "layout=inline inside=32", "objects=3000"),
    ARRAYS("40", "layout=inline inside=40", NULL),
    ARRAYS("48", "layout=inline inside=48", NULL),
    ARRAYS("56", "layout=inline inside=56", NULL),
    ARRAYS("64", "layout=inline inside=64", NULL),
    ARRAYS("full", "layout=max", NULL),
    ARRAYS("object", "layout=packed", NULL),
    SEARCH("0", "layout=outside", NULL),
    SEARCH("1", "layout=inline inside=1", NULL),
    SEARCH("2", "layout=inline inside=2", NULL),
    SEARCH("3", "layout=inline inside=3", NULL),
    SEARCH("4", "layout=inline inside=4", "vertices=2000 batch=100"),
    SEARCH("6", "layout=inline inside=6", NULL),
    SEARCH("8", "layout=inline inside=8", NULL),
    SEARCH("full", "layout=max", NULL),
    SEARCH("object", "layout=packed", NULL),
    THESIS_PATH_RUNS,
    APP("nbody", "app-nbody", NBODY_SMALL, NBODY_SMALL " variant=soa"),
    APP("collision", "app-collision", NULL, NULL),
    APP("structure", "app-structure", NULL, NULL),
    APP("sugarscape", "app-sugarscape", NULL, NULL),
    APP("traffic", "app-traffic", NULL, NULL),
    APP("wa-tor", "app-wa-tor", WA_TOR_SMALL, WA_TOR_SMALL " variant=soa"),
    {"generation", "app-generation", "preset=dynasoar check=0", NULL},
    {"generation-soa", "app-generation", "preset=dynasoar check=0 variant=soa", NULL},
    {"life-utm", "app-game-of-life", "preset=dynasoar pattern=@utm.pgm check=0", NULL},
    {"life-utm-soa", "app-game-of-life", "preset=dynasoar pattern=@utm.pgm check=0 variant=soa",
     NULL},
    {"life-tm", "app-game-of-life", "preset=dynasoar-tm pattern=@tm.pgm check=0", NULL},
    /* The largest problem in a heap: sizes as in the suite. */
    {"space-nbody", "capacity", "app=app-nbody heap_mb=16 steps=2 check=0", NULL},
    {"space-collision", "capacity", "app=app-collision heap_mb=16 steps=2 check=0", NULL},
    {"space-structure", "capacity", "app=app-structure heap_mb=256 steps=5 set=iterations=4", NULL},
    {"space-sugarscape", "capacity", "app=app-sugarscape heap_mb=256 steps=20", NULL},
    {"space-traffic", "capacity", "app=app-traffic heap_mb=256 steps=20", NULL},
    {"space-wa-tor", "capacity", "app=app-wa-tor heap_mb=256 steps=20", NULL},
    {"space-barnes-hut", "capacity", "app=app-barnes-hut heap_mb=256 steps=5", NULL},
    {"space-game-of-life", "capacity", "app=app-game-of-life heap_mb=256 steps=20", NULL},
    /* Wa-Tor in detail. */
    {"steps", "app-wa-tor", WA_TOR " sample=1", WA_TOR_SMALL " sample=1"},
    {"steps-soa", "app-wa-tor", WA_TOR " sample=1 variant=soa",
     WA_TOR_SMALL " sample=1 variant=soa"},
    {"height-320", "app-wa-tor", WA_TOR " heap_mb=1024 height=320", WA_TOR_SMALL},
    {"height-640", "app-wa-tor", WA_TOR " heap_mb=1024 height=640", NULL},
    {"height-1280", "app-wa-tor", WA_TOR " heap_mb=1024 height=1280", NULL},
    {"height-2560", "app-wa-tor", WA_TOR " heap_mb=1024 height=2560", NULL},
    {"all-parts", "app-wa-tor", WA_TOR, WA_TOR_SMALL},
    {"no-coal", "app-wa-tor", WA_TOR " coalescing=off", NULL},
    {"no-shift", "app-wa-tor", WA_TOR " rotation=off", NULL},
    {"no-coal-no-shift", "app-wa-tor", WA_TOR " coalescing=off rotation=off", NULL},
    {"r1", "app-wa-tor", WA_TOR " retries=1", NULL},
    {"r2", "app-wa-tor", WA_TOR " retries=2", NULL},
    {"r3", "app-wa-tor", WA_TOR " retries=3", NULL},
    {"r5", "app-wa-tor", WA_TOR " retries=5", NULL},
    {"r10", "app-wa-tor", WA_TOR " retries=10", NULL},
    /* Linux Scalability. */
    {"n16", "alloc-scalability", "items=16384 bytes=64 heap_mb=1024 per_item=16", "items=4096"},
    {"n64", "alloc-scalability", "items=16384 bytes=64 heap_mb=1024 per_item=64", NULL},
    {"n256", "alloc-scalability", "items=16384 bytes=64 heap_mb=1024 per_item=256", NULL},
    {"n512", "alloc-scalability", "items=16384 bytes=64 heap_mb=1024 per_item=512", NULL},
    {"n960", "alloc-scalability", "items=16384 bytes=64 heap_mb=1024 per_item=960", NULL},
    {"full", "alloc-exhaust", "heap_mb=1024 sizes=64", "heap_mb=1 sizes=16,64"},
    {"heap-512", "app-wa-tor", "preset=dynasoar check=0 height=640 heap_mb=512", WA_TOR_SMALL},
    {"heap-1024", "app-wa-tor", "preset=dynasoar check=0 height=640 heap_mb=1024", NULL},
    {"heap-2048", "app-wa-tor", "preset=dynasoar check=0 height=640 heap_mb=2048", NULL},
    {"heap-4096", "app-wa-tor", "preset=dynasoar check=0 height=640 heap_mb=4096", NULL},
    {"heap-8192", "app-wa-tor", "preset=dynasoar check=0 height=640 heap_mb=8192", NULL},
    {NULL, NULL, NULL, NULL}};

#define TIME(run) "=" run ":time_per_step_us"
#define VARIANTS(run) TIME(run), TIME(run "-soa"), TIME(run "-aos")
#define RATIO(run, to) TIME(run) "//" to ":time_per_step_us"

static const paper_item items[] = {
    {.name = "figure-4.15",
     .title = "synthetic benchmark of inner arrays, 262,144 objects with 32 to 64 elements each",
     .place = "4.3.2, a plot without numbers in the text, GTX 980. The column thesis "
              "has the statements of the text",
     .y_label = "us",
     .is_log = 1,
     .head = {{"elements in the object", "thesis", "+SOA, us", "+AOS, us", "AOS / SOA", "SOA, MiB",
               "elements in objects"}},
#define ADD(run) "=arrays-" run ":add_us"
#define ARRAY_ROW(label, theirs, name)                                                             \
    {                                                                                              \
        {                                                                                          \
            label, theirs, ADD("soa-" name), ADD("aos-" name),                                     \
                ADD("aos-" name) "//arrays-soa-" name ":add_us", "=arrays-soa-" name ":memory_mb", \
                "#arrays-soa-" name ":inside|percent"                                              \
        }                                                                                          \
    }
     .rows = {ARRAY_ROW("none", "slower than array as object", "0"), ARRAY_ROW("8", "", "8"),
              ARRAY_ROW("16", "", "16"), ARRAY_ROW("24", "", "24"),
              ARRAY_ROW("32", "SOA no faster above, AOS slower above", "32"),
              ARRAY_ROW("40", "", "40"), ARRAY_ROW("48", "", "48"), ARRAY_ROW("56", "", "56"),
              ARRAY_ROW("64, all partial", "", "64"),
              ARRAY_ROW("all, full inlining", "SOA an order of magnitude faster than AOS", "full"),
              ARRAY_ROW("all, array as object", "SOA more than 30% faster than AOS", "object")},
#undef ARRAY_ROW
#undef ADD
     .difference = "Our arrays may grow, so arrays with elements outside also have a "
                   "capacity. The thesis fixes the size of an array when it is made. "
                   "Lengths are drawn anew. Memory is the memory of whole blocks, and the "
                   "thesis does not show it for this benchmark."},
    {.name = "figure-4.16",
     .title = "breadth-first search by frontiers on a road network, seconds",
     .place = "4.3.2, a plot without numbers in the text, GTX 980: the Pennsylvania road network, "
              "1,088,092 vertices and 3,083,796 directed edges",
     .y_label = "seconds",
     .head = {{"elements in the object", "thesis", "+SOA, lattice", "+AOS, lattice", "AOS / SOA",
               "SOA, Pennsylvania", "AOS, Pennsylvania"}},
#define SECONDS(run) "=search-" run ":search_ms*0.001"
#define SEARCH_ROW(label, theirs, name)                                                            \
    {                                                                                              \
        {                                                                                          \
            label, theirs, SECONDS("soa-" name), SECONDS("aos-" name),                             \
                "=search-aos-" name ":search_ms//search-soa-" name ":search_ms",                   \
                SECONDS("pa-soa-" name), SECONDS("pa-aos-" name)                                   \
        }                                                                                          \
    }
     .rows = {SEARCH_ROW("none", "SOA faster than AOS", "0"),
              SEARCH_ROW("1", "AOS slower with each further element", "1"),
              SEARCH_ROW("2", "", "2"), SEARCH_ROW("3", "", "3"), SEARCH_ROW("4", "", "4"),
              SEARCH_ROW("6", "", "6"), SEARCH_ROW("8", "", "8"),
              SEARCH_ROW("all, full inlining", "like array as object", "full"),
              SEARCH_ROW("all, array as object", "like full inlining", "object")},
#undef SEARCH_ROW
#undef SECONDS
     .difference = "The lattice is a square with as many vertices as the network. Each edge "
                   "stays with a probability that leaves 2.83 a vertex, so its levels "
                   "differ from the network's. The network is SNAP's roadNet-PA.txt.gz, "
                   "which `--data` provides. Our search starts in the largest component, "
                   "and the thesis does not name its start. In both, each level is a launch "
                   "over all vertices, and our time includes the host's read of the result."},
    THESIS_PATH_ITEM,
    {.name = "figure-5.8",
     .title = "running time of the applications, us a step",
     .place = "5.6.1 does not have numbers, so the first three columns are DynaSOAr's "
              "program and its baselines on an H200, with CUDA 13.0, at the set-ups of "
              "preset=dynasoar",
     .y_label = "us a step",
     .is_log = 1,
     .head = {{"application", "+DynaSOAr, H200", "+its SOA", "its AOS", "+Clump", "+SOA", "AOS",
               "DynaSOAr / Clump"}},
     .rows = {{{"nbody", "7,457", "7,743", "11,356", VARIANTS("nbody"),
                "=7457//nbody:time_per_step_us"}},
              {{"collision", "20,634", "22,924", "35,092", VARIANTS("collision"),
                "=20634//collision:time_per_step_us"}},
              {{"structure", "33,064", "10,755", "17,258", VARIANTS("structure"),
                "=33064//structure:time_per_step_us"}},
              {{"sugarscape", "1,368", "465", "2,682", VARIANTS("sugarscape"),
                "=1368//sugarscape:time_per_step_us"}},
              {{"traffic", "613", "439", "560", VARIANTS("traffic"),
                "=613//traffic:time_per_step_us"}},
              {{"wa-tor", "1,796", "742", "2,671", VARIANTS("wa-tor"),
                "=1796//wa-tor:time_per_step_us"}},
              {{"generation", "11,326", "", "", TIME("generation"), TIME("generation-soa"), "",
                "=11326//generation:time_per_step_us"}},
              {{"game-of-life, utm.pgm", "2,124", "317", "408", TIME("life-utm"),
                TIME("life-utm-soa"), "", "=2124//life-utm:time_per_step_us"}},
              {{"game-of-life, tm.pgm", "694", "", "", TIME("life-tm"), "", "",
                "=694//life-tm:time_per_step_us"}}},
     .difference = "The thesis stacks time for enumeration and for the rest and has seven "
                   "more allocators. There SOA is faster than AOS in all applications "
                   "except structure. Its barnes-hut ended in an illegal access on the H200 "
                   "and is therefore left out. Our baselines keep the objects in arrays "
                   "written by hand, and the thesis merges its classes into cells. The "
                   "patterns utm.pgm and tm.pgm are DynaSOAr's, and `--data` provides them."},
    {.name = "figure-5.9",
     .title = "the largest problem in a heap of one size, and memory beside the baselines",
     .place = "5.6.2, text without numbers: in nbody, collision and structure the "
              "baselines need less memory, in sugarscape, traffic and wa-tor they need "
              "more",
     .y_label = "memory of the heap variant / SOA",
     .is_log = 1,
     .head = {{"application", "DynaSOAr / SOA", "+Clump / SOA", "Clump / AOS", "largest",
               "heap bytes each"}},
#define SPACE(run, theirs)                                                                         \
    {                                                                                              \
        {                                                                                          \
            run, theirs, "#space-" run ":memory_over_soa", "#space-" run ":memory_over_aos",       \
                "#space-" run ":size_clump", "#space-" run ":heap_per_unit"                        \
        }                                                                                          \
    }
     .rows = {SPACE("nbody", "above 1"),
              SPACE("collision", "above 1"),
              SPACE("structure", "above 1"),
              SPACE("sugarscape", "below 1"),
              SPACE("traffic", "below 1"),
              SPACE("wa-tor", "below 1"),
              SPACE("barnes-hut", "no baseline"),
              {{"game-of-life", "no baseline", "#space-game-of-life:memory_over_soa", "",
                "#space-game-of-life:size_clump", "#space-game-of-life:heap_per_unit"}}},
#undef SPACE
     .difference = "We use our own models in heaps of our choice (a unit is a body, a node, "
                   "an intersection, or a row of 512 cells). The baselines of wa-tor, "
                   "traffic and the game of life keep a cell in a few bytes, where the "
                   "thesis keeps whole objects. Our heaps therefore need more memory than "
                   "these baselines."},
    {.name = "figure-5.10A",
     .title = "Wa-Tor, time of each step",
     .place = "5.6.3, a plot: births and deaths peak around iteration 50",
     .x_label = "step",
     .curves_y = "us",
     .head = {{"", "thesis", "ours"}},
     .rows = {{{"slowest step", "around 50", "=steps@step_us.at"}},
              {{"slowest step, us", "", "=steps@step_us.max"}},
              {{"mean step, us", "", "=steps@step_us.mean"}},
              {{"mean step of SOA, us", "", "=steps-soa@step_us.mean"}}},
     .curves = {{.label = "clump", .run = "steps", .column = "step_us"},
                {.label = "soa", .run = "steps-soa", .column = "step_us"}},
     .difference = "The thesis leaves enumeration out. Our steps include the lists of "
                   "objects, and the host waits after each step to measure it."},
    {.name = "figure-5.10B",
     .title = "Wa-Tor in a heap of 1 GiB, larger and larger problems",
     .place = "5.6.3: time grows linearly with the problem, F is around 18% after 500 "
              "iterations for every size",
     .y_label = "us a step",
     .head = {{"rows of 2048 cells", "F, thesis", "F, ours", "+us a step"}},
     .rows = {{{"320", "18%", "=height-320:fragmentation|percent", TIME("height-320")}},
              {{"640", "18%", "=height-640:fragmentation|percent", TIME("height-640")}},
              {{"1280", "18%", "=height-1280:fragmentation|percent", TIME("height-1280")}},
              {{"2560", "18%", "=height-2560:fragmentation|percent", TIME("height-2560")}}},
     .difference = "F counts all classes, including the classes of cells, which never "
                   "change. The thesis does not name the sizes that it plots."},
    {.name = "figure-5.10C",
     .title = "Wa-Tor without parts of the allocator",
     .place = "5.6.3, text without numbers",
     .y_label = "us a step",
     .head = {{"variant", "thesis", "+us a step", "relative to all parts"}},
     .rows = {{{"all parts", "best", TIME("all-parts"), RATIO("all-parts", "all-parts")}},
              {{"NoCoal", "hardly slower", TIME("no-coal"), RATIO("no-coal", "all-parts")}},
              {{"NoShift", "severely slower", TIME("no-shift"), RATIO("no-shift", "all-parts")}},
              {{"NoCoal-NoShift", "slower still", TIME("no-coal-no-shift"),
                RATIO("no-coal-no-shift", "all-parts")}}},
     .difference = "Slots that are reserved before a kernel serve requests without a "
                   "search. The switches disable parts of searches, and of combining "
                   "requests."},
    {.name = "figure-5.10D",
     .title = "Wa-Tor, objects and fragmentation over the steps",
     .place = "5.6.3: F is high at iterations 60 to 80, and 18% after 500",
     .x_label = "step",
     .curves_y = "F, share",
     .head = {{"", "thesis", "ours"}},
     .rows = {{{"F is largest at step", "60 to 80", "#steps@fragmentation.at"}},
              {{"F then", "", "#steps@fragmentation.max|percent"}},
              {{"F after 500 steps", "18%", "#steps@fragmentation.last|percent"}},
              {{"most fish", "", "#steps@fish.max"}},
              {{"most sharks", "", "#steps@sharks.max"}}},
     .curves = {{.label = "clump", .run = "steps", .column = "fragmentation"},
                {.label = "thesis, 500 iterations", .x = 500, .y = 0.18}},
     .difference = "The thesis plots allocations and deallocations of each step. Our series "
                   "has the numbers of objects, and presets.md has the births in a step."},
    {.name = "figure-5.11",
     .title = "Wa-Tor, fragmentation by the number of look-ups r",
     .place = "5.6.3 and the caption: r = 2 has half of the fragmentation of r = 1, "
              "and r = 5, the default there, is close to the least",
     .x_label = "step",
     .curves_y = "F, share",
     .head = {{"r", "F of r = 1, thesis", "F of r = 1, ours", "mean F", "F after 500 steps"}},
#define RETRIES(number, run, theirs)                                                               \
    {                                                                                              \
        {                                                                                          \
            number, theirs, "=" run "@fragmentation.mean//r1@fragmentation.mean",                  \
                "=" run "@fragmentation.mean|percent", "=" run "@fragmentation.last|percent"       \
        }                                                                                          \
    }
     .rows = {RETRIES("1", "r1", "1"), RETRIES("2", "r2", "0.5"), RETRIES("3", "r3", ""),
              RETRIES("5", "r5", "near the least"), RETRIES("10", "r10", "")},
#undef RETRIES
     .curves = {{.label = "r = 1", .run = "r1", .column = "fragmentation"},
                {.label = "r = 2", .run = "r2", .column = "fragmentation"},
                {.label = "r = 3", .run = "r3", .column = "fragmentation"},
                {.label = "r = 5", .run = "r5", .column = "fragmentation"},
                {.label = "r = 10", .run = "r10", .column = "fragmentation"}},
     .difference = "DynaSOAr opens a block after r look-ups. Clump first looks at all "
                   "blocks, and reserved slots need no look-up. Its default is 32."},
    {.name = "figure-5.12A",
     .title = "Linux Scalability: 16,384 work-items make n objects of 64 bytes each in 1 GiB",
     .place = "5.6.4, a plot. The numbers beside it are DynaSOAr's program on an H200, "
              "patched so that it ends, 64 x 256 threads",
     .y_label = "10^9 objects a second",
     .is_log = 1,
     .head = {{"n", "+DynaSOAr, made, G/s", "freed, G/s", "+made, G/s", "freed, G/s",
               "both, us by n"}},
     .rows = {{{"16", "", "", "=n16:alloc_rate", "=n16:free_rate", "=n16:time_us*0.0625"}},
              {{"64", "0.71", "6.5", "=n64:alloc_rate", "=n64:free_rate", "=n64:time_us*0.015625"}},
              {{"256", "0.32", "6.5", "=n256:alloc_rate", "=n256:free_rate",
                "=n256:time_us*0.00390625"}},
              {{"512", "0.65", "5.9", "=n512:alloc_rate", "=n512:free_rate",
                "=n512:time_us*0.001953125"}},
              {{"960", "", "", "=n960:alloc_rate", "=n960:free_rate",
                "=n960:time_us*0.0010416667"}}},
     .difference = "The thesis plots the time of both kernels by n, which is our last "
                   "column. Halloc is fastest there, and it and mallocMC fail beyond 510 "
                   "objects."},
    {.name = "section-5.6.4",
     .title = "how much of that heap objects can use",
     .place = "5.6.4",
     .head = {{"allocator", "thesis", "ours"}},
     .rows = {{{"DynaSOAr, Clump", "96.9%", "#full:usable|percent"}},
              {{"BitmapAlloc", "98.4%", ""}},
              {{"Halloc, mallocMC", "49.8%", ""}}},
     .difference = "In the thesis n is raised until it fails. Our value is the share that "
                   "objects use when all requests return null."},
    {.name = "figure-5.12B",
     .title = "Wa-Tor of one size in larger and larger heaps",
     .place = "5.6.5, a plot: time does not depend on the size of the heap",
     .y_label = "us a step",
     .head = {{"heap, MiB", "thesis", "+us a step", "relative to the smallest"}},
#define HEAP(mb, theirs)                                                                           \
    {                                                                                              \
        { mb, theirs, TIME("heap-" mb), RATIO("heap-" mb, "heap-512") }                            \
    }
     .rows = {HEAP("512", "1"), HEAP("1024", "1"), HEAP("2048", "1"), HEAP("4096", "1"),
              HEAP("8192", "1")},
#undef HEAP
     .difference = "Our world has 2048 x 640 cells, and the time is the whole step. The "
                   "thesis does not name its size."},
    {.name = "figure-7.2",
     .title = "nbody, a picture",
     .place = "7.1, a screenshot",
     .picture = "nbody",
     .difference = "Ours is the last step of the run of figure 5.8."},
    {.name = "figure-7.3",
     .title = "collision, a picture",
     .place = "7.2, a screenshot",
     .picture = "collision",
     .difference = "Our picture does not draw lines between bodies that are about to merge."},
    {.name = "figure-7.16",
     .title = "Wa-Tor, a picture",
     .place = "7.6, a screenshot: fish are green, sharks red",
     .picture = "wa-tor",
     .difference = "The colours are the same."},
    {.name = "figure-7.18",
     .title = "Sugarscape, a picture",
     .place = "7.7, a screenshot: sugar is yellow, males blue, females red",
     .picture = "sugarscape",
     .difference = "Ours is the last step of the run of figure 5.8."},
    {.name = "figure-7.22",
     .title = "the generational automaton, a picture",
     .place = "7.8.3, a screenshot: candidates are red, living cells black, dying ones grey",
     .picture = "generation",
     .difference = "Ours shows cells by their age."},
    {.name = "figures-7.1-to-7.21",
     .title = "the other figures of chapter 7",
     .place = "7.1 to 7.8",
     .difference = "They do not apply, because they are drawings of classes and of "
                   "algorithms, without measurements. Our classes are `objects.schema` in "
                   "each folder of `bench/apps`, and its README.md has the steps."},
    {.name = NULL}};

const paper paper_thesis = {
    "thesis", "Springer's thesis, Memory-Efficient Object-Oriented Programming on GPUs", runs,
    items};
