/* Ten launches one by one, and as one command buffer (cl_khr_command_buffer): what the calling
 * thread spends on both. For the benchmark launch, which says why the library uses none.
 *
 * Read first: bench.h.
 */
#ifndef BENCH_COMMAND_BUFFER_H
#define BENCH_COMMAND_BUFFER_H

#include "bench/harness/bench.h"

/* Processor time of the calling thread. */
double bench_thread_us(void);

/* Samples ten_launches_us, with their arguments, and command_buffer_us. Nothing if the device has
 * no command buffers. Returns 0, or -1 and an error. */
int bench_command_buffer(const bench_env *env, bench_results *results);

#endif
