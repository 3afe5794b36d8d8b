/* An extract of a saved heap.
 *
 * A saved heap has the columns of an extract, in the same order and with the same numbers for
 * references (docs/internals/save.md), cut into pieces. So a piece goes where it belongs in the
 * buffer, and nothing has to be computed.
 *
 * Invariant: a piece is written after its checksum and its references were compared.
 *
 * Read first: extract.h, save/format.h.
 */
#include <string.h>

#include "extract/extract.h"
#include "save/format.h"

typedef struct loading {
    clump_context *context;
    clump_extract *extract; /* NULL until the head was read */
    clumpi_column_walk walk;
    clump_status status; /* of the device; the context's error has words */
} loading;

static int make(void *user, const clump_saved *saved) {
    loading *l = user;
    l->status = clumpi_extract_create(l->context, saved->schema, &l->extract);
    if (!l->status) l->status = clumpi_extract_set_objects(l->extract, &saved->counts[1]);
    for (uint32_t i = 0; !l->status && i < l->extract->array_count; i++)
        l->extract->elements[i] = saved->arrays[i].elements;
    if (!l->status) l->status = clumpi_extract_set_columns(l->extract);
    if (!l->status) l->status = clumpi_extract_open(l->extract, NULL);
    return l->status != CLUMP_OK;
}

/* What the column leaves of its last CLUMPI_COLUMN_ALIGN bytes is 0. */
static clump_status end_column(const loading *l) {
    static const uint8_t zeros[CLUMPI_COLUMN_ALIGN];
    const uint64_t end = l->walk.column.at + l->walk.column.bytes, rest = end % CLUMPI_COLUMN_ALIGN;
    return rest ? clumpi_write(l->context, l->extract->info.buffer, end, CLUMPI_COLUMN_ALIGN - rest,
                               zeros)
                : CLUMP_OK;
}

static int fill(void *user, const clump_saved *saved, const clump_saved_part *part) {
    loading *l = user;
    (void)saved;
    if (!part->field) return 0; /* references outside of objects */
    while (part->from == 0 && clumpi_next_column(l->extract, &l->walk) && !l->walk.column.bytes) {
    } /* a column without bytes has no parts */
    l->status = clumpi_write(l->context, l->extract->info.buffer,
                             l->walk.column.at + part->from * part->bytes,
                             (uint64_t)part->count * part->bytes, part->data);
    if (!l->status && (part->from + part->count) * part->bytes == l->walk.column.bytes)
        l->status = end_column(l);
    return l->status != CLUMP_OK;
}

static clump_status load_extract(clump_context *context, const clump_load_desc *desc,
                                 clump_extract **extract, clump_extract_report *report) {
    loading l = {.context = context};
    clump_error error = {0};
    if (extract) *extract = NULL;
    clump_status status =
        CLUMPI_PLACE(clump_extract_report, report, context ? &context->error : NULL);
    if (!context) return CLUMP_ERR_USAGE;
    if (!status && !extract)
        status = clumpi_fail(&context->error, CLUMP_ERR_USAGE,
                             "clump_extract_load needs a pointer for the result");
    if (status) return status;
    status = clumpi_saved_read(desc,
                               &(clumpi_saved_reader){.call = "clump_extract_load",
                                                      .begin = make,
                                                      .take = fill,
                                                      .elements_together = 1,
                                                      .user = &l},
                               &context->allocator, &error);
    if (l.status) status = l.status;
    if (status && !l.status) context->error = error;
    if (status) {
        clump_extract_destroy(l.extract);
        return status;
    }
    const clump_extract_report made = {.objects = l.extract->objects[0],
                                       .bytes = l.extract->info.bytes};
    CLUMPI_GIVE(report, made);
    *extract = l.extract;
    return CLUMP_OK;
}

clump_status clump_extract_load(clump_context *context, const clump_load_desc *desc,
                                clump_extract **extract, clump_extract_report *report,
                                clump_error *error) {
    clump_status status = load_extract(context, desc, extract, report);
    return clumpi_tell(context ? &context->error : NULL, status, error);
}
