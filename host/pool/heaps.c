/* What a heap sees of the pool that its buffer is from.
 *
 * Read first: pool.h; clumpi_buffer_source in core/core.h.
 */
#include "pool/pool.h"

/* References are places in the buffer, so the buffer could move. It does not, since the user's
 * kernels may have it as an argument. */
static clump_status take_for_heap(clumpi_buffer_source *source, uint64_t bytes, void *owner,
                                  uint64_t *number, cl_mem *buffer, clump_error *error) {
    clump_pool *pool = (clump_pool *)source;
    clump_allocation_desc desc = {
        .size = sizeof desc, .bytes = bytes, .name = "heap", .user_data = owner};
    clump_allocation allocation = 0;
    clump_status status = clumpi_allocate_for(pool, &desc, CLUMPI_OF_HEAP, &allocation, NULL);
    if (!status) status = clump_pool_get_buffer(pool, allocation, buffer);
    if (status) {
        clump_pool_get_error(pool, error);
        if (allocation) source->give_back(source, allocation);
    }
    *number = allocation;
    return status;
}

/* A region that is still mapped is the user's to free then. */
static void give_back_for_heap(clumpi_buffer_source *source, uint64_t number) {
    clump_pool *p = clumpi_pool_enter((clump_pool *)source);
    clumpi_record *r = clumpi_record_at(p, (uint32_t)number);
    r->holder = CLUMPI_OF_USER;
    r->pins = 0;
    p->heaps--;
    int is_last = p->is_destroyed && !p->heaps;
    clumpi_record_free(p, (uint32_t)number);
    clumpi_pool_leave(p);
    if (is_last) clumpi_pool_end(p);
}

static void set_owner_for_heap(clumpi_buffer_source *source, uint64_t number, void *owner) {
    clump_pool *p = clumpi_pool_enter((clump_pool *)source);
    clumpi_record_at(p, (uint32_t)number)->user_data = owner;
    clumpi_pool_leave(p);
}

clumpi_buffer_source clumpi_source_for_heaps(clump_context *c) {
    return (clumpi_buffer_source){c, take_for_heap, give_back_for_heap, set_owner_for_heap};
}
