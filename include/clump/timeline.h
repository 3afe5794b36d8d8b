/* A timeline: what a context did, with the times, as a trace that Perfetto (ui.perfetto.dev) and
 * Chrome (chrome://tracing) open.
 *
 * It has every kernel of the program and of the library, and every transfer, fill and copy, in the
 * order in which they were enqueued; each compaction and each collection, from its first command to
 * its last; and of the pools of the context (pool.h) allocations, frees, steps of defragmentation
 * and the copies of these. Commands that a program enqueues itself are not among them, nor are
 * pools without a context. Recording costs an event and the question for a kernel's name for each
 * command, and a look at the clock for each call on a pool; a context that does not record pays
 * nothing. A pool's own trace (clump_pool_desc.trace) is another thing: for running its calls
 * again.
 *
 * The format is the JSON of "Trace Event Format" (Google, 2016), with "ts" and "dur" in
 * microseconds from the first entry of the recording on. Complete events ("ph": "X"), by threads:
 *     1, 2, 3     kernels of the program, those of the library, transfers ("args": bytes)
 *     4           compactions (moves, bytes_moved, blocks_freed) and collections (live, dead,
 *                 blocks_freed): the numbers of their reports, if the call was asked for one. A
 *                 collection that compacts has the compaction within it
 *     above 100   two of each pool: allocations and frees (bytes); steps (finished, copied_bytes,
 *                 chunks_released)
 *     above 10^6  the first four again, of each further queue of the context
 *                 (clump_context_set_queue(), and two that it has for the transfers of saved heaps)
 * Events of a thread do not overlap, not even by the nanosecond by which devices round their times:
 * Perfetto 52 drops those that do. It makes one track of those that have one name, so pools of one
 * name have their numbers after it, "NAME (2)". A copy of a step is an asynchronous event ("b",
 * "e") "NAME: move" (bytes), NAME being that of the pool, since on a queue that is out of order
 * they overlap; of a pool whose queue does no profiling copies are left out. A copy that failed is
 * only counted, and so is a command whose times the device tells wrong.
 *
 * Times are those of the device, by profiling; calls on pools have the host's, converted: exact to
 * the time that the quickest of the recorded commands took to be enqueued. With no command in the
 * recording they count from the first of them.
 *
 * Threads: as the context (context.h); pools may be used on any thread meanwhile. Read first:
 * context.h.
 */
#ifndef CLUMP_TIMELINE_H
#define CLUMP_TIMELINE_H

#include "clump/context.h"
#include "clump/write.h"

#ifdef __cplusplus
extern "C" {
#endif

/* METHOD. Record the next `capacity` commands, compactions, collections and steps of pools, at most
 * 2^24; those after them are only counted ("otherData": dropped), and so are commands on a queue
 * without profiling, and a compaction or collection whose commands were not all recorded. What was
 * recorded before is forgotten. 0: record no more.
 *   capacity [in]             each takes about 200 bytes of host memory until it is written
 * Blocks: no.
 * Returns CLUMP_OK; CLUMP_ERR_USAGE the queue in use does no profiling, or the capacity is larger;
 * then everything is as before; CLUMP_ERR_HOST_MEMORY. */
CLUMP_API clump_status clump_context_record_timeline(clump_context *context, uint32_t capacity);

/* METHOD. Write what was recorded, and forget it; recording goes on with the same capacity, and
 * times go on from the same first command. The text is handed over in one piece.
 *   write    [in]             is called once, or not at all if the call fails
 *   user     [in]             for `write`
 * Blocks: until the commands are done.
 * Returns CLUMP_OK; CLUMP_ERR_USAGE no function, or nothing is being recorded; CLUMP_ERR_IO `write`
 * said so; CLUMP_ERR_HOST_MEMORY; CLUMP_ERR_CL a command has failed, or has no times. After a
 * failure what was recorded stays. */
CLUMP_API clump_status clump_context_write_timeline(clump_context *context, clump_write_fn write,
                                                    void *user);

#ifdef __cplusplus
}
#endif

#endif
