/* Pieces of a saved heap (format.h).
 *
 *   "\x89CLUMP\n\x1a"  version  ~version  │ piece │ piece │ ... │ piece of kind END
 *   piece: kind, number, bytes, stored │ checksum of the content │ checksum of the 24 bytes before │ content
 *
 * The first byte has its highest bit set, and a line end and an end of file of some systems follow:
 * what takes the file for a text alters them. The version stands at the same
 * place in all versions of the format.
 *
 * Read first: format.h.
 */
#include <stddef.h>
#include <string.h>

#include "save/format.h"
#include "save/hash.h"

_Static_assert(sizeof(clumpi_piece) == 32 && offsetof(clumpi_piece, chain) == 24,
               "a piece's head has no gaps");
#ifdef __BYTE_ORDER__
_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__,
               "saved heaps are little-endian, as all devices are that the library takes");
#endif

typedef struct begin {
    unsigned char magic[8];
    uint32_t version, inverted;
} begin;
static const unsigned char magic[8] = {0x89, 'C', 'L', 'U', 'M', 'P', '\n', 0x1a};

clump_status clumpi_begin_write(clumpi_stream *s, uint32_t version) {
    begin b = {.version = version, .inverted = ~version};
    memcpy(b.magic, magic, sizeof magic);
    s->chain = clumpi_hash64(0, &b, sizeof b);
    return clumpi_stream_write(s, &b, sizeof b);
}

clump_status clumpi_begin_read(clumpi_stream *s) {
    begin b;
    clump_status status = clumpi_stream_read(s, &b, sizeof b);
    if (status) return status;
    if (memcmp(b.magic, magic, sizeof magic) != 0)
        return clumpi_fail(s->error, CLUMP_ERR_FORMAT,
                           "%s is not a saved heap: it does not begin like one",
                           clumpi_stream_name(s));
    if (b.inverted != ~b.version || !b.version)
        return clumpi_fail(s->error, CLUMP_ERR_FORMAT, "%s is damaged: its version is not readable",
                           clumpi_stream_name(s));
    if (b.version < CLUMPI_SAVE_VERSION || b.version > CLUMPI_SAVE_VERSION_ARRAYS)
        return clumpi_fail(s->error, CLUMP_ERR_FORMAT,
                           "%s has version %u of the format, but this library reads versions %u "
                           "and %u. %s",
                           clumpi_stream_name(s), b.version, CLUMPI_SAVE_VERSION,
                           CLUMPI_SAVE_VERSION_ARRAYS,
                           b.version > CLUMPI_SAVE_VERSION_ARRAYS
                               ? "Use a newer library"
                               : "Save the heap again: that version was never released");
    s->chain = clumpi_hash64(0, &b, sizeof b);
    return CLUMP_OK;
}

clump_status clumpi_pieces_pack(clumpi_stream *s, int level) {
    const int most = clumpi_zstd_level_most();
    s->level = level;
    if (level >= 0 && level <= most) return CLUMP_OK;
    if (most)
        return clumpi_fail(s->error, CLUMP_ERR_USAGE,
                           "clump_heap_save: zstd_level is %d, but must be 0 to %d", level, most);
    return clumpi_fail(s->error, CLUMP_ERR_UNSUPPORTED,
                       "clump_heap_save: the library was built without zstd. Build it with "
                       "-DCLUMP_ZSTD=ON, or leave zstd_level at 0");
}

/* The head and the end can be read without zstd. */
static int may_be_packed(uint32_t kind) {
    return kind != CLUMPI_KIND_HEAD && kind != CLUMPI_KIND_END;
}

static clump_status reserve_packed(clumpi_stream *s, size_t bytes) {
    if (clumpi_grow(s->allocator, &s->packed, &s->packed_room, bytes, 1)) return CLUMP_OK;
    return clumpi_fail(s->error, CLUMP_ERR_HOST_MEMORY,
                       "no host memory for a packed piece of %zu bytes", bytes);
}

clump_status clumpi_piece_write(clumpi_stream *s, uint32_t kind, const void *content,
                                uint32_t bytes, const uint64_t *sums) {
    clumpi_piece p = {.kind = kind, .number = s->pieces++, .bytes = bytes, .stored = bytes};
    clump_status status = CLUMP_OK;
    if (s->level && may_be_packed(kind)) {
        status = reserve_packed(s, clumpi_zstd_room(bytes));
        if (status) return status;
        const size_t packed = clumpi_zstd_pack(s->level, content, bytes, s->packed, s->packed_room);
        if (packed && packed < bytes) {
            p.stored = (uint32_t)packed;
            content = s->packed;
            sums = NULL;
        }
    }
    p.content = sums ? clumpi_sum_of_sums(sums, bytes) : clumpi_content_sum(content, p.stored);
    p.chain = s->chain = clumpi_hash64(s->chain, &p, offsetof(clumpi_piece, chain));
    status = clumpi_stream_write(s, &p, sizeof p);
    return status ? status : clumpi_stream_write(s, content, p.stored);
}

static clump_status altered(clumpi_stream *s, uint64_t at, uint32_t piece, const char *what) {
    return clumpi_fail(s->error, CLUMP_ERR_FORMAT,
                       "%s is damaged: piece %u, which begins at byte %llu, %s",
                       clumpi_stream_name(s), piece, (unsigned long long)at, what);
}

static clump_status read_head(clumpi_stream *s, uint32_t kind, uint32_t least, uint32_t most,
                              clumpi_piece *p) {
    const uint64_t at = s->bytes;
    clump_status status = clumpi_stream_read(s, p, sizeof *p);
    if (status) return status;
    uint64_t chain = clumpi_hash64(s->chain, p, offsetof(clumpi_piece, chain));
    if (chain != p->chain || p->number != s->pieces)
        return altered(s, at, s->pieces, "has a head that does not belong there");
    s->pieces++;
    s->chain = chain;
    if (p->kind != kind || p->bytes < least || p->bytes > most || p->stored > p->bytes ||
        (p->stored < p->bytes && !may_be_packed(kind)))
        return clumpi_fail(s->error, CLUMP_ERR_FORMAT,
                           "%s is not valid: piece %u at byte %llu has %u bytes of kind 0x%08x, "
                           "but must have %u to %u bytes of kind 0x%08x",
                           clumpi_stream_name(s), p->number, (unsigned long long)at, p->bytes,
                           p->kind, least, most, kind);
    return CLUMP_OK;
}

static clump_status compare(clumpi_stream *s, const clumpi_piece *p, uint64_t at, uint64_t sum) {
    return sum == p->content
               ? CLUMP_OK
               : altered(s, at, p->number, "has contents that do not match their checksum");
}

static clump_status read_stored(clumpi_stream *s, const clumpi_piece *p, void *stored) {
    const uint64_t at = s->bytes - sizeof *p;
    clump_status status = clumpi_stream_read(s, stored, p->stored);
    return status ? status : compare(s, p, at, clumpi_content_sum(stored, p->stored));
}

static clump_status read_packed(clumpi_stream *s, const clumpi_piece *p, void *content) {
    const uint64_t at = s->bytes - sizeof *p;
    if (!clumpi_zstd_level_most())
        return clumpi_fail(s->error, CLUMP_ERR_UNSUPPORTED,
                           "%s is packed by zstd, but the library was built without zstd. Build it "
                           "with -DCLUMP_ZSTD=ON",
                           clumpi_stream_name(s));
    clump_status status = reserve_packed(s, p->stored);
    if (!status) status = read_stored(s, p, s->packed);
    if (status || clumpi_zstd_unpack(s->packed, p->stored, content, p->bytes)) return status;
    return clumpi_fail(
        s->error, CLUMP_ERR_FORMAT,
        "%s is not valid: zstd cannot unpack piece %u, which begins at byte %llu, to %u bytes",
        clumpi_stream_name(s), p->number, (unsigned long long)at, p->bytes);
}

static clump_status read_content(clumpi_stream *s, const clumpi_piece *p, void *content) {
    return p->stored == p->bytes ? read_stored(s, p, content) : read_packed(s, p, content);
}

clump_status clumpi_piece_read(clumpi_stream *s, uint32_t kind, void *content, uint32_t bytes) {
    clumpi_piece p;
    clump_status status = read_head(s, kind, bytes, bytes, &p);
    return status ? status : read_content(s, &p, content);
}

clump_status clumpi_piece_fetch(clumpi_stream *s, uint32_t kind, void *content, uint32_t bytes,
                                clumpi_fetched *fetched) {
    const uint64_t at = s->bytes;
    *fetched = (clumpi_fetched){.at = at};
    clump_status status = read_head(s, kind, bytes, bytes, &fetched->piece);
    if (status) return status;
    fetched->is_open = fetched->piece.stored == bytes;
    return fetched->is_open ? clumpi_stream_read(s, content, bytes)
                            : read_content(s, &fetched->piece, content);
}

clump_status clumpi_piece_compare(clumpi_stream *s, clumpi_fetched *fetched, const uint64_t *sums) {
    if (!fetched->is_open) return CLUMP_OK;
    fetched->is_open = 0;
    return compare(s, &fetched->piece, fetched->at, clumpi_sum_of_sums(sums, fetched->piece.bytes));
}

clump_status clumpi_piece_read_any(clumpi_stream *s, uint32_t kind, uint32_t most,
                                   uint8_t **content, uint32_t *bytes) {
    clumpi_piece p;
    *content = NULL;
    clump_status status = read_head(s, kind, 0, most, &p);
    if (status) return status;
    *bytes = p.bytes;
    *content = clumpi_alloc(s->allocator, p.bytes);
    if (!*content)
        return clumpi_fail(s->error, CLUMP_ERR_HOST_MEMORY,
                           "no host memory for a piece of %u bytes", p.bytes);
    return read_content(s, &p, *content);
}

clump_status clumpi_end_write(clumpi_stream *s) {
    const uint64_t before = s->bytes;
    return clumpi_piece_write(s, CLUMPI_KIND_END, &before, sizeof before, NULL);
}

clump_status clumpi_end_read(clumpi_stream *s) {
    const uint64_t expected = s->bytes;
    uint64_t before;
    clump_status status = clumpi_piece_read(s, CLUMPI_KIND_END, &before, sizeof before);
    if (!status && before != expected)
        status = clumpi_fail(
            s->error, CLUMP_ERR_FORMAT,
            "%s is not valid: its end states that %llu bytes come before it, but %llu do",
            clumpi_stream_name(s), (unsigned long long)before, (unsigned long long)expected);
    return status ? status : clumpi_stream_expect_end(s);
}
