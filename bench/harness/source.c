/* Source text from embedded files. See source.h. */
#include "source.h"

#include <stdlib.h>
#include <string.h>

#include "bench_files.h"

#define NEXT_FILE "\n#line 1\n"

static const clumpi_cl_file *find(const char *name, bench_error *error) {
    const clumpi_cl_file *file = bench_file_find(name);
    if (!file) {
        bench_error_set(error, "%s is not embedded in this program", name);
    }
    return file;
}

static char *append(char *end, const clumpi_cl_file *file) {
    memcpy(end, file->data, file->bytes);
    return end + file->bytes;
}

char *bench_load_source(const char *const *before, const char *name, bench_error *error) {
    const clumpi_cl_file *last = find(name, error);
    if (!last) {
        return NULL;
    }
    size_t bytes = last->bytes + 1;
    for (size_t i = 0; before && before[i]; i++) {
        const clumpi_cl_file *file = find(before[i], error);
        if (!file) {
            return NULL;
        }
        bytes += file->bytes + sizeof NEXT_FILE - 1;
    }
    char *source = malloc(bytes), *end = source;
    if (!source) {
        bench_error_set(error, "host memory ran out for %s", name);
        return NULL;
    }
    for (size_t i = 0; before && before[i]; i++) {
        end = append(end, bench_file_find(before[i]));
        memcpy(end, NEXT_FILE, sizeof NEXT_FILE - 1);
        end += sizeof NEXT_FILE - 1;
    }
    *append(end, last) = 0;
    return source;
}
