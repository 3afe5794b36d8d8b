/* Bodies as numbers: the rules, their constants, initial states, and what is compared.
 *
 * A state has one element per body that was there at the start, by id; a body that was merged into
 * another has only zeros, so mass 0 says that it is gone. Two implementations of the rules must
 * give the same state to the last bit; README.md says how that is possible with floating point.
 *
 * Read first: README.md. Read next: sequential.c.
 */
#ifndef COLLISION_MODEL_H
#define COLLISION_MODEL_H

#include <stddef.h>
#include <stdint.h>

#include "bench/harness/error.h"

#define COLLISION_BODIES_MAX (1u << 22)

typedef struct collision_body {
    float x, y, vx, vy, mass;
} collision_body;

/* How a body of mass m pulls another one at distance vector d. */
typedef enum collision_law {
    COLLISION_PLUMMER, /* m d / (d^2 + softening^2)^(3/2) */
    COLLISION_DAMPED   /* m d / (|d| (d^2 + softening^2)) */
} collision_law;

typedef struct collision_rules {
    double dt;
    double gravity;          /* of all bodies together; not used if there is a gravity_constant */
    double gravity_constant; /* of masses as they are; 0: by `gravity` */
    double softening;        /* distances are never taken for less in a pull */
    collision_law law;
    double merge_distance; /* bodies nearer than this merge */
    int is_merging;        /* 0: plain n-body */
    int takes_first;   /* of those in reach that with the lowest id, however near the others are */
    int takes_heavier; /* the lighter of two takes the other in, and equal ones never merge */
} collision_rules;

collision_rules collision_rules_default(void);

/* What the rules mean for given bodies: the numbers that the phases work with. */
typedef struct collision_constants {
    float dt, softening2, reach2;
    float scale; /* power of 2: quanta per pull, so that a mean mass at distance 1 has about 2^14 */
    float kick;  /* velocity from a quantum */
} collision_constants;
collision_constants collision_find_constants(const collision_rules *rules,
                                             const collision_body *bodies, uint32_t count);

/* Bodies at random: each coordinate from -extent to extent, each component of a velocity from
 * -speed to speed, masses from mass_min to mass_max. */
typedef struct collision_start {
    double extent, speed, mass_min, mass_max;
} collision_start;
collision_start collision_start_default(void); /* 1; 0.25; 0.5 to 1 */
void collision_make_random(collision_body *bodies, uint32_t count, uint32_t seed,
                           const collision_start *start);

/* Read x,y,vx,vy,mass lines (empty lines and those that start with # are skipped; so is a first
 * line that says "x,y,vx,vy,mass"). *bodies is the caller's to free. An error names the line. */
int collision_read_csv(const char *path, collision_body **bodies, uint32_t *count,
                       bench_error *error);

uint32_t collision_count(const collision_body *bodies, uint32_t count);    /* those not gone */
uint64_t collision_checksum(const collision_body *bodies, uint32_t count); /* 64-bit FNV-1a */

/* 0 if the states are equal, bit by bit; else 1 and a sentence about the first difference. */
int collision_compare(const collision_body *found, const collision_body *expected, uint32_t count,
                      uint32_t step, bench_error *error);

/* `pixels` x `pixels` of 3 bytes: bodies as discs, larger and darker with their mass. */
void collision_paint(const collision_body *bodies, uint32_t count, uint32_t pixels, uint8_t *rgb);

#endif
