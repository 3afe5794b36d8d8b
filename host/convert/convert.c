/* The call that gives a heap another schema (clump/convert.h).
 *
 * Invariant: all that can fail has been done before the heap has its new memory; registered references are the last of it, and can be taken
 * back.
 *
 * Read first: convert.h, objects.c, outside.c.
 */
#include <stddef.h>
#include <string.h>

#include "convert/convert.h"

static const char call[] = "clump_heap_convert";

/* ---- Before anything is done ----------------------------------------------------------------- */

static clump_status refuse_array(clump_context *c, const clump_schema *schema, const char *whose) {
    const clump_field_info *array = clumpi_schema_find_array(schema, 0);
    if (!array) return CLUMP_OK;
    return clumpi_fail(&c->error, CLUMP_ERR_USAGE,
                       "%s: field %s of class %s of %s is an array of run-time length, and %s",
                       call, array->name, clumpi_schema_field_class(schema, array), whose,
                       array->array == CLUMP_ARRAY_GROWING
                           ? "its raw memory is not moved"
                           : "such arrays, with `max` too, are not converted");
}

static clump_status check(clump_heap *heap, const clump_convert_desc *desc) {
    clump_context *c = heap->context;
    clumpi_error errors[CLUMPI_ERRORS];
    if (!desc || !desc->schema || !clump_schema_get_class_count(desc->schema))
        return clumpi_fail(&c->error, CLUMP_ERR_USAGE, "%s needs a schema that is sealed", call);
    clump_status status = refuse_array(c, heap->schema, "the heap's schema");
    if (!status) status = refuse_array(c, desc->schema, "the new schema");
    if (!status && heap->has_raw)
        status = clumpi_fail(&c->error, CLUMP_ERR_USAGE,
                             "%s: the heap was made with `raw`, and raw memory is not moved", call);
    if (!status && heap->segment_blocks)
        status = clumpi_fail(&c->error, CLUMP_ERR_UNSUPPORTED,
                             "%s: the heap has %s, and only heaps in one buffer are converted; "
                             "clump_heap_save() and _load() take it to another schema",
                             call, heap->eviction ? "evictable_bytes" : "several buffers");
    if (!status) status = clumpi_heap_enter(heap);
    if (!status)
        status = clumpi_read(c, heap->buffer,
                             clumpi_header_offset(heap, offsetof(clumpi_header, errors)),
                             sizeof errors, errors);
    for (int i = 0; i < CLUMPI_ERRORS && !status; i++)
        if (errors[i].count)
            status = clumpi_fail(&c->error, CLUMP_ERR_USAGE,
                                 "%s: kernels reported something that was not fetched, and would "
                                 "be lost: call clump_heap_take_errors() before",
                                 call);
    return status;
}

/* The objects by class, and what becomes of each. */
static clump_status match(clumpi_conversion *v, const clump_schema *schema) {
    clump_heap *heap = v->heap;
    const uint32_t classes = clumpi_object_classes(heap);
    clump_status status = clumpi_dense_open(heap, &v->dense);
    for (uint32_t id = 1; id <= classes && !status; id++)
        v->objects[id] = clumpi_dense_count(&v->dense, id);
    v->match = (clumpi_match){.error = &heap->context->error,
                              .from = heap->schema,
                              .to = schema,
                              .objects = v->objects,
                              .where = "the heap",
                              .into = "the new schema"};
    if (!status) status = clumpi_match_schemas(&v->match);
    if (!status)
        v->report = (clump_convert_report){.objects = clumpi_dense_objects(&v->dense),
                                           .fields_lost = v->match.fields_lost,
                                           .fields_gained = v->match.fields_gained};
    return status;
}

/* ---- The new memory -------------------------------------------------------------------------- */

static clump_status open_next(clumpi_conversion *v, const clump_convert_desc *desc) {
    clump_heap *heap = v->heap;
    const clump_heap_desc d = {.context = heap->context,
                               .schema = desc->schema,
                               .bytes = desc->bytes ? desc->bytes : heap->wanted,
                               .block_rows = desc->block_rows,
                               .watch_handles = heap->geometry.header.at_watch != 0,
                               .checked = clumpi_checking_desc(heap),
                               .pool = (struct clump_pool *)heap->source};
    clump_status status = clump_heap_create(&d, &v->next);
    v->match.to = status ? desc->schema : v->next->schema; /* which has its layout */
    if (!status && v->next->segment_blocks)
        return clumpi_fail(&heap->context->error, CLUMP_ERR_CAPACITY,
                           "%s: one buffer has no room for the new memory, and a heap is not "
                           "converted into several: ask for fewer `bytes`",
                           call);
    return status ? status : clumpi_match_room(&v->match, v->next);
}

/* The numbers of clump_heap_reserve(). */
static clump_status reserve(clumpi_conversion *v) {
    clump_status status = CLUMP_OK;
    for (uint32_t id = 1; id <= clumpi_object_classes(v->heap) && !status; id++) {
        clump_class_info info;
        const uint32_t least = v->heap->geometry.classes[id].reserved.least;
        if (!least || !v->match.class_of[id]) continue;
        clump_schema_get_class(v->heap->schema, id, &info);
        status = clump_heap_reserve(v->next, info.name, least);
    }
    return status;
}

/* The bits of handles, in the new memory. */
static clump_status watch(clumpi_conversion *v) {
    v->next->handles = v->heap->handles;
    clump_status status = clumpi_handles_watch(v->next);
    v->next->handles = NULL;
    return status;
}

/* All that the caller has refers to `heap`, so its contents change, and not the pointer. */
static void swap(clump_heap *heap, clump_heap *next) {
    const clump_heap old = *heap;
    const clumpi_order made = next->order; /* queues know orders by their places */
    *heap = *next;
    heap->order = old.order;
    heap->users = old.users;
    heap->refs = old.refs;
    heap->handles = old.handles;
    heap->conversions = old.conversions + 1;
    *next = old;
    next->order = made;
    next->users = 1;
    next->refs = NULL;
    next->handles = NULL;
    clumpi_checking_hand_over(next, heap);
    if (heap->source) heap->source->set_owner(heap->source, heap->source_number, heap);
}

/* ---- The call -------------------------------------------------------------------------------- */

static clump_status convert(clumpi_conversion *v, const clump_convert_desc *desc) {
    clump_heap *heap = v->heap;
    clump_status status = clumpi_checking_collect(heap);
    if (!status)
        status = clumpi_handles_settle(heap); /* what watches handles knows of freed ones */
    if (!status) status = match(v, desc->schema);
    if (!status) status = open_next(v, desc);
    if (!status) status = clumpi_convert_fill(v);
    if (!status) status = reserve(v);
    if (!status) status = clumpi_outside_prepare(v);
    if (!status) status = clumpi_finish(heap->context); /* the device did all of the above */
    if (!status) status = clumpi_outside_change(v);
    if (!status) status = watch(v);
    if (!status) status = clumpi_finish(heap->context);
    if (status)
        clumpi_outside_take_back(v);
    else
        swap(heap, v->next);
    return status;
}

static void close_conversion(clumpi_conversion *v) {
    clump_context *c = v->heap->context;
    const clump_error error = c->error; /* keep the cause */
    clumpi_outside_close(v);
    clumpi_dense_close(&v->dense);
    clumpi_buffer_release(c, &v->classes);
    clumpi_buffer_release(c, &v->fields);
    clumpi_buffer_release(c, &v->wrong);
    clumpi_buffer_release(c, &v->places);
    clumpi_free(&c->allocator, v->field_list);
    clumpi_free(&c->allocator, v->class_list);
    clumpi_free(&c->allocator, v->info_list);
    if (v->next) v->next->checks &= ~(uint32_t)CLUMP_CHECK_LEAKS; /* its objects are copies */
    clump_heap_destroy(v->next);
    c->error = error;
}

clump_status clump_heap_convert(clump_heap *heap, const clump_convert_desc *desc,
                                clump_convert_report *report) {
    if (report) memset(report, 0, sizeof *report);
    if (!heap) return CLUMP_ERR_USAGE;
    clump_status status = check(heap, desc);
    if (status) return status;
    clumpi_conversion v = {.heap = heap};
    status = convert(&v, desc);
    if (!status && report) *report = v.report;
    close_conversion(&v);
    return status;
}
