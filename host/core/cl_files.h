/* The device sources of cl/, embedded at build time as a table of texts.
 *
 * The build (cmake/embed.cmake) turns every file of cl/ into one element, sorted by name.
 * clumpi_source_append() puts a program together from them. Everything here is constant and lives
 * as long as the process.
 *
 * Read first: nothing.
 */
#ifndef CLUMPI_CL_FILES_H
#define CLUMPI_CL_FILES_H

#include <stddef.h>

typedef struct clumpi_cl_file {
    const char *name; /* path from the root of the project, "cl/core/alloc.clh"; unique */
    const char *data; /* the text; zero-terminated */
    size_t bytes;     /* of the text, without the terminating zero */
} clumpi_cl_file;

/* Ends in an element whose name is NULL, which clumpi_cl_files_count leaves out. */
extern const clumpi_cl_file clumpi_cl_files[];
extern const size_t clumpi_cl_files_count;

/* The file of that name ("cl/core/alloc.clh"), or NULL. */
const clumpi_cl_file *clumpi_cl_file_find(const char *name);

#endif
