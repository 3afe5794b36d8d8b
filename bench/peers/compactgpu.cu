/* CompactGpu, the compaction of DynaSOAr, on the heap of `clump-bench run compact-synthetic`: objects of two classes
 * refer to each other in pairs, drawn at random; of one class DELETED percent die; it is compacted.
 *
 *   PROGRAM ROUNDS
 *
 * Checked after each round: as many objects as before, and each pair still refers to each other.
 * OBJECTS is the number of objects of each class, CAPACITY that of the heap.
 *
 * Read first: README.md.
 */
#include <algorithm>
#include <cinttypes>
#include <numeric>
#include <random>
#include <vector>

#include "allocator_config.h"

#include "cuda_call.cuh"

class Left;
class Right;
using AllocatorT = SoaAllocator<CAPACITY, Left, Right>;
__device__ AllocatorT *device_allocator;
__device__ unsigned long long tallies[2]; /* live objects of Right, broken pairs */

class Left : public AllocatorT::Base {
public:
    declare_field_types(Left, Right *, int, int, int, int, int, int)
    SoaField<Left, 0> other_;
    SoaField<Left, 1> id_;
    __device__ Left(int id) : other_(nullptr), id_(id) {}
    __device__ void die() { destroy(device_allocator, this); }
    __device__ void look();
};

class Right : public AllocatorT::Base {
public:
    declare_field_types(Right, Left *, int, int, int, int, int, int)
    SoaField<Right, 0> other_;
    SoaField<Right, 1> id_;
    __device__ Right(int id) : other_(nullptr), id_(id) {}
    /* A hash of the number says who dies. */
    __device__ void thin() {
        unsigned hash = (unsigned)(int)id_ * 2654435761u;
        hash ^= hash >> 15;
        if ((hash * 2246822519u >> 8) % 100 >= DELETED) return;
        Left *other = other_;
        other->other_ = nullptr;
        destroy(device_allocator, this);
    }
    __device__ void die() { destroy(device_allocator, this); }
    __device__ void look() {
        Left *other = other_;
        Right *back = other->other_;
        atomicAdd(&tallies[0], 1ull);
        if (back != this || (int)other->id_ != (int)id_) atomicAdd(&tallies[1], 1ull);
    }
};

__device__ void Left::look() {
    Right *other = other_;
    if (other == nullptr) return;
    Left *back = other->other_;
    if (back != this) atomicAdd(&tallies[1], 1ull);
}

__global__ void create(Left **left, Right **right) {
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < OBJECTS; i += blockDim.x * gridDim.x) {
        left[i] = new (device_allocator) Left(i);
        right[i] = new (device_allocator) Right(i);
    }
}

/* The number of a pair is what its objects have in common. */
__global__ void pair_up(Left **left, Right **right, const int *partner) {
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < OBJECTS; i += blockDim.x * gridDim.x) {
        Left *one = left[partner[i]];
        one->id_ = i;
        one->other_ = right[i];
        right[i]->other_ = one;
    }
}

static AllocatorHandle<AllocatorT> *heap;

static unsigned long long look(unsigned long long *broken) {
    unsigned long long found[2] = {0, 0};
    CUDA_CALL(cudaMemcpyToSymbol(tallies, found, sizeof found));
    heap->parallel_do<Right, &Right::look>();
    heap->parallel_do<Left, &Left::look>();
    CUDA_CALL(cudaDeviceSynchronize());
    CUDA_CALL(cudaMemcpyFromSymbol(found, tallies, sizeof found));
    *broken += found[1];
    return found[0];
}

int main(int argc, char **argv) {
    int rounds = argc == 2 ? std::atoi(argv[1]) : 0;
    if (rounds < 1) {
        std::fprintf(stderr, "usage: %s ROUNDS\n", argv[0]);
        return 2;
    }
    heap = new AllocatorHandle<AllocatorT>();
    AllocatorT *pointer = heap->device_pointer();
    CUDA_CALL(cudaMemcpyToSymbol(device_allocator, &pointer, sizeof pointer));
    std::vector<int> order(OBJECTS);
    std::iota(order.begin(), order.end(), 0);
    std::shuffle(order.begin(), order.end(), std::mt19937(42));
    Left **left;
    Right **right;
    int *partner;
    CUDA_CALL(cudaMalloc(&left, sizeof *left * OBJECTS));
    CUDA_CALL(cudaMalloc(&right, sizeof *right * OBJECTS));
    CUDA_CALL(cudaMalloc(&partner, sizeof *partner * OBJECTS));
    CUDA_CALL(cudaMemcpy(partner, order.data(), sizeof *partner * OBJECTS, cudaMemcpyHostToDevice));
    unsigned long long broken = 0, lost = 0, live = 0;
    for (int i = 0; i <= rounds; i++) { /* the first is a warm-up */
        create<<<512, 512>>>(left, right);
        pair_up<<<512, 512>>>(left, right, partner);
        CUDA_CALL(cudaDeviceSynchronize());
        heap->parallel_do<Right, &Right::thin>();
        live = look(&broken);
        float ms = peers::time_of([] { heap->parallel_defrag<Right>(); });
        unsigned long long now = look(&broken);
        lost += live > now ? live - now : now - live;
        if (i) std::printf("sample time_ms ms %.9g\n", ms);
        heap->parallel_do<Left, &Left::die>();
        heap->parallel_do<Right, &Right::die>();
        CUDA_CALL(cudaDeviceSynchronize());
    }
    if (broken || lost || !live)
        std::printf("check failed %llu pairs broken, %llu objects lost or too many, %llu live\n", broken, lost, live);
    else
        std::printf("check ok %llu of %d objects live, all pairs refer to each other\n", live, OBJECTS);
    return 0;
}
