/* The schema of model=dynasoar for each layout of the array `path`. See paths.h. */
#include "paths.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench/harness/bench_files.h"
#include "model.h"

static const char *const file_name = "bench/apps/traffic/dynasoar.schema";

/* What stands in the file, and is replaced. */
static const char *const car = "\nclass Car {", *const array = "path[10];";

static void declare(const traffic_path *path, char *text, size_t bytes) {
    switch (path->layout) {
    case TRAFFIC_PATH_FIXED: snprintf(text, bytes, "path[%d];", TRAFFIC_VELOCITY_MAX); break;
    case TRAFFIC_PATH_MAX: snprintf(text, bytes, "path[*] max %d;", TRAFFIC_VELOCITY_MAX); break;
    case TRAFFIC_PATH_INLINE: snprintf(text, bytes, "path[*] inline %u;", path->inside); break;
    case TRAFFIC_PATH_OUTSIDE: snprintf(text, bytes, "path[*];"); break;
    case TRAFFIC_PATH_PACKED:
        snprintf(text, bytes, "path[*] max %d packed;", TRAFFIC_VELOCITY_MAX);
        break;
    }
}

char *traffic_path_schema(const traffic_path *path, bench_error *error) {
    const clumpi_cl_file *file = bench_file_find(file_name);
    const char *at = file ? strstr(file->data, car) : NULL;
    const char *path_at = at ? strstr(at, array) : NULL;
    char declared[64];
    size_t bytes = file ? file->bytes + 2 * sizeof declared : 0;
    char *text = path_at ? malloc(bytes) : NULL;
    if (!path_at) {
        bench_error_set(error, "%s has no class Car with '%s'", file_name, array);
        return NULL;
    }
    if (!text) {
        bench_error_set(error, "host memory ran out");
        return NULL;
    }
    declare(path, declared, sizeof declared);
    snprintf(text, bytes, "%.*s%s%.*s%s%s", (int)(at - file->data), file->data,
             path->is_aos ? "\naos " : "\n", (int)(path_at - at) - 1, at + 1, declared,
             path_at + strlen(array));
    return text;
}
