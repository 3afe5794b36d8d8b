/* Gallatin, for scalability.cuh: segments of 16 MiB, slices from 16 to 4096 bytes, as its global allocator has them.
 *
 * Read first: scalability.cuh.
 */
#include <gallatin/allocators/gallatin.cuh>

#include "scalability.cuh"

using allocator = gallatin::allocators::Gallatin<16ULL << 20, 16ULL, 4096ULL>;

struct gallatin_heap : peers::raw_objects<allocator> {
    bool open(uint64_t object_bytes, uint64_t heap_bytes) {
        bytes = object_bytes;
        heap = allocator::generate_on_device(heap_bytes, 42, false);
        return bytes >= 4;
    }
};

int main(int argc, char **argv) { return peers::scalability<gallatin_heap>(argc, argv); }
