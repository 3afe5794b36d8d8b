/* From a map to the network of cells. See network.h. */
#include <stdlib.h>
#include <string.h>

#include "network.h"

#define R123_STATIC_INLINE static inline
#include <Random123/philox.h>

#define KEY_WORD 0x43656c6cu

/* What is drawn for a place: what a cell is, whether a car starts there; the timer of a light. */
enum { DRAW_KIND, DRAW_START, DRAW_TIMER };

/* The streets of an intersection, each in the order of the map. */
typedef struct junction {
    uint32_t in_count, out_count;
    uint32_t in[TRAFFIC_DEGREE_MAX], out[TRAFFIC_DEGREE_MAX];
} junction;

typedef struct builder {
    const traffic_map *map;
    traffic_network *network;
    junction *junctions;
    uint32_t special_room, producer_room, start_room;
} builder;

static philox4x32_ctr_t draw(const builder *b, uint32_t place, uint32_t purpose) {
    philox4x32_ctr_t counter = {{place, purpose, 0, 0}};
    philox4x32_key_t key = {{b->network->rules.seed, KEY_WORD}};
    return philox4x32(counter, key);
}

static uint32_t lanes_of(const builder *b, const junction *j) {
    return j->out_count > 1 && !b->network->rules.is_dynasoar ? j->out_count : 0;
}

/* ---- Room ------------------------------------------------------------------------------------ */

static int find_junctions(builder *b) {
    b->junctions = calloc(b->map->intersection_count + 1u, sizeof *b->junctions);
    for (uint32_t i = 0; b->junctions && i < b->map->street_count; i++) {
        junction *from = &b->junctions[b->map->streets[i].from];
        junction *to = &b->junctions[b->map->streets[i].to];
        from->out[from->out_count++] = i;
        to->in[to->in_count++] = i;
    }
    return b->junctions ? 0 : -1;
}

/* Number the cells, and count what can be counted before they exist. Returns the cells. */
static uint64_t number_cells(builder *b) {
    traffic_network *n = b->network;
    uint64_t cells = 0;
    for (uint32_t i = 0; i < b->map->street_count; i++) {
        const traffic_street *street = &b->map->streets[i];
        n->first_cells[i] = (uint32_t)cells;
        cells +=
            street->cells + (uint64_t)TRAFFIC_LANE_CELLS * lanes_of(b, &b->junctions[street->to]);
        if (cells > TRAFFIC_CELLS_MAX) {
            break;
        }
    }
    return cells;
}

static int make_room(builder *b) {
    traffic_network *n = b->network;
    n->next = calloc(n->cell_count, sizeof *n->next);
    n->previous = calloc(n->cell_count, sizeof *n->previous);
    n->max_velocity = calloc(n->cell_count, 1);
    n->limit = calloc(n->cell_count, 1);
    n->groups = calloc(b->map->street_count, sizeof *n->groups);
    n->controllers = calloc(b->map->intersection_count + 1u, sizeof *n->controllers);
    return n->next && n->previous && n->max_velocity && n->limit && n->groups && n->controllers
               ? 0
               : -1;
}

/* Room for one more element of an array. */
static int reserve(void **array, uint32_t count, uint32_t *room, size_t bytes) {
    if (count < *room) {
        return 0;
    }
    *room = *room ? 2 * *room : 1024;
    void *moved = realloc(*array, *room * bytes);
    *array = moved ? moved : *array;
    return moved ? 0 : -1;
}

static int add_special(builder *b, uint32_t cell, const traffic_special *special) {
    traffic_network *n = b->network;
    void *specials = n->specials, *cells = n->special_cells;
    uint32_t room = b->special_room;
    int result = reserve(&specials, n->special_count, &b->special_room, sizeof *special) ||
                 reserve(&cells, n->special_count, &room, sizeof cell);
    n->specials = specials;
    n->special_cells = cells;
    if (result) {
        return -1;
    }
    n->next[cell] = TRAFFIC_SPECIAL | n->special_count;
    n->specials[n->special_count] = *special;
    n->special_cells[n->special_count++] = cell;
    return 0;
}

static int add_producer(builder *b, uint32_t cell) {
    void *producers = b->network->producers;
    int result = reserve(&producers, b->network->producer_count, &b->producer_room, sizeof cell);
    b->network->producers = producers;
    if (result == 0) {
        b->network->producers[b->network->producer_count++] = cell;
    }
    return result;
}

/* ---- Streets --------------------------------------------------------------------------------- */

static void set_cell(traffic_network *n, uint32_t cell, uint32_t previous, uint32_t limit) {
    n->previous[cell] = previous;
    n->next[cell] = cell + 1;
    n->limit[cell] = n->max_velocity[cell] = (uint8_t)limit;
}

/* All cells of a street but the first may be producers, targets, or both. */
static int lay_dynasoar_cell(builder *b, uint32_t cell) {
    traffic_network *n = b->network;
    philox4x32_ctr_t random = draw(b, cell, DRAW_KIND);
    if (random.v[1] % 1000u < n->rules.sink_permille) {
        n->limit[cell] = n->max_velocity[cell] |= TRAFFIC_TARGET;
    }
    return random.v[0] % 1000u < n->rules.producer_permille ? add_producer(b, cell) : 0;
}

/* All cells of a street but the last may be producers or sinks. */
static int lay_cell(builder *b, uint32_t cell) {
    const traffic_rules *rules = &b->network->rules;
    traffic_special sink = {.is_sink = 1, .count = 1, .out = {cell + 1}};
    uint32_t lot = draw(b, cell, DRAW_KIND).v[0] % 1000u;
    if (lot < rules->sink_permille) {
        return add_special(b, cell, &sink);
    }
    return lot < rules->sink_permille + rules->producer_permille ? add_producer(b, cell) : 0;
}

/* The turn lanes after `branch`, or what a street without them leads to. */
static int lay_end(builder *b, uint32_t branch, const junction *end) {
    traffic_network *n = b->network;
    uint32_t lanes = lanes_of(b, end), cell = branch + 1;
    traffic_special special = {.is_sink = end->out_count == 0, .count = end->out_count};
    if (end->out_count == 1) {
        n->next[branch] = n->first_cells[end->out[0]];
        return 0;
    }
    for (uint32_t k = 0; k < end->out_count && lanes == 0; k++) {
        special.out[k] = n->first_cells[end->out[k]];
    }
    for (uint32_t lane = 0; lane < lanes; lane++) {
        uint32_t behind = end->out[lane];
        special.out[lane] = cell;
        for (uint32_t i = 0; i < TRAFFIC_LANE_CELLS; i++, cell++) {
            set_cell(n, cell, i ? cell - 1 : branch, b->map->streets[behind].limit);
        }
        n->next[cell - 1] = n->first_cells[behind];
    }
    return add_special(b, branch, &special);
}

static int lay_street(builder *b, uint32_t street) {
    const traffic_street *s = &b->map->streets[street];
    uint32_t first = b->network->first_cells[street], last = first + s->cells - 1;
    int result = 0;
    for (uint32_t cell = first; cell <= last && result == 0; cell++) {
        set_cell(b->network, cell, cell > first ? cell - 1 : TRAFFIC_NONE, s->limit);
        if (b->network->rules.is_dynasoar) {
            result = cell > first ? lay_dynasoar_cell(b, cell) : 0;
        } else if (cell < last) {
            result = lay_cell(b, cell);
        }
    }
    /* NOLINTNEXTLINE(clang-analyzer-unix.Malloc): build() frees the junctions. */
    return result ? -1 : lay_end(b, last, &b->junctions[s->to]);
}

/* ---- Signals --------------------------------------------------------------------------------- */

/* Streets that end here, the faster ones first. */
static void order_by_limit(const builder *b, junction *j) {
    for (uint32_t i = 1; i < j->in_count; i++) {
        uint32_t street = j->in[i], at = i;
        for (; at > 0 && b->map->streets[j->in[at - 1]].limit < b->map->streets[street].limit;
             at--) {
            j->in[at] = j->in[at - 1];
        }
        j->in[at] = street;
    }
}

static void add_group(builder *b, const junction *j, uint32_t street, int is_open,
                      uint32_t has_sensor) {
    traffic_network *n = b->network;
    traffic_group *group = &n->groups[n->group_count++];
    uint32_t lanes = lanes_of(b, j);
    uint32_t last = n->first_cells[street] + b->map->streets[street].cells - 1;
    *group = (traffic_group){.has_sensor = has_sensor, .count = lanes ? lanes : 1, .cells = {last}};
    for (uint32_t lane = 0; lane < lanes; lane++) {
        group->cells[lane] = last + (lane + 1) * TRAFFIC_LANE_CELLS;
    }
    for (uint32_t i = 0; !is_open && i < group->count; i++) {
        n->limit[group->cells[i]] &= TRAFFIC_TARGET;
    }
}

/* Where several streets end and one begins; under DynaSOAr's rules, wherever one ends. */
static void add_controllers(builder *b, traffic_control kind) {
    traffic_network *n = b->network;
    const traffic_rules *rules = &n->rules;
    for (uint32_t i = 0; i < b->map->intersection_count; i++) {
        junction *j = &b->junctions[i];
        if (j->in_count < (rules->is_dynasoar ? 1 : 2) || j->out_count == 0 ||
            b->map->intersections[i].control != kind) {
            continue;
        }
        uint32_t phase = kind == TRAFFIC_LIGHT ? rules->phase_steps : 0;
        uint32_t timer = phase && !rules->is_dynasoar ? draw(b, i, DRAW_TIMER).v[0] % phase : 0;
        n->controllers[n->controller_count++] =
            (traffic_controller){n->group_count, j->in_count, phase, timer};
        if (!rules->is_dynasoar) {
            order_by_limit(b, j);
        }
        for (uint32_t k = 0; k < j->in_count; k++) {
            add_group(b, j, j->in[k], k == 0 && !rules->is_dynasoar,
                      kind == TRAFFIC_YIELD || rules->is_smart);
        }
    }
}

/* ---- Cars ------------------------------------------------------------------------------------ */

static int place_cars(builder *b) {
    traffic_network *n = b->network;
    for (uint32_t cell = 0; cell < n->cell_count; cell++) {
        philox4x32_ctr_t random = draw(b, cell, DRAW_START);
        void *starts = n->starts;
        if (random.v[0] % 1000u >= n->rules.start_permille) {
            continue;
        }
        int result = reserve(&starts, n->start_count, &b->start_room, sizeof *n->starts);
        n->starts = starts;
        if (result) {
            return -1;
        }
        n->starts[n->start_count++] = (traffic_start){cell, random.v[1]};
    }
    return 0;
}

/* ---- All of it ------------------------------------------------------------------------------- */

static int build(builder *b, bench_error *error) {
    traffic_network *n = b->network;
    n->first_cells = calloc(b->map->street_count + 1u, sizeof *n->first_cells);
    int result = n->first_cells ? find_junctions(b) : -1;
    uint64_t cells = result ? 0 : number_cells(b);
    if (cells > TRAFFIC_CELLS_MAX) {
        return bench_error_set(error, "the streets have more than %u cells", TRAFFIC_CELLS_MAX);
    }
    n->cell_count = (uint32_t)cells;
    result = result || make_room(b);
    for (uint32_t i = 0; result == 0 && i < b->map->street_count; i++) {
        result = lay_street(b, i);
    }
    if (result == 0) {
        add_controllers(b, TRAFFIC_LIGHT);
        n->light_count = n->controller_count;
        add_controllers(b, TRAFFIC_YIELD);
        result = place_cars(b);
    }
    return result ? bench_error_set(error, "host memory ran out for the streets") : 0;
}

int traffic_network_create(const traffic_map *map, const traffic_rules *rules,
                           traffic_network *network, bench_error *error) {
    builder b = {.map = map, .network = network};
    *network = (traffic_network){.rules = *rules};
    if (map->street_count == 0) {
        return bench_error_set(error, "the map has no streets");
    }
    int result = build(&b, error);
    free(b.junctions);
    if (result) {
        traffic_network_destroy(network);
    }
    return result;
}

void traffic_network_destroy(traffic_network *network) {
    void *const arrays[] = {network->next,      network->previous,   network->max_velocity,
                            network->limit,     network->specials,   network->special_cells,
                            network->producers, network->groups,     network->controllers,
                            network->starts,    network->first_cells};
    for (size_t i = 0; i < sizeof arrays / sizeof *arrays; i++) {
        free(arrays[i]);
    }
    *network = (traffic_network){0};
}
