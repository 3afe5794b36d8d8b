/* The Game of Life and generational automata with the objects and the four phases of DynaSOAr's
 * programs: each agent looks at its neighbours in every step, and decides before any of them
 * changes.
 *
 *   candidate_prepare, alive_prepare   agents count living neighbours and note what they will do
 *   candidate_update                   a candidate comes alive, or goes if nobody beside it lived
 *   alive_update                       a cell ages, becomes a candidate at its end, or if it is new
 *                                      makes candidates of the empty cells around; of several that
 *                                      would make the same, the one that reserves the cell first
 *
 * So a candidate goes one step after the last living neighbour, other than in heap.cl. No phase
 * depends on the order of visits.
 *
 * Whether a cell lives stands on the cell too: who counts neighbours reads a byte of each, three of
 * which lie together, and not their agents, which lie anywhere.
 *
 * Compiled after rules.clh. Read first: dynasoar.schema, heap.cl. Kernels of the same names have
 * the same parameters there.
 */

#define ACTION_NONE 0u
#define ACTION_DIE 1u
#define ACTION_SPAWN 2u

static void alive_make(CLUMP_HEAP, Cell cell, uint i, uint state, bool is_new) {
    Alive self = Alive_new();
    Alive_index(self) = i;
    Alive_action(self) = ACTION_NONE;
    Alive_state(self) = state;
    Alive_is_new(self) = is_new;
    Cell_agent(cell) = Alive_as_Agent(self);
    Cell_lives(cell) = state == 0u;
}

static void candidate_make(CLUMP_HEAP, Cell cell, uint i) {
    Candidate self = Candidate_new();
    Candidate_index(self) = i;
    Candidate_action(self) = ACTION_NONE;
    Cell_agent(cell) = Candidate_as_Agent(self);
}

/* ---- Making the world ------------------------------------------------------------------------ */

/* Do-new over Cell. */
__kernel void cell_init(CLUMP_HEAP, __global uint *rows, uint row_count) {
    CLUMP_FOR_EACH_NEW(Cell, self, i) {
        cell_note(rows, row_count, self, i);
        Cell_agent(self) = Agent_null;
        Cell_reserved(self) = 0u;
        Cell_lives(self) = false;
    }
}

/* The first state of each cell, and its first agent, or none. Candidates are made here too. */
__kernel void cell_populate(CLUMP_HEAP, CLUMP_NUMBERS, __global const uint *rows, uint2 size,
                            __global const ushort *world, uint4 rule) {
    CLUMP_FOR_EACH_NUMBERED(Cell, self, i) {
        uint count = 0u;
        FOR_NEIGHBORS(i, k, other) {
            count += world[other] == 1;
        }
        if (world[i] != 0) {
            alive_make(clump_heap, self, i, world[i] - 1u, false);
        } else if (count > 0u) {
            Cell_reserved(self) = 1u;
            candidate_make(clump_heap, self, i);
        }
    }
}

/* ---- The phases of a step -------------------------------------------------------------------- */

/* Up to three cells side by side. */
typedef struct line {
    uint first; /* its number */
    /* of the heap: in which the first lies, and the last; 0: there are no cells */
    uint row, row_end;
} line;

static line line_at(__global const uint *rows, uint first, uint count) {
    line l = {first, 0u, 0u};
    if (count != 0u) {
        uint begin = first / 64u, end = (first + count - 1u) / 64u;
        l.row = rows[begin];
        l.row_end = end == begin ? l.row : rows[end];
    }
    return l;
}

/* First the rows of all lines, then their cells: so no read waits for that of another line. */
static uint count_living(CLUMP_HEAP_NO_ALLOC, __global const uint *rows, uint2 size, uint i) {
    uint x = i % size.x, y = i / size.x, left = x > 0u, width = left + 1u + (x + 1u < size.x);
    uint count = 0u;
    line lines[3];
#pragma unroll
    for (uint k = 0u; k < 3u; k++) {
        uint is_there = y + k - 1u < size.y; /* -1 is large */
        lines[k] = line_at(rows, i + (k - 1u) * size.x - left, is_there ? width : 0u);
    }
#pragma unroll
    for (uint k = 0u; k < 3u; k++) {
#pragma unroll
        for (uint j = 0u; j < 3u; j++) {
            line l = lines[k];
            uint number = l.first + j;
            Cell cell = {(number / 64u == l.first / 64u ? l.row : l.row_end) | number % 64u};
            count += l.row != 0u && j < width && number != i ? (uint)Cell_lives(cell) : 0u;
        }
    }
    return count;
}

__kernel void candidate_prepare(CLUMP_HEAP_NO_ALLOC, __global const uint *rows, uint2 size,
                                uint4 rule) {
    CLUMP_FOR_EACH(Candidate, self) {
        uint count = count_living(clump_heap, rows, size, Candidate_index(self));
        if (rule.x >> count & 1u) {
            Candidate_action(self) = ACTION_SPAWN;
        } else if (count == 0u) {
            Candidate_action(self) = ACTION_DIE;
        }
    }
}

__kernel void alive_prepare(CLUMP_HEAP_NO_ALLOC, __global const uint *rows, uint2 size,
                            uint4 rule) {
    CLUMP_FOR_EACH(Alive, self) {
        if (Alive_state(self) == 0u) {
            if (Alive_is_new(self)) {
                Alive_is_new(self) = false;
            }
            uint count = count_living(clump_heap, rows, size, Alive_index(self));
            if (!(rule.y >> count & 1u)) {
                Alive_action(self) = ACTION_DIE;
            }
        }
    }
}

__kernel void candidate_update(CLUMP_HEAP, __global const uint *rows) {
    CLUMP_FOR_EACH(Candidate, self) {
        uint action = Candidate_action(self), i = Candidate_index(self);
        if (action == ACTION_NONE) {
            continue;
        }
        Cell cell = cell_at(rows, i);
        if (action == ACTION_SPAWN) {
            alive_make(clump_heap, cell, i, 0u, true);
        } else {
            Cell_agent(cell) = Agent_null;
            Cell_reserved(cell) = 0u;
        }
        Candidate_free(self);
    }
}

/* Make candidates of the empty cells around. First all cells are looked at, so that no look waits
 * for another. A cell that was empty then and has got a candidate since is reserved. */
static void spread(CLUMP_HEAP, __global const uint *rows, uint2 size, uint i) {
    uint empty = 0u;
#pragma unroll
    for (uint k = 0u; k < PLACES; k++) {
        uint other = life_neighbor(size, i, k);
        uint is_empty = other != NOWHERE && Agent_is_null(Cell_agent(cell_at(rows, other)));
        empty |= is_empty << k;
    }
    for (; empty != 0u; empty &= empty - 1u) {
        uint other = life_neighbor(size, i, 31u - clz(empty & (0u - empty)));
        Cell cell = cell_at(rows, other);
        if (atomic_cmpxchg(&Cell_reserved(cell), 0u, 1u) == 0u) {
            candidate_make(clump_heap, cell, other);
        }
    }
}

/* The last state of a dying cell is states - 2, as a living cell has 0 here. */
__kernel void alive_update(CLUMP_HEAP, __global const uint *rows, uint2 size, uint4 rule) {
    CLUMP_FOR_EACH(Alive, self) {
        uint state = Alive_state(self), i = Alive_index(self);
        if (Alive_is_new(self)) {
            spread(clump_heap, rows, size, i);
        } else if (state > 0u || Alive_action(self) == ACTION_DIE) {
            if (state == 0u) {
                Cell_lives(cell_at(rows, i)) = false;
                Alive_action(self) = ACTION_NONE;
            }
            if (state == rule.z - 2u) {
                candidate_make(clump_heap, cell_at(rows, i), i);
                Alive_free(self);
            } else {
                Alive_state(self) = state + 1u;
            }
        }
    }
}

/* ---- Showing the world ----------------------------------------------------------------------- */

/* The state of each cell as in model.h, and a count of the cells whose agent does not fit them. */
__kernel void write_world(CLUMP_HEAP_NO_ALLOC, CLUMP_NUMBERS, __global const uint *rows, uint2 size,
                          __global ushort *world, __global uint *misfits) {
    CLUMP_FOR_EACH_NUMBERED(Cell, self, i) {
        Agent agent = Cell_agent(self);
        uint count = count_living(clump_heap, rows, size, i), code = 0u;
        Alive alive = Agent_as_Alive(agent);
        int lives = !Alive_is_null(alive) && Alive_state(alive) == 0u;
        int fits = Agent_is_null(agent) ? count == 0u && Cell_reserved(self) == 0u
                                        : Agent_index(agent) == i;
        if (!Alive_is_null(alive)) {
            code = Alive_state(alive) + 1u;
        } else if (Agent_is_Candidate(agent) && count == 0u) {
            code = 0x8000u; /* LIFE_STAYS */
        }
        if (!fits || lives != (int)Cell_lives(self)) {
            atomic_inc(misfits);
        }
        world[i] = (ushort)code;
    }
}
