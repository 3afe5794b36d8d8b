/* Margins: bytes with a pattern after each allocation, in debug mode. They begin right after its
 * last byte.
 * Read first: pool.h. */
#include <string.h>

#include "pool/pool.h"

#define PATTERN 0xC5

/* The margin of an allocation, in its chunk: up to the end of the whole units that follow its
 * own. */
typedef struct margin {
    uint64_t at, bytes;
} margin;

static margin margin_of(const clump_pool *p, const clumpi_record *r) {
    uint64_t unit = p->desc.alignment;
    uint64_t units = (r->bytes + unit - 1) / unit + p->margin_units;
    return (margin){clumpi_record_region(p, r).offset + r->bytes, units * unit - r->bytes};
}

static uint64_t margin_bytes_most(const clump_pool *p) {
    return ((uint64_t)p->margin_units + 1) << p->unit_shift;
}

/* It waits: the place may be freed and given to somebody who writes there on another queue. */
clump_status clumpi_margin_write(clump_pool *p, const clumpi_record *r) {
    margin m = margin_of(p, r);
    return clumpi_backing_fill(p, r->chunk, m.at, m.bytes, PATTERN);
}

static clump_status check_margin(clump_pool *p, uint32_t record, unsigned char *bytes) {
    const clumpi_record *r = clumpi_record_at(p, record);
    margin m = margin_of(p, r);
    clump_status status = clumpi_backing_read(p, r->chunk, m.at, m.bytes, bytes);
    if (status) return status;
    uint64_t first = 0, last = m.bytes;
    while (first < m.bytes && bytes[first] == PATTERN) first++;
    if (first == m.bytes) return CLUMP_OK;
    while (bytes[last - 1] == PATTERN) last--;
    return clumpi_fail(&p->error, CLUMP_ERR_CORRUPT,
                       "something wrote beyond the end of allocation 0x%llx (%.64s), %llu bytes in "
                       "chunk %u at %llu: to bytes "
                       "%llu to %llu after its end",
                       (unsigned long long)clumpi_record_handle(p, record),
                       r->extra && r->extra->name ? r->extra->name : "no name",
                       (unsigned long long)r->bytes, r->chunk->serial,
                       (unsigned long long)clumpi_record_region(p, r).offset,
                       (unsigned long long)first + 1, (unsigned long long)last);
}

clump_status clumpi_margins_check(clump_pool *p) {
    unsigned char *bytes = clumpi_alloc(&p->allocator, margin_bytes_most(p));
    if (!bytes) return clumpi_fail(&p->error, CLUMP_ERR_HOST_MEMORY, "no host memory for a margin");
    clump_status status = CLUMP_OK;
    for (uint32_t i = 1; !status && i < p->slab_count * CLUMPI_RECORDS_SLAB; i++)
        if (clumpi_record_at(p, i)->is_live) status = check_margin(p, i, bytes);
    clumpi_free(&p->allocator, bytes);
    return status;
}
