/* Points with values as files of VTK, which ParaView and PyVista open: XML, the values behind it as
 * raw bytes ("VTK File Formats", docs.vtk.org). Knows nothing of heaps, devices or ranks.
 *
 * Invariant: a file with its name is complete: it is written as PATH.part, and then renamed.
 *
 * Read first: error.h.
 */
#ifndef BENCH_VTK_H
#define BENCH_VTK_H

#include <stdint.h>

#include "error.h"

typedef enum bench_vtk_type { BENCH_VTK_UINT8, BENCH_VTK_UINT64, BENCH_VTK_FLOAT } bench_vtk_type;

/* A value, or `components` of them, for each point. */
typedef struct bench_vtk_array {
    const char *name;
    bench_vtk_type type;
    uint32_t components;
    const void *values; /* not read by bench_vtk_write_pieces() */
} bench_vtk_array;

/* Each returns 0, or -1 with words that name the path. Threads may write different files at once.
 *
 * A .vtp of `count` points, at most 2^31 - 1. The first of `arrays` are their places: x, y and z of
 * each, as floats. */
int bench_vtk_write_points(const char *path, uint64_t count, const bench_vtk_array *arrays,
                           uint32_t array_count, bench_error *error);

/* A .pvtp of the files STEM-0.vtp, STEM-1.vtp, ..., beside it, which have these arrays. */
int bench_vtk_write_pieces(const char *path, const char *stem, uint32_t count,
                           const bench_vtk_array *arrays, uint32_t array_count, bench_error *error);

/* A .pvd of the files STEM-T.pvtp beside it, for T = first, first + stride, ..., at most last. */
int bench_vtk_write_series(const char *path, const char *stem, uint32_t first, uint32_t stride,
                           uint32_t last, bench_error *error);

#endif
