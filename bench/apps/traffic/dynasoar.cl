/* Traffic with the objects and the four phases of DynaSOAr's program: producers make cars, lights
 * change, cars prepare their path in an array, cars move. The states are those of heap.cl under the
 * same rules.
 *
 * At most one of the cells that lead to a cell is open, so no two cars have the same path's end;
 * cars that prepare write only themselves. So the order of visits does not matter.
 *
 * Compiled after rules.clh and cells.clh, with PATH_IS_FIXED. Read first: dynasoar.schema, paths.h,
 * README.md.
 */

/* ---- Making the world ------------------------------------------------------------------------ */

/* `links` has 8 cells for each: those that lead to it, and those that it leads to, ~0 for none; the
 * others are arrays of network.h. */
__kernel void cell_link(CLUMP_HEAP_NO_ALLOC, __global const uint *cells, __global const uint *links,
                        __global const uchar *max_velocity, __global const uchar *limit) {
    CLUMP_FOR_EACH(Cell, self) {
        uint i = Cell_index(self), counts[2] = {0u, 0u};
        for (uint k = 0u; k < 4u; k++) {
            uint from = links[8u * i + k], to = links[8u * i + 4u + k];
            counts[0] += from != ~0u;
            counts[1] += to != ~0u;
            Cell_incoming(self, k).id = from == ~0u ? 0u : cells[from];
            Cell_outgoing(self, k).id = to == ~0u ? 0u : cells[to];
        }
        Cell_num_incoming(self) = counts[0];
        Cell_num_outgoing(self) = counts[1];
        Cell_car(self) = Car_null;
        Cell_max_velocity(self) = max_velocity[i] & LIMIT;
        Cell_current_max_velocity(self) = limit[i] & LIMIT;
        Cell_is_target(self) = (max_velocity[i] & TARGET) != 0;
    }
}

/* Do-new over TrafficLight. `controllers` and `groups` are those of network.h. */
__kernel void light_init(CLUMP_HEAP, __global const uint *cells, __global const uint *controllers,
                         __global const uint *groups) {
    CLUMP_FOR_EACH_NEW(TrafficLight, self, i) {
        __global const uint *controller = controllers + (ulong)i * 4u;
        uint count = controller[1];
        TrafficLight_num_cells(self) = count;
        TrafficLight_timer(self) = controller[3];
        TrafficLight_phase_time(self) = controller[2];
        TrafficLight_phase(self) = 0u;
        for (uint k = 0u; k < 4u; k++) {
            __global const uint *group = groups + (ulong)(controller[0] + k) * (2u + DEGREE_MAX);
            TrafficLight_cells(self, k).id = k < count ? cells[group[2]] : 0u;
        }
    }
}

/* Where the path is an array of run-time length, it gets the length that the car ever needs.
 * Without room for it there is no such car: the heap is full, and counts that. */
static void car_init(CLUMP_HEAP, Car self, Cell cell, uint number) {
#if !PATH_IS_FIXED
    if (Car_path_resize(self, car_velocity(number)) != CLUMP_DONE) {
        Car_free(self);
        return;
    }
#endif
    Car_position(self) = cell;
    Car_path_cells(self) = 0u;
    Car_velocity(self) = 0u;
    Car_max_velocity(self) = car_velocity(number);
    Car_number(self) = number;
    Cell_car(cell) = self;
}

/* ---- The phases of a step -------------------------------------------------------------------- */

__kernel void create_cars(CLUMP_HEAP, moment now) {
    CLUMP_FOR_EACH(ProducerCell, self) {
        if (!Car_is_null(ProducerCell_car(self))) {
            continue;
        }
        philox2x32_ctr_t random = draw(now, ProducerCell_index(self), 0u, DRAW_CREATE);
        if (random.v[0] % 1000u < now.create_permille) {
            Car car = Car_new();
            if (!Car_is_null(car)) { /* else the heap is full, and counts it */
                car_init(clump_heap, car, ProducerCell_as_Cell(self), random.v[1]);
            }
        }
    }
}

__kernel void change_lights(CLUMP_HEAP_NO_ALLOC) {
    CLUMP_FOR_EACH(TrafficLight, self) {
        uint timer = TrafficLight_timer(self) + 1u, phase = TrafficLight_phase(self);
        if (timer == TrafficLight_phase_time(self)) {
            timer = 0u;
            Cell_current_max_velocity(TrafficLight_cells(self, phase)) = 0u;
            phase = phase + 1u < TrafficLight_num_cells(self) ? phase + 1u : 0u;
            Cell open = TrafficLight_cells(self, phase);
            Cell_current_max_velocity(open) = Cell_max_velocity(open);
            TrafficLight_phase(self) = phase;
        }
        TrafficLight_timer(self) = timer;
    }
}

/* The free cells ahead, as many as the velocity says; the velocity becomes their number. */
static void extend_path(CLUMP_HEAP_NO_ALLOC, Car self, moment now) {
    Cell cell = Car_position(self);
    uint velocity = Car_velocity(self), length = 0u;
    for (uint i = 0u; i < velocity; i++) {
        uint streets = Cell_num_outgoing(cell);
        if (streets == 0u || Cell_is_target(cell)) {
            break;
        }
        uint street = streets > 1u ? choose_street(now, Car_number(self), i, streets) : 0u;
        Cell next = Cell_outgoing(cell, street);
        if (!Car_is_null(Cell_car(next))) {
            break;
        }
        cell = next;
        Car_path(self, i) = cell;
        length++;
    }
    Car_path_cells(self) = length;
    Car_velocity(self) = length;
}

/* Not faster than the limits of the cells of the path. */
static void constrain_velocity(CLUMP_HEAP_NO_ALLOC, Car self) {
    uint velocity = min(Car_velocity(self), Cell_current_max_velocity(Car_position(self)));
    for (uint passed = 0u; passed < velocity; passed++) {
        uint limit = Cell_current_max_velocity(Car_path(self, passed));
        if (velocity > limit) {
            velocity = limit > passed ? limit : passed;
        }
    }
    Car_velocity(self) = velocity;
}

__kernel void prepare_path(CLUMP_HEAP_NO_ALLOC, moment now) {
    CLUMP_FOR_EACH(Car, self) {
        philox2x32_ctr_t random = draw(now, Car_number(self), 0u, DRAW_SLOW);
        uint velocity = Car_velocity(self) + 1u + random.v[1] % SPEEDUP_MAX;
        Car_velocity(self) = min(velocity, Car_max_velocity(self));
        extend_path(clump_heap, self, now);
        constrain_velocity(clump_heap, self);
        if (Car_velocity(self) > 0u && random.v[0] % 1000u < now.slow_permille) {
            Car_velocity(self)--;
        }
    }
}

__kernel void move_cars(CLUMP_HEAP) {
    CLUMP_FOR_EACH(Car, self) {
        uint velocity = Car_velocity(self);
        if (velocity == 0u) {
            continue;
        }
        Cell to = Car_path(self, velocity - 1u);
        Cell_car(Car_position(self)) = Car_null;
        if (Cell_is_target(to)) {
            Car_free(self);
            continue;
        }
        Cell_car(to) = self;
        Car_position(self) = to;
    }
}

/* ---- Showing the world ----------------------------------------------------------------------- */

static uint limit_now(CLUMP_HEAP_NO_ALLOC, Cell self) {
    return Cell_current_max_velocity(self);
}
