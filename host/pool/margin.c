/* Margins: bytes with a pattern after each allocation, in debug mode. Read first: pool.h. */
#include <string.h>

#include "pool/pool.h"

#define PATTERN UINT32_C(0xC5A3E91D)

static uint64_t margin_bytes(const clump_pool *p) {
    return (uint64_t)p->margin_units << p->unit_shift;
}

/* The whole units after the one that the last byte lies in. */
static uint64_t margin_at(const clump_pool *p, const clumpi_record *r) {
    uint64_t unit = p->desc.alignment;
    return clumpi_record_region(p, r).offset + (r->bytes + unit - 1) / unit * unit;
}

clump_status clumpi_margin_write(clump_pool *p, const clumpi_record *r) {
    static const uint32_t pattern = PATTERN;
    cl_int code = p->cl.EnqueueFillBuffer(p->desc.queue, r->chunk->buffer, &pattern, sizeof pattern,
                                          margin_at(p, r), margin_bytes(p), 0, NULL, NULL);
    if (!code) return CLUMP_OK;
    return clumpi_fail_cl(&p->error, "clEnqueueFillBuffer", code, "the margin of an allocation");
}

static clump_status check_margin(clump_pool *p, uint32_t record, uint32_t *words) {
    const clumpi_record *r = clumpi_record_at(p, record);
    cl_int code = p->cl.EnqueueReadBuffer(p->desc.queue, r->chunk->buffer, CL_TRUE, margin_at(p, r),
                                          margin_bytes(p), words, 0, NULL, NULL);
    if (code)
        return clumpi_fail_cl(&p->error, "clEnqueueReadBuffer", code,
                              "the margin of an allocation");
    for (uint64_t i = 0; i < margin_bytes(p) / 4; i++)
        if (words[i] != PATTERN)
            return clumpi_fail(
                &p->error, CLUMP_ERR_CORRUPT,
                "a write went %llu bytes beyond the end of allocation 0x%llx (%.64s), "
                "%llu bytes in chunk %u at %llu",
                (unsigned long long)(margin_at(p, r) + 4 * i - clumpi_record_region(p, r).offset -
                                     r->bytes),
                (unsigned long long)clumpi_record_handle(p, record),
                r->extra && r->extra->name ? r->extra->name : "no name",
                (unsigned long long)r->bytes, r->chunk->serial,
                (unsigned long long)clumpi_record_region(p, r).offset);
    return CLUMP_OK;
}

clump_status clumpi_margins_check(clump_pool *p) {
    uint32_t *words = clumpi_alloc(&p->allocator, margin_bytes(p));
    if (!words) return clumpi_fail(&p->error, CLUMP_ERR_MEMORY, "no host memory for a margin");
    clump_status status = CLUMP_OK;
    for (uint32_t i = 1; !status && i < p->slab_count * CLUMPI_RECORDS_SLAB; i++)
        if (clumpi_record_at(p, i)->is_live) status = check_margin(p, i, words);
    clumpi_free(&p->allocator, words);
    return status;
}
