/* What the variants on a device have in common. See device.h. */
#include "device.h"

#include <stdio.h>
#include <string.h>

/* ---- Steps ----------------------------------------------------------------------------------- */

/* The first iteration is measured by kernel, the others as a whole. */
enum { PHASE_FORCE = 1, PHASE_MOVE, PHASE_REST, PHASE_SEARCH };

const char *const *structure_world_phases(const structure_rules *rules) {
    static const char *const joining[STRUCTURE_PHASES] = {
        "pull",         "compute_force", "move", "other_iterations",
        "begin_search", "join",          "mark", "remove_loose"};
    static const char *const by_levels[STRUCTURE_PHASES] = {
        "pull",         "compute_force", "move", "other_iterations",
        "begin_search", "visit",         "mark", "remove_loose"};
    return rules->by_levels ? by_levels : joining;
}

static cl_event *event_of(cl_event *events, int phase) {
    return events ? &events[phase] : NULL;
}

static int run(structure_device *device, structure_kernel kernel, cl_event *event,
               bench_error *error) {
    return device->runner->run(device->self, kernel, event, error);
}

static int iterate(structure_device *device, cl_event *events, bench_error *error) {
    uint32_t iterations = device->rules.iterations;
    for (uint32_t i = 0; i < iterations; i++) {
        cl_event *force = i == 0 ? event_of(events, PHASE_FORCE) : NULL;
        cl_event *move = i == 0                ? event_of(events, PHASE_MOVE)
                         : i == iterations - 1 ? event_of(events, PHASE_REST)
                                               : NULL;
        if (run(device, STRUCTURE_FORCE, force, error) ||
            run(device, STRUCTURE_MOVE, move, error)) {
            return -1;
        }
    }
    if (events && iterations == 1) { /* no others */
        clRetainEvent(events[PHASE_MOVE]);
        events[PHASE_REST] = events[PHASE_MOVE];
    }
    return 0;
}

/* One pass more. *event is that of the last. */
static int visit(structure_device *device, cl_uint level, cl_event *event, bench_error *error) {
    const bench_arg arg = {STRUCTURE_VISIT, 1, sizeof level, &level};
    if (event && *event) {
        clReleaseEvent(*event);
        *event = NULL;
    }
    return device->runner->set(device->self, &arg, 1, error) ||
                   run(device, STRUCTURE_VISIT, event, error)
               ? -1
               : 0;
}

/* As many passes as the search before took are enqueued at once, since depths change slowly; then
 * the host looks whether there is a level that none has come to. */
static int visit_all(structure_device *device, cl_event *event, bench_error *error) {
    cl_uint done = 0, deepest = 0;
    if (event) {
        *event = NULL;
    }
    do {
        do {
            if (visit(device, done, event, error)) {
                return -1;
            }
        } while (++done < device->passes);
        if (bench_buffer_read(device->buffers, device->own.deepest, 0, sizeof deepest, &deepest,
                              error)) {
            return -1;
        }
    } while (deepest >= done);
    device->passes = deepest + 1;
    return 0;
}

static int search(structure_device *device, cl_event *events, bench_error *error) {
    if (run(device, STRUCTURE_BEGIN_SEARCH, event_of(events, PHASE_SEARCH), error)) {
        return -1;
    }
    cl_event *event = event_of(events, PHASE_SEARCH + 1);
    return (device->rules.by_levels ? visit_all(device, event, error)
                                    : run(device, STRUCTURE_JOIN, event, error)) ||
                   run(device, STRUCTURE_MARK, event_of(events, PHASE_SEARCH + 2), error) ||
                   run(device, STRUCTURE_REMOVE, event_of(events, PHASE_SEARCH + 3), error)
               ? -1
               : 0;
}

int structure_run_step(structure_device *device, cl_event *events, bench_error *error) {
    cl_uint is_searched = device->steps++ == 0 || device->rules.by_levels;
    const bench_arg arg = {STRUCTURE_PULL, 2, sizeof is_searched, &is_searched};
    return device->runner->set(device->self, &arg, 1, error) ||
                   run(device, STRUCTURE_PULL, event_of(events, 0), error) ||
                   iterate(device, events, error) || search(device, events, error)
               ? -1
               : 0;
}

/* ---- Buffers and arguments ------------------------------------------------------------------- */

void structure_write_options(const structure_rules *rules, char text[STRUCTURE_OPTIONS_BYTES]) {
    snprintf(text, STRUCTURE_OPTIONS_BYTES, "-DPULLED_HOLD=%d -DBARE_STAY=%d -DSEARCH_LEVELS=%d",
             rules->pulled_hold != 0, rules->bare_stay != 0, rules->by_levels != 0);
}

int structure_create_buffers(structure_device *device, const structure_network *network,
                             bench_error *error) {
    bench_buffers *buffers = device->buffers;
    structure_buffers *own = &device->own;
    size_t words = (size_t)network->node_count * STRUCTURE_NODE_WORDS + network->spring_count;
    return bench_buffer_create(buffers, 1, sizeof(cl_uint), NULL, &own->changed, error) ||
                   bench_buffer_create(buffers, 1, sizeof(cl_uint), NULL, &own->deepest, error) ||
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
        {STRUCTURE_BEGIN_SEARCH, 1, sizeof own->deepest, &own->deepest},
        {STRUCTURE_VISIT, 0, sizeof own->deepest, &own->deepest},
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

int structure_read_state(structure_device *device, structure_state *state, bench_error *error) {
    size_t bytes = structure_state_bytes(state);
    cl_mem buffer = device->own.state;
    return bench_buffer_clear(device->buffers, buffer, bytes, error) ||
                   run(device, STRUCTURE_WRITE, NULL, error) ||
                   bench_buffer_read(device->buffers, buffer, 0, bytes, state->words, error)
               ? -1
               : 0;
}
