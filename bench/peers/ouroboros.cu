/* Ouroboros, for scalability.cuh and mixed.cuh. MANAGER is one of its types: MultiOuroPQ, MultiOuroVAPQ, MultiOuroCQ, ...
 *
 *   PROGRAM ITEMS LAUNCHES BYTES ROUNDS HEAP_MB    or    PROGRAM mixed ...
 *
 * Read first: scalability.cuh, mixed.cuh.
 */
#include "device/Ouroboros_impl.cuh"
#include "device/MemoryInitialization.cuh"
#include "InstanceDefinitions.cuh"

#include "mixed.cuh"

struct ouroboros_heap : peers::raw_objects<MANAGER> {
    bool open(uint64_t bytes, uint64_t heap_bytes) {
        MANAGER *manager = new MANAGER; /* never ended: at the end of the process the driver is gone before it */
        manager->initialize(heap_bytes);
        heap = manager->getDeviceMemoryManager();
        return bytes >= 4;
    }
};

int main(int argc, char **argv) { return peers::scalability_or_mixed<ouroboros_heap>(argc, argv); }
