/* Numbers of cells of bands (bench/mpi/band.clh), in worlds that no memory here holds: up to 2^32 - 1
 * cells. Each is compared with its place in rows and columns.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* After the above, which it needs. */
#include <cmocka.h>

#include "bench/mpi/band.clh"

/* Row `row` of the world, which is a torus. */
static uint64_t number_of(uint64_t width, uint64_t height, int64_t row, uint64_t x) {
    const int64_t all = (int64_t)height;
    return (uint64_t)((row % all + all) % all) * width + x;
}

static void look(uint32_t width, uint32_t height, uint32_t first_row, uint32_t rows) {
    const uint32_t first = first_row * width, cells = width * height;
    const uint32_t places[] = {0, 1 % width, width / 2, width - 1};
    for (int32_t i = 0; i < 14; i++) {
        const int32_t row = i < 7 ? i - 4 : (int32_t)rows + i - 11;
        for (int k = 0; k < 4; k++) {
            const uint32_t x = places[k];
            const uint64_t expected = number_of(width, height, (int64_t)first_row + row, x);
            const uint64_t found_row = expected / width;
            assert_int_equal(in_world(width, first, cells, row, x), expected);
            assert_int_equal(band_has(width, rows, first, (uint32_t)expected),
                             found_row >= first_row && found_row < (uint64_t)first_row + rows);
        }
    }
}

static void worlds(void **state) {
    static const uint32_t sizes[][2] = {{65535, 65537}, {65536, 65535}, {3, 1431655765},
                                        {1, 1 << 30},   {16384, 65536}, {16384, 16384},
                                        {70, 50},       {1, 9},         {2, 3}};
    (void)state;
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        const uint32_t width = sizes[i][0], height = sizes[i][1];
        for (uint32_t ranks = 1; ranks <= 3; ranks++)
            for (uint32_t rank = 0; rank < ranks; rank++) {
                const uint32_t from = (uint32_t)((uint64_t)height * rank / ranks),
                               to = (uint32_t)((uint64_t)height * (rank + 1) / ranks);
                look(width, height, from, to - from);
            }
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(worlds)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
