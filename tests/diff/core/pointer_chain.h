/* A chain of nodes that lie in any memory with pointers, followed by a kernel from one to the next
 * and by the host through buffers. Read first: core/pointers.h, cl_fixture.h. */
#ifndef POINTER_CHAIN_H
#define POINTER_CHAIN_H

#include "cl_fixture.h"
#include "core/pointers.h"

typedef struct chain_node {
    uint64_t next;       /* the address of the next one, 0: the last */
    uint32_t value, sum; /* the kernel writes the sum of all values up to here */
} chain_node;

typedef struct chain {
    const cl_fixture *on;
    cl_program program;
    cl_kernel kernel;
} chain;

/* CONSTRUCTOR, DESTRUCTOR. */
chain chain_open(const cl_fixture *on);
void chain_close(chain *c);

/* Set the kernel's parameters: it goes over `nodes` nodes from the first one on. `regions` are the
 * beginnings of the allocations of that kind that it reaches. */
void chain_set(chain *c, clump_pointers kind, void *first, uint32_t nodes, uint32_t region_count,
               void *const *regions);
/* The same, then run it and wait. */
void chain_run(chain *c, clump_pointers kind, void *first, uint32_t nodes, uint32_t region_count,
               void *const *regions);

#endif
