/* References outside a heap: registered buffers, and handles, as other parts see them.
 *
 * Invariant: what moves or frees objects changes all references that are registered, too.
 *
 * Read first: access.h. Implementation: refs.c.
 */
#ifndef CLUMPI_REFS_H
#define CLUMPI_REFS_H

#include "clump/refs.h"
#include "heap/access.h"

/* A registered buffer of references (refs.c). */
struct clump_refs {
    clump_context *context;
    clump_heap *heap; /* NULL: it was destroyed */
    clump_refs *next; /* of the heap, or of those whose heaps were destroyed */
    cl_mem buffer;    /* retained */
    uint64_t offset, count;
    cl_mem counted; /* retained, or NULL */
    uint64_t counted_at;
    uint32_t stride;
    int null_dangling, weak;
};

/* All registered buffers, the newest first, that of the handles among them: holds until one is
 * registered or ends. */
clump_refs *clumpi_refs_first(const clump_heap *heap);

/* Handles as a saved heap has them. How many numbers were given out, and how many of them are in
 * use; whether one is; the buffer that has their references, NULL if there is none. */
uint32_t clumpi_handles_used(const clump_heap *heap);
uint32_t clumpi_handles_live(const clump_heap *heap);
int clumpi_handle_is_live(const clump_heap *heap, clump_handle handle);
const clump_refs *clumpi_handles_refs(const clump_heap *heap);

/* Of a heap without handles: `used` numbers, of which `refs` has the references, and `live`
 * which are in use. */
clump_status clumpi_handles_restore(clump_heap *heap, uint32_t used, const clump_ref *refs,
                                    const uint8_t *live);
/* Give all of them up. */
void clumpi_handles_clear(clump_heap *heap);

/* For a copy of the heap on the device: room for as many handles, which may block. Then the
 * handles, by a command on the queue of the heap, which does not. */
clump_status clumpi_handles_make_room(const clump_heap *heap, clump_heap *copy);
clump_status clumpi_handles_copy(const clump_heap *heap, clump_heap *copy);

/* Of a heap that watches its handles, nothing for others: null the handles of freed objects,
 * before objects move or are marked; and watch the objects where they are now, after they moved. */
clump_status clumpi_handles_settle(clump_heap *heap);
clump_status clumpi_handles_watch(clump_heap *heap);
/* Of a heap that watches its handles: the bits of those of `heap`, whose references lead into
 * `next`, in `next`. */
clump_status clumpi_handles_watch_in(const clump_heap *heap, clump_heap *next);

#endif
