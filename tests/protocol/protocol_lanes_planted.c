/* Faults planted in cl/core/lanes.clh must be found by protocol_lanes.
 *
 * As in protocol_planted.c: for each fault, one path of the device code is compiled against a
 * patched copy of the sources, and linked with the others as they are. The compiler is $CC, or cc.
 */
#include "tests/protocol/planted.h"

static const fault of_warps[] = {
    {"lanes of all classes ask together",
     {{"core/lanes.clh", "return clumpi_lanes_with(clumpi_lanes_here(), key);",
       "(void)key; return clumpi_lanes_here();"}}},
    {"those who report meet those who ask",
     {{"core/lanes.clh", "clumpi_lanes_meet(CLUMPI_CLASS_IDS + class_id)",
       "clumpi_lanes_meet(class_id)"}}},
    {"rank off by one",
     {{"core/lanes.clh", "((clumpi_lanes)1 << lane) - 1)", "((clumpi_lanes)2 << lane) - 1)"}}},
    {"rank among all lanes",
     {{"core/lanes.clh", "clumpi_lanes_count(mask & (((clumpi_lanes)1 << lane) - 1))", "lane"}}},
    {"the leader asks for one",
     {{"core/lanes.clh", "(ulong)clumpi_lanes_count(mask) << 32", "1ul << 32"}}},
    {"each lane looks in a stripe of its own",
     {{"core/lanes.clh", "uint stripe = (clumpi_neighbourhood() + first)",
       "uint stripe = (clumpi_neighbourhood() + lane)"}}},
    {"leader taken from a later look at who is here",
     {{"core/lanes.clh", "uint from = clumpi_lanes_first(mask);",
       "uint from = clumpi_lanes_first(clumpi_lanes_here());"}}},
    {"who asks together found out anew before the leader tells",
     {{"core/lanes.clh", "word = clumpi_lanes_share(mask, word);",
       "word = clumpi_lanes_share(clumpi_lanes_meet(class_id), word);"}}},
    {"share from lane 0",
     {{"core/lanes.clh", "uint from = clumpi_lanes_first(mask);", "uint from = 0;"}}},
    {"upper half of a word not shared",
     {{"core/lanes.clh", "uint high = clumpi_lane_read(mask, (uint)(word >> 32), from);",
       "uint high = (uint)(word >> 32);"}}},
    {"what the leader's claim found is not shared",
     {{"core/lanes.clh",
       "    if (!clumpi_lanes_alone(row.y)) taken = clumpi_lanes_share(row.y, taken);\n", ""}}},
    {"each lane claims and frees for itself what its leader does for all",
     {{"core/lanes.clh", "return mask == 1u << clumpi_lane();", "return mask != 0;"}}},
    {"a slot that somebody took is given all the same",
     {{"core/lanes.clh", "return taken >> slot & 1ul ? clumpi_lost(h, class_id, ref) : ref;",
       "return ref;"}}},
    {"those who claim go their way, those who free wait for them",
     {{"core/lanes.clh", "    clumpi_lanes_stay(row.x);\n#else", "#else"}}},
    {"a position beyond the limit",
     {{"core/lanes.clh", "if (at >= clumpi_stripe_limit(word)) {",
       "if (at > clumpi_stripe_limit(word)) {"}}},
    {"a warp of several classes taken for one",
     {{"core/lanes.clh", "(clumpi_lanes_or(here, both) == both)",
       "(clumpi_lanes_or(here, both) != 0)"}}},
    {"warps: every lane adds the sum of all",
     {{"core/lanes.clh", "    if (is_first)\n", "    if (is_first | 1u)\n"}}},
    {"lanes that are not all taken for a warp",
     {{"core/lanes.clh", "return (here == ~0u) &", "return (clumpi_lanes_count(here) >= 16u) &"}}},
    {"a whole warp: claims the slots of the next row as if they were in the same",
     {{"core/lanes.clh", "from + 32u <= limit && (from & 63u) <= 32u &&",
       "from + 32u <= limit &&"}}},
    {"a whole warp: holes taken for a row",
     {{"core/lanes.clh", " && (from >> 6) * d.stripes + stripe >= d.holes;", ";"}}},
    {"a whole warp: claims slots beyond the limit",
     {{"core/lanes.clh", "uint whole = from + 32u <= limit &&", "uint whole ="}}},
    {"a whole warp: a position beyond the limit",
     {{"core/lanes.clh", "if (at >= limit) return 0;", "if (at > limit) return 0;"}}},
    {"a whole warp: a slot that somebody took is given all the same",
     {{"core/lanes.clh", ">> lane & 1u ? clumpi_lost(h, class_id, ref) : ref;",
       ">> 31 >> 1 ? ref : ref;"}}},
    {"a whole warp: what was taken is counted from the beginning of the row",
     {{"core/lanes.clh", "    taken >>= from & 63u;\n", ""}}},
    {"a whole warp asks for one", {{"core/lanes.clh", "32ul << 32);", "1ul << 32);"}}},
    {"frees of different classes go together",
     {{"core/lanes.clh", "(ulong)(first << 8 | last) << 32 | granule);", "granule);"}}},
    {"frees of different rows go together",
     {{"core/lanes.clh",
       "row.y = clumpi_lanes_with64(row.x, (ulong)(first << 8 | last) << 32 | granule);",
       "row.y = row.x + 0 * (granule + first + last);"}}},
    {"two frees of one object taken for one",
     {{"core/lanes.clh", "clumpi_popcount64(bits) == clumpi_lanes_count(row.y);", "1;"}}},
    {"no order between the writes of lanes and the leader's release",
     {{"core/lanes.clh", "    clumpi_lanes_stay(row.x);\n    return bits;", "    return bits;"}}},
    {"out of memory not reported",
     {{"core/lanes.clh", "    if (leads) clumpi_report(", "    if (0) clumpi_report("}}},
    {"out of memory reported by every lane",
     {{"core/lanes.clh", "    if (leads) clumpi_report(", "    clumpi_report("}}},
    {"those that the leader frees for do not wait",
     {{"core/lanes.clh", "    }\n    clumpi_lanes_stay(row.x);",
       "    }\n    if (clumpi_lane() == clumpi_lanes_first(row.y)) clumpi_lanes_stay(row.x);"}}},
    {"frees wait for all lanes there are",
     {{"core/lanes.clh", "    }\n    clumpi_lanes_stay(row.x);",
       "    }\n    clumpi_lanes_stay(~0u);"}}},
    {"an operation on lanes outside of the functions that stand once",
     {{"core/lanes.clh", "clumpi_lanes mask = clumpi_lanes_meet(class_id);",
       "clumpi_lanes mask = clumpi_lanes_with(clumpi_lanes_here(), class_id);"}}},
};

static const fault of_subgroups[] = {
    {"a lane alone of its class takes the others with it",
     {{"core/lanes.clh", "return value == first ? same : (clumpi_lanes)1 << clumpi_lane();",
       "return same;"}}},
    {"sub-groups: lanes of all classes ask together",
     {{"core/lanes.clh", "sub_group_ballot(value == first)", "sub_group_ballot(1)"}}},
};

static const char *const copied[] = {"core/layout.h",  "core/prelude.clh",  "core/bitmap.clh",
                                     "core/block.clh", "core/reserve.clh",  "core/alloc.clh",
                                     "core/lanes.clh", "api/device_api.clh"};

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

/* Paths, and the faults that are planted in each. */
static const struct {
    const char *name, *options;
    const fault *faults;
    size_t fault_count;
} paths[] = {
    {"lanes_scalar", "-DLANES_WIDTH=1", NULL, 0},
    {"lanes_warps", "-DLANES_WIDTH=32 -DCLUMPI_HAVE_PTX=1", of_warps, COUNT(of_warps)},
    {"lanes_warps32", "-DLANES_WIDTH=32 -DCLUMPI_HAVE_PTX=1 -DHOSTED_WORD_BITS=32", NULL, 0},
    {"lanes_warps_alone", "-DLANES_WIDTH=32 -DCLUMPI_HAVE_PTX=1 -DCLUMP_COALESCE=0", NULL, 0},
    {"lanes_subgroups", "-DLANES_WIDTH=64 -DCLUMPI_HAVE_SUBGROUPS=1", of_subgroups,
     COUNT(of_subgroups)},
};

static int compile(const char *folder, const char *options, const char *source,
                   const char *output) {
    char command[2048];
    const char *cc = getenv("CC");
    snprintf(command, sizeof command,
             "%s -std=gnu11 -O0 -w %s -I '%s' -iquote '%s' -iquote '%s' %s -o '%s/%s'",
             cc && *cc ? cc : "cc", options, CLUMP_LANES_GENERATED, folder, CLUMP_SOURCE_DIR,
             source, folder, output);
    return shell(command) == 0;
}

static int compile_path(const char *folder, size_t path, const char *output) {
    char options[256], source[512];
    snprintf(options, sizeof options, "-c %s -DLANES_PATH=%s", paths[path].options,
             paths[path].name);
    snprintf(source, sizeof source, "'%s/tests/protocol/lanes/path.c'", CLUMP_SOURCE_DIR);
    return compile(folder, options, source, output);
}

/* All paths, as they are. */
static int compile_all(const char *folder) {
    char source[512], output[64];
    int good = write_sources(folder, NULL, copied, COUNT(copied));
    for (size_t i = 0; i < COUNT(paths); i++) {
        snprintf(output, sizeof output, "%s.o", paths[i].name);
        good = good && compile_path(folder, i, output);
    }
    snprintf(source, sizeof source, "'%s/tests/protocol/protocol_lanes.c'", CLUMP_SOURCE_DIR);
    return good && compile(folder, "-c", source, "protocol_lanes.o");
}

/* Faults that most kernels miss, and take long to: the kernel that finds each. */
static const char *const found_by[][2] = {
    {"those who claim go their way, those who free wait for them", "free_then_new"},
    {"a whole warp: claims the slots of the next row as if they were in the same", "chains"},
    {"a whole warp: holes taken for a row", "chains"},
    {"a whole warp: claims slots beyond the limit", "chains"},
    {"a whole warp: a position beyond the limit", "chains"},
    {"a whole warp: a slot that somebody took is given all the same", "chains"},
    {"a whole warp: what was taken is counted from the beginning of the row", "chains"},
    {"a whole warp asks for one", "chains"},
    {"frees of different classes go together", "frees_by_class"},
    {"two frees of one object taken for one", "frees"},
    {"no order between the writes of lanes and the leader's release", "frees"},
};
static const char *kernel_for(const fault *f) {
    for (size_t i = 0; i < COUNT(found_by); i++)
        if (strcmp(found_by[i][0], f->name) == 0) return found_by[i][1];
    return ""; /* all */
}

/* Returns 1 if the fault was found. */
static int find_fault(const char *folder, size_t path, const fault *f) {
    char objects[2048] = "", command[1024];
    if (!write_sources(folder, f, copied, COUNT(copied))) return 0;
    for (size_t i = 0; i < COUNT(paths); i++) {
        size_t at = strlen(objects);
        snprintf(objects + at, sizeof objects - at, "'%s/%s.o' ", folder,
                 i == path ? "patched" : paths[i].name);
    }
    size_t end = strlen(objects);
    snprintf(objects + end, sizeof objects - end, "'%s/protocol_lanes.o'", folder);
    if (!compile_path(folder, path, "patched.o") || !compile(folder, "", objects, "planted")) {
        printf("%s: does not compile\n", f->name);
        return 0;
    }
    snprintf(command, sizeof command, "'%s/planted' 4 %s > '%s/output'", folder, kernel_for(f),
             folder);
    int status = shell(command);
    if (status != 1) {
        printf("%s: NOT FOUND (exit status %d)\n", f->name, status);
        return 0;
    }
    printf("%s:\n    ", f->name);
    fflush(stdout);
    snprintf(command, sizeof command, "grep -A1 '^FAULT' '%s/output'", folder);
    return shell(command) == 0;
}

int main(int argc, char **argv) {
    char folder[] = "planted.XXXXXX", command[256];
    if (!mkdtemp(folder)) abort();
    snprintf(command, sizeof command, "mkdir -p '%s/cl/core' '%s/cl/api'", folder, folder);
    if (shell(command) != 0) abort();
    size_t missed = 0, tried = 0;
    int good = compile_all(folder);
    if (!good) printf("the paths do not compile\n");
    for (size_t p = 0; good && p < COUNT(paths); p++)
        for (size_t i = 0; i < paths[p].fault_count; i++) {
            const fault *f = &paths[p].faults[i];
            if (argc > 1 && !strstr(f->name, argv[1])) continue;
            if (!is_tried(folder, f, i, copied, COUNT(copied), &missed)) continue;
            tried++;
            missed += !find_fault(folder, p, f);
        }
    snprintf(command, sizeof command, "rm -r '%s'", folder);
    if (shell(command) != 0) abort();
    printf("%zu faults planted, %zu not found or not fitting\n", tried, missed);
    return !good || missed != 0;
}
