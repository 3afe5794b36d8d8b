/* Calls on files, once for POSIX and once for Windows (files.h). The part for Windows is built by
 * MinGW-w64 and run by Wine (test package-mingw); on Windows itself it was never tried.
 *
 * Read first: files.h.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/files.h"

#define AT_ONCE ((size_t)1 << 30) /* bytes for one read() or write() */
#define NOT_REGULAR ", but only a regular file can be replaced"

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

/* MoveFileEx() would replace a link, so none is followed. */
const char *clumpi_place_find(clumpi_place *place, const char *path) {
    memset(place, 0, sizeof *place);
    if (strlen(path) >= sizeof place->path) return strerror(ENAMETOOLONG);
    memcpy(place->path, path, strlen(path) + 1);
    const DWORD is = GetFileAttributesA(path);
    if (is == INVALID_FILE_ATTRIBUTES) return NULL; /* creating the file next to it tells more */
    place->is_special = 1;
    if (is & FILE_ATTRIBUTE_DIRECTORY) return "it is a folder" NOT_REGULAR;
    if (is & FILE_ATTRIBUTE_REPARSE_POINT) return "it is a link" NOT_REGULAR;
    const HANDLE file = CreateFileA(path, 0, FILE_SHARE_READ | FILE_SHARE_WRITE | FILE_SHARE_DELETE,
                                    NULL, OPEN_EXISTING, 0, NULL);
    const DWORD type = file == INVALID_HANDLE_VALUE ? FILE_TYPE_DISK : GetFileType(file);
    if (file != INVALID_HANDLE_VALUE) CloseHandle(file);
    if (type != FILE_TYPE_DISK) return "it is a device" NOT_REGULAR;
    place->is_special = 0;
    place->is_there = 1;
    return is & FILE_ATTRIBUTE_READONLY ? strerror(EACCES) : NULL;
}

int clumpi_place_create(const clumpi_place *place, const char *path, const char **why) {
    (void)place;
    const int file = open(path, O_WRONLY | O_CREAT | NO_INHERIT, FILE_MODE);
    *why = file < 0 ? strerror(errno) : NULL;
    return file;
}

int clumpi_place_adopt(const clumpi_place *place, int file) {
    (void)place;
    (void)file;
    return 0;
}

/* The byte that is locked lies beyond any file's end: what is locked cannot be written by
 * others. */
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

#define OWN_MODE (S_IRUSR | S_IWUSR)
#define FILE_MODE (OWN_MODE | S_IRGRP | S_IWGRP | S_IROTH | S_IWOTH) /* less the umask */
#define MODES 07777u
#define LINKS_MOST 40 /* in a row, as Linux has it */
typedef size_t byte_count;

int clumpi_file_open(const char *path) {
    return open(path, O_RDONLY | O_CLOEXEC);
}

int clumpi_file_open_now(const char *path) {
    return open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
}

/* Replaces the path, if it is a symbolic link, by what the link says. 0 if it is none, 1, or -1
 * with errno. */
static int follow(char *path, size_t room) {
    char link[sizeof((clumpi_place *)0)->path];
    const ssize_t bytes = readlink(path, link, sizeof link);
    if (bytes < 0) return errno == EINVAL || errno == ENOENT ? 0 : -1;
    const char *slash = *link == '/' ? NULL : strrchr(path, '/');
    const size_t folder = slash ? (size_t)(slash - path) + 1 : 0;
    if (folder + (size_t)bytes >= room) {
        errno = ENAMETOOLONG;
        return -1;
    }
    memcpy(path + folder, link, (size_t)bytes);
    path[folder + (size_t)bytes] = 0;
    return 1;
}

static const char *special(mode_t mode) {
    return S_ISDIR(mode)    ? "it is a folder" NOT_REGULAR
           : S_ISFIFO(mode) ? "it is a pipe" NOT_REGULAR
           : S_ISCHR(mode) || S_ISBLK(mode)
               ? "it is a device" NOT_REGULAR
               : "it is neither a regular file nor a link to one" NOT_REGULAR;
}

const char *clumpi_place_find(clumpi_place *place, const char *path) {
    struct stat is;
    memset(place, 0, sizeof *place);
    if (strlen(path) >= sizeof place->path) return strerror(ENAMETOOLONG);
    memcpy(place->path, path, strlen(path) + 1);
    const int found = stat(path, &is) == 0;
    if (!found && errno != ENOENT) return strerror(errno);
    place->is_special = found && !S_ISREG(is.st_mode);
    if (place->is_special) return special(is.st_mode);
    int links = 0, more = 1;
    while (links++ <= LINKS_MOST && (more = follow(place->path, sizeof place->path)) > 0) {
    }
    if (more) return strerror(more < 0 ? errno : ELOOP);
    if (!found) return NULL;
    struct stat behind; /* /proc has links whose text is no path */
    if (stat(place->path, &behind) || behind.st_dev != is.st_dev || behind.st_ino != is.st_ino)
        return "the file behind this link has no name";
    place->is_there = 1;
    place->mode = is.st_mode & MODES;
    place->owner = is.st_uid;
    place->group = is.st_gid;
    return faccessat(AT_FDCWD, place->path, W_OK, AT_EACCESS) ? strerror(errno) : NULL;
}

/* Not through a link, and without waiting for who reads a pipe. */
int clumpi_place_create(const clumpi_place *place, const char *path, const char **why) {
    const int file = open(path, O_WRONLY | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK,
                          place->is_there ? OWN_MODE : FILE_MODE);
    struct stat is;
    *why = file < 0 || fstat(file, &is)             ? strerror(errno)
           : S_ISREG(is.st_mode) && is.st_nlink < 2 ? NULL
                                                    : "it is not a regular file with only one name";
    if (file < 0 || !*why) return file;
    close(file);
    return -1;
}

int clumpi_place_adopt(const clumpi_place *place, int file) {
    struct stat is;
    if (!place->is_there) return 0;
    if (fstat(file, &is)) return errno;
    const int is_other = is.st_uid != place->owner || is.st_gid != place->group;
    if (is_other && fchown(file, place->owner, place->group)) return errno;
    const int differs = is_other || (is.st_mode & MODES) != place->mode;
    return differs && fchmod(file, place->mode) ? errno : 0;
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
