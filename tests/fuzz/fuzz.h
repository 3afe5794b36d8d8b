/* What the fuzz targets share. A target is a file fuzz_NAME.c with LLVMFuzzerTestOneInput(), which
 * must hold for all bytes; tests/CMakeLists.txt lists the sources that it is linked with. It
 * becomes two programs:
 *
 *     fuzz_NAME, with standalone.c, which replays the corpus and needs no libFuzzer: a test of the
 *     same name
 *     a libFuzzer target, with CLUMP_FUZZER=ON and clang: scripts/fuzz.sh
 *
 * Both have the address and the undefined-behaviour sanitizer. Inputs that found something, and
 * those that together reach all code that was reached, are the lines of corpus/NAME.txt; words of
 * the formats are in corpus/words.dict.
 *
 * Read next: standalone.c, fuzz_options.c.
 */
#ifndef FUZZ_H
#define FUZZ_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

/* Always returns 0, or aborts. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes);

/* Not assert(): it must also hold where NDEBUG is set. */
#define REQUIRE(condition)                                                                         \
    do {                                                                                           \
        if (!(condition)) {                                                                        \
            fprintf(stderr, "%s:%d: does not hold: %s\n", __FILE__, __LINE__, #condition);         \
            abort();                                                                               \
        }                                                                                          \
    } while (0)

/* Files in memory, for what reads or writes a path. */
static int fuzz_files[3] = {-1, -1, -1};
static inline const char *fuzz_path(unsigned which) {
    static char paths[3][32];
    if (fuzz_files[which] < 0) {
        fuzz_files[which] = memfd_create("fuzz", MFD_CLOEXEC);
        REQUIRE(fuzz_files[which] >= 0);
        snprintf(paths[which], sizeof paths[which], "/proc/self/fd/%d", fuzz_files[which]);
    }
    return paths[which];
}

/* One with these bytes. */
static inline const char *fuzz_file(unsigned which, const uint8_t *data, size_t bytes) {
    const char *path = fuzz_path(which);
    REQUIRE(ftruncate(fuzz_files[which], 0) == 0);
    REQUIRE(bytes == 0 || pwrite(fuzz_files[which], data, bytes, 0) == (ssize_t)bytes);
    return path;
}

/* An error text: there are words, and they end. */
static inline void fuzz_check_words(const char *text, size_t room) {
    REQUIRE(text[0] && memchr(text, 0, room));
}

#endif
