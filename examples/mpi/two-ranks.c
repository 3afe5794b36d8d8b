/* Particles in two domains, one for each rank. A particle that crosses the border migrates to the
 * other rank's heap. */
#include <clump/clump.h>
#include <clump/mpi.h>
#include <clump/quick.h>

static const char schema[] = "class Particle { float x; float v; uint leaves; }";

static const char kernels[] =
    "__kernel void init(CLUMP_HEAP, float low) {\n"
    "    CLUMP_FOR_EACH_NEW(Particle, self, i) {\n"
    "        Particle_x(self) = low + i * 0.01f;\n"
    "        Particle_v(self) = i % 2 ? 0.25f : -0.25f;\n"
    "        Particle_leaves(self) = 0;\n"
    "    }\n"
    "}\n"
    "__kernel void advance(CLUMP_HEAP_NO_ALLOC, float low, float high, float all) {\n"
    "    CLUMP_FOR_EACH(Particle, self) {\n"
    "        float x = Particle_x(self) + Particle_v(self);\n"
    "        // direction 0 is down, 1 is up; the field is direction + 1, or 0 to stay\n"
    "        Particle_leaves(self) = x < low ? 1 : x >= high ? 2 : 0;\n"
    "        Particle_x(self) = x < 0 ? x + all : x >= all ? x - all : x;\n"
    "    }\n"
    "}\n";

int main(int argc, char **argv) {
    clump_quick q;
    clump_world *world;
    clump_migration *migration;
    clump_migration_report report = {.size = sizeof report};
    uint64_t counts[2] = {0, 0}, made;

    MPI_Init(&argc, &argv);
    CLUMP_CHECK(&q, clump_quick_open(&q, &(clump_quick_desc){.schema = schema, .source = kernels}));
    clump_kernel *init = clump_program_get_kernel(q.program, "init");
    clump_kernel *advance = clump_program_get_kernel(q.program, "advance");

    /* A ring of domains, one for each rank; each is 10 long. */
    const clump_world_desc desc = {.size = sizeof desc,
                                   .comm = MPI_COMM_WORLD,
                                   .context = q.context,
                                   .queue = q.queue,
                                   .dimensions = 1,
                                   .periodic = {1},
                                   .timeout_s = 30};
    if (clump_world_create(&desc, &world, &q.error)) goto failed;
    const clump_world_place *place = clump_world_get_place(world);
    const float low = 10.0f * place->rank, high = low + 10, all = 10.0f * place->size;
    CLUMP_CHECK(&q, clump_heap_do_new(q.heap, clump_kernel_with(init, CLUMP_ARGS(low)), "Particle",
                                      1000, &made, NULL));

    const clump_migration_desc leaving = {
        .size = sizeof leaving, .heap = q.heap, .class_name = "Particle", .field = "leaves"};
    if (clump_migration_create(world, &leaving, &migration, NULL)) goto rank_failed;
    for (int step = 0; step < 10; step++) {
        CLUMP_CHECK(&q, clump_heap_do_all(
                            q.heap, clump_kernel_with(advance, CLUMP_ARGS(low, high, all)), NULL));
        if (clump_migration_run(migration, &report)) goto rank_failed;
        counts[1] += report.left;
    }

    /* Sums over all ranks: particles, and crossings of a border. */
    CLUMP_CHECK(&q, clump_heap_read_count(q.heap, "Particle", &counts[0]));
    if (clump_world_reduce(world, counts, 2, MPI_UINT64_T, MPI_SUM)) goto rank_failed;
    if (!place->rank)
        printf("%d ranks: %d particles, %d crossings\n", place->size, (int)counts[0],
               (int)counts[1]);

    clump_migration_destroy(migration);
    clump_world_destroy(world);
    clump_quick_close(&q);
    MPI_Finalize();
    return 0;

rank_failed: /* also if a neighbour failed or did not answer in time */
    q.error = *clump_world_get_error(world);
failed:
    fprintf(stderr, "%s\n", q.error.message);
    MPI_Abort(MPI_COMM_WORLD, 1);
    return 1;
}
