/* Writing pictures as PNG files. Read first: error.h. */
#ifndef BENCH_PNG_H
#define BENCH_PNG_H

#include <stdint.h>

#include "error.h"

/* Write width * height pixels of 3 bytes (red, green, blue), row by row from the top. */
int bench_png_write(const char *path, uint32_t width, uint32_t height, const uint8_t *rgb,
                    bench_error *error);

#endif
