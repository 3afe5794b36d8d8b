/* Deeper explorations than protocol_explore.c and protocol_weak.c. */
#include "tests/protocol/programs.h"

/* Thread 0 frees the last object of a block and then wants one of another class. Others may retire
 * the block in its place, but must not leave it with a null while they have not moved the epoch. */
static int explore_helped_retirement(void) {
    static const tiny_spec spec = {.name = "one of two slots taken",
                                   .first_block = 1,
                                   .blocks = 1,
                                   .block_granules = 1,
                                   .per_row = 2,
                                   .class_count = 2,
                                   .classes = {{1, 1}, {1, 1}},
                                   .filled = {{0, 1, 1}},
                                   .filled_count = 1};
    static const program frees = {2, {{PROGRAM_FREE_OLD, 0, 0}, {PROGRAM_NEW, 2, 1}}};
    static const program wants = {1, {{PROGRAM_NEW, 2, 1}}};
    const program *const programs[] = {&frees, &wants, &wants};
    explore_quiet = 1;
    explore_since = explore_seconds();
    hosted_retries = 1;
    exec.strict = 1;
    for (hosted_rotate = 0; hosted_rotate < 2; hosted_rotate++)
        if (!explore(&spec, programs, 3)) return 0;
    exec.strict = 0;
    explore_summary("retirement by a helper");
    return 1;
}

int main(void) {
    static const programs_row all[] = {
        {0, 9, 2, 2, 1, 0},   {0, 6, 2, 2, 2, 0},   {0, 4, 2, 2, 1, 1},   {0, 6, 3, 1, 1, 0},
        {0, 1, 3, 1, 2, 0},   {0, 1, 3, 1, 1, 1},   {20, 21, 2, 1, 1, 0}, {14, 14, 2, 2, 1, 0},
        {16, 16, 2, 2, 1, 0}, {15, 15, 2, 1, 1, 1}, {17, 19, 2, 1, 1, 1}, {0},
    };
    if (!routine_supported()) return 77;
    return explore_helped_retirement() ? programs_main(all) : 1;
}
