/* Sugarscape in plain sequential C: the reference that every other variant must equal.
 *
 * The agent on a cell lies in the array `agents` at the number of the cell; kind NOBODY if there is
 * none. `taken` is 1 for those cells and for the frame, `wish` is the strongest request that a cell
 * has got, 0 if none.
 *
 * Read first: model.h.
 */
#include <Random123/philox.h>
#include <stdlib.h>
#include <string.h>

#include "world.h"

#define KEY_WORD 0x53756761u /* "Suga": keeps these numbers apart from other users of the seed */

struct agent {
    uint32_t sugar;
    uint32_t request; /* what it asks of cell `target`, 0: nothing */
    uint32_t target;
    uint32_t mate; /* cell of the female who accepted, 0: none */
    uint16_t age, max_age, endowment, metabolism;
    uint8_t kind, vision, children, max_children;
    uint8_t is_dead;
};

struct world {
    sugarscape_rules rules;
    uint32_t iteration, cells, born[2]; /* males and females, in the last step */
    uint32_t *sugar, *shares, *wish;
    uint8_t *growth, *taken;
    struct agent *agents;
};

/* All cells of the world, row by row. */
#define FOR_EACH_CELL(rules, cell)                                                                 \
    for (uint32_t y = 0; y < (rules)->height; y++)                                                 \
        for (uint32_t cell = sugarscape_number((rules), 0, y), last = cell + (rules)->width;       \
             cell < last; cell++)

static philox4x32_ctr_t draw_at(const sugarscape_rules *rules, uint32_t cell, uint32_t iteration,
                                uint32_t purpose) {
    philox4x32_ctr_t counter = {{cell, iteration, purpose, 0}};
    philox4x32_key_t key = {{rules->seed, KEY_WORD}};
    return philox4x32(counter, key);
}

static philox4x32_ctr_t draw(const struct world *world, uint32_t cell, uint32_t purpose) {
    return draw_at(&world->rules, cell, world->iteration, purpose);
}

/* ---- What agents see ------------------------------------------------------------------------- */

/* A place in the window of sight, in reading order; nobody sees farther than 7. */
static uint32_t place_of(int32_t dx, int32_t dy) {
    return (uint32_t)((dy + 8) * 16 + dx + 7);
}

static uint32_t cell_at(const struct world *world, uint32_t cell, int32_t dx, int32_t dy) {
    return cell + (uint32_t)(dy * (int32_t)world->rules.pitch + dx);
}

/* Ask for `target`, with a lot of 24 bits; of equal lots that of the higher place wins. */
static uint32_t make_request(uint32_t lot, uint32_t place) {
    return lot << 8 | place;
}

static void ask(struct world *world, struct agent *agent, uint32_t target, uint32_t request) {
    agent->target = target;
    agent->request = request;
    if (request > world->wish[target]) {
        world->wish[target] = request;
    }
}

/* Was it granted? Takes the request back. */
static int is_granted(struct world *world, struct agent *agent) {
    int granted = agent->request && world->wish[agent->target] == agent->request;
    if (granted) {
        world->wish[agent->target] = 0;
    }
    agent->request = 0;
    return granted;
}

static int is_ready(const sugarscape_rules *rules, const struct agent *agent) {
    int has_enough = rules->is_dynasoar ? agent->sugar >= agent->endowment * 2u / 3
                                        : agent->sugar > agent->endowment;
    return has_enough && agent->age >= rules->mating_age;
}

/* ---- The phases ------------------------------------------------------------------------------ */

static void grow(struct world *world) {
    const sugarscape_rules *rules = &world->rules;
    FOR_EACH_CELL(rules, cell) {
        uint32_t sugar = world->sugar[cell];
        if (sugar < rules->capacity || rules->is_dynasoar) {
            sugar += world->growth[cell];
            sugar = sugar < rules->capacity ? sugar : rules->capacity;
        }
        uint32_t share = sugar >> rules->diffusion;
        world->shares[cell] = share < rules->max_diffusion ? share : rules->max_diffusion;
        world->sugar[cell] = sugar;
    }
}

/* Every neighbour gets a share; walls have none and get none. */
static void diffuse(struct world *world) {
    const sugarscape_rules *rules = &world->rules;
    FOR_EACH_CELL(rules, cell) {
        uint32_t x = cell - sugarscape_number(rules, 0, y), neighbors = 0;
        for (int32_t dy = -1; dy <= 1; dy++) {
            for (int32_t dx = -1; dx <= 1; dx++) {
                world->sugar[cell] += world->shares[cell_at(world, cell, dx, dy)];
                neighbors += x + (uint32_t)dx < rules->width && y + (uint32_t)dy < rules->height;
            }
        }
        world->sugar[cell] -= world->shares[cell] * neighbors; /* the cell itself counts in both */
    }
}

/* By DynaSOAr's rules: one share goes, and every cell within the greatest vision gets an eighth of
 * it. */
static void diffuse_far(struct world *world) {
    const sugarscape_rules *rules = &world->rules;
    int32_t vision = (int32_t)rules->max_vision;
    FOR_EACH_CELL(rules, cell) {
        uint32_t eighths = 0;
        for (int32_t dy = -vision; dy <= vision; dy++) {
            for (int32_t dx = -vision; dx <= vision; dx++) {
                eighths += world->shares[cell_at(world, cell, dx, dy)] / 8;
            }
        }
        world->sugar[cell] += eighths - world->shares[cell] / 8 - world->shares[cell];
    }
}

static void bury(struct world *world, uint32_t cell) {
    memset(&world->agents[cell], 0, sizeof world->agents[cell]);
    world->taken[cell] = 0;
}

/* By DynaSOAr's rules the dead go at once. */
static void age_and_metabolize(struct world *world) {
    uint32_t least = world->rules.is_dynasoar ? 1 : 0;
    FOR_EACH_CELL(&world->rules, cell) {
        struct agent *agent = &world->agents[cell];
        if (agent->kind == SUGARSCAPE_NOBODY) {
            continue;
        }
        agent->age++;
        if (agent->age > agent->max_age || agent->sugar < agent->metabolism + least) {
            agent->is_dead = 1;
            if (world->rules.is_dynasoar) {
                bury(world, cell);
            }
        } else {
            agent->sugar -= agent->metabolism;
        }
    }
}

/* The richest vacant cell in sight; of equal ones the last in reading order from a random place. */
static void prepare_move(struct world *world, uint32_t cell) {
    struct agent *agent = &world->agents[cell];
    philox4x32_ctr_t random = draw(world, cell, SUGARSCAPE_DRAW_MOVE);
    uint32_t best = 0, best_target = 0, best_place = 0, best_rank = 0;
    int32_t vision = agent->vision;
    for (int32_t dy = -vision; dy <= vision; dy++) {
        for (int32_t dx = -vision; dx <= vision; dx++) {
            uint32_t target = cell_at(world, cell, dx, dy), place = place_of(dx, dy);
            uint32_t rank = (place + random.v[1]) % 256, sugar = world->sugar[target];
            if (!world->taken[target] &&
                (best_target == 0 || sugar > best || (sugar == best && rank > best_rank))) {
                best = sugar;
                best_target = target;
                best_place = place;
                best_rank = rank;
            }
        }
    }
    if (best_target) {
        ask(world, agent, best_target, make_request(random.v[0] >> 8, best_place));
    }
}

/* For ties: the finaliser of MurmurHash3. */
static uint32_t scramble(uint32_t x) {
    x = (x ^ x >> 16) * 0x85ebca6bu;
    x = (x ^ x >> 13) * 0xc2b2ae35u;
    return x ^ x >> 16;
}

/* By DynaSOAr's rules: of n equally rich cells the last is taken with probability 1/n. */
static void prepare_any_move(struct world *world, uint32_t cell) {
    struct agent *agent = &world->agents[cell];
    philox4x32_ctr_t random = draw(world, cell, SUGARSCAPE_DRAW_MOVE);
    uint32_t best = 0, best_target = 0, best_place = 0, equals = 0;
    int32_t vision = agent->vision;
    for (int32_t dy = -vision; dy <= vision; dy++) {
        for (int32_t dx = -vision; dx <= vision; dx++) {
            uint32_t target = cell_at(world, cell, dx, dy), place = place_of(dx, dy);
            uint32_t sugar = world->sugar[target];
            if (world->taken[target] || (equals && sugar < best)) {
                continue;
            }
            equals = equals && sugar == best ? equals + 1 : 1;
            best = sugar;
            if (scramble(random.v[1] + place) % equals == 0) {
                best_target = target;
                best_place = place;
            }
        }
    }
    if (equals) {
        ask(world, agent, best_target, make_request(random.v[0] >> 8, best_place));
    }
}

static void prepare_moves(struct world *world) {
    FOR_EACH_CELL(&world->rules, cell) {
        if (world->agents[cell].kind == SUGARSCAPE_NOBODY || world->agents[cell].is_dead) {
            continue;
        }
        if (world->rules.is_dynasoar) {
            prepare_any_move(world, cell);
        } else {
            prepare_move(world, cell);
        }
    }
}

static void update_moves(struct world *world) {
    FOR_EACH_CELL(&world->rules, cell) {
        struct agent *agent = &world->agents[cell];
        uint32_t at = cell;
        if (agent->kind == SUGARSCAPE_NOBODY || agent->is_dead || !agent->target) {
            continue;
        }
        if (is_granted(world, agent)) {
            at = agent->target;
            world->agents[at] = *agent;
            world->taken[at] = 1;
            world->taken[cell] = 0;
            memset(agent, 0, sizeof *agent);
        }
        world->agents[at].target = 0; /* has had its turn */
    }
}

static void harvest(struct world *world) {
    FOR_EACH_CELL(&world->rules, cell) {
        struct agent *agent = &world->agents[cell];
        if (agent->kind != SUGARSCAPE_NOBODY && !agent->is_dead) {
            agent->sugar += world->sugar[cell];
            world->sugar[cell] = 0;
        }
    }
}

/* The richest ready female in sight; of equal ones the first. */
static void propose(struct world *world, uint32_t cell) {
    struct agent *male = &world->agents[cell];
    uint32_t best = 0, best_target = 0, best_place = 0;
    int32_t vision = male->vision;
    for (int32_t dy = -vision; dy <= vision; dy++) {
        for (int32_t dx = -vision; dx <= vision; dx++) {
            uint32_t target = cell_at(world, cell, dx, dy);
            const struct agent *female = &world->agents[target];
            if (female->kind == SUGARSCAPE_FEMALE && !female->is_dead &&
                is_ready(&world->rules, female) && female->sugar > best) {
                best = female->sugar;
                best_target = target;
                best_place = place_of(dx, dy);
            }
        }
    }
    if (best_target) {
        uint32_t sugar = male->sugar < 0xffffffu ? male->sugar : 0xffffffu;
        ask(world, male, best_target, make_request(sugar, best_place));
    }
}

static void propose_all(struct world *world) {
    FOR_EACH_CELL(&world->rules, cell) {
        const struct agent *agent = &world->agents[cell];
        if (agent->kind == SUGARSCAPE_MALE && !agent->is_dead && is_ready(&world->rules, agent)) {
            propose(world, cell);
        }
    }
}

static void decide_proposals(struct world *world) {
    FOR_EACH_CELL(&world->rules, cell) {
        struct agent *male = &world->agents[cell];
        if (male->kind == SUGARSCAPE_MALE && is_granted(world, male)) {
            const struct agent *female = &world->agents[male->target];
            male->mate = female->children < female->max_children ? male->target : 0;
        }
    }
}

/* A vacant cell in sight, any. */
static void propose_offspring_target(struct world *world, uint32_t cell) {
    struct agent *male = &world->agents[cell];
    uint32_t targets[(2 * SUGARSCAPE_VISION_MAX + 1) * (2 * SUGARSCAPE_VISION_MAX + 1)];
    uint32_t places[sizeof targets / sizeof *targets], count = 0;
    int32_t vision = male->vision;
    for (int32_t dy = -vision; dy <= vision; dy++) {
        for (int32_t dx = -vision; dx <= vision; dx++) {
            targets[count] = cell_at(world, cell, dx, dy);
            places[count] = place_of(dx, dy);
            count += !world->taken[targets[count]];
        }
    }
    if (count) {
        philox4x32_ctr_t random = draw(world, cell, SUGARSCAPE_DRAW_BIRTHPLACE);
        uint32_t i = random.v[1] % count;
        ask(world, male, targets[i], make_request(random.v[0] >> 8, places[i]));
    }
}

static void propose_offspring_targets(struct world *world) {
    FOR_EACH_CELL(&world->rules, cell) {
        if (world->agents[cell].mate) {
            propose_offspring_target(world, cell);
        }
    }
}

/* The mean, rounded up or down by a random bit. */
static uint32_t mix(uint32_t a, uint32_t b, uint32_t *bits) {
    uint32_t mean = (a + b + (*bits & 1u)) / 2;
    *bits >>= 1;
    return mean;
}

static struct agent make_child(const struct world *world, uint32_t cell, const struct agent *male,
                               const struct agent *female) {
    philox4x32_ctr_t random = draw(world, cell, SUGARSCAPE_DRAW_CHILD);
    uint32_t bits = world->rules.is_dynasoar ? 0 : random.v[1]; /* 0: rounded down */
    struct agent child = {0};
    child.kind = random.v[0] & 1u ? SUGARSCAPE_MALE : SUGARSCAPE_FEMALE;
    child.sugar = male->endowment / 2u + female->endowment / 2u;
    child.vision = (uint8_t)mix(male->vision, female->vision, &bits);
    child.max_age = (uint16_t)mix(male->max_age, female->max_age, &bits);
    child.endowment = (uint16_t)mix(male->endowment, female->endowment, &bits);
    child.metabolism = (uint16_t)mix(male->metabolism, female->metabolism, &bits);
    child.max_children = child.kind == SUGARSCAPE_FEMALE ? female->max_children : 0;
    if (world->rules.is_dynasoar) {
        child.sugar = child.endowment;
    }
    return child;
}

static void spawn_offspring(struct world *world) {
    FOR_EACH_CELL(&world->rules, cell) {
        struct agent *male = &world->agents[cell];
        if (male->mate && is_granted(world, male)) {
            struct agent *female = &world->agents[male->mate];
            world->agents[male->target] = make_child(world, cell, male, female);
            world->taken[male->target] = 1;
            world->born[world->agents[male->target].kind == SUGARSCAPE_FEMALE]++;
            male->sugar -= male->endowment / 2u;
            female->sugar -= female->endowment / 2u;
            female->children++;
        }
        male->mate = male->target = 0;
    }
}

static void bury_dead(struct world *world) {
    FOR_EACH_CELL(&world->rules, cell) {
        if (world->agents[cell].is_dead) {
            bury(world, cell);
        }
    }
}

static int step(void *self, cl_event *events, bench_error *error) {
    struct world *world = self;
    (void)events;
    (void)error;
    world->born[0] = world->born[1] = 0;
    grow(world);
    if (world->rules.is_dynasoar) {
        diffuse_far(world);
    } else {
        diffuse(world);
    }
    age_and_metabolize(world);
    prepare_moves(world);
    update_moves(world);
    harvest(world);
    propose_all(world);
    decide_proposals(world);
    propose_offspring_targets(world);
    spawn_offspring(world);
    bury_dead(world);
    world->iteration++;
    return 0;
}

/* ---- Lifetime and looking -------------------------------------------------------------------- */

uint32_t sugarscape_first_kind(const sugarscape_rules *rules, uint32_t cell) {
    uint32_t lot = draw_at(rules, cell, 0, SUGARSCAPE_DRAW_CELL).v[3] % 1000;
    return lot < rules->male_permille                            ? SUGARSCAPE_MALE
           : lot < rules->male_permille + rules->female_permille ? SUGARSCAPE_FEMALE
                                                                 : SUGARSCAPE_NOBODY;
}

/* An agent of the start, but its kind, by DynaSOAr's rules. */
static void fill_dynasoar(const sugarscape_rules *rules, const uint32_t body[4],
                          const uint32_t needs[4], struct agent *agent) {
    uint32_t half = rules->max_vision / 2;
    agent->vision = (uint8_t)(half + body[0] % half);
    agent->max_age = (uint16_t)(rules->max_age * 2 / 3 + body[1] % (rules->max_age / 3));
    agent->endowment =
        (uint16_t)(rules->max_endowment / 4 + body[3] % (rules->max_endowment * 3 / 4));
    agent->sugar = agent->endowment;
    agent->metabolism =
        (uint16_t)(rules->max_metabolism / 3 + needs[0] % (rules->max_metabolism * 2 / 3));
    if (agent->kind == SUGARSCAPE_FEMALE) {
        agent->max_children = (uint8_t)(2 + needs[1] % (rules->max_children - 2));
    }
}

/* A quarter of the sources has all growth, a quarter a half, the others a quarter. */
static uint8_t growth_dynasoar(const sugarscape_rules *rules, uint32_t random) {
    uint32_t lot = random % 1000 * 4, sources = rules->source_permille;
    uint32_t part = lot < sources ? 1 : lot < 2 * sources ? 2 : lot < 4 * sources ? 4 : 0;
    return (uint8_t)(part ? rules->max_growth / part : 0);
}

static void populate(struct world *world) {
    const sugarscape_rules *rules = &world->rules;
    FOR_EACH_CELL(rules, cell) {
        philox4x32_ctr_t ground = draw(world, cell, SUGARSCAPE_DRAW_CELL);
        philox4x32_ctr_t body = draw(world, cell, SUGARSCAPE_DRAW_AGENT);
        philox4x32_ctr_t needs = draw(world, cell, SUGARSCAPE_DRAW_NEEDS);
        uint32_t kind = sugarscape_first_kind(rules, cell);
        struct agent *agent = &world->agents[cell];
        world->taken[cell] = 0;
        if (rules->is_dynasoar) {
            world->growth[cell] = growth_dynasoar(rules, ground.v[0]);
        } else if (ground.v[0] % 1000 < rules->source_permille) {
            world->growth[cell] = (uint8_t)(1 + ground.v[1] % rules->max_growth);
        }
        world->sugar[cell] = rules->is_dynasoar ? 0 : ground.v[2] % (rules->max_endowment + 1);
        if (kind == SUGARSCAPE_NOBODY) {
            continue;
        }
        world->taken[cell] = 1;
        agent->kind = (uint8_t)kind;
        if (rules->is_dynasoar) {
            fill_dynasoar(rules, body.v, needs.v, agent);
            continue;
        }
        agent->vision = (uint8_t)(1 + body.v[0] % rules->max_vision);
        agent->max_age = (uint16_t)(rules->max_age - body.v[1] % (rules->max_age / 3 + 1));
        agent->age = (uint16_t)(body.v[2] % agent->max_age);
        agent->endowment =
            (uint16_t)(rules->max_endowment - body.v[3] % (rules->max_endowment * 3 / 4 + 1));
        agent->sugar = agent->endowment;
        agent->metabolism =
            (uint16_t)(rules->max_metabolism - needs.v[0] % (rules->max_metabolism * 2 / 3 + 1));
        if (agent->kind == SUGARSCAPE_FEMALE) {
            agent->max_children = (uint8_t)(1 + needs.v[1] % rules->max_children);
        }
    }
}

static void destroy(void *self) {
    struct world *world = self;
    free(world->sugar);
    free(world->shares);
    free(world->wish);
    free(world->growth);
    free(world->taken);
    free(world->agents);
    free(world);
}

static int create(const sugarscape_desc *desc, void **self, bench_error *error) {
    struct world *world = calloc(1, sizeof *world);
    if (!world) {
        return bench_error_set(error, "host memory ran out");
    }
    size_t cells = world->cells = sugarscape_grid_cells(&desc->rules);
    world->rules = desc->rules;
    world->sugar = calloc(cells, sizeof *world->sugar);
    world->shares = calloc(cells, sizeof *world->shares);
    world->wish = calloc(cells, sizeof *world->wish);
    world->growth = calloc(cells, sizeof *world->growth);
    world->taken = malloc(cells);
    world->agents = calloc(cells, sizeof *world->agents);
    if (!world->sugar || !world->shares || !world->wish || !world->growth || !world->taken ||
        !world->agents) {
        destroy(world);
        return bench_error_set(error, "host memory ran out for the sequential world");
    }
    memset(world->taken, 1, cells);
    populate(world);
    *self = world;
    return 0;
}

static int read_states(void *self, void *state, bench_error *error) {
    const struct world *world = self;
    sugarscape_state *states = state;
    (void)error;
    FOR_EACH_CELL(&world->rules, cell) {
        const struct agent *a = &world->agents[cell];
        *states++ = (sugarscape_state){.sugar = world->sugar[cell],
                                       .agent_sugar = a->sugar,
                                       .ages = a->age | (uint32_t)a->max_age << 16,
                                       .needs = a->endowment | (uint32_t)a->metabolism << 16,
                                       .traits = a->kind | (uint32_t)a->vision << 8 |
                                                 (uint32_t)a->children << 16 |
                                                 (uint32_t)a->max_children << 24};
    }
    return 0;
}

static void count(void *self, bench_tally *tally) {
    const struct world *world = self;
    FOR_EACH_CELL(&world->rules, cell) {
        tally->present[0] += world->agents[cell].kind == SUGARSCAPE_MALE;
        tally->present[1] += world->agents[cell].kind == SUGARSCAPE_FEMALE;
    }
    tally->made[0] += world->born[0];
    tally->made[1] += world->born[1];
}

const sugarscape_ops sugarscape_sequential_ops = {
    .create = create,
    .world = {.destroy = destroy, .step = step, .read = read_states, .count = count}};
