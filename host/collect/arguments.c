/* What clump_heap_collect() was asked for: classes by name, and every option in its range.
 *
 * Invariant: nothing is launched and nothing changed here.
 *
 * Read first: collect.h. Read next: collect.c.
 */
#include "collect/collect.h"
#include "compact/compact.h"

#define QUEUE_ROOM_MIN 64u

static clump_status find_class(const clumpi_collection *r, const char *name,
                               clump_class_info *info) {
    return clumpi_find_class(r->heap, name, "clump_heap_collect", info);
}

static clump_status check_roots(const clumpi_collection *r) {
    const clump_collect_desc *d = r->desc;
    clump_error *e = &clumpi_heap_context(r->heap)->error;
    if (d->root_count && !d->roots)
        return clumpi_fail(e, CLUMP_ERR_USAGE,
                           "clump_heap_collect: root_count is %llu, but `roots` is NULL",
                           (unsigned long long)d->root_count);
    if (d->root_class_count && !d->root_classes)
        return clumpi_fail(e, CLUMP_ERR_USAGE,
                           "clump_heap_collect: root_class_count is %u, but `root_classes` is NULL",
                           d->root_class_count);
    clump_status status = CLUMP_OK;
    clump_class_info info;
    for (uint32_t i = 0; i < d->root_class_count && !status; i++)
        status = find_class(r, d->root_classes[i], &info);
    return status;
}

static clump_status check_marking(const clumpi_collection *r) {
    const clump_collect_desc *d = r->desc;
    const clump_mark_tuning *t = r->tuning;
    clump_error *e = &clumpi_heap_context(r->heap)->error;
    if (d->engine < CLUMP_MARK_AUTO || d->engine > CLUMP_MARK_HOST)
        return clumpi_fail(e, CLUMP_ERR_USAGE, "clump_heap_collect: unknown engine %d",
                           (int)d->engine);
    if (t->offsets < CLUMP_OFFSETS_PREFIX_SUM || t->offsets > CLUMP_OFFSETS_HISTOGRAM)
        return clumpi_fail(e, CLUMP_ERR_USAGE, "clump_heap_collect: unknown value %d of `offsets`",
                           (int)t->offsets);
    if (d->queue_room && (d->queue_room < QUEUE_ROOM_MIN || d->queue_room > UINT32_MAX / 2))
        return clumpi_fail(e, CLUMP_ERR_USAGE,
                           "clump_heap_collect: queue_room is %u, but must be %u to %u, or 0",
                           d->queue_room, QUEUE_ROOM_MIN, UINT32_MAX / 2);
    if (t->narrow > CLUMPI_NARROW_MAX && t->narrow != CLUMP_NEVER)
        return clumpi_fail(e, CLUMP_ERR_USAGE,
                           "clump_heap_collect: narrow is %u, but must be 0 to %u, or CLUMP_NEVER",
                           t->narrow, CLUMPI_NARROW_MAX);
    if (t->log && (!t->log->turns || !t->log->launches || !t->log->room ||
                   t->log->room > CLUMPI_LOG_ROOM_MAX))
        return clumpi_fail(e, CLUMP_ERR_USAGE,
                           "clump_heap_collect: a log of marking needs turns, launches, and a room "
                           "of 1 to %u, but the room is %u",
                           CLUMPI_LOG_ROOM_MAX, t->log->room);
    return CLUMP_OK;
}

static clump_status check_finaliser(const clumpi_collection *r) {
    const clump_kernel *k = r->desc->finaliser;
    clump_error *e = &clumpi_heap_context(r->heap)->error;
    if (!k) return CLUMP_OK;
    if (!r->desc->dead)
        return clumpi_fail(e, CLUMP_ERR_USAGE,
                           "clump_heap_collect: a finaliser needs a buffer `dead`, in which the "
                           "dead objects are listed");
    if (r->desc->only_mark)
        return clumpi_fail(
            e, CLUMP_ERR_USAGE,
            "clump_heap_collect: only_mark frees no objects, so no finaliser can be set with it");
    if (k->arg_count == 0)
        return clumpi_fail(e, CLUMP_ERR_USAGE,
                           "clump_heap_collect: a finaliser needs a parameter `__global const uint "
                           "*dead` after the heap");
    if (!k->fixed)
        return clumpi_fail(e, CLUMP_ERR_USAGE,
                           "clump_heap_collect: a finaliser's heap parameter must be "
                           "CLUMP_HEAP_NO_ALLOC");
    for (uint32_t i = 1; i < k->arg_count; i++)
        if (!k->args[i].bytes)
            return clumpi_fail(e, CLUMP_ERR_USAGE,
                               "clump_heap_collect: parameter %u of the finaliser is not set", i);
    return CLUMP_OK;
}

static clump_status check_dead(clumpi_collection *r) {
    const clump_collect_desc *d = r->desc;
    clump_context *c = clumpi_heap_context(r->heap);
    r->dead_first = 1;
    r->dead_last = clumpi_object_classes(r->heap);
    if (d->dead_class && !d->dead)
        return clumpi_fail(&c->error, CLUMP_ERR_USAGE,
                           "clump_heap_collect: dead_class is set, but the buffer `dead` is not");
    if (d->dead_class) {
        clump_class_info info = {0};
        clump_status status = find_class(r, d->dead_class, &info);
        if (status) return status;
        r->dead_first = info.id;
        r->dead_last = info.last;
    }
    if (!d->dead) return CLUMP_OK;
    size_t bytes = 0;
    clump_status status = clumpi_buffer_check(c, d->dead, "buffer `dead`", &bytes);
    if (status) return status;
    if (bytes < 2 * sizeof(clump_ref))
        return clumpi_fail(&c->error, CLUMP_ERR_USAGE,
                           "clump_heap_collect: the buffer `dead` has %zu bytes, but must have "
                           "room for a number and a reference, 8 bytes",
                           bytes);
    r->dead_room = bytes / sizeof(clump_ref) - 1;
    return CLUMP_OK;
}

clump_status clumpi_collect_begin(clumpi_collection *r) {
    static const clump_mark_tuning best = {0};
    r->tuning = r->desc->tuning ? r->desc->tuning : &best;
    clump_status status = check_roots(r);
    if (!status) status = check_marking(r);
    if (!status) status = check_finaliser(r);
    if (!status) status = check_dead(r);
    if (status || !r->desc->compact) return status;
    if (r->desc->only_mark)
        return clumpi_fail(&clumpi_heap_context(r->heap)->error, CLUMP_ERR_USAGE,
                           "clump_heap_collect: only_mark and compact cannot be set together");
    return clumpi_compact_check(r->heap, r->desc->compact, NULL);
}

clump_status clumpi_collect_take(const clump_collect_desc *given, clump_collect_desc *desc,
                                 clump_compact_desc *compact, clump_error *error) {
    clump_status status = CLUMPI_TAKE(clump_collect_desc, desc, given, error);
    if (!status) status = CLUMPI_TAKE(clump_compact_desc, compact, desc->compact, error);
    if (!status) status = CLUMPI_PLACE(clump_compact_report, desc->compact_report, error);
    if (desc->compact) desc->compact = compact;
    return status;
}

clump_status clumpi_collect_check(clump_heap *heap, const clump_collect_desc *desc) {
    clumpi_collection r = {.heap = heap, .desc = desc};
    return clumpi_collect_begin(&r);
}
