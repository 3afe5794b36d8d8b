/* What host/core/files.c does on Windows: a heap is saved, saved over and loaded; a second save
 * meanwhile is refused; one that is stopped leaves no file; built programs are kept. Works in the
 * current folder. The tests of save and cache do the same and more on POSIX. */
#include <clump/all.h>
#include <clump/quick.h>
#include <dirent.h>
#include <string.h>

static const char schema[] = "class Cell { uint value; }";
static const char kernels[] =
    "__kernel void fill(CLUMP_HEAP) { CLUMP_FOR_EACH_NEW(Cell, c, i) Cell_value(c) = 3 * i; }";

static int failures;
#define EXPECT(what)                                                                               \
    ((what) ? (void)0 : (void)(failures++, printf("FAILED: line %d: %s\n", __LINE__, #what)))

static clump_quick q;

/* Files of the folder whose names end so. */
static int count_files(const char *folder, const char *end) {
    int count = 0;
    DIR *d = opendir(folder);
    for (struct dirent *e; d && (e = readdir(d)) != NULL;) {
        size_t bytes = strlen(e->d_name), tail = strlen(end);
        count += bytes > tail && strcmp(e->d_name + bytes - tail, end) == 0;
    }
    if (d) closedir(d);
    return count;
}

static int save_meanwhile(void *user, uint64_t done, uint64_t all) {
    (void)user, (void)done, (void)all;
    EXPECT(clump_heap_save(q.heap,
                           &(clump_save_desc){.size = sizeof(clump_save_desc), .path = "heap"},
                           NULL) == CLUMP_ERR_IO);
    EXPECT(strstr(clump_context_get_error(q.context)->message, "another save to heap"));
    return 0;
}

static int stop(void *user, uint64_t done, uint64_t all) {
    (void)user, (void)done, (void)all;
    return 1;
}

int main(void) {
    clump_kernel *fill;
    uint64_t count = 0;
    const clump_quick_desc desc = {
        .schema = schema, .source = kernels, .context.cache.folder = "kept/programs"};
    CLUMP_CHECK(&q, clump_quick_open(&q, &desc));
    EXPECT(count_files("kept/programs", ".clump") > 0);
    CLUMP_CHECK(&q, clump_kernel_create(q.program, "fill", &fill, NULL));
    for (int i = 0; i < 2; i++) { /* the second replaces the first; line ends among the values */
        CLUMP_CHECK(&q, clump_heap_do_new(q.heap, fill, "Cell", 2000, NULL, NULL));
        CLUMP_CHECK(&q, clump_heap_save(q.heap,
                                        &(clump_save_desc){.size = sizeof(clump_save_desc),
                                                           .path = "heap",
                                                           .progress = save_meanwhile},
                                        NULL));
    }
    EXPECT(clump_heap_save(q.heap,
                           &(clump_save_desc){
                               .size = sizeof(clump_save_desc), .path = "other", .progress = stop},
                           NULL) == CLUMP_ERR_IO);
    EXPECT(count_files(".", "other") + count_files(".", ".part") == 0);
    CLUMP_CHECK(
        &q, clump_saved_read(&(clump_load_desc){.size = sizeof(clump_load_desc), .path = "heap"},
                             NULL, NULL, NULL, &q.error));
    clump_kernel_destroy(fill);
    clump_quick_close(&q);

    CLUMP_CHECK(&q, clump_quick_open(&q, &desc));
    CLUMP_CHECK(
        &q, clump_heap_load(
                q.heap, &(clump_load_desc){.size = sizeof(clump_load_desc), .path = "heap"}, NULL));
    CLUMP_CHECK(&q, clump_heap_read_count(q.heap, "Cell", &count));
    EXPECT(count == 4000);
    EXPECT(clump_heap_load(q.heap,
                           &(clump_load_desc){.size = sizeof(clump_load_desc), .path = "none"},
                           NULL) == CLUMP_ERR_IO);
    clump_quick_close(&q);
    printf("%d failures\n", failures);
    return failures != 0;
}
