/* A saved heap without a device: what it has, and whether it is whole.
 *
 * Read first: format.h.
 */
#include "save/format.h"

/* ---- Columns --------------------------------------------------------------------------------- */

/* The next class with objects. */
static int next_class(const clump_saved *saved, clumpi_saved_column *column) {
    const uint32_t classes = clump_schema_get_class_count(saved->schema);
    for (uint32_t id = column->class_info.id + 1; id <= classes; id++) {
        if (!saved->counts[id]) continue;
        clump_schema_get_class(saved->schema, id, &column->class_info);
        column->objects = saved->counts[id];
        column->owner = id;
        column->next = 0;
        return 1;
    }
    return 0;
}

int clumpi_saved_next(const clump_saved *saved, clumpi_saved_column *column) {
    for (;;) {
        clump_class_info owner;
        if (!column->owner && !next_class(saved, column)) return 0;
        clump_schema_get_class(saved->schema, column->owner, &owner);
        if (column->next < owner.field_count) {
            clump_field_info *f = &column->field;
            clump_schema_get_field(saved->schema, owner.id, column->next++, f);
            column->object_bytes = f->element_bytes * (f->count ? f->count : 1);
            column->piece_objects = saved->piece_bytes / column->object_bytes;
            if (!column->piece_objects) column->piece_objects = 1;
            return 1;
        }
        column->owner = owner.base;
        column->next = 0;
    }
}

uint64_t clumpi_saved_value_bytes(const clump_saved *saved) {
    uint64_t bytes = 0;
    for (clumpi_saved_column c = {.owner = 0}; clumpi_saved_next(saved, &c);)
        bytes += c.objects * c.object_bytes;
    return bytes;
}

uint32_t clumpi_saved_piece_most(const clump_saved *saved) {
    return saved->piece_bytes > CLUMP_OBJECT_BYTES_MAX ? saved->piece_bytes
                                                       : CLUMP_OBJECT_BYTES_MAX;
}

uint32_t clumpi_saved_words_at_once(const clump_saved *saved, uint64_t left) {
    const uint32_t most = saved->piece_bytes / (uint32_t)sizeof(clump_ref);
    return left < most ? (uint32_t)left : most;
}

/* ---- Public calls ---------------------------------------------------------------------------- */

clump_status clump_saved_open(const clump_load_desc *desc, const clump_allocator *allocator,
                              clump_saved **saved, clump_error *error) {
    if (saved) *saved = NULL;
    if (!saved)
        return clumpi_fail(error, CLUMP_ERR_USAGE, "clump_saved_open needs a place for the result");
    const clump_allocator a = clumpi_allocator_resolve(allocator);
    clumpi_stream s;
    clump_status status = clumpi_stream_open(&s, desc, "clump_saved_open", &a, error);
    if (status) return status;
    clump_saved *made = clumpi_alloc(&a, sizeof *made);
    if (!made) status = clumpi_fail(error, CLUMP_ERR_MEMORY, "no host memory for a saved heap");
    if (!status) status = clumpi_head_read(&s, made);
    clumpi_stream_close(&s);
    if (status) {
        if (made) clumpi_saved_clear(made);
        clumpi_free(&a, made);
        return status;
    }
    *saved = made;
    return CLUMP_OK;
}

void clump_saved_destroy(clump_saved *saved) {
    if (!saved) return;
    const clump_allocator a = saved->allocator;
    clumpi_saved_clear(saved);
    clumpi_free(&a, saved);
}

const clump_schema *clump_saved_get_schema(const clump_saved *saved) {
    return saved->schema;
}

uint64_t clump_saved_get_objects(const clump_saved *saved, uint32_t class_id) {
    if (!class_id) return saved->objects;
    return class_id <= CLUMP_CLASSES_MAX ? saved->counts[class_id] : 0;
}

uint32_t clump_saved_get_registered(const clump_saved *saved) {
    return saved->registered;
}

uint64_t clump_saved_get_registered_count(const clump_saved *saved, uint32_t buffer) {
    return buffer < saved->registered ? saved->registered_counts[buffer] : 0;
}

/* `count` things of `bytes` in pieces of up to `most` things. */
static clump_status skip(clumpi_stream *s, uint32_t kind, uint64_t count, uint32_t bytes,
                         uint32_t most, uint8_t *piece) {
    clump_status status = CLUMP_OK;
    for (uint64_t from = 0; !status && from < count; from += most) {
        uint32_t n = (uint32_t)(count - from < most ? count - from : most) * bytes;
        status = clumpi_piece_read(s, kind, piece, n);
        if (!status && kind == CLUMPI_KIND_VALUES) status = clumpi_stream_progress(s, n);
    }
    return status;
}

static clump_status skip_all(clumpi_stream *s, const clump_saved *saved, uint8_t *piece) {
    const uint32_t word = sizeof(clump_ref), words = saved->piece_bytes / word;
    clump_status status = CLUMP_OK;
    for (clumpi_saved_column c = {.owner = 0}; !status && clumpi_saved_next(saved, &c);)
        status = skip(s, CLUMPI_KIND_VALUES, c.objects, c.object_bytes, c.piece_objects, piece);
    for (uint32_t i = 0; !status && i < saved->registered; i++)
        status = skip(s, CLUMPI_KIND_REGISTERED, saved->registered_counts[i], word, words, piece);
    if (!status) status = skip(s, CLUMPI_KIND_HANDLES, saved->handles, word, words, piece);
    return status ? status : clumpi_end_read(s);
}

clump_status clump_saved_check(const clump_load_desc *desc, const clump_allocator *allocator,
                               clump_error *error) {
    const clump_allocator a = clumpi_allocator_resolve(allocator);
    clumpi_stream s;
    clump_status status = clumpi_stream_open(&s, desc, "clump_saved_check", &a, error);
    if (status) return status;
    clump_saved saved = {.schema = NULL};
    uint8_t *piece = NULL;
    status = clumpi_head_read(&s, &saved);
    if (!status) {
        piece = clumpi_alloc(&a, clumpi_saved_piece_most(&saved));
        if (!piece)
            status = clumpi_fail(error, CLUMP_ERR_MEMORY, "no host memory for a piece of %u bytes",
                                 clumpi_saved_piece_most(&saved));
    }
    if (!status) status = skip_all(&s, &saved, piece);
    clumpi_free(&a, piece);
    clumpi_saved_clear(&saved);
    clumpi_stream_close(&s);
    return status;
}
