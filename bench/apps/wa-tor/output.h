/* What a Wa-Tor run leaves behind: a picture, a table of its course, a memory profile.
 *
 * Read first: wa_tor.h.
 */
#ifndef WA_TOR_OUTPUT_H
#define WA_TOR_OUTPUT_H

#include <stddef.h>

#include "wa_tor.h"

typedef struct wa_tor_sample {
    uint32_t step;
    uint64_t fish, sharks;
    wa_tor_usage usage; /* all zero for the sequential variant */
} wa_tor_sample;

typedef struct wa_tor_series {
    wa_tor_sample *samples;
    size_t count, capacity;
} wa_tor_series;

/* Returns 0, or -1 if memory ran out. Release with free(series->samples). */
int wa_tor_series_add(wa_tor_series *series, const wa_tor_sample *sample, bench_error *error);

/* PNG: sea white to blue, fish green and darker towards spawning, sharks red and darker with
 * hunger. */
int wa_tor_write_image(const char *path, const wa_tor_rules *rules, const uint32_t *codes,
                       bench_error *error);

/* One line per sample, with a heading. */
int wa_tor_write_csv(const char *path, const wa_tor_series *series, bench_error *error);

/* Objects in use and slots allocated per class over the steps (thesis Fig. 6.12). `without` has as
 * many samples of the same world without compaction, whose slots are shown beside; or none. Needs
 * gnuplot. */
int wa_tor_write_profile(const char *path, const wa_tor_rules *rules, const wa_tor_series *series,
                         const wa_tor_series *without, bench_error *error);

#endif
