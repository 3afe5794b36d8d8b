/* The baselines: the kernels of heap.cl by hand, on a grid whose cells have the fields of
 * agents.
 *
 * A work-item per cell. Nothing is made or freed: an agent that moves is copied from cell to cell,
 * and every kernel asks every cell whether there is an agent of the right kind.
 *
 * Read first: plain_grid.clh, heap.cl.
 */

/* ---- The arrays ------------------------------------------------------------------------------ */

/* Cells are numbered from `get_global_offset(0)`: the frame above and below is left out. The walls
 * to both sides are not. */
#define HERE ((uint)get_global_id(0))

static void body_store(GRID, uint n, body b) {
    AT(n, kind) = b.kind;
    AT(n, request) = 0u;
    AT(n, mate) = 0u;
    AT(n, agent_sugar) = b.sugar;
    AT(n, age) = b.age;
    AT(n, max_age) = b.max_age;
    AT(n, endowment) = b.endowment;
    AT(n, metabolism) = b.metabolism;
    AT(n, vision) = b.vision;
    AT(n, children) = 0u;
    AT(n, max_children) = b.max_children;
}

static body body_load(GRID, uint n) {
    body b = {AT(n, kind),      AT(n, agent_sugar), AT(n, age),    AT(n, max_age),
              AT(n, endowment), AT(n, metabolism),  AT(n, vision), AT(n, max_children)};
    return b;
}

/* ---- Making the world ------------------------------------------------------------------------ */

/* Of all cells, those of the frame too. */
__kernel void populate(GRID, rules r) {
    uint n = HERE, x = n % r.pitch - r.max_vision, y = n / r.pitch - r.max_vision;
    body b = {0u, 0u, 0u, 0u, 0u, 0u, 0u, 0u};
    uint sugar = 0u, growth = 0u;
    if (is_inside(r, x, y)) {
        b = first_body(r, n);
        sugar = first_sugar(r, n) | (b.kind ? 0u : VACANT);
        growth = first_growth(r, n);
    }
    SUGAR(n, 0) = sugar;
    SUGAR(n, 1) = 0u;
    AT(n, growth) = growth;
    AT(n, wish) = 0u;
    AT(n, offer) = 0u;
    AT(n, line) = 0u;
    body_store(GRID_HERE, n, b);
}

/* ---- The phases of a step -------------------------------------------------------------------- */

static uint grown(GRID, rules r, uint parity, uint n) {
    return grow(r, SUGAR(n, parity) & ~VACANT, AT(n, growth));
}

static uint line_shares(GRID, rules r, uint parity, uint n) {
    return share_of(r, grown(GRID_HERE, r, parity, n - 1u)) +
           share_of(r, grown(GRID_HERE, r, parity, n)) +
           share_of(r, grown(GRID_HERE, r, parity, n + 1u));
}

__kernel void diffuse(GRID, rules r, uint iteration) {
    uint n = HERE, parity = iteration % 2u;
    uint x = n % r.pitch - r.max_vision, y = n / r.pitch - r.max_vision;
    if (!is_inside(r, x, y)) {
        return;
    }
    uint shares = line_shares(GRID_HERE, r, parity, n - r.pitch) +
                  line_shares(GRID_HERE, r, parity, n) +
                  line_shares(GRID_HERE, r, parity, n + r.pitch);
    SUGAR(n, 1u - parity) =
        diffuse_word(r, x, y, SUGAR(n, parity), grown(GRID_HERE, r, parity, n), shares);
}

/* By DynaSOAr's rules. What a cell gets of the square around it is the sum of its lines: first each
 * cell adds up those beside it, then the sums above and below it. The frame has nothing to give, so
 * its lines stay 0. */
__kernel void add_line(GRID, rules r, uint iteration) {
    uint n = HERE, parity = iteration % 2u, eighths = 0u;
    int vision = (int)r.max_vision;
    if (n % r.pitch - r.max_vision >= r.width) {
        return;
    }
    for (int dx = -vision; dx <= vision; dx++) {
        eighths += share_of(r, grown(GRID_HERE, r, parity, n + (uint)dx)) / 8u;
    }
    AT(n, line) = eighths;
}
__kernel void diffuse_far(GRID, rules r, uint iteration) {
    uint n = HERE, parity = iteration % 2u, eighths = 0u;
    uint x = n % r.pitch - r.max_vision, y = n / r.pitch - r.max_vision;
    int vision = (int)r.max_vision;
    if (!is_inside(r, x, y)) {
        return;
    }
    FOR_EACH_LINE(dy, vision) {
        eighths += AT(n + (uint)(dy * (int)r.pitch), line);
    }
    uint sugar = grown(GRID_HERE, r, parity, n);
    eighths -= share_of(r, sugar) / 8u;
    SUGAR(n, 1u - parity) = diffuse_far_word(r, x, y, SUGAR(n, parity), sugar, eighths);
}

/* The dead leave at once. Both words say so, as move() goes by the one that diffuse_far() read. */
__kernel void age(GRID, rules r) {
    uint n = HERE;
    if (!AT(n, kind)) {
        return;
    }
    uint years = AT(n, age) + 1u, sugar = AT(n, agent_sugar), metabolism = AT(n, metabolism);
    if (is_dying(r, years, AT(n, max_age), sugar, metabolism)) {
        AT(n, kind) = 0u;
        AT(n, offer) = 0u;
        SUGAR(n, 0) |= VACANT;
        SUGAR(n, 1) |= VACANT;
        return;
    }
    AT(n, age) = years;
    AT(n, agent_sugar) = sugar - metabolism;
}

__kernel void select_cell(GRID, rules r, uint iteration) {
    uint n = HERE;
    if (!AT(n, kind)) {
        return;
    }
    if (!r.is_dynasoar) {
        uint years = AT(n, age) + 1u, sugar = AT(n, agent_sugar), metabolism = AT(n, metabolism);
        if (is_dying(r, years, AT(n, max_age), sugar, metabolism)) {
            AT(n, request) = DEAD;
            return;
        }
        AT(n, age) = years;
        AT(n, agent_sugar) = sugar - metabolism;
    }
    uint request = choose_move(GRID_HERE, r, iteration, n, AT(n, vision));
    AT(n, request) = request;
    if (request) {
        ask(&AT(target_of(r, n, request), wish), request);
    }
}

static void copy_agent(GRID, uint to, uint from) {
    uint children = AT(from, children);
    body_store(GRID_HERE, to, body_load(GRID_HERE, from));
    AT(to, children) = children;
}

/* The word that diffuse() read tells which agent was there when the step began: an agent that comes
 * while the kernel runs is not moved again. */
__kernel void move(GRID, rules r, uint iteration) {
    uint n = HERE, at = n, parity = (iteration + 1u) % 2u;
    uint x = n % r.pitch - r.max_vision;
    if (SUGAR(n, 1u - parity) >= VACANT || x >= r.width) {
        return;
    }
    uint request = AT(n, request);
    AT(n, offer) = 0u;
    if (request == DEAD) {
        return;
    }
    AT(n, request) = 0u;
    if (request) {
        uint target = target_of(r, n, request);
        if (take(&AT(target, wish), request)) {
            copy_agent(GRID_HERE, target, n);
            AT(n, kind) = 0u;
            SUGAR(n, parity) |= VACANT;
            at = target;
        }
    }
    uint sugar = AT(at, agent_sugar) + (SUGAR(at, parity) & ~VACANT);
    AT(at, agent_sugar) = sugar;
    SUGAR(at, parity) = 0u;
    if (AT(at, kind) == FEMALE && is_ready(r, sugar, AT(at, endowment), AT(at, age))) {
        AT(at, offer) = sugar;
    }
}

__kernel void propose(GRID, rules r) {
    uint n = HERE;
    if (AT(n, kind) != MALE || AT(n, request) == DEAD) {
        return;
    }
    uint sugar = AT(n, agent_sugar);
    if (!is_ready(r, sugar, AT(n, endowment), AT(n, age))) {
        return;
    }
    uint request = choose_female(GRID_HERE, r, n, AT(n, vision), sugar);
    AT(n, request) = request;
    if (request) {
        ask(&AT(target_of(r, n, request), wish), request);
    }
}

__kernel void accept(GRID, rules r, uint iteration) {
    uint n = HERE;
    uint request = AT(n, request);
    if (AT(n, kind) != MALE || request == 0u || request == DEAD) {
        return;
    }
    uint female = target_of(r, n, request);
    AT(n, request) = 0u;
    if (!take(&AT(female, wish), request) || AT(female, children) >= AT(female, max_children)) {
        return;
    }
    request = choose_birthplace(GRID_HERE, r, iteration, n, AT(n, vision));
    if (request) {
        AT(n, mate) = female;
        AT(n, request) = request;
        ask(&AT(target_of(r, n, request), wish), request);
    }
}

static void beget(GRID, rules r, uint iteration, uint n, uint female, uint target) {
    body father = body_load(GRID_HERE, n), mother = body_load(GRID_HERE, female);
    body_store(GRID_HERE, target, child_of(r, n, iteration, father, mother));
    SUGAR(target, (iteration + 1u) % 2u) &= ~VACANT;
    AT(n, agent_sugar) = father.sugar - father.endowment / 2u;
    AT(female, agent_sugar) = mother.sugar - mother.endowment / 2u;
    AT(female, children)++;
}

/* A child that comes while the kernel runs has no request, like the vacant cell before. */
__kernel void spawn(GRID, rules r, uint iteration) {
    uint n = HERE;
    uint request = AT(n, request);
    if (request == 0u) {
        return;
    }
    AT(n, request) = 0u;
    if (request == DEAD) {
        AT(n, kind) = 0u;
        SUGAR(n, (iteration + 1u) % 2u) |= VACANT;
        return;
    }
    uint female = AT(n, mate), target = target_of(r, n, request);
    AT(n, mate) = 0u;
    if (take(&AT(target, wish), request)) {
        beget(GRID_HERE, r, iteration, n, female, target);
    }
}

/* ---- Showing the world ----------------------------------------------------------------------- */

__kernel void write_states(GRID, rules r, uint iteration, __global uint *states) {
    uint n = HERE, x = n % r.pitch - r.max_vision, y = n / r.pitch - r.max_vision;
    if (!is_inside(r, x, y)) {
        return;
    }
    int is_there = AT(n, kind) != 0;
    body b = {0u, 0u, 0u, 0u, 0u, 0u, 0u, 0u};
    if (is_there) {
        b = body_load(GRID_HERE, n);
    }
    write_state(states + 5ul * (y * r.width + x), SUGAR(n, iteration % 2u), b,
                is_there ? AT(n, children) : 0u);
}
