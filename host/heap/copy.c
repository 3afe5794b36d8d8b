/* A heap becomes a copy of another one, on the device (clump/copy.h).
 *
 * Each buffer is copied whole: what is free only the device knows, and nothing is waited for. Two
 * ranges stay the copy's own: what kernels reported of it, and the table of its segments, which has
 * their addresses.
 *
 * Invariant: all that can be refused is refused before the first command.
 *
 * Read first: heap.h.
 */
#include "clump/copy.h"

#include <stddef.h>
#include <string.h>

#include "heap/heap.h"

#define CALL "clump_heap_copy"

/* ---- Do they fit? ---------------------------------------------------------------------------- */

static clump_status compare_schemas(const clump_heap *heap, const clump_heap *copy) {
    clump_context *c = heap->context;
    clumpi_text own = {.allocator = &c->allocator}, other = {.allocator = &c->allocator};
    clumpi_schema_emit_text(&own, heap->schema);
    clumpi_schema_emit_text(&other, copy->schema);
    clump_status status = CLUMP_OK;
    if (own.failed || other.failed)
        status = clumpi_fail(&c->error, CLUMP_ERR_HOST_MEMORY, "no host memory for two schemas");
    else if (own.bytes != other.bytes ||
             (own.bytes && memcmp(own.data, other.data, own.bytes) != 0))
        status =
            clumpi_fail(&c->error, CLUMP_ERR_SCHEMA,
                        CALL ": the schemas differ. Make the copy with the schema of the heap");
    clumpi_free(&c->allocator, own.data);
    clumpi_free(&c->allocator, other.data);
    return status;
}

/* Equal headers lead to equal places. The number of the last launch is no place. */
static clump_status compare_layouts(const clump_heap *heap, const clump_heap *copy) {
    clumpi_header own = heap->geometry.header, other = copy->geometry.header;
    own.map_turn = other.map_turn = 0;
    if (memcmp(&own, &other, sizeof own) == 0 && heap->segment_blocks == copy->segment_blocks)
        return CLUMP_OK;
    return clumpi_fail(
        &heap->context->error, CLUMP_ERR_USAGE,
        CALL
        ": the heap has %llu bytes in blocks of %llu, the copy has %llu in "
        "blocks of %llu, or their other options or devices differ. Make the "
        "copy with the clump_heap_desc of the heap",
        (unsigned long long)heap->info.bytes, (unsigned long long)clumpi_block_bytes(heap),
        (unsigned long long)copy->info.bytes, (unsigned long long)clumpi_block_bytes(copy));
}

/* The next registered buffer, without that of the handles. */
static const clump_refs *skip_handles(const clump_heap *heap, const clump_refs *refs) {
    return refs && refs == clumpi_handles_refs(heap) ? refs->next : refs;
}

static clump_status compare_registered(const clump_heap *heap, const clump_heap *copy) {
    const clump_refs *a = skip_handles(heap, heap->refs), *b = skip_handles(copy, copy->refs);
    uint32_t number = 0;
    for (; a && b; a = skip_handles(heap, a->next), b = skip_handles(copy, b->next), number++)
        if (a->count != b->count || a->stride != b->stride || !a->counted != !b->counted)
            return clumpi_fail(&heap->context->error, CLUMP_ERR_USAGE,
                               CALL
                               ": the registered buffers differ in count, stride or counted, "
                               "number %u from the last. Register equal ones with the copy",
                               number);
    if (!a && !b) return CLUMP_OK;
    return clumpi_fail(&heap->context->error, CLUMP_ERR_USAGE,
                       CALL ": the %s has more registered buffers. Register as many with both",
                       a ? "heap" : "copy");
}

static clump_status check(const clump_heap *heap, const clump_heap *copy, const clump_sync *sync) {
    clump_context *c = heap->context;
    if (!copy || copy == heap)
        return clumpi_fail(&c->error, CLUMP_ERR_USAGE, CALL " needs two heaps");
    clump_status status = clumpi_sync_check(c, sync, CALL);
    if (!status) status = clumpi_heap_refuses(heap, CLUMPI_OP_COPY, CALL);
    if (!status && c->context != copy->context->context)
        status = clumpi_fail(&c->error, CLUMP_ERR_USAGE,
                             CALL
                             ": the copy belongs to another cl_context. Make its "
                             "clump_context with the cl_context of the heap");
    if (!status) status = compare_schemas(heap, copy);
    if (!status) status = compare_layouts(heap, copy);
    return status ? status : compare_registered(heap, copy);
}

/* ---- Queues ---------------------------------------------------------------------------------- */

/* What comes next on the queue of `later` waits for what is on the queue of `sooner` now. The error
 * is in `told`. */
static clump_status put_after(clump_context *sooner, clump_context *later, clump_context *told) {
    cl_event event = NULL;
    if (sooner == later) return CLUMP_OK;
    clump_status status = clumpi_sync_end(sooner, &(clump_sync){.event = &event});
    clump_context *failed = sooner;
    if (!status) {
        cl_int code = sooner->cl.Flush(sooner->current->queue); /* else nobody might */
        if (code) status = clumpi_fail_cl(&sooner->error, "clFlush", code, "order of queues");
    }
    if (!status) {
        failed = later;
        status = clumpi_sync_begin(later, &(clump_sync){.wait_count = 1, .wait_list = &event});
    }
    if (event) sooner->cl.ReleaseEvent(event);
    if (status && failed != told) told->error = failed->error;
    return status;
}

/* ---- Copying --------------------------------------------------------------------------------- */

/* Bytes from .. to-1 of both buffers. */
static clump_status copy_range(const clump_heap *heap, const clump_heap *copy, uint64_t from,
                               uint64_t to) {
    if (from >= to) return CLUMP_OK;
    return clumpi_copy(heap->context, heap->info.buffer, from, copy->info.buffer, from, to - from);
}

static clump_status copy_first(const clump_heap *heap, const clump_heap *copy) {
    const clumpi_header *h = &heap->geometry.header;
    const uint64_t reports = clumpi_header_offset(heap, offsetof(clumpi_header, errors)),
                   after = clumpi_header_offset(heap, offsetof(clumpi_header, new_rows)),
                   end = heap->segment_count ? clumpi_segment_bytes(heap) : heap->geometry.bytes;
    const uint64_t table = h->at_segments ? (uint64_t)h->at_segments * CLUMPI_UNIT : end,
                   table_bytes = h->at_segments ? heap->segment_count * sizeof(clumpi_u64) : 0;
    clump_status status = copy_range(heap, copy, 0, reports);
    if (!status) status = copy_range(heap, copy, after, table);
    return status ? status : copy_range(heap, copy, table + table_bytes, end);
}

static clump_status copy_segments(const clump_heap *heap, const clump_heap *copy) {
    const uint64_t step = clumpi_segment_bytes(heap);
    clump_status status = CLUMP_OK;
    for (uint32_t k = 1; k < heap->segment_count && !status; k++) {
        const uint64_t rest = heap->info.bytes - k * step;
        status = clumpi_copy(heap->context, heap->segments[k].buffer, 0, copy->segments[k].buffer,
                             0, rest < step ? rest : step);
    }
    return status;
}

static clump_status copy_registered(const clump_heap *heap, const clump_heap *copy) {
    const clump_refs *a = skip_handles(heap, heap->refs), *b = skip_handles(copy, copy->refs);
    clump_status status = CLUMP_OK;
    for (; a && !status; a = skip_handles(heap, a->next), b = skip_handles(copy, b->next)) {
        status = clumpi_copy(heap->context, a->buffer, a->offset, b->buffer, b->offset,
                             (a->count - 1) * a->stride + sizeof(clump_ref));
        if (!status && a->counted)
            status = clumpi_copy(heap->context, a->counted, a->counted_at, b->counted,
                                 b->counted_at, sizeof(clumpi_u32));
    }
    return status;
}

/* What the host knows of the objects. The list is made anew, since windows are of a heap. */
static void take_over(const clump_heap *heap, clump_heap *copy) {
    memcpy(copy->geometry.classes, heap->geometry.classes, sizeof copy->geometry.classes);
    copy->geometry.header.map_turn = heap->geometry.header.map_turn;
    clumpi_window_forget(copy);
    copy->window.left = 0;
    copy->list_valid = copy->list_numbered = 0;
    copy->list_counted = heap->list_counted;
    copy->list_turn = heap->list_turn;
    copy->reserved = heap->reserved;
    copy->reduced_mark = heap->reduced_mark;
    copy->reduced_known = 0;
    copy->live_run = copy->live_all = 0;
    copy->live_change++;
    copy->unsettled = 0;
}

/* The error of a call on the copy is told by the context of the heap. */
static clump_status told(clump_heap *heap, const clump_heap *copy, clump_status status) {
    if (status && heap->context != copy->context) heap->context->error = copy->context->error;
    return status;
}

static clump_status enter(clump_heap *heap, clump_heap *copy, const clump_sync *sync) {
    clump_status status = told(heap, copy, clumpi_handles_make_room(heap, copy));
    if (!status) status = told(heap, copy, clumpi_order_enter(copy->context, &copy->order));
    if (!status) status = clumpi_heap_enter(heap); /* settles references */
    if (!status) status = put_after(copy->context, heap->context, heap->context);
    return status ? status : clumpi_sync_begin(heap->context, sync);
}

clump_status clump_heap_copy(clump_heap *heap, clump_heap *copy, const clump_sync *sync) {
    if (!heap) return CLUMP_ERR_USAGE;
    clump_context *c = heap->context;
    clump_status status = check(heap, copy, sync);
    if (!status) status = enter(heap, copy, sync);
    if (status) return status;
    take_over(heap, copy);
    status = copy_first(heap, copy);
    if (!status) status = copy_segments(heap, copy);
    if (!status) status = copy_registered(heap, copy);
    if (!status) status = clumpi_handles_copy(heap, copy);
    if (!status) status = put_after(c, copy->context, c);
    return status ? status : clumpi_sync_end(c, sync);
}
