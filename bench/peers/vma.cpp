/* The virtual block of VulkanMemoryAllocator, for trace.hpp. Compile with -DMIN_TIME=1 for its
 * quickest strategy.
 *
 * Read first: trace.hpp.
 */
#define VMA_IMPLEMENTATION
#define VMA_STATIC_VULKAN_FUNCTIONS 0
#define VMA_DYNAMIC_VULKAN_FUNCTIONS 0
#include <vk_mem_alloc.h>

#include "trace.hpp"

struct vma_block {
    struct range {
        VmaVirtualAllocation handle;
        VkDeviceSize offset;
    };
    VmaVirtualBlock block = nullptr;
    std::vector<range> live;

    explicit vma_block(size_t ids) : live(ids) {
        VmaVirtualBlockCreateInfo info = {};
        info.size = peers::SPACE;
        if (vmaCreateVirtualBlock(&info, &block) != VK_SUCCESS) std::abort();
    }
    ~vma_block() {
        vmaClearVirtualBlock(block);
        vmaDestroyVirtualBlock(block);
    }
    bool alloc(size_t id, uint64_t bytes) {
        VmaVirtualAllocationCreateInfo info = {};
        info.size = bytes;
        info.alignment = peers::GRANULARITY;
        info.flags = MIN_TIME ? VMA_VIRTUAL_ALLOCATION_CREATE_STRATEGY_MIN_TIME_BIT : 0;
        return vmaVirtualAllocate(block, &info, &live[id].handle, &live[id].offset) == VK_SUCCESS;
    }
    void free(size_t id) {
        vmaVirtualFree(block, live[id].handle);
    }
    uint64_t offset(size_t id) const {
        return live[id].offset;
    }
};

int main(int argc, char **argv) {
    return peers::replay<vma_block>(argc, argv);
}
