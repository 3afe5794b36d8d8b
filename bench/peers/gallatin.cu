/* Gallatin, for scalability.cuh: segments of 16 MiB, slices from 16 to 4096 bytes, as its global allocator has them.
 *
 * Read first: scalability.cuh.
 */
#include <gallatin/allocators/gallatin.cuh>

#include "scalability.cuh"

struct gallatin_heap {
    using allocator = gallatin::allocators::Gallatin<16ULL << 20, 16ULL, 4096ULL>;
    allocator *heap;
    uint64_t bytes;

    bool open(uint64_t object_bytes, uint64_t heap_bytes) {
        bytes = object_bytes;
        heap = allocator::generate_on_device(heap_bytes, 42, false);
        return bytes >= 4;
    }
    __device__ void *make(uint32_t tag) {
        void *object = heap->malloc(bytes);
        if (object) *(volatile uint32_t *)object = tag;
        return object;
    }
    __device__ uint32_t tag(void *object) { return *(volatile uint32_t *)object; }
    __device__ void release(void *object) { heap->free(object); }
};

int main(int argc, char **argv) { return peers::scalability<gallatin_heap>(argc, argv); }
