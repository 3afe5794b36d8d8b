/* P. Eichinger, Vulkan Memory-Management and Defragmentation for Open-World Games, master's thesis:
 * chapter 5.
 *
 * Eichinger's thesis measured on an RTX 2070 with a Core i7-8700K (Table 5.1), with Vulkan's
 * buffers where ours are OpenCL's.
 *
 * Read first: paper.h, bench/pool/fit.c, bench/pool/defrag.c.
 */
#include "paper.h"

#define DEFRAG "tests=25 scale=1"
#define DEFRAG_SMALL "tests=2 rounds=10 scale=256"

static const paper_run runs[] = {
    {"one", "pool-alloc", "touch=1", "most_kb=512 chunk_kb=1024"},
    {"64", "pool-alloc", "count=64 touch=1", "most_kb=512 chunk_kb=1024 count=4"},
    {"fit", "pool-fit", "sequences=10000", "sequences=2 chunk_kb=16384"},
    {"small", "pool-defrag", DEFRAG " small=0.0001 limit=0.001",
     DEFRAG_SMALL " small=0.0001 limit=0.001"},
    {"large", "pool-defrag", DEFRAG " small=0.001 limit=0.01",
     DEFRAG_SMALL " small=0.001 limit=0.01"},
    {NULL, NULL, NULL, NULL}};

#define SIZE(label, run, metric, from)                                                             \
    {                                                                                              \
        { label, "=" run ":" from "_" metric "_alloc_ns", "=" run ":" from "_" metric "_free_ns" } \
    }
/* Sizes in KiB. */
#define SIZES(run, from)                                                                           \
    {                                                                                              \
        SIZE("128", run, "128K", from), SIZE("256", run, "256K", from),                            \
            SIZE("512", run, "512K", from), SIZE("1024", run, "1M", from),                         \
            SIZE("2048", run, "2M", from), SIZE("4096", run, "4M", from),                          \
            SIZE("8192", run, "8M", from), SIZE("16384", run, "16M", from),                        \
            SIZE("32768", run, "32M", from), SIZE("65536", run, "64M", from)                       \
    }
#define SIZES_HEAD                                                                                 \
    {                                                                                              \
        { "KiB", "+allocate, ns", "+free, ns" }                                                    \
    }

/* The grids of tables 5.3 and 5.4: theirs and ours for each free-space weight, a row for a location
 * weight. `first` is what ours is called without free-space weight. */
#define WEIGHTS(run, what, a, first, t0, t1, t2, t3, t4)                                           \
    {                                                                                              \
        {                                                                                          \
            a, t0, "#" run ":" what "_" first, t1, "#" run ":" what "_a" a "_w0.25", t2,           \
                "#" run ":" what "_a" a "_w0.5", t3, "#" run ":" what "_a" a "_w0.75", t4,         \
                "#" run ":" what "_a" a "_w1"                                                      \
        }                                                                                          \
    }
/* All rows of a table, each with the five numbers of Eichinger's thesis. */
#define NUMBERS(...) __VA_ARGS__
#define GRID(run, what, row0, row25, row50, row75, row100)                                         \
    {                                                                                              \
        WEIGHTS(run, what, "0", "unweighted", row0),                                               \
            WEIGHTS(run, what, "0.25", "a0.25_w0", row25),                                         \
            WEIGHTS(run, what, "0.5", "a0.5_w0", row50),                                           \
            WEIGHTS(run, what, "0.75", "a0.75_w0", row75),                                         \
            WEIGHTS(run, what, "1", "a1_w0", row100)                                               \
    }
#define WEIGHTS_HEAD                                                                               \
    {                                                                                              \
        {                                                                                          \
            "location weight", "0, theirs", "0, ours", "0.25, theirs", "0.25, ours",               \
                "0.5, theirs", "0.5, ours", "0.75, theirs", "0.75, ours", "1, theirs", "1, ours"   \
        }                                                                                          \
    }
#define ORDER                                                                                      \
    "In both the free-space weight adds nothing to the location weight. Here "                     \
    "moves in the order in which they are found leave least, and Eichinger's "                     \
    "thesis is best with only the location weight. Each of our moves goes to "                     \
    "a fuller chunk or to a lower place in its own chunk, so that order is "                       \
    "already downwards."

static const paper_item items[] = {
    {.name = "table-5.2",
     .title = "fit strategies over random sequences",
     .place = "table 5.2, 10,000 sequences",
     .head = {{"strategy", "f, theirs", "f, ours", "chunks, theirs", "chunks, ours",
               "search, relative to first, theirs", "allocation, us, theirs",
               "allocation, us, ours", "allocation, relative to first, theirs",
               "allocation, relative to first, ours"}},
#define FIT(name, f, chunks, search, us, ratio)                                                    \
    {                                                                                              \
        {                                                                                          \
            name "-fit", f, "#fit:" name "_fragmentation", chunks, "#fit:" name "_chunks", search, \
                us, "=fit:" name "_alloc_ns*0.001", ratio,                                         \
                "=fit:" name "_alloc_ns//fit:first_alloc_ns"                                       \
        }                                                                                          \
    }
     .rows = {FIT("first", "0.284", "26.69", "100%", "4.374", "100%"),
              FIT("best", "0.173", "26.71", "205%", "4.443", "102%"),
              FIT("worst", "0.181", "29.64", "245%", "4.727", "108%"),
              FIT("good", "", "", "", "", "")},
#undef FIT
     .difference = "In both worst fit needs most chunks. In Eichinger's thesis its "
                   "fragmentation is close to best fit and far below first fit, and here it "
                   "is the highest. The thesis does not state the sizes and numbers of its "
                   "sequences. An allocation there is mostly Vulkan's work, so the strategy "
                   "is hardly visible in it. Good fit is ours."},
    {.name = "table-5.3a",
     .title = "fragmentation f by weights, s_small 0.01%, s_limit 0.1%",
     .place = "table 5.3 (a)",
     .head = WEIGHTS_HEAD,
     .rows = GRID("small", "f", NUMBERS("0.267", "0.257", "0.253", "0.254", "0.259"),
                  NUMBERS("0.246", "0.254", "0.252", "0.256", "0.253"),
                  NUMBERS("0.246", "0.255", "0.256", "0.254", "0.252"),
                  NUMBERS("0.246", "0.257", "0.256", "0.255", "0.258"),
                  NUMBERS("0.246", "0.252", "0.253", "0.256", "0.258")),
     .difference = ORDER},
    {.name = "table-5.3b",
     .title = "chunks by weights, s_small 0.01%, s_limit 0.1%",
     .place = "table 5.3 (b)",
     .head = WEIGHTS_HEAD,
     .rows = GRID("small", "chunks", NUMBERS("2.33", "2.31", "2.31", "2.31", "2.31"),
                  NUMBERS("2.28", "2.28", "2.3", "2.3", "2.3"),
                  NUMBERS("2.28", "2.29", "2.29", "2.3", "2.29"),
                  NUMBERS("2.28", "2.29", "2.28", "2.29", "2.29"),
                  NUMBERS("2.28", "2.3", "2.29", "2.28", "2.29")),
     .difference = "The numbers of chunks hardly differ by weights, there and here. The "
                   "random sequences differ, so ours are fewer throughout."},
    {.name = "table-5.4a",
     .title = "fragmentation f by weights, s_small 0.1%, s_limit 1%",
     .place = "table 5.4 (a)",
     .head = WEIGHTS_HEAD,
     .rows = GRID("large", "f", NUMBERS("0.267", "0.258", "0.253", "0.253", "0.254"),
                  NUMBERS("0.246", "0.25", "0.255", "0.253", "0.254"),
                  NUMBERS("0.246", "0.258", "0.254", "0.255", "0.252"),
                  NUMBERS("0.246", "0.257", "0.256", "0.251", "0.254"),
                  NUMBERS("0.246", "0.255", "0.253", "0.251", "0.259")),
     .difference = ORDER},
    {.name = "table-5.4b",
     .title = "chunks by weights, s_small 0.1%, s_limit 1%",
     .place = "table 5.4 (b)",
     .head = WEIGHTS_HEAD,
     .rows = GRID("large", "chunks", NUMBERS("2.33", "2.31", "2.32", "2.3", "2.31"),
                  NUMBERS("2.28", "2.29", "2.3", "2.29", "2.29"),
                  NUMBERS("2.28", "2.29", "2.29", "2.29", "2.28"),
                  NUMBERS("2.28", "2.29", "2.29", "2.29", "2.3"),
                  NUMBERS("2.28", "2.29", "2.3", "2.3", "2.29")),
     .difference = "The same as in table 5.3 (b)."},
    {.name = "table-5.5",
     .title = "without defragmentation, without weights, with the best",
     .place = "table 5.5 (it has 2.3 chunks in the second row, and table 5.3 has 2.33)",
     .y_label = "fragmentation f",
     .head = {{"defragmentation", "+f, theirs", "+f, ours", "chunks, theirs", "chunks, ours"}},
     .rows = {{{"disabled", "0.318", "#small:f_off", "2.31", "#small:chunks_off"}},
              {{"enabled, weights 0 and 0", "0.267", "#small:f_unweighted", "2.3",
                "#small:chunks_unweighted"}},
              {{"enabled, weights 1 and 0", "0.246", "#small:f_a1_w0", "2.28",
                "#small:chunks_a1_w0"}}},
     .difference = ORDER},
    {.name = "figure-5.1",
     .title = "one allocation out of a chunk",
     .place = "figure 5.1, a plot: time does not depend on the size",
     .y_label = "ns",
     .is_log = 1,
     .head = SIZES_HEAD,
     .rows = SIZES("one", "chunk"),
     .difference = "Eichinger's thesis has memory of the GPU and of the CPU. OpenCL does "
                   "not let a program choose."},
    {.name = "figure-5.2",
     .title = "one separate buffer",
     .place = "figure 5.2, a plot: up to 1 MiB and from 2 to 16 MiB time stays, above it grows",
     .y_label = "ns",
     .is_log = 1,
     .head = SIZES_HEAD,
     .rows = SIZES("one", "unique"),
     .difference = "Our benchmark writes to each buffer, because OpenCL may delay its "
                   "allocation until then. Sizes end at 64 MiB here, and at 512 MiB there."},
    {.name = "figure-5.3",
     .title = "64 allocations out of chunks, then their frees",
     .place = "figure 5.3, a plot: up to 1 MiB all fit into one chunk",
     .y_label = "ns",
     .is_log = 1,
     .head = SIZES_HEAD,
     .rows = SIZES("64", "chunk"),
     .difference = "The time is for one of the 64. Both keep one empty chunk."},
    {.name = "figure-5.4",
     .title = "64 separate buffers, then their release",
     .place = "figure 5.4, a plot: at 16 MiB and more as slow as chunks",
     .y_label = "ns",
     .is_log = 1,
     .head = SIZES_HEAD,
     .rows = SIZES("64", "unique"),
     .difference = "The time is for one of the 64."},
    {.name = NULL}};

const paper paper_eichinger = {
    "eichinger",
    "Eichinger's thesis, Vulkan Memory-Management and Defragmentation for Open-World Games", runs,
    items};
