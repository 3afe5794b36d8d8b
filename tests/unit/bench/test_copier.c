/* Copies of the benchmarks by several threads: each byte, at any alignment, and none around the
 * destination; many short ones in a row, and some after the threads have gone to sleep.
 * test_copier_tsan is this under ThreadSanitizer.
 *
 * Read first: bench/micro/copier.h.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
/* After the above, which it needs. */
#include <cmocka.h>

#include "bench/micro/copier.h"

#define MOST ((size_t)(1u << 20) + 3)
#define AROUND 128u /* bytes, before and behind */
#define KEPT 0xA5

typedef void (*copy_function)(copier *c, void *to, const void *from, size_t bytes);
static const copy_function functions[] = {copier_copy, copier_store};
static const uint32_t thread_counts[] = {1, 2, 12};

static uint8_t *from, *to;

static int make_bytes(void **state) {
    (void)state;
    from = malloc(MOST + AROUND);
    to = malloc(MOST + 2 * AROUND);
    uint32_t x = 1;
    for (size_t i = 0; from && i < MOST + AROUND; i++) {
        x = x * 1664525u + 1013904223u;
        from[i] = (uint8_t)(x >> 24);
    }
    return from && to ? 0 : -1;
}

static int free_bytes(void **state) {
    (void)state;
    free(from);
    free(to);
    return 0;
}

static void copy_and_compare(copier *c, copy_function copy, size_t to_at, size_t from_at,
                             size_t bytes) {
    const size_t begin = AROUND / 2 + to_at, all = bytes + 2 * AROUND;
    memset(to, KEPT, all);
    copy(c, to + begin, from + from_at, bytes);
    assert_int_equal(memcmp(to + begin, from + from_at, bytes), 0);
    for (size_t i = 0; i < begin; i++) assert_int_equal(to[i], KEPT);
    for (size_t i = begin + bytes; i < all; i++) assert_int_equal(to[i], KEPT);
}

static void each_byte(void **state) {
    static const size_t sizes[] = {0, 1, 8, 63, 64, 4095, 4096, 4097, 49152, 49153, MOST};
    static const size_t places[][2] = {{0, 0}, {1, 0}, {0, 1}, {15, 7}, {16, 3}, {63, 63}};
    (void)state;
    for (size_t t = 0; t < sizeof thread_counts / sizeof *thread_counts; t++) {
        copier *c = copier_create(thread_counts[t]);
        assert_non_null(c);
        for (size_t f = 0; f < 2; f++)
            for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++)
                for (size_t p = 0; p < sizeof places / sizeof *places; p++)
                    copy_and_compare(c, functions[f], places[p][0], places[p][1], sizes[s]);
        copier_destroy(c);
    }
}

/* Threads that have gone to sleep are woken up, and one copy follows the other without a pause. */
static void rounds(void **state) {
    const struct timespec longer_than_spin = {.tv_nsec = 2000000};
    (void)state;
    for (size_t t = 0; t < sizeof thread_counts / sizeof *thread_counts; t++) {
        copier *c = copier_create(thread_counts[t]);
        assert_non_null(c);
        for (size_t i = 0; i < 200; i++) {
            if (i % 40 == 0) nanosleep(&longer_than_spin, NULL);
            copy_and_compare(c, functions[i % 2], i % 64, i % 17, 49152 + i);
        }
        copier_destroy(c);
    }
}

static void wrong_counts(void **state) {
    (void)state;
    assert_null(copier_create(0));
    assert_null(copier_create(65));
    copier_destroy(NULL);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(each_byte), cmocka_unit_test(rounds),
                                       cmocka_unit_test(wrong_counts)};
    return cmocka_run_group_tests(tests, make_bytes, free_bytes);
}
