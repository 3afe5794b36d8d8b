/* How many bytes of OpenCL buffers this program has, whoever made them: a benchmark or the library.
 *
 * The linker sends all calls of clCreateBuffer() here (--wrap, bench/CMakeLists.txt).
 *
 * Read first: nothing.
 */
#ifndef BENCH_MEMORY_H
#define BENCH_MEMORY_H

#include <stdint.h>

/* Forget the peak so far: count what comes beyond the buffers that there are. */
void bench_memory_restart(void);

/* The most bytes since then, beyond those that there were. */
uint64_t bench_memory_peak(void);

#endif
