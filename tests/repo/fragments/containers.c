/* The grid of the page, brought up to date. */
#include "caller.h"

int main(void) {
    clump_quick q;
    CLUMP_CHECK(&q, clump_quick_open(&q, &(clump_quick_desc){.schema = text_of("page.schema"),
                                                             .source = text_of("page.cl")}));
    cl_mem grid = clCreateBuffer(q.cl, CL_MEM_READ_WRITE, sizeof(clump_ref), NULL, NULL);
    static const char *const names[] = {"make_grid", "cell_keys", "room_for", "note_cells",
                                        "count_near"};
    clump_kernel *kernels[5];
    for (int i = 0; i < 5; i++) {
        kernels[i] = kernel_of(&q, names[i]);
        CLUMP_CHECK(&q, clump_kernel_set_arg(kernels[i], i == 1, sizeof grid,
                                             &grid)); /* parameter 0 of cell_keys: the keys */
    }
    CLUMP_CHECK(&q, clump_heap_do_new(q.heap, kernels[0], "Cells", 1, NULL, NULL));
    make(&q, "Body", 10000, "make_bodies");
    fragment_1(q.heap, kernels[1], kernels[2], kernels[3]);
    CLUMP_CHECK(&q, clump_heap_do_all(q.heap, kernels[4], NULL));
    uint32_t most;
    CLUMP_CHECK(&q,
                clump_heap_reduce(q.heap, kernel_of(&q, "most_near"), sizeof most, &most, NULL));
    expect_no_error(&q);
    EXPECT(most == 12); /* as the page's run says */
    return 0;
}
