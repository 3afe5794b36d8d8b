/* Fuzzing of sequences of operations on a suballocator, against the byte map.
 *
 * Two programs from one source: a libFuzzer target
 *     clang -fsanitize=fuzzer,address,undefined -Iinclude -iquote host -iquote tests/support
 *         fuzz_suballoc.c byte_map.c host/suballoc*.c host/core/memory.c host/core/status.c
 * and, with -DFUZZ_STANDALONE, one that needs no libFuzzer and runs under CTest:
 *     fuzz_suballoc [ROUNDS [SEED]]   seeded mutations of programs that got far
 *
 * Read first: tests/support/byte_map.h.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "byte_map.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes) {
    byte_map_counts counts = {0};
    const char *wrong = byte_map_run(data, bytes, 1, &counts);
    if (wrong) {
        fprintf(stderr, "%s\n", wrong);
        abort();
    }
    return 0;
}

#ifdef FUZZ_STANDALONE
#include "cl_fixture.h"

#define INPUT_BYTES 600u
#define CORPUS 16u

int main(int argc, char **argv) {
    unsigned rounds = argc > 1 ? (unsigned)strtoul(argv[1], NULL, 0) : 4000;
    uint64_t random = argc > 2 ? strtoull(argv[2], NULL, 0) : 1;
    static struct {
        uint8_t data[INPUT_BYTES];
        size_t bytes;
        uint64_t score;
    } corpus[CORPUS], input;
    for (unsigned round = 0; round < rounds; round++) {
        input = corpus[test_random(&random, CORPUS)];
        for (uint32_t n = 1 + test_random(&random, 24); n; n--) {
            size_t at = test_random(&random, INPUT_BYTES);
            if (at >= input.bytes) input.bytes = at + 1;
            input.data[at] = (uint8_t)test_random(&random, 256);
        }
        if (test_random(&random, 4) == 0) { /* a piece again, elsewhere */
            size_t from = test_random(&random, INPUT_BYTES - 60), to = test_random(&random, 540);
            memmove(input.data + to, input.data + from, 60);
            if (to + 60 > input.bytes) input.bytes = to + 60;
        }
        byte_map_counts counts = {0};
        const char *wrong = byte_map_run(input.data, input.bytes, 1, &counts);
        if (wrong) {
            fprintf(stderr, "round %u: %s\n", round, wrong);
            return 1;
        }
        input.score = counts.allocated + 2 * counts.freed + 3 * counts.refused;
        unsigned worst = 0;
        for (unsigned i = 1; i < CORPUS; i++)
            if (corpus[i].score < corpus[worst].score) worst = i;
        if (input.score >= corpus[worst].score) corpus[worst] = input;
    }
    uint64_t best = 0;
    for (unsigned i = 0; i < CORPUS; i++)
        if (corpus[i].score > best) best = corpus[i].score;
    printf("%u rounds, best program: score %llu\n", rounds, (unsigned long long)best);
    return rounds >= 1000 && best < 200; /* mutations that get nowhere are worth nothing */
}

#endif
