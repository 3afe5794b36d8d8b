/* Rules and states as numbers. See model.h. */
#include "model.h"

traffic_rules traffic_rules_default(void) {
    return (traffic_rules){.seed = 42,
                           .start_permille = 50,
                           .producer_permille = 20,
                           .sink_permille = 3,
                           .create_permille = 20,
                           .leave_permille = 1000,
                           .slow_permille = 200,
                           .phase_steps = 5,
                           .is_smart = 1};
}

traffic_moment traffic_get_moment(const traffic_rules *rules, uint32_t step) {
    return (traffic_moment){.step = step,
                            .seed = rules->seed,
                            .create_permille = rules->create_permille,
                            .leave_permille = rules->leave_permille,
                            .slow_permille = rules->slow_permille,
                            .is_smart = rules->is_smart != 0,
                            .is_dynasoar = rules->is_dynasoar != 0};
}

traffic_census traffic_count(const uint32_t *codes, size_t cells) {
    traffic_census census = {0};
    for (size_t i = 0; i < cells; i++) {
        uint32_t velocity = codes[i] >> 20 & 15;
        census.cars += (codes[i] & TRAFFIC_CODE_CAR) != 0;
        census.moving += velocity > 0;
        census.velocity += velocity;
    }
    return census;
}

uint64_t traffic_checksum(const uint32_t *codes, size_t cells) {
    uint64_t hash = UINT64_C(14695981039346656037);
    for (size_t i = 0; i < cells; i++) {
        for (unsigned shift = 0; shift < 32; shift += 8) {
            hash = (hash ^ (codes[i] >> shift & 0xff)) * UINT64_C(1099511628211);
        }
    }
    return hash;
}

int traffic_compare(const uint32_t *found, const uint32_t *expected, size_t cells, uint32_t step,
                    bench_error *error) {
    for (size_t i = 0; i < cells; i++) {
        uint32_t f = found[i], e = expected[i];
        if (f != e) {
            bench_error_set(error,
                            "after %u steps cell %zu is %08x and in the reference %08x: car %u and "
                            "%u, limit %u and %u, velocity %u and %u",
                            step, i, f, e, f >> 28, e >> 28, f >> 24 & 15, e >> 24 & 15,
                            f >> 20 & 15, e >> 20 & 15);
            return 1;
        }
    }
    return 0;
}
