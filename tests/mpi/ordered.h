/* Commands of all libraries of this process, looked at by cl_order.h: the OpenCL functions are
 * those of ordered.c, since clump-mpi takes none from the program.
 *
 * Read first: tests/support/cl_order.h.
 */
#ifndef TESTS_MPI_ORDERED_H
#define TESTS_MPI_ORDERED_H

/* Begin to look; nothing is enqueued. */
void ordered_begin(void);
/* Two commands that were not ordered since then, in words; NULL: there are none. Begins anew;
 * nothing may be enqueued. */
const char *ordered_end(void);

#endif
