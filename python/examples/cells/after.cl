/* Kernels of after.py: cells and contacts are objects. A cell has a list of its contacts, each of which is in the lists of two cells.
 * Read first: physics.cl. */

/* The square of a place, and the list that it is in: squares may share one. */
static int2 square_of(float4 pose) {
    return convert_int2_rtn(pose.xy / SQUARE);
}
static uint list_of(int2 square, uint lists) {
    return mix_bits((uint)square.x * 0x9e3779b1u + (uint)square.y) % lists;
}

__kernel void first(CLUMP_HEAP) {
    CLUMP_FOR_EACH_NEW(Cell, self, i) {
        Cell_pose(self) = (float4)(0, 0, 1, 0);
        Cell_len(self) = 2;
        Cell_name(self) = 1;
    }
}

/* Also the grid: lists of the cells in each square. */
__kernel void start(CLUMP_HEAP_NO_ALLOC, __global uint *heads, uint lists) {
    CLUMP_FOR_EACH(Cell, self) {
        Cell_step(self) = (float4)(0, 0, 0, RATE * Cell_len(self));
        Cell_contacts(self) = Contact_null;
        Cell_neighbour(self).id =
            atomic_xchg(&heads[list_of(square_of(Cell_pose(self)), lists)], self.id);
    }
}

__kernel void predict(CLUMP_HEAP_NO_ALLOC) {
    CLUMP_FOR_EACH(Cell, self) {
        capsule c = moved(Cell_pose(self), Cell_len(self), Cell_step(self));
        Cell_goal(self) = c.pose;
        Cell_goal_len(self) = c.len;
    }
}

static void link(CLUMP_HEAP_NO_ALLOC, Contact contact, Cell cell, uint end) {
    Contact_next(contact, end).id = CLUMP_ATOMIC_XCHG(Cell_contacts(cell).id, contact.id);
}

static void update(CLUMP_HEAP_NO_ALLOC, Contact contact) {
    Cell a = Contact_cell(contact, 0), b = Contact_cell(contact, 1);
    touch t = touch_of((capsule){Cell_goal(a), Cell_goal_len(a)},
                       (capsule){Cell_goal(b), Cell_goal_len(b)});
    for (uint p = 0; p < 2; p++) {
        Contact_row_a(contact, p) = t.row_a[p];
        Contact_row_b(contact, p) = t.row_b[p];
        Contact_distance(contact, p) = t.distance[p];
    }
}

__kernel void update_contacts(CLUMP_HEAP_NO_ALLOC) {
    CLUMP_FOR_EACH(Contact, self) update(clump_heap, self);
}

static bool touches(CLUMP_HEAP_NO_ALLOC, Cell a, Cell b) {
    for (Contact k = Cell_contacts(a); !Contact_is_null(k);) {
        uint end = Contact_cell(k, 1).id == a.id;
        if (Contact_cell(k, 1 - end).id == b.id) return true;
        k = Contact_next(k, end);
    }
    return false;
}

/* A contact belongs to the cell with the smaller name, which makes it. */
__kernel void find_contacts(CLUMP_HEAP, __global const uint *heads, uint lists) {
    CLUMP_FOR_EACH(Cell, self) {
        capsule own = {Cell_goal(self), Cell_goal_len(self)};
        int2 at = square_of(Cell_pose(self));
        for (int near = 0; near < 9; near++) {
            int2 square = at + (int2)(near % 3 - 1, near / 3 - 1);
            for (Cell other = {heads[list_of(square, lists)]}; !Cell_is_null(other);
                 other = Cell_neighbour(other)) {
                if (Cell_name(other) <= Cell_name(self) ||
                    any(square_of(Cell_pose(other)) != square))
                    continue;
                touch t = touch_of(own, (capsule){Cell_goal(other), Cell_goal_len(other)});
                if (t.nearest >= MARGIN || touches(clump_heap, self, other)) continue;
                Contact contact = Contact_new();
                if (Contact_is_null(contact)) return; /* no room: the host asks */
                Contact_cell(contact, 0) = self;
                Contact_cell(contact, 1) = other;
                link(clump_heap, contact, self, 0);
                link(clump_heap, contact, other, 1);
                update(clump_heap, contact);
            }
        }
    }
}

/* y = B x */
__kernel void by_rows(CLUMP_HEAP_NO_ALLOC) {
    CLUMP_FOR_EACH(Contact, self) {
        float4 a = Cell_p(Contact_cell(self, 0)), b = Cell_p(Contact_cell(self, 1));
        for (uint p = 0; p < 2; p++)
            Contact_y(self, p) =
                (float)(product(Contact_row_a(self, p), a) - product(Contact_row_b(self, p), b));
    }
}

static float4 sum_of(CLUMP_HEAP_NO_ALLOC, Cell self, bool of_distances) {
    double4 sum = 0;
    for (Contact k = Cell_contacts(self); !Contact_is_null(k);) {
        uint end = Contact_cell(k, 1).id == self.id;
        for (uint p = 0; p < 2; p++) {
            float y = of_distances ? Contact_distance(k, p) : Contact_y(k, p);
            sum += convert_double4(end ? -Contact_row_b(k, p) : Contact_row_a(k, p)) * y;
        }
        k = Contact_next(k, end);
    }
    return convert_float4(sum);
}

/* The residual of x = 0: B^T distance */
__kernel void residual(CLUMP_HEAP_NO_ALLOC) {
    CLUMP_FOR_EACH(Cell, self) {
        Cell_x(self) = 0;
        Cell_res(self) = Cell_p(self) = sum_of(clump_heap, self, true);
    }
}

/* (B^T B + W) p */
__kernel void by_columns(CLUMP_HEAP_NO_ALLOC) {
    CLUMP_FOR_EACH(Cell, self)
    Cell_ap(self) = sum_of(clump_heap, self, false) + cost(Cell_len(self), Cell_p(self));
}

__kernel void squared_residual(CLUMP_HEAP_NO_ALLOC) {
    double sum = 0;
    CLUMP_FOR_EACH(Cell, self) sum += product(Cell_res(self), Cell_res(self));
    CLUMP_REDUCE(double, sum, CLUMP_SUM);
}

__kernel void p_times_ap(CLUMP_HEAP_NO_ALLOC) {
    double sum = 0;
    CLUMP_FOR_EACH(Cell, self) sum += product(Cell_p(self), Cell_ap(self));
    CLUMP_REDUCE(double, sum, CLUMP_SUM);
}

__kernel void along(CLUMP_HEAP_NO_ALLOC, float alpha) {
    CLUMP_FOR_EACH(Cell, self) {
        Cell_x(self) += alpha * Cell_p(self);
        Cell_res(self) -= alpha * Cell_ap(self);
    }
}

__kernel void next_direction(CLUMP_HEAP_NO_ALLOC, float beta) {
    CLUMP_FOR_EACH(Cell, self) Cell_p(self) = Cell_res(self) + beta * Cell_p(self);
}

__kernel void add_impulse(CLUMP_HEAP_NO_ALLOC) {
    CLUMP_FOR_EACH(Cell, self) Cell_step(self) = with_impulse(Cell_step(self), Cell_x(self));
}

/* Moves the cells, and those that are long enough divide: a birth is one line. */
__kernel void integrate(CLUMP_HEAP) {
    CLUMP_FOR_EACH(Cell, self) {
        capsule c = moved(Cell_pose(self), Cell_len(self), Cell_step(self));
        uint name = Cell_name(self);
        Cell_pose(self) = c.pose;
        Cell_len(self) = c.len;
        if (c.len <= length_to_divide(name)) continue;
        Cell child = Cell_new();
        if (Cell_is_null(child)) return;
        Cell_len(self) = Cell_len(child) = daughter_length(c.len);
        Cell_name(self) = 2 * name;
        Cell_name(child) = 2 * name + 1;
        Cell_pose(self) = daughter_pose(c.pose, Cell_len(self), 2 * name, 1);
        Cell_pose(child) = daughter_pose(c.pose, Cell_len(self), 2 * name + 1, -1);
    }
}

__kernel void part(CLUMP_HEAP) {
    CLUMP_FOR_EACH(Contact, self) Contact_free(self);
}
