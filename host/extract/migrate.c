/* Objects from one heap to another (extract.h): taken out, put in, and freed where they were.
 *
 * Invariant: they are freed when they are in the other heap. If that fails they go there again, so
 * they are always in one heap and in one only.
 *
 * Read first: extract.h, take.c, insert.c.
 */
#include <string.h>

#include "extract/extract.h"

typedef struct migrating {
    clump_heap *from, *into;
    clump_insert_desc insert;
    clump_extract *taken, *arrived; /* arrived: the same, if the contexts are not */
    cl_mem chosen;                  /* in `from` */
    cl_mem refs;                    /* in `into`; NULL: the caller has a buffer */
} migrating;

/* What failed there is told here. */
static clump_status tell(const migrating *m, clump_status status) {
    if (status && clumpi_heap_context(m->into) != clumpi_heap_context(m->from))
        clumpi_heap_context(m->from)->error = clumpi_heap_context(m->into)->error;
    return status;
}

/* Devices of one cl_context share its buffers: OpenCL brings this one to the other device when that
 * uses it. All that was written to it is done. */
static clump_status share(migrating *m) {
    clump_context *here = clumpi_heap_context(m->from), *there = clumpi_heap_context(m->into);
    clump_status status = tell(m, clumpi_extract_create(there, m->taken->schema, &m->arrived));
    if (!status) status = tell(m, clumpi_extract_set_objects(m->arrived, m->taken->objects + 1));
    for (uint32_t i = 0; !status && i < m->arrived->array_count; i++)
        m->arrived->elements[i] = m->taken->elements[i];
    if (!status) status = tell(m, clumpi_extract_set_columns(m->arrived));
    if (status) return status;
    if (!m->taken->info.buffer) return CLUMP_OK;
    cl_int code = there->cl.RetainMemObject(m->taken->info.buffer);
    if (code) return clumpi_fail_cl(&here->error, "clRetainMemObject", code, "an extract");
    m->arrived->info.buffer = m->taken->info.buffer;
    return CLUMP_OK;
}

/* Through the host, unless both heaps are of one context or of one cl_context. */
static clump_status carry(migrating *m) {
    clump_context *here = clumpi_heap_context(m->from), *there = clumpi_heap_context(m->into);
    const uint64_t bytes = m->taken->info.bytes;
    if (here == there) return CLUMP_OK;
    if (here->context == there->context) return share(m);
    void *data = clumpi_alloc(&here->allocator, bytes);
    if (!data)
        return clumpi_fail(&here->error, CLUMP_ERR_HOST_MEMORY, "no host memory for %llu bytes",
                           (unsigned long long)bytes);
    clump_status status = clump_extract_read(m->taken, data, bytes);
    if (!status)
        status = tell(m, clump_extract_create(there, m->taken->schema, m->taken->objects + 1, data,
                                              bytes, &m->arrived, NULL));
    clumpi_free(&here->allocator, data);
    return status;
}

/* The references are needed here, if the objects are to go again. */
static clump_status put_in(migrating *m) {
    const uint64_t bytes = m->taken->objects[0] * sizeof(clump_ref);
    clump_status status = CLUMP_OK;
    if (!m->insert.ref_buffer && bytes) {
        status = clumpi_buffer_create(clumpi_heap_context(m->into), bytes, "references", &m->refs);
        m->insert.ref_buffer = m->refs;
        m->insert.ref_buffer_at = 0;
    }
    if (!status)
        status = clump_heap_insert(m->into, m->arrived ? m->arrived : m->taken, &m->insert);
    return tell(m, status);
}

static clump_status free_taken(migrating *m) {
    clump_context *here = clumpi_heap_context(m->from);
    int is_freed = 0;
    clump_status status = clumpi_heap_enter(m->from); /* the other one came between */
    if (!status) status = clumpi_chosen_free(m->from, m->chosen, &is_freed);
    if (is_freed) return status;
    const clump_error error = here->error; /* keep the cause */
    (void)clumpi_heap_enter(m->into);
    (void)clumpi_free_refs(m->into, m->insert.ref_buffer,
                           m->insert.ref_buffer_at / sizeof(clump_ref), m->taken->objects[0]);
    here->error = error;
    return status;
}

clump_status clump_heap_migrate(clump_heap *heap, const clump_extract_desc *desc, clump_heap *into,
                                const clump_insert_desc *insert, clump_extract **extract,
                                clump_extract_report *report) {
    clump_extract_desc own;
    clump_extract_report taken = {0};
    if (extract) *extract = NULL;
    clump_status status = CLUMPI_PLACE(clump_extract_report, report, clumpi_heap_error(heap));
    if (!heap || !into) return CLUMP_ERR_USAGE;
    clump_context *c = clumpi_heap_context(heap);
    if (status) return status;
    if (!desc || heap == into)
        return clumpi_fail(&c->error, CLUMP_ERR_USAGE,
                           desc ? "clump_heap_migrate: the two heaps must be different"
                                : "clump_heap_migrate needs a description");
    migrating m = {.from = heap, .into = into};
    status = CLUMPI_TAKE(clump_extract_desc, &own, desc, &c->error);
    if (!status) status = CLUMPI_TAKE(clump_insert_desc, &m.insert, insert, &c->error);
    if (status) return status;
    status = clumpi_take(heap, &own, &m.taken, &taken, &m.chosen);
    if (!status) status = carry(&m);
    if (!status) status = put_in(&m);
    if (!status && taken.objects) status = free_taken(&m);
    clumpi_chosen_release(heap, &m.chosen);
    clumpi_buffer_release(clumpi_heap_context(into), &m.refs);
    clump_extract_destroy(m.arrived);
    if (!status || status == CLUMP_ERR_DEVICE_MEMORY || status == CLUMP_ERR_TOO_SMALL)
        CLUMPI_GIVE(report, taken);
    if (status || !extract)
        clump_extract_destroy(m.taken);
    else
        *extract = m.taken;
    return status;
}
