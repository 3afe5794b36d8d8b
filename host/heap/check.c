/* The heap check. What the host knows by itself (the header, the class table as far as it is fixed,
 * the columns) is compared here; all else by kernels, which rely on that.
 *
 * Invariant: the check changes nothing but scratch.
 *
 * Read first: heap.h, cl/heap/check.cl. Read next: repair.c.
 */
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "heap/heap.h"

static const char *const kernel_files[] = {
    "cl/core/layout.h",  "cl/core/prelude.clh", "cl/core/bitmap.clh", "cl/core/segments.clh",
    "cl/core/block.clh", "cl/core/reserve.clh", "cl/core/scan.clh",   "cl/heap/layout.h",
    "cl/heap/check.cl",  "cl/heap/repair.cl"};
static const char *const kernel_names[] = {CLUMPI_CHECK_KERNELS(CLUMPI_KERNEL_NAME)};
const clumpi_library clumpi_check_library = CLUMPI_LIBRARY(NULL, NULL);

/* ---- What the host knows --------------------------------------------------------------------- */

#define MEMBER(type, name)                                                                         \
    { offsetof(type, name), sizeof(((type *)0)->name) }
typedef struct span {
    size_t at, bytes;
} span;

/* What kernels change, of the header and of an entry of the class table. `stripes` is looked at
 * below. */
static const span header_changes[] = {
    MEMBER(clumpi_header, epoch),       MEMBER(clumpi_header, errors),
    MEMBER(clumpi_header, new_rows),    MEMBER(clumpi_header, new_objects),
    MEMBER(clumpi_header, ranked),      MEMBER(clumpi_header, list_of),
    MEMBER(clumpi_header, reduced),     MEMBER(clumpi_header, reduced_mark),
    MEMBER(clumpi_header, taken),       MEMBER(clumpi_header, list_opened),
    MEMBER(clumpi_header, reduce_done), MEMBER(clumpi_header, list_covers),
    MEMBER(clumpi_header, list_used),   MEMBER(clumpi_header, list_present),
    MEMBER(clumpi_header, list_beyond),
};
static const span class_changes[] = {
    MEMBER(clumpi_class, exhausted),           MEMBER(clumpi_class, swept),
    MEMBER(clumpi_class, reserved.stripes),    MEMBER(clumpi_class, reserved.holes),
    MEMBER(clumpi_class, reserved.holes_from), MEMBER(clumpi_class, reserved.empty_from),
    MEMBER(clumpi_class, reserved.left),       MEMBER(clumpi_class, reserved.keep),
    MEMBER(clumpi_class, reserved.learnt),
};
/* And of a column. */
static const span column_changes[] = {MEMBER(clumpi_column, hit)};

/* The first word that differs outside of the spans, as a number; UINT32_MAX: there is none. */
static uint32_t first_difference(const clumpi_u32 *now, const void *fixed, size_t bytes,
                                 const span *spans, size_t span_count) {
    for (uint32_t w = 0; w < bytes / sizeof *now; w++) {
        if (memcmp(&now[w], (const char *)fixed + w * sizeof *now, sizeof *now) == 0) continue;
        size_t s = 0;
        while (s < span_count &&
               (w * sizeof *now < spans[s].at || w * sizeof *now >= spans[s].at + spans[s].bytes))
            s++;
        if (s == span_count) return w;
    }
    return UINT32_MAX;
}
#define FIRST_DIFFERENCE(now, fixed, bytes, spans)                                                 \
    first_difference((const clumpi_u32 *)(now), fixed, bytes, spans,                               \
                     sizeof(spans) / sizeof *(spans))

static clump_status overwritten(clump_heap *heap, const char *what, const char *of, uint32_t word,
                                const void *now, const void *fixed) {
    clumpi_u32 is, was;
    memcpy(&is, (const char *)now + word * sizeof is, sizeof is);
    memcpy(&was, (const char *)fixed + word * sizeof was, sizeof was);
    return clumpi_fail(&heap->context->error, CLUMP_ERR_CORRUPT,
                       "%s%s was overwritten on the device: word %u is 0x%08x, and was 0x%08x. "
                       "Call clump_heap_repair() to restore it",
                       what, of, word, is, was);
}

static clump_status check_header(clump_heap *heap, const clumpi_header *now) {
    const clumpi_header *fixed = &heap->geometry.header;
    uint32_t word = FIRST_DIFFERENCE(now, fixed, sizeof *now, header_changes);
    if (word != UINT32_MAX) return overwritten(heap, "the heap's header", "", word, now, fixed);
    if (heap->list_valid && now->list_of) /* kernels for new objects would take others for them */
        return clumpi_fail(&heap->context->error, CLUMP_ERR_CORRUPT,
                           "the heap was overwritten: its list has all objects, but names %u as "
                           "its class. Call clump_heap_repair() to restore it",
                           now->list_of);
    return CLUMP_OK;
}

static clump_status check_class(clump_heap *heap, uint32_t id, const clumpi_class *now) {
    const clumpi_class *fixed = &heap->geometry.classes[id];
    uint32_t word = FIRST_DIFFERENCE(now, fixed, sizeof *now, class_changes);
    /* Requests take the stripe by this number, without another look. */
    uint32_t stripes = now->reserved.stripes;
    if (!stripes || (stripes & (stripes - 1)) || stripes > heap->geometry.header.stripes)
        word = offsetof(clumpi_class, reserved.stripes) / sizeof(clumpi_u32);
    if (word == UINT32_MAX) return CLUMP_OK;
    return overwritten(heap, "the class table's entry of class ", clumpi_class_name(heap, id), word,
                       now, fixed);
}

static clump_status check_columns(clump_heap *heap, const clumpi_column *now,
                                  clumpi_column *fixed) {
    const clumpi_geometry *g = &heap->geometry;
    clumpi_columns_build(heap->schema, &heap->geometry, fixed);
    for (uint32_t id = 1; id <= g->header.class_count; id++)
        for (uint32_t c = g->classes[id].copies; c < g->classes[id].owners_end; c++) {
            uint32_t word = FIRST_DIFFERENCE(&now[c], &fixed[c], sizeof *now, column_changes);
            if (word != UINT32_MAX)
                return overwritten(heap, "a column of class ", clumpi_class_name(heap, id), word,
                                   &now[c], &fixed[c]);
        }
    return CLUMP_OK;
}

/* The header, with the class table that follows it, and the columns. */
static clump_status check_fixed(clump_heap *heap) {
    clump_context *c = heap->context;
    const clumpi_geometry *g = &heap->geometry;
    size_t table = (g->header.class_count + 1) * sizeof(clumpi_class);
    size_t columns = g->classes[g->header.class_count].owners_end * sizeof(clumpi_column);
    char *now = clumpi_alloc(&c->allocator, sizeof g->header + table + 2 * columns);
    if (!now)
        return clumpi_fail(&c->error, CLUMP_ERR_HOST_MEMORY,
                           "no host memory to check a heap's header");
    const clumpi_header *header = (const clumpi_header *)now;
    const clumpi_class *classes = (const clumpi_class *)(header + 1);
    clumpi_column *of_device = (clumpi_column *)(now + sizeof *header + table);
    clump_status status = clumpi_read(c, heap->info.buffer, clumpi_header_offset(heap, 0),
                                      sizeof *header + table, now);
    if (!status)
        status = clumpi_read(c, heap->info.buffer, (uint64_t)g->header.at_columns * CLUMPI_UNIT,
                             columns, of_device);
    if (!status) status = check_header(heap, header);
    for (uint32_t id = 0; !status && id <= g->header.class_count; id++)
        status = check_class(heap, id, &classes[id]);
    if (!status) status = check_columns(heap, of_device, of_device + columns / sizeof *of_device);
    clumpi_free(&c->allocator, now);
    return status;
}

/* ---- What kernels see ------------------------------------------------------------------------ */

/* A round of launches. Outside blocks violations share their key, so one work-item alone looks for
 * the details. */
static clump_status run_check(clump_heap *heap, clumpi_u32 told) {
    const clumpi_launch_sizes *sizes = &heap->context->sizes;
    size_t global = sizes->scan_groups * sizes->scan_local;
    int is_reporting = (told & CLUMPI_CHECK_REPORTING) != 0;
    size_t alone = is_reporting ? 1 : global, local = is_reporting ? 1 : sizes->scan_local;
    clumpi_arg arg = {sizeof told, &told};
    clump_status status =
        clumpi_run_on_heap(heap, CLUMPI_CHECK_KERNEL(check_reserved), alone, local, &arg, 1, NULL);
    if (!status)
        status = clumpi_run_on_heap(heap, CLUMPI_CHECK_KERNEL(check_blocks), global,
                                    sizes->scan_local, &arg, 1, NULL);
    if (!status)
        status =
            clumpi_run_on_heap(heap, CLUMPI_CHECK_KERNEL(check_rest), alone, local, &arg, 1, NULL);
    return status;
}

static clump_status describe(clump_heap *heap, const clumpi_violation *v) {
    static const char *const texts[] = {
#define VIOLATION_TEXT(name, text) text,
        CLUMPI_VIOLATION_LIST(VIOLATION_TEXT)
#undef VIOLATION_TEXT
    };
    char what[256] = "unknown violation";
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral" /* the texts of the list above */
    if (v->code < CLUMPI_VIOLATION_COUNT)
        snprintf(what, sizeof what, texts[v->code], v->class_id, v->expected, v->found);
#pragma GCC diagnostic pop
    if (v->block >= heap->geometry.header.block_end)
        return clumpi_fail(&heap->context->error, CLUMP_ERR_CORRUPT, "the heap: %s", what);
    return clumpi_fail(&heap->context->error, CLUMP_ERR_CORRUPT, "block %u: %s", v->block, what);
}

_Static_assert(CLUMPI_VIOLATION_COUNT <= 1 << CLUMPI_VIOLATION_CODE_BITS,
               "a key has room for codes");

clump_status clumpi_check_find(clump_heap *heap, clumpi_u32 *told, clumpi_u32 *key) {
    clump_context *c = heap->context;
    const clumpi_header *h = &heap->geometry.header;
    const uint64_t at = (uint64_t)h->at_scan * CLUMPI_UNIT;
    clumpi_check check = {.first.key = UINT32_MAX};
    *told = 0;
    *key = UINT32_MAX;
    clump_status status = heap->list_counted ? clumpi_unreserve(heap, NULL) : CLUMP_OK;
    if (heap->reserved) *told |= CLUMPI_CHECK_RESERVED;
    if (clumpi_list_is_current(heap)) *told |= CLUMPI_CHECK_LIST;
    if (clumpi_list_is_current(heap) && heap->list_numbered) *told |= CLUMPI_CHECK_NUMBERS;
    if (!status) status = check_fixed(heap);
    if (!status && heap->reserved)
        status = clumpi_clear(c, heap->info.buffer, (uint64_t)h->at_plan_list * CLUMPI_UNIT,
                              (uint64_t)h->block_end * sizeof(clumpi_u32));
    if (!status)
        status = clumpi_write(c, heap->info.buffer, at, CLUMPI_CHECK_BYTES(h->class_count), &check);
    if (!status) status = run_check(heap, *told);
    return status ? status : clumpi_read(c, heap->info.buffer, at, sizeof *key, key);
}

clump_status clump_heap_check(clump_heap *heap) {
    if (!heap) return CLUMP_ERR_USAGE;
    clumpi_violation violation;
    clumpi_u32 told, key;
    clump_status status = clumpi_heap_enter(heap);
    if (!status) status = clumpi_check_find(heap, &told, &key);
    if (status || key == UINT32_MAX) return status;
    status = run_check(heap, told | CLUMPI_CHECK_REPORTING);
    if (!status)
        status = clumpi_read(heap->context, heap->info.buffer,
                             (uint64_t)heap->geometry.header.at_scan * CLUMPI_UNIT,
                             sizeof violation, &violation);
    return status ? status : describe(heap, &violation);
}
