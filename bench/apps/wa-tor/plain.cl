/* The baselines: the phases of wa_tor.cl by hand, on a grid whose cells have the fields of agents
 * (thesis Fig. 7.17), as an array for each field (LAYOUT_AOS 0) or an array of structs (1).
 *
 * A work-item per cell. Nothing is made or freed: an agent that moves is copied from cell to cell, and
 * every kernel asks every cell whether there is an agent of the right kind. Neighbours are found by
 * arithmetic. A wish stands on the cell of the agent that has it, and who decides looks at the wishes
 * around: reads that are consecutive, and every phase writes all of what the next one reads, so nothing
 * has to be reset.
 *
 * Invariant: who has no wish leaves its cell alone while others move, and nobody else has a reason to
 * write a cell whose agent has a wish. So a cell is written by one work-item: who was granted it.
 *
 * Read first: rules.clh, which is compiled in front of this.
 */

/* Values of `wish`, and of `grant` up to 4: neighbour i is i + 1. */
#define NOBODY 0u
#define DIES 5u

#if LAYOUT_AOS

typedef struct cell {
    uint spawn_timer, energy;
    uchar kind, wish, grant;
} cell;

#define GRID __global cell *all, uint width, uint height
#define GRID_HERE all, width, height
#define AT(n, field) all[n].field

#else

#define GRID                                                                                       \
    __global uint *all_spawn_timer, __global uint *all_energy, __global uchar *all_kind,           \
        __global uchar *all_wish, __global uchar *all_grant, uint width, uint height
#define GRID_HERE all_spawn_timer, all_energy, all_kind, all_wish, all_grant, width, height
#define AT(n, field) all_##field[n]

#endif

/* The grid of work-items is a little larger than that of cells. */
#define X ((uint)get_global_id(0))
#define Y ((uint)get_global_id(1))
#define IS_OUTSIDE (X >= width || Y >= height)
#define HERE (Y * width + X)

/* Neighbour i of this work-item's cell: left, above, right, below, around the edges. */
static uint neighbor(uint width, uint height, uint i) {
    uint x = X, y = Y;
    x = i == 0u ? (x > 0u ? x : width) - 1u : i == 2u ? (x + 1u < width ? x + 1u : 0u) : x;
    y = i == 1u ? (y > 0u ? y : height) - 1u : i == 3u ? (y + 1u < height ? y + 1u : 0u) : y;
    return y * width + x;
}

/* Which of the neighbours hold that kind, as a mask. */
static uint find(GRID, uint kind) {
    uint mask = 0u;
    for (uint i = 0u; i < 4u; i++) {
        mask |= (uint)(AT(neighbor(width, height, i), kind) == kind) << i;
    }
    return mask;
}

/* One of the neighbours in `mask`, as a wish or a grant. */
static uint choose(uint mask, uint cell, uint iteration, uint draw, uint seed) {
    if (mask == 0u) {
        return NOBODY;
    }
    uint random = is_alone(mask) ? 0u : draw_one(cell, iteration, draw, seed);
    return pick(mask, random) + 1u;
}

__kernel void populate(GRID, uint seed, uint fish_permille, uint shark_permille, uint fish_spawn,
                       uint shark_spawn, uint shark_energy) {
    uint n = HERE;
    if (IS_OUTSIDE) {
        return;
    }
    philox4x32_ctr_t random = draw_all(n, 0u, DRAW_POPULATE, seed);
    uint kind = first_kind(random, fish_permille, shark_permille);
    AT(n, kind) = kind;
    AT(n, spawn_timer) = random.v[1] % ((kind == FISH ? fish_spawn : shark_spawn) + 1u);
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
        wish = choose(find(GRID_HERE, EMPTY), n, iteration, DRAW_FISH_SELECT, seed);
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
            wish = choose(prey ? prey : find(GRID_HERE, EMPTY), n, iteration, DRAW_SHARK_SELECT,
                          seed);
        }
    }
    AT(n, wish) = wish;
}

/* Neighbour i knows this cell as its neighbour (i + 2) % 4. */
__kernel void cell_decide(GRID, uint iteration, uint seed, uint draw) {
    uint n = HERE, mask = 0u;
    if (IS_OUTSIDE) {
        return;
    }
    for (uint i = 0u; i < 4u; i++) {
        mask |= (uint)(AT(neighbor(width, height, i), wish) == (i + 2u) % 4u + 1u) << i;
    }
    AT(n, grant) = choose(mask, n, iteration, draw, seed);
}

/* Where the agent here was granted to go, or here. */
static uint find_target(GRID, uint wish) {
    uint target = neighbor(width, height, wish - 1u);
    return AT(target, grant) == (wish + 1u) % 4u + 1u ? target : HERE;
}

/* The fish leaves a fish with timer 0 behind, or nothing. */
__kernel void fish_move(GRID, uint fish_spawn) {
    uint n = HERE;
    if (IS_OUTSIDE || AT(n, wish) == NOBODY) {
        return;
    }
    uint target = find_target(GRID_HERE, AT(n, wish));
    if (target == n) {
        return;
    }
    uint spawn_timer = AT(n, spawn_timer);
    if (spawn_timer > fish_spawn) {
        spawn_timer = 0u;
        AT(n, spawn_timer) = 0u;
    } else {
        AT(n, kind) = EMPTY;
    }
    AT(target, kind) = FISH;
    AT(target, spawn_timer) = spawn_timer;
}

__kernel void shark_move(GRID, uint shark_spawn, uint shark_energy, uint shark_gain) {
    uint n = HERE;
    if (IS_OUTSIDE || AT(n, wish) == NOBODY) {
        return;
    }
    if (AT(n, wish) == DIES) {
        AT(n, kind) = EMPTY;
        return;
    }
    uint target = find_target(GRID_HERE, AT(n, wish));
    if (target == n) {
        return;
    }
    uint spawn_timer = AT(n, spawn_timer), energy = AT(n, energy);
    if (AT(target, kind) == FISH) {
        energy += shark_gain;
    }
    if (spawn_timer > shark_spawn) {
        spawn_timer = 0u;
        AT(n, spawn_timer) = 0u;
        AT(n, energy) = shark_energy;
    } else {
        AT(n, kind) = EMPTY;
    }
    AT(target, kind) = SHARK;
    AT(target, spawn_timer) = spawn_timer;
    AT(target, energy) = energy;
}

/* ---- Looking --------------------------------------------------------------------------------- */

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
