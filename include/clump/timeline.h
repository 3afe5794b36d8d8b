/* A timeline: the work of a context, with times, as a trace that Perfetto (ui.perfetto.dev) and
 * Chrome (chrome://tracing) open.
 *
 * It has every kernel of the program and of the library, and every transfer, fill and copy, in the
 * order in which they were enqueued. It has each compaction and each collection, from its first
 * command to its last. For the pools of the context (pool.h), it has allocations, frees, steps of
 * defragmentation and the copies of these. It has commands that a program enqueues itself if the
 * program adds them. It does not have pools without a context. For each command, recording costs an
 * event and a query of the kernel's name. For each call on a pool, it costs two reads of the clock.
 * Without recording, these costs do not arise. A pool's own trace (clump_pool_desc.trace) has
 * another purpose: to repeat its calls.
 *
 * The format is the JSON of "Trace Event Format" (Google, 2016), with "ts" and "dur" in
 * microseconds from the first entry of the recording. Complete events ("ph": "X"), by threads:
 *     1, 2, 3     kernels of the program, kernels of the library, transfers ("args": bytes)
 *     4           compactions (moves, bytes_moved, blocks_freed) and collections (live, dead,
 *                 blocks_freed): the numbers of their reports, if the call was asked for one. A
 *                 collection that compacts has the compaction within it
 *     above 100   two for each pool: allocations and frees (bytes), and steps (finished,
 *                 copied_bytes, chunks_released)
 *     above 10^6  the first four again, for each further queue of the context
 *                 (clump_context_set_queue(), and two for the transfers of saved heaps)
 * Events of a thread do not overlap, even by the nanosecond to which devices round their times,
 * because Perfetto 52 drops events that do. Perfetto makes one track of threads with equal names.
 * Therefore pools of one name have their numbers after it, "NAME (2)". A copy of a step is an
 * asynchronous event ("b", "e") "NAME: move" (bytes), where NAME is the pool's, since copies
 * overlap on a queue that is out of order. Copies of a pool whose queue does no profiling are left
 * out. A failed copy is only counted, and so is a command that the device times wrongly.
 *
 * Times are the device's, by profiling. Calls on pools have the host's times, converted. The error
 * is at most the time that the quickest of the recorded commands needed to be enqueued, and the
 * drift of the two clocks since then. Without a command in the recording, times begin at the first
 * of these calls.
 *
 * Threads: as the context (context.h). Meanwhile any thread may use pools.
 * Read first: context.h.
 */
#ifndef CLUMP_TIMELINE_H
#define CLUMP_TIMELINE_H

#include "clump/context.h"
#include "clump/write.h"

#ifdef __cplusplus
extern "C" {
#endif

/* METHOD. Record the next `capacity` commands, compactions and collections, and calls, steps and
 * copies of pools, at most 2^24. Later ones are only counted ("otherData": dropped). The same holds
 * for commands on a queue without profiling, and for a compaction or collection if not all of its
 * commands were recorded. The call drops the previous recording. 0: stop recording.
 *   capacity  [in]  each entry needs about 150 bytes of host memory, and an event of OpenCL, until
 *                   it is written
 * Blocks: no.
 * Returns CLUMP_OK. Fails with CLUMP_ERR_USAGE if the queue in use does no profiling or the
 * capacity is larger, and everything is then as before, or CLUMP_ERR_HOST_MEMORY. */
CLUMP_API clump_status clump_context_record_timeline(clump_context *context, uint32_t capacity);

/* METHOD. Add a command of the program, such as a transfer, to the transfers of its queue. A halo
 * (mpi.h) adds its own commands. Without a recording, the call does nothing. A command on a queue
 * that does no profiling, or is out of order, is only counted ("otherData": dropped).
 *   name   [in]  copied, its first 63 bytes
 *   bytes  [in]  for "args"
 *   event  [in]  of the command, whose queue belongs to the context's cl_context. Retained until it
 *                is written
 * Blocks: no. It enqueues nothing.
 * Returns CLUMP_OK. Fails with CLUMP_ERR_USAGE without a name or with an event that is not of a
 * command, CLUMP_ERR_HOST_MEMORY or CLUMP_ERR_CL. */
CLUMP_API clump_status clump_context_add_to_timeline(clump_context *context, const char *name,
                                                     uint64_t bytes, cl_event event);

/* METHOD. Write the recording and drop it. Recording continues with the same capacity, and times
 * continue from the same first command. The text has one part.
 *   write  [in]  called once, or not at all if the call fails before
 *   user   [in]  for `write`
 * Blocks: until the commands are done.
 * Returns CLUMP_OK, or:
 *   CLUMP_ERR_USAGE  no `write`, or the context does not record
 *   CLUMP_ERR_IO     `write` returned an error
 *   CLUMP_ERR_CL     a command has failed, or lacks times
 *   CLUMP_ERR_HOST_MEMORY
 * After a failure the recording stays. */
CLUMP_API clump_status clump_context_write_timeline(clump_context *context, clump_write_fn write,
                                                    void *user);

#ifdef __cplusplus
}
#endif

#endif
