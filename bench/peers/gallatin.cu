/* Gallatin, for scalability.cuh and mixed.cuh. LARGEST is its largest slice in bytes, 4096 as its global allocator has
 * it. A segment has 4096 of them, so that one of 4096 B has 16 MiB.
 *
 *   PROGRAM ITEMS LAUNCHES BYTES ROUNDS HEAP_MB    or    PROGRAM mixed ...
 *
 * Read first: scalability.cuh, mixed.cuh.
 */
#include <gallatin/allocators/gallatin.cuh>

#include "mixed.cuh"

#ifndef LARGEST
#define LARGEST 4096
#endif
using allocator = gallatin::allocators::Gallatin<LARGEST * 4096ULL, 16ULL, LARGEST>;

struct gallatin_heap : peers::raw_objects<allocator> {
    bool open(uint64_t bytes, uint64_t heap_bytes) {
        heap = allocator::generate_on_device(heap_bytes, 42, false);
        return bytes >= 4 && bytes <= LARGEST;
    }
};

int main(int argc, char **argv) { return peers::scalability_or_mixed<gallatin_heap>(argc, argv); }
