/* Where the elements of arrays of run-time length lie. See array_layout.h. */
#include "array_layout.h"

#include <stdio.h>

#define ELEMENT_BYTES 4u
#define WORDS_BYTES 12u   /* length, capacity and handle */
#define MEMORY_LEAST 16u  /* bytes of a piece of raw memory */
#define SLACK (48u << 20) /* for blocks of raw memory of each size that are not full */

static int is_bounded(const bench_values *values) {
    return bench_is(values, "layout", "max") || bench_is(values, "layout", "packed");
}

int bench_array_layout_choose(const bench_values *values, uint32_t longest, uint32_t other_bytes,
                              bench_array_layout *layout, bench_error *error) {
    const uint32_t room = CLUMP_OBJECT_BYTES_MAX - other_bytes - WORDS_BYTES;
    *layout = (bench_array_layout){.most = UINT32_MAX};
    if (bench_is(values, "layout", "inline")) layout->inside = bench_u32(values, "inside");
    if (is_bounded(values)) layout->inside = layout->most = longest ? longest : 1;
    if (layout->inside <= room / ELEMENT_BYTES) return 0;
    return bench_error_set(error,
                           "layout=%s: an array has %u elements, and an object has room for %u; "
                           "take layout=inline or layout=outside, or shorter arrays",
                           bench_text(values, "layout"), layout->inside, room / ELEMENT_BYTES);
}

const char *bench_array_layout_class(const bench_values *values) {
    return bench_is(values, "class", "aos") ? "aos class" : "class";
}

void bench_array_layout_declare(const bench_values *values, const bench_array_layout *layout,
                                char *text, size_t bytes) {
    if (layout->inside == 0)
        snprintf(text, bytes, "[*]");
    else
        snprintf(text, bytes, "[*] %s %u%s", is_bounded(values) ? "max" : "inline", layout->inside,
                 bench_is(values, "layout", "packed") ? " packed" : "");
}

uint64_t bench_array_layout_bytes(const bench_array_layout *layout, uint64_t objects,
                                  uint64_t elements, uint32_t other_bytes, uint32_t spare) {
    uint64_t object = other_bytes + WORDS_BYTES + (uint64_t)layout->inside * ELEMENT_BYTES;
    uint64_t bytes = objects * object * 9 / 8 + SLACK;
    if (layout->most != UINT32_MAX) return bytes;
    return bytes + spare * (elements * ELEMENT_BYTES + objects * MEMORY_LEAST) * 5 / 4;
}
