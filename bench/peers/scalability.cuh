/* The work of `clump-bench run alloc-scalability` for CUDA allocators: all work-items make objects at once, then
 * free them. Numbers, tables and checks are those of bench/micro/alloc.cl: object and number know each other.
 *
 *   scalability<Peer>(argc, argv)      PROGRAM ITEMS LAUNCHES BYTES ROUNDS HEAP_MB
 *
 * In a round LAUNCHES launches in a row, timed together, make an object in each of ITEMS work-items. As many free
 * them. HEAP_MB 0: twice the bytes and 1 GiB.
 *
 * A Peer is handed to kernels by value, and has
 *   bool open(uint64_t bytes, uint64_t heap_bytes)         make the heap for objects of up to so many bytes; false: it
 *                                                          has no such objects
 *   __device__ void *make(uint32_t tag, uint64_t bytes)    an object that holds the tag; null: no memory
 *   __device__ uint32_t tag(void *object)
 *   __device__ void release(void *object)
 * raw_objects has the last three for allocators of bytes.
 *
 * Read first: README.md, which says what is printed.
 */
#ifndef PEERS_SCALABILITY_CUH
#define PEERS_SCALABILITY_CUH

#include <cinttypes>
#include <cstdint>
#include <cstdio>
#include <cstdlib>

#include "cuda_call.cuh"

namespace peers {

/* Objects of 4 bytes or more of a Heap with malloc() and free(), which begin with their tag. */
template <typename Heap> struct raw_objects {
    Heap *heap;

    __device__ void *make(uint32_t tag, uint64_t bytes) {
        void *object = heap->malloc(bytes);
        if (object) *(volatile uint32_t *)object = tag;
        return object;
    }
    __device__ uint32_t tag(void *object) { return *(volatile uint32_t *)object; }
    __device__ void release(void *object) { heap->free(object); }
};

/* Numbers first .. first + items - 1. */
template <typename Peer>
__global__ void make_all(Peer peer, void **table, uint32_t first, uint32_t items, uint64_t bytes) {
    uint32_t item = blockIdx.x * blockDim.x + threadIdx.x, number = first + item;
    if (item < items) table[number] = peer.make(number + 1, bytes);
}

/* faults[0] counts nulls, faults[1] foreign tags. */
template <typename Peer> __global__ void verify_all(Peer peer, void **table, uint32_t count, unsigned *faults) {
    uint32_t number = blockIdx.x * blockDim.x + threadIdx.x;
    if (number >= count) return;
    if (!table[number]) atomicAdd(&faults[0], 1u);
    else if (peer.tag(table[number]) != number + 1) atomicAdd(&faults[1], 1u);
}

template <typename Peer> __global__ void release_all(Peer peer, void **table, uint32_t first, uint32_t items) {
    uint32_t item = blockIdx.x * blockDim.x + threadIdx.x;
    if (item < items && table[first + item]) peer.release(table[first + item]);
}

template <typename Peer> int scalability(int argc, char **argv) {
    if (argc != 6) {
        std::fprintf(stderr, "usage: %s ITEMS LAUNCHES BYTES ROUNDS HEAP_MB\n", argv[0]);
        return 2;
    }
    uint32_t items = (uint32_t)std::strtoul(argv[1], nullptr, 10), launches = (uint32_t)std::strtoul(argv[2], nullptr, 10);
    uint64_t bytes = std::strtoull(argv[3], nullptr, 10), count = (uint64_t)items * launches;
    uint64_t heap_bytes = std::strtoull(argv[5], nullptr, 10) << 20;
    if (!heap_bytes) heap_bytes = count * bytes * 2 + (UINT64_C(1) << 30);
    int rounds = std::atoi(argv[4]);
    if (!count || count >= UINT32_MAX) {
        std::fprintf(stderr, "%" PRIu64 " objects: from 1 to 2^32 - 2 are possible\n", count);
        return 2;
    }
    Peer peer{};
    if (!peer.open(bytes, heap_bytes)) {
        std::fprintf(stderr, "this program makes no objects of %" PRIu64 " bytes\n", bytes);
        return 2;
    }
    void **table = nullptr;
    unsigned *faults = nullptr, found[2] = {0, 0};
    CUDA_CALL(cudaDeviceSynchronize());
    CUDA_CALL(cudaMalloc(&table, count * sizeof *table));
    CUDA_CALL(cudaMalloc(&faults, sizeof found));
    CUDA_CALL(cudaMemset(faults, 0, sizeof found));
    uint32_t threads = 256, blocks = (items + threads - 1) / threads;
    for (int i = 0; i <= rounds; i++) { /* the first is a warm-up */
        float make_ms = time_of([&] {
            for (uint32_t k = 0; k < launches; k++) make_all<<<blocks, threads>>>(peer, table, k * items, items, bytes);
        });
        verify_all<<<(uint32_t)((count + threads - 1) / threads), threads>>>(peer, table, (uint32_t)count, faults);
        CUDA_CALL(cudaDeviceSynchronize());
        float free_ms = time_of([&] {
            for (uint32_t k = 0; k < launches; k++) release_all<<<blocks, threads>>>(peer, table, k * items, items);
        });
        if (!i) continue;
        std::printf("sample alloc_rate G/s %.9g\n", (double)count / make_ms * 1e-6);
        std::printf("sample free_rate G/s %.9g\n", (double)count / free_ms * 1e-6);
    }
    CUDA_CALL(cudaMemcpy(found, faults, sizeof found, cudaMemcpyDeviceToHost));
    if (found[0] || found[1])
        std::printf("check failed %u nulls, %u objects that are another's\n", found[0], found[1]);
    else
        std::printf("check ok %" PRIu64 " objects a round, each is its number's own\n", count);
    return 0;
}

} // namespace peers

#endif
