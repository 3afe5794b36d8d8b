/* The rule of cl/core/lanes.clh in what NVIDIA's compiler makes of it: however many kernels a
 * program has, each operation that involves other lanes stands in it once. The program's binary is
 * PTX text. tests/repo/check_lanes.sh does the same with clang, without a device.
 *
 * Read first: cl/core/lanes.clh.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cl_fixture.h"
#include "heap/program.h"

static cl_fixture fixture;
static cl_fixture *const f = &fixture;

static const char schema_text[] =
    "class A { uint a; } class B { uint b[5]; } class C : B { uint c; }";

#define HEAD "#define ARGUMENTS CLUMP_HEAP, uint salt, __global uint *out\n"
#define ME "    uint me = (uint)get_global_id(0), x = me * 2654435761u ^ salt;\n"
static const char *const kernels[] = {
    "__kernel void each(ARGUMENTS) {\n" ME "    if (x & 1u) out[me] = A_new().id;\n}\n",
    "__kernel void two(ARGUMENTS) {\n" ME
    "    if (x & 2u) out[2 * me] = A_new().id;\n"
    "    if (x & 4u) out[2 * me + 1] = B_new().id;\n}\n",
    "__kernel void either(ARGUMENTS) {\n" ME
    "    if (x & 2u) out[me] = A_new().id; else out[me] = C_new().id;\n}\n",
    "__kernel void group(ARGUMENTS) {\n    CLUMP_GROUP_SCRATCH;\n" ME
    "    out[me] = B_group_new(x & 8u).id;\n}\n",
    "__kernel void loop(ARGUMENTS) {\n    CLUMP_FOR_EACH(B, self) {\n"
    "        uint n = (self.id ^ salt) & 3u;\n"
    "        for (uint i = 0; i < n; i++) { A a = A_new(); if (a.id & 1u) A_free(a); }\n"
    "        if (n == 2u) B_free(self);\n"
    "        if (n & 1u) CLUMP_ATOMIC_ADD_TOGETHER(out[n], 1u);\n"
    "        CLUMP_ATOMIC_ADD_TOGETHER(out[0], n);\n    }\n}\n",
};
#define KERNELS (sizeof kernels / sizeof *kernels)

static const struct {
    const char *name;
    unsigned count;
} operations[] = {
    {"activemask.b32", 4}, {"match.any.sync.b32", 1}, {"match.any.sync.b64", 2},
    {"shfl.sync", 5},      {"redux.sync", 4},         {"bar.warp.sync", 1},
};

static char *binary_of(const clump_program *program) {
    size_t bytes = 0;
    CHECK_CL(
        clGetProgramInfo(program->program, CL_PROGRAM_BINARY_SIZES, sizeof bytes, &bytes, NULL));
    char *text = calloc(bytes + 1, 1);
    assert_non_null(text);
    CHECK_CL(clGetProgramInfo(program->program, CL_PROGRAM_BINARIES, sizeof text, &text, NULL));
    return text;
}

static unsigned occurrences(const char *text, const char *word) {
    unsigned n = 0;
    while ((text = strstr(text, word)) != NULL) {
        text++;
        n++;
    }
    return n;
}

static void each_operation_stands_once(void **state) {
    clump_heap *heap = cl_fixture_heap(f, schema_text, 1 << 20, 0);
    for (size_t count = 0; count <= KERNELS;
         count++) { /* the first alone, the first two, ...; all */
        char source[4096] = HEAD;
        for (size_t i = 0; i < count; i++) strcat(source, kernels[i]);
        if (count == 0) strcat(source, kernels[4]); /* it alone has frees */
        clump_program *program = cl_fixture_program(f, heap, source, NULL, NULL);
        char *text = binary_of(program);
        assert_non_null(strstr(text, ".target sm_"));
        int has_frees = count == 0 || count == KERNELS;
        for (size_t o = 0; o < sizeof operations / sizeof *operations; o++) {
            unsigned found = occurrences(text, operations[o].name), most = operations[o].count;
            if (found > most || (has_frees && found != most))
                fail_msg("%zu kernels: %s stands %u times, expected %u", count, operations[o].name,
                         found, most);
        }
        free(text);
        clump_program_destroy(program);
    }
    clump_heap_destroy(heap);
}

int main(void) {
    int result = cl_fixture_open(f, NULL);
    if (result) return result;
    if (strcmp(f->capabilities->coalescing, "ptx") != 0) {
        fprintf(stderr, "skipped: the device's programs are no PTX\n");
        cl_fixture_close(f);
        return CL_FIXTURE_SKIP;
    }
    const struct CMUnitTest tests[] = {cmocka_unit_test(each_operation_stands_once)};
    result = cmocka_run_group_tests(tests, NULL, NULL);
    cl_fixture_close(f);
    return result;
}
