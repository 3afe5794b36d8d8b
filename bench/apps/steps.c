/* Making and measuring the steps of an application. See steps.h. */
#include "steps.h"

#include <stdlib.h>

#define PROGRESS_PARTS 50

/* Where the world is looked at next: at progress, samples and frames, or
 * after each step if that is counted. */
static uint32_t next_stop(const bench_steps *s, uint32_t done) {
    uint32_t parts[4] = {s->steps / PROGRESS_PARTS + 1, 0, 0, s->count ? 1 : 0};
    uint32_t stop = s->steps;
    if (s->outputs) {
        parts[1] = s->series ? s->outputs->sample : 0;
        parts[2] = s->is_quiet ? 0 : s->outputs->every;
    }
    for (int i = 0; i < 4; i++) {
        uint32_t next = parts[i] ? done - done % parts[i] + parts[i] : s->steps;
        stop = next < stop ? next : stop;
    }
    return stop;
}

static int draw(const bench_steps *s, uint32_t done, bench_error *error) {
    const bench_outputs_desc *size = &s->outputs->desc;
    uint8_t *rgb = malloc(3 * (size_t)size->width * size->height);
    if (!rgb) {
        return bench_error_set(error, "host memory ran out for a picture");
    }
    int result = s->draw(s->world, rgb, error) ||
                         bench_outputs_write_pixels(s->outputs, rgb, done, s->steps, error)
                     ? -1
                     : 0;
    free(rgb);
    return result;
}

/* Time of the steps since the last sample. */
typedef struct since {
    uint32_t done; /* steps before it */
    double us;
} since;

/* Outputs after `done` steps. */
static int look(const bench_env *env, const bench_steps *s, uint32_t done, since *last,
                bench_error *error) {
    if (!s->outputs) {
        return 0;
    }
    if (s->series && bench_outputs_is_sampled(s->outputs, done, s->steps)) {
        double us = done > last->done ? last->us / (done - last->done) : 0;
        double *own =
            bench_outputs_sample(s->outputs, s->series, env->clump, s->heap, done, us, error);
        *last = (since){.done = done};
        if (!own || (s->sample && s->sample(s->world, own, error))) {
            return -1;
        }
    }
    return !s->is_quiet && bench_outputs_is_drawn(s->outputs, done, s->steps) ? draw(s, done, error)
                                                                              : 0;
}

static int make(const bench_steps *s, uint32_t from, uint32_t to, bench_error *error) {
    for (uint32_t i = from; i < to; i++) {
        if (s->step(s->world, error)) {
            return -1;
        }
    }
    return s->finish ? s->finish(s->world, error) : 0;
}

int bench_steps_run(const bench_env *env, const bench_steps *s, double *us_per_step,
                    bench_error *error) {
    bench_progress progress;
    double total_us = 0;
    since last = {0, 0};
    if (s->outputs && s->series) {
        bench_outputs_begin(s->outputs, s->series, s->heap != NULL);
    }
    int result = look(env, s, 0, &last, error);
    bench_progress_begin(&progress, env, s->label, s->steps);
    for (uint32_t done = 0; result == 0 && done < s->steps;) {
        uint32_t stop = next_stop(s, done);
        double start_us = bench_now_us();
        result = make(s, done, stop, error);
        double us = bench_now_us() - start_us;
        total_us += us;
        last.us += us;
        done = stop;
        if (result == 0 && s->count) {
            s->count(s->world, s->tally);
        }
        if (result == 0) {
            result = look(env, s, done, &last, error);
        }
        bench_progress_update(&progress, done);
    }
    bench_progress_end(&progress);
    *us_per_step = total_us / s->steps;
    return result;
}
