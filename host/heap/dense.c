/* Objects by dense numbers (dense.h).
 *
 * Invariant: between clumpi_dense_open() and _close() the list of rows is that of all objects,
 * ranked over all classes: nobody else uses the heap meanwhile.
 * Read first: dense.h, cl/heap/dense.cl.
 */
#include "heap/dense.h"
#include "heap/heap.h"

#include <string.h>

static const char *const kernel_files[] = {
    "cl/core/layout.h",  "cl/core/prelude.clh", "cl/core/bitmap.clh", "cl/core/segments.clh",
    "cl/core/block.clh", "cl/core/reserve.clh", "cl/core/alloc.clh",  "cl/core/scan.clh",
    "cl/heap/layout.h",  "cl/heap/dense.cl"};
static const char *const kernel_names[] = {CLUMPI_DENSE_KERNELS(CLUMPI_KERNEL_NAME)};
const clumpi_library clumpi_dense_library = CLUMPI_LIBRARY(NULL, NULL);

static clump_status open_wrong(clumpi_dense *d) {
    clump_context *c = d->heap->context;
    clump_status status =
        clumpi_buffer_create(c, sizeof(clumpi_dense_wrong), "the results of a check", &d->wrong);
    return status ? status : clumpi_clear(c, d->wrong, 0, sizeof(clumpi_dense_wrong));
}

clump_status clumpi_dense_open(clump_heap *heap, clumpi_dense *d) {
    clump_context *c = heap->context;
    const uint32_t classes = clumpi_object_classes(heap);
    clump_class_stats stats[CLUMP_CLASSES_MAX];
    uint64_t count = 0;
    *d = (clumpi_dense){.heap = heap};
    clump_status status = clumpi_read_stats(heap, NULL, stats);
    for (uint32_t id = 1; !status && id <= classes; id++)
        d->first[id + 1] = d->first[id] + stats[id - 1].objects;
    if (!status) status = clumpi_rank(heap, 1, classes, &count);
    if (!status && count != clumpi_dense_objects(d))
        status =
            clumpi_fail(&c->error, CLUMP_ERR_CORRUPT,
                        "the list of objects has %llu objects, but their blocks have %llu. Call "
                        "clump_heap_check()",
                        (unsigned long long)count, (unsigned long long)clumpi_dense_objects(d));
    if (!status) status = open_wrong(d);
    if (status) clumpi_dense_close(d);
    return status;
}

void clumpi_dense_close(clumpi_dense *d) {
    if (!d->heap) return;
    clump_context *c = d->heap->context;
    clumpi_buffer_release(c, &d->wrong);
    clumpi_buffer_release(c, &d->rows);
    clumpi_buffer_release(c, &d->refs);
    clumpi_buffer_release(c, &d->spans);
    d->heap = NULL;
}

/* Of which any may be the begin of a row. */
static clumpi_u32 granules_of(const clump_heap *heap) {
    const clumpi_header *h = &heap->geometry.header;
    return h->block_end * h->block_granules;
}

clump_status clumpi_dense_open_rows(clumpi_dense *d) {
    clump_context *c = d->heap->context;
    const clumpi_launch_sizes *sizes = &c->sizes;
    const clumpi_u32 last = clumpi_object_classes(d->heap);
    const uint64_t bytes = (uint64_t)granules_of(d->heap) * sizeof(clumpi_u32);
    const clumpi_arg args[] = {{sizeof last, &last}, {sizeof d->rows, &d->rows}};
    clump_status status = clumpi_buffer_create(c, bytes, "numbers of rows", &d->rows);
    if (!status) status = clumpi_clear(c, d->rows, 0, bytes);
    return status ? status
                  : clumpi_run_on_heap(d->heap, CLUMPI_DENSE_KERNEL(dense_rows),
                                       sizes->do_all_global, sizes->do_all_local, args, 2, NULL);
}

clump_status clumpi_dense_open_refs(clumpi_dense *d, const clumpi_dense_span *spans,
                                    uint32_t span_count) {
    clump_context *c = d->heap->context;
    const uint64_t objects = clumpi_dense_objects(d);
    const clumpi_struct_field references = {
        .struct_bytes = sizeof(clump_ref), .is_read = 1, .to = UINT32_MAX};
    const uint64_t bytes = span_count * sizeof *spans;
    d->span_count = span_count;
    if (!objects || !span_count) return CLUMP_OK; /* no number is right */
    clump_status status =
        clumpi_buffer_create(c, objects * sizeof(clump_ref), "references", &d->refs);
    if (!status) status = clumpi_buffer_create(c, bytes, "numbers of classes", &d->spans);
    if (!status) status = clumpi_write(c, d->spans, 0, bytes, spans);
    return status ? status
                  : clumpi_struct_copy(d->heap, 1, clumpi_object_classes(d->heap), references,
                                       d->refs); /* rows of blocks without memory have no numbers */
}

static clump_status copy_field(clumpi_dense *d, clumpi_u32 class_id, const clump_field_info *field,
                               uint64_t from, uint32_t count, cl_mem values, uint64_t at,
                               int is_read) {
    clumpi_struct_field f = clumpi_struct_field_of(field);
    f.next = f.bytes;
    f.at = at;
    f.struct_bytes = (uint64_t)f.bytes * f.count;
    f.is_read = (clumpi_u32)is_read;
    f.from = (clumpi_u32)(d->first[class_id] + from);
    f.to = f.from + count;
    return clumpi_struct_copy(d->heap, class_id, class_id, f, values);
}

clump_status clumpi_dense_read(clumpi_dense *d, clumpi_u32 class_id, const clump_field_info *field,
                               uint64_t from, uint32_t count, cl_mem values, uint64_t at) {
    return copy_field(d, class_id, field, from, count, values, at, 1);
}

clump_status clumpi_dense_write(clumpi_dense *d, clumpi_u32 class_id, const clump_field_info *field,
                                uint64_t from, uint32_t count, cl_mem values) {
    return copy_field(d, class_id, field, from, count, values, 0, 0);
}

clump_status clumpi_dense_clear(clumpi_dense *d, clumpi_u32 class_id, const clump_field_info *field,
                                cl_mem zeros) {
    return clumpi_struct_copy(d->heap, class_id, class_id, clumpi_struct_field_of(field), zeros);
}

clump_status clumpi_dense_to_numbers(clumpi_dense *d, clumpi_u32 first, clumpi_u32 last,
                                     cl_mem words, uint64_t at, uint32_t count) {
    const clumpi_launch_sizes *sizes = &d->heap->context->sizes;
    const clumpi_u32 from = (clumpi_u32)d->first[first], to = (clumpi_u32)d->first[last + 1],
                     granules = granules_of(d->heap);
    clumpi_arg args[] = {{sizeof from, &from},       {sizeof to, &to},
                         {sizeof d->rows, &d->rows}, {sizeof granules, &granules},
                         {sizeof words, &words},     {sizeof at, &at},
                         {sizeof count, &count},     {sizeof d->wrong, &d->wrong}};
    clump_status status = clumpi_checking_bare(d->heap, words, at, count);
    return status ? status
                  : clumpi_run_on_heap(d->heap, CLUMPI_DENSE_KERNEL(dense_numbers),
                                       sizes->do_all_global, sizes->do_all_local, args,
                                       sizeof args / sizeof *args, NULL);
}

clump_status clumpi_dense_to_refs(clumpi_dense *d, clumpi_u32 first, clumpi_u32 last, cl_mem words,
                                  uint32_t count) {
    clump_context *c = d->heap->context;
    const clumpi_launch_sizes *sizes = &c->sizes;
    clumpi_u32 objects = d->refs ? (clumpi_u32)clumpi_dense_objects(d) : 0;
    clumpi_arg args[] = {{sizeof d->refs, &d->refs},
                         {sizeof d->spans, &d->spans},
                         {sizeof d->span_count, &d->span_count},
                         {sizeof objects, &objects},
                         {sizeof first, &first},
                         {sizeof last, &last},
                         {sizeof words, &words},
                         {sizeof count, &count},
                         {sizeof d->wrong, &d->wrong}};
    clump_status status =
        clumpi_run_kernel(c, CLUMPI_DENSE_KERNEL(dense_refs), sizes->do_all_global,
                          sizes->do_all_local, args, sizeof args / sizeof *args, NULL);
    return status ? status : clumpi_checking_name(d->heap, words, 0, count);
}

clump_status clumpi_dense_fetch_wrong(clumpi_dense *d, clumpi_dense_wrong *wrong) {
    clump_context *c = d->heap->context;
    clump_status status = clumpi_read(c, d->wrong, 0, sizeof *wrong, wrong);
    return status ? status : clumpi_clear(c, d->wrong, 0, sizeof *wrong);
}

static clump_status copy_outside(clumpi_dense *d, const clump_refs *refs, uint64_t from,
                                 uint32_t count, uint32_t given, cl_mem words, clumpi_u32 is_read) {
    clump_context *c = d->heap->context;
    const clumpi_launch_sizes *sizes = &c->sizes;
    const clumpi_u64 stride = refs->stride / sizeof(clump_ref);
    const clumpi_u64 at = refs->offset / sizeof(clump_ref) + from * stride;
    clumpi_arg args[] = {{sizeof refs->buffer, &refs->buffer},
                         {sizeof at, &at},
                         {sizeof stride, &stride},
                         {sizeof words, &words},
                         {sizeof count, &count},
                         {sizeof given, &given},
                         {sizeof is_read, &is_read}};
    return clumpi_run_kernel(c, CLUMPI_DENSE_KERNEL(dense_outside), sizes->do_all_global,
                             sizes->do_all_local, args, sizeof args / sizeof *args, NULL);
}

clump_status clumpi_dense_read_outside(clumpi_dense *d, const clump_refs *refs, uint64_t from,
                                       uint32_t count, cl_mem words) {
    return copy_outside(d, refs, from, count, count, words, 1);
}

clump_status clumpi_dense_write_outside(clumpi_dense *d, const clump_refs *refs, uint64_t from,
                                        uint32_t count, uint32_t given, cl_mem words) {
    return copy_outside(d, refs, from, count, given, words, 0);
}
