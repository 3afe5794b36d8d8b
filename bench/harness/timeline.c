/* The timeline of one round. Read first: timeline.h. */
#include "timeline.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define ENTRIES_MOST (UINT32_C(1) << 18) /* of some hundred bytes each, here and in the file */

int bench_timeline_refuse(const bench_descriptor *benchmark, int needs_device, bench_error *error) {
    if (benchmark->is_single)
        return bench_error_set(error,
                               "--timeline records one more round, and %s is a single run that has "
                               "no rounds",
                               benchmark->name);
    if (benchmark->has_own_context)
        return bench_error_set(error, "--timeline cannot record %s, which makes its own context",
                               benchmark->name);
    return needs_device ? 0
                        : bench_error_set(error,
                                          "--timeline records what a device does, and %s needs "
                                          "none with these values",
                                          benchmark->name);
}

int bench_timeline_open(bench_timeline *timeline, const char *path, bench_error *error) {
    *timeline = (bench_timeline){.path = path, .file = fopen(path, "w")};
    return timeline->file
               ? 0
               : bench_error_set(error, "cannot write the timeline %s: %s", path, strerror(errno));
}

void bench_timeline_close(bench_timeline *timeline) {
    if (timeline->file) fclose(timeline->file);
    timeline->file = NULL;
}

/* ---- Writing --------------------------------------------------------------------------------- */

/* After the next `word`; NULL: there is none. */
static const char *after(const char *at, const char *end, const char *word) {
    const size_t length = strlen(word);
    for (; (size_t)(end - at) >= length; at++)
        if (memcmp(at, word, length) == 0) return at + length;
    return NULL;
}

static int to_file(void *user, const void *data, size_t bytes) {
    const char *text = data;
    bench_timeline *timeline = user;
    const char *const end = text + bytes;
    errno = 0;
    if (fwrite(text, 1, bytes, timeline->file) != bytes) timeline->failure = errno ? errno : EIO;
    const char *at = after(text, end, "\"dropped\":"); /* a number with a brace after it */
    if (at) timeline->dropped = strtoull(at, NULL, 10);
    for (at = text; (at = after(at, end, "\"ph\":\"X\"")); timeline->entries++) {
    }
    return 0;
}

static int write_file(bench_timeline *timeline, const bench_env *env, bench_error *error) {
    clump_status status = clump_context_write_timeline(env->clump, to_file, timeline);
    if (status) return bench_error_clump(error, "the timeline", env->clump, status);
    errno = 0;
    if (fclose(timeline->file) && !timeline->failure) timeline->failure = errno ? errno : EIO;
    timeline->file = NULL;
    if (timeline->failure)
        return bench_error_set(error, "cannot write all of the timeline %s: %s", timeline->path,
                               strerror(timeline->failure));
    return timeline->entries
               ? 0
               : bench_error_set(error,
                                 "the timeline %s is empty: no command of the library "
                                 "was in the round",
                                 timeline->path);
}

/* ---- The round ------------------------------------------------------------------------------- */

/* How many metrics and samples there were before. */
typedef struct extent {
    size_t metrics, samples[BENCH_METRICS_MAX];
} extent;

static extent extent_of(const bench_results *results) {
    extent e = {.metrics = results->metric_count};
    for (size_t i = 0; i < e.metrics; i++) e.samples[i] = results->metrics[i].count;
    return e;
}

static void cut(bench_results *results, const extent *e) {
    for (size_t i = 0; i < e->metrics; i++) results->metrics[i].count = e->samples[i];
    for (size_t i = e->metrics; i < results->metric_count; i++) {
        free(results->metrics[i].samples);
        results->metrics[i] = (bench_metric){0};
    }
    results->metric_count = e->metrics;
}

int bench_timeline_round(bench_timeline *timeline, const bench_env *env,
                         const bench_descriptor *benchmark, void *self, uint32_t number,
                         bench_results *results) {
    clump_status status = clump_context_record_timeline(env->clump, ENTRIES_MOST);
    if (status) return bench_error_clump(&results->error, "the timeline", env->clump, status);
    const extent before = extent_of(results);
    int result = benchmark->round(self, number, 0);
    cut(results, &before);
    if (!result) result = write_file(timeline, env, &results->error);
    clump_context_record_timeline(env->clump, 0);
    if (result) return result;
    bench_note(results,
               "one more round was recorded, and is in no figure: %" PRIu64
               " events in "
               "%.300s",
               timeline->entries, timeline->path);
    if (timeline->dropped)
        bench_note(results, "the timeline has no room for %" PRIu64 " more", timeline->dropped);
    return 0;
}
