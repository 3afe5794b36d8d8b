/* A hundred trees leave the memory and come back. */
#include "caller.h"

#include "clump/evict.h"

static const char text[] = "class Tree { uint age; ref Tree next; }";

int main(void) {
    clump_quick q;
    CLUMP_CHECK(&q, clump_quick_open(&q, &(clump_quick_desc){.schema = text}));
    clump_heap *heap = NULL;
    fragment_1(q.context, clump_heap_get_info(q.heap)->schema, &heap);
    expect_no_error(&q);
    EXPECT(heap);

    uint32_t ages[100];
    for (uint32_t i = 0; i < 100; i++) ages[i] = i;
    const clump_struct_field age = {"age", 0};
    CLUMP_CHECK(&q, clump_heap_new_structs(
                        heap, &(clump_struct_desc){sizeof(clump_struct_desc), "Tree", 4, 1, &age},
                        ages, 100, NULL, NULL));
    uint64_t trees = 0;
    fragment_2(heap, &trees);
    EXPECT(trees == 100);
    EXPECT(clump_heap_get_info(heap)->evicted_objects == 0);
    uint32_t again[100] = {0}, sum = 0;
    CLUMP_CHECK(&q, clump_heap_read_field(heap, "Tree", "age", 0, sizeof *again, again, 100, NULL));
    for (int i = 0; i < 100; i++) sum += again[i];
    EXPECT(sum == 99 * 100 / 2);
    expect_no_error(&q);
    return 0;
}
