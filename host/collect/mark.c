/* Marking: the buffer of marks, roots, and steps in batches until nothing is left to do.
 *
 * Invariant: between collections the words of grey objects are 0. A buffer of which that is not
 * known is let go of (collect.c).
 *
 * Read first: collect.h, cl/collect/mark.cl.
 */
#include <assert.h>
#include <stddef.h>

#include "collect/collect.h"

static const char *const kernel_files[] = {
    "cl/core/layout.h",     "cl/core/prelude.clh", "cl/core/bitmap.clh",  "cl/core/segments.clh",
    "cl/core/block.clh",    "cl/core/scan.clh",    "cl/compact/layout.h", "cl/compact/plan.clh",
    "cl/compact/reach.clh", "cl/collect/layout.h", "cl/collect/mark.clh", "cl/collect/mark.cl",
    "cl/collect/sweep.cl"};
static const char *const kernel_names[] = {CLUMPI_COLLECT_KERNELS(CLUMPI_KERNEL_NAME)};
static const clumpi_library with_arrays = CLUMPI_LIBRARY("-DCLUMPI_REF_ARRAYS=1", NULL);
const clumpi_library clumpi_collect_library = CLUMPI_LIBRARY(NULL, &with_arrays);

#define NARROW_PRESET 512u
#define WIDE_PRESET 16u
#define QUEUE_ROOM_LEAST 4096u
/* Steps between two readings of the control block: doubled each time, up to the second number;
 * while the host may take over, the first. */
#define BATCH_FIRST 4u
#define BATCH_MOST 32u

#define LEVELS_FIRST 16u /* of one work-group in a launch, while the host may be better at it */

clump_status clumpi_collect_run_on(clumpi_collection *r, clump_collect_phase phase,
                                   clumpi_kernel_id id, size_t groups, size_t local,
                                   const clumpi_arg *args, uint32_t arg_count) {
    clumpi_arg all[1 + CLUMPI_MARK_ARGS] = {{sizeof r->marks->buffer, &r->marks->buffer}};
    assert(arg_count <= CLUMPI_MARK_ARGS);
    for (uint32_t i = 0; i < arg_count; i++) all[1 + i] = args[i];
    return clumpi_timed_run(r->heap, &r->timed, phase, id, groups, local, all, 1 + arg_count);
}

clump_status clumpi_collect_run(clumpi_collection *r, clump_collect_phase phase,
                                clumpi_kernel_id id, const clumpi_arg *args, uint32_t arg_count) {
    const clumpi_launch_sizes *sizes = &clumpi_heap_context(r->heap)->sizes;
    return clumpi_collect_run_on(r, phase, id, sizes->pass_groups, sizes->do_all_local, args,
                                 arg_count);
}

clump_status clumpi_collect_outside(clumpi_collection *r, clump_collect_phase phase,
                                    clumpi_kernel_id id, const clump_refs *refs) {
    uint64_t offset = refs->offset / 4, count = refs->count, counted_at = refs->counted_at / 4;
    clumpi_u32 stride = refs->stride / 4;
    clumpi_arg args[] = {{sizeof refs->buffer, &refs->buffer},
                         {sizeof offset, &offset},
                         {sizeof stride, &stride},
                         {sizeof count, &count},
                         {sizeof refs->counted, &refs->counted},
                         {sizeof counted_at, &counted_at}};
    return clumpi_collect_run(r, phase, id, args, 6);
}

/* ---- The buffer ------------------------------------------------------------------------------ */

/* GPUs do without sweeps over rows unless they are asked for: on an H200 they take five times as
 * long as the queue (`mark-random`, 10^7 objects). */
static clumpi_u32 by_queue_alone(const clumpi_collection *r) {
    return r->desc->engine == CLUMP_MARK_QUEUE ||
           (r->desc->engine == CLUMP_MARK_AUTO &&
            clumpi_heap_context(r->heap)->capabilities.personality == CLUMP_PERSONALITY_GPU);
}

/* Room of the queue where the desc leaves it open. */
static uint32_t preset_room(const clumpi_collection *r) {
    const clumpi_geometry *g = clumpi_heap_geometry(r->heap);
    uint64_t granules = clumpi_mark_granules(r->heap), room = granules / 2;
    if (by_queue_alone(r)) {
        uint32_t smallest = UINT32_MAX; /* row, in granules */
        for (uint32_t id = 1; id <= clumpi_object_classes(r->heap); id++)
            if (g->classes[id].rows && g->classes[id].row_granules < smallest)
                smallest = g->classes[id].row_granules;
        room = granules / smallest * CLUMP_ROW_SLOTS / 8;
    }
    return room < QUEUE_ROOM_LEAST ? QUEUE_ROOM_LEAST : (uint32_t)room;
}

/* References of an object of exactly the class, those of weak fields left out. */
static uint32_t count_refs(const clump_schema *schema, uint32_t class_id) {
    uint32_t count = 0;
    clump_field_info f;
    for (clumpi_field_walk w = {.schema = schema, .class_id = class_id}; clumpi_next_ref(&w, &f);)
        if (!f.weak) count += clumpi_elements(&f);
    return count;
}

static void release_marks(clumpi_attachment *base, clump_context *c) {
    clumpi_marks *marks = (clumpi_marks *)base;
    clumpi_buffer_release(c, &marks->buffer);
    clumpi_free(&c->allocator, marks);
}

clumpi_marks *clumpi_marks_of(clump_heap *heap) {
    static const char key;
    return clumpi_heap_keep(heap, &key, sizeof(clumpi_marks), release_marks);
}

static clump_status make_buffer(clumpi_collection *r, uint32_t capacity, uint32_t log_room) {
    clump_heap *heap = r->heap;
    clump_context *c = clumpi_heap_context(heap);
    const uint64_t granules = clumpi_mark_granules(heap);
    clumpi_marks_head head = {.control = {.capacity = capacity}};
    clumpi_marks made = {.base = r->marks->base,
                         .capacity = capacity,
                         .log_room = log_room,
                         .bytes = clumpi_marks_end(granules, capacity, log_room)};
    for (uint32_t id = 1; id <= clumpi_object_classes(heap); id++)
        head.refs_of[id] = count_refs(clumpi_heap_schema(heap), id);
    clump_status status = clumpi_buffer_create(c, made.bytes, "marks", &made.buffer);
    if (!status)
        status = clumpi_clear(c, made.buffer, 0, clumpi_marks_queue_at(granules, capacity, 0));
    if (!status) status = clumpi_write(c, made.buffer, 0, sizeof head, &head);
    if (status) {
        clumpi_buffer_release(c, &made.buffer);
        return status;
    }
    clumpi_buffer_release(c, &r->marks->buffer);
    *r->marks = made;
    return CLUMP_OK;
}

/* A CPU is as good at it as the host. */
static int may_hand_over(const clumpi_collection *r) {
    return r->desc->engine == CLUMP_MARK_AUTO && !r->tuning->stay &&
           clumpi_heap_context(r->heap)->capabilities.personality == CLUMP_PERSONALITY_GPU;
}

static clump_status prepare(clumpi_collection *r) {
    const clump_collect_desc *d = r->desc;
    const clump_mark_tuning *t = r->tuning;
    uint32_t room = d->queue_room ? d->queue_room : preset_room(r);
    uint32_t log_room = t->log ? t->log->room : 0;
    clump_status status = CLUMP_OK;
    if (!r->marks->buffer || r->marks->capacity != room || r->marks->log_room != log_room)
        status = make_buffer(r, room, log_room);
    if (!status) status = clumpi_collect_log_begin(r);
    if (status) return status;
    uint32_t narrow = t->narrow == CLUMP_NEVER ? 0 : t->narrow ? t->narrow : NARROW_PRESET;
    uint64_t rows = clumpi_mark_granules(r->heap);
    clumpi_mark_control *m = &r->control;
    *m =
        (clumpi_mark_control){.capacity = room,
                              .narrow = narrow,
                              .wide = t->wide ? t->wide : WIDE_PRESET,
                              .rows_above = rows < narrow ? narrow : (clumpi_u32)rows,
                              .refill = by_queue_alone(r),
                              .levels_most = may_hand_over(r) ? LEVELS_FIRST : CLUMPI_NARROW_LEVELS,
                              .log_room = log_room,
                              .team = t->team ? t->team : CLUMPI_MARK_ITEMS,
                              .histogram = t->offsets == CLUMP_OFFSETS_HISTOGRAM};
    if (by_queue_alone(r)) m->rows_above = UINT32_MAX;
    if (d->engine == CLUMP_MARK_ROWS) m->rows_above = narrow;
    m->rows_below = d->engine == CLUMP_MARK_ROWS ? narrow : m->rows_above / 4;
    m->scanned[0] = UINT32_MAX; /* nothing is known of the sweep before the first */
    return clumpi_write(clumpi_heap_context(r->heap), r->marks->buffer,
                        offsetof(clumpi_marks_head, control), sizeof *m, m);
}

clump_status clumpi_collect_read(clumpi_collection *r) {
    clump_status status =
        clumpi_read(clumpi_heap_context(r->heap), r->marks->buffer,
                    offsetof(clumpi_marks_head, control), sizeof r->control, &r->control);
    r->report.readbacks += !status;
    return status ? status : clumpi_timed_read(clumpi_heap_context(r->heap), &r->timed);
}

/* ---- Roots ----------------------------------------------------------------------------------- */

static clump_status mark_desc_roots(clumpi_collection *r) {
    const clump_collect_desc *d = r->desc;
    clump_context *c = clumpi_heap_context(r->heap);
    if (!d->root_count) return CLUMP_OK;
    uint64_t bytes = d->root_count * sizeof *d->roots;
    clump_refs refs = {.count = d->root_count, .stride = sizeof *d->roots};
    clump_status status = clumpi_buffer_create(c, bytes, "roots", &refs.buffer);
    if (!status) status = clumpi_write(c, refs.buffer, 0, bytes, d->roots);
    if (!status) status = clumpi_checking_bare(r->heap, refs.buffer, 0, d->root_count);
    if (!status)
        status = clumpi_collect_outside(r, CLUMP_COLLECT_ROOTS, CLUMPI_COLLECT_KERNEL(mark_roots),
                                        &refs);
    clumpi_buffer_release(c, &refs.buffer);
    return status;
}

static clump_status mark_roots(clumpi_collection *r) {
    const clump_collect_phase phase = CLUMP_COLLECT_ROOTS;
    clump_status status = clumpi_collect_run(r, phase, CLUMPI_COLLECT_KERNEL(mark_begin), NULL, 0);
    if (r->chosen) {
        clumpi_arg arg = {sizeof r->chosen, &r->chosen};
        return status ? status
                      : clumpi_collect_run(r, phase, CLUMPI_COLLECT_KERNEL(mark_chosen), &arg, 1);
    }
    for (const clump_refs *s = clumpi_refs_first(r->heap); s && !status; s = s->next)
        if (!s->weak)
            status = clumpi_collect_outside(r, phase, CLUMPI_COLLECT_KERNEL(mark_roots), s);
    if (!status) status = mark_desc_roots(r);
    for (uint32_t i = 0; i < r->desc->root_class_count && !status; i++) {
        clump_class_info info =
            *clump_schema_find_class(clumpi_heap_schema(r->heap), r->desc->root_classes[i]);
        clumpi_arg args[] = {{sizeof info.id, &info.id}, {sizeof info.last, &info.last}};
        status = clumpi_collect_run(r, phase, CLUMPI_COLLECT_KERNEL(mark_classes), args, 2);
    }
    return status;
}

/* ---- Steps ----------------------------------------------------------------------------------- */

static uint64_t progress(const clumpi_mark_control *m) {
    return (uint64_t)m->levels + m->sweeps + m->refills;
}

/* Is what is left narrow, so that the host may take over? */
static int is_narrow(const clumpi_collection *r, clumpi_u32 step) {
    const clumpi_mark_control *m = &r->control;
    return may_hand_over(r) && m->path == CLUMPI_MARK_NARROW && !m->grey[step % 3] &&
           m->queued[step % 3] <= m->narrow;
}

/* What copies for the host would take. */
static clump_status predict_copies(clumpi_collection *r) {
    clump_heap *heap = r->heap;
    const clumpi_header *h = &clumpi_heap_geometry(heap)->header;
    clump_heap_stats all;
    clump_status status = clumpi_read_stats(heap, &all, NULL);
    if (status) return status;
    uint64_t block_bytes = (uint64_t)h->block_granules * h->granule_bytes;
    uint64_t bytes = block_bytes * (all.blocks - all.free_blocks) + 24 * clumpi_mark_granules(heap);
    r->copies_us = clumpi_hand_over_us((double)bytes);
    return CLUMP_OK;
}

/* Has it been narrow for so long that the host should go on? If not yet, the next launches do more
 * levels. */
static clump_status look_at_narrow(clumpi_collection *r, clumpi_u32 step, int *hand_over) {
    clumpi_mark_control *m = &r->control;
    clump_status status = CLUMP_OK;
    int host_is_faster = m->queued[step % 3] * CLUMPI_HOST_OBJECT_US < CLUMPI_LEVEL_US;
    if (host_is_faster && !r->copies_us && r->narrow_us > clumpi_hand_over_us(0))
        status = predict_copies(r);
    *hand_over = host_is_faster && r->copies_us > 0 && r->narrow_us > r->copies_us;
    if (status || *hand_over) return status;
    if (m->levels_most < CLUMPI_NARROW_LEVELS) m->levels_most *= 2;
    return clumpi_write(clumpi_heap_context(r->heap), r->marks->buffer,
                        offsetof(clumpi_marks_head, control.levels_most), sizeof m->levels_most,
                        &m->levels_most);
}

static clump_status mark_device(clumpi_collection *r) {
    clump_status status = CLUMP_OK;
    clumpi_mark_control *m = &r->control;
    const clumpi_launch_sizes *sizes = &clumpi_heap_context(r->heap)->sizes;
    size_t groups = sizes->pass_groups;
    if (r->tuning->groups && r->tuning->groups < groups) groups = r->tuning->groups;
    clumpi_u32 step = 0;
    uint32_t batch = BATCH_FIRST;
    while (!status) {
        int hand_over = 0;
        uint64_t before = progress(m);
        double start = clumpi_now_ns();
        for (uint32_t i = 0; i < batch && !status; i++, step++) {
            clumpi_arg args[] = {{sizeof step, &step}};
            status = clumpi_collect_run_on(r, CLUMP_COLLECT_MARK, CLUMPI_COLLECT_KERNEL(mark_step),
                                           groups, sizes->do_all_local, args, 1);
        }
        if (!status) status = clumpi_collect_read(r);
        if (status || (!m->queued[step % 3] && !m->grey[step % 3])) break;
        if (progress(m) == before || progress(m) > 256 * clumpi_mark_granules(r->heap))
            status = clumpi_fail(&clumpi_heap_context(r->heap)->error, CLUMP_ERR_CORRUPT,
                                 "clump_heap_collect: marking did not end, which can only happen "
                                 "if memory was overwritten");
        if (!status && is_narrow(r, step)) {
            r->narrow_us += 1e-3 * (clumpi_now_ns() - start);
            status = look_at_narrow(r, step, &hand_over);
            batch = BATCH_FIRST; /* the levels of a step are doubled */
        } else if (batch < BATCH_MOST) {
            batch *= 2;
        }
        if (status || !hand_over) continue;
        m->levels_most = LEVELS_FIRST; /* should it come back */
        r->narrow_us = 0;
        status = clumpi_collect_mark_host(r, step, 1);
        if (!m->grey[step % 3]) break;
    }
    return status ? status : clumpi_collect_log_end(r, step);
}

clump_status clumpi_collect_mark(clumpi_collection *r) {
    clump_status status = prepare(r);
    if (!status) status = mark_roots(r);
    if (status || r->desc->engine != CLUMP_MARK_HOST) return status ? status : mark_device(r);
    status = clumpi_collect_read(r);
    if (!status) status = clumpi_collect_mark_host(r, 0, 0);
    return status ? status : clumpi_collect_log_end(r, 0);
}
