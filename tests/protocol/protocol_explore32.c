/* All interleavings of two threads on tiny heaps, 32-bit bitmap words. */
#define HOSTED_WORD_BITS 32
#include "tests/protocol/programs.h"

int main(void) {
    static const programs_row all[] = {
        {0, 10, 2, 1, 1, 0}, {0, 10, 2, 1, 1, 1}, {0, 2, 2, 2, 1, 0}, {0, 1, 3, 1, 1, 0}, {0},
    };
    return programs_main(all);
}
