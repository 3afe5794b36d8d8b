/* Saving the heaps of all ranks in one file (mpi.h). Read first: world_file.h. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/files.h"
#include "mpi/world_file.h"

static int count_bytes(void *user, const void *data, size_t bytes) {
    clumpi_world_file *file = user;
    (void)data;
    file->bytes += bytes;
    return 0;
}

static int write_bytes(void *user, const void *data, size_t bytes) {
    clumpi_world_file *file = user;
    if (bytes > file->bytes - file->at) {
        file->status = clumpi_world_fail(file->world, CLUMP_ERR_IO,
                                         "file %s: the heap of rank %d changed while it was saved",
                                         file->path, file->world->place.rank);
        return 1;
    }
    if (clumpi_world_file_write(file, file->begin + file->at, data, bytes)) return 1;
    file->at += bytes;
    return 0;
}

/* Packed pieces have to be made to find their size. */
static clump_status measure(clumpi_world_file *file, clump_heap *heap, clump_save_desc desc) {
    clump_save_report report = {.size = sizeof report};
    desc.write = desc.zstd_level ? count_bytes : NULL;
    desc.measure = !desc.zstd_level;
    const clump_status status = clump_heap_save(heap, &desc, &report);
    if (desc.measure) file->bytes = report.bytes;
    return clumpi_world_file_heap_status(file, status);
}

/* Where the part begins: after those of lower ranks. */
static clump_status place_part(clumpi_world_file *file) {
    uint64_t below = 0;
    const clump_status status =
        clumpi_sum_below(file->world, file->bytes, &below, "clump_world_save");
    file->begin = clumpi_world_file_begin((uint32_t)file->world->place.size) + below;
    return status;
}

/* MPI would write into a pipe or a device, and know nothing of the mode of the file that is
 * replaced. */
static clump_status create_file(clumpi_world_file *file, const clumpi_place *place) {
    const char *why;
    const int own = clumpi_place_create(place, file->path, &why);
    if (own < 0)
        return clumpi_world_fail(file->world, CLUMP_ERR_IO, "file %s cannot be created: %s",
                                 file->path, why);
    file->is_made = 1;
    const int code = clumpi_place_adopt(place, own);
    close(own);
    if (!code) return CLUMP_OK;
    return clumpi_world_fail(file->world, CLUMP_ERR_IO,
                             "file %s: cannot set the owner and the mode of the old file: %s",
                             file->path, strerror(code));
}

static clump_status make_file(clumpi_world_file *file, const clumpi_place *place) {
    const clumpi_world_file_head h = clumpi_world_file_head_of(file->world);
    if (file->world->place.rank) return CLUMP_OK;
    clump_status status = create_file(file, place);
    if (!status) status = clumpi_world_file_open(file, MPI_MODE_WRONLY);
    if (!status) {
        const int code = MPI_File_set_size(file->handle, 0);
        if (code) status = clumpi_world_file_fail(file, "empty", code);
    }
    if (!status) status = clumpi_world_file_write(file, 0, &h, sizeof h);
    return clumpi_world_file_close(file, status);
}

static clump_status write_part(clumpi_world_file *file, clump_heap *heap,
                               const clump_save_desc *desc, clump_save_report *report) {
    clump_save_desc own = *desc;
    const uint32_t rank = (uint32_t)file->world->place.rank;
    clumpi_world_file_entry e = {.begin = file->begin, .bytes = file->bytes};
    own.write = write_bytes;
    own.measure = 0;
    own.progress = clumpi_world_file_progress;
    own.compact = 0; /* it was done */
    e.hash = clumpi_world_file_entry_hash(&e, rank);
    clump_status status = clumpi_world_file_open(file, MPI_MODE_WRONLY);
    if (!status)
        status = clumpi_world_file_write(file, clumpi_world_file_entry_at(rank), &e, sizeof e);
    if (!status) status = clumpi_world_file_heap_status(file, clump_heap_save(heap, &own, report));
    if (!status && file->at != file->bytes)
        status = clumpi_world_fail(file->world, CLUMP_ERR_IO,
                                   "file %s: the heap of rank %d changed while it was saved",
                                   file->path, file->world->place.rank);
    if (!status) {
        const int code = MPI_File_sync(file->handle);
        if (code) status = clumpi_world_file_fail(file, "write", code);
    }
    return clumpi_world_file_close(file, status);
}

clump_status clump_world_save(clump_world *world, clump_heap *heap, const char *path,
                              const clump_save_desc *desc, clump_save_report *report) {
    if (!world) return CLUMP_ERR_USAGE;
    clump_status status = clumpi_world_use(world);
    if (status) return status;
    clump_save_desc own = {.size = sizeof own};
    status = CLUMPI_PLACE(clump_save_report, report, &world->error);
    if (!status) status = CLUMPI_TAKE(clump_save_desc, &own, desc, &world->error);
    clumpi_place place = {.path = ""};
    const char *why = path && *path ? clumpi_place_find(&place, path) : NULL;
    const size_t room = strlen(place.path) + sizeof ".part";
    char *name = malloc(room);
    clumpi_world_file file = {
        .world = world, .path = name, .progress = own.progress, .user = own.user};
    if (!status && !name)
        status = clumpi_world_fail(world, CLUMP_ERR_HOST_MEMORY, "no host memory for a name");
    else if (!status && (!heap || !path || !*path))
        status = clumpi_world_fail(world, CLUMP_ERR_USAGE,
                                   "clump_world_save needs a heap and the path of a file");
    else if (!status && why)
        status = clumpi_world_fail(world, CLUMP_ERR_IO, "cannot save to %s: %s", path, why);
    if (name) snprintf(name, room, "%s.part", place.path);
    own.path = NULL;
    own.user = &file;
    own.progress = NULL;
    if (!status) status = measure(&file, heap, own);
    status = clump_world_agree(world, status);
    if (!status) status = place_part(&file);
    if (!status) status = clump_world_agree(world, make_file(&file, &place));
    if (!status) status = clump_world_agree(world, write_part(&file, heap, &own, report));
    if (!status) {
        if (!world->place.rank && rename(name, place.path))
            status = clumpi_world_fail(world, CLUMP_ERR_IO, "file %s cannot be renamed to %s", name,
                                       place.path);
        status = clump_world_agree(world, status);
    }
    if (status && file.is_made) remove(name);
    free(name);
    return status;
}
