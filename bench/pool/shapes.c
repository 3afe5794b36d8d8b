/* Traces as programs of several kinds would leave them. Read first: trace.h.
 *
 *   games      a player walks over a map; sectors around it are loaded, those left behind unloaded
 *   training   layers allocate activations forward and free them backward; batches differ in size
 *   inference  sequences grow by cache pages and end at random; activations live for a layer;
 *   batches shrink particles  emitters whose arrays grow by half, copied to a new one each time,
 *   and that end at random
 */
#include <stdlib.h>
#include <string.h>

#include "trace.h"

#define THINGS_MAX 65536u

typedef struct thing {
    uint32_t id;
    uint64_t bytes;
    int32_t key; /* what it belongs to; -1: nothing is here */
} thing;

typedef struct shape {
    pool_trace *trace;
    uint32_t seed, n; /* random numbers used so far */
    uint64_t bytes;   /* that may be live */
    thing *things;
    uint32_t count;
    int failed;
} shape;

static double share(shape *s) {
    return pool_random_share(s->seed, &s->n);
}

static thing *make(shape *s, uint64_t bytes, int movable, int32_t key) {
    if (s->count == THINGS_MAX) s->failed = 1;
    if (s->failed) return NULL;
    int64_t id = pool_trace_alloc(s->trace, bytes + !bytes, movable);
    if (id < 0) s->failed = 1;
    thing *t = &s->things[s->count++];
    *t = (thing){(uint32_t)id, bytes + !bytes, key};
    return t;
}

static void drop(shape *s, uint32_t i) {
    if (s->failed) return;
    if (pool_trace_free(s->trace, s->things[i].id, s->things[i].bytes)) s->failed = 1;
    s->things[i] = s->things[--s->count];
}

static void drop_key(shape *s, int32_t key) {
    for (uint32_t i = s->count; i-- > 0;)
        if (s->things[i].key == key) drop(s, i);
}

static int has_key(const shape *s, int32_t key) {
    for (uint32_t i = 0; i < s->count; i++)
        if (s->things[i].key == key) return 1;
    return 0;
}

#define MAP 24
#define VIEW 2

static void games(shape *s, uint32_t frames) {
    /* 25 sectors of about 24 assets whose sizes have a mean of about 0.13 of the largest. */
    uint64_t most = s->bytes / 80, least = most / 1024 + 1;
    int x = MAP / 2, y = MAP / 2;
    for (uint32_t frame = 0; frame < frames; frame++) {
        int dx = (int)(3 * share(s)) - 1, dy = (int)(3 * share(s)) - 1;
        x = (x + dx + MAP) % MAP;
        y = (y + dy + MAP) % MAP;
        for (int32_t key = 0; key < MAP * MAP; key++) {
            int ax = abs(key % MAP - x), ay = abs(key / MAP - y);
            int is_near = (ax <= VIEW || ax >= MAP - VIEW) && (ay <= VIEW || ay >= MAP - VIEW);
            if (is_near && !has_key(s, key))
                for (int i = 0; i < 12 + (int)(24 * share(s)); i++)
                    make(s, pool_random_bytes(s->seed, &s->n, least, most), 1, key);
            else if (!is_near)
                drop_key(s, key);
        }
        if (pool_trace_frame(s->trace)) s->failed = 1;
    }
}

#define LAYERS 24

static void training(shape *s, uint32_t frames) {
    double widths[LAYERS], sum = 0;
    for (int i = 0; i < LAYERS; i++) sum += widths[i] = 0.1 + share(s);
    for (int i = 0; i < LAYERS; i++) /* weights: written each time, so they stay */
        make(s, (uint64_t)(0.2 * (double)s->bytes * widths[i] / sum), 0, -1);
    for (uint32_t frame = 0; frame < frames; frame++) {
        double batch =
            frame % 7 == 6 ? 0.2 + 0.6 * share(s) : 1; /* the last of an epoch is short */
        double unit = 0.7 * (double)s->bytes / sum * batch;
        for (int i = 0; i < LAYERS; i++) {
            make(s, (uint64_t)(unit * widths[i]), 1, i);
            if (share(s) < 0.5) { /* workspace */
                make(s, (uint64_t)(unit * widths[i] * share(s)), 0, LAYERS);
                drop_key(s, LAYERS);
            }
        }
        for (int i = LAYERS; i-- > 0;) {
            make(s, (uint64_t)(unit * widths[i] * 0.3), 0, LAYERS); /* gradient */
            drop_key(s, i);
            drop_key(s, LAYERS);
        }
        if (pool_trace_frame(s->trace)) s->failed = 1;
    }
}

#define SEQUENCES 48

static void inference(shape *s, uint32_t frames) {
    uint64_t page = s->bytes / 4096 + 1;
    int pages[SEQUENCES] = {0};
    for (int i = 0; i < 12; i++) make(s, s->bytes / 40, 0, -1); /* weights */
    for (uint32_t frame = 0; frame < frames; frame++) {
        uint32_t batch = SEQUENCES - frame * (SEQUENCES / 2) / frames; /* shrinks */
        for (int32_t i = 0; i < SEQUENCES; i++) {
            int ends = pages[i] && share(s) < 0.02;
            if (ends || (uint32_t)i >= batch) {
                drop_key(s, i);
                pages[i] = 0;
            } else {
                make(s, page * (1 + (uint64_t)(3 * share(s))), 1, i);
                pages[i]++;
            }
        }
        for (uint32_t layer = 0; layer < 8; layer++) {
            make(s, page * batch * (1 + layer % 3) / 16, 0, SEQUENCES + (int32_t)(layer & 1));
            drop_key(s, SEQUENCES + (int32_t)(~layer & 1));
        }
        drop_key(s, SEQUENCES + 1);
        if (pool_trace_frame(s->trace)) s->failed = 1;
    }
}

#define EMITTERS 200

static void particles(shape *s, uint32_t frames) {
    uint64_t first = s->bytes / EMITTERS / 24 + 1, most = s->bytes / EMITTERS * 3;
    for (uint32_t frame = 0; frame < frames; frame++) {
        if (s->count < EMITTERS && share(s) < 0.7) {
            double size = 0.3 + share(s);
            make(s, (uint64_t)((double)first * size), 1, 0);
        }
        for (uint32_t i = s->count; i-- > 0;) {
            double what = share(s);
            uint64_t bytes = s->things[i].bytes;
            if (what < 0.008) {
                drop(s, i);
            } else if (what < 0.06 && bytes < most) {
                make(s, bytes + bytes / 2, 1, 0);
                drop(s, i);
            }
        }
        if (pool_trace_frame(s->trace)) s->failed = 1;
    }
}

int pool_trace_generate(pool_trace *trace, const char *name, uint32_t seed, uint32_t frames,
                        uint64_t bytes, bench_error *error) {
    static const struct {
        const char *name;
        void (*make)(shape *s, uint32_t frames);
    } shapes[] = {{"games", games},
                  {"training", training},
                  {"inference", inference},
                  {"particles", particles}};
    memset(trace, 0, sizeof *trace);
    shape s = {.trace = trace, .seed = seed, .bytes = bytes};
    s.things = malloc(THINGS_MAX * sizeof *s.things);
    if (!s.things) return bench_error_set(error, "no host memory for a trace");
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++)
        if (strcmp(shapes[i].name, name) == 0) shapes[i].make(&s, frames);
    free(s.things);
    if (!s.failed && trace->allocs) return 0;
    pool_trace_release(trace);
    return bench_error_set(error, "the trace %.32s is too long for the host's memory", name);
}
