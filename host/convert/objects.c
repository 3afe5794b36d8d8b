/* The objects of a heap in the memory of another one that has none, of another schema.
 *
 * A do-new makes those of each class, in the order of their numbers. Then one launch copies all
 * fields of all objects, and rewrites references as it goes.
 *
 * Read first: convert.h, cl/convert/convert.cl.
 */
#include "convert/convert.h"

static const char *const kernel_files[] = {
    "cl/core/layout.h",   "cl/core/prelude.clh", "cl/core/bitmap.clh",   "cl/core/segments.clh",
    "cl/core/block.clh",  "cl/core/reserve.clh", "cl/core/alloc.clh",    "cl/core/scan.clh",
    "cl/core/poison.clh", "cl/convert/layout.h", "cl/convert/convert.cl"};
static const char *const kernel_names[] = {CLUMPI_CONVERT_KERNELS(CLUMPI_KERNEL_NAME)};
const clumpi_library clumpi_convert_library = CLUMPI_LIBRARY(NULL, NULL);

#define NEW_MOST (UINT64_C(1) << 31) /* objects of one do-new */
#define WIDTH_MAX 16u                /* bytes of an element; wider ones are split */

clump_status clumpi_convert_run(clumpi_conversion *v, clumpi_kernel_id id, const clumpi_arg *args,
                                uint32_t arg_count) {
    const clumpi_launch_sizes *sizes = &clumpi_heap_context(v->heap)->sizes;
    cl_mem next = clumpi_heap_buffer(v->next);
    const clumpi_header *h = &clumpi_heap_geometry(v->next)->header;
    clumpi_arg all[4 + CLUMPI_CONVERT_ARGS] = {{sizeof next, &next},
                                               {sizeof h->self_at, &h->self_at},
                                               {sizeof v->classes, &v->classes},
                                               {sizeof v->places, &v->places}};
    for (uint32_t i = 0; i < arg_count; i++) all[4 + i] = args[i];
    return clumpi_run_on_heap(v->heap, id, sizes->do_all_global, sizes->do_all_local, all,
                              4 + arg_count, NULL);
}

/* ---- Tables ---------------------------------------------------------------------------------- */

static clump_status append(clumpi_conversion *v, uint32_t id, const clump_field_info *info,
                           const clumpi_convert_field *field) {
    clump_context *c = clumpi_heap_context(v->heap);
    const size_t needed = (size_t)v->field_count + 1;
    if (!clumpi_grow(&c->allocator, &v->field_list, &v->field_room, needed,
                     sizeof *v->field_list) ||
        !clumpi_grow(&c->allocator, &v->class_list, &v->class_room, needed,
                     sizeof *v->class_list) ||
        !clumpi_grow(&c->allocator, &v->info_list, &v->info_room, needed, sizeof *v->info_list))
        return clumpi_fail(&c->error, CLUMP_ERR_HOST_MEMORY, "no host memory for a list of fields");
    v->field_list[v->field_count] = *field;
    v->class_list[v->field_count] = id;
    v->info_list[v->field_count++] = *info;
    return CLUMP_OK;
}

/* theirs: in the old heap; NULL: it has none. */
static clump_status append_field(clumpi_conversion *v, uint32_t id, const clump_field_info *theirs,
                                 const clump_field_info *ours) {
    const uint32_t width = ours->element_bytes < WIDTH_MAX ? ours->element_bytes : WIDTH_MAX;
    clump_class_info from = {0}, to = {0};
    clump_status status = CLUMP_OK;
    if (theirs && theirs->type == CLUMP_TYPE_REF) {
        from = *clump_schema_get_info(clumpi_heap_schema(v->heap))->classes[theirs->ref_class];
        to = *clump_schema_get_info(clumpi_heap_schema(v->next))->classes[ours->ref_class];
    }
    for (uint32_t part = 0; part < ours->element_bytes && !status; part += width) {
        const clumpi_convert_field f = {.from_base = theirs ? theirs->base_bytes + part : 0,
                                        .from_stride = theirs ? theirs->stride_bytes : 0,
                                        .from_step = theirs ? theirs->step_bytes : 0,
                                        .to_base = ours->base_bytes + part,
                                        .to_stride = ours->stride_bytes,
                                        .to_step = ours->step_bytes,
                                        .count = clumpi_elements(ours),
                                        .width = width,
                                        .is_new = !theirs,
                                        .from_first = from.id,
                                        .from_last = from.last,
                                        .to_first = to.id,
                                        .to_last = to.last};
        status = append(v, id, ours, &f);
    }
    return status;
}

/* Of a checked heap: where each object was made. */
static clump_status append_made(clumpi_conversion *v, uint32_t id) {
    static const clump_field_info none = {.name = ""};
    const uint32_t bytes = clumpi_heap_schema(v->heap)->prefix;
    const clumpi_convert_field f = {
        .from_stride = bytes, .to_stride = bytes, .count = 1, .width = bytes};
    return bytes ? append(v, id, &none, &f) : CLUMP_OK;
}

/* Of the old memory: elements.c makes the new one. */
static int is_handle(const clump_field_info *f) {
    return f->part == CLUMP_PART_MEMORY;
}

static clump_status append_class(clumpi_conversion *v, uint32_t id) {
    clump_field_info theirs, ours;
    clump_status status = append_made(v, id);
    int is_there;
    for (clumpi_field_walk w = {.schema = clumpi_heap_schema(v->heap), .class_id = id};
         !status && clumpi_next_field(&w, &theirs);) {
        status = clumpi_match_field(&v->match, id, &theirs, &ours, &is_there);
        if (!status && is_there)
            status = append_field(v, id, is_handle(&theirs) ? NULL : &theirs, &ours);
    }
    for (clumpi_field_walk w = {.schema = clumpi_heap_schema(v->next),
                               .class_id = v->match.class_of[id]};
         !status && clumpi_match_next_gained(&v->match, id, &w, &ours);)
        status = append_field(v, id, NULL, &ours);
    return status;
}

/* To the device. */
static clump_status write_tables(clumpi_conversion *v, const clumpi_convert_class *classes) {
    clump_context *c = clumpi_heap_context(v->heap);
    const uint64_t class_bytes = CLUMPI_CLASS_IDS * sizeof *classes,
                   field_bytes = v->field_count * sizeof *v->field_list,
                   wrong_bytes = (v->field_count + 1) * sizeof(clumpi_convert_wrong);
    clump_status status = clumpi_buffer_create(c, class_bytes, "a table of classes", &v->classes);
    if (!status) status = clumpi_write(c, v->classes, 0, class_bytes, classes);
    if (!status && field_bytes)
        status = clumpi_buffer_create(c, field_bytes, "a table of fields", &v->fields);
    if (!status && field_bytes) status = clumpi_write(c, v->fields, 0, field_bytes, v->field_list);
    if (!status) status = clumpi_buffer_create(c, wrong_bytes, "the results of a check", &v->wrong);
    if (!status) status = clumpi_clear(c, v->wrong, 0, wrong_bytes);
    return status;
}

static clump_status make_tables(clumpi_conversion *v) {
    clumpi_convert_class classes[CLUMPI_CLASS_IDS] = {{0}};
    const clumpi_header *h = &clumpi_heap_geometry(v->heap)->header;
    clump_status status = CLUMP_OK;
    for (uint32_t id = 1; id <= clumpi_object_classes(v->heap) && !status; id++) {
        if (!v->objects[id]) continue;
        classes[id] = (clumpi_convert_class){.to = v->match.class_of[id],
                                             .first = (clumpi_u32)v->dense.first[id],
                                             .begin = v->field_count};
        status = append_class(v, id);
        classes[id].end = v->field_count;
    }
    if (!status) status = write_tables(v, classes);
    if (!status)
        status =
            clumpi_buffer_create(clumpi_heap_context(v->heap),
                                 (uint64_t)h->block_end * h->block_granules * sizeof(clumpi_u32),
                                 "numbers of rows", &v->places);
    return status;
}

/* ---- Objects --------------------------------------------------------------------------------- */

/* Whole blocks at a time, so that all rows but the last are full. */
static clump_status make_objects(clump_heap *next, uint32_t class_id, uint64_t count) {
    const uint32_t capacity = clumpi_heap_geometry(next)->classes[class_id].capacity;
    const uint64_t most = NEW_MOST / capacity * capacity;
    clump_status status = CLUMP_OK;
    while (count && !status) {
        const uint64_t n = count < most ? count : most;
        uint64_t made = 0;
        status = clumpi_new_claim(next, class_id, n, UINT32_MAX, NULL);
        if (!status) status = clumpi_new_begin(next, class_id, NULL);
        if (!status) status = clumpi_new_made(next, &made);
        if (!status && made != n)
            status = clumpi_fail(&clumpi_heap_context(next)->error, CLUMP_ERR_CORRUPT,
                                 "clump_heap_convert: only %llu of %llu objects could be made, "
                                 "although the new memory was empty",
                                 (unsigned long long)made, (unsigned long long)n);
        count -= n;
    }
    return status;
}

static clump_status look_for_wrong(clumpi_conversion *v) {
    clump_context *c = clumpi_heap_context(v->heap);
    const uint64_t bytes = v->field_count * sizeof(clumpi_convert_wrong);
    if (!bytes) return CLUMP_OK;
    clumpi_convert_wrong *wrong = clumpi_alloc(&c->allocator, bytes);
    if (!wrong)
        return clumpi_fail(&c->error, CLUMP_ERR_HOST_MEMORY, "no host memory for a list of fields");
    clump_status status = clumpi_read(c, v->wrong, 0, bytes, wrong);
    for (uint32_t i = 0; i < v->field_count && !status; i++) {
        v->report.dangling += wrong[i].dangling;
        if (wrong[i].strange)
            status = clumpi_match_fail_members(&v->match, v->class_list[i], &v->info_list[i],
                                               wrong[i].strange);
    }
    clumpi_free(&c->allocator, wrong);
    return status;
}

clump_status clumpi_convert_fill(clumpi_conversion *v) {
    clump_status status = CLUMP_OK;
    for (uint32_t id = 1; id <= clumpi_object_classes(v->heap) && !status; id++)
        status = v->objects[id] ? make_objects(v->next, v->match.class_of[id], v->objects[id])
                                : CLUMP_OK;
    if (!status) status = clumpi_list_update(v->next, 0, NULL);
    if (!status) status = make_tables(v);
    const clumpi_arg args[] = {{sizeof v->fields, &v->fields}, {sizeof v->wrong, &v->wrong}};
    if (!status) status = clumpi_convert_run(v, CLUMPI_CONVERT_KERNEL(convert_places), NULL, 0);
    if (!status && v->field_count)
        status = clumpi_convert_run(v, CLUMPI_CONVERT_KERNEL(convert_objects), args, 2);
    if (!status) status = clumpi_convert_elements(v);
    return status ? status : look_for_wrong(v);
}
