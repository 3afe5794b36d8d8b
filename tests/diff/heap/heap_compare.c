/* The heap against the model: live objects, every field, statistics, reports.
 *
 * Read first: heap_run.h.
 */
#include <stdlib.h>
#include <string.h>

#include "heap_run.h"

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
        if (clump_heap_read_field(r->heap, class_name, f->info.name, e, bytes, values, count,
                                  NULL)) {
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
    clump_heap_stats all = {.size = sizeof all};
    clump_class_stats classes[CLUMP_CLASSES_MAX] = {{.size = sizeof *classes}};
    HEAP_TRY(r, clump_heap_read_stats(r->heap, &all, classes, CLUMP_CLASSES_MAX));
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
        all.blocks != clump_heap_get_info(r->heap)->block_count)
        HEAP_FAIL(r, "statistics of the heap do not add up");
    return 0;
}

/* Only as many nulls as reported. */
static int compare_reports(heap_run *r) {
    clump_device_report report = {.size = sizeof report};
    clump_status status = clump_heap_take_errors(r->heap, &report);
    if (status && status != CLUMP_ERR_DEVICE) HEAP_TRY(r, status);
    for (int i = 0; i < CLUMP_DEVICE_ERROR_COUNT; i++) {
        uint32_t expected = i == CLUMP_DEVICE_OUT_OF_MEMORY ? r->full : 0;
        if (report.errors[i].count != expected)
            HEAP_FAIL(r, "%u reports of kind %d, expected %u", report.errors[i].count, i, expected);
    }
    r->full = 0;
    return 0;
}

int heap_compare(heap_run *r) {
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
