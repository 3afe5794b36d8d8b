/* Wa-Tor: one kernel per phase of a step, and those that make, link and show the world.
 *
 * The rules stand in README.md, in other words in sequential.c, whose worlds these kernels must
 * equal cell by cell. Every phase reads only what it does not write, except for an object's own
 * fields; so no atomics are needed, and the order of visits does not matter.
 *
 * Read first: wa_tor.schema, rules.clh, which is compiled in front of this.
 */
/* ---- Making the world ------------------------------------------------------------------------ */

/* Do-new over Cell: number the cells and note where each lies. */
__kernel void cell_init(CLUMP_HEAP, __global uint *cells) {
    CLUMP_FOR_EACH_NEW(Cell, self, number) {
        Cell_index(self) = number;
        cells[number] = self.id;
    }
}

static Agent fish_make(CLUMP_HEAP, Cell cell, uint spawn_timer) {
    Fish fish = Fish_new();
    if (Fish_is_null(fish)) {
        return Agent_null; /* the heap is full, and counts it */
    }
    Fish_position(fish) = cell;
    Fish_new_position(fish) = cell;
    Fish_spawn_timer(fish) = spawn_timer;
    return Fish_as_Agent(fish);
}

static Agent shark_make(CLUMP_HEAP, Cell cell, uint spawn_timer, uint energy) {
    Shark shark = Shark_new();
    if (Shark_is_null(shark)) {
        return Agent_null;
    }
    Shark_position(shark) = cell;
    Shark_new_position(shark) = cell;
    Shark_spawn_timer(shark) = spawn_timer;
    Shark_energy(shark) = energy;
    return Shark_as_Agent(shark);
}

/* Link each cell to its neighbours on the torus. */
__kernel void cell_link(CLUMP_HEAP_FIXED, __global const uint *cells, uint width, uint height) {
    CLUMP_FOR_EACH(Cell, self) {
        uint i = Cell_index(self);
        uint x = i % width, last_row = width * (height - 1u);
        Cell_neighbors(self, 0).id = cells[x > 0u ? i - 1u : i + width - 1u];
        Cell_neighbors(self, 1).id = cells[i >= width ? i - width : i + last_row];
        Cell_neighbors(self, 2).id = cells[x < width - 1u ? i + 1u : i - (width - 1u)];
        Cell_neighbors(self, 3).id = cells[i < last_row ? i + width : i - last_row];
        Cell_agent(self) = Agent_null;
        Cell_requests(self) = (uchar4)(0);
    }
}

/* Give each cell its first agent, or none. */
__kernel void cell_populate(CLUMP_HEAP, uint seed, uint fish_permille, uint shark_permille,
                            uint fish_spawn, uint shark_spawn, uint shark_energy) {
    CLUMP_FOR_EACH(Cell, self) {
        philox4x32_ctr_t random = draw_all(Cell_index(self), 0u, DRAW_POPULATE, seed);
        uint kind = first_kind(random, fish_permille, shark_permille);
        if (kind == FISH) {
            Cell_agent(self) = fish_make(clump_heap, self, random.v[1] % (fish_spawn + 1u));
        } else if (kind == SHARK) {
            Cell_agent(self) =
                shark_make(clump_heap, self, random.v[1] % (shark_spawn + 1u), shark_energy);
        }
    }
}

/* ---- The phases of a step -------------------------------------------------------------------- */

/* Ask to enter one of the neighbours in `mask`; who may enter none stays. Only this cell's agent
 * writes that byte: neighbour i knows the cell as its neighbour (i + 2) % 4. */
static void request(CLUMP_HEAP_FIXED, Cell cell, uint mask, uint iteration, uint draw, uint seed) {
    if (mask == 0u) {
        return;
    }
    uint random = is_alone(mask) ? 0u : draw_one(Cell_index(cell), iteration, draw, seed);
    uint selected = pick(mask, random);
    Cell target = Cell_neighbors(cell, selected);
    ((__global uchar *)&Cell_requests(target))[(selected + 2u) % 4u] = 1;
}

__kernel void fish_select(CLUMP_HEAP_FIXED, uint iteration, uint seed) {
    CLUMP_FOR_EACH(Fish, self) {
        Fish_spawn_timer(self)++;
        Cell cell = Fish_position(self);
        uint vacant = 0u;
        for (uint i = 0u; i < 4u; i++) {
            vacant |= (uint)Agent_is_null(Cell_agent(Cell_neighbors(cell, i))) << i;
        }
        request(clump_heap, cell, vacant, iteration, DRAW_FISH_SELECT, seed);
    }
}

__kernel void shark_select(CLUMP_HEAP_FIXED, uint iteration, uint seed) {
    CLUMP_FOR_EACH(Shark, self) {
        Shark_spawn_timer(self)++;
        if (--Shark_energy(self) == 0u) {
            continue; /* it dies in shark_move and must not block another's way until then */
        }
        Cell cell = Shark_position(self);
        uint vacant = 0u, prey = 0u;
        for (uint i = 0u; i < 4u; i++) {
            Agent agent = Cell_agent(Cell_neighbors(cell, i));
            if (Agent_is_null(agent)) {
                vacant |= 1u << i;
            } else if (Agent_is_Fish(agent)) {
                prey |= 1u << i;
            }
        }
        request(clump_heap, cell, prey ? prey : vacant, iteration, DRAW_SHARK_SELECT, seed);
    }
}

/* Grant each cell to one of the agents that asked for it, and forget their requests. The others
 * stay where they are: their new_position is their position. */
__kernel void cell_decide(CLUMP_HEAP_FIXED, uint iteration, uint seed, uint draw) {
    CLUMP_FOR_EACH(Cell, self) {
        uchar4 asked = Cell_requests(self);
        uint mask = asked.s0 | asked.s1 << 1 | asked.s2 << 2 | asked.s3 << 3;
        if (mask == 0u) {
            continue;
        }
        Cell_requests(self) = (uchar4)(0);
        uint random = is_alone(mask) ? 0u : draw_one(Cell_index(self), iteration, draw, seed);
        Agent granted = Cell_agent(Cell_neighbors(self, pick(mask, random)));
        Agent_new_position(granted) = self;
    }
}

__kernel void fish_move(CLUMP_HEAP, uint fish_spawn) {
    CLUMP_FOR_EACH(Fish, self) {
        Cell from = Fish_position(self), to = Fish_new_position(self);
        if (from.id == to.id) {
            continue;
        }
        Agent left_behind = Agent_null;
        if (Fish_spawn_timer(self) > fish_spawn) {
            Fish_spawn_timer(self) = 0u;
            left_behind = fish_make(clump_heap, from, 0u);
        }
        Fish_position(self) = to;
        Cell_agent(to) = Fish_as_Agent(self);
        Cell_agent(from) = left_behind;
    }
}

__kernel void shark_move(CLUMP_HEAP, uint shark_spawn, uint shark_energy, uint shark_gain) {
    CLUMP_FOR_EACH(Shark, self) {
        Cell from = Shark_position(self), to = Shark_new_position(self);
        if (Shark_energy(self) == 0u) {
            Cell_agent(from) = Agent_null;
            Shark_free(self);
            continue;
        }
        if (from.id == to.id) {
            continue;
        }
        Agent prey = Cell_agent(to);
        if (!Agent_is_null(prey)) {
            Agent_free(prey);
            Shark_energy(self) += shark_gain;
        }
        Agent left_behind = Agent_null;
        if (Shark_spawn_timer(self) > shark_spawn) {
            Shark_spawn_timer(self) = 0u;
            left_behind = shark_make(clump_heap, from, 0u, shark_energy);
        }
        Shark_position(self) = to;
        Cell_agent(to) = Shark_as_Agent(self);
        Cell_agent(from) = left_behind;
    }
}

/* ---- Looking --------------------------------------------------------------------------------- */

__kernel void write_world(CLUMP_HEAP_FIXED, __global uint *world) {
    CLUMP_FOR_EACH(Cell, self) {
        Agent agent = Cell_agent(self);
        uint code = 0u;
        if (Agent_is_Fish(agent)) {
            code = encode(FISH, Fish_spawn_timer(Agent_as_Fish(agent)), 0u);
        } else if (Agent_is_Shark(agent)) {
            Shark shark = Agent_as_Shark(agent);
            code = encode(SHARK, Shark_spawn_timer(shark), Shark_energy(shark));
        }
        world[Cell_index(self)] = code;
    }
}
