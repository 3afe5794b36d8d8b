/* M. Springer and H. Masuhara, Massively Parallel GPU Memory Compaction, ISMM 2019: Fig. 8 to 15
 * and Table 1.
 *
 * The paper measured CompactGpu on a Titan Xp with CUDA 10.1 (section 4). Its figures are plots;
 * the numbers here are those of its text and its table. Where CompactGpu's own program was built
 * and run on an H200 (one compaction of 2 x 32,768,000 objects), it has a column.
 *
 * All blocks have 64 slots (block_rows=1), as in the paper, except for the runs that say "wide".
 * Small set-ups are those of the test clump-bench.
 *
 * Read first: paper.h, bench/micro/compact_strategies.h.
 */
#include "paper.h"

#define SYNTHETIC "objects=32768000 block_rows=1"
/* The heap of quality and passes, so that all run the same programs. */
#define SYNTHETIC_SMALL "objects=2000 block_rows=1"
#define COLLISION "preset=ismm check=0 block_rows=1"
#define COLLISION_SMALL "bodies=100 steps=10"
#define STRUCTURE "preset=ismm check=0 block_rows=1"
#define GENERATION "width=1000 height=1000 steps=25000 rule=0235678/3468/255 check=0 block_rows=1"
#define WA_TOR "preset=dynasoar steps=500 check=0 block_rows=1"
#define WA_TOR_SMALL "width=64 height=48 steps=20"
#define EVERY " compact=every:50 strategy=merge retain=16 factor="
#define MASSIVE " compact=share:5 strategy=merge retain=16 factor="

static const paper_run runs[] = {
    {"quality", "compact-quality", "objects=1048576", "objects=2000 step=50"},
    {"passes", "compact-passes", "objects=1048576", "objects=2000"},
    {"merge", "compact-synthetic", SYNTHETIC " strategy=merge", SYNTHETIC_SMALL " strategy=merge"},
    {"merge-n1", "compact-synthetic", SYNTHETIC " strategy=merge factor=1", NULL},
    {"merge-n5", "compact-synthetic", SYNTHETIC " strategy=merge factor=5", NULL},
    {"merge-k16", "compact-synthetic", SYNTHETIC " strategy=merge retain=16", NULL},
    {"global", "compact-synthetic", SYNTHETIC " strategy=merge rewrite=global",
     SYNTHETIC_SMALL " strategy=merge rewrite=global"},
    {"shared", "compact-synthetic", SYNTHETIC " strategy=merge rewrite=shared",
     SYNTHETIC_SMALL " strategy=merge rewrite=shared"},
    {"bitmap", "compact-synthetic", SYNTHETIC " strategy=merge candidates=bitmap",
     SYNTHETIC_SMALL " strategy=merge candidates=bitmap"},
    {"planner", "compact-synthetic", SYNTHETIC, SYNTHETIC_SMALL},
    {"wide-merge", "compact-synthetic", "objects=32768000 strategy=merge", NULL},
    {"wide-planner", "compact-synthetic", "objects=32768000", NULL},
    {"collision-none", "app-collision", COLLISION " compact=none", COLLISION_SMALL},
    {"collision-1", "app-collision", COLLISION " factor=1",
     COLLISION_SMALL " compact=every:5 strategy=merge factor=1"},
    {"collision-2", "app-collision", COLLISION " factor=2", NULL},
    {"collision-3", "app-collision", COLLISION " factor=3", NULL},
    {"collision-4", "app-collision", COLLISION " factor=4", NULL},
    {"collision-5", "app-collision", COLLISION " factor=5", NULL},
    {"collision-10", "app-collision", COLLISION " factor=10", NULL},
    {"collision-36", "app-collision", COLLISION " factor=36", NULL},
    {"structure-none", "app-structure", STRUCTURE " compact=none", NULL},
    {"structure-1", "app-structure", STRUCTURE " factor=1", NULL},
    {"structure-2", "app-structure", STRUCTURE " factor=2", NULL},
    {"structure-3", "app-structure", STRUCTURE " factor=3", NULL},
    {"structure-4", "app-structure", STRUCTURE " factor=4", NULL},
    {"structure-5", "app-structure", STRUCTURE " factor=5", NULL},
    {"structure-10", "app-structure", STRUCTURE " factor=10", NULL},
    {"structure-18", "app-structure", STRUCTURE " factor=18", NULL},
    {"generation-none", "app-generation", GENERATION, NULL},
    {"generation-1", "app-generation", GENERATION EVERY "1", NULL},
    {"generation-2", "app-generation", GENERATION EVERY "2", NULL},
    {"generation-3", "app-generation", GENERATION EVERY "3", NULL},
    {"generation-4", "app-generation", GENERATION EVERY "4", NULL},
    {"generation-5", "app-generation", GENERATION EVERY "5", NULL},
    {"wa-tor-none", "app-wa-tor", WA_TOR, WA_TOR_SMALL},
    {"wa-tor-1", "app-wa-tor", WA_TOR MASSIVE "1", WA_TOR_SMALL MASSIVE "1"},
    {"wa-tor-2", "app-wa-tor", WA_TOR MASSIVE "2", NULL},
    {"wa-tor-3", "app-wa-tor", WA_TOR MASSIVE "3", NULL},
    {"wa-tor-4", "app-wa-tor", WA_TOR MASSIVE "4", NULL},
    {"wa-tor-5", "app-wa-tor", WA_TOR MASSIVE "5", NULL},
    {"wa-tor-9", "app-wa-tor", WA_TOR MASSIVE "9", NULL},
    {"wa-tor-10", "app-wa-tor", WA_TOR MASSIVE "10", NULL},
#define RECOMPUTE(n, how)                                                                          \
    { "wa-tor-" n "-" how, "app-wa-tor", WA_TOR MASSIVE n " rewrite=" how, NULL }
    RECOMPUTE("1", "global"),
    RECOMPUTE("2", "global"),
    RECOMPUTE("3", "global"),
    RECOMPUTE("4", "global"),
    RECOMPUTE("5", "global"),
    RECOMPUTE("1", "shared"),
    RECOMPUTE("2", "shared"),
    RECOMPUTE("3", "shared"),
    RECOMPUTE("4", "shared"),
    RECOMPUTE("5", "shared"),
#undef RECOMPUTE
    {NULL, NULL, NULL, NULL}};

/* A row of a sweep over n: what it gains over no compaction. */
#define SWEEP(n, app, gain)                                                                        \
    {                                                                                              \
        {                                                                                          \
            n, gain, "=" app "-" n ":time_per_step_us//" app "-none:time_per_step_us|gain",        \
                "=" app "-" n ":time_per_step_us", "#" app "-" n ":compactions",                   \
                "#" app "-" n ":compaction_passes",                                                \
                "#" app "-" n "@slots.max//" app "-none@slots.max|gain",                           \
                "#" app "-" n ":fragmentation|percent"                                             \
        }                                                                                          \
    }
#define SWEEP_NONE(app)                                                                            \
    {                                                                                              \
        {                                                                                          \
            "none", "", "", "=" app "-none:time_per_step_us", "", "", "",                          \
                "#" app "-none:fragmentation|percent"                                              \
        }                                                                                          \
    }
#define SWEEP_HEAD                                                                                 \
    {                                                                                              \
        {                                                                                          \
            "n", "+gain, paper, %", "+gain, ours, %", "us a step", "compactions", "passes",        \
                "peak of slots saved", "F at the end"                                              \
        }                                                                                          \
    }
#define PROFILE(app, most)                                                                         \
    {                                                                                              \
        {.label = "objects", .run = app "-none", .column = "objects", .has_dots = 1},              \
            {.label = "slots, not compacted", .run = app "-none", .column = "slots"},              \
            {.label = "slots, n = 1", .run = app "-1", .column = "slots"},                         \
            {.label = "slots, n = 5", .run = app "-5", .column = "slots"}, {                       \
            .label = "slots, n = " most, .run = app "-" most, .column = "slots"                    \
        }                                                                                          \
    }

static const paper_item items[] = {
    {.name = "figure-8",
     .title = "passes, and candidates left after each, 60% dead",
     .place = "4.2 (n = 5), Table 1 (n = 3), and CompactGpu's own program for "
              "32,768,000 objects",
     .is_log = 1,
     .x_label = "pass",
     .curves_y = "candidates",
     .head = {{"n", "paper", "CompactGpu, H200", "F then", "2^20 objects", "F then",
               "32,768,000 objects", "the same, k1 = 16"}},
     .rows = {{{"1", "", "2", "23.1%", "#passes:n1_passes", "#passes:n1_fragmentation*0.01|percent",
                "#merge-n1:passes", ""}},
              {{"2", "", "", "", "#passes:n2_passes", "#passes:n2_fragmentation*0.01|percent"}},
              {{"3", "18", "18", "10.0%", "#passes:n3_passes",
                "#passes:n3_fragmentation*0.01|percent", "#merge:passes", "#merge-k16:passes"}},
              {{"4", "", "", "", "#passes:n4_passes", "#passes:n4_fragmentation*0.01|percent"}},
              {{"5", "31", "31", "3.6%", "#passes:n5_passes",
                "#passes:n5_fragmentation*0.01|percent", "#merge-n5:passes", ""}},
              {{"10", "", "", "", "#passes:n10_passes", "#passes:n10_fragmentation*0.01|percent"}},
              {{"40", "", "", "", "#passes:n40_passes", "#passes:n40_fragmentation*0.01|percent"}},
              {{"planner", "", "", "", "#passes:planner_passes",
                "#passes:planner_fragmentation*0.01|percent", "#planner:passes", ""}}},
     .curves = {{.label = "n = 1", .run = "passes", .column = "n1_candidates"},
                {.label = "n = 2", .run = "passes", .column = "n2_candidates"},
                {.label = "n = 3", .run = "passes", .column = "n3_candidates"},
                {.label = "n = 5", .run = "passes", .column = "n5_candidates"},
                {.label = "n = 10", .run = "passes", .column = "n10_candidates"},
                {.label = "n = 20", .run = "passes", .column = "n20_candidates"},
                {.label = "n = 40", .run = "passes", .column = "n40_candidates"}},
     .difference = "The number of passes grows with the logarithm of the number of blocks, "
                   "and our first column has fewer objects. The paper does not name the k1 "
                   "of its synthetic runs. It keeps its candidates in a bitmap that "
                   "allocation and deallocation maintain. Here a scan of the block states "
                   "finds them at the start of a pass. With candidates=bitmap, only the "
                   "first pass scans, and it makes a bitmap for the others."},
    {.name = "figure-9",
     .title = "F after compaction over the share of objects that died",
     .place = "4.1: for n = 1 the worst comes at 45%, slightly below n / (n + 1), and "
              "again around 70%, and the bound is 1 / (n + 1)",
     .x_label = "dead, percent",
     .curves_y = "F, percent",
     .head = {{"n", "bound, %", "worst F, ours, %", "at, paper, %", "at, ours, %"}},
#define QUALITY(n, bound, at)                                                                      \
    {                                                                                              \
        { n, bound, "#quality:n" n "_worst", at, "#quality:n" n "_worst_at" }                      \
    }
     .rows = {QUALITY("1", "50", "45"),
              QUALITY("2", "33.3", ""),
              QUALITY("3", "25", ""),
              QUALITY("4", "20", ""),
              QUALITY("5", "16.7", ""),
              QUALITY("10", "9.1", ""),
              {{"planner", "", "#quality:planner_worst", "", "#quality:planner_worst_at"}}},
#undef QUALITY
     .curves = {{.label = "n = 1", .run = "quality", .column = "n1"},
                {.label = "n = 2", .run = "quality", .column = "n2"},
                {.label = "n = 3", .run = "quality", .column = "n3"},
                {.label = "n = 5", .run = "quality", .column = "n5"},
                {.label = "n = 10", .run = "quality", .column = "n10"},
                {.label = "n = 40", .run = "quality", .column = "n40"},
                {.label = "planner", .run = "quality", .column = "planner"},
                {.label = "not compacted", .run = "quality", .column = "initial", .has_dots = 1}},
     .difference = "The planner, which the paper does not have, leaves fewer free slots than a "
                   "block has."},
    {.name = "figure-10",
     .title = "how often objects move, 60% dead",
     .place = "4.2: with n = 5, 30.0% of the moves are of objects that had moved before, and none "
              "moves more than 5 times",
     .y_label = "moves for each living object",
     .head = {{"n", "moved again, paper", "moved again, ours, %", "most, paper", "most, ours",
               "+moves per object", "never", "first", "second", "third", "fourth", "fifth"}},
#define MOVES(label, n, again, most)                                                               \
    {                                                                                              \
        {                                                                                          \
            label, again, "#passes:" n "_repeated", most, "#passes:" n "_most",                    \
                "#passes:" n "_per_object", "#passes:" n "_never", "#passes:" n "_first",          \
                "#passes:" n "_second", "#passes:" n "_third", "#passes:" n "_fourth",             \
                "#passes:" n "_fifth"                                                              \
        }                                                                                          \
    }
     .rows = {MOVES("n = 1", "n1", "", ""), MOVES("n = 2", "n2", "", ""),
              MOVES("n = 3", "n3", "", ""), MOVES("n = 4", "n4", "", ""),
              MOVES("n = 5", "n5", "30.0", "5"), MOVES("n = 10", "n10", "", ""),
              MOVES("n = 20", "n20", "", ""), MOVES("n = 30", "n30", "", ""),
              MOVES("n = 40", "n40", "", ""), MOVES("planner", "planner", "", "")},
#undef MOVES
     .difference = "The planner moves no object twice and makes the fewest moves that leave as few "
                   "blocks as possible."},
    {.name = "figure-11",
     .title = "collisions: memory over the steps, and time by n",
     .place = "4.3: 12.2% faster with n = 36, and the worst fragmentation is around "
              "iteration 5,000",
     .y_label = "percent faster than not compacted",
     .x_label = "step",
     .curves_y = "slots",
     .head = SWEEP_HEAD,
     .rows = {SWEEP_NONE("collision"), SWEEP("1", "collision", ""), SWEEP("2", "collision", ""),
              SWEEP("3", "collision", ""), SWEEP("4", "collision", ""), SWEEP("5", "collision", ""),
              SWEEP("10", "collision", ""), SWEEP("36", "collision", "12.2%")},
     .curves = PROFILE("collision", "36"),
     .difference = "References have 4 bytes here and 8 in the paper. The number of bodies "
                   "is chosen so that they use the bytes of Table 1."},
    {.name = "figure-12",
     .title = "structure: memory over the steps, and time by n",
     .place = "4.3: 16.3% faster with n = 18",
     .y_label = "percent faster than not compacted",
     .x_label = "step",
     .curves_y = "slots",
     .head = SWEEP_HEAD,
     .rows = {SWEEP_NONE("structure"), SWEEP("1", "structure", ""), SWEEP("2", "structure", ""),
              SWEEP("3", "structure", ""), SWEEP("4", "structure", ""), SWEEP("5", "structure", ""),
              SWEEP("10", "structure", ""), SWEEP("18", "structure", "16.3%")},
     .curves = PROFILE("structure", "18"),
     .difference = "The number of nodes is chosen so that they use the bytes of Table 1."},
    {.name = "figure-13",
     .title = "the generational automaton: memory over the steps, and time by n",
     .place = "4.3: 6.3% faster with n = 2, and after iteration 2,000 most cells are "
              "dead",
     .y_label = "percent faster than not compacted",
     .x_label = "step",
     .curves_y = "slots",
     .head = SWEEP_HEAD,
     .rows = {SWEEP_NONE("generation"), SWEEP("1", "generation", ""),
              SWEEP("2", "generation", "6.3%"), SWEEP("3", "generation", ""),
              SWEEP("4", "generation", ""), SWEEP("5", "generation", "")},
     .curves = PROFILE("generation", "2"),
     .difference = "The paper names the rule, the memory (57.4 MB) and the steps, but not "
                   "its pattern. Ours is a million cells that begin at random."},
    {.name = "figure-14",
     .title = "Wa-Tor: memory over the steps",
     .place = "4.3: with n = 10 the peak of memory is 14% lower, and a run is 8.1% slower",
     .y_label = "percent faster than not compacted",
     .x_label = "step",
     .curves_y = "slots",
     .head = SWEEP_HEAD,
     .rows = {SWEEP_NONE("wa-tor"),
              SWEEP("1", "wa-tor", ""),
              SWEEP("2", "wa-tor", ""),
              SWEEP("3", "wa-tor", ""),
              SWEEP("4", "wa-tor", ""),
              SWEEP("5", "wa-tor", ""),
              SWEEP("9", "wa-tor", ""),
              SWEEP("10", "wa-tor", "-8.1%"),
              {{"n = 10, memory, paper", "", "", "", "", "", "14%", ""}}},
     .curves = PROFILE("wa-tor", "10"),
     .difference = "The paper starts a compaction after massive deallocations but does not "
                   "name its k2. Ours starts when 5% of the blocks could be freed. The "
                   "paper does not state the size of its world either. Ours has the size of "
                   "DynaSOAr's program."},
    {.name = "figure-15",
     .title = "Wa-Tor: time and passes by n and by how references are rewritten",
     .place =
         "4.3, a plot: forwarding is faster in most cases, and shared needs more passes as n grows",
     .y_label = "us a step",
     .head = {{"n", "+forward, us", "+global, us", "+shared, us", "forward, passes",
               "global, passes", "shared, passes"}},
#define REWRITE(n)                                                                                 \
    {                                                                                              \
        {                                                                                          \
            n, "=wa-tor-" n ":time_per_step_us", "=wa-tor-" n "-global:time_per_step_us",          \
                "=wa-tor-" n "-shared:time_per_step_us", "#wa-tor-" n ":compaction_passes",        \
                "#wa-tor-" n "-global:compaction_passes", "#wa-tor-" n "-shared:compaction_passes" \
        }                                                                                          \
    }
     .rows = {REWRITE("1"), REWRITE("2"), REWRITE("3"), REWRITE("4"), REWRITE("5")},
#undef REWRITE
     .difference = "The line without compaction is the first row of figure 14. The line "
                   "\"no defrag\" is left out, because nothing is maintained while nothing "
                   "is compacted."},
    {.name = "table-1-left",
     .title = "characteristics: compactions and passes",
     .place = "Table 1",
     .head = {{"benchmark", "MB, paper", "MB of buffers, ours", "fields, paper", "n",
               "compactions, paper", "compactions, ours", "passes, paper", "passes, ours"}},
#define LEFT(label, run, mb, fields, n, count, passes_)                                            \
    {                                                                                              \
        {                                                                                          \
            label, mb, "#" run ":buffer_bytes*1e-6", fields, n, count, "#" run ":compactions",     \
                passes_, "#" run ":compaction_passes"                                              \
        }                                                                                          \
    }
     .rows = {{{"synthetic, 60% dead", "2,097.2", "#merge:buffer_bytes*1e-6", "1", "3", "1", "1",
                "18", "#merge:passes"}},
              LEFT("collisions", "collision-10", "5.7", "1", "10", "200", "186"),
              LEFT("generational automaton", "generation-2", "57.4", "1", "2", "500", "537"),
              LEFT("structure", "structure-10", "58.9", "3", "10", "100", "368"),
              LEFT("Wa-Tor", "wa-tor-9", "1,107.6", "1", "9", "38", "43")},
#undef LEFT
     .difference = "The paper counts bytes of objects, and we count all buffers with "
                   "metadata and room. The schema of each application decides which fields "
                   "are rewritten."},
    {.name = "table-1-right",
     .title = "running time and its parts, ms",
     .place = "Table 1 (Titan Xp). CompactGpu's own program on an H200 needs 10.3 ms "
              "for the synthetic row",
     .head = {{"benchmark", "total, paper", "total, ours", "defrag, paper", "defrag, ours",
               "scan, paper", "plan, ours", "copy, paper", "move, ours", "rewrite, paper",
               "rewrite, ours"}},
#define SYNTHETIC_ROW(label, run, a, b, c, d)                                                      \
    {                                                                                              \
        {                                                                                          \
            label, "n/a", "", a, "=" run ":time_ms", b, "=" run ":plan_ms", c, "=" run ":move_ms", \
                d, "=" run ":rewrite_ms"                                                           \
        }                                                                                          \
    }
#define APP_ROW(label, run, total, scale, a, b, c, d)                                              \
    {                                                                                              \
        {                                                                                          \
            label, total, "=" run ":time_per_step_us*" scale, a, "=" run ":compaction_us*1e-3", b, \
                "=" run ":compaction_plan_us*1e-3", c, "=" run ":compaction_move_us*1e-3", d,      \
                "=" run ":compaction_rewrite_us*1e-3"                                              \
        }                                                                                          \
    }
     .rows = {SYNTHETIC_ROW("synthetic, n = 3", "merge", "44.4", "4.0", "6.7", "33.3"),
              SYNTHETIC_ROW("the same, global", "global", "", "", "", ""),
              SYNTHETIC_ROW("the same, shared", "shared", "", "", "", ""),
              SYNTHETIC_ROW("the same, bitmap", "bitmap", "", "", "", ""),
              SYNTHETIC_ROW("the same, planner", "planner", "", "", "", ""),
              SYNTHETIC_ROW("n = 3, wide blocks", "wide-merge", "", "", "", ""),
              SYNTHETIC_ROW("planner, wide blocks", "wide-planner", "", "", "", ""),
              APP_ROW("collisions, n = 10", "collision-10", "3,698,945", "10", "36", "17", "7",
                      "8"),
              APP_ROW("generational automaton, n = 2", "generation-2", "56,830", "25", "191", "80",
                      "17", "85"),
              APP_ROW("structure, n = 10", "structure-10", "305,846", "5", "140", "54", "16", "65"),
              APP_ROW("Wa-Tor, n = 9", "wa-tor-9", "7,729", "0.5", "49", "7", "14", "20")},
#undef SYNTHETIC_ROW
#undef APP_ROW
     .difference = "A Titan Xp reaches 547 GB/s and an H200 about 4,200. Compare moves and "
                   "passes, but not times. The paper's references have 8 bytes."},
    {.name = NULL}};

const paper paper_ismm = {
    "ismm", "Springer and Masuhara, Massively Parallel GPU Memory Compaction (ISMM 2019)", runs,
    items};
