/* Work-items that run one after the other, each a group of its own: what OpenCL C has for them, as
 * host C.
 *
 * Read first: hosted.h.
 */
#ifndef PROTOCOL_ALONE_H
#define PROTOCOL_ALONE_H

#include "tests/protocol/hosted.h"

static inline ulong get_local_id(uint dimension) {
    return (void)dimension, 0;
}
static inline ulong get_local_size(uint dimension) {
    return (void)dimension, 1;
}
static inline uint atomic_min(uint *word, uint value) {
    uint old = *word;
    *word = min(old, value);
    return old;
}
static inline uint atomic_add(uint *word, uint value) {
    uint old = *word;
    *word += value;
    return old;
}
static inline uint atomic_or(uint *word, uint value) {
    uint old = *word;
    *word |= value;
    return old;
}

#endif
