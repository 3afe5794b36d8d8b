/* Probing of a device, and what follows from it. Read first: core.h. */
#ifndef CLUMPI_DEVICE_H
#define CLUMPI_DEVICE_H

#include "core/core.h"

/* The user's entries, the linked functions for those left NULL. Optional ones stay NULL. */
clump_status clumpi_cl_resolve(const clump_cl_functions *given, clump_cl_functions *table,
                               clump_error *error);

/* Is `name` one of the words of the space-separated list? */
int clumpi_has_word(const char *list, const char *name);

/* Does the device list the extension? 0 if it cannot be asked, too. */
int clumpi_device_has(const clump_cl_functions *cl, cl_device_id device,
                      const clump_allocator *allocator, const char *extension);

/* What a device is asked for: with CLUMPI_MEMORY_ALONE it needs no compiler, and `language` says
 * nothing. */
typedef enum clumpi_needs { CLUMPI_KERNELS, CLUMPI_MEMORY_ALONE } clumpi_needs;

/* Optional entries of the table that the device has are filled in. */
clump_status clumpi_device_probe(clump_cl_functions *cl, cl_device_id device, clumpi_needs needs,
                                 const clump_allocator *allocator, uint32_t disable,
                                 clump_personality personality, clump_capabilities *capabilities,
                                 clump_error *error);

/* Launch sizes for the device: enough work-items to fill it, few enough that small heaps do not pay
 * for idle ones. */
void clumpi_device_sizes(const clump_capabilities *capabilities, clumpi_launch_sizes *sizes);
/* Work-groups of a do-all on a heap of so many bytes: as many as the device is filled by, but in a
 * small heap no more than a thirty-second of it has room for, since each has a place for what it
 * reduces. */
uint32_t clumpi_do_all_groups(const clumpi_launch_sizes *sizes, uint64_t bytes);

#endif
