/* Fuzzing of life_pattern_parse() (PBM, PGM, RLE) and of the rules that patterns name.
 *
 * What must hold for all bytes: an error has words and leaves no pattern; cells are 0 or 1; a
 * pattern is placed in a world of its size, in its rule if it names one, or its rule is refused
 * with words. Inputs with a number of four digits or more are left out of most of it: the memory of
 * a large world takes longer than all else.
 * Read first: fuzz.h, bench/apps/game-of-life/pattern.h.
 */
#include <ctype.h>

#include "bench/apps/game-of-life/pattern.h"
#include "fuzz.h"

static int has_long_number(const uint8_t *data, size_t bytes) {
    size_t digits = 0;
    for (size_t i = 0; i < bytes; i++) {
        digits = isdigit(data[i]) ? digits + 1 : 0;
        if (digits > 3) return 1;
    }
    return 0;
}

static void check_pattern(const life_pattern *pattern) {
    size_t cells = (size_t)pattern->width * pattern->height, alive = 0, placed = 0;
    bench_error error;
    REQUIRE(cells && cells <= LIFE_CELLS_MAX && memchr(pattern->rule, 0, sizeof pattern->rule));
    for (size_t i = 0; i < cells; i++) {
        REQUIRE(pattern->cells[i] <= 1);
        alive += pattern->cells[i];
    }
    life_rules rules = {.width = pattern->width, .height = pattern->height, .states = 2};
    if (life_rule_parse(pattern->rule[0] ? pattern->rule : "B3/S23", &rules, &error)) {
        fuzz_check_words(error.text, sizeof error.text);
        return;
    }
    REQUIRE(!((rules.born | rules.survive) >> 9) && rules.states >= 2 &&
            rules.states <= LIFE_STATES_MAX);
    life_code *codes = malloc(cells * sizeof *codes);
    REQUIRE(codes && life_pattern_place(pattern, &rules, codes, &error) == 0);
    for (size_t i = 0; i < cells; i++) placed += codes[i];
    REQUIRE(placed == alive);
    rules.width--;
    REQUIRE(life_pattern_place(pattern, &rules, codes, &error));
    free(codes);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes) {
    life_pattern pattern;
    bench_error error;
    if (has_long_number(data, bytes)) return 0;
    if (life_pattern_parse("input", data, bytes, &pattern, &error)) {
        fuzz_check_words(error.text, sizeof error.text);
        REQUIRE(!pattern.cells);
        return 0;
    }
    check_pattern(&pattern);
    life_pattern_release(&pattern);
    return 0;
}
