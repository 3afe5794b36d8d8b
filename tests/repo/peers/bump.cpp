/* A peer for the test `peers`: ranges one after the other, never used again. OVERLAP=1: each begins
 * in the one before it.
 *
 * Read first: bench/peers/trace.hpp.
 */
#include "bench/peers/trace.hpp"

struct bump {
    std::vector<uint64_t> begins;
    uint64_t end = 0;

    explicit bump(size_t ids) : begins(ids) {
    }
    bool alloc(size_t id, uint64_t bytes) {
        uint64_t units = (bytes + peers::GRANULARITY - 1) / peers::GRANULARITY;
        begins[id] = end - (OVERLAP && end ? peers::GRANULARITY : 0);
        end += units * peers::GRANULARITY;
        return true;
    }
    void free(size_t) {
    }
    uint64_t offset(size_t id) const {
        return begins[id];
    }
};

int main(int argc, char **argv) {
    return peers::replay<bump>(argc, argv);
}
