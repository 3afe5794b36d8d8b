/* Look-up in the table of embedded device sources. See cl_files.h; the table is generated. */
#include "core/cl_files.h"

#include <string.h>

const clumpi_cl_file *clumpi_cl_file_find(const char *name) {
    for (size_t i = 0; i < clumpi_cl_files_count; i++)
        if (!strcmp(clumpi_cl_files[i].name, name)) return &clumpi_cl_files[i];
    return NULL;
}
