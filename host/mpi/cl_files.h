/* The device sources of clump-mpi, embedded at build time: cl/mpi and the files that it includes.
 *
 * Read first: host/core/cl_files.h.
 */
#ifndef CLUMPI_MPI_CL_FILES_H
#define CLUMPI_MPI_CL_FILES_H

#include "host/core/cl_files.h"

extern const clumpi_cl_file clumpi_mpi_cl_files[];
extern const size_t clumpi_mpi_cl_files_count;

#endif
