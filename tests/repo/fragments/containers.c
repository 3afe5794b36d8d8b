/* The grid of the page, brought up to date. */
#include "caller.h"

int main(void) {
    clump_quick q;
    CLUMP_CHECK(&q, clump_quick_open(&q, &(clump_quick_desc){.schema = text_of("page.schema"),
                                                             .source = text_of("page.cl")}));
    cl_mem grid = clCreateBuffer(q.cl, CL_MEM_READ_WRITE, sizeof(clump_ref), NULL, NULL);
    clump_kernel *make_grid = clump_program_get_kernel(q.program, "make_grid");
    clump_kernel *cell_keys = clump_program_get_kernel(q.program, "cell_keys");
    clump_kernel *room_for = clump_program_get_kernel(q.program, "room_for");
    clump_kernel *note_cells = clump_program_get_kernel(q.program, "note_cells");
    clump_kernel *count_near = clump_program_get_kernel(q.program, "count_near");
    clump_kernel *most_near = clump_program_get_kernel(q.program, "most_near");
    CLUMP_CHECK(&q, clump_kernel_set_arg(cell_keys, 1, sizeof grid, &grid)); /* 0: the keys */
    CLUMP_CHECK(&q, clump_heap_do_new(q.heap, clump_kernel_with(make_grid, CLUMP_ARGS(grid)),
                                      "Cells", 1, NULL, NULL));
    make(&q, "Body", 10000, "make_bodies");
    fragment_1(q.heap, cell_keys, room_for, clump_kernel_with(note_cells, CLUMP_ARGS(grid)), grid);
    CLUMP_CHECK(&q,
                clump_heap_do_all(q.heap, clump_kernel_with(count_near, CLUMP_ARGS(grid)), NULL));
    uint32_t most;
    CLUMP_CHECK(&q, clump_heap_reduce(q.heap, most_near, sizeof most, &most, NULL));
    expect_no_error(&q);
    EXPECT(most == 12); /* as the page's run says */
    return 0;
}
