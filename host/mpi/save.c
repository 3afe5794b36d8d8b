/* Saving the heaps of all ranks in one file (mpi.h). Read first: world_file.h. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/files.h"
#include "mpi/world_file.h"

static int count_bytes(void *user, const void *data, size_t bytes) {
    clumpi_world_file *p = user;
    (void)data;
    p->bytes += bytes;
    return 0;
}

static int write_bytes(void *user, const void *data, size_t bytes) {
    clumpi_world_file *p = user;
    if (bytes > p->bytes - p->at) {
        p->status = clumpi_world_fail(p->world, CLUMP_ERR_IO,
                                      "file %s: the heap of rank %d changed while it was saved",
                                      p->path, p->world->place.rank);
        return 1;
    }
    if (clumpi_world_file_write(p, p->begin + p->at, data, bytes)) return 1;
    p->at += bytes;
    return 0;
}

/* Where the part begins: after those of lower ranks. */
static clump_status place_part(clumpi_world_file *p) {
    clump_world *world = p->world;
    uint64_t *both = malloc(2 * sizeof *both);
    if (!both) {
        world->is_broken = 1;
        return clumpi_world_fail(world, CLUMP_ERR_HOST_MEMORY, "no host memory for a message");
    }
    MPI_Request request;
    both[0] = p->bytes;
    both[1] = 0; /* that of rank 0 stays */
    const int code =
        MPI_Iexscan(&both[0], &both[1], 1, MPI_UINT64_T, MPI_SUM, world->comm, &request);
    clump_status status = code ? clumpi_world_fail_mpi(world, "MPI_Iexscan", code)
                               : clumpi_wait_all_ranks(world, &request, "clump_world_save");
    if (!status)
        p->begin = clumpi_world_file_begin((uint32_t)world->place.size) +
                   (world->place.rank ? both[1] : 0);
    clumpi_world_free(world, both);
    return status;
}

/* MPI would write into a pipe or a device, and know nothing of the mode of the file that is replaced. */
static clump_status create_file(clumpi_world_file *p, const clumpi_place *place) {
    const char *why;
    const int file = clumpi_place_create(place, p->path, &why);
    if (file < 0)
        return clumpi_world_fail(p->world, CLUMP_ERR_IO, "file %s cannot be created: %s", p->path,
                                 why);
    p->is_made = 1;
    const int code = clumpi_place_adopt(place, file);
    close(file);
    if (!code) return CLUMP_OK;
    return clumpi_world_fail(p->world, CLUMP_ERR_IO,
                             "file %s cannot get the owner and the mode of the old one: %s",
                             p->path, strerror(code));
}

static clump_status make_file(clumpi_world_file *p, const clumpi_place *place) {
    const clumpi_world_file_head h = clumpi_world_file_head_of(p->world);
    if (p->world->place.rank) return CLUMP_OK;
    clump_status status = create_file(p, place);
    if (!status) status = clumpi_world_file_open(p, MPI_MODE_WRONLY);
    if (!status) {
        const int code = MPI_File_set_size(p->file, 0);
        if (code) status = clumpi_world_file_fail(p, "empty", code);
    }
    if (!status) status = clumpi_world_file_write(p, 0, &h, sizeof h);
    return clumpi_world_file_close(p, status);
}

static clump_status write_part(clumpi_world_file *p, clump_heap *heap, const clump_save_desc *desc,
                               clump_save_report *report) {
    clump_save_desc own = *desc;
    const uint32_t rank = (uint32_t)p->world->place.rank;
    clumpi_world_file_entry e = {.begin = p->begin, .bytes = p->bytes};
    own.write = write_bytes;
    own.progress = clumpi_world_file_progress;
    own.compact = 0; /* it was done */
    e.hash = clumpi_world_file_entry_hash(&e, rank);
    clump_status status = clumpi_world_file_open(p, MPI_MODE_WRONLY);
    if (!status)
        status = clumpi_world_file_write(p, clumpi_world_file_entry_at(rank), &e, sizeof e);
    if (!status) status = clumpi_world_file_heap_status(p, clump_heap_save(heap, &own, report));
    if (!status && p->at != p->bytes)
        status = clumpi_world_fail(p->world, CLUMP_ERR_IO,
                                   "file %s: the heap of rank %d changed while it was saved",
                                   p->path, p->world->place.rank);
    if (!status) {
        const int code = MPI_File_sync(p->file);
        if (code) status = clumpi_world_file_fail(p, "write", code);
    }
    return clumpi_world_file_close(p, status);
}

clump_status clump_world_save(clump_world *world, clump_heap *heap, const char *path,
                              const clump_save_desc *desc, clump_save_report *report) {
    if (!world) return CLUMP_ERR_USAGE;
    clump_status status = clumpi_world_use(world);
    if (status) return status;
    clump_save_desc own = desc ? *desc : (clump_save_desc){.path = NULL};
    clumpi_place place = {.path = ""};
    const char *why = path && *path ? clumpi_place_find(&place, path) : NULL;
    const size_t room = strlen(place.path) + sizeof ".part";
    char *name = malloc(room);
    clumpi_world_file p = {
        .world = world, .path = name, .progress = own.progress, .user = own.user};
    if (!name)
        status = clumpi_world_fail(world, CLUMP_ERR_HOST_MEMORY, "no host memory for a name");
    else if (!heap || !path || !*path)
        status = clumpi_world_fail(world, CLUMP_ERR_USAGE,
                                   "clump_world_save needs a heap and the path of a file");
    else if (why)
        status = clumpi_world_fail(world, CLUMP_ERR_IO, "cannot save to %s: %s", path, why);
    if (name) snprintf(name, room, "%s.part", place.path);
    own.path = NULL;
    own.user = &p;
    own.write = count_bytes;
    own.progress = NULL;
    if (!status) status = clumpi_world_file_heap_status(&p, clump_heap_save(heap, &own, NULL));
    status = clump_world_agree(world, status);
    if (!status) status = place_part(&p);
    if (!status) status = clump_world_agree(world, make_file(&p, &place));
    if (!status) status = clump_world_agree(world, write_part(&p, heap, &own, report));
    if (!status) {
        if (!world->place.rank && rename(name, place.path))
            status = clumpi_world_fail(world, CLUMP_ERR_IO, "file %s cannot be renamed to %s", name,
                                       place.path);
        status = clump_world_agree(world, status);
    }
    if (status && p.is_made) remove(name);
    free(name);
    return status;
}
