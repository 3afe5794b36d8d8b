/* Fused kernels against the same kernels one after the other: random programs over a random schema,
 * of random loops.
 *
 * The generator gives each field of each loop one use, so that a loop alone has no race: of its own
 * object only; read in any object; added to in other objects by atomic operations; or none. From
 * the uses follows which kernels can be fused: these must be, and must leave the same fields, the
 * same buffers and the same reduction, bit for bit, in a heap with holes in its rows. All others
 * must be refused with the name of a field that is in the way.
 *
 *     diff_fused [ROUNDS [SEED]]
 *
 * Read first: include/clump/fuse.h, tests/support/cl_fixture.h.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "clump/checked.h"
#include "support/cl_fixture.h"

enum { FIELDS = 7, LOOPS_MOST = 4, OBJECTS_MOST = 3000, TEXT_BYTES = 1 << 16 };
typedef enum use { NONE, OWN, READ, ADDED, USES } use;

/* uint fields of Base and Body in turns, then a float, then a uint8-wide one. */
static const char *const types[FIELDS] = {"uint", "uint", "uint", "uint", "uint", "float", "uchar"};

typedef struct loop {
    use allowed[FIELDS];
    int reads_own[FIELDS], writes_own[FIELDS], reads_other[FIELDS], writes_other[FIELDS];
    int has_buffer, has_number, has_early, is_reduction, of_float;
} loop;

static cl_fixture fixture, *const f = &fixture;
static uint64_t random_state;
static char text[TEXT_BYTES];
static int in_base[FIELDS], is_checked;
static loop loops[LOOPS_MOST];
static uint32_t loop_count;

static uint32_t below(uint32_t n) {
    return test_random(&random_state, n);
}

__attribute__((format(printf, 1, 2))) static void say(const char *format, ...) {
    size_t used = strlen(text);
    va_list args;
    va_start(args, format);
    int length = vsnprintf(text + used, sizeof text - used, format, args);
    va_end(args);
    assert_true(length >= 0 && used + (size_t)length < sizeof text);
}

/* A field of this use; -1: none. */
static int field_of(const loop *l, use wanted, int is_number) {
    int start = (int)below(FIELDS);
    for (int k = 0; k < FIELDS; k++) {
        int i = (start + k) % FIELDS;
        if (l->allowed[i] == wanted && (!is_number || types[i][0] == 'u') &&
            (wanted != ADDED || i < 5))
            return i;
    }
    return -1;
}

/* The accessor of a field for the loop's object: by the class itself, or by its base. */
static const char *accessor(int field, const char *object) {
    static char names[4][64];
    static unsigned turn;
    char *name = names[turn++ % 4];
    if (in_base[field] && below(3) == 0)
        snprintf(name, sizeof *names, "Base_f%d(Body_as_Base(%s))", field, object);
    else
        snprintf(name, sizeof *names, "Body_f%d(%s)", field, object);
    return name;
}

/* A value: of a field, of another object's, of a parameter or a number. */
static void say_value(loop *l, int depth) {
    int own = field_of(l, below(2) ? OWN : READ, 0), other = field_of(l, READ, 0);
    switch (below(depth > 2 ? 4 : 7)) {
    case 0:
        if (own < 0) break;
        l->reads_own[own] = 1;
        say("(uint)%s", accessor(own, "self"));
        return;
    case 1:
        if (other < 0) break;
        l->reads_other[other] = 1;
        say("(uint)%s", accessor(other, "Body_next(self)"));
        return;
    case 2:
        if (!l->has_number && !l->has_early) break;
        say(l->has_early ? "early" : "number");
        return;
    case 3: break;
    case 4:
        say("TWICE(");
        say_value(l, depth + 1);
        say(")");
        return;
    case 5:
        if (other < 0) break;
        l->reads_other[other] = 1;
        say("far_%d(clump_heap, self)", other);
        return;
    default:
        say("(");
        say_value(l, depth + 1);
        say(" %c ", "+^*"[below(3)]);
        say_value(l, depth + 1);
        say(")");
        return;
    }
    say("%uu", below(1000));
}

static void say_statement(loop *l, uint32_t number) {
    int own = field_of(l, OWN, 1), added = field_of(l, ADDED, 1), any = field_of(l, OWN, 0);
    uint32_t which = below(12);
    say("        ");
    if (which == 0 && added >= 0) {
        l->reads_other[added] = l->writes_other[added] = 1;
        say("CLUMP_ATOMIC_ADD(%s, ", accessor(added, "Body_next(self)"));
        say_value(l, 0);
        say(");\n");
    } else if (which == 1 && l->has_buffer) {
        say("out[Body_id(self)] += ");
        say_value(l, 0);
        say(";\n");
    } else if (which == 2) {
        say("if (");
        say_value(l, 0);
        say(" & 1u) continue;\n");
    } else if (which == 3 && own >= 0) {
        l->reads_own[own] = l->writes_own[own] = 1;
        say("for (uint i = 0u; i < 4u; i++) { if (i * 77u > (");
        say_value(l, 0);
        say(")) break; Body_f%d(self) += i; }\n", own);
    } else if (which == 4 && own >= 0) {
        l->reads_own[own] = l->writes_own[own] = 1;
        say("add_%d(clump_heap, self, ", own);
        say_value(l, 0);
        say(");\n");
    } else if (which == 5 && l->allowed[5] == OWN) {
        /* A product, and perhaps a sum in a later loop: nothing may contract them. */
        l->reads_own[5] = l->writes_own[5] = 1;
        say("Body_f5(self) = Body_f5(self) * 1.0009766f;\n");
    } else if (which == 6 && l->allowed[5] == OWN) {
        l->reads_own[5] = l->writes_own[5] = 1;
        say("Body_f5(self) = Body_f5(self) + 0.123f;\n");
    } else if (which == 7 && own >= 0) {
        l->writes_own[own] = 1;
        say("{ uint here = ");
        say_value(l, 0);
        say("; SET(Body_f%d(self), here); }\n", own);
    } else if (which == 8 && own >= 0) {
        l->reads_own[own] = l->writes_own[own] = 1;
        say("Body_f%d(self)++;\n", own);
    } else if (any >= 0) {
        l->writes_own[any] = 1;
        say("%s = ", accessor(any, "self"));
        if (any == 5) say("(float)(0xffffu & ");
        say_value(l, 0);
        say(any == 5 ? ");\n" : ";\n");
    } else {
        say("; /* %u */\n", number);
    }
}

static void say_loop(uint32_t number, int is_last) {
    loop *l = &loops[number];
    *l = (loop){
        .has_buffer = below(2) == 0, .has_number = below(2) == 0, .has_early = below(3) == 0};
    for (int i = 0; i < FIELDS; i++) {
        static const use often[] = {OWN, OWN, READ, NONE, NONE, ADDED};
        l->allowed[i] = often[below(i < 5 ? 6 : 5)];
    }
    l->is_reduction = is_last && below(2);
    l->of_float = l->is_reduction && below(2) && (l->allowed[5] == OWN || l->allowed[5] == READ);
    say("__kernel void loop_%u(CLUMP_HEAP_NO_ALLOC%s%s) {\n", number,
        l->has_number ? ", uint number" : "", l->has_buffer ? ", __global uint *out" : "");
    if (l->is_reduction) say("    %s total = 0;\n", l->of_float ? "float" : "uint");
    if (l->has_early)
        say("    const uint early = %uu%s;\n", below(9), l->has_number ? " * number" : "");
    say("    CLUMP_FOR_EACH(Body, self) {\n");
    for (uint32_t i = 1 + below(5); i > 0; i--) say_statement(l, i);
    if (l->of_float) {
        l->reads_own[5] = 1;
        say("        total += Body_f5(self);\n");
    } else if (l->is_reduction) {
        say("        total += ");
        say_value(l, 0);
        say(";\n");
    }
    say("    }\n");
    if (l->is_reduction)
        say("    CLUMP_REDUCE(%s, total, CLUMP_SUM);\n", l->of_float ? "float" : "uint");
    say("}\n");
}

static void say_helpers(void) {
    say("#define TWICE(x) (2u * (x))\n#define SET(place, value) place = (value)\n");
    for (int i = 0; i < FIELDS; i++)
        say("uint far_%d(CLUMP_HEAP_NO_ALLOC, Body object) {\n"
            "    Body there = Body_next(object);\n"
            "    return (uint)Body_f%d(there);\n}\n"
            "void add_%d(CLUMP_HEAP_NO_ALLOC, Body object, uint by) { Body_f%d(object) += by; }\n",
            i, i, i, i);
    say("__kernel void make(CLUMP_HEAP) { CLUMP_FOR_EACH_NEW(Body, self, i) Body_id(self) = i; }\n"
        "__kernel void drop(CLUMP_HEAP, uint seed, uint share) {\n"
        "    CLUMP_FOR_EACH(Body, self)\n"
        "        if ((Body_id(self) * 2654435761u ^ seed) %% 97u < share) Body_free(self);\n"
        "}\n"
        "__kernel void link(CLUMP_HEAP_NO_ALLOC, CLUMP_NUMBERS, uint seed, uint count) {\n"
        "    CLUMP_FOR_EACH_NUMBERED(Body, self, i) {\n"
        "        uint x = (i ^ seed) * 2654435761u;\n"
        "        Body_next(self) = CLUMP_AT(Body, (x >> 8) %% count);\n");
    for (int i = 0; i < FIELDS; i++) say("        Body_f%d(self) = (x >> %d) & 0xffffu;\n", i, i);
    say("    }\n}\n"
        "__kernel void show(CLUMP_HEAP_NO_ALLOC, __global uint *shown) {\n"
        "    CLUMP_FOR_EACH(Body, self) {\n"
        "        __global uint *at = shown + %du * Body_id(self);\n",
        FIELDS);
    for (int i = 0; i < FIELDS; i++)
        say("        at[%d] = %s(Body_f%d(self));\n", i, i == 5 ? "as_uint" : "(uint)", i);
    say("    }\n}\n");
}

/* Does a field stand in the way of two loops? */
static int is_in_way(const loop *a, const loop *b, int i) {
    int writes_a = a->writes_own[i] || a->writes_other[i],
        writes_b = b->writes_own[i] || b->writes_other[i];
    int others_a = a->reads_other[i] || a->writes_other[i],
        others_b = b->reads_other[i] || b->writes_other[i];
    int uses_a = others_a || writes_a || a->reads_own[i],
        uses_b = others_b || writes_b || b->reads_own[i];
    if (!uses_a || !uses_b || (!writes_a && !writes_b)) return 0;
    /* One writes; is it, or what it meets, in another object? */
    return (a->writes_other[i] && uses_b) || (b->writes_other[i] && uses_a) ||
           (writes_a && b->reads_other[i]) || (writes_b && a->reads_other[i]);
}

/* Names of fields in the way, as messages tell them. Returns how many. */
static uint32_t find_obstacles(char names[FIELDS][16]) {
    uint32_t count = 0;
    for (int i = 0; i < FIELDS; i++) {
        int is_found = 0;
        for (uint32_t a = 0; a < loop_count; a++)
            for (uint32_t b = a + 1; b < loop_count; b++)
                is_found |= is_in_way(&loops[a], &loops[b], i);
        if (is_found)
            snprintf(names[count++], sizeof names[0], "%s.f%d:", in_base[i] ? "Base" : "Body", i);
    }
    return count;
}

/* ---- Running --------------------------------------------------------------------------------- */

enum { MAKE, DROP, LINK, SHOW, FIXED_KERNELS };

typedef struct world {
    clump_heap *heap;
    clump_program *program;
    clump_kernel *fixed[FIXED_KERNELS], *kernels[LOOPS_MOST];
    cl_mem shown, buffers[LOOPS_MOST];
    uint32_t objects, live, seed;
} world;

typedef struct outcome {
    uint32_t fields[OBJECTS_MOST * FIELDS], buffers[LOOPS_MOST][OBJECTS_MOST];
    uint32_t reduced;
} outcome;

static void begin(world *w) {
    static const uint32_t zeros[OBJECTS_MOST];
    SET_ARG(f, w->fixed[LINK], 0, w->seed);
    SET_ARG(f, w->fixed[LINK], 1, w->live);
    CHECK_OK(f, clump_heap_do_all(w->heap, w->fixed[LINK], NULL));
    for (uint32_t i = 0; i < loop_count; i++)
        cl_fixture_write(f, w->buffers[i], zeros, sizeof zeros);
}

static void end(world *w, outcome *o) {
    SET_ARG(f, w->fixed[SHOW], 0, w->shown);
    CHECK_OK(f, clump_heap_do_all(w->heap, w->fixed[SHOW], NULL));
    cl_fixture_read(f, w->shown, o->fields, sizeof o->fields);
    for (uint32_t i = 0; i < loop_count; i++)
        cl_fixture_read(f, w->buffers[i], o->buffers[i], sizeof o->buffers[i]);
}

static void run_one(world *w, clump_kernel *k, int is_reduction, outcome *o) {
    if (is_reduction)
        CHECK_OK(f, clump_heap_reduce(w->heap, k, sizeof o->reduced, &o->reduced, NULL));
    else
        CHECK_OK(f, clump_heap_do_all(w->heap, k, NULL));
}

static void compare(const outcome *separate, const outcome *fused) {
    for (uint32_t i = 0; i < OBJECTS_MOST * FIELDS; i++)
        if (separate->fields[i] != fused->fields[i])
            fail_msg("object %u, f%u: %08x one after the other, %08x fused\n%s", i / FIELDS,
                     i % FIELDS, separate->fields[i], fused->fields[i], text);
    for (uint32_t k = 0; k < loop_count; k++)
        for (uint32_t i = 0; i < OBJECTS_MOST; i++)
            if (separate->buffers[k][i] != fused->buffers[k][i])
                fail_msg("buffer %u, object %u: %08x one after the other, %08x fused\n%s", k, i,
                         separate->buffers[k][i], fused->buffers[k][i], text);
    if (separate->reduced != fused->reduced)
        fail_msg("reduced to %08x one after the other, %08x fused\n%s", separate->reduced,
                 fused->reduced, text);
}

/* Twice, the second time with other parameters. */
static void run_both(world *w, clump_kernel *fused) {
    static outcome separate, together;
    int is_reduction = loops[loop_count - 1].is_reduction;
    for (uint32_t turn = 0; turn < 2; turn++) {
        separate.reduced = together.reduced = 0;
        for (uint32_t i = 0; i < loop_count; i++) {
            uint32_t number = below(500), at = (uint32_t)loops[i].has_number;
            if (loops[i].has_number) SET_ARG(f, w->kernels[i], 0, number);
            if (loops[i].has_buffer) SET_ARG(f, w->kernels[i], at, w->buffers[i]);
        }
        begin(w);
        for (uint32_t i = 0; i < loop_count; i++)
            run_one(w, w->kernels[i], is_reduction && i + 1 == loop_count, &separate);
        end(w, &separate);
        begin(w);
        run_one(w, fused, is_reduction, &together);
        end(w, &together);
        compare(&separate, &together);
        w->seed++;
    }
}

static clump_heap *make_heap(const char *schema) {
    static const clump_checked_desc checks = {.size = sizeof checks, .without = 0};
    const clump_heap_desc desc = {.size = sizeof desc,
                                  .bytes = 4u << 20,
                                  .block_rows = 2,
                                  .checked = is_checked ? &checks : NULL};
    return cl_fixture_heap_as(f, schema, &desc);
}

static void open_world(world *w, const char *schema) {
    static const char *const names[FIXED_KERNELS] = {"make", "drop", "link", "show"};
    uint64_t live;
    *w =
        (world){.heap = make_heap(schema), .objects = 1 + below(OBJECTS_MOST), .seed = below(1000)};
    w->program = cl_fixture_program(f, w->heap, text, NULL, NULL);
    for (int i = 0; i < FIXED_KERNELS; i++)
        w->fixed[i] = cl_fixture_kernel(f, w->program, names[i]);
    w->shown = cl_fixture_buffer(f, NULL, sizeof(uint32_t) * OBJECTS_MOST * FIELDS);
    for (uint32_t i = 0; i < loop_count; i++) {
        char name[16];
        snprintf(name, sizeof name, "loop_%u", i);
        w->kernels[i] = cl_fixture_kernel(f, w->program, name);
        w->buffers[i] = cl_fixture_buffer(f, NULL, sizeof(uint32_t) * OBJECTS_MOST);
    }
    CHECK_OK(f, clump_heap_do_new(w->heap, w->fixed[MAKE], "Body", w->objects, NULL, NULL));
    uint32_t share = below(3) ? below(90) : 0;
    SET_ARG(f, w->fixed[DROP], 0, w->seed);
    SET_ARG(f, w->fixed[DROP], 1, share);
    CHECK_OK(f, clump_heap_do_all(w->heap, w->fixed[DROP], NULL));
    CHECK_OK(f, clump_heap_read_count(w->heap, "Body", &live));
    w->live = live ? (uint32_t)live : 1;
}

static void close_world(world *w) {
    CHECK_HEAP(f, w->heap);
    for (int i = 0; i < FIXED_KERNELS; i++) clump_kernel_destroy(w->fixed[i]);
    for (uint32_t i = 0; i < loop_count; i++) {
        clump_kernel_destroy(w->kernels[i]);
        clReleaseMemObject(w->buffers[i]);
    }
    clReleaseMemObject(w->shown);
    clump_program_destroy(w->program);
    clump_heap_destroy(w->heap);
}

static void make_program(char schema[512]) {
    size_t used = 0;
    char parts[2][256] = {"", ""};
    for (int i = 0; i < FIELDS; i++) {
        in_base[i] = (int)below(2);
        size_t length = strlen(parts[in_base[i]]);
        snprintf(parts[in_base[i]] + length, sizeof parts[0] - length, "%s f%d; ", types[i], i);
    }
    used = (size_t)snprintf(
        schema, 512, "abstract class Base { uint id; %s} class Body : Base { ref Body next; %s}",
        parts[1], parts[0]);
    assert_true(used < 512);
    text[0] = 0;
    say_helpers();
    loop_count = 2 + below(LOOPS_MOST - 1);
    for (uint32_t i = 0; i < loop_count; i++) say_loop(i, i + 1 == loop_count);
}

static uint32_t fused_count, refused_count;

static void run_round(void) {
    char schema[512], obstacles[FIELDS][16];
    world w;
    clump_kernel *fused;
    make_program(schema);
    open_world(&w, schema);
    uint32_t in_way = find_obstacles(obstacles);
    clump_status status = clump_kernel_create_fused(w.kernels, loop_count, &fused, NULL);
    const char *message = clump_context_get_error(f->clump)->message;
    if (in_way) {
        int is_named = 0;
        for (uint32_t i = 0; i < in_way; i++) is_named |= strstr(message, obstacles[i]) != NULL;
        if (status != CLUMP_ERR_USAGE || !is_named)
            fail_msg("%s is in the way, but: %d, %s\n%s", obstacles[0], status, message, text);
        refused_count++;
    } else if (status) {
        fail_msg("nothing is in the way, but: %s\n%s", message, text);
    } else {
        run_both(&w, fused);
        clump_kernel_destroy(fused);
        fused_count++;
    }
    close_world(&w);
}

static uint32_t rounds = 24, seed = 1;

static void test_random_programs(void **state) {
    (void)state;
    for (uint32_t round = 0; round < rounds; round++) {
        random_state = (uint64_t)seed * 1000003u + round;
        is_checked = round % 6 == 5;
        run_round();
    }
    printf("%u fused, %u refused\n", fused_count, refused_count);
    assert_true(rounds < 24 || (fused_count > rounds / 5 && refused_count > rounds / 8));
}

int main(int argc, char **argv) {
    if (argc > 1) rounds = (uint32_t)strtoul(argv[1], NULL, 10);
    if (argc > 2) seed = (uint32_t)strtoul(argv[2], NULL, 10);
    int result = cl_fixture_open(f, NULL);
    if (result) return result;
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_random_programs)};
    result = cmocka_run_group_tests(tests, NULL, NULL);
    cl_fixture_close(f);
    return result;
}
