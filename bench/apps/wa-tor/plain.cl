/* The baselines: the phases of heap.cl by hand, on a grid whose cells have the fields of agents
 * (Springer's thesis Fig. 7.17), as an array for each field (LAYOUT_AOS 0) or an array of structs
 * (1).
 *
 * A work-item per cell. Nothing is made or freed: an agent that moves is copied from cell to cell,
 * and every kernel asks every cell whether there is an agent of the right kind. Neighbours are
 * found by arithmetic. A wish stands on the cell of the agent that has it, and the cell that
 * decides looks at the wishes around: reads of consecutive bytes. All wishes are written in every
 * phase that has some, so nothing has to be reset. The cell that decides also moves the agent,
 * since all work-items look at all cells anyway.
 *
 * Invariant: each agent has one wish, and a cell that an agent wants has an agent of the other kind
 * or none. So two cells that take part in a move take part in no other one.
 *
 * Read first: rules.clh, which is compiled before this.
 */

/* ---- The arrays ------------------------------------------------------------------------------ */

/* Values of `wish`; neighbour i is i + 1. */
#define NOBODY 0u
#define DIES 5u

#if LAYOUT_AOS

typedef struct cell {
    uint spawn_timer, energy;
    uchar kind, wish;
} cell;

#define GRID __global cell *all, uint width, uint height
#define GRID_HERE all, width, height
#define AT(n, field) all[n].field

#else

#define GRID                                                                                       \
    __global uint *all_spawn_timer, __global uint *all_energy, __global uchar *all_kind,           \
        __global uchar *all_wish, uint width, uint height
#define GRID_HERE all_spawn_timer, all_energy, all_kind, all_wish, width, height
#define AT(n, field) all_##field[n]

#endif

/* The grid of work-items is a little larger than that of cells. */
#define X ((uint)get_global_id(0))
#define Y ((uint)get_global_id(1))
#define IS_OUTSIDE (X >= width || Y >= height)
#define HERE (Y * width + X)

static uint neighbor(uint width, uint height, uint i) {
    return neighbor_of(HERE, X, width, width * height, i);
}

/* Which of the neighbours hold that kind, as a mask. */
static uint find(GRID, uint kind) {
    uint mask = 0u;
    for (uint i = 0u; i < 4u; i++) {
        mask |= (uint)(AT(neighbor(width, height, i), kind) == kind) << i;
    }
    return mask;
}

/* ---- Making the world ------------------------------------------------------------------------ */

__kernel void populate(GRID, uint seed, uint fish_permille, uint shark_permille, uint fish_spawn,
                       uint shark_spawn, uint shark_energy, uint has_drawn_timers) {
    uint n = HERE;
    if (IS_OUTSIDE) {
        return;
    }
    philox4x32_ctr_t random = draw_all(n, 0u, DRAW_POPULATE, seed);
    uint kind = first_kind(random, fish_permille, shark_permille);
    AT(n, kind) = kind;
    AT(n, spawn_timer) =
        first_timer(random.v[1], kind == FISH ? fish_spawn : shark_spawn, has_drawn_timers);
    AT(n, energy) = shark_energy;
}

/* ---- The phases of a step -------------------------------------------------------------------- */

__kernel void fish_select(GRID, uint iteration, uint seed) {
    uint n = HERE, wish = NOBODY;
    if (IS_OUTSIDE) {
        return;
    }
    if (AT(n, kind) == FISH) {
        AT(n, spawn_timer)++;
        uint vacant = find(GRID_HERE, EMPTY);
        wish = vacant ? choose(vacant, n, iteration, DRAW_FISH_SELECT, seed) + 1u : NOBODY;
    }
    AT(n, wish) = wish;
}

__kernel void shark_select(GRID, uint iteration, uint seed) {
    uint n = HERE, wish = NOBODY;
    if (IS_OUTSIDE) {
        return;
    }
    if (AT(n, kind) == SHARK) {
        uint energy = AT(n, energy) - 1u;
        AT(n, spawn_timer)++;
        AT(n, energy) = energy;
        if (energy == 0u) {
            wish = DIES;
        } else {
            uint prey = find(GRID_HERE, FISH);
            uint mask = prey ? prey : find(GRID_HERE, EMPTY);
            wish = mask ? choose(mask, n, iteration, DRAW_SHARK_SELECT, seed) + 1u : NOBODY;
        }
    }
    AT(n, wish) = wish;
}

/* The neighbours that wish to come here, as a mask. */
static uint find_wishes(GRID) {
    uint mask = 0u;
    for (uint i = 0u; i < 4u; i++) {
        mask |= (uint)(AT(neighbor(width, height, i), wish) == (i + 2u) % 4u + 1u) << i;
    }
    return mask;
}

/* The fish leaves a fish behind, or nothing. */
__kernel void fish_move(GRID, uint iteration, uint seed, uint fish_spawn, uint has_drawn_timers) {
    uint n = HERE;
    if (IS_OUTSIDE) {
        return;
    }
    uint mask = find_wishes(GRID_HERE);
    if (mask == 0u) {
        return;
    }
    uint from = neighbor(width, height, choose(mask, n, iteration, DRAW_FISH_DECIDE, seed));
    uint spawn_timer = AT(from, spawn_timer);
    if (spawn_timer > fish_spawn) {
        spawn_timer = 0u;
        AT(from, spawn_timer) =
            born_timer(from, iteration, DRAW_FISH_BORN, seed, fish_spawn, has_drawn_timers);
    } else {
        AT(from, kind) = EMPTY;
    }
    AT(n, kind) = FISH;
    AT(n, spawn_timer) = spawn_timer;
}

__kernel void shark_move(GRID, uint iteration, uint seed, uint shark_spawn, uint has_drawn_timers,
                         uint shark_energy, uint shark_gain) {
    uint n = HERE;
    if (IS_OUTSIDE) {
        return;
    }
    if (AT(n, wish) == DIES) {
        AT(n, kind) = EMPTY;
        return;
    }
    uint mask = find_wishes(GRID_HERE);
    if (mask == 0u) {
        return;
    }
    uint from = neighbor(width, height, choose(mask, n, iteration, DRAW_SHARK_DECIDE, seed));
    uint spawn_timer = AT(from, spawn_timer);
    AT(n, energy) = AT(from, energy) + (AT(n, kind) == FISH ? shark_gain : 0u);
    if (spawn_timer > shark_spawn) {
        spawn_timer = 0u;
        AT(from, spawn_timer) =
            born_timer(from, iteration, DRAW_SHARK_BORN, seed, shark_spawn, has_drawn_timers);
        AT(from, energy) = shark_energy;
    } else {
        AT(from, kind) = EMPTY;
    }
    AT(n, kind) = SHARK;
    AT(n, spawn_timer) = spawn_timer;
}

/* ---- Showing the world ----------------------------------------------------------------------- */

__kernel void write_world(GRID, __global uint *world) {
    uint n = HERE;
    if (IS_OUTSIDE) {
        return;
    }
    uint kind = AT(n, kind);
    world[n] = kind == EMPTY  ? 0u
               : kind == FISH ? encode(FISH, AT(n, spawn_timer), 0u)
                              : encode(SHARK, AT(n, spawn_timer), AT(n, energy));
}
