/* Model checker: all interleavings of a few threads on a tiny heap.
 *
 * Depth-first search over states. A state is the heap, what the executor knows beside it, and the
 * stack and registers of each thread, which is all that the future depends on. States seen before
 * (128-bit hashes) are not explored again. To go back, heap and stacks are copied from a snapshot:
 * much faster than running every schedule from the start.
 *
 * A cycle in the graph of states would be a schedule without an end, and is a fault. So the number
 * of schedules that the graph stands for is a sum over successors; it is kept with each state.
 */
#ifndef CLUMP_TESTS_EXPLORE_H
#define CLUMP_TESTS_EXPLORE_H

/* After the quick sweep two take back what is reserved for others, and the fourth one finds it. Not
 * more of them, since each is a state; that more would not be needed for anything, the checks of
 * null say. */
#define HOSTED_SWEEPS 4u
#include "tests/protocol/executor.h"

#include <time.h>

typedef struct explore_entry {
    hash128 hash;     /* 0, 0: empty */
    double schedules; /* negative while the search is below the state */
} explore_entry;

typedef struct explore_frame {
    char *copy;
    size_t copy_bytes;
    size_t stack_bytes[EXEC_THREADS];
    uint thread, choice; /* tried last */
    exec_op done;        /* what that was, and what it returned, for the trace */
    hash128 hash;
    double schedules;
} explore_frame;

typedef struct explore_total {
    ulong programs, states, steps, ends;
    double schedules;
    ulong most_states;
    uint deepest;
} explore_total;

static explore_total explored;
static explore_entry *explore_table;
static size_t explore_slots, explore_used;
static explore_frame *explore_frames;
static uint explore_frame_count;
static int explore_quiet;

/* ---- Seen states ---- */

static explore_entry *explore_find(hash128 h) {
    size_t i = h.a & (explore_slots - 1);
    while ((explore_table[i].hash.a | explore_table[i].hash.b) &&
           (explore_table[i].hash.a != h.a || explore_table[i].hash.b != h.b))
        i = (i + 1) & (explore_slots - 1);
    return &explore_table[i];
}

static void explore_resize(size_t slots) {
    explore_entry *old = explore_table;
    size_t count = explore_slots;
    explore_table = calloc(slots, sizeof *explore_table);
    if (!explore_table) abort();
    explore_slots = slots;
    for (size_t i = 0; i < count; i++)
        if (old[i].hash.a | old[i].hash.b) *explore_find(old[i].hash) = old[i];
    free(old);
}

/* NULL if the state is new; it is remembered then. */
static explore_entry *explore_seen(hash128 h) {
    if (explore_used * 2 >= explore_slots) explore_resize(explore_slots * 2);
    explore_entry *e = explore_find(h);
    if (e->hash.a | e->hash.b) return e;
    e->hash = h;
    e->schedules = -1;
    explore_used++;
    return NULL;
}

static hash128 explore_hash(void) {
    hash128 h = hash_more(world->memory, world->expected_reports);
    for (uint i = 0; i < exec.threads; i++) {
        const exec_thread *t = &world->threads[i];
        h = hash_more(hash_more(h, t->hash.a), t->hash.b);
        h = hash_more(h, t->room << 4 | t->was_given << 3 | t->in_call << 1 | t->routine.done);
        for (uint k = 0; k < t->stale_count; k++) {
            const exec_stale *s = &t->stale[k];
            h = hash_more(hash_more(h, (ulong)s->offset << 16 | s->writer << 1 | s->fenced),
                          s->value);
        }
    }
    h.a |= 1;
    return h;
}

/* ---- Snapshots ---- */

static void explore_save(explore_frame *f) {
    size_t state = offsetof(exec_state, heap.image) + world->heap.bytes, need = state;
    for (uint i = 0; i < exec.threads; i++) {
        const routine *r = &world->threads[i].routine;
        f->stack_bytes[i] = r->done ? 0 : (size_t)(exec_stack(i) + ROUTINE_STACK_BYTES - r->low);
        need += f->stack_bytes[i];
    }
    if (f->copy_bytes < need) {
        free(f->copy);
        f->copy = malloc(need);
        if (!f->copy) abort();
        f->copy_bytes = need;
    }
    memcpy(f->copy, world, state);
    char *to = f->copy + state;
    for (uint i = 0; i < exec.threads; to += f->stack_bytes[i++])
        memcpy(to, exec_stack(i) + ROUTINE_STACK_BYTES - f->stack_bytes[i], f->stack_bytes[i]);
    f->thread = f->choice = 0;
    f->schedules = 0;
}

static void explore_restore(const explore_frame *f) {
    size_t state = offsetof(exec_state, heap.image) + world->heap.bytes;
    memcpy(world, f->copy, state);
    const char *from = f->copy + state;
    for (uint i = 0; i < exec.threads; from += f->stack_bytes[i++])
        memcpy(exec_stack(i) + ROUTINE_STACK_BYTES - f->stack_bytes[i], from, f->stack_bytes[i]);
}

static explore_frame *explore_push(uint depth) {
    if (depth >= explore_frame_count) {
        uint count = depth + 256;
        explore_frames = realloc(explore_frames, count * sizeof *explore_frames);
        if (!explore_frames) abort();
        memset(explore_frames + explore_frame_count, 0,
               (count - explore_frame_count) * sizeof *explore_frames);
        explore_frame_count = count;
    }
    explore_save(&explore_frames[depth]);
    return &explore_frames[depth];
}

/* ---- Reports ---- */

static void program_print(const program *p) {
    static const char *const names[] = {
        "new of class", "free own", "free all",    "free old",    "free first of thread",
        "run of",       "free run", "trim run to", "free old run"};
    for (uint i = 0; i < p->count; i++) {
        const program_op *o = &p->ops[i];
        if (o->kind == PROGRAM_NEW)
            printf(" %s %u, %u objects;", names[o->kind], o->class_id, o->n);
        else
            printf(" %s %u;", names[o->kind], o->n);
    }
}

static void explore_setting(void) {
    printf("heap %s, rotate %u, retries %u, %u-bit words%s\n", exec.spec->name, hosted_rotate,
           hosted_retries, CLUMPI_WORD_BITS, exec.weak ? ", weak memory" : "");
    for (uint i = 0; i < exec.threads; i++) {
        printf("  thread %u:", i);
        program_print(exec.programs[i]);
        printf("\n");
    }
}

/* What a cell is, in words. */
static void explore_cell(const exec_op *o, char *text, size_t size) {
    clumpi_view v = tiny_view(&world->heap);
    uint offset = (uint)((uchar *)o->cell - world->heap.image);
#define EXPLORE_IN(array, bytes)                                                                   \
    (offset >= v.header->at_##array * CLUMPI_UNIT &&                                               \
     offset < v.header->at_##array * CLUMPI_UNIT + (bytes))
    uint end = v.header->block_end, sets = v.header->class_count + 1u;
    if (o->kind == HOSTED_FENCE || o->kind == HOSTED_FENCE_ACQ_REL)
        snprintf(text, size, "-");
    else if (EXPLORE_IN(states, end * 4u))
        snprintf(text, size, "state[%u]", (offset - v.header->at_states * CLUMPI_UNIT) / 4u);
    else if (EXPLORE_IN(bits, end * v.header->block_granules * 8u))
        snprintf(text, size, "bits[%u]", (offset - v.header->at_bits * CLUMPI_UNIT) / 8u);
    else if (EXPLORE_IN(stripes, sets * TINY_STRIPES * sizeof(clumpi_stripe)))
        snprintf(text, size, "stripe[class %u, %u]",
                 (uint)((offset - v.header->at_stripes * CLUMPI_UNIT) / sizeof(clumpi_stripe)) /
                     TINY_STRIPES,
                 (uint)((offset - v.header->at_stripes * CLUMPI_UNIT) / sizeof(clumpi_stripe)) %
                     TINY_STRIPES);
    else if (EXPLORE_IN(hints, sets * v.header->hint_words * 4u))
        snprintf(text, size, "hint[set %u, word %u]",
                 (offset - v.header->at_hints * CLUMPI_UNIT) / 4u / v.header->hint_words,
                 (offset - v.header->at_hints * CLUMPI_UNIT) / 4u % v.header->hint_words);
    else if (EXPLORE_IN(classes, sets * sizeof(clumpi_class)))
        snprintf(text, size, "class[%u]+%u",
                 (uint)((offset - v.header->at_classes * CLUMPI_UNIT) / sizeof(clumpi_class)),
                 (uint)((offset - v.header->at_classes * CLUMPI_UNIT) % sizeof(clumpi_class)));
    else
        snprintf(text, size, "header+%u", offset - TINY_HEADER_AT * CLUMPI_UNIT);
#undef EXPLORE_IN
}

static void exec_print_op(uint thread, const exec_op *o) {
    static const char *const kinds[] = {"load",    "store",       "add",        "sub",
                                        "or",      "and",         "cas",        "fence",
                                        "release", "load cached", "add64",      "cas64",
                                        "load64",  "bits load",   "bits claim", "bits release"};
    char cell[64];
    explore_cell(o, cell, sizeof cell);
    printf("    %u %s:%d %s %s value %lx expected %lx -> %lx\n", thread, o->site.function,
           o->site.line, kinds[o->kind], cell, o->value, o->expected, o->result);
}

static void explore_failed(uint depth) {
    printf("FAULT: %s\n", exec.failure);
    explore_setting();
    for (uint i = 0; i <= depth; i++)
        exec_print_op(explore_frames[i].thread, &explore_frames[i].done);
}

/* ---- Search ---- */

static int explore_all_done(void) {
    for (uint i = 0; i < exec.threads; i++)
        if (!world->threads[i].routine.done) return 0;
    return 1;
}

/* Choose the frame's next step. Returns 0 if there is none. */
static int explore_next(explore_frame *f, int *first) {
    if (!*first) f->choice++;
    *first = 0;
    for (; f->thread < exec.threads; f->thread++, f->choice = 0) {
        const exec_thread *t = &world->threads[f->thread];
        if (!t->routine.done && f->choice < exec_choices(t)) return 1;
    }
    return 0;
}

/* Explore everything from the state at hand. Returns 0 if a fault was found. */
static int explore_search(void) {
    uint depth = 0;
    int first = 1, at_frame = 1;
    explore_push(0)->hash = explore_hash();
    explore_seen(explore_frames[0].hash);
    for (;;) {
        explore_frame *f = &explore_frames[depth];
        if (!at_frame) explore_restore(f);
        if (!explore_next(f, &first)) {
            explore_find(f->hash)->schedules = f->schedules;
            double schedules = f->schedules;
            if (depth-- == 0) {
                explored.schedules += schedules;
                return 1;
            }
            explore_frames[depth].schedules += schedules;
            at_frame = 0;
            continue;
        }
        exec_thread *t = &world->threads[f->thread];
        f->done = t->pending;
        exec_step(t, f->choice);
        f->done.result = exec.last_result;
        explored.steps++;
        hash128 h = explore_hash();
        const explore_entry *seen = exec.failure[0] ? NULL : explore_seen(h);
        int end = !exec.failure[0] && explore_all_done();
        if (end && !seen) {
            exec_check_end();
            explore_find(h)->schedules = 1;
            explored.ends++;
        }
        if (seen && seen->schedules < 0) exec_fail("a schedule that never ends");
        if (exec.failure[0]) {
            explore_failed(depth);
            return 0;
        }
        at_frame = 0;
        if (end || seen) {
            f->schedules += end ? 1 : seen->schedules;
            continue;
        }
        if (++depth > explored.deepest) explored.deepest = depth;
        explore_push(depth)->hash = h;
        first = at_frame = 1;
    }
}

/* Notice what the programs can do to each other. */
static void explore_classify(uint threads) {
    uint news = 0, doubles = 0, freed_old[64] = {0};
    exec.has_frees = 0;
    for (uint i = 0; i < threads; i++) {
        uint freed_own[EXEC_REFS] = {0};
        for (uint k = 0; k < exec.programs[i]->count; k++) {
            const program_op *o = &exec.programs[i]->ops[k];
            if (o->kind == PROGRAM_NEW)
                news++;
            else
                exec.has_frees = 1;
            if (o->kind == PROGRAM_FREE) doubles += freed_own[o->n]++ > 0;
            if (o->kind == PROGRAM_FREE_OLD) doubles += freed_old[o->n]++ > 0;
        }
    }
    exec.loose = doubles && news;
}

/* Explore one set of programs on one heap. Returns 0 if a fault was found. */
static int explore(const tiny_spec *spec, const program *const *programs, uint threads) {
    for (uint i = 0; i < threads; i++) exec.programs[i] = programs[i];
    explore_classify(threads);
    if (explore_slots != 4096) {
        free(explore_table);
        explore_table = NULL;
        explore_slots = 0;
        explore_resize(4096);
    } else {
        memset(explore_table, 0, explore_slots * sizeof *explore_table);
    }
    explore_used = 0;
    if (!exec_begin(spec, threads)) {
        printf("heap %s does not fit\n", spec->name);
        return 0;
    }
    ulong steps = explored.steps;
    int good = explore_search();
    explored.programs++;
    explored.states += explore_used;
    if (explore_used > explored.most_states) explored.most_states = explore_used;
    if (!explore_quiet && good) {
        explore_setting();
        printf("  %zu states, %lu steps\n", explore_used, explored.steps - steps);
    }
    return good;
}

static double explore_seconds(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

static double explore_since;

/* One line about what was explored since the last summary. */
static void explore_summary(const char *what) {
    double now = explore_seconds();
    printf(
        "%-52s %6lu programs %10lu states %10lu steps %8.1e schedules, most states %8lu, "
        "deepest %4u, %.1f s\n",
        what, explored.programs, explored.states, explored.steps, explored.schedules,
        explored.most_states, explored.deepest, now - explore_since);
    fflush(stdout);
    explore_since = now;
    memset(&explored, 0, sizeof explored);
}

#endif
