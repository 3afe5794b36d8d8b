/* Checked heaps: what they have on the device, which kernel runs, and what kernels found and left.
 *
 * Invariant: between two calls each byte of a block that no live object has is CLUMPI_FREED_BYTE,
 * as far as the user's kernels keep to the device API. What frees or moves objects otherwise than
 * by C_free() settles that (compaction, collection, repair).
 *
 * Read first: include/clump/checked.h, heap.h, cl/core/poison.clh. Read next: findings.c.
 */
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "heap/heap.h"

#define DEFAULT_EVENTS 4096u
#define MOST_EVENTS (1u << 24)
#define MOST_KERNELS (1u << (32 - CLUMPI_SITE_LINE_BITS))

static const char *const kernel_files[] = {
    "cl/core/layout.h",   "cl/core/prelude.clh", "cl/core/bitmap.clh", "cl/core/segments.clh",
    "cl/core/block.clh",  "cl/core/reserve.clh", "cl/core/alloc.clh",  "cl/core/runs.clh",
    "cl/core/poison.clh", "cl/core/pieces.clh",  "cl/core/scan.clh",   "cl/heap/checked.cl"};
static const char *const kernel_names[] = {CLUMPI_CHECKED_KERNELS(CLUMPI_KERNEL_NAME)};
const clumpi_library clumpi_checked_library = CLUMPI_LIBRARY(NULL, NULL);

_Static_assert((int)CLUMPI_CHECKS_REFERENCES == CLUMP_CHECK_REFERENCES &&
                   (int)CLUMPI_CHECKS_BOUNDS == CLUMP_CHECK_BOUNDS &&
                   (int)CLUMPI_CHECKS_READS == CLUMP_CHECK_READS &&
                   (int)CLUMPI_CHECKS_FREED == CLUMP_CHECK_FREED &&
                   (int)CLUMPI_CHECKS_MEMORY == CLUMP_CHECK_MEMORY &&
                   (int)CLUMPI_CHECKS_HISTORY == CLUMP_CHECK_HISTORY &&
                   (int)CLUMPI_CHECKS_LEAKS == CLUMP_CHECK_LEAKS &&
                   (int)CLUMPI_CHECKS_GENERATIONS == CLUMP_CHECK_GENERATIONS,
               "checked.h and layout.h have the same checks");
_Static_assert((int)CLUMPI_FINDING_ACCESS == CLUMP_FINDING_ACCESS &&
                   (int)CLUMPI_FINDING_CAST == CLUMP_FINDING_CAST &&
                   (int)CLUMPI_FINDING_FREE == CLUMP_FINDING_FREE &&
                   (int)CLUMPI_FINDING_DOUBLE_FREE == CLUMP_FINDING_DOUBLE_FREE &&
                   (int)CLUMPI_FINDING_BOUNDS == CLUMP_FINDING_BOUNDS &&
                   (int)CLUMPI_FINDING_READ == CLUMP_FINDING_READ &&
                   (int)CLUMPI_FINDING_FREED == CLUMP_FINDING_FREED &&
                   (int)CLUMPI_FINDING_GAP == CLUMP_FINDING_GAP,
               "checked.h and layout.h have the same kinds of findings");

struct clumpi_checking {
    clump_checked_desc desc;
    clumpi_kernel_name *names; /* by number; entry 0 is empty */
    size_t name_capacity;
    uint32_t name_count;                  /* 0: there is no memory for the first one */
    clumpi_finding kept[CLUMPI_FINDINGS]; /* fetched from the device, and not yet by the user */
    uint32_t kept_count, lost;
};

/* ---- Begin and end of a heap ----------------------------------------------------------------- */

clump_status clumpi_checking_open(clump_heap *heap, const clump_checked_desc *given,
                                  clumpi_extras *extras) {
    clump_context *c = heap->context;
    if (!given) /* the schema may be that of a checked heap */
        return heap->schema->prefix ? clumpi_schema_spread(heap->schema, 0, 0) : CLUMP_OK;
    clump_checked_desc desc;
    clump_status status = CLUMPI_TAKE(clump_checked_desc, &desc, given, &c->error);
    if (status) return status;
    if (desc.without & ~(uint32_t)CLUMP_CHECK_ALL)
        return clumpi_fail(&c->error, CLUMP_ERR_USAGE,
                           "checked->without is 0x%x, but all checks together are 0x%x",
                           desc.without, (unsigned)CLUMP_CHECK_ALL);
    if (desc.without == CLUMP_CHECK_ALL)
        return clumpi_fail(
            &c->error, CLUMP_ERR_USAGE,
            "checked->without leaves no check. Make an ordinary heap, without `checked`");
    if (desc.events > MOST_EVENTS)
        return clumpi_fail(&c->error, CLUMP_ERR_USAGE,
                           "checked->events is %u, but must be at most %u", desc.events,
                           MOST_EVENTS);
    clumpi_checking *k = clumpi_alloc(&c->allocator, sizeof *k);
    heap->checking = k;
    if (!k || !clumpi_grow(&c->allocator, &k->names, &k->name_capacity, 1, sizeof *k->names))
        return clumpi_fail(&c->error, CLUMP_ERR_HOST_MEMORY, "no host memory for a checked heap");
    k->names[k->name_count++] = (clumpi_kernel_name){NULL, NULL};
    k->desc = desc;
    heap->checks = CLUMP_CHECK_ALL & ~desc.without;
    uint32_t events = desc.events ? desc.events : DEFAULT_EVENTS;
    extras->events = 1;
    while (extras->events < events) extras->events *= 2;
    extras->generations = (heap->checks & CLUMP_CHECK_GENERATIONS) && !extras->watched;
    status = clumpi_schema_spread(heap->schema, CLUMPI_MADE_BYTES, CLUMPI_GAP_BYTES);
    if (!status) return CLUMP_OK;
    return clumpi_fail(&c->error, status, "a checked heap, whose objects need some more bytes: %s",
                       heap->schema->error.message);
}

/* Where `member` of the device's clumpi_checks is. */
static uint64_t offset_of(const clump_heap *heap, size_t member) {
    return (uint64_t)heap->geometry.header.at_checked * CLUMPI_UNIT + member;
}

static clump_status run_memory(clump_heap *heap, clumpi_u32 is_told, const clump_sync *sync) {
    const clumpi_launch_sizes *sizes = &heap->context->sizes;
    clumpi_arg arg = {sizeof is_told, &is_told};
    return clumpi_run_on_heap(heap, CLUMPI_CHECKED_KERNEL(checked_memory),
                              sizes->pass_groups * sizes->do_all_local, sizes->do_all_local, &arg,
                              1, sync);
}

clump_status clumpi_checking_settle(clump_heap *heap) {
    return heap->checks ? run_memory(heap, 0, NULL) : CLUMP_OK;
}

clump_status clumpi_checking_follow(clump_heap *next, const clump_heap *heap) {
    const clumpi_checks *to = &next->geometry.checked, *from = &heap->geometry.checked;
    if (!to->generations || from->ref_shift != to->ref_shift) return CLUMP_OK;
    const clumpi_header *h = &next->geometry.header, *was = &heap->geometry.header;
    const uint64_t room = (uint64_t)h->block_end * h->block_granules,
                   granules = (uint64_t)was->block_end * was->block_granules;
    clump_status status =
        clumpi_copy(next->context, heap->info.buffer, (uint64_t)from->at_generations * CLUMPI_UNIT,
                    next->info.buffer, (uint64_t)to->at_generations * CLUMPI_UNIT,
                    (room < granules ? room : granules) * CLUMP_ROW_SLOTS * sizeof(uint16_t));
    return status ? status : clumpi_checking_settle(next); /* which raises all of them */
}

clump_status clumpi_checking_write(clump_heap *heap) {
    clump_context *c = heap->context;
    clumpi_geometry *g = &heap->geometry;
    if (!heap->checks) return CLUMP_OK;
    uint32_t count = g->checked.gaps[g->header.class_count + 1];
    clumpi_gap *gaps = clumpi_alloc(&c->allocator, (count + 1) * sizeof *gaps);
    if (!gaps)
        return clumpi_fail(&c->error, CLUMP_ERR_HOST_MEMORY, "no host memory for a checked heap");
    clumpi_gaps_build(heap->schema, g, gaps);
    clump_status status =
        clumpi_write(c, heap->info.buffer, offset_of(heap, 0), sizeof g->checked, &g->checked);
    if (!status && count)
        status = clumpi_write(c, heap->info.buffer, (uint64_t)g->checked.at_gaps * CLUMPI_UNIT,
                              count * sizeof *gaps, gaps);
    clumpi_free(&c->allocator, gaps);
    return status ? status : run_memory(heap, 0, NULL);
}

static void tell_leaks(clump_heap *heap) {
    const clump_checked_desc *desc = &heap->checking->desc;
    uint64_t count = 0;
    if (!(heap->checks & CLUMP_CHECK_LEAKS) || !desc->on_leak || !heap->info.buffer) return;
    if (clump_heap_read_live(heap, NULL, 0, &count) || !count) return;
    const clump_allocator *a = &heap->context->allocator;
    clump_live *live = clumpi_alloc(a, count * sizeof *live);
    if (live && !clump_heap_read_live(heap, live, count, &count)) {
        for (uint32_t i = 0; i < count; i++) {
            char text[CLUMP_FINDING_TEXT_BYTES], place[CLUMPI_PLACE_BYTES];
            snprintf(text, sizeof text, "%llu objects of class %s are left, made by %s%s",
                     (unsigned long long)live[i].objects, live[i].class_name,
                     live[i].place.line ? "" : "the do-new of ",
                     clumpi_place_words(live[i].place, place));
            desc->on_leak(desc->user, text);
        }
    }
    clumpi_free(a, live);
}

void clumpi_checking_close(clump_heap *heap) {
    clumpi_checking *k = heap->checking;
    const clump_allocator *a = &heap->context->allocator;
    if (!k) return;
    if (k->name_count) tell_leaks(heap);
    for (uint32_t i = 1; i < k->name_count; i++) {
        clumpi_free(a, k->names[i].program);
        clumpi_free(a, k->names[i].kernel);
    }
    clumpi_free(a, k->names);
    clumpi_free(a, k);
    heap->checking = NULL;
}

const clump_checked_desc *clumpi_checking_desc(const clump_heap *heap) {
    return heap->checking ? &heap->checking->desc : NULL;
}

void clumpi_checking_hand_over(clump_heap *heap, clump_heap *next) {
    clumpi_checking *const kept = heap->checking;
    heap->checking = next->checking;
    next->checking = kept;
}

/* ---- Kernels that run ------------------------------------------------------------------------ */

/* The number of a kernel, a new one if it has none; 0: there is no memory, or there are no numbers,
 * for one more. */
static clumpi_u32 number_of(clump_heap *heap, const clump_kernel *kernel) {
    clumpi_checking *k = heap->checking;
    const clump_allocator *a = &heap->context->allocator;
    const char *program = kernel->program->name;
    for (uint32_t i = 1; i < k->name_count; i++)
        if (strcmp(k->names[i].kernel, kernel->name) == 0 &&
            strcmp(k->names[i].program, program) == 0)
            return i;
    if (k->name_count == MOST_KERNELS) return 0;
    if (!clumpi_grow(a, &k->names, &k->name_capacity, k->name_count + 1, sizeof *k->names))
        return 0;
    clumpi_kernel_name *name = &k->names[k->name_count];
    name->program = clumpi_copy_text(a, program, strlen(program));
    name->kernel = clumpi_copy_text(a, kernel->name, strlen(kernel->name));
    if (name->program && name->kernel) return k->name_count++;
    clumpi_free(a, name->program);
    clumpi_free(a, name->kernel);
    return 0;
}

static clump_status run_begin(clump_heap *heap, clumpi_u32 number) {
    clumpi_arg arg = {sizeof number, &number};
    return clumpi_run_on_heap(heap, CLUMPI_CHECKED_KERNEL(checked_begin), 1, 1, &arg, 1, NULL);
}

clump_status clumpi_checking_begin(clump_heap *heap, const clump_kernel *kernel) {
    return heap->checks ? run_begin(heap, number_of(heap, kernel)) : CLUMP_OK;
}

clump_status clumpi_checking_end(clump_heap *heap) {
    if (!heap->checks) return CLUMP_OK;
    clump_status status = CLUMP_OK;
    if (heap->checks & CLUMP_CHECK_MEMORY) status = run_memory(heap, 1, NULL);
    return status ? status : run_begin(heap, 0);
}

clump_status clumpi_checking_new(clump_heap *heap, clumpi_u32 class_id) {
    const clumpi_launch_sizes *sizes = &heap->context->sizes;
    if (!heap->checks) return CLUMP_OK;
    clumpi_arg args[] = {{sizeof class_id, &class_id}, {sizeof heap->checks, &heap->checks}};
    return clumpi_run_on_heap(heap, CLUMPI_CHECKED_KERNEL(checked_new), sizes->do_all_global,
                              sizes->do_all_local, args, 2, NULL);
}

/* ---- Generations ----------------------------------------------------------------------------- */

clump_ref clumpi_ref_plain(const clump_heap *heap, clump_ref ref) {
    return heap->checks ? ref & heap->geometry.checked.ref_mask : ref;
}

clump_status clumpi_ref_age(clump_heap *heap, clump_ref ref, int *is_old) {
    const clumpi_checks *fixed = &heap->geometry.checked;
    uint16_t now = 0;
    *is_old = 0;
    if (!fixed->generations) return CLUMP_OK;
    clump_ref plain = ref & fixed->ref_mask, its = ref >> fixed->ref_shift;
    clump_status status =
        clumpi_read(heap->context, heap->info.buffer,
                    (uint64_t)fixed->at_generations * CLUMPI_UNIT + (uint64_t)plain * sizeof now,
                    sizeof now, &now);
    *is_old = its != 0 && its != now + 1u;
    return status;
}

static clump_status change_outside(clump_heap *heap, clumpi_u32 is_plain, cl_mem refs,
                                   uint64_t offset, uint32_t stride, uint64_t count, cl_mem counted,
                                   uint64_t counted_at) {
    const clumpi_launch_sizes *sizes = &heap->context->sizes;
    clumpi_arg args[] = {{sizeof is_plain, &is_plain},    {sizeof refs, &refs},
                         {sizeof offset, &offset},        {sizeof stride, &stride},
                         {sizeof count, &count},          {sizeof counted, &counted},
                         {sizeof counted_at, &counted_at}};
    return clumpi_run_on_heap(heap, CLUMPI_CHECKED_KERNEL(checked_outside), sizes->do_all_global,
                              sizes->do_all_local, args, 7, NULL);
}

clump_status clumpi_checking_name(clump_heap *heap, cl_mem refs, uint64_t at, uint64_t count) {
    if (!heap->geometry.checked.generations || heap->is_plain) return CLUMP_OK;
    return change_outside(heap, 0, refs, at, 1, count, NULL, 0);
}

clump_status clumpi_checking_bare(clump_heap *heap, cl_mem refs, uint64_t at, uint64_t count) {
    if (!heap->geometry.checked.generations) return CLUMP_OK;
    return change_outside(heap, 1, refs, at, 1, count, NULL, 0);
}

/* All references that the library knows of. */
static clump_status change_refs(clump_heap *heap, clumpi_u32 is_plain) {
    const clumpi_launch_sizes *sizes = &heap->context->sizes;
    clumpi_arg arg = {sizeof is_plain, &is_plain};
    clump_status status = clumpi_run_on_heap(heap, CLUMPI_CHECKED_KERNEL(checked_refs),
                                             sizes->pass_groups * sizes->do_all_local,
                                             sizes->do_all_local, &arg, 1, NULL);
    for (const clump_refs *r = heap->refs; r && !status; r = r->next)
        status = change_outside(heap, is_plain, r->buffer, r->offset / 4, r->stride / 4, r->count,
                                r->counted, r->counted_at / 4);
    return status;
}

static clump_status run_plain(clump_heap *heap, clumpi_u32 is_plain) {
    clumpi_arg arg = {sizeof is_plain, &is_plain};
    clump_status status =
        clumpi_run_on_heap(heap, CLUMPI_CHECKED_KERNEL(checked_plain), 1, 1, &arg, 1, NULL);
    if (!status) heap->is_plain = is_plain != 0;
    return status;
}

clump_status clumpi_checking_plain_begin(clump_heap *heap, int *is_begun) {
    *is_begun = 0;
    if (!heap->geometry.checked.generations || heap->is_plain) return CLUMP_OK;
    clump_status status = change_refs(heap, 1);
    if (!status) status = run_plain(heap, 1);
    *is_begun = !status;
    return status;
}

clump_status clumpi_checking_plain_end(clump_heap *heap, int is_begun) {
    if (!is_begun) return CLUMP_OK;
    clump_status status = run_plain(heap, 0);
    return status ? status : change_refs(heap, 0);
}

/* ---- What they found ------------------------------------------------------------------------- */

static int by_order(const void *a, const void *b) {
    const clumpi_finding *x = a, *y = b;
    return (x->order > y->order) - (x->order < y->order);
}

/* The whole ring of events, for the caller to free; NULL without memory. */
static clump_status read_ring(clump_heap *heap, clumpi_event **ring) {
    clump_context *c = heap->context;
    const clumpi_checks *fixed = &heap->geometry.checked;
    *ring = clumpi_alloc(&c->allocator, fixed->events * sizeof **ring);
    if (!*ring)
        return clumpi_fail(&c->error, CLUMP_ERR_HOST_MEMORY, "no host memory for %u events",
                           fixed->events);
    return clumpi_read(c, heap->info.buffer, (uint64_t)fixed->at_events * CLUMPI_UNIT,
                       fixed->events * sizeof **ring, *ring);
}

/* Who freed the objects of references whose slots had several since: it may still be among the
 * events. */
static clump_status find_frees(clump_heap *heap, clumpi_finding *findings, uint32_t count) {
    clump_context *c = heap->context;
    const clumpi_checks *fixed = &heap->geometry.checked;
    uint32_t wanted = 0;
    for (uint32_t i = 0; i < count; i++) wanted += findings[i].is_stale && !findings[i].by_site;
    if (!wanted || !(heap->checks & CLUMP_CHECK_HISTORY)) return CLUMP_OK;
    clumpi_event *ring;
    clump_status status = read_ring(heap, &ring);
    for (uint32_t i = 0; !status && i < count; i++) {
        clumpi_finding *f = &findings[i];
        if (!f->is_stale || f->by_site) continue;
        for (uint32_t e = 0; e < fixed->events; e++) {
            if (ring[e].ref != f->ref || !(ring[e].what & 1)) continue;
            f->by_site = ring[e].site;
            f->by_item = ring[e].work_item;
        }
    }
    clumpi_free(&c->allocator, ring);
    return status;
}

/* Take over what is on the device, and clear it there. What there is no room for is counted as
 * lost. */
clump_status clumpi_checking_collect(clump_heap *heap) {
    clump_context *c = heap->context;
    clumpi_checking *k = heap->checking;
    clumpi_checks now;
    if (!heap->checks) return CLUMP_OK;
    const size_t from = offsetof(clumpi_checks, lost), findings = offsetof(clumpi_checks, findings);
    clump_status status = clumpi_read(c, heap->info.buffer, offset_of(heap, from),
                                      findings + sizeof now.findings - from, &now.lost);
    if (status) return status;
    qsort(now.findings, CLUMPI_FINDINGS, sizeof *now.findings, by_order);
    status = find_frees(heap, now.findings, CLUMPI_FINDINGS);
    if (status) return status;
    for (uint32_t i = 0; i < CLUMPI_FINDINGS; i++) {
        if (!now.findings[i].key) continue;
        if (k->kept_count < CLUMPI_FINDINGS)
            k->kept[k->kept_count++] = now.findings[i];
        else
            k->lost += now.findings[i].count;
    }
    k->lost += now.lost;
    status = clumpi_clear(c, heap->info.buffer, offset_of(heap, from),
                          2 * sizeof(clumpi_u32)); /* lost, order */
    return status
               ? status
               : clumpi_clear(c, heap->info.buffer, offset_of(heap, findings), sizeof now.findings);
}

clump_status clumpi_checking_words(clump_heap *heap, char *text, size_t bytes, int *is_told) {
    clumpi_checking *k = heap->checking;
    *is_told = 0;
    if (!heap->checks) return CLUMP_OK;
    uint32_t before = k->kept_count, lost = k->lost;
    clump_status status = clumpi_checking_collect(heap);
    if (status || before == k->kept_count) return status;
    clump_finding first;
    char more[64] = "";
    clumpi_finding_describe(heap, k->names, k->name_count, &k->kept[before], &first);
    if (k->kept_count > before + 1 || k->lost != lost)
        snprintf(more, sizeof more, ", and %u more: call clump_heap_take_findings()",
                 k->kept_count - before - 1 + (k->lost != lost));
    snprintf(text, bytes, "%.*s%s", (int)(bytes - sizeof more), first.text, more);
    *is_told = 1;
    return CLUMP_OK;
}

static clump_status refuse(clump_heap *heap, const char *call, const char *why) {
    return clumpi_fail(&heap->context->error, CLUMP_ERR_USAGE,
                       "%s: %s (see clump_heap_desc.checked)", call, why);
}

clump_status clump_heap_take_findings(clump_heap *heap, clump_finding *findings, uint64_t capacity,
                                      uint64_t *count, uint64_t *lost) {
    if (count) *count = 0;
    if (lost) *lost = 0;
    if (!heap) return CLUMP_ERR_USAGE;
    if (!count) return refuse(heap, "clump_heap_take_findings", "it needs a pointer for the count");
    clumpi_checking *k = heap->checking;
    clump_status status = clumpi_heap_refuses(heap, CLUMPI_OP_FINDINGS, "clump_heap_take_findings");
    if (!status) status = clumpi_heap_enter(heap);
    if (!status) status = clumpi_checking_collect(heap);
    if (status) return status;
    *count = k->kept_count;
    if (lost) *lost = k->lost;
    if (findings && k->kept_count > capacity)
        return clumpi_fail_room(heap, "clump_heap_take_findings", "findings", capacity, *count);
    for (uint32_t i = 0; findings && i < k->kept_count; i++)
        clumpi_finding_describe(heap, k->names, k->name_count, &k->kept[i], &findings[i]);
    k->kept_count = k->lost = 0;
    return CLUMP_OK;
}

clump_status clump_heap_check_memory(clump_heap *heap, const clump_sync *sync) {
    if (!heap) return CLUMP_ERR_USAGE;
    clump_status status = clumpi_sync_check(heap->context, sync, "clump_heap_check_memory");
    if (!status) status = clumpi_heap_refuses(heap, CLUMPI_OP_FINDINGS, "clump_heap_check_memory");
    if (!status) status = clumpi_heap_enter(heap);
    return status ? status : run_memory(heap, 1, sync);
}

/* ---- What they did --------------------------------------------------------------------------- */

clump_status clump_heap_read_events(clump_heap *heap, clump_event *events, uint64_t capacity,
                                    uint64_t *count) {
    if (count) *count = 0;
    if (!heap) return CLUMP_ERR_USAGE;
    if (!count) return refuse(heap, "clump_heap_read_events", "it needs a pointer for the count");
    if (!(heap->checks & CLUMP_CHECK_HISTORY))
        return refuse(heap, "clump_heap_read_events",
                      "the heap was made without CLUMP_CHECK_HISTORY");
    clump_context *c = heap->context;
    const clumpi_checking *k = heap->checking;
    const clumpi_checks *fixed = &heap->geometry.checked;
    clumpi_u32 next = 0;
    clump_status status = clumpi_heap_enter(heap);
    if (!status)
        status =
            clumpi_read(c, heap->info.buffer, offset_of(heap, offsetof(clumpi_checks, event_next)),
                        sizeof next, &next);
    if (status) return status;
    uint32_t kept = next < fixed->events ? next : fixed->events;
    *count = kept;
    if (!events || !kept) return CLUMP_OK;
    if (kept > capacity)
        return clumpi_fail_room(heap, "clump_heap_read_events", "events", capacity, kept);
    clumpi_event *ring;
    status = read_ring(heap, &ring);
    for (uint32_t i = 0; !status && i < kept; i++) {
        const clumpi_event *e = &ring[(next - kept + i) & (fixed->events - 1)];
        events[i] = (clump_event){.is_free = e->what & 1,
                                  .class_name = clumpi_class_name(heap, e->what >> 1),
                                  .ref = e->ref,
                                  .place = clumpi_place_of_site(k->names, k->name_count, e->site),
                                  .work_item = e->work_item};
    }
    clumpi_free(&c->allocator, ring);
    return status;
}

/* ---- Which objects there are ----------------------------------------------------------------- */

static int by_value(const void *a, const void *b) {
    clumpi_u32 x = *(const clumpi_u32 *)a, y = *(const clumpi_u32 *)b;
    return (x > y) - (x < y);
}

static int most_first(const void *a, const void *b) {
    const clump_live *x = a, *y = b;
    return (x->objects < y->objects) - (x->objects > y->objects);
}

/* Entries of one class, from live[*count] on; without `live` they are counted. */
static clump_status live_of_class(clump_heap *heap, uint32_t id, clump_live *live,
                                  uint64_t *count) {
    const clumpi_checking *k = heap->checking;
    clumpi_u32 *sites;
    uint64_t objects = 0;
    const uint64_t begin = *count;
    clump_status status = clumpi_made_read(heap, id, &sites, &objects);
    if (!status && objects) qsort(sites, (size_t)objects, sizeof *sites, by_value);
    for (uint64_t i = 0, from = 0; !status && i < objects; i++) {
        if (i + 1 < objects && sites[i + 1] == sites[i]) continue;
        if (live)
            live[*count] =
                (clump_live){.class_name = clumpi_class_name(heap, id),
                             .place = clumpi_place_of_site(k->names, k->name_count, sites[i]),
                             .objects = i + 1 - from};
        (*count)++;
        from = i + 1;
    }
    clumpi_free(&heap->context->allocator, sites);
    if (live) qsort(live + begin, *count - begin, sizeof *live, most_first);
    return status;
}

static clump_status live_of_classes(clump_heap *heap, clump_live *live, uint64_t *count) {
    clump_status status = CLUMP_OK;
    *count = 0;
    for (uint32_t id = 1; !status && id < heap->geometry.header.first_raw; id++)
        status = live_of_class(heap, id, live, count);
    return status;
}

clump_status clump_heap_read_live(clump_heap *heap, clump_live *live, uint64_t capacity,
                                  uint64_t *count) {
    if (count) *count = 0;
    if (!heap) return CLUMP_ERR_USAGE;
    if (!count) return refuse(heap, "clump_heap_read_live", "it needs a pointer for the count");
    clump_status status = clumpi_heap_refuses(heap, CLUMPI_OP_FINDINGS, "clump_heap_read_live");
    if (!status) status = clumpi_heap_enter(heap);
    if (!status) status = live_of_classes(heap, NULL, count);
    if (status || !live) return status;
    return *count > capacity
               ? clumpi_fail_room(heap, "clump_heap_read_live", "entries", capacity, *count)
               : live_of_classes(heap, live, count);
}
