/* Building, reading and writing traces. See trace.h. */
#include "trace.h"

#include <Random123/philox.h>
#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void pool_trace_release(pool_trace *trace) {
    free(trace->ops);
    free(trace->unused);
    memset(trace, 0, sizeof *trace);
}

uint32_t pool_random(uint32_t seed, uint32_t *n) {
    philox4x32_ctr_t counter = {{(*n)++, 0, 0, 0}};
    philox4x32_key_t key = {{seed, 0x506F6F6C}};
    return philox4x32(counter, key).v[0];
}

double pool_random_share(uint32_t seed, uint32_t *n) {
    return (double)pool_random(seed, n) / 4294967296.0;
}

uint64_t pool_random_bytes(uint32_t seed, uint32_t *n, uint64_t least, uint64_t most) {
    double low = log((double)least), high = log((double)most);
    return (uint64_t)exp(low + (high - low) * pool_random_share(seed, n));
}

/* ---- Building -------------------------------------------------------------------------------- */

static int append(pool_trace *t, pool_trace_op op) {
    if (t->count == t->capacity) {
        size_t capacity = t->capacity ? 2 * t->capacity : 1024;
        pool_trace_op *ops = realloc(t->ops, capacity * sizeof *ops);
        if (!ops) return -1;
        t->ops = ops;
        t->capacity = capacity;
    }
    t->ops[t->count++] = op;
    return 0;
}

int64_t pool_trace_alloc(pool_trace *t, uint64_t bytes, int movable) {
    uint32_t id = t->unused_count ? t->unused[--t->unused_count] : t->ids++;
    if (append(t, (pool_trace_op){POOL_TRACE_ALLOC, id, bytes, movable})) return -1;
    t->allocs++;
    t->live_bytes += bytes;
    if (t->live_bytes > t->peak_bytes) t->peak_bytes = t->live_bytes;
    return id;
}

int pool_trace_free(pool_trace *t, uint32_t id, uint64_t bytes) {
    if (t->unused_count == t->unused_capacity) {
        size_t capacity = t->unused_capacity ? 2 * t->unused_capacity : 256;
        uint32_t *unused = realloc(t->unused, capacity * sizeof *unused);
        if (!unused) return -1;
        t->unused = unused;
        t->unused_capacity = capacity;
    }
    t->unused[t->unused_count++] = id;
    t->live_bytes -= bytes;
    return append(t, (pool_trace_op){POOL_TRACE_FREE, id, 0, 0});
}

int pool_trace_frame(pool_trace *t) {
    t->frames++;
    return append(t, (pool_trace_op){POOL_TRACE_FRAME, 0, 0, 0});
}

/* ---- Files ----------------------------------------------------------------------------------- */

/* Live ids of a file: an open hash table that is rebuilt when half of it is used. */
typedef struct live_id {
    uint64_t name, bytes;
    uint32_t id;
    int state; /* 0 empty, 1 live, 2 was live */
} live_id;

typedef struct live_ids {
    live_id *table;
    size_t size, used;
} live_ids;

static live_id *look_up(const live_ids *ids, uint64_t name) {
    if (!ids->size) return NULL;
    size_t i = (size_t)(name * UINT64_C(0x9E3779B97F4A7C15) >> 20) & (ids->size - 1);
    for (; ids->table[i].state; i = (i + 1) & (ids->size - 1))
        if (ids->table[i].state == 1 && ids->table[i].name == name) return &ids->table[i];
    return NULL;
}

static void put(live_ids *ids, live_id entry) {
    size_t i = (size_t)(entry.name * UINT64_C(0x9E3779B97F4A7C15) >> 20) & (ids->size - 1);
    while (ids->table[i].state) i = (i + 1) & (ids->size - 1);
    ids->table[i] = entry;
    ids->used++;
}

static int insert(live_ids *ids, live_id entry) {
    if (2 * ids->used >= ids->size) {
        size_t live = 0;
        for (size_t i = 0; i < ids->size; i++) live += ids->table[i].state == 1;
        live_ids bigger = {.size = 1024};
        while (bigger.size < 4 * (live + 1)) bigger.size *= 2;
        bigger.table = calloc(bigger.size, sizeof *bigger.table);
        if (!bigger.table) return -1;
        for (size_t i = 0; i < ids->size; i++)
            if (ids->table[i].state == 1) put(&bigger, ids->table[i]);
        free(ids->table);
        *ids = bigger;
    }
    put(ids, entry);
    return 0;
}

/* Takes a number that follows a blank. 0: there is none, or it does not fit. */
static int take_number(const char **at, int base, uint64_t *number) {
    const char *digit = *at + strspn(*at, " \t");
    char *end = NULL;
    if (digit == *at || !isxdigit((unsigned char)*digit)) return 0;
    errno = 0;
    *number = strtoull(digit, &end, base);
    *at = end;
    return end > digit && !errno;
}

static int is_end(const char *at) {
    return at[strspn(at, " \t\r\n")] == 0;
}

static const char *read_alloc(pool_trace *t, live_ids *ids, const char *at) {
    uint64_t name, bytes;
    int is_read = take_number(&at, 16, &name) && take_number(&at, 10, &bytes) && bytes;
    const char *mark = at + strspn(at, " \t");
    int movable = mark > at && *mark == 'm';
    if (!is_read || !is_end(movable ? mark + 1 : at))
        return "expected 'a ID BYTES' or 'a ID BYTES m'";
    if (look_up(ids, name)) return "the ID is that of a live allocation";
    if (bytes > UINT64_MAX - t->live_bytes)
        return "what is live has more bytes than 64 bits can count";
    int64_t id = pool_trace_alloc(t, bytes, movable);
    return id < 0 || insert(ids, (live_id){name, bytes, (uint32_t)id, 1}) ? "no memory" : NULL;
}

static const char *read_free(pool_trace *t, live_ids *ids, const char *at) {
    uint64_t name;
    if (!take_number(&at, 16, &name) || !is_end(at)) return "expected 'f ID'";
    live_id *live = look_up(ids, name);
    if (!live) return "no live allocation has that ID";
    live->state = 2;
    return pool_trace_free(t, live->id, live->bytes) ? "no memory" : NULL;
}

static const char *read_movable(pool_trace *t, live_ids *ids, const char *at) {
    uint64_t name, movable;
    if (!take_number(&at, 16, &name) || !take_number(&at, 10, &movable) || movable > 1 ||
        !is_end(at))
        return "expected 'm ID 0' or 'm ID 1'";
    live_id *live = look_up(ids, name);
    if (!live) return "no live allocation has that ID";
    return append(t, (pool_trace_op){POOL_TRACE_MOVABLE, live->id, 0, (int)movable}) ? "no memory"
                                                                                     : NULL;
}

/* NULL, or what is wrong with the line. */
static const char *read_line(pool_trace *t, live_ids *ids, const char *line) {
    if (line[0] == '#' || is_end(line)) return NULL;
    if (line[0] == 'a') return read_alloc(t, ids, line + 1);
    if (line[0] == 'f') return read_free(t, ids, line + 1);
    if (line[0] == 'm') return read_movable(t, ids, line + 1);
    if (line[0] != 'e' || !is_end(line + 1))
        return "expected a line that begins with a, f, m, e or #";
    return pool_trace_frame(t) ? "no memory" : NULL;
}

/* The rest of a line that is longer than the reader's, if it is a comment. */
static const char *skip_rest(FILE *file, const char *line) {
    if (strchr(line, '\n') || feof(file)) return NULL;
    if (line[0] != '#') return "longer than 254 characters";
    for (int c = 0; c != '\n' && c != EOF;) c = fgetc(file);
    return NULL;
}

int pool_trace_read_stream(pool_trace *trace, FILE *file, const char *name, bench_error *error) {
    memset(trace, 0, sizeof *trace);
    live_ids ids = {0};
    char line[256];
    const char *wrong = NULL;
    unsigned number = 0;
    while (!wrong && fgets(line, sizeof line, file)) {
        number++;
        wrong = skip_rest(file, line);
        if (!wrong) wrong = read_line(trace, &ids, line);
    }
    if (!wrong && ferror(file)) wrong = "it cannot be read";
    if (!wrong && !trace->allocs) wrong = "the trace has no allocation";
    fclose(file);
    free(ids.table);
    if (!wrong) return 0;
    pool_trace_release(trace);
    return bench_error_set(error, "%.200s, line %u: %s", name, number, wrong);
}

int pool_trace_read(pool_trace *trace, const char *path, bench_error *error) {
    memset(trace, 0, sizeof *trace);
    FILE *file = fopen(path, "r");
    if (!file) return bench_error_set(error, "%.200s: %s", path, strerror(errno));
    return pool_trace_read_stream(trace, file, path, error);
}

int pool_trace_write(const pool_trace *trace, const char *path, bench_error *error) {
    FILE *file = fopen(path, "w");
    if (!file) return bench_error_set(error, "%.200s: %s", path, strerror(errno));
    fprintf(file, "# clump pool trace 1\n");
    for (size_t i = 0; i < trace->count; i++) {
        const pool_trace_op *op = &trace->ops[i];
        switch (op->kind) {
        case POOL_TRACE_ALLOC:
            fprintf(file, "a %x %llu%s\n", op->id, (unsigned long long)op->bytes,
                    op->movable ? " m" : "");
            break;
        case POOL_TRACE_FREE: fprintf(file, "f %x\n", op->id); break;
        case POOL_TRACE_MOVABLE: fprintf(file, "m %x %d\n", op->id, op->movable); break;
        case POOL_TRACE_FRAME: fprintf(file, "e\n"); break;
        }
    }
    int failed = ferror(file);
    if (fclose(file) || failed) return bench_error_set(error, "%.200s: cannot be written", path);
    return 0;
}
