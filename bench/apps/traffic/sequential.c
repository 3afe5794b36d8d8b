/* The rules in plain C, one thread: the reference, and the variant `sequential`. See world.h.
 *
 * Cars lie in an array without holes: the last one fills the place of one that leaves. A step looks
 * first, without changing anything on the streets, and then acts, so the order of cars does not
 * matter.
 */
#include <stdlib.h>

#include "world.h"

#define R123_STATIC_INLINE static inline
#include <Random123/philox.h>

typedef enum car_move { STAY, GO, LEAVE } car_move;

typedef struct car {
    uint32_t position, target, number;
    uint8_t velocity, max_velocity, move;
} car;

struct world {
    const traffic_network *network;
    uint32_t iteration, car_count, car_room, born;
    car *cars;
    uint32_t *car_at; /* index + 1 into cars; 0: nobody */
    uint8_t *limit;
    uint8_t *is_waiting; /* of each signal group */
    uint8_t *phase, *timer;
};

static philox2x32_ctr_t draw(const struct world *world, uint32_t who, uint32_t distance,
                             uint32_t purpose) {
    philox2x32_ctr_t counter = {{who, world->iteration << 6 | distance << 2 | purpose}};
    philox2x32_key_t key = {{world->network->rules.seed}};
    return philox2x32(counter, key);
}

/* ---- Looking --------------------------------------------------------------------------------- */

/* Where the car goes from a branch or a sink, `distance` cells into its step. TRAFFIC_NONE: it
 * leaves there. */
static uint32_t look_closer(const struct world *world, const car *self, uint32_t special,
                            uint32_t distance) {
    const traffic_special *place = &world->network->specials[special & ~TRAFFIC_SPECIAL];
    const uint8_t *weights = world->network->max_velocity;
    uint32_t total = 0, i = 0;
    if (place->is_sink) {
        uint32_t lot = draw(world, self->number, distance, TRAFFIC_DRAW_LEAVE).v[0] % 1000u;
        int leaves = place->count == 0 || lot < world->network->rules.leave_permille;
        return leaves ? TRAFFIC_NONE : place->out[0];
    }
    if (world->network->rules.is_dynasoar) {
        uint32_t lot = draw(world, self->number, distance, TRAFFIC_DRAW_TURN).v[0];
        return place->out[lot % place->count];
    }
    for (uint32_t k = 0; k < place->count; k++) {
        total += weights[place->out[k]];
    }
    uint32_t lot = draw(world, self->number, distance, TRAFFIC_DRAW_TURN).v[0] % total;
    for (; lot >= weights[place->out[i]]; i++) {
        lot -= weights[place->out[i]];
    }
    return place->out[i];
}

static uint32_t draw_speedup(const struct world *world, const car *self) {
    return world->network->rules.is_dynasoar
               ? 1 + draw(world, self->number, 0, TRAFFIC_DRAW_SLOW).v[1] % TRAFFIC_SPEEDUP_MAX
               : 1;
}

static void look_car(const struct world *world, car *self) {
    uint32_t at = self->position, before = at, distance = 0;
    uint32_t velocity = self->velocity + draw_speedup(world, self);
    uint32_t here = world->limit[at] & TRAFFIC_LIMIT;
    int leaves = 0;
    velocity = velocity < self->max_velocity ? velocity : self->max_velocity;
    velocity = velocity < here ? velocity : here;
    while (!(world->limit[at] & TRAFFIC_TARGET)) {
        uint32_t next = world->network->next[at];
        if (next & TRAFFIC_SPECIAL) {
            next = look_closer(world, self, next, distance);
            leaves = next == TRAFFIC_NONE;
        }
        if (leaves || distance >= velocity || world->car_at[next]) {
            break;
        }
        uint32_t limit = world->limit[next] & TRAFFIC_LIMIT;
        if (velocity > limit) {
            if (limit <= distance) {
                break; /* slower would be too slow to get there */
            }
            velocity = limit;
        }
        before = at;
        at = next;
        distance++;
    }
    if (distance > 0 && draw(world, self->number, 0, TRAFFIC_DRAW_SLOW).v[0] % 1000u <
                            world->network->rules.slow_permille) {
        distance--;
        at = before;
        leaves = 0;
    }
    leaves |= distance > 0 && (world->limit[at] & TRAFFIC_TARGET);
    self->velocity = (uint8_t)distance;
    self->target = at;
    self->move = leaves ? LEAVE : distance ? GO : STAY;
}

/* Is there a car that could pass the signal in a step? */
static int look_group(const struct world *world, const traffic_group *group) {
    for (uint32_t lane = 0; lane < group->count; lane++) {
        uint32_t cell = group->cells[lane]; /* the first lane has the street behind it too */
        uint32_t reach =
            lane ? TRAFFIC_LANE_CELLS : world->network->max_velocity[cell] & TRAFFIC_LIMIT;
        for (uint32_t i = 0; i < reach && cell != TRAFFIC_NONE; i++) {
            if (world->car_at[cell]) {
                return 1;
            }
            cell = world->network->previous[cell];
        }
    }
    return 0;
}

/* ---- Acting ---------------------------------------------------------------------------------- */

static void act_car(struct world *world, uint32_t index) {
    car *self = &world->cars[index];
    if (self->move == STAY) {
        return;
    }
    world->car_at[self->position] = 0;
    if (self->move == GO) {
        self->position = self->target;
        world->car_at[self->target] = index + 1;
        return;
    }
    uint32_t last = --world->car_count;
    if (index < last) { /* the last one has acted already */
        *self = world->cars[last];
        world->car_at[self->position] = index + 1;
    }
}

static int add_car(struct world *world, uint32_t cell, uint32_t number) {
    if (world->car_count == world->car_room) {
        uint32_t room = world->car_room ? 2 * world->car_room : 1024;
        car *moved = realloc(world->cars, room * sizeof *moved);
        if (!moved) {
            return -1;
        }
        world->cars = moved;
        world->car_room = room;
    }
    world->cars[world->car_count++] = (car){
        .position = cell, .number = number, .max_velocity = (uint8_t)traffic_car_velocity(number)};
    world->car_at[cell] = world->car_count;
    world->born++;
    return 0;
}

/* A producer closes its cell in one step, so that nobody comes, and sends out a car in the next.
 * Under DynaSOAr's rules no car moves now, and a car is there at once. */
static int act_producer(struct world *world, uint32_t cell) {
    philox2x32_ctr_t random = draw(world, cell, 0, TRAFFIC_DRAW_CREATE);
    if (world->network->rules.is_dynasoar) {
        int creates = random.v[0] % 1000u < world->network->rules.create_permille;
        return creates && !world->car_at[cell] ? add_car(world, cell, random.v[1]) : 0;
    }
    if (world->limit[cell] == 0) {
        world->limit[cell] = world->network->max_velocity[cell];
        return world->car_at[cell] ? 0 : add_car(world, cell, random.v[1]);
    }
    if (random.v[0] % 1000u < world->network->rules.create_permille) {
        world->limit[cell] = 0;
    }
    return 0;
}

static void set_signal(struct world *world, uint32_t group, int is_open) {
    const traffic_group *g = &world->network->groups[group];
    for (uint32_t i = 0; i < g->count; i++) {
        uint8_t max = world->network->max_velocity[g->cells[i]];
        world->limit[g->cells[i]] = is_open ? max : max & TRAFFIC_TARGET;
    }
}

/* The group that is to be open next: the only one that waits, or in turn; at a yield sign, the
 * first one that waits. */
static uint32_t choose_group(struct world *world, const traffic_controller *c, uint32_t phase,
                             uint8_t *timer) {
    const uint8_t *is_waiting = world->is_waiting + c->first_group;
    uint32_t waiting = 0, first = 0;
    for (uint32_t i = c->group_count; i-- > 0;) {
        waiting += is_waiting[i];
        first = is_waiting[i] ? i : first;
    }
    if (c->phase_steps == 0) {
        return waiting ? first : phase;
    }
    if (++*timer >= c->phase_steps) {
        *timer = 0;
        return phase + 1 < c->group_count ? phase + 1 : 0;
    }
    if (world->network->rules.is_smart && waiting == 1 && first != phase) {
        *timer = 0;
        return first;
    }
    return phase;
}

static void act_controller(struct world *world, uint32_t index) {
    const traffic_controller *c = &world->network->controllers[index];
    uint32_t phase = world->phase[index];
    uint32_t next = choose_group(world, c, phase, &world->timer[index]);
    /* All signals are red until the first phase is over, if that is how they begin. */
    if (next != phase || (world->network->rules.is_dynasoar && world->timer[index] == 0)) {
        set_signal(world, c->first_group + phase, 0);
        set_signal(world, c->first_group + next, 1);
        world->phase[index] = (uint8_t)next;
    }
}

/* ---- Lifetime and steps ---------------------------------------------------------------------- */

static void destroy(void *self) {
    struct world *world = self;
    free(world->cars);
    free(world->car_at);
    free(world->limit);
    free(world->is_waiting);
    free(world->phase);
    free(world->timer);
    free(world);
}

static void look(struct world *world) {
    const traffic_network *n = world->network;
    for (uint32_t i = 0; i < world->car_count; i++) {
        look_car(world, &world->cars[i]);
    }
    for (uint32_t i = 0; i < n->group_count; i++) {
        world->is_waiting[i] = n->groups[i].has_sensor && look_group(world, &n->groups[i]);
    }
}

static void act_cars(struct world *world) {
    for (uint32_t i = world->car_count; i-- > 0;) {
        act_car(world, i);
    }
}

static int act_places(struct world *world) {
    const traffic_network *n = world->network;
    int result = 0;
    for (uint32_t i = 0; i < n->controller_count; i++) {
        act_controller(world, i);
    }
    for (uint32_t i = 0; i < n->producer_count && result == 0; i++) {
        result = act_producer(world, n->producers[i]);
    }
    return result;
}

static int step(void *self, cl_event *events, bench_error *error) {
    struct world *world = self;
    (void)events;
    int result = 0;
    world->born = 0;
    if (world->network->rules.is_dynasoar) {
        result = act_places(world);
        look(world);
        act_cars(world);
    } else {
        look(world);
        act_cars(world);
        result = act_places(world);
    }
    world->iteration++;
    return result ? bench_error_set(error, "host memory ran out for %u cars", world->car_count) : 0;
}

static int read_codes(void *self, void *state, bench_error *error) {
    uint32_t *codes = state;
    const struct world *world = self;
    (void)error;
    for (uint32_t i = 0; i < world->network->cell_count; i++) {
        codes[i] = (uint32_t)(world->limit[i] & TRAFFIC_LIMIT) << 24;
    }
    for (uint32_t i = 0; i < world->car_count; i++) {
        const car *one = &world->cars[i];
        codes[one->position] |= TRAFFIC_CODE_CAR | (uint32_t)one->velocity << 20 |
                                (uint32_t)one->max_velocity << 16 | (one->number & 0xffff);
    }
    return 0;
}

static int create(const traffic_desc *desc, void **self, bench_error *error) {
    const traffic_network *n = desc->network;
    struct world *world = calloc(1, sizeof *world);
    int result = world ? 0 : -1;
    if (world) {
        world->network = n;
        world->car_at = calloc(n->cell_count, sizeof *world->car_at);
        world->limit = calloc(n->cell_count, 1);
        world->is_waiting = calloc(n->group_count + 1u, 1);
        world->phase = calloc(n->controller_count + 1u, 1);
        world->timer = calloc(n->controller_count + 1u, 1);
        result = world->car_at && world->limit && world->is_waiting && world->phase && world->timer
                     ? 0
                     : -1;
    }
    for (uint32_t i = 0; result == 0 && i < n->cell_count; i++) {
        world->limit[i] = n->limit[i];
    }
    for (uint32_t i = 0; result == 0 && i < n->controller_count; i++) {
        world->timer[i] = (uint8_t)n->controllers[i].timer;
    }
    for (uint32_t i = 0; result == 0 && i < n->start_count; i++) {
        result = add_car(world, n->starts[i].cell, n->starts[i].number);
    }
    if (result) {
        if (world) {
            destroy(world);
        }
        return bench_error_set(error, "host memory ran out for the sequential world");
    }
    *self = world;
    return 0;
}

/* Cars, and the cells that they passed. */
static void count(void *self, bench_tally *tally) {
    const struct world *world = self;
    tally->present[0] += world->car_count;
    tally->made[0] += world->born;
    for (uint32_t i = 0; i < world->car_count; i++) {
        tally->present[1] += world->cars[i].velocity;
    }
}

const traffic_ops traffic_sequential_ops = {
    .create = create,
    .world = {.destroy = destroy, .step = step, .read = read_codes, .count = count}};
