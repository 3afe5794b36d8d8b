/* References outside the heap: registered buffers, and the handles of the host, which are one more
 * such buffer that grows.
 *
 * Invariant: heap->refs lists all registered buffers, that of the handles included; each retains
 * its cl_mem. A handle is its place in the buffer, counted from 1.
 *
 * Read first: core/core.h. compact.c keeps them right.
 */
#include <string.h>

#include "heap/heap.h"

#define HANDLES_FIRST 64u /* room in the first buffer of handles */

struct clumpi_handles {
    clump_refs *refs;
    uint32_t room, used; /* places of the buffer; those given out so far, free ones included */
    uint32_t *free;      /* room: places given back */
    uint32_t free_count;
    uint8_t *live; /* room: 1 for a handle in use */
};

static clump_status check_counted(clump_context *c, const clump_refs_desc *d) {
    size_t bytes = 0;
    clump_status status = clumpi_buffer_check(c, d->counted, "buffer of a count", &bytes);
    if (status) return status;
    if (d->counted_at % 4 || bytes < 4 || d->counted_at > bytes - 4)
        return clumpi_fail(&c->error, CLUMP_ERR_USAGE,
                           "a count of references is at byte %llu, but must be at a multiple of 4 "
                           "and leave 4 bytes in its buffer of %zu",
                           (unsigned long long)d->counted_at, bytes);
    return CLUMP_OK;
}

static clump_status check_refs_desc(clump_context *c, const clump_refs_desc *d, uint32_t stride) {
    if (!d->buffer || !d->count)
        return clumpi_fail(&c->error, CLUMP_ERR_USAGE,
                           "clump_refs_create needs a buffer and at least one reference");
    if (d->offset % 4 || stride % 4)
        return clumpi_fail(&c->error, CLUMP_ERR_USAGE,
                           "offset %llu and stride %u of references are not both multiples of 4",
                           (unsigned long long)d->offset, stride);
    size_t bytes = 0;
    clump_status status = clumpi_buffer_check(c, d->buffer, "buffer of references", &bytes);
    if (status) return status;
    uint64_t room = bytes >= 4 && d->offset <= bytes - 4 ? (bytes - 4 - d->offset) / stride + 1 : 0;
    if (d->count > room)
        return clumpi_fail(&c->error, CLUMP_ERR_USAGE,
                           "%llu references from byte %llu on, %u bytes apart, do not fit in a "
                           "buffer of %zu bytes. At most %llu do",
                           (unsigned long long)d->count, (unsigned long long)d->offset, stride,
                           bytes, (unsigned long long)room);
    return d->counted ? check_counted(c, d) : CLUMP_OK;
}

/* Registered references whose heaps were destroyed: of a context. */
typedef struct left_refs {
    clumpi_attachment base;
    clump_refs *first;
} left_refs;

static const char left_key;

static void release_left(clumpi_attachment *base, clump_context *c) {
    left_refs *left = (left_refs *)base;
    for (clump_refs *r; (r = left->first) != NULL;) {
        left->first = r->next;
        clumpi_free(&c->allocator, r);
    }
    clumpi_free(&c->allocator, left);
}

/* Made with the first registration, so that the end of a heap needs no memory. */
static left_refs *left_of(clump_context *c) {
    return clumpi_attachment_keep(&c->attachments, c, &left_key, sizeof(left_refs), release_left);
}

static clump_status make_refs(clump_heap *heap, const clump_refs_desc *desc, clump_refs **refs) {
    clump_context *c = heap->context;
    if (!refs)
        return clumpi_fail(&c->error, CLUMP_ERR_USAGE,
                           "clump_refs_create needs a description and a pointer for the result");
    uint32_t stride = desc->stride ? desc->stride : sizeof(clump_ref);
    clump_status status = check_refs_desc(c, desc, stride);
    if (status) return status;
    clump_refs *r = left_of(c) ? clumpi_alloc(&c->allocator, sizeof *r) : NULL;
    if (!r)
        return clumpi_fail(&c->error, CLUMP_ERR_HOST_MEMORY,
                           "no host memory for registered references");
    cl_int code = c->cl.RetainMemObject(desc->buffer);
    if (!code && desc->counted) {
        code = c->cl.RetainMemObject(desc->counted);
        if (code) c->cl.ReleaseMemObject(desc->buffer);
    }
    if (code) {
        clumpi_free(&c->allocator, r);
        return clumpi_fail_cl(&c->error, "clRetainMemObject", code, "buffer of references");
    }
    *r = (clump_refs){.context = c,
                      .heap = heap,
                      .next = heap->refs,
                      .buffer = desc->buffer,
                      .offset = desc->offset,
                      .count = desc->count,
                      .counted = desc->counted,
                      .counted_at = desc->counted_at,
                      .stride = stride,
                      .null_dangling = desc->null_dangling,
                      .weak = desc->weak};
    heap->refs = *refs = r;
    return CLUMP_OK;
}

clump_status clump_refs_create(clump_heap *heap, const clump_refs_desc *given, clump_refs **refs,
                               clump_error *error) {
    clump_refs_desc desc;
    if (refs) *refs = NULL;
    clump_status status =
        heap ? CLUMPI_TAKE(clump_refs_desc, &desc, given, &heap->context->error) : CLUMP_ERR_USAGE;
    if (!status) status = make_refs(heap, &desc, refs);
    return clumpi_tell(heap ? &heap->context->error : NULL, status, error);
}

static void take_out(clump_refs **list, clump_refs *refs) {
    while (*list != refs) list = &(*list)->next;
    *list = refs->next;
}

/* The heap does not look at them any more. */
static void let_go(clump_refs *refs) {
    clump_context *c = refs->context;
    take_out(&refs->heap->refs, refs);
    refs->heap = NULL;
    c->cl.ReleaseMemObject(refs->buffer);
    if (refs->counted) c->cl.ReleaseMemObject(refs->counted);
}

void clump_refs_destroy(clump_refs *refs) {
    if (!refs) return;
    if (refs->heap) {
        /* Objects may have changed their class since the last call, and the buffer is not reached
         * later. */
        if (refs->heap->unsettled) (void)clumpi_heap_enter(refs->heap);
        let_go(refs);
    } else {
        take_out(&left_of(refs->context)->first, refs);
    }
    clumpi_free(&refs->context->allocator, refs);
}

/* ---- Handles --------------------------------------------------------------------------------- */

static void free_handles(clump_heap *heap, clumpi_handles *h) {
    const clump_allocator *a = &heap->context->allocator;
    if (!h) return;
    clump_refs_destroy(h->refs);
    clumpi_free(a, h->free);
    clumpi_free(a, h->live);
    clumpi_free(a, h);
}

void clumpi_handles_clear(clump_heap *heap) {
    free_handles(heap, heap->handles);
    heap->handles = NULL;
}

void clumpi_refs_clear(clump_heap *heap) {
    clumpi_handles_clear(heap);
    for (clump_refs *r; (r = heap->refs) != NULL;) {
        left_refs *left = left_of(heap->context);
        let_go(r);
        r->next = left->first;
        left->first = r;
    }
}

/* A buffer for h->room handles, of which the first have these references. */
static clump_status make_buffer(clump_heap *heap, clumpi_handles *h, const clump_ref *refs) {
    clump_context *c = heap->context;
    const uint64_t bytes = (uint64_t)h->room * sizeof *refs,
                   used = (uint64_t)h->used * sizeof *refs;
    cl_mem buffer;
    clump_status status = clumpi_buffer_create(c, bytes, "handles", &buffer);
    if (!status) status = clumpi_write(c, buffer, 0, used, refs);
    if (!status) status = clumpi_clear(c, buffer, used, bytes - used);
    if (!status) status = clumpi_finish(c);
    if (!status) {
        const clump_refs_desc desc = {.buffer = buffer, .count = h->room, .null_dangling = 1};
        status = make_refs(heap, &desc, &h->refs);
    }
    clumpi_buffer_release(c, &buffer);
    return status;
}

/* `used` handles with these references, and room for as many as `room`. *made is NULL on
 * failure. */
static clump_status make_handles(clump_heap *heap, uint32_t room, uint32_t used,
                                 const clump_ref *refs, clumpi_handles **made) {
    clump_context *c = heap->context;
    clumpi_handles *h = clumpi_alloc(&c->allocator, sizeof *h);
    *made = NULL;
    if (!h) return clumpi_fail(&c->error, CLUMP_ERR_HOST_MEMORY, "no host memory for handles");
    h->room = room;
    h->used = used;
    h->free = clumpi_alloc(&c->allocator, h->room * sizeof *h->free);
    h->live = clumpi_alloc(&c->allocator, h->room);
    clump_status status = CLUMP_OK;
    if (!h->free || !h->live)
        status =
            clumpi_fail(&c->error, CLUMP_ERR_HOST_MEMORY, "no host memory for %u handles", h->room);
    if (!status) status = make_buffer(heap, h, refs);
    if (status) {
        free_handles(heap, h);
        return status;
    }
    *made = h;
    return CLUMP_OK;
}

/* Twice as many, or the first. heap->handles is unchanged on failure. */
static clump_status grow_handles(clump_heap *heap) {
    clump_context *c = heap->context;
    const clumpi_handles *old = heap->handles;
    const uint32_t used = old ? old->used : 0; /* none is free, else nothing had to grow */
    clumpi_handles *h;
    clump_ref *refs = clumpi_alloc(&c->allocator, used * sizeof *refs);
    if (!refs)
        return clumpi_fail(&c->error, CLUMP_ERR_HOST_MEMORY, "no host memory for %u handles", used);
    clump_status status =
        old ? clumpi_read(c, old->refs->buffer, 0, used * sizeof *refs, refs) : CLUMP_OK;
    if (!status) status = make_handles(heap, old ? 2 * old->room : HANDLES_FIRST, used, refs, &h);
    clumpi_free(&c->allocator, refs);
    if (status) return status;
    if (old) memcpy(h->live, old->live, used);
    free_handles(heap, heap->handles);
    heap->handles = h;
    return CLUMP_OK;
}

clump_refs *clumpi_refs_first(const clump_heap *heap) {
    return heap->refs;
}

uint32_t clumpi_handles_used(const clump_heap *heap) {
    return heap->handles ? heap->handles->used : 0;
}

uint32_t clumpi_handles_live(const clump_heap *heap) {
    return heap->handles ? heap->handles->used - heap->handles->free_count : 0;
}

int clumpi_handle_is_live(const clump_heap *heap, clump_handle handle) {
    return heap->handles->live[handle - 1];
}

const clump_refs *clumpi_handles_refs(const clump_heap *heap) {
    return heap->handles ? heap->handles->refs : NULL;
}

clump_status clumpi_handles_restore(clump_heap *heap, uint32_t used, const clump_ref *refs,
                                    const uint8_t *live) {
    clumpi_handles *h;
    uint32_t room = HANDLES_FIRST;
    while (room < used && room < UINT32_C(1) << 31) room *= 2;
    clump_status status = make_handles(heap, room < used ? used : room, used, refs, &h);
    if (status) return status;
    memcpy(h->live, live, used);
    for (uint32_t i = used; i-- > 0;)
        if (!live[i]) h->free[h->free_count++] = i; /* the lowest are given out first */
    free_handles(heap, heap->handles);
    heap->handles = h;
    return CLUMP_OK;
}

clump_status clumpi_handles_make_room(const clump_heap *heap, clump_heap *copy) {
    const clumpi_handles *h = heap->handles;
    clumpi_handles *made;
    if (!h || (copy->handles && copy->handles->room >= h->room)) return CLUMP_OK;
    clump_status status = make_handles(copy, h->room, 0, NULL, &made);
    if (status) return status;
    free_handles(copy, copy->handles);
    copy->handles = made;
    return CLUMP_OK;
}

clump_status clumpi_handles_copy(const clump_heap *heap, clump_heap *copy) {
    const clumpi_handles *from = heap->handles;
    clumpi_handles *to = copy->handles;
    if (!from) clumpi_handles_clear(copy);
    if (!from) return CLUMP_OK;
    to->used = from->used;
    to->free_count = from->free_count;
    memcpy(to->free, from->free, from->free_count * sizeof *to->free);
    memcpy(to->live, from->live, from->used);
    return clumpi_copy(heap->context, from->refs->buffer, 0, to->refs->buffer, 0,
                       from->room * sizeof(clump_ref));
}

/* ---- Watching the objects of handles ----
 * A bit per slot is set when a handle is made of its object, and cleared when the object is freed.
 * A new object in the slot has none, so a handle without a bit names nobody. Where a bit is to be
 * set that was clear, older handles of the slot are nulled first. */

static clump_status run_watch(clump_heap *heap, clumpi_kernel_id id) {
    const clumpi_launch_sizes *sizes = &heap->context->sizes;
    const clumpi_handles *h = heap->handles;
    clumpi_arg args[] = {{sizeof h->refs->buffer, &h->refs->buffer}, {sizeof h->used, &h->used}};
    return clumpi_run_on_heap(heap, id, sizes->do_all_global, sizes->do_all_local, args, 2, NULL);
}

clump_status clumpi_handles_settle(clump_heap *heap) {
    if (!heap->geometry.header.at_watch || !heap->handles) return CLUMP_OK;
    return run_watch(heap, CLUMPI_ASK_KERNEL(watch_settle));
}

clump_status clumpi_handles_watch(clump_heap *heap) {
    const clumpi_header *h = &heap->geometry.header;
    if (!h->at_watch || !heap->handles) return CLUMP_OK;
    clump_status status =
        clumpi_clear(heap->context, heap->info.buffer, (uint64_t)h->at_watch * CLUMPI_UNIT,
                     (uint64_t)h->block_end * h->block_granules * 8);
    return status ? status : run_watch(heap, CLUMPI_ASK_KERNEL(watch_set));
}

clump_status clumpi_handles_watch_in(const clump_heap *heap, clump_heap *next) {
    next->handles = heap->handles;
    clump_status status = clumpi_handles_watch(next);
    next->handles = NULL;
    return status;
}

/* The word of a slot, and its bit. */
static clump_status read_watch(clump_heap *heap, clump_ref ref, uint64_t *at, clumpi_u32 *word,
                               clumpi_u32 *bit) {
    *at = (uint64_t)heap->geometry.header.at_watch * CLUMPI_UNIT + (uint64_t)(ref >> 6) * 8 +
          (ref & 32) / 8;
    *bit = UINT32_C(1) << (ref & 31);
    return clumpi_read(heap->context, heap->info.buffer, *at, sizeof *word, word);
}

static clump_status watch(clump_heap *heap, clump_ref ref) {
    uint64_t at;
    clumpi_u32 word = 0, bit;
    if (!heap->geometry.header.at_watch) return CLUMP_OK;
    clump_status status = read_watch(heap, ref, &at, &word, &bit);
    if (status || word & bit) return status;
    status = clumpi_handles_settle(heap);
    word |= bit;
    return status ? status : clumpi_write(heap->context, heap->info.buffer, at, sizeof word, &word);
}

/* Null if the object of a handle was freed. */
static clump_status look_if_watched(clump_heap *heap, clump_handle handle, clump_ref *ref) {
    uint64_t at;
    clumpi_u32 word = 0, bit;
    if (!heap->geometry.header.at_watch || !*ref) return CLUMP_OK;
    clump_status status = read_watch(heap, *ref, &at, &word, &bit);
    if (status || word & bit) return status;
    *ref = 0;
    return clumpi_write(heap->context, heap->handles->refs->buffer,
                        (uint64_t)(handle - 1) * sizeof *ref, sizeof *ref, ref);
}

clump_status clump_heap_create_handle(clump_heap *heap, clump_ref ref, clump_handle *handle) {
    if (handle) *handle = 0;
    if (!heap) return CLUMP_ERR_USAGE;
    clump_context *c = heap->context;
    if (!handle)
        return clumpi_fail(&c->error, CLUMP_ERR_USAGE,
                           "clump_heap_create_handle needs a pointer for the handle");
    clump_status status = clumpi_heap_enter(heap);
    if (!status) status = clumpi_ref_check(heap, ref, 1, clumpi_object_classes(heap));
    clumpi_handles *h = heap->handles;
    if (!status && (!h || (!h->free_count && h->used == h->room))) status = grow_handles(heap);
    if (!status) status = watch(heap, ref);
    if (status) return status;
    h = heap->handles;
    uint32_t place = h->free_count ? h->free[h->free_count - 1] : h->used;
    status = clumpi_write(c, h->refs->buffer, (uint64_t)place * sizeof ref, sizeof ref, &ref);
    if (status) return status;
    if (h->free_count)
        h->free_count--;
    else
        h->used++;
    h->live[place] = 1;
    *handle = place + 1;
    return CLUMP_OK;
}

static clump_status check_handle(clump_heap *heap, clump_handle handle) {
    const clumpi_handles *h = heap->handles;
    if (h && handle && handle <= h->used && h->live[handle - 1]) return CLUMP_OK;
    return clumpi_fail(&heap->context->error, CLUMP_ERR_USAGE, "%u is not a handle of this heap",
                       handle);
}

clump_status clump_heap_read_handle(clump_heap *heap, clump_handle handle, clump_ref *ref) {
    if (ref) *ref = 0;
    if (!heap) return CLUMP_ERR_USAGE;
    clump_context *c = heap->context;
    if (!ref)
        return clumpi_fail(&c->error, CLUMP_ERR_USAGE,
                           "clump_heap_read_handle needs a pointer for the reference");
    clump_status status = check_handle(heap, handle);
    if (status) return status;
    status = clumpi_heap_enter(heap);
    if (!status)
        status = clumpi_read(c, heap->handles->refs->buffer, (uint64_t)(handle - 1) * sizeof *ref,
                             sizeof *ref, ref);
    if (!status) status = look_if_watched(heap, handle, ref);
    if (status) *ref = 0;
    return status;
}

clump_status clump_heap_destroy_handle(clump_heap *heap, clump_handle handle) {
    if (!heap) return CLUMP_ERR_USAGE;
    clump_status status = check_handle(heap, handle);
    if (status) return status;
    clumpi_handles *h = heap->handles;
    const clump_ref none = 0;
    status = clumpi_heap_enter(heap);
    if (!status)
        status = clumpi_write(heap->context, h->refs->buffer, (uint64_t)(handle - 1) * sizeof none,
                              sizeof none, &none);
    if (status) return status;
    h->live[handle - 1] = 0;
    h->free[h->free_count++] = handle - 1;
    return CLUMP_OK;
}
