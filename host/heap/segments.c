/* Heaps in segments: the blocks of a heap that is larger than one buffer can be.
 *
 * A segment is a run of blocks, the same number in each, that is a buffer of its own. Segment 0 is the heap's buffer and has the
 * metadata; the others are coarse-grained shared virtual memory, because OpenCL promises pointers to that, and to no
 * other memory, that kernels may find in memory. A table in the metadata has for each segment what is to be added to an address
 * that was computed as if the heap were one buffer (cl/core/segments.clh). References and everything else are as in one
 * buffer.
 *
 * Invariant: segment_count buffers of segment_blocks blocks, the last of fewer, have bytes of the geometry together.
 *
 * Read first: heap.h, core/pointers.h, cl/core/segments.clh.
 */
#include "heap/heap.h"

uint64_t clumpi_segment_bytes(const clump_heap *heap) {
    const clumpi_header *h = &heap->geometry.header;
    uint64_t block_bytes = (uint64_t)h->granule_bytes * h->block_granules;
    return heap->segment_blocks ? heap->segment_blocks * block_bytes : heap->geometry.bytes;
}

static clump_status set_move(clump_heap *heap, uint32_t segment) {
    clumpi_u64 pointer = (uintptr_t)heap->segments[segment].pointer;
    clumpi_u64 bytes = segment * clumpi_segment_bytes(heap);
    const clumpi_arg args[] = {
        {sizeof segment, &segment}, {sizeof pointer, &pointer}, {sizeof bytes, &bytes}};
    return clumpi_run_on_heap(heap, CLUMPI_HEAP_KERNEL(segment_set), 1, 1, args, 3, NULL);
}

clump_status clumpi_segments_open(clump_heap *heap) {
    clump_context *c = heap->context;
    const uint64_t step = clumpi_segment_bytes(heap), bytes = heap->geometry.bytes;
    const uint32_t count = (uint32_t)((bytes + step - 1) / step);
    heap->segments = clumpi_alloc(&c->allocator, count * sizeof *heap->segments);
    heap->pointed.pointers = clumpi_alloc(&c->allocator, count * sizeof *heap->pointed.pointers);
    if (!heap->segments || !heap->pointed.pointers)
        return clumpi_fail(&c->error, CLUMP_ERR_MEMORY, "no host memory for a heap");
    for (uint32_t k = 1; k < count; k++) {
        uint64_t rest = bytes - k * step;
        clump_status status =
            clumpi_pointers_create(c, CLUMP_POINTERS_SVM, rest < step ? rest : step, c->queue,
                                   &heap->segments[k], &c->error);
        if (status) return status;
        heap->segment_count = k + 1;
        heap->pointed.pointers[heap->pointed.count++] = heap->segments[k].pointer;
    }
    return CLUMP_OK;
}

clump_status clumpi_segments_write(clump_heap *heap) {
    clump_status status = CLUMP_OK;
    for (uint32_t k = 1; k < heap->segment_count && !status; k++) status = set_move(heap, k);
    return status;
}

void clumpi_segments_close(clump_heap *heap) {
    clump_context *c = heap->context;
    for (uint32_t k = 1; k < heap->segment_count; k++)
        clumpi_pointers_release(c, c->queue, &heap->segments[k]);
    clumpi_free(&c->allocator, heap->segments);
    clumpi_free(&c->allocator, heap->pointed.pointers);
}

/* The buffer that has an offset; the offset in it; and how many of `bytes` bytes from there on it has. */
static cl_mem find(const clump_heap *heap, uint64_t *offset, uint64_t *bytes) {
    uint64_t step = clumpi_segment_bytes(heap), k = *offset / step;
    *offset -= k * step;
    if (*bytes > step - *offset) *bytes = step - *offset;
    return k ? heap->segments[k].buffer : heap->buffer;
}

clump_status clumpi_blocks_read(const clump_heap *heap, uint64_t offset, uint64_t bytes,
                                void *data) {
    clump_status status = CLUMP_OK;
    for (uint64_t done = 0, part; done < bytes && !status; done += part) {
        uint64_t at = offset + done;
        part = bytes - done;
        cl_mem buffer = find(heap, &at, &part);
        status = clumpi_read(heap->context, buffer, at, part, (char *)data + done);
    }
    return status;
}

clump_status clumpi_blocks_write(const clump_heap *heap, uint64_t offset, uint64_t bytes,
                                 const void *data) {
    clump_status status = CLUMP_OK;
    for (uint64_t done = 0, part; done < bytes && !status; done += part) {
        uint64_t at = offset + done;
        part = bytes - done;
        cl_mem buffer = find(heap, &at, &part);
        status = clumpi_write(heap->context, buffer, at, part, (const char *)data + done);
    }
    return status;
}
