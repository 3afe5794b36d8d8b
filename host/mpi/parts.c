/* The file of all heaps (mpi.h):
 *
 *   head   64 bytes: "CLUMPWLD", version, ranks, dimensions, domains x y z (4 bytes each), 24 bytes of 0, hash of these
 *   table  of each rank 24 bytes: where its part begins, how many bytes it has, hash of these and of the rank
 *   parts  one after the other: what clump_heap_save() writes, with its own checksums
 *
 * Numbers are little-endian as all else; hashes are 64-bit FNV-1a.
 *
 * Invariant: no call on the file is of several ranks, so none waits for a rank that has ended: each opens the file alone
 * (MPI_COMM_SELF), writes its own bytes, and ranks agree with a deadline between the steps. A collective call of MPI-IO cannot be given one.
 *
 * Read first: world.h, docs/internals/save.md.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "mpi/world.h"

#define VERSION 1u
#define HEAD_BYTES 64u
#define ENTRY_BYTES 24u
#define PIECE_MOST (UINT64_C(1) << 30) /* of a call of MPI */

static const char magic[8] = {'C', 'L', 'U', 'M', 'P', 'W', 'L', 'D'};

typedef struct head {
    char magic[8];
    uint32_t version, ranks, dimensions, domains[3];
    char rest[24];
    uint64_t hash;
} head;

typedef struct entry {
    uint64_t begin, bytes, hash;
} entry;

/* The part of this rank, and how far it is written or read. */
typedef struct part {
    clump_world *world;
    const char *path;
    MPI_File file;
    int is_open;
    uint64_t begin, bytes, at;
    clump_status status; /* of the file; the world's error has words */
    clump_progress_fn progress;
    void *user;
} part;

static uint64_t hash_of(const void *data, size_t bytes, uint64_t more) {
    uint64_t hash = 14695981039346656037u;
    const unsigned char *at = data;
    for (size_t i = 0; i < bytes; i++) hash = (hash ^ at[i]) * 1099511628211u;
    for (int i = 0; i < 64; i += 8) hash = (hash ^ (more >> i & 255)) * 1099511628211u;
    return hash;
}

static head head_of(const clump_world *world) {
    const clump_world_place *p = &world->place;
    head h;
    memset(&h, 0, sizeof h);
    memcpy(h.magic, magic, sizeof magic);
    h.version = VERSION;
    h.ranks = (uint32_t)p->size;
    h.dimensions = p->dimensions;
    memcpy(h.domains, p->domains, sizeof h.domains);
    h.hash = hash_of(&h, offsetof(head, hash), 0);
    return h;
}

/* ---- The file --------------------------------------------------------------------------------- */

static clump_status fail_file(part *p, const char *what, int code) {
    char words[MPI_MAX_ERROR_STRING + 1] = "";
    int length = 0;
    if (MPI_Error_string(code, words, &length)) length = 0;
    words[length] = 0;
    p->status = clumpi_world_fail(p->world, CLUMP_ERR_IO, "file %s: rank %d cannot %s it: %s",
                                  p->path, p->world->place.rank, what, words);
    return p->status;
}

static clump_status open_file(part *p, int mode) {
    union {
        const char *from;
        char *name;
    } const_of_mpi = {p->path}; /* only read */
    const int code = MPI_File_open(MPI_COMM_SELF, const_of_mpi.name, mode, MPI_INFO_NULL, &p->file);
    if (code) return fail_file(p, "open", code);
    p->is_open = 1;
    return CLUMP_OK;
}

static clump_status close_file(part *p, clump_status status) {
    if (!p->is_open) return status;
    p->is_open = 0;
    const int code = MPI_File_close(&p->file);
    return code && !status ? fail_file(p, "close", code) : status;
}

static clump_status write_at(part *p, uint64_t at, const void *data, uint64_t bytes) {
    for (uint64_t done = 0; done < bytes;) {
        const uint64_t left = bytes - done;
        const int now = (int)(left < PIECE_MOST ? left : PIECE_MOST);
        const int code =
            MPI_File_write_at(p->file, (MPI_Offset)(at + done), (const char *)data + done, now,
                              MPI_BYTE, MPI_STATUS_IGNORE);
        if (code) return fail_file(p, "write", code);
        done += (uint64_t)now;
    }
    return CLUMP_OK;
}

/* How many bytes there were. */
static uint64_t read_at(part *p, uint64_t at, void *data, uint64_t bytes) {
    uint64_t done = 0;
    while (done < bytes) {
        const uint64_t left = bytes - done;
        const int now = (int)(left < PIECE_MOST ? left : PIECE_MOST);
        MPI_Status status;
        int got = 0;
        const int code = MPI_File_read_at(p->file, (MPI_Offset)(at + done), (char *)data + done,
                                          now, MPI_BYTE, &status);
        if (code) {
            fail_file(p, "read", code);
            return done;
        }
        if (MPI_Get_count(&status, MPI_BYTE, &got) || got <= 0) return done;
        done += (uint64_t)got;
    }
    return done;
}

/* ---- Saving ----------------------------------------------------------------------------------- */

static int count_bytes(void *user, const void *data, size_t bytes) {
    part *p = user;
    (void)data;
    p->bytes += bytes;
    return 0;
}

static int write_bytes(void *user, const void *data, size_t bytes) {
    part *p = user;
    if (bytes > p->bytes - p->at) {
        p->status = clumpi_world_fail(p->world, CLUMP_ERR_IO,
                                      "file %s: the heap of rank %d changed while it was saved",
                                      p->path, p->world->place.rank);
        return 1;
    }
    if (write_at(p, p->begin + p->at, data, bytes)) return 1;
    p->at += bytes;
    return 0;
}

static int tell_progress(void *user, uint64_t done, uint64_t all) {
    const part *p = user;
    return p->progress ? p->progress(p->user, done, all) : 0;
}

/* The words of the file, else those of the heap. */
static clump_status heap_status(part *p, clump_status status) {
    if (!status || p->status) return p->status;
    return clumpi_world_fail_context(p->world, status);
}

/* Where the part begins: behind those of lower ranks. */
static clump_status place_part(part *p) {
    clump_world *world = p->world;
    uint64_t *both = malloc(2 * sizeof *both);
    if (!both) {
        world->is_broken = 1;
        return clumpi_world_fail(world, CLUMP_ERR_MEMORY, "no host memory for a message");
    }
    MPI_Request request;
    both[0] = p->bytes;
    both[1] = 0; /* that of rank 0 stays */
    const int code =
        MPI_Iexscan(&both[0], &both[1], 1, MPI_UINT64_T, MPI_SUM, world->comm, &request);
    clump_status status = code ? clumpi_world_fail_mpi(world, "MPI_Iexscan", code)
                               : clumpi_wait_all_ranks(world, &request, "clump_world_save");
    if (!status)
        p->begin = HEAD_BYTES + (uint64_t)world->place.size * ENTRY_BYTES +
                   (world->place.rank ? both[1] : 0);
    clumpi_world_free(world, both);
    return status;
}

static clump_status make_file(part *p) {
    const head h = head_of(p->world);
    if (p->world->place.rank) return CLUMP_OK;
    clump_status status = open_file(p, MPI_MODE_CREATE | MPI_MODE_WRONLY);
    if (!status) {
        const int code = MPI_File_set_size(p->file, 0);
        if (code) status = fail_file(p, "empty", code);
    }
    if (!status) status = write_at(p, 0, &h, sizeof h);
    return close_file(p, status);
}

static clump_status write_part(part *p, clump_heap *heap, const clump_save_desc *desc,
                               clump_save_report *report) {
    clump_save_desc own = *desc;
    entry e = {.begin = p->begin, .bytes = p->bytes};
    own.write = write_bytes;
    own.progress = tell_progress;
    own.compact = 0; /* it was done */
    e.hash = hash_of(&e, offsetof(entry, hash), (uint64_t)p->world->place.rank);
    clump_status status = open_file(p, MPI_MODE_WRONLY);
    if (!status)
        status =
            write_at(p, HEAD_BYTES + (uint64_t)p->world->place.rank * ENTRY_BYTES, &e, sizeof e);
    if (!status) status = heap_status(p, clump_heap_save(heap, &own, report));
    if (!status && p->at != p->bytes)
        status = clumpi_world_fail(p->world, CLUMP_ERR_IO,
                                   "file %s: the heap of rank %d changed while it was saved",
                                   p->path, p->world->place.rank);
    if (!status) {
        const int code = MPI_File_sync(p->file);
        if (code) status = fail_file(p, "write", code);
    }
    return close_file(p, status);
}

clump_status clump_world_save(clump_world *world, clump_heap *heap, const char *path,
                              const clump_save_desc *desc, clump_save_report *report) {
    if (!world) return CLUMP_ERR_USAGE;
    clump_status status = clumpi_world_use(world);
    if (status) return status;
    clump_save_desc own = desc ? *desc : (clump_save_desc){.path = NULL};
    const size_t length = path ? strlen(path) : 0;
    char *name = malloc(length + 6);
    part p = {.world = world, .path = name, .progress = own.progress, .user = own.user};
    if (!name)
        status = clumpi_world_fail(world, CLUMP_ERR_MEMORY, "no host memory for a name");
    else if (!heap || !length)
        status = clumpi_world_fail(world, CLUMP_ERR_USAGE,
                                   "clump_world_save needs a heap and the path of a file");
    if (name) snprintf(name, length + 6, "%s.part", path ? path : "");
    own.path = NULL;
    own.user = &p;
    own.write = count_bytes;
    own.progress = NULL;
    if (!status) status = heap_status(&p, clump_heap_save(heap, &own, NULL));
    status = clump_world_agree(world, status);
    if (!status) status = place_part(&p);
    int is_made = 0;
    if (!status) {
        status = clump_world_agree(world, make_file(&p));
        is_made = 1;
    }
    if (!status) status = clump_world_agree(world, write_part(&p, heap, &own, report));
    if (!status) {
        if (!world->place.rank && rename(name, path))
            status = clumpi_world_fail(world, CLUMP_ERR_IO, "file %s cannot be renamed to %s", name,
                                       path);
        status = clump_world_agree(world, status);
    }
    if (status && is_made && !world->place.rank) remove(name);
    free(name);
    return status;
}

/* ---- Loading ---------------------------------------------------------------------------------- */

static size_t read_bytes(void *user, void *data, size_t bytes) {
    part *p = user;
    const uint64_t left = p->bytes - p->at;
    const uint64_t got = read_at(p, p->begin + p->at, data, bytes < left ? bytes : left);
    p->at += got;
    return (size_t)got;
}

static clump_status bad_file(part *p, const char *what) {
    if (!p->status)
        p->status = clumpi_world_fail(p->world, CLUMP_ERR_FORMAT, "file %s: %s", p->path, what);
    return p->status;
}

static clump_status read_head(part *p) {
    const head mine = head_of(p->world);
    head h;
    entry e;
    if (read_at(p, 0, &h, sizeof h) != sizeof h || memcmp(h.magic, magic, sizeof magic) != 0)
        return bad_file(p, "it is not what clump_world_save() wrote");
    if (h.hash != hash_of(&h, offsetof(head, hash), 0)) return bad_file(p, "its head was altered");
    if (h.version != VERSION) return bad_file(p, "it is of a newer version");
    if (memcmp(&h, &mine, sizeof h) != 0)
        return clumpi_world_fail(
            p->world, CLUMP_ERR_USAGE,
            "file %s: it has the heaps of %u ranks, %u x %u x %u domains in %u "
            "dimensions; this world has %u, %u x %u x %u in %u. Load it with as "
            "many",
            p->path, h.ranks, h.domains[0], h.domains[1], h.domains[2], h.dimensions, mine.ranks,
            mine.domains[0], mine.domains[1], mine.domains[2], mine.dimensions);
    const uint64_t rank = (uint64_t)p->world->place.rank;
    if (read_at(p, HEAD_BYTES + rank * ENTRY_BYTES, &e, sizeof e) != sizeof e ||
        e.hash != hash_of(&e, offsetof(entry, hash), rank))
        return bad_file(p, "its table is cut off or altered");
    p->begin = e.begin;
    p->bytes = e.bytes;
    return CLUMP_OK;
}

clump_status clump_world_load(clump_world *world, clump_heap *heap, const char *path,
                              const clump_load_desc *desc, clump_load_report *report) {
    if (!world) return CLUMP_ERR_USAGE;
    clump_status status = clumpi_world_use(world);
    if (status) return status;
    clump_load_desc own = desc ? *desc : (clump_load_desc){.path = NULL};
    part p = {.world = world, .path = path, .progress = own.progress, .user = own.user};
    own.path = NULL;
    own.read = read_bytes;
    own.user = &p;
    own.progress = tell_progress;
    if (!heap || !path || !*path)
        status = clumpi_world_fail(world, CLUMP_ERR_USAGE,
                                   "clump_world_load needs a heap and the path of a file");
    if (!status) status = open_file(&p, MPI_MODE_RDONLY);
    if (!status) status = read_head(&p);
    if (!status) {
        status = clump_heap_load(heap, &own, report);
        if (!status && p.at != p.bytes) status = bad_file(&p, "a part is longer than its heap");
        status = heap_status(&p, status);
    }
    return clump_world_agree(world, close_file(&p, status));
}
