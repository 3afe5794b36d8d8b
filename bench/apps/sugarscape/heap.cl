/* Sugarscape over objects: one kernel per phase of a step, and those that make and show the world.
 *
 * A step is six kernels. Only the last one makes and frees objects, so the list of objects is made
 * once a step. Under DynaSOAr's rules add_line and diffuse_far take the place of diffuse, and in
 * `age` the dead go.
 * No kernel looks at what another work-item of it changes, except for wishes, which are made of
 * atomics whose order does not matter (rules.clh).
 *
 * Sugar is kept twice: step i reads sugar[i % 2] of all cells and writes the other, on which the
 * later phases work. Cells go by their number, not by the list: 64 to a row of the heap.
 *
 * Read first: objects.schema, rules.clh.
 */

/* Rows of cells, from `begin` up to `end`: on CPUs a range of them for each work-item, which loops
 * over the slots; on GPUs 64 consecutive work-items for each. */
#if ROW_PER_ITEM
#define FOR_EACH_ROW(row, begin, end)                                                              \
    for (uint chunk = ((end) - (begin)) / (uint)get_global_size(0) + 1u,                           \
              row = (begin) + chunk * (uint)get_global_id(0), row_end = min((end), row + chunk);   \
         row < row_end; row++)
#define FOR_EACH_SLOT(slot) for (uint slot = 0u; slot < 64u; slot++)
#else
#define FOR_EACH_ROW(row, begin, end)                                                              \
    for (uint row = (begin) + (uint)get_global_id(0) / 64u; row < (end);                           \
         row += (uint)get_global_size(0) / 64u)
#define FOR_EACH_SLOT(slot)                                                                        \
    for (uint slot = (uint)get_global_id(0) % 64u, once = 1u; once; once = 0u)
#endif
/* Those of the lines that are no frame. */
#define FOR_EACH_ROW_INSIDE(row, r)                                                                \
    FOR_EACH_ROW(row, (r).pitch / 64u * (r).max_vision,                                            \
                 (r).pitch / 64u * ((r).max_vision + (r).height))

/* ---- Making the world ------------------------------------------------------------------------ */

/* Do-new over Cell. */
__kernel void cell_init(CLUMP_HEAP, __global uint *rows, rules r) {
    CLUMP_FOR_EACH_NEW(Cell, self, number) {
        uint x = number % r.pitch - r.max_vision, y = number / r.pitch - r.max_vision;
        int inside = is_inside(r, x, y);
        cell_note(rows, r.pitch / 64u * (r.height + 2u * r.max_vision), self, number);
        Cell_sugar(self, 0) = inside ? first_sugar(r, number) | VACANT : 0u;
        Cell_sugar(self, 1) = 0u;
        Cell_growth(self) = inside ? first_growth(r, number) : 0u;
        Cell_wish(self) = 0u;
        Cell_offer(self) = 0u;
        Cell_line(self) = 0u;
        Cell_agent(self) = Agent_null;
    }
}

/* Put an agent on a vacant cell. */
static void agent_init(CLUMP_HEAP_NO_ALLOC, Agent self, Cell cell, uint parity, uint position,
                       body b) {
    Agent_position(self) = position;
    Agent_request(self) = 0u;
    Agent_sugar(self) = b.sugar;
    Agent_age(self) = b.age;
    Agent_max_age(self) = b.max_age;
    Agent_endowment(self) = b.endowment;
    Agent_metabolism(self) = b.metabolism;
    Agent_vision(self) = b.vision;
    Cell_agent(cell) = self;
    Cell_sugar(cell, parity) &= ~VACANT;
}

static void male_init(CLUMP_HEAP_NO_ALLOC, Male self, Cell cell, uint parity, uint position,
                      body b) {
    agent_init(clump_heap, Male_as_Agent(self), cell, parity, position, b);
    Male_mate(self) = Female_null;
}

static void female_init(CLUMP_HEAP_NO_ALLOC, Female self, Cell cell, uint parity, uint position,
                        body b) {
    agent_init(clump_heap, Female_as_Agent(self), cell, parity, position, b);
    Female_children(self) = 0u;
    Female_max_children(self) = b.max_children;
}

/* Do-new over each sex: the first agents, on the cells of these numbers. */
__kernel void first_males(CLUMP_HEAP, __global const uint *rows, rules r,
                          __global const uint *positions) {
    CLUMP_FOR_EACH_NEW(Male, self, i) {
        uint position = positions[i];
        body b = first_body(r, position);
        male_init(clump_heap, self, cell_at(rows, position), 0u, position, b);
    }
}
__kernel void first_females(CLUMP_HEAP, __global const uint *rows, rules r,
                            __global const uint *positions) {
    CLUMP_FOR_EACH_NEW(Female, self, i) {
        uint position = positions[i];
        body b = first_body(r, position);
        female_init(clump_heap, self, cell_at(rows, position), 0u, position, b);
    }
}

/* ---- The phases of a step -------------------------------------------------------------------- */

/* Sugar of a cell when it has grown, and its share. */
static uint grown(CLUMP_HEAP_NO_ALLOC, rules r, uint parity, uint row_id, uint slot) {
    Cell cell = {row_id | slot};
    return grow(r, Cell_sugar(cell, parity) & ~VACANT, Cell_growth(cell));
}
static uint cell_share(CLUMP_HEAP_NO_ALLOC, rules r, uint parity, uint row_id, uint slot) {
    return share_of(r, grown(clump_heap, r, parity, row_id, slot));
}

/* A row of the heap with those of the lines above and below. Behind the frame's first row there may
 * be none above; it is a part of the frame that no cell of the world has for a neighbour. */
typedef struct band {
    uint above, here, below;
} band;
static band band_of(__global const uint *rows, rules r, uint row) {
    uint lines = r.pitch / 64u;
    band b = {rows[row - min(row, lines)], rows[row], rows[row + lines]};
    return b;
}

/* The shares of a cell and those above and below. */
static uint column_shares(CLUMP_HEAP_NO_ALLOC, rules r, uint parity, band b, uint slot) {
    return cell_share(clump_heap, r, parity, b.above, slot) +
           cell_share(clump_heap, r, parity, b.here, slot) +
           cell_share(clump_heap, r, parity, b.below, slot);
}

/* Grow Sugar, Precompute Sugar Diffusion, Diffuse Sugar. */
__kernel void diffuse(CLUMP_HEAP_NO_ALLOC, __global const uint *rows, rules r, uint iteration) {
    uint parity = iteration % 2u, lines = r.pitch / 64u;
    FOR_EACH_ROW_INSIDE(row, r) {
        uint x = row % lines * 64u - r.max_vision, y = row / lines - r.max_vision;
        band b = band_of(rows, r, row);
#if ROW_PER_ITEM
        uint columns[66]; /* that of slot -1 first */
        columns[0] = column_shares(clump_heap, r, parity, band_of(rows, r, row - 1u), 63u);
        FOR_EACH_SLOT(slot) {
            columns[slot + 1u] = column_shares(clump_heap, r, parity, b, slot);
        }
        columns[65] = column_shares(clump_heap, r, parity, band_of(rows, r, row + 1u), 0u);
#endif
        FOR_EACH_SLOT(slot) {
            Cell self = {b.here | slot};
#if ROW_PER_ITEM
            uint shares = columns[slot] + columns[slot + 1u] + columns[slot + 2u];
#else
            uint before = row * 64u + slot - 1u, behind = before + 2u;
            uint shares =
                column_shares(clump_heap, r, parity, b, slot) +
                column_shares(clump_heap, r, parity, band_of(rows, r, before / 64u), before % 64u) +
                column_shares(clump_heap, r, parity, band_of(rows, r, behind / 64u), behind % 64u);
#endif
            uint sugar = grown(clump_heap, r, parity, b.here, slot);
            Cell_sugar(self, 1u - parity) =
                diffuse_word(r, x + slot, y, Cell_sugar(self, parity), sugar, shares);
        }
    }
}

/* Grow Sugar, Precompute Sugar Diffusion, Diffuse Sugar by DynaSOAr's rules, from all cells within
 * the greatest vision. What a cell gets of the square around it is the sum of its lines: first each
 * cell adds up those beside it, then the sums above and below it. The frame has nothing to give, so
 * its lines stay 0. */
__kernel void add_line(CLUMP_HEAP_NO_ALLOC, __global const uint *rows, rules r, uint iteration) {
    uint parity = iteration % 2u;
    int vision = (int)r.max_vision;
    FOR_EACH_ROW_INSIDE(row, r) {
        FOR_EACH_SLOT(slot) {
            uint number = row * 64u + slot, eighths = 0u;
            Cell self = {rows[row] | slot};
            if (number % r.pitch - r.max_vision >= r.width) {
                continue;
            }
            for (int dx = -vision; dx <= vision; dx++) {
                uint other = number + (uint)dx;
                eighths += cell_share(clump_heap, r, parity, rows[other / 64u], other % 64u) / 8u;
            }
            Cell_line(self) = eighths;
        }
    }
}
__kernel void diffuse_far(CLUMP_HEAP_NO_ALLOC, __global const uint *rows, rules r, uint iteration) {
    uint parity = iteration % 2u;
    int vision = (int)r.max_vision;
    FOR_EACH_ROW_INSIDE(row, r) {
        FOR_EACH_SLOT(slot) {
            uint number = row * 64u + slot, eighths = 0u;
            uint x = number % r.pitch - r.max_vision, y = number / r.pitch - r.max_vision;
            Cell self = {rows[row] | slot};
            if (!is_inside(r, x, y)) {
                continue; /* walls stay 0 */
            }
            FOR_EACH_LINE(dy, vision) {
                eighths += Cell_line(cell_at(rows, number + (uint)(dy * (int)r.pitch)));
            }
            uint sugar = grown(clump_heap, r, parity, rows[row], slot);
            eighths -= share_of(r, sugar) / 8u;
            Cell_sugar(self, 1u - parity) =
                diffuse_far_word(r, x, y, Cell_sugar(self, parity), sugar, eighths);
        }
    }
}

static void bury(CLUMP_HEAP, __global const uint *rows, uint parity, Agent agent) {
    Cell cell = cell_at(rows, Agent_position(agent));
    Cell_agent(cell) = Agent_null;
    Cell_sugar(cell, parity) |= VACANT;
    Cell_offer(cell) = 0u;
    Agent_free(agent);
}

/* Age and Metabolize by DynaSOAr's rules: the dead leave their cells at once. */
__kernel void age(CLUMP_HEAP, __global const uint *rows, rules r, uint iteration) {
    uint parity = (iteration + 1u) % 2u;
    CLUMP_FOR_EACH(Agent, self) {
        uint years = Agent_age(self) + 1u, sugar = Agent_sugar(self);
        uint metabolism = Agent_metabolism(self);
        if (is_dying(r, years, Agent_max_age(self), sugar, metabolism)) {
            bury(clump_heap, rows, parity, self);
            continue;
        }
        Agent_age(self) = years;
        Agent_sugar(self) = sugar - metabolism;
    }
}

/* Age and Metabolize, Select Outgoing Cell. The dead stay on their cells for the rest of the step.
 * Requests go out in a second loop: between atomics a CPU would not look ahead to what the next
 * agent sees (a third of this kernel's time at 1024 x 1024). */
__kernel void select_cell(CLUMP_HEAP_NO_ALLOC, __global const uint *rows, rules r, uint iteration) {
    CLUMP_FOR_EACH(Agent, self) {
        uint position = Agent_position(self);
        if (!r.is_dynasoar) {
            uint years = Agent_age(self) + 1u, sugar = Agent_sugar(self);
            uint metabolism = Agent_metabolism(self);
            if (is_dying(r, years, Agent_max_age(self), sugar, metabolism)) {
                Agent_request(self) = DEAD;
                continue;
            }
            Agent_age(self) = years;
            Agent_sugar(self) = sugar - metabolism;
        }
        Agent_request(self) = choose_move(GRID_HERE, r, iteration, position, Agent_vision(self));
    }
    CLUMP_FOR_EACH(Agent, self) {
        uint request = Agent_request(self);
        if (request && request != DEAD) {
            ask(&Cell_wish(cell_at(rows, target_of(r, Agent_position(self), request))), request);
        }
    }
}

/* Go where it was granted, and harvest. Returns the sugar that the agent has then. */
static uint move_agent(GRID, rules r, uint parity, Agent self, uint request) {
    uint position = Agent_position(self);
    Cell cell = cell_at(rows, position);
    if (request) {
        uint target = target_of(r, position, request);
        Cell next = cell_at(rows, target);
        Agent_request(self) = 0u;
        if (take(&Cell_wish(next), request)) {
            Cell_sugar(cell, parity) |= VACANT;
            Cell_agent(cell) = Agent_null;
            Cell_agent(next) = self;
            Agent_position(self) = target;
            cell = next;
        }
    }
    uint sugar = Agent_sugar(self) + (Cell_sugar(cell, parity) & ~VACANT);
    Agent_sugar(self) = sugar;
    Cell_sugar(cell, parity) = 0u;
    return sugar;
}

/* Select Incoming Agent, Move to New Cell. Females show on their cells whether they are ready. */
__kernel void move(CLUMP_HEAP_NO_ALLOC, __global const uint *rows, rules r, uint iteration) {
    uint parity = (iteration + 1u) % 2u;
    CLUMP_FOR_EACH(Male, self) {
        uint request = Male_request(self);
        if (request != DEAD) {
            move_agent(GRID_HERE, r, parity, Male_as_Agent(self), request);
        }
    }
    CLUMP_FOR_EACH(Female, self) {
        uint request = Female_request(self);
        Cell_offer(cell_at(rows, Female_position(self))) = 0u;
        if (request == DEAD) {
            continue;
        }
        uint sugar = move_agent(GRID_HERE, r, parity, Female_as_Agent(self), request);
        if (is_ready(r, sugar, Female_endowment(self), Female_age(self))) {
            Cell_offer(cell_at(rows, Female_position(self))) = sugar;
        }
    }
}

/* Male proposes to female. */
__kernel void propose(CLUMP_HEAP_NO_ALLOC, __global const uint *rows, rules r) {
    CLUMP_FOR_EACH(Male, self) {
        uint sugar = Male_sugar(self);
        if (Male_request(self) == DEAD ||
            !is_ready(r, sugar, Male_endowment(self), Male_age(self))) {
            continue;
        }
        uint position = Male_position(self);
        uint request = choose_female(GRID_HERE, r, position, Male_vision(self), sugar);
        Male_request(self) = request;
        if (request) {
            ask(&Cell_wish(cell_at(rows, target_of(r, position, request))), request);
        }
    }
}

/* Female accepts proposal, Choose Offspring Target. */
__kernel void accept(CLUMP_HEAP_NO_ALLOC, __global const uint *rows, rules r, uint iteration) {
    CLUMP_FOR_EACH(Male, self) {
        uint request = Male_request(self);
        if (request == 0u || request == DEAD) {
            continue;
        }
        uint position = Male_position(self);
        Cell cell = cell_at(rows, target_of(r, position, request));
        Female female = {Cell_agent(cell).id};
        Male_request(self) = 0u;
        if (!take(&Cell_wish(cell), request) ||
            Female_children(female) >= Female_max_children(female)) {
            continue;
        }
        request = choose_birthplace(GRID_HERE, r, iteration, position, Male_vision(self));
        if (request) {
            Male_mate(self) = female;
            Male_request(self) = request;
            ask(&Cell_wish(cell_at(rows, target_of(r, position, request))), request);
        }
    }
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

static void beget(CLUMP_HEAP, __global const uint *rows, rules r, uint iteration, Male male,
                  Female female, uint target) {
    body father = body_of(clump_heap, Male_as_Agent(male));
    body mother = body_of(clump_heap, Female_as_Agent(female));
    mother.max_children = Female_max_children(female);
    body child = child_of(r, Male_position(male), iteration, father, mother);
    Cell cell = cell_at(rows, target);
    uint parity = (iteration + 1u) % 2u;
    if (child.kind == MALE) {
        Male son = Male_new();
        if (!Male_is_null(son)) { /* else the heap is full, and counts it */
            male_init(clump_heap, son, cell, parity, target, child);
        }
    } else {
        Female daughter = Female_new();
        if (!Female_is_null(daughter)) {
            female_init(clump_heap, daughter, cell, parity, target, child);
        }
    }
    Male_sugar(male) = father.sugar - father.endowment / 2u;
    Female_sugar(female) = mother.sugar - mother.endowment / 2u;
    Female_children(female)++;
}

/* Select Agent, Generate Offspring; and the dead go. Only the visitor of an agent frees it, and
 * nobody else looks at a dead one, so none is looked at whose place has a new owner already. */
__kernel void spawn(CLUMP_HEAP, __global const uint *rows, rules r, uint iteration) {
    uint parity = (iteration + 1u) % 2u;
    CLUMP_FOR_EACH(Agent, self) {
        uint request = Agent_request(self);
        if (request == 0u) {
            continue;
        }
        if (request == DEAD) {
            bury(clump_heap, rows, parity, self);
            continue;
        }
        Male male = {self.id}; /* only males have requests now */
        Female female = Male_mate(male);
        uint target = target_of(r, Male_position(male), request);
        Male_request(male) = 0u;
        Male_mate(male) = Female_null;
        if (take(&Cell_wish(cell_at(rows, target)), request)) {
            beget(clump_heap, rows, r, iteration, male, female, target);
        }
    }
}

/* ---- Showing the world ----------------------------------------------------------------------- */

__kernel void write_states(CLUMP_HEAP_NO_ALLOC, __global const uint *rows, rules r, uint iteration,
                           __global uint *states) {
    FOR_EACH_ROW_INSIDE(row, r) {
        FOR_EACH_SLOT(slot) {
            uint number = row * 64u + slot;
            uint x = number % r.pitch - r.max_vision, y = number / r.pitch - r.max_vision;
            if (!is_inside(r, x, y)) {
                continue;
            }
            Cell cell = cell_at(rows, number);
            Agent agent = Cell_agent(cell);
            body b = {0u, 0u, 0u, 0u, 0u, 0u, 0u, 0u};
            uint children = 0u;
            if (!Agent_is_null(agent)) {
                Female female = Agent_as_Female(agent);
                int is_female = !Female_is_null(female);
                b = body_of(clump_heap, agent);
                b.kind = is_female ? FEMALE : MALE;
                b.max_children = is_female ? Female_max_children(female) : 0u;
                children = is_female ? Female_children(female) : 0u;
            }
            write_state(states + 5ul * (y * r.width + x), Cell_sugar(cell, iteration % 2u), b,
                        children);
        }
    }
}
