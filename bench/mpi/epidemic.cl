/* An epidemic on a band of rows of the world, the same for any number of bands.
 *
 * counts[n] and pressure[n] have 16 bits for each cell n of the band, two in a word: infected
 * agents, and the probability that they infect an agent of that cell. `spread` makes pressures of
 * counts, and of the rows beyond the band (`ghosts`: the row above, then the row below). Then
 * `agent_step` moves all agents once, and counts those infected where they are next. Agents that
 * leave the band are counted where they arrive. `agent_change` has births and deaths.
 *
 * Read first: epidemic.schema; epidemic.clh, which is compiled before this.
 */

/* Of births; then as many of deaths; then 1: a cell was too full, 2: the list of changes */
#define TALLIES 1024u
#define CHANGE_BITS 10u
#define CHANGE_PARTS (1u << CHANGE_BITS) /* so many numbers, then the parts of the list */
#define TOO_MANY 0x8000u /* infected agents of a cell: the next step might not fit 16 bits */

static void add_infected(__global uint *counts, uint n) {
    atomic_add(&counts[n >> 1], 1u << (n & 1u) * 16u);
}
static uint half_of(__global const uint *words, uint n) {
    return words[n >> 1] >> (n & 1u) * 16u & 0xffffu;
}

/* ---- Making the band ------------------------------------------------------------------------- */

/* Do-new over Agent, from number `from` of the world on. */
__kernel void agent_init(CLUMP_HEAP, ulong from, const epidemic_rules rules) {
    CLUMP_FOR_EACH_NEW(Agent, self, i) {
        ulong number = from + i, identity = epidemic_identity(number, rules.seed);
        Agent_cell(self) = (uint)(number / rules.density);
        Agent_identity(self) = identity;
        Agent_state(self) = epidemic_first_state(identity, rules.infected, rules.duration);
    }
}

/* Count those infected. Agents of others, who came in the same parts of a file, go. */
__kernel void agent_settle(CLUMP_HEAP, const epidemic_band band, __global uint *counts) {
    CLUMP_FOR_EACH(Agent, self) {
        uint n = Agent_cell(self) - band.first;
        if (n >= band.cells) {
            Agent_free(self);
        } else if ((Agent_state(self) & 3u) == INFECTED) {
            add_infected(counts, n);
        }
    }
}

__kernel void clock_drop(CLUMP_HEAP) {
    CLUMP_FOR_EACH(Clock, self) Clock_free(self);
}

/* ---- A step ---------------------------------------------------------------------------------- */

/* The row with these words, or a ghost of it. */
static __global const uint *row_at(__global const uint *counts, __global const uint *ghosts,
                                   uint words, uint height, int row) {
    if (row < 0) return ghosts;
    if (row >= (int)height) return ghosts + words;
    return counts + (uint)row * words;
}

/* Pressures of the rows first, first + stride, ..., `rows` of them. A work-item has two cells. */
__kernel void spread(CLUMP_HEAP_NO_ALLOC, uint first, uint stride, uint rows, uint word_bits,
                     uint height, __global const uint *counts, __global const uint *ghosts,
                     __global const uint *table, __global uint *pressure, __global uint *tallies) {
    uint words = 1u << word_bits;
    (void)clump_heap;
    for (uint i = (uint)get_global_id(0); i < rows << word_bits; i += (uint)get_global_size(0)) {
        uint row = first + (i >> word_bits) * stride, at = i & (words - 1u), low = 0, high = 0;
        for (int d = -1; d <= 1; d++) {
            __global const uint *line = row_at(counts, ghosts, words, height, (int)row + d);
            uint here = line[at], both = (here & 0xffffu) + (here >> 16);
            low += both + (line[(at - 1u) & (words - 1u)] >> 16);
            high += both + (line[(at + 1u) & (words - 1u)] & 0xffffu);
        }
        uint own = counts[(row << word_bits) + at];
        if (own & (TOO_MANY << 16 | TOO_MANY)) atomic_or(&tallies[2u * TALLIES], 1u);
        pressure[(row << word_bits) + at] = table[min(low, EPIDEMIC_PRESSURES - 1u)] |
                                            table[min(high, EPIDEMIC_PRESSURES - 1u)] << 16;
    }
}

/* Upwards is direction 0. */
static void leave(Agent self, uint way, __global uint *list, uint most) {
    uint i = atomic_inc(list);
    if (i < most) {
        list[1u + 2u * i] = self.id;
        list[2u + 2u * i] = way < 3u ? 0u : 1u;
    }
}

/* Few agents die or have a child. They are listed, and `agent_change` has them side by side: with
 * these calls in the loop over all agents, a step needed three times as long on an H200. A part of
 * the list has some rows of agents. */
static void list_change(Agent self, uint room, __global uint *changes, __global uint *tallies) {
    uint part = (self.id >> 6) * 2654435761u >> (32u - CHANGE_BITS);
    uint i = atomic_inc(&changes[part]);
    if (i < room)
        changes[CHANGE_PARTS + part * room + i] = self.id;
    else
        (void)atomic_or(&tallies[2u * TALLIES], 2u);
}

__kernel void agent_step(CLUMP_HEAP_NO_ALLOC, uint step, const epidemic_rules rules,
                         const epidemic_band band, __global const uint *pressure,
                         __global uint *counts, __global uint *list, uint most,
                         __global uint *changes, uint room, __global uint *tallies) {
    CLUMP_FOR_EACH(Agent, self) {
        ulong draw = epidemic_draw(Agent_identity(self), step);
        uint cell = Agent_cell(self), was = Agent_state(self), fate = epidemic_fate(draw);
        if (fate < rules.death + rules.birth) list_change(self, room, changes, tallies);
        if (fate < rules.death) continue;
        uint danger = was == SUSCEPTIBLE ? half_of(pressure, cell - band.first) : 0u;
        uint state = epidemic_next_state(was, draw, danger, step, rules.duration);
        uint way = epidemic_way(draw);
        uint to = epidemic_go(cell, way, 1u << rules.width_bits, rules.cells);
        if (state != was) Agent_state(self) = state;
        Agent_cell(self) = to;
        if (to - band.first >= band.cells) {
            leave(self, way, list, most);
        } else if ((state & 3u) == INFECTED) {
            add_infected(counts, to - band.first);
        }
    }
}

/* A work-group for each part of the list. A child is where its parent was before this step. */
__kernel void agent_change(CLUMP_HEAP, uint step, const epidemic_rules rules,
                           __global uint *changes, uint room, __global uint *tallies) {
    uint part = (uint)get_group_id(0), n = min(changes[part], room), births = 0, deaths = 0;
    for (uint i = (uint)get_local_id(0); i < n; i += (uint)get_local_size(0)) {
        Agent self = {changes[CHANGE_PARTS + part * room + i]};
        ulong identity = Agent_identity(self), draw = epidemic_draw(identity, step);
        if (epidemic_fate(draw) < rules.death) {
            Agent_free(self);
            deaths++;
            continue;
        }
        uint cell = Agent_cell(self);
        Agent child = Agent_new();
        births++;
        if (!Agent_is_null(child)) {
            Agent_cell(child) =
                epidemic_go(cell, 8u - epidemic_way(draw), 1u << rules.width_bits, rules.cells);
            Agent_identity(child) = epidemic_child(identity, step);
            Agent_state(child) = SUSCEPTIBLE;
        }
    }
    barrier(CLK_GLOBAL_MEM_FENCE);
    if (get_local_id(0) == 0) changes[part] = 0;
    if (births) atomic_add(&tallies[part % TALLIES], births);
    if (deaths) atomic_add(&tallies[TALLIES + part % TALLIES], deaths);
}

/* Those that came: `arrivals` has their references. */
__kernel void arrive(CLUMP_HEAP_NO_ALLOC, __global const uint *arrivals, uint count,
                     const epidemic_band band, __global uint *counts) {
    for (uint i = (uint)get_global_id(0); i < count; i += (uint)get_global_size(0)) {
        Agent self = {arrivals[i]};
        if ((Agent_state(self) & 3u) == INFECTED) {
            add_infected(counts, Agent_cell(self) - band.first);
        }
    }
}

/* ---- Samples of it --------------------------------------------------------------------------- */

/* Agents with some identities, the same in each step and for any number of ranks: a sixteenth, say.
 * An identity is a hash. sample.h has what is in `list`. */
__kernel void take_sample(CLUMP_HEAP_NO_ALLOC, uint part, uint most, __global uint *list) {
    CLUMP_FOR_EACH(Agent, self) {
        ulong identity = Agent_identity(self);
        if ((uint)(identity >> 32) % part == 0u) {
            uint i = atomic_inc(list);
            if (i < most) {
                vstore4((uint4)(Agent_cell(self), (uint)identity, (uint)(identity >> 32),
                                Agent_state(self) & 3u),
                        i + 1u, list);
            }
        }
    }
}

/* ---- What came of it ------------------------------------------------------------------------- */

typedef struct epidemic_totals {
    ulong kinds[3]; /* agents of each kind */
    ulong hashes;   /* the sum of those of all agents */
} epidemic_totals;

static epidemic_totals add_totals(epidemic_totals a, epidemic_totals b) {
    epidemic_totals sum = {
        {a.kinds[0] + b.kinds[0], a.kinds[1] + b.kinds[1], a.kinds[2] + b.kinds[2]},
        a.hashes + b.hashes};
    return sum;
}

__kernel void take_totals(CLUMP_HEAP_NO_ALLOC) {
    epidemic_totals totals = {{0, 0, 0}, 0};
    CLUMP_FOR_EACH(Agent, self) {
        uint state = Agent_state(self), kind = state & 3u;
        totals.kinds[0] += kind == SUSCEPTIBLE;
        totals.kinds[1] += kind == INFECTED;
        totals.kinds[2] += kind == RECOVERED;
        totals.hashes += epidemic_hash(Agent_cell(self), Agent_identity(self), state);
    }
    CLUMP_REDUCE(epidemic_totals, totals, add_totals);
}
