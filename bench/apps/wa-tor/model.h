/* Wa-Tor as numbers: the rules, their random numbers, and encoded worlds.
 *
 * README.md beside this file states the rules in words. A world is a torus of width * height cells;
 * cell (x, y) has index y * width + x. What two implementations compare is the encoded world, one
 * uint32 per cell:
 *
 *     bits 31..30  kind: 0 empty, 1 fish, 2 shark
 *     bits 27..12  energy of a shark, saturated at 65535
 *     bits 11..0   spawn timer, saturated at 4088; -1 to -7 as their lowest 12 bits
 *
 * Every phase of a step may visit its cells or agents in any order: the result is the same. The
 * random number of a decision depends on the place and the time of the decision alone.
 *
 * Read first: README.md. Read next: sequential.c.
 */
#ifndef WA_TOR_MODEL_H
#define WA_TOR_MODEL_H

#include <stddef.h>
#include <stdint.h>

#define WA_TOR_KIND_EMPTY 0u
#define WA_TOR_KIND_FISH 1u
#define WA_TOR_KIND_SHARK 2u

#define WA_TOR_CELLS_MAX (1u << 28) /* the encoded world is then 1 GiB */

/* What a random number is drawn for; the third word of the generator's counter. */
typedef enum wa_tor_draw {
    WA_TOR_DRAW_FISH_SELECT,
    WA_TOR_DRAW_FISH_DECIDE,
    WA_TOR_DRAW_SHARK_SELECT,
    WA_TOR_DRAW_SHARK_DECIDE,
    WA_TOR_DRAW_POPULATE,
    WA_TOR_DRAW_FISH_BORN,
    WA_TOR_DRAW_SHARK_BORN
} wa_tor_draw;

/* The six phases of a step, in order. */
#define WA_TOR_PHASE_LIST(X)                                                                       \
    X(FISH_SELECT, fish_select)                                                                    \
    X(FISH_DECIDE, fish_decide)                                                                    \
    X(FISH_MOVE, fish_move)                                                                        \
    X(SHARK_SELECT, shark_select)                                                                  \
    X(SHARK_DECIDE, shark_decide)                                                                  \
    X(SHARK_MOVE, shark_move)

typedef enum wa_tor_phase {
#define WA_TOR_PHASE_ENUM(name, label) WA_TOR_PHASE_##name,
    WA_TOR_PHASE_LIST(WA_TOR_PHASE_ENUM)
#undef WA_TOR_PHASE_ENUM
        WA_TOR_PHASE_COUNT
} wa_tor_phase;

/* Everything that decides the course of a world. */
typedef struct wa_tor_rules {
    uint32_t width, height;
    uint32_t seed;
    uint32_t fish_permille;  /* of the cells that hold a fish at the start */
    uint32_t shark_permille; /* of the cells that hold a shark at the start */
    uint32_t fish_spawn;     /* a moving fish leaves a fish behind if its timer is above this */
    uint32_t shark_spawn;
    uint32_t shark_energy; /* of a new shark, in steps */
    uint32_t shark_gain;   /* energy from one fish */
    /* 0: a newborn's spawn timer is 0. 1: it is drawn, as README.md says */
    uint32_t has_drawn_timers;
    uint32_t empty_from; /* cells from this one on are empty at the start. 0: as the others */
} wa_tor_rules;

/* The defaults: both species live on, in waves. */
wa_tor_rules wa_tor_rules_default(void);

/* NULL if the rules can be run, else a sentence that says what is wrong. has_bands: the world is in
 * several heaps, and nothing has the codes of all cells. */
const char *wa_tor_rules_check(const wa_tor_rules *rules, int has_bands);

static inline uint32_t wa_tor_encode(uint32_t kind, uint32_t spawn_timer, uint32_t energy) {
    uint32_t timer =
        spawn_timer < 0xff8u || spawn_timer >= 0xfffffff9u ? spawn_timer & 0xfffu : 0xff8u;
    uint32_t food = energy < 0xffffu ? energy : 0xffffu;
    return kind << 30 | food << 12 | timer;
}

/* DynaSOAr's timer of a newborn: the remainder of a signed number, stored unsigned. Those below 0
 * are above any limit until they are counted up to 0. */
static inline uint32_t wa_tor_drawn_timer(uint32_t random, uint32_t spawn) {
    return (uint32_t)((int32_t)random % (int32_t)(spawn ? spawn : 1));
}

static inline uint32_t wa_tor_kind(uint32_t code) {
    return code >> 30;
}

/* 64-bit FNV-1a over the little-endian bytes of an encoded world. */
uint64_t wa_tor_checksum(const uint32_t *world, size_t cells);

typedef struct wa_tor_population {
    uint64_t fish, sharks;
} wa_tor_population;

/* Count an encoded world. */
wa_tor_population wa_tor_count(const uint32_t *world, size_t cells);

/* A pixel of 3 bytes for each cell of an encoded world: sea light blue, fish green and darker
 * towards spawning, sharks red and darker with hunger. */
void wa_tor_paint(const wa_tor_rules *rules, const uint32_t *codes, uint8_t *rgb);

#endif
