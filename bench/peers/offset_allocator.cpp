/* OffsetAllocator, for trace.hpp. Its sizes have 32 bits, so they are counted in units of the
 * granularity.
 *
 * Read first: trace.hpp.
 */
#include <offsetAllocator.hpp>

#include "trace.hpp"

struct offset_ranges {
    OffsetAllocator::Allocator allocator;
    std::vector<OffsetAllocator::Allocation> live;

    /* A free range between each two live ones needs a node, too. */
    explicit offset_ranges(size_t ids)
        : allocator((OffsetAllocator::uint32)(peers::SPACE / peers::GRANULARITY),
                    (OffsetAllocator::uint32)(2 * ids + 16)),
          live(ids) {
    }
    bool alloc(size_t id, uint64_t bytes) {
        uint64_t units = (bytes + peers::GRANULARITY - 1) / peers::GRANULARITY;
        live[id] = allocator.allocate((OffsetAllocator::uint32)units);
        return live[id].offset != OffsetAllocator::Allocation::NO_SPACE;
    }
    void free(size_t id) {
        allocator.free(live[id]);
    }
    uint64_t offset(size_t id) const {
        return (uint64_t)live[id].offset * peers::GRANULARITY;
    }
};

int main(int argc, char **argv) {
    return peers::replay<offset_ranges>(argc, argv);
}
