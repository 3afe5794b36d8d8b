/* The kernel files of merging, embedded at build time as cl/ is in the library.
 *
 * Read first: core/cl_files.h.
 */
#ifndef BENCH_MERGE_FILES_H
#define BENCH_MERGE_FILES_H

#include "core/cl_files.h"

extern const clumpi_cl_file bench_merge_files[]; /* ends in an element whose name is NULL */
extern const size_t bench_merge_files_count;

#endif
