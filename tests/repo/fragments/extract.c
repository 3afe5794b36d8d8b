/* Ten fish: those of cells that leave, and all of them by way of the host, and of a file. */
#include "caller.h"

static const char schema[] = "class Cell { uint leaves; } class Fish { float x; }";

static uint64_t objects_of(clump_quick *q) {
    return count_of(q, "Cell") + count_of(q, "Fish");
}

int main(void) {
    clump_quick q, there;
    CLUMP_CHECK(&q, clump_quick_open(&q, &(clump_quick_desc){.schema = schema}));
    CLUMP_CHECK(&there, clump_quick_open(&there, &(clump_quick_desc){.schema = schema}));
    float xs[10];
    uint32_t leaves[10];
    for (int i = 0; i < 10; i++) {
        xs[i] = (float)i;
        leaves[i] = i < 4;
    }
    const clump_struct_field x = {"x", 0}, leave = {"leaves", 0};
    CLUMP_CHECK(&q, clump_heap_new_structs(
                        q.heap, &(clump_struct_desc){sizeof(clump_struct_desc), "Fish", 4, 1, &x},
                        xs, 10, NULL, NULL));
    CLUMP_CHECK(&q,
                clump_heap_new_structs(
                    q.heap, &(clump_struct_desc){sizeof(clump_struct_desc), "Cell", 4, 1, &leave},
                    leaves, 10, NULL, NULL));

    const char *classes[] = {"Fish"};
    clump_extract *moved;
    CLUMP_CHECK(&q, clump_heap_extract(q.heap,
                                       &(clump_extract_desc){.size = sizeof(clump_extract_desc),
                                                             .classes = classes,
                                                             .class_count = 1},
                                       &moved, NULL));
    float read[10] = {0};
    fragment_1(moved, q.queue, read);
    float sum = 0;
    for (int i = 0; i < 10; i++) sum += read[i];
    EXPECT(sum == 45);

    fragment_2(q.heap, there.heap);
    EXPECT(objects_of(&q) == 16 && objects_of(&there) == 4);

    fragment_3(moved, there.context, clump_heap_get_info(q.heap)->schema, there.heap);
    EXPECT(objects_of(&q) == 16 && objects_of(&there) == 14);

    CLUMP_CHECK(&q, clump_heap_save(q.heap,
                                    &(clump_save_desc){.size = sizeof(clump_save_desc),
                                                       .path = "extract.clump"},
                                    NULL));
    fragment_4(there.heap, there.context, "extract.clump");
    EXPECT(objects_of(&q) == 16 && objects_of(&there) == 30);
    remove("extract.clump");
    expect_no_error(&q);
    expect_no_error(&there);
    return 0;
}
