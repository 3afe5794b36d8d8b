/* Traffic as numbers: the rules, and how the state of all streets is written down.
 *
 * A state has one word per cell, in the order of the network; two implementations of the rules must
 * give the same words after every step:
 *
 *     bit  28      there is a car
 *     bits 27..24  speed limit now: 0 is a red light
 *     bits 23..20  velocity of the car, in cells a step
 *     bits 19..16  greatest velocity of the car
 *     bits 15..0   the lower half of the number that the car draws its random numbers with
 *
 * Read first: README.md. Read next: network.h, sequential.c.
 */
#ifndef TRAFFIC_MODEL_H
#define TRAFFIC_MODEL_H

#include <stddef.h>
#include <stdint.h>

#include "bench/harness/error.h"

#define TRAFFIC_VELOCITY_MAX 10 /* of cars and streets */
#define TRAFFIC_STEPS_MAX 60000000u

#define TRAFFIC_CODE_CAR (1u << 28)

#define TRAFFIC_SPEEDUP_MAX 2 /* cells a step by which a car gets faster, under DynaSOAr's rules */

/* What a random number is drawn for: the lowest bits of the generator's counter. */
enum { TRAFFIC_DRAW_SLOW, TRAFFIC_DRAW_TURN, TRAFFIC_DRAW_LEAVE, TRAFFIC_DRAW_CREATE };

typedef struct traffic_rules {
    uint32_t seed;
    uint32_t start_permille;    /* of the cells that hold a car at the start */
    uint32_t producer_permille; /* of the cells where cars come in */
    uint32_t sink_permille;     /* of the cells where cars go out */
    uint32_t create_permille;   /* chance that a producer wants to send out a car, a step */
    uint32_t leave_permille;    /* chance that a car on a sink leaves there */
    uint32_t slow_permille;     /* chance that a car dawdles, a step */
    uint32_t phase_steps;       /* longest green phase of a traffic light */
    int is_smart;               /* traffic lights see who waits */
    int is_dynasoar;            /* the rules of DynaSOAr's program, as README.md says */
} traffic_rules;

traffic_rules traffic_rules_default(void);

/* What kernels get in every step: which one it is, and the rules that they know. */
typedef struct traffic_moment {
    uint32_t step, seed, create_permille, leave_permille, slow_permille, is_smart, is_dynasoar;
} traffic_moment;
traffic_moment traffic_get_moment(const traffic_rules *rules, uint32_t step);

/* The greatest velocity of a car, from the number that it draws with. */
static inline uint32_t traffic_car_velocity(uint32_t number) {
    return TRAFFIC_VELOCITY_MAX / 2 + number % (TRAFFIC_VELOCITY_MAX / 2);
}

typedef struct traffic_census {
    uint64_t cars, moving, velocity; /* velocity: the sum */
} traffic_census;
traffic_census traffic_count(const uint32_t *codes, size_t cells);

uint64_t traffic_checksum(const uint32_t *codes, size_t cells); /* 64-bit FNV-1a */

/* 0 if the states are equal, else 1 and a sentence about the first difference. */
int traffic_compare(const uint32_t *found, const uint32_t *expected, size_t cells, uint32_t step,
                    bench_error *error);

#endif
