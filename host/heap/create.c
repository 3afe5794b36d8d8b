/* Heaps begin and end: what a desc says is checked, memory is laid out, made and initialised, and
 * given back.
 *
 * Read first: core/core.h, geometry.c.
 */
#include "core/device.h"
#include "heap/heap.h"

_Static_assert(CLUMPI_ROW_SLOTS == CLUMP_ROW_SLOTS, "schema.h and layout.h have the same rows");
_Static_assert(CLUMP_CLASSES_MAX < CLUMPI_RESERVED, "the class of metadata is no user's");

static int find_ref_arrays(const clump_heap *heap) {
    for (uint32_t id = 1; id <= clump_schema_get_info(heap->schema)->class_count; id++)
        if (heap->geometry.classes[id].arrays < heap->geometry.classes[id].cleared) return 1;
    return 0;
}

/* Field types that the device must be able to handle. */
static clump_status check_types(clump_context *c, const clump_schema *schema) {
    if (c->capabilities.features & CLUMP_FEATURE_FP64) return CLUMP_OK;
    for (uint32_t id = 1; id <= clump_schema_get_info(schema)->class_count; id++) {
        const clump_class_info *info = clump_schema_get_info(schema)->classes[id];
        for (uint32_t i = 0; i < info->field_count; i++) {
            clump_field_info field = *clump_schema_get_info(schema)->classes[id]->fields[i];
            if (field.type == CLUMP_TYPE_DOUBLE)
                return clumpi_fail(
                    &c->error, CLUMP_ERR_UNSUPPORTED,
                    "field %s of class %s is a double, but device %s does not support doubles",
                    field.name, info->name, c->capabilities.device_name);
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

/* What a heap of that desc is. */
static unsigned traits_of(const clump_heap_desc *desc) {
    unsigned traits = clumpi_schema_traits(desc->schema);
    if (desc->raw) traits |= CLUMPI_TRAIT_RAW;
    if (desc->buffer_bytes) traits |= CLUMPI_TRAIT_SEVERAL;
    if (desc->evictable_bytes) traits |= CLUMPI_TRAIT_EVICTABLE;
    if (desc->checked) traits |= CLUMPI_TRAIT_CHECKED;
    if (desc->watch_handles) traits |= CLUMPI_TRAIT_WATCHED;
    if (desc->pool) traits |= CLUMPI_TRAIT_POOLED;
    return traits;
}

static clump_status check_desc(const clump_heap_desc *desc, uint64_t *bytes) {
    clump_context *c = desc->context;
    if (desc->schema ? clump_schema_get_info(desc->schema)->class_count == 0 : !desc->raw)
        return clumpi_fail(&c->error, CLUMP_ERR_USAGE,
                           "clump_heap_create needs a schema, or `raw`");
    clump_status excluded = clumpi_schema_excludes(desc->schema, traits_of(desc), &c->error);
    if (excluded) return excluded;
    if ((desc->bytes != 0) == (desc->device_share != 0))
        return clumpi_fail(&c->error, CLUMP_ERR_USAGE,
                           "set exactly one of bytes and device_share of a heap");
    if (desc->device_share != 0 && !(desc->device_share > 0 && desc->device_share <= 1))
        return clumpi_fail(&c->error, CLUMP_ERR_USAGE,
                           "device_share is %g, but must be above 0 and at most 1",
                           desc->device_share);
    if (desc->block_rows > CLUMPI_ROWS_MAX)
        return clumpi_fail(&c->error, CLUMP_ERR_USAGE, "block_rows is %u, but must be at most %u",
                           desc->block_rows, CLUMPI_ROWS_MAX);
    if (desc->pool && source_of(desc->pool)->context != c)
        return clumpi_fail(&c->error, CLUMP_ERR_USAGE,
                           "the pool of a heap belongs to another clump_context than the heap");
    *bytes = desc->bytes;
    if (!*bytes && !c->capabilities.memory_bytes)
        return clumpi_fail(&c->error, CLUMP_ERR_UNSUPPORTED,
                           "device_share: the device %s does not report how much memory it has. "
                           "Set `bytes` instead",
                           c->capabilities.device_name);
    if (!*bytes) *bytes = (uint64_t)((double)c->capabilities.memory_bytes * desc->device_share);
    if (c->capabilities.memory_bytes && *bytes > c->capabilities.memory_bytes)
        return clumpi_fail(&c->error, CLUMP_ERR_DEVICE_MEMORY,
                           "a heap of %llu bytes is too large: the device has %llu in all",
                           (unsigned long long)*bytes,
                           (unsigned long long)c->capabilities.memory_bytes);
    return desc->schema ? check_types(c, desc->schema) : CLUMP_OK;
}

/* Clear the metadata, write header, class table and columns, then let the device do the rest. */
static clump_status initialise(clump_heap *heap) {
    clump_context *c = heap->context;
    const clumpi_geometry *g = &heap->geometry;
    clump_status status = clumpi_clear(c, heap->info.buffer, 0, heap->info.metadata_bytes);
    if (!status)
        status = clumpi_write(c, heap->info.buffer, clumpi_header_offset(heap, 0), sizeof g->header,
                              &g->header);
    if (!status)
        status = clumpi_write(c, heap->info.buffer, (uint64_t)g->header.at_classes * CLUMPI_UNIT,
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
    heap->info.buffer = c->cl.CreateBuffer(c->context, CL_MEM_READ_WRITE, bytes, NULL, &code);
    if (!code) {
        clump_status status = clumpi_pages_ask(c, heap->info.buffer, bytes);
        return !status && heap->segment_blocks && !heap->geometry.frames
                   ? clumpi_segments_open(heap)
                   : status;
    }
    heap->info.buffer = NULL;
    return clumpi_fail_cl(&c->error, "clCreateBuffer", code, "%llu bytes for a heap",
                          (unsigned long long)bytes);
}

static int is_no_room(const clump_context *c, clump_status status) {
    return status == CLUMP_ERR_CL && clumpi_is_no_room(c->error.cl_code);
}

/* Says what is wrong with the size, if that is why the buffer could not be made or first used. It
 * is tried and not computed: some devices give more than they say. */
static clump_status explain_size(const clump_heap *heap, uint64_t bytes, int is_one,
                                 clump_status status) {
    clump_context *c = heap->context;
    const int is_split = heap->segment_blocks && !heap->geometry.frames;
    clump_error *e = &c->error;
    if (!is_no_room(c, status)) return status;
    const clump_capabilities *device = &c->capabilities;
    clumpi_fail_cl(e, e->call, e->cl_code,
                   "no room for a heap of %llu bytes. The device has %llu, and reports that one "
                   "buffer can have %llu%s. Ask for less, with `bytes` or a smaller "
                   "`device_share`, or release other buffers",
                   (unsigned long long)bytes, (unsigned long long)device->memory_bytes,
                   (unsigned long long)device->allocation_bytes,
                   is_split ? ", so several buffers were tried"
                   : is_one ? ", and this heap must be in one buffer"
                   : clumpi_pointers_kind(c)
                       ? ""
                       : ", and several buffers need shared virtual memory (OpenCL 2.0) or "
                         "cl_ext_buffer_device_address, and the device has neither");
    return e->status = CLUMP_ERR_DEVICE_MEMORY;
}

static clump_status take_from_source(clump_heap *heap, clumpi_buffer_source *source) {
    clump_status status = source->take(source, heap->geometry.bytes, heap, &heap->source_number,
                                       &heap->info.buffer, &heap->context->error);
    if (!status) heap->source = source;
    return status;
}

clump_status clumpi_heap_lay_out(clump_heap *heap, uint64_t bytes, uint32_t block_rows,
                                 clumpi_extras extras) {
    clump_context *c = heap->context;
    clumpi_geometry *g = &heap->geometry;
    clump_status status =
        clumpi_geometry_compute(heap->schema, bytes, block_rows, (uint32_t)c->sizes.scan_groups,
                                clumpi_do_all_groups(&c->sizes, bytes), extras, g, &c->error);
    if (status) return status;
    heap->number = ++c->heap_count;
    heap->has_ref_arrays = find_ref_arrays(heap);
    heap->segment_blocks = g->segment_blocks;
    uint32_t block_bytes = g->header.granule_bytes * g->header.block_granules;
    heap->info = (clump_heap_info){
        .bytes = g->frames ? g->frames * (uint64_t)block_bytes : g->bytes,
        .metadata_bytes = (uint64_t)g->header.first_block * block_bytes,
        .granule_bytes = g->header.granule_bytes,
        .block_granules = g->header.block_granules,
        .first_block = g->header.first_block,
        .block_count = g->header.block_end - g->header.first_block,
        .buffer_blocks = g->frames ? 0 : g->segment_blocks,
        .checks = heap->checks,
        .generations = g->checked.generations,
        .schema = heap->schema,
    };
    return CLUMP_OK;
}

/* Memory of its own, ready for objects. */
static clump_status make_buffers(clump_heap *heap) {
    clump_status status = make_buffer(heap);
    return status ? status : initialise(heap);
}

/* Is it the size of the one buffer that is refused, and not that nothing is to be had? Both may be
 * CL_MEM_OBJECT_ALLOCATION_FAILURE; parts of a small heap would be refused as well. */
#define SMALL_HEAP_BYTES (UINT64_C(64) << 20)
static int is_size_refused(const clump_context *c, uint64_t bytes) {
    return bytes > c->capabilities.allocation_bytes || c->error.cl_code == CL_INVALID_BUFFER_SIZE ||
           (c->error.cl_code == CL_MEM_OBJECT_ALLOCATION_FAILURE && bytes >= SMALL_HEAP_BYTES);
}

/* One buffer of so many bytes was refused, whatever the device tells of the largest that it gives:
 * several of half the size, of a quarter, and so on, until they are made or one has no room for the
 * metadata. */
#define SPLITS_MOST 6
static clump_status make_several(clump_heap *heap, uint64_t bytes, uint32_t block_rows,
                                 clumpi_extras extras) {
    clump_context *c = heap->context;
    const uint64_t told = c->capabilities.allocation_bytes;
    clump_error refused = c->error;
    extras.segment_bytes = told && told < bytes ? told : bytes / 2;
    for (int split = 0; split < SPLITS_MOST; split++, extras.segment_bytes /= 2) {
        clumpi_segments_close(heap);
        clumpi_buffer_release(c, &heap->info.buffer);
        clump_status status = clumpi_heap_lay_out(heap, bytes, block_rows, extras);
        if (status) break;
        status = make_buffers(heap);
        if (!status || !(is_no_room(c, status) || status == CLUMP_ERR_DEVICE_MEMORY)) return status;
        refused = c->error;
    }
    c->error = refused;
    return refused.status;
}

clump_status clumpi_heap_prepare(const clump_heap_desc *desc, clump_heap *heap,
                                 clumpi_extras *extras) {
    clump_context *c = desc->context;
    *extras = (clumpi_extras){.watched = desc->watch_handles != 0,
                              .raw = desc->raw != 0 || find_growing(desc->schema)};
    clump_status status = desc->schema
                              ? clumpi_schema_copy(desc->schema, &c->allocator, &heap->schema)
                              : clumpi_schema_create_empty(&c->allocator, &heap->schema);
    heap->has_raw = extras->raw;
    heap->errors_on_request = desc->errors_on_request;
    heap->is_raw = desc->raw != 0;
    if (status) return clumpi_fail(&c->error, status, "no host memory for the heap's schema");
    status = clumpi_checking_open(heap, desc->checked, extras);
    extras->evictable_bytes = desc->evictable_bytes;
    extras->segment_bytes = desc->buffer_bytes;
    return status;
}

static clump_status create(const clump_heap_desc *desc, uint64_t bytes, clump_heap *heap) {
    clump_context *c = desc->context;
    clumpi_extras extras;
    clump_status status = clumpi_heap_prepare(desc, heap, &extras);
    heap->wanted = bytes;
    if (extras.segment_bytes >= bytes) extras.segment_bytes = 0;
    if (!status) status = clumpi_heap_lay_out(heap, bytes, desc->block_rows, extras);
    if (status) return status;
    if (desc->pool) {
        status = take_from_source(heap, source_of(desc->pool));
        return status ? status : initialise(heap);
    }
    status = make_buffers(heap);
    const int is_one = clumpi_exclusion_find(traits_of(desc) | CLUMPI_TRAIT_SEVERAL) != NULL;
    if (is_no_room(c, status) && !is_one && !extras.segment_bytes && is_size_refused(c, bytes) &&
        clumpi_pointers_kind(c))
        status = make_several(heap, bytes, desc->block_rows, extras);
    return explain_size(heap, bytes, is_one, status);
}

static clump_status make_heap(const clump_heap_desc *desc, clump_heap **heap) {
    clump_context *c = desc->context;
    if (!c) return CLUMP_ERR_USAGE; /* no context to hold words */
    if (!heap)
        return clumpi_fail(&c->error, CLUMP_ERR_USAGE,
                           "clump_heap_create needs a pointer for the heap");
    uint64_t bytes = 0;
    clump_status status = check_desc(desc, &bytes);
    if (status) return status;
    clump_heap *h = clumpi_alloc(&c->allocator, sizeof *h);
    if (!h) return clumpi_fail(&c->error, CLUMP_ERR_HOST_MEMORY, "no host memory for a heap");
    h->context = c;
    h->users = 1;
    h->live_change = 1;
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

clump_status clump_heap_create(const clump_heap_desc *given, clump_heap **heap,
                               clump_error *error) {
    clump_heap_desc desc;
    clump_error *kept = given && given->context ? &given->context->error : NULL;
    if (heap) *heap = NULL;
    clump_status status = CLUMPI_TAKE(clump_heap_desc, &desc, given, kept);
    if (!status) status = make_heap(&desc, heap);
    return clumpi_tell(kept, status, error);
}

void clump_heap_destroy(clump_heap *heap) {
    if (!heap || --heap->users) return;
    clump_context *c = heap->context;
    /* An error is nobody's here, and the queue is waited for in any case. */
    if (clumpi_heap_enter(heap)) (void)clumpi_order_finish(c, &heap->order);
    clumpi_checking_close(heap); /* it looks into the heap */
    clumpi_refs_clear(heap);
    (void)clumpi_order_finish(c, &heap->order);
    clumpi_window_forget(heap);
    clumpi_attachments_release(&heap->attachments, c);
    clumpi_eviction_close(heap);
    clumpi_segments_close(heap);
    if (heap->source)
        heap->source->give_back(heap->source, heap->source_number);
    else
        clumpi_buffer_release(c, &heap->info.buffer);
    clump_schema_destroy(heap->schema);
    clumpi_free(&c->allocator, heap);
    clumpi_context_unuse(c);
}

clump_status clumpi_heap_create_like(const clump_heap *heap, const clump_schema *schema,
                                     uint64_t bytes, uint32_t block_rows, clump_heap **next) {
    const clump_heap_desc d = {.size = sizeof d,
                               .context = heap->context,
                               .schema = schema,
                               .bytes = bytes ? bytes : heap->wanted,
                               .block_rows = block_rows,
                               .errors_on_request = heap->errors_on_request,
                               .watch_handles = heap->geometry.header.at_watch != 0,
                               .checked = clumpi_checking_desc(heap),
                               .pool = (struct clump_pool *)heap->source};
    return clump_heap_create(&d, next, NULL);
}

void clumpi_heap_exchange(clump_heap *heap, clump_heap *next) {
    clumpi_window_forget(heap); /* all that was enqueued for it was waited for */
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

void clumpi_heap_discard(clump_heap *heap) {
    if (heap) heap->checks &= ~(uint32_t)CLUMP_CHECK_LEAKS;
    clump_heap_destroy(heap);
}
