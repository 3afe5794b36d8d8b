/* A thousand bodies from structs; their places in a buffer, read by another queue; books with
 * tags. */
#include "caller.h"

int main(void) {
    clump_quick q;
    CLUMP_CHECK(&q, clump_quick_open(
                        &q, &(clump_quick_desc){
                                .schema = "class Body { float3 at; float mass; ref Body next; }"}));
    fragment_2(q.heap);
    static float masses[1000];
    CLUMP_CHECK(
        &q, clump_heap_read_field(q.heap, "Body", "mass", 0, sizeof *masses, masses, 1000, NULL));
    for (int i = 0; i < 1000; i++) EXPECT(masses[i] == 1.0f);
    EXPECT(count_of(&q, "Body") == 1000);
    static cl_float3 places[1000];
    static float seen[4000];
    cl_int code;
    for (int i = 0; i < 1000; i++) places[i].s[1] = (float)i;
    CLUMP_CHECK(&q, clump_heap_write_field(q.heap, "Body", "at", 0, sizeof *places, places, 1000));
    cl_mem vertices = clCreateBuffer(q.cl, CL_MEM_READ_WRITE, sizeof places, NULL, &code);
    EXPECT(code == CL_SUCCESS);
    cl_command_queue drawing = clCreateCommandQueue(q.cl, q.device, 0, &code);
    EXPECT(code == CL_SUCCESS);
    fragment_1(q.heap, q.queue, drawing, vertices, 1000, seen);
    for (int i = 0; i < 1000; i++) EXPECT(seen[4 * i + 1] == (float)i);
    clReleaseCommandQueue(drawing);
    clReleaseMemObject(vertices);
    expect_no_error(&q);
    clump_quick library;
    CLUMP_CHECK(&library,
                clump_quick_open(&library, &(clump_quick_desc){
                                               .schema = "class Book { uint id; uint tags[*] max "
                                                         "8; }"}));
    uint64_t offsets[4];
    uint32_t tags[24];
    fragment_3(library.heap, offsets, tags);
    EXPECT(offsets[1] == 2 && offsets[2] == 2 && offsets[3] == 5);
    EXPECT(tags[0] == 7 && tags[1] == 11 && tags[4] == 9);
    expect_no_error(&library);
    return 0;
}
