/* The baselines: heap.cl by hand, on arrays of fixed size, without objects that come and go.
 *
 * As in Springer's thesis (5.6) cars are merged into cells: every cell has the fields of a car, and
 * `car_max` is 0 where there is none, so every loop over cars is one over all cells. LAYOUT_AOS is
 * 1 for cells as an array of structs and 0 for an array per field. A work-item takes cell i, signal
 * group or producer i, and controller i, as far as there are any.
 *
 * Compiled after rules.clh. Read first: heap.cl, network.h.
 */

/* ---- The arrays ------------------------------------------------------------------------------ */

#if LAYOUT_AOS

typedef struct cell {
    uint next, previous, target, number;
    uchar max_velocity, limit, car_velocity, car_max, move;
} cell;

#define CELLS uint count, __global cell *cells
#define AT(i, field) cells[i].field
#define PASS count, cells

#else

#define CELLS                                                                                      \
    uint count, __global uint *all_next, __global uint *all_previous, __global uint *all_target,   \
        __global uint *all_number, __global uchar *all_max_velocity, __global uchar *all_limit,    \
        __global uchar *all_car_velocity, __global uchar *all_car_max, __global uchar *all_move
#define AT(i, field) all_##field[i]
#define PASS                                                                                       \
    count, all_next, all_previous, all_target, all_number, all_max_velocity, all_limit,            \
        all_car_velocity, all_car_max, all_move

#endif

/* As in network.h. */
typedef struct special {
    uint is_sink, count, out[DEGREE_MAX];
} special;

typedef struct group {
    uint has_sensor, count, cells[DEGREE_MAX];
} group;

typedef struct controller {
    uint first_group, group_count, phase_steps, timer;
} controller;

#define NONE (~0u)

/* ---- Making the world ------------------------------------------------------------------------ */

__kernel void cell_init(CELLS, __global const uint *next, __global const uint *previous,
                        __global const uchar *max_velocity, __global const uchar *limit) {
    uint i = get_global_id(0);
    if (i < count) {
        AT(i, next) = next[i];
        AT(i, previous) = previous[i];
        AT(i, max_velocity) = max_velocity[i];
        AT(i, limit) = limit[i];
        AT(i, car_max) = 0;
        AT(i, move) = STAY;
    }
}

static inline void place_car(CELLS, uint cell, uint number) {
    AT(cell, number) = number;
    AT(cell, car_velocity) = 0;
    AT(cell, car_max) = (uchar)car_velocity(number);
}

__kernel void car_start(CELLS, __global const uint *starts, uint start_count) {
    uint i = get_global_id(0);
    if (i < start_count) {
        place_car(PASS, starts[2u * i], starts[2u * i + 1u]);
    }
}

/* ---- The phases of a step: looking ----------------------------------------------------------- */

static uint look_closer(CELLS, __global const special *at, moment now, uint number, uint distance) {
    if (at->is_sink) {
        bool leaves = at->count == 0u ||
                      lot_of(now, number, distance, DRAW_LEAVE, 1000u) < now.leave_permille;
        return leaves ? NONE : at->out[0];
    }
    if (now.is_dynasoar) {
        return at->out[choose_street(now, number, distance, at->count)];
    }
    uint weights[DEGREE_MAX];
    for (uint k = 0u; k < DEGREE_MAX; k++) {
        weights[k] = k < at->count ? AT(at->out[k], max_velocity) : 0u;
    }
    return at->out[choose_lane(now, number, distance, weights)];
}

static void look_car(CELLS, __global const special *specials, uint self, moment now) {
    uint at = self, before = self, distance = 0u, number = AT(self, number);
    uint velocity =
        min(AT(self, car_velocity) + draw_speedup(now, number), (uint)AT(self, car_max));
    uint here = AT(self, limit), here_before = here;
    bool leaves = false;
    velocity = min(velocity, here & LIMIT);
    while (velocity > 0u && distance <= velocity && !(here & TARGET)) {
        uint next = AT(at, next);
        if (next & SPECIAL) {
            next = look_closer(PASS, specials + (next & ~SPECIAL), now, number, distance);
            leaves = next == NONE;
        }
        if (leaves || distance >= velocity || AT(next, car_max)) {
            break;
        }
        uint limit = AT(next, limit);
        if (velocity > (limit & LIMIT)) {
            if ((limit & LIMIT) <= distance) {
                break;
            }
            velocity = limit & LIMIT;
        }
        before = at;
        here_before = here;
        at = next;
        here = limit;
        distance++;
    }
    if (distance > 0u && lot_of(now, number, 0u, DRAW_SLOW, 1000u) < now.slow_permille) {
        distance--;
        at = before;
        here = here_before;
        leaves = false;
    }
    leaves |= distance > 0u && (here & TARGET);
    AT(self, car_velocity) = (uchar)distance;
    if (leaves || distance) {
        AT(self, move) = leaves ? LEAVE : GO;
        AT(self, target) = at;
    }
}

static bool look_group(CELLS, __global const group *self) {
    for (uint lane = 0u; lane < self->count; lane++) {
        uint at = self->cells[lane];
        uint reach = lane ? LANE_CELLS : AT(at, max_velocity) & LIMIT;
        for (uint i = 0u; i < reach && at != NONE; i++) {
            if (AT(at, car_max)) {
                return true;
            }
            at = AT(at, previous);
        }
    }
    return false;
}

__kernel void look(CELLS, __global const special *specials, __global const group *groups,
                   __global uchar *is_waiting, uint group_count, moment now) {
    uint i = get_global_id(0);
    if (i < count && AT(i, car_max)) {
        look_car(PASS, specials, i, now);
    }
    if (i < group_count && groups[i].has_sensor) {
        is_waiting[i] = look_group(PASS, groups + i);
    }
}

/* ---- The phases of a step: acting ------------------------------------------------------------ */

/* A cell that a car comes to was free when all looked, so its own `move` is STAY throughout. */
static void act_car(CELLS, uint self) {
    if (AT(self, move) == GO) {
        uint target = AT(self, target);
        AT(target, number) = AT(self, number);
        AT(target, car_velocity) = AT(self, car_velocity);
        AT(target, car_max) = AT(self, car_max);
    }
    AT(self, car_max) = 0;
    AT(self, move) = STAY;
}

static void act_producer(CELLS, uint self, moment now) {
    philox2x32_ctr_t random = draw(now, self, 0u, DRAW_CREATE);
    if (now.is_dynasoar) {
        if (!AT(self, car_max) && random.v[0] % 1000u < now.create_permille) {
            place_car(PASS, self, random.v[1]);
        }
        return;
    }
    if (AT(self, limit)) {
        if (random.v[0] % 1000u < now.create_permille) {
            AT(self, limit) = 0;
        }
        return;
    }
    AT(self, limit) = AT(self, max_velocity);
    if (!AT(self, car_max)) {
        place_car(PASS, self, random.v[1]);
    }
}

static void set_signal(CELLS, __global const group *self, bool is_open) {
    for (uint k = 0u; k < self->count; k++) {
        uint at = self->cells[k];
        uint max = AT(at, max_velocity);
        AT(at, limit) = (uchar)(is_open ? max : max & TARGET);
    }
}

static void act_controller(CELLS, __global controller *self, __global uchar *open_group,
                           __global const group *groups, __global const uchar *is_waiting,
                           moment now) {
    uint phase = *open_group, next, waiting = 0u, timer = 1u;
    for (uint k = 0u; k < self->group_count; k++) {
        waiting |= (uint)is_waiting[self->first_group + k] << k;
    }
    if (self->phase_steps) {
        timer = self->timer;
        next = choose_light(now, waiting, self->group_count, phase, self->phase_steps, &timer);
        self->timer = timer;
    } else {
        next = choose_yield(waiting, phase);
    }
    if (is_switching(now, phase, next, timer)) {
        set_signal(PASS, groups + self->first_group + phase, false);
        set_signal(PASS, groups + self->first_group + next, true);
        *open_group = (uchar)next;
    }
}

#define PLACES                                                                                     \
    __global const uint *producers, uint producer_count, __global controller *controllers,         \
        __global uchar *phases, uint controller_count, __global const group *groups,               \
        __global const uchar *is_waiting, moment now

#define PLACES_HERE                                                                                \
    producers, producer_count, controllers, phases, controller_count, groups, is_waiting, now

static void act_item_places(CELLS, PLACES, uint i) {
    if (i < producer_count) {
        act_producer(PASS, producers[i], now);
    }
    if (i < controller_count) {
        act_controller(PASS, controllers + i, phases + i, groups, is_waiting, now);
    }
}

/* Producers and controllers: under DynaSOAr's rules they come first. */
__kernel void act_places(CELLS, PLACES) {
    act_item_places(PASS, PLACES_HERE, get_global_id(0));
}

static void act_item_car(CELLS, uint i) {
    if (i < count && AT(i, move)) {
        act_car(PASS, i);
    }
}

__kernel void act_cars(CELLS) {
    act_item_car(PASS, get_global_id(0));
}

/* All in one, as a producer and a controller write no cell that a car comes to or leaves. */
__kernel void act(CELLS, PLACES) {
    act_item_car(PASS, get_global_id(0));
    act_item_places(PASS, PLACES_HERE, get_global_id(0));
}

/* ---- Showing the world ----------------------------------------------------------------------- */

__kernel void write_codes(CELLS, __global uint *codes) {
    uint i = get_global_id(0);
    if (i < count) {
        uint code = (uint)(AT(i, limit) & LIMIT) << 24;
        if (AT(i, car_max)) {
            code |= encode_car(AT(i, car_velocity), AT(i, car_max), AT(i, number));
        }
        codes[i] = code;
    }
}
