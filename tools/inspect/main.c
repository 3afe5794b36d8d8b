/* clump-inspect: shows what a heap looked like when it was dumped or saved. usage() has the arguments.
 *
 * Exit status 0; 1 if a file cannot be read or written, or is neither a dump nor a saved heap, with words that begin with its name; 2
 * for arguments that are none.
 */
#include <stdlib.h>
#include <string.h>

#include "inspect.h"

static int usage(FILE *out) {
    fprintf(
        out,
        "usage: clump-inspect FILE...\n"
        "       clump-inspect diff FILE FILE\n"
        "       clump-inspect --html PAGE FILE...\n"
        "Shows what heaps of Clump looked like. A FILE is what clump_heap_dump() or "
        "clump_heap_save() wrote.\n"
        "  FILE...      classes, objects, blocks, how full they are, and places of live objects\n"
        "  diff         what changed from the first file to the second\n"
        "  --html PAGE  writes a page that draws each block by its class and fill, with a slider "
        "over the\n"
        "               files, which must be dumps: saved heaps have no blocks\n"
        "Exit status: 0; 1 for a file that cannot be read, written or understood; 2 for a wrong "
        "argument.\n");
    return out == stderr ? 2 : 0;
}

static int show(const snapshot *files, size_t count, int is_diff, const char *page) {
    if (page) return write_page(page, files, count);
    if (is_diff) show_difference(&files[0], &files[1]);
    for (size_t i = 0; !is_diff && i < count; i++) {
        if (i) printf("\n");
        show_tables(&files[i]);
    }
    if (fflush(stdout) || ferror(stdout)) {
        fprintf(stderr, "clump-inspect: cannot write to standard output\n");
        return 0;
    }
    return 1;
}

static int inspect(char **paths, size_t count, int is_diff, const char *page) {
    snapshot *files = calloc(count, sizeof *files);
    size_t read = 0;
    int good = files != NULL;
    if (!good) fprintf(stderr, "clump-inspect: no memory\n");
    while (good && read < count) {
        good = read_snapshot(paths[read], &files[read]);
        if (!good) break;
        read++;
        if (page && files[read - 1].saved) {
            fprintf(stderr,
                    "clump-inspect: %s: a saved heap has no blocks to draw; dump the heap\n",
                    paths[read - 1]);
            good = 0;
        }
    }
    if (good) good = show(files, count, is_diff, page);
    while (read) free_snapshot(&files[--read]);
    free(files);
    return good ? 0 : 1;
}

int main(int argc, char **argv) {
    const char *page = NULL;
    int at = 1, is_diff = 0;
    if (argc > 1 && (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0))
        return usage(stdout);
    if (argc > 1 && strcmp(argv[1], "diff") == 0) {
        is_diff = 1;
        at = 2;
    } else if (argc > 2 && strcmp(argv[1], "--html") == 0) {
        page = argv[2];
        at = 3;
    }
    for (int i = at; i < argc; i++)
        if (argv[i][0] == '-') return usage(stderr);
    if (at >= argc || (is_diff && argc - at != 2)) return usage(stderr);
    return inspect(argv + at, (size_t)(argc - at), is_diff, page);
}
