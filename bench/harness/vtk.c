/* Files of VTK. An appended array is its bytes, behind their number in 64 bits. Read first: vtk.h.
 */
#include "vtk.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define PATH_MOST 4096
#define INDICES ((size_t)4096) /* that are written at a time */

static const struct {
    const char *name;
    uint32_t bytes;
} types[] = {{"UInt8", 1}, {"UInt64", 8}, {"Float32", 4}};

/* ---- A file that gets its name when it is complete ------------------------------------------- */

typedef struct vtk_file {
    const char *path;
    char part[PATH_MOST];
    FILE *stream;
} vtk_file;

static int open_file(vtk_file *file, const char *path, const char *kind, bench_error *error) {
    const uint16_t one = 1;
    file->path = path;
    if (strpbrk(path, "<>&\"")) /* names are in files */
        return bench_error_set(error, "%s: the path has one of the characters < > & \"", path);
    if (snprintf(file->part, sizeof file->part, "%s.part", path) >= (int)sizeof file->part)
        return bench_error_set(error, "%s: the path is too long", path);
    file->stream = fopen(file->part, "wb");
    if (!file->stream) return bench_error_set(error, "%s: %s", file->part, strerror(errno));
    fprintf(file->stream,
            "<?xml version=\"1.0\"?>\n<VTKFile type=\"%s\" version=\"1.0\" byte_order=\"%s\" "
            "header_type=\"UInt64\">\n",
            kind, *(const char *)&one ? "LittleEndian" : "BigEndian");
    return 0;
}

/* The stream keeps an error of any write before. */
static int close_file(vtk_file *file, bench_error *error) {
    fputs("</VTKFile>\n", file->stream);
    int code = fflush(file->stream) || ferror(file->stream) ? errno : 0;
    if (fclose(file->stream) && !code) code = errno;
    if (!code && rename(file->part, file->path)) code = errno;
    if (!code) return 0;
    remove(file->part);
    return bench_error_set(error, "%s: %s", file->path, strerror(code));
}

/* ---- Its parts ------------------------------------------------------------------------------- */

static void put_array(FILE *stream, const char *element, const char *type, const char *name,
                      uint32_t components, const uint64_t *offset) {
    fprintf(stream, "<%s type=\"%s\" Name=\"%s\" NumberOfComponents=\"%u\"", element, type, name,
            components);
    if (offset) fprintf(stream, " format=\"appended\" offset=\"%" PRIu64 "\"", *offset);
    fputs("/>\n", stream);
}

/* The places, and what else points have. counts: NULL if the file has no values. */
static uint64_t put_arrays(FILE *stream, const char *prefix, const bench_vtk_array *arrays,
                           uint32_t array_count, const uint64_t *count) {
    char element[32];
    uint64_t offset = 0;
    snprintf(element, sizeof element, "%sDataArray", prefix);
    for (uint32_t i = 0; i < array_count; i++) {
        if (i == 0) fprintf(stream, "<%sPoints>\n", prefix);
        put_array(stream, element, types[arrays[i].type].name, arrays[i].name, arrays[i].components,
                  count ? &offset : NULL);
        if (i == 0) fprintf(stream, "</%sPoints>\n<%sPointData>\n", prefix, prefix);
        if (count)
            offset += sizeof offset + *count * arrays[i].components * types[arrays[i].type].bytes;
    }
    fprintf(stream, "</%sPointData>\n", prefix);
    return offset;
}

static void append(FILE *stream, const void *values, uint64_t bytes) {
    fwrite(&bytes, sizeof bytes, 1, stream);
    if (bytes) fwrite(values, 1, bytes, stream);
}

/* 0, 1, ..., count - 1: all points are one cell, without which ParaView shows none. */
static void append_indices(FILE *stream, uint64_t count) {
    uint32_t indices[INDICES];
    const uint64_t bytes = count * sizeof *indices;
    fwrite(&bytes, sizeof bytes, 1, stream);
    for (uint64_t at = 0; at < count; at += INDICES) {
        const size_t n = count - at < INDICES ? (size_t)(count - at) : INDICES;
        for (size_t i = 0; i < n; i++) indices[i] = (uint32_t)(at + i);
        fwrite(indices, sizeof *indices, n, stream);
    }
}

int bench_vtk_write_points(const char *path, uint64_t count, const bench_vtk_array *arrays,
                           uint32_t array_count, bench_error *error) {
    const uint32_t cells = count ? 1 : 0, end = (uint32_t)count;
    vtk_file file;
    if (count > INT32_MAX)
        return bench_error_set(error, "%s: %" PRIu64 " points are too many: at most %d", path,
                               count, INT32_MAX);
    if (open_file(&file, path, "PolyData", error)) return -1;
    FILE *stream = file.stream;
    fprintf(stream,
            "<PolyData>\n<Piece NumberOfPoints=\"%" PRIu64
            "\" NumberOfVerts=\"%u\" NumberOfLines=\"0\" NumberOfStrips=\"0\" "
            "NumberOfPolys=\"0\">\n",
            count, cells);
    const uint64_t indices = put_arrays(stream, "", arrays, array_count, &count),
                   ends = indices + sizeof indices + count * sizeof(uint32_t);
    fputs("<Verts>\n", stream);
    put_array(stream, "DataArray", "Int32", "connectivity", 1, &indices);
    put_array(stream, "DataArray", "Int32", "offsets", 1, &ends);
    fputs("</Verts>\n</Piece>\n</PolyData>\n<AppendedData encoding=\"raw\">\n_", stream);
    for (uint32_t i = 0; i < array_count; i++)
        append(stream, arrays[i].values,
               count * arrays[i].components * types[arrays[i].type].bytes);
    append_indices(stream, count);
    append(stream, &end, cells * sizeof end);
    fputs("\n</AppendedData>\n", stream);
    return close_file(&file, error);
}

int bench_vtk_write_pieces(const char *path, const char *stem, uint32_t count,
                           const bench_vtk_array *arrays, uint32_t array_count,
                           bench_error *error) {
    vtk_file file;
    if (open_file(&file, path, "PPolyData", error)) return -1;
    fputs("<PPolyData GhostLevel=\"0\">\n", file.stream);
    put_arrays(file.stream, "P", arrays, array_count, NULL);
    for (uint32_t i = 0; i < count; i++)
        fprintf(file.stream, "<Piece Source=\"%s-%u.vtp\"/>\n", stem, i);
    fputs("</PPolyData>\n", file.stream);
    return close_file(&file, error);
}

int bench_vtk_write_series(const char *path, const char *stem, uint32_t first, uint32_t stride,
                           uint32_t last, bench_error *error) {
    vtk_file file;
    if (open_file(&file, path, "Collection", error)) return -1;
    fputs("<Collection>\n", file.stream);
    for (uint64_t at = first; at <= last; at += stride)
        fprintf(file.stream, "<DataSet timestep=\"%" PRIu64 "\" file=\"%s-%" PRIu64 ".pvtp\"/>\n",
                at, stem, at);
    fputs("</Collection>\n", file.stream);
    return close_file(&file, error);
}
