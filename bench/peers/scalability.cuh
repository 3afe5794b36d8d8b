/* The work of `clump-bench run alloc-scalability` for CUDA allocators: all work-items make objects at once, then
 * free them. Numbers, tables and checks are those of bench/micro/alloc.cl: object and number know each other.
 *
 *   scalability<Peer>(argc, argv)      PROGRAM ITEMS PER_ITEM BYTES ROUNDS
 *
 * A Peer is handed to kernels by value, and has
 *   bool open(uint64_t bytes, uint64_t heap_bytes)    make the heap for objects of that size; false: other size
 *   __device__ void *make(uint32_t tag)               an object that holds the tag; null: no memory
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

/* Objects of `bytes` of a Heap with malloc() and free(), which begin with their tag. */
template <typename Heap> struct raw_objects {
    Heap *heap;
    uint64_t bytes; /* 4 or more */

    __device__ void *make(uint32_t tag) {
        void *object = heap->malloc(bytes);
        if (object) *(volatile uint32_t *)object = tag;
        return object;
    }
    __device__ uint32_t tag(void *object) { return *(volatile uint32_t *)object; }
    __device__ void release(void *object) { heap->free(object); }
};

template <typename Peer> __global__ void make_all(Peer peer, void **table, uint32_t items, uint32_t per_item) {
    uint32_t item = blockIdx.x * blockDim.x + threadIdx.x;
    if (item >= items) return;
    for (uint32_t i = 0; i < per_item; i++) {
        uint64_t number = (uint64_t)i * items + item;
        table[number] = peer.make((uint32_t)number + 1);
    }
}

/* faults[0] counts nulls, faults[1] foreign tags. */
template <typename Peer>
__global__ void verify_all(Peer peer, void **table, uint32_t items, uint32_t per_item, unsigned *faults) {
    uint32_t item = blockIdx.x * blockDim.x + threadIdx.x;
    if (item >= items) return;
    for (uint32_t i = 0; i < per_item; i++) {
        uint64_t number = (uint64_t)i * items + item;
        if (!table[number]) atomicAdd(&faults[0], 1u);
        else if (peer.tag(table[number]) != (uint32_t)number + 1) atomicAdd(&faults[1], 1u);
    }
}

template <typename Peer> __global__ void release_all(Peer peer, void **table, uint32_t items, uint32_t per_item) {
    uint32_t item = blockIdx.x * blockDim.x + threadIdx.x;
    if (item >= items) return;
    for (uint32_t i = 0; i < per_item; i++) {
        void *object = table[(uint64_t)i * items + item];
        if (object) peer.release(object);
    }
}

template <typename Peer> int scalability(int argc, char **argv) {
    if (argc != 5) {
        std::fprintf(stderr, "usage: %s ITEMS PER_ITEM BYTES ROUNDS\n", argv[0]);
        return 2;
    }
    uint32_t items = (uint32_t)std::strtoul(argv[1], nullptr, 10), per_item = (uint32_t)std::strtoul(argv[2], nullptr, 10);
    uint64_t bytes = std::strtoull(argv[3], nullptr, 10), count = (uint64_t)items * per_item;
    int rounds = std::atoi(argv[4]);
    if (!count || count >= UINT32_MAX) {
        std::fprintf(stderr, "%" PRIu64 " objects: from 1 to 2^32 - 2 are possible\n", count);
        return 2;
    }
    Peer peer{};
    if (!peer.open(bytes, count * bytes * 2 + (UINT64_C(1) << 30))) {
        std::fprintf(stderr, "this program makes no objects of %" PRIu64 " bytes\n", bytes);
        return 2;
    }
    void **table = nullptr;
    unsigned *faults = nullptr, found[2] = {0, 0};
    CUDA_CALL(cudaMalloc(&table, count * sizeof *table));
    CUDA_CALL(cudaMalloc(&faults, sizeof found));
    CUDA_CALL(cudaMemset(faults, 0, sizeof found));
    uint32_t threads = 256, blocks = (items + threads - 1) / threads;
    for (int i = 0; i <= rounds; i++) { /* the first is a warm-up */
        float make_ms = time_of([&] { make_all<<<blocks, threads>>>(peer, table, items, per_item); });
        verify_all<<<blocks, threads>>>(peer, table, items, per_item, faults);
        float free_ms = time_of([&] { release_all<<<blocks, threads>>>(peer, table, items, per_item); });
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
