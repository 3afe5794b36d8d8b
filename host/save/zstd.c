/* Packing by zstd, where the library was built with it (CLUMP_ZSTD). zstd has memory of its own
 * while a call runs.
 *
 * Read first: format.h.
 */
#include "save/format.h"

#if defined(CLUMPI_HAVE_ZSTD)
#include <zstd.h>

int clumpi_zstd_level_most(void) {
    return ZSTD_maxCLevel();
}

size_t clumpi_zstd_room(size_t bytes) {
    return ZSTD_compressBound(bytes);
}

size_t clumpi_zstd_pack(int level, const void *data, size_t bytes, void *packed, size_t room) {
    const size_t n = ZSTD_compress(packed, room, data, bytes, level);
    return ZSTD_isError(n) ? 0 : n;
}

int clumpi_zstd_unpack(const void *packed, size_t packed_bytes, void *data, size_t bytes) {
    return ZSTD_decompress(data, bytes, packed, packed_bytes) == bytes;
}

#else

int clumpi_zstd_level_most(void) {
    return 0;
}

size_t clumpi_zstd_room(size_t bytes) {
    return bytes;
}

size_t clumpi_zstd_pack(int level, const void *data, size_t bytes, void *packed, size_t room) {
    (void)level, (void)data, (void)bytes, (void)packed, (void)room;
    return 0;
}

int clumpi_zstd_unpack(const void *packed, size_t packed_bytes, void *data, size_t bytes) {
    (void)packed, (void)packed_bytes, (void)data, (void)bytes;
    return 0;
}

#endif
