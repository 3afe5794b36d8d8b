/* The call that gives a heap another schema (clump/convert.h).
 *
 * Invariant: all that can fail has been done before the heap has its new memory; registered
 * references are the last of it, and can be taken back.
 *
 * Read first: convert.h, objects.c, outside.c.
 */
#include <stddef.h>
#include <string.h>

#include "convert/convert.h"

static const char call[] = "clump_heap_convert";

/* ---- Before anything is done ----------------------------------------------------------------- */

static clump_status check(clump_heap *heap, const clump_convert_desc *desc) {
    clump_context *c = clumpi_heap_context(heap);
    clumpi_error errors[CLUMPI_ERRORS];
    if (!desc || !desc->schema || !clump_schema_get_info(desc->schema)->class_count)
        return clumpi_fail(&c->error, CLUMP_ERR_USAGE, "%s needs a schema", call);
    clump_status status = clumpi_heap_refuses(heap, CLUMPI_OP_CONVERT, call);
    if (!status) status = clumpi_heap_enter(heap);
    if (!status)
        status = clumpi_read(c, clumpi_heap_buffer(heap),
                             clumpi_header_offset(heap, offsetof(clumpi_header, errors)),
                             sizeof errors, errors);
    for (int i = 0; i < CLUMPI_ERRORS && !status; i++)
        if (errors[i].count)
            status = clumpi_fail(
                &c->error, CLUMP_ERR_USAGE,
                "%s: the reports of kernels would be lost. Call clump_heap_take_errors() first",
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
    v->match = (clumpi_match){.error = &clumpi_heap_context(heap)->error,
                              .from = clumpi_heap_schema(heap),
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
    clump_status status =
        clumpi_heap_create_like(heap, desc->schema, desc->bytes, desc->block_rows, &v->next);
    v->match.to = status ? desc->schema : clumpi_heap_schema(v->next); /* which has its layout */
    if (!status && clumpi_refusal_find(CLUMPI_OP_CONVERT, clumpi_heap_traits(v->next)))
        return clumpi_fail(&clumpi_heap_context(heap)->error, CLUMP_ERR_DEVICE_MEMORY,
                           "%s: one buffer has no room for the new memory, and a heap is not "
                           "converted into several. Ask for fewer `bytes`",
                           call);
    if (!status) status = clumpi_checking_follow(v->next, heap);
    return status ? status : clumpi_match_room(&v->match, v->next);
}

/* The numbers of clump_heap_reserve(). */
static clump_status reserve(clumpi_conversion *v) {
    clump_status status = CLUMP_OK;
    for (uint32_t id = 1; id <= clumpi_object_classes(v->heap) && !status; id++) {
        clump_class_info info;
        const uint32_t least = clumpi_heap_geometry(v->heap)->classes[id].reserved.least;
        if (!least || !v->match.class_of[id]) continue;
        info = *clump_schema_get_info(clumpi_heap_schema(v->heap))->classes[id];
        status = clump_heap_reserve(v->next, info.name, least, NULL);
    }
    return status;
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
    if (!status)
        status = clumpi_finish(clumpi_heap_context(heap)); /* the device did all of the above */
    if (!status) status = clumpi_outside_change(v);
    if (!status) status = clumpi_handles_watch_in(heap, v->next);
    if (!status) status = clumpi_finish(clumpi_heap_context(heap));
    if (status)
        clumpi_outside_take_back(v);
    else
        clumpi_heap_exchange(heap, v->next);
    return status;
}

static void close_conversion(clumpi_conversion *v) {
    clump_context *c = clumpi_heap_context(v->heap);
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
    clumpi_heap_discard(v->next);
    c->error = error;
}

clump_status clump_heap_convert(clump_heap *heap, const clump_convert_desc *desc,
                                clump_convert_report *report) {
    clump_convert_desc own;
    clump_error *error = clumpi_heap_error(heap);
    clump_status status = CLUMPI_PLACE(clump_convert_report, report, error);
    if (!heap) return CLUMP_ERR_USAGE;
    if (!status) status = CLUMPI_TAKE(clump_convert_desc, &own, desc, error);
    if (!status) status = check(heap, &own);
    if (status) return status;
    clumpi_conversion v = {.heap = heap};
    status = convert(&v, &own);
    if (!status) CLUMPI_GIVE(report, v.report);
    close_conversion(&v);
    return status;
}
