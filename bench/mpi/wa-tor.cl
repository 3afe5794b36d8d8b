/* Wa-Tor on a band of rows of the world: the steps of bench/apps/wa-tor, cell by cell the same for
 * any number of bands.
 *
 * What an agent asks for, and to whom a cell is granted, depends on the kinds of cells nearby, on
 * the place and on the step, and on nothing else. So a rank that knows the kinds of the three rows
 * beyond each of its edges (`ghosts`) decides by itself what the neighbour decides about the same
 * cells, and no requests and grants are sent: the row beyond is where its own agents may go, and
 * who else wants to go there are agents of that row and of the next one, which look one row
 * further.
 *
 *   row -3 .. -1      ghosts[(-1 - row) * width + x]
 *   row 0 .. height-1 the band's own cells, number row * width + x; `first` more in the world
 *   row height ..     ghosts[(3 + row - height) * width + x]
 *
 * An agent that is granted a cell of another band is listed to migrate; it arrives before the next
 * phase.
 *
 * Read first: wa-tor.schema; band.clh, rules.clh, agents.clh and show.clh of bench/apps/wa-tor and
 * bench/apps/cells.clh, which are compiled before this.
 */

#define DYING 3u /* a shark that does not live to see the next phase: it asks for nothing */
#define NOBODY 4u

#define BAND                                                                                       \
    __global const uint *rows, __global const uchar *ghosts, uint width, uint height, uint first,  \
        uint cells
#define BAND_HERE rows, ghosts, width, height, first, cells

/* ---- Making the band ------------------------------------------------------------------------- */

/* A cell by its number in the band. Cells are made by 64 of the world, so the table (cells.clh)
 * begins at a multiple of 64, and cells of a neighbour may be before the first and after the last
 * cell: they are empty, and nobody asks for them. */
static Cell band_cell(__global const uint *rows, uint first, uint number) {
    return cell_at(rows, first % 64u + number);
}

/* Do-new over Cell: the first `above` ones begin the table, the others are its numbers from `below`
 * on. `first` is a cell of the table's first 64. */
__kernel void cell_init(CLUMP_HEAP, __global uint *rows, uint row_count, uint first, uint above,
                        uint below) {
    CLUMP_FOR_EACH_NEW(Cell, self, i) {
        uint number = i < above ? i : below + i - above;
        cell_note(rows, row_count, self, number);
        Cell_number(self) = first - first % 64u + number;
        Cell_agent(self) = Agent_null;
        Cell_requests(self) = (uchar4)(0);
        Cell_kind(self) = EMPTY;
    }
}

/* New agents asked for nothing yet. */
static Agent begin(CLUMP_HEAP_NO_ALLOC, Agent agent) {
    if (!Agent_is_null(agent)) {
        Agent_asked(agent) = NOBODY;
    }
    return agent;
}

static void cell_fill(CLUMP_HEAP_NO_ALLOC, Cell cell, Agent agent, uint kind) {
    Cell_agent(cell) = agent;
    Cell_kind(cell) = (uchar)(Agent_is_null(agent) ? EMPTY : kind);
}

/* Cells from number `end` of the world on are empty. */
__kernel void cell_populate(CLUMP_HEAP, uint width, uint height, uint first, uint end, uint seed,
                            uint fish_permille, uint shark_permille, uint fish_spawn,
                            uint shark_spawn, uint shark_energy) {
    CLUMP_FOR_EACH(Cell, self) {
        uint number = Cell_number(self);
        if (band_has(width, height, first, number) && number < end) {
            uint kind;
            Agent agent = first_agent(clump_heap, number, seed, fish_permille, shark_permille,
                                      fish_spawn, shark_spawn, shark_energy, 0u, &kind);
            cell_fill(clump_heap, self, begin(clump_heap, agent), kind);
        }
    }
}

/* ---- Other rows: those of a saved world, and where borders moved ---------------------------- */

/* Cells belong to a band, and clocks to a file: agents get cells of their new band. */
__kernel void cell_drop(CLUMP_HEAP) {
    CLUMP_FOR_EACH(Cell, self) Cell_free(self);
}

__kernel void clock_drop(CLUMP_HEAP) {
    CLUMP_FOR_EACH(Clock, self) Clock_free(self);
}

/* Agents of other bands, who came in the same parts. */
__kernel void stranger_drop(CLUMP_HEAP, uint width, uint height, uint first) {
    CLUMP_FOR_EACH(Agent, self) {
        if (!band_has(width, height, first, Agent_position(self))) Agent_free(self);
    }
}

/* Agents of each row. */
__kernel void count_rows(CLUMP_HEAP_NO_ALLOC, __global uint *counts, uint width, uint first) {
    CLUMP_FOR_EACH(Agent, self) atomic_inc(&counts[(Agent_position(self) - first) / width]);
}

/* Cells of the table from number `from` on are of a neighbour now, at the side `direction` (0 is
 * upwards). Their agents are listed to migrate. Cells go, or are empty where others of their 64
 * stay: those of the table's entries kept .. kept_end - 1. */
__kernel void rows_leave(CLUMP_HEAP, __global uint *list, uint most, __global const uint *rows,
                         uint from, uint count, uint direction, uint kept, uint kept_end) {
    for (uint i = (uint)get_global_id(0); i < count; i += (uint)get_global_size(0)) {
        uint number = from + i;
        Cell cell = cell_at(rows, number);
        Agent agent = Cell_agent(cell);
        if (!Agent_is_null(agent)) {
            uint at = atomic_inc(list);
            if (at < most) {
                list[1u + 2u * at] = agent.id;
                list[2u + 2u * at] = direction;
            }
        }
        if (number / 64u >= kept && number / 64u < kept_end) {
            cell_fill(clump_heap, cell, Agent_null, EMPTY);
        } else {
            Cell_free(cell);
        }
    }
}

/* All agents of a loaded world go to their cells. */
__kernel void settle(CLUMP_HEAP_NO_ALLOC, __global const uint *rows, uint first) {
    CLUMP_FOR_EACH(Agent, self) {
        cell_fill(clump_heap, band_cell(rows, first, Agent_position(self) - first),
                  begin(clump_heap, self), Agent_is_Shark(self) ? SHARK : FISH);
    }
}

/* ---- Edges ----------------------------------------------------------------------------------- */

/* The kinds of the three first and three last rows, in the order in which the neighbours have
 * them. */
__kernel void pack_edges(CLUMP_HEAP_NO_ALLOC, __global const uint *rows, __global uchar *edges,
                         uint width, uint height, uint first) {
    for (uint i = (uint)get_global_id(0); i < 6u * width; i += (uint)get_global_size(0)) {
        uint k = i / width, x = i % width;
        uint row = k < 3u ? k : height - 1u - (k - 3u);
        Cell cell = band_cell(rows, first, row * width + x);
        uint kind = Cell_kind(cell);
        if (kind == SHARK && Shark_energy(Agent_as_Shark(Cell_agent(cell))) == 1u) {
            kind = DYING;
        }
        edges[i] = (uchar)kind;
    }
}

static uint kind_at(CLUMP_HEAP_NO_ALLOC, BAND, int row, uint x) {
    (void)cells;
    if (row < 0) {
        return ghosts[(uint)(-1 - row) * width + x];
    }
    if (row >= (int)height) {
        return ghosts[(3u + (uint)row - height) * width + x];
    }
    return Cell_kind(band_cell(rows, first, (uint)row * width + x));
}

/* The neighbour that who is of kind `who` at this place asks for; NOBODY, also if it is of another
 * kind. */
static uint asks(CLUMP_HEAP_NO_ALLOC, BAND, int row, uint x, uint who, uint iteration, uint seed) {
    uint vacant = 0u, prey = 0u;
    if (kind_at(clump_heap, BAND_HERE, row, x) != who) {
        return NOBODY;
    }
    for (uint i = 0u; i < 4u; i++) {
        uint there = i == 0u   ? (x > 0u ? x - 1u : width - 1u)
                     : i == 2u ? (x < width - 1u ? x + 1u : 0u)
                               : x;
        uint kind = kind_at(clump_heap, BAND_HERE, row + (i == 3u) - (i == 1u), there);
        vacant |= (uint)(kind == EMPTY) << i;
        prey |= (uint)(kind == FISH) << i;
    }
    uint mask = who == SHARK && prey ? prey : vacant;
    if (mask == 0u) {
        return NOBODY;
    }
    uint draw = who == FISH ? DRAW_FISH_SELECT : DRAW_SHARK_SELECT;
    return choose(mask, in_world(width, first, cells, row, x), iteration, draw, seed);
}

/* After the halo: agents of the first and the last row ask, and so do agents of the rows beyond. */
__kernel void select_edges(CLUMP_HEAP_NO_ALLOC, uint iteration, uint seed, uint who, BAND) {
    for (uint i = (uint)get_global_id(0); i < 2u * width; i += (uint)get_global_size(0)) {
        uint x = i % width, is_last = i / width;
        int row = is_last ? (int)height - 1 : 0;
        uint n = (uint)row * width + x;
        Agent agent = Cell_agent(band_cell(rows, first, n));
        if (!Agent_is_null(agent)) {
            /* A shark's energy was counted down: it is dead at 0. */
            uint is_dead = who == SHARK && Cell_kind(band_cell(rows, first, n)) == SHARK &&
                           Shark_energy(Agent_as_Shark(agent)) == 0u;
            uint side =
                is_dead ? NOBODY : asks(clump_heap, BAND_HERE, row, x, who, iteration, seed);
            int to = row + (side == 3u) - (side == 1u);
            Agent_asked(agent) = (uchar)side;
            if (side != NOBODY && to >= 0 && to < (int)height) {
                uint there = side == 0u   ? (x > 0u ? x - 1u : width - 1u)
                             : side == 2u ? (x < width - 1u ? x + 1u : 0u)
                                          : x;
                cell_request(clump_heap, band_cell(rows, first, (uint)to * width + there),
                             (side + 2u) % 4u);
            }
        }
        uint beyond =
            asks(clump_heap, BAND_HERE, is_last ? row + 1 : row - 1, x, who, iteration, seed);
        if (beyond == (is_last ? 1u : 3u)) {
            cell_request(clump_heap, band_cell(rows, first, n), is_last ? 3u : 1u);
        }
    }
}

/* The cells of the row beyond: which of them are granted to an agent of this band. */
__kernel void decide_edges(CLUMP_HEAP_NO_ALLOC, uint iteration, uint seed, uint who, BAND) {
    for (uint i = (uint)get_global_id(0); i < 2u * width; i += (uint)get_global_size(0)) {
        uint x = i % width, is_last = i / width;
        int row = is_last ? (int)height - 1 : 0, beyond = is_last ? row + 1 : row - 1;
        Cell cell = band_cell(rows, first, (uint)row * width + x);
        Agent agent = Cell_agent(cell);
        if (Agent_is_null(agent) || Cell_kind(cell) != who ||
            Agent_asked(agent) != (is_last ? 3u : 1u)) {
            continue;
        }
        uint own = is_last ? 1u : 3u, far = is_last ? 3u : 1u; /* as neighbours of that cell */
        uint left = x > 0u ? x - 1u : width - 1u, right = x < width - 1u ? x + 1u : 0u;
        uint mask = 1u << own;
        mask |= (uint)(asks(clump_heap, BAND_HERE, beyond, left, who, iteration, seed) == 2u);
        mask |= (uint)(asks(clump_heap, BAND_HERE, beyond, right, who, iteration, seed) == 0u) << 2;
        mask |= (uint)(asks(clump_heap, BAND_HERE, is_last ? beyond + 1 : beyond - 1, x, who,
                            iteration, seed) == own)
                << far;
        uint target = in_world(width, first, cells, beyond, x);
        uint draw = who == FISH ? DRAW_FISH_DECIDE : DRAW_SHARK_DECIDE;
        if (choose(mask, target, iteration, draw, seed) == own) {
            Agent_new_position(agent) = target;
        }
    }
}

/* ---- The phases of a step -------------------------------------------------------------------- */

/* Whether all neighbours of the cell are of the band. */
static bool is_inside(uint n, uint width, uint height) {
    return n >= width && n < (height - 1u) * width;
}

/* Runs while the halo is under way: agents of inner rows ask; the others only get older. */
__kernel void fish_select(CLUMP_HEAP_NO_ALLOC, uint iteration, uint seed, BAND) {
    CLUMP_FOR_EACH(Fish, self) {
        Fish_spawn_timer(self)++;
        uint n = Fish_position(self) - first;
        if (is_inside(n, width, height)) {
            uint side =
                asks(clump_heap, BAND_HERE, (int)(n / width), n % width, FISH, iteration, seed);
            if (side != NOBODY) {
                uint there = neighbor_of(n, n % width, width, width * height, side);
                cell_request(clump_heap, band_cell(rows, first, there), (side + 2u) % 4u);
            }
        }
    }
}

__kernel void shark_select(CLUMP_HEAP_NO_ALLOC, uint iteration, uint seed, BAND) {
    CLUMP_FOR_EACH(Shark, self) {
        Shark_spawn_timer(self)++;
        if (--Shark_energy(self) == 0u) {
            continue; /* it dies in shark_move and must not block another's way until then */
        }
        uint n = Shark_position(self) - first;
        if (is_inside(n, width, height)) {
            uint side =
                asks(clump_heap, BAND_HERE, (int)(n / width), n % width, SHARK, iteration, seed);
            if (side != NOBODY) {
                uint there = neighbor_of(n, n % width, width, width * height, side);
                cell_request(clump_heap, band_cell(rows, first, there), (side + 2u) % 4u);
            }
        }
    }
}

/* Agents of the row beyond are granted cells there by their own band. */
__kernel void cell_decide(CLUMP_HEAP_NO_ALLOC, uint iteration, uint seed, uint who,
                          __global const uint *rows, uint width, uint height, uint first) {
    CLUMP_FOR_EACH(Cell, self) {
        uint mask = cell_take_requests(clump_heap, self);
        if (mask == 0u) {
            continue;
        }
        uint n = Cell_number(self) - first,
             draw = who == FISH ? DRAW_FISH_DECIDE : DRAW_SHARK_DECIDE;
        uint selected = choose(mask, first + n, iteration, draw, seed);
        if ((selected == 1u && n < width) || (selected == 3u && n >= (height - 1u) * width)) {
            continue;
        }
        uint from = neighbor_of(n, n % width, width, width * height, selected);
        Agent_new_position(Cell_agent(band_cell(rows, first, from))) = first + n;
    }
}

/* List an agent that leaves: upwards is direction 0. */
static void leave(CLUMP_HEAP_NO_ALLOC, Agent self, __global uint *list, uint most) {
    uint i = atomic_inc(list);
    if (i < most) {
        list[1u + 2u * i] = self.id;
        list[2u + 2u * i] = Agent_asked(self) == 1u ? 0u : 1u;
    }
}

__kernel void fish_move(CLUMP_HEAP, uint iteration, uint seed, __global uint *list, uint most,
                        __global const uint *rows, uint width, uint height, uint first,
                        uint fish_spawn) {
    CLUMP_FOR_EACH(Fish, self) {
        uint from = Fish_position(self), to = Fish_new_position(self);
        if (from == to) {
            continue;
        }
        Agent born = fish_leave(clump_heap, self, from, iteration, seed, fish_spawn, 0u);
        Fish_position(self) = to;
        if (band_has(width, height, first, to)) {
            cell_fill(clump_heap, band_cell(rows, first, to - first), Fish_as_Agent(self), FISH);
        } else {
            leave(clump_heap, Fish_as_Agent(self), list, most);
        }
        cell_fill(clump_heap, band_cell(rows, first, from - first), begin(clump_heap, born), FISH);
    }
}

/* A shark on the way in eats who is there. */
static void shark_enter(CLUMP_HEAP, Shark self, Cell target, uint shark_gain) {
    shark_eat(clump_heap, self, target, shark_gain);
    cell_fill(clump_heap, target, Shark_as_Agent(self), SHARK);
}

__kernel void shark_move(CLUMP_HEAP, uint iteration, uint seed, __global uint *list, uint most,
                         __global const uint *rows, uint width, uint height, uint first,
                         uint shark_spawn, uint shark_energy, uint shark_gain) {
    CLUMP_FOR_EACH(Shark, self) {
        uint from = Shark_position(self), to = Shark_new_position(self);
        if (Shark_energy(self) == 0u) {
            cell_fill(clump_heap, band_cell(rows, first, from - first), Agent_null, EMPTY);
            Shark_free(self);
            continue;
        }
        if (from == to) {
            continue;
        }
        Agent born =
            shark_leave(clump_heap, self, from, iteration, seed, shark_spawn, shark_energy, 0u);
        Shark_position(self) = to;
        if (band_has(width, height, first, to)) {
            shark_enter(clump_heap, self, band_cell(rows, first, to - first), shark_gain);
        } else {
            leave(clump_heap, Shark_as_Agent(self), list, most);
        }
        cell_fill(clump_heap, band_cell(rows, first, from - first), begin(clump_heap, born), SHARK);
    }
}

/* Those that came: `arrivals` has their references. */
__kernel void arrive(CLUMP_HEAP, __global const uint *arrivals, uint count,
                     __global const uint *rows, uint first, uint shark_gain) {
    for (uint i = (uint)get_global_id(0); i < count; i += (uint)get_global_size(0)) {
        Agent self = {arrivals[i]};
        Cell cell = band_cell(rows, first, Agent_position(self) - first);
        if (Agent_is_Shark(self)) {
            shark_enter(clump_heap, Agent_as_Shark(self), cell, shark_gain);
        } else {
            cell_fill(clump_heap, cell, self, FISH);
        }
    }
}

/* ---- Showing the band ------------------------------------------------------------------------ */

/* A cell or an agent that is elsewhere than it should be is shown as no code. */
__kernel void write_band(CLUMP_HEAP_NO_ALLOC, __global uint *codes, __global const uint *rows,
                         uint count, uint first) {
    for (uint i = (uint)get_global_id(0); i < count; i += (uint)get_global_size(0)) {
        Cell cell = band_cell(rows, first, i);
        Agent agent = Cell_agent(cell);
        bool is_here = Cell_number(cell) == first + i &&
                       (Agent_is_null(agent) || Agent_position(agent) == first + i);
        codes[i] = is_here ? code_of(clump_heap, agent) : ~0u;
    }
}
