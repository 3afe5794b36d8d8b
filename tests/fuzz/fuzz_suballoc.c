/* Fuzzing of sequences of operations on a suballocator, against the byte map.
 *
 * Read first: fuzz.h, tests/support/byte_map.h.
 */
#include "byte_map.h"
#include "fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes) {
    byte_map_counts counts = {0};
    const char *wrong = byte_map_run(data, bytes, 1, &counts);
    if (wrong) {
        fprintf(stderr, "%s\n", wrong);
        abort();
    }
    return 0;
}
