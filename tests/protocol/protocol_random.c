/* Thousands of random schedules: up to 16 threads, blocks and classes of several sizes, random
 * programs. Seeds are fixed; the seed of a failing run is printed, and `protocol_random SEED`
 * repeats it alone.
 */
#define EXEC_THREADS 16u
#define EXEC_REFS 24u
#define TINY_GRANULES 256u
#include "tests/protocol/executor.h"

#define RUNS 10000u

static ulong random_state;

static uint random_below(uint n) {
    random_state += 0x9e3779b97f4a7c15ul;
    return (uint)(exec_mix(random_state) >> 16) % n;
}

/* Some or all of the free slots of some blocks. */
static void random_reservation(tiny_spec *spec) {
    uint closed[TINY_CLASSES][TINY_STRIPES] = {0}; /* a row that is not full was the last */
    spec->stripes = 1 + random_below(TINY_STRIPES);
    for (uint b = 0; b < spec->blocks && spec->reserved_count < TINY_RESERVED; b++) {
        uint in_use = b < spec->filled_count, s = random_below(spec->stripes);
        uint id = in_use ? spec->filled[b].class_id : 1 + random_below(spec->class_count);
        uint room =
            spec->classes[id - 1].rows * spec->per_row - (in_use ? spec->filled[b].live : 0);
        uint empty = !in_use && random_below(2);
        if (!room || closed[id - 1][s] || random_below(4) == 0) continue;
        if (empty && spec->per_row < 64) {
            room = spec->per_row;
            closed[id - 1][s] = 1;
        }
        uint slots = empty || random_below(2) ? room : 1 + random_below(room);
        if (!empty) slots = min(slots, 32); /* the list of holes has room for those */
        spec->reserved[spec->reserved_count].stripe = s;
        spec->reserved[spec->reserved_count].block = b;
        spec->reserved[spec->reserved_count].class_id = id;
        spec->reserved[spec->reserved_count].slots = slots;
        spec->reserved[spec->reserved_count++].empty = empty;
    }
}

static void random_heap(tiny_spec *spec) {
    memset(spec, 0, sizeof *spec);
    spec->name = "random";
    spec->blocks = 1 + random_below(12);
    spec->first_block = random_below(2) ? 1 : 32 - random_below(spec->blocks + 1);
    if (!spec->first_block) spec->first_block = 1;
    spec->block_granules = 1 + random_below(4);
    spec->per_row = random_below(4) ? 1 + random_below(3) : 1 + random_below(64);
    spec->class_count = 1 + random_below(3);
    for (uint c = 0; c < spec->class_count; c++) {
        spec->classes[c].row_granules = 1 + random_below(spec->block_granules);
        spec->classes[c].rows = spec->block_granules / spec->classes[c].row_granules;
    }
    spec->filled_count = random_below(min(spec->blocks, TINY_FILLED) + 1);
    for (uint i = 0; i < spec->filled_count; i++) {
        uint id = 1 + random_below(spec->class_count);
        spec->filled[i].block = i;
        spec->filled[i].class_id = id;
        spec->filled[i].live = 1 + random_below(spec->classes[id - 1].rows * spec->per_row);
    }
    spec->spent = random_below(2);
    if (random_below(2)) random_reservation(spec);
}

/* Old objects are given out one by one, so that nobody frees what another has freed; except that
 * with
 * `stale` frees may repeat. */
static void random_program(program *p, uint classes, uint *old, uint old_count, uint stale,
                           uint frees) {
    uint news = 0;
    p->count = 1 + random_below(EXEC_OPS_OF_PROGRAM);
    for (uint i = 0; i < p->count; i++) {
        program_op *o = &p->ops[i];
        uint what = random_below(4);
        *o = (program_op){PROGRAM_NEW, (uchar)(1 + random_below(classes)), 1};
        if (!frees || what < 2) {
            if (random_below(3) == 0) o->n = (uchar)(1 + random_below(5));
            news += o->n;
        } else if (what == 2 && (*old < old_count || (stale && old_count))) {
            uint which = stale ? random_below(old_count) : (*old)++;
            *o = (program_op){PROGRAM_FREE_OLD, 0, (uchar)which};
        } else if (stale && news && random_below(2)) {
            *o = (program_op){PROGRAM_FREE, 0, (uchar)random_below(min(news, EXEC_REFS))};
        } else {
            *o = (program_op){PROGRAM_FREE_ALL, 0, 0};
            if (!stale) news = 0;
        }
    }
}

/* Runs all threads to their end. A thread runs a burst of operations at a time; the longer, the
 * more others see it stand still in the middle of something. */
static void random_schedule(void) {
    uint burst = 1 + random_below(30), left = 0;
    for (uint i = 0; i < exec.threads; i++) left += !world->threads[i].routine.done;
    while (left && !exec.failure[0]) {
        exec_thread *t = &world->threads[random_below(exec.threads)];
        if (t->routine.done) continue;
        for (uint n = random_below(burst) + 1; n && !t->routine.done && !exec.failure[0]; n--)
            exec_step(t, random_below(exec_choices(t)));
        left -= t->routine.done;
    }
}

static int random_run(uint seed) {
    static program programs[EXEC_THREADS];
    tiny_spec spec;
    random_state = seed * 0x9e3779b97f4a7c15ul;
    random_heap(&spec);
    uint threads = 4 + random_below(13), stale = random_below(4) == 0, old = 0, old_count = 0;
    hosted_rotate = random_below(2);
    hosted_retries = 1 + random_below(8);
    exec.weak = random_below(3) == 0;
    exec.has_frees = stale || random_below(4);
    exec.loose = stale;
    exec.step_bound = 20000;
    for (uint i = 0; i < spec.filled_count; i++) old_count += spec.filled[i].live;
    for (uint i = 0; i < threads; i++) {
        random_program(&programs[i], spec.class_count, &old, min(old_count, 64), stale,
                       exec.has_frees);
        exec.programs[i] = &programs[i];
    }
    if (!exec_begin(&spec, threads)) exec_fail("the heap does not fit");
    random_schedule();
    if (!exec.failure[0]) exec_check_end();
    if (exec.failure[0])
        printf(
            "FAULT: %s (seed %u, %u threads, %u blocks, %u reservations, rotate %u, retries "
            "%u%s%s)\n",
            exec.failure, seed, threads, spec.blocks, spec.reserved_count, hosted_rotate,
            hosted_retries, exec.weak ? ", weak" : "", stale ? ", stale frees" : "");
    return !exec.failure[0];
}

int main(int argc, char **argv) {
    if (!routine_supported()) return 77;
    if (argc > 1) return !random_run((uint)strtoul(argv[1], NULL, 0));
    ulong made = 0, nulls = 0, refused = 0, taken_back = 0;
    for (uint seed = 1; seed <= RUNS; seed++) {
        if (!random_run(seed)) return 1;
        made += world->allocated;
        taken_back += (uint)tiny_took_back(&world->heap);
        refused += world->expected_reports;
        for (uint i = 0; i < exec.threads; i++) nulls += world->threads[i].nulls != 0;
    }
    printf(
        "%u runs, %lu operations, %lu objects made, %lu threads met null, %lu frees refused; in "
        "%lu runs reserved slots were taken back\n",
        RUNS, exec.operations, made, nulls, refused, taken_back);
    return 0;
}
