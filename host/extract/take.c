/* Objects out of a heap (extract.h): which ones, their values, and their end in the heap.
 *
 * Invariant: all that can fail has been done before an object is freed.
 *
 * Read first: extract.h, cl/extract/choose.cl.
 */
#include <string.h>

#include "extract/extract.h"

static const char *const kernel_files[] = {
    "cl/core/layout.h",    "cl/core/prelude.clh",  "cl/core/bitmap.clh",  "cl/core/segments.clh",
    "cl/core/block.clh",   "cl/core/poison.clh",   "cl/core/scan.clh",    "cl/compact/layout.h",
    "cl/compact/plan.clh", "cl/compact/reach.clh", "cl/collect/layout.h", "cl/collect/mark.clh",
    "cl/extract/choose.cl"};
static const char *const kernel_names[] = {CLUMPI_EXTRACT_KERNELS(CLUMPI_KERNEL_NAME)};
const clumpi_library clumpi_extract_library = CLUMPI_LIBRARY(NULL, NULL);

static const char call[] = "clump_heap_extract";

typedef struct taking {
    clump_heap *heap;
    const clump_extract_desc *desc;
    clump_class_info where;
    clump_field_info where_field;
    cl_mem chosen;
    clumpi_pack pack;
    clump_extract *extract;
    clump_extract *words; /* of its arrays that grow; NULL: it has none */
    clump_extract_report report;
} taking;

/* ---- Before anything is done ----------------------------------------------------------------- */

static clump_status check_where(taking *t) {
    const clump_extract_desc *d = t->desc;
    clump_error *error = &clumpi_heap_context(t->heap)->error;
    if (!d->where_class && !d->where_field) return CLUMP_OK;
    if (!d->where_class || !d->where_field)
        return clumpi_fail(error, CLUMP_ERR_USAGE,
                           "%s: set both where_class and where_field, or neither", call);
    clump_status status = clumpi_find_class(t->heap, d->where_class, call, &t->where);
    clump_field_info *f = &t->where_field;
    if (!status) status = clumpi_find_field(t->heap, &t->where, d->where_field, call, f);
    if (status) return status;
    const int is_ref = f->type == CLUMP_TYPE_REF;
    if (f->count || f->width != 1 || (f->type > CLUMP_TYPE_ULONG && !is_ref)) {
        char type[CLUMPI_TYPE_BYTES];
        return clumpi_fail(error, CLUMP_ERR_USAGE,
                           "%s: where_field %s of class %s is %s, but must be a scalar of an "
                           "integer type, a bool or a reference",
                           call, f->name, t->where.name, clumpi_type_words(f, type));
    }
    if (is_ref && !d->refs && !d->ref_buffer && !d->classes)
        return clumpi_fail(error, CLUMP_ERR_USAGE,
                           "%s: where_field %s of class %s is a reference. Name the objects that "
                           "it must lead to in refs, ref_buffer or classes",
                           call, f->name, t->where.name);
    return CLUMP_OK;
}

static clump_status check(taking *t) {
    const clump_extract_desc *d = t->desc;
    clump_error *error = &clumpi_heap_context(t->heap)->error;
    clump_status status = clumpi_heap_refuses(t->heap, CLUMPI_OP_EXTRACT, call);
    if (status) return status;
    if (!d->refs && !d->ref_buffer && !d->classes && !d->where_class && !d->where_field)
        return clumpi_fail(
            error, CLUMP_ERR_USAGE,
            "%s: no objects are chosen. Set refs, ref_buffer, classes or where_class", call);
    if ((d->ref_count && !d->refs) || (d->ref_buffer_count && !d->ref_buffer) ||
        (d->class_count && !d->classes))
        return clumpi_fail(error, CLUMP_ERR_USAGE, "%s: %s is not 0, but `%s` is NULL", call,
                           d->ref_count && !d->refs        ? "ref_count"
                           : d->class_count && !d->classes ? "class_count"
                                                           : "ref_buffer_count",
                           d->ref_count && !d->refs        ? "refs"
                           : d->class_count && !d->classes ? "classes"
                                                           : "ref_buffer");
    if (d->ref_buffer)
        status = clumpi_check_ref_buffer(clumpi_heap_context(t->heap), call, d->ref_buffer,
                                         d->ref_buffer_at, d->ref_buffer_count);
    clump_class_info info;
    for (uint32_t i = 0; i < d->class_count && !status; i++)
        status = clumpi_find_class(t->heap, d->classes[i], call, &info);
    return status ? status : check_where(t);
}

/* ---- Which objects --------------------------------------------------------------------------- */

static clump_status create_wrong(clump_context *c, cl_mem *wrong) {
    const clumpi_u32 none[2] = {0, UINT32_MAX};
    clump_status status = clumpi_buffer_create(c, sizeof none, "the results of a check", wrong);
    return status ? status : clumpi_write(c, *wrong, 0, sizeof none, none);
}

/* Of plain references. */
static clump_status run_choose_refs(clump_heap *heap, cl_mem chosen, cl_mem refs, uint64_t count,
                                    cl_mem wrong) {
    const clumpi_launch_sizes *sizes = &clumpi_heap_context(heap)->sizes;
    clumpi_arg args[] = {{sizeof chosen, &chosen},
                         {sizeof refs, &refs},
                         {sizeof count, &count},
                         {sizeof wrong, &wrong}};
    return clumpi_run_on_heap(heap, CLUMPI_EXTRACT_KERNEL(choose_refs), sizes->do_all_global,
                              sizes->do_all_local, args, 4, NULL);
}

clump_status clumpi_free_refs(clump_heap *heap, cl_mem refs, uint64_t at, uint64_t count) {
    clump_context *c = clumpi_heap_context(heap);
    const uint64_t word = sizeof(clump_ref);
    cl_mem chosen = NULL, wrong = NULL, copy = NULL;
    int is_freed;
    clump_status status = clumpi_chosen_create(heap, &chosen);
    if (!status) status = create_wrong(c, &wrong);
    if (!status) status = clumpi_buffer_create(c, count * word, "references", &copy);
    if (!status) status = clumpi_copy(c, refs, at * word, copy, 0, count * word);
    if (!status) status = clumpi_checking_bare(heap, copy, 0, count);
    if (!status) status = run_choose_refs(heap, chosen, copy, count, wrong);
    if (!status) status = clumpi_chosen_free(heap, chosen, &is_freed);
    clumpi_buffer_release(c, &copy);
    clumpi_buffer_release(c, &wrong);
    clumpi_chosen_release(heap, &chosen);
    return status;
}

/* References of the host, or of the device if `from` is not NULL: a copy of them, which is made
 * plain. */
static clump_status choose_refs(taking *t, const clump_ref *refs, cl_mem from, uint64_t at,
                                uint64_t count) {
    clump_context *c = clumpi_heap_context(t->heap);
    const uint64_t bytes = count * sizeof *refs;
    cl_mem copy = NULL, judged = NULL;
    clumpi_u32 wrong[2] = {0, 0};
    clump_ref first = 0;
    if (!count) return CLUMP_OK;
    clump_status status = clumpi_buffer_create(c, bytes, "references", &copy);
    if (!status) status = create_wrong(c, &judged);
    if (!status)
        status =
            from ? clumpi_copy(c, from, at, copy, 0, bytes) : clumpi_write(c, copy, 0, bytes, refs);
    if (!status) status = clumpi_checking_bare(t->heap, copy, 0, count);
    if (!status) status = run_choose_refs(t->heap, t->chosen, copy, count, judged);
    if (!status) status = clumpi_read(c, judged, 0, sizeof wrong, wrong);
    if (!status && wrong[0] && from)
        status = clumpi_read(c, from, at + wrong[1] * sizeof first, sizeof first, &first);
    else if (!status && wrong[0] && refs)
        first = refs[wrong[1]];
    if (!status && wrong[0])
        status = clumpi_fail(
            &c->error, CLUMP_ERR_REFERENCE,
            "%s: %u of %llu references %s name no live object. The first one is number %u, 0x%08x",
            call, wrong[0], (unsigned long long)count, from ? "in ref_buffer" : "in refs", wrong[1],
            first);
    clumpi_buffer_release(c, &judged);
    clumpi_buffer_release(c, &copy);
    return status;
}

static clump_status choose_classes(taking *t) {
    const clumpi_launch_sizes *sizes = &clumpi_heap_context(t->heap)->sizes;
    clump_status status = CLUMP_OK;
    for (uint32_t i = 0; i < t->desc->class_count && !status; i++) {
        clump_class_info info =
            *clump_schema_find_class(clumpi_heap_schema(t->heap), t->desc->classes[i]);
        clumpi_arg args[] = {{sizeof t->chosen, &t->chosen},
                             {sizeof info.id, &info.id},
                             {sizeof info.last, &info.last}};
        status = clumpi_run_on_heap(t->heap, CLUMPI_EXTRACT_KERNEL(choose_classes),
                                    sizes->do_all_global, sizes->do_all_local, args, 3, NULL);
    }
    return status;
}

/* named: where_field is a reference to one of these, or `chosen`. */
static clump_status run_choose_where(taking *t, cl_mem named) {
    const clumpi_launch_sizes *sizes = &clumpi_heap_context(t->heap)->sizes;
    const clump_field_info *f = &t->where_field;
    const uint32_t to_last =
        f->ref_class
            ? clump_schema_get_info(clumpi_heap_schema(t->heap))->classes[f->ref_class]->last
            : 0;
    clumpi_arg args[] = {{sizeof t->chosen, &t->chosen},
                         {sizeof t->where.id, &t->where.id},
                         {sizeof t->where.last, &t->where.last},
                         {sizeof f->base_bytes, &f->base_bytes},
                         {sizeof f->stride_bytes, &f->stride_bytes},
                         {sizeof f->element_bytes, &f->element_bytes},
                         {sizeof named, &named},
                         {sizeof f->ref_class, &f->ref_class},
                         {sizeof to_last, &to_last}};
    return clumpi_run_on_heap(t->heap, CLUMPI_EXTRACT_KERNEL(choose_where), sizes->do_all_global,
                              sizes->do_all_local, args, 9, NULL);
}

/* Objects that refer to those that are chosen by now. */
static clump_status choose_referring(taking *t) {
    clump_context *c = clumpi_heap_context(t->heap);
    const uint64_t bytes = clumpi_marks_grey_at(clumpi_mark_granules(t->heap));
    cl_mem named = NULL;
    clump_status status = clumpi_buffer_create(c, bytes, "chosen objects", &named);
    if (!status) status = clumpi_copy(c, t->chosen, 0, named, 0, bytes);
    if (!status) status = run_choose_where(t, named);
    clumpi_buffer_release(c, &named);
    return status;
}

static clump_status choose_where(taking *t) {
    if (!t->desc->where_class) return CLUMP_OK;
    return t->where_field.ref_class ? choose_referring(t) : run_choose_where(t, t->chosen);
}

static clump_status choose(taking *t) {
    const clump_extract_desc *d = t->desc;
    clump_status status = clumpi_chosen_create(t->heap, &t->chosen);
    if (!status) status = choose_refs(t, d->refs, NULL, 0, d->ref_count);
    if (!status)
        status = choose_refs(t, NULL, d->ref_buffer, d->ref_buffer_at, d->ref_buffer_count);
    if (!status) status = choose_classes(t);
    if (!status) status = choose_where(t);
    if (!status && d->follow) status = clumpi_chosen_follow(t->heap, t->chosen);
    return status;
}

/* ---- Their values ---------------------------------------------------------------------------- */

static clump_status make_extract(taking *t) {
    uint64_t objects[CLUMP_CLASSES_MAX];
    clumpi_pack_head head;
    clump_context *c = clumpi_heap_context(t->heap);
    t->pack = (clumpi_pack){.heap = t->heap};
    clump_status status = clumpi_pack_rank(&t->pack, t->chosen);
    if (!status) status = clumpi_extract_create(c, clumpi_heap_schema(t->heap), &t->extract);
    if (!status) status = clumpi_pack_ranked(&t->pack, &head);
    if (status) return status;
    for (uint32_t id = 1; id <= clumpi_object_classes(t->heap); id++)
        objects[id - 1] = head.numbers[id + 1] - head.numbers[id];
    status = clumpi_extract_set_objects(t->extract, objects);
    if (!status && t->extract->array_count)
        status = clumpi_arrays_pack_words(&t->pack, t->chosen, t->extract, &t->words);
    if (!status) status = clumpi_extract_set_columns(t->extract);
    if (!status) status = clumpi_extract_open(t->extract, t->desc->buffer);
    if (!status && t->desc->keep_refs && t->extract->objects[0])
        status = clumpi_buffer_create(c, t->extract->objects[0] * sizeof(clump_ref), "references",
                                      &t->extract->info.refs);
    return status;
}

static clump_status copy_values(taking *t, clumpi_pack_head *head) {
    if (!t->extract->objects[0]) return CLUMP_OK;
    t->pack.extract = t->extract;
    clump_status status = clumpi_pack_open(&t->pack);
    if (!status) status = clumpi_pack_objects(&t->pack, t->chosen);
    if (!status && t->words) status = clumpi_arrays_pack(&t->pack, t->words);
    return status ? status : clumpi_pack_fetch(&t->pack, head);
}

/* ---- The call -------------------------------------------------------------------------------- */

static clump_status take(taking *t, int free_objects) {
    clumpi_pack_head head = {0};
    int is_freed;
    clump_status status = choose(t);
    if (!status) status = make_extract(t);
    if (!status) status = copy_values(t, &head); /* the device has done all of the above */
    if (!status && free_objects && t->extract->objects[0])
        status = clumpi_chosen_free(t->heap, t->chosen, &is_freed);
    if (status) return status;
    t->report = (clump_extract_report){.objects = t->extract->objects[0],
                                       .bytes = t->extract->info.bytes,
                                       .left_out = head.left_out,
                                       .dangling = head.dangling};
    return CLUMP_OK;
}

clump_status clumpi_take(clump_heap *heap, const clump_extract_desc *desc, clump_extract **extract,
                         clump_extract_report *report, cl_mem *chosen) {
    taking t = {.heap = heap, .desc = desc};
    clump_status status = clumpi_heap_enter_to_wait(heap);
    if (!status) status = check(&t);
    if (!status) status = take(&t, desc->free_objects && !chosen);
    clumpi_pack_close(&t.pack);
    clump_extract_destroy(t.words);
    if (chosen)
        *chosen = t.chosen;
    else
        clumpi_chosen_release(heap, &t.chosen);
    if (status == CLUMP_ERR_TOO_SMALL && t.extract)
        *report = (clump_extract_report){.objects = t.extract->objects[0],
                                         .bytes = t.extract->info.bytes};
    if (status) {
        clump_extract_destroy(t.extract);
        return status;
    }
    *extract = t.extract;
    *report = t.report;
    return CLUMP_OK;
}

clump_status clump_heap_extract(clump_heap *heap, const clump_extract_desc *desc,
                                clump_extract **extract, clump_extract_report *report) {
    clump_extract_desc own;
    clump_extract_report made = {0};
    if (extract) *extract = NULL;
    clump_error *error = clumpi_heap_error(heap);
    clump_status status = CLUMPI_PLACE(clump_extract_report, report, error);
    if (!heap) return CLUMP_ERR_USAGE;
    if (!status && (!desc || !extract))
        status = clumpi_fail(error, CLUMP_ERR_USAGE,
                             "%s needs a description and a pointer for the extract", call);
    if (!status) status = CLUMPI_TAKE(clump_extract_desc, &own, desc, error);
    if (status) return status;
    status = clumpi_take(heap, &own, extract, &made, NULL);
    CLUMPI_GIVE(report, made);
    return status;
}
