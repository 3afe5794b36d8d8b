/* Loading what the ranks of a world have saved (mpi.h): the same world, or chosen parts. Read
 * first: world_file.h. */
#include <string.h>

#include "clump/extract.h"
#include "mpi/world_file.h"

static size_t read_bytes(void *user, void *data, size_t bytes) {
    clumpi_world_file *file = user;
    const uint64_t left = file->bytes - file->at;
    const uint64_t got =
        clumpi_world_file_read(file, file->begin + file->at, data, bytes < left ? bytes : left);
    file->at += got;
    return (size_t)got;
}

/* The next part to be read. */
static clump_status find_part(clumpi_world_file *file, uint32_t part) {
    clumpi_world_file_entry e;
    if (clumpi_world_file_read(file, clumpi_world_file_entry_at(part), &e, sizeof e) != sizeof e ||
        e.hash != clumpi_world_file_entry_hash(&e, part))
        return clumpi_world_file_bad(file, "its table is cut off or damaged");
    file->begin = e.begin;
    file->bytes = e.bytes;
    file->at = 0;
    return CLUMP_OK;
}

static clump_status end_part(clumpi_world_file *file, clump_status status) {
    if (!status && file->at != file->bytes)
        status = clumpi_world_file_bad(file, "a part of it is longer than the heap in it");
    return clumpi_world_file_heap_status(file, status);
}

static clumpi_world_file file_of(clump_world *world, const char *path,
                                 const clump_load_desc *desc) {
    clumpi_world_file file = {.world = world, .path = path};
    if (desc) file.progress = desc->progress;
    if (desc) file.user = desc->user;
    return file;
}

static clump_load_desc source_of(clumpi_world_file *file) {
    return (clump_load_desc){.size = sizeof(clump_load_desc),
                             .read = read_bytes,
                             .user = file,
                             .progress = clumpi_world_file_progress};
}

/* ---- The same world -------------------------------------------------------------------------- */

static clump_status expect_same(clumpi_world_file *file) {
    const clumpi_world_file_head mine = clumpi_world_file_head_of(file->world);
    clumpi_world_file_head h;
    clump_status status = clumpi_world_file_read_head(file, &h);
    if (status || memcmp(&h, &mine, sizeof h) == 0) return status;
    return clumpi_world_fail(file->world, CLUMP_ERR_USAGE,
                             "file %s: it has the heaps of %u ranks, %u x %u x %u domains in %u "
                             "dimensions, but this world has %u, %u x %u x %u in %u. Load it with "
                             "as many, or load parts of it (clump_world_load_parts())",
                             file->path, h.ranks, h.domains[0], h.domains[1], h.domains[2],
                             h.dimensions, mine.ranks, mine.domains[0], mine.domains[1],
                             mine.domains[2], mine.dimensions);
}

clump_status clump_world_load(clump_world *world, clump_heap *heap, const char *path,
                              const clump_load_desc *desc, clump_load_report *report) {
    if (!world) return CLUMP_ERR_USAGE;
    clump_status status = clumpi_world_use(world);
    if (status) return status;
    clump_load_desc asked = {.size = sizeof asked};
    status = CLUMPI_PLACE(clump_load_report, report, &world->error);
    if (!status) status = CLUMPI_TAKE(clump_load_desc, &asked, desc, &world->error);
    clumpi_world_file file = file_of(world, path, &asked);
    clump_load_desc own = source_of(&file);
    own.without_registered = asked.without_registered;
    if (!status && (!heap || !path || !*path))
        status = clumpi_world_fail(world, CLUMP_ERR_USAGE,
                                   "clump_world_load needs a heap and the path of a file");
    if (!status) status = clumpi_world_file_open(&file, MPI_MODE_RDONLY);
    if (!status) status = expect_same(&file);
    if (!status) status = find_part(&file, (uint32_t)world->place.rank);
    if (!status) status = end_part(&file, clump_heap_load(heap, &own, report));
    return clump_world_agree(world, clumpi_world_file_close(&file, status));
}

/* ---- Parts ----------------------------------------------------------------------------------- */

clump_status clump_world_read_saved(clump_world *world, const char *path,
                                    clump_world_saved *saved) {
    if (!world) return CLUMP_ERR_USAGE;
    clump_status status = CLUMPI_PLACE(clump_world_saved, saved, &world->error);
    if (!status) status = clumpi_world_use(world);
    if (status) return status;
    clumpi_world_file file = file_of(world, path, NULL);
    clumpi_world_file_head h;
    if (!saved || !path || !*path)
        return clumpi_world_fail(
            world, CLUMP_ERR_USAGE,
            "clump_world_read_saved needs the path of a file and a pointer for the result");
    status = clumpi_world_file_open(&file, MPI_MODE_RDONLY);
    if (!status) status = clumpi_world_file_read_head(&file, &h);
    if (!status) {
        clump_world_saved own = {.size = sizeof own, .ranks = h.ranks, .dimensions = h.dimensions};
        memcpy(own.domains, h.domains, sizeof h.domains);
        CLUMPI_GIVE(saved, own);
    }
    return clumpi_world_file_close(&file, status);
}

/* Each is there, and once. */
static clump_status check_parts(clumpi_world_file *file, const uint32_t *parts, uint32_t count) {
    clumpi_world_file_head h;
    clump_status status = clumpi_world_file_read_head(file, &h);
    for (uint32_t i = 0; i < count && !status; i++) {
        if (parts[i] >= h.ranks)
            status = clumpi_world_fail(
                file->world, CLUMP_ERR_USAGE,
                "file %s: rank %d asks for part %u, but the file has parts 0 to %u", file->path,
                file->world->place.rank, parts[i], h.ranks - 1);
        for (uint32_t k = 0; k < i && !status; k++)
            if (parts[k] == parts[i])
                status = clumpi_world_fail(file->world, CLUMP_ERR_USAGE,
                                           "file %s: rank %d asks for part %u twice", file->path,
                                           file->world->place.rank, parts[i]);
    }
    return status;
}

static clump_status add_part(clumpi_world_file *file, clump_heap *heap, uint32_t part,
                             clump_extract_report *sum) {
    const clump_load_desc own = source_of(file);
    clump_extract *extract = NULL;
    clump_extract_report report = {.size = sizeof report};
    clump_status status = find_part(file, part);
    if (status) return status;
    status =
        end_part(file, clump_extract_load(file->world->context, &own, &extract, &report, NULL));
    if (!status)
        status = clumpi_world_file_heap_status(file, clump_heap_insert(heap, extract, NULL));
    clump_extract_destroy(extract);
    if (status) return status;
    sum->objects += report.objects;
    sum->bytes += report.bytes;
    return CLUMP_OK;
}

clump_status clump_world_load_parts(clump_world *world, clump_heap *heap, const char *path,
                                    const uint32_t *parts, uint32_t count,
                                    const clump_load_desc *desc, clump_extract_report *report) {
    if (!world) return CLUMP_ERR_USAGE;
    clump_status status = clumpi_world_use(world);
    if (status) return status;
    clump_extract_report sum = {.size = sizeof sum};
    clump_load_desc asked = {.size = sizeof asked};
    const uint32_t n = parts ? count : 0;
    const clump_status placed = CLUMPI_PLACE(clump_extract_report, report, &world->error);
    status = placed ? placed : CLUMPI_TAKE(clump_load_desc, &asked, desc, &world->error);
    clumpi_world_file file = file_of(world, path, &asked);
    if (!status && (!heap || !path || !*path || n != count))
        status = clumpi_world_fail(world, CLUMP_ERR_USAGE,
                                   "clump_world_load_parts needs a heap, the path of a file, and "
                                   "the numbers of parts");
    if (!status) status = clumpi_world_file_open(&file, MPI_MODE_RDONLY);
    if (!status) status = check_parts(&file, parts, n);
    for (uint32_t i = 0; i < n && !status; i++) status = add_part(&file, heap, parts[i], &sum);
    if (!placed) CLUMPI_GIVE(report, sum);
    return clump_world_agree(world, clumpi_world_file_close(&file, status));
}
