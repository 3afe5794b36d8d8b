/* The epidemic in plain OpenCL on one device, with births and deaths: what epidemic.cl is compared
 * with.
 *
 * Fields are arrays. Agents are in `stripes` ranges of `slots` slots, of which a range has used
 * `used` so far. Slots of agents that died are DEAD, and a list of each range has them. Agents that
 * are born are listed, and `place` gives them these slots or the next unused ones, so that they do
 * nothing before the next step.
 *
 * Read first: epidemic.clh, which is compiled before this.
 */

#define DEAD 3u
#define TOO_MANY 0x8000u /* as in epidemic.cl */
#define FULL 1u          /* a list or a range has no room: results are wrong */

typedef struct plain_shape {
    uint stripes, slots;       /* ranges; slots of each */
    uint free_room, born_room; /* of the lists of each */
    uint height;               /* rows of cells */
    uint share;                /* agents of a range at the start; the last ones have fewer */
} plain_shape;

/* Of a range, on a cache line of its own. */
typedef struct plain_range {
    uint used, free, born;
    uint births, deaths, wrong;
    uint pad[26];
} plain_range;

typedef struct plain_newborn {
    ulong identity;
    uint cell, pad;
} plain_newborn;

#define WORLD                                                                                      \
    const epidemic_rules rules, const plain_shape shape, __global uint *cells,                     \
        __global ulong *identities, __global uint *states, __global plain_range *ranges,           \
        __global uint *counts
#define UNUSED (void)rules, (void)cells, (void)identities, (void)states, (void)ranges, (void)counts

/* Work-groups share ranges evenly. */
static uint range_here(plain_shape shape) {
    return (uint)(get_group_id(0) / (get_num_groups(0) / shape.stripes));
}
static uint first_here(plain_shape shape) {
    uint groups = (uint)(get_num_groups(0) / shape.stripes);
    return (uint)(get_group_id(0) % groups * get_local_size(0) + get_local_id(0));
}
static uint stride_here(plain_shape shape) {
    return (uint)(get_num_groups(0) / shape.stripes * get_local_size(0));
}

static void add_infected(__global uint *counts, uint n) {
    atomic_add(&counts[n >> 1], 1u << (n & 1u) * 16u);
}

__kernel void init(WORLD, ulong agents) {
    uint s = range_here(shape);
    ulong first = (ulong)s * shape.share, at = (ulong)s * shape.slots;
    uint count = first < agents ? (uint)min((ulong)shape.share, agents - first) : 0u;
    for (uint i = first_here(shape); i < count; i += stride_here(shape)) {
        ulong number = first + i, identity = epidemic_identity(number, rules.seed);
        uint cell = (uint)(number / rules.density),
             state = epidemic_first_state(identity, rules.infected, rules.duration);
        cells[at + i] = cell;
        identities[at + i] = identity;
        states[at + i] = state;
        if ((state & 3u) == INFECTED) add_infected(counts, cell);
    }
    if (first_here(shape) == 0) {
        const plain_range range = {count, 0, 0, 0, 0, 0, {0}};
        ranges[s] = range;
    }
}

/* As in epidemic.cl, without ghosts. */
__kernel void spread(WORLD, __global const uint *table, __global uint *pressure) {
    uint word_bits = rules.width_bits - 1u, words = 1u << word_bits;
    UNUSED;
    for (uint i = (uint)get_global_id(0); i < rules.cells / 2u; i += (uint)get_global_size(0)) {
        uint row = i >> word_bits, at = i & (words - 1u), low = 0, high = 0;
        for (uint d = 0; d < 3u; d++) {
            uint there = d == 0u ? (row ? row : shape.height) - 1u
                                 : (d == 2u ? (row + 1u < shape.height ? row + 1u : 0u) : row);
            __global const uint *line = counts + (there << word_bits);
            uint here = line[at], both = (here & 0xffffu) + (here >> 16);
            low += both + (line[(at - 1u) & (words - 1u)] >> 16);
            high += both + (line[(at + 1u) & (words - 1u)] & 0xffffu);
        }
        if (counts[i] & (TOO_MANY << 16 | TOO_MANY)) atomic_or(&ranges[0].wrong, FULL);
        pressure[i] = table[min(low, EPIDEMIC_PRESSURES - 1u)] |
                      table[min(high, EPIDEMIC_PRESSURES - 1u)] << 16;
    }
}

__kernel void advance(WORLD, uint number, __global const uint *pressure, __global uint *free_list,
                      __global plain_newborn *born_list) {
    uint s = range_here(shape), used = ranges[s].used, births = 0, deaths = 0;
    ulong at = (ulong)s * shape.slots;
    for (uint i = first_here(shape); i < used; i += stride_here(shape)) {
        uint was = states[at + i];
        if (was == DEAD) continue;
        ulong identity = identities[at + i], draw = epidemic_draw(identity, number);
        uint cell = cells[at + i], fate = epidemic_fate(draw);
        if (fate < rules.death) {
            uint f = atomic_inc(&ranges[s].free);
            if (f < shape.free_room) free_list[(ulong)s * shape.free_room + f] = i;
            states[at + i] = DEAD;
            deaths++;
            continue;
        }
        if (fate < rules.death + rules.birth) {
            uint b = atomic_inc(&ranges[s].born);
            const plain_newborn child = {epidemic_child(identity, number), cell, 0};
            if (b < shape.born_room) born_list[(ulong)s * shape.born_room + b] = child;
            births++;
        }
        uint danger = was == SUSCEPTIBLE ? pressure[cell >> 1] >> (cell & 1u) * 16u & 0xffffu : 0u;
        uint state = epidemic_next_state(was, draw, danger, number, rules.duration);
        uint to = epidemic_go(cell, epidemic_way(draw), 1u << rules.width_bits, rules.cells);
        if (state != was) states[at + i] = state;
        cells[at + i] = to;
        if ((state & 3u) == INFECTED) add_infected(counts, to);
    }
    if (births) atomic_add(&ranges[s].births, births);
    if (deaths) atomic_add(&ranges[s].deaths, deaths);
}

/* A work-group for each range. */
__kernel void place(WORLD, __global const uint *free_list,
                    __global const plain_newborn *born_list) {
    uint s = (uint)get_group_id(0), me = (uint)get_local_id(0), items = (uint)get_local_size(0);
    uint born = ranges[s].born, free = ranges[s].free, used = ranges[s].used;
    ulong at = (ulong)s * shape.slots;
    uint is_wrong = born > shape.born_room || free > shape.free_room ||
                    (born > free && born - free > shape.slots - used);
    UNUSED;
    for (uint i = me; i < born && !is_wrong; i += items) {
        uint slot =
            i < free ? free_list[(ulong)s * shape.free_room + free - 1u - i] : used + (i - free);
        const plain_newborn child = born_list[(ulong)s * shape.born_room + i];
        cells[at + slot] = child.cell;
        identities[at + slot] = child.identity;
        states[at + slot] = SUSCEPTIBLE;
    }
    barrier(CLK_GLOBAL_MEM_FENCE);
    if (me == 0) {
        if (is_wrong) ranges[s].wrong = FULL;
        ranges[s].free = free - min(born, free);
        ranges[s].used = used + (is_wrong ? 0u : born - min(born, free));
        ranges[s].born = 0;
    }
}

/* Of each work-item: agents of each kind, and the sum of hashes. */
__kernel void take_totals(WORLD, __global ulong *totals) {
    uint s = range_here(shape), used = ranges[s].used;
    ulong at = (ulong)s * shape.slots, kinds[4] = {0, 0, 0, 0}, hashes = 0;
    (void)counts;
    for (uint i = first_here(shape); i < used; i += stride_here(shape)) {
        uint state = states[at + i];
        kinds[state & 3u]++;
        if (state != DEAD) hashes += epidemic_hash(cells[at + i], identities[at + i], state);
    }
    for (uint k = 0; k < 3u; k++) totals[get_global_id(0) * 4 + k] = kinds[k];
    totals[get_global_id(0) * 4 + 3] = hashes;
}
