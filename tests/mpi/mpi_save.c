/* Heaps of all ranks in one file: loaded again they are equal, object by object; what is wrong is
 * refused on all ranks.
 *
 *   mpi_save FOLDER          save, load and compare; files that are cut off or altered
 *   mpi_save FOLDER load     load what another number of ranks saved: refused; and its parts, which
 *                            go to the ranks in turn
 */
#include <sys/stat.h>

#include "sized.h"
/* After the above. */
#include "ranks.h"

static const char schema[] = "class Node { uint number; ref Node next; float x; }";
typedef struct node {
    uint32_t number;
    clump_ref next;
    float x;
} node;
static const clump_struct_field fields[] = {
    {"number", offsetof(node, number)}, {"next", offsetof(node, next)}, {"x", offsetof(node, x)}};
static const clump_struct_desc desc = {sizeof desc, "Node", sizeof(node), 3, fields};

enum { PARTS_MOST = 16, BEFORE = 9000000 };

/* Ranks have different numbers of objects; rank 1 has none. */
static uint32_t count_of(int rank) {
    return rank == 1 ? 0 : 1000u + 777u * (uint32_t)rank;
}

static void make(void) {
    const uint32_t count = count_of(ranks_rank);
    node *nodes = calloc(count + 1, sizeof *nodes);
    clump_ref *refs = calloc(count + 1, sizeof *refs);
    for (uint32_t i = 0; i < count; i++)
        nodes[i] = (node){.number = i + 100000u * (uint32_t)ranks_rank, .x = i * 0.5f};
    CLUMP_CHECK(&ranks_q, clump_heap_new_structs(ranks_q.heap, &desc, nodes, count, refs, NULL));
    for (uint32_t i = 0; i < count; i++) nodes[i].next = refs[(i * 7 + 1) % count];
    CLUMP_CHECK(&ranks_q, clump_heap_write_structs(ranks_q.heap, &desc, refs, nodes, count));
    free(nodes);
    free(refs);
}

static void check_loaded(clump_heap *heap) {
    const uint32_t count = count_of(ranks_rank);
    node *nodes = calloc(count + 1, sizeof *nodes);
    uint64_t found = 0;
    CLUMP_CHECK(&ranks_q, clump_heap_read_structs(heap, &desc, NULL, nodes, count + 1, &found));
    CHECK(found == count);
    for (uint32_t i = 0; i < count; i += 17) {
        uint32_t next, n = nodes[i].number - 100000u * (uint32_t)ranks_rank;
        CHECK(n < count && nodes[i].x == n * 0.5f);
        CLUMP_CHECK(&ranks_q, clump_heap_read_object_field(heap, "Node", "number", 0, nodes[i].next,
                                                           sizeof(next), &next));
        CHECK(next == (n * 7 + 1) % count + 100000u * (uint32_t)ranks_rank);
    }
    free(nodes);
    CLUMP_CHECK(&ranks_q, clump_heap_check(heap));
}

/* One object that was there before, and those of the parts: values, and references within each
 * part. */
static void check_parts(clump_heap *heap, const uint32_t *parts, uint32_t part_count) {
    uint32_t expected = 1, of_part[PARTS_MOST] = {0};
    for (uint32_t i = 0; i < part_count; i++) expected += count_of((int)parts[i]);
    node *nodes = calloc(expected, sizeof *nodes);
    uint64_t found = 0;
    CLUMP_CHECK(&ranks_q, clump_heap_read_structs(heap, &desc, NULL, nodes, expected, &found));
    CHECK(found == expected);
    for (uint32_t i = 0; i < expected; i++) {
        if (nodes[i].number == BEFORE) continue;
        const uint32_t part = nodes[i].number / 100000u, n = nodes[i].number % 100000u;
        uint32_t next;
        CHECK(part < PARTS_MOST && n < count_of((int)part) && nodes[i].x == n * 0.5f);
        of_part[part]++;
        if (n % 17) continue;
        CLUMP_CHECK(&ranks_q, clump_heap_read_object_field(heap, "Node", "number", 0, nodes[i].next,
                                                           sizeof(next), &next));
        CHECK(next == (n * 7 + 1) % count_of((int)part) + 100000u * part);
    }
    for (uint32_t i = 0; i < part_count; i++) CHECK(of_part[parts[i]] == count_of((int)parts[i]));
    free(nodes);
    CLUMP_CHECK(&ranks_q, clump_heap_check(heap));
}

static clump_heap *empty_heap(void) {
    clump_heap *heap;
    clump_schema *s;
    CLUMP_CHECK(&ranks_q, clump_schema_parse(schema, strlen(schema), NULL, &s, &ranks_q.error));
    CLUMP_CHECK(&ranks_q, clump_heap_create(&(clump_heap_desc){.size = sizeof(clump_heap_desc),
                                                               .context = ranks_q.context,
                                                               .schema = s,
                                                               .bytes = 2 << 20},
                                            &heap, NULL));
    clump_schema_destroy(s);
    return heap;
}

static void barrier(void) {
    MPI_Barrier(MPI_COMM_WORLD);
}

/* A copy of the file by rank 0, with `cut` bytes less, or one byte altered. */
static void copy_file(const char *from, const char *to, long cut, long altered) {
    if (!ranks_rank) {
        FILE *in = fopen(from, "rb"), *out = fopen(to, "wb");
        CHECK(in && out && !fseek(in, 0, SEEK_END));
        const long size = ftell(in);
        char *data = malloc((size_t)size);
        rewind(in);
        CHECK(fread(data, 1, (size_t)size, in) == (size_t)size);
        if (altered >= 0) data[altered] ^= 4;
        CHECK(fwrite(data, 1, (size_t)(size - cut), out) == (size_t)(size - cut));
        fclose(in);
        CHECK(!fclose(out));
        free(data);
    }
    barrier();
}

/* Refused on each rank, here or elsewhere; and the world goes on. */
static void refused(clump_world *world, const char *path, const char *words) {
    clump_heap *heap = empty_heap();
    clump_status status = clump_world_load(world, heap, path, NULL, NULL);
    CHECK(status == CLUMP_ERR_FORMAT || status == CLUMP_ERR_RANK);
    int is_named = !!strstr(clump_world_get_error(world)->message, words);
    CHECK_WORLD(world, clump_world_reduce(world, &is_named, 1, MPI_INT, MPI_MAX));
    CHECK(is_named);
    clump_heap_destroy(heap);
}

/* What rank 0 asks for is refused, and so all fail, though the others ask for nothing of a good
 * file. The heap has what it had. */
static void parts_refused(clump_world *world, clump_heap *heap, const char *good, const char *path,
                          const uint32_t *parts, uint32_t count, clump_status status,
                          const char *words) {
    clump_extract_report report = {.size = sizeof report, .objects = 7};
    const clump_status got = clump_world_load_parts(world, heap, ranks_rank ? good : path, parts,
                                                    ranks_rank ? 0 : count, NULL, &report);
    CHECK(got == (ranks_rank ? CLUMP_ERR_RANK : status));
    CHECK(ranks_rank || strstr(clump_world_get_error(world)->message, words));
    CHECK(!report.objects);
    check_parts(heap, NULL, 0);
}

/* Each part goes to one rank; where ranks are more, each has one part, and several have the
 * same. */
static void load_parts(clump_world *world, const char *path) {
    char bad[1010];
    clump_heap *heap = empty_heap();
    const node before = {.number = BEFORE};
    clump_world_saved saved = {.size = sizeof saved};
    clump_extract_report report = {.size = sizeof report};
    uint32_t parts[PARTS_MOST], count = 0, objects = 0;
    CLUMP_CHECK(&ranks_q, clump_heap_new_structs(heap, &desc, &before, 1, NULL, NULL));
    CHECK_WORLD(world, clump_world_read_saved(world, path, &saved));
    CHECK(saved.ranks == 4 && saved.dimensions == 1 && saved.domains[0] == 4 &&
          saved.domains[1] == 1 && saved.domains[2] == 1);
    for (uint32_t p = saved.ranks; p-- > 0;)
        if ((int)p % ranks_size == ranks_rank % (int)saved.ranks) parts[count++] = p;
    for (uint32_t i = 0; i < count; i++) objects += count_of((int)parts[i]);

    parts_refused(world, heap, path, path, (uint32_t[]){2, 4}, 2, CLUMP_ERR_USAGE,
                  "part 4, but the file has parts 0 to 3");
    parts_refused(world, heap, path, path, (uint32_t[]){3, 0, 3}, 3, CLUMP_ERR_USAGE,
                  "part 3 twice");
    parts_refused(world, heap, path, path, NULL, 1, CLUMP_ERR_USAGE, "the numbers of parts");
    snprintf(bad, sizeof bad, "%s.bad", path);
    copy_file(path, bad, 0, 2000);
    parts_refused(world, heap, path, bad, (uint32_t[]){0}, 1, CLUMP_ERR_FORMAT, "");
    copy_file(path, bad, 0, 20);
    parts_refused(world, heap, path, bad, NULL, 0, CLUMP_ERR_FORMAT, "its head is damaged");
    CHECK(clump_world_read_saved(world, bad, &saved) == CLUMP_ERR_FORMAT && !saved.ranks);
    CHECK(clump_world_read_saved(world, "no/such/file", &saved) == CLUMP_ERR_IO);

    CHECK_WORLD(world, clump_world_load_parts(world, heap, path, parts, count, NULL, &report));
    CHECK(report.objects == objects);
    check_parts(heap, parts, count);
    clump_heap_destroy(heap);
}

/* Through a link, which stays, as does the mode of the file behind it; and not into a pipe, neither
 * under the name nor under that of the part. */
static void save_elsewhere(clump_world *world, const char *folder, const char *path) {
    char name[1020], pipe[1010];
    struct stat is;
    snprintf(name, sizeof name, "%s/link", folder);
    snprintf(pipe, sizeof pipe, "%s/pipe", folder);
    if (!ranks_rank)
        CHECK(!chmod(path, 0600) && !symlink("world.clump", name) && !mkfifo(pipe, 0600));
    barrier();
    CHECK_WORLD(world, clump_world_save(world, ranks_q.heap, name, NULL, NULL));
    CHECK(!lstat(name, &is) && S_ISLNK(is.st_mode));
    CHECK(!lstat(path, &is) && S_ISREG(is.st_mode) && (is.st_mode & 07777) == 0600);
    for (int is_part = 0; is_part < 2; is_part++) {
        const clump_status status = clump_world_save(world, ranks_q.heap, pipe, NULL, NULL);
        CHECK(status == CLUMP_ERR_IO || (is_part && ranks_rank && status == CLUMP_ERR_RANK));
        CHECK(status == CLUMP_ERR_RANK ||
              strstr(clump_world_get_error(world)->message, is_part ? "created" : "a pipe"));
        barrier();
        snprintf(name, sizeof name, "%s%s", pipe, is_part ? ".part" : "");
        CHECK(!lstat(name, &is) && S_ISFIFO(is.st_mode));
        barrier();
        if (!ranks_rank && !is_part) {
            snprintf(name, sizeof name, "%s.part", pipe);
            CHECK(!rename(pipe, name));
        }
        barrier();
    }
}

/* Wrong sizes; all ranks make these calls. `path` has what the world saved. */
static clump_world *sized_world;
static const char *sized_path;
static const clump_save_desc save_desc = {.size = sizeof save_desc};
static const clump_load_desc load_desc = {.size = sizeof load_desc};

static clump_status tell(clump_status status, clump_error *error) {
    *error = *clump_world_get_error(sized_world);
    return status;
}

static clump_status save_with(void *how, clump_error *error) {
    return tell(clump_world_save(sized_world, ranks_q.heap, sized_path, how, NULL), error);
}

static clump_status save_reported(void *report, clump_error *error) {
    return tell(clump_world_save(sized_world, ranks_q.heap, sized_path, NULL, report), error);
}

/* Into a heap of its own. */
static clump_status load_as(const clump_load_desc *how, clump_load_report *report,
                            clump_error *error) {
    clump_heap *heap = empty_heap();
    clump_status status = tell(clump_world_load(sized_world, heap, sized_path, how, report), error);
    clump_heap_destroy(heap);
    return status;
}

static clump_status load_with(void *how, clump_error *error) {
    return load_as(how, NULL, error);
}

static clump_status load_reported(void *report, clump_error *error) {
    return load_as(NULL, report, error);
}

static clump_status load_parts_as(const clump_load_desc *how, clump_extract_report *report,
                                  clump_error *error) {
    const uint32_t part = (uint32_t)ranks_rank;
    clump_heap *heap = empty_heap();
    clump_status status =
        tell(clump_world_load_parts(sized_world, heap, sized_path, &part, 1, how, report), error);
    clump_heap_destroy(heap);
    return status;
}

static clump_status load_parts_with(void *how, clump_error *error) {
    return load_parts_as(how, NULL, error);
}

static clump_status load_parts_reported(void *report, clump_error *error) {
    return load_parts_as(NULL, report, error);
}

static clump_status read_head(void *saved, clump_error *error) {
    return tell(clump_world_read_saved(sized_world, sized_path, saved), error);
}

static void try_sizes(clump_world *world, const char *path) {
    static const sized_case cases[] = {
        SIZED_TAKEN(clump_save_desc, &save_desc, save_with),
        SIZED_TOLD(clump_save_report, save_reported),
        SIZED_TAKEN(clump_load_desc, &load_desc, load_with),
        SIZED_TOLD(clump_load_report, load_reported),
        SIZED_TAKEN(clump_load_desc, &load_desc, load_parts_with),
        SIZED_TOLD(clump_extract_report, load_parts_reported),
        SIZED_TOLD(clump_world_saved, read_head),
    };
    sized_world = world;
    sized_path = path;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) ranks_check_sized(&cases[i]);
}

int main(int argc, char **argv) {
    char path[1000], bad[1010];
    clump_save_report saved = {.size = sizeof saved};
    clump_load_report loaded = {.size = sizeof loaded};
    CHECK(argc > 1);
    snprintf(path, sizeof path, "%s/world.clump", argv[1]);
    snprintf(bad, sizeof bad, "%s.bad", path);
    ranks_open(schema, NULL, 4 << 20);
    clump_world *world =
        ranks_world((clump_world_desc){.size = sizeof(clump_world_desc), .timeout_s = 30});
    if (argc > 2) {
        clump_status status = clump_world_load(world, ranks_q.heap, path, NULL, NULL);
        CHECK(status == CLUMP_ERR_USAGE);
        CHECK(strstr(clump_world_get_error(world)->message, "Load it with as many"));
        load_parts(world, path);
    } else {
        make();
        CHECK_WORLD(world, clump_world_save(world, ranks_q.heap, path,
                                            &(clump_save_desc){.size = sizeof(clump_save_desc),
                                                               .piece_bytes = 4096},
                                            &saved));
        CHECK(saved.objects == count_of(ranks_rank));
        snprintf(bad, sizeof bad, "%s.part", path);
        CHECK(access(bad, F_OK));
        clump_heap *heap = empty_heap();
        CHECK_WORLD(world, clump_world_load(world, heap, path, NULL, &loaded));
        CHECK(loaded.objects == saved.objects && loaded.bytes == saved.bytes);
        check_loaded(heap);
        clump_heap_destroy(heap);

        snprintf(bad, sizeof bad, "%s.bad", path);
        copy_file(path, bad, 10, -1);
        refused(world, bad, "");
        copy_file(path, bad, 0, 3);
        refused(world, bad, "it was not written by clump_world_save()");
        copy_file(path, bad, 0, 20);
        refused(world, bad, "its head is damaged");
        copy_file(path, bad, 0, 70);
        refused(world, bad, "its table is cut off or damaged");
        copy_file(path, bad, 0, 2000);
        refused(world, bad, "");

        /* One rank has no heap to save: all fail, the file stays. */
        if (ranks_size > 1) {
            clump_status status =
                clump_world_save(world, ranks_rank == 1 ? NULL : ranks_q.heap, path, NULL, NULL);
            CHECK(status == (ranks_rank == 1 ? CLUMP_ERR_USAGE : CLUMP_ERR_RANK));
        }
        heap = empty_heap();
        CHECK_WORLD(world, clump_world_load(world, heap, path, NULL, NULL));
        clump_heap_destroy(heap);
        try_sizes(world, path);
        save_elsewhere(world, argv[1], path);
        snprintf(bad, sizeof bad, "%s/no/such/folder", argv[1]);
        clump_status status = clump_world_save(world, ranks_q.heap, bad, NULL, NULL);
        CHECK(status == (ranks_rank ? CLUMP_ERR_RANK : CLUMP_ERR_IO));
    }
    clump_world_destroy(world);
    ranks_close();
    return 0;
}
