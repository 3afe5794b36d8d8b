/* The ground of a heap: its kernels are launched, parts keep what they need with it, and others ask
 * what it is.
 *
 * Read first: heap.h.
 */
#include <assert.h>

#include "clump/evict.h"
#include "heap/heap.h"

static const char *const kernel_files[] = {
    "cl/core/layout.h",  "cl/core/prelude.clh", "cl/core/bitmap.clh", "cl/core/segments.clh",
    "cl/core/block.clh", "cl/core/reserve.clh", "cl/core/scan.clh",   "cl/heap/layout.h",
    "cl/heap/chunk.clh", "cl/heap/reserve.clh", "cl/heap/init.cl",    "cl/heap/enumerate.cl",
    "cl/heap/new.cl"};
static const char *const kernel_names[] = {CLUMPI_HEAP_KERNELS(CLUMPI_KERNEL_NAME)};
const clumpi_library clumpi_heap_library = CLUMPI_LIBRARY(NULL, NULL);

clumpi_kernel_id clumpi_kernel_of(const clump_heap *heap, clumpi_kernel_id id) {
    if (heap->has_ref_arrays && id.library->arrays) id.library = id.library->arrays;
    if (heap->segment_blocks) id.pointed = &heap->pointed;
    return id;
}

clump_status clumpi_run_on_heap(clump_heap *heap, clumpi_kernel_id id, size_t global, size_t local,
                                const clumpi_arg *args, uint32_t arg_count,
                                const clump_sync *sync) {
    clumpi_arg all[2 + CLUMPI_HEAP_ARGS_MAX] = {
        {sizeof heap->info.buffer, &heap->info.buffer},
        {sizeof(clumpi_u32), &heap->geometry.header.self_at}};
    assert(arg_count <= CLUMPI_HEAP_ARGS_MAX);
    for (uint32_t i = 0; i < arg_count; i++) all[2 + i] = args[i];
    id = clumpi_kernel_of(heap, id);
    id.heap = heap->number;
    return clumpi_run_kernel(heap->context, id, global, local, all, 2 + arg_count, sync);
}

void *clumpi_heap_keep(clump_heap *heap, const void *key, size_t bytes,
                       void (*release)(clumpi_attachment *, clump_context *)) {
    return clumpi_attachment_keep(&heap->attachments, heap->context, key, bytes, release);
}

#define SCRATCH_SHARE 32u

typedef struct scratch {
    clumpi_attachment base;
    cl_mem buffer; /* that nobody uses; NULL: there is none */
    uint64_t bytes;
} scratch;

static void release_scratch(clumpi_attachment *base, clump_context *c) {
    clumpi_buffer_release(c, &((scratch *)base)->buffer);
    clumpi_free(&c->allocator, base);
}

clump_status clumpi_scratch_take(clump_heap *heap, const void *key, uint64_t *bytes,
                                 const char *what, cl_mem *buffer) {
    scratch *kept = clumpi_heap_keep(heap, key, sizeof *kept, release_scratch);
    if (!kept)
        return clumpi_fail(&heap->context->error, CLUMP_ERR_HOST_MEMORY, "no host memory for %s",
                           what);
    if (kept->bytes < *bytes) clumpi_buffer_release(heap->context, &kept->buffer);
    if (!kept->buffer) return clumpi_buffer_create(heap->context, *bytes, what, buffer);
    *buffer = kept->buffer;
    *bytes = kept->bytes;
    kept->buffer = NULL;
    return CLUMP_OK;
}

void clumpi_scratch_give(clump_heap *heap, const void *key, uint64_t bytes, cl_mem *buffer) {
    const clumpi_header *h = &heap->geometry.header;
    scratch *kept = (scratch *)clumpi_attachment_find(&heap->attachments, key);
    if (*buffer && kept && !kept->buffer &&
        bytes <= (uint64_t)h->block_end * clumpi_block_bytes(heap) / SCRATCH_SHARE) {
        kept->buffer = *buffer;
        kept->bytes = bytes;
        *buffer = NULL;
    }
    clumpi_buffer_release(heap->context, buffer);
}

clump_context *clumpi_heap_context(const clump_heap *heap) {
    return heap->context;
}

const clump_schema *clumpi_heap_schema(const clump_heap *heap) {
    return heap->schema;
}

const clumpi_geometry *clumpi_heap_geometry(const clump_heap *heap) {
    return &heap->geometry;
}

cl_mem clumpi_heap_buffer(const clump_heap *heap) {
    return heap->info.buffer;
}

int clumpi_heap_has_ref_arrays(const clump_heap *heap) {
    return heap->has_ref_arrays;
}

unsigned clumpi_heap_traits(const clump_heap *heap) {
    unsigned traits = clumpi_schema_traits(heap->schema);
    if (heap->is_raw) traits |= CLUMPI_TRAIT_RAW;
    if (heap->segment_blocks && !heap->eviction) traits |= CLUMPI_TRAIT_SEVERAL;
    traits |= heap->eviction ? CLUMPI_TRAIT_EVICTABLE : CLUMPI_TRAIT_RESIDENT;
    if (heap->info.evicted_blocks) traits |= CLUMPI_TRAIT_EVICTED;
    traits |= heap->checks ? CLUMPI_TRAIT_CHECKED : CLUMPI_TRAIT_UNCHECKED;
    if (heap->geometry.header.at_watch) traits |= CLUMPI_TRAIT_WATCHED;
    if (heap->source) traits |= CLUMPI_TRAIT_POOLED;
    return traits;
}

clump_status clumpi_heap_refuses(const clump_heap *heap, clumpi_operation operation,
                                 const char *call) {
    return clumpi_schema_refuses(heap->schema, clumpi_heap_traits(heap), operation,
                                 heap->info.evicted_objects, call, &heap->context->error);
}

uint32_t clumpi_heap_conversions(const clump_heap *heap) {
    return heap->conversions;
}

void clumpi_heap_use(clump_heap *heap) {
    heap->users++;
}

clump_status clumpi_heap_enter(clump_heap *heap) {
    clump_status status = clumpi_order_enter(heap->context, &heap->order);
    return status ? status : clumpi_heap_settle(heap);
}

clump_status clumpi_heap_settle(clump_heap *heap) {
    if (!heap->unsettled) return CLUMP_OK;
    clump_status status = clumpi_settle(heap, &heap->unsettled);
    if (!status) heap->unsettled = 0;
    return status;
}

clump_status clumpi_heap_pass(clump_heap *heap, const clump_sync *sync) {
    if (!sync) return CLUMP_OK;
    clump_status status = clumpi_heap_enter(heap);
    if (!status) status = clumpi_sync_begin(heap->context, sync);
    return status ? status : clumpi_sync_end(heap->context, sync);
}

void clumpi_list_forget(clump_heap *heap) {
    heap->list_valid = 0;
}

clump_status clumpi_find_class(clump_heap *heap, const char *name, const char *call,
                               clump_class_info *info) {
    if (name && clumpi_take_class(clump_schema_find_class(heap->schema, name), info))
        return CLUMP_OK;
    return clumpi_fail(&heap->context->error, CLUMP_ERR_NOT_FOUND,
                       "%s: the heap has no class \"%s\"", call, name ? name : "(null)");
}

clump_status clumpi_find_field(clump_heap *heap, const clump_class_info *c, const char *name,
                               const char *call, clump_field_info *field) {
    if (name && clumpi_take_field(clump_schema_find_field(heap->schema, c->id, name), field))
        return CLUMP_OK;
    return clumpi_fail(&heap->context->error, CLUMP_ERR_NOT_FOUND,
                       "%s: class %s has no field \"%s\"", call, c->name, name ? name : "(null)");
}

const clump_heap_info *clump_heap_get_info(const clump_heap *heap) {
    static const clump_heap_info none;
    return heap ? &heap->info : &none;
}

clump_status clump_heap_set_kernel(clump_heap *heap, cl_kernel kernel) {
    if (!heap) return CLUMP_ERR_USAGE;
    clump_context *c = heap->context;
    if (!kernel)
        return clumpi_fail(&c->error, CLUMP_ERR_USAGE, "clump_heap_set_kernel: the kernel is NULL");
    clump_status status = clumpi_heap_enter(heap); /* the kernel may follow references */
    if (status) return status;
    cl_int code = c->cl.SetKernelArg(kernel, 0, sizeof heap->info.buffer, &heap->info.buffer);
    if (code) return clumpi_fail_cl(&c->error, "clSetKernelArg", code, "the heap parameter");
    return clumpi_point(c, kernel, &heap->pointed);
}

void clump_heap_touch(clump_heap *heap) {
    if (!heap) return;
    heap->list_valid = heap->reduced_known = 0;
    heap->may_have_errors = 1;
    heap->unsettled = heap->schema->become_count != 0;
}
