/* clump-inspect: shows what a heap looked like when it was dumped or saved. usage() has the
 * arguments.
 *
 * Exit status 0; 1 if a file cannot be read or written, or is neither a dump nor a saved heap, with
 * words that begin with its name; 2 for arguments that are none.
 */
#include <stdlib.h>
#include <string.h>

#include "inspect.h"
#include "queries.h"

static int usage(FILE *out) {
    fprintf(
        out,
        "usage: clump-inspect FILE...\n"
        "       clump-inspect diff FILE FILE\n"
        "       clump-inspect --html PAGE FILE...\n"
        "       clump-inspect --png PICTURE FILE...\n"
        "       clump-inspect holders [--root CLASS]... [--weak BUFFER]... [--top ROWS] FILE\n"
        "       clump-inspect path [--root CLASS]... [--weak BUFFER]... FILE OBJECT...\n"
        "Shows the contents of heaps of Clump. A FILE was written by clump_heap_dump() or "
        "clump_heap_save().\n"
        "  FILE...        classes, objects, blocks, how full they are, and places of live objects\n"
        "  diff           the changes from the first file to the second\n"
        "  --html PAGE    writes a page that draws each block by its class and fill, with a "
        "slider\n"
        "                 over the files, which must be dumps (saved heaps have no blocks)\n"
        "  --png PICTURE  writes the same blocks as a picture, one dump below the other\n"
        "  holders        for a saved heap: the roots, objects and classes that keep most memory "
        "alive,\n"
        "                 and the objects to which most references lead\n"
        "  path           for a saved heap: a shortest path from a root to each OBJECT, written "
        "as\n"
        "                 CLASS:NUMBER, counted from 0, or CLASS.FIELD=VALUE\n"
        "  --root CLASS   objects of this class and its subclasses are also roots\n"
        "  --weak BUFFER  this registered buffer, counted from 0, is not a root\n"
        "  --top ROWS     rows of each table, 1 to 1000 (default 10)\n"
        "Exit status: 0 for success, 1 for a file that cannot be read, written or understood, 2 "
        "for a wrong argument.\n");
    return out == stderr ? 2 : 0;
}

/* What is drawn: a page or a picture of dumps, or neither. */
typedef struct drawing {
    const char *page, *picture;
} drawing;

static int check_written(int good) {
    if (!fflush(stdout) && !ferror(stdout)) return good;
    fprintf(stderr, "clump-inspect: cannot write to standard output\n");
    return 0;
}

static int show(const snapshot *files, size_t count, int is_diff, drawing to) {
    if (to.page) return write_page(to.page, files, count);
    if (to.picture) return write_picture(to.picture, files, count);
    if (is_diff) show_difference(&files[0], &files[1]);
    for (size_t i = 0; !is_diff && i < count; i++) {
        if (i) printf("\n");
        show_tables(&files[i]);
    }
    return check_written(1);
}

static int inspect(char **paths, size_t count, int is_diff, drawing to) {
    snapshot *files = calloc(count, sizeof *files);
    size_t read = 0;
    int good = files != NULL;
    if (!good) fprintf(stderr, "clump-inspect: no memory\n");
    while (good && read < count) {
        good = read_snapshot(paths[read], &files[read]);
        if (!good) break;
        read++;
        if ((to.page || to.picture) && files[read - 1].saved)
            good = complain(
                paths[read - 1],
                "a saved heap has no blocks to draw. Dump the heap with clump_heap_dump()");
    }
    if (good) good = show(files, count, is_diff, to);
    while (read) free_snapshot(&files[--read]);
    free(files);
    return good ? 0 : 1;
}

/* A whole number of up to `most`; 0: it is none. */
static int parse_small(const char *text, uint32_t most, uint32_t *value) {
    char *end;
    const unsigned long v = strtoul(text, &end, 10);
    *value = (uint32_t)v;
    return *text >= '0' && *text <= '9' && !*end && v <= most;
}

/* holders and path: options, a saved heap, and objects. */
static int query(int argc, char **argv) {
    root_choice choice = {.class_count = 0};
    uint32_t top = 10;
    const int is_path = strcmp(argv[1], "path") == 0;
    int at = 2;
    for (; at < argc && argv[at][0] == '-'; at += 2) {
        const char *option = argv[at], *value = at + 1 < argc ? argv[at + 1] : "";
        if (strcmp(option, "--root") == 0 && *value && choice.class_count < CLUMP_CLASSES_MAX) {
            choice.classes[choice.class_count++] = value;
        } else if (strcmp(option, "--weak") == 0 && choice.weak_count < CLUMP_CLASSES_MAX) {
            if (!parse_small(value, UINT32_MAX, &choice.weak[choice.weak_count++]))
                return usage(stderr);
        } else if (strcmp(option, "--top") != 0 || is_path || !parse_small(value, TOP_MOST, &top) ||
                   !top) {
            return usage(stderr);
        }
    }
    const int arguments = argc - at;
    if (is_path ? arguments < 2 : arguments != 1) return usage(stderr);
    const int good = is_path ? show_paths(argv[at], &choice, argv + at + 1, (size_t)arguments - 1)
                             : show_holders(argv[at], &choice, top);
    return check_written(good) ? 0 : 1;
}

int main(int argc, char **argv) {
    drawing to = {NULL, NULL};
    int at = 1, is_diff = 0;
    if (argc > 1 && (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0))
        return usage(stdout);
    if (argc > 1 && (strcmp(argv[1], "holders") == 0 || strcmp(argv[1], "path") == 0))
        return query(argc, argv);
    if (argc > 1 && strcmp(argv[1], "diff") == 0) {
        is_diff = 1;
        at = 2;
    } else if (argc > 2 && strcmp(argv[1], "--html") == 0) {
        to.page = argv[2];
        at = 3;
    } else if (argc > 2 && strcmp(argv[1], "--png") == 0) {
        to.picture = argv[2];
        at = 3;
    }
    for (int i = at; i < argc; i++)
        if (argv[i][0] == '-') return usage(stderr);
    if (at >= argc || (is_diff && argc - at != 2)) return usage(stderr);
    return inspect(argv + at, (size_t)(argc - at), is_diff, to);
}
