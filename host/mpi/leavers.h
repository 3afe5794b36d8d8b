/* Objects that leave: which, their values, and those that arrive. migration.c sends them.
 *
 * The values of a class are structs of all its fields, one after the other without gaps, in the
 * order class, direction, reference. So what goes in a direction is a part of each class's values,
 * and is sent from there. What arrives lies likewise.
 *
 * A reference in a value on its way is the number of its object plus 1, among those that go in the
 * same direction: class by class.
 *
 * Read first: world.h.
 */
#ifndef CLUMPI_MPI_LEAVERS_H
#define CLUMPI_MPI_LEAVERS_H

#include "clump/kernels.h"
#include "clump/program.h"
#include "clump/run.h"
#include "clump/structs.h"
#include "mpi/world.h"

/* A class whose objects may leave. */
typedef struct clumpi_mover {
    uint32_t id;
    clump_struct_desc desc;
    clump_struct_field *fields;
    uint32_t *ref_offsets; /* of each reference, those of arrays too */
    uint32_t ref_count;
    int64_t mark_at; /* offset of the field that says who leaves, -1: none */
    uint32_t mark_bytes;
} clumpi_mover;

/* Objects of one class that leave or arrive in a run. */
typedef struct clumpi_moving {
    uint64_t count, room;
    uint64_t from[CLUMP_WORLD_DIRECTIONS_MAX + 1]; /* first object of each direction, and the end */
    clump_ref *refs;
    char *values;
} clumpi_moving;

typedef struct clumpi_leaver {
    uint32_t class_id, direction;
    clump_ref ref;
} clumpi_leaver;

struct clump_migration {
    clump_world *world;
    clump_heap *heap;
    char class_name[256];
    int copies, has_field;
    uint32_t most;
    int tags;
    clumpi_mover *movers; /* concrete classes, by id */
    uint32_t mover_count;
    uint64_t kind; /* a hash of classes and fields, which ranks compare */
    clump_program *program;
    clump_kernel *find, *tell, *release;
    cl_mem list, arrivals;
    uint64_t arrivals_room, arrived;
    uint32_t *words; /* of the list, on the host */
    clumpi_leaver *leavers;
    clumpi_moving *out, *in; /* by mover */
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

#endif
