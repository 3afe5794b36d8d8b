/* The errors that kernels reported, in words.
 *
 * Read first: heap.h, cl/heap/layout.h.
 */
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "heap/heap.h"

_Static_assert(CLUMPI_ERRORS == CLUMP_DEVICE_ERROR_COUNT,
               "heap.h and layout.h list the same errors");

/* A kernel whose loop or reduction is not for the call that ran it, or whose objects are not in
 * order. */
static clump_status report_wrong_launch(clump_heap *heap, const clumpi_error *e) {
    clump_error *error = &heap->context->error;
    const char *name = clumpi_class_name(heap, e->class_id);
    uint32_t list_of = e->ref & ~CLUMPI_LOOP_KEYED;
    if (e->ref == CLUMPI_LOOP_NOTED)
        return clumpi_fail(
            error, CLUMP_ERR_DEVICE,
            "CLUMP_GRID_NOTE() could not note %u objects of class %s, so loops over the grid do "
            "not find them. First compact the class with CLUMP_ORDER_KEY and CLUMP_GRID_KEY(), and "
            "resize `sorted` to the number of objects",
            e->count, name);
    if (e->ref == CLUMPI_MALLOC_OTHER) {
        const clumpi_header *h = &heap->geometry.header;
        return clumpi_fail(
            error, CLUMP_ERR_DEVICE,
            "functions of cl/api/malloc.h were called (%u times, first in work-item %u) that were "
            "compiled for another heap: they returned null and changed nothing. This heap has "
            "%u granules of %u bytes in a block%s. Compile them for its bytes, block_rows and "
            "schema",
            e->count, e->work_item, h->block_granules, h->granule_bytes,
            heap->checks ? ", and is checked" : "");
    }
    if (!e->class_id && e->ref)
        return clumpi_fail(
            error, CLUMP_ERR_DEVICE,
            "in a kernel with CLUMP_REDUCE, only %u work-groups reached the end of CLUMP_REDUCE. "
            "All work-items must reach the same CLUMP_REDUCE, so none may return before it",
            e->ref);
    if (!e->class_id)
        return clumpi_fail(
            error, CLUMP_ERR_DEVICE,
            "a kernel with CLUMP_REDUCE was launched in more work-groups than a reduction has, or "
            "in groups of more than %u work-items. Run it with clump_heap_reduce()",
            CLUMPI_REDUCE_ITEMS);
    if (e->ref & CLUMPI_LOOP_KEYED)
        return clumpi_fail(
            error, CLUMP_ERR_DEVICE,
            "a kernel with CLUMP_FOR_EACH_KEYED(%s, ...) was not run as the key_kernel of a "
            "compaction, and visited no objects. Use CLUMP_FOR_EACH, or CLUMP_FOR_EACH_NUMBERED",
            name);
    if (!list_of || list_of == CLUMPI_LIST_KEYED)
        return clumpi_fail(
            error, CLUMP_ERR_DEVICE,
            "a kernel with CLUMP_FOR_EACH_NEW(%s, ...) was not run by clump_heap_do_new(), and "
            "visited no objects. Use CLUMP_FOR_EACH, or clump_heap_do_new()",
            name);
    return clumpi_fail(error, CLUMP_ERR_DEVICE,
                       "a kernel with CLUMP_FOR_EACH_NEW(%s, ...) was run by a clump_heap_do_new() "
                       "of class %s. It visited no objects, and the new objects have undefined "
                       "contents. The loop must name that class, or a base of it",
                       name, clumpi_class_name(heap, list_of));
}

/* The first kind of error there is, in words, and what to do. */
static clump_status report_error(clump_heap *heap, const clumpi_error *errors) {
    static const char *const texts[] = {
#define ERROR_TEXT(name, text) text,
        CLUMP_DEVICE_ERROR_LIST(ERROR_TEXT)
#undef ERROR_TEXT
    };
    static const char *const advice[CLUMP_DEVICE_ERROR_COUNT] = {
        [CLUMP_DEVICE_OUT_OF_MEMORY] =
            ". Free objects, collect or compact, and try again, or make a larger heap. Objects for "
            "which a do-new had no room are counted here also, with or without `made`",
        [CLUMP_DEVICE_DOUBLE_FREE] =
            ". Build the program with `checked` to see which accesses are wrong",
        [CLUMP_DEVICE_BAD_REFERENCE] =
            ". Build the program with `checked` to see which accesses are wrong",
    };
    static const int has_findings[CLUMP_DEVICE_ERROR_COUNT] = {
        [CLUMP_DEVICE_DOUBLE_FREE] = 1, [CLUMP_DEVICE_BAD_REFERENCE] = 1,
        [CLUMP_DEVICE_BAD_ACCESS] = 1,  [CLUMP_DEVICE_FINDING] = 1,
        [CLUMP_DEVICE_BAD_POINTER] = 1,
    };
    for (int i = 0; i < CLUMPI_ERRORS; i++) {
        const clumpi_error *e = &errors[i];
        if (!e->count) continue;
        char found[CLUMP_FINDING_TEXT_BYTES];
        int is_told = 0;
        if (has_findings[i]) {
            clump_status status = clumpi_checking_words(heap, found, sizeof found, &is_told);
            if (status) return status;
        }
        if (is_told) return clumpi_fail(&heap->context->error, CLUMP_ERR_DEVICE, "%s", found);
        if (clumpi_is_of_raw(heap, i, e)) return clumpi_raw_report(heap, i, e);
        if (i == CLUMP_DEVICE_WRONG_LAUNCH) return report_wrong_launch(heap, e);
        if (i == CLUMP_DEVICE_BAD_CLASS)
            return clumpi_fail(&heap->context->error, CLUMP_ERR_DEVICE,
                               "%s_new_of() was called with class %u, %s, and returned null (%u "
                               "times, first in work-item %u). Its parameter must be X_CLASS of a "
                               "class X that is %s or below it, and not abstract",
                               clumpi_class_name(heap, e->class_id), e->ref,
                               clumpi_class_name(heap, e->ref), e->count, e->work_item,
                               clumpi_class_name(heap, e->class_id));
        if (i == CLUMP_DEVICE_BAD_SIZE)
            return clumpi_fail(
                &heap->context->error, CLUMP_ERR_DEVICE,
                "an array of run-time length of class %s was to have room for %u elements. That is "
                "more than its `max`, or than the memory that it was to adopt (%u times, first in "
                "work-item %u). Nothing was changed",
                clumpi_class_name(heap, e->class_id), e->ref, e->count, e->work_item);
        return clumpi_fail(&heap->context->error, CLUMP_ERR_DEVICE,
                           "%s (%u times, first in work-item %u for class %s, reference 0x%08x)%s",
                           texts[i], e->count, e->work_item, clumpi_class_name(heap, e->class_id),
                           e->ref, advice[i] ? advice[i] : "");
    }
    return CLUMP_OK;
}

/* The message is of the first kind. What else was counted must not be lost with it. */
static void name_other_kinds(clump_heap *heap, const clumpi_error *errors) {
    static const char *const names[] = {
#define ERROR_NAME(name, text) #name,
        CLUMP_DEVICE_ERROR_LIST(ERROR_NAME)
#undef ERROR_NAME
    };
    char *message = heap->context->error.message;
    size_t at = strlen(message);
    int kinds = 0;
    for (int i = 0; i < CLUMPI_ERRORS; i++) {
        if (!errors[i].count || !kinds++) continue;
        if (at < CLUMP_ERROR_MESSAGE_BYTES)
            snprintf(message + at, CLUMP_ERROR_MESSAGE_BYTES - at, "%s%s %u times",
                     kinds == 2 ? ". Also reported: " : ", ", names[i], errors[i].count);
        at = strlen(message);
    }
}

/* A free of a slot of raw memory is reported with a reference, as that of an object is: the handle
 * instead. */
static void name_raw(const clump_heap *heap, clumpi_error *e) {
    const clumpi_header *h = &heap->geometry.header;
    if (!e->ref || !heap->has_raw || e->class_id < h->first_raw || e->class_id > h->class_count)
        return;
    e->ref =
        (clumpi_u32)(((uint64_t)(e->ref >> 6) * h->granule_bytes +
                      (uint64_t)(e->ref & 63) * heap->geometry.classes[e->class_id].slot_bytes) /
                     CLUMPI_RAW_UNIT);
}

static clump_status put_in_words(clump_heap *heap, const clumpi_error *errors) {
    clump_status status = report_error(heap, errors);
    if (status == CLUMP_ERR_DEVICE) name_other_kinds(heap, errors);
    return status;
}

/* What kernels left in the header, as it lies there. */
typedef struct reports {
    clumpi_error errors[CLUMPI_ERRORS_PLACES];
    clumpi_u32 between[(offsetof(clumpi_header, reduce_done) - offsetof(clumpi_header, new_rows)) /
                       sizeof(clumpi_u32)];
    clumpi_u32 done; /* reduce_done */
} reports;
_Static_assert(sizeof(reports) ==
                   offsetof(clumpi_header, reduced_mark) - offsetof(clumpi_header, errors),
               "a part of the header, as it is");

static clump_status read_reports(clump_heap *heap, reports *r) {
    const size_t covers =
        (offsetof(clumpi_header, list_covers) - offsetof(clumpi_header, new_rows)) /
        sizeof(clumpi_u32);
    clump_status status =
        clumpi_read(heap->context, heap->info.buffer,
                    clumpi_header_offset(heap, offsetof(clumpi_header, errors)), sizeof *r, r);
    if (!status) clumpi_window_heard(heap, r->between[covers]);
    return status;
}

clump_status clump_heap_take_errors(clump_heap *heap, clump_device_report *report) {
    clump_device_report own = {0};
    clump_status status = CLUMPI_PLACE(clump_device_report, report, clumpi_heap_error(heap));
    if (!heap) return CLUMP_ERR_USAGE;
    const uint64_t offset = clumpi_header_offset(heap, offsetof(clumpi_header, errors)),
                   done_at = clumpi_header_offset(heap, offsetof(clumpi_header, reduce_done));
    reports now;
    if (!status) status = clumpi_heap_enter(heap);
    if (!status) status = read_reports(heap, &now);
    if (!status && now.done)
        status = clumpi_clear(heap->context, heap->info.buffer, done_at, sizeof now.done);
    if (status) return status;
    clumpi_error *errors = now.errors;
    clumpi_error *launch = &errors[CLUMP_DEVICE_WRONG_LAUNCH];
    if (now.done && !launch->count) /* a reduction that nobody read did not end */
        *launch = (clumpi_error){.count = 1, .ref = now.done};
    int any = 0;
    for (int i = 0; i < CLUMPI_ERRORS; i++) {
        any |= errors[i].count != 0;
        name_raw(heap, &errors[i]);
        own.errors[i].count = errors[i].count;
        own.errors[i].class_id = errors[i].class_id;
        own.errors[i].ref = errors[i].ref;
        own.errors[i].work_item = errors[i].work_item;
    }
    CLUMPI_GIVE(report, own);
    heap->errors_told = 0;
    heap->may_have_errors = 0;
    if (!any) return CLUMP_OK;
    status = clumpi_clear(heap->context, heap->info.buffer, offset, sizeof now.errors);
    return status ? status : put_in_words(heap, errors);
}

clump_status clumpi_errors_tell(clump_heap *heap) {
    if (!heap->may_have_errors || heap->errors_on_request) return CLUMP_OK;
    reports now;
    clumpi_error *errors = now.errors;
    clump_status status = read_reports(heap, &now);
    if (status) return status;
    heap->may_have_errors = 0;
    uint64_t count = 0;
    for (int i = 0; i < CLUMPI_ERRORS; i++) {
        count += errors[i].count;
        name_raw(heap, &errors[i]);
    }
    if (count == heap->errors_told) return CLUMP_OK;
    heap->errors_told = count;
    return put_in_words(heap, errors);
}

clump_status clumpi_heap_enter_to_wait(clump_heap *heap) {
    clump_status status = clumpi_heap_enter(heap);
    return status ? status : clumpi_errors_tell(heap);
}
