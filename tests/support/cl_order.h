/* OpenCL entry points that look whether commands which use one buffer are ordered, whatever queues
 * they are on and whenever a device runs them: a race is found although nothing went wrong.
 *
 * A command comes after another one if that is on the same queue, which is in order; or is waited
 * for by it, by a marker before it on a queue that is in order, or by the host before it was
 * enqueued; and so on from there. Two commands that use one buffer or sub-buffer, as an argument of
 * a kernel or of a transfer, must come one after the other. What is only read by both counts too,
 * so a test must not share such buffers between queues. Commands that do not go through these entry
 * points are not seen.
 *
 * One thread at a time. Read first: include/clump/cl_functions.h.
 */
#ifndef CL_ORDER_H
#define CL_ORDER_H

#include <stdint.h>

#include "clump/cl_functions.h"

extern const clump_cl_functions cl_order_functions;
/* The library has no need of this one, but clump-mpi. */
cl_int CL_API_CALL cl_order_barrier(cl_command_queue queue, cl_uint waits, const cl_event *list,
                                    cl_event *event);

/* Forget all, when nothing is enqueued. */
void cl_order_begin(void);

/* Two commands that are not ordered, in words; NULL: none were seen so far. */
const char *cl_order_complaint(void);

/* How often a command waited for one of another queue; how many commands there were. */
uint32_t cl_order_crossings(void);
uint32_t cl_order_commands(void);

/* A user event counts as a command: what waits for it comes after it. */
void cl_order_gate(cl_event event);
/* Of the commands from number `first` on, one that does not come after the command of `event`; one
 * that this does not come after, and that the host does not know to be done; in words. NULL: there
 * is none. */
const char *cl_order_not_after(cl_event event, uint32_t first);
const char *cl_order_not_before(cl_event event, uint32_t first);
/* Does `event` stand for a failure if that other one does? On one queue in order a command does not
 * fail with those before it. */
int cl_order_fails_with(cl_event event, cl_event other);

#endif
