/* Raw memory for arrays that grow, where it is short (elements.h). All arrays give theirs back, and
 * then get some in the order of their sizes: what needs several blocks first, while free blocks
 * still follow each other, and slots last, which fit anywhere. That is the heuristic "best fit
 * decreasing" for the packing of bins. It needs some more blocks than the best packing in rare
 * cases, so a full heap's arrays may still not fit into an equal heap.
 *
 * Read first: elements.h, cl/api/fit_arrays.cl.
 */
#include <stddef.h>
#include <stdlib.h>

#include "heap/elements.h"
#include "heap/heap.h"

#define AT_ONCE (UINT32_C(1) << 18) /* arrays on the device: 2 MiB */
#define LANES 64u
#define TURNS 1024u /* of a work-item in a launch, which must not last long */

/* An array that needs memory. */
typedef struct request {
    uint64_t bytes;
    uint64_t number; /* in clumpi_fit.words */
    clumpi_fit_words words;
} request;

static clump_status no_memory(clump_context *c, uint64_t arrays) {
    return clumpi_fail(&c->error, CLUMP_ERR_HOST_MEMORY, "no host memory for %llu arrays",
                       (unsigned long long)arrays);
}

clump_status clumpi_fit_open(clump_heap *heap, clumpi_fit *fit) {
    clump_context *c = clumpi_heap_context(heap);
    const uint64_t bytes = AT_ONCE * sizeof *fit->piece;
    const clumpi_geometry *g = clumpi_heap_geometry(heap);
    const clumpi_header *h = &g->header;
    const uint64_t rows =
        (uint64_t)(h->block_end - h->first_block) * g->classes[h->class_count - 1].rows;
    *fit = (clumpi_fit){.heap = heap, .piece = clumpi_alloc(&c->allocator, bytes)};
    clump_status status =
        fit->piece ? clumpi_buffer_create(c, bytes, "arrays of run-time length", &fit->buffer)
                   : no_memory(c, AT_ONCE);
    if (!status)
        status = clumpi_buffer_create(c, (CLUMPI_ROW_SLOTS + 1 + rows) * sizeof(clumpi_u32),
                                      "gaps of raw memory", &fit->gaps);
    if (!status) status = clumpi_clear(c, fit->gaps, 0, sizeof(clumpi_u32)); /* nothing is listed */
    if (status) clumpi_fit_close(fit);
    return status;
}

/* ---- Launches -------------------------------------------------------------------------------- */

/* n arrays that the buffer has. */
static clump_status run_written(clumpi_fit *fit, uint32_t n, uint32_t lanes, uint32_t is_free) {
    static const char key;
    clump_kernel *k;
    clump_status status =
        clumpi_own_kernel(fit->heap, &key, "cl/api/fit_arrays.cl", "fit_arrays", &k);
    if (!status) status = clump_kernel_set_arg(k, 0, sizeof fit->buffer, &fit->buffer);
    if (!status) status = clump_kernel_set_arg(k, 3, sizeof lanes, &lanes);
    if (!status) status = clump_kernel_set_arg(k, 4, sizeof is_free, &is_free);
    if (!status) status = clump_kernel_set_arg(k, 5, sizeof fit->gaps, &fit->gaps);
    for (uint32_t from = 0, to; from < n && !status; from = to) {
        to = n - from < TURNS * lanes ? n : from + TURNS * lanes;
        status = clump_kernel_set_arg(k, 1, sizeof from, &from);
        if (!status) status = clump_kernel_set_arg(k, 2, sizeof to, &to);
        if (!status) status = clump_heap_launch(fit->heap, k, LANES, LANES, NULL);
    }
    return status;
}

static clump_status write_piece(clumpi_fit *fit, uint32_t n) {
    return clumpi_write(clumpi_heap_context(fit->heap), fit->buffer, 0, n * sizeof *fit->piece,
                        fit->piece);
}

/* Memory for n arrays of fit->piece: then their handles or 0, also after a failure. */
static clump_status make_piece(clumpi_fit *fit, uint32_t n, uint32_t lanes) {
    clump_context *c = clumpi_heap_context(fit->heap);
    const uint64_t bytes = n * sizeof *fit->piece;
    clump_status status = write_piece(fit, n), is_read = status;
    if (!status) {
        status = run_written(fit, n, lanes, 0);
        is_read = clumpi_read(c, fit->buffer, 0, bytes, fit->piece);
        if (!status) status = is_read;
        if (is_read) is_read = clumpi_read(c, fit->buffer, 0, bytes, fit->piece);
    }
    for (uint32_t i = 0; i < n; i++) /* it has its element_bytes: the kernel did not come to it */
        if (is_read || fit->piece[i].element_bytes) fit->piece[i].word = 0;
    return status;
}

/* The memory of the handles of fit->piece. What fails is tried again, as in elements.c. */
static clump_status free_piece(clumpi_fit *fit, uint32_t n) {
    clump_status status = write_piece(fit, n);
    if (status && write_piece(fit, n)) return status;
    const clump_status freed = run_written(fit, n, LANES, 1);
    if (freed) (void)run_written(fit, n, LANES, 1); /* what was freed is 0 then */
    return status ? status : freed;
}

/* Memory that no array got. */
static void free_rest(clumpi_fit *fit) {
    clump_context *c = clumpi_heap_context(fit->heap);
    const clump_error error = c->error; /* keep the cause */
    for (uint64_t n; fit->given < fit->count; fit->given += n) {
        n = fit->count - fit->given < AT_ONCE ? fit->count - fit->given : AT_ONCE;
        for (uint64_t i = 0; i < n; i++) fit->piece[i] = fit->words[fit->given + i];
        (void)free_piece(fit, (uint32_t)n);
    }
    c->error = error;
}

void clumpi_fit_close(clumpi_fit *fit) {
    if (!fit->heap) return;
    clump_context *c = clumpi_heap_context(fit->heap);
    if (fit->piece && fit->has_handles) free_rest(fit);
    clumpi_buffer_release(c, &fit->buffer);
    clumpi_buffer_release(c, &fit->gaps);
    clumpi_free(&c->allocator, fit->words);
    clumpi_free(&c->allocator, fit->piece);
    fit->heap = NULL;
}

/* ---- Arrays give their memory back ----------------------------------------------------------- */

clump_status clumpi_fit_take(clumpi_fit *fit, clumpi_arrays *a) {
    clump_context *c = clumpi_heap_context(fit->heap);
    clump_status status = CLUMP_OK;
    if (!clumpi_grow(&c->allocator, &fit->words, &fit->room, fit->count + a->objects,
                     sizeof *fit->words))
        return no_memory(c, fit->count + a->objects);
    for (uint64_t from = 0; from < a->objects && !status;) {
        const uint32_t n = clumpi_arrays_next(a, from);
        status = clumpi_arrays_read_words(a, CLUMP_PART_CAPACITY, from, n, a->host_words);
        for (uint32_t i = 0; i < n; i++)
            fit->words[fit->count + i] =
                (clumpi_fit_words){a->host_words[i], a->array.element_bytes};
        fit->count += n;
        if (!status)
            status = clumpi_arrays_read_words(a, CLUMP_PART_MEMORY, from, n, a->host_words);
        for (uint32_t i = 0; i < n; i++) {
            fit->piece[i] = (clumpi_fit_words){a->host_words[i], a->array.element_bytes};
            a->host_words[i] = 0;
        }
        /* Before it is freed: a handle would be freed twice if a call failed in between. */
        if (!status) status = clumpi_arrays_store_handles(a, from, n, a->host_words);
        if (!status) status = free_piece(fit, n);
        from += n;
    }
    return status;
}

/* ---- And get some ---------------------------------------------------------------------------- */

static int compare(const void *a, const void *b) {
    const request *x = a, *y = b;
    if (x->bytes != y->bytes) return x->bytes > y->bytes ? -1 : 1;
    return x->number < y->number ? -1 : x->number > y->number;
}

/* With what alignment takes, and guards in a checked heap. */
static uint64_t bytes_of(const clumpi_fit *fit, const clumpi_fit_words *w) {
    const uint64_t align = w->element_bytes > CLUMPI_RAW_UNIT ? w->element_bytes : CLUMPI_RAW_UNIT,
                   around = fit->heap->checks ? CLUMPI_PIECE_BEFORE + CLUMPI_PIECE_BEHIND : 0;
    return (uint64_t)w->word * w->element_bytes + align - CLUMPI_RAW_UNIT + around;
}

/* Of `count` requests, the first that are dealt with alike: one at a time, or a few slots at a
 * time. */
static uint32_t next_piece(const clumpi_fit *fit, const request *r, uint64_t count,
                           uint32_t *lanes) {
    const uint64_t slot = (uint64_t)clumpi_heap_geometry(fit->heap)->header.raw_units *
                          CLUMPI_RAW_UNIT; /* the largest */
    uint32_t n = 1;
    while (n < count && n < AT_ONCE && (r[n].bytes > slot) == (r->bytes > slot)) n++;
    *lanes = r->bytes > slot ? 1 : LANES;
    return n;
}

static clump_status make_all(clumpi_fit *fit, const request *r, uint64_t count) {
    clump_status status = CLUMP_OK;
    for (uint64_t from = 0; from < count && !status;) {
        uint32_t lanes;
        const uint32_t n = next_piece(fit, r + from, count - from, &lanes);
        for (uint32_t i = 0; i < n; i++) fit->piece[i] = r[from + i].words;
        status = make_piece(fit, n, lanes);
        for (uint32_t i = 0; i < n; i++) fit->words[r[from + i].number].word = fit->piece[i].word;
        from += n;
    }
    return status;
}

/* The class whose slots a request gets that is not larger than the largest of them. */
static uint32_t slots_for(const clumpi_geometry *g, uint64_t bytes) {
    uint32_t id = g->header.first_raw;
    while (g->classes[id].slot_bytes < bytes) id++;
    return id;
}

/* Bytes that the requests without memory need: whole blocks, since each size of slots has its own,
 * and half as much again for neighbouring blocks. `r` is sorted. */
static uint64_t bytes_missing(const clumpi_fit *fit, const request *r, uint64_t count,
                              uint64_t *failed) {
    const clumpi_geometry *g = clumpi_heap_geometry(fit->heap);
    const uint64_t block = clumpi_block_bytes(fit->heap);
    uint64_t large = 0, blocks = 4, slots = 0;
    uint32_t of = g->header.first_raw;
    for (uint64_t i = 0; i < count; i++) {
        if (fit->words[r[i].number].word) continue;
        ++*failed;
        if (r[i].bytes > (uint64_t)g->header.raw_units * CLUMPI_RAW_UNIT) {
            large += r[i].bytes + (r[i].bytes > block ? block : 0);
            continue;
        }
        const uint32_t id = slots_for(g, r[i].bytes);
        if (id != of) slots = 0;
        of = id;
        if (slots++ % g->classes[id].capacity == 0) blocks++;
    }
    return large + large / 2 + blocks * block;
}

/* What is missing, in words. */
static clump_status judge(const clumpi_fit *fit, const request *r, uint64_t count,
                          const char *where) {
    const clump_heap_info *info = clump_heap_get_info(fit->heap);
    uint64_t failed = 0, all = 0;
    const uint64_t more = bytes_missing(fit, r, count, &failed);
    for (uint64_t i = 0; i < count; i++) all += r[i].bytes;
    if (!failed) return CLUMP_OK;
    /* An array is a quarter of the heap at most, and metadata grows with the heap. */
    const double share = (double)(info->bytes - info->metadata_bytes) / (double)info->bytes;
    uint64_t enough = info->bytes + (uint64_t)((double)more / share);
    if (enough < 5 * r[0].bytes) enough = 5 * r[0].bytes;
    return clumpi_fail(
        &clumpi_heap_context(fit->heap)->error, CLUMP_ERR_DEVICE_MEMORY,
        "the heap has no raw memory for %llu of the %llu arrays that grow in %s. They need %llu "
        "bytes together, and the largest one %llu bytes in one piece. Make a heap of about %llu "
        "bytes instead of %llu, with the same block_rows",
        (unsigned long long)failed, (unsigned long long)count, where, (unsigned long long)all,
        (unsigned long long)r[0].bytes, (unsigned long long)enough,
        (unsigned long long)info->bytes);
}

clump_status clumpi_fit_make(clumpi_fit *fit, const char *where) {
    clump_context *c = clumpi_heap_context(fit->heap);
    request *requests = clumpi_alloc(&c->allocator, fit->count * sizeof *requests);
    uint64_t count = 0;
    clumpi_error errors[CLUMPI_ERRORS];
    for (uint64_t i = 0; i < fit->count; i++) {
        clumpi_fit_words *w = &fit->words[i];
        if (requests && w->word) requests[count++] = (request){bytes_of(fit, w), i, *w};
        w->word = 0; /* no handle yet */
    }
    fit->has_handles = 1;
    if (!requests) return no_memory(c, fit->count);
    qsort(requests, count, sizeof *requests, compare);
    clump_status status = clumpi_arrays_read_reports(fit->heap, errors);
    if (!status)
        status = clumpi_arrays_set_reports(fit->heap, errors, make_all(fit, requests, count));
    if (!status) status = judge(fit, requests, count, where);
    clumpi_free(&c->allocator, requests);
    return status;
}

clump_status clumpi_fit_give(clumpi_fit *fit, clumpi_arrays *a) {
    clump_status status = CLUMP_OK;
    for (uint64_t from = 0; from < a->objects && !status;) {
        const uint32_t n = clumpi_arrays_next(a, from);
        for (uint32_t i = 0; i < n; i++) a->host_words[i] = fit->words[fit->given + i].word;
        status = clumpi_arrays_store_handles(a, from, n, a->host_words);
        if (status && clumpi_arrays_store_handles(a, from, n, a->host_words)) return status;
        fit->given += n;
        from += n;
    }
    return status;
}
