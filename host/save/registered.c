/* Registered buffers in their order (registered.h). Read first: registered.h. */
#include "save/registered.h"

clump_status clumpi_registered_list(clump_heap *heap, const clump_refs ***list, uint32_t *count) {
    clump_context *c = clumpi_heap_context(heap);
    const clump_refs *handles = clumpi_handles_refs(heap);
    *list = NULL;
    *count = 0;
    for (const clump_refs *r = clumpi_refs_first(heap); r; r = r->next) *count += r != handles;
    if (!*count) return CLUMP_OK;
    *list = clumpi_alloc(&c->allocator, *count * sizeof **list);
    if (!*list)
        return clumpi_fail(&c->error, CLUMP_ERR_HOST_MEMORY,
                           "no host memory for registered references");
    uint32_t at = *count; /* the newest is the first */
    for (const clump_refs *r = clumpi_refs_first(heap); r; r = r->next)
        if (r != handles) (*list)[--at] = r;
    return CLUMP_OK;
}
