/* All interleavings of two and three threads on tiny heaps, 64-bit bitmap words.
 *
 *   protocol_explore        what CTest runs
 *   protocol_explore quick  less, strong and weak memory: protocol_planted.c runs this over faults
 */
#include "tests/protocol/programs.h"

int main(int argc, char **argv) {
    static const programs_row all[] = {
        {0, 10, 2, 1, 1, 0},
        {0, 10, 2, 1, 2, 0},
        {0, 6, 2, 2, 1, 0},
        {0, 1, 3, 1, 1, 0},
        {4, 4, 3, 1, 1, 0},
        {11, 23, 1, 3, 1, 0},
        {11, 19, 2, 1, 1, 0},
        {11, 13, 2, 2, 1, 0},
        {11, 12, 3, 1, 1, 0},
        {22, 22, 2, 1, 1, 0},
        {0},
    };
    static programs_row quick[] = {
        {11, 23, 1, 3, 1, 0},
        {6, 6, 2, 0, 1, 1},
        {0, 10, 2, 1, 1, 0},
        {11, 14, 2, 1, 1, 0},
        {16, 17, 2, 1, 1, 0},
        {0, 10, 2, 1, 1, 1},
        {11, 13, 2, 1, 1, 1},
        {15, 15, 2, 1, 1, 0},
        {18, 18, 2, 1, 1, 0},
        {11, 13, 2, 2, 1, 0},
        {14, 14, 2, 1, 1, 1},
        {2, 3, 2, 2, 1, 0},
        {0},
    };
    if (argc > 1 && strcmp(argv[1], "quick") == 0) return programs_main(quick);
    if (!getenv("CLUMP_SHORT")) return programs_main(all);
    quick[9] = (programs_row){0}; /* the last three take as long as all the others together */
    return programs_main(quick);
}
