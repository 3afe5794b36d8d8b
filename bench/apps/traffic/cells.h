/* What the two models of the variant clump share: their world, the network in buffers while objects
 * are made of it, and the state that is read. The kernels that they share are in cells.clh.
 *
 * Every function returns 0, or -1 and an error.
 *
 * Read first: world.h, bench/apps/objects.h. Read next: heap.c, dynasoar.c.
 */
#ifndef TRAFFIC_CELLS_H
#define TRAFFIC_CELLS_H

#include "bench/apps/objects.h"
#include "world.h"

typedef struct traffic_cells traffic_cells;

typedef struct traffic_model {                         /* only while a world is made */
    const char *schema, *schema_text, *file, *options; /* as in bench_objects_desc */
    /* of a heap for any course, with its cars; small worlds get 16 MiB more */
    uint32_t bytes_per_cell;
    const char *const *names; /* of kernels, which go by their index here */
    uint32_t count;
    unsigned write; /* the kernel write_codes */
    int (*populate)(traffic_cells *world, bench_error *error);
} traffic_model;

struct traffic_cells {
    bench_objects objects;
    const traffic_network *network;
    unsigned write; /* of its model */
    cl_mem codes;   /* one word per cell: references while the world is made, then the state */
    uint32_t iteration;
};

/* For traffic_ops and bench_world_ops. */
int traffic_cells_create(const traffic_model *model, const traffic_desc *desc, void **self,
                         bench_error *error);
int traffic_cells_read(void *self, void *codes, bench_error *error);

/* An array of the network; no data: undefined. */
typedef struct traffic_array {
    size_t count, bytes;
    const void *data;
} traffic_array;

/* Make `codes`, and a buffer for each array. What was made is dropped when no kernel reads it any
 * more. */
int traffic_cells_upload(traffic_cells *world, const traffic_array *arrays, unsigned count,
                         cl_mem *buffers, bench_error *error);
void traffic_cells_drop(traffic_cells *world, const cl_mem *buffers, unsigned count);

/* Arguments of kernels, where `world` is a traffic_cells and `s` has the buffers: the cells; a
 * buffer by its name. */
#define TRAFFIC_CELLS(kernel)                                                                      \
    { kernel, 0, sizeof(cl_mem), &world->codes }
#define TRAFFIC_BUFFER(kernel, index, name)                                                        \
    { kernel, index, sizeof(cl_mem), &s->buffers[name] }

#endif
