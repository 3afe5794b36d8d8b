/* Towns and graphs drawn at random. See network.h.
 *
 * Every draw is Philox4x32-10 of the place that it is for, so that a town is a function of its seed
 * and stays what it is when this file is reordered.
 */
#include <math.h>
#include <stdlib.h>

#include "network.h"

#define R123_STATIC_INLINE static inline
#include <Random123/philox.h>

#define KEY_WORD 0x546f776eu
#define MAIN_STREETS 5u /* every fifth line */
#define MAIN_LIMIT 9u

/* Of 1000 pairs of neighbours: none, one to the right or down, one back; the rest have both. */
#define NO_STREET 200u
#define FORWARD_UP_TO 375u
#define BACKWARD_UP_TO 550u

typedef struct drawing {
    const traffic_map_desc *desc;
    traffic_map *map;
    uint32_t side; /* of the grid */
} drawing;

/* Two words for an intersection itself, two for each of the streets to the right and down. */
static philox4x32_ctr_t draw(const drawing *town, uint32_t node, uint32_t purpose) {
    philox4x32_ctr_t counter = {{node, purpose, 0, 0}};
    philox4x32_key_t key = {{town->desc->seed, KEY_WORD}};
    return philox4x32(counter, key);
}

static void place(const drawing *town, uint32_t node) {
    philox4x32_ctr_t random = draw(town, node, 0);
    uint32_t column = node % town->side, row = node / town->side;
    town->map->intersections[node] = (traffic_intersection){
        .x = (float)column + (float)(random.v[0] % 512u) / 1024.0f - 0.25f,
        .y = (float)row + (float)(random.v[1] % 512u) / 1024.0f - 0.25f,
        .control = random.v[2] % 1000u < town->desc->yield_permille ? TRAFFIC_YIELD : TRAFFIC_LIGHT,
    };
}

static void add(const drawing *town, uint32_t from, uint32_t to, uint32_t limit) {
    const traffic_intersection *a = &town->map->intersections[from];
    const traffic_intersection *b = &town->map->intersections[to];
    float cells = hypotf(a->x - b->x, a->y - b->y) * (float)town->desc->street_cells;
    town->map->streets[town->map->street_count++] = (traffic_street){
        .from = from, .to = to, .cells = cells < 1 ? 1 : (uint32_t)cells, .limit = limit};
}

/* The streets between two neighbours; `line` is that of the grid they lie on. */
static void join(const drawing *town, uint32_t a, uint32_t b, uint32_t line, uint32_t purpose) {
    philox4x32_ctr_t random = draw(town, a, purpose);
    uint32_t lot = random.v[0] % 1000u;
    uint32_t limit = TRAFFIC_VELOCITY_MAX / 2 + random.v[1] % 3u;
    int is_main = line % MAIN_STREETS == 0;
    if (!is_main && lot < NO_STREET) {
        return;
    }
    if (is_main || lot < FORWARD_UP_TO || lot >= BACKWARD_UP_TO) {
        add(town, a, b, is_main ? MAIN_LIMIT : limit);
    }
    if (is_main || lot >= FORWARD_UP_TO) {
        add(town, b, a, is_main ? MAIN_LIMIT : limit);
    }
}

/* ---- Graphs ---------------------------------------------------------------------------------- */

#define TRIES 1000 /* then there is no street; only tiny graphs come so far */

static float unit_of(uint32_t random) {
    return (float)(random >> 8) / (float)(1u << 24);
}

static void add_long(const drawing *graph, uint32_t from, uint32_t to, uint32_t limit) {
    const traffic_intersection *a = &graph->map->intersections[from];
    const traffic_intersection *b = &graph->map->intersections[to];
    float cells = hypotf(a->x - b->x, a->y - b->y) * (float)graph->desc->street_cells;
    graph->map->streets[graph->map->street_count++] =
        (traffic_street){.from = from, .to = to, .cells = 1 + (uint32_t)cells, .limit = limit};
}

/* Street number k from `node` to anywhere. `ends`: how many streets end at each intersection. */
static void join_any(const drawing *graph, uint32_t node, uint32_t k, uint8_t *ends) {
    for (uint32_t try = 0; try < TRIES; try++) {
        philox4x32_ctr_t random = draw(graph, node, 1 + k + try * TRAFFIC_RANDOM_DEGREE_MAX);
        uint32_t to = random.v[0] % graph->map->intersection_count;
        if (to != node && ends[to] < TRAFFIC_RANDOM_DEGREE_MAX) {
            uint32_t limit = TRAFFIC_VELOCITY_MAX / 2 + random.v[1] % (TRAFFIC_VELOCITY_MAX / 2);
            ends[to]++;
            add_long(graph, node, to, limit);
            return;
        }
    }
}

static int draw_graph(const drawing *graph, bench_error *error) {
    traffic_map *map = graph->map;
    uint8_t *ends = calloc(map->intersection_count, 1);
    if (!ends) {
        return bench_error_set(error, "host memory ran out for a map");
    }
    for (uint32_t i = 0; i < map->intersection_count; i++) {
        philox4x32_ctr_t random = draw(graph, i, 0);
        map->intersections[i] = (traffic_intersection){
            .x = unit_of(random.v[0]), .y = unit_of(random.v[1]), .control = TRAFFIC_LIGHT};
    }
    for (uint32_t i = 0; i < map->intersection_count; i++) {
        uint32_t streets = 1 + draw(graph, i, 0).v[2] % TRAFFIC_RANDOM_DEGREE_MAX;
        for (uint32_t k = 0; k < streets; k++) {
            join_any(graph, i, k, ends);
        }
    }
    free(ends);
    return 0;
}

/* ---- Both ------------------------------------------------------------------------------------ */

int traffic_map_draw(const traffic_map_desc *desc, traffic_map *map, bench_error *error) {
    uint32_t count = desc->intersections;
    drawing town = {desc, map, (uint32_t)ceil(sqrt(count))};
    *map = (traffic_map){.intersection_count = count,
                         .intersections = calloc(count, sizeof *map->intersections),
                         .streets = calloc(count, 4 * sizeof *map->streets)};
    if (!map->intersections || !map->streets) {
        traffic_map_release(map);
        return bench_error_set(error, "host memory ran out for a map of %u intersections", count);
    }
    if (desc->is_random) {
        if (draw_graph(&town, error)) {
            traffic_map_release(map);
            return -1;
        }
        return 0;
    }
    for (uint32_t i = 0; i < count; i++) {
        place(&town, i);
    }
    for (uint32_t i = 0; i < count; i++) {
        if (i % town.side + 1 < town.side && i + 1 < count) {
            join(&town, i, i + 1, i / town.side, 1);
        }
        if (i + town.side < count) {
            join(&town, i, i + town.side, i % town.side, 2);
        }
    }
    return 0;
}

void traffic_map_release(traffic_map *map) {
    free(map->intersections);
    free(map->streets);
    *map = (traffic_map){0};
}
