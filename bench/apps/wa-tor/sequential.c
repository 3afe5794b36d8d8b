/* Wa-Tor in plain sequential C: the reference that every other variant must equal, cell by cell.
 *
 * The classes of the object-oriented program are arrays here:
 *
 *     cell_agent, cell_requests   by cell: number of the agent on it (0: none), requests to enter
 *                                 it (bit i: from neighbour i)
 *     agents                      by agent number, 1 .. cells: struct agent
 *     fish, sharks                the numbers of all live agents of the kind, without holes
 *     unused                      a stack of the agent numbers that are free
 *
 * Invariant: cell_agent[c] = a != 0 if and only if a is live and agents[a].position = c; so there
 * are never more agents than cells, and nothing needs to grow.
 *
 * Read first: model.h.
 */
#include <Random123/philox.h>
#include <stdlib.h>

#include "world.h"

#define KEY_WORD 0x57615472u /* "WaTr": keeps these numbers apart from other users of the seed */

struct agent {
    uint32_t kind;
    uint32_t position, new_position;
    uint32_t spawn_timer, energy; /* energy is 0 for fish */
    uint32_t slot;                /* index of its number in the list of its kind */
};

struct agent_list {
    uint32_t *ids;
    uint32_t count;
    uint32_t born; /* in the last step */
};

struct world {
    wa_tor_rules rules;
    uint32_t cells, iteration;
    uint32_t *cell_agent;
    uint8_t *cell_requests;
    struct agent *agents;
    struct agent_list fish, sharks;
    uint32_t *unused, unused_count;
    uint32_t *cell_order; /* NULL: cells are visited by index */
    uint32_t shuffle;     /* state of the order's generator, 0 for the natural order */
};

static philox4x32_ctr_t draw(const struct world *world, uint32_t cell, wa_tor_draw what) {
    philox4x32_ctr_t counter = {{cell, world->iteration, (uint32_t)what, 0}};
    philox4x32_key_t key = {{world->rules.seed, KEY_WORD}};
    return philox4x32(counter, key);
}

/* One of `count` candidates; one that is alone needs no random number. */
static uint32_t draw_index(const struct world *world, uint32_t cell, wa_tor_draw what,
                           uint32_t count) {
    return count > 1 ? draw(world, cell, what).v[0] % count : 0;
}

/* Neighbour 0 is to the left, 1 above, 2 to the right, 3 below; (i + 2) % 4 looks back. */
static void find_neighbors(const struct world *world, uint32_t cell, uint32_t at[4]) {
    uint32_t width = world->rules.width;
    uint32_t last_row = world->cells - width;
    uint32_t x = cell % width;
    at[0] = x > 0 ? cell - 1 : cell + width - 1;
    at[1] = cell >= width ? cell - width : cell + last_row;
    at[2] = x < width - 1 ? cell + 1 : cell - (width - 1);
    at[3] = cell < last_row ? cell + width : cell - last_row;
}

static struct agent *agent_make(struct world *world, struct agent_list *list, uint32_t kind,
                                uint32_t cell) {
    uint32_t id = world->unused[--world->unused_count];
    struct agent *agent = &world->agents[id];
    *agent = (struct agent){.kind = kind, .position = cell, .new_position = cell};
    agent->slot = list->count;
    list->ids[list->count++] = id;
    list->born++;
    world->cell_agent[cell] = id;
    return agent;
}

/* Takes the last of the list into the gap: a loop over the list that frees must run backwards. */
static void agent_free(struct world *world, struct agent_list *list, uint32_t id) {
    uint32_t last = list->ids[--list->count];
    uint32_t slot = world->agents[id].slot;
    list->ids[slot] = last;
    world->agents[last].slot = slot;
    world->unused[world->unused_count++] = id;
}

static struct agent *fish_make(struct world *world, uint32_t cell) {
    return agent_make(world, &world->fish, WA_TOR_KIND_FISH, cell);
}

static struct agent *shark_make(struct world *world, uint32_t cell) {
    struct agent *shark = agent_make(world, &world->sharks, WA_TOR_KIND_SHARK, cell);
    shark->energy = world->rules.shark_energy;
    return shark;
}

/* ---- Visiting in another order, for tests ---------------------------------------------------- */

static void permute(struct world *world, uint32_t *items, uint32_t count) {
    for (uint32_t i = count; i > 1; i--) {
        world->shuffle = world->shuffle * 1664525u + 1013904223u;
        uint32_t j = (uint32_t)((uint64_t)world->shuffle * i >> 32);
        uint32_t other = items[j];
        items[j] = items[i - 1];
        items[i - 1] = other;
    }
}

static void permute_list(struct world *world, struct agent_list *list) {
    if (!world->cell_order) {
        return;
    }
    permute(world, list->ids, list->count);
    for (uint32_t i = 0; i < list->count; i++) {
        world->agents[list->ids[i]].slot = i;
    }
}

static void permute_cells(struct world *world) {
    if (world->cell_order) {
        permute(world, world->cell_order, world->cells);
    }
}

static uint32_t cell_at(const struct world *world, uint32_t i) {
    return world->cell_order ? world->cell_order[i] : i;
}

/* ---- The phases ------------------------------------------------------------------------------ */

/* Ask to enter one of the neighbours of `cell` that hold `kind`, at random; 0 if there is none. */
static int request_neighbor(struct world *world, uint32_t cell, uint32_t kind, wa_tor_draw what) {
    uint32_t neighbors[4], candidates[4], count = 0;
    find_neighbors(world, cell, neighbors);
    for (uint32_t i = 0; i < 4; i++) {
        uint32_t id = world->cell_agent[neighbors[i]];
        if ((id ? world->agents[id].kind : WA_TOR_KIND_EMPTY) == kind) {
            candidates[count++] = i;
        }
    }
    if (count == 0) {
        return 0;
    }
    uint32_t selected = candidates[draw_index(world, cell, what, count)];
    world->cell_requests[neighbors[selected]] |= (uint8_t)(1u << (selected + 2) % 4);
    return 1;
}

static void select_fish(struct world *world) {
    permute_list(world, &world->fish);
    for (uint32_t i = 0; i < world->fish.count; i++) {
        struct agent *fish = &world->agents[world->fish.ids[i]];
        fish->spawn_timer++;
        request_neighbor(world, fish->position, WA_TOR_KIND_EMPTY, WA_TOR_DRAW_FISH_SELECT);
    }
}

static void select_sharks(struct world *world) {
    permute_list(world, &world->sharks);
    for (uint32_t i = 0; i < world->sharks.count; i++) {
        struct agent *shark = &world->agents[world->sharks.ids[i]];
        shark->spawn_timer++;
        shark->energy--;
        if (shark->energy == 0) {
            continue; /* it dies in move_sharks() and must not block another's way until then */
        }
        uint32_t cell = shark->position;
        if (!request_neighbor(world, cell, WA_TOR_KIND_FISH, WA_TOR_DRAW_SHARK_SELECT)) {
            request_neighbor(world, cell, WA_TOR_KIND_EMPTY, WA_TOR_DRAW_SHARK_SELECT);
        }
    }
}

/* Grant each cell to one of the agents that asked for it, and forget their requests. The others
 * stay where they are: their new_position is their position. */
static void decide(struct world *world, wa_tor_draw what) {
    permute_cells(world);
    for (uint32_t n = 0; n < world->cells; n++) {
        uint32_t cell = cell_at(world, n);
        uint32_t requests = world->cell_requests[cell];
        if (requests == 0) {
            continue;
        }
        world->cell_requests[cell] = 0;
        uint32_t neighbors[4], candidates[4], count = 0;
        for (uint32_t i = 0; i < 4; i++) {
            if (requests >> i & 1u) {
                candidates[count++] = i;
            }
        }
        uint32_t selected = candidates[draw_index(world, cell, what, count)];
        find_neighbors(world, cell, neighbors);
        uint32_t id = world->cell_agent[neighbors[selected]];
        world->agents[id].new_position = cell;
    }
}

static uint32_t born_timer(const struct world *world, uint32_t cell, wa_tor_draw what,
                           uint32_t spawn) {
    return world->rules.has_drawn_timers ? wa_tor_drawn_timer(draw(world, cell, what).v[0], spawn)
                                         : 0;
}

static void move_fish(struct world *world) {
    permute_list(world, &world->fish);
    uint32_t count = world->fish.count; /* fish born below move in the next step */
    for (uint32_t i = 0; i < count; i++) {
        uint32_t id = world->fish.ids[i];
        struct agent *fish = &world->agents[id];
        uint32_t old_position = fish->position;
        if (fish->new_position == old_position) {
            continue;
        }
        fish->position = fish->new_position;
        world->cell_agent[fish->position] = id;
        world->cell_agent[old_position] = 0;
        if (fish->spawn_timer > world->rules.fish_spawn) {
            fish->spawn_timer = 0;
            fish_make(world, old_position)->spawn_timer =
                born_timer(world, old_position, WA_TOR_DRAW_FISH_BORN, world->rules.fish_spawn);
        }
    }
}

static void move_shark(struct world *world, uint32_t id) {
    struct agent *shark = &world->agents[id];
    uint32_t old_position = shark->position;
    if (shark->energy == 0) {
        world->cell_agent[old_position] = 0;
        agent_free(world, &world->sharks, id);
        return;
    }
    if (shark->new_position == old_position) {
        return;
    }
    uint32_t prey = world->cell_agent[shark->new_position];
    if (prey) {
        agent_free(world, &world->fish, prey);
        shark->energy += world->rules.shark_gain;
    }
    shark->position = shark->new_position;
    world->cell_agent[shark->position] = id;
    world->cell_agent[old_position] = 0;
    if (shark->spawn_timer > world->rules.shark_spawn) {
        shark->spawn_timer = 0;
        shark_make(world, old_position)->spawn_timer =
            born_timer(world, old_position, WA_TOR_DRAW_SHARK_BORN, world->rules.shark_spawn);
    }
}

/* Backwards: a death fills its place with the last of the list, which was visited already or was
 * born in this phase. */
static void move_sharks(struct world *world) {
    permute_list(world, &world->sharks);
    for (uint32_t i = world->sharks.count; i > 0; i--) {
        move_shark(world, world->sharks.ids[i - 1]);
    }
}

static int step(void *self, cl_event *events, bench_error *error) {
    struct world *world = self;
    (void)events;
    (void)error;
    world->fish.born = world->sharks.born = 0;
    select_fish(world);
    decide(world, WA_TOR_DRAW_FISH_DECIDE);
    move_fish(world);
    select_sharks(world);
    decide(world, WA_TOR_DRAW_SHARK_DECIDE);
    move_sharks(world);
    world->iteration++;
    return 0;
}

/* ---- Lifetime and looking -------------------------------------------------------------------- */

static uint32_t first_timer(const wa_tor_rules *rules, uint32_t random, uint32_t spawn) {
    return rules->has_drawn_timers ? wa_tor_drawn_timer(random, spawn) : random % (spawn + 1);
}

static void populate(struct world *world) {
    const wa_tor_rules *rules = &world->rules;
    const uint32_t end = rules->empty_from ? rules->empty_from : world->cells;
    for (uint32_t cell = 0; cell < end; cell++) {
        philox4x32_ctr_t random = draw(world, cell, WA_TOR_DRAW_POPULATE);
        uint32_t lot = random.v[0] % 1000;
        if (lot < rules->fish_permille) {
            fish_make(world, cell)->spawn_timer =
                first_timer(rules, random.v[1], rules->fish_spawn);
        } else if (lot < rules->fish_permille + rules->shark_permille) {
            shark_make(world, cell)->spawn_timer =
                first_timer(rules, random.v[1], rules->shark_spawn);
        }
    }
}

static int allocate(struct world *world, int with_order) {
    size_t cells = world->cells;
    world->cell_agent = calloc(cells, sizeof *world->cell_agent);
    world->cell_requests = calloc(cells, sizeof *world->cell_requests);
    world->agents = calloc(cells + 1, sizeof *world->agents);
    world->fish.ids = calloc(cells, sizeof *world->fish.ids);
    world->sharks.ids = calloc(cells, sizeof *world->sharks.ids);
    world->unused = calloc(cells, sizeof *world->unused);
    if (with_order) {
        world->cell_order = calloc(cells, sizeof *world->cell_order);
    }
    return world->cell_agent && world->cell_requests && world->agents && world->fish.ids &&
           world->sharks.ids && world->unused && (!with_order || world->cell_order);
}

static void destroy(void *self) {
    struct world *world = self;
    free(world->cell_agent);
    free(world->cell_requests);
    free(world->agents);
    free(world->fish.ids);
    free(world->sharks.ids);
    free(world->unused);
    free(world->cell_order);
    free(world);
}

static int create(const wa_tor_desc *desc, void **self, bench_error *error) {
    struct world *world = calloc(1, sizeof *world);
    if (!world) {
        return bench_error_set(error, "host memory ran out");
    }
    world->rules = desc->rules;
    world->cells = desc->rules.width * desc->rules.height;
    world->shuffle = desc->shuffle;
    if (!allocate(world, desc->shuffle != 0)) {
        destroy(world);
        return bench_error_set(error, "host memory ran out for the sequential world");
    }
    for (uint32_t i = 0; i < world->cells; i++) {
        world->unused[i] = world->cells - i;
        if (world->cell_order) {
            world->cell_order[i] = i;
        }
    }
    world->unused_count = world->cells;
    populate(world);
    *self = world;
    return 0;
}

static int read_codes(void *self, void *state, bench_error *error) {
    const struct world *world = self;
    uint32_t *codes = state;
    (void)error;
    for (uint32_t cell = 0; cell < world->cells; cell++) {
        const struct agent *agent = &world->agents[world->cell_agent[cell]];
        codes[cell] = world->cell_agent[cell]
                          ? wa_tor_encode(agent->kind, agent->spawn_timer, agent->energy)
                          : wa_tor_encode(WA_TOR_KIND_EMPTY, 0, 0);
    }
    return 0;
}

static void count(void *self, bench_tally *tally) {
    const struct world *world = self;
    tally->present[0] += world->fish.count;
    tally->present[1] += world->sharks.count;
    tally->made[0] += world->fish.born;
    tally->made[1] += world->sharks.born;
}

const wa_tor_ops wa_tor_sequential_ops = {
    .create = create,
    .world = {.destroy = destroy, .step = step, .read = read_codes, .count = count}};

static const char *check_list(const struct world *world, const struct agent_list *list,
                              uint32_t kind) {
    for (uint32_t i = 0; i < list->count; i++) {
        uint32_t id = list->ids[i];
        const struct agent *agent = &world->agents[id];
        if (agent->kind != kind || agent->slot != i) {
            return "an agent is on the wrong list or at the wrong place of its list";
        }
        if (agent->position >= world->cells || world->cell_agent[agent->position] != id) {
            return "an agent's cell does not hold it";
        }
        if (agent->new_position != agent->position) {
            return "an agent was granted a cell and did not move";
        }
        if ((kind == WA_TOR_KIND_SHARK) != (agent->energy > 0)) {
            return "a shark has no energy, or a fish has some";
        }
    }
    return NULL;
}

const char *wa_tor_sequential_check(const void *self) {
    const struct world *world = self;
    uint64_t held = 0;
    for (uint32_t cell = 0; cell < world->cells; cell++) {
        held += world->cell_agent[cell] != 0;
    }
    if (held != (uint64_t)world->fish.count + world->sharks.count) {
        return "the cells hold more or fewer agents than the lists";
    }
    if (held + world->unused_count != world->cells) {
        return "live and unused agents are not all agents";
    }
    const char *fault = check_list(world, &world->fish, WA_TOR_KIND_FISH);
    return fault ? fault : check_list(world, &world->sharks, WA_TOR_KIND_SHARK);
}
