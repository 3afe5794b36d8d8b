/* The Game of Life and generational automata: living cells and candidates as objects.
 *
 * `size` is the width and the height of the world, `rule` has born, survive and states of model.h:
 * arguments, so that one build serves all worlds. What a cell knows is one word, `life`:
 *
 *     bits  8 ..  0  its state
 *     bits 17 ..  9  its next state
 *     bits 21 .. 18  how many neighbours live
 *     bits 30 .. 22  between the phases: neighbours for which it makes a candidate, by place
 *
 * A cell without an agent is dead, and so is all beside it: its word is 0. A step has two phases:
 *
 *   announce  an agent whose cell is about to come alive or to die tells the neighbours, by atomic
 *             additions to their counts; nobody reads a count. No object comes or goes.
 *   settle    every agent brings its cell into the next state, becomes what fits it, and decides
 *             the state after that. It touches its own cell and those it makes a candidate for,
 *             which have no agent; nobody reads what another writes.
 *
 * So the order of visits does not matter, and only cells that change look around.
 *
 * Compiled after rules.clh. Read first: objects.schema.
 */

#define NEXT_SHIFT 9
#define COUNT_SHIFT 18
#define FIRSTS_SHIFT 22
#define NEIGHBOR_ONE (1u << COUNT_SHIFT)

static inline uint life_state(uint life) {
    return life & 0x1ffu;
}
static inline uint life_next(uint life) {
    return life >> NEXT_SHIFT & 0x1ffu;
}
static inline uint life_count(uint life) {
    return life >> COUNT_SHIFT & 0xfu;
}

/* The word of a cell in a state, with what it decides by the rule. */
static inline uint life_decided(uint4 rule, uint state, uint count) {
    uint next = state + 1u < rule.z ? state + 1u : 0u;
    if (state == 0u) {
        next = rule.x >> count & 1u;
    } else if (state == 1u && (rule.y >> count & 1u)) {
        next = 1u;
    }
    return count << COUNT_SHIFT | next << NEXT_SHIFT | state;
}

/* Whether neighbours have to be told. */
static inline bool life_is_changing(uint life) {
    return (life_state(life) == 1u) != (life_next(life) == 1u);
}

/* The new agent of a cell, whose word is `life`. If the heap is full, it counts that, and what is
 * written here goes to the null row. */
static void agent_init(CLUMP_HEAP, Agent self, Cell cell, uint i, uint life) {
    Agent_cell(self) = cell;
    Agent_index(self) = i;
    Agent_is_changing(self) = life_is_changing(life);
    Cell_agent(cell) = self;
}

static void alive_make(CLUMP_HEAP, Cell cell, uint i, uint life) {
    agent_init(clump_heap, Alive_as_Agent(Alive_new()), cell, i, life);
}

static void candidate_make(CLUMP_HEAP, Cell cell, uint i, uint life) {
    agent_init(clump_heap, Candidate_as_Agent(Candidate_new()), cell, i, life);
}

/* ---- Making the world ------------------------------------------------------------------------ */

/* Do-new over Cell. Cells stay, so the number of a cell as an object is that in the table. */
__kernel void cell_init(CLUMP_HEAP, __global uint *rows, uint row_count) {
    CLUMP_FOR_EACH_NEW(Cell, self, i) {
        cell_note(rows, row_count, self, i);
        Cell_agent(self) = Agent_null;
        Cell_life(self) = 0u;
    }
}

/* The first state of each cell, and its first agent, or none. */
__kernel void cell_populate(CLUMP_HEAP, CLUMP_NUMBERS, __global const uint *rows, uint2 size,
                            __global const ushort *world, uint4 rule) {
    CLUMP_FOR_EACH_NUMBERED(Cell, self, i) {
        uint count = 0u;
        FOR_NEIGHBORS(i, k, other) {
            count += world[other] == 1;
        }
        if (world[i] == 0 && count == 0u) {
            continue;
        }
        uint life = life_decided(rule, world[i], count);
        Cell_life(self) = life;
        if (world[i] != 0) {
            alive_make(clump_heap, self, i, life);
        } else {
            candidate_make(clump_heap, self, i, life);
        }
    }
}

/* ---- The phases of a step -------------------------------------------------------------------- */

/* Of all that tell a cell without an agent that they come alive, one is the first: it finds the
 * word 0, and will make the candidate. Counts of cells with an agent pass 0 too, hence the second
 * question. */
__kernel void agent_announce(CLUMP_HEAP_NO_ALLOC, __global const uint *rows, uint2 size) {
    CLUMP_FOR_EACH(Agent, self) {
        if (!Agent_is_changing(self)) {
            continue;
        }
        Cell cell = Agent_cell(self);
        uint i = Agent_index(self), firsts = 0u;
        uint change = life_next(Cell_life(cell)) == 1u ? NEIGHBOR_ONE : 0u - NEIGHBOR_ONE;
        FOR_NEIGHBORS(i, k, other) {
            Cell beside = cell_at(rows, other);
            uint old = atomic_add(&Cell_life(beside), change);
            if (old == 0u && Agent_is_null(Cell_agent(beside))) {
                firsts |= 1u << k;
            }
        }
        if (firsts) {
            atomic_or(&Cell_life(cell), firsts << FIRSTS_SHIFT);
        }
    }
}

/* Cell `i` came alive: candidates for those neighbours that had no agent and were first told by
 * it. */
static void spread(CLUMP_HEAP, __global const uint *rows, uint2 size, uint4 rule, uint i,
                   uint firsts) {
    for (; firsts; firsts &= firsts - 1u) { /* the first of each lane together, the second, .. */
        uint other = life_neighbor(size, i, popcount((firsts & (0u - firsts)) - 1u));
        Cell cell = cell_at(rows, other);
        uint life = life_decided(rule, 0u, life_count(Cell_life(cell)));
        Cell_life(cell) = life;
        candidate_make(clump_heap, cell, other, life);
    }
}

__kernel void agent_settle(CLUMP_HEAP, __global const uint *rows, uint2 size, uint4 rule) {
    CLUMP_FOR_EACH(Candidate, self) {
        Cell cell = Candidate_cell(self);
        uint before = Cell_life(cell), count = life_count(before), state = life_next(before);
        uint life = life_decided(rule, state, count);
        Cell_life(cell) = life;
        if (state == 1u) {
            uint i = Candidate_index(self);
            Candidate_free(self);
            alive_make(clump_heap, cell, i, life);
            spread(clump_heap, rows, size, rule, i, before >> FIRSTS_SHIFT);
        } else if (count == 0u) {
            Candidate_free(self);
            Cell_agent(cell) = Agent_null;
        } else {
            Candidate_is_changing(self) = life_is_changing(life);
        }
    }
    CLUMP_FOR_EACH(Alive, self) {
        Cell cell = Alive_cell(self);
        uint before = Cell_life(cell), count = life_count(before), state = life_next(before);
        uint life = life_decided(rule, state, count);
        Cell_life(cell) = life;
        if (state != 0u) {
            Alive_is_changing(self) = life_is_changing(life);
            continue;
        }
        uint i = Alive_index(self);
        Alive_free(self);
        if (count > 0u) {
            candidate_make(clump_heap, cell, i, life);
        } else {
            Cell_agent(cell) = Agent_null;
        }
    }
}

/* ---- Showing the world ----------------------------------------------------------------------- */

/* The state of each cell, and a count of the cells that do not know their neighbours or
 * whose agent does not fit them. */
__kernel void write_world(CLUMP_HEAP_NO_ALLOC, CLUMP_NUMBERS, __global const uint *rows, uint2 size,
                          __global ushort *world, __global uint *misfits) {
    CLUMP_FOR_EACH_NUMBERED(Cell, self, i) {
        uint count = 0u;
        FOR_NEIGHBORS(i, k, other) {
            count += life_state(Cell_life(cell_at(rows, other))) == 1u;
        }
        Agent agent = Cell_agent(self);
        uint life = Cell_life(self), state = life_state(life);
        int fits =
            life_count(life) == count && Agent_is_Alive(agent) == (state != 0u) &&
            Agent_is_Candidate(agent) == (state == 0u && count > 0u) &&
            (Agent_is_null(agent) || (Agent_cell(agent).id == self.id && Agent_index(agent) == i));
        if (!fits) {
            atomic_inc(misfits);
        }
        world[i] = (ushort)state;
    }
}
