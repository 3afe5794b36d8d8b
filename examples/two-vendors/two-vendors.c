/* Devices of two vendors in one process, each with a context, a heap and a program. A heap belongs
 * to one device. Objects go from one heap to the other as C structs. If only one vendor has a
 * device, the program uses that device twice. */
#include <clump/clump.h>
#include <clump/quick.h>
#include <clump/structs.h>

enum { CELLS = 1000, PLATFORMS = 16 };

static const char schema[] = "class Cell { uint number; uint visits; }";

static const char kernels[] =
    "__kernel void make(CLUMP_HEAP) {\n"
    "    CLUMP_FOR_EACH_NEW(Cell, self, i) {\n"
    "        Cell_number(self) = i;\n"
    "        Cell_visits(self) = 0;\n"
    "    }\n"
    "}\n"
    "__kernel void visit(CLUMP_HEAP_NO_ALLOC) {\n"
    "    CLUMP_FOR_EACH(Cell, self) Cell_visits(self) += Cell_number(self);\n"
    "}\n";

typedef struct cell { /* `clump-schema --emit-c` writes such structs */
    uint32_t number, visits;
} cell;
static const clump_struct_field fields[] = {{"number", offsetof(cell, number)},
                                            {"visits", offsetof(cell, visits)}};
static const clump_struct_desc cell_desc = {sizeof cell_desc, "Cell", sizeof(cell), 2, fields};

/* Finds one device each of up to two vendors. Returns their number. */
static int open_two(clump_quick q[2]) {
    cl_platform_id platforms[PLATFORMS];
    char vendors[2][256] = {"", ""}, name[256];
    cl_uint count = 0;
    int opened = 0;
    clGetPlatformIDs(PLATFORMS, platforms, &count);
    for (cl_uint p = 0; p < count && p < PLATFORMS && opened < 2; p++) {
        clGetPlatformInfo(platforms[p], CL_PLATFORM_VENDOR, sizeof vendors[0], vendors[opened],
                          NULL);
        clGetPlatformInfo(platforms[p], CL_PLATFORM_NAME, sizeof name, name, NULL);
        if (opened && strcmp(vendors[0], vendors[1]) == 0) continue;
        clump_quick_desc desc = {.device = name, .schema = schema, .source = kernels};
        if (clump_quick_open(&q[opened], &desc)) continue; /* it has no device that Clump can use */
        fprintf(stderr, "vendor: %s, device: %s\n", vendors[opened], q[opened].name);
        opened++;
    }
    return opened;
}

int main(void) {
    clump_quick q[2];
    int vendors = open_two(q);
    if (vendors < 2) {
        fprintf(stderr, "there is one vendor: both heaps are on the same device\n");
        clump_quick_desc desc = {
            .device = vendors ? q[0].name : NULL, .schema = schema, .source = kernels};
        CLUMP_CHECK(&q[vendors], clump_quick_open(&q[vendors], &desc));
        if (!vendors) CLUMP_CHECK(&q[1], clump_quick_open(&q[1], &desc));
    }
    clump_kernel *make = clump_program_get_kernel(q[0].program, "make");
    clump_kernel *visit[2];
    for (int i = 0; i < 2; i++) visit[i] = clump_program_get_kernel(q[i].program, "visit");
    CLUMP_CHECK(&q[0], clump_heap_do_new(q[0].heap, make, "Cell", CELLS, NULL, NULL));
    CLUMP_CHECK(&q[0], clump_heap_do_all(q[0].heap, visit[0], NULL));

    static cell cells[CELLS];
    uint64_t count, made;
    CLUMP_CHECK(&q[0], clump_heap_read_structs(q[0].heap, &cell_desc, NULL, cells, CELLS, &count));
    CLUMP_CHECK(&q[1], clump_heap_new_structs(q[1].heap, &cell_desc, cells, count, NULL, &made));
    CLUMP_CHECK(&q[1], clump_heap_do_all(q[1].heap, visit[1], NULL));
    CLUMP_CHECK(&q[1], clump_heap_read_structs(q[1].heap, &cell_desc, NULL, cells, CELLS, &count));

    int wrong = 0;
    for (uint64_t i = 0; i < count; i++)
        if (cells[i].visits != 2 * cells[i].number) wrong++;
    printf("%d cells went from one heap to the other, %d wrong\n", (int)made, wrong);
    clump_quick_close(&q[0]);
    clump_quick_close(&q[1]);
    return wrong || count != CELLS;
}
