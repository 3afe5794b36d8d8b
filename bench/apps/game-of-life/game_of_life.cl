/* The Game of Life and generational automata: living cells and candidates as objects.
 *
 * `size` is the width and the height of the world, `rule` has born, survive and states of model.h:
 * arguments, so that one build serves all worlds. A cell has two states: `now`, 0 or 1, numbers
 * those of this step, the other those of the next. A step has two phases:
 *
 *   prepare  every agent computes the next state of its cell from the states of its neighbours;
 *   update   agents are made and freed so that they fit the next states.
 *
 * Neither reads what it writes: prepare writes next states and reads present ones, update writes
 * references to agents and reads states. (Update also asks whether a cell has an agent; spread()
 * says why the answer does not matter where it can change.) So the order of visits does not matter.
 * A cell without an agent is dead in both states.
 *
 * Read first: game_of_life.schema.
 */

#define NOWHERE 0xffffffffu

/* The neighbours of cell number `i`, as `other`: those of the eight that the world has. */
#define FOR_NEIGHBORS(i, other)                                                                    \
    for (int x = (int)((i) % size.x), y = (int)((i) / size.x), k = 0; k < 9; k++)          \
        for (uint other = life_neighbor(size, x, y, k); other != NOWHERE; other = NOWHERE)

/* The number of the cell in place `k` of the square around (x, y), or NOWHERE if that is the
 * middle or outside of the world. */
static inline uint life_neighbor(uint2 size, int x, int y, int k) {
    x += k % 3 - 1;
    y += k / 3 - 1;
    int is_inside = x >= 0 && x < (int)size.x && y >= 0 && y < (int)size.y;
    return is_inside && k != 4 ? (uint)y * size.x + (uint)x : NOWHERE;
}

static inline Cell cell_at(__global const uint *cells, uint i) {
    Cell cell;
    cell.id = cells[i];
    return cell;
}

/* All neighbours are looked at in all cases, here and below: lanes that left such a loop early would run
 * ahead of the others and make their objects alone, instead of all in one request. */
static uint count_alive(CLUMP_HEAP_FIXED, __global const uint *cells, uint2 size, uint i,
                        uint when) {
    uint count = 0u;
    FOR_NEIGHBORS(i, other) {
        count += Cell_state(cell_at(cells, other), when) == 1;
    }
    return count;
}

static Agent alive_make(CLUMP_HEAP, uint i) {
    Alive alive = Alive_new();
    if (Alive_is_null(alive)) {
        return Agent_null; /* the heap is full, and counts it */
    }
    Alive_cell(alive) = i;
    return Alive_as_Agent(alive);
}

static Agent candidate_make(CLUMP_HEAP, uint i) {
    Candidate candidate = Candidate_new();
    if (Candidate_is_null(candidate)) {
        return Agent_null;
    }
    Candidate_cell(candidate) = i;
    return Candidate_as_Agent(candidate);
}

/* ---- Making the world ------------------------------------------------------------------------ */

/* Do-new over Cell: note where each lies, and give it its first state. */
__kernel void cell_init(CLUMP_HEAP, __global uint *cells, __global const uchar *world) {
    CLUMP_FOR_EACH_NEW(Cell, self, i) {
        cells[i] = self.id;
        Cell_agent(self) = Agent_null;
        Cell_state(self, 0) = world[i];
        Cell_state(self, 1) = 0;
    }
}

/* Once for each cell: its first agent, or none. */
__kernel void cell_populate(CLUMP_HEAP, __global const uint *cells, uint2 size) {
    uint i = (uint)get_global_id(0);
    if (i >= size.x * size.y) {
        return;
    }
    Cell cell = cell_at(cells, i);
    if (Cell_state(cell, 0) != 0) {
        Cell_agent(cell) = alive_make(clump_heap, i);
    } else if (count_alive(clump_heap, cells, size, i, 0u)) {
        Cell_agent(cell) = candidate_make(clump_heap, i);
    }
}

/* ---- The phases of a step -------------------------------------------------------------------- */

__kernel void agent_prepare(CLUMP_HEAP_FIXED, __global const uint *cells, uint2 size, uint now,
                            uint4 rule) {
    CLUMP_FOR_EACH(Agent, self) {
        uint i = Agent_cell(self);
        Cell cell = cell_at(cells, i);
        uint state = Cell_state(cell, now);
        uint next = state + 1u < rule.z ? state + 1u : 0u;
        if (state < 2u) {
            uint count = count_alive(clump_heap, cells, size, i, now);
            if (state == 0u) {
                next = rule.x >> count & 1u;
            } else if (rule.y >> count & 1u) {
                next = 1u;
            }
        }
        Cell_state(cell, 1u - now) = (uchar)next;
    }
}

static inline int is_newborn(CLUMP_HEAP_FIXED, Cell cell, uint now) {
    return (Cell_state(cell, 1u - now) == 1) & (Cell_state(cell, now) == 0);
}

/* Of the cells around `i` that come alive in this step, the first. There is one. */
static uint find_first_newborn(CLUMP_HEAP_FIXED, __global const uint *cells, uint2 size, uint i,
                               uint now) {
    uint first = NOWHERE;
    FOR_NEIGHBORS(i, other) {
        first = min(first, is_newborn(clump_heap, cell_at(cells, other), now) ? other : NOWHERE);
    }
    return first;
}

/* Cell `i` comes alive: its neighbours without an agent become candidates. Each is made by the
 * first of the newborn beside it and by nobody else (thesis 7.8.2). Whether a neighbour has an
 * agent can change meanwhile in one way only: the first makes it. The others do nothing in both
 * cases. No agent beside a newborn cell goes without leaving another, since that cell lives in the
 * next step. */
static void spread(CLUMP_HEAP, __global const uint *cells, uint2 size, uint i, uint now) {
    uint wanted = 0u;
    FOR_NEIGHBORS(i, other) {
        uint is_mine = Agent_is_null(Cell_agent(cell_at(cells, other))) &&
                       find_first_newborn(clump_heap, cells, size, other, now) == i;
        wanted |= is_mine << k;
    }
    for (; wanted; wanted &= wanted - 1u) { /* the first of each lane together, the second, .. */
        uint k = popcount((wanted & (0u - wanted)) - 1u);
        uint other = life_neighbor(size, (int)(i % size.x), (int)(i / size.x), (int)k);
        Cell_agent(cell_at(cells, other)) = candidate_make(clump_heap, other);
    }
}

__kernel void agent_update(CLUMP_HEAP, __global const uint *cells, uint2 size, uint now) {
    CLUMP_FOR_EACH(Candidate, self) {
        uint i = Candidate_cell(self);
        Cell cell = cell_at(cells, i);
        if (Cell_state(cell, 1u - now) == 1) {
            Candidate_free(self);
            Cell_agent(cell) = alive_make(clump_heap, i);
            spread(clump_heap, cells, size, i, now);
        } else if (!count_alive(clump_heap, cells, size, i, 1u - now)) {
            Candidate_free(self);
            Cell_agent(cell) = Agent_null;
        }
    }
    CLUMP_FOR_EACH(Alive, self) {
        uint i = Alive_cell(self);
        Cell cell = cell_at(cells, i);
        if (Cell_state(cell, 1u - now) == 0) {
            Alive_free(self);
            if (count_alive(clump_heap, cells, size, i, 1u - now)) {
                Cell_agent(cell) = candidate_make(clump_heap, i);
            } else {
                Cell_agent(cell) = Agent_null;
                Cell_state(cell, now) = 0; /* read meanwhile, but of no account: the next is 0 */
            }
        }
    }
}

/* ---- Looking --------------------------------------------------------------------------------- */

/* Once for each cell: its state, and a count of the cells whose agent does not fit them. */
__kernel void write_world(CLUMP_HEAP_FIXED, __global const uint *cells, uint2 size,
                          __global uchar *world,
                          __global uint *misfits, uint now) {
    uint i = (uint)get_global_id(0);
    if (i >= size.x * size.y) {
        return;
    }
    Cell cell = cell_at(cells, i);
    Agent agent = Cell_agent(cell);
    uint state = Cell_state(cell, now);
    int is_candidate = state == 0u && count_alive(clump_heap, cells, size, i, now);
    int fits = Agent_is_Alive(agent) == (state != 0u) &&
               Agent_is_Candidate(agent) == is_candidate &&
               (Agent_is_null(agent) || Agent_cell(agent) == i);
    if (!fits) {
        atomic_inc(misfits);
    }
    world[i] = (uchar)state;
}
