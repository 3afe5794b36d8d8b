/* A rank that dies gives the others an error within their deadline, and not a hang: it is killed
 * before a halo, a migration, an agreement, a reduction, a save, a load, or a load of parts.
 * Started by dead.sh, so that the launcher does not see that it died.
 *
 *   mpi_dead CALL FILE
 *
 * Each survivor prints a line; its status is 0 if all is as it should be.
 */
#include <signal.h>

#include "ranks.h"

#define TIMEOUT_S 2.0

static const char *path;

static clump_status run(const char *call, clump_world *world, clump_halo *halo,
                        clump_migration *migration) {
    uint64_t number = 1;
    if (!strcmp(call, "halo")) {
        clump_status status = clump_halo_begin(halo);
        return status ? status : clump_halo_end(halo, NULL);
    }
    if (!strcmp(call, "migration")) return clump_migration_run(migration, NULL);
    if (!strcmp(call, "agree")) return clump_world_agree(world, CLUMP_OK);
    if (!strcmp(call, "reduce"))
        return clump_world_reduce(world, &number, 1, MPI_UINT64_T, MPI_SUM);
    if (!strcmp(call, "save")) return clump_world_save(world, ranks_q.heap, path, NULL, NULL);
    if (!strcmp(call, "parts")) {
        const uint32_t own = (uint32_t)ranks_rank;
        return clump_world_load_parts(world, ranks_q.heap, path, &own, 1, NULL, NULL);
    }
    CHECK(!strcmp(call, "load"));
    return clump_world_load(world, ranks_q.heap, path, NULL, NULL);
}

int main(int argc, char **argv) {
    CHECK(argc > 2);
    path = argv[2];
    ranks_open("class Ball { uint leaves; }", NULL, 1 << 20);
    clump_world *world = ranks_world((clump_world_desc){
        .size = sizeof(clump_world_desc), .periodic = {1}, .timeout_s = TIMEOUT_S});
    clump_halo *halo;
    clump_migration *migration;
    cl_int code;
    cl_mem buffer = clCreateBuffer(ranks_q.cl, CL_MEM_READ_WRITE, 1 << 20, NULL, &code);
    CHECK_WORLD(world, clump_halo_create(world,
                                         &(clump_halo_desc){.size = sizeof(clump_halo_desc),
                                                            .send = buffer,
                                                            .receive = buffer,
                                                            .send_bytes = {1 << 18, 1 << 18},
                                                            .receive_at = {1 << 19, 3 << 18},
                                                            .receive_bytes = {1 << 18, 1 << 18}},
                                         &halo, NULL));
    CHECK_WORLD(world,
                clump_migration_create(world,
                                       &(clump_migration_desc){.size = sizeof(clump_migration_desc),
                                                               .heap = ranks_q.heap,
                                                               .class_name = "Ball",
                                                               .field = "leaves"},
                                       &migration, NULL));
    MPI_Barrier(MPI_COMM_WORLD);                             /* compilers have run */
    CHECK_WORLD(world, run("halo", world, halo, migration)); /* all is well */
    CHECK_WORLD(world, run("migration", world, halo, migration));
    CHECK_WORLD(world, run("save", world, halo, migration)); /* what is loaded */
    if (ranks_rank == 1) kill(getpid(), SIGKILL);
    const double before = MPI_Wtime();
    clump_status status = run(argv[1], world, halo, migration);
    const double took = MPI_Wtime() - before;
    if (status != CLUMP_ERR_RANK || took > TIMEOUT_S + 3) {
        printf("rank %d: status %d after %.1f s\n", ranks_rank, status, took);
        fflush(stdout);
        _exit(1);
    }
    const char *words = clump_world_get_error(world)->message;
    const int is_named = strstr(words, "answer") != NULL;
    /* Broken: each further call fails at once, and so does the destruction of everything. */
    const double again = MPI_Wtime();
    status = run("halo", world, halo, migration);
    const int is_broken =
        status == CLUMP_ERR_RANK && run("agree", world, halo, migration) == CLUMP_ERR_RANK;
    clump_halo_destroy(halo);
    clump_migration_destroy(migration);
    printf("rank %d: %s %s %s\n", ranks_rank, is_named ? "told" : "not told",
           is_broken && MPI_Wtime() - again < 1 ? "and broken:" : "and not broken:", words);
    clump_world_destroy(world);
    fflush(stdout);
    _exit(is_named && is_broken ? 0 : 1);
}
