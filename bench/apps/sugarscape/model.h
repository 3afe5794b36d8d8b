/* Sugarscape as numbers: rules, the grid and its frame, states and what is asked of them.
 *
 * README.md beside this file states the rules in words. All is integer, and the random number of a
 * decision depends on its place, time and purpose alone, so every variant gives the same world, in
 * whatever order cells and agents are visited.
 *
 * The grid. Cell (x, y) has the number (y + v) * pitch + v + x, with v = max_vision: around the
 * world lies a frame of walls at least v wide, so that nobody who looks around has to ask where the
 * world ends. The pitch is a multiple of 64, the length of a row of objects on a heap.
 *
 * Read first: README.md. Read next: sequential.c.
 */
#ifndef SUGARSCAPE_MODEL_H
#define SUGARSCAPE_MODEL_H

#include <stddef.h>
#include <stdint.h>

#include "bench/harness/error.h"

#define SUGARSCAPE_CELLS_MAX (1u << 27) /* with the frame */
#define SUGARSCAPE_VISION_MAX 7u        /* so that a place in the window of sight fits 8 bits */
#define SUGARSCAPE_ROW 64u

/* What decides the course of a world. The kernels get this struct as it is: rules.clh has the same
 * fields in the same order. */
typedef struct sugarscape_rules {
    uint32_t width, height, seed;
    uint32_t male_permille, female_permille; /* of the cells at the start */
    uint32_t max_vision, max_age, max_endowment, max_metabolism, max_children;
    uint32_t mating_age;
    uint32_t capacity;        /* sugar of a cell beyond which it does not grow */
    uint32_t source_permille; /* of the cells that grow sugar */
    uint32_t max_growth;      /* sugar that such a cell grows in a step, 1 to this */
    uint32_t diffusion;       /* a neighbour gets sugar >> diffusion, ... */
    uint32_t max_diffusion;   /* ... but no more than this */
    uint32_t is_dynasoar;     /* the rules of DynaSOAr's program, as README.md says */
    uint32_t pitch;           /* set by sugarscape_rules_finish() */
} sugarscape_rules;

sugarscape_rules sugarscape_rules_default(void);

/* Set the pitch. Returns 0, or -1 and what is wrong with the rules. */
int sugarscape_rules_finish(sugarscape_rules *rules, bench_error *error);

/* Cells of the world, and those with the frame. */
size_t sugarscape_cells(const sugarscape_rules *rules);
uint32_t sugarscape_grid_cells(const sugarscape_rules *rules);

/* The number of cell (x, y). */
static inline uint32_t sugarscape_number(const sugarscape_rules *rules, uint32_t x, uint32_t y) {
    return (y + rules->max_vision) * rules->pitch + rules->max_vision + x;
}

/* What a random number is drawn for: the third word of the generator's counter. */
enum {
    SUGARSCAPE_DRAW_CELL,
    SUGARSCAPE_DRAW_AGENT,
    SUGARSCAPE_DRAW_NEEDS,
    SUGARSCAPE_DRAW_MOVE,
    SUGARSCAPE_DRAW_BIRTHPLACE,
    SUGARSCAPE_DRAW_CHILD
};

/* SUGARSCAPE_MALE, _FEMALE or _NOBODY: who is on a cell of that number at the start. */
uint32_t sugarscape_first_kind(const sugarscape_rules *rules, uint32_t cell);

/* The numbers of the cells with an agent of this kind at the start, into `numbers`, which has room
 * for all cells and one more. Returns how many there are. */
size_t sugarscape_list_first(const sugarscape_rules *rules, uint32_t kind, uint32_t *numbers);

/* ---- States ---------------------------------------------------------------------------------- */

enum { SUGARSCAPE_NOBODY, SUGARSCAPE_MALE, SUGARSCAPE_FEMALE };

/* All of a cell and of the agent on it, in words that the kernels write; zero where nobody is. A
 * world's state is one of these for each cell, without the frame, row by row. */
typedef struct sugarscape_state {
    uint32_t sugar;       /* of the cell */
    uint32_t agent_sugar; /* of the agent */
    uint32_t ages;        /* age | maximum << 16 */
    uint32_t needs;       /* endowment | metabolism << 16 */
    uint32_t traits;      /* kind | vision << 8 | children << 16 | maximum << 24 */
} sugarscape_state;

static inline uint32_t sugarscape_kind(const sugarscape_state *state) {
    return state->traits & 0xffu;
}

typedef struct sugarscape_census {
    uint64_t males, females;
    uint64_t cell_sugar, agent_sugar;
} sugarscape_census;
sugarscape_census sugarscape_count(const sugarscape_state *states, size_t cells);

/* 64-bit FNV-1a over the words of the states as little-endian bytes. */
uint64_t sugarscape_checksum(const sugarscape_state *states, size_t cells);

/* 0 if all cells are equal; 1 and the first that differs. */
int sugarscape_compare(const sugarscape_rules *rules, const sugarscape_state *found,
                       const sugarscape_state *expected, uint32_t steps, bench_error *error);

/* 0 if every agent is one that the rules allow; 1 and the first that is not. */
int sugarscape_check(const sugarscape_rules *rules, const sugarscape_state *states,
                     bench_error *error);

/* Draw one pixel a cell, red, green, blue: sugar yellow, males blue, females red. */
void sugarscape_paint(const sugarscape_state *states, size_t cells, uint8_t *rgb);

#endif
