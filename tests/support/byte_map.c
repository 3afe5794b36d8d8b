/* See byte_map.h. */
#include "byte_map.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define UNITS_MAX 4096
#define LIVE_MAX 512

int64_t byte_map_find(const uint8_t *map, int64_t units, clump_fit fit, int64_t request,
                      int64_t align) {
    int64_t found = -1, found_size = 0;
    for (int64_t begin = 0, end; begin < units; begin = end) {
        end = begin + 1;
        while (end < units && !map[begin] == !map[end]) end++;
        if (map[begin]) continue;
        int64_t at = (begin + align - 1) / align * align, size = end - begin;
        if (at + request > end) continue;
        int better = found < 0 || (fit == CLUMP_FIT_BEST && size < found_size) ||
                     (fit == CLUMP_FIT_WORST && size > found_size);
        if (!better) continue;
        found = at;
        found_size = size;
    }
    return found;
}

typedef struct live_range {
    clump_range range;
    int64_t at, units;
} live_range;

typedef struct run {
    clump_suballoc *s;
    clump_fit fit;
    int64_t units;
    uint64_t granularity;
    uint8_t map[UNITS_MAX];
    live_range live[LIVE_MAX];
    unsigned live_count;
    clump_range stale; /* freed before */
    byte_map_counts *counts;
} run;

static const char *allocate(run *r, uint32_t size, uint32_t align_log) {
    int64_t align = INT64_C(1) << align_log;
    uint64_t bytes = size + 1, offset = 0; /* in between units too */
    int64_t units = (int64_t)((bytes + r->granularity - 1) / r->granularity);
    uint64_t alignment = (uint64_t)align * r->granularity;
    void *tag = &r->map[bytes % UNITS_MAX];
    clump_range range;
    if (r->live_count == LIVE_MAX) return NULL;
    clump_status status = clump_suballoc_alloc(r->s, bytes, alignment, tag, &range, &offset);
    int64_t expected = byte_map_find(r->map, r->units, r->fit, units, align);
    if (status) {
        r->counts->refused++;
        if (status != CLUMP_ERR_DEVICE_MEMORY || range)
            return "a refusal is not CLUMP_ERR_DEVICE_MEMORY";
        return expected < 0 ? NULL : "refused, though a free range has room";
    }
    r->counts->allocated++;
    int64_t at = (int64_t)(offset / r->granularity);
    if (expected < 0) return "given out, though nothing has room";
    if (offset % alignment) return "not aligned";
    if (r->fit != CLUMP_FIT_GOOD && at != expected) return "not where the strategy says";
    if (at + units > r->units) return "beyond the end";
    for (int64_t i = at; i < at + units; i++)
        if (r->map[i]++) return "overlaps another range";
    clump_range_info info = {.size = sizeof info};
    if (clump_suballoc_get_info(r->s, range, &info) || info.offset != offset ||
        info.user_data != tag || info.bytes != (uint64_t)units * r->granularity)
        return "a range is told otherwise than it was given out";
    r->live[r->live_count++] = (live_range){range, at, units};
    return NULL;
}

static const char *release(run *r, uint32_t which) {
    if (!r->live_count) return NULL;
    live_range *live = &r->live[which % r->live_count];
    if (clump_suballoc_free(r->s, live->range)) return "a live range cannot be freed";
    for (int64_t i = live->at; i < live->at + live->units; i++) r->map[i]--;
    r->stale = live->range;
    *live = r->live[--r->live_count];
    r->counts->freed++;
    return NULL;
}

static const char *reject(run *r, uint32_t bits) {
    clump_range bad = bits & 1        ? r->stale
                      : r->live_count ? r->live[0].range ^ (UINT64_C(2) << 60)
                                      : 0;
    if (!bad) return NULL;
    r->counts->rejected++;
    clump_range_info info = {.size = sizeof info};
    if (clump_suballoc_get_info(r->s, bad, &info) != CLUMP_ERR_REFERENCE)
        return "a range that is none is told about";
    return clump_suballoc_free(r->s, bad) == CLUMP_ERR_REFERENCE ? NULL : "freed what is no range";
}

static const char *check(run *r) {
    static char words[512];
    if (clump_suballoc_check(r->s)) {
        snprintf(words, sizeof words, "%.400s", clump_suballoc_get_error(r->s)->message);
        return words;
    }
    clump_suballoc_stats stats = {.size = sizeof stats};
    clump_suballoc_details details = {.size = sizeof details};
    clump_suballoc_get_stats(r->s, &stats, &details);
    uint64_t used = 0, free_ranges = 0, free_max = 0, run_length = 0;
    for (int64_t i = 0; i < r->units; i++) {
        used += r->map[i] != 0;
        free_ranges += !r->map[i] && (i == 0 || r->map[i - 1]);
        run_length = r->map[i] ? 0 : run_length + 1;
        if (run_length > free_max) free_max = run_length;
    }
    if (stats.used_bytes != used * r->granularity || stats.ranges != r->live_count ||
        stats.free_ranges != free_ranges)
        return "the statistics are wrong";
    if (details.free_max != free_max * r->granularity) return "the largest free range is wrong";
    unsigned walked = 0;
    uint64_t before = 0;
    clump_range_info info = {.size = sizeof info};
    clump_suballoc_get_info(r->s, 0, &info);
    while (info.next) {
        if (clump_suballoc_get_info(r->s, info.next, &info))
            return "the walk finds what is no range";
        if (walked++ && info.offset <= before) return "the walk is not in order";
        before = info.offset;
    }
    return walked == r->live_count ? NULL : "the walk misses ranges";
}

static const char *step(run *r, const uint8_t *d) {
    uint32_t number = d[1] | (uint32_t)(d[2] & 15) << 8;
    switch (d[0] & 7) {
    case 0:
    case 1: return allocate(r, number % 64, 0);
    case 2: return allocate(r, number, 0);
    case 3: return allocate(r, number % 256, d[2] >> 4);
    case 4: return reject(r, number);
    default: return release(r, number);
    }
}

const char *byte_map_run(const uint8_t *data, size_t bytes, unsigned check_every,
                         byte_map_counts *counts) {
    if (bytes < 3) return NULL;
    run *r = calloc(1, sizeof *r);
    if (!r) return NULL;
    r->fit = (clump_fit)(data[0] % CLUMP_FIT_COUNT);
    r->units = data[1] * 16 + 1;
    r->granularity = UINT64_C(1) << data[2] % 9;
    r->counts = counts;
    clump_suballoc_desc desc = {.size = sizeof desc,
                                .bytes = (uint64_t)r->units * r->granularity + data[2] % 2,
                                .granularity = r->granularity,
                                .fit = r->fit};
    if (r->granularity == 1) desc.bytes = (uint64_t)r->units;
    const char *wrong =
        clump_suballoc_create(&desc, &r->s, NULL) ? "a suballocator cannot be made" : NULL;
    unsigned steps = 0;
    for (size_t i = 3; !wrong && i + 3 <= bytes; i += 3) {
        wrong = step(r, data + i);
        if (!wrong && ++steps % check_every == 0) wrong = check(r);
    }
    while (!wrong && r->live_count) wrong = release(r, 0);
    if (!wrong) wrong = check(r);
    clump_suballoc_destroy(r->s);
    free(r);
    return wrong;
}
