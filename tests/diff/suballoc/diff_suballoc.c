/* Random programs on suballocators and on a byte map: every strategy, several mixes of requests.
 *
 *   diff_suballoc [PROGRAMS [SEED]]
 *
 * First, best and worst fit must place every request where the map says; good fit must find room
 * whenever there is some. All invariants are checked every few steps. Read first:
 * tests/support/byte_map.h.
 */
#include <stdio.h>
#include <stdlib.h>

#include "byte_map.h"
#include "cl_fixture.h"

#define STEPS_MAX 600u

int main(int argc, char **argv) {
    unsigned programs = argc > 1 ? (unsigned)strtoul(argv[1], NULL, 0) : 600;
    uint64_t seed = argc > 2 ? strtoull(argv[2], NULL, 0) : 1;
    byte_map_counts counts = {0};
    static uint8_t data[3 + 3 * STEPS_MAX];
    for (unsigned i = 0; i < programs; i++) {
        uint64_t random = (seed << 32) + i;
        size_t bytes = 3 + 3 * (size_t)(1 + test_random(&random, STEPS_MAX));
        for (size_t k = 0; k < bytes; k++) data[k] = (uint8_t)test_random(&random, 256);
        data[0] = (uint8_t)i; /* every strategy as often */
        /* Some programs allocate more than they free, for a while. */
        uint32_t filling = test_random(&random, 3) * 200;
        for (size_t k = 3; k < bytes && k < 3 + 3 * filling; k += 3)
            if (test_random(&random, 3)) data[k] &= 3;
        const char *wrong = byte_map_run(data, bytes, 7, &counts);
        if (!wrong) continue;
        fprintf(stderr, "program %u, seed %llu: %s\n", i, (unsigned long long)seed, wrong);
        return 1;
    }
    printf("%u programs: %llu ranges, %llu refused, %llu freed, %llu that were none\n", programs,
           (unsigned long long)counts.allocated, (unsigned long long)counts.refused,
           (unsigned long long)counts.freed, (unsigned long long)counts.rejected);
    int enough = counts.refused > counts.allocated / 20 && counts.rejected > counts.freed / 20;
    if (!enough && programs >= 100) fprintf(stderr, "too little of something was tried\n");
    return !enough && programs >= 100;
}
