/* Ouroboros, for scalability.cuh. MANAGER is one of its types: MultiOuroPQ, MultiOuroVAPQ, MultiOuroCQ, ...
 *
 * Read first: scalability.cuh.
 */
#include "device/Ouroboros_impl.cuh"
#include "device/MemoryInitialization.cuh"
#include "InstanceDefinitions.cuh"

#include "scalability.cuh"

struct ouroboros_heap : peers::raw_objects<MANAGER> {
    bool open(uint64_t object_bytes, uint64_t heap_bytes) {
        static MANAGER manager; /* lives as long as its heap */
        bytes = object_bytes;
        manager.initialize(heap_bytes);
        heap = manager.getDeviceMemoryManager();
        return bytes >= 4;
    }
};

int main(int argc, char **argv) { return peers::scalability<ouroboros_heap>(argc, argv); }
