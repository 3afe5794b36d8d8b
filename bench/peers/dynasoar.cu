/* DynaSOAr, for scalability.cuh. BYTES is the size of an object, 16 or 64: the size of a heap and of its classes is
 * fixed when it is compiled. OBJECTS is the capacity.
 *
 * Read first: scalability.cuh.
 */
#include "allocator_config.h"

#include "scalability.cuh"

class Thing;
using AllocatorT = SoaAllocator<OBJECTS, Thing>;
__device__ AllocatorT *device_allocator;

class Thing : public AllocatorT::Base {
public:
#if BYTES == 16
    declare_field_types(Thing, uint32_t, uint32_t, uint32_t, uint32_t)
    SoaField<Thing, 0> tag_;
#elif BYTES == 64
    declare_field_types(Thing, uint64_t, uint64_t, uint64_t, uint64_t, uint64_t, uint64_t, uint64_t, uint32_t,
                        uint32_t) /* it wants the largest first */
    SoaField<Thing, 7> tag_;
#else
#error BYTES is 16 or 64
#endif
    __device__ Thing(uint32_t tag) : tag_(tag) {}
};

struct dynasoar_heap {
    bool open(uint64_t object_bytes, uint64_t) {
        static AllocatorHandle<AllocatorT> handle;
        AllocatorT *pointer = handle.device_pointer();
        CUDA_CALL(cudaMemcpyToSymbol(device_allocator, &pointer, sizeof pointer));
        return object_bytes == BYTES;
    }
    __device__ void *make(uint32_t tag, uint64_t) { return new (device_allocator) Thing(tag); }
    __device__ uint32_t tag(void *object) { return static_cast<Thing *>(object)->tag_; }
    __device__ void release(void *object) { destroy(device_allocator, static_cast<Thing *>(object)); }
};

int main(int argc, char **argv) { return peers::scalability<dynasoar_heap>(argc, argv); }
