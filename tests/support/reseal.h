/* Checksums of a saved heap made right again after its bytes were changed: what is changed is then
 * read, and not only refused.
 *
 * Read first: host/save/format.h.
 */
#ifndef RESEAL_H
#define RESEAL_H

#include <stddef.h>
#include <string.h>

#include "save/format.h"
#include "save/hash.h"

/* Of all pieces that are whole. Their numbers and the bytes before the first of them are made
 * right, too. Returns how many there are. */
static inline uint32_t reseal(uint8_t *data, size_t bytes) {
    static const uint8_t begin[16] = {0x89,
                                      'C',
                                      'L',
                                      'U',
                                      'M',
                                      'P',
                                      '\n',
                                      0x1a,
                                      CLUMPI_SAVE_VERSION,
                                      0,
                                      0,
                                      0,
                                      0xff ^ CLUMPI_SAVE_VERSION,
                                      0xff,
                                      0xff,
                                      0xff};
    uint32_t pieces = 0;
    if (bytes < sizeof begin) return 0;
    memcpy(data, begin, sizeof begin);
    uint64_t chain = clumpi_hash64(0, data, sizeof begin);
    for (size_t at = sizeof begin; bytes - at >= sizeof(clumpi_piece); pieces++) {
        clumpi_piece p;
        memcpy(&p, data + at, sizeof p);
        if (p.stored > bytes - at - sizeof p) break;
        p.number = pieces;
        p.content = clumpi_content_sum(data + at + sizeof p, p.stored);
        p.chain = chain = clumpi_hash64(chain, &p, offsetof(clumpi_piece, chain));
        memcpy(data + at, &p, sizeof p);
        at += sizeof p + p.stored;
    }
    return pieces;
}

/* Where piece number `piece` begins, or `bytes`. */
static inline size_t piece_at(const uint8_t *data, size_t bytes, uint32_t piece) {
    size_t at = 16;
    for (uint32_t i = 0; at + sizeof(clumpi_piece) <= bytes; i++) {
        clumpi_piece p;
        memcpy(&p, data + at, sizeof p);
        if (i == piece) return at;
        at += sizeof p + p.stored;
    }
    return bytes;
}

#endif
