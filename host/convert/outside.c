/* References outside of a heap that gets another schema: registered buffers, and handles.
 *
 * Invariant: what they were is kept until the heap has its new memory, so that a failure can put it
 * back.
 * Read first: convert.h, heap/refs.c.
 */
#include "convert/convert.h"

/* References of a buffer that are looked at: as many as its word on the device says, if it has
 * one. */
static clump_status count_used(clump_context *c, const clump_refs *refs, uint64_t *count) {
    clumpi_u32 counted = 0;
    *count = refs->count;
    if (!refs->counted) return CLUMP_OK;
    clump_status status = clumpi_read(c, refs->counted, refs->counted_at, sizeof counted, &counted);
    if (counted < *count) *count = counted;
    return status;
}

static clump_status prepare(clumpi_conversion *v, clumpi_outside *o) {
    clump_context *c = clumpi_heap_context(v->heap);
    clump_status status = count_used(c, o->refs, &o->count);
    const uint64_t bytes = o->count * sizeof(clump_ref);
    if (status || !bytes) return status;
    status = clumpi_buffer_create(c, bytes, "registered references", &o->were);
    if (!status) status = clumpi_buffer_create(c, bytes, "registered references", &o->become);
    const clumpi_u64 at = o->refs->offset / sizeof(clump_ref),
                     stride = o->refs->stride / sizeof(clump_ref);
    const clumpi_arg args[] = {{sizeof o->refs->buffer, &o->refs->buffer},
                               {sizeof at, &at},
                               {sizeof stride, &stride},
                               {sizeof o->count, &o->count},
                               {sizeof o->were, &o->were},
                               {sizeof o->become, &o->become},
                               {sizeof v->wrong, &v->wrong}};
    return status ? status : clumpi_convert_run(v, CLUMPI_CONVERT_KERNEL(convert_outside), args, 7);
}

clump_status clumpi_outside_prepare(clumpi_conversion *v) {
    clump_context *c = clumpi_heap_context(v->heap);
    clumpi_convert_wrong wrong = {0};
    uint32_t count = 0;
    for (const clump_refs *r = clumpi_refs_first(v->heap); r; r = r->next) count++;
    if (!count) return CLUMP_OK;
    v->outside = clumpi_alloc(&c->allocator, count * sizeof *v->outside);
    if (!v->outside)
        return clumpi_fail(&c->error, CLUMP_ERR_HOST_MEMORY,
                           "no host memory for registered references");
    clump_status status = clumpi_clear(c, v->wrong, 0, sizeof wrong);
    for (const clump_refs *r = clumpi_refs_first(v->heap); r && !status; r = r->next) {
        v->outside[v->outside_count].refs = r;
        status = prepare(v, &v->outside[v->outside_count++]);
    }
    if (!status) status = clumpi_read(c, v->wrong, 0, sizeof wrong, &wrong);
    v->report.dangling += wrong.dangling;
    return status;
}

static clump_status put(clump_context *c, const clumpi_outside *o, cl_mem words) {
    const clumpi_launch_sizes *sizes = &c->sizes;
    const clumpi_u64 at = o->refs->offset / sizeof(clump_ref),
                     stride = o->refs->stride / sizeof(clump_ref);
    const clumpi_arg args[] = {{sizeof o->refs->buffer, &o->refs->buffer},
                               {sizeof at, &at},
                               {sizeof stride, &stride},
                               {sizeof o->count, &o->count},
                               {sizeof words, &words}};
    if (!o->count) return CLUMP_OK;
    return clumpi_run_kernel(c, CLUMPI_CONVERT_KERNEL(convert_commit), sizes->do_all_global,
                             sizes->do_all_local, args, 5, NULL);
}

clump_status clumpi_outside_change(clumpi_conversion *v) {
    clump_context *c = clumpi_heap_context(v->heap);
    clump_status status = CLUMP_OK;
    while (v->changed < v->outside_count && !status) {
        const clumpi_outside *o = &v->outside[v->changed++];
        status = put(c, o, o->become);
    }
    return status;
}

void clumpi_outside_take_back(clumpi_conversion *v) {
    clump_context *c = clumpi_heap_context(v->heap);
    const clump_error error = c->error; /* keep the cause */
    for (uint32_t i = 0; i < v->changed; i++) (void)put(c, &v->outside[i], v->outside[i].were);
    if (v->changed) (void)clumpi_finish(c);
    v->changed = 0;
    c->error = error;
}

void clumpi_outside_close(clumpi_conversion *v) {
    clump_context *c = clumpi_heap_context(v->heap);
    for (uint32_t i = 0; i < v->outside_count; i++) {
        clumpi_buffer_release(c, &v->outside[i].were);
        clumpi_buffer_release(c, &v->outside[i].become);
    }
    clumpi_free(&c->allocator, v->outside);
}
