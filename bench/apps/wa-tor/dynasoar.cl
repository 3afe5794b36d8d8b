/* Wa-Tor with the objects of DynaSOAr's program: cells list their neighbours, agents refer to
 * cells. The worlds are those of heap.cl, cell by cell.
 *
 * A request is a byte of the wanted cell, which only the agent on one of its sides writes. The cell
 * leaves the byte of the one that may come, and that one looks for it, and clears it. So between
 * phases of fish and of sharks no byte is set, and the two phases in which DynaSOAr's cells forget
 * their requests are left out. To decide is to read and write a column of cells in order; nothing
 * is written to agents, which lie anywhere.
 *
 * A kernel has the parameters of its namesake in heap.cl, without those of the grid; moves have its
 * width and its number of cells behind them.
 *
 * Read first: dynasoar.schema, rules.clh and show.clh, which are compiled before this; heap.cl.
 */

/* ---- Making the world ------------------------------------------------------------------------ */

/* Do-new over Cell. `rows` leads from numbers to cells, as in heap.cl, until they are linked. */
__kernel void cell_init(CLUMP_HEAP, __global uint *rows, uint row_count) {
    CLUMP_FOR_EACH_NEW(Cell, self, number) {
        cell_note(rows, row_count, self, number);
        Cell_number(self) = number;
        Cell_agent(self) = Agent_null;
        Cell_kind(self) = EMPTY;
        Cell_requests(self) = (uchar4)(0);
    }
}

__kernel void cell_link(CLUMP_HEAP_NO_ALLOC, __global const uint *rows, uint width, uint cells) {
    CLUMP_FOR_EACH(Cell, self) {
        uint n = Cell_number(self);
        for (uint i = 0u; i < 4u; i++) {
            Cell_neighbors(self, i) = cell_at(rows, neighbor_of(n, n % width, width, cells, i));
        }
    }
}

/* There is nobody if `agent` is null. */
static void cell_fill(CLUMP_HEAP_NO_ALLOC, Cell cell, Agent agent, uint kind) {
    Cell_agent(cell) = agent;
    Cell_kind(cell) = Agent_is_null(agent) ? EMPTY : kind;
}

static Agent fish_make(CLUMP_HEAP, Cell cell, uint number, uint spawn_timer) {
    Fish fish = Fish_new();
    if (Fish_is_null(fish)) {
        return Agent_null; /* the heap is full, and counts it */
    }
    Fish_position(fish) = cell;
    Fish_number(fish) = number;
    Fish_spawn_timer(fish) = spawn_timer;
    return Fish_as_Agent(fish);
}

static Agent shark_make(CLUMP_HEAP, Cell cell, uint number, uint spawn_timer, uint energy) {
    Shark shark = Shark_new();
    if (Shark_is_null(shark)) {
        return Agent_null;
    }
    Shark_position(shark) = cell;
    Shark_number(shark) = number;
    Shark_spawn_timer(shark) = spawn_timer;
    Shark_energy(shark) = energy;
    return Shark_as_Agent(shark);
}

__kernel void cell_populate(CLUMP_HEAP, uint seed, uint fish_permille, uint shark_permille,
                            uint fish_spawn, uint shark_spawn, uint shark_energy,
                            uint has_drawn_timers) {
    CLUMP_FOR_EACH(Cell, self) {
        uint number = Cell_number(self);
        philox4x32_ctr_t random = draw_all(number, 0u, DRAW_POPULATE, seed);
        uint kind = first_kind(random, fish_permille, shark_permille);
        if (kind == FISH) {
            Agent fish = fish_make(clump_heap, self, number,
                                   first_timer(random.v[1], fish_spawn, has_drawn_timers));
            cell_fill(clump_heap, self, fish, FISH);
        } else if (kind == SHARK) {
            Agent shark =
                shark_make(clump_heap, self, number,
                           first_timer(random.v[1], shark_spawn, has_drawn_timers), shark_energy);
            cell_fill(clump_heap, self, shark, SHARK);
        }
    }
}

/* ---- The phases of a step -------------------------------------------------------------------- */

/* The byte of the agent on this side of the cell. Not as a part of the vector: that would write all
 * four. */
static __global uchar *request_from(CLUMP_HEAP_NO_ALLOC, Cell cell, uint side) {
    return (__global uchar *)&Cell_requests(cell) + side;
}

/* The neighbours lie together: one read, where they are aligned for it. */
static uint4 neighbors_of(CLUMP_HEAP_NO_ALLOC, Cell cell) {
    __global const uint *all = &Cell_neighbors(cell, 0u).id;
    return (size_t)all % sizeof(uint4) == 0 ? *(__global const uint4 *)all : vload4(0, all);
}

/* Neighbour i of these. */
static Cell neighbor_at(uint4 all, uint i) {
    Cell cell = {i == 0u ? all.s0 : i == 1u ? all.s1 : i == 2u ? all.s2 : all.s3};
    return cell;
}

/* The agent on a cell with these neighbours asks to enter one of those in `mask`, if there is one:
 * neighbour i knows the cell as its neighbour (i + 2) % 4. */
static void request(CLUMP_HEAP_NO_ALLOC, Agent self, uint4 neighbors, uint mask, uint iteration,
                    uint draw, uint seed) {
    Cell target = Cell_null;
    if (mask != 0u) {
        uint selected = choose(mask, Agent_number(self), iteration, draw, seed);
        uint side = (selected + 2u) % 4u;
        target = neighbor_at(neighbors, selected);
        *request_from(clump_heap, target, side) = 1;
        Agent_side(self) = side;
    }
    Agent_new_position(self) = target;
}

/* The agent is on the cell that it asked for, whose number follows from that of the old one. */
static void enter(CLUMP_HEAP_NO_ALLOC, Agent self, uint width, uint cells) {
    uint n = Agent_number(self), side = Agent_side(self);
    Agent_position(self) = Agent_new_position(self);
    Agent_number(self) = neighbor_of(n, n % width, width, cells, (side + 2u) % 4u);
}

/* Whether the agent asked, and may go. Takes the request back. */
static bool take_grant(CLUMP_HEAP_NO_ALLOC, Agent self) {
    Cell target = Agent_new_position(self);
    if (Cell_is_null(target)) {
        return false;
    }
    __global uchar *request = request_from(clump_heap, target, Agent_side(self));
    bool is_granted = *request != 0;
    if (is_granted) {
        *request = 0;
    }
    return is_granted;
}

__kernel void fish_select(CLUMP_HEAP_NO_ALLOC, uint iteration, uint seed) {
    CLUMP_FOR_EACH(Fish, self) {
        Fish_spawn_timer(self)++;
        uint4 neighbors = neighbors_of(clump_heap, Fish_position(self));
        uint vacant = 0u;
        for (uint i = 0u; i < 4u; i++) {
            vacant |= (uint)(Cell_kind(neighbor_at(neighbors, i)) == EMPTY) << i;
        }
        request(clump_heap, Fish_as_Agent(self), neighbors, vacant, iteration, DRAW_FISH_SELECT,
                seed);
    }
}

__kernel void shark_select(CLUMP_HEAP_NO_ALLOC, uint iteration, uint seed) {
    CLUMP_FOR_EACH(Shark, self) {
        Shark_spawn_timer(self)++;
        if (--Shark_energy(self) == 0u) {
            continue; /* it dies in shark_move and must not block another's way until then */
        }
        uint4 neighbors = neighbors_of(clump_heap, Shark_position(self));
        uint vacant = 0u, prey = 0u;
        for (uint i = 0u; i < 4u; i++) {
            uint kind = Cell_kind(neighbor_at(neighbors, i));
            vacant |= (uint)(kind == EMPTY) << i;
            prey |= (uint)(kind == FISH) << i;
        }
        request(clump_heap, Shark_as_Agent(self), neighbors, prey ? prey : vacant, iteration,
                DRAW_SHARK_SELECT, seed);
    }
}

/* Of several requests leave one. */
__kernel void cell_decide(CLUMP_HEAP_NO_ALLOC, uint iteration, uint seed, uint draw) {
    CLUMP_FOR_EACH(Cell, self) {
        uint4 asked = convert_uint4(Cell_requests(self));
        uint mask = asked.s0 | asked.s1 << 1 | asked.s2 << 2 | asked.s3 << 3;
        if (is_alone(mask)) { /* or there is none */
            continue;
        }
        uint selected = pick(mask, draw_one(Cell_number(self), iteration, draw, seed));
        Cell_requests(self) =
            (uchar4)(selected == 0u, selected == 1u, selected == 2u, selected == 3u);
    }
}

__kernel void fish_move(CLUMP_HEAP, uint iteration, uint seed, uint fish_spawn,
                        uint has_drawn_timers, uint width, uint cells) {
    CLUMP_FOR_EACH(Fish, self) {
        if (!take_grant(clump_heap, Fish_as_Agent(self))) {
            continue;
        }
        Cell from = Fish_position(self), to = Fish_new_position(self);
        Agent born = Agent_null;
        if (Fish_spawn_timer(self) > fish_spawn) {
            Fish_spawn_timer(self) = 0u;
            uint number = Fish_number(self);
            born = fish_make(
                clump_heap, from, number,
                born_timer(number, iteration, DRAW_FISH_BORN, seed, fish_spawn, has_drawn_timers));
        }
        cell_fill(clump_heap, from, born, FISH);
        cell_fill(clump_heap, to, Fish_as_Agent(self), FISH);
        enter(clump_heap, Fish_as_Agent(self), width, cells);
    }
}

__kernel void shark_move(CLUMP_HEAP, uint iteration, uint seed, uint shark_spawn,
                         uint has_drawn_timers, uint shark_energy, uint shark_gain, uint width,
                         uint cells) {
    CLUMP_FOR_EACH(Shark, self) {
        Cell from = Shark_position(self);
        if (Shark_energy(self) == 0u) {
            cell_fill(clump_heap, from, Agent_null, EMPTY);
            Shark_free(self);
            continue;
        }
        if (!take_grant(clump_heap, Shark_as_Agent(self))) {
            continue;
        }
        Cell to = Shark_new_position(self);
        if (Cell_kind(to) == FISH) {
            Shark_energy(self) += shark_gain;
            Agent_free(Cell_agent(to));
        }
        Agent born = Agent_null;
        if (Shark_spawn_timer(self) > shark_spawn) {
            Shark_spawn_timer(self) = 0u;
            uint number = Shark_number(self);
            born = shark_make(
                clump_heap, from, number,
                born_timer(number, iteration, DRAW_SHARK_BORN, seed, shark_spawn, has_drawn_timers),
                shark_energy);
        }
        cell_fill(clump_heap, from, born, SHARK);
        cell_fill(clump_heap, to, Shark_as_Agent(self), SHARK);
        enter(clump_heap, Shark_as_Agent(self), width, cells);
    }
}

/* ---- Showing the world ----------------------------------------------------------------------- */

__kernel void write_world(CLUMP_HEAP_NO_ALLOC, __global uint *world) {
    CLUMP_FOR_EACH(Cell, self) world[Cell_number(self)] = code_of(clump_heap, Cell_agent(self));
}
