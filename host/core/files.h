/* Calls on files that POSIX and Windows have in different ways. Kept programs (cache.c) and saved
 * heaps use them. They need nothing else of the library: clump-mpi has them a second time.
 *
 * A file is a descriptor. On Windows it is opened without translation of line ends. Errors are
 * values of errno.
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
int clumpi_file_create_own(
    char *path); /* to be written, new: replaces the six X at the end of the path */

/* Takes a lock that ends with the descriptor, without waiting: 0 if another descriptor has it.
 * Where files cannot be locked, there is none, and the result is 1. */
int clumpi_file_lock(int file);

/* Whether the file of that name is this one, and not another that was put in its place. */
int clumpi_file_has_name(int file, const char *path);

/* Up to so many bytes, fewer at the end of the file; all of them. 0 or an error. */
int clumpi_file_read(int file, void *data, size_t bytes, size_t *got);
int clumpi_file_write(int file, const void *data, size_t bytes);

/* Bring what was written to the disk. 0 or an error. A folder's names cannot be brought there on
 * Windows: nothing is done. */
int clumpi_file_sync(int file);
void clumpi_folder_sync(const char *path);

/* Where a file is to be put in place of another one: the path behind all symbolic links, whose file
 * need not be there. */
typedef struct clumpi_place {
    char path[4096]; /* the given one, if it is special */
    int is_special;  /* something is there, and it is no regular file */
    int is_there;    /* a regular file is, with this mode, owner and group */
    unsigned mode, owner, group;
} clumpi_place;

/* NULL; or why no file can be put there, in words: it is a pipe, say, or must not be written. */
const char *clumpi_place_find(clumpi_place *place, const char *path);

/* The file that is written first, next to the place: one that is there stays as it is. Until
 * clumpi_place_adopt() it can be read by no others, if the place has a file. -1, and then why it
 * cannot be created. It is a regular file with one name. */
int clumpi_place_create(const clumpi_place *place, const char *path, const char **why);

/* Gives the file the owner, the group and the mode of the one in whose place it is put. 0 or an
 * error. */
int clumpi_place_adopt(const clumpi_place *place, int file);

/* Puts the first file in place of the second at once. Other names of the second (hard links) keep
 * what it had. 0, or an error, and then the first file is removed. `file` is the descriptor of the
 * first, which is closed, or -1. The lock on it ends last, except on Windows, which renames no open
 * file. */
int clumpi_file_replace(int file, const char *from, const char *to);

/* Removes a file and closes its descriptor, in this order where that is possible: a lock ends
 * last. */
void clumpi_file_remove(int file, const char *path);

/* Makes a folder for this user alone. What fails is noticed when a file in it is opened. */
void clumpi_folder_make(const char *path);

#endif
