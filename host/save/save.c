/* Saving a heap (clump/save.h).
 *
 * A piece of a column is gathered on the device, which computes the sums of its chunks, and brought
 * to the host. Meanwhile the host writes a piece before.
 *
 * Read first: format.h, staging.h, heap/dense.h.
 */
#include <string.h>

#include "clump/compact.h"
#include "heap/elements.h"
#include "save/format.h"
#include "save/registered.h"
#include "save/staging.h"

typedef struct saving {
    clump_heap *heap;
    clumpi_stream stream;
    clump_saved saved; /* what the head says; the schema is the heap's */
    clumpi_dense dense;
    int is_measured;               /* nothing is gathered and written, only counted */
    const clump_refs **registered; /* in the order of registration */
    clumpi_staging *staging;
    struct {
        uint32_t kind, bytes;
    } pieces[CLUMPI_PLACES]; /* that are on their way */
} saving;

/* ---- Pieces ---------------------------------------------------------------------------------- */

static cl_mem values_of(saving *s) {
    return s->staging->places[clumpi_staging_next(s->staging)].values;
}

/* The piece that is on its way for longest arrives, and goes to the file. */
static clump_status write_oldest(saving *s) {
    const uint32_t number = clumpi_staging_oldest(s->staging);
    const uint32_t kind = s->pieces[number].kind, bytes = s->pieces[number].bytes;
    clumpi_staged *place = &s->staging->places[number];
    clumpi_staging_pop(s->staging);
    clump_status status = clumpi_staged_wait(s->staging, place);
    if (!status)
        status = clumpi_piece_write(&s->stream, kind, place->memory, bytes, place->host_sums);
    if (!status && (kind == CLUMPI_KIND_VALUES || kind == CLUMPI_KIND_ELEMENTS))
        status = clumpi_stream_progress(&s->stream, bytes);
    return status;
}

static clump_status write_all_on_way(saving *s) {
    clump_status status = CLUMP_OK;
    while (s->staging && s->staging->count && !status) status = write_oldest(s);
    return status;
}

/* What was gathered goes its way. */
static clump_status write_piece(saving *s, uint32_t kind, uint32_t bytes) {
    const uint32_t number = clumpi_staging_next(s->staging);
    clump_status status = clumpi_staged_read(s->staging, &s->staging->places[number], bytes);
    if (status) return status;
    s->pieces[number].kind = kind;
    s->pieces[number].bytes = bytes;
    clumpi_staging_push(s->staging);
    return s->staging->count == CLUMPI_PLACES ? write_oldest(s) : CLUMP_OK;
}

/* ---- What is in the file --------------------------------------------------------------------- */

/* How many references of a registered buffer there are now. */
static clump_status count_registered(saving *s, const clump_refs *refs, uint64_t *count) {
    *count = refs->count;
    if (!refs->counted) return CLUMP_OK;
    clumpi_u32 now = 0;
    clump_status status = clumpi_read(clumpi_heap_context(s->heap), refs->counted, refs->counted_at,
                                      sizeof now, &now);
    if (now < *count) *count = now;
    return status;
}

static clump_status describe_registered(saving *s) {
    clump_context *c = clumpi_heap_context(s->heap);
    clump_status status = clumpi_registered_list(s->heap, &s->registered, &s->saved.registered);
    if (status || !s->saved.registered) return status;
    if (s->saved.registered > CLUMPI_REGISTERED_MOST)
        return clumpi_fail(&c->error, CLUMP_ERR_UNSUPPORTED,
                           "%u registered buffers are too many: a saved heap can have %u",
                           s->saved.registered, CLUMPI_REGISTERED_MOST);
    s->saved.registered_counts =
        clumpi_alloc(&c->allocator, s->saved.registered * sizeof *s->saved.registered_counts);
    if (!s->saved.registered_counts)
        return clumpi_fail(&c->error, CLUMP_ERR_HOST_MEMORY,
                           "no host memory for registered references");
    for (uint32_t i = 0; i < s->saved.registered && !status; i++)
        status = count_registered(s, s->registered[i], &s->saved.registered_counts[i]);
    return status;
}

static clump_status describe_array(saving *s, const clumpi_saved_column *column) {
    clump_saved_array *array = &s->saved.arrays[column->array];
    clumpi_array_sums sums = {0};
    clumpi_arrays arrays;
    clump_status status =
        clumpi_arrays_open(&s->dense, column->class_info.id, &column->field, &arrays);
    if (!status) status = clumpi_arrays_measure(&arrays, &sums);
    array->elements = sums.elements;
    array->capacity = sums.capacity;
    clumpi_arrays_close(&arrays);
    return status;
}

static clump_status describe_arrays(saving *s) {
    clump_context *c = clumpi_heap_context(s->heap);
    const uint32_t count = clumpi_saved_count_arrays(&s->saved);
    clump_status status = CLUMP_OK;
    if (!count) return CLUMP_OK;
    if (count > CLUMPI_ARRAYS_MOST)
        return clumpi_fail(&c->error, CLUMP_ERR_UNSUPPORTED,
                           "%u arrays that grow, in all classes, are too many: a saved heap can "
                           "have %u",
                           count, CLUMPI_ARRAYS_MOST);
    s->saved.arrays = clumpi_alloc(&c->allocator, count * sizeof *s->saved.arrays);
    if (!s->saved.arrays)
        return clumpi_fail(&c->error, CLUMP_ERR_HOST_MEMORY, "no host memory for %u arrays", count);
    s->saved.array_count = count;
    for (clumpi_saved_column column = {.owner = 0};
         !status && clumpi_saved_next(&s->saved, &column);)
        if (column.kind == CLUMPI_KIND_ELEMENTS) status = describe_array(s, &column);
    return status;
}

static clump_status describe(saving *s, const clump_save_desc *desc) {
    clump_heap *heap = s->heap;
    clump_saved *saved = &s->saved;
    saved->schema = (clump_schema *)clumpi_heap_schema(heap); /* which is only read */
    saved->piece_bytes = desc->piece_bytes ? desc->piece_bytes : CLUMPI_PIECE_DEFAULT;
    saved->handles = clumpi_handles_used(heap);
    saved->objects = clumpi_dense_objects(&s->dense);
    for (uint32_t id = 1; id <= clump_schema_get_info(clumpi_heap_schema(heap))->class_count;
         id++) {
        saved->counts[id] = clumpi_dense_count(&s->dense, id);
        saved->reserved[id] = clumpi_heap_geometry(heap)->classes[id].reserved.least;
    }
    clump_status status = describe_arrays(s);
    s->stream.all = clumpi_saved_value_bytes(saved);
    return status ? status : describe_registered(s);
}

/* Pieces of `count` elements of `bytes` each, of which a piece has `most`, are counted. */
static clump_status count_pieces(saving *s, uint64_t count, uint32_t most, uint32_t bytes) {
    s->stream.bytes += (count + most - 1) / most * sizeof(clumpi_piece) + count * bytes;
    return CLUMP_OK;
}

/* arrays: NULL, or of a column of elements. */
static clump_status write_values(saving *s, const clumpi_saved_column *column,
                                 clumpi_arrays *arrays) {
    const clump_field_info *f = &column->field;
    clump_class_info to = {0};
    clump_status status = CLUMP_OK;
    if (f->type == CLUMP_TYPE_REF)
        to = *clump_schema_get_info(clumpi_heap_schema(s->heap))->classes[f->ref_class];
    for (uint64_t from = 0; from < column->count && !status; from += column->piece_count) {
        const uint64_t left = column->count - from;
        uint32_t n = left < column->piece_count ? (uint32_t)left : column->piece_count;
        uint32_t bytes = n * column->bytes;
        status = arrays ? clumpi_arrays_copy(arrays, values_of(s), 0, n, 1)
                        : clumpi_dense_read(&s->dense, column->class_info.id, f, from, n,
                                            values_of(s), 0);
        if (!status && to.id)
            status = clumpi_dense_to_numbers(&s->dense, to.id, to.last, values_of(s), 0,
                                             bytes / (uint32_t)sizeof(clump_ref));
        if (!status) status = write_piece(s, column->kind, bytes);
    }
    return status;
}

static clump_status write_column(saving *s, const clumpi_saved_column *column) {
    clumpi_arrays arrays;
    if (s->is_measured) return count_pieces(s, column->count, column->piece_count, column->bytes);
    if (column->kind != CLUMPI_KIND_ELEMENTS) return write_values(s, column, NULL);
    if (!column->count) return CLUMP_OK;
    clump_status status =
        clumpi_arrays_open(&s->dense, column->class_info.id, &column->field, &arrays);
    if (!status) status = clumpi_arrays_measure(&arrays, NULL);
    if (!status) status = write_values(s, column, &arrays);
    clumpi_arrays_close(&arrays);
    return status;
}

static clump_status count_words(saving *s, uint64_t count) {
    return count_pieces(s, count, clumpi_saved_words_at_once(&s->saved, UINT64_MAX),
                        (uint32_t)sizeof(clump_ref));
}

/* References outside, as numbers. */
static clump_status read_outside(saving *s, const clump_refs *refs, uint64_t from, uint32_t n) {
    clump_status status = clumpi_dense_read_outside(&s->dense, refs, from, n, values_of(s));
    return status ? status
                  : clumpi_dense_to_numbers(&s->dense, 1, clumpi_object_classes(s->heap),
                                            values_of(s), 0, n);
}

static clump_status write_registered(saving *s, uint32_t buffer) {
    const uint64_t count = s->saved.registered_counts[buffer];
    clump_status status = CLUMP_OK;
    if (s->is_measured) return count_words(s, count);
    for (uint64_t from = 0; from < count && !status;) {
        const uint32_t n = clumpi_saved_words_at_once(&s->saved, count - from);
        status = read_outside(s, s->registered[buffer], from, n);
        if (!status)
            status = write_piece(s, CLUMPI_KIND_REGISTERED, n * (uint32_t)sizeof(clump_ref));
        from += n;
    }
    return status;
}

/* Numbers that are not in use are the host's to know, so it computes the sums. No other piece is on
 * its way. */
static clump_status write_handles(saving *s) {
    const uint32_t count = s->saved.handles;
    if (s->is_measured) return count_words(s, count);
    const clumpi_staged *place = &s->staging->places[clumpi_staging_next(s->staging)];
    clump_ref *words = (clump_ref *)(void *)place->memory;
    clump_status status = CLUMP_OK;
    for (uint32_t from = 0; from < count && !status;) {
        const uint32_t n = clumpi_saved_words_at_once(&s->saved, count - from),
                       bytes = n * (uint32_t)sizeof *words;
        status = read_outside(s, clumpi_handles_refs(s->heap), from, n);
        if (!status)
            status = clumpi_read(clumpi_heap_context(s->heap), place->values, 0, bytes, words);
        for (uint32_t i = 0; i < n && !status; i++)
            if (!clumpi_handle_is_live(s->heap, from + i + 1)) words[i] = CLUMPI_HANDLE_NONE;
        if (!status)
            status = clumpi_piece_write(&s->stream, CLUMPI_KIND_HANDLES, words, bytes, NULL);
        from += n;
    }
    return status;
}

static clump_status write_all(saving *s) {
    clump_status status = clumpi_begin_write(
        &s->stream, s->saved.array_count ? CLUMPI_SAVE_VERSION_ARRAYS : CLUMPI_SAVE_VERSION);
    if (!status) status = clumpi_head_write(&s->stream, &s->saved);
    for (clumpi_saved_column c = {.owner = 0}; !status && clumpi_saved_next(&s->saved, &c);)
        status = write_column(s, &c);
    for (uint32_t i = 0; i < s->saved.registered && !status; i++) status = write_registered(s, i);
    if (!status) status = write_all_on_way(s);
    if (!status) status = write_handles(s);
    return status ? status : clumpi_end_write(&s->stream);
}

/* ---- The call -------------------------------------------------------------------------------- */

static clump_status report_save(saving *s, clump_save_report *report) {
    clumpi_dense_wrong wrong;
    clump_status status = clumpi_dense_fetch_wrong(&s->dense, &wrong);
    if (status) return status;
    *report = (clump_save_report){.objects = s->saved.objects,
                                  .bytes = s->stream.bytes,
                                  .value_bytes = s->stream.all,
                                  .handles = clumpi_handles_live(s->heap),
                                  .dangling = wrong.nulled};
    for (uint32_t i = 0; i < s->saved.registered; i++)
        report->registered += s->saved.registered_counts[i];
    return CLUMP_OK;
}

static clump_status save(saving *s, const clump_save_desc *desc, clump_save_report *report) {
    clump_status status = CLUMP_OK;
    if (desc->compact) status = clump_heap_compact(s->heap, NULL, NULL, NULL);
    if (!status) status = clumpi_handles_settle(s->heap);
    if (!status) status = clumpi_dense_open(s->heap, &s->dense);
    if (!status && !s->is_measured) status = clumpi_dense_open_rows(&s->dense);
    if (!status) status = describe(s, desc);
    if (!status && !s->is_measured)
        status = clumpi_staging_open(clumpi_heap_context(s->heap),
                                     clumpi_saved_piece_most(&s->saved), &s->staging);
    if (!status) status = write_all(s);
    if (!status) status = report_save(s, report);
    return status ? status : clumpi_stream_commit(&s->stream);
}

clump_status clump_heap_save(clump_heap *heap, const clump_save_desc *desc,
                             clump_save_report *report) {
    clump_save_desc own;
    clump_save_report made = {0};
    clump_status status = CLUMPI_PLACE(clump_save_report, report, clumpi_heap_error(heap));
    if (!heap) return CLUMP_ERR_USAGE;
    clump_context *c = clumpi_heap_context(heap);
    if (!status) status = CLUMPI_TAKE(clump_save_desc, &own, desc, &c->error);
    if (status) return status;
    const uint32_t piece = own.piece_bytes;
    if (piece && (piece < CLUMPI_PIECE_LEAST || piece > CLUMPI_PIECE_MOST))
        return clumpi_fail(&c->error, CLUMP_ERR_USAGE,
                           "clump_heap_save: piece_bytes is %u, but must be %u to %u", piece,
                           CLUMPI_PIECE_LEAST, CLUMPI_PIECE_MOST);
    saving s = {.heap = heap, .is_measured = own.measure};
    status = clumpi_heap_refuses(heap, CLUMPI_OP_SAVE, "clump_heap_save");
    if (status) return status;
    status = clumpi_stream_create(&s.stream, &own, "clump_heap_save", &c->allocator, &c->error);
    if (status) return status;
    status = clumpi_heap_enter_to_wait(heap);
    if (!status) status = clumpi_pieces_pack(&s.stream, own.zstd_level);
    if (!status) status = save(&s, &own, &made);
    if (!status) CLUMPI_GIVE(report, made);
    clumpi_staging_close(s.staging, !status);
    clumpi_dense_close(&s.dense);
    clumpi_stream_close(&s.stream);
    clumpi_free(&c->allocator, s.registered);
    clumpi_free(&c->allocator, s.saved.registered_counts);
    clumpi_free(&c->allocator, s.saved.arrays);
    return status;
}
