/* Calls on files that POSIX and Windows have in different ways. Kept programs (cache.c) and saved heaps use them.
 *
 * A file is a descriptor. On Windows it is opened without translation of line ends. Errors are values of errno.
 *
 * Read first: nothing.
 */
#ifndef CLUMPI_FILES_H
#define CLUMPI_FILES_H

#include <stddef.h>

/* All return a descriptor, or -1 with errno. Programs that are started do not inherit it. */
int clumpi_file_open(const char *path); /* to be read */
int clumpi_file_open_now(
    const char *path); /* likewise, and a pipe does not wait for its other end */
int clumpi_file_create(
    const char
        *path); /* to be written; one that is there stays as it is. POSIX: not through a link */
int clumpi_file_create_own(
    char *path); /* to be written, new: replaces the six X at the end of the path */

/* Takes a lock that ends with the descriptor, without waiting: 0 if another descriptor has it. Where files cannot be locked, there
 * is none, and the result is 1. */
int clumpi_file_lock(int file);

/* Whether the file of that name is this one, and not another that was put in its place. */
int clumpi_file_has_name(int file, const char *path);

/* Up to so many bytes, fewer at the end of the file; all of them. 0 or an error. */
int clumpi_file_read(int file, void *data, size_t bytes, size_t *got);
int clumpi_file_write(int file, const void *data, size_t bytes);

/* Bring what was written to the disk. 0 or an error. A folder's names cannot be brought there on Windows: nothing is done. */
int clumpi_file_sync(int file);
void clumpi_folder_sync(const char *path);

/* Puts the first file in place of the second at once. 0, or an error, and then the first file is removed. `file` is the
 * descriptor of the first, which is closed, or -1. The lock on it ends last, except on Windows, which renames no open file. */
int clumpi_file_replace(int file, const char *from, const char *to);

/* Removes a file and closes its descriptor, in this order where that is possible: a lock ends last. */
void clumpi_file_remove(int file, const char *path);

/* Makes a folder for this user alone. What fails is noticed when a file in it is opened. */
void clumpi_folder_make(const char *path);

#endif
