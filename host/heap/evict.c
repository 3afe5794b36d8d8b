/* Evicting and fetching.
 *
 * Both end in one launch, evict_swap, before which nothing is changed that anybody can see.
 * Evicting reads the records of the blocks, and then vacant blocks get their frames. Fetching
 * writes the memory of the blocks into frames of free blocks, and then they change places.
 *
 * Invariant: as many blocks are away as the heap has more than frames. Of those that are evicted
 * there is a record, of the vacant ones none.
 *
 * Read first: heap.h, cl/heap/evict.cl.
 */
#include "clump/evict.h"

#include <stdlib.h>
#include <string.h>

#include "heap/heap.h"

static const char *const kernel_files[] = {
    "cl/core/layout.h",  "cl/core/prelude.clh", "cl/core/bitmap.clh", "cl/core/segments.clh",
    "cl/core/block.clh", "cl/core/scan.clh",    "cl/heap/evict.cl"};
static const char *const kernel_names[] = {CLUMPI_EVICT_KERNELS(CLUMPI_KERNEL_NAME)};
const clumpi_library clumpi_evict_library = CLUMPI_LIBRARY(NULL, NULL);

#define PIECE_BYTES (UINT64_C(32) << 20) /* of records that are copied at a time */

/* Records that left together, which go when all are back. */
typedef struct bundle {
    uint32_t users, pad[15];
    uint32_t words[];
} bundle;

/* What the host has of a block. */
typedef struct record {
    bundle *of;
    uint32_t *words; /* of it, as evict.cl lays them out; NULL: the block is not evicted */
    clumpi_u32 seen; /* state at the last turn */
    uint32_t age;
} record;

struct clumpi_eviction {
    record *records; /* of all blocks */
};

/* A block that becomes away, and one that gets its frame. */
typedef struct swap {
    clumpi_u32 gone, come;
} swap;

/* A call under way. */
typedef struct moving {
    clump_heap *heap;
    const char *call;
    clump_evict_desc desc;
    clump_class_info info;
    clumpi_u32 *states; /* of all blocks */
    swap *swaps;
    uint32_t count;
    bundle **bundles;  /* evict: records to be, a piece each */
    cl_mem buffers[3]; /* swaps, blocks, records */
    clump_evict_report report;
} moving;
enum { SWAPS, BLOCKS, RECORDS };

/* Words of a block; of bitmaps and of a state; and of a whole record, a multiple of 64 bytes. */
static uint64_t block_words(const clump_heap *heap) {
    return (uint64_t)heap->info.granule_bytes * heap->info.block_granules / 4;
}
static uint32_t head_words(const clump_heap *heap) {
    return 2 * heap->info.block_granules + 1;
}
static uint32_t record_words(const clump_heap *heap) {
    return (uint32_t)((block_words(heap) + head_words(heap) + 15) / 16 * 16);
}

/* Blocks of a piece, and pieces of a call. */
static uint32_t piece_blocks(const clump_heap *heap) {
    uint64_t bytes = record_words(heap) * UINT64_C(4), blocks = PIECE_BYTES / bytes;
    return (uint32_t)(blocks ? blocks : 1);
}
static uint32_t piece_count(const moving *m) {
    return m->count / piece_blocks(m->heap) + (m->count % piece_blocks(m->heap) != 0);
}

static clumpi_u32 state_of(const clump_heap *heap, const record *r) {
    return r->words[block_words(heap) + head_words(heap) - 1];
}

static void forget(clump_heap *heap, record *r) {
    if (--r->of->users == 0) clumpi_free(&heap->context->allocator, r->of);
    *r = (record){NULL, NULL, 0, 0};
}

static int is_away(const moving *m, uint32_t block) {
    return m->states[block] >> CLUMPI_CLASS_SHIFT == m->heap->geometry.header.class_count;
}

static clump_status no_memory(const moving *m) {
    return clumpi_fail(&m->heap->context->error, CLUMP_ERR_HOST_MEMORY, "%s: no host memory",
                       m->call);
}

/* ---- Which blocks ---------------------------------------------------------------------------- */

/* The states of all blocks; slots that are reserved are given back first. */
static clump_status read_states(moving *m) {
    clump_heap *heap = m->heap;
    const clumpi_header *h = &heap->geometry.header;
    m->states = clumpi_alloc(&heap->context->allocator, h->block_end * sizeof *m->states);
    if (!m->states) return no_memory(m);
    clump_status status = clumpi_unreserve(heap, NULL);
    return status
               ? status
               : clumpi_read(heap->context, heap->info.buffer, (uint64_t)h->at_states * CLUMPI_UNIT,
                             h->block_end * sizeof *m->states, m->states);
}

static clump_status open_call(moving *m, clump_heap *heap, const clump_evict_desc *desc,
                              clump_evict_report *report, const char *call) {
    clump_error *error = clumpi_heap_error(heap);
    clump_status status = CLUMPI_PLACE(clump_evict_report, report, error);
    if (!heap) return CLUMP_ERR_USAGE;
    *m = (moving){.heap = heap, .call = call};
    if (!status) status = CLUMPI_TAKE(clump_evict_desc, &m->desc, desc, error);
    if (!status) status = clumpi_heap_refuses(heap, CLUMPI_OP_EVICT, call);
    if (status) return status;
    if (m->desc.refs && m->desc.class_name)
        return clumpi_fail(error, CLUMP_ERR_USAGE, "%s: set only one of class_name and refs", call);
    if (!m->desc.refs && m->desc.ref_count)
        return clumpi_fail(error, CLUMP_ERR_USAGE, "%s: ref_count is %llu, but `refs` is NULL",
                           call, (unsigned long long)m->desc.ref_count);
    m->info = (clump_class_info){.id = 1, .last = clumpi_object_classes(heap)};
    if (m->desc.class_name) status = clumpi_find_class(heap, m->desc.class_name, call, &m->info);
    if (!status) status = clumpi_heap_enter(heap);
    return status ? status : read_states(m);
}

static void close_call(moving *m) {
    if (!m->heap) return;
    clump_context *c = m->heap->context;
    for (size_t i = 0; i < sizeof m->buffers / sizeof *m->buffers; i++)
        clumpi_buffer_release(c, &m->buffers[i]);
    for (uint32_t i = 0; m->bundles && i < piece_count(m); i++)
        clumpi_free(&c->allocator, m->bundles[i]);
    clumpi_free(&c->allocator, m->bundles);
    clumpi_free(&c->allocator, m->swaps);
    clumpi_free(&c->allocator, m->states);
}

/* Does a state say that the call is for the block? */
static int is_chosen(const moving *m, clumpi_u32 state) {
    uint32_t id = state >> CLUMPI_CLASS_SHIFT;
    return id >= m->info.id && id <= m->info.last && id < m->heap->geometry.header.first_raw;
}

/* What a sort goes by. */
typedef struct candidate {
    uint32_t block, age;
} candidate;

/* The oldest first; of the same age, those at the end of the heap. */
static int compare(const void *a, const void *b) {
    const candidate *x = a, *y = b;
    if (x->age != y->age) return x->age < y->age ? 1 : -1;
    return x->block < y->block ? 1 : -1;
}

/* swaps[i].gone (evict) or .come (fetch) of `all` candidates, as many as are wanted. */
static clump_status choose(moving *m, candidate *all, uint32_t count, int is_evicting) {
    if (m->desc.blocks && m->desc.blocks < count) {
        qsort(all, count, sizeof *all, compare);
        count = (uint32_t)m->desc.blocks;
    }
    m->swaps = clumpi_alloc(&m->heap->context->allocator, count * sizeof *m->swaps);
    if (!m->swaps) return no_memory(m);
    m->count = count;
    for (uint32_t i = 0; i < count; i++) {
        if (is_evicting)
            m->swaps[i].gone = all[i].block;
        else
            m->swaps[i].come = all[i].block;
    }
    return CLUMP_OK;
}

/* Evicted blocks that have the given objects, each once. */
static void mark_refs(const moving *m, uint8_t *wanted) {
    const clumpi_header *h = &m->heap->geometry.header;
    for (uint64_t i = 0; i < m->desc.ref_count; i++) {
        uint32_t block = (m->desc.refs[i] >> 6) / h->block_granules;
        if (block < h->block_end) wanted[block] = 1;
    }
}

static clump_status find_blocks(moving *m, int is_evicting) {
    clump_heap *heap = m->heap;
    const clump_allocator *a = &heap->context->allocator;
    const clumpi_header *h = &heap->geometry.header;
    const record *records = heap->eviction->records;
    candidate *all = clumpi_alloc(a, h->block_end * sizeof *all);
    uint8_t *wanted = clumpi_alloc(a, h->block_end);
    uint32_t count = 0;
    clump_status status = all && wanted ? CLUMP_OK : no_memory(m);
    if (!status && m->desc.refs) mark_refs(m, wanted);
    for (uint32_t b = h->first_block; !status && b < h->block_end; b++) {
        const record *r = &records[b];
        if (is_evicting ? r->words != NULL || r->age < m->desc.age : r->words == NULL) continue;
        clumpi_u32 state = is_evicting ? m->states[b] : state_of(heap, r);
        if (m->desc.refs ? wanted[b] : is_chosen(m, state)) all[count++] = (candidate){b, r->age};
    }
    if (!status) status = choose(m, all, count, is_evicting);
    clumpi_free(a, all);
    clumpi_free(a, wanted);
    return status;
}

/* The other side of each swap: vacant blocks for evict, free ones for fetch. Returns how many there
 * are. */
static uint32_t find_others(moving *m, int is_evicting) {
    const clumpi_header *h = &m->heap->geometry.header;
    uint32_t found = 0;
    for (uint32_t b = h->first_block; b < h->block_end && found < m->count; b++) {
        if (is_evicting && is_away(m, b) && !m->heap->eviction->records[b].words)
            m->swaps[found++].come = b;
        if (!is_evicting && m->states[b] == 0) m->swaps[found++].gone = b;
    }
    return found;
}

/* ---- Copies ---------------------------------------------------------------------------------- */

static clump_status open_buffers(moving *m) {
    clump_context *c = m->heap->context;
    uint32_t most = m->count < piece_blocks(m->heap) ? m->count : piece_blocks(m->heap);
    uint64_t heads = m->count * UINT64_C(4) * head_words(m->heap);
    uint64_t records = most * UINT64_C(4) * record_words(m->heap);
    clump_status status = clumpi_buffer_create(c, m->count * sizeof *m->swaps, "blocks that move",
                                               &m->buffers[SWAPS]);
    if (!status)
        status = clumpi_buffer_create(c, most * sizeof(clumpi_u32), "blocks that move",
                                      &m->buffers[BLOCKS]);
    if (!status)
        status = clumpi_buffer_create(c, heads > records ? heads : records,
                                      "the contents of blocks", &m->buffers[RECORDS]);
    return status;
}

static clump_status run(moving *m, clumpi_kernel_id id, const clumpi_arg *args, uint32_t count) {
    const clumpi_launch_sizes *sizes = &m->heap->context->sizes;
    return clumpi_run_on_heap(m->heap, id, sizes->pass_groups * sizes->do_all_local,
                              sizes->do_all_local, args, count, NULL);
}

/* The records of swaps first .. first + count-1 to the device: those that lie together in one
 * transfer. */
static clump_status write_records(moving *m, uint32_t first, uint32_t count) {
    const record *records = m->heap->eviction->records;
    const uint64_t stride = record_words(m->heap), bytes = stride * 4;
    clump_status status = CLUMP_OK;
    for (uint32_t i = 0, run; i < count && !status; i += run) {
        const uint32_t *words = records[m->swaps[first + i].come].words;
        for (run = 1; i + run < count; run++)
            if (records[m->swaps[first + i + run].come].words != words + run * stride) break;
        status = clumpi_write(m->heap->context, m->buffers[RECORDS], i * bytes, run * bytes, words);
    }
    return status;
}

/* Records of swaps first .. first + count-1: from the blocks that leave, or into the frames that
 * they get. */
static clump_status copy_piece(moving *m, uint32_t first, uint32_t count, clumpi_u32 *blocks,
                               bundle *to) {
    clump_context *c = m->heap->context;
    const clumpi_u32 stride = record_words(m->heap);
    for (uint32_t i = 0; i < count; i++) blocks[i] = m->swaps[first + i].gone;
    clump_status status = clumpi_write(c, m->buffers[BLOCKS], 0, count * sizeof *blocks, blocks);
    const clumpi_arg args[] = {{sizeof(cl_mem), &m->buffers[BLOCKS]},
                               {sizeof count, &count},
                               {sizeof stride, &stride},
                               {sizeof(cl_mem), &m->buffers[RECORDS]}};
    if (!to) {
        if (!status) status = write_records(m, first, count);
        return status ? status : run(m, CLUMPI_EVICT_KERNEL(evict_fill), args, 4);
    }
    if (!status) status = run(m, CLUMPI_EVICT_KERNEL(evict_pack), args, 4);
    if (!status)
        status = clumpi_read(c, m->buffers[RECORDS], 0, count * UINT64_C(4) * stride, to->words);
    return status;
}

static clump_status copy_all(moving *m) {
    const clump_allocator *a = &m->heap->context->allocator;
    const uint32_t most = piece_blocks(m->heap);
    clump_status status = CLUMP_OK;
    clumpi_u32 *blocks = clumpi_alloc(a, (m->count < most ? m->count : most) * sizeof *blocks);
    if (!blocks) return no_memory(m);
    for (uint32_t first = 0; first < m->count && !status; first += most) {
        uint32_t count = m->count - first < most ? m->count - first : most;
        status = copy_piece(m, first, count, blocks, m->bundles ? m->bundles[first / most] : NULL);
    }
    clumpi_free(a, blocks);
    return status;
}

/* ---- The swap -------------------------------------------------------------------------------- */

static clump_status swap_all(moving *m, clumpi_u32 has_heads) {
    clump_status status =
        clumpi_write(m->heap->context, m->buffers[SWAPS], 0, m->count * sizeof *m->swaps, m->swaps);
    const clumpi_u32 count = m->count, spare = m->heap->geometry.frames - 1;
    const clumpi_arg args[] = {{sizeof(cl_mem), &m->buffers[SWAPS]},
                               {sizeof count, &count},
                               {sizeof spare, &spare},
                               {sizeof has_heads, &has_heads},
                               {sizeof(cl_mem), &m->buffers[has_heads ? RECORDS : SWAPS]}};
    if (!status) status = run(m, CLUMPI_EVICT_KERNEL(evict_swap), args, 5);
    if (!status) clump_heap_touch(m->heap);
    return status;
}

/* Bitmaps and states of the blocks that come. */
static clump_status write_heads(moving *m) {
    clump_heap *heap = m->heap;
    const clump_allocator *a = &heap->context->allocator;
    const size_t words = head_words(heap), before = block_words(heap);
    uint32_t *heads = clumpi_alloc(a, m->count * words * 4);
    if (!heads) return no_memory(m);
    for (uint32_t i = 0; i < m->count; i++)
        memcpy(heads + i * words, heap->eviction->records[m->swaps[i].come].words + before,
               words * 4);
    clump_status status =
        clumpi_write(heap->context, m->buffers[RECORDS], 0, m->count * words * 4, heads);
    clumpi_free(a, heads);
    return status;
}

static void count_block(moving *m, clumpi_u32 state) {
    m->report.objects += state & CLUMPI_CREDIT_MASK;
    m->report.blocks++;
    m->report.bytes += 4 * block_words(m->heap);
}

static void keep_records(moving *m) {
    clump_heap_info *sum = &m->heap->info;
    const uint32_t most = piece_blocks(m->heap), stride = record_words(m->heap);
    for (uint32_t i = 0; i < m->count; i++) {
        record *r = &m->heap->eviction->records[m->swaps[i].gone];
        r->of = m->bundles[i / most];
        r->of->users++;
        r->words = r->of->words + (size_t)(i % most) * stride;
        count_block(m, state_of(m->heap, r));
    }
    clumpi_free(&m->heap->context->allocator, m->bundles);
    m->bundles = NULL;
    sum->evicted_objects += m->report.objects;
    sum->evicted_blocks += m->report.blocks;
    sum->evicted_bytes += m->report.bytes;
}

static void drop_records(moving *m) {
    clump_heap_info *sum = &m->heap->info;
    for (uint32_t i = 0; i < m->count; i++) {
        record *r = &m->heap->eviction->records[m->swaps[i].come];
        count_block(m, state_of(m->heap, r));
        forget(m->heap, r);
    }
    sum->evicted_objects -= m->report.objects;
    sum->evicted_blocks -= m->report.blocks;
    sum->evicted_bytes -= m->report.bytes;
}

/* ---- Calls ----------------------------------------------------------------------------------- */

static clump_status evict(moving *m) {
    clump_heap *heap = m->heap;
    const clump_allocator *a = &heap->context->allocator;
    clump_status status = find_blocks(m, 1);
    if (status || !m->count) return status;
    const uint32_t found = find_others(m, 1);
    if (found < m->count)
        return clumpi_fail(&heap->context->error, CLUMP_ERR_DEVICE_MEMORY,
                           "%s: %u blocks are to leave, but evictable_bytes has room for only %u "
                           "more. Ask for so many `blocks`, or make the heap with more",
                           m->call, m->count, found);
    m->bundles = clumpi_alloc(a, piece_count(m) * sizeof *m->bundles);
    if (!m->bundles) return no_memory(m);
    const uint32_t most = piece_blocks(heap);
    for (uint32_t i = 0; i < piece_count(m); i++) {
        const uint32_t rest = m->count - i * most;
        const size_t bytes = (rest < most ? rest : most) * (size_t)record_words(heap) * 4;
        if (!(m->bundles[i] = clumpi_alloc(a, sizeof **m->bundles + bytes))) return no_memory(m);
    }
    status = open_buffers(m);
    if (!status) status = copy_all(m);
    if (!status) status = swap_all(m, 0);
    if (!status) keep_records(m);
    return status;
}

static clump_status fetch(moving *m) {
    clump_heap *heap = m->heap;
    clump_status status = find_blocks(m, 0);
    if (status || !m->count) return status;
    const uint32_t found = find_others(m, 0);
    if (found < m->count)
        return clumpi_fail(
            &heap->context->error, CLUMP_ERR_DEVICE_MEMORY,
            "%s: %u blocks are to come back, but of the %u blocks in `bytes` only %u are free. "
            "Evict or free other objects first, or ask for fewer `blocks`",
            m->call, m->count, clumpi_memory_blocks(heap), found);
    status = open_buffers(m);
    if (!status) status = copy_all(m);
    if (!status) status = write_heads(m);
    if (!status) status = swap_all(m, 1);
    if (!status) drop_records(m);
    return status;
}

clump_status clump_heap_evict(clump_heap *heap, const clump_evict_desc *desc,
                              clump_evict_report *report) {
    moving m = {0};
    clump_status status = open_call(&m, heap, desc, report, "clump_heap_evict");
    if (!status && m.desc.refs)
        status =
            clumpi_fail(&heap->context->error, CLUMP_ERR_USAGE,
                        "clump_heap_evict: `refs` can only be set for clump_heap_bring_back()");
    if (!status) status = evict(&m);
    if (!status) CLUMPI_GIVE(report, m.report);
    close_call(&m);
    return status;
}

clump_status clump_heap_bring_back(clump_heap *heap, const clump_evict_desc *desc,
                                   clump_evict_report *report) {
    moving m = {0};
    clump_status status = open_call(&m, heap, desc, report, "clump_heap_bring_back");
    if (!status) status = fetch(&m);
    if (!status) CLUMPI_GIVE(report, m.report);
    close_call(&m);
    return status;
}

clump_status clump_heap_age_blocks(clump_heap *heap) {
    moving m = {0};
    clump_status status = open_call(&m, heap, NULL, NULL, "clump_heap_age_blocks");
    for (uint32_t b = 0; !status && b < heap->geometry.header.block_end; b++) {
        record *r = &heap->eviction->records[b];
        r->age = r->seen == m.states[b] ? r->age + 1 : 0;
        r->seen = m.states[b];
    }
    close_call(&m);
    return status;
}

/* ---- For the heap ---------------------------------------------------------------------------- */

clump_status clumpi_eviction_open(clump_heap *heap) {
    clump_context *c = heap->context;
    const clumpi_geometry *g = &heap->geometry;
    moving m = {.heap = heap, .call = "clump_heap_create"};
    heap->eviction = clumpi_alloc(&c->allocator, sizeof *heap->eviction);
    if (!heap->eviction) return no_memory(&m);
    heap->eviction->records =
        clumpi_alloc(&c->allocator, g->header.block_end * sizeof *heap->eviction->records);
    m.count = g->header.block_end - (g->frames - 1);
    m.swaps = clumpi_alloc(&c->allocator, m.count * sizeof *m.swaps);
    clump_status status = heap->eviction->records && m.swaps ? CLUMP_OK : no_memory(&m);
    for (uint32_t i = 0; !status && i < m.count; i++)
        m.swaps[i] = (swap){g->frames - 1 + i, UINT32_MAX};
    if (!status)
        status =
            clumpi_buffer_create(c, m.count * sizeof *m.swaps, "vacant blocks", &m.buffers[SWAPS]);
    if (!status) status = swap_all(&m, 0);
    close_call(&m);
    return status;
}

void clumpi_eviction_close(clump_heap *heap) {
    const clump_allocator *a = &heap->context->allocator;
    if (!heap->eviction) return;
    for (uint32_t b = 0; heap->eviction->records && b < heap->geometry.header.block_end; b++)
        if (heap->eviction->records[b].words) forget(heap, &heap->eviction->records[b]);
    clumpi_free(a, heap->eviction->records);
    clumpi_free(a, heap->eviction);
}
