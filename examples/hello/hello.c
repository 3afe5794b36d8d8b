/* The shortest program: a class, two kernels, and what they did. */
#include <clump/clump.h>
#include <clump/quick.h>

static const char schema[] = "class Body { uint id; }";

static const char kernels[] =
    "__kernel void init(CLUMP_HEAP) {\n"
    "    CLUMP_FOR_EACH_NEW(Body, self, i) { Body_id(self) = i; }\n"
    "}\n"
    "__kernel void split(CLUMP_HEAP) {\n"
    "    CLUMP_FOR_EACH(Body, self) {\n"
    "        uint id = Body_id(self);\n"
    "        if (id % 2 == 0) {                                  // every second body has a child\n"
    "            Body child = Body_new();\n"
    "            if (!Body_is_null(child)) Body_id(child) = id;  // null: there is no room\n"
    "        }\n"
    "        if (id % 3 == 0) Body_free(self);                   // every third body goes\n"
    "    }\n"
    "}\n";

int main(void) {
    clump_quick q;
    uint64_t made, count;
    CLUMP_CHECK(&q, clump_quick_open(&q, &(clump_quick_desc){.schema = schema, .source = kernels}));
    clump_kernel *init = clump_program_get_kernel(q.program, "init");
    clump_kernel *split = clump_program_get_kernel(q.program, "split");
    CLUMP_CHECK(&q, clump_heap_do_new(q.heap, init, "Body", 1000, &made, NULL));
    CLUMP_CHECK(&q, clump_heap_do_all(q.heap, split, NULL));
    CLUMP_CHECK(&q, clump_heap_read_count(q.heap, "Body", &count));
    printf("%d made, %d now\n", (int)made, (int)count);
    clump_quick_close(&q);
    return count == 1166 ? 0 : 1;
}
