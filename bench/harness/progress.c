/* Progress of long runs on standard error: a bar on a terminal, otherwise lines if they are wanted.
 *
 * Read first: bench.h.
 */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "bench.h"

#define BAR_COLUMNS 40u
#define QUIET_US 1e6 /* a run that is over by then draws nothing */
#define REDRAW_US 1e5

void bench_progress_begin(bench_progress *progress, const bench_env *env, const char *label,
                          uint64_t total) {
    memset(progress, 0, sizeof *progress);
    progress->mode = env->progress;
    progress->label = label;
    progress->total = total ? total : 1;
    progress->started_us = bench_now_us();
    progress->is_terminal = isatty(STDERR_FILENO);
}

static void draw_bar(bench_progress *progress, uint64_t done, double now_us) {
    char bar[BAR_COLUMNS + 1];
    unsigned filled = (unsigned)(done * BAR_COLUMNS / progress->total);
    memset(bar, '#', filled);
    memset(bar + filled, '.', BAR_COLUMNS - filled);
    bar[BAR_COLUMNS] = '\0';
    double elapsed = (now_us - progress->started_us) * 1e-6;
    double left = done ? elapsed * (double)(progress->total - done) / (double)done : 0;
    fprintf(stderr, "\r%s [%s] %3u%%, %.0f s left  ", progress->label, bar,
            (unsigned)(done * 100 / progress->total), left);
    fflush(stderr);
    progress->drawn_us = now_us;
    progress->is_drawn = 1;
}

void bench_progress_update(bench_progress *progress, uint64_t done) {
    double now_us = bench_now_us();
    done = done < progress->total ? done : progress->total;
    if (progress->is_terminal) {
        if (now_us - progress->started_us > QUIET_US && now_us - progress->drawn_us > REDRAW_US) {
            draw_bar(progress, done, now_us);
        }
        return;
    }
    unsigned tenth = (unsigned)(done * 10 / progress->total);
    if (progress->mode == BENCH_PROGRESS_LINES && tenth > progress->tenth) {
        progress->tenth = tenth;
        fprintf(stderr, "%s: %u%% after %.1f s\n", progress->label, tenth * 10,
                (now_us - progress->started_us) * 1e-6);
    }
}

void bench_progress_end(bench_progress *progress) {
    if (progress->is_drawn) {
        fprintf(stderr, "\r%*s\r", (int)(strlen(progress->label) + BAR_COLUMNS + 32), "");
        fflush(stderr);
    }
}
