/* The host's part of a CUDA program with malloc() in its kernels, ported to OpenCL. kernels.cu has
 * the kernels before and kernels.cl after the port. The heap has only raw memory, so it needs no
 * schema. */
#include <clump/clump.h>
#include <clump/quick.h>

enum { LISTS = 2000, KEYS = 4096, BUCKETS = 512 }; /* KEYS and BUCKETS as in kernels.cl */

static char *read_kernels(void) {
    FILE *file = fopen(KERNELS, "rb");
    char *text = calloc(1, 1 << 16);
    if (!file || !text || !fread(text, 1, (1 << 16) - 1, file)) {
        fprintf(stderr, "cannot read %s\n", KERNELS);
        exit(1);
    }
    fclose(file);
    return text;
}

static cl_mem make_zeros(clump_quick *q, size_t words) {
    cl_int code;
    cl_uint *zeros = calloc(words, sizeof *zeros);
    cl_mem buffer =
        clCreateBuffer(q->cl, CL_MEM_COPY_HOST_PTR, words * sizeof *zeros, zeros, &code);
    CLUMP_CHECK(q->cl, code);
    free(zeros);
    return buffer;
}

/* A launch of at least `items` work-items, rounded up to groups of 64. */
static void launch(clump_quick *q, const char *name, const clump_arg *args, uint32_t count,
                   size_t items) {
    clump_kernel *kernel = clump_program_get_kernel(q->program, name);
    CLUMP_CHECK(q, clump_heap_launch(q->heap, clump_kernel_with(kernel, args, count),
                                     (items + 63) / 64 * 64, 64, NULL));
}

static cl_uint read_word(clump_quick *q, cl_mem buffer) {
    cl_uint word;
    CLUMP_CHECK(q->queue, clEnqueueReadBuffer(q->queue, buffer, CL_TRUE, 0, sizeof word, &word, 0,
                                              NULL, NULL));
    return word;
}

int main(void) {
    char *kernels = read_kernels();
    clump_quick q;
    CLUMP_CHECK(&q,
                clump_quick_open(&q, &(clump_quick_desc){.source = kernels, .heap = {.raw = 1}}));
    cl_mem lists = make_zeros(&q, LISTS), root = make_zeros(&q, 1), table = make_zeros(&q, BUCKETS);
    cl_mem sum = make_zeros(&q, 1), found = make_zeros(&q, 1), items = make_zeros(&q, 1);
    cl_mem lost = make_zeros(&q, 1);
    cl_uint expected = 0;
    for (cl_uint me = 0; me < LISTS; me++)
        for (cl_uint i = 0; i < me % 16; i++) expected += me + i;

    launch(&q, "make_lists", CLUMP_ARGS(lists, LISTS), LISTS);
    launch(&q, "free_lists", CLUMP_ARGS(lists, LISTS, sum), LISTS);
    launch(&q, "grow_tree", CLUMP_ARGS(root, lost), KEYS);
    launch(&q, "look_up", CLUMP_ARGS(root, found), KEYS);
    launch(&q, "fill_table", CLUMP_ARGS(table, lost), KEYS);
    launch(&q, "empty_table", CLUMP_ARGS(table, items), BUCKETS);
    CLUMP_CHECK(&q, clump_heap_take_errors(q.heap, NULL)); /* reports a null or a double free */

    cl_uint right = read_word(&q, sum) == expected, keys = read_word(&q, found);
    cl_uint in_table = read_word(&q, items), without_room = read_word(&q, lost);
    clump_heap_stats stats = {.size = sizeof stats};
    CLUMP_CHECK(&q, clump_heap_read_stats(q.heap, &stats, NULL, 0));
    printf("lists: %s sum\n", right ? "right" : "wrong");
    printf("tree: %u of %d keys found\n", (unsigned)keys, KEYS);
    printf("table: %u of %d keys, %u lost\n", (unsigned)in_table, KEYS, (unsigned)without_room);
    printf("in use: %d bytes, the tree\n", (int)stats.raw_bytes);

    cl_mem buffers[] = {lists, root, table, sum, found, items, lost};
    for (size_t i = 0; i < sizeof buffers / sizeof *buffers; i++) clReleaseMemObject(buffers[i]);
    clump_quick_close(&q);
    free(kernels);
    return !(right && keys == KEYS && in_table == KEYS && !without_room &&
             stats.raw_bytes == KEYS * 16);
}
