/* A timeline: the commands that a context enqueued, with their times on the device, as a trace that Perfetto
 * (ui.perfetto.dev) and Chrome (chrome://tracing) open.
 *
 * It has every kernel of the program and of the library, and every transfer, fill and copy, in the order in which they were
 * enqueued. Commands that a program enqueues itself are not among them, nor are those of pools, which have a trace of their
 * own (pool.h). Recording costs an event and the question for a kernel's name for each command; a context that does
 * not record pays nothing.
 *
 * The format is the JSON of "Trace Event Format" (Google, 2016): complete events ("ph": "X") with "ts" and "dur" in
 * microseconds since the first command of the recording, "name", and in "args" bytes of transfers. Threads 1 to 3 are the kernels of
 * the program, those of the library, and transfers.
 *
 * Threads: as the context (context.h). Read first: context.h.
 */
#ifndef CLUMP_TIMELINE_H
#define CLUMP_TIMELINE_H

#include "clump/context.h"

#ifdef __cplusplus
extern "C" {
#endif

/* METHOD. Record the next `capacity` commands of the context, at most 2^24; those after them are only counted. What was
 * recorded before is forgotten. 0: record no more.
 *   capacity [in]             commands; each takes about 100 bytes of host memory until it is written
 * Blocks: no.
 * Returns CLUMP_OK; CLUMP_ERR_USAGE the queue does no profiling, or the capacity is larger; then everything is as before;
 * CLUMP_ERR_MEMORY. */
CLUMP_API clump_status clump_timeline_record(clump_context *context, uint32_t capacity);

/* METHOD. Write what was recorded, and forget it; recording goes on with the same capacity, and times go on from the same
 * first command. The text is handed over in one piece.
 *   write    [in]             is called once, or not at all if the call fails
 *   user     [in]             for `write`
 * Blocks: until the commands are done.
 * Returns CLUMP_OK; CLUMP_ERR_USAGE no function, or nothing is being recorded; CLUMP_ERR_MEMORY; CLUMP_ERR_CL a command has failed, or
 * has no times; what was recorded stays. */
CLUMP_API clump_status clump_timeline_write(clump_context *context, clump_write_fn write,
                                            void *user);

#ifdef __cplusplus
}
#endif

#endif
