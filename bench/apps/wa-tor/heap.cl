/* Wa-Tor: one kernel per phase of a step, and those that make, link and show the world.
 *
 * The rules stand in README.md, in other words in sequential.c, whose worlds these kernels must
 * equal cell by cell. Every phase reads only what it does not write, except for an object's own
 * fields; so no atomics are needed, and the order of visits does not matter.
 *
 * Read first: objects.schema, rules.clh, agents.clh, show.clh and ../cells.clh, which are compiled
 * before this.
 */

#define GRID __global const uint *rows, uint width, uint cells
#define GRID_HERE rows, width, cells

/* ---- Making the world ------------------------------------------------------------------------ */

/* Do-new over Cell. */
__kernel void cell_init(CLUMP_HEAP, __global uint *rows, uint row_count) {
    CLUMP_FOR_EACH_NEW(Cell, self, number) {
        cell_note(rows, row_count, self, number);
        Cell_number(self) = number;
        Cell_agent(self) = Agent_null;
        Cell_requests(self) = (uchar4)(0);
    }
}

/* Give each cell its first agent, or none. */
__kernel void cell_populate(CLUMP_HEAP, uint seed, uint fish_permille, uint shark_permille,
                            uint fish_spawn, uint shark_spawn, uint shark_energy,
                            uint has_drawn_timers) {
    CLUMP_FOR_EACH(Cell, self) {
        uint n = Cell_number(self), kind;
        Cell_agent(self) =
            first_agent(clump_heap, n, seed, fish_permille, shark_permille, fish_spawn, shark_spawn,
                        shark_energy, has_drawn_timers, &kind);
    }
}

/* ---- The phases of a step -------------------------------------------------------------------- */

/* Ask to enter one of the neighbours in `mask` of cell n; who may enter none stays. Only that
 * cell's agent writes that byte: neighbour i knows the cell as its neighbour (i + 2) % 4. */
static void request(CLUMP_HEAP_NO_ALLOC, GRID, uint n, uint mask, uint iteration, uint draw,
                    uint seed) {
    if (mask == 0u) {
        return;
    }
    uint selected = choose(mask, n, iteration, draw, seed);
    Cell target = cell_at(rows, neighbor_of(n, n % width, width, cells, selected));
    cell_request(clump_heap, target, (selected + 2u) % 4u);
}

static Agent agent_beside(CLUMP_HEAP_NO_ALLOC, GRID, uint n, uint x, uint i) {
    return Cell_agent(cell_at(rows, neighbor_of(n, x, width, cells, i)));
}

__kernel void fish_select(CLUMP_HEAP_NO_ALLOC, uint iteration, uint seed, GRID) {
    CLUMP_FOR_EACH(Fish, self) {
        Fish_spawn_timer(self)++;
        uint n = Fish_position(self), x = n % width, vacant = 0u;
        for (uint i = 0u; i < 4u; i++) {
            vacant |= (uint)Agent_is_null(agent_beside(clump_heap, GRID_HERE, n, x, i)) << i;
        }
        request(clump_heap, GRID_HERE, n, vacant, iteration, DRAW_FISH_SELECT, seed);
    }
}

__kernel void shark_select(CLUMP_HEAP_NO_ALLOC, uint iteration, uint seed, GRID) {
    CLUMP_FOR_EACH(Shark, self) {
        Shark_spawn_timer(self)++;
        if (--Shark_energy(self) == 0u) {
            continue; /* it dies in shark_move and must not block another's way until then */
        }
        uint n = Shark_position(self), x = n % width, vacant = 0u, prey = 0u;
        for (uint i = 0u; i < 4u; i++) {
            Agent agent = agent_beside(clump_heap, GRID_HERE, n, x, i);
            if (Agent_is_null(agent)) {
                vacant |= 1u << i;
            } else if (Agent_is_Fish(agent)) {
                prey |= 1u << i;
            }
        }
        request(clump_heap, GRID_HERE, n, prey ? prey : vacant, iteration, DRAW_SHARK_SELECT, seed);
    }
}

/* Grant each cell to one of the agents that asked for it, and forget their requests. The others
 * stay where they are: their new_position is their position. */
__kernel void cell_decide(CLUMP_HEAP_NO_ALLOC, uint iteration, uint seed, uint draw, GRID) {
    CLUMP_FOR_EACH(Cell, self) {
        uint mask = cell_take_requests(clump_heap, self);
        if (mask == 0u) {
            continue;
        }
        uint n = Cell_number(self);
        uint selected = choose(mask, n, iteration, draw, seed);
        Agent_new_position(agent_beside(clump_heap, GRID_HERE, n, n % width, selected)) = n;
    }
}

__kernel void fish_move(CLUMP_HEAP, uint iteration, uint seed, uint fish_spawn,
                        uint has_drawn_timers, __global const uint *rows) {
    CLUMP_FOR_EACH(Fish, self) {
        uint from = Fish_position(self), to = Fish_new_position(self);
        if (from == to) {
            continue;
        }
        Agent left_behind =
            fish_leave(clump_heap, self, from, iteration, seed, fish_spawn, has_drawn_timers);
        Fish_position(self) = to;
        Cell_agent(cell_at(rows, to)) = Fish_as_Agent(self);
        Cell_agent(cell_at(rows, from)) = left_behind;
    }
}

__kernel void shark_move(CLUMP_HEAP, uint iteration, uint seed, uint shark_spawn,
                         uint has_drawn_timers, uint shark_energy, uint shark_gain,
                         __global const uint *rows) {
    CLUMP_FOR_EACH(Shark, self) {
        uint from = Shark_position(self), to = Shark_new_position(self);
        if (Shark_energy(self) == 0u) {
            Cell_agent(cell_at(rows, from)) = Agent_null;
            Shark_free(self);
            continue;
        }
        if (from == to) {
            continue;
        }
        Cell target = cell_at(rows, to);
        shark_eat(clump_heap, self, target, shark_gain);
        Agent left_behind = shark_leave(clump_heap, self, from, iteration, seed, shark_spawn,
                                        shark_energy, has_drawn_timers);
        Shark_position(self) = to;
        Cell_agent(target) = Shark_as_Agent(self);
        Cell_agent(cell_at(rows, from)) = left_behind;
    }
}

/* ---- Showing the world ----------------------------------------------------------------------- */

__kernel void write_world(CLUMP_HEAP_NO_ALLOC, __global uint *world) {
    CLUMP_FOR_EACH(Cell, self) world[Cell_number(self)] = code_of(clump_heap, Cell_agent(self));
}
