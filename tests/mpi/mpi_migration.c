/* Objects of two classes walk over a grid of domains; each rank also walks all of them on the host,
 * and compares. Then refusals: no room, wrong directions, wrong lists; nothing is lost. Then
 * copies.
 *
 * Commands that use one buffer come one after the other, also on a queue out of order, and where
 * the context changes its queue (ordered.h).
 *
 * Objects of a chain refer to the next one. Those that leave together stay together. Arrays of
 * run-time length go with their objects, and so does a hash map.
 */
#include "ordered.h"
#include "sized.h"
/* After the above. */
#include "ranks.h"

enum { COUNT = 600, STEPS = 12 };

static const char schema[] =
    "abstract class Thing { uint number; uint leaves; float4 at; ref Thing next; "
    "ref Thing friends[*] inline 1; }"
    "class Ball : Thing { ushort colour[3]; ushort dots[*] max 5; float3 way[*] inline 2 packed; }"
    "class Box : Thing { ulong weight; ref Ball ball; ref Ball balls[*] max 2 packed; "
    "uchar crumbs[*]; ulong stamps[*]; }"
    "class Stone { uint x; }";
/* Friends of object n are those of its triple in turn: friend i has number n - n % 3 + (n + i) % 3. */
#define FUNCTIONS                                                                                  \
    "uint mixed(uint n) { n *= 2654435761u; return n >> 16 ^ n >> 3; }\n"                          \
    "uint friends_of(uint n) { return mixed(n) % 5u; }\n"                                          \
    "uint crumbs_of(uint n) { return n % 4u ? mixed(n) % 300u : 0u; }\n"                           \
    "uint stamps_of(uint n) { return mixed(n + 1u) % 4u; }\n"
static const char source[] = FUNCTIONS
    "__kernel void grow(CLUMP_HEAP) {\n"
    "    CLUMP_FOR_EACH(Box, box) {\n"
    "        Ball ball = Box_ball(box);\n"
    "        Thing all[3];\n"
    "        all[0] = Ball_as_Thing(ball); all[1] = Ball_next(ball); all[2] = Box_as_Thing(box);\n"
    "        for (uint k = 0; k < 3u; k++) {\n"
    "            Thing self = all[k];\n"
    "            uint n = Thing_number(self), count = friends_of(n);\n"
    "            Thing_friends_reserve(self, count + n % 4u);\n"
    "            Thing_friends_resize(self, count);\n"
    "            for (uint i = 0; i < count; i++) Thing_friends(self, i) = all[(n + i) % 3u];\n"
    "            if (!Thing_is_Ball(self)) continue;\n"
    "            Ball b = Thing_as_Ball(self);\n"
    "            Ball_way_resize(b, n % 6u);\n"
    "            for (uint i = 0; i < n % 6u; i++) Ball_way(b, i) = (float3)(n, i, 0.5f);\n"
    "        }\n"
    "        uint n = Box_number(box);\n"
    "        Box_crumbs_resize(box, crumbs_of(n));\n"
    "        for (uint i = 0; i < crumbs_of(n); i++) Box_crumbs(box, i) = (uchar)(n + i);\n"
    "        Box_stamps_resize(box, stamps_of(n));\n"
    "        for (uint i = 0; i < stamps_of(n); i++) Box_stamps(box, i) = (ulong)n << 40 | i;\n"
    "    }\n"
    "}\n"
    /* Objects whose arrays are as they were. */
    "__kernel void right(CLUMP_HEAP_NO_ALLOC) {\n"
    "    uint right = 0;\n"
    "    CLUMP_FOR_EACH(Thing, self) {\n"
    "        uint n = Thing_number(self), count = friends_of(n), ok;\n"
    "        ok = Thing_friends_length(self) == count &&\n"
    "             Thing_friends_capacity(self) >= count + n % 4u;\n"
    "        for (uint i = 0; ok && i < count; i++) {\n"
    "            Thing friend = Thing_friends(self, i);\n"
    "            ok = !Thing_is_null(friend) &&\n"
    "                 Thing_number(friend) == n - n % 3u + (n + i) % 3u;\n"
    "        }\n"
    "        if (ok && Thing_is_Ball(self)) {\n"
    "            Ball b = Thing_as_Ball(self);\n"
    "            ok = Ball_way_length(b) == n % 6u;\n"
    "            for (uint i = 0; ok && i < n % 6u; i++)\n"
    "                ok = all(Ball_way(b, i) == (float3)(n, i, 0.5f));\n"
    "        } else if (ok) {\n"
    "            Box b = Thing_as_Box(self);\n"
    "            ok = Box_crumbs_length(b) == crumbs_of(n) && Box_stamps_length(b) == "
    "stamps_of(n);\n"
    "            for (uint i = 0; ok && i < crumbs_of(n); i++)\n"
    "                ok = Box_crumbs(b, i) == (uchar)(n + i);\n"
    "            for (uint i = 0; ok && i < stamps_of(n); i++)\n"
    "                ok = Box_stamps(b, i) == ((ulong)n << 40 | i);\n"
    "        }\n"
    "        right += ok;\n"
    "    }\n"
    "    CLUMP_REDUCE(uint, right, CLUMP_SUM);\n"
    "}\n"
    /* Objects that left without the others of their triple: they are their only friends. */
    "__kernel void without_others(CLUMP_HEAP_NO_ALLOC) {\n"
    "    uint right = 0;\n"
    "    CLUMP_FOR_EACH(Thing, self) {\n"
    "        uint n = Thing_number(self), ok = Thing_friends_length(self) == friends_of(n);\n"
    "        if (n % 3u) continue;\n"
    "        for (uint i = 0; ok && i < friends_of(n); i++)\n"
    "            ok = Thing_friends(self, i).id == (i % 3u ? 0u : self.id);\n"
    "        right += ok;\n"
    "    }\n"
    "    CLUMP_REDUCE(uint, right, CLUMP_SUM);\n"
    "}\n"
    "__kernel void mark(CLUMP_HEAP_NO_ALLOC, uint step, uint directions, ulong open) {\n"
    "    CLUMP_FOR_EACH(Thing, self) {\n"
    "        uint h = (Thing_number(self) / 3u * 2654435761u) ^ step * 40503u; h ^= h >> 13; h *= "
    "2246822519u; h ^= h >> 16;\n"
    "        uint d = h % (directions * 2u);\n"
    "        Thing_leaves(self) = d < directions && (open >> d & 1ul) ? d + 1u : 0u;\n"
    "    }\n"
    "}\n"
    "__kernel void list(CLUMP_HEAP_NO_ALLOC, __global uint *list, uint most, uint direction, uint "
    "every) {\n"
    "    CLUMP_FOR_EACH(Thing, self) {\n"
    "        if (Thing_number(self) % every) continue;\n"
    "        uint i = atomic_inc(list);\n"
    "        if (i < most) { list[1 + 2 * i] = self.id; list[2 + 2 * i] = direction; }\n"
    "    }\n"
    "}\n"
    "__kernel void spoil(CLUMP_HEAP_NO_ALLOC, __global uint *list, uint ref) {\n"
    "    if (get_global_id(0) == 0) { list[0] = 1u; list[1] = ref; list[2] = 0u; }\n"
    "}\n";

typedef struct thing {
    uint32_t number, leaves;
    cl_float4 at;
    clump_ref next;
    uint16_t colour[3], dots[5];
    uint64_t weight;
    clump_ref ball, balls[2];
    uint32_t dots_length, balls_length;
} thing;
static const clump_struct_field ball_fields[] = {{"number", offsetof(thing, number)},
                                                 {"leaves", offsetof(thing, leaves)},
                                                 {"at", offsetof(thing, at)},
                                                 {"next", offsetof(thing, next)},
                                                 {"colour", offsetof(thing, colour)},
                                                 {"dots", offsetof(thing, dots)},
                                                 {"dots_length", offsetof(thing, dots_length)}};
static const clump_struct_field box_fields[] = {
    {"number", offsetof(thing, number)}, {"leaves", offsetof(thing, leaves)},
    {"at", offsetof(thing, at)},         {"next", offsetof(thing, next)},
    {"weight", offsetof(thing, weight)}, {"ball", offsetof(thing, ball)},
    {"balls", offsetof(thing, balls)},   {"balls_length", offsetof(thing, balls_length)}};
static const clump_struct_desc ball_desc = {sizeof ball_desc, "Ball", sizeof(thing), 7,
                                            ball_fields};
static const clump_struct_desc box_desc = {sizeof box_desc, "Box", sizeof(thing), 8, box_fields};

/* What all ranks know: where each object is, and whether it still refers to the next of its
 * triple. */
static int owner[COUNT], has_next[COUNT];

/* What `source` has, too. */
static uint32_t friends_of(uint32_t n) {
    n *= 2654435761u;
    return (n >> 16 ^ n >> 3) % 5;
}

static int is_box(uint32_t number) {
    return number % 3 == 2;
}

static thing thing_of(uint32_t n) {
    thing t = {.number = n,
               .at = {{n, n + 0.5f, -(float)n, 1}},
               .colour = {(uint16_t)n, 7, (uint16_t)(n * 3)}};
    t.weight = n * UINT64_C(10000000019);
    t.dots_length = n % 6;
    for (uint32_t i = 0; i < t.dots_length; i++) t.dots[i] = (uint16_t)(n + i);
    t.balls_length = 1;
    return t;
}

static cl_command_queue second; /* that the context uses in turn */

static void check_order(void) {
    CHECK(!clFinish(ranks_q.queue) && (!second || !clFinish(second)));
    const char *complaint = ordered_end();
    if (complaint) fprintf(stderr, "%s\n", complaint);
    CHECK(!complaint);
}

static clump_kernel *kernel_of(const char *name) {
    clump_kernel *kernel;
    CLUMP_CHECK(&ranks_q, clump_kernel_create(ranks_q.program, name, &kernel, NULL));
    return kernel;
}

static uint32_t reduced(const char *name) {
    clump_kernel *kernel = kernel_of(name);
    cl_uint result = 0;
    CLUMP_CHECK(&ranks_q, clump_heap_reduce(ranks_q.heap, kernel, sizeof result, &result, NULL));
    clump_kernel_destroy(kernel);
    return result;
}

/* Triples ball, ball, box: 0 -> 1 -> 2, and the box refers to ball 0. */
static void make_things(void) {
    for (int t = 0; t < COUNT / 3; t++) {
        const int at = t * 7 % ranks_size;
        for (int i = 0; i < 3; i++) {
            owner[3 * t + i] = at;
            has_next[3 * t + i] = 1;
        }
        if (t % 32 == 0) check_order();
        if (at != ranks_rank) continue;
        thing things[3];
        clump_ref refs[3];
        for (int i = 0; i < 3; i++) things[i] = thing_of((uint32_t)(3 * t + i));
        CLUMP_CHECK(&ranks_q,
                    clump_heap_new_structs(ranks_q.heap, &ball_desc, things, 2, refs, NULL));
        CLUMP_CHECK(&ranks_q,
                    clump_heap_new_structs(ranks_q.heap, &box_desc, things + 2, 1, refs + 2, NULL));
        things[0].next = refs[1];
        things[1].next = refs[2];
        things[2].ball = things[2].balls[0] = refs[0];
        CLUMP_CHECK(&ranks_q, clump_heap_write_structs(ranks_q.heap, &ball_desc, refs, things, 2));
        CLUMP_CHECK(&ranks_q,
                    clump_heap_write_structs(ranks_q.heap, &box_desc, refs + 2, things + 2, 1));
    }
    check_order();
    clump_kernel *grow = kernel_of("grow");
    CLUMP_CHECK(&ranks_q, clump_heap_do_all(ranks_q.heap, grow, NULL));
    clump_kernel_destroy(grow);
}

static uint32_t direction_of(uint32_t n, uint32_t step, uint32_t directions) {
    uint32_t h = (n / 3 * 2654435761u) ^ step * 40503u;
    h ^= h >> 13;
    h *= 2246822519u;
    h ^= h >> 16;
    return h % (directions * 2);
}

static uint32_t number_at(clump_ref ref, const char *class_name) {
    uint32_t number = UINT32_MAX;
    CLUMP_CHECK(&ranks_q, clump_heap_read_object_field(ranks_q.heap, class_name, "number", 0, ref,
                                                       sizeof(number), &number));
    return number;
}

/* The heap has exactly the objects that `owner` says, with all their values. */
static void check_things(void) {
    static thing all[COUNT];
    uint64_t balls = 0, boxes = 0, expected[2] = {0, 0};
    CLUMP_CHECK(&ranks_q,
                clump_heap_read_structs(ranks_q.heap, &ball_desc, NULL, all, COUNT, &balls));
    for (uint32_t n = 0; n < COUNT; n++) expected[is_box(n)] += owner[n] == ranks_rank;
    CHECK(balls == expected[0]);
    for (int boxed = 0; boxed < 2; boxed++) {
        if (boxed)
            CLUMP_CHECK(&ranks_q,
                        clump_heap_read_structs(ranks_q.heap, &box_desc, NULL, all, COUNT, &boxes));
        for (uint64_t i = 0; i < (boxed ? boxes : balls); i++) {
            if (i % 128 == 0) check_order(); /* which does not look at more than some thousand */
            const thing is = all[i], was = thing_of(is.number);
            CHECK(is.number < COUNT && is_box(is.number) == boxed &&
                  owner[is.number] == ranks_rank);
            CHECK(!memcmp(&is.at, &was.at, sizeof is.at));
            if (boxed)
                CHECK(
                    is.weight == was.weight && !is.next && is.balls_length == 1 &&
                    is.balls[0] == is.ball && !is.balls[1] &&
                    (has_next[is.number] ? number_at(is.ball, "Ball") == is.number - 2 : !is.ball));
            else
                CHECK(!memcmp(is.colour, was.colour, sizeof is.colour) &&
                      is.dots_length == was.dots_length &&
                      !memcmp(is.dots, was.dots, is.dots_length * sizeof *is.dots) &&
                      (has_next[is.number] ? number_at(is.next, "Thing") == is.number + 1
                                           : !is.next));
        }
    }
    check_order();
    CHECK(boxes == expected[1] && reduced("right") == balls + boxes);
    CLUMP_CHECK(&ranks_q, clump_heap_check(ranks_q.heap));
    check_order();
}

/* The context's queue, or a second one. */
static void use_queue(int is_second) {
    if (!second) {
        const cl_command_queue_properties properties =
            ranks_out_of_order ? CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE : 0;
        second = clCreateCommandQueue(ranks_q.cl, ranks_q.device, properties, NULL);
    }
    CHECK(second);
    CLUMP_CHECK(&ranks_q, clump_context_set_queue(ranks_q.context, is_second ? second : NULL));
}

static void walk(uint32_t dimensions, int is_periodic) {
    clump_world *world =
        ranks_world((clump_world_desc){.size = sizeof(clump_world_desc),
                                       .dimensions = dimensions,
                                       .periodic = {is_periodic, is_periodic, is_periodic},
                                       .timeout_s = 30,
                                       .message_bytes = 1000});
    const clump_world_place *p = clump_world_get_place(world);
    clump_migration *migration;
    clump_migration_report report = {.size = sizeof report};
    clump_kernel *mark = kernel_of("mark");
    cl_ulong open = 0;
    /* All ranks walk all objects, so each has to know the neighbours of all. */
    static int neighbours[64][CLUMP_WORLD_DIRECTIONS_MAX];
    MPI_Allgather((void *)(uintptr_t)p->neighbours, CLUMP_WORLD_DIRECTIONS_MAX, MPI_INT, neighbours,
                  CLUMP_WORLD_DIRECTIONS_MAX, MPI_INT, MPI_COMM_WORLD);
    for (uint32_t d = 0; d < p->directions; d++) open |= (cl_ulong)(p->neighbours[d] >= 0) << d;
    CHECK_WORLD(world,
                clump_migration_create(world,
                                       &(clump_migration_desc){.size = sizeof(clump_migration_desc),
                                                               .heap = ranks_q.heap,
                                                               .class_name = "Thing",
                                                               .field = "leaves"},
                                       &migration, NULL));
    CHECK(!clump_migration_get_info(migration)->list);
    for (uint32_t step = 0; step < STEPS; step++) {
        const uint32_t seed = step + 100 * dimensions;
        uint64_t left = 0, arrived = 0;
        use_queue(step / 2 % 2);
        CLUMP_CHECK(&ranks_q, CLUMP_SET_ARGS(mark, seed, p->directions, open));
        CLUMP_CHECK(&ranks_q, clump_heap_do_all(ranks_q.heap, mark, NULL));
        const double begin = MPI_Wtime();
        CHECK_WORLD(world, clump_migration_run(migration, &report));
        const double took = MPI_Wtime() - begin;
        CHECK(report.take_s > 0 && report.wait_s > 0 && report.make_s > 0 && report.free_s > 0);
        CHECK(report.take_s + report.wait_s + report.make_s + report.free_s <= took);
        for (uint32_t n = 0; n < COUNT; n++) {
            const uint32_t d = direction_of(n, seed, p->directions);
            const int to = d < p->directions ? neighbours[owner[n]][d] : -1;
            if (to < 0) continue;
            left += owner[n] == ranks_rank;
            arrived += to == ranks_rank;
            owner[n] = to;
        }
        CHECK(report.left == left && report.arrived == arrived && report.left_out == 0);
        CHECK(!!clump_migration_get_info(migration)->arrivals == !!arrived);
        check_things();
    }
    use_queue(0);
    clump_kernel_destroy(mark);
    clump_migration_destroy(migration);
    clump_world_destroy(world);
}

/* Only every third object leaves: its references become null, and so do those to it from those that
 * left before. */
static void part(void) {
    clump_world *world = ranks_world(
        (clump_world_desc){.size = sizeof(clump_world_desc), .periodic = {1}, .timeout_s = 30});
    clump_migration *migration, *refused;
    clump_migration_report report = {.size = sizeof report};
    clump_kernel *list = kernel_of("list"), *spoil = kernel_of("spoil");
    const cl_uint most = COUNT, few = 3, every = 3, direction = 1, all = 1, no_direction = 2,
                  none = 0xffffffc0;
    clump_migration_desc desc = {
        .size = sizeof desc, .heap = ranks_q.heap, .class_name = "Thing", .most = most};
    CHECK_WORLD(world, clump_migration_create(world, &desc, &migration, NULL));
    cl_mem words = clump_migration_get_info(migration)->list;
    uint64_t here = 0, out = 0, lost = 0;

    /* Refused: a direction that there is not, on one rank. The others learn it; nothing has
     * moved. */
    if (!ranks_rank) {
        CLUMP_CHECK(&ranks_q, CLUMP_SET_ARGS(list, words, most, no_direction, all));
        CLUMP_CHECK(&ranks_q, clump_heap_do_all(ranks_q.heap, list, NULL));
    }
    for (uint32_t n = 0; n < COUNT; n++) here += owner[n] == ranks_rank;
    clump_status status = clump_migration_run(migration, &report);
    const int is_beside = ranks_rank == 1 || ranks_rank == ranks_size - 1;
    CHECK(status == (!ranks_rank ? here ? CLUMP_ERR_USAGE : CLUMP_OK
                     : is_beside ? CLUMP_ERR_RANK
                                 : CLUMP_OK));
    CHECK(ranks_rank || strstr(clump_world_get_error(world)->message, "in direction 2"));
    CHECK(!is_beside || !ranks_rank ||
          strstr(clump_world_get_error(world)->message, "rank 0 failed: CLUMP_ERR_USAGE"));
    check_things();

    /* A reference that is none. */
    CLUMP_CHECK(&ranks_q, CLUMP_SET_ARGS(spoil, words, none));
    if (!ranks_rank) CLUMP_CHECK(&ranks_q, clump_heap_launch(ranks_q.heap, spoil, 64, 64, NULL));
    status = clump_migration_run(migration, NULL);
    CHECK(status == (!ranks_rank ? CLUMP_ERR_REFERENCE : is_beside ? CLUMP_ERR_RANK : CLUMP_OK));
    check_things();

    /* More than the list holds: refused on each rank that has more. */
    clump_migration *small;
    desc.most = few;
    CHECK_WORLD(world, clump_migration_create(world, &desc, &small, NULL));
    cl_mem small_words = clump_migration_get_info(small)->list;
    CLUMP_CHECK(&ranks_q, CLUMP_SET_ARGS(list, small_words, few, direction, all));
    CLUMP_CHECK(&ranks_q, clump_heap_do_all(ranks_q.heap, list, NULL));
    status = clump_migration_run(small, NULL);
    CHECK(here > few ? status == CLUMP_ERR_TOO_SMALL
                     : status == CLUMP_OK || status == CLUMP_ERR_RANK);
    CHECK_WORLD(world, clump_migration_run(small, &report)); /* the list is empty again */
    CHECK(!report.left && !report.arrived);
    check_things();
    clump_migration_destroy(small);

    /* Every third leaves upwards. */
    CLUMP_CHECK(&ranks_q, CLUMP_SET_ARGS(list, words, most, direction, every));
    CLUMP_CHECK(&ranks_q, clump_heap_do_all(ranks_q.heap, list, NULL));
    CHECK_WORLD(world, clump_migration_run(migration, &report));
    for (uint32_t n = 0; n < COUNT; n += 3) {
        if (owner[n] != ranks_rank) continue;
        out++;
        lost++; /* its `next` */
        for (uint32_t i = 0; i < friends_of(n); i++) lost += i % 3 != 0;
    }
    CHECK(report.left == out && report.left_out == lost && lost > out);
    uint64_t balls = 0;
    CLUMP_CHECK(&ranks_q, clump_heap_read_count(ranks_q.heap, "Ball", &balls));
    for (uint32_t n = 0; n < COUNT; n += 3) owner[n] = (owner[n] + 1) % ranks_size;
    uint64_t expected = 0;
    for (uint32_t n = 0; n < COUNT; n++) expected += !is_box(n) && owner[n] == ranks_rank;
    CHECK(balls == expected);
    expected = 0;
    for (uint32_t n = 0; n < COUNT; n += 3) expected += owner[n] == ranks_rank;
    CHECK(reduced("without_others") == expected);

    /* Copies: those that were sent stay, and are there, too. */
    desc.most = most;
    desc.copies = 1;
    clump_migration *copies;
    CHECK_WORLD(world, clump_migration_create(world, &desc, &copies, NULL));
    words = clump_migration_get_info(copies)->list;
    CLUMP_CHECK(&ranks_q, CLUMP_SET_ARGS(list, words, most, direction, all));
    CLUMP_CHECK(&ranks_q, clump_heap_do_all(ranks_q.heap, list, NULL));
    uint64_t before = 0, after = 0;
    CLUMP_CHECK(&ranks_q, clump_heap_read_count(ranks_q.heap, "Thing", &before));
    CHECK_WORLD(world, clump_migration_run(copies, &report));
    CLUMP_CHECK(&ranks_q, clump_heap_read_count(ranks_q.heap, "Thing", &after));
    CHECK(report.left == before && after == before + report.arrived);
    clump_migration_destroy(copies);

    CHECK(clump_migration_create(
              world,
              &(clump_migration_desc){
                  .size = sizeof(clump_migration_desc), .heap = ranks_q.heap, .class_name = "Thin"},
              &refused, NULL) == CLUMP_ERR_NOT_FOUND &&
          !refused);
    CHECK(clump_migration_create(world,
                                 &(clump_migration_desc){.size = sizeof(clump_migration_desc),
                                                         .heap = ranks_q.heap,
                                                         .class_name = "Thing",
                                                         .field = "at"},
                                 &refused, NULL) == CLUMP_ERR_USAGE);
    clump_kernel_destroy(list);
    clump_kernel_destroy(spoil);
    clump_migration_destroy(migration);
    clump_world_destroy(world);
}

/* Another heap than that of all tests, as `desc` says, with a program and a migration of a class. */
static clump_migration *open_other(clump_world *world, const char *text, const char *kernels,
                                   const clump_heap_desc *desc, const char *class_name,
                                   uint32_t most, clump_heap **heap, clump_program **program) {
    clump_schema *s;
    clump_migration *migration;
    clump_heap_desc of = *desc;
    CLUMP_CHECK(&ranks_q, clump_schema_parse(text, strlen(text), NULL, &s, &ranks_q.error));
    of.context = ranks_q.context;
    of.schema = s;
    CLUMP_CHECK(&ranks_q, clump_heap_create(&of, heap, NULL));
    clump_schema_destroy(s);
    CLUMP_CHECK(&ranks_q,
                clump_program_create(
                    &(clump_program_desc){
                        .size = sizeof(clump_program_desc), .heap = *heap, .source = kernels},
                    program, NULL));
    CHECK_WORLD(world,
                clump_migration_create(world,
                                       &(clump_migration_desc){.size = sizeof(clump_migration_desc),
                                                               .heap = *heap,
                                                               .class_name = class_name,
                                                               .most = most},
                                       &migration, NULL));
    return migration;
}

/* A heap whose memory is stones: what is sent to it stays, and goes when there is room. */
static void no_room(void) {
    static const char text[] = "class Thing { uint number; } class Stone { uint x[64]; }";
    static const char kernels[] =
        "__kernel void list(CLUMP_HEAP_NO_ALLOC, __global uint *list) {\n"
        "    CLUMP_FOR_EACH(Thing, self) {\n"
        "        uint i = atomic_inc(list); list[1 + 2 * i] = self.id; list[2 + 2 * i] = 1u;\n"
        "    }\n"
        "}\n"
        "__kernel void crumble(CLUMP_HEAP) { CLUMP_FOR_EACH(Stone, self) { Stone_free(self); } }\n"
        "__kernel void fill(CLUMP_HEAP) { for (uint i = 0; i < 1000000u; i++) { Stone s = "
        "Stone_new(); if (Stone_is_null(s)) return; } }\n";
    clump_heap *heap;
    clump_program *program;
    clump_kernel *list, *crumble, *fill;
    clump_migration *migration;
    clump_migration_report report = {.size = sizeof report};
    clump_world *world = ranks_world(
        (clump_world_desc){.size = sizeof(clump_world_desc), .periodic = {1}, .timeout_s = 30});
    migration =
        open_other(world, text, kernels,
                   &(clump_heap_desc){
                       .size = sizeof(clump_heap_desc), .errors_on_request = 1, .bytes = 1 << 20},
                   "Thing", 100, &heap, &program);
    CLUMP_CHECK(&ranks_q, clump_kernel_create(program, "list", &list, NULL));
    CLUMP_CHECK(&ranks_q, clump_kernel_create(program, "crumble", &crumble, NULL));
    CLUMP_CHECK(&ranks_q, clump_kernel_create(program, "fill", &fill, NULL));
    cl_mem words = clump_migration_get_info(migration)->list;
    CLUMP_CHECK(&ranks_q, CLUMP_SET_ARGS(list, words));
    enum { SENT = 50 };
    uint32_t numbers[SENT];
    const clump_struct_field field = {"number", 0};
    for (uint32_t i = 0; i < SENT; i++) numbers[i] = i * 3;
    /* Rank 0 sends, rank 1 is full. */
    if (!ranks_rank)
        CLUMP_CHECK(&ranks_q, clump_heap_new_structs(heap,
                                                     &(clump_struct_desc){sizeof(clump_struct_desc),
                                                                          "Thing", 4, 1, &field},
                                                     numbers, SENT, NULL, NULL));
    if (ranks_rank == 1) CLUMP_CHECK(&ranks_q, clump_heap_launch(heap, fill, 1, 1, NULL));
    CLUMP_CHECK(&ranks_q, clump_heap_do_all(heap, list, NULL));
    clump_status status = clump_migration_run(migration, &report);
    CHECK(status == (ranks_rank == 0   ? CLUMP_ERR_RANK
                     : ranks_rank == 1 ? CLUMP_ERR_DEVICE_MEMORY
                                       : CLUMP_OK));
    CHECK(ranks_rank ||
          strstr(clump_world_get_error(world)->message, "rank 1 could not receive 50 objects"));
    CHECK(ranks_rank != 1 || strstr(clump_world_get_error(world)->message, "room for only 0"));
    uint64_t there = 0;
    CLUMP_CHECK(&ranks_q, clump_heap_read_count(heap, "Thing", &there));
    CHECK(there == (ranks_rank ? 0 : SENT) && !report.left && !report.arrived);
    CLUMP_CHECK(&ranks_q, clump_heap_check(heap));
    /* Stones go, and they come. */
    if (ranks_rank == 1) CLUMP_CHECK(&ranks_q, clump_heap_do_all(heap, crumble, NULL));
    CLUMP_CHECK(&ranks_q, clump_heap_do_all(heap, list, NULL));
    CHECK_WORLD(world, clump_migration_run(migration, &report));
    CLUMP_CHECK(&ranks_q, clump_heap_read_count(heap, "Thing", &there));
    CHECK(there == (ranks_rank == 1 ? SENT : 0));
    CLUMP_CHECK(&ranks_q, clump_heap_check(heap));
    clump_migration_destroy(migration);
    clump_kernel_destroy(list);
    clump_kernel_destroy(crumble);
    clump_kernel_destroy(fill);
    clump_program_destroy(program);
    clump_heap_destroy(heap);
    clump_world_destroy(world);
}

/* ---- A map, and arrays without room ---------------------------------------------------------- */

enum { KEYS = 500, BLOBS = 40, BLOB_BYTES = 8000 };

static uint32_t reduced_of(clump_heap *heap, clump_program *program, const char *name) {
    cl_uint result = 0;
    CLUMP_CHECK(&ranks_q, clump_heap_reduce(heap, clump_program_get_kernel(program, name),
                                            sizeof result, &result, NULL));
    return result;
}

/* Returns how much raw memory is in use. */
static uint64_t expect_blobs(clump_heap *heap, clump_program *program, uint64_t expected) {
    clump_heap_stats stats = {.size = sizeof stats};
    uint64_t there = 0;
    CLUMP_CHECK(&ranks_q, clump_heap_read_count(heap, "Blob", &there));
    CHECK(there == expected && reduced_of(heap, program, "right") == expected);
    CLUMP_CHECK(&ranks_q, clump_heap_read_stats(heap, &stats, NULL, 0));
    CLUMP_CHECK(&ranks_q, clump_heap_check(heap));
    return stats.raw_bytes;
}

/* Checked heaps. That of rank 1 has room for the map of rank 0, but not for its blobs. */
static void map_and_blobs(void) {
    static const char text[] =
        "abstract class Part { }"
        "class Words : Part { ref Word heads[*]; }"
        "class Word : Part { uint key; uint value; ref Word next; uint "
        "erased; }"
        "class Blob : Part { uint number; uint w[*]; }";
    static const char kernels[] =
        "CLUMP_MAP_DEFINE(Words, Word, uint, uint);\n"
        "__kernel void list(CLUMP_HEAP_NO_ALLOC, __global uint *list) {\n"
        "    CLUMP_FOR_EACH(Part, self) {\n"
        "        uint i = atomic_inc(list); list[1 + 2 * i] = self.id; list[2 + 2 * i] = 1u;\n"
        "    }\n"
        "}\n"
        "__kernel void make_map(CLUMP_HEAP, uint keys) {\n"
        "    CLUMP_FOR_EACH_NEW(Words, s, i) {\n"
        "        Word entry;\n"
        "        if (Words_heads_resize(s, 64) != CLUMP_DONE) return;\n"
        "        for (uint k = 0; k < keys; k++) CLUMP_MAP_INSERT(Words, s, k * 77u, k, "
        "&entry);\n"
        "    }\n"
        "}\n"
        "__kernel void found(CLUMP_HEAP_NO_ALLOC) {\n"
        "    uint found = 0;\n"
        "    CLUMP_FOR_EACH(Words, s)\n"
        "        for (uint k = 0; k < 500u; k++) {\n"
        "            Word w = CLUMP_MAP_FIND(Words, s, k * 77u);\n"
        "            found += !Word_is_null(w) && Word_value(w) == k;\n"
        "        }\n"
        "    CLUMP_REDUCE(uint, found, CLUMP_SUM);\n"
        "}\n"
        "__kernel void make_blobs(CLUMP_HEAP, uint elements) {\n"
        "    CLUMP_FOR_EACH_NEW(Blob, s, i) {\n"
        "        Blob_number(s) = i;\n"
        "        uint n = i ? elements : 0u;\n"
        "        if (Blob_w_resize(s, n) != CLUMP_DONE) return;\n"
        "        for (uint k = 0; k < n; k++) Blob_w(s, k) = k * 3u + i;\n"
        "    }\n"
        "}\n"
        "__kernel void shrink(CLUMP_HEAP) {\n"
        "    CLUMP_FOR_EACH(Blob, s) {\n"
        "        Blob_w_resize(s, min(Blob_w_length(s), 9u));\n"
        "        Blob_w_trim(s);\n"
        "    }\n"
        "}\n"
        "__kernel void right(CLUMP_HEAP_NO_ALLOC) {\n"
        "    uint right = 0;\n"
        "    CLUMP_FOR_EACH(Blob, s) {\n"
        "        uint ok = !Blob_number(s) == !Blob_w_length(s);\n"
        "        for (uint k = 0; k < Blob_w_length(s); k++)\n"
        "            ok = ok && Blob_w(s, k) == k * 3u + Blob_number(s);\n"
        "        right += ok;\n"
        "    }\n"
        "    CLUMP_REDUCE(uint, right, CLUMP_SUM);\n"
        "}\n";
    static const clump_checked_desc checked = {.size = sizeof checked};
    clump_heap *heap;
    clump_program *program;
    clump_migration *migration;
    clump_migration_report report = {.size = sizeof report};
    clump_world *world = ranks_world(
        (clump_world_desc){.size = sizeof(clump_world_desc), .periodic = {1}, .timeout_s = 60});
    /* On GPUs metadata are larger, for more requests at a time. */
    const uint64_t small =
        clump_context_get_info(ranks_q.context)->capabilities->personality == CLUMP_PERSONALITY_GPU
            ? 768 << 10
            : 512 << 10;
    migration = open_other(world, text, kernels,
                           &(clump_heap_desc){.size = sizeof(clump_heap_desc),
                                              .errors_on_request = 1,
                                              .checked = &checked,
                                              .bytes = ranks_rank == 1 ? small : 2 << 20},
                           "Part", 1000, &heap, &program);
    cl_mem words = clump_migration_get_info(migration)->list;
    clump_kernel *list = clump_program_get_kernel(program, "list"),
                 *make_map = clump_program_get_kernel(program, "make_map"),
                 *make_blobs = clump_program_get_kernel(program, "make_blobs");
    const cl_uint keys = KEYS, elements = BLOB_BYTES / 4;
    CLUMP_CHECK(&ranks_q, CLUMP_SET_ARGS(list, words));
    CLUMP_CHECK(&ranks_q, CLUMP_SET_ARGS(make_map, keys));
    CLUMP_CHECK(&ranks_q, CLUMP_SET_ARGS(make_blobs, elements));

    if (!ranks_rank) {
        CLUMP_CHECK(&ranks_q, clump_heap_do_new(heap, make_map, "Words", 1, NULL, NULL));
        CHECK(reduced_of(heap, program, "found") == KEYS);
        CLUMP_CHECK(&ranks_q, clump_heap_do_all(heap, list, NULL));
    }
    CHECK_WORLD(world, clump_migration_run(migration, &report));
    CHECK(report.left == (ranks_rank ? 0 : KEYS + 1) && !report.left_out);
    CHECK(reduced_of(heap, program, "found") == (ranks_rank == 1 ? KEYS : 0));
    expect_blobs(heap, program, 0);

    if (!ranks_rank) {
        CLUMP_CHECK(&ranks_q, clump_heap_do_new(heap, make_blobs, "Blob", BLOBS, NULL, NULL));
        CLUMP_CHECK(&ranks_q, clump_heap_do_all(heap, list, NULL));
    }
    const uint64_t raw = expect_blobs(heap, program, ranks_rank ? 0 : BLOBS);
    clump_status status = clump_migration_run(migration, &report);
    CHECK(status == (ranks_rank == 0   ? CLUMP_ERR_RANK
                     : ranks_rank == 1 ? CLUMP_ERR_DEVICE_MEMORY
                                       : CLUMP_OK));
    CHECK(!report.left && !report.arrived);
    CHECK(ranks_rank != 1 || strstr(clump_world_get_error(world)->message,
                                    "the heap of rank 1 has no raw memory for"));
    CHECK(!clump_heap_take_errors(heap, NULL) == (ranks_rank != 1));
    CHECK(expect_blobs(heap, program, ranks_rank ? 0 : BLOBS) == raw);
    CHECK(reduced_of(heap, program, "found") == (ranks_rank == 1 ? KEYS : 0));

    /* They are smaller, and go. */
    CLUMP_CHECK(&ranks_q,
                clump_heap_do_all(heap, clump_program_get_kernel(program, "shrink"), NULL));
    if (!ranks_rank) CLUMP_CHECK(&ranks_q, clump_heap_do_all(heap, list, NULL));
    CHECK_WORLD(world, clump_migration_run(migration, &report));
    expect_blobs(heap, program, ranks_rank == 1 ? BLOBS : 0);
    CLUMP_CHECK(&ranks_q, clump_heap_take_errors(heap, NULL));
    clump_migration_destroy(migration);
    clump_program_destroy(program);
    clump_heap_destroy(heap);
    clump_world_destroy(world);
}

/* Wrong sizes; all ranks make these calls. Nothing is on the list, so nothing leaves. */
static clump_world *sized_world;
static clump_migration *sized_migration;
static clump_migration_desc migration_desc = {.size = sizeof migration_desc};

static clump_status create(void *desc, clump_error *error) {
    clump_migration *made;
    clump_status status = clump_migration_create(sized_world, desc, &made, error);
    CHECK(!status == (made != NULL));
    clump_migration_destroy(made);
    return status;
}

static clump_status run(void *report, clump_error *error) {
    clump_status status = clump_migration_run(sized_migration, report);
    *error = *clump_world_get_error(sized_world);
    return status;
}

static void try_sizes(void) {
    const sized_case cases[] = {SIZED_TAKEN(clump_migration_desc, &migration_desc, create),
                                SIZED_TOLD(clump_migration_report, run)};
    migration_desc = (clump_migration_desc){
        .size = sizeof migration_desc, .heap = ranks_q.heap, .class_name = "Thing"};
    sized_world = ranks_world((clump_world_desc){.size = sizeof(clump_world_desc)});
    CHECK_WORLD(sized_world,
                clump_migration_create(sized_world, &migration_desc, &sized_migration, NULL));
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) ranks_check_sized(&cases[i]);
    clump_migration_destroy(sized_migration);
    clump_world_destroy(sized_world);
}

int main(void) {
    ordered_begin();
    ranks_open(schema, source, 4 << 20);
    make_things();
    check_things();
    for (uint32_t dimensions = 1; dimensions <= 3; dimensions++) walk(dimensions, dimensions != 2);
    try_sizes();
    if (ranks_size > 1) {
        part();
        no_room();
        map_and_blobs();
        check_order();
    }
    CHECK(!second || !clReleaseCommandQueue(second));
    ranks_close();
    return 0;
}
