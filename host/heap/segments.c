/* Heaps in segments: the blocks of a heap that is larger than one buffer can be.
 *
 * A segment is a run of blocks, the same number in each, that is a buffer of its own. Segment 0 is
 * the heap's buffer and has the metadata; the others are coarse-grained shared virtual memory or,
 * without that, buffers with addresses (cl_ext_buffer_device_address), because OpenCL promises
 * pointers to these, and to no other memory, that kernels may find in memory. A table in the
 * metadata has for each segment what is to be added to an address that was computed as if the heap
 * were one buffer (cl/core/segments.clh). References and everything else are as in one buffer.
 *
 * A heap with blocks that can be evicted (evict.c) uses the same table, in one buffer: each block
 * is a segment.
 *
 * Invariant: segment_count buffers of segment_blocks blocks, the last of fewer, have bytes of the
 * geometry together.
 *
 * Read first: heap.h, core/pointers.h, cl/core/segments.clh.
 */
#include "heap/heap.h"

uint64_t clumpi_segment_bytes(const clump_heap *heap) {
    if (heap->geometry.frames) return heap->geometry.frames * clumpi_block_bytes(heap);
    return heap->segment_blocks ? heap->segment_blocks * clumpi_block_bytes(heap)
                                : heap->geometry.bytes;
}

clump_status clumpi_buffers_touch(clump_heap *heap) {
    const clumpi_u32 zero = 0;
    const uint64_t step = clumpi_segment_bytes(heap);
    clump_status status =
        clumpi_write(heap->context, heap->info.buffer, step - sizeof zero, sizeof zero, &zero);
    for (uint32_t k = 1; k < heap->segment_count && !status; k++) {
        uint64_t rest = heap->info.bytes - k * step;
        status = clumpi_write(heap->context, heap->segments[k].buffer,
                              (rest < step ? rest : step) - sizeof zero, sizeof zero, &zero);
    }
    return status;
}

static clump_status set_move(clump_heap *heap, uint32_t segment) {
    clumpi_u64 pointer = (uintptr_t)heap->segments[segment].pointer;
    clumpi_u64 bytes = segment * clumpi_segment_bytes(heap);
    const clumpi_arg args[] = {
        {sizeof segment, &segment}, {sizeof pointer, &pointer}, {sizeof bytes, &bytes}};
    return clumpi_run_on_heap(heap, CLUMPI_HEAP_KERNEL(segment_set), 1, 1, args, 3, NULL);
}

/* The memory that kernels are told of for heaps without pointers. */
static clump_status take_no_heap(clump_context *c, clump_pointers kind) {
    if (kind != CLUMP_POINTERS_SVM) {
        clumpi_pointers none;
        clump_status status =
            clumpi_pointers_create(c, kind, CLUMPI_POINTER_ALIGN, NULL, &none, &c->error);
        c->no_heap = none.pointer;
        c->no_heap_buffer = none.buffer;
        return status;
    }
    c->no_heap =
        c->cl.SVMAlloc(c->context, CL_MEM_READ_WRITE, CLUMPI_POINTER_ALIGN, CLUMPI_POINTER_ALIGN);
    if (c->no_heap) return CLUMP_OK;
    return clumpi_fail(&c->error, CLUMP_ERR_DEVICE_MEMORY, "clSVMAlloc returned NULL for %u bytes",
                       CLUMPI_POINTER_ALIGN);
}

clump_status clumpi_segments_open(clump_heap *heap) {
    clump_context *c = heap->context;
    const uint64_t step = clumpi_segment_bytes(heap), bytes = heap->geometry.bytes;
    const uint32_t count = (uint32_t)((bytes + step - 1) / step);
    heap->segments = clumpi_alloc(&c->allocator, count * sizeof *heap->segments);
    heap->pointed.pointers = clumpi_alloc(&c->allocator, count * sizeof *heap->pointed.pointers);
    if (!heap->segments || !heap->pointed.pointers)
        return clumpi_fail(&c->error, CLUMP_ERR_HOST_MEMORY, "no host memory for a heap");
    const clump_pointers kind = clumpi_pointers_kind(c);
    clump_status status = count > 1 && !c->no_heap ? take_no_heap(c, kind) : CLUMP_OK;
    for (uint32_t k = 1; k < count && !status; k++) {
        uint64_t rest = bytes - k * step;
        status = clumpi_pointers_create(c, kind, rest < step ? rest : step, c->current->queue,
                                        &heap->segments[k], &c->error);
        if (status) break;
        heap->segment_count = k + 1;
        heap->pointed.pointers[heap->pointed.count++] = heap->segments[k].pointer;
    }
    return status;
}

clump_status clumpi_segments_write(clump_heap *heap) {
    clump_status status = CLUMP_OK;
    for (uint32_t k = 1; k < heap->segment_count && !status; k++) status = set_move(heap, k);
    return status;
}

void clumpi_segments_close(clump_heap *heap) {
    clump_context *c = heap->context;
    for (uint32_t k = 1; k < heap->segment_count; k++)
        clumpi_pointers_release(c, c->current->queue, &heap->segments[k]);
    clumpi_free(&c->allocator, heap->segments);
    clumpi_free(&c->allocator, heap->pointed.pointers);
    heap->segments = NULL;
    heap->pointed = (clumpi_pointed){0};
    heap->segment_count = 0;
}

/* A place of the heap. */
typedef struct place {
    cl_mem buffer;
    uint64_t offset, bytes; /* in the buffer, and what it has from there on */
} place;

/* Where `bytes` bytes from an offset on begin. */
static clump_status find(const clump_heap *heap, uint64_t offset, uint64_t bytes, place *p) {
    const int is_away = heap->geometry.frames != 0;
    uint64_t step = is_away ? clumpi_block_bytes(heap) : clumpi_segment_bytes(heap),
             k = offset / step;
    clumpi_u64 move = 0;
    *p = (place){heap->info.buffer, offset, bytes};
    if (p->bytes > step - offset % step) p->bytes = step - offset % step;
    if (k && !is_away) *p = (place){heap->segments[k].buffer, offset % step, p->bytes};
    if (!is_away) return CLUMP_OK;
    clump_status status =
        clumpi_read(heap->context, heap->info.buffer,
                    (uint64_t)heap->geometry.header.at_segments * CLUMPI_UNIT + k * sizeof move,
                    sizeof move, &move);
    p->offset += move;
    return status;
}

clump_status clumpi_blocks_read(const clump_heap *heap, uint64_t offset, uint64_t bytes,
                                void *data) {
    clump_status status = CLUMP_OK;
    place p;
    for (uint64_t done = 0; done < bytes && !status; done += p.bytes) {
        status = find(heap, offset + done, bytes - done, &p);
        if (!status)
            status = clumpi_read(heap->context, p.buffer, p.offset, p.bytes, (char *)data + done);
    }
    return status;
}

clump_status clumpi_blocks_write(const clump_heap *heap, uint64_t offset, uint64_t bytes,
                                 const void *data) {
    clump_status status = CLUMP_OK;
    place p;
    for (uint64_t done = 0; done < bytes && !status; done += p.bytes) {
        status = find(heap, offset + done, bytes - done, &p);
        if (!status)
            status =
                clumpi_write(heap->context, p.buffer, p.offset, p.bytes, (const char *)data + done);
    }
    return status;
}
