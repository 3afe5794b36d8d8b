/* What the variants on a device have in common. See device.h. */
#include "device.h"

#include <string.h>

/* ---- Steps ----------------------------------------------------------------------------------- */

/* The first iteration is measured by kernel, the others as a whole. */
enum { PHASE_FORCE = 1, PHASE_MOVE, PHASE_REST, PHASE_SEARCH };

const char *const structure_phase_names[STRUCTURE_PHASES] = {
    "pull",         "compute_force", "move", "other_iterations",
    "begin_search", "join",          "mark", "remove_loose"};

static cl_event *event_of(cl_event *events, int phase) {
    return events ? &events[phase] : NULL;
}

static int iterate(structure_run_kernel *run, void *self, uint32_t iterations, cl_event *events,
                   bench_error *error) {
    for (uint32_t i = 0; i < iterations; i++) {
        cl_event *force = i == 0 ? event_of(events, PHASE_FORCE) : NULL;
        cl_event *move = i == 0                ? event_of(events, PHASE_MOVE)
                         : i == iterations - 1 ? event_of(events, PHASE_REST)
                                               : NULL;
        if (run(self, STRUCTURE_FORCE, force, error) || run(self, STRUCTURE_MOVE, move, error)) {
            return -1;
        }
    }
    if (events && iterations == 1) { /* no others */
        clRetainEvent(events[PHASE_MOVE]);
        events[PHASE_REST] = events[PHASE_MOVE];
    }
    return 0;
}

int structure_run_step(structure_run_kernel *run, void *self, uint32_t iterations, cl_event *events,
                       bench_error *error) {
    if (run(self, STRUCTURE_PULL, event_of(events, 0), error) ||
        iterate(run, self, iterations, events, error)) {
        return -1;
    }
    for (int i = 0; i <= STRUCTURE_REMOVE - STRUCTURE_BEGIN_SEARCH; i++) {
        structure_kernel kernel = (structure_kernel)(STRUCTURE_BEGIN_SEARCH + i);
        if (run(self, kernel, event_of(events, PHASE_SEARCH + i), error)) {
            return -1;
        }
    }
    return 0;
}

/* ---- Buffers and arguments -------------------------------------------------------------------- */

int structure_create_buffers(bench_buffers *buffers, const structure_network *network,
                             structure_buffers *own, bench_error *error) {
    size_t words = (size_t)network->node_count * STRUCTURE_NODE_WORDS + network->spring_count;
    return bench_buffer_create(buffers, 1, sizeof(cl_uint), NULL, &own->changed, error) ||
                   bench_buffer_create(buffers, words, sizeof(cl_uint), NULL, &own->state, error)
               ? -1
               : 0;
}

void structure_list_args(const structure_rules *rules, const structure_buffers *own,
                         bench_arg args[STRUCTURE_ARGS]) {
    const bench_arg all[STRUCTURE_ARGS] = {
        {STRUCTURE_PULL, 0, sizeof own->changed, &own->changed},
        {STRUCTURE_PULL, 1, sizeof rules->dt, &rules->dt},
        {STRUCTURE_FORCE, 0, sizeof own->changed, &own->changed},
        {STRUCTURE_MOVE, 0, sizeof rules->dt, &rules->dt},
        {STRUCTURE_MOVE, 1, sizeof rules->keep, &rules->keep},
        {STRUCTURE_BEGIN_SEARCH, 0, sizeof own->changed, &own->changed},
        {STRUCTURE_JOIN, 0, sizeof own->changed, &own->changed},
        {STRUCTURE_MARK, 0, sizeof own->changed, &own->changed},
        {STRUCTURE_REMOVE, 0, sizeof own->changed, &own->changed},
        {STRUCTURE_WRITE, 0, sizeof own->state, &own->state}};
    memcpy(args, all, sizeof all);
}

/* ---- Sources and states ---------------------------------------------------------------------- */

const char *const structure_sources[] = {"bench/apps/collision/rules.clh",
                                         "bench/apps/structure/rules.clh",
                                         "bench/apps/structure/search.clh", NULL};

int structure_read_state(structure_run_kernel *run, void *self, bench_buffers *buffers,
                         cl_mem buffer, structure_state *state, bench_error *error) {
    size_t bytes = structure_state_bytes(state);
    return bench_buffer_clear(buffers, buffer, bytes, error) ||
                   run(self, STRUCTURE_WRITE, NULL, error) ||
                   bench_buffer_read(buffers, buffer, 0, bytes, state->words, error)
               ? -1
               : 0;
}
