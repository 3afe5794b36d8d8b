/* The kernel files, schemas and traces below bench/, embedded at build time (bench/CMakeLists.txt).
 *
 * Names are paths from the root of the project: "bench/apps/wa-tor/wa-tor.cl". The table ends in an
 * element whose name is NULL. Read first: host/core/cl_files.h for the members.
 */
#ifndef BENCH_FILES_H
#define BENCH_FILES_H

#include <string.h>

#include "host/core/cl_files.h"

extern const clumpi_cl_file bench_files[];
extern const size_t bench_files_count;

/* The file of that name, or NULL. */
static inline const clumpi_cl_file *bench_file_find(const char *name) {
    for (size_t i = 0; i < bench_files_count; i++)
        if (!strcmp(bench_files[i].name, name)) return &bench_files[i];
    return NULL;
}

#endif
