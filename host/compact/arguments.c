/* What clump_heap_compact() was asked for: classes by name, and every option of its strategy in its
 * range.
 *
 * Invariant: nothing is launched and nothing changed here.
 *
 * Read first: compact.h. Read next: compact.c.
 */
#include <math.h>

#include "compact/compact.h"

/* Mark a class with its subclasses. */
static clump_status select_class(clumpi_compaction *r, const char *name) {
    clump_class_info info;
    clump_status status = clumpi_find_class(r->heap, name, "clump_heap_compact", &info);
    if (status) return status;
    for (uint32_t id = info.id; id <= info.last; id++)
        r->selected[id / 64] |= UINT64_C(1) << id % 64;
    return CLUMP_OK;
}

static clump_status select_classes(clumpi_compaction *r) {
    const clump_compact_desc *d = r->desc;
    uint32_t count = clumpi_object_classes(r->heap);
    if (d->class_count && !d->classes)
        return clumpi_fail(&clumpi_heap_context(r->heap)->error, CLUMP_ERR_USAGE,
                           "clump_heap_compact: class_count is %u, but `classes` is NULL",
                           d->class_count);
    clump_status status = CLUMP_OK;
    for (uint32_t i = 0; i < d->class_count && !status; i++)
        status = select_class(r, d->classes[i]);
    if (!d->class_count)
        for (uint32_t id = 1; id <= count; id++) r->selected[id / 64] |= UINT64_C(1) << id % 64;
    return status;
}

/* Each concrete class that takes part must have the field of CLUMP_ORDER_FIELD. */
static clump_status check_order_field(const clumpi_compaction *r) {
    clump_error *e = &clumpi_heap_context(r->heap)->error;
    const char *name = r->desc->order_field;
    if (!name)
        return clumpi_fail(e, CLUMP_ERR_USAGE,
                           "clump_heap_compact: CLUMP_ORDER_FIELD needs an order_field");
    for (uint32_t id = 1; id <= clumpi_object_classes(r->heap); id++) {
        clump_class_info info;
        clump_field_info f;
        info = *clump_schema_get_info(clumpi_heap_schema(r->heap))->classes[id];
        if (info.is_abstract || !clumpi_is_selected(r, id)) continue;
        clump_status status = clumpi_find_field(r->heap, &info, name, "clump_heap_compact", &f);
        if (status) return status;
        if ((f.type != CLUMP_TYPE_REF && f.type != CLUMP_TYPE_UINT) || f.width > 1 || f.count)
            return clumpi_fail(e, CLUMP_ERR_USAGE,
                               "clump_heap_compact: an order_field must be a reference or a uint, "
                               "but field %s of class %s is neither",
                               name, info.name);
    }
    return CLUMP_OK;
}

static clump_status check_order(const clumpi_compaction *r) {
    const clump_compact_desc *d = r->desc;
    clump_error *e = &clumpi_heap_context(r->heap)->error;
    if (d->order < CLUMP_ORDER_ANY || d->order > CLUMP_ORDER_KEY)
        return clumpi_fail(e, CLUMP_ERR_USAGE, "clump_heap_compact: unknown order %d",
                           (int)d->order);
    if (d->order != CLUMP_ORDER_FIELD && d->order_field)
        return clumpi_fail(
            e, CLUMP_ERR_USAGE,
            "clump_heap_compact: order_field can only be set with CLUMP_ORDER_FIELD");
    if (d->order != CLUMP_ORDER_KEY && d->key_kernel)
        return clumpi_fail(e, CLUMP_ERR_USAGE,
                           "clump_heap_compact: key_kernel can only be set with CLUMP_ORDER_KEY");
    if (d->order != CLUMP_ORDER_ANY && (d->max_moves || d->max_us > 0 || d->slack > 0))
        return clumpi_fail(e, CLUMP_ERR_USAGE,
                           "clump_heap_compact: an order moves all objects into full blocks, so "
                           "steps and slack cannot be set with it");
    if (d->order == CLUMP_ORDER_FIELD) return check_order_field(r);
    if (d->order != CLUMP_ORDER_KEY) return CLUMP_OK;
    if (!d->key_kernel || d->key_kernel->arg_count == 0)
        return clumpi_fail(e, CLUMP_ERR_USAGE,
                           "clump_heap_compact: the order needs a key_kernel with a parameter "
                           "`__global uint *keys` after the heap");
    if (!d->key_kernel->fixed)
        return clumpi_fail(
            e, CLUMP_ERR_USAGE,
            "clump_heap_compact: a key kernel's heap parameter must be CLUMP_HEAP_NO_ALLOC");
    return CLUMP_OK;
}

static clump_status check_planner(const clumpi_compaction *r) {
    const clump_compact_desc *d = r->desc;
    clump_error *e = &clumpi_heap_context(r->heap)->error;
    if (!(d->slack >= 0 && d->slack <= 1))
        return clumpi_fail(e, CLUMP_ERR_USAGE,
                           "clump_heap_compact: slack is %g, but must be 0 to 1", d->slack);
    if (!(d->max_us >= 0) || isinf(d->max_us))
        return clumpi_fail(e, CLUMP_ERR_USAGE,
                           "clump_heap_compact: max_us is %g, but must be 0 (no limit) or above",
                           d->max_us);
    if (d->max_moves && d->max_us > 0)
        return clumpi_fail(e, CLUMP_ERR_USAGE,
                           "clump_heap_compact: set only one of max_moves and max_us");
    return check_order(r);
}

clump_status clumpi_compact_begin(clumpi_compaction *r) {
    clump_status status = select_classes(r);
    if (status) return status;
    clumpi_owned_select(r);
    return r->strategy ? r->strategy->check(r) : check_planner(r);
}

clump_status clumpi_compact_check(clump_heap *heap, const clump_compact_desc *desc,
                                  const clumpi_strategy *strategy) {
    clumpi_compaction r = {.heap = heap, .desc = desc, .strategy = strategy};
    return clumpi_compact_begin(&r);
}
