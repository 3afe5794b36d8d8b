/* A trace of the pool (bench/pool/trace.h) replayed on a peer's allocator of ranges: the work of
 * `clump-bench run pool-trace --set file=TRACE --set target=virtual`, timed in the same way: in
 * runs of calls of one kind. After each run of allocations, outside the time, every new range is
 * compared with all live ones.
 *
 *   replay<Peer>(argc, argv)      PROGRAM TRACE ROUNDS
 *
 * A Peer is made for a number of live ranges, and has
 *   bool alloc(size_t id, uint64_t bytes)    with addresses that are multiples of GRANULARITY
 *   void free(size_t id)
 *   uint64_t offset(size_t id)
 *
 * Read first: README.md, which says what is printed.
 */
#ifndef PEERS_TRACE_HPP
#define PEERS_TRACE_HPP

#include <chrono>
#include <cinttypes>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <map>
#include <sstream>
#include <string>
#include <unordered_map>
#include <vector>

namespace peers {

constexpr uint64_t GRANULARITY = 256, SPACE = UINT64_C(1) << 39; /* of addresses */

struct op {
    char kind; /* a, f; other lines end a run of calls and ask the allocator for nothing */
    size_t id;
    uint64_t bytes;
};

struct trace {
    std::vector<op> ops;
    size_t ids = 0, allocs = 0;
};

inline bool read_trace(const char *path, trace *t) {
    std::ifstream file(path);
    if (!file) {
        std::fprintf(stderr, "cannot read %s\n", path);
        return false;
    }
    std::unordered_map<std::string, size_t> live;
    std::vector<size_t> unused;
    std::string line;
    for (size_t number = 1; std::getline(file, line); number++) {
        std::istringstream words(line);
        std::string kind, id;
        uint64_t bytes = 0;
        words >> kind >> id;
        if (kind.empty() || kind[0] == '#') continue;
        bool ok = kind == "e" || kind == "m";
        op o{kind[0], 0, 0};
        if (kind == "a" && words >> bytes && bytes && !live.count(id)) {
            if (unused.empty()) unused.push_back(t->ids++);
            o.id = live[id] = unused.back();
            o.bytes = bytes;
            unused.pop_back();
            t->allocs++;
            ok = true;
        } else if (kind == "f" && live.count(id)) {
            o.id = live[id];
            unused.push_back(o.id);
            live.erase(id);
            ok = true;
        }
        if (!ok) {
            std::fprintf(stderr, "%s, line %zu: no call of a trace: %s\n", path, number,
                         line.c_str());
            return false;
        }
        t->ops.push_back(o);
    }
    return true;
}

/* The live ranges by address. */
struct ranges {
    std::map<uint64_t, uint64_t> live; /* begin: end */
    std::vector<uint64_t> begins;

    bool add(size_t id, uint64_t begin, uint64_t bytes) {
        auto next = live.lower_bound(begin);
        if (begin % GRANULARITY || begin + bytes > SPACE) return false;
        if (next != live.end() && next->first < begin + bytes) return false;
        if (next != live.begin() && std::prev(next)->second > begin) return false;
        live[begin] = begin + bytes;
        begins[id] = begin;
        return true;
    }
    void remove(size_t id) {
        live.erase(begins[id]);
    }
};

template <typename Peer>
bool replay_once(const trace &t, bool is_measured) {
    using clock = std::chrono::steady_clock;
    double alloc_ns = 0, free_ns = 0;
    size_t frees = 0;
    Peer peer(t.ids);
    ranges seen{{}, std::vector<uint64_t>(t.ids)};
    for (size_t begin = 0, end; begin < t.ops.size(); begin = end) {
        char kind = t.ops[begin].kind;
        bool failed = false;
        for (end = begin + 1; end < t.ops.size() && t.ops[end].kind == kind; end++) {
        }
        auto start = clock::now();
        if (kind == 'a')
            for (size_t i = begin; i < end; i++) failed |= !peer.alloc(t.ops[i].id, t.ops[i].bytes);
        if (kind == 'f')
            for (size_t i = begin; i < end; i++) peer.free(t.ops[i].id);
        double ns = std::chrono::duration<double, std::nano>(clock::now() - start).count();
        if (failed) {
            std::printf("check failed a request was refused in call %zu or later\n", begin);
            return false;
        }
        if (kind == 'a') alloc_ns += ns;
        if (kind == 'f') free_ns += ns, frees += end - begin;
        for (size_t i = begin; i < end; i++) {
            const op &o = t.ops[i];
            if (kind == 'f') seen.remove(o.id);
            if (kind == 'a' && !seen.add(o.id, peer.offset(o.id), o.bytes)) {
                std::printf("check failed call %zu: %" PRIu64 " bytes at %" PRIu64
                            " are another's too, or outside\n",
                            i, o.bytes, peer.offset(o.id));
                return false;
            }
        }
    }
    if (is_measured) {
        std::printf("sample alloc_ns ns %.9g\n", alloc_ns / (double)t.allocs);
        if (frees) std::printf("sample free_ns ns %.9g\n", free_ns / (double)frees);
    }
    return true;
}

template <typename Peer>
int replay(int argc, char **argv) {
    trace t;
    if (argc != 3 || !read_trace(argv[1], &t)) {
        std::fprintf(stderr, "usage: %s TRACE ROUNDS\n", argv[0]);
        return 2;
    }
    int rounds = std::atoi(argv[2]);
    for (int i = 0; i <= rounds; i++)
        if (!replay_once<Peer>(t, i > 0)) return 1; /* the first round is a warm-up */
    std::printf("check ok %zu allocations, no two live ones share a byte\n", t.allocs);
    return 0;
}

}  // namespace peers

#endif
