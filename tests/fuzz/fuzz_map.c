/* Fuzzing of traffic_map_read() and of the network that is made of a map.
 *
 * What must hold for all bytes: an error has words and leaves no map; a map that was accepted keeps
 * the limits of network.h, and a network is made of it, or refused with words.
 * Read first: fuzz.h, bench/apps/traffic/network.h.
 */
#include <math.h>

#include "bench/apps/traffic/network.h"
#include "fuzz.h"

#define NETWORK_CELLS_MAX 4096 /* larger ones take memory and no other path */

static uint64_t check_map(const traffic_map *map) {
    uint64_t cells = 0;
    uint8_t *degrees = calloc(map->intersection_count + (size_t)1, 2);
    REQUIRE(degrees && map->street_count);
    for (uint32_t i = 0; i < map->intersection_count; i++) {
        const traffic_intersection *at = &map->intersections[i];
        REQUIRE(fabsf(at->x) <= 1e6f && fabsf(at->y) <= 1e6f);
        REQUIRE(at->control == TRAFFIC_LIGHT || at->control == TRAFFIC_YIELD);
    }
    for (uint32_t i = 0; i < map->street_count; i++) {
        const traffic_street *street = &map->streets[i];
        REQUIRE(street->from < map->intersection_count && street->to < map->intersection_count);
        REQUIRE(street->from != street->to);
        REQUIRE(street->cells >= 1 && street->cells <= TRAFFIC_STREET_CELLS_MAX);
        REQUIRE(street->limit >= 1 && street->limit <= TRAFFIC_VELOCITY_MAX);
        REQUIRE(++degrees[2 * (size_t)street->from] <= TRAFFIC_DEGREE_MAX);
        REQUIRE(++degrees[2 * (size_t)street->to + 1] <= TRAFFIC_DEGREE_MAX);
        cells += street->cells;
    }
    free(degrees);
    return cells;
}

static void check_network(const traffic_map *map) {
    traffic_network network;
    traffic_rules rules = traffic_rules_default();
    bench_error error;
    if (traffic_network_create(map, &rules, &network, &error)) {
        fuzz_check_words(error.text, sizeof error.text);
        return;
    }
    for (uint32_t i = 0; i < network.cell_count; i++) {
        uint32_t next = network.next[i], previous = network.previous[i];
        REQUIRE(next & TRAFFIC_SPECIAL ? (next & ~TRAFFIC_SPECIAL) < network.special_count
                                       : next < network.cell_count);
        REQUIRE(previous == TRAFFIC_NONE || previous < network.cell_count);
    }
    for (uint32_t i = 0; i < network.special_count; i++) {
        const traffic_special *special = &network.specials[i];
        REQUIRE(special->count <= TRAFFIC_DEGREE_MAX);
        for (uint32_t k = 0; k < special->count; k++) REQUIRE(special->out[k] < network.cell_count);
    }
    traffic_network_destroy(&network);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes) {
    traffic_map map;
    bench_error error;
    if (traffic_map_read(fuzz_file(0, data, bytes), &map, &error)) {
        fuzz_check_words(error.text, sizeof error.text);
        REQUIRE(!map.intersections && !map.streets);
        return 0;
    }
    if (check_map(&map) <= NETWORK_CELLS_MAX) check_network(&map);
    traffic_map_release(&map);
    return 0;
}
