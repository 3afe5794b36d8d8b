/* The world as a plain grid, several cells to a word of 32 bits: what one writes by hand without
 * objects.
 *
 * The grid has a border of dead cells: a word at both sides of a row, a row above and below.
 * LIFE_BORN, LIFE_SURVIVE and LIFE_STATES come with the build options; so does CELL_BITS, 8 or, for
 * more than 256 states, 16.
 */

/* ---- The arrays ------------------------------------------------------------------------------ */

/* Two grids of words, `now` and `next`. They change places after every step. */

/* ---- Making the world ------------------------------------------------------------------------ */

/* Without a kernel: the host fills the first grid, fill() in plain.c. */

/* ---- The phases of a step -------------------------------------------------------------------- */

#define IS_CONWAY (LIFE_STATES == 2 && LIFE_BORN == 8 && LIFE_SURVIVE == 12)

#if CELL_BITS == 8
#define IN_EACH(number) ((number)*0x01010101u)
#define LOW 0x7f7f7f7fu /* all bits of a cell but the highest */
#define MASK 0xffu
#else
#define IN_EACH(number) ((number)*0x00010001u)
#define LOW 0x7fff7fffu
#define MASK 0xffffu
#endif

/* 1 in every cell that is 0, else 0. */
static inline uint zero_cells(uint word) {
    uint low = (word & LOW) + LOW;
    return ~(low | word | LOW) >> (CELL_BITS - 1);
}

/* 1 in every cell that lives. */
static inline uint alive_cells(uint word) {
#if LIFE_STATES == 2
    return word;
#else
    return zero_cells(word ^ IN_EACH(1u));
#endif
}

/* For each cell of a word: how many of itself and those to its left and right live. */
static inline uint count_three(__global const uint *word) {
    uint here = alive_cells(word[0]);
    uint left = here << CELL_BITS | alive_cells(word[-1]) >> (32 - CELL_BITS);
    uint right = here >> CELL_BITS | alive_cells(word[1]) << (32 - CELL_BITS);
    return left + here + right;
}

/* The next states of the cells of a word from their states and the numbers of living neighbours. */
static inline uint next_states(uint states, uint counts) {
#if IS_CONWAY
    return zero_cells((counts | states) ^ IN_EACH(3u));
#else
    uint result = 0u;
    for (uint shift = 0u; shift < 32u; shift += CELL_BITS) {
        uint state = states >> shift & MASK, count = counts >> shift & MASK;
        uint older = state + 1u < LIFE_STATES ? state + 1u : 0u;
        uint stays = (uint)LIFE_SURVIVE >> count & 1u;
        uint next = state == 0u ? (uint)LIFE_BORN >> count & 1u : state == 1u && stays ? 1u : older;
        result |= next << shift;
    }
    return result;
#endif
}

/* `words` and `height` without the border; `last` has the bits of the cells in a row's last
 * word. */
__kernel void grid_step(__global const uint *now, __global uint *next, uint words, uint height,
                        uint last) {
    uint x = (uint)get_global_id(0), y = (uint)get_global_id(1);
    if (x >= words || y >= height) {
        return;
    }
    uint stride = words + 2u, i = (y + 1u) * stride + x + 1u;
    uint states = now[i];
    uint counts = count_three(now + i - stride) + count_three(now + i) +
                  count_three(now + i + stride) - alive_cells(states);
    uint result = next_states(states, counts);
    next[i] = x == words - 1u ? result & last : result;
}

/* ---- Showing the world ----------------------------------------------------------------------- */

/* Without a kernel: the host reads the grid, read_codes() in plain.c. */
