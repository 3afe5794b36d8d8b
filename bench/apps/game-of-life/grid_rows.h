/* The steps of sequential.c on cells of one type. Included there twice: with bytes, and with words
 * of 16 bits for worlds of more than 256 states. CELL is the type, OF(name) the name of a function
 * for it.
 *
 * Read first: sequential.c.
 */

/* Loops without branches, which compilers vectorise. `row` is the first cell after the border; the
 * square counts the cell itself too. */
static void OF(count_row)(const struct world *world, const CELL *row, uint8_t *restrict columns,
                          uint8_t *restrict counts) {
    const CELL *above = row - world->stride, *below = row + world->stride;
    ptrdiff_t width = world->rules.width;
    for (ptrdiff_t x = -1; x <= width; x++) {
        columns[x + 1] = (uint8_t)((above[x] == 1) + (row[x] == 1) + (below[x] == 1));
    }
    for (ptrdiff_t x = 0; x < width; x++) {
        counts[x] = (uint8_t)(columns[x] + columns[x + 1] + columns[x + 2]);
    }
}

/* Conway's rule: three in the square, the cell among them or not, or the cell and three others. */
static void OF(apply_conway)(const uint8_t *counts, const CELL *row, CELL *restrict next,
                             size_t width) {
    for (size_t x = 0; x < width; x++) {
        next[x] = (CELL)((counts[x] == 3) | ((counts[x] == 4) & row[x]));
    }
}

static void OF(apply_rule)(const life_rules *rules, const uint8_t *counts, const CELL *row,
                           CELL *next) {
    for (size_t x = 0; x < rules->width; x++) {
        next[x] = (CELL)life_next_state(rules, row[x], counts[x] - (uint32_t)(row[x] == 1));
    }
}

static void OF(step_fast)(struct world *world) {
    const life_rules *rules = &world->rules;
    int is_conway =
        rules->states == 2 && rules->born == 1u << 3 && rules->survive == (1u << 2 | 1u << 3);
    for (size_t y = 1; y <= rules->height; y++) {
        const CELL *row = (const CELL *)world->now + y * world->stride + 1;
        CELL *next = (CELL *)world->next + y * world->stride + 1;
        OF(count_row)(world, row, world->columns, world->counts);
        if (is_conway) {
            OF(apply_conway)(world->counts, row, next, rules->width);
        } else {
            OF(apply_rule)(rules, world->counts, row, next);
        }
    }
}

static void OF(step_plain)(struct world *world) {
    const CELL *now = world->now;
    CELL *next = world->next;
    for (size_t y = 1; y <= world->rules.height; y++) {
        for (size_t x = 1; x <= world->rules.width; x++) {
            uint32_t neighbors = 0;
            for (size_t v = y - 1; v <= y + 1; v++) {
                for (size_t u = x - 1; u <= x + 1; u++) {
                    neighbors += (u != x || v != y) && now[v * world->stride + u] == 1;
                }
            }
            size_t i = y * world->stride + x;
            next[i] = (CELL)life_next_state(&world->rules, now[i], neighbors);
        }
    }
}

/* Agents of a row after the step, and those that the step made; `before` is the row before it. */
static void OF(count_agents)(struct world *world, const CELL *row, const CELL *before,
                             uint32_t sums[LIFE_SUMS]) {
    uint8_t *was = world->columns + 2 * world->stride;
    unsigned is_dynasoar_model = world->rules.is_dynasoar_model != 0;
    uint32_t alive = 0, dying = 0, candidates = 0, born = 0, made = 0;
    OF(count_row)(world, before, world->columns, was);
    OF(count_row)(world, row, world->columns, world->counts);
    for (size_t x = 0; x < world->rules.width; x++) { /* a dead cell does not count itself */
        unsigned is_dead = row[x] == 0, was_dead = before[x] == 0;
        unsigned is_beside = world->counts[x] > 0, was_beside = was[x] > 0;
        alive += row[x] == 1;
        dying += row[x] > 1;
        born += (row[x] == 1) & was_dead;
        candidates += is_dead & (is_beside | (is_dynasoar_model & (was_beside | !was_dead)));
        made += is_dead & (was_dead ? is_beside & !was_beside : is_beside | is_dynasoar_model);
    }
    sums[0] = alive;
    sums[1] = dying;
    sums[2] = candidates;
    sums[3] = born;
    sums[4] = made;
}

static void OF(count_all)(struct world *world, bench_tally *tally) {
    uint32_t sums[LIFE_SUMS];
    for (size_t y = 1; y <= world->rules.height; y++) {
        size_t at = y * world->stride + 1;
        OF(count_agents)
        (world, (const CELL *)world->now + at, (const CELL *)world->next + at, sums);
        for (int i = 0; i < 3; i++) {
            tally->present[i] += sums[i];
        }
        tally->made[0] += sums[3];
        tally->made[2] += sums[4];
    }
}

static void OF(fill)(struct world *world, const life_code *codes) {
    for (size_t y = 0; y < world->rules.height; y++) {
        CELL *row = (CELL *)world->now + (y + 1) * world->stride + 1;
        for (size_t x = 0; x < world->rules.width; x++) {
            row[x] = (CELL)codes[y * world->rules.width + x];
        }
    }
}

static void OF(read)(const struct world *world, const void *grid, life_code *codes) {
    for (size_t y = 0; y < world->rules.height; y++) {
        const CELL *row = (const CELL *)grid + (y + 1) * world->stride + 1;
        for (size_t x = 0; x < world->rules.width; x++) {
            codes[y * world->rules.width + x] = row[x];
        }
    }
}
