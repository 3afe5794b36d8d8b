/* Random programs on a heap and on the model, compared after every step.
 *
 * A program is a list of steps. Each draws its random numbers from the seed and its own number
 * alone, so that steps can be left out: a program that fails is run again with fewer and fewer of
 * them, and the shortest list that still fails is printed.
 *
 * Read first: tests/support/model.h, tests/support/cl_fixture.h. heap_core_source.h writes the
 * kernels.
 */
#ifndef HEAP_CORE_H
#define HEAP_CORE_H

#include "heap_core_source.h"

#define HEAP_STEPS_MAX 400u
#define HEAP_ITEMS_MAX 600u /* work-items of a step */
#define HEAP_PER_ITEM 3u

typedef struct heap_config {
    cl_fixture *f;
    const char *schema;
    uint64_t bytes; /* of the heap; 0: blocks */
    uint32_t blocks, block_rows;
    cl_fixture_build build;
    const char *options; /* of the compiler; may be NULL */
    uint64_t seed;
    uint32_t steps;
    uint32_t items; /* work-items of a step, at most */
} heap_config;

typedef struct heap_run {
    const heap_config *config;
    cl_fixture *f;
    clump_heap *heap;
    clump_program *program;
    clump_kernel *ops, *visit, *change, *fresh;
    model *m;
    heap_names names;
    uint64_t random;
    char failure[512]; /* "": none */
    uint32_t full;     /* allocations that got null in the step */
} heap_run;

#define HEAP_FAIL(r, ...)                                                                          \
    do {                                                                                           \
        if (!*(r)->failure) snprintf((r)->failure, sizeof(r)->failure, __VA_ARGS__);               \
        return -1;                                                                                 \
    } while (0)
#define HEAP_TRY(r, call)                                                                          \
    do {                                                                                           \
        clump_status s_ = (call);                                                                  \
        if (s_)                                                                                    \
            HEAP_FAIL(r, "%s: %s: %.300s", #call, clump_status_name(s_),                           \
                      clump_context_get_error((r)->f->clump)->message);                            \
    } while (0)
#define HEAP_ARG(r, kernel, index, value)                                                          \
    HEAP_TRY(r, clump_kernel_set_arg(kernel, index, sizeof(value), &(value)))

static uint32_t draw(heap_run *r, uint32_t below) {
    return test_random(&r->random, below);
}

/* ---- Comparison ------------------------------------------------------------------------------ */

/* The value of an element as the heap should hold it: tags become handles. */
static void expected_value(const heap_run *r, const model_object *object, uint32_t field,
                           uint32_t element, uint8_t *value) {
    const clump_field_info *info = &r->m->fields[field].info;
    memcpy(value, model_value(r->m, object, field, element), info->element_bytes);
    if (info->type != CLUMP_TYPE_REF) return;
    uint32_t tag, handle = 0;
    memcpy(&tag, value, sizeof tag);
    if (tag) {
        const model_object *target = model_by_tag(r->m, tag);
        handle = target ? target->handle : UINT32_MAX; /* dangling: cannot be known */
    }
    memcpy(value, &handle, sizeof handle);
}

/* One field of all objects that have it. refs: in the order of enumeration. */
static int compare_field(heap_run *r, uint32_t field, const uint32_t *refs, uint32_t count) {
    const model_field *f = &r->m->fields[field];
    uint32_t bytes = f->info.element_bytes;
    uint32_t used = f->info.width * model_component_bytes(f->info.type); /* 3-vectors have a pad */
    uint8_t *values = malloc((size_t)count * bytes + 1), expected[128];
    int result = 0;
    for (uint32_t e = 0; e < f->elements && !result; e++) {
        const char *class_name = r->m->classes[f->info.class_id].name;
        if (clump_heap_read_field(r->heap, class_name, f->info.name, e, values, count)) {
            snprintf(r->failure, sizeof r->failure, "read_field of %s.%s: %.300s", class_name,
                     f->info.name, clump_context_get_error(r->f->clump)->message);
            result = -1;
        }
        for (uint32_t i = 0; i < count && !result; i++) {
            const model_object *object = model_by_handle(r->m, refs[i]);
            expected_value(r, object, field, e, expected);
            if (memcmp(values + (size_t)i * bytes, expected, used) == 0) continue;
            uint32_t dangling;
            memcpy(&dangling, expected, bytes < 4 ? bytes : 4);
            if (f->info.type == CLUMP_TYPE_REF && dangling == UINT32_MAX) continue;
            snprintf(r->failure, sizeof r->failure, "%s.%s[%u] of object %u (%08x) is wrong",
                     class_name, f->info.name, e, object->tag, refs[i]);
            result = -1;
        }
    }
    free(values);
    return result;
}

/* The live objects of one class and its subclasses, and the fields that the class declares. */
static int compare_class(heap_run *r, uint32_t id, uint32_t *exact) {
    const char *name = r->m->classes[id].name;
    uint32_t expected = model_count(r->m, id);
    uint64_t count = 0;
    uint32_t *refs = malloc((expected + 1) * sizeof *refs);
    int result = -1;
    if (clump_heap_read_refs(r->heap, name, refs, expected, &count)) {
        snprintf(r->failure, sizeof r->failure, "enumerate %s: %.300s", name,
                 clump_context_get_error(r->f->clump)->message);
    } else if (count != expected) {
        snprintf(r->failure, sizeof r->failure, "class %s has %u objects, expected %u", name,
                 (uint32_t)count, expected);
    } else {
        result = 0;
    }
    for (uint32_t i = 0; i < expected && !result; i++) {
        const model_object *object = model_by_handle(r->m, refs[i]);
        if (!object || !model_is_a(r->m, object->class_id, id)) {
            snprintf(r->failure, sizeof r->failure, "%08x is a live %s, expected %s", refs[i], name,
                     object ? r->m->classes[object->class_id].name : "nothing");
            result = -1;
        } else {
            exact[refs[i]] = id; /* subclasses come later */
        }
    }
    for (uint32_t f = r->m->own_fields[id]; f < r->m->own_fields[id + 1] && !result; f++)
        result = compare_field(r, f, refs, expected);
    free(refs);
    return result;
}

static int compare_stats(heap_run *r) {
    clump_heap_stats all;
    clump_class_stats classes[CLUMP_CLASSES_MAX];
    HEAP_TRY(r, clump_heap_calc_stats(r->heap, &all, classes, CLUMP_CLASSES_MAX));
    uint64_t objects = 0, slots = 0;
    uint32_t blocks = 0;
    for (uint32_t id = 1; id <= r->m->class_count; id++) {
        const clump_class_stats *c = &classes[id - 1];
        uint32_t expected = model_count_exact(r->m, id);
        if (c->objects != expected || c->slots < c->objects || c->active_blocks > c->blocks ||
            (c->slots == c->objects) != (c->active_blocks == 0) || (c->blocks && !c->objects) ||
            (c->blocks && c->fragmentation != 1.0 - (double)c->objects / (double)c->slots))
            HEAP_FAIL(r, "statistics of class %s: %u objects (expected %u), %u slots, %u blocks",
                      r->m->classes[id].name, (uint32_t)c->objects, expected, (uint32_t)c->slots,
                      c->blocks);
        objects += c->objects;
        slots += c->slots;
        blocks += c->blocks;
    }
    if (all.objects != objects || all.slots != slots || all.blocks != blocks + all.free_blocks ||
        all.blocks != clump_heap_get_layout(r->heap)->block_count)
        HEAP_FAIL(r, "statistics of the heap do not add up");
    return 0;
}

/* Only as many nulls as reported. */
static int compare_reports(heap_run *r) {
    clump_device_report report;
    clump_status status = clump_heap_fetch_errors(r->heap, &report);
    if (status && status != CLUMP_ERR_DEVICE) HEAP_TRY(r, status);
    for (int i = 0; i < CLUMP_DEVICE_ERROR_COUNT; i++) {
        uint32_t expected = i == CLUMP_DEVICE_OUT_OF_MEMORY ? r->full : 0;
        if (report.errors[i].count != expected)
            HEAP_FAIL(r, "%u reports of kind %d, expected %u", report.errors[i].count, i, expected);
    }
    r->full = 0;
    return 0;
}

static int compare(heap_run *r) {
    HEAP_TRY(r, clump_heap_check(r->heap));
    if (compare_reports(r) || compare_stats(r)) return -1;
    uint32_t *exact = calloc(r->m->handle_limit, sizeof *exact);
    int result = 0;
    for (uint32_t id = 1; id <= r->m->class_count && !result; id++)
        result = compare_class(r, id, exact);
    for (uint32_t i = 0; i < r->m->live_count && !result; i++) {
        const model_object *object = r->m->live[i];
        if (exact[object->handle] == object->class_id) continue;
        snprintf(r->failure, sizeof r->failure, "object %u is of class %u, expected %u",
                 object->tag, exact[object->handle], object->class_id);
        result = -1;
    }
    free(exact);
    return result;
}

/* ---- Steps ----------------------------------------------------------------------------------- */

static model_object *note_new(heap_run *r, uint32_t class_id, uint32_t handle, uint32_t salt) {
    model_object *object = model_new(r->m, class_id, handle);
    if (object)
        model_fill(r->m, object, class_id, salt);
    else if (!*r->failure)
        snprintf(r->failure, sizeof r->failure, "%08x was given out for a new %s, but %s", handle,
                 r->m->classes[class_id].name,
                 model_by_handle(r->m, handle) ? "is a live object" : "is out of range");
    return object;
}

/* A class that an object can be seen as: its own or a base. */
static uint32_t random_view(heap_run *r, uint32_t class_id) {
    while (r->m->classes[class_id].base && draw(r, 2)) class_id = r->m->classes[class_id].base;
    return class_id;
}

/* A live object that fits a reference field, or NULL. */
static model_object *random_object(heap_run *r, uint32_t class_id) {
    for (int i = 0; i < 8 && r->m->live_count; i++) {
        model_object *object = r->m->live[draw(r, r->m->live_count)];
        if (model_is_a(r->m, object->class_id, class_id)) return object;
    }
    return NULL;
}

/* An operation on an object; what it should leave in out[] comes back in *expected. */
static heap_op plan_op(heap_run *r, model_object *object, uint32_t *expected) {
    heap_op op = {.ref = object->handle, .arg = draw(r, UINT32_MAX)};
    op.class_id = random_view(r, object->class_id);
    switch (draw(r, 5)) {
    case 0:
        op.kind = HEAP_OP_FILL;
        model_fill(r->m, object, op.class_id, op.arg);
        break;
    case 1:
        op.kind = HEAP_OP_SUM;
        *expected = heap_object_sum(r->m, object, op.class_id);
        break;
    case 2:
        op.kind = HEAP_OP_CAST;
        *expected = heap_object_casts(r->m, object, op.class_id);
        break;
    default: {
        uint32_t fields = r->m->own_fields[op.class_id + 1] - r->m->own_fields[op.class_id];
        if (!fields) break;
        uint32_t field = r->m->own_fields[op.class_id] + draw(r, fields);
        const model_field *f = &r->m->fields[field];
        if (f->info.type != CLUMP_TYPE_REF) break;
        model_object *target = draw(r, 8) ? random_object(r, f->info.ref_class) : NULL;
        uint32_t tag = target ? target->tag : 0;
        op.kind = HEAP_OP_LINK;
        op.field = field;
        op.element = draw(r, f->elements);
        op.arg = target ? target->handle : 0;
        memcpy(model_value(r->m, object, field, op.element), &tag, sizeof tag);
    }
    }
    return op;
}

/* Every work-item performs a list; an object is in one list only, and freed last. */
static int step_ops(heap_run *r) {
    static heap_op ops[HEAP_ITEMS_MAX * HEAP_PER_ITEM];
    static uint32_t out[HEAP_ITEMS_MAX * HEAP_PER_ITEM], expected[HEAP_ITEMS_MAX * HEAP_PER_ITEM];
    static model_object *doomed[HEAP_ITEMS_MAX];
    uint32_t n = 1 + draw(r, r->config->items), makers = draw(r, 101), dead = 0, first = 0;
    memset(ops, 0, sizeof ops);
    memset(expected, 0, sizeof expected);
    uint32_t killers = draw(r, 101), live = r->m->live_count;
    if (live) first = draw(r, live);
    for (uint32_t i = 0; i < n; i++) {
        heap_op *list = &ops[i * HEAP_PER_ITEM];
        uint32_t turn = i;
        if (draw(r, 100) < makers)
            list[0] = (heap_op){.kind = HEAP_OP_NEW,
                                .arg = draw(r, UINT32_MAX),
                                .class_id = r->names.made[draw(r, r->names.made_count)]};
        if (turn >= live) continue;
        model_object *object = r->m->live[(first + turn) % live];
        list[1] = plan_op(r, object, &expected[i * HEAP_PER_ITEM + 1]);
        if (draw(r, 100) >= killers) continue;
        list[2] = (heap_op){.kind = HEAP_OP_FREE,
                            .ref = object->handle,
                            .class_id = heap_free_view(r->m, object->class_id)};
        doomed[dead++] = object;
    }
    cl_mem in = cl_fixture_buffer(r->f, ops, n * HEAP_PER_ITEM * sizeof *ops);
    cl_mem results = cl_fixture_buffer(r->f, NULL, n * HEAP_PER_ITEM * sizeof *out);
    uint32_t per_item = HEAP_PER_ITEM;
    HEAP_ARG(r, r->ops, 0, n);
    HEAP_ARG(r, r->ops, 1, per_item);
    HEAP_ARG(r, r->ops, 2, in);
    HEAP_ARG(r, r->ops, 3, results);
    HEAP_TRY(r, clump_launch(r->heap, r->ops, (n + 15) / 16 * 16, 16, NULL));
    cl_fixture_read(r->f, results, out, n * HEAP_PER_ITEM * sizeof *out);
    clReleaseMemObject(in);
    clReleaseMemObject(results);
    while (dead) model_free(r->m, doomed[--dead]);
    for (uint32_t i = 0; i < n * HEAP_PER_ITEM; i++) {
        if (ops[i].kind == HEAP_OP_NEW) {
            if (!out[i])
                r->full++;
            else if (!note_new(r, ops[i].class_id, out[i], ops[i].arg))
                return -1;
        } else if (out[i] != expected[i]) {
            HEAP_FAIL(r, "operation %u (kind %u, class %u, object %08x) gave %08x, expected %08x",
                      i, ops[i].kind, ops[i].class_id, ops[i].ref, out[i], expected[i]);
        }
    }
    return 0;
}

static int step_do_new(heap_run *r) {
    uint32_t class_id;
    do {
        class_id = 1 + draw(r, r->m->class_count);
    } while (r->m->classes[class_id].is_abstract);
    uint32_t want = draw(r, draw(r, 4) ? 200 : 2 * r->config->items), salt = draw(r, UINT32_MAX);
    uint64_t made = 0;
    uint32_t *out = malloc((want + 1) * sizeof *out);
    cl_mem results = cl_fixture_buffer(r->f, NULL, (want + 1) * sizeof *out);
    HEAP_ARG(r, r->fresh, 0, class_id);
    HEAP_ARG(r, r->fresh, 1, salt);
    HEAP_ARG(r, r->fresh, 2, results);
    HEAP_TRY(r, clump_do_new(r->heap, r->m->classes[class_id].name, want, r->fresh, &made, NULL));
    cl_fixture_read(r->f, results, out, (want + 1) * sizeof *out);
    clReleaseMemObject(results);
    int result = 0;
    for (uint32_t i = 0; i < made && !result; i++)
        if (!note_new(r, class_id, out[i], test_hash(i ^ salt))) result = -1;
    free(out);
    r->full += want - (uint32_t)made;
    return result;
}

/* A do-all that changes the objects of a class and its subclasses. */
static int step_visit(heap_run *r) {
    uint32_t class_id = r->names.seen[draw(r, r->names.seen_count)], salt = draw(r, UINT32_MAX);
    HEAP_ARG(r, r->visit, 0, class_id);
    HEAP_ARG(r, r->visit, 1, salt);
    HEAP_TRY(r, clump_do_all(r->heap, r->visit, NULL));
    for (uint32_t i = 0; i < r->m->live_count; i++) {
        model_object *object = r->m->live[i];
        if (model_is_a(r->m, object->class_id, class_id))
            model_fill(r->m, object, class_id, test_hash(object->handle ^ salt));
    }
    return 0;
}

/* A do-all that frees some objects of a class and makes others. */
static int step_change(heap_run *r) {
    uint32_t class_id = r->names.changed, salt = draw(r, UINT32_MAX);
    uint32_t breed = r->m->live_count < 3 * r->config->items ? 1 + draw(r, 20) : 0;
    uint32_t cull = 1 + draw(r, 6), limit = r->m->handle_limit;
    uint32_t *out = malloc(limit * sizeof *out);
    cl_mem results = cl_fixture_buffer(r->f, NULL, limit * sizeof *out);
    HEAP_ARG(r, r->change, 0, salt);
    HEAP_ARG(r, r->change, 1, cull);
    HEAP_ARG(r, r->change, 2, breed);
    HEAP_ARG(r, r->change, 3, results);
    HEAP_TRY(r, clump_do_all(r->heap, r->change, NULL));
    cl_fixture_read(r->f, results, out, limit * sizeof *out);
    clReleaseMemObject(results);
    /* Parents may be gone and their slots given to children: first all frees, then all news. */
    uint32_t before = r->m->live_count, parents = 0;
    uint32_t *parent = malloc((before + 1) * sizeof *parent);
    for (uint32_t i = before; i-- > 0;) {
        model_object *object = r->m->live[i];
        if (!model_is_a(r->m, object->class_id, class_id)) continue;
        uint32_t number = test_hash(object->handle ^ salt);
        if (breed && number % 32 < breed) parent[parents++] = object->handle;
        if (number / 32 % 8 < cull) model_free(r->m, object);
    }
    int result = 0;
    for (uint32_t i = 0; i < parents && !result; i++) {
        if (!out[parent[i]])
            r->full++;
        else if (!note_new(r, r->names.made[0], out[parent[i]], parent[i]))
            result = -1;
    }
    free(parent);
    free(out);
    return result;
}

/* Fields written from the host: all objects of a class, then one of them. */
static int step_host(heap_run *r) {
    if (!r->m->field_count) return 0;
    uint32_t field = draw(r, r->m->field_count), salt = draw(r, UINT32_MAX);
    const model_field *f = &r->m->fields[field];
    if (f->info.type == CLUMP_TYPE_REF) return 0;
    const char *class_name = r->m->classes[f->info.class_id].name;
    uint32_t element = draw(r, f->elements), count = model_count(r->m, f->info.class_id);
    uint32_t bytes = f->info.element_bytes, part = model_component_bytes(f->info.type);
    uint64_t found;
    uint32_t *refs = malloc((count + 1) * sizeof *refs);
    uint8_t *values = calloc(count + 1, bytes), one[128];
    HEAP_TRY(r, clump_heap_read_refs(r->heap, class_name, refs, count, &found));
    for (uint32_t i = 0; i < count; i++) {
        for (uint32_t c = 0; c < f->info.width; c++)
            model_component(f->info.type, test_hash(salt + 16 * i + c),
                            values + i * bytes + c * part);
        memcpy(model_value(r->m, model_by_handle(r->m, refs[i]), field, element),
               values + i * bytes, bytes);
    }
    HEAP_TRY(r, clump_heap_write_field(r->heap, class_name, f->info.name, element, values, count));
    if (count) {
        uint32_t i = draw(r, count), other = draw(r, count);
        HEAP_TRY(r, clump_heap_read_object_field(r->heap, refs[i], class_name, f->info.name,
                                                 element, one));
        if (memcmp(one, values + i * bytes, f->info.width * part) != 0)
            HEAP_FAIL(r, "get_field of %s.%s[%u] is wrong", class_name, f->info.name, element);
        HEAP_TRY(r, clump_heap_write_object_field(r->heap, refs[other], class_name, f->info.name,
                                                  element, values + i * bytes));
        memcpy(model_value(r->m, model_by_handle(r->m, refs[other]), field, element),
               values + i * bytes, bytes);
    }
    free(refs);
    free(values);
    return 0;
}

/* Objects move: their new handles come from a buffer of all handles, registered for the call. */
static int step_compact(heap_run *r) {
    uint32_t count = r->m->live_count;
    if (!count) return 0;
    const char *name = r->m->classes[1 + draw(r, r->m->class_count)].name;
    clump_merge_desc merge = {0};
    clump_compact_desc desc = {.classes = &name, .class_count = draw(r, 3) == 0};
    switch (draw(r, 4)) {
    case 0: desc.max_moves = 1 + draw(r, 100); break;
    case 1:
        merge.factor = 1 + draw(r, 3);
        merge.rewrite = (clump_merge_rewrite)draw(r, 3);
        desc.merge = &merge;
        break;
    case 2: desc.order = CLUMP_ORDER_ADDRESS; break;
    default: desc.null_dangling = (int)draw(r, 2);
    }
    uint32_t *handles = malloc(count * sizeof *handles);
    for (uint32_t i = 0; i < count; i++) handles[i] = r->m->live[i]->handle;
    cl_mem buffer = cl_fixture_buffer(r->f, handles, count * sizeof *handles);
    clump_refs *refs;
    clump_refs_desc outside = {.buffer = buffer, .count = count, .null_dangling = 1};
    HEAP_TRY(r, clump_refs_register(r->heap, &outside, &refs));
    clump_status status = clump_compact(r->heap, &desc, NULL, NULL);
    /* An order may lack free blocks: then nothing has changed. */
    if (status != CLUMP_ERR_CAPACITY || desc.order == CLUMP_ORDER_ANY) HEAP_TRY(r, status);
    clump_refs_unregister(refs);
    for (uint32_t i = 0; i < count; i++) r->m->by_handle[handles[i]] = NULL;
    cl_fixture_read(r->f, buffer, handles, count * sizeof *handles);
    clReleaseMemObject(buffer);
    int result = 0;
    for (uint32_t i = 0; i < count && !result; i++) {
        if (handles[i] >= r->m->handle_limit || r->m->by_handle[handles[i]]) {
            snprintf(r->failure, sizeof r->failure, "object %u has moved to %08x, where %s",
                     r->m->live[i]->tag, handles[i],
                     handles[i] < r->m->handle_limit ? "another is" : "no object can be");
            result = -1;
        } else {
            r->m->live[i]->handle = handles[i];
            r->m->by_handle[handles[i]] = r->m->live[i];
        }
    }
    free(handles);
    return result;
}

static int run_step(heap_run *r, uint32_t step) {
    r->random = r->config->seed * 1000003u + step;
    draw(r, 2);
    switch (draw(r, 9)) {
    case 0:
    case 1:
    case 2: return step_ops(r);
    case 3: return step_do_new(r);
    case 4: return step_visit(r);
    case 5:
    case 6: return step_change(r);
    case 7: return step_compact(r);
    default: return step_host(r);
    }
}

/* ---- Programs -------------------------------------------------------------------------------- */

static void heap_run_open(heap_run *r, const heap_config *config) {
    memset(r, 0, sizeof *r);
    r->config = config;
    r->f = config->f;
    r->heap =
        config->bytes
            ? cl_fixture_heap(r->f, config->schema, config->bytes, config->block_rows)
            : cl_fixture_heap_of_blocks(r->f, config->schema, config->blocks, config->block_rows);
    const clump_heap_layout *layout = clump_heap_get_layout(r->heap);
    uint32_t limit = (layout->first_block + layout->block_count) * layout->block_granules * 64;
    r->m = model_create(clump_heap_get_schema(r->heap), limit);
    assert_non_null(r->m);
    char *source = heap_source(r->m, &r->names);
    r->program = cl_fixture_program(r->f, r->heap, source, config->options, &config->build);
    free(source);
    r->ops = cl_fixture_kernel(r->f, r->program, "ops");
    r->visit = cl_fixture_kernel(r->f, r->program, "visit");
    r->change = cl_fixture_kernel(r->f, r->program, "change");
    r->fresh = cl_fixture_kernel(r->f, r->program, "fresh");
}

static void heap_run_close(heap_run *r) {
    clump_kernel_destroy(r->ops);
    clump_kernel_destroy(r->visit);
    clump_kernel_destroy(r->change);
    clump_kernel_destroy(r->fresh);
    clump_program_destroy(r->program);
    clump_heap_destroy(r->heap);
    model_destroy(r->m);
}

/* Run the steps in a fresh heap; returns how many passed, and all did if it is count. */
static uint32_t run_steps(const heap_config *config, const uint32_t *steps, uint32_t count,
                          char *failure, size_t bytes) {
    heap_run r;
    uint32_t i = 0;
    heap_run_open(&r, config);
    while (i < count && run_step(&r, steps[i]) == 0 && compare(&r) == 0) i++;
    snprintf(failure, bytes, "%s", r.failure);
    heap_run_close(&r);
    return i;
}

/* Leave out halves, quarters, ... of the steps as long as the program fails. */
static uint32_t shrink(const heap_config *config, uint32_t *steps, uint32_t count, char *failure,
                       size_t bytes) {
    for (uint32_t chunk = count / 2; chunk; chunk /= 2) {
        for (uint32_t at = 0; at + chunk <= count;) {
            uint32_t fewer[HEAP_STEPS_MAX], n = count - chunk;
            char words[512];
            memcpy(fewer, steps, at * sizeof *fewer);
            memcpy(fewer + at, steps + at + chunk, (n - at) * sizeof *fewer);
            uint32_t passed = run_steps(config, fewer, n, words, sizeof words);
            if (passed == n) {
                at += chunk;
                continue;
            }
            count = passed + 1;
            memcpy(steps, fewer, count * sizeof *steps);
            snprintf(failure, bytes, "%s", words);
        }
    }
    return count;
}

/* Run a random program; fails the test with the shortest failing list of steps. */
static void heap_random_program(const heap_config *config) {
    uint32_t steps[HEAP_STEPS_MAX];
    char failure[512];
    assert_true(config->steps <= HEAP_STEPS_MAX && config->items <= HEAP_ITEMS_MAX);
    for (uint32_t i = 0; i < config->steps; i++) steps[i] = i;
    uint32_t passed = run_steps(config, steps, config->steps, failure, sizeof failure);
    if (passed == config->steps) return;
    print_error("seed %llu, block_rows %u: step %u of %u: %s\n", (unsigned long long)config->seed,
                config->block_rows, passed, config->steps, failure);
    uint32_t count = shrink(config, steps, passed + 1, failure, sizeof failure);
    print_error("shortest failing list of steps:");
    for (uint32_t i = 0; i < count; i++) print_error(" %u", steps[i]);
    print_error("\n");
    fail_msg("seed %llu: %s", (unsigned long long)config->seed, failure);
}

#endif
