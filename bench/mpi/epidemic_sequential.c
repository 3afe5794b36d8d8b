/* The epidemic, one agent after the other. See epidemic.h. */
#include <stdlib.h>
#include <string.h>

#include "epidemic.h"

typedef struct agent {
    uint64_t identity;
    uint32_t cell, state;
} agent;

/* counts: infected agents of each cell at the beginning of the step, and at its end. */
typedef struct world {
    agent *agents;
    uint64_t count, room;
    uint32_t *counts[2];
    uint32_t pressures[EPIDEMIC_PRESSURES];
} world;

void epidemic_make_pressures(uint32_t contagion, uint32_t pressures[EPIDEMIC_PRESSURES]) {
    uint32_t safe = 65536;
    for (uint32_t i = 0; i < EPIDEMIC_PRESSURES; i++) {
        pressures[i] = safe ? 65536 - safe : 65535;
        safe = (uint32_t)((uint64_t)safe * (65536 - contagion) >> 16);
    }
}

uint64_t epidemic_checksum(const epidemic_totals *totals) {
    return totals->hashes + epidemic_mix(totals->births * EPIDEMIC_GAMMA + totals->deaths);
}

static int create(const epidemic_rules *rules, world *w) {
    w->count = (uint64_t)rules->cells * rules->density;
    w->room = w->count + w->count / 8 + 1024;
    w->agents = malloc(w->room * sizeof *w->agents);
    for (int i = 0; i < 2; i++) w->counts[i] = calloc(rules->cells, sizeof *w->counts[i]);
    if (!w->agents || !w->counts[0] || !w->counts[1]) return -1;
    epidemic_make_pressures(rules->contagion, w->pressures);
    for (uint64_t n = 0; n < w->count; n++) {
        const uint64_t identity = epidemic_identity(n, rules->seed);
        const uint32_t cell = (uint32_t)(n / rules->density);
        const uint32_t state = epidemic_first_state(identity, rules->infected, rules->duration);
        w->agents[n] = (agent){identity, cell, state};
        w->counts[0][cell] += (state & 3) == INFECTED;
    }
    return 0;
}

static uint32_t pressure_at(const epidemic_rules *rules, const world *w, uint32_t cell) {
    uint32_t infected = 0;
    for (uint32_t way = 0; way < 9; way++)
        infected += w->counts[0][epidemic_go(cell, way, 1u << rules->width_bits, rules->cells)];
    return w->pressures[infected < EPIDEMIC_PRESSURES ? infected : EPIDEMIC_PRESSURES - 1];
}

/* Children come after all agents, whom the loop does not visit. */
static int give_birth(world *w, agent child) {
    if (w->count == w->room) {
        agent *more = realloc(w->agents, 2 * w->room * sizeof *more);
        if (!more) return -1;
        w->agents = more;
        w->room *= 2;
    }
    w->agents[w->count++] = child;
    return 0;
}

static int step(const epidemic_rules *rules, world *w, uint32_t number, epidemic_totals *totals) {
    const uint64_t count = w->count;
    uint64_t kept = 0;
    memset(w->counts[1], 0, rules->cells * sizeof *w->counts[1]);
    for (uint64_t n = 0; n < count; n++) {
        agent a = w->agents[n];
        const uint64_t draw = epidemic_draw(a.identity, number);
        if (epidemic_fate(draw) < rules->death) {
            totals->deaths++;
            continue;
        }
        if (epidemic_fate(draw) < rules->death + rules->birth) {
            const agent child = {epidemic_child(a.identity, number), a.cell, SUSCEPTIBLE};
            if (give_birth(w, child)) return -1;
            totals->births++;
        }
        a.state = epidemic_next_state(a.state, draw, pressure_at(rules, w, a.cell), number,
                                      rules->duration);
        a.cell = epidemic_go(a.cell, epidemic_way(draw), 1u << rules->width_bits, rules->cells);
        w->counts[1][a.cell] += (a.state & 3) == INFECTED;
        w->agents[kept++] = a;
    }
    memmove(w->agents + kept, w->agents + count, (w->count - count) * sizeof *w->agents);
    w->count -= count - kept;
    uint32_t *counts = w->counts[0];
    w->counts[0] = w->counts[1];
    w->counts[1] = counts;
    return 0;
}

int epidemic_run_sequential(const epidemic_rules *rules, uint32_t steps, epidemic_totals *totals,
                            bench_error *error) {
    world w = {.agents = NULL};
    *totals = (epidemic_totals){.births = 0};
    int result = create(rules, &w);
    for (uint32_t i = 0; i < steps && !result; i++) result = step(rules, &w, i, totals);
    for (uint64_t n = 0; n < w.count && !result; n++) {
        const agent *a = &w.agents[n];
        totals->kinds[a->state & 3]++;
        totals->hashes += epidemic_hash(a->cell, a->identity, a->state);
    }
    free(w.agents);
    free(w.counts[0]);
    free(w.counts[1]);
    return result ? bench_error_set(error, "host memory ran out for the sequential program") : 0;
}
