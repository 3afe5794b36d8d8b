/* Destinations of texts and tables: a function of the caller, or a file.
 *
 * Read first: nothing. Read next: inspect.h, structs.h, timeline.h, which write.
 */
#ifndef CLUMP_WRITE_H
#define CLUMP_WRITE_H

#include <stddef.h>

#include "clump/export.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Called with the next part of the output. Return 0 on success. With another number, the call fails
 * with CLUMP_ERR_IO, and its error has the number. */
typedef int (*clump_write_fn)(void *user, const void *data, size_t bytes);

/* Write a file, or replace one, as a clump_write_fn: `path` is its name, a char *. Returns 0 or a
 * value of errno, also if the disk is full. The error of the call then names the file. For calls
 * that write in one part, which are all except clump_heap_save() and the trace of a pool:
 *
 *     status = clump_heap_dump(heap, CLUMP_TO_PATH("heap.json")); */
CLUMP_API int clump_write_to_path(void *path, const void *data, size_t bytes);
/* The file `path`, in place of the arguments `write, user` of a call. */
#define CLUMP_TO_PATH(path) clump_write_to_path, (void *)(path)

#ifdef __cplusplus
}
#endif
#endif
