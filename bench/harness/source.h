/* The source text of a program whose parts are several embedded files. Read first: error.h. */
#ifndef BENCH_SOURCE_H
#define BENCH_SOURCE_H

#include "error.h"

/* The files `before`, whose list NULL ends (NULL: none), and after them `file`, each with its own
 * line numbers; names as in bench_files.h. Released by free(). NULL and an error if one is not
 * embedded in this program. */
char *bench_load_source(const char *const *before, const char *file, bench_error *error);

#endif
