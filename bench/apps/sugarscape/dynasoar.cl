/* Sugarscape with the objects and the twelve do-alls of DynaSOAr's program: cells gather the sugar
 * and the requests of all cells within the greatest vision, where heap.cl has atomic wishes. The
 * worlds are those of heap.cl under the same rules.
 *
 * What a cell gets of the square around it is the sum of its lines, so prepare_diffuse adds up a
 * part of the cell's line, and update_diffuse such sums from above to below: it looks at 10 cells
 * in place of 25.
 *
 * Who asks a cell sets a bit there for the line in which it is: cells look for who asked in these
 * lines alone. Who asks a female writes a byte there: those that nobody asked do not look. It does
 * not matter who comes last.
 *
 * No kernel reads what another work-item of it writes, except for cells that are left and entered:
 * an agent enters by permission a cell that was free before, and nobody looks at cells meanwhile.
 *
 * All kernels have `rows` (../cells.clh) and the rules. Cells of the world are numbered row by row
 * there; they draw and are asked by their numbers, which count the frame too (model.h), so that all
 * models draw the same.
 *
 * Compiled after rules.clh. Read first: dynasoar.schema, heap.cl.
 */

/* The cells of the window around the cell of this number: `other` of those that the world has, in
 * reading order, and `place`, where the one in the middle sees it. */
#define FOR_EACH_SEEN(r, number, vision, other, place)                                             \
    FOR_EACH_LINE(w, window_of(r, number, vision, vision), r)                                      \
    for (uint n = w.first, place = w.place; n < w.end; n++, place++)                               \
        for (uint once = 1u; once;)                                                                \
            for (Cell other = cell_of_line(&w, n); once; once = 0u)
/* Its lines. */
#define FOR_EACH_LINE(w, around, r) for (window w = (around); next_line(&w, rows, r); w.lines--)
/* Cells of a line that are read before any of them is looked at: those within a vision of 2. */
#define AT_ONCE 5u

static uint column_of(rules r, uint number) {
    return number % r.pitch - r.max_vision;
}
static uint row_of(rules r, uint number) {
    return number / r.pitch - r.max_vision;
}

typedef struct window {
    uint first, end;   /* the cells of the line that is looked at, row by row of the world */
    uint place;        /* of the first */
    uint width, lines; /* of what the world has of the window; lines that are left */
    uint rows[2];      /* of the heap, in which these cells lie */
} window;

/* The line before its first. The window around this place goes so far across and down, to both
 * sides. */
static window window_at(rules r, int x, int y, int across, int down) {
    int left = max(x - across, 0), above = max(y - down, 0);
    window w = {(uint)((above - 1) * (int)r.width + left),
                0u,
                place_of(left - x, above - y - 1),
                (uint)(min(x + across + 1, (int)r.width) - left),
                (uint)(min(y + down + 1, (int)r.height) - above),
                {0u, 0u}};
    return w;
}

static window window_of(rules r, uint number, int across, int down) {
    return window_at(r, (int)column_of(r, number), (int)row_of(r, number), across, down);
}

/* A line has at most 15 cells, so they lie in one row of the heap or in two. */
static bool next_line(window *w, __global const uint *rows, rules r) {
    if (w->lines == 0u) {
        return false;
    }
    w->first += r.width;
    w->end = w->first + w->width;
    w->place += 16u;
    w->rows[0] = rows[w->first / 64u];
    w->rows[1] = rows[(w->end - 1u) / 64u];
    return true;
}

static Cell cell_of_line(const window *w, uint number) {
    Cell cell = {(number / 64u == w->first / 64u ? w->rows[0] : w->rows[1]) | number % 64u};
    return cell;
}

/* ---- Making the world ------------------------------------------------------------------------ */

/* Do-new over Cell. */
__kernel void cell_init(CLUMP_HEAP, __global uint *rows, rules r) {
    CLUMP_FOR_EACH_NEW(Cell, self, i) {
        uint number = (i / r.width + r.max_vision) * r.pitch + r.max_vision + i % r.width;
        cell_note(rows, (r.width * r.height + 63u) / 64u, self, i);
        Cell_agent(self) = Agent_null;
        Cell_line_diffusion(self) = 0u;
        Cell_asked(self) = 0u;
        Cell_sugar(self) = first_sugar(r, number);
        Cell_sugar_capacity(self) = r.capacity;
        Cell_grow_rate(self) = first_growth(r, number);
        Cell_cell_id(self) = number;
    }
}

static void agent_init(CLUMP_HEAP, Agent self, Cell cell, body b) {
    Agent_position(self) = cell;
    Agent_cell_request(self) = Cell_null;
    Agent_strength(self) = 0u;
    Agent_vision(self) = b.vision;
    Agent_age(self) = b.age;
    Agent_max_age(self) = b.max_age;
    Agent_sugar(self) = b.sugar;
    Agent_metabolism(self) = b.metabolism;
    Agent_endowment(self) = b.endowment;
    Agent_permission(self) = false;
    Cell_agent(cell) = self;
}

static void male_init(CLUMP_HEAP, Male self, Cell cell, body b) {
    agent_init(clump_heap, Male_as_Agent(self), cell, b);
    Male_female_request(self) = Female_null;
    Male_proposal_accepted(self) = false;
}

static void female_init(CLUMP_HEAP, Female self, Cell cell, body b) {
    agent_init(clump_heap, Female_as_Agent(self), cell, b);
    Female_max_children(self) = b.max_children;
    Female_num_children(self) = 0u;
    Female_is_asked(self) = false;
}

static Cell cell_of(__global const uint *rows, rules r, uint number) {
    return cell_at(rows, row_of(r, number) * r.width + column_of(r, number));
}

/* Do-new over each sex: the first agents, on the cells of these numbers. */
__kernel void first_males(CLUMP_HEAP, __global const uint *rows, rules r,
                          __global const uint *positions) {
    CLUMP_FOR_EACH_NEW(Male, self, i) {
        male_init(clump_heap, self, cell_of(rows, r, positions[i]), first_body(r, positions[i]));
    }
}
__kernel void first_females(CLUMP_HEAP, __global const uint *rows, rules r,
                            __global const uint *positions) {
    CLUMP_FOR_EACH_NEW(Female, self, i) {
        female_init(clump_heap, self, cell_of(rows, r, positions[i]), first_body(r, positions[i]));
    }
}

/* ---- The phases of a step: sugar ------------------------------------------------------------- */

__kernel void grow_sugar(CLUMP_HEAP_NO_ALLOC, __global const uint *rows, rules r) {
    CLUMP_FOR_EACH(Cell, self) {
        Cell_sugar(self) = min(Cell_sugar(self) + Cell_grow_rate(self), Cell_sugar_capacity(self));
    }
}

/* Nobody's sugar changes here, since the cells beside it look at it. */
__kernel void prepare_diffuse(CLUMP_HEAP_NO_ALLOC, __global const uint *rows, rules r) {
    CLUMP_FOR_EACH(Cell, self) {
        uint eighths = 0u;
        FOR_EACH_LINE(w, window_of(r, Cell_cell_id(self), (int)r.max_vision, 0), r) {
            for (uint n = w.first; n < w.end; n += AT_ONCE) {
#pragma unroll
                for (uint k = 0u; k < AT_ONCE; k++) {
                    uint sugar = n + k < w.end ? Cell_sugar(cell_of_line(&w, n + k)) : 0u;
                    eighths += share_of(r, sugar) / 8u;
                }
            }
        }
        Cell_line_diffusion(self) = eighths;
    }
}

/* A cell gives its share away, of which nothing comes back. */
__kernel void update_diffuse(CLUMP_HEAP_NO_ALLOC, __global const uint *rows, rules r) {
    CLUMP_FOR_EACH(Cell, self) {
        uint sugar = Cell_sugar(self), share = share_of(r, sugar), eighths = 0u;
        FOR_EACH_LINE(w, window_of(r, Cell_cell_id(self), 0, (int)r.max_vision), r) {
            eighths += Cell_line_diffusion(cell_of_line(&w, w.first));
        }
        Cell_sugar(self) = sugar - share + eighths - share / 8u;
    }
}

/* ---- The phases of a step: moving ------------------------------------------------------------ */

__kernel void age_and_metabolize(CLUMP_HEAP, __global const uint *rows, rules r) {
    CLUMP_FOR_EACH(Agent, self) {
        uint years = Agent_age(self) + 1u, sugar = Agent_sugar(self);
        uint metabolism = Agent_metabolism(self);
        if (is_dying(r, years, Agent_max_age(self), sugar, metabolism)) {
            Cell_agent(Agent_position(self)) = Agent_null;
            Agent_free(self);
            continue;
        }
        Agent_age(self) = years;
        Agent_sugar(self) = sugar - metabolism;
    }
}

static bool is_free(CLUMP_HEAP_NO_ALLOC, Cell cell) {
    return Agent_is_null(Cell_agent(cell));
}

/* Ask for the cell that the asking agent sees at this place: it has that agent so many lines above
 * or below as the agent has it below or above. Line 8 of its window is its own. */
static void ask_from(CLUMP_HEAP_NO_ALLOC, Cell cell, uint place) {
    atomic_or(&Cell_asked(cell), 1u << (16u - place / 16u));
}

/* A cell's sugar, as in rules.clh. */
static uint word_of(CLUMP_HEAP_NO_ALLOC, Cell cell) {
    uint sugar = Cell_sugar(cell);
    return is_free(clump_heap, cell) ? sugar | VACANT : 0u;
}

__kernel void prepare_move(CLUMP_HEAP_NO_ALLOC, __global const uint *rows, rules r,
                           uint iteration) {
    CLUMP_FOR_EACH(Agent, self) {
        uint number = Cell_cell_id(Agent_position(self));
        philox4x32_ctr_t random = draw(r, number, iteration, DRAW_MOVE);
        choice c = {0u, 0u, 0u};
        Cell target = Cell_null;
        int vision = (int)Agent_vision(self);
        FOR_EACH_LINE(w, window_of(r, number, vision, vision), r) {
            for (uint n = w.first, place = w.place; n < w.end; n += AT_ONCE, place += AT_ONCE) {
                uint words[AT_ONCE];
#pragma unroll
                for (uint k = 0u; k < AT_ONCE; k++) {
                    words[k] = n + k < w.end ? word_of(clump_heap, cell_of_line(&w, n + k)) : 0u;
                }
#pragma unroll
                for (uint k = 0u; k < AT_ONCE; k++) {
                    c = choose_of(c, words[k], place + k, random.v[1]);
                    target = c.place == place + k ? cell_of_line(&w, n + k) : target;
                }
            }
        }
        if (!Cell_is_null(target)) {
            ask_from(clump_heap, target, c.place);
        }
        Agent_cell_request(self) = target;
        Agent_strength(self) = make_request(random.v[0] >> 8, c.place);
    }
}

/* The strongest of the agents in a line that ask for a cell, if it is stronger than `best`. */
static Agent strongest(CLUMP_HEAP_NO_ALLOC, const window *w, Cell cell, Agent best) {
    uint strength = Agent_is_null(best) ? 0u : Agent_strength(best);
    for (uint n = w->first; n < w->end; n += AT_ONCE) {
        Agent agents[AT_ONCE];
#pragma unroll
        for (uint k = 0u; k < AT_ONCE; k++) {
            agents[k] = n + k < w->end ? Cell_agent(cell_of_line(w, n + k)) : Agent_null;
        }
#pragma unroll
        for (uint k = 0u; k < AT_ONCE; k++) {
            Agent agent = agents[k];
            if (!Agent_is_null(agent) && Agent_cell_request(agent).id == cell.id &&
                Agent_strength(agent) > strength) {
                strength = Agent_strength(agent);
                best = agent;
            }
        }
    }
    return best;
}

/* Give permission to the strongest of the agents that ask for a cell. */
static void decide(CLUMP_HEAP_NO_ALLOC, __global const uint *rows, rules r) {
    CLUMP_FOR_EACH(Cell, self) {
        uint lines = Cell_asked(self);
        if (lines == 0u) {
            continue;
        }
        Cell_asked(self) = 0u;
        uint number = Cell_cell_id(self);
        int x = (int)column_of(r, number), y = (int)row_of(r, number) - 8;
        Agent best = Agent_null;
        for (; lines != 0u; lines &= lines - 1u) {
            int line = y + (int)(31u - clz(lines & (0u - lines)));
            FOR_EACH_LINE(w, window_at(r, x, line, (int)r.max_vision, 0), r) {
                best = strongest(clump_heap, &w, self, best);
            }
        }
        if (!Agent_is_null(best)) {
            Agent_permission(best) = true;
        }
    }
}

__kernel void decide_permission(CLUMP_HEAP_NO_ALLOC, __global const uint *rows, rules r) {
    decide(clump_heap, rows, r);
}

__kernel void update_move(CLUMP_HEAP_NO_ALLOC, __global const uint *rows, rules r) {
    CLUMP_FOR_EACH(Agent, self) {
        Cell cell = Agent_position(self);
        if (Agent_permission(self)) {
            Cell_agent(cell) = Agent_null;
            cell = Agent_cell_request(self);
            Cell_agent(cell) = self;
            Agent_position(self) = cell;
        }
        Agent_sugar(self) += Cell_sugar(cell);
        Cell_sugar(cell) = 0u;
        Agent_cell_request(self) = Cell_null;
        Agent_permission(self) = false;
    }
}

/* ---- The phases of a step: mating ------------------------------------------------------------ */

static bool is_ready_agent(CLUMP_HEAP_NO_ALLOC, rules r, Agent agent) {
    return is_ready(r, Agent_sugar(agent), Agent_endowment(agent), Agent_age(agent));
}

__kernel void propose(CLUMP_HEAP_NO_ALLOC, __global const uint *rows, rules r) {
    CLUMP_FOR_EACH(Male, self) {
        if (!is_ready_agent(clump_heap, r, Male_as_Agent(self))) {
            continue;
        }
        uint number = Cell_cell_id(Male_position(self)), best = 0u, best_place = 0u;
        Female target = Female_null;
        FOR_EACH_SEEN(r, number, (int)Male_vision(self), other, place) {
            Female female = Agent_as_Female(Cell_agent(other));
            if (!Female_is_null(female) && Female_sugar(female) > best &&
                is_ready_agent(clump_heap, r, Female_as_Agent(female))) {
                best = Female_sugar(female);
                best_place = place;
                target = female;
            }
        }
        if (!Female_is_null(target)) {
            Female_is_asked(target) = true;
        }
        Male_female_request(self) = target;
        Male_strength(self) = make_request(min(Male_sugar(self), 0xffffffu), best_place);
    }
}

__kernel void decide_proposal(CLUMP_HEAP_NO_ALLOC, __global const uint *rows, rules r) {
    CLUMP_FOR_EACH(Female, self) {
        if (!Female_is_asked(self)) {
            continue;
        }
        Female_is_asked(self) = false;
        if (Female_num_children(self) >= Female_max_children(self)) {
            continue;
        }
        uint number = Cell_cell_id(Female_position(self)), best = 0u;
        Male selected = Male_null;
        FOR_EACH_SEEN(r, number, (int)r.max_vision, other, place) {
            Male male = Agent_as_Male(Cell_agent(other));
            if (!Male_is_null(male) && Male_female_request(male).id == self.id &&
                Male_strength(male) > best) {
                best = Male_strength(male);
                selected = male;
            }
        }
        if (!Male_is_null(selected)) {
            Male_proposal_accepted(selected) = true;
        }
    }
}

__kernel void propose_offspring_target(CLUMP_HEAP_NO_ALLOC, __global const uint *rows, rules r,
                                       uint iteration) {
    CLUMP_FOR_EACH(Male, self) {
        if (!Male_proposal_accepted(self)) {
            continue;
        }
        uint number = Cell_cell_id(Male_position(self)), count = 0u;
        int vision = (int)Male_vision(self);
        FOR_EACH_SEEN(r, number, vision, other, place) {
            count += is_free(clump_heap, other);
        }
        philox4x32_ctr_t random = draw(r, number, iteration, DRAW_BIRTHPLACE);
        uint skip = count ? random.v[1] % count : 0u;
        FOR_EACH_SEEN(r, number, vision, other, place) {
            if (is_free(clump_heap, other) && skip-- == 0u) {
                ask_from(clump_heap, other, place);
                Male_cell_request(self) = other;
                Male_strength(self) = make_request(random.v[0] >> 8, place);
            }
        }
    }
}

__kernel void decide_birthplace(CLUMP_HEAP_NO_ALLOC, __global const uint *rows, rules r) {
    decide(clump_heap, rows, r);
}

static body body_of(CLUMP_HEAP_NO_ALLOC, Agent agent) {
    body b = {0u,
              Agent_sugar(agent),
              Agent_age(agent),
              Agent_max_age(agent),
              Agent_endowment(agent),
              Agent_metabolism(agent),
              Agent_vision(agent),
              0u};
    return b;
}

static void beget(CLUMP_HEAP, rules r, uint iteration, Male male) {
    Female female = Male_female_request(male);
    Cell cell = Male_cell_request(male);
    body father = body_of(clump_heap, Male_as_Agent(male));
    body mother = body_of(clump_heap, Female_as_Agent(female));
    mother.max_children = Female_max_children(female);
    body child = child_of(r, Cell_cell_id(Male_position(male)), iteration, father, mother);
    Female_num_children(female)++;
    Male_sugar(male) = father.sugar - father.endowment / 2u;
    Female_sugar(female) = mother.sugar - mother.endowment / 2u;
    if (child.kind == MALE) {
        Male son = Male_new();
        if (!Male_is_null(son)) { /* else the heap is full, and counts it */
            male_init(clump_heap, son, cell, child);
        }
    } else {
        Female daughter = Female_new();
        if (!Female_is_null(daughter)) {
            female_init(clump_heap, daughter, cell, child);
        }
    }
}

__kernel void mate(CLUMP_HEAP, __global const uint *rows, rules r, uint iteration) {
    CLUMP_FOR_EACH(Male, self) {
        if (Male_proposal_accepted(self) && Male_permission(self)) {
            beget(clump_heap, r, iteration, self);
        }
        Male_permission(self) = false;
        Male_proposal_accepted(self) = false;
        Male_female_request(self) = Female_null;
        Male_cell_request(self) = Cell_null;
    }
}

/* ---- Showing the world ----------------------------------------------------------------------- */

__kernel void write_states(CLUMP_HEAP_NO_ALLOC, __global const uint *rows, rules r,
                           __global uint *states) {
    CLUMP_FOR_EACH(Cell, self) {
        uint number = Cell_cell_id(self), children = 0u;
        Agent agent = Cell_agent(self);
        body b = {0u, 0u, 0u, 0u, 0u, 0u, 0u, 0u};
        if (!Agent_is_null(agent)) {
            Female female = Agent_as_Female(agent);
            int is_female = !Female_is_null(female);
            b = body_of(clump_heap, agent);
            b.kind = is_female ? FEMALE : MALE;
            b.max_children = is_female ? Female_max_children(female) : 0u;
            children = is_female ? Female_num_children(female) : 0u;
        }
        write_state(states + 5ul * (row_of(r, number) * r.width + column_of(r, number)),
                    Cell_sugar(self), b, children);
    }
}
