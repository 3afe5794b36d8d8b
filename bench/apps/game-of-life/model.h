/* The Game of Life as numbers: its rule, its states, and the sequential world that obeys them.
 *
 * The rule is a generational one, of which the Game of Life is the case of two states; the
 * application `generation` uses the same code. A world has width * height cells without a
 * neighbourhood across its edges; cell (x, y) has index y * width + x. What two implementations
 * compare is the encoded world, one life_code per cell:
 *
 *     0  dead
 *     1  alive: the only state that neighbours count
 *     2  dying since the last step; 3 since the one before, and so on up to states - 1
 *     LIFE_STAYS  dead, as 0; a candidate stays there although nobody beside the cell lives
 *
 * Read first: README.md. Read next: sequential.c.
 */
#ifndef LIFE_MODEL_H
#define LIFE_MODEL_H

#include <stddef.h>
#include <stdint.h>

#include "bench/harness/error.h"

#define LIFE_CELLS_MAX (1u << 28)
#define LIFE_STATES_MAX 512u
#define LIFE_BYTE_STATES 256u /* as many fit in a byte */

typedef uint16_t life_code;
#define LIFE_STAYS 0x8000u

/* Everything that decides the course of a world but its beginning. */
typedef struct life_rules {
    uint32_t width, height;
    uint32_t born;    /* bit n: a dead cell with n living neighbours comes alive; not bit 0 */
    uint32_t survive; /* bit n: a living cell with n living neighbours stays alive */
    uint32_t states;  /* 2: a cell that dies is dead at once */
    /* 1: as in DynaSOAr's program, a candidate goes a step after the last living neighbour, and a
     * cell that has died has one for a step. */
    int is_dynasoar_model;
} life_rules;

/* Fill in born, survive and states from "23/3", "0235678/3468/255" (survival, birth, states),
 * "B3/S23" or "S23/B3". */
int life_rule_parse(const char *text, life_rules *rules, bench_error *error);

/* Fails if the rules cannot be run. */
int life_rules_check(const life_rules *rules, bench_error *error);

static inline uint32_t life_next_state(const life_rules *rules, uint32_t state,
                                       uint32_t neighbors) {
    if (state == 0) {
        return rules->born >> neighbors & 1;
    }
    if (state == 1 && (rules->survive >> neighbors & 1)) {
        return 1;
    }
    return state + 1 < rules->states ? state + 1 : 0;
}

/* A world in which `permille` of 1000 cells live, drawn cell by cell from a hash of the seed. */
void life_fill(const life_rules *rules, uint32_t seed, uint32_t permille, life_code *codes);

/* 64-bit FNV-1a over an encoded world. */
uint64_t life_checksum(const life_code *codes, size_t cells);

/* Cells that live, die, and are dead beside a living one. */
typedef struct life_population {
    uint64_t alive, dying, candidates;
} life_population;
life_population life_count(const life_rules *rules, const life_code *codes);

/* 1 if a neighbour of the cell lives. */
int life_is_beside_life(const life_rules *rules, const life_code *codes, uint32_t x, uint32_t y);

/* Mark the dead cells that keep a candidate although nobody beside them lives, if
 * rules->is_dynasoar_model:
 * `before` is the world before the last step. */
void life_mark_staying(const life_rules *rules, const life_code *before, life_code *codes);

/* A pixel for each cell, three bytes each, row by row. */
void life_paint(const life_rules *rules, const life_code *codes, uint8_t *rgb);

#endif
