/* The work of `clump-bench run alloc-mixed` for CUDA allocators of bytes: objects of several sizes are made and freed
 * in a heap that stays as full as it is. Steps, dice and checks are those of bench/micro/mixed.c and
 * population.cl.
 *
 *   mixed<Peer>(argc, argv)      PROGRAM together|apart OBJECTS ROUNDS HEAP_MB SIZE...
 *
 * together: an entry of the table dies or is born in one kernel, as in Clump's benchmark. apart: all that die in one
 * kernel, then all that are born in another. A tenth of the objects dies in a step. Each sample is printed at once, so
 * that a run that does not end shows how far it came.
 *
 * Read first: scalability.cuh.
 */
#ifndef PEERS_MIXED_CUH
#define PEERS_MIXED_CUH

#include <cinttypes>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "scalability.cuh"

namespace peers {

enum { MIXED_SIZES_MAX = 4, MIXED_WARM = 20 };
constexpr double MIXED_TURNOVER = 0.1;

struct mixed_sizes {
    uint32_t count, bytes[MIXED_SIZES_MAX];
};

/* The hash of bench/harness/hash.clh. */
__device__ inline uint32_t dice_of(uint32_t number, uint32_t seed) {
    uint32_t h = number * 0x9e3779b1u ^ seed;
    h = (h ^ h >> 16) * 0x85ebca6bu;
    h = (h ^ h >> 13) * 0xc2b2ae35u;
    return h ^ h >> 16;
}

/* An object begins with its tag, which is its entry + 1, and ends with the complement. */
template <typename Peer>
__global__ void mixed_step(Peer peer, void **table, uint8_t *kinds, uint32_t entries, mixed_sizes sizes, uint32_t seed,
                           uint32_t die, bool is_born) {
    uint32_t entry = blockIdx.x * blockDim.x + threadIdx.x;
    if (entry >= entries) return;
    uint32_t dice = dice_of(entry, seed);
    void *object = table[entry];
    if (!object) {
        if (!is_born) return;
        uint32_t kind = dice_of(dice, seed) % sizes.count, bytes = sizes.bytes[kind];
        object = peer.make(entry + 1, bytes);
        table[entry] = object;
        if (!object) return;
        kinds[entry] = (uint8_t)kind;
        ((volatile uint32_t *)object)[bytes / 4 - 1] = ~(entry + 1);
    } else if (dice <= die && die) {
        peer.release(object);
        table[entry] = nullptr;
    }
}

struct mixed_tallies {
    unsigned long long live, made, freed, wrong;
};

template <typename Peer>
__global__ void mixed_verify(Peer peer, void **table, void **before, const uint8_t *kinds, uint32_t entries,
                             mixed_sizes sizes, mixed_tallies *tallies) {
    uint32_t entry = blockIdx.x * blockDim.x + threadIdx.x;
    if (entry >= entries) return;
    void *object = table[entry], *was = before[entry];
    before[entry] = object;
    if (was && !object) atomicAdd(&tallies->freed, 1ull);
    if (!object) return;
    if (!was) atomicAdd(&tallies->made, 1ull);
    atomicAdd(&tallies->live, 1ull);
    uint32_t bytes = sizes.bytes[kinds[entry]];
    if (peer.tag(object) != entry + 1 || ((volatile uint32_t *)object)[bytes / 4 - 1] != ~(entry + 1))
        atomicAdd(&tallies->wrong, 1ull);
}

template <typename Peer> struct mixed_table {
    Peer peer{};
    void **table = nullptr, **before = nullptr;
    uint8_t *kinds = nullptr;
    mixed_tallies *tallies = nullptr, now{};
    mixed_sizes sizes{};
    uint32_t entries = 0;

    static uint32_t blocks(uint32_t items) { return (items + 255) / 256; }

    void create(uint32_t count) {
        entries = count;
        CUDA_CALL(cudaMalloc(&table, sizeof *table * entries));
        CUDA_CALL(cudaMalloc(&before, sizeof *before * entries));
        CUDA_CALL(cudaMalloc(&kinds, entries));
        CUDA_CALL(cudaMalloc(&tallies, sizeof *tallies));
        CUDA_CALL(cudaMemset(table, 0, sizeof *table * entries));
        CUDA_CALL(cudaMemset(before, 0, sizeof *before * entries));
    }
    float step(uint32_t count, uint32_t seed, uint32_t die, bool is_born) {
        return time_of([&] {
            mixed_step<<<blocks(count), 256>>>(peer, table, kinds, count, sizes, seed, die, is_born);
        });
    }
    /* Returns the number of wrong objects. */
    unsigned long long count() {
        CUDA_CALL(cudaMemset(tallies, 0, sizeof *tallies));
        mixed_verify<<<blocks(entries), 256>>>(peer, table, before, kinds, entries, sizes, tallies);
        CUDA_CALL(cudaMemcpy(&now, tallies, sizeof now, cudaMemcpyDeviceToHost));
        return now.wrong;
    }
};

inline void print_now(const char *metric, const char *unit, double value) {
    std::printf("sample %s %s %.9g\n", metric, unit, value);
    std::fflush(stdout);
}

template <typename Peer> int mixed(int argc, char **argv) {
    mixed_table<Peer> t;
    bool is_apart = argc > 1 && !std::strcmp(argv[1], "apart");
    if (argc < 6 || argc > 5 + MIXED_SIZES_MAX || !(is_apart || !std::strcmp(argv[1], "together"))) {
        std::fprintf(stderr, "usage: mixed together|apart OBJECTS ROUNDS HEAP_MB SIZE...\n");
        return 2;
    }
    uint32_t objects = (uint32_t)std::strtoul(argv[2], nullptr, 10);
    int rounds = std::atoi(argv[3]);
    uint32_t largest = 0;
    for (int i = 5; i < argc; i++) {
        uint32_t bytes = (uint32_t)std::atoi(argv[i]);
        t.sizes.bytes[t.sizes.count++] = bytes;
        largest = bytes > largest ? bytes : largest;
    }
    if (!t.peer.open(largest, std::strtoull(argv[4], nullptr, 10) << 20)) {
        std::fprintf(stderr, "this program makes no objects of %u bytes\n", largest);
        return 2;
    }
    CUDA_CALL(cudaDeviceSynchronize());
    t.create((uint32_t)(objects * (1 + MIXED_TURNOVER)));
    float fill_ms = t.step(objects, 1, 0, true);
    unsigned long long wrong = t.count(), nulls = objects - t.now.made;
    std::printf("note %llu of %u objects were made in %.3f ms\n", t.now.made, objects, fill_ms);
    std::fflush(stdout);
    uint32_t die = (uint32_t)(MIXED_TURNOVER * UINT32_MAX);
    for (int i = 0; i < MIXED_WARM + rounds; i++) {
        uint32_t seed = (uint32_t)i + 2;
        unsigned long long freed = 0, requests = t.entries - t.now.live;
        float ms = t.step(t.entries, seed, die, !is_apart);
        wrong += t.count();
        if (is_apart) {
            freed = t.now.freed;
            requests = t.entries - t.now.live;
            ms += t.step(t.entries, seed, 0, true);
            wrong += t.count();
        }
        freed += t.now.freed;
        nulls += requests - t.now.made;
        print_now(i < MIXED_WARM ? "warm_step_us" : "step_us", "us", ms * 1e3);
        if (i < MIXED_WARM) continue;
        print_now("rate", "G/s", (double)(t.now.made + freed) / ms * 1e-6);
        print_now("null_share", "share", requests ? (double)(requests - t.now.made) / (double)requests : 0);
    }
    if (wrong)
        std::printf("check failed %llu objects are not those of their entries\n", wrong);
    else
        std::printf("check ok %llu objects live at the end, each is its entry's own; %llu requests got null\n",
                    t.now.live, nulls);
    return 0;
}

template <typename Peer> int scalability_or_mixed(int argc, char **argv) {
    bool is_mixed = argc > 1 && !std::strcmp(argv[1], "mixed");
    return is_mixed ? mixed<Peer>(argc - 1, argv + 1) : scalability<Peer>(argc, argv);
}

} // namespace peers

#endif
