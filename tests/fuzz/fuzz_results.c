/* Fuzzing of result files as clump-bench compares them: bench_report_read() and bench_compare().
 *
 * The input is two files with a zero byte between them, or one that is compared with itself. What
 * must hold for all bytes: a file that is no result is refused with words; two results are
 * compared, whatever their shape.
 * Read first: fuzz.h, bench/harness/compare.c.
 */
#include <cjson/cJSON.h>

#include "bench/harness/bench.h"
#include "fuzz.h"

static int is_result(const char *path) {
    bench_error error;
    cJSON *root = bench_report_read(path, &error);
    if (!root) fuzz_check_words(error.text, sizeof error.text);
    if (root) { /* nothing else is behind it */
        FILE *file = fopen(path, "r");
        int c, last = 0;
        REQUIRE(file);
        while ((c = fgetc(file)) != EOF)
            if (c > ' ') last = c;
        fclose(file);
        REQUIRE(last == '}');
    }
    cJSON_Delete(root);
    return root != NULL;
}

/* What is printed goes to a file, and names what it talks of: printf() writes "(null)" where there
 * is no text. */
static void check_output(const uint8_t *data, size_t bytes) {
    static char text[1 << 16];
    fflush(stdout);
    long end = ftell(stdout);
    size_t printed = end > 0 && (size_t)end < sizeof text ? (size_t)end : sizeof text;
    FILE *file = fopen(fuzz_path(2), "r");
    REQUIRE(file && end > 0);
    printed = fread(text, 1, printed, file);
    fclose(file);
    if (!memmem(data, bytes, "null", 4)) REQUIRE(!memmem(text, printed, "(null)", 6));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes) {
    static int is_redirected;
    if (!is_redirected) is_redirected = freopen(fuzz_path(2), "w", stdout) != NULL;
    REQUIRE(is_redirected);
    rewind(stdout);
    const uint8_t *zero = bytes ? memchr(data, 0, bytes) : NULL;
    size_t first = zero ? (size_t)(zero - data) : bytes;
    const char *a = fuzz_file(0, data, first);
    const char *b = zero ? fuzz_file(1, zero + 1, bytes - first - 1) : a;
    bench_error error;
    int can = is_result(a) && is_result(b);
    REQUIRE((bench_compare(a, b, &error) == 0) == can);
    if (can)
        check_output(data, bytes);
    else
        fuzz_check_words(error.text, sizeof error.text);
    return 0;
}
