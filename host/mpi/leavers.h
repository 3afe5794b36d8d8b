/* Objects that leave: which, their values, and those that arrive. migration.c sends them. arrays.c
 * has their arrays that grow.
 *
 * The values of a class are structs of all its fields, one after the other without gaps, in the
 * order class, direction, reference. So what goes in a direction is a part of each class's values,
 * and is sent from there. What arrives lies likewise.
 *
 * The arrays that grow are no part of these structs. Each array of a class has a length and a
 * capacity for each object, and the elements of all objects without gaps, in the same order.
 *
 * A reference in a value or an element on its way is the number of its object plus 1, among those
 * that go in the same direction: class by class.
 *
 * Read first: world.h.
 */
#ifndef CLUMPI_MPI_LEAVERS_H
#define CLUMPI_MPI_LEAVERS_H

#include "clump/kernels.h"
#include "clump/program.h"
#include "clump/run.h"
#include "clump/structs.h"
#include "mpi/pinned.h"

/* An array that grows, of the class that declares it. */
typedef struct clumpi_growing {
    const char *class_name;
    clump_field_info field;
    clump_kernel *measure, *make, *copy;
} clumpi_growing;

/* A class whose objects may leave. */
typedef struct clumpi_mover {
    uint32_t id;
    clump_struct_desc desc;
    clump_struct_field *fields;
    uint32_t *ref_offsets; /* of each reference, those of arrays too */
    uint32_t ref_count;
    int64_t mark_at; /* offset of the field that says who leaves, -1: none */
    uint32_t mark_bytes;
    uint32_t *arrays; /* its arrays that grow: numbers in clump_migration.growing */
    uint32_t array_count;
} clumpi_mover;

/* One array that grows of these objects. */
typedef struct clumpi_moving_array {
    uint64_t
        from[CLUMP_WORLD_DIRECTIONS_MAX + 1]; /* first element of each direction, and the end */
    uint32_t *words;                          /* length and capacity of each object */
    uint64_t words_room;                      /* bytes */
    clumpi_pinned elements;
} clumpi_moving_array;

/* Objects of one class that leave or arrive in a run. */
typedef struct clumpi_moving {
    uint64_t count, room;
    uint64_t from[CLUMP_WORLD_DIRECTIONS_MAX + 1]; /* first object of each direction, and the end */
    clump_ref *refs;
    clumpi_pinned values;
    clumpi_moving_array *arrays; /* in the order of clumpi_mover.arrays */
} clumpi_moving;

/* A buffer that grows when a run needs more. */
typedef struct clumpi_staging {
    cl_mem buffer;
    uint64_t bytes;
} clumpi_staging;

/* An object that leaves: class << 40 | direction << 32 | reference. Class and direction have 8
 * bits. */
typedef uint64_t clumpi_leaver;
static inline uint32_t clumpi_leaver_class(clumpi_leaver l) {
    return (uint32_t)(l >> 40);
}
static inline uint32_t clumpi_leaver_direction(clumpi_leaver l) {
    return (uint32_t)(l >> 32) & 255;
}
static inline clump_ref clumpi_leaver_ref(clumpi_leaver l) {
    return (clump_ref)l;
}

struct clump_migration {
    clump_world *world;
    clump_heap *heap;
    char class_name[256];
    int copies, has_field;
    uint32_t most;
    int tags;
    clumpi_mover *movers; /* concrete classes, by id */
    uint32_t mover_count;
    clumpi_growing *growing; /* of these classes and their bases */
    uint32_t growing_count;
    uint32_t array_count; /* of all movers: numbers of elements in a head */
    struct {
        clumpi_staging refs, words, ends, elements;
    } staged;      /* of the arrays of one class */
    uint64_t kind; /* a hash of classes and fields, which ranks compare */
    clump_program *program;
    clump_kernel *find, *tell, *release;
    cl_mem list, arrivals;
    uint64_t arrivals_room, arrived;
    uint32_t *words;                 /* of the list, on the host */
    uint32_t listed;                 /* objects in it, in the last run or this one, at most */
    clumpi_leaver *leavers, *sorted; /* room for all; the second while they are sorted */
    clumpi_moving *out, *in;         /* by mover */
    clumpi_messages messages;
    uint64_t left_out;
    clump_migration_info info;
};

/* Classes, program and list. */
clump_status clumpi_leavers_open(clump_migration *m, const char *class_name, const char *field);
void clumpi_leavers_close(clump_migration *m);

/* Who leaves, and their values, ready to be sent. */
clump_status clumpi_leavers_take(clump_migration *m);
/* Room for those that arrive, whose counts and directions are known. */
clump_status clumpi_arrivals_open(clump_migration *m);
/* Make them: all or none. */
clump_status clumpi_arrivals_make(clump_migration *m);
/* Free those that left in these directions. */
clump_status clumpi_leavers_free(clump_migration *m, const int *has_left);
/* An empty list. */
clump_status clumpi_leavers_clear(clump_migration *m);

/* The number plus 1 of an object among those that leave in the direction. 0: it does not. */
uint32_t clumpi_leaver_number(const clump_migration *m, clump_ref ref, uint32_t direction);
/* The reference of the object with the number minus 1 among those that arrived from there. */
clump_ref clumpi_arrival_ref(const clump_migration *m, uint32_t number, uint32_t direction);

/* ---- Transfers, each of which comes after the heap's commands, and is waited for ------------- */

clump_status clumpi_migration_write(clump_migration *m, cl_mem buffer, uint64_t at, uint64_t bytes,
                                    const void *data);
clump_status clumpi_migration_read(clump_migration *m, cl_mem buffer, uint64_t at, uint64_t bytes,
                                   void *data);
clump_status clumpi_migration_buffer(clump_world *world, uint64_t bytes, cl_mem *buffer);
/* A work-item for each of `items`, and some more. */
clump_status clumpi_migration_launch(clump_migration *m, clump_kernel *kernel, uint64_t items);

/* ---- arrays.c -------------------------------------------------------------------------------- */

/* One more of the mover. Called in the order of the fields. */
clump_status clumpi_growing_add(clump_migration *m, clumpi_mover *mover, const clump_field_info *f);
/* Memory for what moves of the arrays of each class, whose number is known. */
clump_status clumpi_growing_open(clump_migration *m);
/* The kernels' text, to be freed. NULL: no host memory. */
char *clumpi_growing_text(const clump_migration *m);
clump_status clumpi_growing_kernels(clump_migration *m);
void clumpi_growing_close(clump_migration *m);

/* Of the leavers of mover k, whose references are known. */
clump_status clumpi_growing_take(clump_migration *m, uint32_t k);
/* References among their elements become numbers. */
void clumpi_growing_number(clump_migration *m, uint32_t k);
/* Room on the host for what arrives. The numbers of objects and elements are known. */
clump_status clumpi_growing_expect(clump_migration *m, uint32_t k);
/* Raw memory and lengths of the arrays of objects that were made. */
clump_status clumpi_growing_make(clump_migration *m, uint32_t k);
/* Their elements. All objects that arrive were made. */
clump_status clumpi_growing_fill(clump_migration *m, uint32_t k);

#endif
