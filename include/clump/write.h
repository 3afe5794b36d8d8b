/* Where texts and tables go: to a function of the caller's, or to a file.
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

/* Takes the next part of what a call writes, and returns 0. Another number says that it could not:
 * the call fails with CLUMP_ERR_IO, and its error tells the number. */
typedef int (*clump_write_fn)(void *user, const void *data, size_t bytes);

/* A clump_write_fn that makes a file, or replaces one: `path` is its name, a char *. Returns 0 or a
 * value of errno, also where the disk is full, and the error of the call names the file then. For
 * calls that write in one part, which is all but clump_heap_save() and the trace of a pool:
 *
 *     status = clump_heap_dump(heap, CLUMP_TO_PATH("heap.json"));
 */
CLUMP_API int clump_write_to_path(void *path, const void *data, size_t bytes);
/* In place of `write, user` of a call: the file `path`. */
#define CLUMP_TO_PATH(path) clump_write_to_path, (void *)(path)

#ifdef __cplusplus
}
#endif
#endif
