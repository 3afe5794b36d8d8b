/* Patterns: which cells live at the beginning, from a file.
 *
 * Read are portable bitmaps and graymaps (P1, P4; P2, P5), in which black cells live, that is 1 in
 * a bitmap and the darker half of the values in a graymap; and run-length encoded patterns of two
 * states (RLE), as Golly and others write them. What else they write, such as macrocells or what
 * gzip made, is refused with the command that converts it.
 *
 * Read first: model.h.
 */
#ifndef LIFE_PATTERN_H
#define LIFE_PATTERN_H

#include "model.h"

typedef struct life_pattern {
    uint32_t width, height;
    uint8_t *cells; /* 0 or 1 */
    char rule[64];  /* of an RLE file that names one, else "" */
} life_pattern;

/* Read a file. An error names the file, the line, and what was expected there. */
int life_pattern_read(const char *path, life_pattern *pattern, bench_error *error);

/* The same from memory. `name` stands in errors. */
int life_pattern_parse(const char *name, const void *data, size_t bytes, life_pattern *pattern,
                       bench_error *error);
void life_pattern_release(life_pattern *pattern);

/* Put the pattern into the middle of a dead world. Fails if it is larger, or made for another rule.
 */
int life_pattern_place(const life_pattern *pattern, const life_rules *rules, life_code *codes,
                       bench_error *error);

/* The first world of DynaSOAr's `generation`: crosses of this length in two square lattices. */
#define LIFE_BURST_LENGTH 100
void life_fill_bursts(const life_rules *rules, life_code *codes);

#endif
