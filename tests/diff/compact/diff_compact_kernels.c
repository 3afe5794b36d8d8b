/* Compaction among kernels: what they made, free, read and enqueue before and after it.
 *
 * Read first: trial.h.
 */
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "trial.h"

static cl_fixture *const f = &trial_fixture;

static const char shapes[] =
    "abstract class Shape { uint tag; ref Shape next; }\n"
    "class Dot : Shape { uint x; }\n"
    "class Box : Shape { ulong y; ref Dot dot; uchar small; }\n"
    "class Mote { uchar v; }\n";

static const char source[] =
    "__kernel void make(CLUMP_HEAP, uint base) {\n"
    "    CLUMP_FOR_EACH_NEW(Shape, self, i) {\n"
    "        Shape_tag(self) = base + i;\n"
    "        Shape_next(self) = Shape_null;\n"
    "        Dot d = Shape_as_Dot(self);\n"
    "        Box b = Shape_as_Box(self);\n"
    "        if (d.id) Dot_x(d) = 3u * i;\n"
    "        if (b.id) { Box_y(b) = (ulong)i << 33; Box_dot(b) = Dot_null; Box_small(b) = i; }\n"
    "    }\n"
    "}\n"
    "__kernel void drop(CLUMP_HEAP, uint keep) {\n"
    "    CLUMP_FOR_EACH(Shape, self) if (Shape_tag(self) % keep) Shape_free(self);\n"
    "}\n"
    "__kernel void clear(CLUMP_HEAP) { CLUMP_FOR_EACH(Shape, self) Shape_free(self); }\n"
    "__kernel void place(CLUMP_HEAP_NO_ALLOC, __global uint *places) {\n"
    "    CLUMP_FOR_EACH(Shape, self) places[Shape_tag(self)] = self.id;\n"
    "}\n"
    "__kernel void link(CLUMP_HEAP_NO_ALLOC, __global const uint *places, uint n, uint keep) {\n"
    "    CLUMP_FOR_EACH(Shape, self) {\n"
    "        Shape next = {places[Shape_tag(self) * 7u % (n / keep) * keep]};\n"
    "        Shape_next(self) = next;\n"
    "        Box b = Shape_as_Box(self);\n"
    "        if (b.id) Box_dot(b) = Shape_as_Dot(next);\n"
    "    }\n"
    "}\n"
    "__kernel void bump(CLUMP_HEAP_NO_ALLOC) {\n"
    "    CLUMP_FOR_EACH(Dot, self) Dot_x(self) += 1u;\n"
    "}\n"
    "__kernel void chase(CLUMP_HEAP_NO_ALLOC, __global uint *out) {\n"
    "    CLUMP_FOR_EACH(Shape, self) {\n"
    "        Shape next = Shape_next(self);\n"
    "        uint sum = next.id ? 1u + Shape_tag(next) * 5u : 0u;\n"
    "        Dot d = Shape_as_Dot(self);\n"
    "        Box b = Shape_as_Box(self);\n"
    "        if (d.id) sum += Dot_x(d) * 77u;\n"
    "        if (b.id) sum += Box_small(b) + (uint)(Box_y(b) >> 33) * 9u;\n"
    "        if (b.id && Box_dot(b).id) sum += Dot_tag(Box_dot(b)) * 31u;\n"
    "        out[Shape_tag(self)] = sum;\n"
    "    }\n"
    "}\n"
    "__kernel void spawn(CLUMP_HEAP, uint n, uint base) {\n"
    "    if (get_global_id(0) >= n) return;\n"
    "    Dot d = Dot_new();\n"
    "    if (!d.id) return;\n"
    "    Dot_tag(d) = base + (uint)get_global_id(0);\n"
    "    Dot_next(d) = Shape_null;\n"
    "    Dot_x(d) = 0;\n"
    "}\n"
    "__kernel void spawn_box(CLUMP_HEAP, uint n, uint base) {\n"
    "    if (get_global_id(0) >= n) return;\n"
    "    Box b = Box_new();\n"
    "    if (!b.id) return;\n"
    "    Box_tag(b) = base + (uint)get_global_id(0);\n"
    "    Box_next(b) = Shape_null;\n"
    "    Box_dot(b) = Dot_null;\n"
    "}\n"
    "__kernel void total(CLUMP_HEAP_NO_ALLOC) {\n"
    "    uint n = 0;\n"
    "    CLUMP_FOR_EACH(Shape, self) n += Shape_tag(self);\n"
    "    CLUMP_REDUCE(uint, n, CLUMP_SUM);\n"
    "}\n"
    "__kernel void misuse(CLUMP_HEAP, __global const uint *places, uint n) {\n"
    "    if (get_global_id(0)) return;\n"
    "    Shape s = {places[n]};\n"
    "    Shape_free(s);\n"
    "    Shape_free(s);\n"
    "}\n";

#define KERNELS(X)                                                                                 \
    X(make)                                                                                        \
    X(drop) X(clear) X(place) X(link) X(bump) X(chase) X(spawn) X(spawn_box) X(total) X(misuse)
#define DOTS 6000u
#define BOXES 3000u
#define SHAPES (DOTS + BOXES)
#define KEEP 5u /* one of so many survives */

static struct {
    world *w;
    clump_heap *heap; /* its heap */
    clump_program *program;
#define KERNEL_MEMBER(name) clump_kernel *name;
    KERNELS(KERNEL_MEMBER)
#undef KERNEL_MEMBER
    cl_mem places, out;
    uint32_t before[SHAPES], after[SHAPES];
} k;

static void kernels_open(void) {
    if (k.heap) return;
    k.w = world_open(f, shapes, 150, 2, seed);
    k.heap = k.w->heap;
    k.program = cl_fixture_program(f, k.heap, source, NULL, NULL);
#define KERNEL_OPEN(name) k.name = cl_fixture_kernel(f, k.program, #name);
    KERNELS(KERNEL_OPEN)
#undef KERNEL_OPEN
    k.places = cl_fixture_buffer(f, NULL, SHAPES * 4);
    k.out = cl_fixture_buffer(f, NULL, SHAPES * 4);
    uint32_t n = SHAPES, keep = KEEP;
    SET_ARG(f, k.drop, 0, keep);
    SET_ARG(f, k.place, 0, k.places);
    SET_ARG(f, k.link, 0, k.places);
    SET_ARG(f, k.link, 1, n);
    SET_ARG(f, k.link, 2, keep);
    SET_ARG(f, k.chase, 0, k.out);
    SET_ARG(f, k.misuse, 0, k.places);
}

static void kernels_close(void) {
    if (!k.heap) return;
#define KERNEL_CLOSE(name) clump_kernel_destroy(k.name);
    KERNELS(KERNEL_CLOSE)
#undef KERNEL_CLOSE
    clump_program_destroy(k.program);
    clReleaseMemObject(k.places);
    clReleaseMemObject(k.out);
    world_close(k.w);
    memset(&k, 0, sizeof k);
}

/* Objects, most of which are freed again; the rest refer to each other. */
static void populate(void) {
    uint32_t base = 0;
    kernels_open();
    CHECK_OK(f, clump_heap_do_all(k.heap, k.clear, NULL));
    SET_ARG(f, k.make, 0, base);
    CHECK_OK(f, clump_heap_do_new(k.heap, k.make, "Dot", DOTS, NULL, NULL));
    base = DOTS;
    SET_ARG(f, k.make, 0, base);
    CHECK_OK(f, clump_heap_do_new(k.heap, k.make, "Box", BOXES, NULL, NULL));
    CHECK_OK(f, clump_heap_do_all(k.heap, k.drop, NULL));
    CHECK_OK(f, clump_heap_do_all(k.heap, k.place, NULL));
    CHECK_OK(f, clump_heap_do_all(k.heap, k.link, NULL));
    CHECK_HEAP(f, k.heap);
}

/* A checksum of every object, by tag. */
static void look(uint32_t *sums) {
    CHECK_OK(f, clump_heap_do_all(k.heap, k.chase, NULL));
    cl_fixture_read(f, k.out, sums, SHAPES * 4);
}

static void same_sums(uint32_t bumps) {
    look(k.after);
    for (uint32_t i = 0; i < SHAPES; i += KEEP)
        assert_int_equal(k.after[i], k.before[i] + (i < DOTS ? 77 * bumps : 0));
}

/* The list of objects is valid when compaction begins, and made anew by the next do-all. */
static void do_all_after(void **state) {
    for (int i = 0; i < 2; i++) {
        populate();
        look(k.before);
        CHECK_OK(f, bench_merge_compact(k.heap, NULL, i ? &merging : NULL, NULL, NULL));
        same_sums(0);
        CHECK_HEAP(f, k.heap);
        uint32_t sum = 0, expected = 0;
        for (uint32_t tag = 0; tag < SHAPES; tag += KEEP) expected += tag;
        CHECK_OK(f, bench_merge_compact(k.heap, NULL, i ? &merging : NULL, NULL, NULL));
        CHECK_OK(f, clump_heap_reduce(k.heap, k.total, sizeof sum, &sum, NULL));
        assert_int_equal(sum, expected);
        clump_class_stats stats[4] = {{.size = sizeof *stats}};
        CHECK_OK(f, clump_heap_read_stats(k.heap, NULL, stats, 4));
        assert_int_equal(stats[cl_fixture_class_id(k.heap, "Dot") - 1].objects, DOTS / KEEP);
        uint32_t capacity = cl_fixture_capacity(k.heap, "Dot");
        if (!i)
            assert_int_equal(stats[cl_fixture_class_id(k.heap, "Dot") - 1].blocks,
                             (DOTS / KEEP + capacity - 1) / capacity);
    }
}

/* Every slot and every block that compaction made free can be had, and not one more. */
static void allocation_after(void **state) {
    for (int i = 0; i < 2; i++) {
        populate();
        look(k.before);
        clump_compact_report report = {.size = sizeof report};
        CHECK_OK(f, bench_merge_compact(k.heap, NULL, i ? &merging : NULL, &report, NULL));
        assert_true(report.moves > 0 && report.blocks_freed > 0);
        uint32_t base = SHAPES, n;
        uint64_t made, room = cl_fixture_free_slots(f, k.heap, "Dot") / 2;
        SET_ARG(f, k.make, 0, base);
        CHECK_OK(f, clump_heap_do_new(k.heap, k.make, "Dot", room, &made, NULL));
        assert_int_equal(made, room);
        CHECK_HEAP(f, k.heap);
        CHECK_OK(f, bench_merge_compact(k.heap, NULL, i ? &merging : NULL, NULL, NULL));
        base += (uint32_t)room;
        n = (uint32_t)cl_fixture_free_slots(f, k.heap, "Dot");
        assert_true(n > 0);
        SET_ARG(f, k.spawn, 0, n);
        SET_ARG(f, k.spawn, 1, base);
        CHECK_OK(f, clump_heap_launch(k.heap, k.spawn, (n + 63) / 64 * 64, 64, NULL));
        CHECK_HEAP(f, k.heap);
        assert_int_equal(cl_fixture_free_slots(f, k.heap, "Dot"), 0);
        CHECK_OK(f, clump_heap_launch(k.heap, k.spawn, 64, 64, NULL));
        clump_device_report errors = {.size = sizeof errors};
        CHECK_STATUS(f, clump_heap_take_errors(k.heap, &errors), CLUMP_ERR_DEVICE);
        assert_int_equal(errors.errors[CLUMP_DEVICE_OUT_OF_MEMORY].count, 64);
        /* Full: nothing to move, nothing lost. */
        CHECK_OK(f, clump_heap_compact(k.heap, NULL, &report, NULL));
        CHECK_HEAP(f, k.heap);
        uint64_t count;
        CHECK_OK(f, clump_heap_read_count(k.heap, "Shape", &count));
        assert_int_equal(count, SHAPES / KEEP + room + n);
        base = SHAPES; /* away with the new ones, whose tags are too large to look at */
        uint32_t *tags = malloc(count * sizeof *tags);
        CHECK_OK(f,
                 clump_heap_read_field(k.heap, "Shape", "tag", 0, sizeof *tags, tags, count, NULL));
        uint8_t *seen = calloc(base + room + n, 1);
        for (uint64_t j = 0; j < count; j++) {
            assert_true(tags[j] < base + room + n && !seen[tags[j]]);
            seen[tags[j]] = 1;
            if (tags[j] >= base) tags[j] = 1; /* not a multiple */
        }
        CHECK_OK(f, clump_heap_write_field(k.heap, "Shape", "tag", 0, sizeof *tags, tags, count));
        CHECK_OK(f, clump_heap_do_all(k.heap, k.drop, NULL));
        free(tags);
        free(seen);
        same_sums(0);
        CHECK_HEAP(f, k.heap);
    }
}

/* No block was free, allocations of another class were refused; compaction makes blocks free and
 * they succeed. */
static void room_after_exhaustion(void **state) {
    for (int i = 0; i < 2; i++) {
        kernels_open();
        CHECK_OK(f, clump_heap_do_all(k.heap, k.clear, NULL));
        uint32_t base = 0, n = 200;
        uint64_t room = cl_fixture_free_slots(f, k.heap, "Dot"), made, count;
        SET_ARG(f, k.make, 0, base);
        CHECK_OK(f, clump_heap_do_new(k.heap, k.make, "Dot", room, &made, NULL));
        assert_int_equal(made, room);
        CHECK_OK(f, clump_heap_do_all(k.heap, k.drop, NULL)); /* leaves some in each block */
        CHECK_HEAP(f, k.heap);
        clump_heap_stats stats = {.size = sizeof stats};
        CHECK_OK(f, clump_heap_read_stats(k.heap, &stats, NULL, 0));
        assert_int_equal(stats.free_blocks, 0);
        base = (uint32_t)room;
        SET_ARG(f, k.spawn_box, 0, n);
        SET_ARG(f, k.spawn_box, 1, base);
        CHECK_OK(f, clump_heap_launch(k.heap, k.spawn_box, 256, 64, NULL));
        clump_device_report errors = {.size = sizeof errors};
        CHECK_STATUS(f, clump_heap_take_errors(k.heap, &errors), CLUMP_ERR_DEVICE);
        assert_int_equal(errors.errors[CLUMP_DEVICE_OUT_OF_MEMORY].count, n);
        CHECK_OK(f, bench_merge_compact(k.heap, NULL, i ? &merging : NULL, NULL, NULL));
        CHECK_OK(f, clump_heap_launch(k.heap, k.spawn_box, 256, 64, NULL));
        CHECK_HEAP(f, k.heap);
        CHECK_OK(f, clump_heap_read_count(k.heap, "Box", &count));
        assert_int_equal(count, n);
    }
}

/* Without waiting in between: kernels before and after see the right objects. */
static void among_enqueued(void **state) {
    for (int i = 0; i < 2; i++) {
        populate();
        look(k.before);
        for (int j = 0; j < 3; j++) {
            CHECK_OK(f, clump_heap_do_all(k.heap, k.bump, NULL));
            CHECK_OK(f, bench_merge_compact(k.heap, NULL, i ? &merging : NULL, NULL, NULL));
            CHECK_OK(f, clump_heap_do_all(k.heap, k.bump, NULL));
        }
        same_sums(6);
        CHECK_HEAP(f, k.heap);
    }
}

/* Frees that are still under way when compaction is asked for. */
static void after_enqueued_frees(void **state) {
    uint32_t base = 0;
    populate();
    look(k.before);
    SET_ARG(f, k.make, 0, base);
    CHECK_OK(f, clump_heap_do_new(k.heap, k.make, "Dot", DOTS, NULL, NULL));
    CHECK_OK(f, clump_heap_do_all(k.heap, k.drop, NULL));
    CHECK_OK(f, clump_heap_compact(k.heap, NULL, NULL, NULL));
    uint64_t count;
    CHECK_OK(f, clump_heap_read_count(k.heap, "Dot", &count));
    assert_int_equal(count, 2 * DOTS / KEEP);
    CHECK_HEAP(f, k.heap);
}

/* What kernels reported is still there to be fetched. */
static void pending_errors(void **state) {
    for (int i = 0; i < 2; i++) {
        uint32_t victim = KEEP * 3;
        populate();
        CHECK_OK(f, clump_heap_do_all(k.heap, k.place, NULL));
        uint32_t places[SHAPES];
        cl_fixture_read(f, k.places, places, sizeof places);
        SET_ARG(f, k.misuse, 1, victim);
        CHECK_OK(f, clump_heap_launch(k.heap, k.misuse, 1, 1, NULL));
        CHECK_OK(f, bench_merge_compact(k.heap, NULL, i ? &merging : NULL, NULL, NULL));
        clump_device_report report = {.size = sizeof report};
        CHECK_STATUS(f, clump_heap_take_errors(k.heap, &report), CLUMP_ERR_DEVICE);
        assert_int_equal(report.errors[CLUMP_DEVICE_DOUBLE_FREE].count, 1);
        assert_int_equal(report.errors[CLUMP_DEVICE_DOUBLE_FREE].ref, places[victim]);
        assert_int_equal(report.errors[CLUMP_DEVICE_OUT_OF_MEMORY].count, 0);
        CHECK_HEAP(f, k.heap);
    }
}

static int is_complete(cl_event event) {
    cl_int status = CL_QUEUED;
    CHECK_CL(
        clGetEventInfo(event, CL_EVENT_COMMAND_EXECUTION_STATUS, sizeof status, &status, NULL));
    return status == CL_COMPLETE;
}

/* The planner does not block without a report: it waits for its list, and its event for it. */
static void events(void **state) {
    populate();
    look(k.before);
    cl_int code;
    cl_event gate = clCreateUserEvent(f->context, &code), compacted = NULL, bumped = NULL;
    CHECK_CL(code);
    clump_sync sync = {1, &gate, &compacted}, then = {1, &compacted, &bumped};
    CHECK_OK(f, clump_heap_compact(k.heap, NULL, NULL, &sync));
    assert_non_null(compacted);
    CHECK_OK(f, clump_heap_do_all(k.heap, k.bump, &then));
    CHECK_CL(clFlush(f->queue));
    for (int i = 0; i < 20; i++) { /* long enough for what does not wait */
        assert_false(is_complete(compacted) || is_complete(bumped));
        nanosleep(&(struct timespec){.tv_nsec = 10000000}, NULL);
    }
    CHECK_CL(clSetUserEventStatus(gate, CL_COMPLETE));
    CHECK_CL(clWaitForEvents(1, &bumped));
    assert_true(is_complete(compacted));
    cl_ulong end, start;
    CHECK_CL(clGetEventProfilingInfo(compacted, CL_PROFILING_COMMAND_END, 8, &end, NULL));
    CHECK_CL(clGetEventProfilingInfo(bumped, CL_PROFILING_COMMAND_START, 8, &start, NULL));
    assert_true(end <= start);
    CHECK_CL(clReleaseEvent(compacted));
    CHECK_CL(clReleaseEvent(bumped));
    same_sums(1);
    /* With a report, and by merging, it has happened when the call returns; also if there is
     * nothing to do, the event is there. */
    for (int i = 0; i < 4; i++) {
        clump_compact_report report = {.size = sizeof report};
        sync.event = &compacted;
        compacted = NULL;
        CHECK_OK(f, bench_merge_compact(k.heap, NULL, i % 2 ? &merging : NULL,
                                        i < 2 ? &report : NULL, &sync));
        assert_non_null(compacted);
        CHECK_CL(clWaitForEvents(1, &compacted));
        CHECK_CL(clReleaseEvent(compacted));
    }
    same_sums(1);
    CHECK_CL(clReleaseEvent(gate));
    CHECK_HEAP(f, k.heap);
}

/* A registered buffer that kernels read: places by tag stay right. */
static void registered_for_kernels(void **state) {
    populate();
    CHECK_OK(f, clump_heap_do_all(k.heap, k.place, NULL));
    clump_refs *refs;
    clump_refs_desc desc = {
        .size = sizeof desc, .buffer = k.places, .count = SHAPES, .null_dangling = 1};
    CHECK_OK(f, clump_refs_create(k.heap, &desc, &refs, NULL));
    CHECK_OK(f, clump_heap_compact(k.heap, NULL, NULL, NULL));
    uint32_t *places = malloc(2 * SHAPES * sizeof *places), *now = places + SHAPES;
    cl_fixture_read(f, k.places, places, SHAPES * 4);
    cl_fixture_write(f, k.out, places, SHAPES * 4);
    clump_refs_destroy(refs);
    CHECK_OK(f, clump_heap_do_all(k.heap, k.place, NULL)); /* writes those that are live */
    cl_fixture_read(f, k.places, now, SHAPES * 4);
    for (uint32_t tag = 0; tag < SHAPES; tag++)
        assert_int_equal(places[tag], tag % KEEP ? 0 : now[tag]);
    free(places);
    CHECK_HEAP(f, k.heap);
}

/* A test that failed leaves things behind, which then stay. */
static void close_all(int failed) {
    if (!failed) kernels_close();
    memset(&k, 0, sizeof k);
    trial_close(failed);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(do_all_after),
        cmocka_unit_test(allocation_after),
        cmocka_unit_test(room_after_exhaustion),
        cmocka_unit_test(among_enqueued),
        cmocka_unit_test(after_enqueued_frees),
        cmocka_unit_test(pending_errors),
        cmocka_unit_test(events),
        cmocka_unit_test(registered_for_kernels),
    };
    const struct CMUnitTest out_of_order[] = {
        cmocka_unit_test(do_all_after),
        cmocka_unit_test(among_enqueued),
        cmocka_unit_test(events),
        cmocka_unit_test(registered_for_kernels),
    };
    const trial_group groups[] = {
        TRIAL_GROUP("among kernels", tests, TRIAL_AS_IS, .close = close_all),
        TRIAL_GROUP("queue out of order", out_of_order, TRIAL_OUT_OF_ORDER, .close = close_all),
    };
    return TRIAL_MAIN(groups);
}
