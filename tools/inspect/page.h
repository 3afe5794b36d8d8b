/* The files of clump-inspect that are embedded at build time: page.html alone. */
#ifndef INSPECT_PAGE_H
#define INSPECT_PAGE_H

#include "host/core/cl_files.h"

extern const clumpi_cl_file inspect_files[];
extern const size_t inspect_files_count;

#endif
