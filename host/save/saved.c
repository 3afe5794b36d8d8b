/* A saved heap without a device: what it has, and whether it is whole.
 *
 * Read first: format.h.
 */
#include "save/format.h"
#include "schema/schema.h"

/* ---- Columns --------------------------------------------------------------------------------- */

/* The next class with objects. */
static int next_class(const clump_saved *saved, clumpi_saved_column *column) {
    const uint32_t classes = clump_schema_get_info(saved->schema)->class_count;
    for (uint32_t id = column->class_info.id + 1; id <= classes; id++) {
        if (!saved->counts[id]) continue;
        column->class_info = *clump_schema_get_info(saved->schema)->classes[id];
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
        owner = *clump_schema_get_info(saved->schema)->classes[column->owner];
        if (column->next < owner.field_count) {
            clump_field_info *f = &column->field;
            *f = *clump_schema_get_info(saved->schema)->classes[owner.id]->fields[column->next++];
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

uint32_t clumpi_saved_words_at_once(const clump_saved *saved, uint64_t left) {
    const uint32_t most = saved->piece_bytes / (uint32_t)sizeof(clump_ref);
    return left < most ? (uint32_t)left : most;
}

static void take_words(const clump_saved *saved, uint64_t count, uint32_t *most) {
    const uint32_t bytes = clumpi_saved_words_at_once(saved, count) * (uint32_t)sizeof(clump_ref);
    if (bytes > *most) *most = bytes;
}

uint32_t clumpi_saved_piece_most(const clump_saved *saved) {
    uint32_t most = CLUMPI_PIECE_LEAST;
    for (clumpi_saved_column c = {.owner = 0}; clumpi_saved_next(saved, &c);) {
        const uint64_t n = c.objects < c.piece_objects ? c.objects : c.piece_objects;
        if (n * c.object_bytes > most) most = (uint32_t)n * c.object_bytes;
    }
    for (uint32_t i = 0; i < saved->registered; i++)
        take_words(saved, saved->registered_counts[i], &most);
    take_words(saved, saved->handles, &most);
    return most;
}

/* After the head was read. */
static void describe(clump_saved *saved) {
    saved->counts[0] = saved->objects;
    saved->info = (clump_saved_info){.schema = saved->schema,
                                     .objects = saved->counts,
                                     .registered = saved->registered,
                                     .registered_counts = saved->registered_counts};
}

/* ---- Public calls ---------------------------------------------------------------------------- */

clump_status clump_saved_open(const clump_load_desc *desc, const clump_allocator *allocator,
                              clump_saved **saved, clump_error *error) {
    if (saved) *saved = NULL;
    if (!saved)
        return clumpi_fail(error, CLUMP_ERR_USAGE,
                           "clump_saved_open needs a pointer for the result");
    const clump_allocator a = clumpi_allocator_resolve(allocator);
    clump_load_desc own;
    clumpi_stream s;
    clump_status status = CLUMPI_TAKE(clump_load_desc, &own, desc, error);
    if (!status) status = clumpi_stream_open(&s, &own, "clump_saved_open", &a, error);
    if (status) return status;
    clump_saved *made = clumpi_alloc(&a, sizeof *made);
    if (!made)
        status = clumpi_fail(error, CLUMP_ERR_HOST_MEMORY, "no host memory for a saved heap");
    if (!status) status = clumpi_head_read(&s, made);
    clumpi_stream_close(&s);
    if (status) {
        if (made) clumpi_saved_clear(made);
        clumpi_free(&a, made);
        return status;
    }
    describe(made);
    *saved = made;
    return CLUMP_OK;
}

void clump_saved_close(clump_saved *saved) {
    if (!saved) return;
    const clump_allocator a = saved->allocator;
    clumpi_saved_clear(saved);
    clumpi_free(&a, saved);
}

const clump_saved_info *clump_saved_get_info(const clump_saved *saved) {
    static const uint64_t no_objects[CLUMP_CLASSES_MAX + 1];
    static const clump_saved_info none = {.objects = no_objects};
    return saved ? &saved->info : &none;
}

/* ---- All of it ------------------------------------------------------------------------------- */

typedef struct reading {
    clumpi_stream stream;
    clump_saved saved;
    uint64_t first[CLUMP_CLASSES_MAX + 2]; /* by class id: the number of its first object */
    uint8_t *piece;
    const clumpi_saved_reader *reader;
} reading;

static void number_classes(reading *r) {
    for (uint32_t id = 1; id <= CLUMP_CLASSES_MAX; id++)
        r->first[id + 1] = r->first[id] + r->saved.counts[id];
}

/* References must be null, or of the objects least .. end - 1. */
static clump_status judge(reading *r, const clump_saved_part *part, uint64_t least, uint64_t end) {
    const uint32_t words = part->count * (part->bytes / (uint32_t)sizeof(clump_ref));
    const clump_ref *refs = part->data;
    for (uint32_t i = 0; i < words; i++) {
        if (!refs[i] || (refs[i] > least && refs[i] <= end)) continue;
        clump_class_info c = {.name = "a registered buffer"};
        if (part->buffer == CLUMP_SAVED_HANDLES) c.name = "a handle";
        if (part->class_id) c = *clump_schema_get_info(r->saved.schema)->classes[part->class_id];
        return clumpi_fail(r->stream.error, CLUMP_ERR_FORMAT,
                           "%s is not valid: %s%s%s has a reference to object %u, but can only "
                           "refer to objects %llu to %llu",
                           clumpi_stream_name(&r->stream), c.name, part->field ? "." : "",
                           part->field ? part->field->name : "", refs[i],
                           (unsigned long long)least + 1, (unsigned long long)end);
    }
    return CLUMP_OK;
}

clump_status clumpi_saved_check_lengths(clumpi_stream *s, const clump_schema *schema,
                                        uint32_t class_id, const clump_field_info *f,
                                        const void *lengths, uint32_t count) {
    uint32_t wrong;
    const clump_field_info *array =
        clumpi_schema_find_too_long(schema, class_id, f, lengths, sizeof wrong, count, &wrong);
    return array ? clumpi_fail(s->error, CLUMP_ERR_FORMAT,
                               "%s is not valid: array %s of class %s has a length of %u, and room "
                               "for %u elements",
                               clumpi_stream_name(s), array->name,
                               clump_schema_get_info(schema)->classes[class_id]->name, wrong,
                               array->count)
                 : CLUMP_OK;
}

static clump_status ended(reading *r, int code) {
    return code ? clumpi_fail(r->stream.error, CLUMP_ERR_IO,
                              "%s: the function that receives parts returned %d", r->reader->call,
                              code)
                : CLUMP_OK;
}

static clump_status hand_over(reading *r, const clump_saved_part *part) {
    uint64_t least = 0, end = r->saved.objects;
    int is_refs = !part->field;
    if (part->field && part->field->type == CLUMP_TYPE_REF) {
        clump_class_info to =
            *clump_schema_get_info(r->saved.schema)->classes[part->field->ref_class];
        least = r->first[to.id];
        end = r->first[to.last + 1];
        is_refs = 1;
    }
    clump_status status = is_refs ? judge(r, part, least, end) : CLUMP_OK;
    if (!status && part->field)
        status = clumpi_saved_check_lengths(&r->stream, r->saved.schema, part->class_id,
                                            part->field, part->data, part->count);
    if (status || !r->reader->take) return status;
    return ended(r, r->reader->take(r->reader->user, &r->saved, part));
}

/* `count` things like those of `part`, in pieces of up to `most`. */
static clump_status read_parts(reading *r, uint32_t kind, clump_saved_part part, uint64_t count,
                               uint32_t most) {
    clump_status status = CLUMP_OK;
    part.data = r->piece;
    for (; !status && part.from < count; part.from += part.count) {
        const uint64_t left = count - part.from;
        part.count = left < most ? (uint32_t)left : most;
        const uint32_t bytes = part.count * part.bytes;
        status = clumpi_piece_read(&r->stream, kind, r->piece, bytes);
        clump_ref *words = (clump_ref *)r->piece;
        for (uint32_t i = 0; kind == CLUMPI_KIND_HANDLES && i < part.count; i++)
            if (words[i] == CLUMPI_HANDLE_NONE) words[i] = 0;
        if (!status) status = hand_over(r, &part);
        if (!status && kind == CLUMPI_KIND_VALUES)
            status = clumpi_stream_progress(&r->stream, bytes);
    }
    return status;
}

static clump_status read_all(reading *r) {
    const clump_saved *saved = &r->saved;
    const uint32_t word = sizeof(clump_ref), words = saved->piece_bytes / word;
    clump_status status = CLUMP_OK;
    for (clumpi_saved_column c = {.owner = 0}; !status && clumpi_saved_next(saved, &c);)
        status =
            read_parts(r, CLUMPI_KIND_VALUES,
                       (clump_saved_part){
                           .field = &c.field, .class_id = c.class_info.id, .bytes = c.object_bytes},
                       c.objects, c.piece_objects);
    for (uint32_t i = 0; !status && i < saved->registered; i++)
        status =
            read_parts(r, CLUMPI_KIND_REGISTERED, (clump_saved_part){.buffer = i, .bytes = word},
                       saved->registered_counts[i], words);
    if (!status)
        status = read_parts(r, CLUMPI_KIND_HANDLES,
                            (clump_saved_part){.buffer = CLUMP_SAVED_HANDLES, .bytes = word},
                            saved->handles, words);
    return status ? status : clumpi_end_read(&r->stream);
}

clump_status clumpi_saved_read(const clump_load_desc *desc, const clumpi_saved_reader *reader,
                               const clump_allocator *allocator, clump_error *error) {
    const clump_allocator a = clumpi_allocator_resolve(allocator);
    clump_load_desc own;
    clumpi_stream s;
    clump_status status = CLUMPI_TAKE(clump_load_desc, &own, desc, error);
    if (!status) status = clumpi_stream_open(&s, &own, reader->call, &a, error);
    if (status) return status;
    reading *r = clumpi_alloc(&a, sizeof *r);
    if (!r) {
        clumpi_stream_close(&s);
        return clumpi_fail(error, CLUMP_ERR_HOST_MEMORY, "no host memory for reading a saved heap");
    }
    r->stream = s;
    r->reader = reader;
    status = clumpi_head_read(&r->stream, &r->saved);
    if (!status) {
        describe(&r->saved);
        number_classes(r);
        r->piece = clumpi_alloc(&a, clumpi_saved_piece_most(&r->saved));
        if (!r->piece)
            status =
                clumpi_fail(error, CLUMP_ERR_HOST_MEMORY, "no host memory for a piece of %u bytes",
                            clumpi_saved_piece_most(&r->saved));
    }
    if (!status && reader->begin) status = ended(r, reader->begin(reader->user, &r->saved));
    if (!status) status = read_all(r);
    clumpi_free(&a, r->piece);
    clumpi_saved_clear(&r->saved);
    clumpi_stream_close(&r->stream);
    clumpi_free(&a, r);
    return status;
}

clump_status clump_saved_read(const clump_load_desc *desc, const clump_allocator *allocator,
                              clump_saved_fn take, void *user, clump_error *error) {
    const clumpi_saved_reader reader = {.call = "clump_saved_read", .take = take, .user = user};
    return clumpi_saved_read(desc, &reader, allocator, error);
}
