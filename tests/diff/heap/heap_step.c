/* The steps of a random program, each done to the heap and to the model.
 *
 * Read first: heap_run.h.
 */
#include <stdlib.h>
#include <string.h>

#include "bench/papers/merge/merge.h"
#include "heap_run.h"

#define HEAP_PER_ITEM 3u

static uint32_t draw(heap_run *r, uint32_t below) {
    return test_random(&r->random, below);
}

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
    HEAP_TRY(r, clump_heap_launch(r->heap, r->ops, (n + 15) / 16 * 16, 16, NULL));
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
    HEAP_TRY(r,
             clump_heap_do_new(r->heap, r->fresh, r->m->classes[class_id].name, want, &made, NULL));
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
    HEAP_TRY(r, clump_heap_do_all(r->heap, r->visit, NULL));
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
    HEAP_TRY(r, clump_heap_do_all(r->heap, r->change, NULL));
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
    HEAP_TRY(r, clump_heap_write_field(r->heap, class_name, f->info.name, element, bytes, values,
                                       count));
    if (count) {
        uint32_t i = draw(r, count), other = draw(r, count);
        HEAP_TRY(r, clump_heap_read_object_field(r->heap, class_name, f->info.name, element,
                                                 refs[i], bytes, one));
        if (memcmp(one, values + i * bytes, f->info.width * part) != 0)
            HEAP_FAIL(r, "get_field of %s.%s[%u] is wrong", class_name, f->info.name, element);
        HEAP_TRY(r, clump_heap_write_object_field(r->heap, class_name, f->info.name, element,
                                                  refs[other], bytes, values + i * bytes));
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
    bench_merge merge = {0};
    clump_compact_desc desc = {
        .size = sizeof desc, .classes = &name, .class_count = draw(r, 3) == 0};
    switch (draw(r, 4)) {
    case 0: desc.max_moves = 1 + draw(r, 100); break;
    case 1:
        merge.factor = 1 + draw(r, 3);
        merge.rewrite = (bench_merge_rewrite)draw(r, 3);
        break;
    case 2: desc.order = CLUMP_ORDER_ADDRESS; break;
    default: desc.null_dangling = (int)draw(r, 2);
    }
    uint32_t *handles = malloc(count * sizeof *handles);
    for (uint32_t i = 0; i < count; i++) handles[i] = r->m->live[i]->handle;
    cl_mem buffer = cl_fixture_buffer(r->f, handles, count * sizeof *handles);
    clump_refs *refs;
    clump_refs_desc outside = {
        .size = sizeof outside, .buffer = buffer, .count = count, .null_dangling = 1};
    HEAP_TRY(r, clump_refs_create(r->heap, &outside, &refs, NULL));
    clump_status status =
        bench_merge_compact(r->heap, &desc, merge.factor ? &merge : NULL, NULL, NULL);
    /* An order may lack free blocks: then nothing has changed. */
    if (status != CLUMP_ERR_DEVICE_MEMORY || desc.order == CLUMP_ORDER_ANY) HEAP_TRY(r, status);
    clump_refs_destroy(refs);
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

int heap_step(heap_run *r, uint32_t step) {
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
