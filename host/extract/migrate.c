/* Objects from one heap to another (extract.h): taken out, put in, and freed where they were.
 *
 * Invariant: they are freed when they are in the other heap. If that fails they go there again, so
 * they are always in one heap and in one only.
 *
 * Read first: extract.h, take.c, insert.c.
 */
#include <string.h>

#include "extract/extract.h"
#include "save/staging.h"

/* Bytes of a piece. Two H200 move 22 GB/s by the first, and 42 to 47 by the second. */
#define PIECE_LEAST (256u << 10)
#define PIECE_MOST (4u << 20)

typedef struct migrating {
    clump_heap *from, *into;
    clump_insert_desc insert;
    clump_extract *taken, *arrived; /* arrived: the same, if the contexts are not */
    cl_mem chosen;                  /* in `from` */
    cl_mem refs;                    /* in `into`; NULL: the caller has a buffer */
} migrating;

/* Those under way, by place. */
typedef struct transfers {
    uint32_t piece; /* bytes */
    cl_event reads[CLUMPI_PLACES], writes[CLUMPI_PLACES];
} transfers;

/* What failed there is told here. */
static clump_status tell(const migrating *m, clump_status status) {
    if (status && clumpi_heap_context(m->into) != clumpi_heap_context(m->from))
        clumpi_heap_context(m->from)->error = clumpi_heap_context(m->into)->error;
    return status;
}

/* Devices of one cl_context share its buffers: OpenCL brings this one to the other device when that
 * uses it. All that was written to it is done. */
static clump_status share(migrating *m) {
    clump_context *here = clumpi_heap_context(m->from);
    if (!m->taken->info.buffer) return CLUMP_OK;
    cl_int code = here->cl.RetainMemObject(m->taken->info.buffer);
    if (code) return clumpi_fail_cl(&here->error, "clRetainMemObject", code, "an extract");
    m->arrived->info.buffer = m->taken->info.buffer;
    return CLUMP_OK;
}

static clump_status flush(clump_context *c) {
    const cl_int code = c->cl.Flush(c->current->queue); /* else it begins when somebody waits */
    return code ? clumpi_fail_cl(&c->error, "clFlush", code, "an extract") : CLUMP_OK;
}

/* Piece k comes from the one device while piece k - 1 goes to the other. */
static clump_status move_pieces(migrating *m, const clumpi_staging *staging, transfers *t) {
    clump_context *here = clumpi_heap_context(m->from), *there = clumpi_heap_context(m->into);
    const uint64_t bytes = m->taken->info.bytes, piece = t->piece;
    const uint64_t count = (bytes + piece - 1) / piece;
    clump_status status = CLUMP_OK;
    for (uint64_t k = 0; k <= count && !status; k++) {
        const uint64_t at = k * piece, place = k % CLUMPI_PLACES;
        if (k < count) {
            status = tell(m, clumpi_transfer_wait(there, &t->writes[place]));
            if (!status)
                status = clumpi_read_start(here, m->taken->info.buffer, at,
                                           k + 1 < count ? piece : bytes - at,
                                           staging->places[place].memory, NULL, &t->reads[place]);
            if (!status) status = flush(here);
        }
        if (!k || status) continue;
        const uint64_t before = at - piece, there_place = (k - 1) % CLUMPI_PLACES;
        status = clumpi_transfer_wait(here, &t->reads[there_place]);
        if (!status)
            status = tell(m, clumpi_write_start(there, m->arrived->info.buffer, before,
                                                k < count ? piece : bytes - before,
                                                staging->places[there_place].memory, NULL,
                                                &t->writes[there_place]));
        if (!status) status = tell(m, flush(there));
    }
    return status;
}

/* Host memory that the context of `from` keeps: drivers move 7 to 13 GB/s through memory that they
 * have not pinned, and less between two devices of one cl_context (docs/portability.md). */
static clump_status move_through_host(migrating *m) {
    clump_context *here = clumpi_heap_context(m->from), *there = clumpi_heap_context(m->into);
    transfers t = {.piece = PIECE_LEAST};
    clumpi_staging *staging = NULL;
    while (t.piece < PIECE_MOST && (uint64_t)t.piece * CLUMPI_PLACES < m->taken->info.bytes)
        t.piece *= 2;
    clump_status status = tell(m, clumpi_extract_open(m->arrived, NULL));
    if (status || !m->taken->info.bytes) return status;
    status = clumpi_staging_open_host(here, t.piece, &staging);
    if (!status) status = move_pieces(m, staging, &t);
    const clump_error error = here->error; /* keep the cause */
    for (uint32_t i = 0; i < CLUMPI_PLACES; i++) {
        const clump_status read = clumpi_transfer_wait(here, &t.reads[i]),
                           written = tell(m, clumpi_transfer_wait(there, &t.writes[i]));
        if (!status) status = read ? read : written;
    }
    clumpi_staging_close(staging, !status);
    if (error.status == status) here->error = error;
    return status;
}

static int can_share(const clump_context *here, const clump_context *there) {
    return here->context == there->context &&
           (here->device == there->device ||
            (here->capabilities.is_cpu && there->capabilities.is_cpu));
}

/* To the other heap's context. */
static clump_status carry(migrating *m) {
    clump_context *here = clumpi_heap_context(m->from), *there = clumpi_heap_context(m->into);
    if (here == there) return CLUMP_OK;
    clump_status status = tell(m, clumpi_extract_create(there, m->taken->schema, &m->arrived));
    if (!status) status = tell(m, clumpi_extract_set_objects(m->arrived, m->taken->objects + 1));
    for (uint32_t i = 0; !status && i < m->arrived->array_count; i++)
        m->arrived->elements[i] = m->taken->elements[i];
    if (!status) status = tell(m, clumpi_extract_set_columns(m->arrived));
    if (status) return status;
    return can_share(here, there) ? share(m) : move_through_host(m);
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
