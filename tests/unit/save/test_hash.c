/* XXH64 against values of other implementations: of its specification, and of the Python module
 * xxhash. Each length, each alignment.
 *
 * Read first: host/save/hash.h.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
/* After the above, which it needs. */
#include <cmocka.h>

#include "save/hash.h"

static void known_values(void **state) {
    (void)state;
    assert_true(clumpi_hash64(0, "", 0) == UINT64_C(0xEF46DB3751D8E999));
    assert_true(clumpi_hash64(0, "a", 1) == UINT64_C(0xD24EC4F1A98C6E5B));
    assert_true(clumpi_hash64(0, "abc", 3) == UINT64_C(0x44BC2CF5AD770999));
    static const char long_text[] =
        "Nobody inspects the spammish repetition"; /* 39 bytes: stripes, 4 and 1s */
    assert_true(clumpi_hash64(0, long_text, 39) == UINT64_C(0xFBCEA83C8A378BF1));
    /* The check of the specification's own implementation: bytes of a generator, lengths with and
     * without seed. */
    uint8_t bytes[222];
    uint64_t generator = UINT64_C(2654435761);
    for (int i = 0; i < 222; i++) {
        bytes[i] = (uint8_t)(generator >> 56);
        generator *= UINT64_C(11400714785074694797);
    }
    const uint64_t seed = UINT64_C(2654435761);
    assert_true(clumpi_hash64(seed, bytes, 0) == UINT64_C(0xAC75FDA2929B17EF));
    assert_true(clumpi_hash64(0, bytes, 1) == UINT64_C(0xE934A84ADB052768));
    assert_true(clumpi_hash64(seed, bytes, 1) == UINT64_C(0x5014607643A9B4C3));
    assert_true(clumpi_hash64(0, bytes, 14) == UINT64_C(0x8282DCC4994E35C8));
    assert_true(clumpi_hash64(seed, bytes, 14) == UINT64_C(0xC3BD6BF63DEB6DF0));
    assert_true(clumpi_hash64(0, bytes, 31) == UINT64_C(0x299B39A290E6D783)); /* about a stripe */
    assert_true(clumpi_hash64(0, bytes, 32) == UINT64_C(0x18B216492BB44B70));
    assert_true(clumpi_hash64(seed, bytes, 32) == UINT64_C(0xB3F33BDF93ADE409));
    assert_true(clumpi_hash64(0, bytes, 33) == UINT64_C(0x55C8DC3E578F5B59));
    assert_true(clumpi_hash64(seed, bytes, 64) == UINT64_C(0xB5EEBA99264CC44F));
    assert_true(clumpi_hash64(0, bytes, 222) == UINT64_C(0xB641AE8CB691C174));
    assert_true(clumpi_hash64(seed, bytes, 222) == UINT64_C(0x20CB8AB7AE10C14A));
}

/* A bit anywhere, of any length, makes another checksum; where the bytes lie makes none. */
static void bits_and_places(void **state) {
    (void)state;
    static uint8_t bytes[200];
    uint8_t moved[208];
    for (size_t length = 1; length <= 100; length++) {
        const uint64_t hash = clumpi_hash64(7, bytes, length);
        for (size_t bit = 0; bit < 8 * length; bit++) {
            bytes[bit / 8] ^= (uint8_t)(1 << bit % 8);
            assert_true(clumpi_hash64(7, bytes, length) != hash);
            bytes[bit / 8] ^= (uint8_t)(1 << bit % 8);
        }
        for (size_t at = 0; at < 8; at++) {
            memcpy(moved + at, bytes, length);
            assert_true(clumpi_hash64(7, moved + at, length) == hash);
        }
        assert_true(clumpi_hash64(7, bytes, length - 1) != hash);
        assert_true(clumpi_hash64(8, bytes, length) != hash);
        bytes[length] = (uint8_t)(31 * length);
    }
}

/* The checksum of a content is that of the sums of its chunks, wherever they were computed; a bit
 * of any chunk makes another one, and so do chunks that change places. */
static void contents(void **state) {
    (void)state;
    enum { MOST = 3 * (int)(CLUMPI_RUN_SUMS * CLUMPI_CHUNK_BYTES) + 77 };
    static uint8_t bytes[MOST];
    static uint64_t sums[MOST / CLUMPI_CHUNK_BYTES + 1];
    for (int i = 0; i < MOST; i++) bytes[i] = (uint8_t)(i * 37 + i / 251);
    assert_true(clumpi_content_sum(bytes, 0) == 0);
    /* One chunk: twice XXH64. */
    const uint64_t one = clumpi_hash64(0, bytes, 500);
    assert_true(clumpi_content_sum(bytes, 500) == clumpi_hash64(0, &one, sizeof one));
    static const uint32_t lengths[] = {1,      1023,   1024,   1025,   4096, 131071,
                                       131072, 131073, 262144, 262145, MOST};
    for (size_t l = 0; l < sizeof lengths / sizeof *lengths; l++) {
        const uint32_t length = lengths[l], chunks = (length + 1023) / 1024;
        const uint64_t sum = clumpi_content_sum(bytes, length);
        for (uint32_t c = 0; c < chunks; c++) sums[c] = clumpi_chunk_sum(bytes, length, c);
        assert_true(clumpi_sum_of_sums(sums, length) == sum);
        for (uint32_t c = 0; c < chunks; c++) {
            const uint32_t at = c + 1 < chunks ? c * 1024 + (c * 7) % 1024 : length - 1;
            bytes[at] ^= 0x10;
            assert_true(clumpi_content_sum(bytes, length) != sum);
            bytes[at] ^= 0x10;
        }
        if (chunks < 2) continue;
        const uint64_t first = sums[0]; /* chunks 0 and 1, or the last ones of two runs */
        const uint32_t other = chunks > 200 ? 200 : 1;
        sums[0] = sums[other];
        sums[other] = first;
        assert_true(clumpi_sum_of_sums(sums, length) != sum);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(known_values),
                                       cmocka_unit_test(bits_and_places),
                                       cmocka_unit_test(contents)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
