/* What clump_kernel_create_fused() refuses: each reason once, with the names of the kernels and of
 * the field, and nothing changed; the neighbours of each reason, which it takes; and shared
 * buffers, at the launch. That OpenCL or host memory fails in it is for fault_host.
 *
 * Read first: include/clump/fuse.h, tests/support/cl_fixture.h.
 */
#include <stdio.h>
#include <string.h>

#include "cl_fixture.h"
#include "clump/checked.h"

#define OBJECTS 300u

static const char schema_text[] =
    "class Base { uint a; uint b; }\n"
    "class Body : Base { uint c; uint d; uint4 v; uint list[4]; ref Body next; }\n"
    "class Other { uint a; }\n";

/* Kernels with a name that begins with `no_` can be in no fused kernel. */
static const char source[] =
    "#define STEP 3u\n"
    "#define SET(place, value) place = (value)\n"
    "#define PLACE(r) Body_a(r)\n"
    "#define PASTE(x) Body_##x\n"
    "#define TWICE 2\n"
    "#undef TWICE\n"
    "#define TWICE 4\n"
    "#define LOOPS CLUMP_FOR_EACH(Body, self)\n"
    "#define OPEN {\n"
    "#define WHEN(x) if (x)\n"
    "__constant uint limit = 5u;\n"
    "typedef struct { uint x; } some;\n"
    "enum bounds { LEAST = 2, MOST = 9 };\n"
    "uint read_a(CLUMP_HEAP_NO_ALLOC, Body r) { return Body_a(r); }\n"
    "void write_a(CLUMP_HEAP_NO_ALLOC, Body r, uint x) { Body_a(r) = x; }\n"
    "uint read_far(CLUMP_HEAP_NO_ALLOC, Body r) { return read_a(clump_heap, Body_next(r)); }\n"
    "void add_to(__global uint *place, uint x) { *place += x; }\n"
    "uint ask(CLUMP_HEAP, Body r) { return Body_a(r); }\n"
    "uint most(uint a, uint b) { return a > b ? a : b; }\n"
    "void take_1(CLUMP_HEAP_NO_ALLOC, Body r) { (r).id = Body_next(r).id; Body_b(r) = 1; }\n"
    "void take_2(CLUMP_HEAP_NO_ALLOC, Body r) { uint *p = &(r.id); *p = 64u; Body_b(r) = 1; }\n"
    "void take_3(CLUMP_HEAP_NO_ALLOC, Body r) { ((r).id)++; Body_b(r) = 1; }\n"
    "void take_4(CLUMP_HEAP_NO_ALLOC, Body r) { (r) = Body_next(r); Body_b(r) = 1; }\n"
    "void take_5(CLUMP_HEAP_NO_ALLOC, Body x, Body r) { Body other = x, *p = &r; *p = x; Body_b(r) = 1; }\n"
    "uint who(void) { return get_global_id(0); }\n"
    "uint limited(uint x) { return x < limit ? x : limit; }\n"
    "uint deep_0(uint x) { return x; }\n"
#define DEEPER(name, below) "uint deep_" name "(uint x) { return deep_" below "(x); }\n"
    DEEPER("1", "0") DEEPER("2", "1") DEEPER("3", "2") DEEPER("4", "3") DEEPER("5", "4") DEEPER("6", "5")
    DEEPER("7", "6") DEEPER("8", "7") DEEPER("9", "8") DEEPER("10", "9") DEEPER("11", "10")
    DEEPER("12", "11") DEEPER("13", "12") DEEPER("14", "13") DEEPER("15", "14") DEEPER("16", "15")
    "__constant uint LATE = 7u;\n"

#define LOOP(name, body)                                                                           \
    "__kernel void " name "(CLUMP_HEAP_NO_ALLOC) { CLUMP_FOR_EACH(Body, self) { " body " } }\n"
    "__kernel void make(CLUMP_HEAP) {\n"
    "    CLUMP_FOR_EACH_NEW(Body, self, i) {\n"
    "        Body_a(self) = i; Body_b(self) = 2 * i; Body_c(self) = 3 * i; Body_d(self) = 4 * i;\n"
    "        Body_v(self) = (uint4)(i); Body_next(self) = self;\n"
    "        for (uint k = 0; k < 4; k++) Body_list(self, k) = i + k;\n"
    "    }\n"
    "}\n"
    /* Ways of writing. */
    LOOP("set_a", "Body_a(self) = 1u;")
    LOOP("add_a", "Body_a(self) += 1u;")
    LOOP("step_a", "Body_a(self)++;")
    LOOP("pre_step_a", "--Body_a(self);")
    LOOP("group_a", "(Body_a(self)) = 1u;")
    LOOP("bare_group_a", "if (Body_b(self)) (Body_a(self)) = 1u;")
    LOOP("shift_a", "Body_a(self) <<= 1;")
    LOOP("base_a", "Base_a(Body_as_Base(self)) = 1u;")
    LOOP("macro_a", "SET(Body_a(self), 1u);")
    LOOP("place_a", "PLACE(self) = 1u;")
    LOOP("call_a", "write_a(clump_heap, self, 1u);")
    LOOP("atomic_a", "atomic_inc(&Body_a(self));")
    LOOP("library_atomic_a", "CLUMP_ATOMIC_ADD(Body_a(self), 1u);")
    LOOP("cast_a", "*(volatile __global uint *)&Body_a(self) = 1u;")
    LOOP("pointer_a", "add_to(&(Body_a(self)), 1u);")
    LOOP("random_d", "Body_d(self) = (uint)(clump_random_float(clump_random(1u, Body_c(self), 2u).x) * 9.0f);")
    LOOP("far_a", "Body_a(Body_next(self)) = 1u;")
    LOOP("copy_a", "Body other = self; Body_a(other) = 1u;")
    LOOP("far_call_a", "write_a(clump_heap, Body_next(self), 1u);")
    /* Ways of reading it elsewhere, or here. */
    LOOP("see_a", "Body_b(self) = Body_a(Body_next(self));")
    LOOP("see_all_a", "uint n = 0; CLUMP_FOR_WHOLE_CLASS(Body, other) { n += Body_a(other); } Body_b(self) = n;")
    LOOP("see_call_a", "Body_b(self) = read_a(clump_heap, Body_next(self));")
    LOOP("see_deep_a", "Body_b(self) = read_far(clump_heap, self);")
    LOOP("see_base_a", "Body_b(self) = Base_a(Body_as_Base(Body_next(self)));")
    LOOP("see_macro_a", "Body_b(self) = PLACE(Body_next(self));")
    LOOP("own_a", "Body_b(self) = Body_a(self) + STEP;")
    LOOP("own_call_a", "Body_b(self) = read_a(clump_heap, self);")
    LOOP("own_and_a", "Body_b(self) = Body_c(self) & Body_a(self);")
    LOOP("far_c", "Body_d(self) = Body_c(Body_next(self));")
    LOOP("set_v", "Body_v(self).x = 1u;")
    LOOP("see_v", "Body_b(self) = Body_v(Body_next(self)).y;")
    LOOP("set_list", "Body_list(self, 2) = 1u;")
    LOOP("see_list", "Body_b(self) = Body_list(Body_next(self), 2);")
    LOOP("set_next", "Body_next(self).id = self.id;")
    LOOP("see_next", "Body n = Body_next(Body_next(self)); Body_b(self) = n.id;")
    LOOP("jumps", "for (uint i = 0; i < 4; i++) { if (i == 2) break; Body_d(self)++; }\n"
                  "if (Body_d(self) & 1u) continue; Body_d(self)++;\n"
                  "switch (Body_d(self)) { case 6: break; default: Body_d(self) = limited(7u); }\n"
                  "do { if (Body_d(self) > 3u) break; } while (0);")
    "__kernel void sum_a(CLUMP_HEAP_NO_ALLOC) {\n"
    "    uint n = 0;\n"
    "    CLUMP_FOR_EACH(Body, self) n += Body_a(self);\n"
    "    CLUMP_REDUCE(uint, n, CLUMP_SUM);\n"
    "}\n"
    "__kernel void most_a(CLUMP_HEAP_NO_ALLOC) {\n"
    "    uint n = 0;\n"
    "    CLUMP_FOR_EACH(Body, self) n = max(n, Body_a(self));\n"
    "    CLUMP_REDUCE(uint, n, most);\n"
    "}\n"
    "__kernel void constants(CLUMP_HEAP_NO_ALLOC, uint x, some s) {\n"
    "    const uint twice = 2u * x, more[2] = {x, s.x};\n"
    "    CLUMP_FOR_EACH(Body, self) Body_d(self) += twice + more[1];\n"
    "}\n"
    "__kernel void into(CLUMP_HEAP_NO_ALLOC, __global uint *out) {\n"
    "    CLUMP_FOR_EACH(Body, self) out[Body_c(self) / 3u] = Body_c(self);\n"
    "}\n"
    "__kernel void from(CLUMP_HEAP_NO_ALLOC, __global const uint *in) {\n"
    "    CLUMP_FOR_EACH(Body, self) Body_d(self) = in[Body_c(self) / 3u];\n"
    "}\n"
    "__kernel void from_too(CLUMP_HEAP_NO_ALLOC, const __global uint *in) {\n"
    "    CLUMP_FOR_EACH(Body, self) Body_b(self) = in[Body_c(self) / 3u];\n"
    "}\n"
    "__kernel void by_cast(CLUMP_HEAP_NO_ALLOC, __global const uint *in) {\n"
    "    CLUMP_FOR_EACH(Body, self) ((__global uint *)in)[Body_c(self) / 3u] = 1u;\n"
    "}\n"
    "__kernel void uses_limit(CLUMP_HEAP_NO_ALLOC) { CLUMP_FOR_EACH(Body, self) Body_d(self) = limit; }\n"
    "__kernel void has_limit(CLUMP_HEAP_NO_ALLOC, uint limit) { CLUMP_FOR_EACH(Body, self) Body_b(self) = limit; }\n"
    "__kernel void uses_most(CLUMP_HEAP_NO_ALLOC) { CLUMP_FOR_EACH(Body, self) Body_d(self) = MOST; }\n"
    "__kernel void has_most(CLUMP_HEAP_NO_ALLOC) {\n"
    "    uint MOST = 0;\n"
    "    CLUMP_FOR_EACH(Body, self) MOST += Body_c(self);\n"
    "    CLUMP_REDUCE(uint, MOST, CLUMP_SUM);\n"
    "}\n"
    "__kernel void over_base(CLUMP_HEAP_NO_ALLOC) { CLUMP_FOR_EACH(Base, self) Base_b(self) = 1u; }\n"
    "__kernel void over_other(CLUMP_HEAP_NO_ALLOC) { CLUMP_FOR_EACH(Other, self) Other_a(self) = 1u; }\n"
    /* What is refused alone. */
    "__kernel void no_heap(CLUMP_HEAP) { CLUMP_FOR_EACH(Body, self) Body_b(self) = 1u; }\n"
    "__kernel void no_numbers(CLUMP_HEAP_NO_ALLOC, CLUMP_NUMBERS) { CLUMP_FOR_EACH(Body, self) Body_b(self) = 1u; }\n"
    "__kernel void no_loop(CLUMP_HEAP_NO_ALLOC) { }\n"
    "__kernel void no_two(CLUMP_HEAP_NO_ALLOC) {\n"
    "    CLUMP_FOR_EACH(Body, self) Body_b(self) = 1u;\n"
    "    CLUMP_FOR_EACH(Body, self) Body_b(self) = 1u;\n"
    "}\n"
    "__kernel void no_if(CLUMP_HEAP_NO_ALLOC, uint x) { if (x) CLUMP_FOR_EACH(Body, self) Body_b(self) = 1u; }\n"
    "__kernel void no_macro_loop(CLUMP_HEAP_NO_ALLOC) { LOOPS Body_b(self) = 1u; }\n"
    "__kernel void no_open(CLUMP_HEAP_NO_ALLOC) { CLUMP_FOR_EACH(Body, self) OPEN Body_b(self) = 1u; } }\n"
    "__kernel void no_local(CLUMP_HEAP_NO_ALLOC, __local uint *x) { CLUMP_FOR_EACH(Body, self) x[0] = 1u; }\n"
    "__kernel __attribute__((reqd_work_group_size(64, 1, 1))) void no_size(CLUMP_HEAP_NO_ALLOC) {\n"
    "    CLUMP_FOR_EACH(Body, self) Body_b(self) = 1u;\n"
    "}\n"
    "__kernel void no_end(CLUMP_HEAP_NO_ALLOC) {\n"
    "    uint n = 0; CLUMP_FOR_EACH(Body, self) WHEN(Body_c(self)) { Body_d(self) = 1; } n = 1;\n"
    "}\n"
    "__kernel void bare_when(CLUMP_HEAP_NO_ALLOC) { CLUMP_FOR_EACH(Body, self) WHEN(Body_c(self)) Body_d(self) = 1; }\n"
    LOOP("no_return", "if (Body_b(self)) return; Body_b(self) = 1u;")
    LOOP("no_break", "if (Body_b(self)) break; Body_b(self) = 1u;")
    LOOP("no_self", "Body_b(self) = 1u; self = Body_next(self);")
    LOOP("no_hidden_self", "{ Body self = Body_null; (void)self; }")
    LOOP("no_inner_self", "CLUMP_FOR_WHOLE_CLASS(Body, self) Body_b(self) = 1u;")
    LOOP("no_address_of_self", "Body *p = &self; (void)p;")
    LOOP("no_take_1", "take_1(clump_heap, self);")
    LOOP("no_take_2", "take_2(clump_heap, self);")
    LOOP("no_take_3", "take_3(clump_heap, self);")
    LOOP("no_take_4", "take_4(clump_heap, self);")
    LOOP("no_take_5", "take_5(clump_heap, Body_next(self), self);")
    LOOP("in_groups", "Body b = (self); Body_b((self)) = ((self).id) & 1u; Body_d(((b))) += (uint)(self.id == b.id);")
    LOOP("no_item", "Body_b(self) = get_global_id(0);")
    LOOP("no_item_below", "Body_b(self) = who();")
    LOOP("no_fence", "mem_fence(CLK_GLOBAL_MEM_FENCE);")
    LOOP("no_library_fence", "CLUMP_FENCE();")
    LOOP("no_raw_heap", "__global const uchar *p = (__global const uchar *)clump_heap; Body_b(self) = p[0];")
    LOOP("no_paste", "Body_b(self) = PASTE(a)(self);")
    LOOP("no_doubtful", "Body_b(self) = TWICE; (void)TWICE;")
    LOOP("no_condition", "\n#if 1\nBody_b(self) = 1u;\n#endif\n")
    LOOP("no_recursion", "Body_b(self) = deep_16(2u);")
    LOOP("no_late", "Body_b(self) = LATE;")
    LOOP("deep", "Body_b(self) = deep_15(2u);")
    "__kernel void no_change(CLUMP_HEAP_NO_ALLOC, uint x) { CLUMP_FOR_EACH(Body, self) { x++; Body_b(self) = x; } }\n"
    "__kernel void no_member(CLUMP_HEAP_NO_ALLOC, some x) { CLUMP_FOR_EACH(Body, self) { x.x = 2; Body_b(self) = x.x; } }\n"
    "__kernel void no_group(CLUMP_HEAP_NO_ALLOC, uint x) { CLUMP_FOR_EACH(Body, self) { uint *p = &(x); *p = 1; } }\n"
    "__kernel void counts(CLUMP_HEAP_NO_ALLOC, __global uint *x) {\n"
    "    CLUMP_FOR_EACH(Body, self) { atomic_inc(&x[Body_c(self) & 1u]); (*x)++; *x += (x[0]); }\n"
    "}\n"
    "__kernel void no_pointer(CLUMP_HEAP_NO_ALLOC, __global uint *x) { CLUMP_FOR_EACH(Body, self) *x++ = 2; }\n"
    "__kernel void no_early(CLUMP_HEAP_NO_ALLOC, uint x) {\n"
    "    const uint y = x++;\n"
    "    CLUMP_FOR_EACH(Body, self) Body_b(self) = y;\n"
    "}\n"
    "__kernel void no_early_place(CLUMP_HEAP_NO_ALLOC, __global const uint *x) {\n"
    "    const __global uint *y = x;\n"
    "    CLUMP_FOR_EACH(Body, self) Body_b(self) = *y++;\n"
    "}\n"
    "__kernel void no_early_call(CLUMP_HEAP_NO_ALLOC, __global uint *x) {\n"
    "    const uint y = atomic_inc(x);\n"
    "    CLUMP_FOR_EACH(Body, self) Body_b(self) = y;\n"
    "}\n"
    "uint odd(uint a, uint b) { return a | b; }\n"
    "#define even(a, b) ((a) & (b))\n"
    "__kernel void odd_sum(CLUMP_HEAP_NO_ALLOC) {\n"
    "    uint n = 0;\n"
    "    CLUMP_FOR_EACH(Body, self) n |= Body_c(self);\n"
    "    CLUMP_REDUCE(uint, n, odd)\n"
    "}\n"
    "__kernel void no_even_sum(CLUMP_HEAP_NO_ALLOC) {\n"
    "    uint n = ~0u;\n"
    "    CLUMP_FOR_EACH(Body, self) n &= Body_c(self);\n"
    "    CLUMP_REDUCE(uint, n, even);\n"
    "}\n"
    "__kernel void no_count(CLUMP_HEAP_NO_ALLOC) { uint n = 0; CLUMP_FOR_EACH(Body, self) Body_b(self) = n++; }\n"
    LOOP("unrolled", "\n#pragma unroll\nfor (uint i = 0; i < 4; i++) Body_b(self) += i;\n")
    "#define LATE 8u\n"
    "#pragma OPENCL FP_CONTRACT OFF\n";

static cl_fixture fixture, *const f = &fixture;
static clump_heap *heap;
static clump_program *program;
static const clump_error *error;

static clump_kernel *kernel_of(const char *name) {
    clump_kernel *k = cl_fixture_kernel(f, program, name);
    uint32_t x = 3;
    /* Those with numbers. */
    if (strcmp(name, "constants") == 0) {
        SET_ARG(f, k, 0, x);
        SET_ARG(f, k, 1, x);
    }
    if (strcmp(name, "has_limit") == 0) SET_ARG(f, k, 0, x);
    return k;
}

/* All fields of all objects. */
typedef struct world {
    uint32_t a[OBJECTS], b[OBJECTS], c[OBJECTS], d[OBJECTS], v[OBJECTS][4], list[OBJECTS][4],
        next[OBJECTS];
} world;

static void look(world *w) {
    CHECK_OK(f, clump_heap_read_field(heap, "Body", "a", 0, sizeof *w->a, w->a, OBJECTS, NULL));
    CHECK_OK(f, clump_heap_read_field(heap, "Body", "b", 0, sizeof *w->b, w->b, OBJECTS, NULL));
    CHECK_OK(f, clump_heap_read_field(heap, "Body", "c", 0, sizeof *w->c, w->c, OBJECTS, NULL));
    CHECK_OK(f, clump_heap_read_field(heap, "Body", "d", 0, sizeof *w->d, w->d, OBJECTS, NULL));
    CHECK_OK(f, clump_heap_read_field(heap, "Body", "v", 0, sizeof *w->v, w->v, OBJECTS, NULL));
    for (uint32_t k = 0; k < 4; k++) {
        uint32_t column[OBJECTS];
        CHECK_OK(f, clump_heap_read_field(heap, "Body", "list", k, sizeof *column, column, OBJECTS,
                                          NULL));
        for (uint32_t i = 0; i < OBJECTS; i++) w->list[i][k] = column[i];
    }
    CHECK_OK(
        f, clump_heap_read_field(heap, "Body", "next", 0, sizeof *w->next, w->next, OBJECTS, NULL));
}

static void open_world(void) {
    heap = cl_fixture_heap(f, schema_text, 1u << 20, 2);
    program = cl_fixture_program(f, heap, source, NULL, NULL);
    error = clump_context_get_error(f->clump);
    clump_kernel *make = kernel_of("make");
    CHECK_OK(f, clump_heap_do_new(heap, make, "Body", OBJECTS, NULL, NULL));
    clump_kernel_destroy(make);
}

static void close_world(void) {
    CHECK_HEAP(f, heap);
    clump_program_destroy(program);
    clump_heap_destroy(heap);
}

enum { MOST = 4 };
typedef struct attempt {
    const char *kernels[MOST];
    const char *words; /* of the refusal; NULL: it is taken */
    const char *more;  /* of the refusal too, or NULL */
} attempt;

static uint32_t get_all(const attempt *a, clump_kernel *kernels[MOST]) {
    uint32_t count = 0;
    for (; count < MOST && a->kernels[count]; count++)
        kernels[count] = kernel_of(a->kernels[count]);
    return count;
}

static void put_all(clump_kernel **kernels, uint32_t count) {
    for (uint32_t i = 0; i < count; i++) clump_kernel_destroy(kernels[i]);
}

static void try(const attempt *a) {
    clump_kernel *kernels[MOST], *fused = (clump_kernel *)a;
    static world before, after;
    uint32_t count = get_all(a, kernels);
    look(&before);
    clump_status status = clump_kernel_create_fused(kernels, count, &fused, NULL);
    look(&after);
    assert_memory_equal(&before, &after, sizeof before);
    if (!a->words) {
        if (status) fail_msg("%s, %s: %s", a->kernels[0], a->kernels[1], error->message);
    } else {
        if (status != CLUMP_ERR_USAGE || fused)
            fail_msg("%s, %s: %d, expected \"%s\"", a->kernels[0], a->kernels[1], status, a->words);
        if (!strstr(error->message, a->words) || (a->more && !strstr(error->message, a->more)) ||
            !strstr(error->message, a->kernels[0]))
            fail_msg("%s, %s: \"%s\" has not \"%s\", \"%s\"", a->kernels[0], a->kernels[1],
                     error->message, a->words, a->more ? a->more : "");
    }
    clump_kernel_destroy(fused);
    put_all(kernels, count);
}

/* Each way to write a field, with each way to see it in another object, both ways round. */
static void test_fields(void **state) {
    (void)state;
    static const char *const writers[] = {
        "set_a",     "add_a",   "step_a",  "pre_step_a", "group_a",  "bare_group_a",     "shift_a",
        "base_a",    "macro_a", "place_a", "call_a",     "atomic_a", "library_atomic_a", "cast_a",
        "pointer_a", "far_a",   "copy_a",  "far_call_a"};
    static const char *const readers[] = {"see_a",      "see_all_a",  "see_call_a",
                                          "see_deep_a", "see_base_a", "see_macro_a"};
    for (size_t i = 0; i < sizeof writers / sizeof *writers; i++)
        for (size_t k = 0; k < sizeof readers / sizeof *readers; k++) {
            const attempt there = {{writers[i], readers[k]}, "field Base.a", readers[k]};
            const attempt back = {{readers[k], writers[i]}, "field Base.a", writers[i]};
            try(&there);
            try(&back);
        }
    /* What may be written in other objects goes with no other use at all. */
    static const char *const far[] = {"atomic_a", "library_atomic_a", "cast_a",    "pointer_a",
                                      "far_a",    "copy_a",           "far_call_a"};
    for (size_t i = 0; i < sizeof far / sizeof *far; i++) {
        const attempt read = {{far[i], "own_a"}, "field Base.a", "own_a"};
        const attempt write = {{"set_a", far[i]}, "field Base.a", far[i]};
        const attempt self = {{far[i], far[i]}, "field Base.a", NULL};
        try(&read);
        try(&write);
        try(&self);
    }
    static const attempt others[] = {
        {{"set_v", "see_v"}, "field Body.v", "see_v"},
        {{"set_list", "see_list"}, "field Body.list", "see_list"},
        {{"set_next", "see_next"}, "field Body.next", "see_next"},
        {{"set_a", "far_c", "own_a", "see_a"}, "field Base.a", "see_a"},
    };
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) try(&others[i]);
}

static void test_taken(void **state) {
    (void)state;
    static const attempt taken[] = {
        {{"set_a", "own_a", "own_call_a", "own_and_a"}, NULL, NULL},
        {{"base_a", "call_a", "macro_a", "place_a"}, NULL, NULL},
        {{"far_c", "see_all_a"}, NULL, NULL},
        {{"in_groups", "set_a"}, NULL, NULL},
        {{"counts", "set_a"}, NULL, NULL},
        {{"unrolled", "set_a"}, NULL, NULL},
        {{"set_a", "far_c"}, NULL, NULL},
        {{"set_v", "set_v"}, NULL, NULL},
        {{"set_list", "set_next", "own_a"}, NULL, NULL},
        {{"constants", "jumps", "constants"}, NULL, NULL},
        {{"set_a", "own_a", "sum_a"}, NULL, NULL},
        {{"random_d", "own_a"}, NULL, NULL},
        {{"own_a", "most_a"}, NULL, NULL},
        {{"has_limit", "uses_limit"}, NULL, NULL},
        {{"no_count"}, NULL, NULL}, /* the last may count */
        {{"far_a"}, NULL, NULL},
        {{"deep"}, NULL, NULL},
        {{"set_a", "odd_sum"}, NULL, NULL},
        {{"bare_when", "own_a"}, NULL, NULL},
    };
    for (size_t i = 0; i < sizeof taken / sizeof *taken; i++) try(&taken[i]);
}

static void test_shapes(void **state) {
    (void)state;
    static const attempt refused[] = {
        {{"set_a", "over_base"}, "loop over Body", "over Base"},
        {{"set_a", "over_other"}, "loop over Body", "over Other"},
        {{"sum_a", "own_a"}, "must be the last", NULL},
        {{"far_a", "sum_a"}, "field Base.a", "sum_a"},
        {{"uses_limit", "has_limit"}, "limit", "has_limit"},
        {{"uses_most", "has_most"}, "MOST", "has_most"},
        {{"no_heap"}, "CLUMP_HEAP_NO_ALLOC", NULL},
        {{"no_numbers"}, "CLUMP_NUMBERS", NULL},
        {{"no_loop"}, "CLUMP_FOR_EACH", NULL},
        {{"no_two"}, "follow its loop", NULL},
        {{"no_if"}, "part of a statement", NULL},
        {{"no_macro_loop"}, "CLUMP_FOR_EACH", NULL},
        {{"no_local"}, "__local", NULL},
        {{"no_size"}, "attribute", NULL},
        {{"no_return"}, "return", NULL},
        {{"no_break"}, "break", NULL},
        {{"no_self"}, "self", NULL},
        {{"no_hidden_self"}, "self", NULL},
        {{"no_inner_self"}, "self", NULL},
        {{"no_address_of_self"}, "self", NULL},
        {{"no_take_1"}, "r, the object", NULL},
        {{"no_take_2"}, "r, the object", NULL},
        {{"no_take_3"}, "r, the object", NULL},
        {{"no_take_4"}, "r, the object", NULL},
        {{"no_take_5"}, "r, the object", NULL},
        {{"no_item"}, "get_global_id()", NULL},
        {{"no_item_below"}, "get_global_id()", NULL},
        {{"no_fence"}, "mem_fence()", NULL},
        {{"no_library_fence"}, "CLUMP_FENCE()", NULL},
        {{"no_raw_heap"}, "clump_heap", NULL},
        {{"no_paste"}, "PASTE", NULL},
        {{"no_doubtful"}, "TWICE", "several definitions"},
        {{"no_late"}, "LATE", "after"},
        {{"no_open"}, "OPEN", NULL},
        {{"no_end"}, "a macro hides", NULL},
        {{"no_condition"}, "preprocessor", NULL},
        {{"no_recursion"}, "deep", NULL},
        {{"no_change", "set_a"}, "changes x", NULL},
        {{"no_count", "set_a"}, "const", NULL},
        {{"no_member", "set_a"}, "changes x", NULL},
        {{"no_group", "set_a"}, "changes x", NULL},
        {{"no_pointer", "set_a"}, "changes x", NULL},
        {{"no_early", "set_a"}, "before the loop", NULL},
        {{"no_early_place", "set_a"}, "const", NULL},
        {{"no_early_call", "set_a"}, "atomic_inc()", NULL},
        {{"no_even_sum"}, "even", NULL},
    };
    for (size_t i = 0; i < sizeof refused / sizeof *refused; i++) try(&refused[i]);
}

/* The places that the message tells. */
static void test_lines(void **state) {
    (void)state;
    const attempt a = {{"set_a", "see_a"}, "field Base.a", NULL};
    clump_kernel *kernels[MOST], *fused;
    char words[64];
    get_all(&a, kernels);
    CHECK_STATUS(f, clump_kernel_create_fused(kernels, 2, &fused, NULL), CLUMP_ERR_USAGE);
    snprintf(words, sizeof words, "own object (program.cl:%u)",
             cl_fixture_line_of(source, "__kernel void set_a"));
    assert_non_null(strstr(error->message, words));
    snprintf(words, sizeof words, "other objects (program.cl:%u)",
             cl_fixture_line_of(source, "__kernel void see_a"));
    assert_non_null(strstr(error->message, words));
    put_all(kernels, 2);
}

/* ---- Programs of which nothing can be told --------------------------------------------------- */

static void expect_program(const char *text, const char *options, const char *words) {
    clump_program *odd = cl_fixture_program(f, heap, text, options, NULL);
    clump_kernel *k = cl_fixture_kernel(f, odd, "k"), *fused = NULL;
    clump_status status = clump_kernel_create_fused(&k, 1, &fused, NULL);
    if (!words && status) fail_msg("%s: %s", text, error->message);
    if (words && (status != CLUMP_ERR_USAGE || fused || !strstr(error->message, words)))
        fail_msg("%s: %d, \"%s\", expected \"%s\"", text, status, error->message, words);
    clump_kernel_destroy(fused);
    clump_kernel_destroy(k);
    clump_program_destroy(odd);
}

#define K "__kernel void k(CLUMP_HEAP_NO_ALLOC) { CLUMP_FOR_EACH(Body, self) Body_a(self) = N; }\n"

static void test_programs(void **state) {
    (void)state;
    expect_program("#ifndef N\n#define N 4u\n#endif\n" K, NULL, NULL);
    expect_program("#ifndef N\n#define N 4u\n#endif\n" K, "-DN=5u", NULL);
    expect_program(K, "-D N=5u", NULL);
    expect_program(K, "-DN=get_global_id(0)", "get_global_id");
    expect_program("#define N 4u\n#define TWO 2 /* over\n lines */ + 1\n" K, NULL, NULL);
    expect_program("#define N 4u\ntypedef __global uint *place;\n" K, NULL, "file scope");
    expect_program("#define N 4u\ntypedef struct <% uint x; %> odd;\n" K, NULL, "<%");
    expect_program(
        "#define N 4u\nenum { X }; struct s; struct s { uint x; };\n"
        "__constant uint table[2] = {1, 2}; uint declared(uint x);\n" K,
        NULL, NULL);
    expect_program("#define N 4u\nuint \\\nlong_(void) { return 1; }\n" K, NULL, "backslash");
    expect_program(
        "#define KERNEL(name) __kernel void name(CLUMP_HEAP_NO_ALLOC)\n"
        "KERNEL(k) { CLUMP_FOR_EACH(Body, self) Body_a(self) = 1u; }\n",
        NULL, "one kernel of this name");
}

/* ---- Checked heaps --------------------------------------------------------------------------- */

/* What is wrong in a body is told with the fused kernel's name and the body's line. */
static void test_checked(void **state) {
    (void)state;
    static const char text[] =
        "__kernel void make(CLUMP_HEAP) {\n"
        "    CLUMP_FOR_EACH_NEW(Body, self, i) { Body_a(self) = i; Body_next(self) = Body_null; }\n"
        "}\n"
        "__kernel void first(CLUMP_HEAP_NO_ALLOC) { CLUMP_FOR_EACH(Body, self) Body_a(self)++; }\n"
        "__kernel void second(CLUMP_HEAP_NO_ALLOC) {\n"
        "    CLUMP_FOR_EACH(Body, self)\n"
        "        Body_c(self) = Body_d(Body_next(self));\n"
        "}\n";
    const clump_checked_desc checks = {.size = sizeof checks, .without = 0};
    const clump_heap_desc desc = {.size = sizeof desc, .bytes = 2u << 20, .checked = &checks};
    clump_heap *checked = cl_fixture_heap_as(f, schema_text, &desc);
    clump_program *p = cl_fixture_program(f, checked, text, NULL, NULL);
    clump_kernel *make = cl_fixture_kernel(f, p, "make"), *fused;
    clump_kernel *kernels[] = {cl_fixture_kernel(f, p, "first"), cl_fixture_kernel(f, p, "second")};
    clump_finding findings[4];
    uint64_t count = 0;
    CHECK_OK(f, clump_heap_do_new(checked, make, "Body", 10, NULL, NULL));
    CHECK_OK(f, clump_kernel_create_fused(kernels, 2, &fused, NULL));
    CHECK_OK(f, clump_heap_do_all(checked, fused, NULL));
    CHECK_OK(f, clump_heap_take_findings(checked, findings, 4, &count, NULL));
    assert_int_equal(count, 1);
    assert_int_equal(findings[0].kind, CLUMP_FINDING_ACCESS);
    assert_int_equal(findings[0].count, 10);
    assert_string_equal(findings[0].place.kernel, "first + second");
    assert_int_equal(findings[0].place.line, 7);
    assert_string_equal(findings[0].field, "d");
    clump_kernel_destroy(fused);
    clump_kernel_destroy(make);
    put_all(kernels, 2);
    clump_program_destroy(p);
    clump_heap_destroy(checked);
}

/* ---- Misuse ---------------------------------------------------------------------------------- */

static void test_misuse(void **state) {
    (void)state;
    clump_kernel *many[CLUMP_FUSED_KERNELS_MAX + 1], *fused = NULL, *again;
    uint32_t x = 1;
    for (uint32_t i = 0; i <= CLUMP_FUSED_KERNELS_MAX; i++) many[i] = kernel_of("set_a");
    CHECK_STATUS(f, clump_kernel_create_fused(NULL, 1, &fused, NULL), CLUMP_ERR_USAGE);
    CHECK_STATUS(f, clump_kernel_create_fused(many, 0, &fused, NULL), CLUMP_ERR_USAGE);
    CHECK_STATUS(f, clump_kernel_create_fused(many, 2, NULL, NULL), CLUMP_ERR_USAGE);
    CHECK_STATUS(f, clump_kernel_create_fused(many, CLUMP_FUSED_KERNELS_MAX + 1, &fused, NULL),
                 CLUMP_ERR_USAGE);
    assert_null(fused);
    CHECK_OK(f, clump_kernel_create_fused(many, CLUMP_FUSED_KERNELS_MAX, &fused, NULL));
    CHECK_STATUS(f, clump_kernel_set_arg(fused, 0, sizeof x, &x), CLUMP_ERR_USAGE);
    assert_int_equal(clump_kernel_get_arg_count(fused), 0);
    assert_non_null(strstr(error->message, "fused"));
    clump_kernel *two[] = {many[0], fused};
    CHECK_STATUS(f, clump_kernel_create_fused(two, 2, &again, NULL), CLUMP_ERR_USAGE);
    assert_non_null(strstr(error->message, "already fused"));
    two[1] = NULL;
    CHECK_STATUS(f, clump_kernel_create_fused(two, 2, &again, NULL), CLUMP_ERR_USAGE);
    clump_program *other = cl_fixture_program(f, heap, source, NULL, NULL);
    two[1] = cl_fixture_kernel(f, other, "own_a");
    CHECK_STATUS(f, clump_kernel_create_fused(two, 2, &again, NULL), CLUMP_ERR_USAGE);
    assert_non_null(strstr(error->message, "different programs"));
    clump_kernel_destroy(two[1]);
    clump_program_destroy(other);
    /* It runs, also when those that it was made of are gone. */
    put_all(many, CLUMP_FUSED_KERNELS_MAX + 1);
    CHECK_OK(f, clump_heap_do_all(heap, fused, NULL));
    CHECK_STATUS(f, clump_heap_reduce(heap, fused, sizeof x, &x, NULL), CLUMP_ERR_USAGE);
    clump_kernel_destroy(fused);
}

/* ---- Buffers --------------------------------------------------------------------------------- */

static clump_kernel *fuse_two(const char *first, const char *second, clump_kernel *kernels[2]) {
    clump_kernel *fused;
    kernels[0] = kernel_of(first);
    kernels[1] = kernel_of(second);
    CHECK_OK(f, clump_kernel_create_fused(kernels, 2, &fused, NULL));
    return fused;
}

static cl_mem part_of(cl_mem whole, size_t origin, size_t bytes) {
    cl_buffer_region region = {origin, bytes};
    cl_int code;
    cl_mem part =
        clCreateSubBuffer(whole, CL_MEM_READ_WRITE, CL_BUFFER_CREATE_TYPE_REGION, &region, &code);
    CHECK_CL(code);
    return part;
}

/* A launch with these is refused, and nothing has run; or it is taken. */
static void launch(const char *first, cl_mem a, const char *second, cl_mem b, const char *words) {
    clump_kernel *kernels[2], *fused = fuse_two(first, second, kernels);
    static world before, after;
    CHECK_STATUS(f, clump_heap_do_all(heap, fused, NULL), CLUMP_ERR_USAGE);
    assert_non_null(strstr(error->message, "is not set"));
    SET_ARG(f, kernels[0], 0, a);
    SET_ARG(f, kernels[1], 0, b);
    look(&before);
    clump_status status = clump_heap_do_all(heap, fused, NULL);
    if (words) {
        assert_int_equal(status, CLUMP_ERR_USAGE);
        if (!strstr(error->message, words))
            fail_msg("\"%s\" has not \"%s\"", error->message, words);
        look(&after);
        assert_memory_equal(&before, &after, sizeof before);
    } else if (status) {
        fail_msg("%s, %s: %s", first, second, error->message);
    }
    clump_kernel_destroy(fused);
    put_all(kernels, 2);
}

static void test_buffers(void **state) {
    (void)state;
    const size_t half = 4096, used = OBJECTS * sizeof(cl_uint);
    cl_mem whole = cl_fixture_buffer(f, NULL, 2 * half), another = cl_fixture_buffer(f, NULL, half);
    cl_mem low = part_of(whole, 0, half), high = part_of(whole, half, half);
    assert_true(used <= half);
    launch("into", whole, "from", whole,
           "parameter 0 of kernel into and parameter 0 of kernel from");
    launch("from", whole, "into", whole, "same buffer");
    launch("into", low, "from", whole, "overlap");
    launch("into", whole, "from", high, "overlap");
    launch("into", whole, "into", whole, "same buffer");
    launch("by_cast", whole, "from", whole, "same buffer");
    launch("from", clump_heap_get_info(heap)->buffer, "from_too", another, "heap's own buffer");
    launch("into", low, "from", high, NULL);
    launch("into", another, "from", whole, NULL);
    launch("from", whole, "from_too", whole, NULL);
    clReleaseMemObject(low);
    clReleaseMemObject(high);
    clReleaseMemObject(whole);
    clReleaseMemObject(another);
}

int main(void) {
    int result = cl_fixture_open(f, NULL);
    if (result) return result;
    open_world();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_fields),   cmocka_unit_test(test_taken),
        cmocka_unit_test(test_shapes),   cmocka_unit_test(test_lines),
        cmocka_unit_test(test_programs), cmocka_unit_test(test_checked),
        cmocka_unit_test(test_misuse),   cmocka_unit_test(test_buffers)};
    result = cmocka_run_group_tests(tests, NULL, NULL);
    close_world();
    cl_fixture_close(f);
    return result;
}
