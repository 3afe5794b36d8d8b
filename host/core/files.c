/* Calls on files, once for POSIX and once for Windows (files.h). The part for Windows is built by
 * MinGW-w64 and run by Wine (test package-mingw); on Windows itself it was never tried.
 *
 * Read first: files.h.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/files.h"

#define AT_ONCE ((size_t)1 << 30) /* bytes for one read() or write() */

#ifdef _WIN32

#include <io.h>
#include <windows.h>

#define NO_INHERIT (O_NOINHERIT | O_BINARY)
#define FILE_MODE (S_IRUSR | S_IWUSR)
typedef unsigned byte_count; /* of read() and write() */

int clumpi_file_open(const char *path) {
    return open(path, O_RDONLY | NO_INHERIT);
}

int clumpi_file_open_now(const char *path) {
    return open(path, O_RDONLY | NO_INHERIT);
}

int clumpi_file_create(const char *path) {
    return open(path, O_WRONLY | O_CREAT | NO_INHERIT, FILE_MODE);
}

/* The byte that is locked lies beyond any file's end: what is locked cannot be written by others. */
int clumpi_file_lock(int file) {
    OVERLAPPED place = {.OffsetHigh = 0x7fffffff};
    return LockFileEx((HANDLE)_get_osfhandle(file),
                      LOCKFILE_EXCLUSIVE_LOCK | LOCKFILE_FAIL_IMMEDIATELY, 0, 1, 0, &place) ||
           GetLastError() != ERROR_LOCK_VIOLATION;
}

/* An open file is neither renamed nor replaced. */
int clumpi_file_has_name(int file, const char *path) {
    (void)file;
    (void)path;
    return 1;
}

int clumpi_file_sync(int file) {
    return _commit(file) ? errno : 0;
}

void clumpi_folder_sync(const char *path) {
    (void)path;
}

int clumpi_file_replace(int file, const char *from, const char *to) {
    if (file >= 0) close(file);
    if (MoveFileExA(from, to, MOVEFILE_REPLACE_EXISTING | MOVEFILE_WRITE_THROUGH)) return 0;
    const DWORD error = GetLastError();
    DeleteFileA(from);
    switch (error) {
    case ERROR_FILE_NOT_FOUND:
    case ERROR_PATH_NOT_FOUND: return ENOENT;
    case ERROR_ACCESS_DENIED:
    case ERROR_SHARING_VIOLATION: return EACCES;
    case ERROR_NOT_SAME_DEVICE: return EXDEV;
    default: return EIO;
    }
}

void clumpi_file_remove(int file, const char *path) {
    close(file);
    unlink(path);
}

void clumpi_folder_make(const char *path) {
    mkdir(path);
}

#else

#include <sys/file.h>

#define FILE_MODE (S_IRUSR | S_IWUSR | S_IRGRP | S_IWGRP | S_IROTH | S_IWOTH) /* less the umask */
typedef size_t byte_count;

int clumpi_file_open(const char *path) {
    return open(path, O_RDONLY | O_CLOEXEC);
}

int clumpi_file_open_now(const char *path) {
    return open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
}

int clumpi_file_create(const char *path) {
    return open(path, O_WRONLY | O_CREAT | O_CLOEXEC | O_NOFOLLOW, FILE_MODE);
}

int clumpi_file_lock(int file) {
    return flock(file, LOCK_EX | LOCK_NB) == 0 || errno != EWOULDBLOCK;
}

int clumpi_file_has_name(int file, const char *path) {
    struct stat opened, named;
    return !fstat(file, &opened) && !stat(path, &named) && opened.st_dev == named.st_dev &&
           opened.st_ino == named.st_ino;
}

int clumpi_file_sync(int file) {
    return fsync(file) ? errno : 0;
}

void clumpi_folder_sync(const char *path) {
    int file = open(path, O_RDONLY | O_CLOEXEC | O_DIRECTORY);
    if (file < 0) return;
    (void)fsync(file);
    close(file);
}

int clumpi_file_replace(int file, const char *from, const char *to) {
    int code = rename(from, to) ? errno : 0;
    if (code) unlink(from);
    if (file >= 0) close(file);
    return code;
}

void clumpi_file_remove(int file, const char *path) {
    unlink(path);
    close(file);
}

void clumpi_folder_make(const char *path) {
    mkdir(path, 0700);
}

#endif

int clumpi_file_create_own(char *path) {
    return mkstemp(path);
}

int clumpi_file_read(int file, void *data, size_t bytes, size_t *got) {
    for (*got = 0; *got < bytes;) {
        const size_t left = bytes - *got;
        ssize_t n = read(file, (char *)data + *got, (byte_count)(left < AT_ONCE ? left : AT_ONCE));
        if (n < 0 && errno == EINTR) continue;
        if (n < 0) return errno;
        if (n == 0) break;
        *got += (size_t)n;
    }
    return 0;
}

int clumpi_file_write(int file, const void *data, size_t bytes) {
    for (const char *at = data; bytes;) {
        ssize_t n = write(file, at, (byte_count)(bytes < AT_ONCE ? bytes : AT_ONCE));
        if (n < 0 && errno == EINTR) continue;
        if (n <= 0) return n ? errno : ENOSPC;
        at += n;
        bytes -= (size_t)n;
    }
    return 0;
}
