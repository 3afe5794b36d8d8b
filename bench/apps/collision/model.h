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

typedef struct collision_rules {
    double dt;
    double gravity;        /* of all bodies together */
    double softening;      /* distances are never taken for less in a pull */
    double merge_distance; /* bodies nearer than this merge */
    int is_merging;        /* 0: plain n-body */
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

/* Bodies at random: positions in the square from -1 to 1, slow, masses from 0.5 to 1. Equal masses
 * if is_equal. */
void collision_make_random(collision_body *bodies, uint32_t count, uint32_t seed, int is_equal);

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
