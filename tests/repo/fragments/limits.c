/* Fish and birds on a queue each. */
#include "caller.h"

#include "clump/structs.h"

static const char schema[] = "class Animal { uint steps; uint rests; }";
static const char source[] =
    "__kernel void move(CLUMP_HEAP_NO_ALLOC) { CLUMP_FOR_EACH(Animal, a) Animal_steps(a) += 1u; }\n"
    "__kernel void rest(CLUMP_HEAP_NO_ALLOC) { CLUMP_FOR_EACH(Animal, a) Animal_rests(a) += "
    "Animal_steps(a); }\n";

static cl_command_queue queue_like(const clump_quick *q) {
    cl_int code = CL_SUCCESS;
    cl_command_queue queue = clCreateCommandQueue(q->cl, q->device, 0, &code);
    EXPECT(!code);
    return queue;
}

static uint32_t sum_of(clump_quick *q, clump_heap *heap, const char *field) {
    uint32_t values[100], sum = 0;
    CLUMP_CHECK(q,
                clump_heap_read_field(heap, "Animal", field, 0, sizeof *values, values, 100, NULL));
    for (int i = 0; i < 100; i++) sum += values[i];
    return sum;
}

int main(void) {
    clump_quick q;
    CLUMP_CHECK(&q, clump_quick_open(&q, &(clump_quick_desc){.schema = schema, .source = source}));
    clump_heap_desc desc = {.size = sizeof desc,
                            .context = q.context,
                            .schema = clump_heap_get_info(q.heap)->schema,
                            .bytes = clump_heap_get_info(q.heap)->bytes};
    clump_heap *birds;
    CLUMP_CHECK(&q, clump_heap_create(&desc, &birds, NULL));
    static const uint32_t zeros[200];
    const clump_struct_field fields[] = {{"steps", 0}, {"rests", 4}};
    const clump_struct_desc animals = {sizeof animals, "Animal", 8, 2, fields};
    CLUMP_CHECK(&q, clump_heap_new_structs(q.heap, &animals, zeros, 100, NULL, NULL));
    CLUMP_CHECK(&q, clump_heap_new_structs(birds, &animals, zeros, 100, NULL, NULL));
    cl_command_queue first = queue_like(&q), second = queue_like(&q);
    clump_program *program;
    CLUMP_CHECK(&q, clump_program_create(
                        &(clump_program_desc){
                            .size = sizeof(clump_program_desc), .heap = birds, .source = source},
                        &program, NULL));
    fragment_1(q.context, first, second, q.heap, birds, clump_program_get_kernel(q.program, "move"),
               clump_program_get_kernel(program, "move"),
               clump_program_get_kernel(q.program, "rest"));
    EXPECT(clump_context_get_info(q.context)->queue == q.queue);
    EXPECT(sum_of(&q, q.heap, "steps") == 100 && sum_of(&q, q.heap, "rests") == 100);
    EXPECT(sum_of(&q, birds, "steps") == 100 && sum_of(&q, birds, "rests") == 0);
    expect_no_error(&q);
    clReleaseCommandQueue(first);
    clReleaseCommandQueue(second);
    return 0;
}
