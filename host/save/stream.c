/* Streams of saved heaps: files, and functions of the program (format.h).
 *
 * A file is written under another name, brought to the disk, and renamed; then its folder is
 * brought to the disk. So a file of the name is the old one or the new one, whenever the machine
 * stops. A lock keeps a second save to the same path out, and ends with the process. The name is
 * the one behind symbolic links, and the new file gets owner, group and mode of the old one.
 *
 * Read first: format.h.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "core/files.h"
#include "save/format.h"

const char *clumpi_stream_name(const clumpi_stream *s) {
    return s->path ? s->path : "the saved heap";
}

static clump_status fail_io(clumpi_stream *s, const char *what, const char *path, int code) {
    return clumpi_fail(s->error, CLUMP_ERR_IO, "cannot %s %s: %s", what, path, strerror(code));
}

/* ---- Writing --------------------------------------------------------------------------------- */

/* The file is only emptied when the lock is held, and its name is still that of this file: another
 * save may have put it in place in between. */
static clump_status take_part(clumpi_stream *s) {
    if (!clumpi_file_lock(s->file))
        return clumpi_fail(s->error, CLUMP_ERR_IO,
                           "another save to %s is running: it has locked %s", s->path, s->part);
    if (!clumpi_file_has_name(s->file, s->part))
        return clumpi_fail(s->error, CLUMP_ERR_IO, "another save to %s has just ended. Save again",
                           s->path);
    return ftruncate(s->file, 0) ? fail_io(s, "empty", s->part, errno) : CLUMP_OK;
}

static clump_status name_part(clumpi_stream *s, const clumpi_place *place) {
    clumpi_text part = {.allocator = s->allocator};
    clumpi_text_append(&part, "%s.part", place->path);
    s->part = part.data;
    s->place = clumpi_copy_text(s->allocator, place->path, strlen(place->path));
    if (!part.failed && s->place) return CLUMP_OK;
    return clumpi_fail(s->error, CLUMP_ERR_HOST_MEMORY, "no host memory for the name of a file");
}

static clump_status create_file(clumpi_stream *s) {
    clumpi_place place;
    const char *why = clumpi_place_find(&place, s->path);
    if (why)
        return clumpi_fail(
            s->error, CLUMP_ERR_IO, "cannot save to %s: %s%s", s->path, why,
            place.is_special ? ". Use `write` of clump_save_desc to write to another place" : "");
    clump_status status = name_part(s, &place);
    if (status) return status;
    s->file = clumpi_place_create(&place, s->part, &why);
    if (s->file < 0)
        return clumpi_fail(s->error, CLUMP_ERR_IO, "cannot create %s: %s", s->part, why);
    status = take_part(s);
    if (status) {
        close(s->file); /* the file is that of the other save */
        s->file = -1;
        return status;
    }
    const int code = clumpi_place_adopt(&place, s->file);
    return code ? fail_io(s, "give the owner and the mode of the old file to", s->part, code)
                : CLUMP_OK;
}

static int discard(void *user, const void *data, size_t bytes) {
    (void)user;
    (void)data;
    (void)bytes;
    return 0;
}

clump_status clumpi_stream_create(clumpi_stream *s, const clump_save_desc *desc, const char *call,
                                  const clump_allocator *allocator, clump_error *error) {
    *s = (clumpi_stream){.allocator = allocator, .error = error, .file = -1};
    if (!!desc->path + !!desc->write + !!desc->measure != 1)
        return clumpi_fail(error, CLUMP_ERR_USAGE,
                           "%s: set exactly one of `path`, `write` and `measure`", call);
    if (desc->measure && desc->zstd_level)
        return clumpi_fail(error, CLUMP_ERR_USAGE,
                           "%s: `measure` does not know the sizes of packed pieces, so zstd_level "
                           "must be 0",
                           call);
    s->path = desc->path;
    s->write = desc->measure ? discard : desc->write;
    s->user = desc->user;
    s->progress = desc->progress;
    clump_status status = s->path ? create_file(s) : CLUMP_OK;
    if (status) clumpi_stream_close(s);
    return status;
}

clump_status clumpi_stream_write(clumpi_stream *s, const void *data, size_t bytes) {
    s->bytes += bytes;
    if (!s->path) {
        int code = s->write(s->user, data, bytes);
        if (!code) return CLUMP_OK;
        return clumpi_fail(s->error, CLUMP_ERR_IO, "`write` returned %d for %zu bytes", code,
                           bytes);
    }
    int code = clumpi_file_write(s->file, data, bytes);
    return code ? fail_io(s, "write", s->part, code) : CLUMP_OK;
}

/* The name of a file is on the disk when its folder is. Folders that cannot be opened or synced are
 * left to the system. */
static void sync_folder(clumpi_stream *s) {
    char *folder = clumpi_copy_text(s->allocator, s->place, strlen(s->place));
    if (!folder) return;
    char *slash = strrchr(folder, '/');
    if (slash) slash[slash == folder] = 0;
    clumpi_folder_sync(slash ? folder : ".");
    clumpi_free(s->allocator, folder);
}

clump_status clumpi_stream_commit(clumpi_stream *s) {
    if (!s->path) return CLUMP_OK;
    int code = clumpi_file_sync(s->file);
    if (code && code != EINVAL && code != EROFS) return fail_io(s, "flush", s->part, code);
    code = clumpi_file_replace(s->file, s->part, s->place);
    s->file = -1;
    if (code)
        return clumpi_fail(s->error, CLUMP_ERR_IO, "cannot rename %s to %s: %s", s->part, s->place,
                           strerror(code));
    clumpi_free(s->allocator, s->part);
    s->part = NULL;
    sync_folder(s);
    return CLUMP_OK;
}

/* ---- Reading --------------------------------------------------------------------------------- */

clump_status clumpi_stream_open(clumpi_stream *s, const clump_load_desc *desc, const char *call,
                                const clump_allocator *allocator, clump_error *error) {
    *s = (clumpi_stream){.allocator = allocator, .error = error, .file = -1};
    if (!desc->path == !desc->read)
        return clumpi_fail(error, CLUMP_ERR_USAGE, "%s: set exactly one of `path` and `read`",
                           call);
    s->path = desc->path;
    s->read = desc->read;
    s->user = desc->user;
    s->progress = desc->progress;
    if (!s->path) return CLUMP_OK;
    s->file = clumpi_file_open(s->path);
    return s->file < 0 ? fail_io(s, "open", s->path, errno) : CLUMP_OK;
}

/* Up to so many; fewer at the end. */
static clump_status read_some(clumpi_stream *s, char *data, size_t bytes, size_t *got) {
    *got = 0;
    if (!s->path) {
        *got = s->read(s->user, data, bytes);
        if (*got <= bytes) return CLUMP_OK;
        return clumpi_fail(s->error, CLUMP_ERR_IO, "`read` returned %zu for a request of %zu bytes",
                           *got, bytes);
    }
    int code = clumpi_file_read(s->file, data, bytes, got);
    return code ? fail_io(s, "read", s->path, code) : CLUMP_OK;
}

clump_status clumpi_stream_read(clumpi_stream *s, void *data, size_t bytes) {
    size_t got;
    clump_status status = read_some(s, data, bytes, &got);
    s->bytes += got;
    if (status || got == bytes) return status;
    return clumpi_fail(s->error, CLUMP_ERR_FORMAT,
                       "%s is cut off: it ends after %llu bytes, but %zu more are needed",
                       clumpi_stream_name(s), (unsigned long long)s->bytes, bytes - got);
}

clump_status clumpi_stream_expect_end(clumpi_stream *s) {
    char more;
    size_t got;
    if (!s->path) return CLUMP_OK;
    clump_status status = read_some(s, &more, 1, &got);
    if (status || !got) return status;
    return clumpi_fail(s->error, CLUMP_ERR_FORMAT,
                       "%s continues after the %llu bytes of the saved heap", s->path,
                       (unsigned long long)s->bytes);
}

/* ---- Both ------------------------------------------------------------------------------------ */

void clumpi_stream_close(clumpi_stream *s) {
    if (s->part && s->file >= 0)
        clumpi_file_remove(s->file, s->part);
    else if (s->file >= 0)
        close(s->file);
    clumpi_free(s->allocator, s->part);
    clumpi_free(s->allocator, s->place);
    clumpi_free(s->allocator, s->packed);
    s->part = s->place = NULL;
    s->packed = NULL;
    s->file = -1;
}

clump_status clumpi_stream_progress(clumpi_stream *s, uint64_t bytes) {
    s->done += bytes;
    if (!s->progress) return CLUMP_OK;
    int code = s->progress(s->user, s->done, s->all);
    if (!code) return CLUMP_OK;
    return clumpi_fail(s->error, CLUMP_ERR_IO, "stopped by `progress`, which returned %d", code);
}
