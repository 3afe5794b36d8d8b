/* Deeper explorations than protocol_explore.c and protocol_weak.c. */
#include "tests/protocol/programs.h"

int main(void) {
    static const programs_row all[] = {
        {0, 10, 2, 2, 1, 0}, {0, 10, 2, 2, 2, 0}, {0, 7, 2, 2, 1, 1},
        {0, 10, 3, 1, 1, 0}, {0, 6, 3, 1, 2, 0},  {0, 2, 3, 1, 1, 1}, {0},
    };
    return programs_main(all);
}
