/* Heaps: creation, destruction, and the errors that kernels reported.
 *
 * Read first: core/core.h, geometry.c.
 */
#include <assert.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "core/device.h"
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

static int find_ref_arrays(const clump_heap *heap) {
    for (uint32_t id = 1; id <= clump_schema_get_class_count(heap->schema); id++)
        if (heap->geometry.classes[id].arrays < heap->geometry.classes[id].cleared) return 1;
    return 0;
}

clump_status clumpi_run_on_heap(clump_heap *heap, clumpi_kernel_id id, size_t global, size_t local,
                                const clumpi_arg *args, uint32_t arg_count,
                                const clump_sync *sync) {
    clumpi_arg all[2 + CLUMPI_HEAP_ARGS_MAX] = {
        {sizeof heap->buffer, &heap->buffer}, {sizeof(clumpi_u32), &heap->geometry.header.self_at}};
    assert(arg_count <= CLUMPI_HEAP_ARGS_MAX);
    for (uint32_t i = 0; i < arg_count; i++) all[2 + i] = args[i];
    return clumpi_run_kernel(heap->context, clumpi_kernel_of(heap, id), global, local, all,
                             2 + arg_count, sync);
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

/* Field types that the device must be able to handle. */
static clump_status check_types(clump_context *c, const clump_schema *schema) {
    if (c->capabilities.features & CLUMP_FEATURE_FP64) return CLUMP_OK;
    for (uint32_t id = 1; id <= clump_schema_get_class_count(schema); id++) {
        clump_class_info info;
        clump_schema_get_class(schema, id, &info);
        for (uint32_t i = 0; i < info.field_count; i++) {
            clump_field_info field;
            clump_schema_get_field(schema, id, i, &field);
            if (field.type == CLUMP_TYPE_DOUBLE)
                return clumpi_fail(&c->error, CLUMP_ERR_UNSUPPORTED,
                                   "field %s of class %s is a double, which device %s lacks",
                                   field.name, info.name, c->capabilities.device_name);
        }
    }
    return CLUMP_OK;
}

/* A pool begins with what a heap needs of it. */
static clumpi_buffer_source *source_of(struct clump_pool *pool) {
    return (clumpi_buffer_source *)pool;
}

static const clump_field_info *find_growing(const clump_schema *schema) {
    return schema ? clumpi_schema_find_array(schema, 1) : NULL;
}

/* The first array that grows, as "Class.field". */
static const char *growing_name(const clump_schema *schema,
                                char text[2 * CLUMP_NAME_BYTES_MAX + 2]) {
    const clump_field_info *f = find_growing(schema);
    snprintf(text, 2 * CLUMP_NAME_BYTES_MAX + 2, "%s.%s", clumpi_schema_field_class(schema, f),
             f->name);
    return text;
}

static clump_status check_desc(const clump_heap_desc *desc, uint64_t *bytes) {
    clump_context *c = desc->context;
    char growing[2 * CLUMP_NAME_BYTES_MAX + 2];
    if (desc->schema ? clump_schema_get_class_count(desc->schema) == 0 : !desc->raw)
        return clumpi_fail(&c->error, CLUMP_ERR_USAGE,
                           "clump_heap_create needs a schema that is sealed, or `raw`");
    const clump_field_info *array = desc->schema ? clumpi_schema_find_array(desc->schema, 0) : NULL;
    if (array && desc->checked)
        return clumpi_fail(&c->error, CLUMP_ERR_USAGE,
                           "a checked heap cannot have arrays of run-time length, and field %s of "
                           "class %s is one: leave out `checked`, and build programs with "
                           "`checked` instead",
                           array->name, clumpi_schema_field_class(desc->schema, array));
    if (desc->raw && desc->checked)
        return clumpi_fail(&c->error, CLUMP_ERR_USAGE,
                           "a checked heap cannot have raw memory: leave out `raw` or `checked`");
    if ((desc->bytes != 0) == (desc->device_share != 0))
        return clumpi_fail(&c->error, CLUMP_ERR_USAGE,
                           "set one of bytes and device_share of a heap");
    if (desc->device_share != 0 && !(desc->device_share > 0 && desc->device_share <= 1))
        return clumpi_fail(&c->error, CLUMP_ERR_USAGE,
                           "device_share is %g; it must be above 0 and at most 1",
                           desc->device_share);
    if (desc->block_rows > CLUMPI_ROWS_MAX)
        return clumpi_fail(&c->error, CLUMP_ERR_USAGE, "block_rows is %u, at most %u are possible",
                           desc->block_rows, CLUMPI_ROWS_MAX);
    if (desc->evictable_bytes && (desc->pool || desc->raw || find_growing(desc->schema) ||
                                  desc->buffer_bytes || desc->checked || desc->watch_handles))
        return clumpi_fail(&c->error, CLUMP_ERR_USAGE,
                           "a heap with evictable_bytes cannot have `%s`: leave out one of the two",
                           desc->pool            ? "pool"
                           : desc->buffer_bytes  ? "buffer_bytes"
                           : desc->checked       ? "checked"
                           : desc->watch_handles ? "watch_handles"
                           : desc->raw           ? "raw"
                                                 : growing_name(desc->schema, growing));
    if (desc->buffer_bytes && (desc->pool || desc->raw || find_growing(desc->schema)))
        return clumpi_fail(
            &c->error, CLUMP_ERR_USAGE,
            "a heap of several buffers (buffer_bytes) %s: leave that out, or buffer_bytes",
            desc->pool ? "cannot have its memory from a pool"
                       : "cannot have raw memory, and arrays that grow are in raw memory");
    if (desc->pool && source_of(desc->pool)->context != c)
        return clumpi_fail(&c->error, CLUMP_ERR_USAGE,
                           "the pool of a heap belongs to another clump_context than the heap");
    *bytes = desc->bytes;
    if (!*bytes && !c->capabilities.memory_bytes)
        return clumpi_fail(&c->error, CLUMP_ERR_UNSUPPORTED,
                           "device_share: the device %s does not say how much memory it has, so "
                           "there is nothing to take a share of: set "
                           "`bytes`",
                           c->capabilities.device_name);
    if (!*bytes) *bytes = (uint64_t)((double)c->capabilities.memory_bytes * desc->device_share);
    if (c->capabilities.memory_bytes && *bytes > c->capabilities.memory_bytes)
        return clumpi_fail(
            &c->error, CLUMP_ERR_CAPACITY, "a heap of %llu bytes: the device has %llu in all",
            (unsigned long long)*bytes, (unsigned long long)c->capabilities.memory_bytes);
    return desc->schema ? check_types(c, desc->schema) : CLUMP_OK;
}

/* Clear the metadata, write header, class table and columns, then let the device do the rest. */
static clump_status initialise(clump_heap *heap) {
    clump_context *c = heap->context;
    const clumpi_geometry *g = &heap->geometry;
    clump_status status = clumpi_clear(c, heap->buffer, 0, heap->layout.metadata_bytes);
    if (!status)
        status = clumpi_write(c, heap->buffer, clumpi_header_offset(heap, 0), sizeof g->header,
                              &g->header);
    if (!status)
        status = clumpi_write(c, heap->buffer, (uint64_t)g->header.at_classes * CLUMPI_UNIT,
                              (g->header.class_count + 1) * sizeof *g->classes, g->classes);
    if (!status) status = clumpi_columns_write(heap);
    if (!status) status = clumpi_segments_write(heap);
    if (!status)
        status = clumpi_run_on_heap(heap, CLUMPI_HEAP_KERNEL(init),
                                    c->sizes.scan_groups * c->sizes.scan_local, c->sizes.scan_local,
                                    NULL, 0, NULL);
    /* Touch the last bytes too: some devices reserve memory at first use only. Written, not filled:
     * the likely reason why heaps of 16 GiB could not be made on an H200. */
    if (!status) status = clumpi_buffers_touch(heap);
    if (!status && g->frames) status = clumpi_eviction_open(heap);
    if (!status) status = clumpi_checking_write(heap);
    if (!status) status = clumpi_finish(c);
    return status;
}

static clump_status make_buffer(clump_heap *heap) {
    clump_context *c = heap->context;
    cl_int code = CL_SUCCESS;
    uint64_t bytes = clumpi_segment_bytes(heap);
    heap->buffer = c->cl.CreateBuffer(c->context, CL_MEM_READ_WRITE, bytes, NULL, &code);
    if (!code)
        return heap->segment_blocks && !heap->geometry.frames ? clumpi_segments_open(heap)
                                                              : CLUMP_OK;
    heap->buffer = NULL;
    return clumpi_fail_cl(&c->error, "clCreateBuffer", code, "%llu bytes for a heap",
                          (unsigned long long)bytes);
}

static int is_no_room(const clump_context *c, clump_status status) {
    return status == CLUMP_ERR_CL && clumpi_is_no_room(c->error.cl_code);
}

/* Says what is wrong with the size, if that is why the buffer could not be made or first used. It is
 * tried and not computed: some devices give more than they say. */
static clump_status explain_size(const clump_heap *heap, uint64_t bytes, int is_one,
                                 clump_status status) {
    clump_context *c = heap->context;
    const int is_split = heap->segment_blocks && !heap->geometry.frames;
    clump_error *e = &c->error;
    if (!is_no_room(c, status)) return status;
    const clump_capabilities *device = &c->capabilities;
    clumpi_fail_cl(
        e, e->call, e->cl_code,
        "no room for a heap of %llu bytes; the device has %llu, and says that one buffer "
        "can have %llu%s: ask for less, with `bytes` or a smaller `device_share`, or release "
        "other buffers",
        (unsigned long long)bytes, (unsigned long long)device->memory_bytes,
        (unsigned long long)device->allocation_bytes,
        is_split ? ", so several were tried"
        : is_one ? ", and this heap must be in one"
        : device->pointers & CLUMP_POINTERS_SVM
            ? ""
            : ", and several need shared virtual memory (OpenCL 2.0), which it lacks");
    return e->status = CLUMP_ERR_CAPACITY;
}

static clump_status take_from_source(clump_heap *heap, clumpi_buffer_source *source) {
    clump_status status = source->take(source, heap->geometry.bytes, heap, &heap->source_number,
                                       &heap->buffer, &heap->context->error);
    if (!status) heap->source = source;
    return status;
}

/* Geometry and layout. */
static clump_status lay_out(clump_heap *heap, uint64_t bytes, uint32_t block_rows,
                            clumpi_extras extras) {
    clump_context *c = heap->context;
    clumpi_geometry *g = &heap->geometry;
    clump_status status =
        clumpi_geometry_compute(heap->schema, bytes, block_rows, (uint32_t)c->sizes.scan_groups,
                                clumpi_do_all_groups(&c->sizes, bytes), extras, g, &c->error);
    if (status) return status;
    heap->has_ref_arrays = find_ref_arrays(heap);
    heap->segment_blocks = g->segment_blocks;
    uint32_t block_bytes = g->header.granule_bytes * g->header.block_granules;
    heap->layout = (clump_heap_layout){
        .bytes = g->frames ? g->frames * (uint64_t)block_bytes : g->bytes,
        .metadata_bytes = (uint64_t)g->header.first_block * block_bytes,
        .granule_bytes = g->header.granule_bytes,
        .block_granules = g->header.block_granules,
        .first_block = g->header.first_block,
        .block_count = g->header.block_end - g->header.first_block,
        .buffer_blocks = g->frames ? 0 : g->segment_blocks,
    };
    return CLUMP_OK;
}

/* Memory of its own, ready for objects. */
static clump_status make_buffers(clump_heap *heap) {
    clump_status status = make_buffer(heap);
    return status ? status : initialise(heap);
}

/* Is it the size of the one buffer that is refused, and not that nothing is to be had? Both may be CL_MEM_OBJECT_ALLOCATION_FAILURE; parts of
 * a small heap would be refused as well. */
#define SMALL_HEAP_BYTES (UINT64_C(64) << 20)
static int is_size_refused(const clump_context *c, uint64_t bytes) {
    return bytes > c->capabilities.allocation_bytes || c->error.cl_code == CL_INVALID_BUFFER_SIZE ||
           (c->error.cl_code == CL_MEM_OBJECT_ALLOCATION_FAILURE && bytes >= SMALL_HEAP_BYTES);
}

/* One buffer of so many bytes was refused, whatever the device tells of the largest that it gives: several of half the size, of a quarter, and so
 * on, until they are made or one has no room for the metadata. */
#define SPLITS_MOST 6
static clump_status make_several(clump_heap *heap, uint64_t bytes, uint32_t block_rows,
                                 clumpi_extras extras) {
    clump_context *c = heap->context;
    const uint64_t told = c->capabilities.allocation_bytes;
    clump_error refused = c->error;
    extras.segment_bytes = told && told < bytes ? told : bytes / 2;
    for (int split = 0; split < SPLITS_MOST; split++, extras.segment_bytes /= 2) {
        clumpi_segments_close(heap);
        clumpi_buffer_release(c, &heap->buffer);
        clump_status status = lay_out(heap, bytes, block_rows, extras);
        if (status) break;
        status = make_buffers(heap);
        if (!status || !(is_no_room(c, status) || status == CLUMP_ERR_CAPACITY)) return status;
        refused = c->error;
    }
    c->error = refused;
    return refused.status;
}

static clump_status create(const clump_heap_desc *desc, uint64_t bytes, clump_heap *heap) {
    clump_context *c = desc->context;
    clumpi_extras extras = {.watched = desc->watch_handles != 0, .raw = desc->raw != 0};
    if (find_growing(desc->schema)) extras.raw = 1;
    clump_status status = desc->schema
                              ? clumpi_schema_copy(desc->schema, &c->allocator, &heap->schema)
                              : clumpi_schema_create_empty(&c->allocator, &heap->schema);
    heap->wanted = bytes;
    heap->has_raw = extras.raw;
    if (status) return clumpi_fail(&c->error, status, "no host memory for the heap's schema");
    status = clumpi_checking_open(heap, desc->checked, &extras);
    extras.evictable_bytes = desc->evictable_bytes;
    if (desc->buffer_bytes && desc->buffer_bytes < bytes) extras.segment_bytes = desc->buffer_bytes;
    if (!status) status = lay_out(heap, bytes, desc->block_rows, extras);
    if (status) return status;
    if (desc->pool) {
        status = take_from_source(heap, source_of(desc->pool));
        return status ? status : initialise(heap);
    }
    status = make_buffers(heap);
    const int is_one = extras.raw || extras.segment_bytes || extras.evictable_bytes;
    if (is_no_room(c, status) && !is_one && is_size_refused(c, bytes) &&
        c->capabilities.pointers & CLUMP_POINTERS_SVM)
        status = make_several(heap, bytes, desc->block_rows, extras);
    return explain_size(heap, bytes, extras.raw || extras.evictable_bytes, status);
}

clump_status clump_heap_create(const clump_heap_desc *desc, clump_heap **heap) {
    if (heap) *heap = NULL;
    if (!desc || !desc->context) return CLUMP_ERR_USAGE; /* no context to hold words */
    clump_context *c = desc->context;
    if (!heap)
        return clumpi_fail(&c->error, CLUMP_ERR_USAGE,
                           "clump_heap_create needs a place for the heap");
    uint64_t bytes = 0;
    clump_status status = check_desc(desc, &bytes);
    if (status) return status;
    clump_heap *h = clumpi_alloc(&c->allocator, sizeof *h);
    if (!h) return clumpi_fail(&c->error, CLUMP_ERR_HOST_MEMORY, "no host memory for a heap");
    h->context = c;
    h->users = 1;
    clumpi_context_use(c);
    status = clumpi_heap_enter(h);
    if (!status) status = create(desc, bytes, h);
    if (status) {
        clump_error error = c->error; /* keep the cause, whatever destruction runs into */
        clump_heap_destroy(h);
        c->error = error;
        return status;
    }
    *heap = h;
    return CLUMP_OK;
}

void clump_heap_destroy(clump_heap *heap) {
    if (!heap || --heap->users) return;
    clump_context *c = heap->context;
    /* An error is nobody's here, and the queue is waited for in any case. */
    if (clumpi_heap_enter(heap)) (void)clumpi_order_finish(c, &heap->order);
    clumpi_checking_close(heap); /* it looks into the heap */
    clumpi_refs_clear(heap);
    (void)clumpi_order_finish(c, &heap->order);
    clumpi_attachments_release(&heap->attachments, c);
    clumpi_eviction_close(heap);
    clumpi_segments_close(heap);
    if (heap->source)
        heap->source->give_back(heap->source, heap->source_number);
    else
        clumpi_buffer_release(c, &heap->buffer);
    clump_schema_destroy(heap->schema);
    clumpi_free(&c->allocator, heap);
    clumpi_context_unuse(c);
}

const clump_heap_layout *clump_heap_get_layout(const clump_heap *heap) {
    return heap ? &heap->layout : NULL;
}

const clump_schema *clump_heap_get_schema(const clump_heap *heap) {
    return heap ? heap->schema : NULL;
}

cl_mem clump_heap_get_buffer(const clump_heap *heap) {
    return heap ? heap->buffer : NULL;
}

clump_status clump_heap_set_kernel(clump_heap *heap, cl_kernel kernel) {
    if (!heap) return CLUMP_ERR_USAGE;
    clump_context *c = heap->context;
    if (!kernel)
        return clumpi_fail(&c->error, CLUMP_ERR_USAGE, "clump_heap_set_kernel: the kernel is NULL");
    cl_int code = c->cl.SetKernelArg(kernel, 0, sizeof heap->buffer, &heap->buffer);
    if (code) return clumpi_fail_cl(&c->error, "clSetKernelArg", code, "the heap parameter");
    return clumpi_point(c, kernel, &heap->pointed);
}

void clump_heap_touch(clump_heap *heap) {
    if (heap) heap->list_valid = heap->reduced_known = 0;
}

_Static_assert(CLUMPI_ROW_SLOTS == CLUMP_ROW_SLOTS, "schema.h and layout.h have the same rows");
_Static_assert(CLUMP_CLASSES_MAX < CLUMPI_RESERVED, "the class of metadata is no user's");
_Static_assert(CLUMPI_ERRORS == CLUMP_DEVICE_ERROR_COUNT,
               "heap.h and layout.h list the same errors");

clump_status clumpi_find_class(clump_heap *heap, const char *name, clump_class_info *info) {
    if (name && !clump_schema_find_class(heap->schema, name, info)) return CLUMP_OK;
    return clumpi_fail(&heap->context->error, CLUMP_ERR_NOT_FOUND, "the heap has no class \"%s\"",
                       name ? name : "(null)");
}

/* A kernel whose loop or reduction is not for the call that ran it. */
static clump_status report_wrong_launch(clump_heap *heap, const clumpi_error *e) {
    clump_error *error = &heap->context->error;
    const char *name = clumpi_class_name(heap, e->class_id);
    uint32_t list_of = e->ref & ~CLUMPI_LOOP_KEYED;
    if (!e->class_id && e->ref)
        return clumpi_fail(
            error, CLUMP_ERR_DEVICE,
            "a kernel with CLUMP_REDUCE came to the end of it in %u work-groups and not in the "
            "others: all its work-items must come to one CLUMP_REDUCE, so none may return before "
            "it",
            e->ref);
    if (!e->class_id)
        return clumpi_fail(
            error, CLUMP_ERR_DEVICE,
            "a kernel with CLUMP_REDUCE was launched in more work-groups than a reduction "
            "has, or in groups of more than %u work-items: run it by clump_heap_reduce()",
            CLUMPI_REDUCE_ITEMS);
    if (e->ref & CLUMPI_LOOP_KEYED)
        return clumpi_fail(
            error, CLUMP_ERR_DEVICE,
            "a kernel with CLUMP_FOR_EACH_KEYED(%s, ...) was not run as the key_kernel of a "
            "compaction, so it visited nothing: use CLUMP_FOR_EACH, or "
            "CLUMP_FOR_EACH_NUMBERED",
            name);
    if (!list_of || list_of == CLUMPI_LIST_KEYED)
        return clumpi_fail(
            error, CLUMP_ERR_DEVICE,
            "a kernel with CLUMP_FOR_EACH_NEW(%s, ...) was not run by clump_heap_do_new(), so it "
            "visited nothing: use CLUMP_FOR_EACH, or clump_heap_do_new()",
            name);
    return clumpi_fail(
        error, CLUMP_ERR_DEVICE,
        "a kernel with CLUMP_FOR_EACH_NEW(%s, ...) was run by a clump_heap_do_new() of class %s, "
        "so "
        "it visited nothing, and the new objects have undefined contents: the loop must name "
        "that class, or a base of it",
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
            ". Free objects, collect or compact, and try again, or make a larger heap. Objects "
            "that a "
            "do-new has no room for are counted here too: ask it for `made`",
        [CLUMP_DEVICE_DOUBLE_FREE] = ". Build the program with `checked` to see accesses to it",
        [CLUMP_DEVICE_BAD_REFERENCE] = ". Build the program with `checked` to see accesses to it",
    };
    for (int i = 0; i < CLUMPI_ERRORS; i++) {
        const clumpi_error *e = &errors[i];
        if (!e->count) continue;
        if (clumpi_is_of_raw(heap, i, e)) return clumpi_raw_report(heap, i, e);
        if (i == CLUMP_DEVICE_WRONG_LAUNCH) return report_wrong_launch(heap, e);
        if (i == CLUMP_DEVICE_BAD_CLASS)
            return clumpi_fail(
                &heap->context->error, CLUMP_ERR_DEVICE,
                "%s_new_of() was asked for class %u, %s, and returned null; %u times, first by "
                "work-item %u: its parameter must be X_CLASS of a class X that is %s or below it "
                "and "
                "not abstract",
                clumpi_class_name(heap, e->class_id), e->ref, clumpi_class_name(heap, e->ref),
                e->count, e->work_item, clumpi_class_name(heap, e->class_id));
        if (i == CLUMP_DEVICE_BAD_SIZE)
            return clumpi_fail(
                &heap->context->error, CLUMP_ERR_DEVICE,
                "an array of class %s, of run-time length, was to have room for %u elements, "
                "which is more than its `max`, or than the memory that it was to adopt; %u times, "
                "first by work-item %u; nothing was changed",
                clumpi_class_name(heap, e->class_id), e->ref, e->count, e->work_item);
        char found[CLUMP_FINDING_TEXT_BYTES];
        int is_told = 0;
        if (i != CLUMP_DEVICE_OUT_OF_MEMORY && i != CLUMP_DEVICE_RETRY_BOUND) {
            clump_status status = clumpi_checking_words(heap, found, sizeof found, &is_told);
            if (status) return status;
        }
        if (is_told) return clumpi_fail(&heap->context->error, CLUMP_ERR_DEVICE, "%s", found);
        return clumpi_fail(&heap->context->error, CLUMP_ERR_DEVICE,
                           "%s; %u times, first by work-item %u for class %s, reference 0x%08x%s",
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

/* A free of a slot of raw memory is reported with a reference, as that of an object is: the handle instead. */
static void name_raw(const clump_heap *heap, clumpi_error *e) {
    const clumpi_header *h = &heap->geometry.header;
    if (!e->ref || !heap->has_raw || e->class_id < h->first_raw || e->class_id > h->class_count)
        return;
    e->ref =
        (clumpi_u32)(((uint64_t)(e->ref >> 6) * h->granule_bytes +
                      (uint64_t)(e->ref & 63) * heap->geometry.classes[e->class_id].slot_bytes) /
                     CLUMPI_RAW_UNIT);
}

clump_status clump_heap_take_errors(clump_heap *heap, clump_device_report *report) {
    if (report) memset(report, 0, sizeof *report);
    if (!heap) return CLUMP_ERR_USAGE;
    const uint64_t offset = clumpi_header_offset(heap, offsetof(clumpi_header, errors)),
                   done_at = clumpi_header_offset(heap, offsetof(clumpi_header, reduce_done));
    struct {
        clumpi_error errors[CLUMPI_ERRORS_PLACES];
        clumpi_u32
            between[(offsetof(clumpi_header, reduce_done) - offsetof(clumpi_header, new_rows)) /
                    sizeof(clumpi_u32)];
        clumpi_u32 done;
    } now;
    _Static_assert(
        sizeof now == offsetof(clumpi_header, reduced_mark) - offsetof(clumpi_header, errors),
        "a part of the header, as it is");
    clump_status status = clumpi_heap_enter(heap);
    if (!status) status = clumpi_read(heap->context, heap->buffer, offset, sizeof now, &now);
    if (!status && now.done)
        status = clumpi_clear(heap->context, heap->buffer, done_at, sizeof now.done);
    if (status) return status;
    clumpi_error *errors = now.errors;
    clumpi_error *launch = &errors[CLUMP_DEVICE_WRONG_LAUNCH];
    if (now.done && !launch->count) /* a reduction that nobody read did not end */
        *launch = (clumpi_error){.count = 1, .ref = now.done};
    int any = 0;
    for (int i = 0; i < CLUMPI_ERRORS; i++) {
        any |= errors[i].count != 0;
        name_raw(heap, &errors[i]);
        if (!report) continue;
        report->errors[i].count = errors[i].count;
        report->errors[i].class_id = errors[i].class_id;
        report->errors[i].ref = errors[i].ref;
        report->errors[i].work_item = errors[i].work_item;
    }
    if (!any) return CLUMP_OK;
    status = clumpi_clear(heap->context, heap->buffer, offset, sizeof now.errors);
    if (status) return status;
    status = report_error(heap, errors);
    if (status == CLUMP_ERR_DEVICE) name_other_kinds(heap, errors);
    return status;
}
