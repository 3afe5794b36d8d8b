/* Orders: objects stand in the order of their addresses, of a field, or of keys that a kernel
 * gives.
 *
 * Read first: trial.h.
 */
#include <stdlib.h>

#include "trial.h"

static cl_fixture *const f = &trial_fixture;

/* The objects of a class now stand in the order of their keys, and with equal keys as before. keys:
 * by number before; NULL: none. */
static void check_order(const trial *t, uint32_t id, const uint32_t *keys) {
    const world *w = t->w;
    uint32_t *number = calloc(t->before->count + 2, sizeof *number), last = 0;
    assert_non_null(number);
    for (uint32_t n = t->before->start[id]; n < t->before->start[id + 1]; n++)
        number[tag_of(t->before, n)] = n;
    for (uint32_t n = t->after->start[id]; n < t->after->start[id + 1]; n++) {
        uint32_t was = number[tag_of(t->after, n)];
        if (n > t->after->start[id]) {
            uint32_t a = keys ? keys[last] : 0, b = keys ? keys[was] : 0;
            WORLD_CHECK(w, a < b || (a == b && last < was),
                        "class %s: object %u with key %08x stands in front of %u with %08x",
                        w->classes[id].name, last, a, was, b);
        }
        last = was;
    }
    free(number);
}

/* Dense, in blocks that were free; all objects moved. `single`: one class took part. */
static void check_dense(const trial *t, int single) {
    const world *w = t->w;
    uint64_t objects = 0;
    for (uint32_t id = 1; id <= w->class_count; id++) {
        if (!t->part[id] || !w->k[id].rows) continue;
        class_plan b = plan_of(t->after, id);
        uint32_t capacity = w->k[id].capacity;
        objects += b.objects;
        WORLD_CHECK(w, b.open <= 1 && b.blocks == (b.objects + capacity - 1) / capacity,
                    "class %s has %u blocks, %u not full", w->classes[id].name, b.blocks, b.open);
        free(b.credits);
        for (uint32_t n = t->after->start[id]; n < t->after->start[id + 1] && single; n++) {
            uint32_t block = block_of(w, t->after->refs[n]);
            WORLD_CHECK(w, !block_class(w, t->before->image, block), "block %u was not free",
                        block);
        }
    }
    equal(t, "moves", t->report.moves, objects);
    if (single) check_references(t);
}

static void order_address(void **state) {
    static const int in[] = {NARROW, WIDE, HUGE_OBJECTS, MANY_BLOCKS, MANY_CLASSES};
    for (int i = 0; i < 5; i++) {
        trial t;
        world *w = enter(in[i]);
        LABEL(w, "order of addresses, %s", worlds[in[i]].name);
        snapshot_drop(world_fill(w, &half));
        trial_run(&t, w,
                  &(clump_compact_desc){.size = sizeof(clump_compact_desc),
                                        .order = CLUMP_ORDER_ADDRESS});
        check_dense(&t, 0);
        for (uint32_t id = 1; id <= w->class_count; id++)
            if (w->tag[id] >= 0) check_order(&t, id, NULL);
        trial_done(&t);
    }
}

/* One class alone, by one of its fields. */
static void order_by(int which, const char *class_name, const char *field, int null_dangling) {
    trial t;
    world *w = enter(which);
    LABEL(w, "%s, %s in order of %s", worlds[which].name, class_name, field);
    const clump_field_info *info = &w->fields[find_field(w, class_name, field)];
    snapshot *start = world_fill(w, &half);
    uint32_t id = cl_fixture_class_id(w->heap, class_name);
    /* Few keys, so that many are equal. */
    for (uint32_t n = start->start[id]; n < start->start[id + 1]; n++) {
        if (info->type == CLUMP_TYPE_UINT)
            put_word(start, start->refs[n], info, 0, test_hash(n) % 5 * 0x33333333u);
        else if (n % 3 == 0 && start->start[info->ref_class] < start->count)
            put_word(start, start->refs[n], info, 0, start->refs[start->start[info->ref_class]]);
    }
    snapshot_put(w, start);
    snapshot_drop(start);
    clump_compact_desc desc = {.size = sizeof desc,
                               .classes = &class_name,
                               .class_count = 1,
                               .order = CLUMP_ORDER_FIELD,
                               .order_field = field,
                               .null_dangling = null_dangling};
    trial_run(&t, w, &desc);
    check_dense(&t, w->classes[id].last == id);
    uint32_t *keys = calloc(t.before->count + 1, sizeof *keys);
    assert_non_null(keys);
    for (uint32_t n = t.before->start[id]; n < t.before->start[id + 1]; n++)
        keys[n] = word_at(t.before, t.before->refs[n], info, 0);
    if (w->classes[id].last == id && (info->type == CLUMP_TYPE_UINT || !null_dangling))
        check_order(&t, id, keys);
    free(keys);
    trial_done(&t);
}

static void order_field(void **state) {
    order_by(NARROW, "Plain", "key", 0);
    order_by(WIDE, "Plain", "key", 1);
    order_by(NARROW, "Plain", "leaf", 0); /* a reference to another class, inherited */
    order_by(MIDDLE, "Dot", "t", 0);      /* in a struct */
    order_by(MIDDLE, "Dot", "d", 0);      /* to its own class, whose objects move as well */
    order_by(HUGE_OBJECTS, "Huge", "p", 0);
    order_by(MANY_BLOCKS, "Only", "next", 0);
    order_by(NARROW, "Node", "next", 1); /* with a subclass, one after the other */
}

/* ---- Keys ------------------------------------------------------------------------------------ */

static const char shapes[] =
    "abstract class Shape { uint tag; ref Shape next; }\n"
    "class Dot : Shape { uint x; }\n"
    "class Box : Shape { ulong y; ref Dot dot; uchar small; }\n"
    "class Mote { uchar v; }\n";

static const char key_source[] =
    "__kernel void keys(CLUMP_HEAP_NO_ALLOC, __global uint *keys, uint modulus) {\n"
    "    CLUMP_FOR_EACH_KEYED(Shape, self, number)\n"
    "        keys[number] = Shape_tag(self) * 2654435761u % modulus;\n"
    "}\n";

/* Keys from a kernel: few, so that many are equal; then all different. */
static void order_key(void **state) {
    world *w = world_open(f, shapes, 150, 2, seed);
    clump_program *program = cl_fixture_program(f, w->heap, key_source, NULL, NULL);
    clump_kernel *kernel = cl_fixture_kernel(f, program, "keys");
    static const uint32_t moduli[] = {7, 1, 1000003};
    for (int i = 0; i < 3; i++) {
        trial t;
        w->random = seed + (uint64_t)i;
        LABEL(w, "order of keys below %u", moduli[i]);
        snapshot_drop(world_fill(w, &half));
        SET_ARG(f, kernel, 1, moduli[i]);
        static const char *const names[] = {"Shape"};
        clump_compact_desc desc = {.size = sizeof desc,
                                   .classes = names,
                                   .class_count = 1,
                                   .order = CLUMP_ORDER_KEY,
                                   .key_kernel = kernel};
        trial_run(&t, w, &desc);
        check_dense(&t, 0);
        uint32_t *keys = calloc(t.before->count + 1, sizeof *keys);
        for (uint32_t n = 0; n < t.before->count; n++)
            if (w->tag[t.before->class_id[n]] >= 0)
                keys[n] = tag_of(t.before, n) * 2654435761u % moduli[i];
        check_order(&t, cl_fixture_class_id(w->heap, "Dot"), keys);
        check_order(&t, cl_fixture_class_id(w->heap, "Box"), keys);
        free(keys);
        trial_done(&t);
    }
    clump_kernel_destroy(kernel);
    clump_program_destroy(program);
    world_close(w);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(order_address),
        cmocka_unit_test(order_field),
        cmocka_unit_test(order_key),
    };
    const struct CMUnitTest out_of_order[] = {
        cmocka_unit_test(order_key),
    };
    const trial_group groups[] = {
        TRIAL_GROUP("orders", tests, TRIAL_AS_IS),
        TRIAL_GROUP("queue out of order", out_of_order, TRIAL_OUT_OF_ORDER),
    };
    return TRIAL_MAIN(groups);
}
