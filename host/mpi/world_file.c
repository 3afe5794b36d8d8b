/* The file of all heaps (world_file.h). Read first: world_file.h. */
#include "mpi/world_file.h"

#include <stddef.h>
#include <string.h>

#define VERSION 1u
#define HEAD_BYTES 64u
#define ENTRY_BYTES 24u
#define PIECE_MOST (UINT64_C(1) << 30) /* of a call of MPI */

static const char magic[8] = {'C', 'L', 'U', 'M', 'P', 'W', 'L', 'D'};

static uint64_t hash_of(const void *data, size_t bytes, uint64_t more) {
    uint64_t hash = 14695981039346656037u;
    const unsigned char *at = data;
    for (size_t i = 0; i < bytes; i++) hash = (hash ^ at[i]) * 1099511628211u;
    for (int i = 0; i < 64; i += 8) hash = (hash ^ (more >> i & 255)) * 1099511628211u;
    return hash;
}

clumpi_world_file_head clumpi_world_file_head_of(const clump_world *world) {
    const clump_world_place *place = &world->place;
    clumpi_world_file_head h;
    memset(&h, 0, sizeof h);
    memcpy(h.magic, magic, sizeof magic);
    h.version = VERSION;
    h.ranks = (uint32_t)place->size;
    h.dimensions = place->dimensions;
    memcpy(h.domains, place->domains, sizeof h.domains);
    h.hash = hash_of(&h, offsetof(clumpi_world_file_head, hash), 0);
    return h;
}

uint64_t clumpi_world_file_begin(uint32_t ranks) {
    return HEAD_BYTES + (uint64_t)ranks * ENTRY_BYTES;
}

uint64_t clumpi_world_file_entry_at(uint32_t part) {
    return clumpi_world_file_begin(part);
}

uint64_t clumpi_world_file_entry_hash(const clumpi_world_file_entry *entry, uint32_t part) {
    return hash_of(entry, offsetof(clumpi_world_file_entry, hash), part);
}

/* ---- The file -------------------------------------------------------------------------------- */

clump_status clumpi_world_file_fail(clumpi_world_file *file, const char *what, int code) {
    char words[MPI_MAX_ERROR_STRING + 1] = "";
    int length = 0;
    if (MPI_Error_string(code, words, &length)) length = 0;
    words[length] = 0;
    file->status = clumpi_world_fail(file->world, CLUMP_ERR_IO, "file %s: rank %d cannot %s it: %s",
                                     file->path, file->world->place.rank, what, words);
    return file->status;
}

clump_status clumpi_world_file_open(clumpi_world_file *file, int mode) {
    union {
        const char *from;
        char *name;
    } const_of_mpi = {file->path}; /* only read */
    const int code =
        MPI_File_open(MPI_COMM_SELF, const_of_mpi.name, mode, MPI_INFO_NULL, &file->handle);
    if (code) return clumpi_world_file_fail(file, "open", code);
    file->is_open = 1;
    return CLUMP_OK;
}

clump_status clumpi_world_file_close(clumpi_world_file *file, clump_status status) {
    if (!file->is_open) return status;
    file->is_open = 0;
    const int code = MPI_File_close(&file->handle);
    return code && !status ? clumpi_world_file_fail(file, "close", code) : status;
}

clump_status clumpi_world_file_write(clumpi_world_file *file, uint64_t at, const void *data,
                                     uint64_t bytes) {
    for (uint64_t done = 0; done < bytes;) {
        const uint64_t left = bytes - done;
        const int now = (int)(left < PIECE_MOST ? left : PIECE_MOST);
        const int code =
            MPI_File_write_at(file->handle, (MPI_Offset)(at + done), (const char *)data + done, now,
                              MPI_BYTE, MPI_STATUS_IGNORE);
        if (code) return clumpi_world_file_fail(file, "write", code);
        done += (uint64_t)now;
    }
    return CLUMP_OK;
}

uint64_t clumpi_world_file_read(clumpi_world_file *file, uint64_t at, void *data, uint64_t bytes) {
    uint64_t done = 0;
    while (done < bytes) {
        const uint64_t left = bytes - done;
        const int now = (int)(left < PIECE_MOST ? left : PIECE_MOST);
        MPI_Status status;
        int got = 0;
        const int code = MPI_File_read_at(file->handle, (MPI_Offset)(at + done),
                                          (char *)data + done, now, MPI_BYTE, &status);
        if (code) {
            clumpi_world_file_fail(file, "read", code);
            return done;
        }
        if (MPI_Get_count(&status, MPI_BYTE, &got) || got <= 0) return done;
        done += (uint64_t)got;
    }
    return done;
}

clump_status clumpi_world_file_bad(clumpi_world_file *file, const char *what) {
    if (!file->status)
        file->status =
            clumpi_world_fail(file->world, CLUMP_ERR_FORMAT, "file %s: %s", file->path, what);
    return file->status;
}

clump_status clumpi_world_file_read_head(clumpi_world_file *file, clumpi_world_file_head *h) {
    if (clumpi_world_file_read(file, 0, h, sizeof *h) != sizeof *h ||
        memcmp(h->magic, magic, sizeof magic) != 0)
        return clumpi_world_file_bad(file, "it was not written by clump_world_save()");
    if (h->hash != hash_of(h, offsetof(clumpi_world_file_head, hash), 0))
        return clumpi_world_file_bad(file, "its head is damaged");
    return h->version == VERSION ? CLUMP_OK : clumpi_world_file_bad(file, "it has a newer version");
}

/* ---- Its parts ------------------------------------------------------------------------------- */

int clumpi_world_file_progress(void *user, uint64_t done, uint64_t all) {
    const clumpi_world_file *file = user;
    return file->progress ? file->progress(file->user, done, all) : 0;
}

clump_status clumpi_world_file_heap_status(clumpi_world_file *file, clump_status status) {
    if (!status || file->status) return file->status;
    return clumpi_world_fail_context(file->world, status);
}
