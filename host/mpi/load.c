/* Loading what the ranks of a world have saved (mpi.h): the same world, or chosen parts. Read first: world_file.h. */
#include <string.h>

#include "clump/extract.h"
#include "mpi/world_file.h"

static size_t read_bytes(void *user, void *data, size_t bytes) {
    clumpi_world_file *p = user;
    const uint64_t left = p->bytes - p->at;
    const uint64_t got =
        clumpi_world_file_read(p, p->begin + p->at, data, bytes < left ? bytes : left);
    p->at += got;
    return (size_t)got;
}

/* The next part to be read. */
static clump_status find_part(clumpi_world_file *p, uint32_t part) {
    clumpi_world_file_entry e;
    if (clumpi_world_file_read(p, clumpi_world_file_entry_at(part), &e, sizeof e) != sizeof e ||
        e.hash != clumpi_world_file_entry_hash(&e, part))
        return clumpi_world_file_bad(p, "its table is cut off or altered");
    p->begin = e.begin;
    p->bytes = e.bytes;
    p->at = 0;
    return CLUMP_OK;
}

static clump_status end_part(clumpi_world_file *p, clump_status status) {
    if (!status && p->at != p->bytes)
        status = clumpi_world_file_bad(p, "a part is longer than its heap");
    return clumpi_world_file_heap_status(p, status);
}

static clumpi_world_file file_of(clump_world *world, const char *path,
                                 const clump_load_desc *desc) {
    clumpi_world_file p = {.world = world, .path = path};
    if (desc) p.progress = desc->progress;
    if (desc) p.user = desc->user;
    return p;
}

static clump_load_desc source_of(clumpi_world_file *p) {
    return (clump_load_desc){.read = read_bytes, .user = p, .progress = clumpi_world_file_progress};
}

/* ---- The same world -------------------------------------------------------------------------- */

static clump_status expect_same(clumpi_world_file *p) {
    const clumpi_world_file_head mine = clumpi_world_file_head_of(p->world);
    clumpi_world_file_head h;
    clump_status status = clumpi_world_file_read_head(p, &h);
    if (status || memcmp(&h, &mine, sizeof h) == 0) return status;
    return clumpi_world_fail(p->world, CLUMP_ERR_USAGE,
                             "file %s: it has the heaps of %u ranks, %u x %u x %u domains in %u "
                             "dimensions; this world has %u, %u x %u x %u in %u. Load it with as "
                             "many, or parts of it (clump_world_load_parts())",
                             p->path, h.ranks, h.domains[0], h.domains[1], h.domains[2],
                             h.dimensions, mine.ranks, mine.domains[0], mine.domains[1],
                             mine.domains[2], mine.dimensions);
}

clump_status clump_world_load(clump_world *world, clump_heap *heap, const char *path,
                              const clump_load_desc *desc, clump_load_report *report) {
    if (!world) return CLUMP_ERR_USAGE;
    clump_status status = clumpi_world_use(world);
    if (status) return status;
    clumpi_world_file p = file_of(world, path, desc);
    clump_load_desc own = source_of(&p);
    own.without_registered = desc && desc->without_registered;
    if (!heap || !path || !*path)
        status = clumpi_world_fail(world, CLUMP_ERR_USAGE,
                                   "clump_world_load needs a heap and the path of a file");
    if (!status) status = clumpi_world_file_open(&p, MPI_MODE_RDONLY);
    if (!status) status = expect_same(&p);
    if (!status) status = find_part(&p, (uint32_t)world->place.rank);
    if (!status) status = end_part(&p, clump_heap_load(heap, &own, report));
    return clump_world_agree(world, clumpi_world_file_close(&p, status));
}

/* ---- Parts ----------------------------------------------------------------------------------- */

clump_status clump_world_read_saved(clump_world *world, const char *path,
                                    clump_world_saved *saved) {
    if (saved) memset(saved, 0, sizeof *saved);
    if (!world) return CLUMP_ERR_USAGE;
    clump_status status = clumpi_world_use(world);
    if (status) return status;
    clumpi_world_file p = file_of(world, path, NULL);
    clumpi_world_file_head h;
    if (!saved || !path || !*path)
        return clumpi_world_fail(
            world, CLUMP_ERR_USAGE,
            "clump_world_read_saved needs the path of a file and a place for the result");
    status = clumpi_world_file_open(&p, MPI_MODE_RDONLY);
    if (!status) status = clumpi_world_file_read_head(&p, &h);
    if (!status) {
        saved->ranks = h.ranks;
        saved->dimensions = h.dimensions;
        memcpy(saved->domains, h.domains, sizeof h.domains);
    }
    return clumpi_world_file_close(&p, status);
}

/* Each is there, and once. */
static clump_status check_parts(clumpi_world_file *p, const uint32_t *parts, uint32_t count) {
    clumpi_world_file_head h;
    clump_status status = clumpi_world_file_read_head(p, &h);
    for (uint32_t i = 0; i < count && !status; i++) {
        if (parts[i] >= h.ranks)
            status = clumpi_world_fail(p->world, CLUMP_ERR_USAGE,
                                       "file %s: rank %d asks for part %u, and the file has parts "
                                       "0 to %u",
                                       p->path, p->world->place.rank, parts[i], h.ranks - 1);
        for (uint32_t k = 0; k < i && !status; k++)
            if (parts[k] == parts[i])
                status = clumpi_world_fail(p->world, CLUMP_ERR_USAGE,
                                           "file %s: rank %d asks for part %u twice", p->path,
                                           p->world->place.rank, parts[i]);
    }
    return status;
}

static clump_status add_part(clumpi_world_file *p, clump_heap *heap, uint32_t part,
                             clump_extract_report *sum) {
    const clump_load_desc own = source_of(p);
    clump_extract *extract = NULL;
    clump_extract_report report;
    clump_status status = find_part(p, part);
    if (status) return status;
    status = end_part(p, clump_extract_load(p->world->context, &own, &extract, &report));
    if (!status) status = clumpi_world_file_heap_status(p, clump_heap_insert(heap, extract, NULL));
    clump_extract_destroy(extract);
    if (status) return status;
    sum->objects += report.objects;
    sum->bytes += report.bytes;
    return CLUMP_OK;
}

clump_status clump_world_load_parts(clump_world *world, clump_heap *heap, const char *path,
                                    const uint32_t *parts, uint32_t count,
                                    const clump_load_desc *desc, clump_extract_report *report) {
    if (report) memset(report, 0, sizeof *report);
    if (!world) return CLUMP_ERR_USAGE;
    clump_status status = clumpi_world_use(world);
    if (status) return status;
    clump_extract_report sum = {0};
    const uint32_t n = parts ? count : 0;
    clumpi_world_file p = file_of(world, path, desc);
    if (!heap || !path || !*path || n != count)
        status = clumpi_world_fail(world, CLUMP_ERR_USAGE,
                                   "clump_world_load_parts needs a heap, the path of a file, and "
                                   "the numbers of parts");
    if (!status) status = clumpi_world_file_open(&p, MPI_MODE_RDONLY);
    if (!status) status = check_parts(&p, parts, n);
    for (uint32_t i = 0; i < n && !status; i++) status = add_part(&p, heap, parts[i], &sum);
    if (report) *report = sum;
    return clump_world_agree(world, clumpi_world_file_close(&p, status));
}
