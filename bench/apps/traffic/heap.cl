/* Traffic as objects: a step looks and then acts, one kernel each; and the kernels that make, link
 * and show the world.
 *
 * `look` reads the streets and writes only into the cars and signal groups that look; `act` writes
 * the streets and reads only what looking left, a car's own cell, and the cells of producers that
 * are closed, so that nobody comes or goes there. At most one of the cells that lead to a cell is
 * open, so no two cars have the same target. So no atomics are needed, and the order of visits does
 * not matter.
 *
 * Compiled after rules.clh and cells.clh. Read first: objects.schema, README.md.
 */

/* ---- Making the world ------------------------------------------------------------------------ */

/* The arrays are those of network.h. */
__kernel void cell_link(CLUMP_HEAP_NO_ALLOC, __global const uint *cells, __global const uint *next,
                        __global const uint *previous, __global const uchar *max_velocity,
                        __global const uchar *limit, __global const uint *specials) {
    CLUMP_FOR_EACH(Cell, self) {
        uint i = Cell_index(self);
        Cell_car(self) = Car_null;
        Cell_max_velocity(self) = max_velocity[i];
        Cell_limit(self) = limit[i];
        Cell_previous(self).id = previous[i] == ~0u ? 0u : cells[previous[i]];
        if (!(next[i] & SPECIAL)) {
            Cell_next(self).id = cells[next[i]];
            continue;
        }
        __global const uint *special = specials + (ulong)(next[i] & ~SPECIAL) * SPECIAL_WORDS;
        uint count = special[1];
        Cell_next(self) = Cell_null;
        if (special[0]) {
            SinkCell_beyond(Cell_as_SinkCell(self)).id = count ? cells[special[2]] : 0u;
            continue;
        }
        BranchCell branch = Cell_as_BranchCell(self);
        BranchCell_outgoing_count(branch) = (uchar)count;
        for (uint k = 0u; k < DEGREE_MAX; k++) {
            BranchCell_outgoing(branch, k).id = k < count ? cells[special[2u + k]] : 0u;
        }
    }
}

/* Do-new over SharedSignalGroup; `all` has a traffic_group for each. */
__kernel void group_init(CLUMP_HEAP, __global const uint *cells, __global const uint *all,
                         __global uint *groups) {
    CLUMP_FOR_EACH_NEW(SharedSignalGroup, self, i) {
        __global const uint *group = all + (ulong)i * (2u + DEGREE_MAX);
        uint count = group[1];
        SharedSignalGroup_has_sensor(self) = group[0] != 0u;
        SharedSignalGroup_is_waiting(self) = 0;
        SharedSignalGroup_cell_count(self) = (uchar)count;
        for (uint k = 0u; k < DEGREE_MAX; k++) {
            SharedSignalGroup_cells(self, k).id = k < count ? cells[group[2u + k]] : 0u;
        }
        groups[i] = self.id;
    }
}

/* `controller` is a traffic_controller. */
static void controller_init(CLUMP_HEAP, TrafficController self, __global const uint *groups,
                            __global const uint *controller) {
    uint count = controller[1];
    TrafficController_phase(self) = 0;
    TrafficController_group_count(self) = (uchar)count;
    for (uint k = 0u; k < DEGREE_MAX; k++) {
        TrafficController_groups(self, k).id = k < count ? groups[controller[0] + k] : 0u;
    }
}

/* Do-new over TrafficLight, whose controllers come before those of yield signs. */
__kernel void light_init(CLUMP_HEAP, __global const uint *groups, __global const uint *all) {
    CLUMP_FOR_EACH_NEW(TrafficLight, self, i) {
        __global const uint *controller = all + (ulong)i * 4u;
        controller_init(clump_heap, TrafficLight_as_TrafficController(self), groups, controller);
        TrafficLight_phase_steps(self) = (uchar)controller[2];
        TrafficLight_timer(self) = (uchar)controller[3];
    }
}

__kernel void yield_init(CLUMP_HEAP, __global const uint *groups, __global const uint *all,
                         uint lights) {
    CLUMP_FOR_EACH_NEW(YieldController, self, i) {
        controller_init(clump_heap, YieldController_as_TrafficController(self), groups,
                        all + (ulong)(lights + i) * 4u);
    }
}

static void car_init(CLUMP_HEAP, Car self, Cell cell, uint number) {
    Car_position(self) = cell;
    Car_target(self) = cell;
    Car_ahead(self) = Cell_next(cell);
    Car_number(self) = number;
    Car_velocity(self) = 0;
    Car_max_velocity(self) = (uchar)car_velocity(number);
    Car_move(self) = STAY;
    Cell_car(cell) = self;
}

/* ---- The phases of a step: looking ----------------------------------------------------------- */

/* Where a car goes from a branch or a sink, `distance` cells into its step. Null: it leaves. */
static Cell look_closer(CLUMP_HEAP_NO_ALLOC, Cell at, moment now, uint number, uint distance) {
    SinkCell sink = Cell_as_SinkCell(at);
    if (!SinkCell_is_null(sink)) {
        Cell beyond = SinkCell_beyond(sink);
        if (!Cell_is_null(beyond) &&
            lot_of(now, number, distance, DRAW_LEAVE, 1000u) < now.leave_permille) {
            beyond = Cell_null;
        }
        return beyond;
    }
    BranchCell branch = {at.id}; /* what has no next is one or the other */
    if (now.is_dynasoar) {
        uint streets = BranchCell_outgoing_count(branch);
        return BranchCell_outgoing(branch, choose_street(now, number, distance, streets));
    }
    uint weights[DEGREE_MAX], count = BranchCell_outgoing_count(branch);
    for (uint k = 0u; k < DEGREE_MAX; k++) {
        weights[k] = k < count ? Cell_max_velocity(BranchCell_outgoing(branch, k)) : 0u;
    }
    return BranchCell_outgoing(branch, choose_lane(now, number, distance, weights));
}

static void look_car(CLUMP_HEAP_NO_ALLOC, Car self, moment now) {
    /* To have `ahead` in the car saves a read that the next one would wait for. */
    Cell at = Car_position(self), before = at, ahead = Car_ahead(self), ahead_before = ahead;
    uint distance = 0u, number = Car_number(self), here = Cell_limit(at), here_before = here;
    uint velocity =
        min(Car_velocity(self) + draw_speedup(now, number), (uint)Car_max_velocity(self));
    bool leaves = false;
    velocity = min(velocity, here & LIMIT);
    while (velocity > 0u && distance <= velocity && /* so at most VELOCITY_MAX + 1 times */
           !(here & TARGET)) {
        Cell next = ahead;
        if (Cell_is_null(next)) {
            next = look_closer(clump_heap, at, now, number, distance);
            leaves = Cell_is_null(next);
        }
        if (leaves || distance >= velocity || !Car_is_null(Cell_car(next))) {
            break;
        }
        uint limit = Cell_limit(next);
        if (velocity > (limit & LIMIT)) {
            if ((limit & LIMIT) <= distance) {
                break; /* slower would be too slow to get there */
            }
            velocity = limit & LIMIT;
        }
        before = at;
        here_before = here;
        here = limit;
        ahead_before = ahead;
        at = next;
        ahead = Cell_next(at);
        distance++;
    }
    if (distance > 0u && lot_of(now, number, 0u, DRAW_SLOW, 1000u) < now.slow_permille) {
        distance--;
        at = before;
        ahead = ahead_before;
        here = here_before;
        leaves = false;
    }
    leaves |= distance > 0u && (here & TARGET);
    Car_velocity(self) = (uchar)distance;
    Car_move(self) = leaves ? LEAVE : distance ? GO : STAY;
    if (distance) {
        Car_target(self) = at;
        Car_ahead(self) = ahead;
    }
}

/* Is there a car that could pass the signal in a step? The first lane has the street behind it. */
static bool look_group(CLUMP_HEAP_NO_ALLOC, SharedSignalGroup self) {
    uint count = SharedSignalGroup_cell_count(self);
    for (uint lane = 0u; lane < count; lane++) {
        Cell cell = SharedSignalGroup_cells(self, lane);
        uint reach = lane ? LANE_CELLS : Cell_max_velocity(cell) & LIMIT;
        for (uint i = 0u; i < reach && !Cell_is_null(cell); i++) {
            if (!Car_is_null(Cell_car(cell))) {
                return true;
            }
            cell = Cell_previous(cell);
        }
    }
    return false;
}

__kernel void look(CLUMP_HEAP_NO_ALLOC, moment now) {
    CLUMP_FOR_EACH(Car, self) {
        look_car(clump_heap, self, now);
    }
    CLUMP_FOR_EACH(SharedSignalGroup, self) {
        if (SharedSignalGroup_has_sensor(self)) {
            SharedSignalGroup_is_waiting(self) = look_group(clump_heap, self);
        }
    }
}

/* ---- The phases of a step: acting ------------------------------------------------------------ */

static void act_car(CLUMP_HEAP, Car self) {
    uint move = Car_move(self);
    if (move == STAY) {
        return;
    }
    Cell_car(Car_position(self)) = Car_null;
    if (move == LEAVE) {
        Car_free(self);
        return;
    }
    Cell target = Car_target(self);
    Cell_car(target) = self;
    Car_position(self) = target;
}

/* A producer closes its cell in one step, so that nobody comes, and sends out a car in the next.
 * Under DynaSOAr's rules no car moves now, and a car is there at once. */
static void act_producer(CLUMP_HEAP, Cell self, moment now) {
    philox2x32_ctr_t random = draw(now, Cell_index(self), 0u, DRAW_CREATE);
    bool wants = random.v[0] % 1000u < now.create_permille;
    if (now.is_dynasoar) {
        if (!wants) {
            return;
        }
    } else if (Cell_limit(self) != 0) {
        if (wants) {
            Cell_limit(self) = 0;
        }
        return;
    } else {
        Cell_limit(self) = Cell_max_velocity(self);
    }
    if (!Car_is_null(Cell_car(self))) {
        return;
    }
    Car car = Car_new();
    if (!Car_is_null(car)) { /* else the heap is full, and counts it */
        car_init(clump_heap, car, self, random.v[1]);
    }
}

static void set_signal(CLUMP_HEAP, SharedSignalGroup group, bool is_open) {
    uint count = SharedSignalGroup_cell_count(group);
    for (uint k = 0u; k < count; k++) {
        Cell cell = SharedSignalGroup_cells(group, k);
        uint max = Cell_max_velocity(cell);
        Cell_limit(cell) = (uchar)(is_open ? max : max & TARGET);
    }
}

/* A bit for each group. */
static uint get_waiting(CLUMP_HEAP, TrafficController self) {
    uint count = TrafficController_group_count(self), waiting = 0u;
    for (uint k = 0u; k < count; k++) {
        waiting |= (uint)SharedSignalGroup_is_waiting(TrafficController_groups(self, k)) << k;
    }
    return waiting;
}

static void switch_to(CLUMP_HEAP, TrafficController self, uint phase, uint next) {
    set_signal(clump_heap, TrafficController_groups(self, phase), false);
    set_signal(clump_heap, TrafficController_groups(self, next), true);
    TrafficController_phase(self) = (uchar)next;
}

/* Producers and controllers: under DynaSOAr's rules they come first. */
static void act_all_places(CLUMP_HEAP, moment now) {
    CLUMP_FOR_EACH(ProducerCell, self) {
        act_producer(clump_heap, ProducerCell_as_Cell(self), now);
    }
    CLUMP_FOR_EACH(ProducerBranchCell, self) {
        act_producer(clump_heap, ProducerBranchCell_as_Cell(self), now);
    }
    CLUMP_FOR_EACH(TrafficLight, self) {
        TrafficController controller = TrafficLight_as_TrafficController(self);
        uint waiting = now.is_smart ? get_waiting(clump_heap, controller) : 0u;
        uint phase = TrafficController_phase(controller), timer = TrafficLight_timer(self);
        uint next = choose_light(now, waiting, TrafficController_group_count(controller), phase,
                                 TrafficLight_phase_steps(self), &timer);
        TrafficLight_timer(self) = (uchar)timer;
        if (is_switching(now, phase, next, timer)) {
            switch_to(clump_heap, controller, phase, next);
        }
    }
    CLUMP_FOR_EACH(YieldController, self) {
        TrafficController controller = YieldController_as_TrafficController(self);
        uint phase = TrafficController_phase(controller);
        uint next = choose_yield(get_waiting(clump_heap, controller), phase);
        if (next != phase) {
            switch_to(clump_heap, controller, phase, next);
        }
    }
}

__kernel void act_places(CLUMP_HEAP, moment now) {
    act_all_places(clump_heap, now);
}

__kernel void act_cars(CLUMP_HEAP) {
    CLUMP_FOR_EACH(Car, self) {
        act_car(clump_heap, self);
    }
}

/* All in one, as a producer and a controller write no cell that a car comes to or leaves. */
__kernel void act(CLUMP_HEAP, moment now) {
    CLUMP_FOR_EACH(Car, self) {
        act_car(clump_heap, self);
    }
    act_all_places(clump_heap, now);
}

/* ---- Showing the world ----------------------------------------------------------------------- */

static uint limit_now(CLUMP_HEAP_NO_ALLOC, Cell self) {
    return Cell_limit(self) & LIMIT;
}
