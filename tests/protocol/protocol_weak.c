/* All interleavings of two and three threads on tiny heaps, with loads that may return old values
 * wherever fences do not forbid it. */
#include "tests/protocol/programs.h"

int main(void) {
    static const programs_row all[] = {
        {0, 10, 2, 1, 1, 1},  {0, 8, 2, 1, 2, 1}, {0, 1, 2, 2, 1, 1},
        {1, 1, 3, 1, 1, 1},   {4, 4, 3, 1, 1, 1}, {11, 14, 2, 1, 1, 1},
        {16, 16, 2, 1, 1, 1}, {6, 6, 2, 0, 1, 1}, {0},
    };
    return programs_main(all);
}
